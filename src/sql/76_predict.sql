
-- predict: a named model applied to rows, read once per query

-- What the planner makes of a list of columns: no array a row, no casts.  NULL when one of them is NULL.
CREATE FUNCTION fastclust_internal.predict_columns(model text, VARIADIC columns "any") RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_predict_columns' LANGUAGE C STABLE PARALLEL SAFE COST 200;
CREATE FUNCTION fastclust_internal.predict_group_columns(model text, group_value text, VARIADIC columns "any") RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_predict_group_columns' LANGUAGE C STABLE PARALLEL SAFE COST 200;
CREATE FUNCTION fastclust_internal.predict_distance_columns(model text, VARIADIC columns "any") RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_predict_distance_columns' LANGUAGE C STABLE PARALLEL SAFE COST 200;
CREATE FUNCTION fastclust_internal.predict_distance_group_columns(model text, group_value text, VARIADIC columns "any") RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_predict_distance_group_columns' LANGUAGE C STABLE PARALLEL SAFE COST 200;
CREATE FUNCTION fastclust_internal.predict_support(internal) RETURNS internal
    AS 'MODULE_PATHNAME', 'fastclust_predict_support' LANGUAGE C STRICT;

-- x is a vector, or a whole row: the model's columns are found in it by their names, others are ignored, and NULLs treated as in training.  A
-- list of columns has two numbers at least: a single one is an x.
CREATE FUNCTION predict(model text, x "any") RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_predict' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200 SUPPORT vector_support;
COMMENT ON FUNCTION predict(text, "any") IS 'the number of the nearest cluster of a model';
CREATE FUNCTION predict(model text, a double precision, b double precision, VARIADIC more double precision[] DEFAULT '{}') RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_predict_list' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200 SUPPORT predict_support;
COMMENT ON FUNCTION predict(text, double precision, double precision, double precision[]) IS 'the number of the nearest cluster, for a row given as columns; NULL when one of them is NULL';
CREATE FUNCTION predict(model text, x "any", max_distance double precision) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_predict_within' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200 SUPPORT vector_support;
COMMENT ON FUNCTION predict(text, "any", double precision) IS 'the number of the nearest cluster of a model; NULL where predict_distance is more than max_distance';
CREATE FUNCTION predict_group(model text, group_value text, x "any", max_distance double precision) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_predict_within_group' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200 SUPPORT vector_support;
COMMENT ON FUNCTION predict_group(text, text, "any", double precision) IS 'the number of the nearest cluster of the group; NULL where it is farther than max_distance, or for a group without clusters';
CREATE FUNCTION predict_group(model text, group_value text, x "any") RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_predict_group' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200 SUPPORT vector_support;
COMMENT ON FUNCTION predict_group(text, text, "any") IS 'the number of the nearest cluster of the group; NULL for a group without clusters';
CREATE FUNCTION predict_group(model text, group_value text, a double precision, b double precision, VARIADIC more double precision[] DEFAULT '{}') RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_predict_group_list' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200 SUPPORT predict_support;
COMMENT ON FUNCTION predict_group(text, text, double precision, double precision, double precision[]) IS 'the number of the nearest cluster of the group, for a row given as columns';
CREATE FUNCTION predict_distance(model text, x "any") RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_predict_distance' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200 SUPPORT vector_support;
COMMENT ON FUNCTION predict_distance(text, "any") IS 'distance to the nearest centroid of a model: in standard deviations for a standardised one, 1 - cosine for the metric cosine';
CREATE FUNCTION predict_distance(model text, a double precision, b double precision, VARIADIC more double precision[] DEFAULT '{}') RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_predict_distance_list' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200 SUPPORT predict_support;
COMMENT ON FUNCTION predict_distance(text, double precision, double precision, double precision[]) IS 'distance to the nearest centroid, for a row given as columns; NULL when one of them is NULL';
CREATE FUNCTION predict_distance_group(model text, group_value text, x "any") RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_predict_distance_group' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200 SUPPORT vector_support;
COMMENT ON FUNCTION predict_distance_group(text, text, "any") IS 'distance to the nearest centroid of the group; NULL for a group without clusters';
CREATE FUNCTION predict_distance_group(model text, group_value text, a double precision, b double precision, VARIADIC more double precision[] DEFAULT '{}') RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_predict_distance_group_list' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200 SUPPORT predict_support;
COMMENT ON FUNCTION predict_distance_group(text, text, double precision, double precision, double precision[]) IS 'distance to the nearest centroid of the group, for a row given as columns';
CREATE FUNCTION anomaly(model text, x "any", contamination double precision DEFAULT NULL) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_anomaly' LANGUAGE C STABLE PARALLEL SAFE COST 200 SUPPORT vector_support;
COMMENT ON FUNCTION anomaly(text, "any", double precision) IS 'true when the row is farther from its centroid than all but a share contamination of the training rows: the model''s, 0.01 unless its options say otherwise';
CREATE FUNCTION anomaly_group(model text, group_value text, x "any", contamination double precision DEFAULT NULL) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_anomaly_group' LANGUAGE C STABLE PARALLEL SAFE COST 200 SUPPORT vector_support;
COMMENT ON FUNCTION anomaly_group(text, text, "any", double precision) IS 'anomaly with the clusters of a group; NULL for a group without clusters';
CREATE FUNCTION predict_all(model text, x "any", n integer, OUT cluster integer, OUT distance double precision)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_predict_all' LANGUAGE C STABLE PARALLEL SAFE COST 300 ROWS 5 SUPPORT vector_support;
COMMENT ON FUNCTION predict_all(text, "any", integer) IS 'the n nearest clusters of a model with their distances, nearest first';
CREATE FUNCTION predict_probabilities(model text, x "any", OUT cluster integer, OUT probability double precision)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_predict_probabilities' LANGUAGE C STABLE PARALLEL SAFE COST 300 ROWS 10 SUPPORT vector_support;
COMMENT ON FUNCTION predict_probabilities(text, "any") IS 'how probable each cluster is for a row, most probable first, by the clusters'' spreads and shares';
CREATE FUNCTION predict_probabilities_group(model text, group_value text, x "any", OUT cluster integer, OUT probability double precision)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_predict_probabilities_group' LANGUAGE C STABLE PARALLEL SAFE COST 300 ROWS 10 SUPPORT vector_support;
COMMENT ON FUNCTION predict_probabilities_group(text, text, "any") IS 'how probable each cluster of a group is for a row; no rows for a group without clusters';
CREATE FUNCTION predict_probabilities(model text, a double precision, b double precision, VARIADIC more double precision[] DEFAULT '{}', OUT cluster integer, OUT probability double precision)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_predict_probabilities_list' LANGUAGE C STABLE PARALLEL SAFE COST 300 ROWS 10;
COMMENT ON FUNCTION predict_probabilities(text, double precision, double precision, double precision[]) IS 'how probable each cluster is for a row given as columns; no rows when one of them is NULL';
CREATE FUNCTION predict_probabilities_group(model text, group_value text, a double precision, b double precision, VARIADIC more double precision[] DEFAULT '{}', OUT cluster integer, OUT probability double precision)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_predict_probabilities_group_list' LANGUAGE C STABLE PARALLEL SAFE COST 300 ROWS 10;
COMMENT ON FUNCTION predict_probabilities_group(text, text, double precision, double precision, double precision[]) IS 'how probable each cluster of a group is for a row given as columns';

-- the two that belong together: predict(model, t) is assign(model_operator(model), encode(model_encoder(model), t)) but for near ties

--@door
CREATE FUNCTION model_operator(model text, group_value text DEFAULT NULL) RETURNS fastop
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT (explained_version(readable_model(model), group_value)).operator
$$;
COMMENT ON FUNCTION model_operator(text, text) IS 'the operator of a model: centroids in the units of model_encoder';
--@door
CREATE FUNCTION model_encoder(model text, group_value text DEFAULT NULL) RETURNS encoder
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT COALESCE(v.encoder, encoder_of_vector(v.features[1], cardinality(means(v.training_sketch)), v.center, v.scale))
      FROM explained_version(readable_model(model), group_value) v
$$;
COMMENT ON FUNCTION model_encoder(text, text) IS 'the encoder of a model: rows into the coordinates that model_operator takes';
