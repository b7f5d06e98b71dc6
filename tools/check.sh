#!/bin/bash
# check.sh TEST ...: installs the build and runs single tests: a file of sql/, test/t/ or test/unit/, with or without its ending.
set -eu
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || { echo "check: name tests, such as TEST=sql/drift, TEST=test/t/104_report, TEST=test/unit/test_kmeans" >&2; exit 1; }
make=${MAKE:-make}
"$make" -s all && tools/install.sh >/dev/null
for test in "$@"
do
	name=$(basename "${test%.*}")
	case $test in
		*unit/*) "$make" -s "build/unit/$name" && "build/unit/$name" ;;
		*t/*) prove -Itest/t "test/t/$name.pl" ;;
		*) "$make" -s regress REGRESS="$name" ;;
	esac
done
