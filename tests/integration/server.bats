#!/usr/bin/env bats
# The daemon: how it starts, whom it lets in, how it goes.
load lib
load server

@test "one start-up line; the port is printed; SIGTERM ends it with 0 and its socket is gone" {
	daemon
	[ "$(grep -c 'agent sandbox' "$BASE/server.err")" -eq 1 ]
	grep -q '^agent sandbox ON: bubblewrap' "$BASE/server.err"
	[ "$PORT" -gt 0 ]
	[ -S "$SOCK" ]
	down
	[ ! -e "$SOCK" ]
}

@test "the switch --sandbox off and its variable say so, flag before variable" {
	daemon --sandbox off
	grep -qx 'agent sandbox DISABLED by --sandbox off' "$BASE/server.err"
	down
	CC_SERVER_SANDBOX=off daemon --sandbox on
	grep -q '^agent sandbox ON' "$BASE/server.err"
}

@test "a missing bubblewrap is the third line, with the package" {
	mkdir "$BASE/bin"
	run unshare -Urm sh -c 'mount --bind /dev/null /usr/bin/bwrap && XDG_DATA_HOME=$1 timeout -s TERM 3 "$0" --port 0' "$CC_SERVER" "$BASE/d"
	echo "$output"
	[[ $output == *"no OS-native agent sandbox on this host: missing package: bubblewrap"* ]]
	[[ $output != *"agent sandbox ON"* ]]
}

@test "options that are unknown or wrong: 125 and a hint, nothing made" {
	for words in "--sandbx off" "--sandbox maybe" "--port x" "--bind any" "--tls-cert x" "--allowed-origins *" "extra"; do
		# shellcheck disable=SC2086
		XDG_DATA_HOME=$BASE/none run "$CC_SERVER" $words
		echo "$words: $output"
		[ "$status" -eq 125 ]
		[ -n "$output" ]
		[ ! -e "$BASE/none" ]
	done
	run "$CC_SERVER" --sandbx off
	[[ $output == *"did you mean --sandbox"* ]]
	run "$CC_SERVER" --version
	[ "$status" -eq 0 ]
}

@test "the data directory is 0700, the token 0600 and kept; a token that others can read is refused" {
	umask 022
	daemon
	dir=$BASE/data/ccbox-server
	[ "$(stat -c %a "$dir" "$dir/run" "$dir/token" "$SOCK" | tr '\n' ' ')" = "700 700 600 600 " ]
	[ "${#TOKEN}" -eq 64 ]
	before=$TOKEN
	down
	daemon
	[ "$TOKEN" = "$before" ]
	down
	chmod 644 "$dir/token"
	run "$CC_SERVER" --port 0
	echo "$output"
	[ "$status" -eq 125 ]
	[[ $output == *token* ]]
}

@test "a second server on one data directory is refused" {
	daemon
	run "$CC_SERVER" --port 0
	echo "$output"
	[ "$status" -eq 125 ]
	[[ $output == *"another cc_server uses"* ]]
	[ "$(status api GET /healthz)" = 200 ]
}

@test "/healthz is open and says nothing of the sandbox" {
	daemon
	curl -sS "$URL/healthz" | python3 -c '
import json, sys
d = json.load(sys.stdin)
assert d["status"] == "ok" and "version" in d
assert not any(w in json.dumps(d).lower() for w in ("sandbox", "bwrap", "bubblewrap", "backend", "native"))'
	[ "$(status curl -sS -I "$URL/healthz")" = 200 ]
	[ "$(status web POST /healthz)" = 405 ]
}

@test "/v1/probe is what doctor says" {
	daemon
	api GET /v1/probe | python3 -c '
import json, sys
d = json.load(sys.stdin)
assert d["backend"] == "native" and d["available"] and d["enforceable"], d'
}

@test "no token, a wrong one, a prefix, a longer one: 401; the Unix socket needs none" {
	daemon
	for token in "" "x" "${TOKEN%?}" "${TOKEN}0" "$(printf %064d 0)"; do
		[ "$(status curl -sS -H "Authorization: Bearer $token" "$URL/v1/probe")" = 401 ]
	done
	[ "$(status curl -sS -H "Authorization: Basic $TOKEN" "$URL/v1/probe")" = 401 ]
	[ "$(status curl -sS "$URL/v1/probe?token=$TOKEN")" = 401 ]
	[ "$(status curl -sS "$URL/v1/nothing")" = 401 ]
	[ "$(status web GET /v1/probe)" = 200 ]
	[ "$(status api GET /v1/probe)" = 200 ]
}

@test "another origin is refused, token or not; an allowed one is answered with its name" {
	daemon --allowed-origins https://good.example
	[ "$(status web GET /v1/probe -H "Origin: https://evil.example")" = 403 ]
	[ "$(status web GET /v1/probe -H "Origin: null")" = 403 ]
	[ "$(status web GET /v1/probe -H "Origin: $URL")" = 200 ]
	[ "$(status web GET /v1/probe -H "Origin: https://good.example.evil.example")" = 403 ]
	web GET /v1/probe -H "Origin: https://good.example" -D "$BASE/head" >/dev/null
	grep -qi '^access-control-allow-origin: https://good.example' "$BASE/head"
	[ "$(status curl -sS -X OPTIONS -H "Origin: https://good.example" "$URL/v1/probe")" = 204 ]
}

@test "a name that is not ours is refused: no page can be led here" {
	daemon
	[ "$(status web GET /v1/probe -H "Host: evil.example")" = 403 ]
	[ "$(status web GET /v1/probe -H "Host: 127.0.0.1.evil.example:$PORT")" = 403 ]
	[ "$(status web GET /v1/probe -H "Host: localhost:$PORT")" = 200 ]
	# a name of the inside does not make a caller local
	[ "$(status curl -sS -H "Host: local" "$URL/v1/probe")" = 403 ]
	# nor is one that is too long to be read an absent one: the longest name there is, with a port
	[ "$(status web GET /v1/probe -H "Host: $(printf 'a%.0s' $(seq 249)).test:$PORT")" = 403 ]
}

@test "HTTP/2 is not spoken: its streams would go by another host and past the number of connections" {
	daemon
	run web GET /v1/probe --http2 -i
	[[ "$output" == *505* && "$output" != *101* && "$output" != *HTTP/2* ]]
	[ "$(status web GET /v1/probe)" = 200 ]
}

@test "who sends on behind a body and before its answer is hung up on, token or not, and holds nobody else" {
	daemon
	for token in "$TOKEN" wrong; do
		run python3 - "$PORT" "$token" <<-'PY'
			import socket, sys
			s = socket.create_connection(("127.0.0.1", int(sys.argv[1])))
			s.settimeout(20)
			s.sendall((f"POST /v1/workspaces HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {sys.argv[2]}\r\n"
			           "Content-Length: 2\r\n\r\n{}GET /healthz HTTP/1.1\r\n\r\n").encode())
			try:
			    while s.recv(4096):
			        pass
			except ConnectionResetError:
			    pass
			print("over")
		PY
		[ "$output" = over ]
		[ "$(status web GET /v1/probe -m 20)" = 200 ]
	done
}

@test "as many silent TCP connections as anybody likes do not lock the owner out" {
	daemon
	python3 - "$PORT" "$BASE/full" 3>&- <<-'PY' &
		import resource, select, socket, sys, time
		hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
		resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
		held = []
		for _ in range(1200):
		    held.append(socket.create_connection(("127.0.0.1", int(sys.argv[1]))))
		    held[-1].sendall(b"GET / HTTP/1.1\r\n")
		open(sys.argv[2], "w").close()
		time.sleep(60)
	PY
	local flood=$!
	for _ in $(seq 400); do [ -e "$BASE/full" ] && break; sleep 0.05; done
	[ -e "$BASE/full" ]
	[ "$(status api GET /v1/probe -m 15)" = 200 ]
	kill "$flood"
}

@test "every answer carries the policy for pages" {
	daemon
	web GET /v1/nothing -D "$BASE/head" >/dev/null
	grep -qi "^content-security-policy: default-src 'none'" "$BASE/head"
	grep -qi '^x-content-type-options: nosniff' "$BASE/head"
}

@test "bodies that are too long, of unknown length or unwanted are refused unread" {
	daemon
	[ "$(status web GET /v1/probe --data x)" = 413 ]
	[ "$(status web GET /v1/probe -H 'Transfer-Encoding: chunked' --data x)" = 411 ]
	[ "$(status web GET /v1/probe -H 'Content-Length: 1x')" = 400 ]
	[ "$(status api GET /v1/probe)" = 200 ]
}

@test "another user's process at the Unix socket is cut off" {
	[ "$(id -u)" -eq 0 ] || skip "not root"
	daemon
	# the way is opened on purpose: what is left is the uid
	chmod 755 "$BASE" "$BASE/data" "$BASE/data/ccbox-server" "$BASE/data/ccbox-server/run"
	chmod 666 "$SOCK"
	run setpriv --reuid 65534 --clear-groups curl -sS --unix-socket "$SOCK" http://ccbox/v1/probe
	echo "$output"
	[ "$status" -ne 0 ]
	[[ $output != *backend* ]]
	[ "$(status api GET /v1/probe)" = 200 ]
}

@test "TLS: with a certificate the port speaks it, and nothing else" {
	openssl req -x509 -newkey rsa:2048 -nodes -keyout "$BASE/key" -out "$BASE/cert" -days 2 -subj /CN=localhost 2>/dev/null
	daemon --tls-cert "$BASE/cert" --tls-key "$BASE/key"
	[[ $URL == https://* ]]
	[ "$(status web GET /v1/probe -k)" = 200 ]
	[ "$(status web GET /v1/probe -k -H "Origin: $URL")" = 200 ]
	[ "$(status curl -sS -m 5 "http://127.0.0.1:$PORT/healthz" || true)" != 200 ]
	run "$CC_SERVER" --port 0 --data-dir "$BASE/other" --tls-cert "$BASE/key" --tls-key "$BASE/cert"
	[ "$status" -eq 125 ]
	[[ $output == *certificate* ]]
}

@test "a service manager's sockets are taken over" {
	export XDG_DATA_HOME=$BASE/data
	python3 - "$CC_SERVER" "$BASE" <<-'PY'
		import os, socket, subprocess, sys, urllib.request
		listener = socket.create_server(("127.0.0.1", 0))
		port = listener.getsockname()[1]
		def ready():
		    os.dup2(listener.fileno(), 3, inheritable=True)
		    os.environ["LISTEN_PID"], os.environ["LISTEN_FDS"] = str(os.getpid()), "1"
		pid = os.fork()
		if pid == 0:
		    ready()
		    os.execve(sys.argv[1], [sys.argv[1]], dict(os.environ))
		listener.close()
		print(urllib.request.urlopen("http://127.0.0.1:%d/healthz" % port, timeout=20).read())
		os.kill(pid, 15)
		assert os.waitpid(pid, 0)[1] == 0
	PY
}

@test "a NUL in a path or a query reaches no route, and the daemon goes on" {
	daemon
	[ "$(status web GET /v1/%00probe)" = 400 ]
	for path in /v1/runs/r-%00 /v1/runs/%00 /v1/sandboxes/a%00b /v1/mcp%00 '/v1/probe?a=%00' /v1/pro%00be /v1/runs/r-0%00/events; do
		code=$(status web GET "$path" || true)
		echo "$path $code"
		# 000: hung up on by the library
		[[ $code =~ ^(000|400|404)$ ]]
		[ "$(status web GET /v1/probe)" = 200 ]
	done
}
