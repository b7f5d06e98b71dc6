
-- Levels and trees of the clusters of a model

CREATE FUNCTION fastclust.predict_path(model text, x "any", group_value anycompatible DEFAULT NULL,
        version integer DEFAULT -1)
    RETURNS integer[]
    AS 'MODULE_PATHNAME', 'fastclust_predict_path' LANGUAGE C STABLE PARALLEL SAFE COST 200
    SUPPORT vector_support;
COMMENT ON FUNCTION fastclust.predict_path IS
    'Returns the number of the row''s node on each level of a model, top level first. The last '
    'number is the cluster that predict returns.';

-- Returns the nodes of each level; level 1 is the top. If the version has no levels, the clusters
-- are the only level.
CREATE FUNCTION fastclust_internal.version_levels(version stored_versions, OUT level integer,
        OUT node integer, OUT parent integer, OUT share double precision,
        OUT centroid double precision[])
    RETURNS SETOF record
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $$
DECLARE
    k integer := clusters(version.operator);
    above integer := COALESCE(array_length(version.paths, 2), 0);
    total float8 := (SELECT NULLIF(sum(c.weight), 0) FROM centroids(version.operator) c);
    own CONSTANT integer[] := cluster_numbers(version.operator);
    numbers integer[];
    parents integer[];
BEGIN
    FOR l IN 1 .. above + 1 LOOP
        numbers := ARRAY(SELECT CASE WHEN l > above THEN j - 1 ELSE version.paths[j][l] END
                           FROM generate_series(1, k) j
                          ORDER BY j);
        parents := (SELECT array_agg(q.parent ORDER BY q.node)
                      FROM (SELECT DISTINCT u.n AS node,
                                            CASE WHEN l > 1
                                                     THEN version.paths[u.j][l - 1] END AS parent
                              FROM unnest(numbers) WITH ORDINALITY u(n, j)) q);
        RETURN QUERY
            SELECT l, CASE WHEN l > above THEN own[c.cluster + 1] ELSE c.cluster END,
                   parents[c.cluster + 1], c.weight / total, c.centroid
              FROM centroids(rescaled_operator(joined_clusters(version.operator, numbers),
                                               version.center, version.scale, NULL, NULL)) c;
    END LOOP;
END
$$;

-- Returns the steps of the tree of the clusters of a version: the density splits for method
-- density, Ward's tree for other methods. Each step joins two nodes.
CREATE FUNCTION fastclust_internal.version_joins(version stored_versions, OUT step integer,
        OUT "left" integer, OUT "right" integer, OUT height double precision,
        OUT weight double precision)
    RETURNS SETOF record
    LANGUAGE sql IMMUTABLE SET search_path FROM CURRENT AS $$
    SELECT i, version.splits[4 * i - 3]::integer, version.splits[4 * i - 2]::integer,
           version.splits[4 * i - 1], version.splits[4 * i]
      FROM generate_series(1, cardinality(version.splits) / 4) i
    UNION ALL
    SELECT j.* FROM cluster_joins(version.operator) j WHERE version.splits IS NULL
$$;

CREATE FUNCTION fastclust.cluster_tree(model text, group_value anycompatible DEFAULT NULL,
        OUT level integer, OUT node integer, OUT parent integer, OUT height double precision,
        OUT n bigint, OUT share double precision, OUT centroid double precision[])
    RETURNS SETOF record
    LANGUAGE plpgsql STABLE ROWS 100 SET search_path FROM CURRENT AS $$
DECLARE
    version stored_versions := explained_version(readable_model($1),
                                                  group_of($1, -1, $2));
    k integer := cluster_labels(version.operator);
    total float8 := (SELECT NULLIF(sum(c.weight), 0) FROM centroids(version.operator) c);
BEGIN
    RETURN QUERY
        WITH clusters AS (
                 SELECT l.level, l.node, l.parent, l.share,
                        CASE WHEN version.map IS NULL THEN l.centroid END AS centroid
                   FROM version_levels(version) l),
             joins AS MATERIALIZED (
                 SELECT k + j.step - 1 AS node, j."left", j."right", j.height,
                        j.weight / total AS share
                   FROM version_joins(version) j
                  WHERE version.paths IS NULL),
             nodes AS (
                 SELECT CASE WHEN version.paths IS NOT NULL THEN c.level END AS level, c.node,
                        COALESCE(j.node, c.parent) AS parent,
                        CASE WHEN version.paths IS NULL THEN 0::float8 END AS height, c.share,
                        c.centroid
                   FROM clusters c LEFT JOIN joins j ON c.node IN (j."left", j."right")
                 UNION ALL
                 SELECT NULL, c.node, j.node, c.height, c.share, NULL
                   FROM joins c LEFT JOIN joins j ON c.node IN (j."left", j."right"))
        SELECT t.level, t.node, t.parent, t.height,
               round(clustered_rows(version) * t.share)::bigint, t.share, t.centroid
          FROM nodes t
         ORDER BY t.level, t.node;
END
$$;
COMMENT ON FUNCTION fastclust.cluster_tree IS
    'Returns the tree of the clusters. For a model with levels, these are the nodes of each '
    'level, level 1 at the top. Otherwise clusters are joined two by two by Ward''s criterion, '
    'with method density by the densest valley between them; step i makes node h + i, where h is '
    'the highest number of a cluster.';

CREATE FUNCTION fastclust.merge_small_clusters(op fastop, min_share double precision) RETURNS fastop
    LANGUAGE plpgsql IMMUTABLE STRICT SET search_path FROM CURRENT AS $$
DECLARE
    k integer := cluster_labels(op);
    shares float8[] := (SELECT array_agg(c.weight / t.total ORDER BY i)
                          FROM generate_series(0, k - 1) i
                          LEFT JOIN centroids(op) c ON c.cluster = i,
                               (SELECT NULLIF(sum(w.weight), 0) AS total FROM centroids(op) w) t);
    tops integer[] := cluster_numbers(op);
    node_join record;
BEGIN
    IF NOT min_share BETWEEN 0 AND 1 THEN
        RAISE invalid_parameter_value USING
            MESSAGE = format('min_share is %s, out of range', min_share),
            DETAIL = 'It must be a share of the rows, between 0 and 1.';
    END IF;
    -- A node that is large enough remains; a small one is merged into the node to which Ward's tree
    -- joins it.
    FOR node_join IN SELECT * FROM cluster_joins(op) ORDER BY step LOOP
        shares := shares || shares[node_join."left" + 1] + shares[node_join."right" + 1];
        IF least(shares[node_join."left" + 1], shares[node_join."right" + 1]) < min_share THEN
            tops := ARRAY(SELECT CASE WHEN t IN (node_join."left", node_join."right")
                                          THEN k + node_join.step - 1
                                      ELSE t END
                            FROM unnest(tops) WITH ORDINALITY u(t, i)
                           ORDER BY i);
        END IF;
    END LOOP;
    RETURN joined_clusters(
               op,
               (SELECT array_agg(r.number ORDER BY u.i) FROM unnest(tops) WITH ORDINALITY u(t, i)
                  JOIN (SELECT q.t, row_number() OVER (ORDER BY min(q.i))::integer - 1 AS number
                          FROM unnest(tops) WITH ORDINALITY q(t, i)
                         GROUP BY 1) r USING (t)));
END
$$;
COMMENT ON FUNCTION fastclust.merge_small_clusters IS
    'Returns the operator with each cluster that has less than min_share of the rows merged into '
    'the cluster to which Ward''s tree joins it.';
