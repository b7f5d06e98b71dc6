
-- Rights, set when all objects exist

-- The foreign keys do not check inserts, because a parallel restore loads the model tables in any
-- order. The functions that write these tables lock the model's row before they insert. Deletes
-- still cascade.
DO $$
DECLARE
    foreign_key record;
BEGIN
    FOR foreign_key IN
        SELECT t.tgrelid::pg_catalog.regclass AS relation, t.tgname AS name
          FROM pg_catalog.pg_trigger t
         WHERE t.tgconstrrelid OPERATOR(pg_catalog.=)
                   'fastclust_internal.stored_models'::pg_catalog.regclass
           AND t.tgfoid OPERATOR(pg_catalog.=) 'pg_catalog."RI_FKey_check_ins"'::pg_catalog.regproc
    LOOP
        EXECUTE pg_catalog.format('ALTER TABLE %s DISABLE TRIGGER %I', foreign_key.relation, foreign_key.name);
    END LOOP;
END
$$;

-- The owner of the database may dump the tables. It may restore models of roles whose rights it
-- has, and live sketches of tables that belong to such roles. The trigger rejects other rows.
CREATE FUNCTION fastclust_owner.check_restored_row() RETURNS trigger
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    own boolean;
BEGIN
    IF TG_TABLE_NAME = 'stored_models' THEN
        own := pg_has_role(role_id(NEW.owner), 'USAGE');
    ELSIF TG_TABLE_NAME = 'kept_sketches' THEN
        own := EXISTS (SELECT FROM pg_class c
                        WHERE c.oid = NEW.relation AND pg_has_role(c.relowner, 'USAGE'))
               AND (NEW.model_id IS NULL
                    OR EXISTS (SELECT FROM own_models m WHERE m.id = NEW.model_id));
    ELSIF TG_TABLE_NAME = 'label_tables' THEN      -- role followed_by updates the labels
        own := EXISTS (SELECT FROM own_models m WHERE m.id = NEW.model_id)
               AND pg_has_role(role_id(NEW.followed_by), 'USAGE');
    ELSE
        own := EXISTS (SELECT FROM own_models m WHERE m.id = NEW.model_id);
    END IF;
    IF own IS NOT TRUE THEN
        RAISE insufficient_privilege USING
            MESSAGE = format('%s cannot restore rows of %s that belong to other roles',
                             current_user, TG_TABLE_NAME),
            HINT = 'Restore as a superuser, or as a member of the roles that own models.';
    END IF;
    RETURN NEW;
END
$$;
DO $$
DECLARE
    restored record;
    owner text := (SELECT CASE WHEN pg_catalog.current_setting('server_version_num')::int >= 140000
                                   THEN 'pg_database_owner'
                               ELSE pg_catalog.pg_get_userbyid(d.datdba) END
                     FROM pg_catalog.pg_database d
                    WHERE d.datname = pg_catalog.current_database());
BEGIN
    FOR restored IN
        SELECT c.oid::pg_catalog.regclass AS id, c.relkind AS kind
          FROM pg_catalog.pg_extension e, pg_catalog.pg_class c
         WHERE e.extname = 'fastclust' AND c.oid = ANY (e.extconfig)
    LOOP
        IF restored.kind = 'S' THEN
            EXECUTE pg_catalog.format('GRANT SELECT, UPDATE ON SEQUENCE %s TO %I', restored.id, owner);
        ELSE
            EXECUTE pg_catalog.format('GRANT SELECT, INSERT ON %s TO %I', restored.id, owner);
            EXECUTE pg_catalog.format(
                        'CREATE TRIGGER restore BEFORE INSERT ON %1$s FOR EACH ROW WHEN'
                        ' (NOT has_table_privilege(''fastclust_internal.%1$s'', ''UPDATE''))'
                            ' EXECUTE FUNCTION check_restored_row()',
                        restored.id);
            -- ALWAYS: a role may have the right to set session_replication_role
            EXECUTE pg_catalog.format('ALTER TABLE %s ENABLE ALWAYS TRIGGER restore', restored.id);
        END IF;
    END LOOP;
END
$$;

-- Raises an error if the new owner of a model is not an existing role. The trigger is not called
-- for INSERT, so a restore may store the name of a role that does not exist.
CREATE FUNCTION fastclust_owner.check_new_owner() RETURNS trigger
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles r WHERE r.oid = role_id(NEW.owner)) THEN
        RAISE undefined_object USING MESSAGE = format('role "%s" does not exist', NEW.owner),
            HINT = format('Model "%s" keeps its owner. Create the role first, or name another one.',
                          NEW.model);
    END IF;
    RETURN NEW;
END
$$;
CREATE TRIGGER new_owner BEFORE UPDATE OF owner ON stored_models
    FOR EACH ROW EXECUTE FUNCTION check_new_owner();

-- Trigger functions are in fastclust_owner, too: a role could otherwise use them on its own table,
-- whose rows may have types with casts that are the role's code. The exception is live_change,
-- because keep_sketch makes its triggers with the rights of the caller.
REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA fastclust_owner FROM PUBLIC;
