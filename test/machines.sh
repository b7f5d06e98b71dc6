# machines.sh - functions that make and enter test machines (sourced). A machine is a Debian in a
# directory, entered by chroot. Variables: SUITE (bookworm), MIRROR, and WHERE
# (/var/tmp/fastclust-installations), the directory that keeps the base machines.
suite=${SUITE:-bookworm}
mirror=${MIRROR:-http://deb.debian.org/debian}
where=${WHERE:-/var/tmp/fastclust-installations}/$suite
source=/usr/src/fastclust

# in_chroot DIRECTORY COMMAND...: runs a command in a machine, in its own namespaces, so that its
# mounts and servers end with it.
in_chroot()
{
	local root=$1
	shift
	unshare --mount --pid --fork --kill-child -- bash -c '
		mount --rbind /dev "$0/dev" && mount -t tmpfs shm "$0/dev/shm" && mount -t proc proc "$0/proc" && exec chroot "$0" "$@"' \
		"$root" /usr/bin/env -i ROWS="${ROWS:-}" HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
		PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin "$@"
}

# clone FROM NAME: copies a machine, and puts the present sources into the copy.
clone()
{
	rm -rf "${where:?}/$2" &&
		cp -a --reflink=auto "$where/$1" "$where/$2" &&
		mkdir -p "$where/$2$source" &&
		tools/sources.sh "$where/$2$source"
}

# debootstrapped NAME [PACKAGE,...]: makes a machine with a minimal Debian and these packages.
debootstrapped()
{
	local scripts=/usr/share/debootstrap/scripts
	rm -rf "$where/$1.new" &&
		debootstrap --variant=minbase ${2:+--include="$2"} "$suite" "$where/$1.new" "$mirror" \
			"$([ -e "$scripts/$suite" ] && echo "$scripts/$suite" || echo "$scripts/sid")" &&
		cp /etc/resolv.conf "$where/$1.new/etc/" &&
		in_chroot "$where/$1.new" apt-get update -qq &&
		mv "$where/$1.new" "$where/$1"
}

# Make the base machines "bare", a minimal Debian, and "debian", which also has gcc and make.
make_bare() { debootstrapped bare; }
make_debian() { debootstrapped debian gcc,libc6-dev,make; }

check_machines()
{
	if [ "$(id -u)" -ne 0 ] || ! command -v debootstrap >/dev/null; then
		echo "$1: run as root, with debootstrap installed" >&2
		exit 1
	fi
	mkdir -p "$where"
}
