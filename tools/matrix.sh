#!/bin/bash
# matrix.sh [FOLDER]: tests the extension on every server of a folder (FOLDER/postgresql-NN, default
# SERVERS) and on Debian's, with each compiler: builds without warnings, installs, runs pg_regress
# and TAP. Prints a line for each stage and a table at the end; logs are in LOGS (build/matrix).
# Servers of the folder are copied and stay unchanged; Debian's, or the one of PG_CONFIG, gets the
# module. pg_upgrade is tested from each server, and from older releases of Debian's in
# FOLDER/from-NAME (tools/old-server.sh), to the newest.
# FOLDER/chroot-NN, a Debian root with PostgreSQL NN, is tested inside (tools/chroot.sh, as root).
# VERSIONS: versions to test, such as "13 18" (default all); COMPILERS (gcc clang); STAGES (regress
# tap upgrade); TAP_COMPILER (gcc) and TAP_VERSIONS (all): the compiler and servers that run TAP.
# UPGRADE_FROM: more pg_config of older servers in the folder, for pg_upgrade alone.
# MISSING=build: builds the versions that the folder lacks, from SERVER_SOURCES (build-postgres.sh
# VERSION PREFIX).
set -u
cd "$(dirname "$0")/.."
unset MAKEFLAGS MFLAGS MAKELEVEL
. tools/common.sh
make=${MAKE:-make}
folder=${1:-${SERVERS:-/var/cache/fastclust}}
stages=" ${STAGES-regress tap upgrade} "
logs=${LOGS:-$PWD/build/matrix}
jobs=$(nproc 2>/dev/null || echo 1)
work=$(mktemp -d /tmp/fastclust-matrix.XXXXXX)
chmod 755 "$work"
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP
failed=0
rows=()
installed=()

version_of() { "$1" --version | sed 's/^PostgreSQL \([0-9.a-z]*\).*/\1/'; }
major_of() { version_of "$1" | grep -o '^[0-9]*'; }

# Succeeds if the second server is not newer than the first.
no_newer() { [ "$(printf '%s\n' "$(version_of "$1")" "$(version_of "$2")" | sort -V | tail -n 1)" = "$(version_of "$1")" ]; }

build_missing()
{
	local version
	[ "${MISSING:-}" = build ] && [ -e "${SERVER_SOURCES:-}/build-postgres.sh" ] && mkdir -p "$folder" && [ -w "$folder" ] || return 0
	{
		flock 9					# tools/sanitized.sh may build here, too
		for version in ${VERSIONS:-}; do
			ls "$SERVER_SOURCES"/postgresql-"$version".*.tar.* >/dev/null 2>&1 || continue
			[ -x "$folder/postgresql-$version/bin/postgres" ] && continue
			tools/setup.sh server && bash "$SERVER_SOURCES/build-postgres.sh" "$version" "$folder/postgresql-$version" \
				>"$logs/server-$version.log" 2>&1 9>&- || { tail -n 20 "$logs/server-$version.log"; return 1; }
		done
	} 9>"$folder/lock"
}

# Prints the pg_config of each server to test; Debian's replaces the folder's server of its version.
servers()
{
	local candidate major own=
	if find_pg_config; then
		own=$(major_of "$PG_CONFIG")
		echo "$PG_CONFIG"
	fi
	for candidate in "$folder"/postgresql-*/bin/pg_config; do
		[ -x "$candidate" ] || continue
		major=$(major_of "$candidate")
		[ "$major" = "$own" ] || echo "$candidate"
	done
}

# Prints the versions that no server here has: they are tested in a root, or skipped.
rooted()
{
	local version
	for version in ${VERSIONS:-$(ls -d "$folder"/chroot-* 2>/dev/null | sed 's/.*-//')}; do
		servers | while read -r candidate; do major_of "$candidate"; done | grep -qx "$version" || echo "$version"
	done
}

# A server finds its files relative to its own location, so a copy is a separate server.
private_copy()
{
	local inside=${1#"$folder"/}
	case $1 in
		"$folder"/*)
			[ -e "$work/${inside%%/*}" ] || cp -a "$folder/${inside%%/*}" "$work/"
			echo "$work/$inside"
			;;
		*) echo "$1" ;;
	esac
}

# Builds out of tree, in a folder for the server and compiler.
build()
{
	mkdir -p "$work/$row"
	"$make" -s -j"$jobs" -C "$work/$row" -f "$work/source/Makefile" VPATH="$work/source" PG_CONFIG="$pg_config" CC="$compiler" WERROR=1 all install
}

regress()
{
	"$make" -s -C "$work/$row" -f "$work/source/Makefile" VPATH="$work/source" PG_CONFIG="$pg_config" regress
}

tap() { (cd "$work/source" && "$make" -s prove PG_CONFIG="$pg_config" ${PROVE_TESTS:+PROVE_TESTS="$PROVE_TESTS"}); }

counted()
{
	case $1 in
		build) echo ok ;;
		regress) echo "$(grep -cE '^ok |^(test| ) +[a-z_0-9]+ +\.\.\. ok' "$2") files" ;;
		tap | upgrade) sed -n 's/^Files=\([0-9]*\), Tests=\([0-9]*\),.*/\2 tests/p' "$2" ;;
	esac
}

# Runs a stage and adds its cell to the row.
stage()
{
	local log=$logs/$row.$1.log start=$SECONDS
	if "$1" >"$log" 2>&1 </dev/null; then
		cells+=" $(counted "$1" "$log") |"
		echo "ok matrix/$row $1: $((SECONDS - start)) s, $(counted "$1" "$log")"
	else
		cells+=" FAILED |"
		grep -E '^not ok|FAILED|Failed|error|^[-+] ' "$log" | tail -n 40
		echo "not ok matrix/$row $1: see $log"
		failed=1
		return 1
	fi
}

runs_tap()
{
	case $stages$compiler in *" tap "*${TAP_COMPILER:-gcc}) ;; *) return 1 ;; esac
	[ -z "${TAP_VERSIONS:-}" ] || grep -qw "$(major_of "$pg_config")" <<<"$TAP_VERSIONS"
}

try()
{
	local row cells
	row=$(major_of "$pg_config")-$compiler
	cells="| $(version_of "$pg_config") | $compiler |"
	if stage build; then
		case " ${installed[*]-} " in *" $pg_config "*) ;; *) installed+=("$pg_config") ;; esac
		case $stages in *" regress "*) stage regress ;; *) cells+=" – |" ;; esac
		if runs_tap; then stage tap; else cells+=" – |"; fi
	else
		cells+=" – | – |"
	fi
	rows+=("$cells")
}

mkdir -p "$logs"
build_missing || { echo "not ok matrix: a server does not build"; exit 1; }
tools/sources.sh "$work/source"
roots=$(rooted)
for candidate in $(servers); do
	major=$(major_of "$candidate")
	[ -z "${VERSIONS:-}" ] || grep -qw "$major" <<<"$VERSIONS" || continue
	pg_config=$(private_copy "$candidate")
	export PG_CONFIG=$pg_config
	for compiler in ${COMPILERS:-gcc clang}; do
		if command -v "$compiler" >/dev/null; then
			try
		else
			echo "skip matrix/$major-$compiler: not installed"
		fi
	done
done

# ---- upgrades from each server to the newest; pg_upgrade cannot downgrade ----

install_old_servers()
{
	local pg_config row compiler=gcc cells candidate
	for candidate in "$folder"/from-*/usr/lib/postgresql/*/bin/pg_config ${UPGRADE_FROM:-}; do
		[ -x "$candidate" ] && no_newer "$newest" "$candidate" || continue
		pg_config=$(private_copy "$candidate")
		row=from-$(version_of "$pg_config")
		stage build && installed+=("$pg_config")
	done
}

upgrade() { (cd "$work/source" && PG_CONFIG=$newest OLD_PG_CONFIG=$old prove -Itest/t test/t/008_pg_upgrade.pl); }

upgrades()
{
	local newest=${installed[0]-} old row cells
	for old in "${installed[@]}"; do
		no_newer "$old" "$newest" && newest=$old
	done
	[ -n "$newest" ] || return 0
	install_old_servers
	for old in "${installed[@]}"; do
		row=$(version_of "$old")-to-$(version_of "$newest")
		[ "$old" = "$newest" ] || stage upgrade
	done
}
case "$stages" in *" upgrade "*) upgrades ;; esac

# ---- servers in a Debian root of their own ----

inside()
{
	local old
	old=$(cd "$folder" 2>/dev/null && for old in postgresql-*/bin/pg_config; do [ ! -x "$old" ] || echo "/servers/$old"; done)
	FOLDER=$folder LOGS=$logs tools/chroot.sh "$1" env VERSIONS="$1" LOGS="/logs/chroot-$1" \
		UPGRADE_FROM="$(echo $old)" tools/matrix.sh /servers
}

for version in $roots; do
	mkdir -p "$logs/chroot-$version"
	rm -f "$logs/chroot-$version/table.md"
	inside "$version" | sed -u -e '/^|/d' -e "s|/logs/|$logs/|"
	case ${PIPESTATUS[0]} in 0 | 77) ;; *) failed=1 ;; esac
	if [ -e "$logs/chroot-$version/table.md" ]; then
		while read -r cells; do rows+=("$cells"); done < <(tail -n +3 "$logs/chroot-$version/table.md")
	fi
done
[ ${#rows[@]} -gt 0 ] || { echo "skip matrix: no server in $folder"; exit 0; }
printf '%s\n' "| PostgreSQL | compiler | build | regress | TAP |" "| --- | --- | --- | --- | --- |" "${rows[@]}" | tee "$logs/table.md"
exit $failed
