
-- internal: steps that people see: notices, training_progress, training_log

-- A long step that is none of a training.
CREATE FUNCTION fastclust_internal.announce_step(name text, model_id bigint, model text, step text, rows_about double precision) RETURNS void
    AS 'MODULE_PATHNAME', 'fastclust_announce_step' LANGUAGE C;
