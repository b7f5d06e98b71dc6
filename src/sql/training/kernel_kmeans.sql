
-- Kernel k-means of a relation: projects its rows in one pass, then runs k-means on their
-- coordinates

CREATE FUNCTION fastclust.kernel_kmeans(relation regclass, id_column name, features name,
        kernel kernel, k integer, options jsonb DEFAULT '{}', OUT id bigint, OUT cluster integer)
    RETURNS SETOF record
    LANGUAGE plpgsql STABLE PARALLEL RESTRICTED COST 1000000 SET search_path FROM CURRENT AS $$
DECLARE
    missing text := (SELECT u.name
                       FROM unnest('{relation,id_column,features,kernel,k,options}'::text[],
                                   ARRAY[$1::text, $2, $3, $4::text, $5::text,
                                         $6::text]) WITH ORDINALITY u(name, value, i)
                      WHERE u.value IS NULL
                      ORDER BY u.i LIMIT 1);
    of_kmeans CONSTANT text[] := '{n_init,iterations,tolerance}';
    known CONSTANT text[] := '{method,oversampling,columns,seed,rank,published}' || of_kmeans;
    unknown text;
    -- The default, together with an oversampling of 10, does not exceed the maximum number of
    -- columns of one pass.
    rank CONSTANT jsonb := COALESCE(NULLIF($6 -> 'rank', 'null'), to_jsonb(least($5, 490)));
    id_is regtype;
    found bigint;
    projection kernel_projection;
    centers fastop;
BEGIN
    IF missing IS NOT NULL THEN
        RAISE null_value_not_allowed USING MESSAGE = format('%s must not be NULL', missing);
    ELSIF $5 NOT BETWEEN 1 AND 1048576 THEN
        RAISE invalid_parameter_value USING MESSAGE = format('k is %s, out of range', $5),
            DETAIL = 'Valid values are from 1 to 1048576.';
    ELSIF jsonb_typeof($6) <> 'object' THEN
        RAISE invalid_parameter_value USING MESSAGE = 'options must be a JSON object';
    END IF;
    unknown := (SELECT min(o) FROM jsonb_object_keys($6) o WHERE o <> ALL (known));
    id_is := feature_type($1, $2);
    IF unknown IS NOT NULL THEN
        RAISE invalid_parameter_value USING MESSAGE = format('option "%s" is not known', unknown),
            HINT = name_hint(unknown, known, 'Options are');
    ELSIF (CASE jsonb_typeof(rank) WHEN 'number' THEN rank::numeric % 1 <> 0 ELSE true END) THEN
        RAISE invalid_parameter_value USING
            MESSAGE = format('option "rank" must be a whole number, not %s', rank);
    ELSIF rank::numeric NOT BETWEEN 1 AND 502 THEN
        RAISE invalid_parameter_value USING
            MESSAGE = format('option "rank" is %s, out of range', rank),
            DETAIL = 'Valid values are from 1 to 502.';
    -- a domain has the output function of its base type
    ELSIF EXISTS (SELECT FROM pg_type t
                   WHERE t.oid = id_is
                     AND t.typoutput <> ALL ('{int2out,int4out,int8out}'::regproc[])) THEN
        RAISE datatype_mismatch USING
            MESSAGE = format('column "%s" is of type %s, but ids are integers', $2, id_is),
            HINT = 'Number the rows, for instance by row_number() over a unique column.';
    END IF;
    PERFORM feature_type($1, $3);
    -- k clusters need k rows with a vector; checked before the pass over all rows. The subquery
    -- selects a constant because Citus rejects subqueries without columns.
    EXECUTE format('SELECT count(*) FROM (SELECT 1 FROM %s t '
                   'WHERE t.%I IS DISTINCT FROM NULL LIMIT %s) q', $1, $3, $5)
        INTO found;
    IF found BETWEEN 1 AND $5 - 1 THEN
        RAISE invalid_parameter_value USING
            MESSAGE = format('k is %s, but there %s only %s row%s', $5,
                             CASE found WHEN 1 THEN 'is' ELSE 'are' END, found,
                             CASE WHEN found <> 1 THEN 's' END);
    END IF;
    EXECUTE format('SELECT kernel_projection_agg(t.%I::bigint, t.%I, $1, $2, $3) FROM %s t', $2, $3,
                   $1)
        INTO projection USING $4, rank::integer, $6 - (of_kmeans || 'rank'::text);
    -- The published algorithm has ten starts of 20 iterations.
    centers := (SELECT kmeans_agg(e.y, $5,
                                  CASE WHEN ($6 -> 'published')::boolean
                                       THEN '{"n_init": 10, "iterations": 20}'::jsonb
                                       ELSE '{}' END
                                  || $6 - '{method,oversampling,columns,rank,published}'::text[])
                  FROM embedding_of(projection) e);
    RETURN QUERY SELECT e.id, assign(centers, e.y) FROM embedding_of(projection) e;
END
$$;
COMMENT ON FUNCTION fastclust.kernel_kmeans IS
    'Runs kernel k-means on a relation: a one-pass projection, then k-means on the coordinates. '
    'Returns the id and the cluster of each row.';
