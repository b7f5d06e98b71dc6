#!/bin/bash
# deb.sh: makes a Debian package for each PostgreSQL whose development files are installed, in
# build/deb, and checks it with lintian. Installs the tools that it needs. Builds in a copy of the
# sources, so that the checkout keeps its objects.
# PG_SUPPORTED_VERSIONS (installed): versions, such as "15 17", or "default": the distribution's.
# DEB_BUILD_PROFILES (nocheck): if empty, the build also runs the regression files, which needs
# postgresql-all.
set -eu
cd "$(dirname "$0")/.."
unset MAKEFLAGS MFLAGS MAKELEVEL
export DEB_BUILD_PROFILES=${DEB_BUILD_PROFILES-nocheck}
export DEB_BUILD_OPTIONS=${DEB_BUILD_OPTIONS-$DEB_BUILD_PROFILES parallel=$(nproc 2>/dev/null || echo 1)}
export PG_SUPPORTED_VERSIONS=${PG_SUPPORTED_VERSIONS-installed}
version=$(sed -n "s/^default_version *= *'\([^']*\)'.*/\1/p" fastclust.control)
root=$PWD
output=$root/build/deb
PG_CONFIG= tools/setup.sh deb
work=$(mktemp -d /tmp/fastclust-deb.XXXXXX)
trap 'rm -rf "$work"' EXIT
sources=$work/fastclust-$version
tools/sources.sh "$sources"

# Make the source package: the upstream archive and Debian's files.
tar -C "$work" --sort=name --exclude=debian -czf "$work/fastclust_$version.orig.tar.gz" "fastclust-$version"
cd "$sources"
pg_buildext updatecontrol
echo "deb: building packages for PostgreSQL $(pg_buildext supported-versions | xargs) in a copy of the sources: about two minutes for each"
dpkg-buildpackage -us -uc >"$work/log" 2>&1 || { tail -n 60 "$work/log"; exit 1; }
mkdir -p "$output"
rm -f "$output"/*
mv "$work/log" "$work"/*.deb "$work"/*.dsc "$work"/*.orig.tar.gz "$work"/*.debian.tar.xz "$work"/*.changes "$work"/*.buildinfo "$output"/
# After "sudo make deb", let the owner of the checkout build in it again.
[ "$(id -u)" -ne 0 ] || chown -R --reference="$root" "$root/build"
cd "$output"
echo "deb: checking the packages with lintian"
lintian --allow-root --fail-on error,warning --tag-display-limit 0 --suppress-tags initial-upload-closes-no-bugs ./*.changes
echo "deb: built these packages; build/deb/log has the output of the build"
cd "$root"
ls -l build/deb/*.deb
