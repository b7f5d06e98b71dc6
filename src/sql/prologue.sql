\echo Use "CREATE EXTENSION fastclust" to load this file. \quit

-- Users call functions in schema fastclust, which call support functions in fastclust_internal.
-- Functions in fastclust_owner are only for the owner of the extension: no other role has a right
-- to that schema, so a grant of all functions in the other two schemas does not include them.
--
-- The extension creates its schemas and drops them. If it used a schema that existed before, the
-- schema's owner could create a function to which a call of the extension would resolve.
CREATE SCHEMA fastclust;
CREATE SCHEMA fastclust_internal;
CREATE SCHEMA fastclust_owner;
COMMENT ON SCHEMA fastclust_owner IS 'functions that run as the owner of the extension';

-- All roles may use these two schemas, because no function in them can harm other roles.
GRANT USAGE ON SCHEMA fastclust, fastclust_internal TO PUBLIC;

-- A function that needs the rights of the extension's owner is SECURITY DEFINER, in
-- fastclust_owner. There current_user is the owner. Therefore the last argument of the function is
-- the caller, whose rights the function checks. Other roles call its entry: a function of the same
-- name without that argument, in fastclust or fastclust_internal, which adds GetUserId()
-- (pg/base/entries.c). Functions in fastclust_owner must not call an entry, because it would pass
-- the owner as the caller.

-- Each function gets this path by SET search_path FROM CURRENT. Other roles have no right to
-- fastclust_owner, so they do not find its functions.
SET LOCAL search_path = pg_catalog, fastclust, fastclust_internal, fastclust_owner, pg_temp;
