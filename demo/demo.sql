-- demo.sql: cluster a million rows by one look at them.  Needs a scratch database.
\set ON_ERROR_STOP on
\if :{?rows}
\else
  \set rows 1000000
\endif
\pset footer off
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS fastclust;
SET search_path = public, fastclust;
SET max_parallel_workers_per_gather = 4;

CREATE TEMP TABLE step (id int GENERATED ALWAYS AS IDENTITY, what text, seconds numeric, "reads the rows" text);
CREATE TEMP TABLE result (id int GENERATED ALWAYS AS IDENTITY, clusters text, op fastop);
CREATE FUNCTION pg_temp.normal() RETURNS float8 LANGUAGE sql VOLATILE
  RETURN sqrt(-2 * ln(1 - random())) * cos(2 * pi() * random());

\echo
\echo '== 0. The data: ten clusters of different sizes in ten dimensions, column x real[]'
SELECT setseed(0.42) \g /dev/null
CREATE TEMP TABLE truth AS
  SELECT c, array_agg(7 * random() ORDER BY i) AS m FROM generate_series(0, 9) c, generate_series(1, 10) i GROUP BY c;
SELECT clock_timestamp() AS start \gset
CREATE TABLE points AS
  SELECT g.id, t.c AS truth,
         ARRAY[m[1] + pg_temp.normal(), m[2] + pg_temp.normal(), m[3] + pg_temp.normal(), m[4] + pg_temp.normal(),
               m[5] + pg_temp.normal(), m[6] + pg_temp.normal(), m[7] + pg_temp.normal(), m[8] + pg_temp.normal(),
               m[9] + pg_temp.normal(), m[10] + pg_temp.normal()]::real[] AS x
    FROM (SELECT id, floor(10 * random() ^ 1.4)::int AS c FROM generate_series(1, :rows) id OFFSET 0) g
    JOIN truth t USING (c);
VACUUM ANALYZE points;
SELECT count(*) AS made, round(extract(epoch FROM clock_timestamp() - :'start')::numeric, 1) AS seconds FROM points \gset
\echo '  ' :made 'rows made in' :seconds 's'

\echo
\echo '== 1. A spec: what to measure.  One percent of the table is enough to choose it.'
\echo '   CREATE TABLE spec AS SELECT sketch_spec_agg(x, 10) AS s FROM points TABLESAMPLE SYSTEM (1);'
SELECT clock_timestamp() AS start \gset
CREATE TABLE spec AS SELECT sketch_spec_agg(x, 10) AS s FROM points TABLESAMPLE SYSTEM (1) REPEATABLE (1);
INSERT INTO step (what, seconds, "reads the rows")
  SELECT 'choose the spec', extract(epoch FROM clock_timestamp() - :'start'), '1 %';

\echo
\echo '== 2. A sketch: one parallel scan turns the table into one small value.'
\echo '   CREATE TABLE sketched AS SELECT sketch_agg(x, (SELECT s FROM spec)) AS s FROM points;'
EXPLAIN (COSTS OFF) SELECT sketch_agg(x, (SELECT s FROM spec)) FROM points;
SELECT clock_timestamp() AS start \gset
CREATE TABLE sketched AS SELECT sketch_agg(x, (SELECT s FROM spec)) AS s FROM points;
INSERT INTO step (what, seconds, "reads the rows")
  SELECT 'sketch', extract(epoch FROM clock_timestamp() - :'start'), 'once';
SELECT row_count(s) AS "rows", pg_size_pretty(pg_table_size('points')) AS "size of the table",
       pg_size_pretty(pg_column_size(s)::bigint) AS "size of the sketch"
  FROM sketched;

\echo '== 3. Decode: centroids from the sketch.  The rows are not read again.'
\echo '   SELECT * FROM sketched, spec, decode(sketched.s, 10, sample => spec.s);'
SELECT clock_timestamp() AS start \gset
CREATE TABLE decoded AS
  SELECT d.* FROM sketched, spec, decode(sketched.s, 10, sample => spec.s) d;
INSERT INTO step (what, seconds, "reads the rows")
  SELECT 'decode', extract(epoch FROM clock_timestamp() - :'start'), 'no';
SELECT cluster, round(weight::numeric, 4) AS weight, round(spread::numeric, 3) AS spread,
       (SELECT array_agg(round(v::numeric, 2)) FROM unnest(centroid[1:4]) v) AS "centroid, first 4 of 10"
  FROM decoded ORDER BY cluster;

\echo '== 4. An operator: the centroids as one value; assign() labels rows, now or in a view.'
\echo '   SELECT fastop_agg(centroid, weight ORDER BY cluster) FROM decoded;'
INSERT INTO result (clusters, op) SELECT 'decoded from the sketch', fastop_agg(centroid, weight ORDER BY cluster) FROM decoded;
SELECT clock_timestamp() AS start \gset
CREATE TEMP TABLE labels AS
  SELECT assign((SELECT op FROM result), x) AS cluster, truth, count(*) AS n FROM points GROUP BY 1, 2;
INSERT INTO step (what, seconds, "reads the rows")
  SELECT 'label every row', extract(epoch FROM clock_timestamp() - :'start'), 'once';
SELECT cluster, sum(n) AS "rows", round(100.0 * max(n) / sum(n), 2) AS "% from one true cluster"
  FROM labels GROUP BY 1 ORDER BY 1;

\echo '== 5. Is it any good?  Against k-means in memory (the best of several starts), and one Lloyd step more.'
SELECT clock_timestamp() AS start \gset
CREATE TEMP TABLE stepped AS SELECT (l).next AS op FROM (SELECT lloyd_step_agg((SELECT op FROM result), x) AS l FROM points) t;
INSERT INTO step (what, seconds, "reads the rows")
  SELECT 'one Lloyd step (optional)', extract(epoch FROM clock_timestamp() - :'start'), 'once';
INSERT INTO result (clusters, op) SELECT '... and one Lloyd step', op FROM stepped;
SELECT clock_timestamp() AS start \gset
INSERT INTO result (clusters, op) SELECT 'k-means on all rows, in memory', kmeans_agg(x, 10, '{"n_init": 10}') FROM points;
INSERT INTO step (what, seconds, "reads the rows")
  SELECT 'for comparison: k-means, best of 10', extract(epoch FROM clock_timestamp() - :'start'), 'holds all';
SELECT clusters, round((sse / :rows)::numeric, 4) AS "squared error per row",
       round((sse / min(sse) OVER ())::numeric, 4) AS "relative to the best"
  FROM (SELECT id, clusters, (SELECT sse_agg(op, x) FROM points) AS sse FROM result) t ORDER BY id;

\echo '== 6. Sketches add and subtract, exactly: parts, shards, days that come and go.'
\echo '   merge_agg(s) over ten parts = the sketch of the whole;  whole - part + part = whole'
CREATE TEMP TABLE part AS SELECT id % 10 AS part, sketch_agg(x, (SELECT s FROM spec)) AS s FROM points GROUP BY 1;
SELECT (SELECT merge_agg(s) FROM part) = w.s AS "ten parts merged, same bits",
       means(w.s - p.s + p.s) = means(w.s) AND moments(w.s - p.s + p.s) = moments(w.s) AS "one part out and in, same moments",
       row_count(w.s - p.s) AS "rows without it"
  FROM sketched w, part p WHERE p.part = 0;

\echo '== What it took'
SELECT what, round(seconds, 3) AS seconds, "reads the rows" FROM step ORDER BY id;
SELECT round(max(seconds) FILTER (WHERE what LIKE 'for%'), 1) AS kmeans,
       round(sum(seconds) FILTER (WHERE what IN ('choose the spec', 'sketch', 'decode')), 1) AS ours FROM step \gset
\echo 'Sketch and decode took' :ours 's; k-means in memory' :kmeans 's.  The table was read once, the sketch is kept:'
\echo 'decode it again for another k, add tomorrow''s rows to it, compare it with last week''s, without reading these rows again.'
