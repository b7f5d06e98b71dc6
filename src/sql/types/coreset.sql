
-- internal: weighted samples of rows, kept as operators whose centroids are the rows

CREATE FUNCTION fastclust_internal.coreset_combine(aggregate_state, aggregate_state) RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_coreset_combine' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE FUNCTION fastclust_internal.coreset_final(aggregate_state) RETURNS fastop
    AS 'MODULE_PATHNAME', 'fastclust_coreset_final' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.coreset_packed(aggregate_state) RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_coreset_packed' LANGUAGE C IMMUTABLE PARALLEL SAFE;
--@each @vector@ = row_vector; "any"
CREATE FUNCTION fastclust_internal.coreset_accum(aggregate_state, @vector@, bigint, integer, double precision[], double precision, bigint, double precision, boolean)
    RETURNS aggregate_state
    AS 'MODULE_PATHNAME', 'fastclust_coreset_accum' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
-- NULL for key: equal rows are told apart by the order in which they come.  NULL for variance: a uniform sample.
-- Of a part of the rows, to be merged.  NULL for rank_limit: none; for cosine: false.  No argument has a collation: postgres_fdw would not send the call
-- with a constant for it.
CREATE AGGREGATE fastclust_internal.coreset_state_agg(x @vector@, key bigint, size integer, center double precision[], variance double precision, seed bigint,
        rank_limit double precision, cosine boolean) (
    SFUNC = coreset_accum, STYPE = aggregate_state, SSPACE = 4096, COMBINEFUNC = coreset_combine,
    FINALFUNC = coreset_packed, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);
--@end
CREATE AGGREGATE fastclust_internal.merge_coreset_agg(aggregate_state) (SFUNC = coreset_combine, STYPE = aggregate_state, SSPACE = 4096,
    COMBINEFUNC = coreset_combine, FINALFUNC = coreset_final, FINALFUNC_MODIFY = READ_ONLY, PARALLEL = SAFE);

-- The rank_limit below which such a share of rows like the centroids of op is expected.
CREATE FUNCTION fastclust_internal.rank_limit(op fastop, center double precision[], variance double precision, share double precision) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_rank_limit' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 10000;
CREATE FUNCTION fastclust_internal.centroid_moments(op fastop, OUT mean double precision[], OUT deviation double precision[])
    AS 'MODULE_PATHNAME', 'fastclust_centroid_moments' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
-- Centroids moved from one set of units to another; NULL for a center is 0, for a scale 1.
CREATE FUNCTION fastclust_internal.operator_in_units(op fastop, center double precision[], scale double precision[],
        new_center double precision[], new_scale double precision[]) RETURNS fastop
    AS 'MODULE_PATHNAME', 'fastclust_operator_in_units' LANGUAGE C IMMUTABLE PARALLEL SAFE;
-- How many centroids are different, counted up to `most`.
CREATE FUNCTION fastclust_internal.distinct_centroids(op fastop, most integer) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_distinct_centroids' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10000;
-- K-means of the centroids by their weights; from `initial` and, unless n_init is 0, from starts of its own.  The share `trimmed` of the weight
-- that is farthest is left out.
CREATE FUNCTION fastclust_internal.cluster_centroids(op fastop, k integer, options jsonb, initial fastop DEFAULT NULL,
        trimmed double precision DEFAULT 0) RETURNS fastop
    AS 'MODULE_PATHNAME', 'fastclust_cluster_centroids' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 1000000;
-- The initial centroids moved until none has more than so much of their weight, as far as that is possible.
CREATE FUNCTION fastclust_internal.even_centroids(op fastop, initial fastop, most double precision) RETURNS fastop
    AS 'MODULE_PATHNAME', 'fastclust_even_centroids' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000000;
CREATE FUNCTION fastclust_internal.fit_profile(op fastop, weighted_rows fastop, places double precision[],
        OUT objective double precision, OUT error double precision, OUT quantiles double precision[], OUT spreads double precision[])
    AS 'MODULE_PATHNAME', 'fastclust_fit_profile' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100000;
CREATE FUNCTION fastclust_internal.fit_comparison(a fastop, b fastop, weighted_rows fastop, trimmed double precision,
        OUT mean_a double precision, OUT mean_b double precision, OUT error double precision, OUT changed double precision)
    AS 'MODULE_PATHNAME', 'fastclust_fit_comparison' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100000;
CREATE FUNCTION fastclust_internal.step_gain(old fastop, next fastop) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_step_gain' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.label_change(a fastop, rows_for_a fastop, b fastop, rows_for_b fastop) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_label_change' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100000;
CREATE FUNCTION fastclust_internal.label_counts(a fastop, rows_for_a fastop, b fastop, rows_for_b fastop) RETURNS double precision[]
    AS 'MODULE_PATHNAME', 'fastclust_label_counts' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100000;
-- Rows drawn from the clusters of an operator, round normal clouds of these spreads, as a stand-in for rows that are not read.
CREATE FUNCTION fastclust_internal.drawn_rows(op fastop, spreads double precision[], count integer, seed bigint) RETURNS fastop
    AS 'MODULE_PATHNAME', 'fastclust_drawn_rows' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 100000;
