#!/bin/bash
# pgvector.sh ARCHIVE: builds pgvector from a source archive and installs it into the server of
# PG_CONFIG, for the tests of its types. Built without -march=native, as packages are. Does nothing
# if pgvector is installed.
set -eu
archive=$(readlink -f "${1:?}")
cd "$(dirname "$0")/.."
. tools/common.sh
find_pg_config || { echo "pgvector: no PostgreSQL found; run tools/setup.sh" >&2; exit 1; }
[ ! -e "$("$PG_CONFIG" --sharedir)/extension/vector.control" ] || exit 0
work=$(mktemp -d /tmp/fastclust.XXXXXX)
trap 'rm -rf "$work"' EXIT
tar -xf "$archive" -C "$work"
cd "$work"/pgvector-*
make -s OPTFLAGS= PG_CONFIG="$PG_CONFIG" with_llvm=no
make -s OPTFLAGS= PG_CONFIG="$PG_CONFIG" with_llvm=no install
