# A table whose rows are in shards of Citus cannot have a live sketch, even if Citus allows its
# triggers: the error has the recipe, sketches of days that are kept and merged, and the recipe
# works.
use FastclustTest;
use CitusTest;

plan skip_all => 'Citus is not installed for this server' if !CitusTest::installed();

my $server = CitusTest->cluster(1);
$server->query(<<'SQL');
CREATE TABLE spec AS SELECT sketch_spec(2, 20, 1.0) AS s;
CREATE TABLE distributed (id int, at date, x real[]); CREATE TABLE reference (LIKE distributed); CREATE TABLE managed (LIKE distributed); CREATE TABLE plain (LIKE distributed);
SELECT create_distributed_table('distributed', 'id'), create_reference_table('reference');
SELECT citus_add_local_table_to_metadata('managed');
INSERT INTO distributed SELECT i, date '2026-01-01' + i % 10, ARRAY[i, i % 7] FROM generate_series(1, 500) i;
SQL
for my $table (qw(distributed reference managed))
{
	for my $unsafe (qw(off on))
	{
		like(($server->try("SET citus.enable_unsafe_triggers = $unsafe; SELECT keep_sketch('live', '$table', 'x', (SELECT s FROM spec))", verbosity => 'verbose'))[2],
			qr/0A000: (public\.)?$table cannot be followed.*shards of Citus.*sketch_agg for each hour/s, "a $table table with unsafe triggers $unsafe is an error with the recipe");
	}
}
$server->query("SELECT keep_sketch('live', 'plain', 'x', (SELECT s FROM spec)); INSERT INTO plain VALUES (1, '2026-01-01', '{1,2}')");
is($server->query("SELECT row_count(current_sketch('live'))"), 1, 'a plain table next to them can be followed');

# ---- the recipe of the error ----
$server->query('CREATE TABLE days (day date PRIMARY KEY, s sketch)');
my $renew = sub {
	$server->query("SELECT format('INSERT INTO days SELECT at, sketch_agg(x, %L) FROM distributed WHERE at >= %L GROUP BY at ON CONFLICT (day) DO UPDATE SET s = EXCLUDED.s', s, '$_[0]') FROM spec \\gexec");
};
my $exact = 'SELECT same_rows((SELECT merge_agg(s) FROM days), (SELECT sketch_agg(x, (SELECT s FROM spec)) FROM distributed))';
$renew->('2026-01-01');
is($server->query($exact), 't', 'sketches of days merge to the sketch of the table');
$server->query("UPDATE distributed SET x = '{9,9}' WHERE id % 10 = 9; INSERT INTO distributed VALUES (1000, '2026-01-12', '{3,4}')");
is($server->query($exact), 'f', 'a change of the table changes its sketch');
$renew->('2026-01-09');
is($server->query($exact), 't', 'renewing the sketches of the changed days follows the change');
done_testing();
