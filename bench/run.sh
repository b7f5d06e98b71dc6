#!/bin/bash
# run.sh [DATA_FOLDER]: speed and quality on a private server, as tables, CSV and SVG.
# Peers come from Debian: python3-numpy, python3-sklearn, python3-matplotlib (python3-faiss if there).
# DATA_FOLDER holds real sets behind a load.py; without it only generated data are used.
set -eu
cd "$(dirname "$0")/.."
. tools/common.sh
data=${1:-${BENCH_DATA:-}}
out=${BENCH_OUT:-build/bench}
mkdir -p "$out"
packages="python3-numpy python3-sklearn python3-psycopg2 python3-matplotlib python3-pandas"
if ! dpkg-query -W $packages >/dev/null 2>&1; then
	root=$(root_prefix) || { echo "bench: install $packages first" >&2; exit 1; }
	$root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $packages >/dev/null
fi
openblas=$(ls -d /usr/lib/*/openblas-serial | head -n 1)
for program in kernel kernel_product; do
	gcc -std=gnu11 -O2 -march=native -ffp-contract=fast -Isrc/core \
		-isystem "$(ls -d /usr/include/*/openblas-serial | head -n 1)" bench/$program.c src/core/*.o \
		-L"$openblas" -Wl,-rpath,"$openblas" -lopenblas -llbfgsb -lm -o "$out/$program"
done
tools/install.sh >"$out/install.log" 2>&1 || { tail "$out/install.log"; exit 1; }
export OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=1
python=/usr/bin/python3
tools/with-server.sh psql -X -q -d postgres -c 'SELECT version()' >/dev/null
tools/with-server.sh bash -c "cd bench &&
	psql -X -q -d postgres -c 'CREATE EXTENSION fastclust' &&
	PGDATABASE=postgres $python speed.py --kernel '$PWD/$out/kernel' --out '$PWD/$out' &&
	PGDATABASE=postgres $python quality.py --seeds ${BENCH_SEEDS:-10} ${data:+--data '$data'} --csv '$PWD/$out/quality.csv' &&
	'$PWD/$out/kernel_product' | tee '$PWD/$out/kernel_product.csv' &&
	PGDATABASE=postgres $python kernel_clustering.py ${data:+--data '$data'} --out '$PWD/$out' --docs '$PWD/docs' &&
	$python assignment.py '$PWD/$out/kernel' '$PWD/docs/fast-operators.svg' --csv '$PWD/$out/assignment.csv' &&
	$python pictures.py '$PWD/$out' '$PWD/docs'"
