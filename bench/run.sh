#!/bin/bash
# run.sh [DATA_FOLDER]: measures speed and quality on a private server, and writes tables, CSV and
# SVG. Installs python3-numpy, python3-sklearn and python3-matplotlib of Debian if necessary, and
# compares with faiss if python3-faiss is installed.
# DATA_FOLDER has a load.py that returns real sets; without it only generated data are used.
# BENCH_ONLY="speed quality" runs only these parts of
#   speed quality kernels assignment pictures        the default
#   decoders training factors iterations rows products neighbours nystroem models defaults drift kmeans
#   number rules density weights peers             the longer ones
# The head of bench/PART.py says what a part measures; for the parts papers and regressions see
# bench/papers.sh and bench/regressions.sh.
# Variables: BENCH_SEEDS (10), BENCH_OPTIONS (options of papers, regressions and peers), BENCH_OUT (build/bench)
set -eu
cd "$(dirname "$0")/.."
. tools/common.sh
data=${1:-${BENCH_DATA:-}}
out=${BENCH_OUT:-build/bench}
mkdir -p "$out"
out=$(cd "$out" && pwd)
docs=$PWD/docs
seeds=${BENCH_SEEDS:-10}
python=/usr/bin/python3
with_data=(${data:+--data "$data"})
options=${BENCH_OPTIONS:-}

install_peers()
{
	local root packages="python3-numpy python3-sklearn python3-psycopg2 python3-matplotlib python3-pandas"
	dpkg-query -W $packages >/dev/null 2>&1 && return
	root=$(root_prefix) || { echo "bench: install $packages first" >&2; exit 1; }
	$root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $packages >/dev/null
}

build()
{
	local source program object objects=()
	tools/install.sh >"$out/install.log" 2>&1 || { tail "$out/install.log"; exit 1; }
	for object in src/core/*/*.o src/pg/base/blas_*.o; do
		[ ! -f "${object%%.*}.c" ] || objects+=("$object")		# skip objects without a source
	done
	for source in bench/*.c; do
		program=$(basename "$source" .c)
		gcc -std=gnu11 -O2 -march=native -ffp-contract=fast -Isrc/core -Isrc "$source" test/unit/blas_failure.c \
			"${objects[@]}" -ldl -lm -o "$out/$program"
	done
}

needs_data() { [ -n "$data" ] || { echo "skip $1: it needs DATA_FOLDER"; return 1; }; }

# Runs a part, with its own server in the PG* variables.
part()
{
	echo "== $1"
	psql -X -q -c 'CREATE EXTENSION IF NOT EXISTS fastclust'
	case $1 in
		speed) $python bench/speed.py --kernel "$out/kernel" --out "$out" ;;
		quality) $python bench/quality.py --seeds "$seeds" "${with_data[@]}" --csv "$out/quality.csv" ;;
		kernels)
			"$out/kernel_product" | tee "$out/kernel_product.csv"
			$python bench/kernel_clustering.py "${with_data[@]}" --out "$out" --docs "$docs"
			;;
		assignment) $python bench/assignment.py "$out/kernel" "$docs/fast-operators.svg" --csv "$out/assignment.csv" ;;
		pictures) $python bench/pictures.py "$docs" ;;
		decoders)
			mkdir -p "$out/decoders"
			$python bench/decoders.py all --seeds "$seeds" "${with_data[@]}" --out "$out/decoders"
			$python bench/decoder_pictures.py "$out/decoders" "$docs"
			;;
		training)
			"$out/palm"
			needs_data training || return 0
			$python bench/quickmeans.py "${with_data[@]}" --docs "$docs"
			;;
		factors) $python bench/factors.py "${with_data[@]}" ;;
		rows) $python bench/rows.py --csv "$out/rows.csv" ;;
		products) $python bench/products.py --csv "$out/products.csv" ;;
		neighbours) needs_data neighbours || return 0; $python bench/neighbours.py "${with_data[@]}" --out "$out" --docs "$docs" ;;
		nystroem) needs_data nystroem || return 0; $python bench/nystroem.py "${with_data[@]}" --out "$out" --docs "$docs" ;;
		iterations) $python bench/iterations.py --csv "$out/iterations.csv" --docs "$docs" ;;
		models)
			$python bench/models.py
			$python bench/model_pictures.py --docs "$docs"
			;;
		peers) env -u OMP_NUM_THREADS $python bench/peers.py "${with_data[@]}" $options ;;
		regressions) $python bench/regressions.py --programs "$out" "${with_data[@]}" $options ;;
		papers) $python bench/papers.py --programs "$out" "${with_data[@]}" $options ;;
		number)
			$python bench/number.py --csv "$out/number.csv"
			$python bench/number.py --nulls --seeds 20
			;;
		density) $python bench/density.py "${with_data[@]}" --csv "$out/density.csv" ;;
		rules) $python bench/rules.py "${with_data[@]}" ;;
		defaults) $python bench/defaults.py --rows 100000 --methods auto --out "$out/defaults" "${with_data[@]}" ;;
		weights) $python bench/weights.py "${with_data[@]}" ;;
		kmeans) nice $python bench/kmeans.py "$out/kmeans" "${with_data[@]}" --csv "$out/kmeans.csv" ;;
		drift) $python bench/drift.py --workers 2 "${with_data[@]}" --csv "$out/drift.csv" ;;
		*) echo "bench: no part $1" >&2; exit 1 ;;
	esac
}

if [ "${BENCH_INSIDE:-}" ]; then
	for name in $BENCH_INSIDE; do
		part "$name"
	done
	exit
fi
install_peers
build
export OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=1
BENCH_INSIDE=${BENCH_ONLY:-speed quality kernels assignment pictures} tools/with-server.sh bench/run.sh "$data"
