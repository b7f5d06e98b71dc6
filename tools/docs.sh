#!/bin/bash
# docs.sh build|serve: builds the site of docs/ in build/site, or serves it on
# http://127.0.0.1:8000. Installs mkdocs if needed.
set -eu
cd "$(dirname "$0")/.."
. tools/common.sh
if ! dpkg-query -W mkdocs mkdocs-material >/dev/null 2>&1 && ! { command -v mkdocs >/dev/null && python3 -c 'import material' 2>/dev/null; }
then
	root=$(root_prefix) || { echo "docs: install mkdocs and mkdocs-material" >&2; exit 1; }
	echo "docs: installing mkdocs and mkdocs-material"
	$root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends mkdocs mkdocs-material >/dev/null
fi
case $1 in
	build) echo "docs: building the site of docs/: some ten seconds" ;;
	serve) echo "docs: building the site, then serving it on http://127.0.0.1:8000 until Ctrl-C" ;;
esac
mkdocs "$1" --quiet --strict --config-file tools/mkdocs.yml
[ "$1" != build ] || echo "docs: open build/site/index.html"
