
-- internal: the counts that drift compares (training/drift.sql), of rows at edges and of pairs
-- of bits, and whether they changed

-- The counted values; the sample holds rows at random in their own units, as its centroids.
CREATE FUNCTION fastclust_internal.drift_spec_of_sample(sample fastop, seed bigint)
    RETURNS drift_spec
    AS 'MODULE_PATHNAME', 'fastclust_drift_spec_of_sample' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE
    COST 100000;
-- How the sketches of a spec vary when nothing has changed, by at most so many rows; NULL where
-- the spec projects rows, or of too few rows.
CREATE FUNCTION fastclust_internal.sample_null_moments(sample fastop, spec sketch_spec,
        most integer DEFAULT 512)
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

-- NULL: no rows.
CREATE FUNCTION fastclust_internal.changed_drift_counts(counts drift_counts, added drift_counts,
        removed drift_counts)
    RETURNS drift_counts
    AS 'MODULE_PATHNAME', 'fastclust_changed_drift_counts' LANGUAGE C IMMUTABLE PARALLEL SAFE
    COST 100;

-- By the counts, or the sketches, or both.
CREATE FUNCTION fastclust_internal.drift_test(spec drift_spec, training drift_counts,
        "rows" drift_counts, training_sketch sketch, sketch sketch,
        null_moments double precision[], threshold double precision, min_effect double precision,
        OUT mmd2 double precision, OUT null_sd double precision, OUT p_value double precision,
        OUT effect double precision, OUT verdict text)
    AS 'MODULE_PATHNAME', 'fastclust_drift_compare' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 10000;
-- Columns, then pairs of others, that moved, likeliest first; other is NULL of a column.  Shift
-- and spread are those of the sketches.
CREATE FUNCTION fastclust_internal.moved_columns(spec drift_spec, training drift_counts,
        "rows" drift_counts, training_sketch sketch, sketch sketch, threshold double precision,
        most integer, OUT dimension integer, OUT other integer, OUT p_value double precision,
        OUT shift double precision, OUT spread double precision)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_moved_columns' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 10000;
