
-- types: flat, versioned, canonical bytes; text form is hexadecimal

--@each @schema@ @type@ @reader@ @writer@ = fastclust sketch_spec sketch_spec value; fastclust sketch sketch sketch; fastclust fastop fastop value; fastclust_internal aggregate_state aggregate_state value; fastclust_internal drift_spec drift_spec value; fastclust_internal drift_counts drift_counts drift_counts; fastclust kernel_projection kernel_projection value; fastclust kernel_map kernel_map value; fastclust encoder encoder value
CREATE TYPE @schema@.@type@;
CREATE FUNCTION fastclust_internal.@type@_in(cstring) RETURNS @type@
    AS 'MODULE_PATHNAME', 'fastclust_@reader@_in' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.@type@_out(@type@) RETURNS cstring
    AS 'MODULE_PATHNAME', 'fastclust_@writer@_out' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE TYPE @schema@.@type@ (INPUT = @type@_in, OUTPUT = @type@_out, ALIGNMENT = double, STORAGE = external);
--@end

-- The bytes of a value, as which those below are compared, sorted and hashed: bytea has another alignment.
CREATE TYPE fastclust_internal.value_bytes;
CREATE FUNCTION fastclust_internal.value_bytes_in(cstring) RETURNS value_bytes AS 'byteain' LANGUAGE internal STABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.value_bytes_out(value_bytes) RETURNS cstring AS 'byteaout' LANGUAGE internal STABLE STRICT PARALLEL SAFE;
CREATE TYPE fastclust_internal.value_bytes (INPUT = value_bytes_in, OUTPUT = value_bytes_out, ALIGNMENT = double, STORAGE = external);
COMMENT ON TYPE value_bytes IS 'internal: the bytes of a value of any type of this extension';

-- binary form: that of bytea
--@each @type@ @send@ @language@ = sketch_spec 'byteasend' internal; sketch 'MODULE_PATHNAME','fastclust_sketch_send' C; fastop 'byteasend' internal; kernel_projection 'byteasend' internal; kernel_map 'byteasend' internal; encoder 'byteasend' internal; aggregate_state 'byteasend' internal; drift_spec 'byteasend' internal; drift_counts 'MODULE_PATHNAME','fastclust_drift_counts_send' C
CREATE FUNCTION fastclust_internal.@type@_recv(internal) RETURNS @type@
    AS 'MODULE_PATHNAME', 'fastclust_@type@_recv' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.@type@_send(@type@) RETURNS bytea
    AS @send@ LANGUAGE @language@ IMMUTABLE STRICT PARALLEL SAFE;
ALTER TYPE @type@ SET (RECEIVE = @type@_recv, SEND = @type@_send);
CREATE CAST (@type@ AS fastclust_internal.value_bytes) WITHOUT FUNCTION AS IMPLICIT;
--@end
COMMENT ON TYPE sketch_spec IS 'a spec: the waves that a sketch averages, and their scale; it also carries sample rows for decode';
COMMENT ON TYPE sketch IS 'a summary of a set of rows: the means of random waves over them, with counts, means, deviations and bounds';
COMMENT ON TYPE fastop IS 'an operator: stored centroids, dense or as a product of sparse factors, that assign rows to clusters';
COMMENT ON TYPE kernel_projection IS 'coordinates of rows whose inner products approximate a kernel matrix';
COMMENT ON TYPE kernel_map IS 'a feature map: turns a row into coordinates, by its kernel values with some landmarks';
COMMENT ON TYPE encoder IS 'an encoder: how numbers, categories, dates and arrays of a row become coordinates, learned from a sample';
COMMENT ON TYPE drift_spec IS 'internal: the edges and pairs of columns at which rows are counted, chosen from a sample';
COMMENT ON TYPE drift_counts IS 'internal: how many rows fall below each edge, and together above two';
COMMENT ON TYPE aggregate_state IS 'internal: the running state of Lloyd steps and scores, as it travels between workers and shards';

-- a kernel is its name and three numbers; its text says them

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

-- row_vector: any array of numbers, the argument type of aggregates that Citus runs on shards.  Arrays resolve to the PREFERRED type rather than
-- to "any".

CREATE TYPE row_vector;
CREATE FUNCTION fastclust_internal.row_vector_in(cstring) RETURNS row_vector
    AS 'MODULE_PATHNAME', 'fastclust_row_vector_in' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.row_vector_out(row_vector) RETURNS cstring
    AS 'MODULE_PATHNAME', 'fastclust_row_vector_out' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE TYPE row_vector (INPUT = row_vector_in, OUTPUT = row_vector_out, ALIGNMENT = double, STORAGE = extended, CATEGORY = 'A', PREFERRED = true);
COMMENT ON TYPE row_vector IS 'an array of numbers of any type, as an argument of aggregates';
CREATE CAST (row_vector AS fastclust_internal.value_bytes) WITHOUT FUNCTION AS IMPLICIT;     -- for DISTINCT in an aggregate
CREATE FUNCTION fastclust_internal.as_row_vector(anyarray) RETURNS row_vector
    AS 'MODULE_PATHNAME', 'fastclust_as_row_vector' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
--@each @element@ = smallint; integer; bigint; real; double~precision; numeric
CREATE CAST (@element@[] AS row_vector) WITH FUNCTION as_row_vector(anyarray) AS IMPLICIT;
--@end

-- Planner support: checks the types of arguments declared "any", and makes arrays of literals.
CREATE FUNCTION fastclust_internal.vector_support(internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_vector_support' LANGUAGE C STRICT;

-- Two states of a kind, of any kind.
CREATE FUNCTION fastclust_internal.state_combine(aggregate_state, aggregate_state) RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_state_combine' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;

-- States of type internal that collect or scan rows, of any kind, between workers.
CREATE FUNCTION fastclust_internal.internal_combine(internal, internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_internal_combine' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE FUNCTION fastclust_internal.internal_serialize(internal) RETURNS bytea
    AS 'MODULE_PATHNAME', 'fastclust_internal_serialize' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.internal_deserialize(bytea, internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_internal_deserialize' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
