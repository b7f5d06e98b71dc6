-- A factorised operator that keeps its centroids gives exact labels, and an index on the labels
-- of a column (buckets) makes nearest-neighbour search fast.
-- If the documented queries stopped using the index, a search would read the whole table.
SET extra_float_digits = 0;

-- 2,000 rows around 40 centres in 24 dimensions.
CREATE TABLE near_rows AS SELECT i AS id, i % 40 AS planted,
           (SELECT array_agg((10 * sin((i % 40 + 1) * j * 0.7) + sin(i * 1.3 * j + j))::real ORDER BY j) FROM generate_series(1, 24) AS j) AS x
    FROM generate_series(1, 2000) AS i;
CREATE TABLE near_model AS SELECT kmeans_agg(x, 40, '{"seed": 1}') AS op FROM near_rows;
ALTER TABLE near_model ADD rough fastop, ADD few fastop, ADD exact fastop;
UPDATE near_model SET rough = factorize(op, 'svd', '{"budget": 400}'), few = factorize(op, 'svd', '{"budget": 400, "rerank": 6}'),
    exact = factorize(op, 'svd', '{"budget": 400, "rerank": "exact"}');

-- The option rerank gives back the labels that a rough product loses: all of them with exact,
-- over 98 % with six candidates.
SELECT count(*) FILTER (WHERE assign(rough, x) <> assign(op, x)) > 0 AS rough_loses_labels,
       avg((assign(few, x) = assign(op, x))::int) > 0.98 AS six_keep_over_98_percent,
       count(*) FILTER (WHERE assign(exact, x) <> assign(op, x)) AS other_labels,
       count(*) FILTER (WHERE nearest(exact, x, 5) <> nearest(op, x, 5)) AS other_nearest,
       count(*) FILTER (WHERE assign_distance(exact, x) <> assign_distance(op, x))
       AS other_distances,
       count(*) FILTER (WHERE (nearest(few, x, 3))[1] <> assign(few, x)
           OR (nearest(rough, x, 2))[1] <> assign(rough, x)) AS first_nearest_is_not_label
FROM near_rows, near_model;
SELECT (lloyd_step_agg((SELECT op FROM near_model), x)).counts
       = (lloyd_step_agg((SELECT exact FROM near_model), x)).counts AS same_counts,
       abs(sse_agg((SELECT exact FROM near_model), x)
           / sse_agg((SELECT op FROM near_model), x) - 1) < 1e-12 AS sse_within_1e_12
  FROM near_rows;
SELECT describe(few) -> 'rerank' AS few, describe(exact) -> 'rerank' AS exact, describe(rough) -> 'rerank' AS rough,
       exact::text::fastop = exact AS same_from_text FROM near_model;
SELECT factorize(op, 'svd', '{"rerank": "all"}') FROM near_model;
SELECT factorize(op, 'svd', '{"rerank": 41}') FROM near_model;
SELECT factorize(op, 'svd', '{"rerank": 1.5}') FROM near_model;

-- The documented query uses the index on the buckets in each of its forms, without settings for
-- the planner.
ALTER TABLE near_rows ADD bucket int;
UPDATE near_rows SET bucket = assign(op, x) FROM near_model;
CREATE INDEX near_bucket ON near_rows (bucket);
ANALYZE near_rows;
CREATE FUNCTION pg_temp.indexes_of(query text) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE line text; found text[] := '{}';
BEGIN
    FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
        found := found || (regexp_match(line, 'Index (?:Only )?Scan (?:using|on) (\w+)'))[1];
    END LOOP;
    RETURN ARRAY(SELECT DISTINCT unnest(array_remove(found, NULL)));
END $$;
SELECT pg_temp.indexes_of($$ SELECT id FROM near_rows
    WHERE bucket = ANY (nearest((SELECT op FROM near_model), array_fill(1::real, '{24}'), 3)) ORDER BY l2_distance(x, array_fill(1::real, '{24}')) LIMIT 5 $$) AS subquery,
    pg_temp.indexes_of($$ SELECT id FROM near_rows, near_model
    WHERE bucket = ANY (nearest(op, array_fill(1::real, '{24}'), 3)) ORDER BY l2_distance(x, array_fill(1::real, '{24}')) LIMIT 5 $$) AS join_of_both,
    pg_temp.indexes_of($$ SELECT q.id, n.id FROM near_rows q CROSS JOIN LATERAL (SELECT id FROM near_rows
    WHERE bucket = ANY (nearest((SELECT op FROM near_model), q.x, 3)) ORDER BY l2_distance(x, q.x) LIMIT 5) n WHERE q.bucket < 0 $$) AS many_queries;
CREATE FUNCTION near_neighbours(query real[], n int, buckets int) RETURNS TABLE (id int, distance float8) LANGUAGE sql STABLE AS $$
    SELECT id, l2_distance(x, query) AS distance FROM near_rows
    WHERE bucket = ANY (nearest((SELECT op FROM near_model), query, buckets)) ORDER BY distance LIMIT n $$;
SELECT pg_temp.indexes_of('SELECT * FROM near_neighbours(array_fill(1::real, ''{24}''), 5, 3)') AS inlined;
PREPARE near_search (real[], int) AS SELECT id FROM near_rows WHERE bucket = ANY (nearest((SELECT op FROM near_model), $1, $2)) ORDER BY l2_distance(x, $1) LIMIT 5;
SET plan_cache_mode = force_generic_plan;
SELECT pg_temp.indexes_of('EXECUTE near_search (array_fill(1::real, ''{24}''), 3)') AS prepared;
RESET plan_cache_mode;

-- Buckets can be kept by the database itself, in a generated column or an expression index, by an
-- immutable function with the operator in it.
DO $$
BEGIN
    EXECUTE format('CREATE FUNCTION near_bucket_of(x real[]) RETURNS int IMMUTABLE STRICT PARALLEL SAFE LANGUAGE plpgsql AS %L',
        format('BEGIN RETURN fastclust.assign(%L::fastclust.fastop, x); END', (SELECT op FROM near_model)));
END $$;
CREATE TABLE near_kept (id int, x real[], bucket int GENERATED ALWAYS AS (near_bucket_of(x)) STORED);
INSERT INTO near_kept SELECT id, x FROM near_rows;
CREATE INDEX near_generated ON near_kept (bucket);
CREATE INDEX near_expression ON near_rows (near_bucket_of(x));
ANALYZE near_kept, near_rows;
SELECT count(*) AS rows, count(*) FILTER (WHERE k.bucket <> r.bucket) AS other_buckets
  FROM near_kept k JOIN near_rows r USING (id);
INSERT INTO near_kept (id, x) SELECT 0, x FROM near_rows WHERE id = 33;
SELECT (SELECT bucket FROM near_kept WHERE id = 0) - (SELECT bucket FROM near_rows WHERE id = 33)
       AS difference_of_new_row;
SELECT pg_temp.indexes_of($$ SELECT id FROM near_kept
    WHERE bucket = ANY (nearest((SELECT op FROM near_model), array_fill(1::real, '{24}'), 3)) ORDER BY l2_distance(x, array_fill(1::real, '{24}')) LIMIT 5 $$) AS generated,
    pg_temp.indexes_of($$ SELECT id FROM near_rows
    WHERE near_bucket_of(x) = ANY (nearest((SELECT op FROM near_model), array_fill(1::real, '{24}'), 3)) ORDER BY l2_distance(x, array_fill(1::real, '{24}')) LIMIT 5 $$) AS expression;
SELECT (SELECT array_agg(id ORDER BY id) FROM near_rows WHERE near_bucket_of(x) = 3)
       = (SELECT array_agg(id ORDER BY id) FROM near_rows WHERE bucket = 3)
       AS same_rows_in_bucket_3;
-- All buckets give the exact neighbours, and three of 40 give the nearest one in over 95 % of the
-- queries.
SELECT array_agg(n.id ORDER BY distance)= (SELECT array_agg(id)
  FROM (SELECT id
           FROM near_rows
               ORDER BY l2_distance(x, (SELECT x FROM near_rows WHERE id = 77)) LIMIT 5) t)
       AS same_neighbours_with_all_buckets
FROM near_neighbours((SELECT x FROM near_rows WHERE id = 77), 5, 40) n;
WITH query AS (SELECT id AS q, x AS y FROM near_rows WHERE id % 50 = 3) SELECT count(*) AS queries,
       avg((found = truth)::int) > 0.95 AS over_95_percent_found
FROM query CROSS JOIN LATERAL (
    SELECT (SELECT id FROM near_rows WHERE id <> q AND bucket = ANY (nearest((SELECT op FROM near_model), y, 3)) ORDER BY l2_distance(x, y), id LIMIT 1) AS found,
           (SELECT id FROM near_rows WHERE id <> q ORDER BY l2_distance(x, y), id LIMIT 1) AS truth) AS both_ways;
-- l2_distance takes every type of vector and neither overflows nor underflows on the way; what
-- does not fit is an error.
SELECT l2_distance('{0,3}'::real[], '{4,0}'::real[]), l2_distance('{0,3}'::float8[], '{4,0}'), l2_distance('{0,3}'::int[], '{4,0}'),
       l2_distance('{0,3}'::numeric[], '{4,0}'), l2_distance('{3e200,0}'::float8[], '{0,4e200}'), l2_distance('{3e-200,0}'::float8[], '{0,4e-200}');
SELECT l2_distance('{1e300,0}'::float8[], '{1e300,0}'), l2_distance('{1,2}'::real[], '{1,2}'::real[]);
SELECT l2_distance('{1e308}'::float8[], '{-1e308}');
SELECT l2_distance('{1,2}'::real[], '{1}'::real[]);
SELECT l2_distance('{1,NaN}'::real[], '{1,2}'::real[]);
SELECT nearest(op, '{1}'::real[], 1) FROM near_model;
SELECT nearest(op, x, 0) FROM near_model, near_rows WHERE id = 1;
DROP TABLE near_rows, near_kept, near_model; DROP FUNCTION near_neighbours, near_bucket_of;
