-- Decoding a sketch finds the planted clusters without their rows, and the operator it returns
-- assigns, scores and improves like the centroids themselves.
-- If this fails, labels or quality scores of every method are wrong.
SET extra_float_digits = 0;
CREATE TABLE planted AS
SELECT i AS id, i % 6 AS truth, ARRAY[(i % 6) * 8 + sin(i * 12.9898), (i % 2) * 6 + cos(i * 78.233), sin(i * 37.719)]::real[] AS x
FROM generate_series(1, 6000) i;
CREATE TABLE spec AS SELECT sketch_spec_agg(x, 6) AS s FROM planted WHERE id % 7 = 0;
CREATE TABLE kept AS SELECT sketch_agg(x, (SELECT s FROM spec)) AS k FROM planted;

-- A spec learned from a sample depends on the rows alone, not on their order, and its sigma
-- scales with the data.
SELECT describe(s) - 'sigma' - 'sigmas' AS description,
       (describe(s) ->> 'sigma')::float8 BETWEEN 0.6 AND 1.2 AS sigma_from_0_6_to_1_2 FROM spec;
SELECT (SELECT sketch_spec_agg(x, 6) FROM (SELECT * FROM planted WHERE id % 7 = 0 ORDER BY -id) t)
       = s
       AS same_in_reverse_order FROM spec;
SELECT round(((describe(sketch_spec_agg(ARRAY[x[1] * 1000, x[2] * 1000, x[3] * 1000], 6))
               ->> 'sigma')::float8
              / (describe(sketch_spec_agg(x, 6)) ->> 'sigma')::float8)::numeric / 1000, 2)
       AS sigma_ratio_of_1000_times_larger_rows FROM planted;

-- decode finds every planted centre to 0.05, with and without a sample of rows. Its weights are
-- the shares of the clusters and its spreads their deviations.
CREATE TABLE truth AS SELECT truth, array[avg(x[1]), avg(x[2]), avg(x[3])] AS center FROM planted GROUP BY truth;
CREATE FUNCTION worst_miss(decoder text, pilot sketch_spec) RETURNS float8 LANGUAGE sql AS $$
SELECT max(least) FROM (
  SELECT truth, min(sqrt((center[1] - centroid[1]) ^ 2 + (center[2] - centroid[2]) ^ 2 + (center[3] - centroid[3]) ^ 2)) AS least
  FROM truth, kept, decode(k, 6, decoder, sample => pilot) GROUP BY truth) t $$;
SELECT worst_miss('auto', NULL) < 0.05 AS within_0_05_without_sample,
       worst_miss('auto', (SELECT s FROM spec)) < 0.05 AS within_0_05_with_sample;
SELECT count(*) AS clusters, round(sum(weight)::numeric, 6) AS sum_of_weights,
       min(weight) > 0.16 AS smallest_weight_above_0_16,
       bool_and(spread BETWEEN 0.5 AND 0.8) AS spreads_from_0_5_to_0_8
FROM kept, decode(k, 6);
SELECT count(*) AS clusters FROM kept, decode(k, 6, 'shift');
SELECT bool_and(a = b) AS same_bits_when_repeated
FROM (SELECT decode(k, 6)::text AS a, decode(k, 6)::text AS b FROM kept) t;
-- The residual falls steeply up to the planted number of clusters.
SELECT r[3] < 0.7 * r[2] AS six_below_70_percent_of_five,
       r[2] < 0.9 * r[1] AS five_below_90_percent_of_four
FROM (SELECT array_agg(f.relative_residual ORDER BY n) AS r
      FROM kept, generate_series(4, 7) n, decode(kept.k, n) f WHERE f.cluster = 0) t;

-- A decoded operator labels every row with the nearest centroid, and its scores equal what SQL
-- computes from the labels.
CREATE TABLE model AS SELECT fastop_agg(centroid, weight ORDER BY cluster) AS op FROM kept, decode(k, 6);
SELECT adjusted_rand_agg(truth, assign(op, x)) AS rand, normalized_mutual_information_agg(truth, assign(op, x)) AS information FROM planted, model;
SELECT fastclust_internal.clusters(op), fastclust_internal.dim(op),
       (fastclust.describe(op) ->> 'nonzeros')::bigint AS nonzeros, describe(op) FROM model;
SELECT count(*) AS values FROM model, factors(op);
SELECT count(*) AS rows, count(*) FILTER (WHERE assign(op, x) =
           (SELECT cluster FROM centroids(op) ORDER BY (x[1] - centroid[1]) ^ 2
                   + (x[2] - centroid[2]) ^ 2 + (x[3] - centroid[3]) ^ 2 LIMIT 1)) AS nearest_wins,
       count(*) FILTER (WHERE (nearest(op, x, 1))[1] = assign(op, x)) AS first_nearest_is_label,
       max(cardinality(nearest(op, x, 100))) AS most_clusters_returned
FROM planted, model WHERE id <= 500;
SELECT max(abs(sse - total) / total) < 1e-9 AS sse_within_1e_9_of_squared_distances
FROM (SELECT sse_agg(op, x) AS sse, sum(assign_distance(op, x) ^ 2) AS total FROM planted, model) t;
SELECT count(*) AS centroids,
       bool_and(abs(p.y - (c.centroid[1] * 1 + c.centroid[2] * 2 + c.centroid[3] * 3)) < 1e-4)
       AS projection_within_1e_4_of_inner_product
FROM model, unnest(project(op, ARRAY[1, 2, 3])) WITH ORDINALITY p (y, j), centroids(op) c
WHERE c.cluster = p.j - 1;

-- A Lloyd step moves each centroid to the mean of its rows and does not increase the sum of
-- squares. A cluster without rows stays where it is, and no rows give NULL.
SELECT count(*) AS coordinates, bool_and(abs(c.centroid[i] - m.mean) < 1e-5) AS means_within_1e_5
FROM (SELECT (lloyd_step_agg(op, x)).next AS next FROM planted, model) l, centroids(l.next) c, generate_series(1, 3) i,
     LATERAL (SELECT avg(x[i]) AS mean FROM planted, model WHERE assign(op, x) = c.cluster) m;
SELECT (l).n, (l).counts, sse_agg((l).next, x) <= (l).sse AS sse_does_not_increase
FROM planted, (SELECT lloyd_step_agg(op, x) AS l FROM planted, model) t GROUP BY l;
SELECT (lloyd_step_agg(op, x, 2)).sse / (lloyd_step_agg(op, x)).sse AS sse_ratio_of_weight_2
FROM planted, model;
SELECT centroid AS centroid_without_rows
FROM (SELECT (lloyd_step_agg(op, ARRAY[0, 0])).next AS op
      FROM (SELECT fastop_agg(c) AS op FROM (VALUES (ARRAY[1, 1]), (ARRAY[9, 9])) t (c)) t) t,
     centroids(op) WHERE cluster = 1;
SELECT lloyd_step_agg(op, NULL::real[]) AS step_of_null_row, sse_agg(op, NULL::real[])
       AS sse_of_null_row
FROM model;

-- Scores of small examples are the values of their formulas; pairs with a NULL are left out.
SELECT simplified_silhouette_agg(op, x), davies_bouldin_agg(op, x), sse_agg(op, x)
FROM (SELECT fastop_agg(c) AS op FROM (VALUES (ARRAY[0]), (ARRAY[10])) t (c)) t, (VALUES (ARRAY[-1]), (ARRAY[1]), (ARRAY[9]), (ARRAY[11])) v (x);
SELECT adjusted_rand_agg(a, b), normalized_mutual_information_agg(a, b) FROM (VALUES (0, 0), (0, 0), (1, 2), (1, 2), (2, 2)) t (a, b);
SELECT adjusted_rand_agg(a, b), normalized_mutual_information_agg(a, b) FROM (VALUES (0, 1), (0, 1), (NULL, 1)) t (a, b);
SELECT adjusted_rand_agg(a, b) AS rand_of_no_pairs FROM (VALUES (NULL::int, 1)) t (a, b);

-- Labels may have any two types, with the scores of the same labels as integers. Equal values of a
-- type are one label; a type without equality has no labels.
CREATE TYPE colour AS ENUM ('red', 'green', 'blue');
CREATE TABLE kinds AS
SELECT i % 5 AS a, i * i % 7 % 3 AS b, i % 5 + 10000000000 AS big, (i % 5)::smallint AS small,
       'kind ' || i % 5 AS name, (i % 5)::numeric(5, 2) AS price, (i % 5)::text::numeric AS same,
       (enum_range(NULL::colour))[1 + i * i % 7 % 3] AS colour, i * i % 7 % 3 = 0 AS yes,
       ARRAY[i % 5, 1] AS list, date '2026-01-01' + i % 5 AS day
  FROM generate_series(1, 1000) i;
SELECT DISTINCT round(rand::numeric, 9) AS rand, round(information::numeric, 9) AS information
  FROM (SELECT adjusted_rand_agg(a, b), normalized_mutual_information_agg(a, b) FROM kinds
        UNION ALL
        SELECT adjusted_rand_agg(big, b), normalized_mutual_information_agg(big, b) FROM kinds
        UNION ALL
        SELECT adjusted_rand_agg(small, b::smallint),
               normalized_mutual_information_agg(small, b::smallint) FROM kinds
        UNION ALL
        SELECT adjusted_rand_agg(name, b), normalized_mutual_information_agg(colour, name)
          FROM kinds
        UNION ALL
        SELECT adjusted_rand_agg(list, colour), normalized_mutual_information_agg(colour, day)
          FROM kinds) q (rand, information);
SELECT adjusted_rand_agg(price, same), adjusted_rand_agg(name, price), adjusted_rand_agg(list, day)
  FROM kinds;
SELECT adjusted_rand_agg(name, name) FILTER (WHERE yes),
       adjusted_rand_agg(yes, NULL::text) AS rand_of_no_pairs FROM kinds;
SELECT adjusted_rand_agg(a, point(1, a)) FROM kinds;
SELECT adjusted_rand_agg(a, 'red') FROM kinds;
DROP TABLE kinds;
DROP TYPE colour;

-- kmeans_agg depends neither on the order nor on the type of the rows. As many clusters as rows
-- have no error, and equal rows share one centroid.
SELECT kmeans_agg(x, 6) = (SELECT kmeans_agg(x, 6 ORDER BY -id) FROM planted)
       AS same_in_reverse_order,
       kmeans_agg(x, 6) = kmeans_agg(x::float8[], 6) AS same_as_double FROM planted;
SELECT adjusted_rand_agg(truth, assign((SELECT kmeans_agg(x, 6, '{"n_init": 3, "seed": 5}') FROM planted), x)) FROM planted;
SELECT sse_agg((SELECT kmeans_agg(ARRAY[i], 5) FROM generate_series(1, 5) i), ARRAY[i]) FROM generate_series(1, 5) i;
SELECT cluster, centroid FROM centroids((SELECT kmeans_agg(ARRAY[7, 7], 2) FROM generate_series(1, 5))) WHERE cluster = 0;

-- Clusters a million away from the origin keep their labels: the operator stores an offset.
SELECT count(*) AS rows, count(*) FILTER (WHERE assign(a.op, x) =
           assign(b.op, ARRAY[x[1] + 1e6, x[2] - 1e6, x[3] + 1e6])) AS same_label,
       describe(b.op) ->> 'offset' AS has_offset
FROM planted, (SELECT fastop_agg(centroid ORDER BY cluster) AS op FROM model, centroids(op)) a,
     (SELECT fastop_agg(ARRAY[centroid[1] + 1e6, centroid[2] - 1e6, centroid[3] + 1e6] ORDER BY cluster) AS op FROM model, centroids(op)) b
WHERE id <= 2000 GROUP BY b.op;

-- A sketch of equal rows, or of one row, decodes to that row.
SELECT count(*) AS clusters, bool_and(abs(centroid[1] - 5) < 1e-6 AND abs(centroid[2] - 6) < 1e-6)
       AS centroids_within_1e_6_of_the_row FROM
  (SELECT sketch_agg(ARRAY[5, 6], (SELECT sketch_spec_agg(ARRAY[5, 6], 2) FROM generate_series(1, 10))) AS k FROM generate_series(1, 10)) t, decode(t.k, 2);
SELECT count(*) AS clusters, bool_and(abs(centroid[1] - 3) < 1e-6)
       AS centroid_within_1e_6_of_the_row
FROM (SELECT sketch_agg(ARRAY[3], sketch_spec(1, 10, 1.0)) AS k) t, decode(t.k, 1);

-- A spec of wide rows projects them to 16 dimensions; the decoded centroids have all 60
-- dimensions again and find the clusters, with structured frequencies, too.
CREATE TABLE wide AS
SELECT i AS id, (SELECT array_agg((sin(i * j * 0.7) + CASE WHEN j % 4 = i % 4 THEN 9 ELSE 0 END)::real ORDER BY j) FROM generate_series(1, 60) j) AS x
FROM generate_series(1, 2000) i;
CREATE TABLE wide_spec AS SELECT sketch_spec_agg(x, 4) AS s FROM wide;
SELECT describe(s) ->> 'reduced_dim' AS reduced, describe(s) ->> 'structured' AS structured FROM wide_spec;
SELECT adjusted_rand_agg(id % 4, assign(op, x)) AS rand, fastclust_internal.dim(op) FROM wide,
  (SELECT fastop_agg(centroid ORDER BY cluster) AS op FROM (SELECT sketch_agg(x, (SELECT s FROM wide_spec)) AS k FROM wide) t, decode(t.k, 4)) m GROUP BY op;
SELECT adjusted_rand_agg(id % 4, assign(op, x)) AS rand_with_structured_frequencies FROM wide,
  (SELECT fastop_agg(centroid ORDER BY cluster) AS op
   FROM (SELECT sketch_agg(x,
       (SELECT sketch_spec_agg(x, 4, '{"structured": "on"}'::jsonb) FROM wide)) AS k
         FROM wide) t, decode(t.k, 4)) m;

-- An operator survives a round trip through text and through a table.
CREATE TABLE copies (op fastop);
INSERT INTO copies SELECT op::text::fastop FROM model;
SELECT c.op = m.op AS same_operator FROM copies c, model m;
DROP FUNCTION worst_miss; DROP TABLE planted, spec, kept, truth, model, wide, wide_spec, copies;

-- A query may bring another operator with each row, stored inline, compressed or out of line;
-- each row gets the label of its own operator.
CREATE TABLE several (g int, op fastop);
INSERT INTO several SELECT g, fastop_agg(ARRAY[i * g % 7, i, g % (i + 1)]::real[] ORDER BY i)
  FROM generate_series(1, 40) g, generate_series(1, 2 + g * g) i GROUP BY g;
CREATE TABLE their_rows AS SELECT i AS id, 1 + i % 40 AS g, ARRAY[i % 11, i % 401, i % 5]::real[] AS x FROM generate_series(1, 4000) i;
SELECT count(*) AS rows, count(*) FILTER (WHERE assign(s.op, r.x) =
           (SELECT c.cluster FROM centroids(s.op) c
             ORDER BY l2_distance(c.centroid, r.x::float8[]), c.cluster LIMIT 1)) AS nearest_wins
  FROM their_rows r JOIN several s USING (g) WHERE r.id % 20 = 3;
SELECT sum(assign(s.op, r.x)) = (SELECT sum(q.labels) FROM several o,
           LATERAL (SELECT sum(assign(o.op, t.x)) AS labels FROM their_rows t WHERE t.g = o.g) q)
       AS same_as_one_operator_at_a_time
  FROM (SELECT * FROM their_rows ORDER BY id OFFSET 0) r JOIN several s USING (g);
DROP TABLE several, their_rows;
