
-- history: versions, clusters and checks over time, in plain columns for dashboards

--@door
CREATE FUNCTION fastclust_internal.version_history_rows(OUT model text, OUT group_value text, OUT version integer, OUT trained_at timestamptz, OUT trained_by name,
        OUT serves boolean, OUT method text, OUT clusters integer, OUT n bigint, OUT objective double precision, OUT label_churn double precision,
        OUT seconds double precision) RETURNS SETOF record
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT m.model, CASE WHEN v.options ->> 'group_by' IS NOT NULL THEN v.group_value END, v.version, v.trained_at, v.trained_by, v.version = m.version, v.method,
           clusters(v.operator), v.n, v.objective, v.label_churn, extract(epoch FROM v.trained_at - v.started_at)::float8
      FROM models m JOIN model_versions v ON v.model_id = m.id
$$;
CREATE VIEW version_history AS SELECT * FROM version_history_rows();
COMMENT ON VIEW version_history IS 'one row per version that is kept, and per group of a model with groups';
COMMENT ON COLUMN version_history.model IS 'the name of the model';
COMMENT ON COLUMN version_history.group_value IS 'the group; NULL for a model without groups';
COMMENT ON COLUMN version_history.version IS 'the number of the version, from 1 up';
COMMENT ON COLUMN version_history.trained_at IS 'when the version was stored';
COMMENT ON COLUMN version_history.trained_by IS 'the role that trained it';
COMMENT ON COLUMN version_history.serves IS 'true for the version that predict uses';
COMMENT ON COLUMN version_history.method IS 'how it was trained';
COMMENT ON COLUMN version_history.clusters IS 'the number of its clusters';
COMMENT ON COLUMN version_history.n IS 'the number of training rows';
COMMENT ON COLUMN version_history.objective IS 'the mean squared distance of a row to its centroid, in units of scale';
COMMENT ON COLUMN version_history.label_churn IS 'the share of the training rows that the version before gave another cluster; NULL without one';
COMMENT ON COLUMN version_history.seconds IS 'how long the training took';

--@door
CREATE FUNCTION fastclust_internal.cluster_history_rows(model_id bigint, OUT group_value text, OUT version integer, OUT trained_at timestamptz, OUT cluster integer,
        OUT name text, OUT size bigint, OUT share double precision) RETURNS SETOF record
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT CASE WHEN v.options ->> 'group_by' IS NOT NULL THEN v.group_value END, v.version, v.trained_at, c.cluster, n.name, c.size, c.share
      FROM model_versions v
     CROSS JOIN LATERAL version_cluster_rows(v.model, v.n, v.operator, true, NULL, NULL, v.spreads) c
      LEFT JOIN cluster_names n ON n.model_id = v.model_id AND n.group_value = v.group_value AND n.cluster = c.cluster AND n.features = v.features
     WHERE v.model_id = $1
$$;
-- By model, so that a query of one computes no other.
CREATE VIEW cluster_history AS SELECT m.model, c.* FROM visible_models() m CROSS JOIN LATERAL cluster_history_rows(m.id) c;
COMMENT ON VIEW cluster_history IS 'one row per cluster of each version that is kept';
COMMENT ON COLUMN cluster_history.model IS 'the name of the model';
COMMENT ON COLUMN cluster_history.group_value IS 'the group; NULL for a model without groups';
COMMENT ON COLUMN cluster_history.version IS 'the number of the version';
COMMENT ON COLUMN cluster_history.trained_at IS 'when the version was stored';
COMMENT ON COLUMN cluster_history.cluster IS 'the number that predict returns; clusters that stay keep it';
COMMENT ON COLUMN cluster_history.name IS 'the name of name_cluster, or NULL';
COMMENT ON COLUMN cluster_history.size IS 'the number of training rows in the cluster, estimated by its share';
COMMENT ON COLUMN cluster_history.share IS 'the part of the training rows in the cluster';

--@door
CREATE FUNCTION fastclust_internal.drift_history_rows(OUT model text, OUT version integer, OUT checked_at timestamptz, OUT n bigint, OUT effect double precision,
        OUT p_value double precision, OUT verdict text, OUT min_effect double precision, OUT new_version integer, OUT column_name text,
        OUT column_shift double precision) RETURNS SETOF record
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT d.model, d.version, d.checked_at, d.n, d.effect, d.p_value, d.verdict, d.min_effect, d.new_version, d.columns -> 0 ->> 'name', (d.columns -> 0 ->> 'shift')::float8 FROM drift_log d
$$;
CREATE VIEW drift_history AS SELECT * FROM drift_history_rows();
COMMENT ON VIEW drift_history IS 'one row per check of retrain_if_drifted, with the column that changed most; for those who may change the model';
COMMENT ON COLUMN drift_history.model IS 'the name of the model';
COMMENT ON COLUMN drift_history.version IS 'the version that served';
COMMENT ON COLUMN drift_history.checked_at IS 'when the check ended';
COMMENT ON COLUMN drift_history.n IS 'the number of rows compared';
COMMENT ON COLUMN drift_history.effect IS 'how large the change is, whatever the number of rows';
COMMENT ON COLUMN drift_history.p_value IS 'how often chance alone gives such a difference';
COMMENT ON COLUMN drift_history.verdict IS 'none, slight, drifted or too few rows';
COMMENT ON COLUMN drift_history.min_effect IS 'the effect from which the model is retrained';
COMMENT ON COLUMN drift_history.new_version IS 'the version that was trained because of this check, or NULL';
COMMENT ON COLUMN drift_history.column_name IS 'the column, or pair of columns, that changed most surely; NULL where none did';
COMMENT ON COLUMN drift_history.column_shift IS 'the change of its mean, in its standard deviations; NULL for a pair';
GRANT SELECT ON version_history, cluster_history, drift_history TO PUBLIC;
