
-- rules: what rows of a cluster have in common, as conditions on columns

--@door
CREATE FUNCTION rules(model text, conditions integer DEFAULT 3, relation regclass DEFAULT NULL, group_value text DEFAULT NULL, OUT cluster integer,
        OUT name text, OUT rule text, OUT "precision" double precision, OUT coverage double precision, OUT rows bigint, OUT fidelity double precision)
    RETURNS SETOF record
    LANGUAGE plpgsql STABLE ROWS 10 SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
BEGIN
    RAISE feature_not_supported USING MESSAGE = 'rules is not there yet';
END
$$;
COMMENT ON FUNCTION rules(text, integer, regclass, text)
    IS 'short rules that tell the clusters of a model by at most so many conditions on columns, learned on a sample of the table, with what they keep of the labels';
