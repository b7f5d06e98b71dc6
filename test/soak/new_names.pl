#!/usr/bin/perl
# new_names.pl [--seconds N] [--jobs J] [--verbose]: fresh backends with a few statements each train
# and drop models with the same few names concurrently, in the server that PGHOST names. They use
# several roles, short lock and statement timeouts, nowait and rollbacks. No statement may crash the
# server or fail with an undocumented error.
use strict;
use warnings;
use File::Basename qw(dirname);
use lib dirname(__FILE__);
use Getopt::Long;
use Time::HiRes qw(time sleep);
use Batches;
use Wire;

my ($seconds, $jobs, $seed, $verbose) = (60, 8, 1);
GetOptions('seconds=i' => \$seconds, 'jobs=i' => \$jobs, 'seed=i' => \$seed, 'verbose' => \$verbose) or exit 2;
$| = 1;

BEGIN { *one = \&Values::one; *chance = \&Values::chance; }

Wire->new->rows(<<'SQL');
CREATE EXTENSION IF NOT EXISTS fastclust;
CREATE ROLE new_a LOGIN; CREATE ROLE new_b LOGIN; CREATE ROLE new_c LOGIN; GRANT new_a TO new_c;
CREATE TABLE public.few AS SELECT ARRAY[i % 3, i % 7]::real[] AS x, i % 3 AS g FROM generate_series(1, 200) i;
GRANT SELECT ON public.few TO PUBLIC;
SQL

# Documented errors: lock not available, timeout, model of another role, no such model, model with
# groups, deadlock.
my $documented = qr/^(55P03|57014|42501|42704|42809|40P01)$/;

sub statement
{
	my $name = 'name_' . int rand 5;
	my @options = ('"quiet": true', chance(0.5) ? '"nowait": true' : (), chance(0.1) ? '"group_by": "g"' : ());
	my $options = "'{" . join(', ', @options) . "}'";
	my $train = "SELECT fastclust.train('$name', 'public.few', 'x', 2, options => $options)";
	return one($train, $train, $train, "SELECT fastclust.drop_model('$name')", "SELECT fastclust.retrain('$name', $options)",
		"BEGIN; $train; ROLLBACK", "BEGIN; SAVEPOINT s; $train; ROLLBACK TO s; $train; COMMIT", "SELECT fastclust.predict('$name', '{1,2}'::real[])",
		"BEGIN; SELECT fastclust.drop_model('$name'); $train; COMMIT", "SELECT fastclust.grant_model('$name', 'new_b')",
		"DO \$\$ BEGIN PERFORM fastclust.train('$name', 'public.few', 'x', 2, options => $options); RAISE division_by_zero; EXCEPTION WHEN division_by_zero THEN NULL; END \$\$");
}

# Runs a statement and records its outcome. Returns false if the session has ended.
sub say_it
{
	my ($batches, $session, $sql, $all) = @_;
	my $batch = {name => "seed $seed", prologue => $all, calls => [$sql], targets => ['a fresh backend'], composite => [0]};
	my $answer = $session->query($sql, 60);
	my $state = $answer->{error} ? $answer->{error}{C} : '00000';

	$batches->{calls}++;
	$batches->{states}{$state}++;
	$batches->{targets}{$sql =~ s/.*(train|drop_model|retrain|grant_model|predict).*/$1/r}{$state}++;
	if (!$answer->{ready})
	{
		$batches->note_failure($batch, 0, $answer->{late} ? 'does not end' : 'the server crashed') if $answer->{late} || Batches::crashed($session->{backend});
		return 0;
	}
	$batches->note_failure($batch, 0, "$state $answer->{error}{M}") if $answer->{error} && $state !~ $documented;
	# A timeout may also interrupt the rollback.
	return !$answer->{error} || !$session->query('ROLLBACK')->{error};
}

# Runs a few statements in a new session.
sub live
{
	my ($batches) = @_;
	my $session = Wire->new(user => one('postgres', 'new_a', 'new_b', 'new_c'), patience => 120);
	my @said = ("SET client_min_messages = warning");
	push @said, "SET lock_timeout = '" . one('1ms', '2ms', '10ms', '100ms') . "'" if chance(0.6);
	push @said, "SET statement_timeout = '" . one('1ms', '5ms', '20ms', '50ms', '1s') . "'" if chance(0.4);
	push @said, map { statement() } 1 .. one(1, 1, 2, 3);
	for my $sql (@said)
	{
		say_it($batches, $session, $sql, join('; ', @said)) or return;
	}
	$session->close;
}

sub work
{
	my ($number) = @_;
	my $batches = Batches->new;
	my $end = time + $seconds;
	srand $seed + $number;
	while (time < $end)
	{
		live($batches);
		$batches->{batches}++;
	}
	$batches->{targets}{'a fresh backend'}{'00000'} += $batches->{batches};
	return $batches;
}

my $all = Batches::of_jobs($jobs, \&work);
my $backends = $all->{targets}{'a fresh backend'}{'00000'};
exit($all->tell('new names', $verbose, "$backends backends, $jobs at once, $seconds s") ? 0 : 1);
