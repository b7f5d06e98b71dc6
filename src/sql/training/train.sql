
-- train: from a table to a new version of a model
--
--     sample, units, spec     from some rows
--     sketch, weighted rows   one scan, of every group
--     operator                in memory, of every group
--     Lloyd's algorithm       scans
--     numbers, distances      in memory

-- The operator of a part.
CREATE FUNCTION fastclust_internal.fit_part(job training_job, units row_units, spec sketch_spec, group_value text, sketch sketch, weighted_rows fastop,
        OUT op fastop, OUT frozen boolean)
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    space_rows fastop := rows_in_space(weighted_rows, units.map);
    distinct_k integer := distinct_centroids(space_rows, job.k);      -- or as many clusters as there are different rows: none is empty
    -- the old centroids in units, where they can be compared
    old fastop := CASE WHEN job.version > 1 AND NOT flag_option(job.options, 'fresh', false) THEN
        (SELECT operator_in_units(v.operator, v.center, v.scale, units.center, units.scale) FROM serving_part(job, group_value) v
          WHERE v.map IS NULL AND units.map IS NULL AND clusters(v.operator) = distinct_k
            AND training_metric(v.options ->> 'metric') = COALESCE((job.source).metric, 'euclidean')) END;
    found record;
BEGIN
    IF distinct_k < job.k AND (job.source).group_by IS NULL THEN
        RAISE WARNING USING MESSAGE = format('k is %s, but a sample of %s rows of %s has %s', job.k, clusters(space_rows), (job.source).relation,
                CASE WHEN distinct_k = 1 THEN 'one distinct row' ELSE format('%s distinct rows', distinct_k) END),
            DETAIL = format('Model "%s" gets as many clusters: others would have no rows.', job.model);
    END IF;
    job.k := distinct_k;
    frozen := false;
    IF flag_option(job.options, 'frozen', false) THEN
        SELECT f.op, f.frozen INTO op, frozen FROM fit_frozen(job, units, group_value, space_rows, distinct_k) f;
    ELSIF job.method = 'compressive' THEN
        SELECT f.op, f.frozen INTO op, frozen FROM fit_compressive(job, units, spec, old, sketch, space_rows, distinct_k) f;
    ELSIF job.method = 'qkmeans' AND (job.options -> 'factors' ? 'method') IS NOT TRUE THEN
        op := learn_product(job, units, space_rows);        -- L. Giffon et al. 2021
    ELSE
        found := fit_kmeans(job, old, space_rows, distinct_k);       -- no query: its plan would hold the rows once more
        IF job.method = 'qkmeans' THEN
            op := alternate_factorized(job, units, found.op, space_rows);
        ELSE
            op := found.op;
            frozen := found.frozen;
        END IF;
    END IF;
END
$$;

-- What is known of the parts of a version: arrays, an element a part.
CREATE TYPE fastclust_internal.trained_parts AS (groups text[], operators fastop[], frozen boolean[], samples fastop[], counts bigint[], whole boolean);

-- Rows with a NULL were left out, or got a value in its place: nobody should have to find out.
CREATE FUNCTION fastclust_internal.tell_nulls(job training_job, imputed bigint, n bigint) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    shares text := (SELECT string_agg(format('%s %s %%', e.feature, round((100 * e.share)::numeric, 1)), ', ' ORDER BY e.share DESC)
                      FROM encoder_nulls((job.source).encoder) e WHERE e.share > 0);
    skipped text := (SELECT string_agg(format('"%s"', e.feature), ', ') FROM encoder_nulls((job.source).encoder) e WHERE e.share > 0 AND e.nulls = 'skip');
BEGIN
    IF flag_option(job.options, 'quiet', false) THEN
        RETURN;
    END IF;
    IF imputed > 0 AND (job.source).metric IS NOT NULL THEN
        RAISE NOTICE USING MESSAGE = format('%s of %s rows are zero vectors, which have no direction and are skipped', imputed, n + imputed);
    ELSIF imputed > 0 THEN
        RAISE NOTICE USING MESSAGE = format('%s of %s rows have a NULL, which counts as the mean of its column or as "missing"', imputed, n),
            DETAIL = 'In a sample: ' || shares || '.', HINT = 'The option nulls leaves such rows out: ''{"encoder": {"nulls": "skip"}}''.';
    END IF;
    IF skipped IS NOT NULL THEN
        RAISE NOTICE USING MESSAGE = format('rows with a NULL in %s are left out', skipped), DETAIL = 'In a sample: ' || shares || '.';
    END IF;
END
$$;

-- One scan; the operator of every part, stored with its sketch and its counts.  The first part keeps the drift_spec of all.
-- The null law of a sketch is from the uniform sample, which is in the rows' own units, or of a group from some of its weighted rows.
-- By 48 rows the deviation of the law is right within 4 % (one deviation); a thousand groups of 200 rows take a tenth more time for it.
CREATE FUNCTION fastclust_internal.fit_parts(job training_job, units row_units, spec sketch_spec, sample fastop, sampling sampling) RETURNS trained_parts
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    part record;
    fit record;
    groups text[] := '{}';
    operators fastop[] := '{}';
    frozen boolean[] := '{}';
    samples fastop[] := '{}';
    counts bigint[] := '{}';
    drift_spec drift_spec := drift_spec_of_sample(sample, job.seed);
    stored stored_versions;
    pending stored_versions[] := '{}';
    imputed bigint := 0;
    fitting text := CASE job.method WHEN 'compressive' THEN 'decode' WHEN 'qkmeans' THEN 'QK-means' ELSE 'k-means' END;
    begun timestamptz := begin_step(job, 'sketch');
BEGIN
    FOR part IN SELECT g.* FROM scan_groups(job, units, spec, drift_spec, sampling) g WHERE g.sketch IS NOT NULL LOOP
        IF part.group_value IS NULL THEN
            RAISE null_value_not_allowed USING MESSAGE = format('the cast of column "%s" makes NULL of a value', (job.source).group_by);
        END IF;
        IF groups = '{}' THEN
            PERFORM log_step(job, 'sketch', begun, NULL, NULL);
            begun := begin_step(job, fitting);
        END IF;
        fit := fit_part(job, units, spec, part.group_value, part.sketch, part.weighted_rows);
        groups := groups || part.group_value;
        operators := operators || fit.op;
        frozen := frozen || fit.frozen;
        samples := samples || part.weighted_rows;
        counts := counts || row_count(part.sketch);
        stored := version_part(job, units, spec, part.group_value, fit.op, part.sketch, part.counts,
                               CASE WHEN (job.source).group_by IS NULL THEN sample_null_moments(sample, spec)
                                    ELSE sample_null_moments(operator_in_units(part.weighted_rows, units.center, units.scale, NULL, NULL), spec, 48) END, part.imputed);
        stored.drift_spec := CASE WHEN cardinality(groups) = 1 THEN drift_spec END;
        pending := pending || stored;
        imputed := imputed + COALESCE(part.imputed, 0);
        IF cardinality(pending) = 64 THEN
            PERFORM write_parts(pending);
            pending := '{}';
        END IF;
    END LOOP;
    IF groups = '{}' THEN
        PERFORM reject_no_rows(job);
    ELSIF cardinality(pending) > 0 THEN
        PERFORM write_parts(pending);
    END IF;
    PERFORM log_step(job, fitting, begun, NULL,
                     (SELECT format('%s rows%s%s', sum(u.n), CASE WHEN sum(u.n) > sum(clusters(u.s)) THEN format(', a sample of %s', sum(clusters(u.s))) ELSE '' END,
                                    CASE WHEN (job.source).group_by IS NULL THEN '' ELSE format(', %s groups', count(*)) END)
                        FROM unnest(samples, counts) u(s, n)));
    PERFORM tell_nulls(job, imputed, (SELECT sum(n)::bigint FROM unnest(counts) n));
    RETURN ROW(groups, operators, frozen, samples, counts, (SELECT bool_and(clusters(u.s) = u.n) FROM unnest(samples, counts) u(s, n)))::trained_parts;
END
$$;

CREATE FUNCTION fastclust_internal.run_training(asked training_job) RETURNS integer
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    encoded training_job := with_learned_encoder(asked);
    sample fastop := guarded_sample(encoded, uniform_sample(encoded, dimension_of(encoded.source)));
    units row_units := standard_units(encoded, sample);
    job training_job := with_start(CASE WHEN asked.k IS NULL THEN with_chosen_k(encoded, units, sample) ELSE encoded END, units, sample);
    spec sketch_spec := training_spec(job, units, sample);
    space row_units := CASE job.method WHEN 'kernel' THEN with_map(job, units, sample) ELSE units END;
    parts trained_parts := fit_parts(job, space, spec, sample, coreset_sampling(job, units, sample, estimated_groups(job, clusters(sample))));
    operators fastop[] := parts.operators;
    scans record;
    even record;
    objective float8;
    -- scans that follow: none where the weighted rows are all rows
    planned integer := CASE WHEN job.method = 'qkmeans' THEN 0
        ELSE number_option(job.options, 'iterations', CASE WHEN job.method = 'compressive' THEN ((job.source).group_by IS NOT NULL)::integer WHEN parts.whole THEN 0 ELSE 10 END) END;
    begun timestamptz;
    held stored_models;
    trained stored_versions;
BEGIN
    parts.operators := NULL;        -- the scans take memory enough
    IF NOT job.options ? 'probes' THEN
        sample := NULL;
    END IF;
    scans := lloyd_scans(job, space, parts.groups, parts.frozen, planned, operators);
    operators := NULL;
    IF job.options ? 'balance' THEN
        even := balance_clusters(job, space, parts.samples[1], scans.operators[1], scans.objectives[1]);
        scans.operators := ARRAY[even.op];
        scans.objectives := ARRAY[even.objective];
    END IF;
    begun := clock_timestamp();
    IF job.options ? 'probes' AND (job.source).group_by IS NULL THEN
        sample := searched_sample(sample, space);
        job.recall := (bucket_recall(scans.operators[1], sample, 1500, 10.0 * clusters(sample) / greatest(parts.counts[1], clusters(sample)),
                                     least((job.options ->> 'probes')::integer, clusters(scans.operators[1])))).recall;
    END IF;
    objective := finish_parts(job, space, parts.groups, scans.operators, parts.samples, parts.counts, scans.objectives);
    PERFORM log_step(job, 'profile', begun, objective, NULL);
    PERFORM serve_version(job.model_id, job.version, (job.source).group_by, number_option(job.options, 'keep', 5)::integer);
    PERFORM keep_model(job);
    IF job.options -> 'live' ->> 'half_life' IS NOT NULL THEN
        -- the rows of a training weigh alike: a second version, in which they have their weights, is decoded from the sketch that follows them
        held := held_model(job.model, true);
        trained := largest_part(held);
        RETURN retrain_live(held, trained, live_of_version(trained), job.options - 'nowait');
    END IF;
    RETURN job.version;
END
$$;

-- The job of the next version of a model that is held.
CREATE FUNCTION fastclust_internal.next_job(held stored_models, source row_source, k integer, method text, options jsonb) RETURNS training_job
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    job training_job;
BEGIN
    PERFORM check_method(method, source.group_by), check_training_options(options, 'train');     -- some were stored long ago
    job.model_id := held.id;
    job.model := held.model;
    job.version := (SELECT COALESCE(max(v.version), 0) + 1 FROM readable_versions v WHERE v.model_id = held.id);
    job.k := clusters_of_levels(options, k);
    job.options := CASE WHEN options ->> 'where' IS NULL THEN options - 'where'     -- names resolved, for it is read again in other sessions
                        ELSE options || jsonb_build_object('where', (row_condition(source.relation::regclass, options ->> 'where')).condition) END;
    job.seed := seed_option(options);
    job := sampled_job(job, with_condition(source, options));
    IF method = 'kernel' AND (job.source).metric IS NOT NULL THEN
        RAISE feature_not_supported USING MESSAGE = 'method "kernel" has no metric but its kernel',
            HINT = 'Its kernel of cosines is an option: ''{"kernel": "cosine()"}''.';
    END IF;
    job.started_at := clock_timestamp();
    job.method := CASE method WHEN 'auto' THEN 'kmeans' ELSE method END;
    job.note := CASE WHEN method = 'auto' THEN 'kmeans: nearest to the least sum of squares over all rows' END;
    PERFORM check_live_training(job);
    IF job.options ? 'balance' AND (job.method <> 'kmeans' OR (job.source).group_by IS NOT NULL OR number_option(job.options, 'trim', 0) > 0) THEN
        RAISE feature_not_supported USING MESSAGE = format('option "balance" is not for %s',
                CASE WHEN job.method <> 'kmeans' THEN format('method "%s"', job.method) WHEN (job.source).group_by IS NOT NULL THEN 'groups' ELSE 'option "trim"' END),
            HINT = 'It takes the method auto or kmeans, of one group, with all rows.';
    END IF;
    RETURN job;
END
$$;

CREATE FUNCTION fastclust_internal.train_model(model_name text, relation regclass, features name[], vector boolean, k integer, method text, options jsonb)
    RETURNS integer
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    held stored_models;
    problem text;
BEGIN
    PERFORM check_training_options(options, 'train');
    options := jsonb_strip_nulls(options);
    k := clusters_of_levels(options, k);
    IF k NOT BETWEEN 1 AND 1048576 THEN
        RAISE invalid_parameter_value USING MESSAGE = format('k is %s, out of range', k),
            DETAIL = 'It may be from 1 to 1048576, or NULL, which chooses it.';
    ELSIF relation IS NULL OR method IS NULL THEN
        RAISE null_value_not_allowed USING MESSAGE = format('%s must not be NULL', CASE WHEN relation IS NULL THEN 'relation' ELSE 'method' END);
    ELSIF k IS NULL AND (options ? 'group_by' OR method = 'kernel') THEN
        RAISE null_value_not_allowed USING MESSAGE = format('k must not be NULL %s', CASE WHEN method = 'kernel' THEN 'for method "kernel"' ELSE 'with option "group_by"' END);
    END IF;
    PERFORM check_features(features);
    problem := CASE WHEN (SELECT r.rolsuper FROM pg_roles r WHERE r.rolname = current_user) THEN COALESCE(foreign_code_problem(relation), foreign_type_problem(relation, features || (options ->> 'group_by')::name)) END;
    IF problem IS NOT NULL AND NOT flag_option(options, 'quiet', false) THEN    -- now: a scheduled retrain runs unattended and cannot ask
        RAISE NOTICE USING MESSAGE = format('%s, whose code a scan may run with the rights of a superuser', problem),
            HINT = format('Train as the owner of the table, or name it at each retrain: ''{"relation": %s}''.', to_json(relation::text));
    END IF;
    PERFORM tell_idle_options(method, options);
    held := claim_model(model_name, NOT flag_option(options, 'nowait', false));
    RETURN run_training(next_job(held, row_source(relation, features, vector, options ->> 'group_by'), k, method, options - 'nowait'));
END
$$;

CREATE FUNCTION train(model text, relation regclass, features text, k integer, method text DEFAULT 'auto', options jsonb DEFAULT '{}') RETURNS integer
    LANGUAGE fastclust SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
BEGIN
    RETURN (SELECT train_model(model, relation, c.features, c.vector, k, method, options) FROM columns_of_text(relation, train.features) c);
END
$$;
COMMENT ON FUNCTION train(text, regclass, text, integer, text, jsonb)
    IS 'train a model on a column of vectors or numbers, or on a list of columns; returns the new version, which predict uses from the commit on';
CREATE FUNCTION train(model text, relation regclass, features name[], k integer, method text DEFAULT 'auto', options jsonb DEFAULT '{}') RETURNS integer
    LANGUAGE fastclust SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
BEGIN
    RETURN train_model(model, relation, features, false, k, method, options);
END
$$;
COMMENT ON FUNCTION train(text, regclass, name[], integer, text, jsonb)
    IS 'train a model on columns of numbers, which are standardised unless the options say otherwise';
