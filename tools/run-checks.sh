#!/bin/bash
# run-checks.sh unit|plain|valgrind|arm|fuzz PROGRAM...: runs test programs in parallel, one per
# processor. Prints a line "ok name: ..." for each, or its output and "not ok name"; fails if one
# failed.
set -u
kind=$1
shift

run_one()
{
	case $kind in
		unit)
			# no fake stack: gcc before 14 misaligns 64-byte vectors on it (gcc bug 110027)
			ASAN_OPTIONS=detect_stack_use_after_return=0 UBSAN_OPTIONS=print_stacktrace=1 "$1"
			;;
		plain)
			"$1"
			;;
		valgrind)
			valgrind -q --error-exitcode=9 --leak-check=full "$1"
			;;
		arm)
			libraries=$QEMU_LD_PREFIX/usr/lib/aarch64-linux-gnu
			qemu-aarch64 -E LD_LIBRARY_PATH="$libraries/openblas-serial:$libraries" "$1"
			;;
		fuzz)
			mkdir -p "$1.corpus"
			# the limit for an input is wall-clock time, so it must be generous on a busy machine
			"$1" -max_total_time="${FUZZ_SECONDS:-20}" -timeout=60 -rss_limit_mb=2048 -max_len=65536 \
				-artifact_prefix="$1." -print_final_stats=1 "$1.corpus"
			;;
	esac
}

summary()
{
	case $kind in
		fuzz) sed -n 's/^stat::number_of_executed_units: */inputs: /p' "$1" ;;
		*) tail -n 1 "$1" ;;
	esac
}

# check PROGRAM: runs a program and prints its result.
check()
{
	local name=$kind${OPENBLAS_CORETYPE:+-$OPENBLAS_CORETYPE}/$(basename "$1") log status=0
	log=$(mktemp)
	if run_one "$1" >"$log" 2>&1; then
		echo "ok $name: $(summary "$log")"
	elif [ "$kind" = arm ] && grep -q '^could not load' "$log"; then
		echo "skip $name: $(grep -m 1 '^could not load' "$log")"
	else
		grep -v "^#[0-9]" "$log" | tail -n 60
		echo "not ok $name"
		status=1
	fi
	rm -f "$log"
	return $status
}

export kind
export -f run_one summary check
printf '%s\0' "$@" | xargs -0 -n 1 -P "$(nproc 2>/dev/null || echo 1)" bash -uc 'check "$1"' check
