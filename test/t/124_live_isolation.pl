# Live sketches beside DDL: in transactions of REPEATABLE READ and SERIALIZABLE, whose snapshot is
# older than the catalogs, and in transactions with changes that are not written yet. Nothing of a
# dropped live sketch stays, and no reader gets a wrong sketch.
use FastclustTest;

my $server = FastclustTest->new(extension => 1);
$server->query(<<'SQL');
CREATE TYPE colour AS ENUM ('red', 'blue');
CREATE TABLE made AS SELECT sketch_spec(1, 8, 1.0) AS s;
CREATE TABLE plain AS SELECT i AS id, i::float8 AS a, 'red'::colour AS c FROM generate_series(1, 10) i;
CREATE TABLE log (id int, a float8) PARTITION BY RANGE (id);
CREATE TABLE log_1 PARTITION OF log FOR VALUES FROM (0) TO (100);
INSERT INTO log SELECT i, i FROM generate_series(1, 10) i;
SQL
my $keep = sub { my ($table, $options) = @_; return "SELECT keep_sketch('$table', '$table', '{a}', s, '" . ($options // '{}') . "') FROM made" };
my $left = q{SELECT (SELECT count(*) FROM live_deltas), (SELECT count(*) FROM live_bases), (SELECT count(*) FROM live_leaves), (SELECT count(*) FROM kept_sketches), (SELECT count(*) FROM pg_trigger WHERE tgname ~ '^fastclust_live_')};

sub said { my ($sql) = @_; my ($status, $output, $messages) = $server->try($sql); return $output . $messages; }

# Runs the statements of a transaction whose snapshot is older than what another session does.
sub meanwhile
{
	my ($others, $own, $level) = @_;
	my $keeper = $server->background('SELECT pg_advisory_lock(7); SELECT pg_sleep(600)');
	$server->wait_until_it_waits($keeper, 'PgSleep');
	my $session = $server->background("BEGIN ISOLATION LEVEL $level; SELECT 1; SELECT pg_advisory_lock(7); $own; COMMIT");
	$server->wait_until_it_waits($session);
	$server->query($others);
	$server->end($keeper);
	my ($status, $output) = $server->finish($session);
	return $output =~ s/^1\n\n?//r;
}

for my $level ('REPEATABLE READ', 'SERIALIZABLE')
{
	for my $drop ("SELECT drop_sketch('log')", 'DROP TABLE log')
	{
		$server->query($keep->('log'));
		is(meanwhile('INSERT INTO log VALUES (20, 1); CREATE TABLE log_2 PARTITION OF log FOR VALUES FROM (100) TO (200); INSERT INTO log VALUES (110, 1)', "SAVEPOINT s; $drop", $level) =~ s/^ERROR.*?\n//r, '', "$level: $drop");
		is(said($left), '0|0|0|0|0', '... leaves nothing of newer changes and leaves');
		$server->query('DROP TABLE IF EXISTS log CASCADE; CREATE TABLE log (id int, a float8) PARTITION BY RANGE (id); CREATE TABLE log_1 PARTITION OF log FOR VALUES FROM (0) TO (100)');
	}
	$server->query('CREATE TABLE passing AS SELECT 1::float8 AS a');
	meanwhile($keep->('passing'), 'DROP TABLE passing', $level);
	is(said($left), '0|0|0|0|0', "$level: DROP TABLE drops a live sketch that is newer than the snapshot");
	meanwhile($keep->('plain'), 'ALTER TABLE plain ALTER a TYPE float8 USING a + 1', $level);
	like(said("SELECT row_count(current_sketch('plain'))"), qr/Column "a" of public\.plain was given another type/, "$level: ALTER TABLE is noticed by a live sketch that is newer than the snapshot");
	# The fold of the dropped one fails.
	meanwhile("SELECT drop_sketch('plain'); " . $keep->('plain'), 'INSERT INTO plain VALUES (20, 1); SELECT fold_sketches()', $level);
	is(said("SELECT row_count(current_sketch('plain')) = count(*) FROM plain"), 't', "$level: changes of a live sketch that is newer than the snapshot outlive a fold");
	$server->query($keep->('log'));
	meanwhile('CREATE TABLE log_2 PARTITION OF log FOR VALUES FROM (100) TO (200)', 'INSERT INTO log VALUES (150, 1); SELECT fold_sketches()', $level);
	is(said("SELECT row_count(current_sketch('log')) = count(*) FROM log"), 't', '... and so do those of a newer leaf');
	$server->query("SELECT drop_sketch('log'); DROP TABLE log_2");
	is(meanwhile('ALTER TABLE plain ADD n int', 'ALTER TABLE plain ADD m int; SELECT state FROM live_sketches; SELECT owns_relation(10, $$plain$$::regclass), may_read_live(10, l) FROM kept_sketches l; SELECT check_live_types($$plain$$, NULL, NULL)', $level),
		"ready\nt|t\n", "$level: a table that this and another session have altered is one table");
	$server->query("SELECT drop_sketch('plain'); ALTER TABLE plain DROP n, DROP m");
}

# ---- changes that wait for the end of the transaction ----
$server->query($keep->('log_1'));
my $waiting = 'BEGIN; INSERT INTO log VALUES (30, 1)';
is(said("$waiting; SELECT drop_sketch('log_1'); COMMIT; $left"), "\n0|0|0|0|0", 'drop_sketch drops the changes of its own transaction');
$server->query($keep->('log_1'));
is(said("$waiting; SAVEPOINT s; SELECT drop_sketch('log_1'); ROLLBACK TO s; COMMIT; SELECT row_count(current_sketch('log_1')) = count(*) FROM log_1"), "\nt", '... unless it is rolled back');
is(said("$waiting; SELECT rebuild_sketch('log_1') AS n \\gset\nSELECT :n = count(*) FROM log_1; SELECT row_count(current_sketch('log_1')) = count(*) FROM log_1; COMMIT; SELECT row_count(current_sketch('log_1')) = count(*), (SELECT count(*) FROM check_sketch('log_1')) FROM log_1"),
	"t\nt\nt|0", 'rebuild_sketch counts them once');
is(said("$waiting; DROP TABLE log_1; COMMIT; $left"), '0|0|0|0|0', 'DROP TABLE drops the changes of its own transaction');
$server->query('CREATE TABLE log_1 PARTITION OF log FOR VALUES FROM (0) TO (100)');

# ---- other sessions ----
$server->query($keep->('log'));
my $maker = $server->background('BEGIN; CREATE TABLE log_3 PARTITION OF log FOR VALUES FROM (200) TO (300); INSERT INTO log VALUES (210, 1); SELECT pg_sleep(1); COMMIT');
$server->wait_until_it_waits($maker, 'PgSleep');
is(said("SELECT drop_sketch('log'); INSERT INTO log VALUES (211, 1); $left"), "\n0|0|0|0|0", 'drop_sketch waits for a leaf that is being made, and drops its triggers, too');
$server->finish($maker);
$server->query($keep->('plain', q({"where": "c = ''red''"})));
$maker = $server->background(q{BEGIN; ALTER TYPE colour RENAME VALUE 'blue' TO 'green'; SELECT pg_sleep(1); COMMIT});
$server->wait_until_it_waits($maker, 'PgSleep');
$server->query("SELECT drop_sketch('plain')");
$server->finish($maker);
is(said("SELECT fold_sketches(); $left"), "0\n0|0|0|0|0", 'fold_sketches removes what ALTER TYPE recorded beside drop_sketch');

# ---- REPACK, which with CONCURRENTLY hides all rows of the table from older snapshots ----
SKIP:
{
	skip('REPACK is of PostgreSQL 19', 8) if $server->query('SHOW server_version_num') < 190000;
	my $equal = q{SELECT same_rows(current_sketch('packed'), (SELECT sketch_agg(ARRAY[a], s) FROM packed, made))};
	my $repack = 'REPACK (CONCURRENTLY)';
	$server->query('CREATE TABLE packed AS SELECT i AS id, i::float8 AS a FROM generate_series(1, 20000) i; ALTER TABLE packed ADD PRIMARY KEY (id); ' . $keep->('packed') . '; DELETE FROM packed WHERE id > 19990');
	for my $command ("$repack packed", 'REPACK packed USING INDEX packed_pkey')
	{
		is(meanwhile($command, "SELECT 'read', row_count(current_sketch('packed'))", 'REPEATABLE READ') =~ s/\n.*//sr,
			'ERROR:  live sketch "packed" cannot be read under this snapshot', "an older snapshot does not read the sketch after $command");
		is(said("$equal; SELECT count(*) FROM check_sketch('packed')"), "t\n0", '... and a newer one reads the exact sketch');
	}

	# The changes of others while REPACK copies the table are counted by their triggers alone.
	my $writer = $server->background("BEGIN; UPDATE packed SET a = -a WHERE id % 3 = 0; DELETE FROM packed WHERE id % 7 = 0; SELECT pg_sleep(1); COMMIT; INSERT INTO packed SELECT i, i FROM generate_series(30000, 30100) i");
	$server->wait_until_it_waits($writer, 'PgSleep');
	my $packer = $server->background("SELECT 1;\n$repack packed");
	$server->finish($writer);
	is(($server->finish($packer))[1], '1', "$repack beside writers");
	is(said("$equal; UPDATE packed SET a = a + 1 WHERE id % 100 = 0; $equal; SELECT count(*) FROM check_sketch('packed')"), "t\nt\n0", '... leaves the exact sketch, and the triggers');

	# A hidden base would be missing in the sum of an older snapshot.
	like(said("$repack live_bases"), qr/^ERROR:  cannot execute REPACK \(CONCURRENTLY\) on relation "live_bases"/, 'bases are never hidden');
	is(meanwhile('INSERT INTO packed VALUES (-1, 1); REPACK live_bases; REPACK live_deltas', "SELECT row_count(current_sketch('packed')) = count(*) FROM packed", 'REPEATABLE READ'), 't', '... and REPACK leaves them to an older snapshot');
}

done_testing();
