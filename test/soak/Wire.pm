# Wire - a session with the server of PGHOST and PGPORT over its unix socket, in core Perl. It has
# several statements in one round trip, binary parameters and deadlines, which psql does not have.
package Wire;

use strict;
use warnings;
use IO::Socket::UNIX;
use IO::Select;
use Time::HiRes qw(time sleep);

# Opens a session. Options: user (PGUSER), database (PGDATABASE), patience (60), the seconds to wait
# for a server that starts. Dies if there is no server by then.
sub new
{
	my ($class, %options) = @_;
	my $until = time + ($options{patience} // 60);
	my $self = bless {user => $options{user} // $ENV{PGUSER}, database => $options{database} // $ENV{PGDATABASE}}, $class;

	while (1)
	{
		return $self if $self->connect;
		die "no server at $ENV{PGHOST}: " . ($self->{why} // $!) . "\n" if time > $until;
		sleep 0.2;
	}
}

sub connect
{
	my ($self) = @_;
	$self->{socket} = IO::Socket::UNIX->new(Peer => "$ENV{PGHOST}/.s.PGSQL.$ENV{PGPORT}") or return 0;
	$self->{buffer} = '';
	my $body = pack('N', 196608) . join('', map { "$_\0" } user => $self->{user}, database => $self->{database}, '');
	$self->write(pack('N', 4 + length $body) . $body);
	my $answer = $self->answer(30);
	$self->{why} = $answer->{error}{M};
	return $answer->{ready};
}

# Runs one or several statements. Returns {rows, error, notices, tag, ready, lost, late}. A row is a
# list of texts; error and notices have the fields of the protocol (C: SQLSTATE, M: message, H: hint
# ...); lost means that the connection ended, and late that there was no answer within $seconds, of
# the backend's CPU time with processor => 1.
sub query
{
	my ($self, $sql, $seconds, %options) = @_;
	utf8::encode($sql) if utf8::is_utf8($sql);
	$self->message('Q', "$sql\0");
	return $self->answer($seconds // 600, %options);
}

# Returns the rows of a statement that must succeed.
sub rows
{
	my ($self, $sql) = @_;
	my $answer = $self->query($sql);
	die "failed: " . substr($sql, 0, 2000) . "\n" . ($answer->{error}{M} // 'connection lost') . "\n"
		if $answer->{error} || !$answer->{ready};
	return @{$answer->{rows}};
}

# Prepares a statement whose parameters have these types (oids).
sub prepare
{
	my ($self, $name, $sql, @types) = @_;
	$self->message('P', "$name\0$sql\0" . pack('n N*', scalar @types, @types));
	$self->message('S', '');
	return $self->answer(60);
}

# Executes a prepared statement with parameters in binary format; undef is NULL.
sub execute
{
	my ($self, $name, $parameters, $seconds) = @_;
	my $values = join '', map { defined $_ ? pack('N/a*', $_) : pack('N', 0xFFFFFFFF) } @$parameters;
	$self->message('B', "\0$name\0" . pack('n n n', 1, 1, scalar @$parameters) . $values . pack('n', 0));
	$self->message('E', "\0" . pack('N', 0));
	$self->message('S', '');
	return $self->answer($seconds // 600);
}

# Runs COPY ... FROM STDIN with the data.
sub copy_in
{
	my ($self, $sql, $data, $seconds) = @_;
	$self->{copy_data} = $data;
	my $answer = $self->query($sql, $seconds);
	delete $self->{copy_data};
	return $answer;
}

# Sends a statement without reading its answer.
sub start { my ($self, $sql) = @_; $self->message('Q', "$sql\0"); }

sub message { my ($self, $type, $body) = @_; $self->write($type . pack('N', 4 + length $body) . $body); }

sub write
{
	my ($self, $bytes) = @_;
	local $SIG{PIPE} = 'IGNORE';
	while (length $bytes)
	{
		my $written = syswrite($self->{socket}, $bytes);
		return unless $written;
		substr($bytes, 0, $written, '');
	}
}

# Returns the CPU seconds of the backend, or undef if there is no /proc.
sub processor
{
	my ($self) = @_;
	open(my $file, '<', "/proc/$self->{backend}/stat") or return undef;
	my @fields = split ' ', <$file> =~ s/^.*\) //r;
	return ($fields[11] + $fields[12]) / 100;
}

# Extends the time of a backend that has used less CPU time than its limit, up to twenty times the
# limit. Returns whether it was extended.
sub more_time
{
	my ($self, $limit) = @_;
	my $had = defined $limit->{processor} && time < $limit->{last} ? $self->processor : undef;
	return 0 if !defined $had || $had >= $limit->{processor};
	$limit->{until} = time + 0.1 + $limit->{processor} - $had;
	return 1;
}

# Reads until the buffer has $wanted bytes. Returns '', or 'late' or 'lost' if they did not arrive.
sub fill
{
	my ($self, $wanted, $limit) = @_;
	while (length $self->{buffer} < $wanted)
	{
		my $left = $limit->{until} - time;
		if ($left <= 0 || !IO::Select->new($self->{socket})->can_read($left))
		{
			return 'late' unless $self->more_time($limit);
			next;
		}
		return 'lost' unless sysread($self->{socket}, $self->{buffer}, 65536, length $self->{buffer});
	}
	return '';
}

# Reads all messages until the server is ready for the next statement. Returns the same as query.
sub answer
{
	my ($self, $seconds, %options) = @_;
	my $had = $options{processor} ? $self->processor : undef;
	my $limit = {until => time + $seconds, last => time + 20 * $seconds, processor => defined $had ? $had + $seconds : undef};
	my %answer = (rows => [], notices => [], ready => 0);

	while (!$answer{ready})
	{
		if (my $why = $self->fill(5, $limit) || $self->fill(1 + unpack('x N', $self->{buffer}), $limit))
		{
			$answer{$why} = 1;
			return \%answer;
		}
		my ($type, $length) = unpack 'a N', $self->{buffer};
		my $body = substr $self->{buffer}, 5, $length - 4;
		substr $self->{buffer}, 0, 1 + $length, '';
		$self->take($type, $body, \%answer);
	}
	return \%answer;
}

sub take
{
	my ($self, $type, $body, $answer) = @_;
	if ($type eq 'D')
	{
		push @{$answer->{rows}}, fields_of_row($body);
	}
	elsif ($type eq 'E' || $type eq 'N')
	{
		my %fields = map { /^(.)(.*)$/s ? ($1, $2) : () } split /\0/, $body;
		push @{$answer->{notices}}, \%fields if $type eq 'N';
		$answer->{error} //= \%fields if $type eq 'E';
	}
	elsif ($type eq 'G')
	{
		$self->message('d', $self->{copy_data}) if defined $self->{copy_data};
		$self->message(defined $self->{copy_data} ? ('c', '') : ('f', "no data\0"));
	}
	elsif ($type eq 'K')
	{
		$self->{backend} = unpack 'N', $body;
	}
	elsif ($type eq 'C')
	{
		($answer->{tag}) = unpack 'Z*', $body;
	}
	$answer->{ready} = 1 if $type eq 'Z';
}

sub fields_of_row
{
	my ($body) = @_;
	my ($count, $at, @row) = (unpack('n', $body), 2);
	for (1 .. $count)
	{
		my $length = unpack 'l>', substr($body, $at, 4);
		push @row, $length < 0 ? undef : substr($body, $at + 4, $length);
		$at += 4 + ($length < 0 ? 0 : $length);
	}
	return \@row;
}

sub close { my ($self) = @_; $self->message('X', ''); CORE::close($self->{socket}); }

1;
