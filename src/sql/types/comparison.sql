
-- equality by the canonical bytes, so that GROUP BY and joins work

CREATE FUNCTION fastclust_internal.kernel_hash(kernel) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_kernel_hash' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
--@each @type@ @equal@ @language@ @hash@ = sketch_spec 'byteaeq' internal hashvarlena(internal); sketch 'byteaeq' internal hashvarlena(internal); fastop 'byteaeq' internal hashvarlena(internal); kernel_map 'byteaeq' internal hashvarlena(internal); kernel_projection 'byteaeq' internal hashvarlena(internal); encoder 'byteaeq' internal hashvarlena(internal); kernel 'MODULE_PATHNAME','fastclust_kernel_eq' C kernel_hash(kernel)
CREATE FUNCTION fastclust_internal.@type@_eq(@type@, @type@) RETURNS boolean AS @equal@ LANGUAGE @language@ IMMUTABLE STRICT PARALLEL SAFE;
CREATE OPERATOR = (LEFTARG = @type@, RIGHTARG = @type@, FUNCTION = @type@_eq, COMMUTATOR = =, RESTRICT = eqsel, JOIN = eqjoinsel, HASHES, MERGES);
COMMENT ON OPERATOR = (@type@, @type@) IS 'the same value';
CREATE OPERATOR CLASS @type@_hash_ops DEFAULT FOR TYPE @type@ USING hash AS OPERATOR 1 =, FUNCTION 1 (@type@, @type@) @hash@;
--@end

-- and an order, for DISTINCT in an aggregate

--@each @type@ = sketch_spec; sketch; fastop
CREATE FUNCTION fastclust_internal.@type@_lt(@type@, @type@) RETURNS boolean AS 'bytealt' LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE;
CREATE OPERATOR < (LEFTARG = @type@, RIGHTARG = @type@, FUNCTION = @type@_lt, RESTRICT = scalarltsel, JOIN = scalarltjoinsel);
COMMENT ON OPERATOR < (@type@, @type@) IS 'the order for sorting; it has no other meaning';
CREATE OPERATOR CLASS @type@_ops DEFAULT FOR TYPE @type@ USING btree AS
    OPERATOR 1 <, OPERATOR 3 =, FUNCTION 1 (@type@, @type@) byteacmp(bytea, bytea);
--@end

-- An order of arrays, for DISTINCT in an aggregate.  The names are not = and <, which would be the closer match for any two arrays.
CREATE FUNCTION fastclust_internal.row_vector_eq(row_vector, row_vector) RETURNS boolean AS 'array_eq' LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.row_vector_lt(row_vector, row_vector) RETURNS boolean AS 'array_lt' LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE;
CREATE OPERATOR fastclust_internal.*= (LEFTARG = row_vector, RIGHTARG = row_vector, FUNCTION = row_vector_eq, COMMUTATOR = OPERATOR(fastclust_internal.*=));
CREATE OPERATOR fastclust_internal.*< (LEFTARG = row_vector, RIGHTARG = row_vector, FUNCTION = row_vector_lt);
CREATE OPERATOR CLASS row_vector_ops DEFAULT FOR TYPE row_vector USING btree AS
    OPERATOR 1 fastclust_internal.*<, OPERATOR 3 fastclust_internal.*=, FUNCTION 1 (row_vector, row_vector) btarraycmp(anyarray, anyarray);
