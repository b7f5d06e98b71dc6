# Aggregates over foreign tables run on the remote servers, partition by partition, their results
# are merged, and training fetches no rows.
use FastclustTest;

my $rows = 24000;
my @shards = map { FastclustTest->new(extension => 1, config => "shared_buffers = 64MB\n") } 0 .. 2;
my $server = FastclustTest->new(extension => 1, config => "shared_buffers = 64MB\n");
plan skip_all => 'postgres_fdw is not installed' if ($server->try('CREATE EXTENSION postgres_fdw'))[0] != 0;

$server->make_points($rows, 4, 5);
$server->query(<<'SQL');
ALTER TABLE points RENAME TO single;
ALTER TABLE single ADD a float8, ADD b float8;
ALTER TABLE single ADD kind text, ADD day date, ADD flag boolean;
UPDATE single SET a = x[1], b = x[2], kind = 'kind ' || g % 3, day = date '2030-01-01' + g, flag = g = 2;
ANALYZE single;
CREATE TABLE spread (LIKE single) PARTITION BY HASH (id);
SQL
for my $i (0 .. 2)
{
	$server->query("CREATE TABLE share AS SELECT * FROM single WHERE satisfies_hash_partition('spread'::regclass, 3, $i, id)");
	$server->query("\\copy share to '$server->{directory}/share.bin' with (format binary)");
	$server->query('DROP TABLE share');
	$shards[$i]->use_server;
	$shards[$i]->query("CREATE TABLE points (id int, g int, x real[], a float8, b float8, kind text, day date, flag boolean);\n\\copy points from '$server->{directory}/share.bin' with (format binary)\nANALYZE points;");
	$server->use_server;
	$server->query(<<"SQL");
CREATE SERVER shard_$i FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '$shards[$i]{directory}', port '54321', dbname 'postgres', extensions 'fastclust');
CREATE USER MAPPING FOR postgres SERVER shard_$i OPTIONS (user 'postgres');
CREATE FOREIGN TABLE spread_$i PARTITION OF spread FOR VALUES WITH (MODULUS 3, REMAINDER $i) SERVER shard_$i OPTIONS (table_name 'points');
SQL
}
$server->query('ANALYZE spread_0, spread_1, spread_2, spread; CREATE TABLE spec AS SELECT sketch_spec(4, 150, 0.5, seed => 1) AS s; CREATE TABLE centroids AS SELECT kmeans_agg(x, 5) AS op FROM (SELECT x FROM single LIMIT 1000) q');
my $spec = $server->query('SELECT s FROM spec');
my $op = $server->query('SELECT op FROM centroids');

# ---- one foreign table: the aggregate is sent to its server ----
my %call = (
	'sketch_agg' => "md5(sketch_send(sketch_agg(x, '$spec')))",
	'lloyd_step_agg' => "(lloyd_step_agg('$op', x)).n",
	'assign' => "sum(assign('$op', x))",
);
like($server->query("EXPLAIN VERBOSE SELECT $call{$_} FROM spread_1"), qr/Foreign Scan.*Remote SQL: SELECT .*fastclust\.\w+\(/s, "$_ over a foreign table is computed there") for sort keys %call;
is($server->query("SELECT md5(sketch_send(merge_agg(s))) FROM (" . join(' UNION ALL ', map { "SELECT sketch_agg(x, '$spec') AS s FROM spread_$_" } 0 .. 2) . ') q'),
	$server->query("SELECT $call{sketch_agg} FROM single"), 'sketches of three servers merge to the same bits');
like($server->query("EXPLAIN VERBOSE SELECT count(*) FROM spread_1 WHERE assign('$op', x) = 1"), qr/Remote SQL: .*WHERE .*fastclust\.assign/, 'assign in WHERE is evaluated on the remote server');

# ---- equal values of several servers, with several texts, are one group ----
for my $i (0 .. 1)
{
	$shards[$i]->use_server;
	$shards[$i]->query("CREATE TABLE scaled AS SELECT i AS id, (ARRAY['1.0', '1.00', '2'])[1 + i % 3]"
		. "::numeric AS g, ARRAY[i % 7, i % 5]::real[] AS x"
		. " FROM generate_series(1, 3000) i");
}
$server->use_server;
$server->query('CREATE TABLE scaled (id integer, g numeric, x real[])');
$server->query("CREATE FOREIGN TABLE scaled_$_ () INHERITS (scaled) SERVER shard_$_"
	. " OPTIONS (table_name 'scaled')") for 0 .. 1;
$server->query(q{SELECT train('m scaled', 'scaled', 'x', 2,
	options => '{"group_by": "g", "quiet": true, "iterations": 3}')});
is($server->query(q{SELECT string_agg(n::text, ' ' ORDER BY n) FROM (SELECT sum(size) AS n
	FROM model_clusters WHERE model = 'm scaled' GROUP BY group_value) q}), '2000 4000',
	'a training over foreign tables groups by equality');
is($server->query(q{SELECT count(predict('m scaled', s)) || ' '
	|| count(predict('m scaled', x, group_value => round(g)::integer)) FROM scaled s}),
	'6000 6000', 'each row finds its group');
is($server->query(q{SELECT string_agg(n || ' ' || verdict, ', ' ORDER BY n)
	FROM drift('m scaled', by => 'group')}), '2000 none, 4000 none', 'drift knows the same groups');
$server->query(q{SELECT drop_model('m scaled'); DROP TABLE scaled CASCADE});

# ---- equal values of several servers, with several texts, are one category ----
SKIP:
{
	skip 'citext is not installed', 3 if ($server->try('CREATE EXTENSION citext'))[0] != 0;
	for my $i (0 .. 1)
	{
		$shards[$i]->use_server;
		$shards[$i]->query('CREATE EXTENSION citext; CREATE TABLE coloured AS SELECT i AS id,'
			. " (ARRAY['Red', 'red', 'BLUE', 'blue'])[1 + i % 4 - i % 2 * $i]::citext AS c,"
			. ' i % 4 / 2 * 5 + i % 7 / 10.0 AS a FROM generate_series(1, 3000) i');
	}
	$server->use_server;
	$server->query('CREATE TABLE coloured (id integer, c citext, a float8)');
	$server->query("CREATE FOREIGN TABLE coloured_$_ () INHERITS (coloured) SERVER shard_$_"
		. " OPTIONS (table_name 'coloured')") for 0 .. 1;
	$server->query(q{SELECT train('m coloured', 'coloured', '{c,a}', 2,
		options => '{"quiet": true, "iterations": 3}')});
	is($server->query(q{SELECT feature_names(model_encoder('m coloured'))}),
		'{"c = BLUE","c = Red","c = other",a}', 'a training over foreign tables has categories by equality');
	is($server->query(q{SELECT sum(size) || ' ' || count(*) FROM model_clusters
		WHERE model = 'm coloured' AND size = 3000}), '6000 2', 'their servers encode all texts of a category');
	is($server->query(q{SELECT count(DISTINCT (lower(c::text), predict('m coloured', t)))
		FROM coloured t}), '2', 'each row finds its category');
	$server->query(q{SELECT drop_model('m coloured'); DROP TABLE coloured CASCADE});
}

# ---- training over foreign partitions: no query of a server returns its rows ----
my %training = (
	'kmeans' => "5, features => 'x'",
	'compressive' => "5, features => 'x', method => 'compressive'",
	'columns' => "5, features => ARRAY['a', 'b']",
	'qkmeans' => "5, features => ARRAY['a', 'b'], method => 'qkmeans'",
	'columns of many types' => "5, features => ARRAY['a', 'kind', 'day', 'flag', 'x']",
	'kernel' => "5, features => 'x', method => 'kernel'",
	'the number of clusters' => "NULL, features => 'x'",
);
for my $shard (@shards)
{
	$shard->use_server;
	$shard->query("ALTER SYSTEM SET log_statement = 'all'; SELECT pg_reload_conf()");
}
$server->use_server;
is($server->query("SELECT train('m $_', 'spread', k => $training{$_}, options => '{\"sample_rows\": 1000, \"iterations\": 1}')"), 1, "training of $_ works over foreign partitions") for sort keys %training;
is($server->query("SELECT train('m groups of $_', 'spread', 'x', 2, options => '{\"group_by\": \"$_\", \"sample_rows\": 500, \"iterations\": 2, \"tolerance\": 0}')"), 1, "training of groups of $_ works over foreign partitions")
	for 'g', 'kind';
is($server->query("SELECT retrain('m kmeans', '{\"quiet\": true}')"), 2, 'retrain makes the next version');
is($server->query("SELECT verdict, n FROM drift('m kmeans')"), "none|$rows", 'drift finds no change in the same rows');
is($server->query("SELECT count(*) FROM drift('m kmeans', 'spread', by => 'g')"), 5, 'drift by a column has a row for each value');
open my $log, '<', "$shards[1]{directory}/log" or die $!;
my @asked = do { local $/; <$log> } =~ /DECLARE c\d+ CURSOR FOR\s+(.*)/g;
my @pulled = grep { !/_agg\(|LIMIT 1|count\(\*\)|>> 40/ } @asked;    # >> 40: sample for an encoder
cmp_ok(scalar(@asked), '>', 15, 'the servers were queried');
is(scalar(@pulled), 0, 'the servers were queried for aggregates and samples alone') or diag(map { substr($_, 0, 150) . "\n" } @pulled);

is($server->query("SELECT train('m groups', 'spread', 'x', 2, options => '{\"group_by\": \"g\"}')"), 1, 'training of groups works');
is($server->query("SELECT count(*), sum(n) FROM drift('m groups', by => 'group')"), "5|$rows", 'drift by group has all groups and all rows');
is($server->query("SELECT retrain_if_drifted('m kmeans', options => '{\"quiet\": true}') IS NULL"), 't', 'retrain_if_drifted does nothing on the same rows');
is($server->query("SELECT max(k) FILTER (WHERE verdict IS NOT NULL) FROM choose_k('spread', 'x', 8)"), 5, 'choose_k finds the planted number');
is($server->query("SELECT DISTINCT fastclust_internal.clusters(op) FROM qkmeans_log('spread', 'x', 5)"), 5, 'qkmeans_log trains over foreign partitions');
is($server->query("SELECT count(*), max(predict('m kmeans', x)) FROM spread"), "$rows|4", 'predict labels all rows');

# ---- a sample by values gives the same model wherever the rows lie ----
for my $method ('compressive', 'kmeans', 'qkmeans', 'kernel')
{
	for my $features ("'x'", "ARRAY['a', 'b']")
	{
		my %made;
		for my $table ('single', 'spread')
		{
			$server->query("SELECT train('same $table', '$table', $features, 5, '$method', '{\"sample\": \"hash\", \"sample_rows\": 1000, \"quiet\": true}')");
			$made{$table} = "SELECT operator FROM model_versions WHERE model = 'same $table' ORDER BY version DESC LIMIT 1";
		}
		is($server->query("SELECT md5(fastop_send(($made{spread}))) = md5(fastop_send(($made{single})))"), 't', "$method of $features: the model has the same bits") if $method eq 'compressive';
		is($server->query("SELECT bool_and(l2_distance(a.centroid, b.centroid) <= 1e-12 * (1 + l2_distance(a.centroid, array_fill(0::float8, ARRAY[cardinality(a.centroid)]))))
			FROM centroids(($made{spread})) a JOIN centroids(($made{single})) b USING (cluster)"), 't', "$method of $features: the centroids agree to 1e-12");
	}
}

for my $features ("'x'", "ARRAY['a', 'b']")
{
	my $options = '{"sample": "hash", "micro_clusters": 400, "min_cluster_rows": 800, "quiet": true}';
	my @made = map { $server->query("SELECT train('density $_', '$_', $features, method => 'density', options => '$options');
		SELECT k, md5(fastop_send(operator)), md5(fastop_send(micro_clusters)), splits FROM stored_versions WHERE model = 'density $_' ORDER BY version DESC LIMIT 1") } 'single', 'spread';

	s/^\d+\n// for @made;
	is($made[1], $made[0], "density of $features: the model has the same bits");
}

$server->query("SELECT train('same $_', '$_', ARRAY['a', 'b', 'kind', 'day'], 3, options => '{\"sample\": \"hash\", \"sample_rows\": 500, \"group_by\": \"g\", \"quiet\": true}')")
	for 'single', 'spread';
is($server->query("SELECT count(*), bool_and(l2_distance(a.centroid, b.centroid) <= 1e-12 * (1 + l2_distance(a.centroid, array_fill(0::float8, ARRAY[cardinality(a.centroid)]))))
	FROM models m JOIN model_versions v ON v.model = m.model AND v.version = m.version JOIN models n ON n.model = 'same spread'
	JOIN model_versions w ON w.model = n.model AND w.version = n.version AND w.group_value IS NOT DISTINCT FROM v.group_value, centroids(v.operator) a, centroids(w.operator) b
	WHERE m.model = 'same single' AND a.cluster = b.cluster"), '15|t', 'groups of columns of many types: the centroids agree to 1e-12');

# ---- labels ----
$server->query(q{SELECT train('labels', 'single', 'x', 5, options => '{"quiet": true}')});
is($server->query(qq{SELECT write_labels('labels', '$_', 'labels_of_$_', '{"key": "id"}')}), $rows, "write_labels of $_ writes a label for each row") for qw(single spread);
is($server->query('SELECT count(*) FROM labels_of_single JOIN labels_of_spread USING (id, cluster)'), $rows, 'the labels are the same');

# ---- a server is down ----
$shards[2]->server('stop');
my ($failed, undef, $why) = $server->try("SELECT retrain('m kmeans')");
isnt($failed, 0, 'training fails if one of the servers is down');
like($why, qr/connect/, 'the error says that there is no connection');
is($server->query("SELECT version FROM models WHERE model = 'm kmeans'"), 2, 'the current version still serves');

done_testing();
