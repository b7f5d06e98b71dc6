-- choose_k finds the planted number of clusters, says that a cloud has none, and train with k
-- NULL uses its answer.
-- Nothing that is no cluster may add to the number: NULLs at random, flags, texts, far rows.
CREATE SCHEMA of_choose_k; SET search_path = of_choose_k, public, fastclust;
\set QUIET off
SELECT setseed(0.5);
-- planted() makes k round clusters with deviation 1, placed along the axes in turn, 8 apart.
CREATE FUNCTION planted(n integer, k integer, d integer) RETURNS SETOF real[] LANGUAGE sql VOLATILE AS $$
    SELECT ARRAY(SELECT 8 * ((i % k + j) / d) + sqrt(-2 * ln(1 - random())) * cos(2 * pi() * random()) + 0 * i FROM generate_series(0, d - 1) j)::real[]
    FROM generate_series(1, n) i
$$;
CREATE TABLE planted_rows AS SELECT 3 AS kinds, planted(3000, 3, 2) AS x UNION ALL SELECT 7, planted(5000, 7, 3) UNION ALL SELECT 12, planted(6000, 12, 10);
CREATE VIEW three AS SELECT x FROM planted_rows WHERE kinds = 3;
CREATE VIEW seven AS SELECT x, x[1] AS a, x[2] * 1000 AS b, x[3] + 1e4 AS c FROM planted_rows WHERE kinds = 7;
CREATE VIEW twelve AS SELECT x FROM planted_rows WHERE kinds = 12;
SELECT r, k, verdict FROM unnest('{three,seven,twelve}'::regclass[]) r, choose_k(r, 'x', 20) WHERE verdict IS NOT NULL;
SELECT k, verdict FROM choose_k('seven', '{a,b,c}'::name[], 12) WHERE verdict IS NOT NULL;
-- The result has one row for each k. The cost falls, except for what two halves of the sample
-- differ; the gain is the relative fall for each added cluster; stability is from 0 to 1.
SELECT count(*) - count(DISTINCT k) AS repeated, min(k), max(k), count(verdict) AS verdicts,
       bool_and(gain BETWEEN -0.05 AND 1) AS gains_from_minus_0_05_to_1,
       bool_and(stability BETWEEN 0 AND 1.000001) AS stabilities_from_0_to_1,
       count(*) FILTER (WHERE gain IS NULL OR stability IS NULL) AS rows_without_gain
  FROM choose_k('seven', 'x', 20);
SELECT bool_and(abs(1 - (cost / before) ^ (1.0 / (k - k_before)) - gain) < 1e-9)
       AS gain_within_1e_9_of_fall
FROM (SELECT *, lag(cost) OVER (ORDER BY k) AS before, lag(k) OVER (ORDER BY k) AS k_before FROM choose_k('seven', 'x', 20)) t WHERE k > 1;
-- The cost is measured on rows that were not fitted: at the planted k it is the noise, 3, within
-- 5 %.
SELECT round(cost::numeric, 1) AS cost, abs(cost / 3 - 1) < 0.05 AS within_5_percent_of_3
  FROM choose_k('seven', 'x', 20) WHERE k = 7;
-- The same seed gives the same answer.
SELECT (SELECT array_agg(c ORDER BY k) FROM choose_k('three', 'x', 6) c)
       = (SELECT array_agg(c ORDER BY k) FROM choose_k('three', 'x', 6) c) AS same_when_repeated;
-- A cloud without clusters has the verdict `none`, in two dimensions and in one.
CREATE TABLE cloud AS SELECT ARRAY[random(), random()]::real[] AS x, random() AS a FROM generate_series(1, 5000);
SELECT verdict FROM choose_k('cloud', 'x', 15) WHERE verdict IS NOT NULL UNION ALL SELECT verdict FROM choose_k('cloud', '{a}'::name[], 15) WHERE verdict IS NOT NULL;
-- Families of close clusters: the number is the same for every max_k, and the clusters within the
-- families are reported. A rare cluster next to a large one is not overlooked.
CREATE TABLE families AS SELECT ARRAY[50 * (i % 5) + 8 * (i / 5 % 2) + sqrt(-2 * ln(1 - random())) * cos(2 * pi() * random()),
                                      8 * (i / 10 % 2) + sqrt(-2 * ln(1 - random())) * cos(2 * pi() * random())]::real[] AS x FROM generate_series(1, 10000) i;
SELECT m AS max_k, k, verdict, within, reason FROM unnest('{4,12,30,60}'::integer[]) m, choose_k('families', 'x', m) WHERE verdict IS NOT NULL;
CREATE VIEW uneven AS SELECT ARRAY[CASE WHEN (x[1] * 1e4)::integer % 100 = 0 THEN -7 ELSE 9 * floor(random() * 3) END + x[1] - floor(x[1]), x[2] - floor(x[2])]::real[] AS x
    FROM planted_rows WHERE kinds = 12;
SELECT verdict = 'clear' AND k <> 4 AS rare_cluster_overlooked FROM choose_k('uneven', 'x', 12)
 WHERE verdict IS NOT NULL;
-- Combinations of flags are no clear clusters: the verdict says why.
CREATE TABLE flags AS SELECT random() < p[1] AS a, random() < p[2] AS b, random() < p[3] AS c, random() < p[4] AS d, random() < p[5] AS e FROM
    (SELECT (ARRAY['{.9,.1,.8,.3,.6}', '{.2,.7,.1,.9,.3}', '{.5,.9,.6,.1,.8}', '{.1,.3,.9,.6,.1}'])[1 + i % 4]::float8[] AS p FROM generate_series(1, 4000) i) kinds;
SELECT verdict, reason IS NOT NULL AS has_reason FROM choose_k('flags', '{a,b,c,d,e}'::name[])
 WHERE verdict IS NOT NULL;
-- NULLs at random and texts unrelated to the clusters do not add to their number.
CREATE TABLE customers AS
SELECT (ARRAY[24, 41, 63, 35])[kind] + 12 * (random() + random() - 1) AS age, exp((ARRAY[2.5, 4.5, 3.5, 6])[kind] + random() + random() - 1) AS spent,
       CASE WHEN random() < 0.8 THEN (ARRAY['DE', 'FR', 'US', 'DE'])[kind] ELSE 'CN' END AS country,
       CASE WHEN random() > 0.1 THEN (ARRAY['free', 'pro', 'free', 'team'])[kind] END AS plan, random() < (ARRAY[0.1, 0.8, 0.4, 0.9])[kind] AS newsletter
FROM (SELECT 1 + i % 4 AS kind FROM generate_series(1, 3000) i OFFSET 0) kinds;
SELECT k, verdict FROM choose_k('customers', '{age,spent,country,plan,newsletter}'::name[], 20, '{"encoder": {"transform": {"spent": "log"}}}') WHERE verdict IS NOT NULL;
CREATE TABLE texts AS SELECT 10 * kind + 3 * random() AS a, (7 * kind) % 5 + random() AS b, 'color ' || floor(3 * random()) AS color
FROM (SELECT i % 4 AS kind FROM generate_series(1, 1500) i OFFSET 0) kinds;
SELECT k = 4 OR verdict <> 'clear' AS four_or_not_clear
  FROM choose_k('texts', '{a,b,color}'::name[]) WHERE verdict IS NOT NULL;
-- A few far rows do not hide the number if the option trim leaves them out.
CREATE VIEW far_out AS SELECT CASE WHEN (x[1] * 1e4)::integer % 100 = 0 THEN ARRAY[1e4 * x[1], -1e4 * x[2], 1e4 * x[3]]::real[] ELSE x END AS x FROM seven;
SELECT k, verdict FROM choose_k('far_out', 'x', 12, '{"trim": 0.03}') WHERE verdict IS NOT NULL;
SELECT train('trimmed', 'far_out', 'x', NULL, options => '{"trim": 0.03, "quiet": true}');
SELECT k, note FROM fastclust_internal.stored_versions WHERE model = 'trimmed';
SELECT * FROM choose_k('far_out', 'x', 12, '{"trim": 0.7}');
-- Few rows: three heaps are three clusters, and a cloud is not clear, for which train warns. One
-- column with two clusters is clear.
CREATE TABLE heaps AS SELECT i % 3 * 100 + random() AS a, i % 3 * 100 + random() AS b FROM generate_series(1, 30) i;
SELECT k, verdict, reason FROM choose_k('heaps', '{a,b}'::name[]) WHERE verdict IS NOT NULL;
CREATE VIEW thirty AS SELECT ARRAY[u, v]::real[] AS x
  FROM generate_series(1, 30) i, LATERAL (SELECT ('x' || substr(md5(i || 'a'), 1, 8))::bit(32)::bigint / 4294967296.0 AS u,
                                                 ('x' || substr(md5(i || 'b'), 1, 8))::bit(32)::bigint / 4294967296.0 AS v) q;
SELECT verdict, reason FROM choose_k('thirty', 'x') WHERE verdict IS NOT NULL;
SELECT train('of thirty', 'thirty', 'x', NULL, options => '{"quiet": true}');
CREATE TABLE line AS SELECT i % 2 * 10 + sqrt(-2 * ln(1 - random())) * cos(2 * pi() * random()) AS v FROM generate_series(1, 5000) i;
SELECT k, verdict, reason FROM choose_k('line', '{v}'::name[]) WHERE verdict IS NOT NULL;
-- train and retrain with k NULL use the number that choose_k finds.
SELECT train('by evidence', 'seven', 'x', NULL, options => '{"quiet": true}');
SELECT k, note, fastclust_internal.clusters(operator) FROM fastclust_internal.stored_versions WHERE model = 'by evidence';
SELECT retrain('by evidence', '{"quiet": true}');
SELECT version, k FROM model_versions WHERE model = 'by evidence' ORDER BY version;
-- No rows are an error. One row and equal rows have no clear k, and can be trained on.
CREATE TABLE few (x real[]);
SELECT * FROM choose_k('few', 'x');
INSERT INTO few VALUES ('{1,2}');
SELECT * FROM choose_k('few', 'x');
INSERT INTO few SELECT '{1,2}' FROM generate_series(1, 99);
SELECT * FROM choose_k('few', 'x', 3);
SELECT train('of few', 'few', 'x', NULL, options => '{"quiet": true}');
-- Limits out of range, unknown options and columns, and methods or groups without a choice of k
-- are errors.
SELECT * FROM choose_k('seven', 'x', 1);
SELECT * FROM choose_k('seven', 'x', 1025);
SELECT * FROM choose_k('seven', 'x', NULL);
SELECT * FROM choose_k('seven', 'x', 5, NULL);
SELECT * FROM choose_k('seven', 'x', 5, '{"k": 3}');
SELECT * FROM choose_k('seven', 'y');
SELECT * FROM choose_k(NULL, 'x');
SELECT train('none', 'seven', 'x', 0);
SELECT train('none', 'seven', 'x', NULL, 'kernel');
SELECT train('none', 'seven', 'x', NULL, options => '{"group_by": "a"}');
-- choose_k reads with the rights of the caller.
CREATE ROLE regress_choose_k;
GRANT USAGE ON SCHEMA of_choose_k TO regress_choose_k;
SET ROLE regress_choose_k;
SELECT * FROM choose_k('seven', 'x');
RESET ROLE;
GRANT SELECT ON seven TO regress_choose_k;
SET ROLE regress_choose_k;
SELECT k, verdict FROM choose_k('seven', 'x', 12) WHERE verdict IS NOT NULL;
RESET ROLE;
\set QUIET on
SELECT drop_model(model) FROM models WHERE model IN ('by evidence', 'of few', 'of thirty', 'trimmed') \g /dev/null
DROP SCHEMA of_choose_k CASCADE; DROP ROLE regress_choose_k;

-- If no number is clear, the reason names columns of few values, which can hide the gaps in others.
CREATE TABLE flagged AS SELECT 10 * (i % 2) + hashint4extended(i, 1) / 2 ^ 64 AS a, 10 * (i % 4 / 2) + hashint4extended(i, 2) / 2 ^ 64 AS b, i % 3 = 0 AS flag, i % 7 % 2 AS coin FROM generate_series(1, 2000) i;
SELECT columns, k, verdict, reason FROM unnest(ARRAY['{a,b}', '{a,b,flag}', '{a,coin,b,flag}', '{flag,coin}']) columns, LATERAL (SELECT * FROM choose_k('flagged', columns::name[], 8) WHERE verdict IS NOT NULL) q;
DROP TABLE flagged;
