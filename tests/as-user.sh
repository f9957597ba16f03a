#!/bin/sh
# Runs a bats file against the built binaries, as root or as an ordinary user. The binaries are copied to a directory that the
# user can reach, since a checkout may lie below one that only root may enter.
# usage: as-user.sh root|user BUILD SOURCE FILE
set -eu
who=$1 build=$2 source=$3 file=$4
if [ "$who" = root ] && [ "$(id -u)" != 0 ]; then
	echo "1..1"
	echo "ok 1 - as root # skip this run is not root"
	exit 0
fi
place=$(mktemp -d /tmp/ccbox-bin.XXXXXX)
trap 'rm -rf "$place"' EXIT
mkdir -p "$place/build" "$place/tmp"
for name in ccbox cc_server cc-session cc-session-twin cc-run cc-forge cc-push cc-push-twin cc-keeper cc-init cc-proxy cc-connect ccbox-twin cc-init-twin; do
	[ ! -e "$build/$name" ] || cp "$build/$name" "$place/build/"
done
# a daemon of a twin run has owners that leave protections off
[ "${CCBOX_BINARY:-ccbox}" = ccbox ] || {
	cp "$build/cc-session-twin" "$place/build/cc-session"
	cp "$build/cc-push-twin" "$place/build/cc-push"
}
cp -P "$build"/libccbox.so* "$place/build/" 2>/dev/null || true
cp -r "$source/include" "$place/include"
cp "$build/tests/integration/deny-syscall" "$build/tests/integration/push-rules" "$place/build/"
cp -r "$source/tests" "$place/tests"
mkdir -p "$place/tools"
cp "$source/tools/clients.sh" "$place/tools/"
if [ "$file" = install.bats ]; then
	meson install -C "$build" --no-rebuild --quiet --destdir "$place/dest" >/dev/null
	INSTALLED=$(dirname "$(dirname "$(find "$place/dest" -path '*/bin/ccbox')")")
	export INSTALLED
fi
chmod -R a+rX "$place"
cd "$place"
export DENY_SYSCALL="$place/build/deny-syscall" BATS_TEST_TIMEOUT=${BATS_TEST_TIMEOUT:-120}
export CCBOX="$place/build/${CCBOX_BINARY:-ccbox}" TMPDIR="$place/tmp" LC_ALL=C.UTF-8
good=0
if [ "$who" = user ] && [ "$(id -u)" = 0 ]; then
	chown -R 65534:65534 "$place/tmp"
	setpriv --reuid=65534 --regid=65534 --clear-groups env HOME="$place/tmp" USER=nobody LOGNAME=nobody bats --tap "$place/tests/integration/$file" || good=$?
else
	bats --tap "$place/tests/integration/$file" || good=$?
fi
# Whatever a test has started is gone by now, or soon.
for _ in $(seq 100); do
	left=$(pgrep -f "$place" || true)
	[ -n "$left" ] || exit $good
	sleep 0.1
done
echo "left behind:" >&2
ps -o pid,args -p "$(echo $left | tr ' ' ',')" >&2
exit 1
