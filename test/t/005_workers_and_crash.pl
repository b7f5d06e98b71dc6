# A killed backend loses no stored value, and parallel workers stay single-threaded.
use FastclustTest;
use Time::HiRes qw(sleep);

my $server = FastclustTest->new(extension => 1);
$server->make_points(20000, 10, 4);
$server->query(<<'SQL');
ALTER TABLE points SET (parallel_workers = 2);
CREATE TABLE kept AS SELECT sketch_agg(x, sketch_spec(10, 100, 0.5)) AS s FROM points;
SQL
my $kept = $server->query('SELECT md5(sketch_send(s)) FROM kept');

my $session = $server->background(
	'SET max_parallel_workers_per_gather = 2; SELECT row_count(sketch_agg(x, sketch_spec(10, 400000, 0.5))) FROM points;');
$server->wait_for("EXISTS (SELECT FROM pg_stat_activity WHERE leader_pid = $session->{backend})");
sleep 0.5;
my @workers = split /\n/, $server->query(
	"SELECT pid FROM pg_stat_activity WHERE leader_pid = $session->{backend} OR pid = $session->{backend}");
cmp_ok(scalar @workers, '>', 1, 'a parallel scan is running');
SKIP:
{
	my @threads = grep { defined } map { FastclustTest::threads($_) } @workers;
	skip 'no /proc here', 1 unless @threads;
	is((sort { $b <=> $a } @threads)[0], 1, 'no worker has a second thread');
}

kill 'KILL', $workers[-1];
my ($status, $output) = $server->finish($session);
isnt($status, 0, 'killing a worker ends the query');
ok($server->wait_for('true'), 'the server comes back');
is($server->query('SELECT md5(sketch_send(s)) FROM kept'), $kept, 'the stored sketch is unchanged');

done_testing();
