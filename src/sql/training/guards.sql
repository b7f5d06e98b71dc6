
-- guards: what a training would find out late, or never say

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
CREATE FUNCTION fastclust_internal.tell_useless_columns(job training_job, sample fastop, of_sample text) RETURNS void
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    feature record;
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

