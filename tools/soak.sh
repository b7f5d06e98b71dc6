#!/bin/bash
# soak.sh [PIECE...]: runs tests that take too long for every day, on a server with assertions and
# the module under the sanitizers. Pieces, by default all, and the unit of LENGTH with its default:
#   regress   all files of pg_regress
#   tap       the TAP tests
#   random    random calls of all functions in the catalog (2000000 calls)
#   values    values with changed bytes through each receive function (600 seconds per type)
#   fuzz      the standalone fuzzers of the byte readers (600 seconds each)
#   sqlsmith  random queries (1800 seconds)
#   kills     kill -9 during train, retrain, use_version (200 kills)
#   clients   pgbench clients that predict during retrain, use_version, drop and train (600 seconds)
#   names     new backends that train models with the same few names (600 seconds)
#   live      32 sessions that write to tables with live sketches, with crashes (600 seconds)
#   ddl       random DDL on followed tables during writes (10000 steps)
#   mixed     8 sessions of writes, DDL and live sketches beside parallel dumps (1800 seconds)
#   wait      how long writers wait for a live sketch that is made concurrently (5000000 rows)
#   pairs     all pairs of calls in one transaction on all kinds of Citus tables, if the server of
#             PG_CONFIG has Citus
# LENGTH: another length for the named pieces. SEED (1): seed of the random pieces.
# Prints a line for each check, also to build/soak/results; the last line is "N passed, N failed".
set -u
cd "$(dirname "$0")/.."
unset MAKEFLAGS MFLAGS MAKELEVEL
make=${MAKE:-make}
jobs=$(nproc 2>/dev/null || echo 1)
seed=${SEED:-1}
# Long pieces run with autovacuum, except for the daily tests.
export SERVER_CONFIG="autovacuum = on"
types="sketch_spec sketch fastop kernel_projection kernel_map encoder"

# Runs a command under the sanitizers. Prints "not ok" if it fails, because it may die before it
# prints that itself.
sanitized()
{
	local status=0
	tools/sanitized.sh run "$@" || status=$?
	[ "$status" -eq 0 ] || echo "not ok $piece: status $status of $*"
	return "$status"
}

fresh() { sanitized tools/with-server.sh perl "$@"; }

piece_regress() { sanitized "$make" -s regress && echo "ok regress"; }
piece_tap() { SERVER_CONFIG= SLOWNESS=5 PAGES_IN_ORDER=1 sanitized "$make" -s prove && echo "ok tap"; }
piece_random() { fresh test/soak/random_calls.pl --calls "${LENGTH:-2000000}" --seed "$seed" --jobs "$jobs"; }

piece_values()
{
	local type
	"$make" -s -j"$jobs" mutators || { echo "not ok values: the mutators cannot be built"; return; }
	for type in $types; do
		fresh test/soak/fuzz_values.pl --type "$type" --seconds "${LENGTH:-600}" --seed "$seed"
	done
}

piece_fuzz() { "$make" -s -j"$jobs" fuzz FUZZ_SECONDS="${LENGTH:-600}"; }

piece_sqlsmith() { fresh test/soak/sqlsmith.pl --seconds "${LENGTH:-1800}" --seed "$seed"; }
piece_kills() { sanitized perl test/soak/kills.pl --kills "${LENGTH:-200}" --seed "$seed"; }
piece_clients() { sanitized perl test/soak/clients.pl --seconds "${LENGTH:-600}"; }
piece_names() { fresh test/soak/new_names.pl --seconds "${LENGTH:-600}" --seed "$seed"; }

# 25 rounds, each with writers stopped at 4 points and a kill -9.
piece_live()
{
	LIVE_VERBOSE=1 LIVE_ROUNDS=25 LIVE_SECONDS=$((${LENGTH:-600} / 25)) LIVE_SESSIONS=32 LIVE_READERS=8 LIVE_SEED="$seed" sanitized prove -Itest/t test/t/107_live.pl && echo "ok live"
}

piece_ddl() { DDL_STEPS="${LENGTH:-10000}" DDL_SEED="$seed" sanitized prove -Itest/t test/t/118_live_ddl.pl && echo "ok ddl"; }
piece_mixed() { sanitized perl test/soak/live_mixed.pl --seconds "${LENGTH:-1800}" --seed "$seed"; }
# Waiting times are measured without sanitizers.
piece_wait() { tools/with-server.sh perl test/soak/live_wait.pl --rows "${LENGTH:-5000000}"; }
piece_pairs() { PAIRS_TABLES=distributed,reference,managed,single prove -Itest/t test/t/117_citus_pairs.pl && echo "ok pairs"; }

tools/setup.sh extras server soak || { echo "0 passed, 1 failed"; exit 1; }
mkdir -p build/soak
: >build/soak/results
pieces=${*:-regress tap random values fuzz sqlsmith kills clients names live ddl mixed wait pairs}
for piece in $pieces; do
	[ "$(type -t "piece_$piece")" = function ] || { echo "soak: no piece $piece" >&2; exit 2; }
done
for piece in $pieces; do
	echo "== $piece"
	start=$(date +%s)
	"piece_$piece" 2>&1 | tee "build/soak/$piece.log"
	grep -E '^(not )?ok ' "build/soak/$piece.log" | sed "s/^/$(date +%F) $(($(date +%s) - start)) s /" >>build/soak/results
	grep -qE '^((not )?ok|skip) ' "build/soak/$piece.log" ||
		echo "$(date +%F) not ok $piece: it gave no result" | tee -a build/soak/results
done
passed=$(grep -c ' s ok ' build/soak/results)
failed=$(grep -c 'not ok ' build/soak/results)
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
