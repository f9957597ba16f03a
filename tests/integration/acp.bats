#!/usr/bin/env bats
# ccbox acp: an editor, a sandbox, an agent; what the agent may not do itself its editor does not do for it (contract 4.1).
load lib
bats_require_minimum_version 1.5.0

setup_more() {
	git init -q .
	printf 'one\ntwo\nthree\n' >a.txt
	mkdir -p "$BASE/outside"
	echo secret >"$BASE/outside/s.txt"
	ln -s "$BASE/outside" out
	cp "$BATS_TEST_DIRNAME/acp_agent.py" agent.py
}

acp() { python3 "$BATS_TEST_DIRNAME/acp.py" "$CCBOX" acp "$@" -- /usr/bin/python3 agent.py; }

@test "a turn passes both ways; the agent is offered what is served here" {
	run acp <<<'[{"method":"nothing/known","params":{}}]'
	[ "$status" -eq 0 ]
	[[ "$output" == *'initialize: {"fs": {"readTextFile": true, "writeTextFile": true}, "other": 1, "terminal": true}'* ]]
	[[ "$output" == *"editor: no nothing/known"* ]]
	[[ "$output" == *'prompt: {"stopReason": "end_turn"}'* ]]
}

@test "files: read by lines, written by the rules, nothing outside" {
	run acp <<-E
		[{"method":"fs/read_text_file","params":{"path":"$PWD/a.txt"}}, {"method":"fs/read_text_file","params":{"path":"$PWD/a.txt","line":2,"limit":1}}]
		[{"method":"fs/write_text_file","params":{"path":"$PWD/sub/new.txt","content":"new\n"}}, {"method":"fs/write_text_file","params":{"path":"$PWD/.env","content":"x"}}]
		[{"method":"fs/read_text_file","params":{"path":"$BASE/outside/s.txt"}}, {"method":"fs/read_text_file","params":{"path":"$PWD/out/s.txt"}}, {"method":"fs/write_text_file","params":{"path":"$PWD/out/n","content":"x"}}, {"method":"fs/read_text_file","params":{"path":"/etc/passwd"}}, {"method":"fs/unknown","params":{}}]
	E
	[[ "$output" == *'{"content": "one\ntwo\nthree\n"}'*'{"content": "two\n"}'* ]]
	[[ "$output" == *"rule name:**/.env; the person can allow it with --allow-name"* ]]
	[ "$(grep -c 'outside what this session' <<<"$output")" -eq 4 ]
	[[ "$output" == *"no such method here"* ]]
	[[ "$output" != *secret* ]]
	[ "$(cat sub/new.txt)" = new ]
	[ ! -e .env ]
	[ ! -e "$BASE/outside/n" ]
}

@test "the agent itself is in a sandbox, and what it was refused is told to the editor" {
	run acp <<<'[{"write":"b.txt"},{"write":".env"}]'
	[[ "$output" == *'"written"'*'"Permission denied"'* ]]
	[[ "$output" == *"thought: [sandbox] refused file-write-create $PWD/.env; rule name:**/.env; allow with: --allow-name '**/.env'"* ]]
	[ -e b.txt ]
	[ ! -e .env ]
}

@test "commands run in a sandbox: output, exit, kill, release" {
	run acp <<-'E'
		[{"method":"terminal/create","params":{"command":"sh","args":["-c","exec 2>&1; echo out; echo err >&2; echo $A; echo x >.env; exit 4"],"env":[{"name":"A","value":"set"}]}}, {"method":"terminal/wait_for_exit","params":{"terminalId":"$"}}, {"method":"terminal/output","params":{"terminalId":"$"}}, {"method":"terminal/release","params":{"terminalId":"$"}}, {"method":"terminal/output","params":{"terminalId":"$"}}]
		[{"method":"terminal/create","params":{"command":"sleep","args":["600"]}}, {"method":"terminal/output","params":{"terminalId":"$"}}, {"method":"terminal/kill","params":{"terminalId":"$"}}, {"method":"terminal/wait_for_exit","params":{"terminalId":"$"}}]
		[{"method":"terminal/create","params":{"command":"seq","args":["100000"],"outputByteLimit":100}}, {"method":"terminal/wait_for_exit","params":{"terminalId":"$"}}, {"method":"terminal/output","params":{"terminalId":"$"}}]
	E
	[[ "$output" == *'{"exitCode": 4, "signal": null}'* ]]
	[[ "$output" == *'out\nerr\nset\n'*'"truncated": false, "exitStatus": {"exitCode": 4'* ]]
	[[ "$output" == *"no such terminal"* ]]
	[[ "$output" == *'{"exitCode": null, "signal": "Killed"}'* ]]
	[[ "$output" == *'\n100000\n", "truncated": true'* ]]
	[ ! -e .env ]
}

@test "the command policy: denied, or put to the person by the editor" {
	run acp <<<'[{"method":"terminal/create","params":{"command":"sh","args":["-c","sudo ls"]}}]'
	[[ "$output" == *"refused by the command policy: sudo"* && "$output" != *permission:* ]]
	run acp <<<'[{"method":"terminal/create","params":{"command":"git","args":["clean","-n"]}}]'
	[[ "$output" == *"permission: Run git? (git clean)"*"the person did not allow it"* ]]
	CC_TEST_ANSWER=allow run acp <<<'[{"method":"terminal/create","params":{"command":"git","args":["clean","-n"]}}, {"method":"terminal/wait_for_exit","params":{"terminalId":"$"}}]'
	[[ "$output" == *"permission: Run git?"*'{"exitCode": 0'* ]]
}

@test "a mode that only reads: no file is written, no command is offered" {
	run acp --mode plan <<<"[{\"method\":\"fs/write_text_file\",\"params\":{\"path\":\"$PWD/n\",\"content\":\"x\"}},{\"method\":\"terminal/create\",\"params\":{\"command\":\"ls\"}},{\"write\":\"n\"},{\"method\":\"fs/read_text_file\",\"params\":{\"path\":\"$PWD/a.txt\"}}]"
	[[ "$output" == *'"terminal": false'* && "$output" == *'mount:read-only'*'a mode that only reads'*'one\ntwo'* ]]
	[ ! -e n ]
}

@test "what is no message is not passed on; bytes that are no UTF-8 cost no message" {
	run acp <<<'[{"print":"junk"},{"print":"{\"jsonrpc\":\"2.0\",\"method\":\"session/update\",\"params\":{\"sessionId\":\"s-1\",\"update\":{\"sessionUpdate\":\"agent_message_chunk\",\"content\":{\"type\":\"text\",\"text\":\"a\u00ffb\"}}}}"}]'
	[ "$status" -eq 0 ]
	[[ "$output" == *"a line that is no message: junk"* && "$output" == *$'a\xef\xbf\xbdb'* ]]
}

@test "a message that is longer than any may be ends the session, and says so" {
	run bash -c 'head -c 13M /dev/zero | tr "\0" a | "$1" acp -- cat' - "$CCBOX"
	[[ "$output" == *"the editor sent a message longer than 12 MiB"* ]]
}

@test "exit codes, and nothing is left behind when the editor is killed" {
	run -127 "$CCBOX" acp -- no-such-agent </dev/null
	run "$CCBOX" acp -- sh -c 'exit 9' </dev/null
	[ "$status" -eq 9 ]
	run "$CCBOX" acp </dev/null
	[ "$status" -eq 125 ]
	run "$CCBOX" acp --bind "$BASE/absent" -- ls </dev/null
	[ "$status" -eq 125 ]
	# a number that no other test sleeps for, an agent that no other test has
	nap=$((900000 + $$)) mine=agent-$$.py
	mv agent.py "$mine"
	echo "[{\"method\":\"terminal/create\",\"params\":{\"command\":\"sleep\",\"args\":[\"$nap\"]}}]" >"$BASE/prompts"
	CC_TEST_ANSWER=linger python3 "$BATS_TEST_DIRNAME/acp.py" "$CCBOX" acp -- /usr/bin/python3 "$mine" <"$BASE/prompts" >"$BASE/said" 3>&- &
	editor=$!
	for _ in $(seq 100); do grep -q '^prompt:' "$BASE/said" && break; sleep 0.1; done
	pgrep -f "sleep $nap"
	kill -9 $editor
	wait $editor || true
	for _ in $(seq 150); do pgrep -f "sleep $nap|$mine" >/dev/null || break; sleep 0.1; done
	no pgrep -f "sleep $nap|$mine"
}

@test "a real agent (claude-agent-acp) works a whole turn: the person is asked, the tree is edited, a name is refused" {
	clients=$(sh "$BATS_TEST_DIRNAME/../../tools/clients.sh" claude-acp 2>&1) || skip "$clients"
	CMD='echo edited >>a.txt; echo x >.env; echo $CCBOX_SESSION' node "$BATS_TEST_DIRNAME/../clients/messages-api.mjs" 0 >"$BASE/api.out" &
	api=$!
	for _ in $(seq 100); do grep -q ready "$BASE/api.out" && break; sleep 0.05; done
	export ANTHROPIC_BASE_URL=http://api.claude.test:$(sed 's/ready //' "$BASE/api.out") ANTHROPIC_API_KEY=sk-ant-test CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1
	CC_TEST_ANSWER=allow run python3 "$BATS_TEST_DIRNAME/acp.py" "$CCBOX" acp --agent claude --bind . --bind "$clients:ro" \
		--host api.claude.test=127.0.0.1 --allow-host api.claude.test -- "$clients/claude-acp/node_modules/.bin/claude-agent-acp" <<<'run the command'
	kill $api
	echo "$output"
	[[ "$output" == *'permission: '*'"stopReason": "end_turn"'* && "$output" == *'DONE is_error=false'*run-20* ]]
	[[ "$output" == *"refused file-write-create $PWD/.env"* ]]
	[ "$(tail -n 1 a.txt)" = edited ]
	[ ! -e .env ]
}
