#!/bin/bash
# many_starts.sh: compares SSE and CPU time of k-means with many clusters and default options with
# one start of k-means++, on the same rows and one thread. Good: ratios of at most 1.
# many_starts.sh FAMILY n d k [SEED] prints one line of the table (bench/families.h lists the
# families). ONE_START=0 leaves out k-means++.
set -eu
cd "$(dirname "$0")/.."
export OPENBLAS_NUM_THREADS=1
program=$(mktemp)
trap 'rm -f "$program"' EXIT
gcc -std=gnu11 -O2 -march=native -ffp-contract=fast -Isrc/core -Isrc bench/many_starts.c test/unit/blas_failure.c src/core/*/*.o src/pg/base/blas_*.o -ldl -lm -o "$program"
if [ $# -gt 0 ]; then
	"$program" "$@"
	exit
fi
while read -r line; do
	"$program" $line
done <<LINES
groups 60000 64 2048
power 40000 64 1024
power 100000 64 4096
finer 20000 64 256
uniform 20000 64 1024
uniform 20000 8 1000
manifold 20000 64 512
images 20000 64 512
power 100000 16 4096
LINES
