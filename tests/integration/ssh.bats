#!/usr/bin/env bats
# The ssh agent: out of reach, unless it is lent.
load lib

setup_more() {
	eval "$(ssh-agent -a "$BASE/agent" 2>/dev/null)" >/dev/null
	ssh-keygen -q -t ed25519 -N '' -f "$BASE/id" -C lent@example.test
	ssh-add -q "$BASE/id"
}

teardown_more() { kill "$SSH_AGENT_PID" 2>/dev/null || true; }

@test "without --ssh-agent there is no agent inside (IPC-05)" {
	run box -- ssh-add -l
	[ "$status" -ne 0 ]
	[[ $output != *lent@example.test* ]]
	run box --env SSH_AUTH_SOCK -- ssh-add -l
	[ "$status" -ne 0 ]
}

@test "--ssh-agent lends it: the key signs, its file stays absent" {
	run box --ssh-agent -- sh -c "ssh-add -l; ls $BASE/id"
	[[ $output == *lent@example.test* ]]
	[[ $output == *"No such file"* ]]
}

@test "--ssh-agent without an agent is a refusal" {
	SSH_AUTH_SOCK=$BASE/nothing run "$CCBOX" run --ssh-agent -- touch started
	[ "$status" -eq 125 ]
	[ ! -e started ]
}

@test "a host socket inside the bind is refused, and granted by --allow-socket" {
	python3 - "$PWD/host.sock" <<-'PY' &
		import socket, sys
		s = socket.socket(socket.AF_UNIX); s.bind(sys.argv[1]); s.listen(); s.settimeout(20)
		try:
		    c, _ = s.accept(); c.send(b"from the host"); c.close()
		except OSError: pass
	PY
	server=$!
	for _ in $(seq 100); do [ -S host.sock ] && break; sleep 0.05; done
	connect='import socket; s=socket.socket(socket.AF_UNIX); s.connect("host.sock"); print(s.recv(99).decode())'
	run box -- python3 -c "$connect"
	[[ $output != *"from the host"* ]]
	run box --allow-socket "$PWD/host.sock" -- python3 -c "$connect"
	kill $server 2>/dev/null || true
	[[ $output == *"from the host"* ]]
}
