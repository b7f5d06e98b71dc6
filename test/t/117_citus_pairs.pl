# Any two operations on models and their tables work in one transaction on Citus, or the second is
# an error that says why. PAIRS_TABLES (distributed) lists kinds of tables; make soak takes all.
use FastclustTest;
use CitusTest;

plan skip_all => 'Citus is not installed for this server' if !CitusTest::installed();

my $server = CitusTest->cluster(1);
$server->query(<<'SQL');
CREATE ROLE reader;
CREATE TABLE single AS SELECT i AS id, ARRAY[i % 3 * 9 + i % 7 / 7.0, i % 2 * 5 + i % 11 / 11.0]::real[] AS x FROM generate_series(1, 900) i;
CREATE TABLE distributed (LIKE single); CREATE TABLE reference (LIKE single); CREATE TABLE managed (LIKE single);
SELECT create_distributed_table('distributed', 'id', shard_count => 4);
SELECT create_reference_table('reference');
SELECT citus_add_local_table_to_metadata('managed');
INSERT INTO distributed TABLE single; INSERT INTO reference TABLE single; INSERT INTO managed TABLE single;
SELECT distribute_models();
SQL

my %do = (
	train => q{train('m', 'TABLE', 'x', 3, options => '{"quiet": true}')},
	retrain => q{retrain('m', '{"quiet": true}')},
	grant => q{grant_model('m', 'reader')},
	drop => q{drop_model('m')},
	drift => q{verdict FROM drift('m')},
	score => q{count(*) FROM score('m')},
	index_health => q{count(*) FROM index_health('TABLE', 'x')},
	insert => undef,
	count => q{count(*) FROM TABLE},
	predict => q{count(predict('m', x)) FROM TABLE},
);
sub statement
{
	my ($what, $table) = @_;
	return "INSERT INTO $table VALUES (1, '{1,1}')" if $what eq 'insert';
	return 'SELECT ' . $do{$what} =~ s/TABLE/$table/r;
}

for my $table (split /,/, $ENV{PAIRS_TABLES} // 'distributed')
{
	my @failed;
	$server->query(statement('train', $table));
	for my $first (sort keys %do)
	{
		for my $second (sort keys %do)
		{
			my ($status, undef, $messages) = $server->try('BEGIN; ' . statement($first, $table) . '; ' . statement($second, $table) . '; ROLLBACK');
			next if $status == 0 || ($first eq 'drop' && $messages =~ /\AERROR:  (model "m" does not exist|no model was trained on column)/);
			push @failed, "$first, $second: $messages";
		}
	}
	is(join("\n", @failed), '', "$table: each pair of operations works or is an error that says why");
	$server->query("SELECT drop_model('m')");
}
done_testing();
