#!/bin/bash
# packages.sh [SUITE...]: for each suite of Debian (bookworm, trixie), builds the package with
# `make deb` and installs it by apt in a minimal Debian. There it creates the extension, trains the
# first model of the README, decodes, and removes the package, which must leave no file. Prints one
# line for each suite. Run as root; needs debootstrap and a mirror. MIRROR, WHERE: see
# test/machines.sh.
set -eu
cd "$(dirname "$0")/.."

# ---- inside a chroot ----

ask() { (cd / && runuser -u postgres -- psql -XAtq -v ON_ERROR_STOP=1 -f -); }

# Runs the first SQL of the README.
first_model()
{
	sed -n '/^```sql/,/^```/p' $source/README.md | sed '/^```$/q' | grep -v '^```' >/tmp/first.sql
	{ cat /tmp/first.sql; echo "SELECT 'clusters', count(DISTINCT predict('kinds', c)) FROM customers c;"; } | ask
}

# Runs a decoder, which needs OpenBLAS and L-BFGS-B.
decoded()
{
	ask <<-'SQL'
		SET search_path = public, fastclust;
		CREATE TABLE rows AS SELECT ARRAY[i % 5, sin(i)] AS x FROM generate_series(1, 1000) i;
		SELECT 'decoded', count(*) FROM (SELECT sketch_agg(x, sketch_spec(2, 50, 0.5)) AS k FROM rows) s, decode(k, 5);
	SQL
}

left_behind() { find / -xdev \( -path /usr/src -o -path /proc \) -prune -o -iname '*fastclust*' -print; }

inside_build()
{
	cd $source
	make deb
}

inside_install()
{
	local package
	before=$(left_behind)
	apt-get install -y -qq --no-install-recommends -o Dpkg::Use-Pty=0 $source/build/deb/postgresql-*-fastclust_*.deb >/tmp/apt.log 2>&1 ||
		{ cat /tmp/apt.log; return 1; }
	package=$(dpkg-query -W -f='${Package}\n' 'postgresql-*-fastclust')
	echo "package: $package $(dpkg-query -W -f='${Version}' "$package")"
	pg_ctlcluster "$(echo "$package" | tr -dc 0-9)" main start
	ask <<<"SELECT 'version', current_setting('server_version');"
	first_model | tee /tmp/first
	grep -qx 'clusters|3' /tmp/first
	decoded | grep -x 'decoded|5'
	ask <<<"DROP EXTENSION fastclust CASCADE;"
	apt-get purge -y -qq "$package" >/tmp/apt.log 2>&1 || { cat /tmp/apt.log; return 1; }
	[ "$(left_behind)" = "$before" ] || { echo "left behind:"; left_behind; return 1; }
	! ask <<<"CREATE EXTENSION fastclust;" 2>&1 || return 1
	echo "removed"
}

# ---- outside of the chroot ----

. test/machines.sh

if [ "${1:-}" = inside ]; then
	"inside_$2"
	exit
fi

# base NAME: makes a base machine if it does not exist.
base() { [ -e "$where/$1" ] || "make_$1" >"$where/$1.log" 2>&1 || { tail "$where/$1.log"; return 1; }; }

# step NAME: runs inside_NAME in the machine package-NAME, and prints its log if it fails.
step()
{
	in_chroot "$where/package-$1" $source/test/packages.sh inside "$1" >"$where/package-$1.log" 2>&1 || { tail -n 30 "$where/package-$1.log"; return 1; }
}

test_suite()
{
	base debian && base bare && clone debian package-build && step build && clone bare package-install || return 1
	mkdir -p "$where/package-install$source/build"
	cp -r "$where/package-build$source/build/deb" "$where/package-install$source/build/"
	step install
}

failed=0
for suite in ${*:-bookworm trixie}; do
	export SUITE=$suite
	. test/machines.sh
	check_machines packages
	start=$SECONDS
	if test_suite; then
		echo "ok packages/$suite: $((SECONDS - start)) s, $(sed -n 's/^package: //p; s/^version|/PostgreSQL /p' "$where/package-install.log" | paste -sd ',')"
		rm -rf "$where/package-build" "$where/package-install"
	else
		echo "not ok packages/$suite"
		failed=1
	fi
done
exit $failed
