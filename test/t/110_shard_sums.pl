# Citus adds up the results of shards by the first aggregate sum(type) in any schema: one made by
# another role must never run in a training.
use FastclustTest;
use CitusTest;

plan skip_all => 'Citus is not installed for this server' if !CitusTest::installed();

my $server = CitusTest->cluster(1);
$server->query(<<'SQL');
GRANT CREATE ON SCHEMA public TO PUBLIC;
CREATE ROLE alice LOGIN; CREATE ROLE bob LOGIN;
CREATE TABLE ran (by name); GRANT INSERT, SELECT ON ran TO PUBLIC;
SET ROLE alice;
CREATE TABLE items (id int, x real[]);
SELECT create_distributed_table('items', 'id');
INSERT INTO items SELECT i, ARRAY[i % 5, i % 7] FROM generate_series(1, 3000) i;
SQL
my $train = q{train('m', 'items', 'x', 3, options => '{"quiet": true}')};
my $objective = 'SELECT round(objective::numeric, 9) FROM model_versions ORDER BY version DESC LIMIT 1';

my @sent = $server->sent('items', "SET ROLE alice; SELECT $train");
isnt(scalar(grep { /fastclust_internal\.sum\(/ } @sent), 0, 'a training lets the shards send sums');
my $expected = $server->query($objective);

# Bob makes a sum of exactly the type, or of any type; schema public is older than the schemas of
# the extension, so his would be found first.
my %sums = (
	'a sum of states' => ['public.sum(fastclust_internal.aggregate_state)', 'fastclust_internal.aggregate_state'],
	'a sum of sketches' => ['public.sum(fastclust.sketch)', 'fastclust.sketch'],
	'a sum of anything' => ['public.sum(anyelement)', 'text'],
);
for my $name (sort keys %sums)
{
	my ($sum, $state) = @{$sums{$name}};
	(my $argument = $sum) =~ s/.*\((.*)\)/$1/;
	my $made = "SET ROLE bob; SET citus.enable_ddl_propagation = off;
		CREATE FUNCTION spy($state, $argument) RETURNS $state LANGUAGE plpgsql AS \$\$ BEGIN INSERT INTO public.ran VALUES (current_user); RETURN \$1; END \$\$;
		CREATE AGGREGATE $sum (SFUNC = spy, STYPE = $state)";

	$server->query($made);
	for my $call ($train, "n FROM drift('m')", "retrain('m', '{\"quiet\": true, \"sample\": \"hash\"}')")
	{
		my ($status, $output, $messages) = $server->try("SET ROLE alice; SELECT $call", verbosity => 'verbose');
		is("$status$messages", '0', "$name: alice can still SELECT $call");
	}
	is($server->query($objective), $expected, "$name: alice's model is the same");
	is($server->query('SELECT count(*) FROM ran'), 0, "$name: bob's aggregate did not run");
	$server->query("DROP AGGREGATE $sum; DROP FUNCTION spy");

	# The next aggregate is not visible in alice's snapshot.
	my $gate = $server->background('SELECT pg_advisory_lock(1); SELECT pg_sleep(600)');
	ok($server->wait_until_it_waits($gate, 'PgSleep'), "$name: a session closes a gate by an advisory lock");
	my $late = $server->background("SET ROLE alice; BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM ran; SELECT pg_advisory_xact_lock(1); SELECT $train; COMMIT");
	ok($server->wait_until_it_waits($late), "$name: alice began a transaction before");
	$server->query($made);
	$server->end($gate);
	unlike(($server->finish($late))[1], qr/ERROR/, "$name: alice trains in it");
	is($server->query('SELECT count(*) FROM ran'), 0, "$name: bob's aggregate did not run in a transaction that began before it was made");
	$server->query("DROP AGGREGATE $sum; DROP FUNCTION spy");
}
@sent = $server->sent('items', "SET ROLE alice; SELECT $train");
isnt(scalar(grep { /fastclust_internal\.sum\(/ } @sent), 0, 'the shards send sums again after the aggregates of bob are dropped');

done_testing();
