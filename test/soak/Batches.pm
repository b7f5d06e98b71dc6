# Batches - runs batches of calls (see Calls) in one session after another, and records every call
# that crashes the server, fails with an internal error or with a syntax error in SQL that the
# extension wrote, writes past its memory, or continues after a timeout.
package Batches;

use strict;
use warnings;
use Storable qw(store_fd fd_retrieve);
use Time::HiRes qw(time sleep);
use Values;
use Wire;

our $grace = 5;                 # maximum CPU seconds from a timeout to the end of the statement
our $slow_grace = 60;           # the same with debug_discard_caches, which slows the server down
my $in_session = 150;           # maximum batches of a session
my $shown = 20;                 # failures printed with their stored values

# Returns an empty collection of results. A batch is {name, prologue, limit, grace, calls, targets,
# composite}: calls are statements, targets the object that each one calls, and composite whether
# that object takes records; limit is the statement_timeout of the whole batch in seconds.
sub new { my ($class) = @_; return bless {failures => {}, states => {}, targets => {}, calls => 0, batches => 0}, $class; }

# Returns a batch of $size calls. $next->() returns (statement, target, composite) of one call.
sub make
{
	my ($name, $limit, $settings, $size, $next) = @_;
	my $prologue = join '; ', "SET statement_timeout = '" . 1000 * $limit . "ms'", 'BEGIN', "SET LOCAL lock_timeout = '100ms'",
		'SET LOCAL search_path = fastclust, soak', @$settings;
	my @all = map { [$next->()] } 1 .. $size;
	return {name => $name, limit => $limit, grace => $prologue =~ /debug_discard_caches/ ? $slow_grace : $grace, prologue => $prologue, map { my $part = $_; ((qw(calls targets composite))[$part] => [map { $_->[$part] } @all]) } 0 .. 2};
}

# Runs these calls of the batch in one statement and returns {states, answer}.
sub try
{
	my ($session, $batch, @texts) = @_;
	my $array = 'ARRAY[' . join(', ', map { Values::quote($_) } @texts) . ']';
	my $answer = $session->query("$batch->{prologue}; SELECT unnest(soak.try($array)); ROLLBACK", $batch->{limit} + $batch->{grace}, processor => 1);
	# A cancel between two calls leaves the transaction open.
	$session->query('ROLLBACK') if $answer->{ready} && $answer->{error};
	return {states => [map { $_->[0] } @{$answer->{rows}}], answer => $answer};
}

sub run
{
	my ($self, $batch) = @_;
	my ($at, $lost) = (0, 0);
	while ($at < @{$batch->{calls}})
	{
		my $session = $self->{session} //= Wire->new(patience => 120);
		my $result = try($session, $batch, @{$batch->{calls}}[$at .. $#{$batch->{calls}}]);
		if ($result->{answer}{ready})
		{
			$at = $self->note_states($batch, $at, $result);
			$self->find_alone($batch, qr/detected write past|problem in/, 'wrote past its memory') if wrote_past($result);
			next;
		}
		$self->{session} = undef;
		next if !$result->{answer}{late} && !crashed($session->{backend}) && ++$lost < 3;
		$result->{answer}{late} ? $self->end_late($batch, $at, $session) : $self->find_alone($batch, undef, 'the server crashed');
		last;
	}
	return if ++$self->{batches} % $in_session || !$self->{session};
	$self->{session}->close;
	$self->{session} = undef;
}

sub wrote_past { my ($result) = @_; return grep { $_->{M} =~ /detected write past|problem in/ } @{$result->{answer}{notices}}; }

# Records the states of the calls from number $at on. Returns the number of the next call to run.
sub note_states
{
	my ($self, $batch, $at, $result) = @_;
	for my $state (@{$result->{states}})
	{
		my $short = substr $state, 0, 5;
		$self->{calls}++;
		$self->{states}{$short}++;
		$self->{targets}{$batch->{targets}[$at]}{$short}++;
		# SQL in an argument (a query, a condition, a record of fragments) may have syntax errors.
		# PostgreSQL 13 calls writes to a generated column syntax errors.
		my $own = $short eq '42601' && ($batch->{composite}[$at] || $batch->{targets}[$at] =~ /write_rows|prepare_target|run_latest|reject_labelled|reject_repeated/ || $state =~ /^42601 (?:option "where"|cannot insert into column|column "\w+" can only be updated)/ || $batch->{targets}[$at] =~ /^fastclust\.change_points\(/);
		$self->note_failure($batch, $at, $state) if length $state > 5 && !$own;
		$at++;
	}
	my $error = $result->{answer}{error};
	$self->note_failure($batch, $at, "$error->{C} $error->{M}") if $error && $error->{C} =~ /^XX/;
	return $at + ($error && !@{$result->{states}} ? 1 : 0);
}

# Records the first call of the batch that crashes when it runs alone or, if $notice is given, has
# a notice that matches.
sub find_alone
{
	my ($self, $batch, $notice, $why) = @_;
	for my $i (0 .. $#{$batch->{calls}})
	{
		my $session = Wire->new(patience => 120);
		my $answer = try($session, $batch, $batch->{calls}[$i])->{answer};
		return $self->note_failure($batch, $i, $answer->{late} ? 'does not end' : $why)
			if $notice ? grep { $_->{M} =~ $notice } @{$answer->{notices}} : !$answer->{ready};
		$session->close;
	}
	$self->note_failure($batch, 0, "$why in one of the calls of its batch, but in none of them alone");
}

# Records a call that continues after the timeout, and terminates its backend.
sub end_late
{
	my ($self, $batch, $at, $session) = @_;
	$self->note_failure($batch, $at, "goes on $batch->{grace} s after the timeout of $batch->{limit} s (or another from here on)");
	my $other = Wire->new;
	$other->query("SELECT pg_terminate_backend($session->{backend})");
	$session->answer(60);
	$other->close;
}

# Returns whether this backend crashed, and was not merely stopped because another one had crashed.
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

sub note_failure
{
	my ($self, $batch, $at, $why) = @_;
	$at = $#{$batch->{calls}} if $at > $#{$batch->{calls}};
	my $kind = "$batch->{targets}[$at]: " . substr($why, 0, 60);
	return if $self->{failures}{$kind}++;
	my $call = $batch->{calls}[$at];
	print "# failure in $batch->{targets}[$at]: $why\n#   $batch->{name}, call $at; $batch->{prologue}\n#   ",
		keys %{$self->{failures}} <= $shown ? literal($call) : substr($call, 0, 500), "\n";
}

# Returns the statement with short stored values written as literals.
sub literal
{
	my ($call) = @_;
	my $session = eval { Wire->new } or return $call;
	$call =~ s{\(SELECT v FROM (soak\.\w+) WHERE i = (\d+)\)}{
		my ($place, $i) = ($1, $2);
		my ($row) = eval { $session->rows("SELECT quote_literal(v::text) || '::' || pg_typeof(v) FROM $place WHERE i = $i") };
		$row && length($row->[0]) < 400 ? $row->[0] : "(SELECT v FROM $place WHERE i = $i)" }ge;
	$session->close;
	return $call;
}

# ---- several jobs ----

# Runs $work->($number), which returns its Batches, in $jobs processes. Returns the sum of all.
sub of_jobs
{
	my ($jobs, $work) = @_;
	my @pipes = map { job($_, $work) } 0 .. $jobs - 1;
	my $all = Batches->new;
	for my $pipe (@pipes)
	{
		my $one = eval { fd_retrieve($pipe) };
		$one ? $all->add($one) : $all->{failures}{'a job died'}++;
	}
	1 while wait != -1;
	return $all;
}

sub job
{
	my ($number, $work) = @_;
	pipe(my $in, my $out) or die $!;
	return $in if fork;
	my $batches = $work->($number);
	delete $batches->{session};
	store_fd({%$batches}, $out);
	CORE::close($out);
	exit 0;
}

sub add
{
	my ($self, $other) = @_;
	$self->{calls} += $other->{calls};
	for my $part (qw(states failures))
	{
		$self->{$part}{$_} += $other->{$part}{$_} for keys %{$other->{$part}};
	}
	for my $target (keys %{$other->{targets}})
	{
		$self->{targets}{$target}{$_} += $other->{targets}{$target}{$_} for keys %{$other->{targets}{$target}};
	}
}

# Prints the failures, and "ok NAME: ..." or "not ok NAME: ..." as the last line. Returns true if
# there was no failure.
sub tell
{
	my ($self, $name, $verbose, $figures) = @_;
	my @never = grep { !$self->{targets}{$_}{'00000'} } sort keys %{$self->{targets}};
	if ($verbose)
	{
		print "# $_: $self->{states}{$_}\n" for sort keys %{$self->{states}};
		for my $target (@never)
		{
			print "# always an error: $target (", join(', ', map { "$_: $self->{targets}{$target}{$_}" } sort keys %{$self->{targets}{$target}}), ")\n";
		}
	}
	print "#   $self->{failures}{$_} times: $_\n" for sort keys %{$self->{failures}};
	my $failures = keys %{$self->{failures}};
	printf "%s %s: %s%d calls of %d things, %d without an error, %d things always with one; %s\n", $failures ? 'not ok' : 'ok', $name,
		$failures ? "$failures kinds of failure; " : '', $self->{calls}, scalar keys %{$self->{targets}}, $self->{states}{'00000'} // 0, scalar @never, $figures;
	return !$failures;
}

1;
