#!/bin/bash
# sanitized.sh build: builds the module with AddressSanitizer and UndefinedBehaviorSanitizer,
#   installs it into a server with assertions, and prints that server's pg_config.
# sanitized.sh run COMMAND...: builds, then runs a command whose servers (tools/server.sh) are this
#   one. Prints the reports of the sanitizers, failed assertions and bad lines in the servers' logs,
#   and a last line, "ok sanitizers: ..." or "not ok sanitizers: ...".
# SANITIZED_VERSION (18): version of the server.
# The plain server is built once, from SERVER_SOURCES (a folder with build-postgres.sh VERSION
# PREFIX), and kept in SERVER_CACHE (/var/cache/fastclust/postgresql-VERSION). Without both, prints
# "skip", status 0.
# SANITIZED_SERVER (build/sanitized/server): the copy that gets the module.
set -eu
cd "$(dirname "$0")/.."
unset MAKEFLAGS MFLAGS MAKELEVEL
. tools/common.sh
make=${MAKE:-make}
version=${SANITIZED_VERSION:-18}
cache=${SERVER_CACHE:-/var/cache/fastclust/postgresql-$version}
server=${SANITIZED_SERVER:-$PWD/build/sanitized/server}

plain_server()
{
	local builder=${SERVER_SOURCES:-}/build-postgres.sh
	mkdir -p "$(dirname "$cache")" 2>/dev/null || true
	[ -w "$(dirname "$cache")" ] || { [ -x "$cache/bin/postgres" ]; return; }
	{
		flock 9					# tools/matrix.sh may build here, too
		[ ! -x "$cache/bin/postgres" ] || return 0
		[ -e "$builder" ] && tools/setup.sh server && bash "$builder" "$version" "$cache" >&2 9>&-
	} 9>"$(dirname "$cache")/lock"
}

# A server finds its files relative to its own location, so a copy is a separate server. A copy of
# another version is replaced, together with the objects that were compiled for it.
copy_server()
{
	[ ! -x "$server/bin/postgres" ] || cmp -s "$cache/bin/postgres" "$server/bin/postgres" || rm -rf "$server" build/sanitized/pg
	[ ! -x "$server/bin/postgres" ] || return 0
	mkdir -p "$(dirname "$server")"
	cp -a "$cache" "$server.new"
	mv "$server.new" "$server"
}

reachable() { (cd / && as_server_user test -x "$server/bin/postgres"); }

build()
{
	copy_server
	reachable || { echo "sanitized: user $(server_user) cannot reach $server; set SANITIZED_SERVER" >&2; return 1; }
	PG_CONFIG=$server/bin/pg_config
	export PG_CONFIG
	"$make" -s -j"$(nproc 2>/dev/null || echo 1)" build/sanitized/fastclust.so "$(extension_script)" >&2
	install -m 755 build/sanitized/fastclust.so "$("$PG_CONFIG" --pkglibdir)/fastclust.so"
	install -m 644 fastclust.control "$(extension_script)" "$("$PG_CONFIG" --sharedir)/extension/"
}

extension_script() { sed -n "s/^default_version *= *'\([^']*\)'.*/fastclust--\1.sql/p" fastclust.control; }

library() { readlink -f "$(gcc -print-file-name="$1")"; }

# Reports end the process (abort), so that the postmaster notices, and are written to files. No fake
# stack: gcc before 14 misaligns 64-byte vectors on it (gcc bug 110027).
sanitizer_environment()
{
	local common="abort_on_error=1:handle_sigill=1:halt_on_error=1:print_stacktrace=1:log_path=$SERVER_REPORTS/report"
	export ASAN_OPTIONS="$common:detect_leaks=0:detect_stack_use_after_return=0:allocator_may_return_null=1"
	export UBSAN_OPTIONS="$common"
	SERVER_PRELOAD="$(library libasan.so) $(library libubsan.so)"
	export SERVER_PRELOAD
}

# Lines that must not appear in a server's log for any query: internal errors raised by the
# files of src, and requests for more memory than the server allocates.
own_files=$(find src -name '*.c' | sed 's|.*/||; s|\.c$||' | paste -sd '|')
bad_line='TRAP: |runtime error: |write past chunk|detected write|problem in alloc|terminated by signal (4|5|6|7|8|11)\b|PANIC: '
bad_line+="| XX00[012] LOCATION: .*, ($own_files)\.c:|invalid memory alloc request"

judge()
{
	local reports lines
	reports=$(find "$SERVER_REPORTS" -name 'report.*' -size +0 | wc -l)
	lines=$(cat "$SERVER_REPORTS"/log.* 2>/dev/null | grep -cE "$bad_line" || true)
	if [ "$reports" -eq 0 ] && [ "$lines" -eq 0 ]; then
		echo "ok sanitizers: no report, no bad line in $(find "$SERVER_REPORTS" -name 'log.*' | wc -l) logs"
		return 0
	fi
	find "$SERVER_REPORTS" -name 'report.*' -size +0 -exec head -n 40 {} \;
	cat "$SERVER_REPORTS"/log.* 2>/dev/null | grep -E -A 3 "$bad_line" | cut -c 1-400 | head -n 60 || true
	echo "not ok sanitizers: $reports reports, $lines bad lines; all in $SERVER_REPORTS"
	return 1
}

run()
{
	local status=0
	SERVER_REPORTS=$(mktemp -d /tmp/fastclust-reports.XXXXXX)
	chmod 1777 "$SERVER_REPORTS"
	export SERVER_REPORTS
	sanitizer_environment
	"$@" || status=$?
	judge || return 1
	rm -rf "$SERVER_REPORTS"
	return $status
}

action=${1:?}
shift
plain_server || { echo "skip sanitizers: no server in $cache and SERVER_SOURCES names no sources of one"; exit 0; }
case $action in
	build) build; echo "$PG_CONFIG" ;;
	run) build; run "$@" ;;
	*) echo "sanitized: unknown action $action" >&2; exit 1 ;;
esac
