# common.sh - functions that the other tools source: find the server and the user that runs it.
# find_pg_config sets PG_CONFIG and PG_BINDIR; PG_BINDIR is empty if no server with development
# files is installed.

has_pgxs()
{
	local pgxs
	pgxs=$("$1" --pgxs 2>/dev/null) && [ -f "$pgxs" ] && [ -x "$("$1" --bindir)/initdb" ]
}

# Finds PG_CONFIG: the one set by the caller, else the one in PATH, else the newest under
# /usr/lib/postgresql.
find_pg_config()
{
	local candidate
	for candidate in ${PG_CONFIG:+"$PG_CONFIG"} pg_config \
		$(ls -d /usr/lib/postgresql/*/bin/pg_config 2>/dev/null | sort -t/ -k5 -rn); do
		if has_pgxs "$candidate"; then
			PG_CONFIG=$candidate
			PG_BINDIR=$("$candidate" --bindir)
			export PG_CONFIG PG_BINDIR
			return 0
		fi
	done
	PG_BINDIR=
	return 1
}

# Prints "" if the user is root, "sudo" if sudo works without a password; otherwise fails.
root_prefix()
{
	if [ "$(id -u)" -eq 0 ]; then
		echo ""
	elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
		echo "sudo"
	else
		return 1
	fi
}

# Prints the user that runs the server. The server refuses to run as root; then it is SERVER_USER,
# postgres or nobody.
server_user()
{
	if [ "$(id -u)" -ne 0 ]; then
		id -un
	elif [ -n "${SERVER_USER:-}" ]; then
		echo "$SERVER_USER"
	elif id postgres >/dev/null 2>&1; then
		echo postgres
	else
		echo nobody
	fi
}

as_server_user()
{
	if [ "$(id -u)" -eq 0 ]; then
		runuser -u "$(server_user)" -- "$@"
	else
		"$@"
	fi
}
