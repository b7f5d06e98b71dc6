
-- internal: weighted samples of rows, kept as operators whose centroids are the rows

CREATE FUNCTION fastclust_internal.coreset_final(aggregate_state) RETURNS fastop
    AS 'MODULE_PATHNAME', 'fastclust_coreset_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;
-- Centroids moved from one set of units to another; NULL for a center is 0, for a scale 1.
CREATE FUNCTION fastclust_internal.operator_in_units(op fastop, center double precision[], scale double precision[],
        new_center double precision[], new_scale double precision[]) RETURNS fastop
    AS 'MODULE_PATHNAME', 'fastclust_operator_in_units' LANGUAGE C IMMUTABLE PARALLEL SAFE;
-- Rows drawn from the clusters of an operator, round normal clouds of these spreads, as a stand-in for rows that are not read.
CREATE FUNCTION fastclust_internal.drawn_rows(op fastop, spreads double precision[], count integer, seed bigint) RETURNS fastop
    AS 'MODULE_PATHNAME', 'fastclust_drawn_rows' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100000;
