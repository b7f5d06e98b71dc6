#!/bin/bash
# check.sh TEST ...: runs single tests, given as files of sql/, test/t/ or test/unit/ with or
# without the extension. Builds and installs the module first if a test needs a server. Used by
# `make check`.
set -eu
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || { echo "check: name tests, such as TEST=sql/drift, TEST=test/t/104_report, TEST=test/unit/test_kmeans" >&2; exit 1; }
make=${MAKE:-make}

# Unit tests need neither the module nor a server.
install_once()
{
	[ -n "${installed:-}" ] && return
	"$make" -s all && tools/install.sh >/dev/null && installed=yes
}

for test in "$@"
do
	name=$(basename "${test%.*}")
	case $test in
		*unit/*) "$make" "build/unit/$name" && "build/unit/$name" ;;
		*t/*) install_once && prove -Itest/t "test/t/$name.pl" ;;
		*) install_once && "$make" -s regress REGRESS="$name" ;;
	esac
done
