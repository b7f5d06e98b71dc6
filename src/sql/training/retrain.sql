
-- retrain: a new version on new rows, that keeps the numbers of the clusters that stayed

-- These set the search_path by themselves, once that of the caller has found the relation of the options.

CREATE FUNCTION retrain(model text, options jsonb DEFAULT '{}', sketch sketch DEFAULT NULL) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_retrain' LANGUAGE C;
COMMENT ON FUNCTION retrain(text, jsonb, sketch)
    IS 'train a new version as before, or as the options say; with a sketch of new rows, from it and the training sketch alone; clusters that stayed keep their numbers';

CREATE FUNCTION retrain_if_drifted(model text, threshold double precision DEFAULT 0.01, min_effect double precision DEFAULT 0.1,
        options jsonb DEFAULT '{}') RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_retrain_if_drifted' LANGUAGE C;
COMMENT ON FUNCTION retrain_if_drifted(text, double precision, double precision, jsonb)
    IS 'retrain when the p-value of drift is below the threshold and its effect at least min_effect; the new version, or NULL; every check is a row of drift_log';
