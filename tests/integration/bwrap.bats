#!/usr/bin/env bats
# ccbox bwrap: in the place of bubblewrap, for tools that call it. Their mounts, environment and descriptors; our rules.
load lib
bats_require_minimum_version 1.5.0

setup_more() { git init -q .; mkdir sub; echo hello >a.txt; }

# Another tool's usual call: everything readable, the project writable.
theirs() { "$CCBOX" bwrap --ro-bind / / --bind "$PWD" "$PWD" --dev /dev --proc /proc --unshare-all --die-with-parent --chdir "$PWD" "$@"; }

@test "its writable directories work, and the names in them are held at any depth" {
	run theirs -- sh -c 'echo b >>a.txt; mkdir d; echo x >d/.env; echo x >d/k.PEM; ln a.txt .env.local; mv a.txt sub/.env; echo x >.git/hooks/pre-commit; cat a.txt'
	echo "$output"
	[[ $output == *"refused file-write-create $PWD/d/.env; rule name:**/.env"* ]]
	[ "$(cat a.txt)" = "$(printf 'hello\nb')" ]
	[ -d d ]
	[ -z "$(find . -name '.env*' -o -name '*.PEM' -o -name pre-commit)" ]
}

@test "all else is as its mounts say: read-only, private, hidden, its file over ours" {
	mkdir "$BASE/out" "$BASE/private" "$BASE/hidden"
	echo secret >"$BASE/hidden/s"
	run theirs --tmpfs "$BASE/private" --tmpfs "$BASE/hidden" --ro-bind sub "$PWD/sub" --ro-bind /dev/null "$PWD/a.txt" -- sh -c "
		echo x >'$BASE/out/x'; echo x >sub/x; echo x >'$BASE/private/.env' && cat '$BASE/private/.env'; cat '$BASE/hidden/s'; cat a.txt; echo y >a.txt; echo end"
	echo "$output"
	[[ $output == *"out/x: Read-only"* && $output == *"sub/x: Read-only"* && $output == *$'\nx\n'* && $output == *end* ]]
	[[ $output != *secret* && $output != *hello* ]]
	[ ! -e "$BASE/out/x" ]
	[ ! -e sub/x ]
	[ -z "$(ls -A "$BASE/private")" ]
	[ "$(cat a.txt)" = hello ]
}

@test "environment, working directory, exit status, output and input are the caller's" {
	run theirs --chdir "$PWD/sub" --clearenv --setenv A 'x y' --setenv PATH /usr/bin -- sh -c 'pwd; echo "$A,$HOME"; exit 7'
	[ "$status" -eq 7 ]
	[ "$output" = "$(printf '%s\nx y,' "$PWD/sub")" ]
	[ "$(echo in | theirs cat)" = in ]
	run theirs --unsetenv HOME sh -c 'echo "$HOME."; kill -9 $$'
	[ "$status" -eq 137 ]
	[ "$output" = . ]
	run -127 theirs ./absent
	run theirs ./a.txt
	[ "$status" -eq 126 ]
}

@test "descriptors: the command gets what was left open, bubblewrap what its options name, and both see the end" {
	echo "from seven" >"$BASE/seven"
	run theirs --info-fd 8 sh -c 'cat <&7; ls /proc/self/fd | tr "\n" " "' 7<"$BASE/seven" 8>"$BASE/info" 3>&-
	echo "$output"
	[[ $output == "from seven"*" 7 "* && $output != *" 8 "* ]]
	grep -q '"child-pid"' "$BASE/info"
	# no copy of them stays with us: the reader meets the end while the command still runs
	mkfifo "$BASE/pipe"
	"$CCBOX" bwrap --ro-bind / / --info-fd 8 sh -c 'exec 7>&-; exec sleep 30' 7>"$BASE/pipe" 8>&7 3>&- &
	owner=$!
	timeout 20 cat "$BASE/pipe" >"$BASE/read"
	grep -q child-pid "$BASE/read"
	kill -0 $owner
	kill $owner
	wait $owner || true
	# an executable by its descriptor, as tools hand over their helpers
	run theirs sh -c '/proc/self/fd/9 by-descriptor' 9</bin/echo
	[ "$output" = by-descriptor ]
	printf '%s\0' --setenv A fromargs >"$BASE/args"
	[ "$(theirs --args 9 sh -c 'echo $A' 9<"$BASE/args")" = fromargs ]
}

@test "a directory that is handed over opens nothing outside of the mounts" {
	mkdir "$BASE/out"
	run theirs sh -c 'echo x >/proc/self/fd/9/x; cd /proc/self/fd/9 && echo x >y; echo end' 9<"$BASE/out"
	echo "$output"
	[[ $output == *end* ]]
	[ -z "$(ls -A "$BASE/out")" ]
}

@test "a socket that it binds is lent, another is not" {
	serve python3 -u -c 'import socket, threading, sys
for name in sys.argv[1:]:
    s = socket.socket(socket.AF_UNIX); s.bind(name); s.listen(5)
    threading.Thread(target=lambda s=s: [s.accept()[0].sendall(b"met") for _ in range(9)], daemon=True).start()
print(1, flush=True); threading.Event().wait()' "$BASE/lent.sock" "$BASE/other.sock"
	run "$CCBOX" bwrap --bind "$BASE/lent.sock" "$BASE/lent.sock" --ro-bind / / --bind "$PWD" "$PWD" --dev /dev --proc /proc --unshare-net -- \
		python3 -c 'import socket, sys
for name in sys.argv[1:]:
    s = socket.socket(socket.AF_UNIX)
    print(name[-10:], s.connect_ex(name) or s.recv(3))' "$BASE/lent.sock" "$BASE/other.sock"
	echo "$output"
	[[ $output == *"lent.sock b'met'"* && $output == *"other.sock 111"* ]]
}

@test "the network: its own with --unshare-net, where socat works as these tools use it; the host's without" {
	command -v socat >/dev/null || skip "socat is not installed"
	run theirs sh -c 'socat TCP4-LISTEN:3128,fork,reuseaddr SYSTEM:"echo through" & for i in $(seq 100); do socat -u TCP4:127.0.0.1:3128 - 2>/dev/null && break; sleep 0.05; done'
	[[ $output == *through* ]]
	[ "$(theirs sh -c 'wc -l </proc/net/dev')" = 3 ]
	[ "$(theirs --share-net cat /proc/net/dev | wc -l)" = "$(wc -l </proc/net/dev)" ]
}

@test "what cannot be kept beside the gate is refused by name, and nothing is started" {
	for call in "--bind / /" "--dev-bind / /" "--bind $PWD /elsewhere" "--overlay-src /" "--seccomp 9" "--userns 9" "--colour"; do
		run "$CCBOX" bwrap --ro-bind / / --bind "$PWD" "$PWD" $call -- touch started 9<a.txt
		echo "$output"
		[ "$status" -eq 125 ]
		[[ $output == *"${call%% *}"* ]]
	done
	run theirs --bind "$PWD/absent" "$PWD/absent" touch started
	[ "$status" -eq 125 ]
	# what bubblewrap itself cannot do is said in its words, and blamed on nothing else
	run "$CCBOX" bwrap --ro-bind / / --bind "$PWD" "$PWD" --tmpfs "/usr/absent/$$" touch started
	echo "$output"
	[ "$status" -eq 125 ]
	[[ $output == *"could not start bubblewrap: bwrap: "* ]]
	[[ $output != *listeners* ]]
	run "$CCBOX" bwrap
	[ "$status" -eq 125 ]
	[ ! -e started ]
}

@test "under bubblewrap's name; inside a session it says so" {
	ln -s "$CCBOX" "$BASE/bwrap"
	PATH=$BASE:$PATH
	[ "$(bwrap --version)" = "$(/usr/bin/bwrap --version)" ]
	bwrap --help 2>&1 | grep -q -- --ro-bind
	run bwrap --ro-bind / / --bind "$PWD" "$PWD" sh -c 'echo x >.env'
	[[ $output == *"name:**/.env"* ]]
	[ ! -e .env ]
	run box --bind "$(dirname "$CCBOX"):ro" --bind "$PWD" -- "$CCBOX" bwrap --ro-bind / / true
	echo "$output"
	[ "$status" -eq 125 ]
	[[ $output == *"inside the session run-"* ]]
}

@test "the person's policy and a protected path hold here too" {
	mkdir -p "$XDG_CONFIG_HOME/ccbox"
	echo "{\"filesystem\":{\"denyWrite\":[\"$PWD/sub\"],\"allowWrite\":[\"$BASE\"]}}" >"$XDG_CONFIG_HOME/ccbox/policy.jsonc"
	run theirs sh -c "echo x >sub/x; echo x >ok; echo x >'$BASE/outside'"
	echo "$output"
	[[ $output == *"deny-write:"* ]]
	[ -e ok ]
	[ ! -e sub/x ]
	[ ! -e "$BASE/outside" ]
}

@test "whoever is killed, nothing is left" {
	for victim in owner parent; do
		nap=$((RANDOM + 100000))
		sh -c '"$@" & echo $! >pid; wait' sh "$CCBOX" bwrap --ro-bind / / --bind "$PWD" "$PWD" --die-with-parent -- sh -c "setsid sleep $nap & sleep $nap" 3>&- &
		parent=$!
		for _ in $(seq 200); do pgrep -f "^sleep $nap" >/dev/null && break; sleep 0.05; done
		pgrep -f "^sleep $nap"
		[ $victim = owner ] && kill -9 "$(cat pid)" || kill -9 $parent
		for _ in $(seq 200); do pgrep -f "^sleep $nap" >/dev/null || break; sleep 0.05; done
		run ! pgrep -f "^sleep $nap"
	done
}

# Claude's own sandbox has its helper make namespaces of its own, which no program in a Landlock domain can: that part is
# switched off by its setting for Unix sockets, whose connections the gate judges.
@test "a real Claude Code with its own sandbox: its commands meet the rules about names, its proxy still answers" {
	command -v socat >/dev/null || skip "socat is not installed"
	clients=$(sh "$BATS_TEST_DIRNAME/../../tools/clients.sh" claude 2>&1) || skip "$clients"
	CMD='echo edited >>a.txt; echo x >sub/.env; curl -sS --max-time 20 http://nowhere.test/; echo "in $CCBOX_SESSION"' \
		node "$BATS_TEST_DIRNAME/../clients/messages-api.mjs" 0 >"$BASE/api.out" 3>&- &
	api=$!
	for _ in $(seq 100); do grep -q ready "$BASE/api.out" && break; sleep 0.05; done
	export ANTHROPIC_BASE_URL=http://127.0.0.1:$(sed 's/ready //' "$BASE/api.out") ANTHROPIC_API_KEY=sk-ant-test CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1 DISABLE_AUTOUPDATER=1
	ln -s "$CCBOX" "$BASE/bwrap"
	PATH=$BASE:$PATH run "$clients/claude/node_modules/@anthropic-ai/claude-code-linux-x64/claude" -p 'run the command' \
		--settings '{"sandbox":{"enabled":true,"autoAllowBashIfSandboxed":true,"failIfUnavailable":true,"network":{"allowAllUnixSockets":true}}}' --output-format json
	kill $api
	echo "$output"
	[[ $output == *'"subtype":"success"'* && $output == *"in run-20"* && $output == *"name:**/.env"* && $output == *"blocked by network allowlist"* ]]
	[ "$(cat a.txt)" = "$(printf 'hello\nedited')" ]
	[ ! -e sub/.env ]
}

@test "the daemon's directory is hidden from it, and our policy is not written by it" {
	export CC_SERVER_DATA_DIR=$BASE/daemon
	mkdir "$CC_SERVER_DATA_DIR"
	echo sesame >"$CC_SERVER_DATA_DIR/token"
	run "$CCBOX" bwrap --ro-bind / / --bind "$BASE" "$BASE" --dev /dev --proc /proc -- sh -c "cat '$CC_SERVER_DATA_DIR/token'; mkdir '$XDG_CONFIG_HOME/ccbox'; echo end"
	echo "$output"
	[[ $output == *end* ]]
	[[ $output != *sesame* ]]
	[ ! -e "$XDG_CONFIG_HOME/ccbox" ]
	run theirs --symlink x "$PWD/.git/hooks/pre-commit" -- true
	[ "$status" -eq 125 ]
	[ ! -L .git/hooks/pre-commit ]
}
