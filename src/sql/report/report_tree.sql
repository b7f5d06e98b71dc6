
-- Report: the tree of the clusters

CREATE TYPE fastclust_internal.tree_node AS (x double precision, y double precision);
-- Label of a leaf: the place i of the leaf from the top, its lines of text, and its vertical
-- centre.
CREATE TYPE fastclust_internal.tree_label AS (
    leaf integer, i bigint, words text[], y double precision);

-- Returns the labels of the leaves, from top to bottom, in lines of at most `width` characters.
CREATE FUNCTION fastclust_internal.tree_labels(leaves integer[], clusters report_cluster[],
        width integer)
    RETURNS tree_label[]
    LANGUAGE sql IMMUTABLE SET search_path FROM CURRENT AS $$
    SELECT array_agg(ROW(q.leaf, q.i, q.words, q.below - q.height / 2)::tree_label ORDER BY q.i)
      FROM (SELECT u.leaf, u.i, w.words, h.height, sum(h.height) OVER (ORDER BY u.i) + 8 AS below
              FROM unnest(leaves) WITH ORDINALITY u(leaf, i)
              LEFT JOIN unnest(clusters) c ON c.cluster = u.leaf,
                   LATERAL (SELECT wrapped(cluster_label(u.leaf, c.name, 200), width) AS words) w,
                   LATERAL (SELECT 15.0 * cardinality(w.words) + 6 AS height) h) q
$$;

-- Draws the clusters from top to bottom at the left; a higher join is farther right. Makes a wide
-- picture and a narrow one; the style sheet shows the one that fits.
CREATE FUNCTION fastclust_internal.report_tree(version stored_versions, clusters report_cluster[])
    RETURNS text
    LANGUAGE plpgsql IMMUTABLE SET search_path FROM CURRENT AS $$
DECLARE
    below text[] := ARRAY(SELECT generate_series(0, cluster_labels(version.operator) - 1)::text);
    highest float8 := (SELECT NULLIF(max(j.height), 0) FROM version_joins(version) j);
    leaves integer[];
    nodes tree_node[];
    labels tree_label[];
    unit float8;
    lines text;
    pictures text := '';
    picture record;
    one record;
    a tree_node;
    b tree_node;
BEGIN
    IF clusters(version.operator) NOT BETWEEN 3 AND 60 THEN
        RETURN NULL;
    END IF;
    -- order the leaves so that no branches cross
    FOR one IN SELECT * FROM version_joins(version) ORDER BY step LOOP
        below := below || concat(below[one."left" + 1], ',', below[one."right" + 1]);
    END LOOP;
    leaves := string_to_array(below[cardinality(below)], ',')::integer[];
    -- the margin on the left has the labels
    FOR picture IN
        SELECT * FROM (VALUES (1056, 320, 'wide'), (343, 140, 'narrow')) v(width, margin, class)
    LOOP
        unit := COALESCE((picture.width - picture.margin - 10) / highest, 0);
        labels := tree_labels(leaves, clusters, (picture.margin - 8) / 7);
        nodes := (SELECT array_agg(ROW(picture.margin, u.y)::tree_node ORDER BY n.leaf)
                    FROM generate_series(0, cluster_labels(version.operator) - 1) n(leaf)
                    LEFT JOIN unnest(labels) u USING (leaf));
        lines := '';
        FOR one IN SELECT * FROM version_joins(version) ORDER BY step LOOP
            a := nodes[one."left" + 1];
            b := nodes[one."right" + 1];
            lines := lines
                     || format(E'<path class="line" d="M%s %sH%sV%sH%s"/>\n', svg(a.x), svg(a.y),
                               svg(picture.margin + unit * one.height), svg(b.y), svg(b.x));
            nodes := nodes || ROW(picture.margin + unit * one.height, (a.y + b.y) / 2)::tree_node;
        END LOOP;
        pictures :=
            concat(
                pictures,
                format(
                    E'<svg class="chart %s" viewBox="0 0 %s %s" role="img" aria-label="tree of the clusters">\n',
                    picture.class, picture.width,
                    (SELECT max(w.y + 7.5 * cardinality(w.words)) + 11 FROM unnest(labels) w)),
                lines,
                (SELECT string_agg(svg_lines(NULL, w.words, picture.margin - 6, w.y, 'end'),
                                   '' ORDER BY w.i)
                   FROM unnest(labels) w),
                E'</svg>\n');
    END LOOP;
    RETURN html_section(
               'tree', 'Tree',
               'Which clusters are similar: the farther left two lines meet, the smaller the loss if their clusters are joined.',
               concat(E'<figure>\n', pictures, '<figcaption>Clusters are joined ',
                      CASE WHEN version.splits IS NULL THEN 'by Ward''s criterion'
                           ELSE 'at the densest valley between them' END,
                      E', as <code>cluster_tree</code> shows.</figcaption>\n</figure>'));
END
$$;
