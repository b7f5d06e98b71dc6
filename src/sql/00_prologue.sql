\echo Use "CREATE EXTENSION fastclust" to load this file. \quit

-- Whoever owns the schema, may create in it or has made something there could put a function or an operator where calls
-- from here would take it for the closer match.
DO $$
DECLARE
    schema pg_catalog.pg_namespace;
    problem text;
    hint text := 'Drop it: CREATE EXTENSION makes its own.';
BEGIN
    SELECT n.* INTO schema FROM pg_catalog.pg_namespace n WHERE n.nspname OPERATOR(pg_catalog.=) '@extschema@';
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles r WHERE r.oid OPERATOR(pg_catalog.=) schema.nspowner
                      AND (r.rolsuper OR r.rolname OPERATOR(pg_catalog.=) current_user)) THEN
        problem := 'schema @extschema@ belongs to a role that is not a superuser';
        hint := 'Drop it, or ALTER SCHEMA @extschema@ OWNER TO CURRENT_USER.';
    ELSIF EXISTS (SELECT FROM pg_catalog.aclexplode(schema.nspacl) a LEFT JOIN pg_catalog.pg_roles r ON r.oid OPERATOR(pg_catalog.=) a.grantee
                   WHERE a.privilege_type OPERATOR(pg_catalog.=) 'CREATE' AND a.grantee OPERATOR(pg_catalog.<>) schema.nspowner
                     AND r.rolsuper IS NOT TRUE) THEN
        problem := 'a role that is not a superuser may create objects in schema @extschema@';
        hint := 'Drop it, or REVOKE CREATE ON SCHEMA @extschema@.';
    ELSIF EXISTS (SELECT FROM pg_catalog.pg_depend d
                   WHERE d.refclassid OPERATOR(pg_catalog.=) 'pg_catalog.pg_namespace'::pg_catalog.regclass
                     AND d.refobjid OPERATOR(pg_catalog.=) schema.oid AND d.deptype OPERATOR(pg_catalog.=) 'n'
                     AND d.classid OPERATOR(pg_catalog.<>) 'pg_catalog.pg_extension'::pg_catalog.regclass) THEN
        problem := 'schema @extschema@ holds objects already';
    END IF;
    IF problem IS NOT NULL THEN
        RAISE insufficient_privilege USING MESSAGE = problem, HINT = hint;
    END IF;
END
$$;

-- every function is harmless to others: whoever may connect may use them
GRANT USAGE ON SCHEMA @extschema@ TO PUBLIC;
