-- A model is trained by one call, labels rows by its name, notices that its data changed, and can
-- be retrained without renumbering its clusters. Every method, every form of features and every
-- group behaves so; an earlier version can serve again; each mistake gets an error that says what
-- would be right.
SET extra_float_digits = 0;

-- Six planted clusters of 1,000 rows. The noise comes from a hash, so that every run is the same.
CREATE FUNCTION noise(i bigint, s bigint) RETURNS float8 LANGUAGE sql IMMUTABLE AS
    'SELECT (((hashint8extended(i, 4 * s) & 65535) + (hashint8extended(i, 4 * s + 1) & 65535) + (hashint8extended(i, 4 * s + 2) & 65535)
            + (hashint8extended(i, 4 * s + 3) & 65535)) / 65536.0 - 2) * 0.5';
CREATE TABLE planted AS
SELECT i AS id, (i % 6)::int AS planted, ARRAY[(i % 3) * 5 + noise(i, 1), (i % 2) * 5 + noise(i, 2)]::real[] AS x FROM generate_series(1, 6000) i;
ALTER TABLE planted ADD a real, ADD b numeric;
UPDATE planted SET a = x[1], b = 1000 * x[2];
ANALYZE planted;

-- Every method finds the planted clusters, from a vector and from columns, and its log and views
-- say what was trained.
SELECT train('compressive', 'planted', 'x', 6, 'compressive'), train('kmeans', 'planted', 'x', 6, 'kmeans'),
       train('auto', 'planted', ARRAY['a', 'b'], 6, options => '{"seed": 3}');
SELECT adjusted_rand_agg(planted, predict('compressive', x)) AS compressive, adjusted_rand_agg(planted, predict('kmeans', x)) AS kmeans,
       adjusted_rand_agg(planted, predict('auto', a, b)) AS columns FROM planted;
SELECT model, version, versions, method, relation, features, k, dim, n, note FROM models ORDER BY model;
SELECT model, step, note, objective > 0 AS objective_above_0, seconds >= 0 AS has_seconds
  FROM training_log ORDER BY id;
SELECT count(*) AS clusters, sum(size), round(sum(share)::numeric, 6) AS sum_of_shares,
       max(abs(centroid[1] - round(centroid[1] / 5) * 5)) < 0.2 AS first_column_within_0_2,
       max(abs(centroid[2] / 1000 - round(centroid[2]::numeric / 5000) * 5)) < 0.2
       AS second_column_within_0_2,
       count(*) FILTER (WHERE nearest_cluster <> cluster AND nearest_distance > 0 AND spread > 0)
       AS clusters_with_neighbour_and_spread
  FROM model_clusters WHERE model = 'auto';

-- predict gives the label of the stored operator. Its forms (vector of any number type, columns,
-- VARIADIC) agree in every row.
-- The model is read once for a query. A row with a NULL has no label.
SELECT count(*) FILTER (WHERE predict('kmeans', x) <> assign(v.operator, x)) AS label,
       count(*) FILTER (WHERE predict_distance('kmeans', x) <> assign_distance(v.operator, x)) AS distance,
       count(*) FILTER (WHERE predict('kmeans', x::float8[]) <> predict('kmeans', x)) AS float8,
       count(*) FILTER (WHERE predict('kmeans', x[1], x[2]) <> predict('kmeans', x)) AS columns,
       count(*) FILTER (WHERE predict('kmeans', VARIADIC x::float8[]) <> predict('kmeans', x)) AS variadic,
       count(*) FILTER (WHERE predict('kmeans', x::numeric[]) <> predict('kmeans', x)) AS numeric
  FROM planted, model_versions v WHERE v.model = 'kmeans';
CREATE FUNCTION scans() RETURNS bigint LANGUAGE sql VOLATILE AS
    'SELECT COALESCE(seq_scan, 0) + COALESCE(idx_scan, 0) FROM pg_stat_xact_all_tables WHERE relid = ''fastclust_internal.version_groups''::regclass';
BEGIN;
SELECT COALESCE(scans(), 0) AS before \gset
SELECT count(*) AS labelled FROM planted WHERE predict('kmeans', x) >= 0;
SELECT scans() - :before AS scans_of_the_model;
COMMIT;
SELECT predict('kmeans', ARRAY[0, 5]) = predict('kmeans', 0, 5) AS same_for_integers,
       predict('kmeans', NULL::real[]) AS label_of_null_row,
       predict('kmeans', NULL::float8, 1) AS label_with_null_first, predict('kmeans', 1, NULL)
       AS label_with_null_last;
SELECT count(*) AS rows_with_other_nearest FROM planted p WHERE p.id <= 100 AND NOT (
    SELECT array_agg(n.cluster) = nearest(v.operator, p.x, 3) AND array_agg(n.distance) = (SELECT array_agg(d.distance ORDER BY d.distance) FROM unnest(array_agg(n.distance)) d(distance))
           AND min(n.distance) = predict_distance('kmeans', p.x)
      FROM predict_all('kmeans', p.x, 3) n, model_versions v WHERE v.model = 'kmeans' GROUP BY v.operator);
SELECT count(*) AS clusters_returned FROM predict_all('kmeans', '{0,0}'::real[], 100);
-- anomaly marks the requested share of the rows (1 % by default), and every row far from all
-- clusters.
SELECT round(avg(anomaly('kmeans', x, 0.05)::int), 2) AS share_at_5_percent,
       avg(anomaly('kmeans', x, 0.05)::int) BETWEEN 0.048 AND 0.052 AS from_4_8_to_5_2_percent,
       round(avg(anomaly('kmeans', x)::int), 2) AS share_by_default,
       avg(anomaly('kmeans', x)::int) BETWEEN 0.009 AND 0.011 AS from_0_9_to_1_1_percent,
       count(*) FILTER (WHERE NOT anomaly('kmeans', ARRAY[x[1] + 20, x[2]]::real[], 0.001))
       AS far_rows_not_marked FROM planted;

-- A single column can be clustered, and a vector standardised.
SELECT train('one', 'planted', ARRAY['a'], 3), train('one vector', 'planted', 'x', 6, options => '{"standardize": true}');
SELECT adjusted_rand_agg(planted % 3, predict('one', a)) AS rand_of_one_column,
       count(*) FILTER (WHERE predict('one', a) <> predict('one', ARRAY[a]))
       AS other_labels_by_array,
       adjusted_rand_agg(planted, predict('one vector', x)) AS rand_of_standardized_vector
  FROM planted;

-- A view, a table and a partitioned table that are larger than the sample give the planted
-- clusters, too, and the stored sketch is that of all rows.
CREATE VIEW planted_view AS SELECT * FROM planted;
CREATE TABLE parts (LIKE planted) PARTITION BY LIST (planted);
CREATE TABLE parts_low PARTITION OF parts FOR VALUES IN (0, 1, 2);
CREATE TABLE parts_high PARTITION OF parts DEFAULT;
INSERT INTO parts SELECT * FROM planted;
ANALYZE parts;
SELECT train('view', 'planted_view', 'x', 6, 'compressive', '{"sample_rows": 500}'), train('blocks', 'planted', 'x', 6, 'kmeans', '{"sample_rows": 500}'),
       train('parts', 'parts', ARRAY['a', 'b'], 6, 'compressive', '{"sample_rows": 500}');
SELECT adjusted_rand_agg(planted, predict('view', x)) AS view, adjusted_rand_agg(planted, predict('blocks', x)) AS blocks,
       adjusted_rand_agg(planted, predict('parts', a, b)) AS parts FROM planted;
SELECT s.model, s.n, (SELECT string_agg(DISTINCT regexp_replace(l.step, ' [0-9]+', ''), ', ') FROM training_log l WHERE l.model = s.model) AS steps
  FROM models s WHERE s.model IN ('view', 'blocks', 'parts') ORDER BY 1;
SELECT model,
       training_sketch = (SELECT sketch_agg(p.x, fastclust_internal.spec(v.training_sketch))
           FROM planted p)
       AS sketch_of_all_rows
  FROM model_versions v WHERE v.model IN ('view', 'blocks') ORDER BY model;

-- Outdated statistics, which promise 120,000 rows where 40 are left, do not mislead training.
CREATE TABLE shrunk (LIKE planted) WITH (autovacuum_enabled = off);
INSERT INTO shrunk SELECT p.* FROM planted p, generate_series(1, 20);
ANALYZE shrunk;
DELETE FROM shrunk WHERE id > 40 OR ctid NOT IN (SELECT max(ctid) FROM shrunk GROUP BY id);
SELECT train('shrunk', 'shrunk', 'x', 6, 'compressive', '{"sample_rows": 100}');
SELECT n FROM models WHERE model = 'shrunk';

-- A view that calls predict follows a retraining by itself. Clusters that stayed keep their
-- numbers even where others moved, and use_version goes back.
CREATE VIEW labelled AS SELECT id, planted, predict('compressive', x) AS cluster FROM planted;
CREATE TABLE labels AS SELECT * FROM labelled;
UPDATE planted SET x = ARRAY[x[1] + 0.3, x[2]]::real[] WHERE planted <> 4;
UPDATE planted SET x = ARRAY[x[1] + 30, x[2] - 60]::real[] WHERE planted = 4;
SELECT p_value < 1e-6 AS p_value_below_1e_6, fit_residual > 0.2 AS fit_residual_above_0_2,
       n FROM drift('compressive');
SELECT retrain_if_drifted('compressive');
SELECT retrain_if_drifted('compressive') AS retrained_again;
SELECT count(*) AS rows, count(*) FILTER (WHERE old.cluster = new.cluster) AS same_number
  FROM labels old JOIN labelled new USING (id);
SELECT use_version('compressive', 1);
SELECT count(*) FILTER (WHERE old.cluster <> new.cluster AND old.planted <> 4) AS changed FROM labels old JOIN labelled new USING (id);
SELECT version, versions FROM models WHERE model = 'compressive';
SELECT retrain('compressive', '{"k": 5, "keep": 1, "method": "kmeans", "iterations": 3}');
SELECT version, k, method, options FROM model_versions WHERE model = 'compressive' ORDER BY version;
SELECT count(DISTINCT cluster) AS clusters, min(cluster), max(cluster) FROM labelled;

-- A compressive model is retrained from the sketch of the new rows alone, without the old ones.
SELECT train('grown', 'planted', 'x', 6, 'compressive');
CREATE TABLE whole AS SELECT training_sketch AS s FROM model_versions WHERE model = 'grown';
SELECT retrain('grown', sketch => (SELECT sketch_agg(x, model_spec('grown')) FROM planted));
SELECT v.training_sketch = w.s + w.s AS sketches_are_added, v.n, v.note
  FROM fastclust_internal.stored_versions v, whole w WHERE v.model = 'grown' AND v.version = 2;
SELECT adjusted_rand_agg(planted, predict('grown', x)) FROM planted;
SELECT retrain('grown', '{"replace": true}', sketch => (SELECT s FROM whole));
SELECT n FROM models WHERE model = 'grown';
-- Retrained from a sketch with another k, a model adapts the distances of its anomalies: 5 % are
-- requested, and 1 to 15 % are marked.
SELECT retrain('grown', '{"replace": true, "k": 4}', sketch => (SELECT s FROM whole));
SELECT avg(anomaly('grown', x, 0.05)::int) < 0.15 AS below_15_percent_with_fewer_clusters
  FROM planted;
SELECT retrain('grown', '{"replace": true, "k": 20}', sketch => (SELECT s FROM whole));
SELECT avg(anomaly('grown', x, 0.05)::int) BETWEEN 0.01 AND 0.15
       AS from_1_to_15_percent_with_more_clusters FROM planted;
SELECT retrain('grown', '{"replace": true, "k": 6}', sketch => (SELECT s FROM whole));
SELECT p_value AS p_value_of_one_row,
       n
  FROM drift('grown',
           sketch => (SELECT sketch_agg(x, model_spec('grown')) FROM planted WHERE id < 2));

-- The p-values of drift are calibrated. Of 100 samples of the same law at most 3 are below 1 %;
-- of 100 in which one of ten features moved by half a deviation at least 99 are.
CREATE TABLE law AS SELECT i AS id, (i % 100)::int AS seed,
       (SELECT array_agg(((hashint8extended(i, 99) >> (d % 3) & 1) * 3 + noise(i, d) + noise(i, d + 50))::real ORDER BY d) FROM generate_series(1, 10) d) AS x
  FROM generate_series(1, 80000) i;
CREATE VIEW moved AS SELECT seed, x[:3] || (x[4] + 0.78)::real || x[5:] AS x FROM law WHERE id > 20000;
ANALYZE law;
CREATE TABLE training AS SELECT * FROM law WHERE id <= 20000;
CREATE VIEW same AS SELECT * FROM law WHERE id > 20000;
SELECT train('law', 'training', 'x', 8, 'compressive');
SELECT count(*) AS samples, count(*) FILTER (WHERE p_value > 0.01) >= 97
       AS at_most_3_below_1_percent,
       count(*) FILTER (WHERE p_value < 0.5) BETWEEN 10 AND 60 AS from_10_to_60_below_half,
       round(sqrt(avg((mmd2 / null_sd) ^ 2))::numeric, 1) BETWEEN 0.8 AND 1.2
       AS deviation_from_0_8_to_1_2
  FROM drift('law', 'same', by => 'seed');
SELECT count(*) AS samples, count(*) FILTER (WHERE p_value < 0.01) >= 99
       AS at_least_99_below_1_percent
  FROM drift('law', 'moved', by => 'seed');

-- The option group_by gives each group clusters of its own. A group of one row is trained with
-- one cluster, and an unknown group has no labels.
CREATE TABLE grouped AS SELECT i AS id, 'tenant ' || i % 5 AS tenant, (i / 5 % 3)::int AS planted,
       ARRAY[(i % 5) * 100 + (i / 5 % 3) * 4 + noise(i, 1), noise(i, 2)]::real[] AS x FROM generate_series(1, 3000) i;
INSERT INTO grouped VALUES (0, 'one row', 0, '{1,2}'), (0, NULL, 0, '{1,2}'), (0, 'no row', 0, NULL);
SELECT train('groups', 'grouped', 'x', 3, 'compressive', '{"group_by": "tenant"}'), train('groups by k-means', 'grouped', 'x', 3, options => '{"group_by": "tenant"}');
SELECT model, groups, n, method FROM models WHERE groups > 0 ORDER BY 1;
SELECT tenant, adjusted_rand_agg(planted, predict('groups', x, group_value => tenant)) AS compressive,
       adjusted_rand_agg(planted, predict('groups by k-means', x, group_value => tenant)) AS kmeans,
       min(predict('groups', ARRAY[x[1], x[2]], group_value => tenant)) AS lowest_number
  FROM grouped WHERE tenant <> 'one row' GROUP BY 1 ORDER BY 1;
SELECT group_value, count(*) AS clusters, sum(size) AS rows FROM model_clusters
 WHERE model = 'groups' GROUP BY 1 ORDER BY 1;
SELECT predict('groups', '{1,2}'::real[], group_value => 'one row') AS label_of_one_row,
       predict('groups', '{1,2}'::real[], group_value => 'nobody') AS label_of_unknown_group,
       anomaly('groups', '{1,2}'::real[], group_value => 'tenant 1') AS far_from_tenant_1;
SELECT value, p_value > 0.5 AS p_value_above_half, n FROM drift('groups', by => 'group') ORDER BY 1;
CREATE TABLE group_labels AS SELECT id, tenant, predict('groups', x, group_value => tenant) AS cluster FROM grouped WHERE id > 0;
UPDATE grouped SET x = ARRAY[x[1] + 0.5, x[2]]::real[] WHERE x IS NOT NULL;
SELECT retrain('groups');
SELECT count(*) AS renumbered FROM group_labels JOIN grouped USING (id, tenant)
 WHERE predict('groups', x, group_value => tenant) <> cluster;

-- Method kernel separates two rings, which no straight line does. Retrainings choose other
-- landmarks but keep the numbers of the clusters.
CREATE TABLE rings AS
SELECT i AS id, i % 2 AS ring, 1 + 3 * (i % 2) + 0.3 * noise(i, 1) AS r, 2 * pi() * noise(i, 2) AS t FROM generate_series(1, 3000) i;
ALTER TABLE rings ADD a float8, ADD b float8, ADD x real[];
UPDATE rings SET a = r * cos(t), b = r * sin(t), x = ARRAY[r * cos(t), r * sin(t)];
SELECT train('rings', 'rings', 'x', 2, 'kernel', '{"kernel": "rbf(0.5)", "rank": 10}'),
       train('ring columns', 'rings', ARRAY['a', 'b'], 2, 'kernel', '{"kernel": "rbf(2)", "rank": 10, "landmarks": 80, "iterations": 2}');
SELECT adjusted_rand_agg(ring, predict('rings', x)) AS rand_of_vectors,
       adjusted_rand_agg(ring, predict('ring columns', a, b)) AS rand_of_columns,
       count(*) FILTER (WHERE predict('rings', x) <> assign(v.operator, kernel_features(v.map, x)))
       AS other_labels_by_map
  FROM rings, fastclust_internal.stored_versions v WHERE v.model = 'rings';
CREATE TABLE ring_labels AS SELECT id, predict('rings', x) AS cluster FROM rings;
SELECT retrain('rings', jsonb_build_object('seed', seed)) FROM generate_series(1, 4) seed;
SELECT count(*) AS renumbered FROM ring_labels JOIN rings USING (id) WHERE cluster <> predict('rings', x);
SELECT p_value > 0.5 AS p_value_above_half, fit_residual FROM drift('rings');
SELECT cluster, centroid, nearest_distance > 0 AS nearest_distance_above_0 FROM model_clusters
 WHERE model = 'rings' ORDER BY 1;

-- Method qkmeans stores the centroids as a product of sparse factors: fewer values, nearly the
-- same clusters, and numbers that stay when it is retrained.
CREATE TABLE waves AS
SELECT i AS id, (i % 24)::int AS planted, (SELECT array_agg((3 * sin(0.13 * d * (1 + i % 24)) + noise(i, d))::real ORDER BY d) FROM generate_series(1, 24) d) AS x
  FROM generate_series(1, 2400) i;
SELECT train('product', 'waves', 'x', 24, 'qkmeans', '{"factors": {"method": "svd", "budget": 500}, "seed": 2}'),
       train('dense', 'waves', 'x', 24, 'kmeans', '{"seed": 2}');
SELECT train('learned', 'waves', 'x', 24, 'qkmeans', '{"seed": 2, "iterations": 4, "factors": {"sparsity": 4}}'),
       train('learned columns', 'planted', ARRAY['a', 'b'], 6, 'qkmeans', '{"iterations": 3}');
-- qkmeans scans only the rows of the option where.
CREATE TABLE parted AS SELECT ARRAY[sin(i), cos(i * 3)] || CASE WHEN i % 2 = 0 THEN 100.0 ELSE 0.0 END::float8 AS x FROM generate_series(1, 500) i;
SELECT train('learned of some', 'parted', 'x', 4, 'qkmeans', '{"where": "x[3] < 50"}');
SELECT max(centroid[3]) < 1 AS third_coordinate_below_1 FROM model_clusters
 WHERE model = 'learned of some';
SELECT adjusted_rand_agg(predict('product', x), predict('dense', x)) > 0.9
       AS product_rand_above_0_9,
       adjusted_rand_agg(predict('learned', x), predict('dense', x)) > 0.5
       AS learned_rand_above_0_5 FROM waves;
SELECT model, describe(operator) ->> 'method' AS method FROM model_versions WHERE model IN ('product', 'dense', 'learned', 'learned columns') ORDER BY 1;
SELECT (fastclust.describe(d.operator) ->> 'nonzeros')::bigint AS values_of_dense,
       (fastclust.describe(p.operator) ->> 'nonzeros')::bigint
       < (fastclust.describe(d.operator) ->> 'nonzeros')::bigint AS product_has_fewer,
       p.objective
       <= 1.0001 * sse_agg((SELECT factorize(operator, 'svd', '{"budget": 500}')
               FROM model_versions WHERE model = 'dense'), w.x) / count(*)
       AS no_worse_than_factorized_kmeans
  FROM waves w, model_versions p, model_versions d WHERE p.model = 'product' AND d.model = 'dense' GROUP BY p.operator, d.operator, p.objective;
CREATE TABLE wave_labels AS SELECT id, predict('product', x) AS cluster FROM waves;
SELECT retrain('product', '{"seed": 3}');
SELECT avg((cluster = predict('product', x))::int) > 0.9 AS over_90_percent_keep_their_number
  FROM wave_labels JOIN waves USING (id);

-- The same call twice gives the same model, and both versions are kept.
SELECT train('again', 'planted', 'x', 6, 'compressive'), train('again', 'planted', 'x', 6, 'compressive');
SELECT count(*) AS versions, count(DISTINCT (training_sketch::text, null_moments, k)) AS different
  FROM fastclust_internal.stored_versions WHERE model = 'again';

CREATE TABLE empty_points (x real[]);
-- Absurd numbers in one model, written past the functions, break no view of the other models.
SELECT train('crafted', 'planted', ARRAY['a', 'b'], 2);
UPDATE fastclust_internal.version_groups SET center = '{1e300,1e300}', scale = '{1e300,1e300}', n = 9223372036854775807, objective = 1e308 WHERE model_id = (SELECT id FROM fastclust_internal.stored_models WHERE model = 'crafted');
INSERT INTO fastclust_internal.version_groups (model_id, version, group_value, method, relation, features, vector, encoder, k, options, operator, identities, center, scale, n, objective, trained_by, started_at)
SELECT model_id, version, 'twice', method, relation, features, vector, encoder, k, options, operator, identities, center, scale, n, objective, trained_by, started_at
  FROM fastclust_internal.stored_versions WHERE model = 'crafted';
UPDATE fastclust_internal.version_groups SET operator = (SELECT fastop_agg(x) FROM (VALUES ('{1,1}'::real[]), ('{1e18,1}')) v(x)) WHERE model_id = (SELECT id FROM fastclust_internal.stored_models WHERE model = 'crafted') AND group_value = 'twice';
SET client_min_messages = error;
SELECT count(*) FILTER (WHERE model = 'crafted') AS crafted, count(*) FILTER (WHERE model = 'kmeans') AS others FROM model_clusters;
SELECT model, n, objective FROM models WHERE model = 'crafted';
SET client_min_messages = warning;
SELECT retrain_if_drifted('kmeans', options => '{"relation": "public.empty_points", "quiet": true}');

-- Every mistake has its own error: SQLSTATE, what is wrong, and what would be right. A failed
-- training leaves no model.
\set VERBOSITY verbose
\set SHOW_CONTEXT never
CREATE FUNCTION failure(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    message text;
    detail text;
    hint text;
BEGIN
    EXECUTE statement;
    RETURN 'no error';
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS message = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
    RETURN concat_ws(' | ', SQLSTATE, message, NULLIF(detail, ''), NULLIF(hint, ''));
END $$;
CREATE TABLE empty (x real[], a int, t text);
CREATE TABLE equal AS SELECT ARRAY[1, 2]::real[] AS x, 1 AS a, 2 AS b FROM generate_series(1, 100);
CREATE INDEX planted_index ON planted (id);
SELECT s, failure(s) FROM unnest(ARRAY[
    $$SELECT train('e', 'planted', 'x', 0)$$,
    $$SELECT train('e', 'planted', 'x', NULL, 'kernel')$$,
    $$SELECT train('', 'planted', 'x', 2)$$,
    $$SELECT train(NULL, 'planted', 'x', 2)$$,
    $$SELECT train('e', NULL, 'x', 2)$$,
    $$SELECT train('e', 'planted_index', 'x', 2)$$,
    $$SELECT train('e', 'planted', 'y', 2)$$,
    $$SELECT train('e', 'planted', 'ctid', 2)$$,
    $$SELECT train('e', 'planted', '{}'::name[], 2)$$,
    $$SELECT train('e', 'planted', ARRAY['a', NULL], 2)$$,
    $$SELECT train('e', 'planted', 'x', 2, 'magic')$$,
    $$SELECT train('e', 'planted', 'x', 2, NULL)$$,
    $$SELECT train('e', 'planted', 'x', 2, 'kernel', '{"kernel": "round"}')$$,
    $$SELECT train('e', 'planted', 'x', 2, 'kernel', '{"group_by": "a"}')$$,
    $$SELECT train('e', 'planted', 'x', 2, 'qkmeans', '{"factors": {"method": "luck"}}')$$,
    $$SELECT retrain('rings', sketch => (SELECT sketch_agg(x, model_spec('rings')) FROM rings))$$,
    $$SELECT train('e', 'planted', 'x', 2, options => '{"sed": 1}')$$,
    $$SELECT train('e', 'planted', 'x', 2, options => '[]')$$,
    $$SELECT train('e', 'planted', 'x', 2, options => NULL)$$,
    $$SELECT train('e', 'planted', 'x', 2, options => '{"iterations": -1}')$$,
    $$SELECT train('e', 'planted', 'x', 2, options => '{"iterations": "much"}')$$,
    $$SELECT train('e', 'planted', 'x', 2, options => '{"quiet": 1}')$$,
    $$SELECT train('e', 'planted', 'x', 2, options => '{"group_by": "nobody"}')$$,
    $$SELECT train('e', 'planted', 'x', 2, options => '{"group_by": 1}')$$,
    $$SELECT train('e', 'planted', ARRAY['x', 'x'], 2)$$,
    $$SELECT train('e', 'planted', 'x', 2, options => '{"iterations": 1.5}')$$,
    $$SELECT retrain('kmeans', '{"k": 2.5}')$$,
    $$SELECT retrain('kmeans', '{"k": 2.5}', sketch => (SELECT sketch_agg(x, model_spec('kmeans')) FROM planted))$$,
    $$SELECT drift('kmeans', 'planted', (SELECT training_sketch FROM model_versions WHERE model = 'kmeans'))$$,
    $$SELECT drift('kmeans', sketch => (SELECT training_sketch FROM model_versions WHERE model = 'kmeans'), by => 'id')$$,
    $$SELECT drift('groups', by => 'x')$$,
    $$SELECT retrain_if_drifted('groups')$$,
    $$SELECT train('e', 'empty', 'x', 2)$$,
    $$SELECT train('e', 'empty', ARRAY['a'], 2)$$,
    $$SELECT train('e', 'empty', ARRAY['t'], 2)$$,
    $$SELECT train('e', 'empty', 'x', 2, options => '{"group_by": "a"}')$$,
    $$SELECT train('e', 'planted', 'x', 7000, 'compressive')$$,
    $$SELECT predict('nobody', '{1,2}'::real[])$$,
    $$SELECT predict('groups', '{1,2}'::real[])$$,
    $$SELECT predict('kmeans', '{1,2}'::real[], group_value => 'x')$$,
    $$SELECT predict('kmeans', '{1,2,3}'::real[])$$,
    $$SELECT predict('kmeans', 1, 2, 3)$$,
    $$SELECT predict('kmeans', 1)$$,
    $$SELECT predict('kmeans', '{}'::real[])$$,
    $$SELECT predict('kmeans', '{1,NaN}'::real[])$$,
    $$SELECT predict('kmeans', '{1,NULL}'::real[])$$,
    $$SELECT predict('auto', 1e300, 1)$$,
    $$SELECT anomaly('kmeans', '{1,2}'::real[], 0)$$,
    $$SELECT predict_all('kmeans', '{1,2}'::real[], 0)$$,
    $$SELECT drift('groups')$$,
    $$SELECT drift('kmeans', by => 'group')$$,
    $$SELECT drift('kmeans', 'empty'), drift('kmeans', 'equal')$$,
    $$SELECT drift('auto', 'empty')$$,
    $$SELECT drift('kmeans', 'planted', by => 'nobody')$$,
    $$SELECT drift('kmeans', sketch => (SELECT sketch_agg(x, sketch_spec(2, 10, 1.0)) FROM planted))$$,
    $$SELECT retrain('kmeans', sketch => (SELECT sketch_agg(x, sketch_spec(2, 10, 1.0)) FROM planted))$$,
    $$SELECT retrain('kmeans', '{"relation": "nobody"}')$$,
    $$SELECT retrain('kmeans', '{"kk": 3}')$$,
    $$SELECT retrain('nobody')$$,
    $$SELECT retrain_if_drifted('kmeans', 2)$$,
    $$SELECT use_version('kmeans', 7)$$,
    $$SELECT use_version('kmeans', NULL)$$,
    $$SELECT drop_model('nobody')$$,
    $$SELECT grant_model('kmeans', 'nobody')$$]) s;
SELECT count(*) AS models_left FROM models WHERE model = 'e';

-- Equal rows and columns that never change can be trained on, and labelled.
SET client_min_messages = error;
SELECT train('equal', 'equal', 'x', 1), train('constant', 'equal', ARRAY['a', 'b'], 1);
SET client_min_messages = warning;
SELECT predict('equal', '{1,2}'::real[]), predict('constant', 5, 5), predict_distance('constant', 1, 3);

-- A group has one text in every session, independent of its settings. Values with the same text
-- are one group, also where they are not equal or their type has no equality.
CREATE TABLE written AS
SELECT i % 7 + 0.25 AS a, i % 2 AS b, date '2024-02-01' + i % 2 AS day, timestamptz '2024-02-01 12:00+00' + i % 2 * interval '1 h' AS at, (i % 2 + 1) * interval '26 h' AS span,
       (0.1 + i % 2) / 3::float8 AS ratio, ('\x0' || i % 2)::bytea AS bytes, (ARRAY[1.0, 1.00])[1 + i % 2]::numeric AS scaled, point(i % 2, 1) AS place
FROM generate_series(1, 400) i;
CREATE FUNCTION group_checks() RETURNS TABLE (column_name text, as_row bigint, as_value bigint, operators bigint, verdicts text) LANGUAGE plpgsql AS $$
BEGIN
    FOREACH column_name IN ARRAY '{day,at,span,ratio,bytes,scaled,place}'::text[] LOOP
        EXECUTE format('SELECT count(predict(%1$L, w)), count(predict(%1$L, ARRAY[a, b], group_value => %2$I)),'
                       ' (SELECT count(model_operator(%1$L, t.%2$I)) FROM written t),'
                       ' (SELECT string_agg(d.verdict || '' '' || d.n, '', '') FROM drift(%1$L, by => ''group'') d) FROM written w', 'by ' || column_name, column_name) INTO as_row, as_value, operators, verdicts;
        RETURN NEXT;
    END LOOP;
END $$;
SELECT count(train('by ' || c, 'written', '{a,b}', 2, options => jsonb_build_object('group_by', c, 'quiet', true))) FROM unnest('{day,at,span,ratio,bytes,scaled,place}'::text[]) c;
SELECT * FROM group_checks();
SET datestyle = 'German'; SET timezone = 'Asia/Tokyo'; SET intervalstyle = 'sql_standard'; SET extra_float_digits = -10; SET bytea_output = 'escape';
SELECT * FROM group_checks();
RESET datestyle; RESET timezone; RESET intervalstyle; RESET extra_float_digits; RESET bytea_output;
DROP TABLE written; DROP FUNCTION group_checks;

SELECT count(drop_model(model)) AS models_dropped FROM models;
SELECT count(*) AS models, (SELECT count(*) FROM model_versions) AS versions,
       (SELECT count(*) FROM training_log) AS log_entries FROM models;
DROP VIEW planted_view, labelled, moved, same;
DROP TABLE parts, shrunk, empty_points, rings, ring_labels, waves, wave_labels, planted, labels, whole, law, training, grouped, group_labels, empty, equal;
DROP FUNCTION noise, failure, scans;
