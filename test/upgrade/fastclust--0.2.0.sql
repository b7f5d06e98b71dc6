\echo Use "CREATE EXTENSION fastclust" to load this file. \quit

-- Functions for users are in fastclust, functions that these call in fastclust_internal.  Both belong to the extension, which makes them and drops them: in a
-- schema that was there, its owner or who may create in it could put a function where calls from here would take it for the closer match.
CREATE SCHEMA fastclust;
CREATE SCHEMA fastclust_internal;

-- every function is harmless to others: whoever may connect may use them
GRANT USAGE ON SCHEMA fastclust, fastclust_internal TO PUBLIC;

-- the languages of functions for users, and of those that write as the owner (pg/base/languages.c)
CREATE FUNCTION fastclust_internal.call_plpgsql() RETURNS language_handler AS 'MODULE_PATHNAME', 'fastclust_call_plpgsql' LANGUAGE C;
CREATE FUNCTION fastclust_internal.call_as_owner() RETURNS language_handler AS 'MODULE_PATHNAME', 'fastclust_call_as_owner' LANGUAGE C;
CREATE FUNCTION fastclust_internal.calling_role() RETURNS oid AS 'MODULE_PATHNAME', 'fastclust_calling_role' LANGUAGE C STABLE PARALLEL RESTRICTED;
CREATE LANGUAGE fastclust HANDLER fastclust_internal.call_plpgsql;
CREATE LANGUAGE fastclust_owner HANDLER fastclust_internal.call_as_owner;
COMMENT ON LANGUAGE fastclust IS 'PL/pgSQL whose errors do not show how fastclust is built';
COMMENT ON LANGUAGE fastclust_owner IS 'the same, run with the rights of the owner of the function, which checks those of the caller';

-- objects are made in fastclust unless they say otherwise, and found in both
SET LOCAL search_path = fastclust, fastclust_internal, pg_temp;

-- types: flat, versioned, canonical bytes; text form is hexadecimal

CREATE TYPE fastclust.sketch_spec;
CREATE FUNCTION fastclust_internal.sketch_spec_in(cstring) RETURNS sketch_spec
    AS 'MODULE_PATHNAME', 'fastclust_sketch_spec_in' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.sketch_spec_out(sketch_spec) RETURNS cstring
    AS 'MODULE_PATHNAME', 'fastclust_value_out' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE TYPE fastclust.sketch_spec (INPUT = sketch_spec_in, OUTPUT = sketch_spec_out, ALIGNMENT = double, STORAGE = external);
CREATE TYPE fastclust.sketch;
CREATE FUNCTION fastclust_internal.sketch_in(cstring) RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_sketch_in' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.sketch_out(sketch) RETURNS cstring
    AS 'MODULE_PATHNAME', 'fastclust_sketch_out' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE TYPE fastclust.sketch (INPUT = sketch_in, OUTPUT = sketch_out, ALIGNMENT = double, STORAGE = external);
CREATE TYPE fastclust.fastop;
CREATE FUNCTION fastclust_internal.fastop_in(cstring) RETURNS fastop
    AS 'MODULE_PATHNAME', 'fastclust_fastop_in' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.fastop_out(fastop) RETURNS cstring
    AS 'MODULE_PATHNAME', 'fastclust_value_out' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE TYPE fastclust.fastop (INPUT = fastop_in, OUTPUT = fastop_out, ALIGNMENT = double, STORAGE = external);
CREATE TYPE fastclust_internal.aggregate_state;
CREATE FUNCTION fastclust_internal.aggregate_state_in(cstring) RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_aggregate_state_in' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.aggregate_state_out(aggregate_state) RETURNS cstring
    AS 'MODULE_PATHNAME', 'fastclust_value_out' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE TYPE fastclust_internal.aggregate_state (INPUT = aggregate_state_in, OUTPUT = aggregate_state_out, ALIGNMENT = double, STORAGE = external);
CREATE TYPE fastclust_internal.drift_spec;
CREATE FUNCTION fastclust_internal.drift_spec_in(cstring) RETURNS drift_spec
    AS 'MODULE_PATHNAME', 'fastclust_drift_spec_in' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.drift_spec_out(drift_spec) RETURNS cstring
    AS 'MODULE_PATHNAME', 'fastclust_value_out' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE TYPE fastclust_internal.drift_spec (INPUT = drift_spec_in, OUTPUT = drift_spec_out, ALIGNMENT = double, STORAGE = external);
CREATE TYPE fastclust_internal.drift_counts;
CREATE FUNCTION fastclust_internal.drift_counts_in(cstring) RETURNS drift_counts
    AS 'MODULE_PATHNAME', 'fastclust_drift_counts_in' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.drift_counts_out(drift_counts) RETURNS cstring
    AS 'MODULE_PATHNAME', 'fastclust_drift_counts_out' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE TYPE fastclust_internal.drift_counts (INPUT = drift_counts_in, OUTPUT = drift_counts_out, ALIGNMENT = double, STORAGE = external);
CREATE TYPE fastclust.kernel_projection;
CREATE FUNCTION fastclust_internal.kernel_projection_in(cstring) RETURNS kernel_projection
    AS 'MODULE_PATHNAME', 'fastclust_kernel_projection_in' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.kernel_projection_out(kernel_projection) RETURNS cstring
    AS 'MODULE_PATHNAME', 'fastclust_value_out' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE TYPE fastclust.kernel_projection (INPUT = kernel_projection_in, OUTPUT = kernel_projection_out, ALIGNMENT = double, STORAGE = external);
CREATE TYPE fastclust.kernel_map;
CREATE FUNCTION fastclust_internal.kernel_map_in(cstring) RETURNS kernel_map
    AS 'MODULE_PATHNAME', 'fastclust_kernel_map_in' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.kernel_map_out(kernel_map) RETURNS cstring
    AS 'MODULE_PATHNAME', 'fastclust_value_out' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE TYPE fastclust.kernel_map (INPUT = kernel_map_in, OUTPUT = kernel_map_out, ALIGNMENT = double, STORAGE = external);
CREATE TYPE fastclust.encoder;
CREATE FUNCTION fastclust_internal.encoder_in(cstring) RETURNS encoder
    AS 'MODULE_PATHNAME', 'fastclust_encoder_in' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.encoder_out(encoder) RETURNS cstring
    AS 'MODULE_PATHNAME', 'fastclust_value_out' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE TYPE fastclust.encoder (INPUT = encoder_in, OUTPUT = encoder_out, ALIGNMENT = double, STORAGE = external);

-- The bytes of a value, as which those below are compared, sorted and hashed: bytea has another alignment.
CREATE TYPE fastclust_internal.value_bytes;
CREATE FUNCTION fastclust_internal.value_bytes_in(cstring) RETURNS value_bytes AS 'byteain' LANGUAGE internal STABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.value_bytes_out(value_bytes) RETURNS cstring AS 'byteaout' LANGUAGE internal STABLE STRICT PARALLEL SAFE;
CREATE TYPE fastclust_internal.value_bytes (INPUT = value_bytes_in, OUTPUT = value_bytes_out, ALIGNMENT = double, STORAGE = external);
COMMENT ON TYPE value_bytes IS 'internal: the bytes of a value of any type of this extension';

-- binary form: that of bytea
CREATE FUNCTION fastclust_internal.sketch_spec_recv(internal) RETURNS sketch_spec
    AS 'MODULE_PATHNAME', 'fastclust_sketch_spec_recv' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.sketch_spec_send(sketch_spec) RETURNS bytea
    AS 'byteasend' LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE;
ALTER TYPE sketch_spec SET (RECEIVE = sketch_spec_recv, SEND = sketch_spec_send);
CREATE CAST (sketch_spec AS fastclust_internal.value_bytes) WITHOUT FUNCTION AS IMPLICIT;
CREATE FUNCTION fastclust_internal.sketch_recv(internal) RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_sketch_recv' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.sketch_send(sketch) RETURNS bytea
    AS 'MODULE_PATHNAME','fastclust_sketch_send' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
ALTER TYPE sketch SET (RECEIVE = sketch_recv, SEND = sketch_send);
CREATE CAST (sketch AS fastclust_internal.value_bytes) WITHOUT FUNCTION AS IMPLICIT;
CREATE FUNCTION fastclust_internal.fastop_recv(internal) RETURNS fastop
    AS 'MODULE_PATHNAME', 'fastclust_fastop_recv' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.fastop_send(fastop) RETURNS bytea
    AS 'byteasend' LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE;
ALTER TYPE fastop SET (RECEIVE = fastop_recv, SEND = fastop_send);
CREATE CAST (fastop AS fastclust_internal.value_bytes) WITHOUT FUNCTION AS IMPLICIT;
CREATE FUNCTION fastclust_internal.kernel_projection_recv(internal) RETURNS kernel_projection
    AS 'MODULE_PATHNAME', 'fastclust_kernel_projection_recv' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.kernel_projection_send(kernel_projection) RETURNS bytea
    AS 'byteasend' LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE;
ALTER TYPE kernel_projection SET (RECEIVE = kernel_projection_recv, SEND = kernel_projection_send);
CREATE CAST (kernel_projection AS fastclust_internal.value_bytes) WITHOUT FUNCTION AS IMPLICIT;
CREATE FUNCTION fastclust_internal.kernel_map_recv(internal) RETURNS kernel_map
    AS 'MODULE_PATHNAME', 'fastclust_kernel_map_recv' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.kernel_map_send(kernel_map) RETURNS bytea
    AS 'byteasend' LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE;
ALTER TYPE kernel_map SET (RECEIVE = kernel_map_recv, SEND = kernel_map_send);
CREATE CAST (kernel_map AS fastclust_internal.value_bytes) WITHOUT FUNCTION AS IMPLICIT;
CREATE FUNCTION fastclust_internal.encoder_recv(internal) RETURNS encoder
    AS 'MODULE_PATHNAME', 'fastclust_encoder_recv' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.encoder_send(encoder) RETURNS bytea
    AS 'byteasend' LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE;
ALTER TYPE encoder SET (RECEIVE = encoder_recv, SEND = encoder_send);
CREATE CAST (encoder AS fastclust_internal.value_bytes) WITHOUT FUNCTION AS IMPLICIT;
CREATE FUNCTION fastclust_internal.aggregate_state_recv(internal) RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_aggregate_state_recv' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.aggregate_state_send(aggregate_state) RETURNS bytea
    AS 'byteasend' LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE;
ALTER TYPE aggregate_state SET (RECEIVE = aggregate_state_recv, SEND = aggregate_state_send);
CREATE CAST (aggregate_state AS fastclust_internal.value_bytes) WITHOUT FUNCTION AS IMPLICIT;
CREATE FUNCTION fastclust_internal.drift_spec_recv(internal) RETURNS drift_spec
    AS 'MODULE_PATHNAME', 'fastclust_drift_spec_recv' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.drift_spec_send(drift_spec) RETURNS bytea
    AS 'byteasend' LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE;
ALTER TYPE drift_spec SET (RECEIVE = drift_spec_recv, SEND = drift_spec_send);
CREATE CAST (drift_spec AS fastclust_internal.value_bytes) WITHOUT FUNCTION AS IMPLICIT;
CREATE FUNCTION fastclust_internal.drift_counts_recv(internal) RETURNS drift_counts
    AS 'MODULE_PATHNAME', 'fastclust_drift_counts_recv' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.drift_counts_send(drift_counts) RETURNS bytea
    AS 'MODULE_PATHNAME','fastclust_drift_counts_send' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
ALTER TYPE drift_counts SET (RECEIVE = drift_counts_recv, SEND = drift_counts_send);
CREATE CAST (drift_counts AS fastclust_internal.value_bytes) WITHOUT FUNCTION AS IMPLICIT;
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
CREATE FUNCTION fastclust_internal.state_combine(aggregate_state, aggregate_state) RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_state_combine' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;

-- States of type internal that collect or scan rows, of any kind, between workers.
CREATE FUNCTION fastclust_internal.internal_combine(internal, internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_internal_combine' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE FUNCTION fastclust_internal.internal_serialize(internal) RETURNS bytea
    AS 'MODULE_PATHNAME', 'fastclust_internal_serialize' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.internal_deserialize(bytea, internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_internal_deserialize' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

-- equality by the canonical bytes, so that GROUP BY and joins work, and an order, for DISTINCT in an aggregate

CREATE FUNCTION fastclust_internal.value_bytes_eq(value_bytes, value_bytes) RETURNS boolean AS 'byteaeq' LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.value_bytes_lt(value_bytes, value_bytes) RETURNS boolean AS 'bytealt' LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.kernel_hash(kernel) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_kernel_hash' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.kernel_eq(kernel, kernel) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_kernel_eq' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE OPERATOR = (LEFTARG = value_bytes, RIGHTARG = value_bytes, FUNCTION = value_bytes_eq, COMMUTATOR = =, RESTRICT = eqsel, JOIN = eqjoinsel, HASHES, MERGES);
COMMENT ON OPERATOR = (value_bytes, value_bytes) IS 'the same value';
CREATE OPERATOR CLASS value_bytes_hash_ops DEFAULT FOR TYPE value_bytes USING hash AS OPERATOR 1 =, FUNCTION 1 (value_bytes, value_bytes) hashvarlena(internal);
CREATE OPERATOR = (LEFTARG = kernel, RIGHTARG = kernel, FUNCTION = kernel_eq, COMMUTATOR = =, RESTRICT = eqsel, JOIN = eqjoinsel, HASHES, MERGES);
COMMENT ON OPERATOR = (kernel, kernel) IS 'the same value';
CREATE OPERATOR CLASS kernel_hash_ops DEFAULT FOR TYPE kernel USING hash AS OPERATOR 1 =, FUNCTION 1 (kernel, kernel) kernel_hash(kernel);
CREATE OPERATOR < (LEFTARG = value_bytes, RIGHTARG = value_bytes, FUNCTION = value_bytes_lt, RESTRICT = scalarltsel, JOIN = scalarltjoinsel);
COMMENT ON OPERATOR < (value_bytes, value_bytes) IS 'the order for sorting; it has no other meaning';
CREATE OPERATOR CLASS value_bytes_ops DEFAULT FOR TYPE value_bytes USING btree AS
    OPERATOR 1 <, OPERATOR 3 =, FUNCTION 1 (value_bytes, value_bytes) byteacmp(bytea, bytea);

-- sketch_spec: the frequencies and the scale of sketches

CREATE FUNCTION sketch_spec(dim integer, frequencies integer, sigma double precision,
        law text DEFAULT 'adapted_radius_kmeans', seed bigint DEFAULT 0,
        center double precision[] DEFAULT NULL, scale double precision[] DEFAULT NULL, options jsonb DEFAULT '{}')
    RETURNS sketch_spec
    AS 'MODULE_PATHNAME', 'fastclust_sketch_spec_make' LANGUAGE C IMMUTABLE PARALLEL SAFE;
COMMENT ON FUNCTION sketch_spec(integer, integer, double precision, text, bigint, double precision[], double precision[], jsonb)
    IS 'a spec from its parameters';
CREATE FUNCTION describe(sketch_spec) RETURNS jsonb
    AS 'MODULE_PATHNAME', 'fastclust_spec_describe' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION describe(sketch_spec) IS 'the parameters of a spec';
-- dimensions: of the rows to be sketched; the error that the spec measures others; 0: of any.
CREATE FUNCTION fastclust_internal.without_pilot_rows(spec sketch_spec, dimensions integer DEFAULT 0) RETURNS sketch_spec
    AS 'MODULE_PATHNAME', 'fastclust_spec_without_pilot' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION fastclust_internal.sketch_spec_final(internal) RETURNS sketch_spec
    AS 'MODULE_PATHNAME', 'fastclust_spec_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION fastclust_internal.sketch_spec_accum(internal, "any", integer) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_spec_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 200;
CREATE AGGREGATE sketch_spec_agg(x "any", clusters integer) (SFUNC = sketch_spec_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = internal_combine, SERIALFUNC = internal_serialize, DESERIALFUNC = internal_deserialize,
    FINALFUNC = sketch_spec_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE sketch_spec_agg("any", integer) IS 'a spec chosen from a sample of rows, for about so many clusters';
CREATE FUNCTION fastclust_internal.sketch_spec_accum(internal, "any", integer, jsonb) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_spec_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 200;
CREATE AGGREGATE sketch_spec_agg(x "any", clusters integer, options jsonb) (SFUNC = sketch_spec_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = internal_combine, SERIALFUNC = internal_serialize, DESERIALFUNC = internal_deserialize,
    FINALFUNC = sketch_spec_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE sketch_spec_agg("any", integer, jsonb) IS 'a spec chosen from a sample of rows, for about so many clusters';

-- sketch: one scan over the rows

CREATE FUNCTION fastclust_internal.sketch_combine(sketch, sketch) RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_sketch_combine' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE FUNCTION fastclust_internal.sketch_final(sketch) RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_sketch_final' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE FUNCTION fastclust_internal.sketch_final_moving(sketch) RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_sketch_final_moving' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;

-- Citus sends an aggregate with a plain state unless an argument is declared "any": hence row_vector, into which every array of numbers casts.
-- Other types take the aggregate of "any", whose state is internal and has the same bytes.
CREATE FUNCTION fastclust_internal.state_serialize(internal) RETURNS bytea
    AS 'MODULE_PATHNAME', 'fastclust_state_serialize' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.state_deserialize(bytea, internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_state_deserialize' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.sketch_combine(internal, internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_sketch_combine_kept' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE FUNCTION fastclust_internal.sketch_final(internal) RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_sketch_final' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE FUNCTION fastclust_internal.sketch_accum_moving(sketch, "any", sketch_spec) RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_sketch_accum_moving' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500;
CREATE FUNCTION fastclust_internal.sketch_inverse(sketch, "any", sketch_spec) RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_sketch_inverse' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500;
CREATE FUNCTION fastclust_internal.sketch_accum_moving(sketch, "any", sketch_spec, double precision) RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_sketch_accum_moving' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500;
CREATE FUNCTION fastclust_internal.sketch_inverse(sketch, "any", sketch_spec, double precision) RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_sketch_inverse' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500;
CREATE FUNCTION fastclust_internal.sketch_accum(sketch, row_vector, sketch_spec) RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_sketch_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500;
CREATE AGGREGATE sketch_agg(x row_vector, spec sketch_spec) (SFUNC = sketch_accum, STYPE = sketch, SSPACE = 16384,
    COMBINEFUNC = sketch_combine, FINALFUNC = sketch_final, FINALFUNC_MODIFY = READ_ONLY,
    MSFUNC = sketch_accum_moving, MINVFUNC = sketch_inverse, MSTYPE = sketch, MSSPACE = 16384,
    MFINALFUNC = sketch_final_moving, MFINALFUNC_MODIFY = READ_ONLY, PARALLEL=SAFE);
COMMENT ON AGGREGATE sketch_agg(row_vector, sketch_spec) IS 'the sketch of a set of rows, in one scan';
CREATE FUNCTION fastclust_internal.sketch_accum(internal, "any", sketch_spec) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_sketch_accum_kept' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500;
CREATE AGGREGATE sketch_agg(x "any", spec sketch_spec) (SFUNC = sketch_accum, STYPE = internal, SSPACE = 16384,
    COMBINEFUNC = sketch_combine, FINALFUNC = sketch_final, FINALFUNC_MODIFY = READ_ONLY,
    MSFUNC = sketch_accum_moving, MINVFUNC = sketch_inverse, MSTYPE = sketch, MSSPACE = 16384,
    MFINALFUNC = sketch_final_moving, MFINALFUNC_MODIFY = READ_ONLY, PARALLEL=SAFE,SERIALFUNC=state_serialize,DESERIALFUNC=state_deserialize);
COMMENT ON AGGREGATE sketch_agg("any", sketch_spec) IS 'the sketch of a set of rows, in one scan';
CREATE FUNCTION fastclust_internal.sketch_accum(sketch, row_vector, sketch_spec, double precision) RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_sketch_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500;
CREATE AGGREGATE sketch_agg(x row_vector, spec sketch_spec, weight double precision) (SFUNC = sketch_accum, STYPE = sketch, SSPACE = 16384,
    COMBINEFUNC = sketch_combine, FINALFUNC = sketch_final, FINALFUNC_MODIFY = READ_ONLY,
    MSFUNC = sketch_accum_moving, MINVFUNC = sketch_inverse, MSTYPE = sketch, MSSPACE = 16384,
    MFINALFUNC = sketch_final_moving, MFINALFUNC_MODIFY = READ_ONLY, PARALLEL=SAFE);
COMMENT ON AGGREGATE sketch_agg(row_vector, sketch_spec, double precision) IS 'the sketch of a set of weighted rows, in one scan';
CREATE FUNCTION fastclust_internal.sketch_accum(internal, "any", sketch_spec, double precision) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_sketch_accum_kept' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500;
CREATE AGGREGATE sketch_agg(x "any", spec sketch_spec, weight double precision) (SFUNC = sketch_accum, STYPE = internal, SSPACE = 16384,
    COMBINEFUNC = sketch_combine, FINALFUNC = sketch_final, FINALFUNC_MODIFY = READ_ONLY,
    MSFUNC = sketch_accum_moving, MINVFUNC = sketch_inverse, MSTYPE = sketch, MSSPACE = 16384,
    MFINALFUNC = sketch_final_moving, MFINALFUNC_MODIFY = READ_ONLY, PARALLEL=SAFE,SERIALFUNC=state_serialize,DESERIALFUNC=state_deserialize);
COMMENT ON AGGREGATE sketch_agg("any", sketch_spec, double precision) IS 'the sketch of a set of weighted rows, in one scan';

CREATE FUNCTION fastclust_internal.sketch_plus(sketch, sketch) RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_sketch_plus' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.sketch_minus(sketch, sketch) RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_sketch_minus' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE OPERATOR + (LEFTARG = sketch, RIGHTARG = sketch, FUNCTION = sketch_plus, COMMUTATOR = +);
CREATE OPERATOR - (LEFTARG = sketch, RIGHTARG = sketch, FUNCTION = sketch_minus);
COMMENT ON OPERATOR + (sketch, sketch) IS 'the sketch of the rows of both';
COMMENT ON OPERATOR - (sketch, sketch) IS 'the sketch without the rows of the other';

CREATE AGGREGATE merge_agg(sketch) (SFUNC = sketch_combine, STYPE = sketch, SSPACE = 16384,
    COMBINEFUNC = sketch_combine, FINALFUNC = sketch_final, FINALFUNC_MODIFY = READ_ONLY,
    MSFUNC = sketch_plus, MINVFUNC = sketch_minus, MSTYPE = sketch, MSSPACE = 16384,
    MFINALFUNC = sketch_final_moving, MFINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE merge_agg(sketch) IS 'the sketch of the rows of all the sketches';

CREATE FUNCTION row_count(sketch) RETURNS bigint
    AS 'MODULE_PATHNAME', 'fastclust_sketch_row_count' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION row_count(sketch) IS 'number of rows';
CREATE FUNCTION means(sketch) RETURNS double precision[]
    AS 'MODULE_PATHNAME', 'fastclust_sketch_means' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION means(sketch) IS 'mean of each dimension';
CREATE FUNCTION stddevs(sketch) RETURNS double precision[]
    AS 'MODULE_PATHNAME', 'fastclust_sketch_stddevs' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION stddevs(sketch) IS 'standard deviation of each dimension (population)';
CREATE FUNCTION moments(sketch) RETURNS double precision[]
    AS 'MODULE_PATHNAME', 'fastclust_sketch_moments' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION moments(sketch) IS 'the means of the waves: real and imaginary parts in turn';
CREATE FUNCTION describe(sketch) RETURNS jsonb
    AS 'MODULE_PATHNAME', 'fastclust_sketch_describe' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION describe(sketch) IS 'rows, weight, bounds, size and spec of a sketch; bounds are unknown after a subtraction';
CREATE FUNCTION fastclust_internal.spec(sketch) RETURNS sketch_spec
    AS 'MODULE_PATHNAME', 'fastclust_sketch_get_spec' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION sketch_distance(a sketch, b sketch) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_sketch_distance' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sketch_distance(sketch, sketch) IS 'the squared maximum mean discrepancy (MMD) of two sketches, without bias: about 0 when both come from one distribution';
CREATE FUNCTION density(sketch sketch, x "any") RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_sketch_density' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 500 SUPPORT vector_support;
COMMENT ON FUNCTION density(sketch, "any") IS 'how dense the sketched rows are around x, at the scale of the spec; at most 1';

-- decode: centroids without the rows

CREATE FUNCTION decode(sketch sketch, k integer, decoder text DEFAULT 'auto', options jsonb DEFAULT '{}',
        sample sketch_spec DEFAULT NULL,
        OUT cluster integer, OUT centroid double precision[], OUT weight double precision, OUT spread double precision,
        OUT cost double precision, OUT relative_residual double precision, OUT iterations integer)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_decode' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 1000000 ROWS 10;
COMMENT ON FUNCTION decode(sketch, integer, text, jsonb, sketch_spec) IS 'k centroids computed from a sketch, with their shares and spreads, and in each row how well all of them explain the sketch; reads no row';
CREATE FUNCTION decode_covariances(sketch sketch, k integer, decoder text DEFAULT 'shift', options jsonb DEFAULT '{}',
        sample sketch_spec DEFAULT NULL,
        OUT cluster integer, OUT covariance double precision[])
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_decode_covariances' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 1000000 ROWS 10;
COMMENT ON FUNCTION decode_covariances(sketch, integer, text, jsonb, sketch_spec) IS 'the covariance matrices of the clusters that decode finds with the same arguments';

-- fastop: a stored operator that assigns rows

CREATE FUNCTION fastclust_internal.fastop_final(internal) RETURNS fastop
    AS 'MODULE_PATHNAME', 'fastclust_fastop_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.kmeans_final(internal) RETURNS fastop
    AS 'MODULE_PATHNAME', 'fastclust_kmeans_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION fastclust_internal.fastop_accum(internal, "any") RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_fastop_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE AGGREGATE fastop_agg(centroid "any") (SFUNC = fastop_accum, STYPE = internal, FINALFUNC = fastop_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE fastop_agg("any") IS 'an operator from centroids; clusters are numbered from 0 in the order of the input';
CREATE FUNCTION fastclust_internal.fastop_accum(internal, "any", double precision) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_fastop_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE AGGREGATE fastop_agg(centroid "any", weight double precision) (SFUNC = fastop_accum, STYPE = internal, FINALFUNC = fastop_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE fastop_agg("any", double precision) IS 'an operator from centroids; clusters are numbered from 0 in the order of the input';
CREATE FUNCTION fastclust_internal.fastop_accum(internal, "any", double precision, jsonb) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_fastop_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE AGGREGATE fastop_agg(centroid "any", weight double precision, options jsonb) (SFUNC = fastop_accum, STYPE = internal, FINALFUNC = fastop_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE fastop_agg("any", double precision, jsonb) IS 'an operator from centroids with a metric: euclidean, cosine (centroids brought to length 1) or inner_product (for assigning); clusters are numbered from 0 in the order of the input';
CREATE FUNCTION fastclust_internal.kmeans_accum(internal, "any", integer) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_kmeans_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE AGGREGATE kmeans_agg(x "any", k integer) (SFUNC = kmeans_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = internal_combine, SERIALFUNC = internal_serialize, DESERIALFUNC = internal_deserialize,
    FINALFUNC = kmeans_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE kmeans_agg("any", integer) IS 'k-means in memory: k-means++ and Lloyd''s algorithm';
CREATE FUNCTION fastclust_internal.kmeans_accum(internal, "any", integer, jsonb) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_kmeans_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE AGGREGATE kmeans_agg(x "any", k integer, options jsonb) (SFUNC = kmeans_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = internal_combine, SERIALFUNC = internal_serialize, DESERIALFUNC = internal_deserialize,
    FINALFUNC = kmeans_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE kmeans_agg("any", integer, jsonb) IS 'k-means in memory: k-means++ and Lloyd''s algorithm';
CREATE FUNCTION assign(op fastop, x "any") RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_assign' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200 SUPPORT vector_support;
COMMENT ON FUNCTION assign(fastop, "any") IS 'number of the nearest cluster';
CREATE FUNCTION assign_distance(op fastop, x "any") RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_assign_distance' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200 SUPPORT vector_support;
COMMENT ON FUNCTION assign_distance(fastop, "any") IS 'distance to the nearest centroid: Euclidean, 1 - cosine or the negative inner product, as the operator''s metric is';
CREATE FUNCTION nearest(op fastop, x "any", n integer) RETURNS integer[]
    AS 'MODULE_PATHNAME', 'fastclust_nearest' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200 SUPPORT vector_support;
COMMENT ON FUNCTION nearest(fastop, "any", integer) IS 'numbers of the n nearest clusters, nearest first';
CREATE FUNCTION project(op fastop, x "any") RETURNS real[]
    AS 'MODULE_PATHNAME', 'fastclust_project' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200 SUPPORT vector_support;
COMMENT ON FUNCTION project(fastop, "any") IS 'the product of the factors times x, without the offset';

CREATE FUNCTION centroids(op fastop, OUT cluster integer, OUT centroid double precision[], OUT weight double precision)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_centroids' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION centroids(fastop) IS 'the centroids: the rows of the product plus the offset';
CREATE FUNCTION factors(op fastop, OUT factor integer, OUT row_index integer, OUT column_index integer, OUT value double precision)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_factors' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION factors(fastop) IS 'the stored entries of the factors';

CREATE FUNCTION fastclust_internal.clusters(op fastop) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_clusters' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.dim(op fastop) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_dim' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION describe(op fastop) RETURNS jsonb
    AS 'MODULE_PATHNAME', 'fastclust_fastop_describe' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION describe(fastop) IS 'shape, factors and size of an operator';

CREATE FUNCTION l2_distance(x "any", y "any") RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_l2_distance' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100 SUPPORT vector_support;
COMMENT ON FUNCTION l2_distance("any", "any") IS 'Euclidean distance of two vectors';

-- internal: the counts that drift compares (training/drift.sql), of rows at edges and of pairs of bits, and whether they changed

-- The counted values; the sample holds rows at random in their own units, as its centroids.
CREATE FUNCTION fastclust_internal.drift_spec_of_sample(sample fastop, seed bigint) RETURNS drift_spec
    AS 'MODULE_PATHNAME', 'fastclust_drift_spec_of_sample' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100000;
-- How the sketches of a spec vary when nothing has changed, by at most so many rows; NULL where the spec projects rows, or of too few rows.
CREATE FUNCTION fastclust_internal.sample_null_moments(sample fastop, spec sketch_spec, most integer DEFAULT 512) RETURNS double precision[]
    AS 'MODULE_PATHNAME', 'fastclust_sample_null_moments' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100000;

CREATE FUNCTION fastclust_internal.drift_counts_combine(drift_counts, drift_counts) RETURNS drift_counts
    AS 'MODULE_PATHNAME', 'fastclust_drift_counts_combine' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE FUNCTION fastclust_internal.drift_counts_final(drift_counts) RETURNS drift_counts
    AS 'MODULE_PATHNAME', 'fastclust_drift_counts_final' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE FUNCTION fastclust_internal.drift_counts_accum(drift_counts, "any", drift_spec) RETURNS drift_counts
    AS 'MODULE_PATHNAME', 'fastclust_drift_counts_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE fastclust_internal.drift_counts_agg(x "any", spec drift_spec) (SFUNC = drift_counts_accum, STYPE = drift_counts, SSPACE = 16384,
    COMBINEFUNC = drift_counts_combine, FINALFUNC = drift_counts_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
CREATE AGGREGATE fastclust_internal.merge_drift_counts_agg(drift_counts) (SFUNC = drift_counts_combine, STYPE = drift_counts, SSPACE = 16384,
    COMBINEFUNC = drift_counts_combine, FINALFUNC = drift_counts_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);

-- NULL: no rows.
CREATE FUNCTION fastclust_internal.changed_drift_counts(counts drift_counts, added drift_counts, removed drift_counts) RETURNS drift_counts
    AS 'MODULE_PATHNAME', 'fastclust_changed_drift_counts' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;

-- By the counts, or the sketches, or both.
CREATE FUNCTION fastclust_internal.drift_test(spec drift_spec, training drift_counts, "rows" drift_counts, training_sketch sketch, sketch sketch,
        null_moments double precision[], threshold double precision, min_effect double precision,
        OUT mmd2 double precision, OUT null_sd double precision, OUT p_value double precision, OUT effect double precision, OUT verdict text)
    AS 'MODULE_PATHNAME', 'fastclust_drift_compare' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 10000;
-- Columns, then pairs of others, that moved, likeliest first; other is NULL of a column.  Shift and spread are those of the sketches.
CREATE FUNCTION fastclust_internal.moved_columns(spec drift_spec, training drift_counts, "rows" drift_counts, training_sketch sketch, sketch sketch,
        threshold double precision, most integer, OUT dimension integer, OUT other integer, OUT p_value double precision,
        OUT shift double precision, OUT spread double precision)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_moved_columns' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 10000;

-- factorize: centroids as a product with fewer parameters

-- sample: rows that auto judges by, as fastop_agg makes of them; NULL: auto is palm4msa.
CREATE FUNCTION factorize(op fastop, method text DEFAULT 'auto', options jsonb DEFAULT '{}', sample fastop DEFAULT NULL) RETURNS fastop
    AS 'MODULE_PATHNAME', 'fastclust_factorize' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 1000000;
COMMENT ON FUNCTION factorize(fastop, text, jsonb, fastop) IS 'the centroids of an operator as a product of factors with fewer values';

-- QK-means: centroids learned as a product of sparse factors

CREATE FUNCTION qkmeans_log(relation regclass, features name, k integer, options jsonb DEFAULT '{}',
        OUT iteration integer, OUT objective double precision, OUT objective_of_means double precision, OUT nonzeros bigint,
        OUT empty integer, OUT seconds double precision, OUT op fastop)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_qkmeans_log' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000000 ROWS 10
    SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp;
COMMENT ON FUNCTION qkmeans_log(regclass, name, integer, jsonb) IS 'QuicK-means over a table: a row an iteration, the last one has the learned operator';

CREATE FUNCTION fastclust_internal.qkmeans_final(internal) RETURNS fastop
    AS 'MODULE_PATHNAME', 'fastclust_qkmeans_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE AGGREGATE qkmeans_agg(x "any", k integer) (SFUNC = kmeans_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = internal_combine, SERIALFUNC = internal_serialize, DESERIALFUNC = internal_deserialize,
    FINALFUNC = qkmeans_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE qkmeans_agg("any", integer) IS 'QuicK-means in memory: learns k centroids as a product of sparse factors';
CREATE AGGREGATE qkmeans_agg(x "any", k integer, options jsonb) (SFUNC = kmeans_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = internal_combine, SERIALFUNC = internal_serialize, DESERIALFUNC = internal_deserialize,
    FINALFUNC = qkmeans_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE qkmeans_agg("any", integer, jsonb) IS 'QuicK-means in memory: learns k centroids as a product of sparse factors';

-- steps and scores

CREATE TYPE lloyd_step AS (next fastop, n bigint, sse double precision, counts bigint[]);
COMMENT ON TYPE lloyd_step IS 'the result of one step of Lloyd''s algorithm';
COMMENT ON COLUMN lloyd_step.next IS 'the operator with the means of the clusters as centroids';
COMMENT ON COLUMN lloyd_step.n IS 'the number of rows';
COMMENT ON COLUMN lloyd_step.sse IS 'the sum of squared distances of the rows to the old centroids';
COMMENT ON COLUMN lloyd_step.counts IS 'the number of rows of each cluster';
-- As sketch_agg: row_vector for Citus, an internal state for other types.
CREATE FUNCTION fastclust_internal.step_combine(internal, internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_step_combine_kept' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE FUNCTION fastclust_internal.lloyd_final(aggregate_state) RETURNS lloyd_step
    AS 'MODULE_PATHNAME', 'fastclust_lloyd_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.score_final(aggregate_state) RETURNS double precision    -- by the kind of the state
    AS 'MODULE_PATHNAME', 'fastclust_score_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.lloyd_final(internal) RETURNS lloyd_step
    AS 'MODULE_PATHNAME', 'fastclust_lloyd_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.score_final(internal) RETURNS double precision    -- by the kind of the state
    AS 'MODULE_PATHNAME', 'fastclust_score_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.lloyd_accum(aggregate_state, fastop, row_vector) RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_lloyd_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE FUNCTION fastclust_internal.lloyd_accum(internal, fastop, "any") RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_lloyd_accum_kept' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE AGGREGATE lloyd_step_agg(op fastop, x row_vector) (SFUNC = lloyd_accum, STYPE = aggregate_state, SSPACE = 65536,
    COMBINEFUNC = state_combine, FINALFUNC = lloyd_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE lloyd_step_agg(fastop, row_vector) IS 'one step of Lloyd''s algorithm: assigns every row and returns the means of the clusters';
CREATE AGGREGATE lloyd_step_agg(op fastop, x "any") (SFUNC = lloyd_accum, STYPE = internal, SSPACE = 65536, COMBINEFUNC = step_combine, FINALFUNC = lloyd_final,
    FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE, SERIALFUNC = state_serialize, DESERIALFUNC = state_deserialize);
COMMENT ON AGGREGATE lloyd_step_agg(fastop, "any") IS 'one step of Lloyd''s algorithm: assigns every row and returns the means of the clusters';
CREATE FUNCTION fastclust_internal.sse_accum(aggregate_state, fastop, row_vector) RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_sse_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE FUNCTION fastclust_internal.sse_accum(internal, fastop, "any") RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_sse_accum_kept' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE AGGREGATE sse_agg(op fastop, x row_vector) (SFUNC = sse_accum, STYPE = aggregate_state, SSPACE = 65536,
    COMBINEFUNC = state_combine, FINALFUNC = score_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE sse_agg(fastop, row_vector) IS 'the sum of squared distances of the rows to their nearest centroids';
CREATE AGGREGATE sse_agg(op fastop, x "any") (SFUNC = sse_accum, STYPE = internal, SSPACE = 65536, COMBINEFUNC = step_combine, FINALFUNC = score_final,
    FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE, SERIALFUNC = state_serialize, DESERIALFUNC = state_deserialize);
COMMENT ON AGGREGATE sse_agg(fastop, "any") IS 'the sum of squared distances of the rows to their nearest centroids';
CREATE FUNCTION fastclust_internal.silhouette_accum(aggregate_state, fastop, row_vector) RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_silhouette_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE FUNCTION fastclust_internal.silhouette_accum(internal, fastop, "any") RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_silhouette_accum_kept' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE AGGREGATE simplified_silhouette_agg(op fastop, x row_vector) (SFUNC = silhouette_accum, STYPE = aggregate_state, SSPACE = 65536,
    COMBINEFUNC = state_combine, FINALFUNC = score_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE simplified_silhouette_agg(fastop, row_vector) IS 'mean of (b - a) / max(a, b), a and b the distances to the two nearest centroids';
CREATE AGGREGATE simplified_silhouette_agg(op fastop, x "any") (SFUNC = silhouette_accum, STYPE = internal, SSPACE = 65536, COMBINEFUNC = step_combine, FINALFUNC = score_final,
    FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE, SERIALFUNC = state_serialize, DESERIALFUNC = state_deserialize);
COMMENT ON AGGREGATE simplified_silhouette_agg(fastop, "any") IS 'mean of (b - a) / max(a, b), a and b the distances to the two nearest centroids';
CREATE FUNCTION fastclust_internal.davies_bouldin_accum(aggregate_state, fastop, row_vector) RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_davies_bouldin_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE FUNCTION fastclust_internal.davies_bouldin_accum(internal, fastop, "any") RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_davies_bouldin_accum_kept' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE AGGREGATE davies_bouldin_agg(op fastop, x row_vector) (SFUNC = davies_bouldin_accum, STYPE = aggregate_state, SSPACE = 65536,
    COMBINEFUNC = state_combine, FINALFUNC = score_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE davies_bouldin_agg(fastop, row_vector) IS 'Davies-Bouldin index: lower is better separated';
CREATE AGGREGATE davies_bouldin_agg(op fastop, x "any") (SFUNC = davies_bouldin_accum, STYPE = internal, SSPACE = 65536, COMBINEFUNC = step_combine, FINALFUNC = score_final,
    FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE, SERIALFUNC = state_serialize, DESERIALFUNC = state_deserialize);
COMMENT ON AGGREGATE davies_bouldin_agg(fastop, "any") IS 'Davies-Bouldin index: lower is better separated';
CREATE FUNCTION fastclust_internal.lloyd_accum(aggregate_state, fastop, "any") RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_lloyd_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE FUNCTION fastclust_internal.lloyd_accum(aggregate_state, fastop, row_vector, double precision) RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_lloyd_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE AGGREGATE lloyd_step_agg(op fastop, x row_vector, weight double precision) (SFUNC = lloyd_accum, STYPE = aggregate_state, SSPACE = 65536,
    COMBINEFUNC = state_combine, FINALFUNC = lloyd_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL=SAFE);
COMMENT ON AGGREGATE lloyd_step_agg(fastop, row_vector, double precision) IS 'one step of Lloyd''s algorithm over weighted rows';
CREATE FUNCTION fastclust_internal.lloyd_accum(internal, fastop, "any", double precision) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_lloyd_accum_kept' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE AGGREGATE lloyd_step_agg(op fastop, x "any", weight double precision) (SFUNC = lloyd_accum, STYPE = internal, SSPACE = 65536,
    COMBINEFUNC = step_combine, FINALFUNC = lloyd_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL=SAFE,SERIALFUNC=state_serialize,DESERIALFUNC=state_deserialize);
COMMENT ON AGGREGATE lloyd_step_agg(fastop, "any", double precision) IS 'one step of Lloyd''s algorithm over weighted rows';
CREATE AGGREGATE fastclust_internal.lloyd_sums_agg(op fastop, x "any") (SFUNC = lloyd_accum, STYPE = aggregate_state, SSPACE = 65536,
    COMBINEFUNC = state_combine, PARALLEL = SAFE);
-- Sums that no value holds: in one process.
CREATE FUNCTION fastclust_internal.lloyd_large_accum(internal, fastop, "any") RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_lloyd_large_accum' LANGUAGE C IMMUTABLE COST 300;
CREATE AGGREGATE fastclust_internal.lloyd_large_agg(op fastop, x "any") (SFUNC = lloyd_large_accum, STYPE = internal, SSPACE = 1073741824,
    FINALFUNC = lloyd_final, FINALFUNC_MODIFY = READ_ONLY);

CREATE FUNCTION fastclust_internal.contingency_accum(aggregate_state, integer, integer) RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_contingency_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.adjusted_rand_final(aggregate_state) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_adjusted_rand_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE AGGREGATE adjusted_rand_agg(a integer, b integer) (SFUNC = contingency_accum, STYPE = aggregate_state, SSPACE = 2048,
    COMBINEFUNC = state_combine, FINALFUNC = adjusted_rand_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE adjusted_rand_agg(integer, integer) IS 'adjusted Rand index of two labellings: 1 the same, about 0 unrelated';
CREATE FUNCTION fastclust_internal.normalized_mutual_information_final(aggregate_state) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_normalized_mutual_information_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE AGGREGATE normalized_mutual_information_agg(a integer, b integer) (SFUNC = contingency_accum, STYPE = aggregate_state, SSPACE = 2048,
    COMBINEFUNC = state_combine, FINALFUNC = normalized_mutual_information_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE normalized_mutual_information_agg(integer, integer) IS 'normalised mutual information of two labellings, between 0 and 1';

-- internal: weighted samples of rows, kept as operators whose centroids are the rows

-- Centroids moved from one set of units to another; NULL for a center is 0, for a scale 1.
CREATE FUNCTION fastclust_internal.operator_in_units(op fastop, center double precision[], scale double precision[],
        new_center double precision[], new_scale double precision[]) RETURNS fastop
    AS 'MODULE_PATHNAME', 'fastclust_operator_in_units' LANGUAGE C IMMUTABLE PARALLEL SAFE;

-- encoders: how the columns of rows become coordinates

CREATE FUNCTION fastclust_internal.encoder_final(internal) RETURNS encoder
    AS 'MODULE_PATHNAME', 'fastclust_encoder_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.encoder_accum(internal, record, text[]) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_encoder_accum' LANGUAGE C STABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE encoder_agg("row" record, columns text[]) (
    SFUNC = encoder_accum, STYPE = internal, SSPACE = 8192, FINALFUNC = encoder_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE encoder_agg(record, text[]) IS 'an encoder of these columns, learned from the rows';
CREATE FUNCTION fastclust_internal.encoder_accum(internal, record, text[], jsonb) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_encoder_accum' LANGUAGE C STABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE encoder_agg("row" record, columns text[], options jsonb) (
    SFUNC = encoder_accum, STYPE = internal, SSPACE = 8192, FINALFUNC = encoder_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE encoder_agg(record, text[], jsonb) IS 'an encoder of these columns, learned from the rows, with options';

CREATE FUNCTION encode_row(encoder encoder, "row" record, scaled boolean DEFAULT true) RETURNS real[]
    AS 'MODULE_PATHNAME', 'fastclust_encode_row' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION encode_row(encoder, record, boolean) IS 'the coordinates of a row: its columns are found by their names';
CREATE FUNCTION describe(encoder encoder) RETURNS jsonb
    AS 'MODULE_PATHNAME', 'fastclust_encoder_describe' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION describe(encoder) IS 'the encoding of each column';
CREATE FUNCTION feature_names(encoder encoder) RETURNS text[]
    AS 'MODULE_PATHNAME', 'fastclust_feature_names' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION feature_names(encoder) IS 'the name of each coordinate of an encoded row';

-- internal: for scans of whole tables, and for the explanation of a model

CREATE FUNCTION fastclust_internal.encode_record(encoder encoder, scaled boolean, "row" record) RETURNS double precision[]
    AS 'MODULE_PATHNAME', 'fastclust_encode_record' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 10;
CREATE FUNCTION fastclust_internal.encode_listed(encoder encoder, scaled boolean, VARIADIC columns "any") RETURNS double precision[]
    AS 'MODULE_PATHNAME', 'fastclust_encode_listed' LANGUAGE C STABLE PARALLEL SAFE COST 10;
-- The same of types whose values no setting of a session changes: postgres_fdw sends it.
CREATE FUNCTION fastclust_internal.encode_constant(encoder encoder, scaled boolean, VARIADIC columns "any") RETURNS double precision[]
    AS 'MODULE_PATHNAME', 'fastclust_encode_listed' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 10;
CREATE FUNCTION fastclust_internal.encoder_columns(encoder encoder) RETURNS name[]
    AS 'MODULE_PATHNAME', 'fastclust_encoder_columns' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.encoder_features(encoder encoder, OUT dimension integer, OUT feature text, OUT kind text, OUT category text,
        OUT transform text, OUT center double precision, OUT scale double precision) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_encoder_features' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
-- Of a column of vectors of dimension d; center and scale may be NULL.
CREATE FUNCTION fastclust_internal.encoder_of_vector(feature name, d integer, center double precision[], scale double precision[]) RETURNS encoder
    AS 'MODULE_PATHNAME', 'fastclust_encoder_of_vector' LANGUAGE C IMMUTABLE PARALLEL SAFE;

-- kernels: values, one-pass projections, landmarks and features of new rows

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

-- aggregates that collect their rows: internal states, parallel, not pushed to shards

CREATE FUNCTION fastclust_internal.kernel_projection_final(internal) RETURNS kernel_projection
    AS 'MODULE_PATHNAME', 'fastclust_kernel_projection_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.landmarks_final(internal) RETURNS fastop
    AS 'MODULE_PATHNAME', 'fastclust_landmarks_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.kernel_projection_accum(internal, bigint, "any", kernel, integer) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_kernel_projection_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE kernel_projection_agg(id bigint, x "any", kernel kernel, rank integer) (SFUNC = kernel_projection_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = internal_combine, SERIALFUNC = internal_serialize, DESERIALFUNC = internal_deserialize,
    FINALFUNC = kernel_projection_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE kernel_projection_agg(bigint, "any", kernel, integer) IS 'a low-rank projection of the kernel matrix: by default randomized and in one pass; embedding_of has the coordinates';
CREATE FUNCTION fastclust_internal.landmarks_accum(internal, "any", kernel, integer) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_landmarks_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE landmarks_agg(x "any", kernel kernel, k integer) (SFUNC = landmarks_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = internal_combine, SERIALFUNC = internal_serialize, DESERIALFUNC = internal_deserialize,
    FINALFUNC = landmarks_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE landmarks_agg("any", kernel, integer) IS 'at most k rows chosen by randomly pivoted Cholesky, as an operator of landmarks';
CREATE FUNCTION fastclust_internal.kernel_projection_accum(internal, bigint, "any", kernel, integer, jsonb) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_kernel_projection_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE kernel_projection_agg(id bigint, x "any", kernel kernel, rank integer, options jsonb) (SFUNC = kernel_projection_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = internal_combine, SERIALFUNC = internal_serialize, DESERIALFUNC = internal_deserialize,
    FINALFUNC = kernel_projection_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE kernel_projection_agg(bigint, "any", kernel, integer, jsonb) IS 'a low-rank projection of the kernel matrix: by default randomized and in one pass; embedding_of has the coordinates';
CREATE FUNCTION fastclust_internal.landmarks_accum(internal, "any", kernel, integer, jsonb) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_landmarks_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE landmarks_agg(x "any", kernel kernel, k integer, options jsonb) (SFUNC = landmarks_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = internal_combine, SERIALFUNC = internal_serialize, DESERIALFUNC = internal_deserialize,
    FINALFUNC = landmarks_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE landmarks_agg("any", kernel, integer, jsonb) IS 'at most k rows chosen by randomly pivoted Cholesky, as an operator of landmarks';

-- reading projections

CREATE FUNCTION embedding_of(projection kernel_projection, OUT id bigint, OUT y real[]) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_embedding_of' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION embedding_of(kernel_projection) IS 'the coordinates of the rows: inner products approximate kernel values';
CREATE FUNCTION describe(projection kernel_projection) RETURNS jsonb
    AS 'MODULE_PATHNAME', 'fastclust_projection_describe' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION describe(kernel_projection) IS 'method, kernel, rows, dimensions, rank, oversampling, columns, seed, estimated relative error, bytes';

-- features of any row, old or new

-- rank: NULL: every eigenvalue above rounding
CREATE FUNCTION nystroem(landmarks fastop, kernel kernel, rank integer DEFAULT NULL) RETURNS kernel_map
    AS 'MODULE_PATHNAME', 'fastclust_nystroem' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 10000;
COMMENT ON FUNCTION nystroem(fastop, kernel, integer) IS 'a Nystrom feature map whose landmarks are the centroids of an operator';
CREATE FUNCTION describe(map kernel_map) RETURNS jsonb
    AS 'MODULE_PATHNAME', 'fastclust_map_describe' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION describe(kernel_map) IS 'kernel, landmarks, dimension, rank and size of a feature map';
CREATE FUNCTION kernel_features(map kernel_map, x "any") RETURNS real[]
    AS 'MODULE_PATHNAME', 'fastclust_kernel_features' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000 SUPPORT vector_support;
COMMENT ON FUNCTION kernel_features(kernel_map, "any") IS 'coordinates of a row: inner products approximate kernel values';

-- internal: one pass over the rows of a training: sketch, counts of drift, weighted sample and Lloyd's sums side by side

CREATE TYPE fastclust_internal.scan_plan AS (
    encoder encoder,            -- NULL: the only cell of a row is a vector
    metric text,                -- cosine, or NULL
    center double precision[], scale double precision[],    -- units of a row; NULL: as it is
    map kernel_map,             -- operators take its features of a row in units; NULL: the row in units
    spec sketch_spec,           -- of the sketch, of rows in their own units; NULL: none
    drift_spec drift_spec,      -- of the counts, as well; NULL: none
    share integer,              -- one row of so many, a power of two, enters sketch and counts, by its key; NULL: every row
    size integer, sample_center double precision[], sample_variance double precision, seed bigint, rank_limit double precision,    -- of rows in units
    operators fastop[]);        -- of Lloyd's sums, up to two; NULL: none

CREATE FUNCTION fastclust_internal.group_plan(others scan_plan, groups text[], plans scan_plan[], value "any") RETURNS scan_plan    -- of a value among the groups
    AS 'MODULE_PATHNAME', 'fastclust_group_plan' LANGUAGE C STABLE PARALLEL SAFE;
-- Cells are the encoder's columns in their order, or one row that has them by name, or a vector.  A key tells equal rows apart.
CREATE FUNCTION fastclust_internal.scan_accum(internal, scan_plan, bigint, VARIADIC "any") RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_scan_accum' LANGUAGE C STABLE PARALLEL SAFE COST 300;
CREATE FUNCTION fastclust_internal.scan_final(internal) RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_scan_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE AGGREGATE fastclust_internal.scan_agg(plan scan_plan, key bigint, VARIADIC cells "any") (SFUNC = scan_accum, STYPE = internal, SSPACE = 65536,
    COMBINEFUNC = internal_combine, SERIALFUNC = internal_serialize, DESERIALFUNC = internal_deserialize,
    FINALFUNC = scan_final, FINALFUNC_MODIFY = READ_WRITE, PARALLEL = SAFE);

-- Aggregates under the name that Citus sends to the shards as it stands.
-- Citus calls an aggregate with a combine function through worker_partial_agg, which packs the arguments into a row and looks the aggregate
-- up again for every row of the table: 300 to 400 ns.  An aggregate by the name of "sum" without a combine function is called on
-- the shards itself; the returned states are added up by the sum of one argument of the result's type.
CREATE AGGREGATE fastclust_internal.sum(aggregate_state) (SFUNC = state_combine, STYPE = aggregate_state, SSPACE = 65536, PARALLEL = SAFE);
CREATE AGGREGATE fastclust_internal.sum(op fastop, x "any") (SFUNC = lloyd_accum, STYPE = aggregate_state, SSPACE = 65536, PARALLEL = SAFE);
CREATE AGGREGATE fastclust_internal.sum(plan scan_plan, key bigint, VARIADIC cells "any") (SFUNC = scan_accum, STYPE = internal, SSPACE = 65536,
    FINALFUNC = scan_final, FINALFUNC_MODIFY = READ_WRITE, PARALLEL = SAFE);

-- The parts of a packed state; NULL for one that is not there or that no row entered.
CREATE FUNCTION fastclust_internal.scan_result(scan aggregate_state, OUT n bigint, OUT nulls bigint, OUT sketch sketch, OUT counts drift_counts,
        OUT sample fastop, OUT steps lloyd_step[])
    AS 'MODULE_PATHNAME', 'fastclust_scan_result' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

-- models: tables that nobody reads or writes but the owner of the extension, and views of the rows that a role may read

-- Roles are kept by name, so that dumps restore anywhere, and held by oid: a later role of the name is another.  Generated
-- columns are not dumped: a restore looks the names up anew.  Declared immutable because generated columns need it.
CREATE FUNCTION fastclust_internal.role_id(role name) RETURNS oid AS 'MODULE_PATHNAME', 'fastclust_role_id' LANGUAGE C IMMUTABLE STRICT;
CREATE FUNCTION fastclust_internal.role_ids(roles name[]) RETURNS oid[]
    LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
    SELECT COALESCE(array_agg(CASE WHEN u.role = 'public' THEN 0::oid ELSE role_id(u.role) END ORDER BY u.i), '{}') FROM unnest(roles) WITH ORDINALITY u(role, i)
$$;

-- One row per model, which is its id: a later model of the name is another.
CREATE TABLE fastclust_internal.stored_models (
    id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    model text NOT NULL UNIQUE CHECK (model <> ''),
    owner name NOT NULL DEFAULT pg_get_userbyid(calling_role()),
    owner_id oid GENERATED ALWAYS AS (role_id(owner)) STORED,    -- the oid of the owner when the row was written
    readers name[] NOT NULL DEFAULT '{}',    -- roles that may use the model; "public" is everyone
    reader_ids oid[] GENERATED ALWAYS AS (role_ids(readers)) STORED,    -- the oids of the readers when the row was written; 0 is everyone
    version integer,
    group_by name,    -- the column by which the model is split: each of its values has clusters of its own
    created_at timestamptz NOT NULL DEFAULT now());

-- Raises an error if the parts of a version are inconsistent, so stored rows are always readable.
CREATE FUNCTION fastclust_internal.version_fits(operator fastop, map kernel_map, center double precision[], scale double precision[],
        spreads double precision[], distance_quantiles double precision[], null_moments double precision[],
        spec sketch_spec, training_sketch sketch, encoder encoder, drift_spec drift_spec, drift_counts drift_counts, micro_clusters fastop,
        splits double precision[], paths integer[] DEFAULT NULL) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_version_fits' LANGUAGE C IMMUTABLE PARALLEL SAFE;
-- One row per version of a model, or per version and group: its centroids and the sketch of its training rows.
CREATE TABLE fastclust_internal.version_parts (
    model_id bigint NOT NULL REFERENCES stored_models ON DELETE CASCADE,
    version integer NOT NULL CHECK (version > 0),
    group_value text NOT NULL DEFAULT '',
    method text NOT NULL,
    note text,
    relation text NOT NULL,
    features name[] NOT NULL,
    vector boolean NOT NULL,    -- true when features names one column of vectors, false for columns of numbers
    encoder encoder,
    k integer NOT NULL CHECK (k BETWEEN 1 AND 1048576),
    options jsonb NOT NULL CHECK (jsonb_typeof(options) = 'object'),
    operator fastop NOT NULL,    -- the centroids, in units of (x - center) / scale
    micro_clusters fastop,    -- of method density: many small clusters with the cluster that each belongs to, which label rows; NULL where operator labels them
    splits double precision[],    -- of its condensed tree, four numbers each: two nodes, below k the clusters, the radius of the valley, the rows of both
    center double precision[],    -- subtracted from the rows: their means; NULL when rows were used as they are
    scale double precision[],    -- divides the rows: their deviations; NULL when rows were used as they are
    map kernel_map,    -- the kernel features that the operator takes in place of rows; NULL without a kernel
    spec sketch_spec,
    training_sketch sketch,
    drift_spec drift_spec,    -- the edges and pairs of columns that drift counts by; groups share one, which one row of the version keeps
    drift_counts drift_counts,    -- the training rows counted so; NULL of a version made from a sketch alone
    null_moments double precision[],    -- tr S^2 and tr S^3 of the moments of a row: how drift of the sketch varies when nothing has changed; NULL where the sketch has axes of the sample
    spreads double precision[],    -- the deviation per dimension of each cluster, in units of scale
    distance_quantiles double precision[],    -- quantiles of the distances of the training rows, at 1 - (1 - i / 200)^2
    n bigint NOT NULL CHECK (n >= 0),
    imputed bigint,    -- the number of training rows with a NULL for which a value was put; NULL where it was not counted
    objective double precision,
    objective_error double precision,    -- the standard error of objective: 0 when all rows were measured
    label_churn double precision,
    paths integer[],    -- the numbers above each cluster, from the top level down, on each level from 0 on without gaps; NULL without levels
    recall double precision CHECK (recall BETWEEN 0 AND 1),    -- of a search through as many buckets as option probes says: its part of the ten nearest rows
    trained_by name NOT NULL DEFAULT pg_get_userbyid(calling_role()),
    trained_by_id oid GENERATED ALWAYS AS (role_id(trained_by)) STORED,    -- the oid of that role when the version was stored
    started_at timestamptz NOT NULL,
    trained_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (model_id, version, group_value),
    CHECK (vector = (encoder IS NULL)),
    CHECK (encoder_columns(encoder) = features),    -- the rights to read these are checked before a scan
    CHECK (version_fits(operator, map, center, scale, spreads, distance_quantiles, null_moments, spec, training_sketch, encoder, drift_spec, drift_counts, micro_clusters, splits, paths)));
CREATE UNIQUE INDEX ON version_parts (model_id, version) WHERE drift_spec IS NOT NULL;
-- The same with the name of the model, which is in one row alone: to rename a model of 100,000 versions is to write one.
CREATE VIEW fastclust_internal.stored_versions AS SELECT v.*, (SELECT m.model FROM stored_models m WHERE m.id = v.model_id) AS model FROM version_parts v;

-- One row per step of a training.
CREATE TABLE fastclust_internal.training_steps (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
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
SELECT pg_catalog.pg_extension_config_dump('version_parts', '');

-- ---- rights: a view runs with its owner's rights, and current_user is who reads it ----

-- A model of a role that is gone belongs to the first superuser, whose oid is 10.
CREATE VIEW fastclust_internal.own_models WITH (security_barrier) AS
    SELECT m.* FROM stored_models m WHERE pg_has_role(COALESCE(m.owner_id, 10), 'USAGE');
CREATE VIEW fastclust_internal.readable_models WITH (security_barrier) AS
    SELECT m.* FROM stored_models m
     WHERE pg_has_role(COALESCE(m.owner_id, 10), 'USAGE') OR 0 = ANY (m.reader_ids)
        OR EXISTS (SELECT FROM unnest(m.reader_ids) r(id) WHERE pg_has_role(r.id, 'USAGE'));
-- A condition on model_id reaches both tables; a join to this view does not, where a lateral subquery does.
CREATE VIEW fastclust_internal.readable_versions WITH (security_barrier) AS
    SELECT v.* FROM readable_models m JOIN stored_versions v ON v.model_id = m.id;
GRANT SELECT ON own_models, readable_models, readable_versions TO PUBLIC;

-- How many of the training rows of a version have a cluster.
CREATE FUNCTION fastclust_internal.clustered_rows(version stored_versions) RETURNS bigint
    LANGUAGE fastclust IMMUTABLE SET search_path = pg_catalog, fastclust, pg_temp AS $$
BEGIN
    RETURN CASE WHEN version.micro_clusters IS NULL THEN version.n ELSE (SELECT round(sum(c.weight))::bigint FROM centroids(version.operator) c) END;
END
$$;

-- Edges, pairs and waves of a version: those of all its groups.
CREATE FUNCTION fastclust_internal.drift_spec_of(version stored_versions) RETURNS drift_spec
    LANGUAGE sql STABLE SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
    SELECT COALESCE(version.drift_spec, (SELECT v.drift_spec FROM readable_versions v
                                          WHERE v.model_id = version.model_id AND v.version = version.version AND v.drift_spec IS NOT NULL LIMIT 1))
$$;

-- internal: shared by the functions of models

CREATE FUNCTION fastclust_internal.nearest_others(op fastop, OUT cluster integer, OUT nearest integer, OUT distance double precision) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_nearest_others' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
-- The group of a value of any type: its text, in each session the same.
CREATE FUNCTION fastclust_internal.group_text(value "any") RETURNS text
    AS 'MODULE_PATHNAME', 'fastclust_group_text' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
-- A row in units: (x - center) / scale, or as it is where these are NULL; NULL of a NULL column.
CREATE FUNCTION fastclust_internal.vector_in_units(center double precision[], scale double precision[], x "any") RETURNS double precision[]
    AS 'MODULE_PATHNAME', 'fastclust_vector_in_units' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.place_key(place tid) RETURNS bigint
    AS 'MODULE_PATHNAME', 'fastclust_place_key' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.fit_residual(s sketch, op fastop, center double precision[], scale double precision[],
        spreads double precision[]) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_fit_residual' LANGUAGE C IMMUTABLE PARALLEL SAFE;

-- Options as train, retrain or choose_k knows them, each of its type and within its range whether the method uses
-- it or not; else an error.  All of them are in pg/model/training_options.c.
CREATE FUNCTION fastclust_internal.check_training_options(options jsonb, function text) RETURNS void
    AS 'MODULE_PATHNAME', 'fastclust_check_training_options' LANGUAGE C IMMUTABLE;

-- An option that was checked, or the default.
CREATE FUNCTION fastclust_internal.flag_option(options jsonb, name text, value boolean) RETURNS boolean
    LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT COALESCE(CASE jsonb_typeof(options -> name) WHEN 'object' THEN true ELSE (options ->> name)::boolean END, value)
$$;

CREATE FUNCTION option_help(function text, OUT option text, OUT type text, OUT range text, OUT "default" text, OUT meaning text) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_option_help' LANGUAGE C IMMUTABLE PARALLEL SAFE ROWS 30;
COMMENT ON FUNCTION option_help(text) IS 'the options of train, retrain, choose_k, write_labels or keep_sketch; "live.bucket" is the key bucket of the object live';

-- The name that was meant, where one is almost the given, and all there are.
CREATE FUNCTION fastclust_internal.name_hint(given text, names text[], what text) RETURNS text
    AS 'MODULE_PATHNAME', 'fastclust_name_hint' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

-- Of a model that is not there: the one that was meant, of those the caller may read.
CREATE FUNCTION fastclust_internal.model_hint(model text) RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
    SELECT COALESCE(substring(name_hint(model, ARRAY(SELECT m.model FROM readable_models m ORDER BY 1), '') FROM '^Perhaps you meant "[^"]*"[.]'),
                    'A model of another role can be read after grant_model.')
$$;

-- The number of this node among those that share models, 0 is the coordinator; NULL where none are shared.
CREATE FUNCTION fastclust_internal.sharing_node() RETURNS integer
    LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
DECLARE
    node integer;
BEGIN
    IF EXISTS (SELECT FROM pg_extension e WHERE e.extname = 'citus') THEN
        SELECT l.groupid INTO node FROM pg_catalog.pg_dist_local_group l
         WHERE EXISTS (SELECT FROM pg_catalog.pg_dist_partition p WHERE p.logicalrelid = 'fastclust_internal.shared_models'::regclass);
    END IF;
    RETURN node;
END
$$;

-- A model the caller may read; else the error that says so.
CREATE FUNCTION fastclust_internal.readable_model(model_name text) RETURNS stored_models
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
DECLARE
    found_model stored_models;
BEGIN
    IF model_name IS NULL THEN
        RAISE null_value_not_allowed USING MESSAGE = 'model must not be NULL';
    END IF;
    SELECT * INTO found_model FROM readable_models m WHERE m.model = model_name;
    IF NOT FOUND THEN
        RAISE undefined_object USING MESSAGE = format('model "%s" does not exist', model_name),
            HINT = CASE WHEN sharing_node() > 0 THEN 'This is a worker of Citus: ask its coordinator. A query of shards takes an operator as (SELECT model_operator(...)).' ELSE model_hint(model_name) END;
    END IF;
    RETURN found_model;
END
$$;

-- Of a version that is not there: those of the model that the caller may read.
CREATE FUNCTION fastclust_internal.version_hint(model text) RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
    SELECT format('It has %s.%s', string_agg(v.version::text, ', ' ORDER BY v.version), CASE WHEN max(v.serves) IS NULL THEN ' The function use_version makes one current.' END)
      FROM (SELECT DISTINCT v.version, m.version AS serves FROM readable_models m JOIN readable_versions v ON v.model_id = m.id WHERE m.model = version_hint.model) v
$$;

-- The model as if one of its versions were current.
CREATE FUNCTION fastclust_internal.at_version(held stored_models, version integer) RETURNS stored_models
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
BEGIN
    SELECT v.version, v.options ->> 'group_by' INTO held.version, held.group_by
      FROM readable_versions v WHERE v.model_id = held.id AND v.version = at_version.version LIMIT 1;
    IF NOT FOUND THEN
        RAISE undefined_object USING MESSAGE = format('model "%s" has no version %s', held.model, COALESCE(version::text, 'NULL')), HINT = version_hint(held.model);
    END IF;
    RETURN held;
END
$$;

-- internal: centroids in the units of the rows, with their neighbours.  Whoever shares a model may have written any
-- numbers into its rows: a version that fails is a warning, and hides no other model.  All rows are computed
-- before the first is returned, for they are sorted: servers differ in the rows they keep of a query that fails midway.
CREATE FUNCTION fastclust_internal.version_cluster_rows(model text, n bigint, op fastop, mapped boolean, center double precision[], scale double precision[],
        spreads double precision[], OUT cluster integer, OUT size bigint, OUT share double precision, OUT centroid double precision[],
        OUT spread double precision, OUT nearest_cluster integer, OUT nearest_distance double precision)
    RETURNS SETOF record
    LANGUAGE fastclust STABLE SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
BEGIN
    RETURN QUERY SELECT q.* FROM (
        SELECT c.cluster, round(n * c.weight / NULLIF(t.total, 0))::bigint, c.weight / NULLIF(t.total, 0),
               CASE WHEN mapped THEN NULL
                    WHEN scale IS NULL THEN c.centroid
                    ELSE (SELECT array_agg(u.x * u.s + u.m ORDER BY u.i)
                            FROM unnest(c.centroid, scale, center) WITH ORDINALITY u(x, s, m, i)) END,
               spreads[c.cluster + 1], c.nearest, c.distance
          FROM (SELECT sum(w.weight) AS total FROM centroids(op) w) t
         CROSS JOIN LATERAL ROWS FROM (centroids(op), nearest_others(op)) c(cluster, centroid, weight, same, nearest, distance)
        OFFSET 0) q ORDER BY 1;
EXCEPTION WHEN OTHERS THEN
    RAISE WARNING USING MESSAGE = format('the clusters of model "%s" cannot be shown', model), DETAIL = SQLERRM;
END
$$;

-- writers: the only way into the model tables
-- They are in the language fastclust_owner: they run as the owner of the extension, and calling_role() is the caller, whose rights they check.

-- Has a role the rights of another?  Superusers have everybody's, and those of a role that is no more.
CREATE FUNCTION fastclust_internal.is_member(role oid, caller oid DEFAULT calling_role()) RETURNS boolean
    LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT EXISTS (SELECT FROM pg_roles r WHERE r.oid = role AND pg_has_role(caller, r.oid, 'USAGE'))
        OR (SELECT r.rolsuper FROM pg_roles r WHERE r.oid = caller)
$$;

CREATE FUNCTION fastclust_internal.is_reader(held stored_models) RETURNS boolean
    LANGUAGE sql STABLE SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
    SELECT 0 = ANY (held.reader_ids) OR EXISTS (SELECT FROM unnest(held.reader_ids) r WHERE is_member(r))
$$;

-- A standby only reads, and so does a transaction that was begun so.  The error of the first row to be written would have no hint.
CREATE FUNCTION fastclust_internal.reject_read_only(what text DEFAULT 'models cannot be trained or changed') RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF pg_is_in_recovery() THEN
        RAISE read_only_sql_transaction USING MESSAGE = what || ' on a standby',
            HINT = 'Do it on the primary. A standby predicts, measures drift, sketches and decodes.';
    ELSIF current_setting('transaction_read_only')::boolean THEN
        RAISE read_only_sql_transaction USING MESSAGE = what || ' in a read-only transaction',
            HINT = 'Begin the transaction with READ WRITE; the default is default_transaction_read_only.';
    END IF;
END
$$;

-- Lock a key, of a model or of a live sketch, until the end of the transaction; false when another session has it and wait is false.
CREATE FUNCTION fastclust_internal.lock_name(key integer, live boolean, wait boolean) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_lock_name' LANGUAGE C STRICT;

-- Claim a name that no model has.  Sessions of the caller's login and roles are waited for, those of others are not:
-- nobody stops another's work by a name that is not yet his.
CREATE FUNCTION fastclust_internal.claim_name(name text, wait boolean) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
DECLARE
    key integer := hashtext(name);
BEGIN
    IF lock_name(key, false, false) THEN
        RETURN;
    ELSIF EXISTS (SELECT FROM pg_roles own, pg_locks l LEFT JOIN pg_stat_activity a ON a.pid = l.pid     -- none of a prepared transaction
                   WHERE l.locktype = 'object' AND l.classid = 'lock_name(integer, boolean, boolean)'::regprocedure AND l.objid = (key::bigint & 4294967295)::oid AND l.objsubid = 0
                     AND l.granted AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
                     AND own.rolname = session_user AND (a.usesysid IS NULL OR (a.usesysid <> own.oid AND is_member(a.usesysid) IS NOT TRUE))) THEN
        RAISE lock_not_available USING MESSAGE = format('model "%s" is being made by another role', name),
            HINT = 'Choose another name.';
    ELSIF wait IS FALSE THEN
        RAISE lock_not_available USING MESSAGE = format('model "%s" is being made by another session', name),
            HINT = 'Leave out the option nowait to wait for it.';
    END IF;
    PERFORM lock_name(key, false, true);
END
$$;

-- A model that the caller may change, held until the end of the transaction.  make: one that is not there is made.
CREATE FUNCTION fastclust_internal.held_model(model_name text, wait boolean, make boolean DEFAULT false) RETURNS stored_models
    LANGUAGE fastclust_owner SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
DECLARE
    held stored_models;
BEGIN
    PERFORM reject_read_only();
    IF make AND COALESCE(model_name, '') = '' THEN
        RAISE invalid_parameter_value USING MESSAGE = 'model must not be NULL or empty';
    ELSIF model_name IS NULL THEN
        RAISE null_value_not_allowed USING MESSAGE = 'model must not be NULL';
    ELSIF make AND NOT EXISTS (SELECT FROM stored_models m WHERE m.model = model_name) THEN
        PERFORM claim_name(model_name, wait);
        INSERT INTO stored_models (model) VALUES (model_name) ON CONFLICT DO NOTHING;
    END IF;
    SELECT * INTO held FROM stored_models m WHERE m.model = model_name;
    IF held.id IS NOT NULL AND is_member(held.owner_id) THEN
        BEGIN
            IF wait IS NOT FALSE THEN
                SELECT * INTO held FROM stored_models m WHERE m.id = held.id AND m.model = model_name FOR UPDATE;
            ELSE
                SELECT * INTO held FROM stored_models m WHERE m.id = held.id AND m.model = model_name FOR UPDATE NOWAIT;
            END IF;
        EXCEPTION WHEN lock_not_available THEN
            IF wait IS NOT FALSE THEN
                RAISE;
            END IF;
            RAISE lock_not_available USING MESSAGE = format('model "%s" is being trained by another session', model_name),
                HINT = 'Leave out the option nowait to wait for it.';
        END;
        IF held.id IS NULL THEN
            RAISE undefined_object USING MESSAGE = format('model "%s" was dropped or renamed concurrently', model_name);
        END IF;
        IF is_member(held.owner_id) THEN    -- still, after a wait
            RETURN held;
        END IF;
    END IF;
    IF held.id IS NOT NULL AND make THEN
        RAISE insufficient_privilege USING MESSAGE = format('model "%s" belongs to another role', model_name),
            HINT = 'Choose another name.';
    ELSIF is_reader(held) THEN
        RAISE insufficient_privilege USING MESSAGE = format('model "%s" belongs to %s', model_name, held.owner),
            HINT = 'Only its owner and members of it may change a model.';
    END IF;
    RAISE undefined_object USING MESSAGE = format('model "%s" does not exist', model_name),
        HINT = COALESCE(substring(name_hint(model_name, ARRAY(SELECT m.model FROM stored_models m WHERE is_member(m.owner_id) OR is_reader(m) ORDER BY 1), '') FROM '^Perhaps you meant "[^"]*"[.]'),
                        'A model of another role can be read after grant_model.');
END
$$;

-- The same by its identity, which training has held before.  Whoever may not read a model does not learn its name.  version: one that may be written, from the
-- first one, or the newest, to the next.
CREATE FUNCTION fastclust_internal.held_model(id bigint, version integer DEFAULT NULL, newest boolean DEFAULT false) RETURNS stored_models
    LANGUAGE plpgsql SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
DECLARE
    name text := (SELECT m.model FROM stored_models m WHERE m.id = $1 AND (is_member(m.owner_id) OR is_reader(m)));
    held stored_models;
    last bigint;
BEGIN
    IF name IS NULL THEN
        RAISE undefined_object USING MESSAGE = format('there is no model with id %s', COALESCE(id::text, 'NULL'));
    END IF;
    held := held_model(name, true);
    last := (SELECT COALESCE(max(v.version), 0) FROM stored_versions v WHERE v.model_id = held.id);
    IF version < (CASE WHEN newest THEN greatest(last, 1) ELSE 1 END) OR version > last + 1 THEN
        RAISE invalid_parameter_value USING MESSAGE = format('version is %s, out of range', version),
            DETAIL = format('The next version of model "%s" is %s.', held.model, last + 1);
    END IF;
    RETURN held;
END
$$;

-- ---- the rows that training writes: versions count up by one ----

-- A step of a training.
CREATE FUNCTION fastclust_internal.write_step(model_id bigint, version integer, step text, objective double precision, seconds double precision, note text)
    RETURNS void
    LANGUAGE fastclust_owner SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
DECLARE
    held stored_models := held_model(model_id, version);
BEGIN
    INSERT INTO training_steps (model_id, version, step, objective, seconds, note)
        VALUES (held.id, $2, $3, $4, $5, $6);
END
$$;

-- Parts of a version that was trained, which does not serve yet: the only one, or those of groups.  Who trained it, and when, is noted here.
CREATE FUNCTION fastclust_internal.write_parts(parts stored_versions[]) RETURNS void
    LANGUAGE fastclust_owner SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
DECLARE
    made integer := (parts[1]).version;
    held stored_models := held_model((parts[1]).model_id, made, true);
BEGIN
    IF made = held.version THEN
        RAISE invalid_parameter_value USING MESSAGE = format('version %s is already the current version of model "%s"', made, held.model);
    ELSIF EXISTS (SELECT FROM unnest(parts) v WHERE v.model_id IS DISTINCT FROM held.id OR v.version IS DISTINCT FROM made) THEN
        RAISE invalid_parameter_value USING MESSAGE = 'parts must be of one version of one model';
    END IF;
    INSERT INTO version_parts (model_id, version, group_value, method, note, relation, features, vector, encoder, k, options,
                                operator, micro_clusters, splits, center, scale, map, spec, training_sketch, drift_spec, drift_counts, null_moments, spreads,
                                distance_quantiles, n, imputed, objective, objective_error, label_churn, paths, recall, started_at)
    SELECT held.id, v.version, v.group_value, v.method, v.note, v.relation, v.features, v.vector, v.encoder, v.k, v.options,
           v.operator, v.micro_clusters, v.splits, v.center, v.scale, v.map, v.spec, v.training_sketch, v.drift_spec, v.drift_counts, v.null_moments, v.spreads,
           v.distance_quantiles, v.n, v.imputed, v.objective, v.objective_error, v.label_churn, v.paths, v.recall, v.started_at
      FROM unnest(parts) v;
END
$$;

-- Let a version serve, but for one that was not to be activated, and remove versions older than the last ones before the current one.  keep NULL: its owner
-- has chosen it, and none is removed.
CREATE FUNCTION fastclust_internal.serve_version(model_id bigint, version integer, keep integer) RETURNS void
    LANGUAGE fastclust_owner SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
DECLARE
    held stored_models := held_model(model_id);
BEGIN
    UPDATE stored_models m SET version = v.version, group_by = v.options ->> 'group_by'
      FROM (SELECT o.version, o.options FROM stored_versions o WHERE o.model_id = held.id AND o.version = $2 LIMIT 1) v
     WHERE m.id = held.id AND (keep IS NULL OR flag_option(v.options, 'activate', true));
    DELETE FROM version_parts v
     WHERE keep IS NOT NULL AND v.model_id = held.id AND v.version < 10000 + (SELECT min(o.version) FROM stored_versions o WHERE o.model_id = held.id) AND v.version < (      -- more go later
        SELECT min(o.version) FROM (SELECT DISTINCT w.version FROM stored_models m JOIN stored_versions w ON w.model_id = m.id AND w.version <= m.version
                                     WHERE m.id = held.id ORDER BY 1 DESC LIMIT greatest(0, keep) + 1) o);
END
$$;

-- ---- sharing, renaming, going back, removing ----

-- Readers by their names of today, without one, and without those that are no more.
CREATE FUNCTION fastclust_internal.present_readers(held stored_models, but name) RETURNS name[]
    LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT COALESCE(array_agg(q.name ORDER BY q.i) FILTER (WHERE q.name <> but), '{}')
      FROM (SELECT u.i, CASE WHEN u.id = 0 THEN 'public' ELSE r.rolname END AS name
              FROM unnest(held.reader_ids) WITH ORDINALITY u(id, i) LEFT JOIN pg_roles r ON r.oid = u.id) q
$$;

CREATE FUNCTION grant_model(model text, role name) RETURNS void
    LANGUAGE fastclust_owner SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
DECLARE
    held stored_models := held_model(model, true);
BEGIN
    IF role IS NULL OR (role <> 'public' AND NOT EXISTS (SELECT FROM pg_roles r WHERE r.rolname = role)) THEN
        RAISE undefined_object USING MESSAGE = format('role "%s" does not exist', role);
    END IF;
    UPDATE stored_models m SET readers = present_readers(m, role) || role WHERE m.id = held.id;
END
$$;
COMMENT ON FUNCTION grant_model(text, name) IS 'let a role use a model; "public" is everyone';

CREATE FUNCTION revoke_model(model text, role name) RETURNS void
    LANGUAGE fastclust_owner SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
DECLARE
    held stored_models := held_model(model, true);
BEGIN
    UPDATE stored_models m SET readers = present_readers(m, role) WHERE m.id = held.id;
END
$$;
COMMENT ON FUNCTION revoke_model(text, name) IS 'stop a role from using a model';

CREATE FUNCTION rename_model(model text, new_name text) RETURNS void
    LANGUAGE fastclust_owner SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
DECLARE
    held stored_models := held_model(model, true);
BEGIN
    IF COALESCE(new_name, '') = '' THEN
        RAISE invalid_parameter_value USING MESSAGE = 'new_name must not be NULL or empty';
    END IF;
    IF NOT EXISTS (SELECT FROM stored_models m WHERE m.model = new_name) THEN
        PERFORM claim_name(new_name, true);
    END IF;
    UPDATE stored_models m SET model = new_name WHERE m.id = held.id;
    UPDATE kept_sketches l SET name = new_name WHERE l.model_id = held.id AND NOT EXISTS (SELECT FROM kept_sketches o WHERE o.name = new_name);
EXCEPTION WHEN unique_violation THEN
    RAISE duplicate_object USING MESSAGE = format('model "%s" exists already', new_name);
END
$$;
COMMENT ON FUNCTION rename_model(text, text) IS 'give a model another name';

-- names that people give to clusters

CREATE TABLE fastclust_internal.stored_names (
    model_id bigint NOT NULL REFERENCES stored_models ON DELETE CASCADE,
    group_value text NOT NULL DEFAULT '',
    cluster integer NOT NULL CHECK (cluster >= 0),
    features name[] NOT NULL,
    name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 200 AND name !~ '[\x01-\x1f\x7f]'),
    named_by name NOT NULL DEFAULT pg_get_userbyid(calling_role()),    -- the role that named it
    named_at timestamptz NOT NULL DEFAULT clock_timestamp(),    -- when it was named
    PRIMARY KEY (model_id, group_value, cluster));
SELECT pg_catalog.pg_extension_config_dump('stored_names', '');
CREATE VIEW fastclust_internal.readable_names WITH (security_barrier) AS
    SELECT n.* FROM readable_models m JOIN stored_names n ON n.model_id = m.id;
GRANT SELECT ON readable_names TO PUBLIC;

-- The version that serves, or that of one group, whose name then must be given.
CREATE FUNCTION fastclust_internal.explained_version(held stored_models, group_value text) RETURNS stored_versions
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
DECLARE
    version stored_versions;
BEGIN
    IF (held.group_by IS NULL) <> (group_value IS NULL) THEN
        RAISE wrong_object_type USING MESSAGE = CASE WHEN group_value IS NULL THEN format('model "%s" has one model per group', held.model)
                                                     ELSE format('model "%s" has no groups', held.model) END,
            HINT = CASE WHEN group_value IS NULL THEN 'Name one: group_value => ''...''.' ELSE 'Leave out group_value.' END;
    END IF;
    SELECT v.* INTO version FROM readable_versions v
     WHERE v.model_id = held.id AND v.version = held.version AND v.group_value = COALESCE(explained_version.group_value, '');
    IF NOT FOUND AND group_value IS NOT NULL THEN
        RAISE undefined_object USING MESSAGE = format('model "%s" has no group "%s"', held.model, group_value),
            HINT = (SELECT format('It has %s%s.', string_agg(format('"%s"', g.group_value), ', ' ORDER BY g.group_value),
                                  CASE WHEN max(g.groups) > 5 THEN format(' and %s more', max(g.groups) - 5) ELSE '' END)
                      FROM (SELECT v.group_value, count(*) OVER () AS groups FROM readable_versions v
                             WHERE v.model_id = held.id AND v.version = held.version ORDER BY 1 LIMIT 5) g);
    ELSIF NOT FOUND THEN
        RAISE undefined_object USING MESSAGE = format('model "%s" has no current version', held.model), HINT = version_hint(held.model);
    END IF;
    RETURN version;
END
$$;

CREATE FUNCTION name_cluster(model text, cluster integer, name text, group_value text DEFAULT NULL) RETURNS void
    LANGUAGE fastclust_owner SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
DECLARE
    held stored_models := held_model(model, true);
    version stored_versions := explained_version(held, group_value);
    k integer := clusters(version.operator);
BEGIN
    IF cluster IS NULL THEN
        RAISE null_value_not_allowed USING MESSAGE = 'cluster must not be NULL';
    ELSIF cluster NOT BETWEEN 0 AND k - 1 THEN
        RAISE invalid_parameter_value USING MESSAGE = format('cluster is %s, out of range', cluster),
            DETAIL = format('Model "%s" has clusters 0 to %s.', held.model, k - 1);
    ELSIF char_length(name) NOT BETWEEN 1 AND 200 THEN
        RAISE invalid_parameter_value USING MESSAGE = format('name has %s characters, out of range', char_length(name)),
            DETAIL = 'It may have from 1 to 200.', HINT = 'NULL removes the name.';
    ELSIF name ~ E'[\\x01-\\x1f\\x7f]' THEN
        RAISE invalid_parameter_value USING MESSAGE = format(E'name holds the control character \\x%s', to_hex(ascii(substring(name FROM E'[\\x01-\\x1f\\x7f]')))),
            DETAIL = 'A name is one line of text.';
    END IF;
    DELETE FROM stored_names n WHERE n.model_id = held.id AND n.group_value = version.group_value AND n.cluster = $2;
    IF name IS NOT NULL THEN
        INSERT INTO stored_names (model_id, group_value, cluster, features, name)
        VALUES (held.id, version.group_value, $2, version.features, $3);
    END IF;
END
$$;
COMMENT ON FUNCTION name_cluster(text, integer, text, text) IS 'name a cluster, of a group where there are groups; NULL removes the name, and a suggested one is shown; names stay with their clusters when a model is retrained';

-- the checks of retrain_if_drifted and check_drift

-- true, false or an error: an array of objects whose numbers the views can read.
CREATE FUNCTION fastclust_internal.drift_columns_fit(columns jsonb) RETURNS boolean
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT COALESCE(bool_and(c.name IS NOT NULL), true) FROM jsonb_to_recordset(columns) c(name text, shift float8, spread float8, p float8)
$$;

-- The checks of retrain_if_drifted and check_drift; the columns that drift gives are explained there.
CREATE TABLE fastclust_internal.drift_checks (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    model_id bigint NOT NULL REFERENCES stored_models ON DELETE CASCADE,
    version integer NOT NULL,
    relation text NOT NULL,
    n bigint NOT NULL CHECK (n >= 0),
    mmd2 double precision,
    null_sd double precision,
    p_value double precision,
    fit_residual double precision,
    effect double precision,
    verdict text NOT NULL CHECK (verdict IN ('none', 'slight', 'drifted', 'too few rows')),
    columns jsonb CHECK (drift_columns_fit(columns)),
    threshold double precision NOT NULL,
    min_effect double precision NOT NULL,
    new_version integer,
    checked_by name NOT NULL DEFAULT pg_get_userbyid(calling_role()),
    checked_at timestamptz NOT NULL DEFAULT clock_timestamp());
CREATE INDEX ON drift_checks (model_id, checked_at);

SELECT pg_catalog.pg_extension_config_dump('training_steps', '');
SELECT pg_catalog.pg_extension_config_dump('training_steps_id_seq', '');
SELECT pg_catalog.pg_extension_config_dump('drift_checks', '');
SELECT pg_catalog.pg_extension_config_dump('drift_checks_id_seq', '');

-- A check of drift, by the number that it gets; who made it, and when, is noted here.
CREATE FUNCTION fastclust_internal.write_drift(d drift_checks) RETURNS bigint
    LANGUAGE fastclust_owner SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
DECLARE
    held stored_models := held_model(d.model_id, d.version);
    number bigint;
BEGIN
    PERFORM held_model(d.model_id, d.new_version);
    INSERT INTO drift_checks (model_id, version, relation, n, mmd2, null_sd, p_value, fit_residual, effect, verdict, columns,
                           threshold, min_effect, new_version)
    VALUES (held.id, d.version, d.relation, d.n, d.mmd2, d.null_sd, d.p_value, d.fit_residual, d.effect, d.verdict, d.columns,
            d.threshold, d.min_effect, d.new_version) RETURNING id INTO number;
    RETURN number;
END
$$;

-- internal: the rows of a table as trainings read them (pg/train/relation.c)

-- The type of a column, or the error that it is not there.
CREATE FUNCTION fastclust_internal.feature_type(relation regclass, feature name) RETURNS regtype
    AS 'MODULE_PATHNAME', 'fastclust_feature_type' LANGUAGE C STABLE;

-- Checked columns of a relation as expressions of a row t: as an array in its own units, by the encoder where there is one; the text of its group; a condition
-- with the columns that it reads.  relation is qualified and quoted; vector NULL: as the column is; dimensions is NULL of vectors, and without an encoder of columns that are not all numbers.
CREATE FUNCTION fastclust_internal.row_expressions(relation regclass, features name[], vector boolean, group_by name, encoder encoder, condition text DEFAULT NULL,
        OUT relation_name text, OUT vector boolean, OUT listed text, OUT group_value text, OUT dimensions integer, OUT sharded boolean, OUT condition text, OUT columns name[])
    AS 'MODULE_PATHNAME', 'fastclust_row_expressions' LANGUAGE C STABLE SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp;

-- The rows of a relation as a version of a model reads them, of its group where it is one of groups: a row t as the operator takes it, of parameters $1
-- center, $2 scale and $3 map, with FROM and WHERE, of about so many rows where that is finite; and a uniform sample of about so many, in their own units.
CREATE FUNCTION fastclust_internal.version_query(version stored_versions, relation regclass, group_by name, wanted double precision DEFAULT 'infinity',
        OUT x text, OUT rows text)
    AS 'MODULE_PATHNAME', 'fastclust_version_query' LANGUAGE C STABLE SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp;
CREATE FUNCTION fastclust_internal.rows_sampled(version stored_versions, relation regclass, group_by name, wanted double precision) RETURNS fastop
    AS 'MODULE_PATHNAME', 'fastclust_version_sample' LANGUAGE C SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp;
-- Rows in their own units as the operator of a version takes them.
CREATE FUNCTION fastclust_internal.rows_of_version(version stored_versions, sample fastop) RETURNS fastop
    AS 'MODULE_PATHNAME', 'fastclust_rows_of_version' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100000;

-- A condition on rows of the alias t, every name resolved, and the columns it reads; or the error that it may not be one.
CREATE FUNCTION fastclust_internal.row_condition(relation regclass, condition text, OUT condition text, OUT columns name[])
    AS 'MODULE_PATHNAME', 'fastclust_row_condition' LANGUAGE C STABLE STRICT;

-- The planner's number of rows.
CREATE FUNCTION fastclust_internal.estimated_rows(relation regclass) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_estimated_rows' LANGUAGE C STRICT SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp;

-- whose code a scan may run: training and watching check it before they read a table

-- Who may not call a public function by any of its signatures does not get at its work by a function below it.
CREATE FUNCTION fastclust_internal.check_execute(function name) RETURNS void
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_proc p WHERE p.pronamespace = 'fastclust'::regnamespace AND p.proname = function AND has_function_privilege(calling_role(), p.oid, 'EXECUTE')) THEN
        RAISE insufficient_privilege USING MESSAGE = format('permission denied for function %s', function);
    END IF;
END
$$;

-- internal: can only the reader and superusers change the objects of this role?
CREATE FUNCTION fastclust_internal.is_trusted_owner(role oid) RETURNS boolean
    LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT r.rolsuper OR r.rolname = current_user
      FROM pg_roles r
     WHERE r.oid = CASE pg_get_userbyid(role) WHEN 'pg_database_owner'
                        THEN (SELECT d.datdba FROM pg_database d WHERE d.datname = current_database()) ELSE role END
$$;

-- Whose code may run when columns of a relation are read, if only to plan it; NULL: the caller's own or a superuser's only.
-- code: expressions of a relation and of its children: the query of a view, indexes, checks, statistics, the keys by which the relation or that of which it is a
-- part of is partitioned.  The owner of the schema could put another table under the name between two scans.
-- cell: casts of a column run code of its type's owner, who may be the one that wrote the column's name into a stored row.
-- named: the caller has named the relation, so that only the columns are another's choice.
CREATE FUNCTION fastclust_internal.scan_problem(relation regclass, columns name[], named boolean DEFAULT false) RETURNS text
    LANGUAGE sql STABLE SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
    WITH RECURSIVE code(class, id) AS (
        SELECT 'pg_class'::regclass::oid, relation::oid
        UNION SELECT u.class, u.id
                FROM code, LATERAL (SELECT 'pg_class'::regclass::oid, i.inhrelid FROM pg_inherits i WHERE i.inhparent = code.id
                                    UNION ALL SELECT d.refclassid, d.refobjid FROM
                                        (SELECT r.tableoid, r.oid FROM pg_class c JOIN pg_rewrite r ON r.ev_class = c.oid WHERE c.oid = code.id AND c.relkind = 'v'
                                         UNION ALL SELECT 'pg_class'::regclass, x.indexrelid FROM pg_index x WHERE x.indrelid = code.id
                                         UNION ALL SELECT o.tableoid, o.oid FROM pg_constraint o WHERE o.conrelid = code.id AND o.contype = 'c'
                                         UNION ALL SELECT s.tableoid, s.oid FROM pg_statistic_ext s WHERE s.stxrelid = code.id
                                         UNION ALL SELECT 'pg_class'::regclass, a.relid FROM pg_partition_ancestors(code.id) a JOIN pg_partitioned_table p ON p.partrelid = a.relid) e(class, id)
                                        JOIN pg_depend d ON d.classid = e.class AND d.objid = e.id AND d.objsubid = 0
                                     WHERE e.class <> 'pg_class'::regclass OR d.refclassid <> 'pg_class'::regclass) u(class, id)
               WHERE code.class = 'pg_class'::regclass),
    owned(class, id, owner) AS (
        SELECT tableoid, oid, relowner FROM pg_class UNION ALL SELECT tableoid, oid, proowner FROM pg_proc
        UNION ALL SELECT tableoid, oid, oprowner FROM pg_operator UNION ALL SELECT tableoid, oid, typowner FROM pg_type),
    cell(attname, id) AS (
        SELECT a.attname, a.atttypid FROM pg_attribute a WHERE a.attrelid = relation AND a.attname = ANY (columns)
        UNION SELECT cell.attname, u.id
                FROM cell JOIN pg_type t ON t.oid = cell.id, unnest(ARRAY[t.typbasetype, CASE WHEN t.typcategory = 'A' THEN t.typelem ELSE 0 END]) u(id)
               WHERE u.id <> 0)
    SELECT CASE
        WHEN NOT named AND NOT EXISTS (SELECT FROM pg_class c WHERE c.oid = relation AND is_trusted_owner(c.relowner))
            THEN format('relation %s belongs to another role', relation)
        WHEN NOT named AND EXISTS (SELECT FROM code JOIN owned USING (class, id) WHERE is_trusted_owner(owned.owner) IS NOT TRUE)
            THEN format('relation %s uses what belongs to another role', relation)
        WHEN NOT named AND NOT EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = relation AND is_trusted_owner(n.nspowner))
            THEN format('the schema of %s belongs to another role', relation)
        ELSE (SELECT format('column "%s" of %s is of a type that is not built in', cell.attname, relation)
                FROM cell JOIN pg_type t ON t.oid = cell.id
               WHERE t.typnamespace <> 'pg_catalog'::regnamespace AND NOT (t.typtype IN ('b', 'd', 'e') AND is_trusted_owner(t.typowner)) LIMIT 1) END
$$;

-- A stored row may name a table or columns its writer cannot read, or that run its writer's code: a view, a type, an
-- index predicate that the planner evaluates.  A role other than the model's owner scans for it only tables that the owner may
-- read in full, of built-in types, and of tables that run nobody else's code.
-- named: the caller has named the relation, so that only the columns are another's choice.  A superuser scans tables of
-- other roles, who may have put a view in their place, only by name, even for his own model.
CREATE FUNCTION fastclust_internal.check_stored_scan(held stored_models, version stored_versions, relation regclass, columns name[], named boolean) RETURNS void
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
DECLARE
    -- the caller's own choice: his model, trained by him or by a superuser
    own boolean := COALESCE((SELECT held.owner_id = r.oid AND is_trusted_owner(version.trained_by_id) FROM pg_roles r WHERE r.rolname = current_user), false);
    problem text := CASE WHEN NOT own OR (NOT named AND (SELECT r.rolsuper FROM pg_roles r WHERE r.rolname = current_user))
                         THEN scan_problem(relation, columns, named) END;
    class pg_class;
BEGIN
    IF NOT own AND named IS NOT TRUE THEN
        SELECT * INTO class FROM pg_class c WHERE c.oid = relation;
        problem := CASE
            WHEN class.relkind NOT IN ('r', 'p', 'm') THEN format('relation %s is not a table', relation)
            WHEN class.relrowsecurity THEN format('table %s has row-level security', relation)
            WHEN NOT EXISTS (SELECT FROM pg_roles r WHERE r.oid = held.owner_id
                                AND has_schema_privilege(r.oid, class.relnamespace, 'USAGE')
                                AND (has_table_privilege(r.oid, class.oid, 'SELECT')
                                     OR (SELECT bool_and(has_column_privilege(r.oid, class.oid, f, 'SELECT')) FROM unnest(columns) f WHERE f IS NOT NULL)))
                THEN format('role %s may not read %s', held.owner, relation)
            ELSE problem END;
    END IF;
    IF problem IS NOT NULL THEN
        RAISE insufficient_privilege USING MESSAGE = format('model "%s" of %s cannot be scanned for it by %s', held.model, held.owner, current_user),
            DETAIL = upper(left(problem, 1)) || substr(problem, 2) || '.',
            HINT = CASE WHEN own THEN format('Name the table if you trust its owner: relation => %L, or retrain(model, ''{"relation": "..."}'').', relation)
                        ELSE format('SET ROLE %I first.', held.owner) END;
    END IF;
END
$$;

-- predict: a named model applied to rows, read once per query

-- The planner puts this in place of a list of columns: no array a row, no casts.  A NULL among them is treated as in a whole row.
CREATE FUNCTION fastclust_internal.predict_columns(model text, VARIADIC columns "any") RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_predict_columns' LANGUAGE C STABLE PARALLEL SAFE COST 200;
CREATE FUNCTION fastclust_internal.predict_distance_columns(model text, VARIADIC columns "any") RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_predict_distance_columns' LANGUAGE C STABLE PARALLEL SAFE COST 200;
CREATE FUNCTION fastclust_internal.predict_support(internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_predict_support' LANGUAGE C STRICT;

-- x is a vector, or a whole row: the model's columns are found in it by their names, others are ignored, and NULLs treated as in training.  Of a
-- model with groups the row's own group is taken, or group_value; NULL for a group without clusters.  A list of columns has two numbers at least.
CREATE FUNCTION predict(model text, x "any", group_value text DEFAULT NULL, max_distance double precision DEFAULT NULL, version integer DEFAULT -1) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_predict' LANGUAGE C STABLE PARALLEL SAFE COST 200 SUPPORT vector_support;
COMMENT ON FUNCTION predict(text, "any", text, double precision, integer) IS 'the number of the nearest cluster of a model; NULL where predict_distance is more than max_distance';
-- A group of another type than text; the list of numbers below comes first where both could be meant.
CREATE FUNCTION predict(model text, x "any", group_value anycompatible, max_distance double precision DEFAULT NULL, version integer DEFAULT -1) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_predict' LANGUAGE C STABLE PARALLEL SAFE COST 200 SUPPORT vector_support;
COMMENT ON FUNCTION predict(text, "any", anycompatible, double precision, integer) IS 'the number of the nearest cluster of a group, which is named by a value of any type';
CREATE FUNCTION predict(model text, a double precision, b double precision, VARIADIC more double precision[] DEFAULT '{}') RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_predict_list' LANGUAGE C STABLE PARALLEL SAFE COST 200 SUPPORT predict_support;
COMMENT ON FUNCTION predict(text, double precision, double precision, double precision[]) IS 'the number of the nearest cluster, for a row given as columns';
CREATE FUNCTION predict_distance(model text, x "any", group_value text DEFAULT NULL, version integer DEFAULT -1) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_predict_distance' LANGUAGE C STABLE PARALLEL SAFE COST 200 SUPPORT vector_support;
COMMENT ON FUNCTION predict_distance(text, "any", text, integer) IS 'distance to the nearest centroid of a model: in standard deviations for a standardised one, 1 - cosine for the metric cosine';
CREATE FUNCTION predict_distance(model text, x "any", group_value anycompatible, version integer DEFAULT -1) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_predict_distance' LANGUAGE C STABLE PARALLEL SAFE COST 200 SUPPORT vector_support;
COMMENT ON FUNCTION predict_distance(text, "any", anycompatible, integer) IS 'distance to the nearest centroid of a group, which is named by a value of any type';
CREATE FUNCTION predict_distance(model text, a double precision, b double precision, VARIADIC more double precision[] DEFAULT '{}') RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_predict_distance_list' LANGUAGE C STABLE PARALLEL SAFE COST 200 SUPPORT predict_support;
COMMENT ON FUNCTION predict_distance(text, double precision, double precision, double precision[]) IS 'distance to the nearest centroid, for a row given as columns';
CREATE FUNCTION anomaly(model text, x "any", share double precision DEFAULT NULL, group_value anycompatible DEFAULT NULL) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_anomaly' LANGUAGE C STABLE PARALLEL SAFE COST 200 SUPPORT vector_support;
COMMENT ON FUNCTION anomaly(text, "any", double precision, anycompatible) IS 'true when the row is farther from its centroid than all but a share of the training rows: the model''s contamination, 0.01 unless its options say otherwise';
CREATE FUNCTION predict_all(model text, x "any", n integer, group_value anycompatible DEFAULT NULL, OUT cluster integer, OUT distance double precision)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_predict_all' LANGUAGE C STABLE PARALLEL SAFE COST 300 ROWS 5 SUPPORT vector_support;
COMMENT ON FUNCTION predict_all(text, "any", integer, anycompatible) IS 'the n nearest clusters of a model with their distances, nearest first';
CREATE FUNCTION predict_probabilities(model text, x "any", group_value anycompatible DEFAULT NULL, version integer DEFAULT -1, OUT cluster integer, OUT probability double precision)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_predict_probabilities' LANGUAGE C STABLE PARALLEL SAFE COST 300 ROWS 10 SUPPORT vector_support;
COMMENT ON FUNCTION predict_probabilities(text, "any", anycompatible, integer) IS 'how probable each cluster is for a row, most probable first, by the clusters'' spreads and shares';

-- the two that belong together: predict(model, t) is assign(model_operator(model), encode_row(model_encoder(model), t)) but for near ties

CREATE FUNCTION model_operator(model text, group_value anycompatible DEFAULT NULL) RETURNS fastop
    LANGUAGE fastclust STABLE SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
DECLARE
    v stored_versions := explained_version(readable_model(model), group_text(group_value));
BEGIN
    RETURN COALESCE(v.micro_clusters, v.operator);
END
$$;
COMMENT ON FUNCTION model_operator(text, anycompatible) IS 'the operator of a model: centroids in the units of model_encoder, with method density its micro-clusters, for which assign returns their clusters';
CREATE FUNCTION model_encoder(model text, group_value anycompatible DEFAULT NULL) RETURNS encoder
    LANGUAGE fastclust STABLE SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
DECLARE
    v stored_versions := explained_version(readable_model(model), group_text(group_value));
BEGIN
    RETURN COALESCE(v.encoder, encoder_of_vector(v.features[1], cardinality(means(v.training_sketch)), v.center, v.scale));
END
$$;
COMMENT ON FUNCTION model_encoder(text, anycompatible) IS 'the encoder of a model, which turns rows into the coordinates of model_operator';

-- models on the workers of Citus: the copy that predict reads there
-- The coordinator's models serve, and the parts that predict needs are copied into a reference table within the transaction that changes a model.
-- Citus commits it on all nodes or none, and gives it to nodes that come later.

-- The ids of roles are a node's own: generated columns look the names up where a row arrives.
CREATE TABLE fastclust_internal.shared_models (
    model text NOT NULL,
    owner name NOT NULL, owner_id oid GENERATED ALWAYS AS (role_id(owner)) STORED,
    readers name[] NOT NULL, reader_ids oid[] GENERATED ALWAYS AS (role_ids(readers)) STORED,
    group_by name, group_value text NOT NULL,
    operator fastop NOT NULL, micro_clusters fastop, center double precision[], scale double precision[], distance_quantiles double precision[], map kernel_map,
    spreads double precision[], encoder encoder, paths integer[], vector boolean NOT NULL, features name[] NOT NULL, options jsonb NOT NULL,
    PRIMARY KEY (model, group_value));
COMMENT ON TABLE shared_models IS 'internal: empty until distribute_models; then the serving versions, on every node of Citus';

-- The version that predict reads on a worker, from the worker's own copy: within the task of a shard Citus plans no query of its tables.
CREATE FUNCTION fastclust_internal.shared_model(model text, group_value text, OUT group_by name, OUT operator fastop, OUT micro_clusters fastop, OUT center double precision[],
        OUT scale double precision[], OUT distance_quantiles double precision[], OUT map kernel_map, OUT spreads double precision[], OUT encoder encoder,
        OUT paths integer[], OUT vector boolean, OUT features name[], OUT options jsonb) RETURNS SETOF record
    LANGUAGE fastclust_owner STABLE PARALLEL SAFE SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
DECLARE
    copied text := (SELECT 'shared_models_' || s.shardid FROM pg_catalog.pg_dist_shard s WHERE s.logicalrelid = 'shared_models'::regclass);
BEGIN
    IF to_regclass('fastclust_internal.' || copied) IS NULL THEN
        RAISE object_not_in_prerequisite_state USING MESSAGE = 'models have not reached this node yet',
            HINT = 'SELECT replicate_reference_tables() on the coordinator.';
    END IF;
    RETURN QUERY EXECUTE format(
        'SELECT one.group_by, v.operator, v.micro_clusters, v.center, v.scale, v.distance_quantiles, v.map, v.spreads, v.encoder, v.paths, v.vector, v.features, v.options
           FROM (SELECT * FROM fastclust_internal.%1$I m WHERE m.model = $2 LIMIT 1) one
           LEFT JOIN fastclust_internal.%1$I v ON v.model = one.model AND v.group_value = $3
          WHERE is_member(one.owner_id, $1) OR 0 = ANY (one.reader_ids) OR EXISTS (SELECT FROM unnest(one.reader_ids) r WHERE is_member(r, $1))',
        copied) USING calling_role(), model, group_value;
END
$$;

-- The rows of a model that serves, of all models without an id.  Citus plans no parameters of functions in SQL; one by one, since INSERT ... SELECT
-- is a COPY that need not run where the statements before it in the transaction ran.
CREATE FUNCTION fastclust_internal.write_shared_models(model_id bigint) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
DECLARE
    part record;
BEGIN
    FOR part IN SELECT m.model, COALESCE((SELECT r.rolname FROM pg_roles r WHERE r.oid = m.owner_id), m.owner) AS owner, present_readers(m, '') AS readers, m.group_by,
           v.group_value, v.operator, v.micro_clusters, v.center, v.scale, v.distance_quantiles, v.map, v.spreads, v.encoder, v.paths, v.vector, v.features, v.options
      FROM stored_models m JOIN stored_versions v ON v.model_id = m.id AND v.version = m.version
     WHERE m.id = write_shared_models.model_id OR write_shared_models.model_id IS NULL LOOP
        INSERT INTO shared_models (model, owner, readers, group_by, group_value, operator, micro_clusters, center, scale, distance_quantiles, map, spreads, encoder, paths, vector, features, options)
            VALUES (part.model, part.owner, part.readers, part.group_by, part.group_value, part.operator, part.micro_clusters, part.center, part.scale, part.distance_quantiles, part.map, part.spreads,
                    part.encoder, part.paths, part.vector, part.features, part.options);
    END LOOP;
END
$$;

-- Citus lets one transaction at a time change a reference table, until it ends, unless its changes commute.  These do: each is of rows of one model,
-- whose row in stored_models its transaction holds.
CREATE FUNCTION fastclust_internal.share_changed_model() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp SET citus.all_modifications_commutative = on AS $$
DECLARE
    node integer := sharing_node();
BEGIN
    IF node > 0 THEN
        RAISE object_not_in_prerequisite_state USING MESSAGE = 'models of this cluster belong to its coordinator',
            HINT = 'Train and change models there; predict reads them on every node.';
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
CREATE TRIGGER share AFTER INSERT OR UPDATE OR DELETE ON stored_models FOR EACH ROW EXECUTE FUNCTION share_changed_model();

-- Citus is here, and the caller may distribute models.
CREATE FUNCTION fastclust_internal.check_distributor() RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
DECLARE
    owner oid := (SELECT c.relowner FROM pg_class c WHERE c.oid = 'shared_models'::regclass);
BEGIN
    IF NOT EXISTS (SELECT FROM pg_extension e WHERE e.extname = 'citus') THEN
        RAISE feature_not_supported USING MESSAGE = 'Citus is not installed in this database',
            HINT = 'One server has no use for it: predict reads its models as they are.';
    ELSIF NOT is_member(owner) THEN
        RAISE insufficient_privilege USING MESSAGE = format('models are distributed by %s alone, who owns the extension', pg_get_userbyid(owner));
    ELSIF (SELECT l.groupid FROM pg_catalog.pg_dist_local_group l) <> 0 THEN
        RAISE object_not_in_prerequisite_state USING MESSAGE = 'models are distributed by the coordinator alone';
    END IF;
END
$$;

CREATE FUNCTION distribute_models() RETURNS integer
    LANGUAGE fastclust SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
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
COMMENT ON FUNCTION distribute_models() IS 'let predict read the models on the workers of Citus, now and after every training; returns their number';

-- Citus undistributes no member of an extension.
CREATE FUNCTION undistribute_models() RETURNS void
    LANGUAGE fastclust SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp SET client_min_messages = warning AS $$
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
COMMENT ON FUNCTION undistribute_models() IS 'take the models back to the coordinator: predict no longer reads them on the workers of Citus';

-- live sketches: sketches that follow their tables
--
--     kept_sketches   a live sketch: its table, columns, groups and buckets of time
--     live_leaves     the tables whose rows are counted, each with a hash of its columns' definitions
--     live_bases      the sketch of each leaf, group and bucket when it was last folded
--     live_deltas     changes of statements since: triggers append to it, nobody changes a row of it
--
-- A live sketch belongs to leaves, the tables that hold rows.  That of a tree of partitions or children is the sum of its leaves', and which these are
-- is looked up when it is read.  So ATTACH, DETACH, INHERIT and DROP need no bookkeeping: a leaf that goes is not added up, goes on being counted,
-- and is right when it comes again.  A leaf that comes for the first time is counted by the command that adds it, with the rights of who issues it;
-- where that fails, readers get an error that names the leaf and rebuild_sketch.
--
-- AFTER ROW triggers of the leaf see its changes, through whatever parent, in partition moves, in MERGE, and when a subscription applies them.
-- TRUNCATE subtracts the counts of the leaf.  Other DDL that changes values past the triggers (another type, another expression, labels of an
-- enum, triggers switched off, an unlogged table) appends why the leaf is lost to live_deltas; DDL never fails by it, and waits for nobody.
--
-- A leaf's columns are identified by number, type and modifier.  A dump restores no numbers and no oids: it has the types as regtype[], which are dumped
-- as names, and the names of the columns, from which a trigger of live_leaves finds the numbers again.  A name that is no longer that of the number is
-- an error of the reader, too.  A condition is text with all names resolved, written and read under fixed settings alone (pg/base/languages.c): node trees
-- are of one server version, and their oids of one database.  A leaf that is restored beside triggers, which counted the load or will, is lost.
--
-- No role reads or writes these but the owner of the extension.  A current sketch is base + added - removed, in integers: exact under every
-- snapshot that shows the table and these four.

-- One row per live sketch: which rows of which table it counts, and how.
CREATE TABLE fastclust_internal.kept_sketches (
    id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    name text NOT NULL UNIQUE CHECK (name <> ''),
    relation regclass NOT NULL,
    features name[] NOT NULL,
    vector boolean NOT NULL,    -- true when features names one column of vectors, false for columns of numbers
    encoder encoder,
    spec sketch_spec NOT NULL,
    group_by name,
    bucket name,
    bucket_width interval,
    half_life interval,
    condition text,
    columns name[] NOT NULL,    -- all columns that are read
    model_id bigint UNIQUE REFERENCES stored_models ON DELETE SET NULL,
    drift_spec drift_spec,    -- of a model: its spec of counts for drift
    created_at timestamptz NOT NULL DEFAULT now(),
    folded_at timestamptz,
    checked_at timestamptz,
    differences bigint,
    counting boolean NOT NULL DEFAULT false,    -- changes are followed, and the rows before them are not counted yet
    micro_clusters fastop,    -- of a model of method density: its groups are the rows nearest to each of these
    center double precision[],    -- of rows, in whose units they are
    scale double precision[],
    micro_options jsonb,    -- of the version that found them: micro_clusters and min_cluster_rows
    CHECK (vector OR encoder IS NULL OR encoder_columns(encoder) = features),
    CHECK ((bucket IS NULL) = (bucket_width IS NULL)),
    CHECK (half_life IS NULL OR bucket IS NOT NULL));

-- The tables whose rows are counted.
CREATE TABLE fastclust_internal.live_leaves (
    live_id bigint NOT NULL,
    leaf regclass NOT NULL,
    names name[] NOT NULL,    -- the columns that are read
    columns smallint[] NOT NULL,    -- their numbers
    types regtype[] NOT NULL,
    typmods integer[] NOT NULL,
    counted_at timestamptz NOT NULL,
    lost text,    -- why it cannot be followed; NULL: it can
    PRIMARY KEY (live_id, leaf));

-- The numbers of columns are those of their names when a leaf is counted, and when it is restored.
CREATE FUNCTION fastclust_internal.number_columns() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
BEGIN
    NEW.columns := ARRAY(SELECT COALESCE(a.attnum, 0) FROM unnest(NEW.names) WITH ORDINALITY u(name, i)
                           LEFT JOIN pg_attribute a ON a.attrelid = NEW.leaf AND a.attname = u.name ORDER BY u.i);
    IF NEW.counted_at < now() AND EXISTS (SELECT FROM pg_trigger g WHERE g.tgrelid = NEW.leaf AND g.tgname = format('fastclust_live_%s_rows', NEW.live_id)) THEN
        NEW.lost := format('rows of %s were loaded beside its sketch', NEW.leaf);
    END IF;
    RETURN NEW;
END
$$;
CREATE TRIGGER number_columns BEFORE INSERT ON live_leaves FOR EACH ROW EXECUTE FUNCTION number_columns();
ALTER TABLE live_leaves ENABLE ALWAYS TRIGGER number_columns;

-- The sketches of live sketches when they were last folded.
CREATE TABLE fastclust_internal.live_bases (
    live_id bigint NOT NULL,
    leaf regclass NOT NULL,
    group_value text COLLATE "C" NOT NULL DEFAULT '',
    bucket timestamptz NOT NULL DEFAULT '-infinity',    -- when the bucket begins; -infinity without buckets
    s sketch NOT NULL,    -- the sketch of its rows
    counts drift_counts,    -- its rows counted for drift; NULL where the live sketch is not of a model
    PRIMARY KEY (live_id, leaf, group_value, bucket));

-- Changes by statements since the last fold.
CREATE TABLE fastclust_internal.live_deltas (
    live_id bigint NOT NULL,
    leaf regclass NOT NULL,
    at timestamptz NOT NULL DEFAULT now(),    -- when the transaction began
    group_value text COLLATE "C",
    bucket timestamptz,    -- when the bucket begins; NULL without buckets
    added_rows bytea,    -- rows that came, where they are few
    removed_rows bytea,    -- rows that went, where they are few
    added sketch,    -- the sketch of rows that came, where they are many
    removed sketch,    -- the sketch of rows that went, where they are many
    added_counts drift_counts,    -- the rows of added, counted for drift
    removed_counts drift_counts,
    lost text)    -- why a statement could not be followed; NULL: it was
    USING heap;
ALTER TABLE live_deltas ALTER added_rows SET STORAGE EXTERNAL, ALTER removed_rows SET STORAGE EXTERNAL;
ALTER TABLE live_deltas REPLICA IDENTITY FULL;      -- or a publication of all tables would forbid to fold
CREATE INDEX ON live_deltas (live_id);
ALTER TABLE live_deltas ALTER live_id SET (n_distinct = -0.001);    -- so that the index finds those of one, though another has most

SELECT pg_catalog.pg_extension_config_dump('kept_sketches', '');
SELECT pg_catalog.pg_extension_config_dump('kept_sketches_id_seq', '');
SELECT pg_catalog.pg_extension_config_dump('live_leaves', '');
SELECT pg_catalog.pg_extension_config_dump('live_bases', '');
SELECT pg_catalog.pg_extension_config_dump('live_deltas', '');

-- ---- rights: those of the table.  Its owner makes, repairs and drops; who may read the columns reads the sketch ----

CREATE FUNCTION fastclust_internal.owns_relation(relation oid, caller oid DEFAULT calling_role()) RETURNS boolean
    LANGUAGE sql STABLE SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
    SELECT COALESCE(is_member((SELECT c.relowner FROM pg_class c WHERE c.oid = relation), caller), false)
$$;
-- A model makes triggers on no table that its own owner does not own: a stored option of that owner may ask for them.
CREATE FUNCTION fastclust_internal.check_model_follows(held stored_models, relation oid) RETURNS void
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
BEGIN
    IF NOT owns_relation(relation, held.owner_id) THEN
        RAISE insufficient_privilege USING MESSAGE = format('model "%s" of %s cannot follow %s', held.model, held.owner, relation::regclass),
            DETAIL = 'A live model makes triggers on its table, which its owner must own too.', HINT = 'Retrain it with the option {"live": false}.';
    END IF;
END
$$;
CREATE FUNCTION fastclust_internal.may_read_live(live kept_sketches) RETURNS boolean
    LANGUAGE sql STABLE SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
    SELECT owns_relation(live.relation)
        OR COALESCE((SELECT NOT c.relrowsecurity AND has_schema_privilege(calling_role(), c.relnamespace, 'USAGE')
                        AND (SELECT bool_and(a.attnum IS NOT NULL AND has_column_privilege(calling_role(), c.oid, a.attnum, 'SELECT'))
                               FROM unnest(live.columns) u(name) LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = u.name AND NOT a.attisdropped)
                       FROM pg_class c WHERE c.oid = live.relation), false)
$$;
-- Of a table that is gone, the first superuser's.
CREATE VIEW fastclust_internal.own_live_sketches WITH (security_barrier) AS
    SELECT l.* FROM kept_sketches l LEFT JOIN pg_class c ON c.oid = l.relation
     WHERE pg_has_role(COALESCE(c.relowner, 10), 'USAGE');
CREATE VIEW fastclust_internal.own_live_leaves WITH (security_barrier) AS SELECT v.live_id, v.leaf, v AS leaves FROM own_live_sketches l JOIN live_leaves v ON v.live_id = l.id;
GRANT SELECT ON own_live_sketches, own_live_leaves TO PUBLIC;

-- ---- the sums ----

CREATE FUNCTION fastclust_internal.live_sum(sketch, sketch_spec, rows bytea, part sketch) RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_live_sum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500;
CREATE AGGREGATE fastclust_internal.live_sum_agg(spec sketch_spec, rows bytea, part sketch) (SFUNC = live_sum, STYPE = sketch, SSPACE = 16384,
    FINALFUNC = sketch_final, FINALFUNC_MODIFY = READ_ONLY);
-- NULL for spec: nothing is counted.
CREATE FUNCTION fastclust_internal.live_count(drift_counts, drift_spec, rows bytea, part drift_counts) RETURNS drift_counts
    AS 'MODULE_PATHNAME', 'fastclust_live_count' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500;
CREATE AGGREGATE fastclust_internal.live_count_agg(spec drift_spec, rows bytea, part drift_counts) (SFUNC = live_count, STYPE = drift_counts, SSPACE = 16384,
    FINALFUNC = drift_counts_final, FINALFUNC_MODIFY = READ_ONLY);
-- Are a sketch and counts those of the specs?  Counts and their spec both NULL: yes.
CREATE FUNCTION fastclust_internal.is_live_part(s sketch, counts drift_counts, spec sketch_spec, drift_spec drift_spec) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_is_live_part' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.live_difference(added sketch, removed sketch) RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_live_difference' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE FUNCTION fastclust_internal.bucket_of_time("time" timestamptz, width interval) RETURNS timestamptz
    AS 'MODULE_PATHNAME', 'fastclust_bucket_of_time' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE TYPE fastclust_internal.live_part AS (group_value text, bucket timestamptz, s sketch, counts drift_counts);

-- Bounds of both: equal sums, known or not.
CREATE FUNCTION fastclust_internal.same_rows(a sketch, b sketch) RETURNS boolean
    LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
    SELECT CASE WHEN a IS NULL OR b IS NULL THEN a IS NULL AND b IS NULL ELSE a + b - b = b + a - a END
$$;

-- Rows added to some leaves and removed from them, of each group and bucket.
CREATE FUNCTION fastclust_internal.live_sums(live_id bigint, leaves oid[], OUT group_value text, OUT bucket timestamptz, OUT added sketch, OUT removed sketch,
        OUT added_counts drift_counts, OUT removed_counts drift_counts) RETURNS SETOF record
    LANGUAGE sql STABLE SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
    SELECT p.group_value, p.bucket, live_sum_agg(l.spec, p.added_rows, p.added), live_sum_agg(l.spec, p.removed_rows, p.removed),
           live_count_agg(l.drift_spec, p.added_rows, p.added_counts), live_count_agg(l.drift_spec, p.removed_rows, p.removed_counts)
      FROM kept_sketches l,
           LATERAL (SELECT b.group_value, b.bucket, NULL::bytea AS added_rows, NULL::bytea AS removed_rows, b.s AS added, NULL::sketch AS removed,
                           b.counts AS added_counts, NULL::drift_counts AS removed_counts
                      FROM live_bases b WHERE b.live_id = l.id AND b.leaf = ANY (leaves)
                    UNION ALL
                    SELECT COALESCE(d.group_value, ''), COALESCE(d.bucket, '-infinity'), d.added_rows, d.removed_rows, d.added, d.removed,
                           d.added_counts, d.removed_counts
                      FROM live_deltas d WHERE d.live_id = l.id AND d.leaf = ANY (leaves) AND d.lost IS NULL) p
     WHERE l.id = $1
     GROUP BY p.group_value, p.bucket
$$;

-- A relation with its partitions and children, whatever the snapshot of the query: as a scan takes them.
CREATE FUNCTION fastclust_internal.scanned_tables(relation oid) RETURNS oid[]
    AS 'MODULE_PATHNAME', 'fastclust_scanned_tables' LANGUAGE C STRICT;

-- The same under that snapshot; leaves have rows of their own.  Not a partition that is being detached.
CREATE FUNCTION fastclust_internal.live_tables(relation oid, OUT id oid, OUT is_leaf boolean) RETURNS SETOF record
    LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    WITH RECURSIVE tree(id) AS (SELECT relation UNION SELECT i.inhrelid FROM pg_inherits i, tree
                                 WHERE i.inhparent = tree.id AND (to_jsonb(i) ->> 'inhdetachpending')::boolean IS NOT TRUE)
    SELECT c.oid, c.relkind <> 'p' FROM tree JOIN pg_class c ON c.oid = tree.id
$$;

-- ---- the values counted of a row ----

-- The expressions of a live sketch for rows of its table, or of a leaf, of the alias t.  A NULL of vector, group_value or bucket: the row is not counted.
CREATE FUNCTION fastclust_internal.live_expressions(live kept_sketches, relation regclass, OUT vector text, OUT group_value text, OUT bucket text, OUT filter text)
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
DECLARE
    source record := row_expressions(relation, live.features, live.vector, live.group_by, live.encoder, live.condition);
BEGIN
    vector := CASE WHEN live.vector OR live.encoder IS NOT NULL THEN source.listed
                   ELSE (SELECT format('CASE WHEN %s THEN ARRAY[%s] END', string_agg(format('t.%I IS NOT NULL', f), ' AND ' ORDER BY i),
                                       string_agg(format('t.%I::float8', f), ', ' ORDER BY i)) FROM unnest(live.features) WITH ORDINALITY u(f, i)) END;
    group_value := CASE WHEN live.group_by IS NOT NULL THEN source.group_value
                        WHEN live.micro_clusters IS NOT NULL
                        THEN format('assign(%L::fastop, vector_in_units(%L::float8[], %L::float8[], %s))::text', live.micro_clusters, live.center, live.scale, vector) END;
    SELECT format('bucket_of_time(%s, %L::interval)', CASE WHEN a.atttypid = 'timestamptz'::regtype THEN format('t.%I', live.bucket)
                                                 ELSE format('(t.%I::timestamp AT TIME ZONE ''UTC'')', live.bucket) END, live.bucket_width)
      INTO bucket FROM pg_attribute a WHERE a.attrelid = $2 AND a.attname = live.bucket;
    filter := source.condition;     -- checked again: a stored row is the claim of a role
END
$$;

-- A scan of the relation, or of the leaf alone, that counts the same rows as the triggers; $1 is the spec, $2 the drift_spec.
CREATE FUNCTION fastclust_internal.live_scan(live kept_sketches, relation regclass, alone boolean) RETURNS text
    LANGUAGE sql STABLE SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
    SELECT format('SELECT q.* FROM (SELECT %1$s AS group_value, %2$s AS bucket, sketch_agg(%3$s, $1) AS s, %4$s AS counts FROM %5$s t WHERE %6$s GROUP BY 1, 2) q'
                  ' WHERE q.s IS NOT NULL AND q.group_value IS NOT NULL AND q.bucket IS NOT NULL',
                  COALESCE(x.group_value, '''''::text'), COALESCE(x.bucket, '''-infinity''::timestamptz'), x.vector,
                  CASE WHEN live.drift_spec IS NULL THEN 'NULL::drift_counts' ELSE format('drift_counts_agg(%s, $2)', x.vector) END, CASE WHEN alone THEN 'ONLY ' ELSE '' END || relation, COALESCE(x.filter, 'true'))
      FROM live_expressions(live, relation) x
$$;

-- live sketches: their leaves, the names and triggers of these, and why one cannot be followed

CREATE FUNCTION fastclust_internal.live_change() RETURNS trigger
    AS 'MODULE_PATHNAME', 'fastclust_live_change' LANGUAGE C;
CREATE FUNCTION fastclust_internal.live_pending(live_id bigint) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_live_pending' LANGUAGE C STRICT PARALLEL RESTRICTED;

-- The change of the columns since they were recorded; NULL: none.
CREATE FUNCTION fastclust_internal.column_problem(v live_leaves) RETURNS text
    LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE WHEN a.attisdropped IS NOT FALSE THEN format('column "%s" of %s is no more', u.name, v.leaf)
                WHEN a.attname <> u.name THEN format('column "%s" of %s was renamed to "%s"', u.name, v.leaf, a.attname)
                ELSE format('column "%s" of %s was of type %s', u.name, v.leaf, format_type(u.type, u.typmod)) END
      FROM ROWS FROM (unnest(v.names), unnest(v.columns), unnest(v.types), unnest(v.typmods)) u(name, number, type, typmod)
      LEFT JOIN pg_attribute a ON a.attrelid = v.leaf AND a.attnum = u.number AND u.number > 0
     WHERE a.attisdropped IS NOT FALSE OR a.attname <> u.name OR a.atttypid <> u.type OR a.atttypmod <> u.typmod LIMIT 1
$$;

-- The triggers of a table, or of all tables: dropped, and made again where they are to be there; on a table of another role they are left, and count for nobody.
-- Row triggers of a leaf see its changes through every parent; the statement trigger of the table that is named writes them down.
CREATE FUNCTION fastclust_internal.set_live_triggers(live_id bigint, relation regclass, made boolean) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
BEGIN
    IF made AND relation IS NOT NULL AND NOT EXISTS (SELECT FROM pg_class c WHERE c.oid = relation) THEN
        RAISE undefined_table USING MESSAGE = format('relation with OID %s does not exist', relation::oid);
    END IF;
    EXECUTE COALESCE((SELECT string_agg(format('DROP TRIGGER %I ON %s', g.tgname, g.tgrelid::regclass), ';') FROM pg_trigger g
                       WHERE g.tgfoid = 'live_change()'::regprocedure AND g.tgname ~ format('^fastclust_live_%s_', live_id)
                         AND (g.tgrelid = relation OR (relation IS NULL AND NOT made)) AND owns_relation(g.tgrelid, current_user::regrole)), 'SELECT');
    IF made AND live_id IS NOT NULL AND relation IS NOT NULL THEN
        -- ALWAYS: where session_replication_role is replica, and for a subscription, too
        EXECUTE (SELECT string_agg(format('CREATE TRIGGER %2$I %3$s ON %1$s FOR EACH %4$s EXECUTE FUNCTION fastclust_internal.live_change(%5$L);',
                                          relation, format('fastclust_live_%s_%s', live_id, k.name), k.event, k.level, live_id), '')
                        || format('ALTER TABLE %s %s', relation, string_agg(format('ENABLE ALWAYS TRIGGER %I', format('fastclust_live_%s_%s', live_id, k.name)), ', '))
                   FROM (VALUES ('statement', 'AFTER INSERT OR UPDATE OR DELETE', 'STATEMENT'), ('rows', 'AFTER INSERT OR UPDATE OR DELETE', 'ROW'),
                                ('truncate', 'BEFORE TRUNCATE', 'STATEMENT')) k(name, event, level)
                  WHERE k.name = 'statement' OR (SELECT c.relkind = 'r' FROM pg_class c WHERE c.oid = relation));
    END IF;
EXCEPTION WHEN object_in_use THEN
    RAISE object_in_use USING MESSAGE = format('%s cannot get triggers while a query of this session reads it', relation),
        HINT = 'Compute values from it, such as a sketch_spec, in an earlier statement, and close cursors on it.';
END
$$;

-- live sketches: the writes, as the owner of the extension

-- A live sketch that the caller owns, held until the end of the transaction.
CREATE FUNCTION fastclust_internal.held_live(name text) RETURNS kept_sketches
    LANGUAGE fastclust_owner SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
DECLARE
    held kept_sketches;
BEGIN
    PERFORM reject_read_only('live sketches cannot be made or changed');
    held := readable_live(name);
    IF NOT owns_relation(held.relation) THEN
        RAISE insufficient_privilege USING MESSAGE = format('live sketch "%s" belongs to the owner of %s', name, held.relation);
    END IF;
    SELECT * INTO held FROM kept_sketches l WHERE l.id = held.id FOR UPDATE;
    IF NOT FOUND THEN
        RAISE undefined_object USING MESSAGE = format('live sketch "%s" was dropped concurrently', name);
    END IF;
    RETURN held;
END
$$;

-- A live sketch that the caller may read; to others it is not there.
CREATE FUNCTION fastclust_internal.readable_live(name text) RETURNS kept_sketches
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
DECLARE
    found_live kept_sketches;
BEGIN
    IF name IS NULL THEN
        RAISE null_value_not_allowed USING MESSAGE = 'name must not be NULL';
    END IF;
    SELECT * INTO found_live FROM kept_sketches l WHERE l.name = $1;
    IF NOT FOUND OR NOT may_read_live(found_live) THEN
        RAISE undefined_object USING MESSAGE = format('live sketch "%s" does not exist', name),
            HINT = 'Make one with keep_sketch. Roles that may read the columns of its table may read a live sketch.';
    END IF;
    RETURN found_live;
END
$$;

-- A model's live sketch goes; one of a table that is another role's by now stays with that role.
CREATE FUNCTION fastclust_internal.end_model_live(model_id bigint) RETURNS void
    LANGUAGE fastclust_owner SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
DECLARE
    held stored_models := held_model(model_id);
BEGIN
    PERFORM forget_live(l.id) FROM kept_sketches l WHERE l.model_id = held.id AND owns_relation(l.relation);
    UPDATE kept_sketches l SET model_id = NULL WHERE l.model_id = held.id;
END
$$;

-- A new live sketch without rows, or one that live_of_rows has found for a model and that has its spec.  Who has no right to the table, or meets a name in
-- the making, does not wait.
CREATE FUNCTION fastclust_internal.claim_live(live kept_sketches) RETURNS kept_sketches
    LANGUAGE fastclust_owner SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
DECLARE
    held stored_models;
    made kept_sketches;
BEGIN
    PERFORM reject_read_only('live sketches cannot be made or changed'), check_execute(CASE WHEN live.model_id IS NULL THEN 'keep_sketch' ELSE 'train' END);
    IF NOT owns_relation(live.relation) THEN
        RAISE insufficient_privilege USING MESSAGE = format('must be owner of %s', live.relation);
    END IF;
    IF live.columns @> array_remove(live.features || live.group_by || live.bucket, NULL) IS NOT TRUE THEN
        RAISE invalid_parameter_value USING MESSAGE = format('live sketch "%s" is not one that keep_sketch has checked', live.name);
    END IF;
    IF live.model_id IS NOT NULL THEN
        held := held_model(live.model_id);
        PERFORM check_model_follows(held, live.relation);
        IF EXISTS (SELECT FROM kept_sketches l WHERE l.model_id = live.model_id) THEN
            RAISE duplicate_object USING MESSAGE = format('model "%s" has a live sketch already', held.model),
                HINT = 'Retrain the model: that makes one that fits it, in place of the old one.';
        END IF;
    END IF;
    IF live.id IS NOT NULL AND live.model_id IS NOT NULL THEN
        UPDATE kept_sketches l SET model_id = live.model_id WHERE l.id = live.id AND l.relation = live.relation AND l.model_id IS NULL RETURNING l.* INTO made;
        RETURN made;
    END IF;
    IF NOT lock_name(hashtext(live.name), true, false) OR EXISTS (SELECT FROM kept_sketches l WHERE l.name = live.name) THEN
        IF live.model_id IS NULL THEN
            RAISE duplicate_object USING MESSAGE = format('live sketch "%s" exists already', live.name),
                HINT = 'Choose another name, or drop_sketch first.';
        END IF;
        live.name := format('%s %s', live.name, gen_random_uuid());     -- nobody stops a training by a name
    END IF;
    -- its expressions are read with the rights of the owner of the extension
    live.condition := (live_expressions(live, live.relation)).filter;
    live.id := nextval('kept_sketches_id_seq');
    live.created_at := now();
    live.counting := live.counting IS TRUE;
    INSERT INTO kept_sketches SELECT live.*;
    RETURN live;
END
$$;

-- The rows of live_deltas of a leaf that the caller's query sees, by their places.
CREATE FUNCTION fastclust_internal.open_deltas(live_id bigint, leaf regclass) RETURNS tid[]
    LANGUAGE fastclust_owner STABLE PARALLEL RESTRICTED SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
BEGIN
    RETURN ARRAY(SELECT d.ctid FROM live_deltas d JOIN kept_sketches l ON l.id = d.live_id WHERE d.live_id = $1 AND d.leaf = $2 AND may_read_live(l));
END
$$;

-- Stores the counts of a scan of a leaf: the deltas seen with it, and the sketches.
CREATE TYPE fastclust_internal.live_count AS (deltas tid[], parts live_part[]);

-- A new base of a leaf in place of the old one and of the deltas that were seen with it.
CREATE FUNCTION fastclust_internal.write_leaf(live_id bigint, leaf regclass, counted live_count) RETURNS void
    LANGUAGE fastclust_owner SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
DECLARE
    live kept_sketches;
    longest integer := (SELECT max(octet_length(p.group_value)) FROM unnest(counted.parts) p);
BEGIN
    SELECT * INTO live FROM kept_sketches l WHERE l.id = $1;
    IF live.id IS NULL OR NOT owns_relation(live.relation) THEN
        RAISE insufficient_privilege USING MESSAGE = 'must be owner of the table of the live sketch';
    ELSIF NOT EXISTS (SELECT FROM live_tables(live.relation) t WHERE t.id = leaf AND t.is_leaf) THEN
        RAISE invalid_parameter_value USING MESSAGE = format('table %s is no leaf of live sketch "%s"', leaf, live.name);
    END IF;
    IF EXISTS (SELECT FROM unnest(counted.parts) p WHERE NOT is_live_part(p.s, p.counts, live.spec, live.drift_spec)) THEN
        RAISE data_exception USING MESSAGE = format('sketch and counts were not made with the specs of live sketch "%s"', live.name);
    ELSIF longest > 2000 THEN
        RAISE program_limit_exceeded USING MESSAGE = format('a group of live sketch "%s" has %s bytes', live.name, longest), DETAIL = 'It may have up to 2000 bytes.';
    END IF;
    DELETE FROM live_deltas d WHERE d.ctid = ANY (counted.deltas) AND d.live_id = $1 AND d.leaf = $2;
    DELETE FROM live_bases b WHERE b.live_id = $1 AND b.leaf = $2;
    DELETE FROM live_leaves v WHERE v.live_id = $1 AND v.leaf = $2;
    INSERT INTO live_leaves (live_id, leaf, names, columns, types, typmods, counted_at)
        SELECT live.id, leaf, live.columns, '{}', array_agg(a.atttypid::regtype ORDER BY u.i), array_agg(a.atttypmod ORDER BY u.i), now()
          FROM unnest(live.columns) WITH ORDINALITY u(name, i) JOIN pg_attribute a ON a.attrelid = $2 AND a.attname = u.name;
    INSERT INTO live_bases (live_id, leaf, group_value, bucket, s, counts) SELECT live.id, $2, p.group_value, p.bucket, p.s, p.counts FROM unnest(counted.parts) p;
END
$$;

-- Before all rows are counted anew: tables that are gone from the tree are counted no more, and fold_live forgets what was counted of them.
CREATE FUNCTION fastclust_internal.forget_leaves(name text) RETURNS void
    LANGUAGE fastclust_owner SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
DECLARE
    live kept_sketches := held_live(name);
BEGIN
    DELETE FROM live_leaves v WHERE v.live_id = live.id AND v.leaf NOT IN (SELECT t.id FROM live_tables(live.relation) t WHERE t.is_leaf);
    UPDATE kept_sketches l SET folded_at = NULL, checked_at = NULL, differences = NULL, counting = false WHERE l.id = live.id;
END
$$;

-- internal: all of a live sketch, with its triggers, whoever asks.
CREATE FUNCTION fastclust_internal.forget_live(live_id bigint) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
BEGIN
    PERFORM set_live_triggers(live_id, NULL, false);
    DELETE FROM live_deltas d WHERE d.live_id = $1;
    DELETE FROM live_bases b WHERE b.live_id = $1;
    DELETE FROM live_leaves v WHERE v.live_id = $1;
    DELETE FROM kept_sketches l WHERE l.id = $1;
END
$$;

-- live sketches: deltas folded into bases

-- Merges deltas into the bases.  The session that holds the live sketch folds it alone; writers go on, and uncommitted deltas stay.
CREATE FUNCTION fastclust_internal.fold_live(live_id bigint) RETURNS bigint
    LANGUAGE plpgsql SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp SET plan_cache_mode = force_generic_plan SET enable_seqscan = off AS $$
DECLARE
    live kept_sketches;
    folded bigint;
BEGIN
    SELECT * INTO live FROM kept_sketches l WHERE l.id = live_id AND NOT l.counting FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN 0;
    END IF;
    -- leaves that were dropped
    DELETE FROM live_bases b WHERE b.live_id = live.id AND NOT EXISTS (SELECT FROM live_leaves v WHERE v.live_id = b.live_id AND v.leaf = b.leaf);
    DELETE FROM live_deltas d WHERE d.live_id = live.id AND NOT EXISTS (SELECT FROM live_leaves v WHERE v.live_id = d.live_id AND v.leaf = d.leaf);
    WITH gone AS (DELETE FROM live_deltas d WHERE d.live_id = live.id AND d.lost IS NULL RETURNING d.*),
    changed AS (
        SELECT g.leaf, COALESCE(g.group_value, '') AS group_value, COALESCE(g.bucket, '-infinity') AS bucket,
               live_sum_agg(live.spec, g.added_rows, g.added) AS added, live_sum_agg(live.spec, g.removed_rows, g.removed) AS removed,
               live_count_agg(live.drift_spec, g.added_rows, g.added_counts) AS added_counts, live_count_agg(live.drift_spec, g.removed_rows, g.removed_counts) AS removed_counts
          FROM gone g GROUP BY 1, 2, 3),
    now AS (
        SELECT c.leaf, c.group_value, c.bucket, live_difference(CASE WHEN b.s IS NULL THEN c.added WHEN c.added IS NULL THEN b.s ELSE b.s + c.added END, c.removed) AS s,
               changed_drift_counts(b.counts, c.added_counts, c.removed_counts) AS counts
          FROM changed c LEFT JOIN live_bases b ON b.live_id = live.id AND b.leaf = c.leaf AND b.group_value = c.group_value AND b.bucket = c.bucket),
    emptied AS (
        DELETE FROM live_bases b USING now n WHERE n.s IS NULL AND b.live_id = live.id AND b.leaf = n.leaf AND b.group_value = n.group_value AND b.bucket = n.bucket),
    written AS (
        INSERT INTO live_bases AS b (live_id, leaf, group_value, bucket, s, counts)
            SELECT live.id, n.leaf, n.group_value, n.bucket, n.s, n.counts FROM now n WHERE n.s IS NOT NULL
            ON CONFLICT ON CONSTRAINT live_bases_pkey DO UPDATE SET s = EXCLUDED.s, counts = EXCLUDED.counts)
    SELECT count(*) INTO folded FROM gone;
    IF folded > 0 THEN
        UPDATE kept_sketches l SET folded_at = clock_timestamp() WHERE l.id = live.id;
    END IF;
    RETURN folded;
END
$$;

CREATE FUNCTION fold_sketches(name text DEFAULT NULL) RETURNS bigint
    LANGUAGE fastclust_owner SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
DECLARE
    live kept_sketches;
    folded bigint := 0;
BEGIN
    PERFORM reject_read_only('live sketches cannot be made or changed');
    IF name IS NOT NULL THEN
        live := readable_live(name);
        IF NOT owns_relation(live.relation) THEN
            RAISE insufficient_privilege USING MESSAGE = format('live sketch "%s" belongs to the owner of %s', name, live.relation);
        END IF;
        RETURN fold_live(live.id);
    END IF;
    FOR live IN SELECT * FROM kept_sketches l WHERE owns_relation(l.relation) ORDER BY l.id LOOP
        -- one that cannot be folded is its owner's trouble, not that of the others
        BEGIN
            folded := folded + fold_live(live.id);
        EXCEPTION WHEN OTHERS THEN
            RAISE WARNING USING MESSAGE = format('live sketch "%s" cannot be folded: %s', live.name, SQLERRM), HINT = 'Recount it with rebuild_sketch.';
        END;
    END LOOP;
    RETURN folded;
END
$$;
COMMENT ON FUNCTION fold_sketches(text) IS 'merge the pending changes into the stored sketches of one live sketch, or of all that the caller owns; returns the number of changes';

-- live sketches: keep_sketch

-- An option that is a span of time of one length, whatever the calendar says; NULL: not given.
CREATE FUNCTION fastclust_internal.span_option(options jsonb, option text) RETURNS interval
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
DECLARE
    result interval;
BEGIN
    BEGIN
        result := (options ->> option)::interval;
    EXCEPTION WHEN OTHERS THEN
        RAISE invalid_parameter_value USING MESSAGE = format('option "%s" is "%s", not an interval', option, options ->> option);
    END;
    IF extract(year FROM result) <> 0 OR extract(month FROM result) <> 0 OR result <= '0' OR result > '100000000 days' THEN
        RAISE invalid_parameter_value USING MESSAGE = format('option "%s" is "%s", out of range', option, options ->> option),
            DETAIL = 'It is a number of days, hours, minutes or seconds, above 0 and up to 100000000 days.';
    END IF;
    RETURN result;
END
$$;

-- Checks the columns that split the rows of a live sketch; how long buckets are: days, or an eighth of a half-life where that is less.
CREATE FUNCTION fastclust_internal.live_bucket_width(relation regclass, group_by name, options jsonb) RETURNS interval
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
DECLARE
    group_is regtype := feature_type(relation, group_by);
    bucket name := options ->> 'bucket';
    bucket_is regtype := feature_type(relation, bucket);
    half_life interval := span_option(options, 'half_life');
    width interval := span_option(options, 'bucket_width');
    idle text := CASE WHEN bucket IS NOT NULL THEN NULL WHEN half_life IS NOT NULL THEN 'half_life' WHEN width IS NOT NULL THEN 'bucket_width' END;
BEGIN
    -- the text of these does not depend on settings, or on who may rename objects
    IF group_is <> ALL ('{text,varchar,bpchar,name,smallint,integer,bigint,numeric,boolean,uuid}'::regtype[]) THEN
        RAISE feature_not_supported USING MESSAGE = format('a live sketch cannot be grouped by column "%s" of type %s', group_by, group_is),
            HINT = 'Group by text, whole numbers, booleans or uuid; times go into buckets.';
    ELSIF idle IS NOT NULL THEN
        RAISE invalid_parameter_value USING MESSAGE = format('option "%s" needs option "bucket", a column of times', idle);
    ELSIF bucket_is <> ALL ('{date,timestamp,timestamptz}'::regtype[]) THEN
        RAISE datatype_mismatch USING MESSAGE = format('column "%s" of %s is of type %s, not a time', bucket, relation, bucket_is),
            HINT = 'Buckets are of a date, a timestamp or a timestamptz.';
    END IF;
    RETURN CASE WHEN bucket IS NOT NULL THEN COALESCE(width, greatest(least('1 day', half_life / 8), '1 microsecond')) END;
END
$$;

-- Checks the arguments of keep_sketch and returns the live sketch they describe.
CREATE FUNCTION fastclust_internal.asked_live(name text, relation regclass, features name[], vector boolean, spec sketch_spec, options jsonb) RETURNS kept_sketches
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
DECLARE
    live kept_sketches;
    source record;
BEGIN
    PERFORM check_training_options(options, 'keep_sketch');
    IF COALESCE(name, '') = '' THEN
        RAISE invalid_parameter_value USING MESSAGE = 'name must not be NULL or empty';
    ELSIF relation IS NULL OR spec IS NULL THEN
        RAISE null_value_not_allowed USING MESSAGE = format('%s must not be NULL', CASE WHEN relation IS NULL THEN 'relation' ELSE 'spec' END);
    ELSIF (SELECT c.relkind NOT IN ('r', 'p') FROM pg_class c WHERE c.oid = relation) THEN
        RAISE wrong_object_type USING MESSAGE = format('%s is not a table', relation), HINT = 'A live sketch follows a table, plain or partitioned.';
    END IF;
    live.encoder := options ->> 'encoder';
    source := row_expressions(relation, features, vector, options ->> 'group_by', live.encoder, options ->> 'where');
    IF cardinality(features) > (SELECT count(DISTINCT f) FROM unnest(features) f) THEN
        RAISE duplicate_column USING MESSAGE = format('column "%s" is named twice', (SELECT f FROM unnest(features) f GROUP BY f HAVING count(*) > 1 ORDER BY f LIMIT 1));
    ELSIF source.vector AND live.encoder IS NOT NULL THEN
        RAISE invalid_parameter_value USING MESSAGE = format('option "encoder" is for a list of columns, not for the vectors of column "%s"', features[1]);
    ELSIF NOT source.vector AND source.dimensions IS NULL THEN
        RAISE datatype_mismatch USING MESSAGE = format('not all features of %s are numbers', relation),
            HINT = 'Give an encoder: {"encoder": ...}, its text form, or train a model with the option live.';
    END IF;
    live.name := name;
    live.relation := relation;
    live.features := features;
    live.vector := source.vector;
    live.spec := without_pilot_rows(spec, COALESCE(source.dimensions, 0));     -- else each row written later would be an error
    live.group_by := options ->> 'group_by';
    live.bucket := options ->> 'bucket';
    live.counting := flag_option(options, 'concurrently', false);
    live.bucket_width := live_bucket_width(relation, live.group_by, options);
    live.half_life := span_option(options, 'half_life');
    live.condition := source.condition;
    live.columns := ARRAY(SELECT DISTINCT u.column_name COLLATE "C" FROM unnest(features || live.group_by || live.bucket || source.columns) u(column_name)
                           WHERE u.column_name IS NOT NULL ORDER BY 1);
    RETURN live;
END
$$;

-- Rows must be seen as of now, not as of the begin of the transaction.
CREATE FUNCTION fastclust_internal.check_live_isolation(name text) RETURNS void
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
        RAISE active_sql_transaction USING MESSAGE = format('live sketch "%s" cannot be counted in a transaction of isolation level %s', name, current_setting('transaction_isolation')),
            HINT = 'Use READ COMMITTED, which sees rows that others have committed.';
    END IF;
END
$$;

-- A table and its parts whose every change fires triggers, and outlives the session that made it.
CREATE FUNCTION fastclust_internal.check_live_tables(live kept_sketches) RETURNS void
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
DECLARE
    part record;
    keeper text;    -- of rows that are not all in the table itself
    reason text;
BEGIN
    FOR part IN SELECT c.oid::regclass AS id, c.* FROM live_tables(live.relation) t JOIN pg_class c ON c.oid = t.id LOOP
        -- of distributed tables, reference tables, and local ones that Citus manages
        keeper := NULL;
        IF to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL THEN
            EXECUTE 'SELECT ''citus'' FROM pg_catalog.pg_dist_partition p WHERE p.logicalrelid = $1' INTO keeper USING part.id;
        END IF;
        -- of hypertables and their chunks, by a catalog that is read only where the extension itself made it
        IF keeper IS NULL AND
           (SELECT count(*) = 2 FROM pg_depend d JOIN pg_extension e ON e.oid = d.refobjid AND e.extname = 'timescaledb'
             WHERE d.deptype = 'e' AND d.refclassid = 'pg_extension'::regclass AND d.classid = 'pg_class'::regclass
               AND d.objid IN (to_regclass('_timescaledb_catalog.hypertable'), to_regclass('_timescaledb_catalog.chunk'))) THEN
            EXECUTE 'SELECT ''timescaledb'' FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace'
                    '  JOIN (SELECT schema_name, table_name FROM _timescaledb_catalog.hypertable UNION ALL SELECT schema_name, table_name FROM _timescaledb_catalog.chunk) t'
                    '    ON t.schema_name = n.nspname AND t.table_name = c.relname WHERE c.oid = $1' INTO keeper USING part.id;
        END IF;
        reason := CASE WHEN part.relkind NOT IN ('r', 'p') THEN 'It is not a table of this server.'
                       WHEN part.relnamespace = 'pg_catalog'::regnamespace THEN 'It is a catalog of the server.'
                       WHEN EXISTS (SELECT FROM pg_depend d JOIN pg_extension e ON e.oid = d.refobjid AND e.extname = 'fastclust'
                                     WHERE d.deptype = 'e' AND d.refclassid = 'pg_extension'::regclass AND d.classid = 'pg_class'::regclass AND d.objid = part.id)
                           THEN 'It is a table of fastclust itself.'
                       WHEN keeper = 'citus' THEN 'Its rows are in shards of Citus, where statements fire none of its triggers.'
                       WHEN keeper = 'timescaledb' THEN 'It is a hypertable of TimescaleDB, or a chunk of one.'
                       WHEN part.relpersistence = 't' THEN 'It is a temporary table.'
                       WHEN part.relpersistence = 'u' THEN 'It is unlogged: a crash empties it.'
                       WHEN row_security_active(part.id) THEN 'Row-level security hides rows of it from its owner.'
                       WHEN EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = part.id AND a.attname = ANY (live.columns) AND a.attgenerated = 'v')
                           THEN 'A virtual column is not there when a row is written.' END;
        IF reason IS NOT NULL THEN
            RAISE feature_not_supported USING MESSAGE = format('%s cannot be followed by a live sketch', part.id), DETAIL = reason,
                HINT = CASE WHEN keeper = 'timescaledb'
                            THEN 'Keep sketch_agg of each bucket in a continuous aggregate, and read merge_agg of it.'
                            WHEN part.relkind NOT IN ('r', 'p') OR keeper = 'citus'
                            THEN 'Keep a table with a sketch_agg of each hour or day, renew what changed, and read merge_agg of it.'
                            ELSE 'A live sketch follows a logged table that shows its owner all rows.' END;
        END IF;
    END LOOP;
END
$$;

-- Whoever is not the owner of the table did not choose its code: see check_stored_scan.
CREATE FUNCTION fastclust_internal.check_live_scan(live kept_sketches, relation regclass) RETURNS void
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
DECLARE
    owner name := (SELECT pg_get_userbyid(c.relowner) FROM pg_class c WHERE c.oid = relation);
    problem text := CASE WHEN owner <> current_user OR (SELECT r.rolsuper FROM pg_roles r WHERE r.rolname = current_user)
                         THEN scan_problem(relation, live.columns) END;
BEGIN
    IF problem IS NOT NULL THEN
        RAISE insufficient_privilege USING MESSAGE = format('live sketch "%s" cannot be counted by %s', live.name, current_user),
            DETAIL = upper(left(problem, 1)) || substr(problem, 2) || '.', HINT = format('SET ROLE %I first.', owner);
    ELSIF row_security_active(relation) THEN
        RAISE feature_not_supported USING MESSAGE = format('live sketch "%s" cannot be counted by %s', live.name, current_user),
            DETAIL = format('Row-level security hides rows of %s.', relation), HINT = 'Triggers count all rows: NO FORCE ROW LEVEL SECURITY shows them to the owner.';
    END IF;
END
$$;

-- Count the rows of a leaf.  One query sees them and the deltas that tell of them; writers need not wait.
CREATE FUNCTION fastclust_internal.count_leaf(live kept_sketches, leaf regclass) RETURNS bigint
    LANGUAGE plpgsql SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp
    SET datestyle = iso SET intervalstyle = postgres SET extra_float_digits = 1 SET timezone = 'UTC' SET row_security = off AS $$
DECLARE
    counted live_count;
BEGIN
    EXECUTE format('SELECT open_deltas($3, $4), array_agg(ROW(q.*)::live_part) FROM (%s) q', live_scan(live, leaf, true)) INTO counted USING live.spec, live.drift_spec, live.id, leaf;
    PERFORM write_leaf(live.id, leaf, counted);
    RETURN (SELECT COALESCE(sum(row_count(p.s)), 0) FROM unnest(counted.parts) p);
END
$$;

-- Count all rows, with new triggers first where it has none.
CREATE FUNCTION fastclust_internal.count_live(live kept_sketches, with_triggers boolean) RETURNS bigint
    LANGUAGE plpgsql SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
BEGIN
    IF with_triggers THEN
        PERFORM set_live_triggers(live.id, NULL, false);
        PERFORM set_live_triggers(live.id, t.id, true) FROM live_tables(live.relation) t;
    END IF;
    RETURN (SELECT COALESCE(sum(count_leaf(live, t.id)), 0) FROM live_tables(live.relation) t WHERE t.is_leaf);
END
$$;

-- Lock out writers without letting them wait for long behind another's transaction.
CREATE FUNCTION fastclust_internal.lock_briefly(relation regclass) RETURNS void
    LANGUAGE plpgsql STRICT SET search_path = pg_catalog, pg_temp SET lock_timeout = '50ms' AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_class c WHERE c.oid = relation) THEN
        RAISE undefined_table USING MESSAGE = format('relation with OID %s does not exist', relation::oid);
    END IF;
    LOOP
        BEGIN
            EXECUTE format('LOCK TABLE %s IN SHARE ROW EXCLUSIVE MODE', relation);
            RETURN;
        EXCEPTION WHEN lock_not_available THEN
            PERFORM pg_sleep(0.1);
        END;
    END LOOP;
END
$$;

CREATE FUNCTION fastclust_internal.keep_live(asked kept_sketches) RETURNS bigint
    LANGUAGE plpgsql SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
DECLARE
    live kept_sketches;
    about float8;
BEGIN
    PERFORM reject_read_only('live sketches cannot be made or changed'), check_live_isolation(asked.name);
    IF NOT owns_relation(asked.relation) THEN
        RAISE insufficient_privilege USING MESSAGE = format('must be owner of %s', asked.relation);
    END IF;
    IF asked.id IS NOT NULL THEN
        PERFORM claim_live(asked);
        RETURN NULL;
    ELSIF asked.counting THEN
        -- all that takes time comes before the lock, the reading of functions too
        PERFORM check_live_tables(asked);
        live := claim_live(asked);
        PERFORM set_live_triggers(live.id, t.id, false), CASE WHEN t.is_leaf THEN write_leaf(live.id, t.id, NULL) END FROM live_tables(live.relation) t;
        PERFORM lock_briefly(asked.relation);
        PERFORM set_live_triggers(live.id, t.id, true) FROM live_tables(live.relation) t;
        RETURN NULL;
    END IF;
    about := estimated_rows(asked.relation);
    IF about >= 1e6 THEN
        RAISE NOTICE USING MESSAGE = format('writers of %s wait until about %s million rows are counted', asked.relation, round(about / 1e6)),
            HINT = 'keep_sketch with the option {"concurrently": true}, then rebuild_sketch, counts beside them.';
    END IF;
    EXECUTE format('LOCK TABLE %s IN SHARE ROW EXCLUSIVE MODE', asked.relation);
    PERFORM check_live_tables(asked);
    RETURN count_live(claim_live(asked), true);
END
$$;

CREATE FUNCTION keep_sketch(name text, relation regclass, features text, spec sketch_spec, options jsonb DEFAULT '{}') RETURNS bigint
    LANGUAGE fastclust SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
BEGIN
    RETURN keep_live(asked_live(name, relation, CASE WHEN features LIKE '{%' THEN features::name[] ELSE ARRAY[features::name] END, CASE WHEN features LIKE '{%' THEN false END, spec, options));
END
$$;
COMMENT ON FUNCTION keep_sketch(text, regclass, text, sketch_spec, jsonb) IS 'make a sketch of a column of vectors or numbers, or of a list of columns, that follows every change of its table; returns the number of rows, NULL if rebuild_sketch will count them';

CREATE FUNCTION keep_sketch(name text, relation regclass, features name[], spec sketch_spec, options jsonb DEFAULT '{}') RETURNS bigint
    LANGUAGE fastclust SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
BEGIN
    RETURN keep_live(asked_live(name, relation, features, false, spec, options));
END
$$;
COMMENT ON FUNCTION keep_sketch(text, regclass, name[], sketch_spec, jsonb) IS 'make a sketch of columns that follows every change of their table; returns the number of rows, NULL if rebuild_sketch will count them';

-- live sketches and DDL: leaves that come are counted, values that change past the triggers are lost, and tables that are dropped are forgotten
--
-- Who issues DDL need not have any right to the extension.  The event triggers return at once where no live sketch was made since their table was last
-- vacuumed; no snapshot is asked, since those count that others have not committed.  They are in PL/pgSQL and ask the module about followed tables alone:
-- other DDL works where its file is gone.

CREATE FUNCTION fastclust_internal.ddl_parts(command pg_ddl_command, OUT adds boolean, OUT column_name text, OUT loss text) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_ddl_parts' LANGUAGE C STRICT;

-- A statement changed values past the triggers: of a column, of a table, or of columns of an enum whose labels it changed.  A table that is dropped takes
-- its live sketches with it, whoever drops it.
CREATE FUNCTION fastclust_internal.live_ddl() RETURNS event_trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp SET quote_all_identifiers = off AS $$
DECLARE
    altered oid[];    -- tables, and those below them
    of_type oid[];    -- types, and the arrays, composites and domains of them
BEGIN
    IF pg_relation_size('kept_sketches') = 0 THEN
        RETURN;
    ELSIF TG_EVENT = 'sql_drop' THEN
        PERFORM forget_live(l.id) FROM pg_event_trigger_dropped_objects() o JOIN kept_sketches l ON l.relation = o.objid
          WHERE o.classid = 'pg_class'::regclass AND o.objsubid = 0;
        DELETE FROM live_leaves v USING pg_event_trigger_dropped_objects() o WHERE o.classid = 'pg_class'::regclass AND v.leaf = o.objid AND o.objsubid = 0;
        RETURN;
    END IF;
    altered := ARRAY(WITH RECURSIVE below(id) AS (SELECT c.objid FROM pg_event_trigger_ddl_commands() c WHERE c.classid = 'pg_class'::regclass
                                                 UNION SELECT i.inhrelid FROM below b JOIN pg_inherits i ON i.inhparent = b.id) SELECT b.id FROM below b);
    of_type := ARRAY(WITH RECURSIVE around(id) AS (SELECT c.objid FROM pg_event_trigger_ddl_commands() c WHERE c.classid = 'pg_type'::regclass
                                                 UNION SELECT t.oid FROM around a JOIN pg_type t ON a.id IN (t.typbasetype, t.typelem)
                                                                   OR EXISTS (SELECT FROM pg_attribute c WHERE c.attrelid = t.typrelid AND c.atttypid = a.id)) SELECT a.id FROM around a);
    IF EXISTS (SELECT FROM live_leaves v WHERE v.leaf = ANY (altered) OR v.types::oid[] && of_type) THEN
        INSERT INTO live_deltas (live_id, leaf, lost)
            SELECT v.live_id, v.leaf, CASE WHEN c.classid = 'pg_type'::regclass THEN format('type %s %s', c.objid::regtype, p.loss)
                                           WHEN p.column_name IS NULL THEN format('table %s %s', v.leaf, p.loss)
                                           ELSE format('column "%s" of %s %s', p.column_name, v.leaf, p.loss) END
              FROM pg_event_trigger_ddl_commands() c, LATERAL (SELECT DISTINCT d.column_name, d.loss FROM ddl_parts(c.command) d) p, live_leaves v
             WHERE p.loss IS NOT NULL AND CASE c.classid WHEN 'pg_type'::regclass THEN v.types::oid[] && of_type
                                          ELSE v.leaf = ANY (altered) AND (p.column_name IS NULL OR p.column_name = ANY (v.names)) END;
    END IF;
END
$$;

-- Count the leaves that the statement added to tables of the caller's; outside of an event trigger it is an error.
CREATE FUNCTION fastclust_internal.follow_leaves(live_ids bigint[]) RETURNS void
    LANGUAGE fastclust SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
DECLARE
    added record;
    live kept_sketches;
BEGIN
    FOR added IN SELECT l AS live, t.id::regclass AS leaf, t.is_leaf FROM own_live_sketches l, live_tables(l.relation) t
                  WHERE l.id = ANY (live_ids) AND EXISTS (SELECT FROM pg_event_trigger_ddl_commands() c, ddl_parts(c.command) p WHERE p.adds)
                    AND NOT EXISTS (SELECT FROM own_live_leaves v WHERE v.live_id = l.id AND v.leaf = t.id)
                    AND (t.is_leaf OR NOT EXISTS (SELECT FROM pg_trigger g WHERE g.tgrelid = t.id AND g.tgname = format('fastclust_live_%s_statement', l.id)))
                  ORDER BY l.id, t.id LOOP
        live := added.live;
        BEGIN
            PERFORM check_live_isolation(live.name), check_live_tables(live), check_live_scan(live, added.leaf);
            PERFORM set_live_triggers(live.id, added.leaf, true);
            PERFORM count_leaf(live, added.leaf) WHERE added.is_leaf;
        EXCEPTION WHEN OTHERS THEN
            RAISE WARNING USING MESSAGE = format('live sketch "%s" has lost its table', live.name),
                DETAIL = format('Table %s is not counted: %s.', added.leaf, SQLERRM), HINT = 'Recount it with rebuild_sketch.';
        END;
    END LOOP;
END
$$;

CREATE FUNCTION fastclust_internal.live_added() RETURNS event_trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    live_ids bigint[];
BEGIN
    IF EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_proc p ON p.pronamespace = n.oid AND p.proname = 'follow_leaves'
                 JOIN pg_class v ON v.relnamespace = n.oid AND v.relname = 'own_live_sketches'
                WHERE n.nspname = 'fastclust_internal' AND c.relname = 'kept_sketches' AND pg_relation_size(c.oid) > 0
                  AND has_schema_privilege(n.oid, 'USAGE') AND has_schema_privilege('fastclust', 'USAGE') AND has_function_privilege(p.oid, 'EXECUTE')
                  AND has_table_privilege(v.oid, 'SELECT')) THEN
        live_ids := ARRAY(WITH RECURSIVE above AS (SELECT c.objid AS id FROM pg_event_trigger_ddl_commands() c WHERE c.classid = 'pg_class'::regclass
                                                   UNION SELECT i.inhparent FROM pg_inherits i JOIN above ON i.inhrelid = above.id)
                          SELECT l.id FROM fastclust_internal.own_live_sketches l WHERE l.relation IN (SELECT above.id FROM above));
        PERFORM fastclust_internal.follow_leaves(live_ids) WHERE live_ids <> '{}';
    END IF;
END
$$;

CREATE EVENT TRIGGER fastclust_live_added ON ddl_command_end
    WHEN TAG IN ('CREATE TABLE', 'ALTER TABLE', 'CREATE FOREIGN TABLE', 'ALTER FOREIGN TABLE', 'CREATE SCHEMA') EXECUTE FUNCTION live_added();
CREATE EVENT TRIGGER fastclust_live_altered ON ddl_command_end
    WHEN TAG IN ('ALTER TABLE', 'ALTER FOREIGN TABLE', 'ALTER TYPE') EXECUTE FUNCTION live_ddl();
CREATE EVENT TRIGGER fastclust_live_dropped ON sql_drop EXECUTE FUNCTION live_ddl();

-- They run from the first: enabling them with the first live sketch would wait for another role's uncommitted first.
ALTER EVENT TRIGGER fastclust_live_added ENABLE ALWAYS;      -- as the triggers of the tables are
ALTER EVENT TRIGGER fastclust_live_altered ENABLE ALWAYS;
ALTER EVENT TRIGGER fastclust_live_dropped ENABLE ALWAYS;

-- live sketches: the sketch of now

-- Why a live sketch is not that of its table any more; NULL: it is.  Deltas are found by their index, whatever the planner knows of live_deltas: most
-- of them may be another's.
CREATE FUNCTION fastclust_internal.sketch_problem(name text) RETURNS text
    LANGUAGE fastclust_owner STABLE SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp SET enable_seqscan = off AS $$
DECLARE
    live kept_sketches := (SELECT l FROM kept_sketches l WHERE l.name = $1 AND may_read_live(l));
BEGIN
    RETURN CASE WHEN live.id IS NULL THEN NULL
                WHEN NOT EXISTS (SELECT FROM pg_class c WHERE c.oid = live.relation) THEN 'the table is no more'
                WHEN live_pending(live.id) THEN 'changes of this transaction are counted at its end, or at that of the statement'
                ELSE (SELECT p.problem FROM live_tables(live.relation) t JOIN pg_class c ON c.oid = t.id LEFT JOIN live_leaves v ON v.live_id = live.id AND v.leaf = c.oid,
                      LATERAL (SELECT CASE WHEN c.relkind <> 'r' THEN format('table %s is foreign', c.oid::regclass)
                                           WHEN v.leaf IS NULL THEN format('table %s is not counted', c.oid::regclass)
                                           WHEN c.relpersistence <> 'p' THEN format('table %s is not logged', c.oid::regclass)
                                           ELSE COALESCE(v.lost, column_problem(v),
                                                (SELECT CASE WHEN count(*) < 3 THEN format('triggers of %s were dropped', c.oid::regclass)
                                                             WHEN NOT bool_and(g.tgenabled = 'A' AND g.tgqual IS NULL AND g.tgattr = '') THEN format('triggers of %s were disabled', c.oid::regclass) END
                                                   FROM pg_trigger g JOIN (VALUES ('rows', 29), ('statement', 28), ('truncate', 34)) k(name, events)
                                                                       ON g.tgname = format('fastclust_live_%s_%s', live.id, k.name) AND g.tgtype = k.events
                                                  WHERE g.tgrelid = c.oid AND g.tgfoid = 'live_change()'::regprocedure),
                                                (SELECT d.lost FROM live_deltas d WHERE d.live_id = live.id AND d.leaf = c.oid AND d.lost IS NOT NULL LIMIT 1)) END) p(problem)
                       WHERE t.is_leaf AND p.problem IS NOT NULL ORDER BY t.id LIMIT 1) END;
END
$$;

-- The sketches of now, of those groups and buckets that have rows; checked: an error where they are not those of the table.  TRUNCATE and ATTACH are not
-- bound to snapshots: a scan under an older one sees other rows than the sketch has.
CREATE FUNCTION fastclust_internal.live_parts(name text, checked boolean DEFAULT true) RETURNS SETOF live_part
    LANGUAGE fastclust_owner STABLE ROWS 100 SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
DECLARE
    live kept_sketches := readable_live(name);
    problem text := CASE WHEN checked THEN sketch_problem(name) END;
    tables oid[] := ARRAY(SELECT t.id FROM live_tables(live.relation) t ORDER BY t.id);
    changed regclass := COALESCE((SELECT c.oid FROM pg_class c WHERE c.oid = ANY (tables) AND pg_relation_filenode(c.oid) <> c.relfilenode ORDER BY 1 LIMIT 1),
                                 (SELECT COALESCE(a.id, b.id) FROM unnest(tables) a(id) FULL JOIN unnest(scanned_tables(live.relation)) b(id) USING (id)
                                   WHERE a.id IS NULL OR b.id IS NULL ORDER BY 1 LIMIT 1));
BEGIN
    IF checked AND problem IS NULL AND live.counting THEN
        RAISE object_not_in_prerequisite_state USING MESSAGE = format('live sketch "%s" is not counted yet', name), HINT = 'Count its rows with rebuild_sketch; others can write at the same time.';
    ELSIF changed IS NOT NULL THEN
        RAISE serialization_failure USING MESSAGE = format('live sketch "%s" cannot be read under this snapshot', live.name),
            DETAIL = format('Table %s was truncated, rewritten, attached or detached after it was taken.', changed), HINT = 'Read it in a new transaction.';
    ELSIF problem IS NOT NULL THEN
        RAISE object_not_in_prerequisite_state USING MESSAGE = format('live sketch "%s" has lost its table', name),
            DETAIL = upper(left(problem, 1)) || substr(problem, 2) || '.', HINT = 'Recount it with rebuild_sketch, or end it with drop_sketch.';
    END IF;
    RETURN QUERY SELECT q.* FROM (SELECT p.group_value, p.bucket, live_difference(p.added, p.removed) AS s, changed_drift_counts(NULL, p.added_counts, p.removed_counts)
                                    FROM live_sums(live.id, ARRAY(SELECT t.id FROM live_tables(live.relation) t WHERE t.is_leaf)) p) q WHERE q.s IS NOT NULL;
END
$$;

-- ---- buckets of time, weighed when they are read by 2^(-age / half-life) ----
--
-- Buckets stay sums of integers, whatever their age: rows of any time come, change and go exactly, and no weight ever overflows.  The newest
-- bucket weighs 1, which is forward decay with its landmark moved along.

CREATE FUNCTION fastclust_internal.weighted_merge(sketch, sketch, double precision) RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_weighted_merge' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE fastclust_internal.weighted_merge_agg(part sketch, weight double precision) (SFUNC = weighted_merge, STYPE = sketch, SSPACE = 16384,
    FINALFUNC = sketch_final, FINALFUNC_MODIFY = READ_ONLY);

-- Buckets of times to come are left out, but for a day in which clocks may differ.
-- Counts have no weights: they are those of the rows of two half-lives, as many as the weighted rows are worth, nearly.
CREATE FUNCTION fastclust_internal.decayed_parts(name text, half_life interval, one_group text, one_bucket timestamptz, by_group boolean,
        OUT group_value text, OUT s sketch, OUT counts drift_counts)
    RETURNS SETOF record
    LANGUAGE plpgsql STABLE ROWS 100 SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
DECLARE
    live kept_sketches := readable_live(name);
    origin CONSTANT timestamptz := '2000-01-01 00:00+00';   -- from it all times are a bigint of microseconds: the ends of the calendar are farther apart
BEGIN
    IF live.bucket IS NULL THEN
        RAISE wrong_object_type USING MESSAGE = format('live sketch "%s" has no buckets', name),
            HINT = 'Make one that has buckets with the option bucket of keep_sketch.';
    ELSIF (half_life > '0' AND half_life <= '100000000 days') IS NOT TRUE THEN
        RAISE invalid_parameter_value USING MESSAGE = format('half_life is %s, out of range', COALESCE(half_life::text, 'NULL')),
            DETAIL = 'It is above 0 and at most 100000000 days.';
    END IF;
    RETURN QUERY
        SELECT q.part, weighted_merge_agg(q.s, CASE WHEN h.half_lives <= 40 THEN power(2.0::float8, -h.half_lives) ELSE 0 END),     -- else less than the least weight
               merge_drift_counts_agg(q.counts) FILTER (WHERE a.age <= 2 * half_life)
          FROM (SELECT g.part, p.bucket, p.s, p.counts, max(p.bucket) OVER (PARTITION BY g.part) AS newest
                  FROM live_parts(decayed_parts.name) p, LATERAL (SELECT CASE WHEN by_group AND live.group_by IS NOT NULL THEN p.group_value END) g(part)
                 WHERE (one_group IS NULL OR p.group_value = one_group) AND (one_bucket IS NULL OR p.bucket = one_bucket)
                   AND isfinite(p.bucket) AND p.bucket <= now() + interval '1 day') q,
               LATERAL (SELECT justify_hours((q.newest - origin) + (origin - q.bucket)) AS age) a,
               LATERAL (SELECT extract(epoch FROM a.age)::float8 / extract(epoch FROM half_life)::float8 AS half_lives) h
         GROUP BY q.part;
END
$$;

-- The rows of now by groups, or those of the newest buckets; else with a half-life those of lately, the newest bucket of each weighing 1.  One row without groups, none without rows.
-- by_micro: by micro-clusters, in place of groups.
CREATE FUNCTION fastclust_internal.model_groups(name text, since jsonb DEFAULT NULL, by_micro boolean DEFAULT false, OUT group_value text, OUT s sketch, OUT counts drift_counts) RETURNS SETOF record
    LANGUAGE fastclust_owner STABLE ROWS 100 SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
DECLARE
    live kept_sketches := readable_live(name);
BEGIN
    IF live.half_life IS NOT NULL AND since IS NULL THEN
        RETURN QUERY SELECT d.* FROM decayed_parts(name, live.half_life, NULL, NULL, true) d ORDER BY d.group_value COLLATE "C";
    ELSE
        RETURN QUERY SELECT g.part, merge_agg(p.s), merge_drift_counts_agg(p.counts)
                       FROM (SELECT c.*, max(c.bucket) FILTER (WHERE isfinite(c.bucket) AND c.bucket <= now() + interval '1 day') OVER () AS newest FROM live_parts($1) c) p,
                            LATERAL (SELECT CASE WHEN by_micro OR live.group_by IS NOT NULL THEN p.group_value END) g(part)
                      WHERE since IS NULL OR (p.bucket <= p.newest AND p.bucket > p.newest - span_option(since, 'interval'))
                      GROUP BY 1 ORDER BY g.part COLLATE "C";
    END IF;
END
$$;

-- Checks that a group or a bucket can have rows: another value would look like one without rows.
CREATE FUNCTION fastclust_internal.check_live_part(live kept_sketches, group_value text, bucket timestamptz) RETURNS void
    LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp
    SET timezone = 'UTC' SET datestyle = iso SET intervalstyle = postgres AS $$
DECLARE
    begins timestamptz := bucket_of_time(bucket, live.bucket_width);
BEGIN
    IF group_value IS NOT NULL AND live.group_by IS NULL THEN
        RAISE wrong_object_type USING MESSAGE = format('live sketch "%s" has no groups', live.name);
    ELSIF bucket IS NOT NULL AND live.bucket IS NULL THEN
        RAISE wrong_object_type USING MESSAGE = format('live sketch "%s" has no buckets', live.name);
    ELSIF bucket <> begins THEN
        RAISE invalid_parameter_value USING MESSAGE = format('no bucket of live sketch "%s" begins at %s', live.name, bucket),
            DETAIL = format('The bucket of that time begins at %s and is %s long.', begins, live.bucket_width);
    END IF;
END
$$;

CREATE FUNCTION current_sketch(name text, group_value text DEFAULT NULL, bucket timestamptz DEFAULT NULL, half_life interval DEFAULT NULL) RETURNS sketch
    LANGUAGE fastclust_owner STABLE SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
BEGIN
    PERFORM check_live_part(readable_live(name), group_value, bucket);
    RETURN CASE WHEN half_life IS NOT NULL THEN (SELECT d.s FROM decayed_parts($1, $4, $2, $3, false) d)
                ELSE (SELECT merge_agg(p.s) FROM live_parts($1) p WHERE ($2 IS NULL OR p.group_value = $2) AND ($3 IS NULL OR p.bucket = $3)) END;
END
$$;
COMMENT ON FUNCTION current_sketch(text, text, timestamptz, interval)
    IS 'the sketch of the present rows, of one group or all, of one bucket or all; with a half-life those of a bucket so much older than the newest weigh half; reads no row';

CREATE FUNCTION current_sketches(name text, OUT group_value text, OUT bucket timestamptz, OUT s sketch) RETURNS SETOF record
    LANGUAGE fastclust_owner STABLE ROWS 100 SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
DECLARE
    live kept_sketches := readable_live(name);
BEGIN
    RETURN QUERY SELECT g.part, CASE WHEN live.bucket IS NOT NULL THEN p.bucket END, merge_agg(p.s)
                   FROM live_parts($1) p, LATERAL (SELECT CASE WHEN live.group_by IS NOT NULL THEN p.group_value END) g(part)
                  GROUP BY g.part, p.bucket ORDER BY g.part COLLATE "C", p.bucket;
END
$$;
COMMENT ON FUNCTION current_sketches(text) IS 'the present sketches, one for each group and bucket';

-- The live sketch of a model, where the caller may read it; else NULL.
CREATE FUNCTION fastclust_internal.model_live(model_id bigint) RETURNS kept_sketches
    LANGUAGE fastclust_owner STABLE SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
BEGIN
    RETURN (SELECT l FROM kept_sketches l WHERE l.model_id = $1 AND may_read_live(l));
END
$$;

-- The same where it counts the rows of a version as that was trained, and its buckets tell the window.
CREATE FUNCTION fastclust_internal.live_of_version(version stored_versions, since jsonb DEFAULT NULL) RETURNS kept_sketches
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
DECLARE
    live kept_sketches := model_live(version.model_id);
    problem text;
BEGIN
    IF live.id IS NULL OR NOT is_live_part(version.training_sketch, NULL, live.spec, NULL) OR
       live.micro_options IS DISTINCT FROM (CASE WHEN version.method = 'density' THEN jsonb_build_array(version.options -> 'micro_clusters', version.options -> 'min_cluster_rows') END)
       OR (live.drift_spec IS NOT NULL AND live.drift_spec::text IS DISTINCT FROM drift_spec_of(version)::text) OR live.features <> version.features OR live.vector <> version.vector
       OR live.encoder::text IS DISTINCT FROM version.encoder::text OR live.relation IS DISTINCT FROM COALESCE(to_regclass(version.relation),
          (SELECT live.relation FROM readable_models m JOIN readable_versions v ON v.model_id = m.id AND v.version = m.version WHERE m.id = version.model_id AND v.relation = version.relation LIMIT 1))
       OR live.bucket IS DISTINCT FROM version.options -> 'live' ->> 'bucket' OR live.half_life IS DISTINCT FROM span_option(version.options -> 'live', 'half_life')
       OR live.bucket_width <> span_option(version.options -> 'live', 'bucket_width')
       OR live.group_by IS DISTINCT FROM version.options ->> 'group_by' OR live.condition IS DISTINCT FROM version.options ->> 'where'
       OR since - 'interval' <> jsonb_build_object('column', live.bucket) THEN
        RETURN NULL;
    END IF;
    problem := sketch_problem(live.name);
    IF problem IS NOT NULL THEN
        RAISE WARNING USING MESSAGE = format('live sketch "%s" has lost its table: rows are read', live.name),
            DETAIL = upper(left(problem, 1)) || substr(problem, 2) || '.', HINT = 'Recount it with rebuild_sketch.';
    END IF;
    RETURN CASE WHEN problem IS NULL THEN live END;
END
$$;

-- The relation that the caller named, or else that of a stored version, which may have another name now: where the current version was trained on it, it is the
-- one that the live sketch follows.  Checked for the columns the version names.
CREATE FUNCTION fastclust_internal.scanned_relation(held stored_models, version stored_versions, named regclass, group_by name) RETURNS regclass
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
DECLARE
    relation regclass := COALESCE(named, to_regclass(version.relation), (SELECT (model_live(m.id)).relation
        FROM readable_models m JOIN readable_versions v ON v.model_id = m.id AND v.version = m.version WHERE m.id = version.model_id AND v.relation = version.relation LIMIT 1));
    option_columns name[];    -- that the options where and since read, with those in the keys except and baseline of the latter
BEGIN
    IF relation IS NULL THEN
        RAISE undefined_table USING MESSAGE = format('%s, which model "%s" was trained on, does not exist', version.relation, held.model),
            HINT = 'Name another table: relation => ''...'', or the option relation of retrain.';
    END IF;
    WITH RECURSIVE part(o) AS (SELECT version.options UNION ALL SELECT e FROM part, unnest(ARRAY[o -> 'since', o -> 'except', o -> 'baseline']) e WHERE jsonb_typeof(e) = 'object')
    SELECT array_agg(c.name) INTO option_columns FROM (SELECT (o ->> 'column')::name FROM part UNION ALL SELECT unnest((row_condition(relation, o ->> 'where')).columns) FROM part
                                   UNION ALL SELECT a.attname FROM part, pg_partitioned_table p JOIN pg_attribute a ON a.attrelid = p.partrelid AND a.attnum > 0
                                              WHERE o ? 'partition' AND p.partrelid = relation AND (a.attnum = ANY (p.partattrs) OR 0 = ANY (p.partattrs))) c(name);
    PERFORM check_stored_scan(held, version, relation, version.features || group_by || option_columns, named IS NOT NULL);
    RETURN relation;
END
$$;

-- The live sketches of the rows that options name, which the caller may read; those of models first.
-- ready: only the caller's own that are ready, of no model yet, and that a model of these vectors may take: its spec is then the model's.
CREATE FUNCTION fastclust_internal.live_of_rows(relation regclass, features name[], vector boolean, options jsonb, ready boolean DEFAULT false) RETURNS SETOF kept_sketches
    LANGUAGE fastclust_owner STABLE ROWS 1 SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
BEGIN
    RETURN QUERY SELECT l.* FROM kept_sketches l, describe(l.spec) d
      WHERE l.relation = $1 AND l.features = $2 AND l.vector = $3 AND (l.group_by, l.condition, l.bucket, l.half_life, l.bucket_width) IS NOT DISTINCT FROM
            (options ->> 'group_by', options ->> 'where', options -> 'live' ->> 'bucket', span_option(options -> 'live', 'half_life'), live_bucket_width($1, options ->> 'group_by', options -> 'live'))
        AND may_read_live(l)
        AND (NOT ready OR (l.model_id IS NULL AND NOT l.counting AND COALESCE(d ->> 'metric', options ->> 'metric') IS NULL AND d ->> 'law' <> 'gaussian'
                           AND d ->> 'reduced_dim' = d ->> 'dim' AND owns_relation(l.relation) AND sketch_problem(l.name) IS NULL))
      ORDER BY l.model_id IS NULL, l.id;
END
$$;

-- The rows of a live model, of all groups together.
CREATE FUNCTION fastclust_internal.model_rows(live kept_sketches, since jsonb DEFAULT NULL, OUT s sketch, OUT counts drift_counts)
    LANGUAGE sql STABLE SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
    SELECT merge_agg(g.s), merge_drift_counts_agg(g.counts) FROM model_groups(live.name, since) g
$$;

-- live sketches: checking, repairing, ending

CREATE FUNCTION fastclust_internal.write_check(name text, differences bigint) RETURNS void
    LANGUAGE fastclust_owner SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
BEGIN
    UPDATE kept_sketches l SET checked_at = clock_timestamp(), differences = write_check.differences WHERE l.id = (SELECT h.id FROM held_live(write_check.name) h);
END
$$;

CREATE FUNCTION check_sketch(name text, INOUT group_value text DEFAULT NULL, INOUT bucket timestamptz DEFAULT NULL,
        OUT sketched bigint, OUT counted bigint, OUT difference text)
    RETURNS SETOF record
    LANGUAGE fastclust ROWS 10 SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp
    SET datestyle = iso SET intervalstyle = postgres SET extra_float_digits = 1 SET timezone = 'UTC' AS $$
DECLARE
    live kept_sketches := held_live(name);
    whole boolean := group_value IS NULL AND bucket IS NULL;
    asked text := concat_ws(' AND ', 'true', CASE WHEN group_value IS NOT NULL THEN format('group_value = %L::text', group_value) END,
                            CASE WHEN bucket IS NOT NULL THEN format('bucket = %L::timestamptz', bucket) END);
    problem text := COALESCE(sketch_problem(name), CASE WHEN live.counting THEN 'the rows are not counted yet' END);
    differences bigint := CASE WHEN problem IS NULL THEN 0 ELSE 1 END;
BEGIN
    PERFORM check_live_part(live, group_value, bucket);
    IF problem IS NOT NULL THEN
        difference := problem;
        RETURN NEXT;
    END IF;
    IF NOT live.counting AND NOT EXISTS (SELECT FROM own_live_leaves v WHERE v.live_id = live.id AND column_problem(v.leaves) IS NOT NULL) THEN
        PERFORM check_live_scan(live, live.relation);
        FOR group_value, bucket, sketched, counted, difference IN
            EXECUTE format('SELECT group_value, bucket, COALESCE(row_count(k.s), 0), COALESCE(row_count(q.s), 0),'
                           ' CASE WHEN row_count(k.s) = row_count(q.s) THEN ''values'' ELSE ''number of rows'' END'
                           ' FROM (SELECT * FROM live_parts($3, false) WHERE %2$s) k FULL JOIN (SELECT * FROM (%1$s) a WHERE %2$s) q USING (group_value, bucket)'
                           ' WHERE NOT same_rows(k.s, q.s) OR k.counts::text IS DISTINCT FROM q.counts::text ORDER BY group_value COLLATE "C", bucket',
                           live_scan(live, live.relation, false), asked) USING live.spec, live.drift_spec, name LOOP
            group_value := CASE WHEN live.group_by IS NOT NULL OR live.micro_clusters IS NOT NULL THEN group_value END;
            bucket := CASE WHEN live.bucket IS NOT NULL THEN bucket END;
            differences := differences + 1;
            RETURN NEXT;
        END LOOP;
    END IF;
    IF whole THEN
        PERFORM write_check(name, differences);
    END IF;
END
$$;
COMMENT ON FUNCTION check_sketch(text, text, timestamptz)
    IS 'recount the table, or one group or bucket of it, and show where a live sketch differs; no row if it does not differ';

CREATE FUNCTION rebuild_sketch(name text) RETURNS bigint
    LANGUAGE fastclust SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
DECLARE
    live kept_sketches;
    lost boolean;
BEGIN
    PERFORM check_live_isolation(name);
    live := held_live(name);
    PERFORM check_live_scan(live, live.relation);
    lost := sketch_problem(name) IS NOT NULL;
    IF lost THEN
        -- only then do writers wait
        EXECUTE format('LOCK TABLE %s IN SHARE ROW EXCLUSIVE MODE', live.relation);
    END IF;
    PERFORM check_live_tables(live);
    -- a leaf that went is followed until now: it might have come again
    PERFORM set_live_triggers(live.id, v.leaf, false) FROM own_live_leaves v WHERE v.live_id = live.id AND v.leaf NOT IN (SELECT t.id FROM live_tables(live.relation) t);
    PERFORM forget_leaves(name);
    RETURN count_live(live, lost);
END
$$;
COMMENT ON FUNCTION rebuild_sketch(text) IS 'recount all rows of a live sketch, and make missing triggers again; returns the number of rows';

CREATE FUNCTION drop_sketch(name text) RETURNS void
    LANGUAGE fastclust_owner SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
BEGIN
    PERFORM forget_live((held_live(name)).id);
END
$$;
COMMENT ON FUNCTION drop_sketch(text) IS 'end a live sketch: drop its triggers and its counts';

CREATE FUNCTION drop_model(model text) RETURNS void
    LANGUAGE fastclust_owner SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
DECLARE
    held stored_models := held_model(model, true);
BEGIN
    PERFORM end_model_live(held.id);
    DELETE FROM stored_models m WHERE m.id = held.id;
END
$$;
COMMENT ON FUNCTION drop_model(text) IS 'remove a model with all its versions';

-- drift: have the rows of a model changed since its training?

-- The version that serves; with groups, the part of most clusters, or an error where these are not taken.
CREATE FUNCTION fastclust_internal.largest_part(held stored_models, groups boolean DEFAULT true) RETURNS stored_versions
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
DECLARE
    version stored_versions;
BEGIN
    IF held.group_by IS NOT NULL AND groups IS NOT TRUE THEN
        RAISE wrong_object_type USING MESSAGE = format('model "%s" has one model per group', held.model),
            HINT = 'drift(model, by => ''group'') compares each group, and retrain trains them.';
    END IF;
    SELECT v.* INTO version FROM readable_versions v
     WHERE v.model_id = held.id AND v.version = held.version ORDER BY v.k DESC, v.group_value LIMIT 1;
    IF NOT FOUND THEN
        RAISE undefined_object USING MESSAGE = format('model "%s" has no current version', held.model), HINT = version_hint(held.model);
    END IF;
    version.options := version.options - 'activate';     -- for its own time only
    RETURN version;
END
$$;

-- Do the waves of a spec run in all dimensions, not along axes of a sample?  Such axes fit the training rows better than any later ones.
CREATE FUNCTION fastclust_internal.has_all_dimensions(spec sketch_spec) RETURNS boolean
    LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
    SELECT d ->> 'reduced_dim' = d ->> 'dim' FROM describe(spec) d
$$;

-- Of a dimension for all values without one of their own: those that are more frequent than all of these together were in training, with their shares.
CREATE FUNCTION fastclust_internal.new_values(version stored_versions, relation regclass, dimension integer) RETURNS jsonb
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
DECLARE
    column_name text := (SELECT f.feature FROM encoder_features(version.encoder) f WHERE f.dimension = $3 AND f.kind = 'category' AND f.category = 'other' AND f.feature = ANY (version.features));
    found jsonb;
BEGIN
    IF column_name IS NOT NULL THEN
        EXECUTE format('SELECT jsonb_object_agg(v.value, round(v.share, 4)) FROM (SELECT q.* FROM (SELECT t.%I::text AS value, count(*) / sum(count(*)) OVER () AS share %s GROUP BY 1) q'
                       ' WHERE q.share > $1 AND q.value <> ALL ($2) ORDER BY q.share DESC, q.value LIMIT 5) v', column_name, (version_query(version, relation, NULL)).rows)
           INTO found USING (means(version.training_sketch))[dimension]::numeric, ARRAY(SELECT f.category FROM encoder_features(version.encoder) f WHERE f.feature = column_name);
    END IF;
    RETURN found;
END
$$;

-- The statistics of a version and of other rows that drift compares, `counted` ones of which a share may be sketched: the counts, where both were counted, and the sketches, where their waves run in all dimensions.
-- Values never seen are told of rows that were scanned.
CREATE FUNCTION fastclust_internal.version_drift(version stored_versions, s sketch, counts drift_counts, threshold double precision DEFAULT 0.01,
        min_effect double precision DEFAULT 0.1, counted bigint DEFAULT NULL, scanned regclass DEFAULT NULL, OUT mmd2 double precision, OUT null_sd double precision, OUT p_value double precision,
        OUT fit_residual double precision, OUT n bigint, OUT effect double precision, OUT verdict text, OUT columns jsonb)
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
DECLARE
    spec drift_spec := drift_spec_of(version);
BEGIN
    IF version.drift_counts IS NULL AND NOT has_all_dimensions(spec(version.training_sketch)) THEN
        RAISE object_not_in_prerequisite_state USING MESSAGE = format('version %s of model "%s" was made from a sketch of axes of its sample, and has no counts to compare',
                version.version, version.model),
            HINT = 'Retrain the model on rows.';
    END IF;
    n := COALESCE(counted, row_count(s), 0);
    SELECT t.mmd2, t.null_sd, t.p_value, t.effect, t.verdict INTO mmd2, null_sd, p_value, effect, verdict
      FROM drift_test(spec, CASE WHEN counts IS NOT NULL THEN version.drift_counts END, CASE WHEN version.drift_counts IS NOT NULL THEN counts END,
                      version.training_sketch, s, version.null_moments, threshold, min_effect) t;
    verdict := COALESCE(verdict, 'too few rows');
    fit_residual := CASE WHEN version.map IS NULL AND describe(version.spec) ->> 'law' <> 'gaussian'
                         THEN fit_residual(s, version.operator, version.center, version.scale, version.spreads) END;
    -- the columns and the pairs of columns that changed beyond chance, the surest first, at most five
    columns := (SELECT COALESCE(jsonb_agg(CASE WHEN c.other IS NULL THEN jsonb_strip_nulls(jsonb_build_object('name', x.name, 'shift', c.shift, 'spread', c.spread, 'p', x.p,
                                                           'new_values', CASE WHEN scanned IS NOT NULL AND c.shift > 0 THEN new_values(version, scanned, c.dimension) END))
                                               ELSE jsonb_build_object('name', concat_ws(', ', x.name, x.other), 'names', jsonb_build_array(x.name, x.other), 'p', x.p) END
                                          ORDER BY c.other IS NOT NULL, c.place), '[]')
                  FROM moved_columns(spec, version.drift_counts, counts, version.training_sketch, s, threshold, 5)
                           WITH ORDINALITY c(dimension, other, p_value, shift, spread, place),
                       feature_names(version.encoder) names,
                       LATERAL (SELECT COALESCE(names[c.dimension], format('%s[%s]', version.features[1], c.dimension)) AS name,
                                       COALESCE(names[c.other], format('%s[%s]', version.features[1], c.other)) AS other,
                                       trim_scale(round(c.p_value::numeric, 12)) AS p) x);
END
$$;

-- Sketches and counts of a relation's rows as a version takes them, for each value of a column or all, in one scan: of 260,000 rows at most,
-- where they are not told by a column; n: of how many.
CREATE FUNCTION fastclust_internal.sketch_rows(version stored_versions, relation regclass, bucket name, OUT value text, OUT s sketch, OUT counts drift_counts,
        OUT n bigint) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_sketch_rows' LANGUAGE C STABLE SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp;

-- A version as a window compares its rows: with those of the baseline in place of the training rows, where the window has one.
CREATE FUNCTION fastclust_internal.version_since(version stored_versions, relation regclass, since jsonb) RETURNS stored_versions
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
DECLARE
    recent jsonb;
BEGIN
    IF since IS NOT NULL THEN
        PERFORM check_training_options(jsonb_build_object('since', since), 'retrain');
    END IF;
    recent := since - 'baseline';
    IF since ? 'baseline' THEN
        version.drift_spec := drift_spec_of(version);
        version.options := version.options || jsonb_build_object('since', since -> 'baseline' || jsonb_build_object('except', recent));
        SELECT r.s, r.counts INTO version.training_sketch, version.drift_counts FROM sketch_rows(version, relation, NULL) r;
        IF version.training_sketch IS NULL THEN
            RAISE no_data_found USING MESSAGE = format('%s has no rows in the baseline', relation), DETAIL = 'The baseline consists of the rows of its window that are not recent.';
        END IF;
    END IF;
    version.options := version.options || COALESCE(jsonb_build_object('since', recent), '{}');
    RETURN version;
END
$$;

-- The rows of each value of a column, or all: of now where the model is live and has them, else by a scan, of the relation that `scanned` is then.
CREATE FUNCTION fastclust_internal.compared_rows(held stored_models, version stored_versions, relation regclass, by name, since jsonb, OUT value text, OUT s sketch,
        OUT counts drift_counts, OUT n bigint, OUT compared stored_versions, OUT scanned regclass)
    RETURNS SETOF record
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
DECLARE
    live kept_sketches := CASE WHEN relation IS NULL AND by IS NOT DISTINCT FROM held.group_by THEN live_of_version(version, since) END;
    named regclass;
BEGIN
    IF live.id IS NULL THEN
        named := scanned_relation(held, version, relation, by);
        version := version_since(version, named, since);
        RETURN QUERY SELECT r.*, version, CASE WHEN by IS NULL THEN named END FROM sketch_rows(version, named, by) r;
    ELSIF by IS NULL THEN
        RETURN QUERY SELECT NULL::text, r.*, row_count(r.s), version, NULL::regclass FROM model_rows(live, since) r;
    ELSE
        RETURN QUERY SELECT g.*, row_count(g.s), version, NULL::regclass FROM model_groups(live.name, since) g;
    END IF;
END
$$;

CREATE FUNCTION drift(model text, relation regclass DEFAULT NULL, sketch sketch DEFAULT NULL, by name DEFAULT NULL, version integer DEFAULT -1, since jsonb DEFAULT NULL, OUT value text, OUT mmd2 double precision,
        OUT null_sd double precision, OUT p_value double precision, OUT fit_residual double precision, OUT n bigint, OUT effect double precision,
        OUT verdict text, OUT columns jsonb)
    RETURNS SETOF record
    LANGUAGE fastclust STABLE ROWS 1 SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
DECLARE
    held stored_models := CASE WHEN $5 = -1 THEN readable_model($1) ELSE at_version(readable_model($1), $5) END;
    by_group boolean := held.group_by IS NOT NULL AND $4 IN (held.group_by, 'group');
    part stored_versions := largest_part(held, by_group);
    recent jsonb := COALESCE($6, part.options -> 'since');
BEGIN
    IF $3 IS NOT NULL AND ($2 IS NOT NULL OR $4 IS NOT NULL OR $6 IS NOT NULL) THEN
        RAISE invalid_parameter_value USING MESSAGE = format('sketch and %s are given, drift takes one of them', CASE WHEN $2 IS NOT NULL THEN 'relation' WHEN $4 IS NOT NULL THEN 'by' ELSE 'since' END);
    ELSIF by_group AND recent ? 'baseline' THEN
        RAISE feature_not_supported USING MESSAGE = 'each group is compared with its training rows, not with a baseline', HINT = 'Leave the key baseline out of since.';
    ELSIF $3 IS NOT NULL AND NOT has_all_dimensions(spec(part.training_sketch)) THEN
        RAISE feature_not_supported USING MESSAGE = format('a sketch alone does not show drift of model "%s"', $1),
            DETAIL = 'Its waves run along axes of the training sample, which fit other rows less.', HINT = 'Use drift(model, relation), which counts the rows.';
    ELSIF $3 IS NOT NULL THEN
        RETURN QUERY SELECT NULL::text, d.* FROM version_drift(part, $3, NULL) d;
    ELSIF by_group THEN
        RETURN QUERY SELECT COALESCE(r.value, v.group_value), d.mmd2, d.null_sd, d.p_value, d.fit_residual, d.n, d.effect,
                            CASE WHEN v.group_value IS NULL THEN 'new group' WHEN d.n = 0 THEN 'gone' ELSE d.verdict END, d.columns
          FROM (SELECT c.* FROM compared_rows(held, part, $2, held.group_by, recent) c WHERE c.value IS NOT NULL) r
          FULL JOIN (SELECT ROW(m.*)::stored_versions AS part, m.group_value FROM readable_versions m WHERE m.model_id = held.id AND m.version = held.version) v ON v.group_value = r.value,
               LATERAL version_drift(v.part, r.s, CASE WHEN v.group_value IS NOT NULL THEN r.counts END, counted => r.n) d;
    ELSE
        RETURN QUERY SELECT r.value, d.* FROM compared_rows(held, part, $2, $4, recent) r, version_drift(r.compared, r.s, r.counts, counted => r.n, scanned => r.scanned) d;
    END IF;
END
$$;
COMMENT ON FUNCTION drift(text, regclass, sketch, name, integer, jsonb)
    IS 'compares rows of a table, or the recent ones, or a sketch made with model_spec(model), with the training rows of a model; by a column, or by group: a row for each value';

CREATE FUNCTION model_spec(model text) RETURNS sketch_spec
    LANGUAGE fastclust STABLE SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
BEGIN
    RETURN spec((largest_part(readable_model(model))).training_sketch);
END
$$;
COMMENT ON FUNCTION model_spec(text) IS 'the spec of a model, to sketch other rows with';

-- It has no search_path of its own: the query is the caller's.
CREATE FUNCTION change_points(query text, OUT changed_at timestamptz, OUT found_at timestamptz, OUT p_value double precision, OUT effect double precision,
        OUT dimension integer, OUT shift double precision) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_change_points' LANGUAGE C STABLE ROWS 10;
COMMENT ON FUNCTION change_points(text)
    IS 'when rows changed, from dated sketches that a query returns, such as one a day; reads no row';

-- A role has the rights of roles it is a member of, and checks the models that are its own: others may hold theirs.  A model that cannot be checked does not keep the others from it.
CREATE FUNCTION check_drift(INOUT model text DEFAULT NULL, OUT version integer, OUT verdict text, OUT effect double precision, OUT p_value double precision,
        OUT n bigint, OUT columns jsonb, OUT problem text) RETURNS SETOF record
    LANGUAGE fastclust SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
DECLARE
    one bigint := CASE WHEN model IS NOT NULL THEN (held_model(model, true)).id END;
    held stored_models;
    found drift_checks;
BEGIN
    PERFORM reject_read_only('drift cannot be logged');
    FOR held IN SELECT m.* FROM own_models m JOIN pg_roles r ON r.rolname = current_user
                 WHERE CASE WHEN one IS NOT NULL THEN m.id = one ELSE m.version IS NOT NULL AND m.owner_id = r.oid END ORDER BY m.model LOOP
        model := held.model;
        version := held.version;
        problem := NULL;
        BEGIN
            SELECT held.id, held.version, v.relation, sum(d.n) OVER (), d.mmd2, d.null_sd, d.p_value, d.fit_residual, d.effect,
                   CASE WHEN d.verdict IN ('new group', 'gone') THEN 'slight' ELSE d.verdict END, d.columns, 0.01, 0.1
              INTO found.model_id, found.version, found.relation, found.n, found.mmd2, found.null_sd, found.p_value, found.fit_residual, found.effect,
                   found.verdict, found.columns, found.threshold, found.min_effect
              FROM largest_part(held) v, drift(held.model, by => CASE WHEN held.group_by IS NOT NULL THEN 'group' END) d
             ORDER BY array_position('{drifted,new group,gone,slight,none}', d.verdict), d.effect DESC NULLS LAST LIMIT 1;
            found.id := write_drift(found);
            IF found.verdict = 'drifted' THEN
                PERFORM pg_notify('fastclust_drift', found.id::text);    -- anybody may listen: the number tells only those who may read drift_log
            END IF;
            SELECT found.verdict, found.effect, found.p_value, found.n, found.columns INTO verdict, effect, p_value, n, columns;
        EXCEPTION WHEN OTHERS THEN
            IF one IS NOT NULL THEN
                RAISE;
            END IF;
            SELECT 'failed', SQLERRM INTO verdict, problem, effect, p_value, n, columns;
            RAISE WARNING USING MESSAGE = format('model "%s" cannot be checked: %s', model, problem);
        END;
        RETURN NEXT;
    END LOOP;
END
$$;
COMMENT ON FUNCTION check_drift(text)
    IS 'drift of a model, or of each model that the caller owns: one row per model, logged in drift_log, with a notification on channel fastclust_drift if it drifted; retrains nothing';

-- levels: clusters of clusters

-- Ward's tree of the clusters: the two nodes that each step joins; 0 to k - 1 is a cluster, k + i - 1 the node of step i.
CREATE FUNCTION fastclust_internal.cluster_joins(op fastop, OUT step integer, OUT "left" integer, OUT "right" integer, OUT height double precision,
        OUT weight double precision) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_cluster_joins' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100000;
-- Clusters of one number joined: weighted means.
CREATE FUNCTION fastclust_internal.joined_clusters(op fastop, numbers integer[]) RETURNS fastop
    AS 'MODULE_PATHNAME', 'fastclust_joined_clusters' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10000;
-- The share of the ten nearest of n rows that a search through buckets finds, by a sample of these in random order; each bucket's rows and sum of squares.
CREATE FUNCTION fastclust_internal.bucket_recall(op fastop, searched_rows fastop, n double precision, probes integer,
        OUT recall double precision, OUT read_share double precision, OUT counts double precision[], OUT squares double precision[])
    AS 'MODULE_PATHNAME', 'fastclust_bucket_recall' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000000;

-- labels: the clusters of the rows of a relation, written to a table

-- Writes the rows of a query over a relation; vectors: the same query with vectors, which the model labels, in place of clusters, or NULL.
CREATE FUNCTION fastclust_internal.write_rows(model text, target regclass, query text, vectors text, model_id bigint, relation regclass) RETURNS bigint
    AS 'MODULE_PATHNAME', 'fastclust_write_rows' LANGUAGE C;

-- The columns by which a label finds its row: those of the option, or the primary key.
CREATE FUNCTION fastclust_internal.label_keys(relation regclass, options jsonb) RETURNS name[]
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
DECLARE
    primary_key name[] := (SELECT array_agg(a.attname ORDER BY u.i)
        FROM pg_index x CROSS JOIN unnest(x.indkey) WITH ORDINALITY u(attnum, i) JOIN pg_attribute a ON a.attrelid = x.indrelid AND a.attnum = u.attnum
       WHERE x.indrelid = relation AND x.indisprimary AND u.i <= x.indnkeyatts);
    keys name[] := CASE jsonb_typeof(options -> 'key')
        WHEN 'array' THEN ARRAY(SELECT k FROM jsonb_array_elements_text(options -> 'key') k)
        WHEN 'string' THEN CASE WHEN options ->> 'key' LIKE '{%' THEN (options ->> 'key')::name[] ELSE ARRAY[options ->> 'key'] END
        ELSE primary_key END;
    twice name := (SELECT k FROM unnest(keys || 'cluster'::name || CASE WHEN flag_option(options, 'name', false) THEN 'cluster_name'::name END
                                             || CASE WHEN flag_option(options, 'distance', false) THEN 'distance'::name END) k GROUP BY k HAVING count(k) > 1 ORDER BY k LIMIT 1);
BEGIN
    IF keys IS NULL THEN
        RAISE undefined_object USING MESSAGE = format('%s has no primary key', relation),
            HINT = 'Name columns that identify its rows: {"key": ["..."]}.';
    ELSIF keys = '{}' THEN
        RAISE invalid_parameter_value USING MESSAGE = 'option "key" must name at least one column';
    ELSIF twice IS NOT NULL THEN
        RAISE duplicate_column USING MESSAGE = format('column "%s" of the labels is named twice', twice),
            HINT = 'Name other columns as "key"; of a view they may have other names.';
    ELSIF flag_option(options, 'follow', false) AND keys IS DISTINCT FROM primary_key THEN
        RAISE feature_not_supported USING MESSAGE = format('labels of %s can only follow by its primary key', relation),
            HINT = 'Leave out option "follow", and write the labels again by option "replace".';
    END IF;
    RETURN keys;
END
$$;

-- A row for each row of the relation: its key, its cluster, and its name and distance where the options ask for them; the same with vectors in place of
-- clusters, where these can be labelled many at a time, or NULL.
CREATE FUNCTION fastclust_internal.label_query(version stored_versions, relation regclass, keys name[], options jsonb, OUT query text, OUT vectors text)
    AS 'MODULE_PATHNAME', 'fastclust_label_query' LANGUAGE C STABLE STRICT SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp;

-- ---- tables that follow their model ----

CREATE TABLE fastclust_internal.label_tables (
    model_id bigint NOT NULL REFERENCES stored_models ON DELETE CASCADE,
    target text NOT NULL,    -- qualified and quoted, as the relation is
    relation text NOT NULL,
    options jsonb NOT NULL,    -- of write_labels
    followed_by name NOT NULL DEFAULT pg_get_userbyid(calling_role()),    -- the role that wrote the labels
    followed_by_id oid GENERATED ALWAYS AS (role_id(followed_by)) STORED,    -- the oid of that role when the row was written
    PRIMARY KEY (model_id, target));
SELECT pg_catalog.pg_extension_config_dump('label_tables', '');
CREATE VIEW fastclust_internal.own_label_tables WITH (security_barrier) AS
    SELECT l.* FROM own_models m JOIN label_tables l ON l.model_id = m.id;
GRANT SELECT ON own_label_tables TO PUBLIC;

-- The table follows the model from now on; options NULL: it does not.
CREATE FUNCTION fastclust_internal.write_follower(model_id bigint, target text, relation text, options jsonb) RETURNS void
    LANGUAGE fastclust_owner SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
DECLARE
    held stored_models := held_model(model_id);
BEGIN
    DELETE FROM label_tables l WHERE l.model_id = held.id AND l.target = $2;
    IF options IS NOT NULL THEN
        INSERT INTO label_tables (model_id, target, relation, options) VALUES (held.id, $2, $3, $4);
    END IF;
END
$$;

-- The label tables of a model follow the version that serves: labels that changed are updated, those of new rows added, those of rows that are gone removed.
-- The caller's rights hold, so the tables must be the caller's own choice or a superuser's.  A warning names one that cannot follow; one that does not
-- exist any more is forgotten.
CREATE FUNCTION fastclust_internal.update_labels(model_id bigint) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
DECLARE
    held stored_models := (SELECT m FROM own_models m WHERE m.id = model_id);
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
            IF target IS NULL THEN
                PERFORM write_follower($1, follower.target, NULL, NULL);
                CONTINUE;
            END IF;
            version := largest_part(held);
            version.relation := follower.relation;
            relation := scanned_relation(held, version, NULL, held.group_by);
            problem := CASE WHEN is_trusted_owner(follower.followed_by_id) IS NOT TRUE THEN format('they were written by role %s', follower.followed_by)
                            WHEN (SELECT r.rolsuper FROM pg_roles r WHERE r.rolname = current_user) THEN scan_problem(target, NULL) END;
            IF problem IS NOT NULL THEN
                RAISE insufficient_privilege USING MESSAGE = problem;
            END IF;
            keys := label_keys(relation, follower.options);
            EXECUTE (
                SELECT format('WITH changed AS MATERIALIZED (SELECT %1$s, %2$s, f IS NULL AS "is gone", l IS NULL AS "is new" FROM (%3$s) f FULL JOIN %4$s l ON %5$s WHERE %6$s),'
                              ' updated AS (UPDATE %4$s l SET %7$s FROM changed c WHERE NOT c."is gone" AND NOT c."is new" AND %8$s),'
                              ' removed AS (DELETE FROM %4$s l USING changed c WHERE c."is gone" AND %8$s)'
                              ' INSERT INTO %4$s (%9$s) SELECT %9$s FROM changed c WHERE c."is new"',
                              string_agg(format('COALESCE(f.%1$I, l.%1$I) AS %1$I', u.name), ', ') FILTER (WHERE u.is_key), string_agg(format('f.%I', u.name), ', ') FILTER (WHERE NOT u.is_key),
                              (label_query(version, relation, keys, follower.options)).query, target, string_agg(format('f.%1$I = l.%1$I', u.name), ' AND ') FILTER (WHERE u.is_key),
                              string_agg(format('f.%1$I IS DISTINCT FROM l.%1$I', u.name), ' OR '), string_agg(format('%1$I = c.%1$I', u.name), ', ') FILTER (WHERE NOT u.is_key),
                              string_agg(format('l.%1$I = c.%1$I', u.name), ' AND ') FILTER (WHERE u.is_key), string_agg(format('%I', u.name), ', '))
                  FROM (SELECT k AS name, true AS is_key FROM unnest(keys) k
                        UNION ALL SELECT o.name, false FROM (VALUES ('cluster', true), ('cluster_name', flag_option(follower.options, 'name', false)), ('distance', flag_option(follower.options, 'distance', false))) o(name, wanted)
                         WHERE o.wanted) u);
        EXCEPTION
            WHEN transaction_rollback THEN
                RAISE;
            WHEN OTHERS THEN
                RAISE WARNING USING MESSAGE = format('labels in %s stay those of another version of model "%s": %s', follower.target, held.model, SQLERRM),
                    HINT = 'Write them again by write_labels with the option "replace"; its option "follow": false ends this.';
        END;
    END LOOP;
END
$$;

CREATE FUNCTION use_version(model text, version integer) RETURNS void
    LANGUAGE fastclust SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
DECLARE
    chosen stored_models := at_version(held_model($1, true), $2);
BEGIN
    PERFORM serve_version(chosen.id, chosen.version, NULL), update_labels(chosen.id);
END
$$;
COMMENT ON FUNCTION use_version(text, integer) IS 'make another version the one that predict uses: an old one, or a candidate';

-- ---- write_labels ----

-- write_labels, from the name of the target on.
CREATE FUNCTION fastclust_internal.label_rows(model text, relation regclass, target text, options jsonb) RETURNS bigint
    LANGUAGE fastclust SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
DECLARE
    held stored_models := readable_model(model);
    version stored_versions;
    scanned regclass;
    texts record;
    existing regclass := to_regclass(target);
    written bigint;
BEGIN
    PERFORM reject_read_only('labels cannot be written'), check_training_options(options, 'write_labels');
    IF flag_option(options, 'follow', false) THEN
        held := held_model(model, true);    -- no version comes between these labels and those that follow
    END IF;
    version := largest_part(held);
    scanned := scanned_relation(held, version, relation, held.group_by);
    texts := label_query(version, scanned, label_keys(scanned, options), options);
    -- the table is there and empty, or may be added to
    IF flag_option(options, 'append', false) AND (flag_option(options, 'replace', false) OR flag_option(options, 'follow', false)) THEN
        RAISE invalid_parameter_value USING MESSAGE = format('options "append" and "%s" exclude each other', CASE WHEN flag_option(options, 'replace', false) THEN 'replace' ELSE 'follow' END);
    ELSIF flag_option(options, 'follow', false) AND target LIKE 'pg_temp.%' THEN
        RAISE feature_not_supported USING MESSAGE = 'a temporary table cannot follow a model', HINT = 'Name another table as target.';
    ELSIF existing = scanned THEN
        RAISE invalid_parameter_value USING MESSAGE = format('labels of %s cannot be written into itself', scanned),
            HINT = 'Name another table as target.';
    ELSIF existing IS NULL THEN
        EXECUTE format('CREATE TABLE %s AS %s WITH NO DATA', target, texts.query);
    ELSIF flag_option(options, 'replace', false) THEN
        EXECUTE format(CASE WHEN (SELECT c.relkind IN ('r', 'p') AND NOT c.relhastriggers FROM pg_class c WHERE c.oid = existing) THEN 'TRUNCATE %s' ELSE 'DELETE FROM %s' END, target);
    ELSIF NOT flag_option(options, 'append', false) THEN
        RAISE duplicate_table USING MESSAGE = format('relation %s exists already', target),
            HINT = 'Empty it first by option "replace", or add rows to it by option "append".';
    END IF;
    written := write_rows(held.model, target::regclass, texts.query, texts.vectors, held.id, scanned);
    IF options ? 'follow' THEN
        -- names and dates resolved, for the condition is read again in other sessions
        PERFORM write_follower(held.id, target, r.relation_name, CASE WHEN flag_option(options, 'follow', false) THEN options || jsonb_strip_nulls(jsonb_build_object('where', r.condition)) END)
           FROM row_expressions(scanned, version.features, version.vector, NULL, NULL, options ->> 'where') r;
    END IF;
    RETURN written;
END
$$;

CREATE FUNCTION write_labels(model text, relation regclass, target text, options jsonb DEFAULT '{}') RETURNS bigint
    AS 'MODULE_PATHNAME', 'fastclust_write_labels' LANGUAGE C;
COMMENT ON FUNCTION write_labels(text, regclass, text, jsonb)
    IS 'write the key and the cluster of each row of a relation to a table, which is made unless it exists; returns the number of rows';

-- live models: the option live of train keeps a live sketch of the model's rows, from which drift and retrain take their sketch

-- Asked before a training reads a row.
CREATE FUNCTION fastclust_internal.check_live_training(model text, relation regclass, features name[], options jsonb) RETURNS void
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
DECLARE
    asked kept_sketches;
BEGIN
    PERFORM live_bucket_width(relation, options ->> 'group_by', options -> 'live'), check_live_isolation(model);
    IF NOT owns_relation(relation) THEN
        RAISE insufficient_privilege USING MESSAGE = format('must be owner of %s', relation),
            HINT = 'A live model makes triggers on its table.';
    END IF;
    asked.relation := relation;
    asked.columns := features;
    PERFORM check_live_tables(asked);
    PERFORM check_model_follows(ROW(m.*)::stored_models, $2) FROM readable_models m WHERE m.model = $1;
END
$$;

-- A live sketch follows the rows of a version that was trained, as its sketch counted them, or none where its options say so; a note of a new one.
-- Each training of method density on rows finds other micro-clusters.
CREATE FUNCTION fastclust_internal.follow_model(model_id bigint, version integer, micro_clusters fastop) RETURNS text
    LANGUAGE plpgsql SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
DECLARE
    trained stored_versions;
    asked kept_sketches;
BEGIN
    SELECT v.* INTO trained FROM readable_versions v WHERE v.model_id = $1 AND v.version = $2 LIMIT 1;
    IF NOT flag_option(trained.options, 'live', true) THEN
        PERFORM end_model_live(model_id);
        RETURN NULL;
    END IF;
    asked := asked_live(trained.model, trained.relation::regclass, trained.features, trained.vector, trained.spec,
                        jsonb_strip_nulls(jsonb_build_object('group_by', trained.options ->> 'group_by', 'where', trained.options ->> 'where', 'encoder', trained.encoder::text)
                                           || CASE jsonb_typeof(trained.options -> 'live') WHEN 'object' THEN trained.options -> 'live' ELSE '{}' END));
    asked.model_id := model_id;
    -- of each micro-cluster counts that are larger than its sketch, as those of many columns, are left out
    asked.drift_spec := CASE WHEN micro_clusters IS NULL OR octet_length(trained.drift_counts::text) <= octet_length(trained.training_sketch::text) THEN drift_spec_of(trained) END;
    asked.micro_clusters := micro_clusters;
    asked.center := CASE WHEN micro_clusters IS NOT NULL THEN trained.center END;
    asked.scale := CASE WHEN micro_clusters IS NOT NULL THEN trained.scale END;
    asked.micro_options := CASE WHEN micro_clusters IS NOT NULL THEN jsonb_build_array(trained.options -> 'micro_clusters', trained.options -> 'min_cluster_rows') END;
    IF micro_clusters IS NULL AND (model_live(model_id)).id IS NOT NULL AND (live_of_version(trained)).id IS NOT NULL THEN
        RETURN NULL;
    END IF;
    PERFORM end_model_live(model_id);
    asked.id := (SELECT l.id FROM live_of_rows(asked.relation, asked.features, true, trained.options, true) l WHERE l.spec = asked.spec AND asked.micro_clusters IS NULL LIMIT 1);
    RETURN COALESCE(keep_live(asked) || ' rows', 'that was ready');
END
$$;

-- Can the next version come from the live sketch?  Other options than these are about rows.
CREATE FUNCTION fastclust_internal.live_for_retraining(held stored_models, version stored_versions, options jsonb) RETURNS kept_sketches
    LANGUAGE plpgsql SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
DECLARE
    live kept_sketches;
    scans integer;
BEGIN
    IF version.method IN ('kernel', 'qkmeans') OR version.options ?| '{factors,metric,balance,pinned}'
       OR (options - CASE WHEN version.method = 'density' THEN 'noise' ELSE 'k' END - '{nowait,quiet,seed,keep,activate,fresh,since}'::text[]) NOT IN ('{}', '{"live": true}') THEN
        RETURN NULL;
    END IF;
    live := live_of_version(version, COALESCE(options -> 'since', version.options -> 'since'));
    scans := COALESCE((version.options ->> 'iterations')::float8::integer, 0);
    IF live.id IS NOT NULL AND scans <> 0 AND version.method = 'compressive' AND NOT flag_option(version.options || options, 'quiet', false) THEN
        RAISE NOTICE USING MESSAGE = format('model "%s" is live: its %s scans of about %s rows are left out', version.model, scans, row_count(current_sketch(live.name))),
            HINT = format('This makes them: retrain(%L, ''{"iterations": %s}'').', version.model, scans);
    END IF;
    RETURN CASE WHEN live.id IS NOT NULL THEN live END;
END
$$;

-- choose_k of a live sketch: how well each number of clusters explains it; no row is read

-- The costs that decodes of a live sketch give for numbers of clusters, and the elbow.  A sketch has no halves, so none is stable.
CREATE FUNCTION fastclust_internal.choose_k_live(relation regclass, features name[], vector boolean, max_k integer, options jsonb,
        OUT k integer, OUT cost double precision, OUT gain double precision, OUT stability double precision, OUT verdict text) RETURNS SETOF record
    LANGUAGE plpgsql SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
DECLARE
    live kept_sketches := (SELECT l FROM live_of_rows(relation, features, vector, jsonb_build_object('where', (row_condition(relation, options ->> 'where')).condition)) l LIMIT 1);
    other text := (SELECT min(o) FROM jsonb_object_keys(options) o WHERE o <> ALL ('{live,seed,where}'));
    settings jsonb := jsonb_build_object('seed', COALESCE((options ->> 'seed')::numeric::bigint, 0));
    pilot sketch_spec;
    now sketch;
    most integer;
    tried integer[] := '{}';
    costs float8[] := '{}';
    best integer;
BEGIN
    PERFORM check_execute('choose_k');
    IF other IS NOT NULL THEN
        RAISE feature_not_supported USING MESSAGE = format('option "%s" is about rows, and a live sketch has none', other), HINT = 'Leave out option "live".';
    ELSIF live.id IS NULL THEN
        RAISE undefined_object USING MESSAGE = format('no live sketch counts %s of %s', array_to_string(features, ', '), relation),
            HINT = 'Make one with keep_sketch or the option live of train, without groups; or leave out option "live".';
    END IF;
    now := current_sketch(live.name);
    IF now IS NULL THEN
        RAISE no_data_found USING MESSAGE = format('live sketch "%s" has no rows', live.name);
    END IF;
    most := least(max_k, row_count(now));
    -- the spec that a live sketch of a model was trained with, for its rows of the sample; else its own
    pilot := COALESCE((SELECT v.spec FROM readable_models m JOIN readable_versions v ON v.version = m.version
                        WHERE m.id = live.model_id AND v.model_id = live.model_id AND is_live_part(v.training_sketch, NULL, live.spec, NULL) LIMIT 1), live.spec);
    -- from 1 to the greatest in steps of a fifth, as fc_choose_k does; then also all around the best so far, which is the elbow of the logarithm of
    -- the cost: the number farthest below the line through the ends
    FOR i IN 1 .. 2 LOOP
        SELECT array_agg(t.n ORDER BY t.n), array_agg(t.c ORDER BY t.n) INTO tried, costs
          FROM (SELECT n, COALESCE(costs[array_position(tried, n)],        -- the mean squared distance by the sketch
                                   (SELECT sum(c.weight * c.spread ^ 2) / sum(c.weight) * cardinality(means(now)) FROM decode(now, n, 'auto', settings, pilot) c)) AS c
                  FROM (WITH RECURSIVE steps(n) AS (SELECT 1 UNION ALL SELECT least(most, s.n + 1 + s.n / 5) FROM steps s WHERE s.n < most)
                        SELECT s.n FROM steps s
                        UNION SELECT g.n FROM generate_series((SELECT max(t) FROM unnest(tried) t WHERE t < best), (SELECT min(t) FROM unnest(tried) t WHERE t > best)) g(n)) q(n)) t;
        best := COALESCE((SELECT t.n FROM (SELECT u.n, ln(greatest(u.c, 1e-12 * costs[1])) AS height FROM unnest(tried, costs) u(n, c) WHERE costs[1] > 0) t,
                                          (SELECT ln(greatest(costs[cardinality(costs)], 1e-12 * costs[1])) AS lowest, ln(costs[1]) AS highest WHERE costs[1] > 0) e
                           ORDER BY (e.highest - t.height) / NULLIF(e.highest - e.lowest, 0) - (t.n - 1.0) / NULLIF(tried[cardinality(tried)] - 1, 0) DESC NULLS LAST, t.n LIMIT 1), 1);
    END LOOP;
    RETURN QUERY SELECT t.n, t.c, 1 - (t.c / NULLIF(lag(t.c) OVER by_k, 0)) ^ (1.0::float8 / (t.n - lag(t.n) OVER by_k)), NULL::float8,
                        CASE WHEN t.n = best THEN 'elbow' END
                   FROM unnest(tried, costs) t(n, c) WINDOW by_k AS (ORDER BY t.n) ORDER BY t.n;
END
$$;

-- choose_k: the number of clusters, by evidence from a sample (core/kmeans/choose.h has the rule)

CREATE FUNCTION choose_k(relation regclass, features text, max_k integer DEFAULT 50, options jsonb DEFAULT '{}',
        OUT k integer, OUT cost double precision, OUT gain double precision, OUT stability double precision, OUT verdict text,
        OUT within integer, OUT reason text) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_choose_k' LANGUAGE C SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp;
COMMENT ON FUNCTION choose_k(regclass, text, integer, jsonb)
    IS 'the number of clusters of a column of vectors or numbers, or of a list of columns: a row for each number tried, with its cost and stability; the row to take has a verdict, the clusters within its clusters, and the reason if it is not clear';
CREATE FUNCTION choose_k(relation regclass, features name[], max_k integer DEFAULT 50, options jsonb DEFAULT '{}',
        OUT k integer, OUT cost double precision, OUT gain double precision, OUT stability double precision, OUT verdict text,
        OUT within integer, OUT reason text) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_choose_k' LANGUAGE C SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp;
COMMENT ON FUNCTION choose_k(regclass, name[], integer, jsonb)
    IS 'the number of clusters of columns of numbers, which are standardised unless the options say otherwise';

-- kernel k-means of a relation (Algorithm 1 whole): a projection of its rows, then k-means on their coordinates

CREATE FUNCTION kernel_kmeans(relation regclass, id_column name, features name, kernel kernel, k integer, options jsonb DEFAULT '{}',
        OUT id bigint, OUT cluster integer) RETURNS SETOF record
    LANGUAGE fastclust STABLE PARALLEL RESTRICTED COST 1000000 SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
DECLARE
    missing text := (SELECT u.name FROM unnest('{relation,id_column,features,kernel,k,options}'::text[], ARRAY[$1::text, $2, $3, $4::text, $5::text, $6::text]) WITH ORDINALITY u(name, value, i)
                      WHERE u.value IS NULL ORDER BY u.i LIMIT 1);
    of_kmeans CONSTANT text[] := '{n_init,iterations,tolerance}';
    known CONSTANT text[] := '{method,oversampling,columns,seed,rank}' || of_kmeans;
    unknown text;
    rank CONSTANT jsonb := COALESCE(NULLIF($6 -> 'rank', 'null'), to_jsonb(least($5, 490)));     -- with 10 more the most columns of one pass
    id_is regtype;
    found bigint;
    projection kernel_projection;
    centers fastop;
BEGIN
    IF missing IS NOT NULL THEN
        RAISE null_value_not_allowed USING MESSAGE = format('%s must not be NULL', missing);
    ELSIF $5 NOT BETWEEN 1 AND 1048576 THEN
        RAISE invalid_parameter_value USING MESSAGE = format('k is %s, out of range', $5), DETAIL = 'It may be from 1 to 1048576.';
    ELSIF jsonb_typeof($6) <> 'object' THEN
        RAISE invalid_parameter_value USING MESSAGE = 'options must be a JSON object';
    END IF;
    unknown := (SELECT min(o) FROM jsonb_object_keys($6) o WHERE o <> ALL (known));
    id_is := feature_type($1, $2);
    IF unknown IS NOT NULL THEN
        RAISE invalid_parameter_value USING MESSAGE = format('option "%s" is not known', unknown), HINT = name_hint(unknown, known, 'Options are');
    ELSIF (CASE jsonb_typeof(rank) WHEN 'number' THEN rank::numeric % 1 <> 0 ELSE true END) THEN
        RAISE invalid_parameter_value USING MESSAGE = format('option "rank" must be a whole number, not %s', rank);
    ELSIF rank::numeric NOT BETWEEN 1 AND 502 THEN
        RAISE invalid_parameter_value USING MESSAGE = format('option "rank" is %s, out of range', rank), DETAIL = 'It may be from 1 to 502.';
    ELSIF (SELECT t.typoutput FROM pg_type t WHERE t.oid = id_is) <> ALL ('{int2out,int4out,int8out}'::regproc[]) THEN     -- a domain has that of its base type
        RAISE datatype_mismatch USING MESSAGE = format('column "%s" is of type %s, but ids are integers', $2, id_is),
            HINT = 'Number the rows, for instance by row_number() over a unique column.';
    END IF;
    PERFORM feature_type($1, $3);
    -- k clusters need k rows with a vector: known before the pass; Citus takes no subquery without columns
    EXECUTE format('SELECT count(*) FROM (SELECT 1 FROM %s t WHERE t.%I IS NOT NULL LIMIT %s) q', $1, $3, $5) INTO found;
    IF found BETWEEN 1 AND $5 - 1 THEN
        RAISE invalid_parameter_value USING MESSAGE = format('k is %s, but there %s only %s row%s', $5, CASE found WHEN 1 THEN 'is' ELSE 'are' END, found, CASE WHEN found > 1 THEN 's' END);
    END IF;
    EXECUTE format('SELECT kernel_projection_agg(t.%I::bigint, t.%I, $1, $2, $3) FROM %s t', $2, $3, $1) INTO projection
        USING $4, rank::integer, $6 - (of_kmeans || 'rank'::text);
    centers := (SELECT kmeans_agg(e.y, $5, $6 - '{method,oversampling,columns,rank}'::text[]) FROM embedding_of(projection) e);
    RETURN QUERY SELECT e.id, assign(centers, e.y) FROM embedding_of(projection) e;
END
$$;
COMMENT ON FUNCTION kernel_kmeans(regclass, name, name, kernel, integer, jsonb) IS 'kernel k-means of a relation: one-pass projection, then k-means on the coordinates';

-- train: from a table to a new version of a model (pg/train/train.h has the steps).  All of it runs in the caller's transaction: until it commits the
-- old version serves, and a failure leaves no trace.

CREATE FUNCTION train(model text, relation regclass, features text, k integer DEFAULT NULL, method text DEFAULT 'auto', options jsonb DEFAULT '{}') RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_train' LANGUAGE C SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp;
COMMENT ON FUNCTION train(text, regclass, text, integer, text, jsonb)
    IS 'train a model on a column of vectors or numbers, or on a list of columns; returns the new version, which predict uses from the commit on';
CREATE FUNCTION train(model text, relation regclass, features name[], k integer DEFAULT NULL, method text DEFAULT 'auto', options jsonb DEFAULT '{}') RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_train' LANGUAGE C SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp;
COMMENT ON FUNCTION train(text, regclass, name[], integer, text, jsonb)
    IS 'train a model on columns of numbers, which are standardised unless the options say otherwise';

CREATE FUNCTION import_model(model text, relation regclass, features text, centroids float8[], options jsonb DEFAULT '{}') RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_import_model' LANGUAGE C SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp;
COMMENT ON FUNCTION import_model(text, regclass, text, float8[], jsonb)
    IS 'a version of a model whose clusters have these centroids; the rows of the relation give sizes, spreads, and the statistics that drift compares';
CREATE FUNCTION import_model(model text, relation regclass, features text, centroids fastop, options jsonb DEFAULT '{}') RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_import_model' LANGUAGE C SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp;
COMMENT ON FUNCTION import_model(text, regclass, text, fastop, jsonb)
    IS 'a version of a model whose clusters have these centroids; the rows of the relation give sizes, spreads, and the statistics that drift compares';
CREATE FUNCTION import_model(model text, relation regclass, features name[], centroids float8[], options jsonb DEFAULT '{}') RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_import_model' LANGUAGE C SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp;
COMMENT ON FUNCTION import_model(text, regclass, name[], float8[], jsonb)
    IS 'a version of a model whose clusters have these centroids; the rows of the relation give sizes, spreads, and the statistics that drift compares';
CREATE FUNCTION import_model(model text, relation regclass, features name[], centroids fastop, options jsonb DEFAULT '{}') RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_import_model' LANGUAGE C SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp;
COMMENT ON FUNCTION import_model(text, regclass, name[], fastop, jsonb)
    IS 'a version of a model whose clusters have these centroids; the rows of the relation give sizes, spreads, and the statistics that drift compares';

-- training_progress: the trainings that run now, for roles that may see them

-- All trainings of this database; only the owner of the extension asks.
CREATE FUNCTION fastclust_internal.running_trainings(OUT pid integer, OUT role oid, OUT model_id bigint, OUT model text, OUT step text, OUT rows_done bigint,
        OUT rows_about double precision, OUT begun timestamptz, OUT step_begun timestamptz, OUT step_ends timestamptz) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_running_trainings' LANGUAGE C;

-- A role sees its own trainings, those of roles of which it is a member, and those on models that it may read by roles that may change them.
CREATE FUNCTION fastclust_internal.training_progress_rows(OUT model text, OUT role name, OUT step text, OUT rows_done bigint, OUT rows_about bigint,
        OUT percent double precision, OUT elapsed interval, OUT remaining interval, OUT pid integer) RETURNS SETOF record
    LANGUAGE fastclust_owner SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
BEGIN
    RETURN QUERY
        SELECT COALESCE(m.model, NULLIF(t.model, '')), pg_get_userbyid(t.role), t.step, t.rows_done, round(t.rows_about)::bigint, round(100 * part.done)::float8,
               date_trunc('milliseconds', clock_timestamp() - t.begun),
               date_trunc('milliseconds', CASE WHEN part.done > 0.005 THEN (clock_timestamp() - t.step_begun) * (1 / part.done - 1)
                                               WHEN t.step_ends > clock_timestamp() THEN t.step_ends - clock_timestamp() END), t.pid
          FROM running_trainings() t
          LEFT JOIN stored_models m ON m.id = t.model_id AND is_member(m.owner_id, t.role) AND (is_member(m.owner_id) OR is_reader(m)),
               LATERAL (SELECT CASE WHEN t.rows_about > 0 THEN least(1, t.rows_done / t.rows_about) END AS done) part
         WHERE m.id IS NOT NULL OR is_member(t.role)
         ORDER BY t.begun;
END
$$;

-- A function, so that the rights are those of who reads the view, on every server version.
CREATE VIEW training_progress AS SELECT * FROM training_progress_rows();
COMMENT ON VIEW training_progress IS 'one row per training that runs now, of those whose models one may read and of one''s own';
COMMENT ON COLUMN training_progress.model IS 'the name of the model; NULL for choose_k';
COMMENT ON COLUMN training_progress.role IS 'the role that trains it';
COMMENT ON COLUMN training_progress.step IS 'the running step, as in training_log; NULL between two steps';
COMMENT ON COLUMN training_progress.rows_done IS 'the rows of the table that the step has read; NULL for a step in memory';
COMMENT ON COLUMN training_progress.rows_about IS 'about how many it will read';
COMMENT ON COLUMN training_progress.percent IS 'the part of the step that is done';
COMMENT ON COLUMN training_progress.elapsed IS 'how long the training has run';
COMMENT ON COLUMN training_progress.remaining IS 'about how long the step will still run';
COMMENT ON COLUMN training_progress.pid IS 'the server process, which pg_cancel_backend stops';
GRANT SELECT ON training_progress TO PUBLIC;

-- retrain: a new version on new rows, that keeps the numbers of the clusters that stayed

-- These set the search_path by themselves, once that of the caller has found the relation of the options.

CREATE FUNCTION retrain(model text, options jsonb DEFAULT '{}', sketch sketch DEFAULT NULL) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_retrain' LANGUAGE C;
COMMENT ON FUNCTION retrain(text, jsonb, sketch)
    IS 'train a new version as before, or as the options say; with a sketch of new rows, from it and the training sketch alone; clusters that stayed keep their numbers';

CREATE FUNCTION retrain_if_drifted(model text, threshold double precision DEFAULT 0.01, min_effect double precision DEFAULT 0.1,
        options jsonb DEFAULT '{}') RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_retrain_if_drifted' LANGUAGE C;
COMMENT ON FUNCTION retrain_if_drifted(text, double precision, double precision, jsonb)
    IS 'retrain when the p-value of drift is below the threshold and its effect at least min_effect; the new version, or NULL; every check is a row of drift_log';

CREATE FUNCTION merge_clusters(model text, clusters integer[]) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_merge_clusters' LANGUAGE C SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp;
COMMENT ON FUNCTION merge_clusters(text, integer[]) IS 'a version in which some clusters are one, at their mean; the other centroids stay where they are';

-- The numbers are an option of the version that serves, which retrains keep; clusters that stayed keep their numbers.
CREATE FUNCTION pin_cluster(model text, cluster integer, pinned boolean DEFAULT true) RETURNS void
    LANGUAGE fastclust_owner SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
DECLARE
    held stored_models := held_model(model, true);
    version stored_versions := explained_version(held, NULL);
    others jsonb := (SELECT COALESCE(jsonb_agg(e ORDER BY e), '[]') FROM jsonb_array_elements(version.options -> 'pinned') e WHERE e <> to_jsonb(cluster));
BEGIN
    IF cluster IS NULL OR cluster NOT BETWEEN 0 AND clusters(version.operator) - 1 THEN
        RAISE invalid_parameter_value USING MESSAGE = format('cluster is %s, out of range', COALESCE(cluster::text, 'NULL')),
            DETAIL = format('Model "%s" has clusters 0 to %s.', held.model, clusters(version.operator) - 1);
    ELSIF version.method <> 'kmeans' THEN
        RAISE feature_not_supported USING MESSAGE = format('method "%s" moves all clusters: none can be pinned', version.method), HINT = 'Methods with pinned clusters are auto, kmeans.';
    END IF;
    IF pinned THEN
        others := others || to_jsonb(cluster);
    END IF;
    UPDATE version_parts v SET options = CASE others WHEN '[]' THEN v.options - 'pinned' ELSE v.options || jsonb_build_object('pinned', others) END
     WHERE v.model_id = held.id AND v.version = held.version;
END
$$;
COMMENT ON FUNCTION pin_cluster(text, integer, boolean) IS 'keep the centroid of a cluster in all retrains, or no longer';

-- explain: clusters in the words and units of the table

-- A dimension of the rows: the column or part of one that it comes from, the kind of that (number, year, boolean, date, timestamp, interval, category,
-- vector), for a category which of them it tells (1, else 0), the name that people read, "country = DE", and how the core takes it: 0 number, 1 log,
-- 2 days, 3 seconds, 4 a flag.
CREATE FUNCTION fastclust_internal.labelled_features(version stored_versions, OUT dimension integer, OUT feature text, OUT kind text, OUT category text,
        OUT label text, OUT axis_kind integer) RETURNS SETOF record
    LANGUAGE sql STABLE SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
    SELECT f.dimension, f.feature, CASE WHEN f.kind = 'number' AND f.feature ~* '(^|[^a-z])years?([^a-z]|$)' THEN 'year' ELSE f.kind END, f.category, CASE WHEN f.category IS NULL THEN f.feature ELSE format('%s = %s', f.feature, f.category) END,
           CASE WHEN f.transform = 'log' THEN 1 WHEN f.kind = 'date' THEN 2 WHEN f.kind IN ('timestamp', 'interval') THEN 3
                WHEN f.kind IN ('boolean', 'category') THEN 4 ELSE 0 END
      FROM encoder_features(version.encoder) f
    UNION ALL
    SELECT i, format('%s[%s]', version.features[1], i), 'vector', NULL, format('%s[%s]', version.features[1], i), 0
      FROM generate_series(1, cardinality(means(version.training_sketch))) i WHERE version.encoder IS NULL
$$;

-- A value in its own unit as people read it, with four digits or exactly; days and seconds are from 2000-01-01 on.
CREATE FUNCTION fastclust_internal.shown_value(x double precision, kind text, exact boolean) RETURNS text
    AS 'MODULE_PATHNAME', 'fastclust_shown_value' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

-- ---- the profile ----

-- A row per cluster and dimension, of each cluster the `most` of least place, 1 for the one that tells most, and as many of greatest |apart|: the
-- deviations between the centroid and the nearest other one.
CREATE FUNCTION fastclust_internal.profile_of_centroids(op fastop, center double precision[], scale double precision[], means double precision[],
        deviations double precision[], kinds integer[], most integer, OUT cluster integer, OUT dimension integer, OUT value double precision,
        OUT overall double precision, OUT difference double precision, OUT lift double precision, OUT place integer,
        OUT apart double precision) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_profile_of_centroids' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 10000 ROWS 1000;

-- That of a version; none where clusters are of kernel features.
CREATE FUNCTION fastclust_internal.version_profile(version stored_versions, most integer, OUT cluster integer, OUT dimension integer, OUT feature text,
        OUT kind text, OUT category text, OUT label text, OUT value double precision, OUT overall double precision, OUT difference double precision,
        OUT lift double precision, OUT place integer, OUT apart double precision) RETURNS SETOF record
    LANGUAGE sql STABLE ROWS 1000 SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
    WITH f AS MATERIALIZED (SELECT * FROM labelled_features(version))
    SELECT p.cluster, p.dimension, f.feature, f.kind, f.category, f.label, p.value, p.overall, p.difference, p.lift, p.place, p.apart
      FROM profile_of_centroids(version.operator, version.center, version.scale, means(version.training_sketch), stddevs(version.training_sketch),
                                (SELECT array_agg(f.axis_kind ORDER BY f.dimension) FROM f), most) p
      JOIN f USING (dimension)
     WHERE version.map IS NULL
$$;

-- The name that was given to each cluster, or else two phrases, of two columns: the most telling one, and the one that divides it most from its nearest
-- neighbour; a third, and its number, where others would have the same.  Categories that rows have come before those that they have not.
CREATE FUNCTION fastclust_internal.version_names(version stored_versions, OUT cluster integer, OUT name text) RETURNS SETOF record
    LANGUAGE sql STABLE SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
    WITH told AS (
        SELECT p.cluster, p.feature, p.place, min(p.place) OVER feature AS telling, max(abs(p.apart)) OVER feature AS apart,
               p.kind IN ('category', 'boolean') AND p.difference < 0 AS negated, CASE
            WHEN p.kind = 'category' THEN CASE WHEN p.difference > 0 AND p.value >= 0.5 THEN p.label
                                               WHEN p.difference >= 0.5 AND p.value >= 0.2 THEN format('often %s', p.label)
                                               WHEN p.difference <= -0.5 AND p.value < 0.05 THEN format('%s <> %s', p.feature, p.category) END
            WHEN p.kind = 'boolean' THEN CASE WHEN p.difference >= 0.5 AND p.value >= 0.5 THEN p.feature
                                              WHEN p.difference <= -0.5 AND p.value < 0.5 THEN format('not %s', p.feature) END
            WHEN abs(p.difference) < 0.5 THEN CASE WHEN abs(p.apart) >= 1 THEN format('average %s', p.feature) END
            ELSE format('%s%s %s', CASE WHEN abs(p.difference) >= 1.5 THEN 'very ' ELSE '' END,
                        CASE WHEN p.kind IN ('date', 'timestamp') THEN CASE WHEN p.difference > 0 THEN 'late' ELSE 'early' END
                             WHEN p.kind = 'interval' THEN CASE WHEN p.difference > 0 THEN 'long' ELSE 'short' END
                             WHEN p.difference > 0 THEN 'high' ELSE 'low' END, p.feature) END AS words
          FROM version_profile(version, 20) p WHERE p.difference IS NOT NULL WINDOW feature AS (PARTITION BY p.cluster, p.feature)),
    phrases AS (
        SELECT DISTINCT ON (t.cluster, t.feature) t.* FROM told t WHERE t.words IS NOT NULL ORDER BY t.cluster, t.feature, t.negated, t.place),
    told_first AS (
        SELECT p.*, row_number() OVER (PARTITION BY p.cluster ORDER BY p.words LIKE 'average %', p.negated, p.telling) AS first FROM phrases p),
    ordered AS (
        SELECT p.cluster, p.words, p.negated, row_number() OVER (PARTITION BY p.cluster ORDER BY p.first > 1, p.apart < 0.5, p.negated, p.apart DESC, p.telling) AS i FROM told_first p),
    named AS (
        SELECT c.cluster, string_agg(o.words, ', ' ORDER BY o.negated, o.i) FILTER (WHERE o.i <= 2) AS two, string_agg(o.words, ', ' ORDER BY o.negated, o.i) AS three
          FROM generate_series(0, clusters(version.operator) - 1) c(cluster) LEFT JOIN ordered o ON o.cluster = c.cluster AND o.i <= 3 GROUP BY 1),
    chosen AS (
        SELECT n.cluster, COALESCE(CASE WHEN count(*) OVER (PARTITION BY n.two) = 1 THEN n.two ELSE n.three END, 'average') AS name FROM named n)
    SELECT n.cluster, COALESCE(g.name, CASE WHEN version.map IS NOT NULL THEN format('cluster %s', n.cluster)
                                            WHEN count(*) OVER (PARTITION BY n.name) = 1 THEN n.name ELSE format('%s (%s)', n.name, n.cluster) END)
      FROM chosen n
      LEFT JOIN readable_names g ON g.model_id = version.model_id AND g.group_value = version.group_value AND g.cluster = n.cluster AND g.features = version.features
     ORDER BY 1
$$;

CREATE FUNCTION fastclust_internal.check_has_features(version stored_versions) RETURNS void
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
BEGIN
    IF version.map IS NOT NULL THEN
        RAISE wrong_object_type USING MESSAGE = format('model "%s" is of method kernel: its centroids have no features', version.model),
            HINT = 'Use cluster_rules or typical_rows, which describe its clusters by rows of the table.';
    END IF;
END
$$;

CREATE FUNCTION profile(model text, group_value anycompatible DEFAULT NULL, OUT cluster integer, OUT name text, OUT feature text, OUT value double precision,
        OUT overall double precision, OUT difference double precision, OUT lift double precision, OUT shown text) RETURNS SETOF record
    LANGUAGE fastclust STABLE ROWS 100 SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
DECLARE
    version stored_versions := explained_version(readable_model($1), group_text($2));
BEGIN
    PERFORM check_has_features(version);
    RETURN QUERY SELECT p.cluster, n.name, p.label, p.value, p.overall, p.difference, p.lift, shown_value(p.value, p.kind, false)
      FROM version_profile(version, 2147483647) p JOIN version_names(version) n USING (cluster) ORDER BY p.cluster, p.place;
END
$$;
COMMENT ON FUNCTION profile(text, anycompatible)
    IS 'the features that distinguish each cluster: a row per cluster and feature, in the unit of the table, most distinctive first; group_value names a group';

-- rules: conditions on columns that the rows of a cluster have in common

-- Rules for the labels that op gives to space_rows by values of raw_rows, which come in random order; kinds: 0 number, 1 log, 2 days, 3 seconds,
-- 4 flag.  lower < value <= upper, or an infinity; is_short: beside those of the tree; fidelity is measured on rows that were not learned from.
CREATE FUNCTION fastclust_internal.rules_of_sample(op fastop, space_rows fastop, raw_rows fastop, kinds integer[], columns integer[], conditions integer,
        OUT cluster integer, OUT dimensions integer[], OUT lower double precision[], OUT upper double precision[], OUT is_short boolean,
        OUT fidelity double precision) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_rules_of_sample' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000000 ROWS 20;

-- The condition of SQL that asks for ranges of one feature, whose dimensions these are; dates and times as they are shown.
CREATE FUNCTION fastclust_internal.feature_condition(encoder encoder, relation regclass, dimensions integer[], lower double precision[], upper double precision[],
        lower_shown text[], upper_shown text[]) RETURNS text
    AS 'MODULE_PATHNAME', 'fastclust_feature_condition' LANGUAGE C STABLE STRICT;

-- The rules in words and as conditions, measured by these on about a million rows.  Categories of one column are one condition: that which rows have, or those which they have not.
CREATE FUNCTION fastclust_internal.version_rules(held stored_models, version stored_versions, conditions integer, relation regclass, OUT cluster integer, OUT rule text,
        OUT "precision" double precision, OUT coverage double precision, OUT share double precision, OUT fidelity double precision, OUT condition text)
    RETURNS SETOF record
    LANGUAGE plpgsql SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
DECLARE
    dimension integer := cardinality(means(version.training_sketch));
    scanned regclass := scanned_relation(held, version, relation, held.group_by);
    sample fastop := rows_sampled(version, scanned, held.group_by, greatest(least(20000, 1e7 / dimension), 2000, 100.0 * clusters(version.operator)));
    source record := version_query(version, scanned, held.group_by, 1e6);
    encoder encoder := COALESCE(version.encoder, encoder_of_vector(version.features[1], dimension, NULL, NULL));
    told record;
BEGIN
    WITH f AS MATERIALIZED (SELECT l.*, dense_rank() OVER (ORDER BY l.feature) AS number FROM labelled_features(version) l),
    r AS MATERIALIZED (
        SELECT q.*, row_number() OVER () AS id
          FROM rules_of_sample(COALESCE(version.micro_clusters, version.operator), rows_of_version(version, sample), sample, (SELECT array_agg(f.axis_kind ORDER BY f.dimension) FROM f),
                               (SELECT array_agg(f.number ORDER BY f.dimension)::integer[] FROM f), conditions) q),
    asked AS (
        SELECT r.id, f.feature, f.kind, min(u.i) AS place, max(u.lower) AS lower, min(u.upper) AS upper,
               max(f.label) FILTER (WHERE u.lower > '-Infinity') AS is, array_agg(f.category ORDER BY u.i) AS is_not,
               feature_condition(encoder, scanned, array_agg(u.dimension ORDER BY u.i), array_agg(u.lower ORDER BY u.i), array_agg(u.upper ORDER BY u.i),
                                 array_agg(shown_value(u.lower, f.kind, true) ORDER BY u.i), array_agg(shown_value(u.upper, f.kind, true) ORDER BY u.i)) AS condition
          FROM r, unnest(r.dimensions, r.lower, r.upper) WITH ORDINALITY u(dimension, lower, upper, i) JOIN f USING (dimension) GROUP BY 1, 2, 3),
    words AS (
        SELECT a.id, string_agg(a.condition, ' AND ' ORDER BY a.place) AS condition, string_agg(CASE
            WHEN a.kind IN ('category', 'boolean') AND a.is IS NOT NULL THEN a.is
            WHEN a.kind = 'boolean' THEN format('not %s', a.feature)
            WHEN a.kind = 'category' AND cardinality(a.is_not) = 1 THEN format('%s <> %s', a.feature, a.is_not[1])
            WHEN a.kind = 'category' THEN format('%s not in (%s)', a.feature, array_to_string(a.is_not, ', '))
            WHEN a.upper = 'Infinity' THEN format('%s > %s', a.feature, shown_value(a.lower, a.kind, true))
            WHEN a.lower = '-Infinity' THEN format('%s <= %s', a.feature, shown_value(a.upper, a.kind, true))
            ELSE format('%s < %s <= %s', shown_value(a.lower, a.kind, true), a.feature, shown_value(a.upper, a.kind, true)) END, ' and ' ORDER BY a.place) AS rule
          FROM asked a GROUP BY 1)
    SELECT array_agg(r.cluster ORDER BY id) AS clusters, array_agg(COALESCE(w.rule, 'all rows') ORDER BY id) AS rules, max(r.fidelity) AS fidelity,
           array_agg(COALESCE(w.condition, 'true') ORDER BY id) AS conditions, array_agg(r.is_short ORDER BY id) AS shorts
      INTO told FROM r LEFT JOIN words w USING (id);
    -- a short rule is one at a precision of 0.8
    RETURN QUERY EXECUTE format('WITH q AS MATERIALIZED (SELECT q."fastclust cluster" AS cluster, count(*) AS n, ARRAY[%s] AS met FROM (SELECT assign($4, %s) AS "fastclust cluster"%s %s) q GROUP BY 1), '
            'r AS (SELECT t.*, sum(q.met[t.id]) AS met, sum(q.n) AS rows, max(q.met[t.id]) FILTER (WHERE q.cluster = t.cluster) AS hit, max(q.n) FILTER (WHERE q.cluster = t.cluster) AS n '
            'FROM unnest($5, $6, $7, $8) WITH ORDINALITY t(cluster, rule, condition, short, id) CROSS JOIN q GROUP BY t.id, t.cluster, t.rule, t.condition, t.short) '
            'SELECT r.cluster, r.rule, r.hit / NULLIF(r.met, 0)::float8, r.hit / r.n::float8, (r.met / r.rows)::float8, $9, r.condition FROM r WHERE NOT r.short OR r.hit >= 0.8 * r.met',
            (SELECT string_agg(format('count(*) FILTER (WHERE %s)', c.condition), ', ' ORDER BY c.i) FROM unnest(told.conditions) WITH ORDINALITY c(condition, i)),
            source.x, (SELECT string_agg(format(', t.%I', c), '') FROM unnest(version.features) c), source.rows)
        USING version.center, version.scale, version.map, COALESCE(version.micro_clusters, version.operator), told.clusters, told.rules, told.conditions, told.shorts, told.fidelity;
END
$$;

CREATE FUNCTION cluster_rules(model text, conditions integer DEFAULT 4, relation regclass DEFAULT NULL, group_value anycompatible DEFAULT NULL, OUT cluster integer,
        OUT name text, OUT rule text, OUT "precision" double precision, OUT coverage double precision, OUT rows bigint, OUT fidelity double precision, OUT condition text)
    RETURNS SETOF record
    LANGUAGE fastclust STABLE ROWS 10 SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
DECLARE
    held stored_models := readable_model($1);
    version stored_versions := explained_version(held, group_text($4));
BEGIN
    IF $2 IS NULL THEN
        RAISE null_value_not_allowed USING MESSAGE = 'conditions must not be NULL';
    ELSIF $2 NOT BETWEEN 1 AND 10 THEN
        RAISE invalid_parameter_value USING MESSAGE = format('conditions is %s, out of range', $2), DETAIL = 'It may be from 1 to 10.';
    END IF;
    RETURN QUERY
    SELECT n.cluster, n.name, COALESCE(r.rule, format('no rule of %s tells this cluster', CASE WHEN $2 = 1 THEN 'one column' ELSE format('%s columns or fewer', $2) END)), r.precision, COALESCE(r.coverage, 0),
           COALESCE(round(r.share * version.n)::bigint, 0), max(r.fidelity) OVER (), r.condition
      FROM version_names(version) n LEFT JOIN version_rules(held, version, $2, $3) r USING (cluster)
     ORDER BY n.cluster, r.coverage DESC, r.share DESC;
END
$$;
COMMENT ON FUNCTION cluster_rules(text, integer, regclass, anycompatible)
    IS 'short rules that describe the clusters of a model by a few conditions on columns, learned on a sample of the table, with the share of labels that they reproduce';

-- levels and trees of the clusters of a model

CREATE FUNCTION predict_path(model text, x "any", group_value anycompatible DEFAULT NULL, version integer DEFAULT -1) RETURNS integer[]
    AS 'MODULE_PATHNAME', 'fastclust_predict_path' LANGUAGE C STABLE PARALLEL SAFE COST 200 SUPPORT vector_support;
COMMENT ON FUNCTION predict_path(text, "any", anycompatible, integer) IS 'the number of the row''s node on each level of a model, from the top down; the last is the number that predict returns';

-- Level 1 is the top; without levels there is one.
CREATE FUNCTION fastclust_internal.version_levels(version stored_versions, OUT level integer, OUT node integer, OUT parent integer, OUT share double precision,
        OUT centroid double precision[]) RETURNS SETOF record
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
DECLARE
    k integer := clusters(version.operator);
    above integer := COALESCE(array_length(version.paths, 2), 0);
    total float8 := (SELECT NULLIF(sum(c.weight), 0) FROM centroids(version.operator) c);
    numbers integer[];
    parents integer[];
BEGIN
    FOR l IN 1 .. above + 1 LOOP
        numbers := ARRAY(SELECT CASE WHEN l > above THEN j - 1 ELSE version.paths[j][l] END FROM generate_series(1, k) j ORDER BY j);
        parents := (SELECT array_agg(q.parent ORDER BY q.node)
                      FROM (SELECT DISTINCT u.n AS node, CASE WHEN l > 1 THEN version.paths[u.j][l - 1] END AS parent FROM unnest(numbers) WITH ORDINALITY u(n, j)) q);
        RETURN QUERY SELECT l, c.cluster, parents[c.cluster + 1], c.weight / total, c.centroid
                       FROM centroids(operator_in_units(joined_clusters(version.operator, numbers), version.center, version.scale, NULL, NULL)) c;
    END LOOP;
END
$$;

-- The tree of the clusters of a version: splits of its densities, or else Ward's.
CREATE FUNCTION fastclust_internal.version_joins(version stored_versions, OUT step integer, OUT "left" integer, OUT "right" integer, OUT height double precision,
        OUT weight double precision) RETURNS SETOF record
    LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
    SELECT i, version.splits[4 * i - 3]::integer, version.splits[4 * i - 2]::integer, version.splits[4 * i - 1], version.splits[4 * i]
      FROM generate_series(1, cardinality(version.splits) / 4) i
    UNION ALL
    SELECT j.* FROM cluster_joins(version.operator) j WHERE version.splits IS NULL
$$;

CREATE FUNCTION cluster_tree(model text, group_value anycompatible DEFAULT NULL, OUT level integer, OUT node integer, OUT parent integer, OUT height double precision,
        OUT n bigint, OUT share double precision, OUT centroid double precision[]) RETURNS SETOF record
    LANGUAGE fastclust STABLE ROWS 100 SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
DECLARE
    version stored_versions := explained_version(readable_model($1), group_text($2));
    k integer := clusters(version.operator);
    total float8 := (SELECT NULLIF(sum(c.weight), 0) FROM centroids(version.operator) c);
BEGIN
    RETURN QUERY
    WITH clusters AS (SELECT l.level, l.node, l.parent, l.share, CASE WHEN version.map IS NULL THEN l.centroid END AS centroid FROM version_levels(version) l),
    joins AS MATERIALIZED (SELECT k + j.step - 1 AS node, j."left", j."right", j.height, j.weight / total AS share
                             FROM version_joins(version) j WHERE version.paths IS NULL),
    nodes AS (SELECT CASE WHEN version.paths IS NOT NULL THEN c.level END AS level, c.node, COALESCE(j.node, c.parent) AS parent,
                     CASE WHEN version.paths IS NULL THEN 0::float8 END AS height, c.share, c.centroid
                FROM clusters c LEFT JOIN joins j ON c.node IN (j."left", j."right")
              UNION ALL
              SELECT NULL, c.node, j.node, c.height, c.share, NULL FROM joins c LEFT JOIN joins j ON c.node IN (j."left", j."right"))
    SELECT t.level, t.node, t.parent, t.height, round(clustered_rows(version) * t.share)::bigint, t.share, t.centroid FROM nodes t ORDER BY t.level, t.node;
END
$$;
COMMENT ON FUNCTION cluster_tree(text, anycompatible)
    IS 'the tree of the clusters: of a model with levels the nodes of each, level 1 the top; else clusters joined two by two by Ward''s criterion, node k + i - 1 by step i; of method density by the densest valley between them';

CREATE FUNCTION merge_small_clusters(op fastop, min_share double precision) RETURNS fastop
    LANGUAGE fastclust IMMUTABLE STRICT SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
DECLARE
    k integer := clusters(op);
    shares float8[] := (SELECT array_agg(c.weight / t.total ORDER BY c.cluster) FROM centroids(op) c, (SELECT NULLIF(sum(w.weight), 0) AS total FROM centroids(op) w) t);
    tops integer[] := ARRAY(SELECT generate_series(0, clusters(op) - 1));
    node_join record;
BEGIN
    IF NOT min_share BETWEEN 0 AND 1 THEN
        RAISE invalid_parameter_value USING MESSAGE = format('min_share is %s, out of range', min_share), DETAIL = 'It is a share of the rows, between 0 and 1.';
    END IF;
    -- a node that is large enough stays as it is; a small one takes the node that Ward's tree joins it to
    FOR node_join IN SELECT * FROM cluster_joins(op) ORDER BY step LOOP
        shares := shares || shares[node_join."left" + 1] + shares[node_join."right" + 1];
        IF least(shares[node_join."left" + 1], shares[node_join."right" + 1]) < min_share THEN
            tops := ARRAY(SELECT CASE WHEN t IN (node_join."left", node_join."right") THEN k + node_join.step - 1 ELSE t END
                            FROM unnest(tops) WITH ORDINALITY u(t, i) ORDER BY i);
        END IF;
    END LOOP;
    RETURN joined_clusters(op, (SELECT array_agg(r.number ORDER BY u.i) FROM unnest(tops) WITH ORDINALITY u(t, i)
                                  JOIN (SELECT q.t, row_number() OVER (ORDER BY min(q.i))::integer - 1 AS number
                                          FROM unnest(tops) WITH ORDINALITY q(t, i) GROUP BY 1) r USING (t)));
END
$$;
COMMENT ON FUNCTION merge_small_clusters(fastop, double precision)
    IS 'the operator with clusters of less than a share of the rows joined to those that Ward''s tree joins them to';

-- index service: centroids for an index that is built elsewhere, and whether an index has gone stale

CREATE FUNCTION index_centroids(model text, OUT id integer, OUT parent integer, OUT vector real[]) RETURNS SETOF record
    LANGUAGE fastclust STABLE ROWS 1000 SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
DECLARE
    version stored_versions := explained_version(readable_model($1), NULL);
BEGIN
    PERFORM check_has_features(version);
    IF version.method = 'density' THEN
        RAISE feature_not_supported USING MESSAGE = format('index_centroids gives cells about centroids, and clusters of model "%s" may have any shape', $1),
            HINT = 'Train a model of method kmeans, whose centroids an index can take.';
    END IF;
    IF version.paths IS NULL THEN
        RETURN QUERY SELECT l.node, NULL::integer, l.centroid::real[] FROM version_levels(version) l ORDER BY 1;
        RETURN;
    END IF;
    RETURN QUERY
    WITH nodes AS MATERIALIZED (SELECT l.*, row_number() OVER (ORDER BY l.level, l.node)::integer AS number FROM version_levels(version) l)
    SELECT 0, NULL::integer, means(version.training_sketch)::real[]
    UNION ALL
    SELECT n.number, COALESCE(p.number, 0), n.centroid::real[] FROM nodes n LEFT JOIN nodes p ON p.level = n.level - 1 AND p.node = n.parent ORDER BY 1;
END
$$;
COMMENT ON FUNCTION index_centroids(text)
    IS 'the centroids as VectorChord''s external build takes them: a flat list without parents, or for a model with levels a tree with one root';

-- ---- index_health ----

-- Two sketches to compare with their null law, the model's or that of rows of now; and their counts, where the model has counted both.
CREATE FUNCTION fastclust_internal.sketches_to_compare(relation regclass, "column" name, version stored_versions, INOUT at_build sketch, INOUT present sketch,
        OUT null_moments double precision[], OUT spec drift_spec, OUT trained drift_counts, OUT counts drift_counts, OUT n bigint)
    LANGUAGE plpgsql SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
DECLARE
    of_model boolean := version.operator IS NOT NULL AND (at_build IS NULL OR spec(version.training_sketch) = spec(at_build));
    live kept_sketches := CASE WHEN of_model THEN live_of_version(version) END;
BEGIN
    IF at_build IS NULL THEN
        at_build := version.training_sketch;
        trained := version.drift_counts;
        spec := version.drift_spec;
    END IF;
    IF NOT spec(present) = spec(at_build) THEN
        RAISE data_exception USING MESSAGE = 'present was not made with the sketch_spec of at_build',
            HINT = 'Make both by sketch_agg(x, ...) with one spec; that of a model is model_spec(model).';
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
        SELECT r.s, r.counts, r.n INTO present, counts, n FROM sketch_rows(version, relation, NULL) r;
    END IF;
    n := COALESCE(n, row_count(present), 0);
    IF has_all_dimensions(spec(at_build)) THEN
        null_moments := COALESCE(version.null_moments, CASE WHEN row_count(present) > 0 THEN
                                 sample_null_moments(rows_sampled(version, relation, NULL, 5000), spec(at_build)) END);
    ELSIF trained IS NULL OR counts IS NULL AND present IS NOT NULL THEN
        RAISE feature_not_supported USING MESSAGE = 'sketches of axes of a sample do not show whether rows have changed',
            HINT = 'Leave at_build and present out, or make them with the model_spec of a model of method "kmeans".';
    END IF;
END
$$;

CREATE FUNCTION index_health(relation regclass, "column" name, at_build sketch DEFAULT NULL, present sketch DEFAULT NULL, probes integer DEFAULT NULL,
        OUT model text, OUT rows_at_build bigint, OUT rows_now bigint, OUT mmd2 double precision, OUT p_value double precision, OUT effect double precision,
        OUT worn_share double precision, OUT recall_at_build double precision, OUT recall_now double precision, OUT recall_loss double precision,
        OUT read_share double precision, OUT verdict text, OUT statement text)
    LANGUAGE fastclust SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
DECLARE
    version stored_versions;
    relation_name text;
    compared record;
    measured record;
BEGIN
    IF $1 IS NULL OR $2 IS NULL THEN
        RAISE null_value_not_allowed USING MESSAGE = format('%s must not be NULL', CASE WHEN $1 IS NULL THEN 'relation' ELSE 'column' END);
    ELSIF $5 < 1 THEN
        RAISE invalid_parameter_value USING MESSAGE = format('probes is %s, out of range', $5), DETAIL = 'It is a number of buckets, 1 or more.';
    END IF;
    relation_name := (row_expressions($1, ARRAY[$2], true, NULL, NULL)).relation_name;
    -- The version whose buckets stand for those of an index on the column: the caller's own or that of the table's owner before those of others, then one
    -- whose training measured the recall, then the latest.  None of a role that may not read the column: it only says that it was trained on it.
    SELECT v.* INTO version FROM readable_models m JOIN readable_versions v ON v.model_id = m.id AND v.version = m.version,
           (SELECT r.oid AS caller, c.relowner FROM pg_roles r, pg_class c WHERE r.rolname = current_user AND c.oid = $1) o
     WHERE m.group_by IS NULL AND v.vector AND v.features = ARRAY[$2] AND v.relation = relation_name AND has_column_privilege(m.owner_id, $1, $2, 'SELECT')
     ORDER BY m.owner_id IN (o.caller, o.relowner) DESC, is_member(m.owner_id, o.caller) DESC, v.recall IS NULL, v.trained_at DESC, v.model_id DESC LIMIT 1;
    IF version.operator IS NOT NULL THEN
        PERFORM scanned_relation(readable_model(version.model), version, $1, NULL);
    ELSIF $3 IS NULL THEN
        RAISE object_not_in_prerequisite_state USING MESSAGE = format('no model was trained on column "%s" of %s, and at_build is NULL', $2, $1),
            HINT = 'Give the sketch of the rows the index was built from: at_build => ..., or train a model on the column.';
    END IF;
    compared := sketches_to_compare($1, $2, version, $3, $4);
    model := version.model;
    rows_at_build := row_count(compared.at_build);
    rows_now := compared.n;
    SELECT t.mmd2, t.p_value, t.effect, t.verdict INTO mmd2, p_value, effect, verdict
      FROM drift_test(compared.spec, CASE WHEN compared.counts IS NOT NULL THEN compared.trained END, CASE WHEN compared.trained IS NOT NULL THEN compared.counts END,
                      compared.at_build, compared.present, compared.null_moments, 0.01, 0.1) t;
    verdict := COALESCE(verdict, 'too few rows');
    IF version.operator IS NOT NULL AND rows_now > 1 THEN
        measured := bucket_recall(version.operator, rows_of_version(version, rows_sampled(version, $1, NULL, 6000)), rows_now,
                                  least(COALESCE($5, (version.options ->> 'probes')::float8::integer, ceil(sqrt(clusters(version.operator)) / 2)::integer),
                                        clusters(version.operator)));
        -- the share of the sampled rows in buckets that no longer fit: those that hold more than twice their share, or whose rows are at 1.5 times
        -- the mean squared distance; both beyond three standard deviations of chance
        worn_share := (SELECT COALESCE(sum(b.count) FILTER (WHERE b.count > 2 * b.expected + 3 * sqrt(2 * b.expected) + 3
                                                               OR b.square > (1.5 + 3 / sqrt(b.count)) * b.count * b.variance), 0) / sum(b.count)
                         FROM (SELECT u.count, u.square, dim(version.operator) * u.spread ^ 2 AS variance,
                                      (SELECT sum(n) FROM unnest(measured.counts) n) * c.weight / (SELECT sum(w.weight) FROM centroids(version.operator) w) AS expected
                                 FROM unnest(measured.counts, measured.squares, version.spreads) WITH ORDINALITY u(count, square, spread, i)
                                 JOIN centroids(version.operator) c ON c.cluster = u.i - 1
                                WHERE u.count > 0) b);
        recall_now := measured.recall;
        read_share := measured.read_share;
        recall_at_build := CASE WHEN $5 IS NULL OR $5 = (version.options ->> 'probes')::float8 THEN version.recall END;
        recall_loss := recall_at_build - recall_now;
    END IF;
    -- The model, where the caller may retrain it, and indexes that keep lists of rows by centroids, one statement a line: REINDEX CONCURRENTLY
    -- runs in no transaction with another.
    statement := CASE WHEN verdict = 'drifted' THEN NULLIF(concat_ws(E'\n',
        (SELECT format('SELECT %I.retrain(%L);', 'fastclust', m.model) FROM own_models m WHERE m.model = version.model),
        (SELECT string_agg(format('REINDEX INDEX CONCURRENTLY %I.%I;', n.nspname, c.relname), E'\n' ORDER BY n.nspname, c.relname)
           FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_am a ON a.oid = c.relam
          WHERE i.indrelid = $1 AND a.amname IN ('ivfflat', 'vchordrq')
            AND EXISTS (SELECT FROM pg_depend d JOIN pg_attribute t ON t.attrelid = d.refobjid AND t.attnum = d.refobjsubid    -- itself, or in an expression
                         WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.refclassid = 'pg_class'::regclass AND d.refobjid = $1
                           AND t.attname = $2))), '') END;
END
$$;
COMMENT ON FUNCTION index_health(regclass, name, sketch, sketch, integer)
    IS 'whether an index of buckets on a column is stale: compares the sketch of its build with the present rows, measures the recall on a sample, and returns the statement to run';

-- rows and scores of clusters: one scan each

CREATE TYPE fastclust_internal.typical_row AS (cluster integer, rank integer, distance double precision, row_data jsonb);
CREATE FUNCTION fastclust_internal.nearest_rows_final(internal) RETURNS typical_row[]
    AS 'MODULE_PATHNAME', 'fastclust_nearest_rows_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.nearest_rows_accum(internal, fastop, "any", record, integer) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_nearest_rows_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE AGGREGATE fastclust_internal.nearest_rows_agg(op fastop, x "any", row_data record, n integer) (SFUNC = nearest_rows_accum, STYPE = internal,
    SSPACE = 65536, FINALFUNC = nearest_rows_final, FINALFUNC_MODIFY = READ_ONLY);

CREATE FUNCTION typical_rows(model text, n integer DEFAULT 3, relation regclass DEFAULT NULL, group_value anycompatible DEFAULT NULL, OUT cluster integer,
        OUT rank integer, OUT distance double precision, OUT row_data jsonb) RETURNS SETOF record
    LANGUAGE fastclust STABLE ROWS 30 SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
DECLARE
    held stored_models := readable_model($1);
    version stored_versions := explained_version(held, group_text($4));
    scanned regclass := scanned_relation(held, version, $3, held.group_by);
    source record;
BEGIN
    IF $2 IS NULL THEN
        RAISE null_value_not_allowed USING MESSAGE = 'n must not be NULL';
    ELSIF $2 NOT BETWEEN 1 AND 1000 THEN
        RAISE invalid_parameter_value USING MESSAGE = format('n is %s, out of range', $2), DETAIL = 'It may be from 1 to 1000.';
    END IF;
    -- whole rows are read, and columns of any type written as JSON: all columns are checked as those that the version names
    PERFORM check_stored_scan(held, version, scanned, ARRAY(SELECT a.attname FROM pg_attribute a WHERE a.attrelid = scanned AND a.attnum > 0 AND NOT a.attisdropped), $3 IS NOT NULL);
    source := version_query(version, scanned, held.group_by);
    RETURN QUERY EXECUTE format('SELECT r.* FROM (SELECT nearest_rows_agg($4, %s, t.*, $5) AS rows %s) q, unnest(q.rows) r', source.x, source.rows)
        USING version.center, version.scale, version.map, COALESCE(version.micro_clusters, version.operator), $2;
END
$$;
COMMENT ON FUNCTION typical_rows(text, integer, regclass, anycompatible) IS 'the n rows of the table that are nearest to each centroid, whole, nearest first';

-- The last row, of cluster NULL, is of all clusters; n counts rows of the sample.
CREATE FUNCTION fastclust_internal.quality_of_sample(op fastop, sample fastop, OUT cluster integer, OUT n double precision, OUT share double precision,
        OUT silhouette double precision, OUT davies_bouldin double precision, OUT spread double precision, OUT variance_explained double precision)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_quality_of_sample' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000000 ROWS 10;

-- The share of the rows with another label by new than by old; `moved`, new in the units of old, where these are of one space: clusters that continue
-- those of the other take their numbers first, as in a retrain.
CREATE FUNCTION fastclust_internal.changed_labels(old fastop, old_rows fastop, new fastop, new_rows fastop, moved fastop) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_labels_changed' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100000;

CREATE FUNCTION score(model text, relation regclass DEFAULT NULL, group_value anycompatible DEFAULT NULL, INOUT version integer DEFAULT -1, OUT cluster integer,
        OUT name text, OUT n bigint, OUT share double precision, OUT silhouette double precision, OUT davies_bouldin double precision,
        OUT spread double precision, OUT variance_explained double precision, OUT labels_changed double precision) RETURNS SETOF record
    LANGUAGE fastclust STABLE ROWS 10 SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
DECLARE
    held stored_models := readable_model($1);
    measured stored_models := CASE WHEN $4 = -1 THEN held ELSE at_version(held, $4) END;
    part stored_versions := explained_version(measured, group_text($3));
    sample fastop := rows_sampled(part, scanned_relation(measured, part, $2, measured.group_by), measured.group_by, least(50000, greatest(5000, 2e10 / clusters(part.operator) / dim(part.operator))));
    current stored_versions;
    changed float8;
BEGIN
    IF part.micro_clusters IS NOT NULL THEN
        RAISE feature_not_supported USING MESSAGE = format('score measures how round and far apart clusters are, and those of model "%s" may have any shape', $1),
            HINT = 'predict_probabilities gives the membership of rows, and cluster_tree how far apart clusters are.';
    END IF;
    -- beside it the current version, where both take the same coordinates of rows
    SELECT v.* INTO current FROM readable_versions v
     WHERE v.model_id = held.id AND v.version = held.version AND v.version <> part.version AND v.micro_clusters IS NULL AND v.group_value = part.group_value AND held.group_by IS NOT DISTINCT FROM measured.group_by
       AND (SELECT array_agg(f::text ORDER BY f.dimension) FROM labelled_features(ROW(v.*)::stored_versions) f) = (SELECT array_agg(f::text ORDER BY f.dimension) FROM labelled_features(part) f);
    changed := changed_labels(current.operator, rows_of_version(current, sample), part.operator, rows_of_version(part, sample),
                              CASE WHEN part.map IS NULL AND current.map IS NULL THEN operator_in_units(part.operator, part.center, part.scale, current.center, current.scale) END);
    RETURN QUERY
    SELECT v.version, q.cluster, names.name, COALESCE(round(q.share * clusters(sample))::bigint, 0), q.share, q.silhouette, q.davies_bouldin, q.spread, q.variance_explained,
           CASE WHEN q.cluster IS NULL AND v.version = part.version THEN changed END
      FROM unnest(ARRAY[part, current]) v CROSS JOIN LATERAL quality_of_sample(v.operator, rows_of_version(v, sample)) q LEFT JOIN LATERAL version_names(v) names USING (cluster)
     WHERE v.version IS NOT NULL ORDER BY q.cluster NULLS LAST, v.version;
END
$$;
COMMENT ON FUNCTION score(text, regclass, anycompatible, integer) IS 'how compact and how well separated each cluster is, and in the row without a cluster all of them; of another version also the share of labels it would change, and the current one beside';

-- topics: clusters named by the words of a column of text

-- Class-based TF-IDF (Grootendorst 2022, BERTopic): of a word with f of all words, and the share p of those of a cluster, p log(1 + m / f), m words a
-- cluster on average.  Words are those of which the configuration makes lexemes, and are shown in their most frequent form.  Texts nearest to the centroids tell the topic, too.
CREATE FUNCTION name_topics(model text, text_column name, words integer DEFAULT 5, group_value anycompatible DEFAULT NULL, bigrams boolean DEFAULT false, configuration regconfig DEFAULT NULL,
        OUT cluster integer, OUT name text, OUT top_words text[], OUT texts text[]) RETURNS SETOF record
    LANGUAGE fastclust ROWS 10 SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
DECLARE
    held stored_models := readable_model($1);
    version stored_versions := explained_version(held, group_text($4));
    scanned regclass := scanned_relation(held, version, NULL, held.group_by);
    source record := version_query(version, scanned, held.group_by, greatest(20000, 200 * clusters(version.operator)));
    used regconfig := COALESCE($6, get_current_ts_config());
    type regtype := (SELECT a.atttypid FROM pg_attribute a WHERE a.attrelid = scanned AND a.attname = $2 AND a.attnum > 0 AND NOT a.attisdropped);
    one record;
BEGIN
    IF $2 IS NULL THEN
        RAISE null_value_not_allowed USING MESSAGE = 'text_column must not be NULL';
    ELSIF type IS NULL OR (SELECT t.typcategory <> 'S' FROM pg_type t WHERE t.oid = type) THEN
        RAISE EXCEPTION USING ERRCODE = CASE WHEN type IS NULL THEN 'undefined_column' ELSE 'datatype_mismatch' END, MESSAGE = CASE WHEN type IS NULL THEN format('column "%s" of %s does not exist', $2, scanned)
                                                    ELSE format('column "%s" of %s is of type %s, not text', $2, scanned, type) END,
            HINT = COALESCE((SELECT format('Columns of text are %s.', string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum)) FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
                     WHERE a.attrelid = scanned AND a.attnum > 0 AND NOT a.attisdropped AND t.typcategory = 'S' HAVING count(*) > 0), 'The table has none.');
    END IF;
    PERFORM check_stored_scan(held, version, scanned, version.features || $2, false);
    IF $3 IS NULL OR $3 NOT BETWEEN 1 AND 20 THEN
        RAISE invalid_parameter_value USING MESSAGE = format('words is %s, out of range', COALESCE($3::text, 'NULL')), DETAIL = 'It may be from 1 to 20.';
    END IF;
    FOR one IN EXECUTE format($query$
        WITH rows AS MATERIALIZED (SELECT row_number() OVER () AS id, q.*, row_number() OVER (PARTITION BY q.cluster ORDER BY q.distance, q.text) AS place
                 FROM (SELECT assign($4, x.x) AS cluster, assign_distance($4, x.x) AS distance, x.text FROM (SELECT %s AS x, t.%I::text AS text %s OFFSET 0) x WHERE x.text IS NOT NULL) q),
             tokens AS MATERIALIZED (SELECT r.id, r.cluster, lower(p.token) AS token, p.i FROM rows r, ts_parse((SELECT c.cfgparser FROM pg_ts_config c WHERE c.oid = $5), r.text) WITH ORDINALITY p(type, token, i)),
             lexemes AS MATERIALIZED (SELECT d.token, l.lexeme FROM (SELECT DISTINCT t.token FROM tokens t WHERE t.token ~ '[[:alpha:]]') d,
                 LATERAL (SELECT min(u.lexeme) AS lexeme FROM unnest(to_tsvector($5, d.token)) u) l WHERE l.lexeme IS NOT NULL),
             kept AS (SELECT t.*, l.lexeme, lead(l.lexeme) OVER line AS next, lead(t.token) OVER line AS next_token FROM tokens t LEFT JOIN lexemes l USING (token)
                       WHERE l.lexeme IS NOT NULL OR t.token ~ '[[:alnum:]]' WINDOW line AS (PARTITION BY t.id ORDER BY t.i)),
             words AS (SELECT k.cluster, k.token, k.lexeme FROM kept k WHERE k.lexeme IS NOT NULL
                       UNION ALL SELECT k.cluster, concat(k.token, ' ', k.next_token), concat(k.lexeme, ' ', k.next) FROM kept k WHERE $6 AND k.lexeme IS NOT NULL AND k.next IS NOT NULL),
             counts AS (SELECT w.cluster, w.lexeme, count(*) AS n, mode() WITHIN GROUP (ORDER BY w.token) AS word FROM words w GROUP BY 1, 2),
             told AS (SELECT c.cluster, c.word, row_number() OVER (PARTITION BY c.cluster ORDER BY c.n * ln(1 + c.mean / c.f) DESC, c.word) AS place
                        FROM (SELECT c.*, sum(c.n) OVER (PARTITION BY c.lexeme) AS f, sum(c.n) OVER () / (SELECT count(DISTINCT cluster) FROM rows) AS mean FROM counts c) c)
        SELECT c.cluster, (SELECT array_agg(t.word ORDER BY t.place) FROM told t WHERE t.cluster = c.cluster AND t.place <= $7) AS words,
               (SELECT array_agg(r.text ORDER BY r.place) FROM rows r WHERE r.cluster = c.cluster AND r.place <= 3) AS texts
          FROM generate_series(0, clusters($4) - 1) c(cluster) ORDER BY 1$query$, source.x, $2, source.rows)
        USING version.center, version.scale, version.map, version.operator, used, COALESCE($5, false), $3
    LOOP
        IF one.words IS NOT NULL AND NOT EXISTS (SELECT FROM readable_names g WHERE (g.model_id, g.group_value, g.cluster) = (held.id, version.group_value, one.cluster) AND g.features = version.features) THEN
            PERFORM name_cluster($1, one.cluster, left(array_to_string(one.words[:3], ', '), 200), group_text($4));
        END IF;
        cluster := one.cluster;
        top_words := one.words;
        texts := one.texts;
        name := (SELECT n.name FROM version_names(version) n WHERE n.cluster = one.cluster);
        RETURN NEXT;
    END LOOP;
END
$$;
COMMENT ON FUNCTION name_topics(text, name, integer, anycompatible, boolean, regconfig)
    IS 'names clusters without a name by their frequent words in a column of text, and returns these words and the texts nearest to the centroids';

-- plot: a model on a terminal

-- A text in exactly so many columns of a terminal, cut or padded on the right, or else on the left.
CREATE FUNCTION fastclust_internal.fit_text(value text, width integer, on_the_left boolean) RETURNS text
    AS 'MODULE_PATHNAME', 'fastclust_fit_text' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
-- A number from 0 to 1 as a bar of at most so many columns, or one from -1 to 1 as a bar on either side of a line.
CREATE FUNCTION fastclust_internal.bar(x double precision, width integer, two_sided boolean) RETURNS text
    AS 'MODULE_PATHNAME', 'fastclust_bar' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION plot(model text, group_value anycompatible DEFAULT NULL) RETURNS text
    LANGUAGE fastclust STABLE SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
DECLARE
    held stored_models := readable_model($1);
    version stored_versions := explained_version(held, group_text($2));
    k integer := clusters(version.operator);
    most CONSTANT integer := 20;
BEGIN
    RETURN concat_ws(E'\n',
        rtrim(fit_text(format('%s%s, version %s: %s cluster%s of %s rows of %s', held.model, CASE WHEN group_text($2) IS NULL THEN '' ELSE format(' (%s)', group_text($2)) END, version.version, k,
              CASE WHEN k = 1 THEN '' ELSE 's' END, shown_value(version.n, 'number', false), version.relation), 100, false)), '',
        -- sizes, and the strongest features of each cluster, where centroids have features; lines of at most 100 columns
        (WITH s AS MATERIALIZED (SELECT z.*, n.name, max(z.share) OVER () AS max_share 
                                       FROM (SELECT c.cluster, round(clustered_rows(version) * c.weight / t.total)::bigint AS size, c.weight / t.total AS share, row_number() OVER (ORDER BY c.weight DESC, c.cluster) AS place
                                               FROM centroids(version.operator) c, (SELECT NULLIF(sum(w.weight), 0) AS total FROM centroids(version.operator) w) t) z JOIN version_names(version) n USING (cluster))
            SELECT concat_ws(E'\n', fit_text('cluster', 44, false) || fit_text('rows', 14, true) || fit_text('share', 8, true),
                (SELECT string_agg(fit_text(s.cluster::text, 6, true) || '  ' || fit_text(s.name, 36, false) || fit_text(COALESCE(shown_value(s.size, 'number', false), ''), 14, true)
                           || fit_text(COALESCE(shown_value(s.share, 'category', false), ''), 8, true) || '  ' || COALESCE(bar(s.share / NULLIF(s.max_share, 0), 32, false), ''), E'\n' ORDER BY s.place)
                   FROM s WHERE s.place <= most),
                (SELECT E'\n' || fit_text('', 38, false) || fit_text('lower than all', 18, true) || ' ' || fit_text('higher', 16, false) || fit_text('in cluster', 13, true) || fit_text('all rows', 14, true)
                           || E'\n' || string_agg(c.lines, E'\n' ORDER BY c.place)
                   FROM (SELECT s.place, fit_text(s.cluster::text, 6, true) || '  ' || rtrim(fit_text(s.name, 92, false)) || E'\n'
                                || string_agg(fit_text('', 8, false) || fit_text(p.label, 31, false) || bar(p.difference / 3, 16, true)
                                              || ' ' || fit_text(shown_value(p.value, p.kind, false), 13, true) || ' ' || fit_text(shown_value(p.overall, p.kind, false), 13, true), E'\n' ORDER BY p.place) AS lines
                           FROM s JOIN version_profile(version, 5) p USING (cluster)
                          WHERE s.place <= most AND p.place <= 5 AND (abs(p.difference) >= 0.1 OR p.place = 1)
                          GROUP BY s.place, s.cluster, s.name) c))),
        CASE WHEN k > most THEN E'\n' || rtrim(fit_text(format('and %s smaller clusters: see profile(%L)', k - most, held.model), 100, false)) END);
END
$$;
COMMENT ON FUNCTION plot(text, anycompatible) IS 'the clusters of a model as text: sizes and differences, as bars, in at most 100 columns';

-- views: the models that a role may read, in plain columns

CREATE VIEW models WITH (security_barrier) AS
    SELECT m.model, COALESCE((SELECT r.rolname FROM pg_roles r WHERE r.oid = m.owner_id), m.owner) AS owner, m.readers, m.version,
           (SELECT count(DISTINCT o.version) FROM stored_versions o WHERE o.model_id = m.id) AS versions,
           v.method, v.relation, v.features, m.group_by, CASE WHEN m.group_by IS NOT NULL THEN v.groups END AS groups,
           v.k, v.dim, v.n, v.objective, v.trained_at, v.note
      FROM readable_models m
     CROSS JOIN LATERAL (
        SELECT min(v.method) AS method, min(v.relation) AS relation, min(v.features::text)::name[] AS features, count(*) AS groups, max(v.k) AS k,
               max(dim(v.operator)) AS dim, CASE WHEN count(*) > 0 THEN least(greatest(sum(v.n), -9223372036854775808), 9223372036854775807)::bigint END AS n,
               sum(v.objective * v.n) FILTER (WHERE v.objective = 0 OR abs(v.objective) BETWEEN 1e-280 AND 1e280) / NULLIF(sum(v.n), 0) AS objective,
               max(v.trained_at) AS trained_at, min(v.note) AS note
          FROM stored_versions v WHERE v.model_id = m.id AND v.version = m.version) v;
COMMENT ON VIEW models IS 'one row per model that its reader may use: the version that predict uses, and how it was trained';
COMMENT ON COLUMN models.model IS 'the name of the model';
COMMENT ON COLUMN models.owner IS 'the role that owns the model: it and its members may change it';
COMMENT ON COLUMN models.readers IS 'roles that may use the model; "public" is everyone';
COMMENT ON COLUMN models.version IS 'the version that predict uses; NULL where only candidates are there';
COMMENT ON COLUMN models.versions IS 'how many versions are kept';
COMMENT ON COLUMN models.method IS 'how that version was trained: compressive, kmeans, qkmeans, kernel or density';
COMMENT ON COLUMN models.relation IS 'the table it was trained on, qualified and quoted';
COMMENT ON COLUMN models.features IS 'the columns that were clustered';
COMMENT ON COLUMN models.group_by IS 'the column by which the model is split; NULL without groups';
COMMENT ON COLUMN models.groups IS 'the number of groups; NULL without groups';
COMMENT ON COLUMN models.k IS 'the number of clusters, of a group where there are groups';
COMMENT ON COLUMN models.dim IS 'the dimension of the rows, or of their kernel features';
COMMENT ON COLUMN models.n IS 'the number of training rows';
COMMENT ON COLUMN models.objective IS 'the mean squared distance of a row to its centroid, as the training compared rows; NULL of method density';
COMMENT ON COLUMN models.trained_at IS 'when the version was stored';
COMMENT ON COLUMN models.note IS 'why the method was chosen, and other reports of the training';

CREATE VIEW model_versions WITH (security_barrier) AS
    SELECT m.model, v.version, v.version IS NOT DISTINCT FROM m.version AS serves, CASE WHEN v.options ->> 'group_by' IS NOT NULL THEN v.group_value END AS group_value,
           v.method, v.relation, v.features, v.options, clusters(v.operator) AS k, v.n, v.objective, v.label_churn AS churn, v.operator, v.encoder,
           v.imputed, v.recall, v.training_sketch, v.trained_at, v.trained_by, extract(epoch FROM v.trained_at - v.started_at)::float8 AS seconds
      FROM readable_models m JOIN stored_versions v ON v.model_id = m.id;
COMMENT ON VIEW model_versions IS 'one row per version that is kept, and per group of a model with groups';
COMMENT ON COLUMN model_versions.model IS 'the name of the model';
COMMENT ON COLUMN model_versions.version IS 'the number of the version, from 1 up';
COMMENT ON COLUMN model_versions.serves IS 'true for the version that predict uses';
COMMENT ON COLUMN model_versions.group_value IS 'the group; NULL for a model without groups';
COMMENT ON COLUMN model_versions.method IS 'how it was trained: compressive, kmeans, qkmeans, kernel or density';
COMMENT ON COLUMN model_versions.relation IS 'the table that was read, qualified and quoted';
COMMENT ON COLUMN model_versions.features IS 'the columns that were clustered';
COMMENT ON COLUMN model_versions.options IS 'the options of the training';
COMMENT ON COLUMN model_versions.k IS 'the number of clusters';
COMMENT ON COLUMN model_versions.n IS 'the number of training rows';
COMMENT ON COLUMN model_versions.objective IS 'the mean squared distance of a row to its centroid, as the training compared rows; NULL of method density';
COMMENT ON COLUMN model_versions.churn IS 'the share of the training rows that the version before gave another cluster; NULL without one';
COMMENT ON COLUMN model_versions.operator IS 'the centroids, as the training compared rows';
COMMENT ON COLUMN model_versions.encoder IS 'how the columns of a row become numbers; NULL for a column of vectors';
COMMENT ON COLUMN model_versions.imputed IS 'the number of training rows with a NULL for which a value was put; NULL where it was not counted';
COMMENT ON COLUMN model_versions.recall IS 'the part of the ten nearest rows that a search through so many buckets as option probes says found; NULL without it';
COMMENT ON COLUMN model_versions.training_sketch IS 'the sketch of the training rows';
COMMENT ON COLUMN model_versions.trained_at IS 'when the version was stored';
COMMENT ON COLUMN model_versions.trained_by IS 'the role that trained it';
COMMENT ON COLUMN model_versions.seconds IS 'how long the training took';

-- ---- clusters ----

-- The names of the clusters of a version, in their order.  A version that fails is a warning, as in version_cluster_rows.
CREATE FUNCTION fastclust_internal.shown_names(version stored_versions) RETURNS text[]
    LANGUAGE fastclust STABLE SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
BEGIN
    RETURN ARRAY(SELECT n.name FROM version_names(version) n ORDER BY n.cluster);
EXCEPTION WHEN OTHERS THEN
    RAISE WARNING USING MESSAGE = format('the names of clusters of model "%s" cannot be shown', version.model), DETAIL = SQLERRM;
    RETURN NULL;
END
$$;

CREATE FUNCTION predict_name(model text, x "any", group_value anycompatible DEFAULT NULL, version integer DEFAULT -1) RETURNS text
    AS 'MODULE_PATHNAME', 'fastclust_predict_name' LANGUAGE C STABLE PARALLEL SAFE COST 200 SUPPORT vector_support;
COMMENT ON FUNCTION predict_name(text, "any", anycompatible, integer) IS 'the name of the nearest cluster of a model, as profile shows it';

-- The same of the features of the centroids.
CREATE FUNCTION fastclust_internal.version_centroid_rows(version stored_versions, OUT cluster integer, OUT feature text, OUT value double precision)
    RETURNS SETOF record
    LANGUAGE fastclust STABLE SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
BEGIN
    RETURN QUERY SELECT p.cluster, p.label, p.value FROM version_profile(version, 2147483647) p ORDER BY p.cluster, p.dimension;
EXCEPTION WHEN OTHERS THEN
    RAISE WARNING USING MESSAGE = format('the centroids of model "%s" cannot be shown', version.model), DETAIL = SQLERRM;
END
$$;

-- OFFSET: only parts of readable models are computed, and names once for a part, where a query asks for them.
CREATE VIEW model_clusters WITH (security_barrier) AS
    SELECT m.model, m.version, CASE WHEN m.group_by IS NOT NULL THEN v.group_value END AS group_value, c.cluster, v.names[c.cluster + 1] AS name,
           c.size, c.share, c.spread, c.centroid, c.nearest_cluster, c.nearest_distance
      FROM readable_models m
     CROSS JOIN LATERAL (SELECT v.*, v AS part, shown_names(v) AS names FROM stored_versions v WHERE v.model_id = m.id AND v.version = m.version OFFSET 0) v
     CROSS JOIN LATERAL version_cluster_rows(m.model, clustered_rows(v.part), v.operator, v.map IS NOT NULL, v.center, v.scale, v.spreads) c;
COMMENT ON VIEW model_clusters IS 'one row per cluster of the version that predict uses';
COMMENT ON COLUMN model_clusters.model IS 'the name of the model';
COMMENT ON COLUMN model_clusters.version IS 'the version that predict uses';
COMMENT ON COLUMN model_clusters.group_value IS 'the group; NULL for a model without groups';
COMMENT ON COLUMN model_clusters.cluster IS 'the number that predict returns';
COMMENT ON COLUMN model_clusters.name IS 'the name of name_cluster, or else the suggested one';
COMMENT ON COLUMN model_clusters.size IS 'the number of training rows in the cluster, estimated by its share';
COMMENT ON COLUMN model_clusters.share IS 'the part of the training rows in the cluster';
COMMENT ON COLUMN model_clusters.spread IS 'the deviation per dimension; in standard deviations for a standardised model';
COMMENT ON COLUMN model_clusters.centroid IS 'the mean of the cluster in the units of the rows; NULL for a kernel model';
COMMENT ON COLUMN model_clusters.nearest_cluster IS 'the cluster whose centroid is nearest to this one';
COMMENT ON COLUMN model_clusters.nearest_distance IS 'the distance to that centroid, in the units of spread';

CREATE VIEW model_centroids WITH (security_barrier) AS
    SELECT m.model, CASE WHEN m.group_by IS NOT NULL THEN v.group_value END AS group_value, c.cluster, v.names[c.cluster + 1] AS name, c.feature, c.value
      FROM readable_models m
     CROSS JOIN LATERAL (SELECT v.*, v AS part, shown_names(v) AS names FROM stored_versions v WHERE v.model_id = m.id AND v.version = m.version OFFSET 0) v
     CROSS JOIN LATERAL version_centroid_rows(v.part) c;
COMMENT ON VIEW model_centroids IS 'one row per cluster and feature of the version that predict uses, with the value in the unit of the table';
COMMENT ON COLUMN model_centroids.model IS 'the name of the model';
COMMENT ON COLUMN model_centroids.group_value IS 'the group; NULL for a model without groups';
COMMENT ON COLUMN model_centroids.cluster IS 'the number that predict returns';
COMMENT ON COLUMN model_centroids.name IS 'the name of name_cluster, or else the suggested one';
COMMENT ON COLUMN model_centroids.feature IS 'the column, an element of a vector as column[i], or a category as column = category';
COMMENT ON COLUMN model_centroids.value IS 'the mean of the cluster in the unit of the feature; the share of its rows for a category';

-- ---- logs, of those who may change a model ----

CREATE VIEW training_log WITH (security_barrier) AS
    SELECT l.id, m.model, l.version, l.step, l.objective, l.seconds, l.note, l.at FROM own_models m JOIN training_steps l ON l.model_id = m.id;
COMMENT ON VIEW training_log IS 'one row per step of a training; only those who may change a model see its steps';
COMMENT ON COLUMN training_log.id IS 'the order of the steps';
COMMENT ON COLUMN training_log.model IS 'the name of the model';
COMMENT ON COLUMN training_log.version IS 'the version in training';
COMMENT ON COLUMN training_log.step IS 'the name of the step';
COMMENT ON COLUMN training_log.objective IS 'the mean squared distance of a row to its centroid after the step; NULL where it is not known';
COMMENT ON COLUMN training_log.seconds IS 'how long the step took';
COMMENT ON COLUMN training_log.note IS 'the report of the step';
COMMENT ON COLUMN training_log.at IS 'when the step ended';

CREATE VIEW drift_log WITH (security_barrier) AS
    SELECT d.id, m.model, d.version, d.relation, d.n, d.mmd2, d.null_sd, d.p_value, d.fit_residual, d.effect, d.verdict, d.columns, d.threshold,
           d.min_effect, d.new_version, d.checked_by, d.checked_at
      FROM own_models m JOIN drift_checks d ON d.model_id = m.id;
COMMENT ON VIEW drift_log IS 'the checks of retrain_if_drifted, of models that one may change; the columns that drift gives are explained there';
COMMENT ON COLUMN drift_log.id IS 'the order of the checks';
COMMENT ON COLUMN drift_log.model IS 'the name of the model';
COMMENT ON COLUMN drift_log.version IS 'the version that served, whose training rows were compared';
COMMENT ON COLUMN drift_log.relation IS 'the table of the new rows, qualified and quoted';
COMMENT ON COLUMN drift_log.n IS 'the number of rows compared';
COMMENT ON COLUMN drift_log.mmd2 IS 'the squared maximum mean discrepancy (MMD) of the rows and the training rows; NULL where their sketches are not compared';
COMMENT ON COLUMN drift_log.null_sd IS 'the standard deviation of mmd2 when nothing has changed';
COMMENT ON COLUMN drift_log.p_value IS 'how often chance alone gives such a difference';
COMMENT ON COLUMN drift_log.fit_residual IS 'the part of the sketch that the clusters do not explain; NULL of a sketch that is not for decoding';
COMMENT ON COLUMN drift_log.effect IS 'how large the change is, whatever the number of rows';
COMMENT ON COLUMN drift_log.verdict IS 'none, slight, drifted or too few rows';
COMMENT ON COLUMN drift_log.columns IS 'the columns that changed, the surest first: objects with name, shift, spread and p';
COMMENT ON COLUMN drift_log.threshold IS 'of the p-value, for this check';
COMMENT ON COLUMN drift_log.min_effect IS 'of the effect, for this check: from it on the model is retrained';
COMMENT ON COLUMN drift_log.new_version IS 'the version that was trained because of this check, or NULL';
COMMENT ON COLUMN drift_log.checked_by IS 'the role that asked for the check';
COMMENT ON COLUMN drift_log.checked_at IS 'when the check ended';

-- ---- live sketches, of those who own the table ----

CREATE VIEW live_sketches WITH (security_barrier) AS
    SELECT l.id, l.name, l.relation, l.features, l.encoder, l.spec, l.group_by, l.bucket, l.bucket_width, l.half_life, l.condition,
           (SELECT m.model FROM readable_models m WHERE m.id = l.model_id) AS model, l.created_at,
           (SELECT min(v.counted_at) FROM live_leaves v WHERE v.live_id = l.id) AS counted_at, l.folded_at, l.checked_at, l.differences,
           (SELECT COALESCE(sum(row_count(b.s)), 0)::bigint FROM live_bases b WHERE b.live_id = l.id) AS folded_rows,
           (SELECT count(*) FROM live_deltas d WHERE d.live_id = l.id) AS open_deltas,
           (SELECT min(d.at) FROM live_deltas d WHERE d.live_id = l.id) AS oldest_delta,
           (SELECT COALESCE(sum(pg_column_size(b.s) + COALESCE(pg_column_size(b.counts), 0)), 0) FROM live_bases b WHERE b.live_id = l.id)
           + (SELECT COALESCE(sum(pg_column_size(d.added_rows)), 0) + COALESCE(sum(pg_column_size(d.removed_rows)), 0) + COALESCE(sum(pg_column_size(d.added)), 0)
                     + COALESCE(sum(pg_column_size(d.removed)), 0) + COALESCE(sum(pg_column_size(d.added_counts)), 0) + COALESCE(sum(pg_column_size(d.removed_counts)), 0)
                FROM live_deltas d WHERE d.live_id = l.id) AS bytes,
           CASE WHEN p.problem IS NOT NULL THEN 'lost' WHEN l.counting THEN 'counting' ELSE 'ready' END AS state, p.problem
      FROM own_live_sketches l, LATERAL (SELECT sketch_problem(l.name) AS problem OFFSET 0) p;
COMMENT ON VIEW live_sketches IS 'one row per live sketch of the tables that one owns: which rows it counts, and how';
COMMENT ON COLUMN live_sketches.id IS 'the identity of the live sketch; its triggers are named by it';
COMMENT ON COLUMN live_sketches.name IS 'the name of the live sketch';
COMMENT ON COLUMN live_sketches.relation IS 'the table that it follows';
COMMENT ON COLUMN live_sketches.features IS 'the columns that are sketched';
COMMENT ON COLUMN live_sketches.encoder IS 'how the columns of a row become numbers; NULL for a column of vectors, and for numbers as they are';
COMMENT ON COLUMN live_sketches.spec IS 'the spec of the sketches';
COMMENT ON COLUMN live_sketches.group_by IS 'the column by whose values sketches are kept apart';
COMMENT ON COLUMN live_sketches.bucket IS 'the column of times by whose buckets sketches are kept apart';
COMMENT ON COLUMN live_sketches.bucket_width IS 'how long a bucket is';
COMMENT ON COLUMN live_sketches.half_life IS 'after which a row weighs half in models made of it; NULL: none';
COMMENT ON COLUMN live_sketches.condition IS 'rows that are counted; NULL: all';
COMMENT ON COLUMN live_sketches.model IS 'the model that it was made for by the option live of train';
COMMENT ON COLUMN live_sketches.created_at IS 'when it was made';
COMMENT ON COLUMN live_sketches.counted_at IS 'when all rows were last counted';
COMMENT ON COLUMN live_sketches.folded_at IS 'when deltas were last folded into the stored sketches';
COMMENT ON COLUMN live_sketches.checked_at IS 'when it was last compared with its table';
COMMENT ON COLUMN live_sketches.differences IS 'how many groups and buckets differed then';
COMMENT ON COLUMN live_sketches.folded_rows IS 'the rows of the stored sketches, without pending changes';
COMMENT ON COLUMN live_sketches.open_deltas IS 'the number of pending changes';
COMMENT ON COLUMN live_sketches.oldest_delta IS 'when the oldest of them was made';
COMMENT ON COLUMN live_sketches.bytes IS 'the size of the stored sketches and of the changes';
COMMENT ON COLUMN live_sketches.state IS 'ready; counting: rebuild_sketch is to count its rows; lost: it cannot be read';
COMMENT ON COLUMN live_sketches.problem IS 'why it cannot be read; NULL: it can';

-- ---- a model in 4 kB ----

-- The first elements of a list, up to so many bytes as text.
CREATE FUNCTION fastclust_internal.first_elements(elements jsonb[], bytes integer) RETURNS jsonb
    LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT COALESCE(jsonb_agg(f.element ORDER BY f.i), '[]')
      FROM (SELECT e.element, e.i, sum(octet_length(e.element::text) + 2) OVER (ORDER BY e.i) AS used FROM unnest(elements) WITH ORDINALITY e(element, i)) f
     WHERE f.used <= bytes
$$;

CREATE FUNCTION describe(model text) RETURNS jsonb
    LANGUAGE fastclust STABLE SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
DECLARE
    held stored_models := readable_model($1);
    version stored_versions := largest_part(held);
    parts text := CASE WHEN held.group_by IS NULL THEN 'clusters' ELSE 'groups' END;
    told jsonb := (
        SELECT jsonb_build_object('version', m.version, 'versions', m.versions, 'method', m.method, 'relation', m.relation, 'rows', m.n,
                   'sketched_rows', CASE WHEN m.groups IS NULL THEN NULLIF(row_count(version.training_sketch), m.n) END, 'k', m.k, 'dim', m.dim,
                   'group_by', m.group_by, 'group_count', m.groups, 'column_count', cardinality(m.features), 'trained_at', m.trained_at,
                   'columns', first_elements(ARRAY(SELECT to_jsonb(f) FROM unnest(m.features) f), 700),
                   'quality', jsonb_build_object('objective', m.objective, 'variance_explained', CASE WHEN m.groups IS NULL THEN v.explained END,
                                                 'churn', version.label_churn, 'recall', version.recall),
                   'options', (SELECT jsonb_object_agg(o ->> 0, o -> 1)
                                 FROM jsonb_array_elements(first_elements(ARRAY(SELECT jsonb_build_array(o.key, o.value) FROM jsonb_each(version.options) o
                                                                                 ORDER BY octet_length(o.value::text), o.key), 700)) o))
          FROM models m
         CROSS JOIN LATERAL (SELECT CASE WHEN version.map IS NULL THEN round((1 - version.objective / NULLIF(sum((u.s / COALESCE(u.scale, 1)) ^ 2), 0))::numeric, 4) END AS explained
                               FROM unnest(stddevs(version.training_sketch), version.scale) u(s, scale)) v
         WHERE m.model = $1);
    largest jsonb[] := CASE parts
        WHEN 'clusters' THEN ARRAY(SELECT jsonb_build_object('cluster', c.cluster, 'name', c.name, 'size', c.size, 'share', round(c.share::numeric, 4), 'spread', c.spread)
                                     FROM model_clusters c WHERE c.model = $1 ORDER BY c.size DESC NULLS LAST, c.cluster LIMIT 100)
        ELSE ARRAY(SELECT jsonb_build_object('group', v.group_value, 'k', v.k, 'rows', v.n, 'objective', v.objective)
                     FROM model_versions v WHERE v.model = $1 AND v.serves ORDER BY v.n DESC, v.group_value LIMIT 100) END;
BEGIN
    told := jsonb_strip_nulls(told);
    RETURN told || jsonb_build_object(parts, first_elements(largest, 4070 - octet_length(told::text)));
END
$$;
COMMENT ON FUNCTION describe(text) IS 'a model in at most 4 kB, without a row of its table: how it was trained, and its largest clusters, or its largest groups';

GRANT SELECT ON models, model_versions, model_clusters, model_centroids, training_log, drift_log, live_sketches TO PUBLIC;

-- report: how the page looks, and how a value becomes HTML

-- Every colour is a variable of both themes; test/t/104_report.pl holds text to a contrast of 4.5 with its background.
-- hm4 to h4: a value from far below to far above the average.
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
time { white-space: nowrap; } .facts time { white-space: normal; }
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
.chart.narrow { display: none; }
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
@media (max-width: 700px) {
  .page { padding: 24px 16px 40px; } h1 { font-size: 27px; } .lead { font-size: 16px; }
  .chart.wide { display: none; } .chart.narrow { display: block; } .legend i { width: 18px; }
  .scroll table:not(.heat) { min-width: 620px; } .who { position: sticky; left: 0; background: var(--page); max-width: 150px; } .wide-bar { width: 90px; }
  .facts { grid-template-columns: repeat(2, 1fr); gap: 14px 18px; } .facts dd { font-size: 20px; }
  .details { grid-template-columns: 1fr; gap: 0; } .details dd { margin-bottom: 8px; }
  .heat tbody th { max-width: 128px; font-size: 12.5px; } td { padding-right: 8px; } }
@media print { :root { color-scheme: light; --page: #ffffff; } * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  .page { max-width: none; padding: 0; } section, tr, figure { break-inside: avoid; } .scroll { overflow: visible; } .story { break-after: avoid; } th { white-space: normal; } }
'$$;

-- ---- values ----

-- At most so many characters of a text, without the control characters that HTML does not allow, and terminals obey.
CREATE FUNCTION fastclust_internal.html(value text, most integer DEFAULT NULL) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT replace(replace(replace(replace(replace(translate(CASE WHEN length(value) > most THEN left(value, most - 1) ELSE value END,
                                                             E'\x01\x02\x03\x04\x05\x06\x07\x08\x0b\x0c\x0e\x0f\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1a\x1b\x1c\x1d\x1e\x1f\x7f',
                                                             ''), '&', '&amp;'), '<', '&lt;'), '>', '&gt;'), '"', '&quot;'), '''', '&#39;')
           || CASE WHEN length(value) > most THEN '&hellip;' ELSE '' END
$$;

-- A number as it is shown, a share as that of a category, a count whole, with all its digits in the attribute value.
CREATE FUNCTION fastclust_internal.html_value(x double precision, kind text) RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, fastclust_internal, pg_temp AS $$
    SELECT CASE WHEN x IS NULL THEN '&ndash;'
                ELSE format('<data value="%s">%s</data>', x, CASE kind WHEN 'count' THEN to_char(x::numeric, 'FM9,999,999,999,999,999,990')
                                                                       ELSE replace(html(shown_value(x, kind, false)), ' ', '&nbsp;') END) END
$$;

CREATE FUNCTION fastclust_internal.html_time(at timestamptz) RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE WHEN at IS NULL THEN '&ndash;'
                ELSE format('<time datetime="%s">%s</time>', to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), to_char(at, 'YYYY-MM-DD HH24:MI')) END
$$;

-- A bar as long as a part of the whole.
CREATE FUNCTION fastclust_internal.html_bar(part double precision) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT format('<svg class="bar" viewBox="0 0 100 12" preserveAspectRatio="none" aria-hidden="true"><rect width="%s" height="12"/></svg>',
                  round((100 * least(1, greatest(0, COALESCE(NULLIF(part, 'NaN'), 0))))::numeric, 2))
$$;

-- A coordinate in a picture.
CREATE FUNCTION fastclust_internal.svg(x double precision) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT trim_scale(round(x::numeric, 1))::text
$$;

-- A table of columns with these classes and titles; a row of it.
CREATE FUNCTION fastclust_internal.html_table(classes text[], titles text[], table_rows text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT format(E'<div class="scroll"><table>\n<thead><tr>%s</tr></thead>\n<tbody>\n%s\n</tbody>\n</table></div>',
                  string_agg(format('<th class="%s">%s</th>', u.class, u.title), '' ORDER BY u.i), table_rows)
      FROM unnest(classes, titles) WITH ORDINALITY u(class, title, i)
$$;
CREATE FUNCTION fastclust_internal.html_row(id text, classes text[], cells text[]) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT format('<tr%s>%s</tr>', ' id="' || id || '"', string_agg(format('<td class="%s">%s</td>', u.class, u.cell), '' ORDER BY u.i))
      FROM unnest(classes, cells) WITH ORDINALITY u(class, cell, i)
$$;

CREATE FUNCTION fastclust_internal.html_section(id text, title text, note text, body text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT concat(format(E'<section id="%s">\n<h2>%s</h2>\n', id, title), E'<p class="note">' || note || E'</p>\n', body, E'\n</section>\n')
$$;

-- report: the sections that show the clusters

-- The section of a cluster.
CREATE TYPE fastclust_internal.report_cluster AS (cluster integer, name text, size bigint, share double precision, spread double precision,
    nearest integer, distance double precision, x double precision, y double precision, shown_x double precision, shown_y double precision);

-- (operator): where the clusters lie on their two principal axes, and the share of the squared distances to their mean that each axis shows.
CREATE FUNCTION fastclust_internal.cluster_places(op fastop, OUT cluster integer, OUT x double precision, OUT y double precision,
        OUT shown_x double precision, OUT shown_y double precision) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_cluster_places' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

-- The clusters of a version, the largest first.
CREATE FUNCTION fastclust_internal.report_clusters(held stored_models, version stored_versions) RETURNS report_cluster[]
    LANGUAGE sql STABLE SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
    SELECT array_agg(ROW(c.cluster, NULLIF(n.name, format('cluster %s', c.cluster)), c.size, c.share, c.spread, c.nearest_cluster, c.nearest_distance, p.x, p.y, p.shown_x, p.shown_y)::report_cluster
                     ORDER BY c.share DESC, c.cluster)
      FROM version_cluster_rows(held.model, clustered_rows(version), version.operator, true, NULL, NULL, version.spreads) c
      LEFT JOIN cluster_places(version.operator) p USING (cluster) LEFT JOIN version_names(version) n USING (cluster)
$$;

-- A cluster as people call it: its number, and its name where it has one.
CREATE FUNCTION fastclust_internal.cluster_label(cluster integer, name text, most integer) RETURNS text
    LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, fastclust_internal, pg_temp AS $$
    SELECT CASE WHEN name IS NULL THEN cluster::text ELSE concat(cluster, ' ', CASE WHEN length(name) <= most THEN name ELSE left(name, most - 1) || '...' END) END
$$;

-- ---- sizes ----

-- The share of each cluster in the versions that are kept, the last twelve of them, oldest first.
CREATE FUNCTION fastclust_internal.shares_by_version(held stored_models, group_value text, OUT cluster integer, OUT shares double precision[]) RETURNS SETOF record
    LANGUAGE sql STABLE SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
    WITH kept AS (SELECT v.version, v.operator FROM readable_versions v WHERE v.model_id = held.id AND v.version <= held.version AND v.group_value = $2 ORDER BY v.version DESC LIMIT 12),
         part AS (SELECT k.version, c.cluster, c.weight / NULLIF(sum(c.weight) OVER (PARTITION BY k.version), 0) AS share FROM kept k, centroids(k.operator) c)
    SELECT p.cluster, array_agg(p.share ORDER BY p.version) FROM part p GROUP BY 1 HAVING (SELECT count(*) FROM kept) > 1
$$;

-- The forty largest, and up to a thousand more to open.
CREATE FUNCTION fastclust_internal.report_sizes(held stored_models, version stored_versions, clusters report_cluster[]) RETURNS text
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
DECLARE
    n integer := cardinality(clusters);
    largest float8 := (clusters[1]).share;
    history boolean := EXISTS (SELECT FROM shares_by_version(held, version.group_value));
    classes text[] := (ARRAY['who hang', 'wide-bar', 'n', 'n', 'n wide', 'n wide', 'wide'])[:CASE WHEN history THEN 7 ELSE 6 END];
    tables text[];
BEGIN
    FOR part IN 1 .. 2 LOOP
        tables[part] := (
            SELECT html_table(classes, (ARRAY['Cluster', '', 'Rows', 'Share', 'Spread', 'Nearest', 'By version'])[:cardinality(classes)],
            string_agg(html_row(format('cluster-%s', c.cluster), classes,
                (ARRAY[concat(format('<span class="id">%s</span>', c.cluster), html(c.name)),
                       html_bar(c.share / NULLIF(largest, 0)), html_value(c.size, 'count'), html_value(c.share, 'category'), html_value(c.spread, 'number'),
                       CASE WHEN c.nearest IS NULL THEN '&ndash;' ELSE format('%s at %s', c.nearest, html_value(c.distance, 'number')) END,
                       (SELECT format('<svg class="spark" viewBox="0 0 72 18" role="img" aria-label="share by version"><title>%s</title>'
                                     '<polygon points="0,17 %s 69,17"/><polyline points="%s"/><circle cx="%s" cy="%s" r="2.2"/></svg>',
                                     string_agg(html(shown_value(q.share, 'category', false)), ' &rarr; ' ORDER BY q.i),
                                     string_agg(format('%s,%s', svg(q.x), svg(q.y)), ' ' ORDER BY q.i), string_agg(format('%s,%s', svg(q.x), svg(q.y)), ' ' ORDER BY q.i),
                                     svg((array_agg(q.x ORDER BY q.i DESC))[1]), svg((array_agg(q.y ORDER BY q.i DESC))[1]))
                         FROM (SELECT u.i, u.share, 69.0 * (u.i - 1) / greatest(1, cardinality(s.shares) - 1) AS x,
                                      16 - 14 * COALESCE(u.share / NULLIF((SELECT max(s) FROM unnest(s.shares) s), 0), 0) AS y
                                 FROM unnest(s.shares) WITH ORDINALITY u(share, i)) q
                        HAVING count(*) > 1)])[:cardinality(classes)]), E'\n' ORDER BY c.share DESC, c.cluster))
          FROM unnest(CASE part WHEN 1 THEN clusters[:40] ELSE clusters[41:1040] END) c LEFT JOIN shares_by_version(held, version.group_value) s ON s.cluster = c.cluster);
    END LOOP;
    RETURN html_section('sizes', 'Clusters',
        concat('Training rows in each cluster, the largest first. Spread is the typical distance of a row from its centroid along one dimension',
               CASE WHEN n > 1 THEN '; nearest is the closest other cluster and how far its centroid is' END, '.'),
        concat(tables[1],
               CASE WHEN n > 40 THEN format(E'\n<details><summary>%s smaller clusters</summary>\n%s</details>', least(n, 1040) - 40, tables[2]) END,
               CASE WHEN n > 1040 THEN format(E'\n<p class="hint">%s more are rows of <code>model_clusters</code>.</p>', html_value(n - 1040, 'count')) END));
END
$$;

-- report: the sections on the features that set clusters apart

-- One of the strongest features, in one of the clusters; place: 1 for the strongest.
CREATE TYPE fastclust_internal.profile_value AS (cluster integer, place integer, feature text, kind text, value double precision, overall double precision,
    difference double precision, lift double precision);

-- The forty features whose centroids differ most, by sum share difference^2, in the largest thousand clusters; none that differs by a tenth of a deviation nowhere.
CREATE FUNCTION fastclust_internal.profile_values(version stored_versions, clusters report_cluster[]) RETURNS profile_value[]
    LANGUAGE sql STABLE SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp SET enable_nestloop = off AS $$
    WITH p AS MATERIALIZED (SELECT p.*, c.share FROM version_profile(version, dim(version.operator)) p JOIN unnest(clusters[:1000]) c USING (cluster)),
         telling AS (SELECT p.dimension, row_number() OVER (ORDER BY sum(p.share * p.difference ^ 2) DESC NULLS LAST, p.dimension) AS place
                       FROM p GROUP BY p.dimension HAVING max(abs(p.difference)) >= 0.1 ORDER BY 2 LIMIT 40)
    SELECT array_agg(ROW(p.cluster, t.place, p.label, p.kind, p.value, p.overall, p.difference, p.lift)::profile_value ORDER BY t.place, p.cluster)
      FROM p JOIN telling t USING (dimension)
$$;

-- ---- the heat map ----

-- Clusters beside each other, largest first: with their values where they are few, else as colours alone, from hm4 (far below the mean) to h4.
CREATE FUNCTION fastclust_internal.report_profile(version stored_versions, told profile_value[], clusters report_cluster[]) RETURNS text
    LANGUAGE sql STABLE SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
    WITH cluster AS (SELECT c.*, cardinality(clusters) <= 8 AS wide
                       FROM unnest(clusters[:24]) WITH ORDINALITY c(cluster, name, size, share, spread, nearest, distance, x, y, shown_x, shown_y, i)),
         cell AS (SELECT v.place, v.feature, v.overall, v.kind, string_agg(format('<td class="%s%s" title="%s">%s</td>', CASE WHEN v.difference < -0.25 THEN 'hm' ELSE 'h' END,
                                COALESCE(width_bucket(abs(NULLIF(v.difference, 'NaN')), '{0.25,0.75,1.5,2.5}'::float8[]), 0),
                                html(format('%s: %s %s, %s standard deviations from all rows%s', cluster_label(c.cluster, c.name, 200), v.feature, shown,
                                            to_char(v.difference, 'FMSG99990.00'), CASE WHEN v.lift IS NOT NULL THEN format(', %s times as often', shown_value(v.lift, 'number', false)) END)),
                                CASE WHEN c.wide THEN html_value(v.value, v.kind) END), '' ORDER BY c.i) AS cells
                    FROM cluster c JOIN unnest(told) v USING (cluster), shown_value(v.value, v.kind, false) shown GROUP BY 1, 2, 3, 4)
    SELECT html_section('profile', 'Profile', concat('The mean of each cluster, coloured by how far it is from the mean of all rows.',
               CASE WHEN cardinality(clusters) > 24 THEN format(' The 24 largest of %s clusters are shown.', to_char(cardinality(clusters), 'FM9,999,990')) END,
               CASE WHEN dim(version.operator) > (SELECT count(DISTINCT place) FROM unnest(told)) THEN format(' The %s that differ most, of %s features.', (SELECT count(DISTINCT place) FROM unnest(told)),
                                                                                                           to_char(dim(version.operator), 'FM999,990')) END),
               E'<p class="legend"><span>2.5 standard deviations below</span><b>'
               || (SELECT string_agg(format('<i class="%s"></i>', c), '' ORDER BY i) FROM unnest('{hm4,hm3,hm2,hm1,h0,h1,h2,h3,h4}'::text[]) WITH ORDINALITY u(c, i))
               || E'</b><span>above the mean of all rows</span></p>\n' || format(E'<div class="scroll"><table class="heat">\n<thead><tr><th></th>%s<th class="all">All</th></tr></thead>\n<tbody>\n%s\n</tbody>\n</table></div>',
                     (SELECT string_agg(format('<th scope="col" title="%s">%s%s</th>', html(c.name), c.cluster,
                                               CASE WHEN c.wide THEN '<br>' || html(c.name, 48) END), '' ORDER BY c.i) FROM cluster c),
                     string_agg(format('<tr><th scope="row" title="%s">%s</th>%s<td class="all">%s</td></tr>', html(feature), html(feature, 60), cells,
                                       html(shown_value(overall, kind, false))), E'\n' ORDER BY place)))
      FROM cell HAVING report_profile.told IS NOT NULL AND cardinality(clusters) > 1
$$;

-- ---- rules ----

-- Rules of the forty largest clusters; reading the table for them may be refused or fail, of which the page tells.
CREATE FUNCTION fastclust_internal.report_rules(held stored_models, group_value text, clusters report_cluster[]) RETURNS text
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
DECLARE
    items text;
    fidelity float8;
BEGIN
    SELECT string_agg(format('<li id="rules-%s"><b>%s</b>%s</li>', q.cluster, html(cluster_label(q.cluster, q.name, 200)), q.lines), E'\n' ORDER BY q.share DESC, q.cluster), max(q.fidelity)
      INTO items, fidelity
      FROM (SELECT r.cluster, r.name, c.share, max(r.fidelity) AS fidelity,
                   string_agg(CASE WHEN r.condition IS NULL THEN format('<p class="note">%s.</p>', html(r.rule))
                                   ELSE format('<p>if %s</p><p class="note">%s of the rows that meet the condition are in this cluster; %s of the cluster meet it.</p>', html(r.rule),
                                     html_value(r.precision, 'category'), html_value(r.coverage, 'category')) END, '' ORDER BY r.coverage DESC, r.rule) AS lines
              FROM cluster_rules(held.model, group_value => $2) r JOIN unnest(clusters[:40]) c USING (cluster) GROUP BY 1, 2, 3) q;
    RETURN html_section('rules', 'Rules', concat('Short conditions that distinguish the clusters, learned on a sample of the table.',
                            CASE WHEN fidelity IS NOT NULL THEN format(' They assign %s of the rows to the same cluster as the model does.', html_value(fidelity, 'category')) END),
                        format(E'<ul class="rules">\n%s\n</ul>', items));
EXCEPTION WHEN OTHERS THEN
    RETURN html_section('rules', 'Rules', format('The rules are learned on rows of the table, which cannot be read: %s.', html(SQLERRM)), NULL);
END
$$;

-- report: the map of the clusters

CREATE TYPE fastclust_internal.map_circle AS (cluster integer, name text, share double precision, x double precision, y double precision, r double precision);

-- The labels of the largest sixty circles, each in its circle where it fits, else beside, above or below it: at the first place where it meets
-- neither another label nor another circle; without the name where that has no place.
CREATE FUNCTION fastclust_internal.map_labels(circles map_circle[], width integer, height integer) RETURNS text
    LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, fastclust_internal, pg_temp AS $$
DECLARE
    around box[] := (SELECT array_agg(box(point(c.x - c.r, c.y - c.r), point(c.x + c.r, c.y + c.r)) ORDER BY c.i)
                       FROM unnest(circles) WITH ORDINALITY c(cluster, name, share, x, y, r, i));
    taken box[] := '{}';
    labels text := '';
    c map_circle;
    label text;
    side integer;
    spot box;
BEGIN
    FOR i IN 1 .. least(60, cardinality(circles)) LOOP
        c := circles[i];
        SELECT w.label, b.choice, b.place INTO label, side, spot
          FROM unnest(ARRAY[cluster_label(c.cluster, c.name, CASE WHEN width > 500 THEN 36 ELSE 18 END), c.cluster::text]) WITH ORDINALITY w(label, j),
               LATERAL (SELECT 7 * length(w.label) + 2.4 * (octet_length(w.label) - length(w.label)) + 2 AS w, 15.0::float8 AS h) l,
               LATERAL (VALUES (0, box(point(c.x - l.w / 2, c.y - l.h / 2), point(c.x + l.w / 2, c.y + l.h / 2))),
                               (1, box(point(c.x + c.r + 6, c.y - l.h / 2), point(c.x + c.r + 6 + l.w, c.y + l.h / 2))),
                               (2, box(point(c.x - c.r - 6 - l.w, c.y - l.h / 2), point(c.x - c.r - 6, c.y + l.h / 2))),
                               (3, box(point(c.x - l.w / 2, c.y - c.r - 6 - l.h), point(c.x + l.w / 2, c.y - c.r - 6))),
                               (4, box(point(c.x - l.w / 2, c.y + c.r + 6), point(c.x + l.w / 2, c.y + c.r + 6 + l.h)))) b(choice, place)
         WHERE b.place <@ box(point(2, 2), point(width - 2, height - 2)) AND (b.choice > 0 OR l.w + 12 < 2 * c.r)
           AND NOT EXISTS (SELECT FROM unnest(taken) t WHERE t && b.place)
           AND NOT EXISTS (SELECT FROM unnest(around) WITH ORDINALITY t(place, j) WHERE t.place && b.place AND t.j <> i)
         ORDER BY w.j, b.choice LIMIT 1;
        CONTINUE WHEN spot IS NULL;
        taken := taken || spot;
        labels := labels || format(E'<text class="halo" x="%s" y="%s" text-anchor="%s">%s</text>\n',
                                   svg(CASE side WHEN 1 THEN c.x + c.r + 6 WHEN 2 THEN c.x - c.r - 6 ELSE c.x END), svg((center(spot))[1] + 4.2),
                                   CASE side WHEN 1 THEN 'start' WHEN 2 THEN 'end' ELSE 'middle' END, html(label));
    END LOOP;
    RETURN labels;
END
$$;

-- Circles in a picture, at equal scale on both axes; their areas are as their shares.
CREATE FUNCTION fastclust_internal.svg_map(clusters report_cluster[], width integer, height integer, class text) RETURNS text
    LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, fastclust_internal, pg_temp AS $$
    WITH edge AS (SELECT min(c.x) AS x0, max(c.x) AS x1, min(c.y) AS y0, max(c.y) AS y1, sqrt(width * height * 0.05 / pi()) AS r,
                         40 + sqrt(width * height * 0.05 / pi() * max(c.share)) * 0.5 AS margin
                    FROM unnest(clusters) c),
         fit AS (SELECT *, COALESCE(least((width - 2 * margin) / NULLIF(x1 - x0, 0), (height - 2 * margin) / NULLIF(y1 - y0, 0)), 1) AS unit FROM edge),
         drawn AS (SELECT array_agg(ROW(c.cluster, c.name, c.share, width / 2.0 + f.unit * (c.x - (f.x0 + f.x1) / 2), height / 2.0 - f.unit * (c.y - (f.y0 + f.y1) / 2),
                                        greatest(2.5, f.r * sqrt(greatest(0, c.share))))::map_circle ORDER BY c.share DESC, c.cluster) AS circles
                     FROM fit f, unnest(clusters) c)
    SELECT concat(format(E'<svg class="chart %s" viewBox="0 0 %s %s" role="img" aria-label="map of the clusters">\n<rect class="frame" x="0.5" y="0.5" width="%s" height="%s" rx="4"/>\n',
                         class, width, height, width - 1, height - 1),
        (SELECT string_agg(format(E'<circle class="bubble" cx="%s" cy="%s" r="%s"><title>%s: %s</title></circle>\n', svg(c.x), svg(c.y), svg(c.r),
                                  html(cluster_label(c.cluster, c.name, 200)), html(shown_value(c.share, 'category', false))), '' ORDER BY c.share DESC, c.cluster)
           FROM unnest(circles) c),
        map_labels(circles, width, height), '</svg>')
      FROM drawn
$$;

-- A wide picture and a narrow one, of which the style sheet shows the one that fits.
CREATE FUNCTION fastclust_internal.report_map(clusters report_cluster[], told profile_value[]) RETURNS text
    LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, fastclust_internal, pg_temp AS $$
DECLARE
    shown_x float8 := (clusters[1]).shown_x;
    shown_y float8 := (clusters[1]).shown_y;
    words text[];    -- of each axis, from left to right and from bottom to top: the two features that rise or fall most along it
BEGIN
    IF cardinality(clusters) < 2 OR shown_x IS NULL THEN
        RETURN NULL;
    END IF;
    words := ARRAY(
        SELECT (SELECT ' (' || string_agg(format('%s <code>%s</code>', CASE WHEN q.s > 0 THEN 'more' ELSE 'less' END, html(q.feature, 60)), ', ' ORDER BY abs(q.s) DESC) || ')'
                  FROM (SELECT v.feature, sum(c.share * v.difference * CASE axis WHEN 1 THEN c.x ELSE c.y END) AS s,
                               rank() OVER (ORDER BY abs(sum(c.share * v.difference * CASE axis WHEN 1 THEN c.x ELSE c.y END)) DESC, v.feature) AS place,
                               max(abs(sum(c.share * v.difference * CASE axis WHEN 1 THEN c.x ELSE c.y END))) OVER () AS most
                          FROM unnest(told) v JOIN unnest(clusters) c USING (cluster) GROUP BY v.place, v.feature) q
                 WHERE q.place <= 2 AND q.s <> 0 AND abs(q.s) > 0.5 * q.most)
          FROM generate_series(1, 2) axis ORDER BY axis);
    RETURN html_section('map', 'Map',
        concat('Each circle is a cluster, and its area is the share of the rows. Clusters near each other are similar.',
               CASE WHEN cardinality(clusters) > 1000 THEN ' Only the thousand largest are shown.' END),
        concat(E'<figure>\n', svg_map(clusters[:1000], 1056, 520, 'wide'), E'\n', svg_map(clusters[:1000], 343, 360, 'narrow'),
               format(E'\n<figcaption>The two axes along which the clusters differ most. They show %s of the differences between them: '
                      '%s from left to right%s, %s from bottom to top%s.</figcaption>\n</figure>',
                      html_value(shown_x + shown_y, 'category'), html_value(shown_x, 'category'), words[1],
                      html_value(shown_y, 'category'), words[2])));
END
$$;

-- report: the groups of a model that is split by a column

-- Maps of the twelve largest groups, and a table of the forty largest.
CREATE FUNCTION fastclust_internal.report_groups(held stored_models) RETURNS text
    LANGUAGE sql STABLE SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
    WITH part AS MATERIALIZED (SELECT ROW(v.*)::stored_versions AS v, v.n, v.group_value, count(*) OVER () AS groups, max(v.n) OVER () AS most, row_number() OVER (ORDER BY v.n DESC, v.group_value) AS i
                                 FROM readable_versions v WHERE v.model_id = held.id AND v.version = held.version ORDER BY i LIMIT 40)
    SELECT html_section('groups', 'Groups', concat('Each group has its own clusters', CASE WHEN max(p.groups) > 12 THEN '; the largest are shown' END,
                                                   '. For the report of one group, run <code>SELECT report(', html(quote_literal(held.model)), ', group_value =&gt; ''...'')</code>.'),
        concat(E'<div class="multiples">\n', string_agg(format(E'<figure><h3>%s</h3>%s</figure>\n', html(p.group_value, 60), svg_map(report_clusters(held, p.v), 260, 180, '')),
                                                              '' ORDER BY p.i) FILTER (WHERE p.i <= 12), E'</div>\n',
               html_table(c.classes, '{Group,"",Rows,Clusters,"Mean squared distance","Label churn"}',
                          string_agg(html_row(NULL, c.classes, ARRAY[html(p.group_value), html_bar(p.n::float8 / NULLIF(p.most, 0)), html_value(p.n, 'count'),
                                                                     html_value(clusters((p.v).operator), 'count'), html_value((p.v).objective, 'number'),
                                                                     html_value((p.v).label_churn, 'category')]), E'\n' ORDER BY p.i))))
      FROM part p, (SELECT '{who,wide-bar,n,n,n,n}'::text[] AS classes) c GROUP BY c.classes
$$;

-- report: the tree of the clusters

CREATE TYPE fastclust_internal.tree_node AS (x double precision, y double precision);

-- Clusters from top to bottom at the left, joins the farther right the higher; a wide picture and a narrow one, of which the style sheet shows what fits.
CREATE FUNCTION fastclust_internal.report_tree(version stored_versions, clusters report_cluster[]) RETURNS text
    LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
DECLARE
    below text[] := ARRAY(SELECT generate_series(0, clusters(version.operator) - 1)::text);
    highest float8 := (SELECT NULLIF(max(j.height), 0) FROM version_joins(version) j);
    leaves integer[];
    nodes tree_node[];
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
    -- in an order in which no branches cross
    FOR one IN SELECT * FROM version_joins(version) ORDER BY step LOOP
        below := below || concat(below[one."left" + 1], ',', below[one."right" + 1]);
    END LOOP;
    leaves := string_to_array(below[cardinality(below)], ',')::integer[];
    FOR picture IN SELECT * FROM (VALUES (1056, 320, 'wide'), (343, 140, 'narrow')) v(width, margin, class) LOOP     -- labels take the margin on the left
        unit := COALESCE((picture.width - picture.margin - 10) / highest, 0);
        nodes := (SELECT array_agg(ROW(picture.margin, 20 * u.i)::tree_node ORDER BY u.leaf) FROM unnest(leaves) WITH ORDINALITY u(leaf, i));
        lines := '';
        FOR one IN SELECT * FROM version_joins(version) ORDER BY step LOOP
            a := nodes[one."left" + 1];
            b := nodes[one."right" + 1];
            lines := lines || format(E'<path class="line" d="M%s %sH%sV%sH%s"/>\n', svg(a.x), svg(a.y), svg(picture.margin + unit * one.height), svg(b.y), svg(b.x));
            nodes := nodes || ROW(picture.margin + unit * one.height, (a.y + b.y) / 2)::tree_node;
        END LOOP;
        pictures := concat(pictures, format(E'<svg class="chart %s" viewBox="0 0 %s %s" role="img" aria-label="tree of the clusters">\n', picture.class, picture.width, 20 * cardinality(leaves) + 20), lines,
            (SELECT string_agg(format(E'<text x="%s" y="%s" text-anchor="end">%s</text>\n', picture.margin - 6, svg(20 * u.i + 4.2),
                                      html(cluster_label(c.cluster, c.name, CASE WHEN picture.margin > 200 THEN 40 ELSE 16 END))), '' ORDER BY u.i)
               FROM unnest(leaves) WITH ORDINALITY u(leaf, i) JOIN unnest(clusters) c ON c.cluster = u.leaf), E'</svg>\n');
    END LOOP;
    RETURN html_section('tree', 'Tree', 'Which clusters are similar: the farther left two lines meet, the smaller the loss if their clusters are joined.',
        concat(E'<figure>\n', pictures, '<figcaption>Clusters are joined ', CASE WHEN version.splits IS NULL THEN 'by Ward''s criterion' ELSE 'at the densest valley between them' END,
               E', as <code>cluster_tree</code> lists it.</figcaption>\n</figure>'));
END
$$;

-- report: the sections that show versions, checks and steps

-- ---- versions ----

-- The versions that are kept, at most the last thirty, oldest first: of one group, or the sums of all.
CREATE TYPE fastclust_internal.version_line AS (version integer, trained_at timestamptz, trained_by name, method text, clusters bigint, n bigint,
    objective double precision, churn double precision);
-- Columns, one a version, the greatest value above them.
CREATE FUNCTION fastclust_internal.svg_columns(title text, versions integer[], column_values double precision[], shown text[]) RETURNS text
    LANGUAGE sql STABLE SET search_path = pg_catalog, fastclust_internal, pg_temp AS $$
    WITH bar AS (SELECT u.*, 260.0 / cardinality(versions) AS step, count(*) OVER () AS n, row_number() OVER () AS i,
                        70 * COALESCE(u.value / NULLIF(max(u.value) OVER (), 0), 0) AS height
                   FROM unnest(versions, column_values, shown) u(version, value, label))
    SELECT format(E'<figure><h3>%s</h3><svg class="chart" viewBox="0 0 260 112" role="img" aria-label="%s by version">\n', title, title)
        || string_agg(format(E'<rect class="column%s" x="%s" y="%s" width="%s" height="%s" rx="1.5"><title>version %s: %s</title></rect>\n', CASE WHEN b.i = b.n THEN ' serves' END,
                             svg((b.i - 1) * b.step + (b.step - least(34, b.step * 0.7)) / 2), svg(90 - greatest(1, b.height)), svg(least(34, b.step * 0.7)), svg(greatest(1, b.height)),
                             b.version, b.label), '' ORDER BY b.i) FILTER (WHERE b.value IS NOT NULL)
        || '<line class="axis" x1="0" x2="260" y1="90.5" y2="90.5"/>'
        || string_agg(format('<text class="tick" x="%s" y="106" text-anchor="middle">%s</text>', svg((b.i - 0.5) * b.step), b.version), '' ORDER BY b.i) FILTER (WHERE b.n <= 10 OR b.i IN (1, b.n))
        || string_agg(format('<text x="%s" y="%s" text-anchor="middle">%s</text>', svg((b.i - 0.5) * b.step), svg(84 - greatest(1, b.height)), b.label), '')
               FILTER (WHERE b.value IS NOT NULL AND (b.n <= 5 OR b.i = b.n))
        || '</svg></figure>'
      FROM bar b HAVING count(b.value) > 0
$$;

CREATE FUNCTION fastclust_internal.report_versions(lines version_line[]) RETURNS text
    LANGUAGE sql STABLE SET search_path = pg_catalog, fastclust_internal, pg_temp AS $$
    SELECT html_section('versions', 'Versions', 'One row for each version. Label churn is the share of the rows that are in another cluster than in the version before.',
        concat((SELECT concat(E'<div class="multiples">\n', svg_columns('Rows', s.versions, s.rows_of, s.rows_shown), E'\n', svg_columns('Mean squared distance', s.versions, s.objectives, s.objectives_shown), E'\n',
                              svg_columns('Label churn', s.versions, s.churn, s.churn_shown), E'\n</div>\n')
                  FROM (SELECT array_agg(l.version) AS versions, array_agg(l.n::float8) AS rows_of, array_agg(to_char(l.n, 'FM9,999,999,999,990')) AS rows_shown,
                               array_agg(l.objective) AS objectives, array_agg(shown_value(l.objective, 'number', false)) AS objectives_shown,
                               array_agg(l.churn) AS churn, array_agg(html(shown_value(l.churn, 'category', false))) AS churn_shown
                          FROM (SELECT * FROM unnest(lines) u ORDER BY u.version) l) s
                 WHERE cardinality(s.versions) > 1),
               html_table(c.classes, '{Version,Trained,By,Method,Clusters,Rows,"Mean squared distance","Label churn"}',
                          string_agg(html_row(format('version-%s', l.version), c.classes,
                                              ARRAY[l.version::text, html_time(l.trained_at), html(l.trained_by), html(l.method), html_value(l.clusters, 'count'), html_value(l.n, 'count'),
                                                    html_value(l.objective, 'number'), html_value(l.churn, 'category')]), E'\n' ORDER BY l.version DESC))))
      FROM unnest(lines) l, (SELECT '{n,"",wide,"",n,n,n,n}'::text[] AS classes) c GROUP BY c.classes
$$;

-- ---- drift ----

-- The effect of the last four hundred checks as a line, with the limit of the last one; the last ten as a table.
CREATE FUNCTION fastclust_internal.report_drift(held stored_models) RETURNS text
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
DECLARE
    checks drift_log[] := (SELECT array_agg(q ORDER BY q.id) FROM (SELECT d.* FROM drift_log d WHERE d.model = held.model ORDER BY d.id DESC LIMIT 400) q);
    last_ones drift_log[] := checks[greatest(1, cardinality(checks) - 9):];
    classes text[] := '{"",n,n,n,n,"","",n}';
    pictures text;
BEGIN
    IF checks IS NULL THEN
        RETURN html_section('drift', 'Drift', concat('Checks of <code>retrain_if_drifted</code>: ',
                            CASE WHEN EXISTS (SELECT FROM own_models m WHERE m.id = held.id) THEN 'none yet.' ELSE 'only the owner of the model sees them.' END), NULL);
    END IF;
    WITH edge AS (SELECT min(c.checked_at) AS first, max(c.checked_at) AS last, greatest(max(c.effect), max(c.min_effect)) * 1.12 AS top,
                         (array_agg(c.min_effect ORDER BY c.id DESC))[1] AS at_least FROM unnest(checks) c WHERE c.effect IS NOT NULL),
         point AS (SELECT c.*, w.width, w.class, 152 - 136 * c.effect / NULLIF(e.top, 0) AS y,
                          44 + (w.width - 60) * COALESCE(extract(epoch FROM c.checked_at - e.first) / NULLIF(extract(epoch FROM e.last - e.first), 0), 0.5) AS x
                     FROM unnest(checks) c, edge e, (VALUES (1056, 'wide'), (343, 'narrow')) w(width, class) WHERE c.effect IS NOT NULL),
         picture AS (SELECT p.width, concat(format(E'<svg class="chart %s" viewBox="0 0 %s 186" role="img" aria-label="drift over time">\n', p.class, p.width),
            format(E'<line class="axis" x1="36" x2="%s" y1="152.5" y2="152.5"/><text class="tick" x="30" y="156" text-anchor="end">0</text>\n', p.width - 8),
            format(E'<line class="limit" x1="36" x2="%s" y1="%s" y2="%s"/>', p.width - 8, svg(e.limit_y), svg(e.limit_y)),
            format(E'<text class="tick" x="30" y="%s" text-anchor="end">%s</text>\n', svg(e.limit_y + 4), shown_value(e.at_least, 'number', false)),
            format(E'<polyline class="line" points="%s"/>\n', string_agg(format('%s,%s', svg(p.x), svg(p.y)), ' ' ORDER BY p.id)),
            string_agg(format(E'<circle class="%s" cx="%s" cy="%s" r="4"><title>%s: %s, effect %s</title></circle>\n',
                              CASE WHEN p.verdict IN ('slight', 'drifted') THEN p.verdict ELSE 'none' END, svg(p.x), svg(p.y),
                              to_char(p.checked_at, 'YYYY-MM-DD HH24:MI'), p.verdict, shown_value(p.effect, 'number', false)), '' ORDER BY p.id),
            format('<text class="tick" x="36" y="176">%s</text>', to_char(e.first, 'YYYY-MM-DD')),
            format('<text class="tick" x="%s" y="176" text-anchor="end">%s</text></svg>', p.width - 8, to_char(e.last, 'YYYY-MM-DD'))) AS svg
      FROM point p, (SELECT *, 152 - 136 * at_least / NULLIF(top, 0) AS limit_y FROM edge) e GROUP BY p.width, p.class, e.first, e.last, e.top, e.at_least, e.limit_y HAVING count(*) > 1)
    SELECT string_agg(p.svg, E'\n' ORDER BY p.width DESC) INTO pictures FROM picture p;
    RETURN html_section('drift', 'Drift',
        'The effect of each check: how much its rows differ from the training rows. 0.1 is as large as a shift of one column by a tenth of its standard deviation. '
        'Above the dashed line, the model is retrained.',
        concat(E'<figure>\n' || pictures || E'\n</figure>\n',
               html_table(classes, '{Checked,Version,Rows,Effect,p-value,Verdict,"Columns, shift of the mean","Retrained to"}',
                          (SELECT string_agg(html_row(format('check-%s', c.id), classes, ARRAY[html_time(c.checked_at), c.version::text, html_value(c.n, 'count'), html_value(c.effect, 'number'),
                                      html_value(c.p_value, 'number'), html(c.verdict),
                                      (SELECT string_agg(concat_ws('&nbsp;', html(u.col ->> 'name', 40), html_value((u.col ->> 'shift')::float8, 'number')), ', ' ORDER BY u.i)
                                         FROM jsonb_array_elements(c.columns) WITH ORDINALITY u(col, i) WHERE u.i <= 3), COALESCE(c.new_version::text, '&ndash;')]), E'\n' ORDER BY c.id DESC)
                             FROM unnest(last_ones) c)),
               CASE WHEN cardinality(checks) > 10 THEN E'\n<p class="hint">The last ten; all are rows of <code>drift_log</code>.</p>' END));
END
$$;

-- ---- the training ----

CREATE FUNCTION fastclust_internal.report_steps(held stored_models) RETURNS text
    LANGUAGE sql STABLE SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
    SELECT html_section('training', 'Training', format('The steps of version %s, %s seconds in all.', held.version, html_value(sum(t.seconds), 'number')),
        html_table(c.classes, '{Step,"",Seconds,"Mean squared distance",Note}',
                   string_agg(html_row(format('step-%s', t.id), c.classes,
                                       ARRAY[html(t.step), html_bar(t.seconds / NULLIF(t.longest, 0)), html_value(t.seconds, 'number'), html_value(t.objective, 'number'), html(t.note)]), E'\n' ORDER BY t.id)))
      FROM (SELECT l.*, max(l.seconds) OVER () AS longest FROM training_log l WHERE l.model = held.model AND l.version = held.version) t, (SELECT '{who,wide-bar,n,n,""}'::text[] AS classes) c
     GROUP BY c.classes
$$;

-- report: the page

-- The clusters in a paragraph: how many, the largest, the one that is most unlike all rows, and the changes since the version before.
CREATE FUNCTION fastclust_internal.report_story(held stored_models, group_value text, clusters report_cluster[], told profile_value[], lines version_line[]) RETURNS text
    LANGUAGE sql STABLE SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
    WITH named AS (SELECT c.cluster, c.share, c.size, format('<b>%s</b>', html(COALESCE(c.name, format('cluster %s', c.cluster)), 80)) AS name, row_number() OVER (ORDER BY c.share DESC, c.cluster) AS i FROM unnest(clusters) c),
         unlike AS (SELECT v.cluster FROM unnest(told) v GROUP BY 1 ORDER BY sum(v.difference ^ 2) DESC, 1 LIMIT 1),
         before AS (SELECT l.* FROM unnest(lines) l ORDER BY l.version DESC OFFSET 1 LIMIT 1),
         moved AS (SELECT n.name, s.shares[cardinality(s.shares) - 1] AS old, n.share FROM shares_by_version(held, COALESCE(group_value, '')) s JOIN named n USING (cluster)
                    WHERE abs(n.share - s.shares[cardinality(s.shares) - 1]) >= 0.01 ORDER BY abs(n.share - s.shares[cardinality(s.shares) - 1]) DESC, n.cluster LIMIT 1)
    SELECT format(E'<p class="story">%s</p>\n', concat_ws(' ',
        CASE WHEN cardinality(clusters) = 1 THEN 'All rows are in one cluster.'
             ELSE format('There are %s clusters. The largest is %s, with %s of the rows; the smallest is %s, with %s.', html_value(cardinality(clusters), 'count'), first.name, html_value(first.share, 'category'), last.name, html_value(last.share, 'category')) END,
        (SELECT format('%s differs most from all rows: %s.', n.name, string_agg(format('%s is %s (all rows: %s)', html(v.feature, 60), html(shown_value(v.value, v.kind, false)), html(shown_value(v.overall, v.kind, false))),
                                                                               ', ' ORDER BY abs(v.difference) DESC, v.place))
           FROM unlike u JOIN named n USING (cluster), LATERAL (SELECT * FROM unnest(told) t WHERE t.cluster = u.cluster AND abs(t.difference) >= 0.5 ORDER BY abs(t.difference) DESC, t.place LIMIT 2) v
          WHERE cardinality(clusters) > 1 GROUP BY n.name),
        (SELECT concat(format('Since version %s of %s ', b.version, html_time(b.trained_at)),
                       CASE WHEN now.n = b.n THEN 'the number of rows is the same' ELSE format('there are %s rows %s', html_value(abs(now.n - b.n), 'count'), CASE WHEN now.n > b.n THEN 'more' ELSE 'fewer' END) END,
                       CASE WHEN now.clusters <> b.clusters THEN format(' and %s clusters in place of %s', html_value(now.clusters, 'count'), html_value(b.clusters, 'count')) END,
                       CASE WHEN now.churn IS NOT NULL THEN format('; %s of the rows are in another cluster', html_value(now.churn, 'category')) END,
                       (SELECT format('; the share of %s changed from %s to %s', m.name, html_value(m.old, 'category'), html_value(m.share, 'category')) FROM moved m WHERE now.clusters = b.clusters), '.')
           FROM before b, (SELECT l.* FROM unnest(lines) l ORDER BY l.version DESC LIMIT 1) now)))
      FROM named first JOIN named last ON first.i = 1 AND last.i = cardinality(clusters)
$$;

CREATE FUNCTION fastclust_internal.report_details(summary models, version stored_versions) RETURNS text
    LANGUAGE sql STABLE SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
    SELECT html_section('model', 'How the model was trained', NULL, concat(E'<dl class="details">\n',
        (SELECT string_agg(format(E'<dt>%s</dt><dd>%s</dd>\n', d.name, d.value), '' ORDER BY d.i) FILTER (WHERE d.value IS NOT NULL)
           FROM (SELECT u.*, row_number() OVER () AS i FROM (VALUES
               ('Method', concat(html(version.method), '; ' || html(version.note))),
               ('Features', concat((SELECT string_agg(format('<code>%s</code>', html(f)), ', ' ORDER BY i) FROM unnest(version.features) WITH ORDINALITY u(f, i) WHERE i <= 40),
                                   CASE WHEN cardinality(version.features) > 40 THEN format(' and %s more', cardinality(version.features) - 40) END,
                                   CASE WHEN version.vector THEN format(', a vector of %s', html_value(summary.dim, 'count')) END)),
               ('Number of clusters', (SELECT html(l.note) FROM training_log l WHERE l.model = version.model AND l.version = version.version AND l.step = 'number of clusters' LIMIT 1)),
               ('Options', CASE WHEN version.options <> '{}' THEN format('<code>%s</code>', html(version.options::text)) END),
               ('Live sketch', (SELECT concat(format('<code>%s</code>: %s rows counted %s', html(l.name), html_value(l.folded_rows, 'count'), html_time(l.counted_at)),
                                              CASE WHEN l.open_deltas > 0 THEN format('; %s changes since %s wait to be folded', html_value(l.open_deltas, 'count'), html_time(l.oldest_delta)) END,
                                              '; ' || html(l.problem))
                                  FROM live_sketches l WHERE l.name = (model_live(version.model_id)).name)),
               ('Owner', html(summary.owner)),
               ('Trained', concat('by ', html(version.trained_by), ', from ', html_time(version.started_at), ' to ', html_time(summary.trained_at)))) u(name, value)) d),
        '</dl>'))
$$;

CREATE FUNCTION report(model text, rules boolean DEFAULT true, group_value anycompatible DEFAULT NULL, title text DEFAULT NULL) RETURNS text
    LANGUAGE fastclust STABLE SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
DECLARE
    held stored_models := readable_model($1);
    overview boolean := held.group_by IS NOT NULL AND group_text($3) IS NULL;
    version stored_versions;
    summary models := (SELECT s FROM models s WHERE s.model = held.model);
    lines version_line[] := (SELECT array_agg(q.line ORDER BY (q.line).version)
        FROM (SELECT ROW(v.version, max(v.trained_at), min(v.trained_by), min(v.method), sum(clusters(v.operator)), sum(v.n),
                         sum(v.objective * v.n) / NULLIF(sum(v.n) FILTER (WHERE v.objective IS NOT NULL), 0),
                         sum(v.label_churn * v.n) / NULLIF(sum(v.n) FILTER (WHERE v.label_churn IS NOT NULL), 0))::version_line AS line
                FROM readable_versions v WHERE v.model_id = held.id AND v.version <= held.version AND v.group_value = COALESCE(group_text($3), v.group_value)
               GROUP BY v.version ORDER BY v.version DESC LIMIT 30) q);
    line version_line := lines[cardinality(lines)];
    heading text := COALESCE(html($4), concat(html(held.model), ': ' || html(group_text($3))));
    lead text;    -- the model in a sentence
    shown report_cluster[];
    told profile_value[];
    encoding name := pg_client_encoding();
BEGIN
    IF overview THEN
        SELECT v.* INTO version FROM readable_versions v WHERE v.model_id = held.id AND v.version = held.version ORDER BY v.n DESC, v.group_value LIMIT 1;
    ELSE
        version := explained_version(held, group_text($3));
        shown := report_clusters(held, version);
        told := profile_values(version, shown);
    END IF;
    lead := format('%s %s of <code>%s</code> in %s %s%s, by %s.', html_value(line.n, 'count'), CASE WHEN line.n = 1 THEN 'row' ELSE 'rows' END, html(version.relation, 120), html_value(line.clusters, 'count'),
                   CASE WHEN line.clusters = 1 THEN 'cluster' ELSE 'clusters' END,
                   CASE WHEN overview THEN format(' of %s groups by <code>%s</code>', html_value(summary.groups, 'count'), html(summary.group_by))
                        WHEN summary.group_by IS NOT NULL THEN format(', where <code>%s</code> is <code>%s</code>', html(summary.group_by), html(version.group_value, 120)) END,
                   CASE WHEN version.vector THEN format('the vector <code>%s</code>', html(version.features[1]))
                        WHEN cardinality(version.features) <= 4 THEN (SELECT string_agg(format('<code>%s</code>', html(f)), ', ' ORDER BY i) FROM unnest(version.features) WITH ORDINALITY u(f, i))
                        ELSE format('%s columns', cardinality(version.features)) END);
    -- the page is in the encoding of the client that writes the file
    RETURN concat(E'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="',
        CASE WHEN encoding LIKE 'LATIN_' THEN 'iso-8859-' || right(encoding, 1) WHEN encoding LIKE 'WIN12__' THEN 'windows-' || right(encoding, 4) ELSE 'utf-8' END, E'">\n',
        E'<meta name="viewport" content="width=device-width, initial-scale=1">\n',
        E'<meta http-equiv="Content-Security-Policy" content="default-src ''none''; style-src ''unsafe-inline''">\n',
        E'<meta name="color-scheme" content="light dark">\n<title>', heading, E'</title>\n<style>', report_style(), E'</style>\n</head>\n<body>\n<div class="page">\n',
        format(E'<header>\n<h1>%s</h1>\n<p class="lead">%s</p>\n%s</header>\n', heading, lead, report_story(held, group_text($3), shown, told, lines)),
        E'<dl class="facts">\n',
        (SELECT string_agg(format(E'<div><dt>%s</dt><dd id="%s" class="%s">%s</dd></div>\n', f.name, f.id, f.class, f.value), '' ORDER BY f.i)
           FROM (SELECT u.*, row_number() OVER () AS i FROM (VALUES
                ('rows', 'Rows', html_value(line.n, 'count'), ''),
                ('clusters', 'Clusters', html_value(line.clusters, 'count'), ''),
                ('dimensions', CASE WHEN version.map IS NULL THEN 'Dimensions' ELSE 'Kernel features' END, html_value(summary.dim, 'count'), ''),
                ('objective', 'Mean squared distance', html_value(line.objective, 'number'), ''),
                ('version', 'Version', html_value(line.version, 'count'), ''),
                ('trained', 'Trained', html_time(line.trained_at), 'word')) u(id, name, value, class)) f), E'</dl>\n',
        CASE WHEN overview THEN report_groups(held)
             ELSE concat(report_map(shown, told), report_tree(version, shown), report_sizes(held, version, shown), report_profile(version, told, shown),
                         CASE WHEN $2 THEN report_rules(held, group_text($3), shown) END) END,
        report_versions(lines), report_drift(held), report_steps(held), report_details(summary, version),
        format('<footer>Made %s by fastclust %s for %s: <code>SELECT report(%s)</code>. The numbers are those of <code>model_clusters</code>, '
               '<code>profile</code>, <code>cluster_rules</code>, <code>model_versions</code>, <code>drift_log</code> and <code>training_log</code>.</footer>',
               html_time(now()), html((SELECT e.extversion FROM pg_extension e WHERE e.extname = 'fastclust')), html(current_user),
               html(concat(quote_literal(held.model), ', group_value => ' || quote_literal(group_text($3)), ', title => ' || quote_literal($4)))),
        E'\n</div>\n</body>\n</html>');
END
$$;
COMMENT ON FUNCTION report(text, boolean, anycompatible, text) IS 'a page of HTML about a model, or one of its groups: clusters, profile, rules, versions, drift and training; without rules it reads no table';

-- rights at the end: functions that the owner of the extension calls for others, and nobody else

DO $$
DECLARE
    part record;
BEGIN
    FOR part IN SELECT p.oid::pg_catalog.regprocedure AS function FROM pg_catalog.pg_proc p
                 WHERE p.pronamespace OPERATOR(pg_catalog.=) 'fastclust_internal'::pg_catalog.regnamespace
                   AND p.proname OPERATOR(pg_catalog.=) ANY ('{lock_name,running_trainings}') LOOP
        EXECUTE pg_catalog.format('REVOKE EXECUTE ON FUNCTION %s FROM PUBLIC', part.function);
    END LOOP;
END
$$;

-- A parallel restore loads the model tables in any order: inserts are not checked against models.  The writers insert
-- while they hold the model's row.  Deletes and new names still cascade.
DO $$
DECLARE
    part record;
BEGIN
    FOR part IN SELECT t.tgrelid::pg_catalog.regclass AS relation, t.tgname AS name FROM pg_catalog.pg_trigger t
                 WHERE t.tgconstrrelid OPERATOR(pg_catalog.=) 'fastclust_internal.stored_models'::pg_catalog.regclass
                   AND t.tgfoid OPERATOR(pg_catalog.=) 'pg_catalog."RI_FKey_check_ins"'::pg_catalog.regproc LOOP
        EXECUTE pg_catalog.format('ALTER TABLE %s DISABLE TRIGGER %I', part.relation, part.name);
    END LOOP;
END
$$;

-- The owner of the database dumps the tables, and restores models of roles whose rights it has and live sketches of its tables.
CREATE FUNCTION fastclust_internal.check_restored_row() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, fastclust, fastclust_internal, pg_temp AS $$
DECLARE
    own boolean;
BEGIN
    IF TG_TABLE_NAME = 'stored_models' THEN
        own := pg_has_role(NEW.owner, 'USAGE');
    ELSIF TG_TABLE_NAME = 'kept_sketches' THEN
        own := EXISTS (SELECT FROM pg_class c WHERE c.oid = NEW.relation AND pg_has_role(c.relowner, 'USAGE'))
               AND (NEW.model_id IS NULL OR EXISTS (SELECT FROM own_models m WHERE m.id = NEW.model_id));
    ELSIF TG_TABLE_NAME = 'label_tables' THEN      -- written with the rights of that role
        own := EXISTS (SELECT FROM own_models m WHERE m.id = NEW.model_id) AND pg_has_role(NEW.followed_by, 'USAGE');
    ELSIF TG_TABLE_NAME IN ('live_leaves', 'live_bases', 'live_deltas') THEN
        own := EXISTS (SELECT FROM own_live_sketches l WHERE l.id = NEW.live_id);
    ELSE
        own := EXISTS (SELECT FROM own_models m WHERE m.id = NEW.model_id);
    END IF;
    IF own IS NOT TRUE THEN
        RAISE insufficient_privilege USING MESSAGE = format('%s cannot restore rows of %s that belong to other roles', current_user, TG_TABLE_NAME),
            HINT = 'Restore as a superuser, or as a member of the roles that own models.';
    END IF;
    RETURN NEW;
END
$$;
DO $$
DECLARE
    part record;
    owner text := (SELECT CASE WHEN pg_catalog.current_setting('server_version_num')::int >= 140000 THEN 'pg_database_owner' ELSE pg_catalog.pg_get_userbyid(d.datdba) END
                     FROM pg_catalog.pg_database d WHERE d.datname = pg_catalog.current_database());
BEGIN
    FOR part IN SELECT c.oid::pg_catalog.regclass AS id, c.relkind AS kind FROM pg_catalog.pg_extension e, pg_catalog.pg_class c
                 WHERE e.extname = 'fastclust' AND c.oid = ANY (e.extconfig) LOOP
        IF part.kind = 'S' THEN
            EXECUTE pg_catalog.format('GRANT SELECT, UPDATE ON SEQUENCE %s TO %I', part.id, owner);
        ELSE
            EXECUTE pg_catalog.format('GRANT SELECT, INSERT ON %s TO %I', part.id, owner);
            EXECUTE pg_catalog.format('CREATE TRIGGER restore BEFORE INSERT ON %1$s FOR EACH ROW WHEN (NOT has_table_privilege(''fastclust_internal.%1$s'', ''UPDATE''))'
                                      ' EXECUTE FUNCTION check_restored_row()', part.id);
        END IF;
    END LOOP;
END
$$;
