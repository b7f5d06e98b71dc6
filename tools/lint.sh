#!/bin/bash
# lint.sh INCLUDE: cppcheck over the core, which has no macros of the server's, and clang-tidy over src; INCLUDE is the directory of the server's headers.
# .clang-tidy says which checks run and why; a tool that is missing is skipped.
set -u
cd "$(dirname "$0")/.."
include=$1
jobs=$(nproc 2>/dev/null || echo 1)

# verdict NAME STATUS LOG
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

# Found here by cppcheck: a field that nobody reads, an address of a local variable that stays behind, a value that is
# never used.  Left out: casts of bytes to the structs in them (invalidPointerCast); conditions that are constant in
# one of several builds (knownConditionTrueFalse); arrays whose length a caller gives (the bounds), or that a loop has
# filled (uninitvar of isa_rows.h); and matters of taste.
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
