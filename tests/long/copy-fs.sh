#!/bin/sh
# Copies of repositories on a file system that can clone files: an image mounted by loop, in a mount namespace of its own, so
# that nothing is left. As root; what this machine does not have is a skip with its reason. Speaks TAP.
# usage: copy-fs.sh FS PROGRAM...
set -u
fs=$1
skip() { echo "1..0 # SKIP $1"; exit 0; }
if [ "${COPY_FS_INSIDE:-}" = "" ]; then
	command -v unshare >/dev/null || skip "no unshare here"
	place=$(mktemp -d /var/tmp/ccbox-copy.XXXXXX)
	COPY_FS_INSIDE=$place unshare -m --propagation private sh "$0" "$@"
	code=$?
	rm -rf "$place"
	exit $code
fi
shift
place=$COPY_FS_INSIDE
PATH=$PATH:/usr/sbin:/sbin
grep -qw "$fs" /proc/filesystems || modprobe "$fs" 2>/dev/null || skip "this kernel has no $fs"
command -v "mkfs.$fs" >/dev/null || skip "no mkfs.$fs here"
# in memory: what is measured by nobody need not wait for a disk
mount -t tmpfs tmpfs "$place" 2>/dev/null || skip "this machine mounts no tmpfs"
mkdir "$place/on"
truncate -s 600M "$place/image" && "mkfs.$fs" -q -f "$place/image" >/dev/null 2>&1 || skip "mkfs.$fs makes none here"
mount -o loop "$place/image" "$place/on" 2>/dev/null || skip "this machine mounts no $fs by loop"
n=0
bad=0
for program; do
	n=$((n + 1))
	TMPDIR=$place/on RIG_KIND=reflink CMOCKA_MESSAGE_OUTPUT=TAP "$program" >"$place/out" 2>&1 || bad=1
	if grep -q '^not ok' "$place/out" || ! grep -q '^ok' "$place/out"; then
		echo "not ok $n - ${program##*/} on $fs"
		sed 's/^/# /' "$place/out"
		bad=1
	else
		echo "ok $n - ${program##*/} on $fs, each copy with cloned objects"
	fi
done
echo "1..$n"
exit $bad
