#!/bin/bash
# with-citus.sh WORKERS COMMAND...: runs a command with a private Citus cluster, and removes the
# cluster afterwards. It has a coordinator and WORKERS workers on unix sockets, with the extension;
# PGHOST, PGPORT, PGUSER and PGDATABASE are set for the coordinator.
set -eu
tools=$(cd "$(dirname "$0")" && pwd)
. "$tools/common.sh"
workers=${1:?}
shift
find_pg_config || { echo "with-citus: no PostgreSQL found; run tools/setup.sh" >&2; exit 1; }
[ -e "$("$PG_CONFIG" --pkglibdir)/citus.so" ] || { echo "with-citus: Citus is not installed for $PG_CONFIG" >&2; exit 1; }
export PGPORT=54321 PGUSER=postgres PGDATABASE=postgres
nodes=()
trap 'for node in "${nodes[@]}"; do "$tools/server.sh" remove "$node"; done' EXIT
trap 'exit 130' INT TERM HUP

configure()
{
	cat <<-CONF
		shared_preload_libraries = 'citus'
		shared_buffers = 128MB
		max_connections = 200
		max_prepared_transactions = 200
		wal_level = logical
		citus.node_conninfo = 'sslmode=disable'
		citus.local_hostname = '$1'
		citus.enable_statistics_collection = off
	CONF
}

ask() { psql -XAtq -v ON_ERROR_STOP=1 -h "$1" -c "$2" >/dev/null; }

for ((i = 0; i <= workers; i++)); do
	node=$("$tools/server.sh" directory)
	nodes+=("$node")
	"$tools/server.sh" create "$node"
	configure "$node" | (cd / && as_server_user tee -a "$node/data/postgresql.conf" >/dev/null)
	"$tools/server.sh" start "$node"
	ask "$node" 'CREATE EXTENSION citus'
done
export PGHOST=${nodes[0]}
ask "$PGHOST" "SELECT citus_set_coordinator_host('$PGHOST', $PGPORT)"
for node in "${nodes[@]:1}"; do
	ask "$PGHOST" "SELECT citus_add_node('$node', $PGPORT)"
done
ask "$PGHOST" 'CREATE EXTENSION fastclust'
"$@"
