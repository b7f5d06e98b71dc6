# Restored live sketches describe exactly the restored rows, in any order, by any number of jobs
# and from any parts of a dump: ready and exact, or an error if rows changed without the triggers.
use FastclustTest;

my $server = FastclustTest->new(extension => 1, config => "max_connections = 60\n");
my $directory = $server->{directory};
$server->query(<<'SQL');
CREATE ROLE keeper; CREATE SCHEMA shop; CREATE SCHEMA code AUTHORIZATION keeper; GRANT USAGE, CREATE ON SCHEMA shop TO keeper;
CREATE TABLE orders AS SELECT i AS id, (i % 4) * 3 + random() AS a, random() AS b FROM generate_series(1, 2000) i;
ALTER TABLE orders ADD PRIMARY KEY (id);
SELECT train('live', 'orders', '{a,b}', 4, options => '{"live": true, "quiet": true}');
INSERT INTO orders VALUES (2001, 1, 1);
CREATE TABLE part (gone text, id int, a float8, k int) PARTITION BY LIST (k);
CREATE TABLE part1 PARTITION OF part FOR VALUES IN (1);
CREATE TABLE part2 PARTITION OF part FOR VALUES IN (2);
ALTER TABLE part DROP gone;
INSERT INTO part SELECT i, random(), 1 + i % 2 FROM generate_series(1, 2000) i;
SELECT keep_sketch('parts', 'part', '{a}', sketch_spec(1, 16, 1.0), '{"group_by": "k"}');
DELETE FROM part WHERE id <= 10;
SET ROLE keeper;
CREATE TYPE code.pair AS (a float8, b float8);
CREATE FUNCTION code.vector(code.pair) RETURNS real[] LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN RETURN ARRAY[$1.a, $1.b]; END $$;
CREATE CAST (code.pair AS real[]) WITH FUNCTION code.vector(code.pair) AS ASSIGNMENT;
CREATE TABLE shop.sales AS SELECT i AS id, ROW(i % 10, i % 7)::code.pair AS p FROM generate_series(1, 1000) i;
SELECT keep_sketch('sales', 'shop.sales', 'p', sketch_spec(2, 16, 1.0), '{"where": "id > 400", "concurrently": true}');
SQL

# Returns each live sketch with its state, its rows and the number of groups that differ from a
# count, or its error.
sub states
{
	my ($database) = @_;
	return join ', ', map {
		my $role = $_ eq 'sales' ? 'SET ROLE keeper; ' : '';
		my ($status, $output, $messages) = $server->try(qq{${role}SELECT l.name, l.state, (SELECT row_count(current_sketch(l.name)) WHERE l.state = 'ready'), '+' || (SELECT count(*) FROM check_sketch(l.name))
			FROM live_sketches l WHERE l.name = '$_'}, database => $database);
		($output . ($messages =~ /ERROR:  (.*)/ ? $1 : '')) =~ tr/|/ /r;
	} split /\n/, $server->query('SELECT name FROM live_sketches ORDER BY id', database => $database);
}
my $right = 'live ready 2001 +0, parts ready 1990 +0, sales ready 600 +0';
my %dumped;
sub dump_as { my ($file, @options) = @_; FastclustTest::run_or_die(FastclustTest::program('pg_dump'), @options, '-f', "$directory/dump.$file", 'postgres') unless $dumped{$file}++; return "$directory/dump.$file"; }
sub restore { my ($database, @options) = @_; return system(FastclustTest::program('pg_restore') . " -d $database @options 2>> $directory/restore.err") == 0; }
sub messages { open(my $file, '<', "$directory/restore.err") or return ''; local $/; my $said = <$file> // ''; unlink "$directory/restore.err"; return $said; }
my $number = 0;
sub fresh { my $database = 'restored_' . ++$number; $server->query("CREATE DATABASE $database"); return $database; }
sub play { my ($database, $file) = @_; FastclustTest::run_or_die(FastclustTest::program('psql'), '-Xq', '-v', 'ON_ERROR_STOP=1', '-o', '/dev/null', '-d', $database, '-f', $file); }

my $custom = dump_as('custom', '-Fc');
$server->query("SET ROLE keeper; SELECT rebuild_sketch('sales')");
is(states('postgres'), $right, 'the live sketches of the dumped database are exact, where sales is counted after the dump');

# ---- three parts of a dump in any order: rows, triggers, and the list of live sketches ----
my @entries = grep { !/^;/ } split /\n/, qx(@{[FastclustTest::program('pg_restore')]} -l $custom);
my %entries = (
	sketches => [grep { / TABLE DATA fastclust_internal (?:kept_sketches|live_\w+) / } @entries],
	rows => [grep { / TABLE DATA (?:public|shop) / } @entries],
	triggers => [grep { / TRIGGER \S+ \S+ fastclust_live_/ } @entries],
);
my %chosen = map { $_ => 1 } map { @$_ } values %entries;
my @others = grep { !$chosen{$_} } @entries;
is(join(' ', map { "$_: " . @{$entries{$_}} } sort keys %entries), 'rows: 4 sketches: 1 triggers: 13', 'a dump has no entry for the sum of a live sketch');
sub list_of { open(my $file, '>', "$directory/list") or die $!; print $file "$_\n" for @_; close $file; return "$directory/list"; }
sub restore_list { my ($database, @list) = @_; return restore($database, '--exit-on-error', '-L', list_of(@list), $custom); }
for my $order ('sketches rows triggers', 'rows sketches triggers', 'rows triggers sketches', 'triggers rows sketches', 'triggers sketches rows', 'sketches triggers rows')
{
	my $database = fresh();
	restore_list($database, @others);
	my $restored = grep { restore_list($database, @{$entries{$_}}) } split / /, $order;
	is("$restored " . states($database) . messages(), "3 $right", "$order: the live sketches are ready and exact");
}
{
	my $database = fresh();
	my @triggers = @{$entries{triggers}};
	restore_list($database, @$_) for [@others], [@triggers[0 .. 5]], $entries{sketches}, [@triggers[6 .. 12]], $entries{rows};
	is(states($database), $right, 'some triggers, the sketches, the other triggers, the rows');
	messages();
}

# ---- two sessions restore triggers and sketches at the same time, with snapshots of statements and of transactions ----
my $schema = dump_as('schema', '--schema-only');
my $data = dump_as('data', '--data-only');
sub said_by { my ($program, @options) = @_; open(my $said, '-|', FastclustTest::program($program), @options) or die $!; local $/; return <$said>; }
for my $isolation ('read committed', 'repeatable read')
{
	for my $first ('triggers', 'sketches')
	{
		my $database = fresh();
		restore_list($database, @others, @{$entries{rows}});
		$server->query("ALTER DATABASE $database SET default_transaction_isolation = '$isolation'");
		my $triggers = said_by('pg_restore', '-f', '-', '-L', list_of(@{$entries{triggers}}), $custom);
		my $sketches = join "\n", grep { /^INSERT INTO fastclust_internal\.kept_sketches/ } split /\n/, said_by('pg_dump', '--data-only', '--inserts', 'postgres');
		my ($one, $two) = $first eq 'triggers' ? ($triggers, $sketches) : ($sketches, $triggers);
		my $session = $server->background("\\c $database\nBEGIN; $one\nSELECT pg_sleep(2); COMMIT;");
		$server->wait_for("EXISTS (SELECT FROM pg_stat_activity WHERE datname = '$database' AND wait_event = 'PgSleep')");
		my ($status, $output, $messages) = $server->try("BEGIN; $two COMMIT", database => $database);
		$server->finish($session);
		is("$messages " . states($database), " $right", "$isolation: a session restores the $first and another one the rest before it commits");
	}
}

# ---- a role cannot make the restore of another role's live sketch wait ----
sub restored_in_time { my ($database, @list) = @_; return system('timeout 20 ' . FastclustTest::program('pg_restore') . " -d $database --exit-on-error -L @{[list_of(@list)]} $custom 2>> $directory/restore.err") == 0 ? 'in time' : 'too late'; }
$server->query('CREATE ROLE bob');
my @ids = split /\n/, $server->query('SELECT id FROM live_sketches ORDER BY id');
my %held = (
	'triggers of their names on a table of his' => join(' ', map { qq{CREATE TRIGGER fastclust_live_${_}_rows AFTER INSERT ON t FOR EACH ROW EXECUTE FUNCTION fastclust_internal.live_change('$_'); ALTER TABLE t ENABLE ALWAYS TRIGGER fastclust_live_${_}_rows;} } @ids),
	'live sketches of his' => join(' ', map { qq{SELECT fastclust.keep_sketch('restored $_', 't', 'a', fastclust.sketch_spec(1, 8, 1.0));} } @ids),
);
for my $what (sort keys %held)
{
	for my $last ('sketches', 'triggers')
	{
		my $database = fresh();
		restore_list($database, @others, @{$entries{rows}}, @{$entries{$last eq 'sketches' ? 'triggers' : 'sketches'}});
		$server->query('CREATE SCHEMA bob AUTHORIZATION bob; SET ROLE bob; CREATE TABLE bob.t (a float8)', database => $database);
		my $session = $server->background("\\c $database\nSET ROLE bob; SET search_path = bob; BEGIN; $held{$what} SELECT pg_sleep(600);");
		$server->wait_for("EXISTS (SELECT FROM pg_stat_activity WHERE datname = '$database' AND wait_event = 'PgSleep')");
		my $restored = restored_in_time($database, @{$entries{$last}});
		$server->query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '$database'");
		$server->finish($session);
		is("$restored, " . states($database) . messages(), "in time, $right", "bob holds $what while the $last are restored");
	}
}

# ---- code of a table's owner waits for a lock or raises its error: the restore continues ----
my %code = (
	'says that a lock is not available' => q{RAISE lock_not_available USING MESSAGE = 'no lock'},
	'fails by an assertion' => q{ASSERT false, 'no lock'},
	'waits for a lock in vain' => q{SET LOCAL lock_timeout = '100ms'; LOCK TABLE code.held IN SHARE MODE},
);
for my $what (sort keys %code)
{
	for my $last ('sketches', 'triggers')
	{
		my $database = fresh();
		restore_list($database, @others, @{$entries{rows}}, @{$entries{$last eq 'sketches' ? 'triggers' : 'sketches'}});
		$server->query("CREATE TABLE code.held (); GRANT ALL ON code.held TO keeper; CREATE OR REPLACE FUNCTION code.vector(code.pair) RETURNS real[] LANGUAGE plpgsql AS \$\$ BEGIN $code{$what}; RETURN NULL; END \$\$", database => $database);
		my $session = $server->background("\\c $database\nBEGIN; LOCK TABLE code.held; SELECT pg_sleep(600);");
		$server->wait_for("EXISTS (SELECT FROM pg_stat_activity WHERE datname = '$database' AND wait_event = 'PgSleep')");
		my $restored = restored_in_time($database, @{$entries{$last}});
		$server->query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '$database'");
		$server->finish($session);
		is("$restored, " . messages() . $server->query(q{SELECT string_agg(concat_ws(' ', name, state, problem), ', ' ORDER BY id) FROM fastclust.live_sketches}, database => $database),
			'in time, live ready, parts ready, sales lost table shop.sales is not counted', "the $last come last, and a cast $what: the other live sketches are counted");
	}
}

# ---- a lock that is busy at first: each row is counted once ----
{
	$server->query('CREATE DATABASE log TEMPLATE template0');
	$server->query(<<'SQL', database => 'log');
CREATE EXTENSION fastclust; CREATE SCHEMA code; CREATE TYPE code.pair AS (a float8, b float8); CREATE SEQUENCE code.calls;
CREATE FUNCTION code.vector(code.pair) RETURNS real[] LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN PERFORM nextval('code.calls'); RETURN ARRAY[$1.a, $1.b]; END $$;
CREATE CAST (code.pair AS real[]) WITH FUNCTION code.vector(code.pair) AS ASSIGNMENT;
CREATE TABLE log (id int, p code.pair) PARTITION BY LIST ((id % 2));
CREATE TABLE log_0 PARTITION OF log FOR VALUES IN (0); CREATE TABLE log_1 PARTITION OF log FOR VALUES IN (1);
INSERT INTO log SELECT i, ROW(i % 10, i % 7)::code.pair FROM generate_series(1, 1000) i;
SELECT fastclust.keep_sketch('log', 'log', 'p', fastclust.sketch_spec(2, 16, 1.0));
SQL
	FastclustTest::run_or_die(FastclustTest::program('pg_dump'), '-Fc', '-f', "$directory/log", 'log');
	my $database = fresh();
	my @all = grep { !/^;/ } split /\n/, said_by('pg_restore', '-l', "$directory/log");
	restore($database, '--exit-on-error', '-L', list_of(grep { !/ TABLE DATA fastclust_internal kept_sketches / } @all), "$directory/log");
	$server->query(q{ALTER SEQUENCE code.calls RESTART}, database => $database);
	my $session = $server->background("\\c $database\nBEGIN; LOCK TABLE log_1 IN ROW EXCLUSIVE MODE; SELECT pg_sleep(3); COMMIT;");
	$server->wait_for("EXISTS (SELECT FROM pg_stat_activity WHERE datname = '$database' AND wait_event = 'PgSleep')");
	restore($database, '--exit-on-error', '-L', list_of(grep { / TABLE DATA fastclust_internal kept_sketches / } @all), "$directory/log");
	$server->finish($session);
	is($server->query(q{SELECT last_value || ' calls, ' || fastclust.row_count(fastclust.current_sketch('log')) || ' rows' FROM code.calls}, database => $database) . messages(),
		'1000 calls, 1000 rows', 'a table is busy for three seconds, and the cast is called once for each row');
}

# ---- any number of jobs and any kind of dump ----
dump_as('folder', '-Fd', '-j', 2);
for my $jobs (1, 2, 3, 4, 8)
{
	for my $kind ('custom', 'folder')
	{
		my $database = fresh();
		restore($database, '--exit-on-error', '-j', $jobs, "$directory/dump.$kind");
		is(states($database) . messages(), $right, "$kind, $jobs jobs: the live sketches are ready and exact");
		$server->query("DROP DATABASE $database");
	}
}
my %plain = ('plain' => [], 'inserts' => ['--inserts'], 'inserts of many rows' => ['--rows-per-insert=100'], 'columns' => ['--column-inserts']);
for my $kind (sort keys %plain)
{
	my $database = fresh();
	play($database, dump_as($kind =~ tr/ /_/r, @{$plain{$kind}}));
	is(states($database), $right, "$kind restored as SQL: the live sketches are ready and exact");
}
{
	my $database = fresh();
	restore($database, '--exit-on-error', "--section=$_", $custom) for qw(pre-data data post-data);
	is(states($database) . messages(), $right, 'a dump restored in three sections is ready and exact');
	$database = fresh();
	restore($database, '--exit-on-error', '--single-transaction', $custom);
	is(states($database) . messages(), $right, 'a dump restored in one transaction is ready and exact');
	is($server->query(q{INSERT INTO orders VALUES (3000, 1, 1); DELETE FROM part WHERE id = 2000; SET ROLE keeper; UPDATE shop.sales SET id = 500 WHERE id = 1; RESET ROLE; SELECT (SELECT verdict IS NOT NULL FROM drift('live')), fold_sketches() > 0}, database => $database), 't|t', 'the restored tables can be written, and drift measured');
	is(states($database), 'live ready 2002 +0, parts ready 1989 +0, sales ready 601 +0', 'the restored live sketches follow their tables');
	$server->query("CREATE DATABASE again");
	FastclustTest::run_or_die("@{[FastclustTest::program('pg_dump')]} -Fc $database | @{[FastclustTest::program('pg_restore')]} --exit-on-error -d again");
	is(states('again'), 'live ready 2002 +0, parts ready 1989 +0, sales ready 601 +0', 'a dump of a restored database is ready and exact');
}

# ---- other rows than in the dump, or parts of it: a live sketch describes the present rows ----
my %otherwise = (
	'the schema, then the data' => sub { play($_[0], $_) for $schema, $data; return $right },
	'other rows' => sub {
		restore($_[0], '--section=pre-data', $custom);
		$server->query('INSERT INTO orders SELECT i, i % 7, 1 FROM generate_series(1, 500) i', database => $_[0]);
		restore($_[0], '--section=data', '-L', list_of(grep { !/ TABLE DATA public orders / } @entries), $custom);
		restore($_[0], '--section=post-data', $custom);
		return 'live ready 500 +0, parts ready 1990 +0, sales ready 600 +0';
	},
	'the rows twice before the triggers' => sub {
		restore($_[0], '--section=pre-data', $custom);
		restore($_[0], '--section=data', $custom) for 1, 2;
		$server->query('DELETE FROM orders o USING orders p WHERE o.id = p.id AND o.ctid > p.ctid', database => $_[0]);
		restore($_[0], '--section=post-data', $custom);
		return 'live ready 2001 +0, parts ready 3980 +0, sales ready 1200 +0';
	},
	'the rows twice, the second time beside triggers' => sub {
		restore($_[0], $custom);
		restore($_[0], '--data-only', '-t', 'part1', '-t', 'sales', $custom);
		return 'live ready 2001 +0, parts ready 2985 +0, sales ready 1200 +0';
	},
	'the rows twice, the second time with triggers disabled' => sub {
		restore($_[0], $custom);
		restore($_[0], '--data-only', '--disable-triggers', '-t', 'part1', '-t', 'sales', $custom);
		return 'live ready 2001 +0, parts lost  +2, sales lost  +2';
	},
	'the schema, then the data with triggers disabled' => sub {
		play($_[0], $schema);
		restore($_[0], '--data-only', '--disable-triggers', $custom);
		return 'live lost  +2, parts lost  +3, sales lost  +1';
	},
	'into tables that have rows' => sub {
		$server->query('CREATE TABLE part (id int, a float8, k int) PARTITION BY LIST (k); CREATE TABLE part1 PARTITION OF part FOR VALUES IN (1); INSERT INTO part1 VALUES (-1, 1, 1)', database => $_[0]);
		restore($_[0], $custom);
		return 'live ready 2001 +0, parts ready 1991 +0, sales ready 600 +0';
	},
	'some tables alone' => sub {
		restore($_[0], '-L', list_of(grep { !/ TABLE DATA (?:public part|shop)/ } @entries), $custom);
		return 'live ready 2001 +0, parts ready 0 +0, sales ready 0 +0' =~ s/ready 0/ready /gr;
	},
	'without what live sketches there are' => sub {
		restore($_[0], '-L', list_of(grep { !/ TABLE DATA fastclust_internal kept_sketches/ } @entries), $custom);
		return '';
	},
	'without triggers' => sub {
		restore($_[0], '-L', list_of(grep { !/ TRIGGER / } @entries), $custom);
		return 'live lost  +2, parts lost  +3, sales lost  +2';
	},
);
for my $what (sort keys %otherwise)
{
	my $database = fresh();
	my $expected = $otherwise{$what}->($database);
	my $is = states($database);
	messages();
	is($is, $expected, $what);
	next if $is !~ /lost/;
	$server->query("SELECT rebuild_sketch(name) FROM live_sketches WHERE name <> 'sales'; SET ROLE keeper; SELECT rebuild_sketch('sales')", database => $database);
	like(states($database), qr/^live ready \d+ \+0, parts ready \d+ \+0, sales ready \d+ \+0$/, '... rebuild_sketch makes them exact');
}

# ---- code of a table's owner, called by a cast, runs with the rights of the owner ----
$server->query(q{CREATE OR REPLACE FUNCTION code.vector(code.pair) RETURNS real[] LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN IF current_user <> 'keeper' THEN RAISE 'it runs as %', current_user; END IF; RETURN ARRAY[$1.a, $1.b]; END $$});
my $own = dump_as('own', '-Fc');
for my $jobs (1, 4)
{
	my $database = fresh();
	restore($database, '--exit-on-error', '-j', $jobs, $own);
	is(states($database) . messages(), $right, "$jobs jobs of a superuser run the cast as its owner");
}

# ---- rows that cannot be counted: the restore continues, and reading the sketch is an error ----
$server->query(q{CREATE DATABASE broken TEMPLATE template0});
$server->query(q{CREATE EXTENSION fastclust; CREATE TABLE t (a float8); SELECT fastclust.keep_sketch('t', 't', '{a}', fastclust.sketch_spec(1, 8, 1.0)); ALTER TABLE t DISABLE TRIGGER USER; INSERT INTO t VALUES ('Infinity')}, database => 'broken');
FastclustTest::run_or_die("@{[FastclustTest::program('pg_dump')]} -Fc -f $directory/broken broken");
my $database = fresh();
restore($database, '--exit-on-error', "$directory/broken");
like(messages(), qr/^(?!.*ERROR)/s, 'a restore of rows that cannot be sketched ends without an error');
is(states($database), 't lost  +2', 'the live sketch of such rows is lost');

done_testing();
