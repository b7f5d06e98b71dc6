
-- Report: the style sheet, and functions that convert values to HTML

-- Each colour is a variable of both themes; test/t/104_report.pl requires a contrast of 4.5 between
-- text and its background. hm4 to h4 are the colours of values from far below to far above the
-- average.
CREATE FUNCTION fastclust_internal.report_style() RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$SELECT '
:root { color-scheme: light dark;
  --page: #fbfbfa; --ink: #1b1f24; --soft: #5a636d; --rule: #e1e4e8; --track: #eceef0; --accent: #0b6a8a; --tint: #cfe3ea; --alert: #a84a06;
  --hm4: #1f5f99; --hm3: #6ba2ce; --hm2: #a9cbe5; --hm1: #dceaf5; --h0: #f1f1ef; --h1: #fbe7d5; --h2: #f4c597; --h3: #e39a58; --h4: #a34d0c;
  --far: #ffffff; --near: #14181c; }
@media screen and (prefers-color-scheme: dark) { :root {
  --page: #14171b; --ink: #e8eaed; --soft: #9ba5b0; --rule: #2d333a; --track: #23282e; --accent: #62bbd8; --tint: #21485a; --alert: #f2a765;
  --hm4: #86bdec; --hm3: #386b99; --hm2: #2b557c; --hm1: #203850; --h0: #22272d; --h1: #42301f; --h2: #6b4420; --h3: #96602c; --h4: #f1b078;
  --far: #0d1115; --near: #f2f4f6; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", "DejaVu Sans", sans-serif;
  font-variant-numeric: tabular-nums; -webkit-text-size-adjust: 100%; }
.page { max-width: 1120px; margin: 0 auto; padding: 40px 32px 64px; }
header { margin-bottom: 28px; }
h1 { font-size: 34px; line-height: 1.15; font-weight: 650; letter-spacing: -0.015em; margin: 0 0 10px; overflow-wrap: anywhere; }
h2 { font-size: 19px; line-height: 1.3; font-weight: 620; letter-spacing: -0.005em; margin: 0 0 4px; }
h2 + .details { margin-top: 12px; }
h3 { font-size: 13px; font-weight: 600; margin: 0 0 6px; }
p { margin: 0 0 10px; max-width: 74ch; }
.lead { font-size: 18px; line-height: 1.45; margin: 0; overflow-wrap: anywhere; }
.story { font-size: 16px; line-height: 1.55; margin: 18px 0 0; max-width: 80ch; overflow-wrap: anywhere; }
.note, .hint, footer, figcaption { color: var(--soft); }
.note { margin-bottom: 16px; }
.hint, figcaption, footer { font-size: 13px; }
section { padding-top: 26px; margin-top: 34px; border-top: 1px solid var(--rule); }
code { font: 0.92em ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", "DejaVu Sans Mono", monospace; overflow-wrap: anywhere; }
.facts { display: grid; grid-template-columns: repeat(auto-fit, minmax(130px, 1fr)); gap: 18px 24px; margin: 0; }
.facts div { border-top: 2px solid var(--ink); padding-top: 8px; min-width: 0; }
.facts dt, .details dt { color: var(--soft); font-size: 13px; }
.facts dd { margin: 0; font-size: 24px; line-height: 1.25; font-weight: 600; letter-spacing: -0.01em; overflow-wrap: anywhere; }
time, data { white-space: nowrap; } .facts time { white-space: normal; }
.facts dd.word { font-size: 15px; line-height: 2; letter-spacing: 0; }
.details { display: grid; grid-template-columns: max-content 1fr; gap: 6px 24px; margin: 0; font-size: 14px; }
.details dd { margin: 0; overflow-wrap: anywhere; min-width: 0; }
.scroll { overflow-x: auto; overscroll-behavior-x: contain; }
table { border-collapse: collapse; width: 100%; font-size: 14px; }
th { font-weight: 500; font-size: 13px; color: var(--soft); text-align: left; vertical-align: bottom; padding: 4px 12px 6px 0; white-space: nowrap; }
td { padding: 5px 12px 5px 0; border-top: 1px solid var(--rule); vertical-align: middle; }
th:last-child, td:last-child { padding-right: 0; }
.n { text-align: right; white-space: nowrap; } .n + :not(.n) { padding-left: 14px; }
.who { max-width: 300px; overflow-wrap: anywhere; }
.hang { padding-left: 2.2em; text-indent: -2.2em; }
.id { display: inline-block; min-width: 2.2em; text-indent: 0; color: var(--soft); }
.wide-bar { width: 34%; min-width: 60px; }
.bar { display: block; width: 100%; height: 12px; background: var(--track); border-radius: 2px; }
.bar rect { fill: var(--accent); }
.spark { display: block; width: 72px; height: 18px; overflow: visible; }
.spark polygon { fill: var(--tint); }
.spark polyline { fill: none; stroke: var(--accent); stroke-width: 1.5; stroke-linejoin: round; }
.spark circle { fill: var(--accent); }
figure { margin: 0; } figure + .scroll { margin-top: 14px; }
figcaption { margin-top: 10px; max-width: 74ch; }
.chart { display: block; width: 100%; height: auto; }
.chart.narrow, .sideways { display: none; }
.chart text { fill: var(--ink); font-size: 12.5px; }
.chart .tick { fill: var(--soft); font-size: 12px; }
.chart .halo { stroke: var(--page); stroke-width: 3.5px; stroke-linejoin: round; paint-order: stroke; }
.chart .frame { fill: none; stroke: var(--rule); }
.chart .axis { stroke: var(--rule); }
.chart .limit { stroke: var(--alert); stroke-dasharray: 4 4; }
.chart .line { fill: none; stroke: var(--soft); stroke-width: 1.25; }
.bubble { fill: var(--accent); fill-opacity: 0.2; stroke: var(--accent); stroke-width: 1.25; }
.none { fill: var(--page); stroke: var(--soft); stroke-width: 1.5; } .slight { fill: var(--accent); } .drifted { fill: var(--alert); }
.column { fill: var(--tint); } .column.serves { fill: var(--accent); }
.multiples .chart { max-width: 300px; }
.multiples { margin-bottom: 18px; display: grid; grid-template-columns: repeat(auto-fit, minmax(240px, 1fr)); gap: 22px 32px; }
.heat { width: auto; border-collapse: separate; border-spacing: 2px; font-size: 13px; margin-left: -2px; }
.heat td, .heat th { padding: 4px 7px; border: 0; }
.heat thead th { text-align: center; vertical-align: bottom; white-space: normal; overflow-wrap: break-word; line-height: 1.25; max-width: 120px; }
.heat tbody th { position: sticky; left: 0; background: var(--page); color: var(--ink); white-space: normal; overflow-wrap: break-word;
  max-width: 240px; min-width: 96px; vertical-align: middle; padding-left: 2px; }
.heat td { text-align: center; border-radius: 3px; min-width: 28px; height: 28px; white-space: nowrap; }
.heat .all { background: none; color: var(--soft); text-align: right; }
.hm4 { background: var(--hm4); color: var(--far); } .hm3 { background: var(--hm3); color: var(--near); } .hm2 { background: var(--hm2); color: var(--near); }
.hm1 { background: var(--hm1); color: var(--near); } .h0 { background: var(--h0); color: var(--near); } .h1 { background: var(--h1); color: var(--near); }
.h2 { background: var(--h2); color: var(--near); } .h3 { background: var(--h3); color: var(--near); } .h4 { background: var(--h4); color: var(--far); }
.legend { display: flex; flex-wrap: wrap; align-items: center; gap: 2px; max-width: none; margin: 0 0 12px; font-size: 12px; color: var(--soft); }
.legend b { display: flex; gap: 2px; } .legend i { width: 24px; height: 12px; border-radius: 2px; } .legend span { margin: 0 8px; } .legend span:first-child { margin-left: 0; }
.rules { list-style: none; margin: 0; padding: 0; }
.rules li { padding: 9px 0; border-top: 1px solid var(--rule); }
.rules b { font-weight: 600; } .rules p { margin: 2px 0 0; } .rules .note { margin: 0; font-size: 13px; }
details { margin-top: 10px; } summary { color: var(--accent); cursor: pointer; }
footer { margin-top: 48px; padding-top: 16px; border-top: 1px solid var(--rule); }
@media (max-width: 860px) { th, th.n { white-space: normal; } .who { min-width: 150px; } .wide-bar { width: 20%; } .chart.wide { display: none; } .chart.narrow { display: block; max-width: 480px; } }
@media (max-width: 700px) {
  .page { padding: 24px 16px 40px; } h1 { font-size: 27px; } .lead { font-size: 16px; }
  .legend i { width: 18px; }
  .scroll table:not(.heat), .scroll table:not(.heat) tbody { display: block; } .scroll table:not(.heat) thead { display: none; }
  table:not(.heat) tr { display: flex; flex-wrap: wrap; gap: 1px 16px; padding: 9px 0; border-top: 1px solid var(--rule); }
  table:not(.heat) td { padding: 0; border: 0; text-align: left; } table:not(.heat) td:empty { display: none; }
  table:not(.heat) td.who, table:not(.heat) td.wide-bar { width: 100%; max-width: none; } table:not(.heat) td.hang { text-indent: 0; } table:not(.heat) .n + td:not(.n) { padding-left: 0; }
  td::before { color: var(--soft); font-size: 13px; margin-right: 5px; } .spark { display: inline-block; }
  #sizes td:nth-child(3)::before { content: "Rows"; } #sizes td:nth-child(4)::before { content: "Share"; } #sizes td:nth-child(5)::before { content: "Spread"; }
  #sizes td:nth-child(6)::before { content: "Nearest"; } #sizes td:nth-child(7)::before { content: "By version"; }
  #groups td:nth-child(3)::before { content: "Rows"; } #groups td:nth-child(4)::before { content: "Clusters"; }
  #groups td:nth-child(5)::before { content: "Mean squared distance"; } #groups td:nth-child(6)::before { content: "Label churn"; }
  #versions td:nth-child(1)::before { content: "Version"; } #versions td:nth-child(2)::before { content: "Trained"; } #versions td:nth-child(3)::before { content: "By"; }
  #versions td:nth-child(4)::before { content: "Method"; } #versions td:nth-child(5)::before { content: "Clusters"; } #versions td:nth-child(6)::before { content: "Rows"; }
  #versions td:nth-child(7)::before { content: "Mean squared distance"; } #versions td:nth-child(8)::before { content: "Label churn"; }
  #drift td:nth-child(1)::before { content: "Checked"; } #drift td:nth-child(2)::before { content: "Version"; } #drift td:nth-child(3)::before { content: "Rows"; }
  #drift td:nth-child(4)::before { content: "Effect"; } #drift td:nth-child(5)::before { content: "p-value"; } #drift td:nth-child(6)::before { content: "Verdict"; }
  #drift td:nth-child(7)::before { content: "Columns, shift of the mean"; } #drift td:nth-child(8)::before { content: "Retrained to"; }
  #training td:nth-child(3)::before { content: "Seconds"; } #training td:nth-child(4)::before { content: "Mean squared distance"; } #training td:nth-child(5)::before { content: "Note"; }
  .sideways { display: block; margin: 0 0 8px; } .heat thead th { min-width: 84px; }
  .facts { grid-template-columns: repeat(2, 1fr); gap: 14px 18px; } .facts dd { font-size: 20px; }
  .details { grid-template-columns: 1fr; gap: 0; } .details dd { margin-bottom: 8px; }
  .heat tbody th { max-width: 128px; font-size: 12.5px; } td { padding-right: 8px; } }
@media print { :root { color-scheme: light; --page: #ffffff; } * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  .page { max-width: none; padding: 0; } .chart.narrow { max-width: 400px; } section, tr, figure { break-inside: avoid; } .scroll { overflow: visible; } .story { break-after: avoid; } th { white-space: normal; } }
'$$;

-- ---- values ----

-- Cuts a text to max_length characters and escapes it for HTML. Removes the control characters that
-- HTML forbids and terminals execute.
CREATE FUNCTION fastclust_internal.html(value text, max_length integer DEFAULT NULL) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT replace(
               replace(
                   replace(
                       replace(
                           replace(
                               regexp_replace(
                                   CASE WHEN length(value) > max_length THEN left(value, max_length - 1)
                                        ELSE value END,
                                   E'(?![\\t\\n\\r])' || fastclust_internal.control_character(),
                                   '', 'g'),
                               '&', '&amp;'),
                           '<', '&lt;'),
                       '>', '&gt;'),
                   '"', '&quot;'),
               '''', '&#39;')
           || CASE WHEN length(value) > max_length THEN '&hellip;' ELSE '' END
$$;

-- Returns HTML that displays a number: a share if kind is 'category', a whole number if it is
-- 'count'. The attribute "value" has all digits.
CREATE FUNCTION fastclust_internal.html_value(x double precision, kind text) RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE SET search_path FROM CURRENT AS $$
    SELECT CASE WHEN x IS NULL THEN '&ndash;'
                ELSE format(
                         '<data value="%s">%s</data>', x,
                         CASE kind
                              WHEN 'count' THEN to_char(x::numeric, 'FM9,999,999,999,999,999,990')
                              ELSE replace(
                                       html(shown_value(x, kind, false)), ' ', '&nbsp;') END) END
$$;

CREATE FUNCTION fastclust_internal.html_time(at timestamptz, by_day boolean DEFAULT false)
    RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE WHEN at IS NULL THEN '&ndash;'
                ELSE format('<time datetime="%s">%s</time>',
                            to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
                            to_char(at, CASE WHEN by_day THEN 'YYYY-MM-DD'
                                             ELSE 'YYYY-MM-DD HH24:MI' END)) END
$$;

-- Returns true if no two of these times are on the same day, so that their dates distinguish them.
CREATE FUNCTION fastclust_internal.days_differ(times timestamptz[]) RETURNS boolean
    LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT count(DISTINCT t::date) = count(*) AND count(*) > 1 FROM unnest(times) t
$$;

-- Breaks a text into lines of at most `width` characters, at spaces; cuts a longer word into
-- pieces.
CREATE FUNCTION fastclust_internal.wrapped(value text, width integer) RETURNS text[]
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    lines text[] := '{}';
    line text := '';
    word text;
BEGIN
    FOREACH word IN ARRAY string_to_array(value, ' ') LOOP
        IF line <> '' AND length(line) + 1 + length(word) <= width THEN
            line := concat(line, ' ', word);
            CONTINUE;
        ELSIF line <> '' THEN
            lines := lines || line;
        END IF;
        WHILE length(word) > width LOOP
            lines := lines || left(word, width);
            word := substr(word, width + 1);
        END LOOP;
        line := word;
    END LOOP;
    RETURN CASE WHEN line = '' THEN lines ELSE lines || line END;
END
$$;

-- Returns a bar whose length is a share, from 0 to 1, of the whole width.
CREATE FUNCTION fastclust_internal.html_bar(share double precision) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT format(
               '<svg class="bar" viewBox="0 0 100 12" preserveAspectRatio="none" aria-hidden="true"><rect width="%s" height="12"/></svg>',
               round((100 * least(1, greatest(0, COALESCE(NULLIF(share, 'NaN'), 0))))::numeric, 2))
$$;

-- Returns a coordinate of a picture, with one decimal.
CREATE FUNCTION fastclust_internal.svg(x double precision) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT trim_scale(round(x::numeric, 1))::text
$$;

-- Returns lines of text as SVG, centred around y.
CREATE FUNCTION fastclust_internal.svg_lines(class text, lines text[], x double precision,
        y double precision, anchor text)
    RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path FROM CURRENT AS $$
    SELECT string_agg(
               format(E'<text%s x="%s" y="%s" text-anchor="%s">%s</text>\n',
                      ' class="' || class || '"', svg(x),
                      svg(y + 4.2 + 15 * (u.i - (cardinality(lines) + 1) / 2.0)), anchor,
                      html(u.line)),
               '' ORDER BY u.i)
      FROM unnest(lines) WITH ORDINALITY u(line, i)
$$;

-- html_table returns a table with the given classes and titles of columns; html_row returns one of
-- its rows.
CREATE FUNCTION fastclust_internal.html_table(classes text[], titles text[], table_rows text)
    RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT format(
               E'<div class="scroll"><table>\n<thead><tr>%s</tr></thead>\n<tbody>\n%s\n</tbody>\n</table></div>',
               string_agg(format('<th class="%s">%s</th>', u.class, u.title), '' ORDER BY u.i),
               table_rows)
      FROM unnest(classes, titles) WITH ORDINALITY u(class, title, i)
$$;
CREATE FUNCTION fastclust_internal.html_row(id text, classes text[], cells text[]) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT format('<tr%s>%s</tr>', ' id="' || id || '"',
                  string_agg(format('<td class="%s">%s</td>', u.class, u.cell), '' ORDER BY u.i))
      FROM unnest(classes, cells) WITH ORDINALITY u(class, cell, i)
$$;

CREATE FUNCTION fastclust_internal.html_section(id text, title text, note text, body text)
    RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT concat(format(E'<section id="%s">\n<h2>%s</h2>\n', id, title),
                  E'<p class="note">' || note || E'</p>\n', body, E'\n</section>\n')
$$;
