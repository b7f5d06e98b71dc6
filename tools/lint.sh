#!/bin/bash
# lint.sh INCLUDE: runs cppcheck on the core, which has no macros of the server, and clang-tidy on
# src. INCLUDE is the directory of the server's headers. .clang-tidy lists the checks and their
# reasons; a missing tool is skipped. Prints a line "ok" or "not ok" for each. Used by `make lint`.
set -u
cd "$(dirname "$0")/.."
include=$1
jobs=$(nproc 2>/dev/null || echo 1)

# verdict NAME STATUS LOG: prints the result of a tool, and its log if it failed.
verdict()
{
	if [ "$2" -eq 0 ]; then
		echo "ok lint/$1"
	else
		cat "$3"
		echo "not ok lint/$1"
	fi
	return "$2"
}

# cppcheck finds fields that are never read, addresses of local variables that outlive them, and
# values that are never used. Suppressed are casts of bytes to the structs in them
# (invalidPointerCast), conditions that are constant in one of several builds
# (knownConditionTrueFalse), arrays whose length a caller passes (the bounds) or that a loop has
# filled (uninitvar of isa_rows.h), and matters of style.
cppcheck_all()
{
	cppcheck --enable=warning,performance,portability,style --std=c11 --quiet --error-exitcode=1 --inline-suppr \
		-j"$jobs" -D__x86_64__ -D__SIZEOF_INT128__=16 -DFC_ISA=0 -Isrc/core \
		--suppress=invalidPointerCast --suppress=knownConditionTrueFalse --suppress=shadowFunction \
		--suppress=variableScope --suppress=clarifyCalculation --suppress=badBitmaskCheck \
		--suppress=arrayIndexThenCheck --suppress=redundantContinue --suppress=constVariable \
		--suppress=bufferAccessOutOfBounds --suppress=arrayIndexOutOfBoundsCond \
		--suppress=uninitvar:src/core/sketch/isa_rows.h src/core
}

tidy()
{
	clang-tidy --quiet "$@" -- -std=gnu11 -w -Isrc -Isrc/core -isystem "$include" -D_GNU_SOURCE -DFC_ISA=0 \
		'-DFC_OPENBLAS_DIR=""' 2>/dev/null
}

mkdir -p build
status=0
if [ -n "$(command -v cppcheck)" ]; then
	cppcheck_all >build/log.cppcheck 2>&1
	verdict cppcheck $? build/log.cppcheck || status=1
else
	echo "ok lint/cppcheck # skip: cppcheck is not installed"
fi
if [ -n "$(command -v clang-tidy)" ]; then
	export -f tidy
	export include
	printf '%s\n' src/core/*/*.c src/pg/*/*.c | xargs -P"$jobs" -n 8 bash -c 'tidy "$@"' tidy >build/log.tidy 2>&1
	verdict clang-tidy $? build/log.tidy || status=1
else
	echo "ok lint/clang-tidy # skip: clang-tidy is not installed"
fi
exit $status
