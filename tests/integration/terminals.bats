#!/usr/bin/env bats
# Terminals over the API and its WebSocket (docs/terminals.md).
load lib
load server

# Its shells write their histories until they are gone.
teardown_more() { [ -z "${SERVER:-}" ] || wait "$SERVER" 2>/dev/null || true; }

CASES=$BATS_TEST_DIRNAME/terminals.py
DENY=${DENY_SYSCALL:-$BATS_TEST_DIRNAME/../../build/tests/integration/deny-syscall}

fine() {
	run env SERVER="$SERVER" SOCK="$SOCK" PORT="$PORT" TOKEN="$TOKEN" LC_ALL=C.UTF-8 python3 "$CASES" "$1"
	echo "$output"
	[ "$status" -eq 0 ]
	[[ $output == *fine ]]
}

@test "one is started, typed into, resized, titled; its exit is told, and nothing of it stays" {
	daemon
	fine life
}

@test "who comes back sees what was said, from the number asked for; several see the same" {
	daemon
	fine replay
}

@test "a flood is bounded by who reads it, input by who takes it; a stopped reader holds nobody" {
	daemon
	fine flow
}

@test "the backend is what was applied: none, native with its profile; microvm and unknown names are errors" {
	daemon
	fine backends
}

@test "native that cannot be held (no Landlock, simulated) is an error and no terminal; none still works" {
	wrap=("$DENY" 444 38 0)
	daemon
	fine refused
}

@test "bad requests: a clear error, nothing started" {
	daemon
	fine input
}

@test "replayed, reordered, oversized, malformed frames: closed with code and reason; the terminal goes on" {
	daemon
	fine frames
}

@test "no token, a wrong one, a foreign origin, a terminal that is not there: no WebSocket" {
	daemon
	fine who
}

@test "closed, idle: hung up, killed, nothing stays" {
	daemon
	fine close
}

@test "a daemon that stops says so to who looks on" {
	daemon
	fine going
	wait "$SERVER"
}

@test "a daemon that stops, or is killed, leaves nothing of its terminals" {
	daemon
	fine leave
	down
	fine gone
	daemon
	fine leave
	kill -KILL "$SERVER"
	wait "$SERVER" || true
	fine gone
}
