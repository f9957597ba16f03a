#!/usr/bin/env bats
# ccbox run: exit codes, streams, signals, environment, visibility.
load lib

@test "exit code is the command's own" {
	run box -- sh -c 'exit 37'
	[ "$status" -eq 37 ]
}

@test "death by signal is 128+n (OPS-01)" {
	run box -- sh -c 'kill -TERM $$'
	[ "$status" -eq 143 ]
	run box -- sh -c 'kill -KILL $$'
	[ "$status" -eq 137 ]
}

@test "not found is 127, not executable is 126" {
	run box -- no-such-program
	[ "$status" -eq 127 ]
	echo text >plain
	run box -- ./plain
	[ "$status" -eq 126 ]
}

@test "time out is 124 and nothing is left" {
	run box --timeout 1 -- sh -c 'trap "" TERM; sleep 60'
	[ "$status" -eq 124 ]
	[[ "$output" == *"--timeout 1"* ]]
}

@test "what cannot be given is refused by its own name" {
	run box --env HOME=/tmp/x -- true
	[ "$status" -eq 125 ]
	[[ "$output" == *"--env HOME: the session decides"* ]]
	run box --state-dir "$PWD/absent" -- true
	[ "$status" -eq 125 ]
	[[ "$output" == *"--state-dir $PWD/absent: No such file"* ]]
	run box --bind / -- true
	[ "$status" -eq 125 ]
	[[ "$output" == *"whole file system"* ]]
}

@test "a refusal in a dependency tree names the preset that opens all of them" {
	mkdir -p v/lib/site-packages/certifi
	run box -- sh -c 'touch v/lib/site-packages/certifi/cacert.pem'
	[[ "$output" == *"--preset packages; allow with: --allow-name '**/cacert.pem'"* ]]
	run box -- sh -c 'touch cacert.pem'
	[[ "$output" == *"--allow-name"* ]]
	[[ "$output" != *"--preset packages"* ]]
	box --preset packages -- sh -c 'touch v/lib/site-packages/certifi/cacert.pem'
}

@test "bad options are 125, with a hint, and nothing is started" {
	run "$CCBOX" run --bnd . -- touch started
	[ "$status" -eq 125 ]
	[[ $output == *"did you mean --bind"* ]]
	[ ! -e started ]
	run "$CCBOX" run
	[ "$status" -eq 125 ]
	run "$CCBOX" rnu
	[ "$status" -eq 125 ]
	[[ $output == *"did you mean run"* ]]
}

@test "standard input, output and error arrive whole and apart" {
	head -c 3000000 /dev/urandom >in
	box -- sh -c 'cat; echo problem >&2' <in >out 2>err
	cmp in out
	grep -q problem err
}

@test "output of a process that ends at once is never lost" {
	for _ in 1 2 3 4 5; do
		[ "$(box -- sh -c 'seq 1 20000' | tail -n 1)" = 20000 ]
	done
}

@test "SIGTERM and SIGINT to ccbox reach the command" {
	"$CCBOX" run --quiet -- sh -c 'trap "echo got; exit 5" TERM INT; echo up; while :; do sleep 0.05; done' >out &
	pid=$!
	for _ in $(seq 100); do grep -q up out && break; sleep 0.05; done
	kill -TERM $pid
	code=0
	wait $pid || code=$?
	[ "$code" -eq 5 ]
	grep -q got out
}

@test "exit status is right when the caller ignores SIGCHLD (OPS-15)" {
	run sh -c 'trap "" CHLD; exec "$0" run --quiet -- sh -c "exit 9"' "$CCBOX"
	[ "$status" -eq 9 ]
}

@test "the worktree is writable, the files belong to the caller" {
	box -- sh -c 'mkdir a && echo hi >a/b && chmod 640 a/b'
	[ "$(cat a/b)" = hi ]
	[ "$(stat -c '%u %a' a/b)" = "$(id -u) 640" ]
}

@test "umask of the caller holds inside" {
	(umask 077; box -- touch private)
	[ "$(stat -c %a private)" = 600 ]
}

@test "secrets of HOME are absent, not masked" {
	mkdir -p "$HOME/.ssh" "$HOME/.aws"
	echo secret >"$HOME/.ssh/id_rsa"
	echo secret >"$HOME/.aws/credentials"
	run box -- sh -c 'ls -A ~; cat ~/.ssh/id_rsa ~/.aws/credentials'
	[[ $output != *secret* ]]
	[[ $output == *"No such file"* ]]
}

@test "HOME is private and writes to it never reach the host" {
	box -- sh -c 'echo x >~/.bashrc; echo x >~/.env; mkdir -p ~/.config/x'
	[ ! -e "$HOME/.bashrc" ]
	[ ! -e "$HOME/.env" ]
	[ ! -e "$HOME/.config" ]
}

@test "TMPDIR is private, 0700, and names are free there (ENV-03)" {
	run box -- sh -c 'd=$(mktemp -d) && touch "$d/a.pem" && stat -c %a "$TMPDIR" && echo "$TMPDIR"'
	[ "$status" -eq 0 ]
	[ "${lines[0]}" = 700 ]
	[ "${lines[1]}" = /tmp ]
}

@test "the environment is built from an allow-list; --env passes and sets (ENV-01, ENV-02)" {
	export AWS_SECRET_ACCESS_KEY=sesame LD_PRELOAD_X=1 MY_VALUE=mine
	run box --env MY_VALUE --env OTHER=2 -- env
	[[ $output != *sesame* ]]
	[[ $output == *MY_VALUE=mine* ]]
	[[ $output == *OTHER=2* ]]
	[[ $output == *HTTPS_PROXY=http://127.0.0.1:3128* ]]
	run box --dry-run -- true
	[[ $output == *AWS_SECRET_ACCESS_KEY* ]]
	[[ $output != *sesame* ]]
}

@test "only fds 0-2 are open in the command (SYS-09)" {
	exec 9<"$HOME"
	run box -- sh -c 'ls /proc/self/fd | tr "\n" " "'
	exec 9<&-
	[ "$output" = "0 1 2 3 " ]
}

@test "no capability, no new privileges, other processes out of sight" {
	run box -- sh -c 'grep -E "CapEff|CapPrm|CapBnd|CapAmb|NoNewPrivs" /proc/self/status; ls /proc | grep -c "^[0-9]"'
	[[ $output == *"CapEff:	0000000000000000"* ]]
	[[ $output == *"CapBnd:	0000000000000000"* ]]
	[[ $output == *"NoNewPrivs:	1"* ]]
}

@test "a subdirectory starts where one stands, with the whole work tree visible" {
	git init -q .
	mkdir -p sub/deep
	echo top >top.txt
	cd sub/deep
	run box -- sh -c 'pwd; cat ../../top.txt'
	[ "${lines[0]}" = "$BASE/proj/sub/deep" ]
	[ "${lines[1]}" = top ]
}

@test "--bind shows another directory, read-only with :ro" {
	mkdir "$BASE/other" "$BASE/look"
	echo seen >"$BASE/look/f"
	run box --bind . --bind "$BASE/other" --bind "$BASE/look:ro" -- sh -c "echo w >$BASE/other/w; cat $BASE/look/f; echo x >$BASE/look/g"
	[ "$(cat "$BASE/other/w")" = w ]
	[[ $output == *seen* ]]
	[[ $output == *"Read-only file system"* || $output == *"Permission denied"* ]]
	[ ! -e "$BASE/look/g" ]
}

@test "what is not bound is not there" {
	mkdir "$BASE/elsewhere"
	run box -- ls "$BASE/elsewhere"
	[ "$status" -ne 0 ]
}

@test "read-only modes keep the tree read-only, state directories stay writable" {
	mkdir "$BASE/st"
	for mode in review plan orchestrate; do
		run box --mode $mode --state-dir "$BASE/st" -- sh -c "echo x >f || echo x >$BASE/st/$mode"
		[ ! -e f ]
		[ -e "$BASE/st/$mode" ]
	done
}

@test "--protect is never writable" {
	mkdir -p keep
	echo a >keep/f
	run box --protect "$BASE/proj/keep" -- sh -c 'echo b >keep/f; mv keep k2; rm keep/f; echo new >keep/g'
	[ "$(cat keep/f)" = a ]
	[ ! -e keep/g ]
	[ ! -e k2 ]
}

@test "the tree is byte-identical after a run that wrote nothing (FS-34, GIT-08)" {
	git init -q .
	echo a >a
	before=$(tree_hash .)
	box -- sh -c 'cat a; ls -la; git status --porcelain >/dev/null' >/dev/null
	[ "$before" = "$(tree_hash .)" ]
	[ -z "$(ls -A "$HOME" | grep -v gitconfig)" ]
}

@test "--dry-run starts nothing and prints the plan" {
	run box --dry-run -- touch started
	[ "$status" -eq 0 ]
	[[ $output == *"--unshare-net"* ]]
	[ ! -e started ]
}

@test "no /etc/shadow inside, even for root" {
	run box -- sh -c 'ls /etc/shadow /etc/ssl/private; ls /root/.ssh'
	[ "$status" -ne 0 ]
	[[ $output == *"No such file"* ]]
}

@test "background processes are ended with the session and nothing remains" {
	# a time of this run's own: the same test may run beside it
	box -- sh -c "setsid sleep 987.$$ >/dev/null 2>&1 & exit 0"
	run pgrep -u "$(id -u)" -f "sleep 987.$$"
	[ "$status" -ne 0 ]
}

@test "a bind of a missing path, of a file, of / and of /proc is refused" {
	for bind in /no/such/dir /etc/passwd / /proc /sys /dev /run; do
		run "$CCBOX" run --bind $bind -- touch started
		[ "$status" -eq 125 ]
		[ ! -e started ]
	done
}

@test "HOME itself is never shown by accident" {
	cd "$HOME"
	run "$CCBOX" run -- true
	[ "$status" -eq 125 ]
	[[ $output == *"home directory"* ]]
}

@test "an unreadable directory in the tree does not stop the start (FS-40)" {
	mkdir locked
	chmod 000 locked
	run box -- true
	chmod 755 locked
	[ "$status" -eq 0 ]
}

@test "a deny path whose parent is a file does not stop the start (FS-39)" {
	echo x >x
	run box --protect "$BASE/proj/x/y" -- true
	[ "$status" -eq 0 ]
}

@test "argv holds no policy and no secret and does not grow with the tree, its work trees or the policy" {
	git init -q . && git -c user.name=x -c user.email=x@x commit -qm x --allow-empty
	line() { # what the helpers' command lines are, numbers apart
		"$CCBOX" run --quiet --no-pty "$@" -- sh -c 'tr "\0" " " </proc/1/cmdline; echo; echo up; exec sleep 60' >"$BASE/out" </dev/null &
		owner=$!
		for _ in $(seq 1000); do grep -qx up "$BASE/out" && break; sleep 0.02; done
		{ grep -vx up "$BASE/out"; for pid in $(pgrep -P $owner); do tr '\0' ' ' <"/proc/$pid/cmdline"; echo; done; } | sed 's/[0-9][0-9]*/N/g' | sort
		kill $owner
		wait $owner 2>/dev/null || true
	}
	before=$(line)
	[ "$(wc -l <<<"$before")" -eq 3 ]
	mkdir m && (cd m && seq 4000 | sed 's/$/.pem/' | xargs touch)
	for i in $(seq 300); do git worktree add -q --detach "$BASE/wt/$i"; done
	after=$(line --env SECRET=sesame --protect "$PWD/m" --allow-name '**/sesame.key' --allow-host sesame.test)
	echo "$before"; echo "$after"
	[ "$before" = "$after" ]
	# and a session in one of them works
	cd "$BASE/wt/7"
	box -- sh -c 'echo x >n && git add n && git -c user.name=x -c user.email=x@x commit -qm n'
}

@test "a worktree that is a symlink works in its real place" {
	mkdir "$BASE/real"
	ln -s "$BASE/real" "$BASE/link"
	cd "$BASE/link"
	box -- sh -c 'echo x >f; echo y >.env' || true
	[ -e "$BASE/real/f" ]
	[ ! -e "$BASE/real/.env" ]
}

@test "a program that was just written can be run, however busy the machine (ETXTBSY)" {
	cat >both.sh <<-'END'
	for j in 1 2 3; do (
		for i in $(seq 200); do cp /bin/true "t$j.$i" && "./t$j.$i" || echo "busy $i"; rm -f "t$j.$i"; done
	) & done
	wait
	END
	run box -- sh both.sh
	echo "$output"
	[ "$status" -eq 0 ]
	[[ $output != *busy* ]]
}

@test "a thread that executes a program keeps the umask it had of its own" {
	cat >um.py <<-'PY'
		import ctypes, os, threading, time
		ready, go = threading.Event(), threading.Event()
		def other():
		    assert ctypes.CDLL(None).unshare(0x200) == 0 # CLONE_FS
		    os.umask(0o77)
		    ready.set()
		    go.wait()
		    os.execv("/bin/sh", ["sh", "-c", ": >after"])
		os.umask(0o22)
		threading.Thread(target=other).start()
		ready.wait()
		for i in range(3): open("before%d" % i, "w").close()
		go.set()
		time.sleep(60)
	PY
	run box -- /usr/bin/python3 um.py
	[ "$(stat -c %a before2)" = 644 ]
	[ "$(stat -c %a after)" = 600 ]
}

@test "an agent behind another program is not taken for one, and that is said" {
	for words in "env A=1 claude" "env -u A -- /opt/x/claude" "timeout -k 3 10s claude" "nohup claude"; do
		# shellcheck disable=SC2086
		run "$CCBOX" run -- $words
		echo "$words: $output"
		[[ $output == *"claude is started through ${words%% *}, so nothing of its login is lent"* ]]
	done
	for words in "env A=1 echo claude" "echo claude" "env"; do
		# shellcheck disable=SC2086
		run "$CCBOX" run -- $words
		[[ $output != *"is started through"* ]]
	done
	run "$CCBOX" run --agent none -- env A=1 claude
	[[ $output != *"is started through"* ]]
}

@test "a policy that names only what is read leaves nothing to write, and that is said" {
	mkdir -p "$BASE/read"
	echo "{\"filesystem\": {\"allowRead\": [\"$BASE/read\"]}}" >"$BASE/policy.jsonc"
	run "$CCBOX" run --policy "$BASE/policy.jsonc" --workdir "$BASE/read" -- true
	[[ $output == *"nothing is writable: allowRead of the policy is all that is bound"* ]]
	for more in "--bind $PWD" "--mode plan" --quiet; do
		# shellcheck disable=SC2086
		run "$CCBOX" run --policy "$BASE/policy.jsonc" --workdir "$BASE/read" $more -- true
		[[ $output != *"nothing is writable"* ]]
	done
}
