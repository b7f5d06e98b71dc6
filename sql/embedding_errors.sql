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
