# Live sketches give no role rights of another: nobody reads rows through deltas, writes another's
# sketch, runs code as another or stops another's work. Alice owns the followed table hers.visits,
# writer may change it, reader may read it, and bob is a stranger.
use FastclustTest qw(as refused gives);

my $server = FastclustTest->new(extension => 1);
$server->query(<<'SQL');
CREATE ROLE alice LOGIN; CREATE ROLE bob LOGIN; CREATE ROLE writer LOGIN; CREATE ROLE reader LOGIN;
CREATE SCHEMA hers AUTHORIZATION alice; CREATE SCHEMA his AUTHORIZATION bob;
GRANT USAGE ON SCHEMA hers, his TO PUBLIC;
CREATE TABLE public.ran (by name); GRANT INSERT ON ran TO PUBLIC;
CREATE TABLE public.spec AS SELECT sketch_spec(2, 20, 1.0) AS s; GRANT SELECT ON spec TO PUBLIC;
SQL

my $rows_of = sub { "fastclust_internal.same_rows(current_sketch('$_[0]'), (SELECT sketch_agg(x, (SELECT s FROM public.spec)) FROM $_[1]))" };
my $exact = 'SELECT ' . $rows_of->('visits', 'hers.visits');

# The very first live sketch is bob's, who does not commit it.
as('bob', 'CREATE TABLE his.first (x real[])');
my $first = $server->background("SET SESSION AUTHORIZATION bob; BEGIN; SELECT keep_sketch('first', 'his.first', 'x', s) FROM spec; SELECT pg_sleep(600)");
ok($server->wait_until_it_waits($first, 'PgSleep'), 'bob makes the first live sketch in an open transaction');
gives('alice', <<'SQL', 100, 'alice makes a live sketch without waiting for him');
SET lock_timeout = '20s';

CREATE TABLE hers.visits AS SELECT i AS id, 'shop ' || i % 3 AS shop, ARRAY[i, i % 7]::real[] AS x FROM generate_series(1, 100) i;
GRANT INSERT, UPDATE, DELETE, TRUNCATE ON hers.visits TO writer; GRANT SELECT (id) ON hers.visits TO writer;
GRANT SELECT ON hers.visits TO reader;
SELECT keep_sketch('visits', 'hers.visits', 'x', (SELECT s FROM spec));
SQL
$server->end($first);
my $id = $server->query("SELECT id FROM live_sketches WHERE name = 'visits'");

# ---- names of roles ----
$server->query('CREATE ROLE "Odd Role"; CREATE SCHEMA odd AUTHORIZATION "Odd Role"');
gives('"Odd Role"', "CREATE TABLE odd.rows AS SELECT ARRAY[i, i]::real[] AS x FROM generate_series(1, 9) i; SELECT keep_sketch('odd', 'odd.rows', 'x', (SELECT s FROM spec)); SELECT drop_sketch('odd')", "9\n", 'a role with any name can follow its table');

# ---- a writer of the table ----
gives('writer', "INSERT INTO hers.visits VALUES (101, 'shop 1', '{1,2}'); UPDATE hers.visits SET x = '{5,5}' WHERE id < 4; DELETE FROM hers.visits WHERE id = 50", '', 'a role that may write the table writes it');
gives('writer', "SELECT count(*) FROM $_", 0, "a writer sees nothing of $_") for qw(live_sketches own_live_sketches own_live_leaves);
refused($_->[0], "SELECT * FROM $_->[1]", '42501', "$_->[0] does not read $_->[1]") for map { my $role = $_; map { [$role, $_] } qw(kept_sketches live_leaves live_bases live_deltas) } qw(writer alice);
gives('writer', "SELECT count(*) FROM pg_stats WHERE tablename ~ '^live_'", 0, 'a writer sees no statistics of live tables');
refused('writer', "SELECT $_", '42704', "a writer does not read the sketch by $_") for "current_sketch('visits')", "* FROM current_sketches('visits')", "current_sketch('visits', half_life => '1 day')",
	"* FROM check_sketch('visits')", "fold_sketches('visits')", "rebuild_sketch('visits')", "drop_sketch('visits')", "* FROM fastclust_internal.model_groups('visits')",
	"fastclust_internal.locked_live('visits')", "fastclust_internal.write_check('visits', 0)", "fastclust_internal.forget_leaves('visits')";
refused('writer', "SELECT fastclust_internal.write_leaf($id, 'hers.visits', ROW('{}', '{}')::fastclust_internal.live_count)", '42501', 'a writer cannot write a count');
gives('writer', "SELECT fastclust_internal.open_deltas($id, 'hers.visits')", '{}', 'a writer does not see where deltas are stored');
refused('writer', $_, '(42501|42704|42883|55000)', "a writer cannot change the live tables: $_") for "INSERT INTO live_deltas (live_id) VALUES ($id)",
	"UPDATE kept_sketches SET name = 'mine'", "UPDATE own_live_sketches SET name = 'mine'", 'DELETE FROM live_bases', 'SELECT * FROM live_deltas FOR SHARE', 'BEGIN; LOCK live_deltas IN SHARE MODE', 'TRUNCATE live_deltas',
	'CREATE TEMP TABLE t () INHERITS (live_deltas)', "SELECT fold_live($id)",
	"SELECT fastclust_owner.readable_live('visits', 10)", "SELECT forget_live($id)";
refused('writer', "SELECT count(*) FROM fastclust_internal.live_sums($id, '{}')", '42501', 'a writer cannot read sums of deltas');
gives('writer', "CREATE TEMP TABLE live_deltas (live_id bigint); CREATE TEMP TABLE live_sketches (id bigint); SET search_path = pg_temp, public; SET row_security = off; SET datestyle = german;
	INSERT INTO hers.visits VALUES (102, 'shop 1', '{1,3}'); SELECT count(*) FROM live_deltas", 0, 'temporary tables of the same names and settings of a writer change nothing');
gives('reader', 'SET search_path = public, fastclust; ' . $exact, 't', 'a role that may read the table reads the sketch, which is exact');
refused('reader', "SELECT $_('visits')", '42501', "a reader cannot call $_") for qw(fold_sketches rebuild_sketch drop_sketch);
refused('reader', "SELECT row_count(removed), means(removed) FROM fastclust_internal.live_totals('visits')", '42501', 'a reader does not see the sums of deleted rows');
gives('alice', "SELECT row_count(removed) > 0 FROM fastclust_internal.live_totals('visits')", 't', 'the owner sees the sums of deleted rows until they are folded');
$server->query('REVOKE USAGE ON SCHEMA fastclust, fastclust_internal FROM PUBLIC; GRANT USAGE ON SCHEMA fastclust TO alice, reader, bob; GRANT USAGE ON SCHEMA fastclust_internal TO alice, reader, bob');
gives('writer', "INSERT INTO hers.visits VALUES (103, 'shop 1', '{1,3}')", '', 'a writer without USAGE on the schemas of the extension writes the table');
gives('writer', 'CREATE TEMP TABLE p (x real[]) PARTITION BY LIST ((x[1])); CREATE TEMP TABLE p_1 PARTITION OF p DEFAULT; ALTER TABLE p DETACH PARTITION p_1; DROP TABLE p, p_1', '', 'a writer without USAGE on the schemas of the extension creates and drops tables');
$server->query('GRANT USAGE ON SCHEMA fastclust, fastclust_internal TO PUBLIC');
gives('alice', $exact, 't', 'the rows of that writer are counted');

# ---- code of other roles ----
as('bob', <<'SQL');
CREATE FUNCTION his.note() RETURNS void LANGUAGE plpgsql AS $$ BEGIN INSERT INTO public.ran VALUES (current_user); END $$;
CREATE FUNCTION his.trap() RETURNS float8 LANGUAGE plpgsql IMMUTABLE AS $$ BEGIN PERFORM his.note(); RETURN 1; END $$;
CREATE TYPE his.pair AS (a float8, b float8);
CREATE FUNCTION his.number(his.pair) RETURNS float8 LANGUAGE sql IMMUTABLE AS $$ SELECT ($1).a + his.trap() $$;
CREATE CAST (his.pair AS float8) WITH FUNCTION his.number(his.pair) AS IMPLICIT;
CREATE TABLE his.rows (id int, c his.pair, x real[]);
INSERT INTO his.rows VALUES (1, '(1,2)', '{1,2}');
SELECT keep_sketch('rows', 'his.rows', 'x', (SELECT s FROM spec));
INSERT INTO his.rows VALUES (2, '(2,2)', '{2,2}');
SQL
refused('bob', "SELECT keep_sketch('pairs', 'his.rows', ARRAY['c'], sketch_spec(1, 20, 1.0))", '42804', 'a column that only a cast of the user\'s makes a number cannot be followed');
# Returns calls that claim a live sketch which keep_sketch would not make.
sub claimed
{
	my ($name, $changes) = @_;
	return qq{DO \$\$ DECLARE l kept_sketches; BEGIN SELECT * INTO l FROM own_live_sketches WHERE name = 'rows'; l.name := '$name'; $changes
		l := fastclust_internal.claim_live(l); PERFORM fastclust_internal.set_live_triggers(l.id, 'his.rows', true); END \$\$; INSERT INTO his.rows VALUES (3, '(2,2)', '{2,2}')};
}
refused('bob', claimed('forged', $_), '(22023|42...|0A000|22P02|55000)', "a forged live sketch is refused: $_") for "l.condition := 'his.trap() > 0';", "l.condition := 'true) OR (his.trap() > 0';",
	"l.relation := 'hers.visits';", "l.features := '{c,c}'; l.vector := false;", 'l.model_id := 4711;';
gives('bob', claimed('sly', "l.features := '{c,c}'; l.columns := '{c}'; l.vector := false;"), '', 'a role may claim a live sketch of its own table with a cast of its own');
as('bob', "SELECT fastclust_internal.write_leaf(id, relation, ROW('{}', '{}')::fastclust_internal.live_count) FROM live_sketches; INSERT INTO his.rows VALUES (4, '(2,2)', '{2,2}'); TRUNCATE his.rows");
is($server->query('SELECT DISTINCT by FROM ran'), 'bob', 'the cast of bob runs as nobody but bob') or diag($server->query('SELECT DISTINCT by FROM ran'));
for my $name (split /\n/, $server->query("SELECT name FROM live_sketches WHERE relation = 'his.rows'::regclass"))
{
	for my $role (qw(postgres alice))
	{
		as($role, "SELECT $_('$name')") for qw(current_sketch fastclust_internal.sketch_problem fold_sketches check_sketch rebuild_sketch);
	}
}
is($server->query("SELECT count(*) FROM ran WHERE by <> 'bob'"), 0, 'the cast of bob does not run when others ask for his sketch') or diag($server->query('SELECT DISTINCT by FROM ran'));
refused('postgres', "SELECT rebuild_sketch('rows')", '42501', 'a superuser does not scan another role\'s table because of a stored name');
gives('postgres', "SET ROLE bob; SELECT rebuild_sketch('rows') >= 0", 't', 'a superuser may scan it after SET ROLE');

as('bob', qq{CREATE TABLE his.log (id int, c his.pair, x real[]) PARTITION BY LIST (id); CREATE TABLE his.log_1 PARTITION OF his.log DEFAULT; INSERT INTO his.log VALUES (1, '(1,2)', '{1,2}');
	DO \$\$ DECLARE l kept_sketches; BEGIN SELECT * INTO l FROM own_live_sketches WHERE name = 'rows'; l.name := 'of bob'; l.relation := 'his.log';
		l.features := '{c,c}'; l.columns := '{c}'; l.vector := false;
		l := fastclust_internal.claim_live(l); PERFORM fastclust_internal.set_live_triggers(l.id, 'his.log', true); END \$\$});
as('postgres', 'ALTER TABLE his.log DETACH PARTITION his.log_1; ALTER TABLE his.log ATTACH PARTITION his.log_1 DEFAULT');
refused('bob', "SELECT current_sketch('of bob')", '55000', 'a partition with bob\'s cast that a superuser attaches is not counted');
as('postgres', "SELECT fastclust_internal.set_live_triggers(id, 'his.log_1', true) FROM live_sketches WHERE name = 'of bob'");
gives('bob', "SELECT row_count(current_sketch('of bob'))", 1, 'the partition is counted after a superuser has made its triggers, as a restore does');
is($server->query("SELECT count(*) FROM ran WHERE by <> 'bob'"), 0, 'the cast of bob does not run as the superuser who makes the triggers');
is($server->query("SELECT count(*) FROM ran WHERE by <> 'bob'"), 0, 'the cast of bob did not run as another role at all');
as('bob', 'DROP TABLE his.log');

# ---- functions that run as the owner of the extension, and trigger functions, by the catalog ----
my $ours = "pg_proc p JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
	JOIN pg_extension e ON e.oid = d.refobjid AND e.extname = 'fastclust'";
my $triggers = "p.prorettype IN ('trigger'::regtype, 'event_trigger'::regtype)";
is($server->query("SELECT string_agg(p.proname, ' ' ORDER BY p.proname) FROM $ours WHERE $triggers AND has_function_privilege('bob', p.oid, 'EXECUTE')"),
	'live_change', 'bob may make triggers with live_change alone');
is($server->query("SELECT string_agg(p.proname, ' ') FROM $ours WHERE p.prosecdef AND $triggers AND has_function_privilege('bob', p.oid, 'EXECUTE')"),
	'', 'no trigger function that bob may use runs as the owner');
is($server->query("SELECT string_agg(p.oid::regprocedure::text, ' ') FROM $ours WHERE p.prosecdef AND EXISTS (SELECT FROM unnest(p.proargtypes) a(type) JOIN pg_type t ON t.oid = a.type WHERE t.typtype = 'p')"),
	'', 'no function that runs as the owner takes arguments of any type');

# A table has all columns that these functions name, with a type whose casts are code of bob.
my %attached = map { split /\|/ } split /\n/, $server->query("SELECT p.oid::regproc, p.prosecdef FROM $ours WHERE p.prorettype = 'trigger'::regtype");
cmp_ok(scalar(keys %attached), '>=', 5, 'trigger functions are found in the catalog: ' . join ' ', sort keys %attached);
my @columns = split /\n/, $server->query("SELECT DISTINCT a.attname FROM pg_attribute a WHERE a.attrelid IN ('stored_models'::regclass, 'kept_sketches'::regclass, 'label_tables'::regclass) AND a.attnum > 0 AND a.attname <> 'id'");
my @types = qw(timestamptz name bigint boolean oid text regclass);
as('bob', join "\n", 'CREATE TYPE his.any AS (a int);', map { "CREATE FUNCTION his.as_$_(his.any) RETURNS $_ LANGUAGE plpgsql AS \$\$ BEGIN PERFORM his.note(); RETURN NULL; END \$\$;
	CREATE CAST (his.any AS $_) WITH FUNCTION his.as_$_(his.any) AS IMPLICIT;" } @types);
my $trap_rows = 'CREATE TABLE his.trap_rows (id bigint, ' . join(', ', map { qq{"$_" his.any} } @columns) . ')';
for my $granted ('', 'GRANT USAGE ON SCHEMA fastclust_owner TO bob; GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA fastclust_internal, fastclust_owner TO bob')
{
	$server->query($granted || 'SELECT 1');
	for my $function (sort keys %attached)
	{
		my $said = '';
		$server->query('TRUNCATE ran');
		for my $when ('REFERENCING NEW TABLE AS came FOR EACH STATEMENT', 'FOR EACH ROW')
		{
			$said .= (as('bob', "$trap_rows; CREATE TRIGGER x AFTER INSERT ON his.trap_rows $when EXECUTE FUNCTION $function();
				INSERT INTO his.trap_rows (id, created_at) VALUES (1, ROW(1))"))[2];
			$server->query('DROP TABLE IF EXISTS his.trap_rows');
		}
		is($server->query("SELECT string_agg(DISTINCT by, ' ') FROM ran WHERE by <> 'bob'"), '',
			"bob attaches $function to his table: his code runs as nobody else" . ($granted ? ', though he may call all functions' : '')) or diag($said);
	}
}
$server->query('REVOKE USAGE ON SCHEMA fastclust_owner FROM bob; REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA fastclust_internal, fastclust_owner FROM bob; TRUNCATE ran');

# ---- the work of other roles ----
gives('alice', $exact, 't', 'alice\'s sketch is exact');
as('bob', "CREATE TRIGGER fastclust_live_${id}_rows AFTER INSERT ON his.rows FOR EACH ROW EXECUTE FUNCTION fastclust_internal.live_change('$id');
	INSERT INTO his.rows VALUES (9, NULL, '{7,7}')");
gives('alice', $exact, 't', "a trigger of bob on his own table, named like one of alice's sketch, counts nothing and stops no reader");
gives('alice', "SELECT rebuild_sketch('visits') > 0, count(*) FROM check_sketch('visits')", 't|0', 'such a trigger does not stop rebuild_sketch');
# Bob brings his sketch into a state that cannot be folded.
as('bob', "SELECT rebuild_sketch('rows'); DELETE FROM his.rows; SELECT fastclust_internal.write_leaf(id, relation, ROW('{}', '{}')::fastclust_internal.live_count) FROM live_sketches WHERE name = 'rows'");
as('writer', "INSERT INTO hers.visits VALUES (104, 'shop 1', '{1,3}')");
$server->query('SELECT fold_sketches()');
is($server->query("SELECT count(*) FROM live_deltas WHERE live_id = $id"), 0, 'fold_sketches folds alice\'s sketch whatever the state of bob\'s');
gives('bob', 'TRUNCATE his.rows', '', 'the table of a sketch that has lost count can be truncated');
my $holder = $server->background("SET SESSION AUTHORIZATION alice; BEGIN; SELECT fold_sketches('visits'), locked_live('visits') IS NULL; SELECT pg_sleep(600)");
ok($server->wait_until_it_waits($holder, 'PgSleep'), 'a session holds a lock on the live sketch');
gives('writer', "SET lock_timeout = '20s'; INSERT INTO hers.visits VALUES (105, 'shop 1', '{1,3}'); DELETE FROM hers.visits WHERE id = 60", '', 'writers do not wait for that lock');
gives('postgres', "SET lock_timeout = '20s'; SELECT fold_sketches() >= 0", 't', 'fold_sketches does not wait for that lock');
$server->end($holder);
gives('alice', $exact, 't', 'alice\'s sketch is exact');
as('bob', "SELECT keep_sketch('taken', 'his.rows', 'x', (SELECT s FROM spec)); DROP TABLE his.rows CASCADE");
gives('alice', "SELECT keep_sketch('taken', 'hers.visits', 'x', (SELECT s FROM spec)) > 0; SELECT drop_sketch('taken')", "t\n", 'the name of a sketch whose table is gone is free');

as('bob', 'CREATE TABLE his.few AS SELECT ARRAY[i, i % 3]::real[] AS x FROM generate_series(1, 50) i');
my $named = $server->background("SET SESSION AUTHORIZATION bob; BEGIN; SELECT train('live sketch named', 'his.few', 'x', 2, options => '{\"quiet\": true}'); SELECT pg_sleep(600)");
ok($server->wait_until_it_waits($named, 'PgSleep'), 'bob is training a model in an open transaction');
gives('alice', "SELECT keep_sketch('named', 'hers.visits', 'x', (SELECT s FROM spec)) > 0; SELECT drop_sketch('named')", "t\n", 'a model of bob does not block the same name for a live sketch of alice');
$server->end($named);

# Triggers with the names that a live sketch will have, or has, exist on tables of bob. A cloned
# trigger cannot be dropped, and one table is locked.
as('bob', "CREATE TABLE his.split (a int) PARTITION BY LIST (a); CREATE TABLE his.split_1 PARTITION OF his.split DEFAULT; CREATE TABLE his.barred (a int);
	SELECT format('CREATE TRIGGER fastclust_live_%1\$s_%2\$s AFTER INSERT ON his.%3\$s FOR EACH ROW EXECUTE FUNCTION fastclust_internal.live_change(%1\$L)', i, e, t)
	  FROM generate_series(1, $id + 9) i, unnest('{rows,x}'::text[]) e, unnest('{split,barred}'::text[]) t \\gexec");
$holder = $server->background("SET SESSION AUTHORIZATION bob; BEGIN; LOCK his.barred IN ACCESS SHARE MODE; SELECT pg_sleep(600)");
ok($server->wait_until_it_waits($holder, 'PgSleep'), 'bob holds a lock on a table of his with such triggers');
for (['alice', 'hers'], ['postgres', 'public'])
{
	my ($role, $schema) = @$_;
	gives($role, "SET lock_timeout = '20s'; CREATE TABLE $schema.trapped AS SELECT ARRAY[i, i]::real[] AS x FROM generate_series(1, 9) i;
		SELECT keep_sketch(n, '$schema.trapped', 'x', s) FROM spec, unnest('{one,two}'::text[]) n; ALTER TABLE $schema.trapped DISABLE TRIGGER USER; SELECT rebuild_sketch('one');
		SELECT drop_sketch('one'); DROP TABLE $schema.trapped; SELECT count(*) FROM live_sketches WHERE name IN ('one', 'two')", "9\n9\n9\n\n0",
		"$role makes, rebuilds and drops live sketches and their table nevertheless");
}
$server->end($holder);
as('bob', 'DROP TABLE his.split, his.barred');

# A name is given to a live sketch in an open transaction, by keep_sketch and by rename_model.
gives('alice', "CREATE TABLE hers.named AS SELECT ARRAY[i, i % 3]::real[] AS x FROM generate_series(1, 60) i; SELECT train('named', 'hers.named', 'x', 2, options => '{\"live\": true, \"quiet\": true}')", 1, 'alice trains a live model');
$holder = $server->background("SET SESSION AUTHORIZATION bob; BEGIN; SELECT keep_sketch('renamed', 'his.few', 'x', (SELECT s FROM spec)); SELECT pg_sleep(600)");
ok($server->wait_until_it_waits($holder, 'PgSleep'), 'bob makes a live sketch in an open transaction');
gives('alice', "SET lock_timeout = '20s'; SELECT rename_model('named', 'renamed'); SELECT name FROM live_sketches WHERE model = 'renamed'", "\nnamed", 'a model takes the name that bob\'s sketch has, and its live sketch keeps the old name');
$server->end($holder);
$holder = $server->background("SET SESSION AUTHORIZATION alice; BEGIN; SELECT rename_model('renamed', 'again'); SELECT pg_sleep(600)");
ok($server->wait_until_it_waits($holder, 'PgSleep'), 'alice renames the model in an open transaction');
refused('bob', "SET lock_timeout = '20s'; SELECT keep_sketch('again', 'his.few', 'x', s) FROM spec", '42710', 'bob is told at once that the name is taken');
$server->end($holder);
gives('alice', "SELECT rename_model('renamed', 'again'); SELECT name FROM live_sketches WHERE model = 'again'; SELECT drop_model('again')", "\nagain\n", 'a renamed model renames its live sketch if the name is free');

# A count is written in an open transaction.
as('bob', "SELECT keep_sketch('few', 'his.few', 'x', (SELECT s FROM spec)); INSERT INTO his.few VALUES ('{1,1}')");
$holder = $server->background("SET SESSION AUTHORIZATION bob; BEGIN; SELECT fastclust_internal.write_leaf(id, relation, ROW(fastclust_internal.open_deltas(id, relation), '{}')::fastclust_internal.live_count) FROM live_sketches WHERE name = 'few'; SELECT pg_sleep(600)");
ok($server->wait_until_it_waits($holder, 'PgSleep'), 'bob writes a count of his live sketch in an open transaction');
as('writer', "INSERT INTO hers.visits VALUES (106, 'shop 1', '{1,3}')");
gives('postgres', "SELECT fold_sketches() > 0; SELECT open_deltas FROM live_sketches WHERE name IN ('visits', 'few') ORDER BY name DESC", "t\n0\n1", 'fold_sketches skips that sketch');
$server->end($holder);
as('bob', "SELECT drop_sketch('few')");

# ---- the owner of a partition ----
gives('alice', <<'SQL', 20, 'alice follows a table of which bob owns a partition');
CREATE TABLE hers.log (id int, x real[]) PARTITION BY RANGE (id);
CREATE TABLE hers.log_1 PARTITION OF hers.log FOR VALUES FROM (0) TO (10);
CREATE TABLE hers.log_2 PARTITION OF hers.log FOR VALUES FROM (10) TO (20);
INSERT INTO hers.log SELECT i, ARRAY[i, 1] FROM generate_series(0, 19) i;
SELECT keep_sketch('log', 'hers.log', 'x', (SELECT s FROM spec));
SQL
my $log = $server->query("SELECT id FROM live_sketches WHERE name = 'log'");
my $log_exact = 'SELECT ' . $rows_of->('log', 'hers.log');
$server->query('ALTER TABLE hers.log_2 OWNER TO bob; GRANT USAGE, CREATE ON SCHEMA hers TO bob');
gives('bob', "INSERT INTO hers.log_2 VALUES (15, '{3,3}'); TRUNCATE hers.log_2; INSERT INTO hers.log_2 VALUES (15, '{3,3}'); SELECT count(*) FROM live_sketches", 0, 'bob writes his partition and sees no live sketch');
gives('alice', $log_exact, 't', 'the rows of bob are counted');
as('bob', "DROP TRIGGER fastclust_live_${log}_rows ON hers.log_2;
	CREATE TRIGGER fastclust_live_${log}_rows AFTER INSERT OR UPDATE OR DELETE ON hers.log_2 FOR EACH ROW WHEN (false) EXECUTE FUNCTION fastclust_internal.live_change('$log');
	ALTER TABLE hers.log_2 ENABLE ALWAYS TRIGGER fastclust_live_${log}_rows; INSERT INTO hers.log_2 VALUES (16, '{3,3}')");
refused('alice', "SELECT current_sketch('log')", '55000', 'a trigger that bob disables by a condition is noticed');
is($server->query("SELECT count(*) FROM ran WHERE by <> 'bob'"), 0, 'no code of bob ran as another role');

# ---- a table with a cast of its owner, and a partition of another role ----
gives('bob', <<'SQL', 20, 'bob follows a table with a type of his');
CREATE TYPE his.amount AS (n float8);
CREATE FUNCTION his.vector(his.amount) RETURNS real[] LANGUAGE plpgsql AS $$ BEGIN PERFORM his.note(); RETURN ARRAY[$1.n, 1]; END $$;
CREATE CAST (his.amount AS real[]) WITH FUNCTION his.vector(his.amount) AS ASSIGNMENT;
CREATE TABLE his.log (id int, x his.amount) PARTITION BY RANGE (id);
CREATE TABLE his.log_1 PARTITION OF his.log FOR VALUES FROM (0) TO (10);
CREATE TABLE his.log_2 PARTITION OF his.log FOR VALUES FROM (10) TO (20);
INSERT INTO his.log SELECT i, ROW(i)::his.amount FROM generate_series(0, 19) i;
SELECT keep_sketch('his log', 'his.log', 'x', (SELECT s FROM spec));
SQL
gives('bob', "TRUNCATE his.log_1; SELECT row_count(current_sketch('his log'))", 10, 'TRUNCATE of a partition of bob\'s is counted');
$server->query('ALTER TABLE his.log_2 OWNER TO alice; TRUNCATE ran');
gives('bob', 'TRUNCATE his.log', '', 'bob truncates the table together with alice\'s partition');
is($server->query("SELECT count(*) FROM ran WHERE by <> 'bob'"), 0, 'bob\'s cast runs as nobody else');
gives('bob', "SELECT current_sketch('his log') IS NULL", 't', 'the sketch is exact, and no row of alice\'s partition was read');

# ---- constraints of a domain are evaluated when an expression is prepared ----
as('bob', <<'SQL');
CREATE DOMAIN his.limited AS float8 CHECK (VALUE < 1e9);
CREATE TYPE his.sum AS (n float8);
CREATE FUNCTION his.sum_vector(his.sum) RETURNS real[] LANGUAGE sql IMMUTABLE AS $$ SELECT ARRAY[(($1).n)::his.limited::real, 1::real] $$;
CREATE CAST (his.sum AS real[]) WITH FUNCTION his.sum_vector(his.sum) AS ASSIGNMENT;
CREATE TABLE his.sums (x his.sum); SELECT keep_sketch('sums', 'his.sums', 'x', (SELECT s FROM spec));
INSERT INTO his.sums VALUES (ROW(2)); ALTER DOMAIN his.limited ADD CONSTRAINT trap CHECK (his.trap() > 0); INSERT INTO his.sums VALUES (ROW(2));
SQL
gives('bob', "SELECT row_count(current_sketch('sums'))", 2, 'a cast through a domain is counted');
is($server->query("SELECT string_agg(DISTINCT by, ' ') FROM ran"), 'bob', 'the constraint of the domain is evaluated as nobody but bob');

# ---- tables that are no part of the followed table ----
my $crafted = q{ROW(NULL, 'parts', 'his.other', '{x}', true, NULL, sketch_spec(2, 20, 1.0), NULL, NULL, NULL, NULL, NULL, '{x}', NULL, NULL, now(), NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL)::kept_sketches};
gives('bob', "CREATE TABLE his.other (x real[]); SELECT (claim_live($crafted)).columns", '{x}', 'bob claims a live sketch that keep_sketch would not make');
refused('bob', "SELECT write_leaf(id, $_, ROW('{}', '{}')::live_count) FROM live_sketches WHERE name = 'parts'", '22023', "that sketch counts only tables of its own: $_")
	for "'hers.visits'::regclass", "'hers.log_1'::regclass", "'his.log_1'::regclass", '4294967295', 'NULL';
# Drift counts have other columns than the sketch.
(my $counted = $crafted) =~ s/NULL, NULL, now\(\)/NULL, drift_spec_of_sample(fastop_agg('{1,2,3}'::real[]), 1), now()/;
$counted =~ s/'parts'/'counted'/;
gives('bob', "SELECT (claim_live($counted)).name; SELECT write_leaf(id, relation, ROW('{}', '{}')::live_count), set_live_triggers(id, relation, true) FROM live_sketches WHERE name = 'counted'", "counted\n|", 'bob claims a live sketch with counts of columns that do not exist');
refused('bob', 'INSERT INTO his.other SELECT ARRAY[i, i] FROM generate_series(1, 1000) i', '22000', 'rows for that sketch are refused');
as('bob', "SELECT drop_sketch('parts'), drop_sketch('counted'), drop_sketch('his log')");

# ---- a model whose table was given to another role ----
as('alice', "CREATE TABLE hers.passed AS SELECT ARRAY[i, i % 3]::real[] AS x FROM generate_series(1, 60) i; SELECT train('passed', 'hers.passed', 'x', 2, options => '{\"live\": true, \"quiet\": true}')");
$server->query('ALTER TABLE hers.passed OWNER TO bob');
gives('alice', "SELECT drop_model('passed')", '', 'alice drops her model of a table that bob owns now');
gives('bob', "INSERT INTO hers.passed VALUES ('{1,1}'); SELECT row_count(current_sketch('passed')); SELECT drop_sketch('passed')", "61\n", 'the live sketch stays with bob');

# ---- a grouping column that gets another type after keep_sketch ----
as('bob', <<'SQL');
CREATE FUNCTION his.holds(int) RETURNS boolean LANGUAGE plpgsql AS $$ BEGIN PERFORM his.note(); RETURN true; END $$;
CREATE DOMAIN his.number AS int CHECK (his.holds(VALUE)); CREATE TABLE his.singles AS SELECT 1::his.number AS n; GRANT SELECT ON his.singles TO postgres;
CREATE TABLE his.grouped AS SELECT '1'::text AS g, ARRAY[i, i]::real[] AS x FROM generate_series(1, 9) i;
SELECT keep_sketch('grouped', 'his.grouped', 'x', (SELECT s FROM spec), '{"group_by": "g"}');
SQL
$server->query('CREATE VIEW innocent AS SELECT n FROM his.singles; TRUNCATE ran');
for (['innocent', 'ROW(1)'], ['json', "'1'"], ['timestamptz', 'now()'])
{
	as('bob', "ALTER TABLE his.grouped ALTER g TYPE $_->[0] USING $_->[1]::$_->[0]");
	refused('bob', "SELECT rebuild_sketch('grouped')", '0A000', "rebuild_sketch checks the type as keep_sketch does: $_->[0]");
	refused('bob', "SELECT current_sketch('grouped', '(1)')", '(55000|22P02|22007)', "the live sketch is not read: $_->[0]");
}
is($server->query("SELECT count(*) FROM ran WHERE by <> 'bob'"), 0, 'the check of bob\'s domain runs as nobody else');
gives('bob', "ALTER TABLE his.grouped ALTER g TYPE integer USING 1; SELECT rebuild_sketch('grouped'); SELECT row_count(current_sketch('grouped', '01')); SELECT drop_sketch('grouped')", "9\n9\n", 'the live sketch counts groups of another type that it can have');

# ---- a trigger of that name on another role's table says nothing about the followed table ----
as('alice', "CREATE TABLE hers.plain (x real[]); SELECT keep_sketch('plain', 'hers.plain', 'x', sketch_spec(2, 20, 1.0))");
my $plain = $server->query("SELECT id FROM fastclust.live_sketches WHERE name = 'plain'");
as('bob', "CREATE TRIGGER fastclust_live_${plain}_rows AFTER INSERT ON his.other FOR EACH STATEMENT EXECUTE FUNCTION fastclust_internal.live_change(); ALTER TABLE his.other SET UNLOGGED");
is($server->query("SELECT count(*) FROM live_deltas WHERE live_id = $plain AND lost IS NOT NULL"), 0, 'the live sketch does not become lost when that other table becomes unlogged');

# ---- roles without any right on the extension ----
$server->query('REVOKE USAGE ON SCHEMA fastclust, fastclust_internal FROM PUBLIC; CREATE ROLE stranger; CREATE SCHEMA strange AUTHORIZATION stranger');
gives('stranger', 'CREATE TABLE strange.rows (a int); DROP TABLE strange.rows; CREATE TEMP TABLE t (a int); DROP TABLE t', '', 'a role without USAGE on the schemas drops its tables');
$server->query('GRANT USAGE ON SCHEMA fastclust, fastclust_internal TO PUBLIC; REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA fastclust, fastclust_internal FROM PUBLIC');
gives('stranger', 'CREATE TABLE strange.parts (a int) PARTITION BY LIST (a); CREATE TABLE strange.part PARTITION OF strange.parts DEFAULT; DROP TABLE strange.parts', '', 'a role without EXECUTE on any function creates and drops partitions');
$server->query('GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA fastclust, fastclust_internal TO stranger; REVOKE SELECT ON fastclust_internal.own_live_sketches FROM PUBLIC');
gives('stranger', 'CREATE TABLE strange.alone (a int); DROP TABLE strange.alone', '', 'a role that may read no view of the extension creates and drops tables');
$server->query('GRANT SELECT ON fastclust_internal.own_live_sketches TO PUBLIC; REVOKE EXECUTE ON ALL FUNCTIONS IN SCHEMA fastclust, fastclust_internal FROM stranger');

# ---- a role that may call no function of the extension writes a followed table ----
$server->query('GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA fastclust, fastclust_internal TO alice; REVOKE USAGE ON SCHEMA fastclust, fastclust_internal FROM PUBLIC');
my $writes = "INSERT INTO hers.times VALUES (ARRAY[3, 4], 'today'); INSERT INTO hers.mixed VALUES (1, 'red'); UPDATE hers.mixed SET n = n + 1, colour = 'blue'; DELETE FROM hers.mixed WHERE n = 5; DELETE FROM hers.times WHERE x = '{1,2}'";
gives('alice', "SET client_min_messages = error; CREATE TABLE hers.times AS SELECT ARRAY[i, 2]::numeric[] AS x, now()::timestamp AS at FROM generate_series(1, 9) i; SELECT keep_sketch('times', 'hers.times', 'x', s, '{\"bucket\": \"at\"}') FROM spec;
	CREATE TABLE hers.mixed AS SELECT i AS n, (ARRAY['red', 'blue'])[1 + i % 2] AS colour FROM generate_series(1, 90) i; SELECT train('mixed', 'hers.mixed', ARRAY['n', 'colour'], 2, options => '{\"live\": true, \"quiet\": true}');
	SELECT train('dense', 'hers.mixed', 'n', method => 'density', options => '{\"live\": true, \"quiet\": true, \"micro_clusters\": 20, \"min_cluster_rows\": 9}');
	GRANT ALL ON hers.times, hers.mixed TO stranger; GRANT USAGE ON SCHEMA hers TO stranger", "9\n1\n1", 'alice follows columns of other types and a model of method density');
gives('stranger', $writes, '', 'a role that may call no function writes these tables');
gives('alice', "SELECT count(*) FROM (SELECT * FROM check_sketch('times') UNION ALL SELECT * FROM check_sketch('mixed') UNION ALL SELECT * FROM check_sketch('dense')) d", 0, 'the live sketches are exact');
# Row-level security hides rows of the followed table.
$server->query('GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA fastclust, fastclust_internal TO reader');
gives('alice', "CREATE POLICY low ON hers.mixed USING (n < 40); ALTER TABLE hers.mixed ENABLE ROW LEVEL SECURITY; GRANT SELECT ON hers.mixed TO reader; SELECT grant_model('mixed', 'reader'), grant_model('dense', 'reader')",
	'|', 'alice hides rows of a table whose model is shared');
for my $live ('mixed', 'dense') {
	refused('reader', "SELECT * FROM $_", '(42501|42704)', "a reader who sees some of the rows does not read $_")
		for "current_sketch('$live')", "current_sketches('$live')", "check_sketch('$live')", "fastclust_internal.model_groups('$live', NULL, true)", "drift('$live')";
	gives('reader', "SELECT (SELECT n FROM drift('$live', 'hers.mixed')) = count(*), count(predict('$live', r)) = count(*), max(n) < 40 FROM hers.mixed r", 't|t|t', "a reader labels and checks the rows that he sees with model $live");
}
gives('bob', "CREATE TABLE his.amounts (x his.amount); GRANT ALL ON his.amounts TO stranger; GRANT USAGE ON SCHEMA his TO stranger", '', 'bob has a table with a type of his');
$server->query("GRANT EXECUTE ON ALL FUNCTIONS IN SCHEMA fastclust, fastclust_internal TO bob");
gives('bob', "SELECT keep_sketch('amounts', 'his.amounts', 'x', s) FROM spec; REVOKE EXECUTE ON FUNCTION his.vector(his.amount) FROM PUBLIC", 0, 'bob follows it by a cast that only he may call');
refused('stranger', "INSERT INTO his.amounts VALUES (ROW(1))", '42501', 'a writer of the table then needs EXECUTE on that cast');

done_testing();
