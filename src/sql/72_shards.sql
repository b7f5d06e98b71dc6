
-- internal: tables whose rows lie elsewhere: shards of Citus, foreign tables

-- The planner's number of rows of a distributed table: the mean of the tasks that the plan shows, times their number.  NULL for other plans.
CREATE FUNCTION fastclust_internal.rows_of_shards(plan jsonb) RETURNS double precision
    LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT avg(task.count::float8) * (job.value ->> 'Task Count')::float8
      FROM (SELECT plan #> '{0,Plan,Distributed Query,Job}' AS value) job,
           jsonb_path_query(job.value, '$.Tasks[*]."Remote Plan"[*][*].Plan."Plan Rows"') task(count)
     GROUP BY job.value
$$;

-- A hash of a row that does not depend on where it lies, of functions that every server computes alike and that postgres_fdw and Citus send to the
-- rows: of its features, and of up to eight other columns that are not long, which tell equal ones apart; where it has neither, of its text.
CREATE FUNCTION fastclust_internal.row_hash(relation regclass, features name[], raw text) RETURNS text
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    WITH hashed AS (
        SELECT a.attname, a.attname = ANY (features) AS feature,
               (SELECT format(h.call, a.attname)
                  FROM (VALUES ('hashint2extended(t.%I, 0)', '{smallint}'), ('hashint4extended(t.%I, 0)', '{integer}'), ('hashint8extended(t.%I, 0)', '{bigint}'),
                               ('hashfloat4extended(t.%I, 0)', '{real}'), ('hashfloat8extended(t.%I, 0)', '{double precision}'),
                               ('hash_numeric_extended(t.%I, 0)', '{numeric}'), ('uuid_hash_extended(t.%I, 0)', '{uuid}'),
                               ('timestamp_hash_extended(t.%I, 0)', '{timestamp}'), ('hashint4extended(t.%I::integer, 0)', '{boolean}'),
                               ('hashint4extended(t.%I - ''2000-01-01''::date, 0)', '{date}'), ('hashtextextended(t.%I, 0)', '{text,character varying}'),
                               ('hash_array_extended(t.%I, 0)', '{smallint[],integer[],bigint[],real[],double precision[],numeric[]}')) h(call, types)
                 WHERE a.atttypid = ANY (h.types::regtype[])) AS call
          FROM pg_attribute a JOIN pg_type y ON y.oid = a.atttypid
         WHERE a.attrelid = relation AND a.attnum > 0 AND NOT a.attisdropped AND (a.attname = ANY (features) OR y.typcategory NOT IN ('A', 'S'))),
    chosen AS (SELECT * FROM hashed WHERE call IS NOT NULL ORDER BY NOT feature, attname::text COLLATE "C" LIMIT cardinality(features) + 8)
    SELECT CASE WHEN count(*) = 0 AND raw IS NULL THEN 'hashtextextended(t::text, 0)'
                ELSE format('hash_array_extended(ARRAY[%s], 0)',
                            concat_ws(', ', string_agg(call, ', ' ORDER BY NOT feature, attname::text COLLATE "C"),
                                      CASE WHEN bool_or(feature) IS NOT TRUE AND raw IS NOT NULL THEN format('hash_array_extended(%s, 0)', CASE WHEN raw LIKE '%::real[]' THEN raw ELSE format('vector_in_units(NULL, NULL, %s)', raw) END) END)) END
      FROM chosen
$$;

-- Do rows of a relation, or of what a view reads, lie on shards of Citus?
CREATE FUNCTION fastclust_internal.is_sharded(relation regclass) RETURNS boolean
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    sharded boolean := false;
BEGIN
    IF to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL THEN
        EXECUTE 'WITH RECURSIVE tree(id) AS (
                     SELECT $1::oid
                     UNION
                     SELECT part.id FROM tree, LATERAL (
                         SELECT i.inhrelid FROM pg_inherits i WHERE i.inhparent = tree.id
                         UNION ALL
                         SELECT d.refobjid FROM pg_rewrite r JOIN pg_depend d ON d.classid = ''pg_rewrite''::regclass AND d.objid = r.oid
                          WHERE r.ev_class = tree.id AND d.refclassid = ''pg_class''::regclass) part(id))
                 SELECT EXISTS (SELECT FROM tree JOIN pg_catalog.pg_dist_partition p ON p.logicalrelid = tree.id WHERE p.partmethod <> ''n'')'
            INTO sharded USING relation;
    END IF;
    RETURN sharded;
END
$$;

-- Is the sum of one argument of this type ours alone?  Citus adds up what the shards send by the first such sum of any schema, with the
-- rights of who asks: it might be one that another role has made for that.
CREATE FUNCTION fastclust_internal.is_only_sum(type oid) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_is_only_sum' LANGUAGE C VOLATILE STRICT;

-- The name of an aggregate of rows: over shards that of the sum they are sent (56_shard_sums.sql), unless there is another.
CREATE FUNCTION fastclust_internal.aggregate_over(source row_source, aggregate text) RETURNS text
    LANGUAGE sql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT CASE WHEN source.sharded AND is_only_sum('sketch'::regtype) AND is_only_sum('aggregate_state'::regtype)
                      AND is_only_sum('drift_counts'::regtype) THEN 'fastclust_internal.sum' ELSE aggregate END
$$;

-- Shards group by hashing, with the memory of the coordinator, as the settings of a function make one node do; false: as they did before.
-- Citus passes on what SET LOCAL sets, for the rest of the transaction; the caller has settings of its own that put the coordinator's back.
CREATE FUNCTION fastclust_internal.hash_on_shards(source row_source, hashing boolean) RETURNS void
    LANGUAGE plpgsql SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    passed_on text := current_setting('citus.propagate_set_commands', true);
BEGIN
    IF NOT source.sharded THEN
        RETURN;
    END IF;
    PERFORM set_config('citus.propagate_set_commands', 'local', true);
    IF hashing THEN
        SET LOCAL enable_sort = off;
        EXECUTE format('SET LOCAL work_mem = %L', current_setting('work_mem'));
    ELSE
        SET LOCAL enable_sort TO DEFAULT;
        SET LOCAL work_mem TO DEFAULT;
    END IF;
    PERFORM set_config('citus.propagate_set_commands', passed_on, true);
END
$$;

-- Each leaf's rows aggregated where they lie.
CREATE FUNCTION fastclust_internal.of_leaves(source row_source, selected text, wanted double precision, estimate double precision, seed bigint, ending text)
    RETURNS text
    LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT string_agg(format('SELECT %s %s %s', selected, rows_from(source, wanted, estimate, seed, leaf), ending), ' UNION ALL ')
      FROM unnest(COALESCE(source.leaves, ARRAY[source.relation])) leaf
$$;
