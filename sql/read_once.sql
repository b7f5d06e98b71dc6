-- A function that takes the name of a model reads the stored model once in a query, not once in a
-- row, so it costs no more than a subquery would.
-- The test counts the scans of the tables in fastclust_internal.

CREATE TABLE points AS SELECT i, i % 2 AS half, ARRAY[i % 4 * 9 + sin(i), i % 2 * 5 + cos(i * i)]::real[] AS x FROM generate_series(1, 1000) i;
SELECT train('plain', 'points', 'x', 4, options => '{"quiet": true, "levels": [2, 2]}'), train('other', 'points', 'x', 2, options => '{"quiet": true}'),
	train('halves', 'points', 'x', 2, options => '{"quiet": true, "group_by": "half"}');
SELECT keep_sketch('kept', 'points', 'x', model_spec('plain'));
SET max_parallel_workers_per_gather = 0;

CREATE FUNCTION reads(query text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	before bigint;
BEGIN
	SELECT sum(seq_scan + COALESCE(idx_scan, 0)) INTO before FROM pg_stat_xact_all_tables WHERE schemaname = 'fastclust_internal';
	EXECUTE query;
	RETURN (SELECT sum(seq_scan + COALESCE(idx_scan, 0)) FROM pg_stat_xact_all_tables WHERE schemaname = 'fastclust_internal') - before;
END
$$;

-- Each STABLE function that returns one value and takes the name of a model or of a sketch first
-- has a call here; the functions without one are listed: none.
CREATE TABLE calls (call text);
INSERT INTO calls VALUES
	('anomaly(''plain'', x)'), ('assign(model_operator(''plain''), x)'), ('current_sketch(''kept'')'), ('describe(''plain'')'),
	('encode_row(model_encoder(''plain''), points)'), ('model_encoder(''plain'')'), ('model_operator(''plain'')'), ('model_operator(''halves'', half)'),
	('model_spec(''plain'')'), ('plot(''plain'')'), ('predict(''plain'', x)'), ('predict_distance(''plain'', x)'), ('predict_name(''plain'', x)'),
	('predict_path(''plain'', x)'), ('report(''plain'', false)'), ('predict(CASE WHEN half = 0 THEN ''plain'' ELSE ''other'' END, x)'),
	('assign(model_operator(CASE WHEN half = 0 THEN ''plain'' ELSE ''other'' END), x)'), ('sketch_agg(x, model_spec(''plain''))'),
	('lloyd_step_agg(model_operator(''plain''), x)'), ('fastclust_internal.shown_names(1, half, '''')');
SELECT p.oid::regprocedure AS not_called FROM pg_proc p
 WHERE p.pronamespace = 'fastclust'::regnamespace AND p.provolatile = 's' AND NOT p.proretset AND p.proargnames[1] IN ('model', 'name')
   AND NOT EXISTS (SELECT FROM calls c WHERE c.call LIKE '%' || p.proname || '(%');
SELECT call, of_1000 <= of_2 AS not_more_for_1000_rows, of_2 > 0 AS is_read
  FROM (SELECT call, reads(format('SELECT count(c) FROM (SELECT %s AS c FROM (SELECT * FROM points ORDER BY i LIMIT 2) points OFFSET 0) q', call)) AS of_2,
			   reads(format('SELECT count(c) FROM (SELECT %s AS c FROM points OFFSET 0) q', call)) AS of_1000 FROM calls OFFSET 0) q ORDER BY call COLLATE "C";

-- What is kept is valid for one state of the models, one user and one set of output settings,
-- also within one expression of a function.
CREATE FUNCTION clusters_then(change text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	found text := '';
BEGIN
	FOR i IN 1 .. 2 LOOP
		found := concat_ws(' ', found, clusters(model_operator('other')));
		IF i = 1 THEN
			EXECUTE change;
		END IF;
	END LOOP;
	RETURN found;
END
$$;
SELECT clusters_then($$SELECT train('other', 'points', 'x', 3, options => '{"quiet": true}')$$) AS retrained;
SELECT clusters_then('SELECT use_version(''other'', 1)') AS went_back;
BEGIN;
SELECT clusters_then('SELECT drop_model(''other'')') AS dropped;
ROLLBACK;
CREATE ROLE reader_of_none;
SELECT clusters_then('SET ROLE reader_of_none') AS another_role;
RESET ROLE;
SELECT count(DISTINCT model_operator(m)::text) AS operators FROM unnest(ARRAY['plain', 'other', 'plain', 'other']) m;
SELECT model_operator(NULL::text) FROM points LIMIT 1;
SELECT model_operator('halves', half::numeric) IS NOT NULL AS has_operator FROM points LIMIT 1;
SELECT clusters(model_operator('halves', g)) FROM unnest('{0,1,2}'::int[]) g;

DROP ROLE reader_of_none;
SELECT drop_sketch('kept'), drop_model('plain'), drop_model('other'), drop_model('halves');
DROP TABLE points, calls; DROP FUNCTION reads, clusters_then;
