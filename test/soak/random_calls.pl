#!/usr/bin/perl
# random_calls.pl [--calls N] [--seed S] [--jobs J] [--batch B] [--verbose]: calls everything in
# the catalog with ordinary and nasty values, as a superuser and as a plain role, in the fresh
# server that PGHOST names.  Nothing may crash, fail with an internal error or a syntax error
# of its own making, write past its memory, or go on 5 s after a timeout.
# Prints each such call with its seed and batch; --batch runs that one again, call by call.
use strict;
use warnings;
use File::Basename qw(dirname);
use lib dirname(__FILE__);
use Getopt::Long;
use Storable qw(store_fd fd_retrieve);
use Time::HiRes qw(time sleep);
use Wire;
use Pool;

my ($calls, $seed, $jobs, $only_batch, $verbose) = (20000, 1, 1);
GetOptions('calls=i' => \$calls, 'seed=i' => \$seed, 'jobs=i' => \$jobs, 'batch=i' => \$only_batch, 'verbose' => \$verbose) or exit 2;

my $size = 32;                  # calls of a batch
my $timeout = 0.25;             # seconds of a batch; of one in fifty $long
my $long = 4;
my $grace = 5;                  # seconds that a cancel may take
my $sessions = 150;             # batches of a session
my $shown = 20;                 # failures that are printed in full

$| = 1;
my ($catalog, $values, $maker) = Pool::prepare(Wire->new, $seed);
print "# pool: ", join(', ', map { scalar(@{$values->{pool}{$_->{oid}}}) . " $_->{plain}" } Pool::own_types($catalog)), "\n";

# ---- batches ----

# {calls, targets, prologue, timeout} of a number; the same seed gives the same.
sub batch
{
	my ($number) = @_;
	srand(($seed * 1000003 + $number) % 2**32);
	$values->{nastiness} = Values::one(0.02, 0.1, 0.3, 0.6, 1);
	my $limit = Values::chance(0.02) ? $long : $timeout;
	my $prologue = "SET statement_timeout = '" . 1000 * $limit . "ms'; BEGIN; SET LOCAL lock_timeout = '100ms'; SET LOCAL search_path = fastclust, soak";
	$prologue .= '; SET LOCAL ROLE ' . Values::one('soak_plain', 'soak_plain', 'soak_other') if Values::chance(0.3);
	for my $setting (@{$catalog->{settings}})
	{
		$prologue .= "; SET LOCAL $setting->{name} = '" . Values::one($setting->{lowest} // 'x', $setting->{lowest} // 'x', $setting->{highest} // 'y') . "'"
			if Values::chance(0.05) && $setting->{type} =~ /^(integer|real)$/;
	}
	$prologue .= '; ' . Values::one("SET LOCAL search_path = ''", 'SET LOCAL search_path = soak, pg_catalog', 'SET LOCAL work_mem = 64',
		'SET LOCAL enable_hashagg = off; SET LOCAL enable_sort = off', 'SET LOCAL enable_hashjoin = off; SET LOCAL enable_nestloop = off',
		'SET LOCAL extra_float_digits = -15', "SET LOCAL bytea_output = 'escape'") if Values::chance(0.2);
	my @pairs = map { [$maker->random_call] } 1 .. $size;
	return {number => $number, limit => $limit, prologue => $prologue, calls => [map { $_->[0] } @pairs], targets => [map { $_->[1] } @pairs],
		composite => [map { $_->[2] } @pairs]};
}

# Calls from the batch, together: {states, answer}.
sub run_calls
{
	my ($session, $batch, @texts) = @_;
	my $array = 'ARRAY[' . join(', ', map { Values::quote($_) } @texts) . ']';
	my $answer = $session->query("$batch->{prologue}; SELECT unnest(soak.try($array)); ROLLBACK", $batch->{limit} + $grace);
	# the cancel may come between calls
	$session->query('ROLLBACK') if $answer->{ready} && $answer->{error};
	return {states => [map { $_->[0] } @{$answer->{rows}}], answer => $answer};
}

# ---- one job: every so many batches ----

sub note_failure
{
	my ($job, $batch, $i, $why) = @_;
	my $call = $batch->{calls}[$i];
	$job->{failures}{$batch->{targets}[$i] . ': ' . substr($why, 0, 60)}++ or do {
		print "# failure in $batch->{targets}[$i]: $why\n  seed $seed, batch $batch->{number}, call $i; $batch->{prologue}\n  ",
			$job->{told}++ < $shown ? literal($job, $call) : substr($call, 0, 500), "\n";
	};
}

# The statement with values of the pool written out, where they are short.
sub literal
{
	my ($job, $call) = @_;
	my $session = eval { Wire->new } or return $call;
	$call =~ s{\(SELECT v FROM (soak\.p_\w+) WHERE i = (\d+)\)}{
		my ($row) = $session->rows("SELECT quote_literal(v::text) || '::' || pg_typeof(v) FROM $1 WHERE i = $2");
		length($row->[0]) < 400 ? $row->[0] : "(SELECT v FROM $1 WHERE i = $2)" }ge;
	$session->close;
	return $call;
}

# Did this backend crash, or was it only ended because another had?
sub crashed
{
	my ($pid) = @_;
	for (1 .. 20)
	{
		open my $log, '<', "$ENV{PGHOST}/log" or return 1;
		return 1 if grep { /\(PID $pid\) was terminated by signal/ } <$log>;
		sleep 0.1;
	}
	return 0;
}

# After a crash: which call of the batch was it?
sub find_crash
{
	my ($job, $batch, $from) = @_;
	for my $i ($from .. $#{$batch->{calls}})
	{
		my $session = Wire->new(patience => 120);
		my $result = run_calls($session, $batch, $batch->{calls}[$i]);
		next if $result->{answer}{ready};
		return note_failure($job, $batch, $i, $result->{answer}{late} ? 'does not end' : 'the server crashed');
	}
	note_failure($job, $batch, $from, "the server crashed in one of the calls from here on, but in none of them alone");
}

# It does not end: end it.
sub end_late
{
	my ($job, $batch, $i, $session) = @_;
	note_failure($job, $batch, $i, "goes on $grace s after the timeout of $batch->{limit} s (or another from here on)");
	my $other = Wire->new;
	$other->query("SELECT pg_terminate_backend($session->{backend})");
	$session->answer(60);
	$other->close;
}

# States of calls from $from on; where to go on.
sub note_states
{
	my ($job, $batch, $from, $states) = @_;
	for my $i ($from .. $from + $#$states)
	{
		my $state = $states->[$i - $from];
		$job->{calls}++;
		$job->{states}{substr $state, 0, 5}++;
		$job->{targets}{$batch->{targets}[$i]}{substr $state, 0, 5}++;
		# who hands over a record of SQL fragments writes that SQL
		note_failure($job, $batch, $i, $state) if length $state > 5 && !($state =~ /^42601/ && $batch->{composite}[$i]);
	}
	return $from + @$states;
}

sub run_batch
{
	my ($job, $batch, $together) = @_;
	my $at = 0;
	while ($at < @{$batch->{calls}})
	{
		my $session = $job->{session} //= Wire->new(patience => 120);
		my $last = $together ? $#{$batch->{calls}} : $at;
		my $result = run_calls($session, $batch, @{$batch->{calls}}[$at .. $last]);
		my $answer = $result->{answer};
		if (!$answer->{ready})
		{
			$job->{session} = undef;
			$answer->{late} ? end_late($job, $batch, $at, $session) : crashed($session->{backend}) ? find_crash($job, $batch, $at) : next;
			return;
		}
		continue_after($job, $batch, \$at, $result) or last;
		if (grep { $_->{M} =~ /detected write past|problem in/ } @{$answer->{notices}})
		{
			$together ? run_batch($job, $batch, 0) : note_failure($job, $batch, $at - 1, 'wrote past its memory');
			return if $together;
		}
	}
}

sub continue_after
{
	my ($job, $batch, $at, $result) = @_;
	my $error = $result->{answer}{error};
	$$at = note_states($job, $batch, $$at, $result->{states});
	# cancelled outside of a call, or the prologue failed
	$$at++ if $error && !@{$result->{states}};
	note_failure($job, $batch, $$at < @{$batch->{calls}} ? $$at : $#{$batch->{calls}}, "$error->{C} $error->{M}") if $error && $error->{C} =~ /^XX/;
	return 1;
}

sub run_job
{
	my ($first) = @_;
	my $job = {failures => {}, states => {}, targets => {}, calls => 0, told => 0};
	my ($number, $done, $start) = ($first, 0, time);
	while ($number * $size < $calls)
	{
		run_batch($job, batch($number), 1);
		$number += $jobs;
		if (++$done % $sessions == 0)
		{
			$job->{session}->close if $job->{session};
			$job->{session} = undef;
		}
		printf "# job %d: %d calls, %.0f/s\n", $first, $job->{calls}, $job->{calls} / (time - $start) if $verbose && $done % 100 == 0;
	}
	delete $job->{session};
	return $job;
}

# ---- all jobs, and what they found ----

if (defined $only_batch)
{
	my $job = {failures => {}, states => {}, targets => {}, calls => 0, told => 0};
	my $batch = batch($only_batch);
	print "$batch->{prologue}\n", map { "$_: $batch->{calls}[$_]\n" } 0 .. $#{$batch->{calls}};
	run_batch($job, $batch, 0);
	exit(%{$job->{failures}} ? 1 : 0);
}

my $start = time;
my @pipes;
for my $number (0 .. $jobs - 1)
{
	pipe(my $in, my $out) or die $!;
	if (!fork)
	{
		store_fd(run_job($number), $out);
		CORE::close($out);
		exit 0;
	}
	CORE::close($out);
	push @pipes, $in;
}

my %total = (calls => 0);
for my $pipe (@pipes)
{
	my $job = eval { fd_retrieve($pipe) } or do { $total{failures}{"a job died"}++; next };
	$total{calls} += $job->{calls};
	$total{states}{$_} += $job->{states}{$_} for keys %{$job->{states}};
	$total{failures}{$_} += $job->{failures}{$_} for keys %{$job->{failures}};
	for my $target (keys %{$job->{targets}})
	{
		$total{targets}{$target}{$_} += $job->{targets}{$target}{$_} for keys %{$job->{targets}{$target}};
	}
}
1 while wait != -1;

my @never = grep { !$total{targets}{$_}{'00000'} } sort keys %{$total{targets}};
if ($verbose)
{
	print "# $_: $total{states}{$_}\n" for sort keys %{$total{states}};
	for my $target (@never)
	{
		print "# always an error: $target (", join(', ', map { "$_: $total{targets}{$target}{$_}" } sort keys %{$total{targets}{$target}}), ")\n";
	}
	print "# no values of type $_\n" for sort keys %{$values->{unknown}};
}
my $good = $total{states}{'00000'} // 0;
my $figures = sprintf '%d calls of %d things, %d without an error, %d things always with one, seed %d, %.0f calls/s',
	$total{calls}, scalar keys %{$total{targets}}, $good, scalar @never, $seed, $total{calls} / (time - $start);
if (%{$total{failures} // {}})
{
	print "#   $total{failures}{$_} times: $_\n" for sort keys %{$total{failures}};
	print "not ok random calls: ", scalar(keys %{$total{failures}}), " kinds of failure; $figures\n";
	exit 1;
}
print "ok random calls: $figures\n";
