
-- guards: what a training would find out late, or never say

-- Does the sample hold all rows?
CREATE FUNCTION fastclust_internal.is_whole(job training_job, sample fastop) RETURNS boolean
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT clusters(sample) < w.wanted AND (job.estimate <= 3 * w.wanted OR clusters(sample) < w.wanted / 4)
      FROM rows_in_budget(dim(sample), number_option(job.options, 'sample_rows', greatest(20000, 50 * job.k))) w(wanted)
$$;

-- k is at most the number of rows.
CREATE FUNCTION fastclust_internal.check_k_of_count(job training_job, n bigint) RETURNS void
    LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF job.k > n THEN
        RAISE invalid_parameter_value USING
            MESSAGE = format('k is %s, but %s has %s', job.k, (job.source).relation, CASE WHEN n = 1 THEN 'one row' ELSE format('%s rows', n) END);
    END IF;
END
$$;

-- Options that only other methods have.
CREATE FUNCTION fastclust_internal.tell_idle_options(method text, options jsonb) RETURNS void
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, fastclust_internal, pg_temp AS $$
DECLARE
    idle record;
BEGIN
    FOR idle IN
        SELECT o.name, o.methods FROM (VALUES ('trim', '{auto,kmeans,kernel}'::text[]), ('kernel', '{kernel}'), ('landmarks', '{kernel}'), ('rank', '{kernel}'),
                                              ('factors', '{qkmeans}'),
                                              ('frequencies', CASE WHEN flag_option(options, 'live', false) THEN ARRAY[method] ELSE '{compressive}' END)) o(name, methods)
         WHERE tell_idle_options.options ->> o.name <> '0' AND tell_idle_options.method <> ALL (o.methods) LOOP
        RAISE WARNING USING MESSAGE = format('option "%s" has no effect with method "%s"', idle.name, method),
            HINT = format('Methods that have it: %s.', array_to_string(array_remove(idle.methods, 'auto'), ', '));
    END LOOP;
END
$$;

-- Columns that cannot tell rows apart: of one value, or of nearly as many as there are rows.
CREATE FUNCTION fastclust_internal.tell_useless_columns(job training_job, sample fastop) RETURNS void
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    feature record;
    of_sample text := CASE WHEN is_whole(job, sample) THEN '' ELSE ' of a sample' END;
BEGIN
    FOR feature IN
        SELECT f.feature, max(m.deviation) = 0 AS is_constant, max(m.mean) FILTER (WHERE f.category = 'other') AS other, n.share AS missing
          FROM encoder_features((job.source).encoder) f
          JOIN (SELECT u.* FROM centroid_moments(sample) c, unnest(c.mean, c.deviation) WITH ORDINALITY u(mean, deviation, dimension)) m USING (dimension)
          JOIN encoder_nulls((job.source).encoder) n USING (feature)
         WHERE n.kind = 'category' OR NOT n.has_dimension
         GROUP BY f.feature, n.share ORDER BY min(f.dimension) LOOP
        IF feature.missing = 1 THEN
            RAISE WARNING USING MESSAGE = format('column "%s" is NULL in every row%s: leave it out', feature.feature, of_sample);
        ELSIF feature.other > 0.9 THEN
            RAISE WARNING USING MESSAGE = format('column "%s" has too many values, or too long ones, to tell rows apart: %s %% of the rows count as "other"', feature.feature, floor(100 * feature.other)),
                HINT = 'A name or an identifier is better left out.';
        ELSIF feature.is_constant THEN
            RAISE WARNING USING MESSAGE = format('column "%s" is %sthe same in every row%s: it does not distinguish rows', feature.feature,
                CASE WHEN feature.missing > 0 THEN 'NULL or ' ELSE '' END, of_sample);
        END IF;
    END LOOP;
END
$$;

-- Checks the sample, warns, and returns it.  Groups hold rows enough to be clustered; without groups k is at most the number of different rows.
CREATE FUNCTION fastclust_internal.guarded_sample(job training_job, sample fastop) RETURNS fastop
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    n integer := clusters(sample);
    different bigint;
    groups float8 := CASE WHEN (job.source).group_by IS NOT NULL THEN estimated_groups(job, n) END;
BEGIN
    IF groups >= 10 AND groups > n / 2.0 AND is_whole(job, sample) THEN
        RAISE invalid_parameter_value USING MESSAGE = format('option "group_by": column "%s" has %s values in %s rows', (job.source).group_by, groups, n),
            DETAIL = 'Groups of one or two rows have no clusters.', HINT = 'Group by a column that many rows share.';
    ELSIF groups > 10000 AND NOT flag_option(job.options, 'quiet', false) THEN
        RAISE NOTICE USING MESSAGE = format('option "group_by": column "%s" has %s values in a sample of %s rows', (job.source).group_by, groups, n),
            DETAIL = 'Each gets clusters and a sketch of its own.', HINT = 'Cancel this and group by a column of fewer values, if these are more than you thought.';
    ELSIF groups IS NULL AND is_whole(job, sample) THEN
        PERFORM check_k_of_count(job, n);
        IF job.k > 1 AND n::float8 * dim(sample) <= 4e6 THEN
            different := (SELECT count(*) FROM (SELECT DISTINCT c.centroid FROM centroids(sample) c) q);
            IF job.k > different THEN
                RAISE invalid_parameter_value USING MESSAGE = format('k is %s, but the rows of %s are of %s', job.k, (job.source).relation,
                    CASE WHEN different = 1 THEN 'one kind only' ELSE format('%s kinds only', different) END), DETAIL = 'All others are equal to one of these in every column that is clustered.';
            END IF;
        END IF;
    END IF;
    IF (job.source).encoder IS NOT NULL THEN
        PERFORM tell_useless_columns(job, sample);
    END IF;
    RETURN sample;
END
$$;
