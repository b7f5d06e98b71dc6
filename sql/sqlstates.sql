-- Each kind of error has its SQLSTATE, which programs rely on. A statement that raises another
-- one is listed: none.
\set ECHO none
CREATE TABLE two AS SELECT ARRAY[i, i + 0.5]::float8[] AS x FROM generate_series(1, 8) i;
CREATE TABLE made AS SELECT sketch_spec(2, 20, 1.0) AS s, sketch_agg(x, sketch_spec(2, 20, 1.0)) AS k,
       fastop_agg(x ORDER BY x) AS op FROM two;
CREATE FUNCTION sqlstate_of(statement text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE statement;
	RETURN '00000';
EXCEPTION WHEN OTHERS THEN
	RETURN SQLSTATE;
END $$;
\set QUIET off
\set ECHO all
SELECT statement, wanted, sqlstate_of(statement) AS got
FROM (VALUES
	('22004', 'SELECT sketch_agg(ARRAY[1, NULL]::float8[], s) FROM made'),
	('22004', 'SELECT sketch_agg(x, NULL::sketch_spec) FROM two'),
	('22004', 'SELECT sketch_agg(x, (SELECT s FROM made), NULL) FROM two'),
	('22004', 'SELECT decode(k, NULL) FROM made'),
	('22000', 'SELECT assign(op, ARRAY[1, ''NaN'']::float8[]) FROM made'),
	('22000', 'SELECT assign(op, ARRAY[1, 2, 3]) FROM made'),
	('22000', 'SELECT sketch_agg(''{}''::float8[], s) FROM made'),
	('2202E', 'SELECT sketch_agg(ARRAY[[1, 2]]::float8[], s) FROM made'),
	('22003', 'SELECT sketch_agg(ARRAY[1e15, 0]::float8[], s) FROM made'),
	('22003', 'SELECT sketch_agg(x, (SELECT s FROM made), 1e-30) FROM two'),
	('22023', 'SELECT sketch_agg(x, (SELECT s FROM made), -1) FROM two'),
	('22000', 'SELECT k + (SELECT sketch_agg(x, sketch_spec(2, 20, 2.0)) FROM two) FROM made'),
	('22000', 'SELECT k - (k + k) FROM made'),
	('22023', 'SELECT sketch_spec(2, 20, -1)'),
	('22023', 'SELECT sketch_spec(2, 20, 1, ''cauchy'')'),
	('22023', 'SELECT sketch_spec(2, 20, 1, options => ''{"a": 1}'')'),
	('22023', 'SELECT decode(k, 0) FROM made'),
	('22023', 'SELECT decode(k, 9) FROM made'),
	('22023', 'SELECT decode(k - k, 1) FROM made'),
	('22000', 'SELECT decode(k, 2, sample => sketch_spec(2, 20, 9.0)) FROM made'),
	('22023', 'SELECT kmeans_agg(x, 9) FROM two'),
	('22P02', 'SELECT ''\x00''::sketch'),
	('22P02', 'SELECT ''abc''::fastop'),
	('22003', 'SELECT fastop_agg(x) FROM (VALUES (ARRAY[1e300]), (ARRAY[0])) t (x)'),
	('22023', 'SET fastclust.memory_budget = 1'),
	('54000', 'SET LOCAL fastclust.memory_budget = 1024; SELECT sketch_agg(x, sketch_spec(2, 1000000, 1.0)) FROM two'),
	('0A000', 'SELECT sketch_combine(k, k) FROM made'),
	('22004', 'CREATE AGGREGATE taken(float8[], sketch_spec) (SFUNC = sketch_inverse, STYPE = sketch); SELECT taken(x, (SELECT s FROM made)) FROM two')
) t (wanted, statement)
WHERE sqlstate_of(statement) IS DISTINCT FROM wanted;
DROP FUNCTION sqlstate_of;
DROP TABLE two, made;
