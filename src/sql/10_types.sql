
-- types: flat, versioned, canonical bytes; text form is hexadecimal

CREATE TYPE sketch_spec;
CREATE FUNCTION fastclust_internal.sketch_spec_in(cstring) RETURNS sketch_spec
    AS 'MODULE_PATHNAME', 'fastclust_sketch_spec_in' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.sketch_spec_out(sketch_spec) RETURNS cstring
    AS 'MODULE_PATHNAME', 'fastclust_value_out' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.sketch_spec_recv(internal) RETURNS sketch_spec
    AS 'MODULE_PATHNAME', 'fastclust_sketch_spec_recv' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.sketch_spec_send(sketch_spec) RETURNS bytea
    AS 'MODULE_PATHNAME', 'fastclust_value_send' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE TYPE sketch_spec (INPUT = sketch_spec_in, OUTPUT = sketch_spec_out, RECEIVE = sketch_spec_recv,
    SEND = sketch_spec_send, ALIGNMENT = double, STORAGE = external);
COMMENT ON TYPE sketch_spec IS 'a spec: which waves a sketch averages, and at which scale; it also carries sample rows (pilot rows) for decode';

CREATE TYPE sketch;
CREATE FUNCTION fastclust_internal.sketch_in(cstring) RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_sketch_in' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.sketch_out(sketch) RETURNS cstring
    AS 'MODULE_PATHNAME', 'fastclust_sketch_out' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.sketch_recv(internal) RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_sketch_recv' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.sketch_send(sketch) RETURNS bytea
    AS 'MODULE_PATHNAME', 'fastclust_sketch_send' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE TYPE sketch (INPUT = sketch_in, OUTPUT = sketch_out, RECEIVE = sketch_recv,
    SEND = sketch_send, ALIGNMENT = double, STORAGE = external);
COMMENT ON TYPE sketch IS 'a summary of a set of rows: the means of random waves over them, with counts, means, deviations and bounds';

CREATE TYPE fastop;
CREATE FUNCTION fastclust_internal.fastop_in(cstring) RETURNS fastop
    AS 'MODULE_PATHNAME', 'fastclust_fastop_in' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.fastop_out(fastop) RETURNS cstring
    AS 'MODULE_PATHNAME', 'fastclust_value_out' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.fastop_recv(internal) RETURNS fastop
    AS 'MODULE_PATHNAME', 'fastclust_fastop_recv' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.fastop_send(fastop) RETURNS bytea
    AS 'MODULE_PATHNAME', 'fastclust_value_send' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE TYPE fastop (INPUT = fastop_in, OUTPUT = fastop_out, RECEIVE = fastop_recv,
    SEND = fastop_send, ALIGNMENT = double, STORAGE = external);
COMMENT ON TYPE fastop IS 'an operator: stored centroids, dense or as a product of sparse factors, that assign rows to clusters';

CREATE TYPE aggregate_state;
CREATE FUNCTION fastclust_internal.aggregate_state_in(cstring) RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_state_in' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.aggregate_state_out(aggregate_state) RETURNS cstring
    AS 'MODULE_PATHNAME', 'fastclust_value_out' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.aggregate_state_recv(internal) RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_state_recv' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.aggregate_state_send(aggregate_state) RETURNS bytea
    AS 'MODULE_PATHNAME', 'fastclust_value_send' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE TYPE aggregate_state (INPUT = aggregate_state_in, OUTPUT = aggregate_state_out, RECEIVE = aggregate_state_recv,
    SEND = aggregate_state_send, ALIGNMENT = double, STORAGE = external);
COMMENT ON TYPE aggregate_state IS 'internal: the running state of Lloyd steps and scores, as it travels between workers and shards';
