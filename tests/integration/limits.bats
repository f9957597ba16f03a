#!/usr/bin/env bats
# Limits of a session: held by the kernel, or the session does not start. Version 1 groups where the tests run as root on a
# host that has them, version 2 where a group was delegated; an ordinary user without either is refused.
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
		for limit in '"memoryBytes":100000000' '"pids":100' '"cpuPercent":50'; do launch x "\"limits\":{$limit}"; done
		launch w '"limits":{"wallSeconds":100}'
		down
	SH
	run unshare -Urm bash "$BASE/none.sh" "$BATS_TEST_DIRNAME"
	echo "$output"
	[ "$(grep -o '"code":"unenforceable"' <<<"$output" | wc -l)" -eq 3 ]
	for word in "limit of memory" "limit of processes" "limit of CPU" '"wallSeconds":{"value":100,"heldBy":"timer"}'; do [[ $output == *"$word"* ]]; done
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
	in_box one 'while :; do :; done' '"timeoutSeconds":2' >/dev/null
	throttled=0
	for group in $(groups_left | grep -- "-$owner\$"); do
		[ -e "$group/cpu.stat" ] || continue
		grep -qE '^20000( 100000)?$' "$group/cpu.max" "$group/cpu.cfs_quota_us" 2>/dev/null
		throttled=$(sed -n 's/^nr_throttled //p' "$group/cpu.stat")
	done
	[ "$throttled" -gt 0 ]
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
