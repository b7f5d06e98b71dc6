#!/bin/bash
# demo.sh: from a bare machine to the stories of customers.sql and demo.sql, on a private server that is gone afterwards.
set -eu
cd "$(dirname "$0")/.."
. tools/common.sh
tools/setup.sh
mkdir -p build
find_pg_config || { echo "demo: no PostgreSQL with its development files" >&2; exit 1; }
echo "demo: building fastclust and installing it into $("$PG_CONFIG" --version): up to two minutes; build/log.build has the output"
tools/install.sh >build/log.build 2>&1 || { tail -n 40 build/log.build; exit 1; }
echo "demo: starting a temporary server; first 50,000 customers, then ${ROWS:-1000000} rows of ten numbers, in about half a minute"
exec tools/with-server.sh "$PG_BINDIR/psql" -X -q -v ON_ERROR_STOP=1 -v rows="${ROWS:-1000000}" -v report="$PWD/build/customers.html" \
	-f demo/customers.sql -f demo/demo.sql
