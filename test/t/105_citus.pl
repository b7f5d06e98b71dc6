# Citus gives the same answers to the same SQL: aggregates run on the shards, no rows leave them
# for a training, and predict finds its models on every node.
use FastclustTest;
use CitusTest;

plan skip_all => 'Citus is not installed for this server' if !CitusTest::installed();

my $rows = 24000;
my $server = CitusTest->cluster(3);
$server->make_points($rows, 4, 5);
$server->query(<<'SQL');
ALTER TABLE points RENAME TO single;
ALTER TABLE single ADD a float8, ADD b float8;
UPDATE single SET a = x[1], b = x[2];
CREATE TABLE shards (LIKE single);
SELECT create_distributed_table('shards', 'id');
INSERT INTO shards SELECT * FROM single ORDER BY hashint4(id);
CREATE TABLE parts (b float8, x real[], a float8, g int, id int) PARTITION BY HASH (id);
SELECT format('CREATE TABLE parts_%s PARTITION OF parts FOR VALUES WITH (MODULUS 8, REMAINDER %s)', i, i) FROM generate_series(0, 7) i \gexec
INSERT INTO parts SELECT b, x, a, g, id FROM single;
CREATE TABLE spec AS SELECT sketch_spec_agg(x, 5) AS s FROM single;
CREATE TABLE centroids AS SELECT kmeans_agg(x, 5) AS op FROM (SELECT x FROM single LIMIT 1000) q;
ANALYZE;
SQL
my $spec = $server->query('SELECT s FROM spec');
my $op = $server->query('SELECT op FROM centroids');

# ---- aggregates ----
my %bytes = (
	'sketch_agg' => "md5(sketch_send(sketch_agg(x, '$spec')))",
	'weighted sketch_agg' => "md5(sketch_send(sketch_agg(x, '$spec', (id % 5) * 0.3)))",
	'lloyd_step_agg' => "md5(fastop_send((lloyd_step_agg('$op', x)).next))",
	'sse_agg' => "sse_agg('$op', x)",
	'simplified_silhouette_agg' => "simplified_silhouette_agg('$op', x)",
	'davies_bouldin_agg' => "davies_bouldin_agg('$op', x)",
);
for my $name (sort keys %bytes)
{
	is($server->query("SELECT $bytes{$name} FROM shards"), $server->query("SELECT $bytes{$name} FROM single"), "$name: the shards give the same bits");
	my @sent = $server->sent('shards', "SELECT $bytes{$name} FROM shards");
	is(scalar(grep { /worker_partial_agg/ } @sent), 12, "$name: each shard computes a partial aggregate") or diag(substr($sent[0], 0, 200));
}

# ---- columns of pgvector give the same bits; sent as real[], the shards aggregate them, and sent as they are, the rows travel ----
chomp(my $share = qx(@{[$ENV{PG_CONFIG} || 'pg_config']} --sharedir));
SKIP:
{
	skip 'pgvector is not installed for this server', 15 if !-e "$share/extension/vector.control";
	$server->query("CREATE EXTENSION vector; CREATE TABLE of_vectors (id int, v vector(4)); SELECT create_distributed_table('of_vectors', 'id'); INSERT INTO of_vectors SELECT id, x::vector FROM single WHERE id <= 3000");
	for my $name (sort keys %bytes)
	{
		my ($cast, $plain) = map { $bytes{$name} =~ s/\bx\b/$_/r } 'v::real[]', 'v';
		my $expected = $server->query("SELECT $bytes{$name} FROM single WHERE id <= 3000");

		is($server->query("SELECT $cast FROM of_vectors") . $server->query("SELECT $plain FROM of_vectors"), $expected x 2, "$name of vectors: the shards give the same bits");
		is(scalar(grep { /worker_partial_agg/ } $server->sent('of_vectors', "SELECT $cast FROM of_vectors")), 12, "$name of vectors as real[]: each shard computes a partial aggregate");
	}
	$server->query("SELECT train('m vectors', 'of_vectors', 'v', 5, options => '{\"quiet\": true}')");
	is(scalar(grep { /worker_partial_agg.*ROW\(/ } $server->sent('of_vectors', "SELECT retrain('m vectors', '{\"quiet\": true}')")), 0, 'a retraining on vectors looks up no aggregate in each row');
	is($server->query("SELECT verdict FROM drift('m vectors')"), 'none', 'a model of vectors has no drift on its own rows');
	is($server->query("CREATE AGGREGATE public.sum(drift_counts) (SFUNC = drift_counts_combine, STYPE = drift_counts); SELECT retrain('m vectors', '{\"quiet\": true}'); DROP AGGREGATE public.sum(drift_counts)"), 3,
		'a retraining works where an aggregate of another schema is called sum, too');
}
is($server->query("SELECT md5(sketch_send(sketch_agg(x, fastclust_internal.without_sample_rows('$spec')))) FROM shards"), $server->query("SELECT $bytes{sketch_agg} FROM single"),
	'a spec without its sample rows makes the same sketch');
cmp_ok($server->query("SELECT pg_column_size(fastclust_internal.without_sample_rows(s)) * 10 - pg_column_size(s) FROM spec"), '<', 0, 'a spec without its sample rows has less than a tenth of the size');

# ---- groups: the cached state of a transition function ends with its group ----
for my $setting ('enable_hashagg', 'enable_sort')
{
	my $of_groups = "SELECT md5(string_agg(concat_ws(',', g, s, o), ';' ORDER BY g)) FROM (SELECT g, $bytes{sketch_agg} AS s, $bytes{lloyd_step_agg} AS o FROM";
	is($server->query("SET citus.propagate_set_commands = 'local'; BEGIN; SET LOCAL $setting = off; $of_groups shards GROUP BY g) q; COMMIT"),
		$server->query("$of_groups single GROUP BY g) q"), "groups without $setting: the shards give the same bits");
}

# ---- the number of rows, and whether they are in shards ----
my $estimate = $server->query("SELECT estimated_rows('shards')");
cmp_ok(abs($estimate / $rows - 1), '<', 0.1, "the number of rows is estimated within 10 %: $estimate");

is($server->query("CREATE VIEW of_shards AS SELECT x FROM shards; CREATE VIEW of_view AS SELECT x FROM of_shards;
	SELECT string_agg((row_expressions(r::regclass, '{x}', true, NULL, NULL)).sharded::text, '|') FROM unnest('{of_view,shards,single,parts}'::text[]) r; DROP VIEW of_view, of_shards"), 'true|true|false|false', 'tables and views over shards are recognised');

# ---- training: a shard sends only a state, one row, or a few rows of a sample ----
my %training = (
	'kmeans' => "train('m kmeans', 'shards', 'x', 5)",
	'compressive' => "train('m compressive', 'shards', 'x', 5, 'compressive', '{\"iterations\": 1}')",
	'columns' => "train('m columns', 'shards', ARRAY['a', 'b'], 5)",
	'qkmeans' => "train('m qkmeans', 'shards', ARRAY['a', 'b'], 5, 'qkmeans')",
	'kernel' => "train('m kernel', 'shards', 'x', 5, 'kernel')",
	'density' => "train('m density', 'shards', 'x', method => 'density')",
	'the number of clusters' => "train('m any', 'shards', 'x', NULL)",
	'groups' => "train('m groups', 'shards', 'x', 2, options => '{\"group_by\": \"g\"}')",
	'compressive groups' => "train('m sketched groups', 'shards', 'x', 2, 'compressive', '{\"group_by\": \"g\", \"iterations\": 0}')",
);
for my $name (sort keys %training)
{
	my @sent = $server->sent('shards', "SELECT $training{$name}");
	my @pulled = grep { !/fastclust_internal\.sum\(|LIMIT '1'|^SELECT count/ } @sent;

	# The spec of groups comes from a sample of rows, and their number from the number of groups
	# in it; so does an encoder of columns.
	@pulled = grep { !/AS value, x FROM|GROUP BY g$/ } @pulled if $name =~ /groups/;
	@pulled = grep { !/encoder_agg/ } @pulled;
	cmp_ok(scalar(@sent), '>', 24, "train, $name: the shards are queried");
	is(scalar(@pulled), 0, "train, $name: no rows leave a shard") or diag(substr($pulled[0], 0, 300));
	is(scalar(grep { /worker_partial_agg.*ROW\(/ } @sent), 0, "train, $name: no aggregate is looked up in each row");
	is(scalar(grep { 1 < (() = /::fastclust\.sketch_spec/g) } @sent), 0, "train, $name: the spec is sent once to each shard");
}

# The settings that a scan changes are restored. A sample with fewer rows than the planner
# promised is drawn again without a limit.
is($server->query("BEGIN; SELECT train('m kmeans', 'shards', 'x', 5, options => '{\"quiet\": true}'); SELECT DISTINCT current_setting('enable_sort') || current_setting('work_mem')
	FROM shards WHERE id < 100; ROLLBACK"), "2\non4MB", 'the settings of a scan end with it');
$server->query("CREATE TABLE fewer (LIKE single); SELECT create_distributed_table('fewer', 'id'); INSERT INTO fewer (id, g, x) SELECT i, i % 5, ARRAY[random(), random()]::real[] FROM generate_series(1, 200000) i;
	ANALYZE fewer; DELETE FROM fewer WHERE id % 20 > 0");
is($server->query("SELECT train('m fewer', 'fewer', 'x', 3, options => '{\"sample_rows\": 2000, \"quiet\": true}')"), 1, 'a training works after most rows were deleted');
is($server->query("SELECT sum(substring(note FROM 'a sample of (\\d+)')::integer) > 3900 FROM training_log WHERE model = 'm fewer'"), 't', 'its sample has nearly as many rows as requested');

# ---- a model from training to drift ----
is($server->query("SELECT retrain('m kmeans', '{\"quiet\": true}')"), 2, 'retrain makes the next version');
is($server->query("SELECT verdict, n FROM drift('m kmeans')"), "none|$rows", 'drift finds no change in the same rows');
is($server->query("SELECT count(*) FROM drift('m kmeans', 'shards', by => 'g')"), 5, 'drift by a column has a row for each value');
is($server->query("SELECT count(*), sum(n) FROM drift('m groups', by => 'group')"), "5|$rows", 'drift by group has a row for each group');
is($server->query("SELECT retrain_if_drifted('m kmeans', options => '{\"quiet\": true}') IS NULL"), 't', 'retrain_if_drifted does nothing on the same rows');
is($server->query("SELECT max(k) FILTER (WHERE verdict IS NOT NULL) FROM choose_k('shards', 'x', 8)"), 5, 'choose_k finds the planted number');
is($server->query("SELECT DISTINCT fastclust_internal.clusters(op) FROM qkmeans_log('shards', 'x', 5)"), 5, 'qkmeans_log trains on the shards');
$server->query("CREATE TABLE few (LIKE single); SELECT create_distributed_table('few', 'id'); INSERT INTO few SELECT * FROM single WHERE id <= 500");
is($server->query("SELECT count(*), count(DISTINCT cluster) FROM kernel_kmeans('few', 'id', 'x', 'rbf(0.5)', 5, '{\"rank\": 10}')"), '500|5', 'kernel_kmeans labels the rows of the shards');

# ---- a sample by values gives the same model wherever the rows lie ----
for my $method ('compressive', 'kmeans', 'qkmeans', 'kernel')
{
	for my $features ("'x'", "ARRAY['a', 'b']")
	{
		my %made;
		for my $table ('single', 'shards', 'parts')
		{
			$server->query("SELECT train('same $table', '$table', $features, 5, '$method', '{\"sample\": \"hash\", \"sample_rows\": 1000, \"quiet\": true}')");
			$made{$table} = "SELECT operator FROM model_versions WHERE model = 'same $table' ORDER BY version DESC LIMIT 1";
		}
		for my $table ('shards', 'parts')
		{
			is($server->query("SELECT md5(fastop_send(($made{$table}))) = md5(fastop_send(($made{single})))"), 't', "$method of $features over $table: the model has the same bits")
				if $method eq 'compressive';
			is($server->query("SELECT bool_and(l2_distance(a.centroid, b.centroid) <= 1e-12 * (1 + l2_distance(a.centroid, array_fill(0::float8, ARRAY[cardinality(a.centroid)]))))
				FROM centroids(($made{$table})) a JOIN centroids(($made{single})) b USING (cluster)"), 't', "$method of $features over $table: the centroids agree to 1e-12");
		}
	}
}
for my $features ("'x'", "ARRAY['a', 'b']")
{
	my $options = '{"sample": "hash", "micro_clusters": 400, "min_cluster_rows": 800, "quiet": true}';
	my @made = map { $server->query("SELECT train('density $_', '$_', $features, method => 'density', options => '$options');
		SELECT k, md5(fastop_send(operator)), md5(fastop_send(micro_clusters)), splits FROM stored_versions WHERE model = 'density $_' ORDER BY version DESC LIMIT 1") } 'single', 'shards', 'parts';

	s/^\d+\n// for @made;
	like($made[0], qr/^5\|/, "density of $features: there are five clusters");
	is($made[1], $made[0], "density of $features over shards: the model has the same bits");
	is($made[2], $made[0], "density of $features over parts: the model has the same bits");
}

# ---- predict on the shards ----
like(($server->try("SELECT max(predict('m kmeans', x)) FROM shards"))[2], qr/model "m kmeans" does not exist/, 'before distribute_models the workers have no models');
cmp_ok($server->query('SELECT distribute_models()'), '>', 8, 'distribute_models sends all models to the workers');
is($server->query('SELECT distribute_models() = count(*) FROM models'), 't', 'distribute_models can be repeated');
$server->query(<<'SQL');
CREATE VIEW labelled AS SELECT id, predict('m kmeans', x) AS label, predict_distance('m kmeans', x) AS distance, anomaly('m kmeans', x) AS odd,
	predict('m columns', a, b) AS of_columns, predict_distance('m columns', CASE WHEN id % 3 > 0 THEN a END, b) AS of_partial,
	predict('m groups', x, group_value => g::text) AS of_group, predict('m groups', x, group_value => '99') AS of_no_group FROM shards;
SQL
my $labels = 'md5(string_agg(concat_ws(\',\', id, label, distance, odd, of_columns, of_partial, of_group, of_no_group), \';\' ORDER BY id))';
my $of_single = "SELECT id, predict('m kmeans', x) AS label, predict_distance('m kmeans', x) AS distance, anomaly('m kmeans', x) AS odd,
	predict('m columns', a, b) AS of_columns, predict_distance('m columns', CASE WHEN id % 3 > 0 THEN a END, b) AS of_partial,
	predict('m groups', x, group_value => g::text) AS of_group, predict('m groups', x, group_value => '99') AS of_no_group FROM single";
is($server->query("SELECT $labels FROM labelled"), $server->query("SELECT $labels FROM ($of_single) q"), 'predict and its family give the same labels in a view over shards');
my @sent = $server->sent('shards', "SELECT count(*) FROM shards WHERE predict('m kmeans', x) = 1");
is(scalar(grep { /WHERE .*predict/ } @sent), 12, 'predict in WHERE runs on the shards');
is($server->query("SELECT count(*) FROM labelled WHERE label = 1"), $server->query("SELECT count(*) FROM single WHERE predict('m kmeans', x) = 1"), 'predict in WHERE selects the right rows');

$server->query("SELECT retrain('m kmeans', '{\"k\": 2, \"quiet\": true}')");
is($server->query('SELECT max(label) FROM labelled'), 1, 'a new version serves on the shards as soon as it is committed');
$server->query("BEGIN; SELECT retrain('m kmeans', '{\"k\": 3, \"quiet\": true}'); ROLLBACK;");
is($server->query('SELECT max(label) FROM labelled'), 1, 'a version that was rolled back does not serve on the shards');
$server->query("SELECT use_version('m kmeans', 2)");
is($server->query('SELECT max(label) FROM labelled'), 4, 'use_version reaches the shards');
$server->query("SELECT rename_model('m kmeans', 'kinds')");
like(($server->try('SELECT max(label) FROM labelled'))[2], qr/model "m kmeans" does not exist/, 'a renamed model is not found by its old name on the shards');
$server->query("SELECT rename_model('kinds', 'm kmeans')");

is($server->query("SELECT write_labels('m groups', 'shards', 'labels', '{\"key\": \"id\", \"name\": true}')"), $rows, 'write_labels writes a label for each row of the shards');
is($server->query('SELECT count(*) FROM labels l JOIN labelled USING (id) WHERE l.cluster IS DISTINCT FROM of_group'), 0, 'write_labels writes the labels of predict');
is($server->query("SELECT write_labels('m columns', 'shards', 'labels_of_columns', '{\"key\": \"id\"}')"), $rows, 'write_labels writes a label for each row of a model of columns');
is($server->query('SELECT count(*) FROM labels_of_columns l JOIN labelled USING (id) WHERE l.cluster IS DISTINCT FROM of_columns'), 0, 'the labels of a model of columns are those of predict');
$server->query("CREATE TABLE spread_labels (id int, cluster int); SELECT create_distributed_table('spread_labels', 'id')");
is($server->query("SELECT write_labels('m kmeans', 'single', 'spread_labels', '{\"key\": \"id\", \"$_\": true}')"), $rows, "write_labels writes to a table on shards: $_") for 'append', 'replace';
is($server->query('SELECT count(*) FROM spread_labels l JOIN labelled USING (id) WHERE l.cluster = label'), $rows, 'each row of the table on shards has its label once');

# ---- the rights of the caller hold on every node ----
$server->query('CREATE ROLE reader LOGIN; CREATE ROLE stranger LOGIN; GRANT SELECT ON shards TO reader, stranger');
my $asked = "SELECT max(predict('m kmeans', x)) FROM shards";
$server->query("SELECT grant_model('m kmeans', 'reader')");
is($server->query("SET ROLE reader; $asked"), 4, 'a reader predicts on the shards');
like(($server->try("SET ROLE stranger; $asked"))[2], qr/does not exist/, 'a stranger does not predict on the shards');
like(($server->try('SET ROLE reader; SELECT * FROM fastclust_internal.shared_models'))[2], qr/permission denied/, 'nobody reads the shared models');
like(($server->try('SET ROLE reader; SELECT distribute_models()'))[2], qr/the distribution of models can only be changed by postgres/, 'a reader cannot distribute models');
$server->query('REVOKE ALL ON shards FROM reader; DROP ROLE reader; CREATE ROLE reader LOGIN; GRANT SELECT ON shards TO reader');
like(($server->try("SET ROLE reader; $asked"))[2], qr/does not exist/, 'a later role with the name of a dropped reader cannot read the model');
$server->query("SELECT grant_model('m kmeans', 'stranger'); SELECT revoke_model('m kmeans', 'stranger')");
like(($server->try("SET ROLE stranger; $asked"))[2], qr/does not exist/, 'a revoked right is gone on the shards');

# ---- equal values with several texts are one group, also on the shards ----
$server->query(q{CREATE TABLE equal_shards (id integer, x real[], g numeric);
	SELECT create_distributed_table('equal_shards', 'id');
	INSERT INTO equal_shards SELECT i, ARRAY[i % 7, i % 5]::real[],
		(ARRAY['1.0', '1.00', '2'])[1 + i % 3]::numeric FROM generate_series(1, 3000) i});
$server->query(q{SELECT train('m equal', 'equal_shards', 'x', 2,
	options => '{"group_by": "g", "quiet": true}')});
is($server->query(q{SELECT string_agg(group_value || ' ' || n, ', ' ORDER BY group_value)
	FROM (SELECT group_value, sum(size) AS n FROM model_clusters WHERE model = 'm equal'
		  GROUP BY 1) q}), '1.0 2000, 2 1000', 'a training on shards groups by equality');
is($server->query(q{SELECT count(predict('m equal', x, group_value => g)) FROM equal_shards}),
	3000, 'each row finds its group on the shards');
is($server->query(q{SELECT count(predict('m equal', x, group_value => round(g)::integer)) || ' '
	|| count(predict('m equal', x, group_value => '01')) || ' '
	|| count(predict('m equal', x, group_value => 1.4)) FROM equal_shards}),
	'3000 3000 0', 'and so do values of other types');
is($server->query(q{SELECT string_agg(value || ' ' || n, ', ' ORDER BY value)
	FROM drift('m equal', by => 'group')}), '1.0 2000, 2 1000', 'drift knows the same groups');
$server->query(q{SELECT retrain('m equal', '{"quiet": true}')});
is($server->query(q{SELECT count(*) FROM score('m equal', group_value => 1)}), 3,
	'functions about one group read it on the shards');
$server->query(q{SELECT drop_model('m equal'); DROP TABLE equal_shards});

# ---- they are one category, too ----
SKIP:
{
	skip 'citext is not installed', 4 if ($server->try('CREATE EXTENSION citext'))[0] != 0;
	$server->query(q{CREATE TABLE coloured (id integer, c citext, a float8);
		SELECT create_distributed_table('coloured', 'id');
		INSERT INTO coloured SELECT i, (ARRAY['Red', 'red', 'BLUE', 'blue'])[1 + i % 4],
			i % 4 / 2 * 5 + i % 7 / 10.0 FROM generate_series(1, 3000) i});
	$server->query(q{SELECT train('m coloured', 'coloured', '{c,a}', 2, options => '{"quiet": true}')});
	is($server->query(q{SELECT feature_names(model_encoder('m coloured'))}),
		'{"c = BLUE","c = Red","c = other",a}', 'a training on shards has categories by equality');
	is($server->query(q{SELECT count(DISTINCT (lower(c::text), predict('m coloured', t)))
		FROM coloured t}), '2', 'each row finds its category on the shards');
	is($server->query(q{SELECT sum(size) || ' ' || count(*) FROM model_clusters
		WHERE model = 'm coloured' AND size = 1500}), '3000 2', 'the scan of the shards, too');
	is($server->query(q{SELECT verdict FROM drift('m coloured')}), 'none', 'and drift');
	$server->query(q{SELECT drop_model('m coloured'); DROP TABLE coloured});
}

$server->query('CREATE ROLE trainer LOGIN; GRANT SELECT ON shards TO trainer');
is($server->query("SET ROLE trainer; SELECT train('theirs', 'shards', 'x', 3, options => '{\"quiet\": true}')"), 1, 'a role without rights of its own on a worker trains');
is($server->query("SET ROLE trainer; SELECT max(predict('theirs', x)) FROM shards"), 2, 'the role predicts with its model on the shards');
like(($server->try("SET ROLE stranger; SELECT max(predict('theirs', x)) FROM shards"))[2], qr/does not exist/, 'nobody else predicts with its model on the shards');
$server->query("SET ROLE trainer; SELECT drop_model('theirs')");

# ---- columnar shards have no blocks to sample and no places of rows ----
SKIP:
{
	skip 'no columnar storage', 3 if ($server->try('CREATE EXTENSION IF NOT EXISTS citus_columnar'))[0] != 0;
	$server->query("CREATE TABLE packed (LIKE single) USING columnar; SELECT create_distributed_table('packed', 'id'); INSERT INTO packed SELECT * FROM single; ANALYZE packed");
	my @read = $server->sent('packed', "SELECT train('m packed', 'packed', 'x', 5, options => '{\"sample_rows\": 1000}')");
	is(scalar(grep { /TABLESAMPLE|ctid/ } @read), 0, 'columnar shards are sampled by a hash');
	is(scalar(grep { !/fastclust_internal\.sum\(|LIMIT '1'|^SELECT count/ } @read), 0, 'the sample is drawn on the shards');
	is(scalar(grep { /fastclust_internal\.sum.*>> 40|fastclust_internal\.sum.*>>\) 40/ } @read), 12, 'each shard samples a share of its rows');
}

# ---- errors say what to do ----
$server->query('CREATE VIEW amounts AS SELECT id, a, b FROM shards');
like(($server->try("SELECT count(predict('m columns', v)) FROM amounts v"))[2], qr/HINT:  ROW\(\.\.\.\) does not name its columns, and Citus loses the names of a view.s columns: pass rows of a table/, 'whole rows of a view over shards are an error with a hint');
like(($server->try("SELECT sum(assign(model_operator('m kmeans'), x)) FROM shards"))[2], qr/HINT:  This is a worker of Citus.*\(SELECT model_operator/, 'an operator that workers would have to look up is an error with a hint');
is($server->query("SELECT count(assign((SELECT model_operator('m kmeans')), x)) FROM shards"), $rows, 'an operator given by a subquery works');
like(($server->try("UPDATE shards SET g = predict('m kmeans', x)"))[2], qr/STABLE functions used in UPDATE/, 'Citus takes no predict in UPDATE');
$server->query("SELECT write_labels('m kmeans', 'shards', 'labels_of_update', '{\"key\": \"id\"}'); SELECT create_distributed_table('labels_of_update', 'id', colocate_with => 'shards');
	ALTER TABLE shards ADD cluster integer; UPDATE shards s SET cluster = l.cluster FROM labels_of_update l WHERE l.id = s.id");
is($server->query("SELECT count(*) FROM shards WHERE cluster = predict('m kmeans', x)"), $rows, 'the recipe of the documentation updates rows by write_labels');

# ---- workers that answer queries, come later, crash and return ----
my $worker = $server->{workers}[0];
$worker->use_server;
is($worker->query("SELECT predict('m kmeans', x) IS NOT NULL FROM shards LIMIT 1"), 't', 'a worker answers queries itself');
like(($worker->try("SELECT train('mine', 'shards', 'x', 2)"))[2], qr/models can only be trained or changed on the coordinator of Citus/, 'a worker trains no models');
$server->use_server;

my $more = CitusTest->node;
$server->use_server;
$server->add_worker($more);
$more->use_server;
like(($more->try("SELECT predict('m kmeans', '{1,2,3,4}'::real[])"))[2], qr/models have not reached this node yet/, 'a new node says what it needs');
$server->use_server;
$server->query(<<"SQL");
SELECT replicate_reference_tables('block_writes');
SELECT format('SELECT citus_move_shard_placement(%s, %L, %s, %L, 54321, ''block_writes'')', shardid, nodename, nodeport, '$more->{directory}')
  FROM pg_dist_shard JOIN pg_dist_placement USING (shardid) JOIN pg_dist_node USING (groupid) WHERE logicalrelid = 'shards'::regclass ORDER BY shardid LIMIT 1 \\gexec
SQL
$server->query("SELECT retrain('m kmeans', '{\"quiet\": true}')");
is($server->query("SELECT count(*), max(label) FROM labelled"), "$rows|4", 'predict and retrain work on a node that came later, with a shard that moved');

my $version = $server->query("SELECT version FROM models WHERE model = 'm kmeans'");
my $session = $server->background("SELECT retrain('m compressive'); SELECT pg_sleep(0.01);" x 200);
select undef, undef, undef, 0.4;
$worker->server('crash');
my ($status, $output) = $server->finish($session);
like($output, qr/ERROR/, 'a training that loses a worker fails');
my ($failed, undef, $why) = $server->try("SELECT retrain('m kmeans', '{\"quiet\": true}')");
isnt($failed, 0, 'training fails if a worker is down');
like($why, qr/connection|server closed|could not connect|terminat/, 'the error says that a node cannot be reached');
is($server->query("SELECT version FROM models WHERE model = 'm kmeans'"), $version, 'the current version still serves');
is($server->query("SELECT version = (SELECT max(v.version) FROM model_versions v WHERE v.model = m.model) FROM models m WHERE model = 'm compressive'"), 't',
	'the training that failed midway left no version');
is($server->query("SELECT predict('m kmeans', x) IS NOT NULL FROM single LIMIT 1"), 't', 'predict works on the rows that can be read');
$worker->server('start');
$server->query('SELECT recover_prepared_transactions()');
is($server->query("SELECT retrain('m kmeans', '{\"quiet\": true}') > $version"), 't', 'a training works when the worker is back');
is($server->query("SELECT count(*), max(label) FROM labelled"), "$rows|4", 'predict works on all shards when the worker is back');

# ---- undistribute_models ----
like(($server->try('SET ROLE reader; SELECT undistribute_models()'))[2], qr/the distribution of models can only be changed by postgres/, 'only the owner takes models from the workers');
$server->query('SELECT undistribute_models(); SELECT undistribute_models()');
is($server->query("SELECT count(*) FROM pg_dist_partition WHERE logicalrelid = 'fastclust_internal.shared_models'::regclass"), 0, 'the reference table is gone');
like(($server->try('SELECT max(label) FROM labelled'))[2], qr/model "m kmeans" does not exist/, 'workers do not read models any more');
cmp_ok($server->query("SELECT retrain('m kmeans', '{\"quiet\": true}')"), '>', $version, 'the coordinator trains as before');
cmp_ok($server->query('SELECT distribute_models()'), '>', 8, 'the models can be distributed again');
is($server->query("SELECT count(*), max(label) FROM labelled"), "$rows|4", 'predict works on the shards again');
$server->query('DROP VIEW labelled; DROP EXTENSION fastclust CASCADE');
is($server->query("SELECT count(*) FROM pg_namespace WHERE nspname ~ '^fastclust'"), 0, 'the extension can be dropped completely');

done_testing();
