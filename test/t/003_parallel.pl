# Aggregates run in parallel workers, and neither workers, nor the order of the rows, nor grouping
# changes a bit of their results.
use FastclustTest;

my $server = FastclustTest->new(extension => 1);
$server->make_points(40000, 4, 5);
$server->query(<<'SQL');
CREATE TABLE spec AS SELECT sketch_spec(4, 150, 0.5, seed => 1) AS s;
CREATE TABLE parts (LIKE points) PARTITION BY LIST (g);
CREATE TABLE part_a PARTITION OF parts FOR VALUES IN (0, 1);
CREATE TABLE part_b PARTITION OF parts DEFAULT;
INSERT INTO parts SELECT * FROM points ORDER BY hashint4(id);
SQL

sub with_workers
{
	my ($workers) = @_;
	return "SET max_parallel_workers_per_gather = $workers; SET min_parallel_table_scan_size = 0; "
		. "SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; "
		. ($workers ? '' : 'SET max_parallel_workers = 0; ');
}

my %call = (
	'sketch_agg' => 'sketch_agg(x, (SELECT s FROM spec))',
	'weighted sketch_agg' => 'sketch_agg(x, (SELECT s FROM spec), (id % 5) * 0.3)',
	'sketch_agg of doubles' => 'sketch_agg(x::float8[], (SELECT s FROM spec))',
);
for my $name (sort keys %call)
{
	my $plan = $server->query(with_workers(2) . "EXPLAIN (COSTS OFF) SELECT $call{$name} FROM points");
	like($plan, qr/Finalize Aggregate.*Gather.*Partial Aggregate/s, "$name: the plan is parallel") or diag($plan);

	my $bytes = "SELECT md5(sketch_send($call{$name})) FROM";
	my $serial = $server->query(with_workers(0) . "$bytes points");
	is($server->query(with_workers($_) . "$bytes points"), $serial, "$name: the same bits with $_ workers") for 1, 2;
	is($server->query(with_workers(2) . "$bytes (SELECT * FROM points ORDER BY hashint4(id)) p"), $serial,
		"$name: another order of the rows gives the same bits");
	is($server->query(with_workers(2) . "$bytes parts"), $serial, "$name: partitions give the same bits");
	is($server->query("SELECT md5(sketch_send(merge_agg(s))) FROM (SELECT $call{$name} AS s FROM points GROUP BY id % 97) g"),
		$serial, "$name: sketches merged from 97 groups have the same bits");
}

# Drift counts behave like sketches.
my $counted = 'md5(drift_counts_agg(x, (SELECT drift FROM spec))::text)';
$server->query('ALTER TABLE spec ADD drift drift_spec; UPDATE spec SET drift = (SELECT drift_spec_of_sample(fastop_agg(x), 1) FROM points WHERE id % 20 = 0)');
like($server->query(with_workers(2) . "EXPLAIN (COSTS OFF) SELECT $counted FROM points"), qr/Finalize Aggregate.*Gather.*Partial Aggregate/s, 'drift_counts_agg: the plan is parallel');
my $one_by_one = $server->query(with_workers(0) . "SELECT $counted FROM points");
is($server->query(with_workers(2) . "SELECT $counted FROM $_"), $one_by_one, "drift_counts_agg: the same bits over $_")
	for 'points', 'parts', '(SELECT * FROM points ORDER BY hashint4(id)) p';
is($server->query("SELECT md5(merge_drift_counts_agg(s)::text) FROM (SELECT drift_counts_agg(x, (SELECT drift FROM spec)) AS s FROM points GROUP BY id % 97) g"),
	$one_by_one, 'drift_counts_agg: counts merged from 97 groups have the same bits');

# Aggregates that collect rows put together what their workers send.
my %collected = (
	'sketch_spec_agg' => 'sketch_spec_send(sketch_spec_agg(x, 5))',
	'kmeans_agg' => 'fastop_send(kmeans_agg(x, 5))',
	'kmeans_agg with options' => q(fastop_send(kmeans_agg(x, 5, '{"seed": 3, "n_init": 2}'))),
	'qkmeans_agg' => q(fastop_send(qkmeans_agg(x, 5, '{"iterations": 2, "seed": 1}'))),
);
for my $name (sort keys %collected)
{
	my $query = "SELECT md5($collected{$name}) FROM";
	my $plan = $server->query(with_workers(2) . "EXPLAIN (COSTS OFF) $query points");
	my $serial = $server->query(with_workers(0) . "$query points");

	like($plan, qr/Finalize Aggregate.*Gather.*Partial Aggregate/s, "$name: the plan is parallel") or diag($plan);
	is($server->query(with_workers(2) . "$query points"), $serial, "$name: the same bits with 2 workers");
	is($server->query(with_workers(2) . "$query parts"), $serial, "$name: partitions give the same bits");
}

is($server->query('SELECT bool_and(a = b) FROM (SELECT sketch_agg(x, (SELECT s FROM spec)) a,
	row_count(sketch_agg(x, (SELECT s FROM spec))) n, sketch_agg(x, (SELECT s FROM spec)) b FROM points GROUP BY g) t'),
	't', 'aggregates that share a state have the same result');
is($server->query(<<'SQL'), 't', 'a sliding window has the sketches of its rows');
WITH slid AS (
  SELECT id, row_count(sketch_agg(x, (SELECT s FROM spec)) OVER w) AS n, means(sketch_agg(x, (SELECT s FROM spec)) OVER w) AS m
    FROM points WHERE id <= 300 WINDOW w AS (ORDER BY id ROWS 40 PRECEDING))
SELECT bool_and(n = (SELECT count(*) FROM points p WHERE p.id BETWEEN slid.id - 40 AND slid.id)
            AND m = (SELECT means(sketch_agg(x, (SELECT s FROM spec))) FROM points p WHERE p.id BETWEEN slid.id - 40 AND slid.id))
  FROM slid WHERE id % 50 = 0
SQL

# A training of groups reads the rows in one hashed scan without a sort; its plans come from
# auto_explain.
sub plans_of
{
	my ($statement) = @_;
	my $log = "$server->{directory}/log";
	my $before = -s $log;
	$server->query("LOAD 'auto_explain'; SET auto_explain.log_min_duration = 0; SET auto_explain.log_nested_statements = on; "
			. "SET auto_explain.log_level = warning; $statement");
	open my $file, '<', $log or die "$log: $!\n";
	seek $file, $before, 0;
	my $text = do { local $/; <$file> };
	return grep { /plan:\s+Query Text: [^\n]*\bscan_agg\([^\n]*GROUP BY/ } split /^(?=\d{4}-)/m, $text;
}

chomp(my $library = qx{"${\($ENV{PG_CONFIG} || 'pg_config')}" --pkglibdir});
SKIP: {
	skip 'no auto_explain', 9 if !-e "$library/auto_explain.so";
	$server->query('CREATE TABLE grouped AS SELECT id, x, id % 8 AS few, id % 2000 AS many, (id % 8)::text AS named FROM points; ANALYZE grouped');
	for my $group ('few', 'many', 'named')
	{
		my @plans = plans_of(qq(SELECT train('by_$group', 'grouped', 'x', 2, options => '{"group_by": "$group", "quiet": true}')));
		is(scalar(grep { /scan_agg/ && !/TABLESAMPLE/ } @plans), 1, "groups by $group: the rows are scanned once");
		like(join('', @plans), qr/HashAggregate/, "groups by $group: the scan is hashed");
		unlike(join('', @plans), qr/Sort|GroupAggregate/, "groups by $group: nothing is sorted");
	}
}

done_testing();
