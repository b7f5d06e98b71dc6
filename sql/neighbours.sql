-- Factored operators with kept centroids, and nearest-neighbour search through buckets.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS fastclust;
RESET client_min_messages;
SET search_path = fastclust, public;
SET extra_float_digits = 0;

-- 2000 rows around 40 centres in 24 dimensions
CREATE TABLE near_rows AS
    SELECT i AS id, i % 40 AS planted,
           (SELECT array_agg((10 * sin((i % 40 + 1) * j * 0.7) + sin(i * 1.3 * j + j))::real ORDER BY j) FROM generate_series(1, 24) AS j) AS x
    FROM generate_series(1, 2000) AS i;
CREATE TABLE near_model AS SELECT kmeans_agg(x, 40, '{"seed": 1}') AS op FROM near_rows;
ALTER TABLE near_model ADD rough fastop, ADD few fastop, ADD exact fastop;
UPDATE near_model SET
    rough = factorize(op, 'svd', '{"budget": 400}'),
    few = factorize(op, 'svd', '{"budget": 400, "rerank": 6}'),
    exact = factorize(op, 'svd', '{"budget": 400, "rerank": "exact"}');

-- kept centroids give back the labels that a rough product loses, in single rows and in batches
SELECT count(*) FILTER (WHERE assign(rough, x) <> assign(op, x)) > 0 AS rough_differs,
       avg((assign(few, x) = assign(op, x))::int) > 0.98 AS few_agree,
       count(*) FILTER (WHERE assign(exact, x) <> assign(op, x)) AS exact_differs,
       count(*) FILTER (WHERE nearest(exact, x, 5) <> nearest(op, x, 5)) AS nearest_differs,
       count(*) FILTER (WHERE assign_distance(exact, x) <> assign_distance(op, x)) AS distance_differs,
       count(*) FILTER (WHERE (nearest(few, x, 3))[1] <> assign(few, x) OR (probe(rough, x, 2))[1] <> assign(rough, x)) AS first_differs
FROM near_rows, near_model;
SELECT (lloyd_step_agg((SELECT op FROM near_model), x)).counts = (lloyd_step_agg((SELECT exact FROM near_model), x)).counts AS counts,
       abs(sse_agg((SELECT exact FROM near_model), x) / sse_agg((SELECT op FROM near_model), x) - 1) < 1e-12 AS sse
FROM near_rows;
SELECT describe(few) -> 'rerank' AS few, describe(exact) -> 'rerank' AS exact, describe(rough) -> 'rerank' AS rough,
       exact::text::fastop = exact AS round_trip FROM near_model;
SELECT factorize(op, 'svd', '{"rerank": "all"}') FROM near_model;
SELECT factorize(op, 'svd', '{"rerank": 41}') FROM near_model;
SELECT factorize(op, 'svd', '{"rerank": 1.5}') FROM near_model;

-- buckets in an indexed column: the documented query visits it
ALTER TABLE near_rows ADD bucket int;
UPDATE near_rows SET bucket = assign(op, x) FROM near_model;
CREATE INDEX near_bucket ON near_rows (bucket);
ANALYZE near_rows;
SET enable_seqscan = off;
CREATE FUNCTION pg_temp.plan_of(query text) RETURNS SETOF text LANGUAGE plpgsql AS
    $$ DECLARE line text; BEGIN FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP RETURN NEXT line; END LOOP; END $$;
SELECT bool_or(line ~ 'near_bucket') AS index_is_used FROM pg_temp.plan_of($$
    SELECT id FROM near_rows
    WHERE bucket = ANY (probe((SELECT op FROM near_model), (SELECT x FROM near_rows WHERE id = 7), 3))
    ORDER BY l2_distance(x, (SELECT x FROM near_rows WHERE id = 7)) LIMIT 5 $$) AS line;
RESET enable_seqscan;
WITH query AS (SELECT id AS q, x AS y FROM near_rows WHERE id % 50 = 3)
SELECT avg((found = truth)::int) > 0.95 AS nearest_found
FROM query CROSS JOIN LATERAL (
    SELECT (SELECT id FROM near_rows WHERE id <> q AND bucket = ANY (probe((SELECT op FROM near_model), y, 3)) ORDER BY l2_distance(x, y), id LIMIT 1) AS found,
           (SELECT id FROM near_rows WHERE id <> q ORDER BY l2_distance(x, y), id LIMIT 1) AS truth) AS both_ways;

SELECT l2_distance('{0,3}'::real[], '{4,0}'::real[]), l2_distance('{0,3}'::float8[], '{4,0}'), l2_distance('{0,3}'::int[], '{4,0}'),
       l2_distance('{0,3}'::numeric[], '{4,0}'), l2_distance('{3e200,0}'::float8[], '{0,4e200}'), l2_distance('{3e-200,0}'::float8[], '{0,4e-200}');
SELECT l2_distance('{1e300,0}'::float8[], '{1e300,0}'), l2_distance('{1,2}'::real[], '{1,2}'::real[]);
SELECT l2_distance('{1e308}'::float8[], '{-1e308}');
SELECT l2_distance('{1,2}'::real[], '{1}'::real[]);
SELECT l2_distance('{1,NaN}'::real[], '{1,2}'::real[]);
SELECT probe(op, '{1}'::real[], 1) FROM near_model;
SELECT probe(op, x, 0) FROM near_model, near_rows WHERE id = 1;
DROP TABLE near_rows, near_model;
