-- A version trained with activate = false is a candidate: it can be used by its number, compared
-- and checked, and serves only after use_version.
-- Nothing that users read changes before that.
CREATE TABLE cells AS
    SELECT i AS id, 'shop ' || i % 2 AS shop, i % 6 AS cell, ARRAY[i % 3 * 5 + sin(i), i % 2 * 5 + cos(i)]::real[] AS x, i % 3 * 5 + sin(i) AS a, i % 2 * 5 + cos(i) AS b
      FROM generate_series(1, 6000) i;
ANALYZE cells;
CREATE FUNCTION failure(statement text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    state text;
    said text;
    hint text;
BEGIN
    EXECUTE statement;
    RETURN 'no error';
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS state = RETURNED_SQLSTATE, said = MESSAGE_TEXT, hint = PG_EXCEPTION_HINT;
    RETURN concat_ws(' | ', state, said, NULLIF(hint, ''));
END
$$;

-- After a first training with activate = false there is no current version, and every function
-- says so; with the argument version, all of them work.
SELECT train('kinds', 'cells', 'x', 6, options => '{"activate": false}');
SELECT version, versions, k, n, groups FROM models WHERE model = 'kinds';
SELECT version, serves, k, n, options FROM model_versions WHERE model = 'kinds';
SELECT call, failure(format('SELECT %s FROM cells LIMIT 1', call)) FROM unnest(ARRAY['predict(''kinds'', x)', 'predict(''kinds'', a, b)', 'predict_all(''kinds'', x, 3)', 'anomaly(''kinds'', cells)',
    'drift(''kinds'')', 'score(''kinds'')', 'profile(''kinds'')', 'describe(''kinds'')', 'report(''kinds'')', 'model_spec(''kinds'')', 'model_operator(''kinds'')', 'retrain(''kinds'')',
    'retrain_if_drifted(''kinds'')', 'name_cluster(''kinds'', 0, ''one'')']) call;
SELECT adjusted_rand_agg(cell, predict('kinds', x, version => 1)) AS rand,
       count(*) FILTER (WHERE predict('kinds', c, version => 1)
           <> predict('kinds', x, version => 1)) AS other_labels_by_row,
       count(*) FILTER (WHERE predict_distance('kinds', x, version => 1) <> assign_distance(v.operator, x) OR predict_path('kinds', x, version => 1) <> ARRAY[assign(v.operator, x)]
                           OR predict('kinds', x, version => 1, max_distance => 0) IS NOT NULL
                           OR (SELECT p.cluster
                               FROM predict_probabilities('kinds', x, version => 1) p
                                   ORDER BY p.probability DESC LIMIT 1) <> assign(v.operator, x))
       AS other_answers
  FROM cells c, model_versions v WHERE v.model = 'kinds';
SELECT verdict, n FROM drift('kinds', version => 1);
SELECT version, count(*) AS entries, max(n) AS n, count(labels_changed) AS comparisons
  FROM score('kinds', version => 1) GROUP BY 1;
SELECT use_version('kinds', 1);
SELECT adjusted_rand_agg(cell, predict('kinds', x)) AS rand FROM cells;
SELECT version, serves FROM model_versions WHERE model = 'kinds';

-- score compares a candidate with the current version on the same rows: how many labels change,
-- and the figures of both.
SELECT retrain('kinds', '{"k": 5, "activate": false}');
CREATE TABLE labels AS SELECT id, predict('kinds', x) AS now, predict('kinds', x, version => 1) AS first, predict('kinds', x, version => 2) AS second FROM cells;
SELECT count(*) FILTER (WHERE now <> first) AS current_is_not_first, count(DISTINCT first)
       AS clusters_of_first, count(DISTINCT second) AS clusters_of_second FROM labels;
SELECT count(*) FILTER (WHERE predict('kinds', c.x, version => 1 + id % 2) <>
       CASE id % 2 WHEN 0 THEN l.first ELSE l.second END) AS other_labels_by_version_of_row,
       count(*) FILTER (WHERE predict('kinds', c.x, NULL, NULL, 2) <> l.second)
       AS other_labels_by_position FROM cells c JOIN labels l USING (id);
SELECT s.version, count(s.cluster) AS clusters, max(s.n) AS n,
       max(s.labels_changed) = max(l.changed) AS share_as_counted,
       max(s.labels_changed) BETWEEN 0.1 AND 0.35 AS share_from_0_1_to_0_35
  FROM score('kinds', version => 2) s, (SELECT avg((now <> second)::int)::float8 AS changed FROM labels) l GROUP BY 1 ORDER BY 1;
-- A version in the place of the relation is an error that says how to name it.
SELECT * FROM score('kinds', 2);
SELECT count(*) AS entries,
       count(*) FILTER (WHERE o.silhouette = s.silhouette AND o.n = s.n AND o.name = s.name)
       AS same_figures
  FROM score('kinds') o JOIN score('kinds', version => 2) s USING (version, cluster);
SELECT version, max(labels_changed) AS labels_changed, count(*) AS entries
  FROM score('kinds', version => 1) GROUP BY 1;
-- Clusters with other numbers are matched first, by their centroids, or by the labels of the rows
-- if a version has kernel features.
SELECT retrain('kinds', '{"activate": false, "seed": 5}'), retrain('kinds', '{"activate": false, "method": "kernel"}');
UPDATE fastclust_internal.version_groups SET operator = fastclust_internal.joined_clusters(operator, '{3,4,5,0,1,2}') WHERE model_id = (SELECT id FROM fastclust_internal.stored_models WHERE model = 'kinds') AND version > 2;
SELECT v AS version, (SELECT avg((predict('kinds', x) <> predict('kinds', x, version => v))::int)
  FROM cells) AS share_without_matching, s.labels_changed < 0.01 AS labels_changed_below_0_01
  FROM generate_series(3, 4) v, score('kinds', version => v) s WHERE s.version = v AND s.cluster IS NULL;
-- A candidate with other columns is not compared; its own figures are shown.
SELECT train('kinds', 'cells', ARRAY['a', 'b'], 6, options => '{"activate": false}');
SELECT s.version, count(*) AS entries, max(s.labels_changed) AS labels_changed
  FROM score('kinds', version => 5) s GROUP BY 1;
SELECT adjusted_rand_agg(cell, predict('kinds', c, version => 5)) AS rand FROM cells c;

-- The next training takes the next number and continues from the current version. The option keep
-- removes old versions, never the current one or candidates after it.
SELECT retrain('kinds', '{"activate": false, "keep": 0}');
SELECT array_agg(version ORDER BY version) AS versions, max(version) FILTER (WHERE serves) AS serves FROM model_versions WHERE model = 'kinds';
SELECT version, k, features, churn < 0.01 AS churn_below_0_01
  FROM model_versions WHERE model = 'kinds' AND version = 6;
SELECT use_version('kinds', 3);
SELECT retrain('kinds', '{"activate": false, "keep": 1}');
SELECT array_agg(version ORDER BY version) AS versions, max(version) FILTER (WHERE serves) AS serves FROM model_versions WHERE model = 'kinds';
-- A retraining does not inherit activate = false; retrain_if_drifted takes it as an option.
SELECT use_version('kinds', 7), retrain('kinds', '{"keep": 2}');
SELECT array_agg(version ORDER BY version) AS versions, max(version) FILTER (WHERE serves)
       AS serves, bool_or(options ? 'activate') FILTER (WHERE serves) AS has_option_activate
  FROM model_versions WHERE model = 'kinds';
SELECT retrain_if_drifted('kinds', options => '{"activate": false}') AS new_version;
CREATE TABLE moved AS SELECT id, shop, x[1:1] || (x[2] + 3)::real AS x FROM cells;
SELECT retrain_if_drifted('kinds', options => '{"activate": false, "relation": "public.moved"}');
SELECT (SELECT version FROM models WHERE model = 'kinds') AS current, d.version, d.new_version FROM drift_log d WHERE d.verdict = 'drifted';
SELECT (SELECT verdict FROM drift('kinds', 'moved')) AS verdict_of_current,
       (SELECT verdict FROM drift('kinds', 'moved', version => 9)) AS verdict_of_candidate;

-- A prepared query may take the version as a parameter, and sees a version only as long as its
-- transaction lasts.
BEGIN;
SELECT retrain('kinds', '{"k": 2, "activate": false}');
PREPARE asked(integer) AS SELECT count(DISTINCT predict('kinds', x, version => $1)) AS clusters
  FROM cells;
EXECUTE asked(10);
ROLLBACK;
EXECUTE asked(10);
EXECUTE asked(NULL);
EXECUTE asked(9);
DEALLOCATE asked;

-- The version decides about groups, also where the current version has none.
SELECT train('shops', 'cells', 'x', 3), train('shops', 'cells', 'x', 3, options => '{"group_by": "shop", "activate": false}');
SELECT count(*) FILTER (WHERE predict('shops', c, version => 2)
       <> predict('shops', x, shop, version => 2)) AS other_labels_by_row,
       count(predict('shops', x, 'none', version => 2)) AS labels_of_unknown_group,
       count(DISTINCT (shop, predict('shops', c, version => 2))) AS clusters,
       count(predict('shops', x)) AS labels_of_current FROM cells c;
SELECT value, verdict, n FROM drift('shops', by => 'group', version => 2) ORDER BY 1;
SELECT version, count(*) AS entries, max(labels_changed) AS labels_changed
  FROM score('shops', group_value => 'shop 1', version => 2) GROUP BY 1;
SELECT use_version('shops', 2), train('shops', 'cells', 'x', 2, options => '{"group_by": "shop", "activate": false}');
SELECT version, count(*) AS entries, max(labels_changed) BETWEEN 0.1 AND 0.9
       AS labels_changed_from_0_1_to_0_9
  FROM score('shops', group_value => 'shop 1', version => 3) GROUP BY 1 ORDER BY 1;

-- A candidate can be trained from a sketch; the live sketch stays with the current version.
SELECT train('live', 'cells', 'x', 6, 'compressive', '{"live": true, "iterations": 0}');
SELECT retrain('live', '{"activate": false, "k": 4}'), retrain('live', '{"activate": false, "replace": true}', sketch => (SELECT training_sketch FROM model_versions WHERE model = 'live' AND version = 1)),
       retrain('live', '{"activate": false, "live": false, "iterations": 1}');
SELECT version, serves, k FROM model_versions WHERE model = 'live' ORDER BY 1;
SELECT (SELECT verdict FROM drift('live', version => 2)) AS verdict_of_candidate,
       (SELECT count(*) FROM live_sketches WHERE model = 'live') AS live_sketches;

-- A reader of a model may use every version that model_versions shows; a stranger learns nothing
-- of any.
CREATE ROLE candidates_reader; CREATE ROLE candidates_stranger; GRANT SELECT ON cells TO candidates_reader, candidates_stranger; GRANT EXECUTE ON FUNCTION failure TO PUBLIC;
SELECT grant_model('kinds', 'candidates_reader');
SET ROLE candidates_reader;
SELECT count(predict('kinds', x, version => 9)) AS labels FROM cells;
SELECT failure($$SELECT use_version('kinds', 9)$$), failure($$SELECT predict('kinds', '{1,2}', version => 99)$$);
SET ROLE candidates_stranger;
SELECT failure($$SELECT predict('kinds', '{1,2}', version => 9)$$), failure($$SELECT predict('kinds', '{1,2}', version => 99)$$), failure($$SELECT drift('kinds', version => 9)$$),
       failure($$SELECT score('kinds', version => 99)$$);
RESET ROLE;

-- A version that does not exist, and a candidate where there cannot be one, are errors.
SELECT statement, failure(statement) FROM unnest(ARRAY[
    $$SELECT predict('kinds', '{1,2}', version => 99)$$,
    $$SELECT predict('kinds', '{1,2}', version => 0)$$,
    $$SELECT predict('kinds', '{1,2}', version => -2)$$,
    $$SELECT predict('kinds', '{1,2}', version => NULL)$$,
    $$SELECT predict('shops', '{1,2}', 'none', version => 7)$$,
    $$SELECT predict('shops', '{1,2}', version => 2)$$,
    $$SELECT predict('shops', '{1,2}', 'shop 1', version => 1)$$,
    $$SELECT predict_distance('kinds', '{1,2}', version => (SELECT max(version) FROM model_versions WHERE model = 'nobody'))$$,
    $$SELECT predict_path('kinds', '{1,2}', version => 99)$$,
    $$SELECT predict_probabilities('kinds', '{1,2}', version => 99)$$,
    $$SELECT predict('nobody', '{1,2}', version => 1)$$,
    $$SELECT drift('kinds', version => 99)$$,
    $$SELECT drift('kinds', version => NULL)$$,
    $$SELECT score('kinds', version => 0)$$,
    $$SELECT score('kinds', version => NULL)$$,
    $$SELECT use_version('kinds', 99)$$,
    $$SELECT use_version('kinds', -1)$$,
    $$SELECT use_version('kinds', NULL)$$,
    $$SELECT train('kinds', 'cells', 'x', 2, options => '{"activate": 1}')$$,
    $$SELECT choose_k('cells', 'x', 4, '{"activate": false}')$$,
    $$SELECT train('fresh', 'cells', 'x', 2, options => '{"activate": false, "live": true}')$$,
    $$SELECT retrain('live', '{"activate": false, "iterations": 2}')$$]) statement;

SELECT count(drop_model(model)) AS models_dropped FROM models;
DROP TABLE cells, labels, moved; DROP ROLE candidates_reader, candidates_stranger; DROP FUNCTION failure;

-- The sample of a model with groups has as many rows of a small group as of a large one, as far
-- as the group has them.
CREATE TABLE unequal AS SELECT CASE WHEN i % 20 = 0 THEN 'few' ELSE 'many' END AS kind, ARRAY[i % 2 * 9 + sin(i), cos(i * 0.7)]::real[] AS x FROM generate_series(1, 40000) i;
ANALYZE unequal;
SELECT train('unequal', 'unequal', 'x', 2, options => '{"group_by": "kind", "quiet": true}');
SELECT note FROM training_log WHERE model = 'unequal' AND step = 'k-means';
SELECT drop_model('unequal');
-- changed_labels ignores an operator of other clusters, or of other dimensions, that is given as the
-- new one in the coordinates of the old one.
SELECT fastclust_internal.changed_labels(five, sample, five, sample, other) AS changed
  FROM (SELECT kmeans_agg(ARRAY[i % 5, 1], 5) AS five, fastop_agg(ARRAY[i % 5, 1]) AS sample FROM generate_series(1, 100) i) o,
       LATERAL (SELECT NULL::fastop UNION ALL SELECT kmeans_agg(ARRAY[i % 2, 1], 2) FROM generate_series(1, 100) i UNION ALL
                SELECT kmeans_agg(array_fill(i % 5, '{4000}'), 5) FROM generate_series(1, 20) i) m(other);
DROP TABLE unequal;
