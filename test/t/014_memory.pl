# A call stays within fastclust.memory_budget or fails before it begins. Each call is tried with
# nearly the smallest budget that it accepts, and the peak memory of its process is compared with
# the budget.
use FastclustTest;

plan skip_all => 'there is no /proc' unless -r '/proc/self/status';

# malloc returns freed memory at once, so that the peak is that of memory in use.
$ENV{MALLOC_MMAP_THRESHOLD_} = 65536;
my $server = FastclustTest->new(extension => 1, config => "work_mem = '1MB'\nmax_parallel_workers_per_gather = 0\n");

# Returns SQL for n rows of d numbers computed from i and j, so that only the current row is in
# memory.
sub rows
{
	my ($n, $d) = @_;
	return "(SELECT i::bigint AS id, ARRAY(SELECT ((i * j) % 97 + (i % 13) * 100)::real FROM generate_series(1, $d) j) AS x FROM generate_series(1, $n) i OFFSET 0) r";
}

my ($wide, $few) = (rows(1500, 1000), rows(200, 10));
$server->query(<<"SQL");
CREATE TABLE points AS SELECT id, x FROM ${\ rows(3000, 300)};
CREATE VIEW few_points AS SELECT * FROM points WHERE id <= 100;
CREATE TABLE narrow AS SELECT id, x FROM $few;
CREATE TABLE made (name text PRIMARY KEY, op fastop, s sketch);
INSERT INTO made (name, op) SELECT 'wide', fastop_agg(x) FROM $wide;
INSERT INTO made (name, op) SELECT 'small', fastop_agg(x) FROM ${\ rows(20, 10)};
INSERT INTO made (name, op) SELECT 'svd', factorize(op, 'svd', '{"budget": 50000, "rerank": 5}') FROM made WHERE name = 'wide';
INSERT INTO made (name, op) SELECT 'pruned', factorize(op, 'prune', '{"budget": 150000}') FROM made WHERE name = 'wide';
INSERT INTO made (name, s) SELECT 'sketch', sketch_agg(x, sketch_spec(10, 500000, 1.0)) FROM ${\ rows(4, 10)};
SQL

sub operator { my ($name) = @_; return "(SELECT op FROM made WHERE name = '$name')"; }

# Returns a call over rows with the named operator, and the same call with a small one.
sub scan
{
	my ($aggregate, $name) = @_;
	return ["$aggregate, $name operator",
		map { "SELECT $aggregate(" . operator($_->[0]) . ", x) IS NULL FROM $_->[1]" } [$name, rows(100, 1000)], ['small', $few]];
}

sub one { my ($name, $call, $small) = @_; return [$name, map { s/^/SELECT /r } $call, $small]; }

# Each entry: name, call, a small call of the same kind.
my @cases = (
	scan('lloyd_step_agg', 'wide'), scan('lloyd_step_agg', 'svd'), scan('lloyd_step_agg', 'pruned'),
	scan('sse_agg', 'wide'), scan('simplified_silhouette_agg', 'svd'), scan('davies_bouldin_agg', 'pruned'),
	one('fastop_agg', "fastclust_internal.dim(fastop_agg(x)) FROM ${\ rows(4000, 1000)}", "fastclust_internal.dim(fastop_agg(x)) FROM $few"),
	one('kmeans_agg', "fastclust_internal.dim(kmeans_agg(x, 5, '{\"n_init\": 1}')) FROM ${\ rows(30000, 100)}", "fastclust_internal.dim(kmeans_agg(x, 5)) FROM $few"),
	one('kmeans_agg, many clusters', "fastclust_internal.dim(kmeans_agg(x, 1200, '{\"n_init\": 1, \"iterations\": 1}')) FROM $wide", "fastclust_internal.dim(kmeans_agg(x, 5)) FROM $few"),
	one('qkmeans_agg', "fastclust_internal.dim(qkmeans_agg(x, 50, '{\"iterations\": 1}')) FROM ${\ rows(20000, 100)}", "fastclust_internal.dim(qkmeans_agg(x, 5)) FROM $few"),
	one('qkmeans_agg, many clusters', "fastclust_internal.dim(qkmeans_agg(x, 800, '{\"iterations\": 1, \"sparsity\": 2}')) FROM ${\ rows(1000, 500)}", "fastclust_internal.dim(qkmeans_agg(x, 5)) FROM $few"),
	one('qkmeans_log', "count(*) FROM qkmeans_log('points', 'x', 60, '{\"iterations\": 1}')", "fastclust_internal.dim(qkmeans_agg(x, 5)) FROM $few"),
	one('kernel_kmeans', "count(*) FROM kernel_kmeans('points', 'id', 'x', linear_kernel(), 5)", "count(*) FROM kernel_kmeans('few_points', 'id', 'x', linear_kernel(), 5)"),
	one('sketch_spec_agg', "describe(sketch_spec_agg(x, 20)) FROM ${\ rows(2500, 1500)}", "describe(sketch_spec_agg(x, 5)) FROM $few"),
	one('sketch_agg', "row_count(sketch_agg(x, sketch_spec(10, 300000, 1.0))) FROM $few", "row_count(sketch_agg(x, sketch_spec(10, 100, 1.0))) FROM $few"),
	one('sketch_agg, weighted', "row_count(sketch_agg(x, sketch_spec(10, 300000, 1.0), id + 0.5)) FROM $few", "row_count(sketch_agg(x, sketch_spec(10, 100, 1.0), 0.5)) FROM $few"),
	one('merge_agg', "row_count(merge_agg(s)) FROM made, generate_series(1, 3) WHERE name = 'sketch'", "row_count(s) FROM made WHERE name = 'sketch'"),
	one('sketch + sketch', "row_count(s + s) FROM made WHERE name = 'sketch'", "row_count(s) FROM made WHERE name = 'sketch'"),
	one('adjusted_rand_agg', "adjusted_rand_agg(i % 300000, i % 7) FROM generate_series(1, 300000) i", "adjusted_rand_agg(i % 7, i % 3) FROM generate_series(1, 50000) i"),
	one('decode', "count(*) FROM decode((SELECT sketch_agg(x, sketch_spec(50, 50000, 100.0)) FROM ${\ rows(100, 50)}), 3, 'clompr')",
		"count(*) FROM decode((SELECT sketch_agg(x, sketch_spec(10, 100, 100.0)) FROM $few), 3, 'clompr')"),
	(map { one("factorize, $_", "fastclust_internal.dim(factorize(${\ operator('wide')}, '$_', '{\"rerank\": 5, \"budget\": 50000}'))",
			"fastclust_internal.dim(factorize(${\ operator('small')}, '$_', '{\"budget\": 60}'))") } 'svd', 'prune'),
	one('nystroem', "describe(nystroem(${\ operator('wide')}, rbf_kernel(1e-6), 50))", "describe(nystroem(${\ operator('small')}, rbf_kernel(1e-6), 10))"),
	one('kernel_projection_agg', "kernel_projection_agg(id, x, linear_kernel(), 5) IS NULL FROM ${\ rows(6000, 500)}",
		'kernel_projection_agg(id, x, linear_kernel(), 5) IS NULL FROM few_points'),
	one('landmarks_agg', "fastclust_internal.clusters(landmarks_agg(x, rbf_kernel(1e-4), 200)) FROM ${\ rows(3000, 500)}",
		'fastclust_internal.clusters(landmarks_agg(x, rbf_kernel(1e-4), 20)) FROM few_points'),
);

# The pages of tables and the arguments as they are read do not count as memory of the call.
my $touch = "SELECT count(x[1]) FROM points;\n"
	. join('', map { "SELECT fastclust_internal.dim(op) FROM made WHERE name = '$_';\n" } 'wide', 'svd', 'small')
	. join('', map { "SELECT sum(length(chunk_data)) FROM $_;\n" }
		split /\n/, $server->query("SELECT c.reltoastrelid::regclass FROM pg_class c WHERE c.relname = 'made'"));
my $peak = "SELECT substring(pg_read_file('/proc/self/status') FROM 'VmHWM:\\s+(\\d+)')::int";

# Returns the peak in kB of a call with a budget in MB, less that of the small call. If the budget
# is too small, returns undef and the MB that the error names, or undef alone if it names none.
sub attempt
{
	my ($call, $small, $budget) = @_;
	my ($status, $output, $errors) = $server->try("$touch$small \\g /dev/null\n$peak;\nSET fastclust.memory_budget = '${budget}MB';\n$call \\g /dev/null\n$peak;");

	return (undef, $errors =~ /needs (\d+) MB/ ? $1 : ()) if $status != 0 && $errors =~ /fastclust.memory_budget allows/;
	die "$call: $errors" if $status != 0;
	my ($before, $after) = (split /\n/, $output)[-2, -1];
	return $after - $before;
}

# Returns the MB that an error of the call names, or a budget within a quarter of the smallest it
# accepts, and the kB taken with it.
sub least_budget
{
	my ($call, $small) = @_;
	my ($low, $budget) = (0, 16);
	my ($kb, $asked) = attempt($call, $small, $budget);

	while (!defined $kb)
	{
		$low = $asked ? undef : $budget;
		$budget = $asked // 2 * $budget;
		die "$call: no budget is enough" if $budget > 10000;
		($kb, $asked) = attempt($call, $small, $budget);
	}
	while (defined $low && $budget - $low > 0.25 * $budget)
	{
		my $middle = int(($low + $budget) / 2);

		($asked) = attempt($call, $small, $middle);
		($low, $budget, $kb) = defined $asked ? ($low, $middle, $asked) : ($middle, $budget, $kb);
	}
	return ($budget, $kb);
}

# MB that a call may use in addition to the budget: the operator, and half a MB for caches and
# plans. The result may be as large as the operator, but a product of factors uses little of it. A
# server with assertions writes to memory that it frees, so all of it is resident there.
my $operator = $server->query("SELECT pg_column_size(op) / 1048576.0 FROM made WHERE name = 'wide'");
my $beside = 0.5 + $operator * ($server->query('SHOW debug_assertions') eq 'on' ? 2 : 1);

for my $case (grep { !@ARGV || $_->[0] =~ /$ARGV[0]/ } @cases)
{
	my ($name, $call, $small) = @$case;
	my ($budget, $kb) = least_budget($call, $small);

	note(sprintf "%-30s budget %4d MB, peak %4d MB", $name, $budget, $kb / 1024);
	cmp_ok($kb, '<', 1024 * (1.05 * $budget + $beside), "$name: the call works with $budget MB and takes no more");
}

# A training with many clusters of wide rows.
my $small_training = "SELECT train('narrow', 'narrow', 'x', 2, options => '{\"quiet\": true}')";
$server->query('SELECT setseed(0.5); CREATE TABLE wide_rows AS SELECT ARRAY(SELECT random()::real FROM generate_series(1, 768) j WHERE i > 0) AS x FROM generate_series(1, 2000) i');
my ($kb) = attempt("SELECT train('wide', 'wide_rows', 'x', 300, options => '{\"quiet\": true}')", $small_training, 200);
cmp_ok($kb, '<', 1024 * 200, "train, many clusters: the call works with 200 MB and takes no more");

# A training with wide rows whose sample fills most of the budget.
($kb) = attempt("SELECT train('wide', 'wide_rows', 'x', 10, options => '{\"quiet\": true}')", "SELECT sum(x[1]) FROM wide_rows \\g /dev/null\n$small_training", 32);
cmp_ok($kb, '<', 1024 * 32, 'train, wide rows: the samples fit into 32 MB');

# A training with very many clusters, scanned with a worker.
sub peak_of_training
{
	my ($iterations) = @_;
	my $options = qq({"quiet": true, "iterations": $iterations});
	my ($status, $output, $errors) = $server->try("SET max_parallel_workers_per_gather = 1; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0;\n"
		. "SET min_parallel_table_scan_size = 0; SELECT train('scanned', 'wide_rows', 'x', 1800, options => '$options') \\g /dev/null\n$peak;");

	die $errors if $status != 0;
	return (split /\n/, $output)[-1];
}
my $with = peak_of_training(3);
cmp_ok($with, '<', 1024 * 256, 'train, very many clusters: the scans stay within the budget');
done_testing();
