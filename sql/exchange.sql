-- Frequencies and moments can be exchanged with other programs: moments that plain SQL computes by
-- the printed formula, the mean of exp(i (omega . x + phase)), are those of sketch_agg to 1e-6, and
-- a sketch made from them decodes to the same centroids.
\set VERBOSITY terse
SET search_path = public, fastclust;
SET extra_float_digits = -6;

CREATE TABLE exchanged AS SELECT i AS id, ARRAY[i % 3 * 10 + sin(i), i % 2 * 7 + cos(i * 1.7), 100 + sin(i * 0.3)] AS x
    FROM generate_series(1, 600) i;
CREATE FUNCTION moments_by_formula(omega double precision[], phase double precision)
RETURNS double precision[] LANGUAGE sql STABLE AS $$
    SELECT ARRAY[avg(cos(angle)), avg(sin(angle))]
    FROM (SELECT phase + omega[1] * x[1] + omega[2] * x[2] + omega[3] * x[3] AS angle
        FROM exchanged) a
$$;
CREATE TABLE spec_kinds AS
SELECT 'center, scale and two sigmas' AS kind, sketch_spec(3, 40, 1.5, 'adapted_radius', 7,
    ARRAY[10, 3, 100], ARRAY[1, 2, 0.5], '{"sigmas": [1.5, 3]}') AS spec
UNION ALL SELECT 'from a sample', (SELECT sketch_spec_agg(x, 6) FROM exchanged)
UNION ALL SELECT 'given', spec_of_frequencies((SELECT array_agg(ARRAY[sin(j), cos(j * 3), sin(j * j) / 10])
    FROM generate_series(1, 200) j), 1.0);

-- the largest difference of a moment: below 1e-6
SELECT kind, count(*) AS moments, max(greatest(abs(f.m[1] - s.m[2 * f.n - 1]),
    abs(f.m[2] - s.m[2 * f.n]))) < 1e-6 AS equal
FROM spec_kinds,
    LATERAL (SELECT moments(sketch_agg(x, spec)) AS m FROM exchanged) s,
    LATERAL (SELECT row_number() OVER () AS n, moments_by_formula(omega, phase) AS m
        FROM frequencies(spec)) f
GROUP BY kind ORDER BY kind;

-- a sketch of other programs: equal statistics, equal moments, and equal centroids to 1e-4
CREATE TABLE made AS
SELECT kind, spec, sketch_agg(x, spec) AS own,
    sketch_of_moments(spec, moments(sketch_agg(x, spec)), count(*), ARRAY[min(x[1]), min(x[2]), min(x[3])],
        ARRAY[max(x[1]), max(x[2]), max(x[3])], ARRAY[avg(x[1]), avg(x[2]), avg(x[3])],
        ARRAY[stddev_pop(x[1]), stddev_pop(x[2]), stddev_pop(x[3])]) AS other
FROM spec_kinds, exchanged GROUP BY kind, spec;
SELECT kind, row_count(other), means(other), stddevs(other),
    (SELECT max(abs(a - b)) < 1e-6 FROM unnest(moments(own), moments(other)) AS u(a, b)) AS equal,
    abs(sketch_distance(own, other) + 2.0 / 600) < 1e-2 AS near,
    row_count(own + other) AS sum_rows
FROM made ORDER BY kind;
SELECT kind, (SELECT max(abs(a - b)) < 1e-4 FROM unnest(
    (SELECT array_agg(centroid ORDER BY cluster) FROM decode(own, 6)),
    (SELECT array_agg(centroid ORDER BY cluster) FROM decode(other, 6))) AS u(a, b)) AS same_centroids
FROM made ORDER BY kind;
SELECT d.cluster, d.weight, ARRAY(SELECT round(c::numeric, 4) FROM unnest(d.centroid) c) AS centroid
FROM made, decode(other, 6) d WHERE kind = 'given' ORDER BY 1;
SELECT describe(spec) FROM spec_kinds WHERE kind = 'given';
-- text, binary and copies keep given frequencies; specs of other frequencies do not combine
SELECT bool_and(spec::text::sketch_spec = spec) AS round_trip FROM spec_kinds;
SELECT sketch_agg(x, spec_of_frequencies('{{1, 2, 3}}', 1)) + sketch_agg(x, spec_of_frequencies('{{1, 2, 4}}', 1)) FROM exchanged;

-- wrong input
SELECT spec_of_frequencies('{1, 2}', 1.0);
SELECT spec_of_frequencies('{}', 1.0);
SELECT spec_of_frequencies('{{1, NULL}}', 1.0);
SELECT spec_of_frequencies('{{1, NaN}}', 1.0);
SELECT spec_of_frequencies('{{1, 5000}}', 1.0);
SELECT spec_of_frequencies('{{1, 2}}', 0);
SELECT spec_of_frequencies('{{1, 2}}', 1, 'normal');
SELECT spec_of_frequencies(NULL, 1) IS NULL AS null_in;
SELECT frequencies(sketch_spec(60, 10, 1.0));
SELECT frequencies((SELECT sketch_spec_agg(x, 2, '{"dimensions": 2}') FROM exchanged));
SELECT sketch_of_moments(spec_of_frequencies('{{1}}', 1), '{1}', 5, '{0}', '{1}', '{0.5}', '{0.1}');
SELECT sketch_of_moments(spec_of_frequencies('{{1}}', 1), '{3, 0}', 5, '{0}', '{1}', '{0.5}', '{0.1}');
SELECT sketch_of_moments(spec_of_frequencies('{{1}}', 1), '{1, NaN}', 5, '{0}', '{1}', '{0.5}', '{0.1}');
SELECT sketch_of_moments(spec_of_frequencies('{{1}}', 1), '{1, 0}', 0, '{0}', '{1}', '{0.5}', '{0.1}');
SELECT sketch_of_moments(spec_of_frequencies('{{1}}', 1), '{1, 0}', 5, '{0}', '{1}', '{2}', '{0.1}');
SELECT sketch_of_moments(spec_of_frequencies('{{1}}', 1), '{1, 0}', 5, '{0}', '{1}', '{0.5}', '{-1}');
SELECT sketch_of_moments(spec_of_frequencies('{{1}}', 1), '{1, 0}', 5, '{0}', '{1e300}', '{1e200}', '{1}');
SELECT sketch_of_moments((SELECT sketch_spec_agg(x, 2, '{"dimensions": 2}') FROM exchanged), '{1, 0}', 5, '{0}', '{1}', '{0.5}', '{1}');
DROP TABLE exchanged, spec_kinds, made;
DROP FUNCTION moments_by_formula;
