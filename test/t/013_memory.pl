# What a function takes is within fastclust.memory_budget, or it fails before: each is tried with the least budget
# it accepts, and the peak of its process is compared with that.
use strict;
use warnings;
use FastclustTest;
use Test::More;

plan skip_all => 'there is no /proc' unless -r '/proc/self/status';

my $server = FastclustTest->new(extension => 1, config => "work_mem = '4MB'\nmax_parallel_workers_per_gather = 0\n");

# n rows of d numbers that a function of i and j makes: nothing but the row is in memory
sub rows
{
	my ($n, $d) = @_;
	return "(SELECT i::bigint AS id, ARRAY(SELECT ((i * j) % 97 + (i % 13) * 100)::real FROM generate_series(1, $d) j) AS x FROM generate_series(1, $n) i OFFSET 0) r";
}

$server->query(<<"SQL");
CREATE TABLE made (name text PRIMARY KEY, op fastop, s sketch, spec sketch_spec, map kernel_map);
INSERT INTO made (name, op) SELECT 'wide', fastop_agg(x) FROM ${\ rows(2000, 1000)};
INSERT INTO made (name, op) SELECT 'small', fastop_agg(x) FROM ${\ rows(20, 10)};
INSERT INTO made (name, op) SELECT 'svd', factorize(op, 'svd', '{"budget": 60000}') FROM made WHERE name = 'wide';
INSERT INTO made (name, op) SELECT 'pruned', factorize(op, 'prune', '{"budget": 200000}') FROM made WHERE name = 'wide';
INSERT INTO made (name, op) SELECT 'reranked', factorize(op, 'svd', '{"budget": 60000, "rerank": 5}') FROM made WHERE name = 'wide';
CREATE TABLE points AS SELECT id, x FROM ${\ rows(5000, 300)};
INSERT INTO made (name, s) SELECT 'sketch', sketch_agg(x, sketch_spec(10, 1000000, 1.0)) FROM ${\ rows(4, 10)};
INSERT INTO made (name, op) SELECT 'middle', fastop_agg(x) FROM ${\ rows(400, 300)};
SQL

sub operator { my ($name) = @_; return "(SELECT op FROM made WHERE name = '$name')"; }

# [name, the call, a small one of the same kind]
my @cases = (
	(map { ["lloyd_step_agg, $_ operator" => "SELECT (lloyd_step_agg(${\ operator($_)}, x)).n FROM ${\ rows(300, 1000)}",
			"SELECT (lloyd_step_agg(${\ operator('small')}, x)).n FROM ${\ rows(300, 10)}"] } 'wide', 'svd', 'pruned', 'reranked'),
	(map { my $agg = $_; map { ["$agg, $_ operator" => "SELECT $agg(${\ operator($_)}, x) FROM ${\ rows(300, 1000)}",
			"SELECT $agg(${\ operator('small')}, x) FROM ${\ rows(300, 10)}"] } 'wide', 'svd', 'pruned', 'reranked' } 'sse_agg', 'simplified_silhouette_agg', 'davies_bouldin_agg'),
	["fastop_agg" => "SELECT dim(fastop_agg(x)) FROM ${\ rows(9000, 1000)}", "SELECT dim(fastop_agg(x)) FROM ${\ rows(20, 10)}"],
	["kmeans_agg" => "SELECT dim(kmeans_agg(x, 5, '{\"n_init\": 1}')) FROM ${\ rows(40000, 100)}", "SELECT dim(kmeans_agg(x, 5)) FROM ${\ rows(200, 10)}"],
	["kmeans_agg, many clusters" => "SELECT dim(kmeans_agg(x, 3000, '{\"n_init\": 1, \"iterations\": 1}')) FROM ${\ rows(4000, 1000)}", "SELECT dim(kmeans_agg(x, 5)) FROM ${\ rows(200, 10)}"],
	["qkmeans_agg" => "SELECT dim(qkmeans_agg(x, 100, '{\"iterations\": 2}')) FROM ${\ rows(20000, 200)}", "SELECT dim(qkmeans_agg(x, 5)) FROM ${\ rows(200, 10)}"],
	["qkmeans_agg, many clusters" => "SELECT dim(qkmeans_agg(x, 1500, '{\"iterations\": 1, \"sparsity\": 2}')) FROM ${\ rows(2000, 500)}", "SELECT dim(qkmeans_agg(x, 5)) FROM ${\ rows(200, 10)}"],
	["sketch_spec_agg" => "SELECT describe(sketch_spec_agg(x, 20)) FROM ${\ rows(5000, 2000)}", "SELECT describe(sketch_spec_agg(x, 5)) FROM ${\ rows(200, 10)}"],
	["sketch_agg" => "SELECT row_count(sketch_agg(x, sketch_spec(10, 1000000, 1.0))) FROM ${\ rows(300, 10)}", "SELECT row_count(sketch_agg(x, sketch_spec(10, 100, 1.0))) FROM ${\ rows(300, 10)}"],
	["sketch_agg, dense" => "SELECT row_count(sketch_agg(x, sketch_spec(1000, 20000, 1.0, options => '{\"structured\": false}'))) FROM ${\ rows(300, 1000)}", "SELECT row_count(sketch_agg(x, sketch_spec(10, 100, 1.0))) FROM ${\ rows(300, 10)}"],
	["sketch_agg, weighted" => "SELECT row_count(sketch_agg(x, sketch_spec(10, 1000000, 1.0), id + 0.5)) FROM ${\ rows(300, 10)}", "SELECT row_count(sketch_agg(x, sketch_spec(10, 100, 1.0), 0.5)) FROM ${\ rows(300, 10)}"],
	["merge_agg" => "SELECT row_count(merge_agg(s)) FROM made, generate_series(1, 3) WHERE name = 'sketch'", "SELECT row_count(s) FROM made WHERE name = 'sketch'"],
	["sketch + sketch" => "SELECT row_count(s + s) FROM made WHERE name = 'sketch'", "SELECT row_count(s) FROM made WHERE name = 'sketch'"],
	["adjusted_rand_agg" => "SELECT adjusted_rand_agg(i % 1500000, i % 7) FROM generate_series(1, 1500000) i", "SELECT adjusted_rand_agg(i % 7, i % 3) FROM generate_series(1, 100000) i"],
	["decode" => "SELECT count(*) FROM decode((SELECT sketch_agg(x, sketch_spec(50, 100000, 100.0)) FROM ${\ rows(300, 50)}), 3, 'clompr')", "SELECT count(*) FROM decode((SELECT sketch_agg(x, sketch_spec(5, 100, 1.0)) FROM ${\ rows(300, 5)}), 3, 'clompr')"],
	["frequencies" => "SELECT count(*) FROM (SELECT frequencies(sketch_spec(1000, 10000, 1.0)) OFFSET 0) q", "SELECT count(*) FROM frequencies(sketch_spec(10, 100, 1.0))"],
	(map { ["factorize, $_" => "SELECT dim(factorize(${\ operator('wide')}, '$_', '{\"rerank\": 5" . ($_ eq 'svd' || $_ eq 'prune' ? ', "budget": 60000' : $_ eq 'butterfly' ? '' : ', "iterations": 1') . "}'))",
			"SELECT dim(factorize(${\ operator('small')}, 'svd', '{\"budget\": 60}'))"] } 'svd', 'prune', 'butterfly', 'palm4msa', 'hierarchical', 'auto'),
	["nystroem" => "SELECT describe(nystroem(${\ operator('wide')}, rbf_kernel(1e-6), 100))", "SELECT describe(nystroem(${\ operator('small')}, rbf_kernel(1e-6), 10))"],
	["nystroem, svd operator" => "SELECT describe(nystroem(${\ operator('svd')}, rbf_kernel(1e-6), 100))", "SELECT describe(nystroem(${\ operator('small')}, rbf_kernel(1e-6), 10))"],
	["kernel_projection_agg" => "SELECT kernel_projection_agg(id, x, linear_kernel(), 5) IS NULL FROM ${\ rows(10000, 500)}", "SELECT kernel_projection_agg(id, x, linear_kernel(), 5) IS NULL FROM ${\ rows(100, 5)}"],
	["nystroem_projection_agg" => "SELECT nystroem_projection_agg(id, x, linear_kernel(), 5, 400) IS NULL FROM ${\ rows(10000, 50)}", "SELECT kernel_projection_agg(id, x, linear_kernel(), 5) IS NULL FROM ${\ rows(100, 5)}"],
	["pivoted_cholesky_agg" => "SELECT pivoted_cholesky_agg(id, x, linear_kernel(), 5, 400) IS NULL FROM ${\ rows(10000, 50)}", "SELECT kernel_projection_agg(id, x, linear_kernel(), 5) IS NULL FROM ${\ rows(100, 5)}"],
	["kernel_eigen_agg" => "SELECT kernel_eigen_agg(id, x, linear_kernel(), 5) IS NULL FROM ${\ rows(2000, 50)}", "SELECT kernel_eigen_agg(id, x, linear_kernel(), 5) IS NULL FROM ${\ rows(100, 5)}"],
	["landmarks_agg" => "SELECT clusters(landmarks_agg(x, rbf_kernel(1e-4), 400)) FROM ${\ rows(5000, 500)}", "SELECT clusters(landmarks_agg(x, rbf_kernel(1e-4), 40)) FROM ${\ rows(100, 5)}"],
	["match_clusters" => "SELECT match_clusters(${\ operator('wide')}, NULL, NULL, ${\ operator('svd')}, NULL, NULL) IS NULL", "SELECT match_clusters(${\ operator('small')}, NULL, NULL, ${\ operator('small')}, NULL, NULL) IS NULL"],
	["kernel_kmeans" => "SELECT count(*) FROM kernel_kmeans('points', 'id', 'x', linear_kernel(), 5)", "SELECT kernel_projection_agg(id, x, linear_kernel(), 5) IS NULL FROM ${\ rows(100, 5)}"],
	["qkmeans" => "SELECT dim(qkmeans('points', 'x', 100, '{\"iterations\": 1}'))", "SELECT dim(qkmeans_agg(x, 5)) FROM ${\ rows(200, 10)}"],
);

my $peak = "SELECT substring(pg_read_file('/proc/self/status') FROM 'VmHWM:\\s+(\\d+)')::int";

# The pages of tables, and arguments as they are read, are not what a function takes.
my $touch = "SELECT count(x[1]) FROM points;\n"
	. join('', map { "SELECT dim(op) FROM made WHERE name = '$_';\n" } 'wide', 'reranked', 'small')
	. join('', map { "SELECT sum(length(chunk_data)) FROM $_;\n" } split /\n/, $server->query("SELECT c.reltoastrelid::regclass FROM pg_class c WHERE c.relname = 'made'"));

# kB a call takes at its peak with so many MB of budget, beyond what the small one took; or the MB it asks for instead
sub attempt
{
	my ($call, $small, $budget) = @_;
	my ($status, $output, $errors) = $server->try("$touch$small \\g /dev/null\n$peak;\nSET fastclust.memory_budget = '${budget}MB';\n$call \\g /dev/null\n$peak;");
	return (undef, $1) if $status != 0 && $errors =~ /needs (\d+) MB/;
	return (undef, 2 * $budget) if $status != 0 && $errors =~ /fastclust.memory_budget allows/;
	do { diag("$call: $errors"); return (0, 0) } if $status != 0;
	my ($before, $after) = (split /\n/, $output)[-2, -1];
	return ($after - $before, $budget);
}

for my $case (grep { !@ARGV || $_->[0] =~ /$ARGV[0]/ } @cases)
{
	my ($name, $call, $small) = @$case;
	my ($kb, $budget) = (undef, 1);

	for (my $tries = 0; !defined $kb && $tries < 20; $tries++)
	{
		($kb, $budget) = attempt($call, $small, $budget);
	}
	diag(sprintf "%-40s budget %4d MB, peak %4d MB", $name, $budget, ($kb // 0) / 1024);
	cmp_ok($kb // 1e9, '<', 1024 * (1.05 * $budget + 8), "$name keeps to its budget of $budget MB");
}
done_testing();
