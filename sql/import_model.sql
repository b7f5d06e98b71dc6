-- import_model makes a model of given centroids: each cluster is at its place, with its number,
-- and the model has versions, names, drift and retrainings like any other.
CREATE TABLE orders AS
SELECT i AS id, (i % 3) * 10 + sin(i) AS a, (i % 2) * 100 + 5 * cos(i) AS b, CASE WHEN i % 5 = 0 THEN 'web' ELSE 'shop' END AS channel,
       ARRAY[(i % 3) * 10 + sin(i), (i % 2) * 5 + cos(i)]::real[] AS x FROM generate_series(1, 6000) i;
-- Centroids of vectors come as numbers or as an operator; each cluster has the number of its
-- place in the list.
SELECT import_model('vectors', 'orders', 'x', '{{20,5},{0,0},{10,0},{0,5},{20,0},{10,5}}'::real[]);
SELECT cluster, centroid FROM centroids(model_operator('vectors')) ORDER BY cluster;
SELECT cluster, size, centroid FROM model_clusters WHERE model = 'vectors' ORDER BY cluster;
SELECT count(*) AS other_labels
  FROM orders WHERE predict('vectors', x) <> (ARRAY[1,2,4,3,5,0])[1 + (id % 3) + 3 * (id % 2)];
SELECT k, n, method, note, round(objective::numeric, 1) AS objective FROM models WHERE model = 'vectors';
SELECT verdict FROM drift('vectors');
SELECT import_model('operator', 'orders', 'x', (SELECT kmeans_agg(x, 6, '{"seed": 1}') FROM orders));
SELECT count(*) AS other_labels
  FROM orders o, (SELECT model_operator('operator') AS op) p
  WHERE predict('operator', x) <> assign(p.op, x);
-- Centroids of columns are in the units of the columns, independent of the scaling by the
-- encoder; a category has one dimension for each value.
SELECT import_model('columns', 'orders', ARRAY['a', 'b'], ARRAY[[0, 0], [10, 0], [20, 0], [0, 100], [10, 100], [20, 100]]);
SELECT cluster, size, round(centroid[1]::numeric, 3) AS a, round(centroid[2]::numeric, 3) AS b FROM model_clusters WHERE model = 'columns' ORDER BY cluster;
SELECT count(*) AS other_labels
  FROM orders o WHERE predict('columns', o) <> (id % 3) + 3 * (id % 2);
SELECT feature_names(model_encoder(m)) FROM (SELECT 'mixed' AS m FROM import_model('mixed', 'orders', '{a,channel}'::name[], '{{0,1,0,0},{20,0,1,0}}'::real[])) q;
-- The version is one like any other: names stay in a retraining, which starts from it, and it can
-- be used again.
SELECT name_cluster('columns', 5, 'far');
SELECT retrain('columns', '{"iterations": 3}');
SELECT cluster, name, round((centroid[1])::numeric) AS a, round((centroid[2])::numeric) AS b FROM model_clusters WHERE model = 'columns' AND cluster = 5;
SELECT import_model('columns', 'orders', ARRAY['a', 'b'], ARRAY[[20, 100], [0, 0]]);
SELECT use_version('columns', 2);
-- Two of its clusters can be merged by hand, at their mean, and no other one moves.
SELECT merge_clusters('columns', '{0,1}');
SELECT count(*) AS clusters, max(size) AS largest FROM model_clusters WHERE model = 'columns';
SELECT round(min(l2_distance(c.centroid::real[], '{5,0}'::real[]))::numeric, 2) AS distance_to_mean,
       min(abs(size - 2000)) AS difference_of_size FROM model_clusters c WHERE model = 'columns';
-- A pinned cluster keeps its centroid, number and name while the rows move and the other clusters
-- follow them.
CREATE TABLE moving AS SELECT ARRAY[(i % 4) * 10 + sin(i), (i % 2) * 10 + cos(i)]::real[] AS x, i % 4 AS kind FROM generate_series(1, 4000) i;
SELECT train('moving', 'moving', 'x', 4);
CREATE TABLE was AS SELECT c.* FROM model_clusters c WHERE model = 'moving';
SELECT name_cluster('moving', predict('moving', '{0,0}'::real[]), 'pinned'), pin_cluster('moving', predict('moving', '{0,0}'::real[])), pin_cluster('moving', 1 - predict('moving', '{0,0}'::real[]) % 2), pin_cluster('moving', 1 - predict('moving', '{0,0}'::real[]) % 2, false);
UPDATE moving SET x[1] = x[1] + 2;
SELECT retrain('moving');
SELECT retrain('moving', '{"fresh": true}');
SELECT count(*) FILTER (WHERE now.centroid::text = was.centroid::text) AS stayed, count(*) FILTER (WHERE now.centroid[1] - was.centroid[1] BETWEEN 1.8 AND 2.2) AS followed,
       string_agg(now.name, ', ') FILTER (WHERE now.centroid::text = was.centroid::text)
       AS name_of_pinned
  FROM model_clusters now JOIN was USING (cluster) WHERE now.model = 'moving';
SELECT retrain('moving', '{"k": 6}');
SELECT count(*) AS stayed
  FROM model_clusters now JOIN was USING (cluster)
  WHERE now.model = 'moving' AND now.centroid::text = was.centroid::text;
SELECT pin_cluster('moving', predict('moving', '{0,0}'::real[]), false);
SELECT retrain('moving', '{"k": 4}');
SELECT count(*) AS stayed
  FROM model_clusters now JOIN was ON now.centroid::text = was.centroid::text
  WHERE now.model = 'moving';
-- An empty list pins no cluster.
SELECT retrain('moving', '{"pinned": []}');
-- Centroids are directions if the metric is cosine.
SELECT import_model('directions', 'orders', 'x', '{{2,0},{0,3},{1,1}}'::real[], '{"metric": "cosine", "where": "x[1] > 1"}');
SELECT predict('directions', '{7,0.1}'::real[]), predict('directions', '{0.1,5}'::real[]), predict('directions', '{5,5}'::real[]);

-- Centroids that do not fit the features, unknown options and clusters, and methods without
-- pinned clusters are errors.
CREATE FUNCTION messages(statement text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN EXECUTE statement; RETURN 'no error'; EXCEPTION WHEN OTHERS THEN RETURN SQLSTATE || ' ' || SQLERRM; END $$;
SELECT s, messages(format('SELECT import_model(''m'', ''orders'', %s)', s)) FROM unnest(ARRAY[
    $$'x', '{{1,2,3}}'::real[]$$, $$'x', '{1,2}'::real[]$$, $$'x', '{{1,NaN}}'::real[]$$, $$'x', '{{1,NULL}}'::real[]$$, $$'x', '{}'::real[]$$, $$'x', NULL::real[]$$, $$'x', NULL::fastop$$,
    $$ARRAY['a', 'channel'], '{{1,2}}'::real[]$$, $$'none', '{{1,2}}'::real[]$$, $$'x', '{{1,2}}'::real[], '{"group_by": "channel"}'$$, $$'x', '{{1,2}}'::real[], '{"sed": 1}'$$,
    $$'x', '{{0,0}}'::real[], '{"metric": "cosine"}'$$]) s;
SELECT s, messages(s) FROM unnest(ARRAY[$$SELECT merge_clusters('moving', '{1}')$$, $$SELECT merge_clusters('moving', '{1,9}')$$, $$SELECT merge_clusters('moving', '{1,NULL}')$$,
    $$SELECT merge_clusters('moving', NULL)$$, $$SELECT merge_clusters('none', '{1,2}')$$, $$SELECT pin_cluster('moving', 4)$$, $$SELECT pin_cluster('moving', NULL)$$,
    $$SELECT pin_cluster('moving', 3), retrain('moving', '{"k": 2}')$$, $$SELECT pin_cluster('moving', 3), retrain('moving', '{"method": "compressive"}')$$]) s;
SELECT count(drop_model(model)) AS models_dropped
  FROM models WHERE model IN ('vectors', 'operator', 'columns', 'mixed', 'directions', 'moving');
DROP TABLE orders, moving, was; DROP FUNCTION messages;
