#!/bin/bash
# cov.sh DIRECTORY PROGRAM...: measures the lines that the tests reach. Runs the unit tests PROGRAM,
# then pg_regress and the TAP tests COV_TESTS with DIRECTORY/fastclust.so, which is installed into
# the server of PG_CONFIG for that time. Prints the share of each file of src (tools/cov.pl). Used
# by `make cov`.
set -u
cd "$(dirname "$0")/.."
. tools/common.sh
find_pg_config || { echo "cov: no PostgreSQL with its development files" >&2; exit 1; }
directory=$1
shift
module=$("$PG_CONFIG" --pkglibdir)/fastclust.so

# Processes of two users write counts, so the directory is writable for both. GCOV_PREFIX is
# followed by the path of the object.
GCOV_PREFIX=$(mktemp -d /tmp/fastclust-cov.XXXXXX)
export GCOV_PREFIX
chmod 1777 "$GCOV_PREFIX"

finish()
{
	install -m 755 fastclust.so "$module"
	rm -rf "$GCOV_PREFIX"
}

open_counts() { find "$GCOV_PREFIX" -mindepth 1 -exec chmod a+rwX {} +; }

"${MAKE:-make}" -s install PG_CONFIG="$PG_CONFIG" >/dev/null || exit 1
trap finish EXIT
trap 'exit 130' INT TERM HUP
tools/run-checks.sh unit "$@"
open_counts
install -m 755 "$directory/fastclust.so" "$module"
tools/with-server.sh "${MAKE:-make}" -s installcheck PG_CONFIG="$PG_CONFIG" || echo "not ok cov/regress"
open_counts
[ -z "${COV_TESTS:-}" ] || prove -Itest/t $COV_TESTS || echo "not ok cov/tap"
find "$directory" -name '*.gcda' -delete
cp -r "$GCOV_PREFIX$(cd "$directory" && pwd)/." "$directory/"
tools/cov.pl "$directory"
