# A long step of training reports its progress; a quiet training, a short one and one that failed
# do not. Other sessions see running trainings in the view training_progress, as far as their
# rights go.
use FastclustTest;

my $server = FastclustTest->new(extension => 1, config => "shared_preload_libraries = 'fastclust'\n");
$server->make_points(60000, 4, 6);

sub reports
{
	my ($sql) = @_;
	my (undef, undef, $errors) = $server->try("SET client_min_messages = notice;\n\\set ON_ERROR_STOP off\n$sql");
	return $errors;
}

my $often = "SET fastclust.progress_interval = '1ms';";
my $train = "SELECT train('often', 'points', 'x', 40)";
my $said = reports("$often $train");
like($said, qr/NOTICE: .*model "often" version 1: sketch, \d+ s so far/, 'a scan of the table reports its progress');
like($said, qr/NOTICE: .*model "often" version 1: k-means, \d+ s so far/, 'work in memory reports its progress');
unlike(reports("SET fastclust.progress_interval = 0; $train"), qr/so far/, 'there is no report if the interval turns them off');
like($said, qr/sketch, \d+ s so far, about \d+ % of the rows/, 'the report of a scan says how far it is');
unlike($said, qr/k-means, \d+ s so far,/, 'the report of work in memory does not say how far it is');
unlike(reports("$often SELECT train('often', 'points', 'x', 40, options => '{\"quiet\": true}')"), qr/so far/, 'a quiet training does not report');
is($server->query('SHOW fastclust.progress_interval'), '10s', 'steps of ten seconds report');
unlike(reports("SET fastclust.progress_interval = '1d'; $train"), qr/so far/, 'steps below the interval do not report');

# An estimate of long work is given before it begins, unless the training is quiet.
my $long = q[SELECT train('long', 'points', 'x', 40, 'compressive', '{"frequencies": 60000];
like(reports("SET statement_timeout = '3s'; $long}')"), qr/NOTICE: .*model "long" version 1: .*decoding 40 clusters from 60000 frequencies in 4 dimensions takes about \d+ seconds/, 'a long training begins with an estimate');
unlike(reports("SET statement_timeout = '3s'; $long, \"quiet\": true}')"), qr/takes about/, 'a quiet training gives no estimate');

# The step of a failed training is not taken over by the next command.
my $failed = reports("$often SELECT train('failed', 'points', 'x', 60000 + 1);\n" .
	"SELECT fastclust_internal.clusters(kmeans_agg(x, 50)) FROM points");
like($failed, qr/model "failed" version 1: sample/, 'a training that fails reports before it fails');
unlike($failed =~ s/.*?ERROR//sr, qr/so far/, 'a failed training reports nothing afterwards');

# ---- other sessions ----
$server->query(<<'SQL');
CREATE ROLE owner; CREATE ROLE reader; CREATE ROLE stranger; CREATE ROLE chief;
GRANT owner TO chief;
GRANT SELECT ON points TO owner;
GRANT CREATE ON SCHEMA public TO owner;
SET ROLE owner;
SELECT train('shared', 'points', 'x', 2), grant_model('shared', 'reader');
-- slow from its second scan on, the one that is watched: the first step has written to the log then
CREATE FUNCTION slow(x float8[]) RETURNS float8[] LANGUAGE plpgsql AS $$
BEGIN
    IF EXISTS (SELECT FROM pg_locks WHERE pid = pg_backend_pid() AND relation = 'fastclust_internal.training_steps'::regclass) THEN
        PERFORM pg_sleep(0.0002);
    END IF;
    RETURN x;
END $$;
CREATE VIEW slow_points AS SELECT slow(x) AS x FROM points LIMIT 20000;
SQL

# What each role sees of trainings while one runs, and how that training ends.
sub while_training
{
	my ($sql, $end) = @_;
	my $session = $server->background("SET ROLE owner; $sql");
	$server->wait_for("EXISTS (SELECT FROM training_progress WHERE pid = $session->{backend} AND percent > 0)");
	my %seen = map { $_ => $server->query("SET ROLE $_; SELECT model, role FROM training_progress") =~ s/^SET\n?//r } qw(owner chief reader stranger postgres);
	$seen{row} = $server->query("SELECT step, rows_done < rows_about * 1.05, percent BETWEEN 0 AND 100, elapsed > '0', remaining >= '0', pid = $session->{backend} FROM training_progress");
	$server->query("SELECT $end($session->{backend})") if $end;
	$server->finish($session);
	return %seen;
}

my $decoding = $server->background("$long, \"quiet\": true}')");
ok($server->wait_for("EXISTS (SELECT FROM training_progress WHERE pid = $decoding->{backend} AND rows_about IS NULL AND remaining > '0')"),
	'a step that reads no rows shows how long it takes');
$server->query("SELECT pg_cancel_backend($decoding->{backend})");
$server->finish($decoding);

# The search for the number of clusters is shown, too, in a training and in choose_k, until it is
# cancelled.
$server->query('CREATE TABLE wide AS SELECT ARRAY(SELECT (random() + (i % 50) * sin((i % 50) * j))::real FROM generate_series(1, 64) j) AS x FROM generate_series(1, 12500) i');
for (["SELECT choose_k('wide', 'x', 200)", 'model IS NULL', 'choose_k'], ["SELECT train('chosen', 'wide', 'x')", "model = 'chosen'", 'a training without k'])
{
	my ($sql, $model, $name) = @$_;
	my $search = $server->background($sql);
	ok($server->wait_for("EXISTS (SELECT FROM training_progress WHERE pid = $search->{backend} AND $model AND step = 'number of clusters')"), "$name is shown");
	$server->query("SELECT pg_cancel_backend($search->{backend})");
	$server->finish($search);
}

# A live model whose sketches are decoded is shown.
$server->query(<<'SQL');
CREATE TABLE tenants AS SELECT i % 300 AS tenant, i / 300 % 3 * 10 + random() AS a, i / 300 % 2 * 6 + random() AS b FROM generate_series(1, 18000) i;
SELECT train('tenants', 'tenants', '{a,b}', 3, options => '{"group_by": "tenant", "live": true, "quiet": true}');
SQL
my $retraining = $server->background("SELECT retrain('tenants', '{\"quiet\": true}')");
ok($server->wait_for("EXISTS (SELECT FROM training_progress WHERE pid = $retraining->{backend} AND model = 'tenants' AND step = 'decode')"),
	'a retraining of a live model is shown');
$server->query("SELECT pg_cancel_backend($retraining->{backend})");
$server->finish($retraining);

# name_topics shows the rows that it has read.
$server->query(<<'SQL');
CREATE TABLE texts AS SELECT x, repeat(md5(i::text) || ' of many words ', 200) AS body FROM (SELECT x, row_number() OVER () AS i FROM points LIMIT 20000) p;
ANALYZE texts;
SELECT train('topics', 'texts', 'x', 2);
SQL
my $topics = $server->background("SELECT count(*) FROM name_topics('topics', 'body')");
ok($server->wait_for("EXISTS (SELECT FROM training_progress WHERE pid = $topics->{backend} AND model = 'topics' AND step = 'words' AND rows_done > 0 AND rows_about BETWEEN 18000 AND 22000)"),
	'name_topics is shown with its rows');
$server->query("SELECT pg_cancel_backend($topics->{backend})");
$server->finish($topics);

my %seen = while_training("SELECT train('shared', 'slow_points', 'x', 2)", 'pg_cancel_backend');
is($seen{$_}, 'shared|owner', "$_ sees a training of a model that he may read") for qw(owner chief reader postgres);
is($seen{stranger}, '', 'a stranger does not see the training');
like($seen{row}, qr/^(sample|sketch)\|t\|t\|t\|t\|t$/, 'the view shows how far the training is, and whose it is');
is($server->query('SELECT count(*) FROM training_progress'), 0, 'a cancelled training leaves no row');
%seen = while_training("SELECT train('secret', 'slow_points', 'x', 2)", 'pg_terminate_backend');
is($seen{$_}, 'secret|owner', "$_ sees the training of a new model") for qw(owner chief postgres);
is($seen{$_}, '', "$_ does not see the training of a new model") for qw(reader stranger);
is($server->query('SELECT count(*) FROM training_progress'), 0, 'a training whose session was ended leaves no row');
is($server->query(<<'SQL'), "1\n0", 'an exception that is caught removes the row of its training');
BEGIN;
DO $$ BEGIN PERFORM train('caught', 'points', 'x', 2); PERFORM 1 / 0; EXCEPTION WHEN division_by_zero THEN NULL; END $$;
SELECT train('kept', 'points', 'x', 2);
SELECT count(*) - 1 FROM training_progress;
COMMIT;
SQL
is($server->query('SELECT count(*) FROM training_progress'), 0, 'the end of the transaction removes the row');
my (undef, undef, $denied) = $server->try('SET ROLE stranger; SELECT * FROM fastclust_owner.running_trainings()');
like($denied, qr/permission denied/, 'the shared memory of the view belongs to the owner of the extension');
my $killed = $server->background("SELECT train('killed', 'slow_points', 'x', 2)");
$server->wait_for("EXISTS (SELECT FROM training_progress WHERE pid = $killed->{backend})");
kill 'KILL', $killed->{backend};
$server->finish($killed);
ok($server->wait_for('NOT EXISTS (SELECT FROM training_progress)'), 'a crash leaves no row');

# A server without shared memory for the view says so.
if ($server->query("SELECT current_setting('server_version_num')::integer < 170000") eq 't')
{
	$server->configure("shared_preload_libraries = ''\n");
	$server->restart;
	like(reports('SELECT * FROM training_progress'), qr/NOTICE: .*the progress of trainings is not available on this server\nHINT: .*shared_preload_libraries/, 'the view says why it is empty');
}

done_testing();
