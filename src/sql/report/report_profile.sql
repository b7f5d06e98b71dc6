
-- Report: the sections about the features that distinguish clusters

-- Value of a feature in one cluster. The features with the largest differences between the clusters
-- of the version have such values; place 1 is the feature with the largest differences.
CREATE TYPE fastclust_internal.profile_value AS (
    cluster integer, place integer, feature text, kind text, value double precision,
    overall double precision, difference double precision, lift double precision);

-- Returns the values of the forty features that differ most between centroids, or NULL if there are
-- none. The difference of a feature is measured by the sum of share * difference^2 over the
-- thousand largest clusters. Leaves out features that differ by less than a tenth of a standard
-- deviation in every cluster. A timestamp whose standard deviation is two days or more gets the
-- kind "day", which is displayed without hours and minutes.
CREATE FUNCTION fastclust_internal.profile_values(version stored_versions,
        clusters report_cluster[])
    RETURNS profile_value[]
    LANGUAGE sql STABLE
    SET search_path FROM CURRENT SET enable_nestloop = off AS $$
    WITH p AS MATERIALIZED (
             SELECT p.*, c.share,
                    CASE WHEN p.kind = 'timestamp'
                              AND max(abs(p.value - p.overall)) OVER axis
                                  >= 172800 * max(abs(p.difference)) OVER axis
                             THEN 'day'
                         ELSE p.kind END AS shown_kind
               FROM version_profile(version, dim(version.operator)) p
               JOIN unnest(clusters[:1000]) c USING (cluster)
             WINDOW axis AS (PARTITION BY p.dimension)),
         ranked AS (
             SELECT p.dimension,
                    row_number()
                        OVER (ORDER BY sum(p.share * p.difference ^ 2) DESC NULLS LAST,
                              p.dimension) AS place
               FROM p
              GROUP BY p.dimension
             HAVING max(abs(p.difference)) >= 0.1
              ORDER BY 2 LIMIT 40)
    SELECT array_agg(ROW(p.cluster, t.place, p.label, p.shown_kind, p.value, p.overall, p.difference,
                         p.lift)::profile_value ORDER BY t.place,
                     p.cluster)
      FROM p JOIN ranked t USING (dimension)
$$;

-- ---- the heat map ----

-- Shows the clusters in columns, largest first. Cells show values if there are few clusters, else
-- only colours. The classes of the colours are hm4 (far below the mean) to h4 (far above the mean).
CREATE FUNCTION fastclust_internal.report_profile(version stored_versions, profile profile_value[],
        clusters report_cluster[])
    RETURNS text
    LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
    WITH cluster AS (
             SELECT c.*, cardinality(clusters) <= 8 AS wide
               FROM unnest(clusters[:24]) WITH ORDINALITY c(
                        cluster, name, size, share, spread, nearest, distance, x, y, shown_x,
                        shown_y, weight, i)),
         cell AS (
             SELECT v.place, v.feature, v.overall, v.kind,
                    string_agg(
                        format(
                            '<td class="%s%s" title="%s">%s</td>',
                            CASE WHEN v.difference < -0.25 THEN 'hm' ELSE 'h' END,
                            COALESCE(width_bucket(
                                         abs(NULLIF(v.difference, 'NaN')),
                                         '{0.25,0.75,1.5,2.5}'::float8[]),
                                     0),
                            html(format(
                                     '%s: %s %s%s%s',
                                     cluster_label(c.cluster, c.name, 200), v.feature,
                                     COALESCE(shown, 'NULL'),
                                     ', ' || to_char(v.difference, 'FMSG99990.00')
                                     || ' standard deviations from all rows',
                                     CASE WHEN v.lift IS NOT NULL
                                              THEN format(
                                                       ', %s times as often',
                                                       shown_value(v.lift, 'number', false)) END)),
                            CASE WHEN c.wide THEN html_value(v.value, v.kind) END),
                        '' ORDER BY c.i) AS cells
               FROM cluster c JOIN unnest(profile) v USING (cluster),
                    shown_value(v.value, v.kind, false) shown
              GROUP BY 1, 2, 3, 4)
    SELECT html_section(
               'profile', 'Profile',
               concat(
                   'The mean of each cluster, coloured by how far it is from the mean of all rows.',
                   (SELECT format(' For %s it is a typical value, from the mean of the logarithms, which is below the mean of the rows.',
                                  html(string_agg(f.feature, ', ' ORDER BY f.dimension)))
                      FROM labelled_features(version) f
                     WHERE f.axis_kind = 1
                    HAVING count(*) > 0),
                   CASE WHEN cardinality(clusters) > 24 THEN format(
                                                                 ' The 24 largest of %s clusters are shown.',
                                                                 to_char(cardinality(clusters),
                                                                         'FM9,999,990')) END,
                   (SELECT format(' Shown are the %s features that differ most, of %s.', s.shown,
                                  to_char(count(*), 'FM999,990'))
                      FROM labelled_features(version) f,
                           (SELECT count(DISTINCT place) AS shown FROM unnest(profile)) s
                     WHERE f.axis_kind <> 5
                     GROUP BY s.shown
                    HAVING count(*) > s.shown)),
               E'<p class="legend"><span>2.5 standard deviations below</span><b>'
               || (SELECT string_agg(format('<i class="%s"></i>', c), '' ORDER BY i)
                     FROM unnest('{hm4,hm3,hm2,hm1,h0,h1,h2,h3,h4}'::text[]) WITH ORDINALITY
                              u(c, i))
               || E'</b><span>above the mean of all rows</span></p>\n'
               || format(
                      E'%s<div class="scroll" tabindex="0"><table class="heat">\n<thead><tr><th></th>%s<th class="all">All</th></tr></thead>\n<tbody>\n%s\n</tbody>\n</table></div>',
                      CASE WHEN cardinality(clusters) > 2
                               THEN E'<p class="hint sideways">Scroll the table sideways to see all clusters.</p>\n' END,
                      (SELECT string_agg(
                                  format('<th scope="col" title="%s">%s%s</th>', html(c.name),
                                         c.cluster,
                                         CASE WHEN c.wide THEN '<br>' || html(c.name, 200) END),
                                  '' ORDER BY c.i)
                         FROM cluster c),
                      string_agg(
                          format(
                              '<tr><th scope="row" title="%s">%s</th>%s<td class="all">%s</td></tr>',
                              html(feature), html(feature, 60), cells,
                              html(shown_value(overall, kind, false))),
                          E'\n' ORDER BY place)))
      FROM cell
    HAVING report_profile.profile IS NOT NULL AND cardinality(clusters) > 1
$$;

-- ---- rules ----

-- Shows rules of the forty largest clusters. If the table cannot be read to find rules, shows the
-- error instead.
CREATE FUNCTION fastclust_internal.report_rules(stored stored_models, group_value text,
        clusters report_cluster[])
    RETURNS text
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $$
DECLARE
    items text;
    fidelity float8;
BEGIN
    SELECT string_agg(format('<li id="rules-%s"><b>%s</b>%s</li>', q.cluster,
                             html(cluster_label(q.cluster, q.name, 200)), q.lines),
                      E'\n' ORDER BY q.share DESC, q.cluster),
           max(q.fidelity) INTO items, fidelity
      FROM (SELECT r.cluster, r.name, c.share, max(r.fidelity) AS fidelity,
                   string_agg(
                       CASE WHEN r.condition IS NULL
                                THEN format('<p class="note">%s.</p>', html(r.rule))
                            ELSE format(
                                     CASE unit_of_shares(clusters)
                                          WHEN 'rows' THEN '<p>if %s</p><p class="note">%s of the rows that meet the condition are in this cluster; %s of the cluster meet it.</p>'
                                          ELSE '<p>if %s</p><p class="note">Rows in this cluster have %s of the weight of the rows that meet the condition; rows that meet it have %s of the weight of the cluster.</p>' END,
                                     html(r.rule), html_value(r.precision, 'category'),
                                     html_value(r.coverage, 'category')) END,
                       '' ORDER BY r.coverage DESC, r.rule) AS lines
              FROM cluster_rules(stored.model, group_value => $2) r
              JOIN unnest(clusters[:40]) c USING (cluster)
             GROUP BY 1, 2, 3) q;
    RETURN html_section(
               'rules', 'Rules',
               concat(
                   'Short conditions that distinguish the clusters, learned on a sample of the table.',
                   CASE WHEN fidelity IS NOT NULL THEN format(
                                                           ' They assign %s of the %s to the same cluster as the model does.',
                                                           html_value(fidelity, 'category'),
                                                           unit_of_shares(clusters)) END),
               format(E'<ul class="rules">\n%s\n</ul>', items));
EXCEPTION WHEN OTHERS THEN
    RETURN html_section('rules', 'Rules',
                        format(
                            'The rules are learned on rows of the table, which cannot be read: %s.',
                            html(SQLERRM)),
                        NULL);
END
$$;
