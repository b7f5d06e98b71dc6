#!/bin/bash
# regressions.sh [--record] [--only=PART,..] [DATA_FOLDER]: measures figures of the papers' methods on a
# private server and compares them with bench/regressions.csv. Prints a line for each row; exits 1 if
# one is missing or worse than its tolerance allows. Without DATA_FOLDER, rows of real sets are
# skipped. --record writes regressions.csv from five seeds or more; --only measures some parts (see
# regressions.py).
set -eu
options=
while [[ "${1-}" == --* ]]; do
	options+=" $1"
	shift
done
BENCH_ONLY=regressions BENCH_OPTIONS=$options exec "$(dirname "$0")/run.sh" "${1:-}"
