-- The size of a cluster is the number of rows to which predict gives its number, even if the
-- training samples only a part of the table: the rows of the stored centroids were counted.
SELECT setseed(0.5);
CREATE TABLE counted AS SELECT i % 3 AS shop, random() + random() AS x, random() * random() AS y,
       CASE WHEN i % 10 > 0 THEN random() + i % 4 END AS z
  FROM generate_series(1, 300000) i;
ANALYZE counted;
CREATE FUNCTION sizes(columns name[], clusters integer, more text DEFAULT '{}')
    RETURNS TABLE (k bigint, same_size bigint, objective_within_1e_6 boolean)
    LANGUAGE sql AS $$
    SELECT train('counted', 'counted', columns, clusters, 'kmeans',
                 more::jsonb || '{"quiet": true}');
    SELECT count(*), count(*) FILTER (WHERE m.size = c.n),
           abs(max(v.objective) / (SELECT avg(predict_distance('counted', t) ^ 2)
                                     FROM counted t) - 1) < 1e-6
      FROM model_clusters m
      JOIN model_versions v USING (model, version)
      LEFT JOIN (SELECT predict('counted', t) AS cluster,
                        CASE WHEN more ~ 'group_by' THEN t.shop::text END AS shop, count(*) AS n
                   FROM counted t
                  GROUP BY 1, 2) c
                ON c.cluster = m.cluster AND c.shop IS NOT DISTINCT FROM m.group_value
     WHERE model = 'counted' AND v.serves AND v.group_value IS NOT DISTINCT FROM m.group_value
$$;
SELECT * FROM sizes('{x,y}', 2);
SELECT * FROM sizes('{x,y}', 5);
SELECT * FROM sizes('{x,y}', 20);
SELECT * FROM sizes('{x,y}', 100);
-- Sizes are also exact after a retrain that keeps its clusters, with NULLs, and with groups.
SELECT retrain('counted', '{"quiet": true, "seed": 5}') > 0 AS retrained;
SELECT count(*) AS k, count(*) FILTER (WHERE m.size = c.n) AS same_size
  FROM model_clusters m
  LEFT JOIN (SELECT predict('counted', t) AS cluster, count(*) AS n FROM counted t GROUP BY 1) c
       USING (cluster)
 WHERE m.model = 'counted';
SELECT k, same_size FROM sizes('{x,y,z}', 8);
SELECT k, same_size FROM sizes('{x,y}', 4, '{"group_by": "shop"}');
SELECT drop_model('counted');
DROP FUNCTION sizes;
DROP TABLE counted;
