-- decoders and their options: recovery of planted clusters, several sigmas, warm starts, covariances, errors

-- five clusters in the plane, deviation 0.5 in each direction, deterministic rows
CREATE TABLE truth AS SELECT i AS cluster, ARRAY[(ARRAY[0, 6, 0, 6, 3])[i + 1], (ARRAY[0, 0, 6, 6, 12])[i + 1]]::float8[] AS c FROM generate_series(0, 4) i;
CREATE TABLE points AS SELECT i AS id, ARRAY[c[1] + 0.5 * sqrt(-2 * ln(u)) * cos(v), c[2] + 0.5 * sqrt(-2 * ln(u)) * sin(v)] AS x
FROM (SELECT i, ((i * 0.6180339887498949) % 1.0) * 0.9999 + 0.00005 AS u, 2 * pi() * ((i * 0.7548776662466927) % 1.0) AS v FROM generate_series(1, 20000) i) t,
     LATERAL (SELECT c FROM truth WHERE cluster = i % 5) q;
CREATE FUNCTION worst_miss(found float8[]) RETURNS float8 LANGUAGE sql AS $$
  SELECT max(d) FROM (SELECT min(sqrt((t.c[1] - found[i][1]) ^ 2 + (t.c[2] - found[i][2]) ^ 2)) AS d
                      FROM truth t, generate_series(1, array_length(found, 1)) i GROUP BY t.cluster) m $$;

-- every decoder finds them: to 0.05, but discretized, which does not leave its starts
CREATE TABLE spec AS SELECT sketch_spec_agg(x, 5) AS s FROM points WHERE id <= 2000;
CREATE TABLE kept AS SELECT sketch_agg(x, (SELECT s FROM spec)) AS k FROM points;
SELECT decoder, worst_miss((SELECT array_agg(centroid) FROM kept, decode(k, 5, decoder))) < tolerance AS found
FROM (VALUES ('auto', 0.05), ('clompr', 0.05), ('shift', 0.05), ('discretized', 0.25)) d(decoder, tolerance);
SELECT init, worst_miss((SELECT array_agg(centroid) FROM kept, decode(k, 5, 'clompr', jsonb_build_object('init', init), (SELECT s FROM spec)))) < 0.05 AS found
FROM unnest(ARRAY['default', 'range', 'sample', 'kmeans++']) init;
SELECT worst_miss((SELECT array_agg(centroid) FROM kept, decode(k, 5, 'shift', '{"starts": 300, "rounds": 12, "step": 1.0}'))) < 0.25 AS fixed_step;

-- several sigmas in one sketch, chosen when decoding; auto and clompr use them all
CREATE TABLE ladder AS SELECT sketch_agg(x, (SELECT sketch_spec(2, 1000, 0.5, 'gaussian', options => '{"sigmas": [0.5, 1, 2, 20]}'))) AS k FROM points;
SELECT sigma, worst_miss((SELECT array_agg(centroid) FROM ladder, decode(k, 5, 'shift', jsonb_build_object('sigma', sigma)))) < 0.4 AS found
FROM unnest(ARRAY[0.5, 1, 2, 20]) sigma;
SELECT worst_miss((SELECT array_agg(centroid) FROM ladder, decode(k, 5, 'clompr', '{"sigma": 2, "starts": 1, "init": "range", "polish": false}'))) < 0.25 AS as_in_the_paper;
SELECT decoder, worst_miss((SELECT array_agg(centroid) FROM ladder, decode(k, 5, decoder))) < 0.05 AS found FROM unnest(ARRAY['auto', 'clompr']) decoder;
SELECT describe(sketch_spec_agg(x, 5, '{"scales": [1, 2], "sigma": 0.7, "law": "gaussian"}'::jsonb)) -> 'sigmas' AS sigmas FROM points WHERE id <= 100;

-- the same moments, one sigma at a time or together
SELECT moments(a) = (moments(b))[1:40] AS first, moments(c) = (moments(b))[41:80] AS second
FROM (SELECT sketch_agg(x, sketch_spec(2, 20, 1.0, 'gaussian')) AS a, sketch_agg(x, sketch_spec(2, 20, 1.0, 'gaussian', options => '{"sigmas": [1, 2]}')) AS b,
             sketch_agg(x, sketch_spec(2, 20, 2.0, 'gaussian')) AS c FROM points WHERE id <= 500) t;

-- Gaussian atoms: spreads and covariances near 0.5 and 0.25 I, a fit far better than points
SELECT count(*) AS clusters, bool_and(abs(spread - 0.5) < 0.1) AS spreads FROM ladder, decode(k, 5, 'shift', '{"model": "gaussian", "sigma": 0.5}');
SELECT bool_and(abs(covariance[i][j] - CASE WHEN i = j THEN 0.25 ELSE 0 END) < 0.1) AS covariances
FROM ladder, decode_covariances(k, 5, options => '{"sigma": 0.5}'), generate_series(1, 2) i, generate_series(1, 2) j;
SELECT g.cost < 0.2 * p.cost AS better FROM ladder l, decode(l.k, 5, 'shift', '{"model": "gaussian", "sigma": 1}') g JOIN decode(l.k, 5, 'shift', '{"sigma": 1, "polish": false}') p USING (cluster) WHERE cluster = 0;

-- shift polishes its atoms to one width, that of the clusters; the paper's own gives points, and is made for law gaussian: a notice says so
SELECT count(DISTINCT spread) AS widths, bool_and(abs(spread - 0.5) < 0.05) AS spreads FROM kept, decode(k, 5, 'shift');
SET client_min_messages = notice;
SELECT max(spread) AS spread FROM kept, decode(k, 5, 'shift', '{"polish": false}');
SELECT max(spread) AS spread FROM kept, decode(k, 5, 'discretized');
SELECT max(spread) AS spread FROM ladder, decode(k, 5, 'shift', '{"polish": false}');
SET client_min_messages = warning;

-- auto says so when a sketch cannot tell what is asked of it
SET client_min_messages = notice;
SELECT count(*) AS clusters FROM (SELECT sketch_agg(x, (SELECT sketch_spec(2, 8, 0.5))) AS k FROM points) t, decode(t.k, 5);
SELECT count(*) AS clusters FROM kept, decode(k, 60);
SELECT count(*) AS clusters FROM (SELECT sketch_agg(x, (SELECT sketch_spec(2, 60, 0.002))) AS k FROM points) t, decode(t.k, 5);
SELECT count(*) AS clusters FROM kept, decode(k, 3);
SET client_min_messages = warning;

-- centroids to start from keep their numbers
SELECT decoder, bool_and(abs(centroid[1] - c[1]) < 0.3 AND abs(centroid[2] - c[2]) < 0.3) AS same_numbers
FROM kept, unnest(ARRAY['auto', 'clompr', 'shift']) decoder,
     decode(k, 5, decoder, jsonb_build_object('init', (SELECT jsonb_agg(c ORDER BY cluster DESC) FROM truth))) d, truth t
WHERE t.cluster = 4 - d.cluster GROUP BY decoder ORDER BY decoder;
SELECT count(*) AS clusters FROM kept, decode(k, 5, options => '{"init": [[0, 0], [6, 0]]}');

-- the number of clusters: the least k whose cost is within three times the lowest
SELECT min(g) AS clusters FROM (SELECT g, cost, min(cost) OVER () AS lowest FROM kept, generate_series(1, 9) g, decode(kept.k, g) f WHERE cluster = 0) t WHERE cost <= 3 * lowest;

-- every bad option has its error
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
-- fewer starts than centroids of the sample
SELECT count(*) FROM decode((SELECT sketch_agg(x, (SELECT sketch_spec_agg(x, 200) FROM points)) FROM points), 2, 'clompr', '{"starts": 1}', (SELECT sketch_spec_agg(x, 200) FROM points));

DROP FUNCTION worst_miss(float8[]); DROP TABLE truth, points, spec, kept, ladder;
