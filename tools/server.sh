#!/bin/bash
# server.sh create|start|stop|crash|remove DIR, server.sh standby DIR PRIMARY: manages a private
# server in DIR, a directory of its own below /tmp (`server.sh directory` makes one). The server has
# only a unix socket, no fsync, superuser postgres and trust authentication; connect with PGHOST=DIR
# PGPORT=54321 PGUSER=postgres. Autovacuum is off, so that estimates, plans and samples do not
# depend on when it runs.
# SERVER_PRELOAD: libraries to load into the server first (LD_PRELOAD).
# INITDB_OPTIONS: more options of initdb. SERVER_CONFIG: more lines of postgresql.conf.
# SERVER_REPORTS: directory that receives the log of a removed server.
set -eu
cd "$(dirname "$0")/.."
. tools/common.sh
find_pg_config || { echo "server: no PostgreSQL found; run tools/setup.sh" >&2; exit 1; }

configure()
{
	cat <<-CONF
		listen_addresses = ''
		unix_socket_directories = '$1'
		port = 54321
		fsync = off
		full_page_writes = off
		jit = off
		autovacuum = off
		max_connections = 50
		max_worker_processes = 16
		shared_buffers = 256MB
		max_wal_size = 4GB
		log_min_messages = warning
		log_line_prefix = '%m [%p] %e '
	CONF
	[ -z "${SERVER_REPORTS:-}" ] || echo "log_error_verbosity = verbose"
	[ -z "${SERVER_CONFIG:-}" ] || printf '%s\n' "$SERVER_CONFIG"
}

# The server's user may have no access to the caller's working directory.
control()
{
	(cd / && as_server_user env ${SERVER_PRELOAD:+LD_PRELOAD="$SERVER_PRELOAD"} "$PG_BINDIR/pg_ctl" -D "$directory/data" -l "$directory/log" \
		-w -t 600 -s "$@" </dev/null)
}

create()
{
	(cd / && as_server_user "$PG_BINDIR/initdb" -D "$directory/data" -U postgres -A trust -N \
		--encoding=UTF8 --locale=C.UTF-8 ${INITDB_OPTIONS:-} >/dev/null)
	configure "$directory" | (cd / && as_server_user tee -a "$directory/data/postgresql.conf" >/dev/null)
}

# Makes a physical standby of the running server in another directory.
standby()
{
	(cd / && as_server_user "$PG_BINDIR/pg_basebackup" -h "$1" -p 54321 -U postgres -D "$directory/data" \
		-R -X stream -c fast </dev/null)
	(cd / && echo "unix_socket_directories = '$directory'" | as_server_user tee -a "$directory/data/postgresql.conf" >/dev/null)
}

new_directory()
{
	local made
	made=$(mktemp -d /tmp/fastclust.XXXXXX)
	chmod 755 "$made"
	[ "$(id -u)" -ne 0 ] || chown "$(server_user)" "$made"
	echo "$made"
}

action=${1:?}
[ "$action" != directory ] || { new_directory; exit; }
directory=${2:?}
case $directory in
	/tmp/fastclust.??????) ;;
	*) echo "server: $directory is not one of ours" >&2; exit 1 ;;
esac
case $action in
	create) create ;;
	standby) standby "${3:?}" ;;
	start) control start >/dev/null || { tail -n 20 "$directory/log" >&2; exit 1; } ;;
	stop) control stop -m fast ;;
	crash) control stop -m immediate ;;
	remove)
		control stop -m immediate 2>/dev/null || true
		[ -z "${SERVER_REPORTS:-}" ] || cp "$directory/log" "$SERVER_REPORTS/log.${directory##*.}"
		rm -rf "$directory"
		;;
	*) echo "server: unknown action $action" >&2; exit 1 ;;
esac
