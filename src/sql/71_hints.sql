
-- hints: what somebody who wrote a name may have meant

-- The name that was meant, where one is almost the given, and all there are.
CREATE FUNCTION fastclust_internal.name_hint(given text, names text[], what text) RETURNS text
    AS 'MODULE_PATHNAME', 'fastclust_name_hint' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

