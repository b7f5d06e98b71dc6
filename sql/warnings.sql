-- Training warns of what a careful colleague would notice (identifiers, duplicates, markers for
-- missing values, heavy tails), naming the column and the remedy. It is silent about twenty
-- ordinary tables.
CREATE FUNCTION u(i bigint, s bigint) RETURNS float8 LANGUAGE sql IMMUTABLE AS 'SELECT ((hashint8extended(i, s) & 1048575) + 0.5) / 1048576.0';
CREATE FUNCTION normal(i bigint, s bigint) RETURNS float8 LANGUAGE sql IMMUTABLE AS 'SELECT sqrt(-2 * ln(u(i, 2 * s))) * cos(2 * pi() * u(i, 2 * s + 1))';
CREATE TABLE orders AS
SELECT i AS id, 'order ' || i AS reference, md5(i::text)::uuid AS key, timestamptz '2026-01-01' + i * interval '7 minutes' AS at, 20 + 5 * normal(i, 1) AS amount,
       20.5 + 5 * normal(i, 1) + 0.3 * normal(i, 2) AS price, 3 + normal(i, 3) AS items, CASE WHEN u(i, 9) < 0.1 THEN normal(i, 4) END AS discount,
       exp(3 * normal(i, 5)) AS revenue, normal(i, 6) * CASE WHEN u(i, 10) < 0.05 THEN 300 ELSE 1 END AS weight FROM generate_series(1, 4000) i;
SELECT train('w', 'orders', '{id,amount,items}', 3);
SELECT train('w2', 'orders', '{reference,amount,items}', 3);
SELECT train('w3', 'orders', '{key,amount,items}', 3, options => '{"quiet": true}');
SELECT train('w4', 'orders', '{at,amount,items}', 3);
SELECT train('w5', 'orders', '{amount,price,items}', 3);
SELECT train('w6', 'orders', '{amount,items,discount}', 3);
SELECT train('w7', 'orders', '{revenue,items}', 3);
SELECT train('w8', 'orders', '{weight,amount,items}', 3);
-- All warnings of a table come together, a retraining does not repeat them, and the advice ends
-- them.
SELECT train('all', 'orders', '{id,reference,at,amount,price,items}', 3);
SELECT retrain('all');
SELECT train('w7', 'orders', '{revenue,items}', 3, options => '{"encoder": {"transform": {"revenue": "log"}}}'), train('w8', 'orders', '{weight,amount,items}', 3, options => '{"trim": 0.06}');
-- Values that stand for a missing one are named with their shares; stored as NULL they cause no
-- warning.
CREATE TABLE marked AS SELECT CASE WHEN i % 4 = 0 THEN date '9999-12-31' WHEN i % 50 = 1 THEN date '1900-01-01' WHEN i % 5 > 0 THEN date '2018-01-01' + (2500 * u(i, 1))::int END AS until,
       CASE WHEN i % 20 = 0 THEN timestamptz '9999-12-31 23:59:59+00' ELSE timestamptz '2018-01-01+00' + u(i, 2) * interval '2500 days' END AS ends,
       CASE WHEN i % 40 = 0 THEN -999 WHEN i % 5 > 0 THEN (90 * u(i, 3))::int END AS "Age", normal(i, 1) AS amount FROM generate_series(1, 2000) i;
SET timezone = 'UTC';
SELECT train('w9', 'marked', '{until,ends,Age,amount}', 3, options => '{"quiet": true}');
CREATE VIEW unmarked AS SELECT NULLIF(NULLIF(until, '9999-12-31'), '1900-01-01') AS until, NULLIF(ends, '9999-12-31 23:59:59+00') AS ends, NULLIF("Age", '-999') AS age, amount FROM marked;
SELECT train('w9', 'unmarked', '{until,ends,age,amount}', 3, options => '{"quiet": true}');
-- An identifier is recognised by its index even if the rows are in random order.
CREATE TABLE shuffled AS SELECT id, amount, items FROM orders ORDER BY md5(id::text);
SELECT train('shuffled', 'shuffled', '{id,amount,items}', 3);
ALTER TABLE shuffled ADD PRIMARY KEY (id);
SELECT train('shuffled', 'shuffled', '{id,amount,items}', 3);

-- Texts of numbers are to be cast, also with commas; other texts are names. The advice works.
CREATE TABLE written AS
SELECT to_char(1000 * i, 'FM9,999,999') AS price, (i * 7)::text AS code, 'v' || i AS name,
       normal(i, 1) AS amount FROM generate_series(1, 4000) i;
SELECT train('w10', 'written', '{price,code,name,amount}', 3, options => '{"quiet": true}');
CREATE VIEW cast_texts AS
SELECT replace(price, ',', '')::numeric AS price, (code)::numeric AS code, amount FROM written
 ORDER BY md5(code);
SELECT train('w10', 'cast_texts', '{price,amount}', 3, options => '{"quiet": true}');
-- Texts of numbers and times are to be cast even if they are few, as after an import of CSV, and
-- categories that only look different are to be joined. A time of day goes round.
CREATE TABLE imported AS
SELECT (20 * (i % 2) + floor(5 * u(i, 1)))::text AS amount, to_char(date '2026-01-01' + i % 30, 'YYYY-MM-DD') AS day, (i % 31 / 10.0)::numeric(3, 1)::text || '0' AS score,
       CASE WHEN i % 7 = 0 THEN 'n/a' ELSE (i % 9 * 1000)::text END AS plan, replace((i % 50 / 10.0)::numeric(3, 1)::text, '.', ',') AS comma, to_char(date '2026-01-01' + i % 20, 'DD.MM.YYYY') AS "the Day",
       i % 24 || ':30' AS hour, '2026-01-01T0' || i % 9 || ':00:00Z' AS zoned, (ARRAY['Phone', 'phone', 'PHONE ', 'web'])[1 + i % 4] AS channel, '0' || 1000 + i % 5 AS zip, (i % 2)::text AS flag, 'v' || i % 3 AS other,
       time '00:00' + i % 24 * interval '1 hour' AS at, time '09:00' + i % 8 * interval '1 hour' AS open, normal(i, 1) AS x FROM generate_series(1, 2000) i;
SET client_min_messages = notice;
SELECT count(*) FROM choose_k('imported', '{amount,day,score,plan,comma,the Day,hour,zoned,channel,zip,flag,other,at,open,x}', 2);
CREATE VIEW cast_imported AS
SELECT (amount)::numeric AS amount, (day)::date AS day, (score)::numeric AS score, (NULLIF(plan, 'n/a'))::numeric AS plan, replace(comma, ',', '.')::numeric AS comma, to_date("the Day", 'DD.MM.YYYY') AS "the Day",
       (hour)::time AS hour, (zoned)::timestamptz AS zoned, lower(btrim(channel)) AS channel, zip, flag, other, at, open, x FROM imported;
SELECT count(*) FROM choose_k('cast_imported', '{amount,day,score,plan,comma,the Day,hour,zoned,channel,zip,flag,other,at,open,x}', 2, '{"encoder": {"transform": {"at": "cyclic", "hour": "cyclic"}}}');
SELECT train('imported', 'imported', '{amount,day}', 2, options => '{"quiet": true}');
SELECT predict('imported', c) FROM cast_imported c LIMIT 1;
SELECT predict('imported', c) FROM (SELECT 1 AS day) c;
-- A date that does not exist is an exception, and minutes are no times of the day.
CREATE TABLE exported AS
SELECT CASE WHEN i % 9 = 0 THEN '0000-00-00' ELSE to_char(date '2026-01-01' + i % 30, 'YYYY-MM-DD') END AS day, i % 5 * 20 || ':30' AS minutes,
       CASE WHEN i % 9 = 0 THEN '00.00.0000' ELSE to_char(date '2026-01-01' + i % 30, 'DD.MM.YYYY') END AS "the Day", normal(i, 1) AS x FROM generate_series(1, 2000) i;
SELECT count(*) FROM choose_k('exported', '{day,minutes,the Day,x}', 2);
-- A text with a number in it is no exception, because the cast would lose the number.
CREATE TABLE amounts AS
SELECT CASE WHEN i % 7 = 0 THEN '.5' WHEN i % 7 = 1 THEN '5.' ELSE (i % 40)::text END AS point, CASE WHEN i % 7 = 0 THEN '(12.5)' ELSE (i % 40)::text END AS bracket, normal(i, 1) AS x FROM generate_series(1, 2000) i;
SELECT count(*) FROM choose_k('amounts', '{point,bracket,x}', 2);
-- Texts of more than 100 characters are no numbers.
CREATE TABLE keys AS SELECT repeat('1234567890', 14) || i % 5 AS key, normal(i, 1) AS x FROM generate_series(1, 2000) i;
SELECT count(*) FROM choose_k('keys', '{key,x}', 2);
SELECT max((NULLIF(day, '0000-00-00'))::date) AS day, max(to_date(NULLIF("the Day", '00.00.0000'), 'DD.MM.YYYY')) AS "the Day" FROM exported;
-- Names of months, days without separators, hours with AM, units and two words for a missing value
-- have casts, too. Texts of two units have none.
CREATE TABLE spelled AS
SELECT to_char(day, 'Mon DD, YYYY') AS month, to_char(day, 'DD-MON-YYYY') AS "Day", to_char(day, 'FMDD FMMonth YYYY') AS long, to_char(day, 'YYYYMMDD') AS ymd, to_char(day + i % 24 * interval '1 hour', 'HH12:MI AM') AS hour,
       to_char(n, 'FM$99,990.00') AS usd, to_char(-n, 'FM99,990.0') || ' EUR' AS eur, n || '%' AS percent, translate(to_char(n, 'FM99,990.00'), ',.', '.,') AS comma,
       CASE i % 9 WHEN 0 THEN 'n/a' WHEN 1 THEN 'NULL' ELSE (i % 31)::text END AS missing, CASE WHEN i % 2 = 0 THEN '$' ELSE '%' END || n AS mixed, CASE i % 9 WHEN 0 THEN 'low' WHEN 1 THEN 'high' ELSE (i % 3)::text END AS level, 'v' || i % 30 AS version, i
  FROM (SELECT i, date '2026-01-01' + i % 30 AS day, i % 30 * 371 + 0.5 AS n FROM generate_series(1, 2000) i) r;
SELECT count(*) FROM choose_k('spelled', '{month,Day,long,ymd,hour,usd,eur,percent,comma,missing,mixed,level,version}', 2);
CREATE VIEW cast_spelled AS
SELECT (month)::date AS month, ("Day")::date AS "Day", (long)::date AS long, (ymd)::date AS ymd, (hour)::time AS hour, replace(replace(usd, '$', ''), ',', '')::numeric AS usd, replace(replace(eur, 'EUR', ''), ',', '')::numeric AS eur,
       replace(replace(percent, '%', ''), ',', '')::numeric AS percent, replace(replace(comma, '.', ''), ',', '.')::numeric AS comma, (NULLIF(NULLIF(missing, 'NULL'), 'n/a'))::numeric AS missing FROM spelled;
SELECT count(DISTINCT (month, "Day", long, ymd)) AS days, bool_and(month = "Day" AND month = long AND month = ymd) AS same_days, max(hour), bool_and(usd = comma AND usd = -eur AND usd = percent) AS same_numbers, sum(missing) FROM cast_spelled;
SET client_min_messages = warning;
-- The cast of a text column that counts as "other" has the name of the column, so that two of
-- them fit into one view.
SELECT train('w12', 'spelled', '{month,usd,i}', 2, options => '{"quiet": true, "encoder": {"categories": 1}}');
DROP TABLE imported, exported, amounts, keys, spelled CASCADE;

-- With weights, a share is of the sampled rows, because rows of large weight are sampled more often.
CREATE TABLE weighted AS SELECT CASE WHEN i % 20 = 0 THEN -999 ELSE (90 * u(i, 3))::int END AS age, normal(i, 1) AS amount, CASE WHEN i % 20 = 0 THEN 5 ELSE 1 END AS w FROM generate_series(1, 2000) i;
SELECT train('w13', 'weighted', '{age,amount}', 3, options => '{"quiet": true, "row_weight": "w", "sample_rows": 1000}');
DROP TABLE weighted;

-- A sample that the memory budget cuts is announced, and limits k.
CREATE TABLE wide AS
SELECT ARRAY(SELECT normal(i, j) FROM generate_series(1, 30) j)::real[] AS x
  FROM generate_series(1, 6000) i;
SET fastclust.memory_budget = '2MB';
SET client_min_messages = notice;
SELECT count(*) FROM choose_k('wide', 'x', 3, '{"sample_rows": 5000}');
SET client_min_messages = warning;
SELECT train('w11', 'wide', 'x', 5000, options => '{"quiet": true}');
RESET fastclust.memory_budget;
SELECT train('w11', 'wide', 'x', 500, options => '{"quiet": true, "sample_rows": 300}');

-- Twenty ordinary tables cause no warning.
CREATE TABLE ordinary AS
SELECT i AS id, 1 + (i % 2) AS flag, u(i, 1) < 0.3 AS yes, floor(100 * u(i, 2))::int AS percent, (1000000 * u(i, 3))::int AS cents, 18 + floor(60 * u(i, 4))::int AS age, date '1940-01-01' + (25000 * u(i, 5))::int AS birthday,
       timestamptz '2026-01-01' + u(i, 6) * interval '300 days' AS at, normal(i, 4) AS a, normal(i, 5) + 2 * (i % 3) AS b, exp(normal(i, 6)) AS lognormal, -ln(u(i, 7)) AS waiting, u(i, 8) AS share,
       (ARRAY['red', 'green', 'blue'])[1 + floor(3 * u(i, 9))::int] AS color, 'city ' || floor(30 * u(i, 10) ^ 2) AS city, CASE WHEN u(i, 11) < 0.4 THEN NULL ELSE normal(i, 7) END AS gaps, u(i, 12) * interval '3 hours' AS stay,
       normal(i, 5) + normal(i, 8) AS related, round(normal(i, 9)::numeric, 1) AS rounded, floor(-3 * ln(u(i, 13)))::int AS visits
  FROM generate_series(1, 4000) i;
CREATE TABLE tables (n serial, columns text);
INSERT INTO tables (columns) VALUES ('flag,a'), ('yes,a,b'), ('percent,age'), ('cents,visits'), ('age,birthday'), ('birthday,color'), ('at,a'), ('a,b,related'), ('lognormal,waiting'), ('waiting,share'),
    ('color,city'), ('city,gaps'), ('gaps,stay,a'), ('stay,rounded'), ('rounded,visits'), ('visits,yes,color'), ('percent,cents,age,a,b'), ('lognormal,b'), ('flag,yes,color,city,percent,share'),
    ('flag,yes,percent,cents,age,birthday,at,a,b,lognormal,waiting,share,color,city,gaps,stay,related,rounded,visits');
SELECT count(train('ordinary ' || n, 'ordinary', ('{' || columns || '}')::name[], 3, options => '{"quiet": true}')) FROM tables;

-- A table with nothing to train on is an error, and a name that is almost right gets a
-- suggestion.
CREATE TABLE nothing (a int, b int);
SELECT train('n', 'nothing', '{a,b}', 2);
INSERT INTO nothing VALUES (NULL, 1);
SELECT train('n', 'nothing', '{a,b}', 2, options => '{"encoder": {"nulls": "skip"}}');
-- Groups of one row are an error, also if only a sample shows it.
CREATE TABLE numbered AS SELECT i AS id, sin(i) AS a, cos(i) AS b FROM generate_series(1, 100000) i;
ANALYZE numbered;
DO $$
BEGIN
    PERFORM train('n', 'numbered', '{a,b}', 3, options => '{"group_by": "id"}');
EXCEPTION WHEN invalid_parameter_value THEN
    RAISE WARNING '%', regexp_replace(SQLERRM, '\d{5}', 'N');
END
$$;
-- Groups of two and three rows are no error, also if there are more groups than sampled rows.
CREATE TABLE pairs AS SELECT i % 120 AS pair, sin(i) AS a, cos(i) AS b FROM generate_series(1, 300) i;
ANALYZE pairs;
SELECT train('w pairs', 'pairs', '{a,b}', 1, options => '{"group_by": "pair", "sample_rows": 100, "quiet": true}') AS version;
SELECT retrain('shufled');
SELECT drift('shufled');
SELECT drop_model('al');
SELECT retrain('nothing like it');
SELECT count(drop_model(model)) AS models_dropped
  FROM models WHERE model ~ '^(w|all|shuffled|ordinary|imported)';
DROP VIEW unmarked; DROP VIEW cast_texts; DROP TABLE written, wide, marked, orders, shuffled, ordinary, tables, nothing, numbered, pairs; DROP FUNCTION normal, u;
