-- objects.sql - creates a value of every type, models of every kind, models of groups, live
-- sketches, and views over them; values.sql reads all of them
CREATE SCHEMA shop;
CREATE TABLE shop.points AS
SELECT i AS id, i % 3 AS tenant, ARRAY[(i % 4) * 10 + sin(i), (i % 2) * 8 + cos(i)]::real[] AS x, (i % 4) * 10 + sin(i) AS a, (i % 2) * 8 + cos(i) AS b
FROM generate_series(1, 3000) i;
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
