
-- predict: a named model applied to rows, read once per query

CREATE FUNCTION predict(model text, x real[]) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_predict' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION predict(text, real[]) IS 'number of the nearest cluster of a model';
CREATE FUNCTION predict(model text, x double precision[]) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_predict' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION predict(text, double precision[]) IS 'number of the nearest cluster of a model';
CREATE FUNCTION predict(model text, x integer[]) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_predict' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION predict(text, integer[]) IS 'number of the nearest cluster of a model';
CREATE FUNCTION predict(model text, x numeric[]) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_predict' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION predict(text, numeric[]) IS 'number of the nearest cluster of a model';
CREATE FUNCTION predict(model text, x double precision, VARIADIC y double precision[] DEFAULT '{}') RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_predict_columns' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION predict(text, double precision, double precision[]) IS 'number of the nearest cluster of a model, for columns; NULL when one is NULL';
CREATE FUNCTION predict_group(model text, group_value text, x real[]) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_predict_group' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION predict_group(text, text, real[]) IS 'number of the nearest cluster of the model of a group; NULL for a group without one';
CREATE FUNCTION predict_group(model text, group_value text, x double precision[]) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_predict_group' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION predict_group(text, text, double precision[]) IS 'number of the nearest cluster of the model of a group; NULL for a group without one';
CREATE FUNCTION predict_group(model text, group_value text, x integer[]) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_predict_group' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION predict_group(text, text, integer[]) IS 'number of the nearest cluster of the model of a group; NULL for a group without one';
CREATE FUNCTION predict_group(model text, group_value text, x numeric[]) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_predict_group' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION predict_group(text, text, numeric[]) IS 'number of the nearest cluster of the model of a group; NULL for a group without one';
CREATE FUNCTION predict_group(model text, group_value text, x double precision, VARIADIC y double precision[] DEFAULT '{}') RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_predict_group_columns' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION predict_group(text, text, double precision, double precision[]) IS 'number of the nearest cluster of the model of a group, for columns';
CREATE FUNCTION predict_distance(model text, x real[]) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_predict_distance' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION predict_distance(text, real[]) IS 'Euclidean distance to the nearest centroid, in the units the model was trained in of a model';
CREATE FUNCTION predict_distance(model text, x double precision[]) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_predict_distance' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION predict_distance(text, double precision[]) IS 'Euclidean distance to the nearest centroid, in the units the model was trained in of a model';
CREATE FUNCTION predict_distance(model text, x integer[]) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_predict_distance' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION predict_distance(text, integer[]) IS 'Euclidean distance to the nearest centroid, in the units the model was trained in of a model';
CREATE FUNCTION predict_distance(model text, x numeric[]) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_predict_distance' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION predict_distance(text, numeric[]) IS 'Euclidean distance to the nearest centroid, in the units the model was trained in of a model';
CREATE FUNCTION predict_distance(model text, x double precision, VARIADIC y double precision[] DEFAULT '{}') RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_predict_distance_columns' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION predict_distance(text, double precision, double precision[]) IS 'Euclidean distance to the nearest centroid, in the units the model was trained in of a model, for columns; NULL when one is NULL';
CREATE FUNCTION predict_distance_group(model text, group_value text, x real[]) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_predict_distance_group' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION predict_distance_group(text, text, real[]) IS 'Euclidean distance to the nearest centroid, in the units the model was trained in of the model of a group; NULL for a group without one';
CREATE FUNCTION predict_distance_group(model text, group_value text, x double precision[]) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_predict_distance_group' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION predict_distance_group(text, text, double precision[]) IS 'Euclidean distance to the nearest centroid, in the units the model was trained in of the model of a group; NULL for a group without one';
CREATE FUNCTION predict_distance_group(model text, group_value text, x integer[]) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_predict_distance_group' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION predict_distance_group(text, text, integer[]) IS 'Euclidean distance to the nearest centroid, in the units the model was trained in of the model of a group; NULL for a group without one';
CREATE FUNCTION predict_distance_group(model text, group_value text, x numeric[]) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_predict_distance_group' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION predict_distance_group(text, text, numeric[]) IS 'Euclidean distance to the nearest centroid, in the units the model was trained in of the model of a group; NULL for a group without one';
CREATE FUNCTION predict_distance_group(model text, group_value text, x double precision, VARIADIC y double precision[] DEFAULT '{}') RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_predict_distance_group_columns' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION predict_distance_group(text, text, double precision, double precision[]) IS 'Euclidean distance to the nearest centroid, in the units the model was trained in of the model of a group, for columns';
CREATE FUNCTION anomaly(model text, x real[], contamination double precision DEFAULT 0.01) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_anomaly' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION anomaly(text, real[], double precision) IS 'is the row farther from its centroid than all but a share `contamination` of the training rows?';
CREATE FUNCTION anomaly(model text, x double precision[], contamination double precision DEFAULT 0.01) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_anomaly' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION anomaly(text, double precision[], double precision) IS 'is the row farther from its centroid than all but a share `contamination` of the training rows?';
CREATE FUNCTION anomaly(model text, x integer[], contamination double precision DEFAULT 0.01) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_anomaly' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION anomaly(text, integer[], double precision) IS 'is the row farther from its centroid than all but a share `contamination` of the training rows?';
CREATE FUNCTION anomaly(model text, x numeric[], contamination double precision DEFAULT 0.01) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_anomaly' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION anomaly(text, numeric[], double precision) IS 'is the row farther from its centroid than all but a share `contamination` of the training rows?';
CREATE FUNCTION anomaly_group(model text, group_value text, x real[], contamination double precision DEFAULT 0.01) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_anomaly_group' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION anomaly_group(text, text, real[], double precision) IS 'is the row farther from its centroid than all but a share `contamination` of the training rows? of the model of a group; NULL for a group without one';
CREATE FUNCTION anomaly_group(model text, group_value text, x double precision[], contamination double precision DEFAULT 0.01) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_anomaly_group' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION anomaly_group(text, text, double precision[], double precision) IS 'is the row farther from its centroid than all but a share `contamination` of the training rows? of the model of a group; NULL for a group without one';
CREATE FUNCTION anomaly_group(model text, group_value text, x integer[], contamination double precision DEFAULT 0.01) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_anomaly_group' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION anomaly_group(text, text, integer[], double precision) IS 'is the row farther from its centroid than all but a share `contamination` of the training rows? of the model of a group; NULL for a group without one';
CREATE FUNCTION anomaly_group(model text, group_value text, x numeric[], contamination double precision DEFAULT 0.01) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_anomaly_group' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION anomaly_group(text, text, numeric[], double precision) IS 'is the row farther from its centroid than all but a share `contamination` of the training rows? of the model of a group; NULL for a group without one';
CREATE FUNCTION predict_all(model text, x real[], n integer, OUT cluster integer, OUT distance double precision)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_predict_all' LANGUAGE C STABLE PARALLEL SAFE COST 300 ROWS 5;
COMMENT ON FUNCTION predict_all(text, real[], integer) IS 'the n nearest clusters of a model and their distances, nearest first';
CREATE FUNCTION predict_all(model text, x double precision[], n integer, OUT cluster integer, OUT distance double precision)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_predict_all' LANGUAGE C STABLE PARALLEL SAFE COST 300 ROWS 5;
COMMENT ON FUNCTION predict_all(text, double precision[], integer) IS 'the n nearest clusters of a model and their distances, nearest first';
CREATE FUNCTION predict_all(model text, x integer[], n integer, OUT cluster integer, OUT distance double precision)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_predict_all' LANGUAGE C STABLE PARALLEL SAFE COST 300 ROWS 5;
COMMENT ON FUNCTION predict_all(text, integer[], integer) IS 'the n nearest clusters of a model and their distances, nearest first';
CREATE FUNCTION predict_all(model text, x numeric[], n integer, OUT cluster integer, OUT distance double precision)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_predict_all' LANGUAGE C STABLE PARALLEL SAFE COST 300 ROWS 5;
COMMENT ON FUNCTION predict_all(text, numeric[], integer) IS 'the n nearest clusters of a model and their distances, nearest first';
