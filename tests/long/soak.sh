#!/bin/sh
# Sessions in a row, some of them killed in the middle, leave processes, descriptors, mounts and files where they were. In
# namespaces of its own, so that nothing else on the machine is counted. Speaks TAP.
# usage: soak.sh CCBOX SOAK ROUNDS
set -eu
if [ "$1" != inside ]; then
	here=$(cd "$(dirname "$0")" && pwd)
	map=
	[ "$(id -u)" = 0 ] || map='--user --map-root-user'
	# shellcheck disable=SC2086
	exec unshare $map --mount --pid --fork --mount-proc --ipc --kill-child sh "$here/soak.sh" inside "$@"
fi
build=$(dirname "$2") soak=$3 rounds=$4
for dir in /mnt /var/tmp /dev/shm; do mount -t tmpfs tmpfs $dir; done
mkdir -p /mnt/bin /mnt/home /mnt/proj /mnt/logs
for name in ccbox cc-init cc-proxy cc-connect; do cp "$build/$name" /mnt/bin/; done
cp "$soak" /mnt/bin/soak
mount -t tmpfs tmpfs /tmp
export HOME=/mnt/home XDG_STATE_HOME=/mnt/home/state LC_ALL=C.UTF-8
cd /mnt/proj

processes() {
	set -- /proc/[0-9]*
	echo "processes $#"
}
rest() {
	echo "descriptors $(find /proc/$$/fd -mindepth 1 | wc -l)"
	echo "mounts $(wc -l </proc/self/mountinfo)"
	echo "files $(find /tmp /var/tmp /dev/shm | sort | tr '\n' ' ')"
	echo "shared memory $(wc -l </proc/sysvipc/shm)"
	find /mnt/proj | sort | tr '\n' ' '
}
turn() {
	if [ $(($1 % 10)) = 0 ]; then
		timeout -s KILL 0.2 /mnt/bin/ccbox run --quiet -- sh -c 'echo x >f; exec sleep 9' >/mnt/logs/out 2>&1 || true
	else
		/mnt/bin/ccbox run --quiet -- sh -c 'echo x >f; echo x >.env' >/mnt/logs/out 2>&1 && return 1
		grep -q 'cannot create .env' /mnt/logs/out
	fi
}
number=0
say() { number=$((number + 1)); printf '%s %d - %s\n' "$1" $number "$2"; }

turn 1
rest >/mnt/logs/before
processes >>/mnt/logs/before
bad=0
for i in $(seq "$rounds"); do
	turn "$i" || { bad=$((bad + 1)); sed 's/^/# /' /mnt/logs/out; }
done
[ $bad = 0 ] && say ok "every session did its work and was refused the name" || say 'not ok' "every session did its work and was refused the name"
# what was killed takes a moment to go
for _ in $(seq 100); do
	{ rest; processes; } >/mnt/logs/after
	cmp -s /mnt/logs/before /mnt/logs/after && break
	sleep 0.1
done
if diff /mnt/logs/before /mnt/logs/after | sed 's/^/# /' | grep .; then
	say 'not ok' "$rounds sessions left everything as it was"
else
	say ok "$rounds sessions left everything as it was"
fi
/mnt/bin/soak "$rounds" >/mnt/logs/soak || true
while read -r line; do
	case $line in
	ok*|'not ok'*) say "${line%% [0-9]*}" "${line#* - }" ;;
	1..*) ;;
	*) printf '%s\n' "$line" ;;
	esac
done </mnt/logs/soak
echo "1..$number"
