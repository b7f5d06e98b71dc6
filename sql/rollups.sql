-- Sketches of hours in a materialised view, as continuous aggregates keep them, merge to the
-- sketch of all rows; the spec comes from an immutable function.
\set VERBOSITY terse
SET TIME ZONE 'UTC'; SET search_path = public, fastclust;
CREATE TABLE readings AS SELECT i AS id, timestamptz '2030-01-01 00:00+00' + i * interval '1 minute' AS at,
	ARRAY[i % 3 * 4 + sin(i), i % 2 * 5 + cos(i * i)]::real[] AS x FROM generate_series(1, 3000) i;
ANALYZE readings;
SELECT train('kinds', 'readings', 'x', 6, options => '{"quiet": true}');
DO $$
BEGIN
	EXECUTE format('CREATE FUNCTION readings_spec() RETURNS fastclust.sketch_spec LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $f$ SELECT %L::fastclust.sketch_spec $f$',
		fastclust.model_spec('kinds'));
END
$$;
CREATE MATERIALIZED VIEW hourly AS SELECT date_trunc('hour', at) AS hour, sketch_agg(x, readings_spec()) AS s FROM readings GROUP BY 1;
SELECT count(*) AS hours, sum(row_count(s)) AS rows FROM hourly;
SELECT merge_agg(s) = (SELECT sketch_agg(x, model_spec('kinds')) FROM readings) AS same_as_all_rows
  FROM hourly;
-- A view adds the rows that came after the last refresh, and again gives the sketch of all rows.
INSERT INTO readings SELECT i, timestamptz '2030-01-01 00:00+00' + i * interval '1 minute', ARRAY[i % 3 * 4 + sin(i), i % 2 * 5 + cos(i * i)]::real[] FROM generate_series(3001, 3500) i;
CREATE VIEW hourly_now AS SELECT hour, s FROM hourly WHERE hour < '2030-01-03 02:00+00' UNION ALL
	SELECT date_trunc('hour', at), sketch_agg(x, readings_spec()) FROM readings WHERE at >= '2030-01-03 02:00+00' GROUP BY 1;
SELECT merge_agg(s) = (SELECT sketch_agg(x, model_spec('kinds')) FROM readings) AS same_as_all_rows,
       sum(row_count(s)) AS rows FROM hourly_now;
SELECT (drift('kinds', sketch => merge_agg(s))).verdict FROM hourly_now;
REFRESH MATERIALIZED VIEW hourly;
SELECT merge_agg(s) = (SELECT sketch_agg(x, model_spec('kinds')) FROM readings) AS same_as_all_rows
  FROM hourly;
-- A retrained model has another spec, and drift of the old sketches says so.
SELECT retrain('kinds', '{"seed": 7, "quiet": true}');
SELECT (drift('kinds', sketch => merge_agg(s))).verdict FROM hourly;
SELECT drop_model('kinds');
DROP TABLE readings CASCADE; DROP FUNCTION readings_spec();
