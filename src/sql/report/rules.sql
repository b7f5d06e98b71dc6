
-- Rules: conditions on columns that the rows of a cluster have in common

-- Returns rules for the labels that op assigns to rows. The condition of a rule consists of ranges
-- lower < value <= upper of unscaled values, one for each element of `dimensions`; a bound may be
-- infinite. The range of a cyclic column of the encoder is lower <= value < upper instead, and may
-- go beyond the end of the period. The encoder may be NULL.
--     space_rows  the rows as input of op, in random order
--     raw_rows    the same rows unscaled, in the same order
--     kinds       kind of each dimension: 0 number, 1 log, 2 days, 3 seconds, 4 flag, 5 sine
--     columns     number of the column of each dimension
--     conditions  maximum number of columns in a rule
--     is_short    true for a short rule, which is returned in addition to the rules of the tree
--     fidelity    share of labels that the rules reproduce, on rows from which no rule was learned
CREATE FUNCTION fastclust_internal.rules_of_sample(op fastop, space_rows fastop, raw_rows fastop,
        kinds integer[], columns integer[], conditions integer, encoder encoder DEFAULT NULL,
        OUT cluster integer, OUT dimensions integer[], OUT lower double precision[],
        OUT upper double precision[], OUT is_short boolean, OUT fidelity double precision)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_rules_of_sample' LANGUAGE C IMMUTABLE PARALLEL SAFE
    COST 1000000 ROWS 20;

-- Returns the SQL condition for ranges of the dimensions of one feature. Dates and times are
-- written as they are displayed.
CREATE FUNCTION fastclust_internal.feature_condition(encoder encoder, relation regclass,
        dimensions integer[], lower double precision[], upper double precision[],
        lower_shown text[], upper_shown text[])
    RETURNS text
    AS 'MODULE_PATHNAME', 'fastclust_feature_condition' LANGUAGE C STABLE STRICT;

-- Returns the range lower <= value < upper of a cyclic column in words, or NULL if the dimension is
-- of another column.
CREATE FUNCTION fastclust_internal.arc_in_words(encoder encoder, dimension integer,
        lower double precision, upper double precision)
    RETURNS text
    AS 'MODULE_PATHNAME', 'fastclust_arc_in_words' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

-- Returns the rules of a version in words and as SQL conditions, with measures from about a million
-- rows. All ranges of a column form one condition. For a column of categories, the condition names
-- the category that the rows have, or all categories that they do not have.
CREATE FUNCTION fastclust_internal.version_rules(stored stored_models, version stored_versions,
        conditions integer, relation regclass, OUT cluster integer, OUT rule text,
        OUT "precision" double precision, OUT coverage double precision,
        OUT share double precision, OUT fidelity double precision, OUT condition text)
    RETURNS SETOF record
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET standard_conforming_strings = on SET array_nulls = on
    SET lc_monetary = 'C' SET quote_all_identifiers = off AS $$
DECLARE
    dimension integer := cardinality(means(version.training_sketch));
    scanned regclass := scanned_relation(stored, version, relation, stored.group_by);
    drawn record := rows_sampled(version, scanned, stored.group_by,
                                  greatest(least(20000, 1e7 / dimension), 2000,
                                           100.0 * clusters(version.operator)),
                                  true);
    source record := version_query(version, scanned, stored.group_by, 1e6);
    encoder encoder := COALESCE(version.encoder,
                                encoder_of_vector(version.features[1], dimension, NULL, NULL));
    total text := CASE WHEN source.weight IS NULL THEN 'count(*)' ELSE 'sum("fastclust weight")' END;
    rules_found record;
BEGIN
    WITH f AS MATERIALIZED (
             SELECT l.*, l.dimension IS NOT DISTINCT FROM l.nulls AS marks_nulls,
                    max(l.label) FILTER (WHERE l.dimension = l.nulls) OVER (PARTITION BY l.nulls)
                        AS null_label,
                    dense_rank() OVER (ORDER BY CASE WHEN l.kind = 'vector' OR l.nulls IS NULL
                                                         THEN l.feature
                                                     ELSE format('%s', l.nulls) END,
                                       l.nulls) AS number
               FROM labelled_features(version) l),
         r AS MATERIALIZED (
             SELECT q.*, row_number() OVER () AS id
               FROM rules_of_sample(COALESCE(version.micro_clusters, version.operator),
                                    rows_of_version(version,
                                                    COALESCE(drawn.labelled, drawn.sample)),
                                    drawn.sample,
                                    (SELECT array_agg(f.axis_kind ORDER BY f.dimension) FROM f),
                                    (SELECT array_agg(f.number ORDER BY f.dimension)::integer[]
                                       FROM f),
                                    conditions, version.encoder) q),
         merged_conditions AS (
             SELECT r.id, min(u.i) AS place, min(f.dimension) AS dimension,
                    max(f.feature) FILTER (WHERE NOT f.marks_nulls) AS feature,
                    max(f.kind) FILTER (WHERE NOT f.marks_nulls) AS kind,
                    max(u.lower) FILTER (WHERE NOT f.marks_nulls) AS lower,
                    min(u.upper) FILTER (WHERE NOT f.marks_nulls) AS upper,
                    max(f.label) FILTER (WHERE u.lower > '-Infinity') AS is,
                    array_agg(f.category ORDER BY u.i) AS is_not,
                    COALESCE(max(f.negated) FILTER (WHERE NOT f.marks_nulls),
                             max(f.negated)) AS negated,
                    max(f.null_label) AS null_label,
                    bool_or(f.marks_nulls AND u.lower > '-Infinity') AS is_null,
                    feature_condition(
                        encoder, scanned, array_agg(u.dimension ORDER BY u.i),
                        array_agg(u.lower ORDER BY u.i), array_agg(u.upper ORDER BY u.i),
                        array_agg(shown_value(u.lower, f.kind, true) ORDER BY u.i),
                        array_agg(shown_value(u.upper, f.kind, true) ORDER BY u.i)) AS condition
               FROM r,
                    unnest(r.dimensions, r.lower, r.upper) WITH ORDINALITY
                        u(dimension, lower, upper, i)
               JOIN f USING (dimension)
              GROUP BY r.id, f.number),
         words AS (
             SELECT a.id, string_agg(a.condition, ' AND ' ORDER BY a.place) AS condition,
                    string_agg(CASE WHEN a.is_null THEN a.null_label
                                    WHEN a.kind = 'boolean' AND a.condition LIKE '% IS NULL'
                                        THEN null_name(version.encoder, a.dimension)
                                    WHEN a.kind IN ('category', 'boolean') AND a.is IS NOT NULL
                                        THEN a.is
                                    WHEN a.kind IS NULL OR a.kind = 'boolean'
                                         OR a.kind = 'category' AND cardinality(a.is_not) = 1
                                        THEN a.negated
                                    WHEN a.kind = 'category'
                                        THEN format('%s not in (%s)', a.feature,
                                                    array_to_string(
                                                        array_replace(a.is_not, 'missing', 'NULL'),
                                                        ', '))
                                    WHEN a.condition LIKE '% IS NULL)' AND a.null_label IS NOT NULL
                                        THEN format('(%s or %s)', a.range, a.null_label)
                                    ELSE a.range END,
                               ' and ' ORDER BY a.place) AS rule
               FROM (SELECT m.*,
                            COALESCE(arc_in_words(version.encoder, m.dimension, m.lower, m.upper),
                                     CASE WHEN m.upper = 'Infinity'
                                              THEN format('%s > %s', m.feature,
                                                          shown_value(m.lower, m.kind, true))
                                          WHEN m.lower = '-Infinity'
                                              THEN format('%s <= %s', m.feature,
                                                          shown_value(m.upper, m.kind, true))
                                          ELSE format('%s < %s <= %s',
                                                      shown_value(m.lower, m.kind, true), m.feature,
                                                      shown_value(m.upper, m.kind, true)) END)
                                AS range
                       FROM merged_conditions m) a
              GROUP BY 1)
    SELECT array_agg(r.cluster ORDER BY id) AS clusters,
           array_agg(COALESCE(w.rule, 'all rows') ORDER BY id) AS rules,
           max(r.fidelity) AS fidelity,
           array_agg(COALESCE(w.condition, 'true') ORDER BY id) AS conditions,
           array_agg(r.is_short ORDER BY id) AS shorts INTO rules_found
      FROM r LEFT JOIN words w USING (id);
    -- drop a short rule if its precision is below 0.8
    RETURN QUERY EXECUTE format($query$
        WITH q AS MATERIALIZED (
                 SELECT q."fastclust cluster" AS cluster, %s AS n, ARRAY[%s] AS met
                   FROM (SELECT assign($4, %s) AS "fastclust cluster"%s%s %s) q
                  GROUP BY 1),
             r AS (
                 SELECT t.*, sum(q.met[t.id]) AS met, sum(q.n) AS rows,
                        max(q.met[t.id]) FILTER (WHERE q.cluster = t.cluster) AS hit,
                        max(q.n) FILTER (WHERE q.cluster = t.cluster) AS n
                   FROM unnest($5, $6, $7, $8)
                        WITH ORDINALITY t(cluster, rule, condition, short, id)
                  CROSS JOIN q
                  GROUP BY t.id, t.cluster, t.rule, t.condition, t.short)
        SELECT r.cluster, r.rule, r.hit / NULLIF(r.met, 0)::float8, r.hit / r.n::float8,
               (r.met / r.rows)::float8, $9, r.condition
          FROM r
         WHERE NOT r.short OR r.hit >= 0.8 * r.met $query$,
        total,
        (SELECT string_agg(format('COALESCE(%s FILTER (WHERE %s), 0)', total, c.condition), ', '
                           ORDER BY c.i)
           FROM unnest(rules_found.conditions) WITH ORDINALITY c(condition, i)),
        source.x, ', ' || source.weight || ' AS "fastclust weight"', (SELECT string_agg(format(', t.%I', c), '') FROM unnest(version.features) c),
        source.rows)
        USING version.center, version.scale, version.map,
              COALESCE(version.micro_clusters, version.operator),
              rules_found.clusters, rules_found.rules, rules_found.conditions, rules_found.shorts, rules_found.fidelity;
END
$$;

-- Returns the result of cluster_rules. If the query stood there, each error in it would have the
-- whole query as its context.
CREATE FUNCTION fastclust_internal.named_rules(stored stored_models, version stored_versions,
        conditions integer, relation regclass, OUT cluster integer, OUT name text, OUT rule text,
        OUT "precision" double precision, OUT coverage double precision, OUT rows bigint,
        OUT fidelity double precision, OUT condition text)
    RETURNS SETOF record
    LANGUAGE sql STABLE ROWS 10 SET search_path FROM CURRENT AS $$
    SELECT n.cluster, n.name,
           COALESCE(r.rule,
                    format('no rule with %s distinguishes this cluster',
                           CASE WHEN conditions = 1 THEN 'one column'
                                ELSE format('%s columns or fewer', conditions) END)),
           r.precision, COALESCE(r.coverage, 0),
           COALESCE(round(r.share * CASE WHEN version.cluster_rows IS NULL THEN version.n
                                         ELSE clustered_rows(version) END)::bigint,
                    0), max(r.fidelity) OVER (), r.condition
      FROM version_names(version) n
      LEFT JOIN version_rules(stored, version, conditions, relation) r USING (cluster)
     ORDER BY n.cluster, r.coverage DESC, r.share DESC
$$;

CREATE FUNCTION fastclust.cluster_rules(model text, conditions integer DEFAULT 4,
        relation regclass DEFAULT NULL, group_value anycompatible DEFAULT NULL,
        OUT cluster integer, OUT name text, OUT rule text, OUT "precision" double precision,
        OUT coverage double precision, OUT rows bigint, OUT fidelity double precision,
        OUT condition text)
    RETURNS SETOF record
    LANGUAGE plpgsql STABLE ROWS 10 SET search_path FROM CURRENT AS $$
DECLARE
    stored stored_models := readable_model($1);
    version stored_versions := explained_version(stored, group_of($1, -1, $4));
BEGIN
    IF $2 IS NULL THEN
        RAISE null_value_not_allowed USING MESSAGE = 'conditions must not be NULL';
    ELSIF $2 NOT BETWEEN 1 AND 10 THEN
        RAISE invalid_parameter_value USING MESSAGE = format('conditions is %s, out of range', $2),
            DETAIL = 'Valid values are from 1 to 10.';
    END IF;
    RETURN QUERY
        SELECT r.* FROM named_rules(stored, version, $2, $3) r;
END
$$;
COMMENT ON FUNCTION fastclust.cluster_rules IS
    'Returns short rules that describe the clusters of a model by a few conditions on columns, '
    'learned on a sample of the table. fidelity is the share of labels that the rules reproduce.';
