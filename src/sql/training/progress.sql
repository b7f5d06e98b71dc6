
-- training_progress: running trainings, for roles that may see them

-- Returns all running trainings of this database. Only the owner of the extension may call it.
CREATE FUNCTION fastclust_owner.running_trainings(OUT pid integer, OUT role oid,
        OUT model_id bigint, OUT model text, OUT step text, OUT rows_done bigint,
        OUT rows_about double precision, OUT begun timestamptz, OUT step_begun timestamptz,
        OUT step_ends timestamptz)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_running_trainings' LANGUAGE C;

-- Returns the trainings that a role may see: its own; trainings of roles of which it is a member;
-- and trainings of models that it may read, if the training role may change the model.
CREATE FUNCTION fastclust_internal.training_progress_rows(OUT model text, OUT role name,
        OUT step text, OUT rows_done bigint, OUT rows_about bigint, OUT percent double precision,
        OUT elapsed interval, OUT remaining interval, OUT pid integer)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_as_owner' LANGUAGE C;
CREATE FUNCTION fastclust_owner.training_progress_rows(caller oid, OUT model text, OUT role name,
        OUT step text, OUT rows_done bigint, OUT rows_about bigint, OUT percent double precision,
        OUT elapsed interval, OUT remaining interval, OUT pid integer)
    RETURNS SETOF record
    LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT AS $$
BEGIN
    RETURN QUERY
        SELECT COALESCE(m.model, NULLIF(t.model, '')), pg_get_userbyid(t.role), t.step, t.rows_done,
               round(t.rows_about)::bigint, round(100 * step_share.done)::float8,
               date_trunc('milliseconds', clock_timestamp() - t.begun),
               date_trunc('milliseconds',
                          CASE WHEN step_share.done > 0.005
                                   THEN (clock_timestamp() - t.step_begun) * (1 / step_share.done - 1)
                               WHEN t.step_ends > clock_timestamp()
                                   THEN t.step_ends - clock_timestamp() END),
               t.pid
          FROM running_trainings() t
          LEFT JOIN stored_models m
                    ON m.id = t.model_id
                       AND is_member(t.role, m.owner_id)
                       AND (is_member(caller, m.owner_id) OR is_reader(caller, m)),
               LATERAL (SELECT CASE WHEN t.rows_about > 0
                                        THEN least(1, t.rows_done / t.rows_about) END AS done) step_share
         WHERE m.id IS NOT NULL OR is_member(caller, t.role)
         ORDER BY t.begun;
END
$$;

-- The view calls a function, so that on every server version the rights of the view's reader apply.
CREATE VIEW fastclust.training_progress AS SELECT * FROM training_progress_rows();
COMMENT ON VIEW training_progress IS
    'one row per running training of a model that the reader may read, or of the reader''s own';
COMMENT ON COLUMN training_progress.model IS 'name of the model; NULL for choose_k';
COMMENT ON COLUMN training_progress.role IS 'role that runs the training';
COMMENT ON COLUMN training_progress.step IS
    'running step, as in training_log; NULL between two steps';
COMMENT ON COLUMN training_progress.rows_done IS
    'rows of the table that the step has read; NULL for a step in memory';
COMMENT ON COLUMN training_progress.rows_about IS
    'estimated number of rows that the step will read; NULL for a step in memory';
COMMENT ON COLUMN training_progress.percent IS 'share of the step that is done, in percent';
COMMENT ON COLUMN training_progress.elapsed IS 'time since the training began';
COMMENT ON COLUMN training_progress.remaining IS
    'estimated time until the step ends; NULL if unknown';
COMMENT ON COLUMN training_progress.pid IS 'process ID of the session, for pg_cancel_backend';
GRANT SELECT ON training_progress TO PUBLIC;
