-- QK-means learns centroids that are a product of sparse factors: its objective never rises, is
-- that of the operator it returns, and comes near k-means with fewer stored values.
-- The same seed gives the same operator from a table, from collected rows and with workers.
SET client_min_messages = notice; SET extra_float_digits = 0;
CREATE FUNCTION learned(relation regclass, features name, k integer, options jsonb DEFAULT '{}') RETURNS fastop LANGUAGE sql
	AS 'SELECT op FROM qkmeans_log(relation, features, k, options) ORDER BY iteration DESC LIMIT 1';

-- 12 clusters in 20 dimensions, far from the origin; rows without a vector are skipped.
CREATE TABLE "Rows" AS
SELECT i AS id, ARRAY(SELECT 50 + 10 * sin((i % 12) * 1.3 + j * (1 + i % 3)) + sin(i * 12.9898 + j * 78.233) FROM generate_series(1, 20) j)::real[] AS "the x"
FROM generate_series(1, 3000) i;
INSERT INTO "Rows" VALUES (0, NULL);
CREATE VIEW half AS SELECT "the x"::float8[] AS x FROM "Rows" WHERE id % 2 = 0;

CREATE TABLE run AS SELECT * FROM qkmeans_log('"Rows"', 'the x', 12, '{"seed": 1, "sparsity": 3}');
-- The objective never rises, is never below that of the cluster means, and is the sum of squares
-- of the operator in the same row.
SELECT bool_and(objective <= before * (1 + 1e-6)) AS objective_never_rises,
       bool_and(objective_of_means <= objective) AS means_are_never_worse,
       count(*) FILTER (WHERE iteration <> n) AS misnumbered,
       count(*) FILTER (WHERE (fastclust.describe(op) ->> 'nonzeros')::bigint <> nonzeros)
       AS miscounted_values
FROM (SELECT *, lag(objective, 1, objective) OVER w AS before, row_number() OVER w - 1 AS n FROM run WINDOW w AS (ORDER BY iteration)) r;
SELECT bool_and(abs(sse / objective - 1) < 1e-6) AS objectives_within_1e_6_of_sse
  FROM (SELECT objective, sse_agg(op, "the x") AS sse FROM run, "Rows" GROUP BY iteration, objective, op) s;
CREATE TABLE learned AS SELECT op, objective FROM run ORDER BY iteration DESC LIMIT 1;
SELECT abs(sse_agg((SELECT op FROM learned), "the x") / (SELECT objective FROM learned) - 1) < 1e-6
       AS objective_within_1e_6_of_sse, max(l.weight) AS sum_of_weights
FROM "Rows", (SELECT sum(weight) AS weight FROM learned, centroids(op)) l;
SELECT count(*) AS clusters, count(*) FILTER (WHERE weight = n) AS weight_is_count_of_labels
FROM learned, centroids(op) c LEFT JOIN (SELECT assign(op, "the x") AS cluster, count(*) AS n FROM "Rows", learned WHERE "the x" IS NOT NULL GROUP BY 1) a USING (cluster);
SELECT (fastclust.describe(op) ->> 'nonzeros')::bigint < 240 AS fewer_than_240_values,
       describe(op)->>'method' AS method, (describe(op)->>'relative_error')::float8 < 0.5
       AS relative_error_below_0_5,
       fastclust_internal.dim(op), fastclust_internal.clusters(op) FROM learned;
-- The same seed gives the same operator.
SELECT learned('"Rows"', 'the x', 12, '{"seed": 1, "sparsity": 3}') = op AS same_operator
  FROM learned;
-- qkmeans_agg, which collects its rows, is at most half worse than qkmeans_log, which scans the
-- table.
SELECT sse_agg((SELECT qkmeans_agg("the x", 12, '{"seed": 1, "sparsity": 3}'::jsonb) FROM "Rows"),
       "the x") < 1.5 * (SELECT objective
  FROM learned) AS sse_below_1_5_times_the_objective
  FROM "Rows";
-- A budget is never exceeded, also with a view, uniform starts and two factors.
SELECT (fastclust.describe(learned('half', 'x', 6,
       '{"init": "uniform", "factors": 2, "sparsity": 1, "budget": 80, "iterations": 3}'))
       ->> 'nonzeros')::bigint <= 80 AS at_most_80_values;
-- Training starts from the centroids in the option init: with the mean as the only one, the first
-- objective is the variance, and no row is listed.
SELECT iteration, objective FROM qkmeans_log('half', 'x', 1, ('{"iterations": 0, "init": ' || (SELECT to_json(array_agg(a)) FROM (SELECT array_agg(a ORDER BY o) AS a FROM
  (SELECT avg(v) AS a, o FROM half, unnest(x) WITH ORDINALITY u(v, o) GROUP BY o) m) c) || '}')::jsonb) r
WHERE abs(objective / (SELECT sum((v - a) ^ 2) FROM half, unnest(x) WITH ORDINALITY u(v, o) JOIN (SELECT avg(v) AS a, o FROM half, unnest(x) WITH ORDINALITY u(v, o) GROUP BY o) m USING (o)) - 1) > 1e-6;
-- There may be as many clusters as rows, or one. Equal rows have an error of 0.
CREATE TABLE few AS SELECT ARRAY[i, i * i, 1] AS x FROM generate_series(1, 5) i;
SELECT fastclust_internal.clusters(learned('few', 'x', 5)), fastclust_internal.clusters(learned('few', 'x', 1)), fastclust_internal.clusters(qkmeans_agg(x, 2)) FROM few;
CREATE TABLE same AS SELECT '{1,2,3}'::numeric[] AS x FROM generate_series(1, 50);
SELECT iteration, objective < 1e-9 AS objective_below_1e_9 FROM qkmeans_log('same', 'x', 3);
-- The default sparsity is raised until the start is within a tenth of k-means, also for random
-- centroids. The result is within 12 % of k-means and has fewer values than its 600.
CREATE TABLE blobs AS
WITH c AS (SELECT j, i, 5 * sin(j * 12.9898 + i * 78.233 + j * i * 3.7) AS v FROM generate_series(0, 19) j, generate_series(1, 30) i)
SELECT r AS id, (SELECT array_agg(v + 1.4 * sin(r * 7.123 + i * 45.77 + r * i * 1.3) ORDER BY i) FROM c WHERE j = r % 20)::real[] AS x FROM generate_series(1, 1000) r;
CREATE TABLE fitted AS SELECT 'table' AS name, learned('blobs', 'x', 20) AS op;
INSERT INTO fitted SELECT 'rows', qkmeans_agg(x, 20) FROM blobs;
INSERT INTO fitted SELECT 'dense', kmeans_agg(x, 20) FROM blobs;
SELECT name,
       sse_agg(op, x) < 1.12 * (SELECT sse_agg((SELECT op FROM fitted WHERE name = 'dense'), x)
           FROM blobs) AS within_12_percent_of_kmeans,
       (fastclust.describe(op) ->> 'nonzeros')::bigint < 600 AS fewer_than_600_values,
       (SELECT max(factor) FROM factors(op)) + 1 AS factors
FROM blobs, fitted GROUP BY name, op ORDER BY name;
-- A given number of factors and sparsity is obeyed, and a notice says where the product is far
-- from the centroids.
CREATE TABLE crossed AS SELECT x FROM (VALUES ('{11,10}'::real[]), ('{9,10}'), ('{-11,-10}'), ('{-9,-10}')) v(x);
SELECT (fastclust.describe(learned('crossed', 'x', 2,
       '{"factors": 1, "sparsity": 1}')) ->> 'nonzeros')::bigint AS nonzeros;
SELECT (fastclust.describe(qkmeans_agg(x, 2)) ->> 'nonzeros')::bigint AS nonzeros FROM crossed;
-- Clusters with almost no spread at random places have no product near them, and a notice says
-- so.
\set VERBOSITY terse
SELECT (fastclust.describe(qkmeans_agg(y, 12)) ->> 'nonzeros')::bigint AS nonzeros
FROM (SELECT r,
       (SELECT array_agg(sin((r % 12 * 31 + i * i) ^ 2 * 12.9898) + 1e-4 * sin(r * i)
           ORDER BY i)::real[] AS y FROM generate_series(1, 20) i) AS y
               FROM generate_series(1, 200) r) rows;
\set VERBOSITY default
SELECT (fastclust.describe(learned('blobs', 'x', 20,
       '{"factors": 2, "sparsity": 9, "verbose": false}')) ->> 'nonzeros')::bigint > 600
       AS more_than_600_values;
-- As published: uniform rows, the hierarchical start, log2(20) factors of sparsity 2.
SELECT (SELECT max(factor) + 1 FROM factors(op)) AS factors, describe(op) -> 'offset' AS "offset",
       (describe(op) ->> 'nonzeros')::int < 300 AS fewer_than_300_values
  FROM learned('blobs', 'x', 20, '{"published": true}') op;
SELECT qkmeans_agg(x, 20, '{"published": true}') IS NOT NULL AS published FROM blobs;
-- Progress is reported only with the option verbose.
SELECT count(*) AS log_rows FROM qkmeans_log('few', 'x', 2, '{"iterations": 0}');
CREATE DOMAIN two_reals AS real[] CHECK (cardinality(VALUE) = 2);
-- Ten values of which one is in 82 % of the rows are all found: repeated rows do not crowd the
-- sample.
CREATE TABLE repeated AS
SELECT CASE WHEN i % 10 < 8 THEN '{0,0}' ELSE ARRAY[i % 9 * 10, i % 9 * (i % 9)] END::two_reals AS x FROM generate_series(1, 20000) i;
SELECT seed, sse_agg(op, x) < 1e-6 AS sse_below_1e_6 FROM repeated,
       (SELECT seed, learned('repeated', 'x', 10, jsonb_build_object('seed', seed)) AS op
           FROM generate_series(1, 3) seed OFFSET 0) o GROUP BY seed ORDER BY seed;
DROP TABLE repeated;
-- Parallel workers give the same operator.
CREATE TABLE many AS SELECT ARRAY[i * 7919 % 1009, i * 10477 % 1013, i % 7 * 100]::real[] AS x FROM generate_series(1, 30000) i;
ALTER TABLE many SET (parallel_workers = 3);
SET max_parallel_workers_per_gather = 0;
CREATE TABLE alone AS SELECT learned('many', 'x', 5) AS op;
SET max_parallel_workers_per_gather = 3; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
SELECT op = learned('many', 'x', 5) AS same_operator FROM alone;
RESET max_parallel_workers_per_gather; RESET parallel_setup_cost; RESET parallel_tuple_cost; RESET min_parallel_table_scan_size;
DROP TABLE many, alone;
-- A single factor that may hold every value holds the cluster means, of small clusters, too.
CREATE TABLE uneven AS SELECT CASE WHEN i <= 3 THEN ARRAY[1000 + i, 900 * i] ELSE ARRAY[i % 10, i % 7] END::real[] AS x FROM generate_series(1, 5000) i;
SELECT count(*) > 1
       AND bool_and(objective
           <= objective_of_means * (1 + 1e-6)) FILTER (WHERE describe(op) ? 'relative_error')
       AS objective_is_that_of_means
FROM qkmeans_log('uneven', 'x', 4, '{"factors": 1, "sparsity": 4}');
DROP TABLE uneven;

-- Bad arguments, options and types are errors that name the value; every type that has a cast to
-- real[] gives the same operator.
SELECT count(*) FROM qkmeans_log('few', 'x', 6);
SELECT count(*) FROM qkmeans_log('few', 'x', 0);
SELECT count(*) FROM qkmeans_log('few', 'y', 2);
SELECT count(*) FROM qkmeans_log('few', 'x', 2, '{"speed": 1}');
SELECT count(*) FROM qkmeans_log('few', NULL, 2);
SELECT count(*) FROM qkmeans_log('few', 'x', NULL);
SELECT count(*) FROM qkmeans_log('few', 'x', 2, '{"init": "best"}');
SELECT count(*) FROM qkmeans_log('few', 'x', 2, '{"init": [[1, 2, 3]]}');
SELECT count(*) FROM qkmeans_log('few', 'x', 2, '{"init": [[1, 2], [3, 4]]}');
SELECT count(*) FROM qkmeans_log('few', 'x', 2, '{"start": "svd"}');
SELECT count(*) FROM qkmeans_log('"Rows"', 'id', 2);
CREATE TYPE pair AS (a real, b real);
CREATE FUNCTION pair_to_real(pair) RETURNS real[] LANGUAGE sql IMMUTABLE AS 'SELECT ARRAY[$1.a, $1.b]';
CREATE CAST (pair AS real[]) WITH FUNCTION pair_to_real(pair) AS IMPLICIT;
CREATE TABLE odd_types AS
SELECT ARRAY[i, -i]::text AS as_text, ARRAY[i, -i]::text[] AS as_texts, ARRAY[i, -i]::bigint[] AS as_bigints, ARRAY[i, -i]::two_reals AS as_domain, ROW(i, -i)::pair AS as_pair,
       point(i, -i) AS as_point, to_jsonb(ARRAY[i, -i]) AS as_jsonb FROM generate_series(1, 30) i;
SELECT count(*) FROM qkmeans_log('odd_types', 'as_text', 2);
SELECT count(*) FROM qkmeans_log('odd_types', 'as_texts', 2);
SELECT count(*) FROM qkmeans_log('odd_types', 'as_point', 2);
SELECT count(*) FROM qkmeans_log('odd_types', 'as_jsonb', 2);
SELECT a = b AND b = c AS same_whatever_the_type
FROM learned('odd_types', 'as_bigints', 2) a, learned('odd_types', 'as_domain', 2) b, learned('odd_types', 'as_pair', 2) c;
DROP TABLE odd_types;
DROP TYPE pair CASCADE;
DROP DOMAIN two_reals;
SELECT qkmeans_agg(x, 9) FROM few;
-- Values that underflow single precision are an error instead of factors of zeros.
SELECT qkmeans_agg(ARRAY[i * 1e-50, i * i * 1e-50], 3) FROM generate_series(1, 20) i;
-- An SVD reports its own error as the error of an SVD of the same size.
SELECT describe(op)->'relative_error' = describe(op)->'svd_relative_error' AS same_error
FROM (SELECT factorize(kmeans_agg(ARRAY[i * i, i, 1 + i % 3, i % 7]::float8[], 5), 'svd', '{"budget": 900}') AS op FROM generate_series(1, 60) i) f;
INSERT INTO few VALUES ('{1,2}');
SELECT count(*) FROM qkmeans_log('few', 'x', 2);
TRUNCATE few;
SELECT count(*) FROM qkmeans_log('few', 'x', 1);
SELECT qkmeans_agg(x, 1) AS operator_of_no_rows FROM few;
\set VERBOSITY sqlstate
SET fastclust.memory_budget = '1MB';
SELECT count(*) FROM qkmeans_log('"Rows"', 'the x', 900);
RESET fastclust.memory_budget;
\set VERBOSITY default
CREATE ROLE stranger;
SET ROLE stranger;
SELECT count(*) FROM fastclust.qkmeans_log('public."Rows"', 'the x', 2);
RESET ROLE;
DROP ROLE stranger; DROP VIEW half; DROP FUNCTION learned; DROP TABLE "Rows", run, learned, few, same, blobs, fitted, crossed;
