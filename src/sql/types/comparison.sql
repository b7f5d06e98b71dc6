
-- equality by the canonical bytes, so that GROUP BY and joins work, and an order, for DISTINCT in an aggregate

CREATE FUNCTION fastclust_internal.value_bytes_eq(value_bytes, value_bytes) RETURNS boolean AS 'byteaeq' LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.value_bytes_lt(value_bytes, value_bytes) RETURNS boolean AS 'bytealt' LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.kernel_hash(kernel) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_kernel_hash' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.kernel_eq(kernel, kernel) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_kernel_eq' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
--@each @type@ @hash@ = value_bytes hashvarlena(internal); kernel kernel_hash(kernel)
CREATE OPERATOR = (LEFTARG = @type@, RIGHTARG = @type@, FUNCTION = @type@_eq, COMMUTATOR = =, RESTRICT = eqsel, JOIN = eqjoinsel, HASHES, MERGES);
COMMENT ON OPERATOR = (@type@, @type@) IS 'the same value';
CREATE OPERATOR CLASS @type@_hash_ops DEFAULT FOR TYPE @type@ USING hash AS OPERATOR 1 =, FUNCTION 1 (@type@, @type@) @hash@;
--@end
CREATE OPERATOR < (LEFTARG = value_bytes, RIGHTARG = value_bytes, FUNCTION = value_bytes_lt, RESTRICT = scalarltsel, JOIN = scalarltjoinsel);
COMMENT ON OPERATOR < (value_bytes, value_bytes) IS 'the order for sorting; it has no other meaning';
CREATE OPERATOR CLASS value_bytes_ops DEFAULT FOR TYPE value_bytes USING btree AS
    OPERATOR 1 <, OPERATOR 3 =, FUNCTION 1 (value_bytes, value_bytes) byteacmp(bytea, bytea);
