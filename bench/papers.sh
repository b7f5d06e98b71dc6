#!/bin/bash
# papers.sh [--record] [--only=PART,..] [DATA_FOLDER]: measures the rows of the papers' tables on a
# private server and compares them with bench/papers.csv. Prints a line for each row; exits 1 if one
# is missing or worse than its tolerance allows. Without DATA_FOLDER, rows of real sets are skipped.
# --record writes papers.csv from five seeds or more; --only measures some parts (see papers.py).
set -eu
options=
while [[ "${1-}" == --* ]]; do
	options+=" $1"
	shift
done
BENCH_ONLY=papers BENCH_OPTIONS=$options exec "$(dirname "$0")/run.sh" "${1:-}"
