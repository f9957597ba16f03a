#!/usr/bin/env bats
# The network of a session, end to end: programs that know no proxy, ports in both directions, and what is said of it.
load lib

PYTHON=/usr/bin/python3

setup_more() {
	# echo.py [PORT]: answers each line with "got LINE"
	cat >"$BASE/echo.py" <<-'PY'
		import socketserver, sys
		class Echo(socketserver.StreamRequestHandler):
		    def handle(self):
		        for line in self.rfile:
		            self.wfile.write(b"got " + line)
		class Server(socketserver.ThreadingTCPServer):
		    allow_reuse_address = True
		    daemon_threads = True
		with Server(("127.0.0.1", int(sys.argv[1]) if len(sys.argv) > 1 else 0), Echo) as s:
		    print(s.server_address[1], flush=True)
		    s.serve_forever()
	PY
	# talk.py HOST PORT: a plain socket, no proxy
	cat >"$BASE/proj/talk.py" <<-'PY'
		import socket, sys
		s = socket.create_connection((sys.argv[1], int(sys.argv[2])), 20)
		s.sendall(b"SSH-hello\n")
		print(s.recv(100).decode())
	PY
}

free_port() { "$PYTHON" -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

@test "a program that knows no proxy reaches an allowed name on any port, and no other" {
	serve "$PYTHON" "$BASE/echo.py"
	run box --transparent on --allow-host up.test --host up.test=127.0.0.1 -- "$PYTHON" talk.py up.test "$PORT"
	echo "$output"
	[ "$status" -eq 0 ]
	[[ $output == *"got SSH-hello"* ]]
	"$CCBOX" events --json | grep -q "\"target\":\"up.test:$PORT\",.*\"process\":\"transparent\""
	run box --transparent on --allow-host up.test --host up.test=127.0.0.1 -- "$PYTHON" talk.py evil.test "$PORT"
	[ "$status" -ne 0 ]
	[[ $output == *"refused network-outbound evil.test (not-allowed); allow with: --allow-host evil.test"* ]]
	[[ $output == *"Name or service not known"* ]]
}

@test "an entry with a port: the name is there, the other ports are refused" {
	serve "$PYTHON" "$BASE/echo.py"
	run box --transparent on --allow-host "up.test:1" --host up.test=127.0.0.1 -- "$PYTHON" talk.py up.test "$PORT"
	[ "$status" -ne 0 ]
	[[ $output == *"refused network-outbound up.test:$PORT (not-allowed)"* ]]
}

@test "an address that is allowed as a literal is captured too; another one is unreachable" {
	cat >lit.py <<-'PY'
		import socket, errno
		try:
		    socket.create_connection(("10.77.0.2", 9), 20)
		except OSError as e:
		    print(errno.errorcode[e.errno])
		try: # the reset may come before the connection is seen to stand
		    print(socket.create_connection(("10.77.0.1", 10), 20).recv(1))
		except OSError as e:
		    print(errno.errorcode[e.errno])
	PY
	run box --transparent on --allow-host 10.77.0.1:9 -- "$PYTHON" lit.py
	echo "$output"
	[[ $output == *ENETUNREACH* ]]
	[[ $output == *ECONNRESET* ]]
	[[ $output == *"refused network-outbound 10.77.0.1:10"* ]]
}

@test "a TLS name that is not the tunnel's ends a captured connection too" {
	serve "$PYTHON" "$BASE/echo.py"
	cat >sni.py <<-'PY'
		import socket, ssl, sys
		raw = socket.create_connection(("up.test", int(sys.argv[1])), 20)
		try:
		    ssl._create_unverified_context().wrap_socket(raw, server_hostname="evil.test")
		except (ssl.SSLError, OSError) as e:
		    print("closed", type(e).__name__)
	PY
	run box --transparent on --allow-host up.test --host up.test=127.0.0.1 -- "$PYTHON" sni.py "$PORT"
	echo "$output"
	[[ $output == *closed* ]]
	[[ $output == *"(sni)"* ]]
}

@test "UDP to a name fails at once, so that clients fall back" {
	cat >udp.py <<-'PY'
		import socket
		s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
		s.settimeout(20)
		s.connect((socket.gethostbyname("api.github.com"), 443))
		s.send(b"x")
		try:
		    s.recv(10)
		except ConnectionRefusedError:
		    print("refused at once")
	PY
	run box --transparent on -- "$PYTHON" udp.py
	echo "$output"
	[[ $output == *"refused at once"* ]]
}

@test "transparent off: no resolver, no capture, the proxies as ever" {
	serve "$PYTHON" "$BASE/echo.py"
	run box --transparent off --allow-host up.test --host up.test=127.0.0.1 -- "$PYTHON" talk.py up.test "$PORT"
	[ "$status" -ne 0 ]
	run box --transparent off -- sh -c 'test ! -e /etc/resolv.conf'
	[ "$status" -eq 0 ]
	run "$CCBOX" run --transparent maybe -- true
	[ "$status" -eq 125 ]
}

@test "with the network off no name exists, and it is said" {
	run box --no-network -- "$PYTHON" talk.py api.github.com 443
	[ "$status" -ne 0 ]
	[[ $output == *"refused network-outbound api.github.com (network-off)"* ]]
}

@test "the agent cannot undo the capture or take the resolver's place" {
	cat >undo.py <<-'PY'
		import socket
		for family, proto in ((16, 0), (16, 12)):
		    try:
		        s = socket.socket(family, socket.SOCK_RAW, proto)
		        print("netlink", proto, "opened")
		        if proto == 12:
		            print("NETFILTER")
		    except OSError as e:
		        print("netlink", proto, e.errno)
		for port, kind in ((53, socket.SOCK_DGRAM), (3128, socket.SOCK_STREAM), (3129, socket.SOCK_STREAM)):
		    s = socket.socket(socket.AF_INET, kind)
		    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
		    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
		    try:
		        s.bind(("127.0.0.1", port))
		        if kind == socket.SOCK_STREAM:
		            s.listen()
		        print("TAKEN", port)
		    except OSError:
		        pass
		s = socket.socket()
		try:
		    s.setsockopt(socket.SOL_IP, 19, 1)
		    print("TRANSPARENT")
		except OSError:
		    pass
	PY
	run box --transparent on -- "$PYTHON" undo.py
	echo "$output"
	[ "$status" -eq 0 ]
	[[ $output != *TAKEN* ]]
	[[ $output != *NETFILTER* ]]
	[[ $output != *TRANSPARENT* ]]
}

@test "publish: a port inside is reachable on the host's loopback, and only that one" {
	port=$(free_port)
	other=$(free_port)
	# 3>&- : bats waits for whoever holds its descriptor
	cp "$BASE/echo.py" .
	"$CCBOX" run --quiet --publish "$port" -- "$PYTHON" echo.py "$port" >"$BASE/out" 2>&1 3>&- &
	SERVER=$!
	for _ in $(seq 200); do
		run "$PYTHON" talk.py 127.0.0.1 "$port"
		[[ $output != *"got SSH-hello"* ]] || break
		sleep 0.05
	done
	[[ $output == *"got SSH-hello"* ]]
	run "$PYTHON" talk.py 127.0.0.1 "$other"
	[ "$status" -ne 0 ]
	kill "$SERVER"
	wait "$SERVER" || true
	"$CCBOX" events --json | grep -q "port $port inside is published"
	"$CCBOX" events --json | grep -q "\"action\":\"network-bind\",\"target\":\"127.0.0.1:$port\""
	"$CCBOX" events --json | grep -q "\"closed\":{\"target\":\"127.0.0.1:$port\",\"process\":\"publish\",\"up\":10,\"down\":14"
}

@test "publish: a server that listens on one loopback only is reached, whichever it is" {
	cat >one.py <<-'PY'
		import socket, sys
		s = socket.create_server((sys.argv[1], int(sys.argv[2])), family=socket.AF_INET6 if ":" in sys.argv[1] else socket.AF_INET)
		while True:
		    c, _ = s.accept()
		    c.sendall(b"served on " + sys.argv[1].encode())
		    c.close()
	PY
	for at in ::1 127.0.0.1; do
		port=$(free_port)
		"$CCBOX" run --quiet --publish "$port" -- "$PYTHON" one.py $at "$port" >"$BASE/out" 2>&1 3>&- &
		SERVER=$!
		for _ in $(seq 200); do
			run "$PYTHON" -c 'import socket, sys; print(socket.create_connection(("127.0.0.1", int(sys.argv[1])), 20).recv(100).decode())' "$port"
			[[ $output != *"served on $at"* ]] || break
			sleep 0.05
		done
		[[ $output == *"served on $at"* ]]
		kill "$SERVER"
		wait "$SERVER" || true
	done
}

@test "publish of a port that is taken starts nothing" {
	serve "$PYTHON" "$BASE/echo.py"
	run "$CCBOX" run --publish "$PORT" -- touch started
	[ "$status" -eq 125 ]
	[[ $output == *"--publish $PORT: another program listens on that port of this host; end it, or use another port"* ]]
	[ ! -e started ]
	run "$CCBOX" run --publish 0 -- touch started
	[ "$status" -eq 125 ]
	run "$CCBOX" run --host-port 70000 -- touch started
	[ "$status" -eq 125 ]
	[ ! -e started ]
}

@test "host-port: a server of the host that listens on ::1 only is reached" {
	serve "$PYTHON" -u -c 'import socket
s = socket.create_server(("::1", 0), family=socket.AF_INET6)
print(s.getsockname()[1])
while True:
    c, _ = s.accept(); c.sendall(b"served on ::1"); c.close()'
	run box --host-port "$PORT" -- "$PYTHON" -c 'import socket, sys; print(socket.create_connection(("127.0.0.1", int(sys.argv[1])), 20).recv(100).decode())' "$PORT"
	echo "$output"
	[[ $output == *"served on ::1"* ]]
}

@test "the session's own ports are neither published nor taken, and it is said" {
	for port in 3128 1080 3129; do
		for flag in --publish --host-port; do
			run "$CCBOX" run "$flag" $port -- touch started
			[ "$status" -eq 125 ]
			[[ $output == *"$flag $port: the session's own proxies listen there inside"* ]]
			[ ! -e started ]
		done
	done
	# nor is it offered
	run box -- curl -sS --max-time 20 --noproxy '' -x http://127.0.0.1:3128 http://127.0.0.1:1080/
	[[ $output == *"No entry of this session's allowlist matches"* ]]
	[[ $output != *"--host-port"* ]]
}

@test "a client that looks the name up itself and asks a proxy for the address it got is judged by the name" {
	serve "$PYTHON" "$BASE/echo.py"
	cat >local.py <<-'PY'
		import socket, struct, sys
		addr = socket.gethostbyname("up.test") if sys.argv[2] == "known" else "198.18.99.99"
		s = socket.create_connection(("127.0.0.1", 1080), 20)
		s.sendall(b"\5\1\0\5\1\0\1" + socket.inet_aton(addr) + struct.pack(">H", int(sys.argv[1])))
		print("socks", s.recv(2).hex(), s.recv(10)[1])
		s.sendall(b"SSH-hello\n")
		print(s.recv(100).decode())
	PY
	run box --transparent on --allow-host up.test --host up.test=127.0.0.1 -- "$PYTHON" local.py "$PORT" known
	echo "$output"
	[[ $output == *"socks 0500 0"* ]]
	[[ $output == *"got SSH-hello"* ]]
	"$CCBOX" events --json | grep -q "\"target\":\"up.test:$PORT\""
	# an address that was never given out stands for nothing: no flag is offered that would not help
	run box --transparent on --allow-host up.test --host up.test=127.0.0.1 -- "$PYTHON" local.py "$PORT" unknown
	[[ $output == *"socks 0500 2"* ]]
	[[ $output == *"refused network-outbound 198.18.99.99:$PORT (not-allowed)"* ]]
	[[ $output != *"--allow-host 198.18"* ]]
}

@test "a flag that was given already is not offered again" {
	port=$(free_port)
	run box --publish "$port" --allow-host up.test --host up.test=127.0.0.1 -- curl -sS --max-time 20 "http://up.test:$port/"
	echo "$output"
	[[ $output == *"A port of this session itself"* ]]
	[[ $output == *"refused network-outbound up.test:$port (address)"* ]]
	[[ $output != *"--host up.test=127.0.0.1"* ]]
}

# The site of another name on the same server: what a lenient server reads as a request for it must not pass as something
# else. Asked directly (the twin) the server does answer for it.
@test "a request in disguise does not reach the site of another name" {
	cat >"$BASE/sites.py" <<-'PY'
		import http.server
		class Site(http.server.BaseHTTPRequestHandler):
		    def do_GET(self):
		        body = ("site of " + str(self.headers.get("Host"))).encode()
		        self.send_response(200)
		        self.send_header("Content-Length", str(len(body)))
		        self.end_headers()
		        self.wfile.write(body)
		    do_get = do_GET
		s = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
		print(s.server_port, flush=True)
		s.serve_forever()
	PY
	cat >disguise.py <<-'PY'
		import socket, sys
		for raw in [b" GET / HTTP/1.1", b"GET\t/ HTTP/1.1", b"GET\t/\tHTTP/1.1", b"GET\x0b/ HTTP/1.1", b"GET\x0c/ HTTP/1.1", b"GET\xa0/ HTTP/1.1", b"GET\x1c/ HTTP/1.1",
		            b"\tGET / HTTP/1.1", b"get / HTTP/1.1", b"GET  / HTTP/1.1", b"GET / HTTP/1.1"]:
		    for end in [b"\r\n", b"\n"]:
		        s = socket.create_connection((sys.argv[1], int(sys.argv[2])), 20)
		        s.sendall(raw + end + b"Host: evil.test" + end + end)
		        answer = b""
		        try:
		            while b"site of" not in answer and (chunk := s.recv(65536)):
		                answer += chunk
		        except OSError:
		            pass
		        print(raw, "reached" if b"site of evil.test" in answer else "kept away")
	PY
	serve "$PYTHON" "$BASE/sites.py"
	run "$PYTHON" disguise.py 127.0.0.1 "$PORT"
	echo "$output"
	[ "$(grep -c reached <<<"$output")" -ge 12 ]
	run box --transparent on --allow-host up.test --host up.test=127.0.0.1 -- "$PYTHON" disguise.py up.test "$PORT"
	echo "$output"
	[[ $output != *reached* ]]
	[ "$(grep -c 'kept away' <<<"$output")" -eq 22 ]
}

@test "what a session moved is told although it ends with its command" {
	serve "$PYTHON" "$BASE/echo.py"
	cat >abrupt.py <<-'PY'
		import os, socket, sys
		held = []
		for i in range(50):
		    s = socket.create_connection(("up.test", int(sys.argv[1])), 20)
		    s.sendall(b"SSH-hello\n")
		    s.recv(100)
		    held.append(s)
		for i in range(3):
		    try:
		        socket.getaddrinfo("evil.test", 80)
		    except OSError:
		        pass
		os._exit(0)
	PY
	run box --transparent on --allow-host up.test --host up.test=127.0.0.1 -- "$PYTHON" abrupt.py "$PORT"
	[ "$status" -eq 0 ]
	[ "$("$CCBOX" events --json | grep -c "\"closed\":{\"target\":\"up.test:$PORT\",\"process\":\"transparent\",\"up\":10,\"down\":14")" -eq 50 ]
	[[ $output == *"refused network-outbound evil.test ("*" times)"* ]]
}

@test "host-port: that port of the host's loopback, and nothing else of it" {
	serve "$PYTHON" "$BASE/echo.py"
	run box -- "$PYTHON" talk.py 127.0.0.1 "$PORT"
	[ "$status" -ne 0 ]
	run box --host-port "$PORT" -- "$PYTHON" talk.py 127.0.0.1 "$PORT"
	echo "$output"
	[[ $output == *"got SSH-hello"* ]]
	"$CCBOX" events --json | grep -q "port $PORT of this host's loopback is reachable inside"
	"$CCBOX" events --json | grep -q "\"closed\":{\"target\":\"127.0.0.1:$PORT\",\"process\":\"host\",\"up\":10,\"down\":14"
	# not by the proxy
	run box --host-port "$PORT" -- curl -s -S --max-time 20 --noproxy '' -x http://127.0.0.1:3128 "http://127.0.0.1:$PORT/"
	[[ $output == *"No entry of this session's allowlist matches"* ]]
}

@test "a pattern over a whole public suffix is allowed, with a remark" {
	run box --allow-host '*.com' --allow-host '*.example.org' -- true
	[ "$status" -eq 0 ]
	"$CCBOX" events --json | grep -q 'the host pattern \*.com covers every name under a public suffix'
	[ -z "$("$CCBOX" events --json | grep 'host pattern \*.example.org')" ]
}

@test "an address allowed as a literal leaves NO_PROXY, however it is written" {
	run box --allow-host 127.0.0.1:8080 -- sh -c 'echo "$NO_PROXY"'
	[ "$output" = "localhost,::1" ]
	run box --allow-host '[::1]' -- sh -c 'echo "$no_proxy"'
	[ "$output" = "localhost,127.0.0.1" ]
	run box -- sh -c 'echo "$NO_PROXY"'
	[ "$output" = "localhost,127.0.0.1,::1" ]
}

# A parent proxy on a closed port: what is allowed ends in 502 without a lookup or a packet beyond this host.
@test "explain and the live proxy give the same verdict and reason, for random names and ports" {
	port=$(free_port)
	cat >policy.jsonc <<-JSON
		{"network": {"parentProxy": "http://127.0.0.1:$port", "privateCidrs": ["10.20.0.0/16"], "deniedDomains": ["no.a.test", "*.b.test:80", "10.20.3.4"],
		 "allowedDomains": ["a.test", "*.a.test", "m.*.c.test", "*.b.test", "port.test:8443", "127.0.0.5", "[2001:db8::5]", "deep.x.a.test:22"]}}
	JSON
	cat >names.py <<-'PY'
		import random, sys
		random.seed(int(sys.argv[1]))
		words = ["a", "b", "c", "m", "no", "x", "port", "deep", "test", "evil", "com", "xn--bcher-kva", "A", "127", "0", "5", "10", "20", "3", "4", "_", "-"]
		fixed = ["a.test", "no.a.test", "x.no.a.test", "port.test", "127.0.0.5", "127.0.0.6", "[2001:db8::5]", "[::1]", "10.20.3.4", "10.20.3.5", "10.21.0.1",
		         "2130706433", "0x7f.1", "a.test.", "a.test..", "gateway.ccbox.internal", "metadata.google.internal", "169.254.169.254", "m.q.c.test",
		         "[::ffff:127.0.0.5]", "api.github.com", "deep.x.a.test"]
		for i in range(110):
		    name = random.choice(fixed) if i % 3 else ".".join(random.choice(words) for _ in range(random.randint(1, 4)))
		    if i % 6 == 0:
		        name += random.choice([".a.test", ".b.test", ".c.test", ".test"])
		    print(f"{name}:{random.choice([80, 443, 22, 8443, 1])}")
	PY
	cat >live.py <<-'PY'
		import re, socket, sys
		for target in open("names").read().split():
		    s = socket.create_connection(("127.0.0.1", 3128), 30)
		    s.sendall(f"CONNECT {target} HTTP/1.1\r\n\r\n".encode())
		    answer = b""
		    while chunk := s.recv(65536):
		        answer += chunk
		    reason = re.search(rb"X-Sandbox-Reason: (\S+)", answer)
		    print(target, "allow" if answer.startswith(b"HTTP/1.1 502") else "malformed" if b" 400 " in answer[:13] else "deny " + reason[1].decode())
	PY
	cat >told.py <<-'PY'
		import json, subprocess, sys
		for target in open("names").read().split():
		    done = subprocess.run([sys.argv[1], "explain", "host", target, "--policy", "policy.jsonc", "--json"], capture_output=True, text=True)
		    if done.returncode == 125:
		        print(target, "malformed")
		        continue
		    said = json.loads(done.stdout)
		    print(target, "allow" if said["verdict"] == "allow" else "deny " + said["reason"])
	PY
	for seed in 1 2; do
		"$PYTHON" names.py $seed >names
		box --quiet --policy policy.jsonc -- "$PYTHON" live.py >"$BASE/live" 2>/dev/null
		"$PYTHON" told.py "$CCBOX" >"$BASE/told"
		diff "$BASE/live" "$BASE/told"
		[ "$(wc -l <"$BASE/live")" -eq 110 ]
	done
	for word in allow malformed not-allowed denied; do grep -q "$word" "$BASE/live"; done
}

@test "bridge socat: the same verdicts through pairs of socat, which the agent cannot end; nothing is left" {
	command -v socat >/dev/null || skip "socat is not installed"
	serve "$PYTHON" -u -c 'import http.server
s = http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
print(s.server_port, flush=True); s.serve_forever()'
	echo "over the bridge" >page
	export XDG_RUNTIME_DIR=$BASE/runtime
	mkdir -m 700 "$XDG_RUNTIME_DIR"
	run box --bridge socat --transparent off --allow-host up.test --host up.test=127.0.0.1 -- sh -c "
		curl -sS --max-time 20 http://up.test:$PORT/page; curl -sS --max-time 20 -x socks5h://127.0.0.1:1080 http://up.test:$PORT/page
		curl -sS --max-time 20 http://evil.test/; pkill -9 -x socat; kill -9 2 3; sleep 0.1; curl -sS --max-time 20 http://up.test:$PORT/page
		$PYTHON -c 'import socket; s = socket.socket(socket.AF_UNIX); s.connect(\"/run/ccbox/http.sock\")' || echo 'not by its path'"
	echo "$output"
	[ "$(grep -c 'over the bridge' <<<"$output")" -eq 3 ]
	[[ $output == *"evil.test:80 - not-allowed"* ]]
	[[ $output == *"not by its path"* ]]
	# the same listeners, the agent in between gone: nobody is left, and no directory
	[ -d "$XDG_RUNTIME_DIR" ]
	[ -z "$(ls -A "$XDG_RUNTIME_DIR")" ]
	run "$CCBOX" run --bridge carrier-pigeon -- true
	[ "$status" -eq 125 ]
}

@test "bridge socat without socat names the package and starts nothing" {
	[ ! -x /usr/bin/socat ] || { [ "$(id -u)" = 0 ] && unshare -m true 2>/dev/null; } || skip "socat cannot be hidden here"
	if [ -x /usr/bin/socat ]; then
		run unshare -m sh -c 'mount --bind /dev/null /usr/bin/socat && "$@"' sh "$CCBOX" run --bridge socat -- touch started
	else
		run "$CCBOX" run --bridge socat -- touch started
	fi
	echo "$output"
	[ "$status" -eq 125 ]
	[[ $output == *"package socat"* ]]
	[ ! -e started ]
}

@test "a kernel that cannot capture: a notice, and the proxies as ever; asked for by name it is a refusal" {
	twin=$(dirname "$CCBOX")/ccbox-twin
	[ -x "$twin" ] || skip "the twin is not built"
	serve "$PYTHON" "$BASE/echo.py"
	CCBOX_TWIN_OFF=capture run "$twin" run --quiet --allow-host up.test --host up.test=127.0.0.1 -- sh -c "
		$PYTHON talk.py up.test $PORT && echo captured
		curl -sS --max-time 20 http://evil.test/"
	echo "$output"
	[[ $output != *captured* ]]
	[[ $output == *"evil.test:80 - not-allowed"* ]]
	"$CCBOX" events --json | grep -q '"target":"transparent".*"reason":"programs that ignore the proxy variables see no network here"'
	CCBOX_TWIN_OFF=capture run "$twin" run --transparent on -- touch started
	[ "$status" -eq 125 ]
	[[ $output == *"capture rule"* ]]
	[ ! -e started ]
}

@test "a name with a NUL in it, asked of the session's resolver, ends nothing" {
	run box -- "$PYTHON" -c '
import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.sendto(b"\x12\x34\1\0\0\1\0\0\0\0\0\0\3u\0p\4test\0\0\1\0\1", ("127.0.0.1", 53))
s.settimeout(10)
print("answered", len(s.recv(512)) > 0)'
	echo "$output"
	[ "$status" -eq 0 ]
}

@test "a refused port of the loopback is offered by --host-port, not by its address" {
	run box -- curl -s -S --max-time 20 --noproxy '' -x http://127.0.0.1:3128 http://127.0.0.1:9/
	"$CCBOX" events --json | grep -q '"grant":"--host-port 9"'
	run "$CCBOX" explain host 127.0.0.1:9
	[[ $output == *"--host-port 9"* ]]
}
