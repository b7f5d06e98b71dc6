
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

-- Where the quantiles of distances are taken: closer towards the far end.
CREATE FUNCTION fastclust_internal.quantile_places() RETURNS double precision[]
    LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT array_agg(1 - (1 - i / 200.0) ^ 2 ORDER BY i) FROM generate_series(0, 200) i
$$;

