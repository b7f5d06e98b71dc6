-- sketch_agg and merge_agg are exact: a sketch depends on the rows alone, not on their order,
-- their grouping, the query plan or the window frame.
-- Sketches can be added and subtracted without rounding errors, so a dashboard may merge stored
-- sketches of days and get the sketch of the month.

-- The rows are deterministic: three clusters in the plane.
CREATE TABLE points AS SELECT i AS id, i % 3 AS truth, i % 7 AS day, ARRAY[(i % 3) * 10 + sin(i * 12.9898), (i % 3) * 5 + cos(i * 78.233)] AS x
FROM generate_series(1, 3000) i;
CREATE TABLE spec AS SELECT sketch_spec(2, 50, 1.0, seed => 7) AS s;
CREATE TABLE whole AS SELECT sketch_agg(x, (SELECT s FROM spec)) AS k FROM points;

-- Counts, means, standard deviations and bounds of a sketch equal what SQL computes from the
-- rows.
SELECT row_count(k), (describe(k) ->> 'total_weight')::float8 AS total_weight FROM whole;
SELECT i, round(m::numeric, 3) AS mean, abs((means(k))[i] - m) < 1e-6 AS mean_within_1e_6,
       round(s::numeric, 3) AS stddev, abs((stddevs(k))[i] - s) < 1e-6 AS stddev_within_1e_6,
       (describe(k) -> 'lower_bounds' ->> i - 1)::float8 = lo AS lower_bound_is_min,
       (describe(k) -> 'upper_bounds' ->> i - 1)::float8 = hi AS upper_bound_is_max
FROM whole, (SELECT i, avg(x[i]) m, stddev_pop(x[i]) s, min(x[i]) lo, max(x[i]) hi
             FROM points, generate_series(1, 2) i GROUP BY i) t ORDER BY i;

-- A sketch has the same bytes for any order, grouping and type of the rows.
SELECT sketch_agg(x, (SELECT s FROM spec) ORDER BY -id) = k AS same_in_reverse_order
FROM points, whole GROUP BY k;
SELECT merge_agg(d) = k AS same_from_sketches_of_days
FROM (SELECT day, sketch_agg(x, (SELECT s FROM spec)) AS d FROM points GROUP BY day) t, whole
GROUP BY k;
SELECT sketch_agg(x::numeric[], (SELECT s FROM spec)) = sketch_agg(x, (SELECT s FROM spec))
       AS numeric_as_double FROM
  (SELECT ARRAY[i * 0.5, -i]::float8[] AS x FROM generate_series(1, 100) i) t;
SELECT sketch_agg(x::real[], (SELECT s FROM spec)) = sketch_agg(x, (SELECT s FROM spec))
       AS real_as_double,
       sketch_agg(x::int[], (SELECT s FROM spec)) = sketch_agg(x, (SELECT s FROM spec))
       AS integer_as_double FROM
  (SELECT ARRAY[i, -i]::float8[] AS x FROM generate_series(1, 100) i) t;
SELECT sketch_agg(DISTINCT x, (SELECT s FROM spec)) = k AS same_of_distinct_rows
FROM points, whole GROUP BY k;
SELECT sketch_agg(x, (SELECT s FROM spec)) FILTER (WHERE id <= 1000)
       + sketch_agg(x, (SELECT s FROM spec)) FILTER (WHERE id > 1000) = k AS same_as_sum_of_parts
FROM points, whole GROUP BY k;

-- Subtraction undoes addition: a + b - b has exactly the counts, moments, means and deviations of
-- a. Only the bounds become unknown.
WITH t AS (SELECT sketch_agg(x, (SELECT s FROM spec)) FILTER (WHERE day < 3) a, sketch_agg(x, (SELECT s FROM spec)) FILTER (WHERE day >= 3) b FROM points),
     u AS (SELECT a, a + b - b AS c FROM t)
SELECT row_count(c) = row_count(a) AS same_count, moments(c) = moments(a) AS same_moments,
       means(c) = means(a) AS same_means, stddevs(c) = stddevs(a) AS same_stddevs,
       describe(c) -> 'lower_bounds' IS NULL AND describe(c) -> 'upper_bounds' IS NULL
       AS bounds_unknown FROM u;

-- An integer weight counts a row that often, weights of 1 change nothing, and fractional weights
-- merge exactly.
SELECT sketch_agg(x, (SELECT s FROM spec), 1.0) = k AS weight_1_changes_nothing
FROM points, whole GROUP BY k;
SELECT (describe(w) ->> 'total_weight')::float8 AS total_weight,
       moments(w) = moments(k + k) AS weight_2_counts_twice
FROM (SELECT sketch_agg(x, (SELECT s FROM spec), 2) AS w FROM points) t, whole;
SELECT sketch_agg(x, (SELECT s FROM spec), 0.1 * day) = (SELECT merge_agg(d) FROM
  (SELECT sketch_agg(x, (SELECT s FROM spec), 0.1 * day) AS d FROM points GROUP BY id % 5) t)
  AS fractions_merge_exactly FROM points;
WITH w AS (SELECT sketch_agg(x, (SELECT s FROM spec), 0.3) AS k FROM points),
     u AS (SELECT sketch_agg(x, (SELECT s FROM spec)) AS k FROM points WHERE day = 1)
SELECT moments(u.k + w.k - w.k) = moments(u.k) AS fractions_subtract_exactly,
       describe(u.k + w.k - w.k) ->> 'weighted' AS still_weighted FROM u, w;
SELECT row_count(k), (describe(k) ->> 'total_weight')::float8 AS total_weight
FROM (SELECT sketch_agg(x, (SELECT s FROM spec), 0) AS k FROM points) t;

-- NULL rows are skipped, and a sketch of no rows is NULL.
SELECT sketch_agg(CASE WHEN id % 2 = 0 THEN x END, (SELECT s FROM spec))
       = sketch_agg(x, (SELECT s FROM spec)) FILTER (WHERE id % 2 = 0) AS null_rows_are_skipped
FROM points;
SELECT sketch_agg(x, (SELECT s FROM spec)) AS sketch_of_no_rows,
       merge_agg(NULL) AS merge_of_no_sketches FROM points WHERE false;
SELECT sketch_agg(NULL::float8[], (SELECT s FROM spec)) AS sketch_of_null_rows FROM points;
SELECT merge_agg(k) = merge_agg(k) FILTER (WHERE k IS NOT NULL) AS null_sketches_are_skipped
FROM (SELECT k FROM whole UNION ALL SELECT NULL) t;

-- A window frame has the sketch of its rows, whether it slides, grows or is empty. A sliding
-- frame subtracts the rows that leave it, so its bounds are unknown.
WITH w AS (SELECT id, sketch_agg(x, (SELECT s FROM spec))
                      OVER (ORDER BY id ROWS BETWEEN 9 PRECEDING AND CURRENT ROW) k
           FROM points WHERE id <= 60)
SELECT count(*) AS frames,
       count(*) FILTER (WHERE moments(w.k) = moments(e.k) AND means(w.k) = means(e.k)
                        AND row_count(w.k) = row_count(e.k)) AS exact_frames,
       count(*) FILTER (WHERE describe(w.k) -> 'lower_bounds' IS NULL) AS frames_without_bounds
FROM w, LATERAL (SELECT sketch_agg(x, (SELECT s FROM spec)) k FROM points p
                 WHERE p.id BETWEEN w.id - 9 AND w.id) e;
-- Servers released before May 2024 use the moving-aggregate code for a frame that only grows,
-- too, and so lose its bounds.
WITH w AS (SELECT id, sketch_agg(x, (SELECT s FROM spec)) OVER (ORDER BY id) k FROM points WHERE id <= 60),
     b AS (SELECT moments(w.k) = moments(e.k) AND means(w.k) = means(e.k) AND row_count(w.k) = row_count(e.k) AS exact, w.k = e.k AS bounds
           FROM w, LATERAL (SELECT sketch_agg(x, (SELECT s FROM spec)) k FROM points p WHERE p.id <= w.id) e)
SELECT count(*) AS frames, count(*) FILTER (WHERE exact) AS exact_frames,
       bool_and(bounds OR v BETWEEN 130000 AND 130014 OR v BETWEEN 140000 AND 140011
                OR v BETWEEN 150000 AND 150006 OR v BETWEEN 160000 AND 160002)
       AS bounds_kept_unless_server_is_old
FROM b, CAST(current_setting('server_version_num') AS int) v;
SELECT id, row_count(sketch_agg(x, (SELECT s FROM spec))
                     OVER (ORDER BY id ROWS BETWEEN 2 FOLLOWING AND 2 FOLLOWING)) AS rows_in_frame
FROM points WHERE id <= 4;
WITH d AS (SELECT day, sketch_agg(x, (SELECT s FROM spec)) k FROM points GROUP BY day),
     w AS (SELECT day, merge_agg(k) OVER (ORDER BY day ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) k
           FROM d)
SELECT count(*) AS frames,
       count(*) FILTER (WHERE moments(w.k) = moments(e.k)) AS exact_frames_of_merge_agg
FROM w, LATERAL (SELECT merge_agg(k) k FROM d WHERE d.day BETWEEN w.day - 2 AND w.day) e;

-- Two equal calls in one query share a state, and both get their result from it.
SELECT sketch_agg(x, (SELECT s FROM spec)) = sketch_agg(x, (SELECT s FROM spec))
       AS same_from_shared_state FROM points;

-- Workers build partial sketches, also where the spec comes from a scalar subquery, and the
-- merged sketch has the same bytes.
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
SELECT sketch_agg(x, (SELECT s FROM spec)) = (SELECT k FROM whole) AS same_with_workers
FROM points;
RESET ALL;

-- A query with 3,000 groups builds 3,000 sketches, which share the frequencies of the spec.
SELECT count(*) AS groups, sum(row_count(k)) AS rows
FROM (SELECT sketch_agg(x, (SELECT s FROM spec)) k FROM points GROUP BY id) t;

-- sketch_distance is near 0 for two halves of one table and large for two clusters. It is NULL
-- for a single row, which has no spread. density is 1 at the only row of a sketch, and higher
-- within a cluster than between clusters.
WITH t AS (SELECT truth, sketch_agg(x, (SELECT s FROM spec)) k FROM points GROUP BY truth),
     h AS (SELECT sketch_agg(x, (SELECT s FROM spec)) FILTER (WHERE id <= 1500) a,
                  sketch_agg(x, (SELECT s FROM spec)) FILTER (WHERE id > 1500) b FROM points)
SELECT abs(sketch_distance(h.a, h.b)) < 0.01 AS halves_within_0_01,
       round(sketch_distance(t0.k, t1.k)::numeric, 2) AS distance_of_two_clusters
FROM h, t t0, t t1 WHERE t0.truth = 0 AND t1.truth = 1;
SELECT sketch_distance(k, k) AS distance_of_one_row
FROM (SELECT sketch_agg(ARRAY[1, 2], (SELECT s FROM spec)) k) t;
SELECT round(density(k, ARRAY[1, 2])::numeric, 6) AS density_at_the_only_row
FROM (SELECT sketch_agg(ARRAY[1, 2], (SELECT s FROM spec)) k) t;
SELECT round(density(k, ARRAY[0, 0])::numeric, 2) AS density_in_a_cluster,
       round(density(k, ARRAY[5, 2.5])::numeric, 2) AS density_between_clusters FROM whole;

-- Sketches and specs survive a round trip through text and through a table.
CREATE TABLE copies (k sketch, s sketch_spec);
INSERT INTO copies SELECT k::text::sketch, s::text::sketch_spec FROM whole, spec;
SELECT c.k = w.k AS same_sketch, c.s = p.s AS same_spec,
       fastclust_internal.spec(c.k) = p.s AS same_spec_in_sketch
FROM copies c, whole w, spec p;
DROP TABLE points, spec, whole, copies;
