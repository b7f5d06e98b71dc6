
-- internal: aggregates under the name that Citus sends to the shards as it stands
--
-- Citus calls an aggregate with a combine function through worker_partial_agg, which packs the arguments into a row and looks the aggregate
-- up again for every row of the table: 300 to 400 ns.  An aggregate by the name of "sum" without a combine function is called on
-- the shards itself; what comes back is added up by the sum of one argument of the result's type.

CREATE FUNCTION fastclust_internal.state_combine(aggregate_state, aggregate_state) RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_state_combine' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE fastclust_internal.sum(sketch) (SFUNC = sketch_combine, STYPE = sketch, SSPACE = 16384,
    FINALFUNC = sketch_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
CREATE AGGREGATE fastclust_internal.sum(aggregate_state) (SFUNC = state_combine, STYPE = aggregate_state, SSPACE = 65536, PARALLEL = SAFE);
CREATE AGGREGATE fastclust_internal.sum(drift_counts) (SFUNC = drift_counts_combine, STYPE = drift_counts, SSPACE = 16384,
    FINALFUNC = drift_counts_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
CREATE AGGREGATE fastclust_internal.sum(x "any", spec sketch_spec) (SFUNC = sketch_accum, STYPE = sketch, SSPACE = 16384,
    FINALFUNC = sketch_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
CREATE AGGREGATE fastclust_internal.sum(x "any", spec drift_spec) (SFUNC = drift_counts_accum, STYPE = drift_counts, SSPACE = 16384,
    FINALFUNC = drift_counts_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
CREATE AGGREGATE fastclust_internal.sum(op fastop, x "any") (SFUNC = lloyd_accum, STYPE = aggregate_state, SSPACE = 65536, PARALLEL = SAFE);
CREATE AGGREGATE fastclust_internal.sum(x "any", key bigint, size integer, center double precision[], variance double precision, seed bigint,
        rank_limit double precision, cosine boolean) (
    SFUNC = coreset_accum, STYPE = aggregate_state, SSPACE = 4096, FINALFUNC = coreset_packed, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
