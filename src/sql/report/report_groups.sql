
-- Report: the groups of a model that is split by a column

-- Shows maps of the twelve largest groups, and a table of the forty largest.
CREATE FUNCTION fastclust_internal.report_groups(stored stored_models) RETURNS text
    LANGUAGE sql STABLE SET search_path FROM CURRENT AS $$
    WITH shown AS MATERIALIZED (
             SELECT ROW(v.*)::stored_versions AS v, v.n, v.group_value, count(*) OVER () AS groups,
                    max(v.n) OVER () AS largest,
                    row_number() OVER (ORDER BY v.n DESC, v.group_value) AS i
               FROM readable_versions v
              WHERE v.model_id = stored.id AND v.version = stored.version
              ORDER BY i LIMIT 40)
    SELECT html_section(
               'groups', 'Groups',
               concat('Each group has its own clusters',
                      CASE WHEN max(p.groups) > 12 THEN '; the largest are shown' END,
                      '. For the report of one group, run <code>SELECT report(',
                      html(quote_literal(stored.model)), ', group_value =&gt; ''...'')</code>.'),
               concat(
                   E'<div class="multiples">\n',
                   string_agg(format(E'<figure><h3>%s</h3>%s</figure>\n', html(p.group_value, 60),
                                     svg_map(report_clusters(stored, p.v), 260, 180, '')),
                              '' ORDER BY p.i) FILTER (WHERE p.i <= 12),
                   E'</div>\n',
                   html_table(
                       c.classes, '{Group,"",Rows,Clusters,"Mean squared distance","Label churn"}',
                       string_agg(
                           html_row(
                               NULL, c.classes,
                               ARRAY[html(p.group_value), html_bar(p.n::float8 / NULLIF(p.largest, 0)),
                                     html_value(p.n, 'count'),
                                     html_value(clusters((p.v).operator), 'count'),
                                     html_value((p.v).objective, 'number'),
                                     html_value((p.v).label_churn, 'category')]),
                           E'\n' ORDER BY p.i))))
      FROM shown p, (SELECT '{who,wide-bar,n,n,n,n}'::text[] AS classes) c
     GROUP BY c.classes
$$;
