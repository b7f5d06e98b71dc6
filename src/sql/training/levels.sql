
-- Levels: clusters of clusters

-- Returns the two nodes that each step of Ward's tree joins. A node is the number of a cluster, or
-- cluster_labels(op) + i - 1 for the join of step i.
CREATE FUNCTION fastclust_internal.cluster_joins(op fastop, OUT step integer, OUT "left" integer,
        OUT "right" integer, OUT height double precision, OUT weight double precision)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_cluster_joins' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
    COST 100000;
-- Joins clusters that have the same number in `numbers`. The centroid of the result is their
-- weighted mean.
CREATE FUNCTION fastclust_internal.joined_clusters(op fastop, numbers integer[]) RETURNS fastop
    AS 'MODULE_PATHNAME', 'fastclust_joined_clusters' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
    COST 10000;
-- Measures a search through buckets for the ten nearest of n rows, on a random sample of these
-- rows. Returns the recall, the share of the rows that the search reads, and for each bucket the
-- number of rows and the sum of squared distances.
CREATE FUNCTION fastclust_internal.bucket_recall(op fastop, searched_rows fastop,
        n double precision, probes integer, OUT recall double precision,
        OUT read_share double precision, OUT counts double precision[],
        OUT squares double precision[])
    AS 'MODULE_PATHNAME', 'fastclust_bucket_recall' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
    COST 1000000;
