#!/usr/bin/env bats
# The probe: it proves by starting, and a host that lacks something is told exactly what. A missing kernel feature is simulated
# by a filter that answers the error such a kernel gives.
load lib

DENY=${DENY_SYSCALL:-$BATS_TEST_DIRNAME/../../build/tests/integration/deny-syscall}

probes() { ls -d /tmp/ccbox-probe-* 2>/dev/null || true; }

@test "doctor proves the host and says each capability" {
	before=$(probes)
	run "$CCBOX" doctor
	echo "$output"
	[ "$status" -eq 0 ]
	for item in kernel bubblewrap user-namespaces landlock seccomp-notify sandbox-starts names-held hosts-held transparent; do
		[[ $output == *" $item "* ]]
	done
	# its directory is gone; those of other runs on this machine come and go
	for left in $(probes); do
		[[ $before == *"$left"* ]] && continue
		for _ in $(seq 300); do [ -e "$left" ] || break; sleep 0.1; done
		[ ! -e "$left" ]
	done
}

@test "doctor --json is one versioned object" {
	"$CCBOX" doctor --json | python3 -c '
import json, sys
d = json.load(sys.stdin)
assert d["v"] == 1 and d["backend"] == "native" and d["available"] and d["enforceable"]
assert all(c["ok"] for c in d["capabilities"])'
}

@test "a missing bwrap is named with its package" {
	# an own mount namespace in which the program is hidden
	run unshare -Urm sh -c 'mount --bind /dev/null /usr/bin/bwrap && PATH=/usr/bin:/bin "$0" doctor --json' "$CCBOX"
	echo "$output"
	[ "$status" -eq 1 ]
	[[ $output == *'"available":false,"requiresInstall":true'* ]]
	[[ $output == *"apt-get install bubblewrap"* ]]
	run unshare -Urm sh -c 'mount --bind /dev/null /usr/bin/bwrap && PATH=/usr/bin:/bin "$0" run -- touch started' "$CCBOX"
	[ "$status" -eq 125 ]
	[[ $output == *"bubblewrap"* ]]
	[ ! -e started ]
}

@test "user namespaces used up: refused, named, nothing started" {
	run unshare -Ur sh -c 'echo 0 >/proc/sys/user/max_user_namespaces; exec "$0" run -- touch started' "$CCBOX"
	echo "$output"
	[ "$status" -eq 125 ]
	[ ! -e started ]
	run unshare -Ur sh -c 'echo 0 >/proc/sys/user/max_user_namespaces; exec "$0" doctor' "$CCBOX"
	[ "$status" -eq 1 ]
	[[ $output == *"max_user_namespaces"* ]]
}

@test "no Landlock (simulated): refused, named, nothing started" {
	run "$DENY" 444 38 0 "$CCBOX" run -- touch started
	echo "$output"
	[ "$status" -eq 125 ]
	[[ $output == *andlock* ]]
	[ ! -e started ]
	run "$DENY" 444 95 0 "$CCBOX" doctor
	[ "$status" -eq 1 ]
	[[ $output == *"lsm="* ]]
}

@test "a refusal of cc-init is told although the proxy is late and bubblewrap already gone" {
	mkdir "$BASE/slow"
	cp "$(dirname "$CCBOX")"/{ccbox,cc-*} "$BASE/slow/"
	mv "$BASE/slow/cc-proxy" "$BASE/slow/late-proxy"
	printf '#!/bin/sh\nsleep 1\nexec "%s" "$@"\n' "$BASE/slow/late-proxy" >"$BASE/slow/cc-proxy"
	chmod 755 "$BASE/slow/cc-proxy"
	run "$DENY" 444 38 0 "$BASE/slow/ccbox" run -- touch started
	echo "$output"
	[ "$status" -eq 125 ]
	[[ $output == *"cc-init, step"*andlock* ]]
	[ ! -e started ]
}

@test "no WAIT_KILLABLE_RECV, an old kernel (simulated): refused, named, nothing started" {
	run "$DENY" 317 22 32 "$CCBOX" run -- touch started
	echo "$output"
	[ "$status" -eq 125 ]
	[[ $output == *"WAIT_KILLABLE"* || $output == *"listener"* ]]
	[ ! -e started ]
}

@test "no seccomp listener at all (simulated): refused, nothing started" {
	run "$DENY" 317 38 8 "$CCBOX" run -- touch started
	echo "$output"
	[ "$status" -eq 125 ]
	[ ! -e started ]
}

@test "a read-only work tree starts and stays as it is" {
	if [ "$(id -u)" = 0 ]; then skip "root can write everywhere"; fi
	mkdir fixed
	chmod 555 fixed
	cd fixed
	run box -- sh -c 'echo x >f; echo ran'
	[ "$status" -eq 0 ]
	[[ $output == *ran* ]]
	[ ! -e f ]
}

@test "a network namespace that may not bring up its loopback, as AppArmor leaves it (simulated, OPS-07)" {
	# sendto answers EPERM: what bubblewrap's netlink request meets on such a host
	run "$DENY" 44 1 0 "$CCBOX" doctor
	echo "$output"
	[ "$status" -eq 1 ]
	[[ $output == *RTM_NEWADDR* ]]
	[[ $output == *apparmor* ]]
}

@test "a container whose seccomp profile forbids pidfd_getfd, as docker's did (simulated): told so, nothing started" {
	run "$DENY" 438 1 0 "$CCBOX" doctor
	echo "$output"
	[ "$status" -eq 1 ]
	[[ $output == *"pidfd_getfd is forbidden"* ]]
	[[ $output == *"do this: "*seccomp=unconfined* ]]
	run "$DENY" 438 1 0 "$CCBOX" run -- touch started
	[ "$status" -eq 125 ]
	[ ! -e started ]
}

@test "no process_vm_readv (simulated): root is served by /proc, an ordinary user is told" {
	run "$DENY" 310 38 0 "$CCBOX" run --quiet -- sh -c 'echo x >fine; echo x >.env'
	echo "$output"
	if [ "$(id -u)" = 0 ]; then
		[ -e fine ]
		[ ! -e .env ]
	else
		[ "$status" -eq 125 ]
		[[ $output == *"memory of a process inside cannot be read"* ]]
		[ ! -e fine ]
	fi
}

@test "a container that allows no fresh /proc is told so, and nothing is started (OPS-08)" {
	# a mount over a part of /proc: the kernel then refuses another one to a nested user namespace
	run unshare -Urm sh -c 'mount --bind /dev/null /proc/uptime && exec "$0" doctor' "$CCBOX"
	echo "$output"
	[ "$status" -eq 1 ]
	[[ $output == *"mount proc"* ]]
	[[ $output == *systempaths=unconfined* ]]
	run unshare -Urm sh -c 'mount --bind /dev/null /proc/uptime && exec "$0" run -- touch started' "$CCBOX"
	[ "$status" -eq 125 ]
	[ ! -e started ]
}

@test "root without CAP_SETFCAP is told so (OPS-09)" {
	if [ "$(id -u)" != 0 ]; then skip "only root can give it up"; fi
	run setpriv --bounding-set -setfcap "$CCBOX" doctor
	echo "$output"
	[ "$status" -eq 1 ]
	[[ $output == *CAP_SETFCAP* ]]
}
