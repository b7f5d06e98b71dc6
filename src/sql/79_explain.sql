
-- explain: clusters in the words and units of the table

-- A dimension of the rows: the column or part of one that it comes from, the kind of that (number, boolean, date, timestamp, interval, category,
-- vector), for a category which of them it tells (1, else 0), and how its value was transformed (none or log).
CREATE FUNCTION fastclust_internal.version_features(version model_versions, OUT dimension integer, OUT feature text, OUT kind text,
        OUT category text, OUT transform text) RETURNS SETOF record
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT f.dimension, f.feature, f.kind, f.category, f.transform FROM encoder_features(version.encoder) f WHERE version.map IS NULL
    UNION ALL
    SELECT i, format('%s[%s]', version.features[1], i), 'vector', NULL, 'none' FROM generate_series(1, dim(version.operator)) i
     WHERE version.encoder IS NULL AND version.map IS NULL
$$;

-- ---- values in the units of the table, as people read them ----

-- What a coordinate was before its transform.
CREATE FUNCTION fastclust_internal.own_unit(x double precision, transform text) RETURNS double precision
    LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE WHEN transform = 'log' THEN sign(x) * (exp(least(abs(x), 700)) - 1) ELSE x END
$$;

-- Is it a share of rows: that of a category, or of true?
CREATE FUNCTION fastclust_internal.is_share(kind text) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT kind IN ('category', 'boolean')
$$;

-- "country = DE"
CREATE FUNCTION fastclust_internal.feature_label(feature text, category text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE WHEN category IS NULL THEN feature ELSE format('%s = %s', feature, category) END
$$;

CREATE FUNCTION fastclust_internal.shown_share(x double precision) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE WHEN x > 0 AND x < 0.0005 THEN '< 0.1 %' ELSE trim_scale(round((100 * x)::numeric, CASE WHEN abs(x) < 0.0995 THEN 1 ELSE 0 END))::text || ' %' END
$$;

-- Four digits, or all before the point, with commas.
CREATE FUNCTION fastclust_internal.shown_number(x double precision) RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, pg_temp SET extra_float_digits = -11 AS $$
    SELECT CASE WHEN abs(x) BETWEEN 999.95 AND 1e15 THEN trim(to_char(round(x::numeric), '999,999,999,999,999,990'))
                WHEN abs(x) BETWEEN 1e-4 AND 999.95 THEN trim_scale(round(x::numeric, 3 - floor(log(abs(x)))::integer))::text
                ELSE x::text END
$$;

-- A value in its own unit: days and seconds are from 2000-01-01 on.
CREATE FUNCTION fastclust_internal.shown_value(x double precision, kind text) RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE SET search_path = pg_catalog, fastclust_internal, pg_temp AS $$
    SELECT CASE WHEN is_share(kind) THEN shown_share(x)
                WHEN kind = 'date' AND abs(x) < 7e5 THEN to_char(date '2000-01-01' + round(x)::integer, 'YYYY-MM-DD')
                WHEN kind = 'timestamp' AND abs(x) < 6e10 THEN to_char(timestamp '2000-01-01' + x * interval '1 second', 'YYYY-MM-DD HH24:MI')
                WHEN kind = 'interval' AND abs(x) < 1e12 THEN justify_hours(round(x) * interval '1 second')::text
                ELSE shown_number(x) END
$$;

-- ---- the profile ----

-- How much a value tells: the root of twice the Kullback-Leibler divergence of the cluster from all rows, |difference| for a number.
CREATE FUNCTION fastclust_internal.telling(kind text, value double precision, overall double precision, difference double precision) RETURNS double precision
    LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, fastclust_internal, pg_temp AS $$
    SELECT CASE WHEN is_share(kind) AND overall > 0 AND overall < 1
                THEN sqrt(2 * greatest(0, CASE WHEN value > 0 THEN value * ln(value / overall) ELSE 0 END
                                          + CASE WHEN value < 1 THEN (1 - value) * ln((1 - value) / (1 - overall)) ELSE 0 END))
                ELSE abs(difference) END
$$;

-- A row per cluster and dimension; place: 1 for what tells most of the cluster.  No row where clusters are of kernel features.
CREATE FUNCTION fastclust_internal.version_profile(version model_versions, OUT cluster integer, OUT dimension integer, OUT feature text, OUT kind text,
        OUT category text, OUT value double precision, OUT overall double precision, OUT difference double precision, OUT lift double precision,
        OUT place bigint) RETURNS SETOF record
    LANGUAGE sql STABLE ROWS 1000 SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    WITH f AS MATERIALIZED (
        SELECT f.*, m.mean, NULLIF(m.deviation, 0) AS deviation, m.center, m.scale, is_share(f.kind) AS share
          FROM version_features(version) f
          LEFT JOIN ROWS FROM (unnest(means(version.training_sketch)), unnest(stddevs(version.training_sketch)), unnest(version.center), unnest(version.scale))
                    WITH ORDINALITY m(mean, deviation, center, scale, dimension) USING (dimension)),
    raw AS (
        SELECT c.cluster, f.*, u.x * COALESCE(f.scale, 1) + COALESCE(f.center, 0) AS x
          FROM centroids(version.operator) c, unnest(c.centroid) WITH ORDINALITY u(x, dimension) JOIN f USING (dimension)),
    told AS (
        SELECT r.cluster, r.dimension, r.feature, r.kind, r.category, r.share,
               CASE WHEN r.share THEN least(1, greatest(0, r.x)) ELSE own_unit(r.x, r.transform) END AS value,
               CASE WHEN r.share THEN r.mean ELSE own_unit(r.mean, r.transform) END AS overall, (r.x - r.mean) / r.deviation AS difference
          FROM raw r)
    SELECT t.cluster, t.dimension, t.feature, t.kind, t.category, t.value, t.overall, t.difference,
           CASE WHEN t.share THEN t.value / NULLIF(t.overall, 0) END,
           row_number() OVER (PARTITION BY t.cluster ORDER BY telling(t.kind, t.value, t.overall, t.difference) DESC NULLS LAST, t.dimension)
      FROM told t
$$;

-- A few words on a value that differs from that of all rows, or NULL.
CREATE FUNCTION fastclust_internal.phrase(feature text, kind text, category text, value double precision, overall double precision,
        difference double precision) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE SET search_path = pg_catalog, fastclust_internal, pg_temp AS $$
    SELECT CASE
        WHEN abs(difference) < 0.5 THEN NULL
        WHEN kind = 'category' THEN CASE WHEN difference > 0 AND value >= 0.5 THEN feature_label(feature, category)
                                         WHEN difference > 0 AND value >= 0.2 THEN format('often %s', feature_label(feature, category))
                                         WHEN difference < 0 AND value < 0.05 THEN format('%s <> %s', feature, category) END
        WHEN kind = 'boolean' THEN CASE WHEN difference > 0 AND value >= 0.5 THEN feature
                                        WHEN difference < 0 AND value < 0.5 THEN format('not %s', feature) END
        ELSE format('%s%s %s', CASE WHEN abs(difference) >= 1.5 THEN 'very ' ELSE '' END,
                    CASE kind WHEN 'date' THEN CASE WHEN difference > 0 THEN 'late' ELSE 'early' END
                              WHEN 'timestamp' THEN CASE WHEN difference > 0 THEN 'late' ELSE 'early' END
                              WHEN 'interval' THEN CASE WHEN difference > 0 THEN 'long' ELSE 'short' END
                              ELSE CASE WHEN difference > 0 THEN 'high' ELSE 'low' END END, feature) END
$$;

-- A name for each cluster: its two most telling phrases, one a column; a third, and its number, where others would have the same.
CREATE FUNCTION fastclust_internal.version_suggestions(version model_versions, OUT cluster integer, OUT name text) RETURNS SETOF record
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    WITH phrases AS (
        SELECT DISTINCT ON (p.cluster, p.feature) p.cluster, p.place, phrase(p.feature, p.kind, p.category, p.value, p.overall, p.difference) AS words
          FROM version_profile(version) p WHERE p.place <= 20 AND phrase(p.feature, p.kind, p.category, p.value, p.overall, p.difference) IS NOT NULL
         ORDER BY p.cluster, p.feature, p.place),
    ordered AS (
        SELECT q.cluster, q.words, row_number() OVER (PARTITION BY q.cluster ORDER BY q.place) AS i FROM phrases q),
    named AS (
        SELECT c.cluster, string_agg(o.words, ', ' ORDER BY o.i) FILTER (WHERE o.i <= 2) AS two, string_agg(o.words, ', ' ORDER BY o.i) AS three
          FROM generate_series(0, clusters(version.operator) - 1) c(cluster) LEFT JOIN ordered o ON o.cluster = c.cluster AND o.i <= 3 GROUP BY 1),
    chosen AS (
        SELECT n.cluster, COALESCE(CASE WHEN count(*) OVER (PARTITION BY n.two) = 1 THEN n.two ELSE n.three END, 'average') AS name FROM named n)
    SELECT n.cluster, CASE WHEN version.map IS NOT NULL THEN format('cluster %s', n.cluster) WHEN count(*) OVER (PARTITION BY n.name) = 1 THEN n.name
                           ELSE format('%s (%s)', n.name, n.cluster) END
      FROM chosen n ORDER BY 1
$$;

-- The name that was given to each cluster, or else the suggested one.
CREATE FUNCTION fastclust_internal.version_names(version model_versions, OUT cluster integer, OUT name text) RETURNS SETOF record
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT s.cluster, COALESCE(n.name, s.name)
      FROM version_suggestions(version) s
      LEFT JOIN cluster_names n ON n.model_id = version.model_id AND n.group_value = version.group_value AND n.cluster = s.cluster
                               AND n.features = version.features
     ORDER BY 1
$$;

CREATE FUNCTION fastclust_internal.check_has_features(version model_versions) RETURNS void
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
BEGIN
    IF version.map IS NOT NULL THEN
        RAISE wrong_object_type USING MESSAGE = format('model "%s" is of method kernel: its centroids have no features', version.model),
            HINT = 'Use rules or typical_rows, which tell its clusters by rows of the table.';
    END IF;
END
$$;

--@door
CREATE FUNCTION profile(model text, group_value text DEFAULT NULL, OUT cluster integer, OUT name text, OUT feature text, OUT value double precision,
        OUT overall double precision, OUT difference double precision, OUT lift double precision, OUT shown text) RETURNS SETOF record
    LANGUAGE plpgsql STABLE ROWS 100 SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    version model_versions := explained_version(readable_model($1), $2);
BEGIN
    PERFORM check_has_features(version);
    RETURN QUERY SELECT p.cluster, n.name, feature_label(p.feature, p.category), p.value, p.overall, p.difference, p.lift, shown_value(p.value, p.kind)
      FROM version_profile(version) p JOIN version_names(version) n USING (cluster) ORDER BY p.cluster, p.place;
END
$$;
COMMENT ON FUNCTION profile(text, text)
    IS 'what makes each cluster special: a row per cluster and feature in the unit of the table, most telling first; group_value names a group where there are groups';

--@door
CREATE FUNCTION suggest_names(model text, group_value text DEFAULT NULL, OUT cluster integer, OUT name text) RETURNS SETOF record
    LANGUAGE sql STABLE ROWS 10 SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT s.* FROM version_suggestions(explained_version(readable_model(model), group_value)) s
$$;
COMMENT ON FUNCTION suggest_names(text, text) IS 'a name for each cluster from what it differs in; clusters without a name of name_cluster are shown by these';

-- ---- model_centroids ----

--@door
CREATE FUNCTION fastclust_internal.visible_models(OUT id bigint, OUT model text) RETURNS SETOF record
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT m.id, m.model FROM models m
$$;

-- Of one version; what cannot be computed is told in a warning, as in version_cluster_rows.
CREATE FUNCTION fastclust_internal.version_centroid_rows(version model_versions, OUT cluster integer, OUT name text, OUT feature text, OUT value double precision)
    RETURNS SETOF record
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
BEGIN
    RETURN QUERY SELECT p.cluster, n.name, feature_label(p.feature, p.category), p.value
                   FROM version_profile(version) p JOIN version_names(version) n USING (cluster) ORDER BY p.cluster, p.dimension;
EXCEPTION WHEN OTHERS THEN
    RAISE WARNING USING MESSAGE = format('the centroids of model "%s" cannot be shown', version.model), DETAIL = SQLERRM;
END
$$;

--@door
CREATE FUNCTION fastclust_internal.model_centroid_rows(model_id bigint, OUT group_value text, OUT cluster integer, OUT name text, OUT feature text,
        OUT value double precision) RETURNS SETOF record
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT CASE WHEN m.group_by IS NOT NULL THEN v.group_value END, c.*
      FROM models m JOIN model_versions v ON v.model_id = m.id AND v.version = m.version CROSS JOIN LATERAL version_centroid_rows(v) c
     WHERE m.id = $1
$$;

-- By model, so that a query of one computes no other.
CREATE VIEW model_centroids AS SELECT m.model, c.* FROM visible_models() m CROSS JOIN LATERAL model_centroid_rows(m.id) c;
COMMENT ON VIEW model_centroids IS 'one row per cluster and feature of the version that predict uses, with the value in the unit of the table';
COMMENT ON COLUMN model_centroids.model IS 'the name of the model';
COMMENT ON COLUMN model_centroids.group_value IS 'the group; NULL for a model without groups';
COMMENT ON COLUMN model_centroids.cluster IS 'the number that predict returns';
COMMENT ON COLUMN model_centroids.name IS 'the name of name_cluster, or else that of suggest_names';
COMMENT ON COLUMN model_centroids.feature IS 'the column, an element of a vector as column[i], or a category as column = category';
COMMENT ON COLUMN model_centroids.value IS 'the mean of the cluster in the unit of the feature; the share of its rows for a category';
GRANT SELECT ON model_centroids TO PUBLIC;
