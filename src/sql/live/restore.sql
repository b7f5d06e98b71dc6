
-- Live sketches: counting after a restore
--
-- A dump has the definition of a live sketch and its triggers, but no sums. A restore creates the
-- rows of a leaf, the triggers of the leaf and the row of kept_sketches in an unknown order;
-- pg_restore with several jobs may use any order. The triggers or the row of kept_sketches,
-- whichever comes last, start the count, which locks out writers. The count includes the rows of
-- the leaf that were loaded before. The triggers count rows that are loaded later.
--
-- Two sessions may restore the triggers and the row at the same time, and neither sees uncommitted
-- rows of the other. Both hold a lock on the tree of tables until they commit. The later session
-- therefore sees everything that the earlier one has restored: it uses the latest snapshot,
-- regardless of its isolation level.

CREATE FUNCTION fastclust_internal.ddl_changes(command pg_ddl_command, OUT adds boolean,
        OUT column_name text, OUT trigger_name text, OUT loss text, OUT enables boolean)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_ddl_changes' LANGUAGE C STRICT;

-- Counts all rows of a leaf as if they were inserted now. Evaluates expressions with the rights of
-- the table's owner, who chose them, instead of the rights of the role that restores. The owner
-- needs no USAGE on the schema, because a restore grants it last.
CREATE FUNCTION fastclust_owner.count_rows(live_id bigint, leaf regclass, role oid) RETURNS void
    AS 'MODULE_PATHNAME', 'fastclust_count_rows' LANGUAGE C STRICT;

-- Locks a tree of tables until the end of the transaction. The lock is exclusive if `alone` is
-- true: on the table of a restored live sketch. It is shared on each table above a restored leaf.
-- Only owners of a table in the tree make triggers in it, so the lock never waits for other roles.
CREATE FUNCTION fastclust_owner.lock_tree(relation oid, alone boolean) RETURNS void
    AS 'MODULE_PATHNAME', 'fastclust_lock_tree' LANGUAGE C STRICT;

-- Returns the leaves that have all triggers, but whose rows are not counted.
CREATE FUNCTION fastclust_internal.uncounted_leaves(live kept_sketches) RETURNS SETOF regclass
    LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
    SELECT t.id::regclass
      FROM live_tables(live.relation) t
     WHERE t.is_leaf
       AND NOT EXISTS (SELECT FROM live_leaves v WHERE v.live_id = live.id AND v.leaf = t.id)
       AND trigger_problem(live.id, t.id) IS NULL
     ORDER BY t.id
$$;

-- Returns the leaves of live sketch live_id whose rows are not counted, under the latest snapshot.
-- Returns no rows if there is no such live sketch.
CREATE FUNCTION fastclust_internal.restored_leaves(live_id bigint, OUT live kept_sketches,
        OUT leaf regclass)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_restored_leaves' LANGUAGE C STRICT;

-- Counts the rows of a restored leaf, which the caller has locked against writers.
CREATE FUNCTION fastclust_owner.restore_leaf(live kept_sketches, leaf regclass) RETURNS void
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    DELETE FROM live_deltas d WHERE d.live_id = live.id AND d.leaf = $2;
    PERFORM name_leaf(live, leaf);
    PERFORM count_rows(live.id, leaf, relation_owner(live.relation));
EXCEPTION
    WHEN OTHERS OR assert_failure THEN
        RAISE WARNING USING MESSAGE = format('live sketch "%s" no longer matches its table', live.name),
            DETAIL = format('Table %s is not counted: %s.', leaf, SQLERRM),
            HINT = repair_hint(live);
END
$$;

-- Counts the rows of each restored leaf whose triggers the current command enables. A dump ends
-- each trigger with ALTER TABLE ... ENABLE ALWAYS TRIGGER, which locks out writers, so the rows of
-- the leaf are counted in that statement.
CREATE FUNCTION fastclust_owner.restore_leaves() RETURNS void
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    follower record;
BEGIN
    FOR follower IN
        SELECT DISTINCT substring(g.tgname FROM '^fastclust_live_([0-9]{1,18})_')::bigint AS id,
                        g.tgrelid::regclass AS leaf
          FROM pg_event_trigger_ddl_commands() c JOIN pg_trigger g ON g.tgrelid = c.objid
         WHERE c.classid = 'pg_class'::regclass
           AND g.tgfoid = 'live_change()'::regprocedure
           AND g.tgname ~ '^fastclust_live_[0-9]{1,18}_rows$'
         ORDER BY 1, 2
    LOOP
        CONTINUE WHEN EXISTS (SELECT FROM live_leaves v
                               WHERE v.live_id = follower.id AND v.leaf = follower.leaf);
        -- A separate query, so that the module is loaded only for tables that have such triggers.
        CONTINUE WHEN NOT EXISTS (SELECT
                                    FROM pg_event_trigger_ddl_commands() c, ddl_changes(c.command) p
                                   WHERE p.enables AND c.objid = follower.leaf);
        PERFORM lock_tree(q.id, false)
          FROM (WITH RECURSIVE above(id) AS (
                                   SELECT follower.leaf::oid
                                   UNION
                                   SELECT i.inhparent
                                     FROM above a JOIN pg_inherits i ON i.inhrelid = a.id)
                SELECT a.id FROM above a ORDER BY a.id) q;
        PERFORM restore_leaf(r.live, r.leaf) FROM restored_leaves(follower.id) r
         WHERE r.leaf = follower.leaf;
    END LOOP;
END
$$;

-- Resets the times of folds and checks in a restored row of kept_sketches, because they belong to
-- an earlier count. A row counts as restored if keep_sketch did not create it in this transaction.
CREATE FUNCTION fastclust_owner.begin_restored() RETURNS trigger
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    NEW.folded_at := NULL;
    NEW.checked_at := NULL;
    NEW.differences := NULL;
    NEW.counting := false;
    RETURN NEW;
END
$$;
CREATE TRIGGER begin_restored BEFORE INSERT ON kept_sketches FOR EACH ROW WHEN (
    NEW.created_at <> now()) EXECUTE FUNCTION begin_restored();
ALTER TABLE kept_sketches ENABLE ALWAYS TRIGGER begin_restored;

-- Locks out writers from each uncounted leaf that has its triggers, for the given live sketches. If
-- one lock is not free, releases all locks and tries again, because a restore takes locks in any
-- order. The function runs no code of a table's owner.
CREATE FUNCTION fastclust_owner.lock_restored(ids bigint[]) RETURNS void
    LANGUAGE plpgsql SET search_path FROM CURRENT SET lock_timeout = '50ms' AS $$
DECLARE
    leaf regclass;
BEGIN
    LOOP
        BEGIN
            PERFORM lock_tree(q.id, true)
              FROM (SELECT DISTINCT l.relation::oid AS id
                      FROM kept_sketches l
                     WHERE l.id = ANY (ids)
                     ORDER BY 1) q;
            FOR leaf IN
                SELECT DISTINCT r.leaf FROM unnest(ids) i(id), restored_leaves(i.id) r ORDER BY 1
            LOOP
                EXECUTE format('LOCK TABLE ONLY %s IN SHARE ROW EXCLUSIVE MODE', leaf);
            END LOOP;
            RETURN;
        EXCEPTION WHEN lock_not_available THEN
            PERFORM pg_sleep(0.1);
        END;
    END LOOP;
END
$$;

-- Counts each leaf of the inserted live sketches that has its triggers but is not counted yet.
CREATE FUNCTION fastclust_owner.restored_sketches() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT SET jit = off AS $$
DECLARE
    ids bigint[];
BEGIN
    -- Raised before any statement reads rows: rows of another table may have types whose casts are
    -- its owner's code.
    IF TG_RELID <> 'kept_sketches'::regclass THEN
        RAISE trigger_protocol_violated USING
            MESSAGE = format('function %s can only be called by the trigger of kept_sketches',
                             'restored_sketches');
    END IF;
    ids := ARRAY(SELECT c.id FROM came c WHERE c.created_at <> now() ORDER BY c.id);
    PERFORM lock_restored(ids);
    PERFORM restore_leaf(r.live, r.leaf) FROM unnest(ids) i(id), restored_leaves(i.id) r;
    RETURN NULL;
END
$$;
CREATE TRIGGER restored AFTER INSERT ON kept_sketches REFERENCING NEW TABLE AS came FOR EACH
    STATEMENT EXECUTE FUNCTION restored_sketches();
ALTER TABLE kept_sketches ENABLE ALWAYS TRIGGER restored;

-- Rows that a subscription copies from a publisher. A publication FOR ALL TABLES has the tables of
-- fastclust, so a copied row of kept_sketches arrives, and the subscriber counts its own rows as
-- after a restore. The publisher's sums would be counted twice. They are skipped, except in writes
-- of the subscriber's own triggers, whose depth is above 0.
CREATE FUNCTION fastclust_owner.skip_replicated() RETURNS trigger
    AS 'MODULE_PATHNAME', 'fastclust_skip_replicated' LANGUAGE C;

-- Removes the sums of a live sketch that the publisher has removed.
CREATE FUNCTION fastclust_owner.forget_replicated() RETURNS trigger
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    DELETE FROM live_deltas d WHERE d.live_id = OLD.id;
    DELETE FROM live_bases b WHERE b.live_id = OLD.id;
    DELETE FROM live_leaves v WHERE v.live_id = OLD.id;
    RETURN OLD;
END
$$;

CREATE TRIGGER skip_replicated BEFORE INSERT OR UPDATE OR DELETE ON live_leaves FOR EACH ROW WHEN (
    pg_trigger_depth() = 0) EXECUTE FUNCTION skip_replicated();
CREATE TRIGGER skip_replicated BEFORE INSERT OR UPDATE OR DELETE ON live_bases FOR EACH ROW WHEN (
    pg_trigger_depth() = 0) EXECUTE FUNCTION skip_replicated();
CREATE TRIGGER skip_replicated BEFORE INSERT OR UPDATE OR DELETE ON live_deltas FOR EACH ROW WHEN (
    pg_trigger_depth() = 0) EXECUTE FUNCTION skip_replicated();
CREATE TRIGGER forget_replicated BEFORE DELETE ON kept_sketches FOR EACH ROW
    EXECUTE FUNCTION forget_replicated();
ALTER TABLE live_leaves ENABLE REPLICA TRIGGER skip_replicated;
ALTER TABLE live_bases ENABLE REPLICA TRIGGER skip_replicated;
ALTER TABLE live_deltas ENABLE REPLICA TRIGGER skip_replicated;
ALTER TABLE kept_sketches ENABLE REPLICA TRIGGER forget_replicated;
