
-- Decoding: centroids computed from a sketch, without the rows

CREATE FUNCTION fastclust.decode(sketch sketch, k integer, decoder text DEFAULT 'auto',
        options jsonb DEFAULT '{}', sample sketch_spec DEFAULT NULL, OUT cluster integer,
        OUT centroid double precision[], OUT weight double precision, OUT spread double precision,
        OUT cost double precision, OUT relative_residual double precision, OUT iterations integer)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_decode' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 1000000
    ROWS 10;
COMMENT ON FUNCTION fastclust.decode IS
    'Computes k centroids from a sketch, with their shares and spreads, without reading a row. '
    'Each result row also has the fit of all centroids to the sketch.';
CREATE FUNCTION fastclust.decode_covariances(sketch sketch, k integer,
        decoder text DEFAULT 'shift', options jsonb DEFAULT '{}', sample sketch_spec DEFAULT NULL,
        OUT cluster integer, OUT covariance double precision[])
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_decode_covariances' LANGUAGE C IMMUTABLE PARALLEL SAFE
    COST 1000000 ROWS 10;
COMMENT ON FUNCTION fastclust.decode_covariances IS
    'Returns the covariance matrices of the clusters that decode finds with the same arguments.';
