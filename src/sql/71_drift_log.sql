
-- drift_log: what retrain_if_drifted saw, and did

-- true, false or an error: an array of objects whose numbers the views can read.
CREATE FUNCTION fastclust_internal.drift_columns_fit(columns jsonb) RETURNS boolean
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT COALESCE(bool_and(c.name IS NOT NULL), true) FROM jsonb_to_recordset(columns) c(name text, shift float8, spread float8, p float8)
$$;

CREATE TABLE drift_log (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    model_id bigint NOT NULL,
    model text NOT NULL,
    version integer NOT NULL,
    relation text NOT NULL,
    n bigint NOT NULL CHECK (n >= 0),
    mmd2 double precision,
    null_sd double precision,
    p_value double precision,
    fit_residual double precision,
    effect double precision,
    verdict text NOT NULL CHECK (verdict IN ('none', 'slight', 'drifted', 'too few rows')),
    columns jsonb CHECK (drift_columns_fit(columns)),
    threshold double precision NOT NULL,
    min_effect double precision NOT NULL,
    new_version integer,
    checked_by name NOT NULL,
    checked_at timestamptz NOT NULL DEFAULT clock_timestamp(),
    FOREIGN KEY (model_id, model) REFERENCES models (id, model) ON DELETE CASCADE ON UPDATE CASCADE);
CREATE INDEX ON drift_log (model_id, checked_at);
COMMENT ON TABLE drift_log IS 'the checks of retrain_if_drifted; the columns that drift gives are explained there';
COMMENT ON COLUMN drift_log.id IS 'the order of the checks';
COMMENT ON COLUMN drift_log.n IS 'the number of rows compared';
COMMENT ON COLUMN drift_log.mmd2 IS 'the squared maximum mean discrepancy (MMD) of the rows and the training rows; NULL where their sketches are not compared';
COMMENT ON COLUMN drift_log.null_sd IS 'the standard deviation of mmd2 when nothing has changed';
COMMENT ON COLUMN drift_log.p_value IS 'how often chance alone gives such a difference';
COMMENT ON COLUMN drift_log.fit_residual IS 'the part of the sketch that the clusters do not explain; NULL of a sketch that is not for decoding';
COMMENT ON COLUMN drift_log.effect IS 'how large the change is, whatever the number of rows';
COMMENT ON COLUMN drift_log.verdict IS 'none, slight, drifted or too few rows';
COMMENT ON COLUMN drift_log.columns IS 'the columns that changed, the surest first';
COMMENT ON COLUMN drift_log.checked_by IS 'the role that asked for the check';
COMMENT ON COLUMN drift_log.checked_at IS 'when the check ended';
COMMENT ON COLUMN drift_log.version IS 'the version that served, whose training rows were compared';
COMMENT ON COLUMN drift_log.relation IS 'the table of the new rows, qualified and quoted';
COMMENT ON COLUMN drift_log.threshold IS 'of the p-value, for this check';
COMMENT ON COLUMN drift_log.min_effect IS 'of the effect, for this check';
COMMENT ON COLUMN drift_log.new_version IS 'the version that was trained because of this check, or NULL';

-- what the logs of a model share; only those who may change it read them
--@each @log@ = training_log; drift_log
COMMENT ON COLUMN @log@.model_id IS 'the id of the model';
COMMENT ON COLUMN @log@.model IS 'the name of the model';
SELECT pg_catalog.pg_extension_config_dump('@log@', '');
SELECT pg_catalog.pg_extension_config_dump('@log@_id_seq', '');
ALTER TABLE @log@ ENABLE ROW LEVEL SECURITY;
CREATE POLICY read ON @log@ FOR SELECT USING (may_change_model(model_id));
GRANT SELECT ON @log@ TO PUBLIC;
GRANT SELECT ON SEQUENCE @log@_id_seq TO PUBLIC;      -- pg_dump by the owner of a database reads it
--@end

-- A check of drift, for drift_log; who made it, and when, is noted here.
CREATE FUNCTION fastclust_internal.write_drift(checked drift_log) RETURNS void
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C;
CREATE FUNCTION fastclust_internal.write_drift_as_owner(caller oid, d drift_log) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    held models := held_model(caller, d.model_id);
BEGIN
    PERFORM check_version_number(held, v, 1) FROM unnest(ARRAY[d.version, COALESCE(d.new_version, d.version)]) v;
    INSERT INTO drift_log (model_id, model, version, relation, n, mmd2, null_sd, p_value, fit_residual, effect, verdict, columns,
                           threshold, min_effect, new_version, checked_by)
    VALUES (held.id, held.model, d.version, d.relation, d.n, d.mmd2, d.null_sd, d.p_value, d.fit_residual, d.effect, d.verdict, d.columns,
            d.threshold, d.min_effect, d.new_version, pg_get_userbyid(caller));
END
$$;
