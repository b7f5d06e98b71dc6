
-- Names from version to version: a name belongs to the identity of its cluster. A cluster of the
-- next version that continues a named cluster has the same identity, and so the same name.

-- Gives clusters of the version `made`, which is not current yet, the identities of the clusters of
-- the current version that they continue. Clusters are matched by the rows that they share, because
-- the columns or encoders of the versions differ and their centroids cannot be compared.
--
-- scanned is the relation of the new version. rows has the FROM and WHERE clauses for some rows of
-- the relation, with the alias t. If the current version cannot read these rows, all clusters of
-- the new version are treated as new.
CREATE FUNCTION fastclust_internal.continue_by_rows(id bigint, made integer,
        scanned regclass, rows text)
    RETURNS void
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    stored stored_models := (SELECT m FROM readable_models m WHERE m.id = $1);
    one record;
BEGIN
    PERFORM check_stored_scan(stored, ROW(v.*)::stored_versions, scanned, v.features, false)
       FROM readable_versions v
      WHERE v.model_id = stored.id AND v.version = stored.version
      LIMIT 1;
    FOR one IN
        EXECUTE format(
                    $query$
        WITH labelled AS (
                 SELECT %s AS group_value,
                        predict($1, t.*, group_value => NULL::text, version => $2) AS a,
                        predict($1, t.*, group_value => NULL::text, version => $3) AS b %s),
             counted AS (
                 SELECT l.group_value, l.a, l.b, count(*)::float8 AS n FROM labelled l
                  WHERE l.a IS NOT NULL AND l.b IS NOT NULL
                  GROUP BY 1, 2, 3)
        SELECT c.group_value, array_agg(c.a) AS a, array_agg(c.b) AS b, array_agg(c.n) AS n
          FROM counted c
         GROUP BY 1$query$,
                    CASE WHEN stored.group_by IS NULL THEN $empty$''$empty$
                         ELSE format('group_of($1, $3, t.%I)', stored.group_by) END,
                    rows)
            USING stored.model, stored.version, made
    LOOP
        PERFORM write_identities(stored.id, made, one.group_value,
                                 (SELECT array_agg(COALESCE(c.old, c.own) ORDER BY c.i)
                                    FROM unnest(after.identities,
                                                continued_identities(
                                                    ROW(before.*)::stored_versions,
                                                    ROW(after.*)::stored_versions, one.a, one.b,
                                                    one.n))
                                             WITH ORDINALITY c(own, old, i)))
           FROM readable_versions before JOIN readable_versions after USING (model_id, group_value)
          WHERE model_id = stored.id
            AND group_value = one.group_value
            AND before.version = stored.version
            AND after.version = made;
    END LOOP;
EXCEPTION
    WHEN transaction_rollback THEN
        RAISE;
    WHEN OTHERS THEN
        RAISE DEBUG 'clusters of model "%" get new identities: %', stored.model, SQLERRM;
END
$$;

-- Warns about named clusters of the current version that no cluster of the version `made`
-- continues.
CREATE FUNCTION fastclust_internal.warn_lost_names(id bigint, made integer) RETURNS void
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    stored stored_models := (SELECT m FROM readable_models m WHERE m.id = $1);
    lost text := (SELECT string_agg(format('%s%s, "%s"',
                                           CASE WHEN v.group_value <> ''
                                                    THEN format('group "%s": ', v.group_value) END,
                                           u.cluster, n.name),
                                    '; ' ORDER BY v.group_value, u.cluster)
                    FROM readable_names n
                    JOIN readable_versions v USING (model_id, group_value),
                         unnest(cluster_numbers(v.operator), v.identities) u(cluster, identity)
                   WHERE n.model_id = stored.id
                     AND v.version = stored.version
                     AND u.identity = n.identity
                     AND NOT EXISTS (SELECT FROM readable_versions m
                                      WHERE m.model_id = stored.id
                                        AND m.version = made
                                        AND m.group_value = v.group_value
                                        AND n.identity = ANY (m.identities)));
BEGIN
    IF lost IS NOT NULL THEN
        RAISE WARNING USING
            MESSAGE = format('named clusters of model "%s" are gone: %s', stored.model, lost),
            DETAIL = format('No cluster of version %s continues one of them.', made),
            HINT = format('To name the new clusters, use name_cluster; use_version goes back to version %s, which has the old ones.',
                          stored.version);
    END IF;
END
$$;
