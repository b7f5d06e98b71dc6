#!/bin/bash
# dist.sh: makes fastclust-VERSION.zip of the committed files, for PGXN. Checks META.json, and with
# PG_CONFIG that the zip builds and installs as by `pgxn install`: unzip, make, make install.
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
# The client of PGXN unpacks with Python, which drops execute permissions, then runs these two
# targets.
if find_pg_config; then
	find "$work/$name" -type f -exec chmod a-x {} +
	make -s -j"$(nproc 2>/dev/null || echo 1)" -C "$work/$name" PG_CONFIG="$PG_CONFIG" all
	make -s -C "$work/$name" PG_CONFIG="$PG_CONFIG" DESTDIR="$work/root" install
	for file in "$("$PG_CONFIG" --pkglibdir)/fastclust.so" "$("$PG_CONFIG" --sharedir)"/extension/fastclust{.control,--"$version".sql}; do
		[ -s "$work/root$file" ] || { echo "dist: make install gave no $file" >&2; exit 1; }
	done
	echo "dist: the unpacked zip builds and installs with $("$PG_CONFIG" --version)"
fi
mv "$work/$name.zip" .
ls -l "$name.zip"
