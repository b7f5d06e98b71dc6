\echo Use "CREATE EXTENSION fastclust" to load this file. \quit

-- Functions for users are in @extschema@, functions that these call in fastclust_internal.  Both belong to the extension, which makes them and drops them: in a
-- schema that was there, its owner or who may create in it could put a function where calls from here would take it for the closer match.
CREATE SCHEMA fastclust;
CREATE SCHEMA fastclust_internal;

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
