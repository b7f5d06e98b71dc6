
-- levels: clusters of clusters

-- Ward's tree of the clusters: what each step joins, 0 to k - 1 a cluster and k + i - 1 what step i made.
CREATE FUNCTION fastclust_internal.cluster_joins(op fastop, OUT step integer, OUT "left" integer, OUT "right" integer, OUT height double precision,
        OUT weight double precision) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_cluster_joins' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100000;
-- Clusters of one number joined: weighted means.
CREATE FUNCTION fastclust_internal.joined_clusters(op fastop, numbers integer[]) RETURNS fastop
    AS 'MODULE_PATHNAME', 'fastclust_joined_clusters' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10000;
-- The share of the ten nearest of n rows that a search through buckets finds, by a sample of these in random order; each bucket's rows and sum of squares.
CREATE FUNCTION fastclust_internal.bucket_recall(op fastop, searched_rows fastop, n double precision, probes integer,
        OUT recall double precision, OUT read_share double precision, OUT counts double precision[], OUT squares double precision[])
    AS 'MODULE_PATHNAME', 'fastclust_bucket_recall' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000000;

-- The numbers above each cluster, from the top down: k rows of as many as there are levels above.  NULL without levels.
CREATE FUNCTION fastclust_internal.level_paths(op fastop, options jsonb) RETURNS integer[]
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    levels integer[] := (SELECT array_agg(l.x::numeric::integer ORDER BY l.i) FROM jsonb_array_elements_text(options -> 'levels') WITH ORDINALITY l(x, i));
    nodes fastop := op;
    node integer[] := ARRAY(SELECT generate_series(0, clusters(op) - 1));
    paths integer[];
    parents integer[];
    width bigint := clusters(op);
BEGIN
    IF levels IS NULL THEN
        RETURN NULL;
    END IF;
    FOR l IN REVERSE cardinality(levels) - 1 .. 1 LOOP
        width := greatest(1, width / levels[l + 1]);
        -- k-means of the nodes by their weights; parents are numbered by their lowest child
        parents := (
            WITH above AS MATERIALIZED (SELECT cluster_centroids(nodes, least(width, clusters(nodes))::integer, jsonb_build_object('seed', seed_option(options))) AS op),
                 child AS (SELECT c.cluster, assign(a.op, c.centroid) AS label FROM above a, centroids(nodes) c),
                 parent AS (SELECT c.label, row_number() OVER (ORDER BY min(c.cluster))::integer - 1 AS number FROM child c GROUP BY 1)
            SELECT array_agg(p.number ORDER BY c.cluster) FROM child c JOIN parent p USING (label));
        nodes := joined_clusters(nodes, parents);
        node := ARRAY(SELECT parents[n + 1] FROM unnest(node) WITH ORDINALITY u(n, i) ORDER BY i);
        paths := CASE WHEN paths IS NULL THEN (SELECT array_agg(ARRAY[n] ORDER BY i) FROM unnest(node) WITH ORDINALITY u(n, i))
                      ELSE (SELECT array_agg(ARRAY[n] || ARRAY(SELECT paths[i][j] FROM generate_series(1, array_length(paths, 2)) j) ORDER BY i) FROM unnest(node) WITH ORDINALITY u(n, i)) END;
    END LOOP;
    RETURN paths;
END
$$;
