#!/bin/bash
# with-server.sh COMMAND...: run a command against a private server (PGHOST, PGPORT,
# PGUSER, PGDATABASE are set), and remove the server afterwards.
set -eu
tools=$(cd "$(dirname "$0")" && pwd)
directory=$("$tools/server.sh" directory)
trap '"$tools/server.sh" remove "$directory"' EXIT
trap 'exit 130' INT TERM HUP
"$tools/server.sh" create "$directory"
"$tools/server.sh" start "$directory"
export PGHOST=$directory PGPORT=54321 PGUSER=postgres PGDATABASE=postgres
"$@"
