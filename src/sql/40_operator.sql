
-- fastop: a stored operator that assigns rows

CREATE FUNCTION fastop_final(internal) RETURNS fastop
    AS 'MODULE_PATHNAME', 'fastclust_fastop_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION kmeans_combine(internal, internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_kmeans_combine' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION kmeans_serialize(internal) RETURNS bytea
    AS 'MODULE_PATHNAME', 'fastclust_kmeans_serialize' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION kmeans_deserialize(bytea, internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_kmeans_deserialize' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION kmeans_final(internal) RETURNS fastop
    AS 'MODULE_PATHNAME', 'fastclust_kmeans_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION fastop_accum(internal, real[]) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_fastop_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE AGGREGATE fastop_agg(centroid real[]) (SFUNC = fastop_accum, STYPE = internal, FINALFUNC = fastop_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE fastop_agg(real[]) IS 'an operator from centroids, numbered in the order given: fastop_agg(centroid ORDER BY cluster)';
CREATE FUNCTION fastop_accum(internal, real[], double precision) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_fastop_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE AGGREGATE fastop_agg(centroid real[], weight double precision) (SFUNC = fastop_accum, STYPE = internal, FINALFUNC = fastop_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE fastop_agg(real[], double precision) IS 'an operator from centroids, numbered in the order given: fastop_agg(centroid ORDER BY cluster)';
CREATE FUNCTION kmeans_accum(internal, real[], integer) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_kmeans_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE AGGREGATE kmeans_agg(x real[], k integer) (SFUNC = kmeans_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kmeans_combine, SERIALFUNC = kmeans_serialize, DESERIALFUNC = kmeans_deserialize,
    FINALFUNC = kmeans_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE kmeans_agg(real[], integer) IS 'k-means in memory over the rows: k-means++ and Lloyd';
CREATE FUNCTION kmeans_accum(internal, real[], integer, jsonb) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_kmeans_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE AGGREGATE kmeans_agg(x real[], k integer, options jsonb) (SFUNC = kmeans_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kmeans_combine, SERIALFUNC = kmeans_serialize, DESERIALFUNC = kmeans_deserialize,
    FINALFUNC = kmeans_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE kmeans_agg(real[], integer, jsonb) IS 'k-means in memory over the rows: k-means++ and Lloyd';
CREATE FUNCTION fastop_accum(internal, double precision[]) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_fastop_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE AGGREGATE fastop_agg(centroid double precision[]) (SFUNC = fastop_accum, STYPE = internal, FINALFUNC = fastop_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE fastop_agg(double precision[]) IS 'an operator from centroids, numbered in the order given: fastop_agg(centroid ORDER BY cluster)';
CREATE FUNCTION fastop_accum(internal, double precision[], double precision) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_fastop_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE AGGREGATE fastop_agg(centroid double precision[], weight double precision) (SFUNC = fastop_accum, STYPE = internal, FINALFUNC = fastop_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE fastop_agg(double precision[], double precision) IS 'an operator from centroids, numbered in the order given: fastop_agg(centroid ORDER BY cluster)';
CREATE FUNCTION kmeans_accum(internal, double precision[], integer) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_kmeans_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE AGGREGATE kmeans_agg(x double precision[], k integer) (SFUNC = kmeans_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kmeans_combine, SERIALFUNC = kmeans_serialize, DESERIALFUNC = kmeans_deserialize,
    FINALFUNC = kmeans_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE kmeans_agg(double precision[], integer) IS 'k-means in memory over the rows: k-means++ and Lloyd';
CREATE FUNCTION kmeans_accum(internal, double precision[], integer, jsonb) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_kmeans_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE AGGREGATE kmeans_agg(x double precision[], k integer, options jsonb) (SFUNC = kmeans_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kmeans_combine, SERIALFUNC = kmeans_serialize, DESERIALFUNC = kmeans_deserialize,
    FINALFUNC = kmeans_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE kmeans_agg(double precision[], integer, jsonb) IS 'k-means in memory over the rows: k-means++ and Lloyd';
CREATE FUNCTION fastop_accum(internal, integer[]) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_fastop_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE AGGREGATE fastop_agg(centroid integer[]) (SFUNC = fastop_accum, STYPE = internal, FINALFUNC = fastop_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE fastop_agg(integer[]) IS 'an operator from centroids, numbered in the order given: fastop_agg(centroid ORDER BY cluster)';
CREATE FUNCTION fastop_accum(internal, integer[], double precision) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_fastop_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE AGGREGATE fastop_agg(centroid integer[], weight double precision) (SFUNC = fastop_accum, STYPE = internal, FINALFUNC = fastop_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE fastop_agg(integer[], double precision) IS 'an operator from centroids, numbered in the order given: fastop_agg(centroid ORDER BY cluster)';
CREATE FUNCTION kmeans_accum(internal, integer[], integer) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_kmeans_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE AGGREGATE kmeans_agg(x integer[], k integer) (SFUNC = kmeans_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kmeans_combine, SERIALFUNC = kmeans_serialize, DESERIALFUNC = kmeans_deserialize,
    FINALFUNC = kmeans_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE kmeans_agg(integer[], integer) IS 'k-means in memory over the rows: k-means++ and Lloyd';
CREATE FUNCTION kmeans_accum(internal, integer[], integer, jsonb) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_kmeans_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE AGGREGATE kmeans_agg(x integer[], k integer, options jsonb) (SFUNC = kmeans_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kmeans_combine, SERIALFUNC = kmeans_serialize, DESERIALFUNC = kmeans_deserialize,
    FINALFUNC = kmeans_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE kmeans_agg(integer[], integer, jsonb) IS 'k-means in memory over the rows: k-means++ and Lloyd';
CREATE FUNCTION fastop_accum(internal, numeric[]) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_fastop_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE AGGREGATE fastop_agg(centroid numeric[]) (SFUNC = fastop_accum, STYPE = internal, FINALFUNC = fastop_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE fastop_agg(numeric[]) IS 'an operator from centroids, numbered in the order given: fastop_agg(centroid ORDER BY cluster)';
CREATE FUNCTION fastop_accum(internal, numeric[], double precision) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_fastop_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE AGGREGATE fastop_agg(centroid numeric[], weight double precision) (SFUNC = fastop_accum, STYPE = internal, FINALFUNC = fastop_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE fastop_agg(numeric[], double precision) IS 'an operator from centroids, numbered in the order given: fastop_agg(centroid ORDER BY cluster)';
CREATE FUNCTION kmeans_accum(internal, numeric[], integer) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_kmeans_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE AGGREGATE kmeans_agg(x numeric[], k integer) (SFUNC = kmeans_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kmeans_combine, SERIALFUNC = kmeans_serialize, DESERIALFUNC = kmeans_deserialize,
    FINALFUNC = kmeans_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE kmeans_agg(numeric[], integer) IS 'k-means in memory over the rows: k-means++ and Lloyd';
CREATE FUNCTION kmeans_accum(internal, numeric[], integer, jsonb) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_kmeans_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE AGGREGATE kmeans_agg(x numeric[], k integer, options jsonb) (SFUNC = kmeans_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kmeans_combine, SERIALFUNC = kmeans_serialize, DESERIALFUNC = kmeans_deserialize,
    FINALFUNC = kmeans_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE kmeans_agg(numeric[], integer, jsonb) IS 'k-means in memory over the rows: k-means++ and Lloyd';
CREATE FUNCTION assign(op fastop, x real[]) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_assign' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION assign(fastop, real[]) IS 'number of the nearest cluster';
CREATE FUNCTION assign(op fastop, x double precision[]) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_assign' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION assign(fastop, double precision[]) IS 'number of the nearest cluster';
CREATE FUNCTION assign(op fastop, x integer[]) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_assign' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION assign(fastop, integer[]) IS 'number of the nearest cluster';
CREATE FUNCTION assign(op fastop, x numeric[]) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_assign' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION assign(fastop, numeric[]) IS 'number of the nearest cluster';
CREATE FUNCTION assign_distance(op fastop, x real[]) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_assign_distance' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION assign_distance(fastop, real[]) IS 'Euclidean distance to the nearest centroid';
CREATE FUNCTION assign_distance(op fastop, x double precision[]) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_assign_distance' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION assign_distance(fastop, double precision[]) IS 'Euclidean distance to the nearest centroid';
CREATE FUNCTION assign_distance(op fastop, x integer[]) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_assign_distance' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION assign_distance(fastop, integer[]) IS 'Euclidean distance to the nearest centroid';
CREATE FUNCTION assign_distance(op fastop, x numeric[]) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_assign_distance' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION assign_distance(fastop, numeric[]) IS 'Euclidean distance to the nearest centroid';
CREATE FUNCTION nearest(op fastop, x real[], n integer) RETURNS integer[]
    AS 'MODULE_PATHNAME', 'fastclust_nearest' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION nearest(fastop, real[], integer) IS 'numbers of the n nearest clusters, nearest first';
CREATE FUNCTION nearest(op fastop, x double precision[], n integer) RETURNS integer[]
    AS 'MODULE_PATHNAME', 'fastclust_nearest' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION nearest(fastop, double precision[], integer) IS 'numbers of the n nearest clusters, nearest first';
CREATE FUNCTION nearest(op fastop, x integer[], n integer) RETURNS integer[]
    AS 'MODULE_PATHNAME', 'fastclust_nearest' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION nearest(fastop, integer[], integer) IS 'numbers of the n nearest clusters, nearest first';
CREATE FUNCTION nearest(op fastop, x numeric[], n integer) RETURNS integer[]
    AS 'MODULE_PATHNAME', 'fastclust_nearest' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION nearest(fastop, numeric[], integer) IS 'numbers of the n nearest clusters, nearest first';
CREATE FUNCTION project(op fastop, x real[]) RETURNS real[]
    AS 'MODULE_PATHNAME', 'fastclust_project' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION project(fastop, real[]) IS 'V x, the rows of the product (without offset) times x';
CREATE FUNCTION project(op fastop, x double precision[]) RETURNS real[]
    AS 'MODULE_PATHNAME', 'fastclust_project' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION project(fastop, double precision[]) IS 'V x, the rows of the product (without offset) times x';
CREATE FUNCTION project(op fastop, x integer[]) RETURNS real[]
    AS 'MODULE_PATHNAME', 'fastclust_project' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION project(fastop, integer[]) IS 'V x, the rows of the product (without offset) times x';
CREATE FUNCTION project(op fastop, x numeric[]) RETURNS real[]
    AS 'MODULE_PATHNAME', 'fastclust_project' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION project(fastop, numeric[]) IS 'V x, the rows of the product (without offset) times x';

CREATE FUNCTION centroids(op fastop, OUT cluster integer, OUT centroid double precision[], OUT weight double precision)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_centroids' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION centroids(fastop) IS 'the centroids: rows of the product plus the offset';
CREATE FUNCTION factors(op fastop, OUT factor integer, OUT row_index integer, OUT column_index integer, OUT value double precision)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_factors' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION factors(fastop) IS 'the stored entries of the factors';

CREATE FUNCTION clusters(op fastop) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_clusters' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION clusters(fastop) IS 'number of clusters';
CREATE FUNCTION dim(op fastop) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_dim' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dim(fastop) IS 'dimension of the rows';
CREATE FUNCTION nonzeros(op fastop) RETURNS bigint
    AS 'MODULE_PATHNAME', 'fastclust_nonzeros' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION nonzeros(fastop) IS 'stored entries of all factors';
CREATE FUNCTION describe(op fastop) RETURNS jsonb
    AS 'MODULE_PATHNAME', 'fastclust_fastop_describe' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION describe(fastop) IS 'shape, factors and size of an operator';

-- nearest-neighbour search: rows in buckets by assign, the nearest buckets of a query, exact distances

CREATE FUNCTION probe(op fastop, query real[], n integer) RETURNS integer[]
    AS 'MODULE_PATHNAME', 'fastclust_nearest' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION probe(fastop, real[], integer) IS 'the n buckets (clusters) to search for the neighbours of a query, nearest first';
CREATE FUNCTION probe(op fastop, query double precision[], n integer) RETURNS integer[]
    AS 'MODULE_PATHNAME', 'fastclust_nearest' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION probe(fastop, double precision[], integer) IS 'the n buckets (clusters) to search for the neighbours of a query, nearest first';
CREATE FUNCTION probe(op fastop, query integer[], n integer) RETURNS integer[]
    AS 'MODULE_PATHNAME', 'fastclust_nearest' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION probe(fastop, integer[], integer) IS 'the n buckets (clusters) to search for the neighbours of a query, nearest first';
CREATE FUNCTION probe(op fastop, query numeric[], n integer) RETURNS integer[]
    AS 'MODULE_PATHNAME', 'fastclust_nearest' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION probe(fastop, numeric[], integer) IS 'the n buckets (clusters) to search for the neighbours of a query, nearest first';
CREATE FUNCTION l2_distance(x real[], y real[]) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_l2_distance' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION l2_distance(real[], real[]) IS 'Euclidean distance of two vectors';
CREATE FUNCTION l2_distance(x double precision[], y double precision[]) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_l2_distance' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION l2_distance(double precision[], double precision[]) IS 'Euclidean distance of two vectors';
CREATE FUNCTION l2_distance(x integer[], y integer[]) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_l2_distance' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION l2_distance(integer[], integer[]) IS 'Euclidean distance of two vectors';
CREATE FUNCTION l2_distance(x numeric[], y numeric[]) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_l2_distance' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION l2_distance(numeric[], numeric[]) IS 'Euclidean distance of two vectors';
