-- Searches of method kmeans and of kmeans_agg.
CREATE TABLE rays AS
    SELECT center[1 + i % 10] AS x0, center[11 + i % 10] AS y0, power(random(), -0.4) - 1 AS far,
           sqrt(-2 * ln(random())) AS r, 2 * pi() * random() AS angle
      FROM (SELECT setseed(0.25)) s,
           (SELECT array_agg(2 * sin(j * j * 1.7)) AS center FROM generate_series(1, 20) j) c,
           generate_series(0, 99999) i;
CREATE TABLE far_rows AS
    SELECT ARRAY[far * (x0 + r * cos(angle)), far * (y0 + r * sin(angle))]::real[] AS x FROM rays;
ANALYZE far_rows;
CREATE TABLE answers AS
    SELECT array_agg(CASE WHEN a = v THEN 1 ELSE 0 END ORDER BY q, v)::real[] AS x
      FROM (SELECT i, q, ((random() ^ (1 + (i % 3 + q) % 3)) * 4)::int AS a
              FROM (SELECT setseed(0.5)) s, generate_series(1, 4000) i,
                   generate_series(1, 12) q) given,
           generate_series(0, 4) v
     GROUP BY i;
ANALYZE answers;
CREATE FUNCTION trained(relation text, k int, effort text, seed int)
RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
    sse float8;
BEGIN
    PERFORM train('searched', relation, 'x', k, 'kmeans',
                  jsonb_build_object('effort', effort, 'seed', seed, 'quiet', true));
    EXECUTE format('SELECT sse_agg(model_operator(''searched''), x) FROM %I', relation) INTO sse;
    PERFORM drop_model('searched');
    RETURN sse;
END
$$;
CREATE FUNCTION found(relation text, k int, effort text, seed int)
RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
    sse float8;
BEGIN
    EXECUTE format('SELECT sse_agg((SELECT kmeans_agg(x, $1, $2) FROM %1$I), x) FROM %1$I',
                   relation) INTO sse USING k, jsonb_build_object('effort', effort, 'seed', seed);
    RETURN sse;
END
$$;

-- Few far rows determine the sum of squares of the first table, and the other one has many close
-- minima. With any seed, train is within 1 % of a thorough search in all rows.
SELECT relation, seed, trained(relation, k, 'balanced', seed) < 1.01 * best AS near_best
  FROM (SELECT relation, k, found(relation, k, 'thorough', 0) AS best
          FROM (VALUES ('far_rows', 5), ('answers', 3)) t (relation, k)) b,
       generate_series(1, 6) seed
 ORDER BY relation, seed;

-- A thorough search is never worse than a balanced one of the same seed.
SELECT relation, k, max(ratio) <= 1 + 1e-9 AS never_worse
  FROM (SELECT relation, k,
               trained(relation, k, 'thorough', seed)
               / trained(relation, k, 'balanced', seed) AS ratio
          FROM (VALUES ('far_rows', 2), ('far_rows', 30), ('answers', 2), ('answers', 20),
                       ('answers', 300)) t (relation, k), generate_series(1, 2) seed
         WHERE k < 300 OR seed = 1) r
 GROUP BY relation, k ORDER BY relation, k;
SELECT k, max(ratio) <= 1 + 1e-9 AS never_worse
  FROM (SELECT k, found('answers', k, 'thorough', seed)
                  / found('answers', k, 'balanced', seed) AS ratio
          FROM (VALUES (2), (20), (300)) t (k), generate_series(1, 2) seed
         WHERE k < 300 OR seed = 1) r
 GROUP BY k ORDER BY k;

-- A thorough search of groups is never worse, either.
CREATE TABLE grouped AS SELECT row_number() OVER () % 3 AS kind, x FROM far_rows LIMIT 30000;
ANALYZE grouped;
SELECT count(train('grouped ' || effort, 'grouped', 'x', 8, 'kmeans',
                   jsonb_build_object('effort', effort, 'group_by', 'kind', 'quiet', true)))
       AS trained
  FROM unnest('{balanced,thorough}'::text[]) effort;
SELECT a.group_value, b.objective <= a.objective * (1 + 1e-9) AS never_worse
  FROM model_versions a JOIN model_versions b USING (group_value)
 WHERE a.model = 'grouped balanced' AND b.model = 'grouped thorough'
 ORDER BY group_value;

SELECT count(drop_model(model)) AS dropped FROM models;
DROP TABLE rays, far_rows, answers, grouped;
DROP FUNCTION trained, found;
