
-- plot: a model on a terminal

--@door
CREATE FUNCTION plot(model text, group_value text DEFAULT NULL) RETURNS text
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
BEGIN
    RAISE feature_not_supported USING MESSAGE = 'plot is not there yet';
END
$$;
COMMENT ON FUNCTION plot(text, text) IS 'the clusters of a model as text: sizes and what each differs in, as bars of at most 100 columns';
