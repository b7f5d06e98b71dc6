-- what would break later, or answer nothing, is told at once
SET client_min_messages = warning;
CREATE SCHEMA of_live_mistakes;
SET search_path = of_live_mistakes, public, fastclust;
CREATE TABLE orders (id integer, amount float8, items integer, colour text, at timestamptz, x real[]);
CREATE TABLE made AS SELECT sketch_spec(2, 50, 1.0) AS s;
-- a table without rows: every row written later would be an error
SELECT keep_sketch('columns', 'orders', ARRAY['amount'], s) FROM made;
SELECT keep_sketch('columns', 'orders', ARRAY['amount', 'items', 'id'], s) FROM made;
INSERT INTO orders VALUES (1, 1, 1, 'red', '2026-01-05', '{1,2}'), (2, 2, 3, 'blue', '2026-01-06', '{2,1}'), (3, 3, 2, 'red', '2026-01-06', '{3,1}');
CREATE TABLE learned AS SELECT encoder_agg(o, ARRAY['colour', 'amount']) AS e FROM orders o;
SELECT fastclust_internal.dim(e) FROM learned;
SELECT keep_sketch('encoded', 'orders', ARRAY['colour', 'amount'], s, jsonb_build_object('encoder', e::text)) FROM made, learned;
SELECT keep_sketch('vectors', 'orders', 'x', s, jsonb_build_object('encoder', e::text)) FROM made, learned;
SELECT keep_sketch('columns', 'orders', ARRAY['amount', 'items'], s), keep_sketch('vectors', 'orders', 'x', s),
       keep_sketch('lately', 'orders', 'x', s, '{"bucket": "at", "half_life": "7 days"}') FROM made;
-- a group of a live sketch without groups, a bucket of one without buckets
SELECT current_sketch('vectors', 'red');
SELECT current_sketch('vectors', bucket => '2026-01-05');
SELECT current_sketch('lately', 'red', half_life => '7 days');
SELECT row_count(current_sketch('vectors')), current_sketch('lately', bucket => '2025-01-05 03:00+00') IS NULL AS none;
-- a spec of the table's rows in the statement that makes the triggers
SELECT keep_sketch('vectors again', 'orders', 'x', (SELECT sketch_spec_agg(x, 2) FROM orders));
SELECT count(*) FROM live_sketches WHERE name = 'vectors again';
DROP SCHEMA of_live_mistakes CASCADE;
