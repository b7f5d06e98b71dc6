-- index_centroids gives centroids for a vector index built elsewhere, and index_health says when
-- the index has worn out: how many rows changed and how much recall is lost.
-- A verdict that came too early or too late would cost a needless build or lost results.
SET extra_float_digits = 0;
CREATE TABLE items AS
    SELECT i AS id, (SELECT array_agg((6 * sin((i % 40 + 1) * j * 0.7) + sin(i * 1.3 * j + j) + cos(i * 0.37 * j))::real ORDER BY j) FROM generate_series(1, 12) j) AS x
    FROM generate_series(1, 8000) i;
ANALYZE items;
SELECT train('cells', 'items', 'x', 64, options => '{"probes": 2}') AS version;
SELECT round(recall::numeric, 1) AS recall, recall BETWEEN 0.5 AND 1 AS from_0_5_to_1
  FROM model_versions WHERE model = 'cells';

-- index_centroids returns a flat list, or a tree with one root and leaves of equal depth.
SELECT count(*) AS centroids, count(DISTINCT id) AS ids, count(parent) AS parents,
       min(cardinality(vector)) AS dim FROM index_centroids('cells');
SELECT count(*) AS centroids, max(l2_distance(i.vector, c.centroid)) < 1e-5
       AS within_1e_5_of_model_clusters
  FROM index_centroids('cells') i JOIN model_clusters c ON c.model = 'cells' AND c.cluster
       = i.id;
SELECT train('levels', 'items', 'x', NULL, options => '{"levels": [4, 4, 4]}') AS version;
WITH RECURSIVE nodes AS (SELECT i.id, 0 AS depth FROM index_centroids('levels') i WHERE parent IS NULL
                         UNION ALL SELECT i.id, n.depth + 1 FROM nodes n JOIN index_centroids('levels') i ON i.parent = n.id)
SELECT depth, count(*) AS nodes, count(*) FILTER (WHERE EXISTS (SELECT FROM index_centroids('levels') i WHERE i.parent = n.id)) AS with_children FROM nodes n GROUP BY 1 ORDER BY 1;
SELECT count(*) - count(DISTINCT id) AS repeated, count(*) FILTER (WHERE parent IS NULL) AS roots FROM index_centroids('levels');
SELECT * FROM index_centroids('none');

-- The recall stored at training is that of a search in the table, to 0.05.
ALTER TABLE items ADD bucket integer;
UPDATE items SET bucket = predict('cells', x);
VACUUM ANALYZE items;
SELECT abs(recall - (SELECT avg((t.bucket = ANY (nearest(model_operator('cells'), q.x, 2)))::integer)
                       FROM items q CROSS JOIN LATERAL (SELECT i.bucket FROM items i WHERE i.id <> q.id ORDER BY l2_distance(i.x, q.x) LIMIT 10) t
                      WHERE q.id % 100 = 0)) < 0.05 AS recall_within_0_05
  FROM model_versions WHERE model = 'cells';

-- Rows that did not change need no new build: no alarm for the whole table, for stored sketches
-- or for days of the same law.
CREATE TABLE builds AS SELECT sketch_agg(x, (SELECT model_spec('cells'))) AS s FROM items;
SELECT model, rows_at_build, rows_now, p_value > 0.5 AS p_value_above_half, effect,
       worn_share < 0.05 AS worn_share_below_0_05, abs(recall_loss) < 0.02
       AS recall_loss_below_0_02, verdict, statement
  FROM index_health('items', 'x');
-- Every row is found with as many probes as cells.
SELECT verdict, recall_at_build, recall_now > 0.99 AS recall_above_0_99, read_share
  FROM index_health('items', 'x', present => (SELECT s FROM builds), probes => 64);
SELECT count(*) AS days, count(h.statement) AS alarms
  FROM (SELECT sketch_agg(x, (SELECT model_spec('cells'))) AS s FROM items GROUP BY hashint4(id) & 15) d, LATERAL index_health('items', 'x', present => d.s) h;
-- Rows with noise of twice their spread wear the index out, and a statement to rebuild it is
-- returned.
CREATE TABLE changed AS SELECT id, ARRAY(SELECT v + 4 * sin(i * id * 1.7) FROM unnest(x) WITH ORDINALITY u(v, i))::real[] AS x FROM items;
BEGIN;
TRUNCATE items;
INSERT INTO items (id, x) SELECT id, x FROM changed;
SELECT p_value < 1e-6 AS p_value_below_1e_6, worn_share > 0.5 AS worn_share_above_half,
       recall_loss > 0.02 AS recall_loss_above_0_02, verdict, statement
  FROM index_health('items', 'x');
ROLLBACK;
-- index_health of a live model reads the rows once, for a sample.
CREATE TABLE followed AS SELECT id, x FROM items;
ANALYZE followed;
SELECT train('followed', 'followed', 'x', 32, 'compressive', options => '{"live": true, "probes": 2, "quiet": true}') AS version;
INSERT INTO followed SELECT id, x FROM changed WHERE id <= 4000;
BEGIN;
SELECT seq_tup_read AS read_before FROM pg_stat_xact_user_tables WHERE relid = 'followed'::regclass \gset
SELECT rows_at_build, rows_now, p_value < 1e-6 AS p_value_below_1e_6, verdict, statement
  FROM index_health('followed', 'x');
SELECT seq_tup_read - :read_before AS rows_read FROM pg_stat_xact_user_tables WHERE relid = 'followed'::regclass;
COMMIT;
SELECT drop_model('followed');
-- index_health without a model compares the sketch of the build with the present rows, and knows
-- no recall.
CREATE TABLE plain AS SELECT id, x FROM items;
CREATE TABLE plain_build AS SELECT sketch_agg(x, (SELECT sketch_spec_agg(x, 16) FROM plain)) AS s FROM plain WHERE hashint4(id) & 1 = 0;
SELECT model, rows_at_build, rows_now, p_value > 0.01 AS p_value_above_0_01, recall_now, verdict,
       statement FROM index_health('plain', 'x', (SELECT s FROM plain_build));
UPDATE plain SET x = (SELECT c.x FROM changed c WHERE c.id = plain.id);
SELECT p_value < 1e-6 AS p_value_below_1e_6, verdict
  FROM index_health('plain', 'x', (SELECT s FROM plain_build));

-- A table without a model and a sketch, a wrong column, probes out of range and a sketch of
-- another spec are errors.
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

-- Both functions have the rights of the caller, on the model and on the table.
CREATE ROLE index_reader;
SET ROLE index_reader;
SELECT * FROM index_centroids('cells');
SELECT * FROM index_health('items', 'x');
RESET ROLE;
SELECT grant_model('cells', 'index_reader');
SET ROLE index_reader;
SELECT count(*) AS centroids FROM index_centroids('cells');
SELECT * FROM index_health('items', 'x');
RESET ROLE;
GRANT SELECT ON items TO index_reader;
SET ROLE index_reader;
SELECT verdict FROM index_health('items', 'x');
RESET ROLE;
SELECT drop_model('cells'), drop_model('levels');
DROP TABLE items, builds, changed, followed, plain, plain_build, empty_items; DROP ROLE index_reader;
