
-- choose_k: the number of clusters, by evidence from a sample

-- The rule is in core/kmeans/choose.h.
CREATE FUNCTION fastclust_internal.evidence_of_clusters(sample fastop, max_k integer, seed bigint, trimmed double precision,
        OUT k integer, OUT cost double precision, OUT gain double precision, OUT stability double precision, OUT verdict text) RETURNS SETOF record
    AS 'MODULE_PATHNAME', 'fastclust_evidence_of_clusters' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 1000000 ROWS 20;

-- The sample in units; of columns with NULLs rows without those that no dimension is for (core/kmeans/missing.h).
CREATE FUNCTION fastclust_internal.rows_without_nulls(sample fastop, units row_units, job training_job) RETURNS fastop
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    encoder encoder := (job.source).encoder;
    gaps record;
    flagged encoder;
BEGIN
    SELECT COALESCE(array_agg(e.number) FILTER (WHERE NOT e.has_dimension), '{}') AS plain, count(*) AS n INTO gaps FROM encoder_nulls(encoder) e
     WHERE e.share > 0 AND e.share < 1 AND e.nulls = 'impute' AND e.kind <> 'category';
    IF gaps.n = 0 OR dim(encoder) + cardinality(gaps.plain) > 16384 THEN
        RETURN operator_in_units(sample, NULL, NULL, units.center, units.scale);
    END IF;
    flagged := flagged_encoder(encoder, gaps.plain);
    RETURN imputed_rows(flagged, encoder, flagged_rows(job, flagged));
END
$$;

-- The evidence of a sample in units; a search reads so many numbers at most.
CREATE FUNCTION fastclust_internal.evidence_in_units(sample fastop, units row_units, max_k integer, job training_job,
        OUT k integer, OUT cost double precision, OUT gain double precision, OUT stability double precision, OUT verdict text) RETURNS SETOF record
    LANGUAGE sql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT e.*
      FROM (SELECT with_metric(fastop_agg(c.centroid, c.weight ORDER BY c.cluster), COALESCE((job.source).metric, 'euclidean')) AS some_rows
              FROM centroids(rows_without_nulls(sample, units, job)) c
             WHERE c.cluster < greatest(4000, 8e6 / dim(sample))) s, evidence_of_clusters(s.some_rows, max_k, job.seed, number_option(job.options, 'trim', 0)) e
$$;

CREATE FUNCTION fastclust_internal.choose_k_of(relation regclass, features name[], vector boolean, max_k integer, options jsonb,
        OUT k integer, OUT cost double precision, OUT gain double precision, OUT stability double precision, OUT verdict text) RETURNS SETOF record
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    job training_job;
    sample fastop;
BEGIN
    PERFORM check_training_options(options, 'choose_k');
    IF relation IS NULL OR max_k IS NULL THEN
        RAISE null_value_not_allowed USING MESSAGE = format('%s must not be NULL', CASE WHEN relation IS NULL THEN 'relation' ELSE 'max_k' END);
    ELSIF max_k NOT BETWEEN 2 AND 1024 THEN
        RAISE invalid_parameter_value USING MESSAGE = format('max_k is %s, out of range', max_k),
            DETAIL = 'It may be from 2 to 1024.';
    ELSIF flag_option(options, 'live', false) THEN
        RETURN QUERY SELECT c.* FROM choose_k_live(relation, features, vector, max_k, options) c;
        RETURN;
    END IF;
    job.k := max_k;
    job.options := options;
    job.seed := seed_option(options);
    job := with_learned_encoder(sampled_job(job, with_condition(row_source(relation, features, vector, NULL), options)));
    sample := uniform_sample(job);
    RETURN QUERY SELECT e.* FROM evidence_in_units(sample, standard_units(job, sample), max_k, job) e;
END
$$;

-- A job that chooses k itself.
CREATE FUNCTION fastclust_internal.with_chosen_k(job training_job, units row_units, sample fastop) RETURNS training_job
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    begun timestamptz := begin_step(job, 'number of clusters');
    chosen record;
BEGIN
    SELECT e.* INTO chosen FROM evidence_in_units(sample, units, 50, job) e WHERE e.verdict IS NOT NULL;
    PERFORM log_step(job, 'number of clusters', begun, NULL, format('%s: %s', chosen.k,
        CASE chosen.verdict WHEN 'clear' THEN format('clear, stability %s', round(chosen.stability::numeric, 2)) ELSE 'no clear k, the elbow of the cost' END));
    job.k := chosen.k;
    job.note := concat_ws('; ', job.note, format('k: %s', chosen.verdict));
    RETURN job;
END
$$;

CREATE FUNCTION choose_k(relation regclass, features text, max_k integer DEFAULT 50, options jsonb DEFAULT '{}',
        OUT k integer, OUT cost double precision, OUT gain double precision, OUT stability double precision, OUT verdict text) RETURNS SETOF record
    LANGUAGE fastclust SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
BEGIN
    RETURN QUERY SELECT k.* FROM columns_of_text(relation, choose_k.features) c, choose_k_of(relation, c.features, c.vector, max_k, options) k;
END
$$;
COMMENT ON FUNCTION choose_k(regclass, text, integer, jsonb)
    IS 'how many clusters a column of vectors or numbers has, or a list of columns: the numbers tried, what each costs and how stable it is; the verdict is at the number to take';
CREATE FUNCTION choose_k(relation regclass, features name[], max_k integer DEFAULT 50, options jsonb DEFAULT '{}',
        OUT k integer, OUT cost double precision, OUT gain double precision, OUT stability double precision, OUT verdict text) RETURNS SETOF record
    LANGUAGE fastclust SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
BEGIN
    RETURN QUERY SELECT * FROM choose_k_of(relation, features, false, max_k, options);
END
$$;
COMMENT ON FUNCTION choose_k(regclass, name[], integer, jsonb)
    IS 'how many clusters columns of numbers have, which are standardised unless the options say otherwise';
