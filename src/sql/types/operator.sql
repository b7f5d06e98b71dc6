
-- fastop: a stored operator that assigns rows to clusters

CREATE FUNCTION fastclust_internal.fastop_final(internal) RETURNS fastop
    AS 'MODULE_PATHNAME', 'fastclust_fastop_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.kmeans_final(internal) RETURNS fastop
    AS 'MODULE_PATHNAME', 'fastclust_kmeans_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION fastclust_internal.fastop_accum(internal, "any") RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_fastop_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE AGGREGATE fastclust.fastop_agg(centroid "any") (
    SFUNC = fastop_accum, STYPE = internal, FINALFUNC = fastop_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE fastop_agg("any") IS
    'Returns an operator whose clusters are the centroids, numbered from 0 in input order. NULL '
    'without rows.';
CREATE FUNCTION fastclust_internal.fastop_accum(internal, "any", double precision) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_fastop_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE AGGREGATE fastclust.fastop_agg(centroid "any", weight double precision) (
    SFUNC = fastop_accum, STYPE = internal, FINALFUNC = fastop_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE fastop_agg("any", double precision) IS
    'Returns an operator whose clusters are the weighted centroids, numbered from 0 in input '
    'order. NULL without rows.';
CREATE FUNCTION fastclust_internal.fastop_accum(internal, "any", double precision, jsonb)
    RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_fastop_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE AGGREGATE fastclust.fastop_agg(centroid "any", weight double precision, options jsonb) (
    SFUNC = fastop_accum, STYPE = internal, FINALFUNC = fastop_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE fastop_agg("any", double precision, jsonb) IS
    'Returns an operator whose clusters are the weighted centroids, numbered from 0 in input '
    'order. Option metric is euclidean, cosine (centroids are scaled to length 1) or '
    'inner_product (for assigning only).';
CREATE FUNCTION fastclust_internal.kmeans_accum(internal, "any", integer) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_kmeans_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE AGGREGATE fastclust.kmeans_agg(x "any", k integer) (
    SFUNC = kmeans_accum, STYPE = internal, SSPACE = 1048576, COMBINEFUNC = internal_combine,
    SERIALFUNC = internal_serialize, DESERIALFUNC = internal_deserialize, FINALFUNC = kmeans_final,
    PARALLEL = SAFE);
COMMENT ON AGGREGATE kmeans_agg("any", integer) IS
    'Runs k-means in memory: k-means++, then Lloyd''s algorithm. Returns the centroids, or NULL '
    'without rows.';
CREATE FUNCTION fastclust_internal.kmeans_accum(internal, "any", integer, jsonb) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_kmeans_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE AGGREGATE fastclust.kmeans_agg(x "any", k integer, options jsonb) (
    SFUNC = kmeans_accum, STYPE = internal, SSPACE = 1048576, COMBINEFUNC = internal_combine,
    SERIALFUNC = internal_serialize, DESERIALFUNC = internal_deserialize, FINALFUNC = kmeans_final,
    PARALLEL = SAFE);
COMMENT ON AGGREGATE kmeans_agg("any", integer, jsonb) IS
    'Runs k-means in memory with options: k-means++, then Lloyd''s algorithm. Returns the '
    'centroids, or NULL without rows.';
CREATE FUNCTION fastclust_internal.kmeans_accum(internal, "any", integer, jsonb, double precision)
    RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_kmeans_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE AGGREGATE fastclust.kmeans_agg(x "any", k integer, options jsonb, weight double precision) (
    SFUNC = kmeans_accum, STYPE = internal, SSPACE = 1048576, COMBINEFUNC = internal_combine,
    SERIALFUNC = internal_serialize, DESERIALFUNC = internal_deserialize, FINALFUNC = kmeans_final,
    PARALLEL = SAFE);
COMMENT ON AGGREGATE kmeans_agg("any", integer, jsonb, double precision) IS
    'Runs k-means in memory over weighted rows: a row of weight 3 counts as three rows. Returns '
    'the centroids, or NULL without rows.';
CREATE FUNCTION fastclust.assign(op fastop, x "any") RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_assign' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200
    SUPPORT vector_support;
COMMENT ON FUNCTION fastclust.assign IS
    'Returns the number of the nearest cluster. NULL for noise, and for a zero vector with '
    'metric cosine.';
CREATE FUNCTION fastclust.assign_distance(op fastop, x "any") RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_assign_distance' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
    COST 200 SUPPORT vector_support;
COMMENT ON FUNCTION fastclust.assign_distance IS
    'Returns the distance to the nearest centroid in the metric of the operator: Euclidean, 1 - '
    'cosine or the negative inner product.';
CREATE FUNCTION fastclust.nearest(op fastop, x "any", n integer) RETURNS integer[]
    AS 'MODULE_PATHNAME', 'fastclust_nearest' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200
    SUPPORT vector_support;
COMMENT ON FUNCTION fastclust.nearest IS
    'Returns the numbers of the n nearest clusters, nearest first.';
CREATE FUNCTION fastclust.project(op fastop, x "any") RETURNS real[]
    AS 'MODULE_PATHNAME', 'fastclust_project' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200
    SUPPORT vector_support;
COMMENT ON FUNCTION fastclust.project IS
    'Returns the product of the factors times x, without the offset.';

CREATE FUNCTION fastclust.centroids(op fastop, OUT cluster integer,
        OUT centroid double precision[], OUT weight double precision)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_centroids' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION fastclust.centroids IS
    'Returns each centroid, with the offset added, and its weight.';
CREATE FUNCTION fastclust.factors(op fastop, OUT factor integer, OUT row_index integer,
        OUT column_index integer, OUT value double precision)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_factors' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION fastclust.factors IS 'Returns the stored entries of the factors.';

CREATE FUNCTION fastclust_internal.clusters(op fastop) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_clusters' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
-- cluster_numbers returns the numbers of the clusters in ascending order. cluster_labels returns
-- the highest number plus one. listed_numbers returns the numbers as text for an error message.
CREATE FUNCTION fastclust_internal.cluster_numbers(op fastop) RETURNS integer[]
    AS 'MODULE_PATHNAME', 'fastclust_cluster_numbers' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.cluster_labels(op fastop) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_cluster_labels' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.listed_numbers(op fastop) RETURNS text
    AS 'MODULE_PATHNAME', 'fastclust_listed_numbers' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.dim(op fastop) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_dim' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust.describe(op fastop) RETURNS jsonb
    AS 'MODULE_PATHNAME', 'fastclust_fastop_describe' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION describe(fastop) IS 'Describes an operator: shape, factors and bytes.';

CREATE FUNCTION fastclust.l2_distance(x "any", y "any") RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_l2_distance' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100
    SUPPORT vector_support;
COMMENT ON FUNCTION fastclust.l2_distance IS 'Returns the Euclidean distance of two vectors.';
