
-- internal: what a training is about, and its steps.  A job is built once; each step takes what it needs and returns what it made.
-- All of it runs in the caller's transaction: until it commits the old version serves, and a failure leaves no trace.

CREATE TYPE fastclust_internal.training_job AS (
    model_id bigint, model text, version integer, source row_source, k integer, method text, note text, options jsonb,
    seed bigint, estimate double precision, started_at timestamptz, recall double precision,
    start fastop);              -- centroids in units where k-means goes on from as well; NULL: none

-- Six digits for people to read, of any number: a cast to real fails on what is too small or too large for it.
CREATE FUNCTION fastclust_internal.short_number(x double precision) RETURNS text
    LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp SET extra_float_digits = -9 AS $$
    SELECT x::text
$$;

-- The step whose progress is reported, NULL at its end, and about how many rows it scans; name: in notices, NULL: without notices.
CREATE FUNCTION fastclust_internal.announce_step(name text, model_id bigint, model text, step text, rows_about double precision, begun timestamptz) RETURNS void
    AS 'MODULE_PATHNAME', 'fastclust_announce_step' LANGUAGE C;

CREATE FUNCTION fastclust_internal.begin_step(job training_job, step text) RETURNS timestamptz
    LANGUAGE sql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT announce_step(CASE WHEN NOT flag_option(job.options, 'quiet', false) THEN format('model "%s" version %s: %s', job.model, job.version, step) END,
                         job.model_id, job.model, step, CASE WHEN step = 'sketch' OR step LIKE '%scan %' THEN job.estimate END, job.started_at);
    SELECT clock_timestamp();
$$;

-- A step done: a row of training_log and, unless the option quiet is set, a notice.
CREATE FUNCTION fastclust_internal.log_step(job training_job, step text, begun timestamptz, objective double precision, note text) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    seconds float8 := extract(epoch FROM clock_timestamp() - begun);
BEGIN
    PERFORM announce_step(NULL, NULL, NULL, NULL, NULL, NULL);
    PERFORM write_step(job.model_id, job.version, step, objective, seconds, note);
    IF NOT flag_option(job.options, 'quiet', false) THEN
        RAISE NOTICE '%', format('model "%s" version %s: %s%s%s (%s s)', job.model, job.version, step,
            CASE WHEN note IS NULL THEN '' ELSE ', ' || note END,
            CASE WHEN objective IS NULL THEN '' ELSE format(', mean squared distance %s', short_number(objective)) END,
            round(seconds::numeric, 2));
    END IF;
END
$$;

CREATE FUNCTION fastclust_internal.reject_no_rows(job training_job) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
BEGIN
    RAISE no_data_found USING MESSAGE = format('%s has no rows with all features%s%s', (job.source).relation,
        CASE WHEN (job.source).metric IS NULL THEN '' ELSE ' and a direction' END,
        CASE WHEN job.options ->> 'where' IS NULL THEN '' ELSE format(' where %s', job.options ->> 'where') END);
END
$$;

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
        EXECUTE format('SELECT sum(q.n) FROM (%s) q', of_leaves(source, 'count(*) AS n', 'infinity', 0, 0, '')) INTO job.estimate;
        source.heap := false;
        source.key := row_hash(source.relation::regclass, source.features, source.raw);
    ELSE
        job.estimate := estimated_rows(source);
    END IF;
    job.source := source;
    RETURN job;
END
$$;

-- So many rows of `size` fit into the memory budget, at 64 bytes a number and 256 a row.
CREATE FUNCTION fastclust_internal.rows_in_budget(dimension integer, size double precision) RETURNS integer
    LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT greatest(100, least(size, 1e6, pg_size_bytes(current_setting('fastclust.memory_budget')) / (64.0 * dimension + 256)))::integer
$$;

CREATE FUNCTION fastclust_internal.dimension_of(source row_source) RETURNS integer
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    dimension integer := CASE WHEN NOT source.vector THEN dim(source.encoder) END;
BEGIN
    IF dimension IS NULL THEN
        EXECUTE format('SELECT cardinality(vector_in_units(NULL, NULL, %s)) %s LIMIT 1', source.raw, rows_from(source)) INTO dimension;
    END IF;
    RETURN dimension;
END
$$;

-- $1 rows at random with the seed $2, out of about `wanted` that are read.
CREATE FUNCTION fastclust_internal.uniform_query(source row_source, wanted double precision, estimate double precision, seed bigint) RETURNS text
    LANGUAGE sql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT CASE WHEN source.leaves IS NULL THEN format('SELECT coreset_final(%s) %s', q.sample, rows_from(source, wanted, estimate, seed))
                ELSE format('SELECT merge_coreset_agg(q.s) FROM (%s) q', of_leaves(source, q.sample || ' AS s', wanted, estimate, seed, '')) END
      FROM (SELECT format('%s(%s, %s, $1, NULL, NULL, $2, NULL, %L) FILTER (WHERE %s)', aggregate_over(source, 'coreset_state_agg'), source.raw, source.key,
                          source.metric = 'cosine', COALESCE(source.complete, 'true')) AS sample) q
$$;

-- A uniform sample in the rows' own units: units, frequencies and landmarks are chosen from it.  Where statistics are old and promise
-- more rows than there are, it comes from all rows.
CREATE FUNCTION fastclust_internal.uniform_sample(job training_job, dimension integer) RETURNS fastop
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    source row_source := job.source;
    wanted integer := rows_in_budget(dimension, number_option(job.options, 'sample_rows', greatest(20000, 50 * job.k)));
    picked text := uniform_query(source, CASE WHEN source.complete IS NULL THEN 1 ELSE 8 END * wanted, job.estimate, job.seed);
    every text := uniform_query(source, 'infinity', 0, job.seed);
    sample fastop;
BEGIN
    IF job.model_id IS NOT NULL THEN
        PERFORM begin_step(job, 'sample');
    END IF;
    EXECUTE picked INTO sample USING wanted, job.seed;
    IF picked <> every AND COALESCE(clusters(sample), 0) < wanted / 4 THEN
        EXECUTE every INTO sample USING wanted, job.seed;
    END IF;
    IF sample IS NULL THEN
        PERFORM reject_no_rows(job);
    END IF;
    RETURN sample;
END
$$;

-- The encoder's, or means and deviations of the sample where vectors are standardised; a dimension that never changes keeps its unit.
CREATE FUNCTION fastclust_internal.standard_units(job training_job, sample fastop) RETURNS row_units
    LANGUAGE sql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT CASE WHEN NOT (job.source).vector THEN ROW(encoder_center((job.source).encoder), encoder_scale((job.source).encoder), NULL)::row_units
                ELSE (SELECT ROW(m.mean, (SELECT array_agg(CASE WHEN d > 0 THEN d ELSE 1 END ORDER BY i) FROM unnest(m.deviation) WITH ORDINALITY u(d, i)), NULL)::row_units
                        FROM centroid_moments(sample) m WHERE flag_option(job.options, 'standardize', false)) END
$$;

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

-- Only decoding needs many frequencies, or axes of the sample; drift compares the waves of all dimensions.
CREATE FUNCTION fastclust_internal.training_spec(job training_job, units row_units, sample fastop) RETURNS sketch_spec
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    settings jsonb := jsonb_strip_nulls(jsonb_build_object('seed', job.seed, 'metric', (job.source).metric,
                          'center', CASE WHEN (job.source).sparse THEN 'zero' END, 'frequencies',
                          COALESCE(job.options -> 'frequencies', CASE WHEN job.method <> 'compressive' THEN to_jsonb(400) END)));
    spec sketch_spec;
    begun timestamptz := clock_timestamp();
BEGIN
    IF job.method <> 'compressive' AND NOT flag_option(job.options, 'live', (model_live(job.model_id)).id IS NOT NULL) THEN    -- no training decodes it
        spec := wave_spec(sample, job.seed, (job.source).sparse);
    ELSIF (job.source).group_by IS NOT NULL THEN
        spec := spec_of_groups(job, units, settings, clusters(sample));
    END IF;
    -- where nothing is decoded, the width of some clusters in some rows tells enough of many
    spec := COALESCE(spec,
        (SELECT spec_in_units(sketch_spec_agg(c.centroid, CASE WHEN many THEN 256 ELSE job.k END, settings), units.center, units.scale, (job.source).group_by IS NOT NULL)
           FROM centroids(operator_in_units(sample, NULL, NULL, units.center, units.scale)) c, (SELECT job.k > 256 AND job.method <> 'compressive') m(many)
          WHERE NOT many OR c.cluster < 8192));
    PERFORM log_step(job, 'spec', begun, NULL, format('%s frequencies%s', describe(spec) ->> 'frequencies',
                     CASE WHEN (job.source).group_by IS NULL THEN '' ELSE ' for all groups' END));
    RETURN spec;
END
$$;

-- A quarter of the memory budget for the hash tables of the caller, which sets work_mem back at its end.
CREATE FUNCTION fastclust_internal.grant_memory() RETURNS void
    LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
    SELECT set_config('work_mem', greatest(64, pg_size_bytes(current_setting('fastclust.memory_budget')) / 4194304) || 'MB', true)
$$;

-- ---- one scan: sketch, counts of drift and weighted sample ----

-- A weighted sample to be taken of each group (coreset_state_agg).
CREATE TYPE fastclust_internal.sampling AS (size integer, center double precision[], variance double precision, seed bigint,
    sparse boolean,             -- groups of few rows: workers would send a sketch for hardly more than one of them
    rank_limit double precision, -- where samples of shards or servers are merged: each sends its share of those below it
    share integer);             -- one row of so many, a power of two, is counted for drift

-- The importance of rows in units for k-means; the same for all where a method takes rows without weights, or the farthest do not count.
-- Of many clusters scans improve more than a larger sample would, which k-means copies.
-- Samples of shards or servers are merged: by the sample of now, a limit of ranks lets through a tenth more rows than are wanted, and the spread
-- of their number.  A keyed sample is the same wherever rows lie: ranks being at most twice as large as those of the same rows in a uniform sample,
-- a limit for twice the rows is enough.  Drift of a million rows is told as well as that of more.
CREATE FUNCTION fastclust_internal.coreset_sampling(job training_job, units row_units, sample fastop, groups double precision) RETURNS sampling
    LANGUAGE sql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    WITH scaled AS MATERIALIZED (SELECT operator_in_units(sample, NULL, NULL, units.center, units.scale) AS op),
    moments AS MATERIALIZED (
        SELECT m.mean, CASE WHEN job.method <> 'qkmeans' AND number_option(job.options, 'trim', 0) = 0 THEN NULLIF((SELECT sum(x * x) FROM unnest(m.deviation) x), 0) END AS variance
          FROM scaled, centroid_moments(scaled.op) m),
    wanted AS MATERIALIZED (
        SELECT ceil(CASE WHEN job.k > 256 THEN 0.8 ELSE 2.0 END * rows_in_budget(dim(sample), total.size) / groups) AS size,
               job.options ->> 'sample' = 'hash' AS keyed
          FROM (SELECT number_option(job.options, 'sample_rows', CASE WHEN groups > 1 THEN greatest(3000, 100 * job.k)
                                                                             ELSE greatest(30000, 200 * job.k) END) * groups AS size) total)
    SELECT ROW(wanted.size, moments.mean, moments.variance, job.seed, job.estimate < 400 * groups,
               CASE WHEN NOT ((job.source).sharded OR (job.source).leaves IS NOT NULL) OR (job.source).group_by IS NOT NULL OR (job.source).complete IS NOT NULL
                      OR share.offered >= 1 THEN NULL
                    WHEN wanted.keyed THEN share.offered
                    ELSE rank_limit(scaled.op, moments.mean, moments.variance, share.offered) END,
               1 << greatest(0, least(20, ceil(log(2, greatest(1, job.estimate / groups / 1e6)::numeric))))::integer)::sampling
      FROM scaled, moments, wanted,
           LATERAL (SELECT CASE WHEN wanted.keyed THEN 2 * wanted.size + 10 * sqrt(wanted.size) + 50
                                ELSE 1.1 * wanted.size + 3 * sqrt(wanted.size) + 25 END / greatest(1, job.estimate) AS offered) share
$$;

-- The sketch, the counts and the weighted sample in units of every group; NULL of one without rows.  A loop over the query would have no workers.
CREATE FUNCTION fastclust_internal.scan_groups(job training_job, units row_units, spec sketch_spec, drift_spec drift_spec, sampling sampling,
        OUT group_value text, OUT sketch sketch, OUT weighted_rows fastop, OUT counts drift_counts, OUT imputed bigint) RETURNS SETOF record
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp SET enable_sort = off SET work_mem = '64MB' AS $$
DECLARE
    workers text := current_setting('max_parallel_workers_per_gather');
    source row_source := job.source;
    -- by units $1, spec $2, sampling $3 and drift_spec $4
    query text := (
        SELECT CASE WHEN source.leaves IS NULL THEN format('SELECT %s AS value, %s AS s, coreset_final(%s) AS c, %s AS n, %s AS imputed %s%s', source.group_value,
                                                           q.sketch, q.sample, q.counts, q.imputed, rows_from(source), q.grouped)
                    ELSE format('SELECT p.value::text COLLATE "C", merge_agg(p.s), merge_coreset_agg(p.c), merge_drift_counts_agg(p.n), sum(p.imputed)::bigint
                                   FROM (%s) p GROUP BY 1',
                                of_leaves(source, format('%s AS value, %s AS s, %s AS c, %s AS n, %s AS imputed',
                                                         CASE WHEN source.group_by IS NULL THEN '''''' ELSE format('t.%I', source.group_by) END,
                                                         q.sketch, q.sample, q.counts, q.imputed), 'infinity', 0, 0, q.grouped)) END
          FROM (SELECT format('%s(%s, $2)', aggregate_over(source, 'sketch_agg'), source.raw) AS sketch,
                       format('%s(%s, %s, ($3).size, ($3).center, ($3).variance, ($3).seed, ($3).rank_limit, %L)',
                              aggregate_over(source, 'coreset_state_agg'), row_in_units(source, units), source.key,
                              source.metric = 'cosine') AS sample,
                       format('%s(%s, $4)%s', aggregate_over(source, 'drift_counts_agg'), source.raw, CASE WHEN sampling.share = 1 THEN '' ELSE format(' FILTER (WHERE %s >> 20 & %s = 0)', source.key, sampling.share - 1) END) AS counts,
                       CASE WHEN source.missing IS NULL THEN 'NULL::bigint' ELSE format('count(*) FILTER (WHERE %s)', source.missing) END AS imputed,
                       CASE WHEN source.group_by IS NULL THEN '' ELSE ' GROUP BY 1' END AS grouped) q);
BEGIN
    PERFORM grant_memory(), set_config('max_parallel_workers_per_gather', CASE WHEN sampling.sparse THEN '0' ELSE workers END, true),
            hash_on_shards(job.source, true);
    IF sampling.rank_limit IS NOT NULL THEN
        EXECUTE query INTO group_value, sketch, weighted_rows, counts, imputed USING units, without_pilot_rows(spec), sampling, drift_spec;
        IF clusters(weighted_rows) >= least(row_count(sketch), sampling.size) / 2 THEN
            RETURN NEXT;
        ELSE        -- far fewer rows than the planner thought
            sampling.rank_limit := NULL;
        END IF;
    END IF;
    IF sampling.rank_limit IS NULL THEN
        RETURN QUERY EXECUTE query USING units, without_pilot_rows(spec), sampling, drift_spec;
    END IF;
    PERFORM set_config('max_parallel_workers_per_gather', workers, true), hash_on_shards(job.source, false);
END
$$;

-- ---- scans of Lloyd's algorithm ----

-- The one value of a query of units $1 and operator $2, which stays a parameter: EXECUTE makes a constant of it, and the plan that
-- workers get is a text of some four times its size.
CREATE FUNCTION fastclust_internal.lloyd_query(query text, units row_units, op fastop) RETURNS lloyd_step
    AS 'MODULE_PATHNAME', 'fastclust_lloyd_query' LANGUAGE C;

-- Are a scan's sums more than workers may share (fastclust.largest_state)?
CREATE FUNCTION fastclust_internal.is_large_step(op fastop) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_is_large_step' LANGUAGE C STABLE STRICT;

-- One scan: the next operators, sums of squares to these, and rows.  Groups are told by their values; without groups there is one operator.
CREATE FUNCTION fastclust_internal.lloyd_scan(job training_job, units row_units, groups text[], operators fastop[],
        OUT next fastop[], OUT sse double precision[], OUT n bigint[])
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp
    SET enable_nestloop = off SET enable_sort = off SET work_mem = '64MB' AS $$
DECLARE
    source row_source := job.source;
    x text := row_in_space(source, units);
    aggregate text := aggregate_over(source, 'lloyd_sums_agg');
    step lloyd_step;
BEGIN
    IF source.group_by IS NULL AND source.leaves IS NULL AND NOT source.sharded THEN
        step := lloyd_query(format('SELECT %s($2, %s) %s', CASE WHEN is_large_step(operators[1]) THEN 'lloyd_large_agg' ELSE 'lloyd_step_agg' END,
                                   x, rows_from(source)), units, operators[1]);
        next := ARRAY[step.next];
        sse := ARRAY[step.sse];
        n := ARRAY[step.n];
    ELSIF source.group_by IS NULL THEN
        EXECUTE format('SELECT ARRAY[(q.s).next], ARRAY[(q.s).sse], ARRAY[(q.s).n] FROM (%s) q',
                       CASE WHEN source.leaves IS NULL THEN format('SELECT lloyd_final(%s($2, %s)) AS s %s', aggregate, x, rows_from(source))
                            ELSE format('SELECT merge_lloyd_agg(l.s) AS s FROM (%s) l',
                                        of_leaves(source, format('lloyd_sums_agg($2, %s) AS s', x), 'infinity', 0, 0, '')) END)
            INTO next, sse, n USING units, operators[1];
    ELSE
        PERFORM grant_memory();
        EXECUTE format('SELECT array_agg((q.s).next ORDER BY q.i), array_agg((q.s).sse ORDER BY q.i), array_agg((q.s).n ORDER BY q.i) FROM (%s) q',
                       CASE WHEN source.leaves IS NULL OR cardinality(groups) > 100
                            THEN format('SELECT g.i, lloyd_final(%s(g.op, r.x)) AS s
                                           FROM (SELECT %s AS value, %s AS x %s) r JOIN unnest($2, $3) WITH ORDINALITY g(value, op, i) USING (value)
                                          GROUP BY g.i', aggregate, source.group_value, x, rows_from(source))
                            ELSE -- a foreign table is sent neither a join with an array nor an array of operators: it is asked for an aggregate of each group
                                (SELECT format('SELECT u.i, merge_lloyd_agg(u.s) AS s FROM (%s) l, unnest(ARRAY[%s]) WITH ORDINALITY u(s, i) WHERE u.s IS NOT NULL GROUP BY u.i',
                                               of_leaves(source, string_agg(format('lloyd_sums_agg(($3)[%1$s], %2$s) FILTER (WHERE t.%3$I = ($2::text[]::%4$s[])[%1$s]) AS s%1$s',
                                                                                   i, x, source.group_by, feature_type(source.relation::regclass, source.group_by)), ', '), 'infinity', 0, 0, ''),
                                               string_agg(format('l.s%s', i), ', '))
                                   FROM generate_series(1, cardinality(groups)) i) END)
            INTO next, sse, n USING units, groups, operators;
    END IF;
END
$$;

-- Scans until the next would gain less than the tolerance, at most so many.  A frozen operator stays and is only measured.  The objective
-- is the mean squared distance to the operator returned, up to what its labels would change once more.
CREATE FUNCTION fastclust_internal.lloyd_scans(job training_job, units row_units, groups text[], frozen boolean[], steps integer,
        INOUT operators fastop[], OUT objectives double precision[])
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    tolerance float8 := number_option(job.options, 'tolerance', 1e-3);
    active integer[] := (SELECT array_agg(i) FROM generate_subscripts(groups, 1) i);
    scan record;
    left_over integer[];
    gain float8;
    j integer;
    begun timestamptz;
BEGIN
    objectives := array_fill(NULL::float8, ARRAY[cardinality(groups)]);
    FOR step IN 1 .. steps LOOP
        begun := begin_step(job, format('scan %s', step));
        scan := NULL;
        IF cardinality(active) = cardinality(groups) THEN       -- operators as they lie: a query would copy them, into its plan too
            scan := lloyd_scan(job, units, groups, operators);
        ELSE
            scan := lloyd_scan(job, units, (SELECT array_agg(groups[a] ORDER BY i) FROM unnest(active) WITH ORDINALITY u(a, i)),
                               (SELECT array_agg(operators[a] ORDER BY i) FROM unnest(active) WITH ORDINALITY u(a, i)));
        END IF;
        left_over := '{}';
        FOR i IN 1 .. cardinality(active) LOOP
            j := active[i];
            CONTINUE WHEN scan.next[i] IS NULL;
            IF flag_option(job.options, 'frozen', false) THEN
                -- the clusters of the serving version back where they were
                scan.next[i] := (SELECT with_metric(fastop_agg(COALESCE(f.centroid, c.centroid), c.weight ORDER BY c.cluster), COALESCE((job.source).metric, 'euclidean'))
                                   FROM centroids(scan.next[i]) c LEFT JOIN (SELECT b.cluster, b.centroid FROM centroids(operators[j]) b
                                                                              WHERE b.cluster < clusters((serving_part(job, groups[j])).operator)) f USING (cluster));
            END IF;
            gain := CASE WHEN frozen[j] THEN 0 ELSE step_gain(operators[j], scan.next[i]) END;
            IF (job.source).metric IS NOT NULL THEN
                gain := gain * greatest(0, 1 - scan.sse[i] / (2 * scan.n[i]));     -- the mean length of the clusters' means, at least
            END IF;
            objectives[j] := greatest(0, scan.sse[i] - gain) / scan.n[i];
            IF NOT frozen[j] AND cardinality(operators) = 1 THEN    -- an element that is replaced keeps its room
                operators := scan.next;
            ELSIF NOT frozen[j] THEN
                operators[j] := scan.next[i];
            END IF;
            IF gain > tolerance * scan.sse[i] THEN
                left_over := left_over || j;
            END IF;
        END LOOP;
        PERFORM log_step(job, format('scan %s', step), begun, (SELECT sum(s) / sum(n) FROM unnest(scan.sse, scan.n) u(s, n)),
                         CASE WHEN (job.source).group_by IS NOT NULL THEN format('%s groups', cardinality(active)) END);
        active := left_over;
        EXIT WHEN active = '{}';
    END LOOP;
END
$$;

-- The rows of a sample in units, as an operator takes them.
-- In PL/pgSQL: a function in SQL keeps its last result until the transaction ends.
CREATE FUNCTION fastclust_internal.rows_in_space(weighted_rows fastop, map kernel_map) RETURNS fastop
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
BEGIN
    IF map IS NOT NULL THEN
        weighted_rows := (SELECT fastop_agg(kernel_features(map, c.centroid), c.weight ORDER BY c.cluster) FROM centroids(weighted_rows) c);
    END IF;
    RETURN weighted_rows;
END
$$;

-- How many groups there are about: those of some rows.
CREATE FUNCTION fastclust_internal.estimated_groups(job training_job, wanted double precision) RETURNS double precision
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    groups float8 := 1;
BEGIN
    IF (job.source).group_by IS NOT NULL THEN
        EXECUTE format('SELECT count(DISTINCT %s) %s', (job.source).group_value, rows_from(job.source, wanted, job.estimate, job.seed)) INTO groups;
    END IF;
    RETURN greatest(1, groups);
END
$$;

-- The part of the serving version that a new one continues: of the same features.
CREATE FUNCTION fastclust_internal.serving_part(job training_job, group_value text) RETURNS stored_versions
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT v.* FROM readable_models m JOIN readable_versions v ON v.version = m.version
     WHERE m.id = job.model_id AND v.model_id = job.model_id AND v.group_value = serving_part.group_value AND m.group_by IS NOT DISTINCT FROM (job.source).group_by
       AND v.features = (job.source).features AND feature_names(v.encoder) IS NOT DISTINCT FROM feature_names((job.source).encoder)
$$;
