
-- Prediction: a model applied to rows by its name, read once per query

-- The planner replaces a call of predict with a list of columns by a call of predict_columns, which
-- needs no array per row and no casts. A NULL column has the same effect as in predict(model, row).
CREATE FUNCTION fastclust_internal.predict_columns(model text, VARIADIC columns "any")
    RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_predict_columns' LANGUAGE C STABLE PARALLEL SAFE COST 200;
CREATE FUNCTION fastclust_internal.predict_distance_columns(model text, VARIADIC columns "any")
    RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_predict_distance_columns' LANGUAGE C STABLE PARALLEL SAFE
    COST 200;
CREATE FUNCTION fastclust_internal.predict_support(internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_predict_support' LANGUAGE C STRICT;

-- x is a vector or a whole row. The columns of a whole row are found by their names; other columns
-- are ignored, and NULLs are treated as in training. A model with groups uses the group of the row,
-- or group_value; the result is NULL for a group without clusters. Instead of x, two or more
-- numbers may be given as a list.
CREATE FUNCTION fastclust.predict(model text, x "any", group_value text DEFAULT NULL,
        max_distance double precision DEFAULT NULL, version integer DEFAULT -1)
    RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_predict' LANGUAGE C STABLE PARALLEL SAFE COST 200
    SUPPORT vector_support;
COMMENT ON FUNCTION predict(text, "any", text, double precision, integer) IS
    'Returns the number of the nearest cluster of a model. NULL if predict_distance exceeds '
    'max_distance, for noise, and for a group without clusters.';
-- Declaration for a group_value of a type other than text. If the declaration with a list of
-- numbers below also matches a call, PostgreSQL prefers the list.
CREATE FUNCTION fastclust.predict(model text, x "any", group_value anycompatible,
        max_distance double precision DEFAULT NULL, version integer DEFAULT -1)
    RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_predict' LANGUAGE C STABLE PARALLEL SAFE COST 200
    SUPPORT vector_support;
COMMENT ON FUNCTION predict(text, "any", anycompatible, double precision, integer) IS
    'Returns the number of the nearest cluster of a group, which is named by a value of any '
    'type. NULL if predict_distance exceeds max_distance, for noise, and for a group without '
    'clusters.';
CREATE FUNCTION fastclust.predict(model text, a double precision, b double precision,
        VARIADIC more double precision[] DEFAULT '{}')
    RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_predict_list' LANGUAGE C STABLE PARALLEL SAFE COST 200
    SUPPORT predict_support;
COMMENT ON FUNCTION predict(text, double precision, double precision, double precision[]) IS
    'Returns the number of the nearest cluster for a row given as columns.';
CREATE FUNCTION fastclust.predict_distance(model text, x "any", group_value text DEFAULT NULL,
        version integer DEFAULT -1)
    RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_predict_distance' LANGUAGE C STABLE PARALLEL SAFE COST 200
    SUPPORT vector_support;
COMMENT ON FUNCTION predict_distance(text, "any", text, integer) IS
    'Returns the distance to the nearest centroid of a model: in standard deviations if the '
    'model is standardised, 1 - cosine for metric cosine.';
CREATE FUNCTION fastclust.predict_distance(model text, x "any", group_value anycompatible,
        version integer DEFAULT -1)
    RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_predict_distance' LANGUAGE C STABLE PARALLEL SAFE COST 200
    SUPPORT vector_support;
COMMENT ON FUNCTION predict_distance(text, "any", anycompatible, integer) IS
    'Returns the distance to the nearest centroid of a group, which is named by a value of any '
    'type.';
CREATE FUNCTION fastclust.predict_distance(model text, a double precision, b double precision,
        VARIADIC more double precision[] DEFAULT '{}')
    RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_predict_distance_list' LANGUAGE C STABLE PARALLEL SAFE COST 200
    SUPPORT predict_support;
COMMENT ON FUNCTION predict_distance(text, double precision, double precision, double precision[]) IS
    'Returns the distance to the nearest centroid for a row given as columns.';
CREATE FUNCTION fastclust.anomaly(model text, x "any", share double precision DEFAULT NULL,
        group_value anycompatible DEFAULT NULL)
    RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_anomaly' LANGUAGE C STABLE PARALLEL SAFE COST 200
    SUPPORT vector_support;
COMMENT ON FUNCTION fastclust.anomaly IS
    'Returns true if the row is farther from its centroid than all but a share of the training '
    'rows. If share is NULL, it is the contamination of the model, by default 0.01.';
CREATE FUNCTION fastclust.predict_all(model text, x "any", n integer,
        group_value anycompatible DEFAULT NULL, OUT cluster integer, OUT distance double precision)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_predict_all' LANGUAGE C STABLE PARALLEL SAFE COST 300 ROWS 5
    SUPPORT vector_support;
COMMENT ON FUNCTION fastclust.predict_all IS
    'Returns the n nearest clusters of a model with their distances, nearest first.';
CREATE FUNCTION fastclust.predict_probabilities(model text, x "any",
        group_value anycompatible DEFAULT NULL, version integer DEFAULT -1, OUT cluster integer,
        OUT probability double precision)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_predict_probabilities' LANGUAGE C STABLE PARALLEL SAFE COST 300
    ROWS 10 SUPPORT vector_support;
COMMENT ON FUNCTION fastclust.predict_probabilities IS
    'Returns the probability of each cluster for a row, computed from the clusters'' spreads and '
    'shares, most probable first.';

-- Operator and encoder of a model. predict(model, t) equals assign(model_operator(model),
-- encode_row(model_encoder(model), t)), except if two centroids are almost equally near.

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
    'Returns the operator of a model: its centroids, in the coordinates of model_encoder. With '
    'method density it contains the micro-clusters, for which assign returns their clusters.';
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
    'Returns the encoder of a model, which converts rows to the coordinates of model_operator.';
