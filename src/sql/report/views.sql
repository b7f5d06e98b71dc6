
-- Views: the models that a role may read, in plain columns

CREATE VIEW fastclust.models WITH (security_barrier) AS
    SELECT m.model,
           CASE WHEN EXISTS (SELECT FROM pg_roles r WHERE r.oid = m.owner_id)
                     OR right(m.owner::name::text, 10) = ' (dropped)' THEN m.owner::name
                -- the mark takes 10 of the 63 bytes of a name, and characters may have several bytes
                ELSE (left(m.owner::name::text,
                           53 + length(m.owner::name::text) - octet_length(m.owner::name::text))
                      || ' (dropped)')::name END AS owner,
           m.readers::name[] AS readers, m.version,
           (SELECT count(DISTINCT o.version) FROM version_groups o
             WHERE o.model_id = m.id) AS versions,
           v.method, v.relation, v.features, m.group_by,
           CASE WHEN m.group_by IS NOT NULL THEN v.groups END AS groups, v.k, v.dim, v.n,
           v.objective, v.trained_at, v.note
      FROM readable_models m
      CROSS JOIN LATERAL (
                     SELECT min(v.method) AS method, min(v.relation) AS relation,
                            min(v.features::text)::name[] AS features, count(*) AS groups,
                            max(v.k) AS k, max(dim(v.operator)) AS dim,
                            CASE WHEN count(*) > 0 THEN least(greatest(
                                                                  sum(v.n), -9223372036854775808),
                                                              9223372036854775807)::bigint END AS n,
                            sum(v.objective * v.n) FILTER (
                                WHERE v.objective = 0
                                OR abs(v.objective) BETWEEN 1e-280 AND 1e280)
                                / NULLIF(sum(v.n), 0) AS objective,
                            max(v.trained_at) AS trained_at, min(v.note) AS note
                       FROM version_groups v
                      WHERE v.model_id = m.id AND v.version = m.version) v;
COMMENT ON VIEW models IS
    'one row per model that the reader may use: its current version, which predict uses, and how '
    'that was trained';
COMMENT ON COLUMN models.model IS 'name of the model';
COMMENT ON COLUMN models.owner IS
    'role that owns the model; only it and its members may change the model. The mark '
    '"(dropped)": the role no longer exists';
COMMENT ON COLUMN models.readers IS 'roles that may use the model; "public" is everyone';
COMMENT ON COLUMN models.version IS
    'current version, which predict uses; NULL if there are only candidates';
COMMENT ON COLUMN models.versions IS 'number of stored versions';
COMMENT ON COLUMN models.method IS
    'method of the training: compressive, kmeans, qkmeans, kernel or density';
COMMENT ON COLUMN models.relation IS 'table that it was trained on, qualified and quoted';
COMMENT ON COLUMN models.features IS 'columns that were clustered';
COMMENT ON COLUMN models.group_by IS
    'grouping column, each of whose values has clusters of its own; NULL without groups';
COMMENT ON COLUMN models.groups IS 'number of groups; NULL without groups';
COMMENT ON COLUMN models.k IS 'number of clusters; with groups, the maximum of a group';
COMMENT ON COLUMN models.dim IS 'dimension of the rows, or of their kernel features';
COMMENT ON COLUMN models.n IS 'number of training rows';
COMMENT ON COLUMN models.objective IS
    'mean squared distance of a row to its centroid, in the units of the training; NULL for '
    'method density';
COMMENT ON COLUMN models.trained_at IS 'time when the version was stored';
COMMENT ON COLUMN models.note IS
    'reason for the choice of the method, and other reports of the training';

CREATE VIEW fastclust.model_versions WITH (security_barrier) AS
    SELECT m.model, v.version, v.version IS NOT DISTINCT FROM m.version AS serves,
           CASE WHEN v.options ->> 'group_by' IS NOT NULL THEN v.group_value END AS group_value,
           v.method, v.relation, v.features, v.options, clusters(v.operator) AS k, v.n, v.objective,
           v.label_churn AS churn, v.operator, v.encoder, v.imputed, v.recall, v.training_sketch,
           v.trained_at, v.trained_by::name AS trained_by,
           extract(epoch FROM v.trained_at - v.started_at)::float8 AS seconds
      FROM readable_models m JOIN version_groups v ON v.model_id = m.id;
COMMENT ON VIEW model_versions IS
    'one row per stored version, and per group of a model with groups';
COMMENT ON COLUMN model_versions.model IS 'name of the model';
COMMENT ON COLUMN model_versions.version IS 'number of the version, counted from 1';
COMMENT ON COLUMN model_versions.serves IS 'true for the version that predict uses';
COMMENT ON COLUMN model_versions.group_value IS 'group; NULL for a model without groups';
COMMENT ON COLUMN model_versions.method IS
    'method of the training: compressive, kmeans, qkmeans, kernel or density';
COMMENT ON COLUMN model_versions.relation IS 'table that was read, qualified and quoted';
COMMENT ON COLUMN model_versions.features IS 'columns that were clustered';
COMMENT ON COLUMN model_versions.options IS 'options of the training';
COMMENT ON COLUMN model_versions.k IS 'number of clusters';
COMMENT ON COLUMN model_versions.n IS 'number of training rows';
COMMENT ON COLUMN model_versions.objective IS
    'mean squared distance of a row to its centroid, in the units of the training; NULL for '
    'method density';
COMMENT ON COLUMN model_versions.churn IS
    'share of the training rows that the previous version assigned to another cluster; NULL '
    'without a previous version';
COMMENT ON COLUMN model_versions.operator IS
    'operator with the centroids, in the units of the training';
COMMENT ON COLUMN model_versions.encoder IS
    'encoder that converts the columns of a row to numbers; NULL for a column of vectors';
COMMENT ON COLUMN model_versions.imputed IS
    'number of training rows with a NULL that was replaced by a value; NULL if they were not '
    'counted';
COMMENT ON COLUMN model_versions.recall IS
    'share of the ten nearest rows that a search through the number of buckets in option probes '
    'finds; NULL without the option';
COMMENT ON COLUMN model_versions.training_sketch IS 'sketch of the training rows';
COMMENT ON COLUMN model_versions.trained_at IS 'time when the version was stored';
COMMENT ON COLUMN model_versions.trained_by IS 'role that trained the version';
COMMENT ON COLUMN model_versions.seconds IS 'duration of the training, in seconds';

-- ---- clusters ----

-- Returns an array of the names of the clusters of a version, indexed by the cluster number, with
-- '' for a number that no cluster has.
CREATE FUNCTION fastclust_internal.names_by_number(version stored_versions) RETURNS text[]
    LANGUAGE sql STABLE PARALLEL SAFE SET search_path FROM CURRENT AS $$
    SELECT ARRAY(SELECT COALESCE(n.name, '')
                   FROM generate_series(0, cluster_labels(version.operator) - 1) i
                   LEFT JOIN version_names(version) n ON n.cluster = i
                  ORDER BY i)
$$;
-- Returns the names of the clusters of a stored version, or NULL if version_cluster_rows returns no
-- rows for the version. shown_names, which the views call for each row, reads the names only
-- once per version and group.
CREATE FUNCTION fastclust_internal.read_shown_names(model_id bigint, version integer,
        group_value text)
    RETURNS text[]
    LANGUAGE sql STABLE PARALLEL SAFE SET search_path FROM CURRENT AS $$
    SELECT CASE WHEN can_list_centroids(v.operator)
                    THEN names_by_number(ROW(v.*)::stored_versions) END
      FROM readable_versions v
     WHERE v.model_id = $1 AND v.version = $2 AND v.group_value = $3
$$;
CREATE FUNCTION fastclust_internal.shown_names(model_id bigint, version integer, group_value text)
    RETURNS text[]
    AS 'MODULE_PATHNAME', 'fastclust_read_once' LANGUAGE C STABLE PARALLEL SAFE;

CREATE FUNCTION fastclust.predict_name(model text, x "any", group_value anycompatible DEFAULT NULL,
        version integer DEFAULT -1)
    RETURNS text
    AS 'MODULE_PATHNAME', 'fastclust_predict_name' LANGUAGE C STABLE PARALLEL SAFE COST 200
    SUPPORT vector_support;
COMMENT ON FUNCTION fastclust.predict_name IS
    'Returns the name of the nearest cluster of a model, as profile shows it. NULL if predict '
    'returns NULL.';

-- Returns the features of the centroids of a version, or raises a WARNING and returns no rows if
-- version_cluster_rows does. The view model_centroids takes the argument `model` from
-- readable_models, so that it computes no profiles of other models.
CREATE FUNCTION fastclust_internal.version_centroid_rows(model text, version stored_versions,
        OUT cluster integer, OUT feature text, OUT value double precision) RETURNS SETOF record
    LANGUAGE plpgsql STABLE PARALLEL SAFE ROWS 100
    SET search_path FROM CURRENT AS $$
BEGIN
    RETURN QUERY SELECT p.cluster, p.label, NULLIF(p.value, 'NaN')
                   FROM version_profile(version, 2147483647, "values" => true) p
                  WHERE can_list_centroids(version.operator, $1) ORDER BY p.cluster, p.dimension;
END
$$;

-- The view has no subquery, because a subquery would prevent parallel plans for all queries of the
-- view.
CREATE VIEW fastclust.model_clusters WITH (security_barrier) AS
    SELECT m.model, m.version,
           CASE WHEN m.group_by IS NOT NULL THEN v.group_value END AS group_value, c.cluster,
           (shown_names(v.model_id, v.version, v.group_value))[c.cluster + 1] AS name, c.size,
           c.weight, c.share, c.spread, c.centroid, c.nearest_cluster, c.nearest_distance
      FROM readable_models m JOIN version_groups v ON v.model_id = m.id AND v.version = m.version
      CROSS JOIN LATERAL version_cluster_rows(
                     m.model, CASE WHEN v.micro_clusters IS NULL THEN v.n END, v.operator,
                     v.map IS NOT NULL, v.center, v.scale, v.spreads, v.cluster_rows) c;
COMMENT ON VIEW model_clusters IS 'one row per cluster of each current version';
COMMENT ON COLUMN model_clusters.model IS 'name of the model';
COMMENT ON COLUMN model_clusters.version IS 'current version, which predict uses';
COMMENT ON COLUMN model_clusters.group_value IS 'group; NULL for a model without groups';
COMMENT ON COLUMN model_clusters.cluster IS 'number of the cluster, as predict returns it';
COMMENT ON COLUMN model_clusters.name IS 'name given by name_cluster, else the suggested name';
COMMENT ON COLUMN model_clusters.size IS
    'number of training rows in the cluster: as many as predict labels if k-means counted them, else '
    'about';
COMMENT ON COLUMN model_clusters.weight IS
    'sum of the weights of these rows; their number without option row_weight';
COMMENT ON COLUMN model_clusters.share IS
    'share of the cluster in the weight of all training rows, from 0 to 1';
COMMENT ON COLUMN model_clusters.spread IS
    'standard deviation per dimension; in standard deviations of all rows for a standardised model';
COMMENT ON COLUMN model_clusters.centroid IS
    'mean of the cluster in the units of the rows, of logarithms for a logarithmic column; NULL for a '
    'kernel model';
COMMENT ON COLUMN model_clusters.nearest_cluster IS
    'number of the cluster with the nearest centroid';
COMMENT ON COLUMN model_clusters.nearest_distance IS
    'distance to that centroid, in the units of spread';

CREATE VIEW fastclust.model_centroids WITH (security_barrier) AS
    SELECT m.model, CASE WHEN m.group_by IS NOT NULL THEN v.group_value END AS group_value,
           c.cluster, (shown_names(v.model_id, v.version, v.group_value))[c.cluster + 1] AS name,
           c.feature, c.value
      FROM readable_models m JOIN stored_versions v ON v.model_id = m.id AND v.version = m.version
      CROSS JOIN LATERAL version_centroid_rows(m.model, v) c;
COMMENT ON VIEW model_centroids IS
    'one row per cluster and feature of each current version, with the value in the unit of the '
    'table';
COMMENT ON COLUMN model_centroids.model IS 'name of the model';
COMMENT ON COLUMN model_centroids.group_value IS 'group; NULL for a model without groups';
COMMENT ON COLUMN model_centroids.cluster IS 'number of the cluster, as predict returns it';
COMMENT ON COLUMN model_centroids.name IS 'name given by name_cluster, else the suggested name';
COMMENT ON COLUMN model_centroids.feature IS
    'column, or column[i] for an element of a vector, or column = category';
COMMENT ON COLUMN model_centroids.value IS
    'mean of the cluster in the unit of the feature, for a logarithmic column a typical value, from '
    'the mean of the logarithms; for a category its share of the rows';

-- ---- logs, for roles that may change a model ----

CREATE VIEW fastclust.training_log WITH (security_barrier) AS
    SELECT l.id, m.model, l.version, l.step, l.objective, l.seconds, l.note, l.at
      FROM own_models m JOIN training_steps l ON l.model_id = m.id;
COMMENT ON VIEW training_log IS
    'one row per step of a training, for roles that may change the model';
COMMENT ON COLUMN training_log.id IS 'identifier of the step; ascending in time';
COMMENT ON COLUMN training_log.model IS 'name of the model';
COMMENT ON COLUMN training_log.version IS 'version that was trained';
COMMENT ON COLUMN training_log.step IS 'name of the step';
COMMENT ON COLUMN training_log.objective IS
    'mean squared distance of a row to its centroid after the step; NULL if unknown';
COMMENT ON COLUMN training_log.seconds IS 'duration of the step, in seconds';
COMMENT ON COLUMN training_log.note IS 'report of the step';
COMMENT ON COLUMN training_log.at IS 'time when the step ended';

CREATE VIEW fastclust.drift_log WITH (security_barrier) AS
    SELECT d.id, m.model, d.version, d.relation, d.group_value, d.n, d.mmd2, d.null_sd, d.p_value,
           d.fit_residual, d.effect, d.verdict, d.columns, d.threshold, d.min_effect,
           d.new_version, d.checked_by::name AS checked_by, d.checked_at
      FROM own_models m JOIN drift_checks d ON d.model_id = m.id;
COMMENT ON VIEW drift_log IS
    'one row per check by retrain_if_drifted or check_drift, for roles that may change the '
    'model; the columns have the meaning of the columns of drift';
COMMENT ON COLUMN drift_log.id IS 'identifier of the check; ascending in time';
COMMENT ON COLUMN drift_log.model IS 'name of the model';
COMMENT ON COLUMN drift_log.version IS
    'current version at the check, whose training rows were compared';
COMMENT ON COLUMN drift_log.relation IS 'table of the new rows, qualified and quoted';
COMMENT ON COLUMN drift_log.group_value IS
    'group that changed most, of a model with groups; NULL for other models';
COMMENT ON COLUMN drift_log.n IS 'number of compared rows';
COMMENT ON COLUMN drift_log.mmd2 IS
    'squared maximum mean discrepancy (MMD) of the rows and the training rows; NULL if their '
    'sketches are not compared';
COMMENT ON COLUMN drift_log.null_sd IS
    'standard deviation of mmd2 if nothing has changed; NULL if the sketches are not compared';
COMMENT ON COLUMN drift_log.p_value IS 'probability of such a difference if nothing has changed';
COMMENT ON COLUMN drift_log.fit_residual IS
    'share of the sketch that the clusters do not explain; NULL if the sketch cannot be decoded';
COMMENT ON COLUMN drift_log.effect IS 'size of the change, independent of the number of rows';
COMMENT ON COLUMN drift_log.verdict IS
    'none, slight, drifted, too few rows or too few units';
COMMENT ON COLUMN drift_log.columns IS
    'columns that changed, smallest p first: objects with name, shift, spread and p';
COMMENT ON COLUMN drift_log.threshold IS 'limit of the p-value in this check';
COMMENT ON COLUMN drift_log.min_effect IS 'minimum effect in this check for the verdict drifted';
COMMENT ON COLUMN drift_log.new_version IS
    'version that was trained because of this check; NULL if none was';
COMMENT ON COLUMN drift_log.checked_by IS 'role that requested the check';
COMMENT ON COLUMN drift_log.checked_at IS 'time when the check ended';

-- ---- live sketches, for owners of the table ----

CREATE VIEW fastclust.live_sketches WITH (security_barrier) AS
    SELECT l.id, l.name, l.relation, l.features, l.encoder, l.spec, l.group_by, l.bucket,
           l.bucket_width, l.half_life, l.condition,
           (SELECT m.model FROM readable_models m WHERE m.id = l.model_id) AS model, l.created_at,
           (SELECT min(v.counted_at) FROM live_leaves v WHERE v.live_id = l.id) AS counted_at,
           l.folded_at, l.checked_at, l.differences,
           (SELECT COALESCE(sum(row_count(b.s)), 0)::bigint FROM live_bases b
             WHERE b.live_id = l.id) AS folded_rows,
           (SELECT count(*) FROM live_deltas d WHERE d.live_id = l.id) AS open_deltas,
           (SELECT min(d.at) FROM live_deltas d WHERE d.live_id = l.id) AS oldest_delta,
           (SELECT COALESCE(sum(pg_column_size(b.s) + COALESCE(pg_column_size(b.counts), 0)), 0)
              FROM live_bases b
             WHERE b.live_id = l.id) + (
               SELECT COALESCE(sum(pg_column_size(d.added_rows)), 0) + COALESCE(
                          sum(pg_column_size(d.removed_rows)), 0)
                          + COALESCE(sum(pg_column_size(d.added)), 0)
                          + COALESCE(sum(pg_column_size(d.removed)), 0) + COALESCE(
                          sum(pg_column_size(d.added_counts)), 0) + COALESCE(
                          sum(pg_column_size(d.removed_counts)), 0)
                 FROM live_deltas d
                WHERE d.live_id = l.id) AS bytes,
           CASE WHEN p.problem IS NOT NULL THEN 'lost'
                WHEN l.counting THEN 'counting'
                ELSE 'ready' END AS state,
           p.problem
      FROM own_live_sketches l, LATERAL (SELECT sketch_problem(l.name) AS problem OFFSET 0) p;
COMMENT ON VIEW live_sketches IS
    'one row per live sketch of the tables that the reader owns: the rows that it counts, and how';
COMMENT ON COLUMN live_sketches.id IS
    'identifier of the live sketch, which is part of the names of its triggers';
COMMENT ON COLUMN live_sketches.name IS 'name of the live sketch';
COMMENT ON COLUMN live_sketches.relation IS 'table that it follows';
COMMENT ON COLUMN live_sketches.features IS 'columns that are sketched';
COMMENT ON COLUMN live_sketches.encoder IS
    'encoder that converts the columns of a row to numbers; NULL for a column of vectors, and '
    'for unscaled numbers';
COMMENT ON COLUMN live_sketches.spec IS 'spec of the sketches';
COMMENT ON COLUMN live_sketches.group_by IS
    'grouping column, each of whose values has a sketch of its own; NULL without groups';
COMMENT ON COLUMN live_sketches.bucket IS
    'time column whose buckets have sketches of their own; NULL without buckets';
COMMENT ON COLUMN live_sketches.bucket_width IS 'length of a bucket; NULL without buckets';
COMMENT ON COLUMN live_sketches.half_life IS
    'age at which a row has half its weight in models made from the sketch; NULL: no decay';
COMMENT ON COLUMN live_sketches.condition IS
    'condition on the rows that are counted; NULL: all rows';
COMMENT ON COLUMN live_sketches.model IS
    'model for which option live of train made the sketch; NULL for other live sketches';
COMMENT ON COLUMN live_sketches.created_at IS 'time when it was made';
COMMENT ON COLUMN live_sketches.counted_at IS 'time when all rows were last counted';
COMMENT ON COLUMN live_sketches.folded_at IS
    'time when changes were last folded into the stored sketches; NULL if never';
COMMENT ON COLUMN live_sketches.checked_at IS
    'time when it was last compared with its table; NULL if never';
COMMENT ON COLUMN live_sketches.differences IS
    'number of groups and buckets that differed at that comparison';
COMMENT ON COLUMN live_sketches.folded_rows IS
    'number of rows in the stored sketches, without pending changes';
COMMENT ON COLUMN live_sketches.open_deltas IS 'number of pending changes';
COMMENT ON COLUMN live_sketches.oldest_delta IS
    'time of the oldest pending change; NULL if there is none';
COMMENT ON COLUMN live_sketches.bytes IS 'size of the stored sketches and of the changes, in bytes';
COMMENT ON COLUMN live_sketches.state IS
    'ready; counting: rebuild_sketch has yet to count its rows; lost: it cannot be read';
COMMENT ON COLUMN live_sketches.problem IS 'reason why it cannot be read; NULL if it can';

-- ---- a model in 4 kB ----

-- Returns a JSON array of the first elements of a list, as many as possible without a text of more
-- than `bytes` bytes.
CREATE FUNCTION fastclust_internal.first_elements(elements jsonb[], bytes integer) RETURNS jsonb
    LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT COALESCE(jsonb_agg(f.element ORDER BY f.i), '[]')
      FROM (SELECT e.element, e.i,
                   sum(octet_length(e.element::text) + 2) OVER (ORDER BY e.i) AS used
              FROM unnest(elements) WITH ORDINALITY e(element, i)) f
     WHERE f.used <= bytes
$$;

CREATE FUNCTION fastclust_internal.read_describe(model text) RETURNS jsonb
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $$
DECLARE
    stored stored_models := readable_model($1);
    version stored_versions := largest_group(stored);
    members text := CASE WHEN stored.group_by IS NULL THEN 'clusters' ELSE 'groups' END;
    facts jsonb := (SELECT jsonb_build_object(
                              'version', m.version, 'versions', m.versions, 'method', m.method,
                              'relation', m.relation, 'rows', m.n, 'sketched_rows',
                              CASE WHEN m.groups IS NULL
                                       THEN NULLIF(row_count(version.training_sketch), m.n) END,
                              'k', m.k, 'dim', m.dim, 'group_by', m.group_by, 'group_count',
                              m.groups, 'column_count', cardinality(m.features), 'trained_at',
                              m.trained_at, 'columns',
                              first_elements(
                                  ARRAY(SELECT to_jsonb(f) FROM unnest(m.features) f), 700),
                              'quality',
                              jsonb_build_object(
                                  'objective', m.objective, 'variance_explained',
                                  CASE WHEN m.groups IS NULL THEN v.explained END, 'churn',
                                  version.label_churn, 'recall', version.recall),
                              'options',
                              (SELECT jsonb_object_agg(o ->> 0, o -> 1)
                                 FROM jsonb_array_elements(
                                          first_elements(
                                              ARRAY(SELECT jsonb_build_array(o.key, o.value)
                                                      FROM jsonb_each(version.options) o
                                                     ORDER BY octet_length(o.value::text), o.key),
                                              700)) o))
                     FROM models m
                     CROSS JOIN LATERAL (SELECT CASE WHEN version.map IS NULL
                                                         THEN round((1 - version.objective / NULLIF(
                                                                         sum((u.s / COALESCE(
                                                                                  u.scale, 1)) ^ 2),
                                                                         0))::numeric,
                                                                    4) END AS explained
                                           FROM unnest(stddevs(version.training_sketch),
                                                       version.scale) u(s, scale)) v
                    WHERE m.model = $1);
    largest jsonb[] := CASE members
                            WHEN 'clusters' THEN ARRAY(
                                                     SELECT jsonb_build_object(
                                                                'cluster', c.cluster, 'name',
                                                                c.name, 'size', c.size, 'share',
                                                                round(c.share::numeric, 4),
                                                                'spread', c.spread)
                                                       FROM model_clusters c
                                                      WHERE c.model = $1
                                                      ORDER BY c.size DESC NULLS LAST, c.cluster
                                                      LIMIT 100)
                            ELSE ARRAY(SELECT jsonb_build_object(
                                                  'group', v.group_value, 'k', v.k, 'rows', v.n,
                                                  'objective', v.objective)
                                         FROM model_versions v
                                        WHERE v.model = $1 AND v.serves
                                        ORDER BY v.n DESC, v.group_value LIMIT 100) END;
BEGIN
    facts := jsonb_strip_nulls(facts);
    RETURN facts
           || jsonb_build_object(members, first_elements(largest, 4070 - octet_length(facts::text)));
END
$$;
CREATE FUNCTION fastclust.describe(model text) RETURNS jsonb
    AS 'MODULE_PATHNAME', 'fastclust_read_once' LANGUAGE C STABLE COST 100;
COMMENT ON FUNCTION describe(text) IS
    'Describes a model in up to 4 kB without reading a row of its table: how it was trained, and '
    'its largest clusters or groups.';

GRANT SELECT ON models, model_versions, model_clusters, model_centroids, training_log, drift_log,
live_sketches TO PUBLIC;
