
-- Levels: clusters of clusters

-- Returns the steps of Ward's tree, in ascending order of height. Each step joins two nodes. A node
-- is the number of a cluster, or cluster_labels(op) + i - 1 for the node that step i made.
CREATE FUNCTION fastclust_internal.cluster_joins(op fastop, OUT step integer, OUT "left" integer,
        OUT "right" integer, OUT height double precision, OUT weight double precision)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_cluster_joins' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
    COST 100000;
-- Joins the clusters that have the same number in `numbers`. The centroid of a joined cluster is
-- the weighted mean of its clusters.
CREATE FUNCTION fastclust_internal.joined_clusters(op fastop, numbers integer[]) RETURNS fastop
    AS 'MODULE_PATHNAME', 'fastclust_joined_clusters' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
    COST 10000;
-- Measures a search for the ten nearest neighbours among n rows. The search reads only the rows of
-- the `probes` buckets whose centroids are nearest. searched_rows is a random sample of the n rows.
-- Returns the recall, and the share of the rows that the search reads. Also returns, for each
-- bucket, the number of its rows in the sample and the sum of their squared distances from its
-- centroid. Returns NULL for fewer than two rows.
CREATE FUNCTION fastclust_internal.bucket_recall(op fastop, searched_rows fastop,
        n double precision, probes integer, OUT recall double precision,
        OUT read_share double precision, OUT counts double precision[],
        OUT squares double precision[])
    AS 'MODULE_PATHNAME', 'fastclust_bucket_recall' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
    COST 1000000;
