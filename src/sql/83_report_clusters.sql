
-- report: the sections that show the clusters

-- What the page says of a cluster.
CREATE TYPE fastclust_internal.report_cluster AS (cluster integer, name text, size bigint, share double precision, spread double precision,
    nearest integer, distance double precision, x double precision, y double precision, shown_x double precision, shown_y double precision);

-- (operator): where the clusters lie on their two principal axes, and the share of the squared distances to their mean that each axis shows.
CREATE FUNCTION fastclust_internal.cluster_places(op fastop, OUT cluster integer, OUT x double precision, OUT y double precision,
        OUT shown_x double precision, OUT shown_y double precision) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_cluster_places' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

-- The clusters of a version, the largest first.
CREATE FUNCTION fastclust_internal.report_clusters(held models, version model_versions) RETURNS report_cluster[]
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT array_agg(ROW(c.cluster, NULL, c.size, c.share, c.spread, c.nearest_cluster, c.nearest_distance, p.x, p.y, p.shown_x, p.shown_y)::report_cluster
                     ORDER BY c.share DESC, c.cluster)
      FROM version_cluster_rows(held.model, version.n, version.operator, true, NULL, NULL, version.spreads) c
      LEFT JOIN cluster_places(version.operator) p USING (cluster)
$$;

-- A cluster as people call it: its number, and its name where it has one.
CREATE FUNCTION fastclust_internal.cluster_label(cluster integer, name text, most integer) RETURNS text
    LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, fastclust_internal, pg_temp AS $$
    SELECT CASE WHEN name IS NULL THEN cluster::text ELSE concat(cluster, ' ', CASE WHEN length(name) <= most THEN name ELSE left(name, most - 1) || '...' END) END
$$;

-- ---- sizes ----

-- The share of each cluster in the versions that are kept, the last twelve of them, oldest first.
CREATE FUNCTION fastclust_internal.shares_by_version(held models, OUT cluster integer, OUT shares double precision[]) RETURNS SETOF record
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    WITH kept AS (SELECT v.version, v.operator FROM model_versions v WHERE v.model_id = held.id AND v.version <= held.version ORDER BY v.version DESC LIMIT 12),
         part AS (SELECT k.version, c.cluster, c.weight / NULLIF(sum(c.weight) OVER (PARTITION BY k.version), 0) AS share FROM kept k, centroids(k.operator) c)
    SELECT p.cluster, array_agg(p.share ORDER BY p.version) FROM part p GROUP BY 1 HAVING (SELECT count(*) FROM kept) > 1
$$;

CREATE FUNCTION fastclust_internal.html_sparkline(shares double precision[]) RETURNS text
    LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, fastclust_internal, pg_temp AS $$
    SELECT format('<svg class="spark" viewBox="0 0 72 18" role="img" aria-label="share by version"><title>%s</title><polyline points="%s"/><circle cx="%s" cy="%s" r="2.2"/></svg>',
                  string_agg(replace(regexp_replace(html_percent(q.share), '<[^>]*>', '', 'g'), ' ', ''), ' &rarr; ' ORDER BY q.i),
                  string_agg(format('%s,%s', svg(q.x), svg(q.y)), ' ' ORDER BY q.i),
                  svg((array_agg(q.x ORDER BY q.i DESC))[1]), svg((array_agg(q.y ORDER BY q.i DESC))[1]))
      FROM (SELECT u.i, u.share, 69.0 * (u.i - 1) / greatest(1, cardinality(shares) - 1) AS x,
                   16 - 14 * COALESCE(u.share / NULLIF((SELECT max(s) FROM unnest(shares) s), 0), 0) AS y
              FROM unnest(shares) WITH ORDINALITY u(share, i)) q
     HAVING count(*) > 1
$$;

CREATE FUNCTION fastclust_internal.report_size_row(c report_cluster, largest double precision, shares double precision[], history boolean) RETURNS text
    LANGUAGE sql STABLE SET search_path = pg_catalog, fastclust_internal, pg_temp AS $$
    SELECT format('<tr id="cluster-%s"><td class="who"><span class="id">%s</span>%s</td><td class="wide-bar">%s</td><td class="n">%s</td><td class="n">%s</td><td class="n wide">%s</td>'
                  '<td class="n wide">%s</td>%s</tr>', c.cluster, c.cluster, html(c.name), html_bar(c.share / NULLIF(largest, 0)), html_count(c.size), html_percent(c.share),
                  html_number(c.spread), CASE WHEN c.nearest IS NULL THEN '&ndash;' ELSE format('%s at %s', c.nearest, html_number(c.distance)) END,
                  CASE WHEN history THEN format('<td class="wide">%s</td>', html_sparkline(shares)) END)
$$;

CREATE FUNCTION fastclust_internal.report_size_table(clusters report_cluster[], largest double precision, held models, history boolean) RETURNS text
    LANGUAGE sql STABLE SET search_path = pg_catalog, fastclust_internal, pg_temp AS $$
    SELECT format(E'<table>\n<thead><tr><th>Cluster</th><th></th><th class="n">Rows</th><th class="n">Share</th><th class="n wide">Spread</th><th class="n wide">Nearest</th>%s</tr></thead>\n'
                  '<tbody>\n%s\n</tbody>\n</table>', CASE WHEN history THEN '<th class="wide">By version</th>' END,
                  string_agg(report_size_row(ROW(c.*)::report_cluster, largest, s.shares, history), E'\n' ORDER BY c.share DESC, c.cluster))
      FROM unnest(clusters) c LEFT JOIN shares_by_version(held) s ON s.cluster = c.cluster
$$;

-- The forty largest, and up to a thousand more to open.
CREATE FUNCTION fastclust_internal.report_sizes(held models, clusters report_cluster[]) RETURNS text
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, fastclust_internal, pg_temp AS $$
DECLARE
    n integer := cardinality(clusters);
    largest float8 := (clusters[1]).share;
    history boolean := EXISTS (SELECT FROM shares_by_version(held));
BEGIN
    RETURN html_section('sizes', 'Clusters',
        concat('Training rows in each cluster, the largest first. Spread is the typical distance of a row from its centroid along one dimension',
               CASE WHEN n > 1 THEN '; nearest is the closest other cluster and how far its centroid is' END, '.'),
        concat(report_size_table(clusters[:40], largest, held, history),
               CASE WHEN n > 40 THEN format(E'\n<details><summary>%s smaller clusters</summary>\n%s</details>', least(n, 1040) - 40,
                                            report_size_table(clusters[41:1040], largest, held, history)) END,
               CASE WHEN n > 1040 THEN format(E'\n<p class="hint">%s more are rows of <code>model_clusters</code>.</p>', html_count(n - 1040)) END));
END
$$;

-- ---- map ----

CREATE TYPE fastclust_internal.map_circle AS (cluster integer, name text, share double precision, x double precision, y double precision, r double precision);

-- Circles in a picture, at equal scale on both axes; their areas are as their shares.
CREATE FUNCTION fastclust_internal.map_circles(clusters report_cluster[], width integer, height integer) RETURNS map_circle[]
    LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, fastclust_internal, pg_temp AS $$
    WITH edge AS (SELECT min(c.x) AS x0, max(c.x) AS x1, min(c.y) AS y0, max(c.y) AS y1, sqrt(width * height * 0.05 / pi()) AS r,
                         40 + sqrt(width * height * 0.05 / pi() * max(c.share)) * 0.5 AS margin
                    FROM unnest(clusters) c),
         fit AS (SELECT *, COALESCE(least((width - 2 * margin) / NULLIF(x1 - x0, 0), (height - 2 * margin) / NULLIF(y1 - y0, 0)), 1) AS unit FROM edge)
    SELECT array_agg(ROW(c.cluster, c.name, c.share, width / 2.0 + f.unit * (c.x - (f.x0 + f.x1) / 2), height / 2.0 - f.unit * (c.y - (f.y0 + f.y1) / 2),
                         greatest(2.5, f.r * sqrt(greatest(0, c.share))))::map_circle ORDER BY c.share DESC, c.cluster)
      FROM fit f, unnest(clusters) c
$$;

-- Where a label may stand: in the circle where it fits, else beside, above or below it.
CREATE FUNCTION fastclust_internal.label_boxes(c map_circle, label text, width integer, height integer, OUT place box, OUT is_inside boolean) RETURNS SETOF record
    LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT b.place, b.i = 0
      FROM (SELECT 6.7 * length(label) + 2.4 * (octet_length(label) - length(label)) + 2 AS w, 15.0::float8 AS h) l,
           LATERAL (VALUES (0, box(point(c.x - l.w / 2, c.y - l.h / 2), point(c.x + l.w / 2, c.y + l.h / 2))),
                           (1, box(point(c.x + c.r + 3, c.y - l.h / 2), point(c.x + c.r + 3 + l.w, c.y + l.h / 2))),
                           (2, box(point(c.x - c.r - 3 - l.w, c.y - l.h / 2), point(c.x - c.r - 3, c.y + l.h / 2))),
                           (3, box(point(c.x - l.w / 2, c.y - c.r - 2 - l.h), point(c.x + l.w / 2, c.y - c.r - 2))),
                           (4, box(point(c.x - l.w / 2, c.y + c.r + 2), point(c.x + l.w / 2, c.y + c.r + 2 + l.h)))) b(i, place)
     WHERE b.place <@ box(point(2, 2), point(width - 2, height - 2)) AND (b.i > 0 OR l.w + 6 < 2 * c.r)
     ORDER BY b.i
$$;

-- The labels of the largest sixty circles, each at the first place where it meets neither another label nor another circle.
CREATE FUNCTION fastclust_internal.map_labels(circles map_circle[], width integer, height integer) RETURNS text
    LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, fastclust_internal, pg_temp AS $$
DECLARE
    around box[] := (SELECT array_agg(box(point(c.x - c.r, c.y - c.r), point(c.x + c.r, c.y + c.r)) ORDER BY c.i)
                       FROM unnest(circles) WITH ORDINALITY c(cluster, name, share, x, y, r, i));
    taken box[] := '{}';
    labels text := '';
    label text;
    spot box;
BEGIN
    FOR i IN 1 .. least(60, cardinality(circles)) LOOP
        label := cluster_label((circles[i]).cluster, (circles[i]).name, 26);
        spot := (SELECT b.place FROM label_boxes(circles[i], label, width, height) b
                  WHERE NOT EXISTS (SELECT FROM unnest(taken) t WHERE t && b.place)
                    AND NOT EXISTS (SELECT FROM unnest(around) WITH ORDINALITY t(place, j) WHERE t.place && b.place AND t.j <> i) LIMIT 1);
        CONTINUE WHEN spot IS NULL;
        taken := taken || spot;
        labels := labels || format(E'<text class="halo" x="%s" y="%s" text-anchor="middle">%s</text>\n', svg((center(spot))[0]), svg((center(spot))[1] + 4.2), html(label));
    END LOOP;
    RETURN labels;
END
$$;

CREATE FUNCTION fastclust_internal.svg_map(clusters report_cluster[], width integer, height integer, class text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, fastclust_internal, pg_temp AS $$
DECLARE
    circles map_circle[] := map_circles(clusters, width, height);
BEGIN
    RETURN concat(format(E'<svg class="chart %s" viewBox="0 0 %s %s" role="img" aria-label="map of the clusters">\n<rect class="frame" x="0.5" y="0.5" width="%s" height="%s" rx="4"/>\n',
                         class, width, height, width - 1, height - 1),
        (SELECT string_agg(format(E'<circle class="bubble" cx="%s" cy="%s" r="%s"><title>%s: %s</title></circle>\n', svg(c.x), svg(c.y), svg(c.r),
                                  html(cluster_label(c.cluster, c.name, 200)), regexp_replace(html_percent(c.share), '<[^>]*>', '', 'g')), '' ORDER BY c.share DESC, c.cluster)
           FROM unnest(circles) c),
        map_labels(circles, width, height), '</svg>');
END
$$;

-- A wide picture and a narrow one, of which the style sheet shows what fits.
CREATE FUNCTION fastclust_internal.report_map(clusters report_cluster[]) RETURNS text
    LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, fastclust_internal, pg_temp AS $$
DECLARE
    shown_x float8 := (clusters[1]).shown_x;
    shown_y float8 := (clusters[1]).shown_y;
BEGIN
    IF cardinality(clusters) < 2 OR shown_x IS NULL THEN
        RETURN NULL;
    END IF;
    RETURN html_section('map', 'Map',
        concat('Each circle is a cluster, its area the share of the rows. Near each other means alike.',
               CASE WHEN cardinality(clusters) > 1000 THEN ' The thousand largest are drawn.' END),
        concat(E'<figure>\n', svg_map(clusters[:1000], 1056, 520, 'wide'), E'\n', svg_map(clusters[:1000], 343, 360, 'narrow'),
               format(E'\n<figcaption>The two axes along which the clusters differ most. They show %s of the differences between them: %s from left to right, %s from top to bottom.</figcaption>\n</figure>',
                      html_percent(shown_x + shown_y), html_percent(shown_x), html_percent(shown_y))));
END
$$;
