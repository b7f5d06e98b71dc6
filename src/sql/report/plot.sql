
-- Plot: a model on a terminal

-- Returns a text that is exactly `width` terminal columns wide: cut, or padded on the right, or on
-- the left if on_the_left is true.
CREATE FUNCTION fastclust_internal.fit_text(value text, width integer, on_the_left boolean)
    RETURNS text
    AS 'MODULE_PATHNAME', 'fastclust_fit_text' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
-- Returns a bar of up to `width` columns for a number from 0 to 1. If two_sided is true, the number
-- is from -1 to 1, and the bar is on the left or right of a line.
CREATE FUNCTION fastclust_internal.bar(x double precision, width integer, two_sided boolean)
    RETURNS text
    AS 'MODULE_PATHNAME', 'fastclust_bar' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

CREATE FUNCTION fastclust_internal.read_plot(model text, group_value text) RETURNS text
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $$
DECLARE
    stored stored_models := readable_model($1);
    version stored_versions := explained_version(stored, $2);
    k integer := clusters(version.operator);
    max_shown CONSTANT integer := 20;
BEGIN
    -- sizes of the clusters and, if centroids have features, the strongest features of each
    -- cluster, in lines of up to 100 columns
    RETURN concat_ws(
               E'\n',
               rtrim(fit_text(format('%s%s, version %s: %s cluster%s of %s rows of %s', stored.model,
                                     CASE WHEN $2 IS NULL THEN '' ELSE format(' (%s)', $2) END,
                                     version.version, k, CASE WHEN k = 1 THEN '' ELSE 's' END,
                                     shown_value(version.n, 'number', false), version.relation),
                              100, false)),
               '',
               (WITH s AS MATERIALIZED (
                         SELECT z.*, n.name, max(z.share) OVER () AS max_share
                           FROM (SELECT c.cluster,
                                        round(clustered_rows(version) * c.weight / t.total)::bigint
                                            AS size,
                                        c.weight / t.total AS share,
                                        row_number() OVER (
                                            ORDER BY c.weight DESC, c.cluster) AS place
                                   FROM centroids(version.operator) c,
                                        (SELECT NULLIF(sum(w.weight), 0) AS total
                                           FROM centroids(version.operator) w) t) z
                           JOIN version_names(version) n USING (cluster))
                SELECT concat_ws(
                           E'\n',
                           fit_text('cluster', 44, false)
                           || fit_text(CASE WHEN version.cluster_rows IS NULL THEN 'rows'
                                            ELSE 'weight' END, 14, true)
                           || fit_text('share', 8, true),
                           (SELECT string_agg(
                                       fit_text(s.cluster::text, 6, true)
                                       || '  '
                                       || fit_text(s.name, 36, false)
                                       || fit_text(
                                              COALESCE(shown_value(s.size, 'number', false), ''),
                                              14, true)
                                       || fit_text(
                                              COALESCE(shown_value(s.share, 'category', false), ''),
                                              8, true)
                                       || '  '
                                       || COALESCE(
                                              bar(s.share / NULLIF(s.max_share, 0), 32, false), ''),
                                       E'\n' ORDER BY s.place)
                              FROM s
                             WHERE s.place <= max_shown),
                           (SELECT E'\n'
                                   || fit_text('', 38, false)
                                   || fit_text('lower than all', 18, true)
                                   || ' '
                                   || fit_text('higher', 16, false)
                                   || fit_text('in cluster', 13, true)
                                   || fit_text('all rows', 14, true)
                                   || E'\n'
                                   || string_agg(c.lines, E'\n' ORDER BY c.place)
                              FROM (SELECT s.place,
                                           fit_text(s.cluster::text, 6, true)
                                           || '  '
                                           || rtrim(fit_text(s.name, 92, false))
                                           || E'\n'
                                           || string_agg(
                                                  fit_text('', 8, false)
                                                  || fit_text(p.label, 31, false)
                                                  || bar(p.difference / 3, 16, true)
                                                  || ' '
                                                  || fit_text(shown_value(p.value, p.kind, false),
                                                              13, true)
                                                  || ' '
                                                  || fit_text(shown_value(p.overall, p.kind, false),
                                                              13, true),
                                                  E'\n' ORDER BY p.place) AS lines
                                      FROM s JOIN version_profile(version, 5) p USING (cluster)
                                     WHERE s.place <= max_shown
                                       AND p.place <= 5
                                       AND p.value IS NOT NULL
                                       AND (abs(p.difference) >= 0.1 OR p.place = 1)
                                     GROUP BY s.place, s.cluster, s.name) c))),
               CASE WHEN k > max_shown THEN E'\n'
                                       || rtrim(
                                              fit_text(
                                                  format('and %s smaller clusters: see profile(%L)',
                                                         k - max_shown, stored.model),
                                                  100, false)) END);
END
$$;
CREATE FUNCTION fastclust.plot(model text, group_value anycompatible DEFAULT NULL) RETURNS text
    AS 'MODULE_PATHNAME', 'fastclust_read_once' LANGUAGE C STABLE COST 100;
COMMENT ON FUNCTION fastclust.plot IS
    'Returns the clusters of a model as text: sizes and differences as bars, in lines of up to '
    '100 columns.';
