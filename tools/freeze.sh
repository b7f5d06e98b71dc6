#!/bin/bash
# freeze.sh: at a release, stores in test/upgrade/VERSION the SQL script of this version, the
# functions of its module, and a dump of a database with what the database answers. The upgrade
# tests read them (test/t/Released.pm). Run it again after each change until the release is tagged
# vVERSION; what is tagged never changes. Take the oldest supported server, since older servers do
# not read the dumps of newer ones.
set -eu
cd "$(dirname "$0")/.."
. tools/common.sh
version=$(sed -n "s/^default_version *= *'\([^']*\)'.*/\1/p" fastclust.control)
if git rev-parse -q --verify "refs/tags/v$version" >/dev/null; then
	echo "freeze: version $version is released: raise default_version in the control file first" >&2
	exit 1
fi
find_pg_config && export PG_CONFIG
tools/install.sh >/dev/null
perl -Itest/t -MFastclustTest -MReleased -e 'Released::freeze()'
