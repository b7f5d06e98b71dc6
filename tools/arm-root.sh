#!/bin/bash
# arm-root.sh [DIRECTORY]: unpacks the libraries of an ARM Debian (libc, OpenBLAS, L-BFGS-B) into
# DIRECTORY (/var/tmp/fastclust-arm64) for `make arm`. Run as root; needs debootstrap and a mirror.
# Does nothing if the libraries exist. SUITE (bookworm), MIRROR (deb.debian.org)
set -eu
directory=${1:-/var/tmp/fastclust-arm64}
[ ! -e "$directory/complete" ] || exit 0
debootstrap --arch=arm64 --variant=minbase --foreign --include=libopenblas0-serial,liblbfgsb0 "${SUITE:-bookworm}" "$directory" \
	"${MIRROR:-http://deb.debian.org/debian}" >"$directory.log" 2>&1 || { tail "$directory.log" >&2; exit 1; }
for package in "$directory"/var/cache/apt/archives/*.deb; do
	case ${package##*/} in
		libc6_* | libgcc-s1_* | libgfortran5_* | libquadmath0_* | lib*blas* | liblapack* | liblbfgsb*) dpkg -x "$package" "$directory" ;;
	esac
done
touch "$directory/complete"
