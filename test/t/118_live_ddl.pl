# Random DDL on followed tables while others write: a reader of a live sketch gets that of the
# present rows, to the bit, or an error that says it is lost. DDL_STEPS (150), DDL_SEED (1);
# DDL_VERBOSE prints the progress, and each step if it is 2.
use FastclustTest;

my ($steps, $seed) = ($ENV{DDL_STEPS} // 150, $ENV{DDL_SEED} // 1);
srand $seed;
my $server = FastclustTest->new(extension => 1, config => "max_connections = 30\ndeadlock_timeout = 100ms\n");
my $version = $server->query('SHOW server_version_num');
sub any { return $_[int rand @_] }

$server->query(<<'SQL');
CREATE SCHEMA other;
CREATE TABLE made AS SELECT sketch_spec(2, 20, 1.0) AS s;
-- Returns whether a live sketch equals the result of the query `counted`, or the error of reading it.
CREATE FUNCTION verdict(name text, counted text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    now sketch;
    rows sketch;
    why text;
BEGIN
    BEGIN
        now := current_sketch(name);
    EXCEPTION WHEN OTHERS THEN
        GET STACKED DIAGNOSTICS why = PG_EXCEPTION_DETAIL;
        RETURN concat_ws(' ', 'told', SQLSTATE, SQLERRM, why);
    END;
    BEGIN
        EXECUTE counted INTO rows;
    EXCEPTION WHEN OTHERS THEN
        RETURN 'wrong: it is read, but its rows are not: ' || SQLERRM;
    END;
    RETURN CASE WHEN same_rows(now, rows) THEN 'right' ELSE format('wrong: it has %s rows, the table %s', row_count(now), row_count(rows)) END;
END
$$;
SQL

# ---- the tables, their live sketches, and how a scan counts them ----
my %make = (
	plain => q{DROP TABLE IF EXISTS plain, other.plain CASCADE; DROP TYPE IF EXISTS colour; CREATE TYPE colour AS ENUM ('red', 'blue');
		CREATE TABLE plain (id integer PRIMARY KEY, a float8, b float8, c colour, d numeric, note text, e float8 GENERATED ALWAYS AS (id * 2.0) STORED);
		INSERT INTO plain SELECT i, i / 100.0, 100 + i / 100.0, any_colour(i), i % 7 FROM generate_series(1, 300) i},
	log => q{DROP TABLE IF EXISTS log CASCADE; DROP TABLE IF EXISTS log_1, log_2, log_3, log_4 CASCADE; CREATE TABLE log (id integer, shop text, x float8[]) PARTITION BY RANGE (id);
		CREATE TABLE log_1 PARTITION OF log FOR VALUES FROM (0) TO (100); CREATE TABLE log_4 PARTITION OF log DEFAULT;
		INSERT INTO log SELECT i, 'shop ' || i % 3, ARRAY[i % 7, sqrt(i)] FROM generate_series(0, 399) i},
	old => q{DROP TABLE IF EXISTS old CASCADE; DROP TABLE IF EXISTS child_1, child_2 CASCADE; CREATE TABLE old (id integer, x float8[]);
		CREATE TABLE child_1 (more text) INHERITS (old); INSERT INTO old SELECT i, ARRAY[i, 1] FROM generate_series(1, 50) i; INSERT INTO child_1 SELECT i, ARRAY[i, 2] FROM generate_series(1, 50) i},
);
my %keep = (
	plain => q{keep_sketch('plain', 'plain', ARRAY['a', 'd'], s, '{"where": "c = ''red''"}'), keep_sketch('generated', 'plain', ARRAY['e', 'b'], s)},
	log => q{keep_sketch('log', 'log', 'x', s), keep_sketch('shops', 'log', 'x', s, '{"group_by": "shop", "where": "id % 2 = 0"}')},
	old => q{keep_sketch('old', 'old', 'x', s)},
);
my %counted = (
	plain => q{SELECT sketch_agg(ARRAY[a::float8, d::float8], s) FROM plain, made WHERE c = 'red' AND a IS NOT NULL AND d IS NOT NULL},
	generated => q{SELECT sketch_agg(ARRAY[e::float8, b::float8], s) FROM plain, made WHERE e IS NOT NULL AND b IS NOT NULL},
	log => q{SELECT sketch_agg(x::float8[], s) FROM log, made},
	shops => q{SELECT sketch_agg(x::float8[], s) FROM log, made WHERE id % 2 = 0 AND shop IS NOT NULL},
	old => q{SELECT sketch_agg(x::float8[], s) FROM old, made},
);
my %table = (plain => 'plain', generated => 'plain', log => 'log', shops => 'log', old => 'old');
$server->query(q{CREATE FUNCTION any_colour(i integer) RETURNS text LANGUAGE sql AS $$ SELECT enumlabel::text FROM pg_enum WHERE enumtypid = 'colour'::regtype ORDER BY enumsortorder OFFSET i % 2 LIMIT 1 $$}
	=~ s/'colour'::regtype/to_regtype('colour')/r);

sub reset_table
{
	my ($table) = @_;
	$make{$table} =~ s/any_colour\(i\)/(ARRAY['red', 'blue'])[1 + i % 2]::colour/;
	my $made = "SET client_min_messages = error; BEGIN; $make{$table}; COMMIT; SELECT $keep{$table} FROM made";
	for (1 .. 20)
	{
		my ($status, undef, $messages) = $server->try($made);
		return if $status == 0;
		die $messages if $messages !~ /deadlock detected/;	# a deadlock with a writer, whose locks come in another order
	}
	die "$table: twenty deadlocks";
}
reset_table($_) for sort keys %make;

# ---- writers, which stop when a file exists ----
my $stop = "$server->{directory}/stop";
my %write = (
	plain => [q{INSERT INTO plain (id, a, b, c, d) SELECT i, i, i % 9, any_colour(i)::colour, i % 5 FROM generate_series(ID, ID + 5) i ON CONFLICT DO NOTHING}, q{UPDATE plain SET d = d + 1 WHERE id % 50 = ID % 50},
		q{DELETE FROM plain WHERE id % 60 = ID % 60}, q{UPDATE plain SET b = 3, c = any_colour(ID)::colour WHERE id = ID}],
	log => [q{INSERT INTO log SELECT i, 'shop ' || i % 4, ARRAY[i, 1] FROM generate_series(ID, ID + 5) i}, q{UPDATE log SET id = (id + 37) % 500 WHERE id = ID}, q{DELETE FROM log WHERE id % 70 = ID % 70}, q{INSERT INTO log_1 VALUES (ID % 100, 'shop 1', '{1,2}')}],
	old => [q{INSERT INTO old VALUES (ID, ARRAY[ID, 5])}, q{INSERT INTO child_1 VALUES (ID, '{7,7}')}, q{UPDATE old SET x = '{3,3}' WHERE id % 40 = ID % 40}, q{DELETE FROM old WHERE id % 30 = ID % 30}],
);
sub writing { my $id = int rand 500; return any(map { @$_ } @write{sort keys %write}) =~ s{ID}{$id}gr }
my @writers;
for my $writer (1 .. 2)
{
	my $pid = fork // die $!;
	if ($pid)
	{
		push @writers, $pid;
		next;
	}
	srand $seed * 100 + $writer;
	open my $psql, '|-', FastclustTest::program('psql') . ' -XAtq >/dev/null 2>&1' or die $!;
	$psql->autoflush(1);
	print $psql "SET search_path = public, fastclust; SET lock_timeout = '300ms';\n";
	until (-e $stop)
	{
		print $psql rand() < 0.3 ? 'BEGIN; ' . writing() . '; ' . writing() . '; ' . any('COMMIT', 'ROLLBACK') . ";\n" : writing() . ";\n";
		print $psql "SELECT pg_sleep(0.04);\n";
		select undef, undef, undef, 0.04;
	}
	close $psql;
	require POSIX;
	POSIX::_exit(0);
}

# ---- the DDL ----
my %ddl = (
	plain => [
		'ALTER TABLE plain RENAME a TO z; ALTER TABLE plain RENAME b TO a; ALTER TABLE plain RENAME z TO b', 'ALTER TABLE plain RENAME a TO z; ALTER TABLE plain RENAME z TO a', 'ALTER TABLE plain RENAME d TO z',
		'ALTER TABLE plain ALTER a TYPE float8 USING a * 2', 'ALTER TABLE plain ALTER a TYPE real', 'ALTER TABLE plain ALTER d TYPE numeric(12,2)', 'ALTER TABLE plain ALTER b TYPE float8 USING b + 1, ALTER note TYPE varchar(9)',
		'ALTER TABLE plain DROP a; ALTER TABLE plain ADD a float8 DEFAULT 7', 'ALTER TABLE plain DROP e', 'ALTER TABLE plain ADD n integer DEFAULT 1; ALTER TABLE plain DROP n',
		"ALTER TYPE colour RENAME VALUE 'red' TO 'green'", "ALTER TYPE colour RENAME VALUE 'red' TO 'green'; ALTER TYPE colour RENAME VALUE 'green' TO 'red'", "ALTER TYPE colour RENAME VALUE 'blue' TO 'z'; ALTER TYPE colour RENAME VALUE 'red' TO 'blue'; ALTER TYPE colour RENAME VALUE 'z' TO 'red'",
		"ALTER TYPE colour ADD VALUE IF NOT EXISTS 'white'", 'ALTER TABLE plain DISABLE TRIGGER USER; UPDATE plain SET b = b + 1; ALTER TABLE plain ENABLE TRIGGER USER', 'ALTER TABLE plain DISABLE TRIGGER ALL',
		"DO \$\$ DECLARE g name := (SELECT tgname FROM pg_trigger WHERE tgrelid = 'plain'::regclass AND tgname ~ '_rows' LIMIT 1); BEGIN EXECUTE format('DROP TRIGGER %I ON plain', g); END \$\$",
		"DO \$\$ DECLARE g name := (SELECT tgname FROM pg_trigger WHERE tgrelid = 'plain'::regclass AND tgname ~ '_rows' LIMIT 1); BEGIN EXECUTE format('ALTER TRIGGER %I ON plain RENAME TO mine', g); END \$\$",
		# The next changes leave the triggers as they were, after rows have changed.
		(map { "DO \$\$ DECLARE g name := (SELECT tgname FROM pg_trigger WHERE tgrelid = 'plain'::regclass AND tgname ~ '_$_->[0]' ORDER BY tgname LIMIT 1); made text := (SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE tgrelid = 'plain'::regclass AND tgname = g);
			BEGIN EXECUTE format('$_->[2]', g); $_->[1]; EXECUTE format('$_->[3]', g) || CASE WHEN '$_->[3]' = '' THEN made ELSE '' END; EXECUTE format('ALTER TABLE plain ENABLE ALWAYS TRIGGER %I', g); END \$\$" }
			map { my @change = @$_; map { [@change, @$_] } (['ALTER TRIGGER %I ON plain RENAME TO z', 'ALTER TRIGGER z ON plain RENAME TO %I'], ['DROP TRIGGER %I ON plain', '']) }
			['rows', 'DELETE FROM plain WHERE id % 7 = 2'], ['truncate', 'TRUNCATE plain']),
		'ALTER TABLE plain SET UNLOGGED; ALTER TABLE plain SET LOGGED', 'TRUNCATE plain', 'ALTER TABLE plain SET SCHEMA other; DELETE FROM other.plain WHERE id % 9 = 1; ALTER TABLE other.plain SET SCHEMA public',
		'ALTER TABLE plain RENAME TO plain_2; UPDATE plain_2 SET d = 3 WHERE id % 8 = 0; ALTER TABLE plain_2 RENAME TO plain', 'SET session_replication_role = replica; DELETE FROM plain WHERE id % 11 = 3; UPDATE plain SET d = 2 WHERE id % 13 = 3',
		'ALTER TABLE plain ALTER d SET DEFAULT 3, ALTER note SET STORAGE plain', 'CLUSTER plain USING plain_pkey', 'DROP TABLE plain', 'CREATE INDEX ON plain (a); ALTER TABLE plain SET (fillfactor = 50)',
		$version >= 170000 ? 'ALTER TABLE plain ALTER e SET EXPRESSION AS (id * 3.0)' : (),
		$version >= 190000 ? ('REPACK plain', 'REPACK (CONCURRENTLY) plain', 'REPACK (CONCURRENTLY) plain USING INDEX plain_pkey') : (),
	],
	log => [
		'CREATE TABLE log_2 PARTITION OF log FOR VALUES FROM (1000) TO (1100); INSERT INTO log VALUES (1001, \'shop 1\', \'{1,1}\')', 'CREATE TABLE log_3 (x float8[], gone integer, id integer, shop text); ALTER TABLE log_3 DROP gone; INSERT INTO log_3 SELECT ARRAY[i, 3], i, \'shop 2\' FROM generate_series(2000, 2050) i',
		'ALTER TABLE log ATTACH PARTITION log_2 FOR VALUES FROM (1000) TO (1100)', 'ALTER TABLE log ATTACH PARTITION log_3 FOR VALUES FROM (2000) TO (2100)', 'ALTER TABLE log DETACH PARTITION log_2', 'ALTER TABLE log DETACH PARTITION log_3', 'ALTER TABLE log DETACH PARTITION log_1',
		'ALTER TABLE log ATTACH PARTITION log_1 FOR VALUES FROM (0) TO (100)', 'DROP TABLE log_2', 'DROP TABLE log_3', 'TRUNCATE log_1', 'TRUNCATE log', 'ALTER TABLE log RENAME x TO y; ALTER TABLE log RENAME y TO x', 'ALTER TABLE log ALTER x TYPE float8[] USING x || \'{}\'', 'ALTER TABLE log ALTER x TYPE real[]',
		'ALTER TABLE log ADD n integer; ALTER TABLE log DROP n', 'ALTER TABLE log_1 DISABLE TRIGGER USER', 'ALTER TABLE log_1 RENAME TO log_0; ALTER TABLE log_0 RENAME TO log_1', 'INSERT INTO log_2 VALUES (1005, \'shop 1\', \'{2,2}\')', 'DELETE FROM log_3 WHERE id % 3 = 0',
		'ALTER TABLE log_4 SET UNLOGGED', 'DROP TABLE log', 'VACUUM FULL log_1', $version >= 190000 ? 'REPACK log' : (), 'BEGIN ISOLATION LEVEL REPEATABLE READ; CREATE TABLE log_2 PARTITION OF log FOR VALUES FROM (1000) TO (1100); COMMIT',
	],
	old => [
		'CREATE TABLE child_2 (x float8[], id integer); INSERT INTO child_2 SELECT ARRAY[i, 4], i FROM generate_series(1, 30) i', 'ALTER TABLE child_2 INHERIT old', 'ALTER TABLE child_2 NO INHERIT old', 'ALTER TABLE child_1 NO INHERIT old', 'ALTER TABLE child_1 INHERIT old', 'DROP TABLE child_2',
		'TRUNCATE ONLY old', 'TRUNCATE old', 'ALTER TABLE old ALTER x TYPE float8[] USING x', 'ALTER TABLE old RENAME x TO y', 'DELETE FROM child_1 WHERE id % 4 = 0', 'DROP TABLE old CASCADE', 'CREATE TEMP TABLE passing () INHERITS (old); INSERT INTO passing VALUES (1, \'{1,1}\')', 'ALTER TABLE child_1 ADD n integer DEFAULT 2',
	],
);
push @$_, 'SELECT fold_sketches()' for values %ddl;
push @{$ddl{log}}, "SELECT drop_sketch('log'); SELECT keep_sketch('log', 'log', 'x', s, '{\"concurrently\": true}') FROM made";

sub step
{
	my ($table) = @_;
	my $sql = any(@{$ddl{$table}});
	my $wrapped = $sql =~ /VACUUM|BEGIN|ADD VALUE|CLUSTER|REPACK/ ? 0 : rand;

	return "BEGIN; $sql; " . any('COMMIT', 'ROLLBACK') if $wrapped > 0.85;
	return "BEGIN; SAVEPOINT s; $sql; ROLLBACK TO s; " . any(@{$ddl{$table}}) =~ s/BEGIN.*|VACUUM.*|CLUSTER.*|REPACK.*|ALTER TYPE.*//r . '; COMMIT' if $wrapped > 0.75;
	return $sql;
}

my (%seen, %told, @wrong);
for my $number (1 .. $steps)
{
	my $table = any(sort keys %make);
	my $sql = step($table);
	my (undef, undef, $said) = $server->try("SET lock_timeout = '3s'; $sql");
	my $repair = 0;

	for my $name (grep { $table{$_} eq $table } sort keys %counted)
	{
		my ($status, $verdict, $messages);
		for (1 .. 20)	# a deadlock with writers, whose locks come in other orders
		{
			($status, $verdict, $messages) = $server->try("SET lock_timeout = '5s'; BEGIN ISOLATION LEVEL REPEATABLE READ; LOCK TABLE $table IN SHARE MODE; SELECT verdict('$name', \$\$$counted{$name}\$\$); COMMIT");
			last if $messages !~ /deadlock detected|lock timeout/;
		}
		$verdict = "told $messages" if $status != 0 && $messages =~ /relation "$table" does not exist/;
		diag("$number $table: $sql" . ($said ? " ($said)" : '') . "\n  $name: $verdict $messages") if ($ENV{DDL_VERBOSE} // 0) > 1;
		my ($kind) = $verdict =~ /^(right|told (?:55000|42704|40001|ERROR))/ or push @wrong, "step $number, $sql\n$name: $verdict $messages";
		$seen{$kind // 'wrong'}++;
		$told{$2 =~ s/"[^"]*"/N/gr =~ s/\b\w+\.\w+|\bof \w+\b/T/gr}++ if $verdict =~ /^told (\w+) (.{0,160})/s;
		next if defined $kind && $kind eq 'right';
		$repair = 1 if !defined $kind || ($server->try("SET lock_timeout = '20s'; SELECT rebuild_sketch('$name')"))[0] != 0;
	}
	reset_table($table) if $repair || $number % 50 == 0;	# otherwise the tables grow
	diag("$number steps: " . join ', ', map { "$seen{$_} $_" } sort keys %seen) if $ENV{DDL_VERBOSE} && $number % 100 == 0;
}
open my $file, '>', $stop or die $!;
waitpid $_, 0 for @writers;
is(join("\n", @wrong), '', "after $steps steps every reader got the exact sketch or an error");
cmp_ok($seen{right} // 0, '>', $steps / 4, 'right: ' . ($seen{right} // 0));
cmp_ok(($seen{'told 55000'} // 0), '>', $steps / 20, 'told: ' . join(', ', map { "$seen{$_} $_" } grep { /told/ } sort keys %seen));
diag(join "\n", map { "$told{$_} x $_" } sort keys %told) if $ENV{DDL_VERBOSE};
done_testing();
