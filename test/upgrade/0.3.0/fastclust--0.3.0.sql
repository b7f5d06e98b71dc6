\echo Use "CREATE EXTENSION fastclust" to load this file. \quit

-- Users call functions in schema fastclust, which call support functions in fastclust_internal.
-- Functions in fastclust_owner are only for the owner of the extension: no other role has a right
-- to that schema, so a grant of all functions in the other two schemas does not include them.
--
-- The extension creates its schemas and drops them. If it used a schema that existed before, the
-- schema's owner could create a function to which a call of the extension would resolve.
CREATE SCHEMA fastclust;
CREATE SCHEMA fastclust_internal;
CREATE SCHEMA fastclust_owner;
COMMENT ON SCHEMA fastclust_owner IS 'functions that run as the owner of the extension';

-- All roles may use these two schemas, because no function in them can harm other roles.
GRANT USAGE ON SCHEMA fastclust, fastclust_internal TO PUBLIC;

-- A function that needs the rights of the owner is SECURITY DEFINER, in fastclust_owner. Its last
-- argument is the caller, whose rights it checks, because current_user is the owner there. Other
-- roles call its entry, a function of the same name without that argument in fastclust or
-- fastclust_internal, which adds GetUserId() (pg/base/entries.c). Functions in fastclust_owner must
-- not call an entry, because it would pass the owner as the caller.

-- Each function gets this path by SET search_path FROM CURRENT. Other roles have no right to
-- fastclust_owner, so they do not find its functions.
SET LOCAL search_path = pg_catalog, fastclust, fastclust_internal, fastclust_owner, pg_temp;

-- Data types: flat, versioned, canonical bytes, whose text form is hexadecimal

-- value_bytes holds the bytes of a value. Values of all types are cast to value_bytes to compare,
-- sort and hash them; bytea would not do, because it has another alignment.
CREATE TYPE fastclust_internal.value_bytes;
CREATE FUNCTION fastclust_internal.value_bytes_in(cstring) RETURNS value_bytes
    AS 'byteain' LANGUAGE internal STABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.value_bytes_out(value_bytes) RETURNS cstring
    AS 'byteaout' LANGUAGE internal STABLE STRICT PARALLEL SAFE;
CREATE TYPE fastclust_internal.value_bytes (
    INPUT = value_bytes_in, OUTPUT = value_bytes_out, ALIGNMENT = double, STORAGE = external);
COMMENT ON TYPE value_bytes IS 'internal: bytes of a value of any type of this extension';

-- Creates the types, and the functions that read and write their text and binary forms. Most types
-- have the bytes of a bytea. The two types that have another form in memory have output and send
-- functions of their own.
DO $$
DECLARE
    made record;
BEGIN
    FOR made IN
        SELECT *
          FROM (VALUES ('fastclust', 'sketch_spec', 'value'), ('fastclust', 'sketch', 'sketch'),
                       ('fastclust', 'fastop', 'value'),
                       ('fastclust', 'kernel_projection', 'value'),
                       ('fastclust', 'kernel_map', 'value'), ('fastclust', 'encoder', 'value'),
                       ('fastclust_internal', 'aggregate_state', 'value'),
                       ('fastclust_internal', 'drift_spec', 'value'),
                       ('fastclust_internal', 'drift_counts', 'drift_counts'))
                   v(schema, type, writer)
    LOOP
        EXECUTE pg_catalog.format(
                    $sql$
CREATE TYPE %1$s.%2$s;
CREATE FUNCTION fastclust_internal.%2$s_in(cstring) RETURNS %2$s
    AS 'MODULE_PATHNAME', 'fastclust_%2$s_in' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.%2$s_out(%2$s) RETURNS cstring
    AS 'MODULE_PATHNAME', 'fastclust_%3$s_out' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.%2$s_recv(internal) RETURNS %2$s
    AS 'MODULE_PATHNAME', 'fastclust_%2$s_recv' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.%2$s_send(%2$s) RETURNS bytea
    AS %4$s IMMUTABLE STRICT PARALLEL SAFE;
CREATE TYPE %1$s.%2$s (INPUT = %2$s_in, OUTPUT = %2$s_out, RECEIVE = %2$s_recv,
    SEND = %2$s_send, ALIGNMENT = double, STORAGE = external);
CREATE CAST (%2$s AS fastclust_internal.value_bytes) WITHOUT FUNCTION AS IMPLICIT;
$sql$,
                    made.schema, made.type, made.writer,
                    CASE WHEN made.writer = 'value' THEN '''byteasend'' LANGUAGE internal'
                         ELSE pg_catalog.format(
                                  '''MODULE_PATHNAME'', ''fastclust_%s_send'' LANGUAGE C',
                                  made.writer) END);
    END LOOP;
END
$$;
COMMENT ON TYPE sketch_spec IS
    'spec of a sketch: its waves and their scale, and sample rows that help decode';
COMMENT ON TYPE sketch IS
    'summary of a set of rows: the means of random waves over them, with counts, means, '
    'deviations and bounds';
COMMENT ON TYPE fastop IS
    'operator that assigns rows to clusters: stored centroids, dense or as a product of sparse '
    'factors';
COMMENT ON TYPE kernel_projection IS
    'low-rank projection of a kernel matrix: coordinates of rows whose inner products '
    'approximate the kernel';
COMMENT ON TYPE kernel_map IS
    'feature map: computes coordinates of a row from its kernel values with some landmarks';
COMMENT ON TYPE encoder IS
    'encoder, learned from a sample: converts numbers, categories, dates and arrays of a row to '
    'coordinates';
COMMENT ON TYPE drift_spec IS
    'internal: edges and pairs of columns at which drift counts rows, chosen from a sample';
COMMENT ON TYPE drift_counts IS
    'internal: numbers of rows in each cell between the edges of a column, and of rows with both '
    'bits of a pair';
COMMENT ON TYPE aggregate_state IS
    'internal: running state of Lloyd steps and scores, which workers and shards exchange';

-- A kernel is stored as its name and three numbers, which its text form shows.

CREATE TYPE fastclust.kernel;
CREATE FUNCTION fastclust_internal.kernel_in(cstring) RETURNS kernel
    AS 'MODULE_PATHNAME', 'fastclust_kernel_in' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.kernel_out(kernel) RETURNS cstring
    AS 'MODULE_PATHNAME', 'fastclust_kernel_out' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.kernel_recv(internal) RETURNS kernel
    AS 'MODULE_PATHNAME', 'fastclust_kernel_recv' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.kernel_send(kernel) RETURNS bytea
    AS 'MODULE_PATHNAME', 'fastclust_kernel_send' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE TYPE fastclust.kernel (
    INPUT = kernel_in, OUTPUT = kernel_out, RECEIVE = kernel_recv, SEND = kernel_send,
    INTERNALLENGTH = 24, ALIGNMENT = double);
COMMENT ON TYPE kernel IS
    'positive semidefinite kernel: rbf(gamma), polynomial(degree,coef0,gamma), linear(), '
    'cosine(), or precomputed for a given matrix';

-- row_vector holds any array of numbers. It is the argument type of aggregates that Citus runs on
-- shards. Arrays resolve to this PREFERRED type rather than to "any".

CREATE TYPE fastclust.row_vector;
CREATE FUNCTION fastclust_internal.row_vector_in(cstring) RETURNS row_vector
    AS 'MODULE_PATHNAME', 'fastclust_row_vector_in' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.row_vector_out(row_vector) RETURNS cstring
    AS 'MODULE_PATHNAME', 'fastclust_row_vector_out' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE TYPE fastclust.row_vector (
    INPUT = row_vector_in, OUTPUT = row_vector_out, ALIGNMENT = double, STORAGE = extended,
    CATEGORY = 'A', PREFERRED = true);
COMMENT ON TYPE row_vector IS 'array of numbers of any type, as an argument of aggregates';
-- DISTINCT in an aggregate needs this cast.
CREATE CAST (row_vector AS fastclust_internal.value_bytes) WITHOUT FUNCTION AS IMPLICIT;
CREATE FUNCTION fastclust_internal.as_row_vector(anyarray) RETURNS row_vector
    AS 'MODULE_PATHNAME', 'fastclust_as_row_vector' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE CAST (smallint[] AS row_vector) WITH FUNCTION as_row_vector(anyarray) AS IMPLICIT;
CREATE CAST (integer[] AS row_vector) WITH FUNCTION as_row_vector(anyarray) AS IMPLICIT;
CREATE CAST (bigint[] AS row_vector) WITH FUNCTION as_row_vector(anyarray) AS IMPLICIT;
CREATE CAST (real[] AS row_vector) WITH FUNCTION as_row_vector(anyarray) AS IMPLICIT;
CREATE CAST (double precision[] AS row_vector) WITH FUNCTION as_row_vector(anyarray) AS IMPLICIT;
CREATE CAST (numeric[] AS row_vector) WITH FUNCTION as_row_vector(anyarray) AS IMPLICIT;

-- Planner support function: checks the types of arguments declared "any", and converts literals to
-- arrays.
CREATE FUNCTION fastclust_internal.vector_support(internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_vector_support' LANGUAGE C STRICT;

-- Combines two states of the same kind, for all aggregates whose state is an aggregate_state.
CREATE FUNCTION fastclust_internal.state_combine(aggregate_state, aggregate_state)
    RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_state_combine' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;

-- Combine, serialization and deserialization functions of all aggregates that collect or scan rows
-- in an internal state.
CREATE FUNCTION fastclust_internal.internal_combine(internal, internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_internal_combine' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE FUNCTION fastclust_internal.internal_serialize(internal) RETURNS bytea
    AS 'MODULE_PATHNAME', 'fastclust_internal_serialize' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.internal_deserialize(bytea, internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_internal_deserialize' LANGUAGE C IMMUTABLE STRICT
    PARALLEL SAFE;

-- Equality by the canonical bytes, for GROUP BY and joins, and a sort order, for DISTINCT in an
-- aggregate. Equality is in pg_catalog, because IS DISTINCT FROM, NULLIF and CASE look for an
-- operator = without a schema, and a restored trigger or view has only pg_catalog in its path.

CREATE FUNCTION fastclust_internal.value_bytes_eq(value_bytes, value_bytes) RETURNS boolean
    AS 'byteaeq' LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.value_bytes_lt(value_bytes, value_bytes) RETURNS boolean
    AS 'bytealt' LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.kernel_hash(kernel) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_kernel_hash' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.kernel_eq(kernel, kernel) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_kernel_eq' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE OPERATOR pg_catalog.= (
    LEFTARG = value_bytes, RIGHTARG = value_bytes, FUNCTION = value_bytes_eq,
    COMMUTATOR = OPERATOR(pg_catalog.=), RESTRICT = eqsel, JOIN = eqjoinsel, HASHES, MERGES);
COMMENT ON OPERATOR pg_catalog.= (value_bytes, value_bytes) IS
    'Returns true if both values have the same bytes.';
CREATE OPERATOR CLASS fastclust.value_bytes_hash_ops DEFAULT FOR TYPE value_bytes USING hash AS
    OPERATOR 1 =, FUNCTION 1 (value_bytes, value_bytes) hashvarlena(internal);
CREATE OPERATOR pg_catalog.= (
    LEFTARG = kernel, RIGHTARG = kernel, FUNCTION = kernel_eq, COMMUTATOR = OPERATOR(pg_catalog.=),
    RESTRICT = eqsel, JOIN = eqjoinsel, HASHES, MERGES);
COMMENT ON OPERATOR pg_catalog.= (kernel, kernel) IS 'Returns true if both kernels are the same.';
CREATE OPERATOR CLASS fastclust.kernel_hash_ops DEFAULT FOR TYPE kernel USING hash AS
    OPERATOR 1 =, FUNCTION 1 (kernel, kernel) kernel_hash(kernel);
CREATE OPERATOR fastclust.< (
    LEFTARG = value_bytes, RIGHTARG = value_bytes, FUNCTION = value_bytes_lt,
    RESTRICT = scalarltsel, JOIN = scalarltjoinsel);
COMMENT ON OPERATOR < (value_bytes, value_bytes) IS
    'Compares two values for sorting only; the order has no other meaning.';
CREATE OPERATOR CLASS fastclust.value_bytes_ops DEFAULT FOR TYPE value_bytes USING btree AS
    OPERATOR 1 <, OPERATOR 3 =, FUNCTION 1 (value_bytes, value_bytes) byteacmp(bytea, bytea);

-- sketch_spec: frequencies and scale of sketches

CREATE FUNCTION fastclust.sketch_spec(dim integer, frequencies integer, sigma double precision,
        law text DEFAULT 'adapted_radius_kmeans', seed bigint DEFAULT 0,
        center double precision[] DEFAULT NULL, scale double precision[] DEFAULT NULL,
        options jsonb DEFAULT '{}')
    RETURNS sketch_spec
    AS 'MODULE_PATHNAME', 'fastclust_sketch_spec_make' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION fastclust.sketch_spec IS 'Returns a spec with the given parameters.';
CREATE FUNCTION fastclust.spec_of_frequencies(frequencies double precision[],
        sigma double precision, law text DEFAULT 'gaussian')
    RETURNS sketch_spec
    AS 'MODULE_PATHNAME', 'fastclust_spec_of_frequencies' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION fastclust.spec_of_frequencies IS
    'Returns a spec with the given frequencies, a row of the array for each.';
CREATE FUNCTION fastclust.frequencies(spec sketch_spec, OUT omega double precision[],
        OUT phase double precision)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_spec_frequencies' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
    ROWS 500;
COMMENT ON FUNCTION fastclust.frequencies IS
    'Returns a row for each moment of a spec, which is the mean of exp(i (omega . x + phase)).';
CREATE FUNCTION fastclust.describe(sketch_spec) RETURNS jsonb
    AS 'MODULE_PATHNAME', 'fastclust_spec_describe' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION describe(sketch_spec) IS 'Returns the parameters of a spec.';
-- Returns the spec without its sample rows. Raises an error if `dimensions`, the number of
-- dimensions of the rows, is neither 0 nor equal to the spec's number.
CREATE FUNCTION fastclust_internal.without_sample_rows(spec sketch_spec,
        dimensions integer DEFAULT 0)
    RETURNS sketch_spec
    AS 'MODULE_PATHNAME', 'fastclust_spec_without_sample' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION fastclust_internal.sketch_spec_final(internal) RETURNS sketch_spec
    AS 'MODULE_PATHNAME', 'fastclust_spec_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION fastclust_internal.sketch_spec_accum(internal, "any", integer) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_spec_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 200;
CREATE AGGREGATE fastclust.sketch_spec_agg(x "any", clusters integer) (
    SFUNC = sketch_spec_accum, STYPE = internal, SSPACE = 1048576, COMBINEFUNC = internal_combine,
    SERIALFUNC = internal_serialize, DESERIALFUNC = internal_deserialize,
    FINALFUNC = sketch_spec_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE sketch_spec_agg("any", integer) IS
    'Returns a spec chosen from a sample of rows, for about `clusters` clusters. NULL without '
    'rows.';
CREATE FUNCTION fastclust_internal.sketch_spec_accum(internal, "any", integer, jsonb)
    RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_spec_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 200;
CREATE AGGREGATE fastclust.sketch_spec_agg(x "any", clusters integer, options jsonb) (
    SFUNC = sketch_spec_accum, STYPE = internal, SSPACE = 1048576, COMBINEFUNC = internal_combine,
    SERIALFUNC = internal_serialize, DESERIALFUNC = internal_deserialize,
    FINALFUNC = sketch_spec_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE sketch_spec_agg("any", integer, jsonb) IS
    'Returns a spec chosen from a sample of rows with options, for about `clusters` clusters. '
    'NULL without rows.';

-- Sketches: made in one scan over the rows

CREATE FUNCTION fastclust_internal.sketch_combine(sketch, sketch) RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_sketch_combine' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE FUNCTION fastclust_internal.sketch_final(sketch) RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_sketch_final' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE FUNCTION fastclust_internal.sketch_final_moving(sketch) RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_sketch_final_moving' LANGUAGE C IMMUTABLE PARALLEL SAFE
    COST 100;

-- Citus pushes down an aggregate with a plain state only if no argument is declared "any". That is
-- why there is row_vector, to which every array of numbers casts. Other types use the aggregate of
-- "any", whose state is internal and has the same bytes.
CREATE FUNCTION fastclust_internal.state_serialize(internal) RETURNS bytea
    AS 'MODULE_PATHNAME', 'fastclust_state_serialize' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.state_deserialize(bytea, internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_state_deserialize' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.sketch_combine(internal, internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_sketch_combine_kept' LANGUAGE C IMMUTABLE PARALLEL SAFE
    COST 100;
CREATE FUNCTION fastclust_internal.sketch_final(internal) RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_sketch_final' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE FUNCTION fastclust_internal.sketch_accum_moving(sketch, "any", sketch_spec) RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_sketch_accum_moving' LANGUAGE C IMMUTABLE PARALLEL SAFE
    COST 500;
CREATE FUNCTION fastclust_internal.sketch_inverse(sketch, "any", sketch_spec) RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_sketch_inverse' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500;
CREATE FUNCTION fastclust_internal.sketch_accum_moving(sketch, "any", sketch_spec, double precision)
    RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_sketch_accum_moving' LANGUAGE C IMMUTABLE PARALLEL SAFE
    COST 500;
CREATE FUNCTION fastclust_internal.sketch_inverse(sketch, "any", sketch_spec, double precision)
    RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_sketch_inverse' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500;
CREATE FUNCTION fastclust_internal.sketch_accum(sketch, row_vector, sketch_spec) RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_sketch_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500;
CREATE AGGREGATE fastclust.sketch_agg(x row_vector, spec sketch_spec) (
    SFUNC = sketch_accum, STYPE = sketch, SSPACE = 16384, COMBINEFUNC = sketch_combine,
    FINALFUNC = sketch_final, FINALFUNC_MODIFY = READ_ONLY, MSFUNC = sketch_accum_moving,
    MINVFUNC = sketch_inverse, MSTYPE = sketch, MSSPACE = 16384, MFINALFUNC = sketch_final_moving,
    MFINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE sketch_agg(row_vector, sketch_spec) IS
    'Returns the sketch of a set of rows, made in one scan. NULL without rows.';
CREATE FUNCTION fastclust_internal.sketch_accum(internal, "any", sketch_spec) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_sketch_accum_kept' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500;
CREATE AGGREGATE fastclust.sketch_agg(x "any", spec sketch_spec) (
    SFUNC = sketch_accum, STYPE = internal, SSPACE = 16384, COMBINEFUNC = sketch_combine,
    FINALFUNC = sketch_final, FINALFUNC_MODIFY = READ_ONLY, MSFUNC = sketch_accum_moving,
    MINVFUNC = sketch_inverse, MSTYPE = sketch, MSSPACE = 16384, MFINALFUNC = sketch_final_moving,
    MFINALFUNC_MODIFY = READ_ONLY, SERIALFUNC = state_serialize, DESERIALFUNC = state_deserialize,
    PARALLEL = SAFE);
COMMENT ON AGGREGATE sketch_agg("any", sketch_spec) IS
    'Returns the sketch of a set of rows, made in one scan. NULL without rows.';
CREATE FUNCTION fastclust_internal.sketch_accum(sketch, row_vector, sketch_spec, double precision)
    RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_sketch_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500;
CREATE AGGREGATE fastclust.sketch_agg(x row_vector, spec sketch_spec, weight double precision) (
    SFUNC = sketch_accum, STYPE = sketch, SSPACE = 16384, COMBINEFUNC = sketch_combine,
    FINALFUNC = sketch_final, FINALFUNC_MODIFY = READ_ONLY, MSFUNC = sketch_accum_moving,
    MINVFUNC = sketch_inverse, MSTYPE = sketch, MSSPACE = 16384, MFINALFUNC = sketch_final_moving,
    MFINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE sketch_agg(row_vector, sketch_spec, double precision) IS
    'Returns the sketch of a set of weighted rows, made in one scan. NULL without rows.';
CREATE FUNCTION fastclust_internal.sketch_accum(internal, "any", sketch_spec, double precision)
    RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_sketch_accum_kept' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500;
CREATE AGGREGATE fastclust.sketch_agg(x "any", spec sketch_spec, weight double precision) (
    SFUNC = sketch_accum, STYPE = internal, SSPACE = 16384, COMBINEFUNC = sketch_combine,
    FINALFUNC = sketch_final, FINALFUNC_MODIFY = READ_ONLY, MSFUNC = sketch_accum_moving,
    MINVFUNC = sketch_inverse, MSTYPE = sketch, MSSPACE = 16384, MFINALFUNC = sketch_final_moving,
    MFINALFUNC_MODIFY = READ_ONLY, SERIALFUNC = state_serialize, DESERIALFUNC = state_deserialize,
    PARALLEL = SAFE);
COMMENT ON AGGREGATE sketch_agg("any", sketch_spec, double precision) IS
    'Returns the sketch of a set of weighted rows, made in one scan. NULL without rows.';

CREATE FUNCTION fastclust_internal.sketch_plus(sketch, sketch) RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_sketch_plus' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.sketch_minus(sketch, sketch) RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_sketch_minus' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE OPERATOR fastclust.+ (
    LEFTARG = sketch, RIGHTARG = sketch, FUNCTION = sketch_plus,
    COMMUTATOR = OPERATOR(fastclust.+));
CREATE OPERATOR fastclust.- (LEFTARG = sketch, RIGHTARG = sketch, FUNCTION = sketch_minus);
COMMENT ON OPERATOR + (sketch, sketch) IS 'Returns the sketch of the rows of both sketches.';
COMMENT ON OPERATOR - (sketch, sketch) IS
    'Returns the sketch of the rows of the first sketch without the rows of the second.';

CREATE AGGREGATE fastclust.merge_agg(sketch) (
    SFUNC = sketch_combine, STYPE = sketch, SSPACE = 16384, COMBINEFUNC = sketch_combine,
    FINALFUNC = sketch_final, FINALFUNC_MODIFY = READ_ONLY, MSFUNC = sketch_plus,
    MINVFUNC = sketch_minus, MSTYPE = sketch, MSSPACE = 16384, MFINALFUNC = sketch_final_moving,
    MFINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE merge_agg(sketch) IS
    'Returns the sketch of the rows of all sketches. NULL without sketches.';

CREATE FUNCTION fastclust.row_count(sketch) RETURNS bigint
    AS 'MODULE_PATHNAME', 'fastclust_sketch_row_count' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION fastclust.row_count IS 'Returns the number of rows.';
CREATE FUNCTION fastclust.means(sketch) RETURNS double precision[]
    AS 'MODULE_PATHNAME', 'fastclust_sketch_means' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION fastclust.means IS
    'Returns the mean of each dimension. NULL if the sketch has no rows.';
CREATE FUNCTION fastclust.stddevs(sketch) RETURNS double precision[]
    AS 'MODULE_PATHNAME', 'fastclust_sketch_stddevs' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION fastclust.stddevs IS
    'Returns the population standard deviation of each dimension. NULL if the sketch has no rows.';
CREATE FUNCTION fastclust.moments(sketch) RETURNS double precision[]
    AS 'MODULE_PATHNAME', 'fastclust_sketch_moments' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION fastclust.moments IS
    'Returns the means of the waves, real and imaginary parts in turn. NULL if the sketch has no '
    'rows.';
CREATE FUNCTION fastclust.sketch_of_moments(spec sketch_spec, moments double precision[],
        row_count bigint, lower_bounds double precision[], upper_bounds double precision[],
        means double precision[], stddevs double precision[])
    RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_sketch_of_moments' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION fastclust.sketch_of_moments IS
    'Returns a sketch of rows whose moments were computed elsewhere.';
CREATE FUNCTION fastclust.describe(sketch) RETURNS jsonb
    AS 'MODULE_PATHNAME', 'fastclust_sketch_describe' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION describe(sketch) IS
    'Describes a sketch: rows, weight, bounds, bytes and spec. Bounds are unknown after a '
    'subtraction.';
CREATE FUNCTION fastclust_internal.spec(sketch) RETURNS sketch_spec
    AS 'MODULE_PATHNAME', 'fastclust_sketch_get_spec' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust.sketch_distance(a sketch, b sketch) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_sketch_distance' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION fastclust.sketch_distance IS
    'Returns the unbiased squared maximum mean discrepancy (MMD) of two sketches: about 0 if both '
    'come from one distribution. NULL if a sketch has fewer than two rows.';
CREATE FUNCTION fastclust.density(sketch sketch, x "any") RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_sketch_density' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
    COST 500 SUPPORT vector_support;
COMMENT ON FUNCTION fastclust.density IS
    'Returns the density of the sketched rows around x at the scale of the spec, 1 or less. NULL '
    'if the sketch has no rows.';

-- Decoding: centroids computed from a sketch, without the rows

CREATE FUNCTION fastclust.decode(sketch sketch, k integer, decoder text DEFAULT 'auto',
        options jsonb DEFAULT '{}', sample sketch_spec DEFAULT NULL, OUT cluster integer,
        OUT centroid double precision[], OUT weight double precision, OUT spread double precision,
        OUT cost double precision, OUT relative_residual double precision, OUT iterations integer)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_decode' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 1000000
    ROWS 10;
COMMENT ON FUNCTION fastclust.decode IS
    'Computes k centroids from a sketch, with their shares and spreads, without reading a row. '
    'Each result row also has the fit of all centroids to the sketch.';
CREATE FUNCTION fastclust.decode_covariances(sketch sketch, k integer,
        decoder text DEFAULT 'shift', options jsonb DEFAULT '{}', sample sketch_spec DEFAULT NULL,
        OUT cluster integer, OUT covariance double precision[])
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_decode_covariances' LANGUAGE C IMMUTABLE PARALLEL SAFE
    COST 1000000 ROWS 10;
COMMENT ON FUNCTION fastclust.decode_covariances IS
    'Returns the covariance matrices of the clusters that decode finds with the same arguments.';

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

-- internal: counts of rows, and the test for drift that compares them (training/drift.sql). A
-- drift_counts has the number of rows in each cell between the edges of a column, and the number of
-- rows with both bits of a pair of columns.

-- Chooses the edges and the pairs of columns from a sample. The sample is an operator whose
-- centroids are random rows, unscaled.
CREATE FUNCTION fastclust_internal.drift_spec_of_sample(sample fastop, seed bigint)
    RETURNS drift_spec
    AS 'MODULE_PATHNAME', 'fastclust_drift_spec_of_sample' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
    COST 100000;
-- Returns tr S^2 and tr S^3 (drift/waves.h), estimated from up to max_count rows of the sample.
-- They determine the null distribution of the drift test of sketches with this spec. Returns NULL
-- if the spec projects rows, or if there are too few rows.
CREATE FUNCTION fastclust_internal.sample_null_moments(sample fastop, spec sketch_spec,
        max_count integer DEFAULT 512)
    RETURNS double precision[]
    AS 'MODULE_PATHNAME', 'fastclust_sample_null_moments' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
    COST 100000;

CREATE FUNCTION fastclust_internal.drift_counts_combine(drift_counts, drift_counts)
    RETURNS drift_counts
    AS 'MODULE_PATHNAME', 'fastclust_drift_counts_combine' LANGUAGE C IMMUTABLE PARALLEL SAFE
    COST 100;
CREATE FUNCTION fastclust_internal.drift_counts_final(drift_counts) RETURNS drift_counts
    AS 'MODULE_PATHNAME', 'fastclust_drift_counts_final' LANGUAGE C IMMUTABLE PARALLEL SAFE
    COST 100;
CREATE FUNCTION fastclust_internal.drift_counts_accum(drift_counts, "any", drift_spec)
    RETURNS drift_counts
    AS 'MODULE_PATHNAME', 'fastclust_drift_counts_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE
    COST 100;
CREATE AGGREGATE fastclust_internal.drift_counts_agg(x "any", spec drift_spec) (
    SFUNC = drift_counts_accum, STYPE = drift_counts, SSPACE = 16384,
    COMBINEFUNC = drift_counts_combine, FINALFUNC = drift_counts_final,
    FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
CREATE AGGREGATE fastclust_internal.merge_drift_counts_agg(drift_counts) (
    SFUNC = drift_counts_combine, STYPE = drift_counts, SSPACE = 16384,
    COMBINEFUNC = drift_counts_combine, FINALFUNC = drift_counts_final,
    FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);

-- Returns counts + added - removed, or NULL if no rows remain.
CREATE FUNCTION fastclust_internal.changed_drift_counts(counts drift_counts, added drift_counts,
        removed drift_counts)
    RETURNS drift_counts
    AS 'MODULE_PATHNAME', 'fastclust_changed_drift_counts' LANGUAGE C IMMUTABLE PARALLEL SAFE
    COST 100;

-- Returns true if the NULLs in the columns of all rows were counted.
CREATE FUNCTION fastclust_internal.counts_nulls(counts drift_counts) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_counts_nulls' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

-- Returns the number of units of the rows, or NULL if rows were not counted in units.
CREATE FUNCTION fastclust_internal.unit_count(counts drift_counts) RETURNS bigint
    AS 'MODULE_PATHNAME', 'fastclust_unit_count' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
-- Returns the part in which a row is counted, from 0, by a hash of its unit, or by its key if the
-- unit is NULL.
CREATE FUNCTION fastclust_internal.unit_part(unit "any", key bigint) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_unit_part' LANGUAGE C IMMUTABLE PARALLEL SAFE;

-- Tests two sets of rows for drift, by their counts, their sketches, or both. With the encoder of
-- their columns, NULLs are not compared as the values that stand in for them.
CREATE FUNCTION fastclust_internal.drift_test(spec drift_spec, training drift_counts,
        "rows" drift_counts, training_sketch sketch, sketch sketch,
        null_moments double precision[], threshold double precision, min_effect double precision,
        encoder encoder DEFAULT NULL, OUT mmd2 double precision, OUT null_sd double precision,
        OUT p_value double precision, OUT effect double precision, OUT verdict text)
    AS 'MODULE_PATHNAME', 'fastclust_drift_compare' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 10000;
-- Lists columns that drifted, then pairs of other columns, smallest p-value first. `other` is NULL
-- for a single column. Shift and spread come from the sketches. If nothing is significant and
-- `drifted` is true, lists the columns with the smallest p-values. `before` and `after` are the
-- shares of NULLs of a column in which they changed, and dimension is its last one.
CREATE FUNCTION fastclust_internal.moved_columns(spec drift_spec, training drift_counts,
        "rows" drift_counts, training_sketch sketch, sketch sketch, threshold double precision,
        max_count integer, drifted boolean, encoder encoder DEFAULT NULL, OUT dimension integer,
        OUT other integer, OUT p_value double precision, OUT shift double precision,
        OUT spread double precision, OUT before double precision, OUT after double precision)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_moved_columns' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 10000;

-- Factorization: centroids as a product with fewer parameters

-- sample: rows collected by fastop_agg, on which method auto compares the factorization methods. If
-- it is NULL, auto uses palm4msa.
CREATE FUNCTION fastclust.factorize(op fastop, method text DEFAULT 'auto',
        options jsonb DEFAULT '{}', sample fastop DEFAULT NULL)
    RETURNS fastop
    AS 'MODULE_PATHNAME', 'fastclust_factorize' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 1000000;
COMMENT ON FUNCTION fastclust.factorize IS
    'Returns an operator whose centroids are a product of factors with fewer values. Returns '
    'NULL if op, method or options is NULL.';

-- QK-means: centroids learned as a product of sparse factors

CREATE FUNCTION fastclust.qkmeans_log(relation regclass, features name, k integer,
        options jsonb DEFAULT '{}', OUT iteration integer, OUT objective double precision,
        OUT objective_of_means double precision, OUT nonzeros bigint, OUT empty integer,
        OUT seconds double precision, OUT op fastop)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_qkmeans_log' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000000
    ROWS 10
    SET search_path FROM CURRENT SET standard_conforming_strings = on SET array_nulls = on
    SET lc_monetary = 'C' SET quote_all_identifiers = off;
COMMENT ON FUNCTION fastclust.qkmeans_log IS
    'Runs QuicK-means over a table and returns one row per iteration. The last row has the '
    'learned operator.';

CREATE FUNCTION fastclust_internal.qkmeans_final(internal) RETURNS fastop
    AS 'MODULE_PATHNAME', 'fastclust_qkmeans_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE AGGREGATE fastclust.qkmeans_agg(x "any", k integer) (
    SFUNC = kmeans_accum, STYPE = internal, SSPACE = 1048576, COMBINEFUNC = internal_combine,
    SERIALFUNC = internal_serialize, DESERIALFUNC = internal_deserialize, FINALFUNC = qkmeans_final,
    PARALLEL = SAFE);
COMMENT ON AGGREGATE qkmeans_agg("any", integer) IS
    'Runs QuicK-means in memory and returns k centroids as a product of sparse factors, or NULL '
    'without rows.';
CREATE AGGREGATE fastclust.qkmeans_agg(x "any", k integer, options jsonb) (
    SFUNC = kmeans_accum, STYPE = internal, SSPACE = 1048576, COMBINEFUNC = internal_combine,
    SERIALFUNC = internal_serialize, DESERIALFUNC = internal_deserialize, FINALFUNC = qkmeans_final,
    PARALLEL = SAFE);
COMMENT ON AGGREGATE qkmeans_agg("any", integer, jsonb) IS
    'Runs QuicK-means in memory with options and returns k centroids as a product of sparse '
    'factors, or NULL without rows.';

-- Lloyd steps and scores

CREATE TYPE fastclust.lloyd_step AS (next fastop, n bigint, sse double precision, counts bigint[]);
COMMENT ON TYPE lloyd_step IS 'result of one step of Lloyd''s algorithm';
COMMENT ON COLUMN lloyd_step.next IS 'operator whose centroids are the means of the clusters';
COMMENT ON COLUMN lloyd_step.n IS 'number of rows';
COMMENT ON COLUMN lloyd_step.sse IS 'sum of squared distances of the rows to the old centroids';
COMMENT ON COLUMN lloyd_step.counts IS 'number of rows in each cluster';
-- Each aggregate is declared twice, like sketch_agg: for row_vector, so that Citus can run it on
-- shards, and for "any", with an internal state.
CREATE FUNCTION fastclust_internal.step_combine(internal, internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_step_combine_kept' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE FUNCTION fastclust_internal.lloyd_final(aggregate_state) RETURNS lloyd_step
    AS 'MODULE_PATHNAME', 'fastclust_lloyd_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;
-- Returns the score of the rows in a state: the SSE, the simplified silhouette or the
-- Davies-Bouldin index. The state records which one.
CREATE FUNCTION fastclust_internal.score_final(aggregate_state) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_score_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.lloyd_final(internal) RETURNS lloyd_step
    AS 'MODULE_PATHNAME', 'fastclust_lloyd_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.score_final(internal) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_score_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.lloyd_accum(aggregate_state, fastop, row_vector)
    RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_lloyd_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE FUNCTION fastclust_internal.lloyd_accum(internal, fastop, "any") RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_lloyd_accum_kept' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE AGGREGATE fastclust.lloyd_step_agg(op fastop, x row_vector) (
    SFUNC = lloyd_accum, STYPE = aggregate_state, SSPACE = 65536, COMBINEFUNC = state_combine,
    FINALFUNC = lloyd_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE lloyd_step_agg(fastop, row_vector) IS
    'Performs one step of Lloyd''s algorithm: assigns every row and returns the means of the '
    'clusters. NULL without rows.';
CREATE AGGREGATE fastclust.lloyd_step_agg(op fastop, x "any") (
    SFUNC = lloyd_accum, STYPE = internal, SSPACE = 65536, COMBINEFUNC = step_combine,
    FINALFUNC = lloyd_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE,
    SERIALFUNC = state_serialize, DESERIALFUNC = state_deserialize);
COMMENT ON AGGREGATE lloyd_step_agg(fastop, "any") IS
    'Performs one step of Lloyd''s algorithm: assigns every row and returns the means of the '
    'clusters. NULL without rows.';
CREATE FUNCTION fastclust_internal.sse_accum(aggregate_state, fastop, row_vector)
    RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_sse_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE FUNCTION fastclust_internal.sse_accum(internal, fastop, "any") RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_sse_accum_kept' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE AGGREGATE fastclust.sse_agg(op fastop, x row_vector) (
    SFUNC = sse_accum, STYPE = aggregate_state, SSPACE = 65536, COMBINEFUNC = state_combine,
    FINALFUNC = score_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE sse_agg(fastop, row_vector) IS
    'Returns the sum of squared distances of the rows to their nearest centroids. NULL without '
    'rows.';
CREATE AGGREGATE fastclust.sse_agg(op fastop, x "any") (
    SFUNC = sse_accum, STYPE = internal, SSPACE = 65536, COMBINEFUNC = step_combine,
    FINALFUNC = score_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE,
    SERIALFUNC = state_serialize, DESERIALFUNC = state_deserialize);
COMMENT ON AGGREGATE sse_agg(fastop, "any") IS
    'Returns the sum of squared distances of the rows to their nearest centroids. NULL without '
    'rows.';
CREATE FUNCTION fastclust_internal.silhouette_accum(aggregate_state, fastop, row_vector)
    RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_silhouette_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE FUNCTION fastclust_internal.silhouette_accum(internal, fastop, "any") RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_silhouette_accum_kept' LANGUAGE C IMMUTABLE PARALLEL SAFE
    COST 300;
CREATE AGGREGATE fastclust.simplified_silhouette_agg(op fastop, x row_vector) (
    SFUNC = silhouette_accum, STYPE = aggregate_state, SSPACE = 65536, COMBINEFUNC = state_combine,
    FINALFUNC = score_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE simplified_silhouette_agg(fastop, row_vector) IS
    'Returns the mean of (b - a) / max(a, b), where a and b are a row''s distances to the two '
    'nearest centroids. NULL without rows.';
CREATE AGGREGATE fastclust.simplified_silhouette_agg(op fastop, x "any") (
    SFUNC = silhouette_accum, STYPE = internal, SSPACE = 65536, COMBINEFUNC = step_combine,
    FINALFUNC = score_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE,
    SERIALFUNC = state_serialize, DESERIALFUNC = state_deserialize);
COMMENT ON AGGREGATE simplified_silhouette_agg(fastop, "any") IS
    'Returns the mean of (b - a) / max(a, b), where a and b are a row''s distances to the two '
    'nearest centroids. NULL without rows.';
CREATE FUNCTION fastclust_internal.davies_bouldin_accum(aggregate_state, fastop, row_vector)
    RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_davies_bouldin_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE
    COST 300;
CREATE FUNCTION fastclust_internal.davies_bouldin_accum(internal, fastop, "any") RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_davies_bouldin_accum_kept' LANGUAGE C IMMUTABLE PARALLEL SAFE
    COST 300;
CREATE AGGREGATE fastclust.davies_bouldin_agg(op fastop, x row_vector) (
    SFUNC = davies_bouldin_accum, STYPE = aggregate_state, SSPACE = 65536,
    COMBINEFUNC = state_combine, FINALFUNC = score_final, FINALFUNC_MODIFY = READ_ONLY,
    PARALLEL = SAFE);
COMMENT ON AGGREGATE davies_bouldin_agg(fastop, row_vector) IS
    'Returns the Davies-Bouldin index: lower values mean better separated clusters. NULL without '
    'rows.';
CREATE AGGREGATE fastclust.davies_bouldin_agg(op fastop, x "any") (
    SFUNC = davies_bouldin_accum, STYPE = internal, SSPACE = 65536, COMBINEFUNC = step_combine,
    FINALFUNC = score_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE,
    SERIALFUNC = state_serialize, DESERIALFUNC = state_deserialize);
COMMENT ON AGGREGATE davies_bouldin_agg(fastop, "any") IS
    'Returns the Davies-Bouldin index: lower values mean better separated clusters. NULL without '
    'rows.';
CREATE FUNCTION fastclust_internal.lloyd_accum(aggregate_state, fastop, "any")
    RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_lloyd_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE FUNCTION fastclust_internal.lloyd_accum(aggregate_state, fastop, row_vector,
        double precision)
    RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_lloyd_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE AGGREGATE fastclust.lloyd_step_agg(op fastop, x row_vector, weight double precision) (
    SFUNC = lloyd_accum, STYPE = aggregate_state, SSPACE = 65536, COMBINEFUNC = state_combine,
    FINALFUNC = lloyd_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE lloyd_step_agg(fastop, row_vector, double precision) IS
    'Performs one step of Lloyd''s algorithm over weighted rows. NULL without rows.';
CREATE FUNCTION fastclust_internal.lloyd_accum(internal, fastop, "any", double precision)
    RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_lloyd_accum_kept' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE AGGREGATE fastclust.lloyd_step_agg(op fastop, x "any", weight double precision) (
    SFUNC = lloyd_accum, STYPE = internal, SSPACE = 65536, COMBINEFUNC = step_combine,
    FINALFUNC = lloyd_final, FINALFUNC_MODIFY = READ_ONLY, SERIALFUNC = state_serialize,
    DESERIALFUNC = state_deserialize, PARALLEL = SAFE);
COMMENT ON AGGREGATE lloyd_step_agg(fastop, "any", double precision) IS
    'Performs one step of Lloyd''s algorithm over weighted rows. NULL without rows.';
CREATE AGGREGATE fastclust_internal.lloyd_sums_agg(op fastop, x "any") (
    SFUNC = lloyd_accum, STYPE = aggregate_state, SSPACE = 65536, COMBINEFUNC = state_combine,
    PARALLEL = SAFE);
CREATE FUNCTION fastclust_internal.lloyd_accum(aggregate_state, fastop, "any", double precision)
    RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_lloyd_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE AGGREGATE fastclust_internal.lloyd_sums_agg(op fastop, x "any", weight double precision) (
    SFUNC = lloyd_accum, STYPE = aggregate_state, SSPACE = 65536, COMBINEFUNC = state_combine,
    PARALLEL = SAFE);
-- Lloyd's sums that are too large for one value, computed in a single process
CREATE FUNCTION fastclust_internal.lloyd_large_accum(internal, fastop, "any", double precision)
    RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_lloyd_large_accum' LANGUAGE C IMMUTABLE COST 300;
CREATE AGGREGATE fastclust_internal.lloyd_large_agg(op fastop, x "any", weight double precision) (
    SFUNC = lloyd_large_accum, STYPE = internal, SSPACE = 1073741824, FINALFUNC = lloyd_final,
    FINALFUNC_MODIFY = READ_ONLY);

CREATE FUNCTION fastclust_internal.contingency_accum(internal, "any", "any") RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_contingency_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.contingency_combine(internal, internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_contingency_combine' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.adjusted_rand_final(internal) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_adjusted_rand_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE AGGREGATE fastclust.adjusted_rand_agg(a "any", b "any") (
    SFUNC = contingency_accum, STYPE = internal, SSPACE = 2048, COMBINEFUNC = contingency_combine,
    FINALFUNC = adjusted_rand_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE,
    SERIALFUNC = state_serialize, DESERIALFUNC = state_deserialize);
COMMENT ON AGGREGATE adjusted_rand_agg("any", "any") IS
    'Returns the adjusted Rand index of two labellings: 1 if they agree, about 0 if they are '
    'unrelated.';
CREATE FUNCTION fastclust_internal.normalized_mutual_information_final(internal)
    RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_normalized_mutual_information_final' LANGUAGE C IMMUTABLE
    PARALLEL SAFE;
CREATE AGGREGATE fastclust.normalized_mutual_information_agg(a "any", b "any") (
    SFUNC = contingency_accum, STYPE = internal, SSPACE = 2048, COMBINEFUNC = contingency_combine,
    FINALFUNC = normalized_mutual_information_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE,
    SERIALFUNC = state_serialize, DESERIALFUNC = state_deserialize);
COMMENT ON AGGREGATE normalized_mutual_information_agg("any", "any") IS
    'Returns the normalised mutual information of two labellings, between 0 and 1.';

-- internal: weighted samples of rows, stored as operators whose centroids are the rows

-- Converts the centroids of an operator from the scaling (center, scale) to (new_center,
-- new_scale). A NULL center counts as 0, a NULL scale as 1.
CREATE FUNCTION fastclust_internal.rescaled_operator(op fastop, center double precision[],
        scale double precision[], new_center double precision[], new_scale double precision[])
    RETURNS fastop
    AS 'MODULE_PATHNAME', 'fastclust_rescaled_operator' LANGUAGE C IMMUTABLE PARALLEL SAFE;

-- Encoders: convert the columns of rows to coordinates

CREATE FUNCTION fastclust_internal.encoder_final(internal) RETURNS encoder
    AS 'MODULE_PATHNAME', 'fastclust_encoder_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.encoder_accum(internal, record, text[]) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_encoder_accum' LANGUAGE C STABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE fastclust.encoder_agg("row" record, columns text[]) (
    SFUNC = encoder_accum, STYPE = internal, SSPACE = 8192, FINALFUNC = encoder_final,
    FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE encoder_agg(record, text[]) IS
    'Returns an encoder of the columns, learned from the rows, or NULL without rows.';
CREATE FUNCTION fastclust_internal.encoder_accum(internal, record, text[], jsonb) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_encoder_accum' LANGUAGE C STABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE fastclust.encoder_agg("row" record, columns text[], options jsonb) (
    SFUNC = encoder_accum, STYPE = internal, SSPACE = 8192, FINALFUNC = encoder_final,
    FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE encoder_agg(record, text[], jsonb) IS
    'Returns an encoder of the columns, learned from the rows with options, or NULL without rows.';

-- Learns an encoder from rows that count several times each.
CREATE FUNCTION fastclust_internal.encoder_accum(internal, record, text[], jsonb, bigint)
    RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_encoder_accum' LANGUAGE C STABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE fastclust_internal.encoder_counts_agg("row" record, columns text[],
        options jsonb, count bigint) (
    SFUNC = encoder_accum, STYPE = internal, SSPACE = 8192, FINALFUNC = encoder_final,
    FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);

CREATE FUNCTION fastclust.encode_row(encoder encoder, "row" record, scaled boolean DEFAULT true)
    RETURNS real[]
    AS 'MODULE_PATHNAME', 'fastclust_encode_row' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION fastclust.encode_row IS
    'Returns the coordinates of a row, whose columns are found by their names. Returns NULL if '
    'the row has a NULL that the encoder skips.';
CREATE FUNCTION fastclust.describe(encoder encoder) RETURNS jsonb
    AS 'MODULE_PATHNAME', 'fastclust_encoder_describe' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION describe(encoder) IS
    'Describes an encoder: the encoding of each column, the number of rows, and the size in bytes.';
CREATE FUNCTION fastclust.feature_names(encoder encoder) RETURNS text[]
    AS 'MODULE_PATHNAME', 'fastclust_feature_names' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION fastclust.feature_names IS
    'Returns the name of each coordinate of an encoded row.';

-- internal: encoding in scans of whole tables, and for the explanation of a model

CREATE FUNCTION fastclust_internal.encode_record(encoder encoder, scaled boolean, "row" record)
    RETURNS double precision[]
    AS 'MODULE_PATHNAME', 'fastclust_encode_record' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 10;
CREATE FUNCTION fastclust_internal.encode_listed(encoder encoder, scaled boolean,
        VARIADIC columns "any")
    RETURNS double precision[]
    AS 'MODULE_PATHNAME', 'fastclust_encode_listed' LANGUAGE C STABLE PARALLEL SAFE COST 10;
-- Equals encode_listed, but is IMMUTABLE, so that postgres_fdw can push it down. It is used only
-- for types whose values depend on no setting of a session.
CREATE FUNCTION fastclust_internal.encode_constant(encoder encoder, scaled boolean,
        VARIADIC columns "any")
    RETURNS double precision[]
    AS 'MODULE_PATHNAME', 'fastclust_encode_listed' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 10;
-- Returns the category of a column that equals the text of a value, or NULL if there is none.
CREATE FUNCTION fastclust_internal.category_of(encoder encoder, "column" text, value text)
    RETURNS text
    AS 'MODULE_PATHNAME', 'fastclust_category_of' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 10;
CREATE FUNCTION fastclust_internal.encoder_columns(encoder encoder) RETURNS name[]
    AS 'MODULE_PATHNAME', 'fastclust_encoder_columns' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.encoder_features(encoder encoder, OUT dimension integer,
        OUT feature text, OUT kind text, OUT category text, OUT transform text,
        OUT center double precision, OUT scale double precision, OUT label text, OUT nulls integer)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_encoder_features' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
-- Returns the name of the NULLs of the column that has the dimension, such as "age is NULL".
CREATE FUNCTION fastclust_internal.null_name(encoder encoder, dimension integer) RETURNS text
    AS 'MODULE_PATHNAME', 'fastclust_null_name' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
-- Returns the value of a cyclic column in the direction of the means of its coordinates, or NaN if
-- there is none; NULL if the dimension is of another column.
CREATE FUNCTION fastclust_internal.cyclic_mean(encoder encoder, dimension integer,
        means double precision[])
    RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_cyclic_mean' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
-- Returns a value as text in its own unit, with four significant digits, or with all digits if
-- `exact` is true. Days and seconds count from 2000-01-01.
CREATE FUNCTION fastclust_internal.shown_value(x double precision, kind text, exact boolean)
    RETURNS text
    AS 'MODULE_PATHNAME', 'fastclust_shown_value' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
-- Returns the encoder of a column of vectors with d dimensions. center and scale may be NULL.
CREATE FUNCTION fastclust_internal.encoder_of_vector(feature name, d integer,
        center double precision[], scale double precision[])
    RETURNS encoder
    AS 'MODULE_PATHNAME', 'fastclust_encoder_of_vector' LANGUAGE C IMMUTABLE PARALLEL SAFE;

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

-- Aggregates that collect rows in internal states: they run in parallel, but not on shards of
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

-- Reading of projections

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

-- Features of old and new rows

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

-- internal: one pass over the rows of a training, which computes the sketch, the counts for drift,
-- the weighted sample and Lloyd's sums

CREATE TYPE fastclust_internal.scan_plan AS (
    encoder encoder,    -- NULL if the only cell of a row is a vector
    -- 'cosine'; 'observed': rows with NULLs are compared over their other columns; or NULL
    metric text,
    center double precision[],
    scale double precision[],    -- divisor of the rows; NULL: rows are not scaled
    -- feature map that converts scaled rows to the input of the operators; NULL: no map
    map kernel_map,
    spec sketch_spec,    -- spec of the sketch of unscaled rows; NULL: no sketch
    drift_spec drift_spec,    -- spec of the counts of unscaled rows; NULL: no counts
    -- a power of two: one row in `share`, chosen by its key, enters sketch and counts; NULL: all
    -- rows
    share integer,
    -- weighted sample of scaled rows: its size, the center and variance from which importances are
    -- computed, the seed, and the limit on ranks
    size integer,
    sample_center double precision[],
    sample_variance double precision,
    seed bigint,
    rank_limit double precision,
    operators fastop[],         -- operators of up to two Lloyd steps; NULL: none
    -- not NULL: the first cell of a row is its weight, and the sketch takes the weight times this
    -- factor; NULL: each row has the weight 1
    weight_factor double precision);

-- Returns the plan of the group `value`, or `others` if it is not in the groups.
CREATE FUNCTION fastclust_internal.group_plan(others scan_plan, groups text[], plans scan_plan[],
        value "any")
    RETURNS scan_plan
    AS 'MODULE_PATHNAME', 'fastclust_group_plan' LANGUAGE C STABLE PARALLEL SAFE;
-- The cells of a row have one of three forms: the encoder's columns in order; a row that has these
-- columns by name; a vector. A weight may precede them. The key is hashed to sample rows. If possible, rows with equal cells
-- have different keys.
CREATE FUNCTION fastclust_internal.scan_accum(internal, scan_plan, bigint, VARIADIC "any")
    RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_scan_accum' LANGUAGE C STABLE PARALLEL SAFE COST 300;
CREATE FUNCTION fastclust_internal.scan_final(internal) RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_scan_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE AGGREGATE fastclust_internal.scan_agg(plan scan_plan, key bigint, VARIADIC cells "any") (
    SFUNC = scan_accum, STYPE = internal, SSPACE = 65536, COMBINEFUNC = internal_combine,
    SERIALFUNC = internal_serialize, DESERIALFUNC = internal_deserialize, FINALFUNC = scan_final,
    FINALFUNC_MODIFY = READ_WRITE, PARALLEL = SAFE);

-- Aggregates named "sum", which Citus sends to the shards unchanged. Citus calls other aggregates
-- that have a combine function through worker_partial_agg, which packs the arguments into a row and
-- looks up the aggregate for every row of the table. That takes 300 to 400 ns per row. A "sum"
-- without a combine function runs on the shards directly. The states that the shards return are
-- added by the one-argument sum of their type.
CREATE AGGREGATE fastclust_internal.sum(aggregate_state) (
    SFUNC = state_combine, STYPE = aggregate_state, SSPACE = 65536, PARALLEL = SAFE);
CREATE AGGREGATE fastclust_internal.sum(op fastop, x "any") (
    SFUNC = lloyd_accum, STYPE = aggregate_state, SSPACE = 65536, PARALLEL = SAFE);
CREATE AGGREGATE fastclust_internal.sum(plan scan_plan, key bigint, VARIADIC cells "any") (
    SFUNC = scan_accum, STYPE = internal, SSPACE = 65536, FINALFUNC = scan_final,
    FINALFUNC_MODIFY = READ_WRITE, PARALLEL = SAFE);

-- Returns the results in a state. A result is NULL if it was not requested or if no row was added
-- to it.
CREATE FUNCTION fastclust_internal.scan_result(scan aggregate_state, OUT n bigint,
        OUT nulls bigint, OUT sketch sketch, OUT counts drift_counts, OUT sample fastop,
        OUT steps lloyd_step[])
    AS 'MODULE_PATHNAME', 'fastclust_scan_result' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

-- Models: tables that only the owner of the extension reads and writes, and views of the rows that
-- a role may read

-- A role in a table: its OID and its name. The output is the name of today, so that a dump gives the
-- model to the role that has it now; the input finds the OID, and keeps a name that no role has.
-- A later role of the same name gets no rights, because these go by the OID.
CREATE TYPE fastclust_internal.role_name;
CREATE FUNCTION fastclust_internal.role_name_in(cstring) RETURNS role_name
    AS 'MODULE_PATHNAME', 'fastclust_role_name_in' LANGUAGE C STABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.role_name_out(role_name) RETURNS cstring
    AS 'MODULE_PATHNAME', 'fastclust_role_name_out' LANGUAGE C STABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.role_name_recv(internal) RETURNS role_name
    AS 'MODULE_PATHNAME', 'fastclust_role_name_recv' LANGUAGE C STABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.role_name_send(role_name) RETURNS bytea
    AS 'MODULE_PATHNAME', 'fastclust_role_name_send' LANGUAGE C STABLE STRICT PARALLEL SAFE;
CREATE TYPE fastclust_internal.role_name (
    INPUT = role_name_in, OUTPUT = role_name_out, RECEIVE = role_name_recv, SEND = role_name_send,
    INTERNALLENGTH = 68, ALIGNMENT = int4);
CREATE CAST (name AS role_name) WITH INOUT AS ASSIGNMENT;
CREATE CAST (role_name AS name) WITH INOUT AS IMPLICIT;
CREATE FUNCTION fastclust_internal.role_id(role role_name) RETURNS oid
    AS 'MODULE_PATHNAME', 'fastclust_role_name_id' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
-- Returns the OID of the role that has a name now; NULL if there is none.
CREATE FUNCTION fastclust_internal.role_id(role name) RETURNS oid
    AS 'MODULE_PATHNAME', 'fastclust_role_id' LANGUAGE C IMMUTABLE STRICT;
-- Returns the OIDs of roles; 0 for "public", which is everyone.
CREATE FUNCTION fastclust_internal.role_ids(roles role_name[]) RETURNS oid[]
    LANGUAGE sql IMMUTABLE SET search_path FROM CURRENT AS $$
    SELECT COALESCE(array_agg(CASE WHEN u.role::name = 'public' THEN 0::oid
                                   ELSE role_id(u.role) END ORDER BY u.i),
                    '{}')
      FROM unnest(roles) WITH ORDINALITY u(role, i)
$$;
-- The same for names, which each node of Citus looks up when it stores a row.
CREATE FUNCTION fastclust_internal.role_ids(roles name[]) RETURNS oid[]
    LANGUAGE sql IMMUTABLE SET search_path FROM CURRENT AS $$
    SELECT COALESCE(array_agg(CASE WHEN u.role = 'public' THEN 0::oid
                                   ELSE role_id(u.role) END ORDER BY u.i),
                    '{}')
      FROM unnest(roles) WITH ORDINALITY u(role, i)
$$;

-- Returns the present owner of a relation, also if the relation was made after the snapshot of the
-- query. NULL if there is no such relation.
CREATE FUNCTION fastclust_internal.relation_owner(relation regclass) RETURNS oid
    AS 'MODULE_PATHNAME', 'fastclust_relation_owner' LANGUAGE C STABLE STRICT PARALLEL SAFE;

-- Returns the relation that has the name of the given one, and locks it until the end of the
-- transaction, so that no other relation gets the name. Waits for a session that drops the given
-- relation, and returns the relation that this session leaves under the name, or NULL. Raises an
-- error if the caller has no right to the relation.
CREATE FUNCTION fastclust_internal.locked_relation(relation regclass) RETURNS regclass
    AS 'MODULE_PATHNAME', 'fastclust_locked_relation' LANGUAGE C STRICT;

-- A transaction of REPEATABLE READ that changes a relation or a role after another session did sees
-- two rows of it in the catalogs. These functions read the present row.
CREATE FUNCTION fastclust_internal.relation_kind(relation oid) RETURNS "char"
    AS 'MODULE_PATHNAME', 'fastclust_relation_kind' LANGUAGE C STABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.is_superuser(role oid) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_is_superuser' LANGUAGE C STABLE STRICT PARALLEL SAFE;

-- Returns the owner of a relation; NULL if there is no such relation, or if the name is made up.
CREATE FUNCTION fastclust_internal.owner_of(relation text) RETURNS name
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $$
BEGIN
    RETURN pg_get_userbyid(relation_owner(to_regclass(relation)));
EXCEPTION WHEN syntax_error OR invalid_name OR feature_not_supported THEN
    RETURN NULL;
END
$$;

-- One row per model. The id identifies a model: a later model may have the same name.
CREATE TABLE fastclust_internal.stored_models (
    id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    model text NOT NULL UNIQUE CHECK (model <> ''),
    owner role_name NOT NULL,
    owner_id oid GENERATED ALWAYS AS (role_id(owner)) STORED,
    readers role_name[] NOT NULL DEFAULT '{}',    -- roles that may use the model; "public" is everyone
    -- 0 is everyone
    reader_ids oid[] GENERATED ALWAYS AS (role_ids(readers)) STORED,
    version integer,
    -- grouping column: the model has clusters of its own for each value; NULL: no groups
    group_by name,
    created_at timestamptz NOT NULL DEFAULT now());

-- Returns true if the columns of a version are consistent, so that stored rows are always readable;
-- otherwise raises an error.
CREATE FUNCTION fastclust_internal.version_fits(operator fastop, map kernel_map,
        center double precision[], scale double precision[], spreads double precision[],
        distance_quantiles double precision[], null_moments double precision[], spec sketch_spec,
        training_sketch sketch, encoder encoder, drift_spec drift_spec, drift_counts drift_counts,
        micro_clusters fastop, splits double precision[], paths integer[] DEFAULT NULL)
    RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_version_fits' LANGUAGE C IMMUTABLE PARALLEL SAFE;
-- One row per version of a model, or per version and group: its centroids and the sketch of its
-- training rows.
CREATE TABLE fastclust_internal.version_groups (
    model_id bigint NOT NULL REFERENCES stored_models ON DELETE CASCADE,
    version integer NOT NULL CHECK (version > 0),
    group_value text NOT NULL DEFAULT '',
    method text NOT NULL,
    note text,
    relation text NOT NULL,
    features name[] NOT NULL,
    -- true: features names one column of vectors; false: it names columns that the encoder reads
    vector boolean NOT NULL,
    encoder encoder,
    k integer NOT NULL CHECK (k BETWEEN 1 AND 1048576),
    options jsonb NOT NULL CHECK (jsonb_typeof(options) = 'object'),
    operator fastop NOT NULL,    -- centroids of the scaled rows, (x - center) / scale
    -- micro-clusters of method density, each with the number of its cluster; they label rows. NULL:
    -- the operator labels rows
    micro_clusters fastop,
    -- condensed tree of method density, four numbers per split: two nodes (a node below k is a
    -- cluster), the radius of the valley between them, and the number of rows of both
    splits double precision[],
    -- means of the rows, which are subtracted from them; NULL: rows are not centered
    center double precision[],
    -- standard deviations, by which the rows are divided; NULL: rows are not scaled
    scale double precision[],
    -- feature map of method kernel, which converts a row to the input of the operator; NULL for
    -- other methods
    map kernel_map,
    spec sketch_spec,
    training_sketch sketch,
    -- edges and pairs of columns by which rows are counted for drift. All groups of a version use
    -- the same drift_spec, which is stored in one row of the version
    drift_spec drift_spec,
    -- counts of the training rows by drift_spec; NULL if the version was made from a sketch alone
    drift_counts drift_counts,
    -- tr S^2 and tr S^3 (drift/waves.h), which give the null distribution of drift for the sketch;
    -- NULL if the spec projects rows on axes of the sample
    null_moments double precision[],
    -- standard deviation per dimension of the scaled rows of each cluster
    spreads double precision[],
    -- number of training rows of each cluster if rows have weights, which the operator then has;
    -- NULL: each row has the weight 1
    cluster_rows double precision[],
    -- quantiles of the relative distances of the training rows, for the probabilities 1 - (1 - i / 200)^2
    distance_quantiles double precision[],
    n bigint NOT NULL CHECK (n >= 0),
    -- number of training rows with a NULL that was replaced by a value; NULL if they were not
    -- counted
    imputed bigint,
    objective double precision,
    -- standard error of the objective; 0 if all rows were measured
    objective_error double precision,
    label_churn double precision,
    -- numbers of the nodes above each cluster, top level first, numbered on each level from 0
    -- without gaps; NULL without levels
    paths integer[],
    -- identity of each cluster, in the order of the numbers. A cluster that continues one of the
    -- version before has its identity, but maybe another number. Names belong to identities. A new
    -- cluster has the number of its version * 2^32 plus its own number.
    identities bigint[] NOT NULL,
    -- share of the ten nearest rows that a search through `probes` buckets finds; NULL without
    -- option probes
    recall double precision CHECK (recall BETWEEN 0 AND 1),
    -- qualified name of the grouping column's type, and of its collation if equal values may
    -- differ in their texts; NULL: groups are compared as texts
    group_type text[],
    -- owner of the relation at the training; NULL if there was no such relation
    relation_owner role_name,
    trained_by role_name NOT NULL,
    trained_by_id oid GENERATED ALWAYS AS (role_id(trained_by)) STORED,
    started_at timestamptz NOT NULL,
    trained_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (model_id, version, group_value),
    CHECK (vector = (encoder IS NULL)),
    CHECK (cardinality(cluster_rows) = clusters(operator)),
    CHECK (cardinality(identities) = clusters(operator)
           AND array_position(identities, NULL) IS NULL),
    -- rights on the features are checked before a scan, so the encoder must read the same columns
    CHECK (encoder_columns(encoder) = features),
    CHECK (version_fits(operator, map, center, scale, spreads, distance_quantiles, null_moments,
                        spec, training_sketch, encoder, drift_spec, drift_counts, micro_clusters,
                        splits, paths)));
CREATE UNIQUE INDEX ON version_groups (model_id, version) WHERE drift_spec IS NOT NULL;
-- Version groups with the name of the model. The name is stored in a single row, so that renaming a
-- model with 100,000 versions writes only that row. A subquery in place of the join would prevent
-- parallel plans for all queries of the view.
CREATE VIEW fastclust_internal.stored_versions AS
    SELECT v.*, m.model FROM version_groups v LEFT JOIN stored_models m ON m.id = v.model_id;

-- One row per step of a training.
CREATE TABLE fastclust_internal.training_steps (
    id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    model_id bigint NOT NULL REFERENCES stored_models ON DELETE CASCADE,
    version integer NOT NULL,
    step text NOT NULL,
    objective double precision,
    seconds double precision,
    note text,
    at timestamptz NOT NULL DEFAULT clock_timestamp());
CREATE INDEX ON training_steps (model_id, version);

SELECT pg_catalog.pg_extension_config_dump('stored_models', '');
SELECT pg_catalog.pg_extension_config_dump('stored_models_id_seq', '');
SELECT pg_catalog.pg_extension_config_dump('version_groups', '');

-- ---- rights: a view runs with its owner's rights, but current_user is its reader ----

-- A model whose owner was dropped belongs to the first superuser, whose OID is 10.
CREATE VIEW fastclust_internal.own_models WITH (security_barrier) AS
    SELECT m.* FROM stored_models m WHERE pg_has_role(COALESCE(m.owner_id, 10), 'USAGE');
-- Returns true if the current user has the rights of one of the roles; OID 0 is everyone, NULL is
-- nobody.
CREATE FUNCTION fastclust_internal.has_a_role(roles oid[]) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_has_a_role' LANGUAGE C STABLE STRICT PARALLEL SAFE;
CREATE VIEW fastclust_internal.readable_models WITH (security_barrier) AS
    SELECT m.* FROM stored_models m
     WHERE pg_has_role(COALESCE(m.owner_id, 10), 'USAGE') OR has_a_role(m.reader_ids);
-- The planner pushes a condition on model_id down to both tables. It does not do so for a join to
-- this view; use a lateral subquery instead.
CREATE VIEW fastclust_internal.readable_versions WITH (security_barrier) AS
    SELECT v.* FROM readable_models m JOIN stored_versions v ON v.model_id = m.id;
-- One row: are there models that the current user may not read? It shows neither names nor numbers.
CREATE VIEW fastclust_internal.hidden_models WITH (security_barrier) AS
    SELECT EXISTS (SELECT FROM stored_models m
                    WHERE NOT pg_has_role(COALESCE(m.owner_id, 10), 'USAGE')
                      AND has_a_role(m.reader_ids) IS NOT TRUE) AS exist;
GRANT SELECT ON own_models, readable_models, readable_versions, hidden_models TO PUBLIC;

-- Returns the number of a version's training rows that belong to a cluster.
CREATE FUNCTION fastclust_internal.clustered_rows(version stored_versions) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT AS $$
    SELECT CASE WHEN version.micro_clusters IS NULL AND version.cluster_rows IS NULL THEN version.n
                ELSE (SELECT least(round(sum(c.weight)), 9e18)::bigint
                        FROM centroids(version.operator) c) END
$$;

-- Returns the drift_spec of a version, which its groups share. Returns NULL if the version has
-- none.
CREATE FUNCTION fastclust_internal.drift_spec_of(version stored_versions) RETURNS drift_spec
    LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
    SELECT COALESCE(version.drift_spec,
                    (SELECT v.drift_spec
                       FROM readable_versions v
                      WHERE v.model_id = version.model_id
                        AND v.version = version.version
                        AND v.drift_spec IS NOT NULL
                      LIMIT 1))
$$;

-- internal: functions that other functions of models share

-- Returns the text of a grouping value of any type, which does not depend on settings of the
-- session.
CREATE FUNCTION fastclust_internal.group_text(value "any") RETURNS text
    AS 'MODULE_PATHNAME', 'fastclust_group_text' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
-- Returns the place of the group that equals the value, from 1; NULL if there is none.
CREATE FUNCTION fastclust_internal.group_place(groups text[], value "any") RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_group_place' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
-- Returns the text of a model's group that the value names, or of the value itself if there is no
-- such group. version -1 is the current one.
CREATE FUNCTION fastclust_internal.group_of(model text, version integer, value "any") RETURNS text
    AS 'MODULE_PATHNAME', 'fastclust_group_of' LANGUAGE C STABLE PARALLEL SAFE;
-- Returns the scaled row, (x - center) / scale, or the row itself if center or scale is NULL.
-- Returns NULL for a NULL row.
CREATE FUNCTION fastclust_internal.scaled_vector(center double precision[],
        scale double precision[], x "any")
    RETURNS double precision[]
    AS 'MODULE_PATHNAME', 'fastclust_scaled_vector' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.place_key(place tid) RETURNS bigint
    AS 'MODULE_PATHNAME', 'fastclust_place_key' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.fit_residual(s sketch, op fastop, center double precision[],
        scale double precision[], spreads double precision[])
    RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_fit_residual' LANGUAGE C IMMUTABLE PARALLEL SAFE;

-- Raises an error unless `function`, such as train or write_labels, has all given options, and each
-- option has the right type and range. Also checks options that the method does not use. All
-- options are listed in pg/train/options.c.
CREATE FUNCTION fastclust_internal.check_training_options(options jsonb, function text) RETURNS void
    AS 'MODULE_PATHNAME', 'fastclust_check_training_options' LANGUAGE C IMMUTABLE;

-- Returns a boolean option, or `value` if the option is not given. An object counts as true. The
-- caller must have checked the options.
CREATE FUNCTION fastclust_internal.flag_option(options jsonb, name text,
        value boolean DEFAULT false)
    RETURNS boolean
    LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT COALESCE(CASE jsonb_typeof(options -> name)
                         WHEN 'object' THEN true
                         ELSE (options ->> name)::boolean END,
                    value)
$$;

CREATE FUNCTION fastclust.option_help(function text, OUT option text, OUT type text,
        OUT range text, OUT "default" text, OUT meaning text)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_option_help' LANGUAGE C IMMUTABLE PARALLEL SAFE ROWS 30;
COMMENT ON FUNCTION fastclust.option_help IS
    'Lists the options of train, retrain, choose_k, write_labels or keep_sketch. "live.bucket" '
    'is the key bucket of the object live.';

-- Returns a hint for an unknown name: the most similar known name, if one is similar, and all known
-- names.
CREATE FUNCTION fastclust_internal.name_hint(given text, names text[], what text) RETURNS text
    AS 'MODULE_PATHNAME', 'fastclust_name_hint' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

-- Returns the hint for an unknown model: the similar name among the readable ones, if there is one.
-- hidden: there are other models, which the caller may not read.
CREATE FUNCTION fastclust_internal.missing_model_hint(model text, readable text[], hidden boolean)
    RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT AS $$
    SELECT COALESCE(substring(name_hint(model, readable, '') FROM '^Perhaps you meant "[^"]*"[.]'),
                    CASE WHEN hidden
                             THEN 'To use a model of another role, ask its owner to call grant_model.'
                         WHEN readable = '{}' THEN 'To make a model, call train.'
                         ELSE 'The view models lists the models that you may use.' END)
$$;
CREATE FUNCTION fastclust_internal.model_hint(model text) RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE SET search_path FROM CURRENT AS $$
    SELECT missing_model_hint(model, ARRAY(SELECT m.model FROM readable_models m ORDER BY 1),
                              h.exist)
      FROM hidden_models h
$$;

-- Returns the Citus group id of this node, 0 for the coordinator. Returns NULL if models are not
-- distributed.
CREATE FUNCTION fastclust_internal.sharing_node() RETURNS integer
    LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path FROM CURRENT AS $$
DECLARE
    node integer;
BEGIN
    IF EXISTS (SELECT FROM pg_extension e WHERE e.extname = 'citus') THEN
        SELECT l.groupid INTO node
          FROM pg_catalog.pg_dist_local_group l
         WHERE EXISTS (SELECT FROM pg_catalog.pg_dist_partition p
                        WHERE p.logicalrelid = 'fastclust_internal.shared_models'::regclass);
    END IF;
    RETURN node;
END
$$;

-- Returns a model that the caller may read; a missing model is an error.
CREATE FUNCTION fastclust_internal.readable_model(model_name text) RETURNS stored_models
    LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path FROM CURRENT AS $$
DECLARE
    found_model stored_models;
BEGIN
    IF model_name IS NULL THEN
        RAISE null_value_not_allowed USING MESSAGE = 'model must not be NULL';
    END IF;
    SELECT * INTO found_model FROM readable_models m WHERE m.model = model_name;
    IF NOT FOUND THEN
        RAISE undefined_object USING MESSAGE = format('model "%s" does not exist', model_name),
            HINT = CASE WHEN sharing_node() > 0
                            THEN 'This is a worker of Citus: call the function on the coordinator. In a query of shards, pass an operator as (SELECT model_operator(...)).'
                        ELSE model_hint(model_name) END;
    END IF;
    RETURN found_model;
END
$$;

-- Returns the hint for an unknown version: the versions of the model that the caller may read.
CREATE FUNCTION fastclust_internal.version_hint(model text) RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE SET search_path FROM CURRENT AS $$
    SELECT format('Stored versions: %s.%s', string_agg(v.version::text, ', ' ORDER BY v.version),
                  CASE WHEN max(v.serves) IS NULL
                           THEN ' Make one current with use_version.' END)
      FROM (SELECT DISTINCT v.version, m.version AS serves
              FROM readable_models m JOIN readable_versions v ON v.model_id = m.id
             WHERE m.model = version_hint.model) v
$$;

-- Returns the model as if the given version were current; a missing version is an error.
CREATE FUNCTION fastclust_internal.at_version(stored stored_models, version integer)
    RETURNS stored_models
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $$
BEGIN
    SELECT v.version, v.options ->> 'group_by' INTO stored.version, stored.group_by
      FROM readable_versions v
     WHERE v.model_id = stored.id AND v.version = at_version.version
     LIMIT 1;
    IF NOT FOUND THEN
        RAISE undefined_object USING
            MESSAGE = format('model "%s" has no version %s', stored.model,
                             COALESCE(version::text, 'NULL')),
            HINT = version_hint(stored.model);
    END IF;
    RETURN stored;
END
$$;

-- Returns the clusters of a version and the nearest other cluster of each. Centroids are in the
-- units of the table. If the list of centroids exceeds the memory budget, raises a WARNING and
-- returns no rows, so that other models are still listed.
CREATE FUNCTION fastclust_internal.version_cluster_rows(model text, n bigint, op fastop,
        mapped boolean, center double precision[], scale double precision[],
        spreads double precision[], cluster_rows double precision[] DEFAULT NULL,
        OUT cluster integer, OUT size bigint, OUT weight double precision,
        OUT share double precision, OUT centroid double precision[], OUT spread double precision,
        OUT nearest_cluster integer, OUT nearest_distance double precision)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_version_cluster_rows' LANGUAGE C STABLE PARALLEL SAFE COST 1000
    ROWS 10;
-- Returns true if the list of centroids fits into the memory budget. If it does not and a model is
-- named, raises a WARNING.
CREATE FUNCTION fastclust_internal.can_list_centroids(op fastop, model text DEFAULT NULL)
    RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_can_list_centroids' LANGUAGE C STABLE PARALLEL SAFE;

-- Writers: the only functions that write the model tables
--
-- All are SECURITY DEFINER functions in fastclust_owner (prologue.sql), and check the rights of the
-- role in their last argument.

-- Returns true if the caller has the rights of a role. Superusers have the rights of all roles,
-- including dropped ones.
CREATE FUNCTION fastclust_internal.is_member(caller oid, role oid) RETURNS boolean
    LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT EXISTS (SELECT FROM pg_roles r
                    WHERE r.oid = role AND pg_has_role(caller, r.oid, 'USAGE'))
           OR fastclust_internal.is_superuser(caller)
$$;

CREATE FUNCTION fastclust_internal.is_reader(caller oid, stored stored_models) RETURNS boolean
    LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
    SELECT 0 = ANY (stored.reader_ids)
           OR EXISTS (SELECT FROM unnest(stored.reader_ids) r WHERE is_member(caller, r))
$$;

-- Raises an error on a standby and in a read-only transaction. The error that the first write would
-- raise has no hint.
CREATE FUNCTION fastclust_internal.reject_read_only(
        what text DEFAULT 'models cannot be trained or changed')
    RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF pg_is_in_recovery() THEN
        RAISE read_only_sql_transaction USING MESSAGE = what || ' on a standby',
            HINT = 'Call the function on the primary. A standby can use models, measure drift, sketch and decode.';
    ELSIF current_setting('transaction_read_only')::boolean THEN
        RAISE read_only_sql_transaction USING MESSAGE = what || ' in a read-only transaction',
            HINT = 'Begin the transaction with READ WRITE; the default is set by default_transaction_read_only.';
    END IF;
END
$$;

-- Locks the key of a model or of a live sketch until the end of the transaction. Returns false if
-- another session has locked it and wait is false.
CREATE FUNCTION fastclust_owner.lock_name(key integer, live boolean, wait boolean) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_lock_name' LANGUAGE C STRICT;

-- Claims a name that no model has. Waits for other sessions with the caller's login or roles.
-- Raises an error if a session of another role has claimed the name, so that no role can block
-- another by claiming names.
CREATE FUNCTION fastclust_owner.claim_name(name text, wait boolean, caller oid) RETURNS void
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    key integer := hashtext(name);
BEGIN
    IF lock_name(key, false, false) THEN
        RETURN;
    -- A prepared transaction, whose lock has no pid, counts as another role.
    ELSIF EXISTS (SELECT FROM pg_roles own, pg_locks l LEFT JOIN pg_stat_activity a ON a.pid = l.pid
                   WHERE l.locktype = 'object'
                     AND l.classid =
                             'fastclust_owner.lock_name(integer, boolean, boolean)'::regprocedure
                     AND l.objid = (key::bigint & 4294967295)::oid
                     AND l.objsubid = 0
                     AND l.granted
                     AND l.database IN (SELECT d.oid FROM pg_database d
                                         WHERE d.datname = current_database())
                     AND own.rolname = session_user
                     AND (a.usesysid IS NULL
                          OR (a.usesysid <> own.oid
                              AND is_member(caller, a.usesysid) IS NOT TRUE))) THEN
        RAISE lock_not_available USING
            MESSAGE = format('model "%s" is being made by another role', name),
            HINT = 'Choose another name.';
    ELSIF wait IS FALSE THEN
        RAISE lock_not_available USING
            MESSAGE = format('model "%s" is being made by another session', name),
            HINT = 'Leave out the option nowait to wait for it.';
    END IF;
    PERFORM lock_name(key, false, true);
END
$$;

-- Returns an id for a new row of a table. Logical replication copies rows of the publisher, but not
-- its sequences. In a subscribed table, and if the last id was taken, the sequence goes on from a
-- random place, so that later rows of the publisher have other ids, too.
CREATE FUNCTION fastclust_owner.new_id(relation regclass, was_taken boolean) RETURNS bigint
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    far CONSTANT bigint := 4294967296;    -- a publisher has fewer rows
    sequence regclass := pg_get_serial_sequence(relation::text, 'id');
    id bigint := nextval(sequence);
BEGIN
    IF was_taken
       OR (id < far AND EXISTS (SELECT FROM pg_subscription_rel s WHERE s.srrelid = relation)) THEN
        PERFORM setval(sequence, far * (1 + floor(random() * 1048576)::bigint));
        id := nextval(sequence);
    END IF;
    RETURN id;
END
$$;

-- Locks a model until the end of the transaction, and returns it. Raises an error if the caller may
-- not change the model. If `make` is true, creates a missing model.
CREATE FUNCTION fastclust_internal.locked_model(model_name text, wait boolean,
        make boolean DEFAULT false)
    RETURNS stored_models
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C;
CREATE FUNCTION fastclust_owner.locked_model(model_name text, wait boolean, make boolean, caller oid)
    RETURNS stored_models
    LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    stored stored_models;
    was_taken boolean := false;
BEGIN
    PERFORM reject_read_only();
    IF make AND COALESCE(model_name, '') = '' THEN
        RAISE invalid_parameter_value USING MESSAGE = 'model must not be NULL or empty';
    ELSIF model_name IS NULL THEN
        RAISE null_value_not_allowed USING MESSAGE = 'model must not be NULL';
    ELSIF make AND NOT EXISTS (SELECT FROM stored_models m WHERE m.model = model_name) THEN
        PERFORM claim_name(model_name, wait, caller);
        LOOP
            INSERT INTO stored_models (id, model, owner)
            VALUES (new_id('stored_models', was_taken), model_name, pg_get_userbyid(caller))
            ON CONFLICT DO NOTHING;
            EXIT WHEN FOUND OR EXISTS (SELECT FROM stored_models m WHERE m.model = model_name);
            was_taken := true;
        END LOOP;
    END IF;
    SELECT * INTO stored FROM stored_models m WHERE m.model = model_name;
    IF stored.id IS NOT NULL AND is_member(caller, stored.owner_id) THEN
        BEGIN
            IF wait IS NOT FALSE THEN
                SELECT * INTO stored
                  FROM stored_models m
                 WHERE m.id = stored.id AND m.model = model_name
                   FOR UPDATE;
            ELSE
                SELECT * INTO stored
                  FROM stored_models m
                 WHERE m.id = stored.id AND m.model = model_name
                   FOR UPDATE NOWAIT;
            END IF;
        EXCEPTION WHEN lock_not_available THEN
            IF wait IS NOT FALSE THEN
                RAISE;
            END IF;
            RAISE lock_not_available USING
                MESSAGE = format('model "%s" is being trained by another session', model_name),
                HINT = 'Leave out the option nowait to wait for it.';
        END;
        IF stored.id IS NULL THEN
            RAISE undefined_object USING
                MESSAGE = format('model "%s" was dropped or renamed concurrently', model_name);
        END IF;
        -- The owner may have changed during the wait.
        IF is_member(caller, stored.owner_id) THEN
            RETURN stored;
        END IF;
    END IF;
    IF stored.id IS NOT NULL AND make THEN
        RAISE insufficient_privilege USING
            MESSAGE = format('model "%s" belongs to another role', model_name),
            HINT = 'Choose another name.';
    ELSIF is_reader(caller, stored) THEN
        RAISE insufficient_privilege USING
            MESSAGE = format('model "%s" belongs to %s', model_name, stored.owner),
            HINT = 'Only the owner of a model and members of that role may change it.';
    END IF;
    RAISE undefined_object USING MESSAGE = format('model "%s" does not exist', model_name),
        HINT = (SELECT missing_model_hint(
                           model_name,
                           COALESCE(array_agg(q.model ORDER BY q.model) FILTER (WHERE q.readable), '{}'),
                           bool_or(NOT q.readable))
                  FROM (SELECT m.model, COALESCE(is_member(caller, m.owner_id)
                                                 OR is_reader(caller, m), false) AS readable
                          FROM stored_models m) q);
END
$$;

-- Locks a model by its id, which a training read earlier. A caller who may not read the model gets
-- an error without the model's name. A given version must be at most the next version, and at least
-- 1 or, if `newest` is true, at least the newest version.
CREATE FUNCTION fastclust_owner.locked_model(id bigint, version integer, newest boolean, caller oid)
    RETURNS stored_models
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    name text := (SELECT m.model FROM stored_models m
                   WHERE m.id = $1 AND (is_member(caller, m.owner_id) OR is_reader(caller, m)));
    stored stored_models;
    last bigint;
BEGIN
    IF name IS NULL THEN
        RAISE undefined_object USING
            MESSAGE = format('there is no model with id %s', COALESCE(id::text, 'NULL'));
    END IF;
    stored := locked_model(name, true, false, caller);
    last := (SELECT COALESCE(max(v.version), 0) FROM version_groups v WHERE v.model_id = stored.id);
    IF version < (CASE WHEN newest THEN greatest(last, 1) ELSE 1 END) OR version > last + 1 THEN
        RAISE invalid_parameter_value USING
            MESSAGE = format('version is %s, out of range', version),
            DETAIL = format('The next version of model "%s" is %s.', stored.model, last + 1);
    END IF;
    RETURN stored;
END
$$;

-- ---- rows that a training writes; version numbers increase by one ----

-- Logs a step of a training.
CREATE FUNCTION fastclust_internal.write_step(model_id bigint, version integer, step text,
        objective double precision, seconds double precision, note text)
    RETURNS void
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C;
CREATE FUNCTION fastclust_owner.write_step(model_id bigint, version integer, step text,
        objective double precision, seconds double precision, note text, caller oid)
    RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    stored stored_models := locked_model(model_id, version, false, caller);
    was_taken boolean := false;
BEGIN
    LOOP
        INSERT INTO training_steps (id, model_id, version, step, objective, seconds, note)
        VALUES (new_id('training_steps', was_taken), stored.id, $2, $3, $4, $5, $6)
        ON CONFLICT DO NOTHING;
        EXIT WHEN FOUND;
        was_taken := true;
    END LOOP;
END
$$;

-- Writes the rows of a new version: one row, or one for each group. The version is not current yet.
-- The caller is recorded as the role that trained it.
CREATE FUNCTION fastclust_internal.write_groups(groups stored_versions[]) RETURNS void
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C;
CREATE FUNCTION fastclust_owner.write_groups(groups stored_versions[], caller oid) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path FROM CURRENT AS $$
DECLARE
    made integer := (groups[1]).version;
    stored stored_models := locked_model((groups[1]).model_id, made, true, caller);
BEGIN
    IF made = stored.version THEN
        RAISE invalid_parameter_value USING
            MESSAGE = format('version %s is already the current version of model "%s"', made,
                             stored.model);
    ELSIF EXISTS (SELECT FROM unnest(groups) v
                   WHERE v.model_id IS DISTINCT FROM stored.id
                      OR v.version IS DISTINCT FROM made) THEN
        RAISE invalid_parameter_value USING MESSAGE = 'groups must belong to the same version of the same model';
    END IF;
    INSERT INTO version_groups (model_id, version, group_value, method, note, relation, features,
                               vector, encoder, k, options, operator, micro_clusters, splits,
                               center, scale, map, spec, training_sketch, drift_spec, drift_counts,
                               null_moments, spreads, cluster_rows, distance_quantiles, n, imputed, objective,
                               objective_error, label_churn, paths, identities, recall, group_type,
                               started_at, relation_owner, trained_by)
    SELECT stored.id, v.version, v.group_value, v.method, v.note, v.relation, v.features, v.vector,
           v.encoder, v.k, v.options, v.operator, v.micro_clusters, v.splits, v.center, v.scale,
           v.map, v.spec, v.training_sketch, v.drift_spec, v.drift_counts, v.null_moments,
           v.spreads, v.cluster_rows, v.distance_quantiles, v.n, v.imputed, v.objective, v.objective_error,
           v.label_churn, v.paths, v.identities, v.recall, v.group_type, v.started_at,
           v.relation_owner, pg_get_userbyid(caller)
      FROM unnest(groups) v;
END
$$;

-- Returns the identity of the cluster of `before` that each cluster of `after` continues, by
-- ascending number; an element is NULL if there is none. Both are the same group of two versions of
-- a model. Clusters are matched by the rows that they share: rows[i] rows have the label a[i] in
-- `before` and b[i] in `after`. If these lists are NULL, clusters are matched by their centroids,
-- and the result is NULL if the versions have other coordinates.
CREATE FUNCTION fastclust_internal.continued_identities(before stored_versions,
        after stored_versions, a integer[], b integer[], rows double precision[])
    RETURNS bigint[]
    AS 'MODULE_PATHNAME', 'fastclust_continued_identities' LANGUAGE C STABLE;

-- Sets the identities of the clusters of a group of the newest version.
CREATE FUNCTION fastclust_internal.write_identities(model_id bigint, version integer,
        group_value text, identities bigint[])
    RETURNS void
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C;
CREATE FUNCTION fastclust_owner.write_identities(model_id bigint, version integer,
        group_value text, identities bigint[], caller oid)
    RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    stored stored_models := locked_model(model_id, version, true, caller);
BEGIN
    UPDATE version_groups v
       SET identities = $4
     WHERE v.model_id = stored.id AND v.version = $2 AND v.group_value = $3;
END
$$;

-- Returns the identities of `after`, so that names follow the clusters of `before` to a version
-- that was made on another path. A cluster takes the identity of the cluster that it continues,
-- unless a user has named the cluster of `after`, or one of the two identities is in both versions.
CREATE FUNCTION fastclust_owner.joined_identities(before stored_versions, after stored_versions)
    RETURNS bigint[]
    LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
    SELECT array_agg(CASE WHEN c.old = ANY (after.identities)
                               OR c.own = ANY (before.identities)
                               OR EXISTS (SELECT FROM stored_names n
                                           WHERE n.model_id = after.model_id
                                             AND n.group_value = after.group_value
                                             AND n.identity = c.own)
                               THEN c.own
                          ELSE COALESCE(c.old, c.own) END ORDER BY c.i)
      FROM unnest(after.identities, continued_identities(before, after, NULL, NULL, NULL))
               WITH ORDINALITY c(own, old, i)
$$;

-- Makes a version current, unless it was trained with "activate": false. Removes all versions
-- before the current one except the last `keep`. If keep is NULL, the caller is use_version: the
-- version always becomes current, and no version is removed.
CREATE FUNCTION fastclust_internal.serve_version(model_id bigint, version integer, keep integer)
    RETURNS void
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C;
CREATE FUNCTION fastclust_owner.serve_version(model_id bigint, version integer, keep integer,
        caller oid)
    RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    stored stored_models := locked_model(model_id, NULL, false, caller);
BEGIN
    IF keep IS NULL THEN
        BEGIN
            UPDATE version_groups v
               SET identities = q.joined
              FROM (SELECT a.group_value, joined_identities(b, a) AS joined, a.identities
                      FROM stored_versions b
                      JOIN stored_versions a USING (model_id, group_value)
                     WHERE a.model_id = stored.id
                       AND b.version = stored.version
                       AND a.version = $2
                       AND EXISTS (SELECT FROM stored_names n
                                    WHERE n.model_id = a.model_id
                                      AND n.group_value = a.group_value
                                      AND n.identity = ANY (b.identities)
                                      AND n.identity <> ALL (a.identities))) q
             WHERE v.model_id = stored.id
               AND v.version = $2
               AND v.group_value = q.group_value
               AND q.joined <> q.identities;
        EXCEPTION WHEN data_exception OR insufficient_resources THEN
            NULL;    -- a version that cannot be matched has the names that it had
        END;
    END IF;
    UPDATE stored_models m
       SET version = v.version, group_by = v.options ->> 'group_by'
      FROM (SELECT o.version, o.options
              FROM version_groups o
             WHERE o.model_id = stored.id AND o.version = $2
             LIMIT 1) v
     WHERE m.id = stored.id AND (keep IS NULL OR flag_option(v.options, 'activate', true));
    -- A call deletes up to 10,000 versions; later calls delete the rest.
    DELETE FROM version_groups v
     WHERE keep IS NOT NULL
       AND v.model_id = stored.id
       AND v.version < 10000 + (SELECT min(o.version) FROM version_groups o
                                 WHERE o.model_id = stored.id)
       AND v.version < (SELECT min(o.version)
                          FROM (SELECT DISTINCT w.version
                                  FROM stored_models m
                                  JOIN version_groups w
                                       ON w.model_id = m.id AND w.version <= m.version
                                 WHERE m.id = stored.id
                                 ORDER BY 1 DESC LIMIT greatest(0, keep) + 1) o);
END
$$;

-- ---- sharing, renaming, going back, removing ----

-- Returns the readers by their present names, without dropped roles and without the role `but`.
CREATE FUNCTION fastclust_internal.present_readers(stored stored_models, but name) RETURNS name[]
    LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT COALESCE(array_agg(q.name ORDER BY q.i) FILTER (WHERE q.name <> but), '{}')
      FROM (SELECT u.i, CASE WHEN u.id = 0 THEN 'public' ELSE r.rolname END AS name
              FROM unnest(stored.reader_ids) WITH ORDINALITY u(id, i)
              LEFT JOIN pg_roles r ON r.oid = u.id) q
$$;

CREATE FUNCTION fastclust.grant_model(model text, role name) RETURNS void
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C;
CREATE FUNCTION fastclust_owner.grant_model(model text, role name, caller oid) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path FROM CURRENT AS $$
DECLARE
    stored stored_models := locked_model(model, true, false, caller);
BEGIN
    IF role IS NULL
       OR (role <> 'public' AND NOT EXISTS (SELECT FROM pg_roles r WHERE r.rolname = role)) THEN
        RAISE undefined_object USING MESSAGE = format('role "%s" does not exist', role);
    END IF;
    UPDATE stored_models m SET readers = present_readers(m, role) || role WHERE m.id = stored.id;
END
$$;
COMMENT ON FUNCTION fastclust.grant_model IS 'Allows a role to use a model; "public" is everyone.';

CREATE FUNCTION fastclust.revoke_model(model text, role name) RETURNS void
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C;
CREATE FUNCTION fastclust_owner.revoke_model(model text, role name, caller oid) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path FROM CURRENT AS $$
DECLARE
    stored stored_models := locked_model(model, true, false, caller);
BEGIN
    UPDATE stored_models m SET readers = present_readers(m, role) WHERE m.id = stored.id;
END
$$;
COMMENT ON FUNCTION fastclust.revoke_model IS 'Revokes a role''s right to use a model.';

CREATE FUNCTION fastclust.rename_model(model text, new_name text) RETURNS void
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C;
CREATE FUNCTION fastclust_owner.rename_model(model text, new_name text, caller oid) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path FROM CURRENT AS $$
DECLARE
    stored stored_models := locked_model(model, true, false, caller);
BEGIN
    IF COALESCE(new_name, '') = '' THEN
        RAISE invalid_parameter_value USING MESSAGE = 'new_name must not be NULL or empty';
    END IF;
    IF NOT EXISTS (SELECT FROM stored_models m WHERE m.model = new_name) THEN
        PERFORM claim_name(new_name, true, caller);
    END IF;
    UPDATE stored_models m SET model = new_name WHERE m.id = stored.id;
    -- The live sketch keeps its old name if another session is giving the new name to a live
    -- sketch, because waiting for that session could take long.
    IF lock_name(hashtext(new_name), true, false) THEN
        UPDATE kept_sketches l
           SET name = new_name
         WHERE l.model_id = stored.id
           AND NOT EXISTS (SELECT FROM kept_sketches o WHERE o.name = new_name);
    END IF;
EXCEPTION WHEN unique_violation THEN
    RAISE duplicate_object USING MESSAGE = format('model "%s" exists already', new_name);
END
$$;
COMMENT ON FUNCTION fastclust.rename_model IS 'Renames a model.';

-- Names that users give to clusters. A name belongs to the identity of its cluster. Clusters of
-- later versions that continue this cluster have the same identity.

-- Returns a regular expression for a control character: one that terminals execute, or that changes
-- the direction or the lines of a text. Of C1 and Unicode, only UTF-8 has these codes.
CREATE FUNCTION fastclust_internal.control_character() RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE WHEN getdatabaseencoding() = 'UTF8'
                    THEN E'[\\x01-\\x1f\\x7f-\\x9f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069]'
                ELSE E'[\\x01-\\x1f\\x7f]' END
$$;

CREATE TABLE fastclust_internal.stored_names (
    model_id bigint NOT NULL REFERENCES stored_models ON DELETE CASCADE,
    group_value text NOT NULL DEFAULT '',
    identity bigint NOT NULL,
    name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 200
                              AND name !~ control_character()),
    named_by role_name NOT NULL,    -- role that named the cluster
    named_at timestamptz NOT NULL DEFAULT clock_timestamp(),    -- time of naming
    PRIMARY KEY (model_id, group_value, identity));
SELECT pg_catalog.pg_extension_config_dump('stored_names', '');
CREATE VIEW fastclust_internal.readable_names WITH (security_barrier) AS
    SELECT n.* FROM readable_models m JOIN stored_names n ON n.model_id = m.id;
GRANT SELECT ON readable_names TO PUBLIC;

-- Returns the clusters of a version, or of one of its groups, that users have named.
CREATE FUNCTION fastclust_internal.given_names(version stored_versions, OUT cluster integer,
        OUT name text)
    RETURNS SETOF record
    LANGUAGE sql STABLE PARALLEL SAFE SET search_path FROM CURRENT AS $$
    SELECT u.cluster, n.name
      FROM unnest(cluster_numbers(version.operator), version.identities) u(cluster, identity)
      JOIN readable_names n USING (identity)
     WHERE n.model_id = version.model_id AND n.group_value = version.group_value
$$;

-- Returns the row of the current version, or of one of its groups. Models with groups require
-- group_value, others reject it. Raises an error if the version or the group does not exist.
CREATE FUNCTION fastclust_internal.explained_version(stored stored_models, group_value text)
    RETURNS stored_versions
    LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path FROM CURRENT AS $$
DECLARE
    version stored_versions;
BEGIN
    IF (stored.group_by IS NULL) <> (group_value IS NULL) THEN
        RAISE wrong_object_type USING
            MESSAGE = CASE WHEN group_value IS NULL
                               THEN format('model "%s" has one model per group', stored.model)
                           ELSE format('model "%s" has no groups', stored.model) END,
            HINT = CASE WHEN group_value IS NULL THEN 'Name a group: group_value => ''...''.'
                        ELSE 'Leave out group_value.' END;
    END IF;
    SELECT v.* INTO version
      FROM readable_versions v
     WHERE v.model_id = stored.id
       AND v.version = stored.version
       AND v.group_value = COALESCE(explained_version.group_value, '');
    IF NOT FOUND AND group_value IS NOT NULL THEN
        RAISE undefined_object USING
            MESSAGE = format('model "%s" has no group "%s"', stored.model, group_value),
            HINT = (SELECT format('Its groups: %s%s.',
                                  string_agg(
                                      format('"%s"', g.group_value), ', ' ORDER BY g.group_value),
                                  CASE WHEN max(g.groups) > 5
                                           THEN format(' and %s more', max(g.groups) - 5)
                                       ELSE '' END)
                      FROM (SELECT v.group_value, count(*) OVER () AS groups
                              FROM readable_versions v
                             WHERE v.model_id = stored.id AND v.version = stored.version
                             ORDER BY 1 LIMIT 5) g);
    ELSIF NOT FOUND THEN
        RAISE undefined_object USING
            MESSAGE = format('model "%s" has no current version', stored.model),
            HINT = version_hint(stored.model);
    END IF;
    RETURN version;
END
$$;

CREATE FUNCTION fastclust_internal.name_cluster(model text, cluster integer, name text,
        group_value text)
    RETURNS void
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C;
CREATE FUNCTION fastclust_owner.name_cluster(model text, cluster integer, name text,
        group_value text, caller oid)
    RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    stored stored_models := locked_model(model, true, false, caller);
    version stored_versions := explained_version(stored, group_of($1, -1, group_value));
    bearer bigint := version.identities[array_position(cluster_numbers(version.operator), cluster)];
BEGIN
    IF cluster IS NULL THEN
        RAISE null_value_not_allowed USING MESSAGE = 'cluster must not be NULL';
    ELSIF bearer IS NULL THEN
        RAISE invalid_parameter_value USING
            MESSAGE = format('cluster is %s, out of range', cluster),
            DETAIL = format('Model "%s" has clusters %s.', stored.model,
                            listed_numbers(version.operator));
    ELSIF char_length(name) NOT BETWEEN 1 AND 200 THEN
        RAISE invalid_parameter_value USING
            MESSAGE = format('name has %s characters, out of range', char_length(name)),
            DETAIL = 'A name has from 1 to 200 characters.', HINT = 'NULL removes the name.';
    ELSIF name ~ control_character() THEN
        RAISE invalid_parameter_value USING
            MESSAGE = format(E'name contains the control character \\x%s',
                             to_hex(ascii(substring(name FROM control_character())))),
            DETAIL = 'A name must be one line of text.';
    END IF;
    DELETE FROM stored_names n
     WHERE n.model_id = stored.id
       AND n.group_value = version.group_value
       AND n.identity = bearer;
    IF name IS NOT NULL THEN
        INSERT INTO stored_names (model_id, group_value, identity, name, named_by)
        VALUES (stored.id, version.group_value, bearer, $3, pg_get_userbyid(caller));
    END IF;
END
$$;

-- Checks of drift by retrain_if_drifted and check_drift

-- Returns true if each object in the array has a name, and numbers that the views can read. Returns
-- false if a name is missing. Raises an error for any other form.
CREATE FUNCTION fastclust_internal.drift_columns_fit(columns jsonb) RETURNS boolean
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT COALESCE(bool_and(c.name IS NOT NULL), true)
      FROM jsonb_to_recordset(columns) c(name text, shift float8, spread float8, p float8)
$$;

-- One row per check by retrain_if_drifted or check_drift. The columns have the meaning of the
-- result columns of drift. group_value: the group of a model with groups that changed most.
CREATE TABLE fastclust_internal.drift_checks (
    id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    model_id bigint NOT NULL REFERENCES stored_models ON DELETE CASCADE,
    version integer NOT NULL,
    relation text NOT NULL,
    group_value text,
    n bigint NOT NULL CHECK (n >= 0),
    mmd2 double precision,
    null_sd double precision,
    p_value double precision,
    fit_residual double precision,
    effect double precision,
    verdict text NOT NULL CHECK (
        verdict IN ('none', 'slight', 'drifted', 'too few rows', 'too few units')),
    columns jsonb CHECK (drift_columns_fit(columns)),
    threshold double precision NOT NULL,
    min_effect double precision NOT NULL,
    new_version integer,
    checked_by role_name NOT NULL,
    checked_at timestamptz NOT NULL DEFAULT clock_timestamp());
CREATE INDEX ON drift_checks (model_id, checked_at);

SELECT pg_catalog.pg_extension_config_dump('training_steps', '');
SELECT pg_catalog.pg_extension_config_dump('training_steps_id_seq', '');
SELECT pg_catalog.pg_extension_config_dump('drift_checks', '');
SELECT pg_catalog.pg_extension_config_dump('drift_checks_id_seq', '');

-- Stores a check of drift and returns its id. The caller and the time of the check are recorded.
CREATE FUNCTION fastclust_internal.write_drift(d drift_checks) RETURNS bigint
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C;
CREATE FUNCTION fastclust_owner.write_drift(d drift_checks, caller oid) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path FROM CURRENT AS $$
DECLARE
    stored stored_models := locked_model(d.model_id, d.version, false, caller);
    was_taken boolean := false;
    number bigint;
BEGIN
    PERFORM locked_model(d.model_id, d.new_version, false, caller);
    LOOP
        INSERT INTO drift_checks (id, model_id, version, relation, group_value, n, mmd2, null_sd,
                                  p_value, fit_residual, effect, verdict, columns, threshold,
                                  min_effect, new_version, checked_by)
        VALUES (new_id('drift_checks', was_taken), stored.id, d.version, d.relation, d.group_value,
                d.n, d.mmd2, d.null_sd, d.p_value, d.fit_residual, d.effect, d.verdict, d.columns,
                d.threshold, d.min_effect, d.new_version, pg_get_userbyid(caller))
        ON CONFLICT DO NOTHING
        RETURNING id INTO number;
        EXIT WHEN FOUND;
        was_taken := true;
    END LOOP;
    RETURN number;
END
$$;

-- internal: rows of a table as trainings read them (pg/train/relation.c)

-- Returns the type of a column; a missing column is an error.
CREATE FUNCTION fastclust_internal.feature_type(relation regclass, feature name) RETURNS regtype
    AS 'MODULE_PATHNAME', 'fastclust_feature_type' LANGUAGE C STABLE;

-- Checks columns of a relation and returns SQL expressions for a row with the alias t. listed: its
-- features as an unscaled array, computed by the encoder if there is one. group_value: its group as
-- text. condition: the condition with all names resolved. columns: the columns that the condition
-- reads. relation_name is qualified and quoted. If the argument `vector` is NULL, the type of the
-- column decides whether it has vectors. dimensions is NULL for vectors. Without an encoder it is
-- also NULL if not all columns are numbers.
CREATE FUNCTION fastclust_internal.row_expressions(relation regclass, features name[],
        vector boolean, group_by name, encoder encoder, condition text DEFAULT NULL,
        OUT relation_name text, OUT vector boolean, OUT listed text, OUT group_value text,
        OUT dimensions integer, OUT sharded boolean, OUT condition text, OUT columns name[])
    AS 'MODULE_PATHNAME', 'fastclust_row_expressions' LANGUAGE C STABLE
    SET search_path FROM CURRENT SET quote_all_identifiers = off;

-- Returns the scaled coordinates of a row, given as columns in the encoder's order or as a record.
-- A NULL has the coordinates of the centroid of op that is nearest to the row over its other
-- columns, or NaN if op is NULL. Returns NULL if the row has no value.
CREATE FUNCTION fastclust_internal.encode_observed(encoder encoder, op fastop,
        VARIADIC columns "any")
    RETURNS double precision[]
    AS 'MODULE_PATHNAME', 'fastclust_encode_observed' LANGUAGE C STABLE PARALLEL SAFE COST 100;

-- version_query and rows_sampled read the rows of a relation that a version of a model describes,
-- and only its group if the model has groups. version_query returns two SQL fragments: x, an
-- expression that converts row t to the input of the version's operator (parameters $1 center, $2
-- scale, $3 map, $4 operator), and rows, the FROM and WHERE clauses for about `wanted` rows, or for
-- all rows. observed is like x, but with NaN for NULLs that the version leaves out of distances.
-- weight is the weight of the row, NULL without option row_weight.
-- rows_sampled returns a uniform sample of about `wanted` unscaled rows, in which NULLs are
-- the means of their columns. even: rows of a large weight are repeated, so that all weights are
-- equal. labelled: the same rows with the NULLs that the version leaves out of
-- distances replaced by the coordinates of the nearest centroid, so that they have the labels of
-- predict; NULL if there are no such NULLs.
CREATE FUNCTION fastclust_internal.version_query(version stored_versions, relation regclass,
        group_by name, wanted double precision DEFAULT 'infinity', OUT x text, OUT rows text,
        OUT observed text, OUT weight text)
    AS 'MODULE_PATHNAME', 'fastclust_version_query' LANGUAGE C STABLE SET search_path FROM CURRENT;
CREATE FUNCTION fastclust_internal.rows_sampled(version stored_versions, relation regclass,
        group_by name, wanted double precision, even boolean DEFAULT false, OUT sample fastop,
        OUT labelled fastop)
    AS 'MODULE_PATHNAME', 'fastclust_version_sample' LANGUAGE C
    SET search_path FROM CURRENT SET standard_conforming_strings = on SET array_nulls = on
    SET lc_monetary = 'C' SET quote_all_identifiers = off;
-- Converts unscaled rows to the input of a version's operator.
CREATE FUNCTION fastclust_internal.rows_of_version(version stored_versions, sample fastop)
    RETURNS fastop
    AS 'MODULE_PATHNAME', 'fastclust_rows_of_version' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
    COST 100000;

-- Returns the weight of a row, for option row_weight. Raises an error, which names the column,
-- unless the weight is finite and above 0.
CREATE FUNCTION fastclust_internal.row_weight(weight double precision, name text)
    RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_row_weight' LANGUAGE C IMMUTABLE PARALLEL SAFE;

-- Returns a condition on rows with the alias t, in which all names are resolved, and the columns
-- that it reads. Raises an error if the text is not allowed as a condition.
CREATE FUNCTION fastclust_internal.row_condition(relation regclass, condition text,
        OUT condition text, OUT columns name[])
    AS 'MODULE_PATHNAME', 'fastclust_row_condition' LANGUAGE C STABLE STRICT;

-- Returns the planner's estimate of the number of rows.
CREATE FUNCTION fastclust_internal.estimated_rows(relation regclass) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_estimated_rows' LANGUAGE C STRICT SET search_path FROM CURRENT;

-- Rights of a scan: whose code a scan may run. Trainings and checks of drift test this before they
-- read a table.

-- Raises an error if the caller may not execute any function of this name in schema fastclust.
-- Without this check, a role could do the same work through an internal function.
CREATE FUNCTION fastclust_internal.check_execute(caller oid, function name) RETURNS void
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_proc p
                    WHERE p.pronamespace = 'fastclust'::regnamespace
                      AND p.proname = function
                      AND has_function_privilege(caller, p.oid, 'EXECUTE')) THEN
        RAISE insufficient_privilege USING
            MESSAGE = format('permission denied for function %s', function);
    END IF;
END
$$;

-- internal: returns true if the role is the current user or a superuser, so that no other role can
-- change its objects.
CREATE FUNCTION fastclust_internal.is_trusted_owner(role oid) RETURNS boolean
    LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT r.rolsuper OR r.rolname = current_user FROM pg_roles r
     WHERE r.oid = CASE pg_get_userbyid(role)
                        WHEN 'pg_database_owner' THEN (SELECT d.datdba FROM pg_database d
                                                        WHERE d.datname = current_database())
                        ELSE role END
$$;

-- Describes the code of another role that might run when columns of a relation are read or when the
-- read is planned. Returns NULL if only code of the caller or of superusers can run.
--
-- code: objects on which the relation and its children depend: the query of a view, indexes, check
-- constraints, statistics, and the partition keys of the relation and of its ancestors. The owner
-- of the schema matters, too, because it could put another table under the name between two scans.
--
-- cell: types of the columns and their element and base types. A cast runs code of the type's
-- owner, who may also have put the column's name into a stored row.
--
-- A name does not identify a table: after DROP or RENAME, another role may have made a relation of
-- that name. It is only scanned if it belongs to the same role as at the training, or if the caller
-- trusts its owner.
--
-- named: true if the caller passed the relation. Another role can then have chosen only the
-- columns.
CREATE FUNCTION fastclust_internal.scan_problem(relation regclass, columns name[],
        named boolean DEFAULT false)
    RETURNS text
    LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
    WITH RECURSIVE code(class, id) AS (
                       SELECT 'pg_class'::regclass::oid, relation::oid
                       UNION
                       SELECT u.class, u.id
                         FROM code,
                              LATERAL (
                                  SELECT 'pg_class'::regclass::oid, i.inhrelid FROM pg_inherits i
                                   WHERE i.inhparent = code.id
                                  UNION ALL
                                  SELECT d.refclassid, d.refobjid
                                    FROM (SELECT r.tableoid, r.oid
                                            FROM pg_class c JOIN pg_rewrite r ON r.ev_class = c.oid
                                           WHERE c.oid = code.id AND c.relkind = 'v'
                                          UNION ALL
                                          SELECT 'pg_class'::regclass, x.indexrelid FROM pg_index x
                                           WHERE x.indrelid = code.id
                                          UNION ALL
                                          SELECT o.tableoid, o.oid FROM pg_constraint o
                                           WHERE o.conrelid = code.id AND o.contype = 'c'
                                          UNION ALL
                                          SELECT s.tableoid, s.oid FROM pg_statistic_ext s
                                           WHERE s.stxrelid = code.id
                                          UNION ALL
                                          SELECT 'pg_class'::regclass, a.relid
                                            FROM pg_partition_ancestors(code.id) a
                                            JOIN pg_partitioned_table p ON p.partrelid = a.relid)
                                             e(class, id)
                                    JOIN pg_depend d
                                         ON d.classid = e.class
                                            AND d.objid = e.id
                                            AND d.objsubid = 0
                                   WHERE e.class <> 'pg_class'::regclass
                                      OR d.refclassid <> 'pg_class'::regclass) u(class, id)
                        WHERE code.class = 'pg_class'::regclass),
         owned(class, id, owner) AS (SELECT tableoid, oid, relowner FROM pg_class
                                     UNION ALL
                                     SELECT tableoid, oid, proowner FROM pg_proc
                                     UNION ALL
                                     SELECT tableoid, oid, oprowner FROM pg_operator
                                     UNION ALL
                                     SELECT tableoid, oid, typowner FROM pg_type),
         cell(attname, id) AS (
             SELECT a.attname, a.atttypid FROM pg_attribute a
              WHERE a.attrelid = relation AND a.attname = ANY (columns)
             UNION
             SELECT cell.attname, u.id
               FROM cell JOIN pg_type t ON t.oid = cell.id,
                    unnest(ARRAY[t.typbasetype,
                                 CASE WHEN t.typcategory = 'A' THEN t.typelem ELSE 0 END]) u(id)
              WHERE u.id <> 0)
    SELECT CASE WHEN NOT named
                     AND NOT EXISTS (SELECT FROM pg_class c
                                      WHERE c.oid = relation AND is_trusted_owner(c.relowner))
                    THEN format('relation %s belongs to another role', relation)
                WHEN NOT named
                     AND EXISTS (SELECT FROM code JOIN owned USING (class, id)
                                  WHERE is_trusted_owner(owned.owner) IS NOT TRUE)
                    THEN format('relation %s uses objects of another role', relation)
                WHEN NOT named
                     AND NOT EXISTS (SELECT
                                       FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                                      WHERE c.oid = relation AND is_trusted_owner(n.nspowner))
                    THEN format('the schema of %s belongs to another role', relation)
                ELSE (SELECT format('column "%s" of %s is of a type that is not built in',
                                    cell.attname, relation)
                        FROM cell JOIN pg_type t ON t.oid = cell.id
                       WHERE t.typnamespace <> 'pg_catalog'::regnamespace
                         AND NOT (t.typtype IN ('b', 'd', 'e') AND is_trusted_owner(t.typowner))
                       LIMIT 1) END
$$;

-- Returns the problem of a relation that another role has made since it belonged to `before`; NULL
-- if it has the same owner, or if the caller trusts its owner. The relation must be locked
-- (locked_relation): otherwise the name could belong to another relation when it is read.
CREATE FUNCTION fastclust_internal.owner_problem(relation regclass, before role_name)
    RETURNS text
    LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
    SELECT format('relation %s belongs to %s now, and belonged to %s before', relation,
                  pg_get_userbyid(o.owner), COALESCE(before::text, 'no role'))
      FROM (SELECT relation_owner(relation)) o(owner)
     WHERE o.owner IS DISTINCT FROM role_id(before) AND is_trusted_owner(o.owner) IS NOT TRUE
$$;

-- Raises an error if a scan for a stored model could read a table that the model's owner may not
-- read, or run another role's code. The names in a stored row may lead to such tables or code
-- through a view, a column type or an index predicate that the planner evaluates. For a model of
-- another role, the caller scans only tables that the owner may read in full, whose columns have
-- built-in types, and that run no other role's code.
--
-- named: true if the caller passed the relation. Another role can then have chosen only the
-- columns. A superuser scans tables of other roles only if it names them, even for its own model,
-- because the other role may have replaced the table by a view.
CREATE FUNCTION fastclust_internal.check_stored_scan(stored stored_models, version stored_versions,
        relation regclass, columns name[], named boolean)
    RETURNS void
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $$
DECLARE
    -- true if the caller itself chose the relation: the model is the caller's, and was trained by
    -- the caller or a superuser
    own boolean := COALESCE(stored.owner_id = role_id(current_user)
                            AND is_trusted_owner(version.trained_by_id),
                            false);
    read_columns name[] := columns || ARRAY[(version.options ->> 'row_weight')::name,
                                              (version.options ->> 'unit')::name];
    problem text := CASE WHEN NOT own
                              OR (NOT named AND is_superuser(role_id(current_user)))
                             THEN scan_problem(relation, read_columns, named)
                         WHEN NOT named
                             THEN owner_problem(relation, version.relation_owner) END;
    class pg_class;
BEGIN
    IF NOT own AND named IS NOT TRUE THEN
        SELECT * INTO class FROM pg_class c WHERE c.oid = relation;
        problem := CASE WHEN class.relkind NOT IN ('r', 'p', 'm')
                            THEN format('relation %s is not a table', relation)
                        WHEN class.relrowsecurity
                            THEN format('table %s has row-level security', relation)
                        WHEN NOT EXISTS (
                                 SELECT FROM pg_roles r
                                  WHERE r.oid = stored.owner_id
                                    AND has_schema_privilege(r.oid, class.relnamespace, 'USAGE')
                                    AND (has_table_privilege(r.oid, class.oid, 'SELECT')
                                         OR (SELECT bool_and(has_column_privilege(
                                                                 r.oid, class.oid, f, 'SELECT'))
                                               FROM unnest(read_columns) f
                                              WHERE f IS NOT NULL)))
                            THEN format('role %s may not read %s', stored.owner, relation)
                        ELSE problem END;
    END IF;
    IF problem IS NOT NULL THEN
        RAISE insufficient_privilege USING
            MESSAGE = format('rows for model "%s" of %s cannot be read by %s', stored.model,
                             stored.owner, current_user),
            DETAIL = upper(left(problem, 1)) || substr(problem, 2) || '.',
            HINT = CASE WHEN own THEN format(
                                          'Name the table if you trust its owner: relation => %L, or retrain(model, ''{"relation": "..."}'').',
                                          relation)
                        -- SET ROLE to the owner would not protect the caller, because code of the
                        -- owner can RESET ROLE.
                        ELSE format('Log in as %I: after SET ROLE, code of that role could use your rights.',
                                    stored.owner) END;
    END IF;
END
$$;

-- Prediction: a model applied to rows by its name, read once per query

-- The planner replaces a call of predict with a list of columns by this function, which needs no
-- array per row and no casts. A column that is NULL has the same effect as in predict(model, row).
CREATE FUNCTION fastclust_internal.predict_columns(model text, VARIADIC columns "any")
    RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_predict_columns' LANGUAGE C STABLE PARALLEL SAFE COST 200;
CREATE FUNCTION fastclust_internal.predict_distance_columns(model text, VARIADIC columns "any")
    RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_predict_distance_columns' LANGUAGE C STABLE PARALLEL SAFE
    COST 200;
CREATE FUNCTION fastclust_internal.predict_support(internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_predict_support' LANGUAGE C STRICT;

-- x is a vector or a whole row. The columns of a whole row are found by their names, other columns
-- are ignored, and NULLs are treated as in training. A model with groups uses the group of the row,
-- or group_value; the result is NULL for a group without clusters. A list of columns has two or
-- more numbers.
CREATE FUNCTION fastclust.predict(model text, x "any", group_value text DEFAULT NULL,
        max_distance double precision DEFAULT NULL, version integer DEFAULT -1)
    RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_predict' LANGUAGE C STABLE PARALLEL SAFE COST 200
    SUPPORT vector_support;
COMMENT ON FUNCTION predict(text, "any", text, double precision, integer) IS
    'Returns the number of the nearest cluster of a model. NULL if predict_distance exceeds '
    'max_distance, for noise, and for a group without clusters.';
-- Declaration for a group_value of a type other than text. If the declaration with a list of
-- numbers below also matches a call, PostgreSQL prefers the list.
CREATE FUNCTION fastclust.predict(model text, x "any", group_value anycompatible,
        max_distance double precision DEFAULT NULL, version integer DEFAULT -1)
    RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_predict' LANGUAGE C STABLE PARALLEL SAFE COST 200
    SUPPORT vector_support;
COMMENT ON FUNCTION predict(text, "any", anycompatible, double precision, integer) IS
    'Returns the number of the nearest cluster of a group, which is named by a value of any '
    'type. NULL if predict_distance exceeds max_distance, for noise, and for a group without '
    'clusters.';
CREATE FUNCTION fastclust.predict(model text, a double precision, b double precision,
        VARIADIC more double precision[] DEFAULT '{}')
    RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_predict_list' LANGUAGE C STABLE PARALLEL SAFE COST 200
    SUPPORT predict_support;
COMMENT ON FUNCTION predict(text, double precision, double precision, double precision[]) IS
    'Returns the number of the nearest cluster for a row given as columns.';
CREATE FUNCTION fastclust.predict_distance(model text, x "any", group_value text DEFAULT NULL,
        version integer DEFAULT -1)
    RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_predict_distance' LANGUAGE C STABLE PARALLEL SAFE COST 200
    SUPPORT vector_support;
COMMENT ON FUNCTION predict_distance(text, "any", text, integer) IS
    'Returns the distance to the nearest centroid of a model: in standard deviations if the '
    'model is standardised, 1 - cosine for metric cosine.';
CREATE FUNCTION fastclust.predict_distance(model text, x "any", group_value anycompatible,
        version integer DEFAULT -1)
    RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_predict_distance' LANGUAGE C STABLE PARALLEL SAFE COST 200
    SUPPORT vector_support;
COMMENT ON FUNCTION predict_distance(text, "any", anycompatible, integer) IS
    'Returns the distance to the nearest centroid of a group, which is named by a value of any '
    'type.';
CREATE FUNCTION fastclust.predict_distance(model text, a double precision, b double precision,
        VARIADIC more double precision[] DEFAULT '{}')
    RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_predict_distance_list' LANGUAGE C STABLE PARALLEL SAFE COST 200
    SUPPORT predict_support;
COMMENT ON FUNCTION predict_distance(text, double precision, double precision, double precision[]) IS
    'Returns the distance to the nearest centroid for a row given as columns.';
CREATE FUNCTION fastclust.anomaly(model text, x "any", share double precision DEFAULT NULL,
        group_value anycompatible DEFAULT NULL)
    RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_anomaly' LANGUAGE C STABLE PARALLEL SAFE COST 200
    SUPPORT vector_support;
COMMENT ON FUNCTION fastclust.anomaly IS
    'Returns true if the row is farther from its centroid than all but a share of the training '
    'rows. If share is NULL, it is the contamination of the model, by default 0.01.';
CREATE FUNCTION fastclust.predict_all(model text, x "any", n integer,
        group_value anycompatible DEFAULT NULL, OUT cluster integer, OUT distance double precision)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_predict_all' LANGUAGE C STABLE PARALLEL SAFE COST 300 ROWS 5
    SUPPORT vector_support;
COMMENT ON FUNCTION fastclust.predict_all IS
    'Returns the n nearest clusters of a model with their distances, nearest first.';
CREATE FUNCTION fastclust.predict_probabilities(model text, x "any",
        group_value anycompatible DEFAULT NULL, version integer DEFAULT -1, OUT cluster integer,
        OUT probability double precision)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_predict_probabilities' LANGUAGE C STABLE PARALLEL SAFE COST 300
    ROWS 10 SUPPORT vector_support;
COMMENT ON FUNCTION fastclust.predict_probabilities IS
    'Returns the probability of each cluster for a row, computed from the clusters'' spreads and '
    'shares, most probable first.';

-- Operator and encoder of a model. predict(model, t) equals assign(model_operator(model),
-- encode_row(model_encoder(model), t)), except if two centroids are almost equally near.

CREATE FUNCTION fastclust_internal.read_model_operator(model text, group_value text) RETURNS fastop
    LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path FROM CURRENT AS $$
DECLARE
    v stored_versions := explained_version(readable_model(model), group_value);
BEGIN
    RETURN COALESCE(v.micro_clusters, v.operator);
END
$$;
CREATE FUNCTION fastclust.model_operator(model text, group_value anycompatible DEFAULT NULL)
    RETURNS fastop
    AS 'MODULE_PATHNAME', 'fastclust_read_once' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION fastclust.model_operator IS
    'Returns the operator of a model: its centroids, in the coordinates of model_encoder. With '
    'method density it contains the micro-clusters, for which assign returns their clusters.';
CREATE FUNCTION fastclust_internal.read_model_encoder(model text, group_value text) RETURNS encoder
    LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path FROM CURRENT AS $$
DECLARE
    v stored_versions := explained_version(readable_model(model), group_value);
BEGIN
    RETURN COALESCE(v.encoder,
                    encoder_of_vector(v.features[1], cardinality(means(v.training_sketch)),
                                      v.center, v.scale));
END
$$;
CREATE FUNCTION fastclust.model_encoder(model text, group_value anycompatible DEFAULT NULL)
    RETURNS encoder
    AS 'MODULE_PATHNAME', 'fastclust_read_once' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION fastclust.model_encoder IS
    'Returns the encoder of a model, which converts rows to the coordinates of model_operator.';

-- Names from version to version: a name belongs to the identity of its cluster. If a cluster of the
-- next version continues this cluster, it has the same identity, and so the same name.

-- Gives the clusters of a version that is not current yet the identities of the clusters of the
-- current one with which they share their rows. This is for versions whose centroids cannot be
-- compared, because their columns or encoders differ. `made` is the new version, `scanned` its
-- relation; `rows` has the FROM and WHERE clauses for some rows of the relation, with the alias t.
-- Clusters remain new if the current version cannot read these rows.
CREATE FUNCTION fastclust_internal.continue_by_rows(id bigint, made integer,
        scanned regclass, rows text)
    RETURNS void
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    stored stored_models := (SELECT m FROM readable_models m WHERE m.id = $1);
    one record;
BEGIN
    PERFORM check_stored_scan(stored, ROW(v.*)::stored_versions, scanned, v.features, false)
       FROM readable_versions v
      WHERE v.model_id = stored.id AND v.version = stored.version
      LIMIT 1;
    FOR one IN
        EXECUTE format(
                    $query$
        WITH labelled AS (
                 SELECT %s AS group_value,
                        predict($1, t.*, group_value => NULL::text, version => $2) AS a,
                        predict($1, t.*, group_value => NULL::text, version => $3) AS b %s),
             counted AS (
                 SELECT l.group_value, l.a, l.b, count(*)::float8 AS n FROM labelled l
                  WHERE l.a IS NOT NULL AND l.b IS NOT NULL
                  GROUP BY 1, 2, 3)
        SELECT c.group_value, array_agg(c.a) AS a, array_agg(c.b) AS b, array_agg(c.n) AS n
          FROM counted c
         GROUP BY 1$query$,
                    CASE WHEN stored.group_by IS NULL THEN $empty$''$empty$
                         ELSE format('group_of($1, $3, t.%I)', stored.group_by) END,
                    rows)
            USING stored.model, stored.version, made
    LOOP
        PERFORM write_identities(stored.id, made, one.group_value,
                                 (SELECT array_agg(COALESCE(c.old, c.own) ORDER BY c.i)
                                    FROM unnest(after.identities,
                                                continued_identities(
                                                    ROW(before.*)::stored_versions,
                                                    ROW(after.*)::stored_versions, one.a, one.b,
                                                    one.n))
                                             WITH ORDINALITY c(own, old, i)))
           FROM readable_versions before JOIN readable_versions after USING (model_id, group_value)
          WHERE model_id = stored.id
            AND group_value = one.group_value
            AND before.version = stored.version
            AND after.version = made;
    END LOOP;
EXCEPTION
    WHEN transaction_rollback THEN
        RAISE;
    WHEN OTHERS THEN
        RAISE DEBUG 'clusters of model "%" get new identities: %', stored.model, SQLERRM;
END
$$;

-- Warns about named clusters of the current version that no cluster of the version `made`
-- continues.
CREATE FUNCTION fastclust_internal.warn_lost_names(id bigint, made integer) RETURNS void
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    stored stored_models := (SELECT m FROM readable_models m WHERE m.id = $1);
    lost text := (SELECT string_agg(format('%s%s, "%s"',
                                           CASE WHEN v.group_value <> ''
                                                    THEN format('group "%s": ', v.group_value) END,
                                           u.cluster, n.name),
                                    '; ' ORDER BY v.group_value, u.cluster)
                    FROM readable_names n
                    JOIN readable_versions v USING (model_id, group_value),
                         unnest(cluster_numbers(v.operator), v.identities) u(cluster, identity)
                   WHERE n.model_id = stored.id
                     AND v.version = stored.version
                     AND u.identity = n.identity
                     AND NOT EXISTS (SELECT FROM readable_versions m
                                      WHERE m.model_id = stored.id
                                        AND m.version = made
                                        AND m.group_value = v.group_value
                                        AND n.identity = ANY (m.identities)));
BEGIN
    IF lost IS NOT NULL THEN
        RAISE WARNING USING
            MESSAGE = format('named clusters of model "%s" are gone: %s', stored.model, lost),
            DETAIL = format('No cluster of version %s continues one of them.', made),
            HINT = format('To name the new clusters, use name_cluster; use_version goes back to version %s, which has the old ones.',
                          stored.version);
    END IF;
END
$$;

-- Models on the workers of Citus: the copy that predict reads there
--
-- The coordinator has the models. In the transaction that changes a model, the columns that predict
-- needs are copied into a reference table. Citus commits that table on all nodes or on no node, and
-- copies it to nodes that are added later.

-- The OIDs of roles differ between nodes: generated columns look up the names on the node that
-- stores the row.
CREATE TABLE fastclust_internal.shared_models (
    model text NOT NULL, owner name NOT NULL,
    owner_id oid GENERATED ALWAYS AS (role_id(owner)) STORED, readers name[] NOT NULL,
    reader_ids oid[] GENERATED ALWAYS AS (role_ids(readers)) STORED, group_by name,
    group_value text NOT NULL, operator fastop NOT NULL, micro_clusters fastop,
    center double precision[], scale double precision[], distance_quantiles double precision[],
    map kernel_map, spreads double precision[], encoder encoder, paths integer[],
    vector boolean NOT NULL, features name[] NOT NULL, options jsonb NOT NULL, group_type text[],
    method text NOT NULL,
    PRIMARY KEY (model, group_value));
COMMENT ON TABLE shared_models IS
    'internal: copies of the current versions on every node of Citus; empty until '
    'distribute_models is called';

-- Returns the version that predict reads on a worker. It reads the worker's shard directly, because
-- Citus does not plan queries of distributed tables within the task of a shard.
CREATE FUNCTION fastclust_internal.shared_model(model text, group_value text, OUT group_by name,
        OUT operator fastop, OUT micro_clusters fastop, OUT center double precision[],
        OUT scale double precision[], OUT distance_quantiles double precision[],
        OUT map kernel_map, OUT spreads double precision[], OUT encoder encoder,
        OUT paths integer[], OUT vector boolean, OUT features name[], OUT options jsonb,
        OUT method text)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C STABLE PARALLEL SAFE;
CREATE FUNCTION fastclust_owner.shared_model(model text, group_value text, caller oid,
        OUT group_by name, OUT operator fastop, OUT micro_clusters fastop,
        OUT center double precision[], OUT scale double precision[],
        OUT distance_quantiles double precision[], OUT map kernel_map,
        OUT spreads double precision[], OUT encoder encoder, OUT paths integer[],
        OUT vector boolean, OUT features name[], OUT options jsonb, OUT method text)
    RETURNS SETOF record
    LANGUAGE plpgsql STABLE PARALLEL SAFE SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    copied text := (SELECT 'shared_models_' || s.shardid FROM pg_catalog.pg_dist_shard s
                     WHERE s.logicalrelid = 'shared_models'::regclass);
BEGIN
    IF to_regclass('fastclust_internal.' || copied) IS NULL THEN
        RAISE object_not_in_prerequisite_state USING
            MESSAGE = 'models have not reached this node yet',
            HINT = 'Run SELECT replicate_reference_tables() on the coordinator.';
    END IF;
    RETURN QUERY EXECUTE format(
        'SELECT one.group_by, v.operator, v.micro_clusters, v.center, v.scale,
                v.distance_quantiles, v.map, v.spreads, v.encoder, v.paths, v.vector,
                v.features, v.options, v.method
           FROM (SELECT * FROM fastclust_internal.%1$I m WHERE m.model = $2 LIMIT 1) one
           LEFT JOIN fastclust_internal.%1$I v
                  ON v.model = one.model AND v.group_value = $3
          WHERE is_member($1, one.owner_id) OR 0 = ANY (one.reader_ids)
             OR EXISTS (SELECT FROM unnest(one.reader_ids) r WHERE is_member($1, r))',
        copied) USING caller, model, group_value;
END
$$;

-- Returns the groups of that version, without rows if the caller may not read it.
CREATE FUNCTION fastclust_internal.shared_groups(model text, OUT group_value text,
        OUT group_type text[])
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C STABLE PARALLEL SAFE;
CREATE FUNCTION fastclust_owner.shared_groups(model text, caller oid, OUT group_value text,
        OUT group_type text[])
    RETURNS SETOF record
    LANGUAGE plpgsql STABLE PARALLEL SAFE SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    copied text := (SELECT 'shared_models_' || s.shardid FROM pg_catalog.pg_dist_shard s
                     WHERE s.logicalrelid = 'shared_models'::regclass);
BEGIN
    RETURN QUERY EXECUTE format(
        'SELECT v.group_value, v.group_type FROM fastclust_internal.%I v
          WHERE v.model = $2
            AND (is_member($1, v.owner_id) OR 0 = ANY (v.reader_ids)
                 OR EXISTS (SELECT FROM unnest(v.reader_ids) r WHERE is_member($1, r)))',
        copied) USING caller, model;
END
$$;

-- Copies the current version of a model to the reference table, or of all models if model_id is
-- NULL. The function is in PL/pgSQL because Citus cannot plan parameters of SQL functions. Rows are
-- inserted one by one because INSERT ... SELECT becomes a COPY, which need not run where the
-- earlier statements of the transaction ran.
CREATE FUNCTION fastclust_internal.write_shared_models(model_id bigint) RETURNS void
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    served record;
BEGIN
    FOR served IN
        SELECT m.model,
               m.owner::name AS owner,
               present_readers(m, '') AS readers, m.group_by, v.group_value, v.operator,
               v.micro_clusters, v.center, v.scale, v.distance_quantiles, v.map, v.spreads,
               v.encoder, v.paths, v.vector, v.features, v.options, v.group_type,
               v.method
          FROM stored_models m JOIN version_groups v ON v.model_id = m.id AND v.version = m.version
         WHERE m.id = write_shared_models.model_id OR write_shared_models.model_id IS NULL
    LOOP
        INSERT INTO shared_models (model, owner, readers, group_by, group_value, operator,
                                   micro_clusters, center, scale, distance_quantiles, map, spreads,
                                   encoder, paths, vector, features, options, group_type,
                                   method)
        VALUES (served.model, served.owner, served.readers, served.group_by, served.group_value,
                served.operator, served.micro_clusters, served.center, served.scale,
                served.distance_quantiles, served.map, served.spreads, served.encoder, served.paths,
                served.vector, served.features, served.options, served.group_type,
                served.method);
    END LOOP;
END
$$;

-- Citus lets only one transaction at a time change a reference table, unless all changes commute.
-- These changes commute: each changes rows of one model, whose row in stored_models its transaction
-- has locked.
CREATE FUNCTION fastclust_owner.share_changed_model() RETURNS trigger
    LANGUAGE plpgsql SET search_path FROM CURRENT SET citus.all_modifications_commutative = on AS $$
DECLARE
    node integer := sharing_node();
BEGIN
    IF node > 0 THEN
        RAISE object_not_in_prerequisite_state USING
            MESSAGE = 'models can only be trained or changed on the coordinator of Citus',
            HINT = 'Call the function there; predict reads the models on every node.';
    ELSIF node = 0 THEN
        IF OLD.version IS NOT NULL THEN
            DELETE FROM shared_models s WHERE s.model = OLD.model;
        END IF;
        IF NEW.version IS NOT NULL THEN
            PERFORM write_shared_models(NEW.id);
        END IF;
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER share AFTER INSERT
OR UPDATE
OR DELETE ON stored_models FOR EACH ROW EXECUTE FUNCTION share_changed_model();

-- Raises an error unless Citus is installed, this node is the coordinator, and the caller owns the
-- extension.
CREATE FUNCTION fastclust_internal.check_distributor() RETURNS void
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    owner oid := relation_owner('shared_models'::regclass);
BEGIN
    IF NOT EXISTS (SELECT FROM pg_extension e WHERE e.extname = 'citus') THEN
        RAISE feature_not_supported USING MESSAGE = 'Citus is not installed in this database',
            HINT = 'Models need to be distributed only with Citus; on a single server, predict reads them anyway.';
    ELSIF NOT is_member(role_id(current_user), owner) THEN
        RAISE insufficient_privilege USING
            MESSAGE = format('the distribution of models can only be changed by %s, the owner of the extension',
                             pg_get_userbyid(owner));
    ELSIF (SELECT l.groupid FROM pg_catalog.pg_dist_local_group l) <> 0 THEN
        RAISE object_not_in_prerequisite_state USING
            MESSAGE = 'the distribution of models can only be changed on the coordinator of Citus';
    END IF;
END
$$;

CREATE FUNCTION fastclust.distribute_models() RETURNS integer
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    PERFORM check_distributor();
    LOCK TABLE stored_models IN SHARE MODE;
    IF sharing_node() IS NULL THEN
        PERFORM create_reference_table('fastclust_internal.shared_models');
    END IF;
    DELETE FROM shared_models;
    PERFORM write_shared_models(NULL);
    RETURN (SELECT count(DISTINCT s.model) FROM shared_models s);
END
$$;
COMMENT ON FUNCTION fastclust.distribute_models IS
    'Copies the models to the workers of Citus, now and after every training, so that predict '
    'can read them there. Returns the number of models.';

-- Citus cannot undistribute a table that is a member of an extension, so the table is removed from
-- the extension meanwhile.
CREATE FUNCTION fastclust.undistribute_models() RETURNS void
    LANGUAGE plpgsql SET search_path FROM CURRENT SET client_min_messages = warning AS $$
BEGIN
    PERFORM check_distributor();
    LOCK TABLE stored_models IN SHARE MODE;
    IF sharing_node() IS NOT NULL THEN
        ALTER EXTENSION fastclust DROP TABLE fastclust_internal.shared_models;
        PERFORM undistribute_table('fastclust_internal.shared_models');
        ALTER EXTENSION fastclust ADD TABLE fastclust_internal.shared_models;
        DELETE FROM shared_models;
    END IF;
END
$$;
COMMENT ON FUNCTION fastclust.undistribute_models IS
    'Removes the copies of the models from the workers of Citus, where predict can no longer '
    'read them.';

-- Live sketches: sketches that triggers keep up to date with their tables
--
--     kept_sketches   live sketches: table, columns, groups and buckets of time
--     live_leaves     tables whose rows are counted, and the definitions of their columns
--     live_bases      sketch of each leaf, group and bucket at the last fold
--     live_deltas     changes by statements since then, appended by triggers and never updated
--
-- A live sketch consists of sketches of leaves, the tables that hold rows. The sketch of a tree of
-- partitions or children is the sum over the leaves that the tree has when it is read. So ATTACH,
-- DETACH, INHERIT and DROP need no bookkeeping: a leaf that leaves the tree is not in the sum, its
-- triggers go on counting, and its counts are right when it returns. The command that adds a new
-- leaf counts it, with the rights of the role that issues the command. If that fails, readers get
-- an error that names the leaf and rebuild_sketch.
--
-- AFTER ROW triggers of the leaf see its changes: through any parent, in partition moves, in MERGE,
-- and when a subscription applies them. TRUNCATE subtracts the counts of the leaf. Other DDL that
-- changes values without firing the triggers (another type, another expression, labels of an enum,
-- disabled triggers, an unlogged table) appends a row to live_deltas with the reason why the leaf
-- is lost. DDL never fails because of that, and never waits.
--
-- A leaf's columns are identified by number, type and modifier. If the column with that number has
-- another name now, reading is an error, too. Conditions are stored as text with all names
-- resolved, written and read under fixed settings (pg/base/settings.c), because node trees depend
-- on the server version and their OIDs on the database.
--
-- A dump contains only kept_sketches. The sums follow from the rows, as an index does, and a
-- restore counts the rows as it builds indexes (restore.sql).
--
-- Only the owner of the extension reads and writes these tables. A current sketch is base + added -
-- removed, in integers: exact under every snapshot that shows the table and these four tables.

-- One row per live sketch: the rows of a table that it counts, and how.
CREATE TABLE fastclust_internal.kept_sketches (
    id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    name text NOT NULL UNIQUE CHECK (name <> ''),
    relation regclass NOT NULL,
    features name[] NOT NULL,
    -- true: features names one column of vectors; false: it names columns of numbers, or columns
    -- that the encoder reads
    vector boolean NOT NULL,
    encoder encoder,
    spec sketch_spec NOT NULL,
    group_by name,
    bucket name,
    bucket_width interval,
    half_life interval,
    condition text,
    columns name[] NOT NULL,    -- all columns that are read
    model_id bigint UNIQUE REFERENCES stored_models ON DELETE SET NULL,
    drift_spec drift_spec,    -- spec of a model's counts for drift; NULL: no counts
    created_at timestamptz NOT NULL DEFAULT now(),
    folded_at timestamptz,
    checked_at timestamptz,
    differences bigint,
    -- true until rebuild_sketch counts the rows that were there before the triggers
    counting boolean NOT NULL DEFAULT false,
    -- micro-clusters of a model of method density. The live sketch then has a group for each
    -- micro-cluster, which counts the rows that are nearest to it
    micro_clusters fastop,
    center double precision[],    -- scaling of micro_clusters: center and scale
    scale double precision[],
    -- options micro_clusters and min_cluster_rows of the version that found the micro-clusters
    micro_options jsonb,
    CHECK (vector OR encoder IS NULL OR encoder_columns(encoder) = features),
    CHECK ((bucket IS NULL) = (bucket_width IS NULL)),
    CHECK (half_life IS NULL OR bucket IS NOT NULL));

-- One row per table whose rows a live sketch counts.
CREATE TABLE fastclust_internal.live_leaves (
    live_id bigint NOT NULL,
    leaf regclass NOT NULL,
    names name[] NOT NULL,    -- columns that are read
    columns smallint[] NOT NULL,    -- attribute numbers of names
    types regtype[] NOT NULL,
    typmods integer[] NOT NULL,
    counted_at timestamptz NOT NULL,
    PRIMARY KEY (live_id, leaf));

-- Sketches of each leaf, group and bucket at the last fold.
CREATE TABLE fastclust_internal.live_bases (
    live_id bigint NOT NULL,
    leaf regclass NOT NULL,
    group_value text COLLATE "C" NOT NULL DEFAULT '',
    -- start of the bucket; -infinity without buckets
    bucket timestamptz NOT NULL DEFAULT '-infinity',
    s sketch NOT NULL,    -- sketch of the rows
    -- counts of the rows for drift; NULL if the live sketch has no drift_spec
    counts drift_counts,
    PRIMARY KEY (live_id, leaf, group_value, bucket));
-- REPACK (CONCURRENTLY) of PostgreSQL 19 hides all rows of a table from older snapshots, so that a
-- reader or a fold would miss the bases. It rejects tables with this replica identity.
ALTER TABLE live_bases REPLICA IDENTITY FULL;

-- Changes by statements since the last fold.
CREATE TABLE fastclust_internal.live_deltas (
    live_id bigint NOT NULL,
    leaf regclass NOT NULL,
    at timestamptz NOT NULL DEFAULT now(),    -- start of the transaction
    group_value text COLLATE "C",
    bucket timestamptz,    -- start of the bucket; NULL without buckets
    added_rows bytea,    -- added rows, if they are few
    removed_rows bytea,    -- removed rows, if they are few
    added sketch,    -- sketch of added rows, if they are many
    removed sketch,    -- sketch of removed rows, if they are many
    added_counts drift_counts,    -- counts for drift of the rows in added
    removed_counts drift_counts,
    lost text)    -- reason why triggers missed changes of the leaf, or NULL
    USING heap;
ALTER TABLE live_deltas ALTER added_rows SET STORAGE EXTERNAL,
ALTER removed_rows SET STORAGE EXTERNAL;
-- A publication of all tables rejects the DELETE of a fold unless the table has a replica identity.
ALTER TABLE live_deltas REPLICA IDENTITY FULL;
CREATE INDEX ON live_deltas (live_id);
-- Makes the planner use the index for one live sketch even if most rows belong to another.
ALTER TABLE live_deltas ALTER live_id SET (n_distinct = -0.001);

SELECT pg_catalog.pg_extension_config_dump('kept_sketches', '');
SELECT pg_catalog.pg_extension_config_dump('kept_sketches_id_seq', '');

-- ---- rights: the owner of the table makes, repairs and drops; readers of its columns read ----

CREATE FUNCTION fastclust_internal.owns_relation(caller oid, relation oid) RETURNS boolean
    LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
    SELECT COALESCE(is_member(caller, relation_owner(relation)), false)
$$;
-- Raises an error unless the model's owner owns the table. Otherwise an option stored by the
-- model's owner could request triggers on another role's table.
CREATE FUNCTION fastclust_internal.check_model_follows(stored stored_models, relation oid)
    RETURNS void
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $$
BEGIN
    IF NOT owns_relation(stored.owner_id, relation) THEN
        RAISE insufficient_privilege USING
            MESSAGE = format('model "%s" of %s cannot follow %s', stored.model, stored.owner,
                             relation::regclass),
            DETAIL = 'A live model makes triggers on its table, so the owner of the model must own the table.',
            HINT = 'Retrain the model with the option {"live": false}.';
    END IF;
END
$$;
CREATE FUNCTION fastclust_internal.may_read_live(caller oid, live kept_sketches) RETURNS boolean
    LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
    SELECT owns_relation(caller, live.relation)
           OR COALESCE(
                  (SELECT bool_and(
                              NOT c.relrowsecurity
                              AND has_schema_privilege(caller, c.relnamespace, 'USAGE')
                              AND (SELECT bool_and(
                                              a.attnum IS NOT NULL
                                              AND has_column_privilege(
                                                      caller, c.oid, a.attnum, 'SELECT'))
                                     FROM unnest(live.columns) u(name)
                                     LEFT JOIN pg_attribute a
                                               ON a.attrelid = c.oid
                                                  AND a.attname = u.name
                                                  AND NOT a.attisdropped))
                     FROM pg_class c
                    WHERE c.oid = live.relation),
                  false)
$$;
-- If the table of a live sketch was dropped, the live sketch belongs to the first superuser. Event
-- triggers read this view, so it calls no C function, which would need the file of the module.
CREATE VIEW fastclust_internal.own_live_sketches WITH (security_barrier) AS
    SELECT l.* FROM kept_sketches l
     WHERE COALESCE((SELECT bool_and(pg_has_role(c.relowner, 'USAGE')) FROM pg_class c
                      WHERE c.oid = l.relation),
                    pg_has_role(10, 'USAGE'));
CREATE VIEW fastclust_internal.own_live_leaves WITH (security_barrier) AS
    SELECT v.live_id, v.leaf, v AS leaves
      FROM own_live_sketches l JOIN live_leaves v ON v.live_id = l.id;
GRANT SELECT ON own_live_sketches, own_live_leaves TO PUBLIC;

-- ---- the sums ----

CREATE FUNCTION fastclust_internal.live_sum(sketch, sketch_spec, rows bytea, subtotal sketch)
    RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_live_sum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500;
CREATE AGGREGATE fastclust_internal.live_sum_agg(spec sketch_spec, rows bytea, subtotal sketch) (
    SFUNC = live_sum, STYPE = sketch, SSPACE = 16384, FINALFUNC = sketch_final,
    FINALFUNC_MODIFY = READ_ONLY);
-- If the spec is NULL, the state remains NULL and nothing is counted.
CREATE FUNCTION fastclust_internal.live_count(drift_counts, drift_spec, rows bytea,
        subtotal drift_counts)
    RETURNS drift_counts
    AS 'MODULE_PATHNAME', 'fastclust_live_count' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500;
CREATE AGGREGATE fastclust_internal.live_count_agg(spec drift_spec, rows bytea, subtotal drift_counts) (
    SFUNC = live_count, STYPE = drift_counts, SSPACE = 16384, FINALFUNC = drift_counts_final,
    FINALFUNC_MODIFY = READ_ONLY);
-- Returns true if the sketch and the counts were made with these specs. Counts and drift_spec may
-- both be NULL.
CREATE FUNCTION fastclust_internal.is_live_group(s sketch, counts drift_counts, spec sketch_spec,
        drift_spec drift_spec)
    RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_is_live_group' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.live_difference(added sketch, removed sketch) RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_live_difference' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE FUNCTION fastclust_internal.bucket_of_time("time" timestamptz, width interval)
    RETURNS timestamptz
    AS 'MODULE_PATHNAME', 'fastclust_bucket_of_time' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE TYPE fastclust_internal.live_group AS (
    group_value text, bucket timestamptz, s sketch, counts drift_counts);

-- Returns true if both sketches have the same rows, regardless of their bounds. Adding and
-- subtracting the other sketch gives both the same bounds before they are compared.
CREATE FUNCTION fastclust_internal.same_rows(a sketch, b sketch) RETURNS boolean
    LANGUAGE sql IMMUTABLE SET search_path FROM CURRENT AS $$
    SELECT CASE WHEN a IS NULL OR b IS NULL THEN a IS NULL AND b IS NULL
                ELSE a + b - b = b + a - a END
$$;

-- Returns, for each group and bucket, the rows that were added to the given leaves and the rows
-- that were removed from them.
CREATE FUNCTION fastclust_internal.live_sums(live_id bigint, leaves oid[], OUT group_value text,
        OUT bucket timestamptz, OUT added sketch, OUT removed sketch,
        OUT added_counts drift_counts, OUT removed_counts drift_counts)
    RETURNS SETOF record
    LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
    SELECT p.group_value, p.bucket, live_sum_agg(l.spec, p.added_rows, p.added),
           live_sum_agg(l.spec, p.removed_rows, p.removed),
           live_count_agg(l.drift_spec, p.added_rows, p.added_counts),
           live_count_agg(l.drift_spec, p.removed_rows, p.removed_counts)
      FROM kept_sketches l,
           LATERAL (SELECT b.group_value, b.bucket, NULL::bytea AS added_rows,
                           NULL::bytea AS removed_rows, b.s AS added, NULL::sketch AS removed,
                           b.counts AS added_counts, NULL::drift_counts AS removed_counts
                      FROM live_bases b
                     WHERE b.live_id = l.id AND b.leaf = ANY (leaves)
                    UNION ALL
                    SELECT COALESCE(d.group_value, ''), COALESCE(d.bucket, '-infinity'),
                           d.added_rows, d.removed_rows, d.added, d.removed, d.added_counts,
                           d.removed_counts
                      FROM live_deltas d
                     WHERE d.live_id = l.id AND d.leaf = ANY (leaves) AND d.lost IS NULL) p
     WHERE l.id = $1
     GROUP BY p.group_value, p.bucket
$$;

-- Groups are stored as texts, but equal values of some types have several. least_groups returns
-- for each text the first of the equal ones; NULL if equal values of the column have one text. The
-- texts are in the order of bytes. named_group returns the one of them that a text names, or that
-- text itself if there is none.
CREATE FUNCTION fastclust_internal.least_groups(relation regclass, "column" name, texts text[])
    RETURNS text[]
    AS 'MODULE_PATHNAME', 'fastclust_least_groups' LANGUAGE C STABLE STRICT;
CREATE FUNCTION fastclust_internal.named_group(relation regclass, "column" name, texts text[],
        given text)
    RETURNS text
    AS 'MODULE_PATHNAME', 'fastclust_named_group' LANGUAGE C STABLE STRICT;

-- Returns a relation with its partitions and children, as a scan reads them, regardless of the
-- snapshot of the query.
CREATE FUNCTION fastclust_internal.scanned_tables(relation oid) RETURNS oid[]
    AS 'MODULE_PATHNAME', 'fastclust_scanned_tables' LANGUAGE C STRICT;

-- Returns a relation with its partitions and children under the snapshot of the query, except
-- partitions that are being detached; is_leaf is true for tables with rows of their own.
CREATE FUNCTION fastclust_internal.live_tables(relation oid, OUT id oid, OUT is_leaf boolean)
    RETURNS SETOF record
    LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    WITH RECURSIVE tree(id) AS (SELECT relation
                                UNION
                                SELECT i.inhrelid FROM pg_inherits i, tree
                                 WHERE i.inhparent = tree.id
                                   AND (to_jsonb(i) ->> 'inhdetachpending')::boolean IS NOT TRUE)
    SELECT c.oid, c.relkind <> 'p' FROM tree JOIN pg_class c ON c.oid = tree.id
$$;

-- ---- the values of a row that are counted ----

-- Returns the expressions of a live sketch for rows of its table or a leaf, which have the alias t.
-- A row whose vector, group_value or bucket is NULL is not counted.
CREATE FUNCTION fastclust_internal.live_expressions(live kept_sketches, relation regclass,
        OUT vector text, OUT group_value text, OUT bucket text, OUT filter text)
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $$
DECLARE
    source record := row_expressions(relation, live.features, live.vector, live.group_by,
                                     live.encoder, live.condition);
BEGIN
    vector := CASE WHEN live.vector OR live.encoder IS NOT NULL THEN source.listed
                   ELSE (SELECT format(
                                    'CASE WHEN %s THEN ARRAY[%s] END',
                                    string_agg(format('t.%I IS DISTINCT FROM NULL', f), ' AND '
                                               ORDER BY i),
                                    string_agg(format('t.%I::float8', f), ', ' ORDER BY i))
                           FROM unnest(live.features) WITH ORDINALITY u(f, i)) END;
    group_value := CASE WHEN live.group_by IS NOT NULL THEN source.group_value
                        WHEN live.micro_clusters IS NOT NULL
                            THEN format(
                                     'assign(%L::fastop, scaled_vector(%L::float8[], %L::float8[], %s))::text',
                                     live.micro_clusters, live.center, live.scale, vector) END;
    SELECT format('bucket_of_time(%s, %L::interval)',
                  CASE WHEN a.atttypid = 'timestamptz'::regtype THEN format('t.%I', live.bucket)
                       ELSE format('(t.%I::timestamp AT TIME ZONE ''UTC'')', live.bucket) END,
                  live.bucket_width) INTO bucket
      FROM pg_attribute a
     WHERE a.attrelid = $2 AND a.attname = live.bucket;
    -- check again, because any role may have written the stored row
    filter := source.condition;
END
$$;

-- Returns a query that counts the same rows as the triggers by a scan of the relation or, if
-- `alone` is true, of the leaf alone. Its parameters are $1 spec and $2 drift_spec.
CREATE FUNCTION fastclust_internal.live_scan(live kept_sketches, relation regclass, alone boolean)
    RETURNS text
    LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
    SELECT format($query$
               SELECT q.*
                 FROM (SELECT %1$s AS group_value, %2$s AS bucket, sketch_agg(%3$s, $1) AS s,
                              %4$s AS counts
                         FROM %5$s t WHERE %6$s GROUP BY 1, 2) q
                WHERE q.s IS NOT NULL AND q.group_value IS NOT NULL AND q.bucket IS NOT NULL
               $query$,
               COALESCE(x.group_value, '''''::text'),
               COALESCE(x.bucket, '''-infinity''::timestamptz'), x.vector,
               CASE WHEN live.drift_spec IS NULL THEN 'NULL::drift_counts'
                    ELSE format('drift_counts_agg(%s, $2)', x.vector) END,
               CASE WHEN alone THEN 'ONLY ' ELSE '' END || relation, COALESCE(x.filter, 'true'))
      FROM live_expressions(live, relation) x
$$;

-- Leaves of live sketches, the tables and partitions that hold rows: their columns and triggers,
-- and the reasons why triggers cannot maintain the counts of a leaf

CREATE FUNCTION fastclust_internal.live_change() RETURNS trigger
    AS 'MODULE_PATHNAME', 'fastclust_live_change' LANGUAGE C;
CREATE FUNCTION fastclust_internal.live_pending(live_id bigint) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_live_pending' LANGUAGE C STRICT PARALLEL RESTRICTED;

-- Describes the first change of a leaf's columns since they were recorded. Returns NULL if they
-- have not changed.
CREATE FUNCTION fastclust_internal.column_problem(v live_leaves) RETURNS text
    LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE WHEN a.attisdropped IS NOT FALSE
                    THEN format('column "%s" of %s was dropped', u.name, v.leaf)
                WHEN a.attname <> u.name
                    THEN format('column "%s" of %s was renamed to "%s"', u.name, v.leaf, a.attname)
                ELSE format('column "%s" of %s was of type %s', u.name, v.leaf,
                            format_type(u.type, u.typmod)) END
      FROM ROWS
      FROM (unnest(v.names), unnest(v.columns), unnest(v.types), unnest(v.typmods))
               u(name, number, type, typmod)
      LEFT JOIN pg_attribute a ON a.attrelid = v.leaf AND a.attnum = u.number AND u.number > 0
     WHERE a.attisdropped IS NOT FALSE
        OR a.attname <> u.name
        OR a.atttypid <> u.type
        OR a.atttypmod <> u.typmod
     LIMIT 1
$$;

-- Returns true if keep_sketch gives a trigger this name.
CREATE FUNCTION fastclust_internal.is_live_trigger(name text, live_id bigint) RETURNS boolean
    LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT name IN (format('fastclust_live_%s_rows', live_id),
                    format('fastclust_live_%s_statement', live_id),
                    format('fastclust_live_%s_truncate', live_id))
$$;

-- Describes a change of the triggers that keep_sketch made on a leaf, or returns NULL if they are
-- unchanged.
CREATE FUNCTION fastclust_internal.trigger_problem(live_id bigint, leaf regclass) RETURNS text
    LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
    SELECT CASE WHEN count(DISTINCT k.name) < 3 THEN format('triggers of %s were dropped', leaf)
                WHEN NOT bool_and(g.tgenabled = 'A' AND g.tgqual IS NULL AND g.tgattr = '')
                    THEN format('triggers of %s were disabled', leaf) END
      FROM pg_trigger g
      JOIN (VALUES ('rows', 29), ('statement', 28), ('truncate', 34)) k(name, events)
           ON g.tgname = format('fastclust_live_%s_%s', live_id, k.name) AND g.tgtype = k.events
     WHERE g.tgrelid = leaf
       AND g.tgfoid = 'live_change()'::regprocedure
       AND g.tgconstraint = 0
       AND encode(g.tgargs, 'escape') = format(E'%s\\000', live_id)
$$;

-- Drops the triggers of a live sketch on a table, and makes them again if `made` is true. Does not
-- drop triggers on a table of another role; they count nothing. Row triggers of a leaf see changes
-- through every parent. The statement trigger of the table that a statement names writes these
-- changes to live_deltas.
CREATE FUNCTION fastclust_internal.set_live_triggers(live_id bigint, relation regclass,
        made boolean)
    RETURNS void
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    IF made
       AND relation IS NOT NULL
       AND NOT EXISTS (SELECT FROM pg_class c WHERE c.oid = relation) THEN
        RAISE undefined_table USING
            MESSAGE = format('relation with OID %s does not exist', relation::oid);
    END IF;
    -- A trigger cloned to a partition is dropped with its parent trigger.
    EXECUTE COALESCE((SELECT string_agg(
                                 format('DROP TRIGGER %I ON %s', g.tgname, relation), ';')
                        FROM pg_trigger g
                       WHERE g.tgrelid = relation
                         AND g.tgfoid = 'live_change()'::regprocedure
                         AND is_live_trigger(g.tgname, live_id)
                         AND g.tgparentid = 0
                         AND owns_relation(role_id(current_user), relation)),
                     'SELECT');
    IF made AND live_id IS NOT NULL AND relation IS NOT NULL THEN
        -- ALWAYS: the triggers also fire if session_replication_role is replica, and for a
        -- subscription.
        EXECUTE (SELECT string_agg(
                            format(
                                'CREATE TRIGGER %2$I %3$s ON %1$s FOR EACH %4$s'
                                ' EXECUTE FUNCTION fastclust_internal.live_change(%5$L);',
                                relation, format('fastclust_live_%s_%s', live_id, k.name), k.event,
                                k.level, live_id),
                            '')
                        || format('ALTER TABLE %s %s', relation,
                                  string_agg(
                                      format('ENABLE ALWAYS TRIGGER %I',
                                             format('fastclust_live_%s_%s', live_id, k.name)),
                                      ', '))
                   FROM (VALUES ('statement', 'AFTER INSERT OR UPDATE OR DELETE', 'STATEMENT'),
                                ('rows', 'AFTER INSERT OR UPDATE OR DELETE', 'ROW'),
                                ('truncate', 'BEFORE TRUNCATE', 'STATEMENT')) k(name, event, level)
                  WHERE k.name = 'statement'
                     OR relation_kind(relation) = 'r');
    END IF;
EXCEPTION WHEN object_in_use THEN
    RAISE object_in_use USING
        MESSAGE = format('%s cannot get triggers while a query of this session reads it', relation),
        HINT = 'Compute values from the table, such as a sketch_spec, in an earlier statement, and close cursors on the table.';
END
$$;

-- Live sketches: functions that write as the owner of the extension

-- Locks a live sketch that the caller owns until the end of the transaction, and returns it.
CREATE FUNCTION fastclust_internal.locked_live(name text) RETURNS kept_sketches
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C;
CREATE FUNCTION fastclust_owner.locked_live(name text, caller oid) RETURNS kept_sketches
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path FROM CURRENT AS $$
DECLARE
    stored kept_sketches;
BEGIN
    PERFORM reject_read_only('live sketches cannot be made or changed');
    stored := owned_live(name, caller);
    SELECT * INTO stored FROM kept_sketches l WHERE l.id = stored.id FOR UPDATE;
    IF NOT FOUND THEN
        RAISE undefined_object USING
            MESSAGE = format('live sketch "%s" was dropped concurrently', name);
    END IF;
    RETURN stored;
END
$$;

-- Returns a live sketch that the caller may read. Other callers get the error that it does not
-- exist.
CREATE FUNCTION fastclust_owner.readable_live(name text, caller oid) RETURNS kept_sketches
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $$
DECLARE
    found_live kept_sketches;
BEGIN
    IF name IS NULL THEN
        RAISE null_value_not_allowed USING MESSAGE = 'name must not be NULL';
    END IF;
    SELECT * INTO found_live FROM kept_sketches l WHERE l.name = $1;
    IF NOT FOUND OR NOT may_read_live(caller, found_live) THEN
        RAISE undefined_object USING MESSAGE = format('live sketch "%s" does not exist', name),
            HINT = 'Make a live sketch with keep_sketch. To read one, a role must have the right to read the columns of its table.';
    END IF;
    RETURN found_live;
END
$$;

-- Returns a live sketch that the caller owns. A caller who may only read it gets an error that
-- names its table.
CREATE FUNCTION fastclust_owner.owned_live(name text, caller oid) RETURNS kept_sketches
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $$
DECLARE
    live kept_sketches := readable_live(name, caller);
BEGIN
    IF NOT owns_relation(caller, live.relation) THEN
        RAISE insufficient_privilege USING
            MESSAGE = format('live sketch "%s" belongs to the owner of %s', name, live.relation);
    END IF;
    RETURN live;
END
$$;

-- Removes the live sketch of a model. If its table now belongs to another role, the live sketch is
-- not removed, and no longer belongs to the model.
CREATE FUNCTION fastclust_internal.end_model_live(model_id bigint) RETURNS void
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C;
CREATE FUNCTION fastclust_owner.end_model_live(model_id bigint, caller oid) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path FROM CURRENT AS $$
DECLARE
    stored stored_models := locked_model(model_id, NULL, false, caller);
BEGIN
    PERFORM forget_live(l.id) FROM kept_sketches l
     WHERE l.model_id = stored.id AND owns_relation(caller, l.relation);
    UPDATE kept_sketches l SET model_id = NULL WHERE l.model_id = stored.id;
END
$$;

-- Stores a new live sketch without rows. If live_of_rows found a live sketch with the model's spec,
-- assigns that one to the model instead. Does not wait for a session that is creating a live sketch
-- of the same name.
CREATE FUNCTION fastclust_internal.claim_live(live kept_sketches) RETURNS kept_sketches
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C;
CREATE FUNCTION fastclust_owner.claim_live(live kept_sketches, caller oid) RETURNS kept_sketches
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path FROM CURRENT AS $$
DECLARE
    stored stored_models;
    made kept_sketches;
    was_taken boolean := false;
BEGIN
    PERFORM reject_read_only('live sketches cannot be made or changed'),
            check_execute(caller,
                          CASE WHEN live.model_id IS NULL THEN 'keep_sketch' ELSE 'train' END);
    IF NOT owns_relation(caller, live.relation) THEN
        RAISE insufficient_privilege USING MESSAGE = format('must be owner of %s', live.relation);
    END IF;
    IF live.columns @> array_remove(live.features || live.group_by || live.bucket,
                                    NULL) IS NOT TRUE THEN
        RAISE invalid_parameter_value USING
            MESSAGE = format('live sketch "%s" was not made by keep_sketch', live.name);
    END IF;
    IF live.model_id IS NOT NULL THEN
        stored := locked_model(live.model_id, NULL, false, caller);
        PERFORM check_model_follows(stored, live.relation);
        IF EXISTS (SELECT FROM kept_sketches l WHERE l.model_id = live.model_id) THEN
            RAISE duplicate_object USING
                MESSAGE = format('model "%s" has a live sketch already', stored.model),
                HINT = 'Retrain the model to replace its live sketch.';
        END IF;
    END IF;
    IF live.id IS NOT NULL AND live.model_id IS NOT NULL THEN
        UPDATE kept_sketches l
           SET model_id = live.model_id
         WHERE l.id = live.id AND l.relation = live.relation AND l.model_id IS NULL
        RETURNING l.* INTO made;
        RETURN made;
    END IF;
    IF NOT lock_name(hashtext(live.name), true, false)
       OR EXISTS (SELECT FROM kept_sketches l WHERE l.name = live.name) THEN
        IF live.model_id IS NULL THEN
            RAISE duplicate_object USING
                MESSAGE = format('live sketch "%s" exists already', live.name),
                HINT = 'Choose another name, or drop the live sketch with drop_sketch.';
        END IF;
        -- a training must not fail because a name is taken
        live.name := format('%s %s', live.name, gen_random_uuid());
    END IF;
    -- expressions are evaluated with the rights of the owner of the extension
    live.condition := (live_expressions(live, live.relation)).filter;
    live.created_at := now();
    live.counting := live.counting IS TRUE;
    LOOP
        live.id := new_id('kept_sketches', was_taken);
        INSERT INTO kept_sketches SELECT live.* ON CONFLICT (id) DO NOTHING;
        EXIT WHEN FOUND;
        was_taken := true;
    END LOOP;
    RETURN live;
END
$$;

-- Returns the ctids of a leaf's rows in live_deltas that are visible to the caller's query.
CREATE FUNCTION fastclust_internal.open_deltas(live_id bigint, leaf regclass) RETURNS tid[]
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C STABLE PARALLEL RESTRICTED;
CREATE FUNCTION fastclust_owner.open_deltas(live_id bigint, leaf regclass, caller oid) RETURNS tid[]
    LANGUAGE plpgsql STABLE PARALLEL RESTRICTED SECURITY DEFINER
    SET search_path FROM CURRENT AS $$
BEGIN
    RETURN ARRAY(SELECT d.ctid FROM live_deltas d JOIN kept_sketches l ON l.id = d.live_id
                  WHERE d.live_id = $1 AND d.leaf = $2 AND may_read_live(caller, l));
END
$$;

-- Result of a scan of a leaf: the deltas seen by the same query, and the sketches.
CREATE TYPE fastclust_internal.live_count AS (deltas tid[], groups live_group[]);

-- Records that a leaf is counted from now on, with the present attribute numbers and types of its
-- columns.
CREATE FUNCTION fastclust_internal.name_leaf(live kept_sketches, leaf regclass) RETURNS void
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    DELETE FROM live_bases b WHERE b.live_id = live.id AND b.leaf = $2;
    DELETE FROM live_leaves v WHERE v.live_id = live.id AND v.leaf = $2;
    INSERT INTO live_leaves (live_id, leaf, names, columns, types, typmods, counted_at)
    SELECT live.id, $2, live.columns, array_agg(COALESCE(a.attnum, 0) ORDER BY u.i),
           array_agg(COALESCE(a.atttypid, 0)::regtype ORDER BY u.i),
           array_agg(COALESCE(a.atttypmod, -1) ORDER BY u.i), now()
      FROM unnest(live.columns) WITH ORDINALITY u(name, i)
      LEFT JOIN pg_attribute a ON a.attrelid = $2 AND a.attname = u.name;
END
$$;

-- Replaces the base of a leaf, and the deltas that the count included, by a new base.
CREATE FUNCTION fastclust_internal.write_leaf(live_id bigint, leaf regclass, counted live_count)
    RETURNS void
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C;
CREATE FUNCTION fastclust_owner.write_leaf(live_id bigint, leaf regclass, counted live_count,
        caller oid)
    RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    live kept_sketches;
    longest integer := (SELECT max(octet_length(p.group_value)) FROM unnest(counted.groups) p);
BEGIN
    SELECT * INTO live FROM kept_sketches l WHERE l.id = $1;
    IF live.id IS NULL OR NOT owns_relation(caller, live.relation) THEN
        RAISE insufficient_privilege USING MESSAGE = 'must be owner of the table of the live sketch';
    ELSIF NOT EXISTS (SELECT FROM live_tables(live.relation) t WHERE t.id = leaf AND t.is_leaf) THEN
        RAISE invalid_parameter_value USING
            MESSAGE = format('table %s is not a leaf of live sketch "%s"', leaf, live.name);
    END IF;
    IF EXISTS (SELECT FROM unnest(counted.groups) p
                WHERE NOT is_live_group(p.s, p.counts, live.spec, live.drift_spec)) THEN
        RAISE data_exception USING
            MESSAGE = format('sketch and counts were not made with the specs of live sketch "%s"',
                             live.name);
    ELSIF longest > 2000 THEN
        RAISE program_limit_exceeded USING
            MESSAGE = format('a group value of live sketch "%s" has %s bytes', live.name, longest),
            DETAIL = 'The maximum is 2000 bytes.';
    END IF;
    DELETE FROM live_deltas d
     WHERE d.ctid = ANY (counted.deltas) AND d.live_id = $1 AND d.leaf = $2;
    PERFORM name_leaf(live, leaf);
    INSERT INTO live_bases (live_id, leaf, group_value, bucket, s, counts)
    SELECT live.id, $2, p.group_value, p.bucket, p.s, p.counts
      FROM unnest(counted.groups) p;
END
$$;

-- Stops counting tables that have left the tree. Called before all rows are recounted. The next
-- fold_live removes the counts of these tables.
CREATE FUNCTION fastclust_internal.forget_leaves(name text) RETURNS void
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C;
CREATE FUNCTION fastclust_owner.forget_leaves(name text, caller oid) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path FROM CURRENT AS $$
DECLARE
    live kept_sketches := locked_live(name, caller);
BEGIN
    DELETE FROM live_leaves v
     WHERE v.live_id = live.id
       AND v.leaf NOT IN (SELECT t.id FROM live_tables(live.relation) t WHERE t.is_leaf);
    UPDATE kept_sketches l
       SET folded_at = NULL, checked_at = NULL, differences = NULL, counting = false
     WHERE l.id = live.id;
END
$$;

-- Runs a statement under the latest snapshot, with the id as $1. Returns the first column of its
-- first row; NULL if there is no row. Statements of PL/pgSQL do not see what others have committed
-- since a transaction of REPEATABLE READ or SERIALIZABLE began.
CREATE FUNCTION fastclust_owner.run_latest(statement text, live_id bigint DEFAULT 0) RETURNS text
    AS 'MODULE_PATHNAME', 'fastclust_run_latest' LANGUAGE C;

-- internal: removes a live sketch and the triggers on its tables, for any caller. Does not drop
-- triggers with these names on other tables, because the owner of such a table could hold a lock on
-- it.
CREATE FUNCTION fastclust_owner.forget_live(live_id bigint) RETURNS void
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    drops text;
BEGIN
    -- Dropping a trigger waits for the writers of its table. Another session may have added a leaf
    -- meanwhile, which is in the next list.
    LOOP
        drops := run_latest($query$
            SELECT string_agg(format('DROP TRIGGER %I ON %s', g.tgname, g.tgrelid::regclass), ';'
                              ORDER BY g.tgrelid)
              FROM (SELECT v.leaf::oid FROM live_leaves v WHERE v.live_id = $1
                    UNION
                    SELECT t.id FROM kept_sketches l, live_tables(l.relation) t
                     WHERE l.id = $1) t(id)
              JOIN pg_trigger g ON g.tgrelid = t.id
             WHERE g.tgfoid = 'live_change()'::regprocedure
               AND is_live_trigger(g.tgname, $1)
               AND g.tgparentid = 0    -- a trigger cloned to a partition is dropped with its parent
            $query$, live_id);
        EXIT WHEN drops IS NULL;
        EXECUTE drops;
    END LOOP;
    PERFORM run_latest('DELETE FROM live_deltas d WHERE d.live_id = $1', live_id),
            run_latest('DELETE FROM live_bases b WHERE b.live_id = $1', live_id),
            run_latest('DELETE FROM live_leaves v WHERE v.live_id = $1', live_id),
            run_latest('DELETE FROM kept_sketches l WHERE l.id = $1', live_id);
END
$$;

-- Live sketches: merging deltas into bases

-- Merges deltas into the bases and returns the number of merged deltas. Only the session that locks
-- the live sketch merges; in others the function returns 0. Writers do not wait, and uncommitted
-- deltas remain.
CREATE FUNCTION fastclust_internal.fold_live(live_id bigint) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET plan_cache_mode = force_generic_plan SET enable_seqscan = off
    AS $$
DECLARE
    live kept_sketches;
    folded bigint;
BEGIN
    SELECT * INTO live
      FROM kept_sketches l
     WHERE l.id = live_id AND NOT l.counting
       FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN 0;
    END IF;
    -- Remove the sketches and counts of dropped leaves. An older snapshot would not show a new leaf.
    PERFORM run_latest('DELETE FROM live_bases b
                         WHERE b.live_id = $1
                           AND NOT EXISTS (SELECT FROM live_leaves v
                                            WHERE v.live_id = b.live_id AND v.leaf = b.leaf)',
                       live.id),
            run_latest('DELETE FROM live_deltas d
                         WHERE d.live_id = $1
                           AND NOT EXISTS (SELECT FROM live_leaves v
                                            WHERE v.live_id = d.live_id AND v.leaf = d.leaf)',
                       live.id);
    WITH gone AS (
             DELETE FROM live_deltas d WHERE d.live_id = live.id AND d.lost IS NULL RETURNING d.*),
         changed AS (
             SELECT g.leaf, COALESCE(g.group_value, '') AS group_value,
                    COALESCE(g.bucket, '-infinity') AS bucket,
                    live_sum_agg(live.spec, g.added_rows, g.added) AS added,
                    live_sum_agg(live.spec, g.removed_rows, g.removed) AS removed,
                    live_count_agg(live.drift_spec, g.added_rows, g.added_counts) AS added_counts,
                    live_count_agg(live.drift_spec, g.removed_rows,
                                   g.removed_counts) AS removed_counts
               FROM gone g
              GROUP BY 1, 2, 3),
         now AS (
             SELECT c.leaf, c.group_value, c.bucket,
                    live_difference(CASE WHEN b.s IS NULL THEN c.added
                                         WHEN c.added IS NULL THEN b.s
                                         ELSE b.s + c.added END,
                                    c.removed) AS s,
                    changed_drift_counts(b.counts, c.added_counts, c.removed_counts) AS counts
               FROM changed c
               LEFT JOIN live_bases b
                         ON b.live_id = live.id
                            AND b.leaf = c.leaf
                            AND b.group_value = c.group_value
                            AND b.bucket = c.bucket),
         emptied AS (
             DELETE FROM live_bases b
              USING now n
              WHERE n.s IS NULL
                AND b.live_id = live.id
                AND b.leaf = n.leaf
                AND b.group_value = n.group_value
                AND b.bucket = n.bucket),
         written AS (
             INSERT INTO live_bases AS b (live_id, leaf, group_value, bucket, s, counts)
             SELECT live.id, n.leaf, n.group_value, n.bucket, n.s, n.counts
               FROM now n
              WHERE n.s IS NOT NULL
             ON CONFLICT ON CONSTRAINT live_bases_pkey DO UPDATE
                SET s = EXCLUDED.s, counts = EXCLUDED.counts)
    SELECT count(*) INTO folded FROM gone;
    IF folded > 0 THEN
        UPDATE kept_sketches l SET folded_at = clock_timestamp() WHERE l.id = live.id;
    END IF;
    RETURN folded;
END
$$;

CREATE FUNCTION fastclust.fold_sketches(name text DEFAULT NULL) RETURNS bigint
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C;
CREATE FUNCTION fastclust_owner.fold_sketches(name text, caller oid) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path FROM CURRENT SET lock_timeout = '1s' AS $$
DECLARE
    live kept_sketches;
    folded bigint := 0;
BEGIN
    PERFORM reject_read_only('live sketches cannot be made or changed');
    IF name IS NOT NULL THEN
        live := owned_live(name, caller);
        RETURN fold_live(live.id);
    END IF;
    -- ALTER TYPE locks no table, so it may record a loss while the live sketch is being dropped.
    PERFORM run_latest('DELETE FROM live_deltas d
                         USING (SELECT o.ctid FROM live_deltas o
                                 WHERE NOT EXISTS (SELECT FROM kept_sketches l
                                                    WHERE l.id = o.live_id)
                                   FOR UPDATE SKIP LOCKED) q
                         WHERE d.ctid = q.ctid');
    FOR live IN
        SELECT * FROM kept_sketches l WHERE owns_relation(caller, l.relation) ORDER BY l.id
    LOOP
        -- an error in one live sketch must not prevent the merging of the others
        BEGIN
            folded := folded + fold_live(live.id);
        EXCEPTION
            WHEN lock_not_available THEN
                NULL;    -- an open transaction is writing a count
            WHEN OTHERS THEN
                RAISE WARNING USING
                    MESSAGE = format('live sketch "%s" cannot be folded: %s', live.name, SQLERRM),
                    HINT = 'Recount the live sketch with rebuild_sketch.';
        END;
    END LOOP;
    RETURN folded;
END
$$;
COMMENT ON FUNCTION fastclust.fold_sketches IS
    'Merges the pending changes into the stored sketches of one live sketch, or of all that the '
    'caller owns. Returns the number of changes.';

-- Live sketches: keep_sketch

-- Returns the value of an option that is a time span of fixed length, independent of the calendar.
-- Returns NULL if the option is not given.
CREATE FUNCTION fastclust_internal.span_option(options jsonb, option text) RETURNS interval
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $$
DECLARE
    result interval;
BEGIN
    BEGIN
        result := (options ->> option)::interval;
    EXCEPTION WHEN OTHERS THEN
        RAISE invalid_parameter_value USING
            MESSAGE = format('option "%s" is "%s", not an interval', option, options ->> option);
    END;
    IF extract(year FROM result) <> 0
       OR extract(month FROM result) <> 0
       OR result <= '0'
       OR result > '100000000 days' THEN
        RAISE invalid_parameter_value USING
            MESSAGE = format('option "%s" is "%s", out of range', option, options ->> option),
            DETAIL = 'It must be a number of days, hours, minutes or seconds, above 0 and up to 100000000 days.';
    END IF;
    RETURN result;
END
$$;

-- Raises an error if rows of a live sketch cannot be split by the types of these columns.
CREATE FUNCTION fastclust_internal.check_live_types(relation regclass, group_by name, bucket name)
    RETURNS void
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $$
DECLARE
    group_is regtype := feature_type(relation, group_by);
    bucket_is regtype := feature_type(relation, bucket);
BEGIN
    -- The text of values of these types does not depend on settings, or on objects that could be
    -- renamed.
    IF group_is <> ALL ('{text,varchar,bpchar,name,smallint,integer,bigint,numeric,boolean,uuid}'
                        ::regtype[]) THEN
        RAISE feature_not_supported USING
            MESSAGE = format('a live sketch cannot be grouped by column "%s" of type %s', group_by,
                             group_is),
            HINT = 'Group by text, whole numbers, booleans or uuid; for times, use the option bucket.';
    ELSIF bucket_is <> ALL ('{date,timestamp,timestamptz}'::regtype[]) THEN
        RAISE datatype_mismatch USING
            MESSAGE = format('column "%s" of %s is of type %s, not a time', bucket, relation,
                             bucket_is),
            HINT = 'The column must be a date, a timestamp or a timestamptz.';
    END IF;
END
$$;

-- Checks the columns that split the rows of a live sketch. Returns the width of its buckets: option
-- bucket_width, or else a day or an eighth of half_life, whichever is less. Returns NULL if there
-- are no buckets.
CREATE FUNCTION fastclust_internal.live_bucket_width(relation regclass, group_by name,
        options jsonb)
    RETURNS interval
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $$
DECLARE
    bucket name := options ->> 'bucket';
    half_life interval := span_option(options, 'half_life');
    width interval := span_option(options, 'bucket_width');
    idle text := CASE WHEN bucket IS NOT NULL THEN NULL
                      WHEN half_life IS NOT NULL THEN 'half_life'
                      WHEN width IS NOT NULL THEN 'bucket_width' END;
BEGIN
    PERFORM check_live_types(relation, group_by, bucket);
    IF idle IS NOT NULL THEN
        RAISE invalid_parameter_value USING
            MESSAGE = format('option "%s" needs option "bucket", a column of times', idle);
    END IF;
    RETURN CASE WHEN bucket IS NOT NULL THEN COALESCE(
                                                 width,
                                                 greatest(least('1 day', half_life / 8),
                                                          '1 microsecond')) END;
END
$$;

-- Checks the arguments of keep_sketch and returns the live sketch that they describe.
CREATE FUNCTION fastclust_internal.requested_live(name text, relation regclass, features name[],
        vector boolean, spec sketch_spec, options jsonb)
    RETURNS kept_sketches
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $$
DECLARE
    live kept_sketches;
    source record;
BEGIN
    PERFORM check_training_options(options, 'keep_sketch');
    IF COALESCE(name, '') = '' THEN
        RAISE invalid_parameter_value USING MESSAGE = 'name must not be NULL or empty';
    ELSIF relation IS NULL OR spec IS NULL THEN
        RAISE null_value_not_allowed USING
            MESSAGE = format('%s must not be NULL',
                             CASE WHEN relation IS NULL THEN 'relation' ELSE 'spec' END);
    ELSIF relation_kind(relation) NOT IN ('r', 'p') THEN
        RAISE wrong_object_type USING MESSAGE = format('%s is not a table', relation),
            HINT = 'A live sketch can only follow a table, plain or partitioned.';
    END IF;
    live.encoder := options ->> 'encoder';
    source := row_expressions(relation, features, vector, options ->> 'group_by', live.encoder,
                              options ->> 'where');
    IF cardinality(features) > (SELECT count(DISTINCT f) FROM unnest(features) f) THEN
        RAISE duplicate_column USING
            MESSAGE = format('column "%s" is named twice',
                             (SELECT f
                                FROM unnest(features) f
                               GROUP BY f
                              HAVING count(*) > 1
                               ORDER BY f LIMIT 1));
    ELSIF source.vector AND live.encoder IS NOT NULL THEN
        RAISE invalid_parameter_value USING
            MESSAGE = format(
                          'option "encoder" is for a list of columns, not for the vectors of column "%s"',
                          features[1]);
    ELSIF NOT source.vector AND source.dimensions IS NULL THEN
        RAISE datatype_mismatch USING
            MESSAGE = format('not all features of %s are numbers', relation),
            HINT = 'Pass the text form of an encoder as option "encoder", or train a model with the option live.';
    END IF;
    live.name := name;
    live.relation := relation;
    live.features := features;
    live.vector := source.vector;
    -- checked here, because otherwise every later write to the table would raise the error
    live.spec := without_sample_rows(spec, COALESCE(source.dimensions, 0));
    live.group_by := options ->> 'group_by';
    live.bucket := options ->> 'bucket';
    live.counting := flag_option(options, 'concurrently');
    live.bucket_width := live_bucket_width(relation, live.group_by, options);
    live.half_life := span_option(options, 'half_life');
    live.condition := source.condition;
    live.columns := ARRAY(SELECT DISTINCT u.column_name COLLATE "C"
                            FROM unnest(
                                     features || live.group_by || live.bucket || source.columns)
                                     u(column_name)
                           WHERE u.column_name IS NOT NULL
                           ORDER BY 1);
    RETURN live;
END
$$;

-- Raises an error unless the transaction sees rows that other transactions commit while it runs.
CREATE FUNCTION fastclust_internal.check_live_isolation(name text) RETURNS void
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
        RAISE active_sql_transaction USING
            MESSAGE = format(
                          'live sketch "%s" cannot be counted in a transaction of isolation level %s',
                          name, current_setting('transaction_isolation')),
            HINT = 'Use READ COMMITTED, which sees rows that others have committed.';
    END IF;
END
$$;

-- Raises an error unless every change of the table and its leaves fires triggers, and the rows
-- outlive the session and a crash.
CREATE FUNCTION fastclust_internal.check_live_tables(live kept_sketches) RETURNS void
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $$
DECLARE
    member record;
    keeper text;    -- extension that stores rows of the table elsewhere, or NULL
    reason text;
BEGIN
    FOR member IN
        SELECT c.oid::regclass AS id, c.*
          FROM live_tables(live.relation) t JOIN pg_class c ON c.oid = t.id
    LOOP
        -- Citus: distributed tables, reference tables, and local tables that it manages
        keeper := NULL;
        IF to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL THEN
            EXECUTE 'SELECT ''citus'' FROM pg_catalog.pg_dist_partition p WHERE p.logicalrelid = $1'
                INTO keeper USING member.id;
        END IF;
        -- TimescaleDB: hypertables and their chunks. Its catalog is read only if the extension made
        -- it.
        IF keeper IS NULL
           AND (SELECT count(*) = 2
                  FROM pg_depend d
                  JOIN pg_extension e ON e.oid = d.refobjid AND e.extname = 'timescaledb'
                 WHERE d.deptype = 'e'
                   AND d.refclassid = 'pg_extension'::regclass
                   AND d.classid = 'pg_class'::regclass
                   AND d.objid IN (to_regclass('_timescaledb_catalog.hypertable'),
                                   to_regclass('_timescaledb_catalog.chunk'))) THEN
            EXECUTE $query$
                SELECT 'timescaledb'
                  FROM pg_class c
                  JOIN pg_namespace n ON n.oid = c.relnamespace
                  JOIN (SELECT schema_name, table_name FROM _timescaledb_catalog.hypertable
                        UNION ALL
                        SELECT schema_name, table_name FROM _timescaledb_catalog.chunk) t
                       ON t.schema_name = n.nspname AND t.table_name = c.relname
                 WHERE c.oid = $1 $query$ INTO keeper USING member.id;
        END IF;
        reason :=
            CASE WHEN member.relkind NOT IN ('r', 'p') THEN 'It is not a table of this server.'
                 WHEN member.relnamespace = 'pg_catalog'::regnamespace
                     THEN 'It is a catalog of the server.'
                 WHEN EXISTS (SELECT
                                FROM pg_depend d
                                JOIN pg_extension e
                                     ON e.oid = d.refobjid AND e.extname = 'fastclust'
                               WHERE d.deptype = 'e'
                                 AND d.refclassid = 'pg_extension'::regclass
                                 AND d.classid = 'pg_class'::regclass
                                 AND d.objid = member.id) THEN 'It is a table of fastclust itself.'
                 WHEN keeper = 'citus'
                     THEN 'Its rows are in shards of Citus, where its triggers do not fire.'
                 WHEN keeper = 'timescaledb'
                     THEN 'It is a hypertable of TimescaleDB, or a chunk of one.'
                 WHEN member.relpersistence = 't' THEN 'It is a temporary table.'
                 WHEN member.relpersistence = 'u' THEN 'It is unlogged: a crash empties it.'
                 WHEN row_security_active(member.id)
                     THEN 'Row-level security hides rows of it from its owner.'
                 WHEN EXISTS (SELECT FROM pg_attribute a
                               WHERE a.attrelid = member.id
                                 AND a.attname = ANY (live.columns)
                                 AND a.attgenerated = 'v')
                     THEN 'A virtual column has no value when a row is written.' END;
        IF reason IS NOT NULL THEN
            RAISE feature_not_supported USING
                MESSAGE = format('%s cannot be followed by a live sketch', member.id),
                DETAIL = reason,
                HINT = CASE WHEN keeper = 'timescaledb'
                                THEN 'Keep a sketch_agg for each bucket in a continuous aggregate, and merge the sketches by merge_agg.'
                            WHEN member.relkind NOT IN ('r', 'p') OR keeper = 'citus'
                                THEN 'Keep a table with a sketch_agg for each hour or day, update what changed, and merge the sketches by merge_agg.'
                            ELSE 'A live sketch follows a logged table that shows its owner all rows.' END;
        END IF;
    END LOOP;
END
$$;

-- Raises an error if counting would run code that the caller did not choose, because another role
-- owns the table: see check_stored_scan.
CREATE FUNCTION fastclust_internal.check_live_scan(live kept_sketches, relation regclass)
    RETURNS void
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $$
DECLARE
    owner name := pg_get_userbyid(relation_owner(relation));
    problem text := CASE WHEN owner <> current_user
                              OR is_superuser(role_id(current_user))
                             THEN scan_problem(relation, live.columns) END;
BEGIN
    IF problem IS NOT NULL THEN
        RAISE insufficient_privilege USING
            MESSAGE = format('live sketch "%s" cannot be counted by %s', live.name, current_user),
            DETAIL = upper(left(problem, 1)) || substr(problem, 2) || '.',
            HINT = format('Log in as %I: after SET ROLE, code of that role could use your rights.', owner);
    ELSIF row_security_active(relation) THEN
        RAISE feature_not_supported USING
            MESSAGE = format('live sketch "%s" cannot be counted by %s', live.name, current_user),
            DETAIL = format('Row-level security hides rows of %s.', relation),
            HINT = 'Triggers count all rows. ALTER TABLE with NO FORCE ROW LEVEL SECURITY shows all rows to the owner.';
    END IF;
END
$$;

-- Counts the rows of a leaf and returns their number. Writers need not wait, because a single query
-- counts the rows and lists the deltas that its snapshot shows. write_leaf then deletes these
-- deltas.
CREATE FUNCTION fastclust_internal.count_leaf(live kept_sketches, leaf regclass) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET datestyle = iso SET intervalstyle = postgres
    SET extra_float_digits = 1 SET timezone = 'UTC' SET row_security = off
    SET standard_conforming_strings = on SET array_nulls = on SET lc_monetary = 'C'
    SET quote_all_identifiers = off SET bytea_output = hex AS $$
DECLARE
    counted live_count;
BEGIN
    EXECUTE format('SELECT open_deltas($3, $4), array_agg(ROW(q.*)::live_group) FROM (%s) q',
                   live_scan(live, leaf, true))
        INTO counted USING live.spec, live.drift_spec, live.id, leaf;
    PERFORM write_leaf(live.id, leaf, counted);
    RETURN (SELECT COALESCE(sum(row_count(p.s)), 0) FROM unnest(counted.groups) p);
END
$$;

-- Counts all rows and returns their number. Before that, makes new triggers if with_triggers is
-- true.
CREATE FUNCTION fastclust_internal.count_live(live kept_sketches, with_triggers boolean)
    RETURNS bigint
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    IF with_triggers THEN
        -- Record leaves as empty first, because a leaf that has triggers but no record would be
        -- taken for a restored one.
        PERFORM write_leaf(live.id, t.id, NULL) FROM live_tables(live.relation) t WHERE t.is_leaf;
        PERFORM set_live_triggers(live.id, t.id, true) FROM live_tables(live.relation) t;
    END IF;
    RETURN (SELECT COALESCE(sum(count_leaf(live, t.id)), 0) FROM live_tables(live.relation) t
             WHERE t.is_leaf);
END
$$;

-- Locks out writers until the end of the transaction.
CREATE FUNCTION fastclust_internal.lock_out_writers(relation regclass) RETURNS void
    LANGUAGE plpgsql STRICT SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_class c WHERE c.oid = relation) THEN
        RAISE undefined_table USING
            MESSAGE = format('relation with OID %s does not exist', relation::oid);
    END IF;
    EXECUTE format('LOCK TABLE %s IN SHARE ROW EXCLUSIVE MODE', relation);
END
$$;

-- Does the same. If another transaction holds the table, retries every 0.1 s with a short
-- lock_timeout, so that writers do not queue behind this request.
CREATE FUNCTION fastclust_internal.lock_briefly(relation regclass) RETURNS void
    LANGUAGE plpgsql STRICT SET search_path FROM CURRENT SET lock_timeout = '50ms' AS $$
BEGIN
    LOOP
        BEGIN
            PERFORM lock_out_writers(relation);
            RETURN;
        EXCEPTION WHEN lock_not_available THEN
            PERFORM pg_sleep(0.1);
        END;
    END LOOP;
END
$$;

CREATE FUNCTION fastclust_internal.keep_live(requested kept_sketches) RETURNS bigint
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    live kept_sketches;
    about float8;
BEGIN
    PERFORM reject_read_only('live sketches cannot be made or changed'),
            check_live_isolation(requested.name);
    IF NOT owns_relation(role_id(current_user), requested.relation) THEN
        RAISE insufficient_privilege USING MESSAGE = format('must be owner of %s', requested.relation);
    END IF;
    IF requested.id IS NOT NULL THEN
        PERFORM claim_live(requested);
        RETURN NULL;
    ELSIF requested.counting THEN
        -- The slow steps, including the loading of functions, come before the lock.
        PERFORM check_live_tables(requested);
        live := claim_live(requested);
        PERFORM set_live_triggers(live.id, t.id, false),
                CASE WHEN t.is_leaf THEN write_leaf(live.id, t.id, NULL) END
          FROM live_tables(live.relation) t;
        PERFORM lock_briefly(requested.relation);
        PERFORM set_live_triggers(live.id, t.id, true) FROM live_tables(live.relation) t;
        RETURN NULL;
    END IF;
    about := estimated_rows(requested.relation);
    IF about >= 1e6 THEN
        RAISE NOTICE USING
            MESSAGE = format('writers of %s wait until about %s million rows are counted',
                             requested.relation, round(about / 1e6)),
            HINT = 'To count while others write, call keep_sketch with the option {"concurrently": true}, then rebuild_sketch.';
    END IF;
    PERFORM lock_out_writers(requested.relation);
    PERFORM check_live_tables(requested);
    RETURN count_live(claim_live(requested), true);
END
$$;

CREATE FUNCTION fastclust.keep_sketch(name text, relation regclass, features text,
        spec sketch_spec, options jsonb DEFAULT '{}')
    RETURNS bigint
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    RETURN keep_live(requested_live(name, relation,
                                CASE WHEN features LIKE '{%' THEN features::name[]
                                     ELSE ARRAY[features::name] END,
                                CASE WHEN features LIKE '{%' THEN false END, spec, options));
END
$$;
COMMENT ON FUNCTION keep_sketch(text, regclass, text, sketch_spec, jsonb) IS
    'Makes a sketch of a column of vectors or numbers, or of a list of columns, that follows '
    'every change of its table. Returns the number of rows, or NULL if rebuild_sketch is to '
    'count them.';

CREATE FUNCTION fastclust.keep_sketch(name text, relation regclass, features name[],
        spec sketch_spec, options jsonb DEFAULT '{}')
    RETURNS bigint
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    RETURN keep_live(requested_live(name, relation, features, false, spec, options));
END
$$;
COMMENT ON FUNCTION keep_sketch(text, regclass, name[], sketch_spec, jsonb) IS
    'Makes a sketch of columns that follows every change of their table. Returns the number of '
    'rows, or NULL if rebuild_sketch is to count them.';

-- Live sketches: counting after a restore
--
-- A dump has the definition of a live sketch and its triggers, but no sums. A restore creates the
-- rows, the triggers of a leaf and the row of kept_sketches in an unknown order; pg_restore with
-- several jobs may use any order. The triggers or the row, whichever comes last, start the count.
-- The count locks out writers. It includes rows loaded before; the triggers count rows loaded
-- later.
--
-- Two sessions may restore them at the same time, and neither sees uncommitted rows of the other.
-- Both hold a lock on the tree until they commit, so that the later one sees all. It uses the
-- latest snapshot, regardless of its isolation level.

CREATE FUNCTION fastclust_internal.ddl_changes(command pg_ddl_command, OUT adds boolean,
        OUT column_name text, OUT trigger_name text, OUT loss text, OUT enables boolean)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_ddl_changes' LANGUAGE C STRICT;

-- Counts all rows of a leaf as if they were inserted now. Evaluates expressions with the rights of
-- the table's owner, who chose them, instead of the rights of the role that restores. The owner
-- needs no USAGE on the schema, because a restore grants it last.
CREATE FUNCTION fastclust_owner.count_rows(live_id bigint, leaf regclass, role oid) RETURNS void
    AS 'MODULE_PATHNAME', 'fastclust_count_rows' LANGUAGE C STRICT;

-- Locks a tree of tables until the end of the transaction: exclusively for the table of a restored
-- live sketch, shared for each table above a restored leaf. Only owners of a table in the tree make
-- triggers in it, so that the lock never waits for other roles.
CREATE FUNCTION fastclust_owner.lock_tree(relation oid, alone boolean) RETURNS void
    AS 'MODULE_PATHNAME', 'fastclust_lock_tree' LANGUAGE C STRICT;

-- Returns the leaves that have all triggers but are not counted.
CREATE FUNCTION fastclust_internal.uncounted_leaves(live kept_sketches) RETURNS SETOF regclass
    LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
    SELECT t.id::regclass
      FROM live_tables(live.relation) t
     WHERE t.is_leaf
       AND NOT EXISTS (SELECT FROM live_leaves v WHERE v.live_id = live.id AND v.leaf = t.id)
       AND trigger_problem(live.id, t.id) IS NULL
     ORDER BY t.id
$$;

-- Returns the uncounted leaves of a live sketch, found by its id under the latest snapshot; no rows
-- if it does not exist.
CREATE FUNCTION fastclust_internal.restored_leaves(live_id bigint, OUT live kept_sketches,
        OUT leaf regclass)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_restored_leaves' LANGUAGE C STRICT;

-- Counts a restored leaf, which the caller has locked against writers.
CREATE FUNCTION fastclust_owner.restore_leaf(live kept_sketches, leaf regclass) RETURNS void
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    DELETE FROM live_deltas d WHERE d.live_id = live.id AND d.leaf = $2;
    PERFORM name_leaf(live, leaf);
    PERFORM count_rows(live.id, leaf, relation_owner(live.relation));
EXCEPTION
    WHEN OTHERS OR assert_failure THEN
        RAISE WARNING USING MESSAGE = format('live sketch "%s" no longer matches its table', live.name),
            DETAIL = format('Table %s is not counted: %s.', leaf, SQLERRM),
            HINT = 'Recount the live sketch with rebuild_sketch.';
END
$$;

-- Counts the restored leaves whose triggers the current command enables. A dump ends each trigger
-- with ALTER TABLE ... ENABLE ALWAYS TRIGGER, which locks out writers, so the leaf is counted in
-- that statement.
CREATE FUNCTION fastclust_owner.restore_leaves() RETURNS void
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    follower record;
BEGIN
    FOR follower IN
        SELECT DISTINCT substring(g.tgname FROM '^fastclust_live_([0-9]{1,18})_')::bigint AS id,
                        g.tgrelid::regclass AS leaf
          FROM pg_event_trigger_ddl_commands() c JOIN pg_trigger g ON g.tgrelid = c.objid
         WHERE c.classid = 'pg_class'::regclass
           AND g.tgfoid = 'live_change()'::regprocedure
           AND g.tgname ~ '^fastclust_live_[0-9]{1,18}_rows$'
         ORDER BY 1, 2
    LOOP
        CONTINUE WHEN EXISTS (SELECT FROM live_leaves v
                               WHERE v.live_id = follower.id AND v.leaf = follower.leaf);
        -- A separate query, so that the module is loaded only for tables that have such triggers.
        CONTINUE WHEN NOT EXISTS (SELECT
                                    FROM pg_event_trigger_ddl_commands() c, ddl_changes(c.command) p
                                   WHERE p.enables AND c.objid = follower.leaf);
        PERFORM lock_tree(q.id, false)
          FROM (WITH RECURSIVE above(id) AS (
                                   SELECT follower.leaf::oid
                                   UNION
                                   SELECT i.inhparent
                                     FROM above a JOIN pg_inherits i ON i.inhrelid = a.id)
                SELECT a.id FROM above a ORDER BY a.id) q;
        PERFORM restore_leaf(r.live, r.leaf) FROM restored_leaves(follower.id) r
         WHERE r.leaf = follower.leaf;
    END LOOP;
END
$$;

-- Resets the times of folds and checks in a restored row of kept_sketches, because they belong to
-- an earlier count. A row counts as restored if keep_sketch did not create it in this transaction.
CREATE FUNCTION fastclust_owner.begin_restored() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    NEW.folded_at := NULL;
    NEW.checked_at := NULL;
    NEW.differences := NULL;
    NEW.counting := false;
    RETURN NEW;
END
$$;
CREATE TRIGGER begin_restored BEFORE INSERT ON kept_sketches FOR EACH ROW WHEN (
    NEW.created_at <> now()) EXECUTE FUNCTION begin_restored();
ALTER TABLE kept_sketches ENABLE ALWAYS TRIGGER begin_restored;

-- Locks out writers from each leaf that has its triggers, for the given live sketches. If one lock
-- is not free, releases all locks and tries again, because a restore takes locks in any order. No
-- code of a table's owner runs in between.
CREATE FUNCTION fastclust_owner.lock_restored(ids bigint[]) RETURNS void
    LANGUAGE plpgsql SET search_path FROM CURRENT SET lock_timeout = '50ms' AS $$
DECLARE
    leaf regclass;
BEGIN
    LOOP
        BEGIN
            PERFORM lock_tree(q.id, true)
              FROM (SELECT DISTINCT l.relation::oid AS id
                      FROM kept_sketches l
                     WHERE l.id = ANY (ids)
                     ORDER BY 1) q;
            FOR leaf IN
                SELECT DISTINCT r.leaf FROM unnest(ids) i(id), restored_leaves(i.id) r ORDER BY 1
            LOOP
                EXECUTE format('LOCK TABLE ONLY %s IN SHARE ROW EXCLUSIVE MODE', leaf);
            END LOOP;
            RETURN;
        EXCEPTION WHEN lock_not_available THEN
            PERFORM pg_sleep(0.1);
        END;
    END LOOP;
END
$$;

-- Counts each leaf that has its triggers, for the inserted live sketches.
CREATE FUNCTION fastclust_owner.restored_sketches() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    ids bigint[];
BEGIN
    -- Raised before any statement reads rows: rows of another table may have types whose casts are
    -- its owner's code.
    IF TG_RELID <> 'kept_sketches'::regclass THEN
        RAISE trigger_protocol_violated USING
            MESSAGE = format('function %s can only be called by the trigger of kept_sketches',
                             'restored_sketches');
    END IF;
    ids := ARRAY(SELECT c.id FROM came c WHERE c.created_at <> now() ORDER BY c.id);
    PERFORM lock_restored(ids);
    PERFORM restore_leaf(r.live, r.leaf) FROM unnest(ids) i(id), restored_leaves(i.id) r;
    RETURN NULL;
END
$$;
CREATE TRIGGER restored AFTER INSERT ON kept_sketches REFERENCING NEW TABLE AS came FOR EACH
    STATEMENT EXECUTE FUNCTION restored_sketches();
ALTER TABLE kept_sketches ENABLE ALWAYS TRIGGER restored;

-- Live sketches and DDL: commands that add leaves, change values without firing the triggers, or
-- drop tables
--
-- A new leaf is counted. A leaf whose values change without firing its triggers is marked as lost.
-- The live sketches of a dropped table are dropped.
--
-- A role that issues DDL needs no right to the extension. The event triggers return immediately if
-- no live sketch was made since kept_sketches was last vacuumed. They test the size of the table
-- instead of its rows in a snapshot, because uncommitted live sketches count, too. For ALTER TABLE
-- they first look for triggers of a restored live sketch, even if kept_sketches is empty. The event
-- triggers are in PL/pgSQL and call the module only for tables with live sketches, so that other
-- DDL works if the file of the module is missing.
--
-- CREATE OR REPLACE, RENAME, ENABLE, DISABLE and DROP change a trigger, and each change is recorded
-- when it happens. A later reader cannot detect it: the trigger may have its old form again,
-- although rows have changed meanwhile. The row in pg_trigger does not show the change after
-- pg_upgrade, which creates all triggers again.

-- Returns the leaves of live sketches that the command concerns: altered tables and their
-- descendants, and tables with columns of an altered type. Arrays, composites and domains contain
-- types.
CREATE FUNCTION fastclust_owner.concerned_leaves(OUT v live_leaves, OUT is_altered boolean,
        OUT has_type boolean)
    RETURNS SETOF record
    LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
    WITH RECURSIVE altered(id) AS (
             SELECT c.objid FROM pg_event_trigger_ddl_commands() c
              WHERE c.classid = 'pg_class'::regclass
             UNION
             SELECT g.tgrelid FROM pg_event_trigger_ddl_commands() c
               JOIN pg_trigger g ON c.classid = 'pg_trigger'::regclass AND g.oid = c.objid
             UNION
             SELECT i.inhrelid FROM altered a JOIN pg_inherits i ON i.inhparent = a.id),
         of_type(id) AS (
             SELECT c.objid FROM pg_event_trigger_ddl_commands() c
              WHERE c.classid = 'pg_type'::regclass
             UNION
             SELECT t.oid FROM of_type a
               JOIN pg_type t
                    ON a.id IN (t.typbasetype, t.typelem)
                       OR EXISTS (SELECT FROM pg_attribute c
                                   WHERE c.attrelid = t.typrelid AND c.atttypid = a.id))
    SELECT v, v.leaf = ANY (ARRAY(SELECT a.id FROM altered a)),
           v.types::oid[] && ARRAY(SELECT a.id FROM of_type a)
      FROM live_leaves v
     WHERE v.leaf = ANY (ARRAY(SELECT a.id FROM altered a))
        OR v.types::oid[] && ARRAY(SELECT a.id FROM of_type a)
$$;

-- Records that a command changed values without firing the triggers: values of a column, of a
-- table, or of columns of an enum whose labels changed. Also records that a command changed the
-- triggers. Drops the live sketches of a dropped table, no matter who drops the table. Reads under
-- the latest snapshot, because DDL of any transaction acts on the present tables.
CREATE FUNCTION fastclust_owner.live_ddl() RETURNS event_trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path FROM CURRENT SET quote_all_identifiers = off AS $$
DECLARE
    -- true if this function sees all rows that others have committed
    is_latest boolean := current_setting('transaction_isolation') LIKE 'read %';
BEGIN
    IF TG_EVENT = 'ddl_command_end' THEN
        PERFORM restore_leaves();
    END IF;
    IF pg_relation_size('kept_sketches') = 0 THEN
        RETURN;
    ELSIF TG_EVENT = 'sql_drop' THEN
        IF is_latest
           AND NOT EXISTS (SELECT FROM pg_event_trigger_dropped_objects() o
                            WHERE (o.classid = 'pg_trigger'::regclass
                                   AND left(o.address_names[3], 15) = 'fastclust_live_')
                               OR (o.classid = 'pg_class'::regclass
                                   AND (o.objid IN (SELECT l.relation FROM kept_sketches l)
                                        OR o.objid IN (SELECT v.leaf FROM live_leaves v)))) THEN
            RETURN;
        END IF;
        PERFORM forget_live(u.id)
          FROM unnest(run_latest($query$
                   SELECT array_agg(l.id)
                     FROM pg_event_trigger_dropped_objects() o
                     JOIN kept_sketches l ON l.relation = o.objid
                    WHERE o.classid = 'pg_class'::regclass AND o.objsubid = 0
                   $query$)::bigint[]) u(id);
        PERFORM run_latest($query$
            DELETE FROM live_leaves v
             USING pg_event_trigger_dropped_objects() o
             WHERE o.classid = 'pg_class'::regclass AND v.leaf = o.objid AND o.objsubid = 0
            $query$);
        PERFORM run_latest($query$
            INSERT INTO live_deltas (live_id, leaf, lost)
            SELECT DISTINCT v.live_id, v.leaf, format('table %s had triggers dropped', v.leaf)
              FROM pg_event_trigger_dropped_objects() o
              JOIN live_leaves v
                   ON v.leaf = to_regclass(format('%I.%I', o.address_names[1], o.address_names[2]))
             WHERE o.classid = 'pg_trigger'::regclass
               AND is_live_trigger(o.address_names[3], v.live_id)
            $query$);
    ELSIF NOT is_latest OR EXISTS (SELECT FROM concerned_leaves()) THEN
        PERFORM run_latest($query$
            INSERT INTO live_deltas (live_id, leaf, lost)
            SELECT (q.v).live_id, (q.v).leaf,
                   CASE WHEN c.classid = 'pg_type'::regclass
                            THEN format('type %s %s', c.objid::regtype, p.loss)
                        WHEN p.column_name IS NULL THEN format('table %s %s', (q.v).leaf, p.loss)
                        ELSE format('column "%s" of %s %s', p.column_name, (q.v).leaf, p.loss) END
              FROM pg_event_trigger_ddl_commands() c,
                   LATERAL (SELECT DISTINCT d.column_name, d.trigger_name, d.loss
                              FROM ddl_changes(c.command) d) p,
                   concerned_leaves() q
             WHERE p.loss IS NOT NULL
               AND CASE c.classid
                        WHEN 'pg_type'::regclass THEN q.has_type
                        ELSE q.is_altered
                             AND (p.column_name IS NULL OR p.column_name = ANY ((q.v).names))
                             AND (p.trigger_name IS NULL
                                  OR is_live_trigger(p.trigger_name, (q.v).live_id)) END
            $query$);
    END IF;
END
$$;

-- Counts the leaves that the command added to tables that the caller owns. Raises an error outside
-- of an event trigger.
CREATE FUNCTION fastclust_internal.follow_leaves(live_ids bigint[]) RETURNS void
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    added record;
    live kept_sketches;
BEGIN
    FOR added IN
        SELECT l AS live, t.id::regclass AS leaf, t.is_leaf
          FROM own_live_sketches l, live_tables(l.relation) t
         WHERE l.id = ANY (live_ids)
           AND EXISTS (SELECT FROM pg_event_trigger_ddl_commands() c, ddl_changes(c.command) p
                        WHERE p.adds)
           AND NOT EXISTS (SELECT FROM own_live_leaves v WHERE v.live_id = l.id AND v.leaf = t.id)
           AND (t.is_leaf
                OR NOT EXISTS (SELECT FROM pg_trigger g
                                WHERE g.tgrelid = t.id
                                  AND g.tgname = format('fastclust_live_%s_statement', l.id)))
         ORDER BY l.id, t.id
    LOOP
        live := added.live;
        BEGIN
            PERFORM check_live_isolation(live.name), check_live_tables(live),
                    check_live_scan(live, added.leaf);
            PERFORM write_leaf(live.id, added.leaf, NULL) WHERE added.is_leaf;
            PERFORM set_live_triggers(live.id, added.leaf, true);
            PERFORM count_leaf(live, added.leaf) WHERE added.is_leaf;
        EXCEPTION WHEN OTHERS THEN
            RAISE WARNING USING MESSAGE = format('live sketch "%s" no longer matches its table', live.name),
                DETAIL = format('Table %s is not counted: %s.', added.leaf, SQLERRM),
                HINT = 'Recount the live sketch with rebuild_sketch.';
        END;
    END LOOP;
END
$$;

CREATE FUNCTION fastclust_owner.live_added() RETURNS event_trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    live_ids bigint[];
BEGIN
    IF EXISTS (SELECT
                 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                 JOIN pg_proc p ON p.pronamespace = n.oid AND p.proname = 'follow_leaves'
                 JOIN pg_class v ON v.relnamespace = n.oid AND v.relname = 'own_live_sketches'
                WHERE n.nspname = 'fastclust_internal'
                  AND c.relname = 'kept_sketches'
                  AND pg_relation_size(c.oid) > 0
                  AND has_schema_privilege(n.oid, 'USAGE')
                  AND has_schema_privilege('fastclust', 'USAGE')
                  AND has_function_privilege(p.oid, 'EXECUTE')
                  AND has_table_privilege(v.oid, 'SELECT')) THEN
        live_ids := ARRAY(
                        WITH RECURSIVE above AS (
                                           SELECT c.objid AS id
                                             FROM pg_event_trigger_ddl_commands() c
                                            WHERE c.classid = 'pg_class'::regclass
                                           UNION
                                           SELECT i.inhparent
                                             FROM pg_inherits i JOIN above ON i.inhrelid = above.id)
                        SELECT l.id FROM fastclust_internal.own_live_sketches l
                         WHERE l.relation IN (SELECT above.id FROM above));
        PERFORM fastclust_internal.follow_leaves(live_ids) WHERE live_ids <> '{}';
    END IF;
END
$$;

CREATE EVENT TRIGGER fastclust_live_added ON ddl_command_end WHEN TAG IN (
    'CREATE TABLE', 'ALTER TABLE', 'CREATE FOREIGN TABLE', 'ALTER FOREIGN TABLE',
    'CREATE SCHEMA') EXECUTE FUNCTION live_added();
CREATE EVENT TRIGGER fastclust_live_altered ON ddl_command_end WHEN TAG IN (
    'ALTER TABLE', 'ALTER FOREIGN TABLE', 'ALTER TYPE', 'CREATE TRIGGER',
    'ALTER TRIGGER') EXECUTE FUNCTION live_ddl();
CREATE EVENT TRIGGER fastclust_live_dropped ON sql_drop EXECUTE FUNCTION live_ddl();

-- The event triggers are enabled from the start. If keep_sketch enabled them with the first live
-- sketch, it would wait for another role's uncommitted first live sketch.
ALTER EVENT TRIGGER fastclust_live_added ENABLE ALWAYS;      -- like the triggers of tables
ALTER EVENT TRIGGER fastclust_live_altered ENABLE ALWAYS;
ALTER EVENT TRIGGER fastclust_live_dropped ENABLE ALWAYS;

-- Live sketches: reading the current sketch

-- Returns the reason why a live sketch no longer matches its table, or NULL if it does.
-- enable_seqscan = off forces use of the index on live_deltas, because its statistics may describe
-- the rows of other live sketches.
CREATE FUNCTION fastclust_internal.sketch_problem(name text) RETURNS text
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C STABLE;
CREATE FUNCTION fastclust_owner.sketch_problem(name text, caller oid) RETURNS text
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path FROM CURRENT SET enable_seqscan = off AS $$
DECLARE
    live kept_sketches := (SELECT l FROM kept_sketches l
                            WHERE l.name = $1 AND may_read_live(caller, l));
BEGIN
    RETURN CASE WHEN live.id IS NULL THEN NULL
                WHEN NOT EXISTS (SELECT FROM pg_class c WHERE c.oid = live.relation)
                    THEN 'the table was dropped'
                WHEN live_pending(live.id)
                    THEN 'changes of this transaction are counted at the end of the statement or of the transaction'
                ELSE (SELECT p.problem
                        FROM live_tables(live.relation) t JOIN pg_class c ON c.oid = t.id
                        LEFT JOIN live_leaves v ON v.live_id = live.id AND v.leaf = c.oid,
                             LATERAL (
                                 SELECT CASE WHEN c.relkind <> 'r'
                                                 THEN format('table %s is foreign', c.oid::regclass)
                                             WHEN v.leaf IS NULL
                                                 THEN format('table %s is not counted',
                                                             c.oid::regclass)
                                             WHEN c.relpersistence <> 'p'
                                                 THEN format(
                                                          'table %s is not logged', c.oid::regclass)
                                             ELSE COALESCE(
                                                      column_problem(v),
                                                      trigger_problem(live.id, c.oid),
                                                      (SELECT d.lost
                                                         FROM live_deltas d
                                                        WHERE d.live_id = live.id
                                                          AND d.leaf = c.oid
                                                          AND d.lost IS NOT NULL
                                                        LIMIT 1)) END) p(problem)
                       WHERE t.is_leaf AND p.problem IS NOT NULL
                       ORDER BY t.id LIMIT 1) END;
END
$$;

-- Raises an error if a table was truncated, rewritten, attached or detached after the snapshot was
-- taken. Such changes ignore snapshots, so that a scan would see other rows than the sketch counts.
CREATE FUNCTION fastclust_internal.check_live_snapshot(live kept_sketches) RETURNS void
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $$
DECLARE
    tables oid[] := ARRAY(SELECT t.id FROM live_tables(live.relation) t ORDER BY t.id);
    changed regclass := COALESCE((SELECT c.oid
                                    FROM pg_class c
                                   WHERE c.oid = ANY (tables)
                                     AND pg_relation_filenode(c.oid) <> c.relfilenode
                                   ORDER BY 1 LIMIT 1),
                                 (SELECT COALESCE(a.id, b.id)
                                    FROM unnest(tables) a(id)
                                    FULL JOIN unnest(scanned_tables(live.relation)) b(id) USING (id)
                                   WHERE a.id IS NULL OR b.id IS NULL
                                   ORDER BY 1 LIMIT 1));
BEGIN
    IF changed IS NOT NULL THEN
        RAISE serialization_failure USING
            MESSAGE = format('live sketch "%s" cannot be read under this snapshot', live.name),
            DETAIL = format(
                         'Table %s was truncated, rewritten, attached or detached after the snapshot was taken.',
                         changed),
            HINT = 'Read the live sketch in a new transaction.';
    END IF;
END
$$;

-- Returns the sums of added rows and of removed rows, by group and bucket. They are not subtracted,
-- because a sketch that has missed changes may have more removed rows than added ones. Only the
-- owner may call the function: `removed` also describes rows that were deleted before another role
-- was allowed to read the table.
CREATE FUNCTION fastclust_internal.live_totals(name text, OUT group_value text,
        OUT bucket timestamptz, OUT added sketch, OUT removed sketch,
        OUT added_counts drift_counts, OUT removed_counts drift_counts)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C STABLE ROWS 100;
CREATE FUNCTION fastclust_owner.live_totals(name text, caller oid, OUT group_value text,
        OUT bucket timestamptz, OUT added sketch, OUT removed sketch,
        OUT added_counts drift_counts, OUT removed_counts drift_counts)
    RETURNS SETOF record
    LANGUAGE plpgsql STABLE ROWS 100 SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    live kept_sketches := owned_live(name, caller);
BEGIN
    PERFORM check_live_snapshot(live);
    RETURN QUERY
        SELECT p.*
          FROM live_sums(live.id,
                         ARRAY(SELECT t.id FROM live_tables(live.relation) t WHERE t.is_leaf)) p;
END
$$;

-- Returns the text of the group that a text names, if equal values of the column have one text;
-- otherwise NULL.
CREATE FUNCTION fastclust_internal.strict_group(live kept_sketches, given text) RETURNS text
    LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
    SELECT CASE WHEN least_groups(live.relation, live.group_by, '{}') IS NULL
                    THEN named_group(live.relation, live.group_by, '{}', given) END
$$;

-- Returns the current sketches by the texts of the groups.
CREATE FUNCTION fastclust_internal.live_texts(live kept_sketches) RETURNS SETOF live_group
    LANGUAGE sql STABLE ROWS 100 SET search_path FROM CURRENT AS $$
    SELECT q.*
      FROM (SELECT p.group_value, p.bucket, live_difference(p.added, p.removed) AS s,
                   changed_drift_counts(NULL, p.added_counts, p.removed_counts)
              FROM live_sums(live.id,
                             ARRAY(SELECT t.id FROM live_tables(live.relation) t
                                    WHERE t.is_leaf)) p) q
     WHERE q.s IS NOT NULL
$$;

-- Returns the current sketches of the groups and buckets that have rows. Raises an error if the
-- live sketch does not match the table.
CREATE FUNCTION fastclust_owner.live_groups(name text, caller oid) RETURNS SETOF live_group
    LANGUAGE plpgsql STABLE ROWS 100 SECURITY DEFINER
    SET search_path FROM CURRENT AS $$
DECLARE
    live kept_sketches := readable_live(name, caller);
    problem text := sketch_problem(name, caller);
BEGIN
    IF problem IS NULL AND live.counting THEN
        RAISE object_not_in_prerequisite_state USING
            MESSAGE = format('live sketch "%s" is not counted yet', name),
            HINT = 'Count its rows with rebuild_sketch; other sessions can write at the same time.';
    END IF;
    PERFORM check_live_snapshot(live);
    IF problem IS NOT NULL THEN
        RAISE object_not_in_prerequisite_state USING
            MESSAGE = format('live sketch "%s" no longer matches its table', name),
            DETAIL = upper(left(problem, 1)) || substr(problem, 2) || '.',
            HINT = 'Recount the live sketch with rebuild_sketch, or drop it with drop_sketch.';
    END IF;
    IF least_groups(live.relation, live.group_by, '{}') IS NULL THEN
        RETURN QUERY SELECT g.* FROM live_texts(live) g;
    ELSE
        RETURN QUERY
            WITH by_text AS MATERIALIZED (SELECT g.* FROM live_texts(live) g),
                 texts AS (SELECT array_agg(DISTINCT g.group_value COLLATE "C"
                                            ORDER BY g.group_value COLLATE "C") AS given
                             FROM by_text g)
            SELECT u.least, g.bucket, merge_agg(g.s), merge_drift_counts_agg(g.counts)
              FROM texts,
                   unnest(texts.given,
                          least_groups(live.relation, live.group_by, texts.given)) u(given, least)
              JOIN by_text g ON g.group_value = u.given
             GROUP BY 1, 2;
    END IF;
END
$$;

-- ---- buckets of time, weighted by 2^(-age / half-life) when they are read ----
--
-- Buckets are stored as unweighted sums of integers, so that rows of any time can be added, changed
-- and removed exactly, and no weight overflows. The newest bucket has weight 1: this is forward
-- decay whose landmark is the newest bucket.

CREATE FUNCTION fastclust_internal.weighted_merge(sketch, sketch, double precision) RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_weighted_merge' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE fastclust_internal.weighted_merge_agg(subtotal sketch, weight double precision) (
    SFUNC = weighted_merge, STYPE = sketch, SSPACE = 16384, FINALFUNC = sketch_final,
    FINALFUNC_MODIFY = READ_ONLY);

-- Returns the weighted sums of buckets. Leaves out buckets that begin more than a day in the
-- future; clocks may differ by up to a day. Drift counts have no weights: they include the rows of
-- two half-lives, which are about as many as the sum of all weights.
CREATE FUNCTION fastclust_owner.decayed_groups(name text, half_life interval, one_group text,
        one_bucket timestamptz, by_group boolean, caller oid, OUT group_value text, OUT s sketch,
        OUT counts drift_counts)
    RETURNS SETOF record
    LANGUAGE plpgsql STABLE ROWS 100 SET search_path FROM CURRENT AS $$
DECLARE
    live kept_sketches := readable_live(name, caller);
    -- Ages are computed by way of the origin of timestamptz, because the difference between the ends
    -- of the calendar overflows.
    origin CONSTANT timestamptz := '2000-01-01 00:00+00';
    wanted text := strict_group(live, one_group);
BEGIN
    IF live.bucket IS NULL THEN
        RAISE wrong_object_type USING MESSAGE = format('live sketch "%s" has no buckets', name),
            HINT = 'Make a live sketch with buckets by the option bucket of keep_sketch.';
    ELSIF (half_life > '0' AND half_life <= '100000000 days') IS NOT TRUE THEN
        RAISE invalid_parameter_value USING
            MESSAGE = format('half_life is %s, out of range', COALESCE(half_life::text, 'NULL')),
            DETAIL = 'It must be above 0 and at most 100000000 days.';
    END IF;
    -- The weight is 0 beyond 40 half-lives, because it would be less than the minimum weight.
    RETURN QUERY
        SELECT q.group_key,
               weighted_merge_agg(
                   q.s,
                   CASE WHEN h.half_lives <= 40 THEN power(2.0::float8, -h.half_lives) ELSE 0 END),
               merge_drift_counts_agg(q.counts) FILTER (WHERE a.age <= 2 * half_life)
          FROM (SELECT g.group_key, p.bucket, p.s, p.counts,
                       max(p.bucket) OVER (PARTITION BY g.group_key) AS newest
                  FROM live_groups(decayed_groups.name, caller) p,
                       LATERAL (SELECT CASE WHEN by_group AND live.group_by IS NOT NULL
                                                THEN p.group_value END) g(group_key)
                 WHERE (one_group IS NULL
                        OR p.group_value = COALESCE(wanted,
                                                    named_group(live.relation, live.group_by,
                                                                ARRAY[p.group_value], one_group)))
                   AND (one_bucket IS NULL OR p.bucket = one_bucket)
                   AND isfinite(p.bucket)
                   AND p.bucket <= now() + interval '1 day') q,
               LATERAL (SELECT justify_hours((q.newest - origin) + (origin - q.bucket)) AS age) a,
               LATERAL (SELECT extract(epoch FROM a.age)::float8
                                   / extract(epoch FROM half_life)::float8 AS half_lives) h
         GROUP BY q.group_key;
END
$$;

-- Returns the sketch and the counts of the present rows of each group: one result row if there are
-- no groups, and no result row if the table has no rows. With `since`, includes only the newest
-- buckets. With a half-life, weights rows by the age of their bucket; the newest bucket of each
-- group has weight 1. by_micro: returns one result row for each micro-cluster instead of each
-- group.
CREATE FUNCTION fastclust_internal.model_groups(name text, since jsonb DEFAULT NULL,
        by_micro boolean DEFAULT false, OUT group_value text, OUT s sketch, OUT counts drift_counts)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C STABLE ROWS 100;
CREATE FUNCTION fastclust_owner.model_groups(name text, since jsonb, by_micro boolean, caller oid,
        OUT group_value text, OUT s sketch, OUT counts drift_counts)
    RETURNS SETOF record
    LANGUAGE plpgsql STABLE ROWS 100 SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    live kept_sketches := readable_live(name, caller);
BEGIN
    IF live.half_life IS NOT NULL AND since IS NULL THEN
        RETURN QUERY
            SELECT d.* FROM decayed_groups(name, live.half_life, NULL, NULL, true, caller) d
             ORDER BY d.group_value COLLATE "C";
    ELSE
        RETURN QUERY
            SELECT g.group_key, merge_agg(p.s), merge_drift_counts_agg(p.counts)
              FROM (SELECT c.*,
                           max(c.bucket) FILTER (
                               WHERE isfinite(c.bucket)
                               AND c.bucket <= now() + interval '1 day') OVER () AS newest
                      FROM live_groups($1, caller) c) p,
                   LATERAL (SELECT CASE WHEN by_micro OR live.group_by IS NOT NULL
                                            THEN p.group_value END) g(group_key)
             WHERE since IS NULL
                OR (p.bucket <= p.newest AND p.bucket > p.newest - span_option(since, 'interval'))
             GROUP BY 1
             ORDER BY g.group_key COLLATE "C";
    END IF;
END
$$;

-- Raises an error for a group or a bucket that the live sketch cannot have. Otherwise it would seem
-- to exist and have no rows.
CREATE FUNCTION fastclust_internal.check_live_group(live kept_sketches, group_value text,
        bucket timestamptz)
    RETURNS void
    LANGUAGE plpgsql IMMUTABLE
    SET search_path FROM CURRENT SET timezone = 'UTC' SET datestyle = iso
    SET intervalstyle = postgres AS $$
DECLARE
    begins timestamptz := bucket_of_time(bucket, live.bucket_width);
BEGIN
    IF group_value IS NOT NULL AND live.group_by IS NULL THEN
        RAISE wrong_object_type USING MESSAGE = format('live sketch "%s" has no groups', live.name);
    ELSIF bucket IS NOT NULL AND live.bucket IS NULL THEN
        RAISE wrong_object_type USING
            MESSAGE = format('live sketch "%s" has no buckets', live.name);
    ELSIF bucket <> begins THEN
        RAISE invalid_parameter_value USING
            MESSAGE = format('no bucket of live sketch "%s" begins at %s', live.name, bucket),
            DETAIL = format('The bucket of that time begins at %s and is %s long.', begins,
                            live.bucket_width);
    END IF;
END
$$;

CREATE FUNCTION fastclust_internal.read_current_sketch(name text, group_value text,
        bucket timestamptz, half_life interval)
    RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C STABLE;
CREATE FUNCTION fastclust_owner.read_current_sketch(name text, group_value text,
        bucket timestamptz, half_life interval, caller oid)
    RETURNS sketch
    LANGUAGE plpgsql STABLE SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    live kept_sketches := readable_live(name, caller);
    wanted text := strict_group(live, group_value);
BEGIN
    PERFORM check_live_group(live, group_value, bucket);
    RETURN CASE WHEN half_life IS NOT NULL
                    THEN (SELECT d.s FROM decayed_groups($1, $4, $2, $3, false, caller) d)
                ELSE (SELECT merge_agg(p.s) FROM live_groups($1, caller) p
                       WHERE ($2 IS NULL
                              OR p.group_value = COALESCE(wanted,
                                                          named_group(live.relation, live.group_by,
                                                                      ARRAY[p.group_value], $2)))
                         AND ($3 IS NULL OR p.bucket = $3)) END;
END
$$;
CREATE FUNCTION fastclust.current_sketch(name text, group_value text DEFAULT NULL,
        bucket timestamptz DEFAULT NULL, half_life interval DEFAULT NULL)
    RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_read_once' LANGUAGE C STABLE COST 100;
COMMENT ON FUNCTION fastclust.current_sketch IS
    'Returns the sketch of the present rows, of one group or all and of one bucket or all, '
    'without reading a row. With half_life, a bucket older than the newest one by half_life has '
    'weight 1/2.';

CREATE FUNCTION fastclust.current_sketches(name text, OUT group_value text, OUT bucket timestamptz,
        OUT s sketch)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C STABLE ROWS 100;
CREATE FUNCTION fastclust_owner.current_sketches(name text, caller oid, OUT group_value text,
        OUT bucket timestamptz, OUT s sketch)
    RETURNS SETOF record
    LANGUAGE plpgsql STABLE ROWS 100 SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    live kept_sketches := readable_live(name, caller);
BEGIN
    RETURN QUERY
        SELECT g.group_key, CASE WHEN live.bucket IS NOT NULL THEN p.bucket END, merge_agg(p.s)
          FROM live_groups($1, caller) p,
               LATERAL (SELECT CASE WHEN live.group_by IS NOT NULL THEN p.group_value END) g(group_key)
         GROUP BY g.group_key, p.bucket
         ORDER BY g.group_key COLLATE "C", p.bucket;
END
$$;
COMMENT ON FUNCTION fastclust.current_sketches IS
    'Returns the present sketches, one for each group and bucket.';

-- Returns the live sketch of a model. Returns NULL if the model has no live sketch, or if the
-- caller may not read it.
CREATE FUNCTION fastclust_internal.model_live(model_id bigint) RETURNS kept_sketches
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C STABLE;
CREATE FUNCTION fastclust_owner.model_live(model_id bigint, caller oid) RETURNS kept_sketches
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path FROM CURRENT AS $$
BEGIN
    RETURN (SELECT l FROM kept_sketches l WHERE l.model_id = $1 AND may_read_live(caller, l));
END
$$;

-- Returns the live sketch of the version's model, or NULL unless it has the features, groups and
-- condition with which the version was trained, and buckets that can select the window `since`.
CREATE FUNCTION fastclust_internal.live_of_version(version stored_versions,
        since jsonb DEFAULT NULL)
    RETURNS kept_sketches
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $$
DECLARE
    live kept_sketches := model_live(version.model_id);
    problem text;
BEGIN
    IF live.id IS NULL
       OR NOT is_live_group(version.training_sketch, NULL, live.spec, NULL)
       OR live.micro_options IS DISTINCT FROM (
              CASE WHEN version.method = 'density' THEN jsonb_build_array(
                                                            version.options -> 'micro_clusters',
                                                            version.options ->
                                                                'min_cluster_rows') END)
       OR (live.drift_spec IS NOT NULL
           AND live.drift_spec::text IS DISTINCT FROM drift_spec_of(version)::text)
       OR live.features <> version.features
       OR live.vector <> version.vector
       OR live.encoder::text IS DISTINCT FROM version.encoder::text
       OR live.relation IS DISTINCT FROM COALESCE(
              to_regclass(version.relation),
              (SELECT live.relation
                 FROM readable_models m
                 JOIN readable_versions v ON v.model_id = m.id AND v.version = m.version
                WHERE m.id = version.model_id AND v.relation = version.relation
                LIMIT 1))
       OR live.bucket IS DISTINCT FROM version.options -> 'live' ->> 'bucket'
       OR live.half_life IS DISTINCT FROM span_option(version.options -> 'live', 'half_life')
       OR live.bucket_width <> span_option(version.options -> 'live', 'bucket_width')
       OR live.group_by IS DISTINCT FROM version.options ->> 'group_by'
       OR live.condition IS DISTINCT FROM version.options ->> 'where'
       OR since - 'interval' <> jsonb_build_object('column', live.bucket) THEN
        RETURN NULL;
    END IF;
    problem := sketch_problem(live.name);
    IF problem IS NOT NULL THEN
        RAISE WARNING USING
            MESSAGE = format('live sketch "%s" no longer matches its table: rows are read', live.name),
            DETAIL = upper(left(problem, 1)) || substr(problem, 2) || '.',
            HINT = 'Recount the live sketch with rebuild_sketch.';
    END IF;
    RETURN CASE WHEN problem IS NULL THEN live END;
END
$$;

-- Returns the relation to scan, and checks the caller's rights to scan the columns that the version
-- names. The relation is the first of the following that exists: the one that the caller named; the
-- one stored in the version; if it was renamed and the current version was trained on it, the table
-- of the model's live sketch.
CREATE FUNCTION fastclust_internal.scanned_relation(stored stored_models, version stored_versions,
        named regclass, group_by name)
    RETURNS regclass
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $$
DECLARE
    relation regclass := COALESCE(named, to_regclass(version.relation),
                                  (SELECT (model_live(m.id)).relation
                                     FROM readable_models m
                                     JOIN readable_versions v
                                          ON v.model_id = m.id AND v.version = m.version
                                    WHERE m.id = version.model_id AND v.relation = version.relation
                                    LIMIT 1));
    -- columns that options where and since read; since includes its keys except and baseline
    option_columns name[];
BEGIN
    IF named IS NULL THEN
        relation := locked_relation(relation);
    END IF;
    IF relation IS NULL THEN
        RAISE undefined_table USING
            MESSAGE = format('%s, which model "%s" was trained on, does not exist',
                             version.relation, stored.model),
            HINT = 'Pass another table as the argument relation, or as the option relation of retrain.';
    END IF;
    WITH RECURSIVE nested(o) AS (SELECT version.options
                                 UNION ALL
                                 SELECT e
                                   FROM nested,
                                        unnest(ARRAY[o -> 'since', o -> 'except', o -> 'baseline']) e
                                  WHERE jsonb_typeof(e) = 'object')
    SELECT array_agg(c.name) INTO option_columns
      FROM (SELECT (o ->> 'column')::name FROM nested
            UNION ALL
            SELECT unnest((row_condition(relation, o ->> 'where')).columns) FROM nested
            UNION ALL
            SELECT a.attname
              FROM nested, pg_partitioned_table p
              JOIN pg_attribute a ON a.attrelid = p.partrelid AND a.attnum > 0
             WHERE o ? 'partition'
               AND p.partrelid = relation
               AND (a.attnum = ANY (p.partattrs) OR 0 = ANY (p.partattrs))) c(name);
    PERFORM check_stored_scan(stored, version, relation,
                              version.features || group_by || option_columns, named IS NOT NULL);
    RETURN relation;
END
$$;

-- Returns the live sketches that count the rows described by the options and that the caller may
-- read. Live sketches of models come first.
--
-- If `ready` is true, returns only live sketches that the caller owns, that match their table and
-- belong to no model, and whose spec a model of these vectors may use.
CREATE FUNCTION fastclust_internal.live_of_rows(relation regclass, features name[], vector boolean,
        options jsonb, ready boolean DEFAULT false)
    RETURNS SETOF kept_sketches
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C STABLE ROWS 1;
CREATE FUNCTION fastclust_owner.live_of_rows(relation regclass, features name[], vector boolean,
        options jsonb, ready boolean, caller oid)
    RETURNS SETOF kept_sketches
    LANGUAGE plpgsql STABLE ROWS 1 SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
    RETURN QUERY
        SELECT l.*
          FROM kept_sketches l, describe(l.spec) d
         WHERE l.relation = $1
           AND l.features = $2
           AND l.vector = $3
           AND (l.group_by, l.condition, l.bucket, l.half_life,
                l.bucket_width) IS NOT DISTINCT FROM (
                   options ->> 'group_by', options ->> 'where', options -> 'live' ->> 'bucket',
                   span_option(options -> 'live', 'half_life'),
                   live_bucket_width($1, options ->> 'group_by', options -> 'live'))
           AND may_read_live(caller, l)
           AND (NOT ready
                OR (l.model_id IS NULL
                    AND NOT l.counting
                    AND COALESCE(d ->> 'metric', options ->> 'metric') IS NULL
                    AND d ->> 'law' <> 'gaussian'
                    AND d ->> 'reduced_dim' = d ->> 'dim'
                    AND owns_relation(caller, l.relation)
                    AND sketch_problem(l.name, caller) IS NULL))
         ORDER BY l.model_id IS NULL, l.id;
END
$$;

-- Returns the sketch and the counts of a live model, for all groups together.
CREATE FUNCTION fastclust_internal.model_rows(live kept_sketches, since jsonb DEFAULT NULL,
        OUT s sketch, OUT counts drift_counts)
    LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
    SELECT merge_agg(g.s), merge_drift_counts_agg(g.counts) FROM model_groups(live.name, since) g
$$;

-- Live sketches: checking, repairing and dropping

CREATE FUNCTION fastclust_internal.write_check(name text, differences bigint) RETURNS void
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C;
CREATE FUNCTION fastclust_owner.write_check(name text, differences bigint, caller oid) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path FROM CURRENT AS $$
BEGIN
    UPDATE kept_sketches l
       SET checked_at = clock_timestamp(), differences = write_check.differences
     WHERE l.id = (SELECT h.id FROM locked_live(write_check.name, caller) h);
END
$$;

CREATE FUNCTION fastclust.check_sketch(name text, INOUT group_value text DEFAULT NULL,
        INOUT bucket timestamptz DEFAULT NULL, OUT sketched bigint, OUT counted bigint,
        OUT difference text)
    RETURNS SETOF record
    LANGUAGE plpgsql ROWS 10
    SET search_path FROM CURRENT SET datestyle = iso SET intervalstyle = postgres
    SET extra_float_digits = 1 SET timezone = 'UTC' SET standard_conforming_strings = on
    SET array_nulls = on SET lc_monetary = 'C' SET quote_all_identifiers = off
    SET bytea_output = hex AS $$
DECLARE
    live kept_sketches := locked_live(name);
    whole boolean := group_value IS NULL AND bucket IS NULL;
    condition text := concat_ws(' AND ', 'true',
                            CASE WHEN group_value IS NOT NULL
                                     THEN format('group_value = named_group(%s, %L, '
                                                 'ARRAY[group_value], %L)',
                                              live.relation::oid, live.group_by, group_value) END,
                            CASE WHEN bucket IS NOT NULL
                                     THEN format('bucket = %L::timestamptz', bucket) END);
    problem text := COALESCE(sketch_problem(name),
                             CASE WHEN live.counting THEN 'the rows are not counted yet' END);
    differences bigint := CASE WHEN problem IS NULL THEN 0 ELSE 1 END;
BEGIN
    PERFORM check_live_group(live, group_value, bucket);
    IF problem IS NOT NULL THEN
        difference := problem;
        RETURN NEXT;
    END IF;
    IF NOT live.counting
       AND NOT EXISTS (SELECT FROM own_live_leaves v
                        WHERE v.live_id = live.id AND column_problem(v.leaves) IS NOT NULL) THEN
        BEGIN
            PERFORM check_live_scan(live, live.relation);
            -- Compares added with scanned + removed, because added - removed might not be a valid
            -- sketch.
            FOR group_value, bucket, sketched, counted, difference IN
                EXECUTE format($query$
                    SELECT group_value, bucket, n.sketched, n.counted,
                           CASE WHEN n.sketched = n.counted THEN 'values' ELSE 'number of rows' END
                      FROM (SELECT * FROM live_totals($3) WHERE %2$s) k
                      FULL JOIN (SELECT * FROM (%1$s) a WHERE %2$s) q USING (group_value, bucket),
                           LATERAL (SELECT COALESCE(row_count(k.added), 0)
                                           - COALESCE(row_count(k.removed), 0),
                                           COALESCE(row_count(q.s), 0)) n(sketched, counted)
                     WHERE NOT same_rows(k.added, CASE WHEN q.s IS NULL THEN k.removed
                                                       WHEN k.removed IS NULL THEN q.s
                                                       ELSE q.s + k.removed END)
                        OR k.added_counts::text IS DISTINCT FROM
                           changed_drift_counts(q.counts, k.removed_counts, NULL)::text
                     ORDER BY group_value COLLATE "C", bucket $query$,
                    live_scan(live, live.relation, false), condition)
                    USING live.spec, live.drift_spec, name
            LOOP
                group_value := CASE WHEN live.group_by IS NOT NULL
                                         OR live.micro_clusters IS NOT NULL THEN group_value END;
                bucket := CASE WHEN live.bucket IS NOT NULL THEN bucket END;
                differences := differences + 1;
                RETURN NEXT;
            END LOOP;
        EXCEPTION WHEN OTHERS THEN
            -- The problem was returned above. The count can fail because rows that bypassed the
            -- triggers may be impossible to sketch.
            IF problem IS NULL THEN
                RAISE;
            END IF;
            sketched := NULL;
            counted := NULL;
            difference := format('the rows cannot be counted: %s', SQLERRM);
            RETURN NEXT;
        END;
    END IF;
    IF whole THEN
        PERFORM write_check(name, differences);
    END IF;
END
$$;
COMMENT ON FUNCTION fastclust.check_sketch IS
    'Recounts the table, or one group or bucket of it, and returns a row for each difference '
    'from the live sketch.';

CREATE FUNCTION fastclust.rebuild_sketch(name text) RETURNS bigint
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    live kept_sketches;
    lost boolean;
BEGIN
    PERFORM check_live_isolation(name);
    live := locked_live(name);
    -- The columns may have other types than at keep_sketch.
    PERFORM check_live_types(live.relation, live.group_by, live.bucket),
            check_live_scan(live, live.relation);
    lost := sketch_problem(name) IS NOT NULL;
    IF lost THEN
        -- Writers have to wait only in this case.
        PERFORM lock_out_writers(live.relation);
    END IF;
    PERFORM check_live_tables(live);
    -- The triggers of leaves that left the tree go on counting until here, because a leaf might
    -- have returned to the tree.
    PERFORM set_live_triggers(live.id, v.leaf, false) FROM own_live_leaves v
     WHERE v.live_id = live.id AND v.leaf NOT IN (SELECT t.id FROM live_tables(live.relation) t);
    PERFORM forget_leaves(name);
    RETURN count_live(live, lost);
END
$$;
COMMENT ON FUNCTION fastclust.rebuild_sketch IS
    'Recounts all rows of a live sketch and restores missing triggers. Returns the number of rows.';

CREATE FUNCTION fastclust.drop_sketch(name text) RETURNS void
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C;
CREATE FUNCTION fastclust_owner.drop_sketch(name text, caller oid) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path FROM CURRENT AS $$
BEGIN
    PERFORM forget_live((locked_live(name, caller)).id);
END
$$;
COMMENT ON FUNCTION fastclust.drop_sketch IS
    'Drops a live sketch with its triggers and its counts.';

CREATE FUNCTION fastclust.drop_model(model text) RETURNS void
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C;
CREATE FUNCTION fastclust_owner.drop_model(model text, caller oid) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path FROM CURRENT AS $$
DECLARE
    stored stored_models := locked_model(model, true, false, caller);
BEGIN
    PERFORM end_model_live(stored.id, caller);
    DELETE FROM stored_models m WHERE m.id = stored.id;
END
$$;
COMMENT ON FUNCTION fastclust.drop_model IS 'Drops a model with all its versions.';

-- Drift: tests whether the rows of a model have changed since its training

-- Returns the current version of a model. For a model with groups, returns the group with the most
-- clusters, or raises an error if `groups` is false.
CREATE FUNCTION fastclust_internal.largest_group(stored stored_models, groups boolean DEFAULT true)
    RETURNS stored_versions
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $$
DECLARE
    version stored_versions;
BEGIN
    IF stored.group_by IS NOT NULL AND groups IS NOT TRUE THEN
        RAISE wrong_object_type USING
            MESSAGE = format('model "%s" has one model per group', stored.model),
            HINT = 'To compare each group, use drift(model, by => ''group''); to train the groups again, use retrain.';
    END IF;
    SELECT v.* INTO version
      FROM readable_versions v
     WHERE v.model_id = stored.id AND v.version = stored.version
     ORDER BY v.k DESC, v.group_value LIMIT 1;
    IF NOT FOUND THEN
        RAISE undefined_object USING
            MESSAGE = format('model "%s" has no current version', stored.model),
            HINT = version_hint(stored.model);
    END IF;
    version.options := version.options - 'activate';     -- applies to that version alone
    RETURN version;
END
$$;

-- Returns true if the frequencies of the spec have all dimensions. Otherwise the spec projects rows
-- onto axes of a sample, which fit the training rows better than any later rows.
CREATE FUNCTION fastclust_internal.has_all_dimensions(spec sketch_spec) RETURNS boolean
    LANGUAGE sql IMMUTABLE SET search_path FROM CURRENT AS $$
    SELECT d ->> 'reduced_dim' = d ->> 'dim' FROM describe(spec) d
$$;

-- Returns new values of a column, for its dimension "other": up to five values without a dimension
-- of their own, each of them more frequent now than the category "other" was in training, with
-- their shares. Returns NULL for other dimensions, and if there are no such values. Only the rows of
-- the version's group count; `by` is then the column of groups. Without groups, `by` may be a
-- column, and only the rows with the given value of it count.
CREATE FUNCTION fastclust_internal.new_values(version stored_versions, relation regclass,
        dimension integer, by name, value text)
    RETURNS jsonb
    LANGUAGE plpgsql STABLE
    SET search_path FROM CURRENT SET standard_conforming_strings = on SET array_nulls = on
    SET lc_monetary = 'C' SET quote_all_identifiers = off AS $$
DECLARE
    column_name text := (SELECT f.feature FROM encoder_features(version.encoder) f
                          WHERE f.dimension = $3
                            AND f.kind = 'category'
                            AND f.category = 'other'
                            AND f.feature = ANY (version.features));
    -- Do equal values of the column have several texts?
    typed boolean := EXISTS (
                         SELECT FROM jsonb_array_elements(
                                         describe(version.encoder) -> 'features') d(feature)
                          WHERE d.feature ->> 'feature' = column_name AND d.feature ? 'type');
    rows text;
    found jsonb;
BEGIN
    IF column_name IS NOT NULL THEN
        rows := (version_query(version, relation,
                               CASE WHEN version.group_value <> '' THEN by END)).rows;
        IF by IS NOT NULL AND version.group_value = '' THEN
            rows := format('FROM (SELECT t.* %s) t WHERE t.%I::text IS NOT DISTINCT FROM $3', rows,
                           by);
        END IF;
        EXECUTE format($query$
            SELECT jsonb_object_agg(v.value, round(v.share, 4))
              FROM (SELECT q.*
                      FROM (SELECT min(t.%1$I::text COLLATE "C") COLLATE "default" AS value,
                                   count(*) / sum(count(*)) OVER () AS share
                            %2$s GROUP BY t.%1$I%3$s) q
                     WHERE q.share > $1 AND q.value IS NOT NULL
                       AND category_of($2, %1$L, q.value) IS NULL
                     ORDER BY q.share DESC, q.value LIMIT 5) v $query$,
            column_name, rows, CASE WHEN NOT typed THEN '::text' END)
            INTO found
            USING (means(version.training_sketch))[dimension]::numeric, version.encoder, value;
    END IF;
    RETURN found;
END
$$;

-- Adds the new values of categories to the columns of a result of drift.
CREATE FUNCTION fastclust_internal.with_new_values(version stored_versions, relation regclass,
        columns jsonb, by name, value text)
    RETURNS jsonb
    LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
    SELECT COALESCE(jsonb_agg(c.entry || COALESCE(added.entry, '{}') ORDER BY c.place), '[]')
      FROM feature_names(version.encoder) names,
           jsonb_array_elements(columns) WITH ORDINALITY c(entry, place)
      LEFT JOIN LATERAL (
               SELECT jsonb_build_object('new_values', v) AS entry
                 FROM new_values(version, relation, array_position(names, c.entry ->> 'name'), by,
                                 value) v
                WHERE (c.entry ->> 'shift')::double precision > 0 AND v IS NOT NULL) added ON true
$$;

-- Returns the entry of drift for a column of which two values are shown: shares of NULLs, for name
-- "age is NULL" and kind category, or the directions of a cyclic column, kind as encoder_features has
-- it.
CREATE FUNCTION fastclust_internal.change_entry(name text, kind text, before double precision,
        after double precision, p numeric)
    RETURNS jsonb
    LANGUAGE sql IMMUTABLE SET search_path FROM CURRENT AS $$
    SELECT jsonb_strip_nulls(
               jsonb_build_object('name', name, 'shown',
                                  format('%s: %s -> %s', name, shown_value(before, kind, false),
                                         shown_value(after, kind, false)),
                                  'before', round(NULLIF(before, 'NaN')::numeric, 4),
                                  'after', round(NULLIF(after, 'NaN')::numeric, 4), 'p', p))
$$;

-- Compares a version with other rows by the statistics that both have: counts, and sketches if
-- their frequencies have all dimensions. counted: number of the other rows, which may be more than
-- the rows in the sketch.
CREATE FUNCTION fastclust_internal.version_drift(version stored_versions, s sketch,
        counts drift_counts, threshold double precision DEFAULT 0.01,
        min_effect double precision DEFAULT 0.1, counted bigint DEFAULT NULL,
        OUT mmd2 double precision, OUT null_sd double precision, OUT p_value double precision,
        OUT fit_residual double precision, OUT n bigint, OUT effect double precision,
        OUT verdict text, OUT columns jsonb, OUT units bigint[])
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $$
DECLARE
    spec drift_spec := drift_spec_of(version);
    problem text;
BEGIN
    problem := CASE WHEN version.drift_counts IS NULL
                         AND NOT has_all_dimensions(spec(version.training_sketch))
                        THEN ' projected on axes of its sample, and has no drift_counts to compare'
                    WHEN version.options ? 'unit' AND unit_count(version.drift_counts) IS NULL
                        THEN ', which does not tell the units of its rows' END;
    IF problem IS NOT NULL THEN
        RAISE object_not_in_prerequisite_state USING
            MESSAGE = format('version %s of model "%s" was made from a sketch%s', version.version,
                             version.model, problem),
            HINT = 'Retrain the model on rows.';
    END IF;
    n := COALESCE(counted, row_count(s), 0);
    units := array_remove(ARRAY[unit_count(version.drift_counts), unit_count(counts)], NULL);
    units := CASE WHEN cardinality(units) = 2 THEN units END;
    SELECT t.mmd2, t.null_sd, t.p_value, t.effect, t.verdict
      INTO mmd2, null_sd, p_value, effect, verdict
      FROM drift_test(spec, CASE WHEN counts IS NOT NULL THEN version.drift_counts END,
                      CASE WHEN version.drift_counts IS NOT NULL THEN counts END,
                      version.training_sketch, s, version.null_moments, threshold, min_effect,
                      version.encoder) t;
    verdict := COALESCE(verdict, 'too few rows');
    fit_residual := CASE WHEN version.map IS NULL AND describe(version.spec) ->> 'law' <> 'gaussian'
                             THEN fit_residual(s, version.operator, version.center, version.scale,
                                               version.spreads) END;
    -- up to five columns and pairs of columns that changed significantly, smallest p-value first;
    -- after a change that only waves show, the columns with the smallest p-values
    columns := (SELECT COALESCE(jsonb_agg(e.entry ORDER BY e.other IS NOT NULL, e.place), '[]')
                  FROM (SELECT DISTINCT ON (x.name, x.other, c.before IS NULL) x.other, c.place,
                               CASE WHEN c.before IS NOT NULL
                                        THEN change_entry(x.nulls, 'category', c.before, c.after, x.p)
                                    WHEN x.other IS NOT NULL
                                        THEN jsonb_build_object(
                                                 'name', concat_ws(', ', x.name, x.other),
                                                 'names', jsonb_build_array(x.name, x.other), 'p',
                                                 x.p)
                                    WHEN x.after IS NOT NULL
                                        THEN change_entry(x.name, x.kind, x.before, x.after, x.p)
                                    ELSE jsonb_strip_nulls(
                                             jsonb_build_object('name', x.name, 'shift', c.shift,
                                                                'spread', c.spread, 'p', x.p)) END
                                   AS entry
                          FROM moved_columns(spec, version.drift_counts, counts,
                                             version.training_sketch, s, threshold, 5,
                                             COALESCE(p_value < threshold, false), version.encoder)
                                   WITH ORDINALITY c(dimension, other, p_value, shift, spread,
                                                     before, after, place),
                               (SELECT array_agg(f.label ORDER BY f.dimension) AS labels,
                                       array_agg(f.kind ORDER BY f.dimension) AS kinds
                                  FROM encoder_features(version.encoder) f) f,
                               LATERAL (
                                   SELECT COALESCE(f.labels[c.dimension],
                                                   format('%s[%s]', version.features[1],
                                                          c.dimension)) AS name,
                                          COALESCE(NULLIF(f.labels[c.other], f.labels[c.dimension]),
                                                   CASE WHEN version.encoder IS NULL AND c.other IS NOT NULL
                                                            THEN format('%s[%s]',
                                                                        version.features[1],
                                                                        c.other) END) AS other,
                                          f.kinds[c.dimension] AS kind,
                                          null_name(version.encoder, c.dimension) AS nulls,
                                          cyclic_mean(version.encoder, c.dimension,
                                                      means(version.training_sketch)) AS before,
                                          cyclic_mean(version.encoder, c.dimension, means(s))
                                              AS after,
                                          trim_scale(round(c.p_value::numeric, 12)) AS p) x
                         ORDER BY x.name, x.other, c.before IS NULL, c.place) e);
END
$$;

-- Returns sketches and counts of a relation's rows, made by the specs of a version in one scan: for
-- each value of a column, or for all rows if the column is NULL. n is the number of rows. For all
-- rows the sketch is made from a sample of about 260,000 rows or fewer.
CREATE FUNCTION fastclust_internal.sketch_rows(version stored_versions, relation regclass,
        bucket name, OUT value text, OUT s sketch, OUT counts drift_counts, OUT n bigint)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_sketch_rows' LANGUAGE C STABLE
    SET search_path FROM CURRENT SET standard_conforming_strings = on SET array_nulls = on
    SET lc_monetary = 'C' SET quote_all_identifiers = off;

-- Returns the version as it is compared with the rows of a window. If the window has a baseline,
-- the rows of the baseline replace the training rows.
CREATE FUNCTION fastclust_internal.version_since(version stored_versions, relation regclass,
        since jsonb)
    RETURNS stored_versions
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $$
DECLARE
    recent jsonb;
BEGIN
    IF since IS NOT NULL THEN
        PERFORM check_training_options(jsonb_build_object('since', since), 'retrain');
    END IF;
    recent := since - 'baseline';
    IF since ? 'baseline' THEN
        version.drift_spec := drift_spec_of(version);
        version.options := version.options
                           || jsonb_build_object(
                                  'since',
                                  since -> 'baseline' || jsonb_build_object('except', recent));
        SELECT r.s, r.counts INTO version.training_sketch, version.drift_counts
          FROM sketch_rows(version, relation, NULL) r;
        IF version.training_sketch IS NULL THEN
            RAISE no_data_found USING MESSAGE = format('%s has no rows in the baseline', relation),
                DETAIL = 'The baseline consists of the rows of the window "baseline" that are not recent.';
        END IF;
    END IF;
    version.options := version.options || COALESCE(jsonb_build_object('since', recent), '{}');
    RETURN version;
END
$$;

-- Reports that NULLs in the columns of a model cannot be compared: because of the source of the
-- new rows or, if `source` is NULL, because the version was made from a live sketch.
CREATE FUNCTION fastclust_internal.report_uncounted_nulls(version stored_versions, source text)
    RETURNS void
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $$
DECLARE
    counted boolean := COALESCE(counts_nulls(version.drift_counts), false);
BEGIN
    IF version.encoder IS NOT NULL AND NOT (counted AND source IS NULL) THEN
        RAISE NOTICE USING
            MESSAGE = format('the share of NULLs in the columns of model "%s" is not compared',
                             version.model),
            DETAIL = COALESCE(source, format('Version %s was made from a sketch', version.version))
                     || ', which does not count NULLs.',
            HINT = CASE WHEN counted THEN 'Use drift(model, relation), which reads the rows.'
                        ELSE 'Retrain the model on rows.' END;
    END IF;
END
$$;

-- Returns the rows to compare, for each value of a column or all together. They are the current
-- rows of the live sketch if the model is live and its live sketch counts them, else the rows of a
-- scan, whose relation is then in `scanned`.
CREATE FUNCTION fastclust_internal.compared_rows(stored stored_models, version stored_versions,
        relation regclass, by name, since jsonb, OUT value text, OUT s sketch,
        OUT counts drift_counts, OUT n bigint, OUT compared stored_versions, OUT scanned regclass)
    RETURNS SETOF record
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $$
DECLARE
    live kept_sketches := CASE WHEN relation IS NULL AND by IS NOT DISTINCT FROM stored.group_by
                                   THEN live_of_version(version, since) END;
    named regclass;
BEGIN
    IF live.id IS NULL THEN
        named := scanned_relation(stored, version, relation, by);
        version := version_since(version, named, since);
        PERFORM report_uncounted_nulls(version, NULL);
        RETURN QUERY
            SELECT r.*, version, named
              FROM sketch_rows(version, named, by) r;
        RETURN;
    END IF;
    PERFORM report_uncounted_nulls(version, 'The new rows are in a live sketch');
    IF by IS NULL THEN
        RETURN QUERY
            SELECT NULL::text, r.*, row_count(r.s), version, NULL::regclass
              FROM model_rows(live, since) r;
    ELSE
        RETURN QUERY
            SELECT group_of(stored.model, stored.version, g.group_value), g.s, g.counts,
                   row_count(g.s), version, NULL::regclass
              FROM model_groups(live.name, since) g;
    END IF;
END
$$;

-- Returns the same for each group of a model. The version of a new group is NULL, and a group that
-- is gone has no rows.
CREATE FUNCTION fastclust_internal.compared_groups(stored stored_models,
        group_version stored_versions, relation regclass, since jsonb, OUT value text, OUT s sketch,
        OUT counts drift_counts, OUT n bigint, OUT compared stored_versions, OUT scanned regclass)
    RETURNS SETOF record
    LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
    SELECT COALESCE(r.value, v.group_value), r.s,
           CASE WHEN v.group_value IS NOT NULL THEN r.counts END, r.n, v.group_version, r.scanned
      FROM (SELECT c.* FROM compared_rows(stored, group_version, relation, stored.group_by, since) c
             WHERE c.value IS NOT NULL) r
      FULL JOIN (SELECT ROW(m.*)::stored_versions AS group_version, m.group_value
                   FROM readable_versions m
                  WHERE m.model_id = stored.id AND m.version = stored.version) v
                ON v.group_value = r.value
$$;

CREATE FUNCTION fastclust_internal.read_drift(model text, relation regclass, sketch sketch,
        by name, version integer, since jsonb, OUT value text, OUT mmd2 double precision,
        OUT null_sd double precision, OUT p_value double precision,
        OUT fit_residual double precision, OUT n bigint, OUT effect double precision,
        OUT verdict text, OUT columns jsonb, OUT units bigint[])
    RETURNS SETOF record
    LANGUAGE plpgsql STABLE ROWS 1 SET search_path FROM CURRENT AS $$
DECLARE
    stored stored_models := CASE WHEN $5 = -1 THEN readable_model($1)
                               ELSE at_version(readable_model($1), $5) END;
    by_group boolean := stored.group_by IS NOT NULL AND $4 IN (stored.group_by, 'group');
    group_version stored_versions := largest_group(stored, by_group);
    recent jsonb := COALESCE($6, group_version.options -> 'since');
BEGIN
    IF $3 IS NOT NULL AND ($2 IS NOT NULL OR $4 IS NOT NULL OR $6 IS NOT NULL) THEN
        RAISE invalid_parameter_value USING
            MESSAGE = format('sketch and %s exclude each other',
                             CASE WHEN $2 IS NOT NULL THEN 'relation'
                                  WHEN $4 IS NOT NULL THEN 'by'
                                  ELSE 'since' END);
    ELSIF by_group AND recent ? 'baseline' THEN
        RAISE feature_not_supported USING
            MESSAGE = 'each group is compared with its training rows, not with a baseline',
            HINT = 'Remove the key baseline from since.';
    ELSIF $3 IS NOT NULL AND group_version.options ? 'unit' THEN
        RAISE feature_not_supported USING
            MESSAGE = format(
                          'a sketch does not tell the units of its rows, which option "unit" of model "%s" needs',
                          $1),
            HINT = 'Use drift(model, relation), which reads the units.';
    ELSIF $3 IS NOT NULL AND NOT has_all_dimensions(spec(group_version.training_sketch)) THEN
        RAISE feature_not_supported USING
            MESSAGE = format('a sketch alone does not show drift of model "%s"', $1),
            DETAIL = 'The sketch is projected on axes of the training sample, which fit other rows less well.',
            HINT = 'Use drift(model, relation), which counts the rows.';
    ELSIF $3 IS NOT NULL THEN
        PERFORM report_uncounted_nulls(group_version, 'The new rows are in a sketch');
        RETURN QUERY SELECT NULL::text, d.* FROM version_drift(group_version, $3, NULL) d;
    ELSE
        -- New values take a scan for each value of `by`, so only the ten largest effects have them.
        RETURN QUERY
            SELECT r.value, d.mmd2, d.null_sd, d.p_value, d.fit_residual, d.n, d.effect,
                   CASE WHEN by_group AND (r.compared).group_value IS NULL THEN 'new group'
                        WHEN by_group AND d.n = 0 THEN 'gone'
                        ELSE d.verdict END,
                   CASE WHEN r.scanned IS NOT NULL AND d.columns <> '[]'
                             AND row_number() OVER (ORDER BY d.effect DESC NULLS LAST) <= 10
                            THEN with_new_values(r.compared, r.scanned, d.columns,
                                                 CASE WHEN by_group THEN stored.group_by ELSE $4 END,
                                                 r.value)
                        ELSE d.columns END,
                   d.units
              FROM (SELECT c.*, row_number() OVER () AS place
                      FROM compared_groups(stored, group_version, $2, recent) c
                     WHERE by_group
                     UNION ALL
                    SELECT c.*, row_number() OVER ()
                      FROM compared_rows(stored, group_version, $2, $4, recent) c
                     WHERE NOT by_group) r,
                   LATERAL version_drift(r.compared, r.s, r.counts, counted => r.n) d
             ORDER BY r.place;
    END IF;
END
$$;
CREATE FUNCTION fastclust.drift(model text, relation regclass DEFAULT NULL,
        sketch sketch DEFAULT NULL, by name DEFAULT NULL, version integer DEFAULT -1,
        since jsonb DEFAULT NULL, OUT value text, OUT mmd2 double precision,
        OUT null_sd double precision, OUT p_value double precision,
        OUT fit_residual double precision, OUT n bigint, OUT effect double precision,
        OUT verdict text, OUT columns jsonb, OUT units bigint[])
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_with_sketch' LANGUAGE C STABLE ROWS 1;
COMMENT ON FUNCTION fastclust.drift IS
    'Compares rows with the training rows of a model: rows of a table, the recent ones, or a '
    'sketch made with model_spec(model). Returns one row, or one for each value of the column or '
    'group in `by`.';

CREATE FUNCTION fastclust_internal.read_model_spec(model text) RETURNS sketch_spec
    LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path FROM CURRENT AS $$
BEGIN
    RETURN spec((largest_group(readable_model(model))).training_sketch);
END
$$;
CREATE FUNCTION fastclust.model_spec(model text) RETURNS sketch_spec
    AS 'MODULE_PATHNAME', 'fastclust_read_once' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION fastclust.model_spec IS
    'Returns the spec of a model, with which other rows can be sketched for drift.';

-- The function sets no search_path, because it runs the caller's query.
CREATE FUNCTION fastclust.change_points(query text, OUT changed_at timestamptz,
        OUT found_at timestamptz, OUT p_value double precision, OUT effect double precision,
        OUT dimension integer, OUT shift double precision)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_change_points' LANGUAGE C STABLE ROWS 10;
COMMENT ON FUNCTION fastclust.change_points IS
    'Returns the times when rows changed, found in dated sketches that a query returns, for '
    'example one a day. Reads no row.';

-- If no model is named, checks only the models that the current user owns. Models of roles of which
-- the user is a member are left out: their owners may check them. An error in the check of one
-- model does not stop the check of the others.
CREATE FUNCTION fastclust.check_drift(INOUT model text DEFAULT NULL, OUT version integer,
        OUT group_value text, OUT verdict text, OUT effect double precision,
        OUT p_value double precision, OUT n bigint, OUT columns jsonb, OUT problem text)
    RETURNS SETOF record
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    one bigint := CASE WHEN model IS NOT NULL THEN (locked_model(model, true)).id END;
    stored stored_models;
    found drift_checks;
BEGIN
    PERFORM reject_read_only('drift cannot be logged');
    FOR stored IN
        SELECT m.*
          FROM own_models m JOIN pg_roles r ON r.rolname = current_user
         WHERE CASE WHEN one IS NOT NULL THEN m.id = one
                    ELSE m.version IS NOT NULL AND m.owner_id = r.oid END
         ORDER BY m.model
    LOOP
        model := stored.model;
        version := stored.version;
        problem := NULL;
        BEGIN
            SELECT stored.id, stored.version, v.relation, sum(d.n) OVER (), d.mmd2, d.null_sd,
                   d.p_value, d.fit_residual, d.effect,
                   CASE WHEN d.verdict IN ('new group', 'gone') THEN 'slight' ELSE d.verdict END,
                   d.columns, 0.01, 0.1, d.value
              INTO found.model_id, found.version, found.relation, found.n, found.mmd2,
                   found.null_sd, found.p_value, found.fit_residual, found.effect, found.verdict,
                   found.columns, found.threshold, found.min_effect, found.group_value
              FROM largest_group(stored) v,
                   drift(stored.model, by => CASE WHEN stored.group_by IS NOT NULL THEN 'group' END) d
             ORDER BY array_position('{drifted,new group,gone,slight,none}', d.verdict),
                      d.effect DESC NULLS LAST LIMIT 1;
            found.id := write_drift(found);
            IF found.verdict = 'drifted' THEN
                -- Any role may receive the notification. The id is useful only to roles that may
                -- read drift_log.
                PERFORM pg_notify('fastclust_drift', found.id::text);
            END IF;
            SELECT found.group_value, found.verdict, found.effect, found.p_value, found.n,
                   found.columns
              INTO group_value, verdict, effect, p_value, n, columns;
        EXCEPTION WHEN OTHERS THEN
            IF one IS NOT NULL THEN
                RAISE;
            END IF;
            SELECT 'failed', SQLERRM
              INTO verdict, problem, group_value, effect, p_value, n, columns;
            RAISE WARNING USING
                MESSAGE = format('model "%s" cannot be checked: %s', model, problem);
        END;
        RETURN NEXT;
    END LOOP;
END
$$;
COMMENT ON FUNCTION fastclust.check_drift IS
    'Tests a model, or each model that the caller owns, for drift. Returns one row per model, '
    'logs it in drift_log, and sends a notification on channel fastclust_drift if the model '
    'drifted. Does not retrain.';

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

-- Labels: clusters of the rows of a relation, written to a table

-- Writes the rows of a query over a relation and returns their number. vectors: the query with
-- vectors in place of clusters, which the model labels in batches, or NULL.
CREATE FUNCTION fastclust_internal.write_rows(model text, target regclass, query text,
        vectors text, model_id bigint, relation regclass)
    RETURNS bigint
    AS 'MODULE_PATHNAME', 'fastclust_write_rows' LANGUAGE C;

-- Returns the columns of the primary key of a relation, NULL without one.
CREATE FUNCTION fastclust_internal.primary_key(relation regclass) RETURNS name[]
    LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
    SELECT array_agg(a.attname ORDER BY u.i)
      FROM pg_index x
     CROSS JOIN unnest(x.indkey) WITH ORDINALITY u(attnum, i)
      JOIN pg_attribute a ON a.attrelid = x.indrelid AND a.attnum = u.attnum
     WHERE x.indrelid = relation AND x.indisprimary AND u.i <= x.indnkeyatts
$$;

-- Returns the columns that identify the row of a label: the columns in option key, else the primary
-- key.
CREATE FUNCTION fastclust_internal.label_keys(relation regclass, options jsonb) RETURNS name[]
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $$
DECLARE
    primary_key name[] := primary_key(relation);
    keys name[] := CASE jsonb_typeof(options -> 'key')
                        WHEN 'array'
                            THEN ARRAY(SELECT k FROM jsonb_array_elements_text(options -> 'key') k)
                        WHEN 'string' THEN CASE WHEN options ->> 'key' LIKE '{%'
                                                    THEN (options ->> 'key')::name[]
                                                ELSE ARRAY[options ->> 'key'] END
                        ELSE primary_key END;
    twice name := (SELECT k
                     FROM unnest(keys
                                 || 'cluster'::name
                                 || CASE WHEN flag_option(options, 'name')
                                             THEN 'cluster_name'::name END
                                 || CASE WHEN flag_option(options, 'distance')
                                             THEN 'distance'::name END) k
                    GROUP BY k
                   HAVING count(k) > 1
                    ORDER BY k LIMIT 1);
BEGIN
    IF keys IS NULL THEN
        RAISE undefined_object USING MESSAGE = format('%s has no primary key', relation),
            HINT = 'Name columns that identify rows in the option key: {"key": ["..."]}.';
    ELSIF keys = '{}' THEN
        RAISE invalid_parameter_value USING MESSAGE = 'option "key" must name at least one column';
    ELSIF twice IS NOT NULL THEN
        RAISE duplicate_column USING
            MESSAGE = format('column "%s" of the labels is named twice', twice),
            HINT = 'Name other columns in the option "key", or rename the column in a view.';
    ELSIF flag_option(options, 'follow') AND keys IS DISTINCT FROM primary_key THEN
        RAISE feature_not_supported USING
            MESSAGE = format('option "follow" needs the primary key of %s as key', relation),
            HINT = 'Leave out option "follow", and write the labels again with option "replace".';
    END IF;
    RETURN keys;
END
$$;

-- Returns a query with one row for each row of the relation: its key, its cluster, and its name and
-- distance if the options request them. vectors is the query with vectors in place of clusters, or
-- NULL if rows cannot be labelled in batches.
CREATE FUNCTION fastclust_internal.label_query(version stored_versions, relation regclass,
        keys name[], options jsonb, OUT query text, OUT vectors text)
    AS 'MODULE_PATHNAME', 'fastclust_label_query' LANGUAGE C STABLE STRICT
    SET search_path FROM CURRENT;

-- ---- tables that follow their model ----

CREATE TABLE fastclust_internal.label_tables (
    model_id bigint NOT NULL REFERENCES stored_models ON DELETE CASCADE,
    target text NOT NULL,    -- qualified and quoted, like relation
    target_owner role_name NOT NULL,    -- owner of the target when it was written
    relation text NOT NULL,
    options jsonb NOT NULL,    -- options of write_labels
    followed_by role_name NOT NULL,    -- role that wrote the labels
    followed_by_id oid GENERATED ALWAYS AS (role_id(followed_by)) STORED,
    PRIMARY KEY (model_id, target));
SELECT pg_catalog.pg_extension_config_dump('label_tables', '');
CREATE VIEW fastclust_internal.own_label_tables WITH (security_barrier) AS
    SELECT l.* FROM own_models m JOIN label_tables l ON l.model_id = m.id;
GRANT SELECT ON own_label_tables TO PUBLIC;

-- Records that the table follows the model. If options is NULL, deletes the record.
CREATE FUNCTION fastclust_internal.write_follower(model_id bigint, target text, relation text,
        options jsonb)
    RETURNS void
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C;
CREATE FUNCTION fastclust_owner.write_follower(model_id bigint, target text, relation text,
        options jsonb, caller oid)
    RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    stored stored_models := locked_model(model_id, NULL, false, caller);
BEGIN
    DELETE FROM label_tables l WHERE l.model_id = stored.id AND l.target = $2;
    IF options IS NOT NULL THEN
        INSERT INTO label_tables (model_id, target, target_owner, relation, options, followed_by)
        VALUES (stored.id, $2, owner_of($2), $3, $4, pg_get_userbyid(caller));
    END IF;
END
$$;

-- Returns the reason why the caller may not update a label table, NULL if there is none.
CREATE FUNCTION fastclust_internal.label_problem(follower label_tables, target regclass)
    RETURNS text
    LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
    SELECT CASE WHEN is_trusted_owner(follower.followed_by_id) IS NOT TRUE
                    THEN format('they were written by role %s', follower.followed_by)
                WHEN is_superuser(role_id(current_user)) THEN scan_problem(target, NULL)
                ELSE owner_problem(target, follower.target_owner) END
$$;

-- Warns that a label table could not be updated, with the way to update it by hand.
CREATE FUNCTION fastclust_internal.warn_not_updated(message text) RETURNS void
    LANGUAGE plpgsql STRICT SET search_path FROM CURRENT AS $$
BEGIN
    RAISE WARNING USING
        MESSAGE = $1,
        HINT = 'Write the labels again by write_labels with the option "replace"; with "follow": false, they are no longer updated.';
END
$$;

-- Updates the label tables of a model to its current version: updates labels that changed, adds
-- labels of new rows, and removes labels of deleted rows. The function runs with the rights of the
-- caller, so the tables must have been written by the caller or by a superuser. If a table cannot
-- be updated, raises a WARNING. If a table no longer exists, deletes its record.
CREATE FUNCTION fastclust_internal.update_labels(model_id bigint) RETURNS void
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET standard_conforming_strings = on SET array_nulls = on
    SET lc_monetary = 'C' SET quote_all_identifiers = off AS $$
DECLARE
    stored stored_models := (SELECT m FROM own_models m WHERE m.id = model_id);
    follower label_tables;
    version stored_versions;
    target regclass;
    problem text;
    relation regclass;
    keys name[];
BEGIN
    FOR follower IN SELECT l.* FROM own_label_tables l WHERE l.model_id = $1 ORDER BY l.target LOOP
        BEGIN
            target := to_regclass(follower.target);
            IF is_trusted_owner(follower.followed_by_id) THEN
                target := locked_relation(target);
            END IF;
            IF target IS NULL THEN
                PERFORM write_follower($1, follower.target, NULL, NULL);
                CONTINUE;
            END IF;
            version := largest_group(stored);
            version.relation := follower.relation;
            relation := scanned_relation(stored, version, NULL, stored.group_by);
            problem := label_problem(follower, target);
            IF problem IS NOT NULL THEN
                RAISE insufficient_privilege USING MESSAGE = problem;
            END IF;
            keys := label_keys(relation, follower.options);
            EXECUTE (
                SELECT format($query$
                    WITH changed AS MATERIALIZED (
                             SELECT %1$s, %2$s, f IS NULL AS "is gone", l IS NULL AS "is new"
                               FROM (%3$s) f FULL JOIN %4$s l ON %5$s
                              WHERE %6$s),
                         updated AS (
                             UPDATE %4$s l SET %7$s FROM changed c
                              WHERE NOT c."is gone" AND NOT c."is new" AND %8$s),
                         removed AS (
                             DELETE FROM %4$s l USING changed c WHERE c."is gone" AND %8$s)
                    INSERT INTO %4$s (%9$s) SELECT %9$s FROM changed c WHERE c."is new" $query$,
                    string_agg(format('COALESCE(f.%1$I, l.%1$I) AS %1$I', u.name), ', ')
                        FILTER (WHERE u.is_key),
                    string_agg(format('f.%I', u.name), ', ') FILTER (WHERE NOT u.is_key),
                    (label_query(version, relation, keys, follower.options)).query,
                    target,
                    string_agg(format('f.%1$I = l.%1$I', u.name), ' AND ')
                        FILTER (WHERE u.is_key),
                    string_agg(format('f.%1$I IS DISTINCT FROM l.%1$I', u.name), ' OR '),
                    string_agg(format('%1$I = c.%1$I', u.name), ', ')
                        FILTER (WHERE NOT u.is_key),
                    string_agg(format('l.%1$I = c.%1$I', u.name), ' AND ')
                        FILTER (WHERE u.is_key),
                    string_agg(format('%I', u.name), ', '))
                  FROM (SELECT k AS name, true AS is_key FROM unnest(keys) k
                        UNION ALL
                        SELECT o.name, false
                          FROM (VALUES
                                ('cluster', true),
                                ('cluster_name', flag_option(follower.options, 'name')),
                                ('distance', flag_option(follower.options, 'distance')))
                               o(name, wanted)
                         WHERE o.wanted) u);
        EXCEPTION
            WHEN transaction_rollback THEN
                RAISE;
            WHEN OTHERS THEN
                PERFORM warn_not_updated(
                    format('labels in %s could not be updated to the current version of model "%s": %s',
                           follower.target, stored.model, SQLERRM));
        END;
    END LOOP;
END
$$;

-- Updates the names in the label tables of a model. A label table of a model with groups may not
-- show which group a row belongs to, so it gets all its labels again. Raises a WARNING where
-- update_labels does.
CREATE FUNCTION fastclust_internal.update_names(model_id bigint) RETURNS void
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    stored stored_models := (SELECT m FROM own_models m WHERE m.id = model_id);
    follower label_tables;
    target regclass;
    problem text;
BEGIN
    FOR follower IN
        SELECT l.* FROM own_label_tables l
         WHERE l.model_id = $1 AND flag_option(l.options, 'name')
         ORDER BY l.target
    LOOP
        IF stored.group_by IS NOT NULL THEN
            PERFORM update_labels($1);
            EXIT;
        END IF;
        BEGIN
            target := to_regclass(follower.target);
            IF is_trusted_owner(follower.followed_by_id) THEN
                target := locked_relation(target);
            END IF;
            CONTINUE WHEN target IS NULL;
            problem := label_problem(follower, target);
            IF problem IS NOT NULL THEN
                RAISE insufficient_privilege USING MESSAGE = problem;
            END IF;
            EXECUTE format($query$
                UPDATE %s l SET cluster_name = n.name FROM fastclust.model_clusters n
                 WHERE n.model = $1
                   AND l.cluster = n.cluster
                   AND l.cluster_name IS DISTINCT FROM n.name $query$,
                           target)
                USING stored.model;
        EXCEPTION
            WHEN transaction_rollback THEN
                RAISE;
            WHEN OTHERS THEN
                PERFORM warn_not_updated(
                    format('names in %s could not be updated to those of model "%s": %s',
                           follower.target, stored.model, SQLERRM));
        END;
    END LOOP;
END
$$;

CREATE FUNCTION fastclust.name_cluster(model text, cluster integer, name text,
        group_value text DEFAULT NULL)
    RETURNS void
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    PERFORM fastclust_internal.name_cluster($1, $2, $3, $4);
    PERFORM update_names((SELECT m.id FROM own_models m WHERE m.model = $1));
END
$$;
COMMENT ON FUNCTION fastclust.name_cluster IS
    'Names a cluster of a model, or of one of its groups. A NULL name removes the name, so that '
    'a suggested one is shown. Names stay with their clusters when the model is retrained.';

CREATE FUNCTION fastclust.use_version(model text, version integer) RETURNS void
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    chosen stored_models := at_version(locked_model($1, true), $2);
BEGIN
    PERFORM serve_version(chosen.id, chosen.version, NULL), update_labels(chosen.id);
END
$$;
COMMENT ON FUNCTION fastclust.use_version IS
    'Makes another version current, which predict then uses: an old one, or a candidate.';

-- ---- write_labels ----

-- Does the work of write_labels, once the name of the target is resolved.
CREATE FUNCTION fastclust_internal.label_rows(model text, relation regclass, target text,
        options jsonb)
    RETURNS bigint
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET standard_conforming_strings = on SET array_nulls = on
    SET lc_monetary = 'C' SET quote_all_identifiers = off AS $$
DECLARE
    stored stored_models := readable_model(model);
    version stored_versions;
    scanned regclass;
    keys name[];
    texts record;
    existing regclass := to_regclass(target);
    written bigint;
BEGIN
    PERFORM reject_read_only('labels cannot be written'),
            check_training_options(options, 'write_labels');
    IF flag_option(options, 'follow') THEN
        -- The lock prevents a new version between these labels and their first update.
        stored := locked_model(model, true);
    END IF;
    version := largest_group(stored);
    scanned := scanned_relation(stored, version, relation, stored.group_by);
    keys := label_keys(scanned, options);
    texts := label_query(version, scanned, keys, options);
    -- Create the target, empty it, or append to it.
    IF flag_option(options, 'append')
       AND (flag_option(options, 'replace') OR flag_option(options, 'follow')) THEN
        RAISE invalid_parameter_value USING
            MESSAGE = format('options "append" and "%s" exclude each other',
                             CASE WHEN flag_option(options, 'replace') THEN 'replace'
                                  ELSE 'follow' END);
    ELSIF flag_option(options, 'follow') AND target LIKE 'pg_temp.%' THEN
        RAISE feature_not_supported USING MESSAGE = 'a temporary table cannot follow a model',
            HINT = 'Use a permanent table as target.';
    ELSIF existing = scanned THEN
        RAISE invalid_parameter_value USING
            MESSAGE = format('labels of %s cannot be written into itself', scanned),
            HINT = 'Use another table as target.';
    ELSIF existing IS NULL THEN
        EXECUTE format('CREATE TABLE %s AS %s WITH NO DATA', target, texts.query);
        existing := target;
        -- Replication needs a primary key. A parent of tables may have rows with equal keys.
        IF keys = primary_key(scanned)
           AND NOT (SELECT c.relkind = 'r' AND c.relhassubclass FROM pg_class c
                     WHERE c.oid = scanned) THEN
            EXECUTE format('ALTER TABLE %s ADD PRIMARY KEY (%s)', target,
                           (SELECT string_agg(format('%I', k), ', ' ORDER BY i)
                              FROM unnest(keys) WITH ORDINALITY u(k, i)));
        END IF;
    ELSIF flag_option(options, 'replace') THEN
        EXECUTE format(CASE WHEN EXISTS (SELECT FROM pg_class c
                                          WHERE c.oid = existing
                                            AND (c.relkind NOT IN ('r', 'p') OR c.relhastriggers))
                                THEN 'DELETE FROM %s'
                            ELSE 'TRUNCATE %s' END,
                       target);
    ELSIF NOT flag_option(options, 'append') THEN
        RAISE duplicate_table USING MESSAGE = format('relation %s exists already', target),
            HINT = 'Use option "replace" to empty the table first, or "append" to add rows to it.';
    END IF;
    written := write_rows(stored.model, existing, texts.query, texts.vectors, stored.id, scanned);
    IF options ? 'follow' THEN
        -- The condition is stored with names and dates resolved, because other sessions will read
        -- it.
        PERFORM write_follower(
                    stored.id, format('%s', existing), r.relation_name,
                    CASE WHEN flag_option(options, 'follow')
                             THEN options
                                  || jsonb_strip_nulls(
                                         jsonb_build_object('where', r.condition)) END)
          FROM row_expressions(scanned, version.features, version.vector, NULL, NULL,
                               options ->> 'where') r;
    END IF;
    RETURN written;
END
$$;

CREATE FUNCTION fastclust.write_labels(model text, relation regclass, target text,
        options jsonb DEFAULT '{}')
    RETURNS bigint
    AS 'MODULE_PATHNAME', 'fastclust_write_labels' LANGUAGE C;
COMMENT ON FUNCTION fastclust.write_labels IS
    'Writes the key and the cluster of each row of a relation to a table, which is created if it '
    'does not exist. Returns the number of rows.';

-- Live models: with option live, train also makes a live sketch of the model's rows, which drift
-- and retrain read instead of the rows

-- Raises an error if triggers cannot maintain a live sketch of the table. Called before the
-- training reads any row.
CREATE FUNCTION fastclust_internal.check_live_training(model text, relation regclass,
        features name[], options jsonb)
    RETURNS void
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $$
DECLARE
    requested kept_sketches;
BEGIN
    PERFORM live_bucket_width(relation, options ->> 'group_by', options -> 'live'),
            check_live_isolation(model);
    IF NOT owns_relation(role_id(current_user), relation) THEN
        RAISE insufficient_privilege USING MESSAGE = format('must be owner of %s', relation),
            HINT = 'Only the owner of the table can train a live model, which makes triggers on the table.';
    END IF;
    requested.relation := relation;
    requested.columns := features;
    PERFORM check_live_tables(requested);
    PERFORM check_model_follows(ROW(m.*)::stored_models, $2) FROM readable_models m
     WHERE m.model = $1;
END
$$;

-- Makes a live sketch that counts rows as the training sketch of a version did. If the version was
-- trained with option live false, drops the live sketch of the model. Returns a note about a new
-- live sketch, else NULL. A training of method density always needs a new live sketch if it reads
-- rows, because it has new micro-clusters.
CREATE FUNCTION fastclust_internal.follow_model(model_id bigint, version integer,
        micro_clusters fastop)
    RETURNS text
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    trained stored_versions;
    requested kept_sketches;
BEGIN
    SELECT v.* INTO trained
      FROM readable_versions v
     WHERE v.model_id = $1 AND v.version = $2
     LIMIT 1;
    IF NOT flag_option(trained.options, 'live', true) THEN
        PERFORM end_model_live(model_id);
        RETURN NULL;
    END IF;
    requested := requested_live(trained.model, trained.relation::regclass, trained.features, trained.vector,
                        trained.spec,
                        jsonb_strip_nulls(
                            jsonb_build_object(
                                'group_by', trained.options ->> 'group_by', 'where',
                                trained.options ->> 'where', 'encoder', trained.encoder::text)
                            || CASE jsonb_typeof(trained.options -> 'live')
                                    WHEN 'object' THEN trained.options -> 'live'
                                    ELSE '{}' END));
    requested.model_id := model_id;
    -- Leave out the counts of micro-clusters if they are larger than the sketch of a micro-cluster,
    -- as is usual with many columns.
    requested.drift_spec := CASE WHEN micro_clusters IS NULL
                                  OR octet_length(trained.drift_counts::text)
                                         <= octet_length(trained.training_sketch::text)
                                 THEN drift_spec_of(trained) END;
    requested.micro_clusters := micro_clusters;
    requested.center := CASE WHEN micro_clusters IS NOT NULL THEN trained.center END;
    requested.scale := CASE WHEN micro_clusters IS NOT NULL THEN trained.scale END;
    requested.micro_options := CASE WHEN micro_clusters IS NOT NULL
                                    THEN jsonb_build_array(
                                             trained.options -> 'micro_clusters',
                                             trained.options -> 'min_cluster_rows') END;
    IF micro_clusters IS NULL
       AND (model_live(model_id)).id IS NOT NULL
       AND (live_of_version(trained)).id IS NOT NULL THEN
        RETURN NULL;
    END IF;
    PERFORM end_model_live(model_id);
    requested.id := (SELECT l.id
                   FROM live_of_rows(requested.relation, requested.features, true, trained.options, true) l
                  WHERE l.spec = requested.spec AND requested.micro_clusters IS NULL
                  LIMIT 1);
    RETURN COALESCE(keep_live(requested) || ' rows', 'already counted');
END
$$;

-- Returns the live sketch from which the next version can be decoded, or NULL if rows have to be
-- read. The caller has checked that no option requires rows (FOR_LIVE in pg/train/options.c).
CREATE FUNCTION fastclust_internal.live_for_retraining(stored stored_models, version stored_versions,
        options jsonb)
    RETURNS kept_sketches
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    live kept_sketches;
    scans integer;
BEGIN
    IF version.method IN ('kernel', 'qkmeans')
       OR version.options ?| '{factors,metric,balance,pinned}'
       OR options ? (CASE WHEN version.method = 'density' THEN 'k' ELSE 'noise' END)
       OR options -> 'live' <> 'true' THEN
        RETURN NULL;
    END IF;
    -- If option since is null, it removes the window of the version.
    live := live_of_version(version,
                            NULLIF(COALESCE(options -> 'since', version.options -> 'since'),
                                   'null'));
    scans := COALESCE((version.options ->> 'iterations')::float8::integer, 0);
    IF live.id IS NOT NULL
       AND scans <> 0
       AND version.method = 'compressive'
       AND NOT flag_option(version.options || options, 'quiet') THEN
        RAISE NOTICE USING
            MESSAGE = format('model "%s" is live: its %s scans of about %s rows are left out',
                             version.model, scans, row_count(current_sketch(live.name))),
            HINT = format('To include the scans, use retrain(%L, ''{"iterations": %s}'').', version.model,
                          scans);
    END IF;
    RETURN CASE WHEN live.id IS NOT NULL THEN live END;
END
$$;

-- choose_k for a live sketch: compares numbers of clusters by their fit to the sketch, without
-- reading rows

-- Returns the cost of each number of clusters that is tried, and marks the elbow. The clusters are
-- decoded from a live sketch. stability is NULL, because a sketch cannot be split in halves.
CREATE FUNCTION fastclust_internal.choose_k_live(relation regclass, features name[],
        vector boolean, max_k integer, options jsonb, OUT k integer, OUT cost double precision,
        OUT gain double precision, OUT stability double precision, OUT verdict text)
    RETURNS SETOF record
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    live kept_sketches := (SELECT l
                             FROM live_of_rows(
                                      relation, features, vector,
                                      jsonb_build_object(
                                          'where',
                                          (row_condition(
                                               relation, options ->> 'where')).condition)) l
                            LIMIT 1);
    other text := (SELECT min(o) FROM jsonb_object_keys(options) o
                    WHERE o <> ALL ('{live,seed,where}'));
    settings jsonb := jsonb_build_object(
                          'seed', COALESCE((options ->> 'seed')::numeric::bigint, 0));
    sample_spec sketch_spec;
    now sketch;
    max_tried integer;
    tried integer[] := '{}';
    costs float8[] := '{}';
    best integer;
BEGIN
    PERFORM check_execute(role_id(current_user), 'choose_k');
    IF other IS NOT NULL THEN
        RAISE feature_not_supported USING
            MESSAGE = format('option "%s" applies to rows, but a live sketch has no rows', other),
            HINT = 'Leave out option "live".';
    ELSIF live.id IS NULL THEN
        RAISE undefined_object USING
            MESSAGE = format('no live sketch counts %s of %s', array_to_string(features, ', '),
                             relation),
            HINT = 'Make a live sketch without groups by keep_sketch or the option live of train, or leave out option "live".';
    END IF;
    now := current_sketch(live.name);
    IF now IS NULL THEN
        RAISE no_data_found USING MESSAGE = format('live sketch "%s" has no rows', live.name);
    END IF;
    max_tried := least(max_k, row_count(now));
    -- spec with the sample rows of the training if the live sketch belongs to a model, else the
    -- spec of the live sketch
    sample_spec := COALESCE((SELECT v.spec
                         FROM readable_models m JOIN readable_versions v ON v.version = m.version
                        WHERE m.id = live.model_id
                          AND v.model_id = live.model_id
                          AND is_live_group(v.training_sketch, NULL, live.spec, NULL)
                        LIMIT 1),
                      live.spec);
    -- The first pass tries numbers from 1 to the maximum in steps of a fifth, like fc_choose_k. The
    -- second pass adds all numbers between the neighbours of the elbow. The elbow is the number
    -- whose logarithm of the cost is farthest below the line through both ends. A cost is the mean
    -- squared distance, estimated from the sketch.
    FOR i IN 1 .. 2 LOOP
        SELECT array_agg(t.n ORDER BY t.n), array_agg(t.c ORDER BY t.n) INTO tried, costs
          FROM (SELECT n,
                       COALESCE(costs[array_position(tried, n)],
                                (SELECT sum(c.weight * c.spread ^ 2) / sum(c.weight)
                                            * cardinality(means(now))
                                   FROM decode(now, n, 'auto', settings, sample_spec) c)) AS c
                  FROM (WITH RECURSIVE steps(n) AS (
                                           SELECT 1
                                           UNION ALL
                                           SELECT least(max_tried, s.n + 1 + s.n / 5) FROM steps s
                                            WHERE s.n < max_tried)
                        SELECT s.n FROM steps s
                        UNION
                        SELECT g.n
                          FROM generate_series(
                                   (SELECT max(t) FROM unnest(tried) t WHERE t < best),
                                   (SELECT min(t) FROM unnest(tried) t WHERE t > best)) g(n))
                           q(n)) t;
        best := COALESCE((SELECT t.n
                            FROM (SELECT u.n, ln(greatest(u.c, 1e-12 * costs[1])) AS height
                                    FROM unnest(tried, costs) u(n, c)
                                   WHERE costs[1] > 0) t,
                                 (SELECT ln(greatest(costs[cardinality(costs)],
                                                     1e-12 * costs[1])) AS lowest,
                                         ln(costs[1]) AS highest
                                   WHERE costs[1] > 0) e
                           ORDER BY (e.highest - t.height) / NULLIF(e.highest - e.lowest, 0) - (
                                        t.n - 1.0) / NULLIF(
                                        tried[cardinality(tried)] - 1, 0) DESC NULLS LAST,
                                    t.n LIMIT 1),
                         1);
    END LOOP;
    RETURN QUERY
        SELECT t.n, t.c,
               1 - (t.c / NULLIF(lag(t.c) OVER by_k, 0)) ^ (
                   1.0::float8 / (t.n - lag(t.n) OVER by_k)),
               NULL::float8, CASE WHEN t.n = best THEN 'elbow' END
          FROM unnest(tried, costs) t(n, c)
        WINDOW by_k AS (ORDER BY t.n)
         ORDER BY t.n;
END
$$;

-- choose_k: chooses the number of clusters from a sample, by the rule in core/kmeans/choose.h

CREATE FUNCTION fastclust.choose_k(relation regclass, features text, max_k integer DEFAULT 50,
        options jsonb DEFAULT '{}', OUT k integer, OUT cost double precision,
        OUT gain double precision, OUT stability double precision, OUT verdict text,
        OUT within integer, OUT reason text)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_choose_k' LANGUAGE C;
COMMENT ON FUNCTION choose_k(regclass, text, integer, jsonb) IS
    'Suggests the number of clusters of a column of vectors or numbers, or of a list of columns. '
    'Returns a row for each number tried, with its cost and stability. The suggested row has a '
    'verdict, the number of clusters within its clusters, and a reason if the choice is not '
    'clear.';
CREATE FUNCTION fastclust.choose_k(relation regclass, features name[], max_k integer DEFAULT 50,
        options jsonb DEFAULT '{}', OUT k integer, OUT cost double precision,
        OUT gain double precision, OUT stability double precision, OUT verdict text,
        OUT within integer, OUT reason text)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_choose_k' LANGUAGE C;
COMMENT ON FUNCTION choose_k(regclass, name[], integer, jsonb) IS
    'Suggests the number of clusters of columns of numbers, which are standardised unless the '
    'options say otherwise.';

-- Kernel k-means of a relation: projects its rows in one pass, then runs k-means on their
-- coordinates

CREATE FUNCTION fastclust.kernel_kmeans(relation regclass, id_column name, features name,
        kernel kernel, k integer, options jsonb DEFAULT '{}', OUT id bigint, OUT cluster integer)
    RETURNS SETOF record
    LANGUAGE plpgsql STABLE PARALLEL RESTRICTED COST 1000000 SET search_path FROM CURRENT AS $$
DECLARE
    missing text := (SELECT u.name
                       FROM unnest('{relation,id_column,features,kernel,k,options}'::text[],
                                   ARRAY[$1::text, $2, $3, $4::text, $5::text,
                                         $6::text]) WITH ORDINALITY u(name, value, i)
                      WHERE u.value IS NULL
                      ORDER BY u.i LIMIT 1);
    of_kmeans CONSTANT text[] := '{n_init,iterations,tolerance}';
    known CONSTANT text[] := '{method,oversampling,columns,seed,rank,published}' || of_kmeans;
    unknown text;
    -- The default, together with an oversampling of 10, does not exceed the maximum number of
    -- columns of one pass.
    rank CONSTANT jsonb := COALESCE(NULLIF($6 -> 'rank', 'null'), to_jsonb(least($5, 490)));
    id_is regtype;
    found bigint;
    projection kernel_projection;
    centers fastop;
BEGIN
    IF missing IS NOT NULL THEN
        RAISE null_value_not_allowed USING MESSAGE = format('%s must not be NULL', missing);
    ELSIF $5 NOT BETWEEN 1 AND 1048576 THEN
        RAISE invalid_parameter_value USING MESSAGE = format('k is %s, out of range', $5),
            DETAIL = 'Valid values are from 1 to 1048576.';
    ELSIF jsonb_typeof($6) <> 'object' THEN
        RAISE invalid_parameter_value USING MESSAGE = 'options must be a JSON object';
    END IF;
    unknown := (SELECT min(o) FROM jsonb_object_keys($6) o WHERE o <> ALL (known));
    id_is := feature_type($1, $2);
    IF unknown IS NOT NULL THEN
        RAISE invalid_parameter_value USING MESSAGE = format('option "%s" is not known', unknown),
            HINT = name_hint(unknown, known, 'Options are');
    ELSIF (CASE jsonb_typeof(rank) WHEN 'number' THEN rank::numeric % 1 <> 0 ELSE true END) THEN
        RAISE invalid_parameter_value USING
            MESSAGE = format('option "rank" must be a whole number, not %s', rank);
    ELSIF rank::numeric NOT BETWEEN 1 AND 502 THEN
        RAISE invalid_parameter_value USING
            MESSAGE = format('option "rank" is %s, out of range', rank),
            DETAIL = 'Valid values are from 1 to 502.';
    -- a domain has the output function of its base type
    ELSIF EXISTS (SELECT FROM pg_type t
                   WHERE t.oid = id_is
                     AND t.typoutput <> ALL ('{int2out,int4out,int8out}'::regproc[])) THEN
        RAISE datatype_mismatch USING
            MESSAGE = format('column "%s" is of type %s, but ids are integers', $2, id_is),
            HINT = 'Number the rows, for instance by row_number() over a unique column.';
    END IF;
    PERFORM feature_type($1, $3);
    -- k clusters need k rows with a vector; checked before the pass over all rows. The subquery
    -- selects a constant because Citus rejects subqueries without columns.
    EXECUTE format('SELECT count(*) FROM (SELECT 1 FROM %s t '
                   'WHERE t.%I IS DISTINCT FROM NULL LIMIT %s) q', $1, $3, $5)
        INTO found;
    IF found BETWEEN 1 AND $5 - 1 THEN
        RAISE invalid_parameter_value USING
            MESSAGE = format('k is %s, but there %s only %s row%s', $5,
                             CASE found WHEN 1 THEN 'is' ELSE 'are' END, found,
                             CASE WHEN found <> 1 THEN 's' END);
    END IF;
    EXECUTE format('SELECT kernel_projection_agg(t.%I::bigint, t.%I, $1, $2, $3) FROM %s t', $2, $3,
                   $1)
        INTO projection USING $4, rank::integer, $6 - (of_kmeans || 'rank'::text);
    -- The published algorithm has ten starts of 20 iterations.
    centers := (SELECT kmeans_agg(e.y, $5,
                                  CASE WHEN ($6 -> 'published')::boolean
                                       THEN '{"n_init": 10, "iterations": 20}'::jsonb
                                       ELSE '{}' END
                                  || $6 - '{method,oversampling,columns,rank,published}'::text[])
                  FROM embedding_of(projection) e);
    RETURN QUERY SELECT e.id, assign(centers, e.y) FROM embedding_of(projection) e;
END
$$;
COMMENT ON FUNCTION fastclust.kernel_kmeans IS
    'Runs kernel k-means on a relation: a one-pass projection, then k-means on the coordinates. '
    'Returns the id and the cluster of each row.';

-- train: trains a model on a table (pg/train/train.h has the steps). The training runs in the
-- caller's transaction: the old version serves until the transaction commits, and a failed training
-- changes nothing.

CREATE FUNCTION fastclust.train(model text, relation regclass, features text,
        k integer DEFAULT NULL, method text DEFAULT 'auto', options jsonb DEFAULT '{}')
    RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_train' LANGUAGE C;
COMMENT ON FUNCTION train(text, regclass, text, integer, text, jsonb) IS
    'Trains a model on a column of vectors or numbers, or on a list of columns. Returns the '
    'number of the new version, which predict uses once the transaction commits.';
CREATE FUNCTION fastclust.train(model text, relation regclass, features name[],
        k integer DEFAULT NULL, method text DEFAULT 'auto', options jsonb DEFAULT '{}')
    RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_train' LANGUAGE C;
COMMENT ON FUNCTION train(text, regclass, name[], integer, text, jsonb) IS
    'Trains a model on columns of numbers, which are standardised unless the options say '
    'otherwise. Returns the number of the new version.';

CREATE FUNCTION fastclust.import_model(model text, relation regclass, features text,
        centroids float8[], options jsonb DEFAULT '{}')
    RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_import_model' LANGUAGE C;
COMMENT ON FUNCTION import_model(text, regclass, text, float8[], jsonb) IS
    'Makes a version of a model with the given centroids and returns its number. The rows of the '
    'relation supply sizes, spreads, and the statistics that drift compares.';
CREATE FUNCTION fastclust.import_model(model text, relation regclass, features text,
        centroids fastop, options jsonb DEFAULT '{}')
    RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_import_model' LANGUAGE C;
COMMENT ON FUNCTION import_model(text, regclass, text, fastop, jsonb) IS
    'Makes a version of a model with the given centroids and returns its number. The rows of the '
    'relation supply sizes, spreads, and the statistics that drift compares.';
CREATE FUNCTION fastclust.import_model(model text, relation regclass, features name[],
        centroids float8[], options jsonb DEFAULT '{}')
    RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_import_model' LANGUAGE C;
COMMENT ON FUNCTION import_model(text, regclass, name[], float8[], jsonb) IS
    'Makes a version of a model with the given centroids and returns its number. The rows of the '
    'relation supply sizes, spreads, and the statistics that drift compares.';
CREATE FUNCTION fastclust.import_model(model text, relation regclass, features name[],
        centroids fastop, options jsonb DEFAULT '{}')
    RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_import_model' LANGUAGE C;
COMMENT ON FUNCTION import_model(text, regclass, name[], fastop, jsonb) IS
    'Makes a version of a model with the given centroids and returns its number. The rows of the '
    'relation supply sizes, spreads, and the statistics that drift compares.';

-- training_progress: running trainings, for roles that may see them

-- Returns all running trainings of this database. Only the owner of the extension may call it.
CREATE FUNCTION fastclust_owner.running_trainings(OUT pid integer, OUT role oid,
        OUT model_id bigint, OUT model text, OUT step text, OUT rows_done bigint,
        OUT rows_about double precision, OUT begun timestamptz, OUT step_begun timestamptz,
        OUT step_ends timestamptz)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_running_trainings' LANGUAGE C;

-- Returns the trainings that a role may see: its own; trainings of roles of which it is a member;
-- and trainings of models that it may read, if the training role may change the model.
CREATE FUNCTION fastclust_internal.training_progress_rows(OUT model text, OUT role name,
        OUT step text, OUT rows_done bigint, OUT rows_about bigint, OUT percent double precision,
        OUT elapsed interval, OUT remaining interval, OUT pid integer)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C;
CREATE FUNCTION fastclust_owner.training_progress_rows(caller oid, OUT model text, OUT role name,
        OUT step text, OUT rows_done bigint, OUT rows_about bigint, OUT percent double precision,
        OUT elapsed interval, OUT remaining interval, OUT pid integer)
    RETURNS SETOF record
    LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
    RETURN QUERY
        SELECT COALESCE(m.model, NULLIF(t.model, '')), pg_get_userbyid(t.role), t.step, t.rows_done,
               round(t.rows_about)::bigint, round(100 * step_share.done)::float8,
               date_trunc('milliseconds', clock_timestamp() - t.begun),
               date_trunc('milliseconds',
                          CASE WHEN step_share.done > 0.005
                                   THEN (clock_timestamp() - t.step_begun) * (1 / step_share.done - 1)
                               WHEN t.step_ends > clock_timestamp()
                                   THEN t.step_ends - clock_timestamp() END),
               t.pid
          FROM running_trainings() t
          LEFT JOIN stored_models m
                    ON m.id = t.model_id
                       AND is_member(t.role, m.owner_id)
                       AND (is_member(caller, m.owner_id) OR is_reader(caller, m)),
               LATERAL (SELECT CASE WHEN t.rows_about > 0
                                        THEN least(1, t.rows_done / t.rows_about) END AS done) step_share
         WHERE m.id IS NOT NULL OR is_member(caller, t.role)
         ORDER BY t.begun;
END
$$;

-- The view calls a function, so that on every server version the rights of the view's reader apply.
CREATE VIEW fastclust.training_progress AS SELECT * FROM training_progress_rows();
COMMENT ON VIEW training_progress IS
    'one row per running training of a model that the reader may read, or of the reader''s own';
COMMENT ON COLUMN training_progress.model IS 'name of the model; NULL for choose_k';
COMMENT ON COLUMN training_progress.role IS 'role that runs the training';
COMMENT ON COLUMN training_progress.step IS
    'running step, as in training_log; NULL between two steps';
COMMENT ON COLUMN training_progress.rows_done IS
    'rows of the table that the step has read; NULL for a step in memory';
COMMENT ON COLUMN training_progress.rows_about IS
    'estimated number of rows that the step will read; NULL for a step in memory';
COMMENT ON COLUMN training_progress.percent IS 'share of the step that is done, in percent';
COMMENT ON COLUMN training_progress.elapsed IS 'time since the training began';
COMMENT ON COLUMN training_progress.remaining IS
    'estimated time until the step ends; NULL if unknown';
COMMENT ON COLUMN training_progress.pid IS 'process ID of the session, for pg_cancel_backend';
GRANT SELECT ON training_progress TO PUBLIC;

-- retrain: trains a new version on new rows; unchanged clusters keep their numbers

-- retrain and retrain_if_drifted use the caller's search_path to find the relation in the options.

CREATE FUNCTION fastclust.retrain(model text, options jsonb DEFAULT '{}',
        sketch sketch DEFAULT NULL)
    RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_retrain' LANGUAGE C;
COMMENT ON FUNCTION fastclust.retrain IS
    'Trains a new version with the settings of the current one, which the options may change. '
    'With a sketch of new rows, uses only this sketch and the training sketch. Clusters that '
    'persist keep their numbers. Returns the number of the version.';

CREATE FUNCTION fastclust.retrain_if_drifted(model text, threshold double precision DEFAULT 0.01,
        min_effect double precision DEFAULT 0.1, options jsonb DEFAULT '{}')
    RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_retrain_if_drifted' LANGUAGE C;
COMMENT ON FUNCTION fastclust.retrain_if_drifted IS
    'Retrains a model if the p-value of drift is below the threshold and its effect is '
    'min_effect or more. Returns the new version, or NULL if it did not retrain. Logs each check '
    'in drift_log.';

-- The polymorphic type makes the parser read an untyped literal as text[].
CREATE FUNCTION fastclust.merge_clusters(model text, clusters anycompatiblearray) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_merge_clusters' LANGUAGE C;
COMMENT ON FUNCTION fastclust.merge_clusters IS
    'Makes a version in which some clusters, given by number or by name, are merged at their '
    'mean. The merged cluster has the number and the name of the largest one; the others keep '
    'theirs. Returns the number of the version.';

-- The numbers of pinned clusters are stored in option pinned of the current version, and retrain
-- copies the option. The numbers remain valid, because clusters that persist keep their numbers.
CREATE FUNCTION fastclust.pin_cluster(model text, cluster integer, pinned boolean DEFAULT true)
    RETURNS void
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C;
CREATE FUNCTION fastclust_owner.pin_cluster(model text, cluster integer, pinned boolean, caller oid)
    RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    stored stored_models := locked_model(model, true, false, caller);
    version stored_versions := explained_version(stored, NULL);
    others jsonb := (SELECT COALESCE(jsonb_agg(e ORDER BY e), '[]')
                       FROM jsonb_array_elements(version.options -> 'pinned') e
                      WHERE e <> to_jsonb(cluster));
BEGIN
    IF cluster IS NULL OR cluster <> ALL (cluster_numbers(version.operator)) THEN
        RAISE invalid_parameter_value USING
            MESSAGE = format('cluster is %s, out of range', COALESCE(cluster::text, 'NULL')),
            DETAIL = format('Model "%s" has clusters %s.', stored.model,
                            listed_numbers(version.operator));
    ELSIF version.method <> 'kmeans' THEN
        RAISE feature_not_supported USING
            MESSAGE = format('method "%s" moves all clusters: none can be pinned', version.method),
            HINT = 'Methods with pinned clusters are auto, kmeans.';
    END IF;
    IF pinned THEN
        others := others || to_jsonb(cluster);
    END IF;
    UPDATE version_groups v
       SET options = CASE others
                          WHEN '[]' THEN v.options - 'pinned'
                          ELSE v.options || jsonb_build_object('pinned', others) END
     WHERE v.model_id = stored.id AND v.version = stored.version;
END
$$;
COMMENT ON FUNCTION fastclust.pin_cluster IS
    'Pins the centroid of a cluster, so that retraining does not move it, or unpins it.';

-- Explanations: clusters in the words and units of the table

-- Returns the dimensions of the rows. feature: the column, or part of one, that a dimension comes
-- from; kind: number, year, boolean, date, timestamp, interval, category or vector, for a cyclic
-- column one of cyclic_kinds (pg/encode/cycle.c); category: the category for which the dimension is
-- 1 (else 0); label: the displayed name, such as "country = DE"; axis_kind: the kind in the core: 0
-- number, 1 log, 2 days, 3 seconds, 4 flag, 5 sine; negated: the words if a flag is 0, such as
-- "country <> DE"; nulls: the dimension that marks the NULLs of the column, if it has values in
-- other dimensions.
CREATE FUNCTION fastclust_internal.labelled_features(version stored_versions,
        OUT dimension integer, OUT feature text, OUT kind text, OUT category text, OUT label text,
        OUT axis_kind integer, OUT negated text, OUT nulls integer)
    RETURNS SETOF record
    LANGUAGE sql STABLE PARALLEL SAFE SET search_path FROM CURRENT AS $$
    SELECT f.dimension, f.feature,
           CASE WHEN f.kind = 'number' AND f.feature ~* '(^|[^a-z])years?([^a-z]|$)' THEN 'year'
                ELSE f.kind END,
           f.category, f.label,
           CASE WHEN f.transform = 'log' THEN 1
                WHEN f.transform = 'sine' THEN 5
                WHEN f.kind IN ('date', 'day of week', 'day of year') THEN 2
                WHEN f.kind IN ('timestamp', 'interval', 'time of day', 'time of week') THEN 3
                WHEN f.kind IN ('boolean', 'category') THEN 4
                ELSE 0 END,
           CASE WHEN f.category = 'missing' OR f.dimension = f.nulls
                    THEN regexp_replace(f.label, 'NULL$', 'not NULL')
                WHEN f.kind = 'category' THEN format('%s <> %s', f.feature, f.category)
                WHEN f.kind = 'boolean' THEN format('not %s', f.feature) END,
           f.nulls
      FROM encoder_features(version.encoder) f
    UNION ALL
    SELECT i, format('%s[%s]', version.features[1], i), 'vector', NULL,
           format('%s[%s]', version.features[1], i), 0, NULL, NULL
      FROM generate_series(1, cardinality(means(version.training_sketch))) i
     WHERE version.encoder IS NULL
$$;

-- ---- the profile ----

-- Returns a row for each cluster and each of two kinds of dimensions: the max_features most
-- distinctive ones, numbered by place from 1, and the max_features ones with the largest |apart|.
-- apart is the difference from the nearest other centroid in this dimension, in standard
-- deviations. nulls has for each dimension the one that marks the NULLs of its column, or 0. If
-- this is above 1/2 in a cluster, the other dimensions of the column have no value. A cyclic column
-- of the encoder has one row; its value is NaN if the values are spread all around.
CREATE FUNCTION fastclust_internal.profile_of_centroids(op fastop, center double precision[],
        scale double precision[], means double precision[], deviations double precision[],
        kinds integer[], max_features integer, nulls integer[], encoder encoder DEFAULT NULL,
        OUT cluster integer,
        OUT dimension integer, OUT value double precision, OUT overall double precision,
        OUT difference double precision, OUT lift double precision, OUT place integer,
        OUT apart double precision)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_profile_of_centroids' LANGUAGE C IMMUTABLE PARALLEL SAFE
    COST 10000 ROWS 1000;

-- Returns the profile of a version, or no rows if the centroids consist of kernel features. If
-- `values` is true, columns that are mostly NULL in a cluster have values as well.
CREATE FUNCTION fastclust_internal.version_profile(version stored_versions, max_features integer,
        "values" boolean DEFAULT false, OUT cluster integer, OUT dimension integer,
        OUT feature text, OUT kind text, OUT category text, OUT label text,
        OUT value double precision, OUT overall double precision, OUT difference double precision,
        OUT lift double precision, OUT place integer, OUT apart double precision, OUT negated text)
    RETURNS SETOF record
    LANGUAGE sql STABLE PARALLEL SAFE ROWS 1000 SET search_path FROM CURRENT AS $$
    WITH f AS MATERIALIZED (
             SELECT * FROM labelled_features(version)),
         axes AS (
             SELECT array_agg(f.axis_kind ORDER BY f.dimension) AS kinds,
                    array_agg(COALESCE(f.nulls, 0) ORDER BY f.dimension) AS nulls FROM f)
    SELECT p.cluster, p.dimension, f.feature, f.kind, f.category, f.label, p.value, p.overall,
           p.difference, p.lift, p.place, p.apart, f.negated
      FROM axes,
           profile_of_centroids(version.operator, version.center, version.scale,
                                means(version.training_sketch), stddevs(version.training_sketch),
                                axes.kinds, max_features,
                                CASE WHEN NOT "values" THEN axes.nulls END, version.encoder) p
      JOIN f USING (dimension)
     WHERE version.map IS NULL
$$;

-- Returns the name of each cluster: the given name, or else two phrases about two columns, the most
-- distinctive one and the one that separates the cluster most from its nearest neighbour. If
-- another cluster would have the same name, a third phrase is added; if that name is not unique
-- either, it consists of the categories and the values of the two features that separate the
-- cluster most, or else of its number. A category that the rows have is named before one that they
-- do not have. The category "other", which has the rare values, is in no name.
CREATE FUNCTION fastclust_internal.version_names(version stored_versions, OUT cluster integer,
        OUT name text)
    RETURNS SETOF record
    LANGUAGE sql STABLE PARALLEL SAFE SET search_path FROM CURRENT AS $$
    WITH described AS (
             SELECT p.cluster, p.dimension, p.feature, p.kind, p.value, p.place,
                    min(p.place) OVER feature AS first_place,
                    max(abs(p.apart)) OVER feature AS apart,
                    p.kind IN ('category', 'boolean') AND p.difference < 0 AS negated,
                    CASE WHEN p.kind = 'category' THEN CASE WHEN p.difference > 0 AND p.value >= 0.5
                                                                THEN p.label
                                                            WHEN p.difference >= 0.5
                                                                 AND p.value >= 0.2
                                                                THEN format('often %s', p.label)
                                                            WHEN p.difference <= -0.5
                                                                 AND p.value < 0.05
                                                                THEN p.negated END
                         WHEN p.kind = 'boolean' THEN CASE WHEN p.difference >= 0.5
                                                                AND p.value >= 0.5 THEN p.feature
                                                           WHEN p.difference <= -0.5
                                                                AND p.value < 0.5
                                                               THEN p.negated END
                         WHEN p.kind IN ('angle', 'time of day', 'time of week', 'day of week',
                                         'day of year')
                             THEN CASE WHEN greatest(abs(p.difference), p.apart) >= 0.5
                                           THEN format('%s %s', p.feature,
                                                       shown_value(p.value, p.kind, false)) END
                         WHEN abs(p.difference) < 0.5 THEN CASE WHEN abs(p.apart) >= 1
                                                                    THEN format('average %s',
                                                                                p.feature) END
                         ELSE format(
                                  '%s%s %s',
                                  CASE WHEN abs(p.difference) >= 1.5 THEN 'very ' ELSE '' END,
                                  CASE WHEN p.kind IN ('date', 'timestamp')
                                           THEN CASE WHEN p.difference > 0 THEN 'late'
                                                     ELSE 'early' END
                                       WHEN p.kind = 'interval'
                                           THEN CASE WHEN p.difference > 0 THEN 'long'
                                                     ELSE 'short' END
                                       WHEN p.difference > 0 THEN 'high'
                                       ELSE 'low' END,
                                  p.feature) END AS words
               FROM version_profile(version, 20) p
              WHERE p.difference IS NOT NULL
                AND (p.kind <> 'category' OR p.category <> 'other')
             WINDOW feature AS (PARTITION BY p.cluster, p.feature)),
         phrases AS (
             SELECT DISTINCT ON (t.cluster, t.feature) t.*
               FROM described t
              WHERE t.words IS NOT NULL
              ORDER BY t.cluster, t.feature, t.negated, t.place),
         ranked_phrases AS (
             SELECT p.*,
                    row_number() OVER (PARTITION BY p.cluster ORDER BY p.words LIKE 'average %',
                                       p.negated, p.first_place) AS first
               FROM phrases p),
         ordered AS (
             SELECT p.cluster, p.words, p.negated,
                    row_number() OVER (PARTITION BY p.cluster ORDER BY p.first > 1, p.apart < 0.5,
                                       p.negated, p.apart DESC, p.first_place) AS i
               FROM ranked_phrases p),
         named AS (
             SELECT c.cluster,
                    string_agg(o.words, ', ' ORDER BY o.negated, o.i)
                        FILTER (WHERE o.i <= 2) AS two,
                    string_agg(o.words, ', ' ORDER BY o.negated, o.i) AS three
               FROM unnest(cluster_numbers(version.operator)) c(cluster)
               LEFT JOIN ordered o ON o.cluster = c.cluster AND o.i <= 3
              GROUP BY 1),
         worded AS (
             SELECT n.cluster,
                    COALESCE(CASE WHEN count(*) OVER (PARTITION BY n.two) = 1 THEN n.two
                                  ELSE n.three END,
                             'average') AS name
               FROM named n),
         counted AS (
             SELECT w.*, count(*) OVER (PARTITION BY w.name) AS same FROM worded w),
         separating AS (
             SELECT q.*, row_number() OVER (PARTITION BY q.cluster ORDER BY q.apart DESC,
                                            q.first_place) AS i
               FROM (SELECT DISTINCT ON (d.cluster, d.feature) d.* FROM described d
                       JOIN counted USING (cluster)
                      WHERE counted.same > 1
                        AND (d.words IS NOT NULL OR d.kind NOT IN ('category', 'boolean'))
                      ORDER BY d.cluster, d.feature, d.words IS NULL, d.negated, d.place) q),
         valued AS (
             SELECT s.cluster,
                    string_agg(CASE WHEN s.kind IN ('category', 'boolean') THEN s.words
                                    ELSE format('%s %s', s.feature,
                                                shown_value(s.value, s.kind, false)) END,
                               ', ' ORDER BY s.negated, s.dimension) AS name
               FROM separating s
              WHERE s.i <= 2
              GROUP BY 1),
         chosen AS (
             SELECT c.cluster, CASE WHEN c.same = 1 THEN c.name ELSE v.name END AS name
               FROM counted c LEFT JOIN valued v USING (cluster))
    SELECT n.cluster,
           COALESCE(g.name,
                    CASE WHEN version.map IS NULL AND count(*) OVER (PARTITION BY n.name) = 1
                             THEN n.name END,
                    format('cluster %s', n.cluster))
      FROM chosen n
      LEFT JOIN given_names(version) g ON g.cluster = n.cluster
     ORDER BY 1
$$;

CREATE FUNCTION fastclust_internal.check_has_features(version stored_versions) RETURNS void
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $$
BEGIN
    IF version.map IS NOT NULL THEN
        RAISE wrong_object_type USING
            MESSAGE = format('model "%s" is of method kernel: its centroids have no features',
                             version.model),
            HINT = 'Use cluster_rules or typical_rows, which describe its clusters by rows of the table.';
    END IF;
END
$$;

CREATE FUNCTION fastclust.profile(model text, group_value anycompatible DEFAULT NULL,
        OUT cluster integer, OUT name text, OUT feature text, OUT value double precision,
        OUT overall double precision, OUT difference double precision, OUT lift double precision,
        OUT shown text)
    RETURNS SETOF record
    LANGUAGE plpgsql STABLE ROWS 100 SET search_path FROM CURRENT AS $$
DECLARE
    version stored_versions := explained_version(readable_model($1),
                                                  group_of($1, -1, $2));
BEGIN
    PERFORM check_has_features(version);
    RETURN QUERY
        SELECT p.cluster, n.name, p.label, NULLIF(p.value, 'NaN'), NULLIF(p.overall, 'NaN'),
               p.difference, p.lift,
               shown_value(p.value, p.kind, false)
          FROM version_profile(version, 2147483647) p JOIN version_names(version) n USING (cluster)
         WHERE p.value IS NOT NULL
         ORDER BY p.cluster, p.place;
END
$$;
COMMENT ON FUNCTION fastclust.profile IS
    'Returns the features that distinguish each cluster: a row per cluster and feature, in the '
    'unit of the table, most distinctive first. A logarithmic column has a typical value, from the '
    'mean of its logarithms, which is below its mean. The value of a cyclic column is NULL if its '
    'values are spread all around. group_value selects a group.';

-- Rules: conditions on columns that the rows of a cluster have in common

-- Returns rules for the labels that op assigns to rows. A rule consists of ranges lower < value <=
-- upper of unscaled values; a bound may be infinite. space_rows are the rows as input of op, and
-- raw_rows the same rows unscaled, both in the same random order. kinds: 0 number, 1 log, 2 days, 3
-- seconds, 4 flag, 5 sine. The range of a cyclic column of the encoder, which may be NULL, is lower
-- <= value < upper, and may go beyond the end of its period. is_short: true for a short rule, which
-- is returned in addition to the rules of the tree. fidelity is measured on rows from which no rule
-- was learned.
CREATE FUNCTION fastclust_internal.rules_of_sample(op fastop, space_rows fastop, raw_rows fastop,
        kinds integer[], columns integer[], conditions integer, encoder encoder DEFAULT NULL,
        OUT cluster integer, OUT dimensions integer[], OUT lower double precision[],
        OUT upper double precision[], OUT is_short boolean, OUT fidelity double precision)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_rules_of_sample' LANGUAGE C IMMUTABLE PARALLEL SAFE
    COST 1000000 ROWS 20;

-- Returns the SQL condition for ranges of the dimensions of one feature. Dates and times are
-- written as they are displayed.
CREATE FUNCTION fastclust_internal.feature_condition(encoder encoder, relation regclass,
        dimensions integer[], lower double precision[], upper double precision[],
        lower_shown text[], upper_shown text[])
    RETURNS text
    AS 'MODULE_PATHNAME', 'fastclust_feature_condition' LANGUAGE C STABLE STRICT;

-- Returns the range lower <= value < upper of a cyclic column in words, or NULL if the dimension is
-- of another column.
CREATE FUNCTION fastclust_internal.arc_in_words(encoder encoder, dimension integer,
        lower double precision, upper double precision)
    RETURNS text
    AS 'MODULE_PATHNAME', 'fastclust_arc_in_words' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

-- Returns the rules in words and as SQL conditions, with measures from about a million rows.
-- The ranges of a column form one condition; of categories, the category that the rows have, or the
-- categories that they do not have.
CREATE FUNCTION fastclust_internal.version_rules(stored stored_models, version stored_versions,
        conditions integer, relation regclass, OUT cluster integer, OUT rule text,
        OUT "precision" double precision, OUT coverage double precision,
        OUT share double precision, OUT fidelity double precision, OUT condition text)
    RETURNS SETOF record
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET standard_conforming_strings = on SET array_nulls = on
    SET lc_monetary = 'C' SET quote_all_identifiers = off AS $$
DECLARE
    dimension integer := cardinality(means(version.training_sketch));
    scanned regclass := scanned_relation(stored, version, relation, stored.group_by);
    drawn record := rows_sampled(version, scanned, stored.group_by,
                                  greatest(least(20000, 1e7 / dimension), 2000,
                                           100.0 * clusters(version.operator)),
                                  true);
    source record := version_query(version, scanned, stored.group_by, 1e6);
    encoder encoder := COALESCE(version.encoder,
                                encoder_of_vector(version.features[1], dimension, NULL, NULL));
    total text := CASE WHEN source.weight IS NULL THEN 'count(*)' ELSE 'sum("fastclust weight")' END;
    rules_found record;
BEGIN
    WITH f AS MATERIALIZED (
             SELECT l.*, l.dimension IS NOT DISTINCT FROM l.nulls AS marks_nulls,
                    max(l.label) FILTER (WHERE l.dimension = l.nulls) OVER (PARTITION BY l.nulls)
                        AS null_label,
                    dense_rank() OVER (ORDER BY CASE WHEN l.kind = 'vector' OR l.nulls IS NULL
                                                         THEN l.feature
                                                     ELSE format('%s', l.nulls) END,
                                       l.nulls) AS number
               FROM labelled_features(version) l),
         r AS MATERIALIZED (
             SELECT q.*, row_number() OVER () AS id
               FROM rules_of_sample(COALESCE(version.micro_clusters, version.operator),
                                    rows_of_version(version,
                                                    COALESCE(drawn.labelled, drawn.sample)),
                                    drawn.sample,
                                    (SELECT array_agg(f.axis_kind ORDER BY f.dimension) FROM f),
                                    (SELECT array_agg(f.number ORDER BY f.dimension)::integer[]
                                       FROM f),
                                    conditions, version.encoder) q),
         merged_conditions AS (
             SELECT r.id, min(u.i) AS place, min(f.dimension) AS dimension,
                    max(f.feature) FILTER (WHERE NOT f.marks_nulls) AS feature,
                    max(f.kind) FILTER (WHERE NOT f.marks_nulls) AS kind,
                    max(u.lower) FILTER (WHERE NOT f.marks_nulls) AS lower,
                    min(u.upper) FILTER (WHERE NOT f.marks_nulls) AS upper,
                    max(f.label) FILTER (WHERE u.lower > '-Infinity') AS is,
                    array_agg(f.category ORDER BY u.i) AS is_not,
                    COALESCE(max(f.negated) FILTER (WHERE NOT f.marks_nulls),
                             max(f.negated)) AS negated,
                    max(f.null_label) AS null_label,
                    bool_or(f.marks_nulls AND u.lower > '-Infinity') AS is_null,
                    feature_condition(
                        encoder, scanned, array_agg(u.dimension ORDER BY u.i),
                        array_agg(u.lower ORDER BY u.i), array_agg(u.upper ORDER BY u.i),
                        array_agg(shown_value(u.lower, f.kind, true) ORDER BY u.i),
                        array_agg(shown_value(u.upper, f.kind, true) ORDER BY u.i)) AS condition
               FROM r,
                    unnest(r.dimensions, r.lower, r.upper) WITH ORDINALITY
                        u(dimension, lower, upper, i)
               JOIN f USING (dimension)
              GROUP BY r.id, f.number),
         words AS (
             SELECT a.id, string_agg(a.condition, ' AND ' ORDER BY a.place) AS condition,
                    string_agg(CASE WHEN a.is_null THEN a.null_label
                                    WHEN a.kind IN ('category', 'boolean') AND a.is IS NOT NULL
                                        THEN a.is
                                    WHEN a.kind IS NULL OR a.kind = 'boolean'
                                         OR a.kind = 'category' AND cardinality(a.is_not) = 1
                                        THEN a.negated
                                    WHEN a.kind = 'category'
                                        THEN format('%s not in (%s)', a.feature,
                                                    array_to_string(
                                                        array_replace(a.is_not, 'missing', 'NULL'),
                                                        ', '))
                                    WHEN a.condition LIKE '% IS NULL)' AND a.null_label IS NOT NULL
                                        THEN format('(%s or %s)', a.range, a.null_label)
                                    ELSE a.range END,
                               ' and ' ORDER BY a.place) AS rule
               FROM (SELECT m.*,
                            COALESCE(arc_in_words(version.encoder, m.dimension, m.lower, m.upper),
                                     CASE WHEN m.upper = 'Infinity'
                                              THEN format('%s > %s', m.feature,
                                                          shown_value(m.lower, m.kind, true))
                                          WHEN m.lower = '-Infinity'
                                              THEN format('%s <= %s', m.feature,
                                                          shown_value(m.upper, m.kind, true))
                                          ELSE format('%s < %s <= %s',
                                                      shown_value(m.lower, m.kind, true), m.feature,
                                                      shown_value(m.upper, m.kind, true)) END)
                                AS range
                       FROM merged_conditions m) a
              GROUP BY 1)
    SELECT array_agg(r.cluster ORDER BY id) AS clusters,
           array_agg(COALESCE(w.rule, 'all rows') ORDER BY id) AS rules,
           max(r.fidelity) AS fidelity,
           array_agg(COALESCE(w.condition, 'true') ORDER BY id) AS conditions,
           array_agg(r.is_short ORDER BY id) AS shorts INTO rules_found
      FROM r LEFT JOIN words w USING (id);
    -- drop a short rule if its precision is below 0.8
    RETURN QUERY EXECUTE format($query$
        WITH q AS MATERIALIZED (
                 SELECT q."fastclust cluster" AS cluster, %s AS n, ARRAY[%s] AS met
                   FROM (SELECT assign($4, %s) AS "fastclust cluster"%s%s %s) q
                  GROUP BY 1),
             r AS (
                 SELECT t.*, sum(q.met[t.id]) AS met, sum(q.n) AS rows,
                        max(q.met[t.id]) FILTER (WHERE q.cluster = t.cluster) AS hit,
                        max(q.n) FILTER (WHERE q.cluster = t.cluster) AS n
                   FROM unnest($5, $6, $7, $8)
                        WITH ORDINALITY t(cluster, rule, condition, short, id)
                  CROSS JOIN q
                  GROUP BY t.id, t.cluster, t.rule, t.condition, t.short)
        SELECT r.cluster, r.rule, r.hit / NULLIF(r.met, 0)::float8, r.hit / r.n::float8,
               (r.met / r.rows)::float8, $9, r.condition
          FROM r
         WHERE NOT r.short OR r.hit >= 0.8 * r.met $query$,
        total,
        (SELECT string_agg(format('COALESCE(%s FILTER (WHERE %s), 0)', total, c.condition), ', '
                           ORDER BY c.i)
           FROM unnest(rules_found.conditions) WITH ORDINALITY c(condition, i)),
        source.x, ', ' || source.weight || ' AS "fastclust weight"', (SELECT string_agg(format(', t.%I', c), '') FROM unnest(version.features) c),
        source.rows)
        USING version.center, version.scale, version.map,
              COALESCE(version.micro_clusters, version.operator),
              rules_found.clusters, rules_found.rules, rules_found.conditions, rules_found.shorts, rules_found.fidelity;
END
$$;

CREATE FUNCTION fastclust.cluster_rules(model text, conditions integer DEFAULT 4,
        relation regclass DEFAULT NULL, group_value anycompatible DEFAULT NULL,
        OUT cluster integer, OUT name text, OUT rule text, OUT "precision" double precision,
        OUT coverage double precision, OUT rows bigint, OUT fidelity double precision,
        OUT condition text)
    RETURNS SETOF record
    LANGUAGE plpgsql STABLE ROWS 10 SET search_path FROM CURRENT AS $$
DECLARE
    stored stored_models := readable_model($1);
    version stored_versions := explained_version(stored, group_of($1, -1, $4));
BEGIN
    IF $2 IS NULL THEN
        RAISE null_value_not_allowed USING MESSAGE = 'conditions must not be NULL';
    ELSIF $2 NOT BETWEEN 1 AND 10 THEN
        RAISE invalid_parameter_value USING MESSAGE = format('conditions is %s, out of range', $2),
            DETAIL = 'Valid values are from 1 to 10.';
    END IF;
    RETURN QUERY
        SELECT n.cluster, n.name,
               COALESCE(r.rule,
                        format('no rule with %s distinguishes this cluster',
                               CASE WHEN $2 = 1 THEN 'one column'
                                    ELSE format('%s columns or fewer', $2) END)),
               r.precision, COALESCE(r.coverage, 0),
               COALESCE(round(r.share * CASE WHEN version.cluster_rows IS NULL THEN version.n
                                             ELSE clustered_rows(version) END)::bigint,
                        0), max(r.fidelity) OVER (), r.condition
          FROM version_names(version) n
          LEFT JOIN version_rules(stored, version, $2, $3) r USING (cluster)
         ORDER BY n.cluster, r.coverage DESC, r.share DESC;
END
$$;
COMMENT ON FUNCTION fastclust.cluster_rules IS
    'Returns short rules that describe the clusters of a model by a few conditions on columns, '
    'learned on a sample of the table. fidelity is the share of labels that the rules reproduce.';

-- Levels and trees of the clusters of a model

CREATE FUNCTION fastclust.predict_path(model text, x "any", group_value anycompatible DEFAULT NULL,
        version integer DEFAULT -1)
    RETURNS integer[]
    AS 'MODULE_PATHNAME', 'fastclust_predict_path' LANGUAGE C STABLE PARALLEL SAFE COST 200
    SUPPORT vector_support;
COMMENT ON FUNCTION fastclust.predict_path IS
    'Returns the number of the row''s node on each level of a model, top level first. The last '
    'number is the cluster that predict returns.';

-- Returns the nodes of each level, from level 1, the top. If the version has no levels, the
-- clusters are the only level.
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

-- Returns the tree of the clusters of a version: the density splits for method density, Ward's tree
-- for other methods.
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

-- Index service: centroids for an index that is built elsewhere, and a test for stale indexes

CREATE FUNCTION fastclust.index_centroids(model text, OUT id integer, OUT parent integer,
        OUT vector real[])
    RETURNS SETOF record
    LANGUAGE plpgsql STABLE ROWS 1000 SET search_path FROM CURRENT AS $$
DECLARE
    version stored_versions := explained_version(readable_model($1), NULL);
BEGIN
    PERFORM check_has_features(version);
    IF version.method = 'density' THEN
        RAISE feature_not_supported USING
            MESSAGE = format(
                          'index_centroids needs clusters around centroids, but clusters of model "%s" may have any shape',
                          $1),
            HINT = 'Train a model of method kmeans, whose centroids an index can use.';
    END IF;
    IF version.paths IS NULL THEN
        RETURN QUERY
            SELECT l.node, NULL::integer, l.centroid::real[] FROM version_levels(version) l
             ORDER BY 1;
        RETURN;
    END IF;
    RETURN QUERY
        WITH nodes AS MATERIALIZED (
                 SELECT l.*, row_number() OVER (ORDER BY l.level, l.node)::integer AS number
                   FROM version_levels(version) l)
        SELECT 0, NULL::integer, means(version.training_sketch)::real[]
        UNION ALL
        SELECT n.number, COALESCE(p.number, 0), n.centroid::real[]
          FROM nodes n LEFT JOIN nodes p ON p.level = n.level - 1 AND p.node = n.parent
         ORDER BY 1;
END
$$;
COMMENT ON FUNCTION fastclust.index_centroids IS
    'Returns the centroids in the form that VectorChord''s external build needs: a flat list '
    'without parents, or for a model with levels a tree with one root.';

-- ---- index_health ----

-- Returns the sketch of the rows when the index was built, the sketch of the present rows, and the
-- moments of the null distribution of their difference. The moments come from the model or from a
-- sample of the present rows. Also returns the drift counts of both sets of rows if the model has
-- them.
CREATE FUNCTION fastclust_internal.sketches_to_compare(relation regclass, "column" name,
        version stored_versions, INOUT at_build sketch, INOUT present sketch,
        OUT null_moments double precision[], OUT spec drift_spec, OUT trained drift_counts,
        OUT counts drift_counts, OUT n bigint)
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    of_model boolean := version.operator IS NOT NULL
                        AND (at_build IS NULL OR spec(version.training_sketch) = spec(at_build));
    live kept_sketches := CASE WHEN of_model THEN live_of_version(version) END;
BEGIN
    IF at_build IS NULL THEN
        at_build := version.training_sketch;
        trained := version.drift_counts;
        spec := version.drift_spec;
    END IF;
    IF NOT spec(present) = spec(at_build) THEN
        RAISE data_exception USING MESSAGE = 'present was not made with the sketch_spec of at_build',
            HINT = 'Make both with sketch_agg and the same spec, such as model_spec(model).';
    END IF;
    IF NOT of_model THEN
        version := NULL;
        version.features := ARRAY["column"];
        version.vector := true;
        version.options := '{}';
        version.training_sketch := at_build;
    END IF;
    IF present IS NULL AND live.id IS NOT NULL AND live.half_life IS NULL THEN
        SELECT r.* INTO present, counts FROM model_rows(live) r;
    ELSIF present IS NULL THEN
        SELECT r.s, r.counts, r.n INTO present, counts, n
          FROM sketch_rows(version, relation, NULL) r;
    END IF;
    n := COALESCE(n, row_count(present), 0);
    IF has_all_dimensions(spec(at_build)) THEN
        null_moments := COALESCE(
                            version.null_moments,
                            CASE WHEN row_count(present) > 0
                                     THEN sample_null_moments(
                                              (rows_sampled(version, relation, NULL, 5000)).sample,
                                              spec(at_build)) END);
    ELSIF trained IS NULL OR counts IS NULL AND present IS NOT NULL THEN
        RAISE feature_not_supported USING
            MESSAGE = 'sketches projected on axes of a sample do not show whether rows have changed',
            HINT = 'Leave at_build and present out, or make them with the model_spec of a model of method "kmeans".';
    END IF;
END
$$;

CREATE FUNCTION fastclust_internal.read_index_health(relation regclass, "column" name,
        at_build sketch, present sketch, probes integer, OUT model text, OUT rows_at_build bigint,
        OUT rows_now bigint, OUT mmd2 double precision, OUT p_value double precision,
        OUT effect double precision, OUT worn_share double precision,
        OUT recall_at_build double precision, OUT recall_now double precision,
        OUT recall_loss double precision, OUT read_share double precision, OUT verdict text,
        OUT statement text)
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    version stored_versions;
    relation_name text;
    compared record;
    measured record;
BEGIN
    IF $1 IS NULL OR $2 IS NULL THEN
        RAISE null_value_not_allowed USING
            MESSAGE = format('%s must not be NULL',
                             CASE WHEN $1 IS NULL THEN 'relation' ELSE 'column' END);
    ELSIF $5 < 1 THEN
        RAISE invalid_parameter_value USING MESSAGE = format('probes is %s, out of range', $5),
            DETAIL = 'It must be a number of buckets, 1 or more.';
    END IF;
    relation_name := (row_expressions($1, ARRAY[$2], true, NULL, NULL)).relation_name;
    -- Choose the version whose clusters represent the buckets of an index on the column: first a
    -- model of the caller or of the table's owner, then a version whose training measured the
    -- recall, then the latest. Leave out models of roles that may not read the column: such a model
    -- only claims that it was trained on the column.
    SELECT v.* INTO version
      FROM readable_models m
      JOIN readable_versions v ON v.model_id = m.id AND v.version = m.version,
           (SELECT r.oid AS caller, c.relowner FROM pg_roles r, pg_class c
             WHERE r.rolname = current_user AND c.oid = $1) o
     WHERE m.group_by IS NULL
       AND v.vector
       AND v.features = ARRAY[$2]
       AND v.relation = relation_name
       AND has_column_privilege(m.owner_id, $1, $2, 'SELECT')
     ORDER BY m.owner_id IN (o.caller, o.relowner) DESC, is_member(o.caller, m.owner_id) DESC,
              v.recall IS NULL, v.trained_at DESC, v.model_id DESC LIMIT 1;
    IF version.operator IS NOT NULL THEN
        PERFORM scanned_relation(readable_model(version.model), version, $1, NULL);
    ELSIF $3 IS NULL THEN
        RAISE object_not_in_prerequisite_state USING
            MESSAGE = format('no model was trained on column "%s" of %s, and at_build is NULL', $2,
                             $1),
            HINT = 'Pass the sketch of the rows from which the index was built as at_build, or train a model on the column.';
    END IF;
    compared := sketches_to_compare($1, $2, version, $3, $4);
    model := version.model;
    rows_at_build := row_count(compared.at_build);
    rows_now := compared.n;
    SELECT t.mmd2, t.p_value, t.effect, t.verdict INTO mmd2, p_value, effect, verdict
      FROM drift_test(compared.spec,
                      CASE WHEN compared.counts IS NOT NULL THEN compared.trained END,
                      CASE WHEN compared.trained IS NOT NULL THEN compared.counts END,
                      compared.at_build, compared.present, compared.null_moments, 0.01, 0.1) t;
    verdict := COALESCE(verdict, 'too few rows');
    IF version.operator IS NOT NULL AND rows_now > 1 THEN
        measured := bucket_recall(
                        version.operator,
                        rows_of_version(version, (rows_sampled(version, $1, NULL, 6000)).sample), rows_now,
                        least(COALESCE($5, (version.options ->> 'probes')::float8::integer,
                                       ceil(sqrt(clusters(version.operator)) / 2)::integer),
                              clusters(version.operator)));
        -- Share of the sampled rows in buckets that no longer fit. Such a bucket has more than
        -- twice its expected rows, or more than 1.5 times its mean squared distance, and the excess
        -- is larger than three standard deviations of chance.
        worn_share :=
            (SELECT COALESCE(sum(b.count) FILTER (
                                 WHERE b.count > 2 * b.expected + 3 * sqrt(2 * b.expected) + 3
                                 OR b.square > (1.5 + 3 / sqrt(b.count)) * b.count * b.variance),
                             0) / sum(b.count)
               FROM (SELECT u.count, u.square, dim(version.operator) * u.spread ^ 2 AS variance,
                            (SELECT sum(n) FROM unnest(measured.counts) n) * c.weight / (
                                SELECT sum(w.weight) FROM centroids(version.operator) w) AS expected
                       FROM unnest(measured.counts, measured.squares,
                                   version.spreads) WITH ORDINALITY u(count, square, spread, i)
                       JOIN centroids(version.operator) WITH ORDINALITY
                                c(cluster, centroid, weight, i) USING (i)
                      WHERE u.count > 0) b);
        recall_now := measured.recall;
        read_share := measured.read_share;
        recall_at_build := CASE WHEN $5 IS NULL OR $5 = (version.options ->> 'probes')::float8
                                    THEN version.recall END;
        recall_loss := recall_at_build - recall_now;
    END IF;
    -- One statement per line, because REINDEX CONCURRENTLY cannot share a transaction: a retrain if
    -- the caller may retrain the model, and a REINDEX of each index that keeps lists of rows by
    -- centroid. The column may be part of an expression of the index.
    statement := CASE WHEN verdict = 'drifted' THEN NULLIF(concat_ws(E'\n',
        (SELECT format('SELECT %I.retrain(%L);', 'fastclust', m.model)
           FROM own_models m
          WHERE m.model = version.model),
        (SELECT string_agg(format('REINDEX INDEX CONCURRENTLY %I.%I;', n.nspname, c.relname),
                           E'\n' ORDER BY n.nspname, c.relname)
           FROM pg_index i
           JOIN pg_class c ON c.oid = i.indexrelid
           JOIN pg_namespace n ON n.oid = c.relnamespace
           JOIN pg_am a ON a.oid = c.relam
          WHERE i.indrelid = $1 AND a.amname IN ('ivfflat', 'vchordrq')
            AND EXISTS (SELECT FROM pg_depend d
                          JOIN pg_attribute t
                               ON t.attrelid = d.refobjid AND t.attnum = d.refobjsubid
                         WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid
                           AND d.refclassid = 'pg_class'::regclass AND d.refobjid = $1
                           AND t.attname = $2))), '') END;
END
$$;
CREATE FUNCTION fastclust.index_health(relation regclass, "column" name,
        at_build sketch DEFAULT NULL, present sketch DEFAULT NULL, probes integer DEFAULT NULL,
        OUT model text, OUT rows_at_build bigint, OUT rows_now bigint, OUT mmd2 double precision,
        OUT p_value double precision, OUT effect double precision, OUT worn_share double precision,
        OUT recall_at_build double precision, OUT recall_now double precision,
        OUT recall_loss double precision, OUT read_share double precision, OUT verdict text,
        OUT statement text)
    AS 'MODULE_PATHNAME', 'fastclust_with_sketch' LANGUAGE C;
COMMENT ON FUNCTION fastclust.index_health IS
    'Tests whether an index of buckets on a column is stale: compares the sketch of its build '
    'with the present rows, measures the recall on a sample, and returns the statements to run.';

-- Rows and scores of clusters, computed in one scan each

CREATE TYPE fastclust_internal.typical_row AS (
    cluster integer, rank integer, distance double precision, row_data jsonb);
CREATE FUNCTION fastclust_internal.nearest_rows_final(internal) RETURNS typical_row[]
    AS 'MODULE_PATHNAME', 'fastclust_nearest_rows_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.nearest_rows_accum(internal, fastop, "any", record, integer)
    RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_nearest_rows_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE
    COST 300;
CREATE AGGREGATE fastclust_internal.nearest_rows_agg(op fastop, x "any", row_data record,
        n integer) (
    SFUNC = nearest_rows_accum, STYPE = internal, SSPACE = 65536, FINALFUNC = nearest_rows_final,
    FINALFUNC_MODIFY = READ_ONLY);

CREATE FUNCTION fastclust.typical_rows(model text, n integer DEFAULT 3,
        relation regclass DEFAULT NULL, group_value anycompatible DEFAULT NULL,
        OUT cluster integer, OUT rank integer, OUT distance double precision, OUT row_data jsonb)
    RETURNS SETOF record
    LANGUAGE plpgsql STABLE ROWS 30
    SET search_path FROM CURRENT SET standard_conforming_strings = on SET array_nulls = on
    SET lc_monetary = 'C' SET quote_all_identifiers = off AS $$
DECLARE
    stored stored_models := readable_model($1);
    version stored_versions := explained_version(stored, group_of($1, -1, $4));
    scanned regclass := scanned_relation(stored, version, $3, stored.group_by);
    source record;
BEGIN
    IF $2 IS NULL THEN
        RAISE null_value_not_allowed USING MESSAGE = 'n must not be NULL';
    ELSIF $2 NOT BETWEEN 1 AND 1000 THEN
        RAISE invalid_parameter_value USING MESSAGE = format('n is %s, out of range', $2),
            DETAIL = 'Valid values are from 1 to 1000.';
    END IF;
    -- Check all columns like the columns of the version, because whole rows are read, and columns
    -- of any type are written as JSON.
    PERFORM check_stored_scan(
                stored, version, scanned,
                ARRAY(SELECT a.attname FROM pg_attribute a
                       WHERE a.attrelid = scanned AND a.attnum > 0 AND NOT a.attisdropped),
                $3 IS NOT NULL);
    source := version_query(version, scanned, stored.group_by);
    RETURN QUERY
        EXECUTE format(
                    'SELECT r.* FROM (SELECT nearest_rows_agg($4, %s, t.*, $5) AS rows %s) q, '
                    'unnest(q.rows) r',
                    source.observed, source.rows)
            USING version.center, version.scale, version.map,
                  COALESCE(version.micro_clusters, version.operator), $2;
END
$$;
COMMENT ON FUNCTION fastclust.typical_rows IS
    'Returns the n whole rows of the table that are nearest to each centroid, nearest first.';

-- Returns a row per cluster, and a last row with cluster NULL for all clusters. n is the number of
-- rows in the sample.
CREATE FUNCTION fastclust_internal.quality_of_sample(op fastop, sample fastop, OUT cluster integer,
        OUT n double precision, OUT share double precision, OUT silhouette double precision,
        OUT davies_bouldin double precision, OUT spread double precision,
        OUT variance_explained double precision)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_quality_of_sample' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
    COST 1000000 ROWS 10;

-- Returns the share of the rows (old_rows and new_rows, the same rows for each operator) whose
-- labels by `old` and `new` differ. Before the comparison, each cluster of `new` that continues a
-- cluster of `old` is given the number of the latter, as in a retrain. moved: the operator `new` in
-- the coordinates of `old`, or NULL if they have no common coordinates.
CREATE FUNCTION fastclust_internal.changed_labels(old fastop, old_rows fastop, new fastop,
        new_rows fastop, moved fastop)
    RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_labels_changed' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100000;

CREATE FUNCTION fastclust.score(model text, relation regclass DEFAULT NULL,
        group_value anycompatible DEFAULT NULL, INOUT version integer DEFAULT -1,
        OUT cluster integer, OUT name text, OUT n bigint, OUT share double precision,
        OUT silhouette double precision, OUT davies_bouldin double precision,
        OUT spread double precision, OUT variance_explained double precision,
        OUT labels_changed double precision)
    RETURNS SETOF record
    LANGUAGE plpgsql STABLE ROWS 10 SET search_path FROM CURRENT AS $$
DECLARE
    stored stored_models := readable_model($1);
    measured stored_models := CASE WHEN $4 = -1 THEN stored ELSE at_version(stored, $4) END;
    group_version stored_versions := explained_version(measured,
                                                        group_of($1, measured.version, $3));
    drawn record := rows_sampled(
                         group_version, scanned_relation(measured, group_version, $2, measured.group_by),
                         measured.group_by,
                         least(50000,
                               greatest(5000,
                                        2e10 / clusters(group_version.operator) / dim(group_version.operator))));
    sample fastop := COALESCE(drawn.labelled, drawn.sample);
    current stored_versions;
    changed float8;
BEGIN
    IF group_version.micro_clusters IS NOT NULL THEN
        RAISE feature_not_supported USING
            MESSAGE = format(
                          'score needs round clusters, but clusters of model "%s" may have any shape',
                          $1),
            HINT = 'Use predict_probabilities for the membership of rows, and cluster_tree for the distances between clusters.';
    END IF;
    -- the current version, for comparison, if its rows have the same coordinates
    SELECT v.* INTO current
      FROM readable_versions v
     WHERE v.model_id = stored.id
       AND v.version = stored.version
       AND v.version <> group_version.version
       AND v.micro_clusters IS NULL
       AND v.group_value = group_version.group_value
       AND stored.group_by IS NOT DISTINCT FROM measured.group_by
       AND (SELECT array_agg(f::text ORDER BY f.dimension)
              FROM labelled_features(ROW(v.*)::stored_versions) f) = (
               SELECT array_agg(f::text ORDER BY f.dimension) FROM labelled_features(group_version) f);
    changed := changed_labels(
                   current.operator, rows_of_version(current, sample), group_version.operator,
                   rows_of_version(group_version, sample),
                   CASE WHEN group_version.map IS NULL AND current.map IS NULL
                            THEN rescaled_operator(
                                     group_version.operator, group_version.center, group_version.scale, current.center,
                                     current.scale) END);
    RETURN QUERY
        SELECT v.version, q.cluster, names.name,
               COALESCE(round(q.share * clusters(sample))::bigint, 0), q.share, q.silhouette,
               q.davies_bouldin, q.spread, q.variance_explained,
               CASE WHEN q.cluster IS NULL AND v.version = group_version.version THEN changed END
          FROM unnest(ARRAY[group_version, current]) v
          CROSS JOIN LATERAL quality_of_sample(v.operator, rows_of_version(v, sample)) q
          LEFT JOIN LATERAL version_names(v) names USING (cluster)
         WHERE v.version IS NOT NULL
         ORDER BY q.cluster NULLS LAST, v.version;
END
$$;
COMMENT ON FUNCTION fastclust.score IS
    'Returns how compact and how well separated each cluster is; the row without a cluster is '
    'for all clusters together. For another version, also returns the share of labels that it '
    'would change, and the rows of the current version.';

-- Topics: clusters named by the words of a text column

-- Returns the n words that distinguish the texts of each cluster, given by their lexemes, best
-- first. pairs: pairs of neighbouring lexemes are words, too.
CREATE TYPE fastclust_internal.typical_word AS (cluster integer, place integer, lexemes text[]);
CREATE FUNCTION fastclust_internal.typical_words_accum(internal, integer, tsvector, boolean, integer)
    RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_typical_words_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.typical_words_final(internal) RETURNS typical_word[]
    AS 'MODULE_PATHNAME', 'fastclust_typical_words_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE AGGREGATE fastclust_internal.typical_words_agg(cluster integer, lexemes tsvector,
        pairs boolean, n integer) (
    SFUNC = typical_words_accum, STYPE = internal, SSPACE = 65536,
    FINALFUNC = typical_words_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);

-- Shows a step in training_progress, or ends the step if `step` is NULL.
CREATE FUNCTION fastclust_internal.show_step(model_id bigint, model text, step text,
        rows_about double precision)
    RETURNS void
    AS 'MODULE_PATHNAME', 'fastclust_show_step' LANGUAGE C;

-- Words are lexemes of the configuration with a letter. Parallel workers label the rows and find
-- their lexemes, and the leader counts them. A lexeme is shown as its most frequent token in the 50
-- texts nearest to the centroid: ts_parse takes three times longer than to_tsvector. A tsvector
-- contains at most 1 MB, therefore texts are cut. Notices of to_tsvector about long words are not
-- shown. The three texts nearest to each centroid are returned, too.
CREATE FUNCTION fastclust.name_topics(model text, text_column name, words integer DEFAULT 5,
        group_value anycompatible DEFAULT NULL, bigrams boolean DEFAULT false,
        configuration regconfig DEFAULT NULL, OUT cluster integer, OUT name text,
        OUT top_words text[], OUT texts text[])
    RETURNS SETOF record
    LANGUAGE plpgsql ROWS 10
    SET search_path FROM CURRENT SET standard_conforming_strings = on SET array_nulls = on
    SET lc_monetary = 'C' SET quote_all_identifiers = off SET client_min_messages = warning AS $$
DECLARE
    stored stored_models := readable_model($1);
    version stored_versions := explained_version(stored, group_of($1, -1, $4));
    scanned regclass := scanned_relation(stored, version, NULL, stored.group_by);
    wanted float8 := greatest(20000, 200 * clusters(version.operator));
    source record := version_query(version, scanned, stored.group_by, wanted);
    used regconfig := COALESCE($6, get_current_ts_config());
    type regtype := (SELECT max(a.atttypid) FROM pg_attribute a
                      WHERE a.attrelid = scanned
                        AND a.attname = $2
                        AND a.attnum > 0
                        AND NOT a.attisdropped);
    named integer[] := ARRAY(SELECT g.cluster FROM given_names(version) g);
    found jsonb;
BEGIN
    IF $2 IS NULL THEN
        RAISE null_value_not_allowed USING MESSAGE = 'text_column must not be NULL';
    ELSIF type IS NULL OR EXISTS (SELECT FROM pg_type t WHERE t.oid = type AND t.typcategory <> 'S') THEN
        RAISE EXCEPTION USING
            ERRCODE = CASE WHEN type IS NULL THEN 'undefined_column' ELSE 'datatype_mismatch' END,
            MESSAGE = CASE WHEN type IS NULL
                               THEN format('column "%s" of %s does not exist', $2, scanned)
                           ELSE format('column "%s" of %s is of type %s, not text', $2, scanned,
                                       type) END,
            HINT = COALESCE((SELECT format(
                                        'Columns of text are %s.',
                                        string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum))
                               FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
                              WHERE a.attrelid = scanned
                                AND a.attnum > 0
                                AND NOT a.attisdropped
                                AND t.typcategory = 'S'
                             HAVING count(*) > 0),
                            'The table has no columns of text.');
    END IF;
    PERFORM check_stored_scan(stored, version, scanned, version.features || $2, false);
    IF $3 IS NULL OR $3 NOT BETWEEN 1 AND 20 THEN
        RAISE invalid_parameter_value USING
            MESSAGE = format('words is %s, out of range', COALESCE($3::text, 'NULL')),
            DETAIL = 'Valid values are from 1 to 20.';
    END IF;
    -- version_query samples tables of more than three times the wanted rows
    PERFORM show_step(stored.id, stored.model, 'words',
                      (SELECT CASE WHEN r > 3 * wanted THEN wanted ELSE r END
                         FROM estimated_rows(scanned) r));
    EXECUTE format(
                $query$
        -- LIMIT ALL computes x once, as OFFSET 0 does, but allows workers
        WITH labelled AS MATERIALIZED (
                 SELECT assign($4, x.x) AS cluster, assign_distance($4, x.x) AS distance, x.text,
                        to_tsvector($5, x.text) AS lexemes
                   FROM (SELECT %1$s AS x, %2$s AS text %3$s LIMIT ALL) x),
             typical_words AS MATERIALIZED (
                 SELECT w.*
                   FROM (SELECT typical_words_agg(l.cluster, l.lexemes, $6, $7) AS words
                           FROM labelled l) q, unnest(q.words) w),
             rows AS MATERIALIZED (
                 SELECT *
                   FROM (SELECT l.cluster, l.text, row_number() OVER (
                                    PARTITION BY l.cluster ORDER BY l.distance, l.text) AS place
                           FROM labelled l
                          WHERE l.text IS NOT NULL) r
                  WHERE r.place <= $8),
             tokens AS MATERIALIZED (
                 SELECT p.cluster, lower(p.token) AS token, count(*) AS n
                   FROM (SELECT r.cluster,
                                (ts_parse((SELECT c.cfgparser FROM pg_ts_config c WHERE c.oid = $5),
                                          r.text)).token
                           FROM rows r) p
                  WHERE p.token <> ' '
                  GROUP BY 1, 2),
             forms AS MATERIALIZED (
                 SELECT DISTINCT ON (t.cluster, l.lexeme) t.cluster, l.lexeme, t.token
                   FROM (SELECT d.token, u.lexeme
                           FROM (SELECT DISTINCT token FROM tokens) d,
                                unnest(to_tsvector($5, d.token)) u
                         OFFSET 0) l
                   JOIN tokens t USING (token)
                   JOIN (SELECT DISTINCT w.cluster, unnest(w.lexemes) AS lexeme
                           FROM typical_words w) w USING (cluster, lexeme)
                  ORDER BY 1, 2, t.n DESC, length(t.token), t.token)
        SELECT jsonb_agg(to_jsonb(f) ORDER BY f.cluster)
          FROM (SELECT c.cluster, w.words, n.texts
                  FROM unnest(cluster_numbers($4)) c(cluster)
                  LEFT JOIN (SELECT t.cluster, array_agg(
                                        (SELECT string_agg(COALESCE(f.token, l.lexeme), ' ' ORDER BY l.i)
                                           FROM unnest(t.lexemes) WITH ORDINALITY l(lexeme, i)
                                           LEFT JOIN forms f ON f.cluster = t.cluster
                                                            AND f.lexeme = l.lexeme)
                                        ORDER BY t.place) AS words
                               FROM typical_words t GROUP BY 1) w USING (cluster)
                  LEFT JOIN (SELECT r.cluster, array_agg(r.text ORDER BY r.place) AS texts
                               FROM rows r WHERE r.place <= 3 GROUP BY 1) n USING (cluster)) f
        $query$,
                source.x, format('left(t.%I::text, 100000)', $2), source.rows)
        INTO found
        USING version.center, version.scale, version.map, version.operator, used,
              COALESCE($5, false), $3, 50;
    PERFORM show_step(NULL, NULL, NULL, NULL);
    PERFORM fastclust_internal.name_cluster($1, f.cluster,
                                            left(array_to_string(f.words[:3], ', '), 200),
                                            CASE WHEN $4 IS NOT NULL
                                                     THEN version.group_value END)
       FROM jsonb_to_recordset(found) f(cluster integer, words text[])
      WHERE f.words IS NOT NULL
        AND NOT COALESCE(f.cluster = ANY (named), false);
    PERFORM update_names(stored.id);
    RETURN QUERY
    SELECT f.cluster, n.name, f.words, f.texts
      FROM jsonb_to_recordset(found) f(cluster integer, words text[], texts text[])
      LEFT JOIN version_names(version) n USING (cluster)
     ORDER BY 1;
END
$$;
COMMENT ON FUNCTION fastclust.name_topics IS
    'Names the clusters that have no name by their frequent words in a text column. Returns '
    'these words and the texts nearest to the centroids.';

-- Plot: a model on a terminal

-- Returns a text that is exactly `width` terminal columns wide: cut, or padded on the right, or on
-- the left if on_the_left is true.
CREATE FUNCTION fastclust_internal.fit_text(value text, width integer, on_the_left boolean)
    RETURNS text
    AS 'MODULE_PATHNAME', 'fastclust_fit_text' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
-- Returns a bar of up to `width` columns for a number from 0 to 1. If two_sided is true, the number
-- is from -1 to 1, and the bar is on the left or right of a line.
CREATE FUNCTION fastclust_internal.bar(x double precision, width integer, two_sided boolean)
    RETURNS text
    AS 'MODULE_PATHNAME', 'fastclust_bar' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION fastclust_internal.read_plot(model text, group_value text) RETURNS text
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $$
DECLARE
    stored stored_models := readable_model($1);
    version stored_versions := explained_version(stored, $2);
    k integer := clusters(version.operator);
    max_shown CONSTANT integer := 20;
BEGIN
    -- sizes of the clusters and, if centroids have features, the strongest features of each
    -- cluster, in lines of up to 100 columns
    RETURN concat_ws(
               E'\n',
               rtrim(fit_text(format('%s%s, version %s: %s cluster%s of %s rows of %s', stored.model,
                                     CASE WHEN $2 IS NULL THEN '' ELSE format(' (%s)', $2) END,
                                     version.version, k, CASE WHEN k = 1 THEN '' ELSE 's' END,
                                     shown_value(version.n, 'number', false), version.relation),
                              100, false)),
               '',
               (WITH s AS MATERIALIZED (
                         SELECT z.*, n.name, max(z.share) OVER () AS max_share
                           FROM (SELECT c.cluster,
                                        round(clustered_rows(version) * c.weight / t.total)::bigint
                                            AS size,
                                        c.weight / t.total AS share,
                                        row_number() OVER (
                                            ORDER BY c.weight DESC, c.cluster) AS place
                                   FROM centroids(version.operator) c,
                                        (SELECT NULLIF(sum(w.weight), 0) AS total
                                           FROM centroids(version.operator) w) t) z
                           JOIN version_names(version) n USING (cluster))
                SELECT concat_ws(
                           E'\n',
                           fit_text('cluster', 44, false)
                           || fit_text('rows', 14, true)
                           || fit_text('share', 8, true),
                           (SELECT string_agg(
                                       fit_text(s.cluster::text, 6, true)
                                       || '  '
                                       || fit_text(s.name, 36, false)
                                       || fit_text(
                                              COALESCE(shown_value(s.size, 'number', false), ''),
                                              14, true)
                                       || fit_text(
                                              COALESCE(shown_value(s.share, 'category', false), ''),
                                              8, true)
                                       || '  '
                                       || COALESCE(
                                              bar(s.share / NULLIF(s.max_share, 0), 32, false), ''),
                                       E'\n' ORDER BY s.place)
                              FROM s
                             WHERE s.place <= max_shown),
                           (SELECT E'\n'
                                   || fit_text('', 38, false)
                                   || fit_text('lower than all', 18, true)
                                   || ' '
                                   || fit_text('higher', 16, false)
                                   || fit_text('in cluster', 13, true)
                                   || fit_text('all rows', 14, true)
                                   || E'\n'
                                   || string_agg(c.lines, E'\n' ORDER BY c.place)
                              FROM (SELECT s.place,
                                           fit_text(s.cluster::text, 6, true)
                                           || '  '
                                           || rtrim(fit_text(s.name, 92, false))
                                           || E'\n'
                                           || string_agg(
                                                  fit_text('', 8, false)
                                                  || fit_text(p.label, 31, false)
                                                  || bar(p.difference / 3, 16, true)
                                                  || ' '
                                                  || fit_text(shown_value(p.value, p.kind, false),
                                                              13, true)
                                                  || ' '
                                                  || fit_text(shown_value(p.overall, p.kind, false),
                                                              13, true),
                                                  E'\n' ORDER BY p.place) AS lines
                                      FROM s JOIN version_profile(version, 5) p USING (cluster)
                                     WHERE s.place <= max_shown
                                       AND p.place <= 5
                                       AND p.value IS NOT NULL
                                       AND (abs(p.difference) >= 0.1 OR p.place = 1)
                                     GROUP BY s.place, s.cluster, s.name) c))),
               CASE WHEN k > max_shown THEN E'\n'
                                       || rtrim(
                                              fit_text(
                                                  format('and %s smaller clusters: see profile(%L)',
                                                         k - max_shown, stored.model),
                                                  100, false)) END);
END
$$;
CREATE FUNCTION fastclust.plot(model text, group_value anycompatible DEFAULT NULL) RETURNS text
    AS 'MODULE_PATHNAME', 'fastclust_read_once' LANGUAGE C STABLE COST 100;
COMMENT ON FUNCTION fastclust.plot IS
    'Returns the clusters of a model as text: sizes and differences as bars, in lines of up to '
    '100 columns.';

-- Views: the models that a role may read, in plain columns

CREATE VIEW fastclust.models WITH (security_barrier) AS
    SELECT m.model,
           m.owner::name AS owner, m.readers::name[] AS readers, m.version,
           (SELECT count(DISTINCT o.version) FROM version_groups o
             WHERE o.model_id = m.id) AS versions,
           v.method, v.relation, v.features, m.group_by,
           CASE WHEN m.group_by IS NOT NULL THEN v.groups END AS groups, v.k, v.dim, v.n,
           v.objective, v.trained_at, v.note
      FROM readable_models m
      CROSS JOIN LATERAL (
                     SELECT min(v.method) AS method, min(v.relation) AS relation,
                            min(v.features::text)::name[] AS features, count(*) AS groups,
                            max(v.k) AS k, max(dim(v.operator)) AS dim,
                            CASE WHEN count(*) > 0 THEN least(greatest(
                                                                  sum(v.n), -9223372036854775808),
                                                              9223372036854775807)::bigint END AS n,
                            sum(v.objective * v.n) FILTER (
                                WHERE v.objective = 0
                                OR abs(v.objective) BETWEEN 1e-280 AND 1e280)
                                / NULLIF(sum(v.n), 0) AS objective,
                            max(v.trained_at) AS trained_at, min(v.note) AS note
                       FROM version_groups v
                      WHERE v.model_id = m.id AND v.version = m.version) v;
COMMENT ON VIEW models IS
    'one row per model that the reader may use: its current version, which predict uses, and how '
    'that was trained';
COMMENT ON COLUMN models.model IS 'name of the model';
COMMENT ON COLUMN models.owner IS
    'role that owns the model; only it and its members may change the model';
COMMENT ON COLUMN models.readers IS 'roles that may use the model; "public" is everyone';
COMMENT ON COLUMN models.version IS
    'current version, which predict uses; NULL if there are only candidates';
COMMENT ON COLUMN models.versions IS 'number of stored versions';
COMMENT ON COLUMN models.method IS
    'method of the training: compressive, kmeans, qkmeans, kernel or density';
COMMENT ON COLUMN models.relation IS 'table that it was trained on, qualified and quoted';
COMMENT ON COLUMN models.features IS 'columns that were clustered';
COMMENT ON COLUMN models.group_by IS
    'grouping column, each of whose values has clusters of its own; NULL without groups';
COMMENT ON COLUMN models.groups IS 'number of groups; NULL without groups';
COMMENT ON COLUMN models.k IS 'number of clusters; with groups, the maximum of a group';
COMMENT ON COLUMN models.dim IS 'dimension of the rows, or of their kernel features';
COMMENT ON COLUMN models.n IS 'number of training rows';
COMMENT ON COLUMN models.objective IS
    'mean squared distance of a row to its centroid, in the units of the training; NULL for '
    'method density';
COMMENT ON COLUMN models.trained_at IS 'time when the version was stored';
COMMENT ON COLUMN models.note IS
    'reason for the choice of the method, and other reports of the training';

CREATE VIEW fastclust.model_versions WITH (security_barrier) AS
    SELECT m.model, v.version, v.version IS NOT DISTINCT FROM m.version AS serves,
           CASE WHEN v.options ->> 'group_by' IS NOT NULL THEN v.group_value END AS group_value,
           v.method, v.relation, v.features, v.options, clusters(v.operator) AS k, v.n, v.objective,
           v.label_churn AS churn, v.operator, v.encoder, v.imputed, v.recall, v.training_sketch,
           v.trained_at, v.trained_by::name AS trained_by,
           extract(epoch FROM v.trained_at - v.started_at)::float8 AS seconds
      FROM readable_models m JOIN version_groups v ON v.model_id = m.id;
COMMENT ON VIEW model_versions IS
    'one row per stored version, and per group of a model with groups';
COMMENT ON COLUMN model_versions.model IS 'name of the model';
COMMENT ON COLUMN model_versions.version IS 'number of the version, counted from 1';
COMMENT ON COLUMN model_versions.serves IS 'true for the version that predict uses';
COMMENT ON COLUMN model_versions.group_value IS 'group; NULL for a model without groups';
COMMENT ON COLUMN model_versions.method IS
    'method of the training: compressive, kmeans, qkmeans, kernel or density';
COMMENT ON COLUMN model_versions.relation IS 'table that was read, qualified and quoted';
COMMENT ON COLUMN model_versions.features IS 'columns that were clustered';
COMMENT ON COLUMN model_versions.options IS 'options of the training';
COMMENT ON COLUMN model_versions.k IS 'number of clusters';
COMMENT ON COLUMN model_versions.n IS 'number of training rows';
COMMENT ON COLUMN model_versions.objective IS
    'mean squared distance of a row to its centroid, in the units of the training; NULL for '
    'method density';
COMMENT ON COLUMN model_versions.churn IS
    'share of the training rows that the previous version assigned to another cluster; NULL '
    'without a previous version';
COMMENT ON COLUMN model_versions.operator IS
    'operator with the centroids, in the units of the training';
COMMENT ON COLUMN model_versions.encoder IS
    'encoder that converts the columns of a row to numbers; NULL for a column of vectors';
COMMENT ON COLUMN model_versions.imputed IS
    'number of training rows with a NULL that was replaced by a value; NULL if they were not '
    'counted';
COMMENT ON COLUMN model_versions.recall IS
    'share of the ten nearest rows that a search through the number of buckets in option probes '
    'finds; NULL without the option';
COMMENT ON COLUMN model_versions.training_sketch IS 'sketch of the training rows';
COMMENT ON COLUMN model_versions.trained_at IS 'time when the version was stored';
COMMENT ON COLUMN model_versions.trained_by IS 'role that trained the version';
COMMENT ON COLUMN model_versions.seconds IS 'duration of the training, in seconds';

-- ---- clusters ----

-- Returns an array of the names of the clusters of a version, indexed by the cluster number, with
-- '' for a number that no cluster has.
CREATE FUNCTION fastclust_internal.names_by_number(version stored_versions) RETURNS text[]
    LANGUAGE sql STABLE PARALLEL SAFE SET search_path FROM CURRENT AS $$
    SELECT ARRAY(SELECT COALESCE(n.name, '')
                   FROM generate_series(0, cluster_labels(version.operator) - 1) i
                   LEFT JOIN version_names(version) n ON n.cluster = i
                  ORDER BY i)
$$;
-- Returns the names of the clusters of a stored version, or NULL if version_cluster_rows returns no
-- rows for the version. In a query, each expression reads the names once per version and group.
CREATE FUNCTION fastclust_internal.read_shown_names(model_id bigint, version integer,
        group_value text)
    RETURNS text[]
    LANGUAGE sql STABLE PARALLEL SAFE SET search_path FROM CURRENT AS $$
    SELECT CASE WHEN can_list_centroids(v.operator)
                    THEN names_by_number(ROW(v.*)::stored_versions) END
      FROM readable_versions v
     WHERE v.model_id = $1 AND v.version = $2 AND v.group_value = $3
$$;
CREATE FUNCTION fastclust_internal.shown_names(model_id bigint, version integer, group_value text)
    RETURNS text[]
    AS 'MODULE_PATHNAME', 'fastclust_read_once' LANGUAGE C STABLE PARALLEL SAFE;

CREATE FUNCTION fastclust.predict_name(model text, x "any", group_value anycompatible DEFAULT NULL,
        version integer DEFAULT -1)
    RETURNS text
    AS 'MODULE_PATHNAME', 'fastclust_predict_name' LANGUAGE C STABLE PARALLEL SAFE COST 200
    SUPPORT vector_support;
COMMENT ON FUNCTION fastclust.predict_name IS
    'Returns the name of the nearest cluster of a model, as profile shows it. NULL if predict '
    'returns NULL.';

-- Returns the features of the centroids of a version. Raises a WARNING and returns no rows if
-- version_cluster_rows returns no rows. The view reads the argument `model` from readable_models,
-- so that no profiles of versions of other models are computed.
CREATE FUNCTION fastclust_internal.version_centroid_rows(model text, version stored_versions,
        OUT cluster integer, OUT feature text, OUT value double precision) RETURNS SETOF record
    LANGUAGE plpgsql STABLE PARALLEL SAFE ROWS 100
    SET search_path FROM CURRENT AS $$
BEGIN
    RETURN QUERY SELECT p.cluster, p.label, NULLIF(p.value, 'NaN')
                   FROM version_profile(version, 2147483647, "values" => true) p
                  WHERE can_list_centroids(version.operator, $1) ORDER BY p.cluster, p.dimension;
END
$$;

-- The view has no subquery, because a subquery would prevent parallel plans for all queries of the
-- view.
CREATE VIEW fastclust.model_clusters WITH (security_barrier) AS
    SELECT m.model, m.version,
           CASE WHEN m.group_by IS NOT NULL THEN v.group_value END AS group_value, c.cluster,
           (shown_names(v.model_id, v.version, v.group_value))[c.cluster + 1] AS name, c.size,
           c.weight, c.share, c.spread, c.centroid, c.nearest_cluster, c.nearest_distance
      FROM readable_models m JOIN version_groups v ON v.model_id = m.id AND v.version = m.version
      CROSS JOIN LATERAL version_cluster_rows(
                     m.model, CASE WHEN v.micro_clusters IS NULL THEN v.n END, v.operator,
                     v.map IS NOT NULL, v.center, v.scale, v.spreads, v.cluster_rows) c;
COMMENT ON VIEW model_clusters IS 'one row per cluster of each current version';
COMMENT ON COLUMN model_clusters.model IS 'name of the model';
COMMENT ON COLUMN model_clusters.version IS 'current version, which predict uses';
COMMENT ON COLUMN model_clusters.group_value IS 'group; NULL for a model without groups';
COMMENT ON COLUMN model_clusters.cluster IS 'number of the cluster, as predict returns it';
COMMENT ON COLUMN model_clusters.name IS 'name given by name_cluster, else the suggested name';
COMMENT ON COLUMN model_clusters.size IS
    'number of training rows in the cluster: as many as predict labels if k-means counted them, else '
    'about';
COMMENT ON COLUMN model_clusters.weight IS
    'sum of the weights of these rows; their number without option row_weight';
COMMENT ON COLUMN model_clusters.share IS
    'share of the cluster in the weight of all training rows, from 0 to 1';
COMMENT ON COLUMN model_clusters.spread IS
    'standard deviation per dimension; in standard deviations of all rows for a standardised model';
COMMENT ON COLUMN model_clusters.centroid IS
    'mean of the cluster in the units of the rows, of logarithms for a logarithmic column; NULL for a '
    'kernel model';
COMMENT ON COLUMN model_clusters.nearest_cluster IS
    'number of the cluster with the nearest centroid';
COMMENT ON COLUMN model_clusters.nearest_distance IS
    'distance to that centroid, in the units of spread';

CREATE VIEW fastclust.model_centroids WITH (security_barrier) AS
    SELECT m.model, CASE WHEN m.group_by IS NOT NULL THEN v.group_value END AS group_value,
           c.cluster, (shown_names(v.model_id, v.version, v.group_value))[c.cluster + 1] AS name,
           c.feature, c.value
      FROM readable_models m JOIN stored_versions v ON v.model_id = m.id AND v.version = m.version
      CROSS JOIN LATERAL version_centroid_rows(m.model, v) c;
COMMENT ON VIEW model_centroids IS
    'one row per cluster and feature of each current version, with the value in the unit of the '
    'table';
COMMENT ON COLUMN model_centroids.model IS 'name of the model';
COMMENT ON COLUMN model_centroids.group_value IS 'group; NULL for a model without groups';
COMMENT ON COLUMN model_centroids.cluster IS 'number of the cluster, as predict returns it';
COMMENT ON COLUMN model_centroids.name IS 'name given by name_cluster, else the suggested name';
COMMENT ON COLUMN model_centroids.feature IS
    'column, or column[i] for an element of a vector, or column = category';
COMMENT ON COLUMN model_centroids.value IS
    'mean of the cluster in the unit of the feature, for a logarithmic column a typical value, from '
    'the mean of the logarithms; for a category its share of the rows';

-- ---- logs, for roles that may change a model ----

CREATE VIEW fastclust.training_log WITH (security_barrier) AS
    SELECT l.id, m.model, l.version, l.step, l.objective, l.seconds, l.note, l.at
      FROM own_models m JOIN training_steps l ON l.model_id = m.id;
COMMENT ON VIEW training_log IS
    'one row per step of a training, for roles that may change the model';
COMMENT ON COLUMN training_log.id IS 'identifier of the step; ascending in time';
COMMENT ON COLUMN training_log.model IS 'name of the model';
COMMENT ON COLUMN training_log.version IS 'version that was trained';
COMMENT ON COLUMN training_log.step IS 'name of the step';
COMMENT ON COLUMN training_log.objective IS
    'mean squared distance of a row to its centroid after the step; NULL if unknown';
COMMENT ON COLUMN training_log.seconds IS 'duration of the step, in seconds';
COMMENT ON COLUMN training_log.note IS 'report of the step';
COMMENT ON COLUMN training_log.at IS 'time when the step ended';

CREATE VIEW fastclust.drift_log WITH (security_barrier) AS
    SELECT d.id, m.model, d.version, d.relation, d.group_value, d.n, d.mmd2, d.null_sd, d.p_value,
           d.fit_residual, d.effect, d.verdict, d.columns, d.threshold, d.min_effect,
           d.new_version, d.checked_by::name AS checked_by, d.checked_at
      FROM own_models m JOIN drift_checks d ON d.model_id = m.id;
COMMENT ON VIEW drift_log IS
    'one row per check by retrain_if_drifted or check_drift, for roles that may change the '
    'model; the columns have the meaning of the columns of drift';
COMMENT ON COLUMN drift_log.id IS 'identifier of the check; ascending in time';
COMMENT ON COLUMN drift_log.model IS 'name of the model';
COMMENT ON COLUMN drift_log.version IS
    'current version at the check, whose training rows were compared';
COMMENT ON COLUMN drift_log.relation IS 'table of the new rows, qualified and quoted';
COMMENT ON COLUMN drift_log.group_value IS
    'group that changed most, of a model with groups; NULL for other models';
COMMENT ON COLUMN drift_log.n IS 'number of compared rows';
COMMENT ON COLUMN drift_log.mmd2 IS
    'squared maximum mean discrepancy (MMD) of the rows and the training rows; NULL if their '
    'sketches are not compared';
COMMENT ON COLUMN drift_log.null_sd IS
    'standard deviation of mmd2 if nothing has changed; NULL if the sketches are not compared';
COMMENT ON COLUMN drift_log.p_value IS 'probability of such a difference if nothing has changed';
COMMENT ON COLUMN drift_log.fit_residual IS
    'share of the sketch that the clusters do not explain; NULL if the sketch cannot be decoded';
COMMENT ON COLUMN drift_log.effect IS 'size of the change, independent of the number of rows';
COMMENT ON COLUMN drift_log.verdict IS
    'none, slight, drifted, too few rows or too few units';
COMMENT ON COLUMN drift_log.columns IS
    'columns that changed, smallest p first: objects with name, shift, spread and p';
COMMENT ON COLUMN drift_log.threshold IS 'limit of the p-value in this check';
COMMENT ON COLUMN drift_log.min_effect IS 'minimum effect in this check for the verdict drifted';
COMMENT ON COLUMN drift_log.new_version IS
    'version that was trained because of this check; NULL if none was';
COMMENT ON COLUMN drift_log.checked_by IS 'role that requested the check';
COMMENT ON COLUMN drift_log.checked_at IS 'time when the check ended';

-- ---- live sketches, for owners of the table ----

CREATE VIEW fastclust.live_sketches WITH (security_barrier) AS
    SELECT l.id, l.name, l.relation, l.features, l.encoder, l.spec, l.group_by, l.bucket,
           l.bucket_width, l.half_life, l.condition,
           (SELECT m.model FROM readable_models m WHERE m.id = l.model_id) AS model, l.created_at,
           (SELECT min(v.counted_at) FROM live_leaves v WHERE v.live_id = l.id) AS counted_at,
           l.folded_at, l.checked_at, l.differences,
           (SELECT COALESCE(sum(row_count(b.s)), 0)::bigint FROM live_bases b
             WHERE b.live_id = l.id) AS folded_rows,
           (SELECT count(*) FROM live_deltas d WHERE d.live_id = l.id) AS open_deltas,
           (SELECT min(d.at) FROM live_deltas d WHERE d.live_id = l.id) AS oldest_delta,
           (SELECT COALESCE(sum(pg_column_size(b.s) + COALESCE(pg_column_size(b.counts), 0)), 0)
              FROM live_bases b
             WHERE b.live_id = l.id) + (
               SELECT COALESCE(sum(pg_column_size(d.added_rows)), 0) + COALESCE(
                          sum(pg_column_size(d.removed_rows)), 0)
                          + COALESCE(sum(pg_column_size(d.added)), 0)
                          + COALESCE(sum(pg_column_size(d.removed)), 0) + COALESCE(
                          sum(pg_column_size(d.added_counts)), 0) + COALESCE(
                          sum(pg_column_size(d.removed_counts)), 0)
                 FROM live_deltas d
                WHERE d.live_id = l.id) AS bytes,
           CASE WHEN p.problem IS NOT NULL THEN 'lost'
                WHEN l.counting THEN 'counting'
                ELSE 'ready' END AS state,
           p.problem
      FROM own_live_sketches l, LATERAL (SELECT sketch_problem(l.name) AS problem OFFSET 0) p;
COMMENT ON VIEW live_sketches IS
    'one row per live sketch of the tables that the reader owns: the rows that it counts, and how';
COMMENT ON COLUMN live_sketches.id IS
    'identifier of the live sketch, which is part of the names of its triggers';
COMMENT ON COLUMN live_sketches.name IS 'name of the live sketch';
COMMENT ON COLUMN live_sketches.relation IS 'table that it follows';
COMMENT ON COLUMN live_sketches.features IS 'columns that are sketched';
COMMENT ON COLUMN live_sketches.encoder IS
    'encoder that converts the columns of a row to numbers; NULL for a column of vectors, and '
    'for unscaled numbers';
COMMENT ON COLUMN live_sketches.spec IS 'spec of the sketches';
COMMENT ON COLUMN live_sketches.group_by IS
    'grouping column, each of whose values has a sketch of its own; NULL without groups';
COMMENT ON COLUMN live_sketches.bucket IS
    'time column whose buckets have sketches of their own; NULL without buckets';
COMMENT ON COLUMN live_sketches.bucket_width IS 'length of a bucket; NULL without buckets';
COMMENT ON COLUMN live_sketches.half_life IS
    'age at which a row has half its weight in models made from the sketch; NULL: no decay';
COMMENT ON COLUMN live_sketches.condition IS
    'condition on the rows that are counted; NULL: all rows';
COMMENT ON COLUMN live_sketches.model IS
    'model for which option live of train made the sketch; NULL for other live sketches';
COMMENT ON COLUMN live_sketches.created_at IS 'time when it was made';
COMMENT ON COLUMN live_sketches.counted_at IS 'time when all rows were last counted';
COMMENT ON COLUMN live_sketches.folded_at IS
    'time when changes were last folded into the stored sketches; NULL if never';
COMMENT ON COLUMN live_sketches.checked_at IS
    'time when it was last compared with its table; NULL if never';
COMMENT ON COLUMN live_sketches.differences IS
    'number of groups and buckets that differed at that comparison';
COMMENT ON COLUMN live_sketches.folded_rows IS
    'number of rows in the stored sketches, without pending changes';
COMMENT ON COLUMN live_sketches.open_deltas IS 'number of pending changes';
COMMENT ON COLUMN live_sketches.oldest_delta IS
    'time of the oldest pending change; NULL if there is none';
COMMENT ON COLUMN live_sketches.bytes IS 'size of the stored sketches and of the changes, in bytes';
COMMENT ON COLUMN live_sketches.state IS
    'ready; counting: rebuild_sketch has yet to count its rows; lost: it cannot be read';
COMMENT ON COLUMN live_sketches.problem IS 'reason why it cannot be read; NULL if it can';

-- ---- a model in 4 kB ----

-- Returns the first elements of a list whose text fits into a number of bytes.
CREATE FUNCTION fastclust_internal.first_elements(elements jsonb[], bytes integer) RETURNS jsonb
    LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT COALESCE(jsonb_agg(f.element ORDER BY f.i), '[]')
      FROM (SELECT e.element, e.i,
                   sum(octet_length(e.element::text) + 2) OVER (ORDER BY e.i) AS used
              FROM unnest(elements) WITH ORDINALITY e(element, i)) f
     WHERE f.used <= bytes
$$;

CREATE FUNCTION fastclust_internal.read_describe(model text) RETURNS jsonb
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $$
DECLARE
    stored stored_models := readable_model($1);
    version stored_versions := largest_group(stored);
    members text := CASE WHEN stored.group_by IS NULL THEN 'clusters' ELSE 'groups' END;
    facts jsonb := (SELECT jsonb_build_object(
                              'version', m.version, 'versions', m.versions, 'method', m.method,
                              'relation', m.relation, 'rows', m.n, 'sketched_rows',
                              CASE WHEN m.groups IS NULL
                                       THEN NULLIF(row_count(version.training_sketch), m.n) END,
                              'k', m.k, 'dim', m.dim, 'group_by', m.group_by, 'group_count',
                              m.groups, 'column_count', cardinality(m.features), 'trained_at',
                              m.trained_at, 'columns',
                              first_elements(
                                  ARRAY(SELECT to_jsonb(f) FROM unnest(m.features) f), 700),
                              'quality',
                              jsonb_build_object(
                                  'objective', m.objective, 'variance_explained',
                                  CASE WHEN m.groups IS NULL THEN v.explained END, 'churn',
                                  version.label_churn, 'recall', version.recall),
                              'options',
                              (SELECT jsonb_object_agg(o ->> 0, o -> 1)
                                 FROM jsonb_array_elements(
                                          first_elements(
                                              ARRAY(SELECT jsonb_build_array(o.key, o.value)
                                                      FROM jsonb_each(version.options) o
                                                     ORDER BY octet_length(o.value::text), o.key),
                                              700)) o))
                     FROM models m
                     CROSS JOIN LATERAL (SELECT CASE WHEN version.map IS NULL
                                                         THEN round((1 - version.objective / NULLIF(
                                                                         sum((u.s / COALESCE(
                                                                                  u.scale, 1)) ^ 2),
                                                                         0))::numeric,
                                                                    4) END AS explained
                                           FROM unnest(stddevs(version.training_sketch),
                                                       version.scale) u(s, scale)) v
                    WHERE m.model = $1);
    largest jsonb[] := CASE members
                            WHEN 'clusters' THEN ARRAY(
                                                     SELECT jsonb_build_object(
                                                                'cluster', c.cluster, 'name',
                                                                c.name, 'size', c.size, 'share',
                                                                round(c.share::numeric, 4),
                                                                'spread', c.spread)
                                                       FROM model_clusters c
                                                      WHERE c.model = $1
                                                      ORDER BY c.size DESC NULLS LAST, c.cluster
                                                      LIMIT 100)
                            ELSE ARRAY(SELECT jsonb_build_object(
                                                  'group', v.group_value, 'k', v.k, 'rows', v.n,
                                                  'objective', v.objective)
                                         FROM model_versions v
                                        WHERE v.model = $1 AND v.serves
                                        ORDER BY v.n DESC, v.group_value LIMIT 100) END;
BEGIN
    facts := jsonb_strip_nulls(facts);
    RETURN facts
           || jsonb_build_object(members, first_elements(largest, 4070 - octet_length(facts::text)));
END
$$;
CREATE FUNCTION fastclust.describe(model text) RETURNS jsonb
    AS 'MODULE_PATHNAME', 'fastclust_read_once' LANGUAGE C STABLE COST 100;
COMMENT ON FUNCTION describe(text) IS
    'Describes a model in up to 4 kB without reading a row of its table: how it was trained, and '
    'its largest clusters or groups.';

GRANT SELECT ON models, model_versions, model_clusters, model_centroids, training_log, drift_log,
live_sketches TO PUBLIC;

-- Report: the style sheet, and functions that convert values to HTML

-- Each colour is a variable of both themes; test/t/104_report.pl requires a contrast of 4.5 between
-- text and its background. hm4 to h4 are the colours of values from far below to far above the
-- average.
CREATE FUNCTION fastclust_internal.report_style() RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$SELECT '
:root { color-scheme: light dark;
  --page: #fbfbfa; --ink: #1b1f24; --soft: #5a636d; --rule: #e1e4e8; --track: #eceef0; --accent: #0b6a8a; --tint: #cfe3ea; --alert: #a84a06;
  --hm4: #1f5f99; --hm3: #6ba2ce; --hm2: #a9cbe5; --hm1: #dceaf5; --h0: #f1f1ef; --h1: #fbe7d5; --h2: #f4c597; --h3: #e39a58; --h4: #a34d0c;
  --far: #ffffff; --near: #14181c; }
@media screen and (prefers-color-scheme: dark) { :root {
  --page: #14171b; --ink: #e8eaed; --soft: #9ba5b0; --rule: #2d333a; --track: #23282e; --accent: #62bbd8; --tint: #21485a; --alert: #f2a765;
  --hm4: #86bdec; --hm3: #386b99; --hm2: #2b557c; --hm1: #203850; --h0: #22272d; --h1: #42301f; --h2: #6b4420; --h3: #96602c; --h4: #f1b078;
  --far: #0d1115; --near: #f2f4f6; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", "DejaVu Sans", sans-serif;
  font-variant-numeric: tabular-nums; -webkit-text-size-adjust: 100%; }
.page { max-width: 1120px; margin: 0 auto; padding: 40px 32px 64px; }
header { margin-bottom: 28px; }
h1 { font-size: 34px; line-height: 1.15; font-weight: 650; letter-spacing: -0.015em; margin: 0 0 10px; overflow-wrap: anywhere; }
h2 { font-size: 19px; line-height: 1.3; font-weight: 620; letter-spacing: -0.005em; margin: 0 0 4px; }
h2 + .details { margin-top: 12px; }
h3 { font-size: 13px; font-weight: 600; margin: 0 0 6px; }
p { margin: 0 0 10px; max-width: 74ch; }
.lead { font-size: 18px; line-height: 1.45; margin: 0; overflow-wrap: anywhere; }
.story { font-size: 16px; line-height: 1.55; margin: 18px 0 0; max-width: 80ch; overflow-wrap: anywhere; }
.note, .hint, footer, figcaption { color: var(--soft); }
.note { margin-bottom: 16px; }
.hint, figcaption, footer { font-size: 13px; }
section { padding-top: 26px; margin-top: 34px; border-top: 1px solid var(--rule); }
code { font: 0.92em ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", "DejaVu Sans Mono", monospace; overflow-wrap: anywhere; }
.facts { display: grid; grid-template-columns: repeat(auto-fit, minmax(130px, 1fr)); gap: 18px 24px; margin: 0; }
.facts div { border-top: 2px solid var(--ink); padding-top: 8px; min-width: 0; }
.facts dt, .details dt { color: var(--soft); font-size: 13px; }
.facts dd { margin: 0; font-size: 24px; line-height: 1.25; font-weight: 600; letter-spacing: -0.01em; overflow-wrap: anywhere; }
time, data { white-space: nowrap; } .facts time { white-space: normal; }
.facts dd.word { font-size: 15px; line-height: 2; letter-spacing: 0; }
.details { display: grid; grid-template-columns: max-content 1fr; gap: 6px 24px; margin: 0; font-size: 14px; }
.details dd { margin: 0; overflow-wrap: anywhere; min-width: 0; }
.scroll { overflow-x: auto; overscroll-behavior-x: contain; }
table { border-collapse: collapse; width: 100%; font-size: 14px; }
th { font-weight: 500; font-size: 13px; color: var(--soft); text-align: left; vertical-align: bottom; padding: 4px 12px 6px 0; white-space: nowrap; }
td { padding: 5px 12px 5px 0; border-top: 1px solid var(--rule); vertical-align: middle; }
th:last-child, td:last-child { padding-right: 0; }
.n { text-align: right; white-space: nowrap; } .n + :not(.n) { padding-left: 14px; }
.who { max-width: 300px; overflow-wrap: anywhere; }
.hang { padding-left: 2.2em; text-indent: -2.2em; }
.id { display: inline-block; min-width: 2.2em; text-indent: 0; color: var(--soft); }
.wide-bar { width: 34%; min-width: 60px; }
.bar { display: block; width: 100%; height: 12px; background: var(--track); border-radius: 2px; }
.bar rect { fill: var(--accent); }
.spark { display: block; width: 72px; height: 18px; overflow: visible; }
.spark polygon { fill: var(--tint); }
.spark polyline { fill: none; stroke: var(--accent); stroke-width: 1.5; stroke-linejoin: round; }
.spark circle { fill: var(--accent); }
figure { margin: 0; } figure + .scroll { margin-top: 14px; }
figcaption { margin-top: 10px; max-width: 74ch; }
.chart { display: block; width: 100%; height: auto; }
.chart.narrow, .sideways { display: none; }
.chart text { fill: var(--ink); font-size: 12.5px; }
.chart .tick { fill: var(--soft); font-size: 12px; }
.chart .halo { stroke: var(--page); stroke-width: 3.5px; stroke-linejoin: round; paint-order: stroke; }
.chart .frame { fill: none; stroke: var(--rule); }
.chart .axis { stroke: var(--rule); }
.chart .limit { stroke: var(--alert); stroke-dasharray: 4 4; }
.chart .line { fill: none; stroke: var(--soft); stroke-width: 1.25; }
.bubble { fill: var(--accent); fill-opacity: 0.2; stroke: var(--accent); stroke-width: 1.25; }
.none { fill: var(--page); stroke: var(--soft); stroke-width: 1.5; } .slight { fill: var(--accent); } .drifted { fill: var(--alert); }
.column { fill: var(--tint); } .column.serves { fill: var(--accent); }
.multiples .chart { max-width: 300px; }
.multiples { margin-bottom: 18px; display: grid; grid-template-columns: repeat(auto-fit, minmax(240px, 1fr)); gap: 22px 32px; }
.heat { width: auto; border-collapse: separate; border-spacing: 2px; font-size: 13px; margin-left: -2px; }
.heat td, .heat th { padding: 4px 7px; border: 0; }
.heat thead th { text-align: center; vertical-align: bottom; white-space: normal; overflow-wrap: break-word; line-height: 1.25; max-width: 120px; }
.heat tbody th { position: sticky; left: 0; background: var(--page); color: var(--ink); white-space: normal; overflow-wrap: break-word;
  max-width: 240px; min-width: 96px; vertical-align: middle; padding-left: 2px; }
.heat td { text-align: center; border-radius: 3px; min-width: 28px; height: 28px; white-space: nowrap; }
.heat .all { background: none; color: var(--soft); text-align: right; }
.hm4 { background: var(--hm4); color: var(--far); } .hm3 { background: var(--hm3); color: var(--near); } .hm2 { background: var(--hm2); color: var(--near); }
.hm1 { background: var(--hm1); color: var(--near); } .h0 { background: var(--h0); color: var(--near); } .h1 { background: var(--h1); color: var(--near); }
.h2 { background: var(--h2); color: var(--near); } .h3 { background: var(--h3); color: var(--near); } .h4 { background: var(--h4); color: var(--far); }
.legend { display: flex; flex-wrap: wrap; align-items: center; gap: 2px; max-width: none; margin: 0 0 12px; font-size: 12px; color: var(--soft); }
.legend b { display: flex; gap: 2px; } .legend i { width: 24px; height: 12px; border-radius: 2px; } .legend span { margin: 0 8px; } .legend span:first-child { margin-left: 0; }
.rules { list-style: none; margin: 0; padding: 0; }
.rules li { padding: 9px 0; border-top: 1px solid var(--rule); }
.rules b { font-weight: 600; } .rules p { margin: 2px 0 0; } .rules .note { margin: 0; font-size: 13px; }
details { margin-top: 10px; } summary { color: var(--accent); cursor: pointer; }
footer { margin-top: 48px; padding-top: 16px; border-top: 1px solid var(--rule); }
@media (max-width: 860px) { th, th.n { white-space: normal; } .who { min-width: 150px; } .wide-bar { width: 20%; } .chart.wide { display: none; } .chart.narrow { display: block; max-width: 480px; } }
@media (max-width: 700px) {
  .page { padding: 24px 16px 40px; } h1 { font-size: 27px; } .lead { font-size: 16px; }
  .legend i { width: 18px; }
  .scroll table:not(.heat), .scroll table:not(.heat) tbody { display: block; } .scroll table:not(.heat) thead { display: none; }
  table:not(.heat) tr { display: flex; flex-wrap: wrap; gap: 1px 16px; padding: 9px 0; border-top: 1px solid var(--rule); }
  table:not(.heat) td { padding: 0; border: 0; text-align: left; } table:not(.heat) td:empty { display: none; }
  table:not(.heat) td.who, table:not(.heat) td.wide-bar { width: 100%; max-width: none; } table:not(.heat) td.hang { text-indent: 0; } table:not(.heat) .n + td:not(.n) { padding-left: 0; }
  td::before { color: var(--soft); font-size: 13px; margin-right: 5px; } .spark { display: inline-block; }
  #sizes td:nth-child(3)::before { content: "Rows"; } #sizes td:nth-child(4)::before { content: "Share"; } #sizes td:nth-child(5)::before { content: "Spread"; }
  #sizes td:nth-child(6)::before { content: "Nearest"; } #sizes td:nth-child(7)::before { content: "By version"; }
  #groups td:nth-child(3)::before { content: "Rows"; } #groups td:nth-child(4)::before { content: "Clusters"; }
  #groups td:nth-child(5)::before { content: "Mean squared distance"; } #groups td:nth-child(6)::before { content: "Label churn"; }
  #versions td:nth-child(1)::before { content: "Version"; } #versions td:nth-child(2)::before { content: "Trained"; } #versions td:nth-child(3)::before { content: "By"; }
  #versions td:nth-child(4)::before { content: "Method"; } #versions td:nth-child(5)::before { content: "Clusters"; } #versions td:nth-child(6)::before { content: "Rows"; }
  #versions td:nth-child(7)::before { content: "Mean squared distance"; } #versions td:nth-child(8)::before { content: "Label churn"; }
  #drift td:nth-child(1)::before { content: "Checked"; } #drift td:nth-child(2)::before { content: "Version"; } #drift td:nth-child(3)::before { content: "Rows"; }
  #drift td:nth-child(4)::before { content: "Effect"; } #drift td:nth-child(5)::before { content: "p-value"; } #drift td:nth-child(6)::before { content: "Verdict"; }
  #drift td:nth-child(7)::before { content: "Columns, shift of the mean"; } #drift td:nth-child(8)::before { content: "Retrained to"; }
  #training td:nth-child(3)::before { content: "Seconds"; } #training td:nth-child(4)::before { content: "Mean squared distance"; } #training td:nth-child(5)::before { content: "Note"; }
  .sideways { display: block; margin: 0 0 8px; } .heat thead th { min-width: 84px; }
  .facts { grid-template-columns: repeat(2, 1fr); gap: 14px 18px; } .facts dd { font-size: 20px; }
  .details { grid-template-columns: 1fr; gap: 0; } .details dd { margin-bottom: 8px; }
  .heat tbody th { max-width: 128px; font-size: 12.5px; } td { padding-right: 8px; } }
@media print { :root { color-scheme: light; --page: #ffffff; } * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  .page { max-width: none; padding: 0; } .chart.narrow { max-width: 400px; } section, tr, figure { break-inside: avoid; } .scroll { overflow: visible; } .story { break-after: avoid; } th { white-space: normal; } }
'$$;

-- ---- values ----

-- Cuts a text to max_length characters and escapes it for HTML. Removes the control characters that
-- HTML forbids and terminals execute.
CREATE FUNCTION fastclust_internal.html(value text, max_length integer DEFAULT NULL) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT replace(
               replace(
                   replace(
                       replace(
                           replace(
                               regexp_replace(
                                   CASE WHEN length(value) > max_length THEN left(value, max_length - 1)
                                        ELSE value END,
                                   E'(?![\\t\\n\\r])' || fastclust_internal.control_character(),
                                   '', 'g'),
                               '&', '&amp;'),
                           '<', '&lt;'),
                       '>', '&gt;'),
                   '"', '&quot;'),
               '''', '&#39;')
           || CASE WHEN length(value) > max_length THEN '&hellip;' ELSE '' END
$$;

-- Returns HTML that displays a number: a share if kind is 'category', a whole number if it is
-- 'count'. The attribute "value" has all digits.
CREATE FUNCTION fastclust_internal.html_value(x double precision, kind text) RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE SET search_path FROM CURRENT AS $$
    SELECT CASE WHEN x IS NULL THEN '&ndash;'
                ELSE format(
                         '<data value="%s">%s</data>', x,
                         CASE kind
                              WHEN 'count' THEN to_char(x::numeric, 'FM9,999,999,999,999,999,990')
                              ELSE replace(
                                       html(shown_value(x, kind, false)), ' ', '&nbsp;') END) END
$$;

CREATE FUNCTION fastclust_internal.html_time(at timestamptz, by_day boolean DEFAULT false)
    RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE WHEN at IS NULL THEN '&ndash;'
                ELSE format('<time datetime="%s">%s</time>',
                            to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
                            to_char(at, CASE WHEN by_day THEN 'YYYY-MM-DD'
                                             ELSE 'YYYY-MM-DD HH24:MI' END)) END
$$;

-- Returns true if no two of these times are on the same day, so that their dates distinguish them.
CREATE FUNCTION fastclust_internal.days_differ(times timestamptz[]) RETURNS boolean
    LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT count(DISTINCT t::date) = count(*) AND count(*) > 1 FROM unnest(times) t
$$;

-- Breaks a text into lines of at most `width` characters, at spaces; cuts a longer word into
-- pieces.
CREATE FUNCTION fastclust_internal.wrapped(value text, width integer) RETURNS text[]
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    lines text[] := '{}';
    line text := '';
    word text;
BEGIN
    FOREACH word IN ARRAY string_to_array(value, ' ') LOOP
        IF line <> '' AND length(line) + 1 + length(word) <= width THEN
            line := concat(line, ' ', word);
            CONTINUE;
        ELSIF line <> '' THEN
            lines := lines || line;
        END IF;
        WHILE length(word) > width LOOP
            lines := lines || left(word, width);
            word := substr(word, width + 1);
        END LOOP;
        line := word;
    END LOOP;
    RETURN CASE WHEN line = '' THEN lines ELSE lines || line END;
END
$$;

-- Returns a bar whose length is a share, from 0 to 1, of the whole width.
CREATE FUNCTION fastclust_internal.html_bar(share double precision) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT format(
               '<svg class="bar" viewBox="0 0 100 12" preserveAspectRatio="none" aria-hidden="true"><rect width="%s" height="12"/></svg>',
               round((100 * least(1, greatest(0, COALESCE(NULLIF(share, 'NaN'), 0))))::numeric, 2))
$$;

-- Returns a coordinate of a picture, with one decimal.
CREATE FUNCTION fastclust_internal.svg(x double precision) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT trim_scale(round(x::numeric, 1))::text
$$;

-- Returns lines of text as SVG, centred around y.
CREATE FUNCTION fastclust_internal.svg_lines(class text, lines text[], x double precision,
        y double precision, anchor text)
    RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT AS $$
    SELECT string_agg(
               format(E'<text%s x="%s" y="%s" text-anchor="%s">%s</text>\n',
                      ' class="' || class || '"', svg(x),
                      svg(y + 4.2 + 15 * (u.i - (cardinality(lines) + 1) / 2.0)), anchor,
                      html(u.line)),
               '' ORDER BY u.i)
      FROM unnest(lines) WITH ORDINALITY u(line, i)
$$;

-- html_table returns a table with the given classes and titles of columns; html_row returns one of
-- its rows.
CREATE FUNCTION fastclust_internal.html_table(classes text[], titles text[], table_rows text)
    RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT format(
               E'<div class="scroll"><table>\n<thead><tr>%s</tr></thead>\n<tbody>\n%s\n</tbody>\n</table></div>',
               string_agg(format('<th class="%s">%s</th>', u.class, u.title), '' ORDER BY u.i),
               table_rows)
      FROM unnest(classes, titles) WITH ORDINALITY u(class, title, i)
$$;
CREATE FUNCTION fastclust_internal.html_row(id text, classes text[], cells text[]) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT format('<tr%s>%s</tr>', ' id="' || id || '"',
                  string_agg(format('<td class="%s">%s</td>', u.class, u.cell), '' ORDER BY u.i))
      FROM unnest(classes, cells) WITH ORDINALITY u(class, cell, i)
$$;

CREATE FUNCTION fastclust_internal.html_section(id text, title text, note text, body text)
    RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT concat(format(E'<section id="%s">\n<h2>%s</h2>\n', id, title),
                  E'<p class="note">' || note || E'</p>\n', body, E'\n</section>\n')
$$;

-- Report: the sections about the clusters

-- A cluster in the report. x and y: its coordinates on the two principal axes of the centroids;
-- shown_x and shown_y: the share of the squared distances that each axis shows. weight: sum of the
-- weights of its rows, NULL without option row_weight.
CREATE TYPE fastclust_internal.report_cluster AS (
    cluster integer, name text, size bigint, share double precision, spread double precision,
    nearest integer, distance double precision, x double precision, y double precision,
    shown_x double precision, shown_y double precision, weight double precision);

-- Returns the coordinates of the clusters on their two principal axes, and the share of the squared
-- distances to their mean that each axis shows.
CREATE FUNCTION fastclust_internal.cluster_places(op fastop, OUT cluster integer,
        OUT x double precision, OUT y double precision, OUT shown_x double precision,
        OUT shown_y double precision)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_cluster_places' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

-- Returns the clusters of a version, largest first.
CREATE FUNCTION fastclust_internal.report_clusters(stored stored_models, version stored_versions)
    RETURNS report_cluster[]
    LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
    SELECT array_agg(ROW(c.cluster, NULLIF(n.name, format('cluster %s', c.cluster)), c.size,
                         c.share, c.spread, c.nearest_cluster, c.nearest_distance, p.x, p.y,
                         p.shown_x, p.shown_y,
                         CASE WHEN version.cluster_rows IS NOT NULL THEN c.weight END
                        )::report_cluster ORDER BY c.share DESC, c.cluster)
      FROM version_cluster_rows(stored.model,
                                CASE WHEN version.micro_clusters IS NULL THEN version.n END,
                                version.operator, true, NULL, NULL, version.spreads,
                                version.cluster_rows) c
      LEFT JOIN cluster_places(version.operator) p USING (cluster)
      LEFT JOIN version_names(version) n USING (cluster)
$$;

-- Returns the label to display for a cluster: its number and, if it has one, its name, cut to
-- max_length characters.
CREATE FUNCTION fastclust_internal.cluster_label(cluster integer, name text, max_length integer)
    RETURNS text
    LANGUAGE sql IMMUTABLE SET search_path FROM CURRENT AS $$
    SELECT CASE WHEN name IS NULL THEN cluster::text
                ELSE concat(cluster, ' ',
                            CASE WHEN length(name) <= max_length THEN name
                                 ELSE left(name, max_length - 1) || '...' END) END
$$;

-- ---- sizes ----

-- Returns the share of each cluster in the last twelve stored versions, oldest first; no rows if
-- there is only one version.
CREATE FUNCTION fastclust_internal.shares_by_version(stored stored_models, group_value text,
        OUT cluster integer, OUT shares double precision[])
    RETURNS SETOF record
    LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
    WITH kept AS (
             SELECT v.version, v.operator
               FROM readable_versions v
              WHERE v.model_id = stored.id AND v.version <= stored.version AND v.group_value = $2
              ORDER BY v.version DESC LIMIT 12),
         cluster_shares AS (
             SELECT k.version, c.cluster,
                    c.weight / NULLIF(sum(c.weight) OVER (PARTITION BY k.version), 0) AS share
               FROM kept k, centroids(k.operator) c)
    SELECT p.cluster, array_agg(p.share ORDER BY p.version)
      FROM cluster_shares p
     GROUP BY 1
    HAVING (SELECT count(*) FROM kept) > 1
$$;

-- Shows the forty largest clusters, and up to a thousand more in a collapsed section.
CREATE FUNCTION fastclust_internal.report_sizes(stored stored_models, version stored_versions,
        clusters report_cluster[])
    RETURNS text
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $$
DECLARE
    n integer := cardinality(clusters);
    largest float8 := (clusters[1]).share;
    history boolean := EXISTS (SELECT FROM shares_by_version(stored, version.group_value));
    classes text[] := (ARRAY['who hang', 'wide-bar', 'n', 'n', 'n wide', 'n wide', 'wide'])[
                          :CASE WHEN history THEN 7 ELSE 6 END];
    tables text[];
BEGIN
    FOR number IN 1 .. 2 LOOP
        tables[number] :=
            (SELECT html_table(
                        classes,
                        (ARRAY['Cluster', '', 'Rows', 'Share', 'Spread', 'Nearest', 'By version'])[
                            :cardinality(classes)],
                        string_agg(
                            html_row(
                                format('cluster-%s', c.cluster), classes,
                                (ARRAY[
                                     concat(format('<span class="id">%s</span>', c.cluster),
                                            html(c.name)),
                                     html_bar(c.share / NULLIF(largest, 0)),
                                     concat(html_value(c.size, 'count'),
                                            CASE WHEN c.weight IS NOT NULL
                                                     THEN ' of weight '
                                                          || html_value(c.weight, 'number') END),
                                     html_value(c.share, 'category'),
                                     html_value(c.spread, 'number'),
                                     CASE WHEN c.nearest IS NULL THEN '&ndash;'
                                          ELSE format('%s at %s', c.nearest,
                                                      html_value(c.distance, 'number')) END,
                                     (SELECT format(
                                                 '<svg class="spark" viewBox="0 0 72 18" role="img" aria-label="share by version"><title>%1$s</title>'
                                                     '<polygon points="0,17 %2$s 69,17"/><polyline points="%2$s"/><circle cx="%3$s" cy="%4$s" r="2.2"/></svg>',
                                                 string_agg(
                                                     html(shown_value(q.share, 'category', false)),
                                                     ' &rarr; ' ORDER BY q.i),
                                                 string_agg(format('%s,%s', svg(q.x), svg(q.y)),
                                                            ' ' ORDER BY q.i),
                                                 svg((array_agg(q.x ORDER BY q.i DESC))[1]),
                                                 svg((array_agg(q.y ORDER BY q.i DESC))[1]))
                                        FROM (SELECT u.i, u.share,
                                                     69.0 * (u.i - 1)
                                                         / greatest(
                                                         1, cardinality(s.shares) - 1) AS x,
                                                     16 - 14 * COALESCE(
                                                         u.share / NULLIF(
                                                             (SELECT max(s)
                                                                FROM unnest(s.shares) s),
                                                             0),
                                                         0) AS y
                                                FROM unnest(s.shares) WITH ORDINALITY u(share, i)) q
                                      HAVING count(*) > 1)])[:cardinality(classes)]),
                            E'\n' ORDER BY c.share DESC, c.cluster))
               FROM unnest(CASE number WHEN 1 THEN clusters[:40] ELSE clusters[41:1040] END) c
               LEFT JOIN shares_by_version(stored, version.group_value) s ON s.cluster = c.cluster);
    END LOOP;
    RETURN html_section(
               'sizes', 'Clusters',
               concat(
                   'Training rows in each cluster, the largest first. Spread is the typical distance of a row from its centroid along one dimension',
                   CASE WHEN n > 1
                            THEN '; nearest is the closest other cluster and how far its centroid is' END,
                   '.',
                   CASE WHEN version.cluster_rows IS NOT NULL THEN ' Shares are of the weights.' END),
               concat(
                   tables[1],
                   CASE WHEN n > 40 THEN format(
                                             E'\n<details><summary>%s smaller clusters</summary>\n%s</details>',
                                             least(n, 1040) - 40, tables[2]) END,
                   CASE WHEN n > 1040 THEN format(
                                               E'\n<p class="hint"><code>model_clusters</code> shows %s more.</p>',
                                               html_value(n - 1040, 'count')) END));
END
$$;

-- Report: the sections about the features that distinguish clusters

-- Value of one of the strongest features in one cluster; place is 1 for the strongest feature.
CREATE TYPE fastclust_internal.profile_value AS (
    cluster integer, place integer, feature text, kind text, value double precision,
    overall double precision, difference double precision, lift double precision);

-- Returns the values of the forty features that differ most between centroids, measured by the sum
-- of share * difference^2 over the thousand largest clusters. Leaves out features that differ by
-- less than a tenth of a standard deviation in every cluster. A timestamp whose standard deviation
-- is two days or more gets the kind "day", which is displayed without hours and minutes.
CREATE FUNCTION fastclust_internal.profile_values(version stored_versions,
        clusters report_cluster[])
    RETURNS profile_value[]
    LANGUAGE sql STABLE
    SET search_path FROM CURRENT SET enable_nestloop = off AS $$
    WITH p AS MATERIALIZED (
             SELECT p.*, c.share,
                    CASE WHEN p.kind = 'timestamp'
                              AND max(abs(p.value - p.overall)) OVER axis
                                  >= 172800 * max(abs(p.difference)) OVER axis
                             THEN 'day'
                         ELSE p.kind END AS shown_kind
               FROM version_profile(version, dim(version.operator)) p
               JOIN unnest(clusters[:1000]) c USING (cluster)
             WINDOW axis AS (PARTITION BY p.dimension)),
         ranked AS (
             SELECT p.dimension,
                    row_number()
                        OVER (ORDER BY sum(p.share * p.difference ^ 2) DESC NULLS LAST,
                              p.dimension) AS place
               FROM p
              GROUP BY p.dimension
             HAVING max(abs(p.difference)) >= 0.1
              ORDER BY 2 LIMIT 40)
    SELECT array_agg(ROW(p.cluster, t.place, p.label, p.shown_kind, p.value, p.overall, p.difference,
                         p.lift)::profile_value ORDER BY t.place,
                     p.cluster)
      FROM p JOIN ranked t USING (dimension)
$$;

-- ---- the heat map ----

-- Shows the clusters in columns, largest first. Cells show values if there are few clusters, else
-- only colours, from hm4 (far below the mean) to h4 (far above).
CREATE FUNCTION fastclust_internal.report_profile(version stored_versions, profile profile_value[],
        clusters report_cluster[])
    RETURNS text
    LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
    WITH cluster AS (
             SELECT c.*, cardinality(clusters) <= 8 AS wide
               FROM unnest(clusters[:24]) WITH ORDINALITY c(
                        cluster, name, size, share, spread, nearest, distance, x, y, shown_x,
                        shown_y, weight, i)),
         cell AS (
             SELECT v.place, v.feature, v.overall, v.kind,
                    string_agg(
                        format(
                            '<td class="%s%s" title="%s">%s</td>',
                            CASE WHEN v.difference < -0.25 THEN 'hm' ELSE 'h' END,
                            COALESCE(width_bucket(
                                         abs(NULLIF(v.difference, 'NaN')),
                                         '{0.25,0.75,1.5,2.5}'::float8[]),
                                     0),
                            html(format(
                                     '%s: %s %s%s%s',
                                     cluster_label(c.cluster, c.name, 200), v.feature,
                                     COALESCE(shown, 'NULL'),
                                     ', ' || to_char(v.difference, 'FMSG99990.00')
                                     || ' standard deviations from all rows',
                                     CASE WHEN v.lift IS NOT NULL
                                              THEN format(
                                                       ', %s times as often',
                                                       shown_value(v.lift, 'number', false)) END)),
                            CASE WHEN c.wide THEN html_value(v.value, v.kind) END),
                        '' ORDER BY c.i) AS cells
               FROM cluster c JOIN unnest(profile) v USING (cluster),
                    shown_value(v.value, v.kind, false) shown
              GROUP BY 1, 2, 3, 4)
    SELECT html_section(
               'profile', 'Profile',
               concat(
                   'The mean of each cluster, coloured by how far it is from the mean of all rows.',
                   (SELECT format(' For %s it is a typical value, from the mean of the logarithms, which is below the mean of the rows.',
                                  html(string_agg(f.feature, ', ' ORDER BY f.dimension)))
                      FROM labelled_features(version) f
                     WHERE f.axis_kind = 1
                    HAVING count(*) > 0),
                   CASE WHEN cardinality(clusters) > 24 THEN format(
                                                                 ' The 24 largest of %s clusters are shown.',
                                                                 to_char(cardinality(clusters),
                                                                         'FM9,999,990')) END,
                   (SELECT format(' Shown are the %s features that differ most, of %s.', s.shown,
                                  to_char(count(*), 'FM999,990'))
                      FROM labelled_features(version) f,
                           (SELECT count(DISTINCT place) AS shown FROM unnest(profile)) s
                     WHERE f.axis_kind <> 5
                     GROUP BY s.shown
                    HAVING count(*) > s.shown)),
               E'<p class="legend"><span>2.5 standard deviations below</span><b>'
               || (SELECT string_agg(format('<i class="%s"></i>', c), '' ORDER BY i)
                     FROM unnest('{hm4,hm3,hm2,hm1,h0,h1,h2,h3,h4}'::text[]) WITH ORDINALITY
                              u(c, i))
               || E'</b><span>above the mean of all rows</span></p>\n'
               || format(
                      E'%s<div class="scroll" tabindex="0"><table class="heat">\n<thead><tr><th></th>%s<th class="all">All</th></tr></thead>\n<tbody>\n%s\n</tbody>\n</table></div>',
                      CASE WHEN cardinality(clusters) > 2
                               THEN E'<p class="hint sideways">Scroll the table sideways to see all clusters.</p>\n' END,
                      (SELECT string_agg(
                                  format('<th scope="col" title="%s">%s%s</th>', html(c.name),
                                         c.cluster,
                                         CASE WHEN c.wide THEN '<br>' || html(c.name, 200) END),
                                  '' ORDER BY c.i)
                         FROM cluster c),
                      string_agg(
                          format(
                              '<tr><th scope="row" title="%s">%s</th>%s<td class="all">%s</td></tr>',
                              html(feature), html(feature, 60), cells,
                              html(shown_value(overall, kind, false))),
                          E'\n' ORDER BY place)))
      FROM cell
    HAVING report_profile.profile IS NOT NULL AND cardinality(clusters) > 1
$$;

-- ---- rules ----

-- Shows rules of the forty largest clusters. If the table cannot be read to find rules, shows the
-- error instead.
CREATE FUNCTION fastclust_internal.report_rules(stored stored_models, group_value text,
        clusters report_cluster[])
    RETURNS text
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $$
DECLARE
    items text;
    fidelity float8;
BEGIN
    SELECT string_agg(format('<li id="rules-%s"><b>%s</b>%s</li>', q.cluster,
                             html(cluster_label(q.cluster, q.name, 200)), q.lines),
                      E'\n' ORDER BY q.share DESC, q.cluster),
           max(q.fidelity) INTO items, fidelity
      FROM (SELECT r.cluster, r.name, c.share, max(r.fidelity) AS fidelity,
                   string_agg(
                       CASE WHEN r.condition IS NULL
                                THEN format('<p class="note">%s.</p>', html(r.rule))
                            ELSE format(
                                     '<p>if %s</p><p class="note">%s of the rows that meet the condition are in this cluster; %s of the cluster meet it.</p>',
                                     html(r.rule), html_value(r.precision, 'category'),
                                     html_value(r.coverage, 'category')) END,
                       '' ORDER BY r.coverage DESC, r.rule) AS lines
              FROM cluster_rules(stored.model, group_value => $2) r
              JOIN unnest(clusters[:40]) c USING (cluster)
             GROUP BY 1, 2, 3) q;
    RETURN html_section(
               'rules', 'Rules',
               concat(
                   'Short conditions that distinguish the clusters, learned on a sample of the table.',
                   CASE WHEN fidelity IS NOT NULL THEN format(
                                                           ' They assign %s of the rows to the same cluster as the model does.',
                                                           html_value(fidelity, 'category')) END),
               format(E'<ul class="rules">\n%s\n</ul>', items));
EXCEPTION WHEN OTHERS THEN
    RETURN html_section('rules', 'Rules',
                        format(
                            'The rules are learned on rows of the table, which cannot be read: %s.',
                            html(SQLERRM)),
                        NULL);
END
$$;

-- Report: the map of the clusters

CREATE TYPE fastclust_internal.map_circle AS (
    cluster integer, name text, share double precision, x double precision, y double precision,
    r double precision);

-- Returns the least share of a cluster that counts for the size of the map: one percent, or 0 if
-- fewer than two clusters have that share.
CREATE FUNCTION fastclust_internal.least_shown(clusters report_cluster[]) RETURNS double precision
    LANGUAGE sql IMMUTABLE SET search_path FROM CURRENT AS $$
    SELECT CASE WHEN count(*) >= 2 THEN 0.01 ELSE 0 END FROM unnest(clusters) c
     WHERE c.share >= 0.01
$$;

-- Returns the labels of the sixty largest circles as SVG. A label is inside its circle if it fits,
-- else on the right or left of it, or above or below, at the first position where it overlaps no
-- other label or circle. A label that fits nowhere is broken into more lines, up to four. If these
-- do not fit either, the label is only the number of the cluster, or is left out.
CREATE FUNCTION fastclust_internal.map_labels(circles map_circle[], width integer, height integer)
    RETURNS text
    LANGUAGE plpgsql IMMUTABLE SET search_path FROM CURRENT AS $$
DECLARE
    around box[] := (SELECT array_agg(box(point(c.x - c.r, c.y - c.r),
                                          point(c.x + c.r, c.y + c.r)) ORDER BY c.i)
                       FROM unnest(circles) WITH ORDINALITY c(cluster, name, share, x, y, r, i));
    taken box[] := '{}';
    labels text := '';
    c map_circle;
    words text[];    -- lines of the label
    side integer;
    spot box;
BEGIN
    FOR i IN 1 .. least(60, cardinality(circles)) LOOP
        c := circles[i];
        SELECT w.words, b.choice, b.place INTO words, side, spot
          FROM (SELECT u.j, wrapped(cluster_label(c.cluster, c.name, 200), u.columns)
                  FROM unnest(CASE WHEN width > 500 THEN '{48,28,18}'::integer[]
                                   ELSE '{26,18,13}' END) WITH ORDINALITY u(columns, j)
                UNION ALL
                SELECT 4, ARRAY[c.cluster::text]) w(j, words),
               LATERAL (SELECT max(7 * length(u) + 2.4 * (octet_length(u) - length(u))) + 2 AS w,
                               15.0 * cardinality(w.words) AS h
                          FROM unnest(w.words) u) l,
               LATERAL (VALUES (0,
                                box(point(c.x - l.w / 2, c.y - l.h / 2),
                                    point(c.x + l.w / 2, c.y + l.h / 2))),
                               (1,
                                box(point(c.x + c.r + 6, c.y - l.h / 2),
                                    point(c.x + c.r + 6 + l.w, c.y + l.h / 2))),
                               (2,
                                box(point(c.x - c.r - 6 - l.w, c.y - l.h / 2),
                                    point(c.x - c.r - 6, c.y + l.h / 2))),
                               (3,
                                box(point(c.x - l.w / 2, c.y - c.r - 6 - l.h),
                                    point(c.x + l.w / 2, c.y - c.r - 6))),
                               (4,
                                box(point(c.x - l.w / 2, c.y + c.r + 6),
                                    point(c.x + l.w / 2, c.y + c.r + 6 + l.h)))) b(choice, place)
         WHERE b.place <@ box(point(2, 2), point(width - 2, height - 2))
           AND cardinality(w.words) <= 4
           AND (b.choice > 0 OR (l.w / 2 + 2) ^ 2 + (l.h / 2) ^ 2 < (greatest(c.r, 2) - 2) ^ 2)
           AND NOT EXISTS (SELECT FROM unnest(taken) t WHERE t && b.place)
           AND NOT EXISTS (SELECT FROM unnest(around) WITH ORDINALITY t(place, j)
                            WHERE t.place && b.place AND t.j <> i)
         ORDER BY w.j, b.choice LIMIT 1;
        CONTINUE WHEN spot IS NULL;
        taken := taken || spot;
        labels := labels
                  || svg_lines('halo', words,
                               CASE side
                                    WHEN 1 THEN c.x + c.r + 6
                                    WHEN 2 THEN c.x - c.r - 6
                                    ELSE c.x END,
                               (center(spot))[1],
                               CASE side WHEN 1 THEN 'start' WHEN 2 THEN 'end' ELSE 'middle' END);
    END LOOP;
    RETURN labels;
END
$$;

-- Draws clusters as circles whose areas are proportional to their shares, at the same scale on both
-- axes. The picture has the size of the clusters with at least one percent of the rows; a smaller
-- cluster beyond them is at the edge.
CREATE FUNCTION fastclust_internal.svg_map(clusters report_cluster[], width integer,
        height integer, class text)
    RETURNS text
    LANGUAGE sql IMMUTABLE SET search_path FROM CURRENT AS $$
    WITH edge AS (
             SELECT min(c.x) FILTER (WHERE c.share >= s.least) AS x0,
                    max(c.x) FILTER (WHERE c.share >= s.least) AS x1,
                    min(c.y) FILTER (WHERE c.share >= s.least) AS y0,
                    max(c.y) FILTER (WHERE c.share >= s.least) AS y1,
                    sqrt(width * height * 0.05 / pi()) AS r,
                    40 + sqrt(width * height * 0.05 / pi() * max(c.share)) * 0.5 AS margin
               FROM unnest(clusters) c, least_shown(clusters) s(least)),
         fit AS (
             SELECT *,
                    COALESCE(least((width - 2 * margin) / NULLIF(x1 - x0, 0),
                                   (height - 2 * margin) / NULLIF(y1 - y0, 0)),
                             1) AS unit
               FROM edge),
         drawn AS (
             SELECT array_agg(
                        ROW(c.cluster, c.name, c.share,
                            least(width - r.r - 4,
                                  greatest(r.r + 4,
                                           width / 2.0 + f.unit * (c.x - (f.x0 + f.x1) / 2))),
                            least(height - r.r - 4,
                                  greatest(r.r + 4,
                                           height / 2.0 - f.unit * (c.y - (f.y0 + f.y1) / 2))),
                            r.r)::map_circle ORDER BY c.share DESC, c.cluster) AS circles
               FROM fit f, unnest(clusters) c,
                    LATERAL (SELECT greatest(2.5, f.r * sqrt(greatest(0, c.share))) AS r) r)
    SELECT concat(
               format(
                   E'<svg class="chart %s" viewBox="0 0 %s %s" role="img" aria-label="map of the clusters">\n<rect class="frame" x="0.5" y="0.5" width="%s" height="%s" rx="4"/>\n',
                   class, width, height, width - 1, height - 1),
               (SELECT string_agg(
                           format(
                               E'<circle class="bubble" cx="%s" cy="%s" r="%s"><title>%s: %s</title></circle>\n',
                               svg(c.x), svg(c.y), svg(c.r),
                               html(cluster_label(c.cluster, c.name, 200)),
                               html(shown_value(c.share, 'category', false))),
                           '' ORDER BY c.share DESC, c.cluster)
                  FROM unnest(circles) c),
               map_labels(circles, width, height), '</svg>')
      FROM drawn
$$;

-- Draws a wide picture and a narrow one; the style sheet shows the one that fits.
CREATE FUNCTION fastclust_internal.report_map(clusters report_cluster[], profile profile_value[])
    RETURNS text
    LANGUAGE plpgsql IMMUTABLE SET search_path FROM CURRENT AS $$
DECLARE
    shown_x float8 := (clusters[1]).shown_x;
    shown_y float8 := (clusters[1]).shown_y;
    -- the two features that increase or decrease most along each axis, from left to right and from
    -- bottom to top
    words text[];
BEGIN
    IF cardinality(clusters) < 2 OR shown_x IS NULL THEN
        RETURN NULL;
    END IF;
    words := ARRAY(
                 SELECT (SELECT ' ('
                                || string_agg(
                                       format('%s <code>%s</code>',
                                              CASE WHEN q.s > 0 THEN 'more' ELSE 'less' END,
                                              html(q.feature, 60)),
                                       ', ' ORDER BY abs(q.s) DESC)
                                || ')'
                           FROM (SELECT f.*,
                                        rank() OVER (ORDER BY abs(f.s) DESC, f.feature) AS place,
                                        max(abs(f.s)) OVER () AS largest
                                   FROM (SELECT v.feature,
                                                sum(c.share * v.difference *
                                                        CASE axis
                                                             WHEN 1 THEN c.x
                                                             ELSE c.y END) AS s
                                           FROM unnest(profile) v
                                           JOIN unnest(clusters) c USING (cluster)
                                          GROUP BY v.place, v.feature) f) q
                          WHERE q.place <= 2 AND q.s <> 0 AND abs(q.s) > 0.5 * q.largest)
                   FROM generate_series(1, 2) axis
                  ORDER BY axis);
    RETURN html_section(
               'map', 'Map',
               concat(
                   'Each circle is a cluster, and its area is the share of the rows. Clusters near each other are similar.',
                   CASE WHEN cardinality(clusters) > 1000
                            THEN ' Only the thousand largest are shown.' END,
                   (SELECT CASE WHEN bool_or(c.share < s.least AND (c.x NOT BETWEEN s.x0 AND s.x1
                                                                    OR c.y NOT BETWEEN s.y0 AND s.y1))
                                    THEN ' A cluster with less than 1 % of the rows that is far from the others is at the edge.' END
                      FROM unnest(clusters) c,
                           (SELECT least, min(b.x) AS x0, max(b.x) AS x1, min(b.y) AS y0,
                                   max(b.y) AS y1
                              FROM least_shown(clusters) least, unnest(clusters) b
                             WHERE b.share >= least
                             GROUP BY least) s)),
               concat(
                   E'<figure>\n', svg_map(clusters[:1000], 1056, 520, 'wide'), E'\n',
                   svg_map(clusters[:1000], 343, 360, 'narrow'),
                   format(
                       E'\n<figcaption>The two axes along which the clusters differ most. They show %s of the differences between them: '
                           '%s from left to right%s, %s from bottom to top%s.</figcaption>\n</figure>',
                       html_value(shown_x + shown_y, 'category'), html_value(shown_x, 'category'),
                       words[1], html_value(shown_y, 'category'), words[2])));
END
$$;

-- Report: the groups of a model that is split by a column

-- Shows maps of the twelve largest groups, and a table of the forty largest.
CREATE FUNCTION fastclust_internal.report_groups(stored stored_models) RETURNS text
    LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
    WITH shown AS MATERIALIZED (
             SELECT ROW(v.*)::stored_versions AS v, v.n, v.group_value, count(*) OVER () AS groups,
                    max(v.n) OVER () AS largest,
                    row_number() OVER (ORDER BY v.n DESC, v.group_value) AS i
               FROM readable_versions v
              WHERE v.model_id = stored.id AND v.version = stored.version
              ORDER BY i LIMIT 40)
    SELECT html_section(
               'groups', 'Groups',
               concat('Each group has its own clusters',
                      CASE WHEN max(p.groups) > 12 THEN '; the largest are shown' END,
                      '. For the report of one group, run <code>SELECT report(',
                      html(quote_literal(stored.model)), ', group_value =&gt; ''...'')</code>.'),
               concat(
                   E'<div class="multiples">\n',
                   string_agg(format(E'<figure><h3>%s</h3>%s</figure>\n', html(p.group_value, 60),
                                     svg_map(report_clusters(stored, p.v), 260, 180, '')),
                              '' ORDER BY p.i) FILTER (WHERE p.i <= 12),
                   E'</div>\n',
                   html_table(
                       c.classes, '{Group,"",Rows,Clusters,"Mean squared distance","Label churn"}',
                       string_agg(
                           html_row(
                               NULL, c.classes,
                               ARRAY[html(p.group_value), html_bar(p.n::float8 / NULLIF(p.largest, 0)),
                                     html_value(p.n, 'count'),
                                     html_value(clusters((p.v).operator), 'count'),
                                     html_value((p.v).objective, 'number'),
                                     html_value((p.v).label_churn, 'category')]),
                           E'\n' ORDER BY p.i))))
      FROM shown p, (SELECT '{who,wide-bar,n,n,n,n}'::text[] AS classes) c
     GROUP BY c.classes
$$;

-- Report: the tree of the clusters

CREATE TYPE fastclust_internal.tree_node AS (x double precision, y double precision);
-- Label of a leaf: its place from the top, its lines, and its vertical centre.
CREATE TYPE fastclust_internal.tree_label AS (
    leaf integer, i bigint, words text[], y double precision);

-- Returns the labels of the leaves, from top to bottom, in lines of at most `width` characters.
CREATE FUNCTION fastclust_internal.tree_labels(leaves integer[], clusters report_cluster[],
        width integer)
    RETURNS tree_label[]
    LANGUAGE sql IMMUTABLE SET search_path FROM CURRENT AS $$
    SELECT array_agg(ROW(q.leaf, q.i, q.words, q.below - q.height / 2)::tree_label ORDER BY q.i)
      FROM (SELECT u.leaf, u.i, w.words, h.height, sum(h.height) OVER (ORDER BY u.i) + 8 AS below
              FROM unnest(leaves) WITH ORDINALITY u(leaf, i)
              LEFT JOIN unnest(clusters) c ON c.cluster = u.leaf,
                   LATERAL (SELECT wrapped(cluster_label(u.leaf, c.name, 200), width) AS words) w,
                   LATERAL (SELECT 15.0 * cardinality(w.words) + 6 AS height) h) q
$$;

-- Draws the clusters from top to bottom at the left; a higher join is farther right. Makes a wide
-- picture and a narrow one; the style sheet shows the one that fits.
CREATE FUNCTION fastclust_internal.report_tree(version stored_versions, clusters report_cluster[])
    RETURNS text
    LANGUAGE plpgsql IMMUTABLE SET search_path FROM CURRENT AS $$
DECLARE
    below text[] := ARRAY(SELECT generate_series(0, cluster_labels(version.operator) - 1)::text);
    highest float8 := (SELECT NULLIF(max(j.height), 0) FROM version_joins(version) j);
    leaves integer[];
    nodes tree_node[];
    labels tree_label[];
    unit float8;
    lines text;
    pictures text := '';
    picture record;
    one record;
    a tree_node;
    b tree_node;
BEGIN
    IF clusters(version.operator) NOT BETWEEN 3 AND 60 THEN
        RETURN NULL;
    END IF;
    -- order the leaves so that no branches cross
    FOR one IN SELECT * FROM version_joins(version) ORDER BY step LOOP
        below := below || concat(below[one."left" + 1], ',', below[one."right" + 1]);
    END LOOP;
    leaves := string_to_array(below[cardinality(below)], ',')::integer[];
    -- the margin on the left has the labels
    FOR picture IN
        SELECT * FROM (VALUES (1056, 320, 'wide'), (343, 140, 'narrow')) v(width, margin, class)
    LOOP
        unit := COALESCE((picture.width - picture.margin - 10) / highest, 0);
        labels := tree_labels(leaves, clusters, (picture.margin - 8) / 7);
        nodes := (SELECT array_agg(ROW(picture.margin, u.y)::tree_node ORDER BY n.leaf)
                    FROM generate_series(0, cluster_labels(version.operator) - 1) n(leaf)
                    LEFT JOIN unnest(labels) u USING (leaf));
        lines := '';
        FOR one IN SELECT * FROM version_joins(version) ORDER BY step LOOP
            a := nodes[one."left" + 1];
            b := nodes[one."right" + 1];
            lines := lines
                     || format(E'<path class="line" d="M%s %sH%sV%sH%s"/>\n', svg(a.x), svg(a.y),
                               svg(picture.margin + unit * one.height), svg(b.y), svg(b.x));
            nodes := nodes || ROW(picture.margin + unit * one.height, (a.y + b.y) / 2)::tree_node;
        END LOOP;
        pictures :=
            concat(
                pictures,
                format(
                    E'<svg class="chart %s" viewBox="0 0 %s %s" role="img" aria-label="tree of the clusters">\n',
                    picture.class, picture.width,
                    (SELECT max(w.y + 7.5 * cardinality(w.words)) + 11 FROM unnest(labels) w)),
                lines,
                (SELECT string_agg(svg_lines(NULL, w.words, picture.margin - 6, w.y, 'end'),
                                   '' ORDER BY w.i)
                   FROM unnest(labels) w),
                E'</svg>\n');
    END LOOP;
    RETURN html_section(
               'tree', 'Tree',
               'Which clusters are similar: the farther left two lines meet, the smaller the loss if their clusters are joined.',
               concat(E'<figure>\n', pictures, '<figcaption>Clusters are joined ',
                      CASE WHEN version.splits IS NULL THEN 'by Ward''s criterion'
                           ELSE 'at the densest valley between them' END,
                      E', as <code>cluster_tree</code> shows.</figcaption>\n</figure>'));
END
$$;

-- Report: the sections about versions, checks and steps

-- ---- versions ----

-- One of the last thirty stored versions. The fields are values of one group, or sums or means over
-- all groups.
CREATE TYPE fastclust_internal.version_line AS (
    version integer, trained_at timestamptz, trained_by name, method text, clusters bigint,
    n bigint, objective double precision, churn double precision);
-- Draws one column per version, with the value above it.
CREATE FUNCTION fastclust_internal.svg_columns(title text, versions integer[],
        column_values double precision[], kind text)
    RETURNS text
    LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
    WITH bar AS (
             SELECT u.*, 260.0 / cardinality(versions) AS step, count(*) OVER () AS n,
                    row_number() OVER () AS i,
                    CASE kind
                         WHEN 'count' THEN to_char(u.value::numeric, 'FM9,999,999,999,990')
                         ELSE html(shown_value(u.value, kind, false)) END AS label,
                    70 * COALESCE(u.value / NULLIF(max(u.value) OVER (), 0), 0) AS height
               FROM unnest(versions, column_values) u(version, value))
    SELECT format(
               E'<figure><h3>%s</h3><svg class="chart" viewBox="0 0 260 112" role="img" aria-label="%s by version">\n',
               title, title)
           || string_agg(
                  format(
                      E'<rect class="column%s" x="%s" y="%s" width="%s" height="%s" rx="1.5"><title>version %s: %s</title></rect>\n',
                      CASE WHEN b.i = b.n THEN ' serves' END,
                      svg((b.i - 1) * b.step + (b.step - least(34, b.step * 0.7)) / 2),
                      svg(90 - greatest(1, b.height)), svg(least(34, b.step * 0.7)),
                      svg(greatest(1, b.height)), b.version, b.label),
                  '' ORDER BY b.i) FILTER (WHERE b.value IS NOT NULL)
           || '<line class="axis" x1="0" x2="260" y1="90.5" y2="90.5"/>'
           || string_agg(format('<text class="tick" x="%s" y="106" text-anchor="middle">%s</text>',
                                svg((b.i - 0.5) * b.step), b.version),
                         '' ORDER BY b.i) FILTER (WHERE b.n <= 10 OR b.i IN (1, b.n))
           || string_agg(format('<text x="%s" y="%s" text-anchor="middle">%s</text>',
                                svg((b.i - 0.5) * b.step), svg(84 - greatest(1, b.height)),
                                b.label),
                         '') FILTER (WHERE b.value IS NOT NULL AND (b.n <= 5 OR b.i = b.n))
           || '</svg></figure>'
      FROM bar b
    HAVING count(b.value) > 0
$$;

CREATE FUNCTION fastclust_internal.report_versions(lines version_line[]) RETURNS text
    LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
    SELECT html_section(
               'versions', 'Versions',
               'One row for each version. Label churn is the share of the rows that are in another cluster than in the version before.',
               concat(
                   (SELECT concat(E'<div class="multiples">\n',
                                  svg_columns('Rows', s.versions, s.rows_of, 'count'), E'\n',
                                  svg_columns('Mean squared distance', s.versions, s.objectives,
                                              'number'),
                                  E'\n',
                                  svg_columns('Label churn', s.versions, s.churn, 'category'),
                                  E'\n</div>\n')
                      FROM (SELECT array_agg(l.version) AS versions,
                                   array_agg(l.n::float8) AS rows_of,
                                   array_agg(l.objective) AS objectives,
                                   array_agg(l.churn) AS churn
                              FROM (SELECT * FROM unnest(lines) u ORDER BY u.version) l) s
                     WHERE cardinality(s.versions) > 1),
                   html_table(
                       c.classes,
                       '{Version,Trained,By,Method,Clusters,Rows,"Mean squared distance","Label churn"}',
                       string_agg(
                           html_row(
                               format('version-%s', l.version), c.classes,
                               ARRAY[l.version::text,
                                     html_time(l.trained_at, c.by_day),
                                     html(l.trained_by),
                                     html(l.method), html_value(l.clusters, 'count'),
                                     html_value(l.n, 'count'), html_value(l.objective, 'number'),
                                     html_value(l.churn, 'category')]),
                           E'\n' ORDER BY l.version DESC))))
      FROM unnest(lines) l,
           (SELECT '{n,"",wide,"",n,n,n,n}'::text[] AS classes,
                   days_differ(ARRAY(SELECT u.trained_at FROM unnest(lines) u)) AS by_day) c
     GROUP BY c.classes
$$;

-- ---- drift ----

-- Shows how a column changed: the shift of its mean, or its values before and after.
CREATE FUNCTION fastclust_internal.html_change("column" jsonb) RETURNS text
    LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
    SELECT CASE WHEN $1 ? 'before' AND $1 ->> 'name' LIKE '% is NULL'
                    THEN concat_ws('&nbsp;', html_value(($1 ->> 'before')::float8, 'category'),
                                   '&rarr;', html_value(($1 ->> 'after')::float8, 'category'))
                WHEN $1 ? 'shown'
                    THEN replace(replace(html(substr($1 ->> 'shown', length($1 ->> 'name') + 3)),
                                         '-&gt;', '&rarr;'),
                                 ' ', '&nbsp;')
                ELSE html_value(($1 ->> 'shift')::float8, 'number') END
$$;

-- Shows the last four hundred checks: their effects as a line, together with the limit of the last
-- check, and the last ten checks as a table.
CREATE FUNCTION fastclust_internal.report_drift(stored stored_models) RETURNS text
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $$
DECLARE
    checks drift_log[] := (SELECT array_agg(q ORDER BY q.id)
                             FROM (SELECT d.*
                                     FROM drift_log d
                                    WHERE d.model = stored.model
                                    ORDER BY d.id DESC LIMIT 400) q);
    last_ones drift_log[] := checks[greatest(1, cardinality(checks) - 9):];
    by_day boolean := days_differ(ARRAY(SELECT c.checked_at FROM unnest(last_ones) c));
    classes text[] := '{"",n,n,n,n,"","",n}';
    pictures text;
BEGIN
    IF checks IS NULL THEN
        RETURN html_section('drift', 'Drift',
                            concat('Checks of <code>retrain_if_drifted</code>: ',
                                   CASE WHEN EXISTS (SELECT FROM own_models m WHERE m.id = stored.id)
                                            THEN 'none yet.'
                                        ELSE 'only the owner of the model sees them.' END),
                            NULL);
    END IF;
    WITH edge AS (
             SELECT min(c.checked_at) AS first, max(c.checked_at) AS last,
                    max(c.effect) AS highest,
                    greatest(max(c.effect), max(c.min_effect)) * 1.12 AS top,
                    (array_agg(c.min_effect ORDER BY c.id DESC))[1] AS at_least,
                    CASE WHEN max(c.checked_at) - min(c.checked_at) < interval '10 minutes'
                             THEN 'YYYY-MM-DD HH24:MI:SS'
                         WHEN max(c.checked_at) - min(c.checked_at) < interval '2 days'
                             THEN 'YYYY-MM-DD HH24:MI'
                         ELSE 'YYYY-MM-DD' END AS form
               FROM unnest(checks) c
              WHERE c.effect IS NOT NULL),
         timed AS (
             SELECT c.*, w.width, w.class, 152 - 136 * c.effect / NULLIF(e.top, 0) AS y, g.gap,
                    row_number() OVER line AS i, count(*) OVER (PARTITION BY w.width) AS last,
                    52 + (w.width - 68) * COALESCE(
                        extract(epoch FROM c.checked_at - e.first) / NULLIF(
                            extract(epoch FROM e.last - e.first), 0),
                        0.5)::float8 AS x
               FROM unnest(checks) c, edge e,
                    (VALUES (1056, 'wide'), (343, 'narrow')) w(width, class),
                    LATERAL (SELECT least(12.0, (w.width - 68.0) / greatest(
                                                    1, cardinality(checks) - 1)) AS gap) g
              WHERE c.effect IS NOT NULL
             WINDOW line AS (PARTITION BY w.width ORDER BY c.id)),
         -- Points are moved right until they are a gap apart, then left until they are in the
         -- picture.
         pushed AS (
             SELECT t.*, i * gap + max(x - i * gap) OVER (PARTITION BY width ORDER BY i) AS right_x
               FROM timed t),
         placed AS (
             SELECT p.*, i * gap + min(least(right_x, width - 16 - (last - i) * gap) - i * gap)
                                       OVER (PARTITION BY width ORDER BY i DESC) AS new_x
               FROM pushed p),
         picture AS (
             SELECT p.width,
                    concat(
                        format(
                            E'<svg class="chart %s" viewBox="0 0 %s 186" role="img" aria-label="drift over time">\n',
                            p.class, p.width),
                        format(
                            E'<line class="axis" x1="36" x2="%s" y1="152.5" y2="152.5"/><text class="tick" x="30" y="156" text-anchor="end">0</text>\n',
                            p.width - 8),
                        format(E'<line class="limit" x1="36" x2="%s" y1="%s" y2="%s"/>',
                               p.width - 8, svg(e.limit_y), svg(e.limit_y)),
                        format(E'<text class="tick" x="30" y="%s" text-anchor="end">%s</text>\n',
                               svg(e.limit_y + 4), shown_value(e.at_least, 'number', false)),
                        format(E'<polyline class="line" points="%s"/>\n',
                               string_agg(format('%s,%s', svg(p.new_x), svg(p.y)),
                                          ' ' ORDER BY p.id)),
                        string_agg(
                            format(
                                E'<circle class="%s" cx="%s" cy="%s" r="4"><title>%s: %s, effect %s</title></circle>\n',
                                CASE WHEN p.verdict IN ('slight', 'drifted') THEN p.verdict
                                     ELSE 'none' END,
                                svg(p.new_x), svg(p.y),
                                to_char(p.checked_at, 'YYYY-MM-DD HH24:MI'),
                                p.verdict, shown_value(p.effect, 'number', false)),
                            '' ORDER BY p.id),
                        CASE WHEN e.highest > 0 AND abs(e.limit_y - e.highest_y) >= 16
                                 THEN format(
                                          E'<text class="tick" x="30" y="%s" text-anchor="end">%s</text>\n',
                                          svg(e.highest_y + 4),
                                          trim_scale(round(e.highest::numeric, 2))) END,
                        format('<text class="tick" x="36" y="176">%s</text>',
                               to_char(e.first, e.form)),
                        format(
                            '<text class="tick" x="%s" y="176" text-anchor="end">%s</text></svg>',
                            p.width - 8,
                            NULLIF(to_char(e.last, e.form), to_char(e.first, e.form)))) AS svg
               FROM placed p,
                    (SELECT *, 152 - 136 * at_least / NULLIF(top, 0) AS limit_y,
                            152 - 136 * highest / NULLIF(top, 0) AS highest_y FROM edge) e
              GROUP BY p.width, p.class, e.first, e.last, e.top, e.at_least, e.limit_y, e.highest,
                       e.highest_y, e.form
             HAVING count(*) > 1)
    SELECT string_agg(p.svg, E'\n' ORDER BY p.width DESC) INTO pictures FROM picture p;
    RETURN html_section(
               'drift', 'Drift',
               'The effect of each check: how much its rows differ from the training rows. 0.1 is as large as a shift of one column by a tenth of its standard deviation. '
                   'Above the dashed line, the model is retrained.',
               concat(
                   E'<figure>\n' || pictures || E'\n</figure>\n',
                   html_table(
                       classes,
                       '{Checked,Version,Rows,Effect,p-value,Verdict,"Columns, shift of the mean","Retrained to"}',
                       (SELECT string_agg(
                                   html_row(
                                       format('check-%s', c.id), classes,
                                       ARRAY[
                                           html_time(c.checked_at, by_day),
                                           c.version::text,
                                           html_value(c.n, 'count'), html_value(c.effect, 'number'),
                                           html_value(c.p_value, 'number'), html(c.verdict),
                                           (SELECT string_agg(
                                                       concat_ws(
                                                           '&nbsp;', html(u.col ->> 'name', 40),
                                                           html_change(u.col)),
                                                       ', ' ORDER BY u.i)
                                              FROM jsonb_array_elements(c.columns)
                                                       WITH ORDINALITY u(col, i)
                                             WHERE u.i <= 3),
                                           COALESCE(c.new_version::text, '&ndash;')]),
                                   E'\n' ORDER BY c.id DESC)
                          FROM unnest(last_ones) c)),
                   CASE WHEN cardinality(checks) > 10
                            THEN E'\n<p class="hint">The last ten checks; <code>drift_log</code> has all of them.</p>' END));
END
$$;

-- ---- the training ----

CREATE FUNCTION fastclust_internal.report_steps(stored stored_models) RETURNS text
    LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
    SELECT html_section(
               'training', 'Training',
               format('The steps of version %s, %s seconds in all.', stored.version,
                      html_value(sum(t.seconds), 'number')),
               html_table(c.classes, '{Step,"",Seconds,"Mean squared distance",Note}',
                          string_agg(
                              html_row(
                                  format('step-%s', t.id), c.classes,
                                  ARRAY[html(t.step), html_bar(t.seconds / NULLIF(t.longest, 0)),
                                        html_value(t.seconds, 'number'),
                                        html_value(t.objective, 'number'), html(t.note)]),
                              E'\n' ORDER BY t.id)))
      FROM (SELECT l.*, max(l.seconds) OVER () AS longest FROM training_log l
             WHERE l.model = stored.model AND l.version = stored.version) t,
           (SELECT '{who,wide-bar,n,n,""}'::text[] AS classes) c
     GROUP BY c.classes
$$;

-- Report: the page

-- Describes the clusters in a paragraph: how many there are, the three largest ones with the two
-- features that distinguish each of them most, how many are small, and the changes since the
-- previous version. A small cluster has less than one percent of the rows. Elements of a vector
-- have no meaning by themselves, so they are left out.
CREATE FUNCTION fastclust_internal.report_story(stored stored_models, group_value text,
        clusters report_cluster[], profile profile_value[], lines version_line[])
    RETURNS text
    LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
    WITH named AS (
             SELECT c.cluster, c.share, c.share < 0.01 AS small,
                    format('<b>%s</b>',
                           html(COALESCE(c.name, format('cluster %s', c.cluster)), 200)) AS name,
                    row_number() OVER (ORDER BY c.share DESC, c.cluster) AS i
               FROM unnest(clusters) c),
         feature AS (
             SELECT v.*, row_number() OVER (PARTITION BY v.cluster
                                            ORDER BY abs(v.difference) DESC, v.place) AS i
               FROM unnest(profile) v
              WHERE abs(v.difference) >= 0.5
                AND NOT (SELECT bool_or(r.vector)
                           FROM readable_versions r
                          WHERE r.model_id = stored.id AND r.version = stored.version)),
         before AS (
             SELECT l.* FROM unnest(lines) l ORDER BY l.version DESC OFFSET 1 LIMIT 1),
         moved AS (
             SELECT n.name, s.shares[cardinality(s.shares) - 1] AS old, n.share
               FROM shares_by_version(stored, COALESCE(group_value, '')) s
               JOIN named n USING (cluster)
              WHERE abs(n.share - s.shares[cardinality(s.shares) - 1]) >= 0.01
              ORDER BY abs(n.share - s.shares[cardinality(s.shares) - 1]) DESC, n.cluster LIMIT 1)
    SELECT format(
               E'<p class="story">%s</p>\n',
               concat_ws(
                   ' ',
                   CASE WHEN cardinality(clusters) = 1 THEN 'All rows are in one cluster.'
                        ELSE format('There are %s clusters.',
                                    html_value(cardinality(clusters), 'count')) END,
                   (SELECT string_agg(
                               concat(
                                   format(CASE n.i WHEN 1 THEN 'The largest, %s, has %s of the rows'
                                                   ELSE '%s has %s' END,
                                          n.name, html_value(n.share, 'category')),
                                   (SELECT ': '
                                           || string_agg(
                                                  format(CASE WHEN f.kind IN (
                                                                       'category', 'boolean')
                                                                  THEN '%s for %s (all rows: %s)'
                                                              ELSE '%s is %s (all rows: %s)' END,
                                                         html(f.feature, 60),
                                                         html_value(f.value, f.kind),
                                                         html_value(f.overall, f.kind)),
                                                  ', ' ORDER BY f.i)
                                      FROM feature f
                                     WHERE f.cluster = n.cluster AND f.i <= 2),
                                   '.'),
                               ' ' ORDER BY n.i)
                      FROM named n
                     WHERE cardinality(clusters) > 1 AND n.i <= 3 AND (n.i = 1 OR NOT n.small)),
                   (SELECT CASE count(*)
                                WHEN 1 THEN 'One cluster has less than 1 % of the rows.'
                                ELSE format('%s clusters have less than 1 %% of the rows each.',
                                            html_value(count(*), 'count')) END
                      FROM named n
                     WHERE n.small AND n.i > 1
                    HAVING count(*) > 0),
                   (SELECT concat(
                               format('Since version %s of %s ', b.version,
                                      CASE WHEN b.trained_at::date = now.trained_at::date
                                               THEN html_time(b.trained_at)
                                           ELSE html_time(b.trained_at, true) END),
                               CASE WHEN now.n = b.n THEN 'the number of rows is the same'
                                    ELSE format(
                                             'there are %s rows %s',
                                             html_value(abs(now.n - b.n), 'count'),
                                             CASE WHEN now.n > b.n THEN 'more'
                                                  ELSE 'fewer' END) END,
                               CASE WHEN now.clusters <> b.clusters
                                        THEN format(' and %s clusters in place of %s',
                                                    html_value(now.clusters, 'count'),
                                                    html_value(b.clusters, 'count')) END,
                               CASE WHEN now.churn IS NOT NULL
                                        THEN format('; %s of the rows are in another cluster',
                                                    html_value(now.churn, 'category')) END,
                               (SELECT format('; the share of %s changed from %s to %s', m.name,
                                              html_value(m.old, 'category'),
                                              html_value(m.share, 'category'))
                                  FROM moved m
                                 WHERE now.clusters = b.clusters),
                               '.')
                      FROM before b,
                           (SELECT l.* FROM unnest(lines) l ORDER BY l.version DESC LIMIT 1) now)))
     WHERE cardinality(clusters) > 0
$$;

CREATE FUNCTION fastclust_internal.report_details(summary models, version stored_versions)
    RETURNS text
    LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
    SELECT html_section(
               'model', 'How the model was trained', NULL,
               concat(
                   E'<dl class="details">\n',
                   (SELECT string_agg(format(E'<dt>%s</dt><dd>%s</dd>\n', d.name, d.value),
                                      '' ORDER BY d.i) FILTER (WHERE d.value IS NOT NULL)
                      FROM (SELECT u.*, row_number() OVER () AS i
                              FROM (VALUES ('Method',
                                            concat(
                                                html(version.method), '; ' || html(version.note))),
                                           ('Features',
                                            concat((SELECT string_agg(
                                                               format('<code>%s</code>', html(f)),
                                                               ', ' ORDER BY i)
                                                      FROM unnest(version.features)
                                                               WITH ORDINALITY u(f, i)
                                                     WHERE i <= 40),
                                                   CASE WHEN cardinality(version.features) > 40
                                                            THEN format(
                                                                     ' and %s more',
                                                                     cardinality(version.features) -
                                                                         40) END,
                                                   CASE WHEN version.vector
                                                            THEN format(', a vector of %s',
                                                                        html_value(summary.dim,
                                                                                   'count')) END)),
                                           ('Number of clusters',
                                            (SELECT html(l.note)
                                               FROM training_log l
                                              WHERE l.model = version.model
                                                AND l.version = version.version
                                                AND l.step = 'number of clusters'
                                              LIMIT 1)),
                                           ('Options',
                                            CASE WHEN version.options <> '{}'
                                                     THEN format('<code>%s</code>',
                                                                 html(version.options::text)) END),
                                           ('Live sketch',
                                            (SELECT concat(
                                                        format(
                                                            '<code>%s</code>: %s rows counted %s',
                                                            html(l.name),
                                                            html_value(l.folded_rows, 'count'),
                                                            html_time(l.counted_at)),
                                                        CASE WHEN l.open_deltas > 0
                                                                 THEN format(
                                                                          '; %s changes since %s are not folded yet',
                                                                          html_value(l.open_deltas,
                                                                                     'count'),
                                                                          html_time(l.oldest_delta)) END,
                                                        '; ' || html(l.problem))
                                               FROM live_sketches l
                                              WHERE l.name = (model_live(version.model_id)).name)),
                                           ('Owner', html(summary.owner)),
                                           ('Trained',
                                            concat('by ', html(version.trained_by::text), ', from ',
                                                   html_time(version.started_at), ' to ',
                                                   html_time(summary.trained_at))))
                                       u(name, value)) d),
                   '</dl>'))
$$;

CREATE FUNCTION fastclust_internal.read_report(model text, rules boolean, group_value text,
        title text)
    RETURNS text
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $$
DECLARE
    stored stored_models := readable_model($1);
    overview boolean := stored.group_by IS NOT NULL AND $3 IS NULL;
    version stored_versions;
    summary models := (SELECT s FROM models s WHERE s.model = stored.model);
    lines version_line[] := (SELECT array_agg(q.line ORDER BY (q.line).version)
                               FROM (SELECT ROW(v.version, max(v.trained_at), min(v.trained_by::text),
                                                min(v.method), sum(clusters(v.operator)), sum(v.n),
                                                sum(v.objective * v.n) / NULLIF(
                                                    sum(v.n) FILTER (WHERE v.objective IS NOT NULL),
                                                    0),
                                                sum(v.label_churn * v.n) / NULLIF(
                                                    sum(v.n)
                                                        FILTER (WHERE v.label_churn IS NOT NULL),
                                                    0))::version_line AS line
                                       FROM readable_versions v
                                      WHERE v.model_id = stored.id
                                        AND v.version <= stored.version
                                        AND v.group_value = COALESCE($3, v.group_value)
                                      GROUP BY v.version
                                      ORDER BY v.version DESC LIMIT 30) q);
    line version_line := lines[cardinality(lines)];
    heading text := COALESCE(html($4), concat(html(stored.model), ': ' || html($3)));
    lead text;    -- one sentence about the model
    shown report_cluster[];
    profile profile_value[];
    encoding name := pg_client_encoding();
BEGIN
    IF overview THEN
        SELECT v.* INTO version
          FROM readable_versions v
         WHERE v.model_id = stored.id AND v.version = stored.version
         ORDER BY v.n DESC, v.group_value LIMIT 1;
    ELSE
        version := explained_version(stored, $3);
        shown := report_clusters(stored, version);
        profile := profile_values(version, shown);
    END IF;
    lead :=
        format(
            '%s %s of <code>%s</code> in %s %s%s, by %s.', html_value(line.n, 'count'),
            CASE WHEN line.n = 1 THEN 'row' ELSE 'rows' END, html(version.relation, 120),
            html_value(line.clusters, 'count'),
            CASE WHEN line.clusters = 1 THEN 'cluster' ELSE 'clusters' END,
            CASE WHEN overview THEN format(
                                        ' of %s groups by <code>%s</code>',
                                        html_value(summary.groups, 'count'), html(summary.group_by))
                 WHEN summary.group_by IS NOT NULL THEN format(
                                                            ', where <code>%s</code> is <code>%s</code>',
                                                            html(summary.group_by),
                                                            html(version.group_value, 120)) END,
            CASE WHEN version.vector
                     THEN format('the vector <code>%s</code>', html(version.features[1]))
                 WHEN cardinality(version.features) <= 4 THEN (SELECT string_agg(
                                                                          format('<code>%s</code>',
                                                                                 html(f)),
                                                                          ', ' ORDER BY i)
                                                                 FROM unnest(version.features)
                                                                          WITH ORDINALITY u(f, i))
                 ELSE format('%s columns', cardinality(version.features)) END);
    -- the encoding of the client that writes the file
    RETURN concat(
               E'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="',
               CASE WHEN encoding LIKE 'LATIN_' THEN 'iso-8859-' || right(encoding, 1)
                    WHEN encoding LIKE 'WIN12__' THEN 'windows-' || right(encoding, 4)
                    ELSE 'utf-8' END,
               E'">\n', E'<meta name="viewport" content="width=device-width, initial-scale=1">\n',
               E'<meta http-equiv="Content-Security-Policy" content="default-src ''none''; style-src ''unsafe-inline''">\n',
               E'<meta name="color-scheme" content="light dark">\n<title>', heading,
               E'</title>\n<style>', report_style(),
               E'</style>\n</head>\n<body>\n<div class="page">\n',
               format(E'<header>\n<h1>%s</h1>\n<p class="lead">%s</p>\n%s</header>\n', heading,
                      lead, report_story(stored, $3, shown, profile, lines)),
               E'<dl class="facts">\n',
               (SELECT string_agg(format(E'<div><dt>%s</dt><dd id="%s" class="%s">%s</dd></div>\n',
                                         f.name, f.id, f.class, f.value),
                                  '' ORDER BY f.i)
                  FROM (SELECT u.*, row_number() OVER () AS i
                          FROM (VALUES ('rows', 'Rows', html_value(line.n, 'count'), ''),
                                       ('clusters', 'Clusters', html_value(line.clusters, 'count'),
                                        ''),
                                       ('version', 'Version', html_value(line.version, 'count'),
                                        ''),
                                       ('trained', 'Trained', html_time(line.trained_at, true),
                                        'word')) u(id, name, value, class)) f),
               E'</dl>\n',
               CASE WHEN overview THEN report_groups(stored)
                    ELSE concat(report_map(shown, profile), report_tree(version, shown),
                                report_sizes(stored, version, shown),
                                report_profile(version, profile, shown),
                                CASE WHEN $2 THEN report_rules(stored, $3, shown) END) END,
               report_versions(lines), report_drift(stored), report_steps(stored),
               report_details(summary, version),
               format(
                   E'<footer>\n<p>For analysts: the rows have <span id="dimensions">%s</span> %s.%s</p>\n',
                   html_value(summary.dim, 'count'),
                   CASE WHEN version.map IS NULL THEN 'dimensions' ELSE 'kernel features' END,
                   ' The mean squared distance of a row from its centroid is <span id="objective">'
                   || CASE WHEN line.objective IS NOT NULL
                               THEN html_value(line.objective, 'number') END
                   || '</span>.'),
               format(
                   E'<p>Created %s by fastclust %s for %s: <code>SELECT report(%s)</code>. The numbers come from <code>model_clusters</code>, '
                       '<code>profile</code>, <code>cluster_rules</code>, <code>model_versions</code>, <code>drift_log</code> and <code>training_log</code>.</p>\n</footer>',
                   html_time(now()),
                   html((SELECT e.extversion FROM pg_extension e WHERE e.extname = 'fastclust')),
                   html(current_user),
                   html(concat(quote_literal(stored.model), ', group_value => ' || quote_literal($3),
                               ', title => ' || quote_literal($4)))),
               E'\n</div>\n</body>\n</html>');
END
$$;
CREATE FUNCTION fastclust.report(model text, rules boolean DEFAULT true,
        group_value anycompatible DEFAULT NULL, title text DEFAULT NULL)
    RETURNS text
    AS 'MODULE_PATHNAME', 'fastclust_read_once' LANGUAGE C STABLE COST 100;
COMMENT ON FUNCTION fastclust.report IS
    'Returns an HTML page about a model, or one of its groups: clusters, profile, rules, '
    'versions, drift and training. Reads no table if rules is false.';

-- Rights, set when all objects exist

-- The foreign keys do not check inserts, because a parallel restore loads the model tables in any
-- order. The functions that write these tables lock the model's row before they insert. Deletes
-- still cascade.
DO $$
DECLARE
    foreign_key record;
BEGIN
    FOR foreign_key IN
        SELECT t.tgrelid::pg_catalog.regclass AS relation, t.tgname AS name
          FROM pg_catalog.pg_trigger t
         WHERE t.tgconstrrelid OPERATOR(pg_catalog.=)
                   'fastclust_internal.stored_models'::pg_catalog.regclass
           AND t.tgfoid OPERATOR(pg_catalog.=) 'pg_catalog."RI_FKey_check_ins"'::pg_catalog.regproc
    LOOP
        EXECUTE pg_catalog.format('ALTER TABLE %s DISABLE TRIGGER %I', foreign_key.relation, foreign_key.name);
    END LOOP;
END
$$;

-- The owner of the database may dump the tables. It may restore models of roles whose rights it
-- has, and live sketches of tables that belong to such roles. The trigger rejects other rows.
CREATE FUNCTION fastclust_owner.check_restored_row() RETURNS trigger
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    own boolean;
BEGIN
    IF TG_TABLE_NAME = 'stored_models' THEN
        own := pg_has_role(role_id(NEW.owner), 'USAGE');
    ELSIF TG_TABLE_NAME = 'kept_sketches' THEN
        own := EXISTS (SELECT FROM pg_class c
                        WHERE c.oid = NEW.relation AND pg_has_role(c.relowner, 'USAGE'))
               AND (NEW.model_id IS NULL
                    OR EXISTS (SELECT FROM own_models m WHERE m.id = NEW.model_id));
    ELSIF TG_TABLE_NAME = 'label_tables' THEN      -- written with the rights of followed_by
        own := EXISTS (SELECT FROM own_models m WHERE m.id = NEW.model_id)
               AND pg_has_role(role_id(NEW.followed_by), 'USAGE');
    ELSE
        own := EXISTS (SELECT FROM own_models m WHERE m.id = NEW.model_id);
    END IF;
    IF own IS NOT TRUE THEN
        RAISE insufficient_privilege USING
            MESSAGE = format('%s cannot restore rows of %s that belong to other roles',
                             current_user, TG_TABLE_NAME),
            HINT = 'Restore as a superuser, or as a member of the roles that own models.';
    END IF;
    RETURN NEW;
END
$$;
DO $$
DECLARE
    restored record;
    owner text := (SELECT CASE WHEN pg_catalog.current_setting('server_version_num')::int >= 140000
                                   THEN 'pg_database_owner'
                               ELSE pg_catalog.pg_get_userbyid(d.datdba) END
                     FROM pg_catalog.pg_database d
                    WHERE d.datname = pg_catalog.current_database());
BEGIN
    FOR restored IN
        SELECT c.oid::pg_catalog.regclass AS id, c.relkind AS kind
          FROM pg_catalog.pg_extension e, pg_catalog.pg_class c
         WHERE e.extname = 'fastclust' AND c.oid = ANY (e.extconfig)
    LOOP
        IF restored.kind = 'S' THEN
            EXECUTE pg_catalog.format('GRANT SELECT, UPDATE ON SEQUENCE %s TO %I', restored.id, owner);
        ELSE
            EXECUTE pg_catalog.format('GRANT SELECT, INSERT ON %s TO %I', restored.id, owner);
            EXECUTE pg_catalog.format(
                        'CREATE TRIGGER restore BEFORE INSERT ON %1$s FOR EACH ROW WHEN'
                        ' (NOT has_table_privilege(''fastclust_internal.%1$s'', ''UPDATE''))'
                            ' EXECUTE FUNCTION check_restored_row()',
                        restored.id);
            -- ALWAYS: a role may have the right to set session_replication_role
            EXECUTE pg_catalog.format('ALTER TABLE %s ENABLE ALWAYS TRIGGER restore', restored.id);
        END IF;
    END LOOP;
END
$$;

-- Trigger functions are in fastclust_owner, too: a role could otherwise use them on its own table,
-- whose rows may have types with casts that are the role's code. The exception is live_change,
-- because keep_sketch makes its triggers with the rights of the caller.
REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA fastclust_owner FROM PUBLIC;
