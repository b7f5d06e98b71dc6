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
SELECT drop_model('visits');
DROP SCHEMA shop CASCADE;
DROP ROLE regress_owner, regress_reader, regress_admin;
