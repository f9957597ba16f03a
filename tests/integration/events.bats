#!/usr/bin/env bats
# Events: the seven types, numbered, attributed by the enforcer, one violation a denial.
load lib

@test "all seven types are emitted, numbered without gaps" {
	box --timeout 1 --events "$BASE/ev" -- sh -c 'echo out; echo err >&2; echo x >.env; sleep 30' || true
	python3 - "$BASE/ev" <<-'PY'
		import json, sys
		events = [json.loads(line) for line in open(sys.argv[1])]
		kinds = [e["type"] for e in events]
		for kind in ("stdout", "stderr", "exit", "starting", "ready", "killed", "violation"):
		    assert kind in kinds, kind
		assert [e["seq"] for e in events] == list(range(1, len(events) + 1))
		assert len({e["session"] for e in events}) == 1
		assert kinds[0] == "starting" and kinds[1] == "ready" and kinds[-1] == "exit"
		assert events[-1]["exitCode"] == 124
		violation = next(e for e in events if e["type"] == "violation")["violation"]
		assert violation["action"] == "file-write-create", violation
		assert violation["target"].endswith("/.env") and violation["rule"].startswith("name:")
		assert "--allow-name" in violation["grant"] and violation["process"] == "sh" and violation["spelled"] == ".env"
	PY
}

@test "exit comes after all output" {
	for _ in 1 2 3; do
		box --events "$BASE/ev" -- sh -c 'seq 1 5000; seq 1 3000 >&2' >/dev/null 2>&1
		[ "$(tail -n 1 "$BASE/ev" | grep -c '"type":"exit"')" -eq 1 ]
		rm "$BASE/ev"
	done
}

@test "one violation a denial; the flag it names allows it" {
	box -- sh -c 'echo x >.env' || true
	[ "$(violations | wc -l)" -eq 1 ]
	flag=$(violations | python3 -c 'import json,sys; print(json.load(sys.stdin)["violation"]["grant"])')
	eval "box $flag -- sh -c 'echo x >.env'"
	[ -e .env ]
}

@test "a flood of denials is counted, not dropped, and the first of each rule is there" {
	box -- sh -c 'i=0; while [ $i -lt 3000 ]; do (: >a.pem) 2>/dev/null; i=$((i+1)); done; : >.env' 2>/dev/null || true
	violations | python3 -c '
import json, sys
total, lines, env = 0, 0, 0
for line in sys.stdin:
    v = json.loads(line)["violation"]
    lines += 1
    total += v["count"] if v["target"].endswith("a.pem") else 0
    env += v["target"].endswith("/.env")
assert total == 3000, total
assert lines < 1500, lines
assert env == 1'
}

@test "a denied host is one violation with its flag; an allowed one a notice" {
	run box -- curl -sS -m 5 https://denied.test/
	[ "$status" -ne 0 ]
	violations | grep -q '"target":"denied.test:443"'
	violations | grep -q -- '--allow-host denied.test'
}

@test "the agent cannot forge an event by writing one" {
	box --events "$BASE/ev" -- sh -c 'echo "{\"type\":\"violation\"}"; echo "{\"m\":\"violation\"}" >&2' >/dev/null 2>&1
	[ "$(grep -c '"type":"violation"' "$BASE/ev")" -eq 0 ]
}

@test "binary output travels as base64 in events and unchanged on the stream" {
	box --events "$BASE/ev" -- printf '\377\000x' >out
	[ "$(od -An -tx1 out | tr -d ' ')" = ff0078 ]
	grep -q '"encoding":"base64"' "$BASE/ev"
}

@test "events shows the newest session, or the one named, to a person and as JSON" {
	box -- sh -c 'echo x >.env' 2>/dev/null || true
	run "$CCBOX" events
	[[ $output == *"refused file-write-create"* ]]
	[[ $output == *"allow with: --allow-name"* ]]
	session=$("$CCBOX" events --json | head -n 1 | python3 -c 'import json,sys; print(json.load(sys.stdin)["session"])')
	box -- true
	run "$CCBOX" events "$session"
	[[ $output == *"refused file-write-create"* ]]
	run "$CCBOX" events no-such-session
	[ "$status" -eq 125 ]
}

@test "the default log holds no output of the command" {
	box -- echo very-private-output
	run "$CCBOX" events --json
	[[ $output != *very-private-output* ]]
	[ "$(stat -c %a "$XDG_STATE_HOME"/ccbox/events/*.jsonl)" = 600 ]
}

@test "a full disk of events does not stop the command, --events to a closed descriptor is refused" {
	run box --events /dev/full -- echo fine
	[[ $output == *fine* ]]
	run "$CCBOX" run --events fd:77 -- touch started
	[ "$status" -eq 125 ]
	[ ! -e started ]
}
