-- A live sketch always equals the sketch of a fresh scan of its table, to the last bit, after any
-- INSERT, UPDATE, DELETE, COPY or TRUNCATE.
-- Where it cannot know the rows (disabled triggers, a changed column), it raises an error until
-- it is rebuilt; it never returns a wrong sketch.
-- Its rights are the rights on the table.
CREATE TABLE visits AS SELECT i AS id, 'shop ' || i % 3 AS shop, timestamptz '2026-01-05 12:00+00' + i * interval '6 hours' AS at,
           ARRAY[i % 7, i % 11 + 0.25]::real[] AS x, i::float8 AS a, i % 13 AS b, 'note' AS note FROM generate_series(1, 200) i;
CREATE TABLE made AS SELECT sketch_spec(2, 50, 1.0) AS s;
-- exact(): is the current sketch of each live sketch the sketch of a scan, to the last bit?
CREATE FUNCTION exact() RETURNS boolean LANGUAGE sql STABLE AS $$
    SELECT fastclust_internal.same_rows(current_sketch('plain'), (SELECT sketch_agg(x, (SELECT s FROM made)) FROM visits))
       AND fastclust_internal.same_rows(current_sketch('grouped'), (SELECT sketch_agg(ARRAY[a, b::float8], (SELECT s FROM made)) FROM visits WHERE id > 5 AND num_nulls(shop, at, a, b) = 0))
$$;
CREATE FUNCTION deltas(OUT name text, OUT added_rows integer, OUT removed_rows integer, OUT added bigint, OUT removed bigint) RETURNS SETOF record LANGUAGE sql STABLE AS $$
    SELECT l.name, length(d.added_rows), length(d.removed_rows), row_count(d.added), row_count(d.removed)
      FROM fastclust_internal.live_deltas d JOIN fastclust_internal.kept_sketches l ON l.id = d.live_id ORDER BY l.id, d.ctid
$$;
SELECT keep_sketch('plain', 'visits', 'x', (SELECT s FROM made));
SELECT keep_sketch('grouped', 'visits', ARRAY['a', 'b'], (SELECT s FROM made), '{"group_by": "shop", "bucket": "at", "bucket_width": "7 days", "where": "id > 5"}');
SELECT exact();
SELECT group_value, bucket AT TIME ZONE 'UTC' AS week, row_count(s) FROM current_sketches('grouped') ORDER BY 1, 2 LIMIT 3;

-- A small change is kept as rows, a large one as a sketch. A change of other columns writes
-- nothing.
INSERT INTO visits VALUES (201, 'shop 0', '2026-02-01', '{1,2}', 1, 2);
SELECT * FROM deltas();
SELECT fold_sketches();
SELECT exact();
INSERT INTO visits SELECT i, 'shop 1', '2026-02-02', ARRAY[i, 1], 1, i FROM generate_series(301, 700) i;
UPDATE visits SET note = 'seen', id = id;
SELECT * FROM deltas();
UPDATE visits SET x = x || '{}'::real[], b = b + (id % 2) WHERE id < 4;
UPDATE visits SET x[1] = 3 WHERE id BETWEEN 10 AND 12;
DELETE FROM visits WHERE id > 400;
SELECT * FROM deltas() WHERE name = 'plain';
SELECT exact(), fold_sketches('plain'), fold_sketches('plain');
SELECT exact();
INSERT INTO visits (id, x) VALUES (701, NULL), (702, '{5,5}');
INSERT INTO visits (id, shop, at) VALUES (703, 'shop 9', '-infinity'), (704, 'shop 9', 'infinity');
COPY visits (id, shop, at, x, a, b) FROM STDIN;
705	shop 1	2026-01-01	{1,2}	1	2
706	shop 2	2025-12-31	{3,4}	\N	2
\.
SELECT exact();

-- A savepoint that is open at COMMIT writes a large sketch at its end, because statement triggers of
-- a partition do not fire.
CREATE TABLE parts (id integer, a float8) PARTITION BY RANGE (id); CREATE TABLE part_1 PARTITION OF parts FOR VALUES FROM (0) TO (1000000);
SELECT keep_sketch('part_1', 'part_1', '{a}', sketch_spec(1, 2000, 1.0)) AS rows;
BEGIN; SAVEPOINT one; INSERT INTO parts SELECT i, i / 5000.0 FROM generate_series(1, 5000) i; COMMIT;
SELECT row_count(current_sketch('part_1')) AS rows;
SELECT drop_sketch('part_1'); DROP TABLE parts;

-- A rollback undoes its part of a live sketch, also to a savepoint, and TRUNCATE empties the
-- sketch.
BEGIN;
DELETE FROM visits WHERE id % 2 = 0;
SAVEPOINT one;
TRUNCATE visits;
INSERT INTO visits VALUES (1, 'shop 0', '2026-02-01', '{1,2}', 1, 2);
SELECT exact(), row_count(current_sketch('plain'));
ROLLBACK TO one;
SELECT exact();
ROLLBACK;
SELECT exact(), row_count(current_sketch('plain'));
BEGIN;
TRUNCATE visits;
SELECT exact(), current_sketch('plain') AS sketch_after_truncate;
INSERT INTO visits SELECT i, 'shop 1', '2026-02-02', ARRAY[i, 1], 1, i FROM generate_series(1, 50) i;
COMMIT;
SELECT exact(), row_count(current_sketch('plain')),
       row_count(current_sketch('grouped', 'shop 1')) AS rows_of_shop_1,
       current_sketch('grouped', 'shop 2') AS sketch_of_shop_2;
SELECT count(*) AS differences FROM check_sketch('plain');
SELECT count(*) AS differences FROM check_sketch('grouped');

-- INSERT ... ON CONFLICT DO UPDATE is counted right, and so is a statement that deletes and
-- inserts.
ALTER TABLE visits ADD PRIMARY KEY (id);
INSERT INTO visits SELECT i, 'shop 1', '2026-02-02', ARRAY[i, 1], 1, i FROM generate_series(41, 60) i ON CONFLICT (id) DO UPDATE SET x = '{7,7}', a = 3;
WITH gone AS (DELETE FROM visits WHERE id < 5 RETURNING *) INSERT INTO visits SELECT id + 1000, shop, at, x, a, b FROM gone;
SELECT exact();

-- A row that cannot be sketched is refused with an error that names the live sketch, and the
-- sketch stays exact.
\set SHOW_CONTEXT errors
INSERT INTO visits (id, x) VALUES (800, '{1,NaN}');
INSERT INTO visits (id, x) VALUES (800, '{1,2,3}');
INSERT INTO visits (id, x) SELECT 5000 + i, CASE i WHEN 999 THEN '{1,Infinity}' ELSE '{1,2}' END::real[] FROM generate_series(1, 1000) i;
\set SHOW_CONTEXT never
SELECT exact();

-- A change that bypassed the triggers or altered the column is an error until rebuild_sketch
-- counts the table again. check_sketch names the difference.
ALTER TABLE visits DISABLE TRIGGER ALL;
INSERT INTO visits (id, x) VALUES (900, '{1,2}');
SELECT current_sketch('plain');
ALTER TABLE visits ENABLE TRIGGER ALL;
SELECT rebuild_sketch('plain'), rebuild_sketch('grouped');
SELECT exact();
SET session_replication_role = replica;
INSERT INTO visits (id, x) VALUES (901, '{1,2}');
RESET session_replication_role;
SELECT exact();
ALTER TABLE visits ALTER x TYPE double precision[];
INSERT INTO visits (id, x) VALUES (902, '{1,2}');
SELECT current_sketch('plain');
SELECT rebuild_sketch('plain');
SELECT exact();
ALTER TABLE visits RENAME x TO y;
INSERT INTO visits (id, y) VALUES (903, '{1,2}');
SELECT current_sketch('plain');
SELECT difference FROM check_sketch('plain');
ALTER TABLE visits RENAME y TO x;
SELECT rebuild_sketch('plain');
SELECT exact();
UPDATE fastclust_internal.live_bases SET s = s + s WHERE live_id = (SELECT id FROM live_sketches WHERE name = 'plain');
SELECT difference FROM check_sketch('plain');
SELECT rebuild_sketch('plain');
SELECT exact();
SELECT count(*) AS differences FROM check_sketch('plain');

-- A spec with the cosine metric sketches rows scaled to length 1 and leaves out zero vectors, in
-- small and in large changes.
CREATE TABLE angles (x real[]);
CREATE TABLE of_angles AS SELECT sketch_spec(2, 20, 0.5, options => '{"metric": "cosine"}') AS s;
SELECT keep_sketch('angles', 'angles', 'x', (SELECT s FROM of_angles));
INSERT INTO angles VALUES ('{3,4}'), ('{0,0}'), ('{0.1,0.7}');
INSERT INTO angles SELECT ARRAY[i % 5, i % 3 + i / 700.0] FROM generate_series(0, 899) i;
DELETE FROM angles WHERE x[1] = 3;
SELECT fastclust_internal.same_rows(current_sketch('angles'),
           (SELECT sketch_agg(x, (SELECT s FROM of_angles)) FROM angles)) AS exact,
       row_count(current_sketch('angles')), (SELECT count(*) AS rows_in_table FROM angles);
\set SHOW_CONTEXT errors
INSERT INTO angles VALUES ('{1,NaN}');
\set SHOW_CONTEXT never
SELECT drop_sketch('angles');
DROP TABLE angles, of_angles;

-- The option concurrently lets keep_sketch only create the triggers, so writers never wait. The
-- sketch cannot be read before rebuild_sketch has counted the table.
CREATE TABLE large AS SELECT i AS id, ARRAY[i % 7, i % 5]::real[] AS x FROM generate_series(1, 1000) i;
SELECT keep_sketch('large', 'large', 'x', (SELECT s FROM made), '{"concurrently": true}');
INSERT INTO large VALUES (1001, '{1,1}');
DELETE FROM large WHERE id < 10;
SELECT state, problem, open_deltas FROM live_sketches WHERE name = 'large';
SELECT current_sketch('large');
SELECT difference FROM check_sketch('large');
SELECT fold_sketches('large');
BEGIN;
SELECT rebuild_sketch('large');
SELECT mode FROM pg_locks WHERE relation = 'large'::regclass;
COMMIT;
SELECT state, row_count(current_sketch('large')), (SELECT count(*) FROM check_sketch('large')) AS differ FROM live_sketches WHERE name = 'large';
DELETE FROM large WHERE id > 990;
SELECT row_count(current_sketch('large')), (SELECT count(*) FROM check_sketch('large')) AS differ;
SELECT drop_sketch('large');
-- keep_sketch recommends that option in a notice where it counts millions of rows while writers
-- wait.
UPDATE pg_class SET reltuples = 3e6, relpages = pg_relation_size('large') / current_setting('block_size')::integer WHERE oid = 'large'::regclass;
SET client_min_messages = notice;
SELECT keep_sketch('large', 'large', 'x', (SELECT s FROM made)) AS rows_counted;
SET client_min_messages = warning;
DROP TABLE large;

-- A bad name, option, column or dimension, an isolation level above READ COMMITTED and a trigger
-- of the user's are refused.
SELECT keep_sketch('plain', 'visits', 'x', (SELECT s FROM made));
SELECT keep_sketch('', 'visits', 'x', (SELECT s FROM made));
SELECT keep_sketch('bad', 'visits', 'x', (SELECT s FROM made), '{"groupby": "shop"}');
SELECT keep_sketch('bad', 'visits', 'x', (SELECT s FROM made), '{"group_by": "at"}');
SELECT keep_sketch('bad', 'visits', 'x', (SELECT s FROM made), '{"bucket": "shop"}');
SELECT keep_sketch('bad', 'visits', 'x', (SELECT s FROM made), '{"bucket": "at", "bucket_width": "1 month"}');
SELECT keep_sketch('bad', 'visits', 'x', (SELECT s FROM made), '{"bucket": "at", "bucket_width": "often"}');
SELECT keep_sketch('bad', 'visits', 'x', (SELECT s FROM made), '{"bucket_width": "1 day"}');
SELECT keep_sketch('bad', 'visits', ARRAY['note'], sketch_spec(1, 10, 1.0));
SELECT keep_sketch('bad', 'visits', 'shop', sketch_spec(1, 10, 1.0));
SELECT keep_sketch('bad', 'visits', 'x', sketch_spec(3, 10, 1.0));
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT keep_sketch('bad', 'visits', 'x', (SELECT s FROM made));
ROLLBACK;
CREATE TRIGGER mine BEFORE INSERT ON visits FOR EACH ROW EXECUTE FUNCTION fastclust_internal.live_change('1');
INSERT INTO visits (id) VALUES (-1);
DROP TRIGGER mine ON visits;

-- The features must have the dimensions of the spec, and features that are not numbers need an
-- encoder that fits them.
SELECT keep_sketch('bad', 'visits', ARRAY['a'], s) FROM made;
SELECT keep_sketch('bad', 'visits', ARRAY['a', 'a'], s) FROM made;
CREATE TABLE learned AS SELECT encoder_agg(o, ARRAY['shop', 'a']) AS e FROM visits o;
SELECT keep_sketch('bad', 'visits', ARRAY['a', 'shop'], s, jsonb_build_object('encoder', e::text)) FROM made, learned;
SELECT keep_sketch('bad', 'visits', 'x', s, jsonb_build_object('encoder', e::text)) FROM made, learned;
SELECT keep_sketch('bad', 'visits', 'x', (SELECT sketch_spec_agg(x, 2) FROM visits));
DROP TABLE learned;

-- A group is an error where the sketch has no groups, a bucket where it has none, and a date that
-- starts no bucket is one, too. An unknown group has no sketch.
SELECT current_sketch('plain', 'shop 1');
SELECT current_sketch('plain', bucket => '2026-01-05');
SELECT current_sketch('grouped', 'shop 1', '2026-01-06 05:00');
SELECT check_sketch('grouped', NULL, '2026-01-06 05:00');
SELECT current_sketch('plain', 'red', half_life => '7 days');
SELECT current_sketch('grouped', 'none') AS sketch_of_unknown_group;

-- A user needs the same rights for a live sketch as for the table: a writer of the table changes
-- it, a reader of the column reads it, and only the owner rebuilds or drops it.
CREATE ROLE live_writer; CREATE ROLE live_reader; GRANT INSERT, TRUNCATE ON visits TO live_writer; GRANT SELECT (x) ON visits TO live_reader;
SET ROLE live_writer;
INSERT INTO visits (id, x) VALUES (3001, '{4,4}');
SELECT current_sketch('plain');
SELECT count(*) AS seen FROM live_sketches;
SELECT count(*) AS seen FROM fastclust_internal.live_deltas;
SELECT fold_sketches();
SELECT rebuild_sketch('plain');
SELECT drop_sketch('plain');
SELECT keep_sketch('mine', 'visits', 'x', sketch_spec(2, 10, 1.0));
INSERT INTO fastclust_internal.live_deltas (live_id) VALUES (1);
SET ROLE live_reader;
SELECT row_count(current_sketch('plain')) AS rows_for_reader;
SELECT current_sketch('grouped');
SELECT fold_sketches('plain');
RESET ROLE;
SELECT exact();

-- No user's code runs with another user's rights: neither a condition smuggled past keep_sketch
-- nor an index expression during a rebuild.
CREATE ROLE live_owner; GRANT CREATE ON SCHEMA public TO live_owner;
SET ROLE live_owner;
CREATE TABLE trap (x real[]);
CREATE FUNCTION who(i integer) RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS $$BEGIN RAISE NOTICE 'run by %', current_user; RETURN true; END$$;
SELECT fastclust_internal.claim_live(jsonb_populate_record(NULL::fastclust_internal.kept_sketches, jsonb_build_object('name', 'trap', 'relation', 'trap', 'features', '{x}', 'vector', true,
       'condition', 'public.who(1)', 'spec', sketch_spec(2, 10, 1.0), 'columns', '{x}')));
SELECT keep_sketch('trap', 'trap', 'x', sketch_spec(2, 10, 1.0));
CREATE INDEX ON trap ((who(1)));
RESET ROLE;
SELECT rebuild_sketch('trap');
SELECT * FROM check_sketch('trap');
INSERT INTO trap VALUES ('{1,2}');
SELECT row_count(current_sketch('trap'));
SET ROLE live_owner;
SELECT fastclust_internal.set_live_triggers(-1, 'trap', true), fastclust_internal.set_live_triggers(NULL, 'trap', true), fastclust_internal.set_live_triggers(1, NULL, true);
\set VERBOSITY terse
SELECT fastclust_internal.set_live_triggers(1, 0, true);
\set VERBOSITY default
DROP TABLE trap;
RESET ROLE;
SELECT count(*) AS live_sketches_of_dropped_table FROM live_sketches WHERE name = 'trap';
DROP FUNCTION who;
REVOKE CREATE ON SCHEMA public FROM live_owner;
DROP ROLE live_owner;

-- Dropping the last live sketch of a table leaves no trigger behind.
SELECT name FROM live_sketches ORDER BY 1;
SELECT drop_sketch('plain'), drop_sketch('grouped');
SELECT count(*) AS triggers FROM pg_trigger
 WHERE tgrelid = 'visits'::regclass AND NOT tgisinternal;
DROP TABLE visits; DROP FUNCTION exact, deltas; DROP TABLE made; DROP ROLE live_writer, live_reader;

-- check_sketch of one group or one bucket reports exactly the differences of that group or
-- bucket.
CREATE SCHEMA of_live_checks; SET search_path = of_live_checks, public, fastclust;
CREATE TABLE visits AS
    SELECT i AS id, 'shop ' || i % 3 AS shop, timestamptz '2026-01-05 12:00+00' + i * interval '6 hours' AS at, ARRAY[i % 7, i % 11 + 0.25]::real[] AS x
      FROM generate_series(1, 200) i;
CREATE TABLE made AS SELECT sketch_spec(2, 50, 1.0) AS s;
SELECT keep_sketch('visits', 'visits', 'x', s, '{"group_by": "shop", "bucket": "at"}'), keep_sketch('plain', 'visits', 'x', s) FROM made;
SELECT count(*) AS differences FROM check_sketch('visits', 'shop 1');
SELECT checked_at FROM live_sketches WHERE name = 'visits';
-- The next rows bypass the triggers: two belong to shop 1 on some day, one to a shop that has no
-- sketch. The event trigger that would notice the missing triggers is disabled.
ALTER EVENT TRIGGER fastclust_live_dropped DISABLE;
SELECT fastclust_internal.set_live_triggers(id, 'visits', false) FROM live_sketches ORDER BY id;
INSERT INTO visits VALUES (1000, 'shop 1', '2026-01-07 03:00+00', '{1,1}'), (1001, 'shop 9', '2026-01-08 03:00+00', '{1,1}');
UPDATE visits SET x = '{9,9}' WHERE id = 3;
SELECT fastclust_internal.set_live_triggers(id, 'visits', true) FROM live_sketches ORDER BY id;
ALTER EVENT TRIGGER fastclust_live_dropped ENABLE ALWAYS;
SELECT group_value, bucket AT TIME ZONE 'UTC' AS day, sketched, counted, difference FROM check_sketch('visits', 'shop 1');
SELECT group_value, bucket AT TIME ZONE 'UTC' AS day, sketched, counted, difference FROM check_sketch('visits', 'shop 9');
SELECT group_value, bucket AT TIME ZONE 'UTC' AS day, sketched, counted, difference FROM check_sketch('visits', bucket => '2026-01-06 00:00+00');
SELECT count(*) AS differences FROM check_sketch('visits', 'shop 2');
SELECT count(*) AS differences FROM check_sketch('visits', 'shop 1', '2026-01-09 00:00+00');
SELECT checked_at FROM live_sketches WHERE name = 'visits';
SELECT group_value, bucket AT TIME ZONE 'UTC' AS day, sketched, counted, difference FROM check_sketch('visits');
SELECT differences FROM live_sketches WHERE name = 'visits';
SELECT rebuild_sketch('visits'), rebuild_sketch('plain');
SELECT count(*) AS differences FROM check_sketch('visits');
DROP SCHEMA of_live_checks CASCADE;

-- A live sketch whose state was lost says why in the first row of check_sketch, even where its
-- sums are damaged or a row cannot be sketched.
CREATE SCHEMA of_lost_checks; SET search_path = of_lost_checks, public, fastclust;
CREATE TABLE removed (a float8); CREATE TABLE infinite (a float8);
SELECT keep_sketch(t, t::regclass, '{a}', sketch_spec(1, 8, 1.0)) FROM unnest('{removed,infinite}'::text[]) t;
INSERT INTO removed SELECT i FROM generate_series(1, 10) i;
ALTER TABLE removed DISABLE TRIGGER USER; ALTER TABLE infinite DISABLE TRIGGER USER;
INSERT INTO removed SELECT i FROM generate_series(1, 20) i; INSERT INTO infinite VALUES ('Infinity');
ALTER TABLE removed ENABLE TRIGGER USER; ALTER TABLE infinite ENABLE TRIGGER USER;
DELETE FROM removed;
SELECT t, c.sketched, c.counted, c.difference FROM unnest('{removed,infinite}'::text[]) t, check_sketch(t) c;
SELECT name, state, differences FROM live_sketches ORDER BY id;
SELECT rebuild_sketch('removed'),
       (SELECT count(*) AS differences FROM check_sketch('removed'));
-- Triggers that were dropped and created again, identical to the old ones, are noticed: changes
-- made meanwhile are reported as lost.
SELECT string_agg(pg_get_triggerdef(oid) || format('; ALTER TABLE removed ENABLE ALWAYS TRIGGER %I', tgname), ';') AS made, string_agg(format('DROP TRIGGER %I ON removed', tgname), ';') AS dropped
  FROM pg_trigger WHERE tgrelid = 'removed'::regclass \gset
:dropped; INSERT INTO removed VALUES (1); :made;
SELECT c.sketched, c.counted, c.difference FROM check_sketch('removed') c;
SELECT rebuild_sketch('removed'),
       (SELECT count(*) AS differences FROM check_sketch('removed'));
DROP SCHEMA of_lost_checks CASCADE;
SELECT count(*) AS live_sketches_left FROM live_sketches;
