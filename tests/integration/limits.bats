#!/usr/bin/env bats
# Limits of a session: held by the kernel, or the session does not start. Version 1 groups where the tests run as root on a
# host that has them, version 2 where a group was delegated (and in the guests, tests/guest); without either, a user's
# processes are held by a resource limit of the sandbox's own user namespace, and the rest is refused.
load lib
load server

can() { # is there a group that a limit can be held with?
	daemon
	launch probe '"limits":{"pids":500,"memoryBytes":500000000,"cpuPercent":200}' >"$BASE/can"
	[ "$(field state <"$BASE/can")" = warm ]
}
groups_left() { find /sys/fs/cgroup -maxdepth 6 -name "ccbox-session-$SERVER-*" 2>/dev/null; }

@test "a limit that cannot be held is a refusal that names it; wall time always can" {
	# in a mount namespace without control groups
	export BASE CCBOX CC_SERVER
	cat >"$BASE/none.sh" <<-'SH'
		trap 'kill "$SERVER" 2>/dev/null || true' EXIT
		mount -t tmpfs tmpfs /sys/fs/cgroup 2>/dev/null || umount -l /sys/fs/cgroup
		. "$1/lib.bash"; . "$1/server.bash"
		cd "$BASE/proj"
		daemon
		for limit in '"memoryBytes":100000000' '"pids":100' '"cpuPercent":50'; do launch "x${#limit}" "\"limits\":{$limit}"; done
		launch w '"limits":{"wallSeconds":100}'
		down
	SH
	run unshare -Urm bash "$BASE/none.sh" "$BATS_TEST_DIRNAME"
	echo "$output"
	refused=3
	[ "$(id -u)" = 0 ] || refused=2
	[ "$(grep -o '"code":"unenforceable"' <<<"$output" | wc -l)" -eq $refused ]
	if [ $refused = 3 ]; then
		[[ $output == *"limit of processes cannot be held"*"host's root"* ]]
	else
		[[ $output == *'"pids":{"value":100,"heldBy":"rlimit"}'* ]]
	fi
	for word in "limit of memory" "limit of CPU" '"wallSeconds":{"value":100,"heldBy":"timer"}'; do [[ $output == *"$word"* ]]; done
}

@test "the handle says what is held, and by what" {
	can || skip "no control group of ours"
	cat "$BASE/can"
	grep -q '"limits":{"memoryBytes":{"value":500000000,"heldBy":"cgroup[12]"},"pids":{"value":500,' "$BASE/can"
	launch free | python3 -c 'import json,sys; assert "limits" not in json.load(sys.stdin)'
	down
	[ -z "$(groups_left)" ]
}

@test "memory: what is beyond the limit is killed, the event says why, the rest goes on" {
	can || skip "no control group of ours"
	launch one '"limits":{"memoryBytes":150000000}'
	in_box one 'python3 -c "b = bytearray(400000000)"' >"$BASE/ev"
	cat "$BASE/ev"
	[ "$(text_of exit <"$BASE/ev")" = 137 ]
	api GET '/v1/sandboxes/one/events?follow=0&format=lines' | grep '"type":"killed"' | grep -q 'out of memory'
	[ "$(in_box one 'echo on' | text_of stdout)" = on ]
	# files in the private directories are memory too
	[ "$(in_box one 'head -c 400000000 /dev/zero >/tmp/big' | text_of exit)" != 0 ]
	launch two
	[ "$(in_box two 'python3 -c "b = bytearray(400000000)"' | text_of exit)" = 0 ]
}

@test "processes: a fork bomb ends at the limit; other sessions and the host do not feel it" {
	can || skip "no control group of ours"
	launch one '"limits":{"pids":60}'
	in_box one 'for i in $(seq 200); do sleep 60 & done 2>/dev/null; wait' '"timeoutSeconds":3' >"$BASE/ev" || true
	in_box probe 'echo on' >"$BASE/other"
	[ "$(text_of stdout <"$BASE/other")" = on ]
	in_box one 'echo x' '"timeoutSeconds":5' >/dev/null || true
	# counted from outside, while they are there
	in_box one 'i=0; while [ $i -lt 200 ]; do sleep 60 & i=$((i + 1)); done; sleep 60' '"detach":true' >/dev/null || true
	owner=$(api GET /v1/sandboxes/one | python3 -c 'import json,sys; print(json.load(sys.stdin).get("details", {}).get("pid", ""))')
	if [ -n "$owner" ]; then
		group=$(groups_left | grep -- "-$owner\$" | head -n 1)
		[ "$(wc -l <"$group/cgroup.procs")" -le 60 ]
	fi
	api DELETE /v1/sandboxes/one
	down
	[ -z "$(groups_left)" ]
	nothing_left
}

@test "CPU: the session's group has the quota, and meets it" {
	can || skip "no control group of ours"
	owner=$(launch one '"limits":{"cpuPercent":20}' | python3 -c 'import json,sys; print(json.load(sys.stdin)["details"]["pid"])')
	in_box one 'while :; do :; done' '"timeoutSeconds":20' >/dev/null 3>&- &
	throttled=0
	# on a machine that has much else to do it takes a while until a fifth of a processor is more than it gets
	for _ in $(seq 200); do
		for group in $(groups_left | grep -- "-$owner\$"); do
			[ -e "$group/cpu.stat" ] || continue
			grep -qE '^20000( 100000)?$' "$group/cpu.max" "$group/cpu.cfs_quota_us" 2>/dev/null
			throttled=$(sed -n 's/^nr_throttled //p' "$group/cpu.stat")
		done
		[ "$throttled" -eq 0 ] || break
		sleep 0.1
	done
	[ "$throttled" -gt 0 ]
	api DELETE /v1/sandboxes/one >/dev/null
	wait $! || true
}

@test "SIGKILL of owner and daemon leaves a group, and the next start takes it away" {
	can || skip "no control group of ours"
	owner=$(launch one '"limits":{"pids":100}' | python3 -c 'import json,sys; print(json.load(sys.stdin)["details"]["pid"])')
	kill -9 "$owner"
	for _ in $(seq 100); do [ "$(api GET /v1/sandboxes/one | field state)" = error ] && break; sleep 0.05; done
	[ -z "$(groups_left | grep -- "-$owner\$")" ]
	old=$SERVER
	owner=$(launch two '"limits":{"pids":100}' | python3 -c 'import json,sys; print(json.load(sys.stdin)["details"]["pid"])')
	kill -STOP "$owner"
	kill -9 "$SERVER"
	kill -9 "$owner"
	sleep 0.2
	daemon
	for _ in $(seq 100); do [ -z "$(find /sys/fs/cgroup -maxdepth 6 -name "ccbox-session-$old-*" 2>/dev/null)" ] && break; sleep 0.05; done
	[ -z "$(find /sys/fs/cgroup -maxdepth 6 -name "ccbox-session-$old-*" 2>/dev/null)" ]
	nothing_left
}

# as many sleeps as start
sleeps='i=0; while [ $i -lt 100 ]; do sleep 2 & i=$((i + 1)); echo $i; done; wait'

@test "ccbox run: memory is held, the person is told, and nothing of the group stays" {
	can || skip "no control group of ours"
	run "$CCBOX" run --quiet --no-pty --memory 100M -- sh -c 'python3 -c "b = bytearray(300000000)"; echo "then $?"'
	echo "$output"
	[ "$status" -eq 0 ]
	[[ $output == *"then 137"* && $output == *"its memory was used up (--memory)"* ]]
	"$CCBOX" events --json | grep '"type":"killed"' | grep -q 'out of memory'
	run "$CCBOX" run --quiet --no-pty -- sh -c 'python3 -c "b = bytearray(300000000)"; echo "then $?"'
	[[ $output == *"then 0"* ]]
	[ -z "$(find /sys/fs/cgroup -maxdepth 6 -name 'ccbox-run-*' -newer "$BASE/can" 2>/dev/null)" ]
}

@test "ccbox run: what cannot be held is not run, and the way out is named" {
	for limit in '--memory 100M' '--cpu 50'; do
		run unshare -Urm sh -c 'mount -t tmpfs tmpfs /sys/fs/cgroup 2>/dev/null || umount -l /sys/fs/cgroup
			exec "$@"' _ "$CCBOX" run --quiet $limit -- touch started
		echo "$output"
		[ "$status" -eq 125 ]
		[[ $output == *"cannot be held here"*"systemd-run --user --scope"*"binds one process, not a session"* ]]
	done
	run unshare -Urm sh -c 'mount -t tmpfs tmpfs /sys/fs/cgroup 2>/dev/null || umount -l /sys/fs/cgroup
		exec "$@"' _ "$CCBOX" run --quiet --backend none --pids 100 -- touch started
	[ "$status" -eq 125 ]
	[ ! -e started ]
}

@test "an ordinary user without a control group: processes are held by a resource limit of the sandbox's own" {
	[ "$(id -u)" != 0 ] || skip "the kernel holds root to no such limit"
	run "$CCBOX" run --quiet --no-pty --pids 60 -- sh -c "$sleeps"
	echo "$output"
	[[ $output == *"Cannot fork"* ]]
	count=$(grep -cx '[0-9]*' <<<"$output")
	[ "$count" -lt 60 ]
	[ "$count" -gt 20 ]
	# two at once: each has its own count, and the host's processes of the same user are in neither
	"$CCBOX" run --quiet --no-pty --pids 60 -- sh -c "$sleeps" >"$BASE/one" 2>/dev/null 3>&- &
	other=$!
	run "$CCBOX" run --quiet --no-pty --pids 60 -- sh -c "$sleeps"
	wait $other || true
	[ "$(grep -cx '[0-9]*' <<<"$output")" -gt 20 ]
	[ "$(grep -cx '[0-9]*' "$BASE/one")" -gt 20 ]
	# nobody inside gets more, and without the limit they all start
	[ "$("$CCBOX" run --quiet --no-pty --pids 60 -- bash -c 'ulimit -u 5000 2>/dev/null; ulimit -u')" = 60 ]
	run "$CCBOX" run --quiet --no-pty -- sh -c "$sleeps"
	[ "$(grep -cx '[0-9]*' <<<"$output")" -eq 100 ]
}

@test "root without a control group: processes are not held by a resource limit, and the session does not start" {
	[ "$(id -u)" = 0 ] || skip "an ordinary user is held"
	run unshare -m sh -c 'mount -t tmpfs tmpfs /sys/fs/cgroup; exec "$@"' _ "$CCBOX" run --quiet --pids 60 -- touch started
	echo "$output"
	[ "$status" -eq 125 ]
	[[ $output == *"holds the host's root to no resource limit"* ]]
	[ ! -e started ]
}
