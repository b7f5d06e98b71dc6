#!/bin/bash
# dist.sh: makes fastclust-VERSION.zip of the committed files, for PGXN. Checks META.json, and that
# the unpacked zip builds with PG_CONFIG.
set -eu
cd "$(dirname "$0")/.."
unset MAKEFLAGS MFLAGS MAKELEVEL
. tools/common.sh
version=$(sed -n "s/^default_version *= *'\([^']*\)'.*/\1/p" fastclust.control)
name=fastclust-$version
work=$(mktemp -d /tmp/fastclust-dist.XXXXXX)
trap 'rm -rf "$work"' EXIT

git archive --format=zip --prefix="$name/" -o "$work/$name.zip" HEAD
if command -v unzip >/dev/null; then
	unzip -q "$work/$name.zip" -d "$work"
else
	python3 -m zipfile -e "$work/$name.zip" "$work"
fi
tools/meta.pl "$work/$name"
if find_pg_config; then
	make -s -j"$(nproc 2>/dev/null || echo 1)" -C "$work/$name" all PG_CONFIG="$PG_CONFIG"
	[ -s "$work/$name/fastclust--$version.sql" ] && [ -s "$work/$name/fastclust.so" ]
	echo "dist: the unpacked zip builds with $("$PG_CONFIG" --version)"
fi
mv "$work/$name.zip" .
ls -l "$name.zip"
