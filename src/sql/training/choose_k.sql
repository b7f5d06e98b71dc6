
-- choose_k: the number of clusters, by evidence from a sample

-- The rule is in core/kmeans/choose.h.
CREATE FUNCTION fastclust_internal.tried_clusters(job training_job,
        OUT k integer, OUT cost double precision, OUT gain double precision, OUT stability double precision, OUT verdict text,
        OUT within integer, OUT reason text) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_tried_clusters' LANGUAGE C STRICT SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp;

CREATE FUNCTION fastclust_internal.choose_k_of(relation regclass, features name[], vector boolean, max_k integer, options jsonb,
        OUT k integer, OUT cost double precision, OUT gain double precision, OUT stability double precision, OUT verdict text,
        OUT within integer, OUT reason text) RETURNS SETOF record
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    job training_job;
BEGIN
    PERFORM check_training_options(options, 'choose_k');
    IF relation IS NULL OR max_k IS NULL THEN
        RAISE null_value_not_allowed USING MESSAGE = format('%s must not be NULL', CASE WHEN relation IS NULL THEN 'relation' ELSE 'max_k' END);
    ELSIF max_k NOT BETWEEN 2 AND 1024 THEN
        RAISE invalid_parameter_value USING MESSAGE = format('max_k is %s, out of range', max_k),
            DETAIL = 'It may be from 2 to 1024.';
    ELSIF flag_option(options, 'live', false) THEN
        RETURN QUERY SELECT c.*, NULL::integer, NULL::text FROM choose_k_live(relation, features, vector, max_k, options) c;
        RETURN;
    END IF;
    job.k := max_k;
    job.options := options;
    job.seed := seed_option(options);
    RETURN QUERY SELECT t.* FROM tried_clusters(sampled_job(job, with_condition(row_source(relation, features, vector, NULL), options))) t;
END
$$;

CREATE FUNCTION choose_k(relation regclass, features text, max_k integer DEFAULT 50, options jsonb DEFAULT '{}',
        OUT k integer, OUT cost double precision, OUT gain double precision, OUT stability double precision, OUT verdict text,
        OUT within integer, OUT reason text) RETURNS SETOF record
    LANGUAGE fastclust SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
BEGIN
    RETURN QUERY SELECT k.* FROM columns_of_text(relation, choose_k.features) c, choose_k_of(relation, c.features, c.vector, max_k, options) k;
END
$$;
COMMENT ON FUNCTION choose_k(regclass, text, integer, jsonb)
    IS 'how many clusters a column of vectors or numbers has, or a list of columns: the numbers tried, what each costs and how stable it is; the verdict is at the number to take, with the clusters within those and the reason where it is not clear';
CREATE FUNCTION choose_k(relation regclass, features name[], max_k integer DEFAULT 50, options jsonb DEFAULT '{}',
        OUT k integer, OUT cost double precision, OUT gain double precision, OUT stability double precision, OUT verdict text,
        OUT within integer, OUT reason text) RETURNS SETOF record
    LANGUAGE fastclust SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
BEGIN
    RETURN QUERY SELECT * FROM choose_k_of(relation, features, false, max_k, options);
END
$$;
COMMENT ON FUNCTION choose_k(regclass, name[], integer, jsonb)
    IS 'how many clusters columns of numbers have, which are standardised unless the options say otherwise';
