-- Centroids for an index built elsewhere, and the health of an index.
SET extra_float_digits = 0;
CREATE TABLE items AS
    SELECT i AS id, (SELECT array_agg((6 * sin((i % 40 + 1) * j * 0.7) + sin(i * 1.3 * j + j) + cos(i * 0.37 * j))::real ORDER BY j) FROM generate_series(1, 12) j) AS x
    FROM generate_series(1, 8000) i;
ANALYZE items;
SELECT train('cells', 'items', 'x', 64, options => '{"probes": 2}') AS version;
SELECT recall BETWEEN 0.5 AND 1 AS recall FROM model_versions WHERE model = 'cells';

-- index_centroids: flat, or one root and leaves of equal depth
SELECT count(*), count(DISTINCT id) AS ids, count(parent) AS parents, min(cardinality(vector)) AS dim FROM index_centroids('cells');
SELECT max(l2_distance(i.vector, c.centroid)) < 1e-5 AS same FROM index_centroids('cells') i JOIN model_clusters c ON c.model = 'cells' AND c.cluster = i.id;
SELECT train('levels', 'items', 'x', NULL, options => '{"levels": [4, 4, 4]}') AS version;
WITH RECURSIVE nodes AS (SELECT i.id, 0 AS depth FROM index_centroids('levels') i WHERE parent IS NULL
                         UNION ALL SELECT i.id, n.depth + 1 FROM nodes n JOIN index_centroids('levels') i ON i.parent = n.id)
SELECT depth, count(*) AS nodes, count(*) FILTER (WHERE EXISTS (SELECT FROM index_centroids('levels') i WHERE i.parent = n.id)) AS with_children FROM nodes n GROUP BY 1 ORDER BY 1;
SELECT count(*) - count(DISTINCT id) AS repeated, count(*) FILTER (WHERE parent IS NULL) AS roots FROM index_centroids('levels');
SELECT * FROM index_centroids('none');

-- the recall that was measured at the training is that of the search
ALTER TABLE items ADD bucket integer;
UPDATE items SET bucket = predict('cells', x);
VACUUM ANALYZE items;
SELECT abs(recall - (SELECT avg((t.bucket = ANY (nearest(model_operator('cells'), q.x, 2)))::integer)
                       FROM items q CROSS JOIN LATERAL (SELECT i.bucket FROM items i WHERE i.id <> q.id ORDER BY l2_distance(i.x, q.x) LIMIT 10) t
                      WHERE q.id % 100 = 0)) < 0.05 AS agrees FROM model_versions WHERE model = 'cells';

-- health: nothing has changed
CREATE TABLE builds AS SELECT sketch_agg(x, (SELECT model_spec('cells'))) AS s FROM items;
SELECT model, rows_at_build, rows_now, p_value > 0.5 AS calm, effect, worn_share < 0.05 AS not_worn, abs(recall_loss) < 0.02 AS no_loss, verdict, statement
  FROM index_health('items', 'x');
-- the same of stored sketches, at other probes, and of days of the same law
SELECT verdict, recall_at_build, recall_now > 0.99 AS all_found, read_share FROM index_health('items', 'x', present => (SELECT s FROM builds), probes => 64);
SELECT count(*) AS days, count(h.statement) AS alarms
  FROM (SELECT sketch_agg(x, (SELECT model_spec('cells'))) AS s FROM items GROUP BY hashint4(id) & 15) d, LATERAL index_health('items', 'x', present => d.s) h;
-- noise
CREATE TABLE changed AS SELECT id, ARRAY(SELECT v + 4 * sin(i * id * 1.7) FROM unnest(x) WITH ORDINALITY u(v, i))::real[] AS x FROM items;
BEGIN;
TRUNCATE items;
INSERT INTO items (id, x) SELECT id, x FROM changed;
SELECT p_value < 1e-6 AS sure, worn_share > 0.5 AS worn, recall_loss > 0.02 AS loss, verdict, statement FROM index_health('items', 'x');
ROLLBACK;
-- a live model: its rows are read for the sample alone, once
CREATE TABLE followed AS SELECT id, x FROM items;
ANALYZE followed;
SELECT train('followed', 'followed', 'x', 32, 'compressive', options => '{"live": true, "probes": 2, "quiet": true}') AS version;
INSERT INTO followed SELECT id, x FROM changed WHERE id <= 4000;
BEGIN;
SELECT seq_tup_read AS read_before FROM pg_stat_xact_user_tables WHERE relid = 'followed'::regclass \gset
SELECT rows_at_build, rows_now, p_value < 1e-6 AS sure, verdict, statement FROM index_health('followed', 'x');
SELECT seq_tup_read - :read_before AS rows_read FROM pg_stat_xact_user_tables WHERE relid = 'followed'::regclass;
COMMIT;
SELECT drop_model('followed');
-- without a model: the sketch of the build, its null law from the rows of now; no buckets are known
CREATE TABLE plain AS SELECT id, x FROM items;
CREATE TABLE plain_build AS SELECT sketch_agg(x, (SELECT sketch_spec_agg(x, 16) FROM plain)) AS s FROM plain WHERE hashint4(id) & 1 = 0;
SELECT model, rows_at_build, rows_now, p_value > 0.01 AS calm, recall_now, verdict, statement FROM index_health('plain', 'x', (SELECT s FROM plain_build));
UPDATE plain SET x = (SELECT c.x FROM changed c WHERE c.id = plain.id);
SELECT p_value < 1e-6 AS sure, verdict FROM index_health('plain', 'x', (SELECT s FROM plain_build));

-- bad input
SELECT * FROM index_health('plain', 'x');
SELECT * FROM index_health('plain', 'y', (SELECT s FROM plain_build));
SELECT * FROM index_health('plain', 'id', (SELECT s FROM plain_build));
SELECT * FROM index_health(NULL, 'x');
SELECT * FROM index_health('items', NULL);
SELECT * FROM index_health('items', 'x', probes => 0);
SELECT * FROM index_health('items', 'x', present => (SELECT s FROM plain_build));
SELECT train('bad', 'items', 'x', 4, options => '{"probes": 0}');
CREATE TABLE empty_items (x real[]);
SELECT verdict, rows_now FROM index_health('empty_items', 'x', (SELECT s FROM plain_build));

-- rights: those of the caller, on the model and on the table
CREATE ROLE index_reader;
SET ROLE index_reader;
SELECT * FROM index_centroids('cells');
SELECT * FROM index_health('items', 'x');
RESET ROLE;
SELECT grant_model('cells', 'index_reader');
SET ROLE index_reader;
SELECT count(*) FROM index_centroids('cells');
SELECT * FROM index_health('items', 'x');
RESET ROLE;
GRANT SELECT ON items TO index_reader;
SET ROLE index_reader;
SELECT verdict FROM index_health('items', 'x');
RESET ROLE;
SELECT drop_model('cells'), drop_model('levels');
DROP TABLE items, builds, changed, followed, plain, plain_build, empty_items; DROP ROLE index_reader;
