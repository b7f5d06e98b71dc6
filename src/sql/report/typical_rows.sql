
-- rows and scores of clusters: one scan each

CREATE TYPE fastclust_internal.typical_row AS (cluster integer, rank integer, distance double precision, row_data jsonb);
CREATE FUNCTION fastclust_internal.nearest_rows_final(internal) RETURNS typical_row[]
    AS 'MODULE_PATHNAME', 'fastclust_nearest_rows_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.nearest_rows_accum(internal, fastop, "any", record, integer) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_nearest_rows_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE AGGREGATE fastclust_internal.nearest_rows_agg(op fastop, x "any", row_data record, n integer) (SFUNC = nearest_rows_accum, STYPE = internal,
    SSPACE = 65536, FINALFUNC = nearest_rows_final, FINALFUNC_MODIFY = READ_ONLY);

CREATE FUNCTION typical_rows(model text, n integer DEFAULT 3, relation regclass DEFAULT NULL, group_value text DEFAULT NULL, OUT cluster integer,
        OUT rank integer, OUT distance double precision, OUT row_data jsonb) RETURNS SETOF record
    LANGUAGE fastclust STABLE ROWS 30 SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    held stored_models := readable_model($1);
    version stored_versions := explained_version(held, $4);
    scanned regclass := scanned_relation(held, version, $3, held.group_by);
    source row_source := version_source(held, version, scanned);
    units row_units := ROW(version.center, version.scale, version.map);
BEGIN
    IF $2 IS NULL THEN
        RAISE null_value_not_allowed USING MESSAGE = 'n must not be NULL';
    ELSIF $2 NOT BETWEEN 1 AND 1000 THEN
        RAISE invalid_parameter_value USING MESSAGE = format('n is %s, out of range', $2), DETAIL = 'It may be from 1 to 1000.';
    END IF;
    -- whole rows are read, and columns of any type written as JSON: all columns are checked as those that the version names
    PERFORM check_stored_scan(held, version, scanned, ARRAY(SELECT a.attname FROM pg_attribute a WHERE a.attrelid = scanned AND a.attnum > 0 AND NOT a.attisdropped), $3 IS NOT NULL);
    RETURN QUERY EXECUTE format('SELECT r.* FROM (SELECT nearest_rows_agg($2, %s, t.*, $3) AS rows %s) q, unnest(q.rows) r', row_in_space(source, units), rows_from(source))
        USING units, version.operator, $2;
END
$$;
COMMENT ON FUNCTION typical_rows(text, integer, regclass, text) IS 'the n rows of the table that are nearest to each centroid, whole, nearest first';

-- The last row, of cluster NULL, is of all clusters; n counts rows of the sample.
CREATE FUNCTION fastclust_internal.quality_of_sample(op fastop, sample fastop, OUT cluster integer, OUT n double precision, OUT share double precision,
        OUT silhouette double precision, OUT davies_bouldin double precision, OUT spread double precision, OUT variance_explained double precision)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_quality_of_sample' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000000 ROWS 10;

CREATE FUNCTION score(model text, relation regclass DEFAULT NULL, group_value text DEFAULT NULL, OUT cluster integer, OUT name text, OUT n bigint,
        OUT share double precision, OUT silhouette double precision, OUT davies_bouldin double precision, OUT spread double precision,
        OUT variance_explained double precision) RETURNS SETOF record
    LANGUAGE fastclust STABLE ROWS 10 SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    held stored_models := readable_model($1);
    version stored_versions := explained_version(held, $3);
    sample fastop := version_sample(held, version, $2, least(50000, greatest(5000, 2e10 / clusters(version.operator) / dim(version.operator))));
BEGIN
    RETURN QUERY
    SELECT q.cluster, names.name, COALESCE(round(q.share * clusters(sample))::bigint, 0), q.share, q.silhouette, q.davies_bouldin, q.spread, q.variance_explained
      FROM quality_of_sample(version.operator, rows_in_space(operator_in_units(sample, NULL, NULL, version.center, version.scale), version.map)) q LEFT JOIN version_names(version) names USING (cluster)
     ORDER BY q.cluster NULLS LAST;
END
$$;
COMMENT ON FUNCTION score(text, regclass, text) IS 'how compact and how well separated each cluster is, and in the row without a cluster all of them';
