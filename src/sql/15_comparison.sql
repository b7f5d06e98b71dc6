
-- equality by the canonical bytes, so that GROUP BY and joins work

--@each @type@ @by@ = sketch_spec value; sketch value; fastop value; kernel_map value; kernel_projection value; encoder value; kernel kernel
CREATE FUNCTION fastclust_internal.@type@_eq(@type@, @type@) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_@by@_eq' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE OPERATOR = (LEFTARG = @type@, RIGHTARG = @type@, FUNCTION = @type@_eq, COMMUTATOR = =, NEGATOR = <>,
    RESTRICT = eqsel, JOIN = eqjoinsel, HASHES, MERGES);
COMMENT ON OPERATOR = (@type@, @type@) IS 'the same value';
CREATE FUNCTION fastclust_internal.@type@_ne(@type@, @type@) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_@by@_ne' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE OPERATOR <> (LEFTARG = @type@, RIGHTARG = @type@, FUNCTION = @type@_ne, COMMUTATOR = <>, NEGATOR = =,
    RESTRICT = neqsel, JOIN = neqjoinsel);
COMMENT ON OPERATOR <> (@type@, @type@) IS 'another value';
CREATE FUNCTION fastclust_internal.@type@_hash(@type@) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_@by@_hash' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE OPERATOR CLASS @type@_hash_ops DEFAULT FOR TYPE @type@ USING hash AS OPERATOR 1 =, FUNCTION 1 @type@_hash(@type@);
--@end

-- and an order, for DISTINCT in an aggregate

--@each @type@ = sketch_spec; sketch; fastop
CREATE FUNCTION fastclust_internal.@type@_lt(@type@, @type@) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_value_lt' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE OPERATOR < (LEFTARG = @type@, RIGHTARG = @type@, FUNCTION = @type@_lt, COMMUTATOR = >, NEGATOR = >=,
    RESTRICT = scalarltsel, JOIN = scalarltjoinsel);
COMMENT ON OPERATOR < (@type@, @type@) IS 'the order of indexes and sorting, which means nothing else';
CREATE FUNCTION fastclust_internal.@type@_le(@type@, @type@) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_value_le' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE OPERATOR <= (LEFTARG = @type@, RIGHTARG = @type@, FUNCTION = @type@_le, COMMUTATOR = >=, NEGATOR = >,
    RESTRICT = scalarlesel, JOIN = scalarlejoinsel);
COMMENT ON OPERATOR <= (@type@, @type@) IS 'the order of indexes and sorting, which means nothing else';
CREATE FUNCTION fastclust_internal.@type@_gt(@type@, @type@) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_value_gt' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE OPERATOR > (LEFTARG = @type@, RIGHTARG = @type@, FUNCTION = @type@_gt, COMMUTATOR = <, NEGATOR = <=,
    RESTRICT = scalargtsel, JOIN = scalargtjoinsel);
COMMENT ON OPERATOR > (@type@, @type@) IS 'the order of indexes and sorting, which means nothing else';
CREATE FUNCTION fastclust_internal.@type@_ge(@type@, @type@) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_value_ge' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE OPERATOR >= (LEFTARG = @type@, RIGHTARG = @type@, FUNCTION = @type@_ge, COMMUTATOR = <=, NEGATOR = <,
    RESTRICT = scalargesel, JOIN = scalargejoinsel);
COMMENT ON OPERATOR >= (@type@, @type@) IS 'the order of indexes and sorting, which means nothing else';
CREATE FUNCTION fastclust_internal.@type@_cmp(@type@, @type@) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_value_cmp' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE OPERATOR CLASS @type@_ops DEFAULT FOR TYPE @type@ USING btree AS
    OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >, FUNCTION 1 @type@_cmp(@type@, @type@);
--@end

-- An order of arrays, for DISTINCT in an aggregate.  The names are not = and <, which would be the closer match for any two arrays.
CREATE FUNCTION fastclust_internal.row_vector_eq(row_vector, row_vector) RETURNS boolean AS 'array_eq' LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.row_vector_lt(row_vector, row_vector) RETURNS boolean AS 'array_lt' LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.row_vector_cmp(row_vector, row_vector) RETURNS integer AS 'btarraycmp' LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE;
CREATE OPERATOR fastclust_internal.*= (LEFTARG = row_vector, RIGHTARG = row_vector, FUNCTION = row_vector_eq, COMMUTATOR = OPERATOR(fastclust_internal.*=));
CREATE OPERATOR fastclust_internal.*< (LEFTARG = row_vector, RIGHTARG = row_vector, FUNCTION = row_vector_lt);
CREATE OPERATOR CLASS row_vector_ops DEFAULT FOR TYPE row_vector USING btree AS
    OPERATOR 1 fastclust_internal.*<, OPERATOR 3 fastclust_internal.*=, FUNCTION 1 row_vector_cmp(row_vector, row_vector);
