
-- Data types: a value is flat bytes with a version number, equal values have equal bytes, and the
-- text form is hexadecimal

-- value_bytes holds the bytes of a value. Values of all types of this extension are cast to
-- value_bytes to compare, sort and hash them. bytea cannot be used, because it has another
-- alignment.
CREATE TYPE fastclust_internal.value_bytes;
CREATE FUNCTION fastclust_internal.value_bytes_in(cstring) RETURNS value_bytes
    AS 'byteain' LANGUAGE internal STABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.value_bytes_out(value_bytes) RETURNS cstring
    AS 'byteaout' LANGUAGE internal STABLE STRICT PARALLEL SAFE;
CREATE TYPE fastclust_internal.value_bytes (
    INPUT = value_bytes_in, OUTPUT = value_bytes_out, ALIGNMENT = double, STORAGE = external);
COMMENT ON TYPE value_bytes IS 'internal: bytes of a value of any type of this extension';

-- Creates the types, and the functions that read and write their text and binary forms. Values of
-- most types have the same bytes in memory and in the binary form. The two types whose values may
-- have another form in memory, sketch and drift_counts, have output and send functions of their
-- own.
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
