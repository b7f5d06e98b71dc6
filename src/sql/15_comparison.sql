
-- comparison: the canonical bytes, so DISTINCT, GROUP BY, joins and indexes work

CREATE FUNCTION fastclust_internal.sketch_spec_eq(sketch_spec, sketch_spec) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_value_eq' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.sketch_spec_ne(sketch_spec, sketch_spec) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_value_ne' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.sketch_spec_lt(sketch_spec, sketch_spec) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_value_lt' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.sketch_spec_le(sketch_spec, sketch_spec) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_value_le' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.sketch_spec_gt(sketch_spec, sketch_spec) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_value_gt' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.sketch_spec_ge(sketch_spec, sketch_spec) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_value_ge' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.sketch_spec_cmp(sketch_spec, sketch_spec) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_value_cmp' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.sketch_spec_hash(sketch_spec) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_value_hash' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE OPERATOR = (LEFTARG = sketch_spec, RIGHTARG = sketch_spec, FUNCTION = sketch_spec_eq, COMMUTATOR = =, NEGATOR = <>,
    RESTRICT = eqsel, JOIN = eqjoinsel, HASHES, MERGES);
CREATE OPERATOR <> (LEFTARG = sketch_spec, RIGHTARG = sketch_spec, FUNCTION = sketch_spec_ne, COMMUTATOR = <>, NEGATOR = =,
    RESTRICT = neqsel, JOIN = neqjoinsel);
CREATE OPERATOR < (LEFTARG = sketch_spec, RIGHTARG = sketch_spec, FUNCTION = sketch_spec_lt, COMMUTATOR = >, NEGATOR = >=,
    RESTRICT = scalarltsel, JOIN = scalarltjoinsel);
CREATE OPERATOR <= (LEFTARG = sketch_spec, RIGHTARG = sketch_spec, FUNCTION = sketch_spec_le, COMMUTATOR = >=, NEGATOR = >,
    RESTRICT = scalarlesel, JOIN = scalarlejoinsel);
CREATE OPERATOR > (LEFTARG = sketch_spec, RIGHTARG = sketch_spec, FUNCTION = sketch_spec_gt, COMMUTATOR = <, NEGATOR = <=,
    RESTRICT = scalargtsel, JOIN = scalargtjoinsel);
CREATE OPERATOR >= (LEFTARG = sketch_spec, RIGHTARG = sketch_spec, FUNCTION = sketch_spec_ge, COMMUTATOR = <=, NEGATOR = <,
    RESTRICT = scalargesel, JOIN = scalargejoinsel);
CREATE OPERATOR CLASS sketch_spec_ops DEFAULT FOR TYPE sketch_spec USING btree AS
    OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >, FUNCTION 1 sketch_spec_cmp(sketch_spec, sketch_spec);
CREATE OPERATOR CLASS sketch_spec_hash_ops DEFAULT FOR TYPE sketch_spec USING hash AS
    OPERATOR 1 =, FUNCTION 1 sketch_spec_hash(sketch_spec);

CREATE FUNCTION fastclust_internal.sketch_eq(sketch, sketch) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_value_eq' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.sketch_ne(sketch, sketch) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_value_ne' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.sketch_lt(sketch, sketch) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_value_lt' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.sketch_le(sketch, sketch) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_value_le' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.sketch_gt(sketch, sketch) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_value_gt' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.sketch_ge(sketch, sketch) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_value_ge' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.sketch_cmp(sketch, sketch) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_value_cmp' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.sketch_hash(sketch) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_value_hash' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE OPERATOR = (LEFTARG = sketch, RIGHTARG = sketch, FUNCTION = sketch_eq, COMMUTATOR = =, NEGATOR = <>,
    RESTRICT = eqsel, JOIN = eqjoinsel, HASHES, MERGES);
CREATE OPERATOR <> (LEFTARG = sketch, RIGHTARG = sketch, FUNCTION = sketch_ne, COMMUTATOR = <>, NEGATOR = =,
    RESTRICT = neqsel, JOIN = neqjoinsel);
CREATE OPERATOR < (LEFTARG = sketch, RIGHTARG = sketch, FUNCTION = sketch_lt, COMMUTATOR = >, NEGATOR = >=,
    RESTRICT = scalarltsel, JOIN = scalarltjoinsel);
CREATE OPERATOR <= (LEFTARG = sketch, RIGHTARG = sketch, FUNCTION = sketch_le, COMMUTATOR = >=, NEGATOR = >,
    RESTRICT = scalarlesel, JOIN = scalarlejoinsel);
CREATE OPERATOR > (LEFTARG = sketch, RIGHTARG = sketch, FUNCTION = sketch_gt, COMMUTATOR = <, NEGATOR = <=,
    RESTRICT = scalargtsel, JOIN = scalargtjoinsel);
CREATE OPERATOR >= (LEFTARG = sketch, RIGHTARG = sketch, FUNCTION = sketch_ge, COMMUTATOR = <=, NEGATOR = <,
    RESTRICT = scalargesel, JOIN = scalargejoinsel);
CREATE OPERATOR CLASS sketch_ops DEFAULT FOR TYPE sketch USING btree AS
    OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >, FUNCTION 1 sketch_cmp(sketch, sketch);
CREATE OPERATOR CLASS sketch_hash_ops DEFAULT FOR TYPE sketch USING hash AS
    OPERATOR 1 =, FUNCTION 1 sketch_hash(sketch);

CREATE FUNCTION fastclust_internal.fastop_eq(fastop, fastop) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_value_eq' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.fastop_ne(fastop, fastop) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_value_ne' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.fastop_lt(fastop, fastop) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_value_lt' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.fastop_le(fastop, fastop) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_value_le' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.fastop_gt(fastop, fastop) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_value_gt' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.fastop_ge(fastop, fastop) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_value_ge' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.fastop_cmp(fastop, fastop) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_value_cmp' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.fastop_hash(fastop) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_value_hash' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE OPERATOR = (LEFTARG = fastop, RIGHTARG = fastop, FUNCTION = fastop_eq, COMMUTATOR = =, NEGATOR = <>,
    RESTRICT = eqsel, JOIN = eqjoinsel, HASHES, MERGES);
CREATE OPERATOR <> (LEFTARG = fastop, RIGHTARG = fastop, FUNCTION = fastop_ne, COMMUTATOR = <>, NEGATOR = =,
    RESTRICT = neqsel, JOIN = neqjoinsel);
CREATE OPERATOR < (LEFTARG = fastop, RIGHTARG = fastop, FUNCTION = fastop_lt, COMMUTATOR = >, NEGATOR = >=,
    RESTRICT = scalarltsel, JOIN = scalarltjoinsel);
CREATE OPERATOR <= (LEFTARG = fastop, RIGHTARG = fastop, FUNCTION = fastop_le, COMMUTATOR = >=, NEGATOR = >,
    RESTRICT = scalarlesel, JOIN = scalarlejoinsel);
CREATE OPERATOR > (LEFTARG = fastop, RIGHTARG = fastop, FUNCTION = fastop_gt, COMMUTATOR = <, NEGATOR = <=,
    RESTRICT = scalargtsel, JOIN = scalargtjoinsel);
CREATE OPERATOR >= (LEFTARG = fastop, RIGHTARG = fastop, FUNCTION = fastop_ge, COMMUTATOR = <=, NEGATOR = <,
    RESTRICT = scalargesel, JOIN = scalargejoinsel);
CREATE OPERATOR CLASS fastop_ops DEFAULT FOR TYPE fastop USING btree AS
    OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >, FUNCTION 1 fastop_cmp(fastop, fastop);
CREATE OPERATOR CLASS fastop_hash_ops DEFAULT FOR TYPE fastop USING hash AS
    OPERATOR 1 =, FUNCTION 1 fastop_hash(fastop);

