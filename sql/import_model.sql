-- import_model: centroids from anywhere become a model with versions, names, drift and a report
CREATE TABLE orders AS
SELECT i AS id, (i % 3) * 10 + sin(i) AS a, (i % 2) * 100 + 5 * cos(i) AS b, CASE WHEN i % 5 = 0 THEN 'web' ELSE 'shop' END AS channel,
       ARRAY[(i % 3) * 10 + sin(i), (i % 2) * 5 + cos(i)]::real[] AS x FROM generate_series(1, 6000) i;
-- of vectors, by numbers or an operator; each cluster is where it was given, in the order given
SELECT import_model('vectors', 'orders', 'x', '{{20,5},{0,0},{10,0},{0,5},{20,0},{10,5}}'::real[]);
SELECT cluster, centroid FROM centroids(model_operator('vectors')) ORDER BY cluster;
SELECT cluster, size, centroid FROM model_clusters WHERE model = 'vectors' ORDER BY cluster;
SELECT count(*) FROM orders WHERE predict('vectors', x) <> (ARRAY[1,2,4,3,5,0])[1 + (id % 3) + 3 * (id % 2)];
SELECT k, n, method, note, round(objective::numeric, 1) AS objective FROM models WHERE model = 'vectors';
SELECT verdict FROM drift('vectors');
SELECT import_model('operator', 'orders', 'x', (SELECT kmeans_agg(x, 6, '{"seed": 1}') FROM orders));
SELECT count(*) FROM orders o, (SELECT model_operator('operator') AS op) p WHERE predict('operator', x) <> assign(p.op, x);
-- of columns, in their own units, whatever the encoder scales them by; a category has a dimension for each value
SELECT import_model('columns', 'orders', ARRAY['a', 'b'], ARRAY[[0, 0], [10, 0], [20, 0], [0, 100], [10, 100], [20, 100]]);
SELECT cluster, size, round(centroid[1]::numeric, 3) AS a, round(centroid[2]::numeric, 3) AS b FROM model_clusters WHERE model = 'columns' ORDER BY cluster;
SELECT count(*) FROM orders o WHERE predict('columns', o) <> (id % 3) + 3 * (id % 2);
SELECT feature_names(model_encoder(m)) FROM (SELECT 'mixed' AS m FROM import_model('mixed', 'orders', '{a,channel}'::name[], '{{0,1,0,0},{20,0,1,0}}'::real[])) q;
-- a version like any: names that stay, retrained from there, and used again
SELECT name_cluster('columns', 5, 'far');
SELECT retrain('columns', '{"iterations": 3}');
SELECT cluster, name, round((centroid[1])::numeric) AS a, round((centroid[2])::numeric) AS b FROM model_clusters WHERE model = 'columns' AND cluster = 5;
SELECT import_model('columns', 'orders', ARRAY['a', 'b'], ARRAY[[20, 100], [0, 0]]);
SELECT use_version('columns', 2);
-- by hand: two clusters become one, at their mean, and no other moves; its retrains begin there
SELECT merge_clusters('columns', '{0,1}');
SELECT count(*), max(size) FROM model_clusters WHERE model = 'columns';
SELECT round(min(l2_distance(c.centroid::real[], '{5,0}'::real[]))::numeric, 2) AS merged, min(abs(size - 2000)) AS size FROM model_clusters c WHERE model = 'columns';
-- a pinned cluster stays while rows move, the others follow; it keeps its number and its name
CREATE TABLE moving AS SELECT ARRAY[(i % 4) * 10 + sin(i), (i % 2) * 10 + cos(i)]::real[] AS x, i % 4 AS kind FROM generate_series(1, 4000) i;
SELECT train('moving', 'moving', 'x', 4);
CREATE TABLE was AS SELECT c.* FROM model_clusters c WHERE model = 'moving';
SELECT name_cluster('moving', predict('moving', '{0,0}'::real[]), 'pinned'), pin_cluster('moving', predict('moving', '{0,0}'::real[])), pin_cluster('moving', 1 - predict('moving', '{0,0}'::real[]) % 2), pin_cluster('moving', 1 - predict('moving', '{0,0}'::real[]) % 2, false);
UPDATE moving SET x[1] = x[1] + 2;
SELECT retrain('moving');
SELECT retrain('moving', '{"fresh": true}');
SELECT count(*) FILTER (WHERE now.centroid::text = was.centroid::text) AS stayed, count(*) FILTER (WHERE now.centroid[1] - was.centroid[1] BETWEEN 1.8 AND 2.2) AS followed,
       bool_and(now.name = 'pinned') FILTER (WHERE now.centroid::text = was.centroid::text) AS its_name
  FROM model_clusters now JOIN was USING (cluster) WHERE now.model = 'moving';
SELECT retrain('moving', '{"k": 6}');
SELECT count(*) FROM model_clusters now JOIN was USING (cluster) WHERE now.model = 'moving' AND now.centroid::text = was.centroid::text;
SELECT pin_cluster('moving', predict('moving', '{0,0}'::real[]), false);
SELECT retrain('moving', '{"k": 4}');
SELECT count(*) FROM model_clusters now JOIN was ON now.centroid::text = was.centroid::text WHERE now.model = 'moving';
-- an empty list pins none
SELECT retrain('moving', '{"pinned": []}');
-- cosine: directions
SELECT import_model('directions', 'orders', 'x', '{{2,0},{0,3},{1,1}}'::real[], '{"metric": "cosine", "where": "x[1] > 1"}');
SELECT predict('directions', '{7,0.1}'::real[]), predict('directions', '{0.1,5}'::real[]), predict('directions', '{5,5}'::real[]);

CREATE FUNCTION messages(statement text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN EXECUTE statement; RETURN 'no error'; EXCEPTION WHEN OTHERS THEN RETURN SQLSTATE || ' ' || SQLERRM; END $$;
SELECT s, messages(format('SELECT import_model(''m'', ''orders'', %s)', s)) FROM unnest(ARRAY[
    $$'x', '{{1,2,3}}'::real[]$$, $$'x', '{1,2}'::real[]$$, $$'x', '{{1,NaN}}'::real[]$$, $$'x', '{{1,NULL}}'::real[]$$, $$'x', '{}'::real[]$$, $$'x', NULL::real[]$$, $$'x', NULL::fastop$$,
    $$ARRAY['a', 'channel'], '{{1,2}}'::real[]$$, $$'none', '{{1,2}}'::real[]$$, $$'x', '{{1,2}}'::real[], '{"group_by": "channel"}'$$, $$'x', '{{1,2}}'::real[], '{"sed": 1}'$$,
    $$'x', '{{0,0}}'::real[], '{"metric": "cosine"}'$$]) s;
SELECT s, messages(s) FROM unnest(ARRAY[$$SELECT merge_clusters('moving', '{1}')$$, $$SELECT merge_clusters('moving', '{1,9}')$$, $$SELECT merge_clusters('moving', '{1,NULL}')$$,
    $$SELECT merge_clusters('moving', NULL)$$, $$SELECT merge_clusters('none', '{1,2}')$$, $$SELECT pin_cluster('moving', 4)$$, $$SELECT pin_cluster('moving', NULL)$$,
    $$SELECT pin_cluster('moving', 3), retrain('moving', '{"k": 2}')$$, $$SELECT pin_cluster('moving', 3), retrain('moving', '{"method": "compressive"}')$$]) s;
SELECT count(drop_model(model)) FROM models WHERE model IN ('vectors', 'operator', 'columns', 'mixed', 'directions', 'moving');
DROP TABLE orders, moving, was; DROP FUNCTION messages;
