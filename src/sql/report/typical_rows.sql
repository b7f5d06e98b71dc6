
-- typical_rows returns the rows nearest to each centroid, from one scan of the table. score returns
-- measures of the quality of each cluster, such as the silhouette, from a sample of the rows.

CREATE TYPE fastclust_internal.typical_row AS (
    cluster integer, rank integer, distance double precision, row_data jsonb);
CREATE FUNCTION fastclust_internal.nearest_rows_final(internal) RETURNS typical_row[]
    AS 'MODULE_PATHNAME', 'fastclust_nearest_rows_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.nearest_rows_accum(internal, fastop, "any", record, integer)
    RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_nearest_rows_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE
    COST 300;
CREATE AGGREGATE fastclust_internal.nearest_rows_agg(op fastop, x "any", row_data record,
        n integer) (
    SFUNC = nearest_rows_accum, STYPE = internal, SSPACE = 65536, FINALFUNC = nearest_rows_final,
    FINALFUNC_MODIFY = READ_ONLY);

CREATE FUNCTION fastclust.typical_rows(model text, n integer DEFAULT 3,
        relation regclass DEFAULT NULL, group_value anycompatible DEFAULT NULL,
        OUT cluster integer, OUT rank integer, OUT distance double precision, OUT row_data jsonb)
    RETURNS SETOF record
    LANGUAGE plpgsql STABLE ROWS 30
    SET search_path FROM CURRENT SET standard_conforming_strings = on SET array_nulls = on
    SET lc_monetary = 'C' SET quote_all_identifiers = off AS $$
DECLARE
    stored stored_models := readable_model($1);
    version stored_versions := explained_version(stored, group_of($1, -1, $4));
    scanned regclass := scanned_relation(stored, version, $3, stored.group_by);
    source record;
BEGIN
    IF $2 IS NULL THEN
        RAISE null_value_not_allowed USING MESSAGE = 'n must not be NULL';
    ELSIF $2 NOT BETWEEN 1 AND 1000 THEN
        RAISE invalid_parameter_value USING MESSAGE = format('n is %s, out of range', $2),
            DETAIL = 'Valid values are from 1 to 1000.';
    END IF;
    -- Check all columns like the columns of the version, because whole rows are read, and columns
    -- of any type are written as JSON.
    PERFORM check_stored_scan(
                stored, version, scanned,
                ARRAY(SELECT a.attname FROM pg_attribute a
                       WHERE a.attrelid = scanned AND a.attnum > 0 AND NOT a.attisdropped),
                $3 IS NOT NULL);
    source := version_query(version, scanned, stored.group_by);
    RETURN QUERY
        EXECUTE format(
                    'SELECT r.* FROM (SELECT nearest_rows_agg($4, %s, t.*, $5) AS rows %s) q, '
                    'unnest(q.rows) r',
                    source.observed, source.rows)
            USING version.center, version.scale, version.map,
                  COALESCE(version.micro_clusters, version.operator), $2;
END
$$;
COMMENT ON FUNCTION fastclust.typical_rows IS
    'Returns the n whole rows of the table that are nearest to each centroid, nearest first.';

-- Returns scores of an operator on a sample: a row per cluster, and a last row with cluster NULL
-- for all clusters. n is the number of rows in the sample.
CREATE FUNCTION fastclust_internal.quality_of_sample(op fastop, sample fastop, OUT cluster integer,
        OUT n double precision, OUT share double precision, OUT silhouette double precision,
        OUT davies_bouldin double precision, OUT spread double precision,
        OUT variance_explained double precision)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_quality_of_sample' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
    COST 1000000 ROWS 10;

-- Returns the share of the rows whose labels by the operators `old` and `new` differ. old_rows and
-- new_rows are the same rows, as input of each operator. Before the comparison, each cluster of
-- `new` that continues a cluster of `old` gets the number of that cluster, as in a retrain. moved:
-- the operator `new` in the coordinates of `old`, or NULL if they have no common coordinates.
CREATE FUNCTION fastclust_internal.changed_labels(old fastop, old_rows fastop, new fastop,
        new_rows fastop, moved fastop)
    RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_labels_changed' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100000;

CREATE FUNCTION fastclust.score(model text, relation regclass DEFAULT NULL,
        group_value anycompatible DEFAULT NULL, INOUT version integer DEFAULT -1,
        OUT cluster integer, OUT name text, OUT n bigint, OUT share double precision,
        OUT silhouette double precision, OUT davies_bouldin double precision,
        OUT spread double precision, OUT variance_explained double precision,
        OUT labels_changed double precision)
    RETURNS SETOF record
    LANGUAGE plpgsql STABLE ROWS 10 SET search_path FROM CURRENT AS $$
DECLARE
    stored stored_models := readable_model($1);
    measured stored_models := CASE WHEN $4 = -1 THEN stored ELSE at_version(stored, $4) END;
    group_version stored_versions := explained_version(measured,
                                                        group_of($1, measured.version, $3));
    drawn record := rows_sampled(
                         group_version, scanned_relation(measured, group_version, $2, measured.group_by),
                         measured.group_by,
                         least(50000,
                               greatest(5000,
                                        2e10 / clusters(group_version.operator) / dim(group_version.operator))));
    sample fastop := COALESCE(drawn.labelled, drawn.sample);
    current stored_versions;
    changed float8;
BEGIN
    IF group_version.micro_clusters IS NOT NULL THEN
        RAISE feature_not_supported USING
            MESSAGE = format(
                          'score needs round clusters, but clusters of model "%s" may have any shape',
                          $1),
            HINT = 'Use predict_probabilities for the membership of rows, and cluster_tree for the distances between clusters.';
    END IF;
    -- the current version, for comparison, if its rows have the same coordinates
    SELECT v.* INTO current
      FROM readable_versions v
     WHERE v.model_id = stored.id
       AND v.version = stored.version
       AND v.version <> group_version.version
       AND v.micro_clusters IS NULL
       AND v.group_value = group_version.group_value
       AND stored.group_by IS NOT DISTINCT FROM measured.group_by
       AND (SELECT array_agg(f::text ORDER BY f.dimension)
              FROM labelled_features(ROW(v.*)::stored_versions) f) = (
               SELECT array_agg(f::text ORDER BY f.dimension) FROM labelled_features(group_version) f);
    changed := changed_labels(
                   current.operator, rows_of_version(current, sample), group_version.operator,
                   rows_of_version(group_version, sample),
                   CASE WHEN group_version.map IS NULL AND current.map IS NULL
                            THEN rescaled_operator(
                                     group_version.operator, group_version.center, group_version.scale, current.center,
                                     current.scale) END);
    RETURN QUERY
        SELECT v.version, q.cluster, names.name,
               COALESCE(round(q.share * clusters(sample))::bigint, 0), q.share, q.silhouette,
               q.davies_bouldin, q.spread, q.variance_explained,
               CASE WHEN q.cluster IS NULL AND v.version = group_version.version THEN changed END
          FROM unnest(ARRAY[group_version, current]) v
          CROSS JOIN LATERAL quality_of_sample(v.operator, rows_of_version(v, sample)) q
          LEFT JOIN LATERAL version_names(v) names USING (cluster)
         WHERE v.version IS NOT NULL
         ORDER BY q.cluster NULLS LAST, v.version;
END
$$;
COMMENT ON FUNCTION fastclust.score IS
    'Returns how compact and how well separated each cluster is; the row without a cluster is '
    'for all clusters together. For another version, also returns the share of labels that it '
    'would change, and the rows of the current version.';
