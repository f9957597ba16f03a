#!/usr/bin/env bats
# The sandbox port over HTTP: launch, exec, events, suspend, resume, destroy, and what goes wrong in each state.
load lib
load server

@test "launched, listed, used, destroyed: the handle says what it is" {
	daemon
	launch agent-a::one::chat | tee "$BASE/handle"
	[ "$(field state <"$BASE/handle")" = warm ]
	[ "$(field backend <"$BASE/handle")" = native ]
	[ "$(field sessionId <"$BASE/handle")" = agent-a::one::chat ]
	[ "$(api GET /v1/sandboxes/agent-a::one::chat | field state)" = warm ]
	[ "$(api GET /v1/sandboxes/agent-a%3A%3Aone%3A%3Achat | field state)" = warm ]
	api GET /v1/sandboxes | grep -q '"agent-a::one::chat"'
	in_box agent-a::one::chat 'echo out; echo err >&2; exit 3' >"$BASE/ev"
	cat "$BASE/ev"
	[ "$(text_of stdout <"$BASE/ev")" = out ]
	[ "$(text_of stderr <"$BASE/ev")" = err ]
	[ "$(text_of exit <"$BASE/ev")" = 3 ]
	[ "$(api DELETE /v1/sandboxes/agent-a::one::chat | field state)" = destroyed ]
	[ "$(api GET /v1/sandboxes/agent-a::one::chat | field state)" = destroyed ]
	nothing_left
}

@test "a session is warm: what one command leaves running, the next one finds; a new session does not" {
	daemon
	launch one
	launch two
	in_box one 'echo x >/tmp/mark; sleep 300 & echo $!' >"$BASE/ev"
	[ "$(text_of exit <"$BASE/ev")" = 0 ]
	pid=$(text_of stdout <"$BASE/ev")
	[ "$(in_box one "kill -0 $pid && cat /tmp/mark" | text_of stdout)" = x ]
	[ "$(in_box two 'cat /tmp/mark' | text_of exit)" != 0 ]
	api DELETE /v1/sandboxes/one
	api DELETE /v1/sandboxes/two
	nothing_left
}

@test "the rules hold over HTTP as in ccbox run; without a sandbox the same name comes into being" {
	daemon
	launch one
	[ "$(in_box one 'echo x >.env' | text_of exit)" != 0 ]
	[ ! -e .env ]
	api GET '/v1/sandboxes/one/events?follow=0&format=lines' | grep '"type":"violation"' | grep -q '"rule":"name:\*\*/.env"'
	launch bare '"backend":"none"'
	in_box bare 'echo x >.env'
	[ -e .env ]
}

@test "time out: TERM, two seconds, KILL, exit code 124, a killed event" {
	daemon
	launch one
	in_box one 'trap "" TERM; while :; do sleep 0.1; done' '"timeoutSeconds":1' >"$BASE/ev"
	cat "$BASE/ev"
	[ "$(text_of killed <"$BASE/ev")" = timeout ]
	[ "$(text_of exit <"$BASE/ev")" = 124 ]
	[ "$(api GET /v1/sandboxes/one | field state)" = warm ]
}

@test "not found is 127, not executable 126, a signal 128 and its number" {
	daemon
	launch one
	[ "$(api POST /v1/sandboxes/one/exec -d '{"argv":["no-such-program"]}' | text_of exit)" = 127 ]
	echo x >plain
	[ "$(api POST /v1/sandboxes/one/exec -d '{"argv":["./plain"]}' | text_of exit)" = 126 ]
	[ "$(in_box one 'kill -9 $$' | text_of exit)" = 137 ]
}

@test "workdir and environment of one command; argv never goes through a shell" {
	daemon
	mkdir sub
	launch one
	api POST /v1/sandboxes/one/exec -d "{\"argv\":[\"sh\",\"-c\",\"pwd; echo \$WORD\"],\"workdir\":\"$PWD/sub\",\"env\":{\"WORD\":\"a b\"}}" >"$BASE/ev"
	[ "$(text_of stdout <"$BASE/ev")" = "$PWD/sub
a b" ]
	[ "$(api POST /v1/sandboxes/one/exec -d '{"argv":["echo","$(id);`id`&&id"]}' | text_of stdout)" = '$(id);`id`&&id' ]
}

@test "stdin: given at once, or piece by piece until the last" {
	daemon
	launch one
	[ "$(in_box one 'cat' '"stdin":"given"' | text_of stdout)" = given ]
	[ "$(in_box one 'cat; echo end' | text_of stdout)" = end ]
	in_box one 'cat' '"stdinOpen":true,"stdin":"a"' >"$BASE/ev" &
	for _ in $(seq 100); do [ "$(api GET /v1/sandboxes/one | field commands)" = 1 ] && break; sleep 0.05; done
	id=$(api GET '/v1/sandboxes/one/events?follow=0&format=lines' | tail -1 | python3 -c 'import json,sys; print(json.loads(sys.stdin.read())["exec"])')
	[ "$(status api POST "/v1/sandboxes/one/exec/$id/stdin" --data-binary b)" = 200 ]
	[ "$(status api POST "/v1/sandboxes/one/exec/$id/stdin?last=1" --data-binary c)" = 200 ]
	wait $!
	[ "$(text_of stdout <"$BASE/ev")" = abc ]
	[ "$(status api POST "/v1/sandboxes/one/exec/$id/stdin" --data-binary b)" = 404 ]
}

@test "exit comes after all output, also where something stays in the background" {
	daemon
	launch one
	for _ in 1 2 3; do
		in_box one 'sleep 300 & seq 1 20000; seq 1 2000 >&2' >"$BASE/ev"
		[ "$(tail -n 1 "$BASE/ev" | grep -c '"type":"exit"')" -eq 1 ]
		[ "$(text_of stdout <"$BASE/ev" | md5sum)" = "$(seq 1 20000 | md5sum)" ]
		[ "$(text_of stderr <"$BASE/ev" | md5sum)" = "$(seq 1 2000 | md5sum)" ]
	done
}

@test "output that is no text is base64 and whole; a character over two reads stays one" {
	daemon
	launch one
	head -c 300000 /dev/urandom >blob
	[ "$(in_box one 'cat blob' | text_of stdout | md5sum)" = "$(md5sum <blob)" ]
	python3 -c 'print("€" * 100000, end="")' >text
	in_box one 'cat text' >"$BASE/ev"
	[ "$(text_of stdout <"$BASE/ev" | md5sum)" = "$(md5sum <text)" ]
	no grep -q base64 "$BASE/ev"
}

@test "a caller that does not read stops its own command and nobody else; nothing is lost" {
	daemon
	launch one
	seq 1 1000000 >big
	python3 - "$SOCK" "$BASE" <<-'PY'
		import json, socket, sys, hashlib
		def call(body):
		    s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1])
		    body = json.dumps(body).encode()
		    s.sendall(b"POST /v1/sandboxes/one/exec HTTP/1.1\r\nHost: ccbox\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
		    return s
		def rest(s):
		    data = b""
		    while True:
		        got = s.recv(1 << 20)
		        if not got: break
		        data += got
		    return [json.loads(line) for line in data.split(b"\r\n\r\n", 1)[1].splitlines()]
		slow = call({"argv": ["cat", "big"]})
		quick = rest(call({"argv": ["echo", "quick"]}))
		assert quick[0]["content"] == "quick\n" and quick[-1]["exitCode"] == 0, quick
		events = rest(slow)
		assert events[-1]["exitCode"] == 0
		text = "".join(e["content"] for e in events if e["type"] == "stdout")
		assert text == open("big").read()
	PY
}

@test "a caller that goes away ends its command; detached it goes on" {
	daemon
	launch one
	curl -sS --unix-socket "$SOCK" -X POST http://ccbox/v1/sandboxes/one/exec -d '{"argv":["sh","-c","echo up; exec sleep 300"]}' >"$BASE/out" &
	client=$!
	for _ in $(seq 100); do grep -q up "$BASE/out" && break; sleep 0.05; done
	kill -9 $client
	for _ in $(seq 100); do [ "$(api GET /v1/sandboxes/one | field state)" = warm ] && break; sleep 0.05; done
	api GET '/v1/sandboxes/one/events?follow=0&format=lines' | grep -q 'the caller went away'
	in_box one 'sleep 1; echo done >mark' '"detach":true' | grep -q '"command"'
	[ "$(api GET /v1/sandboxes/one | field state)" = active ]
	for _ in $(seq 100); do [ -e mark ] && break; sleep 0.05; done
	[ -e mark ]
}

@test "suspended really stops: nothing runs, not even what left its group; resumed it goes on" {
	daemon
	launch one
	in_box one 'setsid sh -c "while :; do echo x >>ticks; sleep 0.02; done" >/dev/null 2>&1 & echo' '"detach":true'
	for _ in $(seq 100); do [ -s ticks ] && break; sleep 0.05; done
	[ "$(api POST /v1/sandboxes/one/suspend | field state)" = suspended ]
	sleep 0.1
	before=$(wc -l <ticks)
	sleep 0.5
	[ "$(wc -l <ticks)" -eq "$before" ]
	[ "$(status api POST /v1/sandboxes/one/exec -d '{"argv":["true"]}')" = 409 ]
	[ "$(status api POST /v1/sandboxes/one/suspend)" = 409 ]
	[ "$(api POST /v1/sandboxes/one/resume | field state)" = warm ]
	for _ in $(seq 100); do [ "$(wc -l <ticks)" -gt "$before" ] && break; sleep 0.05; done
	[ "$(wc -l <ticks)" -gt "$before" ]
	[ "$(status api POST /v1/sandboxes/one/resume)" = 409 ]
	api POST /v1/sandboxes/one/suspend
	[ "$(api DELETE /v1/sandboxes/one | field state)" = destroyed ]
	nothing_left
}

@test "resume goes back to active where a command was running" {
	daemon
	launch one
	in_box one 'sleep 2' '"detach":true'
	[ "$(api GET /v1/sandboxes/one | field state)" = active ]
	[ "$(api POST /v1/sandboxes/one/suspend | field state)" = suspended ]
	[ "$(api POST /v1/sandboxes/one/resume | field state)" = active ]
}

@test "events: numbered without gaps, replayed to who comes late, gone on where a reader stopped" {
	daemon
	launch one
	in_box one 'echo a; echo x >.env; true' >/dev/null
	api GET '/v1/sandboxes/one/events?follow=0&format=lines' >"$BASE/all"
	python3 - "$BASE/all" <<-'PY'
		import json, sys
		events = [json.loads(line) for line in open(sys.argv[1])]
		assert [e["seq"] for e in events] == list(range(1, len(events) + 1))
		assert [e["type"] for e in events][:2] == ["starting", "ready"]
		assert events[-1]["type"] == "exit" and all(e["session"] == "one" for e in events)
	PY
	api GET '/v1/sandboxes/one/events?follow=0' -H 'Last-Event-ID: 2' >"$BASE/sse"
	[ "$(grep -m1 '^id:' "$BASE/sse")" = "id: 3" ]
	[ "$(sed -n 's/^data: //p' "$BASE/sse")" = "$(tail -n +3 "$BASE/all")" ]
	curl -sSN --unix-socket "$SOCK" "http://ccbox/v1/sandboxes/one/events?format=lines&since=$(wc -l <"$BASE/all")" >"$BASE/new" &
	reader=$!
	sleep 0.2
	in_box one 'echo later' >/dev/null
	api DELETE /v1/sandboxes/one
	wait $reader
	[ "$(text_of stdout <"$BASE/new")" = later ]
	[ "$(tail -n 1 "$BASE/new" | text_of killed)" = stopped ]
}

@test "a reader that is too slow is told how much it lost and holds up nobody" {
	daemon
	launch one
	python3 - "$SOCK" <<-'PY'
		import json, socket, sys
		def get(path):
		    s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1])
		    s.sendall(b"GET %s HTTP/1.1\r\nHost: ccbox\r\n\r\n" % path.encode())
		    return s
		def post(path, body):
		    s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1])
		    body = json.dumps(body).encode()
		    s.sendall(b"POST %s HTTP/1.1\r\nHost: ccbox\r\nContent-Length: %d\r\n\r\n" % (path.encode(), len(body)) + body)
		    return s
		def rest(s):
		    data = []
		    while True:
		        got = s.recv(1 << 20)
		        if not got: break
		        data.append(got)
		    return [json.loads(line) for line in b"".join(data).split(b"\r\n\r\n", 1)[1].splitlines()]
		slow = get("/v1/sandboxes/one/events?format=lines")
		done = rest(post("/v1/sandboxes/one/exec", {"argv": ["sh", "-c", "head -c 40000000 /dev/zero | tr '\\\\0' x"]}))
		assert done[-1]["exitCode"] == 0
		s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1])
		s.sendall(b"DELETE /v1/sandboxes/one HTTP/1.1\r\nHost: ccbox\r\n\r\n"); s.recv(65536)
		events = rest(slow)
		lost = sum(e.get("lost", 0) for e in events)
		numbers = [e["seq"] for e in events if "seq" in e]
		assert lost > 0 and numbers == sorted(numbers) and lost + len(numbers) == numbers[-1], (lost, len(numbers), numbers[-1])
	PY
}

@test "bodies that are not what they should be: 400 with the place, nothing started" {
	daemon
	bad() { # BODY WORDS
		got=$(api POST "$1" --data-binary "$2")
		echo "$2 -> $got"
		[[ $got == *'"error"'* && $got == *"$3"* ]]
	}
	for body in '' '{' '[]' 'null' '"x"' '{"sessionId":1}' '{"bindMounts":{}}' '{"bindMounts":[1]}' '{"bindMounts":[{}]}' \
		'{"sessionId":"a","sessionId":"b"}' '{"mode":"root"}' '{"networkEnabled":"yes"}' '{"nonsense":true}' '{"limits":{"pids":-1}}' \
		'{"limits":{"pids":1e99}}' "{\"sessionId\":\"a/b\",\"bindMounts\":[{\"hostPath\":\"$PWD\"}]}" \
		"{\"sessionId\":\"-a\",\"bindMounts\":[{\"hostPath\":\"$PWD\"}]}" '{"bindMounts":[{"hostPath":"relative"}]}' \
		'{"bindMounts":[{"hostPath":"/proc"}]}' '{"bindMounts":[]}' "{\"backend\":\"docker\",\"bindMounts\":[{\"hostPath\":\"$PWD\"}]}" \
		"{\"bindMounts\":[{\"hostPath\":\"$PWD\",\"guestPath\":\"/x\"}]}" '{"policy":{"filesystem":{"nope":[]}}}'; do
		bad /v1/sandboxes "$body" '"code":"invalid"'
		[ "$(status api POST /v1/sandboxes --data-binary "$body")" = 400 ]
	done
	bad /v1/sandboxes "{\"backend\":\"microvm\",\"bindMounts\":[{\"hostPath\":\"$PWD\"}]}" unsupported
	launch one
	[ "$(launch one | field state)" = state ]
	for body in '' '{}' '{"argv":[]}' '{"argv":[""]}' '{"argv":"ls"}' '{"argv":[1]}' '{"argv":["a\u0000b"]}' '{"argv":["ls"],"env":[]}' \
		'{"argv":["ls"],"env":{"A=B":"c"}}' '{"argv":["ls"],"workdir":"rel"}' '{"argv":["ls"],"timeoutSeconds":0}' '{"argv":["ls"],"shell":true}'; do
		bad /v1/sandboxes/one/exec "$body" '"code":"invalid"'
	done
	[ "$(status api POST /v1/sandboxes/two/exec -d '{"argv":["ls"]}')" = 404 ]
	[ "$(status api POST '/v1/sandboxes/..%2Fone/exec' -d '{"argv":["ls"]}')" = 404 ]
	[ "$(status api GET /v1/sandboxes/two/events)" = 404 ]
	[ "$(status api DELETE /v1/sandboxes/two)" = 404 ]
	head -c 1100000 /dev/zero | tr '\0' x >"$BASE/long"
	[ "$(status api POST /v1/sandboxes --data-binary "@$BASE/long")" = 413 ]
	api GET /v1/sandboxes | python3 -c 'import json,sys; assert len(json.load(sys.stdin)["sandboxes"]) == 1'
}

@test "nothing of the daemon is reachable from inside: its port, its socket, its token; without a sandbox they are" {
	daemon
	body() { echo "{\"sessionId\":\"$1\",\"bindMounts\":[{\"hostPath\":\"$BASE\"}]${2:-}}"; }
	api POST /v1/sandboxes -d "$(body in)"
	api POST /v1/sandboxes -d "$(body bare ',"backend":"none"')"
	try="cat data/ccbox-server/token; curl -sS -m 5 --unix-socket $SOCK http://ccbox/v1/probe; curl -sS -m 5 --noproxy '*' -H 'Authorization: Bearer $TOKEN' $URL/v1/probe"
	in_box in "$try" >"$BASE/inside"
	cat "$BASE/inside"
	no grep -q "$TOKEN" "$BASE/inside"
	no grep -q backend "$BASE/inside"
	in_box bare "$try" >"$BASE/outside"
	grep -q "$TOKEN" "$BASE/outside"
	[ "$(text_of stdout <"$BASE/outside" | grep -o '"backend":"native"' | wc -l)" -eq 2 ]
	# asked for by name, the daemon's own port is no port to be opened
	run api POST /v1/sandboxes -d "{\"sessionId\":\"port\",\"bindMounts\":[{\"hostPath\":\"$PWD\"}],\"egressAllowlist\":[\"127.0.0.1:$PORT\"]}"
	in_box port "curl -sS -m 5 --noproxy '*' -H 'Authorization: Bearer $TOKEN' $URL/v1/probe; curl -sS -m 5 -H 'Authorization: Bearer $TOKEN' $URL/v1/probe" >"$BASE/inside" || true
	no grep -q '"backend":' "$BASE/inside"
}

@test "--sandbox off: the default backend is none and the handle says so; native by name is native" {
	daemon --sandbox off
	[ "$(launch one | field backend)" = none ]
	[ "$(launch two '"backend":"native"' | field backend)" = native ]
	down
	daemon
	[ "$(launch one | field backend)" = native ]
}

@test "read-only modes bind read-only; protected paths are never written" {
	daemon
	mkdir kept
	launch review '"mode":"review"'
	[ "$(in_box review 'echo x >f' | text_of exit)" != 0 ]
	launch chat "\"protectedPaths\":[\"$PWD/kept\"]"
	[ "$(in_box chat 'echo x >f && ! echo x >kept/f' | text_of exit)" = 0 ]
	[ -e f ]
	[ ! -e kept/f ]
}

@test "a policy goes along with the launch, and opens what it names" {
	daemon
	launch one '"policy":{"filesystem":{"allowNames":["**/.env"]}}'
	[ "$(in_box one 'echo x >.env && ! echo x >a.pem' | text_of exit)" = 0 ]
}

@test "wall time: the session ends with the reason" {
	daemon
	launch one '"limits":{"wallSeconds":1}'
	curl -sSN --unix-socket "$SOCK" "http://ccbox/v1/sandboxes/one/events?format=lines" >"$BASE/ev"
	tail -n 1 "$BASE/ev" | grep -q 'time limit'
	[ "$(api GET /v1/sandboxes/one | field state)" = destroyed ]
	nothing_left
}

@test "SIGKILL of the daemon, at rest and while a session starts: nothing is left" {
	daemon
	launch one
	in_box one 'exec sleep 300' '"detach":true'
	kill -9 "$SERVER"
	nothing_left
	for delay in 0.01 0.03 0.06; do
		daemon
		launch "s$delay" >/dev/null 2>&1 &
		sleep "$delay"
		kill -9 "$SERVER"
		wait $! || true
		nothing_left
	done
}

@test "SIGKILL of a part of one session: that session says what went, the others go on" {
	daemon
	launch other
	for part in cc-session cc-proxy cc-init bwrap; do
		owner=$(launch "s-$part" | python3 -c 'import json,sys; print(json.load(sys.stdin)["details"]["pid"])')
		in_box "s-$part" 'exec sleep 300' '"detach":true'
		case $part in
		cc-session) victim=$owner ;;
		cc-init) victim=$(pgrep -P "$(pgrep -P "$owner" -x bwrap)") ;;
		*) victim=$(pgrep -P "$owner" -x "$part") ;;
		esac
		kill -9 "$victim"
		for _ in $(seq 100); do [ "$(api GET "/v1/sandboxes/s-$part" | field state)" = error ] && break; sleep 0.05; done
		api GET "/v1/sandboxes/s-$part"
		[ "$(api GET "/v1/sandboxes/s-$part" | field state)" = error ]
		[ -n "$(api GET "/v1/sandboxes/s-$part" | field error)" ]
		api GET "/v1/sandboxes/s-$part/events?follow=0&format=lines" >"$BASE/ev"
		grep -q '"type":"killed"' "$BASE/ev"
		grep -q '"type":"exit"' "$BASE/ev"
		[ "$(status api POST "/v1/sandboxes/s-$part/exec" -d '{"argv":["true"]}')" = 409 ]
		[ "$(api DELETE "/v1/sandboxes/s-$part" | field state)" = destroyed ]
	done
	[ "$(in_box other 'echo on' | text_of stdout)" = on ]
	api DELETE /v1/sandboxes/other
	nothing_left
}

@test "SIGTERM ends the sessions first" {
	daemon
	launch one
	in_box one 'trap "" TERM; while :; do sleep 1; done' '"detach":true'
	down
	nothing_left
}

@test "fifty launches at once, every one of them works" {
	daemon
	clients=
	for i in $(seq 50); do
		launch "n$i" >"$BASE/launch.$i" &
		clients="$clients $!"
	done
	# shellcheck disable=SC2086
	wait $clients
	for i in $(seq 50); do [ "$(field state <"$BASE/launch.$i")" = warm ] || { cat "$BASE/launch.$i"; return 1; }; done
	for i in 1 25 50; do [ "$(in_box "n$i" 'echo ok' | text_of stdout)" = ok ]; done
	down
	nothing_left
}

@test "what is left of a lost session does not make the next one deaf" {
	daemon
	owner=$(launch one | python3 -c 'import json,sys; print(json.load(sys.stdin)["details"]["pid"])')
	kill -9 "$owner"
	for _ in $(seq 100); do [ "$(api GET /v1/sandboxes/one | field state)" = error ] && break; sleep 0.05; done
	# the number of the lost one's descriptor is the next one's
	launch two
	api DELETE /v1/sandboxes/one
	[ "$(in_box two 'echo on' '"timeoutSeconds":20' | text_of stdout)" = on ]
	down
}
