-- values.sql - prints the bytes of the objects of objects.sql, and results computed from them. The
-- last statements change rows; the caller rolls back. No result depends on the processor.
SET LOCAL timezone = 'UTC';
SELECT 'spec', md5(sketch_spec_send(spec)), describe(spec) FROM shop.spec;
SELECT 'sketch', tenant, md5(sketch_send(s)), row_count(s), md5(moments(s)::text) FROM shop.live ORDER BY tenant;
SELECT 'operators', md5(fastop_send(dense)), md5(fastop_send(sparse)), assign(dense, '{10,8}'::real[]), describe(sparse) -> 'nonzeros' FROM shop.operators;
SELECT 'kernels', kernel, md5(kernel_projection_send(projection)), md5(kernel_map_send(map)), ARRAY(SELECT round(f::numeric, 3) FROM unnest(kernel_features(map, '{1,2}'::real[])) f) FROM shop.kernels;
SELECT 'internals', vector::text FROM shop.internals;
SELECT 'states', md5(encoder_send(encoder)), md5(fastclust_internal.drift_spec_send(spec)), md5(fastclust_internal.drift_counts_send(counts)) FROM shop.states;
SELECT 'versions', to_jsonb(v) FROM fastclust_internal.stored_versions v ORDER BY v.model, v.version, v::text;
SELECT 'models', to_jsonb(m) - 'reader_ids' FROM fastclust_internal.stored_models m ORDER BY m::text;
SELECT 'logs', (SELECT count(*) FROM fastclust.training_log), (SELECT count(*) FROM fastclust.drift_log);
SELECT 'labels', cluster, count(*) FROM shop.labelled GROUP BY 2 ORDER BY 2;
SELECT 'predict', predict('sketched', '{10,8}'::real[]), predict('grouped', '{10,8}'::real[], group_value => '1');
SELECT 'visits', predict('visits', v), count(*), sum(weight), min(kind), max(amount) FROM shop.visits v GROUP BY 2 ORDER BY 2;
SELECT 'shapes', predict('shapes', a, b), predict('live shapes', a, b), count(*) FROM shop.points GROUP BY 2, 3 ORDER BY 2, 3;
SELECT 'others', predict('some', v), predict('edited', x), predict('kernels', x), predict('products', x), predict('directions', x), count(*)
FROM shop.points JOIN shop.visits v USING (id) GROUP BY 2, 3, 4, 5, 6 ORDER BY 2, 3, 4, 5, 6;
SELECT 'profile', cluster, feature, shown FROM profile('visits') ORDER BY cluster, feature;
SELECT 'user', (SELECT count(*) FROM shop.profiles), (SELECT count(*) FROM shop.labels), shop.cluster_of(10, 8) = predict('plain', 10, 8), s.* FROM shop.sizes s ORDER BY cluster;
SELECT 'drift', verdict, round(p_value::numeric, 4) FROM drift('plain', 'shop.points');
SET LOCAL ROLE shop_reader;
SELECT 'reader', predict('plain', 10, 8), (SELECT count(*) FROM shop.sizes), (SELECT string_agg(model, ', ') FROM fastclust.models);
RESET ROLE;
SELECT 'tree', level, node, parent, md5(centroid::text) FROM cluster_tree('tree') ORDER BY level, node;
SELECT 'names', * FROM fastclust_internal.stored_names ORDER BY model_id, group_value, identity;
SELECT 'follow', live, group_value, bucket, md5(sketch_send(s)), row_count(s)
FROM unnest(ARRAY['orders by tenant', 'followed']) live, current_sketches(live) ORDER BY live, group_value, bucket;
INSERT INTO shop.orders SELECT tenant, at + interval '60 days', x, a, b FROM shop.orders WHERE tenant = 2;
UPDATE shop.orders SET a = a + 1, x = x WHERE tenant = 0;
SELECT 'followed', live, row_count(merge_agg(s)) FROM unnest(ARRAY['orders by tenant', 'followed']) live, current_sketches(live) GROUP BY live ORDER BY live;
SELECT 'wrong', live, c FROM unnest(ARRAY['orders by tenant', 'followed']) live, check_sketch(live) c;
SELECT 'relearnt', retrain('followed', '{"quiet": true}') IS NOT NULL;
SELECT 'view', * FROM shop.current;
SELECT 'retrained', retrain('plain', '{"quiet": true}') IS NOT NULL;
