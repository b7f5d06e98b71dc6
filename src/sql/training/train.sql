
-- train: from a table to a new version of a model (pg/train/train.h has the steps)

-- The version of a job, written but not served yet; the job with the encoder of its columns.
CREATE FUNCTION fastclust_internal.train_rows(job training_job) RETURNS training_job
    AS 'MODULE_PATHNAME', 'fastclust_train_rows' LANGUAGE C STRICT SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp;

CREATE FUNCTION fastclust_internal.run_training(asked training_job) RETURNS integer
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    job training_job := train_rows(asked);
    held stored_models;
    trained stored_versions;
BEGIN
    PERFORM start_serving(job.model_id, job.version, (job.source).group_by, number_option(job.options, 'keep', 5)::integer);
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
