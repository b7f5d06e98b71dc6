
-- report: the sections that show versions, checks and steps

-- ---- versions ----

-- The versions that are kept, at most the last thirty, oldest first: of one group, or the sums of all.
CREATE TYPE fastclust_internal.version_line AS (version integer, trained_at timestamptz, trained_by name, method text, clusters bigint, n bigint,
    objective double precision, churn double precision);
CREATE FUNCTION fastclust_internal.version_lines(held models, group_value text) RETURNS version_line[]
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT array_agg(q.line ORDER BY (q.line).version)
      FROM (SELECT ROW(v.version, max(v.trained_at), min(v.trained_by), min(v.method), sum(clusters(v.operator)), sum(v.n),
                       sum(v.objective * v.n) / NULLIF(sum(v.n) FILTER (WHERE v.objective IS NOT NULL), 0),
                       sum(v.label_churn * v.n) / NULLIF(sum(v.n) FILTER (WHERE v.label_churn IS NOT NULL), 0))::version_line AS line
              FROM model_versions v WHERE v.model_id = held.id AND v.version <= held.version AND v.group_value = COALESCE($2, v.group_value)
             GROUP BY v.version ORDER BY v.version DESC LIMIT 30) q
$$;

-- Columns, one a version, the greatest value above them.
CREATE FUNCTION fastclust_internal.svg_columns(title text, versions integer[], column_values double precision[], shown text[]) RETURNS text
    LANGUAGE sql STABLE SET search_path = pg_catalog, fastclust_internal, pg_temp AS $$
    WITH bar AS (SELECT u.*, 260.0 / cardinality(versions) AS step, count(*) OVER () AS n, row_number() OVER () AS i,
                        70 * COALESCE(u.value / NULLIF(max(u.value) OVER (), 0), 0) AS height
                   FROM unnest(versions, column_values, shown) u(version, value, label))
    SELECT format(E'<figure><h3>%s</h3><svg class="chart" viewBox="0 0 260 112" role="img" aria-label="%s by version">\n', title, title)
        || string_agg(format(E'<rect class="column%s" x="%s" y="%s" width="%s" height="%s" rx="1.5"><title>version %s: %s</title></rect>\n', CASE WHEN b.i = b.n THEN ' serves' END,
                             svg((b.i - 1) * b.step + (b.step - least(34, b.step * 0.7)) / 2), svg(90 - greatest(1, b.height)), svg(least(34, b.step * 0.7)), svg(greatest(1, b.height)),
                             b.version, b.label), '' ORDER BY b.i) FILTER (WHERE b.value IS NOT NULL)
        || '<line class="axis" x1="0" x2="260" y1="90.5" y2="90.5"/>'
        || string_agg(format('<text class="tick" x="%s" y="106" text-anchor="middle">%s</text>', svg((b.i - 0.5) * b.step), b.version), '' ORDER BY b.i) FILTER (WHERE b.n <= 10 OR b.i IN (1, b.n))
        || string_agg(format('<text x="%s" y="%s" text-anchor="middle">%s</text>', svg((b.i - 0.5) * b.step), svg(84 - greatest(1, b.height)), b.label), '') FILTER (WHERE b.value IS NOT NULL AND (b.n <= 5 OR b.i = b.n))
        || '</svg></figure>'
      FROM bar b HAVING count(b.value) > 0
$$;

CREATE FUNCTION fastclust_internal.report_versions(lines version_line[]) RETURNS text
    LANGUAGE sql STABLE SET search_path = pg_catalog, fastclust_internal, pg_temp AS $$
    SELECT html_section('versions', 'Versions', 'What each training saw and made. Label churn is the share of the rows that got another cluster than the version before gave them.',
        concat(CASE WHEN count(*) > 1 THEN concat(E'<div class="multiples">\n',
                   svg_columns('Rows', array_agg(l.version ORDER BY l.version), array_agg(l.n::float8 ORDER BY l.version), array_agg(to_char(l.n, 'FM9,999,999,999,990') ORDER BY l.version)), E'\n',
                   svg_columns('Mean squared distance', array_agg(l.version ORDER BY l.version), array_agg(l.objective ORDER BY l.version), array_agg(shown_value(l.objective, 'number', false) ORDER BY l.version)), E'\n',
                   svg_columns('Label churn', array_agg(l.version ORDER BY l.version), array_agg(l.churn ORDER BY l.version),
                               array_agg(html(shown_value(l.churn, 'category', false)) ORDER BY l.version)), E'\n</div>\n') END,
               E'<div class="scroll"><table>\n<thead><tr><th class="n">Version</th><th>Trained</th><th class="wide">By</th><th>Method</th><th class="n">Clusters</th><th class="n">Rows</th>',
               E'<th class="n">Mean squared distance</th><th class="n">Label churn</th></tr></thead>\n<tbody>\n',
               string_agg(format('<tr id="version-%s"><td class="n">%s</td><td>%s</td><td class="wide">%s</td><td>%s</td><td class="n">%s</td><td class="n">%s</td><td class="n">%s</td><td class="n">%s</td></tr>',
                                 l.version, l.version, html_time(l.trained_at), html(l.trained_by), html(l.method), html_count(l.clusters), html_count(l.n),
                                 html_number(l.objective), html_percent(l.churn)), E'\n' ORDER BY l.version DESC),
               E'\n</tbody>\n</table></div>'))
      FROM unnest(lines) l
$$;

-- ---- drift ----

-- The effect of the checks over time, with the limit of the last one.
CREATE FUNCTION fastclust_internal.svg_drift(checks drift_log[], width integer, class text) RETURNS text
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    WITH edge AS (SELECT min(c.checked_at) AS first, max(c.checked_at) AS last, greatest(max(c.effect), max(c.min_effect)) * 1.12 AS top,
                         (array_agg(c.min_effect ORDER BY c.id DESC))[1] AS at_least FROM unnest(checks) c WHERE c.effect IS NOT NULL),
         point AS (SELECT c.*, 152 - 136 * c.effect / NULLIF(e.top, 0) AS y,
                          44 + (width - 60) * COALESCE(extract(epoch FROM c.checked_at - e.first) / NULLIF(extract(epoch FROM e.last - e.first), 0), 0.5) AS x
                     FROM unnest(checks) c, edge e WHERE c.effect IS NOT NULL)
    SELECT concat(format(E'<svg class="chart %s" viewBox="0 0 %s 186" role="img" aria-label="drift over time">\n<line class="axis" x1="36" x2="%s" y1="152.5" y2="152.5"/>\n', class, width, width - 8),
            format(E'<line class="limit" x1="36" x2="%s" y1="%s" y2="%s"/><text class="tick" x="30" y="%s" text-anchor="end">%s</text><text class="tick" x="30" y="156" text-anchor="end">0</text>\n', width - 8,
                   svg(152 - 136 * e.at_least / NULLIF(e.top, 0)), svg(152 - 136 * e.at_least / NULLIF(e.top, 0)), svg(156 - 136 * e.at_least / NULLIF(e.top, 0)), shown_value(e.at_least, 'number', false)),
            format(E'<polyline class="line" points="%s"/>\n', string_agg(format('%s,%s', svg(p.x), svg(p.y)), ' ' ORDER BY p.id)),
            string_agg(format(E'<circle class="%s" cx="%s" cy="%s" r="4"><title>%s: %s, effect %s</title></circle>\n', CASE p.verdict WHEN 'slight' THEN 'slight' WHEN 'drifted' THEN 'drifted' ELSE 'none' END,
                              svg(p.x), svg(p.y), to_char(p.checked_at, 'YYYY-MM-DD HH24:MI'), p.verdict, shown_value(p.effect, 'number', false)), '' ORDER BY p.id),
            format('<text class="tick" x="36" y="176">%s</text><text class="tick" x="%s" y="176" text-anchor="end">%s</text></svg>', to_char(e.first, 'YYYY-MM-DD'), width - 8, to_char(e.last, 'YYYY-MM-DD')))
      FROM point p, edge e GROUP BY e.first, e.last, e.top, e.at_least HAVING count(*) > 1
$$;

CREATE FUNCTION fastclust_internal.report_drift_row(c drift_log) RETURNS text
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT format('<tr id="check-%s"><td>%s</td><td class="n">%s</td><td class="n">%s</td><td class="n">%s</td><td class="n">%s</td><td>%s</td><td>%s</td><td class="n">%s</td></tr>', c.id,
                  html_time(c.checked_at), c.version, html_count(c.n), html_number(c.effect), html_number(c.p_value), html(c.verdict),
                  (SELECT string_agg(format('%s&nbsp;%s', html_start(u.name, 40), html_number(u.shift)), ', ' ORDER BY u.i)
                     FROM unnest(c.columns[:3]) WITH ORDINALITY u(name, shift, spread, i) WHERE abs(u.shift) >= 0.05),
                  COALESCE(c.new_version::text, '&ndash;'))
$$;

CREATE FUNCTION fastclust_internal.report_drift(held models) RETURNS text
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    checks drift_log[] := (SELECT array_agg(q ORDER BY q.id) FROM (SELECT d.* FROM drift_log d WHERE d.model_id = held.id ORDER BY d.id DESC LIMIT 400) q);
    last_ones drift_log[] := checks[greatest(1, cardinality(checks) - 9):];
BEGIN
    RETURN html_section('drift', 'Drift',
        CASE WHEN checks IS NULL THEN concat('Checks of <code>retrain_if_drifted</code>: ', CASE WHEN may_change_model(held.id) THEN 'none yet.' ELSE 'only the owner of the model sees them.' END)
             ELSE 'How much the rows of each check differ from the training rows: 0.1 is a tenth of a standard deviation, or a tenth of the rows. The dashed line is the effect from which the model is retrained.' END,
        CASE WHEN checks IS NOT NULL THEN concat(
            E'<figure>\n' || svg_drift(checks, 1056, 'wide') || E'\n' || svg_drift(checks, 343, 'narrow') || E'\n</figure>\n',
            E'<div class="scroll"><table>\n<thead><tr><th>Checked</th><th class="n">Version</th><th class="n">Rows</th><th class="n">Effect</th><th class="n">p-value</th><th>Verdict</th><th>Shift of the means</th><th class="n">Retrained to</th></tr></thead>\n<tbody>\n',
            (SELECT string_agg(report_drift_row(c::drift_log), E'\n' ORDER BY c.id DESC) FROM unnest(last_ones) c),
            E'\n</tbody>\n</table></div>',
            CASE WHEN cardinality(checks) > 10 THEN E'\n<p class="hint">The last ten; all are rows of <code>drift_log</code>.</p>' END) END);
END
$$;

-- ---- the training ----

CREATE FUNCTION fastclust_internal.report_steps(held models) RETURNS text
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT html_section('training', 'Training', format('The steps of version %s, %s seconds in all.', held.version, html_number(sum(t.seconds))),
        concat(E'<div class="scroll"><table>\n<thead><tr><th>Step</th><th class="wide-bar"></th><th class="n">Seconds</th><th class="n">Mean squared distance</th><th>Note</th></tr></thead>\n<tbody>\n',
               string_agg(format('<tr id="step-%s"><td class="who">%s</td><td class="wide-bar">%s</td><td class="n">%s</td><td class="n">%s</td><td>%s</td></tr>', t.id, html(t.step),
                                 html_bar(t.seconds / NULLIF(t.longest, 0)), html_number(t.seconds), html_number(t.objective), html(t.note)), E'\n' ORDER BY t.id),
               E'\n</tbody>\n</table></div>'))
      FROM (SELECT l.*, max(l.seconds) OVER () AS longest FROM training_log l WHERE l.model_id = held.id AND l.version = held.version) t
    HAVING count(*) > 0
$$;
