-- scan_agg reads a table once and gives everything that a training needs: sketch, counts for
-- drift, sample and Lloyd steps.
-- Each of these equals the result of its own aggregate, in any order of the rows, with workers
-- and merged from groups. If it did not, training in one scan would be another model.
\set ECHO none
CREATE SCHEMA of_scans;
SET search_path = of_scans, public, fastclust, fastclust_internal;
CREATE TABLE scanned AS
    SELECT i AS id, i % 5 AS g, ARRAY[i % 7 * 3 + (i * 7919 % 10007) / 10007.0, (i * 104729 % 10009) / 5000.0, i % 3, sqrt(i) - floor(sqrt(i))]::real[] AS x,
           CASE WHEN i % 11 > 0 THEN i % 13 END AS a, CASE WHEN i % 17 > 0 THEN chr(97 + i % 4) END AS b, (i * 7919 % 10007) / 100.0 AS c
      FROM generate_series(1, 6000) i;
CREATE TABLE made AS
    SELECT q.*, m.mean, m.deviation, drift_spec_of_sample(q.sample, 1) AS d
      FROM (SELECT fastop_agg(x) FILTER (WHERE id % 8 = 0) AS sample, kmeans_agg(x, 7) AS seven, kmeans_agg(x, 3) AS three, sketch_spec_agg(x, 7) AS s,
                   encoder_agg(scanned, '{a,b,c}') AS e FROM scanned) q, 
           LATERAL (SELECT array_agg(u.mean ORDER BY u.i) AS mean, array_agg(u.deviation ORDER BY u.i) AS deviation
                      FROM (SELECT e.i, avg(e.x) AS mean, stddev_pop(e.x) AS deviation FROM centroids(q.sample) c, unnest(c.centroid) WITH ORDINALITY e(x, i) GROUP BY e.i) u) m;
-- plan() is a plan of all parts of a scan; the arguments change some of them.
CREATE FUNCTION plan(share integer DEFAULT 1, size integer DEFAULT 200, operators fastop[] DEFAULT '{}', center float8[] DEFAULT NULL, scale float8[] DEFAULT NULL)
    RETURNS scan_plan STABLE LANGUAGE sql SET search_path = of_scans, public, fastclust, fastclust_internal AS $$
    SELECT ROW(NULL, NULL, center, scale, NULL, s, d, share, size, mean, 20.0, 5, NULL, operators, NULL)::scan_plan FROM made
$$;
CREATE FUNCTION weight_of(sample fastop) RETURNS float8 LANGUAGE sql SET search_path = of_scans, public, fastclust, fastclust_internal AS $$
    SELECT sum(weight) FROM centroids(sample)
$$;
CREATE FUNCTION near(a lloyd_step, b lloyd_step) RETURNS boolean LANGUAGE sql SET search_path = of_scans, public, fastclust, fastclust_internal AS $$
    SELECT a.n = b.n AND a.counts = b.counts AND abs(a.sse - b.sse) <= 1e-12 * b.sse
           AND (SELECT bool_and(abs(u - v) <= 1e-6 * (1 + abs(v)))   -- a centroid is stored about the mean in single precision
                  FROM centroids(a.next) o JOIN centroids(b.next) p USING (cluster), unnest(o.centroid, p.centroid) w(u, v))
$$;
CREATE FUNCTION refused(statement text) RETURNS text LANGUAGE plpgsql SET search_path = of_scans, public, fastclust, fastclust_internal AS $$
BEGIN
	EXECUTE statement;
	RETURN '00000';
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE || ' ' || SQLERRM;
END $$;
CREATE FUNCTION encoder_center(e encoder) RETURNS float8[] LANGUAGE sql AS
    'SELECT array_agg(f.center ORDER BY f.dimension) FILTER (WHERE f.center IS NOT NULL) FROM fastclust_internal.encoder_features(e) f';
CREATE FUNCTION encoder_scale(e encoder) RETURNS float8[] LANGUAGE sql AS
    'SELECT array_agg(f.scale ORDER BY f.dimension) FILTER (WHERE f.scale IS NOT NULL) FROM fastclust_internal.encoder_features(e) f';
-- The number of rows of drift counts: eight bytes after a header of 36.
CREATE OR REPLACE FUNCTION counted_rows(fastclust_internal.drift_counts) RETURNS bigint LANGUAGE sql AS $$
    SELECT sum(get_byte(b, i)::bigint << 8 * (i - 36))::bigint FROM decode(substr($1::text, 3), 'hex') b, generate_series(36, 43) i
$$;
-- Returns the counts of cells and pairs as bytes. A scan of columns counts NULLs as well, which
-- counts of encoded rows lack.
CREATE OR REPLACE FUNCTION counts_of_values(fastclust_internal.drift_counts) RETURNS bytea LANGUAGE sql AS $$
    SELECT substr(b, 5, 72 + 4 * (15 * h[1] + (h[2] + h[3]) * (h[2] + h[3] - 1) / 2))
      FROM decode(substr($1::text, 3), 'hex') b,
           LATERAL (SELECT array_agg(get_byte(b, i) + 256 * get_byte(b, i + 1) ORDER BY i) FROM generate_series(20, 28, 4) i) q(h)
$$;
\set QUIET off
\set ECHO all

-- Each part of a scan is the result of its own aggregate over all rows.
CREATE TABLE whole AS SELECT scan_agg((SELECT plan(operators => ARRAY[seven, three]) FROM made), id, x) AS state FROM scanned;
SELECT r.n, r.nulls, r.sketch = t.sketch AS same_sketch, r.counts::text = t.counts::text
       AS same_counts, cardinality(r.steps) AS steps,
       near(r.steps[1], t.seven) AS step_of_seven_is_near, near(r.steps[2], t.three)
       AS step_of_three_is_near FROM whole, scan_result(state) r,
       (SELECT sketch_agg(x, (SELECT s FROM made)) AS sketch, drift_counts_agg(x, (SELECT d FROM made)) AS counts,
               lloyd_step_agg((SELECT seven FROM made), x) AS seven, lloyd_step_agg((SELECT three FROM made), x) AS three FROM scanned) t;

-- Order, type of the vector, grouping and merging change no bit except in the Lloyd sums, which
-- are near.
SELECT count(DISTINCT ROW(r.n, r.nulls, r.sketch, r.counts::text, r.sample)::text)
       AS different_results, count(*) AS scans,
       count(*) FILTER (WHERE near(r.steps[1], w.steps[1])) AS steps_that_are_near
  FROM (SELECT scan_agg((SELECT plan(operators => ARRAY[seven]) FROM made), id, x ORDER BY id DESC) FROM scanned
        UNION ALL SELECT scan_agg((SELECT plan(operators => ARRAY[seven]) FROM made), id, x::double precision[]) FROM scanned
        UNION ALL SELECT scan_agg((SELECT plan(operators => ARRAY[seven]) FROM made), id, x::row_vector) FROM scanned
        UNION ALL SELECT sum(q.s) FROM (SELECT scan_agg((SELECT plan(operators => ARRAY[seven]) FROM made), id, x) AS s FROM scanned GROUP BY g) q
        UNION ALL SELECT sum(q.s) FROM (SELECT sum((SELECT plan(operators => ARRAY[seven]) FROM made), id, x) AS s FROM scanned GROUP BY g) q
        UNION ALL SELECT state FROM whole) s(state), scan_result(s.state) r, (SELECT (scan_result(state)).* FROM whole) w;
SELECT count(*) AS groups,
       count(*) FILTER (WHERE r.n = 1200 AND r.sketch = t.sketch AND r.counts::text
           = t.counts::text AND near(r.steps[1], t.step)) AS same_as_own_aggregates
  FROM (SELECT g, scan_agg((SELECT plan(operators => ARRAY[seven]) FROM made), id, x) AS state, sketch_agg(x, (SELECT s FROM made)) AS sketch,
               drift_counts_agg(x, (SELECT d FROM made)) AS counts, lloyd_step_agg((SELECT seven FROM made), x) AS step FROM scanned GROUP BY g) t, scan_result(t.state) r;
-- Parallel workers give the same result.
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 3;
ALTER TABLE scanned SET (parallel_workers = 3);
CREATE TABLE plans AS SELECT plan(operators => ARRAY[seven]) AS p FROM made;
EXPLAIN (COSTS OFF) SELECT scan_agg(ROW(NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 5, NULL, NULL, 1, NULL, NULL, NULL)::scan_plan, id, x) FROM scanned;
SELECT r.n, r.n = w.n AS same_n, r.sketch = w.sketch AS same_sketch,
       r.counts::text = w.counts::text AS same_counts, r.sample = w.sample AS same_sample,
       near(r.steps[1], w.steps[1]) AS step_is_near
  FROM (SELECT scan_agg((SELECT p FROM plans), id, x) FROM scanned) s(state), scan_result(s.state) r, (SELECT (scan_result(state)).* FROM whole) w;
SELECT count(*) AS groups, min(r.n) AS least_rows, max(r.n) AS most_rows
  FROM (SELECT scan_agg((SELECT p FROM plans), id, x) AS state FROM scanned GROUP BY g) t,
       scan_result(t.state) r;
RESET max_parallel_workers_per_gather;

-- A state is read back from its text as the same value. Of six changed bytes, the four that make
-- it invalid are refused.
SELECT state::text::aggregate_state::text = state::text AS same_from_text FROM whole;
SELECT left(refused(format('SELECT %L::aggregate_state',
       overlay(state::text placing 'ff' from 3 + 2 * i for 2))), 5) AS sqlstate, count(*)
  FROM whole, unnest(ARRAY[3, 12, 16, 20, 64, 80]) i GROUP BY 1 ORDER BY 1;

-- A plan may let a share of the rows enter sketch and counts, here a quarter; both get the same
-- rows. All rows are counted, sampled and summed.
SELECT r.n, row_count(r.sketch) BETWEEN 1300 AND 1700 AS sketch_has_1300_to_1700_rows,
       row_count(r.sketch) = counted_rows(r.counts) AS counts_have_as_many,
       r.sample = w.sample AS same_sample, near(r.steps[1], w.steps[1]) AS step_is_near
  FROM (SELECT scan_agg((SELECT plan(4, operators => ARRAY[seven]) FROM made), id, x) FROM scanned) s(state), scan_result(s.state) r, (SELECT (scan_result(state)).* FROM whole) w;

-- The sample has the requested number of rows, and its weights estimate the table without bias:
-- over 100 seeds, number and sum are within 1 %.
SELECT min(rows) AS least_rows, max(rows) AS most_rows, abs(avg(weight) / 6000 - 1) < 0.01
       AS weights_within_1_percent, abs(avg(total) / max(sum_of_all) - 1) < 0.01
       AS totals_within_1_percent
  FROM (SELECT (SELECT count(*) FROM centroids(o)) AS rows, (SELECT sum(c.weight) FROM centroids(o) c) AS weight,
               (SELECT sum(c.weight * c.centroid[1]) FROM centroids(o) c) AS total, (SELECT sum(x[1]) FROM scanned) AS sum_of_all
          FROM generate_series(1, 100) seed, LATERAL (SELECT (scan_result(scan_agg((SELECT plan()), id + seed * 100000, x))).sample AS o FROM scanned) q) t;
SELECT clusters((scan_result(scan_agg((SELECT plan(size => 100000)), id, x))).sample)
       AS rows_of_large_sample,
       weight_of((scan_result(scan_agg((SELECT plan(size => 100000)), id, x))).sample)
       AS weight FROM scanned;
-- Rows with equal keys, as in several partitions, are distinguished by their values.
SELECT clusters((scan_result(scan_agg((SELECT plan()), 1, x))).sample) AS rows_with_equal_keys
  FROM scanned;

-- Centers and scales in the plan standardise the rows for the Lloyd step; the sketch has its own
-- and is unchanged.
SELECT near(r.steps[1], t) AS step_is_near, r.sketch = w.sketch AS same_sketch
  FROM (SELECT scan_agg((SELECT plan(operators => ARRAY[(SELECT kmeans_agg(scaled_vector(mean, deviation, x), 4) FROM scanned)], center => mean, scale => deviation) FROM made), id, x) FROM scanned) s(state),
       scan_result(s.state) r, (SELECT (scan_result(state)).* FROM whole) w,
       (SELECT lloyd_step_agg((SELECT kmeans_agg(scaled_vector(mean, deviation, x), 4) FROM scanned, made), scaled_vector((SELECT mean FROM made), (SELECT deviation FROM made), x)) AS t FROM scanned) t;

-- A kernel map in the plan gives the Lloyd step on the features of the kernel.
SELECT near(r.steps[1], t) AS step_is_near,
       r.n
  FROM (SELECT nystroem(three, rbf_kernel(0.1)) AS map FROM made) m,
       LATERAL (SELECT kmeans_agg(kernel_features(map, x), 3) AS op FROM scanned) o,
       LATERAL (SELECT scan_agg(ROW(NULL, NULL, NULL, NULL, map, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, ARRAY[op], NULL)::scan_plan, id, x) AS state, lloyd_step_agg(op, kernel_features(map, x)) AS t FROM scanned) q,
       scan_result(q.state) r;

-- The metric cosine counts a zero vector as NULL and lets it enter nothing.
SELECT r.n, r.nulls, r.sketch = t.sketch AS same_sketch, r.counts::text = t.counts::text
       AS same_counts, near(r.steps[1], t.step) AS step_is_near
  FROM (SELECT sketch_spec_agg(x, 5, '{"metric": "cosine"}') AS s, kmeans_agg(x, 5, '{"metric": "cosine"}') AS op FROM scanned) o,
       LATERAL (SELECT drift_spec_of_sample((scan_result(scan_agg(ROW(NULL, 'cosine', NULL, NULL, NULL, NULL, NULL, 1, 500, NULL, NULL, 1, NULL, NULL, NULL)::scan_plan, id, x))).sample, 1) AS d FROM scanned) p,
       LATERAL (SELECT scan_agg(ROW(NULL, 'cosine', NULL, NULL, NULL, s, d, 1, 50, NULL, NULL, 1, NULL, ARRAY[op], NULL)::scan_plan, id, y) AS state, sketch_agg(y, s) AS sketch,
                       drift_counts_agg(y, d) AS counts, lloyd_step_agg(op, y) AS step
                  FROM (SELECT id, CASE WHEN id % 1000 = 0 THEN array_fill(0::real, ARRAY[4]) ELSE x END AS y FROM scanned) z) t, scan_result(t.state) r;

-- Columns may be listed or come as a row and are then read by name, with the same result. Rows
-- with a NULL are counted, and left out if the encoder skips them.
CREATE TABLE encoded AS
    SELECT e, skips, sketch_spec_agg(encode_row(e, t, false), 4) AS s, drift_spec_of_sample(fastop_agg(encode_row(e, t, false)) FILTER (WHERE id % 8 = 0), 1) AS d,
           kmeans_agg(encode_row(e, t), 4) AS op
      FROM scanned t, (SELECT e, false FROM made UNION ALL SELECT encoder_agg(scanned, '{a,b,c}', '{"nulls": "skip"}'), true FROM scanned) m(e, skips)
     WHERE NOT skips OR num_nulls(a, b, c) = 0 GROUP BY e, skips;
SELECT skips, r.n, r.nulls, r.sketch = t.sketch AS same_sketch,
       counts_of_values(r.counts) = counts_of_values(t.counts) AS same_counts, near(r.steps[1], t.step) AS step_is_near,
       ROW(r.n, r.nulls, r.sketch, r.counts::text, r.sample)::text
       = ROW(b.n, b.nulls, b.sketch, b.counts::text, b.sample)::text AS same_by_name
  FROM encoded p, LATERAL (SELECT scan_agg(ROW(e, NULL, encoder_center(e), encoder_scale(e), NULL, s, d, 1, 50, NULL, NULL, 1, NULL, ARRAY[op], NULL)::scan_plan, id, a, b, c) AS state,
                                  scan_agg(ROW(e, NULL, encoder_center(e), encoder_scale(e), NULL, s, d, 1, 50, NULL, NULL, 1, NULL, ARRAY[op], NULL)::scan_plan, id, t.*) AS by_name,
                                  sketch_agg(encode_listed(e, false, a, b, c), s) AS sketch, drift_counts_agg(encode_listed(e, false, a, b, c), d) AS counts,
                                  lloyd_step_agg(op, encode_listed(e, true, a, b, c)) AS step FROM scanned t) t, scan_result(t.state) r, scan_result(t.by_name) b ORDER BY 1;
-- A scan takes 97 columns, as many as fit into the arguments of a call.
CREATE FUNCTION of_columns(count integer) RETURNS aggregate_state LANGUAGE plpgsql SET search_path = of_scans, public, fastclust, fastclust_internal AS $$
DECLARE
    columns text := (SELECT string_agg(format('%s AS c%s', i, i), ', ') FROM generate_series(1, count) i);
    names text := (SELECT string_agg('c' || i, ',') FROM generate_series(1, count) i);
    state aggregate_state;
BEGIN
    EXECUTE format('SELECT scan_agg(ROW(e, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 5, NULL, NULL, 1, NULL, NULL, NULL)::scan_plan, 1, %s)
                      FROM (SELECT %s) v, (SELECT encoder_agg(w, ''{%s}'') AS e FROM (SELECT %s) w) o', names, columns, names, columns) INTO state;
    RETURN state;
END
$$;
SELECT (scan_result(of_columns(97))).n;

-- No rows, or NULL rows alone, give NULL. A scan without parts, or with a share that no row falls
-- into, gives NULL parts.
SELECT scan_agg((SELECT plan()), id, x) AS scan_of_no_rows FROM scanned WHERE false;
SELECT scan_agg((SELECT plan()), id, NULL::real[]) AS scan_of_null_rows FROM scanned;
SELECT sum(s) AS sum_of_null_states FROM (SELECT NULL::aggregate_state) q(s);
SELECT (scan_result(scan_agg(ROW(NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)::scan_plan, id, x))).* FROM scanned;
SELECT r.n, r.sketch, r.counts::text AS counts
  FROM (SELECT scan_agg((SELECT plan(1048576)), id, x) FROM scanned WHERE id = 1) s(state),
       scan_result(s.state) r;

-- A plan that does not fit the rows, or states that do not fit each other, are errors.
SELECT refused(s) FROM unnest(ARRAY[ 'SELECT scan_agg(NULL, id, x) FROM scanned', 'SELECT scan_agg(plan(3), id, x) FROM scanned',
    'SELECT scan_agg(plan(size => 0), id, x) FROM scanned', 'SELECT scan_agg(plan(), id, x || 1::real) FROM scanned',
    'SELECT scan_agg(plan(operators => ARRAY[o]), 1, ARRAY[1,2,3,4]) FROM (SELECT fastop_agg(ARRAY[1,2])) q(o)',
    'SELECT scan_agg(plan(), id, ''NaN''::real || x[2:4]) FROM scanned', 'SELECT scan_agg(plan(), id, b) FROM scanned',
    'SELECT scan_agg(plan(operators => ARRAY[seven, seven, seven]), 1, ARRAY[1,2,3,4]) FROM made',
    'SELECT scan_agg(plan(center => ARRAY[1], scale => ARRAY[1]), id, x) FROM scanned',
    'SELECT scan_agg(ROW(e, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 5, NULL, NULL, 1, NULL, NULL, NULL)::scan_plan, 1, 2) FROM made',
    'SELECT scan_agg(ROW(e, NULL, encoder_center(e), encoder_scale(e), NULL, NULL, NULL, NULL, 5, NULL, NULL, 1, NULL, NULL, NULL)::scan_plan, 1, 1e308::float8) FROM (SELECT encoder_agg(t, ''{v}'') AS e FROM (SELECT 1e-5::float8 * i AS v FROM generate_series(1, 9) i) t) q',
    'SELECT scan_result(lloyd_sums_agg(seven, ARRAY[1,2,3,4])) FROM made',
    'SELECT sum(s) FROM (SELECT state FROM whole UNION ALL SELECT lloyd_sums_agg(seven, ARRAY[1,2,3,4]) FROM made) q(s)',
    'SELECT sum(s) FROM (SELECT state FROM whole UNION ALL SELECT scan_agg(plan(size => 10), 1, ARRAY[1,2,3,4])) q(s)']) s;
