#!/bin/bash
# installations.sh [NAME...]: runs the project's commands in a separate Debian for each way to
# install, and prints one line for each. Run as root; needs debootstrap and a mirror. WHERE
# keeps the logs and the base machines, of which the others are copies.
#   serial pthread openmp both reference mixed
#       `make demo`, `make regress` and the TAP test of BLAS with these builds of OpenBLAS.
#       both: serial and pthread are installed. reference: pthread is installed, but the system's
#       BLAS and LAPACK are the reference implementations. mixed: all builds are installed, and the
#       system's libblas.so.3, liblapack.so.3 and libopenblas.so.0 belong to three different ones.
#   missing
#       Without BLAS, functions that do not need it work, and errors name the package to install.
#       Then OpenBLAS is installed, and then L-BFGS-B.
#   bare numpy
#       `make unit` and `make regress` on a machine with only gcc and make, or with numpy and
#       libopenblas-dev, too.
#   readme
#       The lines of the README's section Install on a minimal Debian, and its quick start.
# Variables: SUITE (bookworm), MIRROR, ROWS of the demo (1000000),
# WHERE (/var/tmp/fastclust-installations)
set -eu
cd "$(dirname "$0")/.."
. test/machines.sh

# ---- inside a chroot ----

install() { apt-get install -y -qq --no-install-recommends -o Dpkg::Use-Pty=0 "$@" >/dev/null; }

# choose NAME BUILD: makes a build (openblas-pthread, blas, lapack, ...) the system's library NAME.
choose()
{
	local directory
	directory=/usr/lib/$(gcc -print-multiarch)
	update-alternatives --set "$1-$(gcc -print-multiarch)" "$directory/$2/$1"
}

install_blas()
{
	case $1 in
		serial | pthread | openmp) install "libopenblas0-$1" ;;
		both) install libopenblas0-serial libopenblas0-pthread ;;
		reference)
			install libopenblas0-pthread libblas3 liblapack3
			choose libblas.so.3 blas
			choose liblapack.so.3 lapack
			;;
		mixed)
			install libopenblas0-serial libopenblas0-pthread libopenblas0-openmp libblas3 liblapack3
			choose libblas.so.3 blas
			choose liblapack.so.3 openblas-openmp
			choose libopenblas.so.0 openblas-pthread
			;;
		numpy) install python3-numpy libopenblas-dev ;;
	esac
}

installed_blas() { dpkg-query -W -f='${Package}\n' | grep -E '^lib(open)?(blas|lapack)' | paste -sd ' ' || true; }

# Runs SQL from stdin with psql, which prints the SQLSTATE of errors and continues after them.
ask() { tools/with-server.sh psql -XAtq -v VERBOSITY=verbose -f - 2>&1; }

try_everything()
{
	ask <<-'SQL'
		CREATE EXTENSION fastclust; SET search_path = public, fastclust;
		CREATE TABLE rows AS SELECT ARRAY[i % 5, sin(i)] AS x FROM generate_series(1, 1000) i;
		CREATE TABLE kept AS SELECT sketch_agg(x, sketch_spec(2, 50, 0.5)) AS k FROM rows;
		SELECT 'sketch', row_count(k) FROM kept;
		SELECT 'assign', assign(fastop_agg(c), ARRAY[4, 4]) FROM (VALUES (ARRAY[0.0, 0]), (ARRAY[5.0, 5])) v (c);
		SELECT 'kmeans', describe(kmeans_agg(x, 5)) -> 'clusters' FROM rows;
		SELECT 'decode', count(*) FROM kept, decode(k, 5);
	SQL
}

# expect WORDS < OUTPUT: fails if the output does not contain each of the words, split by commas.
expect()
{
	local output word
	output=$(cat)
	echo "$output"
	while IFS= read -r -d , word; do
		grep -qF -- "$word" <<<"$output" || { echo "missing: $word"; return 1; }
	done <<<"$1,"
}

inside_missing()
{
	try_everything | expect 'sketch|1000,assign|1,ERROR:  58P01: could not load OpenBLAS,apt-get install libopenblas0-serial'
	install libblas3 liblapack3
	try_everything | expect 'sketch|1000,assign|1,ERROR:  58P01: could not load OpenBLAS,apt-get install libopenblas0-serial'
	install libopenblas0-serial
	try_everything | expect 'kmeans|5,ERROR:  58P01: could not load L-BFGS-B,apt-get install liblbfgsb0'
	install liblbfgsb0
	try_everything | expect 'sketch|1000,assign|1,kmeans|5,decode|5'
}

# Runs the lines of the README, the last of which opens psql, on a machine without sudo.
inside_readme()
{
	sudo()
	{
		case $1 in
			-u) (cd / && runuser -u "$2" -- "${@:3}") ;;
			*) "$@" ;;
		esac
	}
	local lines
	echo 'APT::Get::Assume-Yes "true";' >/etc/apt/apt.conf.d/90yes
	mapfile -t lines < <(sed -n '/^## Install/,/^## Why/p' README.md | awk '/^```$/ { blocks++; next } blocks == 1')
	sed -n '/^```sql/,/^```/p' README.md | sed '/^```$/q' | grep -v '^```' >/tmp/first.sql
	for line in "${lines[@]::${#lines[@]}-1}"; do
		eval "$line"
	done
	pg_lsclusters -h | grep -q online || pg_ctlcluster "$(pg_lsclusters -h | cut -d ' ' -f 1)" main start		# a chroot has no init
	eval "${lines[-1]}" </tmp/first.sql | expect '(3 rows),(1 row),drifted'
}

inside()
{
	cd $source
	if [ "$1" = readme ]; then
		inside_readme
		return
	fi
	install_blas "$1"
	echo "BLAS: $(installed_blas)"
	case $1 in
		server)
			tools/setup.sh
			apt-get purge -y -qq 'libopenblas*' liblbfgsb0 'libblas*' 'liblapack*' >/dev/null
			;;
		built) make -j"$(nproc)" all ;;
		missing)
			tools/install.sh >/dev/null
			inside_missing
			;;
		bare | numpy)
			tools/setup.sh
			make -k -j"$(nproc)" unit
			tools/install.sh >/dev/null
			make regress
			;;
		*)
			make demo ROWS="${ROWS:-1000000}"
			make regress
			make prove PROVE_TESTS=test/t/013_blas.pl
			;;
	esac
}

# ---- outside of the chroot ----

# Makes the base machine of "readme", a minimal Debian.
make_bare_base() { debootstrapped bare_base; }

# Makes the base machine "server": Debian with everything that the build needs, but without BLAS.
make_server()
{
	clone debian server.new &&
		in_chroot "$where/server.new" $source/test/installations.sh inside server &&
		rm -rf "$where/server.new$source" &&
		mv "$where/server.new" "$where/server"
}

# Makes the base machine "built": a copy of "server" with the extension compiled.
make_built()
{
	clone server built &&
		in_chroot "$where/built" $source/test/installations.sh inside built
}

# Prints the number of tests of each kind that passed, and the installed packages of BLAS.
summary()
{
	echo "regress $(grep -cE '^test .*ok|^ok [0-9]+ ' "$1"), unit $(grep -c '^ok unit' "$1")," \
		"TAP $(sed -n 's/^Files=.*Tests=\([0-9]*\),.*/\1/p' "$1"); $(sed -n 's/^BLAS: //p' "$1")"
}

run_one()
{
	local name=$1 from=built log=$where/$1.log start=$SECONDS
	case $name in
		bare | numpy) from=debian ;;
		readme) from=bare_base ;;
	esac
	clone $from "$name"
	if in_chroot "$where/$name" $source/test/installations.sh inside "$name" >"$log" 2>&1; then
		echo "ok installations/$name: $((SECONDS - start)) s$([ "$name" = readme ] || echo ", $(summary "$log")")"
	else
		tail -n 30 "$log"
		echo "not ok installations/$name"
		failed=1
	fi
	rm -rf "${where:?}/$name"
}

if [ "${1:-}" = inside ]; then
	inside "$2"
	exit
fi
check_machines installations
failed=0
[ $# -gt 0 ] || set -- serial pthread openmp both reference mixed missing bare numpy readme
bases="bare_base debian server built"
[ "$*" = readme ] && bases=bare_base
for machine in $bases; do
	[ $machine != built ] && [ -e "$where/$machine" ] && continue
	make_$machine >"$where/$machine.log" 2>&1 || { tail "$where/$machine.log"; exit 1; }
done
for name in "$@"; do
	run_one "$name"
done
exit $failed
