#!/usr/bin/env bats
# Known agents: lent their login, given back what was renewed; and a real Claude Code working a whole turn.
load lib

# A program that calls itself claude and renews its credential file the way the real one does: a new file takes its name.
fake_claude() {
	cat >claude <<-'SH'
		#!/bin/sh
		dir=${CLAUDE_CONFIG_DIR:?}
		cat "$dir/.credentials.json" "$dir/settings.json" 2>/dev/null
		echo "$NEW" >"$dir/.credentials.json.tmp" && mv "$dir/.credentials.json.tmp" "$dir/.credentials.json"
		echo '{"hooks":{"x":"evil"}}' >"$dir/settings.json"
		mkdir -p "$dir/commands" "$dir/hooks" "$dir/projects/-p"
		echo evil >"$dir/commands/evil.md"
		echo evil >"$dir/hooks/evil.sh"
		echo '{"turn":1}' >"$dir/projects/-p/one.jsonl"
		echo changed >"$dir/projects/-p/old.jsonl"
		env | grep KEY
	SH
	chmod +x claude
	mkdir -p "$HOME/.claude/projects/-p"
	echo "$OLD" >"$HOME/.claude/.credentials.json"
	echo '{"theme":"dark"}' >"$HOME/.claude/settings.json"
	echo kept >"$HOME/.claude/projects/-p/old.jsonl"
}

OLD='{"claudeAiOauth":{"accessToken":"OLD","refreshToken":"r1","expiresAt":1,"scopes":["user"]}}'
NEW='{"claudeAiOauth":{"accessToken":"NEW","refreshToken":"r2","expiresAt":2,"scopes":["user"]}}'

@test "a known agent sees the person's login and settings, and a renewed login comes back" {
	fake_claude
	run "$CCBOX" run --env NEW="$NEW" -- ./claude
	[ "$status" -eq 0 ] || [ "$status" -eq 1 ]
	[[ $output == *'"accessToken":"OLD"'* ]]
	[[ $output == *'"theme":"dark"'* ]]
	[[ $output == *"known agent claude"* ]]
	[ "$(cat "$HOME/.claude/.credentials.json")" = "$NEW" ]
	[ "$(stat -c %a "$HOME/.claude/.credentials.json")" = 600 ]
}

@test "settings, hooks and commands never come back; new transcripts do, old ones are kept" {
	fake_claude
	box --env NEW="$NEW" -- ./claude || true
	[ "$(cat "$HOME/.claude/settings.json")" = '{"theme":"dark"}' ]
	[ ! -e "$HOME/.claude/hooks" ]
	[ ! -e "$HOME/.claude/commands" ]
	[ "$(cat "$HOME/.claude/projects/-p/one.jsonl")" = '{"turn":1}' ]
	[ "$(cat "$HOME/.claude/projects/-p/old.jsonl")" = kept ]
	[ -z "$(find "$HOME/.claude" -name '.ccbox-*')" ]
}

@test "a credential file of the wrong shape is not written back, and it is said" {
	fake_claude
	for bad in 'not json' '[]' '{"apiKeyHelper":{"command":"evil"}}' '{"a":{"b":{"c":{"d":{"e":{"f":1}}}}}}'; do
		run box --env NEW="$bad" -- ./claude
		[ "$(cat "$HOME/.claude/.credentials.json")" = "$OLD" ]
		[[ $output == *"not written back"* ]]
	done
}

@test "a login the person renewed meanwhile is kept" {
	fake_claude
	sed -i '$a while [ ! -e go ]; do sleep 0.05; done' claude
	box --env NEW="$NEW" -- ./claude >out 2>&1 &
	job=$!
	for _ in $(seq 100); do [ -s out ] && break; sleep 0.05; done
	echo '{"claudeAiOauth":{"accessToken":"HOST"}}' >"$HOME/.claude/.credentials.json"
	touch go
	wait $job || true
	grep -q HOST "$HOME/.claude/.credentials.json"
	grep -q 'kept' out
}

@test "a credential file that is a link on the host is neither read nor replaced" {
	fake_claude
	echo "$OLD" >"$BASE/target"
	ln -sf "$BASE/target" "$HOME/.claude/.credentials.json"
	run box --env NEW="$NEW" -- ./claude
	[[ $output != *'"accessToken":"OLD"'* ]]
	[ "$(cat "$BASE/target")" = "$OLD" ]
	[ -L "$HOME/.claude/.credentials.json" ]
}

@test "first login: a credential made inside comes to the host" {
	fake_claude
	rm "$HOME/.claude/.credentials.json"
	box --env NEW="$NEW" -- ./claude || true
	[ "$(cat "$HOME/.claude/.credentials.json")" = "$NEW" ]
}

@test "--agent none lends nothing; an unknown agent is refused" {
	fake_claude
	run box --agent none --env CLAUDE_CONFIG_DIR=/tmp/c --env NEW="$NEW" -- sh -c 'mkdir /tmp/c; ./claude; ls -A ~'
	[[ $output != *'"accessToken":"OLD"'* ]]
	[ "$(cat "$HOME/.claude/.credentials.json")" = "$OLD" ]
	run "$CCBOX" run --agent nobody -- true
	[ "$status" -eq 125 ]
	[[ $output == *"known agents are"* ]]
}

@test "the agent's key variables are passed on, other secrets are not" {
	fake_claude
	export ANTHROPIC_API_KEY=k1 STRIPE_SECRET_KEY=k2
	run box --env NEW="$NEW" -- ./claude
	[[ $output == *ANTHROPIC_API_KEY=k1* ]]
	[[ $output != *k2* ]]
}

# service COMMAND : the stand-in for the real Claude Code's service, which makes it run that; where it is found
service() {
	clients=$(sh "$BATS_TEST_DIRNAME/../../tools/clients.sh" claude 2>&1) || skip "$clients"
	CLAUDE=$clients/claude/node_modules/@anthropic-ai/claude-code-linux-x64/claude
	CMD=$1 LOG=$BASE/api.log node "$BATS_TEST_DIRNAME/../clients/messages-api.mjs" 0 >"$BASE/api.out" 3>&- &
	api=$!
	for _ in $(seq 100); do grep -q ready "$BASE/api.out" && break; sleep 0.05; done
	export ANTHROPIC_BASE_URL=http://api.claude.test:$(sed 's/ready //' "$BASE/api.out") ANTHROPIC_API_KEY=sk-ant-test-000000000000
	export CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 DISABLE_AUTOUPDATER=1
	FLAGS="--bind . --bind $clients:ro --host api.claude.test=127.0.0.1 --allow-host api.claude.test"
}

@test "a real Claude Code works a whole turn: edits the tree, is refused the forbidden names, one event each" {
	service 'sh probe.sh'
	git init -q .
	echo hello >a.txt
	printf 'echo edited >>a.txt\necho x >.env\necho x >id.key\necho x >.git/hooks/pre-commit\necho probed\n' >probe.sh
	# shellcheck disable=SC2086 # words
	run box $FLAGS -- "$CLAUDE" -p 'run the command' --allowedTools Bash --output-format json
	kill $api
	echo "$output"
	[ "$status" -eq 0 ]
	[[ $output == *'"subtype":"success"'* ]]
	[[ $output == *'probed'* ]]
	[ "$(cat a.txt)" = "$(printf 'hello\nedited')" ]
	[ ! -e .env ]
	[ ! -e id.key ]
	[ ! -e .git/hooks/pre-commit ]
	for name in /.env /id.key /.git/hooks/pre-commit; do
		[ "$(violations | grep -c "\"target\":\"[^\"]*$name\"")" -eq 1 ]
	done
	# the service was reached through the session's proxy, by its allowed name
	"$CCBOX" events --json | grep -q '"target":"api.claude.test:'
	grep -q '"host":"api.claude.test' "$BASE/api.log"
}

@test "Claude Code's own screen in a terminal: a turn is typed, its command meets the rules, the answer is shown" {
	service 'echo edited >>a.txt; echo x >.env; cat a.txt'
	echo hello >a.txt
	mkdir -p "$HOME/.claude"
	# what a person has answered once: the welcome, the key, the folder
	printf '{"hasCompletedOnboarding":true,"theme":"dark","customApiKeyResponses":{"approved":["%s"],"rejected":[]},"projects":{"%s":{"hasTrustDialogAccepted":true}}}' \
		"${ANTHROPIC_API_KEY: -20}" "$PWD" >"$HOME/.claude.json"
	echo '{"permissions":{"allow":["Bash"]}}' >"$HOME/.claude/settings.json"
	run env CLAUDE="$CLAUDE" FLAGS="$FLAGS" TERM=xterm-256color timeout 400 /usr/bin/python3 "$BATS_TEST_DIRNAME/terminal.py" claude "$CCBOX"
	kill $api
	echo "$output" | tail -c 4000
	[ "$status" -eq 0 ]
	[ "$(cat a.txt)" = "$(printf 'hello\nedited')" ]
	[ ! -e .env ]
	[ "$(violations | grep -c '"target":"[^"]*/.env"')" -eq 1 ]
}
