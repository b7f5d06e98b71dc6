# Results are the same with every build of OpenBLAS, also if another extension loads one, and for
# every function called first. There is one OpenBLAS with one thread, and an error names a library
# that is missing. Builds that are not installed are skipped; OPENBLAS_BUILDS lists directories of
# further builds, separated by colons.
use FastclustTest;
use File::Basename qw(dirname);

my @builds = (glob('/usr/lib/*/openblas-*'), split(/:/, $ENV{OPENBLAS_BUILDS} // ''));
my ($reference) = glob('/usr/lib/*/blas');
delete $ENV{$_} for qw(OPENBLAS_NUM_THREADS OMP_NUM_THREADS LD_LIBRARY_PATH LD_PRELOAD);

# The first call of a session: each multiplies matrices so large that several threads would pay.
my %first = (
	decode => 'SELECT count(*), round(sum(weight)::numeric, 6) FROM kept, decode(k, 8);',
	kmeans => 'SELECT fastclust_internal.clusters(o), round(sse_agg(o, x)::numeric, 1) FROM rows,'
		. ' (SELECT kmeans_agg(x, 100, \'{"n_init": 1, "iterations": 2}\'::jsonb) AS o FROM rows) m GROUP BY 1;',
	factorize => 'SELECT fastclust_internal.clusters(factorize(op, \'svd\')) FROM model;',
	projection => 'SELECT round((describe(kernel_projection_agg(id, x, rbf_kernel(0.01), 8))->>\'rank\')::numeric) FROM rows;');
my $process = <<'SQL';
SELECT 'threads', (regexp_match(pg_read_file('/proc/self/status'), 'Threads:\s+(\d+)'))[1];
SELECT 'openblas', count(DISTINCT substring(line FROM '/.*libopenblas.*'))
  FROM regexp_split_to_table(pg_read_file('/proc/self/maps', 0, 10000000), '\n') line;
SQL
my $workers = <<'SQL';
SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SET parallel_leader_participation = off;
SELECT max((regexp_match(pg_read_file('/proc/self/status'), 'Threads:\s+(\d+)'))[1]) FILTER (WHERE id % 20 = 0),
       bool_or(pg_read_file('/proc/self/maps', 0, 10000000) ~ 'openblas') FILTER (WHERE id % 20 = 0),
       sse_agg((SELECT fastop_agg(x) FROM rows WHERE id <= 600), x) > 0 FROM rows;
SQL
my $alone = "threads|1\nopenblas|1";

my $server = FastclustTest->new(extension => 1);
my $directory = $server->{directory};
$server->query(<<'SQL');
CREATE TABLE rows AS
  SELECT i AS id, (SELECT array_agg((sin(i * d) + (i % 8) * (d % 5))::real ORDER BY d) FROM generate_series(1, 64) d) AS x
  FROM generate_series(1, 1500) i;
CREATE TABLE spec AS SELECT sketch_spec(64, 1000, 8) AS s;
CREATE TABLE kept AS SELECT sketch_agg(x, (SELECT s FROM spec)) AS k FROM rows;
ALTER TABLE rows SET (parallel_workers = 2);
CREATE TABLE model AS SELECT kmeans_agg(x, 100) AS op FROM rows;
SQL

# Restarts the server with these variables in its environment.
sub restart_with { my (%environment) = @_; local @ENV{keys %environment} = values %environment; $server->restart; }

# Calls every function as the first of a session, and returns the results without the lines about
# the process.
sub check_sessions
{
	my ($name) = @_;
	my %results;

	for my $first (sort keys %first)
	{
		my @others = grep { $_ ne $first } sort keys %first;
		my ($status, $output, $messages) = $server->try(join("\n", @first{$first, @others}, $process));
		my @lines = split /\n/, $output;

		is($messages, '', "$name, $first first: there is no message");
		is(join("\n", @lines[-2, -1]), $alone, "$name, $first first: the process has one OpenBLAS with one thread");
		@results{$first, @others} = @lines;
	}
	is($server->query($workers), '1|t|t', "$name: workers that loaded the library have one thread");
	return join ' ', map { "$_ " . ($results{$_} // 'failed') } sort keys %results;
}

my %environments = ('as installed' => {});
for my $build (@builds)
{
	my ($kind) = $build =~ /openblas-(\w+)/;
	$environments{"$kind is the system's"} = {LD_LIBRARY_PATH => $build, OPENBLAS_NUM_THREADS => 3};
	$environments{"$kind is preloaded"} = {LD_LIBRARY_PATH => $build, LD_PRELOAD => "$build/libopenblas.so.0"};
}
$environments{"the reference is the system's"} = {LD_LIBRARY_PATH => "$reference:" . dirname($reference) . '/lapack'}
	if defined $reference;

my $expected;
for my $name (sort keys %environments)
{
	restart_with(%{$environments{$name}});
	my $results = check_sessions($name);
	$expected //= $results;
	is($results, $expected, "$name: the results are those of other builds");
}

sub compile
{
	my ($library, $source, @flags) = @_;
	open(my $file, '>', "$library.c") or die $!;
	print $file $source;
	close $file;
	chomp(my $include = qx{"${\($ENV{PG_CONFIG} || 'pg_config')}" --includedir-server});
	return system('gcc', '-shared', '-fPIC', "-I$include", "$library.c", '-o', $library, @flags) == 0;
}

# Another extension linked with BLAS and LAPACK of the system is loaded before or after fastclust.
for my $build (@builds)
{
	my ($kind) = $build =~ /openblas-(\w+)/;
	my $guest = "$directory/guest-$kind.so";

	ok(compile($guest, "#include \"postgres.h\"\n#include \"fmgr.h\"\nPG_MODULE_MAGIC;\n",
		'-Wl,--no-as-needed', '-Wl,--unresolved-symbols=ignore-all', "$build/libblas.so.3", "$build/liblapack.so.3"),
		'a module linked with BLAS and LAPACK compiles');
	restart_with(LD_LIBRARY_PATH => $build);
	for my $script ("LOAD '$guest'; $first{decode} $first{kmeans}", "$first{decode} $first{kmeans} LOAD '$guest';")
	{
		my ($status, $output, $messages) = $server->try($script);
		is($messages, '', "$kind: another extension " . ($script =~ /^LOAD/ ? 'before' : 'after'));
	}
}

# A library that exists but does not work is an error that says which one and why; calls that need
# none of them work.
$server->query("SELECT train('plain', 'rows', 'x', 4)");
$server->query("SELECT train('curved', 'rows', 'x', 4, 'kernel', '{\"kernel\": \"rbf(0.01)\", \"landmarks\": 20}')");
my $without_blas = <<'SQL';
SELECT row_count(sketch_agg(x, (SELECT s FROM spec))) FROM rows;
SELECT count(*), sum(assign(op, x)) FROM rows, model;
SELECT id, predict('plain', x), predict('curved', x) FROM rows WHERE id <= 20;
SQL
my $results_without = $server->query($without_blas);

my @none = map { "$directory/liblbfgsb.so$_" } '', '.0', '.3';
for my $name (@none)
{
	open(my $file, '>', $name) or die $!;
	print $file "not a library\n";
	close $file;
}
restart_with(LD_LIBRARY_PATH => $directory);
my ($status, $output, $messages) = $server->try($first{decode}, verbosity => 'verbose');
like($messages, qr/ERROR:  58000: could not load L-BFGS-B: \Q$directory\E\/liblbfgsb.so.0: /, 'a broken L-BFGS-B is an error that names the file');
like($messages, qr/HINT: .*apt-get install --reinstall liblbfgsb0\./, 'the hint says how to reinstall L-BFGS-B');
($status, $output, $messages) = $server->try("$first{kmeans} $first{projection}");
is($messages, '', 'k-means and projections work without L-BFGS-B');

ok(compile("$directory/libopenblas.so.0", "int nothing;\n", '-Wl,-soname,libopenblas.so.0'), 'an OpenBLAS without routines compiles');
unlink @none;
restart_with(LD_PRELOAD => "$directory/libopenblas.so.0");
for my $call (@first{qw(decode kmeans projection)})
{
	($status, $output, $messages) = $server->try($call, verbosity => 'verbose');
	like($messages, qr/ERROR:  58000: could not load OpenBLAS: .*undefined symbol: \w+/, 'an OpenBLAS that lacks a routine is an error that names it');
	like($messages, qr/HINT: .*apt-get install --reinstall libopenblas0-serial\./, 'the hint says how to reinstall OpenBLAS');
}
is($server->query($without_blas), $results_without, 'sketches, assignment and predictions need no OpenBLAS');

# The library is preloaded in the postmaster, and used after a fork.
$server->configure("shared_preload_libraries = 'fastclust'\n");
restart_with();
is(check_sessions('fastclust is preloaded'), $expected, 'preloading fastclust does not change the results');
($status, $output, $messages) = $server->try(
	"$first{decode} COPY (SELECT 1) TO PROGRAM 'cat >/dev/null'; $first{kmeans} $first{decode} $process");
is($messages, '', 'a backend that has started a program goes on without a message');
like($output, qr/\n\Q$alone\E$/, 'a backend that has started a program has one thread');

done_testing();
