#!/usr/bin/env bats
# Policy files, their order, what explain says beside what happens, events, completions, and terminals.
load lib

POLICY='{"filesystem": {"denyWrite": ["**/keep.txt"]}}'

# bad_policy TEXT POSITION WORD : refused as an operator's file, at that place, and nothing starts.
bad_policy() {
	printf '%b' "$1" >"$BASE/bad.jsonc"
	run "$CCBOX" run --policy "$BASE/bad.jsonc" -- touch started
	if [ "$status" -ne 125 ] || [[ $output != *"$BASE/bad.jsonc:$2"* ]] || [[ $output != *"$3"* ]] || [ -e started ]; then
		echo "policy: $1" >&2
		echo "status $status, wanted position $2 and \"$3\"; got: $output" >&2
		WRONG=1
	fi
}

@test "bad policy files are 125 with file, line and column; nothing is started" {
	bad_policy '{\n  "filesytem": {}\n}' 2:3 filesytem
	bad_policy '{"filesystem": {"denyWrites": []}}' 1:17 denyWrites
	bad_policy '{"filesystem": {\n"denyWrite": "x"}}' 2:14 'list of strings'
	bad_policy '{"filesystem": {"denyWrite": [1]}}' 1:31 ''
	bad_policy '{"network": {"enabled": "no"}}' 1:25 'true or false'
	bad_policy '{"network": {}, "network": {}}' 1:17 network
	bad_policy '{"network": {"enabled": true, "enabled": false}}' 1:31 enabled
	bad_policy '' 1:1 ''
	bad_policy '   \n' '' ''
	bad_policy '[]' 1:1 ''
	bad_policy '{"filesystem": {' '' ''
	bad_policy '{"filesystem": {}} x' 1:20 ''
	bad_policy '{"filesystem": {"denyWrite": ["a\\u0000b"]}}' 1: ''
	bad_policy '{"filesystem": {"presets": ["everything"]}}' 1: everything
	bad_policy '{"network": {"allowedDomains": ["*.*.example.com"]}}' 1: ''
	bad_policy '{"network": {"allowedDomains": ["http://example.com/"]}}' 1: ''
	bad_policy '{"network": {"hosts": {"a.test": ["not-an-address"]}}}' 1: ''
	bad_policy '{"network": {"privateCidrs": ["10.0.0.0/33"]}}' 1: ''
	[ -z "${WRONG:-}" ]
}

@test "a glob that can never match is refused, not ignored" {
	bad_policy '{"filesystem": {"denyWrite": [""]}}' 1: ''
	bad_policy '{"filesystem": {"denyWrite": ["a//b/*"]}}' 1: ''
	bad_policy '{"filesystem": {"denyWrite": ["../*.txt"]}}' 1: ''
	bad_policy '{"filesystem": {"denyWrite": ["/proj/../x"]}}' 1: ''
	[ -z "${WRONG:-}" ]
	run "$CCBOX" run --allow-name '' -- touch started
	[ "$status" -eq 125 ]
	run "$CCBOX" run --allow-name 'a/../b' -- touch started
	[ "$status" -eq 125 ]
	[ ! -e started ]
}

@test "a file that is not there, or cannot be read, is 125" {
	run "$CCBOX" run --policy "$BASE/none" -- touch started
	[ "$status" -eq 125 ]
	mkdir "$BASE/dir.jsonc"
	run "$CCBOX" run --policy "$BASE/dir.jsonc" -- touch started
	[ "$status" -eq 125 ]
	[ ! -e started ]
	if [ "$(id -u)" != 0 ]; then
		echo '{}' >"$BASE/closed.jsonc"
		chmod 000 "$BASE/closed.jsonc"
		run "$CCBOX" run --policy "$BASE/closed.jsonc" -- touch started
		[ "$status" -eq 125 ]
		[[ $output == *closed.jsonc* ]]
		mkdir -p "$XDG_CONFIG_HOME/ccbox"
		cp "$BASE/dir.jsonc" "$XDG_CONFIG_HOME/ccbox/policy.jsonc" 2>/dev/null || echo '{}' >"$XDG_CONFIG_HOME/ccbox/policy.jsonc"
		chmod 000 "$XDG_CONFIG_HOME/ccbox/policy.jsonc"
		run "$CCBOX" run -- touch started
		[ "$status" -eq 125 ]
	fi
	ln -s "$BASE/none" .ccbox.jsonc
	run "$CCBOX" run -- touch started
	[ "$status" -eq 125 ]
	[ ! -e started ]
	rm .ccbox.jsonc
	mkdir -p "$XDG_CONFIG_HOME/ccbox"
	rm -f "$XDG_CONFIG_HOME/ccbox/policy.jsonc"
	ln -s "$BASE/none" "$XDG_CONFIG_HOME/ccbox/policy.jsonc"
	run "$CCBOX" run -- touch started
	[ "$status" -eq 125 ]
	[ ! -e started ]
}

@test "a project file that loosens is refused; one that tightens holds, from a subdirectory too" {
	for text in '{"filesystem": {"allowWrite": ["/var"]}}' '{"filesystem": {"allowRead": ["/var"]}}' '{"filesystem": {"allowNames": ["**/.env"]}}' \
		'{"filesystem": {"allowPaths": ["/x"]}}' '{"filesystem": {"presets": ["packages"]}}' '{"filesystem": {"allowSockets": ["/x"]}}' \
		'{"network": {"allowedDomains": ["x.test"]}}' '{"network": {"hosts": {"x.test": "10.0.0.1"}}}' '{"network": {"privateCidrs": ["10.0.0.0/8"]}}' \
		'{"network": {"enabled": true}}' '{"env": ["SECRET"]}'; do
		echo "$text" >.ccbox.jsonc
		run "$CCBOX" run -- touch started
		[ "$status" -eq 125 ] || { echo "$text" >&2; return 1; }
		[[ $output == *".ccbox.jsonc:1:"* ]]
		[ ! -e started ]
	done
	git init -q .
	mkdir -p sub/deep
	echo "$POLICY" >.ccbox.jsonc
	cd sub/deep
	run box -- sh -c 'echo x >keep.txt; echo x >other.txt'
	[ ! -e keep.txt ]
	[ -e other.txt ]
	echo '{"network": {"enabled": false}}' >../../.ccbox.jsonc
	run "$CCBOX" explain host api.anthropic.com
	[ "$status" -eq 1 ]
}

@test "the order: the user's file, the project's, the environment, flags" {
	mkdir -p "$XDG_CONFIG_HOME/ccbox"
	echo '{"filesystem": {"allowNames": ["**/cert.pem"]}, "network": {"allowedDomains": ["mine.test"]}}' >"$XDG_CONFIG_HOME/ccbox/policy.jsonc"
	box -- touch cert.pem
	[ -e cert.pem ]
	"$CCBOX" explain host mine.test
	# the project tightens what the user's file opened
	echo '{"network": {"deniedDomains": ["mine.test"]}}' >.ccbox.jsonc
	run "$CCBOX" explain host mine.test
	[ "$status" -eq 1 ]
	run "$CCBOX" explain host mine.test --allow-host mine.test
	[ "$status" -eq 1 ]
	# a flag beats the environment
	run env CC_MODE=review "$CCBOX" run --quiet -- touch by-env
	[ ! -e by-env ]
	env CC_MODE=review "$CCBOX" run --quiet --mode chat -- touch by-flag
	[ -e by-flag ]
	run env CC_TIMEOUT=0 "$CCBOX" run -- touch started
	[ "$status" -eq 125 ]
	run env CC_MODE=chatt "$CCBOX" run -- touch started
	[ "$status" -eq 125 ]
	[ ! -e started ]
	# a broken file of the user stops every run
	echo '{' >"$XDG_CONFIG_HOME/ccbox/policy.jsonc"
	run "$CCBOX" run -- touch started
	[ "$status" -eq 125 ]
	[[ $output == *"policy.jsonc:"* ]]
	[ ! -e started ]
}

@test "JSONC: comments and a trailing comma; srt's key names" {
	cat >"$BASE/p.jsonc" <<-'JSONC'
		// a comment
		{
			"filesystem": { /* another */ "denyWrite": ["**/keep.txt",], "allowWrite": [], "denyRead": [] },
			"network": { "allowedDomains": ["*.example.test"], "deniedDomains": ["bad.example.test"] },
		}
	JSONC
	"$CCBOX" policy check "$BASE/p.jsonc"
	"$CCBOX" explain host good.example.test --policy "$BASE/p.jsonc"
	run "$CCBOX" explain host bad.example.test --policy "$BASE/p.jsonc"
	[ "$status" -eq 1 ]
	run "$CCBOX" explain host example.test --policy "$BASE/p.jsonc"
	[ "$status" -eq 1 ]
}

@test "policy check, show and schema" {
	echo "$POLICY" >"$BASE/p.jsonc"
	run "$CCBOX" policy check "$BASE/p.jsonc"
	[ "$status" -eq 0 ]
	run "$CCBOX" policy show "$BASE/p.jsonc"
	[ "$status" -eq 0 ]
	[[ $output == *keep.txt* ]]
	# what show prints is a policy again
	echo "$output" >"$BASE/again.jsonc"
	"$CCBOX" policy check "$BASE/again.jsonc"
	run "$CCBOX" policy show
	[ "$status" -eq 0 ]
	[[ $output == *git:hooks* ]]
	[[ $output == *name:* ]]
	"$CCBOX" policy schema | /usr/bin/python3 -c 'import json, sys; s = json.load(sys.stdin); assert "denyWrite" in s["properties"]["filesystem"]["properties"]'
	echo '{"x": 1}' >"$BASE/p.jsonc"
	run "$CCBOX" policy check "$BASE/p.jsonc"
	[ "$status" -eq 125 ]
	[[ $output == *"p.jsonc:1:2"* ]]
	run "$CCBOX" policy
	[ "$status" -eq 125 ]
}

@test "explain agrees with what happens" {
	git init -q .
	mkdir -p a .github/workflows
	echo x >a/old.txt
	echo x >a/old.pem
	echo "$POLICY" >"$BASE/p.jsonc"
	for object in new.txt a/new.txt .env a/.env.local x.PEM a/deep/er/k.key keep.txt a/keep.txt .vscode/tasks.json .npmrc .git/hooks/pre-commit \
		.git/config .git/HEAD .git/index.lock .gitmodules .github/workflows/ci.yml AGENTS.md Makefile .mcp.json .claude/settings.json .ccbox.jsonc \
		a/old.txt a/old.pem /tmp/x.pem /etc/passwd /usr/x "$HOME/.bashrc" /dev/shm/k.key /nowhere/f; do
		said=0
		"$CCBOX" explain create "$object" --policy "$BASE/p.jsonc" >"$BASE/said" || said=$?
		box --policy "$BASE/p.jsonc" -- /usr/bin/python3 -c '
import os, sys
path = sys.argv[1]
if not path.startswith(("/etc", "/usr", "/nowhere")):
    try: os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    except OSError: sys.exit(1)
try: os.close(os.open(path, os.O_WRONLY | os.O_CREAT, 0o644))
except OSError: sys.exit(1)' "$object" >"$BASE/happened.out" 2>&1 && happened=0 || happened=1
		[ "$said" -eq "$happened" ] || {
			echo "$object: explain says $said, what happened is $happened" >&2
			cat "$BASE/said" "$BASE/happened.out" >&2
			return 1
		}
	done
}

@test "explain: json, verbs, the flag it names, bad words" {
	run "$CCBOX" explain create .env --json
	[ "$status" -eq 1 ]
	echo "$output" | /usr/bin/python3 -c 'import json, sys; a = json.load(sys.stdin); assert a["v"] == 1 and a["verdict"] == "deny" and a["grant"] == "--allow-name '"'**/.env'"'", a'
	run "$CCBOX" explain create .env --allow-name '**/.env'
	[ "$status" -eq 0 ]
	run "$CCBOX" explain delete .env
	[ "$status" -eq 1 ]
	run "$CCBOX" explain read .env
	[ "$status" -eq 0 ]
	# what the sandbox does not show is not there, whatever no rule says
	for absent in /etc/shadow "$HOME/.ssh/id" /tmp/elsewhere /run/x; do
		run "$CCBOX" explain read "$absent"
		[ "$status" -eq 1 ]
		[[ $output == *visible:absent* ]]
	done
	for shown in /usr/bin/env /etc/passwd /dev/null /proc/self/status "$PWD/x"; do "$CCBOX" explain read "$shown"; done
	"$CCBOX" explain exec /usr/bin/env
	run "$CCBOX" explain exec "$HOME/bin/x"
	[ "$status" -eq 1 ]
	run "$CCBOX" explain host api.anthropic.com
	[ "$status" -eq 0 ]
	run "$CCBOX" explain host 169.254.169.254:80
	[ "$status" -eq 1 ]
	for words in "" "write" "fly .env" "host [" "host a..b" "host x:99999" "write a b" "write a --bnd"; do
		# shellcheck disable=SC2086
		run "$CCBOX" explain $words
		[ "$status" -eq 125 ]
	done
}

@test "events: newest, named, json, none yet" {
	run "$CCBOX" events
	[ "$status" -eq 125 ]
	box -- sh -c 'echo x >.env' || true
	run "$CCBOX" events
	[ "$status" -eq 0 ]
	[[ $output == *"refused file-write-create $PWD/.env"* ]]
	"$CCBOX" events --json | /usr/bin/python3 -c 'import json, sys
for line in sys.stdin: assert json.loads(line)["v"] == 1'
	run "$CCBOX" events no-such-session
	[ "$status" -eq 125 ]
	run "$CCBOX" events --flollow
	[ "$status" -eq 125 ]
}

@test "completions parse in bash, zsh and fish" {
	"$CCBOX" completions bash >"$BASE/c.bash"
	bash -n "$BASE/c.bash"
	run bash -c ". $BASE/c.bash; COMP_WORDS=(ccbox run --allow-n); COMP_CWORD=2; _ccbox; echo \${COMPREPLY[@]}"
	[ "$output" = --allow-name ]
	run bash -c ". $BASE/c.bash; COMP_WORDS=(ccbox exp); COMP_CWORD=1; _ccbox; echo \${COMPREPLY[@]}"
	[ "$output" = explain ]
	"$CCBOX" completions zsh >"$BASE/_ccbox"
	"$CCBOX" completions fish >"$BASE/c.fish"
	! command -v zsh >/dev/null || zsh -n "$BASE/_ccbox"
	! command -v fish >/dev/null || fish --no-execute "$BASE/c.fish"
	run "$CCBOX" completions tcsh
	[ "$status" -eq 125 ]
}

on_terminal() {
	run timeout 60 /usr/bin/python3 "$BATS_TEST_DIRNAME/terminal.py" "$1" "$CCBOX"
	echo "$output"
	[ "$status" -eq 0 ]
	[[ $output == *fine ]]
}

@test "terminal: three ttys, a name in /dev/pts, the exit code" { on_terminal isatty; }
@test "terminal: ^C ends a command by SIGINT (OPS-02)" { on_terminal interrupt; }
@test "terminal: a shell's job control, ^Z, fg and ^C" { on_terminal jobs; }
@test "terminal: a new size arrives (OPS-03)" { on_terminal resize; }
@test "terminal: no keystrokes pushed, no console taken (SYS-04)" { on_terminal tiocsti; }
@test "terminal: its modes are restored, however the command ends" { on_terminal restored; }
@test "terminal: a program that suspends itself gives the terminal back, fg brings it on" { on_terminal suspended; }
@test "terminal: without a shell above, it goes on at once" { on_terminal unsuspended; }
@test "terminal: every key goes inside" { on_terminal stopped; }
@test "terminal: input without echo is not shown" { on_terminal secret_input; }
@test "terminal: ^D ends the input" { on_terminal end_of_input; }
@test "terminal: --no-pty gives pipes" { on_terminal piped_output; }

@test "a name that is a pattern does not get a flag that opens what it would match" {
	run "$CCBOX" run -- sh -c ': >"*.pem"; : >"[a-z].key"'
	echo "$output"
	[[ $output == *"--allow-name '**/?.pem'"* ]]
	[[ $output != *"**/*.pem' "* ]]
	[ ! -e '*.pem' ]
}

@test "explain command: what the command policy makes of a line, in each mode" {
	run "$CCBOX" explain command 'make -j2 | tee log'
	[ "$status" -eq 0 ]
	[[ $output == "allowed  command make -j2 | tee log"* ]]
	run "$CCBOX" explain command 'cd x && git clean -n'
	[ "$status" -eq 1 ]
	[[ $output == "asked "*"rule   git"* ]]
	run "$CCBOX" explain command 'ls; env FOO=1 sudo ls'
	[ "$status" -eq 1 ]
	[[ $output == "refused"*"rule   sudo"* ]]
	[ "$("$CCBOX" explain command 'touch x' --mode plan --json | python3 -c 'import json, sys; d = json.load(sys.stdin); print(d["verb"], d["object"], d["verdict"])')" = "command touch x deny" ]
	run "$CCBOX" explain command
	[ "$status" -eq 125 ]
}

@test "explain command: the classes of action in a line, by default and by the policy files" {
	run "$CCBOX" explain command 'rm x; gh pr create'
	[[ $output == *"in runs of agents: fileDelete: prompt (default), prCreate: prompt (default), processSpawn: allow (default)"* ]]
	mkdir -p "$XDG_CONFIG_HOME/ccbox"
	echo '{"actions": ["prCreate=deny", "fileDelete=allow"]}' >"$XDG_CONFIG_HOME/ccbox/policy.jsonc"
	run "$CCBOX" explain command 'rm x; gh pr create'
	[[ $output == *"fileDelete: allow (policy), prCreate: deny (policy), processSpawn: allow (default)"* ]]
	[ "$("$CCBOX" explain command 'gh pr create' --json | python3 -c 'import json, sys; print(json.load(sys.stdin)["actions"][0])')" = "{'action': 'prCreate', 'verdict': 'deny', 'by': 'policy'}" ]
	run "$CCBOX" explain command 'gh pr create' --mode plan
	[[ $output == *"prCreate: deny"* ]]
	"$CCBOX" policy show >"$BASE/shown"
	grep -q "prCreate=deny" "$BASE/shown"
	# a project tightens, and a word that is none is an error of every verb that reads the files
	echo '{"actions": ["fileDelete=deny"]}' >.ccbox.jsonc
	run "$CCBOX" explain command 'rm x'
	[[ $output == *"fileDelete: deny (policy)"* ]]
	for bad in prCreate=allow prCreate=never prCreate push=deny; do
		echo "{\"actions\": [\"$bad\"]}" >.ccbox.jsonc
		run "$CCBOX" run -- true
		echo "$output"
		[ "$status" -eq 125 ]
		[[ $output == *"actions: "* ]]
	done
}

@test "what is ours is closed, where it usually is and where a variable puts it: policy, records, the daemon's token" {
	export XDG_DATA_HOME=$BASE/data
	for dir in "$HOME/.local/share/ccbox-server" "$XDG_DATA_HOME/ccbox-server" "$BASE/elsewhere"; do
		mkdir -p "$dir"
		echo sesame >"$dir/token"
	done
	export CC_SERVER_DATA_DIR=$BASE/elsewhere
	mkdir -p "$XDG_STATE_HOME/ccbox/events" "$XDG_CONFIG_HOME/ccbox"
	echo kept >"$XDG_STATE_HOME/ccbox/events/one"
	run "$CCBOX" run --quiet --bind "$BASE" -- sh -c "
		cat '$HOME/.local/share/ccbox-server/token' '$XDG_DATA_HOME/ccbox-server/token' '$BASE/elsewhere/token'
		rm -rf '$HOME/.local/share/ccbox-server' '$XDG_DATA_HOME/ccbox-server' '$BASE/elsewhere' '$XDG_STATE_HOME/ccbox/events'
		mv '$XDG_DATA_HOME' '$BASE/moved'; echo '{\"filesystem\":{\"allowNames\":[\"**/.env\"]}}' >'$XDG_CONFIG_HOME/ccbox/policy.jsonc'"
	echo "$output"
	[[ $output != *sesame* ]]
	for dir in "$HOME/.local/share/ccbox-server" "$XDG_DATA_HOME/ccbox-server" "$BASE/elsewhere"; do
		[ "$(cat "$dir/token")" = sesame ]
	done
	[ "$(cat "$XDG_STATE_HOME/ccbox/events/one")" = kept ]
	[ ! -e "$XDG_CONFIG_HOME/ccbox/policy.jsonc" ]
}
