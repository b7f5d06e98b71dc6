-- Errors and hints that an administrator meets.
CREATE ROLE regress_owner; CREATE ROLE regress_reader; CREATE ROLE regress_admin SUPERUSER;
CREATE SCHEMA shop;
GRANT CREATE, USAGE ON SCHEMA shop TO regress_owner; GRANT USAGE ON SCHEMA shop TO regress_reader;
SET SESSION AUTHORIZATION regress_owner;
CREATE TABLE shop.visits AS SELECT i AS id, (i % 3) * 9 + sin(i) AS amount, i % 7 AS qty FROM generate_series(1, 3000) i;
GRANT SELECT ON shop.visits TO regress_reader;
SELECT train('visits', 'shop.visits', '{amount,qty}', 3, options => '{"live": true, "quiet": true}');
SELECT grant_model('visits', 'regress_reader');

-- A reader of a model that is not live names the table, and needs no login of the owner.
SELECT drop_sketch('visits');
SET SESSION AUTHORIZATION regress_reader;
SELECT verdict FROM drift('visits');
SELECT verdict FROM drift('visits', relation => 'shop.visits');
SET SESSION AUTHORIZATION regress_admin;
SELECT verdict FROM drift('visits');
SELECT retrain('visits');

RESET SESSION AUTHORIZATION;
-- The problem of check_drift has the reason and the hint.
SET SESSION AUTHORIZATION regress_admin;
SELECT train('of admin', 'shop.visits', '{amount,qty}', 3, options => '{"quiet": true}');
SELECT model, verdict, problem FROM check_drift();
RESET SESSION AUTHORIZATION;

-- drop_sketch says that the next retraining makes the live sketch of a model again.
SET SESSION AUTHORIZATION regress_owner;
SET client_min_messages = notice;
SELECT retrain('visits', '{"quiet": true}');
SELECT name FROM live_sketches;
SELECT drop_sketch('visits');
SELECT retrain('visits', '{"live": false}');
SELECT retrain('visits');
SELECT name FROM live_sketches;
SELECT retrain('visits', '{"live": true, "quiet": true}');
-- The version before is not live, so its retraining makes no live sketch.
SELECT use_version('visits', version - 1) FROM models WHERE model = 'visits';
SELECT drop_sketch('visits');
SELECT use_version('visits', version + 1) FROM models WHERE model = 'visits';
SELECT retrain('visits', '{"live": true, "quiet": true}');
SET client_min_messages = warning;
RESET SESSION AUTHORIZATION;

-- Before DROP EXTENSION: the statements of docs/administration.md drop all live sketches.
SELECT keep_sketch(name, 'shop.visits', '{amount,qty}', model_spec('visits')) FROM (VALUES ('kept'), ('kept, too')) v(name);
SELECT count(drop_model(model)) FROM fastclust.live_sketches WHERE model IS NOT NULL;
SELECT count(drop_sketch(name)) FROM fastclust.live_sketches;
SELECT (SELECT count(*) FROM live_sketches) AS live_sketches, array_agg(model) AS models FROM models;

-- A superuser gives the models of a dropped role to another role. A role that does not exist is an error.
CREATE ROLE regress_gone; GRANT USAGE, CREATE ON SCHEMA shop TO regress_gone; GRANT SELECT ON shop.visits TO regress_gone;
SET SESSION AUTHORIZATION regress_gone;
SELECT train('left', 'shop.visits', '{amount,qty}', 3, options => '{"quiet": true}');
RESET SESSION AUTHORIZATION;
DROP OWNED BY regress_gone; DROP ROLE regress_gone;
SELECT owner FROM models WHERE model = 'left';
SELECT train('left', 'shop.visits', '{amount,qty}', 3, options => '{"quiet": true}');
SELECT retrain('left');
SELECT retrain('left', '{"quiet": true, "relation": "shop.visits"}');
UPDATE fastclust_internal.stored_models SET owner = 'regress_nobody' WHERE owner = 'regress_gone';
CREATE ROLE regress_gone;
SELECT owner FROM models WHERE model = 'left';
DROP ROLE regress_gone;
UPDATE fastclust_internal.stored_models SET owner = 'regress_owner' WHERE owner = 'regress_gone';
SELECT owner FROM models WHERE model = 'left';
-- A long name is clipped, so that it has the mark.
CREATE ROLE regress_of_a_name_that_leaves_too_few_bytes_for_the_mark_äöü;
UPDATE fastclust_internal.stored_models SET owner = 'regress_of_a_name_that_leaves_too_few_bytes_for_the_mark_äöü' WHERE model = 'left';
DROP ROLE regress_of_a_name_that_leaves_too_few_bytes_for_the_mark_äöü;
SELECT owner FROM models WHERE model = 'left';
SELECT drop_model('of admin'), drop_model('left');
DROP SCHEMA shop CASCADE;
DROP ROLE regress_owner, regress_reader, regress_admin;

-- Queries of event triggers and of restores read few rows, and are not compiled.
SELECT proname AS not_compiled FROM pg_proc
 WHERE proname IN ('record_ddl', 'follow_leaves', 'restored_sketches') AND 'jit=off' = ANY (proconfig) ORDER BY 1;
-- revoke_model accepts the roles of the server, and readers whose role was dropped; others are an error.
CREATE TABLE amounts AS SELECT i % 3 * 9 + sin(i) AS amount FROM generate_series(1, 300) i;
SELECT train('amounts', 'amounts', '{amount}', 3, options => '{"quiet": true}');
CREATE ROLE regress_app; CREATE ROLE regress_other;
SELECT grant_model('amounts', 'regress_app'), grant_model('amounts', 'public'), grant_model('amounts', 'regress_other');
SELECT revoke_model('amounts', 'PUBLIC');
SELECT revoke_model('amounts', 'regress_ap');
SELECT revoke_model('amounts', NULL);
SELECT grant_model('amounts', NULL);
SELECT grant_model('amounts', 'Public');
SELECT readers FROM models WHERE model = 'amounts';
DROP ROLE regress_app;
SELECT revoke_model('amounts', 'regress_app');
SELECT readers FROM models WHERE model = 'amounts';
SELECT revoke_model('amounts', 'regress_app');
SELECT revoke_model('amounts', 'public'), revoke_model('amounts', 'regress_other');
-- A role that is no reader may be revoked.
SELECT revoke_model('amounts', 'public'), revoke_model('amounts', 'regress_other');
SELECT readers FROM models WHERE model = 'amounts';
SELECT drop_model('amounts');
DROP TABLE amounts; DROP ROLE regress_other;
