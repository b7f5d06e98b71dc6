
-- internal: one pass over the rows of a training: sketch, counts of drift, weighted sample and
-- Lloyd's sums side by side

CREATE TYPE fastclust_internal.scan_plan AS (
    encoder encoder,    -- NULL: the only cell of a row is a vector
    metric text,    -- cosine, or NULL
    center double precision[],
    scale double precision[],    -- units of a row; NULL: as it is
    -- operators take its features of a row in units; NULL: the row in units
    map kernel_map,
    spec sketch_spec,    -- of the sketch, of rows in their own units; NULL: none
    drift_spec drift_spec,    -- of the counts, as well; NULL: none
    -- one row of so many, a power of two, enters sketch and counts, by its key; NULL: every row
    share integer,
    -- of rows in units
    size integer,
    sample_center double precision[],
    sample_variance double precision,
    seed bigint,
    rank_limit double precision,
    operators fastop[]);        -- of Lloyd's sums, up to two; NULL: none

-- The plan of a value among the groups.
CREATE FUNCTION fastclust_internal.group_plan(others scan_plan, groups text[], plans scan_plan[],
        value "any")
    RETURNS scan_plan
    AS 'MODULE_PATHNAME', 'fastclust_group_plan' LANGUAGE C STABLE PARALLEL SAFE;
-- Cells are the encoder's columns in their order, or one row that has them by name, or a
-- vector.  A key tells equal rows apart.
CREATE FUNCTION fastclust_internal.scan_accum(internal, scan_plan, bigint, VARIADIC "any")
    RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_scan_accum' LANGUAGE C STABLE PARALLEL SAFE COST 300;
CREATE FUNCTION fastclust_internal.scan_final(internal) RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_scan_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE AGGREGATE fastclust_internal.scan_agg(plan scan_plan, key bigint, VARIADIC cells "any") (
    SFUNC = scan_accum, STYPE = internal, SSPACE = 65536, COMBINEFUNC = internal_combine,
    SERIALFUNC = internal_serialize, DESERIALFUNC = internal_deserialize, FINALFUNC = scan_final,
    FINALFUNC_MODIFY = READ_WRITE, PARALLEL = SAFE);

-- Aggregates under the name that Citus sends to the shards as it stands.  Citus calls an
-- aggregate with a combine function through worker_partial_agg, which packs the arguments into
-- a row and looks the aggregate up again for every row of the table: 300 to 400 ns.  An
-- aggregate by the name of "sum" without a combine function is called on the shards itself; the
-- returned states are added up by the sum of one argument of the result's type.
CREATE AGGREGATE fastclust_internal.sum(aggregate_state) (
    SFUNC = state_combine, STYPE = aggregate_state, SSPACE = 65536, PARALLEL = SAFE);
CREATE AGGREGATE fastclust_internal.sum(op fastop, x "any") (
    SFUNC = lloyd_accum, STYPE = aggregate_state, SSPACE = 65536, PARALLEL = SAFE);
CREATE AGGREGATE fastclust_internal.sum(plan scan_plan, key bigint, VARIADIC cells "any") (
    SFUNC = scan_accum, STYPE = internal, SSPACE = 65536, FINALFUNC = scan_final,
    FINALFUNC_MODIFY = READ_WRITE, PARALLEL = SAFE);

-- The parts of a packed state; NULL for one that is not there or that no row entered.
CREATE FUNCTION fastclust_internal.scan_result(scan aggregate_state, OUT n bigint,
        OUT nulls bigint, OUT sketch sketch, OUT counts drift_counts, OUT sample fastop,
        OUT steps lloyd_step[])
    AS 'MODULE_PATHNAME', 'fastclust_scan_result' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
