#!/bin/bash
# papers.sh [--record] [--only=PART,..] [DATA_FOLDER]: measures every printed figure of the papers on a
# private server, and prints the table of bench/papers.csv with a verdict for each row, and counts.
# Takes about half an hour. Without DATA_FOLDER, rows of real sets are skipped. --record writes the
# figures into papers.csv and docs/papers.md; --only measures some parts (see papers.py).
set -eu
options=
while [[ "${1-}" == --* ]]; do
	options+=" $1"
	shift
done
BENCH_ONLY=papers BENCH_OPTIONS=$options exec "$(dirname "$0")/run.sh" "${1:-}"
