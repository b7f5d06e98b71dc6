#!/bin/bash
# layouts.sh: test/upgrade/layouts-VERSION.txt and what its values say, readings-VERSION.txt, by the installed extension.
# Made once for a version: every later one must read these bytes.
set -eu
cd "$(dirname "$0")/.."
version=$(sed -n "s/^default_version *= *'\([^']*\)'.*/\1/p" fastclust.control)
psql=(psql -XAtq -v ON_ERROR_STOP=1)
layouts=test/upgrade/layouts-$version.txt
"${psql[@]}" -c 'CREATE EXTENSION IF NOT EXISTS fastclust'
export PGOPTIONS='-c search_path=public,fastclust'
"${psql[@]}" -f test/upgrade/layouts.sql >"$layouts"
"${psql[@]}" -c 'CREATE TABLE layouts (n serial, type text, value text)' -c "\\copy layouts (type, value) from '$layouts' with (format csv, delimiter '|', quote E'\\x01')" \
	-f test/upgrade/readings.sql >"test/upgrade/readings-$version.txt"
