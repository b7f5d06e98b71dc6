
-- Writers: the only functions that write the model tables
--
-- All are SECURITY DEFINER functions in fastclust_owner (prologue.sql), and check the rights of the
-- role in their last argument.

-- Returns true if the caller has the rights of a role. Superusers have the rights of all roles,
-- including dropped ones.
CREATE FUNCTION fastclust_internal.is_member(caller oid, role oid) RETURNS boolean
    LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT EXISTS (SELECT FROM pg_roles r
                    WHERE r.oid = role AND pg_has_role(caller, r.oid, 'USAGE'))
           OR fastclust_internal.is_superuser(caller)
$$;

CREATE FUNCTION fastclust_internal.is_reader(caller oid, stored stored_models) RETURNS boolean
    LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
    SELECT 0 = ANY (stored.reader_ids)
           OR EXISTS (SELECT FROM unnest(stored.reader_ids) r WHERE is_member(caller, r))
$$;

-- Raises an error on a standby and in a read-only transaction. Without this check, the first write
-- would raise an error that has no hint.
CREATE FUNCTION fastclust_internal.reject_read_only(
        what text DEFAULT 'models cannot be trained or changed')
    RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF pg_is_in_recovery() THEN
        RAISE read_only_sql_transaction USING MESSAGE = what || ' on a standby',
            HINT = 'Call the function on the primary. A standby can use models, measure drift, sketch and decode.';
    ELSIF current_setting('transaction_read_only')::boolean THEN
        RAISE read_only_sql_transaction USING MESSAGE = what || ' in a read-only transaction',
            HINT = 'Begin the transaction with READ WRITE; the default is set by default_transaction_read_only.';
    END IF;
END
$$;

-- Locks the key of a model or of a live sketch until the end of the transaction. Returns false if
-- another session has locked it and wait is false.
CREATE FUNCTION fastclust_owner.lock_name(key integer, live boolean, wait boolean) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_lock_name' LANGUAGE C STRICT;

-- Claims a name that no model has. If another session has claimed the name, waits for it, or raises
-- an error if `wait` is false. If that session has neither the caller's login nor one of the
-- caller's roles, always raises an error, so that no role can block another by claiming names.
CREATE FUNCTION fastclust_owner.claim_name(name text, wait boolean, caller oid) RETURNS void
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    key integer := hashtext(name);
BEGIN
    IF lock_name(key, false, false) THEN
        RETURN;
    -- A prepared transaction, whose lock has no pid, counts as another role.
    ELSIF EXISTS (SELECT FROM pg_roles own, pg_locks l LEFT JOIN pg_stat_activity a ON a.pid = l.pid
                   WHERE l.locktype = 'object'
                     AND l.classid =
                             'fastclust_owner.lock_name(integer, boolean, boolean)'::regprocedure
                     AND l.objid = (key::bigint & 4294967295)::oid
                     AND l.objsubid = 0
                     AND l.granted
                     AND l.database IN (SELECT d.oid FROM pg_database d
                                         WHERE d.datname = current_database())
                     AND own.rolname = session_user
                     AND (a.usesysid IS NULL
                          OR (a.usesysid <> own.oid
                              AND is_member(caller, a.usesysid) IS NOT TRUE))) THEN
        RAISE lock_not_available USING
            MESSAGE = format('model "%s" is being made by another role', name),
            HINT = 'Choose another name.';
    ELSIF wait IS FALSE THEN
        RAISE lock_not_available USING
            MESSAGE = format('model "%s" is being made by another session', name),
            HINT = 'Leave out the option nowait to wait for it.';
    END IF;
    PERFORM lock_name(key, false, true);
END
$$;

-- Returns an id for a new row of a table. Logical replication copies the rows of a publisher, but
-- not its sequences. If the table is subscribed, or if the last id was taken, the sequence
-- therefore continues from a random multiple of 2^32. Later rows of the publisher then have other
-- ids.
CREATE FUNCTION fastclust_owner.new_id(relation regclass, was_taken boolean) RETURNS bigint
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    far CONSTANT bigint := 4294967296;    -- a publisher has fewer rows
    sequence regclass := pg_get_serial_sequence(relation::text, 'id');
    id bigint := nextval(sequence);
BEGIN
    IF was_taken
       OR (id < far AND EXISTS (SELECT FROM pg_subscription_rel s WHERE s.srrelid = relation)) THEN
        PERFORM setval(sequence, far * (1 + floor(random() * 1048576)::bigint));
        id := nextval(sequence);
    END IF;
    RETURN id;
END
$$;

-- Raises an error unless the role may call train or import_model.
CREATE FUNCTION fastclust_owner.check_may_make_models(caller oid) RETURNS void
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    IF NOT has_schema_privilege(caller, 'fastclust', 'USAGE')
       OR NOT EXISTS (SELECT FROM pg_proc p
                       WHERE p.pronamespace = 'fastclust'::regnamespace
                         AND p.proname IN ('train', 'import_model')
                         AND has_function_privilege(caller, p.oid, 'EXECUTE')) THEN
        RAISE insufficient_privilege USING
            MESSAGE = format('role %s may not make models',
                             (SELECT r.rolname FROM pg_roles r WHERE r.oid = caller)),
            HINT = 'The right to execute the functions train or import_model is needed.';
    END IF;
END
$$;

-- Locks a model until the end of the transaction, and returns it. Raises an error if the caller may
-- not change the model. If `make` is true, creates a missing model. A superuser does not make a
-- version of another role's model by its name alone: the role may have taken the name in order to
-- read what is trained.
CREATE FUNCTION fastclust_internal.locked_model(model_name text, wait boolean,
        make boolean DEFAULT false)
    RETURNS stored_models
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C;
CREATE FUNCTION fastclust_owner.locked_model(model_name text, wait boolean, make boolean, caller oid)
    RETURNS stored_models
    LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    stored stored_models;
    was_taken boolean := false;
BEGIN
    PERFORM reject_read_only();
    IF make AND COALESCE(model_name, '') = '' THEN
        RAISE invalid_parameter_value USING MESSAGE = 'model must not be NULL or empty';
    ELSIF model_name IS NULL THEN
        RAISE null_value_not_allowed USING MESSAGE = 'model must not be NULL';
    ELSIF make AND NOT EXISTS (SELECT FROM stored_models m WHERE m.model = model_name) THEN
        PERFORM check_may_make_models(caller), claim_name(model_name, wait, caller);
        LOOP
            INSERT INTO stored_models (id, model, owner)
            VALUES (new_id('stored_models', was_taken), model_name, pg_get_userbyid(caller))
            ON CONFLICT DO NOTHING;
            EXIT WHEN FOUND OR EXISTS (SELECT FROM stored_models m WHERE m.model = model_name);
            was_taken := true;
        END LOOP;
    END IF;
    SELECT * INTO stored FROM stored_models m WHERE m.model = model_name;
    IF stored.id IS NOT NULL AND is_member(caller, stored.owner_id) THEN
        BEGIN
            IF wait IS NOT FALSE THEN
                SELECT * INTO stored
                  FROM stored_models m
                 WHERE m.id = stored.id AND m.model = model_name
                   FOR UPDATE;
            ELSE
                SELECT * INTO stored
                  FROM stored_models m
                 WHERE m.id = stored.id AND m.model = model_name
                   FOR UPDATE NOWAIT;
            END IF;
        EXCEPTION WHEN lock_not_available THEN
            IF wait IS NOT FALSE THEN
                RAISE;
            END IF;
            RAISE lock_not_available USING
                MESSAGE = format('model "%s" is being trained by another session', model_name),
                HINT = 'Leave out the option nowait to wait for it.';
        END;
        IF stored.id IS NULL THEN
            RAISE undefined_object USING
                MESSAGE = format('model "%s" was dropped or renamed concurrently', model_name);
        END IF;
        IF make AND stored.owner_id <> caller
           AND NOT (is_superuser(caller) AND is_superuser(stored.owner_id)) THEN
            RAISE insufficient_privilege USING
                MESSAGE = format('model "%s" belongs to %s, who would own what is trained',
                                 model_name, stored.owner),
                HINT = CASE WHEN EXISTS (SELECT FROM pg_roles r WHERE r.oid = stored.owner_id)
                                THEN format('Choose another name. For a new version of this model, use retrain, or log in as %I.',
                                            stored.owner)
                            ELSE format('This role was dropped. Choose another name, or give the model to a role first: UPDATE fastclust_internal.stored_models SET owner = %L WHERE model = %L.',
                                        pg_get_userbyid(caller), model_name) END;
        END IF;
        -- The owner may have changed during the wait.
        IF is_member(caller, stored.owner_id) THEN
            RETURN stored;
        END IF;
    END IF;
    IF stored.id IS NOT NULL AND make THEN
        RAISE insufficient_privilege USING
            MESSAGE = format('model "%s" belongs to another role', model_name),
            HINT = 'Choose another name.';
    ELSIF is_reader(caller, stored) THEN
        RAISE insufficient_privilege USING
            MESSAGE = format('model "%s" belongs to %s', model_name, stored.owner),
            HINT = 'Only the owner of a model and members of that role may change it.';
    END IF;
    RAISE undefined_object USING MESSAGE = format('model "%s" does not exist', model_name),
        HINT = (SELECT missing_model_hint(
                           model_name,
                           COALESCE(array_agg(q.model ORDER BY q.model) FILTER (WHERE q.readable), '{}'),
                           bool_or(NOT q.readable))
                  FROM (SELECT m.model, COALESCE(is_member(caller, m.owner_id)
                                                 OR is_reader(caller, m), false) AS readable
                          FROM stored_models m) q);
END
$$;

-- Locks a model by its id, which a training read earlier, and returns it. A caller who may not read
-- the model gets an error without the model's name.
--
-- If `version` is not NULL, raises an error unless it is a possible version number: from 1 or, if
-- `newest` is true, from the newest version, up to the newest version plus 1.
CREATE FUNCTION fastclust_owner.locked_model(id bigint, version integer, newest boolean, caller oid)
    RETURNS stored_models
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    name text := (SELECT m.model FROM stored_models m
                   WHERE m.id = $1 AND (is_member(caller, m.owner_id) OR is_reader(caller, m)));
    stored stored_models;
    last bigint;
BEGIN
    IF name IS NULL THEN
        RAISE undefined_object USING
            MESSAGE = format('there is no model with id %s', COALESCE(id::text, 'NULL'));
    END IF;
    stored := locked_model(name, true, false, caller);
    last := (SELECT COALESCE(max(v.version), 0) FROM version_groups v WHERE v.model_id = stored.id);
    IF version < (CASE WHEN newest THEN greatest(last, 1) ELSE 1 END) OR version > last + 1 THEN
        RAISE invalid_parameter_value USING
            MESSAGE = format('version is %s, out of range', version),
            DETAIL = format('The next version of model "%s" is %s.', stored.model, last + 1);
    END IF;
    RETURN stored;
END
$$;

-- ---- rows that a training writes; version numbers increase by one ----

-- Logs a step of a training.
CREATE FUNCTION fastclust_internal.write_step(model_id bigint, version integer, step text,
        objective double precision, seconds double precision, note text)
    RETURNS void
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C;
CREATE FUNCTION fastclust_owner.write_step(model_id bigint, version integer, step text,
        objective double precision, seconds double precision, note text, caller oid)
    RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    stored stored_models := locked_model(model_id, version, false, caller);
    was_taken boolean := false;
BEGIN
    LOOP
        INSERT INTO training_steps (id, model_id, version, step, objective, seconds, note)
        VALUES (new_id('training_steps', was_taken), stored.id, $2, $3, $4, $5, $6)
        ON CONFLICT DO NOTHING;
        EXIT WHEN FOUND;
        was_taken := true;
    END LOOP;
END
$$;

-- Writes the rows of a new version: one row, or one for each group. The version is not current yet.
-- The caller is recorded as the role that trained it.
CREATE FUNCTION fastclust_internal.write_groups(groups stored_versions[]) RETURNS void
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C;
CREATE FUNCTION fastclust_owner.write_groups(groups stored_versions[], caller oid) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path FROM CURRENT AS $$
DECLARE
    made integer := (groups[1]).version;
    stored stored_models := locked_model((groups[1]).model_id, made, true, caller);
BEGIN
    IF made = stored.version THEN
        RAISE invalid_parameter_value USING
            MESSAGE = format('version %s is already the current version of model "%s"', made,
                             stored.model);
    ELSIF EXISTS (SELECT FROM unnest(groups) v
                   WHERE v.model_id IS DISTINCT FROM stored.id
                      OR v.version IS DISTINCT FROM made) THEN
        RAISE invalid_parameter_value USING MESSAGE = 'groups must belong to the same version of the same model';
    END IF;
    INSERT INTO version_groups (model_id, version, group_value, method, note, relation, features,
                               vector, encoder, k, options, operator, micro_clusters, splits,
                               center, scale, map, spec, training_sketch, drift_spec, drift_counts,
                               null_moments, spreads, cluster_rows, distance_quantiles, n, imputed, objective,
                               objective_error, label_churn, paths, identities, recall, group_type,
                               started_at, relation_owner, trained_by)
    SELECT stored.id, v.version, v.group_value, v.method, v.note, v.relation, v.features, v.vector,
           v.encoder, v.k, v.options, v.operator, v.micro_clusters, v.splits, v.center, v.scale,
           v.map, v.spec, v.training_sketch, v.drift_spec, v.drift_counts, v.null_moments,
           v.spreads, v.cluster_rows, v.distance_quantiles, v.n, v.imputed, v.objective, v.objective_error,
           v.label_churn, v.paths, v.identities, v.recall, v.group_type, v.started_at,
           v.relation_owner, pg_get_userbyid(caller)
      FROM unnest(groups) v;
END
$$;

-- Matches the clusters of `after` with the clusters of `before`, the same group in another version
-- of the model. Returns an array with, for each cluster of `after` in the order of its number, the
-- identity of the cluster that it continues. An element is NULL if the cluster continues none.
--
-- Clusters are matched by the rows that they share: rows[i] rows have the label a[i] in `before`
-- and b[i] in `after`. If these lists are NULL, clusters are matched by their centroids, and the
-- result is NULL if the versions have different coordinates.
CREATE FUNCTION fastclust_internal.continued_identities(before stored_versions,
        after stored_versions, a integer[], b integer[], rows double precision[])
    RETURNS bigint[]
    AS 'MODULE_PATHNAME', 'fastclust_continued_identities' LANGUAGE C STABLE;

-- Sets the identities of the clusters of a group of the newest version.
CREATE FUNCTION fastclust_internal.write_identities(model_id bigint, version integer,
        group_value text, identities bigint[])
    RETURNS void
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C;
CREATE FUNCTION fastclust_owner.write_identities(model_id bigint, version integer,
        group_value text, identities bigint[], caller oid)
    RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    stored stored_models := locked_model(model_id, version, true, caller);
BEGIN
    UPDATE version_groups v
       SET identities = $4
     WHERE v.model_id = stored.id AND v.version = $2 AND v.group_value = $3;
END
$$;

-- Returns identities for the clusters of `after`, so that names follow the clusters of `before` to
-- a version that was not made from `before`. A cluster takes the identity of the cluster that it
-- continues. It keeps its own identity if a user has named it, or if one of the two identities is
-- in both versions.
CREATE FUNCTION fastclust_owner.joined_identities(before stored_versions, after stored_versions)
    RETURNS bigint[]
    LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
    SELECT array_agg(CASE WHEN c.old = ANY (after.identities)
                               OR c.own = ANY (before.identities)
                               OR EXISTS (SELECT FROM stored_names n
                                           WHERE n.model_id = after.model_id
                                             AND n.group_value = after.group_value
                                             AND n.identity = c.own)
                               THEN c.own
                          ELSE COALESCE(c.old, c.own) END ORDER BY c.i)
      FROM unnest(after.identities, continued_identities(before, after, NULL, NULL, NULL))
               WITH ORDINALITY c(own, old, i)
$$;

-- Makes a version current, unless it was trained with "activate": false. Then removes old versions:
-- of the versions before the current one, only the last `keep` remain. If keep is NULL, the caller
-- is use_version: the version always becomes current, and no version is removed.
CREATE FUNCTION fastclust_internal.serve_version(model_id bigint, version integer, keep integer)
    RETURNS void
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C;
CREATE FUNCTION fastclust_owner.serve_version(model_id bigint, version integer, keep integer,
        caller oid)
    RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    stored stored_models := locked_model(model_id, NULL, false, caller);
BEGIN
    IF keep IS NULL THEN
        BEGIN
            UPDATE version_groups v
               SET identities = q.joined
              FROM (SELECT a.group_value, joined_identities(b, a) AS joined, a.identities
                      FROM stored_versions b
                      JOIN stored_versions a USING (model_id, group_value)
                     WHERE a.model_id = stored.id
                       AND b.version = stored.version
                       AND a.version = $2
                       AND EXISTS (SELECT FROM stored_names n
                                    WHERE n.model_id = a.model_id
                                      AND n.group_value = a.group_value
                                      AND n.identity = ANY (b.identities)
                                      AND n.identity <> ALL (a.identities))) q
             WHERE v.model_id = stored.id
               AND v.version = $2
               AND v.group_value = q.group_value
               AND q.joined <> q.identities;
        EXCEPTION WHEN data_exception OR insufficient_resources THEN
            NULL;    -- a version that cannot be matched has the names that it had
        END;
    END IF;
    UPDATE stored_models m
       SET version = v.version, group_by = v.options ->> 'group_by'
      FROM (SELECT o.version, o.options
              FROM version_groups o
             WHERE o.model_id = stored.id AND o.version = $2
             LIMIT 1) v
     WHERE m.id = stored.id AND (keep IS NULL OR flag_option(v.options, 'activate', true));
    -- A call deletes up to 10,000 versions; later calls delete the rest.
    DELETE FROM version_groups v
     WHERE keep IS NOT NULL
       AND v.model_id = stored.id
       AND v.version < 10000 + (SELECT min(o.version) FROM version_groups o
                                 WHERE o.model_id = stored.id)
       AND v.version < (SELECT min(o.version)
                          FROM (SELECT DISTINCT w.version
                                  FROM stored_models m
                                  JOIN version_groups w
                                       ON w.model_id = m.id AND w.version <= m.version
                                 WHERE m.id = stored.id
                                 ORDER BY 1 DESC LIMIT greatest(0, keep) + 1) o);
END
$$;

-- ---- sharing, renaming, going back, removing ----

-- Returns the readers by their present names, without dropped roles and without the role `but`.
CREATE FUNCTION fastclust_internal.present_readers(stored stored_models, but name) RETURNS name[]
    LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT COALESCE(array_agg(q.name ORDER BY q.i) FILTER (WHERE q.name <> but), '{}')
      FROM (SELECT u.i, CASE WHEN u.id = 0 THEN 'public' ELSE r.rolname END AS name
              FROM unnest(stored.reader_ids) WITH ORDINALITY u(id, i)
              LEFT JOIN pg_roles r ON r.oid = u.id) q
$$;

CREATE FUNCTION fastclust.grant_model(model text, role name) RETURNS void
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C;
CREATE FUNCTION fastclust_owner.grant_model(model text, role name, caller oid) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path FROM CURRENT AS $$
DECLARE
    stored stored_models := locked_model(model, true, false, caller);
BEGIN
    IF role IS NULL THEN
        RAISE null_value_not_allowed USING MESSAGE = 'role must not be NULL';
    ELSIF role <> 'public' AND NOT EXISTS (SELECT FROM pg_roles r WHERE r.rolname = role) THEN
        RAISE undefined_object USING MESSAGE = format('role "%s" does not exist', role),
            HINT = 'The view pg_roles lists all roles. Everyone is "public", in lower case.';
    END IF;
    UPDATE stored_models m SET readers = present_readers(m, role) || role WHERE m.id = stored.id;
END
$$;
COMMENT ON FUNCTION fastclust.grant_model IS 'Allows a role to use a model; "public" is everyone.';

CREATE FUNCTION fastclust.revoke_model(model text, role name) RETURNS void
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C;
CREATE FUNCTION fastclust_owner.revoke_model(model text, role name, caller oid) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path FROM CURRENT AS $$
DECLARE
    stored stored_models := locked_model(model, true, false, caller);
BEGIN
    IF role IS NULL THEN
        RAISE null_value_not_allowed USING MESSAGE = 'role must not be NULL';
    ELSIF role <> 'public' AND role <> ALL (stored.readers::name[])
          AND NOT EXISTS (SELECT FROM pg_roles r WHERE r.rolname = role) THEN
        RAISE undefined_object USING MESSAGE = format('role "%s" does not exist', role),
            HINT = 'Column readers of the view models lists the readers. Everyone is "public", in lower case.';
    END IF;
    UPDATE stored_models m SET readers = present_readers(m, role) WHERE m.id = stored.id;
END
$$;
COMMENT ON FUNCTION fastclust.revoke_model IS 'Revokes a role''s right to use a model.';

CREATE FUNCTION fastclust.rename_model(model text, new_name text) RETURNS void
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C;
CREATE FUNCTION fastclust_owner.rename_model(model text, new_name text, caller oid) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path FROM CURRENT AS $$
DECLARE
    stored stored_models := locked_model(model, true, false, caller);
BEGIN
    IF COALESCE(new_name, '') = '' THEN
        RAISE invalid_parameter_value USING MESSAGE = 'new_name must not be NULL or empty';
    END IF;
    IF NOT EXISTS (SELECT FROM stored_models m WHERE m.model = new_name) THEN
        PERFORM claim_name(new_name, true, caller);
    END IF;
    UPDATE stored_models m SET model = new_name WHERE m.id = stored.id;
    -- The live sketch keeps its old name if another session is giving the new name to a live
    -- sketch, because waiting for that session could take long.
    IF lock_name(hashtext(new_name), true, false) THEN
        UPDATE kept_sketches l
           SET name = new_name
         WHERE l.model_id = stored.id
           AND NOT EXISTS (SELECT FROM kept_sketches o WHERE o.name = new_name);
    END IF;
EXCEPTION WHEN unique_violation THEN
    RAISE duplicate_object USING MESSAGE = format('model "%s" exists already', new_name);
END
$$;
COMMENT ON FUNCTION fastclust.rename_model IS 'Renames a model.';
