
-- internal: weighted samples of rows, stored as operators whose centroids are the rows

-- Converts the centroids of an operator from the scaling (center, scale) to (new_center,
-- new_scale). A NULL center counts as 0, a NULL scale as 1.
CREATE FUNCTION fastclust_internal.rescaled_operator(op fastop, center double precision[],
        scale double precision[], new_center double precision[], new_scale double precision[])
    RETURNS fastop
    AS 'MODULE_PATHNAME', 'fastclust_rescaled_operator' LANGUAGE C IMMUTABLE PARALLEL SAFE;
