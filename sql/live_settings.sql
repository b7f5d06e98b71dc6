-- Settings of a session that change how text is read or written change neither what a live sketch
-- counts nor what a stored condition means.
\set SHOW_CONTEXT never
CREATE SCHEMA of_live_settings; SET search_path = of_live_settings, public, fastclust;
CREATE TABLE "Visits" (id integer, at timestamptz, raw bytea, words text[], price money, "Kind" text, x real[], a float8);
CREATE FUNCTION more(begins integer) RETURNS void LANGUAGE sql AS $$
    INSERT INTO "Visits" SELECT i, '2026-01-05 12:00+00'::timestamptz + i * interval '1 hour', decode(CASE WHEN i % 2 = 0 THEN '5c61' ELSE '62' END, 'hex'),
        CASE WHEN i % 3 = 0 THEN array_append(ARRAY['a'], NULL) ELSE ARRAY['a', 'b'] END, 1234.5::numeric::money, CASE WHEN i % 5 = 0 THEN 'it''s \ "' ELSE 'other' END,
        ARRAY[i % 7, i % 11], i % 4 FROM generate_series(begins, begins + 59) i
$$;
SELECT more(1);
-- Some output functions are declared immutable, though their results depend on settings, too. A
-- live sketch counts the rows that have the same text, for each type that has such a function.
CREATE TABLE texts (a float8, "float4" float4, "float8" float8, "numeric" numeric, bytea bytea, name name, uuid uuid, bits bit(3), point point, circle circle);
CREATE FUNCTION text_row() RETURNS SETOF texts LANGUAGE sql STABLE AS $$
    SELECT 1::float8, .1::float4, .12::float8, 1234.5, decode('61', 'hex'), 'Some Name'::name, '0123456789abcdef0123456789abcdef'::uuid, B'101', point(.12, 1), circle(point(.12, 1), .1)
$$;
INSERT INTO texts SELECT * FROM text_row();
CREATE TABLE text_columns AS SELECT a.attname::text AS name, ''::text AS value FROM pg_attribute a, pg_type t, pg_proc p
 WHERE a.attrelid = 'texts'::regclass AND a.attnum > 1 AND t.oid = a.atttypid AND p.oid = t.typoutput AND p.provolatile = 'i';
SELECT bool_and(name = ANY (ARRAY(SELECT name FROM text_columns))) AS has_these FROM unnest('{float4,float8,bytea,name,point,circle}'::text[]) name;
DO $$ DECLARE each text; BEGIN
    FOR each IN SELECT name FROM text_columns LOOP EXECUTE format('UPDATE text_columns SET value = (SELECT %1$I::text FROM texts) WHERE name = %1$L', each); END LOOP;
END $$;
CREATE TABLE made AS SELECT sketch_spec(2, 50, 1.0) AS s;
CREATE TABLE conditions (name text, condition text);
INSERT INTO conditions VALUES ('bytes', $$raw = '\x5c61'$$), ('nulls', $$words = '{a,NULL}'$$), ('money', $$price > '1,000.00'$$), ('quotes', $$"Kind" = 'it''s \ "'$$),
    ('times', $$at >= '2026-01-06 05:00+00' AND at - at < '1 day 2 hours'$$);
SELECT name, keep_sketch(name, '"Visits"', 'x', (SELECT s FROM made), jsonb_build_object('where', condition, 'group_by', 'Kind', 'bucket', 'at')) FROM conditions ORDER BY name;
SELECT train('model of ' || name, '"Visits"', 'x', 2, 'compressive', jsonb_build_object('where', condition, 'live', name < 'n', 'quiet', true)) FROM conditions WHERE name <> 'quotes' ORDER BY name;
SELECT count(keep_sketch('text of ' || name, 'texts', '{a}', sketch_spec(1, 16, 1.0), jsonb_build_object('where', format('%I::text = %L', name, value)))) AS conditions
  FROM text_columns;
CREATE ROLE live_settings_writer; GRANT USAGE ON SCHEMA of_live_settings TO live_settings_writer; GRANT INSERT ON "Visits", texts TO live_settings_writer;
-- Every setting of client formats that any role may set is tried with each of its values; a
-- sketch that differs would raise a warning.
CREATE TABLE tried (setting text, value text, n integer);
-- PostgreSQL 19 and later cannot turn standard_conforming_strings off.
SELECT current_setting('server_version_num')::int < 190000 AS has_other_strings \gset
CREATE FUNCTION others(setting text, kind text, offered text[]) RETURNS SETOF text LANGUAGE sql AS $$
    SELECT unnest(CASE WHEN setting = 'DateStyle' THEN '{"German, DMY","SQL, MDY","Postgres, YMD"}' WHEN setting = 'lc_monetary' THEN '{C}' WHEN setting = 'TimeZone' THEN '{Asia/Kolkata}'
                       WHEN kind = 'bool' THEN '{on,off}' WHEN kind = 'enum' THEN offered WHEN setting = 'extra_float_digits' THEN '{-15,0,3}' END::text[])
$$;
DO $$
DECLARE
    each record;
    wrong text;
BEGIN
    FOR each IN SELECT g.name, o.value FROM pg_settings g, others(g.name, g.vartype, g.enumvals) o(value)
                 WHERE g.context = 'user' AND (g.category LIKE 'Client Connection Defaults%' OR g.category LIKE 'Version and Platform Compatibility%')
                   AND g.name <> ALL ('{transaction_isolation,transaction_read_only,transaction_deferrable,default_transaction_read_only,default_transaction_isolation,session_replication_role,client_min_messages,row_security,check_function_bodies,event_triggers}')
                   AND (g.name <> 'standard_conforming_strings' OR current_setting('server_version_num')::int < 190000)
                 ORDER BY 1, 2 LOOP
        PERFORM set_config(each.name, each.value, true);
        SET LOCAL ROLE live_settings_writer;
        INSERT INTO "Visits" VALUES (1000, '2026-01-07 12:00+00', decode('5c61', 'hex'), array_append(ARRAY['a'], NULL), 1234.5::numeric::money, E'it''s \\ "', ARRAY[1, 2], 1);
        INSERT INTO texts SELECT * FROM text_row();
        RESET ROLE;
        IF EXISTS (SELECT FROM conditions c, check_sketch(c.name)) OR EXISTS (SELECT FROM live_sketches WHERE problem IS NOT NULL) THEN
            RAISE WARNING '% = %: a live sketch differs', each.name, each.value;
        END IF;
        SELECT string_agg(l.name, ', ' ORDER BY l.name) INTO wrong FROM live_sketches l
         WHERE l.name LIKE 'text of %' AND ARRAY(SELECT row_count(c.s) FROM current_sketches(l.name) c) <> ARRAY(SELECT count(*) FROM texts);
        IF wrong IS NOT NULL THEN
            RAISE WARNING '% = %: rows are missing in %', each.name, each.value, wrong;
        END IF;
        EXECUTE format('SET LOCAL %I TO DEFAULT', each.name);
        INSERT INTO tried VALUES (each.name, each.value, (SELECT count(*) FROM "Visits"));
    END LOOP;
END
$$;
SELECT count(DISTINCT setting) > 10 AS over_10_settings, bool_or(setting = 'quote_all_identifiers')
       AS has_quote_all_identifiers,
       bool_or(setting = 'standard_conforming_strings') = :'has_other_strings'
       AS has_strings_if_settable,
       bool_or(setting = 'bytea_output') AS has_bytea_output, bool_or(setting = 'array_nulls')
       AS has_array_nulls FROM tried;
-- Conditions mean the same when they are read again in a session with such settings.
\if :has_other_strings
SET standard_conforming_strings = off; SET escape_string_warning = off;
\endif
SET array_nulls = off; SET bytea_output = escape; SET quote_all_identifiers = on;
SET transform_null_equals = on; SET timezone = 'Asia/Kolkata';
SELECT count(*) AS differences FROM live_sketches l, check_sketch(l.name);
SELECT name, rebuild_sketch(name) - rows AS rows_missing
  FROM (SELECT name, row_count(merge_agg(s)) AS rows FROM live_sketches l,
           current_sketches(l.name) GROUP BY name) q ORDER BY name;
SELECT n >= 50 AS at_least_50_rows FROM score('model of nulls') WHERE cluster IS NULL;
SELECT retrain('model of ' || name, '{"quiet": true, "iterations": 1}') FROM conditions WHERE name <> 'quotes' ORDER BY name;
SELECT keep_sketch('again', '"Visits"', 'x', (SELECT s FROM made),
       (SELECT jsonb_build_object('where', condition) FROM conditions
           WHERE name = 'bytes')) - row_count(merge_agg(s)) AS rows_missing
  FROM current_sketches('bytes');
-- A time without a zone is stored with the zone of the session that writes the condition.
SELECT condition = (fastclust_internal.row_condition('"Visits"', condition)).condition
       AS same_when_read_again, condition
  FROM fastclust_internal.row_condition('"Visits"', 'at > ''2026-01-06 05:30''') c(condition, columns);
RESET ALL; SET search_path = of_live_settings, public, fastclust;
SELECT count(drop_model(model)) AS models_dropped FROM models;
DROP SCHEMA of_live_settings CASCADE; DROP ROLE live_settings_writer;
