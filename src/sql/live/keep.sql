
-- Live sketches: keep_sketch

-- Returns the value of an option that is a time span of fixed length, independent of the calendar.
-- Returns NULL if the option is not given.
CREATE FUNCTION fastclust_internal.span_option(options jsonb, option text) RETURNS interval
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $$
DECLARE
    result interval;
BEGIN
    BEGIN
        result := (options ->> option)::interval;
    EXCEPTION WHEN OTHERS THEN
        RAISE invalid_parameter_value USING
            MESSAGE = format('option "%s" is "%s", not an interval', option, options ->> option);
    END;
    IF extract(year FROM result) <> 0
       OR extract(month FROM result) <> 0
       OR result <= '0'
       OR result > '100000000 days' THEN
        RAISE invalid_parameter_value USING
            MESSAGE = format('option "%s" is "%s", out of range', option, options ->> option),
            DETAIL = 'It must be a number of days, hours, minutes or seconds, above 0 and up to 100000000 days.';
    END IF;
    RETURN result;
END
$$;

-- Raises an error if a live sketch cannot be grouped by the type of column group_by, or if the type
-- of column bucket is not date, timestamp or timestamptz. Either column may be NULL.
CREATE FUNCTION fastclust_internal.check_live_types(relation regclass, group_by name, bucket name)
    RETURNS void
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $$
DECLARE
    group_is regtype := feature_type(relation, group_by);
    bucket_is regtype := feature_type(relation, bucket);
BEGIN
    -- The text of values of these types does not depend on settings, or on objects that could be
    -- renamed.
    IF group_is <> ALL ('{text,varchar,bpchar,name,smallint,integer,bigint,numeric,boolean,uuid}'
                        ::regtype[]) THEN
        RAISE feature_not_supported USING
            MESSAGE = format('a live sketch cannot be grouped by column "%s" of type %s', group_by,
                             group_is),
            HINT = 'Group by text, whole numbers, booleans or uuid; for times, use the option bucket.';
    ELSIF bucket_is <> ALL ('{date,timestamp,timestamptz}'::regtype[]) THEN
        RAISE datatype_mismatch USING
            MESSAGE = format('column "%s" of %s is of type %s, not a time', bucket, relation,
                             bucket_is),
            HINT = 'The column must be a date, a timestamp or a timestamptz.';
    END IF;
END
$$;

-- Checks the columns that split the rows of a live sketch. Returns the width of its buckets: option
-- bucket_width, or else a day or an eighth of half_life, whichever is less. Returns NULL if there
-- are no buckets.
CREATE FUNCTION fastclust_internal.live_bucket_width(relation regclass, group_by name,
        options jsonb)
    RETURNS interval
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $$
DECLARE
    bucket name := options ->> 'bucket';
    half_life interval := span_option(options, 'half_life');
    width interval := span_option(options, 'bucket_width');
    idle text := CASE WHEN bucket IS NOT NULL THEN NULL
                      WHEN half_life IS NOT NULL THEN 'half_life'
                      WHEN width IS NOT NULL THEN 'bucket_width' END;
BEGIN
    PERFORM check_live_types(relation, group_by, bucket);
    IF idle IS NOT NULL THEN
        RAISE invalid_parameter_value USING
            MESSAGE = format('option "%s" needs option "bucket", a column of times', idle);
    END IF;
    RETURN CASE WHEN bucket IS NOT NULL THEN COALESCE(
                                                 width,
                                                 greatest(least('1 day', half_life / 8),
                                                          '1 microsecond')) END;
END
$$;

-- Checks the arguments of keep_sketch and returns the live sketch that they describe.
CREATE FUNCTION fastclust_internal.requested_live(name text, relation regclass, features name[],
        vector boolean, spec sketch_spec, options jsonb)
    RETURNS kept_sketches
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $$
DECLARE
    live kept_sketches;
    source record;
BEGIN
    PERFORM check_training_options(options, 'keep_sketch');
    IF COALESCE(name, '') = '' THEN
        RAISE invalid_parameter_value USING MESSAGE = 'name must not be NULL or empty';
    ELSIF relation IS NULL OR spec IS NULL THEN
        RAISE null_value_not_allowed USING
            MESSAGE = format('%s must not be NULL',
                             CASE WHEN relation IS NULL THEN 'relation' ELSE 'spec' END);
    ELSIF relation_kind(relation) NOT IN ('r', 'p') THEN
        RAISE wrong_object_type USING MESSAGE = format('%s is not a table', relation),
            HINT = 'A live sketch can only follow a table, plain or partitioned.';
    END IF;
    live.encoder := options ->> 'encoder';
    source := row_expressions(relation, features, vector, options ->> 'group_by', live.encoder,
                              options ->> 'where');
    IF cardinality(features) > (SELECT count(DISTINCT f) FROM unnest(features) f) THEN
        RAISE duplicate_column USING
            MESSAGE = format('column "%s" is named twice',
                             (SELECT f
                                FROM unnest(features) f
                               GROUP BY f
                              HAVING count(*) > 1
                               ORDER BY f LIMIT 1));
    ELSIF source.vector AND live.encoder IS NOT NULL THEN
        RAISE invalid_parameter_value USING
            MESSAGE = format(
                          'option "encoder" is for a list of columns, not for the vectors of column "%s"',
                          features[1]);
    ELSIF NOT source.vector AND source.dimensions IS NULL THEN
        RAISE datatype_mismatch USING
            MESSAGE = format('not all features of %s are numbers', relation),
            HINT = 'Pass the text form of an encoder as option "encoder", or train a model with the option live.';
    END IF;
    live.name := name;
    live.relation := relation;
    live.features := features;
    live.vector := source.vector;
    -- checked here, because otherwise every later write to the table would raise the error
    live.spec := without_sample_rows(spec, COALESCE(source.dimensions, 0));
    live.group_by := options ->> 'group_by';
    live.bucket := options ->> 'bucket';
    live.counting := flag_option(options, 'concurrently');
    live.bucket_width := live_bucket_width(relation, live.group_by, options);
    live.half_life := span_option(options, 'half_life');
    live.condition := source.condition;
    live.columns := ARRAY(SELECT DISTINCT u.column_name COLLATE "C"
                            FROM unnest(
                                     features || live.group_by || live.bucket || source.columns)
                                     u(column_name)
                           WHERE u.column_name IS NOT NULL
                           ORDER BY 1);
    RETURN live;
END
$$;

-- Raises an error unless the isolation level of the transaction shows rows that other transactions
-- commit while it runs.
CREATE FUNCTION fastclust_internal.check_live_isolation(name text) RETURNS void
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF current_setting('transaction_isolation') NOT IN ('read committed', 'read uncommitted') THEN
        RAISE active_sql_transaction USING
            MESSAGE = format(
                          'live sketch "%s" cannot be counted in a transaction of isolation level %s',
                          name, current_setting('transaction_isolation')),
            HINT = 'Use READ COMMITTED, which sees rows that others have committed.';
    END IF;
END
$$;

-- Raises an error unless every change of the table and its leaves fires triggers, and the rows
-- outlive the session and a crash.
CREATE FUNCTION fastclust_internal.check_live_tables(live kept_sketches) RETURNS void
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $$
DECLARE
    member record;
    keeper text;    -- extension that stores rows of the table elsewhere, or NULL
    reason text;
BEGIN
    FOR member IN
        SELECT c.oid::regclass AS id, c.*
          FROM live_tables(live.relation) t JOIN pg_class c ON c.oid = t.id
    LOOP
        -- Citus: distributed tables, reference tables, and local tables that it manages
        keeper := NULL;
        IF to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL THEN
            EXECUTE 'SELECT ''citus'' FROM pg_catalog.pg_dist_partition p WHERE p.logicalrelid = $1'
                INTO keeper USING member.id;
        END IF;
        -- TimescaleDB: hypertables and their chunks. Its catalog is read only if the extension made
        -- it.
        IF keeper IS NULL
           AND (SELECT count(*) = 2
                  FROM pg_depend d
                  JOIN pg_extension e ON e.oid = d.refobjid AND e.extname = 'timescaledb'
                 WHERE d.deptype = 'e'
                   AND d.refclassid = 'pg_extension'::regclass
                   AND d.classid = 'pg_class'::regclass
                   AND d.objid IN (to_regclass('_timescaledb_catalog.hypertable'),
                                   to_regclass('_timescaledb_catalog.chunk'))) THEN
            EXECUTE $query$
                SELECT 'timescaledb'
                  FROM pg_class c
                  JOIN pg_namespace n ON n.oid = c.relnamespace
                  JOIN (SELECT schema_name, table_name FROM _timescaledb_catalog.hypertable
                        UNION ALL
                        SELECT schema_name, table_name FROM _timescaledb_catalog.chunk) t
                       ON t.schema_name = n.nspname AND t.table_name = c.relname
                 WHERE c.oid = $1 $query$ INTO keeper USING member.id;
        END IF;
        reason :=
            CASE WHEN member.relkind NOT IN ('r', 'p') THEN 'It is not a table of this server.'
                 WHEN member.relnamespace = 'pg_catalog'::regnamespace
                     THEN 'It is a catalog of the server.'
                 WHEN EXISTS (SELECT
                                FROM pg_depend d
                                JOIN pg_extension e
                                     ON e.oid = d.refobjid AND e.extname = 'fastclust'
                               WHERE d.deptype = 'e'
                                 AND d.refclassid = 'pg_extension'::regclass
                                 AND d.classid = 'pg_class'::regclass
                                 AND d.objid = member.id) THEN 'It is a table of fastclust itself.'
                 WHEN keeper = 'citus'
                     THEN 'Its rows are in shards of Citus, where its triggers do not fire.'
                 WHEN keeper = 'timescaledb'
                     THEN 'It is a hypertable of TimescaleDB, or a chunk of one.'
                 WHEN member.relpersistence = 't' THEN 'It is a temporary table.'
                 WHEN member.relpersistence = 'u' THEN 'It is unlogged: a crash empties it.'
                 WHEN row_security_active(member.id)
                     THEN 'Row-level security hides rows of it from its owner.'
                 WHEN EXISTS (SELECT FROM pg_attribute a
                               WHERE a.attrelid = member.id
                                 AND a.attname = ANY (live.columns)
                                 AND a.attgenerated = 'v')
                     THEN 'A virtual column has no value when a row is written.' END;
        IF reason IS NOT NULL THEN
            RAISE feature_not_supported USING
                MESSAGE = format('%s cannot be followed by a live sketch', member.id),
                DETAIL = reason,
                HINT = CASE WHEN keeper = 'timescaledb'
                                THEN 'Keep a sketch_agg for each bucket in a continuous aggregate, and merge the sketches by merge_agg.'
                            WHEN member.relkind NOT IN ('r', 'p') OR keeper = 'citus'
                                THEN 'Keep a table with a sketch_agg for each hour or day, update what changed, and merge the sketches by merge_agg.'
                            ELSE 'A live sketch follows a logged table that shows its owner all rows.' END;
        END IF;
    END LOOP;
END
$$;

-- Raises an error if counting would run code that the caller did not choose, because another role
-- owns the table (check_stored_scan), or if row-level security hides rows from the caller.
CREATE FUNCTION fastclust_internal.check_live_scan(live kept_sketches, relation regclass)
    RETURNS void
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $$
DECLARE
    owner name := pg_get_userbyid(relation_owner(relation));
    problem text := CASE WHEN owner <> current_user
                              OR is_superuser(role_id(current_user))
                             THEN scan_problem(relation, live.columns) END;
BEGIN
    IF problem IS NOT NULL THEN
        RAISE insufficient_privilege USING
            MESSAGE = format('live sketch "%s" cannot be counted by %s', live.name, current_user),
            DETAIL = upper(left(problem, 1)) || substr(problem, 2) || '.',
            HINT = format('Log in as %I: after SET ROLE, code of that role could use your rights.', owner);
    ELSIF row_security_active(relation) THEN
        RAISE feature_not_supported USING
            MESSAGE = format('live sketch "%s" cannot be counted by %s', live.name, current_user),
            DETAIL = format('Row-level security hides rows of %s.', relation),
            HINT = 'Triggers count all rows. ALTER TABLE with NO FORCE ROW LEVEL SECURITY shows all rows to the owner.';
    END IF;
END
$$;

-- Counts the rows of a leaf and returns their number. Writers need not wait, because a single query
-- counts the rows and lists the deltas that its snapshot shows. write_leaf then deletes these
-- deltas.
CREATE FUNCTION fastclust_internal.count_leaf(live kept_sketches, leaf regclass) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path FROM CURRENT SET datestyle = iso SET intervalstyle = postgres
    SET extra_float_digits = 1 SET timezone = 'UTC' SET row_security = off
    SET standard_conforming_strings = on SET array_nulls = on SET lc_monetary = 'C'
    SET quote_all_identifiers = off SET bytea_output = hex AS $$
DECLARE
    counted live_count;
BEGIN
    EXECUTE format('SELECT open_deltas($3, $4), array_agg(ROW(q.*)::live_group) FROM (%s) q',
                   live_scan(live, leaf, true))
        INTO counted USING live.spec, live.drift_spec, live.id, leaf;
    PERFORM write_leaf(live.id, leaf, counted);
    RETURN (SELECT COALESCE(sum(row_count(p.s)), 0) FROM unnest(counted.groups) p);
END
$$;

-- Counts all rows of the leaves of a live sketch and returns their number. If with_triggers is
-- true, makes new triggers before that.
CREATE FUNCTION fastclust_internal.count_live(live kept_sketches, with_triggers boolean)
    RETURNS bigint
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    IF with_triggers THEN
        -- Record leaves as empty first, because a leaf that has triggers but no record would be
        -- taken for a restored one.
        PERFORM write_leaf(live.id, t.id, NULL) FROM live_tables(live.relation) t WHERE t.is_leaf;
        PERFORM set_live_triggers(live.id, t.id, true) FROM live_tables(live.relation) t;
    END IF;
    RETURN (SELECT COALESCE(sum(count_leaf(live, t.id)), 0) FROM live_tables(live.relation) t
             WHERE t.is_leaf);
END
$$;

-- Locks out writers of a table until the end of the transaction.
CREATE FUNCTION fastclust_internal.lock_out_writers(relation regclass) RETURNS void
    LANGUAGE plpgsql STRICT SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_class c WHERE c.oid = relation) THEN
        RAISE undefined_table USING
            MESSAGE = format('relation with OID %s does not exist', relation::oid);
    END IF;
    EXECUTE format('LOCK TABLE %s IN SHARE ROW EXCLUSIVE MODE', relation);
END
$$;

-- Locks out writers of a table like lock_out_writers, but does not make writers queue behind the
-- lock request. If another transaction holds the table, retries every 0.1 s with a short
-- lock_timeout.
CREATE FUNCTION fastclust_internal.lock_briefly(relation regclass) RETURNS void
    LANGUAGE plpgsql STRICT SET search_path FROM CURRENT SET lock_timeout = '50ms' AS $$
BEGIN
    LOOP
        BEGIN
            PERFORM lock_out_writers(relation);
            RETURN;
        EXCEPTION WHEN lock_not_available THEN
            PERFORM pg_sleep(0.1);
        END;
    END LOOP;
END
$$;

CREATE FUNCTION fastclust_internal.keep_live(requested kept_sketches) RETURNS bigint
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
DECLARE
    live kept_sketches;
    about float8;
BEGIN
    PERFORM reject_read_only('live sketches cannot be made or changed'),
            check_live_isolation(requested.name);
    IF NOT owns_relation(role_id(current_user), requested.relation) THEN
        RAISE insufficient_privilege USING MESSAGE = format('must be owner of %s', requested.relation);
    END IF;
    IF requested.id IS NOT NULL THEN
        PERFORM claim_live(requested);
        RETURN NULL;
    ELSIF requested.counting THEN
        -- The slow steps, including the loading of functions, come before the lock.
        PERFORM check_live_tables(requested);
        live := claim_live(requested);
        PERFORM set_live_triggers(live.id, t.id, false),
                CASE WHEN t.is_leaf THEN write_leaf(live.id, t.id, NULL) END
          FROM live_tables(live.relation) t;
        PERFORM lock_briefly(requested.relation);
        PERFORM set_live_triggers(live.id, t.id, true) FROM live_tables(live.relation) t;
        RETURN NULL;
    END IF;
    about := estimated_rows(requested.relation);
    IF about >= 1e6 THEN
        RAISE NOTICE USING
            MESSAGE = format('writers of %s wait until about %s million rows are counted',
                             requested.relation, round(about / 1e6)),
            HINT = 'To count while others write, call keep_sketch with the option {"concurrently": true}, then rebuild_sketch.';
    END IF;
    PERFORM lock_out_writers(requested.relation);
    PERFORM check_live_tables(requested);
    RETURN count_live(claim_live(requested), true);
END
$$;

CREATE FUNCTION fastclust.keep_sketch(name text, relation regclass, features text,
        spec sketch_spec, options jsonb DEFAULT '{}')
    RETURNS bigint
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    RETURN keep_live(requested_live(name, relation,
                                CASE WHEN features LIKE '{%' THEN features::name[]
                                     ELSE ARRAY[features::name] END,
                                CASE WHEN features LIKE '{%' THEN false END, spec, options));
END
$$;
COMMENT ON FUNCTION keep_sketch(text, regclass, text, sketch_spec, jsonb) IS
    'Makes a sketch of a column of vectors or numbers, or of a list of columns, that follows '
    'every change of its table. Returns the number of rows, or NULL if rebuild_sketch is to '
    'count them.';

CREATE FUNCTION fastclust.keep_sketch(name text, relation regclass, features name[],
        spec sketch_spec, options jsonb DEFAULT '{}')
    RETURNS bigint
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    RETURN keep_live(requested_live(name, relation, features, false, spec, options));
END
$$;
COMMENT ON FUNCTION keep_sketch(text, regclass, name[], sketch_spec, jsonb) IS
    'Makes a sketch of columns that follows every change of their table. Returns the number of '
    'rows, or NULL if rebuild_sketch is to count them.';
