# The extension installs in the version of the control file, without a warning, and a backend that
# uses it stays single-threaded.
use FastclustTest;
use File::Basename qw(dirname);

my $root = dirname(__FILE__) . '/../..';

sub slurp { my ($name) = @_; open(my $file, '<', "$root/$name") or die "$name: $!"; local $/; return <$file>; }

my ($version) = slurp('fastclust.control') =~ /^default_version = '([^']+)'/m;
is(qx($root/tools/meta.pl $root 2>&1), '', 'META.json, change log and packages name the version of the control file');

SKIP:
{
	skip 'these sources have no workflow', 2 if !-e "$root/.github/workflows/build.yml";
	my $workflow = slurp('.github/workflows/build.yml');
	my ($oldest, $newest) = slurp('docs/install.md') =~ /PostgreSQL (\d+) to (\d+)/;
	is($workflow =~ /^ +postgres: \[(.*)\]$/m ? $1 : '', join(', ', $oldest .. $newest), 'the workflow tests every server that docs/install.md names');
	my $targets = slurp('Makefile');
	is(join(' ', grep { !/^install$/ && $targets !~ /^\Q$_\E:/m } map { /([a-z]+)$/ } $workflow =~ /run: (?:sudo )?(make .*[a-z])$/gm), '', 'the workflow runs targets of the Makefile');
}

my $server = FastclustTest->new;
my ($status, $output, $messages) = $server->try('CREATE EXTENSION fastclust');
is($messages, '', 'CREATE EXTENSION gives no message');
is($server->query("SELECT extversion FROM pg_extension WHERE extname = 'fastclust'"), $version, 'the installed version is that of the control file');
is($server->query("SELECT string_agg(n.nspname, ',' ORDER BY 1) FROM pg_extension e JOIN pg_depend d ON d.refobjid = e.oid AND d.deptype = 'e' JOIN pg_namespace n ON n.oid = d.objid AND d.classid = 'pg_namespace'::regclass WHERE extname = 'fastclust'"),
	'fastclust,fastclust_internal,fastclust_owner', 'the extension has three schemas of its own');

$server->make_points(2000, 3, 4);
my $session = $server->background(<<'SQL');
CREATE TABLE s AS SELECT sketch_agg(x, (SELECT sketch_spec_agg(x, 4) FROM points)) AS s FROM points;
SELECT count(*) FROM s, decode(s, 4);
SELECT assign(kmeans_agg(x, 4), '{1,2,3}'::real[]) >= 0 FROM points;
SELECT 'done';
SELECT pg_sleep(600);
SQL
SKIP:
{
	$server->wait_until_it_waits($session, 'PgSleep') or diag('the backend did not come to its sleep');
	my $threads = FastclustTest::threads($session->{backend});
	skip 'no /proc here', 1 unless defined $threads || !-d '/proc/self/task';
	is($threads, 1, 'a backend that sketched, decoded and clustered has one thread');
}
$output = $server->end($session);
like($output, qr/^4\nt\ndone/, 'the backend sketched, decoded and clustered') or diag($output);

$server->restart;
is($server->query('SELECT row_count(s) FROM s'), 2000, 'a backend that never loaded the module reads a stored sketch');

($status, $output, $messages) = $server->try('DROP EXTENSION fastclust CASCADE; CREATE EXTENSION fastclust;');
is($messages, '', 'the extension can be dropped and created again without a message');

done_testing();
