-- Every decoder finds the planted clusters from a sketch, with each of its options, and keeps the
-- numbers of centroids that it starts from.
-- A notice says where the sketch cannot answer; a wrong option is an error.

-- Five clusters in the plane with deviation 0.5 in each direction; the rows are deterministic.
CREATE TABLE truth AS SELECT i AS cluster, ARRAY[(ARRAY[0, 6, 0, 6, 3])[i + 1], (ARRAY[0, 0, 6, 6, 12])[i + 1]]::float8[] AS c FROM generate_series(0, 4) i;
CREATE TABLE points AS SELECT i AS id, ARRAY[c[1] + 0.5 * sqrt(-2 * ln(u)) * cos(v), c[2] + 0.5 * sqrt(-2 * ln(u)) * sin(v)] AS x
FROM (SELECT i, ((i * 0.6180339887498949) % 1.0) * 0.9999 + 0.00005 AS u, 2 * pi() * ((i * 0.7548776662466927) % 1.0) AS v FROM generate_series(1, 20000) i) t,
     LATERAL (SELECT c FROM truth WHERE cluster = i % 5) q;
CREATE FUNCTION worst_miss(found float8[]) RETURNS float8 LANGUAGE sql AS $$
  SELECT max(d) FROM (SELECT min(sqrt((t.c[1] - found[i][1]) ^ 2 + (t.c[2] - found[i][2]) ^ 2)) AS d
                      FROM truth t, generate_series(1, array_length(found, 1)) i GROUP BY t.cluster) m $$;

-- Every decoder finds all centres: to 0.05, or to 0.25 by discretized, which does not leave its
-- starting points.
CREATE TABLE spec AS SELECT sketch_spec_agg(x, 5) AS s FROM points WHERE id <= 2000;
CREATE TABLE kept AS SELECT sketch_agg(x, (SELECT s FROM spec)) AS k FROM points;
SELECT decoder, tolerance,
       worst_miss((SELECT array_agg(centroid) FROM kept, decode(k, 5, decoder))) < tolerance
       AS centres_within_tolerance
FROM (VALUES ('auto', 0.05), ('clompr', 0.05), ('shift', 0.05), ('discretized', 0.25)) d(decoder, tolerance);
SELECT init,
       worst_miss((SELECT array_agg(centroid) FROM kept,
           decode(k, 5, 'clompr', jsonb_build_object('init', init), (SELECT s FROM spec)))) < 0.05
       AS centres_within_0_05
FROM unnest(ARRAY['default', 'range', 'sample', 'kmeans++']) init;
SELECT worst_miss((SELECT array_agg(centroid) FROM kept,
       decode(k, 5, 'shift', '{"starts": 300, "rounds": 12, "step": 1.0}'))) < 0.25
       AS centres_within_0_25_by_fixed_step;

-- A sketch may hold several sigmas. One of them is chosen when decoding, of which 20 is too wide
-- for these clusters, or auto and clompr use them all.
CREATE TABLE ladder AS SELECT sketch_agg(x, (SELECT sketch_spec(2, 1000, 0.5, 'gaussian', options => '{"sigmas": [0.5, 1, 2, 20]}'))) AS k FROM points;
SELECT sigma,
       worst_miss((SELECT array_agg(centroid) FROM ladder,
           decode(k, 5, 'shift', jsonb_build_object('sigma', sigma)))) < 0.4 AS centres_within_0_4
FROM unnest(ARRAY[0.5, 1, 2, 20]) sigma;
SELECT worst_miss((SELECT array_agg(centroid) FROM ladder,
       decode(k, 5, 'clompr', '{"sigma": 2, "starts": 1, "init": "range", "polish": false}')))
       < 0.25 AS centres_within_0_25_by_plain_clompr;
SELECT decoder, worst_miss((SELECT array_agg(centroid) FROM ladder, decode(k, 5, decoder))) < 0.05
       AS centres_within_0_05 FROM unnest(ARRAY['auto', 'clompr']) decoder;
SELECT describe(sketch_spec_agg(x, 5, '{"scales": [1, 2], "sigma": 0.7, "law": "gaussian"}'::jsonb)) -> 'sigmas' AS sigmas FROM points WHERE id <= 100;

-- A sketch with two sigmas has exactly the moments of two sketches with one.
SELECT moments(a) = (moments(b))[1:40] AS same_moments_of_first, moments(c) = (moments(b))[41:80]
       AS same_moments_of_second
FROM (SELECT sketch_agg(x, sketch_spec(2, 20, 1.0, 'gaussian')) AS a, sketch_agg(x, sketch_spec(2, 20, 1.0, 'gaussian', options => '{"sigmas": [1, 2]}')) AS b,
             sketch_agg(x, sketch_spec(2, 20, 2.0, 'gaussian')) AS c FROM points WHERE id <= 500) t;

-- Gaussian atoms have spreads within 0.1 of 0.5 and covariances within 0.1 of 0.25 I, and cost
-- less than a fifth of points.
SELECT count(*) AS clusters, bool_and(abs(spread - 0.5) < 0.1) AS spreads_within_0_1_of_half
  FROM ladder, decode(k, 5, 'shift', '{"model": "gaussian", "sigma": 0.5}');
SELECT count(*) AS entries,
       bool_and(abs(covariance[i][j] - CASE WHEN i = j THEN 0.25 ELSE 0 END) < 0.1)
       AS covariances_within_0_1
FROM ladder, decode_covariances(k, 5, options => '{"sigma": 0.5}'), generate_series(1, 2) i, generate_series(1, 2) j;
SELECT g.cost < 0.2 * p.cost AS cost_below_20_percent_of_points FROM ladder l,
       decode(l.k, 5, 'shift', '{"model": "gaussian", "sigma": 1}') g JOIN decode(l.k, 5, 'shift',
           '{"sigma": 1, "polish": false}') p USING (cluster) WHERE cluster = 0;

-- As published, atoms are points, every round of clompr is kept, and a Gaussian whose covariance
-- is not positive semidefinite, here because of a constant column, is a point.
SELECT decoder, init, worst_miss((SELECT array_agg(centroid) FROM ladder,
           decode(k, 5, decoder, jsonb_build_object('published', true, 'init', init, 'sigma', 2)))) < tolerance
       AS centres_within_tolerance
FROM (VALUES ('clompr', 'range', 0.25), ('shift', 'range', 0.5), ('discretized', 'default', 0.5)) d(decoder, init, tolerance);
SELECT init, worst_miss((SELECT array_agg(centroid) FROM kept, spec,
           decode(k, 5, 'clompr', jsonb_build_object('published', true, 'init', init, 'replicates', 5), s))) < 0.25
       AS centres_within_0_25
FROM unnest(ARRAY['sample', 'kmeans++']) init;
CREATE TABLE flat AS SELECT sketch_agg(x || 0.0::float8, (SELECT sketch_spec(3, 500, 1, 'gaussian'))) AS k FROM points;
SELECT published, count(*) FILTER (WHERE covariance = array_fill(0.0::float8, ARRAY[3, 3])) AS points
FROM flat, unnest(ARRAY[false, true]) published, decode_covariances(k, 5, options => jsonb_build_object('published', published))
GROUP BY published ORDER BY published;
DROP TABLE flat;
SELECT decode(k, 5, 'auto', '{"published": true}') FROM kept;
SELECT decode(k, 5, 'clompr', '{"published": true, "init": [[1, 2]]}') FROM kept;

-- Memory is proportional to the number of starts.
SET fastclust.memory_budget = '64MB';
SELECT count(*) AS clusters FROM ladder, decode(k, 5, 'shift', '{"starts": 10000, "rounds": 5, "published": true}');
RESET fastclust.memory_budget;

-- shift gives all atoms one width, the width of the clusters. Without polish it gives points as
-- in its paper, which needs the law gaussian: a notice says so.
SELECT count(DISTINCT spread) AS widths, bool_and(abs(spread - 0.5) < 0.05)
       AS spreads_within_0_05_of_half FROM kept, decode(k, 5, 'shift');
SET client_min_messages = notice;
SELECT max(spread) AS spread FROM kept, decode(k, 5, 'shift', '{"polish": false}');
SELECT max(spread) AS spread FROM kept, decode(k, 5, 'discretized');
SELECT max(spread) AS spread FROM ladder, decode(k, 5, 'shift', '{"polish": false}');
SET client_min_messages = warning;

-- A notice says where a sketch cannot answer: too few frequencies, too many clusters, a sigma far
-- too small, too few clusters.
SET client_min_messages = notice;
SELECT count(*) AS clusters FROM (SELECT sketch_agg(x, (SELECT sketch_spec(2, 8, 0.5))) AS k FROM points) t, decode(t.k, 5);
SELECT count(*) AS clusters FROM kept, decode(k, 60);
SELECT count(*) AS clusters FROM (SELECT sketch_agg(x, (SELECT sketch_spec(2, 60, 0.002))) AS k FROM points) t, decode(t.k, 5);
SELECT count(*) AS clusters FROM kept, decode(k, 3);
SET client_min_messages = warning;

-- Centroids to start from keep their numbers.
SELECT decoder, bool_and(abs(centroid[1] - c[1]) < 0.3 AND abs(centroid[2] - c[2]) < 0.3)
       AS same_numbers_within_0_3
FROM kept, unnest(ARRAY['auto', 'clompr', 'shift']) decoder,
     decode(k, 5, decoder, jsonb_build_object('init', (SELECT jsonb_agg(c ORDER BY cluster DESC) FROM truth))) d, truth t
WHERE t.cluster = 4 - d.cluster GROUP BY decoder ORDER BY decoder;
SELECT count(*) AS clusters FROM kept, decode(k, 5, options => '{"init": [[0, 0], [6, 0]]}');

-- The residual shows the number of clusters: 5 is the lowest k whose cost is at most three times
-- the lowest cost.
SELECT min(g) AS clusters FROM (SELECT g, cost, min(cost) OVER () AS lowest FROM kept, generate_series(1, 9) g, decode(kept.k, g) f WHERE cluster = 0) t WHERE cost <= 3 * lowest;

-- Every wrong option is an error of its own.
SELECT decode(k, 5, 'clompr', '{"init": "magic"}') FROM kept;
SELECT decode(k, 5, 'clompr', '{"init": "sample"}') FROM kept;
SELECT decode(k, 5, options => '{"init": [[1, 2], [3]]}') FROM kept;
SELECT decode(k, 5, options => '{"init": [1, 2]}') FROM kept;
SELECT decode(k, 5, options => '{"init": []}') FROM kept;
SELECT decode(k, 5, options => '{"init": [[1, 2, 3]]}') FROM kept;
SELECT decode(k, 1, options => '{"init": [[1, 2], [3, 4]]}') FROM kept;
SELECT decode(k, 5, options => '{"init": [["a", 2]]}') FROM kept;
SELECT decode(k, 5, options => '{"init": {"a": 1}}') FROM kept;
SELECT decode(k, 5, options => '{"init": 7}') FROM kept;
SELECT decode(k, 5, 'shift', '{"sigma": 3}') FROM ladder;
SELECT decode(k, 5, 'shift', '{"model": "gaussian"}') FROM kept;
SELECT decode(k, 5, 'auto', '{"model": "gaussian"}') FROM ladder;
SELECT decode(k, 5, 'shift', '{"model": "cauchy"}') FROM ladder;
SELECT decode_covariances(k, 5, options => '{"model": "dirac"}') FROM ladder;
SELECT decode(k, 5, 'shift', '{"step": 0}') FROM ladder;
SELECT sketch_spec_agg(x, 5, '{"scales": [1, 2e6]}'::jsonb) FROM points WHERE id <= 100;
SELECT sketch_spec_agg(x, 5, '{"scales": [1, 0]}'::jsonb) FROM points WHERE id <= 100;
-- A decoder with one start works although the sample has 200 centroids.
SELECT count(*) AS clusters
  FROM decode((SELECT sketch_agg(x, (SELECT sketch_spec_agg(x, 200) FROM points)) FROM points),
           2, 'clompr', '{"starts": 1}', (SELECT sketch_spec_agg(x, 200) FROM points));

DROP FUNCTION worst_miss(float8[]); DROP TABLE truth, points, spec, kept, ladder;
