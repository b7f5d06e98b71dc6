#!/bin/bash
# sources.sh DIRECTORY: what the project consists of, copied there: the files that git knows, or without git all but what was built.
set -eu
cd "$(dirname "$0")/.."
directory=${1:?}
mkdir -p "$directory"
if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
	git ls-files -z --cached --others --exclude-standard | tar --null --ignore-failed-read -T - -c 2>/dev/null | tar -x -o -C "$directory"
else
	tar --exclude=./.git --exclude=./build --exclude='*.o' --exclude='*.so' --exclude='./fastclust--*.sql' --exclude=./results -c . | tar -x -o -C "$directory"
fi
