
-- internal: one pass over the rows of a training, which computes the sketch, the counts for drift,
-- the weighted sample and Lloyd's sums

CREATE TYPE fastclust_internal.scan_plan AS (
    encoder encoder,    -- NULL if the only cell of a row is a vector
    -- 'cosine'; 'observed': rows with NULLs are compared over their other columns; or NULL
    metric text,
    center double precision[],
    scale double precision[],    -- divisor of the rows; NULL: rows are not scaled
    -- feature map that converts scaled rows to the input of the operators; NULL: no map
    map kernel_map,
    spec sketch_spec,    -- spec of the sketch of unscaled rows; NULL: no sketch
    drift_spec drift_spec,    -- spec of the counts of unscaled rows; NULL: no counts
    -- a power of two: one row in `share`, chosen by its key, enters sketch and counts; NULL: all
    -- rows
    share integer,
    -- weighted sample of scaled rows: its size, the center and variance from which importances are
    -- computed, the seed, and the limit on ranks
    size integer,
    sample_center double precision[],
    sample_variance double precision,
    seed bigint,
    rank_limit double precision,
    operators fastop[],         -- operators of up to two Lloyd steps; NULL: none
    -- not NULL: the first cell of a row is its weight, and the sketch takes the weight times this
    -- factor; NULL: each row has the weight 1
    weight_factor double precision);

-- Returns plans[i], the plan of the group groups[i] that equals `value`. Returns `others` if no
-- group equals it.
CREATE FUNCTION fastclust_internal.group_plan(others scan_plan, groups text[], plans scan_plan[],
        value "any")
    RETURNS scan_plan
    AS 'MODULE_PATHNAME', 'fastclust_group_plan' LANGUAGE C STABLE PARALLEL SAFE;
-- The arguments are the plan, the key and the cells of a row. The cells have one of three forms:
-- the encoder's columns in order; a row that has these columns by name; a vector. A weight may
-- precede them. A hash of the key decides whether a row is sampled. If possible, rows with equal
-- cells have different keys.
CREATE FUNCTION fastclust_internal.scan_accum(internal, scan_plan, bigint, VARIADIC "any")
    RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_scan_accum' LANGUAGE C STABLE PARALLEL SAFE COST 300;
CREATE FUNCTION fastclust_internal.scan_final(internal) RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_scan_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE AGGREGATE fastclust_internal.scan_agg(plan scan_plan, key bigint, VARIADIC cells "any") (
    SFUNC = scan_accum, STYPE = internal, SSPACE = 65536, COMBINEFUNC = internal_combine,
    SERIALFUNC = internal_serialize, DESERIALFUNC = internal_deserialize, FINALFUNC = scan_final,
    FINALFUNC_MODIFY = READ_WRITE, PARALLEL = SAFE);

-- Aggregates named "sum", which Citus sends to the shards unchanged. Citus calls other aggregates
-- that have a combine function through worker_partial_agg, which packs the arguments into a row and
-- looks up the aggregate for every row of the table. That takes 300 to 400 ns per row. A "sum"
-- without a combine function runs on the shards directly. The states that the shards return are
-- added by the one-argument sum of their type.
CREATE AGGREGATE fastclust_internal.sum(aggregate_state) (
    SFUNC = state_combine, STYPE = aggregate_state, SSPACE = 65536, PARALLEL = SAFE);
CREATE AGGREGATE fastclust_internal.sum(op fastop, x "any") (
    SFUNC = lloyd_accum, STYPE = aggregate_state, SSPACE = 65536, PARALLEL = SAFE);
CREATE AGGREGATE fastclust_internal.sum(plan scan_plan, key bigint, VARIADIC cells "any") (
    SFUNC = scan_accum, STYPE = internal, SSPACE = 65536, FINALFUNC = scan_final,
    FINALFUNC_MODIFY = READ_WRITE, PARALLEL = SAFE);

-- Returns the results of scan_agg from its state. A result is NULL if the plan did not request it,
-- or if no row was added to it.
CREATE FUNCTION fastclust_internal.scan_result(scan aggregate_state, OUT n bigint,
        OUT nulls bigint, OUT sketch sketch, OUT counts drift_counts, OUT sample fastop,
        OUT steps lloyd_step[])
    AS 'MODULE_PATHNAME', 'fastclust_scan_result' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
