#!/bin/bash
# many_clusters.sh [K D N]: compares the time to label rows by pruning bounds and by the matrix
# product of all scores, for each law of pruning.c, on one thread. "wrong" must be 0.
set -eu
cd "$(dirname "$0")/.."
export OPENBLAS_NUM_THREADS=1
program=$(mktemp)
trap 'rm -f "$program"' EXIT
gcc -std=gnu11 -O2 -march=native -ffp-contract=fast -Isrc/core -Isrc bench/pruning.c test/unit/blas_failure.c src/core/*/*.o src/pg/base/blas_*.o -ldl -lm -o "$program"
for law in separate spectrum overlap noise; do
	echo "$law: $("$program" "${1:-4096}" "${2:-768}" "${3:-100000}" $law | tr '\n' ' ')"
done
