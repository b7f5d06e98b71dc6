
-- steps and scores

CREATE TYPE lloyd_step AS (next fastop, n bigint, sse double precision, counts bigint[]);
COMMENT ON TYPE lloyd_step IS 'the result of one step of Lloyd''s algorithm';
COMMENT ON COLUMN lloyd_step.next IS 'the operator with the means of the clusters as centroids';
COMMENT ON COLUMN lloyd_step.n IS 'the number of rows';
COMMENT ON COLUMN lloyd_step.sse IS 'the sum of squared distances of the rows to the old centroids';
COMMENT ON COLUMN lloyd_step.counts IS 'the number of rows of each cluster';
-- As sketch_agg: row_vector for Citus, an internal state for other types.
CREATE FUNCTION fastclust_internal.step_combine(internal, internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_step_combine_kept' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
--@each @state@ = aggregate_state; internal
CREATE FUNCTION fastclust_internal.lloyd_final(@state@) RETURNS lloyd_step
    AS 'MODULE_PATHNAME', 'fastclust_lloyd_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.score_final(@state@) RETURNS double precision    -- by the kind of the state
    AS 'MODULE_PATHNAME', 'fastclust_score_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;
--@end
--@each @name@ @agg@ @final@ @words@ = lloyd lloyd_step_agg lloyd_final one~step~of~Lloyd''s~algorithm:~assigns~every~row~and~returns~the~means~of~the~clusters; sse sse_agg score_final the~sum~of~squared~distances~of~the~rows~to~their~nearest~centroids; silhouette simplified_silhouette_agg score_final mean~of~(b~-~a)~/~max(a,~b),~a~and~b~the~distances~to~the~two~nearest~centroids; davies_bouldin davies_bouldin_agg score_final Davies-Bouldin~index:~lower~is~better~separated
CREATE FUNCTION fastclust_internal.@name@_accum(aggregate_state, fastop, row_vector) RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_@name@_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE FUNCTION fastclust_internal.@name@_accum(internal, fastop, "any") RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_@name@_accum_kept' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE AGGREGATE @agg@(op fastop, x row_vector) (SFUNC = @name@_accum, STYPE = aggregate_state, SSPACE = 65536,
    COMBINEFUNC = state_combine, FINALFUNC = @final@, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE @agg@(fastop, row_vector) IS '@words@';
CREATE AGGREGATE @agg@(op fastop, x "any") (SFUNC = @name@_accum, STYPE = internal, SSPACE = 65536, COMBINEFUNC = step_combine, FINALFUNC = @final@,
    FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE, SERIALFUNC = state_serialize, DESERIALFUNC = state_deserialize);
COMMENT ON AGGREGATE @agg@(fastop, "any") IS '@words@';
--@end
CREATE FUNCTION fastclust_internal.lloyd_accum(aggregate_state, fastop, "any") RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_lloyd_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
--@each @vector@ @state@ @kept@ @combine@ @serial@ = row_vector aggregate_state fastclust_lloyd_accum state_combine PARALLEL=SAFE; "any" internal fastclust_lloyd_accum_kept step_combine PARALLEL=SAFE,SERIALFUNC=state_serialize,DESERIALFUNC=state_deserialize
CREATE FUNCTION fastclust_internal.lloyd_accum(@state@, fastop, @vector@, double precision) RETURNS @state@
    AS 'MODULE_PATHNAME', '@kept@' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE AGGREGATE lloyd_step_agg(op fastop, x @vector@, weight double precision) (SFUNC = lloyd_accum, STYPE = @state@, SSPACE = 65536,
    COMBINEFUNC = @combine@, FINALFUNC = lloyd_final, FINALFUNC_MODIFY = READ_ONLY, @serial@);
COMMENT ON AGGREGATE lloyd_step_agg(fastop, @vector@, double precision) IS 'one step of Lloyd''s algorithm over weighted rows';
--@end
CREATE AGGREGATE fastclust_internal.lloyd_sums_agg(op fastop, x "any") (SFUNC = lloyd_accum, STYPE = aggregate_state, SSPACE = 65536,
    COMBINEFUNC = state_combine, PARALLEL = SAFE);
-- Sums that no value holds: in one process.
CREATE FUNCTION fastclust_internal.lloyd_large_accum(internal, fastop, "any") RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_lloyd_large_accum' LANGUAGE C IMMUTABLE COST 300;
CREATE AGGREGATE fastclust_internal.lloyd_large_agg(op fastop, x "any") (SFUNC = lloyd_large_accum, STYPE = internal, SSPACE = 1073741824,
    FINALFUNC = lloyd_final, FINALFUNC_MODIFY = READ_ONLY);

CREATE FUNCTION fastclust_internal.contingency_accum(aggregate_state, integer, integer) RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_contingency_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.adjusted_rand_final(aggregate_state) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_adjusted_rand_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE AGGREGATE adjusted_rand_agg(a integer, b integer) (SFUNC = contingency_accum, STYPE = aggregate_state, SSPACE = 2048,
    COMBINEFUNC = state_combine, FINALFUNC = adjusted_rand_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE adjusted_rand_agg(integer, integer) IS 'adjusted Rand index of two labellings: 1 the same, about 0 unrelated';
CREATE FUNCTION fastclust_internal.normalized_mutual_information_final(aggregate_state) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_normalized_mutual_information_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE AGGREGATE normalized_mutual_information_agg(a integer, b integer) (SFUNC = contingency_accum, STYPE = aggregate_state, SSPACE = 2048,
    COMBINEFUNC = state_combine, FINALFUNC = normalized_mutual_information_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE normalized_mutual_information_agg(integer, integer) IS 'normalised mutual information of two labellings, between 0 and 1';
