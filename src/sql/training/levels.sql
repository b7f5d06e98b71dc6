
-- levels: clusters of clusters

-- Ward's tree of the clusters: the two nodes that each step joins; the number of a cluster, or
-- cluster_labels(op) + i - 1, the node of step i.
CREATE FUNCTION fastclust_internal.cluster_joins(op fastop, OUT step integer, OUT "left" integer,
        OUT "right" integer, OUT height double precision, OUT weight double precision)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_cluster_joins' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
    COST 100000;
-- Clusters of one number joined: weighted means.
CREATE FUNCTION fastclust_internal.joined_clusters(op fastop, numbers integer[]) RETURNS fastop
    AS 'MODULE_PATHNAME', 'fastclust_joined_clusters' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
    COST 10000;
-- The share of the ten nearest of n rows that a search through buckets finds, by a sample of
-- these in random order; each bucket's rows and sum of squares.
CREATE FUNCTION fastclust_internal.bucket_recall(op fastop, searched_rows fastop,
        n double precision, probes integer, OUT recall double precision,
        OUT read_share double precision, OUT counts double precision[],
        OUT squares double precision[])
    AS 'MODULE_PATHNAME', 'fastclust_bucket_recall' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
    COST 1000000;
