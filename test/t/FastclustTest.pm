# FastclustTest - a private server for one test file, and what most tests do with it. It uses core
# Perl only, and removes the server with the object.
package FastclustTest;

use strict;
use warnings;
use File::Basename qw(dirname);
use Cwd qw(abs_path);
use Exporter ();
use IPC::Open3 qw(open3);
use Scalar::Util qw(weaken);
use Test::More ();
use Time::HiRes qw(time sleep);

# Seconds of processor time that a statement may take from a cancel to its end. The aim is 0.1 s;
# the rest is for slow machines. SLOWNESS is how many times slower than usual the server is.
our $patience = 0.3 * ($ENV{SLOWNESS} // 1);

our @ISA = qw(Exporter);
our @EXPORT_OK = qw(as refused gives crafted);

# Importing the module also gives strict, warnings and Test::More.
sub import
{
	my $class = shift;

	strict->import;
	warnings->import;
	Test::More->export_to_level(1);
	$class->export_to_level(1, $class, @_);
}

my $root = abs_path(dirname(__FILE__) . '/../..');

sub run_or_die { my @command = @_; system(@command) == 0 or die "failed: @command\n"; }

# Starts a server. With extension => 1 database postgres has the extension; config is appended to
# postgresql.conf.
sub new
{
	my ($class, %options) = @_;
	my $self = bless {owner => $$}, $class;

	$self->make_directory;
	$self->server('create');
	$self->configure($options{config}) if $options{config};
	$self->server('start');
	$self->use_server;
	$ENV{PGPORT} = 54321;
	$ENV{PGUSER} = 'postgres';
	$ENV{PGDATABASE} = 'postgres';
	$ENV{PGAPPNAME} = 'fastclust test';
	$self->query('CREATE EXTENSION fastclust') if $options{extension};
	return $self;
}

# Starts a physical standby of the server. Queries go to the server that use_server named last,
# which is the new one at first.
sub standby
{
	my ($self) = @_;
	my $standby = bless {owner => $$}, ref $self;

	$standby->make_directory;
	$standby->server('standby', $self->{directory});
	$standby->server('start');
	$standby->use_server;
	return $standby;
}

my $used;

sub use_server { my ($self) = @_; $ENV{PGHOST} = $self->{directory}; weaken($used = $self); }

sub configure
{
	my ($self, $lines) = @_;
	open my $file, '>>', "$self->{directory}/data/postgresql.conf" or die $!;
	print $file $lines;
	close $file;
}

sub make_directory
{
	my ($self) = @_;

	open(my $out, '-|', "$root/tools/server.sh", 'directory') or die $!;
	chomp($self->{directory} = <$out> // die 'no directory for the server');
	close $out;
}

sub server { my ($self, $action, @arguments) = @_; run_or_die("$root/tools/server.sh", $action, $self->{directory}, @arguments); }

sub restart { my ($self) = @_; $self->server('stop'); $self->server('start'); }

# Crashes the server as if unplugged, without a shutdown checkpoint, and starts it again.
sub crash_and_restart { my ($self) = @_; $self->server('crash'); $self->server('start'); }

sub DESTROY { my ($self) = @_; local ($?, $!); $self->server('remove') if $self->{directory} && $self->{owner} == $$; }

my %bindirs;

sub program
{
	my ($name) = @_;
	my $pg_config = $ENV{PG_CONFIG} || 'pg_config';
	chomp(my $bindir = $bindirs{$pg_config} //= `"$pg_config" --bindir`);
	return -x "$bindir/$name" ? "$bindir/$name" : $name;
}

# Settings of every session of these tests.
my $prologue = "SET client_min_messages = warning; SET search_path = public, fastclust, fastclust_internal;\n";

# Runs a script and returns (exit status, output, error messages). Options: database, verbosity.
sub try
{
	my ($self, $sql, %options) = @_;
	my ($in, $pid);
	my $errors = $self->{directory} . "/psql.$$.err";

	open(my $err, '>', $errors) or die "$errors: $!";
	open(my $file, '+>', "$self->{directory}/psql.$$.sql") or die $!;
	print $file $prologue, $sql, "\n";
	seek $file, 0, 0;
	$pid = open3('<&' . fileno($file), my $out, '>&' . fileno($err), program('psql'), '-XAtq',
		'-v', 'ON_ERROR_STOP=1', '-v', 'SHOW_CONTEXT=never', '-v', 'VERBOSITY=' . ($options{verbosity} // 'default'),
		'-d', $options{database} // 'postgres');
	my $output = do { local $/; <$out> } // '';
	waitpid($pid, 0);
	my $status = $? >> 8;
	close $err;
	open($err, '<', $errors) or die $!;
	my $messages = do { local $/; <$err> } // '';
	chomp($output, $messages);
	return ($status, $output, $messages);
}

# Runs a script that must succeed, and returns its output.
sub query
{
	my ($self, $sql, %options) = @_;
	my ($status, $output, $messages) = $self->try($sql, %options);
	die "query failed: $sql\n$messages\n" if $status != 0;
	return $output;
}

# Runs a script as a role on the server that use_server named last, and returns (status, output,
# messages).
sub as { my ($role, $sql) = @_; return $used->try("SET SESSION AUTHORIZATION $role;\n$sql", verbosity => 'verbose'); }

# Passes if the statement of a role fails with this SQLSTATE, or with a message that matches.
sub refused
{
	my ($role, $sql, $state, $name) = @_;
	my ($status, $output, $messages) = as($role, $sql);
	Test::More::like($messages, ref $state ? $state : qr/ERROR:  $state:/, $name) or Test::More::diag("got: $output");
}

# Passes if the statement of a role prints exactly this, and no message.
sub gives
{
	my ($role, $sql, $expected, $name) = @_;
	my ($status, $output, $messages) = as($role, $sql);
	Test::More::is("$output$messages", $expected, $name);
}

# Returns a statement that stores what a role made up as the next version of a model, and makes it
# the current one.
sub crafted
{
	my ($model, $changes, $group) = @_;
	$group //= '';
	return qq{DO \$\$
DECLARE
    v stored_versions;
BEGIN
    SELECT * INTO v FROM readable_versions WHERE model = '$model' ORDER BY version DESC LIMIT 1;
    v.version := v.version + 1;
    v.group_value := '$group';
    $changes
    v.identities := COALESCE(v.identities[:clusters(v.operator)], '{}') || array_fill(0::bigint, ARRAY[greatest(0, clusters(v.operator) - cardinality(v.identities))]);
    PERFORM write_groups(ARRAY[v]);
    PERFORM serve_version(v.model_id, v.version, 100);
END \$\$};
}

# Starts a script in a session that stays open while others go on. With measured => 1 the script
# must end with a semicolon; the session then waits for finish and reports its processor time.
sub background
{
	my ($self, $sql, %options) = @_;
	my $pid = open3(my $in, my $out, undef, program('psql'), '-XAtq', '-v', 'SHOW_CONTEXT=never');

	print $in $prologue, "SELECT pg_backend_pid();\n";
	$in->flush;
	chomp(my $backend = <$out>);
	print $in "$sql\n", $options{measured} ? cpu_of('self') . ";\n" : "\\q\n";
	$in->flush;
	close $in unless $options{measured};
	return {psql => $pid, in => $in, out => $out, backend => $backend, %options};
}

# SQL for the processor time of a process, or of the backend itself, in seconds: fields 14 and 15
# of its line, in hundredths. Field 2, in parentheses, may contain spaces.
sub cpu_of
{
	my ($process) = @_;
	return "SELECT (f[12]::int + f[13]::int) / 100.0 FROM string_to_array(regexp_replace(pg_read_file('/proc/$process/stat'), '^.*\\) ', ''), ' ') f";
}

# Waits for a background session to end, and returns (exit status, the rest of its output). Of a
# measured session, $session->{cpu} then has the processor seconds.
sub finish
{
	my ($self, $session) = @_;
	close $session->{in} if $session->{measured};
	my $output = do { local $/; readline($session->{out}) } // '';
	waitpid($session->{psql}, 0);
	$session->{cpu} = $1 if $session->{measured} && $output =~ s/^([\d.]+)\n\z//m;
	chomp $output;
	return ($? >> 8, $output);
}

# Returns the number of threads of a process, or undef if there is no /proc.
sub threads { my ($pid) = @_; opendir(my $dir, "/proc/$pid/task") or return undef; return scalar grep { /^\d+$/ } readdir $dir; }

# Waits until a condition of SQL holds, also while the server restarts. Returns false, after a
# diagnostic, when it took too long.
sub wait_for
{
	my ($self, $condition) = @_;
	my ($status, $output, $messages);
	for (1 .. 2000)
	{
		($status, $output, $messages) = $self->try("SELECT $condition");
		return 1 if $status == 0 && $output eq 't';
		sleep 0.05;
	}
	Test::More::diag("$condition: $output $messages");
	return 0;
}

# Waits until a background session waits for $event, or for any lock.
sub wait_until_it_waits
{
	my ($self, $session, $event) = @_;
	return $self->wait_for("EXISTS (SELECT FROM pg_stat_activity WHERE pid = $session->{backend} AND "
			. (defined $event ? "wait_event = '$event'" : "wait_event_type = 'Lock'") . ')');
}

# Ends a background session that would go on, and returns its output.
sub end { my ($self, $session) = @_; $self->query("SELECT pg_terminate_backend($session->{backend})"); return ($self->finish($session))[1]; }

# Returns the processor seconds of a statement from pg_cancel_backend, 0.3 s after its start, to
# its end, and its output.
sub cancel_delay
{
	my ($self, $sql) = @_;
	my $session = $self->background($sql, measured => 1);
	my $row = "FROM pg_stat_activity WHERE pid = $session->{backend}";

	$self->wait_for("EXISTS (SELECT $row AND query !~ 'pg_backend_pid')");
	sleep 0.3;
	my $active = "EXISTS (SELECT $row AND state = 'active' AND query !~ '/proc/self/')";
	my ($start, $was_active) = split /\|/, $self->query(cpu_of($session->{backend}) =~ s/ FROM/, $active, pg_cancel_backend($session->{backend}) FROM/r);
	my ($status, $output) = $self->finish($session);
	return (undef, 'the statement was over too soon') if $was_active ne 't';
	return (($session->{cpu} // $start) - $start, $output);
}

# Passes if a long statement notices a cancel in time; one that ends too soon must at least work.
sub check_cancel
{
	my ($self, $name, $sql) = @_;
	my ($delay, $output) = $self->cancel_delay("$sql;");

	if (!defined $delay)
	{
		my ($status, undef, $messages) = $self->try("SET statement_timeout = '20s'; $sql;");
		Test::More::is($messages, '', "$name: works, but $output");
		return;
	}
	Test::More::like($output, qr/canceling statement due to user request/, "$name: cancelled");
	Test::More::cmp_ok($delay, '<', $patience, "$name: within $patience s");
}

# Dumps a database and restores it into a new one.
sub dump_into
{
	my ($self, $source, $target) = @_;
	my $file = "$self->{directory}/dump.$$";

	run_or_die(program('pg_dump'), '-Fc', '-f', $file, $source);
	$self->query("CREATE DATABASE $target");
	run_or_die(program('pg_restore'), '--exit-on-error', '-d', $target, $file);
	unlink $file;
}

# Returns a dump of a database as SQL.
sub dump { my ($self, $database) = @_; my $pg_dump = program('pg_dump'); return scalar `"$pg_dump" "$database"`; }

# Creates a table with the rows of another one by binary COPY.
sub copy_binary
{
	my ($self, $source, $target) = @_;
	$self->query(<<"SQL");
\\copy $source to '$self->{directory}/$source.bin' with (format binary)
CREATE TABLE $target (LIKE $source);
\\copy $target from '$self->{directory}/$source.bin' with (format binary)
SQL
}

# Creates the table points (id int, g int, x real[]) with rows around the points of a lattice,
# always the same.
sub make_points
{
	my ($self, $rows, $dim, $clusters) = @_;
	$self->query(<<"SQL");
CREATE TABLE points (id int, g int, x real[]);
INSERT INTO points
  SELECT i, i % $clusters,
         (SELECT array_agg((10 * ((hashint4extended(d, i % $clusters) & 1023) / 1023.0)
                  + 0.5 * (((hashint8extended(i::bigint * 131 + d, 1) & 65535)
                          + (hashint8extended(i::bigint * 131 + d, 2) & 65535)
                          + (hashint8extended(i::bigint * 131 + d, 3) & 65535)) / 65535.0 - 1.5))::real ORDER BY d)
          FROM generate_series(1, $dim) d)
  FROM generate_series(1, $rows) i;
ANALYZE points;
SQL
}

1;
