#!/usr/bin/perl
# live_mixed.pl [--seconds N] [--sessions S] [--seed S] [--verbose]: sessions of a private server
# write to tables with live sketches, change these tables by random DDL, and make, recount and drop
# live sketches, in transactions of all isolation levels with savepoints. Meanwhile another process
# dumps the database by several jobs and restores it. A live sketch must equal its rows, to the bit,
# or say that it is lost; no call may fail with an internal error; and no row of the extension may
# belong to a live sketch that was dropped.
use strict;
use warnings;
use File::Basename qw(dirname);
use lib dirname(__FILE__), dirname(__FILE__) . '/../t';
use Getopt::Long;
use POSIX ();
use Time::HiRes qw(time sleep);
use FastclustTest ();
use Wire;

my ($seconds, $sessions, $seed, $verbose) = (1800, 8, 1);
GetOptions('seconds=i' => \$seconds, 'sessions=i' => \$sessions, 'seed=i' => \$seed, 'verbose' => \$verbose) or exit 2;
$| = 1;

my $server = FastclustTest->new(extension => 1, config => "autovacuum = on\nmax_connections = 60\ndeadlock_timeout = 200ms\n");
my $version = $server->query('SHOW server_version_num');
sub any { return $_[int rand @_] }

# ---- the objects: three schemas, each with a plain table, a partitioned one and a tree ----

my @schemas = qw(s1 s2 s3);
my %create = (
	plain => q{CREATE TABLE IF NOT EXISTS S.plain (id int PRIMARY KEY, a float8, b float8, c S.colour, d numeric)},
	log => q{CREATE TABLE IF NOT EXISTS S.log (id int, shop text, x float8[]) PARTITION BY RANGE (id)},
	old => q{CREATE TABLE IF NOT EXISTS S.old (id int, x float8[])},
);
my $all = join '; ', q{CREATE SCHEMA IF NOT EXISTS S}, q{DROP TYPE IF EXISTS S.colour CASCADE}, q{CREATE TYPE S.colour AS ENUM ('red', 'blue')},
	map { $create{$_} } sort keys %create;

# A live sketch has the name of its table, and maybe a number, so that names are reused.
my @keep = (
	q{SELECT fastclust.keep_sketch('S.plain', 'S.plain', '{a,b}', s) FROM public.made}, q{SELECT fastclust.keep_sketch('S.plain 2', 'S.plain', '{a,d}', s, '{"where": "c = ''red''"}') FROM public.made},
	q{SELECT fastclust.keep_sketch('S.log', 'S.log', 'x', s) FROM public.made}, q{SELECT fastclust.keep_sketch('S.log 2', 'S.log', 'x', s, '{"group_by": "shop", "concurrently": true}') FROM public.made},
	q{SELECT fastclust.keep_sketch('S.leaf', 'S.log_1', 'x', s) FROM public.made}, q{SELECT fastclust.keep_sketch('S.old', 'S.old', 'x', s) FROM public.made},
	q{SELECT fastclust.train('S.model', 'S.plain', '{a,b}', 3, options => '{"live": true, "quiet": true}')});
my @names = ('S.plain', 'S.plain 2', 'S.log', 'S.log 2', 'S.leaf', 'S.old', 'S.model');
my $name = sub { my $name = any(@names); return "'$name'" };
my @calls = (
	sub { "SELECT fastclust.drop_sketch(@{[$name->()]})" }, sub { "SELECT fastclust.rebuild_sketch(@{[$name->()]})" },
	sub { "SELECT fastclust.row_count(fastclust.current_sketch(@{[$name->()]}))" }, sub { 'SELECT fastclust.fold_sketches()' },
	sub { "SELECT fastclust.fold_sketches(@{[$name->()]})" }, sub { "SELECT count(*) FROM fastclust.check_sketch(@{[$name->()]})" },
	sub { q{SELECT fastclust.retrain('S.model', '{"quiet": true}')} }, sub { q{SELECT fastclust.drop_model('S.model')} },
	sub { q{SELECT fastclust.rename_model('S.model', 'S.model ' || } . int(rand 3) . ')' }, sub { q{SELECT name, state, problem FROM fastclust.live_sketches} },
	sub { q{SELECT verdict FROM fastclust.drift('S.model')} }, sub { q{SELECT fastclust.use_version('S.model', 1)} });

# ID is a number below 500.
my @write = (
	q{INSERT INTO S.plain (id, a, b, c) SELECT i, i, i % 9, 'red' FROM generate_series(ID, ID + 5) i ON CONFLICT DO NOTHING}, q{INSERT INTO S.plain (id, a, b) SELECT i, i, 1 FROM generate_series(ID, ID + 40) i ON CONFLICT (id) DO UPDATE SET a = excluded.a + 1},
	q{UPDATE S.plain SET b = b + 1 WHERE id % 40 = ID % 40}, q{DELETE FROM S.plain WHERE id % 50 = ID % 50}, q{INSERT INTO S.log SELECT i, 'shop ' || i % 4, ARRAY[i, 1] FROM generate_series(ID, ID + 5) i},
	q{UPDATE S.log SET id = (id + 37) % 500 WHERE id = ID}, q{DELETE FROM S.log WHERE id % 60 = ID % 60}, q{INSERT INTO S.log_1 VALUES (ID % 100, 'shop 1', '{1,2}')}, q{INSERT INTO S.log_2 VALUES (100 + ID % 100, 'shop 1', '{1,2}')},
	q{INSERT INTO S.old VALUES (ID, ARRAY[ID, 5])}, q{INSERT INTO S.child VALUES (ID, '{7,7}')}, q{DELETE FROM S.old WHERE id % 30 = ID % 30}, q{UPDATE S.old SET x = '{3,3}' WHERE id % 40 = ID % 40});
my @ddl = (
	(map { ("DROP TABLE S.$_", "DROP TABLE S.$_ CASCADE", "TRUNCATE S.$_", ($create{$_}) x 4, "ALTER TABLE S.$_ RENAME TO z; ALTER TABLE S.z RENAME TO $_") } sort keys %create),
	(map { ("CREATE TABLE S.log_$_ PARTITION OF S.log FOR VALUES FROM (${\($_ * 100 - 100)}) TO (${\($_ * 100)})") x 3 } 1 .. 3), 'CREATE TABLE S.log_4 PARTITION OF S.log DEFAULT',
	(map { ("DROP TABLE S.log_$_", "TRUNCATE S.log_$_", "ALTER TABLE S.log DETACH PARTITION S.log_$_", "ALTER TABLE S.log ATTACH PARTITION S.log_$_ FOR VALUES FROM (${\($_ * 100 - 100)}) TO (${\($_ * 100)})") } 1 .. 3),
	'CREATE TABLE S.child (more text) INHERITS (S.old)', 'DROP TABLE S.child', 'ALTER TABLE S.child NO INHERIT S.old', 'ALTER TABLE S.child INHERIT S.old', 'TRUNCATE ONLY S.old',
	'ALTER TABLE S.plain DROP a CASCADE', 'ALTER TABLE S.plain ADD a float8', 'ALTER TABLE S.plain DROP d', 'ALTER TABLE S.plain ADD d numeric DEFAULT 3', 'ALTER TABLE S.plain RENAME a TO z', 'ALTER TABLE S.plain RENAME z TO a',
	'ALTER TABLE S.plain ALTER b TYPE float8 USING b + 1', 'ALTER TABLE S.plain ALTER b TYPE real', 'ALTER TABLE S.plain ADD n int DEFAULT 1; ALTER TABLE S.plain DROP n', "ALTER TYPE S.colour RENAME VALUE 'red' TO 'green'", "ALTER TYPE S.colour RENAME VALUE 'green' TO 'red'",
	'DROP TYPE S.colour CASCADE', 'ALTER TABLE S.plain DISABLE TRIGGER USER', 'ALTER TABLE S.plain ENABLE TRIGGER USER', 'ALTER TABLE S.log_1 SET UNLOGGED', 'ALTER TABLE S.log_1 SET LOGGED',
	'ALTER TABLE S.plain SET SCHEMA public; ALTER TABLE public.plain SET SCHEMA S', 'ALTER SCHEMA S RENAME TO z; ALTER SCHEMA z RENAME TO S', 'DROP SCHEMA S CASCADE', $all, $all, 'CLUSTER S.plain USING plain_pkey',
	'CREATE TEMP TABLE passing () INHERITS (S.old); DROP TABLE passing', 'SET LOCAL session_replication_role = replica');

# While this file exists, sessions do no DDL, because parallel dumps often fail beside it.
my $calm = "$server->{directory}/calm";

sub statement
{
	my $kind = -e $calm ? 0 : rand;
	my $sql = $kind < 0.6 ? any(@write) : $kind < 0.74 ? any(@ddl) : $kind < 0.86 ? any(@keep) : any(@calls)->();
	my ($schema, $id) = (any(@schemas), int rand 500);
	return $sql =~ s/\bS\b/$schema/gr =~ s/\bID\b/$id/gr;
}

# Returns the statements of a transaction.
sub transaction
{
	return statement() if rand() < 0.4;
	my @statements = rand() < 0.7 ? 'BEGIN' : 'BEGIN ISOLATION LEVEL ' . any('REPEATABLE READ', 'SERIALIZABLE');
	for (1 .. any(1, 2, 2, 3, 5))
	{
		push @statements, rand() < 0.4 ? ('SAVEPOINT s', statement(), any('ROLLBACK TO s', 'RELEASE s')) : statement();
	}
	return (@statements, any('COMMIT', 'COMMIT', 'COMMIT', 'ROLLBACK'));
}

# Errors of the server, which concurrent DDL gives without the extension, too.
my $of_server = qr/^XX000 (tuple concurrently|cache lookup failed for|could not open relation with OID|relation \d+ deleted while still in use|missing|could not find tuple for (?:attrdef|parent))/;

# Returns what a statement says that it must not say, or ''.
sub wrong
{
	my ($answer) = @_;
	return $answer->{late} ? 'no answer' : 'connection lost' if !$answer->{ready};
	return '' unless my $error = $answer->{error};
	my $text = "$error->{C} $error->{M}";
	return $text . ($error->{W} ? " CONTEXT $error->{W}" : '') if $error->{C} =~ /^(XX|P000[14]|21|42601)/ && $text !~ $of_server || $error->{M} =~ /_pkey"|kept_sketches|live_(?:leaves|bases|deltas)"/;
	return '';
}

my $live_sql = q{SELECT l.name, l.relation::text, l.relation::oid FROM fastclust_internal.kept_sketches l JOIN pg_class c ON c.oid = l.relation};

# Returns the silent differences of a live sketch from its rows. Locks its table, because TRUNCATE
# and other DDL is visible in every snapshot.
sub differences
{
	my ($session, $name, $relation) = @_;
	$session->query("BEGIN; SET LOCAL lock_timeout = '2s'; LOCK TABLE $relation IN SHARE MODE");
	my $answer = $session->query("SELECT string_agg(concat_ws(' ', c.group_value, c.difference, c.sketched, c.counted), ', ') FROM fastclust.check_sketch('$name') c HAVING bool_and(c.difference IN ('values', 'number of rows'))");
	$session->query('ROLLBACK');
	return wrong($answer) if $answer->{error} || !$answer->{ready};
	my $found = ($answer->{rows}[0] // [])->[0];
	return defined $found ? "differs: $found" : '';
}

# ---- processes; each prints lines "number of statements" and "failure: ..." ----

sub start
{
	my ($work, @arguments) = @_;
	my $pid = open(my $out, '-|') // die $!;
	return $out if $pid;
	$| = 1;
	eval { $work->(@arguments); 1 } or print "failure: $@";
	# Only the parent process may stop the server, so END blocks must not run here.
	POSIX::_exit(0);
}

sub run_session
{
	my ($number, $until) = @_;
	my ($count, %states) = (0);
	srand $seed * 1000 + $number;
	while (time < $until)
	{
		my $session = Wire->new;
		$session->query("SET lock_timeout = '1s'; SET client_min_messages = error");
		for (1 .. 50)
		{
			last if time >= $until;
			my ($failed, $saved, @said);
			for my $sql (transaction())
			{
				# After an error a transaction goes on at its savepoint, or ends.
				$sql = 'ROLLBACK TO s' if $failed && $saved && $sql eq 'RELEASE s';
				next if $failed && $sql ne ($saved ? 'ROLLBACK TO s' : 'ROLLBACK');
				$saved = $sql eq 'SAVEPOINT s' if $sql =~ /^(?:SAVEPOINT|RELEASE|ROLLBACK TO)/;
				my $answer = $session->query($sql, 120);
				$count++;
				$failed = $answer->{error};
				push @said, $sql . ($failed ? "  -- $failed->{C}" : '');
				$states{$failed ? $failed->{C} : '00000'}++;
				my $wrong = wrong($answer);
				print 'failure: ', "$wrong after " . join('; ', @said) =~ s/\n/ /gr, "\n" if $wrong;
				return if !$answer->{ready};
			}
			$session->query('ROLLBACK');
			next if rand() < 0.9;
			my $row = any(@{$session->query($live_sql)->{rows}}) or next;
			my $wrong = differences($session, $row->[0], $row->[1]);
			print "failure: live sketch $row->[0]: $wrong\n" if $wrong;
		}
		$session->close;
	}
	print "$count\n", join(' ', 'states:', map { "$_ x $states{$_}" } sort keys %states), "\n";
}

# Dumps and restores until a time. Beside DDL a dump may fail, or have a trigger without its
# definition, because pg_dump locks tables after it has listed them. In each restored database live
# sketches must be exact.
sub run_dumps
{
	my ($until) = @_;
	my ($made, $failed, $ready, $lost) = (0, 0, 0, 0);
	srand $seed;
	for (my $number = 1; time < $until; $number++)
	{
		my ($directory, $jobs) = ("$server->{directory}/dump.$number", any(1, 2, 3, 8));
		my $is_calm = rand() < 0.7;
		if ($is_calm)
		{
			open my $file, '>', $calm or die $!;
			sleep 1;
		}
		my $dumped = system(FastclustTest::program('pg_dump') . " -Fd -j 3 --lock-wait-timeout=5s -f $directory postgres >$directory.log 2>&1") == 0;
		unlink $calm;
		if (!$dumped)
		{
			$failed++;
			system('rm', '-rf', $directory);
			sleep 0.5;
			next;
		}
		$server->query('CREATE DATABASE restored');
		my $status = system(FastclustTest::program('pg_restore') . " -j $jobs -d restored $directory >$directory.log 2>&1");
		if ($status && $is_calm)
		{
			open my $log, '<', "$directory.log" or die $!;
			my @errors = grep { /ERROR/ && !/trigger "fastclust_live_\w+" for table "\w+" does not exist/ } <$log>;
			print "failure: pg_restore: @errors\n" =~ s/\n (?=.)/ /gr if @errors;
		}
		my $session = Wire->new(database => 'restored');
		for my $row ($session->rows($live_sql))
		{
			my $wrong = differences($session, $row->[0], $row->[1]);
			print "failure: restored live sketch $row->[0]: $wrong\n" if $wrong;
		}
		my ($states) = $session->rows(q{SELECT count(*) FILTER (WHERE state = 'ready'), count(*) FILTER (WHERE state <> 'ready') FROM fastclust.live_sketches});
		$session->close;
		$made++;
		$ready += $states->[0];
		$lost += $states->[1];
		$server->query('DROP DATABASE restored');
		system('rm', '-rf', $directory);
	}
	print "0\nstates: $made dumps restored, $failed failed, $ready live sketches ready, $lost lost\n";
}

# ---- the run ----

$server->query('CREATE TABLE public.made AS SELECT sketch_spec(2, 20, 1.0) AS s');
$server->query($all =~ s/\bS\b/$_/gr) for @schemas;
my $until = time + $seconds;
my @processes = ((map { start(\&run_session, $_, $until) } 1 .. $sessions), start(\&run_dumps, $until));
my ($count, %failures, @states) = (0);
for my $process (@processes)
{
	while (<$process>)
	{
		chomp;
		if (s/^failure: //) { $failures{s/ after .*//r =~ s/\d+/N/gr} //= $_; print "# $_\n" if $verbose }
		elsif (/^\d+$/) { $count += $_ }
		elsif (s/^states: //) { push @states, $_ }
		else { $failures{$_} = $_ }
	}
}

# ---- what is left ----

my $session = Wire->new;
my $of_dropped = 'NOT EXISTS (SELECT FROM fastclust_internal.kept_sketches l WHERE l.id = live_id)';

# Records the rows that a query of what must not be there returns.
sub must_be_none
{
	my ($what, $query) = @_;
	my @rows = map { join ' ', @$_ } $session->rows($query);
	$failures{$what} = "$what: " . join ', ', @rows if @rows;
}

must_be_none('changes of dropped live sketches', "SELECT live_id, leaf, xmin FROM fastclust_internal.live_deltas WHERE lost IS NULL AND $of_dropped");
# ALTER TYPE may record a loss beside the drop of a live sketch; fold_sketches removes it.
$session->rows('SELECT fastclust.fold_sketches()');
must_be_none("rows of $_ of dropped live sketches", "SELECT live_id, leaf, xmin FROM fastclust_internal.$_ WHERE $of_dropped") for qw(live_deltas live_bases live_leaves);
must_be_none('triggers of dropped live sketches', "SELECT tgrelid::regclass, tgname FROM pg_trigger, LATERAL (SELECT substring(tgname FROM '[0-9]+')::bigint) q(live_id) WHERE tgname ~ '^fastclust_live_' AND $of_dropped");
must_be_none('live sketches of dropped tables', 'SELECT name FROM fastclust_internal.kept_sketches l WHERE NOT EXISTS (SELECT FROM pg_class c WHERE c.oid = l.relation)');
my ($ready, $lost) = (0, 0);
for my $row ($session->rows($live_sql))
{
	my ($name, $relation) = @$row;
	my $wrong = differences($session, $name, $relation);
	$failures{"live sketch $name"} = "live sketch $name at the end: $wrong" if $wrong;
	my ($state) = map { $_->[0] } $session->rows("SELECT state FROM fastclust.live_sketches WHERE name = '$name'");
	$state eq 'ready' ? $ready++ : $lost++;
}
print map { "# $_\n" } @states if $verbose;
print map { "# $failures{$_}\n" } sort keys %failures;
my $figures = sprintf '%d sessions, %d s, seed %d, %d statements, %s; at the end %d live sketches ready, %d lost', $sessions, $seconds, $seed, $count, $states[-1] // 'no dump', $ready, $lost;
print %failures ? 'not ok mixed: ' . scalar(keys %failures) . " kinds of failure; $figures\n" : "ok mixed: $figures\n";
exit(%failures ? 1 : 0);
