
-- versions made of a sketch alone: no row is read

-- The job of a version made without its table, which need not be there any more.
CREATE FUNCTION fastclust_internal.sketch_job(held stored_models, version stored_versions, k integer, options jsonb, new_rows bigint) RETURNS training_job
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    job training_job;
    source row_source;
BEGIN
    PERFORM check_training_options(options, 'train');
    source.relation := version.relation;
    source.features := version.features;
    source.vector := version.vector;
    source.encoder := version.encoder;
    job.model_id := held.id;
    job.model := held.model;
    job.version := (SELECT max(v.version) + 1 FROM readable_versions v WHERE v.model_id = held.id);
    job.source := source;
    job.k := k;
    job.options := options;
    job.seed := seed_option(options);
    job.started_at := clock_timestamp();
    job.method := version.method;
    job.note := format('from a sketch of %s rows', new_rows);
    RETURN job;
END
$$;

-- What a sketch tells of the clusters, in units: operator, spreads, and the mean squared distance.  The notices of decode, which advise to
-- make another spec, are left out.  fresh: nothing of the old version but
-- its units is used, neither its centroids nor the rows of its sample, nor bounds, which may be those of rows that went.
CREATE FUNCTION fastclust_internal.decoded(job training_job, s sketch, version stored_versions, fresh boolean,
        OUT op fastop, OUT spreads double precision[], OUT objective double precision)
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    unit float8 := COALESCE((SELECT sqrt(avg(x * x)) FROM unnest(version.scale) x), 1);
    old fastop := CASE WHEN NOT fresh THEN operator_in_units(version.operator, version.center, version.scale, NULL, NULL) END;
    numbers integer[];
BEGIN
    SELECT with_metric(fastop_agg(c.centroid, c.weight ORDER BY c.cluster), training_metric(version.options ->> 'metric')), array_agg(c.spread / unit ORDER BY c.cluster),
           sum(c.weight * c.spread ^ 2) / unit ^ 2 / sum(c.weight) * cardinality(means(s))
      INTO op, spreads, objective
      FROM decode(CASE WHEN fresh THEN live_difference(s, NULL) ELSE s END, job.k, 'auto', decode_settings(job.seed, old, job.k, true),
                  CASE WHEN fresh THEN without_pilot_rows(version.spec) ELSE version.spec END) c;
    op := operator_in_units(op, NULL, NULL, version.center, version.scale);
    IF old IS NOT NULL THEN
        numbers := match_clusters(version.operator, op);
        SELECT array_agg(s.x ORDER BY n.x) INTO spreads
          FROM unnest(spreads) WITH ORDINALITY s(x, i) JOIN unnest(numbers) WITH ORDINALITY n(x, i) USING (i);
        op := renumber(op, numbers);
    END IF;
END
$$;

-- A part of a version that is made of a sketch alone.  No row is read: of another number of clusters the quantiles are taken to change as
-- the root mean square does; a fresh one has those of rows drawn from its clusters.
CREATE FUNCTION fastclust_internal.decoded_part(job training_job, group_value text, s sketch, counts drift_counts, old stored_versions) RETURNS stored_versions
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    begun timestamptz := clock_timestamp();
    fresh boolean := flag_option(job.options, 'fresh', false);
    result record := decoded(job, s, old, fresh);
    part stored_versions := old;
    drawn fastop;
BEGIN
    PERFORM log_step(job, 'decode', begun, result.objective, job.note);
    part.model_id := job.model_id;
    part.version := job.version;
    part.group_value := group_value;
    part.method := job.method;
    part.note := job.note;
    part.k := job.k;
    part.options := job.options - 'frozen';
    part.operator := result.op;
    part.map := NULL;
    part.training_sketch := s;
    part.drift_spec := NULL;
    part.drift_counts := counts;
    part.n := row_count(s);
    part.imputed := NULL;
    part.objective_error := NULL;
    part.label_churn := NULL;
    part.recall := NULL;
    part.started_at := job.started_at;
    part.spreads := result.spreads;
    part.objective := result.objective;
    part.paths := level_paths(result.op, job.options);
    IF fresh THEN
        part.spec := without_pilot_rows(old.spec);
        drawn := drawn_rows(result.op, result.spreads, greatest(512, least(8192, 4000000 / dim(result.op))), job.seed);
        part.distance_quantiles := (fit_profile(result.op, drawn)).quantiles;
        part.null_moments := sample_null_moments(operator_in_units(drawn, old.center, old.scale, NULL, NULL), old.spec);
        RETURN part;
    END IF;
    part.distance_quantiles := (SELECT array_agg(q * CASE WHEN job.k = old.k THEN 1 ELSE COALESCE(sqrt(result.objective / NULLIF(old.objective, 0)), 1) END ORDER BY i)
                                  FROM unnest(old.distance_quantiles) WITH ORDINALITY u(q, i));
    RETURN part;
END
$$;
