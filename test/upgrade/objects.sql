-- objects.sql - creates a value of every type, models of every method and kind, live sketches,
-- labels, rights, and views of a user over them; values.sql reads all of them
DO $$ BEGIN CREATE ROLE shop_reader; EXCEPTION WHEN duplicate_object THEN NULL; END $$;
CREATE SCHEMA shop;
CREATE TABLE shop.points AS
SELECT i AS id, i % 3 AS tenant, ARRAY[a, b]::real[] AS x, a, b
FROM (SELECT i, round(((i % 4) * 10 + sin(i))::numeric, 3)::float8 AS a, round(((i % 2) * 8 + cos(i))::numeric, 3)::float8 AS b FROM generate_series(1, 1200) i) p;
CREATE TABLE shop.spec AS SELECT sketch_spec_agg(x, 4) AS spec FROM shop.points;
CREATE TABLE shop.live AS SELECT tenant, sketch_agg(x, (SELECT spec FROM shop.spec)) AS s FROM shop.points GROUP BY tenant;
CREATE TABLE shop.operators AS
SELECT kmeans_agg(x, 4) AS dense, factorize(kmeans_agg(x, 4), 'prune', '{"budget": 6}') AS sparse FROM shop.points;
CREATE TABLE shop.kernels AS
SELECT rbf_kernel(0.5) AS kernel, (SELECT kernel_projection_agg(id, x, rbf_kernel(0.5), 3) FROM shop.points WHERE id <= 300) AS projection,
       (SELECT nystroem(landmarks_agg(x, rbf_kernel(0.5), 10), rbf_kernel(0.5)) FROM shop.points WHERE id <= 300) AS map;
SELECT train('plain', 'shop.points', ARRAY['a', 'b'], 4, 'kmeans', '{"quiet": true}');
SELECT train('sketched', 'shop.points', 'x', 4, options => '{"quiet": true}');
SELECT train('sketched', 'shop.points', 'x', 4, options => '{"quiet": true}');
SELECT train('grouped', 'shop.points', 'x', 4, 'kmeans', '{"quiet": true, "group_by": "tenant"}');
SELECT train('tree', 'shop.points', 'x', 4, 'kmeans', '{"quiet": true, "levels": [2, 2]}');
SELECT train('directions', 'shop.points', 'x', 3, 'kmeans', '{"quiet": true, "metric": "cosine"}');
SELECT train('kernels', 'shop.points', 'x', 3, 'kernel', '{"quiet": true}');
SELECT train('products', 'shop.points', 'x', 4, 'qkmeans', '{"quiet": true}');
SELECT name_cluster('plain', 0, 'the left ones');
SELECT * FROM retrain_if_drifted('plain');
CREATE TABLE shop.orders AS
SELECT tenant, timestamptz '2024-01-01 00:00+00' + id * interval '3 minutes' AS at, x, a, b FROM shop.points;
SELECT keep_sketch('orders by tenant', 'shop.orders', ARRAY['a', 'b'], (SELECT spec FROM shop.spec), '{"group_by": "tenant", "bucket": "at"}');
SELECT train('followed', 'shop.orders', 'x', 4, 'compressive', '{"live": true, "quiet": true}');
INSERT INTO shop.orders SELECT tenant, at + interval '30 days', x, a, b FROM shop.orders WHERE tenant = 1;
DELETE FROM shop.orders WHERE a < 0;
CREATE VIEW shop.labelled AS SELECT id, predict('plain', a, b) AS cluster FROM shop.points;
CREATE VIEW shop.current AS SELECT row_count(merge_agg(s)) AS n, md5(sketch_send(merge_agg(s))) AS bytes FROM shop.live;
-- rows of mixed columns, with NULLs, weights, units and a time that goes round
CREATE TABLE shop.visits AS
SELECT i AS id, i / 5 AS customer, CASE i % 3 WHEN 0 THEN 'Shop' WHEN 1 THEN 'shop ' || i % 7 END AS kind, NULLIF(10 * (i % 3) + sin(i), sin(15)) AS amount,
       timestamptz '2024-03-30 23:00+00' + (i % 3 * 8 + i % 2) * interval '1 hour' + i * interval '1 second' AS at, 1 + i % 4 AS weight
FROM generate_series(1, 600) i;
SELECT train('visits', 'shop.visits', ARRAY['kind', 'amount', 'at'], 3, 'kmeans',
             '{"quiet": true, "row_weight": "weight", "unit": "customer", "encoder": {"zone": "Europe/Berlin", "cyclic": {"at": "day"}}}');
SELECT train('shapes', 'shop.points', ARRAY['a', 'b'], NULL, 'density', '{"quiet": true}');
SELECT train('live shapes', 'shop.points', ARRAY['a', 'b'], NULL, 'density', '{"quiet": true, "live": true}');
SELECT train('some', 'shop.visits', ARRAY['amount', 'at'], 2, 'kmeans', '{"quiet": true, "where": "kind IS NOT NULL"}');
SELECT train('edited', 'shop.points', 'x', 4, 'kmeans', '{"quiet": true}');
SELECT train('edited', 'shop.points', 'x', 4, 'kmeans', '{"quiet": true, "activate": false}');
SELECT merge_clusters('edited', '{0,1}');
SELECT pin_cluster('edited', 2);
CREATE TABLE shop.internals AS
SELECT x::row_vector AS vector FROM shop.points WHERE id = 1;
CREATE TABLE shop.states AS
SELECT encoder_agg(v, '{kind,amount,at}') AS encoder FROM (SELECT kind, amount, at FROM shop.visits) v;
ALTER TABLE shop.states ADD spec fastclust_internal.drift_spec, ADD counts fastclust_internal.drift_counts;
UPDATE shop.states SET spec = (SELECT fastclust_internal.drift_spec_of_sample(fastop_agg(x), 3) FROM shop.points);
UPDATE shop.states SET counts = (SELECT fastclust_internal.drift_counts_agg(x, spec) FROM shop.points);
-- labels that follow their model, rights, and objects of a user that depend on the extension
ALTER TABLE shop.points ADD PRIMARY KEY (id);
SELECT write_labels('plain', 'shop.points', 'shop.labels', '{"follow": true}');
GRANT USAGE ON SCHEMA shop TO shop_reader;
SELECT grant_model('plain', 'shop_reader');
CREATE VIEW shop.sizes AS SELECT cluster, name, size FROM fastclust.model_clusters WHERE model = 'plain';
CREATE MATERIALIZED VIEW shop.profiles AS SELECT * FROM profile('visits');
CREATE FUNCTION shop.cluster_of(float8, float8) RETURNS int LANGUAGE sql AS $$ SELECT fastclust.predict('plain', $1, $2) $$;
GRANT SELECT ON shop.sizes TO shop_reader;
