-- values.sql - prints the bytes of the objects of objects.sql, and results computed from them
SELECT 'spec', md5(sketch_spec_send(spec)), describe(spec) FROM shop.spec;
SELECT 'sketch', tenant, md5(sketch_send(s)), row_count(s), md5(moments(s)::text) FROM shop.live ORDER BY tenant;
SELECT 'operators', md5(fastop_send(dense)), md5(fastop_send(sparse)), assign(dense, '{10,8}'::real[]), describe(sparse) -> 'nonzeros' FROM shop.operators;
SELECT 'kernels', kernel, md5(kernel_projection_send(projection)), md5(kernel_map_send(map)), kernel_features(map, '{1,2}'::real[]) FROM shop.kernels;
SELECT 'versions', to_jsonb(v) FROM fastclust_internal.stored_versions v ORDER BY v.model, v.version, v::text;
SELECT 'models', to_jsonb(m) FROM fastclust_internal.stored_models m ORDER BY m::text;
SELECT 'logs', (SELECT count(*) FROM fastclust.training_log), (SELECT count(*) FROM fastclust.drift_log);
SELECT 'labels', cluster, count(*) FROM shop.labelled GROUP BY 2 ORDER BY 2;
SELECT 'predict', predict('sketched', '{10,8}'::real[]), predict('grouped', '{10,8}'::real[], group_value => '1');
SELECT 'tree', level, node, parent, md5(centroid::text) FROM cluster_tree('tree') ORDER BY level, node;
SELECT 'names', * FROM fastclust_internal.stored_names ORDER BY model_id, group_value, identity;
SELECT 'follow', live, group_value, bucket, md5(sketch_send(s)), row_count(s)
FROM unnest(ARRAY['orders by tenant', 'followed']) live, current_sketches(live) ORDER BY live, group_value, bucket;
INSERT INTO shop.orders SELECT tenant, at + interval '60 days', x, a, b FROM shop.orders WHERE tenant = 2;
UPDATE shop.orders SET a = a + 1, x = x WHERE tenant = 0;
SELECT 'followed', live, md5(sketch_send(merge_agg(s))), row_count(merge_agg(s)) FROM unnest(ARRAY['orders by tenant', 'followed']) live, current_sketches(live) GROUP BY live ORDER BY live;
SELECT 'wrong', live, c FROM unnest(ARRAY['orders by tenant', 'followed']) live, check_sketch(live) c;
SELECT 'relearnt', retrain('followed', '{"quiet": true}') IS NOT NULL;
SELECT 'view', * FROM shop.current;
SELECT 'retrained', retrain('plain', '{"quiet": true}') IS NOT NULL;
