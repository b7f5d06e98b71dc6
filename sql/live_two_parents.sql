-- children of two parents: a statement on one fires no trigger of the other, so that neither is followed, unless one is above both
SET client_min_messages = warning;
\set SHOW_CONTEXT never
CREATE SCHEMA of_live_two_parents;
SET search_path = of_live_two_parents, public, fastclust;
CREATE TABLE made AS SELECT sketch_spec(2, 50, 1.0) AS s;
CREATE TABLE root (id integer, x real[]);
CREATE TABLE a () INHERITS (root);
CREATE TABLE b () INHERITS (root);
CREATE TABLE child () INHERITS (a, b);
INSERT INTO child SELECT i, ARRAY[i % 7, i % 3] FROM generate_series(1, 100) i;
SELECT keep_sketch('a', 'a', 'x', s) FROM made;
SELECT keep_sketch('root', 'root', 'x', s) FROM made;
DELETE FROM a WHERE id = 1;
UPDATE b SET x = '{1,1}' WHERE id < 10;
DELETE FROM child WHERE id = 100;
SELECT row_count(current_sketch('root')), (SELECT count(*) FROM root), (SELECT count(*) FROM check_sketch('root')) AS differ;

CREATE TABLE one (id integer, x real[]);
CREATE TABLE two (id integer, x real[]);
CREATE TABLE shared () INHERITS (one, two);
SELECT keep_sketch('one', 'one', 'x', s) FROM made;
SELECT train('one', 'one', 'x', 2, 'compressive', '{"live": true, "quiet": true}');
ALTER TABLE shared NO INHERIT two;
INSERT INTO shared SELECT i, ARRAY[i % 7, i % 3] FROM generate_series(1, 100) i;
SELECT keep_sketch('one', 'one', 'x', s) FROM made;
SELECT train('one model', 'one', 'x', 2, 'compressive', '{"live": true, "quiet": true}');
-- a child is made with two
CREATE TABLE made_with_two () INHERITS (one, two);
SELECT current_sketch('one');
DROP TABLE made_with_two;
SELECT current_sketch('one');
SELECT rebuild_sketch('one'), rebuild_sketch('one model');
SELECT name, (SELECT count(*) FROM check_sketch(name)) AS differ FROM live_sketches ORDER BY name;
-- a table that is read by the statement that would follow it
SELECT keep_sketch('read', 'one', 'x', (SELECT sketch_spec_agg(x, 2) FROM one));
SELECT drop_model('one model');
DROP SCHEMA of_live_two_parents CASCADE;
