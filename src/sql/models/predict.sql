
-- predict: a named model applied to rows, read once per query

-- The planner puts this in place of a list of columns: no array a row, no casts.  A NULL among
-- them is treated as in a whole row.
CREATE FUNCTION fastclust_internal.predict_columns(model text, VARIADIC columns "any")
    RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_predict_columns' LANGUAGE C STABLE PARALLEL SAFE COST 200;
CREATE FUNCTION fastclust_internal.predict_distance_columns(model text, VARIADIC columns "any")
    RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_predict_distance_columns' LANGUAGE C STABLE PARALLEL SAFE
    COST 200;
CREATE FUNCTION fastclust_internal.predict_support(internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_predict_support' LANGUAGE C STRICT;

-- x is a vector, or a whole row: the model's columns are found in it by their names, others are
-- ignored, and NULLs treated as in training.  Of a model with groups the row's own group is
-- taken, or group_value; NULL for a group without clusters.  A list of columns has two numbers
-- at least.
CREATE FUNCTION fastclust.predict(model text, x "any", group_value text DEFAULT NULL,
        max_distance double precision DEFAULT NULL, version integer DEFAULT -1)
    RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_predict' LANGUAGE C STABLE PARALLEL SAFE COST 200
    SUPPORT vector_support;
COMMENT ON FUNCTION predict(text, "any", text, double precision, integer) IS
    'the number of the nearest cluster of a model; NULL where predict_distance is more than max_distance';
-- A group of another type than text; the list of numbers below comes first where both could be
-- meant.
CREATE FUNCTION fastclust.predict(model text, x "any", group_value anycompatible,
        max_distance double precision DEFAULT NULL, version integer DEFAULT -1)
    RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_predict' LANGUAGE C STABLE PARALLEL SAFE COST 200
    SUPPORT vector_support;
COMMENT ON FUNCTION predict(text, "any", anycompatible, double precision, integer) IS
    'the number of the nearest cluster of a group, which is named by a value of any type';
CREATE FUNCTION fastclust.predict(model text, a double precision, b double precision,
        VARIADIC more double precision[] DEFAULT '{}')
    RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_predict_list' LANGUAGE C STABLE PARALLEL SAFE COST 200
    SUPPORT predict_support;
COMMENT ON FUNCTION predict(text, double precision, double precision, double precision[]) IS
    'the number of the nearest cluster, for a row given as columns';
CREATE FUNCTION fastclust.predict_distance(model text, x "any", group_value text DEFAULT NULL,
        version integer DEFAULT -1)
    RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_predict_distance' LANGUAGE C STABLE PARALLEL SAFE COST 200
    SUPPORT vector_support;
COMMENT ON FUNCTION predict_distance(text, "any", text, integer) IS
    'distance to the nearest centroid of a model: in standard deviations for a standardised one, 1 - cosine for the metric cosine';
CREATE FUNCTION fastclust.predict_distance(model text, x "any", group_value anycompatible,
        version integer DEFAULT -1)
    RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_predict_distance' LANGUAGE C STABLE PARALLEL SAFE COST 200
    SUPPORT vector_support;
COMMENT ON FUNCTION predict_distance(text, "any", anycompatible, integer) IS
    'distance to the nearest centroid of a group, which is named by a value of any type';
CREATE FUNCTION fastclust.predict_distance(model text, a double precision, b double precision,
        VARIADIC more double precision[] DEFAULT '{}')
    RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_predict_distance_list' LANGUAGE C STABLE PARALLEL SAFE COST 200
    SUPPORT predict_support;
COMMENT ON FUNCTION predict_distance(text, double precision, double precision, double precision[]) IS
    'distance to the nearest centroid, for a row given as columns';
CREATE FUNCTION fastclust.anomaly(model text, x "any", share double precision DEFAULT NULL,
        group_value anycompatible DEFAULT NULL)
    RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_anomaly' LANGUAGE C STABLE PARALLEL SAFE COST 200
    SUPPORT vector_support;
COMMENT ON FUNCTION fastclust.anomaly IS
    'true when the row is farther from its centroid than all but a share of the training rows: the model''s contamination, 0.01 unless its options say otherwise';
CREATE FUNCTION fastclust.predict_all(model text, x "any", n integer,
        group_value anycompatible DEFAULT NULL, OUT cluster integer, OUT distance double precision)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_predict_all' LANGUAGE C STABLE PARALLEL SAFE COST 300 ROWS 5
    SUPPORT vector_support;
COMMENT ON FUNCTION fastclust.predict_all IS
    'the n nearest clusters of a model with their distances, nearest first';
CREATE FUNCTION fastclust.predict_probabilities(model text, x "any",
        group_value anycompatible DEFAULT NULL, version integer DEFAULT -1, OUT cluster integer,
        OUT probability double precision)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_predict_probabilities' LANGUAGE C STABLE PARALLEL SAFE COST 300
    ROWS 10 SUPPORT vector_support;
COMMENT ON FUNCTION fastclust.predict_probabilities IS
    'how probable each cluster is for a row, most probable first, by the clusters'' spreads and shares';

-- the two that belong together: predict(model, t) is assign(model_operator(model),
-- encode_row(model_encoder(model), t)) but for near ties

CREATE FUNCTION fastclust_internal.read_model_operator(model text, group_value text) RETURNS fastop
    LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path FROM CURRENT AS $$
DECLARE
    v stored_versions := explained_version(readable_model(model), group_value);
BEGIN
    RETURN COALESCE(v.micro_clusters, v.operator);
END
$$;
CREATE FUNCTION fastclust.model_operator(model text, group_value anycompatible DEFAULT NULL)
    RETURNS fastop
    AS 'MODULE_PATHNAME', 'fastclust_read_once' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION fastclust.model_operator IS
    'the operator of a model: centroids in the units of model_encoder, with method density its micro-clusters, for which assign returns their clusters';
CREATE FUNCTION fastclust_internal.read_model_encoder(model text, group_value text) RETURNS encoder
    LANGUAGE plpgsql STABLE PARALLEL SAFE SET search_path FROM CURRENT AS $$
DECLARE
    v stored_versions := explained_version(readable_model(model), group_value);
BEGIN
    RETURN COALESCE(v.encoder,
                    encoder_of_vector(v.features[1], cardinality(means(v.training_sketch)),
                                      v.center, v.scale));
END
$$;
CREATE FUNCTION fastclust.model_encoder(model text, group_value anycompatible DEFAULT NULL)
    RETURNS encoder
    AS 'MODULE_PATHNAME', 'fastclust_read_once' LANGUAGE C STABLE PARALLEL SAFE;
COMMENT ON FUNCTION fastclust.model_encoder IS
    'the encoder of a model, which turns rows into the coordinates of model_operator';
