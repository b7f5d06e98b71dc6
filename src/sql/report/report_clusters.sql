
-- Report: the sections about the clusters

-- A cluster in the report.
--     x, y              coordinates on the two principal axes of the centroids
--     shown_x, shown_y  share of the squared distances between centroids that each axis shows
--     weight            sum of the weights of the rows; NULL without option row_weight
CREATE TYPE fastclust_internal.report_cluster AS (
    cluster integer, name text, size bigint, share double precision, spread double precision,
    nearest integer, distance double precision, x double precision, y double precision,
    shown_x double precision, shown_y double precision, weight double precision);

-- Returns the coordinates of the clusters on their two principal axes, and the share of the squared
-- distances to their mean that each axis shows.
CREATE FUNCTION fastclust_internal.cluster_places(op fastop, OUT cluster integer,
        OUT x double precision, OUT y double precision, OUT shown_x double precision,
        OUT shown_y double precision)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_cluster_places' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

-- Returns the clusters of a version, largest first.
CREATE FUNCTION fastclust_internal.report_clusters(stored stored_models, version stored_versions)
    RETURNS report_cluster[]
    LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
    SELECT array_agg(ROW(c.cluster, NULLIF(n.name, format('cluster %s', c.cluster)), c.size,
                         c.share, c.spread, c.nearest_cluster, c.nearest_distance, p.x, p.y,
                         p.shown_x, p.shown_y,
                         CASE WHEN version.cluster_rows IS NOT NULL THEN c.weight END
                        )::report_cluster ORDER BY c.share DESC, c.cluster)
      FROM version_cluster_rows(stored.model,
                                CASE WHEN version.micro_clusters IS NULL THEN version.n END,
                                version.operator, true, NULL, NULL, version.spreads,
                                version.cluster_rows) c
      LEFT JOIN cluster_places(version.operator) p USING (cluster)
      LEFT JOIN version_names(version) n USING (cluster)
$$;

-- Returns the label to display for a cluster: its number and, if it has one, its name, cut to
-- max_length characters.
CREATE FUNCTION fastclust_internal.cluster_label(cluster integer, name text, max_length integer)
    RETURNS text
    LANGUAGE sql IMMUTABLE SET search_path FROM CURRENT AS $$
    SELECT CASE WHEN name IS NULL THEN cluster::text
                ELSE concat(cluster, ' ',
                            CASE WHEN length(name) <= max_length THEN name
                                 ELSE left(name, max_length - 1) || '...' END) END
$$;

-- Returns the unit of the clusters' shares: the weights with option row_weight, else the rows.
CREATE FUNCTION fastclust_internal.unit_of_shares(clusters report_cluster[]) RETURNS text
    LANGUAGE sql IMMUTABLE SET search_path FROM CURRENT AS $$
    SELECT CASE WHEN (clusters[1]).weight IS NULL THEN 'rows' ELSE 'weight' END
$$;

-- ---- sizes ----

-- Returns the share of each cluster of the current version in the last twelve stored versions,
-- oldest first; no rows if there is only one version. Clusters of two versions are the same if they
-- have the same identity, even if their numbers differ. The share is NULL for versions without the
-- cluster.
CREATE FUNCTION fastclust_internal.shares_by_version(stored stored_models, group_value text,
        OUT cluster integer, OUT shares double precision[])
    RETURNS SETOF record
    LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
    WITH kept AS (
             SELECT v.version, v.operator, v.identities
               FROM readable_versions v
              WHERE v.model_id = stored.id AND v.version <= stored.version AND v.group_value = $2
              ORDER BY v.version DESC LIMIT 12),
         cluster_shares AS (
             SELECT k.version, u.identity, c.cluster,
                    c.weight / NULLIF(sum(c.weight) OVER (PARTITION BY k.version), 0) AS share
               FROM kept k,
                    unnest(cluster_numbers(k.operator), k.identities) u(cluster, identity)
               JOIN centroids(k.operator) c USING (cluster))
    SELECT s.cluster, array_agg(p.share ORDER BY k.version)
      FROM cluster_shares s
      CROSS JOIN kept k
      LEFT JOIN cluster_shares p ON p.version = k.version AND p.identity = s.identity
     WHERE s.version = stored.version
     GROUP BY 1
    HAVING (SELECT count(*) FROM kept) > 1
$$;

-- Shows the forty largest clusters, and up to a thousand more in a collapsed section.
CREATE FUNCTION fastclust_internal.report_sizes(stored stored_models, version stored_versions,
        clusters report_cluster[])
    RETURNS text
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $$
DECLARE
    n integer := cardinality(clusters);
    largest float8 := (clusters[1]).share;
    history boolean := EXISTS (SELECT FROM shares_by_version(stored, version.group_value));
    classes text[] := (ARRAY['who hang', 'wide-bar', 'n', 'n', 'n wide', 'n wide', 'wide'])[
                          :CASE WHEN history THEN 7 ELSE 6 END];
    tables text[];
BEGIN
    FOR number IN 1 .. 2 LOOP
        tables[number] :=
            (SELECT html_table(
                        classes,
                        (ARRAY['Cluster', '', 'Rows', 'Share', 'Spread', 'Nearest', 'By version'])[
                            :cardinality(classes)],
                        string_agg(
                            html_row(
                                format('cluster-%s', c.cluster), classes,
                                (ARRAY[
                                     concat(format('<span class="id">%s</span>', c.cluster),
                                            html(c.name)),
                                     html_bar(c.share / NULLIF(largest, 0)),
                                     concat(html_value(c.size, 'count'),
                                            CASE WHEN c.weight IS NOT NULL
                                                     THEN ' of weight '
                                                          || html_value(c.weight, 'number') END),
                                     html_value(c.share, 'category'),
                                     html_value(c.spread, 'number'),
                                     CASE WHEN c.nearest IS NULL THEN '&ndash;'
                                          ELSE format('%s at %s', c.nearest,
                                                      html_value(c.distance, 'number')) END,
                                     (SELECT format(
                                                 '<svg class="spark" viewBox="0 0 72 18" role="img" aria-label="share by version"><title>%1$s</title>'
                                                     '<polygon points="0,17 %2$s 69,17"/><polyline points="%2$s"/><circle cx="%3$s" cy="%4$s" r="2.2"/></svg>',
                                                 string_agg(
                                                     html(shown_value(q.share, 'category', false)),
                                                     ' &rarr; ' ORDER BY q.i),
                                                 string_agg(format('%s,%s', svg(q.x), svg(q.y)),
                                                            ' ' ORDER BY q.i),
                                                 svg((array_agg(q.x ORDER BY q.i DESC))[1]),
                                                 svg((array_agg(q.y ORDER BY q.i DESC))[1]))
                                        FROM (SELECT u.i, u.share,
                                                     69.0 * (u.i - 1)
                                                         / greatest(
                                                         1, cardinality(s.shares) - 1) AS x,
                                                     16 - 14 * COALESCE(
                                                         u.share / NULLIF(
                                                             (SELECT max(s)
                                                                FROM unnest(s.shares) s),
                                                             0),
                                                         0) AS y
                                                FROM unnest(s.shares) WITH ORDINALITY u(share, i)
                                               WHERE u.share IS NOT NULL) q
                                      HAVING count(*) > 1)])[:cardinality(classes)]),
                            E'\n' ORDER BY c.share DESC, c.cluster))
               FROM unnest(CASE number WHEN 1 THEN clusters[:40] ELSE clusters[41:1040] END) c
               LEFT JOIN shares_by_version(stored, version.group_value) s ON s.cluster = c.cluster);
    END LOOP;
    RETURN html_section(
               'sizes', 'Clusters',
               concat(
                   'Training rows in each cluster, the largest first. Spread is the typical distance of a row from its centroid along one dimension',
                   CASE WHEN n > 1
                            THEN '; nearest is the closest other cluster and how far its centroid is' END,
                   '.',
                   CASE WHEN version.cluster_rows IS NOT NULL THEN ' Shares are of the weights.' END),
               concat(
                   tables[1],
                   CASE WHEN n > 40 THEN format(
                                             E'\n<details><summary>%s smaller clusters</summary>\n%s</details>',
                                             least(n, 1040) - 40, tables[2]) END,
                   CASE WHEN n > 1040 THEN format(
                                               E'\n<p class="hint"><code>model_clusters</code> shows %s more.</p>',
                                               html_value(n - 1040, 'count')) END));
END
$$;
