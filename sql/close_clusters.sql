-- A row gets its nearest centroid at any scale of the data, even if centroids are very close
-- compared with their distance from the origin. assign, nearest, assign_distance and every
-- aggregate agree on it.
SET extra_float_digits = 0;

CREATE TABLE centre AS SELECT scale, cluster, ARRAY[x * scale, 0] AS c FROM (VALUES (1e-22::float8), (1e-3), (1), (1e3), (1e14)) AS s (scale),
         (VALUES (0, 10000::float8), (1, 10001), (2, 10002), (3, 0)) AS v (cluster, x);
CREATE TABLE book AS SELECT scale, fastop_agg(c ORDER BY cluster) AS op FROM centre GROUP BY scale;

-- Each centroid is nearest to itself and to a row 0.3 away, in single rows and in batches.
SELECT scale, array_agg(assign(op, c) ORDER BY cluster) AS assigned, array_agg((nearest(op, c, 1))[1] ORDER BY cluster) AS nearest,
       array_agg(assign(op, ARRAY[c[1] + 0.3 * scale, c[2]]) ORDER BY cluster)
       AS assigned_0_3_away,
       bool_and(assign_distance(op, c) <= 1e-6 * 1e4 * scale) AS distances_within_1e_6
  FROM centre JOIN book USING (scale) GROUP BY scale ORDER BY scale;

-- Labels, counts and sum of squares of 600 rows around the centroids agree with computing all
-- distances.
CREATE TABLE wide AS SELECT i, ARRAY[v.x + 0.4 * sin(i)] || array_fill(0::float8, ARRAY[299]) AS x
    FROM generate_series(1, 600) AS i JOIN (VALUES (0, 10000::float8), (1, 10001), (2, 10002), (3, 0)) AS v (cluster, x) ON cluster = i % 4;
CREATE TABLE wide_book AS SELECT fastop_agg(ARRAY[x] || array_fill(0::float8, ARRAY[299]) ORDER BY cluster) AS op
    FROM (VALUES (0, 10000::float8), (1, 10001), (2, 10002), (3, 0)) AS v (cluster, x);
WITH labelled AS (SELECT i, assign(op, x) AS label, (nearest(op, x, 2))[1] AS first, assign_distance(op, x) AS distance,
           abs(0.4 * sin(i)) AS expected FROM wide, wide_book)
SELECT count(*) FILTER (WHERE label <> i % 4) AS other_labels,
       count(*) FILTER (WHERE label <> first) AS first_nearest_is_not_label,
       max(abs(distance - expected)) < 1e-9 AS distances_within_1e_9 FROM labelled;
SELECT (s.step).counts, abs((s.step).sse / (SELECT sum((0.4 * sin(i)) ^ 2) FROM wide) - 1) < 1e-9
       AS step_sse_within_1e_9,
       abs(s.sse / (s.step).sse - 1) < 1e-12 AS sse_agg_within_1e_12
FROM (SELECT lloyd_step_agg((SELECT op FROM wide_book), x) AS step, sse_agg((SELECT op FROM wide_book), x) AS sse FROM wide) AS s;

-- k-means finds the clusters at any scale, three close ones and one far away. Values beyond
-- single precision are an error.
SELECT scale, bool_and(abs(centroid[1] / scale - x) < 0.01) AS centroids_within_0_01,
       array_agg(weight ORDER BY x) AS weights FROM (SELECT scale, (centroids(op)).*
      FROM (SELECT scale, kmeans_agg(ARRAY[(x + 0.01 * sin(i)) * scale, 0], 4, '{"seed": 1}') AS op
            FROM (VALUES (1e-22::float8), (1e-3), (1), (1e3), (1e14)) AS s (scale), generate_series(1, 200) AS i
            JOIN (VALUES (0, 10000::float8), (1, 10001), (2, 10002), (3, 0)) AS v (cluster, x) ON cluster = i % 4 GROUP BY scale) AS k) AS found
CROSS JOIN LATERAL (SELECT x FROM (VALUES (10000::float8), (10001), (10002), (0)) AS v (x) ORDER BY abs(centroid[1] / scale - x) LIMIT 1) AS planted
GROUP BY scale ORDER BY scale;
SELECT fastclust_internal.clusters(kmeans_agg(ARRAY[i * 1e18, 1e18], 3)) FROM generate_series(1, 8) AS i;
SELECT kmeans_agg(ARRAY[i * 1e37], 2) FROM generate_series(1, 20) AS i;
SELECT kmeans_agg(ARRAY[i * 1e300], 2) FROM generate_series(1, 20) AS i;
DROP TABLE centre, book, wide, wide_book;
