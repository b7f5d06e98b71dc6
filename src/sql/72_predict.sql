
-- predict: a named model applied to rows, read once per query

--@each
CREATE FUNCTION predict(model text, x @vector@) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_predict' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION predict(text, @vector@) IS 'number of the nearest cluster of a model';
--@end
CREATE FUNCTION predict(model text, x double precision, VARIADIC y double precision[] DEFAULT '{}') RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_predict_columns' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION predict(text, double precision, double precision[]) IS 'number of the nearest cluster of a model, for columns; NULL when one is NULL';
--@each
CREATE FUNCTION predict_group(model text, group_value text, x @vector@) RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_predict_group' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION predict_group(text, text, @vector@) IS 'number of the nearest cluster of the model of a group; NULL for a group without one';
--@end
CREATE FUNCTION predict_group(model text, group_value text, x double precision, VARIADIC y double precision[] DEFAULT '{}') RETURNS integer
    AS 'MODULE_PATHNAME', 'fastclust_predict_group_columns' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION predict_group(text, text, double precision, double precision[]) IS 'number of the nearest cluster of the model of a group, for columns';
--@each
CREATE FUNCTION predict_distance(model text, x @vector@) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_predict_distance' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION predict_distance(text, @vector@) IS 'Euclidean distance to the nearest centroid, in the units the model was trained in of a model';
--@end
CREATE FUNCTION predict_distance(model text, x double precision, VARIADIC y double precision[] DEFAULT '{}') RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_predict_distance_columns' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION predict_distance(text, double precision, double precision[]) IS 'Euclidean distance to the nearest centroid, in the units the model was trained in of a model, for columns; NULL when one is NULL';
--@each
CREATE FUNCTION predict_distance_group(model text, group_value text, x @vector@) RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_predict_distance_group' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION predict_distance_group(text, text, @vector@) IS 'Euclidean distance to the nearest centroid, in the units the model was trained in of the model of a group; NULL for a group without one';
--@end
CREATE FUNCTION predict_distance_group(model text, group_value text, x double precision, VARIADIC y double precision[] DEFAULT '{}') RETURNS double precision
    AS 'MODULE_PATHNAME', 'fastclust_predict_distance_group_columns' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION predict_distance_group(text, text, double precision, double precision[]) IS 'Euclidean distance to the nearest centroid, in the units the model was trained in of the model of a group, for columns';
--@each
CREATE FUNCTION anomaly(model text, x @vector@, contamination double precision DEFAULT 0.01) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_anomaly' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION anomaly(text, @vector@, double precision) IS 'is the row farther from its centroid than all but a share `contamination` of the training rows?';
CREATE FUNCTION anomaly_group(model text, group_value text, x @vector@, contamination double precision DEFAULT 0.01) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_anomaly_group' LANGUAGE C STABLE STRICT PARALLEL SAFE COST 200;
COMMENT ON FUNCTION anomaly_group(text, text, @vector@, double precision) IS 'is the row farther from its centroid than all but a share `contamination` of the training rows? of the model of a group; NULL for a group without one';
CREATE FUNCTION predict_all(model text, x @vector@, n integer, OUT cluster integer, OUT distance double precision)
    RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_predict_all' LANGUAGE C STABLE PARALLEL SAFE COST 300 ROWS 5;
COMMENT ON FUNCTION predict_all(text, @vector@, integer) IS 'the n nearest clusters of a model and their distances, nearest first';
--@end
