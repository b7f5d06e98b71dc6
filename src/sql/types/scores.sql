
-- Lloyd steps and scores

CREATE TYPE fastclust.lloyd_step AS (next fastop, n bigint, sse double precision, counts bigint[]);
COMMENT ON TYPE lloyd_step IS 'result of one step of Lloyd''s algorithm';
COMMENT ON COLUMN lloyd_step.next IS 'operator whose centroids are the means of the clusters';
COMMENT ON COLUMN lloyd_step.n IS 'number of rows';
COMMENT ON COLUMN lloyd_step.sse IS 'sum of squared distances of the rows to the old centroids';
COMMENT ON COLUMN lloyd_step.counts IS 'number of rows in each cluster';
-- Each aggregate is declared twice, like sketch_agg: for row_vector, so that Citus can run it on
-- shards, and for "any", with an internal state.
CREATE FUNCTION fastclust_internal.step_combine(internal, internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_step_combine_kept' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE FUNCTION fastclust_internal.lloyd_final(aggregate_state) RETURNS lloyd_step
    AS 'MODULE_PATHNAME', 'fastclust_lloyd_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;
-- Returns the score of the rows in a state: the SSE, the simplified silhouette or the
-- Davies-Bouldin index. The state records which of these scores it is for.
CREATE FUNCTION fastclust_internal.score_final(aggregate_state) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_score_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.lloyd_final(internal) RETURNS lloyd_step
    AS 'MODULE_PATHNAME', 'fastclust_lloyd_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.score_final(internal) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_score_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.lloyd_accum(aggregate_state, fastop, row_vector)
    RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_lloyd_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE FUNCTION fastclust_internal.lloyd_accum(internal, fastop, "any") RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_lloyd_accum_kept' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE AGGREGATE fastclust.lloyd_step_agg(op fastop, x row_vector) (
    SFUNC = lloyd_accum, STYPE = aggregate_state, SSPACE = 65536, COMBINEFUNC = state_combine,
    FINALFUNC = lloyd_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE lloyd_step_agg(fastop, row_vector) IS
    'Performs one step of Lloyd''s algorithm: assigns every row and returns the means of the '
    'clusters. NULL without rows.';
CREATE AGGREGATE fastclust.lloyd_step_agg(op fastop, x "any") (
    SFUNC = lloyd_accum, STYPE = internal, SSPACE = 65536, COMBINEFUNC = step_combine,
    FINALFUNC = lloyd_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE,
    SERIALFUNC = state_serialize, DESERIALFUNC = state_deserialize);
COMMENT ON AGGREGATE lloyd_step_agg(fastop, "any") IS
    'Performs one step of Lloyd''s algorithm: assigns every row and returns the means of the '
    'clusters. NULL without rows.';
CREATE FUNCTION fastclust_internal.sse_accum(aggregate_state, fastop, row_vector)
    RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_sse_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE FUNCTION fastclust_internal.sse_accum(internal, fastop, "any") RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_sse_accum_kept' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE AGGREGATE fastclust.sse_agg(op fastop, x row_vector) (
    SFUNC = sse_accum, STYPE = aggregate_state, SSPACE = 65536, COMBINEFUNC = state_combine,
    FINALFUNC = score_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE sse_agg(fastop, row_vector) IS
    'Returns the sum of squared distances of the rows to their nearest centroids. NULL without '
    'rows.';
CREATE AGGREGATE fastclust.sse_agg(op fastop, x "any") (
    SFUNC = sse_accum, STYPE = internal, SSPACE = 65536, COMBINEFUNC = step_combine,
    FINALFUNC = score_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE,
    SERIALFUNC = state_serialize, DESERIALFUNC = state_deserialize);
COMMENT ON AGGREGATE sse_agg(fastop, "any") IS
    'Returns the sum of squared distances of the rows to their nearest centroids. NULL without '
    'rows.';
CREATE FUNCTION fastclust_internal.silhouette_accum(aggregate_state, fastop, row_vector)
    RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_silhouette_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE FUNCTION fastclust_internal.silhouette_accum(internal, fastop, "any") RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_silhouette_accum_kept' LANGUAGE C IMMUTABLE PARALLEL SAFE
    COST 300;
CREATE AGGREGATE fastclust.simplified_silhouette_agg(op fastop, x row_vector) (
    SFUNC = silhouette_accum, STYPE = aggregate_state, SSPACE = 65536, COMBINEFUNC = state_combine,
    FINALFUNC = score_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE simplified_silhouette_agg(fastop, row_vector) IS
    'Returns the mean of (b - a) / max(a, b), where a and b are a row''s distances to the two '
    'nearest centroids. NULL without rows.';
CREATE AGGREGATE fastclust.simplified_silhouette_agg(op fastop, x "any") (
    SFUNC = silhouette_accum, STYPE = internal, SSPACE = 65536, COMBINEFUNC = step_combine,
    FINALFUNC = score_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE,
    SERIALFUNC = state_serialize, DESERIALFUNC = state_deserialize);
COMMENT ON AGGREGATE simplified_silhouette_agg(fastop, "any") IS
    'Returns the mean of (b - a) / max(a, b), where a and b are a row''s distances to the two '
    'nearest centroids. NULL without rows.';
CREATE FUNCTION fastclust_internal.davies_bouldin_accum(aggregate_state, fastop, row_vector)
    RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_davies_bouldin_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE
    COST 300;
CREATE FUNCTION fastclust_internal.davies_bouldin_accum(internal, fastop, "any") RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_davies_bouldin_accum_kept' LANGUAGE C IMMUTABLE PARALLEL SAFE
    COST 300;
CREATE AGGREGATE fastclust.davies_bouldin_agg(op fastop, x row_vector) (
    SFUNC = davies_bouldin_accum, STYPE = aggregate_state, SSPACE = 65536,
    COMBINEFUNC = state_combine, FINALFUNC = score_final, FINALFUNC_MODIFY = READ_ONLY,
    PARALLEL = SAFE);
COMMENT ON AGGREGATE davies_bouldin_agg(fastop, row_vector) IS
    'Returns the Davies-Bouldin index: lower values mean better separated clusters. NULL without '
    'rows.';
CREATE AGGREGATE fastclust.davies_bouldin_agg(op fastop, x "any") (
    SFUNC = davies_bouldin_accum, STYPE = internal, SSPACE = 65536, COMBINEFUNC = step_combine,
    FINALFUNC = score_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE,
    SERIALFUNC = state_serialize, DESERIALFUNC = state_deserialize);
COMMENT ON AGGREGATE davies_bouldin_agg(fastop, "any") IS
    'Returns the Davies-Bouldin index: lower values mean better separated clusters. NULL without '
    'rows.';
CREATE FUNCTION fastclust_internal.lloyd_accum(aggregate_state, fastop, "any")
    RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_lloyd_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE FUNCTION fastclust_internal.lloyd_accum(aggregate_state, fastop, row_vector,
        double precision)
    RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_lloyd_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE AGGREGATE fastclust.lloyd_step_agg(op fastop, x row_vector, weight double precision) (
    SFUNC = lloyd_accum, STYPE = aggregate_state, SSPACE = 65536, COMBINEFUNC = state_combine,
    FINALFUNC = lloyd_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE lloyd_step_agg(fastop, row_vector, double precision) IS
    'Performs one step of Lloyd''s algorithm over weighted rows. NULL without rows.';
CREATE FUNCTION fastclust_internal.lloyd_accum(internal, fastop, "any", double precision)
    RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_lloyd_accum_kept' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE AGGREGATE fastclust.lloyd_step_agg(op fastop, x "any", weight double precision) (
    SFUNC = lloyd_accum, STYPE = internal, SSPACE = 65536, COMBINEFUNC = step_combine,
    FINALFUNC = lloyd_final, FINALFUNC_MODIFY = READ_ONLY, SERIALFUNC = state_serialize,
    DESERIALFUNC = state_deserialize, PARALLEL = SAFE);
COMMENT ON AGGREGATE lloyd_step_agg(fastop, "any", double precision) IS
    'Performs one step of Lloyd''s algorithm over weighted rows. NULL without rows.';
CREATE AGGREGATE fastclust_internal.lloyd_sums_agg(op fastop, x "any") (
    SFUNC = lloyd_accum, STYPE = aggregate_state, SSPACE = 65536, COMBINEFUNC = state_combine,
    PARALLEL = SAFE);
CREATE FUNCTION fastclust_internal.lloyd_accum(aggregate_state, fastop, "any", double precision)
    RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_lloyd_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE AGGREGATE fastclust_internal.lloyd_sums_agg(op fastop, x "any", weight double precision) (
    SFUNC = lloyd_accum, STYPE = aggregate_state, SSPACE = 65536, COMBINEFUNC = state_combine,
    PARALLEL = SAFE);
-- Computes Lloyd's sums in a single process, for sums that are too large for a value of type
-- aggregate_state.
CREATE FUNCTION fastclust_internal.lloyd_large_accum(internal, fastop, "any", double precision)
    RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_lloyd_large_accum' LANGUAGE C IMMUTABLE COST 300;
CREATE AGGREGATE fastclust_internal.lloyd_large_agg(op fastop, x "any", weight double precision) (
    SFUNC = lloyd_large_accum, STYPE = internal, SSPACE = 1073741824, FINALFUNC = lloyd_final,
    FINALFUNC_MODIFY = READ_ONLY);

CREATE FUNCTION fastclust_internal.contingency_accum(internal, "any", "any") RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_contingency_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.contingency_combine(internal, internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_contingency_combine' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.adjusted_rand_final(internal) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_adjusted_rand_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE AGGREGATE fastclust.adjusted_rand_agg(a "any", b "any") (
    SFUNC = contingency_accum, STYPE = internal, SSPACE = 2048, COMBINEFUNC = contingency_combine,
    FINALFUNC = adjusted_rand_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE,
    SERIALFUNC = state_serialize, DESERIALFUNC = state_deserialize);
COMMENT ON AGGREGATE adjusted_rand_agg("any", "any") IS
    'Returns the adjusted Rand index of two labellings: 1 if they agree, about 0 if they are '
    'unrelated.';
CREATE FUNCTION fastclust_internal.normalized_mutual_information_final(internal)
    RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_normalized_mutual_information_final' LANGUAGE C IMMUTABLE
    PARALLEL SAFE;
CREATE AGGREGATE fastclust.normalized_mutual_information_agg(a "any", b "any") (
    SFUNC = contingency_accum, STYPE = internal, SSPACE = 2048, COMBINEFUNC = contingency_combine,
    FINALFUNC = normalized_mutual_information_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE,
    SERIALFUNC = state_serialize, DESERIALFUNC = state_deserialize);
COMMENT ON AGGREGATE normalized_mutual_information_agg("any", "any") IS
    'Returns the normalised mutual information of two labellings, between 0 and 1.';
