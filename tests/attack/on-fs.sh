#!/bin/sh
# The attacks that work with names, on a file system of this kernel: an image mounted by loop, in a mount namespace of its
# own, so that nothing is left. As root; what this machine does not have is a skip with its reason. Speaks TAP.
# usage: on-fs.sh FS DRIVER CC-INIT CC-INIT-TWIN PROGRAM...
set -u
fs=$1 driver=$(realpath "$2") init=$(realpath "$3") twin=$(realpath "$4")
shift 4
skip() { echo "1..0 # SKIP $1"; exit 0; }
if [ "${ON_FS_INSIDE:-}" = "" ]; then
	command -v unshare >/dev/null || skip "no unshare here"
	place=$(mktemp -d /var/tmp/ccbox-fs.XXXXXX)
	ON_FS_INSIDE=$place unshare -m --propagation private sh "$0" "$fs" "$driver" "$init" "$twin" "$@"
	code=$?
	rm -rf "$place"
	exit $code
fi
place=$ON_FS_INSIDE
PATH=$PATH:/usr/sbin:/sbin
grep -qw "$fs" /proc/filesystems || modprobe "$fs" 2>/dev/null || skip "this kernel has no $fs"
mkdir "$place/on"
image() { # SIZE PROGRAM [ARG]...
	size=$1
	shift
	command -v "$1" >/dev/null || skip "no $1 here"
	truncate -s "$size" "$place/image" && "$@" "$place/image" >/dev/null 2>&1 || skip "$1 makes none here"
	mount -o loop "$place/image" "$place/on" 2>/dev/null || skip "this machine mounts no $fs by loop"
}
case $fs in
ext4) image 64M mke2fs -q -F -t ext4 ;;
btrfs) image 160M mkfs.btrfs -q -f ;;
xfs) image 320M mkfs.xfs -q -f ;;
tmpfs) mount -t tmpfs -o size=64m tmpfs "$place/on" || skip "this machine mounts no tmpfs" ;;
overlay)
	mkdir "$place/base" && mount -t tmpfs tmpfs "$place/base" && mkdir "$place/base/low" "$place/base/up" "$place/base/work"
	mount -t overlay -o "lowerdir=$place/base/low,upperdir=$place/base/up,workdir=$place/base/work" overlay "$place/on" 2>/dev/null ||
		skip "this machine mounts no overlay"
	;;
esac
chmod 755 "$place"
chmod 1777 "$place/on"
export ATTACK_BASE="$place/on"
for program; do
	name=${program##*/attack-}
	printf '== %s\n' "$name"
	"$driver" --init "$init" "$program" || echo "not ok - ends with $?"
	if [ "$name" = subvol ] && [ "$fs" = btrfs ]; then
		printf '== twin filter %s\n' "$name"
		"$driver" --init "$twin" --off filter "$program" || echo "not ok - ends with $?"
	fi
done | awk '
	/^== / { about = substr($0, 4) ": "; next }
	/^(ok|not ok) / { good = $1 == "ok"; sub(/^(not )?ok *[0-9]* *(- )?/, ""); printf "%sok %d - %s%s\n", good ? "" : "not ", ++n, about, $0; bad += !good; next }
	/^1\.\./ { next }
	{ print "# " $0 }
	END { printf "1..%d\n", n; exit bad || !n }'
