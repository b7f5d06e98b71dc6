
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
