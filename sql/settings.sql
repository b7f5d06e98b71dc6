-- Functions give the same results under every setting of a session. Work that would exceed the
-- budget of time or memory is refused before it begins.
SET client_min_messages = notice; CREATE SCHEMA of_settings; SET search_path = of_settings, public, fastclust;
CREATE TABLE rows_of_two AS SELECT i AS id, ARRAY[i % 7, i % 5]::real[] AS v, (i % 7)::double precision AS a, 'g' || i % 3 AS g FROM generate_series(1, 600) i;
SET plpgsql.extra_errors = 'all'; SET plpgsql.extra_warnings = 'all'; SET quote_all_identifiers = on; SET array_nulls = off;
SELECT current_setting('server_version_num')::int < 190000 AS has_other_strings \gset
\if :has_other_strings
SET standard_conforming_strings = off;
\endif
SET transform_null_equals = on;
SELECT train('vectors', 'rows_of_two', 'v', 3, options => '{"quiet": true, "seed": 1, "where": "a < 7"}'), train('columns', 'rows_of_two', '{a,g}'::name[], 3, options => '{"quiet": true, "seed": 1}');
SELECT retrain('vectors', '{"quiet": true}');
SELECT model, verdict FROM index_health('rows_of_two', 'v');
SELECT verdict FROM drift('columns');
SELECT count(*) AS rules FROM cluster_rules('columns');
SELECT count(*) AS rows FROM typical_rows('columns', 1);
SELECT length(report('columns')) > 10000 AS report_over_10000_characters,
       length(plot('columns')) > 100 AS plot_over_100_characters;
-- Errors are the same under these settings.
SELECT train('wrong', 'rows_of_two', 'v', 3, ' {"quiet": true}');
SELECT name_cluster('vectors', 0, chr(7));
SELECT predict('vector', ARRAY[1, 2]);
SELECT count(drop_model(model)) AS dropped FROM models;
DROP SCHEMA of_settings CASCADE;

-- Work that would exceed fastclust.time_budget fails before it begins; a scan may take any time.
\set QUIET on
CREATE TABLE wide_rows AS SELECT i AS id, ARRAY(SELECT (i * j % 1009)::real FROM generate_series(1, 64) j) AS v FROM generate_series(1, 1000) i;
ANALYZE wide_rows;
\set QUIET off
SELECT train('late', 'wide_rows', 'v', 900, 'compressive');
SELECT train('late', 'wide_rows', 'v', 900, 'compressive', '{"quiet": true}');
SET fastclust.time_budget = 1;
SELECT kmeans_agg(v, 100, '{"n_init": 1000}') FROM wide_rows;
SELECT factorize(fastop_agg(v), 'hierarchical', '{"iterations": 100000}') FROM wide_rows;
SELECT qkmeans_agg(v, 100, '{"iterations": 100000}') FROM wide_rows;
SELECT kernel_projection_agg(id, v, linear_kernel(), 400) FROM (SELECT id + n * 1000 AS id, v FROM wide_rows, generate_series(1, 10) n) r;
SELECT nystroem(fastop_agg(v), linear_kernel()) FROM (SELECT v FROM wide_rows, generate_series(1, 3)) r;
SELECT count(*) AS clusters
  FROM sketch_spec(64, 2000, 9, law => 'gaussian') s,
      decode((SELECT sketch_agg(v, s) FROM wide_rows), 10, 'shift');
SELECT train('in time', 'wide_rows', 'v', 3, 'compressive', '{"quiet": true, "frequencies": 200}');
SET fastclust.time_budget = '1ms';
SELECT kmeans_agg(v, 10, '{"n_init": 10}') FROM wide_rows;
SET fastclust.time_budget = 0;
SELECT describe(factorize(fastop_agg(v), 'hierarchical',
       '{"iterations": 100000, "tolerance": 1}')) IS NOT NULL AS done_without_budget
  FROM (SELECT v FROM wide_rows LIMIT 100) r;
RESET fastclust.time_budget;
SELECT drop_model('in time');
-- A superuser limits the memory budget that other users may set.
LOAD 'fastclust';
CREATE ROLE settings_reader;
SHOW fastclust.memory_budget;
SET fastclust.memory_budget_limit = '512MB';
SET fastclust.memory_budget = '512MB';
SET fastclust.memory_budget = '513MB';
SET fastclust.memory_budget_limit = '64MB';
SHOW fastclust.memory_budget;
SET ROLE settings_reader;
SET fastclust.memory_budget = '100MB';
SET fastclust.memory_budget = 65537;
SELECT set_config('fastclust.memory_budget', '1GB', false);
SET fastclust.memory_budget_limit = '1GB';
RESET fastclust.memory_budget_limit;
SET fastclust.memory_budget = '64MB';
RESET ROLE;
-- A budget that was set before is capped by the limit.
SET fastclust.memory_budget_limit = '2MB';
SELECT fastclust.row_count(fastclust.sketch_agg(ARRAY[i, 1], fastclust.sketch_spec(2, 1000000, 1.0))) FROM generate_series(1, 3) i;
RESET fastclust.memory_budget_limit;
RESET fastclust.memory_budget;
SELECT option, "default", meaning FROM fastclust.option_help('choose_k') WHERE option LIKE 'fastclust.%';
DROP ROLE settings_reader;
