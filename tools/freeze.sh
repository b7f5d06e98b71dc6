#!/bin/bash
# freeze.sh: at a release, the SQL of this version goes to test/upgrade, where the test of upgrades installs it from then on.
# Before it, `tools/with-server.sh tools/layouts.sh` keeps values of every type and what they say.
# A frozen script never changes again.
set -eu
cd "$(dirname "$0")/.."
version=$(sed -n "s/^default_version *= *'\([^']*\)'.*/\1/p" fastclust.control)
script=fastclust--$version.sql
target=test/upgrade/$script
[ ! -e "$target" ] || { echo "freeze: $target is there: raise default_version in the control file first" >&2; exit 1; }
"${MAKE:-make}" -s "$script" ${PG_CONFIG:+PG_CONFIG="$PG_CONFIG"}
cp "$script" "$target"
echo "$target"
