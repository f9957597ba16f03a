#!/usr/bin/env bats
# Faults: each launch step made to fail, and every process of ours killed at any moment. The only accepted outcome is that nothing
# was started, or that everything ended, and that the host is as it was.
load lib
load server

TWIN=$(dirname "$CCBOX")/ccbox-twin

# No process of a session may remain: each runs with a marker of this test in its working tree's path.
nothing_runs() {
	for _ in $(seq 60); do
		pgrep -f "$BASE" >/dev/null || pgrep -f 'cc-init [0-9]' -u "$(id -u)" >/dev/null || return 0
		# other tests may run sessions of their own: only ours count
		ours=0
		for pid in $(pgrep -u "$(id -u)" -f 'cc-init|cc-proxy|bwrap'); do
			case $(readlink "/proc/$pid/cwd") in "$BASE"*) ours=1 ;; esac
			grep -qsF "$BASE" "/proc/$pid/mountinfo" && ours=1
		done
		[ $ours = 0 ] && return 0
		sleep 0.05
	done
	ps aux | grep -E 'cc-init|cc-proxy|bwrap' >&2
	return 1
}

# bubblewrap's own child, before it has mounted anything: only where it stands tells that it is ours.
no_bwrap_stands_here() {
	for _ in $(seq 60); do
		left=0
		for pid in $(pgrep -u "$(id -u)" -x bwrap); do [ "$(readlink "/proc/$pid/cwd")" = "$PWD" ] && left=$pid; done
		[ $left = 0 ] && return 0
		sleep 0.05
	done
	return 1
}

fail_step() {
	before=$(tree_hash .)
	CCBOX_TWIN_FAIL=$1 run "$TWIN" run --quiet -- touch started
	echo "$1: $output"
	[ "$status" -eq 125 ]
	[ -n "$output" ]
	[ ! -e started ]
	[ "$before" = "$(tree_hash .)" ]
	nothing_runs
}

@test "every launch step of the owner made to fail: nothing is started" {
	for step in bwrap proxy setup listen policy ready; do fail_step $step; done
}

@test "every launch step of cc-init made to fail: nothing is started" {
	for step in devpts limits proc self listen go power gate zygote reach proof confine; do fail_step $step; done
}

@test "a failed launch is an event that says why" {
	CCBOX_TWIN_FAIL=zygote run "$TWIN" run --quiet -- true
	"$CCBOX" events --json | grep -q '"type":"killed"'
}

# A daemon whose owners fail the step that the session's name says: fail-STEP.
failing_daemon() {
	mkdir "$BASE/twin"
	for helper in "$(dirname "$CCBOX")"/ccbox "$(dirname "$CCBOX")"/cc_server "$(dirname "$CCBOX")"/cc-*; do
		[ ! -f "$helper" ] || cp "$helper" "$BASE/twin"
	done
	cp "$(dirname "$CCBOX")/cc-session-twin" "$BASE/twin/cc-session"
	CC_SERVER=$BASE/twin/cc_server
	daemon
}

@test "every launch step made to fail in the daemon: the error and an event say why, nothing is started or left, others go on" {
	failing_daemon
	launch good
	held=
	launch fail-ready '"limits":{"pids":200}' | grep -q unenforceable || held=',"limits":{"pids":200}'
	before=$(tree_hash .)
	open=$(ls "/proc/$SERVER/fd" | wc -l)
	for step in bwrap proxy setup listen policy ready devpts limits proc self go power gate zygote reach proof confine; do
		launch "fail-$step" "\"mode\":\"chat\"$held" >"$BASE/answer"
		echo "$step: $(cat "$BASE/answer")"
		grep -q 'made to fail by the test' "$BASE/answer"
		api GET "/v1/sandboxes/fail-$step" >"$BASE/handle"
		[ "$(field state <"$BASE/handle")" = destroyed ]
		grep -q '"reason":"could not .*made to fail by the test' "$BASE/handle"
		api GET "/v1/sandboxes/fail-$step/events?follow=0&format=lines" >"$BASE/ev"
		grep '"type":"killed"' "$BASE/ev" | grep -q 'made to fail by the test'
		no grep -q '"type":"ready"' "$BASE/ev"
		in_box "fail-$step" 'touch started' | grep -q '"code":"not-found"'
		[ ! -e started ]
		[ "$(in_box good 'echo on' | text_of stdout)" = on ]
	done
	[ "$before" = "$(tree_hash .)" ]
	[ "$(ls "/proc/$SERVER/fd" | wc -l)" -eq "$open" ]
	[ -z "$(find /sys/fs/cgroup -maxdepth 6 -name "ccbox-session-$SERVER-*" 2>/dev/null)" ]
	# the owners are gone; the good session's is the only one
	[ "$(pgrep -P "$SERVER" | wc -l)" -eq 1 ]
	api DELETE /v1/sandboxes/good
	nothing_left
}

# Children of a process, by name.
child() { pgrep -P "$1" -f "$2" | head -n 1; }

@test "SIGKILL of each process of a running session ends all of it" {
	for victim in ccbox bwrap proxy init; do
		before=$(tree_hash .)
		"$CCBOX" run --quiet --no-pty -- sh -c 'echo up; exec sleep 300' >"$BASE/out" 2>/dev/null </dev/null &
		owner=$!
		for _ in $(seq 200); do grep -q up "$BASE/out" && break; sleep 0.02; done
		bwrap=$(child $owner bwrap)
		case $victim in
		ccbox) kill -9 $owner ;;
		bwrap) kill -9 "$bwrap" ;;
		proxy) kill -9 "$(child $owner cc-proxy)" ;;
		init) kill -9 "$(pgrep -P "$bwrap")" ;;
		esac
		wait $owner || true
		rm -f "$BASE/out"
		nothing_runs
		[ "$before" = "$(tree_hash .)" ]
	done
}

@test "SIGKILL of the owner at any moment of the launch leaves nothing" {
	before=$(tree_hash .)
	for i in $(seq 60); do
		"$CCBOX" run --quiet --no-pty -- sleep 300 >/dev/null 2>&1 </dev/null &
		owner=$!
		sleep "0.0$((i % 4))$((i % 10))"
		kill -9 $owner 2>/dev/null || true
		wait $owner 2>/dev/null || true
	done
	nothing_runs
	no_bwrap_stands_here
	[ "$before" = "$(tree_hash .)" ]
}

@test "SIGKILL of bubblewrap at any moment of the launch leaves nothing" {
	before=$(tree_hash .)
	for _ in $(seq 12); do
		"$CCBOX" run --quiet --no-pty -- sleep 300 >/dev/null 2>&1 </dev/null &
		owner=$!
		bwrap=
		for _ in $(seq 400); do
			bwrap=$(child $owner bwrap)
			[ -z "$bwrap" ] || break
		done
		kill -9 "$bwrap"
		code=0
		wait $owner || code=$?
		[ "$code" -eq 125 ]
	done
	nothing_runs
	no_bwrap_stands_here
	[ "$before" = "$(tree_hash .)" ]
}

@test "the proxy's death ends the session with a sentence and an event" {
	"$CCBOX" run --no-pty -- sh -c 'echo up; exec sleep 300' >"$BASE/out" 2>"$BASE/err" </dev/null &
	owner=$!
	for _ in $(seq 200); do grep -q up "$BASE/out" && break; sleep 0.02; done
	kill -9 "$(child $owner cc-proxy)"
	code=0
	wait $owner || code=$?
	[ "$code" -eq 125 ]
	grep -q 'cc-proxy ended' "$BASE/err"
	"$CCBOX" events --json | grep -q '"type":"killed"'
}

@test "PID 1 stopped from outside lets nothing through; when it goes on, so does everything" {
	cat >stopped.sh <<-'SH'
		echo up
		while [ ! -e go ]; do sleep 0.05; done
		# PID 1 is stopped now: each of these waits until it goes on
		(: >.env) 2>/dev/null && echo escaped
		: >made && mkdir dir && mv dir moved && echo worked
	SH
	"$CCBOX" run --quiet --no-pty -- sh stopped.sh >"$BASE/out" 2>/dev/null </dev/null &
	owner=$!
	for _ in $(seq 200); do grep -q up "$BASE/out" && break; sleep 0.02; done
	init=$(pgrep -P "$(child $owner bwrap)")
	kill -STOP "$init"
	: >go
	sleep 0.5
	[ ! -e made ]
	[ ! -e .env ]
	kill -CONT "$init"
	wait $owner
	[ "$(cat "$BASE/out")" = "up
worked" ]
	[ ! -e .env ]
}

@test "one thread of the gate killed from outside ends the session" {
	"$CCBOX" run --quiet --no-pty -- sh -c 'echo up; exec sleep 300' >"$BASE/out" 2>/dev/null </dev/null &
	owner=$!
	for _ in $(seq 200); do grep -q up "$BASE/out" && break; sleep 0.02; done
	init=$(pgrep -P "$(child $owner bwrap)")
	thread=$(ls "/proc/$init/task" | tail -n 1)
	[ "$thread" != "$init" ]
	/usr/bin/python3 -c 'import ctypes, sys; ctypes.CDLL(None).syscall(234, int(sys.argv[1]), int(sys.argv[2]), 9)' "$init" "$thread"
	wait $owner || true
	rm -f "$BASE/out"
	nothing_runs
}

# A limit of the test's own, around everything that it starts.
pids_limit() {
	for mount in /sys/fs/cgroup/pids /sys/fs/cgroup; do
		[ -e "$mount/cgroup.procs" ] && LIMIT=$mount/ccbox-test-$$ && mkdir "$LIMIT" 2>/dev/null || continue
		[ -e "$LIMIT/pids.max" ] && echo 120 >"$LIMIT/pids.max" && return 0
		rmdir "$LIMIT"
	done
	return 1
}

@test "a fork bomb in which every process calls the gate: refusals hold, the session can be ended, nothing remains" {
	pids_limit || skip "no pids controller for us"
	cat >bomb.py <<-'PY'
		import os
		def work(name):
		    while True:
		        for path in (name, name + ".pem"):
		            try: os.close(os.open(path, os.O_WRONLY | os.O_CREAT))
		            except OSError: pass
		print("up", flush=True)
		count = 0
		while True:
		    try:
		        if os.fork() == 0: work("w%d" % os.getpid())
		        count += 1
		    except OSError:
		        open("full", "w").close()
		        work("last")
	PY
	sh -c 'echo $$ >"$1/cgroup.procs" && shift && exec "$@"' _ "$LIMIT" "$CCBOX" run --quiet --no-pty --timeout 6 -- /usr/bin/python3 bomb.py \
		>"$BASE/out" 2>/dev/null </dev/null || code=$?
	for _ in $(seq 100); do [ -s "$LIMIT/cgroup.procs" ] || break; sleep 0.05; done
	left=$(wc -l <"$LIMIT/cgroup.procs")
	rmdir "$LIMIT"
	[ "$left" -eq 0 ]
	[ "${code:-0}" -eq 124 ]
	[ -e full ]
	[ -z "$(find . -name '*.pem')" ]
	[ "$(find . -name 'w[0-9]*' | wc -l)" -gt 20 ]
}
