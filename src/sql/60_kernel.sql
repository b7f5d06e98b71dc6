
-- kernels: values, one-pass projections, landmarks and features of new rows

CREATE TYPE kernel;
CREATE FUNCTION fastclust_internal.kernel_in(cstring) RETURNS kernel
    AS 'MODULE_PATHNAME', 'fastclust_kernel_in' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.kernel_out(kernel) RETURNS cstring
    AS 'MODULE_PATHNAME', 'fastclust_kernel_out' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.kernel_recv(internal) RETURNS kernel
    AS 'MODULE_PATHNAME', 'fastclust_kernel_recv' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.kernel_send(kernel) RETURNS bytea
    AS 'MODULE_PATHNAME', 'fastclust_kernel_send' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE TYPE kernel (INPUT = kernel_in, OUTPUT = kernel_out, RECEIVE = kernel_recv, SEND = kernel_send,
    INTERNALLENGTH = 24, ALIGNMENT = double);
COMMENT ON TYPE kernel IS 'a positive semidefinite kernel: rbf(gamma), polynomial(degree,coef0,gamma), linear(), cosine()';

CREATE FUNCTION fastclust_internal.kernel_eq(kernel, kernel) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_kernel_eq' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.kernel_ne(kernel, kernel) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_kernel_ne' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.kernel_lt(kernel, kernel) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_kernel_lt' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.kernel_le(kernel, kernel) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_kernel_le' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.kernel_gt(kernel, kernel) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_kernel_gt' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.kernel_ge(kernel, kernel) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_kernel_ge' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.kernel_cmp(kernel, kernel) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_kernel_cmp' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.kernel_hash(kernel) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_kernel_hash' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE OPERATOR = (LEFTARG = kernel, RIGHTARG = kernel, FUNCTION = kernel_eq, COMMUTATOR = =, NEGATOR = <>,
    RESTRICT = eqsel, JOIN = eqjoinsel, HASHES, MERGES);
CREATE OPERATOR <> (LEFTARG = kernel, RIGHTARG = kernel, FUNCTION = kernel_ne, COMMUTATOR = <>, NEGATOR = =,
    RESTRICT = neqsel, JOIN = neqjoinsel);
CREATE OPERATOR < (LEFTARG = kernel, RIGHTARG = kernel, FUNCTION = kernel_lt, COMMUTATOR = >, NEGATOR = >=,
    RESTRICT = scalarltsel, JOIN = scalarltjoinsel);
CREATE OPERATOR <= (LEFTARG = kernel, RIGHTARG = kernel, FUNCTION = kernel_le, COMMUTATOR = >=, NEGATOR = >,
    RESTRICT = scalarlesel, JOIN = scalarlejoinsel);
CREATE OPERATOR > (LEFTARG = kernel, RIGHTARG = kernel, FUNCTION = kernel_gt, COMMUTATOR = <, NEGATOR = <=,
    RESTRICT = scalargtsel, JOIN = scalargtjoinsel);
CREATE OPERATOR >= (LEFTARG = kernel, RIGHTARG = kernel, FUNCTION = kernel_ge, COMMUTATOR = <=, NEGATOR = <,
    RESTRICT = scalargesel, JOIN = scalargejoinsel);
CREATE OPERATOR CLASS kernel_ops DEFAULT FOR TYPE kernel USING btree AS
    OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >, FUNCTION 1 kernel_cmp(kernel, kernel);
CREATE OPERATOR CLASS kernel_hash_ops DEFAULT FOR TYPE kernel USING hash AS
    OPERATOR 1 =, FUNCTION 1 kernel_hash(kernel);

CREATE FUNCTION rbf_kernel(gamma double precision) RETURNS kernel
    AS 'MODULE_PATHNAME', 'fastclust_rbf_kernel' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION rbf_kernel(double precision) IS 'exp(-gamma ||x - y||^2)';
CREATE FUNCTION polynomial_kernel(degree integer DEFAULT 2, coef0 double precision DEFAULT 0, gamma double precision DEFAULT 1) RETURNS kernel
    AS 'MODULE_PATHNAME', 'fastclust_polynomial_kernel' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION polynomial_kernel(integer, double precision, double precision) IS '(gamma <x, y> + coef0)^degree';
CREATE FUNCTION linear_kernel() RETURNS kernel
    AS 'MODULE_PATHNAME', 'fastclust_linear_kernel' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION linear_kernel() IS '<x, y>';
CREATE FUNCTION cosine_kernel() RETURNS kernel
    AS 'MODULE_PATHNAME', 'fastclust_cosine_kernel' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION cosine_kernel() IS '<x, y> / (||x|| ||y||), 0 for a zero row';

CREATE TYPE kernel_projection;
CREATE FUNCTION fastclust_internal.kernel_projection_in(cstring) RETURNS kernel_projection
    AS 'MODULE_PATHNAME', 'fastclust_kernel_projection_in' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.kernel_projection_out(kernel_projection) RETURNS cstring
    AS 'MODULE_PATHNAME', 'fastclust_value_out' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.kernel_projection_recv(internal) RETURNS kernel_projection
    AS 'MODULE_PATHNAME', 'fastclust_kernel_projection_recv' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.kernel_projection_send(kernel_projection) RETURNS bytea
    AS 'MODULE_PATHNAME', 'fastclust_value_send' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE TYPE kernel_projection (INPUT = kernel_projection_in, OUTPUT = kernel_projection_out, RECEIVE = kernel_projection_recv,
    SEND = kernel_projection_send, ALIGNMENT = double, STORAGE = external);
COMMENT ON TYPE kernel_projection IS 'coordinates of rows whose inner products approximate a kernel matrix';
CREATE FUNCTION fastclust_internal.kernel_projection_eq(kernel_projection, kernel_projection) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_projection_eq' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.kernel_projection_ne(kernel_projection, kernel_projection) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_projection_ne' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE OPERATOR = (LEFTARG = kernel_projection, RIGHTARG = kernel_projection, FUNCTION = kernel_projection_eq, COMMUTATOR = =, NEGATOR = <>,
    RESTRICT = eqsel, JOIN = eqjoinsel);
CREATE OPERATOR <> (LEFTARG = kernel_projection, RIGHTARG = kernel_projection, FUNCTION = kernel_projection_ne, COMMUTATOR = <>, NEGATOR = =,
    RESTRICT = neqsel, JOIN = neqjoinsel);

CREATE TYPE kernel_map;
CREATE FUNCTION fastclust_internal.kernel_map_in(cstring) RETURNS kernel_map
    AS 'MODULE_PATHNAME', 'fastclust_kernel_map_in' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.kernel_map_out(kernel_map) RETURNS cstring
    AS 'MODULE_PATHNAME', 'fastclust_value_out' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.kernel_map_recv(internal) RETURNS kernel_map
    AS 'MODULE_PATHNAME', 'fastclust_kernel_map_recv' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.kernel_map_send(kernel_map) RETURNS bytea
    AS 'MODULE_PATHNAME', 'fastclust_value_send' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE TYPE kernel_map (INPUT = kernel_map_in, OUTPUT = kernel_map_out, RECEIVE = kernel_map_recv,
    SEND = kernel_map_send, ALIGNMENT = double, STORAGE = external);
COMMENT ON TYPE kernel_map IS 'a feature map: turns a row into coordinates, by its kernel values with some landmarks';
CREATE FUNCTION fastclust_internal.kernel_map_eq(kernel_map, kernel_map) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_value_eq' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.kernel_map_ne(kernel_map, kernel_map) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_value_ne' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.kernel_map_lt(kernel_map, kernel_map) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_value_lt' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.kernel_map_le(kernel_map, kernel_map) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_value_le' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.kernel_map_gt(kernel_map, kernel_map) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_value_gt' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.kernel_map_ge(kernel_map, kernel_map) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_value_ge' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.kernel_map_cmp(kernel_map, kernel_map) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_value_cmp' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.kernel_map_hash(kernel_map) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_value_hash' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE OPERATOR = (LEFTARG = kernel_map, RIGHTARG = kernel_map, FUNCTION = kernel_map_eq, COMMUTATOR = =, NEGATOR = <>,
    RESTRICT = eqsel, JOIN = eqjoinsel, HASHES, MERGES);
CREATE OPERATOR <> (LEFTARG = kernel_map, RIGHTARG = kernel_map, FUNCTION = kernel_map_ne, COMMUTATOR = <>, NEGATOR = =,
    RESTRICT = neqsel, JOIN = neqjoinsel);
CREATE OPERATOR < (LEFTARG = kernel_map, RIGHTARG = kernel_map, FUNCTION = kernel_map_lt, COMMUTATOR = >, NEGATOR = >=,
    RESTRICT = scalarltsel, JOIN = scalarltjoinsel);
CREATE OPERATOR <= (LEFTARG = kernel_map, RIGHTARG = kernel_map, FUNCTION = kernel_map_le, COMMUTATOR = >=, NEGATOR = >,
    RESTRICT = scalarlesel, JOIN = scalarlejoinsel);
CREATE OPERATOR > (LEFTARG = kernel_map, RIGHTARG = kernel_map, FUNCTION = kernel_map_gt, COMMUTATOR = <, NEGATOR = <=,
    RESTRICT = scalargtsel, JOIN = scalargtjoinsel);
CREATE OPERATOR >= (LEFTARG = kernel_map, RIGHTARG = kernel_map, FUNCTION = kernel_map_ge, COMMUTATOR = <=, NEGATOR = <,
    RESTRICT = scalargesel, JOIN = scalargejoinsel);
CREATE OPERATOR CLASS kernel_map_ops DEFAULT FOR TYPE kernel_map USING btree AS
    OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >, FUNCTION 1 kernel_map_cmp(kernel_map, kernel_map);
CREATE OPERATOR CLASS kernel_map_hash_ops DEFAULT FOR TYPE kernel_map USING hash AS
    OPERATOR 1 =, FUNCTION 1 kernel_map_hash(kernel_map);

-- aggregates that collect their rows: internal states, parallel, not pushed to shards

CREATE FUNCTION fastclust_internal.kernel_rows_combine(internal, internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_kernel_combine' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.kernel_rows_serialize(internal) RETURNS bytea
    AS 'MODULE_PATHNAME', 'fastclust_kernel_serialize' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.kernel_rows_deserialize(bytea, internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_kernel_deserialize' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.kernel_projection_final(internal) RETURNS kernel_projection
    AS 'MODULE_PATHNAME', 'fastclust_kernel_projection_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.nystroem_projection_final(internal) RETURNS kernel_projection
    AS 'MODULE_PATHNAME', 'fastclust_nystroem_projection_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.pivoted_cholesky_final(internal) RETURNS kernel_projection
    AS 'MODULE_PATHNAME', 'fastclust_pivoted_cholesky_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.kernel_eigen_final(internal) RETURNS kernel_projection
    AS 'MODULE_PATHNAME', 'fastclust_kernel_eigen_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.landmarks_final(internal) RETURNS fastop
    AS 'MODULE_PATHNAME', 'fastclust_landmarks_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;
--@each
CREATE FUNCTION fastclust_internal.kernel_projection_accum(internal, bigint, @vector@, kernel, integer) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_kernel_projection_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE kernel_projection_agg(id bigint, x @vector@, kernel kernel, rank integer) (SFUNC = kernel_projection_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kernel_rows_combine, SERIALFUNC = kernel_rows_serialize, DESERIALFUNC = kernel_rows_deserialize,
    FINALFUNC = kernel_projection_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE kernel_projection_agg(bigint, @vector@, kernel, integer) IS 'randomized projection of the kernel matrix in one pass; read the coordinates with embedding()';
CREATE FUNCTION fastclust_internal.kernel_projection_accum(internal, bigint, @vector@, kernel, integer, integer) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_kernel_projection_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE kernel_projection_agg(id bigint, x @vector@, kernel kernel, rank integer, oversampling integer) (SFUNC = kernel_projection_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kernel_rows_combine, SERIALFUNC = kernel_rows_serialize, DESERIALFUNC = kernel_rows_deserialize,
    FINALFUNC = kernel_projection_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE kernel_projection_agg(bigint, @vector@, kernel, integer, integer) IS 'randomized projection of the kernel matrix in one pass; read the coordinates with embedding()';
CREATE FUNCTION fastclust_internal.kernel_projection_accum(internal, bigint, @vector@, kernel, integer, integer, bigint) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_kernel_projection_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE kernel_projection_agg(id bigint, x @vector@, kernel kernel, rank integer, oversampling integer, seed bigint) (SFUNC = kernel_projection_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kernel_rows_combine, SERIALFUNC = kernel_rows_serialize, DESERIALFUNC = kernel_rows_deserialize,
    FINALFUNC = kernel_projection_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE kernel_projection_agg(bigint, @vector@, kernel, integer, integer, bigint) IS 'randomized projection of the kernel matrix in one pass; read the coordinates with embedding()';
CREATE FUNCTION fastclust_internal.nystroem_projection_accum(internal, bigint, @vector@, kernel, integer, integer) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_nystroem_projection_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE nystroem_projection_agg(id bigint, x @vector@, kernel kernel, rank integer, columns integer) (SFUNC = nystroem_projection_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kernel_rows_combine, SERIALFUNC = kernel_rows_serialize, DESERIALFUNC = kernel_rows_deserialize,
    FINALFUNC = nystroem_projection_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE nystroem_projection_agg(bigint, @vector@, kernel, integer, integer) IS 'Nystrom approximation of the kernel matrix from uniformly chosen columns';
CREATE FUNCTION fastclust_internal.nystroem_projection_accum(internal, bigint, @vector@, kernel, integer, integer, bigint) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_nystroem_projection_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE nystroem_projection_agg(id bigint, x @vector@, kernel kernel, rank integer, columns integer, seed bigint) (SFUNC = nystroem_projection_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kernel_rows_combine, SERIALFUNC = kernel_rows_serialize, DESERIALFUNC = kernel_rows_deserialize,
    FINALFUNC = nystroem_projection_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE nystroem_projection_agg(bigint, @vector@, kernel, integer, integer, bigint) IS 'Nystrom approximation of the kernel matrix from uniformly chosen columns';
CREATE FUNCTION fastclust_internal.pivoted_cholesky_accum(internal, bigint, @vector@, kernel, integer, integer) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_pivoted_cholesky_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE pivoted_cholesky_agg(id bigint, x @vector@, kernel kernel, rank integer, columns integer) (SFUNC = pivoted_cholesky_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kernel_rows_combine, SERIALFUNC = kernel_rows_serialize, DESERIALFUNC = kernel_rows_deserialize,
    FINALFUNC = pivoted_cholesky_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE pivoted_cholesky_agg(bigint, @vector@, kernel, integer, integer) IS 'approximation of the kernel matrix by randomly pivoted Cholesky';
CREATE FUNCTION fastclust_internal.pivoted_cholesky_accum(internal, bigint, @vector@, kernel, integer, integer, bigint) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_pivoted_cholesky_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE pivoted_cholesky_agg(id bigint, x @vector@, kernel kernel, rank integer, columns integer, seed bigint) (SFUNC = pivoted_cholesky_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kernel_rows_combine, SERIALFUNC = kernel_rows_serialize, DESERIALFUNC = kernel_rows_deserialize,
    FINALFUNC = pivoted_cholesky_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE pivoted_cholesky_agg(bigint, @vector@, kernel, integer, integer, bigint) IS 'approximation of the kernel matrix by randomly pivoted Cholesky';
CREATE FUNCTION fastclust_internal.kernel_eigen_accum(internal, bigint, @vector@, kernel, integer) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_kernel_eigen_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE kernel_eigen_agg(id bigint, x @vector@, kernel kernel, rank integer) (SFUNC = kernel_eigen_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kernel_rows_combine, SERIALFUNC = kernel_rows_serialize, DESERIALFUNC = kernel_rows_deserialize,
    FINALFUNC = kernel_eigen_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE kernel_eigen_agg(bigint, @vector@, kernel, integer) IS 'exact eigenvectors of the kernel matrix, which is held in memory: for a few thousand rows';
CREATE FUNCTION fastclust_internal.landmarks_accum(internal, @vector@, kernel, integer) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_landmarks_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE landmarks_agg(x @vector@, kernel kernel, k integer) (SFUNC = landmarks_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kernel_rows_combine, SERIALFUNC = kernel_rows_serialize, DESERIALFUNC = kernel_rows_deserialize,
    FINALFUNC = landmarks_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE landmarks_agg(@vector@, kernel, integer) IS 'at most k rows chosen by randomly pivoted Cholesky, as an operator of landmarks';
CREATE FUNCTION fastclust_internal.landmarks_accum(internal, @vector@, kernel, integer, bigint) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_landmarks_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE landmarks_agg(x @vector@, kernel kernel, k integer, seed bigint) (SFUNC = landmarks_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kernel_rows_combine, SERIALFUNC = kernel_rows_serialize, DESERIALFUNC = kernel_rows_deserialize,
    FINALFUNC = landmarks_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE landmarks_agg(@vector@, kernel, integer, bigint) IS 'at most k rows chosen by randomly pivoted Cholesky, as an operator of landmarks';
--@end

-- reading projections

CREATE FUNCTION embedding(projection kernel_projection, OUT id bigint, OUT y real[]) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_embedding' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION embedding(kernel_projection) IS 'the coordinates of the rows: inner products approximate kernel values';
CREATE FUNCTION eigenvalues(projection kernel_projection) RETURNS double precision[]
    AS 'MODULE_PATHNAME', 'fastclust_eigenvalues' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION eigenvalues(kernel_projection) IS 'eigenvalues of the approximated kernel matrix, greatest first';
CREATE FUNCTION describe(projection kernel_projection) RETURNS jsonb
    AS 'MODULE_PATHNAME', 'fastclust_projection_describe' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION describe(kernel_projection) IS 'method, rank, oversampling, seed, estimated relative error, seconds, bytes';

-- Algorithm 1 whole

CREATE FUNCTION kernel_kmeans(relation regclass, id_column name, features name, kernel kernel, k integer, options jsonb DEFAULT '{}',
        OUT id bigint, OUT cluster integer) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_kernel_kmeans' LANGUAGE C STABLE PARALLEL RESTRICTED COST 1000000;
COMMENT ON FUNCTION kernel_kmeans(regclass, name, name, kernel, integer, jsonb) IS 'kernel k-means of a relation: one-pass projection, then k-means on the coordinates';

-- features of any row, old or new

CREATE FUNCTION nystroem(landmarks fastop, kernel kernel) RETURNS kernel_map
    AS 'MODULE_PATHNAME', 'fastclust_nystroem' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10000;
COMMENT ON FUNCTION nystroem(fastop, kernel) IS 'a Nystrom feature map whose landmarks are the centroids of an operator';
CREATE FUNCTION nystroem(landmarks fastop, kernel kernel, rank integer) RETURNS kernel_map
    AS 'MODULE_PATHNAME', 'fastclust_nystroem' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10000;
COMMENT ON FUNCTION nystroem(fastop, kernel, integer) IS 'a Nystrom feature map whose landmarks are the centroids of an operator';
CREATE FUNCTION describe(map kernel_map) RETURNS jsonb
    AS 'MODULE_PATHNAME', 'fastclust_map_describe' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION describe(kernel_map) IS 'kernel, landmarks, dimension, rank and size of a feature map';
--@each
CREATE FUNCTION kernel_features(map kernel_map, x @vector@) RETURNS real[]
    AS 'MODULE_PATHNAME', 'fastclust_kernel_features' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION kernel_features(kernel_map, @vector@) IS 'coordinates of a row: inner products approximate kernel values';
--@end
