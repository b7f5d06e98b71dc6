-- A row gets its nearest centroid among hundreds, where distances are pruned; training is far
-- better than random centroids, and a retraining keeps numbers.
CREATE SCHEMA of_many; SET search_path = of_many, public, fastclust;
SELECT setseed(0.5);

-- 300 groups in 64 dimensions; their sizes follow a power law.
CREATE TABLE places AS SELECT g, array_agg(random() * 10 ORDER BY i)::real[] AS center
  FROM generate_series(1, 300) g, generate_series(1, 64) i GROUP BY g;
CREATE TABLE many_rows AS
  SELECT row_number() OVER () AS id, p.g, (SELECT array_agg(c + 0.05 * sin(r * 37.0 + i * 11.0)) FROM unnest(p.center) WITH ORDINALITY u(c, i))::real[] AS v
    FROM places p, generate_series(1, 8 + 2000 / (p.g + 9)) r;
ANALYZE many_rows;

-- Labels are the same in large batches, in queries of few rows, and by computing all distances.
CREATE TABLE codebook AS SELECT fastop_agg(center ORDER BY g) AS op FROM places;
SELECT count(*) > 3000 AS over_3000_rows,
       count(*) FILTER (WHERE assign((SELECT op FROM codebook), v) <> g - 1) AS other_labels
  FROM many_rows;
SELECT count(*) AS other_labels FROM (SELECT * FROM many_rows ORDER BY id LIMIT 300) m
 WHERE assign((SELECT op FROM codebook), v) <> (SELECT c.cluster FROM codebook, centroids(op) c ORDER BY (SELECT sum((a - b) ^ 2) FROM unnest(c.centroid, m.v) u(a, b)), 1 LIMIT 1);
SELECT abs((l.s).sse - t.sse) < 1e-6 * t.sse AS sse_within_1e_6, (l.s).n - t.n AS rows_missing
  FROM (SELECT lloyd_step_agg((SELECT op FROM codebook), v) AS s FROM many_rows) l,
       (SELECT sum(assign_distance((SELECT op FROM codebook), v) ^ 2) AS sse, count(*) AS n FROM many_rows) t;

-- The lower number wins among equal centroids, here each of them twice.
SELECT count(*) FILTER (WHERE assign((SELECT fastop_agg(p.center ORDER BY g, copy) FROM places p,
       generate_series(1, 2) copy), v) <> 2 * (g - 1)) AS other_labels FROM many_rows;

-- kmeans_agg has less than a fifth of the sum of squares of rows taken as centroids, and train
-- fills all 256 clusters.
SELECT sse_agg(k.op, m.v) < 0.2 * max(r.sse) AS sse_below_20_percent_of_random FROM many_rows m,
       (SELECT kmeans_agg(v, 300) AS op FROM many_rows) k,
       (SELECT sse_agg(o.op, v) AS sse FROM many_rows, (SELECT fastop_agg(v ORDER BY id) AS op FROM many_rows WHERE id % 17 = 0 AND id <= 5100) o) r;
SELECT train('many', 'many_rows', 'v', 256, options => '{"seed": 1, "quiet": true}');
SELECT count(DISTINCT predict('many', v)) AS clusters,
       count(*) FILTER (WHERE predict('many', v) IS NULL) AS rows_without_label FROM many_rows;

-- A retraining keeps the numbers of 90 % of the rows. With the option frozen the centroids stay,
-- and more clusters are added behind them.
CREATE TABLE before AS SELECT id, predict('many', v) AS cluster FROM many_rows;
SELECT retrain('many', '{"quiet": true}');
SELECT avg((predict('many', v) = b.cluster)::integer) > 0.9 AS over_90_percent_keep_their_number
  FROM many_rows JOIN before b USING (id);
SELECT retrain('many', '{"frozen": true, "k": 290, "quiet": true}');
SELECT count(*) AS clusters, max(d) < 1e-5 AS centroids_within_1e_5
  FROM (SELECT (SELECT max(abs(x - y)) FROM unnest(a.centroid, b.centroid) u(x, y)) AS d
          FROM model_versions v, centroids(v.operator) a, model_versions w, centroids(w.operator) b
         WHERE v.version = 2 AND w.version = 3 AND a.cluster = b.cluster) s;
SELECT options ? 'frozen' AS frozen_is_stored FROM model_versions WHERE version = 3;
SELECT sum(power(assign_distance(w.operator, m.v), 2))
       < sum(power(assign_distance(v.operator, m.v), 2)) AS sse_is_lower_with_more_clusters
  FROM many_rows m, model_versions v, model_versions w WHERE v.version = 2 AND w.version = 3;
-- The option balance limits the largest cluster to twice the mean, counted by predict; it is
-- larger without the option.
SELECT train('even', 'many_rows', 'v', 40, options => '{"seed": 1, "quiet": true}') AS as_they_are, train('even_too', 'many_rows', 'v', 40, options => '{"seed": 1, "quiet": true, "balance": 2}') AS balanced;
SELECT m.model, max(c.n) <= 2 * avg(c.n) AS at_most_twice_the_mean, count(*) AS clusters
  FROM models m, LATERAL (SELECT predict(m.model, v), count(*) AS n FROM many_rows GROUP BY 1) c WHERE m.model LIKE 'even%' GROUP BY 1 ORDER BY 1;
-- A balance that equal rows forbid is a warning. Errors are an option of another method, fewer
-- clusters than are frozen, and more clusters than rows.
CREATE TABLE same_rows AS SELECT ARRAY[CASE WHEN i <= 90 THEN 1 ELSE i END, 2]::real[] AS v FROM generate_series(1, 120) i;
SELECT train('cannot', 'same_rows', 'v', 4, options => '{"quiet": true, "balance": 1.5}');
SELECT train('cannot', 'many_rows', 'v', 4, 'compressive', '{"quiet": true, "balance": 2}');
SELECT retrain('many', '{"frozen": true, "k": 10}');
SELECT retrain('many', '{"frozen": true, "method": "compressive"}');
SELECT train('none', 'many_rows', 'v', 1000000, options => '{"quiet": true}');
-- many small groups: the search finds them as well as one start of k-means++
CREATE TABLE small_groups AS SELECT ARRAY(SELECT (hashint8(i / 6 * 17 + j) % 1000) / 100.0 + (hashint8(i * 31 + j * 7) % 1000) / 3000.0 FROM generate_series(1, 64) j)::real[] AS v FROM generate_series(0, 2999) i;
SELECT sse_agg(by_default, v) < 1.02 * sse_agg(by_one_start, v) AS as_well FROM small_groups, (SELECT kmeans_agg(v, 500) AS by_default, kmeans_agg(v, 500, '{"n_init": 1}') AS by_one_start FROM small_groups) q;
-- less effort takes a smaller sample
CREATE TABLE spread_rows AS SELECT ARRAY[hashint8(i) % 1000, hashint8(i + 50000) % 1000]::real[] AS v FROM generate_series(1, 50000) i;
ANALYZE spread_rows;
SELECT count(train(effort, 'spread_rows', 'v', 300, options => jsonb_build_object('seed', 1, 'quiet', true, 'effort', effort))) AS trained FROM unnest('{fast,balanced}'::text[]) effort;
SELECT model, note FROM training_log WHERE model IN ('fast', 'balanced') AND step = 'k-means' ORDER BY 1;
SELECT count(drop_model(model)) AS dropped FROM models;
DROP SCHEMA of_many CASCADE;
