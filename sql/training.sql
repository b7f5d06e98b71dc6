-- train finds clusters near the optimum of all rows from a sample of any size, and its objective,
-- sizes and anomaly shares describe all rows. Groups are as good as models of their own, outliers
-- do little harm, and a retraining changes what changed and nothing else.
CREATE SCHEMA of_training; SET search_path = of_training, public, fastclust;
\set QUIET off
SELECT setseed(0.25);
-- Five clusters that overlap a little, stored in their order; new_rows follow the same law.
CREATE FUNCTION rows_of_law(n integer) RETURNS TABLE (id integer, x real[], c integer) LANGUAGE sql VOLATILE AS $$
    SELECT i, ARRAY[(c % 3) * 4, (c / 3) * 5, c]::real[], c FROM (SELECT i, i * 5 / (n + 1) AS c FROM generate_series(1, n) i) q
$$;
CREATE TABLE old_rows AS SELECT id, ARRAY(SELECT m + sqrt(-2 * ln(1 - random())) * cos(2 * pi() * random()) + 0 * id FROM unnest(x) m)::real[] AS x, c FROM rows_of_law(120000);
CREATE TABLE new_rows AS SELECT id, ARRAY(SELECT m + sqrt(-2 * ln(1 - random())) * cos(2 * pi() * random()) + 0 * id FROM unnest(x) m)::real[] AS x, c FROM rows_of_law(120000);
ANALYZE old_rows;
ANALYZE new_rows;
CREATE FUNCTION mean_square(model text, relation regclass, OUT result double precision) LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('SELECT avg(predict_distance($1, x) ^ 2) FROM %s', relation) INTO result USING model;
END $$;
-- The objective is within 0.1 % of that of the planted means, and it is measured on all rows.
SELECT train('law', 'old_rows', 'x', 5, options => '{"quiet": true}');
SELECT mean_square('law', 'old_rows') / (SELECT avg(assign_distance(o.op, x) ^ 2) FROM old_rows,
    (SELECT fastop_agg(q.m ORDER BY q.c) AS op
        FROM (SELECT c, ARRAY[avg(x[1]), avg(x[2]), avg(x[3])] AS m FROM old_rows GROUP BY c) q) o)
       < 1.001 AS within_0_1_percent_of_planted_means;
SELECT abs(objective / mean_square('law', 'old_rows') - 1) < 0.001 AS objective_within_0_1_percent,
       objective_error, label_churn
FROM fastclust_internal.stored_versions WHERE model = 'law';
-- A retraining on new rows of the same law changes no centroid.
SELECT retrain('law', '{"relation": "of_training.new_rows", "quiet": true}');
SELECT (SELECT array_agg(centroid ORDER BY cluster) FROM centroids(a.operator))
       = (SELECT array_agg(centroid ORDER BY cluster) FROM centroids(b.operator)) AS same_centroids,
       b.churn
FROM model_versions a, model_versions b WHERE a.model = 'law' AND a.version = 1 AND b.model = 'law' AND b.version = 2;
-- A retraining after one cluster moved changes the centroids.
UPDATE new_rows SET x = ARRAY[x[1] + 3, x[2], x[3]] WHERE c = 1;
SELECT retrain('law', '{"quiet": true, "relation": "of_training.new_rows"}');
SELECT a.operator = b.operator AS same_operator,
       abs(b.objective / mean_square('law', 'new_rows') - 1) < 0.001 AS objective_within_0_1_percent
FROM model_versions a, model_versions b WHERE a.model = 'law' AND a.version = 2 AND b.model = 'law' AND b.version = 3;
-- The clusters of a group are as good as in a model of the group alone.
SELECT train('groups', 'old_rows', 'x', 3, options => '{"group_by": "c", "quiet": true}');
CREATE TABLE one_group AS SELECT id, x FROM old_rows WHERE c = 3;
SELECT train('one group', 'one_group', 'x', 3, options => '{"quiet": true}');
SELECT g.objective / o.objective BETWEEN 0.99 AND 1.01 AS objectives_within_1_percent
FROM fastclust_internal.stored_versions g, fastclust_internal.stored_versions o WHERE g.model = 'groups' AND g.group_value = '3' AND o.model = 'one group';
-- The option align, which is on by default, gives similar clusters the same number in all groups.
CREATE TABLE alike AS SELECT i % 4 AS shop, i / 4 % 3 AS kind, ARRAY[10 * (i / 4 % 3) + random(), i % 4 + random()]::real[] AS x FROM generate_series(1, 6000) i;
SELECT train('aligned', 'alike', 'x', 3, options => '{"group_by": "shop", "quiet": true}');
SELECT kind, count(DISTINCT predict('aligned', x, group_value => shop)) AS numbers FROM alike GROUP BY 1 ORDER BY 1;
-- The group of a row may be given as a value of any type; the answer is that of the whole row.
CREATE TABLE keyed AS SELECT a.*, shop::numeric AS n, format('00000000-0000-0000-0000-%s', lpad(shop::text, 12, '0'))::uuid AS u FROM alike a;
SELECT count(*) AS rows,
       count(*) FILTER (WHERE predict('aligned', x, shop) = predict('aligned', k))
       AS same_by_integer,
       count(*) FILTER (WHERE predict('aligned', x, n, version => 1) = predict('aligned', k))
       AS same_by_numeric,
       count(*) FILTER (WHERE predict_distance('aligned', x, shop)
           = predict_distance('aligned', k)) AS same_distance,
       count(*) FILTER (WHERE predict_name('aligned', x, shop) = predict_name('aligned', k))
       AS same_name FROM keyed k;
SELECT train('keyed', 'keyed', 'x', 3, options => '{"group_by": "u", "quiet": true}');
SELECT count(*) AS rows,
       count(*) FILTER (WHERE predict('keyed', x, group_value => u) = predict('keyed', k))
       AS same_by_uuid FROM keyed k;
SELECT count(*) > 0 AS has_profile FROM profile('keyed', (SELECT min(u::text)::uuid FROM keyed));
SELECT count(*) > 0 AS has_rules
  FROM cluster_rules('aligned', group_value => (SELECT min(shop) FROM keyed));
SELECT drop_model('keyed');
DROP TABLE keyed;
SELECT retrain('aligned', '{"quiet": true}');
SELECT kind, count(DISTINCT predict('aligned', x, group_value => shop)) AS numbers FROM alike GROUP BY 1 ORDER BY 1;
-- The share of anomalies is that of the option contamination, or of the argument of anomaly; the
-- default is 1 %.
SELECT train('wary', 'old_rows', 'x', 5, options => '{"contamination": 0.1, "quiet": true}');
SELECT abs(avg(anomaly('wary', x)::integer) - 0.1) < 0.01 AS share_within_0_01_of_0_1,
       abs(avg(anomaly('wary', x, 0.02)::integer) - 0.02) < 0.005 AS share_within_0_005_of_0_02,
       count(*) FILTER (WHERE anomaly('law', x) <> anomaly('law', x, 0.01)) AS other_by_default,
       count(anomaly('wary', NULL::real[])) AS answers_for_null FROM old_rows;
-- Groups of different laws and scales are each within 1 % of a model of their own, by k-means and
-- by sketch.
CREATE TABLE tenant_rows AS SELECT tenant, ARRAY(SELECT v * 10 ^ (tenant % 6 - 2) FROM unnest(y) v)::float8[] AS x
FROM (SELECT tenant, CASE tenant % 4 WHEN 0 THEN ARRAY[10 * (i % 5) + z[1], z[2], z[3]] WHEN 1 THEN ARRAY[z[1], 3 * z[2], z[3]]
                                     WHEN 2 THEN ARRAY[random(), random(), random()] ELSE ARRAY[3 * (i % 3) + z[1], 4 * (i % 2) + z[2], z[3] / 10] END AS y
      FROM generate_series(1, 12) tenant, generate_series(1, 1500) i,
           LATERAL (SELECT ARRAY(SELECT sqrt(-2 * ln(1 - random())) * cos(2 * pi() * random()) + 0 * i FROM generate_series(1, 3)) AS z) n) q;
ANALYZE tenant_rows;
SELECT train('tenants', 'tenant_rows', 'x', 5, options => '{"group_by": "tenant", "quiet": true}');
SELECT train('tenants by sketch', 'tenant_rows', 'x', 5, 'compressive', '{"group_by": "tenant", "quiet": true}');
CREATE FUNCTION objective_alone(tenant integer, OUT result double precision) LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format('CREATE TEMPORARY VIEW one_tenant AS SELECT x FROM of_training.tenant_rows WHERE tenant = %s', tenant);
    PERFORM train('alone', 'one_tenant', 'x', 5, options => '{"quiet": true}');
    SELECT objective INTO result FROM model_versions WHERE model = 'alone';
    PERFORM drop_model('alone');
    DROP VIEW one_tenant;
END $$;
SELECT model, count(*) AS groups, max(objective / alone) < 1.01 AS within_1_percent
  FROM generate_series(1, 12) tenant, objective_alone(tenant) alone, model_versions v
WHERE v.model LIKE 'tenants%' AND v.group_value = tenant::text GROUP BY 1 ORDER BY 1;
-- One percent of far rows does not spoil a compressive model, however often it is retrained.
CREATE TABLE with_outliers AS SELECT id, CASE WHEN id % 100 = 0 THEN ARRAY[50 * x[2], -50 * x[1], 50 * x[3]]::real[] ELSE x END AS x, id % 100 = 0 AS far FROM old_rows;
ANALYZE with_outliers;
SELECT train('robust', 'with_outliers', 'x', 5, 'compressive', '{"quiet": true}');
SELECT max(retrain('robust', format('{"quiet": true, "seed": %s}', i)::jsonb)) AS version
  FROM generate_series(1, 5) i;
SELECT (SELECT avg(predict_distance('robust', x) ^ 2) FROM with_outliers WHERE NOT far)
     / (SELECT avg(assign_distance((SELECT operator FROM model_versions
         WHERE model = 'law' AND version = 1), x) ^ 2) FROM with_outliers WHERE NOT far) < 1.01
       AS within_1_percent_without_far_rows;
-- The option trim leaves far rows out of k-means, which then is as good for the other rows; its
-- objective nevertheless counts all rows.
SELECT train('trimmed', 'with_outliers', 'x', 5, options => '{"quiet": true, "trim": 0.02}');
SELECT max(retrain('trimmed', format('{"quiet": true, "seed": %s}', i)::jsonb)) AS version
  FROM generate_series(1, 5) i;
SELECT (SELECT avg(predict_distance('trimmed', x) ^ 2) FROM with_outliers WHERE NOT far)
     / (SELECT avg(assign_distance((SELECT operator FROM model_versions
         WHERE model = 'law' AND version = 1), x) ^ 2) FROM with_outliers WHERE NOT far) < 1.01
       AS within_1_percent_without_far_rows;
SELECT abs(v.objective / mean_square('trimmed', 'with_outliers') - 1) < 0.001
       AS objective_within_0_1_percent
  FROM model_versions v
 WHERE v.model = 'trimmed' AND v.version = 6;
-- The sizes of clusters are counts of the present rows, also where the centroids stay as they are
-- and where trim leaves rows out of the means.
CREATE TABLE grown AS SELECT ARRAY[i % 3 * 100 + i % 17 / 17.0, i % 19 / 19.0]::float8[] AS x FROM generate_series(1, 3000) i;
CREATE FUNCTION wrong_sizes() RETURNS bigint LANGUAGE sql AS $$
    SELECT count(*) FROM model_clusters c WHERE c.model = 'grown' AND c.size IS DISTINCT FROM (SELECT count(*) FROM grown WHERE predict('grown', x) = c.cluster)
$$;
SELECT train('grown', 'grown', 'x', 3, options => '{"quiet": true}');
INSERT INTO grown SELECT ARRAY[i % 17 / 17.0, i % 19 / 19.0] FROM generate_series(1, 9000) i;
SELECT retrain('grown', '{"quiet": true}');
SELECT wrong_sizes();
SELECT retrain('grown', '{"quiet": true, "trim": 0.2}');
SELECT wrong_sizes();
SELECT train('grown', 'grown', 'x', 3, 'compressive', '{"quiet": true}');
SELECT wrong_sizes();
SELECT drop_model('grown');
SELECT train('trimmed', 'with_outliers', 'x', 5, options => '{"trim": 0.6}');
-- Statistics that promise 400 times the rows do not mislead training.
CREATE TABLE shrunk WITH (autovacuum_enabled = off) AS SELECT * FROM old_rows;
ANALYZE shrunk;
DELETE FROM shrunk WHERE id % 400 > 0;
SELECT train('shrunk', 'shrunk', 'x', 5, options => '{"quiet": true}');
SELECT n, abs(objective / mean_square('shrunk', 'shrunk') - 1) < 0.001
       AS objective_within_0_1_percent FROM model_versions WHERE model = 'shrunk';
-- Exactly 64 groups, which fill one batch, are all trained.
CREATE TABLE sixty_four AS SELECT i % 64 AS g, (i / 64)::float8 AS a FROM generate_series(0, 1279) i;
SELECT train('sixty-four', 'sixty_four', '{a}'::name[], 2, options => '{"quiet": true, "group_by": "g"}');
SELECT count(*) AS groups FROM model_versions WHERE model = 'sixty-four';
-- A model trained again on vectors of another length begins from nothing; no centroid of the
-- earlier version is used or compared.
CREATE TABLE twelve AS SELECT ARRAY(SELECT (i * j % 7 + 9 * (i % 3))::real FROM generate_series(1, 12) j) AS x FROM generate_series(1, 900) i;
CREATE TABLE two AS SELECT x[1:2] AS x FROM twelve;
SELECT count(train(m || ' of ' || r, r, 'x', 3, m, '{"quiet": true, "standardize": true}'))
       AS trained
  FROM unnest('{kmeans,compressive,kernel,qkmeans}'::text[]) m, unnest('{two,twelve}'::text[]) r;
SELECT count(train(m || ' of ' || r, CASE r WHEN 'two' THEN 'twelve' ELSE 'two' END, 'x', 3, m,
       '{"quiet": true, "standardize": true}')) AS trained_again
  FROM unnest('{kmeans,compressive,kernel,qkmeans}'::text[]) m, unnest('{two,twelve}'::text[]) r;
SELECT retrain('kmeans of two', '{"relation": "of_training.two", "frozen": true}');
SELECT count(*) AS versions, count(churn) AS compared FROM model_versions
 WHERE model LIKE '% of tw%' AND version = 2;
SELECT count(drop_model(model)) AS models_dropped FROM models WHERE model LIKE '% of tw%';
-- Rows of three kinds give three clusters although eight are requested, and none of them is
-- empty, by any method. A notice says so.
CREATE TABLE kinds AS SELECT i AS id, i % 3 AS kind, ARRAY[i % 3, (i % 3) ^ 2]::real[] AS x FROM generate_series(1, 150000) i;
ANALYZE kinds;
SELECT train('kinds', 'kinds', 'x', 8);
SELECT train('kinds ' || m, 'kinds', 'x', 8, m, '{"quiet": true}') FROM unnest('{compressive,qkmeans,kernel}'::text[]) m;
SELECT train('kinds balance', 'kinds', 'x', 8, options => '{"quiet": true, "balance": 1.5}'),
       train('kinds groups', 'kinds', 'x', 8, options => '{"quiet": true, "group_by": "kind"}');
SELECT train('kinds levels', 'kinds', 'x', 8, options => '{"levels": [2,4], "quiet": true}');
SELECT v.model, max(v.k) AS k, max(fastclust_internal.clusters(v.operator)) AS clusters FROM fastclust_internal.stored_versions v WHERE v.model LIKE 'kinds%' GROUP BY v.model ORDER BY v.model COLLATE "C";
SELECT m, count(DISTINCT predict(m, x)) AS found FROM kinds, unnest('{kinds,kinds compressive,kinds qkmeans,kinds kernel,kinds balance,kinds levels}'::text[]) m GROUP BY m ORDER BY m COLLATE "C";
SELECT cardinality(predict_path('kinds levels', '{1,1}'::real[])) AS levels;
-- When new kinds of rows come, a retraining gives them clusters, and the old clusters keep their
-- numbers.
INSERT INTO kinds SELECT i, 3, ARRAY[20 + 5 * (i % 5), 0]::real[] FROM generate_series(1, 50000) i;
ANALYZE kinds;
CREATE TABLE numbers_before AS SELECT kind, predict('kinds', ARRAY[kind, kind ^ 2]::real[]) AS cluster FROM generate_series(0, 2) kind;
SELECT retrain('kinds', '{"quiet": true}');
SELECT version, k, fastclust_internal.clusters(operator) FROM fastclust_internal.stored_versions
 WHERE model = 'kinds' ORDER BY version;
SELECT count(*) AS kinds,
       count(*) FILTER (WHERE predict('kinds', ARRAY[kind, kind ^ 2]::real[]) = cluster)
       AS same_number FROM numbers_before;
SELECT drop_model(model) FROM models WHERE model LIKE 'kinds%' \g /dev/null
\set QUIET on
SELECT drop_model(model) FROM models WHERE model IN ('law', 'groups', 'one group', 'aligned', 'wary', 'tenants', 'tenants by sketch', 'robust', 'trimmed', 'shrunk', 'sixty-four') \g /dev/null
DROP SCHEMA of_training CASCADE;
