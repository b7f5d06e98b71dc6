-- sketch_agg and merge_agg: exact in any order, grouping, plan and window

-- deterministic rows: three clusters in the plane
CREATE TABLE points AS SELECT i AS id, i % 3 AS truth, i % 7 AS day, ARRAY[(i % 3) * 10 + sin(i * 12.9898), (i % 3) * 5 + cos(i * 78.233)] AS x
FROM generate_series(1, 3000) i;
CREATE TABLE spec AS SELECT sketch_spec(2, 50, 1.0, seed => 7) AS s;
CREATE TABLE whole AS SELECT sketch_agg(x, (SELECT s FROM spec)) AS k FROM points;

-- counts, means, deviations, bounds against SQL
SELECT row_count(k), (describe(k) ->> 'total_weight')::float8 FROM whole;
SELECT i, abs((means(k))[i] - m) < 1e-6 AS mean_ok, abs((stddevs(k))[i] - s) < 1e-6 AS stddev_ok,
       (describe(k) -> 'lower_bounds' ->> i - 1)::float8 = lo AS lower_ok, (describe(k) -> 'upper_bounds' ->> i - 1)::float8 = hi AS upper_ok
FROM whole, (SELECT i, avg(x[i]) m, stddev_pop(x[i]) s, min(x[i]) lo, max(x[i]) hi FROM points, generate_series(1, 2) i GROUP BY i) t ORDER BY i;

-- the same bytes whatever the order, the grouping, the input type
SELECT sketch_agg(x, (SELECT s FROM spec) ORDER BY -id) = k AS backward FROM points, whole GROUP BY k;
SELECT merge_agg(d) = k AS days FROM (SELECT day, sketch_agg(x, (SELECT s FROM spec)) AS d FROM points GROUP BY day) t, whole GROUP BY k;
SELECT sketch_agg(x::numeric[], (SELECT s FROM spec)) = sketch_agg(x, (SELECT s FROM spec)) AS numerics FROM
  (SELECT ARRAY[i * 0.5, -i]::float8[] AS x FROM generate_series(1, 100) i) t;
SELECT sketch_agg(x::real[], (SELECT s FROM spec)) = sketch_agg(x, (SELECT s FROM spec)) AS reals,
       sketch_agg(x::int[], (SELECT s FROM spec)) = sketch_agg(x, (SELECT s FROM spec)) AS integers FROM
  (SELECT ARRAY[i, -i]::float8[] AS x FROM generate_series(1, 100) i) t;
SELECT sketch_agg(DISTINCT x, (SELECT s FROM spec)) = k AS distinct_rows FROM points, whole GROUP BY k;
SELECT sketch_agg(x, (SELECT s FROM spec)) FILTER (WHERE id <= 1000) + sketch_agg(x, (SELECT s FROM spec)) FILTER (WHERE id > 1000) = k AS filtered
FROM points, whole GROUP BY k;

-- a + b - b has exactly a's counts, moments, means, deviations; bounds become unknown
WITH t AS (SELECT sketch_agg(x, (SELECT s FROM spec)) FILTER (WHERE day < 3) a, sketch_agg(x, (SELECT s FROM spec)) FILTER (WHERE day >= 3) b FROM points),
     u AS (SELECT a, a + b - b AS c FROM t)
SELECT row_count(c) = row_count(a) AS count, moments(c) = moments(a) AS moments, means(c) = means(a) AS means,
       stddevs(c) = stddevs(a) AS stddevs, describe(c) -> 'lower_bounds' IS NULL AND describe(c) -> 'upper_bounds' IS NULL AS bounds_unknown FROM u;

-- weights: integers count rows, all ones are no weights, fractions merge exactly
SELECT sketch_agg(x, (SELECT s FROM spec), 1.0) = k AS ones FROM points, whole GROUP BY k;
SELECT (describe(w) ->> 'total_weight')::float8 AS weight, moments(w) = moments(k + k) AS doubled
FROM (SELECT sketch_agg(x, (SELECT s FROM spec), 2) AS w FROM points) t, whole;
SELECT sketch_agg(x, (SELECT s FROM spec), 0.1 * day) = (SELECT merge_agg(d) FROM
  (SELECT sketch_agg(x, (SELECT s FROM spec), 0.1 * day) AS d FROM points GROUP BY id % 5) t) AS fractions_merge FROM points;
WITH w AS (SELECT sketch_agg(x, (SELECT s FROM spec), 0.3) AS k FROM points), u AS (SELECT sketch_agg(x, (SELECT s FROM spec)) AS k FROM points WHERE day = 1)
SELECT moments(u.k + w.k - w.k) = moments(u.k) AS back_to_unit, describe(u.k + w.k - w.k) ->> 'weighted' AS weighted FROM u, w;
SELECT row_count(k), (describe(k) ->> 'total_weight')::float8 FROM (SELECT sketch_agg(x, (SELECT s FROM spec), 0) AS k FROM points) t;

-- NULL rows are skipped; nothing gives NULL
SELECT sketch_agg(CASE WHEN id % 2 = 0 THEN x END, (SELECT s FROM spec)) = sketch_agg(x, (SELECT s FROM spec)) FILTER (WHERE id % 2 = 0) AS nulls_skipped FROM points;
SELECT sketch_agg(x, (SELECT s FROM spec)) IS NULL AS no_rows, merge_agg(NULL) IS NULL AS no_sketches FROM points WHERE false;
SELECT sketch_agg(NULL::float8[], (SELECT s FROM spec)) IS NULL AS only_nulls FROM points;
SELECT merge_agg(k) = merge_agg(k) FILTER (WHERE k IS NOT NULL) AS merge_skips FROM (SELECT k FROM whole UNION ALL SELECT NULL) t;

-- windows: sliding frames by subtraction, running frames, empty frames
WITH w AS (SELECT id, sketch_agg(x, (SELECT s FROM spec)) OVER (ORDER BY id ROWS BETWEEN 9 PRECEDING AND CURRENT ROW) k FROM points WHERE id <= 60)
SELECT count(*) AS frames, bool_and(moments(w.k) = moments(e.k) AND means(w.k) = means(e.k) AND row_count(w.k) = row_count(e.k)) AS exact, bool_and(describe(w.k) -> 'lower_bounds' IS NULL) AS bounds_unknown
FROM w, LATERAL (SELECT sketch_agg(x, (SELECT s FROM spec)) k FROM points p WHERE p.id BETWEEN w.id - 9 AND w.id) e;
-- (servers of before May 2024 move frames that only grow, too: bounds are unknown there)
WITH w AS (SELECT id, sketch_agg(x, (SELECT s FROM spec)) OVER (ORDER BY id) k FROM points WHERE id <= 60),
     b AS (SELECT moments(w.k) = moments(e.k) AND means(w.k) = means(e.k) AND row_count(w.k) = row_count(e.k) AS exact, w.k = e.k AS bounds
           FROM w, LATERAL (SELECT sketch_agg(x, (SELECT s FROM spec)) k FROM points p WHERE p.id <= w.id) e)
SELECT bool_and(exact) AS running, bool_and(bounds OR v BETWEEN 130000 AND 130014 OR v BETWEEN 140000 AND 140011 OR v BETWEEN 150000 AND 150006 OR v BETWEEN 160000 AND 160002) AS bounds_where_the_server_moves_no_frame
FROM b, CAST(current_setting('server_version_num') AS int) v;
SELECT id, sketch_agg(x, (SELECT s FROM spec)) OVER (ORDER BY id ROWS BETWEEN 2 FOLLOWING AND 2 FOLLOWING) IS NULL AS empty FROM points WHERE id <= 4;
WITH d AS (SELECT day, sketch_agg(x, (SELECT s FROM spec)) k FROM points GROUP BY day),
     w AS (SELECT day, merge_agg(k) OVER (ORDER BY day ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) k FROM d)
SELECT bool_and(moments(w.k) = moments(e.k)) AS sliding_merge FROM w, LATERAL (SELECT merge_agg(k) k FROM d WHERE d.day BETWEEN w.day - 2 AND w.day) e;

-- two aggregates that share one state
SELECT sketch_agg(x, (SELECT s FROM spec)) = sketch_agg(x, (SELECT s FROM spec)) AS shared FROM points;

-- partial aggregation under a scalar subquery
SET max_parallel_workers_per_gather = 2; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
CREATE FUNCTION pg_temp.nodes_of(query text) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE line text; nodes text[] := '{}';
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
        nodes := nodes || (regexp_match(line, '(?:^|-> +)([A-Z].*(?:Aggregate|Gather|Scan).*)'))[1];
    END LOOP;
    RETURN array_remove(nodes, NULL);
END $$;
SELECT unnest(pg_temp.nodes_of('SELECT sketch_agg(x, (SELECT s FROM spec)) FROM points')) AS node;
SELECT sketch_agg(x, (SELECT s FROM spec)) = (SELECT k FROM whole) AS parallel FROM points;
RESET ALL;

-- many groups share the frequencies
SELECT count(*) AS groups, sum(row_count(k)) AS rows FROM (SELECT sketch_agg(x, (SELECT s FROM spec)) k FROM points GROUP BY id) t;

-- distance and density
WITH t AS (SELECT truth, sketch_agg(x, (SELECT s FROM spec)) k FROM points GROUP BY truth), h AS (SELECT sketch_agg(x, (SELECT s FROM spec)) FILTER (WHERE id <= 1500) a, sketch_agg(x, (SELECT s FROM spec)) FILTER (WHERE id > 1500) b FROM points)
SELECT abs(sketch_distance(h.a, h.b)) < 0.01 AS same, sketch_distance(t0.k, t1.k) > 0.5 AS different
FROM h, t t0, t t1 WHERE t0.truth = 0 AND t1.truth = 1;
SELECT sketch_distance(k, k) IS NULL AS one_row FROM (SELECT sketch_agg(ARRAY[1, 2], (SELECT s FROM spec)) k) t;
SELECT abs(density(k, ARRAY[1, 2]) - 1) < 1e-6 AS at_the_row FROM (SELECT sketch_agg(ARRAY[1, 2], (SELECT s FROM spec)) k) t;
SELECT density(k, ARRAY[0, 0]) > density(k, ARRAY[5, 2.5]) AS denser_in_a_cluster FROM whole;

-- values travel: text, binary, tables
CREATE TABLE copies (k sketch, s sketch_spec);
INSERT INTO copies SELECT k::text::sketch, s::text::sketch_spec FROM whole, spec;
SELECT c.k = w.k AS sketch, c.s = p.s AS spec, fastclust_internal.spec(c.k) = p.s AS spec_of FROM copies c, whole w, spec p;
DROP TABLE points, spec, whole, copies;
