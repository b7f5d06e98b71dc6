# A role cannot get past fastclust.memory_budget_limit where the library is not preloaded. The
# setting then has a value before the library is loaded, and the server refuses the value of a
# client without the right to set it, and one that is no size.
use FastclustTest;

my $server = FastclustTest->new(extension => 1);
$server->query(<<'SQL');
CREATE ROLE ana LOGIN; CREATE ROLE trusted LOGIN; CREATE ROLE small LOGIN;
CREATE TABLE points AS SELECT array_fill(i::real, ARRAY[300]) AS x FROM generate_series(1, 3000) i;
GRANT SELECT ON points TO ana, trusted, small;
CREATE FUNCTION limit_in_plpgsql(x real[]) RETURNS text LANGUAGE plpgsql PARALLEL SAFE AS $$
BEGIN
    PERFORM fastclust.kmeans_agg('{1}'::real[], 1);
    RETURN current_setting('fastclust.memory_budget_limit');
END $$;
SQL

# Logs in as a role with options of the connection, and runs a statement.
sub login
{
	my ($role, $options, $sql) = @_;
	local ($ENV{PGUSER}, $ENV{PGOPTIONS}) = ($role, $options);
	return $server->try($sql, verbosity => 'verbose');
}

my $option = '-c fastclust.memory_budget_limit';
my $call = 'SELECT fastclust.kmeans_agg(x, 1) IS NOT NULL FROM points';

sub refused_with
{
	my ($role, $options, $sql, $pattern, $name) = @_;
	my ($status, $output, $errors) = login($role, $options, $sql);
	like($errors, $pattern, $name);
	unlike($output, qr/^t/m, "$name: the call does not run");
}

sub limit_is
{
	my ($role, $options, $limit, $name) = @_;
	my ($status, $output, $errors) = login($role, $options, "SELECT kmeans_agg('{1}'::real[], 1) IS NOT NULL; SHOW fastclust.memory_budget_limit");
	is("$output$errors", "t\n$limit", $name);
}

sub for_database { $server->query("ALTER DATABASE postgres SET fastclust.memory_budget_limit = '$_[0]'"); }

# ---- values without the right to set them, and values that are no size ----
my $by_client = qr/ERROR:  55000: the server refused the value "1GB" of fastclust.memory_budget_limit\n.*HINT:  Remove fastclust.memory_budget_limit from PGOPTIONS/s;
for_database('2MB');
refused_with('ana', '', $call, qr/ERROR:  54000: .*needs more memory/, 'a call keeps to the limit of the database');
refused_with('ana', "$option=1GB -c fastclust.memory_budget=4GB", $call, $by_client, 'a client does not replace the limit');
refused_with('ana', "$option=1GB", q{SELECT train('m', 'points', 'x', 2) > 0}, $by_client, 'a client with a limit does not train');
refused_with('ana', "$option=1GB", "DO 'BEGIN PERFORM fastclust.kmeans_agg(x, 1) FROM points; EXCEPTION WHEN OTHERS THEN END'; RESET ALL; $call",
	$by_client, 'RESET ALL after the first call does not remove the minimum');
refused_with('ana', '-c FastClust.Memory_Budget_Limit=1GB', $call, $by_client, 'the name in other letters is the same setting');
refused_with('ana', '', "SET fastclust.memory_budget_limit = '1GB'; SET fastclust.memory_budget = '1GB'; $call", qr/ERROR:  54000: .*needs more memory/, 'SET before the first call does not replace the limit');

$server->query("ALTER DATABASE postgres RESET fastclust.memory_budget_limit; SET fastclust.memory_budget_limit = '2 gigs'; ALTER DATABASE postgres SET fastclust.memory_budget_limit FROM CURRENT");
refused_with('ana', '', $call, qr/ERROR:  55000: the server refused the value "2 gigs" of fastclust.memory_budget_limit\n.*HINT:  Correct the value in ALTER DATABASE, ALTER ROLE or the configuration file/s,
	'a limit that is no size does not count as no limit');
is((login('postgres', '', "DO 'BEGIN PERFORM fastclust.kmeans_agg(x, 1) FROM points; EXCEPTION WHEN OTHERS THEN END'; SET fastclust.memory_budget_limit = '1GB'; $call"))[1], 't', 'a superuser may set another limit in the session');

# ---- valid values ----
for_database('3MB');
limit_is('ana', '', '3MB', 'the limit of ALTER DATABASE');
limit_is('postgres', "$option=4MB", '4MB', 'the limit of the options of a superuser');
$server->query("ALTER ROLE small SET fastclust.memory_budget_limit = '2MB'");
limit_is('small', '', '2MB', 'the limit of ALTER ROLE');
SKIP: {
	skip 'GRANT SET is new in PostgreSQL 15', 1 if $server->query('SHOW server_version_num') < 150000;
	$server->query('GRANT SET ON PARAMETER fastclust.memory_budget_limit TO trusted');
	limit_is('trusted', "$option=5MB", '5MB', 'the limit of the options of a role that may set it');
}

# ---- loaded in a parallel operation, in which the server refuses every value ----
my $parallel = 'SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SET max_parallel_workers = ';
my $in_leader = "$parallel 0; SELECT DISTINCT limit_in_plpgsql(x) FROM points LIMIT 1;";
my $in_workers = "$parallel 8; SET parallel_leader_participation = off; SELECT DISTINCT limit_in_plpgsql(x) FROM points";
is((login('ana', '', $in_leader))[1], '3MB', 'the main process keeps the limit if it loads the library in a parallel operation');
is((login('ana', '', $in_workers))[1], '3MB', 'a worker keeps the limit');
is((login('ana', '', "$in_leader $in_workers"))[1], "3MB\n3MB", 'a worker of a main process that loaded the library in a parallel operation keeps the limit');
like((login('ana', "$option=1GB", $in_leader))[2], $by_client, 'a value that a client may not set is refused in a parallel operation, too');
done_testing();
