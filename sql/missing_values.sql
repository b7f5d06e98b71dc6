-- A NULL is not the mean: method kmeans compares a row with the centroids in the columns that it
-- has. Labels, distances, anomalies and samples agree with sums that SQL computes.
\set ECHO none
\set QUIET on
SET client_min_messages = error;
CREATE SCHEMA of_missing;
SET search_path = of_missing, public, fastclust, fastclust_internal;
SET extra_float_digits = 0;
\set QUIET off
\set ECHO all
CREATE FUNCTION uniform(i bigint, s integer) RETURNS float8 LANGUAGE sql IMMUTABLE AS
    'SELECT (hashint8extended(i, s) >> 12)::float8 / (1::bigint << 52) + 0.5';
CREATE FUNCTION normal(i bigint, s integer) RETURNS float8 LANGUAGE sql IMMUTABLE AS
    'SELECT sqrt(-2 * ln(1 - uniform(i, s))) * cos(2 * pi() * uniform(i, s + 100000))';

-- ---- planted clusters ----
-- planted() returns the adjusted Rand index of k normal clusters in d columns, six deviations apart
-- or more. random: a share of the cells is NULL; together: a third of the columns in a share of the
-- rows; told: the first two columns of a third of the clusters, and some other cells.
CREATE FUNCTION planted(k integer, d integer, kind text, share float8, seed integer)
    RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
    columns text[] := ARRAY(SELECT 'c' || j FROM generate_series(1, d) j);
    centers float8[] := '{}';
    x float8[];
    tried bigint := 0;
    found float8;
BEGIN
    FOR c IN 1..k LOOP
        LOOP
            tried := tried + 1;
            x := ARRAY(SELECT 4 * normal(1000 * tried + j, seed) FROM generate_series(1, d) j);
            EXIT WHEN NOT EXISTS (SELECT FROM generate_series(0, c - 2) o
                                   WHERE (SELECT sum((x[j] - centers[o * d + j]) ^ 2) FROM generate_series(1, d) j) < 36);
        END LOOP;
        centers := centers || x;
    END LOOP;
    EXECUTE format(
        'CREATE TEMP TABLE planted_rows AS SELECT i::integer %% %s AS kind, %s FROM generate_series(1::bigint, 2000) i',
        k, (SELECT string_agg(format(
                       'CASE WHEN NOT (%s) THEN (%L::float8[])[i::integer %% %s * %s + %s] + normal(i, %s) END AS c%s',
                       CASE kind WHEN 'random' THEN format('uniform(i, %s) < %s', seed + 1000 + j, share)
                                 WHEN 'together' THEN format('uniform(i, %s) < %s AND %s <= greatest(%s / 3, 1)', seed + 999, share, j, d)
                                 ELSE format('%s <= 2 AND (i %% %s < round(%s * %s) OR uniform(i, %s) < 0.02)', j, k, share, k, seed + 1000 + j) END,
                       centers, k, d, j, seed + 2000 + j, j), ', ')
              FROM generate_series(1, d) j));
    ANALYZE planted_rows;
    PERFORM train('planted', 'planted_rows', columns::name[], k, options => '{"quiet": true}');
    SELECT adjusted_rand_agg(p.kind, predict('planted', p)) INTO found FROM planted_rows p;
    PERFORM drop_model('planted');
    DROP TABLE planted_rows;
    RETURN found;
END
$$;
SELECT kind, share, avg(ari) >= min AS at_least_wanted
  FROM (VALUES ('random', 0.05, 0.97), ('random', 0.3, 0.86), ('together', 0.3, 0.97),
               ('told', 0.3, 0.94)) v(kind, share, min),
       (VALUES (4, 3, 11), (5, 6, 22), (5, 10, 33), (8, 4, 44)) t(k, d, seed),
       LATERAL planted(t.k, t.d, kind, share, seed) ari
 GROUP BY kind, share, min ORDER BY kind, share;

-- ---- labels and distances of every kind of column ----
CREATE TABLE visits AS
SELECT i, i % 4 AS kind, CASE WHEN uniform(i, 1) > 0.3 THEN (10 * (i % 4) + 3 * normal(i, 2))::numeric(8, 2) END AS amount,
       CASE WHEN uniform(i, 3) > 0.3 THEN (7 * (i % 2) + normal(i, 4))::integer END AS items,
       CASE WHEN uniform(i, 5) > 0.2 THEN i % 4 > 1 END AS member,
       CASE WHEN uniform(i, 6) > 0.25 THEN date '2026-01-01' + (90 * (i % 4) + 9 * normal(i, 7))::integer END AS day,
       CASE WHEN uniform(i, 8) > 0.3 THEN interval '1 hour' * (5 * (i % 3) + normal(i, 9)) END AS stay,
       CASE WHEN uniform(i, 10) > 0.3 THEN ARRAY[i % 4 + 0.1 * normal(i, 11), normal(i, 12)]::real[] END AS place,
       (ARRAY['shop', 'web'])[1 + i % 2] AS channel
  FROM generate_series(1::bigint, 6000) i;
ANALYZE visits;
SELECT train('visits', 'visits', '{amount,items,member,day,stay,place,channel}', 4, options => '{"quiet": true}');
SELECT round(adjusted_rand_agg(kind::integer, predict('visits', v))::numeric, 2) > 0.95 AS clusters_found FROM visits v;
-- known() returns for each row and cluster the sum of squares over the columns that the row has,
-- and the number of coordinates of these columns.
CREATE FUNCTION known(model text, relation regclass)
    RETURNS TABLE (i bigint, cluster integer, square float8, observed bigint, d integer) LANGUAGE plpgsql AS $$
BEGIN
    RETURN QUERY EXECUTE format(
        'SELECT t.i, c.cluster, sum((x[f.dimension] - c.centroid[f.dimension]) ^ 2), count(*), cardinality(x)
           FROM %s t, encode_row(model_encoder(%2$L), t) x, centroids(model_operator(%2$L)) c,
                encoder_features(model_encoder(%2$L)) f
          WHERE f.feature ~ '' is NULL$'' OR f.kind = ''category''
             OR (to_jsonb(t) -> regexp_replace(f.feature, ''\[[0-9]+\]$'', '''')) <> ''null''
          GROUP BY 1, 2, x', relation, model);
END
$$;
SELECT DISTINCT kind FROM encoder_features(model_encoder('visits')) ORDER BY 1;
CREATE TABLE nearest AS
    SELECT DISTINCT ON (k.i) k.i, k.cluster, sqrt(k.square * k.d / k.observed) AS distance, k.observed < k.d AS partial
      FROM known('visits', 'visits') k ORDER BY k.i, k.square, k.cluster;
SELECT n.partial, count(*) > 100 AS enough, count(*) FILTER (WHERE n.cluster <> predict('visits', v)) AS other_labels,
       max(abs(n.distance - predict_distance('visits', v))) < 1e-5 AS distances_within_1e_5
  FROM nearest n JOIN visits v USING (i) GROUP BY 1 ORDER BY 1;
SELECT count(*) AS clusters, count(*) FILTER (WHERE a.rank <> k.rank) AS in_another_order,
       max(abs(a.distance - sqrt(k.square * k.d / k.observed))) < 1e-5 AS distances_within_1e_5
  FROM (SELECT v.i, p.*, row_number() OVER (PARTITION BY v.i ORDER BY p.n) AS rank
          FROM visits v, predict_all('visits', v, 4) WITH ORDINALITY p(cluster, distance, n) WHERE v.i <= 300) a
  JOIN (SELECT q.*, row_number() OVER (PARTITION BY q.i ORDER BY q.square) AS rank
          FROM known('visits', 'visits') q) k USING (i, cluster);
SELECT max(abs(total - 1)) < 1e-12 AS sums_of_1, avg((top = predict('visits', v))::integer) > 0.97 AS mostly_the_label
  FROM visits v, LATERAL (SELECT sum(p.probability) AS total, (array_agg(p.cluster ORDER BY p.probability DESC))[1] AS top
                            FROM predict_probabilities('visits', v) p) p
 WHERE v.i <= 300;
SELECT count(*) FILTER (WHERE predict('visits', v, max_distance => predict_distance('visits', v) * 1.001) IS NULL) AS left_out,
       count(predict('visits', v, max_distance => predict_distance('visits', v) * 0.999)) AS taken_in
  FROM visits v;
-- About the requested share of the rows with and without NULLs are anomalies.
SELECT partial, avg(anomaly('visits', v, 0.05)::integer) BETWEEN 0.02 AND 0.09 AS about_5_percent
  FROM nearest n JOIN visits v USING (i) GROUP BY 1 ORDER BY 1;
SELECT avg(anomaly('visits', v, 0.05)::integer) BETWEEN 0.045 AND 0.055 AS about_5_percent FROM visits v;
SELECT abs(m.objective / (SELECT avg(n.distance ^ 2 * k.observed / k.d) FROM nearest n JOIN known('visits', 'visits') k USING (i, cluster)) - 1) < 0.01
       AS objective_over_observed_columns FROM model_versions m WHERE model = 'visits';

-- ---- all ways to a label agree ----
SELECT write_labels('visits', 'visits', 'labels', '{"key": "i"}');
SELECT count(*) AS rows, count(*) FILTER (WHERE l.cluster IS DISTINCT FROM n.cluster) AS other_labels FROM labels l JOIN nearest n USING (i);
SET max_parallel_workers_per_gather = 2; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
SELECT count(*) FILTER (WHERE predict('visits', v) IS DISTINCT FROM n.cluster) AS other_labels FROM visits v JOIN nearest n USING (i);
SELECT train('parallel', 'visits', '{amount,items,member,day,stay,place,channel}', 4, options => '{"quiet": true}');
SELECT count(*) FILTER (WHERE predict('parallel', v) IS DISTINCT FROM n.cluster) AS other_labels FROM visits v JOIN nearest n USING (i);
RESET max_parallel_workers_per_gather; RESET parallel_setup_cost; RESET parallel_tuple_cost; RESET min_parallel_table_scan_size;
SELECT bool_and(abs(t.distance - predict_distance('visits', jsonb_populate_record(NULL::visits, t.row_data))) < 1e-5) AS typical_rows_at_this_distance,
       bool_and(t.cluster = predict('visits', jsonb_populate_record(NULL::visits, t.row_data))) AS of_the_cluster
  FROM typical_rows('visits', 20) t;
SELECT s.cluster, abs(s.share - n.share) < 0.01 AS share_within_1_percent, s.silhouette > 0.4 AS separate
  FROM score('visits') s JOIN (SELECT cluster, count(*) / 6000.0 AS share FROM nearest GROUP BY 1) n USING (cluster) ORDER BY 1;

-- ---- retrain, groups, scans, trim, balance, merged clusters ----
SELECT retrain('visits', options => '{"quiet": true}');
SELECT round(label_churn::numeric, 2) AS churn FROM stored_versions WHERE model = 'visits' AND version = 2;
CREATE TABLE parts AS SELECT v.*, (ARRAY['north', 'south'])[1 + v.i / 4 % 2] AS part FROM visits v; ANALYZE parts;
SELECT train('parts', 'parts', '{amount,items,member,day,stay}', 4, options => '{"quiet": true, "group_by": "part", "iterations": 3}');
SELECT train('scans', 'parts', '{amount,items,member,day,stay}', 4, options => '{"quiet": true, "iterations": 3, "sample_rows": 1000}');
SELECT train('trimmed', 'parts', '{amount,items,member,day,stay}', 4, options => '{"quiet": true, "trim": 0.05}');
SELECT train('balanced', 'parts', '{amount,items,member,day,stay}', 4, options => '{"quiet": true, "balance": 1.1}');
SELECT m AS model, part, round(adjusted_rand_agg(kind::integer, predict(m, p))::numeric, 1) >= 0.9 AS clusters_found
  FROM parts p, unnest('{parts,scans,trimmed,balanced}'::text[]) m GROUP BY m, part ORDER BY m, part;
SELECT max(c.share) < 1.15 / 4 AS balanced FROM model_clusters c WHERE model = 'balanced';
SELECT merge_clusters('scans', '{0,1}'::integer[]) AS version;
SELECT count(DISTINCT predict('scans', p)) AS clusters FROM parts p;

-- ---- rows and columns without values ----
-- A row without any value has no cluster, and the training leaves it out.
CREATE TABLE readings AS SELECT i, CASE WHEN i % 10 > 2 THEN 10 * (i % 2) + normal(i, 1) END AS level, CASE WHEN i % 5 > 1 THEN normal(i, 2) END AS noise FROM generate_series(1::bigint, 2000) i;
ANALYZE readings;
SELECT train('one', 'readings', '{level}', 2, options => '{"quiet": true}'), train('two', 'readings', '{level,noise}', 2, options => '{"quiet": true}');
SELECT n, imputed FROM model_versions WHERE model IN ('one', 'two') ORDER BY model;
SELECT cluster, size FROM model_clusters WHERE model = 'one' ORDER BY size;
SELECT level IS NULL AS empty, count(predict('one', r)) AS labels, count(predict('one', level)) AS listed, count(predict_distance('one', r)) AS distances, count(anomaly('one', r)) AS anomalies,
       count(predict_name('one', r)) AS names FROM readings r GROUP BY 1 ORDER BY 1;
SELECT count(*) FROM predict_all('one', (SELECT r FROM readings r WHERE level IS NULL LIMIT 1), 2);
SELECT count(*) FROM predict_probabilities('two', (SELECT r FROM readings r WHERE level IS NULL AND noise IS NULL LIMIT 1));
SELECT count(*) FILTER (WHERE predict('two', r) IS DISTINCT FROM predict('two', level, noise)) AS other_labels FROM readings r;
-- A NaN is not a missing value.
SELECT predict('two', 'NaN'::float8, NULL::float8);
SELECT predict('two', r) FROM (SELECT 'NaN'::float8 AS level, NULL::float8 AS noise) r;

-- ---- the mean elsewhere ----
SELECT train('sketched', 'readings', '{level,noise}', 2, 'compressive', '{"quiet": true}'), train('dense', 'readings', '{level,noise}', NULL, 'density', '{"quiet": true}');
SELECT m AS model, count(*) FILTER (WHERE predict(m, r) IS DISTINCT FROM predict(m, f)) AS other_labels,
       max(abs(predict_distance(m, r) - predict_distance(m, f))) < 1e-6 AS distances_of_the_mean
  FROM unnest('{sketched,dense}'::text[]) m, readings r,
       LATERAL (SELECT coalesce(level, (SELECT f.center FROM encoder_features(model_encoder(m)) f WHERE f.dimension = 1)) AS level,
                       coalesce(noise, (SELECT f.center FROM encoder_features(model_encoder(m)) f WHERE f.dimension = 2)) AS noise) f
 GROUP BY m ORDER BY m;
SELECT count(*) AS rows, sum((encode_row(model_encoder('two'), r))[1]) IS NOT NULL AS encoded FROM readings r WHERE level IS NULL;

-- The stored sizes are those of predict.
SELECT bool_and(m.size = (SELECT count(*) FROM readings r WHERE predict('two', r) = m.cluster)) AS exact_sizes FROM model_clusters m WHERE m.model = 'two';

-- ---- warnings ----
-- A text has no imputed value, and NULLs with a dimension of their own decide nothing.
CREATE TABLE told AS SELECT i, CASE WHEN i % 3 = 0 THEN normal(i, 1) END AS paid, 5 * (i % 3) + normal(i, 2) AS seen, CASE WHEN uniform(i, 3) < 0.4 THEN (ARRAY['a', 'b'])[1 + i % 2] END AS word, CASE WHEN uniform(i, 4) < 0.4 THEN normal(i, 5) END AS rare
  FROM generate_series(1::bigint, 3000) i;
ANALYZE told;
SET client_min_messages = warning;
SELECT train('told', 'told', '{paid,seen,word,rare}', 3, options => '{"quiet": true}');
SELECT feature_names(model_encoder('told')) @> ARRAY['paid is NULL', 'word is NULL'] AS dimensions_of_nulls;
SELECT train('told by mean', 'told', '{paid,seen,word,rare}', 3, 'compressive', '{"quiet": true}');
SELECT count(drop_model(m)) AS dropped
  FROM unnest('{visits,parallel,parts,scans,trimmed,balanced,one,two,sketched,dense,told,"told by mean"}'::text[]) m;
