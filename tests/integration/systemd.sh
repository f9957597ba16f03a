#!/bin/bash
# A user manager of systemd, as a person's login has one, in a mount and a network namespace of its own; in it the units that
# are installed, unchanged but for where the prefix lies. Run as root inside `unshare -mn`. Prints a word for each thing that
# was seen. usage: systemd.sh INSTALLED BASE UID
set -eu
installed=$1 base=$2 uid=$3
ip link set lo up 2>/dev/null || ifconfig lo up
mount -t tmpfs tmpfs /sys/fs/cgroup
mount -t cgroup2 cgroup2 /sys/fs/cgroup
# what a booted system has: the manager looks for it
mkdir -p /run/systemd
mount -t tmpfs tmpfs /run/systemd
mkdir /run/systemd/system
group=/sys/fs/cgroup/ccbox-systemd-$$
mkdir "$group"
tidy() {
	cd /
	for _ in $(seq 100); do
		[ -z "$(cat "$group"/cgroup.procs "$group"/*/cgroup.procs "$group"/*/*/cgroup.procs "$group"/*/*/*/cgroup.procs 2>/dev/null)" ] && break
		sleep 0.05
	done
	find "$group" -depth -type d -exec rmdir {} +
}
trap tidy EXIT
mkdir -p "$base/login/run" "$base/login/config/systemd/user" "$base/login/home/project"
chmod 700 "$base/login/run"
cp "$installed/lib/systemd/user/ccbox-server.socket" "$base/login/config/systemd/user/"
sed "s|^ExecStart=.*|ExecStart=$installed/bin/cc_server|" "$installed/lib/systemd/user/ccbox-server.service" \
	>"$base/login/config/systemd/user/ccbox-server.service"
chown -R "$uid:$uid" "$base/login"
chown "$uid:$uid" "$group" "$group/cgroup.procs" "$group/cgroup.subtree_control" "$group/cgroup.threads"

cat >"$base/login/session" <<'SH'
set -eu
installed=$1 home=$2
export HOME=$home/home XDG_RUNTIME_DIR=$home/run XDG_CONFIG_HOME=$home/config
unset DBUS_SESSION_BUS_ADDRESS XDG_DATA_HOME XDG_STATE_HOME CC_SERVER_SOCKET CC_SERVER_DATA_DIR
ccbox=$installed/bin/ccbox
cd "$HOME/project"
# only the basic target: what else is installed for logins is not ours to start
/lib/systemd/systemd --user --unit=basic.target --log-target=console >"$home/log" 2>&1 &
manager=$!
s() { systemctl --user --no-pager "$@"; }
until_true() { for _ in $(seq 200); do "$@" >/dev/null 2>&1 && return 0; sleep 0.05; done; echo "never: $*"; return 1; }
main() { s show -P MainPID ccbox-server.service; }
trap 's exit || kill $manager; wait $manager || true' EXIT
until_true s is-active basic.target
s start ccbox-server.socket
[ "$(main)" = 0 ] && echo waits
curl -sS http://127.0.0.1:9030/healthz | grep -q '"status":"ok"' && echo activated
first=$(main)
$ccbox ps >/dev/null && echo local
id=$($ccbox launch)
[ "$($ccbox exec "$id" -- sh -c 'echo x >made; echo x >.env; echo inside' 2>/dev/null </dev/null)" = inside ] && [ -e made ] && [ ! -e .env ] && echo holds
group=/sys/fs/cgroup$(s show -P ControlGroup ccbox-server.service)
[ "$(find "$group" -name cgroup.procs -exec cat {} + | wc -l)" -ge 5 ] && echo grouped
# the manager stops it; its sockets stay, and the next call starts another
s stop ccbox-server.service
until_true test ! -d "$group" && echo emptied
[ -S "$XDG_RUNTIME_DIR/ccbox/server.sock" ] && [ "$(main)" = 0 ] && echo kept
$ccbox ps >"$home/list"
grep -q "$id" "$home/list" || echo again
second=$(main)
[ "$second" != 0 ] && [ "$second" != "$first" ] && echo another
# killed, it is started again on the same sockets
id=$($ccbox launch)
kill -9 "$second"
new_one() { [ "$(main)" != 0 ] && [ "$(main)" != "$second" ]; }
until_true new_one
$ccbox ps --all | grep "$id" | grep -q 'the server ended without it' && echo restarted
s stop ccbox-server.service ccbox-server.socket
[ ! -e "$XDG_RUNTIME_DIR/ccbox/server.sock" ] && echo removed
SH
sh -c 'echo $$ >"$1/cgroup.procs" && shift && exec "$@"' _ "$group" setpriv --reuid="$uid" --regid="$uid" --clear-groups \
	bash "$base/login/session" "$installed" "$base/login" || { cat "$base/login/log"; exit 1; }
