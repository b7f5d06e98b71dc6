# Live sketches stay exact, to the bit, while concurrent sessions change their tables: mixed
# statements, folds, prepared transactions, crashes. Variables: LIVE_SECONDS (10) of a round,
# LIVE_ROUNDS (2), LIVE_SESSIONS (4) that write, LIVE_READERS (1) that check meanwhile, LIVE_SEED
# (1); make soak sets large ones. LIVE_VERBOSE prints what was done.
use FastclustTest;
use Time::HiRes qw(time sleep);

my $seconds = $ENV{LIVE_SECONDS} // 10;
my $rounds = $ENV{LIVE_ROUNDS} // 2;
my $sessions = $ENV{LIVE_SESSIONS} // 4;
my $readers = $ENV{LIVE_READERS} // 1;
my $seed = $ENV{LIVE_SEED} // 1;
my $most = 5000;			# number of keys

my $server = FastclustTest->new(extension => 1, config => "autovacuum = on\nmax_prepared_transactions = 40\nmax_connections = 100\ndeadlock_timeout = 100ms\n");
my $version = $server->query('SHOW server_version_num');
$server->query(<<"SQL");
CREATE TABLE facts (id integer PRIMARY KEY, shop text, at timestamptz, x real[], a float8, b integer, note text);
CREATE TABLE parts (id integer, x double precision[], note text, PRIMARY KEY (id)) PARTITION BY RANGE (id);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (1000);
CREATE TABLE parts_2 PARTITION OF parts FOR VALUES FROM (1000) TO (3000) PARTITION BY RANGE (id);
CREATE TABLE parts_2_1 PARTITION OF parts_2 FOR VALUES FROM (1000) TO (2000);
CREATE TABLE parts_2_2 (note text, gone integer, x double precision[], id integer NOT NULL);
ALTER TABLE parts_2_2 DROP gone;
ALTER TABLE parts_2 ATTACH PARTITION parts_2_2 FOR VALUES FROM (2000) TO (3000);
CREATE TABLE parts_3 PARTITION OF parts DEFAULT;
CREATE TABLE visits (id integer REFERENCES facts ON DELETE CASCADE ON UPDATE CASCADE, x integer[]);
CREATE INDEX ON visits (id);
CREATE TABLE made AS SELECT sketch_spec(2, 40, 1.0) AS s;
CREATE TABLE moves (n integer);
INSERT INTO facts SELECT i, 'shop ' || i % 5, '2026-01-01'::timestamptz + i * interval '1 minute', ARRAY[i % 7, i % 11], i, i % 13 FROM generate_series(1, 3000) i;
INSERT INTO parts SELECT i, ARRAY[i % 17, sqrt(i)] FROM generate_series(1, 3000) i;
INSERT INTO visits SELECT 1 + i % 3000, ARRAY[i % 5, i] FROM generate_series(1, 3000) i;
SELECT keep_sketch('facts', 'facts', 'x', s), keep_sketch('parts', 'parts', 'x', s), keep_sketch('visits', 'visits', 'x', s),
       keep_sketch('grouped', 'facts', ARRAY['a', 'b'], s, '{"group_by": "shop", "bucket": "at", "where": "id % 3 <> 0"}') FROM made;
SELECT train('shapes', 'parts', 'x', method => 'density', options => '{"live": true, "micro_clusters": 40, "quiet": true}');
CREATE FUNCTION counted(live text) RETURNS SETOF live_group LANGUAGE plpgsql AS \$\$
BEGIN
    RETURN QUERY EXECUTE (SELECT live_scan(l, l.relation, false) FROM kept_sketches l WHERE name = live) USING (SELECT spec FROM kept_sketches WHERE name = live), (SELECT drift_spec FROM kept_sketches WHERE name = live);
END
\$\$;
CREATE FUNCTION of_shop(i integer) RETURNS text LANGUAGE sql IMMUTABLE AS 'SELECT CASE WHEN i % 50 <> 0 THEN ''shop '' || i % 7 END';
SQL

# Returns the names of live sketches that differ from a scan, in one snapshot. No TRUNCATE may run
# meanwhile, because it is visible in every snapshot.
my $differences = <<'SQL';
BEGIN ISOLATION LEVEL REPEATABLE READ;
LOCK TABLE facts, parts, visits IN ACCESS SHARE MODE;
SELECT name FROM made, LATERAL (VALUES ('facts', (SELECT sketch_agg(x, s) FROM facts)), ('parts', (SELECT sketch_agg(x, s) FROM parts)),
                                     ('visits', (SELECT sketch_agg(x, s) FROM visits))) v (name, counted)
 WHERE NOT same_rows(current_sketch(name), counted)
UNION ALL
SELECT 'grouped ' || coalesce(k.group_value, g.shop) || ' ' || row_count(k.s) || ' ' || row_count(g.s)
  FROM current_sketches('grouped') k
  FULL JOIN (SELECT shop, date_trunc('day', at, 'UTC') AS day, sketch_agg(ARRAY[a, b::float8], (SELECT s FROM made)) AS s
               FROM facts WHERE id % 3 <> 0 AND num_nulls(shop, at, a, b) = 0 GROUP BY 1, 2) g ON g.shop = k.group_value AND g.day = k.bucket
 WHERE NOT same_rows(k.s, g.s)
UNION ALL
SELECT 'micro-cluster ' || group_value FROM fastclust_owner.live_groups('shapes', 10) k FULL JOIN counted('shapes') c USING (group_value)
 WHERE NOT same_rows(k.s, c.s) OR k.counts::text IS DISTINCT FROM c.counts::text;
COMMIT;
SQL

# A reader locks tables in another order than some writers do: one of both must give way and try
# again.
sub differences
{
	my (%options) = @_;
	for (;;)
	{
		my ($status, $output, $messages) = $server->try($differences, %options);
		return $output if $status == 0;
		die "$messages\n" unless $messages =~ /deadlock detected/;
	}
}

# ---- statements of writers ----

sub any { return $_[int rand @_] }
sub key { return int rand $most }
sub value { return sprintf '%.3f', rand(40) - 20 }
sub vector { return rand() < 0.05 ? 'NULL' : sprintf "'{%s,%s}'", value(), value() }
sub time_of { my ($i) = @_; return "'2026-01-01'::timestamptz + $i * interval '1 minute'" }

sub keys_from { my ($width) = @_; my $begin = key(); return "BETWEEN $begin AND " . ($begin + int rand $width) }

sub fact { my $i = key(); return "($i, of_shop($i), " . time_of($i) . ', ' . vector() . ', ' . value() . ", $i % 13, 'new')" }

my @statements = (
	[8, sub { 'INSERT INTO facts VALUES ' . fact() . ' ON CONFLICT DO NOTHING' }],
	[4, sub { 'INSERT INTO facts VALUES ' . fact() . ' ON CONFLICT (id) DO UPDATE SET x = excluded.x, a = facts.a + 1, shop = excluded.shop' }],
	[1, sub { 'INSERT INTO facts VALUES ' . fact() }],
	[3, sub { my ($n, $k) = (20 + int rand 400, key()); 'INSERT INTO facts SELECT i, of_shop(i), ' . time_of('i') . ", ARRAY[i % 7, random()]::real[], random(), i % 13 FROM generate_series("
			. $k . ', ' . ($k + $n) . ') i ON CONFLICT (id) DO UPDATE SET x = excluded.x, b = facts.b + 1' }],
	[3, sub { 'UPDATE facts SET x = ' . vector() . ', a = a + 0.1 WHERE id ' . keys_from(30) }],
	[2, sub { 'UPDATE facts SET at = at + interval \'1 day\', shop = of_shop(id + 1) WHERE id ' . keys_from(30) }],
	[4, sub { "UPDATE facts SET note = 'seen' WHERE id " . keys_from(200) }],
	[2, sub { 'UPDATE facts SET id = id + 1 WHERE id = ' . key() }],
	[2, sub { 'DELETE FROM facts WHERE id ' . keys_from(200) }],
	[2, sub { "COPY facts FROM STDIN;\n" . join('', map { my $i = key(); "$i\tshop 1\t2026-01-02\t{" . value() . ',' . value() . "}\t1.5\t3\tcopied\n" } 1 .. any(1, 2, 5)) . '\.' }],
	[4, sub { 'INSERT INTO visits SELECT id, ARRAY[id % 9, ' . int(rand 100) . '] FROM facts WHERE id ' . keys_from(40) }],
	[2, sub { 'DELETE FROM visits WHERE id ' . keys_from(100) }],
	[5, sub { 'INSERT INTO parts VALUES (' . key() . ', ' . vector() . ') ON CONFLICT (id) DO UPDATE SET x = excluded.x' }],
	[2, sub { my $k = key(); 'INSERT INTO parts SELECT i, ARRAY[i, random()] FROM generate_series(' . $k . ', ' . ($k + int rand 300) . ') i ON CONFLICT DO NOTHING' }],
	[3, sub { 'UPDATE parts SET id = id + 700 WHERE id ' . keys_from(15) }],
	[2, sub { 'UPDATE ' . any('parts_1', 'parts_2', 'parts_2_2', 'parts_3') . " SET x = '{1,2}', note = 'moved' WHERE id " . keys_from(100) }],
	[2, sub { 'DELETE FROM ' . any('parts', 'parts', 'parts_2', 'parts_2_1') . ' WHERE id ' . keys_from(200) }],
	[2, sub { 'WITH gone AS (DELETE FROM parts WHERE id ' . keys_from(20) . ' RETURNING *) INSERT INTO parts SELECT id + 1, x FROM gone ON CONFLICT DO NOTHING' }],
	[0.1, sub { 'TRUNCATE ' . any('parts_1', 'parts_2_2', 'parts_2', 'parts', 'visits', 'facts CASCADE') }],
	[0.5, sub { 'SELECT fold_sketches()' }],
	$version >= 150000 ? [4, sub { my $k = key(); 'MERGE INTO facts USING (SELECT i, i % 4 AS kind FROM generate_series(' . $k . ', ' . ($k + 20) . ') i) n ON facts.id = n.i'
			. ' WHEN MATCHED AND kind = 0 THEN DELETE WHEN MATCHED THEN UPDATE SET x = \'{2,3}\', b = b + 1'
			. " WHEN NOT MATCHED THEN INSERT (id, shop, at, x, a, b) VALUES (i, of_shop(i), '2026-01-03', ARRAY[i, 1], i, 1)" }] : ());
my $weights = 0;
$weights += $_->[0] for @statements;

sub statement
{
	my $at = rand $weights;
	for (@statements)
	{
		return $_->[1]->() =~ s/(?<!\\\.)\z/;/r . "\n" if ($at -= $_->[0]) < 0;
	}
	return '';
}

# Detaches a partition and attaches it again; not on PostgreSQL 13, where a partition that others
# write meanwhile needs a rebuild. ATTACH is visible in every snapshot, so checks wait for it.
my $moves = $version >= 140000;
my @partition = (q{ALTER TABLE parts_2 DETACH PARTITION parts_2_1; SELECT pg_sleep(0.05)},
	q{BEGIN; LOCK parts, parts_2_1; DELETE FROM parts_2_1 WHERE id NOT BETWEEN 1000 AND 1999; ALTER TABLE parts_2 ATTACH PARTITION parts_2_1 FOR VALUES FROM (1000) TO (2000); INSERT INTO moves VALUES (1); COMMIT; SELECT pg_sleep(0.2)});
sub partition { return "SET lock_timeout = '3s';\n" . join(";\n", @partition) . ";\n" }

my $prepared = 0;
sub transaction
{
	my ($writer) = @_;
	my $text = 'BEGIN' . (rand() < 0.1 ? ' ISOLATION LEVEL ' . any('REPEATABLE READ', 'SERIALIZABLE') : '') . ";\n";

	for (1 .. any(1, 1, 2, 4))
	{
		$text .= statement();
		$text .= "SAVEPOINT s;\n" . statement() . any('ROLLBACK TO s', 'RELEASE s') . ";\n" . statement() if rand() < 0.2;
	}
	my $name = "w$writer." . ++$prepared;
	my $end = rand();
	return $text . ($end < 0.7 ? "COMMIT;\n" : $end < 0.85 ? "ROLLBACK;\n"
		: "PREPARE TRANSACTION '$name';\n" . statement() . any('COMMIT', 'ROLLBACK') . " PREPARED '$name';\n");
}

# Starts a process whose session writes until a time, or until the server stops.
sub start_writer
{
	my ($writer, $until, $make) = @_;
	my $pid = fork // die $!;
	return $pid if $pid;
	srand $seed * 1000 + $writer;
	local $SIG{PIPE} = 'IGNORE';
	open my $psql, '|-', FastclustTest::program('psql') . " -XAtq -v VERBOSITY=terse >/dev/null 2>>$server->{directory}/writers.err" or die $!;
	$psql->autoflush(1);
	fcntl $psql, 1031, 4096;	# F_SETPIPE_SZ on Linux: little output waits in the pipe when the server stops
	print $psql "SET search_path = public, fastclust; SET lock_timeout = '300ms';\n";
	for (my $looked = 0; $looked < 2 || time < $until; $looked++)
	{
		print $psql $make->($writer) or last;
	}
	close $psql;
	require POSIX;
	POSIX::_exit(0);
}

# Ends the prepared transactions for which a condition holds.
sub end_prepared
{
	my ($condition) = @_;
	$server->query(join ';', map { any('COMMIT', 'ROLLBACK') . " PREPARED '$_'" } split /\n/, $server->query("SELECT gid FROM pg_prepared_xacts p WHERE $condition"));
}

# A prepared TRUNCATE holds a lock under which nobody can read its table.
my $prepared_truncate = q{EXISTS (SELECT FROM pg_locks l WHERE l.virtualtransaction = '-1/' || p.transaction AND l.mode = 'AccessExclusiveLock')};

# Starts a process that checks snapshots until a time; finish_reader returns their number and what
# differed.
sub start_reader
{
	my ($reader, $until) = @_;
	my $pid = open(my $told, '-|') // die $!;
	return $told if $pid;
	$| = 1;
	for (my $looked = 0; $looked < 2 || time < $until; $looked++)
	{
		print 'checked ', join(', ', split /\n/, differences()), "\n";
	}
	print "ended\n";
	require POSIX;
	POSIX::_exit(0);
}

sub finish_reader
{
	my ($told) = @_;
	chomp(my @lines = <$told>);
	close $told;
	my $end = pop @lines // '';
	return (scalar @lines, (grep { $_ ne '' } map { s/^checked //r } @lines), $end eq 'ended' ? () : "a reader ended after: $end");
}

# Returns the number of rows that sessions have written since the server was started, as its
# statistics know it.
sub written
{
	return $server->query("SELECT coalesce(sum(n_tup_ins + n_tup_upd + n_tup_del), 0) FROM pg_stat_user_tables WHERE relname ~ '^(facts|parts|visits)'");
}

my ($snapshots, $moments, $written) = (0, 0, 0);
my $writer = 0;

sub done
{
	my ($crashes) = @_;
	return sprintf '%d snapshots with %d sessions writing, %d moments with none, %d crashes; %d transactions, at least %d rows written',
		$snapshots, $sessions, $moments, $crashes, $server->query('SELECT txid_current()'), $written;
}

sub exact_now { my ($when) = @_; $moments++; is(differences(), '', $when); }

for my $round (1 .. $rounds)
{
	my $until = time + $seconds;
	my @writers = map { start_writer(++$writer, $until, rand() < 0.3 ? sub { statement() } : \&transaction) } 1 .. $sessions;
	push @writers, start_writer(++$writer, $until, sub { "SELECT fold_sketches(); SELECT pg_sleep(0.05);\n" });
	push @writers, start_writer(++$writer, $until, \&partition) if $moves;
	my @wrong;
	for my $told (map { start_reader($_, $until) } 1 .. $readers)
	{
		my ($checked, @differ) = finish_reader($told);
		push @wrong, @differ;
		$snapshots += $checked;
	}
	is(join(', ', @wrong), '', "round $round: live sketches are exact in every snapshot while $sessions sessions write");
	waitpid $_, 0 for @writers;
	exact_now("round $round: live sketches are exact when the sessions have ended");
	$server->query('SELECT fold_sketches()');
	exact_now("round $round: live sketches are exact after fold_sketches");

	# The server crashes while sessions write.
	$until = time + $seconds;
	@writers = map { start_writer(++$writer, $until, \&transaction) } 1 .. $sessions;
	push @writers, start_writer(++$writer, $until, sub { "SELECT fold_sketches();\n" });
	push @writers, start_writer(++$writer, $until, \&partition) if $moves;
	sleep $seconds / 4;
	$written += written();
	$server->crash_and_restart;
	waitpid $_, 0 for @writers;
	end_prepared($prepared_truncate);
	exact_now("round $round: live sketches are exact after a crash");
	end_prepared('true');
	exact_now("round $round: live sketches are exact when the prepared transactions have ended");
	diag("round $round: " . done($round)) if $ENV{LIVE_VERBOSE};
}
cmp_ok($snapshots, '>=', 2 * $rounds, "live sketches were checked $snapshots times while sessions wrote");
cmp_ok($server->query('SELECT count(*) FROM moves'), '>', 0, 'a partition was detached and attached') if $moves;
is($server->query("SELECT string_agg(name || ': ' || c.difference, ', ') FROM live_sketches l, check_sketch(l.name) c"), '', 'check_sketch finds no difference');
cmp_ok($server->query('SELECT txid_current()'), '>', 100, 'sessions have written');
is($server->query(q{SET client_min_messages = error; SELECT retrain('shapes', '{"quiet": true}'), rebuild_sketch('shapes') = (SELECT count(x) FROM parts), retrain('shapes', '{"quiet": true}');
	SELECT count(*), count(DISTINCT concat(operator, micro_clusters, splits, spreads, distance_quantiles, null_moments, drift_counts, n)), min(n) = (SELECT count(x) FROM parts)
	  FROM stored_versions WHERE model = 'shapes' AND version > 1}), "2|t|3\n2|1|t", 'density gives the same bits from the sums of a live sketch and from those of a scan');
open my $file, '<', "$server->{directory}/writers.err" or die $!;
my %error;
while (<$file>)
{
	$error{s/\(?[\d.{}",-]+\)?/N/gr}++ if /ERROR/;
}
# The rows of a COPY in a failed transaction are read as SQL, which is a syntax error.
my @strange = grep { !/syntax error|duplicate key|could not serialize|deadlock|lock timeout|current transaction is aborted|Transaction block|out of range|moved to another partition|no partition of relation|is not a partition|is already a partition|does not exist|foreign key/i } sort keys %error;
is(join('', @strange), '', 'writers meet only the errors of concurrent writing');
diag(join '', map { "$error{$_} x $_" } sort keys %error) if $ENV{LIVE_VERBOSE};
diag($server->query('SELECT txid_current(), (SELECT count(*) FROM facts), (SELECT count(*) FROM parts), (SELECT count(*) FROM visits), (SELECT max(id) FROM facts)')) if $ENV{LIVE_VERBOSE};

# ---- dump and restore: live sketches are restored with their tables and follow them ----
$server->dump_into('postgres', 'restored');
is(differences(database => 'restored'), '', 'the live sketches of a restored database are exact');
$server->query('DELETE FROM facts WHERE id % 2 = 0; UPDATE parts SET id = -id WHERE id > 500; INSERT INTO facts (id, x) VALUES (100000, ARRAY[1, 2]); INSERT INTO parts VALUES (100000, ARRAY[1, 2]); SELECT fold_sketches()', database => 'restored');
is(differences(database => 'restored'), '', 'restored live sketches follow the tables of their database');

done_testing();
