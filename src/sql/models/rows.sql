
-- internal: rows of a table as trainings read them (pg/train/relation.c)

-- Returns the type of a column; a missing column is an error.
CREATE FUNCTION fastclust_internal.feature_type(relation regclass, feature name) RETURNS regtype
    AS 'MODULE_PATHNAME', 'fastclust_feature_type' LANGUAGE C STABLE;

-- Checks columns of a relation and returns SQL expressions for a row with the alias t.
--     relation_name  qualified and quoted name
--     vector         true if the feature is a column of vectors; if the argument `vector` is NULL,
--                    the type of the column decides
--     listed         features of the row as an unscaled array, computed by the encoder, if any
--     group_value    group of the row as text
--     dimensions     number of dimensions; NULL for vectors and, without an encoder, if not all
--                    columns are numbers
--     condition      condition with all names resolved
--     columns        columns that the condition reads
CREATE FUNCTION fastclust_internal.row_expressions(relation regclass, features name[],
        vector boolean, group_by name, encoder encoder, condition text DEFAULT NULL,
        OUT relation_name text, OUT vector boolean, OUT listed text, OUT group_value text,
        OUT dimensions integer, OUT sharded boolean, OUT condition text, OUT columns name[])
    AS 'MODULE_PATHNAME', 'fastclust_row_expressions' LANGUAGE C STABLE
    SET search_path FROM CURRENT SET quote_all_identifiers = off;

-- Returns the scaled coordinates of a row, given as columns in the encoder's order or as a record.
-- A NULL is replaced by coordinates of the centroid of op that is nearest to the row over its other
-- columns, or by NaN if op is NULL. Returns NULL if all values are missing, or if the encoder skips
-- the row.
CREATE FUNCTION fastclust_internal.encode_observed(encoder encoder, op fastop,
        VARIADIC columns "any")
    RETURNS double precision[]
    AS 'MODULE_PATHNAME', 'fastclust_encode_observed' LANGUAGE C STABLE PARALLEL SAFE COST 100;

-- version_query and rows_sampled are for the rows of a relation that a version of a model
-- describes. If the model has groups, these are only the rows of the version's group.
--
-- version_query returns fragments of an SQL query.
--     x         expression that converts row t to the input of the version's operator, with the
--               parameters $1 center, $2 scale, $3 map and $4 operator
--     rows      FROM and WHERE clauses for about `wanted` rows; infinity stands for all rows
--     observed  expression like x, but with NaN for NULLs that the version leaves out of distances
--     weight    weight of the row; NULL without option row_weight
--
-- rows_sampled returns a uniform sample of about `wanted` unscaled rows. If `even` is true, rows of
-- a large weight are repeated, so that all weights are equal.
--     sample    the rows, in which NULLs are replaced by the means of their columns
--     labelled  the same rows, but NULLs that the version leaves out of distances are replaced by
--               the coordinates of the nearest centroid, so that the rows have the labels of
--               predict; NULL if there are no such NULLs
CREATE FUNCTION fastclust_internal.version_query(version stored_versions, relation regclass,
        group_by name, wanted double precision DEFAULT 'infinity', OUT x text, OUT rows text,
        OUT observed text, OUT weight text)
    AS 'MODULE_PATHNAME', 'fastclust_version_query' LANGUAGE C STABLE SET search_path FROM CURRENT;
CREATE FUNCTION fastclust_internal.rows_sampled(version stored_versions, relation regclass,
        group_by name, wanted double precision, even boolean DEFAULT false, OUT sample fastop,
        OUT labelled fastop)
    AS 'MODULE_PATHNAME', 'fastclust_version_sample' LANGUAGE C
    SET search_path FROM CURRENT SET standard_conforming_strings = on SET array_nulls = on
    SET lc_monetary = 'C' SET quote_all_identifiers = off;
-- Converts unscaled rows to the input of a version's operator.
CREATE FUNCTION fastclust_internal.rows_of_version(version stored_versions, sample fastop)
    RETURNS fastop
    AS 'MODULE_PATHNAME', 'fastclust_rows_of_version' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
    COST 100000;

-- Returns the weight of a row, for option row_weight. Unless the weight is finite and above 0,
-- raises an error that names the column.
CREATE FUNCTION fastclust_internal.row_weight(weight double precision, name text)
    RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_row_weight' LANGUAGE C IMMUTABLE PARALLEL SAFE;

-- Returns a condition on rows with the alias t, in which all names are resolved, and the columns
-- that it reads. Raises an error if the text is not allowed as a condition.
CREATE FUNCTION fastclust_internal.row_condition(relation regclass, condition text,
        OUT condition text, OUT columns name[])
    AS 'MODULE_PATHNAME', 'fastclust_row_condition' LANGUAGE C STABLE STRICT;

-- Returns the planner's estimate of the number of rows.
CREATE FUNCTION fastclust_internal.estimated_rows(relation regclass) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_estimated_rows' LANGUAGE C STRICT SET search_path FROM CURRENT;
