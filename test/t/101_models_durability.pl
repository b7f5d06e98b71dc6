# Models survive restarts, crashes, dumps into a fresh cluster and fail-over unchanged, and nobody
# ever sees a half-trained version.
use FastclustTest;

my $server = FastclustTest->new(extension => 1);
$server->make_points(30000, 4, 6);
$server->query(<<'SQL');
ALTER TABLE points ADD a float8, ADD b float8;
UPDATE points SET a = x[1], b = 100 * x[2];
CREATE TABLE probe AS SELECT * FROM points WHERE id % 100 = 0;
CREATE ROLE analyst; CREATE ROLE reader; GRANT SELECT ON points, probe TO analyst;
SET ROLE analyst;
SELECT train('vector', 'points', 'x', 6, 'compressive', '{"quiet": true, "sample_rows": 3000}');
SELECT train('columns', 'points', ARRAY['a', 'b'], 6, options => '{"quiet": true}');
SELECT train('groups', 'points', 'x', 2, options => '{"quiet": true, "group_by": "g"}');
SELECT train('candidate', 'points', 'x', 3, options => '{"quiet": true, "activate": false}'), retrain('columns', '{"quiet": true, "k": 4, "activate": false}');
SELECT retrain('vector', '{"quiet": true}'), grant_model('vector', 'reader'), retrain_if_drifted('columns', 1e-30, 0, '{"quiet": true}'), name_cluster('vector', 2, 'second'), name_cluster('groups', 0, 'first', '1');
RESET ROLE; ALTER TABLE probe ADD PRIMARY KEY (id);
SELECT write_labels('columns', 'probe', 'public.followers', '{"follow": true}');
SQL
my $answers = <<'SQL';
SELECT md5(string_agg((id, predict('vector', x), predict_distance('vector', x), predict('columns', a, b),
           predict('groups', x, group_value => g::text), predict('candidate', x, version => 1), predict('columns', probe, version => 2), anomaly('vector', x, 0.1))::text, ',' ORDER BY id)) FROM probe
SQL
my $models = <<'SQL';
SELECT md5(string_agg((to_jsonb(m) - 'owner_id' - 'reader_ids')::text, ',' ORDER BY m.model)) FROM stored_models m UNION ALL
SELECT md5(string_agg((to_jsonb(v) - 'trained_by_id')::text, ',' ORDER BY v.model, v.version, v.group_value)) FROM stored_versions v UNION ALL
SELECT md5(string_agg(l::text, ',' ORDER BY l.id)) FROM training_log l UNION ALL
SELECT md5(string_agg(l::text, ',' ORDER BY l.id)) FROM drift_log l UNION ALL
SELECT md5(string_agg(n::text, ',' ORDER BY n.model_id, n.group_value)) FROM stored_names n UNION ALL
SELECT md5(string_agg((to_jsonb(l) - 'followed_by_id')::text, ',' ORDER BY l.target)) FROM label_tables l
SQL
my ($predictions, $rows) = ($server->query($answers), $server->query($models));
like($predictions, qr/^[0-9a-f]{32}$/, 'models of every kind answer');

sub intact
{
	my ($when) = @_;
	is($server->query($answers), $predictions, "$when: predictions are identical");
	is($server->query($models), $rows, "$when: the catalog of models is identical");
}

$server->restart;
intact('restart');

# ---- a crash in the middle of a retraining ----
# A retraining on this view reaches its second scan after its first step has written to the log,
# and stops there.
$server->query(q{CREATE VIEW slow AS SELECT * FROM points
	WHERE id % 1000 <> 0 OR NOT EXISTS (SELECT FROM pg_locks WHERE pid = pg_backend_pid() AND relation = 'training_steps'::regclass) OR pg_sleep(600) IS NOT NULL});

sub long_retrain
{
	my $session = $server->background(q{SELECT retrain('vector', '{"relation": "public.slow", "quiet": true}')});
	ok($server->wait_until_it_waits($session, 'PgSleep'), 'a retraining is running');
	return $session;
}
my $session = long_retrain();
$server->crash_and_restart;
$server->finish($session);
intact('crash in a retrain');

# ---- two retrainings at once, and a failure ----
$session = long_retrain();
my ($status, $output, $messages) = $server->try(q{SELECT retrain('vector', '{"nowait": true}')}, verbosity => 'verbose');
like($messages, qr/55P03: model "vector" is being trained by another session/, 'a second retraining with nowait fails and says why');
my $second = $server->background(q{SELECT retrain('vector', '{"quiet": true}')});
ok($server->wait_until_it_waits($second), 'a second retraining without nowait waits');
intact('during a retrain');
$server->query("SELECT pg_cancel_backend($session->{backend})");
($status, $output) = $server->finish($session);
like($output, qr/canceling statement/, 'the first retraining is cancelled');
($status, $output) = $server->finish($second);
is($output, '3', 'the waiting retraining then trains the next version');
$server->query(q{SELECT use_version('vector', 2)});
is($server->query($answers), $predictions, 'use_version brings the old answers back');
$server->query(q{DELETE FROM version_groups WHERE model_id = (SELECT id FROM stored_models WHERE model = 'vector') AND version = 3; DELETE FROM training_steps WHERE version = 3});

$session = $server->background(q{BEGIN; SELECT locked_model('fresh', true, true); SELECT pg_sleep(600)});
ok($server->wait_until_it_waits($session, 'PgSleep'), 'a model is being trained for the first time');
($status, $output, $messages) = $server->try(q{SET lock_timeout = '10s'; SELECT train('fresh', 'points', 'x', 2, options => '{"nowait": true}')}, verbosity => 'verbose');
like($messages, qr/55P03: model "fresh" is being made by another session/, 'with nowait nobody waits for a name that is being taken');
$server->query("SELECT pg_cancel_backend($session->{backend})");
$server->finish($session);

# ---- a model is renamed, and a table of labels dropped, while other sessions wait for them ----
$server->query(q{CREATE TABLE labels AS SELECT id, 1 AS cluster FROM points LIMIT 0; SELECT train('briefly', 'points', 'x', 2, options => '{"quiet": true}')});
$session = $server->background(q{BEGIN; DROP TABLE labels; SELECT rename_model('briefly', 'brief'); DO $$ BEGIN
	WHILE (SELECT count(*) FROM pg_locks WHERE NOT granted) < 2 LOOP PERFORM pg_sleep(0.05); END LOOP; END $$; COMMIT;});
ok($server->wait_until_it_waits($session, 'PgSleep'), 'a session has renamed a model and dropped a table');
$second = $server->background(q{\set VERBOSITY verbose
SELECT retrain('briefly')});
my $third = $server->background(q{\set VERBOSITY verbose
SELECT write_labels('vector', 'points', 'labels', '{"append": true, "key": "id"}')});
$server->finish($session);
like(($server->finish($second))[1], qr/42704: model "briefly" was dropped or renamed concurrently/, 'the waiting retraining says that the model is gone');
like(($server->finish($third))[1], qr/42P01: relation "public\.labels" does not exist/, 'the waiting write_labels says that the table is gone');
$server->query(q{SELECT drop_model('brief')});

$server->query('ALTER TABLE points RENAME TO gone');
($status, $output, $messages) = $server->try(q{SELECT retrain('vector')});
like($messages, qr/public.points, which model "vector" was trained on, does not exist/, 'a retraining without its table fails and says why');
$server->query('ALTER TABLE gone RENAME TO points');
intact('failed retrain');

# ---- views over a model while it is retrained ----
# Labels and version always belong together within one snapshot, also while others commit.
my $pair = q{SELECT (SELECT version FROM models WHERE model = 'flip'), sum(predict('flip', x)) FROM (SELECT '{0,0}'::real[] AS x FROM generate_series(1, 200)) q};
$server->query(<<'SQL');
CREATE TABLE two AS SELECT ARRAY[i % 2 * 10 + i % 7 * 0.01, 0]::real[] AS x FROM generate_series(1, 200) i;
SELECT train('flip', 'two', 'x', 2, options => '{"quiet": true, "keep": 1000}');
SQL
$server->query(q{UPDATE version_groups SET operator = joined_clusters(operator, ARRAY[1, 0]), version = 2 WHERE model_id = (SELECT id FROM stored_models WHERE model = 'flip');
	INSERT INTO version_groups (model_id, version, method, relation, features, vector, k, options, operator, identities, n, trained_by, started_at)
	SELECT model_id, 1, method, relation, features, vector, k, options, operator, identities, n, trained_by, started_at FROM stored_versions WHERE model = 'flip';
	UPDATE version_groups SET operator = joined_clusters(operator, ARRAY[1, 0]) WHERE model_id = (SELECT id FROM stored_models WHERE model = 'flip') AND version = 1;});
my %seen;
my $flipper = $server->background(q{DO $$ BEGIN FOR i IN 1 .. 20000 LOOP PERFORM use_version('flip', 1 + i % 2); COMMIT; PERFORM pg_sleep(0.001); END LOOP; END $$;});
for (1 .. 300)
{
	$seen{$server->query($pair)}++;
	last if $_ >= 30 && keys %seen > 1;
}
$server->query("SELECT pg_cancel_backend($flipper->{backend})");
$server->finish($flipper);
is(scalar(keys %seen), 2, 'each query sees one version, never a mixture') or diag(join ' ', keys %seen);
is(join(' ', sort map { /(\d+)\|(\d+)/ ? "$1:" . ($2 % 200 ? 'mixed' : 'whole') : $_ } keys %seen), '1:whole 2:whole', 'whole');
is($server->query(<<'SQL'), 'old new old', 'within a transaction the next statement sees what the previous one did');
CREATE FUNCTION pg_temp.walk() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    label integer;
    before integer;
    said text := '';
BEGIN
    FOR i IN 1 .. 3 LOOP
        PERFORM use_version('flip', 1 + (i + 1) % 2);
        label := predict('flip', '{0,0}'::real[]);
        before := COALESCE(before, label);
        said := said || CASE WHEN label = before THEN ' old' ELSE ' new' END;
    END LOOP;
    RETURN ltrim(said);
END $$;
SELECT pg_temp.walk();
SQL
# What a rolled back subtransaction read is not used again, although a later snapshot has the same
# bounds and command number.
$server->query('CREATE EXTENSION dblink');
is($server->query(<<"SQL"), '200', 'a version that was rolled back gives no labels');
CREATE TABLE busy (i int);
SELECT WHERE use_version('flip', 1) IS NULL;
CREATE FUNCTION pg_temp.ask() RETURNS integer LANGUAGE plpgsql AS \$\$ BEGIN RETURN predict('flip', '{0,0}'::real[]); END \$\$;
CREATE FUNCTION pg_temp.walk_back() RETURNS bigint LANGUAGE plpgsql AS \$\$
DECLARE
    first integer := pg_temp.ask();
    right_answers bigint := 0;
BEGIN
    PERFORM dblink_connect('other', 'host=$ENV{PGHOST} port=$ENV{PGPORT} user=postgres dbname=postgres');
    FOR i IN 1 .. 200 LOOP
        BEGIN
            PERFORM use_version('flip', 2);
            PERFORM dblink_exec('other', 'INSERT INTO busy VALUES (1)');
            IF pg_temp.ask() = first THEN
                RETURN 'the new version does not serve';
            END IF;
            RAISE 'back';
        EXCEPTION WHEN raise_exception THEN NULL;
        END;
        right_answers := right_answers + (pg_temp.ask() = first)::integer;
    END LOOP;
    PERFORM dblink_disconnect('other');
    RETURN right_answers;
END \$\$;
SELECT pg_temp.walk_back();
SQL
$server->query(q{DROP TABLE busy; DROP EXTENSION dblink; SELECT drop_model('flip')});
intact('after these crashes and rollbacks');

# ---- parallel workers read the model themselves ----
is($server->query(<<'SQL'), 't', 'parallel plans give the same labels');
SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SET max_parallel_workers_per_gather = 2;
CREATE TEMP TABLE p AS SELECT id, predict('vector', x) AS c FROM points;
SET max_parallel_workers_per_gather = 0;
SELECT count(*) = 0 FROM p JOIN points USING (id) WHERE c <> predict('vector', x);
SQL
my $parallel = 'SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; SET min_parallel_table_scan_size = 0; SET max_parallel_workers_per_gather = 2;';
like($server->query("$parallel EXPLAIN SELECT sum(predict('vector', x)) FROM points"), qr/Gather/, 'the plans are parallel');
is($server->query("SELECT sum(predict('vector', x)) FROM points"), $server->query("$parallel SET ROLE analyst; SELECT sum(predict('vector', x)) FROM points"),
	'parallel plans give the same labels to a role that sees some of the models');
($status, $output, $messages) = $server->try("GRANT SELECT ON points TO reader; $parallel SET ROLE reader; SELECT sum(predict('columns', a, b)) FROM points");
like($messages, qr/model "columns" does not exist/, 'parallel workers refuse a role without rights');

# ---- a physical standby ----
{
	my $standby = $server->standby;
	my $primary = $server;
	$server = $standby;
	is($server->query('SELECT pg_is_in_recovery()'), 't', 'the standby answers');
	intact('standby');
	for my $change ("retrain('vector')", "train('other', 'points', 'x', 2)", "drop_model('vector')", "retrain_if_drifted('vector')",
		"rename_model('vector', 'other')", "grant_model('vector', 'reader')")
	{
		($status, $output, $messages) = $server->try("SELECT $change", verbosity => 'verbose');
		like($messages, qr/25006: models cannot be trained or changed on a standby.*HINT:  Call the function on the primary/s, "the standby predicts, and refuses $change");
	}
	# the other calls that docs/replicas.md names
	my %refused = ('check_drift()' => 'drift cannot be logged', "write_labels('vector', 'points', 'labels')" => 'labels cannot be written',
		map { $_ => 'models cannot be trained or changed' } "use_version('vector', 1)", "merge_clusters('vector', '{0,1}')", "pin_cluster('vector', 0)",
		"name_cluster('vector', 0, 'a')", "import_model('other', 'points', 'x', model_operator('vector'))");
	for my $change (sort keys %refused)
	{
		($status, $output, $messages) = $server->try("SELECT $change", verbosity => 'verbose');
		like($messages, qr/25006: $refused{$change} on a standby/, "the standby refuses $change");
	}
	is($server->query("SELECT count(*) > 0 FROM $_"), 't', "the standby reads $_") for "score('vector')", "profile('vector')", "cluster_rules('vector')", "describe('vector')", "report('vector')";
	is($server->query('SELECT count(*) FROM training_progress'), 0, 'the standby has no training in progress');
	is($server->query(q{SELECT count(*) FROM drift('vector')}), 1, 'the standby measures drift');
	is($server->query(q{SELECT count(*) FROM (SELECT sketch_agg(x, model_spec('vector')) AS s FROM points) q, decode(s, 3)}), 3, 'the standby sketches rows and decodes them');
	is($server->query(q{SELECT count(*) > 1 FROM choose_k('points', 'x', 4)}), 't', 'the standby chooses k');
	$server = $primary;
	$server->use_server;
}

for my $change ("retrain('vector')", "train('other', 'points', 'x', 2)", "drop_model('vector')")
{
	($status, $output, $messages) = $server->try("BEGIN READ ONLY; SELECT $change", verbosity => 'verbose');
	like($messages, qr/25006: models cannot be trained or changed in a read-only transaction.*HINT:  Begin the transaction with READ WRITE/s, "a read-only transaction refuses $change");
}

# ---- renamed roles: a dump has the names of today ----
$server->query('CREATE DATABASE renamed'); $server->query('CREATE EXTENSION fastclust', database => 'renamed');
$server->query(<<'SQL', database => 'renamed');
CREATE ROLE alice; CREATE ROLE bob; CREATE ROLE carol; GRANT CREATE ON SCHEMA public TO alice, carol;
SET ROLE alice; CREATE TABLE numbers AS SELECT i AS id, i % 7 AS a, i % 3 AS b FROM generate_series(1, 500) i; ALTER TABLE numbers ADD PRIMARY KEY (id);
SELECT train('hers', 'numbers', '{a,b}', 3, options => '{"quiet": true}'), grant_model('hers', 'bob'), grant_model('hers', 'carol'), name_cluster('hers', 0, 'low'), write_labels('hers', 'numbers', 'labels', '{"follow": true}');
SELECT check_drift();
SET ROLE carol; CREATE TABLE carols AS SELECT i % 5 AS a FROM generate_series(1, 100) i; SELECT train('gone', 'carols', '{a}', 2, options => '{"quiet": true}');
RESET ROLE; ALTER ROLE alice RENAME TO alicia; CREATE ROLE alice; ALTER ROLE bob RENAME TO robert; CREATE ROLE bob;
DROP OWNED BY carol; DROP ROLE carol; CREATE ROLE carol;
SQL
$server->dump_into('renamed', 'after');
for my $database ('renamed', 'after')
{
	is($server->query('SELECT model, owner, readers FROM models ORDER BY model', database => $database), "gone|carol (dropped)|{}\nhers|alicia|{robert,\"carol (dropped)\"}", "$database: owners and readers have the names of today");
	is($server->query(q{SELECT trained_by FROM model_versions WHERE model = 'hers' UNION ALL SELECT checked_by FROM drift_log UNION ALL SELECT named_by::name FROM stored_names UNION ALL SELECT followed_by::name FROM label_tables}, database => $database),
		join("\n", ('alicia') x 4), "$database: so have the other records of roles");
	is($server->query("SET ROLE $_->[0]; SELECT count(*) FROM models WHERE model = '$_->[1]'", database => $database), $_->[2], "$database: $_->[0] " . ($_->[2] ? 'reads' : 'does not read') . " $_->[1]")
		for ['alicia', 'hers', 1], ['robert', 'hers', 1], ['alice', 'hers', 0], ['bob', 'hers', 0], ['carol', 'hers', 0], ['carol', 'gone', 0];
}
is($server->query("SELECT role_id('nobody at all'::role_name) IS NULL, 'nobody at all'::role_name, role_id('alicia'::role_name) = 'alicia'::regrole", database => 'renamed'), 't|nobody at all|t', 'a name that no role has is kept');
my $long = 'd' . "\xc3\xa9" x 31;	# 63 bytes
$server->query(qq{CREATE ROLE "$long"; CREATE TABLE of_long AS SELECT '$long'::role_name AS role; DROP ROLE "$long"; CREATE ROLE "$long"}, database => 'renamed');
is($server->query('SELECT role_id(role::text::role_name) IS NULL, octet_length(role::text) FROM of_long', database => 'renamed'), 't|63', 'a later role of a name of 63 bytes is another role, too');
$server->query("COPY (SELECT 'alicia'::role_name, 'nobody at all'::role_name) TO '$server->{directory}/roles' (FORMAT binary); CREATE TABLE copied (a role_name, b role_name); COPY copied FROM '$server->{directory}/roles' (FORMAT binary)", database => 'renamed');
is($server->query('SELECT a, role_id(a)::regrole, b FROM copied', database => 'renamed'), 'alicia|alicia|nobody at all', 'binary COPY keeps roles');

# ---- dump and restore into a fresh cluster ----
my $dump = "$server->{directory}/dump";
FastclustTest::run_or_die(FastclustTest::program('pg_dump'), '-Fc', '-f', $dump, 'postgres');
{
	my $fresh = FastclustTest->new;
	$fresh->query('CREATE ROLE analyst; CREATE ROLE reader');
	FastclustTest::run_or_die(FastclustTest::program('pg_restore'), '--exit-on-error', '--jobs', '4', '-d', 'postgres', $dump);
	my $old = $server;
	$server = $fresh;
	intact('fresh cluster');
	is($server->query(q{SET ROLE analyst; SELECT retrain('vector', '{"quiet": true}')}), 3, 'the owner retrains in the fresh cluster');
	is($server->query(q{SET ROLE reader; SELECT count(*) FROM models}), 1, 'readers are readers in the fresh cluster');
	is($server->query(q{DELETE FROM stored_models; SELECT (SELECT count(*) FROM stored_versions) + (SELECT count(*) FROM training_steps) + (SELECT count(*) FROM drift_checks) + (SELECT count(*) FROM stored_names) + (SELECT count(*) FROM label_tables)}), 0, 'a dropped model takes its versions, logs and names along');
	$fresh->query('CREATE ROLE owner LOGIN; CREATE DATABASE pre OWNER owner');
	$fresh->query('CREATE EXTENSION fastclust', database => 'pre');
	# ---- a dump by the owner of the database or by a role for backups, restored by the owner ----
	my $shop = {database => 'pre'};
	$fresh->query('CREATE ROLE backup LOGIN; CREATE DATABASE post OWNER owner; CREATE DATABASE refused OWNER owner', %$shop);
	$fresh->query('CREATE EXTENSION fastclust', database => $_) for 'post', 'refused';
	my $number = $fresh->query('SHOW server_version_num');
	$fresh->query('GRANT pg_read_all_data TO backup') if $number >= 140000;
	$fresh->query(<<'SQL', %$shop);
SET ROLE owner;
CREATE SCHEMA shop;
CREATE TABLE shop.visits AS SELECT i AS id, ARRAY[i % 5, i % 3]::real[] AS x FROM generate_series(1, 300) i;
SELECT train('visits', 'shop.visits', 'x', 3, 'compressive', '{"quiet": true, "live": true}'), name_cluster('visits', 1, 'second');
SELECT retrain_if_drifted('visits');
INSERT INTO shop.visits VALUES (301, '{7,7}');
SQL
	my $said_of = q{SET ROLE owner; SELECT md5(string_agg(predict('visits', x)::text, ',' ORDER BY id)), count(DISTINCT id), (SELECT count(*) FROM check_sketch('visits')),
		(SELECT max(id) FROM stored_models), (SELECT count(*) FROM drift_log), (SELECT string_agg(name, ',') FROM model_clusters WHERE cluster = 1) FROM shop.visits};
	my $there = $fresh->query($said_of, %$shop);
	FastclustTest::run_or_die(FastclustTest::program('pg_dump'), '-U', $_, '--no-comments', '-f', "$dump.$_", 'pre') for 'owner', $number >= 140000 ? 'backup' : ();
	my $why = qx(psql -Xq -U owner -d post -o /dev/null -f $dump.owner 2>&1);
	is(join("\n", $why =~ /ERROR:  (.*)/g), '', 'the owner restores a dump where the extension exists already, without an error');
	is($fresh->query($said_of, database => 'post'), $there, 'the owner of a database dumps and restores his models');
	$fresh->query(q{SET ROLE owner; SELECT retrain('visits', '{"quiet": true}')}, database => 'post');
	$fresh->query(q{CREATE TABLE points AS SELECT x FROM shop.visits; SELECT train('of a superuser', 'points', 'x', 2)}, %$shop);
	FastclustTest::run_or_die(FastclustTest::program('pg_dump'), '-U', 'postgres', '--no-comments', '-f', "$dump.other", 'pre');
	$why = qx(psql -Xq -v VERBOSITY=verbose -U owner -d refused -o /dev/null -f $dump.other 2>&1);
	like($why, qr/42501: owner cannot restore rows of stored_models that belong to other roles/, 'the owner of a database cannot restore models of other roles');
	for my $planted ("INSERT INTO training_steps (model_id, version, step) SELECT id, 1, 'x' FROM stored_models WHERE model = 'of a superuser'",
		"INSERT INTO stored_names (model_id, identity, name, named_by) SELECT id, 0, 'x', 'owner' FROM stored_models WHERE model = 'of a superuser'",
		"INSERT INTO label_tables (model_id, target, relation, options, followed_by) SELECT id, 'x', 'x', '{}', 'postgres' FROM own_models LIMIT 1",
		"INSERT INTO stored_models (model, owner) VALUES ('x', 'postgres')", "INSERT INTO live_deltas (live_id) VALUES (4711)", "UPDATE stored_models SET owner = 'owner'", 'DELETE FROM stored_models')
	{
		($status, $output, $messages) = $fresh->try("SET ROLE owner; $planted", %$shop, verbosity => 'verbose');
		like($messages, qr/ERROR:  42501/, "the owner of a database cannot write past the functions: $planted");
	}
	$server = $old;
	$server->use_server;
}

done_testing();
