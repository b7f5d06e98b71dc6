# Kernel aggregates give the same bits with workers, notice cancels, survive dumps and crashes,
# and need memory linear in the rows.
use FastclustTest;

my $server = FastclustTest->new(extension => 1);
$server->query(q{ALTER DATABASE postgres SET fastclust.memory_budget = '1GB'});	# long calls need memory
$server->make_points(20000, 10, 20);
$server->query(<<'SQL');
CREATE TABLE few AS SELECT * FROM points WHERE id <= 3000;
ALTER TABLE few SET (parallel_workers = 2);
SQL

sub with_workers
{
	my ($workers) = @_;
	return "SET max_parallel_workers_per_gather = $workers; SET min_parallel_table_scan_size = 0; "
		. 'SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; ';
}

$server->query(<<'SQL');
CREATE TABLE matrix AS SELECT a.id, array_agg(exp(-0.1 * l2_distance(a.x, b.x) ^ 2)::real ORDER BY b.id) AS kernel_row
  FROM few a, few b WHERE a.id <= 600 AND b.id <= 600 GROUP BY a.id;
ALTER TABLE matrix SET (parallel_workers = 2);
CREATE TABLE row_of_ones AS SELECT array_fill(1::real, ARRAY[20000]) AS x;
SQL
my %call = (
	one_pass => q{kernel_projection_agg(id, x, rbf_kernel(0.1), 3)},
	nystroem => q{kernel_projection_agg(id, x, rbf_kernel(0.1), 3, '{"method": "nystroem", "columns": 60}')},
	pivoted_cholesky => q{kernel_projection_agg(id, x, rbf_kernel(0.1), 3, '{"method": "pivoted_cholesky", "columns": 60}')},
	exact => q{kernel_projection_agg(id, x, rbf_kernel(0.1), 3, '{"method": "exact"}')},
	precomputed => q{kernel_projection_agg(id, kernel_row, 'precomputed', 3)},
);
for my $name (sort keys %call)
{
	my $table = $name eq 'precomputed' ? 'matrix' : 'few';

	like($server->query(with_workers(2) . "EXPLAIN (COSTS OFF) SELECT $call{$name} FROM $table"),
		qr/Finalize Aggregate.*Gather.*Partial Aggregate/s, "$name: the plan is parallel");
	is($server->query(with_workers(2) . "SELECT a = b FROM (SELECT $call{$name} AS a FROM $table) s, "
			. "(SELECT $call{$name} AS b FROM (SELECT * FROM $table ORDER BY hashint4(id)) f) t"),
		't', "$name: neither workers nor the order of the rows change a bit");
}

# Each of these calls takes seconds: 20,000 rows and high ranks.
$server->query('CREATE TABLE many AS SELECT landmarks_agg(x, rbf_kernel(1), 700) AS op FROM few');
my @long = (
	['kernel_projection_agg', q{SELECT kernel_projection_agg(id, x, rbf_kernel(0.1), 400, '{"oversampling": 100}') IS NULL FROM points}],
	['nystroem projection', q{SELECT kernel_projection_agg(id, x, rbf_kernel(1), 300, '{"method": "nystroem", "columns": 3000}') IS NULL FROM points}],
	['pivoted Cholesky', q{SELECT kernel_projection_agg(id, x, rbf_kernel(1), 300, '{"method": "pivoted_cholesky", "columns": 1500}') IS NULL FROM points}],
	['exact projection', q{SELECT kernel_projection_agg(id, x, rbf_kernel(1), 300, '{"method": "exact"}') IS NULL FROM points WHERE id <= 5000}],
	['landmarks_agg', 'SELECT fastclust_internal.clusters(landmarks_agg(x, rbf_kernel(1), 2000)) FROM points'],
	['nystroem', 'SELECT count(nystroem(op, rbf_kernel(i), 300)) FROM many, generate_series(1, 50) i'],
	['projection of a matrix', q{SELECT kernel_projection_agg(i, x, 'precomputed', 100) IS NULL FROM row_of_ones, generate_series(1, 20000) i}],
	['kernel_kmeans', q{SELECT count(*) FROM kernel_kmeans('points', 'id', 'x', rbf_kernel(0.1), 300, '{"oversampling": 100}')}],
);
$server->check_cancel(@$_) for @long;

# Values and results of functions of them survive dump and restore, binary COPY and a crash.
$server->query(<<"SQL");
CREATE TABLE stored AS SELECT $call{one_pass} AS p, 'polynomial(3,1,0.5)'::kernel AS k, 'precomputed'::kernel AS given,
  (SELECT $call{precomputed} FROM matrix) AS of_matrix,
  (SELECT nystroem(landmarks_agg(x, rbf_kernel(1), 20), rbf_kernel(1)) FROM few) AS m FROM few;
SQL
my $bytes = 'SELECT md5(kernel_projection_send(p)), md5(kernel_map_send(m)), kernel_send(k), k, kernel_send(given), given, describe(p), describe(of_matrix), describe(m), md5(kernel_features(m, array_fill(0.5::real, ARRAY[10]))::text) FROM stored';
my $expected = $server->query($bytes);
$server->dump_into('postgres', 'restored');
is($server->query($bytes, database => 'restored'), $expected, 'a restored dump has the same bytes');
$server->copy_binary('stored', 'copied');
is($server->query('SELECT s.p = c.p AND s.k = c.k AND s.m = c.m AND s.given = c.given AND s.of_matrix = c.of_matrix FROM stored s, copied c'), 't', 'binary COPY changes no value');
$server->crash_and_restart;
is($server->query($bytes), $expected, 'a crash changes no bytes');

# Returns the peak resident memory in kB that a statement adds to a fresh backend, which has run
# calls for 300 rows before.
sub peak
{
	my ($sql) = @_;
	my $peak = "SELECT substring(pg_read_file('/proc/' || pg_backend_pid() || '/status') FROM 'VmHWM:\\s+(\\d+)')::int";
	my ($before, undef, $after) = split /\n/, $server->query("SELECT $call{one_pass} IS NULL FROM points WHERE id <= 300 \\g /dev/null\n"
		. "SELECT $call{nystroem} IS NULL FROM points WHERE id <= 300 \\g /dev/null\n$peak;\n$sql;\n$peak;");
	return $after - $before;
}

SKIP:
{
	skip 'there is no /proc', 4 unless -r '/proc/self/status';
	my $pass = 'SELECT kernel_projection_agg(id, x[1:2], polynomial_kernel(2), 2) IS NULL FROM points WHERE id <= ';
	my ($half, $whole) = map { peak($pass . $_) } 10000, 20000;
	my $nystroem = peak(q{SELECT kernel_projection_agg(id, x[1:2], polynomial_kernel(2), 2, '{"method": "nystroem", "columns": 400}') IS NULL FROM points});

	diag("peaks above the start: $half kB for 10000 rows, $whole kB for 20000; with 400 Nystrom columns $nystroem kB");
	my $matrix = peak(q{SELECT kernel_projection_agg(id, o.x, 'precomputed', 2) IS NULL FROM row_of_ones o, points});
	my $formula = 20000 * (9 * 16 + 4 * 6 + 40) / 1024;

	diag("a kernel matrix of 20000 rows takes $matrix kB, by the formula $formula kB");
	cmp_ok($matrix, '<', 1.2 * $formula, 'a kernel matrix takes the memory of its products with the random vectors');
	cmp_ok($whole, '<', 20000 * 0.4 + 2000, 'the projection takes less than 400 bytes a row, plus 2 MB');
	cmp_ok($whole, '<', 2.5 * $half + 2000, 'twice the rows take at most 2.5 times the memory');
	cmp_ok($nystroem, '>', 10 * $whole, 'the projection takes a tenth of the memory of Nystrom with as small an error, or less');
}

done_testing();
