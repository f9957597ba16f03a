#!/usr/bin/env bats
# The tools over the API: MCP by POST /v1/mcp.
load lib
load server

# mcp_say SESSION MESSAGE [CURL ARGS] : one message to the tools of a session.
mcp_say() {
	local session=$1 message=$2
	shift 2
	web POST /v1/mcp -H "Mcp-Session-Id: $session" -H 'Content-Type: application/json' --data-binary "$message" "$@"
}

# mcp_tool SESSION NAME ARGUMENTS [ID] : the answer to a call.
mcp_tool() { mcp_say "$1" "{\"jsonrpc\":\"2.0\",\"id\":${4:-7},\"method\":\"tools/call\",\"params\":{\"name\":\"$2\",\"arguments\":$3}}"; }

HELLO='{"jsonrpc":"2.0","id":1,"method":"initialize",
 "params":{"protocolVersion":"2025-06-18","capabilities":{"elicitation":{}},"clientInfo":{"name":"t","version":"1"}}}'

# mcp_open QUERY : begins a session; MCP is its id.
mcp_open() {
	web POST "/v1/mcp?$1" -D "$BASE/head" --data-binary "$HELLO" >"$BASE/hello"
	MCP=$(sed -n 's/^mcp-session-id: \([0-9a-f]*\)\r*$/\1/ip' "$BASE/head")
	[ "${#MCP}" -eq 32 ] || { cat "$BASE/hello" "$BASE/server.err" >&2; return 1; }
}

# What serves tools for this test.
mcp_processes() {
	local pid
	for pid in $(pgrep -u "$(id -u)" -f 'ccbox mcp'); do
		grep -qzsF "$BASE" "/proc/$pid/environ" && echo "$pid"
	done
	return 0
}

no_mcp_processes() {
	for _ in $(seq 200); do
		[ -n "$(mcp_processes)" ] || return 0
		sleep 0.05
	done
	return 1
}

@test "tools over the API: listed, a file written, .env refused with its rule, bash warm between calls" {
	git init -q .
	daemon
	mcp_open "directory=$PWD"
	grep -q '"protocolVersion":"2025-06-18"' "$BASE/hello"
	[ "$(status mcp_say "$MCP" '{"jsonrpc":"2.0","method":"notifications/initialized"}')" = 202 ]
	run mcp_say "$MCP" '{"jsonrpc":"2.0","id":"two","method":"tools/list"}'
	[[ $output == *'"id":"two"'* ]]
	[ "$(grep -o '"name":"[a-z_]*","description"' <<<"$output" | cut -d'"' -f4 | sort | tr '\n' ' ')" = "apply_patch bash edit find read search search_files write " ]
	run mcp_tool "$MCP" write '{"path":"a.txt","content":"by the API"}'
	[[ $output == *'"isError":false'* ]]
	[ "$(cat a.txt)" = "by the API" ]
	run mcp_tool "$MCP" write '{"path":".env","content":"x"}'
	[[ $output == *'"isError":true'* ]]
	[[ $output == *"rule name:**/.env"* ]]
	run mcp_tool "$MCP" bash '{"command":"echo x >.env"}'
	[[ $output == *"refused file-write-create $PWD/.env"* ]]
	[ ! -e .env ]
	# what one call leaves on the sandbox's own /tmp the next one finds
	run mcp_tool "$MCP" bash '{"command":"echo warm >/tmp/kept"}'
	[[ $output == *'"isError":false'* ]]
	run mcp_tool "$MCP" bash '{"command":"cat /tmp/kept"}'
	[[ $output == *warm* ]]
	[ "$(mcp_processes | wc -l)" -ge 1 ]
	[ ! -e /tmp/kept ]
}

@test "tools over the API: a session reads neither the daemon's token nor its socket, and what would be asked is denied" {
	git init -q .
	daemon
	mcp_open "directory=$PWD"
	run mcp_tool "$MCP" read "{\"path\":\"$BASE/data/ccbox-server/token\"}"
	[[ $output == *'"isError":true'* ]]
	[[ $output != *"$TOKEN"* ]]
	run mcp_tool "$MCP" bash "{\"command\":\"cat $BASE/data/ccbox-server/token; ls $SOCK\"}"
	[[ $output == *'[exit '* ]]
	[[ $output != *"$TOKEN"* ]]
	# the client says that it could ask; over this transport nobody is asked
	run mcp_tool "$MCP" bash '{"command":"git clean -n; touch asked"}'
	[[ $output == *'refused by the command policy: git clean'* ]]
	[ ! -e asked ]
	[ "$(status mcp_say "$MCP" '{"jsonrpc":"2.0","id":"ccbox-1","result":{"action":"accept","content":{"allow":true}}}')" = 400 ]
}

@test "tools over the API: the data directory inside the project is closed all the same" {
	git init -q .
	BASE=$PWD daemon
	# a sandbox that the daemon has not told of it would show it
	[ "$(XDG_DATA_HOME=$PWD/else "$CCBOX" run --quiet -- cat data/ccbox-server/token)" = "$TOKEN" ]
	mcp_open "directory=$PWD"
	run mcp_tool "$MCP" bash '{"command":"cat data/ccbox-server/token"}'
	[[ $output == *'[exit '* ]]
	[[ $output != *"$TOKEN"* ]]
	run mcp_tool "$MCP" bash '{"command":"echo mine >data/ccbox-server/token; echo mine >data/ccbox-server/new"}'
	[ "$(cat data/ccbox-server/token)" = "$TOKEN" ]
	[ ! -e data/ccbox-server/new ]
	run mcp_tool "$MCP" write '{"path":"data/ccbox-server/new","content":"x"}'
	[ ! -e data/ccbox-server/new ]
	run mcp_tool "$MCP" read '{"path":"data/ccbox-server/token"}'
	[[ $output == *'"isError":true'* ]]
	[[ $output != *"$TOKEN"* ]]
}

@test "tools over the API: modes that read only read, and a registered checkout is not written" {
	git init -q .
	daemon
	mcp_open "directory=$PWD&mode=plan"
	run mcp_say "$MCP" '{"jsonrpc":"2.0","id":2,"method":"tools/list"}'
	[[ $output == *'"name":"search_files"'* ]]
	[[ $output != *'"name":"write"'* ]]
	[ "$(status api POST /v1/repos -d "{\"workspaceId\":\"w\",\"path\":\"$PWD\"}")" = 201 ]
	mcp_open "directory=$PWD&workspace=w"
	run mcp_tool "$MCP" write '{"path":"a.txt","content":"x"}'
	[[ $output == *'"isError":true'* ]]
	run mcp_tool "$MCP" bash '{"command":"echo x >b.txt"}'
	[[ $output == *'[exit '* ]]
	[ ! -e a.txt ]
	[ ! -e b.txt ]
}

@test "tools over the API: two sessions share nothing, and DELETE ends every process of one" {
	git init -q .
	mkdir "$BASE/other"
	daemon
	mcp_open "directory=$PWD"
	one=$MCP
	mcp_open "directory=$BASE/other"
	two=$MCP
	[ "$one" != "$two" ]
	mcp_tool "$one" bash '{"command":"echo one >/tmp/mine; echo one >here"}' >/dev/null
	run mcp_tool "$two" bash '{"command":"cat /tmp/mine"}'
	[[ $output == *'No such file'* ]]
	run mcp_tool "$two" read "{\"path\":\"$PWD/here\"}"
	[[ $output == *'"isError":true'* ]]
	[ -e here ]
	[ "$(status web DELETE /v1/mcp -H "Mcp-Session-Id: $one")" = 204 ]
	[ "$(status mcp_say "$one" '{"jsonrpc":"2.0","id":3,"method":"ping"}')" = 404 ]
	[ "$(status mcp_say "$two" '{"jsonrpc":"2.0","id":3,"method":"ping"}')" = 200 ]
	# one in the middle of a call: who waits is told, and nothing goes on
	mcp_tool "$two" bash '{"command":"touch started; sleep 1000"}' >"$BASE/cut" &
	cut=$!
	for _ in $(seq 200); do [ ! -e "$BASE/other/started" ] || break; sleep 0.05; done
	[ -e "$BASE/other/started" ]
	[ "$(status web DELETE /v1/mcp -H "Mcp-Session-Id: $two")" = 204 ]
	wait "$cut"
	grep -q '"id":7,"error":.*the session was ended' "$BASE/cut"
	[ -z "$(mcp_processes)" ]
	nothing_left
}

@test "tools over the API: a process that is killed is one session's; too many requests at once are refused" {
	git init -q .
	daemon
	mcp_open "directory=$PWD"
	one=$MCP
	victim=$(mcp_processes)
	[ "$(wc -w <<<"$victim")" -eq 1 ]
	mcp_open "directory=$PWD"
	mcp_tool "$one" bash '{"command":"touch started; sleep 1000"}' >"$BASE/cut" &
	cut=$!
	for _ in $(seq 200); do [ ! -e started ] || break; sleep 0.05; done
	[ -e started ]
	# the id that waits is not taken twice; sixteen wait, the seventeenth does not
	run mcp_tool "$one" read '{"path":"started"}'
	[[ $output == *'waits already'* ]]
	waiting=
	for id in $(seq 100 114); do
		mcp_say "$one" "{\"jsonrpc\":\"2.0\",\"id\":$id,\"method\":\"ping\"}" -w '%{http_code}' >"$BASE/ping.$id" &
		waiting="$waiting $!"
	done
	code=
	for id in $(seq 200 400); do
		# one that got in before the others does not wait for ever here
		code=$(status mcp_say "$one" "{\"jsonrpc\":\"2.0\",\"id\":$id,\"method\":\"ping\"}" -m 1 || true)
		[ "$code" != 429 ] || break
	done
	[ "$code" = 429 ]
	kill -KILL "$victim"
	wait "$cut"
	# shellcheck disable=SC2086
	wait $waiting
	grep -q '"id":7,"error":.*have ended' "$BASE/cut"
	# whoever waited hears it as an answer of the protocol
	grep -q '"error":.*have ended.*}200$' "$BASE"/ping.* # one at least: some came too late to wait
	[ "$(status mcp_say "$one" '{"jsonrpc":"2.0","id":3,"method":"ping"}')" = 404 ]
	run mcp_tool "$MCP" bash '{"command":"echo goes on"}'
	[[ $output == *'goes on'* ]]
	status web DELETE /v1/mcp -H "Mcp-Session-Id: $MCP"
	nothing_left
}

@test "tools over the API: a call that is cancelled is answered at once and ends; one whose caller has gone does not hold the next" {
	git init -q .
	daemon
	mcp_open "directory=$PWD"
	mcp_tool "$MCP" bash '{"command":"touch started; sleep 1000"}' 40 >"$BASE/cut" &
	cut=$!
	for _ in $(seq 200); do [ ! -e started ] || break; sleep 0.05; done
	[ -e started ]
	[ "$(status mcp_say "$MCP" '{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":40}}')" = 202 ]
	wait "$cut"
	grep -q '"id":40,"error":.*cancelled' "$BASE/cut"
	run mcp_tool "$MCP" bash '{"command":"echo goes on"}' 41
	[[ $output == *'"id":41,'*'goes on'* ]]
	# the caller goes, the command comes to its end, and its answer to nobody
	mcp_tool "$MCP" bash '{"command":"touch second; until [ -e over ]; do sleep 0.05; done"}' 42 >"$BASE/cut" 2>&1 &
	cut=$!
	for _ in $(seq 200); do [ ! -e second ] || break; sleep 0.05; done
	pkill -P "$cut" curl || kill "$cut"
	wait "$cut" || true
	touch over
	run mcp_tool "$MCP" bash '{"command":"echo third"}' 43
	[[ $output == *'"id":43,'*third* ]]
}

@test "tools over the API: tools that hang are ended, and who waits is told; nothing of them is left" {
	git init -q .
	daemon --tools-timeout 20
	mcp_open "directory=$PWD"
	victim=$(mcp_processes)
	kill -STOP "$victim"
	run mcp_say "$MCP" '{"jsonrpc":"2.0","id":"x","method":"ping"}' -w '%{http_code}'
	[[ $output == *'"id":"x","error":'* ]]
	[[ $output == *'did not answer in time'*200 ]]
	[ "$(status mcp_say "$MCP" '{"jsonrpc":"2.0","id":3,"method":"ping"}')" = 404 ]
	no_mcp_processes
	nothing_left
}

@test "tools over the API: tools that hang when the daemon is killed go with it" {
	git init -q .
	daemon
	mcp_open "directory=$PWD"
	victim=$(mcp_processes)
	kill -STOP "$victim"
	kill -KILL "$SERVER"
	no_mcp_processes
	nothing_left
}

@test "tools over the API: what keeps a session from starting is the answer to initialize" {
	git init -q .
	daemon
	mkdir -p "$XDG_CONFIG_HOME/ccbox"
	echo '{"filesystem": {"denyRaed": []}}' >"$XDG_CONFIG_HOME/ccbox/policy.jsonc"
	run web POST "/v1/mcp?directory=$PWD" -d "$HELLO" -w '%{http_code}'
	[[ $output == *'"id":1,"error":'*'unknown key \"denyRaed\"'*200 ]]
	rm "$XDG_CONFIG_HOME/ccbox/policy.jsonc"
	run web POST "/v1/mcp?directory=/" -d "$HELLO"
	[[ $output == *'"id":1,"error":'* ]]
	no_mcp_processes
}

@test "tools over the API: the daemon's port is not reached from inside, whatever the person's policy opens" {
	git init -q .
	daemon
	mkdir -p "$XDG_CONFIG_HOME/ccbox"
	echo "{\"network\": {\"hosts\": {\"named.test\": [\"127.0.0.1\"]}, \"allowedDomains\": [\"named.test:$PORT\"]}}" >"$XDG_CONFIG_HOME/ccbox/policy.jsonc"
	get="curl -s -S -m 60 http://named.test:$PORT/healthz"
	# that is what the daemon itself says to that name
	# shellcheck disable=SC2086
	run box -- $get
	[[ $output == *'this server is not known by that name'* ]]
	mcp_open "directory=$PWD"
	run mcp_tool "$MCP" bash "{\"command\":\"$get\"}"
	[[ $output == *"refused network-outbound named.test:$PORT"* ]]
	[[ $output != *'this server is not known'* ]]
}

@test "tools over the API: each of the eight does its work" {
	git init -q .
	daemon
	mcp_open "directory=$PWD"
	run mcp_tool "$MCP" write '{"path":"src/a.txt","content":"one\ntwo\n"}'
	[[ $output == *'"isError":false'* ]]
	run mcp_tool "$MCP" read '{"path":"src/a.txt"}'
	[[ $output == *two* ]]
	hash=$(grep -o '[0-9a-f]\{16,\}' <<<"$output" | head -n 1)
	run mcp_tool "$MCP" edit '{"path":"src/a.txt","old_text":"two","new_text":"three"}'
	[[ $output == *'"isError":false'* ]]
	[ "$(tail -n 1 src/a.txt)" = three ]
	run mcp_tool "$MCP" read '{"path":"src/a.txt"}'
	hash=$(grep -o '[0-9a-f]\{16,\}' <<<"$output" | head -n 1)
	run mcp_tool "$MCP" apply_patch "{\"edits\":[{\"path\":\"src/a.txt\",\"file_hash\":\"$hash\",\"start_line\":1,\"end_line\":1,\"replacement\":\"zero\"}]}"
	[[ $output == *'"isError":false'* ]]
	[ "$(head -n 1 src/a.txt)" = zero ]
	run mcp_tool "$MCP" search '{"pattern":"^thr.e$"}'
	[[ $output == *'src/a.txt:2:three'* ]]
	run mcp_tool "$MCP" find '{"pattern":"src/*.txt"}'
	[[ $output == *src/a.txt* ]]
	run mcp_tool "$MCP" search_files '{"query":"srcatxt"}'
	[[ $output == *src/a.txt* ]]
	run mcp_tool "$MCP" bash '{"command":"cat src/a.txt; cat /proc/1/comm"}'
	[[ $output == *three* ]]
	[[ $output == *cc-init* ]]
	for call in 'edit {"path":".env","old_text":"a","new_text":"b"}' 'write {"path":"sub/.env","content":"x"}'; do
		run mcp_tool "$MCP" "${call%% *}" "${call#* }"
		[[ $output == *'"isError":true'* ]]
	done
	[ ! -e sub/.env ]
}

@test "tools over the API: two callers at once each have their own answer" {
	git init -q .
	daemon
	mcp_open "directory=$PWD"
	one=$MCP
	mcp_open "directory=$PWD"
	two=$MCP
	# in two sessions: each waits for what the other does
	mcp_tool "$one" bash '{"command":"touch first; until [ -e second ]; do sleep 0.05; done; echo the first"}' >"$BASE/one" &
	a=$!
	mcp_tool "$two" bash '{"command":"touch second; until [ -e first ]; do sleep 0.05; done; echo the second"}' >"$BASE/two" &
	b=$!
	wait "$a"
	wait "$b"
	grep -q 'the first' "$BASE/one"
	grep -q 'the second' "$BASE/two"
	# in one: in whatever order, and never each other's
	pids=
	for id in $(seq 20 29); do
		mcp_tool "$one" bash "{\"command\":\"echo number $id\"}" "$id" >"$BASE/answer.$id" &
		pids="$pids $!"
	done
	# shellcheck disable=SC2086
	wait $pids
	for id in $(seq 20 29); do
		grep -q "\"id\":$id,.*number $id" "$BASE/answer.$id"
	done
}

@test "tools over the API: what is no message, no session, no directory or no mode is refused; a GET is 405" {
	daemon
	[ "$(status web GET /v1/mcp)" = 405 ]
	[ "$(status web DELETE /v1/mcp)" = 404 ]
	[ "$(status mcp_say 0123456789abcdef0123456789abcdef '{"jsonrpc":"2.0","id":3,"method":"ping"}')" = 404 ]
	[ "$(status web POST /v1/mcp -d '{"jsonrpc":"2.0","id":3,"method":"ping"}')" = 400 ]
	[ "$(status web POST "/v1/mcp?directory=$PWD" -d 'x')" = 400 ]
	[ "$(status web POST "/v1/mcp?directory=$PWD" -d '[]')" = 400 ]
	[ "$(status web POST /v1/mcp -d "$HELLO")" = 400 ]
	[ "$(status web POST "/v1/mcp?directory=here" -d "$HELLO")" = 400 ]
	[ "$(status web POST "/v1/mcp?directory=$PWD/none" -d "$HELLO")" = 404 ]
	[ "$(status web POST "/v1/mcp?directory=$PWD&mode=root" -d "$HELLO")" = 400 ]
	[ "$(status curl -sS -X POST "$URL/v1/mcp?directory=$PWD" -d "$HELLO")" = 401 ]
	[ "$(status web POST "/v1/mcp?directory=$PWD" -H 'Origin: https://evil.example' -d "$HELLO")" = 403 ]
	head -c 1100000 /dev/zero | tr '\0' ' ' >"$BASE/long"
	[ "$(status web POST "/v1/mcp?directory=$PWD" --data-binary "@$BASE/long")" = 413 ]
	[ -z "$(mcp_processes)" ]
	down
	daemon --sandbox off
	[ "$(status web POST "/v1/mcp?directory=$PWD" -d "$HELLO")" = 501 ]
	[ -z "$(mcp_processes)" ]
}

@test "tools over the API: the daemon ends them when it goes, and a daemon that is killed leaves none" {
	git init -q .
	daemon
	mcp_open "directory=$PWD"
	[ -n "$(mcp_processes)" ]
	down
	[ -z "$(mcp_processes)" ]
	daemon
	mcp_open "directory=$PWD"
	mcp_tool "$MCP" bash '{"command":"touch started; sleep 1000"}' >"$BASE/cut" 2>&1 &
	for _ in $(seq 200); do [ ! -e started ] || break; sleep 0.05; done
	[ -e started ]
	kill -KILL "$SERVER"
	no_mcp_processes
	nothing_left
}
