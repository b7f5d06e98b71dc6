#!/bin/bash
# install.sh: builds the module and installs it into the server's directories, with sudo if needed.
set -eu
cd "$(dirname "$0")/.."
unset MAKEFLAGS MFLAGS MAKELEVEL
. tools/common.sh
find_pg_config || { echo "install: no PostgreSQL with its development files" >&2; exit 1; }
make=${MAKE:-make}
"$make" -j"$(nproc 2>/dev/null || echo 1)" all PG_CONFIG="$PG_CONFIG"
if [ -w "$("$PG_CONFIG" --pkglibdir)" ] && [ -w "$("$PG_CONFIG" --sharedir)/extension" ]; then
	"$make" -s install PG_CONFIG="$PG_CONFIG"
elif root=$(root_prefix); then
	$root "$make" -s install PG_CONFIG="$PG_CONFIG"
else
	echo "install: $("$PG_CONFIG" --pkglibdir) is not writable: run \"make install\" as root first" >&2
	exit 1
fi
