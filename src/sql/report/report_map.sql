
-- Report: the map of the clusters

CREATE TYPE fastclust_internal.map_circle AS (
    cluster integer, name text, share double precision, x double precision, y double precision,
    r double precision);

-- Returns the minimum share of a cluster that affects the scale of the map: one percent, or 0 if
-- fewer than two clusters have that share.
CREATE FUNCTION fastclust_internal.least_shown(clusters report_cluster[]) RETURNS double precision
    LANGUAGE sql IMMUTABLE SET search_path FROM CURRENT AS $$
    SELECT CASE WHEN count(*) >= 2 THEN 0.01 ELSE 0 END FROM unnest(clusters) c
     WHERE c.share >= 0.01
$$;

-- Returns the labels of the sixty largest circles as SVG. A label is inside its circle if it fits,
-- else on the right or left of it, or above or below, at the first position where it overlaps no
-- other label or circle. A label that fits nowhere is broken into more lines, up to four. If these
-- do not fit either, the label is only the number of the cluster, or is left out.
CREATE FUNCTION fastclust_internal.map_labels(circles map_circle[], width integer, height integer)
    RETURNS text
    LANGUAGE plpgsql IMMUTABLE SET search_path FROM CURRENT AS $$
DECLARE
    around box[] := (SELECT array_agg(box(point(c.x - c.r, c.y - c.r),
                                          point(c.x + c.r, c.y + c.r)) ORDER BY c.i)
                       FROM unnest(circles) WITH ORDINALITY c(cluster, name, share, x, y, r, i));
    taken box[] := '{}';
    labels text := '';
    c map_circle;
    words text[];    -- lines of the label
    side integer;
    spot box;
BEGIN
    FOR i IN 1 .. least(60, cardinality(circles)) LOOP
        c := circles[i];
        SELECT w.words, b.choice, b.place INTO words, side, spot
          FROM (SELECT u.j, wrapped(cluster_label(c.cluster, c.name, 200), u.columns)
                  FROM unnest(CASE WHEN width > 500 THEN '{48,28,18}'::integer[]
                                   ELSE '{26,18,13}' END) WITH ORDINALITY u(columns, j)
                UNION ALL
                SELECT 4, ARRAY[c.cluster::text]) w(j, words),
               LATERAL (SELECT max(7 * length(u) + 2.4 * (octet_length(u) - length(u))) + 2 AS w,
                               15.0 * cardinality(w.words) AS h
                          FROM unnest(w.words) u) l,
               LATERAL (VALUES (0,
                                box(point(c.x - l.w / 2, c.y - l.h / 2),
                                    point(c.x + l.w / 2, c.y + l.h / 2))),
                               (1,
                                box(point(c.x + c.r + 6, c.y - l.h / 2),
                                    point(c.x + c.r + 6 + l.w, c.y + l.h / 2))),
                               (2,
                                box(point(c.x - c.r - 6 - l.w, c.y - l.h / 2),
                                    point(c.x - c.r - 6, c.y + l.h / 2))),
                               (3,
                                box(point(c.x - l.w / 2, c.y - c.r - 6 - l.h),
                                    point(c.x + l.w / 2, c.y - c.r - 6))),
                               (4,
                                box(point(c.x - l.w / 2, c.y + c.r + 6),
                                    point(c.x + l.w / 2, c.y + c.r + 6 + l.h)))) b(choice, place)
         WHERE b.place <@ box(point(2, 2), point(width - 2, height - 2))
           AND cardinality(w.words) <= 4
           AND (b.choice > 0 OR (l.w / 2 + 2) ^ 2 + (l.h / 2) ^ 2 < (greatest(c.r, 2) - 2) ^ 2)
           AND NOT EXISTS (SELECT FROM unnest(taken) t WHERE t && b.place)
           AND NOT EXISTS (SELECT FROM unnest(around) WITH ORDINALITY t(place, j)
                            WHERE t.place && b.place AND t.j <> i)
         ORDER BY w.j, b.choice LIMIT 1;
        CONTINUE WHEN spot IS NULL;
        taken := taken || spot;
        labels := labels
                  || svg_lines('halo', words,
                               CASE side
                                    WHEN 1 THEN c.x + c.r + 6
                                    WHEN 2 THEN c.x - c.r - 6
                                    ELSE c.x END,
                               (center(spot))[1],
                               CASE side WHEN 1 THEN 'start' WHEN 2 THEN 'end' ELSE 'middle' END);
    END LOOP;
    RETURN labels;
END
$$;

-- Draws clusters as circles whose areas are proportional to their shares, at the same scale on both
-- axes. The picture is scaled to the clusters with at least one percent of the rows (least_shown).
-- A smaller cluster outside of the picture is drawn at its edge.
CREATE FUNCTION fastclust_internal.svg_map(clusters report_cluster[], width integer,
        height integer, class text)
    RETURNS text
    LANGUAGE sql IMMUTABLE SET search_path FROM CURRENT AS $$
    WITH edge AS (
             SELECT min(c.x) FILTER (WHERE c.share >= s.least) AS x0,
                    max(c.x) FILTER (WHERE c.share >= s.least) AS x1,
                    min(c.y) FILTER (WHERE c.share >= s.least) AS y0,
                    max(c.y) FILTER (WHERE c.share >= s.least) AS y1,
                    sqrt(width * height * 0.05 / pi()) AS r,
                    40 + sqrt(width * height * 0.05 / pi() * max(c.share)) * 0.5 AS margin
               FROM unnest(clusters) c, least_shown(clusters) s(least)),
         fit AS (
             SELECT *,
                    COALESCE(least((width - 2 * margin) / NULLIF(x1 - x0, 0),
                                   (height - 2 * margin) / NULLIF(y1 - y0, 0)),
                             1) AS unit
               FROM edge),
         drawn AS (
             SELECT array_agg(
                        ROW(c.cluster, c.name, c.share,
                            least(width - r.r - 4,
                                  greatest(r.r + 4,
                                           width / 2.0 + f.unit * (c.x - (f.x0 + f.x1) / 2))),
                            least(height - r.r - 4,
                                  greatest(r.r + 4,
                                           height / 2.0 - f.unit * (c.y - (f.y0 + f.y1) / 2))),
                            r.r)::map_circle ORDER BY c.share DESC, c.cluster) AS circles
               FROM fit f, unnest(clusters) c,
                    LATERAL (SELECT greatest(2.5, f.r * sqrt(greatest(0, c.share))) AS r) r)
    SELECT concat(
               format(
                   E'<svg class="chart %s" viewBox="0 0 %s %s" role="img" aria-label="map of the clusters">\n<rect class="frame" x="0.5" y="0.5" width="%s" height="%s" rx="4"/>\n',
                   class, width, height, width - 1, height - 1),
               (SELECT string_agg(
                           format(
                               E'<circle class="bubble" cx="%s" cy="%s" r="%s"><title>%s: %s</title></circle>\n',
                               svg(c.x), svg(c.y), svg(c.r),
                               html(cluster_label(c.cluster, c.name, 200)),
                               html(shown_value(c.share, 'category', false))),
                           '' ORDER BY c.share DESC, c.cluster)
                  FROM unnest(circles) c),
               map_labels(circles, width, height), '</svg>')
      FROM drawn
$$;

-- Draws a wide picture and a narrow one; the style sheet shows the one that fits.
CREATE FUNCTION fastclust_internal.report_map(clusters report_cluster[], profile profile_value[])
    RETURNS text
    LANGUAGE plpgsql IMMUTABLE SET search_path FROM CURRENT AS $$
DECLARE
    shown_x float8 := (clusters[1]).shown_x;
    shown_y float8 := (clusters[1]).shown_y;
    -- the two features that increase or decrease most along each axis, from left to right and from
    -- bottom to top
    words text[];
BEGIN
    IF cardinality(clusters) < 2 OR shown_x IS NULL THEN
        RETURN NULL;
    END IF;
    words := ARRAY(
                 SELECT (SELECT ' ('
                                || string_agg(
                                       format('%s <code>%s</code>',
                                              CASE WHEN q.s > 0 THEN 'more' ELSE 'less' END,
                                              html(q.feature, 60)),
                                       ', ' ORDER BY abs(q.s) DESC)
                                || ')'
                           FROM (SELECT f.*,
                                        rank() OVER (ORDER BY abs(f.s) DESC, f.feature) AS place,
                                        max(abs(f.s)) OVER () AS largest
                                   FROM (SELECT v.feature,
                                                sum(c.share * v.difference *
                                                        CASE axis
                                                             WHEN 1 THEN c.x
                                                             ELSE c.y END) AS s
                                           FROM unnest(profile) v
                                           JOIN unnest(clusters) c USING (cluster)
                                          GROUP BY v.place, v.feature) f) q
                          WHERE q.place <= 2 AND q.s <> 0 AND abs(q.s) > 0.5 * q.largest)
                   FROM generate_series(1, 2) axis
                  ORDER BY axis);
    RETURN html_section(
               'map', 'Map',
               concat(
                   format('Each circle is a cluster, and its area is the share of the %s. Clusters near each other are similar.',
                          unit_of_shares(clusters)),
                   CASE WHEN cardinality(clusters) > 1000
                            THEN ' Only the thousand largest are shown.' END,
                   (SELECT CASE WHEN bool_or(c.share < s.least AND (c.x NOT BETWEEN s.x0 AND s.x1
                                                                    OR c.y NOT BETWEEN s.y0 AND s.y1))
                                    THEN format(
                                             ' A cluster with less than 1 %% of the %s that is far from the others is at the edge.',
                                             unit_of_shares(clusters)) END
                      FROM unnest(clusters) c,
                           (SELECT least, min(b.x) AS x0, max(b.x) AS x1, min(b.y) AS y0,
                                   max(b.y) AS y1
                              FROM least_shown(clusters) least, unnest(clusters) b
                             WHERE b.share >= least
                             GROUP BY least) s)),
               concat(
                   E'<figure>\n', svg_map(clusters[:1000], 1056, 520, 'wide'), E'\n',
                   svg_map(clusters[:1000], 343, 360, 'narrow'),
                   format(
                       E'\n<figcaption>The two axes along which the clusters differ most. They show %s of the differences between them: '
                           '%s from left to right%s, %s from bottom to top%s.</figcaption>\n</figure>',
                       html_value(shown_x + shown_y, 'category'), html_value(shown_x, 'category'),
                       words[1], html_value(shown_y, 'category'), words[2])));
END
$$;
