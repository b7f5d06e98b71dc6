#!/bin/bash
# freeze.sh: at a release, copies the SQL script of this version to test/upgrade, from which the
# upgrade test installs it. Run it again after each change until the release is tagged vVERSION; a
# tagged script never changes.
set -eu
cd "$(dirname "$0")/.."
version=$(sed -n "s/^default_version *= *'\([^']*\)'.*/\1/p" fastclust.control)
script=fastclust--$version.sql
target=test/upgrade/$script
if git rev-parse -q --verify "refs/tags/v$version" >/dev/null; then
	echo "freeze: version $version is released: raise default_version in the control file first" >&2
	exit 1
fi
"${MAKE:-make}" -s "$script" ${PG_CONFIG:+PG_CONFIG="$PG_CONFIG"}
cp "$script" "$target"
echo "$target"
