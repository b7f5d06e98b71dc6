-- A training whose rows vanish between two of its scans is an error that says so, or ends with the
-- rows that it has read. Each training reads a view that gives all rows to the first n scans, and
-- no rows, one row or only rows with NULLs to later ones.
CREATE SCHEMA of_vanishing_rows; SET search_path = of_vanishing_rows, public, fastclust;
SET client_min_messages = error;
CREATE SEQUENCE scans;
CREATE SEQUENCE allowed;
CREATE TABLE rest (name text);
INSERT INTO rest VALUES ('none');
CREATE TABLE visits AS
SELECT i AS id, i % 2 AS g, i % 50 AS u, 1 + i % 5 AS w, sin(i % 60 * 1.7) * 5 + 0.1 * sin(i) AS a,
       CASE WHEN i % 11 > 0 THEN cos(i % 7 * 2.1) * 9 + 0.1 * cos(i * 1.3) END AS b, (ARRAY['red', 'green', NULL])[1 + i % 3] AS c
  FROM generate_series(1, 1000) i;
ANALYZE visits;
CREATE VIEW vanishing AS
SELECT v.*
  FROM visits v
 WHERE (SELECT nextval('scans')) <= (SELECT last_value FROM allowed)
    OR CASE (SELECT name FROM rest) WHEN 'one row' THEN v.id = 5 WHEN 'NULLs' THEN v.b IS NULL ELSE false END;
CREATE FUNCTION trained(method text, k int, options jsonb) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    PERFORM train('v', 'vanishing', '{a,b,c}', k, method, options || '{"quiet": true}');
    PERFORM drop_model('v');
    RETURN 'a model';
EXCEPTION WHEN no_data_found OR invalid_parameter_value THEN
    RETURN CASE WHEN SQLERRM ~ 'vanishing (is empty|has no rows|has one row|has only)' THEN 'an error that says so' ELSE SQLERRM END;
END
$$;
CREATE TABLE tried (what text, later text, after int, outcome text);
CREATE PROCEDURE try(what text, method text, k int, options jsonb) LANGUAGE plpgsql AS $$
DECLARE
    later text;
    after int;
BEGIN
    FOREACH later IN ARRAY '{no row,one row,NULLs}'::text[] LOOP
        UPDATE rest SET name = later;
        after := 0;
        LOOP
            after := after + 1;
            PERFORM setval('allowed', after), setval('scans', 1, false);
            INSERT INTO tried SELECT what, later, after, trained(method, k, options);
            COMMIT;
            EXIT WHEN (SELECT last_value FROM scans) <= after;
        END LOOP;
    END LOOP;
END
$$;
CALL try('kmeans', 'kmeans', 5, '{"sample_rows": 200, "iterations": 2, "tolerance": 0}');
CALL try('thorough', 'kmeans', 5, '{"effort": "thorough", "sample_rows": 200}');
CALL try('groups', 'kmeans', 5, '{"group_by": "g", "sample_rows": 100, "iterations": 2}');
CALL try('units', 'kmeans', 5, '{"unit": "u"}');
CALL try('weights', 'kmeans', 5, '{"row_weight": "w"}');
CALL try('balance', 'kmeans', 5, '{"balance": 1.2}');
CALL try('compressive', 'compressive', 5, '{}');
CALL try('qkmeans', 'qkmeans', 5, '{}');
CALL try('kernel', 'kernel', 5, '{"sample_rows": 200}');
CALL try('density', 'density', NULL, '{"sample_rows": 200}');
SELECT what, max(after) >= 3 AS scans_three_times, bool_or(outcome = 'a model') AS gives_a_model,
       bool_or(outcome = 'an error that says so') AS gives_an_error, string_agg(DISTINCT outcome, '; ') FILTER (WHERE outcome NOT IN ('a model', 'an error that says so')) AS other
  FROM tried GROUP BY 1 ORDER BY 1;

-- Sums that are larger than a value can be are added up in another way.
SET fastclust.largest_state = '64kB';
CREATE TABLE wide AS
SELECT (SELECT array_agg(sin(i % 60 * j) + 0.1 * sin(i * 0.7 * j + j)) FROM generate_series(1, 32) j)::real[] AS x FROM generate_series(1, 2000) i;
ANALYZE wide;
CREATE VIEW vanishing_wide AS SELECT x FROM wide WHERE (SELECT nextval('scans')) <= (SELECT last_value FROM allowed);
CREATE FUNCTION trained_wide(after int) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    PERFORM setval('allowed', after), setval('scans', 1, false);
    PERFORM train('v', 'vanishing_wide', 'x', 40, options => '{"quiet": true, "sample_rows": 1000, "iterations": 3, "tolerance": 0}');
    RETURN 'a model';
EXCEPTION WHEN no_data_found THEN
    RETURN SQLERRM;
END
$$;
SELECT trained_wide(n) AS outcome, count(*) > 1 AS is_frequent FROM generate_series(1, 10) n GROUP BY 1 ORDER BY 1;
SELECT drop_model('v');
DROP SCHEMA of_vanishing_rows CASCADE;
