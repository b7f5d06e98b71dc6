
-- Names that users give to clusters. A name belongs to the identity of its cluster. Clusters of
-- later versions that continue this cluster have the same identity.

-- Returns a regular expression for a control character: one that terminals execute, or that changes
-- the direction or the lines of a text. C1 controls and Unicode characters are included only in
-- UTF8 databases, because other encodings have other characters at their codes.
CREATE FUNCTION fastclust_internal.control_character() RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE WHEN getdatabaseencoding() = 'UTF8'
                    THEN E'[\\x01-\\x1f\\x7f-\\x9f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069]'
                ELSE E'[\\x01-\\x1f\\x7f]' END
$$;

CREATE TABLE fastclust_internal.stored_names (
    model_id bigint NOT NULL REFERENCES stored_models ON DELETE CASCADE,
    group_value text NOT NULL DEFAULT '',
    identity bigint NOT NULL,
    name text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 200
                              AND name !~ control_character()),
    named_by role_name NOT NULL,    -- role that named the cluster
    named_at timestamptz NOT NULL DEFAULT clock_timestamp(),    -- time of naming
    PRIMARY KEY (model_id, group_value, identity));
SELECT pg_catalog.pg_extension_config_dump('stored_names', '');
CREATE VIEW fastclust_internal.readable_names WITH (security_barrier) AS
    SELECT n.* FROM readable_models m JOIN stored_names n ON n.model_id = m.id;
GRANT SELECT ON readable_names TO PUBLIC;

-- Returns the clusters of a version, or of one of its groups, that users have named.
CREATE FUNCTION fastclust_internal.given_names(version stored_versions, OUT cluster integer,
        OUT name text)
    RETURNS SETOF record
    LANGUAGE sql STABLE PARALLEL SAFE SET search_path FROM CURRENT AS $$
    SELECT u.cluster, n.name
      FROM unnest(cluster_numbers(version.operator), version.identities) u(cluster, identity)
      JOIN readable_names n USING (identity)
     WHERE n.model_id = version.model_id AND n.group_value = version.group_value
$$;

-- Returns the row of the current version, or of one of its groups. Models with groups require
-- group_value, others reject it. Raises an error if the version or the group does not exist.
CREATE FUNCTION fastclust_internal.explained_version(stored stored_models, group_value text)
    RETURNS stored_versions
    LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path FROM CURRENT AS $$
DECLARE
    version stored_versions;
BEGIN
    IF (stored.group_by IS NULL) <> (group_value IS NULL) THEN
        RAISE wrong_object_type USING
            MESSAGE = CASE WHEN group_value IS NULL
                               THEN format('model "%s" has one model per group', stored.model)
                           ELSE format('model "%s" has no groups', stored.model) END,
            HINT = CASE WHEN group_value IS NULL THEN 'Name a group: group_value => ''...''.'
                        ELSE 'Leave out group_value.' END;
    END IF;
    SELECT v.* INTO version
      FROM readable_versions v
     WHERE v.model_id = stored.id
       AND v.version = stored.version
       AND v.group_value = COALESCE(explained_version.group_value, '');
    IF NOT FOUND AND group_value IS NOT NULL THEN
        RAISE undefined_object USING
            MESSAGE = format('model "%s" has no group "%s"', stored.model, group_value),
            HINT = (SELECT format('Its groups: %s%s.',
                                  string_agg(
                                      format('"%s"', g.group_value), ', ' ORDER BY g.group_value),
                                  CASE WHEN max(g.groups) > 5
                                           THEN format(' and %s more', max(g.groups) - 5)
                                       ELSE '' END)
                      FROM (SELECT v.group_value, count(*) OVER () AS groups
                              FROM readable_versions v
                             WHERE v.model_id = stored.id AND v.version = stored.version
                             ORDER BY 1 LIMIT 5) g);
    ELSIF NOT FOUND THEN
        RAISE undefined_object USING
            MESSAGE = format('model "%s" has no current version', stored.model),
            HINT = version_hint(stored.model);
    END IF;
    RETURN version;
END
$$;

CREATE FUNCTION fastclust_internal.name_cluster(model text, cluster integer, name text,
        group_value text)
    RETURNS void
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C;
CREATE FUNCTION fastclust_owner.name_cluster(model text, cluster integer, name text,
        group_value text, caller oid)
    RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
DECLARE
    stored stored_models := locked_model(model, true, false, caller);
    version stored_versions := explained_version(stored, group_of($1, -1, group_value));
    bearer bigint := version.identities[array_position(cluster_numbers(version.operator), cluster)];
BEGIN
    IF cluster IS NULL THEN
        RAISE null_value_not_allowed USING MESSAGE = 'cluster must not be NULL';
    ELSIF bearer IS NULL THEN
        RAISE invalid_parameter_value USING
            MESSAGE = format('cluster is %s, out of range', cluster),
            DETAIL = format('Model "%s" has clusters %s.', stored.model,
                            listed_numbers(version.operator));
    ELSIF char_length(name) NOT BETWEEN 1 AND 200 THEN
        RAISE invalid_parameter_value USING
            MESSAGE = format('name has %s characters, out of range', char_length(name)),
            DETAIL = 'A name has from 1 to 200 characters.',
            HINT = CASE WHEN name = '' THEN 'NULL removes the name.' ELSE 'Shorten the name.' END;
    ELSIF name ~ control_character() THEN
        RAISE invalid_parameter_value USING
            MESSAGE = format(E'name contains the control character \\x%s',
                             to_hex(ascii(substring(name FROM control_character())))),
            DETAIL = 'A name must be one line of text.';
    END IF;
    DELETE FROM stored_names n
     WHERE n.model_id = stored.id
       AND n.group_value = version.group_value
       AND n.identity = bearer;
    IF name IS NOT NULL THEN
        INSERT INTO stored_names (model_id, group_value, identity, name, named_by)
        VALUES (stored.id, version.group_value, bearer, $3, pg_get_userbyid(caller));
    END IF;
END
$$;
