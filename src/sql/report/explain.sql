
-- Explanations: clusters in the words and units of the table

-- Returns the dimensions of the rows of a version.
--     feature    column, or part of a column, from which the dimension was computed
--     kind       number, year, boolean, date, timestamp, interval, category or vector; one of
--                cyclic_kinds (pg/encode/cycle.c) for a cyclic column
--     category   category for which the dimension is 1, else 0
--     label      displayed name, such as "country = DE"
--     axis_kind  kind in the core: 0 number, 1 log, 2 days, 3 seconds, 4 flag, 5 sine
--     negated    words for a flag that is 0, such as "country <> DE"
--     nulls      dimension that is 1 if the column is NULL, else 0; NULL for a category, and for a
--                column without such a dimension
CREATE FUNCTION fastclust_internal.labelled_features(version stored_versions,
        OUT dimension integer, OUT feature text, OUT kind text, OUT category text, OUT label text,
        OUT axis_kind integer, OUT negated text, OUT nulls integer)
    RETURNS SETOF record
    LANGUAGE sql STABLE PARALLEL SAFE SET search_path FROM CURRENT AS $$
    SELECT f.dimension, f.feature,
           CASE WHEN f.kind = 'number' AND f.feature ~* '(^|[^a-z])years?([^a-z]|$)' THEN 'year'
                ELSE f.kind END,
           f.category, f.label,
           CASE WHEN f.transform = 'log' THEN 1
                WHEN f.transform = 'sine' THEN 5
                WHEN f.kind IN ('date', 'day of week', 'day of year') THEN 2
                WHEN f.kind IN ('timestamp', 'interval', 'time of day', 'time of week') THEN 3
                WHEN f.kind IN ('boolean', 'category') THEN 4
                ELSE 0 END,
           CASE WHEN f.category = 'missing' OR f.dimension = f.nulls
                    THEN regexp_replace(f.label, 'NULL$', 'not NULL')
                WHEN f.kind = 'category' THEN format('%s <> %s', f.feature, f.category)
                WHEN f.kind = 'boolean' THEN format('not %s', f.feature) END,
           f.nulls
      FROM encoder_features(version.encoder) f
    UNION ALL
    SELECT i, format('%s[%s]', version.features[1], i), 'vector', NULL,
           format('%s[%s]', version.features[1], i), 0, NULL, NULL
      FROM generate_series(1, cardinality(means(version.training_sketch))) i
     WHERE version.encoder IS NULL
$$;

-- ---- the profile ----

-- Returns the profile of centroids: a row for each cluster and each of its max_features most
-- distinctive dimensions, numbered by place from 1. Further rows are for the max_features
-- dimensions with the largest |apart|. apart is the difference from the nearest other centroid in
-- this dimension, in standard deviations.
--
-- nulls has, for each dimension, the dimension that marks the NULLs of the same column, or 0. If a
-- centroid is above 1/2 in the marking dimension, the other dimensions of the column have NULL as
-- value. A cyclic column of the encoder has one row for both coordinates. Its value is NaN if the
-- mean of the coordinates is too short to have a direction.
CREATE FUNCTION fastclust_internal.profile_of_centroids(op fastop, center double precision[],
        scale double precision[], means double precision[], deviations double precision[],
        kinds integer[], max_features integer, nulls integer[], encoder encoder DEFAULT NULL,
        OUT cluster integer,
        OUT dimension integer, OUT value double precision, OUT overall double precision,
        OUT difference double precision, OUT lift double precision, OUT place integer,
        OUT apart double precision)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_profile_of_centroids' LANGUAGE C IMMUTABLE PARALLEL SAFE
    COST 10000 ROWS 1000;

-- Returns the means and the standard deviations of the dimensions of a sketch, of the rows without
-- a NULL in the column. In the sketch, a value of the encoder stands in for a NULL. counts has the
-- numbers of NULLs. If it is NULL, the shares of NULLs in the encoder's sample are used.
CREATE FUNCTION fastclust_internal.present_moments(s sketch, counts drift_counts, encoder encoder,
        OUT means double precision[], OUT deviations double precision[])
    AS 'MODULE_PATHNAME', 'fastclust_present_moments' LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100;

-- Returns the profile of a version, or no rows if the centroids consist of kernel features. A
-- column that is mostly NULL in a cluster has a NULL value there, unless `values` is true.
CREATE FUNCTION fastclust_internal.version_profile(version stored_versions, max_features integer,
        "values" boolean DEFAULT false, OUT cluster integer, OUT dimension integer,
        OUT feature text, OUT kind text, OUT category text, OUT label text,
        OUT value double precision, OUT overall double precision, OUT difference double precision,
        OUT lift double precision, OUT place integer, OUT apart double precision, OUT negated text)
    RETURNS SETOF record
    LANGUAGE sql STABLE PARALLEL SAFE ROWS 1000 SET search_path FROM CURRENT AS $$
    WITH f AS MATERIALIZED (
             SELECT * FROM labelled_features(version)),
         axes AS (
             SELECT array_agg(f.axis_kind ORDER BY f.dimension) AS kinds,
                    array_agg(COALESCE(f.nulls, 0) ORDER BY f.dimension) AS nulls FROM f)
    SELECT p.cluster, p.dimension, f.feature, f.kind, f.category, f.label, p.value, p.overall,
           p.difference, p.lift, p.place, p.apart, f.negated
      FROM axes,
           present_moments(version.training_sketch, version.drift_counts, version.encoder) m,
           profile_of_centroids(version.operator, version.center, version.scale, m.means,
                                m.deviations, axes.kinds, max_features,
                                CASE WHEN NOT "values" THEN axes.nulls END, version.encoder) p
      JOIN f USING (dimension)
     WHERE version.map IS NULL
$$;

-- Returns the name of each cluster: the name that a user gave it, or else two phrases about two
-- columns. These are the most distinctive column, and the column that separates the cluster most
-- from its nearest neighbour. If another cluster would have the same name, a third phrase is added.
-- If the name is still not unique, it is replaced by the categories and values of the two features
-- that separate the cluster most, or else by the number of the cluster.
--
-- A category that the rows have is named before one that they do not have. The category "other",
-- which has the rare values, is in no name.
CREATE FUNCTION fastclust_internal.version_names(version stored_versions, OUT cluster integer,
        OUT name text)
    RETURNS SETOF record
    LANGUAGE sql STABLE PARALLEL SAFE SET search_path FROM CURRENT AS $$
    WITH described AS (
             SELECT p.cluster, p.dimension, p.feature, p.kind, p.value, p.place,
                    min(p.place) OVER feature AS first_place,
                    max(abs(p.apart)) OVER feature AS apart,
                    p.kind IN ('category', 'boolean') AND p.difference < 0 AS negated,
                    CASE WHEN p.kind = 'category' THEN CASE WHEN p.difference > 0 AND p.value >= 0.5
                                                                THEN p.label
                                                            WHEN p.difference >= 0.5
                                                                 AND p.value >= 0.2
                                                                THEN format('often %s', p.label)
                                                            WHEN p.difference <= -0.5
                                                                 AND p.value < 0.05
                                                                THEN p.negated END
                         WHEN p.kind = 'boolean' THEN CASE WHEN p.difference >= 0.5
                                                                AND p.value >= 0.5 THEN p.feature
                                                           WHEN p.difference <= -0.5
                                                                AND p.value < 0.5
                                                               THEN p.negated END
                         WHEN p.kind IN ('angle', 'time of day', 'time of week', 'day of week',
                                         'day of year')
                             THEN CASE WHEN greatest(abs(p.difference), p.apart) >= 0.5
                                           THEN format('%s %s', p.feature,
                                                       shown_value(p.value, p.kind, false)) END
                         WHEN abs(p.difference) < 0.5 THEN CASE WHEN abs(p.apart) >= 1
                                                                    THEN format('average %s',
                                                                                p.feature) END
                         ELSE format(
                                  '%s%s %s',
                                  CASE WHEN abs(p.difference) >= 1.5 THEN 'very ' ELSE '' END,
                                  CASE WHEN p.kind IN ('date', 'timestamp')
                                           THEN CASE WHEN p.difference > 0 THEN 'late'
                                                     ELSE 'early' END
                                       WHEN p.kind = 'interval'
                                           THEN CASE WHEN p.difference > 0 THEN 'long'
                                                     ELSE 'short' END
                                       WHEN p.difference > 0 THEN 'high'
                                       ELSE 'low' END,
                                  p.feature) END AS words
               FROM version_profile(version, 20) p
              WHERE p.difference IS NOT NULL
                AND (p.kind <> 'category' OR p.category <> 'other')
             WINDOW feature AS (PARTITION BY p.cluster, p.feature)),
         phrases AS (
             SELECT DISTINCT ON (t.cluster, t.feature) t.*
               FROM described t
              WHERE t.words IS NOT NULL
              ORDER BY t.cluster, t.feature, t.negated, t.place),
         ranked_phrases AS (
             SELECT p.*,
                    row_number() OVER (PARTITION BY p.cluster ORDER BY p.words LIKE 'average %',
                                       p.negated, p.first_place) AS first
               FROM phrases p),
         ordered AS (
             SELECT p.cluster, p.words, p.negated,
                    row_number() OVER (PARTITION BY p.cluster ORDER BY p.first > 1, p.apart < 0.5,
                                       p.negated, p.apart DESC, p.first_place) AS i
               FROM ranked_phrases p),
         named AS (
             SELECT c.cluster,
                    string_agg(o.words, ', ' ORDER BY o.negated, o.i)
                        FILTER (WHERE o.i <= 2) AS two,
                    string_agg(o.words, ', ' ORDER BY o.negated, o.i) AS three
               FROM unnest(cluster_numbers(version.operator)) c(cluster)
               LEFT JOIN ordered o ON o.cluster = c.cluster AND o.i <= 3
              GROUP BY 1),
         worded AS (
             SELECT n.cluster,
                    COALESCE(CASE WHEN count(*) OVER (PARTITION BY n.two) = 1 THEN n.two
                                  ELSE n.three END,
                             'average') AS name
               FROM named n),
         counted AS (
             SELECT w.*, count(*) OVER (PARTITION BY w.name) AS same FROM worded w),
         separating AS (
             SELECT q.*, row_number() OVER (PARTITION BY q.cluster ORDER BY q.apart DESC,
                                            q.first_place) AS i
               FROM (SELECT DISTINCT ON (d.cluster, d.feature) d.* FROM described d
                       JOIN counted USING (cluster)
                      WHERE counted.same > 1
                        AND (d.words IS NOT NULL OR d.kind NOT IN ('category', 'boolean'))
                      ORDER BY d.cluster, d.feature, d.words IS NULL, d.negated, d.place) q),
         valued AS (
             SELECT s.cluster,
                    string_agg(CASE WHEN s.kind IN ('category', 'boolean') THEN s.words
                                    ELSE format('%s %s', s.feature,
                                                shown_value(s.value, s.kind, false)) END,
                               ', ' ORDER BY s.negated, s.dimension) AS name
               FROM separating s
              WHERE s.i <= 2
              GROUP BY 1),
         chosen AS (
             SELECT c.cluster, CASE WHEN c.same = 1 THEN c.name ELSE v.name END AS name
               FROM counted c LEFT JOIN valued v USING (cluster))
    SELECT n.cluster,
           COALESCE(g.name,
                    CASE WHEN version.map IS NULL AND count(*) OVER (PARTITION BY n.name) = 1
                             THEN n.name END,
                    format('cluster %s', n.cluster))
      FROM chosen n
      LEFT JOIN given_names(version) g ON g.cluster = n.cluster
     ORDER BY 1
$$;

CREATE FUNCTION fastclust_internal.check_has_features(version stored_versions) RETURNS void
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $$
BEGIN
    IF version.map IS NOT NULL THEN
        RAISE wrong_object_type USING
            MESSAGE = format('model "%s" is of method kernel: its centroids have no features',
                             version.model),
            HINT = 'Use cluster_rules or typical_rows, which describe its clusters by rows of the table.';
    END IF;
END
$$;

CREATE FUNCTION fastclust.profile(model text, group_value anycompatible DEFAULT NULL,
        OUT cluster integer, OUT name text, OUT feature text, OUT value double precision,
        OUT overall double precision, OUT difference double precision, OUT lift double precision,
        OUT shown text)
    RETURNS SETOF record
    LANGUAGE plpgsql STABLE ROWS 100 SET search_path FROM CURRENT AS $$
DECLARE
    version stored_versions := explained_version(readable_model($1),
                                                  group_of($1, -1, $2));
BEGIN
    PERFORM check_has_features(version);
    RETURN QUERY
        SELECT p.cluster, n.name, p.label, NULLIF(p.value, 'NaN'), NULLIF(p.overall, 'NaN'),
               p.difference, p.lift,
               shown_value(p.value, p.kind, false)
          FROM version_profile(version, 2147483647) p JOIN version_names(version) n USING (cluster)
         WHERE p.value IS NOT NULL
         ORDER BY p.cluster, p.place;
END
$$;
COMMENT ON FUNCTION fastclust.profile IS
    'Returns the features that distinguish each cluster: a row per cluster and feature, in the '
    'unit of the table, most distinctive first. A logarithmic column has a typical value, from the '
    'mean of its logarithms, which is below its mean. The value of a cyclic column is NULL if its '
    'values are spread all around. group_value selects a group.';
