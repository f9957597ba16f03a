#!/usr/bin/env bats
# ccbox mcp: the tools that work outside the sandbox hold what the sandbox holds, and bash works inside it (contract 4.2).
load lib

mcp() { python3 "$BATS_TEST_DIRNAME/mcp.py" "$CCBOX" mcp "$@"; }

setup_more() {
	git init -q .
	printf 'one\ntwo\nthree\n' >a.txt
	mkdir -p sub "$BASE/outside"
	echo secret >"$BASE/outside/s.txt"
}

@test "the tools of the contract are offered, in chat all, in the modes that read those that read" {
	run mcp <<<'list'
	[ "$output" = "read write edit apply_patch search find search_files bash" ]
	run mcp --mode plan <<<'list'
	[ "$output" = "read search find search_files" ]
	run mcp --mode plan <<<'call write {"path":"x","content":"y"}'
	[[ "$output" == "error no tool"* ]]
	[ ! -e x ]
}

@test "read, write, edit, apply_patch, search, find, search_files do their work" {
	run mcp <<-'E'
		call read {"path":"a.txt","sel":"2-3"}
		call write {"path":"deep/er/b.c","content":"int a;\nint b;\n"}
		call edit {"path":"deep/er/b.c","old_text":"int a","new_text":"int c"}
		call search {"pattern":"int [bc]","glob":"*.c"}
		call find {"pattern":"*.c"}
		call search_files {"query":"deb"}
	E
	[[ "$output" == *$'3 lines, hash '*$'\n2\ttwo\n3\tthree\n'* ]]
	[[ "$output" == *"wrote $PWD/deep/er/b.c: 14 bytes"* ]]
	[[ "$output" == *$'deep/er/b.c:1:int c;\ndeep/er/b.c:2:int b;'* ]]
	[[ "$output" == *$'ok deep/er/b.c\nok deep/er/b.c'* ]]
	[ "$(cat deep/er/b.c)" = $'int c;\nint b;' ]
	hash=$(echo 'call read {"path":"a.txt"}' | mcp | sed -n 's/.*hash //p')
	run mcp <<<"call apply_patch {\"edits\":[{\"path\":\"a.txt\",\"file_hash\":\"$hash\",\"start_line\":1,\"end_line\":1,\"replacement\":\"1\"},{\"path\":\"a.txt\",\"file_hash\":\"$hash\",\"start_line\":3,\"end_line\":2,\"replacement\":\"2.5\"}]}"
	[[ "$output" == "ok patched"* ]]
	[ "$(tr '\n' ' ' <a.txt)" = "1 two 2.5 three " ]
	[ -z "$(find . -name '.ccbox-*')" ]
}

@test "what cannot be done whole is not done at all" {
	run mcp <<-'E'
		call edit {"path":"a.txt","edits":[{"old_text":"one","new_text":"1"},{"old_text":"nine","new_text":"9"}]}
		call edit {"path":"a.txt","old_text":"o","new_text":"0"}
		call apply_patch {"edits":[{"path":"a.txt","file_hash":"0000000000000000","start_line":1,"end_line":1,"replacement":"x"}]}
		call edit {"path":"absent","old_text":"a","new_text":"b"}
		call read {"path":"a.tx"}
	E
	[[ "$output" == *"old_text is not in the file"*"old_text is there 2 times"*"has changed"*"is not there"*"near it: a.txt"* ]]
	[ "$(tr '\n' ' ' <a.txt)" = "one two three " ]
	# the second of two files is denied: the first keeps what it had
	hash=$(echo 'call read {"path":"a.txt"}' | mcp | sed -n 's/.*hash //p')
	echo x >k.key
	run mcp <<<"call apply_patch {\"edits\":[{\"path\":\"a.txt\",\"file_hash\":\"$hash\",\"start_line\":1,\"end_line\":1,\"replacement\":\"1\"},{\"path\":\"k.key\",\"file_hash\":\"$hash\",\"start_line\":1,\"end_line\":1,\"replacement\":\"1\"}]}"
	[[ "$output" == error* ]]
	[ "$(head -n 1 a.txt)" = one ]
	[ -z "$(find . -name '.ccbox-*')" ]
}

@test "names that the sandbox refuses are refused by every tool, with rule and flag" {
	run mcp <<-'E'
		call write {"path":".env","content":"x"}
		call write {"path":"sub/../sub/X.PEM","content":"x"}
		call write {"path":".git/hooks/pre-commit","content":"x"}
		call write {"path":".git/config","content":"[core]\nfsmonitor=x\n"}
		call write {"path":"a.key/x","content":"x"}
		call write {"path":"made/for/nothing/.env","content":"x"}
		call bash {"command":"echo x >.env"}
	E
	[ "$(grep -c '^error' <<<"$output")" -eq 6 ]
	[ ! -e made ]
	[[ "$output" == *"rule name:**/.env; the person can allow it with --allow-name '**/.env'"* ]]
	[[ "$output" == *"[sandbox] refused file-write-create $PWD/.env"*"[exit 2]"* || "$output" == *"[sandbox] refused file-write-create $PWD/.env"*"[exit 1]"* ]]
	[ ! -e .env ]
	[ ! -e sub/X.PEM ]
	[ ! -e .git/hooks/pre-commit ]
	[ ! -e a.key ]
	[ "$(git config core.fsmonitor || true)" = "" ]
	run mcp --allow-name '**/.env' <<<'call write {"path":".env","content":"x"}'
	[[ "$output" == ok* ]]
}

@test "nothing outside the binds is touched: absolute paths, dots, links, links in between" {
	ln -s "$BASE/outside" out
	ln -s "$BASE/outside/s.txt" file
	ln -s ../../outside/new sub/new
	ln -s a.txt inner
	run mcp <<-E
		call read {"path":"$BASE/outside/s.txt"}
		call read {"path":"../outside/s.txt"}
		call read {"path":"out/s.txt"}
		call read {"path":"file"}
		call write {"path":"out/n","content":"x"}
		call write {"path":"file","content":"x"}
		call write {"path":"sub/new","content":"x"}
		call search {"pattern":"secret","path":"out"}
		call read {"path":"/proc/self/environ"}
	E
	[ "$(grep -c '^error' <<<"$output")" -eq 9 ]
	[[ "$output" != *secret$'\n'* ]]
	[ "$(ls "$BASE/outside")" = s.txt ]
	[ "$(cat "$BASE/outside/s.txt")" = secret ]
	run mcp <<<'call write {"path":"inner","content":"through\n"}'
	[ "$(cat a.txt)" = through ]
	[ -L inner ]
}

# A directory is swapped for a link to the outside, again and again, while a file in it is read and others are written.
swap_meanwhile() { # CCBOX
	mkdir d
	echo inside >d/s.txt
	ln -s "$BASE/outside" d.link
	python3 - <<-'PY' &
		import ctypes, time
		libc, end = ctypes.CDLL(None, use_errno=True), time.time() + 20
		while time.time() < end and libc.renameat2(-100, b"d", -100, b"d.link", 2) == 0: pass
	PY
	swapper=$!
	for i in $(seq 1000); do
		echo "call write {\"path\":\"d/f$i\",\"content\":\"x\"}"
		echo 'call read {"path":"d/s.txt"}'
	done | CCBOX=$1 mcp >"$BASE/said" || true
	kill $swapper
	wait $swapper || true
	rm -rf d d.link
}

@test "a directory that is swapped for a link meanwhile leads nowhere; without the kernel's hold it does" {
	swap_meanwhile "$CCBOX"
	[ "$(ls "$BASE/outside")" = s.txt ]
	grep -q inside "$BASE/said" && grep -q 'leads outside' "$BASE/said"
	no grep -q secret "$BASE/said"
	CCBOX_TWIN_OFF=beneath swap_meanwhile "$(dirname "$CCBOX")/ccbox-twin"
	grep -q secret "$BASE/said"
}

@test "bash: one warm session, exit codes, time limit, cancelling, long output in a file" {
	nap=$((800000 + $$)) # no other test sleeps for it
	run mcp <<-E
		call bash {"command":"echo kept >/tmp/k; cd sub; pwd"}
		call bash {"command":"cat /tmp/k; exit 7"}
		call bash {"command":"pwd","cwd":"sub"}
		call bash {"command":"sleep 30","timeout":1}
		call bash {"command":"seq 100000"}
		call bash {"command":"sleep $nap & echo started"}
	E
	[[ "$output" == *"$PWD/sub"$'\n'*$'kept\n[exit 7]'*"$PWD/sub"$'\n'*$'[ended after 1 seconds]\n[exit 124]'* ]]
	[[ "$output" == *"bytes left out; all of it: "* && "$output" == *$'\n100000\n[exit 0]'* && "$output" == *started* ]]
	file=$(sed -n 's/.*all of it: \(.*\)\]$/\1/p' <<<"$output")
	[ "$(tail -n 1 "$file")" = 100000 ]
	[ "$(stat -c %a "$file")" = 600 ]
	no pgrep -f "sleep $nap" >/dev/null
	python3 - "$CCBOX" <<-'PY'
		import json, subprocess, sys, time
		server = subprocess.Popen([sys.argv[1], "mcp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
		def send(m): server.stdin.write(json.dumps(dict(m, jsonrpc="2.0")) + "\n"); server.stdin.flush()
		send({"id": "a", "method": "tools/call", "params": {"name": "bash", "arguments": {"command": "sleep 600"}}})
		time.sleep(1)
		send({"method": "notifications/cancelled", "params": {"requestId": "a"}})
		assert "143" in json.loads(server.stdout.readline())["result"]["content"][0]["text"]
		send({"id": "b", "method": "tools/call", "params": {"name": "bash", "arguments": {"command": "sleep 600"}}})
		time.sleep(1)
		server.stdout.close(); server.stdin.close()
		server.wait(20)
	PY
}

@test "the command policy stands before bash: refused, asked, and in doubt asked" {
	run mcp <<-'E'
		call bash {"command":"echo a; (sudo ls)"}
		call bash {"command":"git clean -n"}
	E
	[[ "$output" == *"refused by the command policy: sudo"*"[exit 126]"*"refused by the command policy: git clean"*"[exit 126]"* ]]
	run mcp <<-'E'
		ask yes
		call bash {"command":"git clean -n; echo ran"}
		ask no
		call bash {"command":"git clean -n; echo ran again"}
	E
	[[ "$output" == *"question: Run this in the sandbox? (git clean) | git clean -n; echo ran"* ]]
	[[ "$output" == *$'ran\n[exit 0]'* && "$output" != *$'ran again\n[exit'* ]]
}

@test "a pattern that was made to take for ever ends, what was found before it is said, and the next call is answered" {
	echo found >a1; printf 'a%.0s' $(seq 4000) >slow
	run mcp <<-'E'
		call search {"pattern":"((.*)*|(.?)*|(.+)*){100}{2}x"}
		call search {"pattern":"fou.d"}
	E
	[[ "$output" == *"[cut at 20 seconds"*"a1:1:found"* ]]
}

@test "other calls are answered while one searches; a search that is cancelled is not answered" {
	printf 'a%.0s' $(seq 4000) >slow
	slow='"method":"tools/call","params":{"name":"search","arguments":{"pattern":"((.*)*|(.?)*|(.+)*){100}{2}x"}}'
	mkfifo "$BASE/in"
	"$CCBOX" mcp <"$BASE/in" >"$BASE/out" 3>&- &
	server=$!
	exec 8>"$BASE/in"
	for id in 1 2 3; do echo "{\"jsonrpc\":\"2.0\",\"id\":$id,$slow}" >&8; done
	echo '{"jsonrpc":"2.0","id":4,"method":"ping"}' >&8
	echo '{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"write","arguments":{"path":"made","content":"x"}}}' >&8
	echo '{"jsonrpc":"2.0","id":"6","method":"tools/call","params":{"name":"find","arguments":{"pattern":"ma*"}}}' >&8
	for _ in $(seq 100); do grep -q '"id":"6"' "$BASE/out" && break; sleep 0.05; done
	cat "$BASE/out"
	[ "$(grep -oE '"id":"?[0-9]' "$BASE/out" | tr -d '\n')" = '"id":4"id":5"id":"6' ]
	grep '"id":"6"' "$BASE/out" | grep -q made
	for id in 1 2; do echo "{\"jsonrpc\":\"2.0\",\"method\":\"notifications/cancelled\",\"params\":{\"requestId\":$id}}" >&8; done
	exec 8>&-
	# the third is still waited for
	wait $server
	[ "$(grep -oE '"id":"?[0-9]' "$BASE/out" | tr -d '\n')" = '"id":4"id":5"id":"6"id":3' ]
	grep '"id":3' "$BASE/out" | grep -q 'cut at 20 seconds'
}

@test "bad input is answered, and nothing is served where the sandbox cannot be held" {
	printf '%04000d' 0 | tr 0 x >long.txt # what a pattern of nested repeats takes for ever over, where groups are kept
	run "$CCBOX" mcp <<-'E'
		junk
		[1]
		{"id":1,"method":"ping"}
		{"jsonrpc":"2.0","id":2,"method":"nothing"}
		{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"read","arguments":7}}
		{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"search","arguments":{"pattern":"(a)\\1"}}}
		{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"search","arguments":{"pattern":"((a{99}){99}){99}{99}"}}}
		{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"search","arguments":{"pattern":"(((x+)+)+)+y"}}}
		{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"search","arguments":{"pattern":"(a{1,100}){1,100}{1,100}"}}}
		{"jsonrpc":"2.0","id":6,"method":"ping"}
	E
	[[ "$output" == *-32700*-32600*-32600*-32601*-32602* ]]
	# searches are answered when they are done
	for answer in '"id":4,*back references' '"id":5,*counts in braces' '"id":7,*counts in braces' '"id":8,*' '"id":6,"result":{}'; do
		[[ "$output" == *$answer* ]]
	done
	run "$CCBOX" mcp --bind "$BASE/absent" <<<'{"jsonrpc":"2.0","id":1,"method":"ping"}'
	[ "$status" -eq 125 ]
	[[ "$output" != *result* ]]
	run "$CCBOX" mcp -- ls
	[ "$status" -eq 125 ]
}

@test "a real Claude Code, outside, without its own tools, works by ours" {
	clients=$(sh "$BATS_TEST_DIRNAME/../../tools/clients.sh" claude 2>&1) || skip "$clients"
	TOOL=mcp__cc__bash CMD='echo edited >>a.txt; echo x >.env; echo $CCBOX_SESSION' node "$BATS_TEST_DIRNAME/../clients/messages-api.mjs" 0 >"$BASE/api.out" &
	api=$!
	for _ in $(seq 100); do grep -q ready "$BASE/api.out" && break; sleep 0.05; done
	export ANTHROPIC_BASE_URL=http://127.0.0.1:$(sed 's/ready //' "$BASE/api.out") ANTHROPIC_API_KEY=sk-ant-test CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 DISABLE_AUTOUPDATER=1 ENABLE_TOOL_SEARCH=false
	run "$clients/claude/node_modules/@anthropic-ai/claude-code-linux-x64/claude" -p 'run the command' --strict-mcp-config \
		--mcp-config "{\"mcpServers\":{\"cc\":{\"command\":\"$CCBOX\",\"args\":[\"mcp\"]}}}" \
		--allowedTools mcp__cc__bash --disallowedTools Bash,Edit,Write,Read --output-format json
	kill $api
	echo "$output"
	[[ "$output" == *'"subtype":"success"'* && "$output" == *'run-20'* && "$output" == *'[sandbox] refused file-write-create'* ]]
	[ "$(tail -n 1 a.txt)" = edited ]
	[ ! -e .env ]
}
