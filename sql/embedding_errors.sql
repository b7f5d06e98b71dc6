-- Each mistake with options and functions for embeddings is an error that names the value, what
-- may be given, and what to do.
CREATE TABLE rows AS SELECT i AS id, i % 2 AS half, ARRAY[i % 7, i % 5]::real[] AS x FROM generate_series(1, 400) i;

-- An option that is NULL counts as not given.
SELECT train('nulls', 'rows', 'x', 4, options => '{"levels": null, "balance": null, "probes": null, "metric": null, "live": null}') AS version;
SELECT options, paths FROM fastclust_internal.stored_versions WHERE model = 'nulls';
SELECT count(*) AS balance_scans FROM training_log WHERE model = 'nulls' AND step LIKE 'balance%';
SELECT train('nulls', 'rows', 'x', NULL, options => '{"levels": [2, 2], "seed": null}') AS version;
SELECT retrain('nulls', '{"k": 5}');
SELECT retrain('nulls', '{"k": 5, "levels": null}') AS version;
SELECT k, options, paths
  FROM fastclust_internal.stored_versions WHERE model = 'nulls' ORDER BY version DESC LIMIT 1;

-- An option of another function is an error that names the function.
SELECT train('frozen', 'rows', 'x', 4, options => '{"frozen": true}');
SELECT retrain('nulls', '{"replace": true}');
SELECT choose_k('rows', 'x', 5, '{"balance": 2}');

-- Sketches of two specs cannot be compared.
CREATE TABLE sketches AS SELECT sketch_agg(x, sketch_spec(2, 10, 1.0)) AS a, sketch_agg(x, sketch_spec(2, 10, 2.0)) AS b FROM rows;
SELECT index_health('rows', 'x', a, b) FROM sketches;
SELECT index_health('rows', 'x', present => b) FROM sketches;

-- A relation that does not exist is an error.
SELECT train('none', 0::regclass, 'x', 2);
SELECT index_health(0::regclass, 'x', a) FROM sketches;

-- A live model whose column was renamed says so in one sentence.
SELECT train('live', 'rows', 'x', 4, 'compressive', '{"live": true, "quiet": true}') AS version;
ALTER TABLE rows RENAME x TO y;
SELECT retrain('live');
SELECT drop_model(model) FROM (VALUES ('nulls'), ('live')) v(model);
DROP TABLE rows, sketches;

-- A NULL, a NaN or an infinity in a vector is an error of the training; the hint has a condition
-- that leaves out such rows, in addition to one that is given. Workers do not change it.
\set SHOW_CONTEXT never
CREATE TABLE broken AS
SELECT i AS id, CASE WHEN i % 50 = 3 THEN '{3,NULL}' ELSE ARRAY[i % 7, i % 5]::real[] END AS emb,
       CASE WHEN i % 50 = 4 THEN '{NaN,1}' ELSE ARRAY[i % 7, i % 5]::real[] END AS "Emb b",
       CASE WHEN i = 5 THEN '{1,-Infinity}' ELSE ARRAY[i % 7, i % 5]::float8[] END AS wide
  FROM generate_series(1, 500) i;
SELECT train('broken', 'broken', 'emb', 2);
SELECT train('broken', 'broken', 'emb', 2, options => '{"where": "id > 10 OR id = 1"}');
SELECT train('broken', 'broken', 'Emb b', 2);
SELECT train('broken', 'broken', 'wide', 2);
SELECT train('broken', 'broken', 'emb', 2, 'compressive');
SELECT train('broken', 'broken', 'emb', 2, 'kernel');
SELECT train('broken', 'broken', 'emb', method => 'density');
SELECT choose_k('broken', 'emb');
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SELECT train('broken', 'broken', 'emb', 2);
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
SELECT train('broken', 'broken', 'emb', 2, options => '{"quiet": true, "where": "array_position(emb, NULL) IS NULL"}') AS version;
SELECT train('broken', 'broken', 'Emb b', 2, options => E'{"quiet": true, "where": "array_position(\\"Emb b\\", ''NaN'') IS NULL"}') AS version;
SELECT train('broken', 'broken', 'wide', 2, options => '{"quiet": true, "where": "NOT ''{Infinity,-Infinity}'' && wide"}') AS version;

-- Option "where" cannot read a column of a domain or of an array of a domain, but a view can.
CREATE DOMAIN embedding AS real[];
CREATE DOMAIN element AS float8;
CREATE TABLE of_domains AS SELECT id, emb::embedding AS emb, wide::element[] AS wide FROM broken;
SELECT train('broken', 'of_domains', 'emb', 2);
SELECT train('broken', 'of_domains', 'wide', 2);
CREATE VIEW without_nulls AS SELECT emb FROM of_domains WHERE array_position(emb, NULL) IS NULL;
CREATE VIEW finite AS SELECT wide FROM of_domains WHERE NOT '{Infinity,-Infinity}' && wide;
SELECT train('broken', 'without_nulls', 'emb', 2, options => '{"quiet": true}') AS version;
SELECT train('broken', 'finite', 'wide', 2, options => '{"quiet": true}') AS version;
-- drift and cluster_rules do not have the option either.
SELECT count(*) FROM drift('broken', 'broken');
SELECT count(*) FROM cluster_rules('broken', relation => 'broken');
SELECT count(*) > 0 AS drifts FROM drift('broken', 'finite');

-- The name of a model in the place of its operator, encoder or spec: the hint has the function
-- that returns it.
SELECT assign('broken', ARRAY[1, 1]);
SELECT centroids('it''s');
SELECT encode_row('broken', b) FROM broken b;
SELECT sketch_agg(wide, 'broken') FROM broken;
SELECT 'broken'::sketch;

-- Sketches are no features, and the hint names the functions that read them.
CREATE TABLE stored AS SELECT sketch_agg(ARRAY[i % 3, i % 5], sketch_spec(2, 10, 1.0)) AS s FROM generate_series(1, 100) i;
SELECT train('stored', 'stored', 's', 2);

-- The hint about an unknown metric lists the metrics that the function takes.
SELECT train('broken', 'broken', 'emb', 2, options => '{"metric": "l2"}');
SELECT kmeans_agg(wide, 2, '{"metric": "l2"}') FROM broken WHERE id > 5;
SELECT sketch_spec(2, 10, 1.0, options => '{"metric": "l2"}');
SELECT fastop_agg(wide, 1, '{"metric": "l2"}') FROM broken;

-- Names of DBSCAN lead to those of method density.
SELECT train('broken', 'broken', 'emb', method => 'DBSCAN');
SELECT train('broken', 'broken', 'emb', method => 'density', options => '{"eps": 0.5}');
SELECT train('broken', 'broken', 'emb', method => 'density', options => '{"min_samples": 5}');

-- Texts that do not repeat are one category, so there are fewer distinct rows than clusters.
CREATE TABLE letters AS SELECT 'letter ' || i AS body, i % 2 AS half FROM generate_series(1, 1000) i;
SELECT train('letters', 'letters', 'body', 5);
SELECT train('letters', 'letters', '{half}', 5);

DROP TABLE broken, stored, letters, of_domains CASCADE; DROP DOMAIN embedding, element;
SELECT drop_model('broken');
