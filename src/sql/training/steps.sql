
-- internal: what a training is about, and its steps.  A job is built once; each step takes what it needs and returns what it made.
-- All of it runs in the caller's transaction: until it commits the old version serves, and a failure leaves no trace.

CREATE TYPE fastclust_internal.training_job AS (
    model_id bigint, model text, version integer, source row_source, k integer, method text, note text, options jsonb,
    seed bigint, estimate double precision, started_at timestamptz);

-- Six digits for people to read, of any number: a cast to real fails on what is too small or too large for it.
CREATE FUNCTION fastclust_internal.short_number(x double precision) RETURNS text
    LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp SET extra_float_digits = -9 AS $$
    SELECT x::text
$$;

-- A step of the job begins, and ends: notices, unless the option quiet is set, training_progress and a row of training_log.
CREATE FUNCTION fastclust_internal.begin_step(job training_job, step text) RETURNS timestamptz
    AS 'MODULE_PATHNAME', 'fastclust_begin_step' LANGUAGE C STRICT;
CREATE FUNCTION fastclust_internal.log_step(job training_job, step text, begun timestamptz, objective double precision, note text) RETURNS void
    AS 'MODULE_PATHNAME', 'fastclust_log_step' LANGUAGE C SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp;
-- A long step that is none of a training.
CREATE FUNCTION fastclust_internal.announce_step(name text, model_id bigint, model text, step text, rows_about double precision) RETURNS void
    AS 'MODULE_PATHNAME', 'fastclust_announce_step' LANGUAGE C;
CREATE FUNCTION fastclust_internal.reject_no_rows(job training_job) RETURNS void
    AS 'MODULE_PATHNAME', 'fastclust_reject_no_rows' LANGUAGE C STRICT;

-- ---- the sample ----

-- A sample drawn by the option `sample`, and the number of rows it is drawn from: the planner's, or where rows are told apart and sampled by
-- their hashes alone the exact one, so that a training does not depend on the places of rows.
CREATE FUNCTION fastclust_internal.sampled_job(job training_job, source row_source) RETURNS training_job
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    how text := COALESCE(job.options ->> 'sample', 'auto');
BEGIN
    IF how NOT IN ('auto', 'hash') THEN
        RAISE invalid_parameter_value USING MESSAGE = format('sample "%s" is not known', how), HINT = 'Samples are auto, hash.';
    END IF;
    IF how = 'hash' THEN
        EXECUTE (SELECT format('SELECT sum(q.n) FROM (%s) q', string_agg('SELECT count(*) AS n ' || rows_from(source, leaf => leaf), ' UNION ALL '))
                   FROM unnest(COALESCE(source.leaves, ARRAY[source.relation])) leaf) INTO job.estimate;
        source.heap := false;
        source.key := row_hash(source.relation::regclass, source.features, source.raw);
    ELSE
        job.estimate := estimated_rows(source);
    END IF;
    job.source := source;
    RETURN job;
END
$$;

-- A uniform sample of about so many rows, in their own units.
CREATE FUNCTION fastclust_internal.uniform_sample(source row_source, wanted double precision, seed bigint) RETURNS fastop
    AS 'MODULE_PATHNAME', 'fastclust_uniform_sample' LANGUAGE C STRICT SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp;

-- ---- the sketch ----

-- What the sketch measures with groups: that of the median group of the sample's largest, by the width of its clusters; wide rows share a projection.
CREATE FUNCTION fastclust_internal.spec_of_groups(job training_job, units row_units, settings jsonb, wanted double precision) RETURNS sketch_spec
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    source row_source := job.source;
    spec sketch_spec;
BEGIN
    EXECUTE format(
        'WITH r AS MATERIALIZED (SELECT %1$s AS value, %2$s AS x %3$s),
              largest AS (SELECT value FROM r GROUP BY 1 HAVING count(*) > $2 ORDER BY count(*) DESC, 1 LIMIT 16),
              specs AS (SELECT value, sketch_spec_agg(x, $2, $3) AS spec FROM r JOIN largest USING (value) GROUP BY 1)
         SELECT spec FROM specs ORDER BY (describe(spec) ->> ''sigma'')::float8, value OFFSET (SELECT count(*) / 2 FROM specs) LIMIT 1',
        source.group_value, row_in_units(source, units), rows_from(source, wanted, job.estimate, job.seed))
        INTO spec USING units, job.k, settings;
    IF (describe(spec) ->> 'reduced_dim')::integer = (describe(spec) ->> 'dim')::integer THEN
        RETURN spec_in_units(spec, units.center, units.scale, true);
    END IF;
    RETURN NULL;
END
$$;

-- The spec of a sketch that is decoded.
CREATE FUNCTION fastclust_internal.decoded_spec(job training_job, units row_units, sample fastop, k integer) RETURNS sketch_spec
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    settings jsonb := jsonb_strip_nulls(jsonb_build_object('seed', job.seed, 'metric', (job.source).metric,
                          'center', CASE WHEN (job.source).sparse THEN 'zero' END, 'frequencies',
                          COALESCE(job.options -> 'frequencies', CASE WHEN job.method <> 'compressive' THEN to_jsonb(400) END)));
    many boolean := k > 256 AND job.method <> 'compressive';     -- where no training decodes, the width of some clusters in some rows tells enough of many
    spec sketch_spec := CASE WHEN job.options ? 'live' THEN (ready_live((job.source).relation::regclass, (job.source).features, job.options)).spec END;
BEGIN
    IF spec IS NULL AND (job.source).group_by IS NOT NULL THEN
        spec := spec_of_groups(job, units, settings, clusters(sample));
    END IF;
    RETURN COALESCE(spec,
        (SELECT spec_in_units(sketch_spec_agg(c.centroid, CASE WHEN many THEN 256 ELSE k END, settings), units.center, units.scale, (job.source).group_by IS NOT NULL)
           FROM centroids(operator_in_units(sample, NULL, NULL, units.center, units.scale)) c WHERE NOT many OR c.cluster < 8192));
END
$$;

-- Rows of a sample as an operator takes them.
CREATE FUNCTION fastclust_internal.rows_in_space(sample fastop, center double precision[], scale double precision[], map kernel_map) RETURNS fastop
    AS 'MODULE_PATHNAME', 'fastclust_rows_in_space' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100000;
