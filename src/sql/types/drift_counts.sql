
-- internal: counts of rows, and the test for drift that compares them (training/drift.sql)
--
-- The edges of a column divide its values into cells. A row also has bits. A bit is set by a
-- condition on one column, such as a value above the middle edge (core/drift/spec.h). A
-- drift_counts has the number of rows in each cell of each column. It also has, for each pair of
-- bits, the number of rows in which both are set.

-- Returns a drift_spec: the edges of the columns, and the columns whose pairs are counted, chosen
-- from a sample. The sample is an operator whose centroids are random rows, unscaled.
CREATE FUNCTION fastclust_internal.drift_spec_of_sample(sample fastop, seed bigint)
    RETURNS drift_spec
    AS 'MODULE_PATHNAME', 'fastclust_drift_spec_of_sample' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
    COST 100000;
-- Returns tr S^2 and tr S^3 (drift/waves.h), estimated from up to max_count rows of the sample.
-- They determine the null distribution of the drift test of sketches with this spec. Returns NULL
-- if the spec projects rows, or if there are too few rows.
CREATE FUNCTION fastclust_internal.sample_null_moments(sample fastop, spec sketch_spec,
        max_count integer DEFAULT 512)
    RETURNS double precision[]
    AS 'MODULE_PATHNAME', 'fastclust_sample_null_moments' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
    COST 100000;

CREATE FUNCTION fastclust_internal.drift_counts_combine(drift_counts, drift_counts)
    RETURNS drift_counts
    AS 'MODULE_PATHNAME', 'fastclust_drift_counts_combine' LANGUAGE C IMMUTABLE PARALLEL SAFE
    COST 100;
CREATE FUNCTION fastclust_internal.drift_counts_final(drift_counts) RETURNS drift_counts
    AS 'MODULE_PATHNAME', 'fastclust_drift_counts_final' LANGUAGE C IMMUTABLE PARALLEL SAFE
    COST 100;
CREATE FUNCTION fastclust_internal.drift_counts_accum(drift_counts, "any", drift_spec)
    RETURNS drift_counts
    AS 'MODULE_PATHNAME', 'fastclust_drift_counts_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE
    COST 100;
CREATE AGGREGATE fastclust_internal.drift_counts_agg(x "any", spec drift_spec) (
    SFUNC = drift_counts_accum, STYPE = drift_counts, SSPACE = 16384,
    COMBINEFUNC = drift_counts_combine, FINALFUNC = drift_counts_final,
    FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
CREATE AGGREGATE fastclust_internal.merge_drift_counts_agg(drift_counts) (
    SFUNC = drift_counts_combine, STYPE = drift_counts, SSPACE = 16384,
    COMBINEFUNC = drift_counts_combine, FINALFUNC = drift_counts_final,
    FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);

-- Returns counts + added - removed, or NULL if no rows remain.
CREATE FUNCTION fastclust_internal.changed_drift_counts(counts drift_counts, added drift_counts,
        removed drift_counts)
    RETURNS drift_counts
    AS 'MODULE_PATHNAME', 'fastclust_changed_drift_counts' LANGUAGE C IMMUTABLE PARALLEL SAFE
    COST 100;

-- Returns true if the NULLs in the columns were counted for all rows.
CREATE FUNCTION fastclust_internal.counts_nulls(counts drift_counts) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_counts_nulls' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

-- Returns the number of units, such as customers, to which the counted rows belong (option unit).
-- Returns NULL if the rows were not counted in units.
CREATE FUNCTION fastclust_internal.unit_count(counts drift_counts) RETURNS bigint
    AS 'MODULE_PATHNAME', 'fastclust_unit_count' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
-- Returns the number, from 0, of the part in which a row is counted (core/drift/units.h). The part
-- is chosen by a hash of the row's unit, or by the row's key if the unit is NULL.
CREATE FUNCTION fastclust_internal.unit_part(unit "any", key bigint) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_unit_part' LANGUAGE C IMMUTABLE PARALLEL SAFE;

-- Tests two sets of rows for drift, by their counts, their sketches, or both. Without the encoder,
-- a NULL is compared as the value that replaces it. With the encoder of the columns, NULLs and
-- values are compared separately.
CREATE FUNCTION fastclust_internal.drift_test(spec drift_spec, training drift_counts,
        "rows" drift_counts, training_sketch sketch, sketch sketch,
        null_moments double precision[], threshold double precision, min_effect double precision,
        encoder encoder DEFAULT NULL, OUT mmd2 double precision, OUT null_sd double precision,
        OUT p_value double precision, OUT effect double precision, OUT verdict text)
    AS 'MODULE_PATHNAME', 'fastclust_drift_compare' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 10000;
-- Lists up to max_count columns that drifted, smallest p-value first, then pairs of other columns.
-- If nothing is significant and `drifted` is true, lists the columns with the smallest p-values.
--     dimension, other  the column, from 1; the other column of a pair, or NULL. In an entry for
--                       NULLs, dimension is the last dimension of the column that has them.
--     shift             change of the mean, in standard deviations of the training rows; in units
--                       of the column if it was constant in them
--     spread            ratio of the standard deviations, new rows to training rows. shift and
--                       spread are NULL without sketches, for pairs and for NULLs.
--     before, after     shares of NULLs in an entry for NULLs, else NULL
CREATE FUNCTION fastclust_internal.moved_columns(spec drift_spec, training drift_counts,
        "rows" drift_counts, training_sketch sketch, sketch sketch, threshold double precision,
        max_count integer, drifted boolean, encoder encoder DEFAULT NULL, OUT dimension integer,
        OUT other integer, OUT p_value double precision, OUT shift double precision,
        OUT spread double precision, OUT before double precision, OUT after double precision)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_moved_columns' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 10000;
