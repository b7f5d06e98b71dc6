-- An encoder turns rows with any columns (numbers, categories, dates, times, JSON, vectors) into
-- coordinates, the same for a row, a list of columns and any order of columns.
-- What it cannot encode is an error that names the column and the value.
CREATE SCHEMA of_encoders; SET search_path = of_encoders, public, fastclust, fastclust_internal; SET extra_float_digits = 0; SET timezone = 'UTC';
CREATE FUNCTION encoder_center(e encoder) RETURNS float8[] LANGUAGE sql AS
    'SELECT array_agg(f.center ORDER BY f.dimension) FILTER (WHERE f.center IS NOT NULL) FROM fastclust_internal.encoder_features(e) f';
CREATE FUNCTION encoder_scale(e encoder) RETURNS float8[] LANGUAGE sql AS
    'SELECT array_agg(f.scale ORDER BY f.dimension) FILTER (WHERE f.scale IS NOT NULL) FROM fastclust_internal.encoder_features(e) f';
CREATE TYPE mood AS ENUM ('sad', 'well');
CREATE DOMAIN money_amount AS numeric CHECK (VALUE >= 0);
CREATE TABLE customers (id int, age int, country text, plan char(6), active boolean, since date, seen timestamptz, visit interval, spent money_amount, mood mood, scores real[], props jsonb);
INSERT INTO customers VALUES
    (1, 20, 'DE', 'free', true, '2000-01-03', '2000-01-01 00:01:00+00', '1 hour', 0, 'sad', '{1,10}', '{"n": 1, "deep": {"word": "a"}, "yes": true, "mixed": 1}'),
    (2, 30, 'DE', 'paid', false, '2000-01-05', '2000-01-01 00:02:00+00', '3 hours', 99, 'well', '{3,10}', '{"n": 2, "deep": {"word": "b"}, "yes": false, "mixed": "x"}'),
    (3, 40, 'FR', 'paid', true, '2000-01-07', '2000-01-01 00:03:00+00', '1 hour', 999, 'well', '{1,30}', '{"n": null, "deep": 5, "yes": true, "mixed": [1]}'),
    (4, NULL, NULL, 'free', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
CREATE TABLE encoders AS SELECT encoder_agg(c, '{age,country,plan,active,since,seen,visit,spent,mood,scores,props}',
                   '{"transform": {"spent": "log", "visit": "none"}, "weight": {"age": 2}, "paths": {"props": ["n", "deep.word", "yes", "mixed"]}}') AS e
FROM customers c;

-- Each dimension of each type of column is shown with its value in the first row and in a row of
-- NULLs. A category column with two values has variance 1, with rarer values more.
SELECT f.*, raw[dimension] AS raw, round(x[dimension]::numeric, 4) AS in_units, round(null_x[dimension]::numeric, 4) AS of_nulls
FROM encoders, encoder_features(e) f, LATERAL (SELECT encode_row(e, c, false) AS raw, encode_row(e, c) AS x FROM customers c WHERE id = 1) one,
     LATERAL (SELECT encode_row(e, c) AS null_x FROM customers c WHERE id = 4) four ORDER BY dimension;
SELECT unnest(feature_names(e)) AS feature_names FROM encoders;
SELECT feature, round(sum(v)::numeric, 6) AS variance
FROM (SELECT f.dimension, f.feature, var_pop(x[dimension]) AS v FROM customers c, encoders, encode_record(e, true, c) x, encoder_features(e) f GROUP BY 1, 2) v
WHERE feature IN ('country', 'plan', 'mood', 'props -> deep.word') GROUP BY 1 ORDER BY 1;
SELECT jsonb_pretty(jsonb_set(describe(e) - 'bytes', '{features}', jsonb_path_query_array(describe(e), '$.features[1,3,7]'))) AS describe FROM encoders;
SELECT cardinality(feature_names(e)) AS dimensions, cardinality(encoder_center(e)) AS centers,
       cardinality(encoder_scale(e)) AS scales FROM encoders;

-- Listed columns, other shapes of the row and other orders of the columns give the same
-- coordinates.
SELECT count(*) AS rows,
       count(*) FILTER (WHERE fastclust_internal.encode_listed(e, true, age, country, plan, active,
           since, seen, visit, spent, mood, scores, props)::real[] = encode_row(e, c))
       AS same_when_listed,
       count(*) FILTER (WHERE encode_listed(e, false, age, country, plan, active, since, seen,
           visit, spent, mood, scores, props) = encode_record(e, false, c)) AS same_without_units
FROM encoders, customers c;
SELECT count(*) AS rows, count(*) FILTER (WHERE encode_row(e, r) = encode_row(e, c))
       AS same_when_reordered
FROM encoders, customers c JOIN (SELECT id, props, 'unused'::text AS extra, scores, mood, spent, visit, seen, since, active, plan, country, age FROM customers) r USING (id);
-- Columns that were dropped and added again are read with the value that older rows have.
CREATE TABLE changed AS SELECT id, age, country FROM customers;
ALTER TABLE changed DROP COLUMN age;
ALTER TABLE changed ADD COLUMN age int DEFAULT 40;
SELECT count(*) AS rows, count(*) FILTER (WHERE (encode_row(e, c, false))[1] = 40) AS rows_with_40
  FROM (SELECT encoder_agg(c, '{age,country}') AS e FROM customers c) made, changed c;
-- A PL/pgSQL expression that outlives a change of its row type reads the new columns.
CREATE TABLE shape AS SELECT 'a long text to be read'::text AS t, 5 AS n, 7::float8 AS x;
DO $$
DECLARE
    r shape;
    e encoder := (SELECT encoder_agg(s, '{n,x}') FROM shape s);
BEGIN
    FOR i IN 1 .. 2 LOOP
        SELECT * INTO r FROM shape;
        RAISE WARNING '%', encode_row(e, r, false);
        IF i = 1 THEN
            ALTER TABLE shape ALTER COLUMN t TYPE integer USING 1, ALTER COLUMN n TYPE text USING 'n', DROP COLUMN x, ADD COLUMN y text DEFAULT 'y', ADD COLUMN x bigint DEFAULT 8;
            ALTER TABLE shape DROP COLUMN n, ADD COLUMN n numeric DEFAULT 9;
        END IF;
    END LOOP;
END $$;
-- An error that is caught leaves the expression intact: evaluated again, it raises the same
-- error.
DO $$
DECLARE
    r shape := (SELECT s FROM shape s);
    e encoder := (SELECT encoder_agg(s, '{n}') FROM (VALUES ('a'::text), ('b')) s(n));
BEGIN
    FOR i IN 1 .. 4 LOOP
        BEGIN
            IF i % 2 = 0 THEN
                RAISE WARNING '%', encode_row(e, r);
            ELSE
                RAISE WARNING '%', fastclust_internal.encode_listed(e, true, r.n);
            END IF;
        EXCEPTION WHEN datatype_mismatch THEN
            RAISE WARNING '%', SQLERRM;
        END;
    END LOOP;
END $$;
-- A row that an outer join did not find has no coordinates, and the fields of an anonymous row
-- are f1, f2 and so on.
SELECT count(*) AS rows, count(encode_row(e, c)) AS encoded FROM encoders, generate_series(3, 6) i LEFT JOIN customers c ON c.id = i;
SELECT encode_row(e, ROW(20, 'DE')) FROM (SELECT encoder_agg(ROW(i, 'DE'::text), '{f1,f2}') AS e FROM generate_series(1, 3) i) made;

-- A category that the sample did not have is 0 in each dimension, or `other` if the sample had
-- rare ones. JSON of another kind counts as NULL.
SELECT encode_row(e, s, false) AS unseen FROM (SELECT encoder_agg(c, '{country,plan}') AS e FROM customers c) made, (SELECT 'ZZ' AS country, 'never'::char(6) AS plan) s;
SELECT names, encode_row(e, c, false) AS raw FROM (SELECT encoder_agg(c, '{country}', '{"categories": 1}') AS e FROM customers c) made, feature_names(e) names, customers c ORDER BY id;
SELECT jsonb '{"n": "two", "deep": {"word": 5}}' AS props, (encode_row(e, c, false))[1] AS n
FROM (SELECT encoder_agg(c, '{props}', '{"paths": {"props": ["n", "deep.word"]}}') AS e FROM customers c) made, (SELECT jsonb '{"n": "two", "deep": {"word": 5}}' AS props) c;
SELECT feature_names(encoder_agg(c, '{w}')) AS quoted FROM (VALUES ('other'), ('missing'), ('"'), (''), (NULL), ('a')) c(w);

-- The options transform, standardize, weight and nulls do what the reference says.
SELECT t AS transform, encoder_center(e) AS center, encoder_scale(e) AS scale
FROM unnest('{standard,robust,log,none}'::text[]) t, LATERAL (SELECT encoder_agg(c, '{age,spent}', jsonb_build_object('transform', t)) AS e FROM customers c) made;
SELECT id % 2 AS of_group, feature_names(encoder_agg(c, CASE WHEN id % 2 = 0 THEN '{age}'::text[] ELSE '{country,id}' END)) FROM customers c GROUP BY 1 ORDER BY 1;
SELECT encoder_scale(encoder_agg(c, '{scores}')) AS scale_of_single_vector,
       encoder_scale(encoder_agg(c, '{scores}', '{"standardize": true}')) AS standardized,
       encoder_scale(encoder_agg(c, '{age,scores}', '{"standardize": false, "weight": {"scores": 2}}')) AS weighted_only FROM customers c;
SELECT describe(e) ->> 'skipped' AS skipped, (describe(e) -> 'features' -> 0 ->> 'center')::float8
       AS center, encode_row(e, c) AS skipped_row,
       fastclust_internal.encode_listed(e, true, age, plan)::real[] AS skipped_columns
FROM (SELECT encoder_agg(c, '{age,plan}', '{"nulls": {"age": "skip"}}') AS e FROM customers c) made, customers c WHERE id = 4;
SELECT fastclust_internal.encode_listed(encoder_agg(c, '{age}', '{"nulls": "error"}'), true, NULL::int)::real[] FROM customers c WHERE id < 4;
SELECT encoder_agg(c, '{age,country}', '{"nulls": {"country": "error"}}') FROM customers c;

-- The aggregate works with no rows, NULL rows, groups, filters, windows and DISTINCT, and does
-- not depend on the order of the rows.
SELECT encoder_agg(c, '{age}') AS encoder_of_no_rows FROM customers c WHERE false;
SELECT encoder_agg(c, '{age}', '{"nulls": "skip"}') AS encoder_of_skipped_rows FROM customers c
 WHERE id = 4;
SELECT encoder_agg(c, '{age}') = (SELECT encoder_agg(c, '{age}') FROM customers c)
       AS null_rows_are_skipped FROM customers c FULL JOIN (VALUES (9)) v(id) USING (id);
SELECT plan, encoder_center(encoder_agg(c, '{age}')) FROM customers c GROUP BY plan ORDER BY plan;
SELECT encoder_center(encoder_agg(c, '{age}') FILTER (WHERE id < 3)) FROM customers c;
SELECT id, encoder_center(encoder_agg(c, '{age}') OVER (ORDER BY id ROWS 1 PRECEDING)) FROM customers c ORDER BY id;
SELECT encoder_center(encoder_agg(DISTINCT r, '{a}')) FROM (VALUES (1), (1), (1), (4)) r(a);
SELECT encoder_agg(c, '{id,age,country}' ORDER BY id)
       = encoder_agg(c, '{id,age,country}' ORDER BY id DESC) AS same_in_reverse_order
  FROM customers c;
SELECT encoder_agg(c, CASE WHEN id < 3 THEN '{age}'::text[] ELSE '{id}' END) FROM customers c;
SELECT encoder_agg(c, NULL) FROM customers c;
SELECT encoder_agg(c, '{age}', NULL) FROM customers c;

-- Every type of number, domains, name, time, and types with a cast to a number or an array are
-- encoded. Other types are errors.
CREATE TYPE complex AS (re float8, im float8);
CREATE FUNCTION magnitude(complex) RETURNS float8 LANGUAGE sql IMMUTABLE AS 'SELECT sqrt($1.re ^ 2 + $1.im ^ 2)';
CREATE CAST (complex AS float8) WITH FUNCTION magnitude(complex) AS ASSIGNMENT;
CREATE TYPE pair AS (a real, b real);
CREATE FUNCTION pair_array(pair, integer, boolean) RETURNS real[] LANGUAGE sql IMMUTABLE AS 'SELECT ARRAY[$1.a, $1.b]';
CREATE CAST (pair AS real[]) WITH FUNCTION pair_array(pair, integer, boolean) AS IMPLICIT;
CREATE TABLE of_types AS SELECT 1::smallint AS a, 2::int AS b, 3::bigint AS c, 4::real AS d, 5::float8 AS e, 6.5::numeric AS f, 'n'::name AS g, time '00:01' AS h, timestamp '2000-01-02' AS i,
    interval '1 year 1 month 1 day 1 second' AS j, ROW(3, 4)::complex AS k, ROW(7, 8)::pair AS l, ARRAY[9, 10] AS m, ARRAY[11.5, 12] AS n, ARRAY[13]::float8[] AS o, 14::money_amount AS p;
SELECT encode_row(encoder_agg(r, '{a,b,c,d,e,f,g,h,i,j,k,l,m,n,o,p}'), (SELECT r FROM of_types r), false) FROM of_types r;
SELECT extract(epoch FROM interval '1 year 1 month 1 day 1 second')::bigint AS an_interval_is_its_epoch;
SELECT encoder_agg(r, '{p}') FROM (SELECT point(1, 2) AS p) r;
SELECT encoder_agg(r, '{p}') FROM (SELECT ARRAY['a'] AS p) r;
SELECT encoder_agg(r, '{p}') FROM (SELECT bytea 'a' AS p) r;
SELECT encoder_agg(r, '{p}') FROM (SELECT json '{}' AS p) r;
SELECT encoder_agg(r, '{p}') FROM (SELECT jsonb '{}' AS p) r;
SELECT fastclust_internal.encode_listed(e, true, 'a', 1)::real[] FROM (SELECT encoder_agg(c, '{country,age}') AS e FROM customers c) made;

-- A value that is no finite number, or a vector of another length, is an error that names the
-- column and the value.
SELECT encoder_agg(r, '{age,x}') FROM (SELECT 1 AS age, 'NaN'::float8 AS x) r;
SELECT encoder_agg(r, '{x}') FROM (SELECT '-Infinity'::real AS x) r;
SELECT encoder_agg(r, '{x}') FROM (SELECT 1e400 AS x) r;
SELECT encoder_agg(r, '{x}') FROM (SELECT 1e200 AS x) r;
SELECT encoder_scale(encoder_agg(r, '{x}', '{"transform": "log"}')) FROM (SELECT 1e200 AS x) r;
SELECT encoder_agg(r, '{x}') FROM (SELECT date 'infinity' AS x) r;
SELECT encoder_agg(r, '{x}') FROM (SELECT timestamp '-infinity' AS x) r;
SELECT encoder_agg(r, '{x}') FROM (SELECT ARRAY[1, 'NaN']::real[] AS x) r;
SELECT encoder_agg(r, '{x}') FROM (SELECT ARRAY[1, NULL]::real[] AS x) r;
SELECT encoder_agg(r, '{x}') FROM (SELECT ARRAY[[1, 2]]::real[] AS x) r;
SELECT encoder_agg(r, '{x}') FROM (VALUES (ARRAY[1, 2]), (ARRAY[1])) r(x);
SELECT encoder_agg(r, '{x}') FROM (SELECT NULL::real[] AS x) r;
SELECT encoder_agg(r, '{x}', '{"paths": {"x": ["n"]}}') FROM (SELECT jsonb '{"n": 1e400}' AS x) r;
SELECT encode_row(e, r) FROM (SELECT encoder_agg(c, '{age,scores}') AS e FROM customers c) made, (SELECT 1 AS age, ARRAY[1]::real[] AS scores) r;
SELECT encode_row(e, r) FROM (SELECT encoder_agg(c, '{age}') AS e FROM customers c) made, (SELECT 1e40 AS age) r;

-- A missing column is an error that suggests a similar name; columns that are repeated, empty or
-- of another type are errors, too.
SELECT encoder_agg(c, '{age,contry}') FROM customers c;
DO $$ BEGIN EXECUTE 'CREATE TABLE wide AS SELECT ' || (SELECT string_agg(i || ' AS column' || i, ', ') FROM generate_series(1, 90) i); END $$;
SELECT encoder_agg(w, '{colum77}') FROM wide w;
SELECT encoder_agg(c, '{age,age}') FROM customers c;
SELECT encoder_agg(c, '{}') FROM customers c;
SELECT encoder_agg(c, '{age,NULL}') FROM customers c;
SELECT encode_row(e, r) FROM (SELECT encoder_agg(c, '{age,country}') AS e FROM customers c) made, (SELECT 1 AS age, 'DE' AS "Country") r;
SELECT encode_row(e, r) FROM (SELECT encoder_agg(c, '{age,country}') AS e FROM customers c) made, (SELECT 'x'::text AS age, 'DE' AS country) r;
SELECT fastclust_internal.encode_listed(e, true, 1)::real[] FROM (SELECT encoder_agg(c, '{age,country}') AS e FROM customers c) made;
SELECT fastclust_internal.encode_listed(e, true, 'DE'::text, 1)::real[] FROM (SELECT encoder_agg(c, '{age,country}') AS e FROM customers c) made;
SELECT fastclust_internal.encode_listed(e, true, VARIADIC ARRAY[1, 2])::real[] FROM (SELECT encoder_agg(c, '{age,id}') AS e FROM customers c) made;

-- A wrong option is an error that names it and what may be.
SELECT encoder_agg(c, '{age}', '{"transfrom": "log"}') FROM customers c;
SELECT encoder_agg(c, '{age}', '{"transform": "lgo"}') FROM customers c;
SELECT encoder_agg(c, '{age}', '{"transform": {"agee": "log"}}') FROM customers c;
SELECT encoder_agg(c, '{age}', '{"transform": {"age": 1}}') FROM customers c;
SELECT encoder_agg(c, '{age}', '{"transform": ["log"]}') FROM customers c;
SELECT encoder_agg(c, '{country}', '{"transform": {"country": "log"}}') FROM customers c;
SELECT encoder_agg(c, '{scores}', '{"transform": {"scores": "robust"}}') FROM customers c;
SELECT encoder_agg(c, '{age}', '{"weight": {"age": 0}}') FROM customers c;
SELECT encoder_agg(c, '{age}', '{"weight": {"age": "much"}}') FROM customers c;
SELECT encoder_agg(c, '{age}', '{"weight": 2}') FROM customers c;
SELECT encoder_agg(c, '{age}', '{"nulls": "drop"}') FROM customers c;
SELECT encoder_agg(c, '{age}', '{"categories": 0}') FROM customers c;
SELECT encoder_agg(c, '{age}', '{"paths": {"age": ["a"]}}') FROM customers c;
SELECT encoder_agg(c, '{props}', '{"paths": {"props": "a"}}') FROM customers c;
SELECT encoder_agg(c, '{props}', '{"paths": {"props": ["a", 1]}}') FROM customers c;
SELECT encoder_agg(c, '{props}', '{"paths": {"props": ["a", "a"]}}') FROM customers c;
SELECT encoder_agg(c, '{props}', '{"paths": {"prop": ["a"]}}') FROM customers c;

-- The encoder stays within the memory budget: 40,000 categories and numbers are counted
-- approximately in 2 MB, and a frequent category is still found.
SELECT encoder_agg(r, '{w}') IS NULL AS encoder_of_categories_is_null
  FROM (SELECT 'category ' || i AS w FROM generate_series(1, 40000) i) r;
SELECT encoder_agg(r, '{x}', '{"transform": "robust"}') IS NULL AS encoder_of_numbers_is_null
  FROM (SELECT sin(i) AS x FROM generate_series(1, 40000) i) r;
RESET fastclust.memory_budget;
SELECT feature_names(encoder_agg(r, '{w}')) FROM (SELECT CASE WHEN i % 50 = 0 THEN 'often' ELSE 'category ' || i END AS w FROM generate_series(1, 40000) i) r;
SELECT encoder_agg(r, '{w}', '{"categories": 16384}') FROM (SELECT 'category ' || i AS w FROM generate_series(1, 16384) i UNION ALL SELECT NULL) r;

-- An encoder is read back from its text as the same value, groups by equality, works out of line,
-- and may change from row to row; damaged bytes are errors.
SELECT e::text::encoder = e AS same_from_text, NOT e = e AS different_from_itself,
       count(*) AS grouped FROM encoders GROUP BY e;
SELECT 'encoder'::encoder;
SELECT '\x00'::encoder;
SELECT overlay(e::text PLACING 'ff' FROM 301 FOR 2)::encoder FROM encoders;
CREATE TABLE toasted AS SELECT encoder_agg(r, '{w}', '{"categories": 1000}') AS e FROM (SELECT 'category number ' || i AS w FROM generate_series(1, 1000) i) r;
SELECT pg_column_size(e) > 50000 AS over_50000_bytes, count(*) AS ones FROM toasted,
       generate_series(1, 300) i,
       unnest(fastclust_internal.encode_listed(e, true,
               'category number ' || i)) WITH ORDINALITY u(x, place)
WHERE x > 0.5 GROUP BY 1;
SELECT fastclust_internal.encode_listed(e, true, 5)::real[] FROM (SELECT encoder_agg(r, '{i}') AS e, g FROM (SELECT i, i % 3 AS g FROM generate_series(1, 9) i) r GROUP BY g UNION ALL SELECT encoder_agg(r, '{i}'), 4 FROM (SELECT generate_series(5, 9) AS i) r) made ORDER BY g;

-- The hint about a column of names of tables has a text that is the same in every session: the
-- text of a regclass has a schema where search_path does not find the table.
CREATE TABLE split (id int, a float8) PARTITION BY RANGE (id);
CREATE TABLE split_a PARTITION OF split FOR VALUES FROM (0) TO (500);
CREATE TABLE split_b PARTITION OF split FOR VALUES FROM (500) TO (1000);
INSERT INTO split SELECT i, 5 * sin(i) FROM generate_series(0, 999) i;
CREATE VIEW parts AS SELECT tableoid::regclass, * FROM split;
SELECT train('parts', 'parts', '{tableoid,a}', 2);
CREATE VIEW named_parts AS SELECT (pg_identify_object('pg_class'::regclass, tableoid, 0)).identity AS tableoid, a FROM parts;
SELECT train('parts', 'named_parts', '{tableoid,a}', 2, options => '{"quiet": true, "encoder": {"weight": {"tableoid": 3}}}');
SELECT DISTINCT predict('parts', p), tableoid FROM named_parts p ORDER BY 2;
SELECT drop_model('parts');
SET client_min_messages = warning;
DROP SCHEMA of_encoders CASCADE;
