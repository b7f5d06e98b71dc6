
-- report: the page

CREATE FUNCTION fastclust_internal.report_fact(id text, name text, value text, class text DEFAULT '') RETURNS text
    LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT format(E'<div><dt>%s</dt><dd id="%s" class="%s">%s</dd></div>\n', name, id, class, value)
$$;

-- What the model is, in a sentence.
CREATE FUNCTION fastclust_internal.report_lead(summary model_summary, version model_versions, clusters bigint) RETURNS text
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT format('%s rows of <code>%s</code> in %s %s%s, by %s.', html_count(summary.n), html_start(version.relation, 120), html_count(clusters),
                  CASE WHEN clusters = 1 THEN 'cluster' ELSE 'clusters' END,
                  CASE WHEN summary.group_by IS NULL THEN '' ELSE format(' of %s groups of <code>%s</code>', html_count(summary.groups), html(summary.group_by)) END,
                  CASE WHEN version.vector THEN format('the vector <code>%s</code>', html(version.features[1]))
                       WHEN cardinality(version.features) <= 4 THEN (SELECT string_agg(format('<code>%s</code>', html(f)), ', ' ORDER BY i) FROM unnest(version.features) WITH ORDINALITY u(f, i))
                       ELSE format('%s columns', cardinality(version.features)) END)
$$;

CREATE FUNCTION fastclust_internal.report_facts(summary model_summary, version model_versions, clusters bigint, lines version_line[]) RETURNS text
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT concat(E'<dl class="facts">\n', report_fact('rows', 'Rows', html_count(summary.n)), report_fact('clusters', 'Clusters', html_count(clusters)),
                  report_fact('dimensions', CASE WHEN version.map IS NULL THEN 'Dimensions' ELSE 'Kernel features' END, html_count(summary.dim)),
                  report_fact('objective', 'Mean squared distance', html_number(summary.objective)),
                  report_fact('version', 'Version', html_count(summary.version)),
                  report_fact('trained', 'Trained', html_time(summary.trained_at), 'word'), E'</dl>\n')
$$;

CREATE FUNCTION fastclust_internal.report_detail(name text, value text) RETURNS text
    LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT format(E'<dt>%s</dt><dd>%s</dd>\n', name, value) WHERE value IS NOT NULL
$$;

CREATE FUNCTION fastclust_internal.report_details(summary model_summary, version model_versions) RETURNS text
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT html_section('model', 'How it was made', NULL, concat(E'<dl class="details">\n',
        report_detail('Method', concat(html(version.method), '; ' || html(version.note))),
        report_detail('Features', concat((SELECT string_agg(format('<code>%s</code>', html(f)), ', ' ORDER BY i) FROM unnest(version.features) WITH ORDINALITY u(f, i) WHERE i <= 40),
                                         CASE WHEN cardinality(version.features) > 40 THEN format(' and %s more', cardinality(version.features) - 40) END,
                                         CASE WHEN version.vector THEN format(', a vector of %s', html_count(summary.dim)) END)),
        report_detail('Number of clusters', (SELECT html(l.note) FROM training_log l WHERE l.model_id = version.model_id AND l.version = version.version AND l.step = 'number of clusters' LIMIT 1)),
        report_detail('Options', CASE WHEN version.options <> '{}' THEN format('<code>%s</code>', html(version.options::text)) END),
        report_detail('Owner', html(summary.owner)),
        report_detail('Trained', concat('by ', html(version.trained_by), ', from ', html_time(version.started_at), ' to ', html_time(summary.trained_at))),
        '</dl>'))
$$;

CREATE FUNCTION fastclust_internal.report_footer(model text) RETURNS text
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT format(E'<footer>Made %s by fastclust %s for %s: <code>SELECT report(%s)</code>. The numbers are those of <code>model_summary</code>, <code>model_clusters</code>, <code>model_versions</code>, '
                  '<code>drift_log</code> and <code>training_log</code>.</footer>', html_time(now()), html((SELECT e.extversion FROM pg_extension e WHERE e.extname = 'fastclust')),
                  html(current_user), html(quote_literal(model)))
$$;

-- The page is in the encoding of the client that writes the file.
CREATE FUNCTION fastclust_internal.html_charset(encoding name) RETURNS text
    LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE WHEN encoding LIKE 'LATIN_' THEN 'iso-8859-' || right(encoding, 1) WHEN encoding LIKE 'WIN12__' THEN 'windows-' || right(encoding, 4) ELSE 'utf-8' END
$$;

CREATE FUNCTION fastclust_internal.report_page(title text, body text) RETURNS text
    LANGUAGE sql STABLE SET search_path = pg_catalog, fastclust_internal, pg_temp AS $$
    SELECT concat(E'<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="', html_charset(pg_client_encoding()), E'">\n',
                  E'<meta name="viewport" content="width=device-width, initial-scale=1">\n',
                  E'<meta http-equiv="Content-Security-Policy" content="default-src ''none''; style-src ''unsafe-inline''">\n',
                  E'<meta name="color-scheme" content="light dark">\n<title>', title, E'</title>\n<style>', report_style(), E'</style>\n</head>\n<body>\n<div class="page">\n',
                  body, E'\n</div>\n</body>\n</html>')
$$;

--@door
CREATE FUNCTION report(model text, rules boolean DEFAULT true) RETURNS text
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    held models := readable_model($1);
    summary model_summary := (SELECT s FROM model_summary s WHERE s.model = held.model);
    version model_versions;
    lines version_line[] := version_lines(held);
    clusters report_cluster[];
BEGIN
    SELECT v.* INTO version FROM model_versions v WHERE v.model_id = held.id AND v.version = held.version ORDER BY v.n DESC, v.group_value LIMIT 1;
    IF NOT FOUND THEN
        RAISE undefined_object USING MESSAGE = format('model "%s" has no version that serves', held.model);
    END IF;
    IF held.group_by IS NULL THEN
        clusters := report_clusters(held, version);
    END IF;
    RETURN report_page(html(held.model), concat(
        format(E'<header>\n<h1>%s</h1>\n<p class="lead">%s</p>\n</header>\n', html(held.model), report_lead(summary, version, (lines[cardinality(lines)]).clusters)),
        report_facts(summary, version, (lines[cardinality(lines)]).clusters, lines),
        report_map(clusters), report_sizes(held, clusters),
        report_versions(lines), report_drift(held), report_steps(held), report_details(summary, version), report_footer(held.model)));
END
$$;
COMMENT ON FUNCTION report(text, boolean) IS 'a page of HTML about a model: its clusters, versions, drift and training; without rules it reads no table';
