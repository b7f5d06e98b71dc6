
-- QuicK-means: centroids learned as a product of sparse factors

CREATE FUNCTION fastclust.qkmeans_log(relation regclass, features name, k integer,
        options jsonb DEFAULT '{}', OUT iteration integer, OUT objective double precision,
        OUT objective_of_means double precision, OUT nonzeros bigint, OUT empty integer,
        OUT seconds double precision, OUT op fastop)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_qkmeans_log' LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000000
    ROWS 10
    SET search_path FROM CURRENT SET standard_conforming_strings = on SET array_nulls = on
    SET lc_monetary = 'C' SET quote_all_identifiers = off;
COMMENT ON FUNCTION fastclust.qkmeans_log IS
    'Runs QuicK-means over a table and returns one row per iteration. The last row has the '
    'learned operator.';

CREATE FUNCTION fastclust_internal.qkmeans_final(internal) RETURNS fastop
    AS 'MODULE_PATHNAME', 'fastclust_qkmeans_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE AGGREGATE fastclust.qkmeans_agg(x "any", k integer) (
    SFUNC = kmeans_accum, STYPE = internal, SSPACE = 1048576, COMBINEFUNC = internal_combine,
    SERIALFUNC = internal_serialize, DESERIALFUNC = internal_deserialize, FINALFUNC = qkmeans_final,
    PARALLEL = SAFE);
COMMENT ON AGGREGATE qkmeans_agg("any", integer) IS
    'Runs QuicK-means in memory and returns k centroids as a product of sparse factors, or NULL '
    'without rows.';
CREATE AGGREGATE fastclust.qkmeans_agg(x "any", k integer, options jsonb) (
    SFUNC = kmeans_accum, STYPE = internal, SSPACE = 1048576, COMBINEFUNC = internal_combine,
    SERIALFUNC = internal_serialize, DESERIALFUNC = internal_deserialize, FINALFUNC = qkmeans_final,
    PARALLEL = SAFE);
COMMENT ON AGGREGATE qkmeans_agg("any", integer, jsonb) IS
    'Runs QuicK-means in memory with options and returns k centroids as a product of sparse '
    'factors, or NULL without rows.';
