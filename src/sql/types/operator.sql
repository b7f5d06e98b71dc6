
-- fastop: a stored operator that assigns rows

CREATE FUNCTION fastclust_internal.fastop_final(internal) RETURNS fastop
    AS 'MODULE_PATHNAME', 'fastclust_fastop_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.kmeans_final(internal) RETURNS fastop
    AS 'MODULE_PATHNAME', 'fastclust_kmeans_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION fastclust_internal.fastop_accum(internal, "any") RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_fastop_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE AGGREGATE fastclust.fastop_agg(centroid "any") (
    SFUNC = fastop_accum, STYPE = internal, FINALFUNC = fastop_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE fastop_agg("any") IS
    'an operator from centroids; clusters are numbered from 0 in the order of the input';
CREATE FUNCTION fastclust_internal.fastop_accum(internal, "any", double precision) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_fastop_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE AGGREGATE fastclust.fastop_agg(centroid "any", weight double precision) (
    SFUNC = fastop_accum, STYPE = internal, FINALFUNC = fastop_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE fastop_agg("any", double precision) IS
    'an operator from centroids; clusters are numbered from 0 in the order of the input';
CREATE FUNCTION fastclust_internal.fastop_accum(internal, "any", double precision, jsonb)
    RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_fastop_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE AGGREGATE fastclust.fastop_agg(centroid "any", weight double precision, options jsonb) (
    SFUNC = fastop_accum, STYPE = internal, FINALFUNC = fastop_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE fastop_agg("any", double precision, jsonb) IS
    'an operator from centroids with a metric: euclidean, cosine (centroids brought to length 1) or inner_product (for assigning); clusters are numbered from 0 in the order of the input';
CREATE FUNCTION fastclust_internal.kmeans_accum(internal, "any", integer) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_kmeans_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE AGGREGATE fastclust.kmeans_agg(x "any", k integer) (
    SFUNC = kmeans_accum, STYPE = internal, SSPACE = 1048576, COMBINEFUNC = internal_combine,
    SERIALFUNC = internal_serialize, DESERIALFUNC = internal_deserialize, FINALFUNC = kmeans_final,
    PARALLEL = SAFE);
COMMENT ON AGGREGATE kmeans_agg("any", integer) IS
    'k-means in memory: k-means++ and Lloyd''s algorithm';
CREATE FUNCTION fastclust_internal.kmeans_accum(internal, "any", integer, jsonb) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_kmeans_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE AGGREGATE fastclust.kmeans_agg(x "any", k integer, options jsonb) (
    SFUNC = kmeans_accum, STYPE = internal, SSPACE = 1048576, COMBINEFUNC = internal_combine,
    SERIALFUNC = internal_serialize, DESERIALFUNC = internal_deserialize, FINALFUNC = kmeans_final,
    PARALLEL = SAFE);
COMMENT ON AGGREGATE kmeans_agg("any", integer, jsonb) IS
    'k-means in memory: k-means++ and Lloyd''s algorithm';
CREATE FUNCTION fastclust.assign(op fastop, x "any") RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_assign' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200
    SUPPORT vector_support;
COMMENT ON FUNCTION fastclust.assign IS 'number of the nearest cluster';
CREATE FUNCTION fastclust.assign_distance(op fastop, x "any") RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_assign_distance' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
    COST 200 SUPPORT vector_support;
COMMENT ON FUNCTION fastclust.assign_distance IS
    'distance to the nearest centroid: Euclidean, 1 - cosine or the negative inner product, as the operator''s metric is';
CREATE FUNCTION fastclust.nearest(op fastop, x "any", n integer) RETURNS integer[]
    AS 'MODULE_PATHNAME', 'fastclust_nearest' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200
    SUPPORT vector_support;
COMMENT ON FUNCTION fastclust.nearest IS 'numbers of the n nearest clusters, nearest first';
CREATE FUNCTION fastclust.project(op fastop, x "any") RETURNS real[]
    AS 'MODULE_PATHNAME', 'fastclust_project' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200
    SUPPORT vector_support;
COMMENT ON FUNCTION fastclust.project IS 'the product of the factors times x, without the offset';

CREATE FUNCTION fastclust.centroids(op fastop, OUT cluster integer,
        OUT centroid double precision[], OUT weight double precision)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_centroids' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION fastclust.centroids IS 'the centroids: the rows of the product plus the offset';
CREATE FUNCTION fastclust.factors(op fastop, OUT factor integer, OUT row_index integer,
        OUT column_index integer, OUT value double precision)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_factors' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION fastclust.factors IS 'the stored entries of the factors';

CREATE FUNCTION fastclust_internal.clusters(op fastop) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_clusters' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
-- The numbers of the clusters, ascending; one more than the highest; the numbers for an error.
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
COMMENT ON FUNCTION describe(fastop) IS 'shape, factors and size of an operator';

CREATE FUNCTION fastclust.l2_distance(x "any", y "any") RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_l2_distance' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100
    SUPPORT vector_support;
COMMENT ON FUNCTION fastclust.l2_distance IS 'Euclidean distance of two vectors';
