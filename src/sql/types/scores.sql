
-- steps and scores

CREATE TYPE fastclust.lloyd_step AS (next fastop, n bigint, sse double precision, counts bigint[]);
COMMENT ON TYPE lloyd_step IS 'the result of one step of Lloyd''s algorithm';
COMMENT ON COLUMN lloyd_step.next IS 'the operator with the means of the clusters as centroids';
COMMENT ON COLUMN lloyd_step.n IS 'the number of rows';
COMMENT ON COLUMN lloyd_step.sse IS 'the sum of squared distances of the rows to the old centroids';
COMMENT ON COLUMN lloyd_step.counts IS 'the number of rows of each cluster';
-- As sketch_agg: row_vector for Citus, an internal state for other types.
CREATE FUNCTION fastclust_internal.step_combine(internal, internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_step_combine_kept' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE FUNCTION fastclust_internal.lloyd_final(aggregate_state) RETURNS lloyd_step
    AS 'MODULE_PATHNAME', 'fastclust_lloyd_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;
-- by the kind of the state
CREATE FUNCTION fastclust_internal.score_final(aggregate_state) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_score_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.lloyd_final(internal) RETURNS lloyd_step
    AS 'MODULE_PATHNAME', 'fastclust_lloyd_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;
-- by the kind of the state
CREATE FUNCTION fastclust_internal.score_final(internal) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_score_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;
-- Each aggregate for both kinds of vectors; "lloyd" has lloyd_accum and lloyd_final.
DO $$
DECLARE
    made record;
BEGIN
    FOR made IN
        SELECT *
          FROM (VALUES ('lloyd_step_agg', '', 'lloyd', 'lloyd_final',
                        'one step of Lloyd''s algorithm: assigns every row and returns the means of the clusters'),
                       ('lloyd_step_agg', ', weight double precision', 'lloyd', 'lloyd_final',
                        'one step of Lloyd''s algorithm over weighted rows'),
                       ('sse_agg', '', 'sse', 'score_final',
                        'the sum of squared distances of the rows to their nearest centroids'),
                       ('simplified_silhouette_agg', '', 'silhouette', 'score_final',
                        'mean of (b - a) / max(a, b), a and b the distances to the two nearest centroids'),
                       ('davies_bouldin_agg', '', 'davies_bouldin', 'score_final',
                        'Davies-Bouldin index: lower is better separated'))
                   a(name, weight, accum, final, comment),
               (VALUES ('row_vector', 'aggregate_state', '', 'COMBINEFUNC = state_combine'),
                       ('"any"', 'internal', '_kept',
                        'COMBINEFUNC = step_combine, SERIALFUNC = state_serialize,'
                        ' DESERIALFUNC = state_deserialize'))
                   v(vector, state, kept, workers)
    LOOP
        EXECUTE pg_catalog.format(
                    $sql$
CREATE FUNCTION fastclust_internal.%1$s_accum(state %2$s, op fastop, x %3$s) RETURNS %2$s
    AS 'MODULE_PATHNAME', 'fastclust_%1$s_accum%4$s' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE AGGREGATE fastclust.%5$s(op fastop, x %3$s) (
    SFUNC = %1$s_accum, STYPE = %2$s, SSPACE = 65536, FINALFUNC = %6$s,
    FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE, %7$s);
COMMENT ON AGGREGATE %5$s(op fastop, x %3$s) IS %8$L;
$sql$,
                    made.accum, made.state, made.vector || made.weight, made.kept, made.name,
                    made.final, made.workers, made.comment);
    END LOOP;
END
$$;
CREATE FUNCTION fastclust_internal.lloyd_accum(aggregate_state, fastop, "any")
    RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_lloyd_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE AGGREGATE fastclust_internal.lloyd_sums_agg(op fastop, x "any") (
    SFUNC = lloyd_accum, STYPE = aggregate_state, SSPACE = 65536, COMBINEFUNC = state_combine,
    PARALLEL = SAFE);
-- Sums that no value holds: in one process.
CREATE FUNCTION fastclust_internal.lloyd_large_accum(internal, fastop, "any") RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_lloyd_large_accum' LANGUAGE C IMMUTABLE COST 300;
CREATE AGGREGATE fastclust_internal.lloyd_large_agg(op fastop, x "any") (
    SFUNC = lloyd_large_accum, STYPE = internal, SSPACE = 1073741824, FINALFUNC = lloyd_final,
    FINALFUNC_MODIFY = READ_ONLY);

CREATE FUNCTION fastclust_internal.contingency_accum(aggregate_state, integer, integer)
    RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_contingency_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.adjusted_rand_final(aggregate_state) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_adjusted_rand_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE AGGREGATE fastclust.adjusted_rand_agg(a integer, b integer) (
    SFUNC = contingency_accum, STYPE = aggregate_state, SSPACE = 2048, COMBINEFUNC = state_combine,
    FINALFUNC = adjusted_rand_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE adjusted_rand_agg(integer, integer) IS
    'adjusted Rand index of two labellings: 1 the same, about 0 unrelated';
CREATE FUNCTION fastclust_internal.normalized_mutual_information_final(aggregate_state)
    RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_normalized_mutual_information_final' LANGUAGE C IMMUTABLE
    PARALLEL SAFE;
CREATE AGGREGATE fastclust.normalized_mutual_information_agg(a integer, b integer) (
    SFUNC = contingency_accum, STYPE = aggregate_state, SSPACE = 2048, COMBINEFUNC = state_combine,
    FINALFUNC = normalized_mutual_information_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE normalized_mutual_information_agg(integer, integer) IS
    'normalised mutual information of two labellings, between 0 and 1';
