
-- retrain: a new version on new rows, that keeps the numbers of the clusters that stayed

-- The job of the next version: the settings of the one that serves, with what the options say instead.
CREATE FUNCTION fastclust_internal.retraining_job(held stored_models, options jsonb) RETURNS training_job
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    version stored_versions := largest_part(held);
    settings jsonb;
    relation regclass;
    source row_source;
    job training_job;
BEGIN
    -- an object is merged key by key, and true leaves it as it is
    settings := (SELECT jsonb_strip_nulls(version.options || COALESCE(jsonb_object_agg(g.key,
                            CASE WHEN jsonb_typeof(version.options -> g.key) IS DISTINCT FROM 'object' THEN g.value
                                 WHEN jsonb_typeof(g.value) = 'object' THEN (version.options -> g.key) || g.value
                                 WHEN g.value = 'true' THEN version.options -> g.key ELSE g.value END), '{}')) FROM jsonb_each(options) g)
                - '{nowait,k,method,relation,replace,frozen}'::text[];
    IF options ->> 'relation' IS NOT NULL AND to_regclass(options ->> 'relation') IS NULL THEN
        RAISE undefined_table USING MESSAGE = format('relation "%s" does not exist', options ->> 'relation'),
            HINT = 'Qualify the name with its schema.';
    END IF;
    IF version.encoder IS NOT NULL AND (settings -> 'encoder' -> 'categories' IS DISTINCT FROM version.options -> 'encoder' -> 'categories'
                                        OR settings -> 'encoder' -> 'paths' IS DISTINCT FROM version.options -> 'encoder' -> 'paths') THEN
        RAISE WARNING USING MESSAGE = format('the categories and paths of model "%s" stay as they are: a retrain keeps its dimensions', held.model),
            HINT = 'To learn others, train a model under another name.';
    END IF;
    version.options := settings;
    relation := scanned_relation(held, version, to_regclass(options ->> 'relation'), settings ->> 'group_by');
    source := row_source(relation, version.features, version.vector, settings ->> 'group_by');
    source.encoder := version.encoder;
    job := next_job(held, source, number_option(options, 'k', version.k)::integer, COALESCE(options ->> 'method', version.method), settings);
    IF flag_option(options, 'frozen', false) THEN
        IF job.method <> 'kmeans' THEN
            RAISE feature_not_supported USING MESSAGE = format('method "%s" moves all clusters: it takes no option "frozen"', job.method),
                HINT = 'Methods with frozen clusters are auto, kmeans.';
        ELSIF job.k < version.k THEN
            RAISE invalid_parameter_value USING MESSAGE = format('k is %s, less than the %s clusters that are frozen', job.k, version.k),
                HINT = 'Leave k as it is, or ask for more.';
        END IF;
        job.options := job.options || '{"frozen": true}';     -- for its own time only: the next retrain is not frozen for this one was
    END IF;
    RETURN job;
END
$$;

-- A version from the training sketch and the sketch of new rows; reads no row.
CREATE FUNCTION fastclust_internal.retrain_from_sketch(held stored_models, new_rows sketch, options jsonb) RETURNS integer
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    version stored_versions := largest_part(held, false);
    other text := (SELECT min(o) FROM jsonb_object_keys(options) o WHERE o <> ALL ('{k,replace,fresh,keep,activate,nowait,quiet}'));
    job training_job;
    total sketch;
BEGIN
    IF other IS NOT NULL THEN
        RAISE invalid_parameter_value USING MESSAGE = format('option "%s" is about rows, and a sketch is given', other),
            HINT = 'Options are k, replace, fresh, keep, activate, nowait, quiet.';
    ELSIF version.method IN ('kernel', 'qkmeans') OR describe(version.spec) ->> 'law' = 'gaussian' THEN
        RAISE feature_not_supported USING MESSAGE = format('method "%s" of model "%s" needs rows', version.method, held.model),
            HINT = 'Use retrain without a sketch; a model of method "compressive" keeps one to retrain with.';
    ELSIF NOT spec(new_rows) = spec(version.training_sketch) THEN
        RAISE data_exception USING MESSAGE = format('the sketch was not made with the sketch_spec of model "%s"', held.model),
            HINT = 'Use sketch_agg(x, (SELECT model_spec(model))).';
    END IF;
    job := sketch_job(held, version, number_option(options, 'k', version.k)::integer,
                      (version.options || options) - '{nowait,k,replace}'::text[], row_count(new_rows));
    total := CASE WHEN flag_option(options, 'replace', false) THEN new_rows ELSE version.training_sketch + new_rows END;
    PERFORM write_parts(ARRAY[decoded_part(job, '', total, NULL, version)]);
    PERFORM start_serving(held.id, job.version, NULL, number_option(job.options, 'keep', 5)::integer);
    RETURN job.version;
END
$$;

CREATE FUNCTION retrain(model text, options jsonb DEFAULT '{}', sketch sketch DEFAULT NULL) RETURNS integer
    LANGUAGE fastclust SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    held stored_models;
    version stored_versions;
    live kept_sketches;
BEGIN
    PERFORM check_training_options(options, 'retrain');
    held := held_model($1, NOT flag_option(options, 'nowait', false));
    IF sketch IS NOT NULL THEN
        RETURN retrain_from_sketch(held, sketch, options);
    ELSIF options ? 'replace' THEN
        RAISE invalid_parameter_value USING MESSAGE = 'option "replace" needs the argument sketch', HINT = 'retrain(model, options, sketch => s)';
    END IF;
    version := largest_part(held);
    live := live_for_retraining(held, version, options);
    IF live.id IS NOT NULL THEN
        RETURN retrain_live(held, version, live, options);
    END IF;
    RETURN run_training(retraining_job(held, options));
END
$$;
COMMENT ON FUNCTION retrain(text, jsonb, sketch)
    IS 'train a new version as before, or as the options say; with a sketch of new rows, from it and the training sketch alone; clusters that stayed keep their numbers';

CREATE FUNCTION retrain_if_drifted(model text, threshold double precision DEFAULT 0.01, min_effect double precision DEFAULT 0.1,
        options jsonb DEFAULT '{}') RETURNS integer
    LANGUAGE fastclust SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    held stored_models;
    version stored_versions;
    live kept_sketches;
    job training_job;
    checked drift_checks;
    present record;
BEGIN
    PERFORM check_training_options(options, 'retrain');
    IF (threshold > 0 AND threshold < 1) IS NOT TRUE THEN
        RAISE invalid_parameter_value USING MESSAGE = format('threshold is %s, out of range', COALESCE(threshold::text, 'NULL')),
            DETAIL = 'It is a p-value, above 0 and below 1.';
    ELSIF min_effect IS NULL OR min_effect < 0 OR min_effect = 'NaN' THEN
        RAISE invalid_parameter_value USING MESSAGE = format('min_effect is %s, out of range', COALESCE(min_effect::text, 'NULL')),
            DETAIL = 'It is a share of a standard deviation or of the rows, 0 or more.';
    END IF;
    held := held_model($1, NOT flag_option(options, 'nowait', false));
    version := largest_part(held, false);
    live := live_for_retraining(held, version, options);
    IF live.id IS NULL THEN
        job := retraining_job(held, options);
    END IF;
    checked.relation := COALESCE((job.source).relation, version.relation);
    SELECT r.s, r.counts, r.n INTO present
      FROM (SELECT m.*, row_count(m.s) AS n FROM model_rows(live) m WHERE live.id IS NOT NULL
            UNION ALL SELECT q.s, q.counts, q.n FROM sketch_rows(version, checked.relation::regclass, NULL) q WHERE live.id IS NULL) r;
    SELECT d.mmd2, d.null_sd, d.p_value, d.fit_residual, d.n, d.effect, d.verdict, d.columns
      INTO checked.mmd2, checked.null_sd, checked.p_value, checked.fit_residual, checked.n, checked.effect, checked.verdict, checked.columns
      FROM version_drift(version, present.s, present.counts, threshold, min_effect, present.n) d;
    IF checked.verdict = 'too few rows' THEN
        RAISE WARNING USING MESSAGE = format('too few rows to tell drift of model "%s": %s of %s, %s of the training',
            $1, checked.n, checked.relation, row_count(version.training_sketch));
    ELSIF NOT flag_option(version.options || options, 'quiet', false) THEN
        RAISE NOTICE '%', format('model "%s" version %s: drift %s, effect %s, p = %s for %s rows', $1, held.version, checked.verdict,
            short_number(checked.effect), short_number(checked.p_value), checked.n);
    END IF;
    IF checked.verdict = 'drifted' THEN
        checked.new_version := CASE WHEN live.id IS NOT NULL THEN retrain_live(held, version, live, options) ELSE run_training(job) END;
    END IF;
    checked.model_id := held.id;
    checked.version := held.version;
    checked.threshold := threshold;
    checked.min_effect := min_effect;
    PERFORM write_drift(checked);
    RETURN checked.new_version;
END
$$;
COMMENT ON FUNCTION retrain_if_drifted(text, double precision, double precision, jsonb)
    IS 'retrain when the p-value of drift is below the threshold and its effect at least min_effect; the new version, or NULL; every check is a row of drift_log';
