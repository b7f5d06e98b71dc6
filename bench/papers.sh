#!/bin/bash
# papers.sh [--record] [--only=PART,..] [DATA_FOLDER]: the rows of the papers' tables beside bench/papers.csv, on a private server.
# One line a row; exits 1 if a row is missing or worse than its tolerance.  Rows of real sets are skipped without DATA_FOLDER.
# --record writes papers.csv from five seeds or more.  --only measures some parts: see bench/papers.py.
set -eu
options=
while [[ "${1-}" == --* ]]; do
	options+=" $1"
	shift
done
BENCH_ONLY=papers BENCH_OPTIONS=$options exec "$(dirname "$0")/run.sh" "${1:-}"
