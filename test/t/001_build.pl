# The extension creates, its parts name one version, and a backend stays single-threaded.
use FastclustTest;
use File::Basename qw(dirname);

my $root = dirname(__FILE__) . '/../..';

sub slurp { my ($name) = @_; open(my $file, '<', "$root/$name") or die "$name: $!"; local $/; return <$file>; }

my ($version) = slurp('fastclust.control') =~ /^default_version = '([^']+)'/m;
is(qx($root/tools/meta.pl $root 2>&1), '', 'META.json, change log and packages name the version of the control file');

my $server = FastclustTest->new;
my ($status, $output, $messages) = $server->try('CREATE EXTENSION fastclust');
is($messages, '', 'the extension creates');
is($server->query("SELECT extversion FROM pg_extension WHERE extname = 'fastclust'"), $version, 'in this version');
is($server->query("SELECT string_agg(n.nspname, ',' ORDER BY 1) FROM pg_extension e JOIN pg_depend d ON d.refobjid = e.oid AND d.deptype = 'e' JOIN pg_namespace n ON n.oid = d.objid AND d.classid = 'pg_namespace'::regclass WHERE extname = 'fastclust'"),
	'fastclust,fastclust_internal,fastclust_owner', 'with its own schemas');

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
like($output, qr/^4\nt\ndone/, 'and did its work') or diag($output);

$server->restart;
is($server->query('SELECT row_count(s) FROM s'), 2000, 'a stored sketch reads in a backend that never loaded the module');

($status, $output, $messages) = $server->try('DROP EXTENSION fastclust CASCADE; CREATE EXTENSION fastclust;');
is($messages, '', 'drops and creates again');

done_testing();
