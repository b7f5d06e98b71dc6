
-- retrain: trains a new version on new rows; unchanged clusters keep their numbers

-- retrain and retrain_if_drifted use the caller's search_path to find the relation in the options.

CREATE FUNCTION fastclust.retrain(model text, options jsonb DEFAULT '{}',
        sketch sketch DEFAULT NULL)
    RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_retrain' LANGUAGE C;
COMMENT ON FUNCTION fastclust.retrain IS
    'Trains a new version with the settings of the current one, which the options may change. '
    'With a sketch of new rows, uses only this sketch and the training sketch. Clusters that '
    'persist keep their numbers. Returns the number of the version.';

CREATE FUNCTION fastclust.retrain_if_drifted(model text, threshold double precision DEFAULT 0.01,
        min_effect double precision DEFAULT 0.1, options jsonb DEFAULT '{}')
    RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_retrain_if_drifted' LANGUAGE C;
COMMENT ON FUNCTION fastclust.retrain_if_drifted IS
    'Retrains a model if the p-value of drift is below the threshold and its effect is '
    'min_effect or more. Returns the new version, or NULL if it did not retrain. Logs each check '
    'in drift_log.';

-- The polymorphic type makes the parser read an untyped literal as text[].
CREATE FUNCTION fastclust.merge_clusters(model text, clusters anycompatiblearray) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_merge_clusters' LANGUAGE C;
COMMENT ON FUNCTION fastclust.merge_clusters IS
    'Makes a version in which some clusters, given by number or by name, are merged at their '
    'mean. The merged cluster has the number and the name of the largest one; the others keep '
    'theirs. Returns the number of the version.';

-- The numbers of pinned clusters are stored in option pinned of the current version, and retrain
-- copies the option. The numbers remain valid, because clusters that persist keep their numbers.
CREATE FUNCTION fastclust.pin_cluster(model text, cluster integer, pinned boolean DEFAULT true)
    RETURNS void
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C;
CREATE FUNCTION fastclust_owner.pin_cluster(model text, cluster integer, pinned boolean, caller oid)
    RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    stored stored_models := locked_model(model, true, false, caller);
    version stored_versions := explained_version(stored, NULL);
    others jsonb := (SELECT COALESCE(jsonb_agg(e ORDER BY e), '[]')
                       FROM jsonb_array_elements(version.options -> 'pinned') e
                      WHERE e <> to_jsonb(cluster));
BEGIN
    IF cluster IS NULL OR cluster <> ALL (cluster_numbers(version.operator)) THEN
        RAISE invalid_parameter_value USING
            MESSAGE = format('cluster is %s, out of range', COALESCE(cluster::text, 'NULL')),
            DETAIL = format('Model "%s" has clusters %s.', stored.model,
                            listed_numbers(version.operator));
    ELSIF version.method <> 'kmeans' THEN
        RAISE feature_not_supported USING
            MESSAGE = format('method "%s" moves all clusters: none can be pinned', version.method),
            HINT = 'Methods with pinned clusters are auto, kmeans.';
    END IF;
    IF pinned THEN
        others := others || to_jsonb(cluster);
    END IF;
    UPDATE version_groups v
       SET options = CASE others
                          WHEN '[]' THEN v.options - 'pinned'
                          ELSE v.options || jsonb_build_object('pinned', others) END
     WHERE v.model_id = stored.id AND v.version = stored.version;
END
$$;
COMMENT ON FUNCTION fastclust.pin_cluster IS
    'Pins the centroid of a cluster, so that retraining does not move it, or unpins it.';
