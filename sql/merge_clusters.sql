-- merge_clusters makes one cluster of several. It gets the number and the name of the largest of
-- them, and every other cluster keeps its number and name, in all functions and later versions.
-- A name never passes to other rows by accident. If it did, users would read a label that they
-- gave to something else.
SELECT setseed(0.5);
CREATE TABLE events AS
SELECT i AS id, p.x + 0.9 * (i * 0.618034 - floor(i * 0.618034))::float8 AS x, ARRAY[p.x + (i * 0.754878 - floor(i * 0.754878)), p.y + (i * 0.569840 - floor(i * 0.569840))]::real[] AS v
  FROM generate_series(1, 6000) i, LATERAL (SELECT (ARRAY[0, 10, 30, 35, 35, 60])[1 + i % 6] AS x, (ARRAY[0, 50, 0, 50, 0, 50])[1 + i % 6] AS y) p;
ALTER TABLE events ADD PRIMARY KEY (id);
SELECT train('events', 'events', '{x}', 5, options => '{"quiet": true}') AS version;
CREATE FUNCTION at(place real) RETURNS integer LANGUAGE sql AS $$ SELECT predict('events', ARRAY[place]) $$;
CREATE FUNCTION named(model text) RETURNS TABLE (name text, mean numeric, size bigint) LANGUAGE sql AS $$
    SELECT name, round(centroid[1]::numeric), size FROM model_clusters WHERE model_clusters.model = $1 ORDER BY 2
$$;
SELECT count(name_cluster('events', cluster, 'about ' || round(centroid[1] - 0.5))) AS named FROM model_clusters WHERE model = 'events';
SELECT write_labels('events', 'events', 'labels', '{"name": true, "follow": true}') AS rows;
CREATE TABLE before AS SELECT l.*, e.x FROM labels l JOIN events e USING (id);
CREATE TABLE was AS SELECT cluster, name, centroid FROM model_clusters WHERE model = 'events';
SELECT merge_clusters('events', ARRAY['about 30', 'about 35']) AS version;
SELECT * FROM named('events');
-- Clusters that were not merged keep number, name and centroid; all merged rows have the number
-- of the larger cluster, `about 35`.
SELECT count(*) AS clusters, count(*) FILTER (WHERE now.name = was.name) AS same_name,
       count(*) FILTER (WHERE abs(now.centroid[1] - was.centroid[1]) < 1e-4) AS centroid_within_1e_4
  FROM model_clusters now JOIN was USING (cluster) WHERE model = 'events';
SELECT b.cluster_name AS before, l.cluster_name AS now, count(*) AS rows,
       count(*) FILTER (WHERE l.cluster = b.cluster) AS same_number,
       count(*) FILTER (WHERE l.cluster = predict('events', e) AND l.cluster_name
           = predict_name('events', e)) AS as_predicted
  FROM labels l JOIN before b USING (id) JOIN events e USING (id) GROUP BY 1, 2 ORDER BY min(b.x);
-- Every function and view that shows clusters has these numbers and no other.
CREATE TABLE numbers AS SELECT cluster FROM model_clusters WHERE model = 'events';
SELECT q.of, count(*) AS clusters,
       array_agg(q.cluster ORDER BY q.cluster)
       = (SELECT array_agg(n.cluster ORDER BY n.cluster) FROM numbers n) AS same_numbers
  FROM (SELECT 'assign' AS of, assign(model_operator('events'), encode_row(model_encoder('events'), e)) AS cluster FROM events e GROUP BY 2
  UNION ALL SELECT 'predict', predict('events', e) FROM events e GROUP BY 2
  UNION ALL SELECT 'path', (predict_path('events', e))[1] FROM events e GROUP BY 2
  UNION ALL SELECT 'all', a.cluster FROM predict_all('events', ARRAY[1.0], 9) a
  UNION ALL SELECT 'nearest', n FROM unnest(nearest(model_operator('events'), '{0}'::real[], 9)) n
  UNION ALL SELECT 'probabilities', p.cluster FROM predict_probabilities('events', ARRAY[1.0]) p
  UNION ALL SELECT 'centroids', c.cluster FROM centroids(model_operator('events')) c
  UNION ALL SELECT 'model_centroids', c.cluster FROM model_centroids c WHERE model = 'events'
  UNION ALL SELECT 'nearest cluster', c.cluster FROM model_clusters c JOIN model_clusters d ON d.model = c.model AND d.cluster = c.nearest_cluster WHERE c.model = 'events'
  UNION ALL SELECT 'profile', p.cluster FROM profile('events') p
  UNION ALL SELECT 'rules', r.cluster FROM cluster_rules('events') r GROUP BY 2
  UNION ALL SELECT 'score', s.cluster FROM score('events') s WHERE s.cluster IS NOT NULL AND s.version = 2
  UNION ALL SELECT 'typical', t.cluster FROM typical_rows('events', 1) t
  UNION ALL SELECT 'index', i.id FROM index_centroids('events') i
  UNION ALL SELECT 'tree', t.node FROM cluster_tree('events') t WHERE t.centroid IS NOT NULL
  UNION ALL SELECT 'report', r.n[1]::integer FROM regexp_matches(report('events'), 'id="cluster-([0-9]+)"', 'g') r(n)
  UNION ALL SELECT 'plot', p.n[1]::integer FROM regexp_matches(split_part(plot('events'), 'lower than all', 1), '\n +([0-9]+)  about', 'g') p(n)
  UNION ALL SELECT 'describe', (d ->> 'cluster')::integer FROM jsonb_array_elements(describe('events') -> 'clusters') d) q GROUP BY 1 ORDER BY 1;
SELECT k, (SELECT count(*) FROM cluster_tree('events')) AS nodes, (SELECT count(*) FROM cluster_tree('events') WHERE parent IS NULL) AS roots FROM models WHERE model = 'events';
SELECT count(*) AS clusters,
       count(*) FILTER (WHERE p.cluster = predict('events', ARRAY[c.centroid[1]]))
       AS nearest_is_first FROM model_clusters c, predict_all('events', c.centroid, 1) p
 WHERE c.model = 'events';
SELECT count(*) AS other_clusters, bool_and(s.spread BETWEEN 0.01 AND 0.02)
       AS spreads_from_0_01_to_0_02
  FROM model_clusters s
 WHERE model = 'events' AND name NOT IN ('about 35');
-- Numbers and names stay in retrainings; a cluster that is added has no name.
SELECT retrain('events', '{"quiet": true, "frozen": true}') AS version;
SELECT count(*) AS same_number_and_name FROM model_clusters now JOIN was USING (cluster, name)
 WHERE now.model = 'events';
UPDATE events SET x = x + 0.25;
SELECT retrain('events', '{"quiet": true, "frozen": true, "k": 5}') AS version;
SELECT count(*) AS clusters, count(was.cluster) AS same_number_and_name,
       count(*) FILTER (WHERE was.cluster IS NULL AND now.name NOT LIKE 'about%') AS added
  FROM model_clusters now LEFT JOIN was USING (cluster, name) WHERE now.model = 'events';
-- The version before the merge has all its clusters and names.
SELECT use_version('events', 1);
SELECT count(*) AS same_number_and_name FROM model_clusters now JOIN was USING (cluster, name)
 WHERE now.model = 'events';

-- Clusters are given as integers of any size, as text or as names, in literals and in parameters
-- without a type.
-- A sample by values does not depend on where a server stores updated rows, which differs by
-- version.
SELECT drop_model('events');
SELECT train('events', 'events', '{x}', 5, options => '{"quiet": true, "sample": "hash"}') AS version;
SELECT merge_clusters('events', ARRAY[at(0.75), at(10.75)]) AS version;
SELECT merge_clusters('events', ARRAY[at(0.75)::text, at(30.75)::text]) AS version;
SELECT merge_clusters('events', ARRAY[at(0.75), at(35.75)]::bigint[]) AS version;
SELECT * FROM named('events');
SELECT use_version('events', 1);
SELECT count(name_cluster('events', cluster, 'at, ' || round(centroid[1]))) AS named FROM model_clusters WHERE model = 'events';
BEGIN;
SELECT merge_clusters('events', '{"at, 1","at, 11"}') AS version;
ROLLBACK;
BEGIN;
SELECT merge_clusters('events', ARRAY['at, 1', 'at, 11']::name[]) AS version;
ROLLBACK;
PREPARE merge AS SELECT merge_clusters('events', $1) AS version;
EXECUTE merge('{"at, 1","at, 11"}');
SELECT name, size FROM named('events') ORDER BY mean;
-- If the largest cluster has no name, the merged one takes the name of the largest that has one.
SELECT use_version('events', 1);
SELECT count(name_cluster('events', cluster, NULL)) AS unnamed FROM model_clusters WHERE model = 'events';
SELECT name_cluster('events', at(30.75), 'small'), name_cluster('events', at(10.75), 'ten');
SELECT merge_clusters('events', ARRAY[at(30.75), at(35.75)]) AS version;
SELECT name, mean, size FROM named('events') WHERE name IN ('small', 'ten');

-- A name that does not exist, that two clusters have or that is also a number is an error that
-- lists what to give instead.
SELECT use_version('events', 1);
SELECT name_cluster('events', at(0.75), 'start'), name_cluster('events', at(30.75), 'ten'), name_cluster('events', at(35.75), at(0.75)::text), name_cluster('events', at(60.75), '2024');
CREATE FUNCTION messages(statement text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE hint text; detail text;
BEGIN
    EXECUTE statement;
    RETURN NEXT 'no error';
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT, detail = PG_EXCEPTION_DETAIL;
    RETURN NEXT SQLSTATE || ' ' || SQLERRM;
    RETURN QUERY SELECT m FROM unnest(ARRAY[detail, hint]) m WHERE m <> '';
END $$;
SELECT regexp_replace(m, '(named?|number|ARRAY\[|are|another,) ?["0-9, ]{1,7}', '\1 ..') AS message
  FROM unnest(ARRAY[$$SELECT merge_clusters('events', '{start,ten}')$$, $$SELECT merge_clusters('events', '{start,ton}')$$, $$SELECT merge_clusters('events', '{start,2024,""}')$$,
    $$SELECT merge_clusters('events', format('{%s,start}', at(0.75))::text[])$$, $$SELECT merge_clusters('events', '{start,9}')$$, $$SELECT merge_clusters('events', '{start,-1}')$$,
    $$SELECT merge_clusters('events', ARRAY['start', NULL])$$, $$SELECT merge_clusters('events', '{start,start}')$$, $$SELECT merge_clusters('events', '{}')$$, $$SELECT merge_clusters('events', 'start')$$,
    $$SELECT merge_clusters('events', NULL)$$, $$SELECT merge_clusters('events', NULL::text[])$$, $$SELECT merge_clusters('events', '{99999999999,0}')$$,
    $$SELECT merge_clusters('events', '{99999999999,0}'::bigint[])$$, $$SELECT merge_clusters('events', '{0,1}'::float[])$$]) WITH ORDINALITY s(s, i), messages(s) WITH ORDINALITY m(m, j) ORDER BY i, j;
SELECT count(*) AS models_at_version_1 FROM models WHERE model = 'events' AND version = 1;

-- A number freed by a merge is no cluster any more: naming, pinning or merging it is an error
-- that lists the numbers there are.
SELECT import_model('given', 'events', '{x}', ARRAY[[0.5], [10.5], [30.5], [35.5], [60.5]],
       '{"quiet": true}') AS version;
SELECT merge_clusters('given', '{1,2}') AS version;
SELECT array_agg(cluster ORDER BY cluster) AS numbers FROM model_clusters WHERE model = 'given';
SELECT m FROM unnest(ARRAY[$$SELECT name_cluster('given', 2, 'free')$$, $$SELECT pin_cluster('given', 2)$$, $$SELECT merge_clusters('given', '{0,2}')$$]) WITH ORDINALITY s(s, i), messages(s) m ORDER BY i;
-- Pinned clusters stay pinned, except the merged ones.
SELECT pin_cluster('given', 0), pin_cluster('given', 4);
SELECT merge_clusters('given', '{0,1}') AS version;
SELECT array_agg(cluster ORDER BY cluster) AS numbers, (SELECT options -> 'pinned' FROM model_versions WHERE model = 'given' AND serves) AS pinned FROM model_clusters WHERE model = 'given';
UPDATE events SET x = x + 1;
SELECT retrain('given', '{"quiet": true}') AS version;
SELECT cluster, round(centroid[1]::numeric, 1) AS mean FROM model_clusters WHERE model = 'given' AND cluster = 4;
SELECT array_agg(cluster ORDER BY cluster) AS numbers FROM model_clusters WHERE model = 'given';

-- Clusters of vectors can be merged, in models with levels, whose paths stay for all other rows,
-- and in models with the metric cosine.
-- The numbers of these clusters differ between servers, and with them the warnings about merged
-- clusters that are no neighbours; model `given` above has them.
SET client_min_messages = error;
SELECT train('tree', 'events', 'v', options => '{"quiet": true, "levels": [2, 3]}') AS version;
CREATE TABLE paths AS SELECT id, predict_path('tree', v) AS path FROM events;
SELECT merge_clusters('tree', ARRAY(SELECT min(path[2]) FROM paths GROUP BY path[1] HAVING count(DISTINCT path[2]) > 1 ORDER BY 1 LIMIT 1)
                           || ARRAY(SELECT max(path[2]) FROM paths GROUP BY path[1] HAVING count(DISTINCT path[2]) > 1 ORDER BY min(path[2]) LIMIT 1)) AS version;
SELECT count(DISTINCT p.path) AS paths, count(*) FILTER (WHERE predict_path('tree', v) <> p.path)
       AS rows_with_another_path, count(DISTINCT predict_path('tree', v)) AS paths_after_merge
  FROM paths p JOIN events USING (id);
SELECT write_labels('tree', 'events', 'tree_labels') AS rows;
SELECT count(*) FILTER (WHERE l.cluster <> predict('tree', v)) AS other_labels,
       count(DISTINCT cluster) AS clusters FROM tree_labels l JOIN events USING (id);
SELECT count(*) FILTER (WHERE t.parent IS NULL) AS roots,
       count(*) AS nodes FROM cluster_tree('tree') t;
SELECT train('turned', 'events', 'v', 4, options => '{"quiet": true, "metric": "cosine"}') AS version;
CREATE TABLE turned AS SELECT cluster, centroid FROM model_clusters WHERE model = 'turned';
SELECT merge_clusters('turned', '{0,1}') AS version;
SET client_min_messages = warning;
SELECT count(*) AS clusters, count(*) FILTER (WHERE l2_distance(now.centroid, was.centroid) < 1e-5)
       AS centroid_within_1e_5
  FROM model_clusters now JOIN turned was USING (cluster)
 WHERE model = 'turned';
-- An operator with a free number is read back from its text as the same value, and its
-- factorisation gives the same labels.
SELECT op::text::fastop = op AS same_from_text, describe(op) ->> 'clusters' AS clusters,
       (SELECT array_agg(c.cluster) FROM centroids(op) c)
       = (SELECT array_agg(c.cluster) FROM centroids(op::text::fastop) c) AS same_numbers
  FROM (SELECT model_operator('turned') AS op) o;
SELECT count(*) AS rows, count(*) FILTER (WHERE assign(f, v) = assign(op, v)) AS same_label
  FROM events,
       (SELECT op, factorize(op, 'svd', '{"rerank": "exact"}') AS f
               FROM (SELECT model_operator('turned') AS op) m OFFSET 0) o;

-- Models with groups and models with a kernel cannot be merged, and the error says so.
ALTER TABLE events ADD even boolean; UPDATE events SET even = id % 2 = 0;
SELECT train('groups', 'events', '{x}', 3, options => '{"quiet": true, "group_by": "even"}') AS version FROM (SELECT 1) q;
SELECT merge_clusters('groups', '{0,1}');
SELECT train('curved', 'events', 'v', 3, 'kernel', '{"quiet": true}') AS version;
SELECT merge_clusters('curved', '{0,1}');

-- A merged model with levels can be retrained: it keeps its k, and the option decides about its
-- upper levels.
CREATE VIEW tree AS SELECT k, options -> 'levels' AS levels, (SELECT count(*) FROM cluster_tree('tree') t WHERE t.level = 1) AS top,
    (SELECT count(DISTINCT c.cluster) FROM model_clusters c WHERE c.model = 'tree') AS clusters FROM model_versions WHERE model = 'tree' AND serves;
SELECT * FROM tree;
SELECT retrain('tree') AS version;
SELECT * FROM tree;
UPDATE events SET v = ARRAY[v[1] + 40, v[2]];
SELECT retrain_if_drifted('tree') AS version;
SET client_min_messages = error;
SELECT merge_clusters('tree', ARRAY(SELECT cluster FROM model_clusters WHERE model = 'tree' ORDER BY cluster LIMIT 2)) AS version;
SET client_min_messages = warning;
SELECT * FROM tree;
-- The last number of a path is the cluster.
SELECT count(DISTINCT predict_path('tree', v)) = count(DISTINCT predict('tree', v)) AS each_cluster_has_a_path,
       count(*) FILTER (WHERE (predict_path('tree', v))[2] <> predict('tree', v))
       AS paths_of_another_cluster FROM events;
-- Another k must fit the levels; new levels determine k.
SELECT retrain('tree', '{"k": 5}');
SELECT retrain('tree', '{"k": 6}') AS version;
SELECT * FROM tree;
SELECT retrain('tree', '{"levels": [2, 2]}') AS version;
SELECT * FROM tree;
SELECT retrain('tree', '{"levels": null, "k": 5}') AS version;
SELECT * FROM tree;
-- A sketch is decoded into as many clusters as the levels have, too.
SELECT train('live tree', 'events', 'v', method => 'compressive', options => '{"quiet": true, "levels": [2, 2], "live": true}') AS version;
SELECT retrain('live tree', '{"k": 3}');
SELECT retrain('live tree', '{"quiet": true}') AS version;
DROP VIEW tree;

-- A name stays with its rows in a retraining after a merge, or is given up; it is never passed to
-- other rows.
CREATE TABLE few AS SELECT (ARRAY[0, 1, 1, 10, 20, 30])[1 + i % 6] + (i / 6 % 100) / 200.0 AS x FROM generate_series(0, 5999) i;
SELECT import_model('few', 'few', '{x}', ARRAY[[30.25], [1.25], [20.25], [10.25], [0.25]], '{"quiet": true}') AS version;
SELECT count(name_cluster('few', cluster, 'about ' || round(centroid[1]))) AS named FROM model_clusters WHERE model = 'few';
SELECT merge_clusters('few', '{0,2}') AS version;
SELECT retrain('few', '{"quiet": true}') AS version;
SELECT cluster, name LIKE 'about%' AS is_given_name, CASE WHEN name LIKE 'about%' THEN name END
       AS name, round(centroid[1]::numeric, 1) AS mean
  FROM model_clusters
 WHERE model = 'few' ORDER BY 1;
-- The name of a cluster that is gone returns with its version.
SELECT name_cluster('few', 4, 'other');
SELECT use_version('few', 2);
SELECT count(*) AS about_0 FROM model_clusters WHERE model = 'few' AND name = 'about 0';
DROP TABLE few;

SELECT count(drop_model(model)) AS models_dropped FROM models
 WHERE model IN ('events', 'few', 'given', 'tree', 'live tree', 'turned', 'groups', 'curved');
DROP TABLE events, labels, before, was, numbers, paths, tree_labels, turned;
DROP FUNCTION at, named, messages;
