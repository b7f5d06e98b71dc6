
-- Live sketches: merging deltas into bases

-- Merges deltas into the bases and returns the number of merged deltas. Returns 0 if another
-- session has locked the live sketch, or if its rows are not counted yet. Writers do not wait, and
-- uncommitted deltas remain.
CREATE FUNCTION fastclust_internal.fold_live(live_id bigint) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET plan_cache_mode = force_generic_plan SET enable_seqscan = off
    AS $$
DECLARE
    live kept_sketches;
    folded bigint;
BEGIN
    SELECT * INTO live
      FROM kept_sketches l
     WHERE l.id = live_id AND NOT l.counting
       FOR UPDATE SKIP LOCKED;
    IF NOT FOUND THEN
        RETURN 0;
    END IF;
    -- Remove the sketches and counts of dropped leaves. An older snapshot would not show a new leaf.
    PERFORM run_latest('DELETE FROM live_bases b
                         WHERE b.live_id = $1
                           AND NOT EXISTS (SELECT FROM live_leaves v
                                            WHERE v.live_id = b.live_id AND v.leaf = b.leaf)',
                       live.id),
            run_latest('DELETE FROM live_deltas d
                         WHERE d.live_id = $1
                           AND NOT EXISTS (SELECT FROM live_leaves v
                                            WHERE v.live_id = d.live_id AND v.leaf = d.leaf)',
                       live.id);
    WITH gone AS (
             DELETE FROM live_deltas d WHERE d.live_id = live.id AND d.lost IS NULL RETURNING d.*),
         changed AS (
             SELECT g.leaf, COALESCE(g.group_value, '') AS group_value,
                    COALESCE(g.bucket, '-infinity') AS bucket,
                    live_sum_agg(live.spec, g.added_rows, g.added) AS added,
                    live_sum_agg(live.spec, g.removed_rows, g.removed) AS removed,
                    live_count_agg(live.drift_spec, g.added_rows, g.added_counts) AS added_counts,
                    live_count_agg(live.drift_spec, g.removed_rows,
                                   g.removed_counts) AS removed_counts
               FROM gone g
              GROUP BY 1, 2, 3),
         now AS (
             SELECT c.leaf, c.group_value, c.bucket,
                    live_difference(CASE WHEN b.s IS NULL THEN c.added
                                         WHEN c.added IS NULL THEN b.s
                                         ELSE b.s + c.added END,
                                    c.removed) AS s,
                    changed_drift_counts(b.counts, c.added_counts, c.removed_counts) AS counts
               FROM changed c
               LEFT JOIN live_bases b
                         ON b.live_id = live.id
                            AND b.leaf = c.leaf
                            AND b.group_value = c.group_value
                            AND b.bucket = c.bucket),
         emptied AS (
             DELETE FROM live_bases b
              USING now n
              WHERE n.s IS NULL
                AND b.live_id = live.id
                AND b.leaf = n.leaf
                AND b.group_value = n.group_value
                AND b.bucket = n.bucket),
         written AS (
             INSERT INTO live_bases AS b (live_id, leaf, group_value, bucket, s, counts)
             SELECT live.id, n.leaf, n.group_value, n.bucket, n.s, n.counts
               FROM now n
              WHERE n.s IS NOT NULL
             ON CONFLICT ON CONSTRAINT live_bases_pkey DO UPDATE
                SET s = EXCLUDED.s, counts = EXCLUDED.counts)
    SELECT count(*) INTO folded FROM gone;
    IF folded > 0 THEN
        UPDATE kept_sketches l SET folded_at = clock_timestamp() WHERE l.id = live.id;
    END IF;
    RETURN folded;
END
$$;

CREATE FUNCTION fastclust.fold_sketches(name text DEFAULT NULL) RETURNS bigint
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C;
CREATE FUNCTION fastclust_owner.fold_sketches(name text, caller oid) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path FROM CURRENT SET lock_timeout = '1s' AS $$
DECLARE
    live kept_sketches;
    folded bigint := 0;
BEGIN
    PERFORM reject_read_only('live sketches cannot be made or changed');
    IF name IS NOT NULL THEN
        live := owned_live(name, caller);
        RETURN fold_live(live.id);
    END IF;
    -- ALTER TYPE locks no table, so it may record a loss while the live sketch is being dropped.
    PERFORM run_latest('DELETE FROM live_deltas d
                         USING (SELECT o.ctid FROM live_deltas o
                                 WHERE NOT EXISTS (SELECT FROM kept_sketches l
                                                    WHERE l.id = o.live_id)
                                   FOR UPDATE SKIP LOCKED) q
                         WHERE d.ctid = q.ctid');
    FOR live IN
        SELECT * FROM kept_sketches l WHERE owns_relation(caller, l.relation) ORDER BY l.id
    LOOP
        -- an error in one live sketch must not prevent the merging of the others
        BEGIN
            folded := folded + fold_live(live.id);
        EXCEPTION
            WHEN lock_not_available THEN
                NULL;    -- an open transaction is writing a count
            WHEN OTHERS THEN
                RAISE WARNING USING
                    MESSAGE = format('live sketch "%s" cannot be folded: %s', live.name, SQLERRM),
                    HINT = repair_hint(live);
        END;
    END LOOP;
    RETURN folded;
END
$$;
COMMENT ON FUNCTION fastclust.fold_sketches IS
    'Merges the pending changes into the stored sketches of one live sketch, or of all that the '
    'caller owns. Returns the number of changes.';
