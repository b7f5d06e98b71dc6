
-- Kernels: values, one-pass projections, landmarks, and features of new rows

CREATE FUNCTION fastclust.rbf_kernel(gamma double precision) RETURNS kernel
    AS 'MODULE_PATHNAME', 'fastclust_rbf_kernel' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION fastclust.rbf_kernel IS 'Returns the Gaussian kernel exp(-gamma ||x - y||^2).';
CREATE FUNCTION fastclust.polynomial_kernel(degree integer DEFAULT 2,
        coef0 double precision DEFAULT 0, gamma double precision DEFAULT 1)
    RETURNS kernel
    AS 'MODULE_PATHNAME', 'fastclust_polynomial_kernel' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION fastclust.polynomial_kernel IS
    'Returns the polynomial kernel (gamma <x, y> + coef0)^degree.';
CREATE FUNCTION fastclust.linear_kernel() RETURNS kernel
    AS 'MODULE_PATHNAME', 'fastclust_linear_kernel' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION fastclust.linear_kernel IS 'Returns the linear kernel <x, y>.';
CREATE FUNCTION fastclust.cosine_kernel() RETURNS kernel
    AS 'MODULE_PATHNAME', 'fastclust_cosine_kernel' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION fastclust.cosine_kernel IS
    'Returns the cosine kernel <x, y> / (||x|| ||y||), which is 0 for a zero row.';

-- Aggregates that collect rows in internal states. They run in parallel, but not on shards of
-- Citus.

CREATE FUNCTION fastclust_internal.kernel_projection_final(internal) RETURNS kernel_projection
    AS 'MODULE_PATHNAME', 'fastclust_kernel_projection_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.landmarks_final(internal) RETURNS fastop
    AS 'MODULE_PATHNAME', 'fastclust_landmarks_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.kernel_projection_accum(internal, bigint, "any", kernel, integer)
    RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_kernel_projection_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE
    COST 100;
CREATE AGGREGATE fastclust.kernel_projection_agg(id bigint, x "any", kernel kernel, rank integer) (
    SFUNC = kernel_projection_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = internal_combine, SERIALFUNC = internal_serialize,
    DESERIALFUNC = internal_deserialize, FINALFUNC = kernel_projection_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE kernel_projection_agg(bigint, "any", kernel, integer) IS
    'Returns a low-rank projection of the kernel matrix, by default a randomized one made in one '
    'pass. embedding_of returns its coordinates. NULL without rows. With the kernel precomputed, x '
    'is row id of the matrix.';
CREATE FUNCTION fastclust_internal.landmarks_accum(internal, "any", kernel, integer)
    RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_landmarks_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE fastclust.landmarks_agg(x "any", kernel kernel, k integer) (
    SFUNC = landmarks_accum, STYPE = internal, SSPACE = 1048576, COMBINEFUNC = internal_combine,
    SERIALFUNC = internal_serialize, DESERIALFUNC = internal_deserialize,
    FINALFUNC = landmarks_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE landmarks_agg("any", kernel, integer) IS
    'Returns up to k rows, chosen by randomly pivoted Cholesky, as an operator of landmarks. '
    'NULL without rows.';
CREATE FUNCTION fastclust_internal.kernel_projection_accum(internal, bigint, "any", kernel,
        integer, jsonb)
    RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_kernel_projection_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE
    COST 100;
CREATE AGGREGATE fastclust.kernel_projection_agg(id bigint, x "any", kernel kernel, rank integer,
        options jsonb) (
    SFUNC = kernel_projection_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = internal_combine, SERIALFUNC = internal_serialize,
    DESERIALFUNC = internal_deserialize, FINALFUNC = kernel_projection_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE kernel_projection_agg(bigint, "any", kernel, integer, jsonb) IS
    'Returns a low-rank projection of the kernel matrix by the method in the options. '
    'embedding_of returns its coordinates. NULL without rows.';
CREATE FUNCTION fastclust_internal.landmarks_accum(internal, "any", kernel, integer, jsonb)
    RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_landmarks_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE fastclust.landmarks_agg(x "any", kernel kernel, k integer, options jsonb) (
    SFUNC = landmarks_accum, STYPE = internal, SSPACE = 1048576, COMBINEFUNC = internal_combine,
    SERIALFUNC = internal_serialize, DESERIALFUNC = internal_deserialize,
    FINALFUNC = landmarks_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE landmarks_agg("any", kernel, integer, jsonb) IS
    'Returns up to k rows, chosen by randomly pivoted Cholesky with a given seed, as an operator '
    'of landmarks. NULL without rows.';

-- Functions that read a projection

CREATE FUNCTION fastclust.embedding_of(projection kernel_projection, OUT id bigint, OUT y real[])
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_embedding_of' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION fastclust.embedding_of IS
    'Returns the id and the coordinates of each row. Inner products of coordinates approximate '
    'kernel values.';
CREATE FUNCTION fastclust.describe(projection kernel_projection) RETURNS jsonb
    AS 'MODULE_PATHNAME', 'fastclust_projection_describe' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION describe(kernel_projection) IS
    'Describes a projection: method, kernel, rows, dimensions, rank, oversampling, columns, '
    'seed, eigenvalues, relative error and the deviation of its estimate, bytes.';

-- Nystrom maps, which compute the kernel features of any row

-- If rank is NULL, the map has a coordinate for each eigenvalue that is larger than the rounding
-- error.
CREATE FUNCTION fastclust.nystroem(landmarks fastop, kernel kernel, rank integer DEFAULT NULL)
    RETURNS kernel_map
    AS 'MODULE_PATHNAME', 'fastclust_nystroem' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 10000;
COMMENT ON FUNCTION fastclust.nystroem IS
    'Returns a Nystrom feature map whose landmarks are the centroids of an operator.';
CREATE FUNCTION fastclust.describe(map kernel_map) RETURNS jsonb
    AS 'MODULE_PATHNAME', 'fastclust_map_describe' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION describe(kernel_map) IS
    'Describes a feature map: kernel, landmarks, dimension, rank and bytes.';
CREATE FUNCTION fastclust.kernel_features(map kernel_map, x "any") RETURNS real[]
    AS 'MODULE_PATHNAME', 'fastclust_kernel_features' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
    COST 1000 SUPPORT vector_support;
COMMENT ON FUNCTION fastclust.kernel_features IS
    'Returns the coordinates of a row. Inner products of coordinates approximate kernel values.';
