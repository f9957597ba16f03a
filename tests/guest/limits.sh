# shellcheck shell=sh disable=SC2086,SC2154
# Sections of inside.sh: limits of a session by control groups of version 2, as root in the root group, and as an ordinary
# user in groups that were delegated to him, as systemd does it; through `ccbox run` and through the daemon.
top=/sys/fs/cgroup
eats='head -c 300000000 /dev/zero | tail -c 250000000 | wc -c; echo "then $?"'
forks='i=0; while [ $i -lt 100 ]; do sleep 20 & i=$((i + 1)); done; wait'
spins='i=0; while [ $i -lt 300000 ]; do i=$((i + 1)); done'

enter_group() { # COMMAND...: an ordinary user in a group that is his alone, a new one each time, as a scope of systemd is
	scope=$(mktemp -d $top/scope.XXXXXX)
	chown 1000:1000 $scope $scope/cgroup.procs $scope/cgroup.subtree_control $scope/cgroup.threads
	sh -c 'echo $$ >"$1/cgroup.procs" && shift && exec "$@"' _ $scope $as_user "$@"
}
groups_left() { find $top -mindepth 1 -type d -name 'ccbox-*' ! -name ccbox-server; }
nothing_left() {
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		[ -z "$(groups_left)" ] && break
		sleep 0.5
	done
	groups_left
	[ -z "$(groups_left)" ]
}
files_say() { # MEMORY PIDS CPU: of the one group that is there; and everything that runs inside is in it
	group=$(groups_left)
	[ "$(cat $group/memory.max)" = "$1" ] && [ "$(cat $group/pids.max)" = "$2" ] && [ "$(cat $group/cpu.max)" = "$3" ] &&
		[ "$(cat $group/memory.swap.max 2>/dev/null || echo 0)" = 0 ] && [ "$(wc -l <$group/cgroup.procs)" -ge 3 ] && return
	echo "group: $group"
	cat $group/memory.max $group/pids.max $group/cpu.max $group/cgroup.procs
	return 1
}
throttled() { [ "$(sed -n 's/^nr_throttled //p' "$(groups_left)/cpu.stat")" -gt 0 ]; }
lacks() { # a text, COMMAND...: it succeeds, and does not say so
	unsaid=$1
	shift
	"$@" >/tmp/lacks 2>&1 || { cat /tmp/lacks; return 1; }
	! grep -F -- "$unsaid" /tmp/lacks
}
while_it_runs() { # CHECK, COMMAND...: the check while the command runs, and its exit code
	check=$1
	shift
	"$@" >/tmp/runs 2>&1 &
	runs=$!
	for _ in $(seq 100); do
		grep -q '^up' /tmp/runs && break
		sleep 0.2
	done
	$check && wait $runs
}
as_asked() { files_say 100663296 60 "30000 100000"; }

# how: what stands before ccbox
run_is_held() {
	how=$1
	says "memory: ended by the kernel, and the person is told" 0 "its memory was used up (--memory)" \
		$how $ccbox run --no-pty --memory 96M -- sh -c "$eats"
	says "without the limit nothing is" 0 "" lacks "used up" $how $ccbox run --quiet --no-pty -- sh -c "$eats"
	says "processes: the next one is refused" 2 "Cannot fork" $how $ccbox run --quiet --no-pty --pids 60 -- sh -c "$forks"
	says "all three are in the group's files while it runs" 0 "" while_it_runs as_asked \
		$how $ccbox run --quiet --no-pty --memory 96M --pids 60 --cpu 30 -- sh -c 'echo up; sleep 4'
	says "CPU: the quota is met" 0 "" while_it_runs throttled \
		$how $ccbox run --quiet --no-pty --cpu 10 -- sh -c "$spins; echo up; sleep 4"
	says "the exit code is the command's" 7 "" $how $ccbox run --quiet --no-pty --memory 96M --pids 60 --cpu 30 -- sh -c 'exit 7'
	says "nothing of the groups stays" 0 "" nothing_left
}

ends() { # PID: by SIGTERM, in its time
	kill $1 || return 1
	for _ in $(seq 100); do
		kill -0 $1 2>/dev/null || return 0
		sleep 0.2
	done
	return 1
}
serve() { # starts a daemon that proved its sandbox: two seconds for that are short here
	for _ in 1 2 3 4 5; do
		rm -rf /home/ann/data /tmp/server
		"$@" sh -c 'echo pid $$; exec /opt/ccbox/cc_server --port 0 --data-dir /home/ann/data' >/tmp/server 2>&1 &
		for _ in $(seq 200); do
			grep -q 'listening on /' /tmp/server && break
			sleep 0.2
		done
		server=$(sed -n 's/^pid //p' /tmp/server)
		grep -q refusing /tmp/server || return 0
		ends $server
	done
	return 1
}
daemon_holds() {
	how=$1
	says "a daemon is started" 0 "" serve $how
	cat /tmp/server
	client="$2 env CC_SERVER_SOCKET=/home/ann/data/run/server.sock"
	says "a session with all three" 0 "one" $client $ccbox launch --id one --memory 96M --pids 60 --cpu 30
	says "they are in its group's files" 0 "" as_asked
	says "memory: ended by the kernel" 0 "then " $client $ccbox exec one -- sh -c "$eats"
	says "the event says why" 0 "out of memory: the session's limit was reached" $client $ccbox logs one
	says "the session goes on" 0 "still here" $client $ccbox exec one -- echo still here
	says "processes: the next one is refused" 2 "Cannot fork" $client $ccbox exec one -- sh -c "$forks"
	says "CPU: the quota is met" 0 "" throttled
	says "it ends" 0 "" $client $ccbox stop one
	says "nothing of its group stays" 0 "" nothing_left
	says "another one" 0 "two" $client $ccbox launch --id two --pids 60
	owner=$(sed -n 1p "$(groups_left)/cgroup.procs")
	says "its first process killed, the session is over" 0 "" kill -9 "$owner"
	says "and its group goes with it" 0 "" nothing_left
	says "the daemon ends" 0 "" ends $server
	says "nothing of the groups stays" 0 "" nothing_left
}
cgroup2() {
	mkdir -p /home/ann/limited && chown 1000:1000 /home/ann/limited && cd /home/ann/limited || return
	echo "== cgroup2, none mounted"
	says "memory is refused" 125 "a limit of memory cannot be held here" $ccbox run --quiet --memory 96M -- touch started
	says "root's processes too" 125 "holds the host's root to no resource limit" $ccbox run --quiet --pids 60 -- touch started
	says "a user's are held by a resource limit" 2 "Cannot fork" $as_user $ccbox run --quiet --no-pty --pids 60 -- sh -c "$forks"
	mount -t cgroup2 cgroup2 $top || { echo "not ok - mounted"; return; }
	echo "== cgroup2, run, root"
	run_is_held ""
	echo "== cgroup2, daemon, root"
	daemon_holds "" ""
	echo "== cgroup2, run, user, not delegated"
	says "memory is refused, with the way out" 125 "systemd-run --user --scope -p Delegate=yes" \
		$as_user $ccbox run --quiet --memory 96M -- touch started
	says "CPU too" 125 "a limit of CPU cannot be held here" $as_user $ccbox run --quiet --cpu 30 -- touch started
	echo "== cgroup2, run, user, delegated"
	run_is_held enter_group
	echo "== cgroup2, daemon, user, delegated"
	daemon_holds enter_group "$as_user"
	rmdir $top/scope.*/ccbox-server $top/scope.*
	says "the groups that were delegated can be taken away" 0 "" lacks scope ls $top
	cd /opt/ccbox/tests || exit 1
	umount $top
}
