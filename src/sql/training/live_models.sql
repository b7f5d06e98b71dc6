
-- live models: the option live of train keeps a live sketch of the model's rows, from which drift and retrain take what they need

-- Asked before a training reads a row.
CREATE FUNCTION fastclust_internal.check_live_training(job training_job) RETURNS void
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    asked kept_sketches;
    other text := (SELECT min(o) FROM jsonb_object_keys(job.options) o WHERE o = ANY ('{factors,metric,balance,iterations}'));
BEGIN
    -- a recency-weighted model is decoded from its sketch: what reads rows knows no weights
    IF job.options -> 'live' ->> 'half_life' IS NOT NULL AND job.method IN ('kernel', 'qkmeans') THEN
        RAISE feature_not_supported USING MESSAGE = format('method "%s" has no half-life', job.method), HINT = 'Use method "compressive".';
    ELSIF job.options -> 'live' ->> 'half_life' IS NOT NULL AND other IS NOT NULL THEN
        RAISE feature_not_supported USING MESSAGE = format('option "%s" is about rows, and a recency-weighted model is decoded from a sketch', other);
    END IF;
    IF flag_option(job.options, 'live', false) THEN
        IF NOT flag_option(job.options, 'activate', true) THEN
            RAISE feature_not_supported USING MESSAGE = 'option "activate" is false, but a live sketch follows the version that is trained on rows',
                HINT = format('Retrain model "%s" from its live sketch, or train without option "live".', job.model);
        END IF;
        PERFORM live_bucket_width((job.source).relation::regclass, job.options -> 'live'), check_live_isolation(job.model), check_live_group((job.source).relation::regclass, (job.source).group_by);
        IF NOT owns_relation((job.source).relation::regclass) THEN
            RAISE insufficient_privilege USING MESSAGE = format('must be owner of %s', (job.source).relation),
                HINT = 'A live model makes triggers on its table.';
        END IF;
        asked.relation := (job.source).relation::regclass;
        asked.columns := (job.source).features;
        PERFORM check_live_tables(asked);
        PERFORM check_model_follows(ROW(m.*)::stored_models, (job.source).relation::regclass) FROM readable_models m WHERE m.model = job.model;
    END IF;
END
$$;

-- Follow the rows of a version that was trained, as its sketch counted them.  One that does not serve leaves the live sketch to the one that does.
CREATE FUNCTION fastclust_internal.keep_model(job training_job) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    old kept_sketches := model_live(job.model_id);
    source row_source := job.source;
    version stored_versions;
    asked kept_sketches;
    begun timestamptz;
    rows_counted bigint;
BEGIN
    IF NOT flag_option(job.options, 'activate', true) THEN
        RETURN;
    ELSIF NOT flag_option(job.options, 'live', old.id IS NOT NULL) THEN
        IF old.id IS NOT NULL THEN
            PERFORM end_model_live(job.model_id);
        END IF;
        RETURN;
    END IF;
    begun := begin_step(job, 'live sketch');
    SELECT v.* INTO version FROM readable_versions v WHERE v.model_id = job.model_id AND v.version = job.version LIMIT 1;
    asked := asked_live(job.model, source.relation::regclass, source.features, source.vector, spec(version.training_sketch),
                        jsonb_strip_nulls(jsonb_build_object('group_by', source.group_by, 'where', job.options ->> 'where', 'encoder', source.encoder::text)
                                           || CASE jsonb_typeof(job.options -> 'live') WHEN 'object' THEN job.options -> 'live' ELSE '{}' END));
    asked.model_id := job.model_id;
    asked.drift_spec := drift_spec_of(version);
    IF old.id IS NOT NULL AND (live_of_version(version)).id IS NOT NULL THEN
        RETURN;
    END IF;
    PERFORM end_model_live(job.model_id);
    asked.id := (SELECT l.id FROM ready_live(source.relation::regclass, source.features, job.options) l WHERE l.spec = asked.spec);
    rows_counted := keep_live(asked);
    PERFORM log_step(job, 'live sketch', begun, NULL, COALESCE(rows_counted || ' rows', 'that was ready'));
END
$$;

-- Can the next version come from the live sketch?  Other options than these are about rows.
CREATE FUNCTION fastclust_internal.live_for_retraining(held stored_models, version stored_versions, options jsonb) RETURNS kept_sketches
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    live kept_sketches;
    scans integer;
BEGIN
    IF version.method IN ('kernel', 'qkmeans') OR version.options ?| '{factors,metric,balance}'
       OR options - '{nowait,quiet,k,seed,keep,activate,fresh}'::text[] NOT IN ('{}', '{"live": true}') THEN
        RETURN NULL;
    END IF;
    live := live_of_version(version);
    scans := number_option(version.options, 'iterations', 0)::integer;
    IF live.id IS NOT NULL AND scans <> 0 AND version.method = 'compressive' AND NOT flag_option(version.options || options, 'quiet', false) THEN
        RAISE NOTICE USING MESSAGE = format('model "%s" is live: its %s scans of about %s rows are left out', version.model, scans, row_count(current_sketch(live.name))),
            HINT = format('This makes them: retrain(%L, ''{"iterations": %s}'').', version.model, scans);
    END IF;
    RETURN live;
END
$$;

-- A new version of a live model, of each group that has rows; reads no row.
CREATE FUNCTION fastclust_internal.retrain_live(held stored_models, template stored_versions, live kept_sketches, options jsonb) RETURNS integer
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    k integer := number_option(options, 'k', template.k)::integer;
    settings jsonb := (template.options || options) - '{nowait,k}'::text[];
    job training_job;
    found_part record;
    old stored_versions;
    part stored_versions;
    parts stored_versions[] := '{}';
BEGIN
    job := sketch_job(held, template, k, settings, COALESCE(row_count((model_rows(live)).s), 0));
    FOR found_part IN SELECT COALESCE(c.group_value, '') AS group_value, c.s, c.counts FROM model_groups(live.name) c LOOP
        SELECT v.* INTO old FROM readable_versions v
         WHERE v.model_id = held.id AND v.version = held.version AND v.group_value = found_part.group_value;
        IF old.model_id IS NULL THEN
            old := template;
            old.operator := NULL;
        END IF;
        IF live.group_by IS NULL THEN
            PERFORM check_k_of_count(job, row_count(found_part.s));
        END IF;
        job.k := least(k, row_count(found_part.s));
        part := decoded_part(job, found_part.group_value, found_part.s, found_part.counts, old);
        part.drift_spec := CASE WHEN cardinality(parts) = 0 THEN live.drift_spec END;
        parts := parts || part;
    END LOOP;
    IF cardinality(parts) = 0 THEN
        PERFORM reject_no_rows(job);
    END IF;
    PERFORM write_parts(parts);
    PERFORM start_serving(held.id, job.version, live.group_by, number_option(settings, 'keep', 5)::integer);
    RETURN job.version;
END
$$;
