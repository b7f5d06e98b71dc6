#!/bin/bash
# with-server.sh COMMAND...: runs a command with a private server and removes the server afterwards;
# PGHOST, PGPORT, PGUSER and PGDATABASE are set for the command.
set -eu
tools=$(cd "$(dirname "$0")" && pwd)
directory=$("$tools/server.sh" directory)
trap '"$tools/server.sh" remove "$directory"' EXIT
trap 'exit 130' INT TERM HUP
"$tools/server.sh" create "$directory"
"$tools/server.sh" start "$directory"
export PGHOST=$directory PGPORT=54321 PGUSER=postgres PGDATABASE=postgres
"$@"
