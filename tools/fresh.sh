#!/bin/sh
# The two README commands on a fresh Debian: a minimal tree of that release, entered as a machine of its own, with nothing of
# ours in it but `make` and the checkout; as root, then as an ordinary user. By hand, as root, with the network.
# usage: tools/fresh.sh SUITE [DIR]      SUITE: bookworm, trixie; DIR: where the trees and logs go (/var/tmp/ccbox-fresh)
#        STEPS='root-run root-check user-run user-check' chooses.
#
# The tree is entered by pivot_root in mount and PID namespaces of its own: in a bare chroot the kernel refuses user
# namespaces. The mirror is the one that this machine's apt uses.
set -eu
suite=${1:?usage: tools/fresh.sh SUITE [DIR]}
place=${2:-/var/tmp/ccbox-fresh}
top=$(cd "$(dirname "$0")/.." && pwd)
export STEPS="${STEPS:-root-run root-check user-run user-check}"
base=$place/$suite.base
tree=$place/$suite
logs=$place/$suite.logs
[ "$(id -u)" = 0 ] || { echo "fresh.sh: needs root" >&2; exit 1; }
command -v debootstrap >/dev/null || apt-get install -y -qq --no-install-recommends debootstrap >/dev/null
mkdir -p "$place" "$logs"

if [ ! -e "$base/.done" ]; then
	rm -rf "$base"
	# the first mirror of this machine's own apt, whatever it is
	mirror=$(apt-get indextargets --format '$(REPO_URI)' | head -n 1)
	debootstrap --variant=minbase "$suite" "$base" "$mirror" >"$logs/debootstrap" 2>&1 ||
		{ tail -n 5 "$logs/debootstrap" >&2; exit 1; }
	touch "$base/.done"
fi
rm -rf "$tree"
cp -a "$base" "$tree"
printf '127.0.0.1 localhost\n::1 localhost\n' >"$tree/etc/hosts" # as the installer writes it
cp -L /etc/resolv.conf "$tree/etc/resolv.conf"
apt-config dump | grep -E '^Acquire::(Check|http|https|Retries|ForceIPv4)' >"$tree/etc/apt/apt.conf.d/99host" || true
# npm trusts here what it trusts on this machine
cp -L "$(npm config get cafile 2>/dev/null)" "$tree/etc/host-ca.pem" 2>/dev/null || cp -L /etc/ssl/certs/ca-certificates.crt "$tree/etc/host-ca.pem" || true
git clone -q --no-hardlinks "$top" "$tree/root/ccbox"
git clone -q --no-hardlinks "$top" "$tree/root/of-ann"

cat >"$tree/root/enter" <<'ENTER'
set -eu
cd "$1"
mount --make-rprivate /
mount --bind . .
cd "$1"
mount -t proc proc proc
mount --rbind /sys sys
mount -t tmpfs -o mode=755 dev dev
mkdir dev/pts dev/shm
for node in null zero full random urandom tty fuse; do
	[ -e /dev/$node ] || continue
	touch dev/$node
	mount --bind /dev/$node dev/$node
done
mount -t devpts -o newinstance,ptmxmode=0666,mode=620 devpts dev/pts
mount -t tmpfs -o mode=1777 shm dev/shm
ln -s pts/ptmx dev/ptmx
ln -s /proc/self/fd dev/fd
ln -s fd/0 dev/stdin
ln -s fd/1 dev/stdout
ln -s fd/2 dev/stderr
mkdir -p .old
pivot_root . .old
cd /
umount -l /.old
rmdir /.old
exec env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 NPM_CONFIG_CAFILE=/etc/host-ca.pem STEPS="$STEPS" sh /root/inside
ENTER

cat >"$tree/root/inside" <<'INSIDE'
set -u
hostname -F /etc/hostname 2>/dev/null
apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends make >/dev/null 2>&1 || exit 1
useradd -m -s /bin/sh ann
mv /root/of-ann /home/ann/ccbox
chown -R ann: /home/ann/ccbox
report() { echo "RESULT $1: $2"; }
as_ann() { (cd /home/ann/ccbox && setpriv --reuid=ann --regid=ann --init-groups env -i PATH=/usr/local/bin:/usr/bin:/bin HOME=/home/ann USER=ann LOGNAME=ann LC_ALL=C.UTF-8 NPM_CONFIG_CAFILE=/etc/host-ca.pem "$@"); }
first() { # NAME COMMAND... : `make run` with the README's kind of command
	name=$1
	shift
	"$@" make run CMD='echo hello; echo x > .env' >/tmp/out 2>&1 </dev/null
	code=$?
	cat /tmp/out
	[ ! -e .env ] && grep -qx hello /tmp/out && grep -q 'refused file-write-create' /tmp/out && [ $code != 0 ] && { report "$name" ok; return; }
	report "$name" "FAILED ($code)"
}
second() { # NAME COMMAND... : `make check`
	name=$1
	shift
	start=$(date +%s)
	"$@" make check >/tmp/out 2>&1 </dev/null
	code=$?
	cat /tmp/out
	[ $code = 0 ] && word=ok || word="FAILED ($code)"
	report "$name" "$word, $(grep 'passed,' /tmp/out | tail -n 1), $(($(date +%s) - start)) s"
}
for step in $STEPS; do
	echo "=== $step"
	case $step in
	user-*) cd /home/ann/ccbox ;;
	*) cd /root/ccbox ;;
	esac
	case $step in
	root-run) first root-run env ;;
	root-check) second root-check env ;;
	user-run) first user-run as_ann ;;
	user-check) second user-check as_ann ;;
	esac
done
INSIDE

echo "fresh.sh: $suite; the log is $logs/log" >&2
unshare --mount --pid --fork --ipc --uts --kill-child sh "$tree/root/enter" "$tree" >"$logs/log" 2>&1 </dev/null || true
grep '^RESULT' "$logs/log" | sed "s/^RESULT/$suite/"
! grep -q '^RESULT.*FAILED' "$logs/log" && grep -q '^RESULT' "$logs/log"
