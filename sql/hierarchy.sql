-- A model with levels has a tree of clusters: a row's path ends with its label, a node is the
-- mean of its children, and a retraining keeps levels and numbers.
-- Ward's tree joins clusters as SciPy does, and small clusters can be merged.
SET extra_float_digits = 0;
-- Sixteen clusters: four places with four clusters each.
CREATE TABLE nested AS
    SELECT i AS id, ARRAY[100 * (i % 4) + 8 * ((i / 4) % 4 % 2) + sin(i), 50 * (i % 4 % 2) + 8 * ((i / 4) % 4 / 2) + cos(2 * i)]::real[] AS x
    FROM generate_series(1, 4000) i;
ANALYZE nested;
SELECT train('tree', 'nested', 'x', NULL, options => '{"levels": [4, 4]}') AS version;
SELECT k, array_dims(paths) AS paths, options FROM fastclust_internal.stored_versions WHERE model = 'tree';

-- A path ends with the label of the row, and its first number is the parent of that label.
SELECT count(*) FILTER (WHERE p[2] <> predict('tree', x)) AS other_labels,
       count(*) FILTER (WHERE p[1] <> l.parent) AS other_parents,
       count(*) FILTER (WHERE p <> predict_path('tree', nested)) AS other_paths_by_row,
       count(DISTINCT p) AS paths, count(DISTINCT p[1]) AS top_nodes
  FROM nested, predict_path('tree', x) p JOIN cluster_tree('tree') l ON l.level = 2 AND l.node = p[2];
-- The four upper clusters are the four planted places.
SELECT count(*) AS pairs, count(DISTINCT top) AS top_nodes
  FROM (SELECT DISTINCT (predict_path('tree', x))[1] AS top, id % 4 AS planted FROM nested) q;
-- A node is the weighted mean of its children.
SELECT p.level, count(*) AS nodes, max(abs(p.share - q.share)) < 1e-9 AS shares_within_1e_9,
       max(abs(p.centroid[1] - q.x) + abs(p.centroid[2] - q.y)) < 1e-3 AS means_within_0_001
  FROM cluster_tree('tree') p
  JOIN (SELECT c.level - 1 AS level, c.parent AS node, sum(c.share) AS share, sum(c.share * c.centroid[1]) / sum(c.share) AS x, sum(c.share * c.centroid[2]) / sum(c.share) AS y
          FROM cluster_tree('tree') c GROUP BY 1, 2) q USING (level, node) GROUP BY 1;
SELECT level, count(*) AS nodes, count(parent) AS parents, round(sum(share)::numeric, 6) AS share,
       min(node), max(node) FROM cluster_tree('tree') GROUP BY 1 ORDER BY 1;
-- A model without levels has paths of one number, and Ward's tree of its clusters.
SELECT train('flat', 'nested', 'x', 5) AS version;
SELECT count(*) FILTER (WHERE predict_path('flat', x) <> ARRAY[predict('flat', x)]) AS other_paths
  FROM nested;
SELECT level, count(*) AS nodes, count(parent) AS parents, count(centroid) AS clusters
  FROM cluster_tree('flat') GROUP BY 1;
-- A retraining keeps three levels and the numbers of all nodes.
SELECT train('deep', 'nested', 'x', 16, options => '{"levels": [2, 2, 4]}') AS version;
CREATE TEMPORARY TABLE before AS SELECT id, predict_path('deep', x) AS path FROM nested;
SELECT retrain('deep');
SELECT count(*) FILTER (WHERE b.path <> predict_path('deep', x)) AS changed_paths,
       min(cardinality(b.path)) AS levels FROM nested JOIN before b USING (id);
SELECT level, count(*) AS nodes FROM cluster_tree('deep') GROUP BY 1 ORDER BY 1;
-- Levels that do not multiply to k, that are too few, too many or no integers, are errors.
SELECT train('bad', 'nested', 'x', 15, options => '{"levels": [4, 4]}');
SELECT train('bad', 'nested', 'x', NULL, options => '{"levels": [4]}');
SELECT train('bad', 'nested', 'x', NULL, options => '{"levels": [4, null]}');
SELECT train('bad', 'nested', 'x', NULL, options => '{"levels": [[4, 4]]}');
SELECT train('bad', 'nested', 'x', NULL, options => '{"levels": [0, 4]}');
SELECT train('bad', 'nested', 'x', NULL, options => '{"levels": [1000, 1000, 1000]}');
SELECT train('bad', 'nested', 'x', NULL, options => '{"levels": [2.5, 4]}');
SELECT train('bad', 'nested', 'x', NULL, options => '{"levels": 4}');
SELECT retrain('tree', '{"k": 12}');
-- Each group has levels of its own; a group that is unknown or NULL has no path.
CREATE TABLE sided AS SELECT *, CASE WHEN id % 8 < 4 THEN 'left' ELSE 'right' END AS side FROM nested;
SELECT train('of groups', 'sided', 'x', NULL, options => '{"levels": [2, 2], "group_by": "side"}') AS version;
SELECT count(*) FILTER (WHERE p[2] <> predict('of groups', d.x, group_value => d.side))
       AS other_labels, count(*) FILTER (WHERE p <> predict_path('of groups', d))
       AS other_paths_by_row,
       count(*) FILTER (WHERE p[1] <> l.parent) AS other_parents, min(cardinality(p)) AS levels,
       count(DISTINCT d.side) AS groups
  FROM sided d, predict_path('of groups', d.x, group_value => d.side) p JOIN LATERAL cluster_tree('of groups', d.side) l ON l.level = 2 AND l.node = p[2];
SELECT predict_path('of groups', '{1,2}'::real[], group_value => 'none') AS path_of_unknown_group,
       predict_path('of groups', '{1,2}'::real[], group_value => (SELECT NULL::text))
       AS path_of_null_group;
SELECT predict_path('of groups', '{1,2}'::real[]);
SELECT predict_path('tree', '{1,2}'::real[], group_value => 'left');
SELECT predict_path('none', '{1,2}'::real[]);
SELECT predict_path('tree', '{1,2,3}'::real[]);
SELECT * FROM cluster_tree('tree', 'group');

-- Ward's tree has the heights and joins of scipy.cluster.hierarchy.linkage(..., 'ward').
CREATE TABLE line AS SELECT ARRAY[v]::real[] AS x FROM unnest('{0, 1, 4, 9, 11}'::real[]) v;
SELECT train('line', 'line', 'x', 5) AS version;
SELECT height, n, share FROM cluster_tree('line') WHERE node >= 5;
SELECT p.node - 4 AS step, array_agg(c.centroid[1] ORDER BY c.centroid[1]) FILTER (WHERE c.centroid IS NOT NULL) AS clusters, count(*) AS joined
  FROM cluster_tree('line') p JOIN cluster_tree('line') c ON c.parent = p.node GROUP BY 1 ORDER BY 1;
-- Ward's tree joins the clusters of one place first; only the last three joins are higher than
-- 1,000.
SELECT train('joined', 'nested', 'x', 16) AS version;
SELECT count(*) FILTER (WHERE node >= 16) AS joins, count(*) FILTER (WHERE height < before)
       AS descents, max(n) AS rows, max(share) AS share, count(*) FILTER (WHERE height > 1000)
       AS joins_above_1000
  FROM (SELECT *, lag(height, 1, 0::float8) OVER (ORDER BY node) AS before FROM cluster_tree('joined')) t;
SELECT * FROM cluster_tree('none');

-- merge_small_clusters leaves no cluster with less than the given share, and the sum of the
-- weights stays.
SELECT fastclust_internal.clusters(op) AS before, fastclust_internal.clusters(m) AS after,
       round(min_share::numeric, 2) AS smallest_share, min_share >= 0.2 AS from_0_2, total
  FROM (SELECT model_operator('tree') AS op, merge_small_clusters(model_operator('tree'), 0.2) AS m) o,
       LATERAL (SELECT min(c.weight) / sum(c.weight) AS min_share, sum(c.weight) AS total FROM centroids(m) c) c;
SELECT fastclust_internal.clusters(merge_small_clusters(model_operator('tree'), 0))
       AS clusters_with_share_0,
       fastclust_internal.clusters(merge_small_clusters(model_operator('tree'), 1))
       AS clusters_with_share_1;
SELECT merge_small_clusters(model_operator('tree'), 'NaN');
SELECT merge_small_clusters(model_operator('tree'), 2);

-- The report draws the tree.
SELECT report('tree', false) LIKE '%<section id="tree">%' AS has_tree,
       cardinality(string_to_array(report('tree', false), '<path class="line"')) - 1 AS lines;

-- Tree and paths can be read by a reader of the model, and by no one else.
CREATE ROLE hierarchy_reader; GRANT USAGE ON SCHEMA public TO hierarchy_reader;
SET ROLE hierarchy_reader;
SELECT * FROM cluster_tree('tree');
SELECT predict_path('tree', '{1,2}'::real[]);
RESET ROLE;
SELECT grant_model('tree', 'hierarchy_reader');
SET ROLE hierarchy_reader;
SELECT count(*) AS nodes FROM cluster_tree('tree');
SELECT cardinality(predict_path('tree', '{1,2}'::real[])) AS length_of_path;
RESET ROLE;
SELECT drop_model(model) FROM (VALUES ('tree'), ('flat'), ('deep'), ('line'), ('joined'), ('of groups')) v(model);
REVOKE USAGE ON SCHEMA public FROM hierarchy_reader;
DROP TABLE nested, sided, line; DROP ROLE hierarchy_reader;
