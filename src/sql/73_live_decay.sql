
-- live sketches of lately: buckets of time, weighed when they are read by 2^(-age / half-life)
--
-- Buckets stay sums of integers, whatever their age: rows of any time come, change and go exactly, and no weight ever overflows.  The newest
-- bucket weighs 1, which is forward decay with its landmark moved along.

CREATE FUNCTION fastclust_internal.weighted_merge(sketch, sketch, double precision) RETURNS sketch
    AS 'MODULE_PATHNAME', 'fastclust_weighted_merge' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;
CREATE AGGREGATE fastclust_internal.weighted_merge_agg(part sketch, weight double precision) (SFUNC = weighted_merge, STYPE = sketch, SSPACE = 16384,
    FINALFUNC = sketch_final, FINALFUNC_MODIFY = READ_ONLY);

-- Buckets of times to come are left out, but for a day in which clocks may differ.
-- Counts have no weights: they are those of the rows of two half-lives, as many as the weighted rows are worth, nearly.
CREATE FUNCTION fastclust_internal.decayed_parts(name text, half_life interval, one_group text, one_bucket timestamptz, by_group boolean,
        OUT group_value text, OUT s sketch, OUT counts drift_counts)
    RETURNS SETOF record
    LANGUAGE plpgsql STABLE ROWS 100 SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    live kept_sketches := readable_live(name);
    origin CONSTANT timestamptz := '2000-01-01 00:00+00';   -- from it all times are a bigint of microseconds: the ends of the calendar are farther apart
BEGIN
    IF live.bucket IS NULL THEN
        RAISE wrong_object_type USING MESSAGE = format('live sketch "%s" has no buckets', name),
            HINT = 'keep_sketch with the option bucket makes one that has.';
    ELSIF (half_life > '0' AND half_life <= '100000000 days') IS NOT TRUE THEN
        RAISE invalid_parameter_value USING MESSAGE = format('half_life is %s, out of range', COALESCE(half_life::text, 'NULL')),
            DETAIL = 'It is above 0 and at most 100000000 days.';
    END IF;
    RETURN QUERY
        SELECT q.part, weighted_merge_agg(q.s, CASE WHEN h.half_lives <= 40 THEN power(2.0::float8, -h.half_lives) ELSE 0 END),     -- else less than the least weight
               merge_drift_counts_agg(q.counts) FILTER (WHERE a.age <= 2 * half_life)
          FROM (SELECT g.part, p.bucket, p.s, p.counts, max(p.bucket) OVER (PARTITION BY g.part) AS newest
                  FROM checked_parts(decayed_parts.name) p, LATERAL (SELECT CASE WHEN by_group AND live.group_by IS NOT NULL THEN p.group_value END) g(part)
                 WHERE (one_group IS NULL OR p.group_value = one_group) AND (one_bucket IS NULL OR p.bucket = one_bucket)
                   AND isfinite(p.bucket) AND p.bucket <= now() + interval '1 day') q,
               LATERAL (SELECT justify_hours((q.newest - origin) + (origin - q.bucket)) AS age) a,
               LATERAL (SELECT extract(epoch FROM a.age)::float8 / extract(epoch FROM half_life)::float8 AS half_lives) h
         GROUP BY q.part;
END
$$;

-- The rows of now by groups, or with a half-life those of lately, the newest bucket of each weighing 1.  One row without groups, none without rows.
CREATE FUNCTION fastclust_internal.model_groups(name text, OUT group_value text, OUT s sketch, OUT counts drift_counts) RETURNS SETOF record
    LANGUAGE fastclust_owner STABLE ROWS 100 SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    live kept_sketches := readable_live(name);
BEGIN
    IF live.half_life IS NOT NULL THEN
        RETURN QUERY SELECT d.* FROM decayed_parts(name, live.half_life, NULL, NULL, true) d ORDER BY d.group_value COLLATE "C";
    ELSE
        RETURN QUERY SELECT g.part, merge_agg(p.s), merge_drift_counts_agg(p.counts)
                       FROM checked_parts($1) p, LATERAL (SELECT CASE WHEN live.group_by IS NOT NULL THEN p.group_value END) g(part)
                      GROUP BY 1 ORDER BY g.part COLLATE "C";
    END IF;
END
$$;
