-- decode, operators, Lloyd steps and scores on planted clusters
SET extra_float_digits = 0;
CREATE TABLE planted AS
SELECT i AS id, i % 6 AS truth, ARRAY[(i % 6) * 8 + sin(i * 12.9898), (i % 2) * 6 + cos(i * 78.233), sin(i * 37.719)]::real[] AS x
FROM generate_series(1, 6000) i;
CREATE TABLE spec AS SELECT sketch_spec_agg(x, 6) AS s FROM planted WHERE id % 7 = 0;
CREATE TABLE kept AS SELECT sketch_agg(x, (SELECT s FROM spec)) AS k FROM planted;

-- the spec's choices
SELECT describe(s) - 'sigma' - 'sigmas' AS description, (describe(s) ->> 'sigma')::float8 BETWEEN 0.6 AND 1.2 AS sigma_ok FROM spec;
SELECT (SELECT sketch_spec_agg(x, 6) FROM (SELECT * FROM planted WHERE id % 7 = 0 ORDER BY -id) t) = s AS any_order FROM spec;
SELECT abs((describe(sketch_spec_agg(ARRAY[x[1] * 1000, x[2] * 1000, x[3] * 1000], 6)) ->> 'sigma')::float8
         / (describe(sketch_spec_agg(x, 6)) ->> 'sigma')::float8 / 1000 - 1) < 0.01 AS scales FROM planted;

-- decoding finds the planted clusters, with and without pilot rows, and by plain sketch-and-shift
CREATE TABLE truth AS SELECT truth, array[avg(x[1]), avg(x[2]), avg(x[3])] AS center FROM planted GROUP BY truth;
CREATE FUNCTION worst_miss(decoder text, pilot sketch_spec) RETURNS float8 LANGUAGE sql AS $$
SELECT max(least) FROM (
  SELECT truth, min(sqrt((center[1] - centroid[1]) ^ 2 + (center[2] - centroid[2]) ^ 2 + (center[3] - centroid[3]) ^ 2)) AS least
  FROM truth, kept, decode(k, 6, decoder, sample => pilot) GROUP BY truth) t $$;
SELECT worst_miss('auto', NULL) < 0.05 AS alone, worst_miss('auto', (SELECT s FROM spec)) < 0.05 AS pilot;
SELECT count(*), sum(weight) BETWEEN 0.999999 AND 1.000001 AS shares, min(weight) > 0.16 AS even, bool_and(spread BETWEEN 0.5 AND 0.8) AS spreads
FROM kept, decode(k, 6);
SELECT count(*) FROM kept, decode(k, 6, 'shift');
SELECT bool_and(a = b) AS same_bits FROM (SELECT decode(k, 6)::text AS a, decode(k, 6)::text AS b FROM kept) t;
SELECT r[3] < 0.7 * r[2] AND r[2] < 0.9 * r[1] AS residual_falls_to_six FROM (SELECT array_agg(f.relative_residual ORDER BY n) AS r FROM kept, generate_series(4, 7) n, decode(kept.k, n) f WHERE f.cluster = 0) t;

-- decode, store, assign, score
CREATE TABLE model AS SELECT fastop_agg(centroid, weight ORDER BY cluster) AS op FROM kept, decode(k, 6);
SELECT adjusted_rand_agg(truth, assign(op, x)) AS rand, normalized_mutual_information_agg(truth, assign(op, x)) AS information FROM planted, model;
SELECT fastclust_internal.clusters(op), fastclust_internal.dim(op), (fastclust.describe(op) ->> 'nonzeros')::bigint, describe(op) FROM model;
SELECT count(*) FROM model, factors(op);
SELECT bool_and(assign(op, x) = (SELECT cluster FROM centroids(op) ORDER BY (x[1] - centroid[1]) ^ 2 + (x[2] - centroid[2]) ^ 2 + (x[3] - centroid[3]) ^ 2 LIMIT 1)) AS nearest_wins
FROM planted, model WHERE id <= 500;
SELECT bool_and((nearest(op, x, 1))[1] = assign(op, x)) AS first_is_assign, bool_and(cardinality(nearest(op, x, 100)) = 6) AS at_most_k FROM planted, model WHERE id <= 500;
SELECT max(abs(sse - total) / total) < 1e-9 AS sse_ok FROM (SELECT sse_agg(op, x) AS sse, sum(assign_distance(op, x) ^ 2) AS total FROM planted, model) t;
SELECT bool_and(abs(p.y - (c.centroid[1] * 1 + c.centroid[2] * 2 + c.centroid[3] * 3)) < 1e-4) AS project_ok
FROM model, unnest(project(op, ARRAY[1, 2, 3])) WITH ORDINALITY p (y, j), centroids(op) c WHERE c.cluster = p.j - 1;

-- a Lloyd step is the means of the labels, lowers the SSE, and is what it says when nobody comes
SELECT bool_and(abs(c.centroid[i] - m.mean) < 1e-5) AS means
FROM (SELECT (lloyd_step_agg(op, x)).next AS next FROM planted, model) l, centroids(l.next) c, generate_series(1, 3) i,
     LATERAL (SELECT avg(x[i]) AS mean FROM planted, model WHERE assign(op, x) = c.cluster) m;
SELECT (l).n, (l).counts, sse_agg((l).next, x) <= (l).sse AS lower FROM planted, (SELECT lloyd_step_agg(op, x) AS l FROM planted, model) t GROUP BY l;
SELECT (lloyd_step_agg(op, x, 2)).sse / (lloyd_step_agg(op, x)).sse AS doubled FROM planted, model;
SELECT centroid AS stays FROM (SELECT (lloyd_step_agg(op, ARRAY[0, 0])).next AS op FROM (SELECT fastop_agg(c) AS op FROM (VALUES (ARRAY[1, 1]), (ARRAY[9, 9])) t (c)) t) t, centroids(op) WHERE cluster = 1;
SELECT lloyd_step_agg(op, NULL::real[]) IS NULL AS nothing, sse_agg(op, NULL::real[]) IS NULL AS no_sse FROM model;

-- scores with known answers
SELECT simplified_silhouette_agg(op, x), davies_bouldin_agg(op, x), sse_agg(op, x)
FROM (SELECT fastop_agg(c) AS op FROM (VALUES (ARRAY[0]), (ARRAY[10])) t (c)) t, (VALUES (ARRAY[-1]), (ARRAY[1]), (ARRAY[9]), (ARRAY[11])) v (x);
SELECT adjusted_rand_agg(a, b), normalized_mutual_information_agg(a, b) FROM (VALUES (0, 0), (0, 0), (1, 2), (1, 2), (2, 2)) t (a, b);
SELECT adjusted_rand_agg(a, b), normalized_mutual_information_agg(a, b) FROM (VALUES (0, 1), (0, 1), (NULL, 1)) t (a, b);
SELECT adjusted_rand_agg(a, b) IS NULL AS nothing FROM (VALUES (NULL::int, 1)) t (a, b);

-- k-means in memory: order and input type do not matter; k = rows; equal rows
SELECT kmeans_agg(x, 6) = (SELECT kmeans_agg(x, 6 ORDER BY -id) FROM planted) AS any_order,
       kmeans_agg(x, 6) = kmeans_agg(x::float8[], 6) AS any_type FROM planted;
SELECT adjusted_rand_agg(truth, assign((SELECT kmeans_agg(x, 6, '{"n_init": 3, "seed": 5}') FROM planted), x)) FROM planted;
SELECT sse_agg((SELECT kmeans_agg(ARRAY[i], 5) FROM generate_series(1, 5) i), ARRAY[i]) FROM generate_series(1, 5) i;
SELECT cluster, centroid FROM centroids((SELECT kmeans_agg(ARRAY[7, 7], 2) FROM generate_series(1, 5))) WHERE cluster = 0;

-- offsets: clusters far from the origin keep their labels
SELECT bool_and(assign(a.op, x) = assign(b.op, ARRAY[x[1] + 1e6, x[2] - 1e6, x[3] + 1e6])) AS same, describe(b.op) ->> 'offset' AS has_offset
FROM planted, (SELECT fastop_agg(centroid ORDER BY cluster) AS op FROM model, centroids(op)) a,
     (SELECT fastop_agg(ARRAY[centroid[1] + 1e6, centroid[2] - 1e6, centroid[3] + 1e6] ORDER BY cluster) AS op FROM model, centroids(op)) b
WHERE id <= 2000 GROUP BY b.op;

-- degenerate sketches still decode
SELECT count(*), bool_and(abs(centroid[1] - 5) < 1e-6 AND abs(centroid[2] - 6) < 1e-6) AS there FROM
  (SELECT sketch_agg(ARRAY[5, 6], (SELECT sketch_spec_agg(ARRAY[5, 6], 2) FROM generate_series(1, 10))) AS k FROM generate_series(1, 10)) t, decode(t.k, 2);
SELECT count(*), bool_and(abs(centroid[1] - 3) < 1e-6) AS there FROM (SELECT sketch_agg(ARRAY[3], sketch_spec(1, 10, 1.0)) AS k) t, decode(t.k, 1);

-- projected specs: centroids come back in full
CREATE TABLE wide AS
SELECT i AS id, (SELECT array_agg((sin(i * j * 0.7) + CASE WHEN j % 4 = i % 4 THEN 9 ELSE 0 END)::real ORDER BY j) FROM generate_series(1, 60) j) AS x
FROM generate_series(1, 2000) i;
CREATE TABLE wide_spec AS SELECT sketch_spec_agg(x, 4) AS s FROM wide;
SELECT describe(s) ->> 'reduced_dim' AS reduced, describe(s) ->> 'structured' AS structured FROM wide_spec;
SELECT adjusted_rand_agg(id % 4, assign(op, x)) AS rand, fastclust_internal.dim(op) FROM wide,
  (SELECT fastop_agg(centroid ORDER BY cluster) AS op FROM (SELECT sketch_agg(x, (SELECT s FROM wide_spec)) AS k FROM wide) t, decode(t.k, 4)) m GROUP BY op;
SELECT adjusted_rand_agg(id % 4, assign(op, x)) AS structured FROM wide,
  (SELECT fastop_agg(centroid ORDER BY cluster) AS op FROM (SELECT sketch_agg(x, (SELECT sketch_spec_agg(x, 4, '{"structured": "on"}'::jsonb) FROM wide)) AS k FROM wide) t, decode(t.k, 4)) m;

-- values travel
CREATE TABLE copies (op fastop);
INSERT INTO copies SELECT op::text::fastop FROM model;
SELECT c.op = m.op AS same FROM copies c, model m;
DROP FUNCTION worst_miss; DROP TABLE planted, spec, kept, truth, model, wide, wide_spec, copies;

-- rows that bring one of many operators each, inline, packed or toasted, get what they get from each alone
CREATE TABLE several (g int, op fastop);
INSERT INTO several SELECT g, fastop_agg(ARRAY[i * g % 7, i, g % (i + 1)]::real[] ORDER BY i)
  FROM generate_series(1, 40) g, generate_series(1, 2 + g * g) i GROUP BY g;
CREATE TABLE their_rows AS SELECT i AS id, 1 + i % 40 AS g, ARRAY[i % 11, i % 401, i % 5]::real[] AS x FROM generate_series(1, 4000) i;
SELECT count(*) FILTER (WHERE assign(s.op, r.x) = (SELECT c.cluster FROM centroids(s.op) c ORDER BY l2_distance(c.centroid, r.x::float8[]), c.cluster LIMIT 1)) AS equal, count(*)
  FROM their_rows r JOIN several s USING (g) WHERE r.id % 20 = 3;
SELECT sum(assign(s.op, r.x)) = (SELECT sum(q.labels) FROM several o, LATERAL (SELECT sum(assign(o.op, t.x)) AS labels FROM their_rows t WHERE t.g = o.g) q) AS as_alone
  FROM (SELECT * FROM their_rows ORDER BY id OFFSET 0) r JOIN several s USING (g);
DROP TABLE several, their_rows;
