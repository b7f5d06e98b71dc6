
-- parts: the rows of a version, measured on the sample and written

CREATE FUNCTION fastclust_internal.version_part(job training_job, units row_units, spec sketch_spec, group_value text, op fastop,
        sketch sketch, counts drift_counts, null_moments double precision[], imputed bigint) RETURNS stored_versions
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    v stored_versions;
BEGIN
    v.model_id := job.model_id;
    v.version := job.version;
    v.group_value := group_value;
    v.method := job.method;
    v.note := job.note;
    v.relation := (job.source).relation;
    v.features := (job.source).features;
    v.vector := (job.source).vector;
    v.encoder := (job.source).encoder;
    v.k := job.k;
    v.options := job.options - 'frozen';
    v.operator := op;
    v.center := units.center;
    v.scale := units.scale;
    v.map := units.map;
    v.spec := spec;
    v.training_sketch := sketch;
    v.drift_counts := counts;
    v.null_moments := null_moments;
    v.n := row_count(sketch);
    v.imputed := CASE WHEN (job.source).metric IS NULL THEN imputed END;
    v.started_at := job.started_at;
    RETURN v;
END
$$;

-- Numbers, distances and the objective of a part: that of scans where there is one, else the sample's.  A part without an old one takes
-- its numbers from those of another group, where there is one to align to.
CREATE FUNCTION fastclust_internal.part_result(job training_job, units row_units, group_value text, op fastop, weighted_rows fastop,
        objective double precision, places double precision[], other_group fastop) RETURNS part_result
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    space_rows fastop := rows_in_space(weighted_rows, units.map);
    old stored_versions;
    old_rows fastop;
    fit record;
    churn float8;
BEGIN
    IF job.version > 1 THEN
        old := serving_part(job, group_value);
    END IF;
    IF old.operator IS NOT NULL THEN
        old_rows := rows_in_space(operator_in_units(weighted_rows, units.center, units.scale, old.center, old.scale), old.map);
        IF dim(old_rows) = dim(old.operator) THEN
            -- clusters that continue old ones take their numbers: by distance in the old units, or by labels where features are of different maps
            op := COALESCE(renumber(op, CASE WHEN units.map IS NULL AND old.map IS NULL
                THEN match_clusters(old.operator, NULL, NULL, operator_in_units(op, units.center, units.scale, old.center, old.scale), NULL, NULL)
                ELSE match_labels(label_counts(op, space_rows, old.operator, old_rows), clusters(old.operator)) END), op);
            churn := label_change(op, space_rows, old.operator, old_rows);
        END IF;
    ELSIF other_group IS NOT NULL THEN
        op := COALESCE(renumber(op, match_clusters(other_group, NULL, NULL, op, NULL, NULL)), op);
    END IF;
    fit := fit_profile(op, space_rows, places);
    RETURN ROW(group_value, op, fit.spreads, fit.quantiles, COALESCE(objective, fit.objective), CASE WHEN objective IS NULL THEN fit.error ELSE 0 END, churn,
               level_paths(op, job.options), job.recall);
END
$$;

-- Where the quantiles of distances are taken: closer towards the far end.
CREATE FUNCTION fastclust_internal.quantile_places() RETURNS double precision[]
    LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT array_agg(1 - (1 - i / 200.0) ^ 2 ORDER BY i) FROM generate_series(0, 200) i
$$;

-- The results of all parts, of so many rows each, written; their mean squared distance.
CREATE FUNCTION fastclust_internal.finish_parts(job training_job, units row_units, groups text[], operators fastop[], samples fastop[], counts bigint[],
        objectives double precision[]) RETURNS double precision
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    places float8[] := quantile_places();
    results part_result[] := '{}';
    total float8 := 0;
    largest integer := CASE WHEN flag_option(job.options, 'align', false) THEN (SELECT u.i FROM unnest(counts) WITH ORDINALITY u(n, i) ORDER BY u.n DESC, u.i LIMIT 1) END;
    aligned fastop;
BEGIN
    IF largest IS NOT NULL THEN
        aligned := (part_result(job, units, groups[largest], operators[largest], samples[largest], objectives[largest], places, NULL)).operator;
    END IF;
    FOR i IN 1 .. cardinality(groups) LOOP
        results := results || part_result(job, units, groups[i], operators[i], samples[i], objectives[i], places, aligned);
        total := total + counts[i] * (results[cardinality(results)]).objective;
        IF cardinality(results) = 64 OR i = cardinality(groups) THEN
            PERFORM write_results(job.model_id, job.version, results);
            results := '{}';
        END IF;
    END LOOP;
    RETURN total / (SELECT sum(c) FROM unnest(counts) c);
END
$$;
