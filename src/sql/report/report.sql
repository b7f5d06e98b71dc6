
-- Report: the page

-- Describes the clusters in a paragraph: the number of clusters, the three largest ones, the number
-- of small ones, and the changes since the previous version. A large cluster is described by the
-- two features that distinguish it most. A small cluster has less than one percent of the rows or weights.
-- Elements of a vector have no meaning by themselves, so they are left out.
CREATE FUNCTION fastclust_internal.report_story(stored stored_models, group_value text,
        clusters report_cluster[], profile profile_value[], lines version_line[])
    RETURNS text
    LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
    WITH named AS (
             SELECT c.cluster, c.share, c.share < 0.01 AS small,
                    format('<b>%s</b>',
                           html(COALESCE(c.name, format('cluster %s', c.cluster)), 200)) AS name,
                    row_number() OVER (ORDER BY c.share DESC, c.cluster) AS i
               FROM unnest(clusters) c),
         feature AS (
             SELECT v.*, row_number() OVER (PARTITION BY v.cluster
                                            ORDER BY abs(v.difference) DESC, v.place) AS i
               FROM unnest(profile) v
              WHERE abs(v.difference) >= 0.5
                AND NOT (SELECT bool_or(r.vector)
                           FROM readable_versions r
                          WHERE r.model_id = stored.id AND r.version = stored.version)),
         before AS (
             SELECT l.* FROM unnest(lines) l ORDER BY l.version DESC OFFSET 1 LIMIT 1),
         moved AS (
             SELECT n.name, s.shares[cardinality(s.shares) - 1] AS old, n.share
               FROM shares_by_version(stored, COALESCE(group_value, '')) s
               JOIN named n USING (cluster)
              WHERE abs(n.share - s.shares[cardinality(s.shares) - 1]) >= 0.01
              ORDER BY abs(n.share - s.shares[cardinality(s.shares) - 1]) DESC, n.cluster LIMIT 1)
    SELECT format(
               E'<p class="story">%s</p>\n',
               concat_ws(
                   ' ',
                   CASE WHEN cardinality(clusters) = 1 THEN 'All rows are in one cluster.'
                        ELSE format('There are %s clusters.',
                                    html_value(cardinality(clusters), 'count')) END,
                   (SELECT string_agg(
                               concat(
                                   format(CASE n.i WHEN 1 THEN 'The largest, %s, has %s of the %s'
                                                   ELSE '%s has %s' END,
                                          n.name, html_value(n.share, 'category'),
                                          unit_of_shares(clusters)),
                                   (SELECT ': '
                                           || string_agg(
                                                  format(CASE WHEN f.kind IN (
                                                                       'category', 'boolean')
                                                                  THEN '%s for %s (all rows: %s)'
                                                              ELSE '%s is %s (all rows: %s)' END,
                                                         html(f.feature, 60),
                                                         html_value(f.value, f.kind),
                                                         html_value(f.overall, f.kind)),
                                                  ', ' ORDER BY f.i)
                                      FROM feature f
                                     WHERE f.cluster = n.cluster AND f.i <= 2),
                                   '.'),
                               ' ' ORDER BY n.i)
                      FROM named n
                     WHERE cardinality(clusters) > 1 AND n.i <= 3 AND (n.i = 1 OR NOT n.small)),
                   (SELECT format(CASE count(*)
                                       WHEN 1 THEN 'One cluster has less than 1 %% of the %2$s.'
                                       ELSE '%1$s clusters have less than 1 %% of the %2$s each.' END,
                                  html_value(count(*), 'count'), unit_of_shares(clusters))
                      FROM named n
                     WHERE n.small AND n.i > 1
                    HAVING count(*) > 0),
                   (SELECT concat(
                               format('Since version %s of %s ', b.version,
                                      CASE WHEN b.trained_at::date = now.trained_at::date
                                               THEN html_time(b.trained_at)
                                           ELSE html_time(b.trained_at, true) END),
                               CASE WHEN now.n = b.n THEN 'the number of rows is the same'
                                    ELSE format(
                                             'there are %s rows %s',
                                             html_value(abs(now.n - b.n), 'count'),
                                             CASE WHEN now.n > b.n THEN 'more'
                                                  ELSE 'fewer' END) END,
                               CASE WHEN now.clusters <> b.clusters
                                        THEN format(' and %s clusters in place of %s',
                                                    html_value(now.clusters, 'count'),
                                                    html_value(b.clusters, 'count')) END,
                               CASE WHEN now.churn IS NOT NULL
                                        THEN format('; %s of the rows are in another cluster',
                                                    html_value(now.churn, 'category')) END,
                               (SELECT format('; the share of %s changed from %s to %s', m.name,
                                              html_value(m.old, 'category'),
                                              html_value(m.share, 'category'))
                                  FROM moved m
                                 WHERE now.clusters = b.clusters),
                               '.')
                      FROM before b,
                           (SELECT l.* FROM unnest(lines) l ORDER BY l.version DESC LIMIT 1) now)))
     WHERE cardinality(clusters) > 0
$$;

CREATE FUNCTION fastclust_internal.report_details(summary models, version stored_versions)
    RETURNS text
    LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
    SELECT html_section(
               'model', 'How the model was trained', NULL,
               concat(
                   E'<dl class="details">\n',
                   (SELECT string_agg(format(E'<dt>%s</dt><dd>%s</dd>\n', d.name, d.value),
                                      '' ORDER BY d.i) FILTER (WHERE d.value IS NOT NULL)
                      FROM (SELECT u.*, row_number() OVER () AS i
                              FROM (VALUES ('Method',
                                            concat(
                                                html(version.method), '; ' || html(version.note))),
                                           ('Features',
                                            concat((SELECT string_agg(
                                                               format('<code>%s</code>', html(f)),
                                                               ', ' ORDER BY i)
                                                      FROM unnest(version.features)
                                                               WITH ORDINALITY u(f, i)
                                                     WHERE i <= 40),
                                                   CASE WHEN cardinality(version.features) > 40
                                                            THEN format(
                                                                     ' and %s more',
                                                                     cardinality(version.features) -
                                                                         40) END,
                                                   CASE WHEN version.vector
                                                            THEN format(', a vector of %s',
                                                                        html_value(summary.dim,
                                                                                   'count')) END)),
                                           ('Number of clusters',
                                            (SELECT html(l.note)
                                               FROM training_log l
                                              WHERE l.model = version.model
                                                AND l.version = version.version
                                                AND l.step = 'number of clusters'
                                              LIMIT 1)),
                                           ('Options',
                                            CASE WHEN version.options <> '{}'
                                                     THEN format('<code>%s</code>',
                                                                 html(version.options::text)) END),
                                           ('Live sketch',
                                            (SELECT concat(
                                                        format(
                                                            '<code>%s</code>: %s rows counted %s',
                                                            html(l.name),
                                                            html_value(l.folded_rows, 'count'),
                                                            html_time(l.counted_at)),
                                                        CASE WHEN l.open_deltas > 0
                                                                 THEN format(
                                                                          '; %s changes since %s are not folded yet',
                                                                          html_value(l.open_deltas,
                                                                                     'count'),
                                                                          html_time(l.oldest_delta)) END,
                                                        '; ' || html(l.problem))
                                               FROM live_sketches l
                                              WHERE l.name = (model_live(version.model_id)).name)),
                                           ('Owner', html(summary.owner)),
                                           ('Trained',
                                            concat('by ', html(version.trained_by::text), ', from ',
                                                   html_time(version.started_at), ' to ',
                                                   html_time(summary.trained_at))))
                                       u(name, value)) d),
                   '</dl>'))
$$;

CREATE FUNCTION fastclust_internal.read_report(model text, rules boolean, group_value text,
        title text)
    RETURNS text
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $$
DECLARE
    stored stored_models := readable_model($1);
    overview boolean := stored.group_by IS NOT NULL AND $3 IS NULL;
    version stored_versions;
    summary models := (SELECT s FROM models s WHERE s.model = stored.model);
    lines version_line[] := (SELECT array_agg(q.line ORDER BY (q.line).version)
                               FROM (SELECT ROW(v.version, max(v.trained_at), min(v.trained_by::text),
                                                min(v.method), sum(clusters(v.operator)), sum(v.n),
                                                sum(v.objective * v.n) / NULLIF(
                                                    sum(v.n) FILTER (WHERE v.objective IS NOT NULL),
                                                    0),
                                                sum(v.label_churn * v.n) / NULLIF(
                                                    sum(v.n)
                                                        FILTER (WHERE v.label_churn IS NOT NULL),
                                                    0))::version_line AS line
                                       FROM readable_versions v
                                      WHERE v.model_id = stored.id
                                        AND v.version <= stored.version
                                        AND v.group_value = COALESCE($3, v.group_value)
                                      GROUP BY v.version
                                      ORDER BY v.version DESC LIMIT 30) q);
    line version_line := lines[cardinality(lines)];
    heading text := COALESCE(html($4), concat(html(stored.model), ': ' || html($3)));
    lead text;    -- one sentence about the model
    shown report_cluster[];
    profile profile_value[];
    encoding name := pg_client_encoding();
BEGIN
    IF overview THEN
        SELECT v.* INTO version
          FROM readable_versions v
         WHERE v.model_id = stored.id AND v.version = stored.version
         ORDER BY v.n DESC, v.group_value LIMIT 1;
    ELSE
        version := explained_version(stored, $3);
        shown := report_clusters(stored, version);
        profile := profile_values(version, shown);
    END IF;
    lead :=
        format(
            '%s %s of <code>%s</code> in %s %s%s, by %s.', html_value(line.n, 'count'),
            CASE WHEN line.n = 1 THEN 'row' ELSE 'rows' END, html(version.relation, 120),
            html_value(line.clusters, 'count'),
            CASE WHEN line.clusters = 1 THEN 'cluster' ELSE 'clusters' END,
            CASE WHEN overview THEN format(
                                        ' of %s groups by <code>%s</code>',
                                        html_value(summary.groups, 'count'), html(summary.group_by))
                 WHEN summary.group_by IS NOT NULL THEN format(
                                                            ', where <code>%s</code> is <code>%s</code>',
                                                            html(summary.group_by),
                                                            html(version.group_value, 120)) END,
            CASE WHEN version.vector
                     THEN format('the vector <code>%s</code>', html(version.features[1]))
                 WHEN cardinality(version.features) <= 4 THEN (SELECT string_agg(
                                                                          format('<code>%s</code>',
                                                                                 html(f)),
                                                                          ', ' ORDER BY i)
                                                                 FROM unnest(version.features)
                                                                          WITH ORDINALITY u(f, i))
                 ELSE format('%s columns', cardinality(version.features)) END);
    -- the encoding of the client that writes the file
    RETURN concat(
               E'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="',
               CASE WHEN encoding LIKE 'LATIN_' THEN 'iso-8859-' || right(encoding, 1)
                    WHEN encoding LIKE 'WIN12__' THEN 'windows-' || right(encoding, 4)
                    ELSE 'utf-8' END,
               E'">\n', E'<meta name="viewport" content="width=device-width, initial-scale=1">\n',
               E'<meta http-equiv="Content-Security-Policy" content="default-src ''none''; style-src ''unsafe-inline''">\n',
               E'<meta name="color-scheme" content="light dark">\n<title>', heading,
               E'</title>\n<style>', report_style(),
               E'</style>\n</head>\n<body>\n<div class="page">\n',
               format(E'<header>\n<h1>%s</h1>\n<p class="lead">%s</p>\n%s</header>\n', heading,
                      lead, report_story(stored, $3, shown, profile, lines)),
               E'<dl class="facts">\n',
               (SELECT string_agg(format(E'<div><dt>%s</dt><dd id="%s" class="%s">%s</dd></div>\n',
                                         f.name, f.id, f.class, f.value),
                                  '' ORDER BY f.i)
                  FROM (SELECT u.*, row_number() OVER () AS i
                          FROM (VALUES ('rows', 'Rows', html_value(line.n, 'count'), ''),
                                       ('clusters', 'Clusters', html_value(line.clusters, 'count'),
                                        ''),
                                       ('version', 'Version', html_value(line.version, 'count'),
                                        ''),
                                       ('trained', 'Trained', html_time(line.trained_at, true),
                                        'word')) u(id, name, value, class)) f),
               E'</dl>\n',
               CASE WHEN overview THEN report_groups(stored)
                    ELSE concat(report_map(shown, profile), report_tree(version, shown),
                                report_sizes(stored, version, shown),
                                report_profile(version, profile, shown),
                                CASE WHEN $2 THEN report_rules(stored, $3, shown) END) END,
               report_versions(lines), report_drift(stored), report_steps(stored),
               report_details(summary, version),
               format(
                   E'<footer>\n<p>For analysts: the rows have <span id="dimensions">%s</span> %s.%s</p>\n',
                   html_value(summary.dim, 'count'),
                   CASE WHEN version.map IS NULL THEN 'dimensions' ELSE 'kernel features' END,
                   ' The mean squared distance of a row from its centroid is <span id="objective">'
                   || CASE WHEN line.objective IS NOT NULL
                               THEN html_value(line.objective, 'number') END
                   || '</span>.'),
               format(
                   E'<p>Created %s by fastclust %s for %s: <code>SELECT report(%s)</code>. The numbers come from <code>model_clusters</code>, '
                       '<code>profile</code>, <code>cluster_rules</code>, <code>model_versions</code>, <code>drift_log</code> and <code>training_log</code>.</p>\n</footer>',
                   html_time(now()),
                   html((SELECT e.extversion FROM pg_extension e WHERE e.extname = 'fastclust')),
                   html(current_user),
                   html(concat(quote_literal(stored.model), ', group_value => ' || quote_literal($3),
                               ', title => ' || quote_literal($4)))),
               E'\n</div>\n</body>\n</html>');
END
$$;
CREATE FUNCTION fastclust.report(model text, rules boolean DEFAULT true,
        group_value anycompatible DEFAULT NULL, title text DEFAULT NULL)
    RETURNS text
    AS 'MODULE_PATHNAME', 'fastclust_read_once' LANGUAGE C STABLE COST 100;
COMMENT ON FUNCTION fastclust.report IS
    'Returns an HTML page about a model, or one of its groups: clusters, profile, rules, '
    'versions, drift and training. Reads no table if rules is false.';
