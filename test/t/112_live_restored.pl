# A live sketch of a restored, subscribed, promoted or busy table is exact or an error, and a
# writer holds no lock on it after his statement.
use FastclustTest;

my $server = FastclustTest->new(extension => 1, config => "wal_level = logical\nmax_prepared_transactions = 4\n");
my $rows = "row_count(current_sketch('log')) || ' ' || (SELECT count(*) FROM log WHERE note <> 'odd ')";
my $enabled = q{SELECT string_agg(DISTINCT evtenabled::text, '') FROM pg_event_trigger WHERE evtname ~ '^fastclust_live_'};
$server->query(<<'SQL');
CREATE TABLE made AS SELECT sketch_spec(2, 50, 1.0) AS s;
CREATE TABLE log (gone text, id integer PRIMARY KEY, x double precision[], note varchar(10)) PARTITION BY RANGE (id);
CREATE TABLE log_1 PARTITION OF log FOR VALUES FROM (0) TO (1000);
CREATE TABLE log_2 PARTITION OF log DEFAULT;
ALTER TABLE log DROP gone;
INSERT INTO log SELECT i, ARRAY[i % 5, i % 3], 'even' FROM generate_series(1, 2000) i;
SELECT keep_sketch('log', 'log', 'x', s, '{"where": "note <> ''odd ''"}') FROM made;
INSERT INTO log VALUES (5000, '{1,1}', 'even');
SQL
is($server->query("SELECT $rows"), '2001 2001', 'a live sketch counts its rows');
is($server->query($enabled), 'A', 'its event triggers are enabled');
is($server->query('SELECT count(*) FROM restored_triggers'), 0, 'its triggers are not those of a restore');

# Returns the output or the error of a statement, without its context.
sub said { my ($sql, %options) = @_; my ($status, $output, $messages) = $server->try($sql, %options); return $output . $messages; }

# ---- dumps as a whole and in parts, restored in any order ----
$server->dump_into('postgres', 'whole');
is(said("SELECT $rows; INSERT INTO log VALUES (6000, '{1,1}', 'even'); DELETE FROM log WHERE id < 10; SELECT $rows; SELECT count(*) FROM check_sketch('log')", database => 'whole'),
	"2001 2001\n1993 1993\n0", 'a restored dump is exact, although its columns have other numbers');
is($server->query($enabled, database => 'whole'), 'A', 'the restored event triggers are enabled');
like(said("ALTER TABLE log ALTER x TYPE double precision[] USING x || '{}'; SELECT $rows", database => 'whole'),
	qr/ERROR:  live sketch "log" no longer matches its table\nDETAIL:  Column "x" of public\.log_\d was given another type/, 'the restored event triggers notice DDL');
my $dump = sub { my $file = "$server->{directory}/" . shift; FastclustTest::run_or_die(FastclustTest::program('pg_dump'), @_, '-f', $file, 'postgres'); return $file };
my $schema = $dump->('schema.sql', '--schema-only');
my %load = (
	'the data' => [$dump->('data.sql', '--data-only')],
	'the table, then the data of all else' => [$dump->('table.sql', '--data-only', '-t', 'log*'), $dump->('else.sql', '--data-only', '-T', 'log*')],
	'all else, then the table' => [$dump->('else.sql', '--data-only', '-T', 'log*'), $dump->('table.sql', '--data-only', '-t', 'log*')],
);
my $number = 0;
for my $what (sort keys %load)
{
	my $database = 'parts_' . ++$number;
	$server->query("CREATE DATABASE $database");
	FastclustTest::run_or_die(FastclustTest::program('psql'), '-Xq', '-v', 'ON_ERROR_STOP=1', '-d', $database, '-f', $_) for $schema, @{$load{$what}};
	is($server->query('SELECT count(*) FROM restored_triggers', database => $database), 1, 'triggers created before the row of the live sketch are recorded');
	is(said("SELECT $rows; INSERT INTO log VALUES (6000, '{1,1}', 'even'); SELECT $rows; SELECT count(*) FROM check_sketch('log')", database => $database), "2001 2001\n2002 2002\n0", "the schema, then $what: the live sketch is exact");
}

# ---- triggers that were changed and changed back: rows may have changed meanwhile ----
my $replaces = $server->query('SHOW server_version_num') >= 140000;
$server->query("CREATE TABLE watched (id integer PRIMARY KEY, x double precision[]) PARTITION BY RANGE (id); CREATE TABLE watched_1 PARTITION OF watched DEFAULT; CREATE TABLE watched_2 PARTITION OF watched FOR VALUES FROM (5000) TO (6000);
	SELECT keep_sketch(n, 'watched', 'x', s) FROM made, unnest(ARRAY['watched', 'beside']) n");
my ($watched, $beside) = split /\n/, $server->query("SELECT id FROM live_sketches WHERE relation = 'watched'::regclass ORDER BY id");
my %made = (rows => 'AFTER INSERT OR UPDATE OR DELETE', statement => 'AFTER INSERT OR UPDATE OR DELETE', truncate => 'BEFORE TRUNCATE');
for my $event (sort keys %made)
{
	my ($name, $level) = ("fastclust_live_${watched}_$event", $event eq 'rows' ? 'ROW' : 'STATEMENT');
	my $change = $event eq 'truncate' ? 'TRUNCATE watched_1' : 'DELETE FROM watched_1 WHERE id < 50';
	my $create = sub { my ($words, $table, $when) = @_; "$words TRIGGER $name $made{$event} ON $table FOR EACH $level $when EXECUTE FUNCTION live_change('$watched')" };
	my $always = "ALTER TABLE watched_1 ENABLE ALWAYS TRIGGER $name";
	my $all_always = 'ALTER TABLE watched_1 ' . join ', ', map { my $id = $_; map { "ENABLE ALWAYS TRIGGER fastclust_live_${id}_$_" } sort keys %made } $watched, $beside;
	my %ways = (
		'dropped' => "DROP TRIGGER $name ON watched_1; $change; @{[$create->('CREATE', 'watched_1', '')]}; $always",
		'renamed' => "ALTER TRIGGER $name ON watched_1 RENAME TO z; $change; ALTER TRIGGER z ON watched_1 RENAME TO $name",
		'disabled' => "ALTER TABLE watched_1 DISABLE TRIGGER $name; $change; $always",
		'disabled as one of all' => "ALTER TABLE watched_1 DISABLE TRIGGER USER; $change; $all_always",
		'enabled as one of all' => "ALTER TABLE watched_1 ENABLE TRIGGER ALL; SET session_replication_role = replica; $change; RESET session_replication_role; $all_always",
		'enabled for replicas' => "ALTER TABLE watched_1 ENABLE REPLICA TRIGGER $name; $change; $always",
		$replaces ? ('replaced' => ($event eq 'truncate' ? $create->('CREATE OR REPLACE', 'watched_1', '') =~ s/BEFORE TRUNCATE/AFTER INSERT/r : $create->('CREATE OR REPLACE', 'watched_1', 'WHEN (false)'))
			. "; $change; " . $create->('CREATE OR REPLACE', 'watched_1', '') . "; $always") : (),
		$replaces && $event eq 'rows' ? ('replaced through its parent' => $create->('CREATE OR REPLACE', 'watched', 'WHEN (false)') . "; $change; DROP TRIGGER $name ON watched; " . $create->('CREATE', 'watched_1', '') . "; $always") : (),
	);
	for my $way (sort keys %ways)
	{
		$server->query("TRUNCATE watched; SELECT rebuild_sketch(n) FROM unnest(ARRAY['watched', 'beside']) n; INSERT INTO watched SELECT i, ARRAY[i % 5, 1] FROM generate_series(1, 100) i");
		is(said("SELECT row_count(current_sketch('watched'))"), 100, "$event: a live sketch has 100 rows") if $way eq 'dropped';
		like(said("SET client_min_messages = error; $ways{$way}; SELECT row_count(current_sketch('watched')) || ' rows, of ' || count(*) FROM watched"),
			qr/^ERROR:  live sketch "watched" no longer matches its table\nDETAIL:  Table (?:public\.)?watched_1 had triggers /, "readers are told that the trigger for $event was $way meanwhile");
		my $of = "SELECT row_count(current_sketch('beside')) IS NOT DISTINCT FROM NULLIF(count(*), 0) FROM watched";
		$way =~ /as one of all/ ? like(said($of), qr/had triggers disabled/, '... so do those of another one') : is(said($of), 't', '... and another live sketch of the table is right');
		is(said("SELECT rebuild_sketch('watched') AS n \\gset\nSELECT :n - count(*) FROM watched; SELECT (SELECT count(*) FROM check_sketch('watched')), (SELECT state FROM live_sketches WHERE name = 'watched')"), "0\n0|ready", 'rebuild_sketch makes it exact again');
	}
}
is(said("SELECT rebuild_sketch(n) > 0 FROM unnest(ARRAY['watched', 'beside']) n; VACUUM FREEZE pg_trigger; VACUUM FULL pg_trigger; CREATE TRIGGER other AFTER DELETE ON watched_1 EXECUTE FUNCTION live_change('1'); ALTER TRIGGER other ON watched_1 RENAME TO others;
	ALTER TABLE watched_1 DISABLE TRIGGER others; DROP TRIGGER others ON watched_1; SELECT state FROM live_sketches WHERE name IN ('watched', 'beside')") =~ s/^[tf]\n[tf]\n//r, "ready\nready", 'neither VACUUM of pg_trigger nor another trigger is noticed');
# Triggers that look like the ones of keep_sketch, but count nothing, or count too late.
for my $other ("CREATE TRIGGER NAME AFTER INSERT OR UPDATE OR DELETE ON watched_1 FOR EACH ROW EXECUTE FUNCTION live_change('$beside')",
	"CREATE CONSTRAINT TRIGGER NAME AFTER INSERT OR UPDATE OR DELETE ON watched_1 DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION live_change('$watched')")
{
	my $name = "fastclust_live_${watched}_rows";
	is(said("BEGIN; DROP TRIGGER $name ON watched_1; @{[$other =~ s/NAME/$name/r]}; ALTER TABLE watched_1 ENABLE ALWAYS TRIGGER $name; SELECT trigger_problem($watched, 'watched_1'); ROLLBACK"),
		'triggers of public.watched_1 were dropped', "it is not taken for a trigger of keep_sketch: $other");
}
$server->query('DROP TABLE watched');

# ---- a table that is dropped while a function waits for its lock ----
$server->query('CREATE TABLE doomed (x double precision[], a integer)');
my $gate = $server->background('SELECT pg_advisory_lock(7), pg_sleep(600)');
$server->wait_until_it_waits($gate, 'PgSleep');
my $drop = $server->background('BEGIN; DROP TABLE doomed; SELECT pg_advisory_xact_lock(7); COMMIT;');
$server->wait_until_it_waits($drop);
my $late = $server->background(q{SELECT row_condition('doomed', 'a > 1');});
$server->wait_until_it_waits($late);
$server->end($gate);
$server->finish($drop);
like(($server->finish($late))[1], qr/^ERROR:  relation (?:with OID \d+|"doomed") does not exist/, 'a table that is dropped during the wait for its lock does not exist');

# ---- a subscription applies rows ----
$server->query("CREATE DATABASE subscriber; CREATE PUBLICATION of_log FOR TABLE log; SELECT pg_create_logical_replication_slot('of_log', 'pgoutput')");
$server->query(<<"SQL", database => 'subscriber');
CREATE EXTENSION fastclust;
CREATE TABLE log (id integer PRIMARY KEY, x double precision[], note varchar(10)) PARTITION BY RANGE (id);
CREATE TABLE log_1 PARTITION OF log FOR VALUES FROM (0) TO (1000);
CREATE TABLE log_2 PARTITION OF log DEFAULT;
SELECT fastclust.keep_sketch('log', 'log', 'x', fastclust.sketch_spec(2, 50, 1.0));
CREATE SUBSCRIPTION of_log CONNECTION 'host=$server->{directory} port=54321 user=postgres dbname=postgres' PUBLICATION of_log WITH (create_slot = false, slot_name = 'of_log');
SQL
$server->query("BEGIN; INSERT INTO log SELECT i, ARRAY[i % 7, 1], 'even' FROM generate_series(10001, 11000) i; UPDATE log SET x = '{9,9}' WHERE id % 10 = 0; DELETE FROM log WHERE id % 10 = 1; COMMIT");
my $end = '';
for (1 .. 300)
{
	$end = said("SELECT row_count(fastclust.current_sketch('log')), count(*), (SELECT count(*) FROM fastclust.check_sketch('log')) FROM log", database => 'subscriber');
	last if $end =~ /^2701\|/ || $end =~ /ERROR/;
	select undef, undef, undef, 0.1;
}
is($end, '2701|2701|0', 'rows applied by a subscription are counted');
$server->query('DROP SUBSCRIPTION of_log', database => 'subscriber');

# ---- a subscriber of all tables, and so of the rows of the extension, but not of its sequences ----
$server->query("CREATE DATABASE $_") for 'published', 'copied';
$server->query(<<'SQL', database => 'published');
CREATE EXTENSION fastclust;
CREATE TABLE r AS SELECT i AS id, i % 3 + sin(i) AS a, i % 5 AS b FROM generate_series(1, 500) i;
ALTER TABLE r ADD PRIMARY KEY (id);
SELECT train('m' || i, 'r', '{a,b}', 3, options => '{"quiet": true, "live": true}') FROM generate_series(1, 3) i;
SELECT retrain_if_drifted('m1', 1e-30, 0, '{"quiet": true}');
CREATE PUBLICATION of_all FOR ALL TABLES;
SELECT pg_create_logical_replication_slot('of_all', 'pgoutput');
SQL
my $own = "train('own', 'r', '{a,b}', 3, options => '{\"quiet\": true}'), retrain('own', '{\"quiet\": true}'), retrain_if_drifted('own', 1e-30, 0, '{\"quiet\": true}')";
my $caught_up = sub {
	my $what = "SELECT (SELECT string_agg(model, ' ' ORDER BY model) FROM models) || ' ' || (SELECT count(*) FROM drift_log) || (SELECT ', ' || count(*) FROM r)";
	my ($copy, $wanted) = ('', shift);
	for (1 .. 300)
	{
		last if ($copy = said($what, database => 'copied')) eq $wanted;
		select undef, undef, undef, 0.1;
	}
	return is($copy, $wanted, shift);
};
$server->query(<<"SQL", database => 'copied');
CREATE EXTENSION fastclust;
CREATE TABLE r (id int PRIMARY KEY, a float8, b int);
CREATE SUBSCRIPTION of_all CONNECTION 'host=$server->{directory} port=54321 user=postgres dbname=published' PUBLICATION of_all WITH (create_slot = false, slot_name = 'of_all');
SQL
$caught_up->('m1 m2 m3 1, 500', 'a subscription to all tables copies models');
is(said("SET client_min_messages = error; SELECT $own; SELECT keep_sketch('own', 'r', '{a}', sketch_spec(1, 16, 1.0))", database => 'copied'), "1|2|\n500", 'a subscriber trains models of its own');
is(said("SELECT train('other', 'r', '{a,b}', 3, options => '{\"quiet\": true, \"live\": true}'); SELECT state FROM live_sketches WHERE name IN ('own', 'other')", database => 'copied'), "1\nready\nready", '... and live ones');
$server->query(q(SELECT train('m4', 'r', '{a,b}', 3, options => '{"quiet": true, "live": true}'), train('m5', 'r', '{a,b}', 2, options => '{"quiet": true, "live": true}'), retrain_if_drifted('m1', 1e-30, 0, '{"quiet": true}')), database => 'published');
$caught_up->('m1 m2 m3 m4 m5 other own 3, 500', '... whose rows no later row of the publisher meets');
$server->query('DROP SUBSCRIPTION of_all', database => 'copied');

# A copy whose subscription is gone, as after a switch to it, knows its rows, but not the sequences.
$server->query("SELECT setval(pg_get_serial_sequence(t, 'id'), 1, false) FROM unnest('{stored_models,training_steps,drift_checks,kept_sketches}'::text[]) t; SELECT drop_model('own'), drop_sketch('own')", database => 'copied');
is(said("SET client_min_messages = error; SELECT $own; SELECT keep_sketch('own', 'r', '{a}', sketch_spec(1, 16, 1.0))", database => 'copied'), "1|2|\n500", 'a former subscriber takes ids that are free');

# ---- a subscriber of all tables counts its own rows, and skips the sums of the publisher ----
# Subscribers are on another server, because a slot on their own waits for their transactions.
$server->query(<<'SQL', database => 'published');
SELECT drop_model(model) FROM models;
SELECT train('counted', 'r', '{a,b}', 3, 'compressive', '{"quiet": true, "live": true}');
INSERT INTO r SELECT i, i % 3, i % 5 FROM generate_series(501, 600) i;
SELECT fold_sketches('counted');
INSERT INTO r SELECT i, i % 3, i % 5 FROM generate_series(601, 700) i;
SELECT pg_drop_replication_slot('of_all') FROM pg_replication_slots WHERE slot_name = 'of_all';
SELECT pg_create_logical_replication_slot(s, 'pgoutput') FROM unnest('{of_dump,by_hand}'::text[]) s;
SQL
FastclustTest::run_or_die(FastclustTest::program('pg_dump'), '-s', '--no-publications', '-f', "$server->{directory}/schema.sql", 'published');
my $other = FastclustTest->new;
$other->query("CREATE DATABASE $_") for 'of_dump', 'by_hand';
FastclustTest::run_or_die(FastclustTest::program('psql'), '-Xq', '-v', 'ON_ERROR_STOP=1', '-o', '/dev/null', '-d', 'of_dump', '-f', "$server->{directory}/schema.sql");
$other->query('CREATE EXTENSION fastclust; CREATE TABLE r (id int PRIMARY KEY, a float8, b int)', database => 'by_hand');
$other->query("CREATE SUBSCRIPTION $_ CONNECTION 'host=$server->{directory} port=54321 user=postgres dbname=published' PUBLICATION of_all WITH (create_slot = false, slot_name = '$_')", database => $_) for 'of_dump', 'by_hand';
# Returns rows, counted rows and groups that differ, once the subscriber has the rows of the publisher and all tables are copied.
my $counts = sub {
	my ($database, $rows, $name) = @_;
	my $waiting = q{SELECT (SELECT count(*) FROM r) || ' ' || (SELECT count(*) FROM pg_subscription_rel s WHERE s.srsubid = (SELECT oid FROM pg_subscription WHERE subname = current_database()) AND s.srsubstate <> 'r')};
	for (1 .. 300)
	{
		last if said($waiting, database => $database) eq "$rows 0";
		select undef, undef, undef, 0.1;
	}
	return said("SELECT count(*), row_count(current_sketch('$name')), (SELECT count(*) FROM check_sketch('$name')), (SELECT state FROM live_sketches WHERE name = '$name') FROM r", database => $database);
};
is($counts->('of_dump', 700, 'counted'), '700|700|0|ready', 'the schema of a dump has the triggers, which count each row once');
like($counts->('by_hand', 700, 'counted'), qr/ERROR:  live sketch "counted" .*rebuild_sketch/s, 'a table made by hand has no triggers, and readers get an error');
is(said("SELECT rebuild_sketch('counted')", database => 'by_hand'), 700, '... until rebuild_sketch, also while the subscription goes on');
$server->use_server;
$server->query(<<'SQL', database => 'published');
DELETE FROM r WHERE id <= 50;
UPDATE r SET a = a + 1 WHERE id > 650;
SELECT fold_sketches('counted');
INSERT INTO r SELECT i, i % 3, i % 5 FROM generate_series(701, 800) i;
SQL
$other->use_server;
is($counts->($_, 750, 'counted'), '750|750|0|ready', "$_: later rows are counted once, and folds of the publisher change nothing") for 'of_dump', 'by_hand';
is(said("SELECT fold_sketches('counted') > 0; SELECT row_count(current_sketch('counted')) FROM rebuild_sketch('counted')", database => 'of_dump'), "t\n750", 'the subscriber folds its own changes');
$server->use_server;
$server->query(q(SELECT drop_sketch('counted')), database => 'published');
$server->query(q(INSERT INTO r VALUES (801, 1, 1)), database => 'published');
$other->use_server;
for my $database ('of_dump', 'by_hand')
{
	like($counts->($database, 751, 'counted'), qr/live sketch "counted" does not exist/, "$database: a live sketch that the publisher drops is dropped");
	is(said('SELECT (SELECT count(*) FROM live_leaves), (SELECT count(*) FROM live_bases)', database => $database), '0|0', '... with its sums');
	$other->query("DROP SUBSCRIPTION $database", database => $database);
}
undef $other;
$server->use_server;

# ---- DDL that is visible in every snapshot ----
for my $change ('TRUNCATE log_1', 'ALTER TABLE log DETACH PARTITION log_1', 'ALTER TABLE log ATTACH PARTITION log_1 FOR VALUES FROM (0) TO (1000)', 'CREATE TABLE log_3 PARTITION OF log FOR VALUES FROM (-10) TO (0)')
{
	my $keeper = $server->background('SELECT pg_advisory_lock(7); SELECT pg_sleep(600)');
	$server->wait_until_it_waits($keeper, 'PgSleep');
	my $old = $server->background("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1; SELECT pg_advisory_lock(7); SELECT row_count(current_sketch('log')); ROLLBACK; SELECT $rows");
	$server->wait_until_it_waits($old);
	$server->query($change);
	$server->end($keeper);
	my ($status, $output) = $server->finish($old);
	my ($table) = $change =~ /(log_\d)/;
	like($output, qr/ERROR:  live sketch "log" cannot be read under this snapshot\nDETAIL:  Table public\.$table .*\nHINT:  .*new transaction\.\n(\d+) \1\z/, "$change: the live sketch is an error under an older snapshot");
}

# ---- keep_sketch and rebuild_sketch while others write ----
my $writer = $server->background("BEGIN; INSERT INTO log VALUES (30000, '{1,1}', 'even'); SELECT pg_sleep(1); COMMIT");
$server->wait_until_it_waits($writer, 'PgSleep');
my $maker = $server->background("SELECT keep_sketch('beside', 'log', 'x', s, '{\"concurrently\": true}') FROM made");
is(said("SET lock_timeout = '500ms'; INSERT INTO log VALUES (30001, '{1,1}', 'even')"), '', 'a writer does not wait for a keep_sketch that waits for another writer');
$server->finish($_) for $writer, $maker;
$writer = $server->background("BEGIN; INSERT INTO log VALUES (30011, '{1,1}', 'even'); DELETE FROM log WHERE id = 2000; SELECT pg_sleep(600)");
$server->wait_until_it_waits($writer, 'PgSleep');
my $counted = said("SET lock_timeout = '2s'; SELECT rebuild_sketch('beside')");
is(said("SELECT row_count(current_sketch('beside')), count(*) FROM log"), "$counted|$counted", 'rebuild_sketch counts without waiting for an open writer');
$server->end($writer);
is(said("INSERT INTO log VALUES (30012, '{1,1}', 'even'); SELECT row_count(current_sketch('beside')) - $counted, (SELECT count(*) FROM check_sketch('beside'))"), '1|0', 'the rows of the open writer come or go with its transaction');
$server->query("SELECT drop_sketch('beside')");

# ---- MERGE into partitions, for which servers 16 to 18 may give wrong transition tables ----
if ($server->query('SHOW server_version_num') >= 150000)
{
	my $merged = $server->query("BEGIN; MERGE INTO log USING generate_series(40000, 40100) i ON id = i - 39500 WHEN MATCHED AND i % 2 = 0 THEN UPDATE SET x = '{8,8}' WHEN MATCHED AND i % 3 = 0 THEN DELETE WHEN NOT MATCHED THEN INSERT VALUES (i, '{9,9}', 'even');
		MERGE INTO log USING generate_series(39900, 40200) i ON id = i WHEN MATCHED THEN UPDATE SET id = i % 1000, x = '{7,7}' WHEN NOT MATCHED THEN INSERT VALUES (i, '{6,6}', 'even'); SELECT count(*) FROM check_sketch('log'); ROLLBACK");
	is($merged, 0, 'MERGE with INSERT, UPDATE and DELETE into a partitioned table');
}

# ---- a standby ----
is((split /\n/, said("BEGIN READ ONLY; SELECT keep_sketch('two', 'log', 'x', s) FROM made"))[0], 'ERROR:  live sketches cannot be made or changed in a read-only transaction', 'keep_sketch is an error in a read-only transaction');

# ---- a large prepared transaction: nobody waits for it ----
$server->query("BEGIN; " . join('', map { "INSERT INTO log VALUES ($_, '{1,1}', 'even'); " } 20000 .. 22100) . "PREPARE TRANSACTION 'many'");
is(said("SET lock_timeout = '2s'; SELECT count(*) FROM check_sketch('log'); SELECT fold_sketches('log') > 0; SELECT rebuild_sketch('log'); ALTER TABLE made ADD x integer"),
	"0\nt\n1805", 'the owner checks, folds and rebuilds the sketch meanwhile');
is(said("COMMIT PREPARED 'many'; SELECT $rows"), '3906 3906', 'its rows are counted when it commits');

# ---- a physical standby that is promoted ----
my $primary = $server;
$server = $primary->standby;
is(said("SELECT pg_is_in_recovery(), $rows"), 't|3906 3906', 'a standby reads the live sketch');
like(said("SELECT $_"), qr/ERROR:  live sketches cannot be made or changed on a standby\n.*HINT:  Call the function on the primary/s, "a standby refuses $_")
	for "keep_sketch('two', 'log', 'x', s) FROM made", "rebuild_sketch('log')", "fold_sketches('log')", 'fold_sketches()', "drop_sketch('log')";
is(said('SELECT pg_promote()'), 't', 'the standby is promoted');
is(said("INSERT INTO log VALUES (50000, '{1,1}', 'even'); DELETE FROM log WHERE id = 5000; SELECT $rows; SELECT fold_sketches('log') > 0; SELECT count(*) FROM check_sketch('log'); SELECT keep_sketch('two', 'log', 'x', s) FROM made; SELECT drop_sketch('two')"),
	"3906 3906\nt\n0\n3906\n", 'the promoted server follows the table');
like(said("ALTER TABLE log ALTER x TYPE double precision[] USING x || '{}'; SELECT $rows"), qr/ERROR:  live sketch "log" no longer matches its table\nDETAIL:  Column "x" of public\.log_\d was given another type/, 'the promoted server notices DDL');

# ---- without the module's file, only followed tables are blocked, until DROP EXTENSION ----
$server->query(q{UPDATE pg_proc SET probin = '$libdir/gone' WHERE probin = '$libdir/fastclust'});
is(said('CREATE TABLE beside (i integer, p integer) PARTITION BY LIST (p); CREATE TABLE beside_1 PARTITION OF beside DEFAULT; ALTER TABLE beside ALTER i TYPE bigint; DROP TABLE beside'), '', 'without the module, DDL on tables that are not followed works');
like(said("SET client_min_messages = error; $_"), qr/^ERROR:  could not access file "(?:\$libdir\/)?gone"/, "without the module it is an error: $_") for 'ALTER TABLE log ADD more integer', 'CREATE TABLE log_9 PARTITION OF log FOR VALUES FROM (-20) TO (-10)', "INSERT INTO log VALUES (60000, '{1,1}', 'even')";
is(said("SET client_min_messages = error; DROP EXTENSION fastclust CASCADE; ALTER TABLE log ADD more integer; INSERT INTO log VALUES (60000, '{1,1}', 'even')"), '', 'after DROP EXTENSION the table is free');

done_testing();
