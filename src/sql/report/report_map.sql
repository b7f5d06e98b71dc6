
-- Report: the map of the clusters

CREATE TYPE fastclust_internal.map_circle AS (
    cluster integer, name text, share double precision, x double precision, y double precision,
    r double precision);

-- Returns the labels of the sixty largest circles as SVG. A label is inside its circle if it fits,
-- else on the right or left of it, or above or below, at the first position where it overlaps no
-- other label or circle. If there is no such position, the label is only the number of the cluster,
-- or is left out if the number does not fit.
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
    label text;
    side integer;
    spot box;
BEGIN
    FOR i IN 1 .. least(60, cardinality(circles)) LOOP
        c := circles[i];
        SELECT w.label, b.choice, b.place INTO label, side, spot
          FROM unnest(ARRAY[cluster_label(
                                c.cluster, c.name, CASE WHEN width > 500 THEN 36 ELSE 18 END),
                            c.cluster::text]) WITH ORDINALITY w(label, j),
               LATERAL (SELECT 7 * length(w.label) + 2.4 * (
                                   octet_length(w.label) - length(w.label)) + 2 AS w,
                               15.0::float8 AS h) l,
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
           AND (b.choice > 0 OR l.w + 12 < 2 * c.r)
           AND NOT EXISTS (SELECT FROM unnest(taken) t WHERE t && b.place)
           AND NOT EXISTS (SELECT FROM unnest(around) WITH ORDINALITY t(place, j)
                            WHERE t.place && b.place AND t.j <> i)
         ORDER BY w.j, b.choice LIMIT 1;
        CONTINUE WHEN spot IS NULL;
        taken := taken || spot;
        labels := labels
                  || format(E'<text class="halo" x="%s" y="%s" text-anchor="%s">%s</text>\n',
                            svg(CASE side
                                     WHEN 1 THEN c.x + c.r + 6
                                     WHEN 2 THEN c.x - c.r - 6
                                     ELSE c.x END),
                            svg((center(spot))[1] + 4.2),
                            CASE side WHEN 1 THEN 'start' WHEN 2 THEN 'end' ELSE 'middle' END,
                            html(label));
    END LOOP;
    RETURN labels;
END
$$;

-- Draws clusters as circles whose areas are proportional to their shares, at the same scale on both
-- axes.
CREATE FUNCTION fastclust_internal.svg_map(clusters report_cluster[], width integer,
        height integer, class text)
    RETURNS text
    LANGUAGE sql IMMUTABLE SET search_path FROM CURRENT AS $$
    WITH edge AS (
             SELECT min(c.x) AS x0, max(c.x) AS x1, min(c.y) AS y0, max(c.y) AS y1,
                    sqrt(width * height * 0.05 / pi()) AS r,
                    40 + sqrt(width * height * 0.05 / pi() * max(c.share)) * 0.5 AS margin
               FROM unnest(clusters) c),
         fit AS (
             SELECT *,
                    COALESCE(least((width - 2 * margin) / NULLIF(x1 - x0, 0),
                                   (height - 2 * margin) / NULLIF(y1 - y0, 0)),
                             1) AS unit
               FROM edge),
         drawn AS (
             SELECT array_agg(
                        ROW(c.cluster, c.name, c.share,
                            width / 2.0 + f.unit * (c.x - (f.x0 + f.x1) / 2),
                            height / 2.0 - f.unit * (c.y - (f.y0 + f.y1) / 2),
                            greatest(2.5,
                                     f.r * sqrt(
                                         greatest(0, c.share))))::map_circle ORDER BY c.share DESC,
                        c.cluster) AS circles
               FROM fit f, unnest(clusters) c)
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
                   'Each circle is a cluster, and its area is the share of the rows. Clusters near each other are similar.',
                   CASE WHEN cardinality(clusters) > 1000
                            THEN ' Only the thousand largest are shown.' END),
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
