
-- Comparison of values by their canonical bytes: equality for GROUP BY and joins, and a sort order
-- for DISTINCT in an aggregate. The operator = is in pg_catalog, because IS DISTINCT FROM, NULLIF
-- and CASE look for an operator = without a schema, and a restored trigger or view has only
-- pg_catalog in its path.

CREATE FUNCTION fastclust_internal.value_bytes_eq(value_bytes, value_bytes) RETURNS boolean
    AS 'byteaeq' LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.value_bytes_lt(value_bytes, value_bytes) RETURNS boolean
    AS 'bytealt' LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.kernel_hash(kernel) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_kernel_hash' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.kernel_eq(kernel, kernel) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_kernel_eq' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE OPERATOR pg_catalog.= (
    LEFTARG = value_bytes, RIGHTARG = value_bytes, FUNCTION = value_bytes_eq,
    COMMUTATOR = OPERATOR(pg_catalog.=), RESTRICT = eqsel, JOIN = eqjoinsel, HASHES, MERGES);
COMMENT ON OPERATOR pg_catalog.= (value_bytes, value_bytes) IS
    'Returns true if both values have the same bytes.';
CREATE OPERATOR CLASS fastclust.value_bytes_hash_ops DEFAULT FOR TYPE value_bytes USING hash AS
    OPERATOR 1 =, FUNCTION 1 (value_bytes, value_bytes) hashvarlena(internal);
CREATE OPERATOR pg_catalog.= (
    LEFTARG = kernel, RIGHTARG = kernel, FUNCTION = kernel_eq, COMMUTATOR = OPERATOR(pg_catalog.=),
    RESTRICT = eqsel, JOIN = eqjoinsel, HASHES, MERGES);
COMMENT ON OPERATOR pg_catalog.= (kernel, kernel) IS 'Returns true if both kernels are the same.';
CREATE OPERATOR CLASS fastclust.kernel_hash_ops DEFAULT FOR TYPE kernel USING hash AS
    OPERATOR 1 =, FUNCTION 1 (kernel, kernel) kernel_hash(kernel);
CREATE OPERATOR fastclust.< (
    LEFTARG = value_bytes, RIGHTARG = value_bytes, FUNCTION = value_bytes_lt,
    RESTRICT = scalarltsel, JOIN = scalarltjoinsel);
COMMENT ON OPERATOR < (value_bytes, value_bytes) IS
    'Compares two values for sorting only; the order has no other meaning.';
CREATE OPERATOR CLASS fastclust.value_bytes_ops DEFAULT FOR TYPE value_bytes USING btree AS
    OPERATOR 1 <, OPERATOR 3 =, FUNCTION 1 (value_bytes, value_bytes) byteacmp(bytea, bytea);
