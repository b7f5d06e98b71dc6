# Trainings of different models at the same time on Citus do not fail, and none waits until the
# transaction of another ends.
use FastclustTest;
use CitusTest;

plan skip_all => 'Citus is not installed for this server' if !CitusTest::installed();

my $trainings = 16;
my $server = CitusTest->cluster(2);
$server->query(<<'SQL');
CREATE TABLE shards (id int, x real[]);
SELECT create_distributed_table('shards', 'id');
INSERT INTO shards SELECT i, ARRAY[i % 4 * 5 + random(), random()] FROM generate_series(1, 2000) i;
SELECT distribute_models();
SQL

# Each session trains in a transaction that stays open until all have trained.
sub train_at_once
{
	my ($what, $sql) = @_;
	my $gate = q{(SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND classid = 0 AND objid = 1 AND objsubid = 1 AND %s)};
	my $keeper = $server->background('SELECT pg_advisory_lock(1); SELECT pg_sleep(600);');

	$server->wait_for(sprintf($gate, 'granted') . ' = 1');
	my @sessions = map { $server->background(sprintf "BEGIN; $sql; SELECT pg_advisory_xact_lock_shared(1); COMMIT;", $_) } 1 .. $trainings;
	ok($server->wait_for(sprintf($gate, 'NOT granted') . " = $trainings"), "$what: all have trained before one commits");
	$server->end($keeper);
	my @failed = grep { /ERROR/ } map { ($server->finish($_))[1] } @sessions;
	is(scalar(@failed), 0, "$what: none fails") or diag($failed[0]);
}

train_at_once('first trainings', q{SELECT train('m%d', 'shards', 'x', 4, options => '{"quiet": true}')});
is($server->query(q{SELECT count(*), min(version), max(version) FROM models}), "$trainings|1|1", 'all models exist');
train_at_once('retrains', q{SELECT retrain('m%d', '{"quiet": true, "k": 3}')});
my $labels = join ', ', map { "max(predict('m$_', x))" } 1 .. $trainings;
is($server->query("SELECT $labels FROM shards"), join('|', (2) x $trainings), 'the shards have the new versions');

# ---- a candidate is not on the workers ----
is($server->query(q{SELECT retrain('m1', '{"quiet": true, "k": 2, "activate": false}')}), 3, 'a candidate is trained');
is($server->query(q{SELECT max(predict('m1', x)) FROM shards}), 2, 'a candidate does not serve on the shards');
is($server->query(q{SELECT max(predict('m1', x, version => 3)) FROM (SELECT * FROM shards OFFSET 0) s}), 1, 'the coordinator predicts with the candidate');
like(($server->try(q{SELECT max(predict('m1', x, version => 3)) FROM shards}))[2], qr/version 3 of model "m1" is not available on a worker of Citus/, 'the workers say that they do not have the candidate');
$server->query(q{SELECT use_version('m1', 3)});
is($server->query(q{SELECT max(predict('m1', x)) FROM shards}), 1, 'use_version sends the candidate to the workers');
is($server->query(q{SELECT train('new', 'shards', 'x', 2, options => '{"quiet": true, "activate": false}')}), 1, 'the first version of a model is a candidate');
$server->query(q{SELECT use_version('new', 1)});
is($server->query(q{SELECT max(predict('new', x)) FROM shards}), 1, 'use_version sends the first version to the workers');

done_testing();
