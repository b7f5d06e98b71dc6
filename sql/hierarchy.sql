-- Levels of clusters, Ward's tree of them, and small clusters merged.
SET extra_float_digits = 0;
-- sixteen clusters, four by four
CREATE TABLE nested AS
    SELECT i AS id, ARRAY[100 * (i % 4) + 8 * ((i / 4) % 4 % 2) + sin(i), 50 * (i % 4 % 2) + 8 * ((i / 4) % 4 / 2) + cos(2 * i)]::real[] AS x
    FROM generate_series(1, 4000) i;
ANALYZE nested;
SELECT train('tree', 'nested', 'x', NULL, options => '{"levels": [4, 4]}') AS version;
SELECT k, array_dims(paths) AS paths, options FROM fastclust_internal.stored_versions WHERE model = 'tree';

-- the path ends with the label, and names the node above it
SELECT count(*) FILTER (WHERE p[2] <> predict('tree', x)) AS other_label, count(*) FILTER (WHERE p[1] <> l.parent) AS other_parent,
       count(*) FILTER (WHERE p <> predict_path('tree', nested)) AS of_a_record, count(DISTINCT p) AS paths, count(DISTINCT p[1]) AS tops
  FROM nested, predict_path('tree', x) p JOIN cluster_tree('tree') l ON l.level = 2 AND l.node = p[2];
-- the upper clusters are those that were planted
SELECT count(*) AS upper, count(DISTINCT top) AS tops FROM (SELECT DISTINCT (predict_path('tree', x))[1] AS top, id % 4 AS planted FROM nested) q;
-- a node is the weighted mean of those below it
SELECT p.level, count(*) AS nodes, max(abs(p.share - q.share)) < 1e-9 AS shares, max(abs(p.centroid[1] - q.x) + abs(p.centroid[2] - q.y)) < 1e-3 AS means
  FROM cluster_tree('tree') p
  JOIN (SELECT c.level - 1 AS level, c.parent AS node, sum(c.share) AS share, sum(c.share * c.centroid[1]) / sum(c.share) AS x, sum(c.share * c.centroid[2]) / sum(c.share) AS y
          FROM cluster_tree('tree') c GROUP BY 1, 2) q USING (level, node) GROUP BY 1;
SELECT level, count(*), count(parent) AS parents, round(sum(share)::numeric, 6) AS share, min(node), max(node) FROM cluster_tree('tree') GROUP BY 1 ORDER BY 1;
-- a model without levels has one
SELECT train('flat', 'nested', 'x', 5) AS version;
SELECT count(*) FILTER (WHERE predict_path('flat', x) <> ARRAY[predict('flat', x)]) AS differ FROM nested;
SELECT level, count(*), count(parent) AS parents, count(centroid) AS clusters FROM cluster_tree('flat') GROUP BY 1;
-- three levels; retrain keeps them and the numbers; groups have trees of their own
SELECT train('deep', 'nested', 'x', 16, options => '{"levels": [2, 2, 4]}') AS version;
CREATE TEMPORARY TABLE before AS SELECT id, predict_path('deep', x) AS path FROM nested;
SELECT retrain('deep');
SELECT count(*) FILTER (WHERE b.path <> predict_path('deep', x)) AS changed, min(cardinality(b.path)) AS levels FROM nested JOIN before b USING (id);
SELECT level, count(*) FROM cluster_tree('deep') GROUP BY 1 ORDER BY 1;
-- bad input
SELECT train('bad', 'nested', 'x', 15, options => '{"levels": [4, 4]}');
SELECT train('bad', 'nested', 'x', NULL, options => '{"levels": [4]}');
SELECT train('bad', 'nested', 'x', NULL, options => '{"levels": [4, null]}');
SELECT train('bad', 'nested', 'x', NULL, options => '{"levels": [[4, 4]]}');
SELECT train('bad', 'nested', 'x', NULL, options => '{"levels": [0, 4]}');
SELECT train('bad', 'nested', 'x', NULL, options => '{"levels": [1000, 1000, 1000]}');
SELECT train('bad', 'nested', 'x', NULL, options => '{"levels": [2.5, 4]}');
SELECT train('bad', 'nested', 'x', NULL, options => '{"levels": 4}');
SELECT retrain('tree', '{"k": 12}');
-- each group has levels of its own
CREATE TABLE sided AS SELECT *, CASE WHEN id % 8 < 4 THEN 'left' ELSE 'right' END AS side FROM nested;
SELECT train('of groups', 'sided', 'x', NULL, options => '{"levels": [2, 2], "group_by": "side"}') AS version;
SELECT count(*) FILTER (WHERE p[2] <> predict('of groups', d.x, group_value => d.side)) AS last_differs, count(*) FILTER (WHERE p <> predict_path('of groups', d)) AS of_a_record,
       count(*) FILTER (WHERE p[1] <> l.parent) AS not_below, min(cardinality(p)) AS levels, count(DISTINCT d.side) AS sides
  FROM sided d, predict_path('of groups', d.x, group_value => d.side) p JOIN LATERAL cluster_tree('of groups', d.side) l ON l.level = 2 AND l.node = p[2];
SELECT predict_path('of groups', '{1,2}'::real[], group_value => 'none') IS NULL AS no_group, predict_path('of groups', '{1,2}'::real[], group_value => (SELECT NULL::text)) IS NULL AS unknown;
SELECT predict_path('of groups', '{1,2}'::real[]);
SELECT predict_path('tree', '{1,2}'::real[], group_value => 'left');
SELECT predict_path('none', '{1,2}'::real[]);
SELECT predict_path('tree', '{1,2,3}'::real[]);
SELECT * FROM cluster_tree('tree', 'group');

-- Ward's tree: the answers of scipy.cluster.hierarchy.linkage(..., 'ward')
CREATE TABLE line AS SELECT ARRAY[v]::real[] AS x FROM unnest('{0, 1, 4, 9, 11}'::real[]) v;
SELECT train('line', 'line', 'x', 5) AS version;
SELECT height, n, share FROM cluster_tree('line') WHERE node >= 5;
SELECT p.node - 4 AS step, array_agg(c.centroid[1] ORDER BY c.centroid[1]) FILTER (WHERE c.centroid IS NOT NULL) AS clusters, count(*) AS joined
  FROM cluster_tree('line') p JOIN cluster_tree('line') c ON c.parent = p.node GROUP BY 1 ORDER BY 1;
-- it joins what was planted together first, and everything in the end
SELECT train('joined', 'nested', 'x', 16) AS version;
SELECT count(*) FILTER (WHERE node >= 16) AS joins, bool_and(height >= before) AS ascending, max(n) AS rows, max(share) AS share, count(*) FILTER (WHERE height > 1000) AS high
  FROM (SELECT *, lag(height, 1, 0::float8) OVER (ORDER BY node) AS before FROM cluster_tree('joined')) t;
SELECT * FROM cluster_tree('none');

-- merged: no cluster is small any more, and the sums of weights stay
SELECT fastclust_internal.clusters(op) AS before, fastclust_internal.clusters(m) AS after, min_share >= 0.2 AS large, total
  FROM (SELECT model_operator('tree') AS op, merge_small_clusters(model_operator('tree'), 0.2) AS m) o,
       LATERAL (SELECT min(c.weight) / sum(c.weight) AS min_share, sum(c.weight) AS total FROM centroids(m) c) c;
SELECT fastclust_internal.clusters(merge_small_clusters(model_operator('tree'), 0)) AS none, fastclust_internal.clusters(merge_small_clusters(model_operator('tree'), 1)) AS everything;
SELECT merge_small_clusters(model_operator('tree'), 'NaN');
SELECT merge_small_clusters(model_operator('tree'), 2);

-- the report draws it
SELECT report('tree', false) LIKE '%<section id="tree">%' AS drawn, cardinality(string_to_array(report('tree', false), '<path class="line"')) - 1 AS lines;

-- rights: whoever may read the model
CREATE ROLE hierarchy_reader; GRANT USAGE ON SCHEMA public TO hierarchy_reader;
SET ROLE hierarchy_reader;
SELECT * FROM cluster_tree('tree');
SELECT predict_path('tree', '{1,2}'::real[]);
RESET ROLE;
SELECT grant_model('tree', 'hierarchy_reader');
SET ROLE hierarchy_reader;
SELECT count(*) AS tree FROM cluster_tree('tree');
SELECT cardinality(predict_path('tree', '{1,2}'::real[])) AS path;
RESET ROLE;
SELECT drop_model(model) FROM (VALUES ('tree'), ('flat'), ('deep'), ('line'), ('joined'), ('of groups')) v(model);
REVOKE USAGE ON SCHEMA public FROM hierarchy_reader;
DROP TABLE nested, sided, line; DROP ROLE hierarchy_reader;
