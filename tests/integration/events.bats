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

@test "each refusal says what, where, as it was written, who, by which rule, and the flag" {
	echo S=1 >.env
	mkdir d
	ln -s d l
	ln -s .env alias
	echo x >plain
	python3 -c 'import socket, time; s = socket.socket(socket.AF_UNIX); s.bind("host.sock"); s.listen(); time.sleep(20)' &
	listener=$!
	for _ in $(seq 100); do [ -S host.sock ] && break; sleep 0.05; done
	cat >try.py <<'END'
import os, socket
def t(call, *args):
    try: call(*args)
    except OSError: pass
t(os.mkdir, "l/.env")
t(os.open, "alias", os.O_WRONLY)
t(os.open, "l/../l/.env", os.O_WRONLY | os.O_CREAT)
t(os.rename, ".env", "free")
t(os.rename, "plain", "./.env")
t(os.link, "d/../.env", "free")
t(os.symlink, "plain", "l/k.key")
t(os.unlink, "./.env")
t(os.truncate, "alias", 0)
t(os.chmod, "alias", 0o777)
t(os.mkdir, ".vscode")
t(socket.socket(socket.AF_UNIX).connect, "./host.sock")
t(os.mkdir, "/usr/made")
END
	box -- python3 try.py
	kill $listener
	violations | python3 -c '
import json, os, sys
top = os.getcwd()
want = [("file-write-create", "d/.env", "l/.env", "name:**/.env", "--allow-name"),
        ("file-write-data", ".env", "alias", "name:**/.env", "--allow-name"),
        ("file-write-create", "d/.env", "l/../l/.env", "name:**/.env", "--allow-name"),
        ("file-write-unlink", ".env", ".env", "name:**/.env", "--allow-name"),
        ("file-write-create", ".env", "./.env", "name:**/.env", "--allow-name"),
        ("file-write-create", ".env", "d/../.env", "name:**/.env", "--allow-name"),
        ("file-write-create", "d/k.key", "l/k.key", "name:**/*.key", "--allow-name"),
        ("file-write-unlink", ".env", "./.env", "name:**/.env", "--allow-name"),
        ("file-write-data", ".env", "alias", "name:**/.env", "--allow-name"),
        ("file-write-mode", ".env", "alias", "name:**/.env", "--allow-name"),
        ("file-write-create", ".vscode", ".vscode", "tool:editor", "--allow-path"),
        ("network-outbound", "host.sock", "./host.sock", "socket:host", "--allow-socket"),
        ("file-write-create", "/usr/made", "/usr/made", "mount:outside", None)]
seen = [json.loads(line)["violation"] for line in sys.stdin]
for action, target, spelled, rule, flag in want:
    path = target if target[0] == "/" else os.path.join(top, target)
    found = [v for v in seen if v["spelled"] == spelled and v["target"] == path]
    assert found, (target, spelled, seen)
    v = found[0] if len(found) == 1 else next(v for v in found if v["action"] == action)
    assert v["rule"] == rule and v["pid"] > 0 and v["process"].startswith("python"), v
    assert v["action"] == action, (action, v)
    assert (v.get("grant") or "").split(" ")[0] == (flag or ""), v
assert len(seen) == len(want), (len(seen), seen)'
}

@test "learn: refused all the same; the policy it prints lets the next run through" {
	cat >"$BASE/work.sh" <<'END'
set -e
echo S=1 >.env
mkdir -p .vscode deep/x.pem
echo '{}' >.vscode/settings.json
echo a >.vscode/tasks.json
echo k >"deep/it's a.key"
END
	cp "$BASE/work.sh" .
	cp work.sh plain.sh
	run box --learn -- sh work.sh
	[ "$status" -ne 0 ]
	[ ! -e .env ]
	policies=()
	# a script that stops at the first refusal is learned step by step
	for turn in 1 2 3 4 5 6; do
		run "$CCBOX" run --quiet --learn "${policies[@]}" -- sh work.sh
		[ "$status" -ne 0 ] || break
		kept=$(sed -n 's/^ccbox: learned, and kept as \(.*\):$/\1/p' <<<"$output")
		[ -s "$kept" ]
		"$CCBOX" policy check "$kept"
		policies+=(--policy "$kept")
	done
	[ "$status" -eq 0 ]
	[[ $output == *"nothing was refused"* ]]
	[ "$(cat .env)" = S=1 ]
	[ -e .vscode/tasks.json ]
	[ -e "deep/it's a.key" ]
	rm -rf .env .vscode deep
	# one that carries on is learned at once, and only what it needed
	sed -i 's/^set -e$/set +e/' work.sh
	run "$CCBOX" run --quiet --learn -- sh work.sh
	kept=$(sed -n 's/^ccbox: learned, and kept as \(.*\):$/\1/p' <<<"$output")
	python3 - "$kept" <<'END'
import json, sys
text = "".join(line for line in open(sys.argv[1]) if not line.startswith("//"))
got = json.loads(text)
assert set(got) == {"filesystem"}, got
names = got["filesystem"]["allowNames"]
assert sorted(names) == ["**/.env", "**/it's a.key", "**/x.pem"], names
assert [p.rsplit("/", 1)[1] for p in got["filesystem"]["allowPaths"]] == [".vscode"], got
END
	rm -rf .env .vscode deep
	run box --policy "$kept" -- sh work.sh
	[ -e .env ]
	[ -e .vscode/settings.json ]
	[ -d deep/x.pem ]
}

@test "learn: what nothing opens is said, never proposed; nothing refused needs no policy" {
	git init -q .
	run "$CCBOX" run --quiet --learn -- sh -c 'mkfifo f; git config core.fsmonitor x; echo x >/usr/made; exit 0'
	[ "$status" -eq 0 ]
	[[ $output == *"// Nothing of what this run was refused can be opened."* ]]
	[[ $output == *"//   refused file-write-create $PWD/f; rule bind:no-fifo"* ]]
	[[ $output == *"core.fsmonitor is not one of the keys"* ]]
	[[ $output == *"/usr/made; rule mount:outside"* ]]
	[[ $output != *allowNames* && $output != *allowPaths* ]]
	run "$CCBOX" run --quiet --learn -- true
	[ "$output" = "ccbox: nothing was refused: no policy is needed" ]
}

@test "learn: hosts, and a flood of different names" {
	run "$CCBOX" run --quiet --learn -- sh -c 'curl -sS -m 5 https://denied.test/; curl -sS -m 5 https://other.test:8443/; exit 0'
	[[ $output == *'"allowedDomains": ["denied.test","other.test'* ]]
	run "$CCBOX" run --quiet --learn -- sh -c 'i=0; while [ $i -lt 600 ]; do (: >n$i.key) 2>/dev/null; i=$((i+1)); done; exit 0'
	kept=$(sed -n 's/^ccbox: learned, and kept as \(.*\):$/\1/p' <<<"$output")
	[ "$(grep -o '\*\*/n[0-9]*\.key' "$kept" | sort -u | wc -l)" -eq 600 ]
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
