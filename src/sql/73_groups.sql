
-- one model per group, trained in one scan

CREATE FUNCTION train_groups(job training_job) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, pg_temp AS $$
BEGIN
    RAISE feature_not_supported USING MESSAGE = 'groups are not available';
END
$$;
