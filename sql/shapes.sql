-- Labels, names and merges are right for 30 and 4,000 rows, for 1, 60 and 300 dimensions, for
-- repeated rows and for NULLs.
-- They are the same in a parallel worker, and the same whether the operator comes with the row or
-- from a subquery.
CREATE TABLE seen (d int, n int, repeated boolean, clusters bigint, named bigint, nulls_have_none boolean, in_worker boolean, beside boolean,
    anomalies bigint, merged bigint, null_element text);
CREATE FUNCTION worker(forced boolean) RETURNS text LANGUAGE sql AS $$
    SELECT set_config(CASE WHEN current_setting('server_version_num')::int >= 160000 THEN 'debug_parallel_query' ELSE 'force_parallel_mode' END, forced::text, false)
$$;
CREATE FUNCTION labels() RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    RETURN (SELECT md5(string_agg(q.label, ',' ORDER BY q.id)) FROM (SELECT id, COALESCE(predict_name('shape', x) || predict('shape', x), '-') AS label FROM shape OFFSET 0) q);
END $$;
CREATE FUNCTION state_of(statement text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE statement;
    RETURN 'no error';
EXCEPTION WHEN OTHERS THEN
    RETURN SQLSTATE;
END $$;
-- look() fills a row of the result for one shape; every eleventh row of its table is NULL.
CREATE FUNCTION look(d int, n int, repeated boolean) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    now seen := ROW(d, n, repeated);
    serial text;
BEGIN
    CREATE TABLE shape AS
    SELECT i AS id, CASE WHEN i % 11 <> 0 THEN (SELECT array_agg((i % 3 * 10 + j % 5 + CASE WHEN repeated THEN 0 ELSE sin(i * j) / 2 END)::real ORDER BY j) FROM generate_series(1, d) j) END AS x
      FROM generate_series(1, n) i;
    ANALYZE shape;
    PERFORM train('shape', 'shape', 'x', 3, options => '{"quiet": true}');
    serial := labels();
    PERFORM worker(true);
    now.in_worker := labels() = serial;
    PERFORM worker(false);
    SELECT bool_and(assign(model_operator('shape'), x) IS NOT DISTINCT FROM assign((SELECT model_operator('shape')), x)), count(predict_name('shape', x)), bool_and((predict('shape', x) IS NULL) = (x IS NULL)),
           count(*) FILTER (WHERE anomaly('shape', x)) INTO now.beside, now.named, now.nulls_have_none, now.anomalies FROM shape;
    SELECT count(*) INTO now.clusters FROM model_clusters WHERE model = 'shape';
    PERFORM merge_clusters('shape', '{0,1}');
    SELECT count(*) INTO now.merged FROM model_clusters WHERE model = 'shape';
    now.null_element := state_of(format('SELECT predict(%L, %L::real[])', 'shape', array_fill(NULL::real, ARRAY[d])));
    INSERT INTO seen SELECT now.*;
    PERFORM drop_model('shape');
    DROP TABLE shape;
END $$;
SELECT count(look(d, n, repeated)::text) AS tables FROM unnest('{1,60,300}'::int[]) d, unnest('{30,4000}'::int[]) n, unnest('{f,t}'::boolean[]) repeated;
SELECT * FROM seen ORDER BY d, n, repeated;
DROP TABLE seen;
DROP FUNCTION worker, labels, state_of, look;
