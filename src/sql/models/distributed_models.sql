
-- Models on the workers of Citus: the copy that predict reads there
--
-- The coordinator has the models. In the transaction that changes a model, the columns that predict
-- needs are copied into a reference table. Citus commits that table on all nodes or on no node, and
-- copies it to nodes that are added later.

-- The OIDs of roles differ between nodes. Therefore generated columns look up the names of roles on
-- the node that stores the row.
CREATE TABLE fastclust_internal.shared_models (
    model text NOT NULL, owner name NOT NULL,
    owner_id oid GENERATED ALWAYS AS (role_id(owner)) STORED, readers name[] NOT NULL,
    reader_ids oid[] GENERATED ALWAYS AS (role_ids(readers)) STORED, group_by name,
    group_value text NOT NULL, operator fastop NOT NULL, micro_clusters fastop,
    center double precision[], scale double precision[], distance_quantiles double precision[],
    map kernel_map, spreads double precision[], encoder encoder, paths integer[],
    vector boolean NOT NULL, features name[] NOT NULL, options jsonb NOT NULL, group_type text[],
    method text NOT NULL,
    PRIMARY KEY (model, group_value));
COMMENT ON TABLE shared_models IS
    'internal: copies of the current versions on every node of Citus; empty until '
    'distribute_models is called';

-- Returns the version that predict reads on a worker, or no row if the caller may not read the
-- model. The function reads the worker's shard directly, because Citus does not plan queries of
-- distributed tables within the task of a shard.
CREATE FUNCTION fastclust_internal.shared_model(model text, group_value text, OUT group_by name,
        OUT operator fastop, OUT micro_clusters fastop, OUT center double precision[],
        OUT scale double precision[], OUT distance_quantiles double precision[],
        OUT map kernel_map, OUT spreads double precision[], OUT encoder encoder,
        OUT paths integer[], OUT vector boolean, OUT features name[], OUT options jsonb,
        OUT method text)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C STABLE PARALLEL SAFE;
CREATE FUNCTION fastclust_owner.shared_model(model text, group_value text, caller oid,
        OUT group_by name, OUT operator fastop, OUT micro_clusters fastop,
        OUT center double precision[], OUT scale double precision[],
        OUT distance_quantiles double precision[], OUT map kernel_map,
        OUT spreads double precision[], OUT encoder encoder, OUT paths integer[],
        OUT vector boolean, OUT features name[], OUT options jsonb, OUT method text)
    RETURNS SETOF record
    LANGUAGE plpgsql STABLE PARALLEL SAFE SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    copied text := (SELECT 'shared_models_' || s.shardid FROM pg_catalog.pg_dist_shard s
                     WHERE s.logicalrelid = 'shared_models'::regclass);
BEGIN
    IF to_regclass('fastclust_internal.' || copied) IS NULL THEN
        RAISE object_not_in_prerequisite_state USING
            MESSAGE = 'models have not reached this node yet',
            HINT = 'Run SELECT replicate_reference_tables() on the coordinator.';
    END IF;
    RETURN QUERY EXECUTE format(
        'SELECT one.group_by, v.operator, v.micro_clusters, v.center, v.scale,
                v.distance_quantiles, v.map, v.spreads, v.encoder, v.paths, v.vector,
                v.features, v.options, v.method
           FROM (SELECT * FROM fastclust_internal.%1$I m WHERE m.model = $2 LIMIT 1) one
           LEFT JOIN fastclust_internal.%1$I v
                  ON v.model = one.model AND v.group_value = $3
          WHERE is_member($1, one.owner_id) OR 0 = ANY (one.reader_ids)
             OR EXISTS (SELECT FROM unnest(one.reader_ids) r WHERE is_member($1, r))',
        copied) USING caller, model, group_value;
END
$$;

-- Returns the groups of the version that shared_model reads, or no rows if the caller may not read
-- it.
CREATE FUNCTION fastclust_internal.shared_groups(model text, OUT group_value text,
        OUT group_type text[])
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C STABLE PARALLEL SAFE;
CREATE FUNCTION fastclust_owner.shared_groups(model text, caller oid, OUT group_value text,
        OUT group_type text[])
    RETURNS SETOF record
    LANGUAGE plpgsql STABLE PARALLEL SAFE SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    copied text := (SELECT 'shared_models_' || s.shardid FROM pg_catalog.pg_dist_shard s
                     WHERE s.logicalrelid = 'shared_models'::regclass);
BEGIN
    RETURN QUERY EXECUTE format(
        'SELECT v.group_value, v.group_type FROM fastclust_internal.%I v
          WHERE v.model = $2
            AND (is_member($1, v.owner_id) OR 0 = ANY (v.reader_ids)
                 OR EXISTS (SELECT FROM unnest(v.reader_ids) r WHERE is_member($1, r)))',
        copied) USING caller, model;
END
$$;

-- Copies the current version of a model, or of all models if model_id is NULL, to the reference
-- table. The function is in PL/pgSQL because Citus cannot plan parameters of SQL functions. Rows
-- are inserted one by one because INSERT ... SELECT becomes a COPY, which need not run where the
-- earlier statements of the transaction ran.
CREATE FUNCTION fastclust_internal.write_shared_models(model_id bigint) RETURNS void
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    served record;
BEGIN
    FOR served IN
        SELECT m.model,
               m.owner::name AS owner,
               present_readers(m, '') AS readers, m.group_by, v.group_value, v.operator,
               v.micro_clusters, v.center, v.scale, v.distance_quantiles, v.map, v.spreads,
               v.encoder, v.paths, v.vector, v.features, v.options, v.group_type,
               v.method
          FROM stored_models m JOIN version_groups v ON v.model_id = m.id AND v.version = m.version
         WHERE m.id = write_shared_models.model_id OR write_shared_models.model_id IS NULL
    LOOP
        INSERT INTO shared_models (model, owner, readers, group_by, group_value, operator,
                                   micro_clusters, center, scale, distance_quantiles, map, spreads,
                                   encoder, paths, vector, features, options, group_type,
                                   method)
        VALUES (served.model, served.owner, served.readers, served.group_by, served.group_value,
                served.operator, served.micro_clusters, served.center, served.scale,
                served.distance_quantiles, served.map, served.spreads, served.encoder, served.paths,
                served.vector, served.features, served.options, served.group_type,
                served.method);
    END LOOP;
END
$$;

-- Citus lets only one transaction at a time change a reference table, unless all changes commute.
-- These changes commute: each changes rows of one model, whose row in stored_models its transaction
-- has locked.
CREATE FUNCTION fastclust_owner.share_changed_model() RETURNS trigger
    LANGUAGE plpgsql SET search_path FROM CURRENT SET citus.all_modifications_commutative = on AS $$
DECLARE
    node integer := sharing_node();
BEGIN
    IF node > 0 THEN
        RAISE object_not_in_prerequisite_state USING
            MESSAGE = 'models can only be trained or changed on the coordinator of Citus',
            HINT = 'Call the function there; predict reads the models on every node.';
    ELSIF node = 0 THEN
        IF OLD.version IS NOT NULL THEN
            DELETE FROM shared_models s WHERE s.model = OLD.model;
        END IF;
        IF NEW.version IS NOT NULL THEN
            PERFORM write_shared_models(NEW.id);
        END IF;
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER share AFTER INSERT
OR UPDATE
OR DELETE ON stored_models FOR EACH ROW EXECUTE FUNCTION share_changed_model();

-- Raises an error unless Citus is installed, this node is the coordinator, and the caller owns the
-- extension.
CREATE FUNCTION fastclust_internal.check_distributor() RETURNS void
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    owner oid := relation_owner('shared_models'::regclass);
BEGIN
    IF NOT EXISTS (SELECT FROM pg_extension e WHERE e.extname = 'citus') THEN
        RAISE feature_not_supported USING MESSAGE = 'Citus is not installed in this database',
            HINT = 'Models need to be distributed only with Citus; on a single server, predict reads them anyway.';
    ELSIF NOT is_member(role_id(current_user), owner) THEN
        RAISE insufficient_privilege USING
            MESSAGE = format('the distribution of models can only be changed by %s, the owner of the extension',
                             pg_get_userbyid(owner));
    ELSIF (SELECT l.groupid FROM pg_catalog.pg_dist_local_group l) <> 0 THEN
        RAISE object_not_in_prerequisite_state USING
            MESSAGE = 'the distribution of models can only be changed on the coordinator of Citus';
    END IF;
END
$$;

CREATE FUNCTION fastclust.distribute_models() RETURNS integer
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    PERFORM check_distributor();
    LOCK TABLE stored_models IN SHARE MODE;
    IF sharing_node() IS NULL THEN
        PERFORM create_reference_table('fastclust_internal.shared_models');
    END IF;
    DELETE FROM shared_models;
    PERFORM write_shared_models(NULL);
    RETURN (SELECT count(DISTINCT s.model) FROM shared_models s);
END
$$;
COMMENT ON FUNCTION fastclust.distribute_models IS
    'Copies the models to the workers of Citus, now and after every training, so that predict '
    'can read them there. Returns the number of models.';

-- Citus cannot undistribute a table that is a member of an extension, so the table is removed from
-- the extension meanwhile.
CREATE FUNCTION fastclust.undistribute_models() RETURNS void
    LANGUAGE plpgsql SET search_path FROM CURRENT SET client_min_messages = warning AS $$
BEGIN
    PERFORM check_distributor();
    LOCK TABLE stored_models IN SHARE MODE;
    IF sharing_node() IS NOT NULL THEN
        ALTER EXTENSION fastclust DROP TABLE fastclust_internal.shared_models;
        PERFORM undistribute_table('fastclust_internal.shared_models');
        ALTER EXTENSION fastclust ADD TABLE fastclust_internal.shared_models;
        DELETE FROM shared_models;
    END IF;
END
$$;
COMMENT ON FUNCTION fastclust.undistribute_models IS
    'Removes the copies of the models from the workers of Citus, where predict can no longer '
    'read them.';
