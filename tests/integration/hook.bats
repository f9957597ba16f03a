#!/usr/bin/env bats
# ccbox hook claude: Claude Code's Bash goes through a sandbox, its file tools meet the rules, and an error is a refusal.
load lib
bats_require_minimum_version 1.5.0

setup_more() { git init -q .; echo hello >a.txt; }

hook() { "$CCBOX" hook claude "$@"; }
call() { python3 -c 'import json, os, sys; print(json.dumps({"hook_event_name": "PreToolUse", "cwd": os.getcwd(), "tool_name": sys.argv[1], "tool_input": json.loads(sys.argv[2])}))' "$@"; }
decision() { python3 -c 'import json, sys; print(json.load(sys.stdin)["hookSpecificOutput"]["permissionDecision"])'; }

@test "Bash is rewritten to run in a sandbox, with its quotes, and works and is refused there" {
	call Bash '{"command":"echo it'"\\\\'"'s >b.txt; echo \"$PWD\"; echo x >.env","description":"d","timeout":5}' | hook >"$BASE/answer"
	[ "$(decision <"$BASE/answer")" = allow ]
	python3 -c 'import json, sys; i = json.load(open(sys.argv[1]))["hookSpecificOutput"]["updatedInput"]; assert i["description"] == "d" and i["timeout"] == 5; print(i["command"])' "$BASE/answer" >"$BASE/line"
	run sh "$BASE/line"
	[[ "$output" == *"$PWD"* && "$output" == *"refused file-write-create $PWD/.env"* ]]
	[ "$(cat b.txt)" = "it's" ]
	[ ! -e .env ]
	[ "$(call Bash '{"command":"git clean -n"}' | hook | decision)" = ask ]
	[ "$(call Bash '{"command":"ls; sudo ls"}' | hook | decision)" = deny ]
	# the options of the hook are those of the sandbox
	call Bash '{"command":"echo x >.env"}' | hook --allow-name '**/.env' | python3 -c 'import json, sys; print(json.load(sys.stdin)["hookSpecificOutput"]["updatedInput"]["command"])' >"$BASE/line"
	sh "$BASE/line"
	[ -e .env ]
}

@test "file tools: forbidden names are denied with rule and flag, the rest is left to Claude" {
	run hook < <(call Write "{\"file_path\":\"$PWD/.env\",\"content\":\"x\"}")
	[[ "$output" == *'"deny"'*"rule name:**/.env"*"--allow-name"* ]]
	[ "$(call Edit "{\"file_path\":\"$PWD/.git/config\"}" | hook | decision)" = deny ]
	[ "$(call Write '{"file_path":"/etc/hosts","content":"x"}' | hook | decision)" = deny ]
	run hook < <(call Write "{\"file_path\":\"$PWD/a.txt\",\"content\":\"x\"}")
	[ "$status" -eq 0 ]
	[ -z "$output" ]
	run hook < <(call Write "{\"file_path\":\"$PWD/new/dir/a.txt\",\"content\":\"x\"}")
	[ "$status" -eq 0 ]
	[ -z "$output" ]
	run hook < <(call Read "{\"file_path\":\"$PWD/a.txt\"}")
	[ "$status" -eq 0 ]
	[ -z "$output" ]
	run hook < <(call WebFetch '{"url":"x"}')
	[ "$status" -eq 0 ]
	[ -z "$output" ]
	[ "$(call Write "{\"file_path\":\"$PWD/a.txt\",\"content\":\"x\"}" | hook --mode plan | decision)" = deny ]
}

@test "an error is a refusal: exit code 2" {
	run -2 hook <<<'junk'
	run -2 hook <<<'{"tool_name":"Bash"}'
	run -2 hook <<<'{"tool_name":"Bash","tool_input":{}}'
	run -2 hook <<<'{"tool_name":"Bash","tool_input":{"command":"ls"},"cwd":"/absent"}'
	run -2 hook --nonsense < <(call Bash '{"command":"ls"}')
	run -2 hook --bind /absent < <(call Bash '{"command":"ls"}')
	run -2 "$CCBOX" hook nobody < <(call Bash '{"command":"ls"}')
}

@test "a real Claude Code with the hook: its command works inside and is refused there" {
	clients=$(sh "$BATS_TEST_DIRNAME/../../tools/clients.sh" claude 2>&1) || skip "$clients"
	CMD='echo edited >>a.txt; echo x >.env; echo $CCBOX_SESSION' node "$BATS_TEST_DIRNAME/../clients/messages-api.mjs" 0 >"$BASE/api.out" &
	api=$!
	for _ in $(seq 100); do grep -q ready "$BASE/api.out" && break; sleep 0.05; done
	export ANTHROPIC_BASE_URL=http://127.0.0.1:$(sed 's/ready //' "$BASE/api.out") ANTHROPIC_API_KEY=sk-ant-test CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 DISABLE_AUTOUPDATER=1
	settings="{\"hooks\":{\"PreToolUse\":[{\"matcher\":\"Bash|Write|Edit\",\"hooks\":[{\"type\":\"command\",\"command\":\"$CCBOX hook claude\"}]}]}}"
	run "$clients/claude/node_modules/@anthropic-ai/claude-code-linux-x64/claude" -p 'run the command' --settings "$settings" --output-format json
	kill $api
	echo "$output"
	[[ "$output" == *'"subtype":"success"'* && "$output" == *'run-20'* ]]
	[[ "$output" == *"refused file-write-create"* ]]
	[ "$(cat a.txt)" = "$(printf 'hello\nedited')" ]
	[ ! -e .env ]
}
