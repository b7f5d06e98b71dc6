#!/bin/bash
# test.sh: runs all tests: set-up on a new machine, build, install, unit tests, purity, indent,
# census, pg_regress and TAP with private servers, demo. Prints "N passed, N failed" as the last
# line. Used by `make test`.
# FUZZ_SECONDS: if set, also fuzzes each reader of stored bytes for this time.
# MATRIX (empty): versions such as "18 19". If set, also runs lint, pg_regress on these servers
# (tools/matrix.sh), and unit tests with other kernels of OpenBLAS.
# RANDOM_CALLS: if set, also runs most files of pg_regress under the sanitizers, and this number of
# random calls; the unit tests then run under the sanitizers, too.
set -u
cd "$(dirname "$0")/.."
unset MAKEFLAGS MFLAGS MAKELEVEL
. tools/common.sh
make=${MAKE:-make}
passed=0
failed=0

give_up()
{
	echo "test: $1"
	echo "$passed passed, $((failed + 1)) failed"
	exit 1
}

# stage NAME COMMAND...: runs a command, prints its output and counts its lines "ok ..." and
# "not ok ..."; a command that fails without such a line counts as one failure.
stage()
{
	local name=$1 log=build/log.$1 start=$SECONDS status bad
	shift
	echo "== $name"
	while sleep 60 >/dev/null 2>&1; do echo "== $name, $((SECONDS / 60)) minutes since the start"; done &
	"$@" 2>&1 | tee "$log" | { grep -vE '^(gcc|cc|clang|mkdir) ' || true; }
	status=${PIPESTATUS[0]}
	kill $!; wait $! 2>/dev/null
	# pg_regress prints "test name ... ok" before version 16, "ok 1 - name" since then
	passed=$((passed + $(grep -E '^ok |^(test| ) +[a-z_0-9]+ +\.\.\. ok' "$log" | grep -cv '# skip')))
	# A TAP file that dies has a parse error instead of a "not ok".
	bad=$(grep -cE '^not ok |^(test| ) +[a-z_0-9]+ +\.\.\. FAILED|^  Parse errors: ' "$log")
	[ "$status" -eq 0 ] || [ "$bad" -gt 0 ] || bad=1
	failed=$((failed + bad))
	echo "== $name: $((SECONDS - start)) s, $bad failed"
}

tools/setup.sh || give_up "set-up failed"
mkdir -p build
find_pg_config || give_up "no PostgreSQL with its development files"
echo "== build ($("$PG_CONFIG" --version))"
tools/install.sh >build/log.build 2>&1 || { tail -n 40 build/log.build; give_up "build or install failed"; }
grep -E 'warning:|error:' build/log.build || true

jobs=$(nproc 2>/dev/null || echo 1)
stage unit "$make" -s -k -j"$jobs" "$([ -z "${RANDOM_CALLS:-}" ] && echo plain || echo unit)"
stage purity "$make" -s -j"$jobs" purity
[ -z "${FUZZ_SECONDS:-}" ] || stage fuzz "$make" -s -j"$jobs" fuzz FUZZ_SECONDS="$FUZZ_SECONDS"
stage indent tools/indent.pl --check
stage census tools/with-server.sh "$make" -s census
stage regress "$make" -s regress
stage tap "$make" -s prove PROVE_TESTS="$(echo $(ls -S test/t/*.pl))" PROVE_FLAGS="-v --timer -j$((jobs + 1))"	# long files first; many wait
stage demo sh -c 'ROWS=100000 demo/demo.sh >build/log.demo 2>&1 && echo "ok demo" || { tail -n 5 build/log.demo; echo "not ok demo"; }'
if [ -n "${MATRIX:-}" ]; then
	stage lint "$make" -s lint
	# Only unit tests of matrix products and eigenvectors; `make core-types` runs all.
	stage core-types "$make" -s core-types CORE_TYPES="Haswell Sandybridge" \
		CORE_TYPE_UNITS="test_spec_of_sample test_kernel_projection test_kernel_map test_dense test_plane test_decoders"
	# On 19, also the tests of live sketches beside its new commands.
	stage matrix env VERSIONS="$MATRIX" COMPILERS=gcc STAGES="regress tap" TAP_VERSIONS=19 \
		PROVE_TESTS="test/t/118_live_ddl.pl test/t/124_live_isolation.pl" PROVE_FLAGS="-j$jobs" MISSING=build tools/matrix.sh
fi
if [ -n "${RANDOM_CALLS:-}" ]; then
	# Files of long computations are left to soak: unit tests run their code under the sanitizers.
	stage sanitized tools/sanitized.sh run "$make" -s regress LEFT_OUT="density effort decoders sizes"
	stage random tools/sanitized.sh run tools/with-server.sh perl test/soak/random_calls.pl --calls "$RANDOM_CALLS" --jobs "$jobs"
fi

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
