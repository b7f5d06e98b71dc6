-- a spec of other dimensions than the columns is told at once: each row written later would be an error
SET client_min_messages = warning;
CREATE SCHEMA of_live_mistakes;
SET search_path = of_live_mistakes, public, fastclust;
CREATE TABLE orders (id integer, amount float8, items integer, colour text);
CREATE TABLE made AS SELECT sketch_spec(2, 50, 1.0) AS s;
SELECT keep_sketch('columns', 'orders', ARRAY['amount'], s) FROM made;
SELECT keep_sketch('columns', 'orders', ARRAY['amount', 'items', 'id'], s) FROM made;
INSERT INTO orders VALUES (1, 1, 1, 'red'), (2, 2, 3, 'blue'), (3, 3, 2, 'red');
CREATE TABLE learned AS SELECT encoder_agg(o, ARRAY['colour', 'amount']) AS e FROM orders o;
SELECT dim(e) FROM learned;
SELECT keep_sketch('encoded', 'orders', ARRAY['colour', 'amount'], s, jsonb_build_object('encoder', e::text)) FROM made, learned;
SELECT keep_sketch('columns', 'orders', ARRAY['amount', 'items'], s) FROM made;
SELECT keep_sketch('encoded', 'orders', ARRAY['colour', 'amount'], sketch_spec(3, 50, 1.0), jsonb_build_object('encoder', e::text)) FROM learned;
DROP SCHEMA of_live_mistakes CASCADE;
