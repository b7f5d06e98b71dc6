-- A weighted sample needs a center and a positive, finite variance: each other value in a scan
-- plan is an error, and a valid plan gives the requested number of rows.
\set SHOW_CONTEXT never
SET search_path = fastclust, fastclust_internal, public;
CREATE TEMP TABLE heap AS SELECT i AS id, ARRAY[i % 7, i % 11]::float8[] AS x FROM generate_series(1, 100) i;
SELECT (scan_result(scan_agg(ROW(NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1, 3, '{1,1}', 'NaN', 1, NULL, NULL, NULL)::scan_plan, id, x))).sample FROM heap;
SELECT (scan_result(scan_agg(ROW(NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1, 3, '{1,1}', '-Infinity', 1, NULL, NULL, NULL)::scan_plan, id, x))).sample FROM heap;
SELECT (scan_result(scan_agg(ROW(NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1, 3, '{1,1}', 'Infinity', 1, NULL, NULL, NULL)::scan_plan, id, x))).sample FROM heap;
SELECT (scan_result(scan_agg(ROW(NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1, 3, '{1,1}', -1, 1, NULL, NULL, NULL)::scan_plan, id, x))).sample FROM heap;
SELECT (scan_result(scan_agg(ROW(NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1, 3, '{1,1}', 0, 1, NULL, NULL, NULL)::scan_plan, id, x))).sample FROM heap;
SELECT (scan_result(scan_agg(ROW(NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1, 3, '{1,1}', 1e-308, 1, NULL, NULL, NULL)::scan_plan, id, x))).sample FROM heap;
SELECT (scan_result(scan_agg(ROW(NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1, 3, '{1,1}', 'NaN', 1, NULL, NULL, NULL)::scan_plan, id, x))).sample FROM heap;
SELECT (scan_result(scan_agg(ROW(NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1, 3, NULL, 1, 1, NULL, NULL, NULL)::scan_plan, id, x))).sample FROM heap;
SELECT fastclust_internal.clusters((scan_result(scan_agg(ROW(NULL, NULL, NULL, NULL, NULL, NULL,
       NULL, 1, 3, NULL, NULL, 1, NULL, NULL, NULL)::scan_plan, id, x))).sample)
       AS rows_of_uniform_sample,
       fastclust_internal.clusters((scan_result(scan_agg(ROW(NULL, NULL, NULL, NULL, NULL, NULL,
           NULL, 1, 3, '{1,1}', 2, 1, NULL, NULL, NULL)::scan_plan, id, x))).sample)
       AS rows_of_weighted_sample FROM heap;
