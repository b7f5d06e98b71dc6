-- No combination of NULLs crashes a function or causes an internal error: every C function and
-- every aggregate is called with each combination that can reach it, also as a transition
-- function of a user's aggregate.
\set ECHO none
\set QUIET on
SET client_min_messages = error;
CREATE SCHEMA of_nulls;
SET search_path = of_nulls, public, fastclust, fastclust_internal;
\set QUIET off
\set ECHO all
CREATE TABLE some_rows AS SELECT i::bigint AS id, ARRAY[i % 5, i % 3]::float8[] AS x FROM generate_series(1, 60) i;
CREATE TABLE made AS SELECT sketch_spec(2, 50, 1.0, 'gaussian') AS s, kmeans_agg(x, 2) AS op FROM some_rows;
SELECT train('nulls', 'some_rows', 'x', 2) AS version;
-- Aggregates without a final function return the states.
CREATE AGGREGATE lloyd_state(fastop, row_vector) (SFUNC = lloyd_accum, STYPE = aggregate_state);
CREATE AGGREGATE sse_state(fastop, row_vector) (SFUNC = sse_accum, STYPE = aggregate_state);
CREATE AGGREGATE silhouette_state(fastop, row_vector) (SFUNC = silhouette_accum, STYPE = aggregate_state);
CREATE AGGREGATE davies_bouldin_state(fastop, row_vector) (SFUNC = davies_bouldin_accum, STYPE = aggregate_state);
-- sample has good values for each type, and for names of arguments where the type says too
-- little. In an expression, i is the number of the row of an aggregate.
CREATE TABLE sample (type regtype, name text, value text, expression text);
INSERT INTO sample VALUES
	('boolean', '', 'true'), ('integer', '', '2'), ('integer', 'frequencies', '50'), ('integer', 'version', '1'), ('bigint', '', '3'), ('double precision', '', '0.5'),
	('text', '', 'nulls'), ('text', 'law', 'gaussian'), ('text', 'decoder', 'shift'), ('text', 'method', 'auto'), ('text', 'function', 'train'), ('jsonb', '', '{}'),
	('real[]', '', '{1,2}'), ('double precision[]', '', '{1,2}'), ('double precision[]', 'more', '{}'), ('smallint[]', '', '{1,2}'), ('row_vector', '', '{1,2}'), ('regtype', '', 'real[]'), ('integer[]', '', '{1,0}'), ('numeric[]', '', '{1,2}'),
	('regclass', '', 'some_rows'), ('name', '', 'x'), ('text', 'features', 'x'), ('name', 'id_column', 'id'), ('kernel', '', 'rbf(0.5)'), ('tid', '', '(0,1)'),
	('timestamp with time zone', '', '2026-01-01'), ('text[]', '', '{a,b}'), ('text', 'condition', 'true'), ('bytea', '', '\x040000803f00000040');
INSERT INTO sample VALUES ('"any"', '', NULL, '1::float8, 2::float8'), ('anycompatible', '', 'nulls', NULL), ('anyarray', '', NULL, 'ARRAY[1, 2]'), ('anycompatiblearray', '', NULL, 'ARRAY[0, 1]'), ('record', '', NULL, 'ROW(1, 2)'), ('integer[]', 'kinds', '{0,0}', NULL), ('integer[]', 'columns', '{1,2}', NULL), ('integer[]', 'paths', '{{0},{1}}', NULL);
INSERT INTO sample VALUES ('tsvector', '', 'a:1 b:2', NULL);
INSERT INTO sample VALUES ('text', 'metric', 'cosine', NULL), ('integer[]', 'flags', '{1,2}', NULL);
INSERT INTO sample VALUES ('text', 'query', 'SELECT NULL::lloyd_step', NULL), ('oid[]', '', '{0}', NULL);
INSERT INTO sample VALUES ('integer[]', 'levels', '{1,2}', NULL), ('integer[]', 'dimensions', '{1,1}', NULL);
INSERT INTO sample VALUES ('fastclust_internal.scan_plan[]', '', NULL, 'ARRAY[ROW(NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 2, NULL, NULL, 0, NULL, NULL, NULL)::scan_plan]'), ('text[]', 'groups', '{"{1}"}', NULL),
	('text[]', 'texts', '{"{1}"}', NULL), ('text', 'given', '{1}', NULL);
INSERT INTO sample VALUES ('bigint', 'id', NULL, 'i::bigint'), ('fastclust_internal.stored_versions[]', '', NULL, 'ARRAY(SELECT v FROM fastclust_internal.stored_versions v LIMIT 1)'),
	('fastclust_internal.stored_versions', '', NULL, '(SELECT v FROM fastclust_internal.stored_versions v LIMIT 1)'), ('name[]', '', '{x}', NULL),
	('scan_plan', '', NULL, 'ROW(NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 2, NULL, NULL, 0, NULL, NULL, NULL)::scan_plan');
INSERT INTO sample SELECT 'sketch_spec', '', s FROM made;
INSERT INTO sample SELECT 'sketch', '', sketch_agg(x, (SELECT s FROM made)) FROM some_rows;
INSERT INTO sample SELECT 'drift_spec', '', drift_spec_of_sample(op, 1) FROM made;
INSERT INTO sample SELECT 'drift_counts', '', drift_counts_agg(x, (SELECT value::drift_spec FROM sample WHERE type = 'drift_spec'::regtype)) FROM some_rows;
INSERT INTO sample SELECT 'fastop', '', op FROM made;
INSERT INTO sample SELECT 'kernel_projection', '', kernel_projection_agg(id, x, 'rbf(0.5)', 2) FROM some_rows;
INSERT INTO sample SELECT 'kernel_map', '', nystroem(op, 'rbf(0.5)') FROM made;
INSERT INTO sample VALUES ('record', '', NULL, '(SELECT r FROM (SELECT 1.5::float8 AS f1, 2.0::float8 AS f2, ARRAY[1, 2]::float8[] AS x) r)'), ('text[]', '', '{f1,f2}', NULL), ('regclass[]', '', '{some_rows}', NULL), ('oid', '', '0', NULL), ('role_name', '', 'nobody', NULL), ('interval', '', '1 day', NULL);
INSERT INTO sample SELECT 'encoder', '', encoder_agg(ROW(x[1], x[2]), '{f1,f2}') FROM some_rows;
INSERT INTO sample SELECT 'aggregate_state', '', unnest(ARRAY[lloyd_state(op, x)::text, sse_state(op, x)::text, silhouette_state(op, x)::text,
	davies_bouldin_state(op, x)::text,
	((scan_result(scan_agg(ROW(NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1, 20, '{1,1}', 2, 0, NULL, NULL, NULL)::scan_plan, id, x))).sample)::text, scan_agg(ROW(NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 20, NULL, NULL, 1, NULL, ARRAY[op], NULL)::scan_plan, id, x)::text])
	FROM some_rows, made GROUP BY op;
INSERT INTO sample SELECT 'scan_plan', '', ROW(encoder_agg(ROW(x[1], x[2]), '{f1,f2}'), NULL, NULL, NULL, NULL, NULL, NULL, 1, 20, NULL, NULL, 1, NULL, ARRAY[op], NULL)::scan_plan
	FROM some_rows, made GROUP BY op;
-- callable lists the C functions and aggregates of the extension, and one of several that differ
-- only in the type of the vector, with "any" as real[]. Left out are entries of PL/pgSQL
-- functions and what SQL cannot call: arguments of type internal or cstring, and DDL commands.
-- The column most has a bit for each argument that may be NULL; it is 0 if the function is
-- strict.
CREATE VIEW callable AS
	SELECT DISTINCT ON (coalesce(t.prosrc, p.prosrc), a.aggfinalfn, p.pronargs) p.oid, format('%I.%I', n.nspname, p.proname) AS name, p.prokind, p.proretset, p.prorettype, p.pronargs, p.proargnames, p.provariadic,
		   CASE WHEN p.provariadic = 0 THEN regexp_replace(p.proargtypes::text, '\m2276\M', '1021', 'g')::oidvector ELSE p.proargtypes END AS proargtypes,
		   CASE WHEN p.proisstrict THEN 0 ELSE (1 << p.pronargs) - 1 END AS most
	FROM pg_extension e
	JOIN pg_depend d ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = e.oid AND d.classid = 'pg_proc'::regclass
	JOIN pg_proc p ON p.oid = d.objid
	JOIN pg_namespace n ON n.oid = p.pronamespace
	JOIN pg_language l ON l.oid = p.prolang
	LEFT JOIN pg_aggregate a ON a.aggfnoid = p.oid
	LEFT JOIN pg_proc t ON t.oid = a.aggtransfn
	WHERE e.extname = 'fastclust' AND (l.lanname = 'c' AND p.prosrc NOT IN ('fastclust_as_owner', 'fastclust_with_sketch') OR p.prokind = 'a')
	  AND p.prorettype NOT IN ('trigger'::regtype, 'event_trigger'::regtype, 'language_handler'::regtype) AND NOT p.proargtypes::oid[] && ARRAY['internal'::regtype, 'cstring'::regtype, 'pg_ddl_command'::regtype]::oid[]
	ORDER BY coalesce(t.prosrc, p.prosrc), a.aggfinalfn, p.pronargs, p.oid;
-- arguments_of() returns the good values of each argument, as an array of SQL expressions.
CREATE FUNCTION arguments_of(f callable) RETURNS SETOF text[] LANGUAGE sql STABLE AS $$
	SELECT (SELECT coalesce(array_agg(coalesce(s.expression, format('%L::%s', s.value, s.type))), '{}')
			FROM sample s
			WHERE s.type = f.proargtypes[i] AND s.name = coalesce((SELECT n.name FROM sample n WHERE n.type = s.type AND n.name = f.proargnames[i + 1]), ''))
	FROM generate_series(0, f.pronargs - 1) i ORDER BY i
$$;
SELECT f.oid::regprocedure AS no_sample FROM callable f WHERE EXISTS (SELECT FROM arguments_of(f) a WHERE a = '{}');
CREATE FUNCTION outcome(query text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE query;
	RETURN '00000';
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE;
END $$;
-- lists_of() returns lists of the arguments from `first` on. If bit i of `nulls` is set, argument
-- i is NULL in the rows for which `where_null` holds.
CREATE FUNCTION lists_of(f callable, first integer, nulls integer, where_null text) RETURNS SETOF text LANGUAGE plpgsql STABLE AS $$
DECLARE
	samples jsonb := coalesce((SELECT jsonb_agg(to_jsonb(a)) FROM arguments_of(f) a), '[]');
	variants integer := coalesce((SELECT max(jsonb_array_length(a)) FROM jsonb_array_elements(samples) a), 1);
BEGIN
	FOR v IN 0 .. variants - 1 LOOP
		RETURN NEXT array_to_string(ARRAY(
			SELECT CASE WHEN i = f.pronargs - 1 AND f.provariadic NOT IN (0, '"any"'::regtype) THEN 'VARIADIC ' ELSE '' END ||
				   CASE WHEN (nulls >> i) & 1 = 0 THEN value
						WHEN where_null = 'true' THEN format('NULL::%s', f.proargtypes[i]::regtype)
						ELSE format('CASE WHEN %s THEN NULL ELSE %s END', where_null, value) END
			FROM generate_series(first, f.pronargs - 1) i,
				 LATERAL (SELECT samples -> i ->> (v % nullif(jsonb_array_length(samples -> i), 0))) e (value)
			ORDER BY i), ', ');
	END LOOP;
END $$;
-- Functions are called directly. Of functions with more than ten arguments at most three are NULL,
-- or at most three are not.
\set QUIET on
CREATE TABLE tried AS SELECT f.oid::regprocedure::text AS called, nulls, outcome(format('SELECT count(*) FROM %s(%s)', f.name, list)) AS state
	FROM callable f, generate_series(0, f.most) nulls, lists_of(f, 0, nulls, 'true') list
	WHERE f.prokind = 'f' AND (f.pronargs <= 10 OR length(replace(nulls::bit(16)::text, '0', '')) NOT BETWEEN 4 AND f.pronargs - 4);
-- Aggregates get NULL in all rows, in the first or in the third, over all rows and over a moving
-- frame.
INSERT INTO tried SELECT f.oid::regprocedure, nulls,
		   outcome(format('SELECT count(r) FROM (SELECT %s(%s)%s AS r FROM generate_series(1, 4) i) q', f.name, list, frame))
	FROM callable f, generate_series(0, f.most) nulls, (VALUES ('true'), ('i = 1'), ('i = 3')) w (where_null),
		 (VALUES (''), (' OVER (ORDER BY i ROWS 1 PRECEDING)')) o (frame), lists_of(f, 0, nulls, where_null) list
	WHERE f.prokind = 'a' AND (nulls > 0 OR where_null = 'true');
-- A function that returns the type of its first argument may be the transition function of a
-- user's aggregate, which starts from NULL or from a state.
CREATE FUNCTION outcomes_as_transition(f callable, first_state text) RETURNS TABLE (nulls integer, state text) LANGUAGE plpgsql AS $$
DECLARE
	types text := array_to_string(ARRAY(SELECT f.proargtypes[i]::regtype::text FROM generate_series(1, f.pronargs - 1) i ORDER BY i), ', ');
	signature text := format('of_anybody(%s)', coalesce(nullif(types, ''), '*'));
	made text := outcome(format('CREATE AGGREGATE %s (SFUNC = %s, STYPE = %s%s)', signature, f.name, f.proargtypes[0]::regtype,
								', INITCOND = ' || quote_literal(first_state)));
BEGIN
	RETURN QUERY SELECT n, CASE WHEN made <> '00000' THEN made
			ELSE outcome(format('SELECT count(r) FROM (SELECT of_anybody(%s) AS r FROM generate_series(1, 4) i) q', coalesce(nullif(list, ''), '*'))) END
		FROM generate_series(0, greatest(f.most - 1, 0), 2) n, (VALUES ('true'), ('i = 1'), ('i = 3')) w (where_null), lists_of(f, 1, n, where_null) list
		WHERE n > 0 OR where_null = 'true';
	IF made = '00000' THEN
		EXECUTE 'DROP AGGREGATE ' || signature;
	END IF;
END $$;
INSERT INTO tried SELECT f.oid::regprocedure, o.nulls, o.state
	FROM callable f, LATERAL (SELECT NULL::text UNION ALL SELECT s.value FROM sample s WHERE s.type = f.proargtypes[0]) st (first_state),
		 outcomes_as_transition(f, first_state) o WHERE f.prokind = 'f' AND NOT f.proretset AND f.pronargs > 0 AND f.prorettype = f.proargtypes[0];
\set QUIET off
-- No call is an internal error. With all arguments given, each function answers, or says that it
-- is for an aggregate or a model with groups.
-- Left out of the second check are functions that need more than a good value of each type: a
-- query, two dimensions, a scan plan, a live sketch, a version in the making.
SELECT DISTINCT called, nulls, state FROM tried WHERE state LIKE 'XX%' ORDER BY 1, 2, 3;
SELECT DISTINCT called, state FROM tried t WHERE nulls = 0 AND called !~ '^(change_points|import_model|version_fits|write_|serve_version|check_sketch|current_sketch|rebuild_sketch|rows_sampled|scan_|fastclust_owner[.]run_latest|sketch_of_moments|spec_of_frequencies)'
	AND NOT EXISTS (SELECT FROM tried s WHERE s.called = t.called AND s.nulls = 0 AND s.state IN ('00000', '0A000', '42809')) ORDER BY 1, 2;
SELECT count(*) > 1000 AS over_1000_calls, count(DISTINCT called) > 40 AS over_40_functions
  FROM tried;
-- A view and a cast that return NULL at random, and differently at each use of a row, cause no
-- internal error.
CREATE SEQUENCE tick;
CREATE VIEW moody_view AS SELECT id, CASE WHEN nextval('tick') % 5 < 3 THEN x END AS x FROM some_rows;
CREATE TYPE pair AS (a real, b real);
CREATE FUNCTION moody_values(pair) RETURNS real[] LANGUAGE sql VOLATILE AS 'SELECT CASE WHEN nextval(''tick'') % 5 < 3 THEN ARRAY[$1.a, $1.b] END';
CREATE CAST (pair AS real[]) WITH FUNCTION moody_values(pair) AS IMPLICIT;
CREATE TABLE moody_cast AS SELECT id, (x[1], x[2])::pair AS x FROM some_rows;
CREATE VIEW gone AS SELECT id, CASE WHEN nextval('tick') % 61 = 0 THEN x END AS x FROM some_rows;
SELECT source, call, outcome(format(call, source)) !~ '^XX' AS no_internal_error
  FROM (VALUES ('moody_view'), ('moody_cast'), ('gone')) s (source),
	 (VALUES ('SELECT count(*) FROM qkmeans_log(%L, ''x'', 2)'), ('SELECT count(*) FROM kernel_kmeans(%L, ''id'', ''x'', ''rbf(0.5)'', 2)'),
	  ('SELECT train(''moody'', %L, ''x'', 2)'), ('SELECT train(''moody'', %L, ''x'', 2, ''qkmeans'')'),
	  ('SELECT train(''moody'', %L, ''x'', 2, ''sketch'')'), ('SELECT drift(''nulls'', %L)'),
	  ('SELECT kmeans_agg(x, 2) FROM %I'), ('SELECT sketch_spec_agg(x, 2) FROM %I')) c (call) ORDER BY source, call COLLATE "C";
SELECT drop_model(model) FROM models WHERE model IN ('nulls', 'moody') \g /dev/null
SET client_min_messages = warning;
DROP SCHEMA of_nulls CASCADE;
