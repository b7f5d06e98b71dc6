#!/usr/bin/perl
# clients.pl [--seconds N] [--clients C] [--verbose]: pgbench clients predict with models while
# other sessions retrain them, change their version, and drop and train them, in transactions that
# commit or roll back. Starts a private server; two clients open a new connection for each
# transaction. No statement may fail, except with the documented error for a dropped model. All
# predictions of a query must come from one version, the one that the query also reads, and a
# version must always give the same predictions.
use strict;
use warnings;
use File::Basename qw(dirname);
use lib dirname(__FILE__), dirname(__FILE__) . '/../t';
use Getopt::Long;
use POSIX ();
use Time::HiRes qw(time sleep);
use FastclustTest ();
use Wire;

my ($seconds, $clients, $verbose) = (600, 16, 0);
GetOptions('seconds=i' => \$seconds, 'clients=i' => \$clients, 'verbose' => \$verbose) or exit 2;
$| = 1;

my $server = FastclustTest->new(extension => 1);
$server->make_points(1000, 3, 4);
$server->query(<<'SQL');
CREATE ROLE reader LOGIN;
CREATE VIEW drawn AS SELECT id, x FROM points WHERE random() < 0.3;
CREATE UNLOGGED TABLE answers (model text, made timestamptz, version int, kinds bigint, distance float8);
GRANT SELECT ON points, drawn, answers TO reader;
GRANT INSERT ON answers TO reader;
SELECT train(m, 'drawn', 'x', 4, options => '{"quiet": true}') FROM unnest('{retrained,rolled,passing}'::text[]) m;
SELECT retrain('rolled', '{"quiet": true}'), grant_model('retrained', 'reader'), grant_model('rolled', 'reader');

-- Stores the number of different distances that one statement gets for one row, and the version.
CREATE FUNCTION ask(name text) RETURNS void LANGUAGE sql SET search_path = fastclust, public, pg_temp AS $$
    INSERT INTO answers SELECT name, m.created_at, m.version, q.kinds, q.distance FROM fastclust_internal.readable_models m,
        (SELECT count(DISTINCT d) AS kinds, min(d) AS distance FROM (SELECT predict_distance(name, ARRAY[i * 0, 1, 2]) AS d FROM generate_series(1, 60) i) r) q
     WHERE m.model = name
$$;
CREATE FUNCTION ask_passing() RETURNS void LANGUAGE plpgsql SET search_path = fastclust, public, pg_temp AS $$
BEGIN
    PERFORM ask('passing');
EXCEPTION WHEN undefined_object THEN
    NULL;
END
$$;
SQL

# ---- sessions that train ----

my $quiet = q('{"quiet": true, "keep": 4}');
my %trainers = (
	retrain => ["SELECT retrain('retrained', $quiet)"],
	'retrain and undo' => ["BEGIN; SELECT retrain('retrained', $quiet); SELECT ask('retrained'); ROLLBACK",
		"DO \$\$ BEGIN PERFORM retrain('rolled', $quiet); PERFORM ask('rolled'); RAISE division_by_zero; EXCEPTION WHEN division_by_zero THEN PERFORM ask('rolled'); END \$\$"],
	use_version => [map({ "SELECT use_version('rolled', v) FROM (SELECT version AS v FROM model_versions WHERE model = 'rolled' ORDER BY random() LIMIT 1) q" } 1 .. 5),
		"SELECT retrain('rolled', $quiet)"],
	'drop and train' => ["SELECT drop_model('passing')", "SELECT train('passing', 'drawn', 'x', 4, options => $quiet)", 'SELECT pg_sleep(0.5)',
		"BEGIN; SELECT drop_model('passing'); SELECT train('passing', 'drawn', 'x', 4, options => $quiet); COMMIT"]);

# Runs the statements in turn until the time $end. Returns {failure => count} and the number of
# statements.
sub train_until
{
	my ($end, @statements) = @_;
	my $session = Wire->new;
	my (%failures, $count);
	$session->rows('SET client_min_messages = warning; SET search_path = public, fastclust');
	while (time < $end)
	{
		my $answer = $session->query($statements[$count++ % @statements], 300);
		next if $answer->{ready} && !$answer->{error};
		my $why = $answer->{late} ? 'no answer' : $answer->{error} ? "$answer->{error}{C} $answer->{error}{M}" : 'connection lost';
		# Another session may remove the version before use_version finds it.
		$failures{$why}++ unless $why =~ /^42704 .*has no version/ || $why =~ /^22023 .*version/;
		last unless $answer->{ready};
		$session->query('ROLLBACK');
	}
	return (\%failures, $count);
}

sub start_trainer
{
	my ($end, $name, @statements) = @_;
	my $pid = open(my $out, '-|') // die $!;
	return $out if $pid;
	my ($failures, $count) = train_until($end, @statements);
	print "$count\n", map { "$failures->{$_} times while to $name: $_\n" } sort keys %$failures;
	# Only the parent process may stop the server, so END blocks must not run here.
	POSIX::_exit(0);
}

# ---- clients that predict ----

sub script
{
	my ($name, $text) = @_;
	my $file = "$server->{directory}/$name.sql";
	open my $out, '>', $file or die $!;
	print $out $text;
	close $out;
	return $file;
}

sub start_clients
{
	my ($scripts, $count, $role, @options) = @_;
	my $log = "$server->{directory}/pgbench.$count.$role" . (@options ? '.new' : '');
	my $pid = fork // die $!;
	return [$pid, $log] if $pid;
	open STDOUT, '>', $log;
	open STDERR, '>&', \*STDOUT;
	exec(FastclustTest::program('pgbench'), '-n', '-c', $count, '-j', 2, '-T', $seconds, '-U', $role, @options, @$scripts) or POSIX::_exit(1);
}

# ---- checks of all answers ----

my @scripts = map { ('-f', $_) } script('retrained', "SELECT ask('retrained');\n"), script('rolled', "SELECT ask('rolled');\n"),
	script('passing', "SELECT ask_passing();\n"), script('both', "BEGIN;\nSELECT ask('retrained'), ask('rolled');\nSELECT ask_passing();\nCOMMIT;\n");
my $end = time + $seconds;
my @trainers = map { start_trainer($end, $_, @{$trainers{$_}}) } sort keys %trainers;
my @benches = (start_clients(\@scripts, $clients - 8, 'postgres'), start_clients(\@scripts, 6, 'reader'), start_clients(\@scripts, 2, 'postgres', '-C'));
my (@failures, $trained, $asked);
for my $bench (@benches)
{
	waitpid $bench->[0], 0;
	my $status = $?;
	open my $log, '<', $bench->[1] or die $!;
	my $text = do { local $/; <$log> };
	$asked += $1 if $text =~ /number of transactions actually processed: (\d+)/;
	push @failures, "pgbench: $1" if $text =~ /((?:error|fatal): .*)/i || ($status && $text =~ /(.+)\z/s);
}
for my $trainer (@trainers)
{
	my ($count, @lines) = <$trainer>;
	$trained += $count // 0;
	push @failures, defined $count ? map { chomp; $_ } @lines : 'a trainer died';
}

my $mixed = $server->query('SELECT count(*) FROM answers WHERE kinds <> 1');
push @failures, "$mixed queries were answered by more than one version" if $mixed;
my $unlike = $server->query('SELECT count(*) FROM (SELECT FROM answers WHERE kinds = 1 GROUP BY model, made, version HAVING count(DISTINCT distance) > 1) q');
# Answers of a retrain that was rolled back are rolled back with it; another version has its number.
push @failures, "$unlike versions answered in different ways" if $unlike;
my ($answers, $versions) = split /\|/, $server->query('SELECT count(*), count(DISTINCT (model, made, version)) FROM answers');

my $figures = sprintf '%d clients, %d s, %d transactions, %d answers of %d versions beside %d statements that train', $clients, $seconds, $asked // 0, $answers,
	$versions, $trained;
print map { "# $_\n" } @failures;
print @failures ? 'not ok clients: ' . scalar(@failures) . " kinds of failure; $figures\n" : "ok clients: no error, no mixture; $figures\n";
exit(@failures ? 1 : 0);
