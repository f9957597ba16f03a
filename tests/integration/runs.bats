#!/usr/bin/env bats
# Runs of agents through the daemon: Claude Code and claude-agent-acp themselves against a stand-in for their service, and a
# stand-in for an agent where a certain behaviour is wanted.
load lib
load server
bats_require_minimum_version 1.5.0

setup_more() { with_agents; }

# policy DIRECTORY... : what the sessions see besides
policy() {
	local list
	list=$(printf ',"%s"' "$BASE/bin" "$@")
	echo "{\"filesystem\":{\"allowRead\":[${list#,}]},\"network\":{\"hosts\":{\"api.claude.test\":[\"127.0.0.1\"]},\"allowedDomains\":[\"api.claude.test\"]}}" \
		>"$XDG_CONFIG_HOME/ccbox/policy.jsonc"
}

# fake [DAEMON'S OPTIONS] : the stand-in for agents, and the daemon
fake() {
	rm -f "$BASE"/bin/* # they may be links to the real ones
	cp "$BATS_TEST_DIRNAME/../clients/fake_agent.py" "$BASE/bin/claude"
	cp "$BATS_TEST_DIRNAME/../clients/fake_agent.py" "$BASE/bin/claude-agent-acp"
	chmod 755 "$BASE/bin/claude" "$BASE/bin/claude-agent-acp"
	policy
	daemon "$@"
}

# real COMMAND : the agents themselves, whose service makes them run COMMAND, and the daemon
real() {
	clients=$(sh "$BATS_TEST_DIRNAME/../../tools/clients.sh" claude claude-acp 2>&1) || skip "$clients"
	ln -s "$clients/claude/node_modules/@anthropic-ai/claude-code-linux-x64/claude" "$BASE/bin/claude"
	ln -s "$clients/claude-acp/node_modules/.bin/claude-agent-acp" "$BASE/bin/claude-agent-acp"
	policy "$clients"
	CMD=$1 LOG=$BASE/api.log node "$BATS_TEST_DIRNAME/../clients/messages-api.mjs" 0 >"$BASE/api.out" 3>&- &
	API=$!
	for _ in $(seq 100); do grep -q ready "$BASE/api.out" && break; sleep 0.05; done
	export ANTHROPIC_BASE_URL=http://api.claude.test:$(sed 's/ready //' "$BASE/api.out") ANTHROPIC_API_KEY=sk-ant-test
	export CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 DISABLE_AUTOUPDATER=1
	daemon
}

teardown_more() { [ -z "${API:-}" ] || kill "$API" 2>/dev/null || true; }

# begin AGENT PROMPT [MEMBERS] : its id, in RUN
begin() {
	RUN=$(api POST /v1/runs -d "{\"agent\":\"$1\",\"prompt\":\"$2\",\"directory\":\"$PWD\"${3:+,$3}}" | field runId)
	[[ $RUN == r-* ]]
}
look() { api GET "/v1/runs/$RUN" | field "$1"; }

@test "Claude Code works a whole turn: edits the tree, is refused a name, one event; nothing is left" {
	real 'echo edited >>a.txt; echo x >.env; cat a.txt'
	begin claude "run the command"
	lines=$(record)
	echo "$lines"
	[ "$(look exitCode)" = 0 ]
	[ "$(look reason)" = finished ]
	[ "$(look backend)" = native ]
	[ "$(cat a.txt)" = "$(printf 'hello\nedited')" ]
	[ ! -e .env ]
	[ "$(grep -c '"type":"sandboxViolation".*"target":"[^"]*/.env"' <<<"$lines")" -eq 1 ]
	grep -q '"type":"ready","backend":"native","sandboxed":true,"environment":"built"' <<<"$lines"
	grep -q '"type":"toolCall","id":"toolu_1","tool":"Bash","input":{"command":"echo edited' <<<"$lines"
	grep -q '"type":"decision","tool":"Bash","decision":"allow","by":"rule"' <<<"$lines"
	grep -q '"type":"toolResult".*hello' <<<"$lines"
	grep -q '"type":"text","content":"DONE is_error=false' <<<"$lines"
	grep -q '"record":"end","exitCode":0,"reason":"finished".*"violations":1' <<<"$lines"
	# numbered without gaps
	[ "$(grep -o '^{"v":1,"seq":[0-9]*' <<<"$lines" | cut -d: -f3 | tr '\n' ' ')" = "$(seq -s ' ' "$(wc -l <<<"$lines")") " ]
	nothing_left
	down
}

@test "Claude Code in plan cannot change the tree, by rule and by mount" {
	real 'echo x >>a.txt'
	before=$(tree_hash .)
	begin claude "run the command" '"mode":"plan"'
	lines=$(record)
	grep -q '"decision":"deny","by":"rule","rule":"command: a redirection' <<<"$lines"
	[ "$(look exitCode)" = 0 ]
	[ "$(tree_hash .)" = "$before" ]
	down
	# and what asks nobody meets the mount
	fake
	begin claude "run echo x >>a.txt" '"mode":"review"'
	record | grep -q 'Read-only file system\|Permission denied'
	[ "$(tree_hash .)" = "$before" ]
	down
}

@test "a question goes out as an event and waits: allowed, refused, and refused by the clock" {
	real 'gh pr create; echo ran'
	begin claude "run the command"
	until_says '"type":"approval","tool":"Bash","approval":1,"rule":"action: prCreate'
	api GET "/v1/runs/$RUN" | grep -q '"questions":\[1\]'
	"$CCBOX" agent approve "$RUN"
	lines=$(record)
	grep -q '"type":"decision","approval":1,"decision":"allow","by":"person"' <<<"$lines"
	grep -q '"type":"toolResult".*ran' <<<"$lines"
	begin claude "run the command"
	until_says '"type":"approval"'
	run "$CCBOX" agent approve "$RUN" 9
	[ "$status" -eq 125 ]
	"$CCBOX" agent approve "$RUN" 1 --deny
	lines=$(record)
	grep -q '"decision":"deny","by":"person"' <<<"$lines"
	grep -q '"isError":true,"content":"ccbox: the person said no"' <<<"$lines"
	begin claude "run the command" '"approvalSeconds":1'
	lines=$(record)
	grep -q '"decision":"deny","by":"timeout"' <<<"$lines"
	grep -q '"isError":true' <<<"$lines"
	# a rule of the run in the place of the person
	begin claude "run the command" '"actions":{"prCreate":"allow"}'
	record | grep -q '"type":"toolResult".*ran'
	begin claude "run the command" '"actions":{"prCreate":"deny"}'
	record | grep -q '"decision":"deny","by":"rule","rule":"action: prCreate space"'
	down
}

@test "settings of the tree that allow a tool do not pass the rules" {
	real 'gh pr create'
	mkdir .claude
	echo '{"permissions":{"allow":["Bash(gh pr create)","Bash"]}}' >.claude/settings.json
	begin claude "run the command" '"approvalSeconds":1'
	record | grep -q '"decision":"deny","by":"timeout"'
	down
}

@test "claude-agent-acp works a whole turn, its questions are answered by the same rules" {
	real 'echo edited >>a.txt; echo x >.env; cat a.txt'
	begin claude-acp "run the command"
	lines=$(record)
	echo "$lines"
	[ "$(look exitCode)" = 0 ]
	[ "$(cat a.txt)" = "$(printf 'hello\nedited')" ]
	grep -q '"type":"decision","tool":"Bash","decision":"allow"' <<<"$lines"
	grep -q '"type":"sandboxViolation".*/.env' <<<"$lines"
	grep -q '"type":"toolResult","id":"toolu_1","tool":"Bash"' <<<"$lines"
	down
}

@test "ccbox agent run: what is said on standard output, the rest beside it, the exit code the agent's" {
	fake
	run "$CCBOX" agent run --in . claude say "$(printf 'two\nlines\033[31m')"
	[ "$status" -eq 0 ]
	echo "$output"
	[[ $output == *"native sandbox, in $PWD"* ]]
	[[ $output == *$'two\nlines\\x1b[31m'* ]]
	[ "$("$CCBOX" agent run --in . claude say out 2>/dev/null)" = out ]
	run "$CCBOX" agent run --in . claude exit 7
	[ "$status" -eq 7 ]
	run -127 "$CCBOX" agent run --in . codex x
	run "$CCBOX" agent run --in . --model=x claude x
	[ "$status" -eq 125 ]
	run "$CCBOX" agent run --in . --model --dangerously-skip-permissions claude say x
	[ "$status" -eq 126 ]
	run "$CCBOX" agent run --in . --action gitPush=maybe claude say x
	[ "$status" -eq 125 ]
	run "$CCBOX" agent run --in "$BASE/none" claude say x
	[ "$status" -eq 125 ]
	run "$CCBOX" runs
	[[ $output == *claude*chat*native*ended*"say out"* ]]
	id=$("$CCBOX" agent run --in . --detach claude say later)
	"$CCBOX" runs "$id" --follow --json | grep -q '"content":"later"'
	"$CCBOX" runs "$id" | grep -q later
	# no line of an agent's begins as one of ours
	for words in "ccbox: run r-0: ended, exit 0" "  CCBOX: x"; do
		run "$CCBOX" agent run --in . claude say "$(printf 'one\n%s' "$words")"
		echo "$output"
		[[ $output == *$'one\n| '"$words"* ]]
	done
	down
}

@test "a further word reaches the agent in its turn" {
	fake
	begin claude "tell me"
	until_says '"type":"ready"'
	for _ in $(seq 100); do "$CCBOX" agent steer "$RUN" more of it 2>/dev/null && until_says '"type":"steer"' && break; sleep 0.05; done
	lines=$(record)
	grep -q '"type":"steer","content":"more of it"' <<<"$lines"
	grep -q 'heard more of it' <<<"$lines"
	run "$CCBOX" agent steer "$RUN" late
	[ "$status" -eq 125 ]
	down
}

@test "an agent that says nothing is ended; one that is told to stop, with all it has started; ^C is a stop" {
	fake
	begin claude hang '"silenceSeconds":1'
	record | grep -q '"record":"end","exitCode":137,"reason":"silence"'
	nothing_left
	begin claude hang
	until_says hanging
	"$CCBOX" agent stop "$RUN"
	record | grep -q '"record":"end","exitCode":137,"reason":"stopped"'
	nothing_left
	"$CCBOX" agent run --in . claude hang >"$BASE/out" 2>&1 &
	pid=$!
	for _ in $(seq 200); do grep -q hanging "$BASE/out" && break; sleep 0.05; done
	kill -INT $pid
	wait $pid || [ $? -eq 137 ]
	grep -q 'stopped, exit 137' "$BASE/out"
	nothing_left
	down
}

@test "a question waits for a person, or for the clock; in a mode that reads it is a no, and nothing is changed" {
	fake
	begin claude ask
	until_says '"type":"approval","tool":"mcp__x","approval":1,"rule":"action: prCreate default"'
	"$CCBOX" agent approve "$RUN"
	record | grep -q '"decision":"allow","by":"person"'
	[ -e new.txt ]
	# what a person could not see whole is not asked about
	begin claude "ask $(printf '%03000d')"
	record | grep -q '"decision":"deny","by":"limit"'
	begin claude ask '"approvalSeconds":1'
	record | grep -q '"decision":"deny","by":"timeout"'
	before=$(tree_hash .)
	begin claude ask '"mode":"plan"'
	lines=$(record)
	grep -q '"decision":"deny","by":"rule"' <<<"$lines"
	grep -q 'onerror=alert(1)> deny' <<<"$lines"
	begin claude "run echo x >>a.txt" '"mode":"orchestrate"'
	record | grep -q 'Read-only file system\|Permission denied'
	[ "$(tree_hash .)" = "$before" ]
	down
}

@test "actions of the policy files: the strictest holds, whatever the run asks for; a milder one takes the default's place" {
	fake
	# says LIST : adds actions to the person's policy
	says() { policy; sed -i "s/^{/{\"actions\":[$1],/" "$XDG_CONFIG_HOME/ccbox/policy.jsonc"; }
	says '"prCreate=deny"'
	begin claude ask '"actions":{"prCreate":"allow"}'
	record | grep -q '"decision":"deny","by":"rule","rule":"action: prCreate policy"'
	# the run's own may be stricter than the file's
	says '"prCreate=allow"'
	begin claude ask '"actions":{"prCreate":"deny"}'
	record | grep -q '"decision":"deny","by":"rule","rule":"action: prCreate space"'
	# without it there is nothing left to ask about but the unknown tool
	begin claude ask '"approvalSeconds":1'
	record | grep -q '"type":"approval".*"rule":"tool: not known'
	# the project can be stricter than the person, never milder
	echo '{"actions": ["prCreate=deny"]}' >.ccbox.jsonc
	begin claude ask
	record | grep -q '"decision":"deny","by":"rule","rule":"action: prCreate policy"'
	echo '{"actions": ["prCreate=allow"]}' >.ccbox.jsonc
	begin claude ask
	record | grep -q 'a project file may only tighten, not say prCreate=allow'
	rm .ccbox.jsonc
	# no network where the file says so
	says '"networkEgress=deny"'
	begin claude "run curl -sSf -m 10 http://api.claude.test/" '"actions":{"networkEgress":"allow"}'
	record | grep -q '"type":"text".*status [1-9]'
	# a word that is none: no run
	says '"prCreat=deny"'
	begin claude ask
	record | grep -q 'no action is called'
	[ "$(look exitCode)" != 0 ]
	down
}

@test "what an agent writes is no record: rubbish, a forged end, a line without an end" {
	fake
	begin claude junk
	lines=$(record)
	grep -q '"type":"text","content":"not json ' <<<"$lines"
	[ "$(grep -c '"record":"end"' <<<"$lines")" -eq 1 ]
	python3 -c 'import json,sys; [json.loads(l) for l in sys.stdin]' <<<"$lines"
	begin claude long
	record | grep -q '"record":"end","exitCode":1[0-9]*,"reason":"failed"'
	nothing_left
	api GET /healthz | grep -q '"ok"'
	down
}

@test "secrets that an agent says or is told are not in the record, which is the owner's alone" {
	fake
	begin claude "say use ghp_012345678901234567890123456789012345 and GH_TOKEN=abcdef please"
	lines=$(record)
	file=$BASE/data/ccbox-server/runs/$RUN.ndjson
	[ "$(stat -c %a "$file")" = 600 ]
	[ "$(grep -c 'ghp_0123\|abcdef' "$file")" -eq 0 ]
	grep -q '"content":"use \[redacted\] and GH_TOKEN=\[redacted\] please"' "$file"
	[ "$lines" = "$(cat "$file")" ]
	! grep -qa 'ghp_0123' "$BASE/data/ccbox-server/server.db"* || false
	down
}

@test "no network where the rule says so, and none of the host's secrets; what was dropped is named" {
	export STRIPE_SECRET_KEY=hunter2 MY_GRANT=given
	fake
	begin claude "run curl -sSf -m 10 http://api.claude.test/" '"actions":{"networkEgress":"deny"},"env":["MY_GRANT"]'
	lines=$(record)
	grep -q '"network":false' <<<"$lines"
	grep -q '"type":"text","content":"status [1-9]' <<<"$lines"
	grep -q '"dropped":\[[^]]*"STRIPE_SECRET_KEY"' <<<"$lines"
	[[ $lines != *hunter2* ]]
	begin claude env '"env":["MY_GRANT"]'
	lines=$(record | grep '"type":"text"')
	[[ $lines == *MY_GRANT* && $lines != *STRIPE* ]]
	down
}

@test "without a sandbox: said in the record and to the person; Claude inherits, ACP is sanitised" {
	export STRIPE_SECRET_KEY=hunter2 NODE_OPTIONS=--no-warnings
	fake --sandbox off
	run "$CCBOX" agent run --in . claude env
	[[ $output == *"NO SANDBOX"* ]]
	[[ $output == *NODE_OPTIONS*STRIPE_SECRET_KEY* ]]
	begin claude-acp x
	lines=$(record)
	grep -q '"backend":"none","sandboxed":false,"environment":"sanitised".*"dropped":\[[^]]*"NODE_OPTIONS"' <<<"$lines"
	[ "$(look backend)" = none ]
	lines=$(grep '"type":"text"' <<<"$lines")
	[[ $lines == *STRIPE_SECRET_KEY* && $lines != *NODE_OPTIONS* ]]
	begin claude env '"backend":"none"'
	record | grep -q '"environment":"inherited"'
	begin claude hang '"backend":"none"'
	until_says hanging
	"$CCBOX" agent stop "$RUN"
	record | grep -q '"reason":"stopped"'
	nothing_left
	down
}

# pid of a program of this test
pid_of() {
	local pid
	for pid in $(pgrep -u "$(id -u)" -f "$1"); do
		grep -qzsF "$BASE" "/proc/$pid/environ" && { echo "$pid"; return 0; }
	done
	return 1
}

@test "SIGKILL of the runner: its session ends, the run is lost, the others go on" {
	fake
	begin claude hang
	first=$RUN
	until_says hanging
	kill -KILL "$(pid_of cc-run)"
	record | grep -q '"record":"end","exitCode":125,"reason":"lost"'
	[ "$(look state)" = lost ]
	nothing_left
	api GET "/v1/sandboxes/$first" | grep -q destroyed
	begin claude "say on"
	record | grep -q '"content":"on"'
	down
}

@test "SIGKILL of the session's owner: the run says so" {
	fake
	begin claude hang
	until_says hanging
	kill -KILL "$(pid_of cc-session)"
	record | grep -q '"record":"end","exitCode":137,"reason":"sandbox-lost"'
	nothing_left
	down
}

@test "SIGKILL of the agent alone, from outside: the run failed, what it had started goes too" {
	fake
	begin claude hang
	until_says hanging
	agent=
	for pid in $(pgrep -u "$(id -u)" -f "$BASE/bin/claude"); do
		[[ $(tr '\0' ' ' <"/proc/$pid/cmdline") != *python3\ "$BASE"/bin/claude* ]] || agent=$pid
	done
	kill -KILL "$agent"
	record | grep -q '"record":"end","exitCode":137,"reason":"failed"'
	nothing_left
	no pgrep -u "$(id -u)" -f "$BASE/bin/claude"
	down
}

@test "SIGKILL of the daemon: nothing is left, and the next one records the run as lost" {
	fake
	begin claude hang
	until_says hanging
	kill -KILL "$SERVER"
	wait "$SERVER" || true
	nothing_left
	daemon
	[ "$(look state)" = lost ]
	lines=$(record)
	grep -q '"content":"hanging"' <<<"$lines"
	[[ $(tail -n 1 <<<"$lines") == *'"record":"end","exitCode":125,"reason":"lost","content":"the server ended without it"'* ]]
	[ "$(grep -o '^{"v":1,"seq":[0-9]*' <<<"$lines" | cut -d: -f3 | tr '\n' ' ')" = "$(seq -s ' ' "$(wc -l <<<"$lines")") " ]
	down
}

@test "the daemon that goes down ends its runs first, and records it" {
	fake
	begin claude hang
	until_says hanging
	down
	grep -q '"reason":"stopped"' "$BASE/data/ccbox-server/runs/$RUN.ndjson"
	nothing_left
}

# in_copy PROMPT [MEMBERS] : a run in a copy of the project; its id, in RUN
in_copy() {
	RUN=$(api POST /v1/runs -d "{\"agent\":\"claude\",\"prompt\":\"$1\",\"repo\":\"$PWD\"${2:+,$2}}" | field runId)
	[[ $RUN == r-* ]]
}
copies() { ls "$XDG_STATE_HOME/ccbox-copies" 2>/dev/null; }

@test "a run works in a copy of the checkout; what it committed and what it did not wait as one branch, with a diff" {
	fake
	before=$(tree_hash .)
	run "$CCBOX" agent run claude run 'echo two >>a.txt; git commit -qam two; echo three >b.txt; echo x >.env; git log --format=%s; pwd'
	echo "$output"
	[ "$status" -eq 0 ]
	[[ $output == *"2 files changed"* ]]
	[[ $output == *"on branch cc/run/r-"* ]]
	[ "$(tree_hash .)" = "$before" ]
	RUN=$(api GET /v1/runs | python3 -c 'import json,sys; print(json.load(sys.stdin)["runs"][0]["runId"])')
	lines=$(record)
	grep -q '"copy":"\(borrowed\|reflink\)"' <<<"$lines"
	grep -q '"record":"end","exitCode":0.*"changed":true,"rescued":true,"branch":"cc/run/'"$RUN"'".*"commits":2' <<<"$lines"
	api GET "/v1/runs/$RUN/diff" | python3 -c '
import json, sys
diff = json.load(sys.stdin)["diff"]
assert "+two" in diff and "b/b.txt" in diff and ".env" not in diff, diff'
	# the person looks at it and takes it
	"$CCBOX" apply "$RUN"
	[ "$(git log --format=%s -n 3 "cc/run/$RUN" | tail -n 2 | tr '\n' ' ')" = "two one " ]
	[ "$(git show "cc/run/$RUN:b.txt")" = three ]
	[ "$(cat a.txt)" = hello ]
	nothing_left
	# one that changed nothing leaves nothing
	run "$CCBOX" agent run claude say nothing
	[ "$status" -eq 0 ]
	RUN=$(api GET /v1/runs | python3 -c 'import json,sys; print(json.load(sys.stdin)["runs"][0]["runId"])')
	record | grep -q '"changed":false'
	[ "$(status api GET "/v1/runs/$RUN/diff")" = 404 ]
	! copies | grep -q "$RUN" || false
	down
}

@test "Claude Code itself commits in its copy" {
	real 'echo two >>a.txt; git commit -qam two; git log --format=%s'
	in_copy "run the command"
	lines=$(record)
	echo "$lines"
	grep -q '"type":"toolResult".*two\\none' <<<"$lines"
	grep -q '"changed":true,"rescued":false,"branch"' <<<"$lines"
	[ "$(cat a.txt)" = hello ]
	down
}

@test "two runs at once on one repository: neither sees the other, nor the checkout; a number of the list is a repository too" {
	fake
	"$CCBOX" repo add .
	in_copy "run echo mine >own.txt; for i in 1 2 3 4 5 6 7 8 9 10; do sleep 0.1; done; ls; cat '$PWD/a.txt'; ls $XDG_STATE_HOME/ccbox-copies/*/tree"
	one=$RUN
	RUN=$(api POST /v1/runs -d '{"agent":"claude","prompt":"run echo theirs >other.txt; sleep 1; ls","repo":"1"}' | field runId)
	two=$(record | grep '"type":"text"')
	RUN=$one
	one=$(record | grep '"type":"text"')
	echo "$one $two"
	[[ $one == *own.txt* && $one != *other.txt* && $one == *"No such file"* ]]
	[[ $two == *other.txt* && $two != *own.txt* ]]
	[ ! -e own.txt ]
	[ ! -e other.txt ]
	# a directory that is registered is nobody's to write, by any way
	begin claude "run echo x >>a.txt"
	record | grep -q 'denied\|Read-only'
	[ "$(cat a.txt)" = hello ]
	[ "$(api POST /v1/runs -d '{"agent":"claude","prompt":"x","repo":"77"}' | field code)" = not-found ]
	down
}

@test "what a killed run had done is not lost: it waits as a branch after the next one" {
	fake
	in_copy 'run echo kept >kept.txt; sleep 1000'
	lost=$RUN
	until_says '"type":"ready"'
	for _ in $(seq 200); do [ -e "$XDG_STATE_HOME/ccbox-copies/$RUN/tree/kept.txt" ] && break; sleep 0.05; done
	kill -KILL "$(pid_of cc-run)"
	record | grep -q '"reason":"lost"'
	nothing_left
	in_copy "say next"
	record >/dev/null
	"$CCBOX" apply | grep -q "$lost"
	"$CCBOX" apply "$lost"
	[ "$(git show "cc/run/$lost:kept.txt")" = kept ]
	down
}

@test "no copy, no run: a place that is no repository, a revision that is not there" {
	fake
	run "$CCBOX" agent run --base nothing claude say x
	[ "$status" -eq 125 ]
	[[ $output == *nothing* ]]
	mkdir "$BASE/plain"
	run "$CCBOX" agent run --repo "$BASE/plain" claude say x
	[ "$status" -eq 125 ]
	[ -z "$(copies | grep r-)" ]
	down
}
