
-- the encoder of a training: what columns become, and what their NULLs tell

-- Centroids of imputed rows lie between those of the clusters: they are found in complete rows too, where these are enough of so many.
CREATE FUNCTION fastclust_internal.complete_rows(source row_source, k integer, wanted double precision, estimate double precision, seed bigint) RETURNS text
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    gaps text := (SELECT string_agg(format('t.%I', e.feature), ', ') FROM encoder_nulls(source.encoder) e
                   WHERE e.share > 0 AND e.nulls = 'impute' AND NOT e.has_dimension AND e.feature = ANY (source.features));
    complete bigint;
BEGIN
    IF gaps IS NULL OR source.group_by IS NOT NULL OR cardinality(source.features) > 98 THEN
        RETURN NULL;
    END IF;
    EXECUTE format('SELECT count(*) FILTER (WHERE num_nulls(%s) = 0) %s', gaps, rows_from(source, 8 * wanted, estimate, seed)) INTO complete;
    RETURN CASE WHEN complete >= greatest(400, 20 * k) THEN format('num_nulls(%s) = 0', gaps) END;
END
$$;

-- Some rows in units by an encoder with indicators.
CREATE FUNCTION fastclust_internal.flagged_rows(job training_job, flagged encoder) RETURNS fastop
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    source row_source := with_encoder(job.source, flagged);
BEGIN
    source.complete := NULL;
    job.source := source;
    job.model_id := NULL;
    job.options := jsonb_build_object('sample_rows', least(8000, greatest(1000, 4e6 / dim(flagged))));
    RETURN operator_in_units(uniform_sample(job), NULL, NULL, encoder_center(flagged), encoder_scale(flagged));
END
$$;

-- The encoder with a dimension for the NULLs of each column where they tell something (core/kmeans/missing.h), but of those that the option nulls
-- names: these are imputed and no more.
CREATE FUNCTION fastclust_internal.with_indicators(job training_job, learned encoder) RETURNS encoder
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    asked integer[] := (SELECT array_agg(e.number ORDER BY e.number) FROM encoder_nulls(learned) e
                         WHERE e.share > 0 AND e.share < 1 AND e.nulls = 'impute' AND e.kind <> 'category'
                           AND NOT CASE jsonb_typeof(job.options -> 'encoder' -> 'nulls')
                                   WHEN 'object' THEN EXISTS (SELECT FROM jsonb_object_keys(job.options -> 'encoder' -> 'nulls') k WHERE starts_with(e.feature || ' -> ', k || ' -> '))
                                   ELSE COALESCE(job.options -> 'encoder' ? 'nulls', false) END);
    flagged encoder;
    found integer[];
    names text;
BEGIN
    IF asked IS NULL OR dim(learned) + cardinality(asked) > 16384 THEN
        RETURN learned;
    END IF;
    flagged := flagged_encoder(learned, asked);
    found := informative_nulls(flagged, flagged_rows(job, flagged), job.seed);
    IF found <> '{}' AND job.model_id IS NOT NULL AND NOT flag_option(job.options, 'quiet', false) THEN
        names := (SELECT string_agg(format('"%s"', e.feature), ', ' ORDER BY e.number) FROM encoder_nulls(learned) e WHERE e.number = ANY (found));
        RAISE NOTICE USING MESSAGE = format('NULLs of %s tell rows apart: %s', names,
                CASE WHEN cardinality(found) = 1 THEN 'they have a dimension of their own' ELSE 'they have dimensions of their own' END),
            HINT = 'The option nulls makes them count as the mean and no more: ''{"encoder": {"nulls": "impute"}}''.';
    END IF;
    RETURN flagged_encoder(learned, found);
END
$$;

-- The job with an encoder learned from a sample of its rows; one that was there keeps its dimensions.
CREATE FUNCTION fastclust_internal.with_learned_encoder(job training_job) RETURNS training_job
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    source row_source := job.source;
    query text := 'SELECT renewed_encoder(encoder_agg(t.*, $1, $2), $3) ';
    wanted float8 := number_option(job.options, 'sample_rows', greatest(20000, 50 * job.k));
    picked text := rows_from(source, wanted, job.estimate, job.seed);
    -- the options that are the encoder's; categories that were found before should be found again
    settings jsonb := jsonb_strip_nulls(jsonb_build_object('standardize', job.options -> 'standardize')) || COALESCE(job.options -> 'encoder', '{}')
        || CASE WHEN source.encoder IS NOT NULL THEN jsonb_build_object('categories', least(10000, 4 * number_option(job.options -> 'encoder', 'categories', 32))) ELSE '{}' END;
    learned encoder;
BEGIN
    IF source.vector THEN
        RETURN job;
    END IF;
    EXECUTE query || picked INTO learned USING source.features::text[], settings, source.encoder;
    IF learned IS NULL AND picked <> rows_from(source) THEN
        EXECUTE query || rows_from(source) INTO learned USING source.features::text[], settings, source.encoder;
    END IF;
    IF learned IS NULL THEN
        PERFORM reject_no_rows(job);
    END IF;
    IF feature_names(learned) <> feature_names(source.encoder) THEN
        RAISE WARNING USING MESSAGE = format('the columns of model "%s" changed: they are encoded again', job.model),
            DETAIL = format('There were %s dimensions, now there are %s.', dim(source.encoder), dim(learned));
    END IF;
    IF feature_names(learned) IS DISTINCT FROM feature_names(source.encoder) THEN
        learned := with_indicators(job, learned);
    END IF;
    source := with_encoder(source, learned);
    source.complete := CASE WHEN job.model_id IS NOT NULL THEN complete_rows(source, job.k, wanted, job.estimate, job.seed) END;
    job.source := source;
    RETURN job;
END
$$;

