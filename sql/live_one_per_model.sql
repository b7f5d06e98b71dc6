-- a model has one live sketch at most, whoever claims it and whatever becomes of its table
SET client_min_messages = warning;
\set SHOW_CONTEXT never
CREATE SCHEMA of_live_claims;
SET search_path = of_live_claims, public, fastclust;
CREATE ROLE live_claims_alice;
CREATE ROLE live_claims_bob;
GRANT ALL ON SCHEMA of_live_claims TO live_claims_alice, live_claims_bob;
SET ROLE live_claims_alice;
CREATE TABLE hers AS SELECT i AS id, ARRAY[i % 7, i % 11]::real[] AS x FROM generate_series(1, 300) i;
CREATE TABLE given AS TABLE hers;
SELECT train('claimed', 'given', 'x', 3, 'compressive', '{"live": true, "quiet": true}');
-- the same model once more, by hand
DO $$
DECLARE
    live fastclust_internal.kept_sketches;
BEGIN
    SELECT * INTO live FROM fastclust_internal.own_live_sketches l WHERE l.name = 'claimed';
    live.name := 'by hand';
    PERFORM fastclust_internal.claim_live(live);
END
$$;
SELECT retrain('claimed', '{"quiet": true}');
RESET ROLE;
-- the table becomes another role's, the model stays hers: it can be retrained, trained without a live sketch, and follow another table
ALTER TABLE given OWNER TO live_claims_bob;
GRANT SELECT ON given TO live_claims_alice;
SET ROLE live_claims_alice;
SELECT retrain('claimed', '{"quiet": true}');
SELECT train('claimed', 'given', 'x', 3, 'compressive', '{"live": true, "quiet": true}');
SELECT train('claimed', 'given', 'x', 3, 'compressive', '{"live": false, "quiet": true}');
SELECT train('claimed', 'hers', 'x', 3, 'compressive', '{"live": true, "quiet": true}');
SELECT retrain('claimed', '{"quiet": true}');
RESET ROLE;
SELECT name LIKE 'claimed%' AS name, relation, model IS NOT NULL AS of_model, row_count(current_sketch(name)) FROM live_sketches ORDER BY id;
-- of a table that she may not even read
SET ROLE live_claims_alice;
CREATE TABLE hidden AS TABLE hers;
SELECT train('claimed', 'hidden', 'x', 3, 'compressive', '{"live": true, "quiet": true}');
RESET ROLE;
ALTER TABLE hidden OWNER TO live_claims_bob;
SET ROLE live_claims_alice;
SELECT train('claimed', 'hers', 'x', 3, 'compressive', '{"live": true, "quiet": true}');
RESET ROLE;
GRANT SELECT ON hidden TO live_claims_alice;
SET ROLE live_claims_alice;
SELECT retrain('claimed', '{"quiet": true}');
SELECT rename_model('claimed', 'renamed');
SELECT retrain('renamed', '{"quiet": true}');
RESET ROLE;
SELECT relation, model IS NOT NULL AS of_model, row_count(current_sketch(name)) FROM live_sketches ORDER BY id;
-- nobody lets go of another's model
SET ROLE live_claims_bob;
SELECT fastclust_internal.release_live((SELECT max(model_id) FROM fastclust_internal.own_live_sketches));
SELECT fastclust_internal.release_live(9223372036854775807);
SELECT drop_sketch(name) FROM live_sketches;
RESET ROLE;
SELECT drop_model('renamed');
SELECT count(*) FROM live_sketches;
DROP SCHEMA of_live_claims CASCADE;
DROP ROLE live_claims_alice, live_claims_bob;
