-- The option where restricts a model to the rows of a condition. The condition is stored with all
-- its types and settings written out, and means the same in every later call.
-- A condition cannot run code of the user's or change its meaning later; what it may not contain
-- is an error.
\set SHOW_CONTEXT never
CREATE TYPE mood AS ENUM ('calm', 'tense');
CREATE TABLE visits AS
SELECT i AS id, i % 2 = 0 AS paid, (ARRAY['DE', 'FR', 'IT'])[1 + i % 3] AS country, date '2026-01-01' + i % 100 AS day, i % 7 AS kind, (i % 7) * 3.0 + (i * 7919 % 101) / 101.0 AS spend,
       (ARRAY['calm', 'tense'])[1 + i % 2]::mood AS mood, jsonb_build_object('plan', CASE WHEN i % 5 = 0 THEN 'gold' ELSE 'free' END) AS props
  FROM generate_series(1, 2100) i;
ANALYZE visits;

-- Training, drift, retraining, choose_k and typical rows all use the rows of the condition, in
-- the session and after it is read again.
CREATE FUNCTION trained_on(condition text) RETURNS text LANGUAGE sql AS $$
    SELECT train('some', 'visits', ARRAY['spend', 'kind'], 2, options => jsonb_build_object('where', condition));
    SELECT format('%s rows, %s', n, options ->> 'where') FROM fastclust_internal.stored_versions v JOIN fastclust_internal.stored_models m ON m.id = v.model_id AND m.version = v.version WHERE m.model = 'some'
$$;
SELECT c AS condition, trained_on(c)
  FROM unnest(ARRAY['paid', 'not paid and kind < 3', 'country = ''DE''', 'country IN (''DE'', ''IT'')', 'country LIKE ''_R''', 'day >= ''2026-03-01''', 'day BETWEEN ''2026-02-01'' AND date ''2026-02-28''',
    'date_part(''month'', day) = 2', 'abs(spend - 9) < 3', 'mood = ''calm''', 'props ->> ''plan'' = ''gold''', 'coalesce(nullif(kind, 3), 0) = 0', 'CASE WHEN paid THEN kind = 1 ELSE kind = 2 END',
    'kind = ANY (ARRAY[1, 2]) OR spend IS NULL', 'length(country || ''x'') = 3 AND t.paid IS NOT FALSE', 'upper(country) = ''FR'' -- French', 'true']) c;
SELECT train('some', 'visits', ARRAY['spend', 'kind'], 2,
       options => '{"where": "country = ''DE''"}') AS version;
SELECT (drift('some')).n, (drift('some')).verdict;
SELECT count(*) AS rows, count(*) FILTER (WHERE row_data ->> 'country' = 'DE') AS rows_of_germany
  FROM typical_rows('some', 5);
SELECT max(retrain('some')) AS version;
SELECT n, options ->> 'where' AS "where" FROM model_versions WHERE model = 'some' ORDER BY version DESC LIMIT 1;
SELECT retrain('some', '{"where": null}') AS version_without,
       retrain('some', '{"where": "kind = 1"}') AS version_with_another;
SELECT n, options ->> 'where' AS "where" FROM model_versions WHERE model = 'some' ORDER BY version DESC LIMIT 2;
SELECT count(*) > 0 AS has_rows
  FROM choose_k('visits', ARRAY['spend', 'kind'], 5, '{"where": "paid"}');
SET datestyle = 'German';
SELECT train('dated', 'visits', ARRAY['spend', 'kind'], 2, options => '{"where": "day < ''01.02.2026''"}');
SET datestyle = 'SQL, MDY';
SELECT retrain('dated');
RESET datestyle;
SELECT n, options ->> 'where' AS "where" FROM model_versions WHERE model = 'dated' ORDER BY version;

-- A condition may have no subquery, aggregate, volatile or user-defined function, operator or
-- type, no other table, and no syntax beyond one expression.
CREATE DOMAIN positive AS int CHECK (VALUE > 0);
CREATE TYPE pair AS (a positive, b int);
CREATE FUNCTION mine(int) RETURNS boolean LANGUAGE sql IMMUTABLE AS 'SELECT true';
CREATE FUNCTION abs(text) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT 1 / 0';
CREATE OPERATOR === (LEFTARG = int, RIGHTARG = int, FUNCTION = int4eq);
CREATE TABLE odd AS SELECT id, spend, kind, 3::positive AS domain, ROW(1, 2)::pair AS pair, ARRAY[1]::positive[] AS several FROM visits;
CREATE FUNCTION refused(relation regclass, condition text) RETURNS void LANGUAGE sql AS $$
    SELECT train('some', relation, ARRAY['spend', 'kind'], 2, options => jsonb_build_object('where', condition))
$$;
-- The server's own hints differ by version, so only the message and the detail are shown here.
CREATE FUNCTION error_and_place(condition text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE place text;
BEGIN
    PERFORM refused('visits', condition);
    RETURN 'no error';
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS place = PG_EXCEPTION_DETAIL;
    RETURN SQLERRM || '. ' || place;
END $$;
SELECT refused('visits', '');
SELECT refused('visits', 'paid,');
SELECT refused('visits', 'paid; DROP TABLE visits');
SELECT refused('visits', 'paid) OR (true');
SELECT refused('visits', 'paid FROM visits');
SELECT refused('visits', 'paid UNION SELECT true');
SELECT refused('visits', 'paid AS p');
SELECT refused('visits', 'paid WHERE true');
SELECT refused('visits', 'payed');
SELECT refused('visits', 'kind = x.y.z');
SELECT refused('visits', 'visits.kind = 1');
SELECT refused('visits', 'ctid IS NOT NULL');
SELECT refused('visits', 't.* IS NOT NULL');
SELECT refused('visits', 't IS NOT NULL');
SELECT refused('visits', 'spend');
SELECT refused('visits', 'spend > ''a lot''');
SELECT refused('visits', 'kind > $1');
SELECT refused('visits', 'spend > (SELECT avg(spend) FROM visits)');
SELECT refused('visits', 'EXISTS (SELECT FROM pg_authid)');
SELECT refused('visits', 'spend > avg(spend)');
SELECT refused('visits', 'row_number() OVER () < 10');
SELECT refused('visits', 'generate_series(1, 2) = kind');
SELECT refused('visits', 'random() < 0.5');
SELECT refused('visits', 'day > current_date - 7');
SELECT refused('visits', 'day > now()');
SELECT refused('visits', 'pg_sleep(1) IS NULL');
SELECT refused('visits', 'public.mine(kind)');
SELECT error_and_place('mine(kind)');
SELECT refused('visits', 'kind OPERATOR(public.===) 1');
SELECT error_and_place('kind === 1');
SELECT error_and_place('abs(country) = 1');
SELECT refused('visits', 'kind = 1::public.positive');
SELECT refused('visits', '''(0,1)''::public.pair IS NULL');
SELECT refused('visits', 'ROW(1, 2) = ROW(1, 2)');
SELECT refused('visits', 'mood::text = ''calm''');
SELECT refused('odd', 'domain = ''0''');
SELECT refused('odd', 'pair = ''(0,1)''');
SELECT refused('odd', 'several = ''{0}''');
SELECT refused('odd', '(pair).b = 1');
SELECT refused('visits', repeat(' ', 10001) || 'paid');
SELECT refused('visits', repeat('(', 5000) || 'paid' || repeat(')', 4000));
SELECT train('some', 'visits', ARRAY['spend', 'kind'], 2, options => '{"where": true}');
SELECT train('some', 'visits', ARRAY['spend', 'kind'], 2, options => '{"where": "kind = 99"}');
SELECT fastclust_internal.row_condition(0, 'true');
ALTER TABLE visits DROP COLUMN paid;
SELECT train('gone', 'visits', ARRAY['spend', 'kind'], 2, options => '{"where": "country = ''DE''"}');
ALTER TABLE visits DROP COLUMN country;
SELECT retrain('gone');
SELECT drift('gone');
SELECT retrain('gone', '{"where": null}');

SELECT drop_model(m) FROM unnest('{some,dated,gone}'::text[]) m;
DROP TABLE visits, odd; DROP OPERATOR === (int, int); DROP FUNCTION trained_on, refused, error_and_place, mine, abs(text); DROP TYPE pair, positive, mood;
