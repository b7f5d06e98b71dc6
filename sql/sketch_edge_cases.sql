-- Aggregate states and sketches refuse what they cannot represent (foreign states, overflow,
-- weights out of range) with an error, and never return a wrong sum.
CREATE TABLE r AS SELECT i, (SELECT array_agg(sin(i * j * 0.37)) FROM generate_series(1, 70) j) AS x FROM generate_series(1, 90) i;

-- A state serves only its own aggregate; another one raises an error.
CREATE AGGREGATE raw_sse(fastop, row_vector) (SFUNC = sse_accum, STYPE = aggregate_state);
SELECT lloyd_final(s) FROM (SELECT raw_sse((SELECT fastop_agg(x) FROM r), x) AS s FROM r) t;

-- A state may count up to 2^48 rows: two such states have no sum, and a larger count is not a
-- valid state.
CREATE AGGREGATE add_steps(aggregate_state) (SFUNC = state_combine, STYPE = aggregate_state);
SELECT add_steps(overlay(s::text PLACING '0000000000010000' FROM 43)::aggregate_state) FROM (SELECT raw_sse((SELECT fastop_agg(x) FROM r), x) AS s FROM r) t, generate_series(1, 2);
SELECT overlay(s::text PLACING '0000000000010001' FROM 43)::aggregate_state FROM (SELECT raw_sse((SELECT fastop_agg(x) FROM r), x) AS s FROM r) t;
SELECT fastclust_internal.sum(overlay(s::text PLACING '0000000000010000' FROM 187)::aggregate_state) FROM (SELECT scan_agg(ROW(NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1, 2, NULL, NULL, 1, NULL, NULL, NULL)::scan_plan, i, x) AS s FROM r) t, generate_series(1, 2);
SELECT overlay(s::text PLACING '0000000000010001' FROM 187)::aggregate_state FROM (SELECT scan_agg(ROW(NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1, 2, NULL, NULL, 1, NULL, NULL, NULL)::scan_plan, i, x) AS s FROM r) t;
DROP AGGREGATE add_steps(aggregate_state); DROP AGGREGATE raw_sse(fastop, row_vector);

-- Several sigmas, dense or structured, give exactly the sums of the whole table to merged rows,
-- to a weight of 2 and to a moving frame.
SELECT structured, merged = whole AS same_when_merged, moments(twice) = moments(whole)
       AS same_with_weight_2, frame = moments(whole) AS same_in_moving_frame
FROM (VALUES (true), (false)) s (structured),
LATERAL (SELECT sketch_spec(70, 45, 3.0, options => jsonb_build_object('structured', structured, 'sigmas', '[3, 1, 7.3]'::jsonb)) AS spec) p,
LATERAL (SELECT sketch_agg(x, spec) AS whole, sketch_agg(x, spec, 2) AS twice FROM r) w,
LATERAL (SELECT merge_agg(one) AS merged FROM (SELECT sketch_agg(x, spec) AS one FROM r GROUP BY i) t) m,
LATERAL (SELECT moments(k) AS frame FROM (SELECT i, sketch_agg(x, spec) OVER (ORDER BY i ROWS BETWEEN 89 PRECEDING AND CURRENT ROW) AS k FROM
  (SELECT i, x FROM r UNION ALL SELECT i - 90, x FROM r) u) v WHERE i = 90) f;

-- A sketch with any weight is read back from its text as the same value.
SELECT w AS weight, k::text::sketch = k AS same_from_text
  FROM (VALUES (0.0), (1.0), (2.0), (0.5), (0.3)) t (w),
LATERAL (SELECT sketch_agg(x, sketch_spec(70, 9, 3.0), w) AS k FROM r) s ORDER BY w;

-- Rows that were never added cannot be subtracted; subtracting all rows leaves a sketch of no
-- rows.
SELECT a - b FROM (SELECT sketch_agg(ARRAY[1], sketch_spec(1, 30, 0.5)) AS a FROM generate_series(1, 10)) t, (SELECT sketch_agg(ARRAY[3], sketch_spec(1, 30, 0.5)) AS b FROM generate_series(1, 9)) u;
SELECT a - b FROM (SELECT sketch_agg(ARRAY[1], sketch_spec(1, 30, 0.5)) AS a, sketch_agg(ARRAY[3], sketch_spec(1, 30, 0.5)) AS b) t;
SELECT format('CREATE AGGREGATE take_away(float8[], sketch_spec) (SFUNC = sketch_inverse, STYPE = sketch, INITCOND = %L)', sketch_agg(ARRAY[1], sketch_spec(1, 30, 0.5))) AS create \gset
:create;
SELECT row_count(take_away(ARRAY[1], sketch_spec(1, 30, 0.5)));
SELECT row_count(take_away(ARRAY[3], sketch_spec(1, 30, 0.5)));
DROP AGGREGATE take_away(float8[], sketch_spec);
SELECT row_count(a - a), means(a - a) AS means_of_no_rows
  FROM (SELECT sketch_agg(ARRAY[1], sketch_spec(1, 30, 0.5)) AS a) t;

-- The value -0 counts as 0, in rows and in specs.
SELECT sketch_agg(x, s ORDER BY i) = sketch_agg(x, s ORDER BY -i) AS same_sketch
  FROM (VALUES (1, ARRAY[0::float8]), (2, ARRAY['-0'::float8])) t (i, x),
       (SELECT sketch_spec(1, 5, 1.0) AS s) u;
SELECT sketch_spec(1, 5, 1.0, center => ARRAY['-0'::float8])
       = sketch_spec(1, 5, 1.0, center => ARRAY[0]) AS same_spec;

-- An overflow is an error for any order of the rows.
SELECT sketch_agg(x, sketch_spec(1, 5, 1.0), w) FROM (VALUES (ARRAY[2.5e11], 1.0), (ARRAY[0], 0.5)) t (x, w);
SELECT sketch_agg(x, sketch_spec(1, 5, 1.0), w) FROM (VALUES (ARRAY[0], 0.5), (ARRAY[2.5e11], 1.0)) t (x, w);

-- Sigmas that are too far apart, scales out of range and numbers too large for an operator are
-- errors. Moments stay within 1 for sigmas 1 and 1e-5.
SELECT sketch_spec(1, 5, 1.0, options => '{"sigmas": [1, 1e-200]}');
SELECT count(*) AS moments, max(abs(z)) <= 1.000001 AS moments_at_most_1
  FROM (SELECT moments(sketch_agg(ARRAY[900 * sin(i)],
           sketch_spec(1, 20, 1.0, options => '{"sigmas": [1, 1e-5]}'))) AS m
               FROM generate_series(1, 50) i) t, unnest(m) z;
SELECT sketch_spec(1, 5, 1e-300, scale => ARRAY[1e-300]);
SELECT assign(fastop_agg(c), ARRAY[1e39]) FROM (VALUES (ARRAY[1]), (ARRAY[2])) t (c);
SELECT sse_agg((SELECT fastop_agg(c) FROM (VALUES (ARRAY[1]), (ARRAY[2])) t (c)), ARRAY[1e200]);

-- A seed that is no integer is an error.
SELECT kmeans_agg(x, 2, '{"seed": 1.6}') FROM r;
DROP TABLE r;

-- A weight of 1e-9 counts; a weight of 1e-14 and one of 1e308 are errors that name it.
SELECT (describe(k) ->> 'total_weight')::float8 AS total, row_count(k) AS n FROM (SELECT sketch_agg(ARRAY[i], sketch_spec(1, 5, 1.0), w) AS k FROM (VALUES (1, 1.0), (2, 1e-9)) t (i, w)) u;
SELECT sketch_agg(ARRAY[i], sketch_spec(1, 5, 1.0), w) FROM (VALUES (1, 1.0), (2, 1e-14)) t (i, w);
SELECT lloyd_step_agg((SELECT fastop_agg(c) FROM (VALUES (ARRAY[1]), (ARRAY[2])) t (c)), ARRAY[1], 1e308);

-- A vector too large for a sample is an error that names it; rows far from the origin make a
-- spec.
SELECT sketch_spec_agg(x, 2) FROM (VALUES (ARRAY[1, 2]), (ARRAY[3, -1e300])) t (x);
SELECT sketch_spec_agg(ARRAY[i, i * 1e28], 2) IS NOT NULL AS has_spec FROM generate_series(1, 50) i;
SELECT sketch_spec_agg(x, 2) IS NOT NULL AS has_spec
  FROM (SELECT (SELECT array_agg(sin(i * j) * 1e30) FROM generate_series(1, 70) j) AS x
           FROM generate_series(1, 50) i) t;

-- Bounds include rows of weight 0; means do not.
SELECT describe(k) -> 'lower_bounds' AS lower_bounds, describe(k) -> 'upper_bounds' AS upper_bounds,
       means(k)
  FROM (SELECT sketch_agg(ARRAY[i], sketch_spec(1, 5, 1.0), w) AS k
           FROM (VALUES (1, 1.0), (7, 0)) t (i, w)) u;

-- Forty specs in one query, more than the cache once held, each give their own sums.
SELECT count(*) AS specs, count(DISTINCT k) AS different, count(*) FILTER (WHERE k = alone)
       AS same_as_alone
FROM (SELECT s, sketch_agg(ARRAY[i], spec ORDER BY i) AS k FROM generate_series(1, 40) s, generate_series(1, 20) i, LATERAL (SELECT sketch_spec(1, 5, 1.0, seed => s) AS spec) p GROUP BY s) t,
LATERAL (SELECT sketch_agg(ARRAY[i], (SELECT sketch_spec(1, 5, 1.0, seed => t.s))) AS alone FROM generate_series(1, 20) i) u;

-- A state that an aggregate without a final function returns still has uncounted rows. Merging it
-- in a window counts them.
CREATE AGGREGATE open_sketch(row_vector, sketch_spec) (SFUNC = sketch_accum, STYPE = sketch);
WITH kept AS (SELECT i % 3 AS part, open_sketch(x, sketch_spec(2, 40, 1.0)) AS open, sketch_agg(x, sketch_spec(2, 40, 1.0)) AS closed 
    FROM (SELECT i, ARRAY[sin(i), cos(3 * i)] AS x FROM generate_series(1, 90) i) r GROUP BY 1)
SELECT count(*) FILTER (WHERE a = b) AS same_frames, max(row_count(a)) AS most_rows
  FROM (SELECT merge_agg(open) OVER w AS a, merge_agg(closed) OVER w AS b FROM kept
    WINDOW w AS (ORDER BY part ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)) q;
-- The text and the bytes of such a state have counted them, too.
CREATE TABLE kept AS SELECT open_sketch(x, sketch_spec(2, 40, 1.0)) AS open, sketch_agg(x, sketch_spec(2, 40, 1.0)) AS closed
    FROM (SELECT ARRAY[sin(i), cos(3 * i)] AS x FROM generate_series(1, 90) i) r;
SELECT open::text::sketch = closed AS same_from_text, sketch_send(open) = sketch_send(closed)
       AS same_bytes FROM kept;
DROP TABLE kept; DROP AGGREGATE open_sketch(row_vector, sketch_spec);

-- Units that change between two evaluations of a PL/pgSQL expression are read again.
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

-- A state made by hand, whose buffer of rows is full in 1,024 dimensions, is not a valid state.
CREATE TABLE wide AS SELECT fastop_agg(array_fill(i, '{1024}')::real[]) AS op FROM generate_series(1, 4) i;
SELECT lloyd_sums_agg(op, array_fill(1, '{1024}')::real[])::text AS state FROM wide \gset
SELECT overlay(:'state' PLACING substr(:'state', 19, 8) FROM 11 FOR 8) AS full_state \gset
\set VERBOSITY terse
CREATE AGGREGATE from_full_state(fastop, row_vector) (SFUNC = lloyd_accum, STYPE = aggregate_state, INITCOND = :'full_state', FINALFUNC = lloyd_final);
SELECT (from_full_state(op, array_fill(1, '{1024}')::real[])).n FROM wide;
DROP AGGREGATE IF EXISTS from_full_state(fastop, row_vector); DROP TABLE wide;
