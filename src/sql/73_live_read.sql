
-- live sketches: the sketch of now

-- The sketches of now; an error where they are not those of the table.
CREATE FUNCTION fastclust_internal.checked_parts(name text) RETURNS SETOF live_part
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    live kept_sketches := readable_live(name);
    problem text := live_problem(live);
BEGIN
    IF problem IS NOT NULL THEN
        RAISE object_not_in_prerequisite_state USING MESSAGE = format('live sketch "%s" has lost its table', name),
            DETAIL = upper(left(problem, 1)) || substr(problem, 2) || '.', HINT = 'rebuild_sketch recounts it, drop_sketch ends it.';
    END IF;
    RETURN QUERY SELECT p.* FROM live_parts(live.id) p;
END
$$;

-- A group or a bucket that can have rows: what is none would look like one that has no rows now.
CREATE FUNCTION fastclust_internal.check_live_part(live kept_sketches, group_value text, bucket timestamptz) RETURNS void
    LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp
    SET timezone = 'UTC' SET datestyle = iso SET intervalstyle = postgres AS $$
DECLARE
    begins timestamptz := bucket_of_time(bucket, bucket_microseconds(live.bucket_width));
BEGIN
    IF group_value IS NOT NULL AND live.group_by IS NULL THEN
        RAISE wrong_object_type USING MESSAGE = format('live sketch "%s" has no groups', live.name);
    ELSIF bucket IS NOT NULL AND live.bucket IS NULL THEN
        RAISE wrong_object_type USING MESSAGE = format('live sketch "%s" has no buckets', live.name);
    ELSIF bucket <> begins THEN
        RAISE invalid_parameter_value USING MESSAGE = format('no bucket of live sketch "%s" begins at %s', live.name, bucket),
            DETAIL = format('The bucket of that time begins at %s and is %s long.', begins, live.bucket_width);
    END IF;
END
$$;

CREATE FUNCTION current_sketch(name text, group_value text DEFAULT NULL, bucket timestamptz DEFAULT NULL, half_life interval DEFAULT NULL) RETURNS sketch
    LANGUAGE fastclust_owner STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
BEGIN
    PERFORM check_live_part(readable_live(name), group_value, bucket);
    IF half_life IS NOT NULL THEN
        RETURN (SELECT d.s FROM decayed_parts($1, $4, $2, $3, false) d);
    END IF;
    RETURN (SELECT merge_agg(p.s) FROM checked_parts($1) p WHERE ($2 IS NULL OR p.group_value = $2) AND ($3 IS NULL OR p.bucket = $3));
END
$$;
COMMENT ON FUNCTION current_sketch(text, text, timestamptz, interval)
    IS 'the sketch of the present rows, of one group or all, of one bucket or all; with a half-life those of a bucket so much older than the newest weigh half; reads no row';

CREATE FUNCTION current_sketches(name text, OUT group_value text, OUT bucket timestamptz, OUT s sketch) RETURNS SETOF record
    LANGUAGE fastclust_owner STABLE ROWS 100 SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    live kept_sketches := readable_live(name);
BEGIN
    RETURN QUERY SELECT CASE WHEN live.group_by IS NOT NULL THEN p.group_value END, CASE WHEN live.bucket IS NOT NULL THEN p.bucket END, p.s
                   FROM checked_parts($1) p ORDER BY p.group_value COLLATE "C", p.bucket;
END
$$;
COMMENT ON FUNCTION current_sketches(text) IS 'the present sketches, one for each group and bucket';

-- Why a live sketch cannot be read; NULL: it can.
CREATE FUNCTION fastclust_internal.sketch_problem(name text) RETURNS text
    LANGUAGE fastclust_owner STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
BEGIN
    RETURN (SELECT live_problem(l) FROM kept_sketches l WHERE l.name = $1 AND may_read_live(l));
END
$$;
