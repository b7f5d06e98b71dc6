-- open deltas of one live sketch are read by nobody who reads, folds or alters the tables of others, whatever was analyzed
SET client_min_messages = error;
\set SHOW_CONTEXT never
CREATE SCHEMA of_live_crowded;
SET search_path = of_live_crowded, public, fastclust;
ANALYZE;
CREATE TABLE made AS SELECT sketch_spec(2, 50, 1.0) AS s;
CREATE TABLE crowded (id integer, x real[]);
CREATE TABLE log (id integer, x real[]) PARTITION BY RANGE (id);
CREATE TABLE log_1 PARTITION OF log FOR VALUES FROM (0) TO (100);
CREATE TABLE other (id integer, x real[]) PARTITION BY RANGE (id);
CREATE TABLE root (id integer, x real[]);
CREATE TABLE branch () INHERITS (root);
CREATE TABLE new_part (id integer, x real[]);
CREATE TABLE new_child (id integer, x real[]);
CREATE TABLE parent (id integer, x real[]);
SELECT keep_sketch('crowded', 'crowded', 'x', s), keep_sketch('log', 'log', 'x', s), keep_sketch('root', 'root', 'x', s) FROM made;
INSERT INTO crowded VALUES (1, '{1,2}');
INSERT INTO log VALUES (1, '{1,2}');
INSERT INTO fastclust_internal.live_deltas (live_id, at, added_rows) SELECT d.live_id, d.at, d.added_rows FROM fastclust_internal.live_deltas d JOIN fastclust_internal.kept_sketches l ON l.id = d.live_id, generate_series(1, 20000) WHERE l.name = 'crowded';
-- it is a child without a live sketch of its own, where the server lets it become one
DO $$
BEGIN
    ALTER TABLE crowded INHERIT parent;
EXCEPTION WHEN OTHERS THEN
    NULL;
END
$$;
CREATE FUNCTION reads(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    counting text := 'SELECT COALESCE(sum(COALESCE(seq_tup_read, 0) + COALESCE(idx_tup_fetch, 0)), 0) FROM pg_stat_xact_user_tables WHERE relname = ''live_deltas''';
    before numeric;
    after numeric;
BEGIN
    EXECUTE counting INTO before;
    EXECUTE statement;
    EXECUTE counting INTO after;
    RETURN CASE WHEN after - before < 100 THEN 'few' ELSE format('%s of live_deltas', after - before) END;
END
$$;
CREATE TABLE statements AS SELECT * FROM unnest(ARRAY[
    $$SELECT current_sketch('log')$$, $$SELECT open_deltas, bytes, problem FROM live_sketches WHERE name = 'log'$$, $$SELECT count(*) FROM check_sketch('log')$$,
    'CREATE TABLE other_1 PARTITION OF other DEFAULT', 'ALTER TABLE log ATTACH PARTITION new_part FOR VALUES FROM (100) TO (200)', $$INSERT INTO log VALUES (101, '{1,2}')$$,
    'ALTER TABLE log DETACH PARTITION log_1', 'ALTER TABLE new_child INHERIT branch', $$INSERT INTO new_child VALUES (1, '{1,2}')$$,
    $$SELECT fold_sketches('log')$$, $$SELECT rebuild_sketch('log')$$, 'ALTER TABLE new_child NO INHERIT branch', 'ALTER TABLE log DETACH PARTITION new_part']) WITH ORDINALITY s(statement, i);
BEGIN;
SELECT statement, reads(statement) FROM (SELECT * FROM statements ORDER BY i) s;
SELECT name, (SELECT count(*) FROM check_sketch(name)) FROM live_sketches WHERE name <> 'crowded' ORDER BY id;
ROLLBACK;
ANALYZE fastclust_internal.live_deltas;
BEGIN;
SELECT statement, reads(statement) FROM (SELECT * FROM statements ORDER BY i) s;
SELECT name, (SELECT count(*) FROM check_sketch(name)) FROM live_sketches WHERE name <> 'crowded' ORDER BY id;
ROLLBACK;
DROP SCHEMA of_live_crowded CASCADE;
