# CitusTest - a coordinator and workers of Citus for one test file, on private sockets.
package CitusTest;

use strict;
use warnings;
use parent -norequire, 'FastclustTest';
use FastclustTest ();

my $config = <<'CONF';
shared_preload_libraries = 'citus'
shared_buffers = 64MB
max_connections = 100
max_prepared_transactions = 100
citus.node_conninfo = 'sslmode=disable'
citus.shard_count = 12
citus.enable_statistics_collection = off
wal_level = logical
CONF

# Is Citus installed for the server of these tests?
sub installed { my $pg_config = $ENV{PG_CONFIG} || 'pg_config'; chomp(my $library = `"$pg_config" --pkglibdir`); return -e "$library/citus.so"; }

# Starts a node that is in no cluster yet; queries go to it.
sub node
{
	my ($class) = @_;
	my $node = $class->SUPER::new(config => $config);

	$node->configure("citus.local_hostname = '$node->{directory}'\n");
	$node->restart;
	$node->query('CREATE EXTENSION citus');
	return $node;
}

# Starts a coordinator with this number of workers and the extension on every node; queries go to
# the coordinator.
sub cluster
{
	my ($class, $workers) = @_;
	my @workers = map { $class->node } 1 .. $workers;
	my $coordinator = $class->node;

	$coordinator->{workers} = \@workers;
	$coordinator->query("SELECT citus_set_coordinator_host('$coordinator->{directory}', 54321)");
	$coordinator->add_worker($_) for @workers;
	$coordinator->query('CREATE EXTENSION fastclust');
	return $coordinator;
}

sub add_worker { my ($self, $worker) = @_; $self->query("SELECT citus_add_node('$worker->{directory}', 54321)"); }

# Returns the queries that a script sends to the shards of a table, in order.
sub sent
{
	my ($self, $table, $sql) = @_;
	my ($status, undef, $messages) = $self->try("SET client_min_messages = notice; SET citus.log_remote_commands = on; $sql");

	die "failed: $sql\n" . substr($messages, -2000) . "\n" if $status != 0;
	return grep { /\b${table}_\d+\b/ } $messages =~ /NOTICE:  issuing (.*)/g;
}

1;
