
-- rows and scores of clusters: one scan each

--@door
CREATE FUNCTION typical_rows(model text, n integer DEFAULT 3, relation regclass DEFAULT NULL, group_value text DEFAULT NULL, OUT cluster integer,
        OUT rank integer, OUT distance double precision, OUT row_data jsonb) RETURNS SETOF record
    LANGUAGE plpgsql STABLE ROWS 30 SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
BEGIN
    RAISE feature_not_supported USING MESSAGE = 'typical_rows is not there yet';
END
$$;
COMMENT ON FUNCTION typical_rows(text, integer, regclass, text) IS 'the n rows of the table that are nearest to each centroid, whole, nearest first';

--@door
CREATE FUNCTION score(model text, relation regclass DEFAULT NULL, group_value text DEFAULT NULL, OUT cluster integer, OUT name text, OUT n bigint,
        OUT share double precision, OUT silhouette double precision, OUT davies_bouldin double precision, OUT spread double precision,
        OUT variance_explained double precision) RETURNS SETOF record
    LANGUAGE plpgsql STABLE ROWS 10 SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
BEGIN
    RAISE feature_not_supported USING MESSAGE = 'score is not there yet';
END
$$;
COMMENT ON FUNCTION score(text, regclass, text) IS 'how compact and how well separated each cluster is, and in the row without a cluster all of them';
