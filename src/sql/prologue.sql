\echo Use "CREATE EXTENSION fastclust" to load this file. \quit

-- What users call is in @extschema@; what that calls is in fastclust_internal.
CREATE SCHEMA fastclust_internal;

-- Whoever owns a schema, may create in it or has made something there could put a function or an operator where calls
-- from here would take it for the closer match.
DO $$
DECLARE
    schema record;
    problem text;
    hint text;
BEGIN
    FOR schema IN SELECT n.* FROM pg_catalog.pg_namespace n
                   WHERE n.nspname OPERATOR(pg_catalog.=) ANY ('{@extschema@,fastclust_internal}') LOOP
        problem := NULL;
        hint := 'Drop it: CREATE EXTENSION makes its own.';
        IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles r WHERE r.oid OPERATOR(pg_catalog.=) schema.nspowner
                          AND (r.rolsuper OR r.rolname OPERATOR(pg_catalog.=) current_user)) THEN
            problem := pg_catalog.format('schema %s belongs to a role that is not a superuser', schema.nspname);
            hint := pg_catalog.format('Drop it, or ALTER SCHEMA %s OWNER TO CURRENT_USER.', schema.nspname);
        ELSIF EXISTS (SELECT FROM pg_catalog.aclexplode(schema.nspacl) a LEFT JOIN pg_catalog.pg_roles r ON r.oid OPERATOR(pg_catalog.=) a.grantee
                       WHERE a.privilege_type OPERATOR(pg_catalog.=) 'CREATE' AND a.grantee OPERATOR(pg_catalog.<>) schema.nspowner
                         AND r.rolsuper IS NOT TRUE) THEN
            problem := pg_catalog.format('a role that is not a superuser may create objects in schema %s', schema.nspname);
            hint := pg_catalog.format('Drop it, or REVOKE CREATE ON SCHEMA %s.', schema.nspname);
        ELSIF EXISTS (SELECT FROM pg_catalog.pg_depend d
                       WHERE d.refclassid OPERATOR(pg_catalog.=) 'pg_catalog.pg_namespace'::pg_catalog.regclass
                         AND d.refobjid OPERATOR(pg_catalog.=) schema.oid AND d.deptype OPERATOR(pg_catalog.=) 'n'
                         AND d.classid OPERATOR(pg_catalog.<>) 'pg_catalog.pg_extension'::pg_catalog.regclass) THEN
            problem := pg_catalog.format('schema %s holds objects already', schema.nspname);
        END IF;
        IF problem IS NOT NULL THEN
            RAISE insufficient_privilege USING MESSAGE = problem, HINT = hint;
        END IF;
    END LOOP;
END
$$;

-- every function is harmless to others: whoever may connect may use them
GRANT USAGE ON SCHEMA @extschema@, fastclust_internal TO PUBLIC;

-- the languages of functions for users, and of those that write as the owner (pg/base/languages.c)
CREATE FUNCTION fastclust_internal.call_plpgsql() RETURNS language_handler AS 'MODULE_PATHNAME', 'fastclust_call_plpgsql' LANGUAGE C;
CREATE FUNCTION fastclust_internal.call_as_owner() RETURNS language_handler AS 'MODULE_PATHNAME', 'fastclust_call_as_owner' LANGUAGE C;
CREATE FUNCTION fastclust_internal.calling_role() RETURNS oid AS 'MODULE_PATHNAME', 'fastclust_calling_role' LANGUAGE C STABLE PARALLEL RESTRICTED;
CREATE LANGUAGE fastclust HANDLER fastclust_internal.call_plpgsql;
CREATE LANGUAGE fastclust_owner HANDLER fastclust_internal.call_as_owner;
COMMENT ON LANGUAGE fastclust IS 'PL/pgSQL whose errors do not show how fastclust is built';
COMMENT ON LANGUAGE fastclust_owner IS 'the same, run with the rights of the owner of the function, which checks those of the caller';

-- objects are made in @extschema@ unless they say otherwise, and found in both
SET LOCAL search_path = @extschema@, fastclust_internal, pg_temp;
