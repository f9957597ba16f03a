#!/usr/bin/env bats
# Codex, Gemini CLI and OpenCode themselves, run through the daemon against a stand-in for their services.
load lib
load server

setup_more() { with_agents; }

# agent NAME PROGRAM COMMAND : the agent, what its service makes it run, and the daemon; its settings are in place before
agent() {
	clients=$(sh "$BATS_TEST_DIRNAME/../../tools/clients.sh" "$1" 2>&1) || skip "$clients"
	ln -s "$clients/$1/node_modules/$2" "$BASE/bin/$1"
	CMD=$3 LOG=$BASE/api.log node "$BATS_TEST_DIRNAME/../clients/openai-gemini-api.mjs" 0 >"$BASE/api.out" 3>&- &
	API=$!
	for _ in $(seq 100); do grep -q ready "$BASE/api.out" && break; sleep 0.05; done
	SERVICE=http://api.agent.test:$(sed 's/ready //' "$BASE/api.out")
	echo "{\"filesystem\":{\"allowRead\":[\"$BASE/bin\",\"$clients\"]},\"network\":{\"hosts\":{\"api.agent.test\":[\"127.0.0.1\"]},
		\"allowedDomains\":[\"api.agent.test\"]}}" >"$XDG_CONFIG_HOME/ccbox/policy.jsonc"
}
teardown_more() { [ -z "${API:-}" ] || kill "$API" 2>/dev/null || true; }

look() { api GET "/v1/runs/$RUN" | field "$1"; }

# turn NAME [MEMBERS] : a run in a copy, to its end, whatever it asks allowed; its record in $lines
turn() {
	RUN=$(api POST /v1/runs -d "{\"agent\":\"$1\",\"prompt\":\"run the command\",\"repo\":\"$PWD\"${2:+,$2}}" | field runId)
	for _ in $(seq 600); do
		[[ $(api GET "/v1/runs/$RUN") == *'"questions":[]'* || $(look state) == ended ]] || "$CCBOX" agent approve "$RUN" 2>/dev/null || true
		[ "$(look state)" != ended ] || break
		sleep 0.1
	done
	lines=$(timeout 100 curl -sS --unix-socket "$SOCK" "http://ccbox/v1/runs/$RUN/events?format=lines")
	echo "$lines" | cut -c1-600
}

# Each works a whole turn: changes its copy, is refused a name by one event, and leaves nothing; in plan it changes nothing.
whole_turn() {
	turn "$1"
	grep -q '"record":"end","exitCode":0,"reason":"finished".*"changed":true' <<<"$lines"
	[ "$(grep -c '"type":"sandboxViolation".*"target":"[^"]*/.env"' <<<"$lines")" -eq 1 ]
	# what it says comes in pieces, which one event or two take up
	grep -q '"type":"text".*probed' <<<"$lines"
	api GET "/v1/runs/$RUN/diff" | grep -q '+edited'
	[ "$(cat a.txt)" = hello ]
	nothing_left
	turn "$1" '"mode":"plan"'
	grep -q '"changed":false' <<<"$lines"
	turn "$1" '"actions":{"networkEgress":"deny"},"silenceSeconds":20'
	! grep -q 'DONE ' <<<"$lines" || false
	nothing_left
	down
}
PROBE='echo edited >>a.txt; echo x >.env; echo probed'

@test "Codex" {
	agent codex .bin/codex "$PROBE"
	mkdir -p "$HOME/.codex"
	printf 'model = "m"\nmodel_provider = "t"\n[model_providers.t]\nname = "t"\nbase_url = "%s/v1"\nwire_api = "responses"\nenv_key = "OPENAI_API_KEY"\n' "$SERVICE" \
		>"$HOME/.codex/config.toml"
	export OPENAI_API_KEY=sk-test
	daemon
	whole_turn codex
}

@test "Gemini CLI" {
	agent gemini .bin/gemini "$PROBE"
	mkdir -p "$HOME/.gemini"
	echo '{"security":{"auth":{"selectedType":"gemini-api-key"}}}' >"$HOME/.gemini/settings.json"
	export GOOGLE_GEMINI_BASE_URL=$SERVICE GEMINI_API_KEY=k
	daemon
	whole_turn gemini
}

@test "OpenCode" {
	agent opencode opencode-linux-x64/bin/opencode "$PROBE"
	mkdir -p "$HOME/.config/opencode"
	cat >"$HOME/.config/opencode/opencode.json" <<-JSON
		{"model": "t/m", "provider": {"t": {"npm": "@ai-sdk/openai-compatible", "name": "t", "options": {"baseURL": "$SERVICE/v1", "apiKey": "k"},
		  "models": {"m": {"name": "m"}}}}}
	JSON
	unset XDG_CONFIG_HOME
	mkdir -p "$HOME/.config/ccbox"
	mv "$BASE/config/ccbox/policy.jsonc" "$HOME/.config/ccbox/"
	export OPENCODE_DISABLE_MODELS_FETCH=1
	daemon
	whole_turn opencode
}

# Without us but for its bubblewrap: a script in its place (README). Neither that nor Codex' home may lie where its sandbox writes.
@test "Codex with its own sandbox: its commands meet the rules about names" {
	agent codex .bin/codex "echo edited >>a.txt; echo x >.env; mkdir d; echo x >d/x.pem; echo \"in \$CCBOX_SESSION\""
	PLACE=$(mktemp -d /var/tmp/ccbox-it.XXXXXX)
	printf '#!/bin/sh\nexec "%s" bwrap "$@"\n' "$CCBOX" >"$PLACE/bwrap"
	chmod 755 "$PLACE/bwrap"
	mkdir "$PLACE/home"
	printf 'model = "m"\nmodel_provider = "t"\n[model_providers.t]\nname = "t"\nbase_url = "http://127.0.0.1:%s/v1"\nwire_api = "responses"\nenv_key = "OPENAI_API_KEY"\n' \
		"${SERVICE##*:}" >"$PLACE/home/config.toml"
	CODEX_HOME=$PLACE/home OPENAI_API_KEY=sk-test PATH=$PLACE:$PATH run timeout 100 codex exec --skip-git-repo-check -s workspace-write 'run it' </dev/null
	rm -rf "$PLACE"
	echo "$output"
	[[ $output == *"in run-20"* && $output == *"name:**/.env"* && $output == *"name:**/*.pem"* ]]
	[ "$(tail -n 1 a.txt)" = edited ]
	[ ! -e .env ]
	[ -z "$(ls -A d)" ]
}
