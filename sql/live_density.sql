-- A live model of method density is retrained from the sums of its micro-clusters without reading
-- a row, after any change of its table.
-- The version equals, to the bit, one fitted to the same micro-clusters of the present rows. Rows
-- far from all micro-clusters are reported, not lost in silence.
SET client_min_messages = warning;
CREATE SCHEMA of_live_density;
SET search_path = of_live_density, public, fastclust, fastclust_internal;

-- Two rings around a disk, and another disk farther away, in three partitions of which one has
-- partitions. A few values are NULL.
CREATE TABLE rings (id int, x float8, y float8, v real[], part int) PARTITION BY LIST (part);
CREATE TABLE rings_0 PARTITION OF rings FOR VALUES IN (0);
CREATE TABLE rings_1 PARTITION OF rings FOR VALUES IN (1) PARTITION BY RANGE (id);
CREATE TABLE rings_1_1 PARTITION OF rings_1 FOR VALUES FROM (0) TO (100000);
CREATE TABLE rings_2 PARTITION OF rings DEFAULT;
CREATE FUNCTION ring(i int, radius float8, OUT x float8, OUT y float8) LANGUAGE sql AS $$
    SELECT radius * cos(2 * pi() * u[1]) + 0.12 * z * cos(2 * pi() * u[3]), 10 * (radius * sin(2 * pi() * u[1]) + 0.12 * z * sin(2 * pi() * u[3]))
      FROM (SELECT array_agg((('x' || substr(md5(i || '/' || j), 1, 8))::bit(32)::bigint / 4294967296.0)::float8 ORDER BY j) AS u FROM generate_series(1, 3) j) q, sqrt(-2 * ln(1 - u[2])) z
$$;
INSERT INTO rings SELECT i, CASE WHEN i % 400 > 0 THEN r.x END, r.y, ARRAY[r.x, r.y]::real[], i / 3 % 3 FROM generate_series(1, 6000) i, ring(i, i % 3 * 1.5) r;
INSERT INTO rings SELECT 10000 + i, r.x + 5, r.y, ARRAY[r.x + 5, r.y], i % 4 FROM generate_series(1, 300) i, ring(i, 0.2) r;
SELECT train('columns', 'rings', '{x,y}', method => 'density', options => '{"live": true, "micro_clusters": 600, "min_cluster_rows": 200}') AS version,
       train('vectors', 'rings', 'v', method => 'density', options => '{"live": true, "micro_clusters": 600, "min_cluster_rows": 200, "where": "id > 10", "standardize": true}') AS other;
SELECT model, k FROM models WHERE model IN ('columns', 'vectors') ORDER BY 1;
SELECT name, row_count(current_sketch(name)), (SELECT count(*) FROM current_sketches(name)) AS parts FROM live_sketches WHERE model IN ('columns', 'vectors') ORDER BY 1;

-- After inserts, updates, deletes, moves between partitions and rollbacks, a retraining scans
-- nothing. scans() counts the scans of this transaction.
CREATE FUNCTION scans() RETURNS numeric LANGUAGE sql AS $$ SELECT sum(seq_scan) FROM pg_stat_xact_user_tables WHERE schemaname = 'of_live_density' AND relname ~ '^rings' $$;
INSERT INTO rings SELECT 11000 + i, r.x + 5, r.y, ARRAY[r.x + 5, r.y], i % 4 FROM generate_series(1, 300) i, ring(i, 0.1) r;
INSERT INTO rings VALUES (20001, 1, NULL, NULL, 0), (20002, NULL, NULL, '{100,100}', 1);
DELETE FROM rings WHERE id < 10000 AND id % 3 = 2;
UPDATE rings SET x = x + 0.01, v = ARRAY[v[1] + 0.01, v[2]] WHERE id % 7 = 1 AND v IS NOT NULL;
UPDATE rings SET part = 2 WHERE id % 11 = 1;
UPDATE rings SET v = NULL, x = NULL WHERE id % 500 = 3;
DELETE FROM rings WHERE id % 5 = 1;
BEGIN;
DELETE FROM rings WHERE id % 2 = 0;
SAVEPOINT s;
TRUNCATE rings_0;
ROLLBACK TO s;
INSERT INTO rings SELECT i, i, i, ARRAY[i, i], 1 FROM generate_series(1, 5000) i;
ROLLBACK;
BEGIN;
CREATE TABLE before AS SELECT scans() AS n;
SELECT retrain('columns') AS version, retrain('vectors') AS other;
SELECT scans() - n AS scans FROM before;
COMMIT;
SELECT model, k, note ~ '^3 clusters, [0-9.]+ % noise, from a sketch of [0-9]+ rows$'
       AS note_has_clusters_and_noise FROM models WHERE model IN ('columns', 'vectors') ORDER BY 1;
SELECT count(DISTINCT predict('columns', r)) FILTER (WHERE id < 10000) AS clusters_of_rings,
       count(DISTINCT predict('columns', r)) FILTER (WHERE id BETWEEN 10000 AND 20000)
       AS clusters_of_disk FROM rings r WHERE x IS NOT NULL;

-- Counting the rows again gives the same version to the bit.
CREATE FUNCTION made(name text, number int) RETURNS text LANGUAGE sql AS $$
    SELECT md5(concat(operator, micro_clusters, splits, spreads, distance_quantiles, null_moments, drift_counts, n, k)) FROM stored_versions WHERE model = name AND version = number
$$;
SELECT name, count(c.difference) AS differences FROM live_sketches l LEFT JOIN LATERAL check_sketch(l.name) c ON true WHERE model IN ('columns', 'vectors') GROUP BY 1 ORDER BY 1;
SELECT rebuild_sketch('columns') AS rows_of_columns, rebuild_sketch('vectors') AS rows_of_vectors;
SELECT retrain('columns') AS version, retrain('vectors') AS other;
SELECT made('columns', 2) = made('columns', 3) AS same_columns_version,
       made('vectors', 2) = made('vectors', 3) AS same_vectors_version;
-- Count, mean and deviation of each micro-cluster agree with a query over the rows.
CREATE TABLE units AS SELECT micro_clusters, center, scale FROM kept_sketches WHERE name = 'vectors';
SELECT count(*) AS micro_clusters_that_differ FROM model_groups('vectors', NULL, true) g
  FULL JOIN (SELECT assign(u.micro_clusters, ARRAY[(v[1] - center[1]) / scale[1], (v[2] - center[2]) / scale[2]])::text AS group_value, count(*) AS n, ARRAY[avg(v[1]), avg(v[2])] AS mean,
                    ARRAY[stddev_pop(v[1]), stddev_pop(v[2])] AS deviation FROM rings, units u WHERE id > 10 AND v IS NOT NULL GROUP BY 1) q USING (group_value)
 WHERE (row_count(g.s) = q.n AND l2_distance(means(g.s), q.mean) < 1e-5 AND l2_distance(stddevs(g.s), q.deviation) < 1e-5) IS NOT TRUE;

-- The version is still exact after folding, TRUNCATE and detaching a partition, for drift and for
-- another value of the option noise. A fresh version has no row of an old one.
SELECT fold_sketches('columns') >= 0 AS has_folded;
DELETE FROM rings WHERE id BETWEEN 10000 AND 20000;
TRUNCATE rings_0;
ALTER TABLE rings DETACH PARTITION rings_2;
SELECT verdict FROM drift('columns');
SELECT retrain('columns', '{"noise": 1}') AS version;
SELECT verdict, n - (SELECT count(*) FROM rings) AS rows_missing FROM drift('columns');
SELECT rebuild_sketch('columns') - (SELECT count(*) FROM rings) AS rows_missing,
       retrain('columns') AS version;
SELECT made('columns', 4) = made('columns', 5) AS same_version, options -> 'noise' AS noise,
       k FROM stored_versions WHERE model = 'columns' AND version = 5;
SELECT retrain('columns', '{"fresh": true}') AS version, retrain('columns', '{"fresh": true}') AS again;
SELECT made('columns', 6) = made('columns', 7) AS same_version;

-- Rows far from all micro-clusters are reported in a warning; a retraining with other options
-- finds micro-clusters for them.
INSERT INTO rings SELECT 30000 + i, 60 + r.x, 60 + r.y, NULL, 1 FROM generate_series(1, 3000) i, ring(i, 1.5) r;
SELECT retrain('columns') AS version;
SELECT retrain('columns', '{"micro_clusters": 700}') AS version;
SELECT count(*) > 600 AS over_600_micro_clusters FROM model_groups('columns', NULL, true);
SELECT retrain('columns') AS version;
SELECT made('columns', 10) = made('columns', 9) AS same_version, a.k = b.k AS same_k
  FROM stored_versions a JOIN stored_versions b USING (model)
 WHERE model = 'columns' AND a.version = 9 AND b.version = 10;
-- An earlier version with other options is followed with its own micro-clusters.
SELECT use_version('columns', 8);
SELECT retrain('columns') AS version;
SELECT count(*) <= 600 AS at_most_600_micro_clusters FROM model_groups('columns', NULL, true);
-- A model of one density (the option scale) is followed, too, and one whose method changes and
-- changes back.
SELECT train('scale', 'rings', '{x,y}', method => 'density', options => '{"live": true, "standardize": false, "scale": 1, "min_cluster_rows": 40, "micro_clusters": 500}') AS version;
SET client_min_messages = error;
INSERT INTO rings SELECT 50000 + i, 62.5 + r.x, 60 + r.y, NULL, 1 FROM generate_series(1, 1000) i, ring(i, 0.1) r;
SELECT retrain('scale') AS version;
SELECT rebuild_sketch('scale') > 0 AS has_rows, retrain('scale') AS version;
SELECT made('scale', 2) = made('scale', 3) AS same_version;
SET client_min_messages = warning;
SELECT retrain('scale', '{"method": "kmeans", "k": 3}') AS version, retrain('scale') AS live;
SELECT version, method, note FROM stored_versions WHERE model = 'scale' AND version >= 4 ORDER BY 1;
SELECT retrain('scale', '{"method": "density"}') AS version, retrain('scale') AS live;
SELECT version, method, note ~ 'from a sketch' AS from_a_sketch FROM stored_versions
 WHERE model = 'scale' AND version >= 6 ORDER BY 1;

-- A model of 100 columns keeps no drift counts, which would be larger than the sketch.
CREATE TABLE wide AS SELECT i AS id, array_agg((i % 3 * 5 + hashint4(1000 * i + j) / 2147483648.0)::real ORDER BY j) AS v FROM generate_series(1, 2400) i, generate_series(1, 100) j GROUP BY i;
SELECT train('wide', 'wide', 'v', method => 'density', options => '{"live": true, "micro_clusters": 100, "quiet": true}') AS version;
DELETE FROM wide WHERE id % 3 = 1;
SELECT verdict, columns FROM drift('wide');
SELECT retrain('wide') AS version;
SELECT (SELECT count(counts) FROM live_bases WHERE live_id = l.id) AS drift_counts,
       (drift('wide')).verdict, m.k
  FROM live_sketches l,
       models m WHERE l.name = 'wide' AND m.model = 'wide';

-- An empty table, groups, a half-life and too little memory are errors.
DELETE FROM rings;
SELECT retrain('scale');
SELECT train('bad', 'rings', '{x,y}', method => 'density', options => '{"live": true, "group_by": "part"}');
SELECT train('bad', 'rings', '{x,y}', method => 'density', options => '{"live": {"half_life": "1 day"}}');
SET fastclust.memory_budget = '32MB';
INSERT INTO rings SELECT i, i, sqrt(i), NULL, 1 FROM generate_series(1, 9000) i;
SELECT train('bad', 'rings', '{x,y}', method => 'density', options => '{"live": true, "micro_clusters": 8000}');
RESET fastclust.memory_budget;
SELECT drop_model(model) FROM (SELECT model FROM models WHERE model IN ('columns', 'vectors', 'scale', 'wide') ORDER BY 1) q;
SELECT count(*) AS bases_left FROM live_bases b
 WHERE NOT EXISTS (SELECT FROM live_sketches l WHERE l.id = b.live_id);
DROP SCHEMA of_live_density CASCADE;
