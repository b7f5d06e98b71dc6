
-- internal: the rows of a table as trainings read them (pg/train/relation.c)

-- The type of a column, or the error that it is not there.
CREATE FUNCTION fastclust_internal.feature_type(relation regclass, feature name) RETURNS regtype
    AS 'MODULE_PATHNAME', 'fastclust_feature_type' LANGUAGE C STABLE;

-- Checked columns of a relation as expressions of a row t: as an array in its own units, by the
-- encoder where there is one; the text of its group; a condition with the columns that it
-- reads.  relation is qualified and quoted; vector NULL: as the column is; dimensions is NULL
-- of vectors, and without an encoder of columns that are not all numbers.
CREATE FUNCTION fastclust_internal.row_expressions(relation regclass, features name[],
        vector boolean, group_by name, encoder encoder, condition text DEFAULT NULL,
        OUT relation_name text, OUT vector boolean, OUT listed text, OUT group_value text,
        OUT dimensions integer, OUT sharded boolean, OUT condition text, OUT columns name[])
    AS 'MODULE_PATHNAME', 'fastclust_row_expressions' LANGUAGE C STABLE
    SET search_path FROM CURRENT SET quote_all_identifiers = off;

-- The rows of a relation as a version of a model reads them, of its group where it is one of
-- groups: a row t as the operator takes it, of parameters $1 center, $2 scale and $3 map, with
-- FROM and WHERE, of about so many rows where that is finite; and a uniform sample of about so
-- many, in their own units.
CREATE FUNCTION fastclust_internal.version_query(version stored_versions, relation regclass,
        group_by name, wanted double precision DEFAULT 'infinity', OUT x text, OUT rows text)
    AS 'MODULE_PATHNAME', 'fastclust_version_query' LANGUAGE C STABLE SET search_path FROM CURRENT;
CREATE FUNCTION fastclust_internal.rows_sampled(version stored_versions, relation regclass,
        group_by name, wanted double precision)
    RETURNS fastop
    AS 'MODULE_PATHNAME', 'fastclust_version_sample' LANGUAGE C
    SET search_path FROM CURRENT SET standard_conforming_strings = on SET array_nulls = on
    SET lc_monetary = 'C' SET quote_all_identifiers = off;
-- Rows in their own units as the operator of a version takes them.
CREATE FUNCTION fastclust_internal.rows_of_version(version stored_versions, sample fastop)
    RETURNS fastop
    AS 'MODULE_PATHNAME', 'fastclust_rows_of_version' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
    COST 100000;

-- A condition on rows of the alias t, every name resolved, and the columns it reads; or the
-- error that it may not be one.
CREATE FUNCTION fastclust_internal.row_condition(relation regclass, condition text,
        OUT condition text, OUT columns name[])
    AS 'MODULE_PATHNAME', 'fastclust_row_condition' LANGUAGE C STABLE STRICT;

-- The planner's number of rows.
CREATE FUNCTION fastclust_internal.estimated_rows(relation regclass) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_estimated_rows' LANGUAGE C STRICT SET search_path FROM CURRENT;
