-- The option sample = hash lets the values of the rows decide what a training samples, so a
-- table, a partitioned table and a view with the same rows give the same model, bit for bit.
SET search_path = public, fastclust;
CREATE TABLE heap AS SELECT q.id, ARRAY[q.a, q.b]::real[] AS x, q.a, q.b
  FROM (SELECT i AS id, i % 3 * 4 + sqrt(i) - floor(sqrt(i)) AS a, i % 2 * 5 + ln(i) - floor(ln(i)) AS b FROM generate_series(1, 6000) i) q;
CREATE TABLE parts (b float8, x real[], a float8, id integer) PARTITION BY LIST (id);
CREATE TABLE part_0 PARTITION OF parts FOR VALUES IN (1, 2, 3);
CREATE TABLE part_1 PARTITION OF parts DEFAULT;
INSERT INTO parts SELECT b, x, a, id FROM heap ORDER BY hashint4(id);
CREATE VIEW seen AS SELECT * FROM parts;
ANALYZE;

CREATE FUNCTION trained(name text, relation regclass, method text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
    PERFORM train(name, relation, 'x', 6, method, '{"sample": "hash", "sample_rows": 300, "quiet": true}');
    PERFORM train(name || ' of columns', relation, ARRAY['a', 'b'], 6, method, '{"sample": "hash", "sample_rows": 300, "quiet": true}');
    RETURN (SELECT md5(string_agg(fastclust_internal.fastop_out(v.operator)::text, ' ' ORDER BY v.model)) FROM model_versions v WHERE v.model IN (name, name || ' of columns'));
END
$$;
-- Three relations with the same rows, stored differently, give one model for each method.
SELECT method, count(DISTINCT trained(relation || ' ' || method, relation::regclass, method))
       AS different_models
  FROM unnest(ARRAY['compressive', 'kmeans', 'kernel']) method, unnest(ARRAY['heap', 'parts', 'seen']) relation GROUP BY 1 ORDER BY 1;

-- Equal vectors are distinguished by the other columns of their rows, so a sample has its share
-- of them: half, to 0.1.
CREATE TABLE copies AS SELECT i AS id, ARRAY[CASE WHEN i % 2 = 0 THEN 0 ELSE sqrt(i) END]::real[] AS x FROM generate_series(1, 8000) i;
ANALYZE copies;
CREATE VIEW copied AS SELECT * FROM copies;
SELECT relation, round(avg((c.centroid = '{0}')::integer), 1) AS share_of_equal_rows,
       abs(avg((c.centroid = '{0}')::integer) - 0.5) < 0.1 AS within_0_1_of_half
  FROM unnest(ARRAY['copies', 'copied']) relation,
       LATERAL centroids((fastclust_internal.rows_sampled(jsonb_populate_record(NULL::fastclust_internal.stored_versions,
                             '{"features": ["x"], "vector": true, "options": {"sample": "hash"}}'), relation::regclass, NULL, 500)).sample) c
 GROUP BY 1 ORDER BY 1;

-- An unknown value of the option is an error.
SELECT train('none', 'heap', 'x', 2, options => '{"sample": "luck"}');
SELECT train('none', 'heap', 'x', 2, options => '{"sample": 1}');

-- A spec without its sample rows, as scans use it, gives the same sketch and is less than a tenth
-- of the size.
CREATE TABLE made AS SELECT sketch_spec_agg(x, 6) AS s FROM heap;
SELECT sketch_agg(x, (SELECT fastclust_internal.without_sample_rows(s) FROM made))
       = sketch_agg(x, (SELECT s FROM made)) AS same_sketch FROM heap;
SELECT pg_column_size(fastclust_internal.without_sample_rows(s)) * 10 < pg_column_size(s)
       AS below_a_tenth_of_the_bytes,
       fastclust_internal.without_sample_rows(fastclust_internal.without_sample_rows(s))
       = fastclust_internal.without_sample_rows(s) AS same_when_repeated,
       describe(fastclust_internal.without_sample_rows(s)) ->> 'sample_rows' AS sample_rows FROM made;

-- The sums that shards send give the results of the aggregates, bit for bit; samples of parts,
-- limited by rank, make the sample of all rows.
SELECT fastclust_internal.lloyd_final(fastclust_internal.sum(op, x)) = lloyd_step_agg(op, x)
       AS same_step FROM heap, (SELECT kmeans_agg(x, 3) AS op FROM heap) c GROUP BY op;
CREATE FUNCTION plan(size integer, rank_limit float8) RETURNS fastclust_internal.scan_plan LANGUAGE sql AS $$
    SELECT ROW(NULL, NULL, NULL, NULL, NULL, s, NULL, 1, size, NULL, NULL, 1, rank_limit, NULL, NULL)::fastclust_internal.scan_plan FROM made
$$;
SELECT r.n, r.sketch = w.sketch AS same_sketch, r.sample = w.sample AS same_sample
  FROM (SELECT fastclust_internal.sum(q.c) AS c FROM (SELECT fastclust_internal.sum(plan(20, 0.01), id, x) AS c FROM heap GROUP BY id % 4) q) q,
       fastclust_internal.scan_result(q.c) r, (SELECT fastclust_internal.scan_agg(plan(20, NULL), id, x) AS c FROM heap) a, fastclust_internal.scan_result(a.c) w;
SELECT count(*) AS parts,
       bool_and(pg_column_size(q.c)
           < pg_column_size(r.sketch) + 28 * fastclust_internal.clusters(r.sample) + 250)
       AS no_room_for_absent_rows
  FROM (SELECT fastclust_internal.sum(plan(1000, 0.1), id, x) AS c FROM heap GROUP BY id % 4) q, fastclust_internal.scan_result(q.c) r;
SELECT fastclust_internal.sum(plan(20, 0), id, x) FROM heap;
SELECT fastclust_internal.sum(q.c) FROM (SELECT fastclust_internal.sum(plan(20, id % 2 + 0.5::float8), id, x) AS c FROM heap GROUP BY id % 2) q;
SELECT fastclust_internal.sum(q.c) FROM (SELECT fastclust_internal.sum(plan(20, 0.5), id, x) AS c FROM heap
    UNION ALL SELECT fastclust_internal.sum((SELECT kmeans_agg(x, 3) FROM heap), x) FROM heap) q;

DROP FUNCTION plan(integer, float8); DROP VIEW seen, copied; DROP TABLE heap, parts, copies, made; DROP FUNCTION trained(text, regclass, text);
SELECT count(drop_model(model)::text) AS models_dropped
  FROM models WHERE model ~ '^(heap|parts|seen) ';
