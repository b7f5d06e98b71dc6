
-- one model per group: the rows of a value of the option group_by have a model of their own
-- One spec serves all groups, so that one scan sketches them all and sketches of groups merge.

-- The spec of the median group of the sample's largest, by the width of its clusters; wide rows share a projection.
CREATE FUNCTION fastclust_internal.groups_spec(job training_job) RETURNS sketch_spec
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    wanted jsonb := jsonb_strip_nulls(jsonb_build_object('frequencies', job.options -> 'frequencies',
                        'seed', number_option(job.options, 'seed', 0, -1e15, 1e15)::bigint));
    spec sketch_spec;
    begun timestamptz := clock_timestamp();
BEGIN
    EXECUTE format(
        'SELECT q.spec
           FROM (SELECT g.value, sketch_spec_agg(%1$s, $4, $5) AS spec
                   FROM %2$s
                   JOIN (SELECT t.%4$I::text AS value FROM %2$s WHERE %3$s GROUP BY 1 HAVING count(*) > $4
                          ORDER BY count(*) DESC, 1 LIMIT 16) g ON g.value = t.%4$I::text
                  WHERE %3$s GROUP BY g.value) q
          ORDER BY (describe(q.spec) ->> ''sigma'')::float8, q.value
         OFFSET (SELECT count(*) / 2 FROM (SELECT FROM %2$s WHERE %3$s GROUP BY t.%4$I HAVING count(*) > $4 LIMIT 16) n) LIMIT 1',
        job.space, job.sample, job.filter, job.group_by)
        INTO spec USING job.center, job.scale, job.map, job.k, wanted;
    IF spec IS NULL OR (describe(spec) ->> 'reduced_dim')::integer < (describe(spec) ->> 'dim')::integer THEN
        RETURN training_spec(job);
    END IF;
    spec := spec_in_units(spec, job.center, job.scale, true);
    PERFORM log_step(job, 'spec', begun, NULL, format('%s frequencies for all groups', describe(spec) ->> 'frequencies'));
    RETURN spec;
END
$$;

-- Old numbers and units for one group.
CREATE FUNCTION fastclust_internal.with_old_group(job training_job, value text) RETURNS training_job
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
BEGIN
    job.old_operator := NULL;
    SELECT v.operator, v.center, v.scale INTO job.old_operator, job.old_center, job.old_scale
      FROM models m JOIN model_versions v ON v.model_id = m.id AND v.version = m.version AND v.group_value = value
     WHERE m.id = job.model_id AND m.group_by = job.group_by;
    RETURN job;
END
$$;

-- One scan: every group's sketch, decoded and stored.
CREATE FUNCTION fastclust_internal.sketch_groups(job training_job) RETURNS bigint
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    result training_result;
    shared sketch_spec := groups_spec(job);
    member training_job;
    part record;
    groups bigint := 0;
    begun timestamptz := clock_timestamp();
BEGIN
    FOR part IN EXECUTE format(
        'SELECT q.value, merge_agg(q.s) AS s, null_moments(array_agg(q.s ORDER BY %6$s)) AS null_moments
           FROM (SELECT r.value, %7$s, sketch_agg(r.x, $4) AS s
                   FROM (SELECT t.%1$I::text AS value, %2$s AS place, %3$s AS x FROM %4$s WHERE %5$s) r
                  GROUP BY r.value, %8$s) q
          GROUP BY q.value', job.group_by, job.place, job.raw, job.source, job.filter, part_columns(3, 'q.part%1$s'),
        part_columns(3, 'row_bit(r.place, %1$s) AS part%1$s'), part_columns(3, 'row_bit(r.place, %1$s)'))
        USING job.center, job.scale, job.map, shared
    LOOP
        member := with_old_group(job, part.value);
        member.k := least(job.k, row_count(part.s));
        result := NULL;
        result.spec := spec(part.s);
        result.sketch := part.s;
        result.n := row_count(part.s);
        result.null_moments := part.null_moments;
        IF job.method = 'kmeans' THEN	-- comes in a scan of its own
            result.operator := (SELECT fastop_agg(means(part.s)));
        ELSE
            SELECT fastop_agg(c.centroid, c.weight ORDER BY c.cluster) INTO result.operator FROM decode(part.s, member.k) c;
        END IF;
        IF job.center IS NOT NULL THEN
            result.operator := operator_in_units(result.operator, NULL, NULL, job.center, job.scale);
        END IF;
        PERFORM store_version(member, part.value, result);
        groups := groups + 1;
    END LOOP;
    IF groups = 0 THEN
        RAISE no_data_found USING MESSAGE = format('%s has no rows with all features', job.relation);
    END IF;
    PERFORM log_step(job, CASE job.method WHEN 'kmeans' THEN 'sketch' ELSE 'sketch and decode' END, begun, NULL, format('%s groups', groups));
    RETURN groups;
END
$$;

-- The groups' operators replaced by those of one scan of an aggregate over g.operator and the row.  The planner knows
-- nothing of rows just written: no nested loops over them.
CREATE FUNCTION fastclust_internal.rescan_groups(job training_job, step text, aggregate text) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp SET enable_nestloop = off AS $$
DECLARE
    part record;
    begun timestamptz := clock_timestamp();
BEGIN
    FOR part IN EXECUTE format(
        'SELECT g.group_value, %1$s AS op
           FROM %2$s JOIN model_versions g ON g.group_value = t.%4$I::text AND g.model_id = $4 AND g.version = $5
          WHERE %3$s GROUP BY g.group_value', aggregate, job.source, job.filter, job.group_by)
        USING job.center, job.scale, job.map, job.model_id, job.version
    LOOP
        PERFORM write_group(job.model_id, job.version, part.group_value, part.op);
    END LOOP;
    PERFORM log_step(job, step, begun, NULL, NULL);
END
$$;

-- Old numbers, then distances: about a million rows of a large table are enough.
CREATE FUNCTION fastclust_internal.finish_groups(job training_job) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp SET enable_nestloop = off AS $$
DECLARE
    places float8[] := (SELECT array_agg(1 - (1 - i / 200.0) ^ 2 ORDER BY i) FROM generate_series(0, 200) i);
    thinned integer := CASE job.place WHEN 't.ctid' THEN floor(log(2, greatest(1, job.estimate / 1e6)::numeric)) ELSE 0 END;
    part record;
    begun timestamptz := clock_timestamp();
    overall float8;
BEGIN
    PERFORM write_group(job.model_id, job.version, v.group_value, keep_numbers(with_old_group(job, v.group_value), v.operator))
       FROM model_versions v WHERE v.model_id = job.model_id AND v.version = job.version;
    FOR part IN EXECUTE format(
        'WITH r AS MATERIALIZED (
             SELECT g.group_value, assign(g.operator, %1$s) AS cluster, assign_distance(g.operator, %1$s) AS distance
               FROM %2$s JOIN model_versions g ON g.group_value = t.%4$I::text AND g.model_id = $4 AND g.version = $5
              WHERE %3$s%5$s)
         SELECT q.group_value, q.quantiles, q.objective, s.clusters, s.means
           FROM (SELECT r.group_value, percentile_cont($6) WITHIN GROUP (ORDER BY r.distance) AS quantiles,
                        avg(r.distance * r.distance) AS objective FROM r GROUP BY 1) q
           JOIN (SELECT p.group_value, array_agg(p.cluster) AS clusters, array_agg(p.mean) AS means
                   FROM (SELECT r.group_value, r.cluster, avg(r.distance * r.distance) AS mean FROM r GROUP BY 1, 2) p
                  GROUP BY 1) s USING (group_value)',
        job.space, job.source, job.filter, job.group_by, part_columns(thinned, ' AND row_bit(t.ctid, 8 + %s)', ''))
        USING job.center, job.scale, job.map, job.model_id, job.version, places
    LOOP
        PERFORM write_group(job.model_id, job.version, part.group_value, NULL,
                    (SELECT array_agg(sqrt(COALESCE(u.mean, part.objective) / dim(v.operator)) ORDER BY c)
                       FROM generate_series(0, clusters(v.operator) - 1) c
                       LEFT JOIN unnest(part.clusters, part.means) u(cluster, mean) ON u.cluster = c),
                    part.quantiles, part.objective)
           FROM model_versions v
          WHERE v.model_id = job.model_id AND v.version = job.version AND v.group_value = part.group_value;
    END LOOP;
    SELECT sum(v.objective * v.n) / sum(v.n) INTO overall
      FROM model_versions v WHERE v.model_id = job.model_id AND v.version = job.version;
    PERFORM log_step(job, 'profile', begun, overall, NULL);
END
$$;

CREATE FUNCTION fastclust_internal.train_groups(job training_job) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
BEGIN
    PERFORM sketch_groups(job);
    IF job.method = 'kmeans' THEN
        PERFORM rescan_groups(job, 'k-means', format('kmeans_agg(%s, g.k)', job.space));
    END IF;
    FOR i IN 1 .. number_option(job.options, 'polish', CASE job.method WHEN 'kmeans' THEN 0 ELSE 1 END, 0, 1000)::integer LOOP
        PERFORM rescan_groups(job, format('scan %s', i), format('(lloyd_step_agg(g.operator, %s)).next', job.space));
    END LOOP;
    PERFORM finish_groups(job);
END
$$;
