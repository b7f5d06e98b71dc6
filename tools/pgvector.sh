#!/bin/bash
# pgvector.sh ARCHIVE: build pgvector of a source archive and install it into the server that PG_CONFIG names, for the test of
# its types.  It must do without -march=native, as packages do.  Does nothing when it is there.
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
