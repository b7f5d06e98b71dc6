-- Mistakes in what makes embeddings into clusters: each error names the value, what may be, and what to do.
CREATE TABLE rows AS SELECT i AS id, i % 2 AS half, ARRAY[i % 7, i % 5]::real[] AS x FROM generate_series(1, 400) i;

-- an option that is null is not given
SELECT train('nulls', 'rows', 'x', 4, options => '{"levels": null, "balance": null, "probes": null, "metric": null, "live": null}') AS version;
SELECT options, paths IS NULL AS flat FROM fastclust_internal.stored_versions WHERE model = 'nulls';
SELECT count(*) AS balance_scans FROM training_log WHERE model = 'nulls' AND step LIKE 'balance%';
SELECT train('nulls', 'rows', 'x', NULL, options => '{"levels": [2, 2], "seed": null}') AS version;
SELECT retrain('nulls', '{"k": 5}');
SELECT retrain('nulls', '{"k": 5, "levels": null}') AS version;
SELECT k, options, paths IS NULL AS flat FROM fastclust_internal.stored_versions WHERE model = 'nulls' ORDER BY version DESC LIMIT 1;

-- one of another function
SELECT train('frozen', 'rows', 'x', 4, options => '{"frozen": true}');
SELECT retrain('nulls', '{"replace": true}');
SELECT choose_k('rows', 'x', 5, '{"balance": 2}');

-- two specs
CREATE TABLE sketches AS SELECT sketch_agg(x, sketch_spec(2, 10, 1.0)) AS a, sketch_agg(x, sketch_spec(2, 10, 2.0)) AS b FROM rows;
SELECT index_health('rows', 'x', a, b) FROM sketches;
SELECT index_health('rows', 'x', present => b) FROM sketches;

-- no relation
SELECT train('none', 0::regclass, 'x', 2);
SELECT index_health(0::regclass, 'x', a) FROM sketches;

-- a live model whose column was renamed says so in a sentence
SELECT train('live', 'rows', 'x', 4, 'compressive', '{"live": true, "quiet": true}') AS version;
ALTER TABLE rows RENAME x TO y;
SELECT retrain('live');
SELECT drop_model(model) FROM (VALUES ('nulls'), ('live')) v(model);
DROP TABLE rows, sketches;
