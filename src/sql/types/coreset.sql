
-- internal: weighted samples of rows, kept as operators whose centroids are the rows

-- Centroids moved from one set of units to another; NULL for a center is 0, for a scale 1.
CREATE FUNCTION fastclust_internal.operator_in_units(op fastop, center double precision[],
        scale double precision[], new_center double precision[], new_scale double precision[])
    RETURNS fastop
    AS 'MODULE_PATHNAME', 'fastclust_operator_in_units' LANGUAGE C IMMUTABLE PARALLEL SAFE;
