-- scans of a live model of method compressive: a notice when a retraining leaves them out
SET client_min_messages = warning;
CREATE SCHEMA of_live_scans;
SET search_path = of_live_scans, public, fastclust;
CREATE TABLE orders AS SELECT i AS id, ARRAY[(i % 4) * 5 + sin(i), (i % 2) * 3 + cos(i)]::real[] AS x FROM generate_series(1, 3000) i;
SELECT train('plain', 'orders', 'x', 4, 'compressive', '{"live": true, "quiet": true}');
SELECT train('scanned', 'orders', 'x', 4, 'compressive', '{"live": true, "iterations": 2}');
SELECT train('followed by nothing', 'orders', 'x', 4, 'compressive', '{"iterations": 2}');
INSERT INTO orders SELECT i, ARRAY[i % 3, i % 5] FROM generate_series(4000, 4999) i;
CREATE VIEW live_model AS SELECT v AS version, l AS live, m AS held FROM fastclust_internal.stored_models m JOIN fastclust_internal.stored_versions v ON v.model_id = m.id AND v.version = m.version LEFT JOIN fastclust_internal.kept_sketches l ON l.model_id = m.id;
-- retrain asks this; it has notices with seconds besides
SET client_min_messages = notice;
SELECT (held).model, (fastclust_internal.live_for_retraining(held, version, '{}')).name FROM live_model ORDER BY 1;
SELECT (held).model, (fastclust_internal.live_for_retraining(held, version, '{"iterations": 3}')).name FROM live_model ORDER BY 1;
SELECT (held).model, (fastclust_internal.live_for_retraining(held, version, '{"quiet": true}')).name FROM live_model ORDER BY 1;
SET client_min_messages = warning;
SELECT retrain('scanned'), retrain('plain', '{"iterations": 1}');
SELECT model, version, n, note FROM fastclust_internal.stored_versions WHERE version > 1 ORDER BY 1, 2;
SELECT drop_model(m.model) FROM models m WHERE m.model IN ('plain', 'scanned', 'followed by nothing');
DROP SCHEMA of_live_scans CASCADE;
