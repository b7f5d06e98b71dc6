\echo Use "CREATE EXTENSION fastclust" to load this file. \quit

-- Functions for users are in fastclust, functions that these call in fastclust_internal.
-- Functions in fastclust_owner are for the owner of the extension alone: nobody else has a
-- right to that schema, so that a grant of all functions in the other two gives none to these.
-- The schemas belong to the extension, which makes them and drops them: in a schema that was
-- there, its owner could put a function where calls from here would take it for the closer
-- match.
CREATE SCHEMA fastclust;
CREATE SCHEMA fastclust_internal;
CREATE SCHEMA fastclust_owner;
COMMENT ON SCHEMA fastclust_owner IS 'functions that run as the owner of the extension';

-- every function in these is harmless to others: whoever may connect may use them
GRANT USAGE ON SCHEMA fastclust, fastclust_internal TO PUBLIC;

-- A function that needs the rights of the owner is SECURITY DEFINER, in fastclust_owner.  Its
-- last argument is the caller, whose rights it checks: in it current_user is the owner.  Other
-- roles call its entry, a function of its name and its other arguments in fastclust or
-- fastclust_internal, which adds GetUserId() (pg/base/entries.c).  Functions in fastclust_owner
-- never call an entry, which would take the owner for the caller.

-- the path of each function, by SET search_path FROM CURRENT; the schema fastclust_owner is in
-- nobody's path but the owner's
SET LOCAL search_path = pg_catalog, fastclust, fastclust_internal, fastclust_owner, pg_temp;
