#!/usr/bin/perl
# fuzz_values.pl --type TYPE [--seconds N] [--seed S] [--verbose]: sends values of the type with
# changed bytes and correct digests (from the mutator of test/fuzz) to its receive function, as
# binary parameters and by COPY, in the fresh server that PGHOST names. Then calls everything that
# takes the type with the values that are accepted. Batches.pm defines a failure.
use strict;
use warnings;
use Cwd qw(abs_path);
use File::Basename qw(dirname);
use lib dirname(__FILE__);
use Getopt::Long;
use IPC::Open2 qw(open2);
use Time::HiRes qw(time);
use Batches;
use Pool;
use Wire;

my ($name, $seconds, $seed, $verbose) = ('fastop', 60, 1);
GetOptions('type=s' => \$name, 'seconds=i' => \$seconds, 'seed=i' => \$seed, 'verbose' => \$verbose) or exit 2;

my %mutators = (sketch_spec => 'spec', sketch => 'sketch', fastop => 'operator', kernel_projection => 'kernel', kernel_map => 'kernel', encoder => 'encoder');
my $place = 1000000;            # key of the value in the table of the pool
my $size = 32;                  # calls with each value
my $limit = 0.5;                # statement_timeout of a batch of calls, in seconds

$| = 1;
my $session = Wire->new;
my ($catalog, $values, $maker) = Pool::prepare($session, $seed);
my ($type) = grep { $_->{plain} eq $name } Pool::own_types($catalog) or die "no type $name\n";
my $table = "soak.p_$type->{plain}";
my @start = map { [pack('H*', $_->[0]), $_->[1]] } $session->rows("SELECT encode($type->{send}(v), 'hex'), d FROM $table WHERE length($type->{send}(v)) < 20000 ORDER BY i");
my $mutator = dirname(abs_path(__FILE__)) . "/../../build/unit/mutate_$mutators{$name}";
-x $mutator or die "$mutator is missing: make mutators\n";
my $pid = open2(my $from, my $to, $mutator);
binmode $_ for $from, $to;

my $things = $maker->restrict_to($type->{oid});
my $batches = Batches->new;
my ($tried, $passed) = (0, 0);
my %refusals;

# Returns the bytes of a mutant, without the length word that the server stores before them.
sub mutant
{
	my ($bytes) = @_;
	syswrite $to, pack('L L', int rand 2**32, 4 + length $bytes) . "\0\0\0\0$bytes";
	my $length = unpack 'L', take(4);
	my $mutant = take($length);
	return $length < 4 ? '' : substr $mutant, 4;
}

sub take
{
	my ($length) = @_;
	my $bytes = '';
	while (length $bytes < $length)
	{
		read($from, $bytes, $length - length $bytes, length $bytes) or die "the mutator ended\n";
	}
	return $bytes;
}

# Stores the value in the pool through the receive function, and returns the answer.
sub receive
{
	my ($bytes) = @_;
	return $session->execute('receive', [$bytes], 30) if rand > 0.1;
	my $data = "PGCOPY\n\377\r\n\0" . pack('N N n', 0, 0, 1) . pack('N/a*', $bytes) . pack('n', 0xFFFF);
	my $answer = $session->copy_in("COPY soak.arrived FROM STDIN (FORMAT binary)", $data, 30);
	return $answer if $answer->{error} || !$answer->{ready};
	return $session->query("UPDATE $table SET v = a.v FROM soak.arrived a WHERE i = $place; TRUNCATE soak.arrived", 30);
}

sub open_session
{
	$session = Wire->new(patience => 120);
	$session->rows('SET client_min_messages = warning; SET search_path = fastclust, soak');
	$session->prepare('receive', "UPDATE $table SET v = \$1 WHERE i = $place", $type->{oid});
}

# Records the answer of the receive function. Returns true if it accepted the value.
sub received
{
	my ($bytes, $answer) = @_;
	$tried++;
	my $why = !$answer->{ready} ? 'the server crashed in its receive function' : $answer->{error} ? "$answer->{error}{C} $answer->{error}{M}"
		: Batches::wrote_past({answer => $answer}) ? 'it wrote past its memory' : '';
	return 1 unless $why;
	$refusals{substr $why, 0, 5}++;
	if ($why !~ /^(?!XX)[0-9A-Z]{5} /)
	{
		print "# failure: $why\n#   seed $seed, value $tried; SELECT '\\x", unpack('H*', $bytes), "'::$type->{name}\n" unless $batches->{failures}{$why}++;
		open_session() unless $answer->{ready};
	}
	return 0;
}

$session->rows("INSERT INTO $table SELECT $place, d, v FROM $table WHERE i = 0; CREATE TABLE soak.arrived (v $type->{name})");
open_session();
srand $seed;
my $end = time + $seconds;
while (time < $end)
{
	my $origin = Values::one(@start);
	my $bytes = mutant($origin->[0]);
	next unless received($bytes, receive($bytes));
	$passed++;
	$values->{pool}{$type->{oid}} = [[$place, $origin->[1]]];
	$values->{dims} = [($origin->[1]) x 10, @Values::dims];
	$values->{nastiness} = Values::one(0.02, 0.02, 0.2);
	$batches->run(Batches::make("seed $seed, value $tried", $limit, [], $size, sub { $maker->random_call }));
	push @start, [$bytes, $origin->[1]] if @start < 2000 && rand() < 0.1;
	$session->rows("VACUUM $table") if $passed % 500 == 0;
}
CORE::close($to);
waitpid $pid, 0;
print "# refused: ", join(', ', map { "$_: $refusals{$_}" } sort keys %refusals), "\n" if $verbose;
die "no value passed\n" unless $passed;
exit($batches->tell("values of $name", $verbose, sprintf('%d values, %d passed, %d things to call with them, seed %d, %d s', $tried, $passed, $things, $seed, $seconds)) ? 0 : 1);
