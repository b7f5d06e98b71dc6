
-- types: flat, versioned, canonical bytes; text form is hexadecimal

-- The bytes of a value, as which those of all types are compared, sorted and hashed: bytea has
-- another alignment.
CREATE TYPE fastclust_internal.value_bytes;
CREATE FUNCTION fastclust_internal.value_bytes_in(cstring) RETURNS value_bytes
    AS 'byteain' LANGUAGE internal STABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.value_bytes_out(value_bytes) RETURNS cstring
    AS 'byteaout' LANGUAGE internal STABLE STRICT PARALLEL SAFE;
CREATE TYPE fastclust_internal.value_bytes (
    INPUT = value_bytes_in, OUTPUT = value_bytes_out, ALIGNMENT = double, STORAGE = external);
COMMENT ON TYPE value_bytes IS 'internal: the bytes of a value of any type of this extension';

-- The types, and the functions that read and write their text and binary form.  A value has the
-- bytes of a bytea, but for the two types whose form in memory is another: functions of their
-- own write these.
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
    'a spec: the waves that a sketch averages, and their scale; it also carries sample rows for decode';
COMMENT ON TYPE sketch IS
    'a summary of a set of rows: the means of random waves over them, with counts, means, deviations and bounds';
COMMENT ON TYPE fastop IS
    'an operator: stored centroids, dense or as a product of sparse factors, that assign rows to clusters';
COMMENT ON TYPE kernel_projection IS
    'coordinates of rows whose inner products approximate a kernel matrix';
COMMENT ON TYPE kernel_map IS
    'a feature map: turns a row into coordinates, by its kernel values with some landmarks';
COMMENT ON TYPE encoder IS
    'an encoder: how numbers, categories, dates and arrays of a row become coordinates, learned from a sample';
COMMENT ON TYPE drift_spec IS
    'internal: the edges and pairs of columns at which rows are counted, chosen from a sample';
COMMENT ON TYPE drift_counts IS
    'internal: how many rows fall below each edge, and together above two';
COMMENT ON TYPE aggregate_state IS
    'internal: the running state of Lloyd steps and scores, as it travels between workers and shards';

-- a kernel is its name and three numbers; its text says them

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
    'a positive semidefinite kernel: rbf(gamma), polynomial(degree,coef0,gamma), linear(), cosine()';

-- row_vector: any array of numbers, the argument type of aggregates that Citus runs on shards.
-- Arrays resolve to the PREFERRED type rather than to "any".

CREATE TYPE fastclust.row_vector;
CREATE FUNCTION fastclust_internal.row_vector_in(cstring) RETURNS row_vector
    AS 'MODULE_PATHNAME', 'fastclust_row_vector_in' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.row_vector_out(row_vector) RETURNS cstring
    AS 'MODULE_PATHNAME', 'fastclust_row_vector_out' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE TYPE fastclust.row_vector (
    INPUT = row_vector_in, OUTPUT = row_vector_out, ALIGNMENT = double, STORAGE = extended,
    CATEGORY = 'A', PREFERRED = true);
COMMENT ON TYPE row_vector IS 'an array of numbers of any type, as an argument of aggregates';
-- for DISTINCT in an aggregate
CREATE CAST (row_vector AS fastclust_internal.value_bytes) WITHOUT FUNCTION AS IMPLICIT;
CREATE FUNCTION fastclust_internal.as_row_vector(anyarray) RETURNS row_vector
    AS 'MODULE_PATHNAME', 'fastclust_as_row_vector' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE CAST (smallint[] AS row_vector) WITH FUNCTION as_row_vector(anyarray) AS IMPLICIT;
CREATE CAST (integer[] AS row_vector) WITH FUNCTION as_row_vector(anyarray) AS IMPLICIT;
CREATE CAST (bigint[] AS row_vector) WITH FUNCTION as_row_vector(anyarray) AS IMPLICIT;
CREATE CAST (real[] AS row_vector) WITH FUNCTION as_row_vector(anyarray) AS IMPLICIT;
CREATE CAST (double precision[] AS row_vector) WITH FUNCTION as_row_vector(anyarray) AS IMPLICIT;
CREATE CAST (numeric[] AS row_vector) WITH FUNCTION as_row_vector(anyarray) AS IMPLICIT;

-- Planner support: checks the types of arguments declared "any", and makes arrays of literals.
CREATE FUNCTION fastclust_internal.vector_support(internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_vector_support' LANGUAGE C STRICT;

-- Two states of a kind, of any kind.
CREATE FUNCTION fastclust_internal.state_combine(aggregate_state, aggregate_state)
    RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_state_combine' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;

-- States of type internal that collect or scan rows, of any kind, between workers.
CREATE FUNCTION fastclust_internal.internal_combine(internal, internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_internal_combine' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE FUNCTION fastclust_internal.internal_serialize(internal) RETURNS bytea
    AS 'MODULE_PATHNAME', 'fastclust_internal_serialize' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.internal_deserialize(bytea, internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_internal_deserialize' LANGUAGE C IMMUTABLE STRICT
    PARALLEL SAFE;
