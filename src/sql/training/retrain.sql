
-- retrain: a new version on new rows, that keeps the numbers of the clusters that stayed

-- These set the search_path by themselves, once that of the caller has found the relation of
-- the options.

CREATE FUNCTION fastclust.retrain(model text, options jsonb DEFAULT '{}',
        sketch sketch DEFAULT NULL)
    RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_retrain' LANGUAGE C
    SET standard_conforming_strings = on SET array_nulls = on SET lc_monetary = 'C'
    SET quote_all_identifiers = off;
COMMENT ON FUNCTION fastclust.retrain IS
    'train a new version as before, or as the options say; with a sketch of new rows, from it and the training sketch alone; clusters that stayed keep their numbers';

CREATE FUNCTION fastclust.retrain_if_drifted(model text, threshold double precision DEFAULT 0.01,
        min_effect double precision DEFAULT 0.1, options jsonb DEFAULT '{}')
    RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_retrain_if_drifted' LANGUAGE C
    SET standard_conforming_strings = on SET array_nulls = on SET lc_monetary = 'C'
    SET quote_all_identifiers = off;
COMMENT ON FUNCTION fastclust.retrain_if_drifted IS
    'retrain when the p-value of drift is below the threshold and its effect at least min_effect; the new version, or NULL; every check is a row of drift_log';

-- The parser takes a literal without a type as text[] here.
CREATE FUNCTION fastclust.merge_clusters(model text, clusters anycompatiblearray) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_merge_clusters' LANGUAGE C
    SET search_path FROM CURRENT SET standard_conforming_strings = on SET array_nulls = on
    SET lc_monetary = 'C' SET quote_all_identifiers = off;
COMMENT ON FUNCTION fastclust.merge_clusters IS
    'a version in which some clusters, by number or by name, are one, at their mean, with the number and the name of the largest; the others keep theirs';

-- The numbers are an option of the version that serves, which retrains keep; clusters that
-- stayed keep their numbers.
CREATE FUNCTION fastclust.pin_cluster(model text, cluster integer, pinned boolean DEFAULT true)
    RETURNS void
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C;
CREATE FUNCTION fastclust_owner.pin_cluster(model text, cluster integer, pinned boolean, caller oid)
    RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    held stored_models := held_model(model, true, false, caller);
    version stored_versions := explained_version(held, NULL);
    others jsonb := (SELECT COALESCE(jsonb_agg(e ORDER BY e), '[]')
                       FROM jsonb_array_elements(version.options -> 'pinned') e
                      WHERE e <> to_jsonb(cluster));
BEGIN
    IF cluster IS NULL OR cluster <> ALL (cluster_numbers(version.operator)) THEN
        RAISE invalid_parameter_value USING
            MESSAGE = format('cluster is %s, out of range', COALESCE(cluster::text, 'NULL')),
            DETAIL = format('Model "%s" has clusters %s.', held.model,
                            listed_numbers(version.operator));
    ELSIF version.method <> 'kmeans' THEN
        RAISE feature_not_supported USING
            MESSAGE = format('method "%s" moves all clusters: none can be pinned', version.method),
            HINT = 'Methods with pinned clusters are auto, kmeans.';
    END IF;
    IF pinned THEN
        others := others || to_jsonb(cluster);
    END IF;
    UPDATE version_parts v
       SET options = CASE others
                          WHEN '[]' THEN v.options - 'pinned'
                          ELSE v.options || jsonb_build_object('pinned', others) END
     WHERE v.model_id = held.id AND v.version = held.version;
END
$$;
COMMENT ON FUNCTION fastclust.pin_cluster IS
    'keep the centroid of a cluster in all retrains, or no longer';
