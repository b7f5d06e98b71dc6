#!/bin/bash
# regress.sh FILE...: runs files of sql/ by `make installcheck`, some files per private server and
# one server per processor, prints their results and, if a file fails, its differences. Output is
# in build/regress. MAKE: the make command, with the Makefile.
set -u
tools=$(cd "$(dirname "$0")" && pwd)
export tools

run_some()
{
	local output=$PWD/build/regress/$1 status=0
	rm -rf "$output"
	mkdir -p "$output"
	"$tools/with-server.sh" ${MAKE:-make} -s installcheck REGRESS="$*" EXTRA_REGRESS_OPTS="--outputdir=$output" >"$output/log" 2>&1 || status=1
	cat "$output/log"		# at once, so that lines of two servers do not mix
	[ "$status" -eq 0 ] || cat "$output/regression.diffs"
	return $status
}

export -f run_some
[ $# -gt 0 ] || { echo "skip regress: no sql/*.sql"; exit 0; }
printf '%s\n' "$@" | xargs -n 6 -P "$(nproc 2>/dev/null || echo 1)" bash -uc 'run_some "$@"' regress
