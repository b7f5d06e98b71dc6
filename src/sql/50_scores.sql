
-- steps and scores

CREATE TYPE lloyd_step AS (next fastop, n bigint, sse double precision, counts bigint[]);
COMMENT ON TYPE lloyd_step IS 'one step of Lloyd: the next operator, rows, their SSE to the old one, rows per cluster';
CREATE FUNCTION step_combine(aggregate_state, aggregate_state) RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_step_combine' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;

CREATE FUNCTION lloyd_final(aggregate_state) RETURNS lloyd_step
    AS 'MODULE_PATHNAME', 'fastclust_lloyd_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION sse_final(aggregate_state) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_sse_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION silhouette_final(aggregate_state) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_silhouette_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION davies_bouldin_final(aggregate_state) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_davies_bouldin_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION lloyd_accum(aggregate_state, fastop, real[]) RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_lloyd_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE AGGREGATE lloyd_step_agg(op fastop, x real[]) (SFUNC = lloyd_accum, STYPE = aggregate_state, SSPACE = 65536,
    COMBINEFUNC = step_combine, FINALFUNC = lloyd_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE lloyd_step_agg(fastop, real[]) IS 'one step of Lloyd over the rows';
CREATE FUNCTION lloyd_accum(aggregate_state, fastop, real[], double precision) RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_lloyd_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE AGGREGATE lloyd_step_agg(op fastop, x real[], weight double precision) (SFUNC = lloyd_accum, STYPE = aggregate_state, SSPACE = 65536,
    COMBINEFUNC = step_combine, FINALFUNC = lloyd_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE lloyd_step_agg(fastop, real[], double precision) IS 'one step of Lloyd over weighted rows';
CREATE FUNCTION sse_accum(aggregate_state, fastop, real[]) RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_sse_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE AGGREGATE sse_agg(op fastop, x real[]) (SFUNC = sse_accum, STYPE = aggregate_state, SSPACE = 65536,
    COMBINEFUNC = step_combine, FINALFUNC = sse_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE sse_agg(fastop, real[]) IS 'sum of squared distances to the nearest centroids';
CREATE FUNCTION silhouette_accum(aggregate_state, fastop, real[]) RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_silhouette_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE AGGREGATE simplified_silhouette_agg(op fastop, x real[]) (SFUNC = silhouette_accum, STYPE = aggregate_state, SSPACE = 65536,
    COMBINEFUNC = step_combine, FINALFUNC = silhouette_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE simplified_silhouette_agg(fastop, real[]) IS 'mean of (b - a) / max(a, b), a and b the distances to the two nearest centroids';
CREATE FUNCTION davies_bouldin_accum(aggregate_state, fastop, real[]) RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_davies_bouldin_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE AGGREGATE davies_bouldin_agg(op fastop, x real[]) (SFUNC = davies_bouldin_accum, STYPE = aggregate_state, SSPACE = 65536,
    COMBINEFUNC = step_combine, FINALFUNC = davies_bouldin_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE davies_bouldin_agg(fastop, real[]) IS 'Davies-Bouldin index: lower is better separated';
CREATE FUNCTION lloyd_accum(aggregate_state, fastop, double precision[]) RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_lloyd_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE AGGREGATE lloyd_step_agg(op fastop, x double precision[]) (SFUNC = lloyd_accum, STYPE = aggregate_state, SSPACE = 65536,
    COMBINEFUNC = step_combine, FINALFUNC = lloyd_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE lloyd_step_agg(fastop, double precision[]) IS 'one step of Lloyd over the rows';
CREATE FUNCTION lloyd_accum(aggregate_state, fastop, double precision[], double precision) RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_lloyd_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE AGGREGATE lloyd_step_agg(op fastop, x double precision[], weight double precision) (SFUNC = lloyd_accum, STYPE = aggregate_state, SSPACE = 65536,
    COMBINEFUNC = step_combine, FINALFUNC = lloyd_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE lloyd_step_agg(fastop, double precision[], double precision) IS 'one step of Lloyd over weighted rows';
CREATE FUNCTION sse_accum(aggregate_state, fastop, double precision[]) RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_sse_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE AGGREGATE sse_agg(op fastop, x double precision[]) (SFUNC = sse_accum, STYPE = aggregate_state, SSPACE = 65536,
    COMBINEFUNC = step_combine, FINALFUNC = sse_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE sse_agg(fastop, double precision[]) IS 'sum of squared distances to the nearest centroids';
CREATE FUNCTION silhouette_accum(aggregate_state, fastop, double precision[]) RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_silhouette_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE AGGREGATE simplified_silhouette_agg(op fastop, x double precision[]) (SFUNC = silhouette_accum, STYPE = aggregate_state, SSPACE = 65536,
    COMBINEFUNC = step_combine, FINALFUNC = silhouette_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE simplified_silhouette_agg(fastop, double precision[]) IS 'mean of (b - a) / max(a, b), a and b the distances to the two nearest centroids';
CREATE FUNCTION davies_bouldin_accum(aggregate_state, fastop, double precision[]) RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_davies_bouldin_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE AGGREGATE davies_bouldin_agg(op fastop, x double precision[]) (SFUNC = davies_bouldin_accum, STYPE = aggregate_state, SSPACE = 65536,
    COMBINEFUNC = step_combine, FINALFUNC = davies_bouldin_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE davies_bouldin_agg(fastop, double precision[]) IS 'Davies-Bouldin index: lower is better separated';
CREATE FUNCTION lloyd_accum(aggregate_state, fastop, integer[]) RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_lloyd_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE AGGREGATE lloyd_step_agg(op fastop, x integer[]) (SFUNC = lloyd_accum, STYPE = aggregate_state, SSPACE = 65536,
    COMBINEFUNC = step_combine, FINALFUNC = lloyd_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE lloyd_step_agg(fastop, integer[]) IS 'one step of Lloyd over the rows';
CREATE FUNCTION lloyd_accum(aggregate_state, fastop, integer[], double precision) RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_lloyd_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE AGGREGATE lloyd_step_agg(op fastop, x integer[], weight double precision) (SFUNC = lloyd_accum, STYPE = aggregate_state, SSPACE = 65536,
    COMBINEFUNC = step_combine, FINALFUNC = lloyd_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE lloyd_step_agg(fastop, integer[], double precision) IS 'one step of Lloyd over weighted rows';
CREATE FUNCTION sse_accum(aggregate_state, fastop, integer[]) RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_sse_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE AGGREGATE sse_agg(op fastop, x integer[]) (SFUNC = sse_accum, STYPE = aggregate_state, SSPACE = 65536,
    COMBINEFUNC = step_combine, FINALFUNC = sse_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE sse_agg(fastop, integer[]) IS 'sum of squared distances to the nearest centroids';
CREATE FUNCTION silhouette_accum(aggregate_state, fastop, integer[]) RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_silhouette_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE AGGREGATE simplified_silhouette_agg(op fastop, x integer[]) (SFUNC = silhouette_accum, STYPE = aggregate_state, SSPACE = 65536,
    COMBINEFUNC = step_combine, FINALFUNC = silhouette_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE simplified_silhouette_agg(fastop, integer[]) IS 'mean of (b - a) / max(a, b), a and b the distances to the two nearest centroids';
CREATE FUNCTION davies_bouldin_accum(aggregate_state, fastop, integer[]) RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_davies_bouldin_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE AGGREGATE davies_bouldin_agg(op fastop, x integer[]) (SFUNC = davies_bouldin_accum, STYPE = aggregate_state, SSPACE = 65536,
    COMBINEFUNC = step_combine, FINALFUNC = davies_bouldin_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE davies_bouldin_agg(fastop, integer[]) IS 'Davies-Bouldin index: lower is better separated';
CREATE FUNCTION lloyd_accum(aggregate_state, fastop, numeric[]) RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_lloyd_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE AGGREGATE lloyd_step_agg(op fastop, x numeric[]) (SFUNC = lloyd_accum, STYPE = aggregate_state, SSPACE = 65536,
    COMBINEFUNC = step_combine, FINALFUNC = lloyd_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE lloyd_step_agg(fastop, numeric[]) IS 'one step of Lloyd over the rows';
CREATE FUNCTION lloyd_accum(aggregate_state, fastop, numeric[], double precision) RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_lloyd_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE AGGREGATE lloyd_step_agg(op fastop, x numeric[], weight double precision) (SFUNC = lloyd_accum, STYPE = aggregate_state, SSPACE = 65536,
    COMBINEFUNC = step_combine, FINALFUNC = lloyd_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE lloyd_step_agg(fastop, numeric[], double precision) IS 'one step of Lloyd over weighted rows';
CREATE FUNCTION sse_accum(aggregate_state, fastop, numeric[]) RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_sse_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE AGGREGATE sse_agg(op fastop, x numeric[]) (SFUNC = sse_accum, STYPE = aggregate_state, SSPACE = 65536,
    COMBINEFUNC = step_combine, FINALFUNC = sse_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE sse_agg(fastop, numeric[]) IS 'sum of squared distances to the nearest centroids';
CREATE FUNCTION silhouette_accum(aggregate_state, fastop, numeric[]) RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_silhouette_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE AGGREGATE simplified_silhouette_agg(op fastop, x numeric[]) (SFUNC = silhouette_accum, STYPE = aggregate_state, SSPACE = 65536,
    COMBINEFUNC = step_combine, FINALFUNC = silhouette_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE simplified_silhouette_agg(fastop, numeric[]) IS 'mean of (b - a) / max(a, b), a and b the distances to the two nearest centroids';
CREATE FUNCTION davies_bouldin_accum(aggregate_state, fastop, numeric[]) RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_davies_bouldin_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 300;
CREATE AGGREGATE davies_bouldin_agg(op fastop, x numeric[]) (SFUNC = davies_bouldin_accum, STYPE = aggregate_state, SSPACE = 65536,
    COMBINEFUNC = step_combine, FINALFUNC = davies_bouldin_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE davies_bouldin_agg(fastop, numeric[]) IS 'Davies-Bouldin index: lower is better separated';

CREATE FUNCTION contingency_accum(aggregate_state, integer, integer) RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_contingency_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION contingency_combine(aggregate_state, aggregate_state) RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_contingency_combine' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION adjusted_rand_final(aggregate_state) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_adjusted_rand_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE AGGREGATE adjusted_rand_agg(a integer, b integer) (SFUNC = contingency_accum, STYPE = aggregate_state, SSPACE = 2048,
    COMBINEFUNC = contingency_combine, FINALFUNC = adjusted_rand_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE adjusted_rand_agg(integer, integer) IS 'adjusted Rand index of two labellings: 1 the same, about 0 unrelated';
CREATE FUNCTION normalized_mutual_information_final(aggregate_state) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_normalized_mutual_information_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE AGGREGATE normalized_mutual_information_agg(a integer, b integer) (SFUNC = contingency_accum, STYPE = aggregate_state, SSPACE = 2048,
    COMBINEFUNC = contingency_combine, FINALFUNC = normalized_mutual_information_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
COMMENT ON AGGREGATE normalized_mutual_information_agg(integer, integer) IS 'normalised mutual information of two labellings, between 0 and 1';
