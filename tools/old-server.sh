#!/bin/bash
# old-server.sh DIRECTORY [MAJOR]: unpacks the oldest release of Debian's server (15) that apt has,
# with its development files, into DIRECTORY without installing it. `make matrix` upgrades from
# FOLDER/from-NAME: columns made by Debian's newest 15 have an option that 18 may refuse. Does
# nothing if the server exists.
set -eu
directory=${1:?}
major=${2:-15}
[ ! -e "$directory/complete" ] || exit 0
version=$(apt-cache madison "postgresql-$major" | awk '{print $3}' | sort -V | head -n 1)
[ -n "$version" ] || { echo "old-server: apt has no postgresql-$major" >&2; exit 1; }
mkdir -p "$directory/packages"
(cd "$directory/packages" && apt-get download -qq -o APT::Sandbox::User=root \
	"postgresql-$major=$version" "postgresql-client-$major=$version" "postgresql-server-dev-$major=$version")
for package in "$directory"/packages/*.deb; do
	dpkg -x "$package" "$directory"
done
rm -r "$directory/packages"
chmod -R a+rX "$directory"
touch "$directory/complete"
