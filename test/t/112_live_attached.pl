# A table with a live sketch becomes a partition, or a child of it gets a second parent: its sketch says that it has lost its table, until that is over.
# Some minor versions of PostgreSQL let no table with such triggers become a partition; then all stays as it was.
use strict;
use warnings;
use File::Basename qw(dirname);
use lib dirname(__FILE__);
use Test::More;
use FastclustTest;

my $server = FastclustTest->new(extension => 1);
$server->query(<<'SQL');
CREATE TABLE made AS SELECT sketch_spec(2, 50, 1.0) AS s;
CREATE TABLE log (id integer, shop text, x double precision[]) PARTITION BY LIST (shop);
CREATE TABLE old (id integer, shop text, x double precision[]);
INSERT INTO old SELECT i, 'c', ARRAY[i % 5, i % 3] FROM generate_series(1, 300) i;
SELECT keep_sketch('old', 'old', 'x', s) FROM made;
SELECT train('of old rows', 'old', 'x', 3, 'compressive', '{"live": true, "quiet": true}');
SQL

# What a statement says, without where.
sub said
{
	my ($sql) = @_;
	my ($status, $output, $messages) = $server->try($sql);
	return $output . $messages;
}

my ($refused, undef, $messages) = $server->try("ALTER TABLE log ATTACH PARTITION old FOR VALUES IN ('c')");
if ($refused)
{
	like($messages, qr/prevents table "old" from becoming a partition/, 'the server refuses it');
	is(said("UPDATE old SET x = '{1,1}' WHERE id <= 10; SELECT row_count(current_sketch('old')), (SELECT count(*) FROM check_sketch('old'))"), '300|0', 'and the sketch is exact');
	done_testing();
	exit;
}
like($messages, qr/WARNING:  live sketch "$_" has lost its table\nDETAIL:  public\.old is a part of public\.log now.*\nHINT:  Follow public\.log\./, "attaching warns of $_") for 'old', 'of old rows';
like(said("UPDATE log SET x = '{1,1}' WHERE shop = 'c' AND id <= 10; SELECT current_sketch('old')"),
	qr/ERROR:  live sketch "old" has lost its table\nDETAIL:  Table public\.old is a part of public\.log\./, 'readers get an error');
like(said("SELECT rebuild_sketch('old')"), qr/ERROR:  public\.old cannot be followed by a live sketch\n.*\nHINT:  Follow public\.log;/, 'as long as it is a part');
like(said("SELECT n, verdict FROM drift('of old rows')"), qr/^300\|.*WARNING:  live sketch "of old rows" has lost its table: rows are read/s, 'drift reads the rows, and warns');
like(said("SELECT retrain('of old rows')"), qr/of old rows/, 'retraining tells it, too');
like(said("ALTER TABLE log DETACH PARTITION old; SELECT current_sketch('old')"), qr/DETAIL:  Table public\.old became a part of public\.log\./, 'detached, it has to be counted anew');
is(said("SELECT rebuild_sketch('old')"), '300', 'and can be');
is(said("SELECT row_count(current_sketch('old')), (SELECT count(*) FROM check_sketch('old'))"), '300|0', 'and is exact');

# a child gets a second parent, by which statements fire none of its triggers
$server->query(<<'SQL');
CREATE TABLE one (id integer, x double precision[]);
CREATE TABLE two (id integer, x double precision[]);
CREATE TABLE child () INHERITS (one);
INSERT INTO child SELECT i, ARRAY[i % 5, i % 3] FROM generate_series(1, 300) i;
SELECT keep_sketch('one', 'one', 'x', s) FROM made;
SQL
like(said('ALTER TABLE child INHERIT two'), qr/WARNING:  live sketch "one" has lost its table\nDETAIL:  public\.child is a part of public\.two now/, 'a second parent is told');
like(said("DELETE FROM two WHERE id <= 3; SELECT current_sketch('one')"), qr/DETAIL:  Table public\.child is a part of public\.two\./, 'readers get an error');
like(said("SELECT rebuild_sketch('one')"), qr/ERROR:  public\.one cannot be followed by a live sketch/, 'as long as it has two');
like(said("ALTER TABLE child NO INHERIT two; SELECT current_sketch('one')"), qr/DETAIL:  Table public\.child became a part of public\.two\./, 'with one, it has to be counted anew');
is(said("SELECT rebuild_sketch('one')"), '297', 'and is');
is(said("SELECT row_count(current_sketch('one')), (SELECT count(*) FROM check_sketch('one'))"), '297|0', 'and is exact');
done_testing();
