
-- Live sketches: functions that write as the owner of the extension

-- Locks a live sketch that the caller owns until the end of the transaction, and returns it.
CREATE FUNCTION fastclust_internal.locked_live(name text) RETURNS kept_sketches
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C;
CREATE FUNCTION fastclust_owner.locked_live(name text, caller oid) RETURNS kept_sketches
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path FROM CURRENT AS $$
DECLARE
    stored kept_sketches;
BEGIN
    PERFORM reject_read_only('live sketches cannot be made or changed');
    stored := owned_live(name, caller);
    SELECT * INTO stored FROM kept_sketches l WHERE l.id = stored.id FOR UPDATE;
    IF NOT FOUND THEN
        RAISE undefined_object USING
            MESSAGE = format('live sketch "%s" was dropped concurrently', name);
    END IF;
    RETURN stored;
END
$$;

-- Returns a live sketch that the caller may read. Other callers get the error that it does not
-- exist.
CREATE FUNCTION fastclust_owner.readable_live(name text, caller oid) RETURNS kept_sketches
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $$
DECLARE
    found_live kept_sketches;
BEGIN
    IF name IS NULL THEN
        RAISE null_value_not_allowed USING MESSAGE = 'name must not be NULL';
    END IF;
    SELECT * INTO found_live FROM kept_sketches l WHERE l.name = $1;
    IF NOT FOUND OR NOT may_read_live(caller, found_live) THEN
        RAISE undefined_object USING MESSAGE = format('live sketch "%s" does not exist', name),
            HINT = 'Make a live sketch with keep_sketch. To read one, a role must have the right to read the columns of its table.';
    END IF;
    RETURN found_live;
END
$$;

-- Returns a live sketch that the caller owns. A caller who may only read it gets an error that
-- names its table.
CREATE FUNCTION fastclust_owner.owned_live(name text, caller oid) RETURNS kept_sketches
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $$
DECLARE
    live kept_sketches := readable_live(name, caller);
BEGIN
    IF NOT owns_relation(caller, live.relation) THEN
        RAISE insufficient_privilege USING
            MESSAGE = format('live sketch "%s" belongs to the owner of %s', name, live.relation);
    END IF;
    RETURN live;
END
$$;

-- Removes the live sketch of a model. If the table now belongs to another role, the live sketch is
-- kept but no longer belongs to the model.
CREATE FUNCTION fastclust_internal.end_model_live(model_id bigint) RETURNS void
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C;
CREATE FUNCTION fastclust_owner.end_model_live(model_id bigint, caller oid) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path FROM CURRENT AS $$
DECLARE
    stored stored_models := locked_model(model_id, NULL, false, caller);
BEGIN
    PERFORM forget_live(l.id) FROM kept_sketches l
     WHERE l.model_id = stored.id AND owns_relation(caller, l.relation);
    UPDATE kept_sketches l SET model_id = NULL WHERE l.model_id = stored.id;
END
$$;

-- Stores a new live sketch without rows, and returns it. If live.id is the id of a live sketch that
-- live_of_rows found, assigns the found live sketch to the model live.model_id instead.
--
-- Does not wait for a session that is creating a live sketch of the same name. If the name is
-- taken, a live sketch of a model gets a unique name. For any other live sketch, raises an error.
CREATE FUNCTION fastclust_internal.claim_live(live kept_sketches) RETURNS kept_sketches
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C;
CREATE FUNCTION fastclust_owner.claim_live(live kept_sketches, caller oid) RETURNS kept_sketches
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path FROM CURRENT AS $$
DECLARE
    stored stored_models;
    made kept_sketches;
    was_taken boolean := false;
BEGIN
    PERFORM reject_read_only('live sketches cannot be made or changed'),
            check_execute(caller,
                          CASE WHEN live.model_id IS NULL THEN 'keep_sketch' ELSE 'train' END);
    IF NOT owns_relation(caller, live.relation) THEN
        RAISE insufficient_privilege USING MESSAGE = format('must be owner of %s', live.relation);
    END IF;
    IF live.columns @> array_remove(live.features || live.group_by || live.bucket,
                                    NULL) IS NOT TRUE THEN
        RAISE invalid_parameter_value USING
            MESSAGE = format('live sketch "%s" was not made by keep_sketch', live.name);
    END IF;
    IF live.model_id IS NOT NULL THEN
        stored := locked_model(live.model_id, NULL, false, caller);
        PERFORM check_model_follows(stored, live.relation);
        IF EXISTS (SELECT FROM kept_sketches l WHERE l.model_id = live.model_id) THEN
            RAISE duplicate_object USING
                MESSAGE = format('model "%s" has a live sketch already', stored.model),
                HINT = 'Retrain the model to replace its live sketch.';
        END IF;
    END IF;
    IF live.id IS NOT NULL AND live.model_id IS NOT NULL THEN
        UPDATE kept_sketches l
           SET model_id = live.model_id
         WHERE l.id = live.id AND l.relation = live.relation AND l.model_id IS NULL
        RETURNING l.* INTO made;
        RETURN made;
    END IF;
    IF NOT lock_name(hashtext(live.name), true, false)
       OR EXISTS (SELECT FROM kept_sketches l WHERE l.name = live.name) THEN
        IF live.model_id IS NULL THEN
            RAISE duplicate_object USING
                MESSAGE = format('live sketch "%s" exists already', live.name),
                HINT = 'Choose another name, or drop the live sketch with drop_sketch.';
        END IF;
        -- a training must not fail because a name is taken
        live.name := format('%s %s', live.name, gen_random_uuid());
    END IF;
    -- expressions are evaluated with the rights of the owner of the extension
    live.condition := (live_expressions(live, live.relation)).filter;
    live.created_at := now();
    live.counting := live.counting IS TRUE;
    LOOP
        live.id := new_id('kept_sketches', was_taken);
        INSERT INTO kept_sketches SELECT live.* ON CONFLICT (id) DO NOTHING;
        EXIT WHEN FOUND;
        was_taken := true;
    END LOOP;
    RETURN live;
END
$$;

-- Returns the ctids of a leaf's rows in live_deltas that are visible to the caller's query.
CREATE FUNCTION fastclust_internal.open_deltas(live_id bigint, leaf regclass) RETURNS tid[]
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C STABLE PARALLEL RESTRICTED;
CREATE FUNCTION fastclust_owner.open_deltas(live_id bigint, leaf regclass, caller oid) RETURNS tid[]
    LANGUAGE plpgsql STABLE PARALLEL RESTRICTED SECURITY DEFINER
    SET search_path FROM CURRENT AS $$
BEGIN
    RETURN ARRAY(SELECT d.ctid FROM live_deltas d JOIN kept_sketches l ON l.id = d.live_id
                  WHERE d.live_id = $1 AND d.leaf = $2 AND may_read_live(caller, l));
END
$$;

-- Result of counting a leaf: the sketches of its rows, and the ctids of the deltas that the same
-- query saw.
CREATE TYPE fastclust_internal.live_count AS (deltas tid[], groups live_group[]);

-- Records that a leaf is counted from now on, with the present attribute numbers and types of its
-- columns. Deletes the earlier record and the bases of the leaf.
CREATE FUNCTION fastclust_internal.name_leaf(live kept_sketches, leaf regclass) RETURNS void
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    DELETE FROM live_bases b WHERE b.live_id = live.id AND b.leaf = $2;
    DELETE FROM live_leaves v WHERE v.live_id = live.id AND v.leaf = $2;
    INSERT INTO live_leaves (live_id, leaf, names, columns, types, typmods, counted_at)
    SELECT live.id, $2, live.columns, array_agg(COALESCE(a.attnum, 0) ORDER BY u.i),
           array_agg(COALESCE(a.atttypid, 0)::regtype ORDER BY u.i),
           array_agg(COALESCE(a.atttypmod, -1) ORDER BY u.i), now()
      FROM unnest(live.columns) WITH ORDINALITY u(name, i)
      LEFT JOIN pg_attribute a ON a.attrelid = $2 AND a.attname = u.name;
END
$$;

-- Replaces the bases of a leaf by the counted sketches, and deletes the deltas that the count
-- included. If `counted` is NULL, the leaf has no bases afterwards.
CREATE FUNCTION fastclust_internal.write_leaf(live_id bigint, leaf regclass, counted live_count)
    RETURNS void
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C;
CREATE FUNCTION fastclust_owner.write_leaf(live_id bigint, leaf regclass, counted live_count,
        caller oid)
    RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    live kept_sketches;
    longest integer := (SELECT max(octet_length(p.group_value)) FROM unnest(counted.groups) p);
BEGIN
    SELECT * INTO live FROM kept_sketches l WHERE l.id = $1;
    IF live.id IS NULL OR NOT owns_relation(caller, live.relation) THEN
        RAISE insufficient_privilege USING MESSAGE = 'must be owner of the table of the live sketch';
    ELSIF NOT EXISTS (SELECT FROM live_tables(live.relation) t WHERE t.id = leaf AND t.is_leaf) THEN
        RAISE invalid_parameter_value USING
            MESSAGE = format('table %s is not a leaf of live sketch "%s"', leaf, live.name);
    END IF;
    IF EXISTS (SELECT FROM unnest(counted.groups) p
                WHERE NOT is_live_group(p.s, p.counts, live.spec, live.drift_spec)) THEN
        RAISE data_exception USING
            MESSAGE = format('sketch and counts were not made with the specs of live sketch "%s"',
                             live.name);
    ELSIF longest > 2000 THEN
        RAISE program_limit_exceeded USING
            MESSAGE = format('a group value of live sketch "%s" has %s bytes', live.name, longest),
            DETAIL = 'The maximum is 2000 bytes.';
    END IF;
    DELETE FROM live_deltas d
     WHERE d.ctid = ANY (counted.deltas) AND d.live_id = $1 AND d.leaf = $2;
    PERFORM name_leaf(live, leaf);
    INSERT INTO live_bases (live_id, leaf, group_value, bucket, s, counts)
    SELECT live.id, $2, p.group_value, p.bucket, p.s, p.counts
      FROM unnest(counted.groups) p;
END
$$;

-- Stops counting tables that have left the tree. Called before all rows are recounted. The next
-- fold_live removes the counts of these tables.
CREATE FUNCTION fastclust_internal.forget_leaves(name text) RETURNS void
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C;
CREATE FUNCTION fastclust_owner.forget_leaves(name text, caller oid) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path FROM CURRENT AS $$
DECLARE
    live kept_sketches := locked_live(name, caller);
BEGIN
    DELETE FROM live_leaves v
     WHERE v.live_id = live.id
       AND v.leaf NOT IN (SELECT t.id FROM live_tables(live.relation) t WHERE t.is_leaf);
    UPDATE kept_sketches l
       SET folded_at = NULL, checked_at = NULL, differences = NULL, counting = false
     WHERE l.id = live.id;
END
$$;

-- Runs a statement under the latest snapshot, with the id as $1. Returns the first column of its
-- first row; NULL if there is no row. Statements of PL/pgSQL do not see what others have committed
-- since a transaction of REPEATABLE READ or SERIALIZABLE began.
CREATE FUNCTION fastclust_owner.run_latest(statement text, live_id bigint DEFAULT 0) RETURNS text
    AS 'MODULE_PATHNAME', 'fastclust_run_latest' LANGUAGE C;

-- internal: removes a live sketch and the triggers on its tables, for any caller. Triggers with the
-- same names on other tables are not dropped: the owner of such a table could hold a lock on it,
-- and so block the caller.
CREATE FUNCTION fastclust_owner.forget_live(live_id bigint) RETURNS void
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    drops text;
BEGIN
    -- Dropping a trigger waits for the writers of its table. Another session may have added a leaf
    -- meanwhile, which is in the next list.
    LOOP
        drops := run_latest($query$
            SELECT string_agg(format('DROP TRIGGER %I ON %s', g.tgname, g.tgrelid::regclass), ';'
                              ORDER BY g.tgrelid)
              FROM (SELECT v.leaf::oid FROM live_leaves v WHERE v.live_id = $1
                    UNION
                    SELECT t.id FROM kept_sketches l, live_tables(l.relation) t
                     WHERE l.id = $1) t(id)
              JOIN pg_trigger g ON g.tgrelid = t.id
             WHERE g.tgfoid = 'live_change()'::regprocedure
               AND is_live_trigger(g.tgname, $1)
               AND g.tgparentid = 0    -- a trigger cloned to a partition is dropped with its parent
            $query$, live_id);
        EXIT WHEN drops IS NULL;
        EXECUTE drops;
    END LOOP;
    PERFORM run_latest('DELETE FROM live_deltas d WHERE d.live_id = $1', live_id),
            run_latest('DELETE FROM live_bases b WHERE b.live_id = $1', live_id),
            run_latest('DELETE FROM live_leaves v WHERE v.live_id = $1', live_id),
            run_latest('DELETE FROM kept_sketches l WHERE l.id = $1', live_id);
END
$$;
