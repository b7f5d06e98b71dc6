
-- hints: what somebody who wrote a name may have meant

-- The name that was meant, where one is almost the given, and all there are.
CREATE FUNCTION fastclust_internal.name_hint(given text, names text[], what text) RETURNS text
    AS 'MODULE_PATHNAME', 'fastclust_name_hint' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

-- Of a column that is not there.
CREATE FUNCTION fastclust_internal.column_hint(relation regclass, given text) RETURNS text
    LANGUAGE sql STABLE SET search_path = pg_catalog, fastclust_internal, pg_temp AS $$
    SELECT CASE WHEN given LIKE '%,%' AND NOT EXISTS (SELECT FROM unnest(string_to_array(given, ',')) u(name) WHERE trim(u.name) <> ALL (a.names))
                THEN format('Columns are given as a list: ARRAY[%s].', (SELECT string_agg(quote_literal(trim(u.name)), ', ') FROM unnest(string_to_array(given, ',')) u(name)))
                WHEN lower(given) = ANY (a.names) THEN format('Perhaps you meant "%s".', lower(given))
                ELSE COALESCE(CASE WHEN cardinality(a.names) <= 20 THEN h.hint ELSE substring(h.hint FROM '^Perhaps you meant "[^"]*"[.]') END,
                              format('It has %s columns.', cardinality(a.names))) END
      FROM (SELECT COALESCE(array_agg(a.attname::text ORDER BY a.attnum), '{}') AS names
              FROM pg_attribute a WHERE a.attrelid = relation AND a.attnum > 0 AND NOT a.attisdropped) a, name_hint(given, a.names, 'Columns are') h(hint)
$$;
