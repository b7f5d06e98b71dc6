-- Every function that is declared PARALLEL SAFE really runs in a parallel worker, with the values
-- of every type; a wrong declaration would break queries of large tables only.
-- The functions come from the catalog. Each has a call here whose arguments are columns, so that
-- the planner cannot compute it beforehand.

CREATE TABLE points AS SELECT i, ARRAY[i % 4 * 9 + sin(i), i % 2 * 5 + cos(i * i), i % 3]::real[] AS x, i % 4 AS label,
	i % 4 * 9 + sin(i) AS a, i % 2 * 5 + cos(i * i) AS b, (ARRAY['red', 'blue'])[1 + i % 2] AS colour FROM generate_series(1, 600) i;
SELECT train('rows', 'points', '{a,b,colour}', 3, options => '{"quiet": true}'), train('vectors', 'points', 'x', 4, options => '{"quiet": true, "levels": [2, 2]}');

-- The table given has one row with a value of each type.
CREATE TABLE given AS
SELECT m AS model, v AS version, v.operator AS op, v.training_sketch AS s, v.spec AS sp, v.drift_spec AS ds, v.drift_counts AS dc, v.center, v.scale, v.spreads,
	v.distance_quantiles AS quantiles, v.null_moments AS moments, v.paths, v.micro_clusters AS micro, v.splits,
	model_encoder('rows') AS e, (SELECT p FROM points p WHERE i = 1) AS r, '{1,2,3}'::real[] AS x, '{0,0,0}'::float8[] AS zeros, '{1,1,1}'::float8[] AS ones,
	(SELECT drift_counts_agg(p.x, v.drift_spec) FROM points p) AS counts, rbf_kernel(1.0) AS kernel,
	(SELECT fastop_agg(p.x) FROM points p) AS sample, (SELECT fastop_agg(p.x) FROM points p WHERE i <= 8) AS landmarks,
	(SELECT kernel_projection_agg(p.i, p.x, rbf_kernel(0.1), 2) FROM points p WHERE i <= 50) AS projection,
	(SELECT lloyd_sums_agg(v.operator, p.x) FROM points p) AS sums, NULL::kernel_map AS no_map,
	ROW(NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1, 20, '{1,1,1}', 2, 0, NULL, NULL, NULL)::scan_plan AS plan, NULL::encoder AS no_encoder,
	'vectors'::text AS name, 'rows'::text AS rows_name, 'r'::name AS n, 'train'::text AS trained, NULL::text AS none, 1::int AS one, 2::int AS two, 7::bigint AS seed, 0.5::float8 AS half,
	true AS yes, '{}'::jsonb AS options, timestamptz '2030-01-01' AS at, interval '1 day' AS width, 'points'::regclass::oid AS relation
  FROM stored_models m JOIN stored_versions v ON v.model_id = m.id AND v.version = m.version WHERE m.model = 'vectors';
ALTER TABLE given ADD map kernel_map, ADD scanned aggregate_state;
UPDATE given SET map = nystroem(landmarks, kernel, 3), scanned = (SELECT scan_agg(plan, p.i::bigint, p.x) FROM points p);
ANALYZE points; ANALYZE given;

CREATE TABLE calls (call text);
INSERT INTO calls VALUES
	('anomaly(name, x)'), ('as_row_vector(x)'), ('assign(op, x)'), ('assign_distance(op, x)'), ('bar(half, two, yes)'), ('bucket_of_time(at, width)'),
	('bucket_recall(op, sample, half, two)'), ('can_list_centroids(op)'), ('category_of(e, name, name)'), ('centroids(op)'), ('changed_drift_counts(counts, counts, counts)'),
	('changed_labels(op, sample, op, sample, NULL)'), ('cluster_joins(op)'), ('cluster_places(op)'), ('clustered_rows(version)'), ('clusters(op)'), ('counts_nulls(counts)'), ('present_moments(s, counts, no_encoder)'), ('unit_count(counts)'), ('unit_part(one, seed)'), ('cluster_labels(op)'), ('cluster_numbers(op)'), ('listed_numbers(op)'), ('names_by_number(version)'),
	('decode(s, two)'), ('decode_covariances(s, two)'), ('density(s, x)'), ('describe(e)'), ('describe(op)'),
	('describe(map)'), ('describe(projection)'), ('describe(s)'), ('describe(sp)'), ('dim(op)'), ('drift_columns_fit(''[]''::jsonb || options)'),
	('drift_spec_of_sample(sample, seed)'), ('drift_test(ds, counts, counts, s, s, moments, half, half)'), ('embedding_of(projection)'),
	('encode_constant(e, yes, half, half, name)'), ('encode_listed(e, yes, half, half, name)'), ('encode_observed(e, model_operator(rows_name), half, half, name)'), ('encode_record(e, yes, r)'), ('encode_row(e, r)'), ('encoder_columns(e)'),
	('encoder_features(e)'), ('encoder_of_vector(n, one, NULL, NULL)'), ('explained_version(model, none)'), ('factorize(op)'), ('factors(op)'), ('frequencies(sp)'),
	('feature_names(e)'), ('fit_residual(s, op, center, scale, spreads)'), ('given_names(version)'), ('fit_text(name, two, yes)'), ('group_of(name, one, x)'), ('group_place(ARRAY[''1''], one)'), ('group_text(at)'), ('has_a_role(ARRAY[relation])'), ('group_plan(plan, ARRAY[''1''], ARRAY[plan], one)'), ('scan_result(scanned)'), ('html(name)'), ('html_bar(half)'),
	('html_row(name, ARRAY[name], ARRAY[name])'), ('html_section(name, name, name, name)'), ('html_table(ARRAY[name], ARRAY[name], name)'), ('days_differ(ARRAY[at])'), ('svg_lines(name, ARRAY[name], half, half, name)'), ('wrapped(name, two)'), ('html_time(at, at IS NULL)'), ('html_value(half, name)'),
	('is_live_group(s, dc, sp, ds)'), ('joined_clusters(op, ARRAY[0, one, two, two])'), ('kernel_features(map, x)'), ('l2_distance(x, x)'), ('labelled_features(version)'),
	('live_difference(s, s)'), ('live_tables(relation)'), ('means(s)'), ('model_encoder(rows_name)'), ('missing_model_hint(name, ARRAY[rows_name], yes)'), ('model_hint(name)'),
	('model_operator(name)'), ('model_spec(name)'), ('moments(s)'), ('moved_columns(ds, counts, counts, s, s, half, one, true)'), ('name_hint(name, ARRAY[rows_name], none)'),
	('nearest(op, x, two)'), ('null_name(e, one)'), ('arc_in_words(e, one, 0, 1)'), ('cyclic_mean(e, one, center)'), ('nystroem(landmarks, kernel, two)'), ('rescaled_operator(op, center, scale, zeros, ones)'), ('option_help(trained)'),
	('place_key(ctid)'), ('row_weight(half, name)'), ('polynomial_kernel(two, half, half)'), ('predict(name, x)'), ('predict(rows_name, r)'), ('predict(name, half, half, half)'),
	('predict_all(name, x, two)'), ('predict_columns(name, half, half, half)'), ('predict_distance(name, x)'), ('predict_distance_columns(name, half, half, half)'),
	('predict_name(name, x)'), ('predict_path(name, x)'), ('predict_probabilities(name, x)'),
	('profile_of_centroids(op, center, scale, means(s), stddevs(s), ARRAY[0, 0, 0], two, NULL)'), ('project(op, x)'), ('quality_of_sample(op, sample)'), ('rbf_kernel(half)'),
	('read_model_encoder(rows_name, none)'), ('read_model_operator(name, none)'), ('read_model_spec(name)'), ('readable_model(name)'),
	('is_superuser(relation)'), ('relation_kind(relation)'), ('relation_owner(relation)'), ('role_id((version).trained_by)'), ('role_id(n::role_name)'), ('row_count(s)'), ('rows_of_version(version, sample)'), ('rules_of_sample(op, sample, sample, ARRAY[0, 0, 0], ARRAY[1, 2, 3], two)'),
	('sample_null_moments(sample, sp, two)'), ('shown_names((version).model_id, one, none || name)'), ('read_shown_names((version).model_id, one, none || name)'), ('shown_value(half, name, yes)'), ('sketch_distance(s, s)'),
	('sketch_spec(two, 20, half, seed => seed)'), ('sketch_of_moments(sp, moments(s), row_count(s), means(s), means(s), means(s), stddevs(s))'), ('spec(s)'), ('spec_of_frequencies(ARRAY[ARRAY[half]], half)'), ('stddevs(s)'), ('svg(half)'), ('scaled_vector(center, scale, x)'), ('version_centroid_rows(name, version)'),
	('version_cluster_rows(name, seed, op, yes, center, scale, spreads, NULL)'),
	('version_fits(op, no_map, center, scale, spreads, quantiles, moments, sp, s, no_encoder, ds, dc, micro, splits, paths)'), ('version_hint(name)'),
	('version_names(version)'), ('version_profile(version, two)'), ('without_sample_rows(sp, 0 * one)'), ('sharing_node()');

-- The values of each type are read from text and bytes in a worker, too.
INSERT INTO calls SELECT unnest(ARRAY[format('(%I::text)::%s', min(a.attname), t.oid::regtype), format('%s(%I)', t.typsend, min(a.attname))])
  FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
 WHERE a.attrelid = 'given'::regclass AND t.typnamespace IN ('fastclust'::regnamespace, 'fastclust_internal'::regnamespace) AND t.typtype = 'b'
   AND t.typsend <> 0 GROUP BY t.oid, t.typsend;
INSERT INTO calls VALUES ('s + s'), ('s - s'), ('kernel = kernel'), ('at::text::value_bytes = at::text::value_bytes'), ('at::text::value_bytes < at::text::value_bytes');

SELECT count(*) AS rows FROM given;

-- problem_in_worker() runs a query in a worker and returns what went wrong, or NULL.
CREATE FUNCTION problem_in_worker(query text, partial boolean DEFAULT false) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, FORMAT JSON) ' || query INTO plan;
	RETURN CASE WHEN plan::text !~ '"Workers Launched": [1-9]' THEN 'no worker ran it'
	            WHEN partial AND plan::text !~ '"Partial Mode": "Partial"' THEN 'no partial aggregate' END;
EXCEPTION WHEN OTHERS THEN
	RETURN SQLERRM;
END
$$;

SELECT set_config(CASE WHEN current_setting('server_version_num')::int >= 160000 THEN 'debug_parallel_query' ELSE 'force_parallel_mode' END, 'on', false) AS forced;
SELECT call, problem FROM (SELECT call, problem_in_worker(format('SELECT %s FROM given', call)) AS problem FROM calls OFFSET 0) q WHERE problem IS NOT NULL ORDER BY call COLLATE "C";

-- Functions of the catalog without a call are listed: only one, which reads a table of Citus.
-- Functions with an argument of type internal cannot be called in SQL.
-- Functions of types, operators and aggregates are run by the calls of these.
SELECT p.oid::regprocedure AS not_called FROM pg_proc p
 WHERE p.pronamespace IN ('fastclust'::regnamespace, 'fastclust_internal'::regnamespace) AND p.proparallel = 's' AND p.prokind = 'f'
   AND 'internal'::regtype <> ALL (p.proargtypes) AND 'internal'::regtype <> p.prorettype AND p.pronargs > 0
   AND NOT EXISTS (SELECT FROM calls c WHERE c.call LIKE p.proname || '(%')
   AND NOT EXISTS (SELECT FROM pg_type t WHERE p.oid IN (t.typinput, t.typoutput, t.typreceive, t.typsend))
   AND NOT EXISTS (SELECT FROM pg_operator o WHERE p.oid = o.oprcode) AND NOT EXISTS (SELECT FROM pg_amproc a WHERE p.oid = a.amproc)
   AND NOT EXISTS (SELECT FROM pg_aggregate a WHERE p.oid IN (a.aggtransfn, a.aggfinalfn, a.aggcombinefn, a.aggmtransfn, a.aggminvtransfn, a.aggmfinalfn))
 ORDER BY p.oid::regprocedure::text COLLATE "C";
SELECT t.oid::regtype AS type_without_value FROM pg_type t
 WHERE t.typnamespace IN ('fastclust'::regnamespace, 'fastclust_internal'::regnamespace) AND t.typtype = 'b' AND t.typelem = 0
   AND NOT EXISTS (SELECT FROM calls c WHERE c.call LIKE '%::' || t.oid::regtype || '%') ORDER BY 1;
SELECT set_config(CASE WHEN current_setting('server_version_num')::int >= 160000 THEN 'debug_parallel_query' ELSE 'force_parallel_mode' END, 'off', false) AS forced;

-- Aggregates run partially in the workers, and the leader combines the results.
SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0;
CREATE TABLE aggregates (call text, relation text DEFAULT 'points');
INSERT INTO aggregates VALUES
	('adjusted_rand_agg(label, label)'), ('davies_bouldin_agg((SELECT op FROM given), x)'), ('drift_counts_agg(x, (SELECT ds FROM given))'),
	('kernel_projection_agg(i, x, rbf_kernel(0.1), 2)'), ('kmeans_agg(x, 2)'), ('kmeans_agg(x, 2, ''{}'', i)'),
	('landmarks_agg(x, rbf_kernel(0.1), 2)'), ('lloyd_step_agg((SELECT op FROM given), x)'), ('lloyd_sums_agg((SELECT op FROM given), x)'),
	('lloyd_sums_agg((SELECT op FROM given), x, i::float8)'), ('lloyd_step_agg((SELECT op FROM given), x, i::float8)'),
	('normalized_mutual_information_agg(label, label)'), ('qkmeans_agg(x, 2)'), ('scan_agg((SELECT plan FROM given), i::bigint, x)'),
	('simplified_silhouette_agg((SELECT op FROM given), x)'),
	('sketch_agg(x, (SELECT sp FROM given))'), ('sketch_spec_agg(x, 2)'), ('sse_agg((SELECT op FROM given), x)');
CREATE TABLE parts AS SELECT label, sketch_agg(x, sp) AS s, drift_counts_agg(p.x, ds) AS counts, lloyd_sums_agg(op, p.x) AS sums
  FROM points p, (SELECT op, ds, sp FROM given) g GROUP BY label, i % 50;
ANALYZE parts;
INSERT INTO aggregates VALUES ('merge_agg(s)', 'parts'), ('merge_drift_counts_agg(counts)', 'parts');
SELECT call, problem FROM (SELECT call, problem_in_worker(format('SELECT %s FROM %s', call, relation), true) AS problem FROM aggregates OFFSET 0) q
 WHERE problem IS NOT NULL ORDER BY call COLLATE "C";
-- The aggregates listed have no partial form: they depend on the order of rows, or add up what
-- shards sent.
SELECT DISTINCT p.proname AS not_called FROM pg_proc p
 WHERE p.pronamespace IN ('fastclust'::regnamespace, 'fastclust_internal'::regnamespace) AND p.proparallel = 's' AND p.prokind = 'a'
   AND NOT EXISTS (SELECT FROM aggregates c WHERE c.call LIKE p.proname || '(%') ORDER BY 1;

-- Counting the rows of a large table by predict_name uses workers and sorts no row, and so does a
-- join with model_clusters, which is expected to have few rows.
CREATE TABLE many AS SELECT a, b, colour FROM points, generate_series(1, 334);
ANALYZE many;
RESET parallel_setup_cost; RESET parallel_tuple_cost;
CREATE FUNCTION plan_of(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	plan text := '';
BEGIN
	FOR line IN EXECUTE 'EXPLAIN ' || query LOOP
		plan := plan || line || E'\n';
	END LOOP;
	RETURN plan;
END
$$;
SELECT what, plan ~ 'Partial (Hash|Group)?Aggregate' AS has_partial_aggregate,
       plan ~ 'Parallel Seq Scan on many' AS scans_in_workers,
       plan ~ E'Merge Join|Sort Key: [^\n]*predict\\(' AS sorts_rows
  FROM (VALUES ('predict_name', plan_of($$SELECT predict_name('rows', m), count(*) FROM many m GROUP BY 1$$)),
			   ('model_clusters', plan_of($$SELECT c.name, count(*) FROM many m JOIN model_clusters c ON c.model = 'rows' AND c.cluster = predict('rows', m) GROUP BY 1$$))) q(what, plan);
SELECT problem_in_worker('SELECT predict_name(''rows'', m), count(*) FROM many m GROUP BY 1', true) AS problem_of_names;
SELECT substring(plan_of($$SELECT * FROM model_clusters WHERE model = 'rows'$$)
  FROM ' rows=(\d+)')::int <= 100 AS at_most_100_rows_expected;
SELECT predict_name('rows', m) AS name, count(*), c.size * 334 AS expected_rows
  FROM many m JOIN model_clusters c ON c.model = 'rows' AND c.cluster = predict('rows', m)
 GROUP BY 1, 3 ORDER BY 2 DESC;

DROP TABLE points, given, calls, aggregates, parts, many; DROP FUNCTION problem_in_worker, plan_of;
SELECT drop_model('rows'), drop_model('vectors');
