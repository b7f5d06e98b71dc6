#!/bin/bash
# setup.sh [extras|server|citus|soak|deb|arm]...: installs the packages that building and testing
# need (Debian, Ubuntu). Does nothing, and needs no privileges, if all are installed.
# "extras": also pg-bsd-indent, clang, clang-tidy, cppcheck and valgrind, for `make indent`,
# `make fuzz`, `make lint` and `make valgrind`, and all builds of OpenBLAS and drivers, for the tests
# that compare them.
# "server", "citus": also the tools to build a server and Citus. "soak": also sqlsmith.
# "deb", "arm": also the tools for `make deb` and `make arm`.
set -eu
cd "$(dirname "$0")/.."
. tools/common.sh

installed() { [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

# Prints the major version of the installed server, else of the distribution's package `postgresql`.
server_major()
{
	if find_pg_config; then
		"$PG_CONFIG" --version | sed 's/^PostgreSQL \([0-9]*\).*/\1/'
	else
		apt-cache depends postgresql | sed -n 's/.*Depends: postgresql-\([0-9][0-9]*\)$/\1/p' | head -n 1
	fi
}

# A server built from source includes its own programs.
server_packages()
{
	local major
	major=$(server_major)
	[ -n "$major" ] || { echo "setup: no PostgreSQL found, and none to install" >&2; return 1; }
	case ${PG_BINDIR:-/usr/lib/postgresql/} in
		/usr/lib/postgresql/*) echo "postgresql-$major postgresql-server-dev-$major" ;;
	esac
}

# Installing a server must not start a cluster.
without_main_cluster()
{
	if ! installed postgresql-common && [ ! -e /etc/postgresql-common/createcluster.conf ]; then
		$root mkdir -p /etc/postgresql-common
		echo "create_main_cluster = false" | $root tee /etc/postgresql-common/createcluster.conf >/dev/null
		suppressed=yes
	fi
}

# Output of the package manager and of package scripts is printed only if they fail.
quietly()
{
	$root "$@" >"$log" 2>&1 || { cat "$log" >&2; exit 1; }
}

if ! command -v apt-get >/dev/null; then
	find_pg_config && exit 0
	echo "setup: install PostgreSQL with its development files, OpenBLAS and L-BFGS-B first" >&2
	exit 1
fi

# Prints the package of pg_cron, for the test of scheduled jobs, if the distribution has it.
cron_package()
{
	local package
	package=postgresql-$(server_major)-cron
	case ${PG_BINDIR:-/usr/lib/postgresql/} in
		/usr/lib/postgresql/*) apt-cache show "$package" >/dev/null 2>&1 && echo "$package" ;;
	esac
	return 0
}

# Prints the package of pg_bsd_indent, for `make indent`, if the distribution has it: Debian 12 has,
# Debian 13 has not.
indent_package()
{
	apt-cache show pg-bsd-indent >/dev/null 2>&1 && echo pg-bsd-indent
	return 0
}

# Prints a package of OpenBLAS, unless any build is installed.
openblas_package()
{
	local build
	for build in serial pthread openmp; do
		! installed libopenblas0-$build || return 0
	done
	echo libopenblas0-serial
}

# Prints the drivers for test/t/119_drivers.pl that the distribution has.
driver_packages()
{
	local package
	for package in python3-psycopg2 python3-psycopg python3-sqlalchemy libpostgresql-jdbc-java default-jdk-headless; do
		! apt-cache show "$package" >/dev/null 2>&1 || echo "$package"
	done
}

wanted_packages()
{
	local group
	echo gcc libc6-dev make perl liblbfgsb0
	openblas_package
	server_packages && cron_package
	for group in "$@"; do
		case $group in
			extras) indent_package; echo clang clang-tidy cppcheck libclang-rt-dev valgrind libopenblas0-serial libopenblas0-pthread libopenblas0-openmp; driver_packages ;;
			server) echo bison flex zlib1g-dev ;;
			citus) echo libkrb5-dev libzstd-dev ;;
			soak) echo sqlsmith ;;
			arm) echo gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user ;;
			deb) echo build-essential debhelper dpkg-dev fakeroot lintian postgresql-server-dev-all ;;
			*) echo "setup: no such group: $group" >&2; return 1 ;;
		esac
	done
}

missing_packages()
{
	local package wanted
	wanted=$(wanted_packages "$@") || return 1
	for package in $wanted; do
		installed "$package" || echo "$package"
	done
}

# Downloads the package lists if apt has none, because the version of the server depends on them.
if [ -z "$(apt-cache policy postgresql 2>/dev/null | sed -n 's/.*Candidate: \([0-9].*\)/\1/p')" ] && ! find_pg_config; then
	root=$(root_prefix) || { echo "setup: run as root, or install sudo" >&2; exit 1; }
	$root apt-get update -qq
fi
missing=$(missing_packages "$@")
[ -n "$missing" ] || exit 0
root=$(root_prefix) || { echo "setup: run this first as root: apt-get install" $missing >&2; exit 1; }
echo "setup: installing" $missing
without_main_cluster
log=$(mktemp)
quietly apt-get update -qq
quietly env DEBIAN_FRONTEND=noninteractive UCF_FORCE_CONFFOLD=1 \
	apt-get install -y -qq --no-install-recommends -o Dpkg::Use-Pty=0 $missing
rm -f "$log"
[ -z "${suppressed:-}" ] || $root rm -f /etc/postgresql-common/createcluster.conf
