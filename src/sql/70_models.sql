
-- models: tables, who may read and change them, views for people

-- Whoever owns the schema could add functions to it that calls from here would take for closer matches.
DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_catalog.pg_namespace n JOIN pg_catalog.pg_roles r ON r.oid = n.nspowner
                    WHERE n.nspname = '@extschema@' AND (r.rolsuper OR r.rolname = current_user)) THEN
        RAISE insufficient_privilege USING MESSAGE = 'schema @extschema@ belongs to a role that is not a superuser',
            HINT = 'Drop it, or ALTER SCHEMA @extschema@ OWNER TO CURRENT_USER.';
    END IF;
END
$$;

-- Roles are kept by name, so that dumps restore anywhere, and held by oid: a later role of the name is another.  Generated
-- columns are not dumped: a restore looks the names up anew.  Declared immutable because what is generated must be.
CREATE FUNCTION role_ids(roles name[]) RETURNS oid[]
    LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT COALESCE(array_agg(CASE WHEN u.role = 'public' THEN 0::oid ELSE r.oid END ORDER BY u.i), '{}')
      FROM unnest(roles) WITH ORDINALITY u(role, i) LEFT JOIN pg_roles r ON r.rolname = u.role
$$;

CREATE TABLE models (
    model text PRIMARY KEY CHECK (model <> ''),
    owner name NOT NULL DEFAULT current_user,
    owner_id oid GENERATED ALWAYS AS ((role_ids(ARRAY[owner]))[1]) STORED,
    readers name[] NOT NULL DEFAULT '{}',
    reader_ids oid[] GENERATED ALWAYS AS (role_ids(readers)) STORED,
    version integer,
    group_by name,
    created_at timestamptz NOT NULL DEFAULT now(),
    removed boolean NOT NULL DEFAULT false);
COMMENT ON TABLE models IS 'the models: who owns and may read them, and the version that serves';
COMMENT ON COLUMN models.readers IS 'roles that may use the model; "public" is everyone';
COMMENT ON COLUMN models.owner_id IS 'the role that had the name of owner when it was set';
COMMENT ON COLUMN models.version IS 'the version that predict uses';
COMMENT ON COLUMN models.group_by IS 'the column whose values have a model each';
COMMENT ON COLUMN models.removed IS 'set it and the row goes';

CREATE TABLE model_versions (
    model text NOT NULL REFERENCES models ON DELETE CASCADE ON UPDATE CASCADE,
    version integer NOT NULL,
    group_value text NOT NULL DEFAULT '',
    method text NOT NULL,
    note text,
    relation text NOT NULL,
    features name[] NOT NULL,
    vector boolean NOT NULL,
    k integer NOT NULL,
    options jsonb NOT NULL,
    operator fastop NOT NULL,
    center double precision[],
    scale double precision[],
    map kernel_map,
    spec sketch_spec,
    training_sketch sketch,
    null_moments double precision[],
    spreads double precision[],
    distance_quantiles double precision[],
    n bigint NOT NULL,
    objective double precision,
    trained_by name NOT NULL DEFAULT current_user,
    started_at timestamptz NOT NULL,
    trained_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    removed boolean NOT NULL DEFAULT false,
    PRIMARY KEY (model, version, group_value));
COMMENT ON TABLE model_versions IS 'what was trained: one row per version (and group) of a model';
COMMENT ON COLUMN model_versions.relation IS 'the table the rows came from, qualified and quoted';
COMMENT ON COLUMN model_versions.vector IS 'features is one column of vectors, not a list of columns of numbers';
COMMENT ON COLUMN model_versions.operator IS 'the centroids, in units of (x - center) / scale';
COMMENT ON COLUMN model_versions.map IS 'kernel features that the operator takes instead of rows';
COMMENT ON COLUMN model_versions.spreads IS 'deviation per dimension of each cluster, in units of scale';
COMMENT ON COLUMN model_versions.null_moments IS 'tr S^2 and tr S^3 of the moments of a row: the spread of drift when nothing has changed';
COMMENT ON COLUMN model_versions.distance_quantiles IS 'of distances of training rows, at 1 - (1 - i / 200)^2';
COMMENT ON COLUMN model_versions.removed IS 'set it and the row goes';
COMMENT ON COLUMN model_versions.objective IS 'mean squared distance of a row to its centroid, in units of scale';

CREATE TABLE training_log (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    model text NOT NULL REFERENCES models ON DELETE CASCADE ON UPDATE CASCADE,
    version integer NOT NULL,
    step text NOT NULL,
    objective double precision,
    seconds double precision,
    note text,
    at timestamptz NOT NULL DEFAULT clock_timestamp());
CREATE INDEX ON training_log (model, version);
COMMENT ON TABLE training_log IS 'the steps of each training';

-- A parallel restore loads these tables in any order: inserts are not checked against models, which row-level security
-- does for all but superusers.  Deletes and new names still cascade.
DO $$
DECLARE
    part record;
BEGIN
    FOR part IN SELECT t.tgrelid::pg_catalog.regclass AS relation, t.tgname AS name FROM pg_catalog.pg_trigger t
                 WHERE t.tgrelid IN ('@extschema@.model_versions'::pg_catalog.regclass, '@extschema@.training_log'::pg_catalog.regclass)
                   AND t.tgfoid = 'pg_catalog."RI_FKey_check_ins"'::pg_catalog.regproc LOOP
        EXECUTE pg_catalog.format('ALTER TABLE %s DISABLE TRIGGER %I', part.relation, part.name);
    END LOOP;
END
$$;

SELECT pg_catalog.pg_extension_config_dump('models', '');
SELECT pg_catalog.pg_extension_config_dump('model_versions', '');
SELECT pg_catalog.pg_extension_config_dump('training_log', '');
SELECT pg_catalog.pg_extension_config_dump('training_log_id_seq', '');

-- rights: the owner and members of it change a model, they and its readers read it

CREATE FUNCTION is_member_of(role oid) RETURNS boolean
    LANGUAGE sql STABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT EXISTS (SELECT FROM pg_roles r WHERE r.oid = role AND pg_has_role(current_user, r.oid, 'USAGE'))
        OR (SELECT r.rolsuper FROM pg_roles r WHERE r.rolname = current_user)
$$;
CREATE FUNCTION may_read_model(owner_id oid, reader_ids oid[]) RETURNS boolean
    LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, @extschema@, pg_temp AS $$
    SELECT is_member_of(owner_id) OR 0 = ANY (reader_ids)
        OR EXISTS (SELECT FROM unnest(reader_ids) r WHERE is_member_of(r))
$$;
CREATE FUNCTION may_change_model(model_name text) RETURNS boolean
    LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, @extschema@, pg_temp AS $$
    SELECT EXISTS (SELECT FROM models m WHERE m.model = model_name AND is_member_of(m.owner_id))
$$;

ALTER TABLE models ENABLE ROW LEVEL SECURITY;
ALTER TABLE model_versions ENABLE ROW LEVEL SECURITY;
ALTER TABLE training_log ENABLE ROW LEVEL SECURITY;
CREATE POLICY read ON models FOR SELECT USING (may_read_model(owner_id, reader_ids));
CREATE POLICY make ON models FOR INSERT WITH CHECK (is_member_of(owner_id));
CREATE POLICY change ON models FOR UPDATE USING (is_member_of(owner_id)) WITH CHECK (is_member_of(owner_id));
CREATE POLICY remove ON models FOR DELETE USING (is_member_of(owner_id));
CREATE POLICY read ON model_versions FOR SELECT USING (EXISTS (SELECT FROM models m WHERE m.model = model_versions.model));
CREATE POLICY make ON model_versions FOR INSERT WITH CHECK (may_change_model(model));
CREATE POLICY change ON model_versions FOR UPDATE USING (may_change_model(model)) WITH CHECK (may_change_model(model));
CREATE POLICY remove ON model_versions FOR DELETE USING (may_change_model(model));
CREATE POLICY read ON training_log FOR SELECT USING (may_change_model(model));
CREATE POLICY make ON training_log FOR INSERT WITH CHECK (may_change_model(model));
CREATE POLICY remove ON training_log FOR DELETE USING (may_change_model(model));
GRANT SELECT, INSERT ON models, model_versions, training_log TO PUBLIC;
GRANT SELECT ON SEQUENCE training_log_id_seq TO PUBLIC;    -- pg_dump by the owner of a database reads it

-- Whoever may update or delete in a whole table may lock it, whatever its policies: updates are granted by column, and
-- deletes to nobody.  A row is marked as removed, which the policy for updates has to let through, and this deletes it.
DO $$
DECLARE
    part record;
BEGIN
    FOR part IN SELECT a.attrelid::pg_catalog.regclass AS relation, pg_catalog.string_agg(pg_catalog.quote_ident(a.attname), ', ') AS columns
                  FROM pg_catalog.pg_attribute a
                 WHERE a.attrelid IN ('@extschema@.models'::pg_catalog.regclass, '@extschema@.model_versions'::pg_catalog.regclass)
                   AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '' GROUP BY 1 LOOP
        EXECUTE pg_catalog.format('GRANT UPDATE (%s) ON %s TO PUBLIC', part.columns, part.relation);
    END LOOP;
END
$$;
CREATE FUNCTION delete_removed() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, @extschema@, pg_temp AS $$
BEGIN
    IF TG_RELID = 'models'::regclass THEN
        DELETE FROM models m WHERE m.model = NEW.model;
    ELSIF TG_RELID = 'model_versions'::regclass THEN
        DELETE FROM model_versions v WHERE v.model = NEW.model AND v.version = NEW.version AND v.group_value = NEW.group_value;
    END IF;
    RETURN NULL;
END
$$;
REVOKE EXECUTE ON FUNCTION delete_removed() FROM PUBLIC;   -- nobody has it run for a table of his own
CREATE TRIGGER delete_removed AFTER INSERT OR UPDATE ON models
    FOR EACH ROW WHEN (NEW.removed) EXECUTE FUNCTION delete_removed();
CREATE TRIGGER delete_removed AFTER INSERT OR UPDATE ON model_versions
    FOR EACH ROW WHEN (NEW.removed) EXECUTE FUNCTION delete_removed();

-- internal: what the model functions share

CREATE FUNCTION match_clusters(old fastop, old_center double precision[], old_scale double precision[],
        new fastop, new_center double precision[], new_scale double precision[]) RETURNS integer[]
    AS 'MODULE_PATHNAME', 'fastclust_match_clusters' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION nearest_others(op fastop, OUT cluster integer, OUT nearest integer, OUT distance double precision) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_nearest_others' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION match_labels(counts double precision[], k_old integer) RETURNS integer[]
    AS 'MODULE_PATHNAME', 'fastclust_match_labels' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION renumber(op fastop, numbers integer[]) RETURNS fastop
    AS 'MODULE_PATHNAME', 'fastclust_renumber' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION standardize(x double precision[], center double precision[], scale double precision[]) RETURNS double precision[]
    AS 'MODULE_PATHNAME', 'fastclust_standardize' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION spec_in_units(spec sketch_spec, center double precision[], scale double precision[], shared boolean) RETURNS sketch_spec
    AS 'MODULE_PATHNAME', 'fastclust_spec_in_units' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION row_bit(place tid, n integer) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_row_bit' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION null_moments(parts sketch[]) RETURNS double precision[]
    AS 'MODULE_PATHNAME', 'fastclust_null_moments' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION drift_test(training sketch, s sketch, null_moments double precision[],
        OUT mmd2 double precision, OUT null_sd double precision, OUT p_value double precision)
    AS 'MODULE_PATHNAME', 'fastclust_drift_test' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
CREATE FUNCTION fit_residual(s sketch, op fastop, center double precision[], scale double precision[],
        spreads double precision[]) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_fit_residual' LANGUAGE C IMMUTABLE PARALLEL SAFE;

-- An option that is not known is an error that lists the known ones.
CREATE FUNCTION check_options(options jsonb, known text[]) RETURNS void
    LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    key text;
BEGIN
    IF options IS NULL OR jsonb_typeof(options) <> 'object' THEN
        RAISE invalid_parameter_value USING MESSAGE = 'options must be a JSON object';
    END IF;
    FOR key IN SELECT o.key FROM jsonb_object_keys(options) o(key) WHERE o.key <> ALL (known) LIMIT 1 LOOP
        RAISE invalid_parameter_value USING MESSAGE = format('option "%s" is not known', key),
            HINT = format('Options are %s.', array_to_string(known, ', '));
    END LOOP;
END
$$;

-- A number of the options within its range, or the default.
CREATE FUNCTION number_option(options jsonb, name text, value double precision, lowest double precision, highest double precision)
    RETURNS double precision
    LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF COALESCE(jsonb_typeof(options -> name), 'null') = 'null' THEN
        RETURN value;
    ELSIF jsonb_typeof(options -> name) <> 'number' THEN
        RAISE invalid_parameter_value USING MESSAGE = format('option "%s" must be a number', name);
    ELSIF (options ->> name)::float8 NOT BETWEEN lowest AND highest THEN
        RAISE invalid_parameter_value USING MESSAGE = format('option "%s" is %s, out of range', name, options ->> name),
            DETAIL = format('It may be from %s to %s.', lowest, highest);
    END IF;
    RETURN (options ->> name)::float8;
END
$$;

-- The same for a whole number.
CREATE FUNCTION whole_option(options jsonb, name text, value double precision, lowest double precision, highest double precision)
    RETURNS bigint
    LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, @extschema@, pg_temp AS $$
DECLARE
    number float8 := number_option(options, name, value, lowest, highest);
BEGIN
    IF number <> trunc(number) THEN
        RAISE invalid_parameter_value USING MESSAGE = format('option "%s" is %s, not a whole number', name, options ->> name);
    END IF;
    RETURN number;
END
$$;

CREATE FUNCTION flag_option(options jsonb, name text, value boolean) RETURNS boolean
    LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF COALESCE(jsonb_typeof(options -> name), 'null') = 'null' THEN
        RETURN value;
    ELSIF jsonb_typeof(options -> name) <> 'boolean' THEN
        RAISE invalid_parameter_value USING MESSAGE = format('option "%s" must be true or false', name);
    END IF;
    RETURN (options ->> name)::boolean;
END
$$;

CREATE FUNCTION text_option(options jsonb, name text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF COALESCE(jsonb_typeof(options -> name), 'null') NOT IN ('null', 'string') THEN
        RAISE invalid_parameter_value USING MESSAGE = format('option "%s" must be a string', name);
    END IF;
    RETURN options ->> name;
END
$$;

-- A model the caller may read; else the error that says so.
CREATE FUNCTION readable_model(model_name text) RETURNS models
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, @extschema@, pg_temp AS $$
DECLARE
    found_model models;
BEGIN
    IF model_name IS NULL THEN
        RAISE null_value_not_allowed USING MESSAGE = 'model must not be NULL';
    END IF;
    SELECT * INTO found_model FROM models m WHERE m.model = model_name;
    IF NOT FOUND THEN
        RAISE undefined_object USING MESSAGE = format('model "%s" does not exist', model_name),
            HINT = 'A model of another role can be read after grant_model.';
    END IF;
    RETURN found_model;
END
$$;

-- The same for one the caller may change, and nobody else until the end of the transaction.
CREATE FUNCTION lock_model(model_name text, wait boolean DEFAULT true) RETURNS models
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, pg_temp AS $$
DECLARE
    found_model models := readable_model(model_name);
BEGIN
    IF is_member_of(COALESCE(found_model.owner_id, 0)) IS NOT TRUE THEN
        RAISE insufficient_privilege USING MESSAGE = format('model "%s" belongs to %s', model_name, found_model.owner),
            HINT = 'Only its owner and members of it may change a model.';
    END IF;
    IF wait THEN
        SELECT * INTO found_model FROM models m WHERE m.model = model_name FOR UPDATE;
    ELSE
        SELECT * INTO found_model FROM models m WHERE m.model = model_name FOR UPDATE NOWAIT;
    END IF;
    IF NOT FOUND THEN
        RAISE undefined_object USING MESSAGE = format('model "%s" was dropped meanwhile', model_name);
    END IF;
    RETURN found_model;
EXCEPTION WHEN lock_not_available THEN
    RAISE lock_not_available USING MESSAGE = format('model "%s" is being trained by another session', model_name),
        HINT = 'Leave out the option nowait to wait for it.';
END
$$;

-- internal: centroids in the units of the rows, with their neighbours.  Whoever shares a model may have written any
-- numbers into its rows: what cannot be computed is told in a warning, and hides no other model.  All rows are computed
-- before the first is returned (the count needs them all): servers differ in what they keep of a query that fails midway.
CREATE FUNCTION version_cluster_rows(model text, n bigint, op fastop, mapped boolean, center double precision[], scale double precision[],
        spreads double precision[], OUT cluster integer, OUT size bigint, OUT share double precision, OUT centroid double precision[],
        OUT spread double precision, OUT nearest_cluster integer, OUT nearest_distance double precision)
    RETURNS SETOF record
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, @extschema@, pg_temp AS $$
BEGIN
    RETURN QUERY WITH shown AS MATERIALIZED (
    SELECT c.cluster, round(n * c.weight / NULLIF(t.total, 0))::bigint, c.weight / NULLIF(t.total, 0),
           CASE WHEN mapped THEN NULL
                WHEN scale IS NULL THEN c.centroid
                ELSE (SELECT array_agg(u.x * u.s + u.m ORDER BY u.i)
                        FROM unnest(c.centroid, scale, center) WITH ORDINALITY u(x, s, m, i)) END,
           spreads[c.cluster + 1], c.nearest, c.distance
      FROM (SELECT sum(w.weight) AS total FROM centroids(op) w) t
     CROSS JOIN LATERAL ROWS FROM (centroids(op), nearest_others(op)) c(cluster, centroid, weight, same, nearest, distance))
    SELECT * FROM shown WHERE (SELECT count(*) FROM shown) > 0;
EXCEPTION WHEN OTHERS THEN
    RAISE WARNING USING MESSAGE = format('the clusters of model "%s" cannot be shown', model), DETAIL = SQLERRM;
END
$$;

CREATE FUNCTION model_cluster_rows(OUT model text, OUT group_value text, OUT cluster integer, OUT size bigint,
        OUT share double precision, OUT centroid double precision[], OUT spread double precision,
        OUT nearest_cluster integer, OUT nearest_distance double precision)
    RETURNS SETOF record
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, pg_temp AS $$
    SELECT m.model, CASE WHEN m.group_by IS NOT NULL THEN v.group_value END, c.*
      FROM models m
      JOIN model_versions v ON v.model = m.model AND v.version = m.version
     CROSS JOIN LATERAL version_cluster_rows(m.model, v.n, v.operator, v.map IS NOT NULL, v.center, v.scale, v.spreads) c
$$;

CREATE FUNCTION model_summary_rows(OUT model text, OUT owner name, OUT version integer, OUT versions bigint, OUT method text,
        OUT relation text, OUT features name[], OUT group_by name, OUT groups bigint, OUT k integer, OUT dim integer,
        OUT n bigint, OUT objective double precision, OUT trained_at timestamptz, OUT note text)
    RETURNS SETOF record
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, pg_temp AS $$
    SELECT m.model, COALESCE((SELECT r.rolname FROM pg_roles r WHERE r.oid = m.owner_id), m.owner), m.version,
           (SELECT count(DISTINCT o.version) FROM model_versions o WHERE o.model = m.model),
           min(v.method), min(v.relation), min(v.features::text)::name[], m.group_by,
           CASE WHEN m.group_by IS NOT NULL THEN count(v.model) END, max(v.k), max(dim(v.operator)),
           least(greatest(sum(v.n), -9223372036854775808), 9223372036854775807)::bigint,
           sum(v.objective * v.n) FILTER (WHERE v.objective = 0 OR abs(v.objective) BETWEEN 1e-280 AND 1e280) / NULLIF(sum(v.n), 0),
           max(v.trained_at), min(v.note)
      FROM models m
      LEFT JOIN model_versions v ON v.model = m.model AND v.version = m.version
     GROUP BY m.model
$$;

-- Functions, so that the rights are those of who reads the view, on every server version.
CREATE VIEW model_clusters AS SELECT * FROM model_cluster_rows();
COMMENT ON VIEW model_clusters IS 'the clusters that serve: size, share, centroid in units of the rows, spread, nearest other cluster';
CREATE VIEW model_summary AS SELECT * FROM model_summary_rows();
COMMENT ON VIEW model_summary IS 'one row per model: what serves and how it was trained';
GRANT SELECT ON model_clusters, model_summary TO PUBLIC;

-- sharing and removing

-- internal: readers by their names of today, without one, and without those that are no more
CREATE FUNCTION present_readers(held models, but name) RETURNS name[]
    LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT COALESCE(array_agg(q.name ORDER BY q.i) FILTER (WHERE q.name <> but), '{}')
      FROM (SELECT u.i, CASE WHEN u.id = 0 THEN 'public' ELSE r.rolname END AS name
              FROM unnest(held.reader_ids) WITH ORDINALITY u(id, i) LEFT JOIN pg_roles r ON r.oid = u.id) q
$$;

CREATE FUNCTION grant_model(model text, role name) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, pg_temp AS $$
BEGIN
    PERFORM lock_model($1);
    IF role IS NULL OR (role <> 'public' AND NOT EXISTS (SELECT FROM pg_roles r WHERE r.rolname = role)) THEN
        RAISE undefined_object USING MESSAGE = format('role "%s" does not exist', role);
    END IF;
    UPDATE models m SET readers = present_readers(m, $2) || $2 WHERE m.model = $1;
END
$$;
COMMENT ON FUNCTION grant_model(text, name) IS 'let a role (or "public") use a model';

CREATE FUNCTION revoke_model(model text, role name) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, pg_temp AS $$
BEGIN
    PERFORM lock_model($1);
    UPDATE models m SET readers = present_readers(m, $2) WHERE m.model = $1;
END
$$;
COMMENT ON FUNCTION revoke_model(text, name) IS 'take that back';

CREATE FUNCTION drop_model(model text) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, pg_temp AS $$
BEGIN
    PERFORM lock_model($1);
    UPDATE models m SET removed = true WHERE m.model = $1;
END
$$;
COMMENT ON FUNCTION drop_model(text) IS 'remove a model with all its versions';
