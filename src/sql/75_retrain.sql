
-- retrain: a new version on new rows, that keeps the numbers of the clusters that stayed

-- The version that serves, as a job: stored settings, with what the options say instead.
CREATE FUNCTION fastclust_internal.retraining_job(held models, options jsonb) RETURNS training_job
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    version model_versions;
    job training_job;
BEGIN
    SELECT v.* INTO version FROM model_versions v
     WHERE v.model_id = held.id AND v.version = held.version ORDER BY v.k DESC, v.group_value LIMIT 1;
    IF NOT FOUND THEN
        RAISE undefined_object USING MESSAGE = format('model "%s" has no version that serves', held.model);
    END IF;
    job := next_version(held, (version.options || options) - '{nowait,k,method,relation,replace}'::text[]);
    job.features := version.features;
    job.same_features := true;
    job.vector := version.vector;
    job.k := number_option(options, 'k', version.k, 1, 1048576);
    job.method := COALESCE(options ->> 'method', version.method);
    job.group_by := job.options ->> 'group_by';
    IF options ->> 'relation' IS NOT NULL AND to_regclass(options ->> 'relation') IS NULL THEN
        RAISE undefined_table USING MESSAGE = format('relation "%s" does not exist', options ->> 'relation'),
            HINT = 'Qualify the name with its schema.';
    END IF;
    job.relation := scanned_relation(held, version, to_regclass(options ->> 'relation'), job.group_by)::text;
    RETURN job;
END
$$;

CREATE FUNCTION retrain(model text, options jsonb DEFAULT '{}') RETURNS integer
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
BEGIN
    PERFORM check_training_options(options, '{k,method,relation}');
    RETURN run_training(retraining_job(lock_model($1, NOT flag_option(options, 'nowait', false)), options));
END
$$;
COMMENT ON FUNCTION retrain(text, jsonb) IS 'train a new version as before, or as the options say; clusters that stayed keep their numbers';

-- Spreads of decoded clusters in units of scale, which decode tells in the rows' own.
CREATE FUNCTION fastclust_internal.decoded_result(job training_job, s sketch, version model_versions) RETURNS training_result
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    result training_result;
    unit float8 := COALESCE((SELECT sqrt(avg(x * x)) FROM unnest(version.scale) x), 1);
    change float8 := 1;
BEGIN
    SELECT fastop_agg(c.centroid, c.weight ORDER BY c.cluster), array_agg(c.spread / unit ORDER BY c.cluster),
           sum(c.weight * c.spread ^ 2) / unit ^ 2 / sum(c.weight) * dim(version.operator)
      INTO result.operator, result.spreads, result.objective
      FROM decode(s, job.k, 'auto', decode_settings(job, version.spec), version.spec) c;
    IF version.scale IS NOT NULL THEN
        result.operator := operator_in_units(result.operator, NULL, NULL, version.center, version.scale);
    END IF;
    result.spec := version.spec;
    result.sketch := s;
    result.n := row_count(s);
    result.null_moments := version.null_moments;
    -- no row is read: of another number of clusters the quantiles are taken to change as the root mean square does
    IF job.k <> version.k THEN
        change := COALESCE(sqrt(result.objective / NULLIF(version.objective, 0)), 1);
    END IF;
    SELECT array_agg(q * change ORDER BY i) INTO result.quantiles FROM unnest(version.distance_quantiles) WITH ORDINALITY u(q, i);
    RETURN result;
END
$$;

CREATE FUNCTION retrain_with_sketch(model text, new_rows sketch, options jsonb DEFAULT '{}') RETURNS integer
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    held models;
    version model_versions;
    job training_job;
    result training_result;
    numbers integer[];
    begun timestamptz := clock_timestamp();
BEGIN
    PERFORM check_options(options, '{k,keep,replace,nowait,quiet}');
    PERFORM whole_option(options, 'k', 1, 1, 1048576), whole_option(options, 'keep', 0, 0, 1e6);
    IF new_rows IS NULL THEN
        RAISE null_value_not_allowed USING MESSAGE = 'new_rows must not be NULL';
    END IF;
    held := lock_model($1, NOT flag_option(options, 'nowait', false));
    version := serving_version(held);
    IF version.method IN ('kernel', 'qkmeans') THEN
        RAISE feature_not_supported USING MESSAGE = format('method "%s" of model "%s" needs rows', version.method, $1),
            HINT = 'Use retrain.';
    END IF;
    IF spec(new_rows) <> spec(version.training_sketch) THEN
        RAISE data_exception USING MESSAGE = format('the sketch was not made with the sketch_spec of model "%s"', $1),
            HINT = 'Use sketch_agg(x, (SELECT model_spec(model))).';
    END IF;
    job := next_version(held, (version.options || options) - '{nowait,k,replace}'::text[]);
    job.relation := version.relation;
    job.features := version.features;
    job.vector := version.vector;
    job.k := number_option(options, 'k', version.k, 1, 1048576);
    job.center := version.center;
    job.scale := version.scale;
    job.method := version.method;
    job.note := format('from a sketch of %s rows', row_count(new_rows));
    result := decoded_result(job, CASE WHEN flag_option(options, 'replace', false) THEN new_rows
                                       ELSE version.training_sketch + new_rows END, version);
    numbers := match_clusters(job.old_operator, job.old_center, job.old_scale, result.operator, job.center, job.scale);
    SELECT array_agg(s.x ORDER BY n.x) INTO result.spreads
      FROM unnest(result.spreads) WITH ORDINALITY s(x, i) JOIN unnest(numbers) WITH ORDINALITY n(x, i) USING (i);
    result.operator := renumber(result.operator, numbers);
    PERFORM log_step(job, 'decode', begun, result.objective, job.note);
    PERFORM store_version(job, '', result);
    PERFORM serve_version(job);
    RETURN job.version;
END
$$;
COMMENT ON FUNCTION retrain_with_sketch(text, sketch, jsonb)
    IS 'train a new version from the training sketch plus the sketch of new rows; reads no row';

CREATE FUNCTION fastclust_internal.check_drift_limits(threshold double precision, min_effect double precision) RETURNS void
    LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF threshold IS NULL OR NOT threshold BETWEEN 0 AND 1 THEN
        RAISE invalid_parameter_value USING MESSAGE = format('threshold is %s, out of range', COALESCE(threshold::text, 'NULL')),
            DETAIL = 'It is a p-value, between 0 and 1.';
    ELSIF min_effect IS NULL OR min_effect < 0 OR min_effect = 'NaN' THEN
        RAISE invalid_parameter_value USING MESSAGE = format('min_effect is %s, out of range', COALESCE(min_effect::text, 'NULL')),
            DETAIL = 'It is a share of a standard deviation or of the rows, 0 or more.';
    END IF;
END
$$;

CREATE FUNCTION retrain_if_drifted(model text, threshold double precision DEFAULT 0.01, min_effect double precision DEFAULT 0.1,
        options jsonb DEFAULT '{}') RETURNS integer
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    held models;
    version model_versions;
    job training_job;
    checked drift_log;
BEGIN
    PERFORM check_training_options(options, '{k,method,relation}'), check_drift_limits(threshold, min_effect);
    held := lock_model($1, NOT flag_option(options, 'nowait', false));
    version := serving_version(held);
    job := retraining_job(held, options);
    SELECT d.mmd2, d.null_sd, d.p_value, d.fit_residual, d.n, d.effect, d.verdict, d.columns
      INTO checked.mmd2, checked.null_sd, checked.p_value, checked.fit_residual, checked.n, checked.effect, checked.verdict, checked.columns
      FROM sketch_rows(version, job.relation::regclass, NULL) r, version_drift(version, r.s, threshold, min_effect) d;
    IF checked.verdict = 'too few rows' THEN
        RAISE WARNING USING MESSAGE = format('%s rows of %s are too few to tell drift of model "%s"', checked.n, job.relation, $1);
    ELSIF NOT flag_option(job.options, 'quiet', false) THEN
        RAISE NOTICE '%', format('model "%s" version %s: drift %s, effect %s, p = %s for %s rows', $1, held.version, checked.verdict,
            short_number(checked.effect), short_number(checked.p_value), checked.n);
    END IF;
    IF checked.verdict = 'drifted' THEN
        checked.new_version := run_training(job);
    END IF;
    checked.model_id := held.id;
    checked.version := held.version;
    checked.relation := job.relation;
    checked.threshold := threshold;
    checked.min_effect := min_effect;
    PERFORM write_drift(checked);
    RETURN checked.new_version;
END
$$;
COMMENT ON FUNCTION retrain_if_drifted(text, double precision, double precision, jsonb)
    IS 'retrain when the p-value of drift is below the threshold and its effect at least min_effect; the new version, or NULL; every check is a row of drift_log';
