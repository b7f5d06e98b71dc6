-- A relation that does not exist is an error of its own, never an internal error, in every
-- function that takes a relation, also in internal ones.
-- The functions come from the catalog; the other arguments get a value that their type accepts.
CREATE FUNCTION state_of(statement text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE statement;
    RETURN 'no error';
EXCEPTION WHEN OTHERS THEN
    RETURN SQLSTATE || CASE WHEN SQLSTATE LIKE 'XX%' THEN ' ' || SQLERRM ELSE '' END;
END $$;
CREATE TABLE calls AS
SELECT p.oid::regprocedure AS function, format('SELECT * FROM %s(%s)', p.oid::regproc, string_agg(
    CASE WHEN a.type = 'regclass'::regtype THEN '4294967295::regclass'
         WHEN a.type IN ('text'::regtype, 'name'::regtype) THEN format('%L::%s', 'none', a.type)
         WHEN a.type IN ('integer'::regtype, 'bigint'::regtype, 'double precision'::regtype) THEN format('1::%s', a.type)
         WHEN a.type = 'oid'::regtype THEN '10::oid'
         WHEN a.type = 'boolean'::regtype THEN 'false'
         WHEN a.type = 'jsonb'::regtype THEN '''{}''::jsonb'
         WHEN a.type = 'name[]'::regtype THEN '''{x}''::name[]'
         WHEN a.type = 'text[]'::regtype THEN '''{x}''::text[]'
         WHEN a.type = 'sketch_spec'::regtype THEN 'sketch_spec(2, 20, 0.5, seed => 1)'
         WHEN a.type = 'kernel'::regtype THEN 'rbf_kernel(1.0)'
         WHEN t.typtype = 'c' THEN format('(SELECT ROW(%s)::%s)', (SELECT string_agg('NULL', ', ') FROM pg_attribute c WHERE c.attrelid = t.typrelid AND c.attnum > 0 AND NOT c.attisdropped), a.type)
         ELSE format('NULL::%s', CASE WHEN t.typtype = 'p' THEN 'text' ELSE a.type::text END) END, ', ' ORDER BY a.i)) AS call
  FROM pg_proc p, unnest(p.proargtypes::regtype[]) WITH ORDINALITY a(type, i) JOIN pg_type t ON t.oid = a.type
 WHERE p.pronamespace IN ('fastclust'::regnamespace, 'fastclust_internal'::regnamespace, 'fastclust_owner'::regnamespace) AND p.prorettype <> 'trigger'::regtype
   AND 'regclass'::regtype = ANY (p.proargtypes::regtype[]) AND p.prokind = 'f'
 GROUP BY p.oid;
SELECT count(*) > 50 AS over_50_functions FROM calls;
SET client_min_messages = error;
CREATE TABLE ended AS SELECT function, state_of(call) AS state FROM calls;
RESET client_min_messages;
SELECT function, state FROM ended WHERE state LIKE 'XX%';
SELECT state FROM ended WHERE function = 'fastclust_owner.count_rows(bigint,regclass,oid)'::regprocedure;
SELECT count(*) > 10 AS over_10_functions_say_undefined_table FROM ended WHERE state = '42P01';
DROP TABLE calls, ended;
DROP FUNCTION state_of;
