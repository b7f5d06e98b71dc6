
-- internal: the rows of a table as a training reads them

CREATE TYPE fastclust_internal.row_source AS (
    relation text,              -- qualified and quoted
    features name[], vector boolean, group_by name,
    raw text,                   -- the row as an array, in its own units; all expressions are of the alias t
    columns text,               -- its columns as a list of arguments; NULL for a vector
    group_value text,           -- '' without groups
    filter text,                -- rows without NULL
    heap boolean,               -- rows have places in blocks
    key text,                   -- tells equal rows apart
    part text,                  -- a hash by which rows fall into random parts
    leaves text[]);             -- tables to aggregate one by one; NULL: the relation as it is

-- What rows are measured in: (x - center) / scale, then the features of the map.  NULL: the rows as they are.
CREATE TYPE fastclust_internal.row_units AS (center double precision[], scale double precision[], map kernel_map);

-- The type of a column, or the error that it is not there.
CREATE FUNCTION fastclust_internal.feature_type(relation regclass, feature name) RETURNS regtype
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    found_type regtype;
BEGIN
    SELECT atttypid INTO found_type FROM pg_attribute
     WHERE attrelid = relation AND attname = feature AND attnum > 0 AND NOT attisdropped;
    IF NOT FOUND THEN
        RAISE undefined_column USING MESSAGE = format('column "%s" of %s does not exist', feature, relation);
    END IF;
    RETURN found_type;
END
$$;

-- Types that columns_in_units reads; columns of others are cast.
CREATE FUNCTION fastclust_internal.is_number(feature_is regtype) RETURNS boolean
    LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT feature_is = ANY ('{smallint,integer,bigint,real,double precision,numeric}'::regtype[])
$$;

-- A column that no cast makes a vector or a number, and what would be right.
CREATE FUNCTION fastclust_internal.check_feature(relation regclass, feature name, feature_is regtype, vector boolean) RETURNS void
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    category "char" := (SELECT t.typcategory FROM pg_type t WHERE t.oid = feature_is);
BEGIN
    IF category = ANY ((CASE WHEN vector THEN '{N,B,D,T,E,C,R}' ELSE '{A,B,D,T,E,C,R}' END)::"char"[]) THEN
        RAISE datatype_mismatch USING
            MESSAGE = format('column "%s" of %s is of type %s, not a %s', feature, relation, feature_is, CASE WHEN vector THEN 'vector' ELSE 'number' END),
            HINT = CASE WHEN vector AND category = 'N' THEN format('Columns of numbers are given as a list: ARRAY[%L].', feature)
                        WHEN category = 'A' THEN format('A column of vectors is given by its name alone: %L.', feature)
                        ELSE 'Train on a view that makes numbers of it.' END;
    END IF;
END
$$;

-- Do all rows of a relation, its partitions and children lie in blocks, of this server or of shards?  TimescaleDB compresses chunks, whose
-- blocks then hold other rows.
CREATE FUNCTION fastclust_internal.is_heap(relation regclass) RETURNS boolean
    LANGUAGE sql STABLE SET search_path = pg_catalog, pg_temp AS $$
    WITH RECURSIVE tree(id) AS (SELECT relation::oid UNION SELECT i.inhrelid FROM pg_inherits i, tree WHERE i.inhparent = tree.id)
    SELECT bool_and(c.relkind = 'p' OR (c.relkind IN ('r', 'm') AND a.amname = 'heap' AND c.relnamespace::regnamespace::text <> '_timescaledb_internal'))
      FROM tree JOIN pg_class c ON c.oid = tree.id LEFT JOIN pg_am a ON a.oid = c.relam
$$;

-- Columns by name only, quoted.
CREATE FUNCTION fastclust_internal.row_source(relation regclass, features name[], vector boolean, group_by name) RETURNS row_source
    LANGUAGE plpgsql STABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    source row_source;
    feature name;
BEGIN
    IF COALESCE(cardinality(features), 0) = 0 OR array_position(features, NULL) IS NOT NULL THEN
        RAISE invalid_parameter_value USING MESSAGE = 'features must name at least one column, and no NULL';
    ELSIF (SELECT c.relkind NOT IN ('r', 'm', 'p', 'v', 'f') FROM pg_class c WHERE c.oid = relation) THEN
        RAISE wrong_object_type USING MESSAGE = format('%s is not a table or view', relation);
    END IF;
    FOREACH feature IN ARRAY features LOOP
        PERFORM check_feature(relation, feature, feature_type(relation, feature), vector);
    END LOOP;
    source.relation := (SELECT format('%I.%I', CASE c.relpersistence WHEN 't' THEN 'pg_temp' ELSE n.nspname END, c.relname)
                          FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = relation);
    source.features := features;
    source.vector := vector;
    source.group_by := group_by;
    IF vector THEN
        source.raw := format('t.%I%s', features[1],
            CASE WHEN feature_type(relation, features[1]) IN ('real[]', 'float8[]', 'int[]', 'numeric[]') THEN '' ELSE '::real[]' END);
    ELSE
        source.columns := (SELECT string_agg(format('t.%I%s', f, CASE WHEN is_number(feature_type(relation, f)) THEN '' ELSE '::float8' END), ', ' ORDER BY i)
                             FROM unnest(features) WITH ORDINALITY u(f, i));
        source.raw := CASE WHEN cardinality(features) <= 98 THEN format('columns_in_units(NULL, NULL, %s)', source.columns)
                           ELSE format('ARRAY[%s]::float8[]', source.columns) END;
    END IF;
    IF group_by IS NOT NULL THEN
        PERFORM feature_type(relation, group_by);
    END IF;
    source.group_value := CASE WHEN group_by IS NULL THEN '''''' ELSE format('t.%I::text COLLATE "C"', group_by) END;
    source.filter := (SELECT string_agg(format('t.%I IS NOT NULL', f), ' AND ') FROM unnest(features || group_by) f WHERE f IS NOT NULL);
    source.heap := is_heap(relation);
    source.key := CASE WHEN source.heap THEN 'place_key(t.ctid)' ELSE row_hash(relation, features, source.raw) END;
    source.part := source.key;
    source.leaves := foreign_leaves(relation);
    RETURN source;
END
$$;

-- The row in units, which are $1 of the query.  A function takes at most 100 arguments.
CREATE FUNCTION fastclust_internal.row_in_units(source row_source, units row_units) RETURNS text
    LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE WHEN units.center IS NULL THEN source.raw
                WHEN cardinality(source.features) <= 98 AND NOT source.vector
                    THEN format('columns_in_units(($1).center, ($1).scale, %s)', source.columns)
                ELSE format('vector_in_units(($1).center, ($1).scale, %s)', source.raw) END
$$;

-- The same as an operator takes it: its features where there is a map.
CREATE FUNCTION fastclust_internal.row_in_space(source row_source, units row_units) RETURNS text
    LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT CASE WHEN units.map IS NULL THEN row_in_units(source, units)
                ELSE format('kernel_features(($1).map, %s)', row_in_units(source, units)) END
$$;

-- The planner's number of rows.
CREATE FUNCTION fastclust_internal.estimated_rows(source row_source) RETURNS double precision
    LANGUAGE plpgsql SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
DECLARE
    plan jsonb;
BEGIN
    EXECUTE format('EXPLAIN (FORMAT JSON) SELECT 1 FROM %s t', source.relation) INTO plan;
    RETURN COALESCE(rows_of_shards(plan), (plan -> 0 -> 'Plan' ->> 'Plan Rows')::float8);
END
$$;

-- FROM and WHERE of all rows of a table; with `wanted` of about so many: an eighth of the rows of eight times as many blocks, or where rows
-- have no places four to eight times as many by their hash, of which an aggregate takes the least.  Where rows are few, these are all as well.
CREATE FUNCTION fastclust_internal.rows_from_table(relation text, source row_source, wanted double precision, estimate double precision, seed bigint)
    RETURNS text
    LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, pg_temp AS $$
    SELECT CASE WHEN source.heap AND estimate > 3 * wanted
                THEN format('FROM %s t TABLESAMPLE SYSTEM (%s) REPEATABLE (%s) WHERE %s AND %s >> 40 & %s = 0', relation,
                            least(100, 100 * spread.n * wanted / estimate), seed, source.filter, source.key, spread.n - 1)
                WHEN NOT source.heap AND share.n > 1 THEN format('FROM %s t WHERE %s AND %s >> 40 & %s = 0', relation, source.filter, source.key, share.n - 1)
                ELSE format('FROM %s t WHERE %s', relation, source.filter) END
      FROM (SELECT CASE WHEN estimate >= 8 * wanted THEN 8 ELSE 1 END AS n) spread,
           (SELECT 1 << greatest(0, least(20, floor(log(2, greatest(1, (estimate / (4 * wanted))::numeric)))))::integer AS n) share
$$;

-- The same of the relation.
CREATE FUNCTION fastclust_internal.rows_from(source row_source, wanted double precision DEFAULT 'infinity', estimate double precision DEFAULT 0,
        seed bigint DEFAULT 0) RETURNS text
    LANGUAGE sql IMMUTABLE SET search_path = pg_catalog, @extschema@, fastclust_internal, pg_temp AS $$
    SELECT rows_from_table(source.relation, source, wanted, estimate, seed)
$$;
