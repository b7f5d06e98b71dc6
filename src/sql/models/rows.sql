
-- internal: the rows of a table as a training reads them

CREATE TYPE fastclust_internal.row_source AS (
    relation text,              -- qualified and quoted
    features name[], vector boolean, group_by name,
    encoder encoder,            -- NULL for a column of vectors, and until it is learned
    raw text,                   -- the row as an array, in its own units; all expressions are of the alias t
    encoded text,               -- the same in units; NULL without an encoder
    missing text,               -- has the row a NULL?
    group_value text,           -- '' without groups
    filter text,                -- rows without NULL
    heap boolean,               -- rows have places in blocks
    key text,                   -- tells equal rows apart
    numbers boolean,            -- are all features numbers?
    constant boolean,           -- are all of types whose values no setting of a session changes?
    sparse boolean,             -- are vectors given as a sparsevec?
    leaves text[],              -- tables to aggregate one by one; NULL: the relation as it is
    sharded boolean,            -- do its rows lie on shards of Citus?
    metric text);               -- cosine: rows are brought to length 1 by what reads them; else NULL

-- What rows are measured in: (x - center) / scale, then the features of the map.  NULL: the rows as they are.
CREATE TYPE fastclust_internal.row_units AS (center double precision[], scale double precision[], map kernel_map);

-- The type of a column, or the error that it is not there.
CREATE FUNCTION fastclust_internal.feature_type(relation regclass, feature name) RETURNS regtype
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, fastclust_internal, pg_temp AS $$
DECLARE
    found_type regtype;
BEGIN
    SELECT atttypid INTO found_type FROM pg_attribute
     WHERE attrelid = relation AND attname = feature AND attnum > 0 AND NOT attisdropped;
    IF NOT FOUND THEN
        RAISE undefined_column USING MESSAGE = format('column "%s" of %s does not exist', feature, relation),
            HINT = (SELECT CASE WHEN feature LIKE '%,%' AND NOT EXISTS (SELECT FROM unnest(string_to_array(feature, ',')) u(name) WHERE trim(u.name) <> ALL (a.names))
                                THEN format('Columns are given as a list: ARRAY[%s].', (SELECT string_agg(quote_literal(trim(u.name)), ', ') FROM unnest(string_to_array(feature, ',')) u(name)))
                                WHEN lower(feature) = ANY (a.names) THEN format('Perhaps you meant "%s".', lower(feature))
                                ELSE COALESCE(CASE WHEN cardinality(a.names) <= 20 THEN h.hint ELSE substring(h.hint FROM '^Perhaps you meant "[^"]*"[.]') END,
                                              format('It has %s columns.', cardinality(a.names))) END
                      FROM (SELECT COALESCE(array_agg(a.attname::text ORDER BY a.attnum), '{}') AS names
                              FROM pg_attribute a WHERE a.attrelid = relation AND a.attnum > 0 AND NOT a.attisdropped) a, name_hint(feature, a.names, 'Columns are') h(hint));
    END IF;
    RETURN found_type;
END
$$;

-- The type that a domain is of, or itself.
CREATE FUNCTION fastclust_internal.base_type(value_is regtype) RETURNS regtype
    LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    WITH RECURSIVE base AS (SELECT t.oid, t.typtype, t.typbasetype FROM pg_type t WHERE t.oid = value_is
                            UNION ALL SELECT t.oid, t.typtype, t.typbasetype FROM base b JOIN pg_type t ON t.oid = b.typbasetype WHERE b.typtype = 'd')
    SELECT b.oid::regtype FROM base b WHERE b.typtype <> 'd'
$$;

-- Are values of the type vectors?
CREATE FUNCTION fastclust_internal.takes_type(value_is regtype) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_takes_type' LANGUAGE C STABLE STRICT;

-- Is a type one of vectors, or a cast makes it one?
CREATE FUNCTION fastclust_internal.is_vector_type(value_is regtype) RETURNS boolean
    LANGUAGE sql STABLE SET search_path = pg_catalog, fastclust_internal, pg_temp AS $$
    SELECT takes_type(value_is) OR EXISTS (SELECT FROM pg_cast c WHERE c.castsource = base_type(value_is) AND c.casttarget = 'real[]'::regtype)
$$;

-- A list of columns that is given as text: '{a,b}', or 'a', which may be a column of vectors.
CREATE FUNCTION fastclust_internal.columns_of_text(relation regclass, given text, OUT features name[], OUT vector boolean)
    LANGUAGE sql STABLE SET search_path = pg_catalog, fastclust_internal, pg_temp AS $$
    SELECT CASE WHEN given LIKE '{%' THEN given::name[] ELSE ARRAY[given::name] END,
           given NOT LIKE '{%' AND COALESCE((SELECT is_vector_type(a.atttypid) FROM pg_attribute a
                                              WHERE a.attrelid = relation AND a.attname = given::name AND a.attnum > 0 AND NOT a.attisdropped), true)
$$;

CREATE FUNCTION fastclust_internal.check_features(features name[]) RETURNS void
    LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
BEGIN
    IF array_ndims(features) > 1 THEN
        RAISE array_subscript_error USING MESSAGE = format('features must be a one-dimensional array, not one of %s dimensions', array_ndims(features));
    ELSIF COALESCE(cardinality(features), 0) = 0 OR array_position(features, NULL) IS NOT NULL THEN
        RAISE invalid_parameter_value USING MESSAGE = 'features must name at least one column, and no NULL';
    END IF;
END
$$;

-- Columns by name only, quoted.
CREATE FUNCTION fastclust_internal.row_source(relation regclass, features name[], vector boolean, group_by name) RETURNS row_source
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    source row_source;
    feature name;
    feature_is regtype;
BEGIN
    PERFORM check_features(features);
    IF NOT EXISTS (SELECT FROM pg_class c WHERE c.oid = relation) THEN
        RAISE undefined_table USING MESSAGE = format('there is no relation with OID %s', relation::oid);
    ELSIF (SELECT c.relkind NOT IN ('r', 'm', 'p', 'v', 'f') FROM pg_class c WHERE c.oid = relation) THEN
        RAISE wrong_object_type USING MESSAGE = format('%s is not a table or view', relation);
    END IF;
    FOREACH feature IN ARRAY features LOOP
        feature_is := feature_type(relation, feature);
        IF vector AND NOT is_vector_type(feature_is) THEN
            RAISE datatype_mismatch USING MESSAGE = format('column "%s" of %s is of type %s, not a vector', feature, relation, feature_is),
                HINT = format('Columns that are no vectors are given as a list: ARRAY[%L].', feature);
        END IF;
    END LOOP;
    source.relation := (SELECT format('%I.%I', CASE c.relpersistence WHEN 't' THEN 'pg_temp' ELSE n.nspname END, c.relname)
                          FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = relation);
    source.features := features;
    source.vector := vector;
    source.group_by := group_by;
    IF group_by IS NOT NULL THEN
        PERFORM feature_type(relation, group_by);
    END IF;
    source.group_value := CASE WHEN group_by IS NULL THEN '''''' ELSE format('t.%I::text COLLATE "C"', group_by) END;
    source.filter := COALESCE((SELECT string_agg(format('t.%I IS NOT NULL', f), ' AND ') FROM unnest(ARRAY[CASE WHEN vector THEN features[1] END, group_by]) f WHERE f IS NOT NULL),
                              'true');
    -- heap: the rows of the relation, its partitions and children are in blocks; TimescaleDB compresses chunks, whose blocks hold other rows.
    -- leaves: the tables that hold the rows, where one of them is foreign: postgres_fdw sends an aggregate over one of these, but never a part
    -- of an aggregate over all.  NULL for other relations, whose rows the server or Citus aggregates in place.
    WITH RECURSIVE tree(id) AS (SELECT relation::oid UNION SELECT i.inhrelid FROM pg_inherits i, tree WHERE i.inhparent = tree.id)
    SELECT bool_and(c.relkind = 'p' OR (c.relkind IN ('r', 'm') AND a.amname = 'heap' AND n.nspname <> '_timescaledb_internal')),
           CASE WHEN bool_or(c.relkind = 'f') AND count(*) > 1
                THEN array_agg(format(CASE WHEN c.relkind = 'f' THEN '%I.%I' ELSE 'ONLY %I.%I' END, n.nspname, c.relname) ORDER BY c.oid) FILTER (WHERE c.relkind <> 'p') END
      INTO source.heap, source.leaves
      FROM tree JOIN pg_class c ON c.oid = tree.id JOIN pg_namespace n ON n.oid = c.relnamespace LEFT JOIN pg_am a ON a.oid = c.relam;
    source.missing := CASE WHEN NOT vector THEN
        (SELECT COALESCE('num_nulls(' || string_agg(format('t.%I', q.f), ', ') || ') > 0', 'false')
           FROM (SELECT u.f FROM unnest(features) WITH ORDINALITY u(f, i) JOIN pg_attribute a ON a.attrelid = relation AND a.attname = u.f
                  WHERE NOT a.attnotnull ORDER BY u.i LIMIT 99) q) END;
    IF vector THEN
        source.raw := format('t.%I%s', features[1], CASE WHEN takes_type(feature_is) THEN '' ELSE '::real[]' END);
    END IF;
    source.key := CASE WHEN source.heap THEN 'place_key(t.ctid)' ELSE row_hash(relation, features, source.raw) END;
    source.sparse := vector AND source.raw NOT LIKE '%::real[]' AND base_type(feature_is)::text ~ '(^|[.])sparsevec$';
    source.sharded := is_sharded(relation);
    IF vector AND source.sharded AND (SELECT t.typcategory <> 'A' FROM pg_type t WHERE t.oid = base_type(feature_is)) AND NOT is_only_sum('aggregate_state'::regtype) THEN     -- Citus sends arrays to any aggregate
        source.raw := format('vector_in_units(NULL, NULL, %s)', source.raw);
    END IF;
    SELECT bool_and(a.atttypid = ANY ('{smallint,integer,bigint,real,double precision,numeric}'::regtype[])),
           bool_and(a.atttypid = ANY ('{smallint,integer,bigint,real,double precision,numeric,boolean,date,time,timestamp,timestamptz,interval,text,varchar,character,
                                        real[],double precision[],integer[],numeric[]}'::regtype[]))
      INTO source.numbers, source.constant FROM pg_attribute a WHERE a.attrelid = relation AND a.attname = ANY (features);
    RETURN source;
END
$$;

-- A condition on rows of the alias t, every name resolved, and the columns it reads; or the error that it may not be one.
CREATE FUNCTION fastclust_internal.row_condition(relation regclass, condition text, OUT condition text, OUT columns name[])
    AS 'MODULE_PATHNAME', 'fastclust_row_condition' LANGUAGE C STABLE STRICT
    SET search_path = pg_catalog, pg_temp SET datestyle = iso SET intervalstyle = postgres SET extra_float_digits = 1;

-- The metric of a training.
CREATE FUNCTION fastclust_internal.training_metric(metric text) RETURNS text
    AS 'MODULE_PATHNAME', 'fastclust_training_metric' LANGUAGE C IMMUTABLE PARALLEL SAFE;
CREATE FUNCTION fastclust_internal.is_zero_vector(x "any") RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_is_zero_vector' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

-- Of the rows only those that the option where lets through, as the metric of the options takes them.  Rows without direction count as missing: what
-- reads rows leaves them out.
CREATE FUNCTION fastclust_internal.with_condition(source row_source, options jsonb) RETURNS row_source
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
BEGIN
    IF options ->> 'where' IS NOT NULL THEN
        source.filter := concat_ws(' AND ', source.filter, (row_condition(source.relation::regclass, options ->> 'where')).condition);
    END IF;
    IF training_metric(options ->> 'metric') = 'euclidean' THEN
        RETURN source;
    ELSIF NOT source.vector THEN
        RAISE feature_not_supported USING MESSAGE = 'the metric cosine is for a column of vectors',
            HINT = 'Columns of numbers are compared in standard deviations; leave option "metric" out, or make a column of vectors of them.';
    ELSIF flag_option(options, 'standardize', false) THEN
        RAISE invalid_parameter_value USING MESSAGE = 'option "standardize" does not go with the metric cosine',
            DETAIL = 'Rows of length 1 are compared as they are.';
    END IF;
    source.metric := 'cosine';
    source.missing := format('is_zero_vector(%s)', source.raw);
    RETURN source;
END
$$;

-- The call that encodes a row by its columns in the encoder's order, or the row where they are more than a call takes.  The encoder is a constant
-- of the query.
CREATE FUNCTION fastclust_internal.encoding(source row_source, encoder encoder, scaled boolean) RETURNS text
    LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, fastclust_internal, pg_temp AS $$
    SELECT format('%s(%L, %L, %s)', CASE WHEN columns = 't.*' THEN 'encode_record' WHEN source.constant THEN 'encode_constant' ELSE 'encode_listed' END,
                  encoder, scaled, columns)
      FROM (SELECT CASE WHEN cardinality(source.features) <= 97 THEN string_agg(format('t.%I', f), ', ' ORDER BY i) ELSE 't.*' END AS columns
              FROM unnest(source.features) WITH ORDINALITY u(f, i)) c
$$;

-- The rows as an encoder makes numbers of them.  Those with a NULL in a column that is to be skipped are left out.
CREATE FUNCTION fastclust_internal.with_encoder(source row_source, encoder encoder) RETURNS row_source
    LANGUAGE plpgsql IMMUTABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
BEGIN
    source.encoder := encoder;
    source.raw := encoding(source, encoder, false);
    source.encoded := encoding(source, encoder, true);
    source.filter := concat_ws(' AND ', source.filter, CASE WHEN describe(encoder) @> '{"features": [{"nulls": "skip"}]}' THEN source.raw || ' IS NOT NULL' END);
    RETURN source;
END
$$;

-- The rows of a relation as a version of a model reads them.
CREATE FUNCTION fastclust_internal.source_of_version(version stored_versions, relation regclass, group_by name) RETURNS row_source
    LANGUAGE sql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT CASE WHEN version.vector THEN s ELSE with_encoder(s, version.encoder) END
      FROM with_condition(row_source(relation, version.features, version.vector, group_by), version.options) s
$$;

-- The row in units, which are $1 of the query.
CREATE FUNCTION fastclust_internal.row_in_units(source row_source, units row_units) RETURNS text
    LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE WHEN units.center IS NULL THEN source.raw
                WHEN source.vector THEN format('vector_in_units(($1).center, ($1).scale, %s)', source.raw)
                ELSE source.encoded END
$$;

-- The same as an operator takes it: its features where there is a map.
CREATE FUNCTION fastclust_internal.row_in_space(source row_source, units row_units) RETURNS text
    LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT CASE WHEN units.map IS NULL THEN row_in_units(source, units)
                ELSE format('kernel_features(($1).map, %s)', row_in_units(source, units)) END
$$;

-- FROM and WHERE of all rows of the relation, or of one of its leaves; with `wanted` of about so many: an eighth of the rows of eight times as many blocks, or where rows
-- have no places four to eight times as many by their hash, of which an aggregate takes the least.  Where rows are few, these are all as well.
CREATE FUNCTION fastclust_internal.rows_from(source row_source, wanted double precision DEFAULT 'infinity', estimate double precision DEFAULT 0,
        seed bigint DEFAULT 0, leaf text DEFAULT NULL) RETURNS text
    AS 'MODULE_PATHNAME', 'fastclust_rows_from' LANGUAGE C IMMUTABLE;

-- ---- tables whose rows lie elsewhere: shards of Citus, foreign tables ----

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

-- The planner's number of rows.  Beside Citus they are counted: after an EXPLAIN of any table it sends statements to itself that it ran locally before, and fails.
CREATE FUNCTION fastclust_internal.estimated_rows(source row_source) RETURNS double precision
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    rows text := format('%s t WHERE %s', source.relation, source.filter);
    result jsonb;
BEGIN
    EXECUTE CASE WHEN to_regclass('pg_catalog.pg_dist_partition') IS NOT NULL THEN 'SELECT to_jsonb(count(*)) FROM ' ELSE 'EXPLAIN (FORMAT JSON) SELECT 1 FROM ' END || rows INTO result;
    RETURN COALESCE(result #>> '{0,Plan,Plan Rows}', result #>> '{}')::float8;
END
$$;

-- Is the sum of one argument of this type ours alone?  Citus adds up what the shards send by the first such sum of any schema, with the
-- rights of who asks: it might be one that another role has made for that.
CREATE FUNCTION fastclust_internal.is_only_sum(type oid) RETURNS boolean
    AS 'MODULE_PATHNAME', 'fastclust_is_only_sum' LANGUAGE C VOLATILE STRICT;

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

-- The query of a scan (types/scan.sql) of plan $1: a row (value, packed state) for each value of a column, or for NULL of all rows.  A scan of a share
-- or of a sample needs keys.
CREATE FUNCTION fastclust_internal.scan_query(source row_source, "column" name, keyed boolean) RETURNS text
    AS 'MODULE_PATHNAME', 'fastclust_scan_query' LANGUAGE C SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp;
