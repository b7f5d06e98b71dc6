
-- Checks of drift by retrain_if_drifted and check_drift

-- Returns true if each object in the array has a name, and numbers that the views can read. Returns
-- false if a name is missing. Raises an error for any other form.
CREATE FUNCTION fastclust_internal.drift_columns_fit(columns jsonb) RETURNS boolean
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE SET search_path = pg_catalog, pg_temp AS $$
    SELECT COALESCE(bool_and(c.name IS NOT NULL), true)
      FROM jsonb_to_recordset(columns) c(name text, shift float8, spread float8, p float8)
$$;

-- One row per check by retrain_if_drifted or check_drift. The columns have the meaning of the
-- result columns of drift.
CREATE TABLE fastclust_internal.drift_checks (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    model_id bigint NOT NULL REFERENCES stored_models ON DELETE CASCADE,
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
    checked_by role_name NOT NULL,
    checked_at timestamptz NOT NULL DEFAULT clock_timestamp());
CREATE INDEX ON drift_checks (model_id, checked_at);

SELECT pg_catalog.pg_extension_config_dump('training_steps', '');
SELECT pg_catalog.pg_extension_config_dump('training_steps_id_seq', '');
SELECT pg_catalog.pg_extension_config_dump('drift_checks', '');
SELECT pg_catalog.pg_extension_config_dump('drift_checks_id_seq', '');

-- Stores a check of drift and returns its id. The caller and the time of the check are recorded.
CREATE FUNCTION fastclust_internal.write_drift(d drift_checks) RETURNS bigint
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C;
CREATE FUNCTION fastclust_owner.write_drift(d drift_checks, caller oid) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path FROM CURRENT AS $$
DECLARE
    stored stored_models := locked_model(d.model_id, d.version, false, caller);
    number bigint;
BEGIN
    PERFORM locked_model(d.model_id, d.new_version, false, caller);
    INSERT INTO drift_checks (model_id, version, relation, n, mmd2, null_sd, p_value, fit_residual,
                              effect, verdict, columns, threshold, min_effect, new_version,
                              checked_by)
    VALUES (stored.id, d.version, d.relation, d.n, d.mmd2, d.null_sd, d.p_value, d.fit_residual,
            d.effect, d.verdict, d.columns, d.threshold, d.min_effect, d.new_version,
            pg_get_userbyid(caller))
    RETURNING id INTO number;
    RETURN number;
END
$$;
