-- drift_spec and drift_counts are what a training keeps to detect drift: sums that can be merged
-- and subtracted exactly and do not depend on the order of the rows. The tests on them see a
-- moved column, a new value and a new dependence, and do not see a random split of the same rows.
\set ECHO none
SET search_path = public, fastclust, fastclust_internal;
CREATE TABLE rows_of AS
    SELECT i, i % 7 AS g, ARRAY[(i * 7919 % 10007) / 1000.0, (i * 104729 % 10009) / 1000.0, i % 3, 0.1 * (i % 5), (i % 100 = 0)::integer]::real[] AS x
      FROM generate_series(1, 6000) i;
CREATE TABLE sample_of AS SELECT (scan_result(scan_agg(ROW(NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1, 4000, NULL, NULL, 1, NULL, NULL, NULL)::scan_plan, i::bigint, x))).sample AS s FROM rows_of;
DO $$ BEGIN PERFORM train('waves of rows', 'rows_of', 'x', 3, 'kmeans'); END $$;
CREATE TABLE specs AS SELECT drift_spec_of_sample(s, 1) AS d, model_spec('waves of rows') AS w FROM sample_of;
DO $$ BEGIN PERFORM drop_model('waves of rows'); END $$;
CREATE TABLE kept AS SELECT d, w, sample_null_moments(s, w) AS null_moments FROM specs, sample_of;
CREATE FUNCTION refused(statement text) RETURNS text LANGUAGE plpgsql SET search_path = public, fastclust, fastclust_internal AS $$
BEGIN
	EXECUTE statement;
	RETURN '00000';
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE || ' ' || SQLERRM;
END $$;
-- The number of rows of drift counts: eight bytes after a header of 36.
CREATE OR REPLACE FUNCTION counted_rows(fastclust_internal.drift_counts) RETURNS bigint LANGUAGE sql AS $$
    SELECT sum(get_byte(b, i)::bigint << 8 * (i - 36))::bigint FROM decode(substr($1::text, 3), 'hex') b, generate_series(36, 43) i
$$;
\set QUIET off
\set ECHO all

-- The spec depends on the sample and the seed, not on the order of the rows; spec and counts are
-- read back from their text as the same values.
SELECT d::text
       = drift_spec_of_sample((SELECT (scan_result(scan_agg(ROW(NULL, NULL, NULL, NULL, NULL, NULL,
           NULL, 1, 4000, NULL, NULL, 1, NULL, NULL, NULL)::scan_plan, i::bigint,
               x ORDER BY i DESC))).sample FROM rows_of), 1)::text AS same_in_reverse_order,
       d::text = drift_spec_of_sample((SELECT s FROM sample_of), 2)::text AS same_with_another_seed,
       d::text::drift_spec::text = d::text AS same_from_text FROM specs;
SELECT counted_rows(c) AS rows, length(c::text) / 2 AS bytes, c::text::drift_counts::text = c::text
       AS same_from_text
  FROM (SELECT drift_counts_agg(x, (SELECT d FROM specs)) FROM rows_of) q(c);
SELECT describe(w) - '{center,bytes}'::text[] AS sketch_spec, null_moments[1] BETWEEN 0 AND 1
       AS second_moment_from_0_to_1, null_moments[2] < null_moments[1] AS third_below_second
  FROM kept;

-- Counts are the same in any order, for any type of vector, with workers, and merged from groups.
CREATE TABLE whole AS SELECT drift_counts_agg(x, (SELECT d FROM specs)) AS c, sketch_agg(x, (SELECT w FROM specs)) AS s FROM rows_of;
SELECT w.c::text = q.ordered::text AS same_in_reverse_order, w.c::text = q.doubles::text
       AS same_for_double, w.c::text = q.filtered::text AS same_as_sum_of_parts
  FROM whole w, (SELECT drift_counts_agg(x, (SELECT d FROM specs) ORDER BY i DESC) AS ordered, drift_counts_agg(x::double precision[], (SELECT d FROM specs)) AS doubles,
                        changed_drift_counts(drift_counts_agg(x, (SELECT d FROM specs)) FILTER (WHERE g < 3), drift_counts_agg(x, (SELECT d FROM specs)) FILTER (WHERE g >= 3), NULL) AS filtered
                   FROM rows_of) q;
SELECT w.c::text = merge_drift_counts_agg(q.c)::text AS same_when_merged
  FROM whole w, (SELECT drift_counts_agg(x, (SELECT d FROM specs)) AS c FROM rows_of GROUP BY g) q GROUP BY w.c::text;
SELECT drift_counts_agg(ARRAY[1, 2, i % 3, 0, 0], d)::text = drift_counts_agg(ARRAY[1, 2, i % 3, 0,
       0]::numeric[], d)::text AS same_for_integer_and_numeric
  FROM specs, generate_series(1, 100) i;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 4;
CREATE TABLE by_workers AS SELECT drift_counts_agg(x, (SELECT d FROM specs)) AS c FROM rows_of;
SELECT w.c::text = b.c::text AS same_with_workers FROM whole w, by_workers b;
RESET max_parallel_workers_per_gather;

-- A state that still has uncounted rows, as an aggregate without a final function returns it, is
-- counted completely.
CREATE AGGREGATE open_counts(x "any", spec drift_spec) (SFUNC = drift_counts_accum, STYPE = drift_counts);
SELECT live_count_agg((SELECT d FROM specs), NULL, q.c)::text = w.c::text AS same_in_live_sketch,
       merge_drift_counts_agg(q.c)::text = w.c::text AS same_when_merged
  FROM whole w, (SELECT open_counts(x, (SELECT d FROM specs)) FROM rows_of GROUP BY g) q(c) GROUP BY w.c::text;
DROP AGGREGATE open_counts("any", drift_spec);

-- NULL rows are not counted, and no rows give NULL.
SELECT drift_counts_agg(CASE WHEN i > 10 THEN x END, (SELECT d FROM specs))::text
       = drift_counts_agg(x, (SELECT d FROM specs)) FILTER (WHERE i > 10)::text
       AS null_rows_are_skipped,
       drift_counts_agg(x, (SELECT d FROM specs)) FILTER (WHERE i < 0)::text AS counts_of_no_rows
  FROM rows_of;

-- Counts that were added can be subtracted exactly; everything subtracted gives NULL.
CREATE TABLE parts AS SELECT g = 0 AS first, drift_counts_agg(x, (SELECT d FROM specs)) AS c, sketch_agg(x, (SELECT w FROM specs)) AS s FROM rows_of GROUP BY 1;
SELECT changed_drift_counts(a.c, b.c, a.c)::text = b.c::text AS same_as_the_rest,
       changed_drift_counts(NULL, w.c, w.c)::text AS all_subtracted,
       changed_drift_counts(w.c, NULL, NULL)::text = w.c::text AS same_without_change,
       changed_drift_counts(NULL, NULL, NULL)::text AS of_nothing
  FROM whole w, parts a, parts b WHERE a.first AND NOT b.first;

-- Two parts of one table do not differ. A moved column, a value never seen and two columns that
-- depend on each other are each found, with the columns.
SELECT verdict, effect, p_value > 0.01 AS p_value_above_0_01 FROM kept, parts a, parts b,
       LATERAL drift_test(d, a.c, b.c, a.s, b.s, null_moments, 0.01, 0.1)
 WHERE NOT a.first AND b.first;
CREATE TABLE changed AS SELECT what, drift_counts_agg(y, (SELECT d FROM specs)) AS c, sketch_agg(y, (SELECT w FROM specs)) AS s
      FROM rows_of, LATERAL (VALUES ('moved', ARRAY[x[1] + 2, x[2], x[3], x[4], x[5]]), ('new value', ARRAY[x[1], x[2], CASE WHEN i % 40 = 0 THEN 7 ELSE x[3] END, x[4], x[5]]),
                                    ('together', ARRAY[x[2], x[2], x[3], x[4], x[5]])) v(what, y) GROUP BY what;
SELECT what, verdict, p_value < 1e-6 AS p_value_below_1e_6, effect > 0.1 AS effect_above_0_1
  FROM kept, whole a, changed b,
           LATERAL drift_test(d, a.c, b.c, a.s, b.s, null_moments, 0.01, 0.1) ORDER BY what;
SELECT what, dimension, other, round(shift::numeric, 1) AS shift, round(spread::numeric, 1)
       AS spread, p_value < 1e-6 AS p_value_below_1e_6
  FROM kept, whole a, changed b, LATERAL moved_columns(d, a.c, b.c, a.s, b.s, 0.01, 5, false) ORDER BY what, dimension;

-- The test works with counts alone and with sketches alone. Without both it returns NULL, and for
-- nine rows the verdict `too few rows`.
SELECT what, (drift_test(d, a.c, b.c, NULL, NULL, NULL, 0.01, 0.1)).verdict AS by_counts,
       (drift_test(NULL, NULL, NULL, a.s, b.s, null_moments, 0.01, 0.1)).verdict AS by_sketches
  FROM kept, whole a, changed b ORDER BY what;
SELECT * FROM drift_test(NULL, NULL, NULL, NULL, NULL, NULL, 0.01, 0.1);
SELECT t.* FROM kept, whole w, (SELECT drift_counts_agg(x, (SELECT d FROM specs)) FROM rows_of WHERE i <= 9) q(nine),
                drift_test(d, w.c, nine, NULL, NULL, NULL, 0.01, 0.1) t;
SELECT count(*) AS columns_found_by_sketches FROM kept, whole a, changed b,
       moved_columns(NULL, NULL, NULL, a.s, b.s, 0.01, 5, false);

-- The metric cosine ignores the length of a row and does not count a zero vector.
SELECT drift_counts_agg(x, d)::text
       = drift_counts_agg((SELECT array_agg(4 * e ORDER BY o)
           FROM unnest(x) WITH ORDINALITY u(e, o))::real[], d)::text AS same_when_scaled,
       counted_rows(drift_counts_agg(CASE WHEN i <= 6 THEN ARRAY[0, 0, 0, 0, 0]::real[] ELSE x END,
           d)) AS rows_without_zero_vectors
  FROM rows_of, (SELECT drift_spec_of_sample(s, 1) AS d
                   FROM (SELECT (scan_result(scan_agg(ROW(NULL, 'cosine', NULL, NULL, NULL, NULL, NULL, 1, 4000, NULL, NULL, 1, NULL, NULL, NULL)::scan_plan, i::bigint, x))).sample AS s FROM rows_of) q) q;

-- Rows, specs, counts and bytes that do not fit are errors.
SELECT statement, refused(statement) FROM unnest(ARRAY[
    $$SELECT drift_counts_agg(ARRAY[1, 2], d) FROM specs$$,
    $$SELECT drift_counts_agg(ARRAY[1, 2, 3, 'NaN', 5]::real[], d) FROM specs$$,
    $$SELECT drift_counts_agg(x, NULL::drift_spec) FROM rows_of$$,
    $$SELECT drift_counts_agg(x, CASE WHEN i > 9 THEN d ELSE drift_spec_of_sample(s, 3) END) FROM rows_of, specs, sample_of$$,
    $$SELECT changed_drift_counts(NULL, a.c, w.c) FROM parts a, whole w$$,
    $$SELECT changed_drift_counts(NULL, NULL, w.c) FROM whole w$$,
    $$SELECT changed_drift_counts(w.c, (SELECT drift_counts_agg(x, (SELECT drift_spec_of_sample(s, 3) FROM sample_of)) FROM rows_of), NULL) FROM whole w$$,
    $$SELECT drift_test(drift_spec_of_sample(q.s, 3), w.c, w.c, NULL, NULL, NULL, 0.01, 0.1) FROM whole w, sample_of q$$,
    $$SELECT drift_test(d, w.c, w.c, w.s, w.s, '{1,-1}', 0.01, 0.1) FROM whole w, specs$$,
    $$SELECT drift_test(d, w.c, w.c, w.s, w.s, '{1,1}', 2, 0.1) FROM whole w, specs$$,
    $$SELECT moved_columns(d, w.c, w.c, w.s, w.s, 0.01, 0, false) FROM whole w, specs$$,
    $$SELECT sample_null_moments(s, sketch_spec(2, 20, 1.0)) FROM sample_of$$,
    $$SELECT drift_spec_of_sample(fastop_agg(centroid, 1, '{"metric": "inner_product"}'), 1) FROM sample_of, centroids(s)$$,
    $$SELECT '\x00'::drift_counts$$,
    $$SELECT 'counts'::drift_spec$$,
    $$SELECT overlay(c::text placing 'f' from 60 for 1)::drift_counts FROM whole$$,
    $$SELECT left(c::text, -16)::drift_counts FROM whole$$,
    $$SELECT overlay(d::text placing '41' from 221)::drift_spec FROM specs$$]) AS s(statement);

DROP TABLE rows_of, sample_of, specs, kept, whole, by_workers, parts, changed;
DROP FUNCTION refused;
