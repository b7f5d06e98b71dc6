#!/usr/bin/perl
# random_calls.pl [--calls N] [--seed S] [--jobs J] [--batch B] [--verbose]: calls everything in the
# catalog with ordinary and unusual values, as a superuser and as plain roles, in the fresh server
# that PGHOST names. Batches.pm defines a failure. Prints each failing call with its seed and batch;
# --batch runs that batch again, in a fresh server with the same seed.
use strict;
use warnings;
use File::Basename qw(dirname);
use lib dirname(__FILE__);
use Getopt::Long;
use Time::HiRes qw(time);
use Batches;
use Pool;
use Wire;

my ($calls, $seed, $jobs, $only_batch, $verbose) = (20000, 1, 1);
GetOptions('calls=i' => \$calls, 'seed=i' => \$seed, 'jobs=i' => \$jobs, 'batch=i' => \$only_batch, 'verbose' => \$verbose) or exit 2;

my $size = 32;                  # calls of a batch
my $timeout = 0.25;             # statement_timeout of a batch, in seconds
my $long = 4;                   # statement_timeout of one batch in fifty, in seconds

$| = 1;
my $session = Wire->new;
my ($catalog, $values, $maker) = Pool::prepare($session, $seed);
my ($assertions) = map { $_->[0] eq 'on' } $session->rows('SHOW debug_assertions');
$session->close;
print "# pool: ", join(', ', map { scalar(@{$values->{pool}{$_->{oid}}}) . " $_->{plain}" } Pool::own_types($catalog)), "\n";

BEGIN { *one = \&Values::one; *chance = \&Values::chance; }

# Returns statements that set the role and settings of a batch.
sub settings
{
	my @settings;
	push @settings, 'SET LOCAL ROLE ' . one('soak_plain', 'soak_plain', 'soak_other') if chance(0.3);
	for my $setting (grep { $_->{type} =~ /^(integer|real)$/ } @{$catalog->{settings}})
	{
		push @settings, "SET LOCAL $setting->{name} = '" . one($setting->{lowest}, $setting->{lowest}, $setting->{highest}) . "'" if chance(0.05);
	}
	push @settings, 'SET LOCAL debug_discard_caches = 1' if $assertions && chance(0.01);
	push @settings, one("SET LOCAL search_path = ''", 'SET LOCAL search_path = soak, pg_catalog', 'SET LOCAL work_mem = 64',
		'SET LOCAL enable_hashagg = off; SET LOCAL enable_sort = off', 'SET LOCAL enable_hashjoin = off; SET LOCAL enable_nestloop = off',
		'SET LOCAL extra_float_digits = -15', "SET LOCAL bytea_output = 'escape'") if chance(0.2);
	return \@settings;
}

# Returns the batch with this number, which depends only on the number and the seed.
sub batch
{
	my ($number) = @_;
	srand(($seed * 1000003 + $number) % 2**32);
	$values->{nastiness} = one(0.02, 0.1, 0.3, 0.6, 1);
	return Batches::make("seed $seed, batch $number", chance(0.02) ? $long : $timeout, settings(), $size, sub { $maker->random_call });
}

sub work
{
	my ($first) = @_;
	my $batches = Batches->new;
	my ($number, $start) = ($first, time);
	for (; $number * $size < $calls; $number += $jobs)
	{
		$batches->run(batch($number));
		printf "# job %d: %d calls, %.0f/s\n", $first, $batches->{calls}, $batches->{calls} / (time - $start)
			if $verbose && $batches->{batches} % 100 == 0;
	}
	return $batches;
}

if (defined $only_batch)
{
	my $batch = batch($only_batch);
	print "$batch->{prologue}\n", map { "$_: $batch->{calls}[$_]\n" } 0 .. $#{$batch->{calls}};
	my $batches = Batches->new;
	$batches->run($batch);
	exit($batches->tell('batch', 0, "seed $seed, batch $only_batch") ? 0 : 1);
}

my $start = time;
my $all = Batches::of_jobs($jobs, \&work);
print map { "# no values of type $_\n" } $verbose ? sort keys %{$values->{unknown}} : ();
exit($all->tell('random calls', $verbose, sprintf('seed %d, %.0f calls/s', $seed, $all->{calls} / (time - $start))) ? 0 : 1);
