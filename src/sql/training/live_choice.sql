
-- choose_k for a live sketch: compares numbers of clusters by their fit to the sketch, without
-- reading rows

-- Returns the cost of each number of clusters that is tried, and marks the elbow. The clusters are
-- decoded from a live sketch. stability is NULL, because a sketch cannot be split into two sets of
-- rows.
CREATE FUNCTION fastclust_internal.choose_k_live(relation regclass, features name[],
        vector boolean, max_k integer, options jsonb, OUT k integer, OUT cost double precision,
        OUT gain double precision, OUT stability double precision, OUT verdict text)
    RETURNS SETOF record
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    live kept_sketches := (SELECT l
                             FROM live_of_rows(
                                      relation, features, vector,
                                      jsonb_build_object(
                                          'where',
                                          (row_condition(
                                               relation, options ->> 'where')).condition)) l
                            LIMIT 1);
    other text := (SELECT min(o) FROM jsonb_object_keys(options) o
                    WHERE o <> ALL ('{live,seed,where}'));
    settings jsonb := jsonb_build_object(
                          'seed', COALESCE((options ->> 'seed')::numeric::bigint, 0));
    sample_spec sketch_spec;
    now sketch;
    max_tried integer;
    tried integer[] := '{}';
    costs float8[] := '{}';
    best integer;
BEGIN
    PERFORM check_execute(role_id(current_user), 'choose_k');
    IF other IS NOT NULL THEN
        RAISE feature_not_supported USING
            MESSAGE = format('option "%s" applies to rows, but a live sketch has no rows', other),
            HINT = 'Leave out option "live".';
    ELSIF live.id IS NULL THEN
        RAISE undefined_object USING
            MESSAGE = format('no live sketch counts %s of %s', array_to_string(features, ', '),
                             relation),
            HINT = 'Make a live sketch without groups by keep_sketch or the option live of train, or leave out option "live".';
    END IF;
    now := current_sketch(live.name);
    IF now IS NULL THEN
        RAISE no_data_found USING MESSAGE = format('live sketch "%s" has no rows', live.name);
    END IF;
    max_tried := least(max_k, row_count(now));
    -- spec with the sample rows of the training if the live sketch belongs to a model, else the
    -- spec of the live sketch
    sample_spec := COALESCE((SELECT v.spec
                         FROM readable_models m JOIN readable_versions v ON v.version = m.version
                        WHERE m.id = live.model_id
                          AND v.model_id = live.model_id
                          AND is_live_group(v.training_sketch, NULL, live.spec, NULL)
                        LIMIT 1),
                      live.spec);
    -- The first pass tries numbers from 1 to the maximum in steps of a fifth, like fc_choose_k. The
    -- second pass adds all numbers between the neighbours of the elbow. The elbow is the number
    -- whose logarithm of the cost is farthest below the line through both ends. A cost is the mean
    -- squared distance, estimated from the sketch.
    FOR i IN 1 .. 2 LOOP
        SELECT array_agg(t.n ORDER BY t.n), array_agg(t.c ORDER BY t.n) INTO tried, costs
          FROM (SELECT n,
                       COALESCE(costs[array_position(tried, n)],
                                (SELECT sum(c.weight * c.spread ^ 2) / sum(c.weight)
                                            * cardinality(means(now))
                                   FROM decode(now, n, 'auto', settings, sample_spec) c)) AS c
                  FROM (WITH RECURSIVE steps(n) AS (
                                           SELECT 1
                                           UNION ALL
                                           SELECT least(max_tried, s.n + 1 + s.n / 5) FROM steps s
                                            WHERE s.n < max_tried)
                        SELECT s.n FROM steps s
                        UNION
                        SELECT g.n
                          FROM generate_series(
                                   (SELECT max(t) FROM unnest(tried) t WHERE t < best),
                                   (SELECT min(t) FROM unnest(tried) t WHERE t > best)) g(n))
                           q(n)) t;
        best := COALESCE((SELECT t.n
                            FROM (SELECT u.n, ln(greatest(u.c, 1e-12 * costs[1])) AS height
                                    FROM unnest(tried, costs) u(n, c)
                                   WHERE costs[1] > 0) t,
                                 (SELECT ln(greatest(costs[cardinality(costs)],
                                                     1e-12 * costs[1])) AS lowest,
                                         ln(costs[1]) AS highest
                                   WHERE costs[1] > 0) e
                           ORDER BY (e.highest - t.height) / NULLIF(e.highest - e.lowest, 0) - (
                                        t.n - 1.0) / NULLIF(
                                        tried[cardinality(tried)] - 1, 0) DESC NULLS LAST,
                                    t.n LIMIT 1),
                         1);
    END LOOP;
    RETURN QUERY
        SELECT t.n, t.c,
               1 - (t.c / NULLIF(lag(t.c) OVER by_k, 0)) ^ (
                   1.0::float8 / (t.n - lag(t.n) OVER by_k)),
               NULL::float8, CASE WHEN t.n = best THEN 'elbow' END
          FROM unnest(tried, costs) t(n, c)
        WINDOW by_k AS (ORDER BY t.n)
         ORDER BY t.n;
END
$$;
