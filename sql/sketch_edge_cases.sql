-- states and sketches at the edges of what they take: wrong states, overflow, signed zeros, small and large weights
CREATE TABLE r AS SELECT i, (SELECT array_agg(sin(i * j * 0.37)) FROM generate_series(1, 70) j) AS x FROM generate_series(1, 90) i;

-- a state only serves its own aggregate
CREATE AGGREGATE raw_contingency(int, int) (SFUNC = contingency_accum, STYPE = aggregate_state);
CREATE AGGREGATE raw_sse(fastop, row_vector) (SFUNC = sse_accum, STYPE = aggregate_state);
SELECT lloyd_final(s) FROM (SELECT raw_contingency(1, 2) AS s) t;
SELECT adjusted_rand_final(s) FROM (SELECT raw_sse((SELECT fastop_agg(x) FROM r), x) AS s FROM r) t;
SELECT lloyd_final(s) FROM (SELECT raw_sse((SELECT fastop_agg(x) FROM r), x) AS s FROM r) t;

-- states that count as many rows as one may have no sum
CREATE AGGREGATE add_steps(aggregate_state) (SFUNC = state_combine, STYPE = aggregate_state);
SELECT add_steps(overlay(s::text PLACING '0000000000010000' FROM 43)::aggregate_state) FROM (SELECT raw_sse((SELECT fastop_agg(x) FROM r), x) AS s FROM r) t, generate_series(1, 2);
SELECT overlay(s::text PLACING '0000000000010001' FROM 43)::aggregate_state FROM (SELECT raw_sse((SELECT fastop_agg(x) FROM r), x) AS s FROM r) t;
SELECT fastclust_internal.sum(overlay(s::text PLACING '0000000000010000' FROM 187)::aggregate_state) FROM (SELECT scan_agg(ROW(NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1, 2, NULL, NULL, 1, NULL, NULL)::scan_plan, i, x) AS s FROM r) t, generate_series(1, 2);
SELECT overlay(s::text PLACING '0000000000010001' FROM 187)::aggregate_state FROM (SELECT scan_agg(ROW(NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1, 2, NULL, NULL, 1, NULL, NULL)::scan_plan, i, x) AS s FROM r) t;
DROP AGGREGATE add_steps(aggregate_state); DROP AGGREGATE raw_contingency(int, int); DROP AGGREGATE raw_sse(fastop, row_vector);

-- several sigmas, dense and structured: batches, single rows, weights and moving frames give the same sums
SELECT structured, merged = whole AS merged, moments(twice) = moments(whole) AS weighted, frame = moments(whole) AS moving
FROM (VALUES (true), (false)) s (structured),
LATERAL (SELECT sketch_spec(70, 45, 3.0, options => jsonb_build_object('structured', structured, 'sigmas', '[3, 1, 7.3]'::jsonb)) AS spec) p,
LATERAL (SELECT sketch_agg(x, spec) AS whole, sketch_agg(x, spec, 2) AS twice FROM r) w,
LATERAL (SELECT merge_agg(one) AS merged FROM (SELECT sketch_agg(x, spec) AS one FROM r GROUP BY i) t) m,
LATERAL (SELECT moments(k) AS frame FROM (SELECT i, sketch_agg(x, spec) OVER (ORDER BY i ROWS BETWEEN 89 PRECEDING AND CURRENT ROW) AS k FROM
  (SELECT i, x FROM r UNION ALL SELECT i - 90, x FROM r) u) v WHERE i = 90) f;

-- every weight survives its text form
SELECT w, k::text::sketch = k AS kept FROM (VALUES (0.0), (1.0), (2.0), (0.5), (0.3)) t (w),
LATERAL (SELECT sketch_agg(x, sketch_spec(70, 9, 3.0), w) AS k FROM r) s ORDER BY w;

-- what was never added cannot be taken away
SELECT a - b FROM (SELECT sketch_agg(ARRAY[1], sketch_spec(1, 30, 0.5)) AS a FROM generate_series(1, 10)) t, (SELECT sketch_agg(ARRAY[3], sketch_spec(1, 30, 0.5)) AS b FROM generate_series(1, 9)) u;
SELECT a - b FROM (SELECT sketch_agg(ARRAY[1], sketch_spec(1, 30, 0.5)) AS a, sketch_agg(ARRAY[3], sketch_spec(1, 30, 0.5)) AS b) t;
SELECT format('CREATE AGGREGATE take_away(float8[], sketch_spec) (SFUNC = sketch_inverse, STYPE = sketch, INITCOND = %L)', sketch_agg(ARRAY[1], sketch_spec(1, 30, 0.5))) AS create \gset
:create;
SELECT row_count(take_away(ARRAY[1], sketch_spec(1, 30, 0.5)));
SELECT row_count(take_away(ARRAY[3], sketch_spec(1, 30, 0.5)));
DROP AGGREGATE take_away(float8[], sketch_spec);
SELECT row_count(a - a), means(a - a) IS NULL AS nothing FROM (SELECT sketch_agg(ARRAY[1], sketch_spec(1, 30, 0.5)) AS a) t;

-- -0 is 0
SELECT sketch_agg(x, s ORDER BY i) = sketch_agg(x, s ORDER BY -i) AS same FROM (VALUES (1, ARRAY[0::float8]), (2, ARRAY['-0'::float8])) t (i, x), (SELECT sketch_spec(1, 5, 1.0) AS s) u;
SELECT sketch_spec(1, 5, 1.0, center => ARRAY['-0'::float8]) = sketch_spec(1, 5, 1.0, center => ARRAY[0]) AS same;

-- overflow is an error in either order
SELECT sketch_agg(x, sketch_spec(1, 5, 1.0), w) FROM (VALUES (ARRAY[2.5e11], 1.0), (ARRAY[0], 0.5)) t (x, w);
SELECT sketch_agg(x, sketch_spec(1, 5, 1.0), w) FROM (VALUES (ARRAY[0], 0.5), (ARRAY[2.5e11], 1.0)) t (x, w);

-- scales far apart, widths out of range, numbers too large for operators
SELECT sketch_spec(1, 5, 1.0, options => '{"sigmas": [1, 1e-200]}');
SELECT max(abs(z)) <= 1.000001 AS moments_in_range FROM (SELECT moments(sketch_agg(ARRAY[900 * sin(i)], sketch_spec(1, 20, 1.0, options => '{"sigmas": [1, 1e-5]}'))) AS m FROM generate_series(1, 50) i) t, unnest(m) z;
SELECT sketch_spec(1, 5, 1e-300, scale => ARRAY[1e-300]);
SELECT assign(fastop_agg(c), ARRAY[1e39]) FROM (VALUES (ARRAY[1]), (ARRAY[2])) t (c);
SELECT sse_agg((SELECT fastop_agg(c) FROM (VALUES (ARRAY[1]), (ARRAY[2])) t (c)), ARRAY[1e200]);

-- seeds are whole
SELECT kmeans_agg(x, 2, '{"seed": 1.6}') FROM r;
DROP TABLE r;

-- small weights count, negligible ones and huge ones are named
SELECT (describe(k) ->> 'total_weight')::float8 AS total, row_count(k) AS n FROM (SELECT sketch_agg(ARRAY[i], sketch_spec(1, 5, 1.0), w) AS k FROM (VALUES (1, 1.0), (2, 1e-9)) t (i, w)) u;
SELECT sketch_agg(ARRAY[i], sketch_spec(1, 5, 1.0), w) FROM (VALUES (1, 1.0), (2, 1e-14)) t (i, w);
SELECT lloyd_step_agg((SELECT fastop_agg(c) FROM (VALUES (ARRAY[1]), (ARRAY[2])) t (c)), ARRAY[1], 1e308);

-- vectors too large for a pilot are named; rows far out are not in the way
SELECT sketch_spec_agg(x, 2) FROM (VALUES (ARRAY[1, 2]), (ARRAY[3, -1e300])) t (x);
SELECT sketch_spec_agg(ARRAY[i, i * 1e28], 2) IS NOT NULL AS large FROM generate_series(1, 50) i;
SELECT sketch_spec_agg(x, 2) IS NOT NULL AS large FROM (SELECT (SELECT array_agg(sin(i * j) * 1e30) FROM generate_series(1, 70) j) AS x FROM generate_series(1, 50) i) t;

-- bounds take in rows of weight 0
SELECT describe(k) -> 'lower_bounds', describe(k) -> 'upper_bounds', means(k) FROM (SELECT sketch_agg(ARRAY[i], sketch_spec(1, 5, 1.0), w) AS k FROM (VALUES (1, 1.0), (7, 0)) t (i, w)) u;

-- more specs at once than once fitted: each still gives its own sums
SELECT count(*), count(DISTINCT k), bool_and(k = alone) AS own
FROM (SELECT s, sketch_agg(ARRAY[i], spec ORDER BY i) AS k FROM generate_series(1, 40) s, generate_series(1, 20) i, LATERAL (SELECT sketch_spec(1, 5, 1.0, seed => s) AS spec) p GROUP BY s) t,
LATERAL (SELECT sketch_agg(ARRAY[i], (SELECT sketch_spec(1, 5, 1.0, seed => t.s))) AS alone FROM generate_series(1, 20) i) u;

-- a state kept as a value has rows that wait: merging in a window takes them in
CREATE AGGREGATE open_sketch(row_vector, sketch_spec) (SFUNC = sketch_accum, STYPE = sketch);
WITH kept AS (SELECT i % 3 AS part, open_sketch(x, sketch_spec(2, 40, 1.0)) AS open, sketch_agg(x, sketch_spec(2, 40, 1.0)) AS closed 
    FROM (SELECT i, ARRAY[sin(i), cos(3 * i)] AS x FROM generate_series(1, 90) i) r GROUP BY 1)
SELECT bool_and(a = b) AS same, max(row_count(a)) AS most FROM (SELECT merge_agg(open) OVER w AS a, merge_agg(closed) OVER w AS b FROM kept
    WINDOW w AS (ORDER BY part ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)) q;
-- and what is written of it has taken them in
CREATE TABLE kept AS SELECT open_sketch(x, sketch_spec(2, 40, 1.0)) AS open, sketch_agg(x, sketch_spec(2, 40, 1.0)) AS closed
    FROM (SELECT ARRAY[sin(i), cos(3 * i)] AS x FROM generate_series(1, 90) i) r;
SELECT open::text::sketch = closed AS as_text, sketch_send(open) = sketch_send(closed) AS as_bytes FROM kept;
DROP TABLE kept; DROP AGGREGATE open_sketch(row_vector, sketch_spec);

-- units that change where PL/pgSQL evaluates an expression again
CREATE FUNCTION moved() RETURNS SETOF float8[] LANGUAGE plpgsql AS $$
DECLARE
    center float8[];
BEGIN
    FOR i IN 1 .. 2 LOOP
        center := ARRAY[i, i + i % 2];
        RETURN NEXT scaled_vector(center, ARRAY[1.0, 2], ARRAY[10, 20]);
    END LOOP;
END
$$;
SELECT * FROM moved();
DROP FUNCTION moved();

-- a state of another's making whose waiting rows leave no room for the next, in 1024 dimensions
CREATE TABLE wide AS SELECT fastop_agg(array_fill(i, '{1024}')::real[]) AS op FROM generate_series(1, 4) i;
SELECT lloyd_sums_agg(op, array_fill(1, '{1024}')::real[])::text AS state FROM wide \gset
SELECT overlay(:'state' PLACING substr(:'state', 19, 8) FROM 11 FOR 8) AS full_state \gset
\set VERBOSITY terse
CREATE AGGREGATE from_full_state(fastop, row_vector) (SFUNC = lloyd_accum, STYPE = aggregate_state, INITCOND = :'full_state', FINALFUNC = lloyd_final);
SELECT (from_full_state(op, array_fill(1, '{1024}')::real[])).n FROM wide;
DROP AGGREGATE IF EXISTS from_full_state(fastop, row_vector); DROP TABLE wide;
