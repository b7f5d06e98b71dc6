-- drift says if rows follow the law of the training, how much they changed (effect), and in which
-- columns; fresh rows of the same law are never reported. retrain_if_drifted retrains only if a
-- change is both certain and large enough, and logs every check.
SET extra_float_digits = 0;
-- The number of rows of drift counts: eight bytes after a header of 36.
CREATE OR REPLACE FUNCTION counted_rows(fastclust_internal.drift_counts) RETURNS bigint LANGUAGE sql AS $$
    SELECT sum(get_byte(b, i)::bigint << 8 * (i - 36))::bigint FROM decode(substr($1::text, 3), 'hex') b, generate_series(36, 43) i
$$;

-- Four clusters in columns a and b; c is noise. The values come from a hash, so that every run is
-- the same.
CREATE FUNCTION noise(i bigint, s bigint) RETURNS float8 LANGUAGE sql IMMUTABLE AS
    'SELECT (((hashint8extended(i, 4 * s) & 65535) + (hashint8extended(i, 4 * s + 1) & 65535) + (hashint8extended(i, 4 * s + 2) & 65535)
            + (hashint8extended(i, 4 * s + 3) & 65535)) / 65536.0 - 2)';
CREATE TABLE base AS
SELECT i AS id, (hashint8extended(i, 99) & 1) * 3 + noise(i, 1) AS a, (hashint8extended(i, 98) & 1) * 300 + 100 * noise(i, 2) AS b, noise(i, 3) AS c
  FROM generate_series(1, 60000) i;
CREATE VIEW training AS SELECT * FROM base WHERE id <= 30000;
CREATE VIEW same AS SELECT * FROM base WHERE id > 30000;
CREATE TABLE deviations AS SELECT stddev_pop(a) AS a, stddev_pop(b) AS b, stddev_pop(c) AS c FROM training;
SELECT train('m', 'training', ARRAY['a', 'b', 'c'], 4, 'compressive');

-- Rows of the same law have the verdict `none`. Found are a moved column, a wider one, and two
-- columns that became dependent while no mean changed; a tiny change is `slight`.
SELECT p_value > 0.01 AS p_value_above_0_01, effect, verdict, columns FROM drift('m', 'same');
CREATE VIEW moved AS SELECT s.a, s.b + 0.5 * d.b AS b, s.c FROM same s, deviations d;
SELECT p_value < 1e-40 AS p_value_below_1e_40, effect BETWEEN 0.45 AND 1.1
       AS effect_from_0_45_to_1_1, verdict, columns -> 0 ->> 'name' AS name,
       round((columns -> 0 ->> 'shift')::numeric, 1) AS shift,
       round((columns -> 0 ->> 'spread')::numeric, 1) AS spread,
       (columns -> 0 ->> 'p')::float8 < 1e-40 AS p_of_column_below_1e_40,
       jsonb_array_length(columns) AS columns
  FROM drift('m', 'moved');
CREATE VIEW wider AS SELECT s.a, s.b, 1.3 * s.c AS c FROM same s;
SELECT effect BETWEEN 0.1 AND 0.4 AS effect_from_0_1_to_0_4, verdict, columns -> 0 ->> 'name'
       AS name, abs((columns -> 0 ->> 'shift')::float8) < 0.03 AS shift_below_0_03,
       round((columns -> 0 ->> 'spread')::numeric, 1) AS spread FROM drift('m', 'wider');
CREATE VIEW tied AS SELECT * FROM same WHERE (a > 1.5) = (b > 150) OR id % 3 > 0;
SELECT effect BETWEEN 0.1 AND 0.5 AS effect_from_0_1_to_0_5, verdict, columns -> 0 -> 'names'
       AS names, jsonb_array_length(columns) AS columns FROM drift('m', 'tied');
SELECT p_value < 1e-3 AS p_value_below_0_001, effect < 0.1 AS effect_below_0_1,
       verdict
  FROM drift('m',
           sketch => (SELECT sketch_agg(ARRAY[s.a, s.b + 0.06 * d.b, s.c], model_spec('m'))
               FROM same s, deviations d));

-- Fewer than ten rows have no p-value, however far they are from the rows of the training.
SELECT n, p_value, effect, verdict,
       columns
  FROM drift('m',
           sketch => (SELECT training_sketch - training_sketch FROM model_versions
               WHERE model = 'm'));
SELECT v.n, d.n AS rows, p_value IS NOT NULL AS has_p_value,
       verdict
  FROM (VALUES (1), (2), (9), (20), (1000)) v(n),
    drift('m', sketch => (SELECT sketch_agg(ARRAY[a, b, c], model_spec('m')) FROM (SELECT * FROM same ORDER BY id LIMIT v.n) s)) d;
SELECT n, p_value,
       verdict
  FROM drift('m',
           sketch => (SELECT sketch_agg(ARRAY[a + 100, b, c], model_spec('m'))
               FROM (SELECT * FROM same LIMIT 9) s));
-- A NULL sketch, which is that of no rows, is an error and never leads to reading the table.
SELECT verdict FROM drift('m', sketch => NULL);
SELECT verdict FROM drift('m', sketch => (SELECT sketch_agg(ARRAY[a, b, c], model_spec('m')) FROM same WHERE false));
SELECT retrain('m', sketch => NULL::sketch);
PREPARE of_sketch (sketch) AS SELECT verdict FROM drift('m', sketch => $1);
SET plan_cache_mode = force_generic_plan;
EXECUTE of_sketch (NULL);
RESET plan_cache_mode;

-- drift by value, of a table and of a sketch agree. The elements of a vector are numbered, at
-- most five columns are listed, and a constant column that changed is found.
CREATE VIEW by_half AS SELECT *, id > 45000 AS half FROM same;
CREATE VIEW first_half AS SELECT * FROM by_half WHERE NOT half;
SELECT b.value, b.n,
       (b.p_value, b.effect, b.verdict, b.columns) = (d.p_value, d.effect, d.verdict, d.columns)
       AS same_as_table, b.mmd2 = s.mmd2 AS same_mmd2_as_sketch
  FROM drift('m', 'by_half', by => 'half') b, drift('m', 'first_half') d, drift('m', sketch => (SELECT sketch_agg(ARRAY[a, b, c], model_spec('m')) FROM first_half)) s
 WHERE b.value = 'false';
CREATE TABLE wide AS SELECT id, 'group ' || id % 2 AS g, ARRAY[a, noise(id, 5), noise(id, 6), 7, noise(id, 7), noise(id, 8), noise(id, 9)]::real[] AS x FROM training;
SELECT train('wide', 'wide', 'x', 2, 'kmeans'), train('groups', 'wide', 'x', 2, 'kmeans', '{"group_by": "g"}');
UPDATE wide SET x[7] = x[7] + 1, x[4] = 7.25, x[2] = 2 * x[2] WHERE g = 'group 1';
SELECT verdict, jsonb_array_length(columns) AS columns FROM drift('wide');
SELECT name, shift > 0.1 AS shift_above_0_1, spread > 1.1 AS spread_above_1_1 FROM drift('wide') d,
       jsonb_to_recordset(d.columns) c(name text, shift float8, spread float8) ORDER BY name;
SELECT value, verdict, columns -> 0 ->> 'name' AS name FROM drift('groups', by => 'group') ORDER BY 1;
-- A group that the training did not have, and one that has no rows any more, are reported as
-- such.
INSERT INTO wide SELECT id + 60000, 'group 2', x FROM wide WHERE g = 'group 1' LIMIT 100;
DELETE FROM wide WHERE g = 'group 0';
INSERT INTO wide SELECT 0, NULL, x FROM wide LIMIT 1;
SELECT value, n, p_value IS NOT NULL AS has_p_value, verdict, columns -> 0 ->> 'name' AS name
  FROM drift('groups', by => 'group') ORDER BY 1;
CREATE TABLE equal AS SELECT i AS id, '{0.3,0.7,-1.1}'::real[] AS x FROM generate_series(1, 1000) i;
SELECT train('equal', 'equal', 'x', 1, 'kmeans');
SELECT mmd2, p_value, effect, verdict FROM drift('equal');
UPDATE equal SET x[1] = 50;
SELECT p_value < 1e-100 AS p_value_below_1e_100, effect > 0.1 AS effect_above_0_1, verdict,
       columns -> 0 ->> 'name' AS name, columns -> 0 ->> 'spread' AS spread,
       columns -> 0 ->> 'shift' AS shift_in_its_units FROM drift('equal');

-- A changed share of NULLs is found, also in a column that has one value besides; a model of one
-- column works, too.
CREATE TABLE answers AS
SELECT i AS id, CASE WHEN hashint8extended(i, 1) & 15 < 12 THEN true END AS yes, CASE WHEN hashint8extended(i, 2) & 1 = 0 THEN 7.1 END AS seven FROM generate_series(1, 9000) i;
SELECT train('answers', 'answers', '{yes,seven}'::name[], 2, 'kmeans', '{"quiet": true}'), train('one', 'answers', '{id}'::name[], 2, 'kmeans', '{"quiet": true}');
CREATE VIEW fewer AS SELECT id, CASE WHEN hashint8extended(id, 3) & 15 < 15 THEN yes END AS yes, seven FROM answers;
CREATE VIEW later AS SELECT id + 900 AS id FROM answers;
SELECT (drift('answers')).verdict AS verdict_of_same_rows, verdict, columns -> 0 ->> 'name' AS name,
       jsonb_array_length(columns) AS columns FROM drift('answers', 'fewer');
SELECT (drift('one')).verdict AS verdict_of_same_rows, verdict, round(effect::numeric, 1) AS effect,
       columns -> 0 ->> 'name' AS name FROM drift('one', 'later');

-- retrain_if_drifted returns NULL, without retraining, for rows of the same law, for a small
-- change of many rows, and where effect or p-value miss the limits that were given.
CREATE VIEW slightly AS SELECT s.a, s.b + 0.04 * d.b AS b, s.c FROM same s, deviations d;
SELECT retrain_if_drifted('m', options => '{"relation": "public.same"}') AS same,
       retrain_if_drifted('m', options => '{"relation": "public.slightly"}') AS slightly,
       retrain_if_drifted('m', 0.01, 1.1, '{"relation": "public.moved"}') AS not_enough,
       retrain_if_drifted('m', 1e-60, 0, '{"relation": "public.slightly"}') AS not_sure;
-- A p-value below the range of single precision still leads to a retraining, and the log has
-- every check with its figures.
CREATE TABLE far AS SELECT s.a, s.b + 0.5 * d.b AS b, s.c FROM same s, deviations d ORDER BY s.id LIMIT 12000;
SELECT p_value < 1e-46 AS p_value_below_1e_46 FROM drift('m', 'far');
SELECT retrain_if_drifted('m', options => '{"relation": "public.far"}');
SELECT retrain_if_drifted('m', 0.01, 0.05, '{"relation": "public.far"}') AS not_again;
CREATE TABLE few AS SELECT * FROM far LIMIT 5;
SELECT retrain_if_drifted('m', options => '{"relation": "public.few"}');
SELECT model, version, relation, n, p_value < threshold AS p_below_threshold, effect >= min_effect
       AS effect_from_minimum, verdict, columns -> 0 ->> 'name' AS column, threshold, min_effect,
       new_version,
       checked_by = current_user AS checked_by_me, now() - checked_at < '1 day' AS checked_today,
       mmd2 + null_sd + fit_residual IS NOT NULL AS has_figures
  FROM drift_log ORDER BY id;
SELECT count(*) AS drift_steps FROM training_log WHERE step = 'drift';
SET client_min_messages = notice;
SELECT retrain_if_drifted('m', 0.5, options => '{"relation": "public.far", "quiet": true}');
CREATE TABLE tiny AS SELECT ARRAY[1e-25 * a, 1e-27 * b]::float8[] AS x FROM base LIMIT 1000;
CREATE FUNCTION messages(statement text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN EXECUTE statement; RETURN 'no error'; EXCEPTION WHEN OTHERS THEN RETURN SQLSTATE || ' ' || SQLERRM; END $$;
SET client_min_messages = warning;

-- Rows with a mean squared distance below the range of single precision can be trained on.
SELECT messages($$SELECT train('tiny', 'tiny', 'x', 4, 'kmeans')$$);
SELECT objective > 0 AS objective_above_0, objective < 1e-46 AS objective_below_1e_46 FROM models
 WHERE model = 'tiny';

-- Rows of sixty columns that follow the same law are not reported. A category that becomes
-- frequent, a value never seen and a dependent pair of columns are.
CREATE TABLE sixty AS
SELECT i AS id, i % 3 AS part, CASE WHEN hashint8extended(i, 7) & 511 = 0 THEN 'rare' WHEN hashint8extended(i, 8) & 1 = 0 THEN 'even' ELSE 'odd' END AS kind,
       (SELECT array_agg((hashint8extended(i, 100 + j) & 65535) / 65536.0) FROM generate_series(1, 60) j)::real[] AS x
  FROM generate_series(1, 12000) i;
CREATE VIEW sixty_train AS SELECT * FROM sixty WHERE part < 2;
CREATE VIEW sixty_same AS SELECT * FROM sixty WHERE part = 2;
CREATE VIEW sixty_parts AS SELECT *, id / 3 % 8 AS eighth FROM sixty_same;
CREATE VIEW sixty_rare AS SELECT id, CASE WHEN id % 10 = 0 THEN 'rare' ELSE kind END AS kind, x FROM sixty_same;
CREATE VIEW sixty_new AS SELECT id, CASE WHEN id % 100 = 0 THEN 'new' ELSE kind END AS kind, x FROM sixty_same;
CREATE VIEW sixty_pair AS SELECT id, kind, x[:40] || (CASE WHEN hashint8extended(id, 9) & 1 = 0 THEN x[1] ELSE x[41] END || x[42:]) AS x FROM sixty_same;
SELECT train('sixty', 'sixty_train', ARRAY['kind', 'x'], 3, 'kmeans'), train('projected', 'sixty_train', 'x', 3, 'compressive'), train('from a sketch', 'sixty_train', 'x', 3, 'compressive');
SELECT retrain('from a sketch', sketch => (SELECT sketch_agg(x, model_spec('from a sketch')) FROM sixty_same));
SELECT verdict, effect, columns, mmd2 IS NOT NULL AS has_mmd2,
       fit_residual FROM drift('sixty', 'sixty_same');
SELECT verdict, effect, columns, mmd2, fit_residual > 0 AS fit_residual_above_0
  FROM drift('projected', 'sixty_same');
SELECT verdict, columns -> 0 ->> 'name' AS name FROM drift('sixty', 'sixty_rare');
SELECT verdict, columns -> 0 ->> 'name' AS name FROM drift('sixty', 'sixty_new');
SELECT verdict, columns -> 0 -> 'names' AS names FROM drift('projected', 'sixty_pair');
SELECT count(*) AS parts, count(*) FILTER (WHERE p_value < 0.01) <= 1 AS at_most_one_below_0_01,
       max(effect) < 0.1 AS effects_below_0_1 FROM drift('sixty', 'sixty_parts', by => 'eighth');
-- The groups of a version share one drift spec, and the counts of a group take less than 8 kB.
SELECT count(*) AS groups, count(drift_spec) AS specs, count(drift_counts) AS counts,
       count(null_moments) AS null_laws
  FROM fastclust_internal.stored_versions
 WHERE model = 'groups';
SELECT max(pg_column_size(drift_counts)) < 8192 AS below_8192_bytes
  FROM fastclust_internal.stored_versions WHERE model IN ('m', 'wide', 'groups', 'equal');
-- Thresholds out of range, unknown models and sketches that do not fit are errors.
SELECT s, messages(s) FROM unnest(ARRAY[
    $$SELECT retrain_if_drifted('m', NULL)$$,
    $$SELECT retrain_if_drifted('m', 'NaN')$$,
    $$SELECT retrain_if_drifted('m', 0)$$,
    $$SELECT retrain_if_drifted('m', 1)$$,
    $$SELECT retrain_if_drifted('m', min_effect => NULL)$$,
    $$SELECT retrain_if_drifted('m', min_effect => 'NaN')$$,
    $$SELECT retrain_if_drifted('m', min_effect => -1)$$,
    $$SELECT retrain_if_drifted('m', options => NULL)$$,
    $$SELECT retrain_if_drifted(NULL)$$,
    $$SELECT retrain_if_drifted('nobody')$$,
    $$SELECT write_drift(NULL)$$,
    $$SELECT retrain('wide', sketch => (SELECT sketch_agg(x, model_spec('wide')) FROM wide))$$,
    $$SELECT drift('projected', sketch => (SELECT training_sketch FROM model_versions WHERE model = 'projected'))$$,
    $$SELECT drift('from a sketch')$$,
    $$SELECT drift('wide', sketch => (SELECT sketch_agg(ARRAY[a, b, c], model_spec('m')) FROM base))$$]) s;

-- A renamed model keeps its drift log, and a dropped model takes it along.
CREATE VIEW places AS SELECT string_agg(v.ctid::text, ',' ORDER BY v.ctid) AS versions, (SELECT string_agg(t.ctid::text, ',' ORDER BY t.ctid) FROM fastclust_internal.training_steps t) AS steps FROM fastclust_internal.version_groups v;
CREATE TABLE before_renaming AS TABLE places;
SELECT rename_model('m', 'renamed');
-- Renaming writes one row, however many versions there are: versions and log entries stay where
-- they are stored.
SELECT p = b AS same_places FROM places p, before_renaming b;
DROP VIEW places; DROP TABLE before_renaming;
SELECT count(*) > 5 AS over_5_log_entries FROM drift_log WHERE model = 'renamed';
SELECT drop_model('renamed');
SELECT count(*) AS log_entries FROM drift_log WHERE model = 'renamed';
SELECT count(drop_model(model)) AS models_dropped FROM models
 WHERE model IN ('wide', 'groups', 'equal', 'answers', 'one', 'tiny', 'sixty', 'projected',
           'from a sketch');
DROP VIEW fewer, later, moved, wider, tied, first_half, by_half, slightly, training, same, sixty_rare, sixty_new, sixty_pair, sixty_parts, sixty_same, sixty_train;
DROP TABLE base, deviations, wide, equal, answers, far, few, tiny, sixty; DROP FUNCTION noise, messages;

-- A share of a large table is sketched and counted, here half of 300,000 rows; n is the number of
-- all rows, and a small change is still found.
CREATE UNLOGGED TABLE drift_of_many AS SELECT ARRAY[sin(i), i % 7]::real[] AS x FROM generate_series(1, 300000) i;
ANALYZE drift_of_many;
SELECT train('many rows', 'drift_of_many', 'x', 5, options => '{"quiet": true}') AS version;
SELECT r.n, row_count(r.s) BETWEEN 148000 AND 152000 AS sketched_148000_to_152000,
       counted_rows(r.counts) = row_count(r.s) AS as_many_counted
  FROM fastclust_internal.stored_versions v, fastclust_internal.sketch_rows(v, 'drift_of_many', NULL) r WHERE v.model = 'many rows';
SELECT n, verdict FROM drift('many rows', 'drift_of_many');
UPDATE drift_of_many SET x[1] = x[1] + 0.2;
SELECT n, verdict, p_value < 1e-6 AS p_value_below_1e_6 FROM drift('many rows', 'drift_of_many');
SELECT drop_model('many rows');
DROP TABLE drift_of_many;

-- Each of 20 groups that are far apart is judged by its own deviations, although all groups share
-- the bins.
CREATE UNLOGGED TABLE tenants AS SELECT i % 20 AS t, ARRAY[i % 20 * 100 + hashint4extended(i, 1) / 2 ^ 61, hashint4extended(i, 2) / 2 ^ 63]::real[] AS x FROM generate_series(1, 20000) i;
SELECT train('tenants', 'tenants', 'x', 2, options => '{"quiet": true, "group_by": "t"}') AS version;
CREATE VIEW tenants_later AS SELECT t, ARRAY[x[1] + 3, x[2]] AS x FROM tenants;
CREATE VIEW tenants_again AS SELECT i % 20 AS t, ARRAY[i % 20 * 100 + hashint4extended(i, 1) / 2 ^ 61, hashint4extended(i, 2) / 2 ^ 63]::real[] AS x FROM generate_series(20001, 50000) i;
SELECT verdict, count(*) AS groups, min(effect) > 1 AS effects_above_1,
       count(*) FILTER (WHERE columns -> 0 ->> 'name' = 'x[1]') AS groups_that_name_the_column
  FROM drift('tenants', 'tenants_later', by => 'group') GROUP BY 1;
SELECT verdict, count(*) AS groups FROM drift('tenants', 'tenants_again', by => 'group') GROUP BY 1;
SELECT drop_model('tenants');
DROP VIEW tenants_later, tenants_again; DROP TABLE tenants;

-- A value that is new in 5 % of the rows has about the same effect in few rows and in many.
CREATE TABLE usual AS SELECT (hashint4extended(i, 1) & 1048575) / 1048576.0::float8 AS a, (ARRAY['x', 'y', 'z'])[1 + i % 3] AS c FROM generate_series(1, 20000) i;
CREATE TABLE with_new AS
SELECT part, (hashint4extended(i, part) & 1048575) / 1048576.0::float8 AS a, CASE WHEN i % 20 = 0 THEN 'new' ELSE (ARRAY['x', 'y', 'z'])[1 + i % 3] END AS c
  FROM unnest(ARRAY[400, 2000, 10000, 60000]) part, generate_series(1, part) i;
SELECT train('usual', 'usual', '{a,c}', 3) AS version;
SELECT value, n, round(effect::numeric, 2) AS effect, effect BETWEEN 0.3 AND 0.45 AS is_near, verdict FROM drift('usual', 'with_new', by => 'part') ORDER BY n;
SELECT drop_model('usual');
DROP TABLE usual, with_new;
