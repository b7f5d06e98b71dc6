
-- Report: the sections about versions, checks and steps

-- ---- versions ----

-- One of the last thirty stored versions of a model. The fields describe one group, or are sums or
-- means over all groups.
CREATE TYPE fastclust_internal.version_line AS (
    version integer, trained_at timestamptz, trained_by name, method text, clusters bigint,
    n bigint, objective double precision, churn double precision);
-- Draws one column per version, with the value above it.
CREATE FUNCTION fastclust_internal.svg_columns(title text, versions integer[],
        column_values double precision[], kind text)
    RETURNS text
    LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
    WITH bar AS (
             SELECT u.*, 260.0 / cardinality(versions) AS step, count(*) OVER () AS n,
                    row_number() OVER () AS i,
                    CASE kind
                         WHEN 'count' THEN to_char(u.value::numeric, 'FM9,999,999,999,990')
                         ELSE html(shown_value(u.value, kind, false)) END AS label,
                    70 * COALESCE(u.value / NULLIF(max(u.value) OVER (), 0), 0) AS height
               FROM unnest(versions, column_values) u(version, value))
    SELECT format(
               E'<figure><h3>%s</h3><svg class="chart" viewBox="0 0 260 112" role="img" aria-label="%s by version">\n',
               title, title)
           || string_agg(
                  format(
                      E'<rect class="column%s" x="%s" y="%s" width="%s" height="%s" rx="1.5"><title>version %s: %s</title></rect>\n',
                      CASE WHEN b.i = b.n THEN ' serves' END,
                      svg((b.i - 1) * b.step + (b.step - least(34, b.step * 0.7)) / 2),
                      svg(90 - greatest(1, b.height)), svg(least(34, b.step * 0.7)),
                      svg(greatest(1, b.height)), b.version, b.label),
                  '' ORDER BY b.i) FILTER (WHERE b.value IS NOT NULL)
           || '<line class="axis" x1="0" x2="260" y1="90.5" y2="90.5"/>'
           || string_agg(format('<text class="tick" x="%s" y="106" text-anchor="middle">%s</text>',
                                svg((b.i - 0.5) * b.step), b.version),
                         '' ORDER BY b.i) FILTER (WHERE b.n <= 10 OR b.i IN (1, b.n))
           || string_agg(format('<text x="%s" y="%s" text-anchor="middle">%s</text>',
                                svg((b.i - 0.5) * b.step), svg(84 - greatest(1, b.height)),
                                b.label),
                         '') FILTER (WHERE b.value IS NOT NULL AND (b.n <= 5 OR b.i = b.n))
           || '</svg></figure>'
      FROM bar b
    HAVING count(b.value) > 0
$$;

CREATE FUNCTION fastclust_internal.report_versions(lines version_line[]) RETURNS text
    LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
    SELECT html_section(
               'versions', 'Versions',
               'One row for each version. Label churn is the share of the rows that are in another cluster than in the version before.',
               concat(
                   (SELECT concat(E'<div class="multiples">\n',
                                  svg_columns('Rows', s.versions, s.rows_of, 'count'), E'\n',
                                  svg_columns('Mean squared distance', s.versions, s.objectives,
                                              'number'),
                                  E'\n',
                                  svg_columns('Label churn', s.versions, s.churn, 'category'),
                                  E'\n</div>\n')
                      FROM (SELECT array_agg(l.version) AS versions,
                                   array_agg(l.n::float8) AS rows_of,
                                   array_agg(l.objective) AS objectives,
                                   array_agg(l.churn) AS churn
                              FROM (SELECT * FROM unnest(lines) u ORDER BY u.version) l) s
                     WHERE cardinality(s.versions) > 1),
                   html_table(
                       c.classes,
                       '{Version,Trained,By,Method,Clusters,Rows,"Mean squared distance","Label churn"}',
                       string_agg(
                           html_row(
                               format('version-%s', l.version), c.classes,
                               ARRAY[l.version::text,
                                     html_time(l.trained_at, c.by_day),
                                     html(l.trained_by),
                                     html(l.method), html_value(l.clusters, 'count'),
                                     html_value(l.n, 'count'), html_value(l.objective, 'number'),
                                     html_value(l.churn, 'category')]),
                           E'\n' ORDER BY l.version DESC))))
      FROM unnest(lines) l,
           (SELECT '{n,"",wide,"",n,n,n,n}'::text[] AS classes,
                   days_differ(ARRAY(SELECT u.trained_at FROM unnest(lines) u)) AS by_day) c
     GROUP BY c.classes
$$;

-- ---- drift ----

-- Shows how a column changed: the shift of its mean, or its values before and after.
CREATE FUNCTION fastclust_internal.html_change("column" jsonb) RETURNS text
    LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
    SELECT CASE WHEN $1 ? 'before' AND $1 ->> 'name' LIKE '% is NULL'
                    THEN concat_ws('&nbsp;', html_value(($1 ->> 'before')::float8, 'category'),
                                   '&rarr;', html_value(($1 ->> 'after')::float8, 'category'))
                WHEN $1 ? 'shown'
                    THEN replace(replace(html(substr($1 ->> 'shown', length($1 ->> 'name') + 3)),
                                         '-&gt;', '&rarr;'),
                                 ' ', '&nbsp;')
                ELSE html_value(($1 ->> 'shift')::float8, 'number') END
$$;

-- Shows the effects of the last four hundred checks as a line, the min_effect of the last check as
-- a limit, and the last ten checks as a table.
CREATE FUNCTION fastclust_internal.report_drift(stored stored_models) RETURNS text
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $$
DECLARE
    checks drift_log[] := (SELECT array_agg(q ORDER BY q.id)
                             FROM (SELECT d.*
                                     FROM drift_log d
                                    WHERE d.model = stored.model
                                    ORDER BY d.id DESC LIMIT 400) q);
    last_ones drift_log[] := checks[greatest(1, cardinality(checks) - 9):];
    by_day boolean := days_differ(ARRAY(SELECT c.checked_at FROM unnest(last_ones) c));
    classes text[] := '{"",n,n,n,n,"","",n}';
    pictures text;
BEGIN
    IF checks IS NULL THEN
        RETURN html_section('drift', 'Drift',
                            concat('Checks of <code>retrain_if_drifted</code>: ',
                                   CASE WHEN EXISTS (SELECT FROM own_models m WHERE m.id = stored.id)
                                            THEN 'none yet.'
                                        ELSE 'only the owner of the model sees them.' END),
                            NULL);
    END IF;
    WITH edge AS (
             SELECT min(c.checked_at) AS first, max(c.checked_at) AS last,
                    max(c.effect) AS highest,
                    greatest(max(c.effect), max(c.min_effect)) * 1.12 AS top,
                    (array_agg(c.min_effect ORDER BY c.id DESC))[1] AS at_least,
                    CASE WHEN max(c.checked_at) - min(c.checked_at) < interval '10 minutes'
                             THEN 'YYYY-MM-DD HH24:MI:SS'
                         WHEN max(c.checked_at) - min(c.checked_at) < interval '2 days'
                             THEN 'YYYY-MM-DD HH24:MI'
                         ELSE 'YYYY-MM-DD' END AS form
               FROM unnest(checks) c
              WHERE c.effect IS NOT NULL),
         timed AS (
             SELECT c.*, w.width, w.class, 152 - 136 * c.effect / NULLIF(e.top, 0) AS y, g.gap,
                    row_number() OVER line AS i, count(*) OVER (PARTITION BY w.width) AS last,
                    52 + (w.width - 68) * COALESCE(
                        extract(epoch FROM c.checked_at - e.first) / NULLIF(
                            extract(epoch FROM e.last - e.first), 0),
                        0.5)::float8 AS x
               FROM unnest(checks) c, edge e,
                    (VALUES (1056, 'wide'), (343, 'narrow')) w(width, class),
                    LATERAL (SELECT least(12.0, (w.width - 68.0) / greatest(
                                                    1, cardinality(checks) - 1)) AS gap) g
              WHERE c.effect IS NOT NULL
             WINDOW line AS (PARTITION BY w.width ORDER BY c.id)),
         -- Points are moved right until they are a gap apart, then left until they are in the
         -- picture.
         pushed AS (
             SELECT t.*, i * gap + max(x - i * gap) OVER (PARTITION BY width ORDER BY i) AS right_x
               FROM timed t),
         placed AS (
             SELECT p.*, i * gap + min(least(right_x, width - 16 - (last - i) * gap) - i * gap)
                                       OVER (PARTITION BY width ORDER BY i DESC) AS new_x
               FROM pushed p),
         picture AS (
             SELECT p.width,
                    concat(
                        format(
                            E'<svg class="chart %s" viewBox="0 0 %s 186" role="img" aria-label="drift over time">\n',
                            p.class, p.width),
                        format(
                            E'<line class="axis" x1="36" x2="%s" y1="152.5" y2="152.5"/><text class="tick" x="30" y="156" text-anchor="end">0</text>\n',
                            p.width - 8),
                        format(E'<line class="limit" x1="36" x2="%s" y1="%s" y2="%s"/>',
                               p.width - 8, svg(e.limit_y), svg(e.limit_y)),
                        format(E'<text class="tick" x="30" y="%s" text-anchor="end">%s</text>\n',
                               svg(e.limit_y + 4), shown_value(e.at_least, 'number', false)),
                        format(E'<polyline class="line" points="%s"/>\n',
                               string_agg(format('%s,%s', svg(p.new_x), svg(p.y)),
                                          ' ' ORDER BY p.id)),
                        string_agg(
                            format(
                                E'<circle class="%s" cx="%s" cy="%s" r="4"><title>%s: %s, effect %s</title></circle>\n',
                                CASE WHEN p.verdict IN ('slight', 'drifted') THEN p.verdict
                                     ELSE 'none' END,
                                svg(p.new_x), svg(p.y),
                                to_char(p.checked_at, 'YYYY-MM-DD HH24:MI'),
                                p.verdict, shown_value(p.effect, 'number', false)),
                            '' ORDER BY p.id),
                        CASE WHEN e.highest > 0 AND abs(e.limit_y - e.highest_y) >= 16
                                 THEN format(
                                          E'<text class="tick" x="30" y="%s" text-anchor="end">%s</text>\n',
                                          svg(e.highest_y + 4),
                                          trim_scale(round(e.highest::numeric, 2))) END,
                        format('<text class="tick" x="36" y="176">%s</text>',
                               to_char(e.first, e.form)),
                        format(
                            '<text class="tick" x="%s" y="176" text-anchor="end">%s</text></svg>',
                            p.width - 8,
                            NULLIF(to_char(e.last, e.form), to_char(e.first, e.form)))) AS svg
               FROM placed p,
                    (SELECT *, 152 - 136 * at_least / NULLIF(top, 0) AS limit_y,
                            152 - 136 * highest / NULLIF(top, 0) AS highest_y FROM edge) e
              GROUP BY p.width, p.class, e.first, e.last, e.top, e.at_least, e.limit_y, e.highest,
                       e.highest_y, e.form
             HAVING count(*) > 1)
    SELECT string_agg(p.svg, E'\n' ORDER BY p.width DESC) INTO pictures FROM picture p;
    RETURN html_section(
               'drift', 'Drift',
               'The effect of each check: how much its rows differ from the training rows. 0.1 is as large as a shift of one column by a tenth of its standard deviation. '
                   'Above the dashed line, the model is retrained.',
               concat(
                   E'<figure>\n' || pictures || E'\n</figure>\n',
                   html_table(
                       classes,
                       '{Checked,Version,Rows,Effect,p-value,Verdict,"Columns, shift of the mean","Retrained to"}',
                       (SELECT string_agg(
                                   html_row(
                                       format('check-%s', c.id), classes,
                                       ARRAY[
                                           html_time(c.checked_at, by_day),
                                           c.version::text,
                                           html_value(c.n, 'count'), html_value(c.effect, 'number'),
                                           html_value(c.p_value, 'number'), html(c.verdict),
                                           (SELECT string_agg(
                                                       concat_ws(
                                                           '&nbsp;', html(u.col ->> 'name', 40),
                                                           html_change(u.col)),
                                                       ', ' ORDER BY u.i)
                                              FROM jsonb_array_elements(c.columns)
                                                       WITH ORDINALITY u(col, i)
                                             WHERE u.i <= 3),
                                           COALESCE(c.new_version::text, '&ndash;')]),
                                   E'\n' ORDER BY c.id DESC)
                          FROM unnest(last_ones) c)),
                   CASE WHEN cardinality(checks) > 10
                            THEN E'\n<p class="hint">The last ten checks; <code>drift_log</code> has all of them.</p>' END));
END
$$;

-- ---- the training ----

CREATE FUNCTION fastclust_internal.report_steps(stored stored_models) RETURNS text
    LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
    SELECT html_section(
               'training', 'Training',
               format('The steps of version %s, %s seconds in all.', stored.version,
                      html_value(sum(t.seconds), 'number')),
               html_table(c.classes, '{Step,"",Seconds,"Mean squared distance",Note}',
                          string_agg(
                              html_row(
                                  format('step-%s', t.id), c.classes,
                                  ARRAY[html(t.step), html_bar(t.seconds / NULLIF(t.longest, 0)),
                                        html_value(t.seconds, 'number'),
                                        html_value(t.objective, 'number'), html(t.note)]),
                              E'\n' ORDER BY t.id)))
      FROM (SELECT l.*, max(l.seconds) OVER () AS longest FROM training_log l
             WHERE l.model = stored.model AND l.version = stored.version) t,
           (SELECT '{who,wide-bar,n,n,""}'::text[] AS classes) c
     GROUP BY c.classes
$$;
