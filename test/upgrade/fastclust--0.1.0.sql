\echo Use "CREATE EXTENSION fastclust" to load this file. \quit

-- What users call is in @extschema@; what that calls is in fastclust_internal.
CREATE SCHEMA fastclust_internal;

-- Whoever owns a schema, may create in it or has made something there could put a function or an operator where calls
-- from here would take it for the closer match.
DO $$
DECLARE
    schema record;
    problem text;
    hint text;
BEGIN
    FOR schema IN SELECT n.* FROM pg_catalog.pg_namespace n
                   WHERE n.nspname OPERATOR(pg_catalog.=) ANY ('{@extschema@,fastclust_internal}') LOOP
        problem := NULL;
        hint := 'Drop it: CREATE EXTENSION makes its own.';
        IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles r WHERE r.oid OPERATOR(pg_catalog.=) schema.nspowner
                          AND (r.rolsuper OR r.rolname OPERATOR(pg_catalog.=) current_user)) THEN
            problem := pg_catalog.format('schema %s belongs to a role that is not a superuser', schema.nspname);
            hint := pg_catalog.format('Drop it, or ALTER SCHEMA %s OWNER TO CURRENT_USER.', schema.nspname);
        ELSIF EXISTS (SELECT FROM pg_catalog.aclexplode(schema.nspacl) a LEFT JOIN pg_catalog.pg_roles r ON r.oid OPERATOR(pg_catalog.=) a.grantee
                       WHERE a.privilege_type OPERATOR(pg_catalog.=) 'CREATE' AND a.grantee OPERATOR(pg_catalog.<>) schema.nspowner
                         AND r.rolsuper IS NOT TRUE) THEN
            problem := pg_catalog.format('a role that is not a superuser may create objects in schema %s', schema.nspname);
            hint := pg_catalog.format('Drop it, or REVOKE CREATE ON SCHEMA %s.', schema.nspname);
        ELSIF EXISTS (SELECT FROM pg_catalog.pg_depend d
                       WHERE d.refclassid OPERATOR(pg_catalog.=) 'pg_catalog.pg_namespace'::pg_catalog.regclass
                         AND d.refobjid OPERATOR(pg_catalog.=) schema.oid AND d.deptype OPERATOR(pg_catalog.=) 'n'
                         AND d.classid OPERATOR(pg_catalog.<>) 'pg_catalog.pg_extension'::pg_catalog.regclass) THEN
            problem := pg_catalog.format('schema %s holds objects already', schema.nspname);
        END IF;
        IF problem IS NOT NULL THEN
            RAISE insufficient_privilege USING MESSAGE = problem, HINT = hint;
        END IF;
    END LOOP;
END
$$;

-- every function is harmless to others: whoever may connect may use them
GRANT USAGE ON SCHEMA @extschema@, fastclust_internal TO PUBLIC;

-- objects are made in @extschema@ unless they say otherwise, and found in both
SET LOCAL search_path = @extschema@, fastclust_internal, pg_temp;

-- types: flat, versioned, canonical bytes; text form is hexadecimal

CREATE TYPE @extschema@.sketch_spec;
CREATE FUNCTION fastclust_internal.sketch_spec_in(cstring) RETURNS sketch_spec
    AS 'MODULE_PATHNAME', 'fastclust_sketch_spec_in' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.sketch_spec_out(sketch_spec) RETURNS cstring
    AS 'MODULE_PATHNAME', 'fastclust_value_out' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.sketch_spec_recv(internal) RETURNS sketch_spec
    AS 'MODULE_PATHNAME', 'fastclust_sketch_spec_recv' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.sketch_spec_send(sketch_spec) RETURNS bytea
    AS 'MODULE_PATHNAME', 'fastclust_value_send' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE TYPE @extschema@.sketch_spec (INPUT = sketch_spec_in, OUTPUT = sketch_spec_out, RECEIVE = sketch_spec_recv, SEND = sketch_spec_send,
    ALIGNMENT = double, STORAGE = external);
CREATE TYPE @extschema@.sketch;
CREATE FUNCTION fastclust_internal.sketch_in(cstring) RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_sketch_in' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.sketch_out(sketch) RETURNS cstring
    AS 'MODULE_PATHNAME', 'fastclust_sketch_out' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.sketch_recv(internal) RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_sketch_recv' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.sketch_send(sketch) RETURNS bytea
    AS 'MODULE_PATHNAME', 'fastclust_sketch_send' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE TYPE @extschema@.sketch (INPUT = sketch_in, OUTPUT = sketch_out, RECEIVE = sketch_recv, SEND = sketch_send,
    ALIGNMENT = double, STORAGE = external);
CREATE TYPE @extschema@.fastop;
CREATE FUNCTION fastclust_internal.fastop_in(cstring) RETURNS fastop
    AS 'MODULE_PATHNAME', 'fastclust_fastop_in' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.fastop_out(fastop) RETURNS cstring
    AS 'MODULE_PATHNAME', 'fastclust_value_out' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.fastop_recv(internal) RETURNS fastop
    AS 'MODULE_PATHNAME', 'fastclust_fastop_recv' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.fastop_send(fastop) RETURNS bytea
    AS 'MODULE_PATHNAME', 'fastclust_value_send' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE TYPE @extschema@.fastop (INPUT = fastop_in, OUTPUT = fastop_out, RECEIVE = fastop_recv, SEND = fastop_send,
    ALIGNMENT = double, STORAGE = external);
CREATE TYPE fastclust_internal.aggregate_state;
CREATE FUNCTION fastclust_internal.aggregate_state_in(cstring) RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_state_in' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.aggregate_state_out(aggregate_state) RETURNS cstring
    AS 'MODULE_PATHNAME', 'fastclust_value_out' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.aggregate_state_recv(internal) RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_state_recv' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.aggregate_state_send(aggregate_state) RETURNS bytea
    AS 'MODULE_PATHNAME', 'fastclust_value_send' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE TYPE fastclust_internal.aggregate_state (INPUT = aggregate_state_in, OUTPUT = aggregate_state_out, RECEIVE = aggregate_state_recv, SEND = aggregate_state_send,
    ALIGNMENT = double, STORAGE = external);
CREATE TYPE @extschema@.kernel_projection;
CREATE FUNCTION fastclust_internal.kernel_projection_in(cstring) RETURNS kernel_projection
    AS 'MODULE_PATHNAME', 'fastclust_kernel_projection_in' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.kernel_projection_out(kernel_projection) RETURNS cstring
    AS 'MODULE_PATHNAME', 'fastclust_value_out' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.kernel_projection_recv(internal) RETURNS kernel_projection
    AS 'MODULE_PATHNAME', 'fastclust_kernel_projection_recv' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.kernel_projection_send(kernel_projection) RETURNS bytea
    AS 'MODULE_PATHNAME', 'fastclust_value_send' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE TYPE @extschema@.kernel_projection (INPUT = kernel_projection_in, OUTPUT = kernel_projection_out, RECEIVE = kernel_projection_recv, SEND = kernel_projection_send,
    ALIGNMENT = double, STORAGE = external);
CREATE TYPE @extschema@.kernel_map;
CREATE FUNCTION fastclust_internal.kernel_map_in(cstring) RETURNS kernel_map
    AS 'MODULE_PATHNAME', 'fastclust_kernel_map_in' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.kernel_map_out(kernel_map) RETURNS cstring
    AS 'MODULE_PATHNAME', 'fastclust_value_out' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.kernel_map_recv(internal) RETURNS kernel_map
    AS 'MODULE_PATHNAME', 'fastclust_kernel_map_recv' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.kernel_map_send(kernel_map) RETURNS bytea
    AS 'MODULE_PATHNAME', 'fastclust_value_send' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE TYPE @extschema@.kernel_map (INPUT = kernel_map_in, OUTPUT = kernel_map_out, RECEIVE = kernel_map_recv, SEND = kernel_map_send,
    ALIGNMENT = double, STORAGE = external);
CREATE TYPE @extschema@.encoder;
CREATE FUNCTION fastclust_internal.encoder_in(cstring) RETURNS encoder
    AS 'MODULE_PATHNAME', 'fastclust_encoder_in' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.encoder_out(encoder) RETURNS cstring
    AS 'MODULE_PATHNAME', 'fastclust_value_out' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.encoder_recv(internal) RETURNS encoder
    AS 'MODULE_PATHNAME', 'fastclust_encoder_recv' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.encoder_send(encoder) RETURNS bytea
    AS 'MODULE_PATHNAME', 'fastclust_value_send' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE TYPE @extschema@.encoder (INPUT = encoder_in, OUTPUT = encoder_out, RECEIVE = encoder_recv, SEND = encoder_send,
    ALIGNMENT = double, STORAGE = external);
COMMENT ON TYPE sketch_spec IS 'a spec: which waves a sketch averages, and at which scale; it also carries sample rows (pilot rows) for decode';
COMMENT ON TYPE sketch IS 'a summary of a set of rows: the means of random waves over them, with counts, means, deviations and bounds';
COMMENT ON TYPE fastop IS 'an operator: stored centroids, dense or as a product of sparse factors, that assign rows to clusters';
COMMENT ON TYPE kernel_projection IS 'coordinates of rows whose inner products approximate a kernel matrix';
COMMENT ON TYPE kernel_map IS 'a feature map: turns a row into coordinates, by its kernel values with some landmarks';
COMMENT ON TYPE encoder IS 'an encoder: how numbers, categories, dates and arrays of a row become coordinates, learned from a sample';
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

-- comparison: by the canonical bytes, so DISTINCT, GROUP BY, joins and indexes work

CREATE FUNCTION fastclust_internal.sketch_spec_eq(sketch_spec, sketch_spec) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_value_eq' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE OPERATOR = (LEFTARG = sketch_spec, RIGHTARG = sketch_spec, FUNCTION = sketch_spec_eq, COMMUTATOR = =, NEGATOR = <>,
    RESTRICT = eqsel, JOIN = eqjoinsel, HASHES, MERGES);
COMMENT ON OPERATOR = (sketch_spec, sketch_spec) IS 'the same value';
CREATE FUNCTION fastclust_internal.sketch_spec_ne(sketch_spec, sketch_spec) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_value_ne' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE OPERATOR <> (LEFTARG = sketch_spec, RIGHTARG = sketch_spec, FUNCTION = sketch_spec_ne, COMMUTATOR = <>, NEGATOR = =,
    RESTRICT = neqsel, JOIN = neqjoinsel);
COMMENT ON OPERATOR <> (sketch_spec, sketch_spec) IS 'another value';
CREATE FUNCTION fastclust_internal.sketch_spec_lt(sketch_spec, sketch_spec) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_value_lt' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE OPERATOR < (LEFTARG = sketch_spec, RIGHTARG = sketch_spec, FUNCTION = sketch_spec_lt, COMMUTATOR = >, NEGATOR = >=,
    RESTRICT = scalarltsel, JOIN = scalarltjoinsel);
COMMENT ON OPERATOR < (sketch_spec, sketch_spec) IS 'the order of indexes and sorting, which means nothing else';
CREATE FUNCTION fastclust_internal.sketch_spec_le(sketch_spec, sketch_spec) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_value_le' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE OPERATOR <= (LEFTARG = sketch_spec, RIGHTARG = sketch_spec, FUNCTION = sketch_spec_le, COMMUTATOR = >=, NEGATOR = >,
    RESTRICT = scalarlesel, JOIN = scalarlejoinsel);
COMMENT ON OPERATOR <= (sketch_spec, sketch_spec) IS 'the order of indexes and sorting, which means nothing else';
CREATE FUNCTION fastclust_internal.sketch_spec_gt(sketch_spec, sketch_spec) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_value_gt' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE OPERATOR > (LEFTARG = sketch_spec, RIGHTARG = sketch_spec, FUNCTION = sketch_spec_gt, COMMUTATOR = <, NEGATOR = <=,
    RESTRICT = scalargtsel, JOIN = scalargtjoinsel);
COMMENT ON OPERATOR > (sketch_spec, sketch_spec) IS 'the order of indexes and sorting, which means nothing else';
CREATE FUNCTION fastclust_internal.sketch_spec_ge(sketch_spec, sketch_spec) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_value_ge' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE OPERATOR >= (LEFTARG = sketch_spec, RIGHTARG = sketch_spec, FUNCTION = sketch_spec_ge, COMMUTATOR = <=, NEGATOR = <,
    RESTRICT = scalargesel, JOIN = scalargejoinsel);
COMMENT ON OPERATOR >= (sketch_spec, sketch_spec) IS 'the order of indexes and sorting, which means nothing else';
CREATE FUNCTION fastclust_internal.sketch_spec_cmp(sketch_spec, sketch_spec) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_value_cmp' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.sketch_spec_hash(sketch_spec) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_value_hash' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE OPERATOR CLASS sketch_spec_ops DEFAULT FOR TYPE sketch_spec USING btree AS
    OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >, FUNCTION 1 sketch_spec_cmp(sketch_spec, sketch_spec);
CREATE OPERATOR CLASS sketch_spec_hash_ops DEFAULT FOR TYPE sketch_spec USING hash AS
    OPERATOR 1 =, FUNCTION 1 sketch_spec_hash(sketch_spec);
CREATE FUNCTION fastclust_internal.sketch_eq(sketch, sketch) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_value_eq' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE OPERATOR = (LEFTARG = sketch, RIGHTARG = sketch, FUNCTION = sketch_eq, COMMUTATOR = =, NEGATOR = <>,
    RESTRICT = eqsel, JOIN = eqjoinsel, HASHES, MERGES);
COMMENT ON OPERATOR = (sketch, sketch) IS 'the same value';
CREATE FUNCTION fastclust_internal.sketch_ne(sketch, sketch) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_value_ne' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE OPERATOR <> (LEFTARG = sketch, RIGHTARG = sketch, FUNCTION = sketch_ne, COMMUTATOR = <>, NEGATOR = =,
    RESTRICT = neqsel, JOIN = neqjoinsel);
COMMENT ON OPERATOR <> (sketch, sketch) IS 'another value';
CREATE FUNCTION fastclust_internal.sketch_lt(sketch, sketch) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_value_lt' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE OPERATOR < (LEFTARG = sketch, RIGHTARG = sketch, FUNCTION = sketch_lt, COMMUTATOR = >, NEGATOR = >=,
    RESTRICT = scalarltsel, JOIN = scalarltjoinsel);
COMMENT ON OPERATOR < (sketch, sketch) IS 'the order of indexes and sorting, which means nothing else';
CREATE FUNCTION fastclust_internal.sketch_le(sketch, sketch) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_value_le' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE OPERATOR <= (LEFTARG = sketch, RIGHTARG = sketch, FUNCTION = sketch_le, COMMUTATOR = >=, NEGATOR = >,
    RESTRICT = scalarlesel, JOIN = scalarlejoinsel);
COMMENT ON OPERATOR <= (sketch, sketch) IS 'the order of indexes and sorting, which means nothing else';
CREATE FUNCTION fastclust_internal.sketch_gt(sketch, sketch) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_value_gt' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE OPERATOR > (LEFTARG = sketch, RIGHTARG = sketch, FUNCTION = sketch_gt, COMMUTATOR = <, NEGATOR = <=,
    RESTRICT = scalargtsel, JOIN = scalargtjoinsel);
COMMENT ON OPERATOR > (sketch, sketch) IS 'the order of indexes and sorting, which means nothing else';
CREATE FUNCTION fastclust_internal.sketch_ge(sketch, sketch) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_value_ge' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE OPERATOR >= (LEFTARG = sketch, RIGHTARG = sketch, FUNCTION = sketch_ge, COMMUTATOR = <=, NEGATOR = <,
    RESTRICT = scalargesel, JOIN = scalargejoinsel);
COMMENT ON OPERATOR >= (sketch, sketch) IS 'the order of indexes and sorting, which means nothing else';
CREATE FUNCTION fastclust_internal.sketch_cmp(sketch, sketch) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_value_cmp' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.sketch_hash(sketch) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_value_hash' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE OPERATOR CLASS sketch_ops DEFAULT FOR TYPE sketch USING btree AS
    OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >, FUNCTION 1 sketch_cmp(sketch, sketch);
CREATE OPERATOR CLASS sketch_hash_ops DEFAULT FOR TYPE sketch USING hash AS
    OPERATOR 1 =, FUNCTION 1 sketch_hash(sketch);
CREATE FUNCTION fastclust_internal.fastop_eq(fastop, fastop) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_value_eq' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE OPERATOR = (LEFTARG = fastop, RIGHTARG = fastop, FUNCTION = fastop_eq, COMMUTATOR = =, NEGATOR = <>,
    RESTRICT = eqsel, JOIN = eqjoinsel, HASHES, MERGES);
COMMENT ON OPERATOR = (fastop, fastop) IS 'the same value';
CREATE FUNCTION fastclust_internal.fastop_ne(fastop, fastop) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_value_ne' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE OPERATOR <> (LEFTARG = fastop, RIGHTARG = fastop, FUNCTION = fastop_ne, COMMUTATOR = <>, NEGATOR = =,
    RESTRICT = neqsel, JOIN = neqjoinsel);
COMMENT ON OPERATOR <> (fastop, fastop) IS 'another value';
CREATE FUNCTION fastclust_internal.fastop_lt(fastop, fastop) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_value_lt' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE OPERATOR < (LEFTARG = fastop, RIGHTARG = fastop, FUNCTION = fastop_lt, COMMUTATOR = >, NEGATOR = >=,
    RESTRICT = scalarltsel, JOIN = scalarltjoinsel);
COMMENT ON OPERATOR < (fastop, fastop) IS 'the order of indexes and sorting, which means nothing else';
CREATE FUNCTION fastclust_internal.fastop_le(fastop, fastop) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_value_le' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE OPERATOR <= (LEFTARG = fastop, RIGHTARG = fastop, FUNCTION = fastop_le, COMMUTATOR = >=, NEGATOR = >,
    RESTRICT = scalarlesel, JOIN = scalarlejoinsel);
COMMENT ON OPERATOR <= (fastop, fastop) IS 'the order of indexes and sorting, which means nothing else';
CREATE FUNCTION fastclust_internal.fastop_gt(fastop, fastop) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_value_gt' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE OPERATOR > (LEFTARG = fastop, RIGHTARG = fastop, FUNCTION = fastop_gt, COMMUTATOR = <, NEGATOR = <=,
    RESTRICT = scalargtsel, JOIN = scalargtjoinsel);
COMMENT ON OPERATOR > (fastop, fastop) IS 'the order of indexes and sorting, which means nothing else';
CREATE FUNCTION fastclust_internal.fastop_ge(fastop, fastop) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_value_ge' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE OPERATOR >= (LEFTARG = fastop, RIGHTARG = fastop, FUNCTION = fastop_ge, COMMUTATOR = <=, NEGATOR = <,
    RESTRICT = scalargesel, JOIN = scalargejoinsel);
COMMENT ON OPERATOR >= (fastop, fastop) IS 'the order of indexes and sorting, which means nothing else';
CREATE FUNCTION fastclust_internal.fastop_cmp(fastop, fastop) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_value_cmp' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.fastop_hash(fastop) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_value_hash' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE OPERATOR CLASS fastop_ops DEFAULT FOR TYPE fastop USING btree AS
    OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >, FUNCTION 1 fastop_cmp(fastop, fastop);
CREATE OPERATOR CLASS fastop_hash_ops DEFAULT FOR TYPE fastop USING hash AS
    OPERATOR 1 =, FUNCTION 1 fastop_hash(fastop);
CREATE FUNCTION fastclust_internal.kernel_map_eq(kernel_map, kernel_map) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_value_eq' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE OPERATOR = (LEFTARG = kernel_map, RIGHTARG = kernel_map, FUNCTION = kernel_map_eq, COMMUTATOR = =, NEGATOR = <>,
    RESTRICT = eqsel, JOIN = eqjoinsel, HASHES, MERGES);
COMMENT ON OPERATOR = (kernel_map, kernel_map) IS 'the same value';
CREATE FUNCTION fastclust_internal.kernel_map_ne(kernel_map, kernel_map) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_value_ne' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE OPERATOR <> (LEFTARG = kernel_map, RIGHTARG = kernel_map, FUNCTION = kernel_map_ne, COMMUTATOR = <>, NEGATOR = =,
    RESTRICT = neqsel, JOIN = neqjoinsel);
COMMENT ON OPERATOR <> (kernel_map, kernel_map) IS 'another value';
CREATE FUNCTION fastclust_internal.kernel_map_lt(kernel_map, kernel_map) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_value_lt' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE OPERATOR < (LEFTARG = kernel_map, RIGHTARG = kernel_map, FUNCTION = kernel_map_lt, COMMUTATOR = >, NEGATOR = >=,
    RESTRICT = scalarltsel, JOIN = scalarltjoinsel);
COMMENT ON OPERATOR < (kernel_map, kernel_map) IS 'the order of indexes and sorting, which means nothing else';
CREATE FUNCTION fastclust_internal.kernel_map_le(kernel_map, kernel_map) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_value_le' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE OPERATOR <= (LEFTARG = kernel_map, RIGHTARG = kernel_map, FUNCTION = kernel_map_le, COMMUTATOR = >=, NEGATOR = >,
    RESTRICT = scalarlesel, JOIN = scalarlejoinsel);
COMMENT ON OPERATOR <= (kernel_map, kernel_map) IS 'the order of indexes and sorting, which means nothing else';
CREATE FUNCTION fastclust_internal.kernel_map_gt(kernel_map, kernel_map) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_value_gt' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE OPERATOR > (LEFTARG = kernel_map, RIGHTARG = kernel_map, FUNCTION = kernel_map_gt, COMMUTATOR = <, NEGATOR = <=,
    RESTRICT = scalargtsel, JOIN = scalargtjoinsel);
COMMENT ON OPERATOR > (kernel_map, kernel_map) IS 'the order of indexes and sorting, which means nothing else';
CREATE FUNCTION fastclust_internal.kernel_map_ge(kernel_map, kernel_map) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_value_ge' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE OPERATOR >= (LEFTARG = kernel_map, RIGHTARG = kernel_map, FUNCTION = kernel_map_ge, COMMUTATOR = <=, NEGATOR = <,
    RESTRICT = scalargesel, JOIN = scalargejoinsel);
COMMENT ON OPERATOR >= (kernel_map, kernel_map) IS 'the order of indexes and sorting, which means nothing else';
CREATE FUNCTION fastclust_internal.kernel_map_cmp(kernel_map, kernel_map) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_value_cmp' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.kernel_map_hash(kernel_map) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_value_hash' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE OPERATOR CLASS kernel_map_ops DEFAULT FOR TYPE kernel_map USING btree AS
    OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >, FUNCTION 1 kernel_map_cmp(kernel_map, kernel_map);
CREATE OPERATOR CLASS kernel_map_hash_ops DEFAULT FOR TYPE kernel_map USING hash AS
    OPERATOR 1 =, FUNCTION 1 kernel_map_hash(kernel_map);
CREATE FUNCTION fastclust_internal.encoder_eq(encoder, encoder) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_value_eq' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE OPERATOR = (LEFTARG = encoder, RIGHTARG = encoder, FUNCTION = encoder_eq, COMMUTATOR = =, NEGATOR = <>,
    RESTRICT = eqsel, JOIN = eqjoinsel, HASHES, MERGES);
COMMENT ON OPERATOR = (encoder, encoder) IS 'the same value';
CREATE FUNCTION fastclust_internal.encoder_ne(encoder, encoder) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_value_ne' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE OPERATOR <> (LEFTARG = encoder, RIGHTARG = encoder, FUNCTION = encoder_ne, COMMUTATOR = <>, NEGATOR = =,
    RESTRICT = neqsel, JOIN = neqjoinsel);
COMMENT ON OPERATOR <> (encoder, encoder) IS 'another value';
CREATE FUNCTION fastclust_internal.encoder_lt(encoder, encoder) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_value_lt' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE OPERATOR < (LEFTARG = encoder, RIGHTARG = encoder, FUNCTION = encoder_lt, COMMUTATOR = >, NEGATOR = >=,
    RESTRICT = scalarltsel, JOIN = scalarltjoinsel);
COMMENT ON OPERATOR < (encoder, encoder) IS 'the order of indexes and sorting, which means nothing else';
CREATE FUNCTION fastclust_internal.encoder_le(encoder, encoder) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_value_le' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE OPERATOR <= (LEFTARG = encoder, RIGHTARG = encoder, FUNCTION = encoder_le, COMMUTATOR = >=, NEGATOR = >,
    RESTRICT = scalarlesel, JOIN = scalarlejoinsel);
COMMENT ON OPERATOR <= (encoder, encoder) IS 'the order of indexes and sorting, which means nothing else';
CREATE FUNCTION fastclust_internal.encoder_gt(encoder, encoder) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_value_gt' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE OPERATOR > (LEFTARG = encoder, RIGHTARG = encoder, FUNCTION = encoder_gt, COMMUTATOR = <, NEGATOR = <=,
    RESTRICT = scalargtsel, JOIN = scalargtjoinsel);
COMMENT ON OPERATOR > (encoder, encoder) IS 'the order of indexes and sorting, which means nothing else';
CREATE FUNCTION fastclust_internal.encoder_ge(encoder, encoder) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_value_ge' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE OPERATOR >= (LEFTARG = encoder, RIGHTARG = encoder, FUNCTION = encoder_ge, COMMUTATOR = <=, NEGATOR = <,
    RESTRICT = scalargesel, JOIN = scalargejoinsel);
COMMENT ON OPERATOR >= (encoder, encoder) IS 'the order of indexes and sorting, which means nothing else';
CREATE FUNCTION fastclust_internal.encoder_cmp(encoder, encoder) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_value_cmp' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.encoder_hash(encoder) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_value_hash' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE OPERATOR CLASS encoder_ops DEFAULT FOR TYPE encoder USING btree AS
    OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >, FUNCTION 1 encoder_cmp(encoder, encoder);
CREATE OPERATOR CLASS encoder_hash_ops DEFAULT FOR TYPE encoder USING hash AS
    OPERATOR 1 =, FUNCTION 1 encoder_hash(encoder);
CREATE FUNCTION fastclust_internal.kernel_eq(kernel, kernel) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_kernel_eq' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE OPERATOR = (LEFTARG = kernel, RIGHTARG = kernel, FUNCTION = kernel_eq, COMMUTATOR = =, NEGATOR = <>,
    RESTRICT = eqsel, JOIN = eqjoinsel, HASHES, MERGES);
COMMENT ON OPERATOR = (kernel, kernel) IS 'the same value';
CREATE FUNCTION fastclust_internal.kernel_ne(kernel, kernel) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_kernel_ne' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE OPERATOR <> (LEFTARG = kernel, RIGHTARG = kernel, FUNCTION = kernel_ne, COMMUTATOR = <>, NEGATOR = =,
    RESTRICT = neqsel, JOIN = neqjoinsel);
COMMENT ON OPERATOR <> (kernel, kernel) IS 'another value';
CREATE FUNCTION fastclust_internal.kernel_lt(kernel, kernel) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_kernel_lt' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE OPERATOR < (LEFTARG = kernel, RIGHTARG = kernel, FUNCTION = kernel_lt, COMMUTATOR = >, NEGATOR = >=,
    RESTRICT = scalarltsel, JOIN = scalarltjoinsel);
COMMENT ON OPERATOR < (kernel, kernel) IS 'the order of indexes and sorting, which means nothing else';
CREATE FUNCTION fastclust_internal.kernel_le(kernel, kernel) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_kernel_le' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE OPERATOR <= (LEFTARG = kernel, RIGHTARG = kernel, FUNCTION = kernel_le, COMMUTATOR = >=, NEGATOR = >,
    RESTRICT = scalarlesel, JOIN = scalarlejoinsel);
COMMENT ON OPERATOR <= (kernel, kernel) IS 'the order of indexes and sorting, which means nothing else';
CREATE FUNCTION fastclust_internal.kernel_gt(kernel, kernel) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_kernel_gt' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE OPERATOR > (LEFTARG = kernel, RIGHTARG = kernel, FUNCTION = kernel_gt, COMMUTATOR = <, NEGATOR = <=,
    RESTRICT = scalargtsel, JOIN = scalargtjoinsel);
COMMENT ON OPERATOR > (kernel, kernel) IS 'the order of indexes and sorting, which means nothing else';
CREATE FUNCTION fastclust_internal.kernel_ge(kernel, kernel) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_kernel_ge' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE OPERATOR >= (LEFTARG = kernel, RIGHTARG = kernel, FUNCTION = kernel_ge, COMMUTATOR = <=, NEGATOR = <,
    RESTRICT = scalargesel, JOIN = scalargejoinsel);
COMMENT ON OPERATOR >= (kernel, kernel) IS 'the order of indexes and sorting, which means nothing else';
CREATE FUNCTION fastclust_internal.kernel_cmp(kernel, kernel) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_kernel_cmp' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.kernel_hash(kernel) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_kernel_hash' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE OPERATOR CLASS kernel_ops DEFAULT FOR TYPE kernel USING btree AS
    OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >, FUNCTION 1 kernel_cmp(kernel, kernel);
CREATE OPERATOR CLASS kernel_hash_ops DEFAULT FOR TYPE kernel USING hash AS
    OPERATOR 1 =, FUNCTION 1 kernel_hash(kernel);

-- of projections only equality
CREATE FUNCTION fastclust_internal.kernel_projection_eq(kernel_projection, kernel_projection) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_projection_eq' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.kernel_projection_ne(kernel_projection, kernel_projection) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_projection_ne' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE OPERATOR = (LEFTARG = kernel_projection, RIGHTARG = kernel_projection, FUNCTION = kernel_projection_eq, COMMUTATOR = =, NEGATOR = <>,
    RESTRICT = eqsel, JOIN = eqjoinsel);
CREATE OPERATOR <> (LEFTARG = kernel_projection, RIGHTARG = kernel_projection, FUNCTION = kernel_projection_ne, COMMUTATOR = <>, NEGATOR = =,
    RESTRICT = neqsel, JOIN = neqjoinsel);
COMMENT ON OPERATOR = (kernel_projection, kernel_projection) IS 'the same value';
COMMENT ON OPERATOR <> (kernel_projection, kernel_projection) IS 'another value';

-- sketch_spec: what to measure

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
CREATE FUNCTION without_pilot_rows(spec sketch_spec) RETURNS sketch_spec
    AS 'MODULE_PATHNAME', 'fastclust_spec_without_pilot' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION without_pilot_rows(sketch_spec) IS 'the spec without the sample rows it keeps for decoding: it makes the same sketches, and is small enough to send with every query';
CREATE FUNCTION frequencies(spec sketch_spec, OUT frequency integer, OUT omega double precision[]) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_spec_frequencies' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION frequencies(sketch_spec) IS 'the frequencies of a spec: moment j is the mean of exp(i omega_j . (x - center)) over the rows';

CREATE FUNCTION fastclust_internal.sketch_spec_combine(internal, internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_spec_combine' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.sketch_spec_serialize(internal) RETURNS bytea
    AS 'MODULE_PATHNAME', 'fastclust_spec_serialize' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.sketch_spec_deserialize(bytea, internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_spec_deserialize' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.sketch_spec_final(internal) RETURNS sketch_spec
    AS 'MODULE_PATHNAME', 'fastclust_spec_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION fastclust_internal.sketch_spec_accum(internal, real[], integer) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_spec_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 200;
CREATE AGGREGATE sketch_spec_agg(x real[], clusters integer) (SFUNC = sketch_spec_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = sketch_spec_combine, SERIALFUNC = sketch_spec_serialize, DESERIALFUNC = sketch_spec_deserialize,
    FINALFUNC = sketch_spec_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE sketch_spec_agg(real[], integer) IS 'a spec chosen from a sample of rows, for about so many clusters';
CREATE FUNCTION fastclust_internal.sketch_spec_accum(internal, real[], integer, integer) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_spec_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 200;
CREATE AGGREGATE sketch_spec_agg(x real[], clusters integer, frequencies integer) (SFUNC = sketch_spec_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = sketch_spec_combine, SERIALFUNC = sketch_spec_serialize, DESERIALFUNC = sketch_spec_deserialize,
    FINALFUNC = sketch_spec_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE sketch_spec_agg(real[], integer, integer) IS 'a spec chosen from a sample of rows, for about so many clusters';
CREATE FUNCTION fastclust_internal.sketch_spec_accum(internal, real[], integer, integer, bigint) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_spec_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 200;
CREATE AGGREGATE sketch_spec_agg(x real[], clusters integer, frequencies integer, seed bigint) (SFUNC = sketch_spec_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = sketch_spec_combine, SERIALFUNC = sketch_spec_serialize, DESERIALFUNC = sketch_spec_deserialize,
    FINALFUNC = sketch_spec_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE sketch_spec_agg(real[], integer, integer, bigint) IS 'a spec chosen from a sample of rows, for about so many clusters';
CREATE FUNCTION fastclust_internal.sketch_spec_accum(internal, real[], integer, jsonb) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_spec_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 200;
CREATE AGGREGATE sketch_spec_agg(x real[], clusters integer, options jsonb) (SFUNC = sketch_spec_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = sketch_spec_combine, SERIALFUNC = sketch_spec_serialize, DESERIALFUNC = sketch_spec_deserialize,
    FINALFUNC = sketch_spec_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE sketch_spec_agg(real[], integer, jsonb) IS 'a spec chosen from a sample of rows, for about so many clusters';
CREATE FUNCTION fastclust_internal.sketch_spec_accum(internal, double precision[], integer) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_spec_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 200;
CREATE AGGREGATE sketch_spec_agg(x double precision[], clusters integer) (SFUNC = sketch_spec_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = sketch_spec_combine, SERIALFUNC = sketch_spec_serialize, DESERIALFUNC = sketch_spec_deserialize,
    FINALFUNC = sketch_spec_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE sketch_spec_agg(double precision[], integer) IS 'a spec chosen from a sample of rows, for about so many clusters';
CREATE FUNCTION fastclust_internal.sketch_spec_accum(internal, double precision[], integer, integer) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_spec_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 200;
CREATE AGGREGATE sketch_spec_agg(x double precision[], clusters integer, frequencies integer) (SFUNC = sketch_spec_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = sketch_spec_combine, SERIALFUNC = sketch_spec_serialize, DESERIALFUNC = sketch_spec_deserialize,
    FINALFUNC = sketch_spec_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE sketch_spec_agg(double precision[], integer, integer) IS 'a spec chosen from a sample of rows, for about so many clusters';
CREATE FUNCTION fastclust_internal.sketch_spec_accum(internal, double precision[], integer, integer, bigint) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_spec_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 200;
CREATE AGGREGATE sketch_spec_agg(x double precision[], clusters integer, frequencies integer, seed bigint) (SFUNC = sketch_spec_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = sketch_spec_combine, SERIALFUNC = sketch_spec_serialize, DESERIALFUNC = sketch_spec_deserialize,
    FINALFUNC = sketch_spec_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE sketch_spec_agg(double precision[], integer, integer, bigint) IS 'a spec chosen from a sample of rows, for about so many clusters';
CREATE FUNCTION fastclust_internal.sketch_spec_accum(internal, double precision[], integer, jsonb) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_spec_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 200;
CREATE AGGREGATE sketch_spec_agg(x double precision[], clusters integer, options jsonb) (SFUNC = sketch_spec_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = sketch_spec_combine, SERIALFUNC = sketch_spec_serialize, DESERIALFUNC = sketch_spec_deserialize,
    FINALFUNC = sketch_spec_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE sketch_spec_agg(double precision[], integer, jsonb) IS 'a spec chosen from a sample of rows, for about so many clusters';
CREATE FUNCTION fastclust_internal.sketch_spec_accum(internal, integer[], integer) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_spec_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 200;
CREATE AGGREGATE sketch_spec_agg(x integer[], clusters integer) (SFUNC = sketch_spec_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = sketch_spec_combine, SERIALFUNC = sketch_spec_serialize, DESERIALFUNC = sketch_spec_deserialize,
    FINALFUNC = sketch_spec_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE sketch_spec_agg(integer[], integer) IS 'a spec chosen from a sample of rows, for about so many clusters';
CREATE FUNCTION fastclust_internal.sketch_spec_accum(internal, integer[], integer, integer) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_spec_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 200;
CREATE AGGREGATE sketch_spec_agg(x integer[], clusters integer, frequencies integer) (SFUNC = sketch_spec_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = sketch_spec_combine, SERIALFUNC = sketch_spec_serialize, DESERIALFUNC = sketch_spec_deserialize,
    FINALFUNC = sketch_spec_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE sketch_spec_agg(integer[], integer, integer) IS 'a spec chosen from a sample of rows, for about so many clusters';
CREATE FUNCTION fastclust_internal.sketch_spec_accum(internal, integer[], integer, integer, bigint) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_spec_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 200;
CREATE AGGREGATE sketch_spec_agg(x integer[], clusters integer, frequencies integer, seed bigint) (SFUNC = sketch_spec_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = sketch_spec_combine, SERIALFUNC = sketch_spec_serialize, DESERIALFUNC = sketch_spec_deserialize,
    FINALFUNC = sketch_spec_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE sketch_spec_agg(integer[], integer, integer, bigint) IS 'a spec chosen from a sample of rows, for about so many clusters';
CREATE FUNCTION fastclust_internal.sketch_spec_accum(internal, integer[], integer, jsonb) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_spec_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 200;
CREATE AGGREGATE sketch_spec_agg(x integer[], clusters integer, options jsonb) (SFUNC = sketch_spec_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = sketch_spec_combine, SERIALFUNC = sketch_spec_serialize, DESERIALFUNC = sketch_spec_deserialize,
    FINALFUNC = sketch_spec_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE sketch_spec_agg(integer[], integer, jsonb) IS 'a spec chosen from a sample of rows, for about so many clusters';
CREATE FUNCTION fastclust_internal.sketch_spec_accum(internal, numeric[], integer) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_spec_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 200;
CREATE AGGREGATE sketch_spec_agg(x numeric[], clusters integer) (SFUNC = sketch_spec_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = sketch_spec_combine, SERIALFUNC = sketch_spec_serialize, DESERIALFUNC = sketch_spec_deserialize,
    FINALFUNC = sketch_spec_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE sketch_spec_agg(numeric[], integer) IS 'a spec chosen from a sample of rows, for about so many clusters';
CREATE FUNCTION fastclust_internal.sketch_spec_accum(internal, numeric[], integer, integer) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_spec_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 200;
CREATE AGGREGATE sketch_spec_agg(x numeric[], clusters integer, frequencies integer) (SFUNC = sketch_spec_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = sketch_spec_combine, SERIALFUNC = sketch_spec_serialize, DESERIALFUNC = sketch_spec_deserialize,
    FINALFUNC = sketch_spec_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE sketch_spec_agg(numeric[], integer, integer) IS 'a spec chosen from a sample of rows, for about so many clusters';
CREATE FUNCTION fastclust_internal.sketch_spec_accum(internal, numeric[], integer, integer, bigint) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_spec_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 200;
CREATE AGGREGATE sketch_spec_agg(x numeric[], clusters integer, frequencies integer, seed bigint) (SFUNC = sketch_spec_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = sketch_spec_combine, SERIALFUNC = sketch_spec_serialize, DESERIALFUNC = sketch_spec_deserialize,
    FINALFUNC = sketch_spec_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE sketch_spec_agg(numeric[], integer, integer, bigint) IS 'a spec chosen from a sample of rows, for about so many clusters';
CREATE FUNCTION fastclust_internal.sketch_spec_accum(internal, numeric[], integer, jsonb) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_spec_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 200;
CREATE AGGREGATE sketch_spec_agg(x numeric[], clusters integer, options jsonb) (SFUNC = sketch_spec_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = sketch_spec_combine, SERIALFUNC = sketch_spec_serialize, DESERIALFUNC = sketch_spec_deserialize,
    FINALFUNC = sketch_spec_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE sketch_spec_agg(numeric[], integer, jsonb) IS 'a spec chosen from a sample of rows, for about so many clusters';

-- sketch: one scan over the rows

CREATE FUNCTION fastclust_internal.sketch_combine(sketch, sketch) RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_sketch_combine' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE FUNCTION fastclust_internal.sketch_final(sketch) RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_sketch_final' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE FUNCTION fastclust_internal.sketch_final_moving(sketch) RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_sketch_final_moving' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE FUNCTION fastclust_internal.merge_moving(sketch, sketch) RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_merge_moving' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
CREATE FUNCTION fastclust_internal.merge_inverse(sketch, sketch) RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_merge_inverse' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;

CREATE FUNCTION fastclust_internal.sketch_accum(sketch, real[], sketch_spec) RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_sketch_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500;
CREATE FUNCTION fastclust_internal.sketch_accum_moving(sketch, real[], sketch_spec) RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_sketch_accum_moving' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500;
CREATE FUNCTION fastclust_internal.sketch_inverse(sketch, real[], sketch_spec) RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_sketch_inverse' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500;
CREATE AGGREGATE sketch_agg(x real[], spec sketch_spec) (SFUNC = sketch_accum, STYPE = sketch, SSPACE = 16384,
    COMBINEFUNC = sketch_combine, FINALFUNC = sketch_final, FINALFUNC_MODIFY = READ_ONLY,
    MSFUNC = sketch_accum_moving, MINVFUNC = sketch_inverse, MSTYPE = sketch, MSSPACE = 16384,
    MFINALFUNC = sketch_final_moving, MFINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE sketch_agg(real[], sketch_spec) IS 'the sketch of a set of rows, in one scan';
CREATE FUNCTION fastclust_internal.sketch_accum(sketch, real[], sketch_spec, double precision) RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_sketch_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500;
CREATE FUNCTION fastclust_internal.sketch_accum_moving(sketch, real[], sketch_spec, double precision) RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_sketch_accum_moving' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500;
CREATE FUNCTION fastclust_internal.sketch_inverse(sketch, real[], sketch_spec, double precision) RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_sketch_inverse' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500;
CREATE AGGREGATE sketch_agg(x real[], spec sketch_spec, weight double precision) (SFUNC = sketch_accum, STYPE = sketch, SSPACE = 16384,
    COMBINEFUNC = sketch_combine, FINALFUNC = sketch_final, FINALFUNC_MODIFY = READ_ONLY,
    MSFUNC = sketch_accum_moving, MINVFUNC = sketch_inverse, MSTYPE = sketch, MSSPACE = 16384,
    MFINALFUNC = sketch_final_moving, MFINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE sketch_agg(real[], sketch_spec, double precision) IS 'the sketch of a set of weighted rows, in one scan';
CREATE FUNCTION fastclust_internal.sketch_accum(sketch, double precision[], sketch_spec) RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_sketch_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500;
CREATE FUNCTION fastclust_internal.sketch_accum_moving(sketch, double precision[], sketch_spec) RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_sketch_accum_moving' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500;
CREATE FUNCTION fastclust_internal.sketch_inverse(sketch, double precision[], sketch_spec) RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_sketch_inverse' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500;
CREATE AGGREGATE sketch_agg(x double precision[], spec sketch_spec) (SFUNC = sketch_accum, STYPE = sketch, SSPACE = 16384,
    COMBINEFUNC = sketch_combine, FINALFUNC = sketch_final, FINALFUNC_MODIFY = READ_ONLY,
    MSFUNC = sketch_accum_moving, MINVFUNC = sketch_inverse, MSTYPE = sketch, MSSPACE = 16384,
    MFINALFUNC = sketch_final_moving, MFINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE sketch_agg(double precision[], sketch_spec) IS 'the sketch of a set of rows, in one scan';
CREATE FUNCTION fastclust_internal.sketch_accum(sketch, double precision[], sketch_spec, double precision) RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_sketch_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500;
CREATE FUNCTION fastclust_internal.sketch_accum_moving(sketch, double precision[], sketch_spec, double precision) RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_sketch_accum_moving' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500;
CREATE FUNCTION fastclust_internal.sketch_inverse(sketch, double precision[], sketch_spec, double precision) RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_sketch_inverse' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500;
CREATE AGGREGATE sketch_agg(x double precision[], spec sketch_spec, weight double precision) (SFUNC = sketch_accum, STYPE = sketch, SSPACE = 16384,
    COMBINEFUNC = sketch_combine, FINALFUNC = sketch_final, FINALFUNC_MODIFY = READ_ONLY,
    MSFUNC = sketch_accum_moving, MINVFUNC = sketch_inverse, MSTYPE = sketch, MSSPACE = 16384,
    MFINALFUNC = sketch_final_moving, MFINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE sketch_agg(double precision[], sketch_spec, double precision) IS 'the sketch of a set of weighted rows, in one scan';
CREATE FUNCTION fastclust_internal.sketch_accum(sketch, integer[], sketch_spec) RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_sketch_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500;
CREATE FUNCTION fastclust_internal.sketch_accum_moving(sketch, integer[], sketch_spec) RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_sketch_accum_moving' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500;
CREATE FUNCTION fastclust_internal.sketch_inverse(sketch, integer[], sketch_spec) RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_sketch_inverse' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500;
CREATE AGGREGATE sketch_agg(x integer[], spec sketch_spec) (SFUNC = sketch_accum, STYPE = sketch, SSPACE = 16384,
    COMBINEFUNC = sketch_combine, FINALFUNC = sketch_final, FINALFUNC_MODIFY = READ_ONLY,
    MSFUNC = sketch_accum_moving, MINVFUNC = sketch_inverse, MSTYPE = sketch, MSSPACE = 16384,
    MFINALFUNC = sketch_final_moving, MFINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE sketch_agg(integer[], sketch_spec) IS 'the sketch of a set of rows, in one scan';
CREATE FUNCTION fastclust_internal.sketch_accum(sketch, integer[], sketch_spec, double precision) RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_sketch_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500;
CREATE FUNCTION fastclust_internal.sketch_accum_moving(sketch, integer[], sketch_spec, double precision) RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_sketch_accum_moving' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500;
CREATE FUNCTION fastclust_internal.sketch_inverse(sketch, integer[], sketch_spec, double precision) RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_sketch_inverse' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500;
CREATE AGGREGATE sketch_agg(x integer[], spec sketch_spec, weight double precision) (SFUNC = sketch_accum, STYPE = sketch, SSPACE = 16384,
    COMBINEFUNC = sketch_combine, FINALFUNC = sketch_final, FINALFUNC_MODIFY = READ_ONLY,
    MSFUNC = sketch_accum_moving, MINVFUNC = sketch_inverse, MSTYPE = sketch, MSSPACE = 16384,
    MFINALFUNC = sketch_final_moving, MFINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE sketch_agg(integer[], sketch_spec, double precision) IS 'the sketch of a set of weighted rows, in one scan';
CREATE FUNCTION fastclust_internal.sketch_accum(sketch, numeric[], sketch_spec) RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_sketch_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500;
CREATE FUNCTION fastclust_internal.sketch_accum_moving(sketch, numeric[], sketch_spec) RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_sketch_accum_moving' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500;
CREATE FUNCTION fastclust_internal.sketch_inverse(sketch, numeric[], sketch_spec) RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_sketch_inverse' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500;
CREATE AGGREGATE sketch_agg(x numeric[], spec sketch_spec) (SFUNC = sketch_accum, STYPE = sketch, SSPACE = 16384,
    COMBINEFUNC = sketch_combine, FINALFUNC = sketch_final, FINALFUNC_MODIFY = READ_ONLY,
    MSFUNC = sketch_accum_moving, MINVFUNC = sketch_inverse, MSTYPE = sketch, MSSPACE = 16384,
    MFINALFUNC = sketch_final_moving, MFINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE sketch_agg(numeric[], sketch_spec) IS 'the sketch of a set of rows, in one scan';
CREATE FUNCTION fastclust_internal.sketch_accum(sketch, numeric[], sketch_spec, double precision) RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_sketch_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500;
CREATE FUNCTION fastclust_internal.sketch_accum_moving(sketch, numeric[], sketch_spec, double precision) RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_sketch_accum_moving' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500;
CREATE FUNCTION fastclust_internal.sketch_inverse(sketch, numeric[], sketch_spec, double precision) RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_sketch_inverse' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500;
CREATE AGGREGATE sketch_agg(x numeric[], spec sketch_spec, weight double precision) (SFUNC = sketch_accum, STYPE = sketch, SSPACE = 16384,
    COMBINEFUNC = sketch_combine, FINALFUNC = sketch_final, FINALFUNC_MODIFY = READ_ONLY,
    MSFUNC = sketch_accum_moving, MINVFUNC = sketch_inverse, MSTYPE = sketch, MSSPACE = 16384,
    MFINALFUNC = sketch_final_moving, MFINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE sketch_agg(numeric[], sketch_spec, double precision) IS 'the sketch of a set of weighted rows, in one scan';

CREATE AGGREGATE merge_agg(sketch) (SFUNC = sketch_combine, STYPE = sketch, SSPACE = 16384,
    COMBINEFUNC = sketch_combine, FINALFUNC = sketch_final, FINALFUNC_MODIFY = READ_ONLY,
    MSFUNC = merge_moving, MINVFUNC = merge_inverse, MSTYPE = sketch, MSSPACE = 16384,
    MFINALFUNC = sketch_final_moving, MFINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE merge_agg(sketch) IS 'the sketch of the rows of all the sketches';

CREATE FUNCTION fastclust_internal.sketch_plus(sketch, sketch) RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_sketch_plus' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE OPERATOR + (LEFTARG = sketch, RIGHTARG = sketch, FUNCTION = sketch_plus, COMMUTATOR = +);
CREATE FUNCTION fastclust_internal.sketch_minus(sketch, sketch) RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_sketch_minus' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE OPERATOR - (LEFTARG = sketch, RIGHTARG = sketch, FUNCTION = sketch_minus);
COMMENT ON OPERATOR + (sketch, sketch) IS 'the sketch of the rows of both';
COMMENT ON OPERATOR - (sketch, sketch) IS 'the sketch without the rows of the other';

CREATE FUNCTION row_count(sketch) RETURNS bigint
    AS 'MODULE_PATHNAME', 'fastclust_sketch_row_count' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION row_count(sketch) IS 'number of rows';
CREATE FUNCTION total_weight(sketch) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_sketch_total_weight' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION total_weight(sketch) IS 'sum of the weights';
CREATE FUNCTION means(sketch) RETURNS double precision[]
    AS 'MODULE_PATHNAME', 'fastclust_sketch_means' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION means(sketch) IS 'mean of each dimension';
CREATE FUNCTION stddevs(sketch) RETURNS double precision[]
    AS 'MODULE_PATHNAME', 'fastclust_sketch_stddevs' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION stddevs(sketch) IS 'standard deviation of each dimension (population)';
CREATE FUNCTION lower_bounds(sketch) RETURNS double precision[]
    AS 'MODULE_PATHNAME', 'fastclust_sketch_lower_bounds' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION lower_bounds(sketch) IS 'the minimum of each dimension; NULL after a subtraction';
CREATE FUNCTION upper_bounds(sketch) RETURNS double precision[]
    AS 'MODULE_PATHNAME', 'fastclust_sketch_upper_bounds' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION upper_bounds(sketch) IS 'the maximum of each dimension; NULL after a subtraction';
CREATE FUNCTION moments(sketch) RETURNS double precision[]
    AS 'MODULE_PATHNAME', 'fastclust_sketch_moments' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION moments(sketch) IS 'the means of the waves: real and imaginary parts in turn';
CREATE FUNCTION describe(sketch) RETURNS jsonb
    AS 'MODULE_PATHNAME', 'fastclust_sketch_describe' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION describe(sketch) IS 'rows, weight, size and spec of a sketch';
CREATE FUNCTION spec(sketch) RETURNS sketch_spec
    AS 'MODULE_PATHNAME', 'fastclust_sketch_get_spec' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION spec(sketch) IS 'the spec of a sketch, without pilot rows';
CREATE FUNCTION sketch_distance(a sketch, b sketch) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_sketch_distance' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sketch_distance(sketch, sketch) IS 'the squared maximum mean discrepancy (MMD) of two sketches, without bias: about 0 when both come from one distribution';
CREATE FUNCTION density(sketch sketch, x real[]) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_sketch_density' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 500;
COMMENT ON FUNCTION density(sketch, real[]) IS 'how dense the sketched rows are around x, at the scale of the spec; at most 1';
CREATE FUNCTION density(sketch sketch, x double precision[]) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_sketch_density' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 500;
COMMENT ON FUNCTION density(sketch, double precision[]) IS 'how dense the sketched rows are around x, at the scale of the spec; at most 1';
CREATE FUNCTION density(sketch sketch, x integer[]) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_sketch_density' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 500;
COMMENT ON FUNCTION density(sketch, integer[]) IS 'how dense the sketched rows are around x, at the scale of the spec; at most 1';
CREATE FUNCTION density(sketch sketch, x numeric[]) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_sketch_density' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 500;
COMMENT ON FUNCTION density(sketch, numeric[]) IS 'how dense the sketched rows are around x, at the scale of the spec; at most 1';

-- decode: centroids without the rows

CREATE FUNCTION decode(sketch sketch, k integer, decoder text DEFAULT 'auto', options jsonb DEFAULT '{}',
        pilot sketch_spec DEFAULT NULL,
        OUT cluster integer, OUT centroid double precision[], OUT weight double precision, OUT spread double precision)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_decode' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 1000000 ROWS 10;
COMMENT ON FUNCTION decode(sketch, integer, text, jsonb, sketch_spec) IS 'k centroids computed from a sketch, with their shares and spreads; reads no row';
CREATE FUNCTION decode_fit(sketch sketch, INOUT k integer, decoder text DEFAULT 'auto', options jsonb DEFAULT '{}',
        pilot sketch_spec DEFAULT NULL,
        OUT cost double precision, OUT relative_residual double precision,
        OUT iterations integer, OUT seconds double precision)
    AS 'MODULE_PATHNAME', 'fastclust_decode_fit' LANGUAGE C VOLATILE PARALLEL SAFE COST 1000000;
COMMENT ON FUNCTION decode_fit(sketch, integer, text, jsonb, sketch_spec) IS 'how well k clusters explain a sketch';
CREATE FUNCTION decode_covariances(sketch sketch, k integer, decoder text DEFAULT 'shift', options jsonb DEFAULT '{}',
        pilot sketch_spec DEFAULT NULL,
        OUT cluster integer, OUT covariance double precision[])
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_decode_covariances' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 1000000 ROWS 10;
COMMENT ON FUNCTION decode_covariances(sketch, integer, text, jsonb, sketch_spec) IS 'the covariance matrices of the clusters that decode finds with the same arguments';

-- fastop: a stored operator that assigns rows

CREATE FUNCTION fastclust_internal.fastop_final(internal) RETURNS fastop
    AS 'MODULE_PATHNAME', 'fastclust_fastop_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.kmeans_combine(internal, internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_kmeans_combine' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.kmeans_serialize(internal) RETURNS bytea
    AS 'MODULE_PATHNAME', 'fastclust_kmeans_serialize' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.kmeans_deserialize(bytea, internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_kmeans_deserialize' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.kmeans_final(internal) RETURNS fastop
    AS 'MODULE_PATHNAME', 'fastclust_kmeans_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;

CREATE FUNCTION fastclust_internal.fastop_accum(internal, real[]) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_fastop_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE AGGREGATE fastop_agg(centroid real[]) (SFUNC = fastop_accum, STYPE = internal, FINALFUNC = fastop_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE fastop_agg(real[]) IS 'an operator from centroids; clusters are numbered from 0 in the order of the input';
CREATE FUNCTION fastclust_internal.fastop_accum(internal, real[], double precision) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_fastop_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE AGGREGATE fastop_agg(centroid real[], weight double precision) (SFUNC = fastop_accum, STYPE = internal, FINALFUNC = fastop_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE fastop_agg(real[], double precision) IS 'an operator from centroids; clusters are numbered from 0 in the order of the input';
CREATE FUNCTION fastclust_internal.kmeans_accum(internal, real[], integer) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_kmeans_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE AGGREGATE kmeans_agg(x real[], k integer) (SFUNC = kmeans_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kmeans_combine, SERIALFUNC = kmeans_serialize, DESERIALFUNC = kmeans_deserialize,
    FINALFUNC = kmeans_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE kmeans_agg(real[], integer) IS 'k-means in memory: k-means++ and Lloyd''s algorithm';
CREATE FUNCTION fastclust_internal.kmeans_accum(internal, real[], integer, jsonb) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_kmeans_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE AGGREGATE kmeans_agg(x real[], k integer, options jsonb) (SFUNC = kmeans_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kmeans_combine, SERIALFUNC = kmeans_serialize, DESERIALFUNC = kmeans_deserialize,
    FINALFUNC = kmeans_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE kmeans_agg(real[], integer, jsonb) IS 'k-means in memory: k-means++ and Lloyd''s algorithm';
CREATE FUNCTION assign(op fastop, x real[]) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_assign' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION assign(fastop, real[]) IS 'number of the nearest cluster';
CREATE FUNCTION assign_distance(op fastop, x real[]) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_assign_distance' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION assign_distance(fastop, real[]) IS 'distance to the nearest centroid: Euclidean, 1 - cosine or the negative inner product, as the operator''s metric is';
CREATE FUNCTION nearest(op fastop, x real[], n integer) RETURNS integer[]
    AS 'MODULE_PATHNAME', 'fastclust_nearest' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION nearest(fastop, real[], integer) IS 'numbers of the n nearest clusters, nearest first';
CREATE FUNCTION project(op fastop, x real[]) RETURNS real[]
    AS 'MODULE_PATHNAME', 'fastclust_project' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION project(fastop, real[]) IS 'the product of the factors times x, without the offset';
CREATE FUNCTION fastclust_internal.fastop_accum(internal, double precision[]) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_fastop_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE AGGREGATE fastop_agg(centroid double precision[]) (SFUNC = fastop_accum, STYPE = internal, FINALFUNC = fastop_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE fastop_agg(double precision[]) IS 'an operator from centroids; clusters are numbered from 0 in the order of the input';
CREATE FUNCTION fastclust_internal.fastop_accum(internal, double precision[], double precision) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_fastop_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE AGGREGATE fastop_agg(centroid double precision[], weight double precision) (SFUNC = fastop_accum, STYPE = internal, FINALFUNC = fastop_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE fastop_agg(double precision[], double precision) IS 'an operator from centroids; clusters are numbered from 0 in the order of the input';
CREATE FUNCTION fastclust_internal.kmeans_accum(internal, double precision[], integer) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_kmeans_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE AGGREGATE kmeans_agg(x double precision[], k integer) (SFUNC = kmeans_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kmeans_combine, SERIALFUNC = kmeans_serialize, DESERIALFUNC = kmeans_deserialize,
    FINALFUNC = kmeans_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE kmeans_agg(double precision[], integer) IS 'k-means in memory: k-means++ and Lloyd''s algorithm';
CREATE FUNCTION fastclust_internal.kmeans_accum(internal, double precision[], integer, jsonb) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_kmeans_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE AGGREGATE kmeans_agg(x double precision[], k integer, options jsonb) (SFUNC = kmeans_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kmeans_combine, SERIALFUNC = kmeans_serialize, DESERIALFUNC = kmeans_deserialize,
    FINALFUNC = kmeans_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE kmeans_agg(double precision[], integer, jsonb) IS 'k-means in memory: k-means++ and Lloyd''s algorithm';
CREATE FUNCTION assign(op fastop, x double precision[]) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_assign' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION assign(fastop, double precision[]) IS 'number of the nearest cluster';
CREATE FUNCTION assign_distance(op fastop, x double precision[]) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_assign_distance' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION assign_distance(fastop, double precision[]) IS 'distance to the nearest centroid: Euclidean, 1 - cosine or the negative inner product, as the operator''s metric is';
CREATE FUNCTION nearest(op fastop, x double precision[], n integer) RETURNS integer[]
    AS 'MODULE_PATHNAME', 'fastclust_nearest' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION nearest(fastop, double precision[], integer) IS 'numbers of the n nearest clusters, nearest first';
CREATE FUNCTION project(op fastop, x double precision[]) RETURNS real[]
    AS 'MODULE_PATHNAME', 'fastclust_project' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION project(fastop, double precision[]) IS 'the product of the factors times x, without the offset';
CREATE FUNCTION fastclust_internal.fastop_accum(internal, integer[]) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_fastop_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE AGGREGATE fastop_agg(centroid integer[]) (SFUNC = fastop_accum, STYPE = internal, FINALFUNC = fastop_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE fastop_agg(integer[]) IS 'an operator from centroids; clusters are numbered from 0 in the order of the input';
CREATE FUNCTION fastclust_internal.fastop_accum(internal, integer[], double precision) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_fastop_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE AGGREGATE fastop_agg(centroid integer[], weight double precision) (SFUNC = fastop_accum, STYPE = internal, FINALFUNC = fastop_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE fastop_agg(integer[], double precision) IS 'an operator from centroids; clusters are numbered from 0 in the order of the input';
CREATE FUNCTION fastclust_internal.kmeans_accum(internal, integer[], integer) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_kmeans_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE AGGREGATE kmeans_agg(x integer[], k integer) (SFUNC = kmeans_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kmeans_combine, SERIALFUNC = kmeans_serialize, DESERIALFUNC = kmeans_deserialize,
    FINALFUNC = kmeans_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE kmeans_agg(integer[], integer) IS 'k-means in memory: k-means++ and Lloyd''s algorithm';
CREATE FUNCTION fastclust_internal.kmeans_accum(internal, integer[], integer, jsonb) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_kmeans_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE AGGREGATE kmeans_agg(x integer[], k integer, options jsonb) (SFUNC = kmeans_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kmeans_combine, SERIALFUNC = kmeans_serialize, DESERIALFUNC = kmeans_deserialize,
    FINALFUNC = kmeans_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE kmeans_agg(integer[], integer, jsonb) IS 'k-means in memory: k-means++ and Lloyd''s algorithm';
CREATE FUNCTION assign(op fastop, x integer[]) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_assign' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION assign(fastop, integer[]) IS 'number of the nearest cluster';
CREATE FUNCTION assign_distance(op fastop, x integer[]) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_assign_distance' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION assign_distance(fastop, integer[]) IS 'distance to the nearest centroid: Euclidean, 1 - cosine or the negative inner product, as the operator''s metric is';
CREATE FUNCTION nearest(op fastop, x integer[], n integer) RETURNS integer[]
    AS 'MODULE_PATHNAME', 'fastclust_nearest' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION nearest(fastop, integer[], integer) IS 'numbers of the n nearest clusters, nearest first';
CREATE FUNCTION project(op fastop, x integer[]) RETURNS real[]
    AS 'MODULE_PATHNAME', 'fastclust_project' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION project(fastop, integer[]) IS 'the product of the factors times x, without the offset';
CREATE FUNCTION fastclust_internal.fastop_accum(internal, numeric[]) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_fastop_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE AGGREGATE fastop_agg(centroid numeric[]) (SFUNC = fastop_accum, STYPE = internal, FINALFUNC = fastop_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE fastop_agg(numeric[]) IS 'an operator from centroids; clusters are numbered from 0 in the order of the input';
CREATE FUNCTION fastclust_internal.fastop_accum(internal, numeric[], double precision) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_fastop_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE AGGREGATE fastop_agg(centroid numeric[], weight double precision) (SFUNC = fastop_accum, STYPE = internal, FINALFUNC = fastop_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE fastop_agg(numeric[], double precision) IS 'an operator from centroids; clusters are numbered from 0 in the order of the input';
CREATE FUNCTION fastclust_internal.kmeans_accum(internal, numeric[], integer) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_kmeans_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE AGGREGATE kmeans_agg(x numeric[], k integer) (SFUNC = kmeans_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kmeans_combine, SERIALFUNC = kmeans_serialize, DESERIALFUNC = kmeans_deserialize,
    FINALFUNC = kmeans_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE kmeans_agg(numeric[], integer) IS 'k-means in memory: k-means++ and Lloyd''s algorithm';
CREATE FUNCTION fastclust_internal.kmeans_accum(internal, numeric[], integer, jsonb) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_kmeans_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE AGGREGATE kmeans_agg(x numeric[], k integer, options jsonb) (SFUNC = kmeans_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kmeans_combine, SERIALFUNC = kmeans_serialize, DESERIALFUNC = kmeans_deserialize,
    FINALFUNC = kmeans_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE kmeans_agg(numeric[], integer, jsonb) IS 'k-means in memory: k-means++ and Lloyd''s algorithm';
CREATE FUNCTION assign(op fastop, x numeric[]) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_assign' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION assign(fastop, numeric[]) IS 'number of the nearest cluster';
CREATE FUNCTION assign_distance(op fastop, x numeric[]) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_assign_distance' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION assign_distance(fastop, numeric[]) IS 'distance to the nearest centroid: Euclidean, 1 - cosine or the negative inner product, as the operator''s metric is';
CREATE FUNCTION nearest(op fastop, x numeric[], n integer) RETURNS integer[]
    AS 'MODULE_PATHNAME', 'fastclust_nearest' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION nearest(fastop, numeric[], integer) IS 'numbers of the n nearest clusters, nearest first';
CREATE FUNCTION project(op fastop, x numeric[]) RETURNS real[]
    AS 'MODULE_PATHNAME', 'fastclust_project' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION project(fastop, numeric[]) IS 'the product of the factors times x, without the offset';

CREATE FUNCTION with_metric(op fastop, metric text) RETURNS fastop
    AS 'MODULE_PATHNAME', 'fastclust_with_metric' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION with_metric(fastop, text) IS 'the operator with another metric: euclidean, cosine (centroids brought to length 1) or inner_product (for assigning)';
CREATE FUNCTION fastclust_internal.metric_of(op fastop) RETURNS text
    AS 'MODULE_PATHNAME', 'fastclust_metric_of' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION centroids(op fastop, OUT cluster integer, OUT centroid double precision[], OUT weight double precision)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_centroids' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION centroids(fastop) IS 'the centroids: the rows of the product plus the offset';
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
COMMENT ON FUNCTION probe(fastop, real[], integer) IS 'the n clusters in which to search for the neighbours of a query, nearest first';
CREATE FUNCTION l2_distance(x real[], y real[]) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_l2_distance' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION l2_distance(real[], real[]) IS 'Euclidean distance of two vectors';
CREATE FUNCTION probe(op fastop, query double precision[], n integer) RETURNS integer[]
    AS 'MODULE_PATHNAME', 'fastclust_nearest' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION probe(fastop, double precision[], integer) IS 'the n clusters in which to search for the neighbours of a query, nearest first';
CREATE FUNCTION l2_distance(x double precision[], y double precision[]) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_l2_distance' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION l2_distance(double precision[], double precision[]) IS 'Euclidean distance of two vectors';
CREATE FUNCTION probe(op fastop, query integer[], n integer) RETURNS integer[]
    AS 'MODULE_PATHNAME', 'fastclust_nearest' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION probe(fastop, integer[], integer) IS 'the n clusters in which to search for the neighbours of a query, nearest first';
CREATE FUNCTION l2_distance(x integer[], y integer[]) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_l2_distance' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION l2_distance(integer[], integer[]) IS 'Euclidean distance of two vectors';
CREATE FUNCTION probe(op fastop, query numeric[], n integer) RETURNS integer[]
    AS 'MODULE_PATHNAME', 'fastclust_nearest' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION probe(fastop, numeric[], integer) IS 'the n clusters in which to search for the neighbours of a query, nearest first';
CREATE FUNCTION l2_distance(x numeric[], y numeric[]) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_l2_distance' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100;
COMMENT ON FUNCTION l2_distance(numeric[], numeric[]) IS 'Euclidean distance of two vectors';

-- factorize: centroids as a product with fewer parameters

-- sample: rows that auto judges by, as fastop_agg makes of them; NULL: made-up rows.
CREATE FUNCTION factorize(op fastop, method text DEFAULT 'auto', options jsonb DEFAULT '{}', sample fastop DEFAULT NULL) RETURNS fastop
    AS 'MODULE_PATHNAME', 'fastclust_factorize' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 1000000;
COMMENT ON FUNCTION factorize(fastop, text, jsonb, fastop) IS 'the centroids of an operator as a product of factors with fewer values';

-- QK-means: centroids learned as a product of sparse factors

CREATE FUNCTION qkmeans(relation regclass, features name, k integer, options jsonb DEFAULT '{}') RETURNS fastop
    AS 'MODULE_PATHNAME', 'fastclust_door' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE COST 1000000;
CREATE FUNCTION fastclust_internal.qkmeans_inside(relation regclass, features name, k integer, options jsonb DEFAULT '{}') RETURNS fastop
    AS 'MODULE_PATHNAME', 'fastclust_qkmeans' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE COST 1000000;
COMMENT ON FUNCTION qkmeans(regclass, name, integer, jsonb) IS 'QuicK-means over a table: learns k centroids as a product of sparse factors, one scan an iteration';
CREATE FUNCTION qkmeans_log(relation regclass, features name, k integer, options jsonb DEFAULT '{}',
        OUT iteration integer, OUT objective double precision, OUT objective_of_means double precision, OUT nonzeros bigint,
        OUT empty integer, OUT seconds double precision, OUT op fastop)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_door' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE COST 1000000 ROWS 10;
CREATE FUNCTION fastclust_internal.qkmeans_log_inside(relation regclass, features name, k integer, options jsonb DEFAULT '{}',
        OUT iteration integer, OUT objective double precision, OUT objective_of_means double precision, OUT nonzeros bigint,
        OUT empty integer, OUT seconds double precision, OUT op fastop)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_qkmeans_log' LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE COST 1000000 ROWS 10;
COMMENT ON FUNCTION qkmeans_log(regclass, name, integer, jsonb) IS 'qkmeans with one row per iteration; the last row holds the operator';

CREATE FUNCTION fastclust_internal.qkmeans_final(internal) RETURNS fastop
    AS 'MODULE_PATHNAME', 'fastclust_qkmeans_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE AGGREGATE qkmeans_agg(x real[], k integer) (SFUNC = kmeans_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kmeans_combine, SERIALFUNC = kmeans_serialize, DESERIALFUNC = kmeans_deserialize,
    FINALFUNC = qkmeans_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE qkmeans_agg(real[], integer) IS 'QuicK-means in memory: learns k centroids as a product of sparse factors';
CREATE AGGREGATE qkmeans_agg(x real[], k integer, options jsonb) (SFUNC = kmeans_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kmeans_combine, SERIALFUNC = kmeans_serialize, DESERIALFUNC = kmeans_deserialize,
    FINALFUNC = qkmeans_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE qkmeans_agg(real[], integer, jsonb) IS 'QuicK-means in memory: learns k centroids as a product of sparse factors';
CREATE AGGREGATE qkmeans_agg(x double precision[], k integer) (SFUNC = kmeans_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kmeans_combine, SERIALFUNC = kmeans_serialize, DESERIALFUNC = kmeans_deserialize,
    FINALFUNC = qkmeans_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE qkmeans_agg(double precision[], integer) IS 'QuicK-means in memory: learns k centroids as a product of sparse factors';
CREATE AGGREGATE qkmeans_agg(x double precision[], k integer, options jsonb) (SFUNC = kmeans_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kmeans_combine, SERIALFUNC = kmeans_serialize, DESERIALFUNC = kmeans_deserialize,
    FINALFUNC = qkmeans_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE qkmeans_agg(double precision[], integer, jsonb) IS 'QuicK-means in memory: learns k centroids as a product of sparse factors';
CREATE AGGREGATE qkmeans_agg(x integer[], k integer) (SFUNC = kmeans_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kmeans_combine, SERIALFUNC = kmeans_serialize, DESERIALFUNC = kmeans_deserialize,
    FINALFUNC = qkmeans_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE qkmeans_agg(integer[], integer) IS 'QuicK-means in memory: learns k centroids as a product of sparse factors';
CREATE AGGREGATE qkmeans_agg(x integer[], k integer, options jsonb) (SFUNC = kmeans_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kmeans_combine, SERIALFUNC = kmeans_serialize, DESERIALFUNC = kmeans_deserialize,
    FINALFUNC = qkmeans_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE qkmeans_agg(integer[], integer, jsonb) IS 'QuicK-means in memory: learns k centroids as a product of sparse factors';
CREATE AGGREGATE qkmeans_agg(x numeric[], k integer) (SFUNC = kmeans_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kmeans_combine, SERIALFUNC = kmeans_serialize, DESERIALFUNC = kmeans_deserialize,
    FINALFUNC = qkmeans_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE qkmeans_agg(numeric[], integer) IS 'QuicK-means in memory: learns k centroids as a product of sparse factors';
CREATE AGGREGATE qkmeans_agg(x numeric[], k integer, options jsonb) (SFUNC = kmeans_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kmeans_combine, SERIALFUNC = kmeans_serialize, DESERIALFUNC = kmeans_deserialize,
    FINALFUNC = qkmeans_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE qkmeans_agg(numeric[], integer, jsonb) IS 'QuicK-means in memory: learns k centroids as a product of sparse factors';

-- steps and scores

CREATE TYPE lloyd_step AS (next fastop, n bigint, sse double precision, counts bigint[]);
COMMENT ON TYPE lloyd_step IS 'the result of one step of Lloyd''s algorithm';
COMMENT ON COLUMN lloyd_step.next IS 'the operator with the means of the clusters as centroids';
COMMENT ON COLUMN lloyd_step.n IS 'the number of rows';
COMMENT ON COLUMN lloyd_step.sse IS 'the sum of squared distances of the rows to the old centroids';
COMMENT ON COLUMN lloyd_step.counts IS 'the number of rows of each cluster';
CREATE FUNCTION fastclust_internal.step_combine(aggregate_state, aggregate_state) RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_step_combine' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;

CREATE FUNCTION fastclust_internal.lloyd_final(aggregate_state) RETURNS lloyd_step
    AS 'MODULE_PATHNAME', 'fastclust_lloyd_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.lloyd_large_final(internal) RETURNS lloyd_step
    AS 'MODULE_PATHNAME', 'fastclust_lloyd_large_final' LANGUAGE C IMMUTABLE;
CREATE FUNCTION fastclust_internal.sse_final(aggregate_state) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_sse_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.silhouette_final(aggregate_state) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_silhouette_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.davies_bouldin_final(aggregate_state) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_davies_bouldin_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.lloyd_accum(aggregate_state, fastop, real[]) RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_lloyd_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE AGGREGATE lloyd_step_agg(op fastop, x real[]) (SFUNC = lloyd_accum, STYPE = aggregate_state, SSPACE = 65536,
    COMBINEFUNC = step_combine, FINALFUNC = lloyd_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE lloyd_step_agg(fastop, real[]) IS 'one step of Lloyd''s algorithm: assigns every row and returns the means of the clusters';
CREATE AGGREGATE fastclust_internal.lloyd_sums_agg(op fastop, x real[]) (SFUNC = lloyd_accum, STYPE = aggregate_state, SSPACE = 65536,
    COMBINEFUNC = step_combine, PARALLEL = SAFE);
CREATE FUNCTION fastclust_internal.lloyd_accum(aggregate_state, fastop, real[], double precision) RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_lloyd_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE AGGREGATE lloyd_step_agg(op fastop, x real[], weight double precision) (SFUNC = lloyd_accum, STYPE = aggregate_state, SSPACE = 65536,
    COMBINEFUNC = step_combine, FINALFUNC = lloyd_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE lloyd_step_agg(fastop, real[], double precision) IS 'one step of Lloyd''s algorithm over weighted rows';
CREATE FUNCTION fastclust_internal.lloyd_large_accum(internal, fastop, real[]) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_lloyd_large_accum' LANGUAGE C IMMUTABLE COST 300;
-- Sums that no value holds: in one process.
CREATE AGGREGATE fastclust_internal.lloyd_large_agg(op fastop, x real[]) (SFUNC = lloyd_large_accum, STYPE = internal, SSPACE = 1073741824,
    FINALFUNC = lloyd_large_final, FINALFUNC_MODIFY = READ_ONLY);
CREATE FUNCTION fastclust_internal.sse_accum(aggregate_state, fastop, real[]) RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_sse_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE AGGREGATE sse_agg(op fastop, x real[]) (SFUNC = sse_accum, STYPE = aggregate_state, SSPACE = 65536,
    COMBINEFUNC = step_combine, FINALFUNC = sse_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE sse_agg(fastop, real[]) IS 'the sum of squared distances of the rows to their nearest centroids';
CREATE FUNCTION fastclust_internal.silhouette_accum(aggregate_state, fastop, real[]) RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_silhouette_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE AGGREGATE simplified_silhouette_agg(op fastop, x real[]) (SFUNC = silhouette_accum, STYPE = aggregate_state, SSPACE = 65536,
    COMBINEFUNC = step_combine, FINALFUNC = silhouette_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE simplified_silhouette_agg(fastop, real[]) IS 'mean of (b - a) / max(a, b), a and b the distances to the two nearest centroids';
CREATE FUNCTION fastclust_internal.davies_bouldin_accum(aggregate_state, fastop, real[]) RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_davies_bouldin_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE AGGREGATE davies_bouldin_agg(op fastop, x real[]) (SFUNC = davies_bouldin_accum, STYPE = aggregate_state, SSPACE = 65536,
    COMBINEFUNC = step_combine, FINALFUNC = davies_bouldin_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE davies_bouldin_agg(fastop, real[]) IS 'Davies-Bouldin index: lower is better separated';
CREATE FUNCTION fastclust_internal.lloyd_accum(aggregate_state, fastop, double precision[]) RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_lloyd_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE AGGREGATE lloyd_step_agg(op fastop, x double precision[]) (SFUNC = lloyd_accum, STYPE = aggregate_state, SSPACE = 65536,
    COMBINEFUNC = step_combine, FINALFUNC = lloyd_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE lloyd_step_agg(fastop, double precision[]) IS 'one step of Lloyd''s algorithm: assigns every row and returns the means of the clusters';
CREATE AGGREGATE fastclust_internal.lloyd_sums_agg(op fastop, x double precision[]) (SFUNC = lloyd_accum, STYPE = aggregate_state, SSPACE = 65536,
    COMBINEFUNC = step_combine, PARALLEL = SAFE);
CREATE FUNCTION fastclust_internal.lloyd_accum(aggregate_state, fastop, double precision[], double precision) RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_lloyd_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE AGGREGATE lloyd_step_agg(op fastop, x double precision[], weight double precision) (SFUNC = lloyd_accum, STYPE = aggregate_state, SSPACE = 65536,
    COMBINEFUNC = step_combine, FINALFUNC = lloyd_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE lloyd_step_agg(fastop, double precision[], double precision) IS 'one step of Lloyd''s algorithm over weighted rows';
CREATE FUNCTION fastclust_internal.lloyd_large_accum(internal, fastop, double precision[]) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_lloyd_large_accum' LANGUAGE C IMMUTABLE COST 300;
-- Sums that no value holds: in one process.
CREATE AGGREGATE fastclust_internal.lloyd_large_agg(op fastop, x double precision[]) (SFUNC = lloyd_large_accum, STYPE = internal, SSPACE = 1073741824,
    FINALFUNC = lloyd_large_final, FINALFUNC_MODIFY = READ_ONLY);
CREATE FUNCTION fastclust_internal.sse_accum(aggregate_state, fastop, double precision[]) RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_sse_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE AGGREGATE sse_agg(op fastop, x double precision[]) (SFUNC = sse_accum, STYPE = aggregate_state, SSPACE = 65536,
    COMBINEFUNC = step_combine, FINALFUNC = sse_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE sse_agg(fastop, double precision[]) IS 'the sum of squared distances of the rows to their nearest centroids';
CREATE FUNCTION fastclust_internal.silhouette_accum(aggregate_state, fastop, double precision[]) RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_silhouette_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE AGGREGATE simplified_silhouette_agg(op fastop, x double precision[]) (SFUNC = silhouette_accum, STYPE = aggregate_state, SSPACE = 65536,
    COMBINEFUNC = step_combine, FINALFUNC = silhouette_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE simplified_silhouette_agg(fastop, double precision[]) IS 'mean of (b - a) / max(a, b), a and b the distances to the two nearest centroids';
CREATE FUNCTION fastclust_internal.davies_bouldin_accum(aggregate_state, fastop, double precision[]) RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_davies_bouldin_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE AGGREGATE davies_bouldin_agg(op fastop, x double precision[]) (SFUNC = davies_bouldin_accum, STYPE = aggregate_state, SSPACE = 65536,
    COMBINEFUNC = step_combine, FINALFUNC = davies_bouldin_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE davies_bouldin_agg(fastop, double precision[]) IS 'Davies-Bouldin index: lower is better separated';
CREATE FUNCTION fastclust_internal.lloyd_accum(aggregate_state, fastop, integer[]) RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_lloyd_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE AGGREGATE lloyd_step_agg(op fastop, x integer[]) (SFUNC = lloyd_accum, STYPE = aggregate_state, SSPACE = 65536,
    COMBINEFUNC = step_combine, FINALFUNC = lloyd_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE lloyd_step_agg(fastop, integer[]) IS 'one step of Lloyd''s algorithm: assigns every row and returns the means of the clusters';
CREATE AGGREGATE fastclust_internal.lloyd_sums_agg(op fastop, x integer[]) (SFUNC = lloyd_accum, STYPE = aggregate_state, SSPACE = 65536,
    COMBINEFUNC = step_combine, PARALLEL = SAFE);
CREATE FUNCTION fastclust_internal.lloyd_accum(aggregate_state, fastop, integer[], double precision) RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_lloyd_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE AGGREGATE lloyd_step_agg(op fastop, x integer[], weight double precision) (SFUNC = lloyd_accum, STYPE = aggregate_state, SSPACE = 65536,
    COMBINEFUNC = step_combine, FINALFUNC = lloyd_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE lloyd_step_agg(fastop, integer[], double precision) IS 'one step of Lloyd''s algorithm over weighted rows';
CREATE FUNCTION fastclust_internal.lloyd_large_accum(internal, fastop, integer[]) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_lloyd_large_accum' LANGUAGE C IMMUTABLE COST 300;
-- Sums that no value holds: in one process.
CREATE AGGREGATE fastclust_internal.lloyd_large_agg(op fastop, x integer[]) (SFUNC = lloyd_large_accum, STYPE = internal, SSPACE = 1073741824,
    FINALFUNC = lloyd_large_final, FINALFUNC_MODIFY = READ_ONLY);
CREATE FUNCTION fastclust_internal.sse_accum(aggregate_state, fastop, integer[]) RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_sse_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE AGGREGATE sse_agg(op fastop, x integer[]) (SFUNC = sse_accum, STYPE = aggregate_state, SSPACE = 65536,
    COMBINEFUNC = step_combine, FINALFUNC = sse_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE sse_agg(fastop, integer[]) IS 'the sum of squared distances of the rows to their nearest centroids';
CREATE FUNCTION fastclust_internal.silhouette_accum(aggregate_state, fastop, integer[]) RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_silhouette_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE AGGREGATE simplified_silhouette_agg(op fastop, x integer[]) (SFUNC = silhouette_accum, STYPE = aggregate_state, SSPACE = 65536,
    COMBINEFUNC = step_combine, FINALFUNC = silhouette_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE simplified_silhouette_agg(fastop, integer[]) IS 'mean of (b - a) / max(a, b), a and b the distances to the two nearest centroids';
CREATE FUNCTION fastclust_internal.davies_bouldin_accum(aggregate_state, fastop, integer[]) RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_davies_bouldin_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE AGGREGATE davies_bouldin_agg(op fastop, x integer[]) (SFUNC = davies_bouldin_accum, STYPE = aggregate_state, SSPACE = 65536,
    COMBINEFUNC = step_combine, FINALFUNC = davies_bouldin_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE davies_bouldin_agg(fastop, integer[]) IS 'Davies-Bouldin index: lower is better separated';
CREATE FUNCTION fastclust_internal.lloyd_accum(aggregate_state, fastop, numeric[]) RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_lloyd_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE AGGREGATE lloyd_step_agg(op fastop, x numeric[]) (SFUNC = lloyd_accum, STYPE = aggregate_state, SSPACE = 65536,
    COMBINEFUNC = step_combine, FINALFUNC = lloyd_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE lloyd_step_agg(fastop, numeric[]) IS 'one step of Lloyd''s algorithm: assigns every row and returns the means of the clusters';
CREATE AGGREGATE fastclust_internal.lloyd_sums_agg(op fastop, x numeric[]) (SFUNC = lloyd_accum, STYPE = aggregate_state, SSPACE = 65536,
    COMBINEFUNC = step_combine, PARALLEL = SAFE);
CREATE FUNCTION fastclust_internal.lloyd_accum(aggregate_state, fastop, numeric[], double precision) RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_lloyd_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE AGGREGATE lloyd_step_agg(op fastop, x numeric[], weight double precision) (SFUNC = lloyd_accum, STYPE = aggregate_state, SSPACE = 65536,
    COMBINEFUNC = step_combine, FINALFUNC = lloyd_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE lloyd_step_agg(fastop, numeric[], double precision) IS 'one step of Lloyd''s algorithm over weighted rows';
CREATE FUNCTION fastclust_internal.lloyd_large_accum(internal, fastop, numeric[]) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_lloyd_large_accum' LANGUAGE C IMMUTABLE COST 300;
-- Sums that no value holds: in one process.
CREATE AGGREGATE fastclust_internal.lloyd_large_agg(op fastop, x numeric[]) (SFUNC = lloyd_large_accum, STYPE = internal, SSPACE = 1073741824,
    FINALFUNC = lloyd_large_final, FINALFUNC_MODIFY = READ_ONLY);
CREATE FUNCTION fastclust_internal.sse_accum(aggregate_state, fastop, numeric[]) RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_sse_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE AGGREGATE sse_agg(op fastop, x numeric[]) (SFUNC = sse_accum, STYPE = aggregate_state, SSPACE = 65536,
    COMBINEFUNC = step_combine, FINALFUNC = sse_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE sse_agg(fastop, numeric[]) IS 'the sum of squared distances of the rows to their nearest centroids';
CREATE FUNCTION fastclust_internal.silhouette_accum(aggregate_state, fastop, numeric[]) RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_silhouette_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE AGGREGATE simplified_silhouette_agg(op fastop, x numeric[]) (SFUNC = silhouette_accum, STYPE = aggregate_state, SSPACE = 65536,
    COMBINEFUNC = step_combine, FINALFUNC = silhouette_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE simplified_silhouette_agg(fastop, numeric[]) IS 'mean of (b - a) / max(a, b), a and b the distances to the two nearest centroids';
CREATE FUNCTION fastclust_internal.davies_bouldin_accum(aggregate_state, fastop, numeric[]) RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_davies_bouldin_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE AGGREGATE davies_bouldin_agg(op fastop, x numeric[]) (SFUNC = davies_bouldin_accum, STYPE = aggregate_state, SSPACE = 65536,
    COMBINEFUNC = step_combine, FINALFUNC = davies_bouldin_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE davies_bouldin_agg(fastop, numeric[]) IS 'Davies-Bouldin index: lower is better separated';

-- Sums of parts of the rows merged.
CREATE AGGREGATE fastclust_internal.merge_lloyd_agg(aggregate_state) (SFUNC = step_combine, STYPE = aggregate_state, SSPACE = 65536,
    COMBINEFUNC = step_combine, FINALFUNC = lloyd_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);

CREATE FUNCTION fastclust_internal.contingency_accum(aggregate_state, integer, integer) RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_contingency_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.contingency_combine(aggregate_state, aggregate_state) RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_contingency_combine' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.adjusted_rand_final(aggregate_state) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_adjusted_rand_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE AGGREGATE adjusted_rand_agg(a integer, b integer) (SFUNC = contingency_accum, STYPE = aggregate_state, SSPACE = 2048,
    COMBINEFUNC = contingency_combine, FINALFUNC = adjusted_rand_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE adjusted_rand_agg(integer, integer) IS 'adjusted Rand index of two labellings: 1 the same, about 0 unrelated';
CREATE FUNCTION fastclust_internal.normalized_mutual_information_final(aggregate_state) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_normalized_mutual_information_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE AGGREGATE normalized_mutual_information_agg(a integer, b integer) (SFUNC = contingency_accum, STYPE = aggregate_state, SSPACE = 2048,
    COMBINEFUNC = contingency_combine, FINALFUNC = normalized_mutual_information_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE normalized_mutual_information_agg(integer, integer) IS 'normalised mutual information of two labellings, between 0 and 1';

-- internal: weighted samples of rows, kept as operators whose centroids are the rows

CREATE FUNCTION fastclust_internal.coreset_combine(aggregate_state, aggregate_state) RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_coreset_combine' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE FUNCTION fastclust_internal.coreset_final(aggregate_state) RETURNS fastop
    AS 'MODULE_PATHNAME', 'fastclust_coreset_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.coreset_packed(aggregate_state) RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_coreset_packed' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.coreset_accum(aggregate_state, real[], bigint, integer, double precision[], double precision, bigint) RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_coreset_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE FUNCTION fastclust_internal.coreset_accum(aggregate_state, real[], bigint, integer, double precision[], double precision, bigint, double precision, boolean)
    RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_coreset_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
-- NULL for key: equal rows are told apart by the order in which they come.  NULL for variance: a uniform sample.
CREATE AGGREGATE fastclust_internal.coreset_agg(x real[], key bigint, size integer, center double precision[], variance double precision, seed bigint) (
    SFUNC = coreset_accum, STYPE = aggregate_state, SSPACE = 4096,
    COMBINEFUNC = coreset_combine, FINALFUNC = coreset_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
-- Of a part of the rows, to be merged.  NULL for rank_limit: none; for cosine: false.  No argument has a collation: postgres_fdw would not send the call
-- with a constant for it.
CREATE AGGREGATE fastclust_internal.coreset_state_agg(x real[], key bigint, size integer, center double precision[], variance double precision, seed bigint,
        rank_limit double precision, cosine boolean) (
    SFUNC = coreset_accum, STYPE = aggregate_state, SSPACE = 4096, COMBINEFUNC = coreset_combine,
    FINALFUNC = coreset_packed, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
CREATE FUNCTION fastclust_internal.coreset_accum(aggregate_state, double precision[], bigint, integer, double precision[], double precision, bigint) RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_coreset_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE FUNCTION fastclust_internal.coreset_accum(aggregate_state, double precision[], bigint, integer, double precision[], double precision, bigint, double precision, boolean)
    RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_coreset_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
-- NULL for key: equal rows are told apart by the order in which they come.  NULL for variance: a uniform sample.
CREATE AGGREGATE fastclust_internal.coreset_agg(x double precision[], key bigint, size integer, center double precision[], variance double precision, seed bigint) (
    SFUNC = coreset_accum, STYPE = aggregate_state, SSPACE = 4096,
    COMBINEFUNC = coreset_combine, FINALFUNC = coreset_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
-- Of a part of the rows, to be merged.  NULL for rank_limit: none; for cosine: false.  No argument has a collation: postgres_fdw would not send the call
-- with a constant for it.
CREATE AGGREGATE fastclust_internal.coreset_state_agg(x double precision[], key bigint, size integer, center double precision[], variance double precision, seed bigint,
        rank_limit double precision, cosine boolean) (
    SFUNC = coreset_accum, STYPE = aggregate_state, SSPACE = 4096, COMBINEFUNC = coreset_combine,
    FINALFUNC = coreset_packed, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
CREATE FUNCTION fastclust_internal.coreset_accum(aggregate_state, integer[], bigint, integer, double precision[], double precision, bigint) RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_coreset_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE FUNCTION fastclust_internal.coreset_accum(aggregate_state, integer[], bigint, integer, double precision[], double precision, bigint, double precision, boolean)
    RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_coreset_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
-- NULL for key: equal rows are told apart by the order in which they come.  NULL for variance: a uniform sample.
CREATE AGGREGATE fastclust_internal.coreset_agg(x integer[], key bigint, size integer, center double precision[], variance double precision, seed bigint) (
    SFUNC = coreset_accum, STYPE = aggregate_state, SSPACE = 4096,
    COMBINEFUNC = coreset_combine, FINALFUNC = coreset_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
-- Of a part of the rows, to be merged.  NULL for rank_limit: none; for cosine: false.  No argument has a collation: postgres_fdw would not send the call
-- with a constant for it.
CREATE AGGREGATE fastclust_internal.coreset_state_agg(x integer[], key bigint, size integer, center double precision[], variance double precision, seed bigint,
        rank_limit double precision, cosine boolean) (
    SFUNC = coreset_accum, STYPE = aggregate_state, SSPACE = 4096, COMBINEFUNC = coreset_combine,
    FINALFUNC = coreset_packed, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
CREATE FUNCTION fastclust_internal.coreset_accum(aggregate_state, numeric[], bigint, integer, double precision[], double precision, bigint) RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_coreset_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE FUNCTION fastclust_internal.coreset_accum(aggregate_state, numeric[], bigint, integer, double precision[], double precision, bigint, double precision, boolean)
    RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_coreset_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
-- NULL for key: equal rows are told apart by the order in which they come.  NULL for variance: a uniform sample.
CREATE AGGREGATE fastclust_internal.coreset_agg(x numeric[], key bigint, size integer, center double precision[], variance double precision, seed bigint) (
    SFUNC = coreset_accum, STYPE = aggregate_state, SSPACE = 4096,
    COMBINEFUNC = coreset_combine, FINALFUNC = coreset_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
-- Of a part of the rows, to be merged.  NULL for rank_limit: none; for cosine: false.  No argument has a collation: postgres_fdw would not send the call
-- with a constant for it.
CREATE AGGREGATE fastclust_internal.coreset_state_agg(x numeric[], key bigint, size integer, center double precision[], variance double precision, seed bigint,
        rank_limit double precision, cosine boolean) (
    SFUNC = coreset_accum, STYPE = aggregate_state, SSPACE = 4096, COMBINEFUNC = coreset_combine,
    FINALFUNC = coreset_packed, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
CREATE AGGREGATE fastclust_internal.merge_coreset_agg(aggregate_state) (SFUNC = coreset_combine, STYPE = aggregate_state, SSPACE = 4096,
    COMBINEFUNC = coreset_combine, FINALFUNC = coreset_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);

-- The samples of all parts, in the order of the parts' numbers.
CREATE FUNCTION fastclust_internal.join_samples(parts aggregate_state[], part_numbers integer[]) RETURNS fastop
    AS 'MODULE_PATHNAME', 'fastclust_join_samples' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
-- The rank_limit below which such a share of rows like the centroids of op is expected.
CREATE FUNCTION fastclust_internal.rank_limit(op fastop, center double precision[], variance double precision, share double precision) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_rank_limit' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 10000;
CREATE FUNCTION fastclust_internal.centroid_moments(op fastop, OUT mean double precision[], OUT deviation double precision[])
    AS 'MODULE_PATHNAME', 'fastclust_centroid_moments' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
-- Centroids moved from one set of units to another; NULL for a center is 0, for a scale 1.
CREATE FUNCTION fastclust_internal.operator_in_units(op fastop, center double precision[], scale double precision[],
        new_center double precision[], new_scale double precision[]) RETURNS fastop
    AS 'MODULE_PATHNAME', 'fastclust_operator_in_units' LANGUAGE C IMMUTABLE PARALLEL SAFE;
-- K-means of the centroids by their weights; from `initial` and, unless n_init is 0, from starts of its own.  The share `trimmed` of the weight
-- that is farthest is left out.
CREATE FUNCTION fastclust_internal.cluster_centroids(op fastop, k integer, options jsonb, initial fastop DEFAULT NULL,
        trimmed double precision DEFAULT 0) RETURNS fastop
    AS 'MODULE_PATHNAME', 'fastclust_cluster_centroids' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 1000000;
-- The initial centroids moved until none has more than so much of their weight, as far as that is possible.
CREATE FUNCTION fastclust_internal.even_centroids(op fastop, initial fastop, most double precision) RETURNS fastop
    AS 'MODULE_PATHNAME', 'fastclust_even_centroids' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000000;
CREATE FUNCTION fastclust_internal.fit_profile(op fastop, weighted_rows fastop, places double precision[],
        OUT objective double precision, OUT error double precision, OUT quantiles double precision[], OUT spreads double precision[])
    AS 'MODULE_PATHNAME', 'fastclust_fit_profile' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100000;
CREATE FUNCTION fastclust_internal.fit_comparison(a fastop, b fastop, weighted_rows fastop, trimmed double precision,
        OUT mean_a double precision, OUT mean_b double precision, OUT error double precision, OUT changed double precision)
    AS 'MODULE_PATHNAME', 'fastclust_fit_comparison' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100000;
CREATE FUNCTION fastclust_internal.step_gain(old fastop, next fastop) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_step_gain' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.label_change(a fastop, rows_for_a fastop, b fastop, rows_for_b fastop) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_label_change' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100000;
CREATE FUNCTION fastclust_internal.label_counts(a fastop, rows_for_a fastop, b fastop, rows_for_b fastop) RETURNS double precision[]
    AS 'MODULE_PATHNAME', 'fastclust_label_counts' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100000;
-- Rows drawn from the clusters of an operator, round normal clouds of these spreads, as a stand-in for rows that are not read.
CREATE FUNCTION fastclust_internal.drawn_rows(op fastop, spreads double precision[], count integer, seed bigint) RETURNS fastop
    AS 'MODULE_PATHNAME', 'fastclust_drawn_rows' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100000;

-- internal: aggregates under the name that Citus sends to the shards as it stands
--
-- Citus calls an aggregate with a combine function through worker_partial_agg, which packs the arguments into a row and looks the aggregate
-- up again for every row of the table: 300 to 400 ns.  An aggregate by the name of "sum" without a combine function is called on
-- the shards itself; what comes back is added up by the sum of one argument of the result's type.

CREATE FUNCTION fastclust_internal.state_combine(aggregate_state, aggregate_state) RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_state_combine' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE fastclust_internal.sum(sketch) (SFUNC = sketch_combine, STYPE = sketch, SSPACE = 16384,
    FINALFUNC = sketch_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
CREATE AGGREGATE fastclust_internal.sum(aggregate_state) (SFUNC = state_combine, STYPE = aggregate_state, SSPACE = 65536, PARALLEL = SAFE);
CREATE AGGREGATE fastclust_internal.sum(x real[], spec sketch_spec) (SFUNC = sketch_accum, STYPE = sketch, SSPACE = 16384,
    FINALFUNC = sketch_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
CREATE AGGREGATE fastclust_internal.sum(op fastop, x real[]) (SFUNC = lloyd_accum, STYPE = aggregate_state, SSPACE = 65536, PARALLEL = SAFE);
CREATE AGGREGATE fastclust_internal.sum(x real[], key bigint, size integer, center double precision[], variance double precision, seed bigint,
        rank_limit double precision, cosine boolean) (
    SFUNC = coreset_accum, STYPE = aggregate_state, SSPACE = 4096, FINALFUNC = coreset_packed, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
CREATE AGGREGATE fastclust_internal.sum(x double precision[], spec sketch_spec) (SFUNC = sketch_accum, STYPE = sketch, SSPACE = 16384,
    FINALFUNC = sketch_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
CREATE AGGREGATE fastclust_internal.sum(op fastop, x double precision[]) (SFUNC = lloyd_accum, STYPE = aggregate_state, SSPACE = 65536, PARALLEL = SAFE);
CREATE AGGREGATE fastclust_internal.sum(x double precision[], key bigint, size integer, center double precision[], variance double precision, seed bigint,
        rank_limit double precision, cosine boolean) (
    SFUNC = coreset_accum, STYPE = aggregate_state, SSPACE = 4096, FINALFUNC = coreset_packed, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
CREATE AGGREGATE fastclust_internal.sum(x integer[], spec sketch_spec) (SFUNC = sketch_accum, STYPE = sketch, SSPACE = 16384,
    FINALFUNC = sketch_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
CREATE AGGREGATE fastclust_internal.sum(op fastop, x integer[]) (SFUNC = lloyd_accum, STYPE = aggregate_state, SSPACE = 65536, PARALLEL = SAFE);
CREATE AGGREGATE fastclust_internal.sum(x integer[], key bigint, size integer, center double precision[], variance double precision, seed bigint,
        rank_limit double precision, cosine boolean) (
    SFUNC = coreset_accum, STYPE = aggregate_state, SSPACE = 4096, FINALFUNC = coreset_packed, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
CREATE AGGREGATE fastclust_internal.sum(x numeric[], spec sketch_spec) (SFUNC = sketch_accum, STYPE = sketch, SSPACE = 16384,
    FINALFUNC = sketch_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
CREATE AGGREGATE fastclust_internal.sum(op fastop, x numeric[]) (SFUNC = lloyd_accum, STYPE = aggregate_state, SSPACE = 65536, PARALLEL = SAFE);
CREATE AGGREGATE fastclust_internal.sum(x numeric[], key bigint, size integer, center double precision[], variance double precision, seed bigint,
        rank_limit double precision, cosine boolean) (
    SFUNC = coreset_accum, STYPE = aggregate_state, SSPACE = 4096, FINALFUNC = coreset_packed, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);

-- encoders: how the columns of rows become coordinates

CREATE FUNCTION fastclust_internal.encoder_final(internal) RETURNS encoder
    AS 'MODULE_PATHNAME', 'fastclust_encoder_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.encoder_combine(internal, internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_encoder_combine' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.encoder_serialize(internal) RETURNS bytea
    AS 'MODULE_PATHNAME', 'fastclust_encoder_serialize' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.encoder_deserialize(bytea, internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_encoder_deserialize' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.encoder_accum(internal, record, text[]) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_encoder_accum' LANGUAGE C STABLE PARALLEL SAFE COST 100;
CREATE FUNCTION fastclust_internal.encoder_accum(internal, record, text[], jsonb) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_encoder_accum' LANGUAGE C STABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE encoder_agg("row" record, columns text[]) (
    SFUNC = encoder_accum, STYPE = internal, SSPACE = 8192, FINALFUNC = encoder_final, FINALFUNC_MODIFY = READ_ONLY,
    COMBINEFUNC = encoder_combine, SERIALFUNC = encoder_serialize, DESERIALFUNC = encoder_deserialize, PARALLEL = SAFE);
COMMENT ON AGGREGATE encoder_agg(record, text[]) IS 'an encoder of these columns, learned from the rows';
CREATE AGGREGATE encoder_agg("row" record, columns text[], options jsonb) (
    SFUNC = encoder_accum, STYPE = internal, SSPACE = 8192, FINALFUNC = encoder_final, FINALFUNC_MODIFY = READ_ONLY,
    COMBINEFUNC = encoder_combine, SERIALFUNC = encoder_serialize, DESERIALFUNC = encoder_deserialize, PARALLEL = SAFE);
COMMENT ON AGGREGATE encoder_agg(record, text[], jsonb) IS 'an encoder of these columns, learned from the rows, with options';

CREATE FUNCTION encode(encoder encoder, "row" record, scaled boolean DEFAULT true) RETURNS real[]
    AS 'MODULE_PATHNAME', 'fastclust_encode' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION encode(encoder, record, boolean) IS 'the coordinates of a row: its columns are found by their names';
CREATE FUNCTION encode_columns(encoder encoder, VARIADIC columns "any") RETURNS real[]
    AS 'MODULE_PATHNAME', 'fastclust_encode_columns' LANGUAGE C STABLE PARALLEL SAFE COST 10;
COMMENT ON FUNCTION encode_columns(encoder, "any") IS 'the coordinates of a row given as a list of columns, in the order of the encoder';
CREATE FUNCTION describe(encoder encoder) RETURNS jsonb
    AS 'MODULE_PATHNAME', 'fastclust_encoder_describe' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION describe(encoder) IS 'what an encoder does with each column';
CREATE FUNCTION dim(encoder encoder) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_encoder_dim' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION dim(encoder) IS 'the number of coordinates of an encoded row';
CREATE FUNCTION feature_names(encoder encoder) RETURNS text[]
    AS 'MODULE_PATHNAME', 'fastclust_feature_names' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION feature_names(encoder) IS 'what each coordinate of an encoded row is';

-- internal: for scans of whole tables, and for what explains a model

CREATE FUNCTION fastclust_internal.encode_row(encoder encoder, scaled boolean, "row" record) RETURNS double precision[]
    AS 'MODULE_PATHNAME', 'fastclust_encode_row' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 10;
CREATE FUNCTION fastclust_internal.encode_listed(encoder encoder, scaled boolean, VARIADIC columns "any") RETURNS double precision[]
    AS 'MODULE_PATHNAME', 'fastclust_encode_listed' LANGUAGE C STABLE PARALLEL SAFE COST 10;
-- The same of types whose values no setting of a session changes: postgres_fdw sends it.
CREATE FUNCTION fastclust_internal.encode_constant(encoder encoder, scaled boolean, VARIADIC columns "any") RETURNS double precision[]
    AS 'MODULE_PATHNAME', 'fastclust_encode_listed' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 10;
CREATE FUNCTION fastclust_internal.encoder_center(encoder encoder) RETURNS double precision[]
    AS 'MODULE_PATHNAME', 'fastclust_encoder_center' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.encoder_scale(encoder encoder) RETURNS double precision[]
    AS 'MODULE_PATHNAME', 'fastclust_encoder_scale' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.encoder_columns(encoder encoder) RETURNS name[]
    AS 'MODULE_PATHNAME', 'fastclust_encoder_columns' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.encoder_features(encoder encoder, OUT dimension integer, OUT feature text, OUT kind text, OUT category text,
        OUT transform text) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_encoder_features' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.renewed_encoder(learned encoder, old encoder) RETURNS encoder
    AS 'MODULE_PATHNAME', 'fastclust_renewed_encoder' LANGUAGE C IMMUTABLE PARALLEL SAFE;
-- What happens to the NULLs of each feature, and the share of them in the sample.
CREATE FUNCTION fastclust_internal.encoder_nulls(encoder encoder, OUT feature text, OUT kind text, OUT nulls text, OUT share double precision) RETURNS SETOF record
    LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, @extschema@, pg_temp AS $$
    SELECT f ->> 'feature', f ->> 'kind', f ->> 'nulls', (f ->> 'null_rows')::float8 / (d ->> 'rows')::float8
      FROM describe(encoder) d, jsonb_array_elements(d -> 'features') f
$$;
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
CREATE FUNCTION fastclust_internal.kernel_projection_accum(internal, bigint, real[], kernel, integer) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_kernel_projection_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE kernel_projection_agg(id bigint, x real[], kernel kernel, rank integer) (SFUNC = kernel_projection_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kernel_rows_combine, SERIALFUNC = kernel_rows_serialize, DESERIALFUNC = kernel_rows_deserialize,
    FINALFUNC = kernel_projection_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE kernel_projection_agg(bigint, real[], kernel, integer) IS 'randomized projection of the kernel matrix in one pass; read the coordinates with embedding()';
CREATE FUNCTION fastclust_internal.kernel_projection_accum(internal, bigint, real[], kernel, integer, integer) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_kernel_projection_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE kernel_projection_agg(id bigint, x real[], kernel kernel, rank integer, oversampling integer) (SFUNC = kernel_projection_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kernel_rows_combine, SERIALFUNC = kernel_rows_serialize, DESERIALFUNC = kernel_rows_deserialize,
    FINALFUNC = kernel_projection_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE kernel_projection_agg(bigint, real[], kernel, integer, integer) IS 'randomized projection of the kernel matrix in one pass; read the coordinates with embedding()';
CREATE FUNCTION fastclust_internal.kernel_projection_accum(internal, bigint, real[], kernel, integer, integer, bigint) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_kernel_projection_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE kernel_projection_agg(id bigint, x real[], kernel kernel, rank integer, oversampling integer, seed bigint) (SFUNC = kernel_projection_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kernel_rows_combine, SERIALFUNC = kernel_rows_serialize, DESERIALFUNC = kernel_rows_deserialize,
    FINALFUNC = kernel_projection_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE kernel_projection_agg(bigint, real[], kernel, integer, integer, bigint) IS 'randomized projection of the kernel matrix in one pass; read the coordinates with embedding()';
CREATE FUNCTION fastclust_internal.nystroem_projection_accum(internal, bigint, real[], kernel, integer, integer) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_nystroem_projection_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE nystroem_projection_agg(id bigint, x real[], kernel kernel, rank integer, columns integer) (SFUNC = nystroem_projection_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kernel_rows_combine, SERIALFUNC = kernel_rows_serialize, DESERIALFUNC = kernel_rows_deserialize,
    FINALFUNC = nystroem_projection_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE nystroem_projection_agg(bigint, real[], kernel, integer, integer) IS 'Nystrom approximation of the kernel matrix from uniformly chosen columns';
CREATE FUNCTION fastclust_internal.nystroem_projection_accum(internal, bigint, real[], kernel, integer, integer, bigint) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_nystroem_projection_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE nystroem_projection_agg(id bigint, x real[], kernel kernel, rank integer, columns integer, seed bigint) (SFUNC = nystroem_projection_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kernel_rows_combine, SERIALFUNC = kernel_rows_serialize, DESERIALFUNC = kernel_rows_deserialize,
    FINALFUNC = nystroem_projection_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE nystroem_projection_agg(bigint, real[], kernel, integer, integer, bigint) IS 'Nystrom approximation of the kernel matrix from uniformly chosen columns';
CREATE FUNCTION fastclust_internal.pivoted_cholesky_accum(internal, bigint, real[], kernel, integer, integer) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_pivoted_cholesky_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE pivoted_cholesky_agg(id bigint, x real[], kernel kernel, rank integer, columns integer) (SFUNC = pivoted_cholesky_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kernel_rows_combine, SERIALFUNC = kernel_rows_serialize, DESERIALFUNC = kernel_rows_deserialize,
    FINALFUNC = pivoted_cholesky_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE pivoted_cholesky_agg(bigint, real[], kernel, integer, integer) IS 'approximation of the kernel matrix by randomly pivoted Cholesky';
CREATE FUNCTION fastclust_internal.pivoted_cholesky_accum(internal, bigint, real[], kernel, integer, integer, bigint) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_pivoted_cholesky_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE pivoted_cholesky_agg(id bigint, x real[], kernel kernel, rank integer, columns integer, seed bigint) (SFUNC = pivoted_cholesky_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kernel_rows_combine, SERIALFUNC = kernel_rows_serialize, DESERIALFUNC = kernel_rows_deserialize,
    FINALFUNC = pivoted_cholesky_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE pivoted_cholesky_agg(bigint, real[], kernel, integer, integer, bigint) IS 'approximation of the kernel matrix by randomly pivoted Cholesky';
CREATE FUNCTION fastclust_internal.kernel_eigen_accum(internal, bigint, real[], kernel, integer) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_kernel_eigen_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE kernel_eigen_agg(id bigint, x real[], kernel kernel, rank integer) (SFUNC = kernel_eigen_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kernel_rows_combine, SERIALFUNC = kernel_rows_serialize, DESERIALFUNC = kernel_rows_deserialize,
    FINALFUNC = kernel_eigen_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE kernel_eigen_agg(bigint, real[], kernel, integer) IS 'exact eigenvectors of the kernel matrix, which is held in memory: for a few thousand rows';
CREATE FUNCTION fastclust_internal.landmarks_accum(internal, real[], kernel, integer) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_landmarks_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE landmarks_agg(x real[], kernel kernel, k integer) (SFUNC = landmarks_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kernel_rows_combine, SERIALFUNC = kernel_rows_serialize, DESERIALFUNC = kernel_rows_deserialize,
    FINALFUNC = landmarks_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE landmarks_agg(real[], kernel, integer) IS 'at most k rows chosen by randomly pivoted Cholesky, as an operator of landmarks';
CREATE FUNCTION fastclust_internal.landmarks_accum(internal, real[], kernel, integer, bigint) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_landmarks_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE landmarks_agg(x real[], kernel kernel, k integer, seed bigint) (SFUNC = landmarks_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kernel_rows_combine, SERIALFUNC = kernel_rows_serialize, DESERIALFUNC = kernel_rows_deserialize,
    FINALFUNC = landmarks_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE landmarks_agg(real[], kernel, integer, bigint) IS 'at most k rows chosen by randomly pivoted Cholesky, as an operator of landmarks';
CREATE FUNCTION fastclust_internal.kernel_projection_accum(internal, bigint, double precision[], kernel, integer) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_kernel_projection_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE kernel_projection_agg(id bigint, x double precision[], kernel kernel, rank integer) (SFUNC = kernel_projection_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kernel_rows_combine, SERIALFUNC = kernel_rows_serialize, DESERIALFUNC = kernel_rows_deserialize,
    FINALFUNC = kernel_projection_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE kernel_projection_agg(bigint, double precision[], kernel, integer) IS 'randomized projection of the kernel matrix in one pass; read the coordinates with embedding()';
CREATE FUNCTION fastclust_internal.kernel_projection_accum(internal, bigint, double precision[], kernel, integer, integer) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_kernel_projection_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE kernel_projection_agg(id bigint, x double precision[], kernel kernel, rank integer, oversampling integer) (SFUNC = kernel_projection_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kernel_rows_combine, SERIALFUNC = kernel_rows_serialize, DESERIALFUNC = kernel_rows_deserialize,
    FINALFUNC = kernel_projection_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE kernel_projection_agg(bigint, double precision[], kernel, integer, integer) IS 'randomized projection of the kernel matrix in one pass; read the coordinates with embedding()';
CREATE FUNCTION fastclust_internal.kernel_projection_accum(internal, bigint, double precision[], kernel, integer, integer, bigint) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_kernel_projection_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE kernel_projection_agg(id bigint, x double precision[], kernel kernel, rank integer, oversampling integer, seed bigint) (SFUNC = kernel_projection_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kernel_rows_combine, SERIALFUNC = kernel_rows_serialize, DESERIALFUNC = kernel_rows_deserialize,
    FINALFUNC = kernel_projection_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE kernel_projection_agg(bigint, double precision[], kernel, integer, integer, bigint) IS 'randomized projection of the kernel matrix in one pass; read the coordinates with embedding()';
CREATE FUNCTION fastclust_internal.nystroem_projection_accum(internal, bigint, double precision[], kernel, integer, integer) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_nystroem_projection_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE nystroem_projection_agg(id bigint, x double precision[], kernel kernel, rank integer, columns integer) (SFUNC = nystroem_projection_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kernel_rows_combine, SERIALFUNC = kernel_rows_serialize, DESERIALFUNC = kernel_rows_deserialize,
    FINALFUNC = nystroem_projection_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE nystroem_projection_agg(bigint, double precision[], kernel, integer, integer) IS 'Nystrom approximation of the kernel matrix from uniformly chosen columns';
CREATE FUNCTION fastclust_internal.nystroem_projection_accum(internal, bigint, double precision[], kernel, integer, integer, bigint) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_nystroem_projection_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE nystroem_projection_agg(id bigint, x double precision[], kernel kernel, rank integer, columns integer, seed bigint) (SFUNC = nystroem_projection_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kernel_rows_combine, SERIALFUNC = kernel_rows_serialize, DESERIALFUNC = kernel_rows_deserialize,
    FINALFUNC = nystroem_projection_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE nystroem_projection_agg(bigint, double precision[], kernel, integer, integer, bigint) IS 'Nystrom approximation of the kernel matrix from uniformly chosen columns';
CREATE FUNCTION fastclust_internal.pivoted_cholesky_accum(internal, bigint, double precision[], kernel, integer, integer) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_pivoted_cholesky_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE pivoted_cholesky_agg(id bigint, x double precision[], kernel kernel, rank integer, columns integer) (SFUNC = pivoted_cholesky_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kernel_rows_combine, SERIALFUNC = kernel_rows_serialize, DESERIALFUNC = kernel_rows_deserialize,
    FINALFUNC = pivoted_cholesky_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE pivoted_cholesky_agg(bigint, double precision[], kernel, integer, integer) IS 'approximation of the kernel matrix by randomly pivoted Cholesky';
CREATE FUNCTION fastclust_internal.pivoted_cholesky_accum(internal, bigint, double precision[], kernel, integer, integer, bigint) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_pivoted_cholesky_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE pivoted_cholesky_agg(id bigint, x double precision[], kernel kernel, rank integer, columns integer, seed bigint) (SFUNC = pivoted_cholesky_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kernel_rows_combine, SERIALFUNC = kernel_rows_serialize, DESERIALFUNC = kernel_rows_deserialize,
    FINALFUNC = pivoted_cholesky_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE pivoted_cholesky_agg(bigint, double precision[], kernel, integer, integer, bigint) IS 'approximation of the kernel matrix by randomly pivoted Cholesky';
CREATE FUNCTION fastclust_internal.kernel_eigen_accum(internal, bigint, double precision[], kernel, integer) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_kernel_eigen_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE kernel_eigen_agg(id bigint, x double precision[], kernel kernel, rank integer) (SFUNC = kernel_eigen_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kernel_rows_combine, SERIALFUNC = kernel_rows_serialize, DESERIALFUNC = kernel_rows_deserialize,
    FINALFUNC = kernel_eigen_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE kernel_eigen_agg(bigint, double precision[], kernel, integer) IS 'exact eigenvectors of the kernel matrix, which is held in memory: for a few thousand rows';
CREATE FUNCTION fastclust_internal.landmarks_accum(internal, double precision[], kernel, integer) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_landmarks_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE landmarks_agg(x double precision[], kernel kernel, k integer) (SFUNC = landmarks_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kernel_rows_combine, SERIALFUNC = kernel_rows_serialize, DESERIALFUNC = kernel_rows_deserialize,
    FINALFUNC = landmarks_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE landmarks_agg(double precision[], kernel, integer) IS 'at most k rows chosen by randomly pivoted Cholesky, as an operator of landmarks';
CREATE FUNCTION fastclust_internal.landmarks_accum(internal, double precision[], kernel, integer, bigint) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_landmarks_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE landmarks_agg(x double precision[], kernel kernel, k integer, seed bigint) (SFUNC = landmarks_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kernel_rows_combine, SERIALFUNC = kernel_rows_serialize, DESERIALFUNC = kernel_rows_deserialize,
    FINALFUNC = landmarks_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE landmarks_agg(double precision[], kernel, integer, bigint) IS 'at most k rows chosen by randomly pivoted Cholesky, as an operator of landmarks';
CREATE FUNCTION fastclust_internal.kernel_projection_accum(internal, bigint, integer[], kernel, integer) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_kernel_projection_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE kernel_projection_agg(id bigint, x integer[], kernel kernel, rank integer) (SFUNC = kernel_projection_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kernel_rows_combine, SERIALFUNC = kernel_rows_serialize, DESERIALFUNC = kernel_rows_deserialize,
    FINALFUNC = kernel_projection_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE kernel_projection_agg(bigint, integer[], kernel, integer) IS 'randomized projection of the kernel matrix in one pass; read the coordinates with embedding()';
CREATE FUNCTION fastclust_internal.kernel_projection_accum(internal, bigint, integer[], kernel, integer, integer) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_kernel_projection_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE kernel_projection_agg(id bigint, x integer[], kernel kernel, rank integer, oversampling integer) (SFUNC = kernel_projection_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kernel_rows_combine, SERIALFUNC = kernel_rows_serialize, DESERIALFUNC = kernel_rows_deserialize,
    FINALFUNC = kernel_projection_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE kernel_projection_agg(bigint, integer[], kernel, integer, integer) IS 'randomized projection of the kernel matrix in one pass; read the coordinates with embedding()';
CREATE FUNCTION fastclust_internal.kernel_projection_accum(internal, bigint, integer[], kernel, integer, integer, bigint) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_kernel_projection_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE kernel_projection_agg(id bigint, x integer[], kernel kernel, rank integer, oversampling integer, seed bigint) (SFUNC = kernel_projection_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kernel_rows_combine, SERIALFUNC = kernel_rows_serialize, DESERIALFUNC = kernel_rows_deserialize,
    FINALFUNC = kernel_projection_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE kernel_projection_agg(bigint, integer[], kernel, integer, integer, bigint) IS 'randomized projection of the kernel matrix in one pass; read the coordinates with embedding()';
CREATE FUNCTION fastclust_internal.nystroem_projection_accum(internal, bigint, integer[], kernel, integer, integer) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_nystroem_projection_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE nystroem_projection_agg(id bigint, x integer[], kernel kernel, rank integer, columns integer) (SFUNC = nystroem_projection_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kernel_rows_combine, SERIALFUNC = kernel_rows_serialize, DESERIALFUNC = kernel_rows_deserialize,
    FINALFUNC = nystroem_projection_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE nystroem_projection_agg(bigint, integer[], kernel, integer, integer) IS 'Nystrom approximation of the kernel matrix from uniformly chosen columns';
CREATE FUNCTION fastclust_internal.nystroem_projection_accum(internal, bigint, integer[], kernel, integer, integer, bigint) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_nystroem_projection_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE nystroem_projection_agg(id bigint, x integer[], kernel kernel, rank integer, columns integer, seed bigint) (SFUNC = nystroem_projection_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kernel_rows_combine, SERIALFUNC = kernel_rows_serialize, DESERIALFUNC = kernel_rows_deserialize,
    FINALFUNC = nystroem_projection_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE nystroem_projection_agg(bigint, integer[], kernel, integer, integer, bigint) IS 'Nystrom approximation of the kernel matrix from uniformly chosen columns';
CREATE FUNCTION fastclust_internal.pivoted_cholesky_accum(internal, bigint, integer[], kernel, integer, integer) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_pivoted_cholesky_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE pivoted_cholesky_agg(id bigint, x integer[], kernel kernel, rank integer, columns integer) (SFUNC = pivoted_cholesky_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kernel_rows_combine, SERIALFUNC = kernel_rows_serialize, DESERIALFUNC = kernel_rows_deserialize,
    FINALFUNC = pivoted_cholesky_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE pivoted_cholesky_agg(bigint, integer[], kernel, integer, integer) IS 'approximation of the kernel matrix by randomly pivoted Cholesky';
CREATE FUNCTION fastclust_internal.pivoted_cholesky_accum(internal, bigint, integer[], kernel, integer, integer, bigint) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_pivoted_cholesky_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE pivoted_cholesky_agg(id bigint, x integer[], kernel kernel, rank integer, columns integer, seed bigint) (SFUNC = pivoted_cholesky_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kernel_rows_combine, SERIALFUNC = kernel_rows_serialize, DESERIALFUNC = kernel_rows_deserialize,
    FINALFUNC = pivoted_cholesky_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE pivoted_cholesky_agg(bigint, integer[], kernel, integer, integer, bigint) IS 'approximation of the kernel matrix by randomly pivoted Cholesky';
CREATE FUNCTION fastclust_internal.kernel_eigen_accum(internal, bigint, integer[], kernel, integer) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_kernel_eigen_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE kernel_eigen_agg(id bigint, x integer[], kernel kernel, rank integer) (SFUNC = kernel_eigen_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kernel_rows_combine, SERIALFUNC = kernel_rows_serialize, DESERIALFUNC = kernel_rows_deserialize,
    FINALFUNC = kernel_eigen_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE kernel_eigen_agg(bigint, integer[], kernel, integer) IS 'exact eigenvectors of the kernel matrix, which is held in memory: for a few thousand rows';
CREATE FUNCTION fastclust_internal.landmarks_accum(internal, integer[], kernel, integer) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_landmarks_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE landmarks_agg(x integer[], kernel kernel, k integer) (SFUNC = landmarks_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kernel_rows_combine, SERIALFUNC = kernel_rows_serialize, DESERIALFUNC = kernel_rows_deserialize,
    FINALFUNC = landmarks_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE landmarks_agg(integer[], kernel, integer) IS 'at most k rows chosen by randomly pivoted Cholesky, as an operator of landmarks';
CREATE FUNCTION fastclust_internal.landmarks_accum(internal, integer[], kernel, integer, bigint) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_landmarks_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE landmarks_agg(x integer[], kernel kernel, k integer, seed bigint) (SFUNC = landmarks_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kernel_rows_combine, SERIALFUNC = kernel_rows_serialize, DESERIALFUNC = kernel_rows_deserialize,
    FINALFUNC = landmarks_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE landmarks_agg(integer[], kernel, integer, bigint) IS 'at most k rows chosen by randomly pivoted Cholesky, as an operator of landmarks';
CREATE FUNCTION fastclust_internal.kernel_projection_accum(internal, bigint, numeric[], kernel, integer) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_kernel_projection_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE kernel_projection_agg(id bigint, x numeric[], kernel kernel, rank integer) (SFUNC = kernel_projection_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kernel_rows_combine, SERIALFUNC = kernel_rows_serialize, DESERIALFUNC = kernel_rows_deserialize,
    FINALFUNC = kernel_projection_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE kernel_projection_agg(bigint, numeric[], kernel, integer) IS 'randomized projection of the kernel matrix in one pass; read the coordinates with embedding()';
CREATE FUNCTION fastclust_internal.kernel_projection_accum(internal, bigint, numeric[], kernel, integer, integer) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_kernel_projection_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE kernel_projection_agg(id bigint, x numeric[], kernel kernel, rank integer, oversampling integer) (SFUNC = kernel_projection_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kernel_rows_combine, SERIALFUNC = kernel_rows_serialize, DESERIALFUNC = kernel_rows_deserialize,
    FINALFUNC = kernel_projection_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE kernel_projection_agg(bigint, numeric[], kernel, integer, integer) IS 'randomized projection of the kernel matrix in one pass; read the coordinates with embedding()';
CREATE FUNCTION fastclust_internal.kernel_projection_accum(internal, bigint, numeric[], kernel, integer, integer, bigint) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_kernel_projection_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE kernel_projection_agg(id bigint, x numeric[], kernel kernel, rank integer, oversampling integer, seed bigint) (SFUNC = kernel_projection_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kernel_rows_combine, SERIALFUNC = kernel_rows_serialize, DESERIALFUNC = kernel_rows_deserialize,
    FINALFUNC = kernel_projection_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE kernel_projection_agg(bigint, numeric[], kernel, integer, integer, bigint) IS 'randomized projection of the kernel matrix in one pass; read the coordinates with embedding()';
CREATE FUNCTION fastclust_internal.nystroem_projection_accum(internal, bigint, numeric[], kernel, integer, integer) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_nystroem_projection_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE nystroem_projection_agg(id bigint, x numeric[], kernel kernel, rank integer, columns integer) (SFUNC = nystroem_projection_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kernel_rows_combine, SERIALFUNC = kernel_rows_serialize, DESERIALFUNC = kernel_rows_deserialize,
    FINALFUNC = nystroem_projection_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE nystroem_projection_agg(bigint, numeric[], kernel, integer, integer) IS 'Nystrom approximation of the kernel matrix from uniformly chosen columns';
CREATE FUNCTION fastclust_internal.nystroem_projection_accum(internal, bigint, numeric[], kernel, integer, integer, bigint) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_nystroem_projection_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE nystroem_projection_agg(id bigint, x numeric[], kernel kernel, rank integer, columns integer, seed bigint) (SFUNC = nystroem_projection_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kernel_rows_combine, SERIALFUNC = kernel_rows_serialize, DESERIALFUNC = kernel_rows_deserialize,
    FINALFUNC = nystroem_projection_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE nystroem_projection_agg(bigint, numeric[], kernel, integer, integer, bigint) IS 'Nystrom approximation of the kernel matrix from uniformly chosen columns';
CREATE FUNCTION fastclust_internal.pivoted_cholesky_accum(internal, bigint, numeric[], kernel, integer, integer) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_pivoted_cholesky_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE pivoted_cholesky_agg(id bigint, x numeric[], kernel kernel, rank integer, columns integer) (SFUNC = pivoted_cholesky_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kernel_rows_combine, SERIALFUNC = kernel_rows_serialize, DESERIALFUNC = kernel_rows_deserialize,
    FINALFUNC = pivoted_cholesky_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE pivoted_cholesky_agg(bigint, numeric[], kernel, integer, integer) IS 'approximation of the kernel matrix by randomly pivoted Cholesky';
CREATE FUNCTION fastclust_internal.pivoted_cholesky_accum(internal, bigint, numeric[], kernel, integer, integer, bigint) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_pivoted_cholesky_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE pivoted_cholesky_agg(id bigint, x numeric[], kernel kernel, rank integer, columns integer, seed bigint) (SFUNC = pivoted_cholesky_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kernel_rows_combine, SERIALFUNC = kernel_rows_serialize, DESERIALFUNC = kernel_rows_deserialize,
    FINALFUNC = pivoted_cholesky_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE pivoted_cholesky_agg(bigint, numeric[], kernel, integer, integer, bigint) IS 'approximation of the kernel matrix by randomly pivoted Cholesky';
CREATE FUNCTION fastclust_internal.kernel_eigen_accum(internal, bigint, numeric[], kernel, integer) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_kernel_eigen_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE kernel_eigen_agg(id bigint, x numeric[], kernel kernel, rank integer) (SFUNC = kernel_eigen_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kernel_rows_combine, SERIALFUNC = kernel_rows_serialize, DESERIALFUNC = kernel_rows_deserialize,
    FINALFUNC = kernel_eigen_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE kernel_eigen_agg(bigint, numeric[], kernel, integer) IS 'exact eigenvectors of the kernel matrix, which is held in memory: for a few thousand rows';
CREATE FUNCTION fastclust_internal.landmarks_accum(internal, numeric[], kernel, integer) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_landmarks_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE landmarks_agg(x numeric[], kernel kernel, k integer) (SFUNC = landmarks_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kernel_rows_combine, SERIALFUNC = kernel_rows_serialize, DESERIALFUNC = kernel_rows_deserialize,
    FINALFUNC = landmarks_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE landmarks_agg(numeric[], kernel, integer) IS 'at most k rows chosen by randomly pivoted Cholesky, as an operator of landmarks';
CREATE FUNCTION fastclust_internal.landmarks_accum(internal, numeric[], kernel, integer, bigint) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_landmarks_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE landmarks_agg(x numeric[], kernel kernel, k integer, seed bigint) (SFUNC = landmarks_accum, STYPE = internal, SSPACE = 1048576,
    COMBINEFUNC = kernel_rows_combine, SERIALFUNC = kernel_rows_serialize, DESERIALFUNC = kernel_rows_deserialize,
    FINALFUNC = landmarks_final, PARALLEL = SAFE);
COMMENT ON AGGREGATE landmarks_agg(numeric[], kernel, integer, bigint) IS 'at most k rows chosen by randomly pivoted Cholesky, as an operator of landmarks';

-- reading projections

CREATE FUNCTION embedding(projection kernel_projection, OUT id bigint, OUT y real[]) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_embedding' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION embedding(kernel_projection) IS 'the coordinates of the rows: inner products approximate kernel values';
CREATE FUNCTION eigenvalues(projection kernel_projection) RETURNS double precision[]
    AS 'MODULE_PATHNAME', 'fastclust_eigenvalues' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION eigenvalues(kernel_projection) IS 'eigenvalues of the approximated kernel matrix, greatest first';
CREATE FUNCTION describe(projection kernel_projection) RETURNS jsonb
    AS 'MODULE_PATHNAME', 'fastclust_projection_describe' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION describe(kernel_projection) IS 'method, kernel, rows, dimensions, rank, oversampling, columns, seed, estimated relative error, bytes';

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
CREATE FUNCTION kernel_features(map kernel_map, x real[]) RETURNS real[]
    AS 'MODULE_PATHNAME', 'fastclust_kernel_features' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION kernel_features(kernel_map, real[]) IS 'coordinates of a row: inner products approximate kernel values';
CREATE FUNCTION kernel_features(map kernel_map, x double precision[]) RETURNS real[]
    AS 'MODULE_PATHNAME', 'fastclust_kernel_features' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION kernel_features(kernel_map, double precision[]) IS 'coordinates of a row: inner products approximate kernel values';
CREATE FUNCTION kernel_features(map kernel_map, x integer[]) RETURNS real[]
    AS 'MODULE_PATHNAME', 'fastclust_kernel_features' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION kernel_features(kernel_map, integer[]) IS 'coordinates of a row: inner products approximate kernel values';
CREATE FUNCTION kernel_features(map kernel_map, x numeric[]) RETURNS real[]
    AS 'MODULE_PATHNAME', 'fastclust_kernel_features' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION kernel_features(kernel_map, numeric[]) IS 'coordinates of a row: inner products approximate kernel values';

-- models: tables, who may read and change them, views for people

-- Roles are kept by name, so that dumps restore anywhere, and held by oid: a later role of the name is another.  Generated
-- columns are not dumped: a restore looks the names up anew.  Declared immutable because what is generated must be.
CREATE FUNCTION fastclust_internal.role_ids(roles name[]) RETURNS oid[]
    LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT COALESCE(array_agg(CASE WHEN u.role = 'public' THEN 0::oid ELSE r.oid END ORDER BY u.i), '{}')
      FROM unnest(roles) WITH ORDINALITY u(role, i) LEFT JOIN pg_roles r ON r.rolname = u.role
$$;

-- A model is its id; the name is what people call it, and a later model of the name is another.
CREATE TABLE models (
    id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    model text NOT NULL UNIQUE CHECK (model <> ''),
    owner name NOT NULL,
    owner_id oid GENERATED ALWAYS AS ((role_ids(ARRAY[owner]))[1]) STORED,
    readers name[] NOT NULL DEFAULT '{}',
    reader_ids oid[] GENERATED ALWAYS AS (role_ids(readers)) STORED,
    version integer,
    group_by name,
    created_at timestamptz NOT NULL DEFAULT now(),
    UNIQUE (id, model));
COMMENT ON TABLE models IS 'one row per model: who owns it, who may use it, and the version that predict uses';
COMMENT ON COLUMN models.id IS 'the identity of the model; a later model of the same name has another';
COMMENT ON COLUMN models.model IS 'the name of the model';
COMMENT ON COLUMN models.owner IS 'the role that owns the model: it and its members may change it';
COMMENT ON COLUMN models.owner_id IS 'the oid of the owner when the row was written';
COMMENT ON COLUMN models.readers IS 'roles that may use the model; "public" is everyone';
COMMENT ON COLUMN models.reader_ids IS 'the oids of the readers when the row was written; 0 is everyone';
COMMENT ON COLUMN models.version IS 'the version that predict uses';
COMMENT ON COLUMN models.group_by IS 'the column by which the model is split: each of its values has clusters of its own';
COMMENT ON COLUMN models.created_at IS 'when the name was first trained';

-- true, or the error that says what of a version does not fit the rest: whatever is stored can be read.
CREATE FUNCTION fastclust_internal.version_fits(operator fastop, map kernel_map, center double precision[], scale double precision[],
        spreads double precision[], distance_quantiles double precision[], null_moments double precision[],
        spec sketch_spec, training_sketch sketch, encoder encoder) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_version_fits' LANGUAGE C IMMUTABLE PARALLEL SAFE;
-- The numbers above each of k clusters, from the top down: on each level from 0 on without gaps, each below one only.
CREATE FUNCTION fastclust_internal.paths_fit(paths integer[], k integer) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_paths_fit' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE TABLE model_versions (
    model_id bigint NOT NULL,
    model text NOT NULL,
    version integer NOT NULL CHECK (version > 0),
    group_value text NOT NULL DEFAULT '',
    method text NOT NULL,
    note text,
    relation text NOT NULL,
    features name[] NOT NULL,
    vector boolean NOT NULL,
    encoder encoder,
    k integer NOT NULL CHECK (k BETWEEN 1 AND 1048576),
    options jsonb NOT NULL CHECK (jsonb_typeof(options) = 'object'),
    operator fastop NOT NULL,
    center double precision[],
    scale double precision[],
    map kernel_map,
    spec sketch_spec,
    training_sketch sketch,
    null_moments double precision[],
    spreads double precision[],
    distance_quantiles double precision[],
    n bigint NOT NULL CHECK (n >= 0),
    imputed bigint,
    objective double precision,
    objective_error double precision,
    label_churn double precision,
    paths integer[],
    recall double precision CHECK (recall BETWEEN 0 AND 1),
    trained_by name NOT NULL,
    trained_by_id oid GENERATED ALWAYS AS ((role_ids(ARRAY[trained_by]))[1]) STORED,
    started_at timestamptz NOT NULL,
    trained_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (model_id, version, group_value),
    FOREIGN KEY (model_id, model) REFERENCES models (id, model) ON DELETE CASCADE ON UPDATE CASCADE,
    CHECK (paths_fit(paths, clusters(operator))),
    CHECK (vector = (encoder IS NULL)),
    CHECK (encoder_columns(encoder) = features),    -- the rights to read these are checked before a scan
    CHECK (version_fits(operator, map, center, scale, spreads, distance_quantiles, null_moments, spec, training_sketch, encoder)));
COMMENT ON TABLE model_versions IS 'one row per version of a model, or per version and group: its centroids and the sketch of its training rows';
COMMENT ON COLUMN model_versions.model_id IS 'the id of the model';
COMMENT ON COLUMN model_versions.model IS 'the name of the model';
COMMENT ON COLUMN model_versions.version IS 'the number of the version, from 1 up';
COMMENT ON COLUMN model_versions.group_value IS 'the group, as text; empty for a model without groups';
COMMENT ON COLUMN model_versions.method IS 'how the version was trained: compressive, kmeans, qkmeans or kernel';
COMMENT ON COLUMN model_versions.note IS 'why the method was chosen, and what else the training reported';
COMMENT ON COLUMN model_versions.relation IS 'the table that was read, qualified and quoted';
COMMENT ON COLUMN model_versions.features IS 'the columns that were clustered';
COMMENT ON COLUMN model_versions.vector IS 'true when features names one column of vectors, false for columns of numbers';
COMMENT ON COLUMN model_versions.encoder IS 'how the columns of a row become numbers; NULL for a column of vectors';
COMMENT ON COLUMN model_versions.k IS 'the number of clusters asked for';
COMMENT ON COLUMN model_versions.options IS 'the options of the training';
COMMENT ON COLUMN model_versions.operator IS 'the centroids, in units of (x - center) / scale';
COMMENT ON COLUMN model_versions.center IS 'what was subtracted from the rows: their means; NULL when rows were used as they are';
COMMENT ON COLUMN model_versions.scale IS 'what the rows were divided by: their deviations; NULL when rows were used as they are';
COMMENT ON COLUMN model_versions.map IS 'the kernel features that the operator takes in place of rows; NULL without a kernel';
COMMENT ON COLUMN model_versions.spec IS 'the spec of the training sketch';
COMMENT ON COLUMN model_versions.training_sketch IS 'the sketch of the training rows';
COMMENT ON COLUMN model_versions.null_moments IS 'tr S^2 and tr S^3 of the moments of a row: how drift varies when nothing has changed';
COMMENT ON COLUMN model_versions.spreads IS 'the deviation per dimension of each cluster, in units of scale';
COMMENT ON COLUMN model_versions.distance_quantiles IS 'quantiles of the distances of the training rows, at 1 - (1 - i / 200)^2';
COMMENT ON COLUMN model_versions.n IS 'the number of training rows';
COMMENT ON COLUMN model_versions.imputed IS 'the number of training rows with a NULL for which a value was put; NULL where it was not counted';
COMMENT ON COLUMN model_versions.objective IS 'the mean squared distance of a row to its centroid, in units of scale';
COMMENT ON COLUMN model_versions.objective_error IS 'the standard error of objective: 0 when all rows were measured';
COMMENT ON COLUMN model_versions.label_churn IS 'the share of the training rows that the version before gave another cluster; NULL without one';
COMMENT ON COLUMN model_versions.paths IS 'the numbers above each cluster, from the top level down; NULL without levels';
COMMENT ON COLUMN model_versions.recall IS 'the part of the ten nearest rows that a search through so many buckets as option probes says found; NULL without it';
COMMENT ON COLUMN model_versions.trained_by IS 'the role that trained the version';
COMMENT ON COLUMN model_versions.trained_by_id IS 'the oid of that role when the version was stored';
COMMENT ON COLUMN model_versions.started_at IS 'when the training began';
COMMENT ON COLUMN model_versions.trained_at IS 'when the version was stored';

CREATE TABLE training_log (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    model_id bigint NOT NULL,
    model text NOT NULL,
    version integer NOT NULL,
    step text NOT NULL,
    objective double precision,
    seconds double precision,
    note text,
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    FOREIGN KEY (model_id, model) REFERENCES models (id, model) ON DELETE CASCADE ON UPDATE CASCADE);
CREATE INDEX ON training_log (model_id, version);
COMMENT ON COLUMN training_log.id IS 'the order of the steps';
COMMENT ON COLUMN training_log.version IS 'the version in training';
COMMENT ON COLUMN training_log.step IS 'what was done';
COMMENT ON COLUMN training_log.objective IS 'the mean squared distance of a row to its centroid after the step; NULL where it is not known';
COMMENT ON COLUMN training_log.seconds IS 'how long the step took';
COMMENT ON COLUMN training_log.note IS 'what the step reported';
COMMENT ON COLUMN training_log.at IS 'when the step ended';
COMMENT ON TABLE training_log IS 'one row per step of a training; only those who may change a model see its steps';

SELECT pg_catalog.pg_extension_config_dump('models', '');
SELECT pg_catalog.pg_extension_config_dump('models_id_seq', '');
SELECT pg_catalog.pg_extension_config_dump('model_versions', '');

-- rights: everybody reads what the policies let him; nobody but the extension's owner writes (70_writers.sql)

CREATE FUNCTION fastclust_internal.is_member_of(role oid) RETURNS boolean
    LANGUAGE sql STABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT EXISTS (SELECT FROM pg_roles r WHERE r.oid = role AND pg_has_role(current_user, r.oid, 'USAGE'))
        OR (SELECT r.rolsuper FROM pg_roles r WHERE r.rolname = current_user)
$$;
CREATE FUNCTION fastclust_internal.may_read_model(owner_id oid, reader_ids oid[]) RETURNS boolean
    LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT is_member_of(owner_id) OR 0 = ANY (reader_ids)
        OR EXISTS (SELECT FROM unnest(reader_ids) r WHERE is_member_of(r))
$$;
CREATE FUNCTION fastclust_internal.may_change_model(model_id bigint) RETURNS boolean
    LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT EXISTS (SELECT FROM models m WHERE m.id = model_id AND is_member_of(m.owner_id))
$$;

ALTER TABLE models ENABLE ROW LEVEL SECURITY;
ALTER TABLE model_versions ENABLE ROW LEVEL SECURITY;
CREATE POLICY read ON models FOR SELECT USING (may_read_model(owner_id, reader_ids));
CREATE POLICY read ON model_versions FOR SELECT USING (EXISTS (SELECT FROM models m WHERE m.id = model_id));
GRANT SELECT ON models, model_versions TO PUBLIC;
GRANT SELECT ON SEQUENCE models_id_seq TO PUBLIC;      -- pg_dump by the owner of a database reads it

-- internal: what the model functions share

CREATE FUNCTION fastclust_internal.match_clusters(old fastop, old_center double precision[], old_scale double precision[],
        new fastop, new_center double precision[], new_scale double precision[]) RETURNS integer[]
    AS 'MODULE_PATHNAME', 'fastclust_match_clusters' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.nearest_others(op fastop, OUT cluster integer, OUT nearest integer, OUT distance double precision) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_nearest_others' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.match_labels(counts double precision[], k_old integer) RETURNS integer[]
    AS 'MODULE_PATHNAME', 'fastclust_match_labels' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.renumber(op fastop, numbers integer[]) RETURNS fastop
    AS 'MODULE_PATHNAME', 'fastclust_renumber' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.spec_in_units(spec sketch_spec, center double precision[], scale double precision[], shared boolean) RETURNS sketch_spec
    AS 'MODULE_PATHNAME', 'fastclust_spec_in_units' LANGUAGE C IMMUTABLE PARALLEL SAFE;
-- A row in units: (x - center) / scale, or as it is where these are NULL; NULL of a NULL column.
CREATE FUNCTION fastclust_internal.vector_in_units(center double precision[], scale double precision[], x real[]) RETURNS double precision[]
    AS 'MODULE_PATHNAME', 'fastclust_vector_in_units' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.vector_in_units(center double precision[], scale double precision[], x double precision[]) RETURNS double precision[]
    AS 'MODULE_PATHNAME', 'fastclust_vector_in_units' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.vector_in_units(center double precision[], scale double precision[], x integer[]) RETURNS double precision[]
    AS 'MODULE_PATHNAME', 'fastclust_vector_in_units' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.vector_in_units(center double precision[], scale double precision[], x numeric[]) RETURNS double precision[]
    AS 'MODULE_PATHNAME', 'fastclust_vector_in_units' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.place_key(place tid) RETURNS bigint
    AS 'MODULE_PATHNAME', 'fastclust_place_key' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.null_moments(parts sketch[], part_numbers integer[]) RETURNS double precision[]
    AS 'MODULE_PATHNAME', 'fastclust_null_moments' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.drift_test(training sketch, s sketch, null_moments double precision[], threshold double precision, min_effect double precision,
        OUT mmd2 double precision, OUT null_sd double precision, OUT p_value double precision, OUT effect double precision, OUT verdict text)
    AS 'MODULE_PATHNAME', 'fastclust_drift_test' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.changed_columns(training sketch, s sketch, most integer, OUT dimension integer, OUT shift double precision, OUT spread double precision)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_changed_columns' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.fit_residual(s sketch, op fastop, center double precision[], scale double precision[],
        spreads double precision[]) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_fit_residual' LANGUAGE C IMMUTABLE PARALLEL SAFE;

-- Options as train, retrain or retrain_with_sketch knows them, each of its type and within its range whether the method uses
-- it or not; else an error.  All of them are in pg/model/training_options.c.
CREATE FUNCTION fastclust_internal.check_training_options(options jsonb, function text) RETURNS void
    AS 'MODULE_PATHNAME', 'fastclust_check_training_options' LANGUAGE C IMMUTABLE;

-- An option that was checked, or the default.
-- One that is null is not given.
CREATE FUNCTION fastclust_internal.given_options(options jsonb) RETURNS jsonb
    LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT COALESCE(jsonb_object_agg(o.key, o.value) FILTER (WHERE o.value <> 'null'), '{}') FROM jsonb_each(options) o
$$;
CREATE FUNCTION fastclust_internal.number_option(options jsonb, name text, value double precision) RETURNS double precision
    LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS 'SELECT COALESCE((options ->> name)::float8, value)';
CREATE FUNCTION fastclust_internal.seed_option(options jsonb) RETURNS bigint
    LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$SELECT COALESCE((options ->> 'seed')::numeric::bigint, 0)$$;
CREATE FUNCTION fastclust_internal.flag_option(options jsonb, name text, value boolean) RETURNS boolean
    LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS 'SELECT COALESCE((options ->> name)::boolean, value)';

-- Of a model that is not there: the one that was meant, of those the caller may read.
CREATE FUNCTION fastclust_internal.model_hint(model text) RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT COALESCE(substring(name_hint(model, ARRAY(SELECT m.model FROM models m ORDER BY 1), '') FROM '^Perhaps you meant "[^"]*"[.]'),
                    'A model of another role can be read after grant_model.')
$$;

-- A model the caller may read; else the error that says so.
CREATE FUNCTION fastclust_internal.readable_model(model_name text) RETURNS models
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    found_model models;
BEGIN
    IF model_name IS NULL THEN
        RAISE null_value_not_allowed USING MESSAGE = 'model must not be NULL';
    END IF;
    SELECT * INTO found_model FROM models m WHERE m.model = model_name;
    IF NOT FOUND THEN
        RAISE undefined_object USING MESSAGE = format('model "%s" does not exist', model_name),
            HINT = model_hint(model_name);
    END IF;
    RETURN found_model;
END
$$;

-- internal: centroids in the units of the rows, with their neighbours.  Whoever shares a model may have written any
-- numbers into its rows: what cannot be computed is told in a warning, and hides no other model.  All rows are computed
-- before the first is returned, for they are sorted: servers differ in what they keep of a query that fails midway.
CREATE FUNCTION fastclust_internal.version_cluster_rows(model text, n bigint, op fastop, mapped boolean, center double precision[], scale double precision[],
        spreads double precision[], OUT cluster integer, OUT size bigint, OUT share double precision, OUT centroid double precision[],
        OUT spread double precision, OUT nearest_cluster integer, OUT nearest_distance double precision)
    RETURNS SETOF record
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
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

CREATE FUNCTION fastclust_internal.visible_models(OUT id bigint, OUT model text) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_door' LANGUAGE C STABLE;
CREATE FUNCTION fastclust_internal.visible_models_inside(OUT id bigint, OUT model text) RETURNS SETOF record
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT m.id, m.model FROM models m
$$;

CREATE FUNCTION fastclust_internal.model_cluster_rows(model_id bigint, OUT group_value text, OUT cluster integer, OUT size bigint,
        OUT share double precision, OUT centroid double precision[], OUT spread double precision,
        OUT nearest_cluster integer, OUT nearest_distance double precision)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_door' LANGUAGE C STABLE;
CREATE FUNCTION fastclust_internal.model_cluster_rows_inside(model_id bigint, OUT group_value text, OUT cluster integer, OUT size bigint,
        OUT share double precision, OUT centroid double precision[], OUT spread double precision,
        OUT nearest_cluster integer, OUT nearest_distance double precision)
    RETURNS SETOF record
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT CASE WHEN m.group_by IS NOT NULL THEN v.group_value END, c.*
      FROM models m
      JOIN model_versions v ON v.model_id = m.id AND v.version = m.version
     CROSS JOIN LATERAL version_cluster_rows(m.model, v.n, v.operator, v.map IS NOT NULL, v.center, v.scale, v.spreads) c
     WHERE m.id = $1
$$;

CREATE FUNCTION fastclust_internal.model_summary_rows(OUT model text, OUT owner name, OUT version integer, OUT versions bigint, OUT method text,
        OUT relation text, OUT features name[], OUT group_by name, OUT groups bigint, OUT k integer, OUT dim integer,
        OUT n bigint, OUT objective double precision, OUT trained_at timestamptz, OUT note text)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_door' LANGUAGE C STABLE;
CREATE FUNCTION fastclust_internal.model_summary_rows_inside(OUT model text, OUT owner name, OUT version integer, OUT versions bigint, OUT method text,
        OUT relation text, OUT features name[], OUT group_by name, OUT groups bigint, OUT k integer, OUT dim integer,
        OUT n bigint, OUT objective double precision, OUT trained_at timestamptz, OUT note text)
    RETURNS SETOF record
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT m.model, COALESCE((SELECT r.rolname FROM pg_roles r WHERE r.oid = m.owner_id), m.owner), m.version,
           (SELECT count(DISTINCT o.version) FROM model_versions o WHERE o.model_id = m.id),
           min(v.method), min(v.relation), min(v.features::text)::name[], m.group_by,
           CASE WHEN m.group_by IS NOT NULL THEN count(v.model) END, max(v.k), max(dim(v.operator)),
           least(greatest(sum(v.n), -9223372036854775808), 9223372036854775807)::bigint,
           sum(v.objective * v.n) FILTER (WHERE v.objective = 0 OR abs(v.objective) BETWEEN 1e-280 AND 1e280) / NULLIF(sum(v.n), 0),
           max(v.trained_at), min(v.note)
      FROM models m
      LEFT JOIN model_versions v ON v.model_id = m.id AND v.version = m.version
     GROUP BY m.id
$$;

-- Functions, so that the rights are those of who reads the view, on every server version.
-- Clusters by model, so that a query of one computes no other: anybody may share one that takes hours.
CREATE VIEW model_clusters AS SELECT m.model, c.* FROM visible_models() m CROSS JOIN LATERAL model_cluster_rows(m.id) c;
COMMENT ON VIEW model_clusters IS 'one row per cluster of the version that predict uses';
COMMENT ON COLUMN model_clusters.model IS 'the name of the model';
COMMENT ON COLUMN model_clusters.group_value IS 'the group; NULL for a model without groups';
COMMENT ON COLUMN model_clusters.cluster IS 'the number that predict returns';
COMMENT ON COLUMN model_clusters.size IS 'the number of training rows in the cluster, estimated by its share';
COMMENT ON COLUMN model_clusters.share IS 'the part of the training rows in the cluster';
COMMENT ON COLUMN model_clusters.centroid IS 'the mean of the cluster in the units of the rows; NULL for a kernel model';
COMMENT ON COLUMN model_clusters.spread IS 'the deviation per dimension; in standard deviations for a standardised model';
COMMENT ON COLUMN model_clusters.nearest_cluster IS 'the cluster whose centroid is nearest to this one';
COMMENT ON COLUMN model_clusters.nearest_distance IS 'the distance to that centroid, in the units of spread';
CREATE VIEW model_summary AS SELECT * FROM model_summary_rows();
COMMENT ON VIEW model_summary IS 'one row per model: the version that predict uses, and how it was trained';
COMMENT ON COLUMN model_summary.model IS 'the name of the model';
COMMENT ON COLUMN model_summary.owner IS 'the role that owns it';
COMMENT ON COLUMN model_summary.version IS 'the version that predict uses';
COMMENT ON COLUMN model_summary.versions IS 'how many versions are kept';
COMMENT ON COLUMN model_summary.method IS 'how that version was trained';
COMMENT ON COLUMN model_summary.relation IS 'the table it was trained on';
COMMENT ON COLUMN model_summary.features IS 'the columns that were clustered';
COMMENT ON COLUMN model_summary.group_by IS 'the column by which the model is split; NULL without groups';
COMMENT ON COLUMN model_summary.groups IS 'the number of groups; NULL without groups';
COMMENT ON COLUMN model_summary.k IS 'the number of clusters, of a group where there are groups';
COMMENT ON COLUMN model_summary.dim IS 'the dimension of the rows, or of their kernel features';
COMMENT ON COLUMN model_summary.n IS 'the number of training rows';
COMMENT ON COLUMN model_summary.objective IS 'the mean squared distance of a row to its centroid, as the training compared rows';
COMMENT ON COLUMN model_summary.trained_at IS 'when the version was stored';
COMMENT ON COLUMN model_summary.note IS 'why the method was chosen';
GRANT SELECT ON model_clusters, model_summary TO PUBLIC;

-- writers: the only way into the model tables
-- What a caller calls is in C (door.c): it notes who that is, becomes the owner of the extension and calls the function
-- of the same name with "_as_owner", whose first argument is the caller.  Called directly, that one has only its caller's
-- rights, which write nothing.

-- Has a role the rights of another?  Superusers have everybody's, and those of a role that is no more.
CREATE FUNCTION fastclust_internal.is_member(caller oid, role oid) RETURNS boolean
    LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT EXISTS (SELECT FROM pg_roles r WHERE r.oid = role AND pg_has_role(caller, r.oid, 'USAGE'))
        OR (SELECT r.rolsuper FROM pg_roles r WHERE r.oid = caller)
$$;

CREATE FUNCTION fastclust_internal.is_reader(caller oid, held models) RETURNS boolean
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT 0 = ANY (held.reader_ids) OR EXISTS (SELECT FROM unnest(held.reader_ids) r WHERE is_member(caller, r))
$$;

-- The row of a model, locked until the end of the transaction.
CREATE FUNCTION fastclust_internal.locked_row(id bigint, model_name text, wait boolean) RETURNS models
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    held models;
BEGIN
    IF wait IS NOT FALSE THEN
        SELECT * INTO held FROM models m WHERE m.id = $1 AND m.model = model_name FOR UPDATE;
    ELSE
        SELECT * INTO held FROM models m WHERE m.id = $1 AND m.model = model_name FOR UPDATE NOWAIT;
    END IF;
    IF NOT FOUND THEN
        RAISE undefined_object USING MESSAGE = format('model "%s" was dropped meanwhile', model_name);
    END IF;
    RETURN held;
EXCEPTION WHEN lock_not_available THEN
    IF wait IS NOT FALSE THEN
        RAISE;
    END IF;
    RAISE lock_not_available USING MESSAGE = format('model "%s" is being trained by another session', model_name),
        HINT = 'Leave out the option nowait to wait for it.';
END
$$;

-- A standby only reads, and so does a transaction that was begun so.  The error of the first row that is to be written would not say what to do.
CREATE FUNCTION fastclust_internal.reject_read_only(what text DEFAULT 'models cannot be trained or changed') RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF pg_is_in_recovery() THEN
        RAISE read_only_sql_transaction USING MESSAGE = what || ' on a standby',
            HINT = 'Do it on the primary. A standby predicts, measures drift, sketches and decodes.';
    ELSIF current_setting('transaction_read_only')::boolean THEN
        RAISE read_only_sql_transaction USING MESSAGE = what || ' in a read-only transaction',
            HINT = 'Begin it with READ WRITE; where nothing else is said, default_transaction_read_only holds.';
    END IF;
END
$$;

-- A model that the caller may change, held until the end of the transaction.  make: he asked for the name, whoever has it.
CREATE FUNCTION fastclust_internal.held_model(caller oid, model_name text, wait boolean, make boolean DEFAULT false) RETURNS models
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    held models;
BEGIN
    PERFORM reject_read_only();
    IF model_name IS NULL THEN
        RAISE null_value_not_allowed USING MESSAGE = 'model must not be NULL';
    END IF;
    SELECT * INTO held FROM models m WHERE m.model = model_name;
    IF held.id IS NOT NULL AND is_member(caller, held.owner_id) THEN
        held := locked_row(held.id, model_name, wait);
        IF is_member(caller, held.owner_id) THEN    -- still, after a wait
            RETURN held;
        END IF;
    END IF;
    IF held.id IS NOT NULL AND make THEN
        RAISE insufficient_privilege USING MESSAGE = format('model "%s" belongs to another role', model_name),
            HINT = 'Choose another name.';
    ELSIF is_reader(caller, held) THEN
        RAISE insufficient_privilege USING MESSAGE = format('model "%s" belongs to %s', model_name, held.owner),
            HINT = 'Only its owner and members of it may change a model.';
    END IF;
    RAISE undefined_object USING MESSAGE = format('model "%s" does not exist', model_name),
        HINT = 'A model of another role can be read after grant_model.';
END
$$;

-- The same by its identity, which training has held before.  Whoever may not read a model does not learn its name.
CREATE FUNCTION fastclust_internal.held_model(caller oid, id bigint) RETURNS models
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    name text := (SELECT m.model FROM models m WHERE m.id = $2 AND (is_member(caller, m.owner_id) OR is_reader(caller, m)));
BEGIN
    IF name IS NULL THEN
        RAISE undefined_object USING MESSAGE = format('there is no model with id %s', COALESCE(id::text, 'NULL'));
    END IF;
    RETURN held_model(caller, name, true);
END
$$;

-- ---- names in the making ----

-- Lock a key until the end of the transaction; false when another session has it and wait is false.
CREATE FUNCTION fastclust_internal.lock_name(key integer, wait boolean) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_lock_name' LANGUAGE C STRICT;

-- The roles of the sessions that hold the lock; NULL for a prepared transaction.
CREATE FUNCTION fastclust_internal.name_lockers(key integer) RETURNS SETOF oid
    LANGUAGE sql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT a.usesysid
      FROM pg_locks l LEFT JOIN pg_stat_activity a ON a.pid = l.pid
     WHERE l.locktype = 'object' AND l.classid = 'lock_name(integer, boolean)'::regprocedure AND l.objid = (key::bigint & 4294967295)::oid
       AND l.granted AND l.database = (SELECT d.oid FROM pg_database d WHERE d.datname = current_database())
$$;

-- Claim a name that no model has.  Sessions of the caller's login and roles are waited for, those of others are not:
-- nobody stops another's work by a name that is not yet his.
CREATE FUNCTION fastclust_internal.claim_name(caller oid, name text, wait boolean) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    key integer := hashtext(name);
BEGIN
    IF lock_name(key, false) THEN
        RETURN;
    ELSIF EXISTS (SELECT FROM name_lockers(key) l(role), pg_roles own
                   WHERE own.rolname = session_user AND (l.role IS NULL OR (l.role <> own.oid AND is_member(caller, l.role) IS NOT TRUE))) THEN
        RAISE lock_not_available USING MESSAGE = format('model "%s" is being made by another role', name),
            HINT = 'Choose another name.';
    ELSIF wait IS FALSE THEN
        RAISE lock_not_available USING MESSAGE = format('model "%s" is being made by another session', name),
            HINT = 'Leave out the option nowait to wait for it.';
    END IF;
    PERFORM lock_name(key, true);
END
$$;

-- ---- what training writes ----

-- The row of a model, made if it is not there, and held until the end of the transaction.
CREATE FUNCTION fastclust_internal.claim_model(model_name text, wait boolean) RETURNS models
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C;
CREATE FUNCTION fastclust_internal.claim_model_as_owner(caller oid, model_name text, wait boolean) RETURNS models
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
BEGIN
    PERFORM reject_read_only();
    IF COALESCE(model_name, '') = '' THEN
        RAISE invalid_parameter_value USING MESSAGE = 'model must not be NULL or empty';
    END IF;
    IF NOT EXISTS (SELECT FROM models m WHERE m.model = model_name) THEN
        PERFORM claim_name(caller, model_name, wait);
        INSERT INTO models (model, owner) VALUES (model_name, pg_get_userbyid(caller)) ON CONFLICT DO NOTHING;
    END IF;
    RETURN held_model(caller, model_name, wait, true);
END
$$;

-- The row of a model that the caller may change, held until the end of the transaction.
CREATE FUNCTION fastclust_internal.lock_model(model_name text, wait boolean DEFAULT true) RETURNS models
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C;
CREATE FUNCTION fastclust_internal.lock_model_as_owner(caller oid, model_name text, wait boolean) RETURNS models
    LANGUAGE sql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT held_model(caller, model_name, wait)
$$;

-- Versions count up by one; what serves is not written any more.
CREATE FUNCTION fastclust_internal.check_version_number(held models, version integer, lowest integer) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    last bigint := (SELECT COALESCE(max(v.version), 0) FROM model_versions v WHERE v.model_id = held.id);
BEGIN
    IF version IS NULL OR version < lowest OR version > last + 1 THEN
        RAISE invalid_parameter_value USING MESSAGE = format('version is %s, out of range', COALESCE(version::text, 'NULL')),
            DETAIL = format('The next version of model "%s" is %s.', held.model, last + 1);
    END IF;
END
$$;

-- A step of a training, for training_log.
CREATE FUNCTION fastclust_internal.write_step(model_id bigint, version integer, step text, objective double precision, seconds double precision, note text)
    RETURNS void
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C;
CREATE FUNCTION fastclust_internal.write_step_as_owner(caller oid, model_id bigint, version integer, step text, objective double precision,
        seconds double precision, note text) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    held models := held_model(caller, model_id);
BEGIN
    PERFORM check_version_number(held, version, 1);
    INSERT INTO training_log (model_id, model, version, step, objective, seconds, note)
        VALUES (held.id, held.model, $3, $4, $5, $6, $7);
END
$$;

-- Parts of a version that was trained: the only one, or those of groups.  Who trained it, and when, is noted here.
CREATE FUNCTION fastclust_internal.write_parts(parts model_versions[]) RETURNS void
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C;
CREATE FUNCTION fastclust_internal.write_parts_as_owner(caller oid, parts model_versions[]) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    held models := held_model(caller, (parts[1]).model_id);
    made integer := (parts[1]).version;
BEGIN
    PERFORM check_version_number(held, made, COALESCE((SELECT max(o.version) FROM model_versions o WHERE o.model_id = held.id), 1));
    IF made = held.version THEN
        RAISE invalid_parameter_value USING MESSAGE = format('version %s of model "%s" serves already', made, held.model);
    ELSIF EXISTS (SELECT FROM unnest(parts) v WHERE v.model_id IS DISTINCT FROM held.id OR v.version IS DISTINCT FROM made) THEN
        RAISE invalid_parameter_value USING MESSAGE = 'parts must be of one version of one model';
    END IF;
    INSERT INTO model_versions (model_id, model, version, group_value, method, note, relation, features, vector, encoder, k, options,
                                operator, center, scale, map, spec, training_sketch, null_moments, spreads,
                                distance_quantiles, n, imputed, objective, objective_error, label_churn, paths, recall, trained_by, started_at)
    SELECT held.id, held.model, v.version, v.group_value, v.method, v.note, v.relation, v.features, v.vector, v.encoder, v.k, v.options,
           v.operator, v.center, v.scale, v.map, v.spec, v.training_sketch, v.null_moments, v.spreads,
           v.distance_quantiles, v.n, v.imputed, v.objective, v.objective_error, v.label_churn, v.paths, v.recall, pg_get_userbyid(caller), v.started_at
      FROM unnest(parts) v;
END
$$;

-- What later scans found of a part.
CREATE TYPE fastclust_internal.part_result AS (group_value text, operator fastop, spreads double precision[], distance_quantiles double precision[],
    objective double precision, objective_error double precision, label_churn double precision, paths integer[], recall double precision);

-- Write it to parts of a version that does not serve yet.
CREATE FUNCTION fastclust_internal.write_results(model_id bigint, version integer, results part_result[]) RETURNS void
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C;
CREATE FUNCTION fastclust_internal.write_results_as_owner(caller oid, model_id bigint, version integer, results part_result[]) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    held models := held_model(caller, model_id);
BEGIN
    IF version IS NULL OR version = held.version OR NOT EXISTS (SELECT FROM model_versions v WHERE v.model_id = held.id AND v.version = $3) THEN
        RAISE invalid_parameter_value USING MESSAGE = format('model "%s" has no version %s in the making', held.model, version);
    END IF;
    UPDATE model_versions v
       SET operator = r.operator, spreads = r.spreads, distance_quantiles = r.distance_quantiles, objective = r.objective,
           objective_error = r.objective_error, label_churn = r.label_churn, paths = r.paths, recall = r.recall
      FROM unnest(results) r
     WHERE v.model_id = held.id AND v.version = $3 AND v.group_value = r.group_value;
END
$$;

-- Let a version serve and remove those that are older than the last ones.
CREATE FUNCTION fastclust_internal.serve_version(model_id bigint, version integer, group_by name, keep integer) RETURNS void
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C;
CREATE FUNCTION fastclust_internal.serve_version_as_owner(caller oid, model_id bigint, version integer, group_by name, keep integer) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    held models := held_model(caller, model_id);
BEGIN
    IF NOT EXISTS (SELECT FROM model_versions v WHERE v.model_id = held.id AND v.version = $3) THEN
        RAISE undefined_object USING MESSAGE = format('model "%s" has no version %s', held.model, version);
    END IF;
    UPDATE models m SET version = $3, group_by = $4 WHERE m.id = held.id;
    DELETE FROM model_versions v
     WHERE v.model_id = held.id AND v.version < least($3, (
        SELECT min(o.version) FROM (SELECT DISTINCT w.version FROM model_versions w WHERE w.model_id = held.id
                                     ORDER BY 1 DESC LIMIT greatest(0, keep) + 1) o));
END
$$;

-- ---- sharing, renaming, going back, removing ----

-- Readers by their names of today, without one, and without those that are no more.
CREATE FUNCTION fastclust_internal.present_readers(held models, but name) RETURNS name[]
    LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT COALESCE(array_agg(q.name ORDER BY q.i) FILTER (WHERE q.name <> but), '{}')
      FROM (SELECT u.i, CASE WHEN u.id = 0 THEN 'public' ELSE r.rolname END AS name
              FROM unnest(held.reader_ids) WITH ORDINALITY u(id, i) LEFT JOIN pg_roles r ON r.oid = u.id) q
$$;

CREATE FUNCTION grant_model(model text, role name) RETURNS void
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C;
COMMENT ON FUNCTION grant_model(text, name) IS 'let a role use a model; "public" is everyone';
CREATE FUNCTION fastclust_internal.grant_model_as_owner(caller oid, model text, role name) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    held models := held_model(caller, model, true);
BEGIN
    IF role IS NULL OR (role <> 'public' AND NOT EXISTS (SELECT FROM pg_roles r WHERE r.rolname = role)) THEN
        RAISE undefined_object USING MESSAGE = format('role "%s" does not exist', role);
    END IF;
    UPDATE models m SET readers = present_readers(m, role) || role WHERE m.id = held.id;
END
$$;

CREATE FUNCTION revoke_model(model text, role name) RETURNS void
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C;
COMMENT ON FUNCTION revoke_model(text, name) IS 'stop a role from using a model';
CREATE FUNCTION fastclust_internal.revoke_model_as_owner(caller oid, model text, role name) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    held models := held_model(caller, model, true);
BEGIN
    UPDATE models m SET readers = present_readers(m, role) WHERE m.id = held.id;
END
$$;

CREATE FUNCTION rename_model(model text, new_name text) RETURNS void
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C;
COMMENT ON FUNCTION rename_model(text, text) IS 'give a model another name';
CREATE FUNCTION fastclust_internal.rename_model_as_owner(caller oid, model text, new_name text) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    held models := held_model(caller, model, true);
BEGIN
    IF COALESCE(new_name, '') = '' THEN
        RAISE invalid_parameter_value USING MESSAGE = 'new_name must not be NULL or empty';
    END IF;
    IF NOT EXISTS (SELECT FROM models m WHERE m.model = new_name) THEN
        PERFORM claim_name(caller, new_name, true);
    END IF;
    UPDATE models m SET model = new_name WHERE m.id = held.id;
    UPDATE live_sketches l SET name = new_name WHERE l.model_id = held.id AND NOT EXISTS (SELECT FROM live_sketches o WHERE o.name = new_name);
EXCEPTION WHEN unique_violation THEN
    RAISE duplicate_object USING MESSAGE = format('model "%s" exists already', new_name);
END
$$;

CREATE FUNCTION drop_model(model text) RETURNS void
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C;
COMMENT ON FUNCTION drop_model(text) IS 'remove a model with all its versions';
CREATE FUNCTION fastclust_internal.drop_model_as_owner(caller oid, model text) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    held models := held_model(caller, model, true);
BEGIN
    PERFORM remove_live(l.id) FROM live_sketches l WHERE l.model_id = held.id;
    DELETE FROM models m WHERE m.id = held.id;
END
$$;

CREATE FUNCTION rollback(model text, version integer) RETURNS void
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C;
COMMENT ON FUNCTION rollback(text, integer) IS 'make an old version the one that predict uses';
CREATE FUNCTION fastclust_internal.rollback_as_owner(caller oid, model text, version integer) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    held models := held_model(caller, model, true);
    settings jsonb;
BEGIN
    SELECT v.options INTO settings FROM model_versions v WHERE v.model_id = held.id AND v.version = $3 LIMIT 1;
    IF NOT FOUND THEN
        RAISE undefined_object USING MESSAGE = format('model "%s" has no version %s', $2, $3),
            HINT = format('It has %s.', (SELECT string_agg(v.version::text, ', ' ORDER BY v.version) FROM (SELECT DISTINCT w.version FROM model_versions w WHERE w.model_id = held.id) v));
    END IF;
    UPDATE models m SET version = $3, group_by = settings ->> 'group_by' WHERE m.id = held.id;
END
$$;

-- cluster_names: what people call clusters

CREATE TABLE cluster_names (
    model_id bigint NOT NULL,
    model text NOT NULL,
    group_value text NOT NULL DEFAULT '',
    cluster integer NOT NULL CHECK (cluster >= 0),
    features name[] NOT NULL,
    name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 200 AND name !~ '[\x01-\x1f\x7f]'),
    named_by name NOT NULL,
    named_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (model_id, group_value, cluster),
    FOREIGN KEY (model_id, model) REFERENCES models (id, model) ON DELETE CASCADE ON UPDATE CASCADE);
COMMENT ON TABLE cluster_names IS 'names of clusters, by name_cluster; those who may use a model see them';
COMMENT ON COLUMN cluster_names.model_id IS 'the id of the model';
COMMENT ON COLUMN cluster_names.model IS 'the name of the model';
COMMENT ON COLUMN cluster_names.group_value IS 'the group, as text; empty for a model without groups';
COMMENT ON COLUMN cluster_names.cluster IS 'the number that predict returns';
COMMENT ON COLUMN cluster_names.features IS 'the columns that were clustered then: the name is for clusters of these';
COMMENT ON COLUMN cluster_names.name IS 'the name of the cluster, at most 200 characters';
COMMENT ON COLUMN cluster_names.named_by IS 'the role that named it';
COMMENT ON COLUMN cluster_names.named_at IS 'when it was named';
SELECT pg_catalog.pg_extension_config_dump('cluster_names', '');
ALTER TABLE cluster_names ENABLE ROW LEVEL SECURITY;
CREATE POLICY read ON cluster_names FOR SELECT USING (EXISTS (SELECT FROM models m WHERE m.id = model_id));
GRANT SELECT ON cluster_names TO PUBLIC;

-- The version that serves, or that of one group, whose name then must be given.
CREATE FUNCTION fastclust_internal.explained_version(held models, group_value text) RETURNS model_versions
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    version model_versions;
BEGIN
    IF (held.group_by IS NULL) <> (group_value IS NULL) THEN
        RAISE wrong_object_type USING MESSAGE = CASE WHEN group_value IS NULL THEN format('model "%s" has one model per group', held.model)
                                                     ELSE format('model "%s" has no groups', held.model) END,
            HINT = CASE WHEN group_value IS NULL THEN 'Name one: group_value => ''...''.' ELSE 'Leave out group_value.' END;
    END IF;
    SELECT v.* INTO version FROM model_versions v
     WHERE v.model_id = held.id AND v.version = held.version AND v.group_value = COALESCE(explained_version.group_value, '');
    IF NOT FOUND AND group_value IS NOT NULL THEN
        RAISE undefined_object USING MESSAGE = format('model "%s" has no group "%s"', held.model, group_value),
            HINT = (SELECT format('It has %s%s.', string_agg(format('"%s"', g.group_value), ', ' ORDER BY g.group_value),
                                  CASE WHEN max(g.groups) > 5 THEN format(' and %s more', max(g.groups) - 5) ELSE '' END)
                      FROM (SELECT v.group_value, count(*) OVER () AS groups FROM model_versions v
                             WHERE v.model_id = held.id AND v.version = held.version ORDER BY 1 LIMIT 5) g);
    ELSIF NOT FOUND THEN
        RAISE undefined_object USING MESSAGE = format('model "%s" has no version that serves', held.model);
    END IF;
    RETURN version;
END
$$;

CREATE FUNCTION name_cluster(model text, cluster integer, name text, group_value text DEFAULT NULL) RETURNS void
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C;
COMMENT ON FUNCTION name_cluster(text, integer, text, text) IS 'name a cluster, of a group where there are groups; NULL takes the name away; names stay with their clusters when a model is retrained';
CREATE FUNCTION fastclust_internal.name_cluster_as_owner(caller oid, model text, cluster integer, name text, group_value text) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    held models := held_model(caller, model, true);
    version model_versions := explained_version(held, group_value);
    k integer := clusters(version.operator);
BEGIN
    IF cluster IS NULL THEN
        RAISE null_value_not_allowed USING MESSAGE = 'cluster must not be NULL';
    ELSIF cluster NOT BETWEEN 0 AND k - 1 THEN
        RAISE invalid_parameter_value USING MESSAGE = format('cluster is %s, out of range', cluster),
            DETAIL = format('Model "%s" has clusters 0 to %s.', held.model, k - 1);
    ELSIF char_length(name) NOT BETWEEN 1 AND 200 THEN
        RAISE invalid_parameter_value USING MESSAGE = format('name has %s characters, out of range', char_length(name)),
            DETAIL = 'It may have from 1 to 200.', HINT = 'NULL takes the name away.';
    ELSIF name ~ E'[\\x01-\\x1f\\x7f]' THEN
        RAISE invalid_parameter_value USING MESSAGE = format(E'name holds the control character \\x%s', to_hex(ascii(substring(name FROM E'[\\x01-\\x1f\\x7f]')))),
            DETAIL = 'A name is one line of text.';
    END IF;
    DELETE FROM cluster_names n WHERE n.model_id = held.id AND n.group_value = version.group_value AND n.cluster = $3;
    IF name IS NOT NULL THEN
        INSERT INTO cluster_names (model_id, model, group_value, cluster, features, name, named_by)
        VALUES (held.id, held.model, version.group_value, $3, version.features, $4, pg_get_userbyid(caller));
    END IF;
END
$$;

-- drift_log: what retrain_if_drifted saw, and did

CREATE TYPE column_drift AS (name text, shift double precision, spread double precision);
COMMENT ON TYPE column_drift IS 'the change of a column: of its mean in its standard deviations, and its standard deviation over what it was; to a thousandth';
COMMENT ON COLUMN column_drift.name IS 'the column, or the element of a vector as column[i]';
COMMENT ON COLUMN column_drift.shift IS 'the change of its mean, in its standard deviations';
COMMENT ON COLUMN column_drift.spread IS 'its standard deviation over what it was';

CREATE TABLE drift_log (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    model_id bigint NOT NULL,
    model text NOT NULL,
    version integer NOT NULL,
    relation text NOT NULL,
    n bigint NOT NULL CHECK (n >= 0),
    mmd2 double precision,
    null_sd double precision,
    p_value double precision,
    fit_residual double precision,
    effect double precision,
    verdict text NOT NULL CHECK (verdict IN ('none', 'slight', 'drifted', 'too few rows')),
    columns column_drift[],
    threshold double precision NOT NULL,
    min_effect double precision NOT NULL,
    new_version integer,
    checked_by name NOT NULL,
    checked_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    FOREIGN KEY (model_id, model) REFERENCES models (id, model) ON DELETE CASCADE ON UPDATE CASCADE);
CREATE INDEX ON drift_log (model_id, checked_at);
COMMENT ON TABLE drift_log IS 'the checks of retrain_if_drifted; the columns that drift gives are explained there';
COMMENT ON COLUMN drift_log.id IS 'the order of the checks';
COMMENT ON COLUMN drift_log.n IS 'the number of rows compared';
COMMENT ON COLUMN drift_log.mmd2 IS 'the squared maximum mean discrepancy (MMD) of the rows and the training rows';
COMMENT ON COLUMN drift_log.null_sd IS 'the standard deviation of mmd2 when nothing has changed';
COMMENT ON COLUMN drift_log.p_value IS 'how often chance alone gives such a difference';
COMMENT ON COLUMN drift_log.fit_residual IS 'the part of the sketch that the clusters do not explain';
COMMENT ON COLUMN drift_log.effect IS 'how large the change is, whatever the number of rows';
COMMENT ON COLUMN drift_log.verdict IS 'none, slight, drifted or too few rows';
COMMENT ON COLUMN drift_log.columns IS 'the columns that changed most, largest first';
COMMENT ON COLUMN drift_log.checked_by IS 'the role that asked for the check';
COMMENT ON COLUMN drift_log.checked_at IS 'when the check ended';
COMMENT ON COLUMN drift_log.version IS 'the version that served, whose training rows were compared';
COMMENT ON COLUMN drift_log.relation IS 'the table of the new rows, qualified and quoted';
COMMENT ON COLUMN drift_log.threshold IS 'of the p-value, for this check';
COMMENT ON COLUMN drift_log.min_effect IS 'of the effect, for this check';
COMMENT ON COLUMN drift_log.new_version IS 'the version that was trained because of this check, or NULL';

-- what the logs of a model share; only those who may change it read them
COMMENT ON COLUMN training_log.model_id IS 'the id of the model';
COMMENT ON COLUMN training_log.model IS 'the name of the model';
SELECT pg_catalog.pg_extension_config_dump('training_log', '');
SELECT pg_catalog.pg_extension_config_dump('training_log_id_seq', '');
ALTER TABLE training_log ENABLE ROW LEVEL SECURITY;
CREATE POLICY read ON training_log FOR SELECT USING (may_change_model(model_id));
GRANT SELECT ON training_log TO PUBLIC;
GRANT SELECT ON SEQUENCE training_log_id_seq TO PUBLIC;      -- pg_dump by the owner of a database reads it
COMMENT ON COLUMN drift_log.model_id IS 'the id of the model';
COMMENT ON COLUMN drift_log.model IS 'the name of the model';
SELECT pg_catalog.pg_extension_config_dump('drift_log', '');
SELECT pg_catalog.pg_extension_config_dump('drift_log_id_seq', '');
ALTER TABLE drift_log ENABLE ROW LEVEL SECURITY;
CREATE POLICY read ON drift_log FOR SELECT USING (may_change_model(model_id));
GRANT SELECT ON drift_log TO PUBLIC;
GRANT SELECT ON SEQUENCE drift_log_id_seq TO PUBLIC;      -- pg_dump by the owner of a database reads it

-- A check of drift, for drift_log; who made it, and when, is noted here.
CREATE FUNCTION fastclust_internal.write_drift(checked drift_log) RETURNS void
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C;
CREATE FUNCTION fastclust_internal.write_drift_as_owner(caller oid, d drift_log) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    held models := held_model(caller, d.model_id);
BEGIN
    PERFORM check_version_number(held, v, 1) FROM unnest(ARRAY[d.version, COALESCE(d.new_version, d.version)]) v;
    INSERT INTO drift_log (model_id, model, version, relation, n, mmd2, null_sd, p_value, fit_residual, effect, verdict, columns,
                           threshold, min_effect, new_version, checked_by)
    VALUES (held.id, held.model, d.version, d.relation, d.n, d.mmd2, d.null_sd, d.p_value, d.fit_residual, d.effect, d.verdict, d.columns,
            d.threshold, d.min_effect, d.new_version, pg_get_userbyid(caller));
END
$$;

-- hints: what somebody who wrote a name may have meant

-- The name that was meant, where one is almost the given, and all there are.
CREATE FUNCTION fastclust_internal.name_hint(given text, names text[], what text) RETURNS text
    AS 'MODULE_PATHNAME', 'fastclust_name_hint' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

-- The same without the list where it is long, or NULL.
CREATE FUNCTION fastclust_internal.short_hint(given text, names text[], what text) RETURNS text
    LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, fastclust_internal, pg_temp AS $$
    SELECT CASE WHEN cardinality(names) <= 20 THEN name_hint(given, names, what)
                ELSE substring(name_hint(given, names, what) FROM '^Perhaps you meant "[^"]*"[.]') END
$$;

-- Of a column that is not there.
CREATE FUNCTION fastclust_internal.column_hint(relation regclass, given text) RETURNS text
    LANGUAGE sql STABLE SET search_path = pg_catalog, fastclust_internal, pg_temp AS $$
    SELECT CASE WHEN given LIKE '%,%' AND NOT EXISTS (SELECT FROM unnest(string_to_array(given, ',')) u(name) WHERE trim(u.name) <> ALL (a.names))
                THEN format('Columns are given as a list: ARRAY[%s].', (SELECT string_agg(quote_literal(trim(u.name)), ', ') FROM unnest(string_to_array(given, ',')) u(name)))
                WHEN lower(given) = ANY (a.names) THEN format('Perhaps you meant "%s".', lower(given))
                ELSE COALESCE(short_hint(given, a.names, 'Columns are'), format('It has %s columns.', cardinality(a.names))) END
      FROM (SELECT COALESCE(array_agg(a.attname::text ORDER BY a.attnum), '{}') AS names
              FROM pg_attribute a WHERE a.attrelid = relation AND a.attnum > 0 AND NOT a.attisdropped) a
$$;

-- whose code a scan may run: what training and watching ask before they read a table

-- internal: can only one who reads and superusers change what belongs to this role?
CREATE FUNCTION fastclust_internal.is_trusted_owner(role oid, reader name DEFAULT current_user) RETURNS boolean
    LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT r.rolsuper OR r.rolname = reader
      FROM pg_roles r
     WHERE r.oid = CASE pg_get_userbyid(role) WHEN 'pg_database_owner'
                        THEN (SELECT d.datdba FROM pg_database d WHERE d.datname = current_database()) ELSE role END
$$;

-- Casts of a column run code of its type's owner, who may be the one that wrote the column's name into a stored row.
CREATE FUNCTION fastclust_internal.foreign_type_problem(relation regclass, columns name[], reader name DEFAULT current_user) RETURNS text
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    WITH RECURSIVE part(attname, id) AS (
        SELECT a.attname, a.atttypid FROM pg_attribute a WHERE a.attrelid = relation AND a.attname = ANY (columns)
        UNION SELECT part.attname, u.id
                FROM part JOIN pg_type t ON t.oid = part.id, unnest(ARRAY[t.typbasetype, CASE WHEN t.typcategory = 'A' THEN t.typelem ELSE 0 END]) u(id)
               WHERE u.id <> 0)
    SELECT format('column "%s" of %s is of a type that is not built in', part.attname, relation)
      FROM part JOIN pg_type t ON t.oid = part.id
     WHERE t.typnamespace <> 'pg_catalog'::regnamespace AND NOT (t.typtype IN ('b', 'd', 'e') AND is_trusted_owner(t.typowner, reader)) LIMIT 1
$$;

-- What holds expressions that a scan may evaluate, if only to plan it: the query of a view, indexes, checks, statistics, the keys
-- by which the relation or what it is a part of is partitioned.
CREATE FUNCTION fastclust_internal.expressions_of(relation oid, OUT class oid, OUT id oid) RETURNS SETOF record
    LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT r.tableoid, r.oid FROM pg_class c JOIN pg_rewrite r ON r.ev_class = c.oid WHERE c.oid = relation AND c.relkind = 'v'
    UNION ALL SELECT 'pg_class'::regclass, x.indexrelid FROM pg_index x WHERE x.indrelid = relation
    UNION ALL SELECT o.tableoid, o.oid FROM pg_constraint o WHERE o.conrelid = relation AND o.contype = 'c'
    UNION ALL SELECT s.tableoid, s.oid FROM pg_statistic_ext s WHERE s.stxrelid = relation
    UNION ALL SELECT 'pg_class'::regclass, a.relid FROM pg_partition_ancestors(relation) a JOIN pg_partitioned_table p ON p.partrelid = a.relid
$$;

-- Do the expressions of a relation, or of its children, use what others than the reader may change?
CREATE FUNCTION fastclust_internal.uses_foreign_code(relation regclass, reader name DEFAULT current_user) RETURNS boolean
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    WITH RECURSIVE part(class, id) AS (
        SELECT 'pg_class'::regclass::oid, relation::oid
        UNION SELECT u.class, u.id
                FROM part, LATERAL (SELECT 'pg_class'::regclass::oid, i.inhrelid FROM pg_inherits i WHERE i.inhparent = part.id
                                    UNION ALL SELECT d.refclassid, d.refobjid FROM expressions_of(part.id) e JOIN pg_depend d ON d.classid = e.class AND d.objid = e.id AND d.objsubid = 0
                                     WHERE e.class <> 'pg_class'::regclass OR d.refclassid <> 'pg_class'::regclass) u(class, id)
               WHERE part.class = 'pg_class'::regclass),
    owned(class, id, owner) AS (
        SELECT tableoid, oid, relowner FROM pg_class UNION ALL SELECT tableoid, oid, proowner FROM pg_proc
        UNION ALL SELECT tableoid, oid, oprowner FROM pg_operator UNION ALL SELECT tableoid, oid, typowner FROM pg_type)
    SELECT EXISTS (SELECT FROM part JOIN owned USING (class, id) WHERE is_trusted_owner(owned.owner, reader) IS NOT TRUE)
$$;

-- Whose code may run when a relation is scanned: that of its owner, of its children's, of what its expressions use, and of the schema's,
-- who could put another table under the name between two scans.  NULL: the caller's own or a superuser's only.
CREATE FUNCTION fastclust_internal.foreign_code_problem(relation regclass) RETURNS text
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT CASE
        WHEN NOT EXISTS (SELECT FROM pg_class c WHERE c.oid = relation AND is_trusted_owner(c.relowner))
            THEN format('%s belongs to another role', relation)
        WHEN uses_foreign_code(relation) THEN format('%s uses what belongs to another role', relation)
        WHEN NOT EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                          WHERE c.oid = relation AND is_trusted_owner(n.nspowner))
            THEN format('the schema of %s belongs to another role', relation) END
$$;

-- The same of a scan that casts these columns.
CREATE FUNCTION fastclust_internal.foreign_scan_problem(relation regclass, columns name[]) RETURNS text
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT COALESCE(foreign_code_problem(relation), foreign_type_problem(relation, columns))
$$;

-- A stored row may name a table or columns its writer cannot read, or that run its writer's code: a view, a type, an
-- index predicate that the planner evaluates.  Whoever is not the model's owner scans for it only what the owner may
-- read in full, of built-in types, and of tables that run nobody else's code.
CREATE FUNCTION fastclust_internal.stored_scan_problem(held models, relation regclass, columns name[]) RETURNS text
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    class pg_class;
BEGIN
    SELECT * INTO class FROM pg_class c WHERE c.oid = relation;
    RETURN CASE
        WHEN class.relkind NOT IN ('r', 'p', 'm') THEN format('%s is not a table', relation)
        WHEN class.relrowsecurity THEN format('%s has row-level security', relation)
        WHEN foreign_code_problem(relation) IS NOT NULL THEN foreign_code_problem(relation)
        WHEN NOT EXISTS (SELECT FROM pg_roles r WHERE r.oid = held.owner_id
                            AND has_schema_privilege(r.oid, class.relnamespace, 'USAGE')
                            AND (has_table_privilege(r.oid, class.oid, 'SELECT')
                                 OR (SELECT bool_and(has_column_privilege(r.oid, class.oid, f, 'SELECT')) FROM unnest(columns) f WHERE f IS NOT NULL)))
            THEN format('%s may not read %s', held.owner, relation)
        ELSE foreign_type_problem(relation, columns) END;
END
$$;

-- Is this version the caller's own choice: his model, trained by him or by a superuser?
CREATE FUNCTION fastclust_internal.is_own_choice(held models, version model_versions) RETURNS boolean
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT held.owner_id = r.oid AND is_trusted_owner(version.trained_by_id) FROM pg_roles r WHERE r.rolname = current_user
$$;

-- named: the caller has named the relation, so that only the columns are another's choice.  A superuser scans tables of
-- other roles, who may have put a view in their place, only by name, even for his own model.
CREATE FUNCTION fastclust_internal.check_stored_scan(held models, version model_versions, relation regclass, columns name[], named boolean) RETURNS void
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    own boolean := COALESCE(is_own_choice(held, version), false);
    problem text := CASE WHEN own THEN CASE WHEN NOT named AND (SELECT r.rolsuper FROM pg_roles r WHERE r.rolname = current_user)
                                            THEN foreign_scan_problem(relation, columns) END
                         WHEN named THEN foreign_type_problem(relation, columns)
                         ELSE stored_scan_problem(held, relation, columns) END;
BEGIN
    IF problem IS NOT NULL THEN
        RAISE insufficient_privilege USING MESSAGE = format('model "%s" of %s cannot be scanned for it by %s', held.model, held.owner, current_user),
            DETAIL = upper(left(problem, 1)) || substr(problem, 2) || '.',
            HINT = CASE WHEN own THEN format('Name the table if you trust its owner: relation => %L, or retrain(model, ''{"relation": "..."}'').', relation)
                        ELSE format('SET ROLE %I first.', held.owner) END;
    END IF;
END
$$;

-- The relation that the caller named, or else that of a stored version, checked for the columns the version names.
CREATE FUNCTION fastclust_internal.scanned_relation(held models, version model_versions, named regclass, group_by name) RETURNS regclass
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    relation regclass := COALESCE(named, to_regclass(version.relation));
BEGIN
    IF relation IS NULL THEN
        RAISE undefined_table USING MESSAGE = format('%s, which model "%s" was trained on, does not exist', version.relation, held.model),
            HINT = 'Name another table: relation => ''...'', or the option relation of retrain.';
    END IF;
    PERFORM check_stored_scan(held, version, relation, version.features || group_by || (row_condition(relation, version.options ->> 'where')).columns,
                              named IS NOT NULL);
    RETURN relation;
END
$$;

-- internal: the rows of a table as a training reads them

CREATE TYPE fastclust_internal.row_source AS (
    relation text,              -- qualified and quoted
    features name[], vector boolean, group_by name,
    encoder encoder,            -- NULL for a column of vectors, and until it is learned
    raw text,                   -- the row as an array, in its own units; all expressions are of the alias t
    encoded text,               -- the same in units; NULL without an encoder
    missing text,               -- has the row a NULL?
    complete text,              -- is no number of the row imputed?  NULL where samples take all rows
    group_value text,           -- '' without groups
    filter text,                -- rows without NULL
    heap boolean,               -- rows have places in blocks
    key text,                   -- tells equal rows apart
    part text,                  -- a hash by which rows fall into random parts
    numbers boolean,            -- are all features numbers?
    constant boolean,           -- are all of types whose values no setting of a session changes?
    sparse boolean,             -- are vectors given as a sparsevec?
    leaves text[],              -- tables to aggregate one by one; NULL: the relation as it is
    sharded boolean,            -- do its rows lie on shards of Citus?
    metric text);               -- cosine: rows are brought to length 1 by what reads them; else NULL

-- What rows are measured in: (x - center) / scale, then the features of the map.  NULL: the rows as they are.
CREATE TYPE fastclust_internal.row_units AS (center double precision[], scale double precision[], map kernel_map);

-- The type of a column, or the error that it is not there.
CREATE FUNCTION fastclust_internal.feature_type(relation regclass, feature name) RETURNS regtype
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, fastclust_internal, pg_temp AS $$
DECLARE
    found_type regtype;
BEGIN
    SELECT atttypid INTO found_type FROM pg_attribute
     WHERE attrelid = relation AND attname = feature AND attnum > 0 AND NOT attisdropped;
    IF NOT FOUND THEN
        RAISE undefined_column USING MESSAGE = format('column "%s" of %s does not exist', feature, relation), HINT = column_hint(relation, feature);
    END IF;
    RETURN found_type;
END
$$;

-- The type that a domain is of, or itself.
CREATE FUNCTION fastclust_internal.base_type(value_is regtype) RETURNS regtype
    LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    WITH RECURSIVE base AS (SELECT t.oid, t.typtype, t.typbasetype FROM pg_type t WHERE t.oid = value_is
                            UNION ALL SELECT t.oid, t.typtype, t.typbasetype FROM base b JOIN pg_type t ON t.oid = b.typbasetype WHERE b.typtype = 'd')
    SELECT b.oid::regtype FROM base b WHERE b.typtype <> 'd'
$$;

CREATE FUNCTION fastclust_internal.array_type(value_is regtype) RETURNS boolean
    LANGUAGE sql STABLE SET search_path = pg_catalog, fastclust_internal, pg_temp AS $$
    SELECT t.typcategory = 'A' FROM pg_type t WHERE t.oid = base_type(value_is)
$$;

-- Has each function of a vector a form for values of the type, or of what a domain is of?  Those for pgvector's types are in fastclust_vector.
CREATE FUNCTION fastclust_internal.takes_type(value_is regtype) RETURNS boolean
    LANGUAGE sql STABLE SET search_path = pg_catalog, fastclust_internal, pg_temp AS $$
    SELECT to_regprocedure(format('fastclust_internal.vector_in_units(double precision[], double precision[], %s)', base_type(value_is))) IS NOT NULL
$$;

-- A column that no cast makes a vector, and what would be right.
CREATE FUNCTION fastclust_internal.check_vector_feature(relation regclass, feature name, feature_is regtype) RETURNS void
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, fastclust_internal, pg_temp AS $$
BEGIN
    IF NOT takes_type(feature_is) AND NOT EXISTS (
        WITH RECURSIVE base AS (SELECT t.* FROM pg_type t WHERE t.oid = feature_is
                                UNION ALL SELECT t.* FROM base b JOIN pg_type t ON t.oid = b.typbasetype WHERE b.typtype = 'd')
        SELECT FROM base b
         WHERE b.typcategory = 'A' AND b.typelem = ANY ('{smallint,integer,bigint,real,double precision,numeric}'::regtype[])
            OR EXISTS (SELECT FROM pg_cast c WHERE c.castsource = b.oid AND c.casttarget = 'real[]'::regtype)) THEN
        RAISE datatype_mismatch USING
            MESSAGE = format('column "%s" of %s is of type %s, not a vector', feature, relation, feature_is),
            HINT = format('Columns that are no vectors are given as a list: ARRAY[%L].', feature);
    END IF;
END
$$;

-- Do all rows of a relation, its partitions and children lie in blocks, of this server or of shards?  TimescaleDB compresses chunks, whose
-- blocks then hold other rows.
CREATE FUNCTION fastclust_internal.is_heap(relation regclass) RETURNS boolean
    LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    WITH RECURSIVE tree(id) AS (SELECT relation::oid UNION SELECT i.inhrelid FROM pg_inherits i, tree WHERE i.inhparent = tree.id)
    SELECT bool_and(c.relkind = 'p' OR (c.relkind IN ('r', 'm') AND a.amname = 'heap' AND c.relnamespace::regnamespace::text <> '_timescaledb_internal'))
      FROM tree JOIN pg_class c ON c.oid = tree.id LEFT JOIN pg_am a ON a.oid = c.relam
$$;

CREATE FUNCTION fastclust_internal.check_features(features name[]) RETURNS void
    LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF array_ndims(features) > 1 THEN
        RAISE array_subscript_error USING MESSAGE = format('features must be a one-dimensional array, not one of %s dimensions', array_ndims(features));
    ELSIF COALESCE(cardinality(features), 0) = 0 OR array_position(features, NULL) IS NOT NULL THEN
        RAISE invalid_parameter_value USING MESSAGE = 'features must name at least one column, and no NULL';
    END IF;
END
$$;

-- Columns by name only, quoted.
CREATE FUNCTION fastclust_internal.row_source(relation regclass, features name[], vector boolean, group_by name) RETURNS row_source
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    source row_source;
    feature name;
    feature_is regtype;
BEGIN
    PERFORM check_features(features);
    IF NOT EXISTS (SELECT FROM pg_class c WHERE c.oid = relation) THEN
        RAISE undefined_table USING MESSAGE = format('there is no relation with OID %s', relation::oid);
    ELSIF (SELECT c.relkind NOT IN ('r', 'm', 'p', 'v', 'f') FROM pg_class c WHERE c.oid = relation) THEN
        RAISE wrong_object_type USING MESSAGE = format('%s is not a table or view', relation);
    END IF;
    FOREACH feature IN ARRAY features LOOP
        feature_is := feature_type(relation, feature);
        IF vector THEN
            PERFORM check_vector_feature(relation, feature, feature_is);
        END IF;
    END LOOP;
    source.relation := (SELECT format('%I.%I', CASE c.relpersistence WHEN 't' THEN 'pg_temp' ELSE n.nspname END, c.relname)
                          FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = relation);
    source.features := features;
    source.vector := vector;
    source.group_by := group_by;
    IF group_by IS NOT NULL THEN
        PERFORM feature_type(relation, group_by);
    END IF;
    source.group_value := CASE WHEN group_by IS NULL THEN '''''' ELSE format('t.%I::text COLLATE "C"', group_by) END;
    source.filter := COALESCE((SELECT string_agg(format('t.%I IS NOT NULL', f), ' AND ') FROM unnest(ARRAY[CASE WHEN vector THEN features[1] END, group_by]) f WHERE f IS NOT NULL),
                              'true');
    source.heap := is_heap(relation);
    source.missing := CASE WHEN NOT vector THEN
        (SELECT format('num_nulls(%s) > 0', string_agg(format('t.%I', q.f), ', '))
           FROM (SELECT u.f FROM unnest(features) WITH ORDINALITY u(f, i) JOIN pg_attribute a ON a.attrelid = relation AND a.attname = u.f
                  WHERE NOT a.attnotnull ORDER BY u.i LIMIT 99) q) END;
    IF vector THEN
        source.raw := format('t.%I%s', features[1], CASE WHEN takes_type(feature_is) THEN '' ELSE '::real[]' END);
    END IF;
    source.key := CASE WHEN source.heap THEN 'place_key(t.ctid)' ELSE row_hash(relation, features, source.raw) END;
    source.part := source.key;
    source.leaves := foreign_leaves(relation);
    source.sparse := vector AND source.raw NOT LIKE '%::real[]' AND base_type(feature_is)::text ~ '(^|[.])sparsevec$';
    source.sharded := is_sharded(relation);
    SELECT bool_and(a.atttypid = ANY ('{smallint,integer,bigint,real,double precision,numeric}'::regtype[])),
           bool_and(a.atttypid = ANY ('{smallint,integer,bigint,real,double precision,numeric,boolean,date,time,timestamp,timestamptz,interval,text,varchar,character,
                                        real[],double precision[],integer[],numeric[]}'::regtype[]))
      INTO source.numbers, source.constant FROM pg_attribute a WHERE a.attrelid = relation AND a.attname = ANY (features);
    RETURN source;
END
$$;

-- A condition on rows of the alias t, every name resolved, and the columns it reads; or the error that it may not be one.
CREATE FUNCTION fastclust_internal.row_condition(relation regclass, condition text, OUT condition text, OUT columns name[])
    AS 'MODULE_PATHNAME', 'fastclust_row_condition' LANGUAGE C STABLE STRICT
    SET search_path = pg_catalog, pg_temp SET datestyle = iso SET intervalstyle = postgres SET extra_float_digits = 1;

-- The metric that options ask for by `metric` or `spherical`.
CREATE FUNCTION fastclust_internal.training_metric(metric text, spherical boolean) RETURNS text
    AS 'MODULE_PATHNAME', 'fastclust_training_metric' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.metric_option(options jsonb) RETURNS text
    LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT training_metric(options ->> 'metric', flag_option(options, 'spherical', false))
$$;
CREATE FUNCTION fastclust_internal.is_zero_vector(x real[]) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_is_zero_vector' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.is_zero_vector(x double precision[]) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_is_zero_vector' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.is_zero_vector(x integer[]) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_is_zero_vector' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.is_zero_vector(x numeric[]) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_is_zero_vector' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

-- The rows as the metric of the options takes them.  Those without direction count as missing: what reads rows leaves them out.
CREATE FUNCTION fastclust_internal.with_metric_option(source row_source, options jsonb) RETURNS row_source
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
BEGIN
    IF metric_option(options) = 'euclidean' THEN
        RETURN source;
    ELSIF NOT source.vector THEN
        RAISE feature_not_supported USING MESSAGE = 'the metric cosine is for a column of vectors',
            HINT = 'Columns of numbers are compared in standard deviations; leave option "metric" out, or make a column of vectors of them.';
    ELSIF flag_option(options, 'standardize', false) THEN
        RAISE invalid_parameter_value USING MESSAGE = 'option "standardize" does not go with the metric cosine',
            DETAIL = 'Rows of length 1 are compared as they are.';
    END IF;
    source.metric := 'cosine';
    source.missing := format('is_zero_vector(%s)', source.raw);
    RETURN source;
END
$$;

-- Of the rows only those that the option where lets through, in the metric that the options say.
CREATE FUNCTION fastclust_internal.with_condition(source row_source, options jsonb) RETURNS row_source
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
BEGIN
    IF options ->> 'where' IS NOT NULL THEN
        source.filter := concat_ws(' AND ', source.filter, (row_condition(source.relation::regclass, options ->> 'where')).condition);
    END IF;
    RETURN with_metric_option(source, options);
END
$$;

-- The call that encodes a row.  The encoder is a constant of the query; a function takes at most 100 arguments.
CREATE FUNCTION fastclust_internal.encoding(source row_source, encoder encoder, scaled boolean) RETURNS text
    LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE WHEN cardinality(source.features) <= 98
                THEN format('%s(%L, %L, %s)', CASE WHEN source.constant THEN 'encode_constant' ELSE 'encode_listed' END, encoder, scaled, (SELECT string_agg(format('t.%I', f), ', ' ORDER BY i) FROM unnest(source.features) WITH ORDINALITY u(f, i)))
                ELSE format('encode_row(%L, %L, t.*)', encoder, scaled) END
$$;

-- The rows as an encoder makes numbers of them.  Those with a NULL in a column that is to be skipped are left out.
CREATE FUNCTION fastclust_internal.with_encoder(source row_source, encoder encoder) RETURNS row_source
    LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
BEGIN
    source.encoder := encoder;
    source.raw := encoding(source, encoder, false);
    source.encoded := encoding(source, encoder, true);
    source.filter := concat_ws(' AND ', source.filter, CASE WHEN EXISTS (SELECT FROM encoder_nulls(encoder) n WHERE n.nulls = 'skip') THEN source.raw || ' IS NOT NULL' END);
    RETURN source;
END
$$;

-- The rows of a relation as a version of a model reads them.
CREATE FUNCTION fastclust_internal.source_of_version(version model_versions, relation regclass, group_by name) RETURNS row_source
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT CASE WHEN version.vector THEN s ELSE with_encoder(s, version.encoder) END
      FROM with_condition(row_source(relation, version.features, version.vector, group_by), version.options) s
$$;

-- The row in units, which are $1 of the query.
CREATE FUNCTION fastclust_internal.row_in_units(source row_source, units row_units) RETURNS text
    LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE WHEN units.center IS NULL THEN source.raw
                WHEN source.vector THEN format('vector_in_units(($1).center, ($1).scale, %s)', source.raw)
                ELSE source.encoded END
$$;

-- The same as an operator takes it: its features where there is a map.
CREATE FUNCTION fastclust_internal.row_in_space(source row_source, units row_units) RETURNS text
    LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT CASE WHEN units.map IS NULL THEN row_in_units(source, units)
                ELSE format('kernel_features(($1).map, %s)', row_in_units(source, units)) END
$$;

-- The planner's number of rows.
CREATE FUNCTION fastclust_internal.estimated_rows(source row_source) RETURNS double precision
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    plan jsonb;
BEGIN
    EXECUTE format('EXPLAIN (FORMAT JSON) SELECT 1 FROM %s t WHERE %s', source.relation, source.filter) INTO plan;
    RETURN COALESCE(rows_of_shards(plan), (plan -> 0 -> 'Plan' ->> 'Plan Rows')::float8);
END
$$;

-- FROM and WHERE of all rows of a table; with `wanted` of about so many: an eighth of the rows of eight times as many blocks, or where rows
-- have no places four to eight times as many by their hash, of which an aggregate takes the least.  Where rows are few, these are all as well.
CREATE FUNCTION fastclust_internal.rows_from_table(relation text, source row_source, wanted double precision, estimate double precision, seed bigint)
    RETURNS text
    LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE WHEN source.heap AND estimate > 3 * wanted
                THEN format('FROM %s t TABLESAMPLE SYSTEM (%s) REPEATABLE (%s) WHERE %s AND %s >> 40 & %s = 0', relation,
                            least(100, 100 * spread.n * wanted / estimate), seed, source.filter, source.key, spread.n - 1)
                WHEN NOT source.heap AND share.n > 1 THEN format('FROM %s t WHERE %s AND %s >> 40 & %s = 0', relation, source.filter, source.key, share.n - 1)
                ELSE format('FROM %s t WHERE %s', relation, source.filter) END
      FROM (SELECT CASE WHEN estimate >= 8 * wanted THEN 8 ELSE 1 END AS n) spread,
           (SELECT 1 << greatest(0, least(20, floor(log(2, greatest(1, (estimate / (4 * wanted))::numeric)))))::integer AS n) share
$$;

-- The same of the relation.
CREATE FUNCTION fastclust_internal.rows_from(source row_source, wanted double precision DEFAULT 'infinity', estimate double precision DEFAULT 0,
        seed bigint DEFAULT 0) RETURNS text
    LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT rows_from_table(source.relation, source, wanted, estimate, seed)
$$;

-- internal: tables whose rows lie elsewhere: shards of Citus, foreign tables

-- The planner's number of rows of a distributed table: the mean of the tasks that the plan shows, times their number.  NULL for other plans.
CREATE FUNCTION fastclust_internal.rows_of_shards(plan jsonb) RETURNS double precision
    LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT avg(task.count::float8) * (job.value ->> 'Task Count')::float8
      FROM (SELECT plan #> '{0,Plan,Distributed Query,Job}' AS value) job,
           jsonb_path_query(job.value, '$.Tasks[*]."Remote Plan"[*][*].Plan."Plan Rows"') task(count)
     GROUP BY job.value
$$;

-- A hash of a column that every server computes alike and that postgres_fdw and Citus send to the rows; NULL for other types.
CREATE FUNCTION fastclust_internal.column_hash(feature name, feature_is regtype) RETURNS text
    LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT format(h.call, feature)
      FROM (VALUES ('hashint2extended(t.%I, 0)', '{smallint}'), ('hashint4extended(t.%I, 0)', '{integer}'), ('hashint8extended(t.%I, 0)', '{bigint}'),
                   ('hashfloat4extended(t.%I, 0)', '{real}'), ('hashfloat8extended(t.%I, 0)', '{double precision}'),
                   ('hash_numeric_extended(t.%I, 0)', '{numeric}'), ('uuid_hash_extended(t.%I, 0)', '{uuid}'),
                   ('timestamp_hash_extended(t.%I, 0)', '{timestamp}'), ('hashint4extended(t.%I::integer, 0)', '{boolean}'),
                   ('hashint4extended(t.%I - ''2000-01-01''::date, 0)', '{date}'), ('hashtextextended(t.%I, 0)', '{text,character varying}'),
                   ('hash_array_extended(t.%I, 0)', '{smallint[],integer[],bigint[],real[],double precision[],numeric[]}')) h(call, types)
     WHERE feature_is = ANY (h.types::regtype[])
$$;

-- A hash of a row that does not depend on where it lies: of its features, and of up to eight other columns that are not long, which tell equal
-- ones apart; where it has neither, of its text.
CREATE FUNCTION fastclust_internal.row_hash(relation regclass, features name[], raw text) RETURNS text
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    WITH hashed AS (
        SELECT a.attname, a.attname = ANY (features) AS feature, column_hash(a.attname, a.atttypid) AS call
          FROM pg_attribute a JOIN pg_type y ON y.oid = a.atttypid
         WHERE a.attrelid = relation AND a.attnum > 0 AND NOT a.attisdropped AND (a.attname = ANY (features) OR y.typcategory NOT IN ('A', 'S'))),
    chosen AS (SELECT * FROM hashed WHERE call IS NOT NULL ORDER BY NOT feature, attname::text COLLATE "C" LIMIT cardinality(features) + 8)
    SELECT CASE WHEN count(*) = 0 AND raw IS NULL THEN 'hashtextextended(t::text, 0)'
                ELSE format('hash_array_extended(ARRAY[%s], 0)',
                            concat_ws(', ', string_agg(call, ', ' ORDER BY NOT feature, attname::text COLLATE "C"),
                                      CASE WHEN bool_or(feature) IS NOT TRUE AND raw IS NOT NULL THEN format('hash_array_extended(%s, 0)', CASE WHEN raw LIKE '%::real[]' THEN raw ELSE format('vector_in_units(NULL, NULL, %s)', raw) END) END)) END
      FROM chosen
$$;

-- The tables that hold the rows of a relation, where one of them is foreign: postgres_fdw sends an aggregate over one of these, but never a
-- part of an aggregate over all.  NULL for other relations, whose rows the server or Citus aggregates where they lie.
CREATE FUNCTION fastclust_internal.foreign_leaves(relation regclass) RETURNS text[]
    LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    WITH RECURSIVE tree(id) AS (SELECT relation::oid UNION SELECT i.inhrelid FROM pg_inherits i, tree WHERE i.inhparent = tree.id)
    SELECT CASE WHEN bool_or(c.relkind = 'f') AND count(*) > 1
                THEN array_agg(format(CASE WHEN c.relkind = 'f' THEN '%I.%I' ELSE 'ONLY %I.%I' END, n.nspname, c.relname) ORDER BY c.oid) FILTER (WHERE c.relkind <> 'p') END
      FROM tree JOIN pg_class c ON c.oid = tree.id JOIN pg_namespace n ON n.oid = c.relnamespace
$$;

-- Do rows of a relation, or of what a view reads, lie on shards of Citus?
CREATE FUNCTION fastclust_internal.is_sharded(relation regclass) RETURNS boolean
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    sharded boolean := false;
BEGIN
    IF to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL THEN
        EXECUTE 'WITH RECURSIVE tree(id) AS (
                     SELECT $1::oid
                     UNION
                     SELECT part.id FROM tree, LATERAL (
                         SELECT i.inhrelid FROM pg_inherits i WHERE i.inhparent = tree.id
                         UNION ALL
                         SELECT d.refobjid FROM pg_rewrite r JOIN pg_depend d ON d.classid = ''pg_rewrite''::regclass AND d.objid = r.oid
                          WHERE r.ev_class = tree.id AND d.refclassid = ''pg_class''::regclass) part(id))
                 SELECT EXISTS (SELECT FROM tree JOIN pg_catalog.pg_dist_partition p ON p.logicalrelid = tree.id WHERE p.partmethod <> ''n'')'
            INTO sharded USING relation;
    END IF;
    RETURN sharded;
END
$$;

-- Is the sum of one argument of this type ours alone?  Citus adds up what the shards send by the first such sum of any schema, with the
-- rights of who asks: it might be one that another role has made for that.
CREATE FUNCTION fastclust_internal.is_only_sum(type oid) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_is_only_sum' LANGUAGE C VOLATILE STRICT;

-- The name of an aggregate of rows: over shards that of the sum they are sent (56_shard_sums.sql), unless there is another.
CREATE FUNCTION fastclust_internal.aggregate_over(source row_source, aggregate text) RETURNS text
    LANGUAGE sql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT CASE WHEN source.sharded AND is_only_sum('sketch'::regtype) AND is_only_sum('aggregate_state'::regtype) THEN 'fastclust_internal.sum' ELSE aggregate END
$$;

-- Shards group by hashing, with the memory of the coordinator, as the settings of a function make one node do; false: as they did before.
-- Citus passes on what SET LOCAL sets, for the rest of the transaction; the caller has settings of its own that put the coordinator's back.
CREATE FUNCTION fastclust_internal.hash_on_shards(source row_source, hashing boolean) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    passed_on text := current_setting('citus.propagate_set_commands', true);
BEGIN
    IF NOT source.sharded THEN
        RETURN;
    END IF;
    PERFORM set_config('citus.propagate_set_commands', 'local', true);
    IF hashing THEN
        SET LOCAL enable_sort = off;
        EXECUTE format('SET LOCAL work_mem = %L', current_setting('work_mem'));
    ELSE
        SET LOCAL enable_sort TO DEFAULT;
        SET LOCAL work_mem TO DEFAULT;
    END IF;
    PERFORM set_config('citus.propagate_set_commands', passed_on, true);
END
$$;

-- Each leaf's rows aggregated where they lie.
CREATE FUNCTION fastclust_internal.of_leaves(source row_source, selected text, wanted double precision, estimate double precision, seed bigint, ending text)
    RETURNS text
    LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT string_agg(format('SELECT %s %s %s', selected, rows_from_table(leaf, source, wanted, estimate, seed), ending), ' UNION ALL ')
      FROM unnest(COALESCE(source.leaves, ARRAY[source.relation])) leaf
$$;

-- The same source with rows told apart and sampled by their hashes alone, so that a training does not depend on where they lie.
CREATE FUNCTION fastclust_internal.with_keyed_rows(source row_source) RETURNS row_source
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
BEGIN
    source.heap := false;
    source.key := row_hash(source.relation::regclass, source.features, source.raw);
    source.part := source.key;
    RETURN source;
END
$$;

-- How many rows a training reads: the planner's number, or for keyed samples the exact one, which is the same wherever they lie.
CREATE FUNCTION fastclust_internal.counted_rows(source row_source) RETURNS double precision
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    counted float8;
BEGIN
    EXECUTE format('SELECT sum(q.n) FROM (%s) q', of_leaves(source, 'count(*) AS n', 'infinity', 0, 0, '')) INTO counted;
    RETURN counted;
END
$$;

-- live sketches: sketches that follow their tables
--
--     live_sketches   what is counted: which columns of which table, by which groups and buckets of time
--     live_bases      the sketch of each group and bucket when it was last folded
--     live_deltas     what statements changed since: triggers append to it, nobody changes a row of it
--
-- A sketch of now is base + what came - what went, in integers: exact under every snapshot that shows the table and these three.

CREATE TABLE live_sketches (
    id bigint GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY,
    name text NOT NULL UNIQUE CHECK (name <> ''),
    relation regclass NOT NULL,
    features name[] NOT NULL,
    vector boolean NOT NULL,
    encoder encoder,
    spec sketch_spec NOT NULL,
    group_by name,
    bucket name,
    bucket_width interval,
    half_life interval,
    condition text,
    columns name[] NOT NULL,
    types text[] NOT NULL,
    parts regclass[] NOT NULL,
    model_id bigint UNIQUE,
    created_at timestamptz NOT NULL DEFAULT now(),
    counted_at timestamptz NOT NULL DEFAULT now(),
    folded_at timestamptz,
    checked_at timestamptz,
    differences bigint,
    CHECK (vector OR encoder IS NULL OR encoder_columns(encoder) = features),
    CHECK ((bucket IS NULL) = (bucket_width IS NULL)),
    CHECK (half_life IS NULL OR bucket IS NOT NULL),
    CHECK (cardinality(columns) = cardinality(types)));
COMMENT ON TABLE live_sketches IS 'one row per live sketch: which rows of which table it counts, and how';
COMMENT ON COLUMN live_sketches.id IS 'the identity of the live sketch; a later one of the same name has another';
COMMENT ON COLUMN live_sketches.name IS 'the name of the live sketch';
COMMENT ON COLUMN live_sketches.relation IS 'the table that it follows';
COMMENT ON COLUMN live_sketches.features IS 'the columns that are sketched';
COMMENT ON COLUMN live_sketches.vector IS 'true when features names one column of vectors, false for columns of numbers';
COMMENT ON COLUMN live_sketches.encoder IS 'how the columns of a row become numbers; NULL for a column of vectors, and for numbers as they are';
COMMENT ON COLUMN live_sketches.spec IS 'the spec of the sketches';
COMMENT ON COLUMN live_sketches.group_by IS 'the column each of whose values has a sketch of its own';
COMMENT ON COLUMN live_sketches.bucket IS 'the column of times each of whose buckets has a sketch of its own';
COMMENT ON COLUMN live_sketches.bucket_width IS 'how long a bucket is';
COMMENT ON COLUMN live_sketches.half_life IS 'after which a row weighs half in decayed_sketch; NULL: none';
COMMENT ON COLUMN live_sketches.condition IS 'rows that are counted; NULL: all';
COMMENT ON COLUMN live_sketches.columns IS 'all columns that are read';
COMMENT ON COLUMN live_sketches.types IS 'their types when the rows were counted';
COMMENT ON COLUMN live_sketches.parts IS 'the tables whose rows are in the bases: the table, its partitions and its children';
COMMENT ON COLUMN live_sketches.model_id IS 'the id of the model that it was made for by the option live of train';
COMMENT ON COLUMN live_sketches.created_at IS 'when it was made';
COMMENT ON COLUMN live_sketches.counted_at IS 'when all rows were last counted';
COMMENT ON COLUMN live_sketches.folded_at IS 'when deltas were last folded into the bases';
COMMENT ON COLUMN live_sketches.checked_at IS 'when it was last compared with its table';
COMMENT ON COLUMN live_sketches.differences IS 'how many groups and buckets differed then';

CREATE TABLE live_bases (
    live_id bigint NOT NULL,
    group_value text COLLATE "C" NOT NULL DEFAULT '',
    bucket timestamptz NOT NULL DEFAULT '-infinity',
    s sketch NOT NULL,
    PRIMARY KEY (live_id, group_value, bucket));
COMMENT ON TABLE live_bases IS 'the sketches of live sketches when they were last folded';
COMMENT ON COLUMN live_bases.live_id IS 'the id of the live sketch';
COMMENT ON COLUMN live_bases.group_value IS 'the group, as text; empty without groups';
COMMENT ON COLUMN live_bases.bucket IS 'when the bucket begins; -infinity without buckets';
COMMENT ON COLUMN live_bases.s IS 'the sketch of its rows';

CREATE TABLE live_deltas (
    live_id bigint NOT NULL,
    at timestamptz NOT NULL DEFAULT now(),
    group_value text COLLATE "C",
    bucket timestamptz,
    added_rows bytea,
    removed_rows bytea,
    added sketch,
    removed sketch,
    lost text,
    came regclass,
    went regclass);
ALTER TABLE live_deltas ALTER added_rows SET STORAGE EXTERNAL, ALTER removed_rows SET STORAGE EXTERNAL;
ALTER TABLE live_deltas REPLICA IDENTITY FULL;      -- or a publication of all tables would forbid to fold
CREATE INDEX ON live_deltas (live_id);
ALTER TABLE live_deltas ALTER live_id SET (n_distinct = -0.001);    -- so that the index finds those of one, though another has most
COMMENT ON TABLE live_deltas IS 'what statements changed since the last fold; only the owner of the table sees its rows';
COMMENT ON COLUMN live_deltas.live_id IS 'the id of the live sketch';
COMMENT ON COLUMN live_deltas.at IS 'when the transaction began';
COMMENT ON COLUMN live_deltas.group_value IS 'the group, as text; NULL without groups';
COMMENT ON COLUMN live_deltas.bucket IS 'when the bucket begins; NULL without buckets';
COMMENT ON COLUMN live_deltas.added_rows IS 'rows that came, where they are few';
COMMENT ON COLUMN live_deltas.removed_rows IS 'rows that went, where they are few';
COMMENT ON COLUMN live_deltas.added IS 'the sketch of rows that came, where they are many';
COMMENT ON COLUMN live_deltas.removed IS 'the sketch of rows that went, where they are many';
COMMENT ON COLUMN live_deltas.lost IS 'why a statement could not be followed; NULL: it was';
COMMENT ON COLUMN live_deltas.came IS 'a partition or child that is counted from now on';
COMMENT ON COLUMN live_deltas.went IS 'a partition or child that is counted no more';

SELECT pg_catalog.pg_extension_config_dump('live_sketches', '');
SELECT pg_catalog.pg_extension_config_dump('live_sketches_id_seq', '');
SELECT pg_catalog.pg_extension_config_dump('live_bases', '');
SELECT pg_catalog.pg_extension_config_dump('live_deltas', '');

-- ---- rights: those of the table.  Its owner makes, repairs and drops; who may read the columns reads the sketch ----

CREATE FUNCTION fastclust_internal.owns_relation(caller oid, relation oid) RETURNS boolean
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT COALESCE((SELECT is_member(caller, c.relowner) FROM pg_class c WHERE c.oid = relation),
                    (SELECT r.rolsuper FROM pg_roles r WHERE r.oid = caller), false)
$$;
-- A model makes triggers on no table that its own owner does not own: a stored option of his may be what asks for them.
CREATE FUNCTION fastclust_internal.check_model_follows(held models, relation oid) RETURNS void
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
BEGIN
    IF NOT owns_relation(held.owner_id, relation) THEN
        RAISE insufficient_privilege USING MESSAGE = format('model "%s" of %s cannot follow %s', held.model, held.owner, relation::regclass),
            DETAIL = 'A live model makes triggers on its table, which its owner must own too.', HINT = 'Retrain it with the option {"live": false}.';
    END IF;
END
$$;
CREATE FUNCTION fastclust_internal.may_read_live(caller oid, live live_sketches) RETURNS boolean
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT owns_relation(caller, live.relation)
        OR COALESCE((SELECT NOT c.relrowsecurity AND has_schema_privilege(caller, c.relnamespace, 'USAGE')
                        AND (SELECT bool_and(a.attnum IS NOT NULL AND has_column_privilege(caller, c.oid, a.attnum, 'SELECT'))
                               FROM unnest(live.columns) u(name) LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = u.name AND NOT a.attisdropped)
                       FROM pg_class c WHERE c.oid = live.relation), false)
$$;
CREATE FUNCTION fastclust_internal.may_see_live(live_id bigint) RETURNS boolean
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT EXISTS (SELECT FROM live_sketches l WHERE l.id = live_id)
$$;
ALTER TABLE live_sketches ENABLE ROW LEVEL SECURITY;
CREATE POLICY read ON live_sketches FOR SELECT
    USING (owns_relation((SELECT r.oid FROM pg_catalog.pg_roles r WHERE r.rolname OPERATOR(pg_catalog.=) current_user), relation));
GRANT SELECT ON live_sketches TO PUBLIC;
GRANT SELECT ON SEQUENCE live_sketches_id_seq TO PUBLIC;      -- pg_dump by the owner of a database reads it
ALTER TABLE live_bases ENABLE ROW LEVEL SECURITY;
CREATE POLICY read ON live_bases FOR SELECT USING (may_see_live(live_id));
GRANT SELECT ON live_bases TO PUBLIC;
ALTER TABLE live_deltas ENABLE ROW LEVEL SECURITY;
CREATE POLICY read ON live_deltas FOR SELECT USING (may_see_live(live_id));
GRANT SELECT ON live_deltas TO PUBLIC;

-- ---- the sums ----

CREATE FUNCTION fastclust_internal.live_sum(sketch, sketch_spec, rows bytea, part sketch) RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_live_sum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 500;
CREATE AGGREGATE fastclust_internal.live_sum_agg(spec sketch_spec, rows bytea, part sketch) (SFUNC = live_sum, STYPE = sketch, SSPACE = 16384,
    FINALFUNC = sketch_final, FINALFUNC_MODIFY = READ_ONLY);
CREATE FUNCTION fastclust_internal.live_difference(added sketch, removed sketch) RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_live_difference' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE FUNCTION fastclust_internal.bucket_of_time("time" timestamptz, width bigint) RETURNS timestamptz
    AS 'MODULE_PATHNAME', 'fastclust_bucket_of_time' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.check_live_options(options jsonb) RETURNS void
    AS 'MODULE_PATHNAME', 'fastclust_check_live_options' LANGUAGE C IMMUTABLE;

CREATE TYPE fastclust_internal.live_part AS (group_value text, bucket timestamptz, s sketch);

-- Bounds of both: equal sums, known or not.
CREATE FUNCTION fastclust_internal.same_rows(a sketch, b sketch) RETURNS boolean
    LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT CASE WHEN a IS NULL OR b IS NULL THEN a IS NULL AND b IS NULL ELSE a + b - b = b + a - a END
$$;

-- What came and what went, of each group and bucket.
CREATE FUNCTION fastclust_internal.live_sums(live_id bigint, OUT group_value text, OUT bucket timestamptz, OUT added sketch, OUT removed sketch) RETURNS SETOF record
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT p.group_value, p.bucket, live_sum_agg(l.spec, p.added_rows, p.added), live_sum_agg(l.spec, p.removed_rows, p.removed)
      FROM live_sketches l,
           LATERAL (SELECT b.group_value, b.bucket, NULL::bytea AS added_rows, NULL::bytea AS removed_rows, b.s AS added, NULL::sketch AS removed
                      FROM live_bases b WHERE b.live_id = l.id
                    UNION ALL
                    SELECT COALESCE(d.group_value, ''), COALESCE(d.bucket, '-infinity'), d.added_rows, d.removed_rows, d.added, d.removed
                      FROM live_deltas d WHERE d.live_id = l.id AND d.lost IS NULL) p
     WHERE l.id = $1
     GROUP BY p.group_value, p.bucket
$$;

-- The sketches of now, of those groups and buckets that have rows.
CREATE FUNCTION fastclust_internal.live_parts(live_id bigint) RETURNS SETOF live_part
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT q.* FROM (SELECT p.group_value, p.bucket, live_difference(p.added, p.removed) AS s FROM live_sums(live_id) p) q
     WHERE q.s IS NOT NULL
$$;

-- ---- what is counted of a row ----

-- Microseconds of a bucket.
CREATE FUNCTION fastclust_internal.bucket_microseconds(width interval) RETURNS bigint
    LANGUAGE sql IMMUTABLE STRICT SET search_path = pg_catalog, pg_temp AS $$
    SELECT (extract(day FROM width)::numeric * 86400000000 + extract(hour FROM width)::numeric * 3600000000 + extract(minute FROM width)::numeric * 60000000
            + extract(microseconds FROM width)::numeric)::bigint
$$;

-- The expressions of a live sketch, of the alias t.  A NULL of vector, group_value or bucket: the row is not counted.
CREATE FUNCTION fastclust_internal.live_expressions(live live_sketches, OUT vector text, OUT group_value text, OUT bucket text, OUT filter text)
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    source row_source := row_source(live.relation, live.features, live.vector, live.group_by);
BEGIN
    vector := CASE WHEN live.vector AND (source.raw LIKE '%::real[]' OR array_type(feature_type(live.relation, live.features[1]))) THEN source.raw
                   WHEN live.vector THEN format('vector_in_units(NULL, NULL, %s)', source.raw)
                   WHEN live.encoder IS NOT NULL THEN encoding(source, live.encoder, false)
                   ELSE (SELECT format('CASE WHEN %s THEN ARRAY[%s] END', string_agg(format('t.%I IS NOT NULL', f), ' AND ' ORDER BY i),
                                       string_agg(format('t.%I::float8', f), ', ' ORDER BY i)) FROM unnest(live.features) WITH ORDINALITY u(f, i)) END;
    group_value := CASE WHEN live.group_by IS NOT NULL THEN source.group_value END;
    SELECT format('bucket_of_time(%s, %s)', CASE WHEN a.atttypid = 'timestamptz'::regtype THEN format('t.%I', live.bucket)
                                                 ELSE format('(t.%I::timestamp AT TIME ZONE ''UTC'')', live.bucket) END, bucket_microseconds(live.bucket_width))
      INTO bucket FROM pg_attribute a WHERE a.attrelid = live.relation AND a.attname = live.bucket;
    filter := (row_condition(live.relation, live.condition)).condition;     -- checked again: a stored row is the claim of a role
END
$$;

-- A scan of the relation, or of one of its parts, that counts what the triggers count; $1 is the spec.
CREATE FUNCTION fastclust_internal.live_scan(live live_sketches, tables text) RETURNS text
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT format('SELECT q.* FROM (SELECT %s AS group_value, %s AS bucket, sketch_agg(%s, $1) AS s FROM %s t WHERE %s GROUP BY 1, 2) q'
                  ' WHERE q.s IS NOT NULL AND q.group_value IS NOT NULL AND q.bucket IS NOT NULL',
                  COALESCE(x.group_value, '''''::text'), COALESCE(x.bucket, '''-infinity''::timestamptz'), x.vector, tables, COALESCE(x.filter, 'true'))
      FROM live_expressions(live) x
$$;

-- live sketches: checking, repairing, ending

CREATE FUNCTION fastclust_internal.write_check(name text, differences bigint) RETURNS void
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C;
CREATE FUNCTION fastclust_internal.write_check_as_owner(caller oid, name text, differences bigint) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    held live_sketches := held_live(caller, name);
BEGIN
    UPDATE live_sketches l SET checked_at = clock_timestamp(), differences = write_check_as_owner.differences WHERE l.id = held.id;
END
$$;

-- The same as current_sketches, whatever the state of the table.
CREATE FUNCTION fastclust_internal.kept_parts(name text, OUT group_value text, OUT bucket timestamptz, OUT s sketch) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C STABLE ROWS 100;
CREATE FUNCTION fastclust_internal.kept_parts_as_owner(caller oid, name text, OUT group_value text, OUT bucket timestamptz, OUT s sketch) RETURNS SETOF record
    LANGUAGE plpgsql STABLE ROWS 100 SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
BEGIN
    RETURN QUERY SELECT p.* FROM live_parts((readable_live(caller, name)).id) p;
END
$$;

-- A condition on the groups and buckets of a scan or of the bases, which are of the same names.
CREATE FUNCTION fastclust_internal.one_part(live live_sketches, group_value text, bucket timestamptz) RETURNS text
    LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp SET timezone = 'UTC' SET datestyle = iso AS $$
BEGIN
    PERFORM check_live_part(live, group_value, bucket);
    RETURN concat_ws(' AND ', 'true', CASE WHEN group_value IS NOT NULL THEN format('group_value = %L::text', group_value) END,
                     CASE WHEN bucket IS NOT NULL THEN format('bucket = %L::timestamptz', bucket) END);
END
$$;

CREATE FUNCTION check_sketch(name text, INOUT group_value text DEFAULT NULL, INOUT bucket timestamptz DEFAULT NULL,
        OUT sketched bigint, OUT counted bigint, OUT difference text)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_door' LANGUAGE C ROWS 10;
CREATE FUNCTION fastclust_internal.check_sketch_inside(name text, INOUT group_value text DEFAULT NULL, INOUT bucket timestamptz DEFAULT NULL,
        OUT sketched bigint, OUT counted bigint, OUT difference text)
    RETURNS SETOF record
    LANGUAGE plpgsql ROWS 10 SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp
    SET datestyle = iso SET intervalstyle = postgres SET extra_float_digits = 1 SET timezone = 'UTC' AS $$
DECLARE
    live live_sketches := lock_live(name);
    whole boolean := group_value IS NULL AND bucket IS NULL;
    asked text := one_part(live, group_value, bucket);
    problem text := live_problem(live);
    differences bigint := CASE WHEN problem IS NULL THEN 0 ELSE 1 END;
BEGIN
    IF problem IS NOT NULL THEN
        difference := problem;
        RETURN NEXT;
    END IF;
    IF live_column_problem(live) IS NULL THEN
        PERFORM check_live_scan(live);
        FOR group_value, bucket, sketched, counted, difference IN
            EXECUTE format('SELECT group_value, bucket, COALESCE(row_count(k.s), 0), COALESCE(row_count(q.s), 0),'
                           ' CASE WHEN row_count(k.s) = row_count(q.s) THEN ''values'' ELSE ''number of rows'' END'
                           ' FROM (SELECT * FROM kept_parts($2) WHERE %2$s) k FULL JOIN (SELECT * FROM (%1$s) a WHERE %2$s) q USING (group_value, bucket)'
                           ' WHERE NOT same_rows(k.s, q.s) ORDER BY group_value COLLATE "C", bucket',
                           live_scan(live, live.relation::text), asked) USING live.spec, name LOOP
            group_value := CASE WHEN live.group_by IS NOT NULL THEN group_value END;
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
    IS 'recount the table, or one group or bucket of it, and show where a live sketch differs from it; no row when it does not';

CREATE FUNCTION rebuild_sketch(name text) RETURNS bigint
    AS 'MODULE_PATHNAME', 'fastclust_door' LANGUAGE C;
CREATE FUNCTION fastclust_internal.rebuild_sketch_inside(name text) RETURNS bigint
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    live live_sketches;
BEGIN
    PERFORM check_live_isolation(name);
    live := lock_live(name);
    PERFORM check_live_scan(live);
    IF live_problem(live) IS NOT NULL THEN
        -- only then do writers wait
        EXECUTE format('LOCK TABLE %s IN SHARE ROW EXCLUSIVE MODE', live.relation);
        PERFORM check_live_parent(live.relation), check_live_tables(live);
        PERFORM drop_live_triggers(live.id, NULL);
        PERFORM make_live_triggers(live.id, t.id) FROM live_tables(live.relation) t(id);
    END IF;
    RETURN count_live(live);
END
$$;
COMMENT ON FUNCTION rebuild_sketch(text) IS 'count all rows of a live sketch anew, and make its triggers again where they are missing; the number of rows';

-- internal: all of a live sketch, whoever asks.
CREATE FUNCTION fastclust_internal.forget_live(live_id bigint) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
BEGIN
    DELETE FROM live_deltas d WHERE d.live_id = $1;
    DELETE FROM live_bases b WHERE b.live_id = $1;
    DELETE FROM live_sketches l WHERE l.id = $1;
END
$$;
CREATE FUNCTION fastclust_internal.remove_live(live_id bigint) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
BEGIN
    PERFORM drop_live_triggers(live_id, NULL), forget_live(live_id);
END
$$;

CREATE FUNCTION fastclust_internal.forget_held_live(name text) RETURNS void
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C;
CREATE FUNCTION fastclust_internal.forget_held_live_as_owner(caller oid, name text) RETURNS void
    LANGUAGE sql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT forget_live((held_live(caller, name)).id)
$$;

CREATE FUNCTION fastclust_internal.end_live(name text) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    live live_sketches := lock_live(name);
BEGIN
    PERFORM drop_live_triggers(live.id, NULL);
    PERFORM forget_held_live(name);
END
$$;

CREATE FUNCTION drop_sketch(name text) RETURNS void
    AS 'MODULE_PATHNAME', 'fastclust_door' LANGUAGE C;
CREATE FUNCTION fastclust_internal.drop_sketch_inside(name text) RETURNS void
    LANGUAGE sql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT end_live(name)
$$;
COMMENT ON FUNCTION drop_sketch(text) IS 'end a live sketch: its triggers go, and all that it has counted';

-- A dropped table takes its live sketches with it, whoever drops it.  Outside of the event trigger it is an error.
CREATE FUNCTION fastclust_internal.forget_dropped_as_owner(caller oid) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
BEGIN
    PERFORM forget_live(l.id) FROM pg_event_trigger_dropped_objects() o JOIN live_sketches l ON l.relation::oid = o.objid
      WHERE o.classid = 'pg_class'::regclass AND o.objsubid = 0;
END
$$;
CREATE FUNCTION fastclust_internal.live_dropped() RETURNS event_trigger
    AS 'MODULE_PATHNAME', 'fastclust_live_dropped' LANGUAGE C;
CREATE EVENT TRIGGER fastclust_live_dropped ON sql_drop WHEN TAG IN ('DROP TABLE', 'DROP SCHEMA', 'DROP OWNED', 'DROP EXTENSION')
    EXECUTE FUNCTION live_dropped();
ALTER EVENT TRIGGER fastclust_live_dropped ENABLE ALWAYS;

-- live sketches of lately: buckets of time, weighed when they are read by 2^(-age / half-life)
--
-- Buckets stay sums of integers, whatever their age: rows of any time come, change and go exactly, and no weight ever overflows.  The newest
-- bucket weighs 1, which is forward decay with its landmark moved along.

CREATE FUNCTION fastclust_internal.weighted_merge(sketch, sketch, double precision) RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_weighted_merge' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE fastclust_internal.weighted_merge_agg(part sketch, weight double precision) (SFUNC = weighted_merge, STYPE = sketch, SSPACE = 16384,
    FINALFUNC = sketch_final, FINALFUNC_MODIFY = READ_ONLY);

-- 0 after 40 half-lives: less than the least weight.
CREATE FUNCTION fastclust_internal.weight_of_age(age interval, half_life interval) RETURNS double precision
    LANGUAGE sql IMMUTABLE STRICT SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT CASE WHEN a.half_lives <= 40 THEN power(2.0::float8, -a.half_lives) ELSE 0 END
      FROM (SELECT extract(epoch FROM age)::float8 / extract(epoch FROM half_life)::float8 AS half_lives) a
$$;

-- By way of 2000, from which all times are a bigint of microseconds: the ends of the calendar are farther apart.
CREATE FUNCTION fastclust_internal.age_of_bucket(newest timestamptz, bucket timestamptz) RETURNS interval
    LANGUAGE sql IMMUTABLE STRICT SET search_path = pg_catalog, pg_temp AS $$
    SELECT justify_hours((newest - timestamptz '2000-01-01 00:00+00') + (timestamptz '2000-01-01 00:00+00' - bucket))
$$;

-- Buckets that begin after a moment are left out; without one those of times to come, but for a day in which clocks may differ.
CREATE FUNCTION fastclust_internal.decayed_parts(caller oid, name text, as_of timestamptz, one_group text, by_group boolean, OUT group_value text, OUT s sketch)
    RETURNS SETOF record
    LANGUAGE plpgsql STABLE ROWS 100 SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    live live_sketches := readable_live(caller, name);
BEGIN
    IF live.half_life IS NULL THEN
        RAISE wrong_object_type USING MESSAGE = format('live sketch "%s" has no half-life', name),
            HINT = 'keep_sketch with the options bucket and half_life makes one that has.';
    END IF;
    PERFORM check_live_part(live, one_group, NULL);
    RETURN QUERY
        SELECT q.part, weighted_merge_agg(q.s, weight_of_age(age_of_bucket(q.newest, q.bucket), live.half_life))
          FROM (SELECT g.part, p.bucket, p.s, max(p.bucket) OVER (PARTITION BY g.part) AS newest
                  FROM checked_parts(caller, decayed_parts.name) p, LATERAL (SELECT CASE WHEN by_group AND live.group_by IS NOT NULL THEN p.group_value END) g(part)
                 WHERE (one_group IS NULL OR p.group_value = one_group) AND isfinite(p.bucket) AND p.bucket <= COALESCE(as_of, now() + interval '1 day')) q
         GROUP BY q.part;
END
$$;

CREATE FUNCTION decayed_sketch(name text, as_of timestamptz DEFAULT NULL, group_value text DEFAULT NULL) RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C STABLE;
COMMENT ON FUNCTION decayed_sketch(text, timestamptz, text)
    IS 'the sketch of the rows of lately: those of the newest bucket weigh 1, those a half-life older half; reads no row';
CREATE FUNCTION fastclust_internal.decayed_sketch_as_owner(caller oid, name text, as_of timestamptz, group_value text) RETURNS sketch
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT d.s FROM decayed_parts(caller, name, as_of, group_value, false) d
$$;

-- Of each group, whose newest bucket weighs 1.
CREATE FUNCTION fastclust_internal.decayed_groups(name text, OUT group_value text, OUT s sketch) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C STABLE ROWS 100;
CREATE FUNCTION fastclust_internal.decayed_groups_as_owner(caller oid, name text, OUT group_value text, OUT s sketch) RETURNS SETOF record
    LANGUAGE sql STABLE ROWS 100 SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT d.* FROM decayed_parts(caller, name, NULL, NULL, true) d
$$;

-- live sketches: deltas folded into bases

-- Delete the deltas that are seen, and tell their sums: rows of a group and bucket, of a table, and one of the number of deltas.
CREATE FUNCTION fastclust_internal.take_deltas(live_id bigint, spec sketch_spec, parted boolean, OUT group_value text, OUT bucket timestamptz,
        OUT added sketch, OUT removed sketch, OUT came regclass, OUT went regclass, OUT deltas bigint) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_take_deltas' LANGUAGE C STRICT ROWS 10;

-- What deltas say, into the bases.  Whoever holds the live sketch alone folds it; writers go on, and what they have not committed stays.
CREATE FUNCTION fastclust_internal.fold_live(live_id bigint) RETURNS bigint
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp SET plan_cache_mode = force_generic_plan AS $$
DECLARE
    live live_sketches;
    folded bigint;
    came regclass[];
    went regclass[];
BEGIN
    SELECT * INTO live FROM live_sketches l WHERE l.id = live_id FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN 0;
    END IF;
    WITH gone AS MATERIALIZED (
        SELECT * FROM take_deltas(live.id, live.spec, COALESCE(live.group_by, live.bucket) IS NOT NULL)),
    changed AS (
        SELECT COALESCE(g.group_value, '') AS group_value, COALESCE(g.bucket, '-infinity') AS bucket,
               live_sum_agg(live.spec, NULL, g.added) AS added, live_sum_agg(live.spec, NULL, g.removed) AS removed
          FROM gone g WHERE g.added IS NOT NULL OR g.removed IS NOT NULL GROUP BY 1, 2),
    now AS (
        SELECT c.group_value, c.bucket, live_difference(CASE WHEN b.s IS NULL THEN c.added WHEN c.added IS NULL THEN b.s ELSE b.s + c.added END, c.removed) AS s
          FROM changed c LEFT JOIN live_bases b ON b.live_id = live.id AND b.group_value = c.group_value AND b.bucket = c.bucket),
    emptied AS (
        DELETE FROM live_bases b USING now n WHERE n.s IS NULL AND b.live_id = live.id AND b.group_value = n.group_value AND b.bucket = n.bucket),
    written AS (
        INSERT INTO live_bases AS b (live_id, group_value, bucket, s) SELECT live.id, n.group_value, n.bucket, n.s FROM now n WHERE n.s IS NOT NULL
            ON CONFLICT ON CONSTRAINT live_bases_pkey DO UPDATE SET s = EXCLUDED.s)
    SELECT sum(g.deltas), array_agg(g.came) FILTER (WHERE g.came IS NOT NULL), array_agg(g.went) FILTER (WHERE g.went IS NOT NULL) INTO folded, came, went FROM gone g;
    IF folded > 0 THEN
        UPDATE live_sketches l SET folded_at = clock_timestamp(), parts = CASE WHEN COALESCE(came, went) IS NULL THEN l.parts ELSE tables_after(live.parts, came, went) END
         WHERE l.id = live.id;
    END IF;
    RETURN folded;
END
$$;

-- For whoever writes the table: his statement does not fail where folding does.
CREATE FUNCTION fastclust_internal.try_fold_live(live_id bigint) RETURNS bigint
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
BEGIN
    RETURN fold_live(live_id);
EXCEPTION WHEN OTHERS THEN
    RETURN NULL;
END
$$;

CREATE FUNCTION fold_sketches(name text DEFAULT NULL) RETURNS bigint
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C;
COMMENT ON FUNCTION fold_sketches(text) IS 'merge what changed since into the stored sketches, of one live sketch or of all that the caller owns; the number of changes';
CREATE FUNCTION fastclust_internal.fold_sketches_as_owner(caller oid, name text) RETURNS bigint
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    live live_sketches;
    folded bigint := 0;
BEGIN
    PERFORM reject_read_only('live sketches cannot be made or changed');
    IF name IS NOT NULL THEN
        live := readable_live(caller, name);
        IF NOT owns_relation(caller, live.relation) THEN
            RAISE insufficient_privilege USING MESSAGE = format('live sketch "%s" belongs to the owner of %s', name, live.relation);
        END IF;
        RETURN fold_live(live.id);
    END IF;
    FOR live IN SELECT * FROM live_sketches l WHERE owns_relation(caller, l.relation) ORDER BY l.id LOOP
        -- one that cannot be folded is its owner's trouble, not that of the others
        BEGIN
            folded := folded + fold_live(live.id);
        EXCEPTION WHEN OTHERS THEN
            RAISE WARNING USING MESSAGE = format('live sketch "%s" cannot be folded: %s', live.name, SQLERRM), HINT = 'rebuild_sketch counts it anew.';
        END;
    END LOOP;
    RETURN folded;
END
$$;

-- live sketches: keep_sketch

-- Text of these does not depend on settings, or on who may rename what.
CREATE FUNCTION fastclust_internal.check_live_group(relation regclass, group_by name) RETURNS void
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    group_is regtype := CASE WHEN group_by IS NOT NULL THEN feature_type(relation, group_by) END;
BEGIN
    IF group_is IS NOT NULL AND group_is <> ALL ('{text,varchar,bpchar,name,smallint,integer,bigint,numeric,boolean,uuid}'::regtype[]) THEN
        RAISE feature_not_supported USING MESSAGE = format('a live sketch cannot be grouped by column "%s" of type %s', group_by, group_is),
            HINT = 'Group by text, whole numbers, booleans or uuid; times go into buckets.';
    END IF;
END
$$;

-- An option that is a span of time of one length, whatever the calendar says; NULL: not given.
CREATE FUNCTION fastclust_internal.span_option(options jsonb, option text) RETURNS interval
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
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

-- How long buckets are: days, or an eighth of a half-life where that is less.
CREATE FUNCTION fastclust_internal.live_bucket_width(relation regclass, options jsonb) RETURNS interval
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    bucket name := options ->> 'bucket';
    half_life interval := span_option(options, 'half_life');
    width interval := span_option(options, 'bucket_width');
    bucket_is regtype;
    idle text;
BEGIN
    IF bucket IS NULL THEN
        idle := CASE WHEN half_life IS NOT NULL THEN 'half_life' WHEN width IS NOT NULL THEN 'bucket_width' END;
        IF idle IS NOT NULL THEN
            RAISE invalid_parameter_value USING MESSAGE = format('option "%s" needs option "bucket", a column of times', idle);
        END IF;
        RETURN NULL;
    END IF;
    bucket_is := feature_type(relation, bucket);
    IF bucket_is <> ALL ('{date,timestamp,timestamptz}'::regtype[]) THEN
        RAISE datatype_mismatch USING MESSAGE = format('column "%s" of %s is of type %s, not a time', bucket, relation, bucket_is);
    END IF;
    RETURN COALESCE(width, greatest(least('1 day', half_life / 8), '1 microsecond'));
END
$$;

-- Columns become as many numbers as the spec sketches: else each row written later would be an error.
CREATE FUNCTION fastclust_internal.check_live_dimension(live live_sketches) RETURNS void
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    numbers integer := COALESCE(dim(live.encoder), cardinality(live.features));
    sketched integer := describe(live.spec) ->> 'dim';
BEGIN
    IF numbers <> sketched THEN
        RAISE invalid_parameter_value USING MESSAGE = format('the features have %s dimension%s, but the sketch_spec has %s', numbers, CASE WHEN numbers > 1 THEN 's' END, sketched),
            HINT = format('sketch_spec(%s, ...) makes one that fits, and sketch_spec_agg of these columns.', numbers);
    END IF;
END
$$;

-- What the arguments of keep_sketch ask for, checked.
CREATE FUNCTION fastclust_internal.asked_live(name text, relation regclass, features name[], vector boolean, spec sketch_spec, options jsonb) RETURNS live_sketches
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    live live_sketches;
    source row_source;
    read_by_condition name[] := '{}';
BEGIN
    PERFORM check_live_options(options);
    IF COALESCE(name, '') = '' THEN
        RAISE invalid_parameter_value USING MESSAGE = 'name must not be NULL or empty';
    ELSIF relation IS NULL OR spec IS NULL THEN
        RAISE null_value_not_allowed USING MESSAGE = format('%s must not be NULL', CASE WHEN relation IS NULL THEN 'relation' ELSE 'spec' END);
    ELSIF (SELECT c.relkind NOT IN ('r', 'p') FROM pg_class c WHERE c.oid = relation) THEN
        RAISE wrong_object_type USING MESSAGE = format('%s is not a table', relation), HINT = 'A live sketch follows a table, plain or partitioned.';
    END IF;
    PERFORM check_features(features);
    IF cardinality(features) > (SELECT count(DISTINCT f) FROM unnest(features) f) THEN
        RAISE duplicate_column USING MESSAGE = format('column "%s" is named twice', (SELECT f FROM unnest(features) f GROUP BY f HAVING count(*) > 1 ORDER BY f LIMIT 1));
    END IF;
    live.name := name;
    live.relation := relation;
    live.features := features;
    live.vector := vector;
    live.spec := without_pilot_rows(spec);
    live.group_by := options ->> 'group_by';
    live.bucket := options ->> 'bucket';
    source := row_source(relation, features, vector, live.group_by);
    PERFORM check_live_group(relation, live.group_by);
    live.bucket_width := live_bucket_width(relation, options);
    live.half_life := span_option(options, 'half_life');
    IF vector AND options ->> 'encoder' IS NOT NULL THEN
        RAISE invalid_parameter_value USING MESSAGE = format('option "encoder" is for a list of columns, not for the vectors of column "%s"', features[1]);
    ELSIF NOT vector THEN
        live.encoder := (options ->> 'encoder')::encoder;
        IF live.encoder IS NULL AND NOT source.numbers THEN
            RAISE datatype_mismatch USING MESSAGE = format('not all features of %s are numbers', relation),
                HINT = 'Give an encoder: {"encoder": ...}, its text form, or train a model with the option live.';
        ELSIF live.encoder IS NOT NULL AND encoder_columns(live.encoder) <> features THEN
            RAISE invalid_parameter_value USING MESSAGE = 'the encoder is not one of the features',
                DETAIL = format('It encodes %s.', array_to_string(encoder_columns(live.encoder), ', '));
        END IF;
        PERFORM check_live_dimension(live);
    END IF;
    IF options ->> 'where' IS NOT NULL THEN
        SELECT c.condition, c.columns INTO live.condition, read_by_condition FROM row_condition(relation, options ->> 'where') c;
    END IF;
    live.columns := ARRAY(SELECT DISTINCT u.column_name COLLATE "C" FROM unnest(features || live.group_by || live.bucket || read_by_condition) u(column_name)
                           WHERE u.column_name IS NOT NULL ORDER BY 1);
    live.types := live_types(live);
    RETURN live;
END
$$;

-- The types of the columns today.
CREATE FUNCTION fastclust_internal.live_types(live live_sketches) RETURNS text[]
    LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT array_agg(format_type(a.atttypid, a.atttypmod) ORDER BY u.i)
      FROM unnest(live.columns) WITH ORDINALITY u(name, i) LEFT JOIN pg_attribute a ON a.attrelid = live.relation AND a.attname = u.name AND NOT a.attisdropped
$$;

-- Rows must be seen as of now, not as of the begin of the transaction.
CREATE FUNCTION fastclust_internal.check_live_isolation(name text) RETURNS void
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
        RAISE active_sql_transaction USING MESSAGE = format('live sketch "%s" cannot be counted in a transaction of isolation level %s', name, current_setting('transaction_isolation')),
            HINT = 'Do it at READ COMMITTED, which sees what others have committed meanwhile.';
    END IF;
END
$$;

-- Distributed tables, reference tables, and local ones that Citus manages: the rows of all are in shards.
CREATE FUNCTION fastclust_internal.is_citus_table(relation regclass) RETURNS boolean
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    found_table boolean := false;
BEGIN
    IF to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL THEN
        EXECUTE 'SELECT EXISTS (SELECT FROM pg_catalog.pg_dist_partition p WHERE p.logicalrelid = $1)' INTO found_table USING relation;
    END IF;
    RETURN found_table;
END
$$;

-- Hypertables of TimescaleDB and their chunks.  Its catalog is read only where the extension itself made it.
CREATE FUNCTION fastclust_internal.is_hypertable(relation regclass) RETURNS boolean
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    found_table boolean := false;
BEGIN
    IF (SELECT count(*) = 2 FROM pg_depend d JOIN pg_extension e ON e.oid = d.refobjid AND e.extname = 'timescaledb'
         WHERE d.deptype = 'e' AND d.refclassid = 'pg_extension'::regclass AND d.classid = 'pg_class'::regclass
           AND d.objid IN (to_regclass('_timescaledb_catalog.hypertable'), to_regclass('_timescaledb_catalog.chunk'))) THEN
        EXECUTE 'SELECT EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace'
                '  JOIN (SELECT schema_name, table_name FROM _timescaledb_catalog.hypertable UNION ALL SELECT schema_name, table_name FROM _timescaledb_catalog.chunk) t'
                '    ON t.schema_name = n.nspname AND t.table_name = c.relname WHERE c.oid = $1)' INTO found_table USING relation;
    END IF;
    RETURN found_table;
END
$$;

-- The tables of fastclust itself.
CREATE FUNCTION fastclust_internal.is_own_table(relation regclass) RETURNS boolean
    LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT EXISTS (SELECT FROM pg_depend d JOIN pg_extension e ON e.oid = d.refobjid AND e.extname = 'fastclust'
                    WHERE d.deptype = 'e' AND d.refclassid = 'pg_extension'::regclass AND d.classid = 'pg_class'::regclass AND d.objid = relation)
$$;

-- A table and its parts whose every change fires triggers, and outlives what changed it.
CREATE FUNCTION fastclust_internal.check_live_tables(live live_sketches) RETURNS void
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    part record;
    reason text;
BEGIN
    FOR part IN SELECT c.oid::regclass AS id, c.* FROM live_tables(live.relation) t(id) JOIN pg_class c ON c.oid = t.id LOOP
        reason := CASE WHEN part.relkind NOT IN ('r', 'p') THEN 'It is not a table of this server.'
                       WHEN part.relnamespace = 'pg_catalog'::regnamespace THEN 'It is a catalog of the server.'
                       WHEN is_own_table(part.id) THEN 'It is a table of fastclust itself.'
                       WHEN is_citus_table(part.id) THEN 'Its rows are in shards of Citus, where statements fire none of its triggers.'
                       WHEN is_hypertable(part.id) THEN 'It is a hypertable of TimescaleDB, or a chunk of one.'
                       WHEN part.relpersistence = 't' THEN 'It is a temporary table.'
                       WHEN part.relpersistence = 'u' THEN 'It is unlogged: a crash empties it.'
                       WHEN row_security_active(part.id) THEN 'Row-level security hides rows of it from its owner.'
                       WHEN EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = part.id AND a.attname = ANY (live.columns) AND a.attgenerated = 'v')
                           THEN 'A virtual column is not there when a row is written.' END;
        IF reason IS NOT NULL THEN
            RAISE feature_not_supported USING MESSAGE = format('%s cannot be followed by a live sketch', part.id), DETAIL = reason,
                HINT = CASE WHEN is_hypertable(part.id)
                            THEN 'Keep sketch_agg of each bucket in a continuous aggregate, and read merge_agg of it.'
                            WHEN part.relkind NOT IN ('r', 'p') OR is_citus_table(part.id)
                            THEN 'Keep a table with a sketch_agg of each hour or day, renew what changed, and read merge_agg of it.'
                            ELSE 'A live sketch follows a logged table that shows its owner all rows.' END;
        END IF;
    END LOOP;
END
$$;

CREATE FUNCTION fastclust_internal.check_live_parent(relation regclass) RETURNS void
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    child regclass;
    parent regclass;
BEGIN
    SELECT p.part, p.parent INTO child, parent FROM live_parent(relation) p;
    IF parent IS NOT NULL THEN
        RAISE feature_not_supported USING MESSAGE = format('%s cannot be followed by a live sketch', relation),
            DETAIL = format('%s is a part of %s: a statement on that fires none of its triggers.', CASE WHEN child = relation THEN 'It' ELSE child::text END, parent),
            HINT = CASE WHEN child = relation THEN format('Follow %s; the options where and group_by tell its rows apart.', parent)
                        ELSE 'A table is followed with its children where these have no parent besides.' END;
    END IF;
END
$$;

-- Whoever is not the owner of the table did not choose its code: see stored_scan_problem.
CREATE FUNCTION fastclust_internal.check_live_scan(live live_sketches) RETURNS void
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    owner name := (SELECT pg_get_userbyid(c.relowner) FROM pg_class c WHERE c.oid = live.relation);
    problem text := CASE WHEN owner <> current_user OR (SELECT r.rolsuper FROM pg_roles r WHERE r.rolname = current_user)
                         THEN foreign_scan_problem(live.relation, live.columns) END;
BEGIN
    IF problem IS NOT NULL THEN
        RAISE insufficient_privilege USING MESSAGE = format('live sketch "%s" cannot be counted by %s', live.name, current_user),
            DETAIL = upper(left(problem, 1)) || substr(problem, 2) || '.', HINT = format('SET ROLE %I first.', owner);
    ELSIF row_security_active(live.relation) THEN
        RAISE feature_not_supported USING MESSAGE = format('live sketch "%s" cannot be counted by %s', live.name, current_user),
            DETAIL = format('Row-level security hides rows of %s.', live.relation), HINT = 'Triggers count all rows: NO FORCE ROW LEVEL SECURITY shows them to the owner.';
    END IF;
END
$$;

-- Count all rows.  One query sees the rows and the deltas that speak of them; writers need not wait.
CREATE FUNCTION fastclust_internal.count_live(live live_sketches) RETURNS bigint
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp
    SET datestyle = iso SET intervalstyle = postgres SET extra_float_digits = 1 SET timezone = 'UTC' AS $$
DECLARE
    counted live_count;
BEGIN
    EXECUTE format('SELECT open_deltas($2), array_agg(ROW(q.group_value, q.bucket, q.s)::live_part), live_types($3), ARRAY(SELECT t::regclass FROM live_tables(($3).relation) t)'
                   ' FROM (%s) q', live_scan(live, live.relation::text))
        INTO counted USING live.spec, live.name, live;
    PERFORM write_bases(live.name, counted);
    RETURN (SELECT COALESCE(sum(row_count(p.s)), 0) FROM unnest(counted.parts) p);
END
$$;

CREATE FUNCTION fastclust_internal.keep_live(asked live_sketches) RETURNS bigint
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    live live_sketches;
BEGIN
    PERFORM check_live_isolation(asked.name);
    IF NOT owns_relation((SELECT r.oid FROM pg_roles r WHERE r.rolname = current_user), asked.relation) THEN
        RAISE insufficient_privilege USING MESSAGE = format('must be owner of %s', asked.relation);
    END IF;
    EXECUTE format('LOCK TABLE %s IN SHARE ROW EXCLUSIVE MODE', asked.relation);
    PERFORM check_live_parent(asked.relation), check_live_tables(asked);
    asked.parts := ARRAY(SELECT t::regclass FROM live_tables(asked.relation) t);
    live := claim_live(asked);
    PERFORM make_live_triggers(live.id, t.id) FROM live_tables(live.relation) t(id);
    RETURN count_live(live);
END
$$;

CREATE FUNCTION keep_sketch(name text, relation regclass, features name, spec sketch_spec, options jsonb DEFAULT '{}') RETURNS bigint
    AS 'MODULE_PATHNAME', 'fastclust_door' LANGUAGE C;
CREATE FUNCTION fastclust_internal.keep_sketch_inside(name text, relation regclass, features name, spec sketch_spec, options jsonb DEFAULT '{}') RETURNS bigint
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
BEGIN
    RETURN keep_live(asked_live(name, relation, ARRAY[features], true, spec, options));
END
$$;
COMMENT ON FUNCTION keep_sketch(text, regclass, name, sketch_spec, jsonb) IS 'make a sketch of a column of vectors that follows every change of its table; the number of rows';

CREATE FUNCTION keep_sketch(name text, relation regclass, features name[], spec sketch_spec, options jsonb DEFAULT '{}') RETURNS bigint
    AS 'MODULE_PATHNAME', 'fastclust_door' LANGUAGE C;
CREATE FUNCTION fastclust_internal.keep_sketch_inside(name text, relation regclass, features name[], spec sketch_spec, options jsonb DEFAULT '{}') RETURNS bigint
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
BEGIN
    RETURN keep_live(asked_live(name, relation, features, false, spec, options));
END
$$;
COMMENT ON FUNCTION keep_sketch(text, regclass, name[], sketch_spec, jsonb) IS 'make a sketch of columns that follows every change of their table; the number of rows';

-- live sketches follow partitions and children: what comes is counted, and what goes is counted down, in the transaction of the DDL
--
-- It is exact because ATTACH and DETACH keep writers out of the partition until their transaction ends.  Where they do not
-- (DETACH CONCURRENTLY), or the rows cannot be counted, the live sketch has lost its table until rebuild_sketch.  DDL never fails by it,
-- and waits for nobody: what it has to say are rows of live_deltas, like any other change.

CREATE FUNCTION fastclust_internal.keeps_writers_out(relation regclass) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_keeps_writers_out' LANGUAGE C STRICT;

-- Tables that are counted and no part any more, or the other way round, of live sketches near the tables of the DDL.  Outside of an event
-- trigger it is an error.  Deltas are read of those near alone: whoever has many must not slow the DDL of others.
CREATE FUNCTION fastclust_internal.changed_parts(OUT live_id bigint, OUT part oid, OUT came boolean) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C ROWS 10;
CREATE FUNCTION fastclust_internal.changed_parts_as_owner(caller oid, OUT live_id bigint, OUT part oid, OUT came boolean) RETURNS SETOF record
    LANGUAGE plpgsql ROWS 10 SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
BEGIN
    RETURN QUERY
        WITH RECURSIVE told AS (SELECT c.objid AS id FROM pg_event_trigger_ddl_commands() c WHERE c.classid = 'pg_class'::regclass),
        near AS (SELECT told.id FROM told UNION SELECT i.inhparent FROM pg_inherits i JOIN told ON i.inhrelid = told.id),
        above AS (SELECT near.id FROM near UNION SELECT i.inhparent FROM pg_inherits i JOIN above ON i.inhrelid = above.id),
        followed AS (SELECT l AS live FROM live_sketches l
                      WHERE l.relation IN (SELECT above.id FROM above) OR l.parts::oid[] && ARRAY(SELECT near.id FROM near)
                         OR EXISTS (SELECT FROM near JOIN pg_trigger g ON g.tgrelid = near.id AND g.tgfoid = 'live_change()'::regprocedure
                                     WHERE g.tgname = format('fastclust_live_%s_insert', l.id)))
        SELECT (f.live).id, p.id, p.present
          FROM followed f,
               LATERAL (SELECT COALESCE(t.id, c.id) AS id, t.id IS NOT NULL AS present
                          FROM live_tables((f.live).relation) t(id) FULL JOIN counted_tables(f.live) c(id) ON c.id = t.id
                         WHERE t.id IS NULL OR c.id IS NULL) p;
END
$$;

-- Append what came or went with a table.
CREATE FUNCTION fastclust_internal.write_part(live_id bigint, part oid, came boolean, counted live_part[]) RETURNS void
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C;
CREATE FUNCTION fastclust_internal.write_part_as_owner(caller oid, live_id bigint, part oid, came boolean, counted live_part[]) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    live live_sketches;
BEGIN
    SELECT * INTO live FROM live_sketches l WHERE l.id = $2;
    IF live.id IS NULL OR NOT owns_relation(caller, live.relation) THEN
        RAISE insufficient_privilege USING MESSAGE = 'must be owner of the table of the live sketch';
    END IF;
    IF $4 IS DISTINCT FROM (part IN (SELECT t.id FROM live_tables(live.relation) t(id))) OR $4 = (part IN (SELECT c.id FROM counted_tables(live) c(id))) THEN
        RAISE invalid_parameter_value USING MESSAGE = format('table %s does not %s live sketch "%s"', part::regclass, CASE WHEN $4 THEN 'come to' ELSE 'go from' END, live.name);
    END IF;
    PERFORM check_live_parts(live, counted);
    INSERT INTO live_deltas (live_id, came, went) VALUES (live.id, CASE WHEN $4 THEN part END, CASE WHEN NOT $4 THEN part END);
    INSERT INTO live_deltas (live_id, group_value, bucket, added, removed)
        SELECT live.id, p.group_value, p.bucket, CASE WHEN $4 THEN p.s END, CASE WHEN NOT $4 THEN p.s END FROM unnest(counted) p;
END
$$;

-- A table that comes or goes uncounted, told once; true when it had not been told.  Of one that came the parent counts what is written
-- through it, so that it is not made good by going again.
CREATE FUNCTION fastclust_internal.lose_part(live_id bigint) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C;
CREATE FUNCTION fastclust_internal.lose_part_as_owner(caller oid, live_id bigint) RETURNS boolean
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
BEGIN
    INSERT INTO live_deltas (live_id, lost)
        SELECT c.live_id, format('table %s %s', c.part::regclass, CASE WHEN c.came THEN 'came, and its rows could not be counted'
                                                                            ELSE 'went, and its rows could not be counted down' END)
          FROM changed_parts_as_owner(caller) c
         WHERE c.live_id = $2 AND told_loss($2) IS NULL ORDER BY c.came, c.part LIMIT 1;
    RETURN FOUND;
END
$$;

-- A followed table, or a part of one, that became a part of another, told once.
CREATE FUNCTION fastclust_internal.lose_children(caller oid) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    child record;
BEGIN
    FOR child IN WITH RECURSIVE told AS (SELECT c.objid AS id FROM pg_event_trigger_ddl_commands() c WHERE c.classid = 'pg_class'::regclass),
                 above AS (SELECT told.id FROM told UNION SELECT i.inhparent FROM pg_inherits i JOIN above ON i.inhrelid = above.id)
                 SELECT l.id, l.name, l.relation, p.part, p.parent FROM live_sketches l, LATERAL live_parent(l.relation) p
                  WHERE p.parent IS NOT NULL AND (l.relation IN (SELECT above.id FROM above)
                        OR EXISTS (SELECT FROM pg_inherits i JOIN told ON i.inhparent = told.id WHERE i.inhrelid = l.relation)) ORDER BY l.id LOOP
        CONTINUE WHEN told_loss(child.id) IS NOT NULL;
        INSERT INTO live_deltas (live_id, lost) VALUES (child.id, format('table %s became a part of %s', child.part, child.parent));
        IF owns_relation(caller, child.relation) THEN
            RAISE WARNING USING MESSAGE = format('live sketch "%s" has lost its table', child.name),
                DETAIL = format('%s is a part of %s now, and a statement on that fires none of its triggers.', child.part, child.parent),
                HINT = CASE WHEN child.part = child.relation THEN format('Follow %s.', child.parent) ELSE 'A table is followed with its children where these have no parent besides.' END;
        END IF;
    END LOOP;
END
$$;

-- A counted table that a crash may empty from now on, told once.
CREATE FUNCTION fastclust_internal.lose_unlogged(caller oid) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    unlogged record;
BEGIN
    FOR unlogged IN SELECT l.id, l.name, l.relation, c.objid::regclass AS part
                      FROM pg_event_trigger_ddl_commands() c JOIN pg_class p ON p.oid = c.objid AND p.relpersistence = 'u'
                      JOIN pg_trigger g ON g.tgrelid = p.oid AND g.tgfoid = 'live_change()'::regprocedure
                      JOIN live_sketches l ON g.tgname = format('fastclust_live_%s_insert', l.id)
                     WHERE c.classid = 'pg_class'::regclass AND c.objid IN (SELECT t.id FROM live_tables(l.relation) t(id)) ORDER BY l.id LOOP
        CONTINUE WHEN told_loss(unlogged.id) IS NOT NULL;
        INSERT INTO live_deltas (live_id, lost) VALUES (unlogged.id, format('table %s became unlogged', unlogged.part));
        IF owns_relation(caller, unlogged.relation) THEN
            RAISE WARNING USING MESSAGE = format('live sketch "%s" has lost its table', unlogged.name),
                DETAIL = format('%s is unlogged now: a crash empties it.', unlogged.part), HINT = 'SET LOGGED and rebuild_sketch follow it again.';
        END IF;
    END LOOP;
END
$$;

-- Has the caller anything to count?  What a role without a right to these functions brings or takes away is lost.
CREATE FUNCTION fastclust_internal.parts_to_follow(caller oid) RETURNS boolean
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
BEGIN
    PERFORM lose_children(caller), lose_unlogged(caller);
    IF has_schema_privilege(caller, '@extschema@', 'USAGE') AND has_schema_privilege(caller, 'fastclust_internal', 'USAGE') THEN
        RETURN EXISTS (SELECT FROM changed_parts_as_owner(caller));
    END IF;
    PERFORM lose_part_as_owner(caller, c.live_id) FROM changed_parts_as_owner(caller) c;
    RETURN false;
END
$$;

-- Count a table that came, or count it down.
CREATE FUNCTION fastclust_internal.count_part(live live_sketches, part regclass, came boolean) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp
    SET datestyle = iso SET intervalstyle = postgres SET extra_float_digits = 1 SET timezone = 'UTC' AS $$
DECLARE
    same live_sketches := live;
    counted live_part[];
BEGIN
    same.relation := part;
    PERFORM check_live_tables(same), check_live_scan(live), check_live_scan(same);
    EXECUTE format('SELECT array_agg(ROW(q.group_value, q.bucket, q.s)::live_part) FROM (%s) q', live_scan(live, 'ONLY ' || part)) INTO counted USING live.spec;
    IF came THEN
        PERFORM make_live_triggers(live.id, part);
    ELSE
        PERFORM drop_live_triggers(live.id, part);
    END IF;
    PERFORM write_part(live.id, part, came, counted);
END
$$;

-- Of each live sketch whose parts the DDL changed.  alone: no writer was let in meanwhile.
CREATE FUNCTION fastclust_internal.follow_parts(alone boolean) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    changed record;
    live live_sketches;
    problem text;
BEGIN
    alone := alone AND current_setting('transaction_isolation') IN ('read committed', 'read uncommitted');     -- or rows of others are not seen
    FOR changed IN SELECT c.live_id, bool_and(c.came OR keeps_writers_out(c.part)) AS countable,
                          array_agg(c.part ORDER BY c.part) AS parts, array_agg(c.came ORDER BY c.part) AS came
                     FROM changed_parts() c WHERE NOT c.came OR keeps_writers_out(c.part) GROUP BY 1 ORDER BY 1 LOOP
        SELECT * INTO live FROM live_sketches l WHERE l.id = changed.live_id;       -- its owner sees it
        problem := CASE WHEN live.id IS NULL THEN 'it is of another role'
                        WHEN NOT alone OR NOT changed.countable THEN 'others may write it meanwhile' END;
        IF problem IS NULL THEN
            BEGIN
                PERFORM count_part(live, p.id, p.came) FROM unnest(changed.parts, changed.came) p(id, came);
            EXCEPTION WHEN OTHERS THEN
                problem := SQLERRM;
            END;
        END IF;
        IF problem IS NOT NULL AND lose_part(changed.live_id) AND live.id IS NOT NULL THEN
            RAISE WARNING USING MESSAGE = format('live sketch "%s" has lost its table', live.name),
                DETAIL = format('%s %s: %s.', changed.parts[1]::regclass, CASE WHEN changed.came[1] THEN 'came' ELSE 'went' END, problem),
                HINT = 'rebuild_sketch counts it anew.';
        END IF;
    END LOOP;
END
$$;

CREATE FUNCTION fastclust_internal.live_partitions() RETURNS event_trigger
    AS 'MODULE_PATHNAME', 'fastclust_live_partitions' LANGUAGE C;
CREATE EVENT TRIGGER fastclust_live_partitions ON ddl_command_end WHEN TAG IN ('CREATE TABLE', 'ALTER TABLE', 'CREATE FOREIGN TABLE', 'ALTER FOREIGN TABLE', 'CREATE SCHEMA')
    EXECUTE FUNCTION live_partitions();
ALTER EVENT TRIGGER fastclust_live_partitions ENABLE ALWAYS;      -- as the triggers of the tables are

-- live sketches: the sketch of now, and what is known of it

-- The sketches of now; an error where they are not those of the table.
CREATE FUNCTION fastclust_internal.checked_parts(caller oid, name text) RETURNS SETOF live_part
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    live live_sketches := readable_live(caller, name);
    problem text := live_problem(live);
BEGIN
    IF problem IS NOT NULL THEN
        RAISE object_not_in_prerequisite_state USING MESSAGE = format('live sketch "%s" has lost its table', name),
            DETAIL = upper(left(problem, 1)) || substr(problem, 2) || '.', HINT = 'rebuild_sketch counts it anew, drop_sketch ends it.';
    END IF;
    RETURN QUERY SELECT p.* FROM live_parts(live.id) p;
END
$$;

-- A group or a bucket that can have rows: what is none would look like one that has no rows now.
CREATE FUNCTION fastclust_internal.check_live_part(live live_sketches, group_value text, bucket timestamptz) RETURNS void
    LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp
    SET timezone = 'UTC' SET datestyle = iso SET intervalstyle = postgres AS $$
DECLARE
    begins timestamptz := bucket_of_time(bucket, bucket_microseconds(live.bucket_width));
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

CREATE FUNCTION current_sketch(name text, group_value text DEFAULT NULL, bucket timestamptz DEFAULT NULL) RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C STABLE;
COMMENT ON FUNCTION current_sketch(text, text, timestamptz) IS 'the sketch of the rows of now, of one group or all, of one bucket or all; reads no row';
CREATE FUNCTION fastclust_internal.current_sketch_as_owner(caller oid, name text, group_value text, bucket timestamptz) RETURNS sketch
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
BEGIN
    PERFORM check_live_part(readable_live(caller, name), group_value, bucket);
    RETURN (SELECT merge_agg(p.s) FROM checked_parts($1, $2) p WHERE ($3 IS NULL OR p.group_value = $3) AND ($4 IS NULL OR p.bucket = $4));
END
$$;

CREATE FUNCTION current_sketches(name text, OUT group_value text, OUT bucket timestamptz, OUT s sketch) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C STABLE ROWS 100;
COMMENT ON FUNCTION current_sketches(text) IS 'the sketches of the rows of now, one for each group and bucket';
CREATE FUNCTION fastclust_internal.current_sketches_as_owner(caller oid, name text, OUT group_value text, OUT bucket timestamptz, OUT s sketch) RETURNS SETOF record
    LANGUAGE plpgsql STABLE ROWS 100 SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    live live_sketches := readable_live(caller, name);
BEGIN
    RETURN QUERY SELECT CASE WHEN live.group_by IS NOT NULL THEN p.group_value END, CASE WHEN live.bucket IS NOT NULL THEN p.bucket END, p.s
                   FROM checked_parts($1, $2) p ORDER BY p.group_value COLLATE "C", p.bucket;
END
$$;

CREATE FUNCTION describe_sketch(name text) RETURNS jsonb
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C STABLE;
COMMENT ON FUNCTION describe_sketch(text) IS 'what a live sketch counts, what waits to be folded, and whether it still follows its table';
CREATE FUNCTION fastclust_internal.describe_sketch_as_owner(caller oid, name text) RETURNS jsonb
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    live live_sketches := readable_live(caller, name);
BEGIN
    RETURN (SELECT jsonb_strip_nulls(jsonb_build_object(
                'relation', live.relation::text, 'features', live.features, 'group_by', live.group_by, 'bucket', live.bucket,
                'bucket_width', live.bucket_width::text, 'half_life', live.half_life::text, 'where', live.condition,
                'base_rows', b.n, 'base_parts', b.parts, 'base_bytes', b.bytes,
                'open_deltas', d.n, 'open_bytes', d.bytes, 'oldest_delta', d.oldest,
                'counted_at', live.counted_at, 'folded_at', live.folded_at, 'checked_at', live.checked_at, 'differences', live.differences,
                'problem', live_problem(live)))
              FROM (SELECT COALESCE(sum(row_count(s)), 0) AS n, count(*) AS parts, COALESCE(sum(pg_column_size(s)), 0) AS bytes FROM live_bases b WHERE b.live_id = live.id) b,
                   (SELECT count(*) AS n, COALESCE(sum(pg_column_size(d.added_rows)), 0) + COALESCE(sum(pg_column_size(d.removed_rows)), 0)
                           + COALESCE(sum(pg_column_size(d.added)), 0) + COALESCE(sum(pg_column_size(d.removed)), 0) AS bytes, min(d.at) AS oldest
                      FROM live_deltas d WHERE d.live_id = live.id) d);
END
$$;

-- live sketches: the triggers of their tables

CREATE FUNCTION fastclust_internal.live_change() RETURNS trigger
    AS 'MODULE_PATHNAME', 'fastclust_live_change' LANGUAGE C;

-- A relation with its partitions and children.
CREATE FUNCTION fastclust_internal.live_tables(relation oid) RETURNS SETOF oid
    LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    WITH RECURSIVE tree(id) AS (SELECT c.oid FROM pg_class c WHERE c.oid = relation
                                UNION SELECT i.inhrelid FROM pg_inherits i, tree WHERE i.inhparent = tree.id)
    SELECT id FROM tree
$$;

-- A statement on a table fires none of the triggers of its partitions and children: one of them alone cannot be followed, nor a table that
-- has a child with other parents.
CREATE FUNCTION fastclust_internal.live_parent(relation oid, OUT part regclass, OUT parent regclass)
    LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, fastclust_internal, pg_temp AS $$
    SELECT i.inhrelid, i.inhparent FROM live_tables(relation) t(id) JOIN pg_inherits i ON i.inhrelid = t.id
     WHERE i.inhparent NOT IN (SELECT u.id FROM live_tables(relation) u(id)) ORDER BY i.inhrelid <> relation, i.inhrelid, i.inhparent LIMIT 1
$$;

-- The sums of tables that came and tables that went.
CREATE FUNCTION fastclust_internal.tables_after(tables regclass[], came regclass[], went regclass[]) RETURNS regclass[]
    LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT ARRAY(SELECT p.id FROM (SELECT u.id, 1 AS n FROM unnest(tables || came) u(id) UNION ALL SELECT u.id, -1 FROM unnest(went) u(id)) p
                  GROUP BY 1 HAVING sum(p.n) > 0 ORDER BY 1)
$$;

-- Why a live sketch has lost its table, as its deltas tell; NULL: it has not.  By the index, whatever the planner knows of live_deltas:
-- most of them may be another's.
CREATE FUNCTION fastclust_internal.told_loss(live_id bigint) RETURNS text
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp SET enable_seqscan = off AS $$
    SELECT d.lost FROM live_deltas d WHERE d.live_id = $1 AND d.lost IS NOT NULL LIMIT 1
$$;

-- The tables that are counted: those of the bases, and what deltas say of tables, by the index again.
CREATE FUNCTION fastclust_internal.counted_tables(live live_sketches) RETURNS SETOF oid
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp SET enable_seqscan = off AS $$
    SELECT unnest(tables_after(live.parts, array_agg(d.came) FILTER (WHERE d.came IS NOT NULL), array_agg(d.went) FILTER (WHERE d.went IS NOT NULL)))::oid
      FROM live_deltas d WHERE d.live_id = live.id
$$;

-- What has become of the columns; NULL: they are as they were.
CREATE FUNCTION fastclust_internal.live_column_problem(live live_sketches) RETURNS text
    LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE WHEN c.oid IS NULL THEN 'the table is no more'
                WHEN a.attnum IS NULL THEN format('column "%s" of %s is no more', u.name, live.relation)
                ELSE format('column "%s" of %s was of type %s', u.name, live.relation, u.type) END
      FROM ROWS FROM (unnest(live.columns), unnest(live.types)) u(name, type)
      LEFT JOIN pg_class c ON c.oid = live.relation
      LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = u.name AND a.attnum > 0 AND NOT a.attisdropped
     WHERE a.attnum IS NULL OR format_type(a.atttypid, a.atttypmod) <> u.type LIMIT 1
$$;

-- What stands in the way of following the tables, if anything; NULL: each is counted, and nothing else.
CREATE FUNCTION fastclust_internal.live_problem(live live_sketches) RETURNS text
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    problem text := COALESCE(live_column_problem(live), (SELECT format('table %s is a part of %s', p.part, p.parent) FROM live_parent(live.relation) p WHERE p.parent IS NOT NULL));
BEGIN
    IF problem IS NULL THEN
        WITH part AS (SELECT COALESCE(t.id, u.id) AS id, t.id IS NOT NULL AS present, u.id IS NOT NULL AS counted
                        FROM live_tables(live.relation) t(id) FULL JOIN counted_tables(live) u(id) USING (id)),
        made AS (SELECT g.tgrelid AS id, count(*) AS n, bool_and(g.tgenabled = 'A' AND g.tgqual IS NULL) AS enabled
                   FROM pg_trigger g JOIN part ON part.id = g.tgrelid WHERE g.tgfoid = 'live_change()'::regprocedure AND g.tgname ~ format('^fastclust_live_%s_(insert|update|delete|truncate)$', live.id)
                  GROUP BY 1)
        SELECT CASE WHEN part.present IS NOT TRUE AND NOT EXISTS (SELECT FROM pg_class c WHERE c.oid = id) THEN format('a part of %s was dropped', live.relation)
                    WHEN part.present IS NOT TRUE THEN format('table %s is no part of %s any more', id::regclass, live.relation)
                    WHEN NOT part.counted THEN format('table %s is a new part of %s', id::regclass, live.relation)
                    WHEN COALESCE(made.n, 0) < 4 THEN format('triggers of %s were dropped', id::regclass)
                    ELSE format('triggers of %s were disabled', id::regclass) END
          INTO problem
          FROM part LEFT JOIN made USING (id)
         WHERE part.present IS NOT TRUE OR NOT part.counted OR made.n IS NULL OR made.n < 4 OR NOT made.enabled ORDER BY 1 LIMIT 1;
    END IF;
    RETURN COALESCE(problem, told_loss(live.id));
END
$$;

-- The triggers of a table, or of all; on a table of another role that is no part any more they are left, and do nothing.
CREATE FUNCTION fastclust_internal.drop_live_triggers(live_id bigint, relation oid) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    made record;
BEGIN
    FOR made IN SELECT g.tgname, g.tgrelid::regclass AS id FROM pg_trigger g
                 WHERE g.tgfoid = 'live_change()'::regprocedure AND g.tgname ~ format('^fastclust_live_%s_', live_id)
                   AND (relation IS NULL OR g.tgrelid = relation)
                   AND owns_relation((SELECT r.oid FROM pg_roles r WHERE r.rolname = current_user), g.tgrelid) LOOP
        EXECUTE format('DROP TRIGGER %I ON %s', made.tgname, made.id);
    END LOOP;
END
$$;

-- A statement on a table fires the triggers of that table alone, whosesoever parts the rows are: each has its own.
CREATE FUNCTION fastclust_internal.make_live_triggers(live_id bigint, relation regclass) RETURNS void
    LANGUAGE plpgsql STRICT SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    kind record;
BEGIN
    IF NOT EXISTS (SELECT 1 FROM pg_class c WHERE c.oid = relation) THEN
        RAISE undefined_table USING MESSAGE = format('relation with OID %s does not exist', relation::oid);
    END IF;
    PERFORM drop_live_triggers(live_id, relation);
    FOR kind IN SELECT * FROM (VALUES ('insert', 'AFTER INSERT', 'REFERENCING NEW TABLE AS new_rows'),
                                      ('update', 'AFTER UPDATE', 'REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows'),
                                      ('delete', 'AFTER DELETE', 'REFERENCING OLD TABLE AS old_rows'),
                                      ('truncate', 'BEFORE TRUNCATE', '')) k(name, event, tables) LOOP
        EXECUTE format('CREATE TRIGGER %I %s ON %s %s FOR EACH STATEMENT EXECUTE FUNCTION fastclust_internal.live_change(%L)',
                       format('fastclust_live_%s_%s', live_id, kind.name), kind.event, relation, kind.tables, live_id);
        -- where session_replication_role is replica, too
        EXECUTE format('ALTER TABLE %s ENABLE ALWAYS TRIGGER %I', relation, format('fastclust_live_%s_%s', live_id, kind.name));
    END LOOP;
EXCEPTION WHEN object_in_use THEN
    RAISE object_in_use USING MESSAGE = format('%s cannot get triggers while a query of this session reads it', relation),
        HINT = 'Make what is read of it, such as a sketch_spec, in a statement before; close cursors on it.';
END
$$;

-- Why a part that is truncated cannot be counted down by its owner, if it cannot: he does not see its rows, or code of the table's owner would run as him.
CREATE FUNCTION fastclust_internal.truncation_problem(live_id bigint, part oid) RETURNS text
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT CASE WHEN p.relrowsecurity AND p.relforcerowsecurity AND NOT (o.rolsuper OR o.rolbypassrls)
                    THEN format('%s was truncated, rows of which row-level security hides from its owner', p.oid::regclass)
                WHEN NOT has_schema_privilege(o.oid, '@extschema@', 'USAGE') OR NOT has_schema_privilege(o.oid, 'fastclust_internal', 'USAGE')
                    THEN format('%s was truncated, whose owner may not use fastclust', p.oid::regclass)
                WHEN (o.oid <> r.relowner OR o.rolsuper) AND uses_foreign_code(p.oid, o.rolname)
                    THEN format('%s was truncated, which uses what belongs to another role', p.oid::regclass)
                WHEN o.oid <> r.relowner OR o.rolsuper THEN format('%s was truncated: ', p.oid::regclass) || foreign_type_problem(p.oid, l.columns, o.rolname) END
      FROM live_sketches l JOIN pg_class r ON r.oid = l.relation, pg_class p JOIN pg_roles o ON o.oid = p.relowner
     WHERE l.id = live_id AND p.oid = part
$$;

-- live sketches: what may be written, as the owner of the extension

-- A live sketch that the caller owns, held until the end of the transaction.
CREATE FUNCTION fastclust_internal.held_live(caller oid, name text) RETURNS live_sketches
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    held live_sketches;
BEGIN
    PERFORM reject_read_only('live sketches cannot be made or changed');
    held := readable_live(caller, name);
    IF NOT owns_relation(caller, held.relation) THEN
        RAISE insufficient_privilege USING MESSAGE = format('live sketch "%s" belongs to the owner of %s', name, held.relation);
    END IF;
    SELECT * INTO held FROM live_sketches l WHERE l.id = held.id FOR UPDATE;
    IF NOT FOUND THEN
        RAISE undefined_object USING MESSAGE = format('live sketch "%s" was dropped meanwhile', name);
    END IF;
    RETURN held;
END
$$;

-- A live sketch that the caller may read; to others it is not there.
CREATE FUNCTION fastclust_internal.readable_live(caller oid, name text) RETURNS live_sketches
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    found_live live_sketches;
BEGIN
    IF name IS NULL THEN
        RAISE null_value_not_allowed USING MESSAGE = 'name must not be NULL';
    END IF;
    SELECT * INTO found_live FROM live_sketches l WHERE l.name = $2;
    IF NOT FOUND OR NOT may_read_live(caller, found_live) THEN
        RAISE undefined_object USING MESSAGE = format('live sketch "%s" does not exist', name),
            HINT = 'keep_sketch makes one. Who may read the columns of its table may read a live sketch.';
    END IF;
    RETURN found_live;
END
$$;

-- The same, held, for the functions that scan as the caller.
CREATE FUNCTION fastclust_internal.lock_live(name text) RETURNS live_sketches
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C;
CREATE FUNCTION fastclust_internal.lock_live_as_owner(caller oid, name text) RETURNS live_sketches
    LANGUAGE sql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT held_live(caller, name)
$$;

-- Those of some tables that are a relation, its partitions or its children.  Whoever else changes a table waits for the reading of a list of parts.
CREATE FUNCTION fastclust_internal.parts_among(relation oid, tables regclass[]) RETURNS regclass[]
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT ARRAY(SELECT t.id::regclass FROM live_tables(relation) t(id) WHERE t.id = ANY (tables::oid[]) ORDER BY 1)
$$;

-- A model lets go of its live sketch, which its table's owner keeps.
CREATE FUNCTION fastclust_internal.release_live(model_id bigint) RETURNS void
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C;
CREATE FUNCTION fastclust_internal.release_live_as_owner(caller oid, model_id bigint) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    held models := held_model(caller, model_id);
BEGIN
    UPDATE live_sketches l SET model_id = NULL WHERE l.model_id = held.id;
END
$$;

-- A new live sketch without rows.  Who has no right to the table, or meets a name in the making, does not wait.
CREATE FUNCTION fastclust_internal.claim_live(live live_sketches) RETURNS live_sketches
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C;
CREATE FUNCTION fastclust_internal.claim_live_as_owner(caller oid, live live_sketches) RETURNS live_sketches
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    held models;
    made live_sketches;
BEGIN
    PERFORM reject_read_only('live sketches cannot be made or changed');
    IF NOT owns_relation(caller, live.relation) THEN
        RAISE insufficient_privilege USING MESSAGE = format('must be owner of %s', live.relation);
    END IF;
    IF live.columns @> array_remove(live.features || live.group_by || live.bucket, NULL) IS NOT TRUE THEN
        RAISE invalid_parameter_value USING MESSAGE = format('live sketch "%s" is not one that keep_sketch has checked', live.name);
    END IF;
    IF live.model_id IS NOT NULL THEN
        held := held_model(caller, live.model_id);
        PERFORM check_model_follows(held, live.relation);
        IF EXISTS (SELECT FROM live_sketches l WHERE l.model_id = live.model_id) THEN
            RAISE duplicate_object USING MESSAGE = format('model "%s" has a live sketch already', held.model),
                HINT = 'Retrain the model: that makes one that fits it, in place of the old one.';
        END IF;
    END IF;
    IF NOT lock_name(hashtext('live sketch ' || live.name), false) OR EXISTS (SELECT FROM live_sketches l WHERE l.name = live.name) THEN
        IF live.model_id IS NULL THEN
            RAISE duplicate_object USING MESSAGE = format('live sketch "%s" exists already', live.name),
                HINT = 'Choose another name, or drop_sketch first.';
        END IF;
        live.name := format('%s %s', live.name, gen_random_uuid());     -- nobody stops a training by a name
    END IF;
    live.parts := parts_among(live.relation, live.parts);
    -- its expressions are read with the rights of the owner of the extension
    live.condition := (row_condition(live.relation, live.condition)).condition;
    PERFORM live_expressions(live);
    INSERT INTO live_sketches (name, relation, features, vector, encoder, spec, group_by, bucket, bucket_width, half_life, condition, columns, types, parts, model_id)
        VALUES (live.name, live.relation, live.features, live.vector, live.encoder, live.spec, live.group_by, live.bucket, live.bucket_width, live.half_life,
                live.condition, live.columns, live.types, live.parts, live.model_id)
        RETURNING * INTO made;
    RETURN made;
END
$$;

-- The rows of live_deltas that the caller's query sees, by their places.
CREATE FUNCTION fastclust_internal.open_deltas(name text) RETURNS tid[]
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C STABLE PARALLEL RESTRICTED;
CREATE FUNCTION fastclust_internal.open_deltas_as_owner(caller oid, name text) RETURNS tid[]
    LANGUAGE sql STABLE PARALLEL RESTRICTED SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT ARRAY(SELECT d.ctid FROM live_deltas d WHERE d.live_id = (readable_live(caller, name)).id)
$$;

-- What a scan counted: the deltas that were seen with it, the sketches, the types of the columns, the tables.
CREATE TYPE fastclust_internal.live_count AS (deltas tid[], parts live_part[], types text[], tables regclass[]);

CREATE FUNCTION fastclust_internal.check_live_parts(live live_sketches, parts live_part[]) RETURNS void
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    longest integer := (SELECT max(octet_length(p.group_value)) FROM unnest(parts) p);
BEGIN
    IF EXISTS (SELECT FROM unnest(parts) p WHERE spec(p.s) <> live.spec) THEN
        RAISE data_exception USING MESSAGE = format('the sketch was not made with the sketch_spec of live sketch "%s"', live.name);
    ELSIF longest > 2000 THEN
        RAISE program_limit_exceeded USING MESSAGE = format('a group of live sketch "%s" has %s bytes', live.name, longest), DETAIL = 'It may have up to 2000 bytes.';
    END IF;
END
$$;

-- New bases in place of the old ones and of the deltas that were seen with them.
CREATE FUNCTION fastclust_internal.write_bases(name text, counted live_count) RETURNS void
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C;
CREATE FUNCTION fastclust_internal.write_bases_as_owner(caller oid, name text, counted live_count) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    held live_sketches := held_live(caller, name);
BEGIN
    PERFORM check_live_parts(held, counted.parts);
    DELETE FROM live_deltas d WHERE d.ctid = ANY (counted.deltas) AND d.live_id = held.id;
    DELETE FROM live_bases b WHERE b.live_id = held.id;
    INSERT INTO live_bases (live_id, group_value, bucket, s) SELECT held.id, p.group_value, p.bucket, p.s FROM unnest(counted.parts) p;
    UPDATE live_sketches l SET types = counted.types, parts = parts_among(held.relation, counted.tables), counted_at = now(), folded_at = NULL, checked_at = NULL, differences = NULL WHERE l.id = held.id;
END
$$;

-- internal: what a training is about, and its steps.  A job is built once; each step takes what it needs and returns what it made.
-- All of it runs in the caller's transaction: until it commits the old version serves, and a failure leaves no trace.

CREATE TYPE fastclust_internal.training_job AS (
    model_id bigint, model text, version integer, source row_source, k integer, method text, note text, options jsonb,
    seed bigint, estimate double precision, started_at timestamptz, recall double precision);

-- Six digits for people to read, of any number: a cast to real fails on what is too small or too large for it.
CREATE FUNCTION fastclust_internal.short_number(x double precision) RETURNS text
    LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp SET extra_float_digits = -9 AS $$
    SELECT x::text
$$;

-- The step whose progress is reported, NULL at its end, and about how many rows it scans; name: in notices, NULL: without notices.
CREATE FUNCTION fastclust_internal.announce_step(name text, model_id bigint, model text, step text, rows_about double precision, begun timestamptz) RETURNS void
    AS 'MODULE_PATHNAME', 'fastclust_announce_step' LANGUAGE C;

CREATE FUNCTION fastclust_internal.begin_step(job training_job, step text) RETURNS timestamptz
    LANGUAGE sql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT announce_step(CASE WHEN NOT flag_option(job.options, 'quiet', false) THEN format('model "%s" version %s: %s', job.model, job.version, step) END,
                         job.model_id, job.model, step, CASE WHEN step = 'sketch' OR step LIKE '%scan %' THEN job.estimate END, job.started_at);
    SELECT clock_timestamp();
$$;

-- A step done: a row of training_log and, unless the option quiet is set, a notice.
CREATE FUNCTION fastclust_internal.log_step(job training_job, step text, begun timestamptz, objective double precision, note text) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    seconds float8 := extract(epoch FROM clock_timestamp() - begun);
BEGIN
    PERFORM announce_step(NULL, NULL, NULL, NULL, NULL, NULL);
    PERFORM write_step(job.model_id, job.version, step, objective, seconds, note);
    IF NOT flag_option(job.options, 'quiet', false) THEN
        RAISE NOTICE '%', format('model "%s" version %s: %s%s%s (%s s)', job.model, job.version, step,
            CASE WHEN note IS NULL THEN '' ELSE ', ' || note END,
            CASE WHEN objective IS NULL THEN '' ELSE format(', mean squared distance %s', short_number(objective)) END,
            round(seconds::numeric, 2));
    END IF;
END
$$;

CREATE FUNCTION fastclust_internal.reject_no_rows(job training_job) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
BEGIN
    RAISE no_data_found USING MESSAGE = format('%s has no rows with all features%s%s', (job.source).relation,
        CASE WHEN (job.source).metric IS NULL THEN '' ELSE ' and a direction' END,
        CASE WHEN job.options ->> 'where' IS NULL THEN '' ELSE format(' where %s', job.options ->> 'where') END);
END
$$;

-- ---- the encoder ----

-- The options that are the encoder's.  again: categories that were found before should be found again.
CREATE FUNCTION fastclust_internal.encoder_settings(options jsonb, again boolean) RETURNS jsonb
    LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT COALESCE((SELECT jsonb_object_agg(o.key, o.value) FROM jsonb_each(options) o
                         WHERE o.key = ANY ('{standardize,transform,weight,nulls,categories,paths}')), '{}')
           || CASE WHEN again THEN jsonb_build_object('categories', least(10000, 4 * number_option(options, 'categories', 32))) ELSE '{}' END
$$;

-- Centroids of imputed rows lie between those of the clusters: samples take complete rows where they are enough of so many.
CREATE FUNCTION fastclust_internal.complete_rows(source row_source, k integer, picked text) RETURNS text
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    gaps text := (SELECT string_agg(format('t.%I', e.feature), ', ') FROM encoder_nulls(source.encoder) e
                   WHERE e.share > 0 AND e.nulls = 'impute' AND e.kind <> 'category' AND e.feature = ANY (source.features));
    complete bigint;
BEGIN
    IF gaps IS NULL OR source.group_by IS NOT NULL OR cardinality(source.features) > 98 THEN
        RETURN NULL;
    END IF;
    EXECUTE format('SELECT count(*) FILTER (WHERE num_nulls(%s) = 0) %s', gaps, picked) INTO complete;
    RETURN CASE WHEN complete >= greatest(1000, 50 * k) THEN format('num_nulls(%s) = 0', gaps) END;
END
$$;

-- The job with an encoder learned from a sample of its rows; one that was there keeps its dimensions.
CREATE FUNCTION fastclust_internal.with_learned_encoder(job training_job) RETURNS training_job
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    source row_source := job.source;
    query text := 'SELECT renewed_encoder(encoder_agg(t.*, $1, $2), $3) ';
    picked text := rows_from(source, number_option(job.options, 'sample_rows', greatest(20000, 50 * job.k)), job.estimate, job.seed);
    settings jsonb := encoder_settings(job.options, source.encoder IS NOT NULL);
    learned encoder;
BEGIN
    IF source.vector THEN
        RETURN job;
    END IF;
    EXECUTE query || picked INTO learned USING source.features::text[], settings, source.encoder;
    IF learned IS NULL AND picked <> rows_from(source) THEN
        EXECUTE query || rows_from(source) INTO learned USING source.features::text[], settings, source.encoder;
    END IF;
    IF learned IS NULL THEN
        PERFORM reject_no_rows(job);
    END IF;
    IF feature_names(learned) <> feature_names(source.encoder) THEN
        RAISE WARNING USING MESSAGE = format('the columns of model "%s" changed: they are encoded anew', job.model),
            DETAIL = format('There were %s dimensions, now there are %s.', dim(source.encoder), dim(learned));
    END IF;
    source := with_encoder(source, learned);
    source.complete := complete_rows(source, job.k, picked);
    job.source := source;
    RETURN job;
END
$$;

-- ---- the sample ----

-- A sample drawn by the option `sample`, and the number of rows it is drawn from.
CREATE FUNCTION fastclust_internal.sampled_job(job training_job, source row_source) RETURNS training_job
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    how text := COALESCE(job.options ->> 'sample', 'auto');
BEGIN
    IF how NOT IN ('auto', 'hash') THEN
        RAISE invalid_parameter_value USING MESSAGE = format('sample "%s" is not known', how), HINT = 'Samples are auto, hash.';
    END IF;
    job.source := CASE how WHEN 'hash' THEN with_keyed_rows(source) ELSE source END;
    job.estimate := CASE how WHEN 'hash' THEN counted_rows(source) ELSE estimated_rows(source) END;
    RETURN job;
END
$$;

-- So many rows of `size` fit into the memory budget, at 64 bytes a number and 256 a row.
CREATE FUNCTION fastclust_internal.rows_in_budget(dimension integer, size double precision) RETURNS integer
    LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT greatest(100, least(size, 1e6, pg_size_bytes(current_setting('fastclust.memory_budget')) / (64.0 * dimension + 256)))::integer
$$;

CREATE FUNCTION fastclust_internal.dimension_of(source row_source) RETURNS integer
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    dimension integer := CASE WHEN NOT source.vector THEN dim(source.encoder) END;
BEGIN
    IF dimension IS NULL THEN
        EXECUTE format('SELECT cardinality(vector_in_units(NULL, NULL, %s)) %s LIMIT 1', source.raw, rows_from(source)) INTO dimension;
    END IF;
    RETURN dimension;
END
$$;

-- $1 rows at random with the seed $2, out of about `wanted` that are read.
CREATE FUNCTION fastclust_internal.uniform_query(source row_source, wanted double precision, estimate double precision, seed bigint) RETURNS text
    LANGUAGE sql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT CASE WHEN source.leaves IS NULL THEN format('SELECT coreset_final(%s) %s', q.sample, rows_from(source, wanted, estimate, seed))
                ELSE format('SELECT merge_coreset_agg(q.s) FROM (%s) q', of_leaves(source, q.sample || ' AS s', wanted, estimate, seed, '')) END
      FROM (SELECT format('%s(%s, %s, $1, NULL, NULL, $2, NULL, %L) FILTER (WHERE %s)', aggregate_over(source, 'coreset_state_agg'), source.raw, source.key,
                          source.metric = 'cosine', COALESCE(source.complete, 'true')) AS sample) q
$$;

-- A uniform sample in the rows' own units: units, frequencies and landmarks are chosen from it.  Where statistics are old and promise
-- more rows than there are, it comes from all rows.
CREATE FUNCTION fastclust_internal.uniform_sample(job training_job, dimension integer) RETURNS fastop
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    source row_source := job.source;
    wanted integer := rows_in_budget(dimension, number_option(job.options, 'sample_rows', greatest(20000, 50 * job.k)));
    picked text := uniform_query(source, wanted, job.estimate, job.seed);
    every text := uniform_query(source, 'infinity', 0, job.seed);
    sample fastop;
BEGIN
    IF job.model_id IS NOT NULL THEN
        PERFORM begin_step(job, 'sample');
    END IF;
    EXECUTE picked INTO sample USING wanted, job.seed;
    IF picked <> every AND COALESCE(clusters(sample), 0) < wanted / 4 THEN
        EXECUTE every INTO sample USING wanted, job.seed;
    END IF;
    IF sample IS NULL THEN
        PERFORM reject_no_rows(job);
    END IF;
    RETURN sample;
END
$$;

-- The encoder's, or means and deviations of the sample where vectors are standardised; a dimension that never changes keeps its unit.
CREATE FUNCTION fastclust_internal.standard_units(job training_job, sample fastop) RETURNS row_units
    LANGUAGE sql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT CASE WHEN NOT (job.source).vector THEN ROW(encoder_center((job.source).encoder), encoder_scale((job.source).encoder), NULL)::row_units
                ELSE (SELECT ROW(m.mean, (SELECT array_agg(CASE WHEN d > 0 THEN d ELSE 1 END ORDER BY i) FROM unnest(m.deviation) WITH ORDINALITY u(d, i)), NULL)::row_units
                        FROM centroid_moments(sample) m WHERE flag_option(job.options, 'standardize', false)) END
$$;

-- ---- the sketch ----

-- What the sketch measures, chosen from the sample.  Where nothing is decoded, the width of some clusters in some rows tells enough of many.
CREATE FUNCTION fastclust_internal.spec_of_sample(job training_job, units row_units, sample fastop, settings jsonb) RETURNS sketch_spec
    LANGUAGE sql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT spec_in_units(sketch_spec_agg(c.centroid, CASE WHEN many THEN 256 ELSE job.k END, settings), units.center, units.scale, (job.source).group_by IS NOT NULL)
      FROM centroids(operator_in_units(sample, NULL, NULL, units.center, units.scale)) c, (SELECT job.k > 256 AND job.method <> 'compressive') m(many)
     WHERE NOT many OR c.cluster < 8192
$$;

-- With groups: that of the median group of the sample's largest, by the width of its clusters; wide rows share a projection.
CREATE FUNCTION fastclust_internal.spec_of_groups(job training_job, units row_units, settings jsonb, wanted double precision) RETURNS sketch_spec
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    source row_source := job.source;
    spec sketch_spec;
BEGIN
    EXECUTE format(
        'WITH r AS MATERIALIZED (SELECT %1$s AS value, %2$s AS x %3$s),
              largest AS (SELECT value FROM r GROUP BY 1 HAVING count(*) > $2 ORDER BY count(*) DESC, 1 LIMIT 16),
              specs AS (SELECT value, sketch_spec_agg(x, $2, $3) AS spec FROM r JOIN largest USING (value) GROUP BY 1)
         SELECT spec FROM specs ORDER BY (describe(spec) ->> ''sigma'')::float8, value OFFSET (SELECT count(*) / 2 FROM specs) LIMIT 1',
        source.group_value, row_in_units(source, units), rows_from(source, wanted, job.estimate, job.seed))
        INTO spec USING units, job.k, settings;
    IF (describe(spec) ->> 'reduced_dim')::integer = (describe(spec) ->> 'dim')::integer THEN
        RETURN spec_in_units(spec, units.center, units.scale, true);
    END IF;
    RETURN NULL;
END
$$;

-- Only decoding needs many frequencies; drift is told by a few hundred.
CREATE FUNCTION fastclust_internal.training_spec(job training_job, units row_units, sample fastop) RETURNS sketch_spec
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    settings jsonb := jsonb_strip_nulls(jsonb_build_object('seed', job.seed, 'metric', (job.source).metric,
                          'center', CASE WHEN (job.source).sparse THEN 'zero' END, 'frequencies',
                          COALESCE(job.options -> 'frequencies', CASE WHEN job.method <> 'compressive' THEN to_jsonb(400) END)));
    spec sketch_spec;
    begun timestamptz := clock_timestamp();
BEGIN
    IF (job.source).group_by IS NOT NULL THEN
        spec := spec_of_groups(job, units, settings, clusters(sample));
    END IF;
    spec := COALESCE(spec, spec_of_sample(job, units, sample, settings));
    PERFORM log_step(job, 'spec', begun, NULL, format('%s frequencies%s', describe(spec) ->> 'frequencies',
                     CASE WHEN (job.source).group_by IS NULL THEN '' ELSE ' for all groups' END));
    RETURN spec;
END
$$;

-- A quarter of the memory budget for the hash tables of the caller, which sets work_mem back at its end.
CREATE FUNCTION fastclust_internal.grant_memory() RETURNS void
    LANGUAGE sql SET search_path = pg_catalog, pg_temp AS $$
    SELECT set_config('work_mem', greatest(64, pg_size_bytes(current_setting('fastclust.memory_budget')) / 4194304) || 'MB', true)
$$;

-- ---- one scan: sketch and weighted sample ----

-- A weighted sample to be taken of each part of the rows (coreset_agg).
CREATE TYPE fastclust_internal.sampling AS (size integer, center double precision[], variance double precision, seed bigint, parts integer,
    sparse boolean,             -- parts of few rows: workers would send a sketch for hardly more than one of them
    rank_limit double precision); -- where samples of shards or servers are merged: each sends its share of those below it

-- The importance of rows in units for k-means; the same for all where a method takes rows without weights, or the farthest do not count.
-- Of many clusters scans improve more than a larger sample would, which k-means copies.
-- As many parts as there is memory for: of their sketches, each a spec and 16 bytes a frequency, there are up to five copies, in a quarter of the budget.
-- Samples of shards or servers are merged: by the sample of now, a limit of ranks lets through a tenth more rows than are wanted, and the spread
-- of their number.  A keyed sample is the same wherever rows lie: ranks being at most twice as large as those of the same rows in a uniform sample,
-- a limit for twice the rows is enough.
CREATE FUNCTION fastclust_internal.coreset_sampling(job training_job, units row_units, spec sketch_spec, sample fastop, groups double precision) RETURNS sampling
    LANGUAGE sql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    WITH scaled AS MATERIALIZED (SELECT operator_in_units(sample, NULL, NULL, units.center, units.scale) AS op),
    moments AS MATERIALIZED (
        SELECT m.mean, CASE WHEN job.method <> 'qkmeans' AND number_option(job.options, 'trim', 0) = 0 THEN NULLIF((SELECT sum(x * x) FROM unnest(m.deviation) x), 0) END AS variance
          FROM scaled, centroid_moments(scaled.op) m),
    parts AS MATERIALIZED (
        SELECT max(n) AS n FROM unnest('{4,8,16,32,64}'::integer[]) n
         WHERE n <= CASE WHEN groups > 100 THEN 4 WHEN groups > 1 THEN 8 ELSE 64 END
           AND (n = 4 OR n * (16.0 * (describe(spec) ->> 'frequencies')::integer + pg_column_size(without_pilot_rows(spec)))
                         <= pg_size_bytes(current_setting('fastclust.memory_budget')) / 20)),
    part AS MATERIALIZED (
        SELECT ceil(CASE WHEN job.k > 256 THEN 0.8 ELSE 2.0 END * rows_in_budget(dim(sample), total.size) / groups / parts.n) AS size,
               job.estimate / parts.n AS estimate, job.options ->> 'sample' = 'hash' AS keyed
          FROM parts, (SELECT number_option(job.options, 'sample_rows', CASE WHEN groups > 1 THEN greatest(3000, 100 * job.k)
                                                                             ELSE greatest(30000, 200 * job.k) END) * groups AS size) total)
    SELECT ROW(part.size, moments.mean, moments.variance, job.seed, parts.n, job.estimate < 100 * groups * parts.n,
               CASE WHEN NOT ((job.source).sharded OR (job.source).leaves IS NOT NULL) OR (job.source).group_by IS NOT NULL OR (job.source).complete IS NOT NULL
                      OR share.offered >= 1 THEN NULL
                    WHEN part.keyed THEN share.offered
                    ELSE rank_limit(scaled.op, moments.mean, moments.variance, share.offered) END)::sampling
      FROM scaled, moments, parts, part,
           LATERAL (SELECT CASE WHEN part.keyed THEN 2 * part.size + 10 * sqrt(part.size) + 50
                                ELSE 1.1 * part.size + 3 * sqrt(part.size) + 25 END / greatest(1, part.estimate) AS offered) share
$$;

-- The sketch and the weighted sample of every part of a group, of units $1, spec $2 and sampling $3.  Foreign tables are asked for bits of
-- the part, of which the planner knows that there are two: it would take numbers to be as many as rows, and fetch those.
CREATE FUNCTION fastclust_internal.parts_query(source row_source, units row_units, parts integer) RETURNS text
    LANGUAGE sql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT CASE WHEN source.leaves IS NULL THEN format('SELECT %s AS value, (%s & ($3).parts - 1)::integer AS part, %s %s GROUP BY 1, 2', source.group_value, source.part,
                                                       q.aggregates, rows_from(source))
                ELSE format('SELECT p.value::text COLLATE "C" AS value, p.part, merge_agg(p.s) AS s, fastclust_internal.sum(p.c) AS c, sum(p.imputed)::bigint AS imputed
                               FROM (%s) p GROUP BY 1, 2',
                            of_leaves(source, format('%s AS value, %s AS part, %s', CASE WHEN source.group_by IS NULL THEN '''''' ELSE format('t.%I', source.group_by) END,
                                                     bits.number, q.aggregates),
                                      'infinity', 0, 0, 'GROUP BY 1, ' || bits.list)) END
      FROM (SELECT format('%s(%s, $2) AS s, %s(%s, %s, ($3).size, ($3).center, ($3).variance, ($3).seed, ($3).rank_limit, %L) FILTER (WHERE %s) AS c, %s AS imputed',
                          aggregate_over(source, 'sketch_agg'), source.raw,
                          aggregate_over(source, 'coreset_state_agg'), row_in_units(source, units), source.key,
                          source.metric = 'cosine', COALESCE(source.complete, 'true'),
                          CASE WHEN source.missing IS NULL THEN 'NULL::bigint' ELSE format('count(*) FILTER (WHERE %s)', source.missing) END) AS aggregates) q,
           (SELECT string_agg(b.bit, ', ') AS list, string_agg(format('%s::integer * %s', b.bit, b.value), ' + ') AS number
              FROM (SELECT format('(%s & %s <> 0)', source.part, 1 << i) AS bit, 1 << i AS value
                      FROM generate_series(0, 5) i WHERE 1 << i < parts) b) bits
$$;

-- The parts of parts_query, gathered here: Citus would write those of a subquery to a file and read it again.
CREATE FUNCTION fastclust_internal.scan_parts(query text, units row_units, spec sketch_spec, sampling sampling)
    RETURNS TABLE (value text, part integer, s sketch, c aggregate_state, imputed bigint)
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
BEGIN
    RETURN QUERY EXECUTE query USING units, spec, sampling;
END
$$;

-- The sketch of every group's rows, the null law of its drift (from the differences between random parts), and its weighted sample in units.
-- Parts come in any order, with their numbers: sorts would copy them all.  Only those of many groups are sorted, so that one group is in memory.
CREATE FUNCTION fastclust_internal.scan_groups(job training_job, units row_units, spec sketch_spec, sampling sampling,
        OUT group_value text, OUT sketch sketch, OUT null_moments double precision[], OUT weighted_rows fastop, OUT imputed bigint) RETURNS SETOF record
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp SET enable_sort = off SET work_mem = '64MB' AS $$
DECLARE
    workers text := current_setting('max_parallel_workers_per_gather');
    query text := format(
        'SELECT %1$s, merge_agg(q.s), null_moments(array_agg(q.s %2$s), array_agg(q.part %2$s)),
                join_samples(array_agg(q.c %2$s), array_agg(q.part %2$s)),
                sum(q.imputed)::bigint
           FROM %3$s q
          %4$s
         HAVING merge_agg(q.s) IS NOT NULL',
        CASE WHEN (job.source).group_by IS NULL THEN '''''' ELSE 'q.value COLLATE "C"' END,
        CASE WHEN (job.source).group_by IS NULL THEN '' ELSE 'ORDER BY q.part' END,
        format(CASE WHEN (job.source).sharded THEN 'scan_parts(%L, $1, $2, $3)' ELSE '(%s)' END, parts_query(job.source, units, sampling.parts)),
        CASE WHEN (job.source).group_by IS NULL THEN '' ELSE 'GROUP BY q.value COLLATE "C"' END);
BEGIN
    PERFORM grant_memory(), set_config('max_parallel_workers_per_gather', CASE WHEN sampling.sparse THEN '0' ELSE workers END, true),
            hash_on_shards(job.source, true);
    IF sampling.rank_limit IS NOT NULL THEN
        EXECUTE query INTO group_value, sketch, null_moments, weighted_rows, imputed USING units, without_pilot_rows(spec), sampling;
        IF clusters(weighted_rows) >= least(row_count(sketch), sampling.size::bigint * sampling.parts) / 2 THEN
            RETURN NEXT;
        ELSE        -- far fewer rows than the planner thought
            sampling.rank_limit := NULL;
        END IF;
    END IF;
    IF sampling.rank_limit IS NULL THEN
        RETURN QUERY EXECUTE query USING units, without_pilot_rows(spec), sampling;
    END IF;
    PERFORM set_config('max_parallel_workers_per_gather', workers, true), hash_on_shards(job.source, false);
END
$$;

-- ---- scans of Lloyd's algorithm ----

-- The steps of so many groups $2 with operators $3, leaf by leaf.  A foreign table is sent neither a join with an array nor an array of operators:
-- it is asked for an aggregate of each group.
CREATE FUNCTION fastclust_internal.lloyd_query_of_leaves(source row_source, x text, groups integer) RETURNS text
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT format('SELECT u.i, merge_lloyd_agg(u.s) AS s FROM (%s) l, unnest(ARRAY[%s]) WITH ORDINALITY u(s, i) WHERE u.s IS NOT NULL GROUP BY u.i',
                  of_leaves(source, string_agg(format('lloyd_sums_agg(($3)[%1$s], %2$s) FILTER (WHERE t.%3$I = ($2::text[]::%4$s[])[%1$s]) AS s%1$s',
                                                      i, x, source.group_by, feature_type(source.relation::regclass, source.group_by)), ', '), 'infinity', 0, 0, ''),
                  string_agg(format('l.s%s', i), ', '))
      FROM generate_series(1, groups) i
$$;

-- The one value of a query of units $1 and operator $2, which stays a parameter: EXECUTE makes a constant of it, and the plan that
-- workers get is a text of some four times its size.
CREATE FUNCTION fastclust_internal.lloyd_query(query text, units row_units, op fastop) RETURNS lloyd_step
    AS 'MODULE_PATHNAME', 'fastclust_lloyd_query' LANGUAGE C;

-- Are a scan's sums more than workers may share (fastclust.largest_state)?
CREATE FUNCTION fastclust_internal.is_large_step(op fastop) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_is_large_step' LANGUAGE C STABLE STRICT;

-- One scan: the next operators, sums of squares to these, and rows.  Groups are told by their values; without groups there is one operator.
CREATE FUNCTION fastclust_internal.lloyd_scan(job training_job, units row_units, groups text[], operators fastop[],
        OUT next fastop[], OUT sse double precision[], OUT n bigint[])
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp
    SET enable_nestloop = off SET enable_sort = off SET work_mem = '64MB' AS $$
DECLARE
    source row_source := job.source;
    x text := row_in_space(source, units);
    aggregate text := aggregate_over(source, 'lloyd_sums_agg');
    step lloyd_step;
BEGIN
    IF source.group_by IS NULL AND source.leaves IS NULL AND NOT source.sharded THEN
        step := lloyd_query(format('SELECT %s($2, %s) %s', CASE WHEN is_large_step(operators[1]) THEN 'lloyd_large_agg' ELSE 'lloyd_step_agg' END,
                                   x, rows_from(source)), units, operators[1]);
        next := ARRAY[step.next];
        sse := ARRAY[step.sse];
        n := ARRAY[step.n];
    ELSIF source.group_by IS NULL THEN
        EXECUTE format('SELECT ARRAY[(q.s).next], ARRAY[(q.s).sse], ARRAY[(q.s).n] FROM (%s) q',
                       CASE WHEN source.leaves IS NULL THEN format('SELECT lloyd_final(%s($2, %s)) AS s %s', aggregate, x, rows_from(source))
                            ELSE format('SELECT merge_lloyd_agg(l.s) AS s FROM (%s) l',
                                        of_leaves(source, format('lloyd_sums_agg($2, %s) AS s', x), 'infinity', 0, 0, '')) END)
            INTO next, sse, n USING units, operators[1];
    ELSE
        PERFORM grant_memory();
        EXECUTE format('SELECT array_agg((q.s).next ORDER BY q.i), array_agg((q.s).sse ORDER BY q.i), array_agg((q.s).n ORDER BY q.i) FROM (%s) q',
                       CASE WHEN source.leaves IS NULL OR cardinality(groups) > 100
                            THEN format('SELECT g.i, lloyd_final(%s(g.op, r.x)) AS s
                                           FROM (SELECT %s AS value, %s AS x %s) r JOIN unnest($2, $3) WITH ORDINALITY g(value, op, i) USING (value)
                                          GROUP BY g.i', aggregate, source.group_value, x, rows_from(source))
                            ELSE lloyd_query_of_leaves(source, x, cardinality(groups)) END)
            INTO next, sse, n USING units, groups, operators;
    END IF;
END
$$;

-- Scans until the next would gain less than the tolerance, at most so many.  A frozen operator stays and is only measured.  The objective
-- is the mean squared distance to the operator returned, up to what its labels would change once more.
CREATE FUNCTION fastclust_internal.lloyd_scans(job training_job, units row_units, groups text[], frozen boolean[], steps integer,
        INOUT operators fastop[], OUT objectives double precision[])
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    tolerance float8 := number_option(job.options, 'tolerance', 1e-3);
    active integer[] := (SELECT array_agg(i) FROM generate_subscripts(groups, 1) i);
    scan record;
    left_over integer[];
    gain float8;
    j integer;
    begun timestamptz;
BEGIN
    objectives := array_fill(NULL::float8, ARRAY[cardinality(groups)]);
    FOR step IN 1 .. steps LOOP
        begun := begin_step(job, format('scan %s', step));
        scan := NULL;
        IF cardinality(active) = cardinality(groups) THEN       -- operators as they lie: a query would copy them, into its plan too
            scan := lloyd_scan(job, units, groups, operators);
        ELSE
            scan := lloyd_scan(job, units, (SELECT array_agg(groups[a] ORDER BY i) FROM unnest(active) WITH ORDINALITY u(a, i)),
                               (SELECT array_agg(operators[a] ORDER BY i) FROM unnest(active) WITH ORDINALITY u(a, i)));
        END IF;
        left_over := '{}';
        FOR i IN 1 .. cardinality(active) LOOP
            j := active[i];
            CONTINUE WHEN scan.next[i] IS NULL;
            IF flag_option(job.options, 'frozen', false) THEN
                scan.next[i] := with_frozen(job, groups[j], operators[j], scan.next[i]);
            END IF;
            gain := CASE WHEN frozen[j] THEN 0 ELSE step_gain(operators[j], scan.next[i]) END;
            IF (job.source).metric IS NOT NULL THEN
                gain := gain * greatest(0, 1 - scan.sse[i] / (2 * scan.n[i]));     -- the mean length of the clusters' means, at least
            END IF;
            objectives[j] := greatest(0, scan.sse[i] - gain) / scan.n[i];
            IF NOT frozen[j] AND cardinality(operators) = 1 THEN    -- an element that is replaced keeps its room
                operators := scan.next;
            ELSIF NOT frozen[j] THEN
                operators[j] := scan.next[i];
            END IF;
            IF gain > tolerance * scan.sse[i] THEN
                left_over := left_over || j;
            END IF;
        END LOOP;
        PERFORM log_step(job, format('scan %s', step), begun, (SELECT sum(s) / sum(n) FROM unnest(scan.sse, scan.n) u(s, n)),
                         CASE WHEN (job.source).group_by IS NOT NULL THEN format('%s groups', cardinality(active)) END);
        active := left_over;
        EXIT WHEN active = '{}';
    END LOOP;
END
$$;

-- ---- what served before ----

-- The part of the serving version that a new one continues: of the same features.
CREATE FUNCTION fastclust_internal.serving_part(job training_job, group_value text) RETURNS model_versions
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT v.* FROM models m JOIN model_versions v ON v.model_id = m.id AND v.version = m.version
     WHERE m.id = job.model_id AND v.group_value = serving_part.group_value AND m.group_by IS NOT DISTINCT FROM (job.source).group_by
       AND v.features = (job.source).features AND feature_names(v.encoder) IS NOT DISTINCT FROM feature_names((job.source).encoder)
$$;

-- The rows of a sample in units, as an operator takes them.
-- In PL/pgSQL: a function in SQL keeps its last result until the transaction ends.
CREATE FUNCTION fastclust_internal.rows_in_space(weighted_rows fastop, map kernel_map) RETURNS fastop
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
BEGIN
    IF map IS NOT NULL THEN
        weighted_rows := (SELECT fastop_agg(kernel_features(map, c.centroid), c.weight ORDER BY c.cluster) FROM centroids(weighted_rows) c);
    END IF;
    RETURN weighted_rows;
END
$$;

-- New clusters that continue old ones take their numbers: by distance in the old units, or by labels where features are of different maps.
CREATE FUNCTION fastclust_internal.numbered(op fastop, space_rows fastop, units row_units, old model_versions, old_rows fastop) RETURNS fastop
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    numbers integer[] := CASE WHEN units.map IS NULL AND old.map IS NULL
        THEN match_clusters(old.operator, NULL, NULL, operator_in_units(op, units.center, units.scale, old.center, old.scale), NULL, NULL)
        ELSE match_labels(label_counts(op, space_rows, old.operator, old_rows), clusters(old.operator)) END;
BEGIN
    RETURN CASE WHEN numbers IS NULL THEN op ELSE renumber(op, numbers) END;
END
$$;

-- ---- storing ----

CREATE FUNCTION fastclust_internal.version_part(job training_job, units row_units, spec sketch_spec, group_value text, op fastop,
        sketch sketch, null_moments double precision[], imputed bigint) RETURNS model_versions
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    v model_versions;
BEGIN
    v.model_id := job.model_id;
    v.version := job.version;
    v.group_value := group_value;
    v.method := job.method;
    v.note := job.note;
    v.relation := (job.source).relation;
    v.features := (job.source).features;
    v.vector := (job.source).vector;
    v.encoder := (job.source).encoder;
    v.k := job.k;
    v.options := job.options - 'frozen';
    v.operator := op;
    v.center := units.center;
    v.scale := units.scale;
    v.map := units.map;
    v.spec := spec;
    v.training_sketch := sketch;
    v.null_moments := null_moments;
    v.n := row_count(sketch);
    v.imputed := CASE WHEN (job.source).metric IS NULL THEN imputed END;
    v.started_at := job.started_at;
    RETURN v;
END
$$;

-- Numbers, distances and the objective of a part: that of scans where there is one, else the sample's.  A part without an old one takes
-- its numbers from those of another group, where there is one to align to.
CREATE FUNCTION fastclust_internal.part_result(job training_job, units row_units, group_value text, op fastop, weighted_rows fastop,
        objective double precision, places double precision[], other_group fastop) RETURNS part_result
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    space_rows fastop := rows_in_space(weighted_rows, units.map);
    old model_versions;
    old_rows fastop;
    fit record;
    churn float8;
BEGIN
    IF job.version > 1 THEN
        old := serving_part(job, group_value);
    END IF;
    IF old.operator IS NOT NULL THEN
        old_rows := rows_in_space(operator_in_units(weighted_rows, units.center, units.scale, old.center, old.scale), old.map);
        IF dim(old_rows) = dim(old.operator) THEN
            op := numbered(op, space_rows, units, old, old_rows);
            churn := label_change(op, space_rows, old.operator, old_rows);
        END IF;
    ELSIF other_group IS NOT NULL THEN
        op := COALESCE(renumber(op, match_clusters(other_group, NULL, NULL, op, NULL, NULL)), op);
    END IF;
    fit := fit_profile(op, space_rows, places);
    RETURN ROW(group_value, op, fit.spreads, fit.quantiles, COALESCE(objective, fit.objective), CASE WHEN objective IS NULL THEN fit.error ELSE 0 END, churn,
               level_paths(op, job.options), job.recall);
END
$$;

-- Where the quantiles of distances are taken: closer towards the far end.
CREATE FUNCTION fastclust_internal.quantile_places() RETURNS double precision[]
    LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT array_agg(1 - (1 - i / 200.0) ^ 2 ORDER BY i) FROM generate_series(0, 200) i
$$;

-- The rows whose distances a version keeps.  Samples of complete rows know nothing of those that are imputed: then a sample of all, in units.
CREATE FUNCTION fastclust_internal.profiled_samples(job training_job, units row_units, samples fastop[]) RETURNS fastop[]
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    source row_source := job.source;
BEGIN
    IF source.complete IS NULL THEN
        RETURN samples;
    END IF;
    source.complete := NULL;
    job.source := source;
    job.options := jsonb_build_object('sample_rows', greatest(30000, 200 * job.k)) || job.options;
    RETURN ARRAY[operator_in_units(uniform_sample(job, dim(samples[1])), NULL, NULL, units.center, units.scale)];      -- without groups
END
$$;

-- The results of all parts, of so many rows each, written; their mean squared distance.
CREATE FUNCTION fastclust_internal.finish_parts(job training_job, units row_units, groups text[], operators fastop[], samples fastop[], counts bigint[],
        objectives double precision[]) RETURNS double precision
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    places float8[] := quantile_places();
    results part_result[] := '{}';
    total float8 := 0;
    largest integer := CASE WHEN flag_option(job.options, 'align', false) THEN (SELECT u.i FROM unnest(counts) WITH ORDINALITY u(n, i) ORDER BY u.n DESC, u.i LIMIT 1) END;
    aligned fastop;
BEGIN
    IF largest IS NOT NULL THEN
        aligned := (part_result(job, units, groups[largest], operators[largest], samples[largest], objectives[largest], places, NULL)).operator;
    END IF;
    FOR i IN 1 .. cardinality(groups) LOOP
        results := results || part_result(job, units, groups[i], operators[i], samples[i], objectives[i], places, aligned);
        total := total + counts[i] * (results[cardinality(results)]).objective;
        IF cardinality(results) = 64 OR i = cardinality(groups) THEN
            PERFORM write_results(job.model_id, job.version, results);
            results := '{}';
        END IF;
    END LOOP;
    RETURN total / (SELECT sum(c) FROM unnest(counts) c);
END
$$;

-- train with the option balance: no cluster has more than so many times the mean number of rows

CREATE FUNCTION fastclust_internal.check_balance(job training_job) RETURNS void
    LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
BEGIN
    IF job.options ? 'balance' AND (job.method <> 'kmeans' OR (job.source).group_by IS NOT NULL OR number_option(job.options, 'trim', 0) > 0) THEN
        RAISE feature_not_supported USING MESSAGE = format('option "balance" is not for %s',
                CASE WHEN job.method <> 'kmeans' THEN format('method "%s"', job.method) WHEN (job.source).group_by IS NOT NULL THEN 'groups' ELSE 'option "trim"' END),
            HINT = 'It takes the method auto or kmeans, of one group, with all rows.';
    END IF;
END
$$;

-- Centroids are moved by the rows of the sample; a scan counts all rows, and where the sample told too little, the next limit there is
-- tighter.  Ten scans at most: the most even operator seen, its mean squared distance, and how many times the mean its largest cluster is.
CREATE FUNCTION fastclust_internal.balance_clusters(job training_job, units row_units, space_rows fastop, INOUT op fastop, INOUT objective double precision)
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    asked float8 := number_option(job.options, 'balance', NULL);
    mean float8 := (SELECT sum(c.weight) / job.k FROM centroids(space_rows) c);
    target float8 := asked;
    candidate fastop := op;
    tried fastop;
    scan record;
    times float8;
    least_times float8 := 'infinity';
    begun timestamptz;
BEGIN
    FOR round IN 1 .. 10 LOOP
        begun := begin_step(job, format('balance scan %s', round));
        scan := lloyd_scan(job, units, '{""}', ARRAY[candidate]);
        times := (SELECT max(c.weight) / avg(c.weight) FROM centroids(scan.next[1]) c);
        PERFORM log_step(job, format('balance scan %s', round), begun, scan.sse[1] / scan.n[1], format('largest cluster %s times the mean', round(times::numeric, 2)));
        IF times < least_times THEN
            least_times := times;
            op := candidate;
            objective := scan.sse[1] / scan.n[1];
        END IF;
        EXIT WHEN times <= asked;
        target := CASE WHEN round = 1 THEN asked ELSE greatest(1, 0.98 * target * least(1, sqrt(asked / times))) END;
        tried := candidate;
        candidate := even_centroids(space_rows, tried, target * mean);
        EXIT WHEN candidate = tried;
    END LOOP;
    IF least_times > asked THEN
        RAISE WARNING USING MESSAGE = format('the largest cluster of model "%s" has %s times the mean number of rows, not %s', job.model, round(least_times::numeric, 2), asked),
            HINT = 'Ask for less balance, or for more clusters; equal rows are never parted.';
    END IF;
END
$$;

-- choose_k: the number of clusters, by evidence from a sample

-- The rule is in core/kmeans/choose.h.
CREATE FUNCTION fastclust_internal.evidence_of_clusters(sample fastop, max_k integer, seed bigint, trimmed double precision,
        OUT k integer, OUT cost double precision, OUT gain double precision, OUT stability double precision, OUT verdict text) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_evidence_of_clusters' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000000 ROWS 20;

-- The evidence of a sample in units; a search reads so many numbers at most.
CREATE FUNCTION fastclust_internal.evidence_in_units(sample fastop, units row_units, max_k integer, job training_job,
        OUT k integer, OUT cost double precision, OUT gain double precision, OUT stability double precision, OUT verdict text) RETURNS SETOF record
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT e.*
      FROM (SELECT with_metric(fastop_agg(c.centroid, c.weight ORDER BY c.cluster), COALESCE((job.source).metric, 'euclidean')) AS some_rows
              FROM centroids(operator_in_units(sample, NULL, NULL, units.center, units.scale)) c
             WHERE c.cluster < greatest(4000, 8e6 / dim(sample))) s, evidence_of_clusters(s.some_rows, max_k, job.seed, number_option(job.options, 'trim', 0)) e
$$;

CREATE FUNCTION fastclust_internal.choose_k_of(relation regclass, features name[], vector boolean, max_k integer, options jsonb,
        OUT k integer, OUT cost double precision, OUT gain double precision, OUT stability double precision, OUT verdict text) RETURNS SETOF record
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    job training_job;
    sample fastop;
BEGIN
    PERFORM check_training_options(options, 'choose_k');
    IF relation IS NULL OR max_k IS NULL THEN
        RAISE null_value_not_allowed USING MESSAGE = format('%s must not be NULL', CASE WHEN relation IS NULL THEN 'relation' ELSE 'max_k' END);
    ELSIF max_k NOT BETWEEN 2 AND 1024 THEN
        RAISE invalid_parameter_value USING MESSAGE = format('max_k is %s, out of range', max_k),
            DETAIL = 'It may be from 2 to 1024.';
    ELSIF flag_option(options, 'live', false) THEN
        RETURN QUERY SELECT c.* FROM choose_k_live(relation, features, vector, max_k, options) c;
        RETURN;
    END IF;
    job.k := max_k;
    job.options := options;
    job.seed := seed_option(options);
    job := with_learned_encoder(sampled_job(job, with_condition(row_source(relation, features, vector, NULL), options)));
    sample := uniform_sample(job, dimension_of(job.source));
    RETURN QUERY SELECT e.* FROM evidence_in_units(sample, standard_units(job, sample), max_k, job) e;
END
$$;

-- A job that chooses k itself.
CREATE FUNCTION fastclust_internal.with_chosen_k(job training_job, units row_units, sample fastop) RETURNS training_job
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    begun timestamptz := begin_step(job, 'number of clusters');
    chosen record;
BEGIN
    SELECT e.* INTO chosen FROM evidence_in_units(sample, units, 50, job) e WHERE e.verdict IS NOT NULL;
    PERFORM log_step(job, 'number of clusters', begun, NULL, format('%s: %s', chosen.k,
        CASE chosen.verdict WHEN 'clear' THEN format('clear, stability %s', round(chosen.stability::numeric, 2)) ELSE 'no clear k, the elbow of the cost' END));
    job.k := chosen.k;
    job.note := concat_ws('; ', job.note, format('k: %s', chosen.verdict));
    RETURN job;
END
$$;

CREATE FUNCTION choose_k(relation regclass, features name, max_k integer DEFAULT 50, options jsonb DEFAULT '{}',
        OUT k integer, OUT cost double precision, OUT gain double precision, OUT stability double precision, OUT verdict text) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_door' LANGUAGE C;
CREATE FUNCTION fastclust_internal.choose_k_inside(relation regclass, features name, max_k integer DEFAULT 50, options jsonb DEFAULT '{}',
        OUT k integer, OUT cost double precision, OUT gain double precision, OUT stability double precision, OUT verdict text) RETURNS SETOF record
    LANGUAGE sql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT * FROM choose_k_of(relation, ARRAY[features], true, max_k, options)
$$;
COMMENT ON FUNCTION choose_k(regclass, name, integer, jsonb)
    IS 'how many clusters a column of vectors has: the numbers tried, what each costs and how stable it is; the verdict is at the number to take';
CREATE FUNCTION choose_k(relation regclass, features name[], max_k integer DEFAULT 50, options jsonb DEFAULT '{}',
        OUT k integer, OUT cost double precision, OUT gain double precision, OUT stability double precision, OUT verdict text) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_door' LANGUAGE C;
CREATE FUNCTION fastclust_internal.choose_k_inside(relation regclass, features name[], max_k integer DEFAULT 50, options jsonb DEFAULT '{}',
        OUT k integer, OUT cost double precision, OUT gain double precision, OUT stability double precision, OUT verdict text) RETURNS SETOF record
    LANGUAGE sql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT * FROM choose_k_of(relation, features, false, max_k, options)
$$;
COMMENT ON FUNCTION choose_k(regclass, name[], integer, jsonb)
    IS 'how many clusters columns of numbers have, which are standardised unless the options say otherwise';

-- retrain with the option frozen: the clusters that serve stay where they are, and more are learned around them

-- The job, which keeps the option for its own time only: the next retrain is not frozen for this one was.
CREATE FUNCTION fastclust_internal.frozen_job(job training_job, frozen boolean, old_k integer) RETURNS training_job
    LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
BEGIN
    IF NOT frozen THEN
        RETURN job;
    ELSIF job.method <> 'kmeans' THEN
        RAISE feature_not_supported USING MESSAGE = format('method "%s" moves all clusters: it takes no option "frozen"', job.method),
            HINT = 'Methods with frozen clusters are auto, kmeans.';
    ELSIF job.k < old_k THEN
        RAISE invalid_parameter_value USING MESSAGE = format('k is %s, less than the %s clusters that are frozen', job.k, old_k),
            HINT = 'Leave k as it is, or ask for more.';
    END IF;
    job.options := job.options || '{"frozen": true}';
    RETURN job;
END
$$;

-- The centroids of `fixed`, and those of `op` behind them.
CREATE FUNCTION fastclust_internal.behind_fixed(fixed fastop, op fastop, metric text) RETURNS fastop
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT with_metric(fastop_agg(COALESCE(f.centroid, c.centroid), c.weight ORDER BY c.cluster), metric)
      FROM centroids(op) c LEFT JOIN centroids(fixed) f USING (cluster)
$$;

-- After a step of Lloyd's algorithm: the clusters of the serving version back where they were.
CREATE FUNCTION fastclust_internal.with_frozen(job training_job, group_value text, before fastop, next fastop) RETURNS fastop
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT CASE WHEN NOT flag_option(job.options, 'frozen', false) THEN next
                ELSE behind_fixed((SELECT fastop_agg(c.centroid, c.weight ORDER BY c.cluster)
                                     FROM centroids(before) c WHERE c.cluster < (serving_part(job, group_value)).k), next, COALESCE((job.source).metric, 'euclidean')) END
$$;

-- `count` more clusters for those rows that are farthest from the old ones, a quarter of them, or fifty a cluster.
CREATE FUNCTION fastclust_internal.clusters_of_far_rows(old fastop, space_rows fastop, count integer, metric text, seed bigint) RETURNS fastop
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT cluster_centroids(with_metric(fastop_agg(r.centroid, r.weight ORDER BY r.cluster), metric), count, jsonb_build_object('seed', seed), NULL, 0)
      FROM (SELECT c.cluster, c.centroid, c.weight FROM centroids(space_rows) c
             ORDER BY assign_distance(old, c.centroid) DESC, c.cluster LIMIT greatest(50 * count, clusters(space_rows) / 4)) r
$$;

-- The operator that serves, and more clusters behind its own; frozen as a whole where there are no more.
CREATE FUNCTION fastclust_internal.fit_frozen(job training_job, units row_units, group_value text, space_rows fastop, k integer, OUT op fastop, OUT frozen boolean)
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    old model_versions := serving_part(job, group_value);
    more fastop;
BEGIN
    op := operator_in_units(old.operator, old.center, old.scale, units.center, units.scale);
    IF op IS NULL OR dim(op) <> dim(space_rows) THEN
        RAISE feature_not_supported USING MESSAGE = format('model "%s" has no clusters that can be frozen%s', job.model,
                CASE WHEN group_value = '' THEN '' ELSE format(' for group "%s"', group_value) END),
            HINT = 'Retrain without the option frozen.';
    END IF;
    frozen := clusters(op) >= k;
    IF NOT frozen THEN
        more := clusters_of_far_rows(op, space_rows, k - clusters(op), COALESCE((job.source).metric, 'euclidean'), job.seed);
        op := (SELECT with_metric(fastop_agg(c.centroid, c.weight ORDER BY c.place, c.cluster), COALESCE((job.source).metric, 'euclidean'))
                 FROM (SELECT 0 AS place, o.* FROM centroids(op) o UNION ALL SELECT 1, m.* FROM centroids(more) m) c);
    END IF;
END
$$;

-- guards: what a training would find out late, or never say

-- Does the sample hold all rows?
CREATE FUNCTION fastclust_internal.is_whole(job training_job, sample fastop) RETURNS boolean
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT clusters(sample) < w.wanted AND (job.estimate <= 3 * w.wanted OR clusters(sample) < w.wanted / 4)
      FROM rows_in_budget(dim(sample), number_option(job.options, 'sample_rows', greatest(20000, 50 * job.k))) w(wanted)
$$;

-- k is at most the number of rows, and of different rows.
CREATE FUNCTION fastclust_internal.check_k_of_rows(job training_job, sample fastop) RETURNS void
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    n integer := clusters(sample);
    different bigint;
BEGIN
    IF job.k > n THEN
        RAISE invalid_parameter_value USING
            MESSAGE = format('k is %s, but %s has %s', job.k, (job.source).relation, CASE WHEN n = 1 THEN 'one row' ELSE format('%s rows', n) END);
    ELSIF job.k > 1 AND n::float8 * dim(sample) <= 4e6 THEN
        different := (SELECT count(*) FROM (SELECT DISTINCT c.centroid FROM centroids(sample) c) q);
        IF job.k > different THEN
            RAISE invalid_parameter_value USING MESSAGE = format('k is %s, but the rows of %s are of %s', job.k, (job.source).relation,
                CASE WHEN different = 1 THEN 'one kind only' ELSE format('%s kinds only', different) END), DETAIL = 'All others are equal to one of these in every column that is clustered.';
        END IF;
    END IF;
END
$$;

-- Groups hold rows enough to be clustered.
CREATE FUNCTION fastclust_internal.check_groups(job training_job, sample fastop) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    n integer := clusters(sample);
    groups float8 := estimated_groups(job, n);
BEGIN
    IF groups >= 10 AND groups > n / 2.0 AND is_whole(job, sample) THEN
        RAISE invalid_parameter_value USING MESSAGE = format('option "group_by": column "%s" has %s values in %s rows', (job.source).group_by, groups, n),
            DETAIL = 'Groups of one or two rows have no clusters.', HINT = 'Group by a column that many rows share.';
    ELSIF groups > 10000 AND NOT flag_option(job.options, 'quiet', false) THEN
        RAISE NOTICE USING MESSAGE = format('option "group_by": column "%s" has %s values in a sample of %s rows', (job.source).group_by, groups, n),
            DETAIL = 'Each gets clusters and a sketch of its own.', HINT = 'Cancel this and group by a column of fewer values, if these are more than you thought.';
    END IF;
END
$$;

-- Options that only other methods have.
CREATE FUNCTION fastclust_internal.tell_idle_options(method text, options jsonb) RETURNS void
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, fastclust_internal, pg_temp AS $$
DECLARE
    idle record;
BEGIN
    FOR idle IN
        SELECT o.name, o.methods FROM (VALUES ('trim', '{auto,kmeans,kernel}'::text[]), ('kernel', '{kernel}'), ('landmarks', '{kernel}'), ('rank', '{kernel}'),
                                              ('factorize', '{qkmeans}'), ('factorize_options', '{qkmeans}')) o(name, methods)
         WHERE tell_idle_options.options ->> o.name <> '0' AND tell_idle_options.method <> ALL (o.methods) LOOP
        RAISE WARNING USING MESSAGE = format('option "%s" has no effect with method "%s"', idle.name, method),
            HINT = format('Methods that have it: %s.', array_to_string(array_remove(idle.methods, 'auto'), ', '));
    END LOOP;
END
$$;

-- Columns that cannot tell rows apart: of one value, or of nearly as many as there are rows.
CREATE FUNCTION fastclust_internal.tell_useless_columns(job training_job, sample fastop) RETURNS void
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    feature record;
BEGIN
    FOR feature IN
        SELECT f.feature, max(m.deviation) = 0 AS is_constant, max(m.mean) FILTER (WHERE f.category = 'other') AS other,
               (SELECT n.share FROM encoder_nulls((job.source).encoder) n WHERE n.feature = f.feature) AS missing
          FROM encoder_features((job.source).encoder) f
          JOIN (SELECT u.* FROM centroid_moments(sample) c, unnest(c.mean, c.deviation) WITH ORDINALITY u(mean, deviation, dimension)) m USING (dimension)
         GROUP BY 1 ORDER BY min(f.dimension) LOOP
        IF feature.missing = 1 THEN
            RAISE WARNING USING MESSAGE = format('column "%s" is NULL in every row%s: leave it out', feature.feature, CASE WHEN is_whole(job, sample) THEN '' ELSE ' of a sample' END);
        ELSIF feature.is_constant THEN
            RAISE WARNING USING MESSAGE = format('column "%s" is the same in every row%s: it tells no rows apart', feature.feature, CASE WHEN is_whole(job, sample) THEN '' ELSE ' of a sample' END);
        ELSIF feature.other > 0.9 THEN
            RAISE WARNING USING MESSAGE = format('column "%s" has too many values to tell rows apart: %s %% of the rows count as "other"', feature.feature, floor(100 * feature.other)),
                HINT = 'A name or an identifier is better left out.';
        END IF;
    END LOOP;
END
$$;

-- The sample, once what it says of the training is said.
CREATE FUNCTION fastclust_internal.guarded_sample(job training_job, sample fastop) RETURNS fastop
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
BEGIN
    IF (job.source).group_by IS NOT NULL THEN
        PERFORM check_groups(job, sample);
    ELSIF is_whole(job, sample) THEN
        PERFORM check_k_of_rows(job, sample);
    END IF;
    IF (job.source).encoder IS NOT NULL AND NOT flag_option(job.options, 'quiet', false) THEN
        PERFORM tell_useless_columns(job, sample);
    END IF;
    RETURN sample;
END
$$;

-- levels: clusters of clusters

-- Ward's tree of the clusters: what each step joins, 0 to k - 1 a cluster and k + i - 1 what step i made.
CREATE FUNCTION fastclust_internal.cluster_joins(op fastop, OUT step integer, OUT "left" integer, OUT "right" integer, OUT height double precision,
        OUT weight double precision) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_cluster_joins' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100000;
-- Clusters of one number joined: weighted means.
CREATE FUNCTION fastclust_internal.joined_clusters(op fastop, numbers integer[]) RETURNS fastop
    AS 'MODULE_PATHNAME', 'fastclust_joined_clusters' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10000;
-- What a search for the nearest rows finds through buckets, beside all distances; each bucket's rows and sum of squares.
CREATE FUNCTION fastclust_internal.bucket_recall(op fastop, searched_rows fastop, queries integer, neighbours double precision, probes integer,
        OUT recall double precision, OUT read_share double precision, OUT counts double precision[], OUT squares double precision[])
    AS 'MODULE_PATHNAME', 'fastclust_bucket_recall' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000000;

-- The argument levels of train is an option, which retrain keeps.
CREATE FUNCTION fastclust_internal.with_levels(options jsonb, levels integer[]) RETURNS jsonb
    LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF levels IS NULL THEN
        RETURN options;
    ELSIF array_ndims(levels) IS DISTINCT FROM 1 OR array_position(levels, NULL) IS NOT NULL THEN
        RAISE invalid_parameter_value USING MESSAGE = format('levels is %L, not a list of numbers', levels), HINT = 'Two levels: levels => ''{8, 8}''.';
    ELSIF options ->> 'levels' IS NOT NULL AND options -> 'levels' <> to_jsonb(levels) THEN
        RAISE invalid_parameter_value USING MESSAGE = 'levels are given twice', HINT = 'Leave the option levels out of options.';
    END IF;
    RETURN options || jsonb_build_object('levels', levels);
END
$$;

CREATE FUNCTION fastclust_internal.levels_of(options jsonb) RETURNS integer[]
    LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT array_agg(l.x::numeric::integer ORDER BY l.i) FROM jsonb_array_elements_text(options -> 'levels') WITH ORDINALITY l(x, i)
$$;

-- The number of clusters: with levels their product.
CREATE FUNCTION fastclust_internal.clusters_of_levels(options jsonb, k integer) RETURNS integer
    LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, fastclust_internal, pg_temp AS $$
DECLARE
    product numeric := 1;
    level numeric;
BEGIN
    IF NOT options ? 'levels' THEN
        RETURN k;
    END IF;
    IF jsonb_array_length(options -> 'levels') NOT BETWEEN 2 AND 8 THEN
        RAISE invalid_parameter_value USING MESSAGE = format('levels are %s, out of range', options -> 'levels'), DETAIL = 'There may be 2 to 8 levels.';
    END IF;
    FOR level IN SELECT l.x::numeric FROM jsonb_array_elements_text(options -> 'levels') l(x) LOOP
        IF level <> trunc(level) THEN
            RAISE invalid_parameter_value USING MESSAGE = format('a level is %s, not a whole number', level);
        END IF;
        product := product * level;
    END LOOP;
    IF product > 1048576 THEN
        RAISE invalid_parameter_value USING MESSAGE = format('levels %s make %s clusters, out of range', options -> 'levels', product),
            DETAIL = 'There may be 1048576 clusters.';
    ELSIF k IS NOT NULL AND k <> product THEN
        RAISE invalid_parameter_value USING MESSAGE = format('k is %s, but levels %s make %s clusters', k, options -> 'levels', product),
            HINT = 'With levels k may be NULL.';
    END IF;
    RETURN product;
END
$$;

-- The parent of each node: k-means of the nodes by their weights.  Parents are numbered by their lowest child.
CREATE FUNCTION fastclust_internal.node_parents(nodes fastop, parents integer, seed bigint) RETURNS integer[]
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    WITH above AS MATERIALIZED (SELECT cluster_centroids(nodes, least(parents, clusters(nodes)), jsonb_build_object('seed', seed)) AS op),
         child AS (SELECT c.cluster, assign(a.op, c.centroid) AS label FROM above a, centroids(nodes) c),
         parent AS (SELECT c.label, row_number() OVER (ORDER BY min(c.cluster))::integer - 1 AS number FROM child c GROUP BY 1)
    SELECT array_agg(p.number ORDER BY c.cluster) FROM child c JOIN parent p USING (label)
$$;

-- The numbers above each cluster, from the top down: k rows of as many as there are levels above.  NULL without levels.
CREATE FUNCTION fastclust_internal.level_paths(op fastop, options jsonb) RETURNS integer[]
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    levels integer[] := levels_of(options);
    nodes fastop := op;
    node integer[] := ARRAY(SELECT generate_series(0, clusters(op) - 1));
    paths integer[];
    parents integer[];
    width bigint := clusters(op);
BEGIN
    IF levels IS NULL THEN
        RETURN NULL;
    END IF;
    FOR l IN REVERSE cardinality(levels) - 1 .. 1 LOOP
        width := greatest(1, width / levels[l + 1]);
        parents := node_parents(nodes, width::integer, seed_option(options));
        nodes := joined_clusters(nodes, parents);
        node := ARRAY(SELECT parents[n + 1] FROM unnest(node) WITH ORDINALITY u(n, i) ORDER BY i);
        paths := CASE WHEN paths IS NULL THEN (SELECT array_agg(ARRAY[n] ORDER BY i) FROM unnest(node) WITH ORDINALITY u(n, i))
                      ELSE (SELECT array_agg(ARRAY[n] || ARRAY(SELECT paths[i][j] FROM generate_series(1, array_length(paths, 2)) j) ORDER BY i) FROM unnest(node) WITH ORDINALITY u(n, i)) END;
    END LOOP;
    RETURN paths;
END
$$;

-- ---- the recall of a search through buckets ----

-- The rows of a sample that a search is tried on, as an operator takes them; the order of a sample is random.
CREATE FUNCTION fastclust_internal.searched_sample(sample fastop, units row_units) RETURNS fastop
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
BEGIN
    IF clusters(sample) > 6000 THEN
        sample := (SELECT fastop_agg(c.centroid, c.weight ORDER BY c.cluster) FROM centroids(sample) c WHERE c.cluster < 6000);
    END IF;
    IF units.center IS NOT NULL OR units.scale IS NOT NULL THEN
        sample := operator_in_units(sample, NULL, NULL, units.center, units.scale);
    END IF;
    RETURN rows_in_space(sample, units.map);
END
$$;

-- By a sample of n rows in the operator's space: the nearest of a sample are as a sample of the nearest.
CREATE FUNCTION fastclust_internal.sampled_recall(op fastop, sample fastop, n bigint, probes integer,
        OUT recall double precision, OUT read_share double precision, OUT counts double precision[], OUT squares double precision[])
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT r.* FROM bucket_recall(op, sample, 1500, 10.0 * clusters(sample) / greatest(n, clusters(sample)), least(probes, clusters(op))) r
$$;

-- What a training with the option probes measures; NULL for groups.
CREATE FUNCTION fastclust_internal.training_recall(job training_job, units row_units, sample fastop, operators fastop[], counts bigint[])
    RETURNS double precision
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT (sampled_recall(operators[1], searched_sample(sample, units), counts[1], (job.options ->> 'probes')::integer)).recall
     WHERE job.options ? 'probes' AND (job.source).group_by IS NULL
$$;

-- methods of train: from the weighted sample and the sketch of a part to its operator

-- A method that there is, and that trains groups where there are some.
CREATE FUNCTION fastclust_internal.check_method(method text, group_by name) RETURNS void
    LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, fastclust_internal, pg_temp AS $$
DECLARE
    methods text[] := '{auto,compressive,kmeans,qkmeans,kernel}';
BEGIN
    IF method ~ '^[[:space:]]*[{]' THEN
        RAISE invalid_parameter_value USING MESSAGE = format('method is %s, which looks like options', method),
            HINT = format('Name the argument: options => %L.', method);
    ELSIF method <> ALL (methods) THEN
        RAISE invalid_parameter_value USING MESSAGE = format('method "%s" is not known', method), HINT = name_hint(method, methods, 'Methods are');
    ELSIF group_by IS NOT NULL AND method IN ('qkmeans', 'kernel') THEN
        RAISE feature_not_supported USING MESSAGE = format('method "%s" does not train groups', method),
            HINT = 'Methods for groups are auto, compressive, kmeans.';
    END IF;
END
$$;

-- ---- kernel: the features of a map ----

-- Landmarks chosen from the sample; without the option kernel an rbf as wide as the rows.
CREATE FUNCTION fastclust_internal.with_map(job training_job, units row_units, sample fastop) RETURNS row_units
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    rows_in_units fastop := operator_in_units(sample, NULL, NULL, units.center, units.scale);
    kernel kernel := (job.options ->> 'kernel')::kernel;
    wanted integer := number_option(job.options, 'landmarks', least(500, greatest(100, 10 * job.k)));
    landmarks fastop;
    begun timestamptz := clock_timestamp();
BEGIN
    kernel := COALESCE(kernel, rbf_kernel(1 / COALESCE((SELECT NULLIF(sum(d * d), 0) FROM centroid_moments(rows_in_units) m, unnest(m.deviation) d), 1)));
    landmarks := (SELECT landmarks_agg(c.centroid, kernel, wanted, job.seed) FROM centroids(rows_in_units) c);
    units.map := nystroem(landmarks, kernel, least(clusters(landmarks), number_option(job.options, 'rank', job.k)::integer));
    PERFORM log_step(job, 'map', begun, NULL, format('%s landmarks, kernel %s', clusters(landmarks), kernel));
    RETURN units;
END
$$;

-- ---- k-means ----

-- The old centroids in units, where they can be compared.
CREATE FUNCTION fastclust_internal.old_operator(job training_job, units row_units, group_value text, k integer) RETURNS fastop
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT operator_in_units(old.operator, old.center, old.scale, units.center, units.scale)
      FROM serving_part(job, group_value) old
     WHERE old.map IS NULL AND units.map IS NULL AND clusters(old.operator) = old_operator.k
       AND metric_option(old.options) = COALESCE((job.source).metric, 'euclidean')
$$;

-- How k-means searches: groups share, by their rows, what would be a good search of each of thirty.
CREATE FUNCTION fastclust_internal.search_settings(job training_job, n integer, d integer) RETURNS jsonb
    LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT jsonb_strip_nulls(jsonb_build_object('seed', job.seed,
               'work', CASE WHEN (job.source).group_by IS NOT NULL THEN greatest(2e6, 100.0 * n * job.k * d, 3e9 * n / greatest(n, job.estimate)) END))
$$;

-- Of wide rows a search takes fewer, a million numbers of them and a hundred rows a cluster at least; the sample's parts are random ones.
CREATE FUNCTION fastclust_internal.searched_rows(space_rows fastop, k integer) RETURNS fastop
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    wanted integer := greatest(10000, 100 * k, 1e6 / dim(space_rows));
BEGIN
    RETURN CASE WHEN clusters(space_rows) < 2 * wanted THEN space_rows
                ELSE (SELECT with_metric(fastop_agg(c.centroid, c.weight ORDER BY c.cluster), metric_of(space_rows)) FROM centroids(space_rows) c WHERE c.cluster < wanted) END;
END
$$;

-- The search, and what it found refined on all rows of the sample.
CREATE FUNCTION fastclust_internal.found_centroids(space_rows fastop, k integer, settings jsonb, trimmed double precision) RETURNS fastop
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    some_rows fastop := searched_rows(space_rows, k);
    op fastop := cluster_centroids(some_rows, k, settings, NULL, trimmed);
BEGIN
    RETURN CASE WHEN clusters(some_rows) = clusters(space_rows) THEN op
                ELSE cluster_centroids(space_rows, k, settings || '{"n_init": 0}', op, trimmed) END;
END
$$;

-- K-means of the weighted sample.  A new solution must beat the old centroids by more than noise, 1 % or the error of the comparison:
-- else those stay, frozen, or k-means goes on from them.  With the option trim the rows farthest out count nowhere, and no scan moves what
-- was found without them.
CREATE FUNCTION fastclust_internal.fit_kmeans(job training_job, old fastop, space_rows fastop, k integer, OUT op fastop, OUT frozen boolean)
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    settings jsonb := search_settings(job, clusters(space_rows), dim(space_rows));
    trimmed float8 := number_option(job.options, 'trim', 0);
    continued fastop;
    scores record;
BEGIN
    op := found_centroids(space_rows, k, settings, trimmed);
    frozen := trimmed > 0;
    IF dim(old) = dim(op) THEN
        scores := fit_comparison(old, op, space_rows, trimmed);
        IF scores.mean_a <= scores.mean_b + greatest(0.01 * scores.mean_b, scores.error) THEN
            op := old;
            frozen := true;
            RETURN;
        END IF;
        continued := cluster_centroids(space_rows, k, settings || '{"n_init": 0}', old, trimmed);
        scores := fit_comparison(continued, op, space_rows, trimmed);
        IF scores.mean_a <= scores.mean_b + greatest(0.01 * scores.mean_b, scores.error) THEN
            op := continued;
        END IF;
    END IF;
END
$$;

-- ---- compressive ----

-- Options of decode: the seed, and where to start from as well.
CREATE FUNCTION fastclust_internal.decode_settings(seed bigint, initial fastop, k integer) RETURNS jsonb
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT jsonb_build_object('seed', seed)
        || COALESCE((SELECT jsonb_build_object('init', jsonb_agg(c.centroid ORDER BY c.cluster))
                       FROM centroids(initial) c WHERE clusters(initial) <= k), '{}')
$$;

-- The sketch alone tells.  A group's sketch is of a spec for all groups, which may not suit it: the k-means of its sample is a start, and stays where the
-- sketch has no better.  Outliers do not decide: the 5 % of the rows that are farthest are left out.
CREATE FUNCTION fastclust_internal.fit_compressive(job training_job, units row_units, spec sketch_spec, old fastop, sketch sketch,
        space_rows fastop, k integer, OUT op fastop, OUT frozen boolean)
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    initial fastop := CASE WHEN old IS NOT NULL THEN old
                           WHEN (job.source).group_by IS NOT NULL THEN cluster_centroids(space_rows, k, search_settings(job, clusters(space_rows), dim(space_rows))) END;
    scores record;
BEGIN
    op := (SELECT with_metric(fastop_agg(c.centroid, c.weight ORDER BY c.cluster), COALESCE((job.source).metric, 'euclidean'))
             FROM decode(sketch, k, 'auto', decode_settings(job.seed, operator_in_units(initial, units.center, units.scale, NULL, NULL), k), spec) c);
    op := operator_in_units(op, NULL, NULL, units.center, units.scale);
    frozen := false;
    IF (job.source).group_by IS NOT NULL THEN
        scores := fit_comparison(initial, op, space_rows, 0.05);
        op := CASE WHEN scores.mean_a < scores.mean_b THEN initial ELSE op END;
    END IF;
    IF dim(old) = dim(op) THEN
        scores := fit_comparison(old, op, space_rows, 0.05);
        IF scores.mean_a <= scores.mean_b * 1.01 THEN
            op := old;
            frozen := true;
        END IF;
    END IF;
END
$$;

-- ---- QK-means ----

-- Centroids as a product, by the options of factorize; auto judges by the training rows, and by their distances too.
CREATE FUNCTION fastclust_internal.factorized(job training_job, op fastop, space_rows fastop) RETURNS fastop
    LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT CASE WHEN job.options ->> 'factorize' = 'auto'
                THEN factorize(op, 'auto', '{"sse_ratio": 1.1}' || COALESCE(job.options -> 'factorize_options', '{}'), space_rows)
                ELSE factorize(op, job.options ->> 'factorize', COALESCE(job.options -> 'factorize_options', '{}')) END
$$;

-- Rows are assigned with the product, means of its clusters are factorized anew, as in QK-means but with any method of
-- factorize.  The product with the least sum of squares seen is the result.
CREATE FUNCTION fastclust_internal.alternate_factorized(job training_job, units row_units, op fastop, space_rows fastop) RETURNS fastop
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    tolerance float8 := number_option(job.options, 'tolerance', 1e-3);
    candidate fastop := factorized(job, op, space_rows);
    scan record;
    objective float8;
    best float8 := 'infinity';
    begun timestamptz;
BEGIN
    FOR i IN 0 .. number_option(job.options, 'iterations', 3)::integer LOOP
        begun := clock_timestamp();
        scan := lloyd_scan(job, units, '{""}', ARRAY[candidate]);
        objective := scan.sse[1] / scan.n[1];
        PERFORM log_step(job, format('factored scan %s', i), begun, objective, format('%s non-zeros', nonzeros(candidate)));
        EXIT WHEN objective >= best;
        op := candidate;
        EXIT WHEN best - objective < tolerance * objective;
        best := objective;
        candidate := factorized(job, scan.next[1], space_rows);
    END LOOP;
    RETURN op;
END
$$;

-- With the rows in the loop: by scans of the table where the rows are vectors as they stand, else on the sample.
CREATE FUNCTION fastclust_internal.learn_product(job training_job, units row_units, space_rows fastop) RETURNS fastop
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    settings jsonb := jsonb_strip_nulls(jsonb_build_object('iterations', job.options -> 'iterations', 'tolerance', job.options -> 'tolerance',
                          'seed', job.seed)) || COALESCE(job.options -> 'factorize_options', '{}');
    op fastop;
    step record;
    begun timestamptz := clock_timestamp();
BEGIN
    IF (job.source).vector AND (job.source).metric IS NULL AND units.center IS NULL AND (job.source).raw NOT LIKE '%::real[]' THEN
        FOR step IN SELECT * FROM qkmeans_log((job.source).relation::regclass, (job.source).features[1], job.k, settings) LOOP
            op := COALESCE(step.op, op);
            PERFORM log_step(job, format('factored scan %s', step.iteration), clock_timestamp() - step.seconds * interval '1 s', NULL,
                             format('%s non-zeros, %s empty', step.nonzeros, step.empty));
        END LOOP;
        RETURN op;
    END IF;
    op := (SELECT with_metric(qkmeans_agg(c.centroid, job.k, settings), COALESCE((job.source).metric, 'euclidean')) FROM centroids(space_rows) c);
    PERFORM log_step(job, 'QK-means', begun, NULL, format('on the sample, %s non-zeros', nonzeros(op)));
    RETURN op;
END
$$;

-- L. Giffon et al. 2021
CREATE FUNCTION fastclust_internal.fit_qkmeans(job training_job, units row_units, old fastop, space_rows fastop, k integer) RETURNS fastop
    LANGUAGE sql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT CASE WHEN job.options ? 'factorize' THEN alternate_factorized(job, units, f.op, space_rows) ELSE learn_product(job, units, space_rows) END
      FROM (SELECT) one LEFT JOIN LATERAL fit_kmeans(job, old, space_rows, k) f ON job.options ? 'factorize'
$$;

-- train: from a table to a new version of a model
--
--     sample, units, spec     from some rows
--     sketch, weighted rows   one scan, of every group
--     operator                in memory, of every group
--     Lloyd's algorithm       scans
--     numbers, distances      in memory

-- Scans that follow: none where the weighted rows are all rows.
CREATE FUNCTION fastclust_internal.scans_of(job training_job, whole boolean) RETURNS integer
    LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT CASE job.method WHEN 'compressive' THEN number_option(job.options, 'polish', CASE WHEN (job.source).group_by IS NULL THEN 0 ELSE 1 END)
                           WHEN 'qkmeans' THEN 0
                           ELSE number_option(job.options, 'iterations', CASE WHEN whole THEN 0 ELSE 10 END) END::integer
$$;

-- The operator of a part.
CREATE FUNCTION fastclust_internal.fit_part(job training_job, units row_units, spec sketch_spec, group_value text, sketch sketch, weighted_rows fastop,
        OUT op fastop, OUT frozen boolean)
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    k integer := CASE WHEN (job.source).group_by IS NULL THEN job.k ELSE least(job.k, clusters(weighted_rows)) END;
    old fastop := CASE WHEN job.version > 1 AND NOT flag_option(job.options, 'fresh', false) THEN old_operator(job, units, group_value, k) END;
    space_rows fastop := rows_in_space(weighted_rows, units.map);
    found record;
BEGIN
    frozen := false;
    IF flag_option(job.options, 'frozen', false) THEN
        SELECT f.op, f.frozen INTO op, frozen FROM fit_frozen(job, units, group_value, space_rows, k) f;
    ELSIF job.method = 'compressive' THEN
        SELECT f.op, f.frozen INTO op, frozen FROM fit_compressive(job, units, spec, old, sketch, space_rows, k) f;
    ELSIF job.method = 'qkmeans' THEN
        op := fit_qkmeans(job, units, old, space_rows, k);
    ELSE
        found := fit_kmeans(job, old, space_rows, k);       -- no query: its plan would hold the rows once more
        op := found.op;
        frozen := found.frozen;
    END IF;
END
$$;

-- How many groups there are about: those of some rows.
CREATE FUNCTION fastclust_internal.estimated_groups(job training_job, wanted double precision) RETURNS double precision
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    groups float8 := 1;
BEGIN
    IF (job.source).group_by IS NOT NULL THEN
        EXECUTE format('SELECT count(DISTINCT %s) %s', (job.source).group_value, rows_from(job.source, wanted, job.estimate, job.seed)) INTO groups;
    END IF;
    RETURN greatest(1, groups);
END
$$;

-- What is known of the parts of a version: arrays, an element a part.
CREATE TYPE fastclust_internal.trained_parts AS (groups text[], operators fastop[], frozen boolean[], samples fastop[], counts bigint[], whole boolean);

-- Rows with a NULL were left out, or got a value in its place: nobody should have to find out.
CREATE FUNCTION fastclust_internal.tell_nulls(job training_job, imputed bigint, n bigint) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    shares text := (SELECT string_agg(format('%s %s %%', e.feature, round((100 * e.share)::numeric, 1)), ', ' ORDER BY e.share DESC)
                      FROM encoder_nulls((job.source).encoder) e WHERE e.share > 0);
    skipped text := (SELECT string_agg(format('"%s"', e.feature), ', ') FROM encoder_nulls((job.source).encoder) e WHERE e.share > 0 AND e.nulls = 'skip');
BEGIN
    IF flag_option(job.options, 'quiet', false) THEN
        RETURN;
    END IF;
    IF imputed > 0 AND (job.source).metric IS NOT NULL THEN
        RAISE NOTICE USING MESSAGE = format('%s of %s rows are zero vectors, which have no direction and are skipped', imputed, n + imputed);
    ELSIF imputed > 0 THEN
        RAISE NOTICE USING MESSAGE = format('%s of %s rows have a NULL, which counts as the mean of its column or as "missing"', imputed, n),
            DETAIL = 'In a sample: ' || shares || '.', HINT = 'The option nulls leaves such rows out: ''{"nulls": "skip"}''.';
    END IF;
    IF skipped IS NOT NULL THEN
        RAISE NOTICE USING MESSAGE = format('rows with a NULL in %s are left out', skipped), DETAIL = 'In a sample: ' || shares || '.';
    END IF;
END
$$;

-- One scan; the operator of every part, stored with its sketch.
CREATE FUNCTION fastclust_internal.fit_parts(job training_job, units row_units, spec sketch_spec, sampling sampling) RETURNS trained_parts
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    part record;
    fit record;
    groups text[] := '{}';
    operators fastop[] := '{}';
    frozen boolean[] := '{}';
    samples fastop[] := '{}';
    counts bigint[] := '{}';
    pending model_versions[] := '{}';
    imputed bigint := 0;
    fitting text := CASE job.method WHEN 'compressive' THEN 'decode' WHEN 'qkmeans' THEN 'QK-means' ELSE 'k-means' END;
    begun timestamptz := begin_step(job, 'sketch');
BEGIN
    FOR part IN SELECT * FROM scan_groups(job, units, spec, sampling) LOOP
        IF groups = '{}' THEN
            PERFORM log_step(job, 'sketch', begun, NULL, NULL);
            begun := begin_step(job, fitting);
        END IF;
        fit := fit_part(job, units, spec, part.group_value, part.sketch, part.weighted_rows);
        groups := groups || part.group_value;
        operators := operators || fit.op;
        frozen := frozen || fit.frozen;
        samples := samples || part.weighted_rows;
        counts := counts || row_count(part.sketch);
        pending := pending || version_part(job, units, spec, part.group_value, fit.op, part.sketch, part.null_moments, part.imputed);
        imputed := imputed + COALESCE(part.imputed, 0);
        IF cardinality(pending) = 64 THEN
            PERFORM write_parts(pending);
            pending := '{}';
        END IF;
    END LOOP;
    IF groups = '{}' THEN
        PERFORM reject_no_rows(job);
    ELSIF pending <> '{}' THEN
        PERFORM write_parts(pending);
    END IF;
    PERFORM log_step(job, fitting, begun, NULL,
                     (SELECT format('%s rows%s%s', sum(u.n), CASE WHEN sum(u.n) > sum(clusters(u.s)) THEN format(', a sample of %s', sum(clusters(u.s))) ELSE '' END,
                                    CASE WHEN (job.source).group_by IS NULL THEN '' ELSE format(', %s groups', count(*)) END)
                        FROM unnest(samples, counts) u(s, n)));
    PERFORM tell_nulls(job, imputed, (SELECT sum(n)::bigint FROM unnest(counts) n));
    RETURN ROW(groups, operators, frozen, samples, counts, (SELECT bool_and(clusters(u.s) = u.n) FROM unnest(samples, counts) u(s, n)))::trained_parts;
END
$$;

CREATE FUNCTION fastclust_internal.run_training(asked training_job) RETURNS integer
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    encoded training_job := with_learned_encoder(asked);
    sample fastop := guarded_sample(encoded, uniform_sample(encoded, dimension_of(encoded.source)));
    units row_units := standard_units(encoded, sample);
    job training_job := CASE WHEN asked.k IS NULL THEN with_chosen_k(encoded, units, sample) ELSE encoded END;
    spec sketch_spec := training_spec(job, units, sample);
    space row_units := CASE job.method WHEN 'kernel' THEN with_map(job, units, sample) ELSE units END;
    parts trained_parts := fit_parts(job, space, spec, coreset_sampling(job, units, spec, sample, estimated_groups(job, clusters(sample))));
    operators fastop[] := parts.operators;
    scans record;
    even record;
    objective float8;
    begun timestamptz;
BEGIN
    parts.operators := NULL;        -- the scans take memory enough
    IF NOT job.options ? 'probes' THEN
        sample := NULL;
    END IF;
    scans := lloyd_scans(job, space, parts.groups, parts.frozen, scans_of(job, parts.whole), operators);
    operators := NULL;
    IF job.options ? 'balance' THEN
        even := balance_clusters(job, space, parts.samples[1], scans.operators[1], scans.objectives[1]);
        scans.operators := ARRAY[even.op];
        scans.objectives := ARRAY[even.objective];
    END IF;
    begun := clock_timestamp();
    job.recall := training_recall(job, space, sample, scans.operators, parts.counts);
    objective := finish_parts(job, space, parts.groups, scans.operators, profiled_samples(job, units, parts.samples), parts.counts, scans.objectives);
    PERFORM log_step(job, 'profile', begun, objective, NULL);
    PERFORM serve_version(job.model_id, job.version, (job.source).group_by, number_option(job.options, 'keep', 5)::integer);
    PERFORM keep_model(job);
    IF job.options ->> 'half_life' IS NOT NULL THEN
        RETURN train_of_lately(job);
    END IF;
    RETURN job.version;
END
$$;

-- Options as a version keeps them: a condition with its names resolved, for it is read again in other sessions.
CREATE FUNCTION fastclust_internal.stored_options(source row_source, options jsonb) RETURNS jsonb
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT CASE WHEN options ->> 'where' IS NULL THEN options - 'where'
                ELSE options || jsonb_build_object('where', (row_condition(source.relation::regclass, options ->> 'where')).condition) END
$$;

-- The job of the next version of a model that is held.
CREATE FUNCTION fastclust_internal.next_job(held models, source row_source, k integer, method text, options jsonb) RETURNS training_job
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    job training_job;
BEGIN
    PERFORM check_method(method, source.group_by), check_training_options(options, 'train');     -- some were stored long ago
    job.model_id := held.id;
    job.model := held.model;
    job.version := (SELECT COALESCE(max(v.version), 0) + 1 FROM model_versions v WHERE v.model_id = held.id);
    job.k := clusters_of_levels(options, k);
    job.options := stored_options(source, options);
    job.seed := seed_option(options);
    job := sampled_job(job, with_condition(source, options));
    IF method = 'kernel' AND (job.source).metric IS NOT NULL THEN
        RAISE feature_not_supported USING MESSAGE = 'method "kernel" has no metric but its kernel',
            HINT = 'Its kernel of cosines is an option: ''{"kernel": "cosine()"}''.';
    END IF;
    job.started_at := clock_timestamp();
    job.method := CASE method WHEN 'auto' THEN 'kmeans' ELSE method END;
    job.note := CASE WHEN method = 'auto' THEN 'kmeans: nearest to the least sum of squares over all rows' END;
    PERFORM check_live_training(job), check_balance(job);
    RETURN job;
END
$$;

-- What a superuser trains on today he is not asked about at night.
CREATE FUNCTION fastclust_internal.warn_of_foreign_code(relation regclass, columns name[], options jsonb) RETURNS void
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    problem text := CASE WHEN (SELECT r.rolsuper FROM pg_roles r WHERE r.rolname = current_user) THEN foreign_scan_problem(relation, columns) END;
BEGIN
    IF problem IS NOT NULL AND NOT flag_option(options, 'quiet', false) THEN
        RAISE NOTICE USING MESSAGE = format('%s, whose code a scan may run with the rights of a superuser', problem),
            HINT = format('Train as the owner of the table, or name it at each retrain: ''{"relation": %s}''.', to_json(relation::text));
    END IF;
END
$$;

CREATE FUNCTION fastclust_internal.train_model(model_name text, relation regclass, features name[], vector boolean, k integer, method text, options jsonb)
    RETURNS integer
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    held models;
BEGIN
    PERFORM check_training_options(options, 'train');
    options := given_options(options);
    k := clusters_of_levels(options, k);
    IF k NOT BETWEEN 1 AND 1048576 THEN
        RAISE invalid_parameter_value USING MESSAGE = format('k is %s, out of range', k),
            DETAIL = 'It may be from 1 to 1048576, or NULL, which chooses it.';
    ELSIF relation IS NULL OR method IS NULL THEN
        RAISE null_value_not_allowed USING MESSAGE = format('%s must not be NULL', CASE WHEN relation IS NULL THEN 'relation' ELSE 'method' END);
    ELSIF k IS NULL AND (options ? 'group_by' OR method = 'kernel') THEN
        RAISE null_value_not_allowed USING MESSAGE = format('k must not be NULL %s', CASE WHEN method = 'kernel' THEN 'for method "kernel"' ELSE 'with option "group_by"' END);
    END IF;
    PERFORM check_features(features);
    PERFORM warn_of_foreign_code(relation, features || (options ->> 'group_by')::name, options);
    IF NOT flag_option(options, 'quiet', false) THEN
        PERFORM tell_idle_options(method, options);
    END IF;
    held := claim_model(model_name, NOT flag_option(options, 'nowait', false));
    RETURN run_training(next_job(held, row_source(relation, features, vector, options ->> 'group_by'), k, method, options - 'nowait'));
END
$$;

CREATE FUNCTION train(model text, relation regclass, features name, k integer, method text DEFAULT 'auto', options jsonb DEFAULT '{}',
        levels integer[] DEFAULT NULL)
    RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_door' LANGUAGE C;
CREATE FUNCTION fastclust_internal.train_inside(model text, relation regclass, features name, k integer, method text DEFAULT 'auto', options jsonb DEFAULT '{}',
        levels integer[] DEFAULT NULL)
    RETURNS integer
    LANGUAGE sql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT train_model(model, relation, ARRAY[features], true, k, method, with_levels(options, levels))
$$;
COMMENT ON FUNCTION train(text, regclass, name, integer, text, jsonb, integer[])
    IS 'train a model on a column of vectors; returns the new version, which predict uses from the commit on';
CREATE FUNCTION train(model text, relation regclass, features name[], k integer, method text DEFAULT 'auto', options jsonb DEFAULT '{}',
        levels integer[] DEFAULT NULL)
    RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_door' LANGUAGE C;
CREATE FUNCTION fastclust_internal.train_inside(model text, relation regclass, features name[], k integer, method text DEFAULT 'auto', options jsonb DEFAULT '{}',
        levels integer[] DEFAULT NULL)
    RETURNS integer
    LANGUAGE sql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT train_model(model, relation, features, false, k, method, with_levels(options, levels))
$$;
COMMENT ON FUNCTION train(text, regclass, name[], integer, text, jsonb, integer[])
    IS 'train a model on columns of numbers, which are standardised unless the options say otherwise';

-- training_progress: what runs now, for those who may know of it

-- All trainings of this database; only the owner of the extension asks.
CREATE FUNCTION fastclust_internal.running_trainings(OUT pid integer, OUT role oid, OUT model_id bigint, OUT model text, OUT step text, OUT rows_done bigint,
        OUT rows_about double precision, OUT begun timestamptz, OUT step_begun timestamptz) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_running_trainings' LANGUAGE C;

-- A role sees what it runs itself, what roles run whose member it is, and what is run on models that it may read by those who may change them.
CREATE FUNCTION fastclust_internal.training_progress_rows(OUT model text, OUT role name, OUT step text, OUT rows_done bigint, OUT rows_about bigint,
        OUT percent double precision, OUT elapsed interval, OUT remaining interval, OUT pid integer) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C;
CREATE FUNCTION fastclust_internal.training_progress_rows_as_owner(caller oid, OUT model text, OUT role name, OUT step text, OUT rows_done bigint, OUT rows_about bigint,
        OUT percent double precision, OUT elapsed interval, OUT remaining interval, OUT pid integer) RETURNS SETOF record
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
BEGIN
    RETURN QUERY
        SELECT COALESCE(m.model, t.model), pg_get_userbyid(t.role), t.step, t.rows_done, round(t.rows_about)::bigint, round(100 * part.done)::float8,
               date_trunc('milliseconds', clock_timestamp() - t.begun),
               CASE WHEN part.done > 0.005 THEN date_trunc('milliseconds', (clock_timestamp() - t.step_begun) * (1 / part.done - 1)) END, t.pid
          FROM running_trainings() t
          LEFT JOIN models m ON m.id = t.model_id AND is_member(t.role, m.owner_id) AND (is_member(caller, m.owner_id) OR is_reader(caller, m)),
               LATERAL (SELECT CASE WHEN t.rows_about > 0 THEN least(1, t.rows_done / t.rows_about) END AS done) part
         WHERE m.id IS NOT NULL OR is_member(caller, t.role)
         ORDER BY t.begun;
END
$$;

-- A function, so that the rights are those of who reads the view, on every server version.
CREATE VIEW training_progress AS SELECT * FROM training_progress_rows();
COMMENT ON VIEW training_progress IS 'one row per training that runs now, of those whose models one may read and of one''s own';
COMMENT ON COLUMN training_progress.model IS 'the name of the model';
COMMENT ON COLUMN training_progress.role IS 'the role that trains it';
COMMENT ON COLUMN training_progress.step IS 'what is done, as training_log names it; NULL between two steps';
COMMENT ON COLUMN training_progress.rows_done IS 'the rows of the table that the step has read; NULL for a step in memory';
COMMENT ON COLUMN training_progress.rows_about IS 'about how many it will read';
COMMENT ON COLUMN training_progress.percent IS 'the part of the step that is done';
COMMENT ON COLUMN training_progress.elapsed IS 'how long the training has run';
COMMENT ON COLUMN training_progress.remaining IS 'about how long the step will still run';
COMMENT ON COLUMN training_progress.pid IS 'the server process, which pg_cancel_backend stops';
GRANT SELECT ON training_progress TO PUBLIC;

-- predict: a named model applied to rows, read once per query

-- What the planner makes of a list of columns: no array a row, no casts.  NULL when one of them is NULL.
CREATE FUNCTION fastclust_internal.predict_columns(model text, VARIADIC columns "any") RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_predict_columns' LANGUAGE C STABLE PARALLEL SAFE COST 200;
CREATE FUNCTION fastclust_internal.predict_group_columns(model text, group_value text, VARIADIC columns "any") RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_predict_group_columns' LANGUAGE C STABLE PARALLEL SAFE COST 200;
CREATE FUNCTION fastclust_internal.predict_distance_columns(model text, VARIADIC columns "any") RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_predict_distance_columns' LANGUAGE C STABLE PARALLEL SAFE COST 200;
CREATE FUNCTION fastclust_internal.predict_distance_group_columns(model text, group_value text, VARIADIC columns "any") RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_predict_distance_group_columns' LANGUAGE C STABLE PARALLEL SAFE COST 200;
CREATE FUNCTION fastclust_internal.predict_support(internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_predict_support' LANGUAGE C STRICT;

CREATE FUNCTION predict(model text, x real[]) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_predict' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION predict(text, real[]) IS 'the number of the nearest cluster of a model';
CREATE FUNCTION predict(model text, x double precision[]) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_predict' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION predict(text, double precision[]) IS 'the number of the nearest cluster of a model';
CREATE FUNCTION predict(model text, x integer[]) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_predict' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION predict(text, integer[]) IS 'the number of the nearest cluster of a model';
CREATE FUNCTION predict(model text, x numeric[]) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_predict' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION predict(text, numeric[]) IS 'the number of the nearest cluster of a model';
CREATE FUNCTION predict(model text, x double precision, VARIADIC y double precision[] DEFAULT '{}') RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_predict_list' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200 SUPPORT predict_support;
COMMENT ON FUNCTION predict(text, double precision, double precision[]) IS 'the number of the nearest cluster, for a row given as columns; NULL when one of them is NULL';
CREATE FUNCTION predict(model text, x real[], max_distance double precision) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_predict_within' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION predict(text, real[], double precision) IS 'the number of the nearest cluster of a model; NULL where predict_distance is more than max_distance';
CREATE FUNCTION predict_group(model text, group_value text, x real[], max_distance double precision) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_predict_within_group' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION predict_group(text, text, real[], double precision) IS 'the number of the nearest cluster of the group; NULL where it is farther than max_distance, or for a group without clusters';
CREATE FUNCTION predict_group(model text, group_value text, x real[]) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_predict_group' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION predict_group(text, text, real[]) IS 'the number of the nearest cluster of the group; NULL for a group without clusters';
CREATE FUNCTION predict(model text, x double precision[], max_distance double precision) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_predict_within' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION predict(text, double precision[], double precision) IS 'the number of the nearest cluster of a model; NULL where predict_distance is more than max_distance';
CREATE FUNCTION predict_group(model text, group_value text, x double precision[], max_distance double precision) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_predict_within_group' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION predict_group(text, text, double precision[], double precision) IS 'the number of the nearest cluster of the group; NULL where it is farther than max_distance, or for a group without clusters';
CREATE FUNCTION predict_group(model text, group_value text, x double precision[]) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_predict_group' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION predict_group(text, text, double precision[]) IS 'the number of the nearest cluster of the group; NULL for a group without clusters';
CREATE FUNCTION predict(model text, x integer[], max_distance double precision) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_predict_within' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION predict(text, integer[], double precision) IS 'the number of the nearest cluster of a model; NULL where predict_distance is more than max_distance';
CREATE FUNCTION predict_group(model text, group_value text, x integer[], max_distance double precision) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_predict_within_group' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION predict_group(text, text, integer[], double precision) IS 'the number of the nearest cluster of the group; NULL where it is farther than max_distance, or for a group without clusters';
CREATE FUNCTION predict_group(model text, group_value text, x integer[]) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_predict_group' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION predict_group(text, text, integer[]) IS 'the number of the nearest cluster of the group; NULL for a group without clusters';
CREATE FUNCTION predict(model text, x numeric[], max_distance double precision) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_predict_within' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION predict(text, numeric[], double precision) IS 'the number of the nearest cluster of a model; NULL where predict_distance is more than max_distance';
CREATE FUNCTION predict_group(model text, group_value text, x numeric[], max_distance double precision) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_predict_within_group' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION predict_group(text, text, numeric[], double precision) IS 'the number of the nearest cluster of the group; NULL where it is farther than max_distance, or for a group without clusters';
CREATE FUNCTION predict_group(model text, group_value text, x numeric[]) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_predict_group' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION predict_group(text, text, numeric[]) IS 'the number of the nearest cluster of the group; NULL for a group without clusters';
CREATE FUNCTION predict_group(model text, group_value text, x double precision, VARIADIC y double precision[] DEFAULT '{}') RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_predict_group_list' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200 SUPPORT predict_support;
COMMENT ON FUNCTION predict_group(text, text, double precision, double precision[]) IS 'the number of the nearest cluster of the group, for a row given as columns';
CREATE FUNCTION predict_distance(model text, x real[]) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_predict_distance' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION predict_distance(text, real[]) IS 'distance to the nearest centroid of a model: in standard deviations for a standardised one, 1 - cosine for the metric cosine';
CREATE FUNCTION predict_distance(model text, x double precision[]) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_predict_distance' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION predict_distance(text, double precision[]) IS 'distance to the nearest centroid of a model: in standard deviations for a standardised one, 1 - cosine for the metric cosine';
CREATE FUNCTION predict_distance(model text, x integer[]) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_predict_distance' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION predict_distance(text, integer[]) IS 'distance to the nearest centroid of a model: in standard deviations for a standardised one, 1 - cosine for the metric cosine';
CREATE FUNCTION predict_distance(model text, x numeric[]) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_predict_distance' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION predict_distance(text, numeric[]) IS 'distance to the nearest centroid of a model: in standard deviations for a standardised one, 1 - cosine for the metric cosine';
CREATE FUNCTION predict_distance(model text, x double precision, VARIADIC y double precision[] DEFAULT '{}') RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_predict_distance_list' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200 SUPPORT predict_support;
COMMENT ON FUNCTION predict_distance(text, double precision, double precision[]) IS 'distance to the nearest centroid, for a row given as columns; NULL when one of them is NULL';
CREATE FUNCTION predict_distance_group(model text, group_value text, x real[]) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_predict_distance_group' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION predict_distance_group(text, text, real[]) IS 'distance to the nearest centroid of the group; NULL for a group without clusters';
CREATE FUNCTION predict_distance_group(model text, group_value text, x double precision[]) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_predict_distance_group' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION predict_distance_group(text, text, double precision[]) IS 'distance to the nearest centroid of the group; NULL for a group without clusters';
CREATE FUNCTION predict_distance_group(model text, group_value text, x integer[]) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_predict_distance_group' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION predict_distance_group(text, text, integer[]) IS 'distance to the nearest centroid of the group; NULL for a group without clusters';
CREATE FUNCTION predict_distance_group(model text, group_value text, x numeric[]) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_predict_distance_group' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION predict_distance_group(text, text, numeric[]) IS 'distance to the nearest centroid of the group; NULL for a group without clusters';
CREATE FUNCTION predict_distance_group(model text, group_value text, x double precision, VARIADIC y double precision[] DEFAULT '{}') RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_predict_distance_group_list' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200 SUPPORT predict_support;
COMMENT ON FUNCTION predict_distance_group(text, text, double precision, double precision[]) IS 'distance to the nearest centroid of the group, for a row given as columns';
CREATE FUNCTION anomaly(model text, x real[], contamination double precision DEFAULT NULL) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_anomaly' LANGUAGE C STABLE PARALLEL SAFE COST 200;
COMMENT ON FUNCTION anomaly(text, real[], double precision) IS 'true when the row is farther from its centroid than all but a share contamination of the training rows: the model''s, 0.01 unless its options say otherwise';
CREATE FUNCTION anomaly_group(model text, group_value text, x real[], contamination double precision DEFAULT NULL) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_anomaly_group' LANGUAGE C STABLE PARALLEL SAFE COST 200;
COMMENT ON FUNCTION anomaly_group(text, text, real[], double precision) IS 'anomaly with the clusters of a group; NULL for a group without clusters';
CREATE FUNCTION predict_all(model text, x real[], n integer, OUT cluster integer, OUT distance double precision)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_predict_all' LANGUAGE C STABLE PARALLEL SAFE COST 300 ROWS 5;
COMMENT ON FUNCTION predict_all(text, real[], integer) IS 'the n nearest clusters of a model with their distances, nearest first';
CREATE FUNCTION predict_probabilities(model text, x real[], OUT cluster integer, OUT probability double precision)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_predict_probabilities' LANGUAGE C STABLE PARALLEL SAFE COST 300 ROWS 10;
COMMENT ON FUNCTION predict_probabilities(text, real[]) IS 'how probable each cluster is for a row, most probable first, by the clusters'' spreads and shares';
CREATE FUNCTION predict_probabilities_group(model text, group_value text, x real[], OUT cluster integer, OUT probability double precision)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_predict_probabilities_group' LANGUAGE C STABLE PARALLEL SAFE COST 300 ROWS 10;
COMMENT ON FUNCTION predict_probabilities_group(text, text, real[]) IS 'how probable each cluster of a group is for a row; no rows for a group without clusters';
CREATE FUNCTION anomaly(model text, x double precision[], contamination double precision DEFAULT NULL) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_anomaly' LANGUAGE C STABLE PARALLEL SAFE COST 200;
COMMENT ON FUNCTION anomaly(text, double precision[], double precision) IS 'true when the row is farther from its centroid than all but a share contamination of the training rows: the model''s, 0.01 unless its options say otherwise';
CREATE FUNCTION anomaly_group(model text, group_value text, x double precision[], contamination double precision DEFAULT NULL) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_anomaly_group' LANGUAGE C STABLE PARALLEL SAFE COST 200;
COMMENT ON FUNCTION anomaly_group(text, text, double precision[], double precision) IS 'anomaly with the clusters of a group; NULL for a group without clusters';
CREATE FUNCTION predict_all(model text, x double precision[], n integer, OUT cluster integer, OUT distance double precision)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_predict_all' LANGUAGE C STABLE PARALLEL SAFE COST 300 ROWS 5;
COMMENT ON FUNCTION predict_all(text, double precision[], integer) IS 'the n nearest clusters of a model with their distances, nearest first';
CREATE FUNCTION predict_probabilities(model text, x double precision[], OUT cluster integer, OUT probability double precision)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_predict_probabilities' LANGUAGE C STABLE PARALLEL SAFE COST 300 ROWS 10;
COMMENT ON FUNCTION predict_probabilities(text, double precision[]) IS 'how probable each cluster is for a row, most probable first, by the clusters'' spreads and shares';
CREATE FUNCTION predict_probabilities_group(model text, group_value text, x double precision[], OUT cluster integer, OUT probability double precision)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_predict_probabilities_group' LANGUAGE C STABLE PARALLEL SAFE COST 300 ROWS 10;
COMMENT ON FUNCTION predict_probabilities_group(text, text, double precision[]) IS 'how probable each cluster of a group is for a row; no rows for a group without clusters';
CREATE FUNCTION anomaly(model text, x integer[], contamination double precision DEFAULT NULL) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_anomaly' LANGUAGE C STABLE PARALLEL SAFE COST 200;
COMMENT ON FUNCTION anomaly(text, integer[], double precision) IS 'true when the row is farther from its centroid than all but a share contamination of the training rows: the model''s, 0.01 unless its options say otherwise';
CREATE FUNCTION anomaly_group(model text, group_value text, x integer[], contamination double precision DEFAULT NULL) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_anomaly_group' LANGUAGE C STABLE PARALLEL SAFE COST 200;
COMMENT ON FUNCTION anomaly_group(text, text, integer[], double precision) IS 'anomaly with the clusters of a group; NULL for a group without clusters';
CREATE FUNCTION predict_all(model text, x integer[], n integer, OUT cluster integer, OUT distance double precision)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_predict_all' LANGUAGE C STABLE PARALLEL SAFE COST 300 ROWS 5;
COMMENT ON FUNCTION predict_all(text, integer[], integer) IS 'the n nearest clusters of a model with their distances, nearest first';
CREATE FUNCTION predict_probabilities(model text, x integer[], OUT cluster integer, OUT probability double precision)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_predict_probabilities' LANGUAGE C STABLE PARALLEL SAFE COST 300 ROWS 10;
COMMENT ON FUNCTION predict_probabilities(text, integer[]) IS 'how probable each cluster is for a row, most probable first, by the clusters'' spreads and shares';
CREATE FUNCTION predict_probabilities_group(model text, group_value text, x integer[], OUT cluster integer, OUT probability double precision)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_predict_probabilities_group' LANGUAGE C STABLE PARALLEL SAFE COST 300 ROWS 10;
COMMENT ON FUNCTION predict_probabilities_group(text, text, integer[]) IS 'how probable each cluster of a group is for a row; no rows for a group without clusters';
CREATE FUNCTION anomaly(model text, x numeric[], contamination double precision DEFAULT NULL) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_anomaly' LANGUAGE C STABLE PARALLEL SAFE COST 200;
COMMENT ON FUNCTION anomaly(text, numeric[], double precision) IS 'true when the row is farther from its centroid than all but a share contamination of the training rows: the model''s, 0.01 unless its options say otherwise';
CREATE FUNCTION anomaly_group(model text, group_value text, x numeric[], contamination double precision DEFAULT NULL) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_anomaly_group' LANGUAGE C STABLE PARALLEL SAFE COST 200;
COMMENT ON FUNCTION anomaly_group(text, text, numeric[], double precision) IS 'anomaly with the clusters of a group; NULL for a group without clusters';
CREATE FUNCTION predict_all(model text, x numeric[], n integer, OUT cluster integer, OUT distance double precision)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_predict_all' LANGUAGE C STABLE PARALLEL SAFE COST 300 ROWS 5;
COMMENT ON FUNCTION predict_all(text, numeric[], integer) IS 'the n nearest clusters of a model with their distances, nearest first';
CREATE FUNCTION predict_probabilities(model text, x numeric[], OUT cluster integer, OUT probability double precision)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_predict_probabilities' LANGUAGE C STABLE PARALLEL SAFE COST 300 ROWS 10;
COMMENT ON FUNCTION predict_probabilities(text, numeric[]) IS 'how probable each cluster is for a row, most probable first, by the clusters'' spreads and shares';
CREATE FUNCTION predict_probabilities_group(model text, group_value text, x numeric[], OUT cluster integer, OUT probability double precision)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_predict_probabilities_group' LANGUAGE C STABLE PARALLEL SAFE COST 300 ROWS 10;
COMMENT ON FUNCTION predict_probabilities_group(text, text, numeric[]) IS 'how probable each cluster of a group is for a row; no rows for a group without clusters';
CREATE FUNCTION predict_probabilities(model text, x double precision, VARIADIC y double precision[] DEFAULT '{}', OUT cluster integer, OUT probability double precision)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_predict_probabilities_list' LANGUAGE C STABLE PARALLEL SAFE COST 300 ROWS 10;
COMMENT ON FUNCTION predict_probabilities(text, double precision, double precision[]) IS 'how probable each cluster is for a row given as columns; no rows when one of them is NULL';
CREATE FUNCTION predict_probabilities_group(model text, group_value text, x double precision, VARIADIC y double precision[] DEFAULT '{}', OUT cluster integer, OUT probability double precision)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_predict_probabilities_group_list' LANGUAGE C STABLE PARALLEL SAFE COST 300 ROWS 10;
COMMENT ON FUNCTION predict_probabilities_group(text, text, double precision, double precision[]) IS 'how probable each cluster of a group is for a row given as columns';

-- a whole row: the model's columns are found in it by their names, others are ignored, and NULLs treated as in training
CREATE FUNCTION predict(model text, "row" record) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_predict_record' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 300;
COMMENT ON FUNCTION predict(text, record) IS 'the number of the nearest cluster of a model, for a whole row';
CREATE FUNCTION predict(model text, "row" record, max_distance double precision) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_predict_within_record' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 300;
COMMENT ON FUNCTION predict(text, record, double precision) IS 'the number of the nearest cluster of a model, for a whole row; NULL where predict_distance is more than max_distance';
CREATE FUNCTION predict_group(model text, group_value text, "row" record, max_distance double precision) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_predict_within_group_record' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 300;
COMMENT ON FUNCTION predict_group(text, text, record, double precision) IS 'the number of the nearest cluster of the group, for a whole row; NULL where it is farther than max_distance, or for a group without clusters';
CREATE FUNCTION predict_group(model text, group_value text, "row" record) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_predict_group_record' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 300;
COMMENT ON FUNCTION predict_group(text, text, record) IS 'the number of the nearest cluster of the group, for a whole row';
CREATE FUNCTION predict_distance(model text, "row" record) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_predict_distance_record' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 300;
COMMENT ON FUNCTION predict_distance(text, record) IS 'distance to the nearest centroid of a model, for a whole row';
CREATE FUNCTION predict_distance_group(model text, group_value text, "row" record) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_predict_distance_group_record' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 300;
COMMENT ON FUNCTION predict_distance_group(text, text, record) IS 'distance to the nearest centroid of the group, for a whole row';
CREATE FUNCTION anomaly(model text, "row" record, contamination double precision DEFAULT NULL) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_anomaly_record' LANGUAGE C STABLE PARALLEL SAFE COST 300;
COMMENT ON FUNCTION anomaly(text, record, double precision) IS 'true when the whole row is farther from its centroid than all but a share contamination of the training rows: the model''s, 0.01 unless its options say otherwise';
CREATE FUNCTION anomaly_group(model text, group_value text, "row" record, contamination double precision DEFAULT NULL) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_anomaly_group_record' LANGUAGE C STABLE PARALLEL SAFE COST 300;
COMMENT ON FUNCTION anomaly_group(text, text, record, double precision) IS 'anomaly with the clusters of a group, for a whole row';
CREATE FUNCTION predict_all(model text, "row" record, n integer, OUT cluster integer, OUT distance double precision)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_predict_all_record' LANGUAGE C STABLE PARALLEL SAFE COST 300 ROWS 5;
COMMENT ON FUNCTION predict_all(text, record, integer) IS 'the n nearest clusters of a model with their distances, nearest first, for a whole row';
CREATE FUNCTION predict_probabilities(model text, "row" record, OUT cluster integer, OUT probability double precision)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_predict_probabilities_record' LANGUAGE C STABLE PARALLEL SAFE COST 300 ROWS 10;
COMMENT ON FUNCTION predict_probabilities(text, record) IS 'how probable each cluster is for a whole row, most probable first';
CREATE FUNCTION predict_probabilities_group(model text, group_value text, "row" record, OUT cluster integer, OUT probability double precision)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_predict_probabilities_group_record' LANGUAGE C STABLE PARALLEL SAFE COST 300 ROWS 10;
COMMENT ON FUNCTION predict_probabilities_group(text, text, record) IS 'how probable each cluster of a group is for a whole row';

-- the two that belong together: predict(model, t) is assign(model_operator(model), encode(model_encoder(model), t)) but for near ties

CREATE FUNCTION model_operator(model text, group_value text DEFAULT NULL) RETURNS fastop
    AS 'MODULE_PATHNAME', 'fastclust_door' LANGUAGE C STABLE;
CREATE FUNCTION fastclust_internal.model_operator_inside(model text, group_value text DEFAULT NULL) RETURNS fastop
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT (explained_version(readable_model(model), group_value)).operator
$$;
COMMENT ON FUNCTION model_operator(text, text) IS 'the operator of a model: centroids in the units of model_encoder';
CREATE FUNCTION model_encoder(model text, group_value text DEFAULT NULL) RETURNS encoder
    AS 'MODULE_PATHNAME', 'fastclust_door' LANGUAGE C STABLE;
CREATE FUNCTION fastclust_internal.model_encoder_inside(model text, group_value text DEFAULT NULL) RETURNS encoder
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT COALESCE(v.encoder, encoder_of_vector(v.features[1], cardinality(means(v.training_sketch)), v.center, v.scale))
      FROM explained_version(readable_model(model), group_value) v
$$;
COMMENT ON FUNCTION model_encoder(text, text) IS 'the encoder of a model: rows into the coordinates that model_operator takes';

-- drift: are rows still what a model was trained on?

-- The version that serves; for a model with groups that of one group.
CREATE FUNCTION fastclust_internal.serving_version(held models, group_value text DEFAULT '') RETURNS model_versions
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    version model_versions;
BEGIN
    IF held.group_by IS NOT NULL AND group_value = '' THEN
        RAISE wrong_object_type USING MESSAGE = format('model "%s" has one model per group', held.model),
            HINT = 'Use drift_groups and retrain.';
    END IF;
    SELECT v.* INTO version FROM model_versions v
     WHERE v.model_id = held.id AND v.version = held.version AND v.group_value = serving_version.group_value;
    IF NOT FOUND THEN
        RAISE undefined_object USING MESSAGE = format('model "%s" has no version that serves', held.model);
    END IF;
    RETURN version;
END
$$;

-- The five columns that changed most, largest first; elements of a vector are numbered.
CREATE FUNCTION fastclust_internal.drifted_columns(version model_versions, s sketch) RETURNS column_drift[]
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT ARRAY(SELECT ROW(COALESCE(names[c.dimension], format('%s[%s]', version.features[1], c.dimension)), c.shift, c.spread)::column_drift
                   FROM feature_names(version.encoder) names, changed_columns(version.training_sketch, s, 5) c)
$$;

CREATE FUNCTION fastclust_internal.version_drift(version model_versions, s sketch, threshold double precision DEFAULT 0.01, min_effect double precision DEFAULT 0.1,
        OUT mmd2 double precision, OUT null_sd double precision, OUT p_value double precision, OUT fit_residual double precision,
        OUT n bigint, OUT effect double precision, OUT verdict text, OUT columns column_drift[])
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT t.mmd2, t.null_sd, t.p_value,
           CASE WHEN version.map IS NULL THEN fit_residual(s, version.operator, version.center, version.scale, version.spreads) END,
           COALESCE(row_count(s), 0), t.effect, COALESCE(t.verdict, 'too few rows'), drifted_columns(version, s)
      FROM (SELECT) one LEFT JOIN LATERAL drift_test(version.training_sketch, s, version.null_moments, threshold, min_effect) t ON true
$$;

-- Sketches of a relation's rows with a version's spec, by an expression of the row (text), in one scan.
CREATE FUNCTION fastclust_internal.sketch_rows(version model_versions, relation regclass, bucket name, OUT value text, OUT s sketch) RETURNS SETOF record
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    source row_source := source_of_version(version, relation, NULL);
BEGIN
    IF bucket IS NOT NULL THEN
        PERFORM feature_type(relation, bucket);
    END IF;
    RETURN QUERY EXECUTE CASE WHEN source.leaves IS NULL
        THEN format('SELECT %s, %s(%s, $1) %s%s', CASE WHEN bucket IS NULL THEN 'NULL::text' ELSE format('t.%I::text', bucket) END,
                    aggregate_over(source, 'sketch_agg'), source.raw, rows_from(source), CASE WHEN bucket IS NULL THEN '' ELSE format(' GROUP BY t.%1$I ORDER BY t.%1$I', bucket) END)
        ELSE format('SELECT q.value::text, merge_agg(q.s) FROM (%s) q%s',
                    of_leaves(source, format('%s AS value, sketch_agg(%s, $1) AS s', CASE WHEN bucket IS NULL THEN 'NULL::text' ELSE format('t.%I', bucket) END, source.raw),
                              'infinity', 0, 0, CASE WHEN bucket IS NULL THEN '' ELSE 'GROUP BY 1' END),
                    CASE WHEN bucket IS NULL THEN ' GROUP BY 1' ELSE ' GROUP BY q.value ORDER BY q.value' END) END
        USING spec(version.training_sketch);
END
$$;

CREATE FUNCTION drift(model text, relation regclass DEFAULT NULL, OUT mmd2 double precision, OUT null_sd double precision,
        OUT p_value double precision, OUT fit_residual double precision, OUT n bigint, OUT effect double precision,
        OUT verdict text, OUT columns column_drift[])
    AS 'MODULE_PATHNAME', 'fastclust_door' LANGUAGE C STABLE;
CREATE FUNCTION fastclust_internal.drift_inside(model text, relation regclass DEFAULT NULL, OUT mmd2 double precision, OUT null_sd double precision,
        OUT p_value double precision, OUT fit_residual double precision, OUT n bigint, OUT effect double precision,
        OUT verdict text, OUT columns column_drift[])
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    held models := readable_model($1);
    version model_versions := serving_version(held);
BEGIN
    SELECT d.* INTO mmd2, null_sd, p_value, fit_residual, n, effect, verdict, columns
      FROM version_drift(version, rows_of_model(held, version, $2)) d;
END
$$;
COMMENT ON FUNCTION drift(text, regclass)
    IS 'compares the rows of a table with the training rows of a model';

CREATE FUNCTION drift_of_sketch(model text, s sketch, OUT mmd2 double precision, OUT null_sd double precision,
        OUT p_value double precision, OUT fit_residual double precision, OUT n bigint, OUT effect double precision,
        OUT verdict text, OUT columns column_drift[])
    AS 'MODULE_PATHNAME', 'fastclust_door' LANGUAGE C STABLE;
CREATE FUNCTION fastclust_internal.drift_of_sketch_inside(model text, s sketch, OUT mmd2 double precision, OUT null_sd double precision,
        OUT p_value double precision, OUT fit_residual double precision, OUT n bigint, OUT effect double precision,
        OUT verdict text, OUT columns column_drift[])
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT d.* FROM version_drift(serving_version(readable_model(model)), s) d
$$;
COMMENT ON FUNCTION drift_of_sketch(text, sketch) IS 'compares a sketch made with model_spec(model) with the training rows of the model';

CREATE FUNCTION drift_by(model text, relation regclass, bucket name, OUT value text, OUT mmd2 double precision,
        OUT null_sd double precision, OUT p_value double precision, OUT fit_residual double precision, OUT n bigint, OUT effect double precision,
        OUT verdict text, OUT columns column_drift[])
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_door' LANGUAGE C STABLE ROWS 100;
CREATE FUNCTION fastclust_internal.drift_by_inside(model text, relation regclass, bucket name, OUT value text, OUT mmd2 double precision,
        OUT null_sd double precision, OUT p_value double precision, OUT fit_residual double precision, OUT n bigint, OUT effect double precision,
        OUT verdict text, OUT columns column_drift[])
    RETURNS SETOF record
    LANGUAGE plpgsql STABLE ROWS 100 SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    held models := readable_model($1);
    version model_versions := serving_version(held);
BEGIN
    IF $2 IS NULL OR $3 IS NULL THEN
        RAISE null_value_not_allowed USING MESSAGE = format('%s must not be NULL', CASE WHEN $2 IS NULL THEN 'relation' ELSE 'bucket' END);
    END IF;
    RETURN QUERY SELECT r.value, d.*
      FROM sketch_rows(version, scanned_relation(held, version, $2, NULL), $3) r, version_drift(version, r.s) d;
END
$$;
COMMENT ON FUNCTION drift_by(text, regclass, name) IS 'drift for each value of a column, in one scan';

CREATE FUNCTION drift_groups(model text, relation regclass DEFAULT NULL, OUT group_value text, OUT mmd2 double precision,
        OUT null_sd double precision, OUT p_value double precision, OUT fit_residual double precision, OUT n bigint, OUT effect double precision,
        OUT verdict text, OUT columns column_drift[])
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_door' LANGUAGE C STABLE ROWS 100;
CREATE FUNCTION fastclust_internal.drift_groups_inside(model text, relation regclass DEFAULT NULL, OUT group_value text, OUT mmd2 double precision,
        OUT null_sd double precision, OUT p_value double precision, OUT fit_residual double precision, OUT n bigint, OUT effect double precision,
        OUT verdict text, OUT columns column_drift[])
    RETURNS SETOF record
    LANGUAGE plpgsql STABLE ROWS 100 SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    held models := readable_model($1);
    version model_versions;
    live live_sketches;
BEGIN
    SELECT v.* INTO version FROM model_versions v WHERE v.model_id = held.id AND v.version = held.version LIMIT 1;
    IF held.group_by IS NULL THEN
        RAISE wrong_object_type USING MESSAGE = format('model "%s" has no groups', held.model), HINT = 'Use drift.';
    END IF;
    live := CASE WHEN $2 IS NULL THEN live_of_version(version) END;
    IF live.id IS NOT NULL THEN
        RETURN QUERY SELECT c.group_value, d.*
          FROM model_groups(live) c
          JOIN model_versions v ON v.model_id = held.id AND v.version = held.version AND v.group_value = c.group_value,
               version_drift(v, c.s) d;
        RETURN;
    END IF;
    RETURN QUERY SELECT r.value, d.*
      FROM sketch_rows(version, scanned_relation(held, version, $2, held.group_by), held.group_by) r
      JOIN model_versions v ON v.model_id = held.id AND v.version = held.version AND v.group_value = r.value,
           version_drift(v, r.s) d;
END
$$;
COMMENT ON FUNCTION drift_groups(text, regclass) IS 'drift for each group of a model with groups';

CREATE FUNCTION model_spec(model text) RETURNS sketch_spec
    AS 'MODULE_PATHNAME', 'fastclust_door' LANGUAGE C STABLE;
CREATE FUNCTION fastclust_internal.model_spec_inside(model text) RETURNS sketch_spec
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT spec(v.training_sketch)
      FROM readable_model(model) m JOIN model_versions v ON v.model_id = m.id AND v.version = m.version LIMIT 1
$$;
COMMENT ON FUNCTION model_spec(text) IS 'the spec of a model, to sketch other rows with';

-- choose_k of a live sketch: how well each number of clusters explains it; no row is read

-- The live sketch that counts all of these rows, where the caller may read one.
CREATE FUNCTION fastclust_internal.live_of_rows(relation regclass, features name[], vector boolean, condition text) RETURNS live_sketches
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C STABLE;
CREATE FUNCTION fastclust_internal.live_of_rows_as_owner(caller oid, relation regclass, features name[], vector boolean, condition text) RETURNS live_sketches
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT l FROM live_sketches l
     WHERE l.relation = $2 AND l.features = $3 AND l.vector = $4 AND l.condition IS NOT DISTINCT FROM $5 AND l.group_by IS NULL AND l.bucket IS NULL
       AND may_read_live(caller, l) ORDER BY l.model_id IS NULL, l.id LIMIT 1
$$;

-- The spec that a live sketch of a model was trained with, for its rows of the sample; else its own.
CREATE FUNCTION fastclust_internal.spec_to_decode(live live_sketches) RETURNS sketch_spec
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT COALESCE((SELECT v.spec FROM models m JOIN model_versions v ON v.model_id = m.id AND v.version = m.version
                      WHERE m.id = live.model_id AND without_pilot_rows(v.spec) = live.spec LIMIT 1), live.spec)
$$;

-- The elbow of the logarithm of a cost: the number farthest below the line through the ends.  A sketch has no halves, so none is stable.
CREATE FUNCTION fastclust_internal.elbow(tried integer[], costs double precision[]) RETURNS integer
    LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT t.n
      FROM (SELECT u.n, ln(greatest(u.c, 1e-12 * costs[1])) AS height FROM unnest(tried, costs) u(n, c) WHERE costs[1] > 0) t,
           (SELECT ln(greatest(costs[cardinality(costs)], 1e-12 * costs[1])) AS lowest, ln(costs[1]) AS highest WHERE costs[1] > 0) e
     ORDER BY (e.highest - t.height) / NULLIF(e.highest - e.lowest, 0) - (t.n - 1.0) / NULLIF(tried[cardinality(tried)] - 1, 0) DESC NULLS LAST, t.n LIMIT 1
$$;

-- The mean squared distance that a sketch tells of k clusters.
CREATE FUNCTION fastclust_internal.cost_of_sketch(s sketch, k integer, settings jsonb, pilot sketch_spec) RETURNS double precision
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT sum(c.weight * c.spread ^ 2) / sum(c.weight) * cardinality(means(s)) FROM decode(s, k, 'auto', settings, pilot) c
$$;

-- From 1 to the greatest in steps of a fifth, as fc_choose_k does; then also all around the best so far.
CREATE FUNCTION fastclust_internal.numbers_to_try(most integer, tried integer[], best integer) RETURNS SETOF integer
    LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    WITH RECURSIVE steps(n) AS (SELECT 1 UNION ALL SELECT least(most, s.n + 1 + s.n / 5) FROM steps s WHERE s.n < most)
    SELECT s.n FROM steps s
    UNION
    SELECT g.n FROM generate_series((SELECT max(t) FROM unnest(tried) t WHERE t < best), (SELECT min(t) FROM unnest(tried) t WHERE t > best)) g(n)
$$;

-- What the decodes of a live sketch say of numbers of clusters, and the elbow.
CREATE FUNCTION fastclust_internal.choose_k_live(relation regclass, features name[], vector boolean, max_k integer, options jsonb,
        OUT k integer, OUT cost double precision, OUT gain double precision, OUT stability double precision, OUT verdict text) RETURNS SETOF record
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    live live_sketches := live_of_rows(relation, features, vector, (row_condition(relation, options ->> 'where')).condition);
    other text := (SELECT min(o) FROM jsonb_object_keys(options) o WHERE o <> ALL ('{live,seed,where}'));
    settings jsonb := jsonb_build_object('seed', seed_option(options));
    pilot sketch_spec;
    now sketch;
    most integer;
    tried integer[] := '{}';
    costs float8[] := '{}';
    best integer;
BEGIN
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
    pilot := spec_to_decode(live);
    FOR i IN 1 .. 2 LOOP
        SELECT array_agg(t.n ORDER BY t.n), array_agg(t.c ORDER BY t.n) INTO tried, costs
          FROM (SELECT n, COALESCE(costs[array_position(tried, n)], cost_of_sketch(now, n, settings, pilot)) AS c FROM numbers_to_try(most, tried, best) n) t;
        best := COALESCE(elbow(tried, costs), 1);
    END LOOP;
    RETURN QUERY SELECT t.n, t.c, 1 - (t.c / NULLIF(lag(t.c) OVER by_k, 0)) ^ (1.0::float8 / (t.n - lag(t.n) OVER by_k)), NULL::float8,
                        CASE WHEN t.n = best THEN 'elbow' END
                   FROM unnest(tried, costs) t(n, c) WINDOW by_k AS (ORDER BY t.n) ORDER BY t.n;
END
$$;

-- live models: the option live of train keeps a live sketch of the model's rows, from which drift and retrain take what they need

-- A model of lately is decoded from its sketch: what reads rows knows no weights.
CREATE FUNCTION fastclust_internal.check_half_life(job training_job) RETURNS void
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    other text := (SELECT min(o) FROM jsonb_object_keys(job.options) o WHERE o = ANY ('{factorize,metric,spherical,balance,polish}'));
BEGIN
    IF NOT flag_option(job.options, 'live', false) THEN
        RAISE invalid_parameter_value USING MESSAGE = 'option "half_life" needs option "live"';
    ELSIF job.method IN ('kernel', 'qkmeans') THEN
        RAISE feature_not_supported USING MESSAGE = format('method "%s" has no half-life', job.method), HINT = 'Use method "compressive".';
    ELSIF other IS NOT NULL THEN
        RAISE feature_not_supported USING MESSAGE = format('option "%s" is about rows, and a model of lately is decoded from a sketch', other);
    END IF;
END
$$;

-- Asked before a training reads a row.
CREATE FUNCTION fastclust_internal.check_live_training(job training_job) RETURNS void
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    asked live_sketches;
BEGIN
    IF job.options ->> 'half_life' IS NOT NULL THEN
        PERFORM check_half_life(job);
    END IF;
    IF flag_option(job.options, 'live', false) THEN
        PERFORM live_bucket_width((job.source).relation::regclass, job.options), check_live_isolation(job.model), check_live_group((job.source).relation::regclass, (job.source).group_by);
        IF NOT owns_relation((SELECT r.oid FROM pg_roles r WHERE r.rolname = current_user), (job.source).relation::regclass) THEN
            RAISE insufficient_privilege USING MESSAGE = format('must be owner of %s', (job.source).relation),
                HINT = 'A live model makes triggers on its table.';
        END IF;
        asked.relation := (job.source).relation::regclass;
        asked.columns := (job.source).features;
        PERFORM check_live_parent(asked.relation), check_live_tables(asked);
        PERFORM check_model_follows(m, (job.source).relation::regclass) FROM models m WHERE m.model = job.model;
    END IF;
END
$$;

-- The live sketch of a model, where the caller may read it; else a row of NULLs.
CREATE FUNCTION fastclust_internal.model_live(model_id bigint) RETURNS live_sketches
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C STABLE;
CREATE FUNCTION fastclust_internal.model_live_as_owner(caller oid, model_id bigint) RETURNS live_sketches
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
BEGIN
    RETURN (SELECT l FROM live_sketches l WHERE l.model_id = $2 AND may_read_live(caller, l));
END
$$;

-- The same where it counts the rows of a version as that was trained.
CREATE FUNCTION fastclust_internal.live_of_version(version model_versions) RETURNS live_sketches
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    live live_sketches := model_live(version.model_id);
    problem text;
BEGIN
    IF live.id IS NULL OR live.spec <> spec(version.training_sketch) OR live.features <> version.features OR live.vector <> version.vector
       OR live.encoder::text IS DISTINCT FROM version.encoder::text OR live.relation IS DISTINCT FROM to_regclass(version.relation)
       OR live.bucket IS DISTINCT FROM version.options ->> 'bucket' OR live.half_life IS DISTINCT FROM span_option(version.options, 'half_life')
       OR live.bucket_width <> span_option(version.options, 'bucket_width')
       OR live.group_by IS DISTINCT FROM version.options ->> 'group_by' OR live.condition IS DISTINCT FROM version.options ->> 'where' THEN
        RETURN NULL;
    END IF;
    problem := describe_sketch(live.name) ->> 'problem';
    IF problem IS NOT NULL THEN
        RAISE WARNING USING MESSAGE = format('live sketch "%s" has lost its table: rows are read', live.name),
            DETAIL = upper(left(problem, 1)) || substr(problem, 2) || '.', HINT = 'rebuild_sketch counts it anew.';
        RETURN NULL;
    END IF;
    RETURN live;
END
$$;

-- The rows of a live model: those of now, or of lately where it has a half-life.
CREATE FUNCTION fastclust_internal.model_rows(live live_sketches) RETURNS sketch
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
BEGIN
    RETURN CASE WHEN live.half_life IS NULL THEN current_sketch(live.name) ELSE decayed_sketch(live.name) END;
END
$$;

-- The same of each group; of all rows without groups.
CREATE FUNCTION fastclust_internal.model_groups(live live_sketches, OUT group_value text, OUT s sketch) RETURNS SETOF record
    LANGUAGE plpgsql STABLE ROWS 100 SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
BEGIN
    IF live.half_life IS NULL THEN
        RETURN QUERY SELECT c.group_value, merge_agg(c.s) FROM current_sketches(live.name) c GROUP BY 1 ORDER BY c.group_value COLLATE "C";
    ELSE
        RETURN QUERY SELECT d.group_value, d.s FROM decayed_groups(live.name) d ORDER BY d.group_value COLLATE "C";
    END IF;
END
$$;

-- The sketch of a model's rows: of now where it is live, else by a scan.
CREATE FUNCTION fastclust_internal.rows_of_model(held models, version model_versions, relation regclass) RETURNS sketch
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    live live_sketches := CASE WHEN relation IS NULL THEN live_of_version(version) END;
BEGIN
    IF live.id IS NOT NULL THEN
        RETURN model_rows(live);
    END IF;
    RETURN (SELECT r.s FROM sketch_rows(version, scanned_relation(held, version, relation, NULL), NULL) r);
END
$$;

-- A model's live sketch goes; one of a table that is another role's by now stays with that role.
CREATE FUNCTION fastclust_internal.end_model_live(model_id bigint, old live_sketches) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
BEGIN
    IF old.id IS NOT NULL AND owns_relation((SELECT r.oid FROM pg_roles r WHERE r.rolname = current_user), old.relation) THEN
        PERFORM end_live(old.name);
    ELSE
        PERFORM release_live(model_id);
    END IF;
END
$$;

-- Follow the rows of a version that was trained, as its sketch counted them.
CREATE FUNCTION fastclust_internal.keep_model(job training_job) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    old live_sketches := model_live(job.model_id);
    source row_source := job.source;
    version model_versions;
    asked live_sketches;
    begun timestamptz;
    rows_counted bigint;
BEGIN
    IF NOT flag_option(job.options, 'live', old.id IS NOT NULL) THEN
        IF old.id IS NOT NULL THEN
            PERFORM end_model_live(job.model_id, old);
        END IF;
        RETURN;
    END IF;
    begun := begin_step(job, 'live sketch');
    SELECT v.* INTO version FROM model_versions v WHERE v.model_id = job.model_id AND v.version = job.version LIMIT 1;
    asked := asked_live(job.model, source.relation::regclass, source.features, source.vector, spec(version.training_sketch),
                        jsonb_strip_nulls(jsonb_build_object('group_by', source.group_by, 'where', job.options ->> 'where', 'encoder', source.encoder::text)
                                           || jsonb_build_object('bucket', job.options ->> 'bucket', 'bucket_width', job.options ->> 'bucket_width',
                                                                 'half_life', job.options ->> 'half_life')));
    asked.model_id := job.model_id;
    IF old.id IS NOT NULL AND (live_of_version(version)).id IS NOT NULL THEN
        RETURN;
    END IF;
    PERFORM end_model_live(job.model_id, old);
    rows_counted := keep_live(asked);
    PERFORM log_step(job, 'live sketch', begun, NULL, format('%s rows', rows_counted));
END
$$;

-- What Lloyd's scans of a live model cost, that its live sketch does without.
CREATE FUNCTION fastclust_internal.tell_polish(version model_versions, live live_sketches, options jsonb) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    polish integer := number_option(version.options || options, 'polish', 0)::integer;
    rows_counted bigint;
BEGIN
    IF live.id IS NULL OR polish = 0 OR version.method <> 'compressive' OR flag_option(version.options || options, 'quiet', false) THEN
        RETURN;
    END IF;
    rows_counted := row_count(current_sketch(live.name));
    IF options ? 'polish' THEN
        RAISE NOTICE '%', format('model "%s" is live, but polish reads rows: %s scans of about %s rows, and those of the training', version.model, polish, rows_counted);
    ELSE
        RAISE NOTICE '%', format('model "%s" is live: polish is left out, which would be %s scans of about %s rows', version.model, polish, rows_counted);
    END IF;
END
$$;

-- Can the next version come from the live sketch?  Other options than these are about rows.
CREATE FUNCTION fastclust_internal.live_for_retraining(held models, version model_versions, options jsonb) RETURNS live_sketches
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    live live_sketches;
BEGIN
    IF NOT flag_option(options, 'live', true) OR version.method IN ('kernel', 'qkmeans') OR version.options ?| '{factorize,metric,spherical,balance}'
       OR (options - '{nowait,quiet,k,seed,keep,fresh,live,polish}'::text[] <> '{}') THEN
        RETURN NULL;
    END IF;
    live := live_of_version(version);
    PERFORM tell_polish(version, live, options);
    IF options ? 'polish' THEN
        RETURN NULL;
    END IF;
    RETURN live;
END
$$;

-- A new version of a live model, of each group that has rows; reads no row.
CREATE FUNCTION fastclust_internal.retrain_live(held models, template model_versions, live live_sketches, options jsonb) RETURNS integer
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    k integer := number_option(options, 'k', template.k)::integer;
    settings jsonb := (template.options || options) - '{nowait,k}'::text[];
    job training_job;
    found_part record;
    old model_versions;
    parts model_versions[] := '{}';
BEGIN
    job := sketch_job(held, template, k, settings, COALESCE(row_count(model_rows(live)), 0));
    FOR found_part IN SELECT COALESCE(c.group_value, '') AS group_value, c.s FROM model_groups(live) c LOOP
        SELECT v.* INTO old FROM model_versions v
         WHERE v.model_id = held.id AND v.version = held.version AND v.group_value = found_part.group_value;
        IF old.model_id IS NULL THEN
            old := template;
            old.operator := NULL;
        END IF;
        job.k := least(k, row_count(found_part.s));
        parts := parts || decoded_part(job, found_part.group_value, found_part.s, old);
    END LOOP;
    IF parts = '{}' THEN
        PERFORM reject_no_rows(job);
    END IF;
    PERFORM write_parts(parts);
    PERFORM serve_version(held.id, job.version, live.group_by, number_option(settings, 'keep', 5)::integer);
    RETURN job.version;
END
$$;

-- The rows of a training weigh alike.  From the sketch that follows them now a second version is decoded, in which they have their weights.
CREATE FUNCTION fastclust_internal.train_of_lately(job training_job) RETURNS integer
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    held models := lock_model(job.model, true);
    version model_versions := largest_part(held);
BEGIN
    RETURN retrain_live(held, version, live_of_version(version), job.options - 'nowait');
END
$$;

-- retrain: a new version on new rows, that keeps the numbers of the clusters that stayed

-- The version that serves; with groups, the part of most clusters.
CREATE FUNCTION fastclust_internal.largest_part(held models) RETURNS model_versions
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    version model_versions;
BEGIN
    SELECT v.* INTO version FROM model_versions v
     WHERE v.model_id = held.id AND v.version = held.version ORDER BY v.k DESC, v.group_value LIMIT 1;
    IF NOT FOUND THEN
        RAISE undefined_object USING MESSAGE = format('model "%s" has no version that serves', held.model);
    END IF;
    RETURN version;
END
$$;

-- The job of the next version: the settings of the one that serves, with what the options say instead.
CREATE FUNCTION fastclust_internal.retraining_job(held models, options jsonb) RETURNS training_job
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    version model_versions := largest_part(held);
    settings jsonb;
    relation regclass;
    source row_source;
BEGIN
    settings := given_options(version.options || options) - '{nowait,k,method,relation,replace,frozen}'::text[];
    IF options ->> 'relation' IS NOT NULL AND to_regclass(options ->> 'relation') IS NULL THEN
        RAISE undefined_table USING MESSAGE = format('relation "%s" does not exist', options ->> 'relation'),
            HINT = 'Qualify the name with its schema.';
    END IF;
    IF settings - '{categories,paths}'::text[] <> settings AND version.encoder IS NOT NULL
            AND (settings -> 'categories' IS DISTINCT FROM version.options -> 'categories' OR settings -> 'paths' IS DISTINCT FROM version.options -> 'paths') THEN
        RAISE WARNING USING MESSAGE = format('the categories and paths of model "%s" stay as they are: a retrain keeps its dimensions', held.model),
            HINT = 'To learn others, train a model under another name.';
    END IF;
    version.options := settings;
    relation := scanned_relation(held, version, to_regclass(options ->> 'relation'), settings ->> 'group_by');
    source := row_source(relation, version.features, version.vector, settings ->> 'group_by');
    source.encoder := version.encoder;
    RETURN frozen_job(next_job(held, source, number_option(options, 'k', version.k)::integer, COALESCE(options ->> 'method', version.method), settings),
                      flag_option(options, 'frozen', false), version.k);
END
$$;

CREATE FUNCTION retrain(model text, options jsonb DEFAULT '{}') RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_door' LANGUAGE C;
CREATE FUNCTION fastclust_internal.retrain_inside(model text, options jsonb DEFAULT '{}') RETURNS integer
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    held models;
    version model_versions;
    live live_sketches;
BEGIN
    PERFORM check_training_options(options, 'retrain');
    held := lock_model($1, NOT flag_option(options, 'nowait', false));
    version := largest_part(held);
    live := live_for_retraining(held, version, options);
    IF live.id IS NOT NULL THEN
        RETURN retrain_live(held, version, live, options);
    END IF;
    RETURN run_training(retraining_job(held, options));
END
$$;
COMMENT ON FUNCTION retrain(text, jsonb) IS 'train a new version as before, or as the options say; clusters that stayed keep their numbers';

-- What a sketch tells of the clusters, in units: operator, spreads, and the mean squared distance.  fresh: nothing of the old version but
-- its units is used, neither its centroids nor the rows of its sample, nor bounds, which may be those of rows that went.
CREATE FUNCTION fastclust_internal.decoded(job training_job, s sketch, version model_versions, fresh boolean,
        OUT op fastop, OUT spreads double precision[], OUT objective double precision)
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    unit float8 := COALESCE((SELECT sqrt(avg(x * x)) FROM unnest(version.scale) x), 1);
    old fastop := CASE WHEN NOT fresh THEN operator_in_units(version.operator, version.center, version.scale, NULL, NULL) END;
    numbers integer[];
BEGIN
    SELECT with_metric(fastop_agg(c.centroid, c.weight ORDER BY c.cluster), metric_option(version.options)), array_agg(c.spread / unit ORDER BY c.cluster),
           sum(c.weight * c.spread ^ 2) / unit ^ 2 / sum(c.weight) * cardinality(means(s))
      INTO op, spreads, objective
      FROM decode(CASE WHEN fresh THEN live_difference(s, NULL) ELSE s END, job.k, 'auto', decode_settings(job.seed, old, job.k),
                  CASE WHEN fresh THEN without_pilot_rows(version.spec) ELSE version.spec END) c;
    op := operator_in_units(op, NULL, NULL, version.center, version.scale);
    IF old IS NOT NULL THEN
        numbers := match_clusters(version.operator, NULL, NULL, op, NULL, NULL);
        SELECT array_agg(s.x ORDER BY n.x) INTO spreads
          FROM unnest(spreads) WITH ORDINALITY s(x, i) JOIN unnest(numbers) WITH ORDINALITY n(x, i) USING (i);
        op := renumber(op, numbers);
    END IF;
END
$$;

-- What rows told of an old version, of rows drawn from the clusters of a fresh one: the law of drift and the quantiles of distances.
CREATE FUNCTION fastclust_internal.drawn_laws(op fastop, spreads double precision[], version model_versions, seed bigint,
        OUT null_moments double precision[], OUT distance_quantiles double precision[])
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    count integer := greatest(512, least(8192, 4000000 / dim(op)));
    drawn fastop := drawn_rows(op, spreads, count, seed);
BEGIN
    distance_quantiles := (fit_profile(op, drawn, quantile_places())).quantiles;
    null_moments := (SELECT null_moments(array_agg(p.s ORDER BY p.part), array_agg(p.part ORDER BY p.part))
                       FROM (SELECT c.cluster & 63 AS part, sketch_agg(c.centroid, without_pilot_rows(version.spec)) AS s
                               FROM centroids(operator_in_units(drawn, version.center, version.scale, NULL, NULL)) c GROUP BY 1) p);
END
$$;

-- A part of a version that is made of a sketch alone.  No row is read: of another number of clusters the quantiles are taken to change as
-- the root mean square does; a fresh one has those of rows drawn from its clusters.
CREATE FUNCTION fastclust_internal.decoded_part(job training_job, group_value text, s sketch, old model_versions) RETURNS model_versions
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    begun timestamptz := clock_timestamp();
    fresh boolean := flag_option(job.options, 'fresh', false);
    result record := decoded(job, s, old, fresh);
    part model_versions := version_part(job, ROW(old.center, old.scale, NULL)::row_units, CASE WHEN fresh THEN without_pilot_rows(old.spec) ELSE old.spec END,
                                        group_value, result.op, s, old.null_moments, NULL);
BEGIN
    PERFORM log_step(job, 'decode', begun, result.objective, job.note);
    part.spreads := result.spreads;
    part.objective := result.objective;
    part.paths := level_paths(result.op, job.options);
    IF fresh THEN
        SELECT l.null_moments, l.distance_quantiles INTO part.null_moments, part.distance_quantiles FROM drawn_laws(result.op, result.spreads, old, job.seed) l;
        RETURN part;
    END IF;
    part.distance_quantiles := (SELECT array_agg(q * CASE WHEN job.k = old.k THEN 1 ELSE COALESCE(sqrt(result.objective / NULLIF(old.objective, 0)), 1) END ORDER BY i)
                                  FROM unnest(old.distance_quantiles) WITH ORDINALITY u(q, i));
    RETURN part;
END
$$;

-- The job of a version made without its table, which need not be there any more.
CREATE FUNCTION fastclust_internal.sketch_job(held models, version model_versions, k integer, options jsonb, new_rows bigint) RETURNS training_job
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    job training_job;
    source row_source;
BEGIN
    PERFORM check_training_options(options, 'train');
    source.relation := version.relation;
    source.features := version.features;
    source.vector := version.vector;
    source.encoder := version.encoder;
    job.model_id := held.id;
    job.model := held.model;
    job.version := (SELECT max(v.version) + 1 FROM model_versions v WHERE v.model_id = held.id);
    job.source := source;
    job.k := k;
    job.options := options;
    job.seed := seed_option(options);
    job.started_at := clock_timestamp();
    job.method := version.method;
    job.note := format('from a sketch of %s rows', new_rows);
    RETURN job;
END
$$;

CREATE FUNCTION retrain_with_sketch(model text, new_rows sketch, options jsonb DEFAULT '{}') RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_door' LANGUAGE C;
CREATE FUNCTION fastclust_internal.retrain_with_sketch_inside(model text, new_rows sketch, options jsonb DEFAULT '{}') RETURNS integer
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    held models;
    version model_versions;
    job training_job;
    total sketch;
BEGIN
    PERFORM check_training_options(options, 'retrain_with_sketch');
    IF new_rows IS NULL THEN
        RAISE null_value_not_allowed USING MESSAGE = 'new_rows must not be NULL';
    END IF;
    held := lock_model($1, NOT flag_option(options, 'nowait', false));
    version := serving_version(held);
    IF version.method IN ('kernel', 'qkmeans') THEN
        RAISE feature_not_supported USING MESSAGE = format('method "%s" of model "%s" needs rows', version.method, $1),
            HINT = 'Use retrain.';
    END IF;
    IF spec(new_rows) <> spec(version.training_sketch) THEN
        RAISE data_exception USING MESSAGE = format('the sketch was not made with the sketch_spec of model "%s"', $1),
            HINT = 'Use sketch_agg(x, (SELECT model_spec(model))).';
    END IF;
    job := sketch_job(held, version, number_option(options, 'k', version.k)::integer,
                      (version.options || options) - '{nowait,k,replace}'::text[], row_count(new_rows));
    total := CASE WHEN flag_option(options, 'replace', false) THEN new_rows ELSE version.training_sketch + new_rows END;
    PERFORM write_parts(ARRAY[decoded_part(job, '', total, version)]);
    PERFORM serve_version(held.id, job.version, NULL, number_option(job.options, 'keep', 5)::integer);
    RETURN job.version;
END
$$;
COMMENT ON FUNCTION retrain_with_sketch(text, sketch, jsonb)
    IS 'train a new version from the training sketch plus the sketch of new rows; reads no row';

CREATE FUNCTION fastclust_internal.check_drift_limits(threshold double precision, min_effect double precision) RETURNS void
    LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF threshold IS NULL OR NOT threshold BETWEEN 0 AND 1 THEN
        RAISE invalid_parameter_value USING MESSAGE = format('threshold is %s, out of range', COALESCE(threshold::text, 'NULL')),
            DETAIL = 'It is a p-value, between 0 and 1.';
    ELSIF min_effect IS NULL OR min_effect < 0 OR min_effect = 'NaN' THEN
        RAISE invalid_parameter_value USING MESSAGE = format('min_effect is %s, out of range', COALESCE(min_effect::text, 'NULL')),
            DETAIL = 'It is a share of a standard deviation or of the rows, 0 or more.';
    END IF;
END
$$;

CREATE FUNCTION retrain_if_drifted(model text, threshold double precision DEFAULT 0.01, min_effect double precision DEFAULT 0.1,
        options jsonb DEFAULT '{}') RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_door' LANGUAGE C;
CREATE FUNCTION fastclust_internal.retrain_if_drifted_inside(model text, threshold double precision DEFAULT 0.01, min_effect double precision DEFAULT 0.1,
        options jsonb DEFAULT '{}') RETURNS integer
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    held models;
    version model_versions;
    live live_sketches;
    job training_job;
    checked drift_log;
BEGIN
    PERFORM check_training_options(options, 'retrain'), check_drift_limits(threshold, min_effect);
    held := lock_model($1, NOT flag_option(options, 'nowait', false));
    version := serving_version(held);
    live := live_for_retraining(held, version, options);
    IF live.id IS NULL THEN
        job := retraining_job(held, options);
    END IF;
    checked.relation := COALESCE((job.source).relation, version.relation);
    SELECT d.mmd2, d.null_sd, d.p_value, d.fit_residual, d.n, d.effect, d.verdict, d.columns
      INTO checked.mmd2, checked.null_sd, checked.p_value, checked.fit_residual, checked.n, checked.effect, checked.verdict, checked.columns
      FROM version_drift(version, CASE WHEN live.id IS NOT NULL THEN model_rows(live)
                                       ELSE (SELECT r.s FROM sketch_rows(version, checked.relation::regclass, NULL) r) END, threshold, min_effect) d;
    IF checked.verdict = 'too few rows' THEN
        RAISE WARNING USING MESSAGE = format('%s rows of %s are too few to tell drift of model "%s"', checked.n, checked.relation, $1);
    ELSIF NOT flag_option(version.options || options, 'quiet', false) THEN
        RAISE NOTICE '%', format('model "%s" version %s: drift %s, effect %s, p = %s for %s rows', $1, held.version, checked.verdict,
            short_number(checked.effect), short_number(checked.p_value), checked.n);
    END IF;
    IF checked.verdict = 'drifted' THEN
        checked.new_version := CASE WHEN live.id IS NOT NULL THEN retrain_live(held, version, live, options) ELSE run_training(job) END;
    END IF;
    checked.model_id := held.id;
    checked.version := held.version;
    checked.threshold := threshold;
    checked.min_effect := min_effect;
    PERFORM write_drift(checked);
    RETURN checked.new_version;
END
$$;
COMMENT ON FUNCTION retrain_if_drifted(text, double precision, double precision, jsonb)
    IS 'retrain when the p-value of drift is below the threshold and its effect at least min_effect; the new version, or NULL; every check is a row of drift_log';

-- models on the workers of Citus: what predict reads there
-- The coordinator's models serve, and what predict needs of them is copied into a reference table within the transaction that changes a model.
-- Citus commits it on all nodes or none, and gives it to nodes that come later.

-- The ids of roles are a node's own: generated columns look the names up where a row arrives.
CREATE TABLE fastclust_internal.shared_models (
    model text NOT NULL,
    owner name NOT NULL,
    owner_id oid GENERATED ALWAYS AS ((role_ids(ARRAY[owner]))[1]) STORED,
    readers name[] NOT NULL,
    reader_ids oid[] GENERATED ALWAYS AS (role_ids(readers)) STORED,
    grouped boolean NOT NULL,
    group_value text NOT NULL,
    operator fastop NOT NULL,
    center double precision[],
    scale double precision[],
    distance_quantiles double precision[],
    map kernel_map,
    spreads double precision[],
    encoder encoder,
    paths integer[],
    vector boolean NOT NULL,
    features name[] NOT NULL,
    options jsonb NOT NULL,
    PRIMARY KEY (model, group_value));
COMMENT ON TABLE shared_models IS 'internal: empty until distribute_models; then the serving versions, on every node of Citus';

-- The number of this node among those that share models, 0 is the coordinator; NULL where none are shared.
CREATE FUNCTION fastclust_internal.sharing_node() RETURNS integer
    LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    node integer;
BEGIN
    IF EXISTS (SELECT FROM pg_extension e WHERE e.extname = 'citus') THEN
        SELECT l.groupid INTO node FROM pg_catalog.pg_dist_local_group l
         WHERE EXISTS (SELECT FROM pg_catalog.pg_dist_partition p WHERE p.logicalrelid = 'shared_models'::regclass);
    END IF;
    RETURN node;
END
$$;

-- What predict reads on a worker, from the worker's own copy: within the task of a shard Citus plans no query of its tables.
CREATE FUNCTION fastclust_internal.shared_model(model text, group_value text, OUT grouped boolean, OUT operator fastop, OUT center double precision[],
        OUT scale double precision[], OUT distance_quantiles double precision[], OUT map kernel_map, OUT spreads double precision[], OUT encoder encoder,
        OUT paths integer[], OUT vector boolean, OUT features name[], OUT options jsonb) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C STABLE PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.shared_model_as_owner(caller oid, model text, group_value text, OUT grouped boolean, OUT operator fastop, OUT center double precision[],
        OUT scale double precision[], OUT distance_quantiles double precision[], OUT map kernel_map, OUT spreads double precision[], OUT encoder encoder,
        OUT paths integer[], OUT vector boolean, OUT features name[], OUT options jsonb) RETURNS SETOF record
    LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    copied text := (SELECT 'shared_models_' || s.shardid FROM pg_catalog.pg_dist_shard s WHERE s.logicalrelid = 'shared_models'::regclass);
BEGIN
    IF to_regclass('fastclust_internal.' || copied) IS NULL THEN
        RAISE object_not_in_prerequisite_state USING MESSAGE = 'models have not reached this node yet',
            HINT = 'SELECT replicate_reference_tables() on the coordinator.';
    END IF;
    RETURN QUERY EXECUTE format(
        'SELECT one.grouped, v.operator, v.center, v.scale, v.distance_quantiles, v.map, v.spreads, v.encoder, v.paths, v.vector, v.features, v.options
           FROM (SELECT * FROM fastclust_internal.%1$I m WHERE m.model = $2 LIMIT 1) one
           LEFT JOIN fastclust_internal.%1$I v ON v.model = one.model AND v.group_value = $3
          WHERE is_member($1, one.owner_id) OR 0 = ANY (one.reader_ids) OR EXISTS (SELECT FROM unnest(one.reader_ids) r WHERE is_member($1, r))',
        copied) USING caller, model, group_value;
END
$$;

-- The rows of a model that serves, of all models without an id.  Citus plans no parameters of functions in SQL.
CREATE FUNCTION fastclust_internal.write_shared_models(model_id bigint) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
BEGIN
    INSERT INTO shared_models (model, owner, readers, grouped, group_value, operator, center, scale, distance_quantiles, map, spreads, encoder, paths, vector, features, options)
    SELECT m.model, COALESCE((SELECT r.rolname FROM pg_roles r WHERE r.oid = m.owner_id), m.owner), present_readers(m, ''), m.group_by IS NOT NULL,
           v.group_value, v.operator, v.center, v.scale, v.distance_quantiles, v.map, v.spreads, v.encoder, v.paths, v.vector, v.features, v.options
      FROM models m JOIN model_versions v ON v.model_id = m.id AND v.version = m.version
     WHERE m.id = write_shared_models.model_id OR write_shared_models.model_id IS NULL;
END
$$;

CREATE FUNCTION fastclust_internal.share_changed_model() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    node integer := sharing_node();
BEGIN
    IF node > 0 THEN
        RAISE object_not_in_prerequisite_state USING MESSAGE = 'models of this cluster belong to its coordinator',
            HINT = 'Train and change models there; predict reads them on every node.';
    ELSIF node = 0 THEN
        IF TG_OP <> 'INSERT' THEN
            DELETE FROM shared_models s WHERE s.model = OLD.model;
        END IF;
        IF TG_OP <> 'DELETE' THEN
            PERFORM write_shared_models(NEW.id);
        END IF;
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER share AFTER INSERT OR UPDATE OR DELETE ON models FOR EACH ROW EXECUTE FUNCTION share_changed_model();

CREATE FUNCTION distribute_models() RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_door' LANGUAGE C;
CREATE FUNCTION fastclust_internal.distribute_models_inside() RETURNS integer
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    owner oid := (SELECT c.relowner FROM pg_class c WHERE c.oid = 'shared_models'::regclass);
BEGIN
    IF NOT EXISTS (SELECT FROM pg_extension e WHERE e.extname = 'citus') THEN
        RAISE feature_not_supported USING MESSAGE = 'Citus is not installed in this database',
            HINT = 'One server has no use for it: predict reads its models as they are.';
    ELSIF NOT is_member((SELECT r.oid FROM pg_roles r WHERE r.rolname = current_user), owner) THEN
        RAISE insufficient_privilege USING MESSAGE = format('models are distributed by %s alone, who owns the extension', pg_get_userbyid(owner));
    ELSIF (SELECT l.groupid FROM pg_catalog.pg_dist_local_group l) <> 0 THEN
        RAISE object_not_in_prerequisite_state USING MESSAGE = 'models are distributed by the coordinator alone';
    END IF;
    LOCK TABLE models IN SHARE MODE;
    IF sharing_node() IS NULL THEN
        PERFORM create_reference_table('fastclust_internal.shared_models');
    END IF;
    DELETE FROM shared_models;
    PERFORM write_shared_models(NULL);
    RETURN (SELECT count(DISTINCT s.model) FROM shared_models s);
END
$$;
COMMENT ON FUNCTION distribute_models() IS 'let predict read the models on the workers of Citus, now and after every training; returns their number';

-- explain: clusters in the words and units of the table

-- A dimension of the rows: the column or part of one that it comes from, the kind of that (number, boolean, date, timestamp, interval, category,
-- vector), for a category which of them it tells (1, else 0), and how its value was transformed (none or log).
CREATE FUNCTION fastclust_internal.version_features(version model_versions, OUT dimension integer, OUT feature text, OUT kind text,
        OUT category text, OUT transform text) RETURNS SETOF record
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT f.dimension, f.feature, f.kind, f.category, f.transform FROM encoder_features(version.encoder) f
    UNION ALL
    SELECT i, format('%s[%s]', version.features[1], i), 'vector', NULL, 'none' FROM generate_series(1, cardinality(means(version.training_sketch))) i
     WHERE version.encoder IS NULL
$$;

-- How the core takes a feature: 0 number, 1 log, 2 days, 3 seconds, 4 a flag.
CREATE FUNCTION fastclust_internal.axis_kind(kind text, transform text) RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE WHEN transform = 'log' THEN 1 WHEN kind = 'date' THEN 2 WHEN kind IN ('timestamp', 'interval') THEN 3
                WHEN kind IN ('boolean', 'category') THEN 4 ELSE 0 END
$$;

-- Features with the names that people read: "country = DE".
CREATE FUNCTION fastclust_internal.labelled_features(version model_versions, OUT dimension integer, OUT feature text, OUT kind text, OUT category text,
        OUT label text, OUT axis_kind integer) RETURNS SETOF record
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT f.dimension, f.feature, f.kind, f.category, CASE WHEN f.category IS NULL THEN f.feature ELSE format('%s = %s', f.feature, f.category) END,
           axis_kind(f.kind, f.transform)
      FROM version_features(version) f
$$;

-- A value in its own unit as people read it, with four digits or exactly; days and seconds are from 2000-01-01 on.
CREATE FUNCTION fastclust_internal.shown_value(x double precision, kind text, exact boolean) RETURNS text
    AS 'MODULE_PATHNAME', 'fastclust_shown_value' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

-- ---- the profile ----

-- A row per cluster and dimension, up to `most` of each cluster: those of place 1 to `most`, 1 for what tells most.
CREATE FUNCTION fastclust_internal.profile_of_centroids(op fastop, center double precision[], scale double precision[], means double precision[],
        deviations double precision[], kinds integer[], most integer, OUT cluster integer, OUT dimension integer, OUT value double precision,
        OUT overall double precision, OUT difference double precision, OUT lift double precision, OUT place integer) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_profile_of_centroids' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 10000 ROWS 1000;

-- That of a version; none where clusters are of kernel features.
CREATE FUNCTION fastclust_internal.version_profile(version model_versions, most integer, OUT cluster integer, OUT dimension integer, OUT feature text,
        OUT kind text, OUT category text, OUT label text, OUT value double precision, OUT overall double precision, OUT difference double precision,
        OUT lift double precision, OUT place integer) RETURNS SETOF record
    LANGUAGE sql STABLE ROWS 1000 SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    WITH f AS MATERIALIZED (SELECT * FROM labelled_features(version))
    SELECT p.cluster, p.dimension, f.feature, f.kind, f.category, f.label, p.value, p.overall, p.difference, p.lift, p.place
      FROM profile_of_centroids(version.operator, version.center, version.scale, means(version.training_sketch), stddevs(version.training_sketch),
                                (SELECT array_agg(f.axis_kind ORDER BY f.dimension) FROM f), most) p
      JOIN f USING (dimension)
     WHERE version.map IS NULL
$$;

-- A name for each cluster: its two most telling phrases, one a column; a third, and its number, where others would have the same.
CREATE FUNCTION fastclust_internal.version_suggestions(version model_versions, OUT cluster integer, OUT name text) RETURNS SETOF record
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    WITH told AS (
        SELECT p.cluster, p.feature, p.place, CASE
            WHEN p.kind = 'category' THEN CASE WHEN p.difference > 0 AND p.value >= 0.5 THEN p.label
                                               WHEN p.difference > 0 AND p.value >= 0.2 THEN format('often %s', p.label)
                                               WHEN p.difference < 0 AND p.value < 0.05 THEN format('%s <> %s', p.feature, p.category) END
            WHEN p.kind = 'boolean' THEN CASE WHEN p.difference > 0 AND p.value >= 0.5 THEN p.feature
                                              WHEN p.difference < 0 AND p.value < 0.5 THEN format('not %s', p.feature) END
            ELSE format('%s%s %s', CASE WHEN abs(p.difference) >= 1.5 THEN 'very ' ELSE '' END,
                        CASE WHEN p.kind IN ('date', 'timestamp') THEN CASE WHEN p.difference > 0 THEN 'late' ELSE 'early' END
                             WHEN p.kind = 'interval' THEN CASE WHEN p.difference > 0 THEN 'long' ELSE 'short' END
                             WHEN p.difference > 0 THEN 'high' ELSE 'low' END, p.feature) END AS words
          FROM version_profile(version, 20) p WHERE abs(p.difference) >= 0.5),
    phrases AS (
        SELECT DISTINCT ON (t.cluster, t.feature) t.* FROM told t WHERE t.words IS NOT NULL ORDER BY t.cluster, t.feature, t.place),
    ordered AS (
        SELECT p.cluster, p.words, row_number() OVER (PARTITION BY p.cluster ORDER BY p.place) AS i FROM phrases p),
    named AS (
        SELECT c.cluster, string_agg(o.words, ', ' ORDER BY o.i) FILTER (WHERE o.i <= 2) AS two, string_agg(o.words, ', ' ORDER BY o.i) AS three
          FROM generate_series(0, clusters(version.operator) - 1) c(cluster) LEFT JOIN ordered o ON o.cluster = c.cluster AND o.i <= 3 GROUP BY 1),
    chosen AS (
        SELECT n.cluster, COALESCE(CASE WHEN count(*) OVER (PARTITION BY n.two) = 1 THEN n.two ELSE n.three END, 'average') AS name FROM named n)
    SELECT n.cluster, CASE WHEN version.map IS NOT NULL THEN format('cluster %s', n.cluster) WHEN count(*) OVER (PARTITION BY n.name) = 1 THEN n.name
                           ELSE format('%s (%s)', n.name, n.cluster) END
      FROM chosen n ORDER BY 1
$$;

-- The name that was given to each cluster, or else the suggested one.
CREATE FUNCTION fastclust_internal.version_names(version model_versions, OUT cluster integer, OUT name text) RETURNS SETOF record
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT s.cluster, COALESCE(n.name, s.name)
      FROM version_suggestions(version) s
      LEFT JOIN cluster_names n ON n.model_id = version.model_id AND n.group_value = version.group_value AND n.cluster = s.cluster
                               AND n.features = version.features
     ORDER BY 1
$$;

CREATE FUNCTION fastclust_internal.check_has_features(version model_versions) RETURNS void
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
BEGIN
    IF version.map IS NOT NULL THEN
        RAISE wrong_object_type USING MESSAGE = format('model "%s" is of method kernel: its centroids have no features', version.model),
            HINT = 'Use rules or typical_rows, which tell its clusters by rows of the table.';
    END IF;
END
$$;

CREATE FUNCTION profile(model text, group_value text DEFAULT NULL, OUT cluster integer, OUT name text, OUT feature text, OUT value double precision,
        OUT overall double precision, OUT difference double precision, OUT lift double precision, OUT shown text) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_door' LANGUAGE C STABLE ROWS 100;
CREATE FUNCTION fastclust_internal.profile_inside(model text, group_value text DEFAULT NULL, OUT cluster integer, OUT name text, OUT feature text, OUT value double precision,
        OUT overall double precision, OUT difference double precision, OUT lift double precision, OUT shown text) RETURNS SETOF record
    LANGUAGE plpgsql STABLE ROWS 100 SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    version model_versions := explained_version(readable_model($1), $2);
BEGIN
    PERFORM check_has_features(version);
    RETURN QUERY SELECT p.cluster, n.name, p.label, p.value, p.overall, p.difference, p.lift, shown_value(p.value, p.kind, false)
      FROM version_profile(version, 2147483647) p JOIN version_names(version) n USING (cluster) ORDER BY p.cluster, p.place;
END
$$;
COMMENT ON FUNCTION profile(text, text)
    IS 'what makes each cluster special: a row per cluster and feature in the unit of the table, most telling first; group_value names a group where there are groups';

CREATE FUNCTION suggest_names(model text, group_value text DEFAULT NULL, OUT cluster integer, OUT name text) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_door' LANGUAGE C STABLE ROWS 10;
CREATE FUNCTION fastclust_internal.suggest_names_inside(model text, group_value text DEFAULT NULL, OUT cluster integer, OUT name text) RETURNS SETOF record
    LANGUAGE sql STABLE ROWS 10 SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT s.* FROM version_suggestions(explained_version(readable_model(model), group_value)) s
$$;
COMMENT ON FUNCTION suggest_names(text, text) IS 'a name for each cluster from what it differs in; clusters without a name of name_cluster are shown by these';

-- ---- model_centroids ----

-- Of one version; what cannot be computed is told in a warning, as in version_cluster_rows.
CREATE FUNCTION fastclust_internal.version_centroid_rows(version model_versions, OUT cluster integer, OUT name text, OUT feature text, OUT value double precision)
    RETURNS SETOF record
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
BEGIN
    RETURN QUERY SELECT p.cluster, n.name, p.label, p.value
                   FROM version_profile(version, 2147483647) p JOIN version_names(version) n USING (cluster) ORDER BY p.cluster, p.dimension;
EXCEPTION WHEN OTHERS THEN
    RAISE WARNING USING MESSAGE = format('the centroids of model "%s" cannot be shown', version.model), DETAIL = SQLERRM;
END
$$;

CREATE FUNCTION fastclust_internal.model_centroid_rows(model_id bigint, OUT group_value text, OUT cluster integer, OUT name text, OUT feature text,
        OUT value double precision) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_door' LANGUAGE C STABLE;
CREATE FUNCTION fastclust_internal.model_centroid_rows_inside(model_id bigint, OUT group_value text, OUT cluster integer, OUT name text, OUT feature text,
        OUT value double precision) RETURNS SETOF record
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT CASE WHEN m.group_by IS NOT NULL THEN v.group_value END, c.*
      FROM models m JOIN model_versions v ON v.model_id = m.id AND v.version = m.version CROSS JOIN LATERAL version_centroid_rows(v) c
     WHERE m.id = $1
$$;

-- By model, so that a query of one computes no other.
CREATE VIEW model_centroids AS SELECT m.model, c.* FROM visible_models() m CROSS JOIN LATERAL model_centroid_rows(m.id) c;
COMMENT ON VIEW model_centroids IS 'one row per cluster and feature of the version that predict uses, with the value in the unit of the table';
COMMENT ON COLUMN model_centroids.model IS 'the name of the model';
COMMENT ON COLUMN model_centroids.group_value IS 'the group; NULL for a model without groups';
COMMENT ON COLUMN model_centroids.cluster IS 'the number that predict returns';
COMMENT ON COLUMN model_centroids.name IS 'the name of name_cluster, or else that of suggest_names';
COMMENT ON COLUMN model_centroids.feature IS 'the column, an element of a vector as column[i], or a category as column = category';
COMMENT ON COLUMN model_centroids.value IS 'the mean of the cluster in the unit of the feature; the share of its rows for a category';
GRANT SELECT ON model_centroids TO PUBLIC;

-- rules: what rows of a cluster have in common, as conditions on columns

-- The rows of a relation as the version reads them, of the group where it is of one.
CREATE FUNCTION fastclust_internal.version_source(held models, version model_versions, relation regclass) RETURNS row_source
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    source row_source := source_of_version(version, relation, held.group_by);
BEGIN
    IF held.group_by IS NOT NULL THEN
        source.filter := format('%s AND %s = %L', source.filter, source.group_value, version.group_value);
    END IF;
    RETURN source;
END
$$;

-- A uniform sample of them, in their own units; the relation is the version's own where none is named.
CREATE FUNCTION fastclust_internal.version_sample(held models, version model_versions, relation regclass, wanted double precision) RETURNS fastop
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    job training_job;
BEGIN
    job.source := version_source(held, version, scanned_relation(held, version, relation, held.group_by));
    job.k := 1;
    job.options := jsonb_build_object('sample_rows', wanted);
    job.seed := seed_option(version.options);
    job.estimate := estimated_rows(job.source);
    RETURN uniform_sample(job, cardinality(means(version.training_sketch)));
END
$$;

-- The same as the operator takes rows.
CREATE FUNCTION fastclust_internal.sample_in_space(version model_versions, sample fastop) RETURNS fastop
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT rows_in_space(operator_in_units(sample, NULL, NULL, version.center, version.scale), version.map)
$$;

-- Rules for the labels that op gives to space_rows by values of raw_rows, which come in random order; kinds: 0 number, 1 log, 2 days, 3 seconds,
-- 4 flag.  lower < value <= upper, or an infinity; share: of all rows.  The rest is measured on rows that were not learned from.
CREATE FUNCTION fastclust_internal.rules_of_sample(op fastop, space_rows fastop, raw_rows fastop, kinds integer[], columns integer[], conditions integer,
        OUT cluster integer, OUT dimensions integer[], OUT lower double precision[], OUT upper double precision[], OUT "precision" double precision,
        OUT coverage double precision, OUT share double precision, OUT fidelity double precision) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_rules_of_sample' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000000 ROWS 20;

-- The rules in words.  Categories of one column are one condition: that which rows have, or those which they have not.
CREATE FUNCTION fastclust_internal.version_rules(held models, version model_versions, conditions integer, relation regclass, OUT cluster integer, OUT rule text,
        OUT "precision" double precision, OUT coverage double precision, OUT share double precision, OUT fidelity double precision) RETURNS SETOF record
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    dimension integer := cardinality(means(version.training_sketch));
    sample fastop := version_sample(held, version, relation, greatest(least(20000, 1e7 / dimension), 2000, 100.0 * clusters(version.operator)));
BEGIN
    RETURN QUERY
    WITH f AS MATERIALIZED (SELECT l.*, dense_rank() OVER (ORDER BY l.feature) AS number FROM labelled_features(version) l),
    r AS MATERIALIZED (
        SELECT q.*, row_number() OVER () AS id
          FROM rules_of_sample(version.operator, sample_in_space(version, sample), sample, (SELECT array_agg(f.axis_kind ORDER BY f.dimension) FROM f),
                               (SELECT array_agg(f.number ORDER BY f.dimension)::integer[] FROM f), conditions) q),
    asked AS (
        SELECT r.id, f.feature, f.kind, min(u.i) AS place, max(u.lower) AS lower, min(u.upper) AS upper,
               max(f.label) FILTER (WHERE u.lower > '-Infinity') AS is, array_agg(f.category ORDER BY u.i) AS is_not
          FROM r, unnest(r.dimensions, r.lower, r.upper) WITH ORDINALITY u(dimension, lower, upper, i) JOIN f USING (dimension) GROUP BY 1, 2, 3),
    told AS (
        SELECT a.id, string_agg(CASE
            WHEN a.kind IN ('category', 'boolean') AND a.is IS NOT NULL THEN a.is
            WHEN a.kind = 'boolean' THEN format('not %s', a.feature)
            WHEN a.kind = 'category' AND cardinality(a.is_not) = 1 THEN format('%s <> %s', a.feature, a.is_not[1])
            WHEN a.kind = 'category' THEN format('%s not in (%s)', a.feature, array_to_string(a.is_not, ', '))
            WHEN a.upper = 'Infinity' THEN format('%s > %s', a.feature, shown_value(a.lower, a.kind, true))
            WHEN a.lower = '-Infinity' THEN format('%s <= %s', a.feature, shown_value(a.upper, a.kind, true))
            ELSE format('%s < %s <= %s', shown_value(a.lower, a.kind, true), a.feature, shown_value(a.upper, a.kind, true)) END, ' and ' ORDER BY a.place) AS rule
          FROM asked a GROUP BY 1)
    SELECT r.cluster, COALESCE(t.rule, 'all rows'), r.precision, r.coverage, r.share, r.fidelity FROM r LEFT JOIN told t USING (id);
END
$$;

CREATE FUNCTION rules(model text, conditions integer DEFAULT 3, relation regclass DEFAULT NULL, group_value text DEFAULT NULL, OUT cluster integer,
        OUT name text, OUT rule text, OUT "precision" double precision, OUT coverage double precision, OUT rows bigint, OUT fidelity double precision)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_door' LANGUAGE C STABLE ROWS 10;
CREATE FUNCTION fastclust_internal.rules_inside(model text, conditions integer DEFAULT 3, relation regclass DEFAULT NULL, group_value text DEFAULT NULL, OUT cluster integer,
        OUT name text, OUT rule text, OUT "precision" double precision, OUT coverage double precision, OUT rows bigint, OUT fidelity double precision)
    RETURNS SETOF record
    LANGUAGE plpgsql STABLE ROWS 10 SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    held models := readable_model($1);
    version model_versions := explained_version(held, $4);
BEGIN
    IF $2 IS NULL THEN
        RAISE null_value_not_allowed USING MESSAGE = 'conditions must not be NULL';
    ELSIF $2 NOT BETWEEN 1 AND 10 THEN
        RAISE invalid_parameter_value USING MESSAGE = format('conditions is %s, out of range', $2), DETAIL = 'It may be from 1 to 10.';
    END IF;
    RETURN QUERY
    SELECT n.cluster, n.name, r.rule, r.precision, COALESCE(r.coverage, 0), COALESCE(round(r.share * version.n)::bigint, 0), max(r.fidelity) OVER ()
      FROM version_names(version) n LEFT JOIN version_rules(held, version, $2, $3) r USING (cluster)
     ORDER BY n.cluster, r.coverage DESC, r.share DESC;
END
$$;
COMMENT ON FUNCTION rules(text, integer, regclass, text)
    IS 'short rules that tell the clusters of a model by at most so many conditions on columns, learned on a sample of the table, with what they keep of the labels';

-- index service: centroids for an index that is built elsewhere, and whether an index has gone stale

CREATE FUNCTION index_centroids(model text, OUT id integer, OUT parent integer, OUT vector real[]) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_door' LANGUAGE C STABLE ROWS 1000;
CREATE FUNCTION fastclust_internal.index_centroids_inside(model text, OUT id integer, OUT parent integer, OUT vector real[]) RETURNS SETOF record
    LANGUAGE plpgsql STABLE ROWS 1000 SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    version model_versions := explained_version(readable_model($1), NULL);
BEGIN
    PERFORM check_has_features(version);
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

-- The version whose buckets stand for those of an index on a column: the caller's own or that of the table's owner before those of others, then one
-- whose training measured the recall, then the latest.  None of a role that may not read the column: it only says that it was trained on it.
CREATE FUNCTION fastclust_internal.version_of_column(relation regclass, source row_source) RETURNS model_versions
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT v.* FROM models m JOIN model_versions v ON v.model_id = m.id AND v.version = m.version,
           (SELECT r.oid AS caller, c.relowner FROM pg_roles r, pg_class c WHERE r.rolname = current_user AND c.oid = version_of_column.relation) o
     WHERE m.group_by IS NULL AND v.vector AND v.features = source.features AND v.relation = source.relation
       AND has_column_privilege(m.owner_id, version_of_column.relation, source.features[1], 'SELECT')
     ORDER BY m.owner_id IN (o.caller, o.relowner) DESC, is_member(o.caller, m.owner_id) DESC, v.recall IS NULL, v.trained_at DESC, v.model_id DESC LIMIT 1
$$;

-- The share of the sampled rows in buckets that no longer fit: those that hold more than twice their share, or whose rows lie at 1.5 times the
-- mean squared distance; both beyond three standard deviations of chance.
CREATE FUNCTION fastclust_internal.worn_share(version model_versions, counts double precision[], squares double precision[]) RETURNS double precision
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT COALESCE(sum(b.count) FILTER (WHERE b.count > 2 * b.expected + 3 * sqrt(2 * b.expected) + 3
                                            OR b.square > (1.5 + 3 / sqrt(b.count)) * b.count * b.variance), 0) / sum(b.count)
      FROM (SELECT u.count, u.square, dim(version.operator) * u.spread ^ 2 AS variance,
                   (SELECT sum(n) FROM unnest(counts) n) * c.weight / (SELECT sum(w.weight) FROM centroids(version.operator) w) AS expected
              FROM unnest(counts, squares, version.spreads) WITH ORDINALITY u(count, square, spread, i) JOIN centroids(version.operator) c ON c.cluster = u.i - 1
             WHERE u.count > 0) b
$$;

-- The model, where the caller may retrain it, and indexes that keep lists of rows by centroids, one statement a line: REINDEX CONCURRENTLY
-- runs in no transaction with another.
CREATE FUNCTION fastclust_internal.rebuild_statement(relation regclass, "column" name, model text) RETURNS text
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT NULLIF(concat_ws(E'\n',
        (SELECT format('SELECT %I.retrain(%L);', '@extschema@', m.model) FROM models m, pg_roles r
          WHERE m.model = rebuild_statement.model AND r.rolname = current_user AND is_member(r.oid, m.owner_id)),
        (SELECT string_agg(format('REINDEX INDEX CONCURRENTLY %I.%I;', n.nspname, c.relname), E'\n' ORDER BY n.nspname, c.relname)
           FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_am a ON a.oid = c.relam
          WHERE i.indrelid = relation AND a.amname IN ('ivfflat', 'vchordrq')
            AND EXISTS (SELECT FROM pg_depend d JOIN pg_attribute t ON t.attrelid = d.refobjid AND t.attnum = d.refobjsubid    -- itself, or in an expression
                         WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.refclassid = 'pg_class'::regclass AND d.refobjid = relation
                           AND t.attname = "column"))), '')
$$;

-- The job of reading a sample of about so many rows.
CREATE FUNCTION fastclust_internal.sampling_job(source row_source, most integer) RETURNS training_job
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    job training_job;
BEGIN
    job.source := source;
    job.k := 1;
    job.options := jsonb_build_object('sample_rows', most);
    job.seed := 0;
    job.estimate := estimated_rows(source);
    RETURN job;
END
$$;

-- The sketch of the rows of now by a version's spec: the live one, or else by a scan.
CREATE FUNCTION fastclust_internal.present_rows(version model_versions, relation regclass) RETURNS sketch
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    live live_sketches := live_of_version(version);
BEGIN
    RETURN CASE WHEN live.id IS NOT NULL THEN current_sketch(live.name) ELSE (SELECT r.s FROM sketch_rows(version, relation, NULL) r) END;
END
$$;

-- Sketches to compare, and the null law of their difference: the model's, or by random parts of the rows of now.
CREATE FUNCTION fastclust_internal.sketches_to_compare(relation regclass, source row_source, version model_versions, INOUT at_build sketch, INOUT present sketch,
        OUT null_moments double precision[])
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    sampling sampling := ROW(1000, NULL, NULL, 0, 16, false, NULL);
    units row_units;
    scan record;
BEGIN
    at_build := COALESCE(at_build, version.training_sketch);
    IF spec(present) <> spec(at_build) THEN
        RAISE data_exception USING MESSAGE = 'present was not made with the sketch_spec of at_build',
            HINT = 'Make both by sketch_agg(x, ...) with one spec; that of a model is model_spec(model).';
    END IF;
    IF version.operator IS NOT NULL AND spec(version.training_sketch) = spec(at_build) THEN
        null_moments := version.null_moments;
        present := COALESCE(present, present_rows(version, relation));
    END IF;
    IF null_moments IS NULL THEN
        SELECT s.sketch, s.null_moments INTO scan FROM scan_groups(sampling_job(source, 1000), units, spec(at_build), sampling) s;
        present := COALESCE(present, scan.sketch);
        null_moments := scan.null_moments;
    END IF;
END
$$;

CREATE FUNCTION index_health(relation regclass, "column" name, at_build sketch DEFAULT NULL, present sketch DEFAULT NULL, probes integer DEFAULT NULL,
        OUT model text, OUT rows_at_build bigint, OUT rows_now bigint, OUT mmd2 double precision, OUT p_value double precision, OUT effect double precision,
        OUT worn_share double precision, OUT recall_at_build double precision, OUT recall_now double precision, OUT recall_loss double precision,
        OUT read_share double precision, OUT verdict text, OUT statement text)
    AS 'MODULE_PATHNAME', 'fastclust_door' LANGUAGE C;
CREATE FUNCTION fastclust_internal.index_health_inside(relation regclass, "column" name, at_build sketch DEFAULT NULL, present sketch DEFAULT NULL, probes integer DEFAULT NULL,
        OUT model text, OUT rows_at_build bigint, OUT rows_now bigint, OUT mmd2 double precision, OUT p_value double precision, OUT effect double precision,
        OUT worn_share double precision, OUT recall_at_build double precision, OUT recall_now double precision, OUT recall_loss double precision,
        OUT read_share double precision, OUT verdict text, OUT statement text)
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    version model_versions;
    source row_source;
    compared record;
    sample fastop;
    measured record;
BEGIN
    IF $1 IS NULL OR $2 IS NULL THEN
        RAISE null_value_not_allowed USING MESSAGE = format('%s must not be NULL', CASE WHEN $1 IS NULL THEN 'relation' ELSE 'column' END);
    ELSIF $5 < 1 THEN
        RAISE invalid_parameter_value USING MESSAGE = format('probes is %s, out of range', $5), DETAIL = 'It is a number of buckets, 1 or more.';
    END IF;
    source := row_source($1, ARRAY[$2], true, NULL);
    version := version_of_column($1, source);
    IF version.operator IS NOT NULL THEN
        PERFORM scanned_relation(readable_model(version.model), version, $1, NULL);
        source := source_of_version(version, $1, NULL);
    ELSIF $3 IS NULL THEN
        RAISE object_not_in_prerequisite_state USING MESSAGE = format('no model serves column "%s" of %s, and at_build is NULL', $2, $1),
            HINT = 'Give the sketch of the rows the index was built from: at_build => ..., or train a model on the column.';
    END IF;
    compared := sketches_to_compare($1, source, version, $3, $4);
    model := version.model;
    rows_at_build := row_count(compared.at_build);
    rows_now := COALESCE(row_count(compared.present), 0);
    SELECT t.mmd2, t.p_value, t.effect, t.verdict INTO mmd2, p_value, effect, verdict
      FROM drift_test(compared.at_build, compared.present, compared.null_moments, 0.01, 0.1) t;
    verdict := COALESCE(verdict, 'too few rows');
    IF version.operator IS NOT NULL AND rows_now > 1 THEN
        sample := uniform_sample(sampling_job(source, 6000), cardinality(means(version.training_sketch)));
        measured := sampled_recall(version.operator, searched_sample(sample, ROW(version.center, version.scale, version.map)::row_units), rows_now,
                                   COALESCE($5, number_option(version.options, 'probes', NULL)::integer, ceil(sqrt(clusters(version.operator)) / 2)::integer));
        worn_share := worn_share(version, measured.counts, measured.squares);
        recall_now := measured.recall;
        read_share := measured.read_share;
        recall_at_build := CASE WHEN $5 IS NULL OR $5 = number_option(version.options, 'probes', NULL) THEN version.recall END;
        recall_loss := recall_at_build - recall_now;
    END IF;
    statement := CASE WHEN verdict = 'drifted' THEN rebuild_statement($1, $2, version.model) END;
END
$$;
COMMENT ON FUNCTION index_health(regclass, name, sketch, sketch, integer)
    IS 'has an index of buckets on a column gone stale: the sketch of its build against the rows of now, the recall that a sample of these finds, and the statement to run';

-- levels and trees of the clusters of a model

CREATE FUNCTION predict_path(model text, x real[]) RETURNS integer[]
    AS 'MODULE_PATHNAME', 'fastclust_predict_path' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION predict_path(text, real[]) IS 'the number of the row''s node on each level of a model, from the top down; the last is what predict returns';
CREATE FUNCTION predict_path_group(model text, group_value text, x real[]) RETURNS integer[]
    AS 'MODULE_PATHNAME', 'fastclust_predict_path_group' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION predict_path_group(text, text, real[]) IS 'the number of the row''s node on each level of a group''s clusters; NULL for a group without clusters';
CREATE FUNCTION predict_path(model text, x double precision[]) RETURNS integer[]
    AS 'MODULE_PATHNAME', 'fastclust_predict_path' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION predict_path(text, double precision[]) IS 'the number of the row''s node on each level of a model, from the top down; the last is what predict returns';
CREATE FUNCTION predict_path_group(model text, group_value text, x double precision[]) RETURNS integer[]
    AS 'MODULE_PATHNAME', 'fastclust_predict_path_group' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION predict_path_group(text, text, double precision[]) IS 'the number of the row''s node on each level of a group''s clusters; NULL for a group without clusters';
CREATE FUNCTION predict_path(model text, x integer[]) RETURNS integer[]
    AS 'MODULE_PATHNAME', 'fastclust_predict_path' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION predict_path(text, integer[]) IS 'the number of the row''s node on each level of a model, from the top down; the last is what predict returns';
CREATE FUNCTION predict_path_group(model text, group_value text, x integer[]) RETURNS integer[]
    AS 'MODULE_PATHNAME', 'fastclust_predict_path_group' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION predict_path_group(text, text, integer[]) IS 'the number of the row''s node on each level of a group''s clusters; NULL for a group without clusters';
CREATE FUNCTION predict_path(model text, x numeric[]) RETURNS integer[]
    AS 'MODULE_PATHNAME', 'fastclust_predict_path' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION predict_path(text, numeric[]) IS 'the number of the row''s node on each level of a model, from the top down; the last is what predict returns';
CREATE FUNCTION predict_path_group(model text, group_value text, x numeric[]) RETURNS integer[]
    AS 'MODULE_PATHNAME', 'fastclust_predict_path_group' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION predict_path_group(text, text, numeric[]) IS 'the number of the row''s node on each level of a group''s clusters; NULL for a group without clusters';
CREATE FUNCTION predict_path(model text, "row" record) RETURNS integer[]
    AS 'MODULE_PATHNAME', 'fastclust_predict_path_record' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 300;
COMMENT ON FUNCTION predict_path(text, record) IS 'the number of the node on each level of a model, for a whole row';
CREATE FUNCTION predict_path_group(model text, group_value text, "row" record) RETURNS integer[]
    AS 'MODULE_PATHNAME', 'fastclust_predict_path_group_record' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 300;
COMMENT ON FUNCTION predict_path_group(text, text, record) IS 'the number of the node on each level of a group''s clusters, for a whole row';

-- Level 1 is the top; without levels there is one.
CREATE FUNCTION fastclust_internal.version_levels(version model_versions, OUT level integer, OUT node integer, OUT parent integer, OUT share double precision,
        OUT centroid double precision[]) RETURNS SETOF record
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
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

CREATE FUNCTION level_centroids(model text, group_value text DEFAULT NULL, OUT level integer, OUT node integer, OUT parent integer, OUT share double precision,
        OUT centroid double precision[]) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_door' LANGUAGE C STABLE ROWS 100;
CREATE FUNCTION fastclust_internal.level_centroids_inside(model text, group_value text DEFAULT NULL, OUT level integer, OUT node integer, OUT parent integer, OUT share double precision,
        OUT centroid double precision[]) RETURNS SETOF record
    LANGUAGE plpgsql STABLE ROWS 100 SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    version model_versions := explained_version(readable_model($1), $2);
BEGIN
    PERFORM check_has_features(version);
    RETURN QUERY SELECT l.* FROM version_levels(version) l ORDER BY l.level, l.node;
END
$$;
COMMENT ON FUNCTION level_centroids(text, text)
    IS 'the nodes of each level of a model with their means in the unit of the table; level 1 is the top, the last level are the clusters';

CREATE FUNCTION cluster_tree(model text, group_value text DEFAULT NULL, OUT step integer, OUT "left" integer, OUT "right" integer,
        OUT height double precision, OUT n bigint, OUT share double precision) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_door' LANGUAGE C STABLE ROWS 100;
CREATE FUNCTION fastclust_internal.cluster_tree_inside(model text, group_value text DEFAULT NULL, OUT step integer, OUT "left" integer, OUT "right" integer,
        OUT height double precision, OUT n bigint, OUT share double precision) RETURNS SETOF record
    LANGUAGE plpgsql STABLE ROWS 100 SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    version model_versions := explained_version(readable_model($1), $2);
    total float8 := (SELECT NULLIF(sum(c.weight), 0) FROM centroids(version.operator) c);
BEGIN
    RETURN QUERY SELECT j.step, j."left", j."right", j.height, round(version.n * j.weight / total)::bigint, j.weight / total
                   FROM cluster_joins(version.operator) j ORDER BY 1;
END
$$;
COMMENT ON FUNCTION cluster_tree(text, text)
    IS 'clusters joined two by two by Ward''s criterion: 0 to k - 1 are the clusters, k + i - 1 is what step i made; height is that of scipy, of weighted centroids in the units of training';

CREATE FUNCTION merge_small_clusters(op fastop, min_share double precision) RETURNS fastop
    AS 'MODULE_PATHNAME', 'fastclust_door' LANGUAGE C IMMUTABLE STRICT;
CREATE FUNCTION fastclust_internal.merge_small_clusters_inside(op fastop, min_share double precision) RETURNS fastop
    LANGUAGE plpgsql IMMUTABLE STRICT SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    k integer := clusters(op);
    shares float8[] := (SELECT array_agg(c.weight / t.total ORDER BY c.cluster) FROM centroids(op) c, (SELECT NULLIF(sum(w.weight), 0) AS total FROM centroids(op) w) t);
    tops integer[] := ARRAY(SELECT generate_series(0, clusters(op) - 1));
    node_join record;
BEGIN
    IF NOT min_share BETWEEN 0 AND 1 THEN
        RAISE invalid_parameter_value USING MESSAGE = format('min_share is %s, out of range', min_share), DETAIL = 'It is a share of the rows, between 0 and 1.';
    END IF;
    -- a node that is large enough stays as it is; a small one takes what Ward's tree joins it to
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

-- rows and scores of clusters: one scan each

CREATE TYPE fastclust_internal.typical_row AS (cluster integer, rank integer, distance double precision, row_data jsonb);
CREATE FUNCTION fastclust_internal.nearest_rows_final(internal) RETURNS typical_row[]
    AS 'MODULE_PATHNAME', 'fastclust_nearest_rows_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.nearest_rows_accum(internal, fastop, real[], record, integer) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_nearest_rows_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE AGGREGATE fastclust_internal.nearest_rows_agg(op fastop, x real[], row_data record, n integer) (SFUNC = nearest_rows_accum, STYPE = internal,
    SSPACE = 65536, FINALFUNC = nearest_rows_final, FINALFUNC_MODIFY = READ_ONLY);
CREATE FUNCTION fastclust_internal.nearest_rows_accum(internal, fastop, double precision[], record, integer) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_nearest_rows_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE AGGREGATE fastclust_internal.nearest_rows_agg(op fastop, x double precision[], row_data record, n integer) (SFUNC = nearest_rows_accum, STYPE = internal,
    SSPACE = 65536, FINALFUNC = nearest_rows_final, FINALFUNC_MODIFY = READ_ONLY);
CREATE FUNCTION fastclust_internal.nearest_rows_accum(internal, fastop, integer[], record, integer) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_nearest_rows_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE AGGREGATE fastclust_internal.nearest_rows_agg(op fastop, x integer[], row_data record, n integer) (SFUNC = nearest_rows_accum, STYPE = internal,
    SSPACE = 65536, FINALFUNC = nearest_rows_final, FINALFUNC_MODIFY = READ_ONLY);
CREATE FUNCTION fastclust_internal.nearest_rows_accum(internal, fastop, numeric[], record, integer) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_nearest_rows_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE AGGREGATE fastclust_internal.nearest_rows_agg(op fastop, x numeric[], row_data record, n integer) (SFUNC = nearest_rows_accum, STYPE = internal,
    SSPACE = 65536, FINALFUNC = nearest_rows_final, FINALFUNC_MODIFY = READ_ONLY);

-- Whole rows are read, and columns of any type written as JSON: all columns are checked as those that the version names.
CREATE FUNCTION fastclust_internal.check_whole_rows(held models, version model_versions, relation regclass, named boolean) RETURNS void
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT check_stored_scan(held, version, relation, ARRAY(SELECT a.attname FROM pg_attribute a WHERE a.attrelid = relation AND a.attnum > 0 AND NOT a.attisdropped), named)
$$;

CREATE FUNCTION typical_rows(model text, n integer DEFAULT 3, relation regclass DEFAULT NULL, group_value text DEFAULT NULL, OUT cluster integer,
        OUT rank integer, OUT distance double precision, OUT row_data jsonb) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_door' LANGUAGE C STABLE ROWS 30;
CREATE FUNCTION fastclust_internal.typical_rows_inside(model text, n integer DEFAULT 3, relation regclass DEFAULT NULL, group_value text DEFAULT NULL, OUT cluster integer,
        OUT rank integer, OUT distance double precision, OUT row_data jsonb) RETURNS SETOF record
    LANGUAGE plpgsql STABLE ROWS 30 SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    held models := readable_model($1);
    version model_versions := explained_version(held, $4);
    scanned regclass := scanned_relation(held, version, $3, held.group_by);
    source row_source := version_source(held, version, scanned);
    units row_units := ROW(version.center, version.scale, version.map);
BEGIN
    IF $2 IS NULL THEN
        RAISE null_value_not_allowed USING MESSAGE = 'n must not be NULL';
    ELSIF $2 NOT BETWEEN 1 AND 1000 THEN
        RAISE invalid_parameter_value USING MESSAGE = format('n is %s, out of range', $2), DETAIL = 'It may be from 1 to 1000.';
    END IF;
    PERFORM check_whole_rows(held, version, scanned, $3 IS NOT NULL);
    RETURN QUERY EXECUTE format('SELECT r.* FROM (SELECT nearest_rows_agg($2, %s, t.*, $3) AS rows %s) q, unnest(q.rows) r', row_in_space(source, units), rows_from(source))
        USING units, version.operator, $2;
END
$$;
COMMENT ON FUNCTION typical_rows(text, integer, regclass, text) IS 'the n rows of the table that are nearest to each centroid, whole, nearest first';

-- The last row, of cluster NULL, is of all clusters; n counts rows of the sample.
CREATE FUNCTION fastclust_internal.quality_of_sample(op fastop, sample fastop, OUT cluster integer, OUT n double precision, OUT share double precision,
        OUT silhouette double precision, OUT davies_bouldin double precision, OUT spread double precision, OUT variance_explained double precision)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_quality_of_sample' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000000 ROWS 10;

CREATE FUNCTION score(model text, relation regclass DEFAULT NULL, group_value text DEFAULT NULL, OUT cluster integer, OUT name text, OUT n bigint,
        OUT share double precision, OUT silhouette double precision, OUT davies_bouldin double precision, OUT spread double precision,
        OUT variance_explained double precision) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_door' LANGUAGE C STABLE ROWS 10;
CREATE FUNCTION fastclust_internal.score_inside(model text, relation regclass DEFAULT NULL, group_value text DEFAULT NULL, OUT cluster integer, OUT name text, OUT n bigint,
        OUT share double precision, OUT silhouette double precision, OUT davies_bouldin double precision, OUT spread double precision,
        OUT variance_explained double precision) RETURNS SETOF record
    LANGUAGE plpgsql STABLE ROWS 10 SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    held models := readable_model($1);
    version model_versions := explained_version(held, $3);
    sample fastop := version_sample(held, version, $2, least(50000, greatest(5000, 2e10 / clusters(version.operator) / dim(version.operator))));
BEGIN
    RETURN QUERY
    SELECT q.cluster, names.name, COALESCE(round(q.share * clusters(sample))::bigint, 0), q.share, q.silhouette, q.davies_bouldin, q.spread, q.variance_explained
      FROM quality_of_sample(version.operator, sample_in_space(version, sample)) q LEFT JOIN version_names(version) names USING (cluster)
     ORDER BY q.cluster NULLS LAST;
END
$$;
COMMENT ON FUNCTION score(text, regclass, text) IS 'how compact and how well separated each cluster is, and in the row without a cluster all of them';

-- plot: a model on a terminal

-- A text in exactly so many columns of a terminal, cut or padded on the right, or else on the left.
CREATE FUNCTION fastclust_internal.fit_text(value text, width integer, on_the_left boolean) RETURNS text
    AS 'MODULE_PATHNAME', 'fastclust_fit_text' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
-- A number from 0 to 1 as a bar of at most so many columns; one from -1 to 1 as a bar on either side of a line.
CREATE FUNCTION fastclust_internal.bar(x double precision, width integer) RETURNS text
    AS 'MODULE_PATHNAME', 'fastclust_bar' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.two_sided_bar(x double precision, width integer) RETURNS text
    AS 'MODULE_PATHNAME', 'fastclust_two_sided_bar' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

-- The clusters of a version by their rows, largest first.
CREATE FUNCTION fastclust_internal.version_sizes(version model_versions, OUT cluster integer, OUT size bigint, OUT share double precision, OUT place bigint)
    RETURNS SETOF record
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT c.cluster, round(version.n * c.weight / t.total)::bigint, c.weight / t.total, row_number() OVER (ORDER BY c.weight DESC, c.cluster)
      FROM centroids(version.operator) c, (SELECT NULLIF(sum(w.weight), 0) AS total FROM centroids(version.operator) w) t
$$;

-- Lines of the sizes: 100 columns.
CREATE FUNCTION fastclust_internal.plot_of_sizes(version model_versions, most integer) RETURNS text
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT concat_ws(E'\n', fit_text('cluster', 44, false) || fit_text('rows', 14, true) || fit_text('share', 8, true),
        string_agg(fit_text(s.cluster::text, 6, true) || '  ' || fit_text(n.name, 36, false) || fit_text(COALESCE(shown_value(s.size, 'number', false), ''), 14, true)
                   || fit_text(COALESCE(shown_value(s.share, 'category', false), ''), 8, true) || '  ' || COALESCE(bar(s.share / NULLIF(max_share, 0), 32), ''), E'\n' ORDER BY s.place))
      FROM (SELECT z.*, max(z.share) OVER () AS max_share FROM version_sizes(version) z) s JOIN version_names(version) n USING (cluster)
     WHERE s.place <= most
$$;

-- Lines of the profile: what tells most of each cluster; 100 columns.  NULL where centroids have no features.
CREATE FUNCTION fastclust_internal.plot_of_profile(version model_versions, most integer) RETURNS text
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT E'\n' || fit_text('', 38, false) || fit_text('lower than all', 18, true) || ' ' || fit_text('higher', 16, false) || fit_text('in cluster', 13, true) || fit_text('all rows', 14, true)
           || E'\n' || string_agg(c.lines, E'\n' ORDER BY c.place)
      FROM (SELECT s.place, fit_text(s.cluster::text, 6, true) || '  ' || rtrim(fit_text(n.name, 92, false)) || E'\n'
                   || string_agg(fit_text('', 8, false) || fit_text(p.label, 31, false) || two_sided_bar(p.difference / 3, 16)
                                 || ' ' || fit_text(shown_value(p.value, p.kind, false), 13, true) || ' ' || fit_text(shown_value(p.overall, p.kind, false), 13, true), E'\n' ORDER BY p.place) AS lines
              FROM version_sizes(version) s JOIN version_names(version) n USING (cluster) JOIN version_profile(version, 5) p USING (cluster)
             WHERE s.place <= most AND (abs(p.difference) >= 0.1 OR p.place = 1)
             GROUP BY s.place, s.cluster, n.name) c
$$;

CREATE FUNCTION plot(model text, group_value text DEFAULT NULL) RETURNS text
    AS 'MODULE_PATHNAME', 'fastclust_door' LANGUAGE C STABLE;
CREATE FUNCTION fastclust_internal.plot_inside(model text, group_value text DEFAULT NULL) RETURNS text
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    held models := readable_model($1);
    version model_versions := explained_version(held, $2);
    k integer := clusters(version.operator);
    most CONSTANT integer := 20;
BEGIN
    RETURN concat_ws(E'\n',
        rtrim(fit_text(format('%s%s, version %s: %s cluster%s of %s rows of %s', held.model, CASE WHEN $2 IS NULL THEN '' ELSE format(' (%s)', $2) END, version.version, k,
              CASE WHEN k = 1 THEN '' ELSE 's' END, shown_value(version.n, 'number', false), version.relation), 100, false)), '',
        plot_of_sizes(version, most), plot_of_profile(version, most),
        CASE WHEN k > most THEN E'\n' || rtrim(fit_text(format('and %s smaller clusters: see profile(%L)', k - most, held.model), 100, false)) END);
END
$$;
COMMENT ON FUNCTION plot(text, text) IS 'the clusters of a model as text: sizes and what each differs in, as bars of at most 100 columns';

-- history: versions, clusters and checks over time, in plain columns for dashboards

CREATE FUNCTION fastclust_internal.version_history_rows(OUT model text, OUT group_value text, OUT version integer, OUT trained_at timestamptz, OUT trained_by name,
        OUT serves boolean, OUT method text, OUT clusters integer, OUT n bigint, OUT objective double precision, OUT label_churn double precision,
        OUT seconds double precision) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_door' LANGUAGE C STABLE;
CREATE FUNCTION fastclust_internal.version_history_rows_inside(OUT model text, OUT group_value text, OUT version integer, OUT trained_at timestamptz, OUT trained_by name,
        OUT serves boolean, OUT method text, OUT clusters integer, OUT n bigint, OUT objective double precision, OUT label_churn double precision,
        OUT seconds double precision) RETURNS SETOF record
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT m.model, CASE WHEN v.options ->> 'group_by' IS NOT NULL THEN v.group_value END, v.version, v.trained_at, v.trained_by, v.version = m.version, v.method,
           clusters(v.operator), v.n, v.objective, v.label_churn, extract(epoch FROM v.trained_at - v.started_at)::float8
      FROM models m JOIN model_versions v ON v.model_id = m.id
$$;
CREATE VIEW version_history AS SELECT * FROM version_history_rows();
COMMENT ON VIEW version_history IS 'one row per version that is kept, and per group of a model with groups';
COMMENT ON COLUMN version_history.model IS 'the name of the model';
COMMENT ON COLUMN version_history.group_value IS 'the group; NULL for a model without groups';
COMMENT ON COLUMN version_history.version IS 'the number of the version, from 1 up';
COMMENT ON COLUMN version_history.trained_at IS 'when the version was stored';
COMMENT ON COLUMN version_history.trained_by IS 'the role that trained it';
COMMENT ON COLUMN version_history.serves IS 'true for the version that predict uses';
COMMENT ON COLUMN version_history.method IS 'how it was trained';
COMMENT ON COLUMN version_history.clusters IS 'the number of its clusters';
COMMENT ON COLUMN version_history.n IS 'the number of training rows';
COMMENT ON COLUMN version_history.objective IS 'the mean squared distance of a row to its centroid, in units of scale';
COMMENT ON COLUMN version_history.label_churn IS 'the share of the training rows that the version before gave another cluster; NULL without one';
COMMENT ON COLUMN version_history.seconds IS 'how long the training took';

CREATE FUNCTION fastclust_internal.cluster_history_rows(model_id bigint, OUT group_value text, OUT version integer, OUT trained_at timestamptz, OUT cluster integer,
        OUT name text, OUT size bigint, OUT share double precision) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_door' LANGUAGE C STABLE;
CREATE FUNCTION fastclust_internal.cluster_history_rows_inside(model_id bigint, OUT group_value text, OUT version integer, OUT trained_at timestamptz, OUT cluster integer,
        OUT name text, OUT size bigint, OUT share double precision) RETURNS SETOF record
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT CASE WHEN v.options ->> 'group_by' IS NOT NULL THEN v.group_value END, v.version, v.trained_at, c.cluster, n.name, c.size, c.share
      FROM model_versions v
     CROSS JOIN LATERAL version_cluster_rows(v.model, v.n, v.operator, true, NULL, NULL, v.spreads) c
      LEFT JOIN cluster_names n ON n.model_id = v.model_id AND n.group_value = v.group_value AND n.cluster = c.cluster AND n.features = v.features
     WHERE v.model_id = $1
$$;
-- By model, so that a query of one computes no other.
CREATE VIEW cluster_history AS SELECT m.model, c.* FROM visible_models() m CROSS JOIN LATERAL cluster_history_rows(m.id) c;
COMMENT ON VIEW cluster_history IS 'one row per cluster of each version that is kept';
COMMENT ON COLUMN cluster_history.model IS 'the name of the model';
COMMENT ON COLUMN cluster_history.group_value IS 'the group; NULL for a model without groups';
COMMENT ON COLUMN cluster_history.version IS 'the number of the version';
COMMENT ON COLUMN cluster_history.trained_at IS 'when the version was stored';
COMMENT ON COLUMN cluster_history.cluster IS 'the number that predict returns; clusters that stay keep it';
COMMENT ON COLUMN cluster_history.name IS 'the name of name_cluster, or NULL';
COMMENT ON COLUMN cluster_history.size IS 'the number of training rows in the cluster, estimated by its share';
COMMENT ON COLUMN cluster_history.share IS 'the part of the training rows in the cluster';

CREATE FUNCTION fastclust_internal.drift_history_rows(OUT model text, OUT version integer, OUT checked_at timestamptz, OUT n bigint, OUT effect double precision,
        OUT p_value double precision, OUT verdict text, OUT min_effect double precision, OUT new_version integer, OUT column_name text,
        OUT column_shift double precision) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_door' LANGUAGE C STABLE;
CREATE FUNCTION fastclust_internal.drift_history_rows_inside(OUT model text, OUT version integer, OUT checked_at timestamptz, OUT n bigint, OUT effect double precision,
        OUT p_value double precision, OUT verdict text, OUT min_effect double precision, OUT new_version integer, OUT column_name text,
        OUT column_shift double precision) RETURNS SETOF record
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT d.model, d.version, d.checked_at, d.n, d.effect, d.p_value, d.verdict, d.min_effect, d.new_version, (d.columns[1]).name, (d.columns[1]).shift FROM drift_log d
$$;
CREATE VIEW drift_history AS SELECT * FROM drift_history_rows();
COMMENT ON VIEW drift_history IS 'one row per check of retrain_if_drifted, with the column that changed most; for those who may change the model';
COMMENT ON COLUMN drift_history.model IS 'the name of the model';
COMMENT ON COLUMN drift_history.version IS 'the version that served';
COMMENT ON COLUMN drift_history.checked_at IS 'when the check ended';
COMMENT ON COLUMN drift_history.n IS 'the number of rows compared';
COMMENT ON COLUMN drift_history.effect IS 'how large the change is, whatever the number of rows';
COMMENT ON COLUMN drift_history.p_value IS 'how often chance alone gives such a difference';
COMMENT ON COLUMN drift_history.verdict IS 'none, slight, drifted or too few rows';
COMMENT ON COLUMN drift_history.min_effect IS 'the effect from which the model is retrained';
COMMENT ON COLUMN drift_history.new_version IS 'the version that was trained because of this check, or NULL';
COMMENT ON COLUMN drift_history.column_name IS 'the column that changed most';
COMMENT ON COLUMN drift_history.column_shift IS 'the change of its mean, in its standard deviations';
GRANT SELECT ON version_history, cluster_history, drift_history TO PUBLIC;

-- report: how the page looks, and how a value becomes HTML

-- Every colour is a variable of both themes; test/t/104_report.pl holds text to a contrast of 4.5 with what lies behind it.
-- hm4 to h4: a value from far below to far above the average.
CREATE FUNCTION fastclust_internal.report_style() RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$SELECT '
:root { color-scheme: light dark;
  --page: #fbfbfa; --ink: #1b1f24; --soft: #5a636d; --rule: #e1e4e8; --track: #eceef0; --accent: #0b6a8a; --tint: #cfe3ea; --alert: #a84a06;
  --hm4: #1f5f99; --hm3: #6ba2ce; --hm2: #a9cbe5; --hm1: #dceaf5; --h0: #f1f1ef; --h1: #fbe7d5; --h2: #f4c597; --h3: #e39a58; --h4: #a34d0c;
  --far: #ffffff; --near: #14181c; }
@media (prefers-color-scheme: dark) { :root {
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
.note, .hint, footer, figcaption { color: var(--soft); }
.note { margin-bottom: 16px; }
.hint, figcaption, footer { font-size: 13px; }
section { padding-top: 26px; margin-top: 34px; border-top: 1px solid var(--rule); }
code { font: 0.92em ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", "DejaVu Sans Mono", monospace; overflow-wrap: anywhere; }
.facts { display: grid; grid-template-columns: repeat(auto-fit, minmax(130px, 1fr)); gap: 18px 24px; margin: 0; }
.facts div { border-top: 2px solid var(--ink); padding-top: 8px; min-width: 0; }
.facts dt, .details dt { color: var(--soft); font-size: 13px; }
.facts dd { margin: 0; font-size: 24px; line-height: 1.25; font-weight: 600; letter-spacing: -0.01em; overflow-wrap: anywhere; }
time { white-space: nowrap; }
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
.narrow { display: none; }
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
  .wide, .wide-bar { display: none; } .narrow { display: block; } .who { max-width: none; } .legend i { width: 18px; }
  .bar.small { height: 6px; margin-top: 4px; }
  .facts { grid-template-columns: repeat(2, 1fr); gap: 14px 18px; } .facts dd { font-size: 20px; }
  .details { grid-template-columns: 1fr; gap: 0; } .details dd { margin-bottom: 8px; }
  .heat tbody th { max-width: 128px; font-size: 12.5px; } td { padding-right: 8px; } }
@media (min-width: 701px) { .small { display: none !important; } }
@media print { .page { max-width: none; padding: 0; } section { break-inside: avoid; } }
'$$;

-- ---- values ----

-- Without the control characters that HTML does not allow, and terminals obey.
CREATE FUNCTION fastclust_internal.html(value text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT replace(replace(replace(replace(replace(translate(value, E'\x01\x02\x03\x04\x05\x06\x07\x08\x0b\x0c\x0e\x0f\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1a\x1b\x1c\x1d\x1e\x1f\x7f',
                                                             ''), '&', '&amp;'), '<', '&lt;'), '>', '&gt;'), '"', '&quot;'), '''', '&#39;')
$$;

-- At most so many characters of it.
CREATE FUNCTION fastclust_internal.html_start(value text, most integer) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, fastclust_internal, pg_temp AS $$
    SELECT CASE WHEN length(value) <= most THEN html(value) ELSE html(left(value, most - 1)) || '&hellip;' END
$$;

-- What is shown, and behind it the number in full.
CREATE FUNCTION fastclust_internal.html_number(x double precision) RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, fastclust_internal, pg_temp AS $$
    SELECT CASE WHEN x IS NULL THEN '&ndash;' ELSE format('<data value="%s">%s</data>', x, shown_value(x, 'number', false)) END
$$;

CREATE FUNCTION fastclust_internal.html_count(n bigint) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE WHEN n IS NULL THEN '&ndash;' ELSE format('<data value="%s">%s</data>', n, to_char(n, 'FM9,999,999,999,999,999,990')) END
$$;

CREATE FUNCTION fastclust_internal.html_percent(share double precision) RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, fastclust_internal, pg_temp AS $$
    SELECT CASE WHEN share IS NULL THEN '&ndash;' ELSE format('<data value="%s">%s</data>', share, replace(html(shown_value(share, 'category', false)), ' ', '&nbsp;')) END
$$;

CREATE FUNCTION fastclust_internal.html_time(at timestamptz) RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE WHEN at IS NULL THEN '&ndash;'
                ELSE format('<time datetime="%s">%s</time>', to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), to_char(at, 'YYYY-MM-DD HH24:MI')) END
$$;

-- A bar as long as a part of the whole.
CREATE FUNCTION fastclust_internal.html_bar(part double precision, class text DEFAULT '') RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT format('<svg class="bar%s" viewBox="0 0 100 12" preserveAspectRatio="none" aria-hidden="true"><rect width="%s" height="12"/></svg>',
                  class, round((100 * least(1, greatest(0, COALESCE(NULLIF(part, 'NaN'), 0))))::numeric, 2))
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

-- What the page says of a cluster.
CREATE TYPE fastclust_internal.report_cluster AS (cluster integer, name text, size bigint, share double precision, spread double precision,
    nearest integer, distance double precision, x double precision, y double precision, shown_x double precision, shown_y double precision);

-- (operator): where the clusters lie on their two principal axes, and the share of the squared distances to their mean that each axis shows.
CREATE FUNCTION fastclust_internal.cluster_places(op fastop, OUT cluster integer, OUT x double precision, OUT y double precision,
        OUT shown_x double precision, OUT shown_y double precision) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_cluster_places' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

-- The clusters of a version, the largest first.
CREATE FUNCTION fastclust_internal.report_clusters(held models, version model_versions) RETURNS report_cluster[]
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT array_agg(ROW(c.cluster, NULLIF(n.name, format('cluster %s', c.cluster)), c.size, c.share, c.spread, c.nearest_cluster, c.nearest_distance, p.x, p.y, p.shown_x, p.shown_y)::report_cluster
                     ORDER BY c.share DESC, c.cluster)
      FROM version_cluster_rows(held.model, version.n, version.operator, true, NULL, NULL, version.spreads) c
      LEFT JOIN cluster_places(version.operator) p USING (cluster) LEFT JOIN version_names(version) n USING (cluster)
$$;

-- A cluster as people call it: its number, and its name where it has one.
CREATE FUNCTION fastclust_internal.cluster_label(cluster integer, name text, most integer) RETURNS text
    LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, fastclust_internal, pg_temp AS $$
    SELECT CASE WHEN name IS NULL THEN cluster::text ELSE concat(cluster, ' ', CASE WHEN length(name) <= most THEN name ELSE left(name, most - 1) || '...' END) END
$$;

-- ---- sizes ----

-- The share of each cluster in the versions that are kept, the last twelve of them, oldest first.
CREATE FUNCTION fastclust_internal.shares_by_version(held models, group_value text, OUT cluster integer, OUT shares double precision[]) RETURNS SETOF record
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    WITH kept AS (SELECT v.version, v.operator FROM model_versions v WHERE v.model_id = held.id AND v.version <= held.version AND v.group_value = $2 ORDER BY v.version DESC LIMIT 12),
         part AS (SELECT k.version, c.cluster, c.weight / NULLIF(sum(c.weight) OVER (PARTITION BY k.version), 0) AS share FROM kept k, centroids(k.operator) c)
    SELECT p.cluster, array_agg(p.share ORDER BY p.version) FROM part p GROUP BY 1 HAVING (SELECT count(*) FROM kept) > 1
$$;

CREATE FUNCTION fastclust_internal.html_sparkline(shares double precision[]) RETURNS text
    LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, fastclust_internal, pg_temp AS $$
    SELECT format('<svg class="spark" viewBox="0 0 72 18" role="img" aria-label="share by version"><title>%s</title>'
                  '<polygon points="0,17 %s 69,17"/><polyline points="%s"/><circle cx="%s" cy="%s" r="2.2"/></svg>',
                  string_agg(html(shown_value(q.share, 'category', false)), ' &rarr; ' ORDER BY q.i),
                  string_agg(format('%s,%s', svg(q.x), svg(q.y)), ' ' ORDER BY q.i), string_agg(format('%s,%s', svg(q.x), svg(q.y)), ' ' ORDER BY q.i),
                  svg((array_agg(q.x ORDER BY q.i DESC))[1]), svg((array_agg(q.y ORDER BY q.i DESC))[1]))
      FROM (SELECT u.i, u.share, 69.0 * (u.i - 1) / greatest(1, cardinality(shares) - 1) AS x,
                   16 - 14 * COALESCE(u.share / NULLIF((SELECT max(s) FROM unnest(shares) s), 0), 0) AS y
              FROM unnest(shares) WITH ORDINALITY u(share, i)) q
     HAVING count(*) > 1
$$;

CREATE FUNCTION fastclust_internal.report_size_row(c report_cluster, largest double precision, shares double precision[], classes text[]) RETURNS text
    LANGUAGE sql STABLE SET search_path = pg_catalog, fastclust_internal, pg_temp AS $$
    SELECT html_row(format('cluster-%s', c.cluster), classes,
        (ARRAY[concat(format('<span class="id">%s</span>', c.cluster), html(c.name), html_bar(c.share / NULLIF(largest, 0), ' small')),
               html_bar(c.share / NULLIF(largest, 0)), html_count(c.size), html_percent(c.share), html_number(c.spread),
               CASE WHEN c.nearest IS NULL THEN '&ndash;' ELSE format('%s at %s', c.nearest, html_number(c.distance)) END, html_sparkline(shares)])[:cardinality(classes)])
$$;

CREATE FUNCTION fastclust_internal.report_size_table(clusters report_cluster[], largest double precision, held models, group_value text, history boolean) RETURNS text
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT html_table(classes, (ARRAY['Cluster', '', 'Rows', 'Share', 'Spread', 'Nearest', 'By version'])[:cardinality(classes)],
                      string_agg(report_size_row(ROW(c.*)::report_cluster, largest, s.shares, classes), E'\n' ORDER BY c.share DESC, c.cluster))
      FROM (SELECT (ARRAY['who hang', 'wide-bar', 'n', 'n', 'n wide', 'n wide', 'wide'])[:CASE WHEN history THEN 7 ELSE 6 END] AS classes) k,
           unnest(clusters) c LEFT JOIN shares_by_version(held, group_value) s ON s.cluster = c.cluster
     GROUP BY classes
$$;

-- The forty largest, and up to a thousand more to open.
CREATE FUNCTION fastclust_internal.report_sizes(held models, version model_versions, clusters report_cluster[]) RETURNS text
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    n integer := cardinality(clusters);
    largest float8 := (clusters[1]).share;
    history boolean := EXISTS (SELECT FROM shares_by_version(held, version.group_value));
BEGIN
    RETURN html_section('sizes', 'Clusters',
        concat('Training rows in each cluster, the largest first. Spread is the typical distance of a row from its centroid along one dimension',
               CASE WHEN n > 1 THEN '; nearest is the closest other cluster and how far its centroid is' END, '.'),
        concat(report_size_table(clusters[:40], largest, held, version.group_value, history),
               CASE WHEN n > 40 THEN format(E'\n<details><summary>%s smaller clusters</summary>\n%s</details>', least(n, 1040) - 40,
                                            report_size_table(clusters[41:1040], largest, held, version.group_value, history)) END,
               CASE WHEN n > 1040 THEN format(E'\n<p class="hint">%s more are rows of <code>model_clusters</code>.</p>', html_count(n - 1040)) END));
END
$$;

-- report: the sections that tell what makes clusters special

-- One of the features that tell most, in one of the clusters; place: 1 for what tells most of all.
CREATE TYPE fastclust_internal.profile_value AS (cluster integer, place integer, feature text, kind text, value double precision, overall double precision,
    difference double precision, lift double precision);

-- The forty features whose centroids differ most, by sum share difference^2, in the largest thousand clusters.
CREATE FUNCTION fastclust_internal.profile_values(version model_versions, clusters report_cluster[]) RETURNS profile_value[]
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp SET enable_nestloop = off AS $$
    WITH p AS MATERIALIZED (SELECT p.*, c.share FROM version_profile(version, dim(version.operator)) p JOIN unnest(clusters[:1000]) c USING (cluster)),
         telling AS (SELECT p.dimension, row_number() OVER (ORDER BY sum(p.share * p.difference ^ 2) DESC NULLS LAST, p.dimension) AS place
                       FROM p GROUP BY p.dimension ORDER BY 2 LIMIT 40)
    SELECT array_agg(ROW(p.cluster, t.place, p.label, p.kind, p.value, p.overall, p.difference, p.lift)::profile_value ORDER BY t.place, p.cluster)
      FROM p JOIN telling t USING (dimension)
$$;

-- ---- what the axes of the map mean ----

-- The two features that rise or fall most along an axis.
CREATE FUNCTION fastclust_internal.axis_words(told profile_value[], clusters report_cluster[], horizontal boolean) RETURNS text
    LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, fastclust_internal, pg_temp AS $$
    WITH slope AS (SELECT v.feature, sum(c.share * v.difference * CASE WHEN horizontal THEN c.x ELSE c.y END) AS s
                     FROM unnest(told) v JOIN unnest(clusters) c USING (cluster) GROUP BY v.place, v.feature),
         steepest AS (SELECT * FROM slope WHERE s <> 0 ORDER BY abs(s) DESC, feature LIMIT 2)
    SELECT string_agg(format('%s <code>%s</code>', CASE WHEN s > 0 THEN 'more' ELSE 'less' END, html_start(feature, 60)), ', ' ORDER BY abs(s) DESC)
      FROM steepest WHERE abs(s) > 0.5 * (SELECT max(abs(s)) FROM steepest)
$$;

-- ---- the heat map ----

-- The class of a colour, from hm4 (far below the mean) to h4.
CREATE FUNCTION fastclust_internal.heat_class(difference double precision) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE WHEN difference < -0.25 THEN 'hm' ELSE 'h' END || COALESCE(width_bucket(abs(NULLIF(difference, 'NaN')), '{0.25,0.75,1.5,2.5}'::float8[]), 0)
$$;

CREATE FUNCTION fastclust_internal.heat_cell(v profile_value, label text, told boolean) RETURNS text
    LANGUAGE sql STABLE SET search_path = pg_catalog, fastclust_internal, pg_temp AS $$
    SELECT format('<td class="%s" title="%s">%s</td>', heat_class(v.difference),
                  html(format('%s: %s %s, %s standard deviations from all rows%s', label, v.feature, shown, to_char(v.difference, 'FMSG99990.00'),
                              CASE WHEN v.lift IS NOT NULL THEN format(', %s times as often', shown_value(v.lift, 'number', false)) END)),
                  CASE WHEN told THEN format('<data value="%s">%s</data>', v.value, replace(html(shown), ' ', '&nbsp;')) END)
      FROM shown_value(v.value, v.kind, false) shown
$$;

CREATE FUNCTION fastclust_internal.heat_row(feature text, overall text, cells text) RETURNS text
    LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, fastclust_internal, pg_temp AS $$
    SELECT format('<tr><th scope="row" title="%s">%s</th>%s<td class="all">%s</td></tr>', html(feature), html_start(feature, 60), cells, html(overall))
$$;

CREATE FUNCTION fastclust_internal.heat_legend() RETURNS text
    LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT E'<p class="legend"><span>2.5 standard deviations below</span><b>' || string_agg(format('<i class="%s"></i>', c), '' ORDER BY i) || E'</b><span>above the mean of all rows</span></p>\n'
      FROM unnest('{hm4,hm3,hm2,hm1,h0,h1,h2,h3,h4}'::text[]) WITH ORDINALITY u(c, i)
$$;

-- Clusters beside each other, largest first: with their values where they are few, else as colours alone.
CREATE FUNCTION fastclust_internal.heat_table(told profile_value[], clusters report_cluster[]) RETURNS text
    LANGUAGE sql STABLE SET search_path = pg_catalog, fastclust_internal, pg_temp AS $$
    WITH cluster AS (SELECT c.*, cardinality(clusters) <= 8 AS wide
                       FROM unnest(clusters) WITH ORDINALITY c(cluster, name, size, share, spread, nearest, distance, x, y, shown_x, shown_y, i)),
         cell AS (SELECT v.place, v.feature, v.overall, v.kind,
                         string_agg(heat_cell(ROW(v.*)::profile_value, cluster_label(c.cluster, c.name, 200), c.wide), '' ORDER BY c.i) AS cells
                    FROM cluster c JOIN unnest(told) v USING (cluster) GROUP BY 1, 2, 3, 4)
    SELECT format(E'<div class="scroll"><table class="heat">\n<thead><tr><th></th>%s<th class="all">All</th></tr></thead>\n<tbody>\n%s\n</tbody>\n</table></div>',
                  (SELECT string_agg(format('<th scope="col" title="%s">%s%s</th>', html(c.name), c.cluster,
                                            CASE WHEN c.wide THEN '<br>' || html_start(c.name, 48) END), '' ORDER BY c.i) FROM cluster c),
                  string_agg(heat_row(feature, shown_value(overall, kind, false), cells), E'\n' ORDER BY place))
      FROM cell
$$;

CREATE FUNCTION fastclust_internal.report_profile(version model_versions, told profile_value[], clusters report_cluster[]) RETURNS text
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT html_section('profile', 'Profile', concat('The mean of each cluster, coloured by how far it is from the mean of all rows.',
               CASE WHEN cardinality(clusters) > 24 THEN format(' The 24 largest of %s clusters are shown.', to_char(cardinality(clusters), 'FM9,999,990')) END,
               CASE WHEN dim(version.operator) > 40 THEN format(' The 40 features that differ most, of %s.', to_char(dim(version.operator), 'FM999,990')) END),
               heat_legend() || heat_table(told, clusters[:24]))
     WHERE report_profile.told IS NOT NULL AND cardinality(clusters) > 1
$$;

-- ---- rules ----

-- Rules of the forty largest clusters; reading the table for them may be refused or fail, of which the page tells.
CREATE FUNCTION fastclust_internal.report_rules(held models, group_value text, clusters report_cluster[]) RETURNS text
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    items text;
    fidelity float8;
BEGIN
    SELECT string_agg(format('<li id="rules-%s"><b>%s</b>%s</li>', q.cluster, html(cluster_label(q.cluster, q.name, 200)), q.lines), E'\n' ORDER BY q.share DESC, q.cluster), max(q.fidelity)
      INTO items, fidelity
      FROM (SELECT r.cluster, r.name, c.share, max(r.fidelity) AS fidelity,
                   string_agg(format('<p>if %s</p><p class="note">%s of the rows that fit are of this cluster, and %s of the cluster fit.</p>', html(r.rule),
                                     html_percent(r.precision), html_percent(r.coverage)), '' ORDER BY r.coverage DESC, r.rule) AS lines
              FROM rules(held.model, group_value => $2) r JOIN unnest(clusters[:40]) c USING (cluster) GROUP BY 1, 2, 3) q;
    RETURN html_section('rules', 'Rules', concat('Short conditions that tell the clusters apart, learned on a sample of the table.',
                            CASE WHEN fidelity IS NOT NULL THEN format(' They give %s of the rows the cluster that the model gives them.', html_percent(fidelity)) END),
                        format(E'<ul class="rules">\n%s\n</ul>', items));
EXCEPTION WHEN OTHERS THEN
    RETURN html_section('rules', 'Rules', format('The rules are learned on rows of the table, which cannot be read here: %s.', html(SQLERRM)), NULL);
END
$$;

-- report: the groups of a model that is split by a column

CREATE FUNCTION fastclust_internal.largest_group(held models) RETURNS model_versions
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT v.* FROM model_versions v WHERE v.model_id = held.id AND v.version = held.version ORDER BY v.n DESC, v.group_value LIMIT 1
$$;

-- A small map of the clusters of a group.
CREATE FUNCTION fastclust_internal.group_map(held models, version model_versions) RETURNS text
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT format(E'<figure><h3>%s</h3>%s</figure>\n', html_start(version.group_value, 60), svg_map(clusters, 260, 180, ''))
      FROM report_clusters(held, version) clusters
$$;

-- Maps of the twelve largest groups, and a table of the forty largest.
CREATE FUNCTION fastclust_internal.report_groups(held models) RETURNS text
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    WITH part AS MATERIALIZED (SELECT v, v.n, v.group_value, count(*) OVER () AS groups, max(v.n) OVER () AS most, row_number() OVER (ORDER BY v.n DESC, v.group_value) AS i
                                 FROM model_versions v WHERE v.model_id = held.id AND v.version = held.version ORDER BY i LIMIT 40)
    SELECT html_section('groups', 'Groups', concat('Each group has clusters of its own', CASE WHEN max(p.groups) > 12 THEN '; the largest are shown' END,
                                                   '. The page of one: <code>SELECT report(', html(quote_literal(held.model)), ', group_value =&gt; ''...'')</code>.'),
        concat(E'<div class="multiples">\n', string_agg(group_map(held, p.v), '' ORDER BY p.i) FILTER (WHERE p.i <= 12), E'</div>\n',
               html_table(c.classes, '{Group,"",Rows,Clusters,"Mean squared distance","Label churn"}',
                          string_agg(html_row(NULL, c.classes, ARRAY[html(p.group_value), html_bar(p.n::float8 / NULLIF(p.most, 0)), html_count(p.n),
                                                                     html_count(clusters((p.v).operator)), html_number((p.v).objective),
                                                                     html_percent((p.v).label_churn)]), E'\n' ORDER BY p.i))))
      FROM part p, (SELECT '{who,wide-bar,n,n,n,n}'::text[] AS classes) c GROUP BY c.classes
$$;

-- report: the map of the clusters

CREATE TYPE fastclust_internal.map_circle AS (cluster integer, name text, share double precision, x double precision, y double precision, r double precision);

-- Circles in a picture, at equal scale on both axes; their areas are as their shares.
CREATE FUNCTION fastclust_internal.map_circles(clusters report_cluster[], width integer, height integer) RETURNS map_circle[]
    LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, fastclust_internal, pg_temp AS $$
    WITH edge AS (SELECT min(c.x) AS x0, max(c.x) AS x1, min(c.y) AS y0, max(c.y) AS y1, sqrt(width * height * 0.05 / pi()) AS r,
                         40 + sqrt(width * height * 0.05 / pi() * max(c.share)) * 0.5 AS margin
                    FROM unnest(clusters) c),
         fit AS (SELECT *, COALESCE(least((width - 2 * margin) / NULLIF(x1 - x0, 0), (height - 2 * margin) / NULLIF(y1 - y0, 0)), 1) AS unit FROM edge)
    SELECT array_agg(ROW(c.cluster, c.name, c.share, width / 2.0 + f.unit * (c.x - (f.x0 + f.x1) / 2), height / 2.0 - f.unit * (c.y - (f.y0 + f.y1) / 2),
                         greatest(2.5, f.r * sqrt(greatest(0, c.share))))::map_circle ORDER BY c.share DESC, c.cluster)
      FROM fit f, unnest(clusters) c
$$;

-- Where a label may stand: in the circle where it fits, else beside, above or below it.
CREATE FUNCTION fastclust_internal.label_boxes(c map_circle, label text, width integer, height integer, OUT choice integer, OUT place box) RETURNS SETOF record
    LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT b.i, b.place
      FROM (SELECT 6.5 * length(label) + 2.4 * (octet_length(label) - length(label)) + 2 AS w, 15.0::float8 AS h) l,
           LATERAL (VALUES (0, box(point(c.x - l.w / 2, c.y - l.h / 2), point(c.x + l.w / 2, c.y + l.h / 2))),
                           (1, box(point(c.x + c.r + 3, c.y - l.h / 2), point(c.x + c.r + 3 + l.w, c.y + l.h / 2))),
                           (2, box(point(c.x - c.r - 3 - l.w, c.y - l.h / 2), point(c.x - c.r - 3, c.y + l.h / 2))),
                           (3, box(point(c.x - l.w / 2, c.y - c.r - 2 - l.h), point(c.x + l.w / 2, c.y - c.r - 2))),
                           (4, box(point(c.x - l.w / 2, c.y + c.r + 2), point(c.x + l.w / 2, c.y + c.r + 2 + l.h)))) b(i, place)
     WHERE b.place <@ box(point(2, 2), point(width - 2, height - 2)) AND (b.i > 0 OR l.w + 6 < 2 * c.r)
     ORDER BY b.i
$$;

-- The labels of the largest sixty circles, each at the first place where it meets neither another label nor another circle; without the name
-- where that has no place.
CREATE FUNCTION fastclust_internal.map_labels(circles map_circle[], width integer, height integer) RETURNS text
    LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, fastclust_internal, pg_temp AS $$
DECLARE
    around box[] := (SELECT array_agg(box(point(c.x - c.r, c.y - c.r), point(c.x + c.r, c.y + c.r)) ORDER BY c.i)
                       FROM unnest(circles) WITH ORDINALITY c(cluster, name, share, x, y, r, i));
    taken box[] := '{}';
    labels text := '';
    label text;
    spot box;
BEGIN
    FOR i IN 1 .. least(60, cardinality(circles)) LOOP
        SELECT w.label, b.place INTO label, spot
          FROM unnest(ARRAY[cluster_label((circles[i]).cluster, (circles[i]).name, CASE WHEN width > 500 THEN 36 ELSE 18 END), (circles[i]).cluster::text]) WITH ORDINALITY w(label, j),
               LATERAL label_boxes(circles[i], w.label, width, height) b
         WHERE NOT EXISTS (SELECT FROM unnest(taken) t WHERE t && b.place)
           AND NOT EXISTS (SELECT FROM unnest(around) WITH ORDINALITY t(place, j) WHERE t.place && b.place AND t.j <> i)
         ORDER BY w.j, b.choice LIMIT 1;
        CONTINUE WHEN spot IS NULL;
        taken := taken || spot;
        labels := labels || format(E'<text class="halo" x="%s" y="%s" text-anchor="middle">%s</text>\n', svg((center(spot))[0]), svg((center(spot))[1] + 4.2), html(label));
    END LOOP;
    RETURN labels;
END
$$;

CREATE FUNCTION fastclust_internal.svg_map(clusters report_cluster[], width integer, height integer, class text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, fastclust_internal, pg_temp AS $$
DECLARE
    circles map_circle[] := map_circles(clusters, width, height);
BEGIN
    RETURN concat(format(E'<svg class="chart %s" viewBox="0 0 %s %s" role="img" aria-label="map of the clusters">\n<rect class="frame" x="0.5" y="0.5" width="%s" height="%s" rx="4"/>\n',
                         class, width, height, width - 1, height - 1),
        (SELECT string_agg(format(E'<circle class="bubble" cx="%s" cy="%s" r="%s"><title>%s: %s</title></circle>\n', svg(c.x), svg(c.y), svg(c.r),
                                  html(cluster_label(c.cluster, c.name, 200)), html(shown_value(c.share, 'category', false))), '' ORDER BY c.share DESC, c.cluster)
           FROM unnest(circles) c),
        map_labels(circles, width, height), '</svg>');
END
$$;

-- A wide picture and a narrow one, of which the style sheet shows what fits.
CREATE FUNCTION fastclust_internal.report_map(clusters report_cluster[], told profile_value[]) RETURNS text
    LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, fastclust_internal, pg_temp AS $$
DECLARE
    shown_x float8 := (clusters[1]).shown_x;
    shown_y float8 := (clusters[1]).shown_y;
BEGIN
    IF cardinality(clusters) < 2 OR shown_x IS NULL THEN
        RETURN NULL;
    END IF;
    RETURN html_section('map', 'Map',
        concat('Each circle is a cluster, its area the share of the rows. Near each other means alike.',
               CASE WHEN cardinality(clusters) > 1000 THEN ' The thousand largest are drawn.' END),
        concat(E'<figure>\n', svg_map(clusters[:1000], 1056, 520, 'wide'), E'\n', svg_map(clusters[:1000], 343, 360, 'narrow'),
               format(E'\n<figcaption>The two axes along which the clusters differ most. They show %s of the differences between them: '
                      '%s from left to right%s, %s from bottom to top%s.</figcaption>\n</figure>',
                      html_percent(shown_x + shown_y), html_percent(shown_x), ' (' || axis_words(told, clusters, true) || ')',
                      html_percent(shown_y), ' (' || axis_words(told, clusters, false) || ')')));
END
$$;

-- report: the tree of the clusters

CREATE TYPE fastclust_internal.tree_node AS (x double precision, y double precision);

-- The clusters in an order in which no branches cross.
CREATE FUNCTION fastclust_internal.tree_order(op fastop) RETURNS integer[]
    LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    below text[] := ARRAY(SELECT generate_series(0, clusters(op) - 1)::text);
    one record;
BEGIN
    FOR one IN SELECT * FROM cluster_joins(op) ORDER BY step LOOP
        below := below || concat(below[one."left" + 1], ',', below[one."right" + 1]);
    END LOOP;
    RETURN string_to_array(below[cardinality(below)], ',')::integer[];
END
$$;

-- Clusters from top to bottom at the left, joins the farther right the higher; labels take `margin` on the left.
CREATE FUNCTION fastclust_internal.svg_tree(op fastop, clusters report_cluster[], width integer, margin integer, class text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    leaves integer[] := tree_order(op);
    nodes tree_node[] := (SELECT array_agg(ROW(margin, 20 * u.i)::tree_node ORDER BY u.leaf) FROM unnest(leaves) WITH ORDINALITY u(leaf, i));
    unit float8 := (SELECT COALESCE((width - margin - 10) / NULLIF(max(j.height), 0), 0) FROM cluster_joins(op) j);
    lines text := '';
    one record;
    a tree_node;
    b tree_node;
BEGIN
    FOR one IN SELECT * FROM cluster_joins(op) ORDER BY step LOOP
        a := nodes[one."left" + 1];
        b := nodes[one."right" + 1];
        lines := lines || format(E'<path class="line" d="M%s %sH%sV%sH%s"/>\n', svg(a.x), svg(a.y), svg(margin + unit * one.height), svg(b.y), svg(b.x));
        nodes := nodes || ROW(margin + unit * one.height, (a.y + b.y) / 2)::tree_node;
    END LOOP;
    RETURN concat(format(E'<svg class="chart %s" viewBox="0 0 %s %s" role="img" aria-label="tree of the clusters">\n', class, width, 20 * cardinality(leaves) + 20), lines,
        (SELECT string_agg(format(E'<text x="%s" y="%s" text-anchor="end">%s</text>\n', margin - 6, svg(20 * u.i + 4.2),
                                  html(cluster_label(c.cluster, c.name, CASE WHEN margin > 200 THEN 40 ELSE 16 END))), '' ORDER BY u.i)
           FROM unnest(leaves) WITH ORDINALITY u(leaf, i) JOIN unnest(clusters) c ON c.cluster = u.leaf), '</svg>');
END
$$;

CREATE FUNCTION fastclust_internal.report_tree(op fastop, clusters report_cluster[]) RETURNS text
    LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
BEGIN
    IF clusters(op) NOT BETWEEN 3 AND 60 THEN
        RETURN NULL;
    END IF;
    RETURN html_section('tree', 'Tree', 'Which clusters are alike: the farther left two lines meet, the less is lost when their clusters become one.',
        concat(E'<figure>\n', svg_tree(op, clusters, 1056, 320, 'wide'), E'\n', svg_tree(op, clusters, 343, 140, 'narrow'),
               E'\n<figcaption>Clusters are joined by Ward''s criterion, as <code>cluster_tree</code> lists it.</figcaption>\n</figure>'));
END
$$;

-- report: the sections that show versions, checks and steps

-- ---- versions ----

-- The versions that are kept, at most the last thirty, oldest first: of one group, or the sums of all.
CREATE TYPE fastclust_internal.version_line AS (version integer, trained_at timestamptz, trained_by name, method text, clusters bigint, n bigint,
    objective double precision, churn double precision);
CREATE FUNCTION fastclust_internal.version_lines(held models, group_value text) RETURNS version_line[]
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT array_agg(q.line ORDER BY (q.line).version)
      FROM (SELECT ROW(v.version, max(v.trained_at), min(v.trained_by), min(v.method), sum(clusters(v.operator)), sum(v.n),
                       sum(v.objective * v.n) / NULLIF(sum(v.n) FILTER (WHERE v.objective IS NOT NULL), 0),
                       sum(v.label_churn * v.n) / NULLIF(sum(v.n) FILTER (WHERE v.label_churn IS NOT NULL), 0))::version_line AS line
              FROM model_versions v WHERE v.model_id = held.id AND v.version <= held.version AND v.group_value = COALESCE($2, v.group_value)
             GROUP BY v.version ORDER BY v.version DESC LIMIT 30) q
$$;

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

CREATE FUNCTION fastclust_internal.report_version_charts(lines version_line[]) RETURNS text
    LANGUAGE sql STABLE SET search_path = pg_catalog, fastclust_internal, pg_temp AS $$
    SELECT concat(E'<div class="multiples">\n', svg_columns('Rows', versions, rows_of, rows_shown), E'\n', svg_columns('Mean squared distance', versions, objectives, objectives_shown), E'\n',
                  svg_columns('Label churn', versions, churn, churn_shown), E'\n</div>\n')
      FROM (SELECT array_agg(l.version) AS versions, array_agg(l.n::float8) AS rows_of, array_agg(to_char(l.n, 'FM9,999,999,999,990')) AS rows_shown,
                   array_agg(l.objective) AS objectives, array_agg(shown_value(l.objective, 'number', false)) AS objectives_shown,
                   array_agg(l.churn) AS churn, array_agg(html(shown_value(l.churn, 'category', false))) AS churn_shown
              FROM (SELECT * FROM unnest(lines) u ORDER BY u.version) l) q
     WHERE cardinality(versions) > 1
$$;

CREATE FUNCTION fastclust_internal.report_versions(lines version_line[]) RETURNS text
    LANGUAGE sql STABLE SET search_path = pg_catalog, fastclust_internal, pg_temp AS $$
    SELECT html_section('versions', 'Versions', 'What each training saw and made. Label churn is the share of the rows that got another cluster than the version before gave them.',
        concat(report_version_charts(lines),
               html_table(c.classes, '{Version,Trained,By,Method,Clusters,Rows,"Mean squared distance","Label churn"}',
                          string_agg(html_row(format('version-%s', l.version), c.classes,
                                              ARRAY[l.version::text, html_time(l.trained_at), html(l.trained_by), html(l.method), html_count(l.clusters), html_count(l.n),
                                                    html_number(l.objective), html_percent(l.churn)]), E'\n' ORDER BY l.version DESC))))
      FROM unnest(lines) l, (SELECT '{n,"",wide,"",n,n,n,n}'::text[] AS classes) c GROUP BY c.classes
$$;

-- ---- drift ----

-- The effect of the checks over time, with the limit of the last one.
CREATE FUNCTION fastclust_internal.svg_drift(checks drift_log[], width integer, class text) RETURNS text
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    WITH edge AS (SELECT min(c.checked_at) AS first, max(c.checked_at) AS last, greatest(max(c.effect), max(c.min_effect)) * 1.12 AS top,
                         (array_agg(c.min_effect ORDER BY c.id DESC))[1] AS at_least FROM unnest(checks) c WHERE c.effect IS NOT NULL),
         point AS (SELECT c.*, 152 - 136 * c.effect / NULLIF(e.top, 0) AS y,
                          44 + (width - 60) * COALESCE(extract(epoch FROM c.checked_at - e.first) / NULLIF(extract(epoch FROM e.last - e.first), 0), 0.5) AS x
                     FROM unnest(checks) c, edge e WHERE c.effect IS NOT NULL)
    SELECT concat(format(E'<svg class="chart %s" viewBox="0 0 %s 186" role="img" aria-label="drift over time">\n', class, width),
            format(E'<line class="axis" x1="36" x2="%s" y1="152.5" y2="152.5"/><text class="tick" x="30" y="156" text-anchor="end">0</text>\n', width - 8),
            format(E'<line class="limit" x1="36" x2="%s" y1="%s" y2="%s"/>', width - 8, svg(e.limit_y), svg(e.limit_y)),
            format(E'<text class="tick" x="30" y="%s" text-anchor="end">%s</text>\n', svg(e.limit_y + 4), shown_value(e.at_least, 'number', false)),
            format(E'<polyline class="line" points="%s"/>\n', string_agg(format('%s,%s', svg(p.x), svg(p.y)), ' ' ORDER BY p.id)),
            string_agg(format(E'<circle class="%s" cx="%s" cy="%s" r="4"><title>%s: %s, effect %s</title></circle>\n',
                              CASE WHEN p.verdict IN ('slight', 'drifted') THEN p.verdict ELSE 'none' END, svg(p.x), svg(p.y),
                              to_char(p.checked_at, 'YYYY-MM-DD HH24:MI'), p.verdict, shown_value(p.effect, 'number', false)), '' ORDER BY p.id),
            format('<text class="tick" x="36" y="176">%s</text>', to_char(e.first, 'YYYY-MM-DD')),
            format('<text class="tick" x="%s" y="176" text-anchor="end">%s</text></svg>', width - 8, to_char(e.last, 'YYYY-MM-DD')))
      FROM point p, (SELECT *, 152 - 136 * at_least / NULLIF(top, 0) AS limit_y FROM edge) e GROUP BY e.first, e.last, e.top, e.at_least, e.limit_y HAVING count(*) > 1
$$;

CREATE FUNCTION fastclust_internal.report_drift_row(c drift_log, classes text[]) RETURNS text
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT html_row(format('check-%s', c.id), classes, ARRAY[html_time(c.checked_at), c.version::text, html_count(c.n), html_number(c.effect), html_number(c.p_value), html(c.verdict),
                  (SELECT string_agg(format('%s&nbsp;%s', html_start(u.name, 40), html_number(u.shift)), ', ' ORDER BY u.i)
                     FROM unnest(c.columns[:3]) WITH ORDINALITY u(name, shift, spread, i) WHERE abs(u.shift) >= 0.05),
                  COALESCE(c.new_version::text, '&ndash;')])
$$;

-- The last four hundred checks as a line, the last ten as a table.
CREATE FUNCTION fastclust_internal.report_drift(held models) RETURNS text
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    checks drift_log[] := (SELECT array_agg(q ORDER BY q.id) FROM (SELECT d.* FROM drift_log d WHERE d.model_id = held.id ORDER BY d.id DESC LIMIT 400) q);
    last_ones drift_log[] := checks[greatest(1, cardinality(checks) - 9):];
    classes text[] := '{"",n,n,n,n,"","",n}';
BEGIN
    IF checks IS NULL THEN
        RETURN html_section('drift', 'Drift', concat('Checks of <code>retrain_if_drifted</code>: ',
                            CASE WHEN may_change_model(held.id) THEN 'none yet.' ELSE 'only the owner of the model sees them.' END), NULL);
    END IF;
    RETURN html_section('drift', 'Drift',
        'How much the rows of each check differ from the training rows: 0.1 is a tenth of a standard deviation, or a tenth of the rows. '
        'The dashed line is the effect from which the model is retrained.',
        concat(E'<figure>\n' || svg_drift(checks, 1056, 'wide') || E'\n' || svg_drift(checks, 343, 'narrow') || E'\n</figure>\n',
               html_table(classes, '{Checked,Version,Rows,Effect,p-value,Verdict,"Shift of the means","Retrained to"}',
                          (SELECT string_agg(report_drift_row(c::drift_log, classes), E'\n' ORDER BY c.id DESC) FROM unnest(last_ones) c)),
               CASE WHEN cardinality(checks) > 10 THEN E'\n<p class="hint">The last ten; all are rows of <code>drift_log</code>.</p>' END));
END
$$;

-- ---- the training ----

CREATE FUNCTION fastclust_internal.report_steps(held models) RETURNS text
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT html_section('training', 'Training', format('The steps of version %s, %s seconds in all.', held.version, html_number(sum(t.seconds))),
        html_table(c.classes, '{Step,"",Seconds,"Mean squared distance",Note}',
                   string_agg(html_row(format('step-%s', t.id), c.classes,
                                       ARRAY[html(t.step), html_bar(t.seconds / NULLIF(t.longest, 0)), html_number(t.seconds), html_number(t.objective), html(t.note)]), E'\n' ORDER BY t.id)))
      FROM (SELECT l.*, max(l.seconds) OVER () AS longest FROM training_log l WHERE l.model_id = held.id AND l.version = held.version) t, (SELECT '{who,wide-bar,n,n,""}'::text[] AS classes) c
     GROUP BY c.classes
$$;

-- report: the page

CREATE FUNCTION fastclust_internal.report_fact(id text, name text, value text, class text DEFAULT '') RETURNS text
    LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT format(E'<div><dt>%s</dt><dd id="%s" class="%s">%s</dd></div>\n', name, id, class, value)
$$;

-- What the model is, in a sentence.
CREATE FUNCTION fastclust_internal.report_lead(summary model_summary, version model_versions, line version_line, overview boolean) RETURNS text
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT format('%s %s of <code>%s</code> in %s %s%s, by %s.', html_count(line.n), CASE WHEN line.n = 1 THEN 'row' ELSE 'rows' END, html_start(version.relation, 120), html_count(line.clusters),
                  CASE WHEN line.clusters = 1 THEN 'cluster' ELSE 'clusters' END,
                  CASE WHEN overview THEN format(' of %s groups by <code>%s</code>', html_count(summary.groups), html(summary.group_by))
                       WHEN summary.group_by IS NOT NULL THEN format(', where <code>%s</code> is <code>%s</code>', html(summary.group_by), html_start(version.group_value, 120)) END,
                  CASE WHEN version.vector THEN format('the vector <code>%s</code>', html(version.features[1]))
                       WHEN cardinality(version.features) <= 4 THEN (SELECT string_agg(format('<code>%s</code>', html(f)), ', ' ORDER BY i) FROM unnest(version.features) WITH ORDINALITY u(f, i))
                       ELSE format('%s columns', cardinality(version.features)) END)
$$;

CREATE FUNCTION fastclust_internal.report_facts(summary model_summary, line version_line, mapped boolean) RETURNS text
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT concat(E'<dl class="facts">\n', report_fact('rows', 'Rows', html_count(line.n)), report_fact('clusters', 'Clusters', html_count(line.clusters)),
                  report_fact('dimensions', CASE WHEN mapped THEN 'Kernel features' ELSE 'Dimensions' END, html_count(summary.dim)),
                  report_fact('objective', 'Mean squared distance', html_number(line.objective)),
                  report_fact('version', 'Version', html_count(line.version)),
                  report_fact('trained', 'Trained', html_time(line.trained_at), 'word'), E'</dl>\n')
$$;

CREATE FUNCTION fastclust_internal.report_detail(name text, value text) RETURNS text
    LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT format(E'<dt>%s</dt><dd>%s</dd>\n', name, value) WHERE value IS NOT NULL
$$;

-- The state of a model's live sketch; NULL where it has none that the caller may read.
CREATE FUNCTION fastclust_internal.report_live(model_id bigint) RETURNS text
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT concat(format('<code>%s</code>: %s rows counted %s', html(l.name), html_count((d ->> 'base_rows')::bigint), html_time((d ->> 'counted_at')::timestamptz)),
                  CASE WHEN (d ->> 'open_deltas')::bigint > 0
                       THEN format('; %s changes since %s wait to be folded', html_count((d ->> 'open_deltas')::bigint), html_time((d ->> 'oldest_delta')::timestamptz)) END,
                  '; ' || html(d ->> 'problem'))
      FROM model_live(model_id) l, LATERAL (SELECT describe_sketch(l.name)) q(d)
     WHERE l.id IS NOT NULL
$$;

CREATE FUNCTION fastclust_internal.report_details(summary model_summary, version model_versions) RETURNS text
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT html_section('model', 'How it was made', NULL, concat(E'<dl class="details">\n',
        report_detail('Method', concat(html(version.method), '; ' || html(version.note))),
        report_detail('Features', concat((SELECT string_agg(format('<code>%s</code>', html(f)), ', ' ORDER BY i) FROM unnest(version.features) WITH ORDINALITY u(f, i) WHERE i <= 40),
                                         CASE WHEN cardinality(version.features) > 40 THEN format(' and %s more', cardinality(version.features) - 40) END,
                                         CASE WHEN version.vector THEN format(', a vector of %s', html_count(summary.dim)) END)),
        report_detail('Number of clusters', (SELECT html(l.note) FROM training_log l WHERE l.model_id = version.model_id AND l.version = version.version AND l.step = 'number of clusters' LIMIT 1)),
        report_detail('Options', CASE WHEN version.options <> '{}' THEN format('<code>%s</code>', html(version.options::text)) END),
        report_detail('Live sketch', report_live(version.model_id)),
        report_detail('Owner', html(summary.owner)),
        report_detail('Trained', concat('by ', html(version.trained_by), ', from ', html_time(version.started_at), ' to ', html_time(summary.trained_at))),
        '</dl>'))
$$;

CREATE FUNCTION fastclust_internal.report_footer(model text, group_value text) RETURNS text
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT format('<footer>Made %s by fastclust %s for %s: <code>SELECT report(%s)</code>. The numbers are those of <code>model_clusters</code>, '
                  '<code>profile</code>, <code>rules</code>, <code>model_versions</code>, <code>drift_log</code> and <code>training_log</code>.</footer>',
                  html_time(now()), html((SELECT e.extversion FROM pg_extension e WHERE e.extname = 'fastclust')), html(current_user),
                  html(concat(quote_literal(model), ', group_value => ' || quote_literal(group_value))))
$$;

-- The page is in the encoding of the client that writes the file.
CREATE FUNCTION fastclust_internal.html_charset(encoding name) RETURNS text
    LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE WHEN encoding LIKE 'LATIN_' THEN 'iso-8859-' || right(encoding, 1) WHEN encoding LIKE 'WIN12__' THEN 'windows-' || right(encoding, 4) ELSE 'utf-8' END
$$;

CREATE FUNCTION fastclust_internal.report_page(title text, body text) RETURNS text
    LANGUAGE sql STABLE SET search_path = pg_catalog, fastclust_internal, pg_temp AS $$
    SELECT concat(E'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="', html_charset(pg_client_encoding()), E'">\n',
                  E'<meta name="viewport" content="width=device-width, initial-scale=1">\n',
                  E'<meta http-equiv="Content-Security-Policy" content="default-src ''none''; style-src ''unsafe-inline''">\n',
                  E'<meta name="color-scheme" content="light dark">\n<title>', title, E'</title>\n<style>', report_style(), E'</style>\n</head>\n<body>\n<div class="page">\n',
                  body, E'\n</div>\n</body>\n</html>')
$$;

-- What is shown of one set of clusters.
CREATE FUNCTION fastclust_internal.report_one(held models, version model_versions, group_value text, rules boolean) RETURNS text
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    clusters report_cluster[] := report_clusters(held, version);
    told profile_value[] := profile_values(version, clusters);
BEGIN
    RETURN concat(report_map(clusters, told), report_tree(version.operator, clusters), report_sizes(held, version, clusters), report_profile(version, told, clusters),
                  CASE WHEN rules THEN report_rules(held, group_value, clusters) END);
END
$$;

CREATE FUNCTION report(model text, rules boolean DEFAULT true, group_value text DEFAULT NULL) RETURNS text
    AS 'MODULE_PATHNAME', 'fastclust_door' LANGUAGE C STABLE;
CREATE FUNCTION fastclust_internal.report_inside(model text, rules boolean DEFAULT true, group_value text DEFAULT NULL) RETURNS text
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    held models := readable_model($1);
    overview boolean := held.group_by IS NOT NULL AND $3 IS NULL;
    version model_versions := CASE WHEN overview THEN largest_group(held) ELSE explained_version(held, $3) END;
    summary model_summary := (SELECT s FROM model_summary s WHERE s.model = held.model);
    lines version_line[] := version_lines(held, $3);
    title text := concat(html(held.model), ': ' || html($3));
BEGIN
    RETURN report_page(title, concat(
        format(E'<header>\n<h1>%s</h1>\n<p class="lead">%s</p>\n</header>\n', title, report_lead(summary, version, lines[cardinality(lines)], overview)),
        report_facts(summary, lines[cardinality(lines)], version.map IS NOT NULL),
        CASE WHEN overview THEN report_groups(held) ELSE report_one(held, version, $3, $2) END,
        report_versions(lines), report_drift(held), report_steps(held), report_details(summary, version), report_footer(held.model, $3)));
END
$$;
COMMENT ON FUNCTION report(text, boolean, text) IS 'a page of HTML about a model, or one of its groups: clusters, profile, rules, versions, drift and training; without rules it reads no table';

-- rights at the end: what the owner of the extension calls for others is not for them to call

DO $$
DECLARE
    part record;
BEGIN
    FOR part IN SELECT p.oid::pg_catalog.regprocedure AS function FROM pg_catalog.pg_proc p
                 WHERE p.pronamespace OPERATOR(pg_catalog.=) 'fastclust_internal'::pg_catalog.regnamespace
                   AND (p.proname OPERATOR(pg_catalog.~~) '%\_as\_owner' OR p.proname OPERATOR(pg_catalog.=) ANY ('{lock_name,running_trainings,take_deltas}')) LOOP
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
                 WHERE t.tgconstrrelid OPERATOR(pg_catalog.=) '@extschema@.models'::pg_catalog.regclass
                   AND t.tgfoid OPERATOR(pg_catalog.=) 'pg_catalog."RI_FKey_check_ins"'::pg_catalog.regproc LOOP
        EXECUTE pg_catalog.format('ALTER TABLE %s DISABLE TRIGGER %I', part.relation, part.name);
    END LOOP;
END
$$;
