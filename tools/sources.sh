#!/bin/bash
# sources.sh DIRECTORY: copies the files of the project to DIRECTORY: the files that git tracks or
# does not ignore, or without git all files except build products.
set -eu
cd "$(dirname "$0")/.."
directory=${1:?}
mkdir -p "$directory"
if git rev-parse --is-inside-work-tree >/dev/null 2>&1; then
	git ls-files -z --cached --others --exclude-standard | tar --null --ignore-failed-read -T - -c 2>/dev/null | tar -x -o -C "$directory"
else
	tar --exclude=./.git --exclude=./build --exclude='*.o' --exclude='*.so' --exclude='./fastclust--*.sql' --exclude=./results -c . | tar -x -o -C "$directory"
fi
