#!/bin/bash
# chroot.sh VERSION COMMAND...: as root, runs a command in a Debian root with PostgreSQL VERSION, a
# compiler and OpenBLAS, in a copy of the sources. Changes of files vanish with the command, except
# those in /logs, which is LOGS (build/matrix); /servers is FOLDER.
# The root is FOLDER/chroot-VERSION. If it is missing and MISSING=build, it is made, once, by
# SERVER_SOURCES/chroot-VERSION.sh. Prints "skip" and has status 77 if there is no root.
# FOLDER (SERVERS, else /var/cache/fastclust): the folder of the servers of tools/matrix.sh.
set -eu
cd "$(dirname "$0")/.."
version=${1:?}
shift
folder=${FOLDER:-${SERVERS:-/var/cache/fastclust}}
root=$folder/chroot-$version
maker=${SERVER_SOURCES:-}/chroot-$version.sh
logs=${LOGS:-$PWD/build/matrix}

skip()
{
	echo "skip chroot-$version: $1"
	exit 77
}

# Mounts of a private namespace end with its processes.
private() { unshare --mount --propagation private "$@"; }

make_root()
{
	[ ! -e "$root/complete" ] || return 0
	[ "${MISSING:-}" = build ] && [ -e "$maker" ] || return 1
	mkdir -p "$folder"
	{
		flock 9
		[ ! -e "$root/complete" ] || return 0
		if private bash "$maker" "$root" >"$logs/chroot-$version.log" 2>&1 9>&-; then
			touch "$root/complete"
		else
			tail -n 5 "$logs/chroot-$version.log"
			rm -rf --one-file-system "$root"
			return 1
		fi
	} 9>"$folder/lock"
}

# Writes go to a layer above the root, which stays unchanged.
enter='set -eu
work=$1 folder=$2 logs=$3
shift 3
mount -t overlay overlay -o "lowerdir=$work/lower,upperdir=$work/upper,workdir=$work/work" \
	"$work/root" || { echo "skip chroot: no overlay"; exit 77; }
for name in proc sys dev; do mount --rbind "/$name" "$work/root/$name"; done
mkdir -p "$work/root/servers" "$work/root/logs"
mount --bind "$folder" "$work/root/servers"
mount --bind "$logs" "$work/root/logs"
exec chroot "$work/root" env -u PG_CONFIG -u PG_BINDIR -u SERVER_SOURCES LC_ALL=C.UTF-8 \
	PATH=/usr/sbin:/usr/bin:/sbin:/bin sh -c "cd /source && exec \"\$@\"" sh "$@"'

[ "$(id -u)" -eq 0 ] || skip "not root"
mkdir -p "$logs"
make_root || skip "no root with PostgreSQL $version"
work=$(mktemp -d /tmp/fastclust-chroot.XXXXXX)
chmod 755 "$work"
trap 'rm -rf --one-file-system "$work"' EXIT
trap 'exit 130' INT TERM HUP
mkdir -p "$work"/{upper,work,root}
ln -s "$root" "$work/lower"
tools/sources.sh "$work/upper/source"
private bash -c "$enter" enter "$work" "$folder" "$logs" "$@"
