-- Clusters are explained in the words of the table: profile, names, rules, typical rows, scores,
-- probabilities, plot and description.
-- Each number equals what SQL computes from the labelled rows, and each condition can be pasted
-- into a WHERE clause. If it could not, users would act on wrong explanations.
SET extra_float_digits = 0; CREATE SCHEMA of_explain; SET search_path = of_explain, public, fastclust, fastclust_internal;
\set QUIET off
-- Three planted kinds of customers: rich, young and old. The noise comes from a hash.
CREATE FUNCTION noise(i integer, s integer) RETURNS float8 LANGUAGE sql IMMUTABLE AS
    'SELECT ((hashint8extended(i, s) & 65535) + (hashint8extended(i, -s) & 65535)) / 65536.0 - 1';
CREATE TABLE customers AS
SELECT i AS id, i % 3 AS kind, 'shop ' || i % 2 AS shop, (ARRAY[80000, 30000, 30000])[1 + i % 3] + round(8000 * noise(i, 1)) AS income,
       (ARRAY[45, 25, 65])[1 + i % 3] + round(8 * noise(i, 2)::numeric) AS age, noise(i, 3) AS mood FROM generate_series(1, 6000) i;
ANALYZE customers;
SELECT train('kinds', 'customers', '{income,age,mood}'::name[], 3, options => '{"quiet": true}');
CREATE VIEW planted AS SELECT DISTINCT kind, predict('kinds', income, age, mood) AS cluster FROM customers;
SELECT count(*) AS kinds, count(DISTINCT cluster) AS clusters FROM planted;

-- ---- profile ----
-- Values, overall means and differences equal what SQL computes, and the largest differences come
-- first.
SELECT count(*) AS entries, max(abs(p.value - m.mean) / m.sd) < 1e-6 AS values_within_1e_6,
       max(abs(p.overall - a.mean) / a.sd) < 1e-6 AS overall_within_1e_6,
       max(abs(p.difference - (m.mean - a.mean) / a.sd)) < 1e-6 AS differences_within_1e_6,
       count(p.lift) AS lifts, count(DISTINCT p.name) AS names
  FROM profile('kinds') p JOIN planted USING (cluster),
       LATERAL (SELECT avg(v) AS mean, greatest(stddev_pop(v), 1e-9) AS sd FROM customers c, LATERAL (VALUES ('income', income), ('age', age::float8), ('mood', mood)) f (feature, v)
                 WHERE c.kind = planted.kind AND f.feature = p.feature) m,
       LATERAL (SELECT avg(v) AS mean, stddev_pop(v) AS sd FROM customers, LATERAL (VALUES ('income', income), ('age', age::float8), ('mood', mood)) f (feature, v)
                 WHERE f.feature = p.feature) a;
SELECT kind, name, feature, shown FROM profile('kinds') WITH ORDINALITY p (cluster, name, feature, value, overall, difference, lift, shown, i) JOIN planted USING (cluster)
 WHERE feature <> 'mood' ORDER BY kind, i;
SELECT count(*) AS entries, count(*) FILTER (WHERE abs(difference) <= before) AS in_order
  FROM (SELECT *, lag(abs(difference), 1, 'Infinity') OVER (PARTITION BY cluster ORDER BY i)
           AS before
  FROM profile('kinds') WITH ORDINALITY p (cluster, name, feature, value, overall, difference, lift, shown, i)) q;
SELECT kind, name FROM model_clusters JOIN planted USING (cluster) WHERE model = 'kinds' ORDER BY kind;
-- A column that never changes has no difference and comes last, a single cluster differs in
-- nothing, and the elements of a vector are named by their index.
CREATE TABLE flat AS SELECT i, 7 AS same, i % 2 AS half, ARRAY[i % 2 * 10 + noise(i, 1), noise(i, 2)]::real[] AS x FROM generate_series(1, 1000) i;
SELECT train('flat', 'flat', '{same,half}'::name[], 2, options => '{"quiet": true}'), train('one', 'flat', 'x', 1, options => '{"quiet": true}'),
       train('vectors', 'flat', 'x', 2, options => '{"quiet": true}');
SELECT feature, value, overall, difference, shown FROM profile('flat') ORDER BY cluster, value DESC;
SELECT name, feature, abs(difference) < 1e-9 AS difference_below_1e_9
  FROM profile('one') ORDER BY feature;
SELECT name, feature, shown FROM profile('vectors') WHERE abs(difference) > 0.5 ORDER BY value;

-- ---- names ----
-- A name given to a cluster is shown everywhere and survives a retraining and a renaming of the
-- model.
SELECT name_cluster('kinds', cluster, 'the rich') FROM planted WHERE kind = 0;
SELECT kind, name FROM model_centroids JOIN planted USING (cluster) WHERE model = 'kinds' AND feature = 'age' ORDER BY kind;
SELECT m.model, n.name, n.named_by = current_user AS named_by_me
  FROM fastclust_internal.stored_names n JOIN fastclust_internal.stored_models m ON m.id
       = n.model_id;
CREATE TABLE before AS SELECT id, predict('kinds', income, age, mood) AS cluster FROM customers;
SELECT retrain('kinds', '{"quiet": true, "seed": 5}'), rename_model('kinds', 'people'), rename_model('people', 'kinds');
SELECT DISTINCT kind, name FROM profile('kinds') JOIN planted USING (cluster) WHERE kind = 0;
-- A version of other columns has the name where it has the rows. A name can be removed; a wrong
-- cluster or a bad name is an error.
SELECT train('kinds', 'customers', '{income,age}'::name[], 3, options => '{"quiet": true}');
SELECT count(*) AS entries_with_name FROM profile('kinds') WHERE name = 'the rich';
SELECT use_version('kinds', 2);
SELECT count(*) AS entries_with_name FROM profile('kinds') WHERE name = 'the rich';
SELECT name_cluster('kinds', cluster, NULL) FROM planted WHERE kind = 0;
SELECT count(*) AS names_left FROM fastclust_internal.stored_names;
SELECT name_cluster('nowhere to be found', 0, 'x');
SELECT name_cluster('kinds', 3, 'x');
SELECT name_cluster('kinds', NULL, 'x');
SELECT name_cluster('kinds', 0, '');
SELECT name_cluster('kinds', 0, repeat('x', 201));
SELECT name_cluster('kinds', 0, E'two\nlines');
SELECT name_cluster('kinds', 0, 'x', 'shop 1');

-- Suggested names are different, and none is of the category "other". Clusters that the same words
-- describe have values.
CREATE TABLE even AS SELECT 10 * noise(i, 1) AS a, 10 * noise(i, 2) AS b, 'price ' || i AS price, exp(3 * noise(i, 3) + i % 2) AS spent FROM generate_series(1, 3000) i;
SELECT train('even', 'even', '{a,b}'::name[], 25, options => '{"quiet": true}'),
       train('prices', 'even', '{price,a}'::name[], 6, options => '{"quiet": true}');
SELECT model, count(*) AS clusters, count(DISTINCT name) AS names,
       count(*) FILTER (WHERE name ~ 'other' OR name ~ '[(]') AS empty_words,
       count(*) FILTER (WHERE name ~ '^a [-0-9.]+, b [-0-9.]+$') > 2 AS more_than_2_by_values
  FROM model_clusters
 WHERE model IN ('even', 'prices')
 GROUP BY 1 ORDER BY 1;
-- The values of a logarithmic column are typical ones, below the mean, and the report says so.
SELECT train('even', 'even', '{spent,a}'::name[], 3, options => '{"quiet": true, "encoder": {"transform": {"spent": "log"}}}');
SELECT count(*) AS clusters, count(*) FILTER (WHERE p.value < m.mean) AS below_the_mean,
       count(*) FILTER (WHERE p.value BETWEEN m.typical / 1.01 AND m.typical * 1.01) AS typical
  FROM profile('even') p
  JOIN (SELECT predict('even', e) AS cluster, avg(spent) AS mean,
               exp(avg(ln(1 + spent))) - 1 AS typical
          FROM even e
         GROUP BY 1) m USING (cluster)
 WHERE p.feature = 'spent';
SELECT report('even') ~ 'For spent it is a typical value' AS says_typical,
       report('prices') ~ 'typical value' AS says_so_of_others;
SELECT drop_model('even'), drop_model('prices');
DROP TABLE even;

-- ---- model_centroids ----
-- The view has the values of profile and of model_clusters.
SELECT count(*) AS entries, max(abs(c.value - p.value)) AS largest_difference_to_profile,
       max(abs(c.value - m.centroid[array_position('{income,age,mood}', c.feature)])
           / (1 + abs(c.value))) < 1e-12 AS within_1e_12_of_model_clusters
  FROM model_centroids c JOIN profile('kinds') p USING (cluster, feature)
  JOIN model_clusters m USING (model, cluster) WHERE c.model = 'kinds';
SELECT attname FROM pg_attribute WHERE attrelid = 'model_centroids'::regclass AND attnum > 0 ORDER BY attnum;

-- ---- cluster_rules ----
-- The rules are the planted ones, with as few conditions as possible.
SELECT kind, rule, precision, coverage, rows, fidelity FROM cluster_rules('kinds') JOIN planted USING (cluster) ORDER BY kind;
SELECT rule, precision, coverage, rows FROM cluster_rules('vectors') ORDER BY rule;
SELECT rule, rows, fidelity FROM cluster_rules('one');
-- Fidelity is the share of the rows whose rule gives their label, to 0.03, for rules of one, two
-- and three conditions.
CREATE TABLE blobs AS SELECT i AS id, 10 * noise(i, 1) AS a, 10 * noise(i, 2) AS b, 10 * noise(i, 3) AS c FROM generate_series(1, 10000) i;
ANALYZE blobs;
SELECT train('blobs', 'blobs', '{a,b,c}'::name[], 7, options => '{"quiet": true}');
CREATE FUNCTION kept(rule_model text, conditions integer) RETURNS TABLE (stated float8, counted float8, most integer) LANGUAGE plpgsql AS $$
DECLARE
    cases text;
BEGIN
    SELECT 'CASE ' || string_agg(format('WHEN %s THEN %s', r.condition, r.cluster), ' ' ORDER BY r.precision DESC) || ' END',
           max(r.fidelity), max((SELECT count(*) FROM regexp_matches(r.rule, ' and ', 'g')) + 1)
      INTO cases, stated, most FROM cluster_rules(rule_model, conditions) r WHERE r.condition IS NOT NULL;
    EXECUTE format('SELECT avg((%s = predict(%L, a, b, c))::integer) FROM blobs', cases, rule_model) INTO counted;
    RETURN NEXT;
END $$;
SELECT n, most <= n AS at_most_n_conditions, abs(stated - counted) < 0.03 AS fidelity_within_0_03,
       (ARRAY[0.3, 0.55, 0.82])[n] AS floor, stated > (ARRAY[0.3, 0.55, 0.82])[n]
       AS fidelity_above_floor
  FROM generate_series(1, 3) n, kept('blobs', n);
SELECT cluster_rules('kinds', 0);
SELECT cluster_rules('kinds', 11);
SELECT cluster_rules('kinds', NULL);
SELECT cluster_rules('kinds', relation => 'blobs');

-- A condition has the stated precision and coverage when it is pasted behind WHERE, for every
-- type of column and with NULLs anywhere.
CREATE TABLE mixtures AS SELECT i AS id, CASE WHEN i % 13 < 5 THEN NULL ELSE (i % 17 / 10.0 + 5 * (i % 4))::numeric(8, 2) END AS discount,
       CASE WHEN i % 11 > 0 THEN (ARRAY['it''s', 'DE', 'FR', 'other'])[1 + i % 4] END AS country, CASE WHEN i % 7 > 0 THEN i / 4 % 5 < i % 4 END AS flag,
       date '2024-01-01' + i % 4 * 100 + i % 19 AS day, timestamptz '2024-01-01 10:00:00.123456+02' + i % 4 * interval '40 days' + i % 23 * interval '1 hour' AS at,
       jsonb_build_object('a plan', 'p' || i / 8 % 3, 'n', CASE WHEN i % 5 > 0 THEN i % 4 * 3 + i % 29 / 29.0 END) AS props,
       ARRAY[i % 31 / 31.0 + i % 4, i % 37 / 37.0]::real[] AS "V x", interval '1 month' * (i % 4) + i % 41 * interval '1 hour' AS wait, exp(i % 43 / 14.0 + 2 * (i % 4)) AS spent
FROM generate_series(1, 4000) i;
ANALYZE mixtures;
CREATE FUNCTION pasted(columns name[], options jsonb DEFAULT '{}') RETURNS TABLE (rules bigint, exact boolean, kept boolean, indicator boolean) LANGUAGE plpgsql AS $$
DECLARE
    r record;
    counted float8[];
    labelled float8;
BEGIN
    PERFORM train('mixtures', 'mixtures', columns, 4, options => options || '{"quiet": true}');
    rules := 0;
    exact := true;
    FOR r IN SELECT * FROM cluster_rules('mixtures') c WHERE c.condition IS NOT NULL LOOP
        EXECUTE format('SELECT ARRAY[count(*) FILTER (WHERE (%1$s) AND l = %2$s), count(*) FILTER (WHERE %1$s), count(*) FILTER (WHERE l = %2$s)] '
                       'FROM (SELECT *, predict(''mixtures'', m) AS l FROM mixtures m) q', r.condition, r.cluster) INTO counted;
        rules := rules + 1;
        exact := exact AND abs(r.precision - counted[1] / counted[2]) < 0.01 AND abs(r.coverage - counted[1] / counted[3]) < 0.01;
    END LOOP;
    EXECUTE (SELECT format('SELECT avg((CASE %s END IS NOT DISTINCT FROM predict(''mixtures'', m))::integer) FROM mixtures m', string_agg(format('WHEN %s THEN %s', c.condition, c.cluster), ' ' ORDER BY c.precision DESC))
               FROM cluster_rules('mixtures') c WHERE c.condition IS NOT NULL) INTO labelled;
    SELECT abs(labelled - max(c.fidelity)) < 0.02, bool_or(c.rule ~ ' is NULL') INTO kept, indicator FROM cluster_rules('mixtures') c;
    RETURN NEXT;
END $$;
SELECT columns, rules >= 4 AS at_least_4_rules, exact AS precisions_within_0_01,
       kept AS fidelity_within_0_02
  FROM (VALUES ('{discount,country,flag}'), ('{day,flag,country}'), ('{at,discount}'),
      ('{"V x",flag}'), ('{wait}')) v(columns), pasted(columns::name[]);
SELECT rules >= 4 AS at_least_4_rules, exact AS precisions_within_0_01, kept AS fidelity_within_0_02
  FROM pasted('{props,spent}',
      '{"encoder": {"transform": {"spent": "log"}, "paths": {"props": ["a plan", "n"]}}}');
SELECT cluster_rules.rule, condition FROM cluster_rules('mixtures') ORDER BY cluster, 1;
-- Rules may say `is NULL` if NULLs distinguish clusters, and the conditions are as faithful as
-- the rules.
UPDATE mixtures SET discount = CASE WHEN id % 4 < 2 THEN id % 17 END, day = CASE WHEN id % 4 = 1 THEN date '2024-01-01' + id % 19 END, wait = CASE WHEN id % 4 < 2 THEN wait END,
                    at = CASE WHEN id % 4 < 2 THEN at END, "V x" = CASE WHEN id % 4 < 2 THEN "V x" END;
SELECT columns, rules >= 3 AS at_least_3_rules, exact AS precisions_within_0_01,
       kept AS fidelity_within_0_02, indicator AS a_rule_says_is_null
  FROM (VALUES ('{discount,country}'), ('{day,country}'), ('{at,country}'), ('{wait,country}'),
      ('{"V x",flag}')) v(columns),
       pasted(columns::name[]);
SELECT drop_model('mixtures');
-- A cluster of 60 rows, which one column identifies, has its rule. A cluster that nothing
-- distinguishes says that it has none.
CREATE TABLE loans AS SELECT i AS id, CASE WHEN i % 10 > 0 THEN 20000 * (1 + noise(i, 1)) END AS amount, 15 + 10 * noise(i, 2) AS rate, (ARRAY['A', 'B', 'C', 'D'])[1 + i % 4] AS grade,
       CASE WHEN i % 164 = 0 AND i > 164 THEN 1 ELSE 0 END AS late FROM generate_series(1, 9857) i;
SELECT train('loans', 'loans', '{amount,rate,grade,late}'::name[], 6, options => '{"quiet": true}');
SELECT r.rule, r.condition, "precision" >= 0.98 AS precision_from_0_98,
       coverage >= 0.98 AS coverage_from_0_98
  FROM cluster_rules('loans') r JOIN model_clusters c USING (cluster)
 WHERE c.model = 'loans' AND c.size BETWEEN 55 AND 65;
SELECT count(DISTINCT cluster) AS clusters_with_rules, min("precision") > 0.9
       AS precisions_above_0_9 FROM cluster_rules('loans') WHERE condition IS NOT NULL;
CREATE TABLE fog AS SELECT i AS id, noise(i, 1) AS a, noise(i, 2) AS b, noise(i, 3) AS c, noise(i, 4) AS d, noise(i, 5) AS e, noise(i, 6) AS f FROM generate_series(1, 3000) i;
SELECT train('fog', 'fog', '{a,b,c,d,e,f}'::name[], 40, options => '{"quiet": true}');
SELECT count(*) > 0 AS has_clusters_without_rule, count(DISTINCT r.rule) AS sentences,
       min(r.rule) AS sentence, count(r.condition) AS conditions, max(coverage) AS coverage
  FROM cluster_rules('fog', 1) r WHERE r.rule LIKE 'no rule%';
SELECT count(DISTINCT cluster) AS clusters FROM cluster_rules('fog', 1);
SELECT report('fog') ~ '<p>if *</p>' AS has_empty_condition,
       substring(report('fog') FROM 'no rule with 4 columns or fewer distinguishes this cluster') AS sentence;
SELECT drop_model('loans'), drop_model('fog');
-- Dates before Christ and far ahead have exact conditions, and a column may be called t, which is
-- the alias of the rows in the generated query.
CREATE TABLE ages AS SELECT i AS id, (ARRAY['4000-03-15 BC', '2024-01-01', '5000-01-01', '9999-12-31']::date[])[1 + i % 4] AS day,
       (ARRAY['9999-12-31', '4000-03-15 BC', '5000-01-01', '2024-01-01']::timestamptz[])[1 + i % 4] AS t FROM generate_series(1, 400) i;
SELECT train('ages', 'ages', '{t}'::name[], 4, options => '{"quiet": true}');
SELECT r.rule, condition, "precision", coverage FROM cluster_rules('ages') r ORDER BY 1;
SELECT drop_model('ages');
SELECT train('ages', 'ages', '{day}'::name[], 4, options => '{"quiet": true}');
SELECT r.rule, condition, "precision", coverage FROM cluster_rules('ages') r ORDER BY 1;
SELECT drop_model('ages');
SELECT train('ages', 'ages', '{day,t}'::name[], 4, options => '{"quiet": true}');
SELECT write_labels('ages', 'ages', 'labels_of_ages', '{"key": "id"}');
SELECT count(*) AS rows, count(DISTINCT cluster) AS clusters
  FROM labels_of_ages JOIN ages USING (id) GROUP BY day ORDER BY day;
DROP TABLE ages, labels_of_ages;
SELECT drop_model('ages');

-- ---- typical_rows ----
-- Typical rows are the nearest rows of each cluster, with all their columns.
SELECT count(*) AS rows, count(*) FILTER (WHERE t.distance = q.distance) AS nearest,
       count(*) FILTER (WHERE t.row_data = to_jsonb(c)) AS with_all_columns
  FROM typical_rows('kinds', 5) t JOIN customers c ON c.id = (t.row_data ->> 'id')::integer
  JOIN (SELECT id, predict('kinds', income, age, mood) AS cluster, predict_distance('kinds', income, age, mood) AS distance,
               row_number() OVER (PARTITION BY predict('kinds', income, age, mood) ORDER BY predict_distance('kinds', income, age, mood)) AS rank FROM customers) q
       ON (q.cluster, q.rank) = (t.cluster, t.rank);
-- A cluster with fewer rows than requested returns all, ties do not depend on the order of the
-- table, and a column may have the alias of the query.
CREATE TABLE ties AS SELECT 'row ' || i AS t, (i % 2)::float8 AS a FROM generate_series(1, 8) i;
SELECT train('ties', 'ties', '{a}'::name[], 2, options => '{"quiet": true}');
SELECT count(*) AS rows, count(DISTINCT row_data) AS different, min(rank), max(rank),
       max(distance) AS largest_distance FROM typical_rows('ties', 10);
CREATE TABLE other_order AS SELECT t, a FROM ties ORDER BY t DESC;
SELECT count(*) AS other_rows
  FROM (SELECT cluster, rank, row_data FROM typical_rows('ties', 2) EXCEPT SELECT cluster,
           rank, row_data FROM typical_rows('ties', 2, 'other_order')) q;
-- Rows that exceed the memory budget are an error; a wrong count or table is one, too.
CREATE TABLE long_rows AS SELECT i, i % 5 AS a, repeat(i::text, 2000) AS note FROM generate_series(1, 2000) i;
SELECT train('long', 'long_rows', '{a}'::name[], 2, options => '{"quiet": true}');
SET fastclust.memory_budget = '2MB';
SELECT typical_rows('long', 1000);
SELECT count(*) AS rows FROM typical_rows('long', 10);
RESET fastclust.memory_budget;
SELECT typical_rows('kinds', 0);
SELECT typical_rows('kinds', 1001);
SELECT typical_rows('kinds', NULL);
SELECT typical_rows('kinds', relation => 'blobs');

-- ---- score ----
-- Four rows have scores that can be computed by hand.
CREATE TABLE four (x real[]);
INSERT INTO four VALUES ('{0}'), ('{1}'), ('{10}'), ('{11}');
SELECT train('four', 'four', 'x', 2, options => '{"quiet": true}'), train('single', 'four', 'x', 1, options => '{"quiet": true}');
SELECT cluster, n, share, abs(silhouette - (2 - 0.5 / 10.5 - 0.5 / 9.5) / 2) < 1e-6
       AS silhouette_within_1e_6, abs(davies_bouldin - 0.1) < 1e-6 AS davies_bouldin_within_1e_6,
       abs(spread - 0.5) < 1e-6 AS spread_within_1e_6,
       abs(variance_explained - (1 - 1 / 101.0)) < 1e-6 AS explained_within_1e_6
  FROM score('four');
SELECT cluster, name, n, silhouette, davies_bouldin, abs(spread - sqrt(101 / 4.0)) < 1e-6
       AS spread_within_1e_6, abs(variance_explained) < 1e-6 AS explained_within_1e_6
  FROM score('single');
-- The scores of a model equal the aggregates over its encoded rows; sizes and shares add up.
SELECT abs(s.silhouette - q.silhouette) < 1e-6 AS silhouette_within_1e_6,
       abs(s.davies_bouldin - q.davies_bouldin) < 1e-6 AS davies_bouldin_within_1e_6,
       abs(s.variance_explained - 1 + v.objective / 3) < 1e-6 AS explained_within_1e_6
  FROM score('kinds') s, model_versions v,
       LATERAL (SELECT simplified_silhouette_agg(v.operator, encode_listed(v.encoder, true, income, age, mood)) AS silhouette,
                       davies_bouldin_agg(v.operator, encode_listed(v.encoder, true, income, age, mood)) AS davies_bouldin FROM customers) q
 WHERE s.cluster IS NULL AND v.model = 'kinds' AND v.version = 2;
SELECT count(*) AS entries, max(n) - sum(n) FILTER (WHERE cluster IS NOT NULL) AS rows_missing,
       abs(sum(share) FILTER (WHERE cluster IS NOT NULL) - 1) < 1e-12
       AS sum_of_shares_within_1e_12_of_1 FROM score('blobs');
SELECT score('kinds', 'blobs');

-- ---- predict_probabilities ----
-- Probabilities follow from Gaussians with the spreads and shares of the clusters. They sum to 1,
-- and the largest comes first.
SELECT count(*) AS clusters, max(abs(p.probability - q.probability)) < 1e-9
       AS within_1e_9_of_formula
  FROM predict_probabilities('blobs', ARRAY[1, 2, 3]) p
  JOIN (SELECT c.cluster, c.weight * d.p / sum(c.weight * d.p) OVER () AS probability
          FROM fastclust_internal.stored_versions v, centroids(v.operator) c,
               LATERAL (SELECT v.spreads[c.cluster + 1] ^ -3 * exp(-sum((u.x - (u.y - u.m) / u.s) ^ 2) / 2 / v.spreads[c.cluster + 1] ^ 2) AS p
                          FROM unnest(c.centroid, '{1,2,3}'::float8[], v.center, v.scale) u(x, y, m, s)) d WHERE v.model = 'blobs') q USING (cluster);
SELECT count(*) AS rows, count(*) FILTER (WHERE abs(total - 1) < 1e-12) AS sums_within_1e_12_of_1,
       count(*) FILTER (WHERE first) AS largest_first
  FROM (SELECT id, sum(p.probability) AS total, bool_and(p.probability >= 0 AND p.probability <= p.most) AS first
          FROM blobs, LATERAL (SELECT *, first_value(probability) OVER () AS most FROM predict_probabilities('blobs', blobs)) p WHERE id <= 500 GROUP BY id) q;
SELECT cluster = predict('four', '{0}'::real[]) AS is_cluster_of_0, round(probability::numeric, 6)
       AS probability FROM predict_probabilities('four', '{5.5}'::float8[]) ORDER BY 1;
SELECT probability FROM predict_probabilities('ties', 0) ORDER BY 1;
SELECT count(*) AS probabilities_of_null FROM predict_probabilities('ties', NULL::float8);
SELECT predict_probabilities('blobs', ARRAY[1, 2]);
SELECT predict_probabilities('nowhere to be found', ARRAY[1, 2]);

-- ---- plot ----
-- A plot is at most 100 columns wide, and says how many clusters it leaves out.
\set QUIET on
\pset format unaligned
\pset tuples_only on
\set QUIET off
SELECT plot('flat');
SELECT max(length(line)) <= 100 AS at_most_100_columns, count(*) > 20 AS over_20_lines
  FROM unnest(ARRAY[plot('kinds'), plot('blobs'), plot('vectors')]) p,
       regexp_split_to_table(p, '\n') line;
SELECT train('many', 'blobs', '{a,b,c}'::name[], 30, options => '{"quiet": true}');
SELECT right(plot('many'), 46);
-- Texts are cut or padded to a width in columns of the screen, where some characters take two.
SELECT fit_text('long text', 5, false), '|' || fit_text('日本', 6, true) || '|', '|' || fit_text('日本語', 4, false) || '|', fit_text(E'a\tb', 2, false), bar(0.55, 10, false), '|' || bar(-0.55, 10, true) || '|';
\set QUIET on
\pset format aligned
\pset tuples_only off
\set QUIET off

-- ---- models with groups, models with a kernel ----
-- Every function explains one group of a model, which must be named. A kernel model has neither
-- profile nor centroids, but rules, typical rows and scores.
SELECT train('shops', 'customers', '{income,age}'::name[], 3, options => '{"quiet": true, "group_by": "shop"}'),
       train('kernel', 'flat', 'x', 2, 'kernel', '{"quiet": true}');
SELECT count(*) AS entries FROM profile('shops', 'shop 1');
SELECT name_cluster('shops', 0, 'first', 'shop 1');
SELECT group_value, count(DISTINCT cluster), count(*) FILTER (WHERE name = 'first') AS named FROM model_centroids WHERE model = 'shops' GROUP BY 1 ORDER BY 1;
SELECT count(*) AS rows, count(*) FILTER (WHERE row_data ->> 'shop' = 'shop 1') AS of_the_group
  FROM typical_rows('shops', group_value => 'shop 1');
SELECT n FROM score('shops', group_value => 'shop 1') WHERE cluster IS NULL;
SELECT sum(rows), min(fidelity) > 0.95 AS fidelity_above_0_95
  FROM cluster_rules('shops', group_value => 'shop 1');
SELECT round(sum(probability)::numeric, 12) AS sum_of_probabilities
  FROM predict_probabilities('shops', ARRAY[30000, 25], group_value => 'shop 1');
SELECT count(*) AS probabilities_of_unknown_group
  FROM predict_probabilities('shops', ARRAY[30000, 25], group_value => 'shop 7');
SELECT round(sum(probability)::numeric, 12) AS sum_of_probabilities
  FROM predict_probabilities('kernel', '{1,1}'::real[]);
SELECT left(plot('shops', 'shop 1'), 28);
SELECT profile('shops');
SELECT profile('kinds', 'shop 1');
SELECT profile('shops', 'shop 7');
SELECT profile('kernel');
SELECT count(*) AS centroids FROM model_centroids WHERE model = 'kernel';
SELECT rule, name, fidelity FROM cluster_rules('kernel') ORDER BY rule;
SELECT count(*) AS rows FROM typical_rows('kernel', 2);
SELECT name, n FROM score('kernel') ORDER BY cluster;
SELECT name FROM model_clusters WHERE model = 'kernel';

-- ---- categories, flags, dates and logarithms ----
-- Each kind of column is shown in its own units. Here a function stands in for the encoder, so
-- that the rows can be numbers.
CREATE TABLE mixed AS SELECT i, (i % 2 = 0)::integer AS de, (i % 4 = 1)::integer AS fr, (i % 4 = 3)::integer AS other, (i % 2 = 0 AND i % 10 > 0)::integer AS churned,
       8000 + i % 2 * 500 + i % 7 AS since, ln(1 + 100 * (1 + i % 2 * 99)) AS spend FROM generate_series(1, 2000) i;
SELECT train('mixed', 'mixed', '{de,fr,other,churned,since,spend}'::name[], 2, options => '{"quiet": true}');
BEGIN;
CREATE OR REPLACE FUNCTION fastclust_internal.labelled_features(version fastclust_internal.stored_versions, OUT dimension integer, OUT feature text, OUT kind text, OUT category text, OUT label text, OUT axis_kind integer, OUT negated text, OUT nulls integer)
    RETURNS SETOF record LANGUAGE sql STABLE AS $$
    VALUES (1, 'country', 'category', 'DE', 'country = DE', 4, 'country <> DE', NULL::integer), (2, 'country', 'category', 'FR', 'country = FR', 4, 'country <> FR', NULL), (3, 'country', 'category', 'other', 'country = other', 4, 'country <> other', NULL),
           (4, 'churned', 'boolean', NULL, 'churned', 4, 'not churned', NULL), (5, 'since', 'date', NULL, 'since', 2, NULL, NULL), (6, 'spend', 'number', NULL, 'spend', 1, NULL, NULL)
$$;
SELECT feature, round(value::numeric, 3) AS value, round(overall::numeric, 3) AS overall, round(difference::numeric, 3) AS difference, round(lift::numeric, 3) AS lift, shown
  FROM profile('mixed') WITH ORDINALITY p (cluster, name, feature, value, overall, difference, lift, shown, i) ORDER BY (SELECT q.value FROM profile('mixed') q WHERE q.cluster = p.cluster AND q.feature = 'since'), i;
SELECT name FROM model_clusters WHERE model = 'mixed' ORDER BY 1;
SELECT rule, precision FROM cluster_rules('mixed', 1) ORDER BY 1;
SELECT rule FROM rules_of_sample((SELECT fastop_agg(x) FROM (VALUES ('{0,0}'::real[]), ('{1,0}'), ('{0,1}')) v(x)),
       (SELECT fastop_agg(x) FROM (SELECT ARRAY[(i % 3 = 1)::integer, (i % 3 = 2)::integer]::real[] AS x FROM generate_series(1, 30) i) q),
       (SELECT fastop_agg(x) FROM (SELECT ARRAY[(i % 3 = 1)::integer, (i % 3 = 2)::integer]::real[] AS x FROM generate_series(1, 30) i) q), '{4,4}', '{1,1}', 1) r,
       LATERAL (SELECT string_agg(format('%s: %s..%s', d, l, h), ', ' ORDER BY d) AS rule FROM unnest(r.dimensions, r.lower, r.upper) u(d, l, h)) t ORDER BY cluster;
ROLLBACK;
-- Each kind of shopper is described by the columns in which it differs, each in its own units.
CREATE TABLE shoppers AS SELECT i, i % 3 AS kind, (ARRAY['DE', 'FR', 'IT'])[1 + CASE WHEN i % 5 > 0 THEN i % 3 ELSE i % 2 END] AS country, exp(3 + 2 * (i % 3) + noise(i, 1)) AS spend,
       date '2020-01-01' + i % 3 * 400 + (100 * noise(i, 2))::integer AS since, i % 3 = 1 AS churned, interval '1 hour' * (5 + noise(i, 3)) AS stay FROM generate_series(1, 6000) i;
ANALYZE shoppers;
SELECT train('shop', 'shoppers', '{country,spend,since,churned,stay}'::name[], 3, options => '{"quiet": true, "encoder": {"transform": {"spend": "log"}}}');
SELECT kind, feature, shown FROM (SELECT DISTINCT kind, predict('shop', s) AS cluster FROM shoppers s) p JOIN profile('shop') USING (cluster)
 WHERE abs(difference) > 0.5 ORDER BY kind, feature COLLATE "C";
SELECT max(abs(p.value - q.days)) < 1e-3 AS dates_within_0_001_days
  FROM profile('shop') p JOIN (SELECT predict('shop', s) AS cluster,
           avg(since - date '2000-01-01') AS days FROM shoppers s GROUP BY 1) q USING (cluster)
 WHERE feature = 'since';
SELECT max(abs(p.value / q.spend - 1)) < 1e-5 AS logarithmic_means_within_1e_5
  FROM profile('shop') p JOIN (SELECT predict('shop', s) AS cluster,
           exp(avg(ln(1 + spend))) - 1 AS spend FROM shoppers s GROUP BY 1) q USING (cluster)
 WHERE feature = 'spend';
SELECT max(abs(p.value - q.share)) < 1e-5 AS shares_within_1e_5,
       max(abs(p.lift - q.share / q.overall)) < 1e-4 AS lifts_within_1e_4
  FROM profile('shop') p JOIN
       (SELECT predict('shop', s) AS cluster, avg((country = 'DE')::integer) AS share, (SELECT avg((country = 'DE')::integer) FROM shoppers) AS overall FROM shoppers s GROUP BY 1) q USING (cluster) WHERE feature = 'country = DE';
SELECT rule, precision, coverage FROM cluster_rules('shop') ORDER BY rule COLLATE "C";
SELECT count(*) AS rows, count(*) FILTER (WHERE abs(distance - predict_distance('shop', s)) < 1e-9)
       AS distances_within_1e_9
  FROM typical_rows('shop'),
       jsonb_populate_record(NULL::shoppers, row_data) s;
-- A threshold lies between two values, never on one, although 0.1 and 0.2 are rounded as
-- floating-point numbers.
CREATE TABLE decimals AS SELECT i, ((i % 3) * 0.1)::numeric AS rate, timestamp '2026-01-01' + (i % 3) * interval '10 seconds' AS seen, (i % 3) * interval '1 second' AS wait FROM generate_series(1, 900) i;
ANALYZE decimals;
SELECT train('decimals', 'decimals', '{rate}'::name[], 3, options => '{"quiet": true}');
SELECT rule, precision FROM cluster_rules('decimals') ORDER BY rule COLLATE "C";
SELECT train('decimals', 'decimals', '{seen}'::name[], 3, options => '{"quiet": true}');
SELECT rule, precision FROM cluster_rules('decimals') ORDER BY rule COLLATE "C";
SELECT shown FROM profile('decimals') ORDER BY value;
SELECT train('decimals', 'decimals', '{wait}'::name[], 3, options => '{"quiet": true}');
SELECT rule, precision FROM cluster_rules('decimals') ORDER BY rule COLLATE "C";
-- Times within a second keep their fractions: the conditions, read back, give all 1,000 labels.
CREATE TABLE instants AS SELECT timestamp '2026-01-01 12:00:00' + (i % 2) * interval '0.3 seconds' + i * interval '10 microseconds' AS seen, (i % 2) * interval '0.25 seconds' - i * interval '1 microsecond' AS wait FROM generate_series(1, 1000) i;
ANALYZE instants;
SELECT train('decimals', 'instants', '{seen}'::name[], 2, options => '{"quiet": true}');
SELECT count(*) AS same_label FROM cluster_rules('decimals') r,
       instants t WHERE r.cluster = predict('decimals', t) AND
       CASE WHEN r.rule LIKE 'seen <= %' THEN t.seen <= substr(r.rule, 9)::timestamp
       ELSE t.seen > substr(r.rule, 8)::timestamp END;
SELECT train('decimals', 'instants', '{wait}'::name[], 2, options => '{"quiet": true}');
SELECT count(*) AS same_label FROM cluster_rules('decimals') r,
       instants t WHERE r.cluster = predict('decimals', t) AND
       CASE WHEN r.rule LIKE 'wait <= %' THEN t.wait <= substr(r.rule, 9)::interval
       ELSE t.wait > substr(r.rule, 8)::interval END;
-- Numbers of 13 characters do not run into each other in a plot.
ALTER TABLE decimals ADD COLUMN views bigint;
UPDATE decimals SET views = 1000000000 * (1 + i % 3::bigint);
SELECT train('decimals', 'decimals', '{views}'::name[], 3, options => '{"quiet": true}');
SELECT count(*) FILTER (WHERE line ~ ' [0-9,]{11,13} [0-9,]{11,13}$')
       AS lines_with_separate_numbers, max(length(line)) AS columns
  FROM regexp_split_to_table(plot('decimals'), E'\n') line WHERE line LIKE '%  views%';
-- Values are shown rounded for people, or exactly.
SELECT x, kind, shown_value(x, kind, false), shown_value(x, kind, true) FROM (VALUES
    (0::float8, 'number'), (1234567.8, 'number'), (999.96, 'number'), (-12.3456, 'number'), (0.000012345, 'number'), (1e20, 'number'), ('NaN', 'number'), (0.5, 'category'), (0.0996, 'boolean'), (0.0001, 'category'), (0, 'category'), (1, 'boolean'),
    (0, 'date'), (8800, 'date'), (-1, 'date'), (1e9, 'date'), (0, 'timestamp'), (86461.7, 'timestamp'), (-30, 'timestamp'), (93784, 'interval'), (-86400, 'interval'), (59.6, 'interval'), (2014.4, 'year'), (12345, 'year')) v (x, kind);
-- ---- describe ----
-- A model is described in at most 4 kB, with the figures of score and of the views.
SELECT train('kinds', 'customers', '{income,age,mood}', 3, options => '{"quiet": true}');
SELECT describe('kinds') - '{trained_at,quality,clusters,version,versions}'::text[] AS model;
SELECT d -> 'quality' ->> 'variance_explained' = round(s.variance_explained::numeric, 4)::text
       AS explained_is_that_of_score, jsonb_array_length(d -> 'clusters') AS clusters
  FROM describe('kinds') d, score('kinds') s WHERE s.cluster IS NULL;
SELECT count(*) AS clusters,
       count(*) FILTER (WHERE c.size = (d ->> 'size')::bigint AND c.name = d ->> 'name'
           AND abs(c.spread - (d ->> 'spread')::float8) < 1e-12
               AND abs(c.share - (d ->> 'share')::float8) < 1e-4) AS as_in_view
  FROM jsonb_array_elements(describe('kinds') -> 'clusters') d JOIN model_clusters c ON c.model = 'kinds' AND c.cluster = (d ->> 'cluster')::integer;
SELECT d ->> 'group_by' AS group_by, d ->> 'group_count' AS group_count,
       d ? 'clusters' AS has_clusters, d #> '{groups,0,group}' AS first_group, d #> '{groups,0,k}'
       AS k FROM describe('shops') d;
-- A large model is cut to its largest clusters, its first columns and its shortest options.
CREATE TABLE thousand AS SELECT ARRAY[i % 1000, i * 7 % 13]::real[] AS x FROM generate_series(1, 5000) i;
ANALYZE thousand;
SELECT train('thousand', 'thousand', 'x', 1000, options => '{"quiet": true}');
SELECT name_cluster('thousand', (c ->> 'cluster')::integer, repeat('"', 200)) FROM jsonb_path_query(describe('thousand'), '$.clusters[2]') c;
SELECT octet_length(d::text) BETWEEN 3000 AND 4096 AS from_3000_to_4096_bytes, d -> 'k' AS k,
       jsonb_array_length(d -> 'clusters') BETWEEN 10 AND 100 AS from_10_to_100_clusters,
       d #> '{clusters,0,size}' AS first_size,
       (SELECT max(size) FROM model_clusters WHERE model = 'thousand') AS largest_size
  FROM describe('thousand') d;
DO $$BEGIN EXECUTE (SELECT format('CREATE TABLE wide AS SELECT %s FROM generate_series(1, 1000) i', string_agg(format('i %% %s AS %I', j + 2, rpad(j || '"', 63, '"')), ', '))
                        FROM generate_series(1, 40) j); END$$;
ANALYZE wide;
SELECT train('wide', 'wide', ARRAY(SELECT attname FROM pg_attribute WHERE attrelid = 'wide'::regclass AND attnum > 0 ORDER BY attnum), 20,
             options => jsonb_build_object('quiet', true, 'where', format('%I < 3', rpad('1"', 63, '"')) || repeat(' AND true', 100)));
SELECT octet_length(d::text) <= 4096 AS at_most_4096_bytes, d ->> 'column_count' AS column_count,
       jsonb_array_length(d -> 'columns') BETWEEN 1 AND 10 AS from_1_to_10_columns,
       d -> 'options' AS options,
       jsonb_array_length(d -> 'clusters') > 0 AS has_clusters FROM describe('wide') d;
-- A user without rights on a model gets no description of it.
CREATE ROLE fastclust_stranger;
SET ROLE fastclust_stranger;
SELECT describe('kinds');
RESET ROLE;
DROP ROLE fastclust_stranger;
SELECT describe(NULL);

-- ---- NULLs ----
-- Differences are in standard deviations of the values, so NULLs do not count, also if a retraining
-- has more of them: the greatest error of a difference is below 0.02.
CREATE TABLE gaps AS
SELECT i AS id, i % 2 * 10 + noise(i, 1) AS a, CASE WHEN noise(i, 2) > -0.2 THEN i % 2 * 10 + 3 * noise(i, 3) END AS b,
       (ARRAY['app', 'web', 'shop'])[1 + i % 3] AS channel, CASE WHEN i % 3 < 2 THEN noise(i, 4) > 0 END AS voucher
  FROM generate_series(1, 6000) i;
ANALYZE gaps;
SELECT train('gaps', 'gaps', '{a,b}'::name[], 2, options => '{"quiet": true}'),
       train('robust gaps', 'gaps', '{a,b}'::name[], 2, options => '{"quiet": true, "encoder": {"transform": "robust"}}');
CREATE FUNCTION error_of_differences(model text) RETURNS boolean LANGUAGE sql AS $$
    SELECT max(abs(p.difference - t.difference)) < 0.02
      FROM profile(model) p
      JOIN (SELECT predict(model, g) AS cluster, (avg(g.b) - max(o.mean)) / max(o.deviation) AS difference
              FROM gaps g CROSS JOIN (SELECT avg(b) AS mean, stddev(b) AS deviation FROM gaps) o GROUP BY 1) t USING (cluster)
     WHERE p.feature = 'b'
$$;
SELECT error_of_differences('gaps') AS standard, error_of_differences('robust gaps') AS robust;
-- A version made from a sketch does not count NULLs. Rows that "skip" leaves out are not in the sketch.
SELECT train('skipped gaps', 'gaps', '{a,b}'::name[], 2, 'compressive', '{"quiet": true, "encoder": {"nulls": "skip"}}');
SELECT retrain('skipped gaps', '{"quiet": true}', (SELECT sketch_agg(encode_row(model_encoder('skipped gaps'), g, scaled => false), (SELECT model_spec('skipped gaps'))) FROM gaps g)),
       error_of_differences('skipped gaps') AS skipped;
UPDATE gaps SET b = NULL WHERE id % 5 < 3;
SELECT retrain('gaps'), error_of_differences('gaps') AS after_retraining;
-- A rule that only rows with a NULL meet says so.
SELECT train('vouchers', 'gaps', '{voucher,channel}'::name[], 4, options => '{"quiet": true}');
SELECT rule, condition FROM cluster_rules('vouchers') WHERE condition LIKE '%voucher IS NULL%';

-- A sample has a positive number of rows.
SELECT version_query(v, 'gaps', NULL, -1) FROM stored_versions v WHERE v.model = 'vouchers';
SELECT rows_sampled(v, 'gaps', NULL, 'NaN') FROM stored_versions v WHERE v.model = 'vouchers';

\set QUIET on
SELECT drop_model(model) FROM models WHERE model IN ('gaps', 'robust gaps', 'skipped gaps', 'vouchers', 'kinds', 'flat', 'one', 'vectors', 'blobs', 'ties', 'four', 'single', 'many', 'shops', 'kernel', 'mixed', 'long', 'shop', 'decimals', 'thousand', 'wide') \g /dev/null
SELECT count(*) AS names_left FROM fastclust_internal.stored_names;
DROP SCHEMA of_explain CASCADE;
