
-- retrain with the option frozen: the clusters that serve stay where they are, and more are learned around them

-- The operator that serves, and more clusters behind its own; frozen as a whole where there are no more.
CREATE FUNCTION fastclust_internal.fit_frozen(job training_job, units row_units, group_value text, space_rows fastop, k integer, OUT op fastop, OUT frozen boolean)
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    old stored_versions := serving_part(job, group_value);
    more fastop;
BEGIN
    op := operator_in_units(old.operator, old.center, old.scale, units.center, units.scale);
    IF op IS NULL OR dim(op) <> dim(space_rows) THEN
        RAISE feature_not_supported USING MESSAGE = format('model "%s" has no clusters that can be frozen%s', job.model,
                CASE WHEN group_value = '' THEN '' ELSE format(' for group "%s"', group_value) END),
            HINT = 'Retrain without the option frozen.';
    END IF;
    frozen := clusters(op) >= k;
    IF NOT frozen THEN
        -- of those rows that are farthest from the old ones, a quarter of them, or fifty a cluster
        more := (SELECT cluster_centroids(with_metric(fastop_agg(r.centroid, r.weight ORDER BY r.cluster), COALESCE((job.source).metric, 'euclidean')), k - clusters(op),
                                          jsonb_build_object('seed', job.seed), NULL, 0)
                   FROM (SELECT c.cluster, c.centroid, c.weight FROM centroids(space_rows) c
                          ORDER BY assign_distance(op, c.centroid) DESC, c.cluster LIMIT greatest(50 * (k - clusters(op)), clusters(space_rows) / 4)) r);
        op := (SELECT with_metric(fastop_agg(c.centroid, c.weight ORDER BY c.place, c.cluster), COALESCE((job.source).metric, 'euclidean'))
                 FROM (SELECT 0 AS place, o.* FROM centroids(op) o UNION ALL SELECT 1, m.* FROM centroids(more) m) c);
    END IF;
END
$$;
