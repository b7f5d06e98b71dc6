#!/usr/bin/perl
# live_wait.pl [--rows N] [--writers N] [--most MS]: measures how long writers wait while
# keep_sketch with the option concurrently makes a live sketch of many rows, and while
# rebuild_sketch counts the rows, in the server that PGHOST names. Prints "not ok" if a wait exceeds
# --most ms, or if the sketch is not exact afterwards.
use strict;
use warnings;
use Getopt::Long;
use Time::HiRes qw(time sleep);
use File::Basename qw(dirname);
use lib dirname(__FILE__);
use Wire;

my ($rows, $writers, $most) = (5_000_000, 4, 50);
GetOptions('rows=i' => \$rows, 'writers=i' => \$writers, 'most=f' => \$most) or exit 2;
$| = 1;
my $wire = Wire->new;
$wire->rows("CREATE EXTENSION IF NOT EXISTS fastclust; SET search_path = public, fastclust; CREATE TABLE waited (id bigint PRIMARY KEY, x real[]);
	INSERT INTO waited SELECT i, ARRAY[i % 7, i % 11, sin(i)] FROM generate_series(1, $rows) i; CREATE TABLE waited_spec AS SELECT sketch_spec(3, 100, 1.0) AS s");

# Each writer is a process that changes one row after another until the end. It prints its longest
# wait for a lock in ms, from the server's log messages for waits from 1 ms on, and its number of
# statements.
my @told;
pipe(my $end, my $ends) or die $!;
for my $writer (1 .. $writers)
{
	my $pid = open(my $told, '-|') // die $!;
	push @told, $told;
	next if $pid;
	close $ends;
	my ($own, $longest, $count) = (Wire->new, 0, 0);
	$own->rows("SET deadlock_timeout = '1ms'; SET log_lock_waits = on; SET client_min_messages = log");
	my $ready = '';
	vec($ready, fileno($end), 1) = 1;
	until (select(my $seen = $ready, undef, undef, 0))
	{
		my $id = $rows + $writer * 100_000_000 + $count++;
		my $answer = $own->query($count % 2 ? "INSERT INTO public.waited VALUES ($id, '{1,2,3}')" : 'DELETE FROM public.waited WHERE id = ' . ($id - 1));
		die "$answer->{error}{M}\n" if $answer->{error};
		for (@{$answer->{notices} // []})
		{
			$longest = $1 if $_->{M} =~ /acquired .* after ([\d.]+) ms/ && $1 > $longest;
		}
	}
	print "$longest $count\n";
	exit;
}
close $end;
sleep 1;
my @seconds;
for my $sql ("SELECT keep_sketch('waited', 'waited', 'x', s, '{\"concurrently\": true}') FROM waited_spec", "SELECT rebuild_sketch('waited')")
{
	my $begun = time;
	$wire->rows($sql);
	push @seconds, time - $begun;
}
close $ends;
my ($longest, $count) = (0, 0);
for my $told (@told)
{
	my ($of_one, $statements) = split ' ', scalar <$told>;
	$longest = $of_one if $of_one > $longest;
	$count += $statements;
}
my ($differences) = map { $_->[0] } $wire->rows("SELECT count(*) FROM check_sketch('waited')");
printf "%s live_wait: %d rows, made in %.2f s, counted in %.1f s; of %d statements the longest wait was %.1f ms\n", $longest <= $most ? 'ok' : 'not ok', $rows, @seconds, $count, $longest;
print $differences == 0 ? 'ok' : 'not ok', " live_wait: $differences differences\n";
