#!/usr/bin/env bats
# The field's public failure cases (the numbers in the names), each through the whole of ccbox: what happens inside, what
# the host has afterwards, and the event that says so.
load lib

setup_more() {
	echo SECRET=1 >.env
	chmod 600 .env
	cp -a .env "$BASE/env.before"
}

# Whatever was tried, the secret that was there is as it was.
teardown_more() {
	[ ! -e "$BASE/env.before" ] || [ ! -e .env ] || cmp .env "$BASE/env.before"
}

# one_violation ACTION TARGET RULE : exactly one event in the newest session, and it is that one.
one_violation() {
	[ "$(violations | wc -l)" -eq 1 ] && violations | grep -qF "\"action\":\"$1\",\"target\":\"$2\"" && violations | grep -qF "\"rule\":\"$3\"" || {
		violations >&2
		return 1
	}
}

env_same() { cmp .env "$BASE/env.before" && [ "$(stat -c %a .env)" = 600 ]; }

@test "FS-01 a new name that a glob denies" {
	rm .env
	run box -- sh -c 'echo x > .env'
	[ "$status" -ne 0 ]
	[[ $output == *"Permission denied"* ]]
	[ ! -e .env ]
	one_violation file-write-create "$PWD/.env" 'name:**/.env'
	violations | grep -qF "\"grant\":\"--allow-name '**/.env'\""
}

@test "FS-02 in a directory made inside" {
	run box -- sh -c 'mkdir -p a/b && echo x > a/b/.env'
	[ "$status" -ne 0 ]
	[ -d a/b ]
	[ ! -e a/b/.env ]
	one_violation file-write-create "$PWD/a/b/.env" 'name:**/.env'
}

@test "FS-03 every glob, in every case" {
	box -- sh -c 'for n in k.key c.pem X.PEM s.p12 t.pfx .env.local .ENV .Env.Prod; do touch $n; done' || true
	[ "$(ls -A)" = .env ]
	[ "$(violations | wc -l)" -eq 8 ]
}

@test "FS-04 rename onto a denied name" {
	run box -- sh -c 'echo x > t; mv t c.pem'
	[ "$status" -ne 0 ]
	[ -e t ]
	[ ! -e c.pem ]
	one_violation file-write-create "$PWD/c.pem" 'name:**/*.pem'
	run box -- sh -c 'mv -f t .env'
	[ "$status" -ne 0 ]
	env_same
}

@test "FS-05 hard link to a denied name" {
	run box -- sh -c 'echo x > t; ln t c.pem'
	[ "$status" -ne 0 ]
	[ ! -e c.pem ]
	one_violation file-write-create "$PWD/c.pem" 'name:**/*.pem'
}

@test "FS-06 hard link from a denied file" {
	run box -- ln .env t
	[ "$status" -ne 0 ]
	[ ! -e t ]
	[ "$(stat -c %h .env)" = 1 ]
	[ "$(violations | wc -l)" -eq 1 ]
	saw_refusal /.env
}

@test "FS-08 write through a symlink to a denied file" {
	run box -- sh -c 'ln -s .env n; echo x > n'
	[ "$status" -ne 0 ]
	env_same
	one_violation file-write-data "$PWD/.env" 'name:**/.env'
}

@test "FS-09 a symlink out of the workspace" {
	mkdir "$HOME/.ssh"
	echo key >"$HOME/.ssh/id_x"
	run box -- sh -c 'ln -s ~/.ssh/id_x n; cat n; echo k >> n; mkdir -p ~/.ssh; echo k >>n'
	[[ $output != *key* ]]
	[ "$(cat "$HOME/.ssh/id_x")" = key ]
}

@test "FS-11 create through a dangling link" {
	rm .env
	run box -- sh -c 'ln -s .env n; echo x > n'
	[ "$status" -ne 0 ]
	[ ! -e .env ]
	one_violation file-write-create "$PWD/.env" 'name:**/.env'
}

@test "FS-12 FS-13 procfs spellings: cwd, root, a descriptor" {
	rm .env
	run box -- bash -c 'echo x > /proc/self/cwd/.env; echo x > "/proc/self/root$PWD/.env"; exec 5<.; echo x > /proc/self/fd/5/.env; echo x > /dev/fd/5/.env'
	[ ! -e .env ]
	[ "$(violations | wc -l)" -eq 4 ]
	[ "$(violations | grep -cF "\"target\":\"$PWD/.env\"")" -eq 4 ]
}

@test "FS-15 FS-23 FS-24 relative descriptors, openat2 and old calls" {
	rm .env
	cat >c.py <<-'PY'
		import ctypes, os, struct
		libc = ctypes.CDLL(None, use_errno=True)
		def tried(what, result): print(what, "escaped" if result >= 0 else os.strerror(ctypes.get_errno()))
		d = os.open(".", os.O_RDONLY)
		tried("openat", libc.openat(d, b".env", os.O_CREAT | os.O_WRONLY, 0o644))
		how = struct.pack("QQQ", os.O_CREAT | os.O_WRONLY, 0o644, 0)
		tried("openat2", libc.syscall(437, d, b".env", how, 24))
		tried("creat", libc.creat(b".env", 0o644))
		tried("mknod", libc.mknod(b".env", 0o100644, 0))
	PY
	run box -- /usr/bin/python3 c.py
	[[ $output != *escaped* ]]
	[ "$(echo "$output" | grep -c 'Permission denied')" -ge 4 ]
	[ ! -e .env ]
	[ "$(violations | wc -l)" -eq 4 ]
}

@test "FS-16 a detour over dot-dot" {
	rm .env
	run box -- sh -c 'mkdir a; echo x > ./a/../.env'
	[ "$status" -ne 0 ]
	[ ! -e .env ]
	one_violation file-write-create "$PWD/.env" 'name:**/.env'
}

@test "FS-18 exchange of a denied and an allowed name" {
	run box -- /usr/bin/python3 -c 'import ctypes, sys; open("ex", "w").write("x"); sys.exit(0 if ctypes.CDLL(None).renameat2(-100, b"ex", -100, b".env", 2) == 0 else 3)'
	[ "$status" -eq 3 ]
	env_same
	[ "$(cat ex)" = x ]
}

@test "FS-19 a directory renamed into a pattern of several parts" {
	echo '{"filesystem": {"denyWrite": ["**/secrets/**"]}}' >"$BASE/p.jsonc"
	run box --policy "$BASE/p.jsonc" -- sh -c 'mkdir t; echo x > t/a; mv t secrets'
	[ "$status" -ne 0 ]
	[ -e t/a ]
	[ ! -e secrets/a ]
	run box --policy "$BASE/p.jsonc" -- sh -c 'mkdir -p secrets; echo x >secrets/b'
	[ ! -e secrets/b ]
}

@test "FS-20 objects that are no files" {
	run box -- sh -c 'mkfifo a.key; mkdir b.pem; /usr/bin/python3 -c "import socket; socket.socket(socket.AF_UNIX).bind(\"c.p12\")"; ln -s x d.pfx; mkfifo plain'
	[ "$(ls -A)" = .env ]
	[ "$(violations | wc -l)" -eq 5 ]
}

@test "FS-21 metadata of a denied file" {
	before=$(stat -c '%a %Y %u' .env)
	run box -- sh -c 'chmod 777 .env; touch .env; touch -d 2001-01-01 .env; /usr/bin/python3 -c "
import os
os.chmod(os.open(\".env\", os.O_RDONLY), 0o777)"; /usr/bin/python3 -c "
import os
os.setxattr(\".env\", \"user.x\", b\"1\")"'
	[ "$(stat -c '%a %Y %u' .env)" = "$before" ]
	[ "$(violations | grep -c file-write-mode)" -ge 3 ]
}

@test "FS-22 truncate without open" {
	run box -- /usr/bin/python3 -c 'import os; os.truncate(".env", 0)'
	[ "$status" -ne 0 ]
	env_same
	one_violation file-write-data "$PWD/.env" 'name:**/.env'
}

@test "FS-30 not anchored to the working directory" {
	mkdir -p one other
	cd one
	run box --bind .. -- sh -c 'echo x > ../other/.env'
	[ "$status" -ne 0 ]
	[ ! -e ../other/.env ]
	cd ..
}

@test "FS-31 at any depth" {
	mkdir -p a/b/c/d/e/.git/hooks
	run box -- sh -c 'echo x > a/b/c/d/e/.git/hooks/pre-commit; echo x >a/b/c/d/e/.env'
	[ ! -e a/b/c/d/e/.git/hooks/pre-commit ]
	[ ! -e a/b/c/d/e/.env ]
	[ "$(violations | wc -l)" -eq 2 ]
}

@test "FS-32 CFG-01 an agent's settings that are not there cannot come into being" {
	run box -- sh -c 'mkdir -p .claude/hooks; echo {} > .claude/settings.json; echo {} > .claude/settings.local.json; echo x > .claude/hooks/x.sh; echo {} > .mcp.json; mkdir .cursor; echo {} >.ccbox.jsonc
		mkdir c2; echo {} >c2/settings.json; mv c2 .claude3; mv .claude3 .claude; mkdir -p ok/.claude; echo {} >ok/.claude/settings.json'
	for file in .claude/settings.json .claude/settings.local.json .claude/hooks/x.sh .mcp.json .cursor .ccbox.jsonc ok/.claude/settings.json; do
		[ ! -e "$file" ]
	done
	saw_refusal /.claude/settings.json
	saw_refusal /.ccbox.jsonc
}

@test "FS-33 the first write of a session is refused as the second" {
	echo '{"filesystem": {"denyWrite": ["**/credentials.json"]}}' >"$BASE/p.jsonc"
	run box --policy "$BASE/p.jsonc" -- sh -c 'echo hi > credentials.json && cat credentials.json'
	[ "$status" -ne 0 ]
	[ ! -e credentials.json ]
}

@test "FS-34 a directory that must not be read is no writable empty one" {
	mkdir hidden
	echo s >hidden/f
	echo "{\"filesystem\": {\"denyRead\": [\"$PWD/hidden\"]}}" >"$BASE/p.jsonc"
	run box --policy "$BASE/p.jsonc" -- sh -c 'cat hidden/f; ls hidden; echo x > hidden/g && echo lost'
	[[ $output != *lost* ]]
	[ "$(ls hidden)" = f ]
	[ "$(cat hidden/f)" = s ]
	[ "$(echo "$output" | grep -cx s)" -eq 0 ]
}

@test "FS-35 writable below readable below hidden" {
	mkdir -p "$HOME/A/w/p" "$HOME/A/x"
	echo s >"$HOME/A/x/s"
	run box --bind "$HOME/A/w:ro" --bind "$HOME/A/w/p" -- sh -c 'touch ~/A/w/p/f; touch ~/A/w/g; cat ~/A/x/s'
	[ -e "$HOME/A/w/p/f" ]
	[ ! -e "$HOME/A/w/g" ]
	[[ $output == *"x/s: No such file"* ]]
}

@test "FS-38 a directory that holds a repository is moved, and the rules follow, or it is refused with an event" {
	git init -q nested
	run box -- sh -c 'mv nested nested2; echo x >nested2/.git/hooks/pre-commit; echo x >nested/.git/hooks/pre-commit'
	[ ! -e nested/.git/hooks/pre-commit ]
	[ ! -e nested2/.git/hooks/pre-commit ]
	saw_refusal /pre-commit
}

@test "FS-41 no hard link from a read-only bind into the tree" {
	mkdir "$BASE/look"
	echo l >"$BASE/look/f"
	run box --bind . --bind "$BASE/look:ro" -- sh -c "ln $BASE/look/f here; echo x >here"
	[ "$(stat -c %h "$BASE/look/f")" = 1 ]
	[ "$(cat "$BASE/look/f")" = l ]
}

@test "FS-42 unlink removes the link, not its target" {
	run box -- sh -ec 'echo t >target; ln -s target n; rm n; test -e target; ln -s .env e; rm e; ls -A'
	[ "$status" -eq 0 ]
	[ -e target ]
	[ ! -L n ]
	[ ! -L e ]
	env_same
}

@test "FS-43 a program reads its own maps" {
	run box -- sh -c 'grep -c . /proc/self/maps >/dev/null && grep -o "/[^ ]*grep" /proc/self/maps | head -n 1'
	[[ $output == */grep ]]
}

@test "FS-28 name_to_handle_at is refused" {
	run box -- /usr/bin/python3 -c '
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
buf = ctypes.create_string_buffer(b"\x80\0\0\0" + b"\0" * 200); m = ctypes.c_int()
print(libc.name_to_handle_at(-100, b".env", buf, ctypes.byref(m), 0), ctypes.get_errno())'
	[ "$output" = "-1 1" ]
}

@test "GIT-09 CFG-02 a policy file that is named must be there; nothing starts without" {
	run "$CCBOX" run --policy "$BASE/none.jsonc" -- touch started
	[ "$status" -eq 125 ]
	[[ $output == *none.jsonc* ]]
	[ ! -e started ]
}

@test "CFG-06 off says so on every start, on says what it shows" {
	run "$CCBOX" run --backend none --quiet -- true
	[[ $output == *"NO SANDBOX"* ]]
	run "$CCBOX" run -- true
	[[ $output == *"writable $PWD"* ]]
	run env CC_BACKEND=none "$CCBOX" run -- true
	[[ $output == *"NO SANDBOX"* ]]
}

@test "CFG-07 a project file cannot set the environment" {
	for text in '{"env": ["ANTHROPIC_BASE_URL=http://evil.test"]}' '{"environment": {}}' '{"network": {"allowedDomains": ["evil.test"]}}' \
		'{"network": {"hosts": {"api.anthropic.com": ["10.0.0.1"]}}}' '{"filesystem": {"allowNames": ["**/.env"]}}' '{"filesystem": {"allowWrite": ["/tmp"]}}'; do
		echo "$text" >.ccbox.jsonc
		run "$CCBOX" run -- touch started
		[ "$status" -eq 125 ]
		[[ $output == *".ccbox.jsonc:1:"* ]]
		[ ! -e started ]
	done
}

@test "ENV-01 a preloaded library is not carried in, and a new session does not see the last one's HOME" {
	LD_PRELOAD= box -- sh -c 'echo x >~/.profile; echo x >/tmp/lib.so'
	run env BASH_ENV=/tmp/x ENV=/tmp/x PYTHONSTARTUP=/tmp/x "$CCBOX" run --quiet -- sh -c 'ls -A ~ /tmp; env'
	[[ $output != *.profile* ]]
	[[ $output != *lib.so* ]]
	[[ $output != *BASH_ENV* ]]
	[[ $output != *PYTHONSTARTUP* ]]
	run "$CCBOX" run --env LD_PRELOAD -- true
	[ "$status" -eq 125 ]
}

@test "ENV-04 two sessions have temporary directories of their own" {
	"$CCBOX" run --quiet -- sh -c 'echo a >/tmp/shared; echo up; sleep 3' >out 2>&1 &
	pid=$!
	for _ in $(seq 100); do grep -q up out && break; sleep 0.05; done
	run box -- sh -c 'cat /tmp/shared; echo b >/tmp/shared && echo fine'
	kill $pid
	[[ $output == *fine* ]]
	[[ $output != a* ]]
}

@test "two sessions on one tree, and the host beside them: the rules of each hold, their work is not lost (names 6)" {
	echo SECRET=1 >.env
	mkdir d
	cat >work.sh <<'END'
i=0
while [ $i -lt 150 ]; do
	i=$((i + 1))
	echo "$i" >"$1.tmp" && mv "$1.tmp" "$1" || echo lost
	mkdir "d/$1$i" && mv "d/$1$i" "d/$1-$i" && rmdir "d/$1-$i" || echo lost
	echo x >.env && echo escaped
	mv "$1" .env && echo escaped
	ln .env "$1.ln" && echo escaped
	mkdir -p "d/$1.git/hooks" && mv "d/$1.git" d/.git && echo escaped
	rm -rf "d/$1.git"
done 2>/dev/null
exit 0
END
	box -- sh work.sh one >"$BASE/one" &
	first=$!
	box -- sh work.sh two >"$BASE/two" &
	second=$!
	for i in $(seq 100); do echo "$i" >host && mv host host2; mkdir -p "d/h$i" && rmdir "d/h$i"; done
	wait $first
	wait $second
	[ ! -s "$BASE/one" ]
	[ ! -s "$BASE/two" ]
	[ "$(cat .env)" = SECRET=1 ]
	[ "$(cat one two host2)" = "$(printf '150\n150\n100')" ]
	[ "$(stat -c %h .env)" = 1 ]
	[ -z "$(ls -A d)" ]
}

@test "ENV-05 a HOME that is a symlink" {
	mkdir -p "$BASE/real/.ssh"
	echo key >"$BASE/real/.ssh/x"
	ln -s "$BASE/real" "$BASE/homelink"
	export HOME=$BASE/homelink
	run box -- sh -c "cat ~/.ssh/x; cat $BASE/real/.ssh/x; cat $BASE/homelink/.ssh/x; echo x >~/f; echo \$HOME"
	[[ $output != *key* ]]
	[ ! -e "$BASE/real/f" ]
	# and where the bind contains it: hidden under both spellings
	run box --bind "$BASE/real" -- sh -c "cat $BASE/real/.ssh/x; echo n >$BASE/real/.ssh/y; echo n >$BASE/homelink/.ssh/y"
	[[ $output != *key* ]]
	[ ! -e "$BASE/real/.ssh/y" ]
}

@test "OPS-11 a shell that only PATH knows" {
	mkdir bin
	cp /bin/bash bin/mybash
	PATH=$PWD/bin:$PATH run box -- mybash -c 'echo $BASH_VERSION'
	[ "$status" -eq 0 ]
	[ -n "$output" ]
}

@test "OPS-12 thousands of matching files and work trees: same start, same arguments" {
	box --dry-run -- true | grep -v 'CCBOX_SESSION\|TMPDIR' >before
	/usr/bin/python3 -c '
import os
for i in range(3552):
    os.makedirs("d%d" % (i % 64), exist_ok=True)
    open("d%d/%d.pem" % (i % 64, i), "w").close()'
	box --dry-run -- true | grep -v 'CCBOX_SESSION\|TMPDIR' >after
	cmp before after
	run box -- sh -c 'find . -name "*.pem" | wc -l; echo x >d1/1.pem'
	[ "${lines[0]}" = 3552 ]
	[ ! -s d1/1.pem ]
}

@test "OPS-16 a backend that is not there is an error and starts nothing" {
	run "$CCBOX" run --backend microvm -- touch started
	[ "$status" -eq 125 ]
	[ ! -e started ]
	run "$CCBOX" run --backend docker-desktop -- touch started
	[ "$status" -eq 125 ]
	[ ! -e started ]
}

@test "OPS-17 OPS-06 SIGKILL leaves neither files nor processes" {
	git init -q .
	git add .env -f
	before=$(tree_hash .)
	"$CCBOX" run --quiet -- sh -c 'echo up; sleep 471.'$$' & sleep 472.'$$ >"$BASE/out" 2>&1 &
	pid=$!
	for _ in $(seq 100); do grep -q up "$BASE/out" && break; sleep 0.05; done
	kill -KILL $pid
	wait $pid 2>/dev/null || true
	for _ in $(seq 60); do pgrep -u "$(id -u)" -f "sleep 47[12].$$" >/dev/null || break; sleep 0.05; done
	run pgrep -u "$(id -u)" -f "sleep 47[12].$$"
	[ "$status" -ne 0 ]
	run pgrep -u "$(id -u)" -P 1 -f "$(dirname "$CCBOX")/cc-proxy"
	[ "$status" -ne 0 ]
	[ "$before" = "$(tree_hash .)" ]
}

@test "OPS-18 an inner sandbox is refused with a reason, not half built" {
	run box -- sh -c 'bwrap --ro-bind / / true; unshare -Ur true; echo end'
	[[ $output == *end* ]]
	run box -- unshare -Ur true
	[ "$status" -ne 0 ]
	run box -- bwrap --ro-bind / / true
	[ "$status" -ne 0 ]
}

@test "SYS-04 SYS-06 SYS-07 SYS-10: no keystrokes, no helper in sight, no environment, no signal to PID 1" {
	export HIDDEN_VALUE=sesame
	run box -- sh -c '
		cat /proc/[0-9]*/environ 2>/dev/null | tr "\0" "\n" | grep -c sesame
		ls -d /proc/[0-9]* | wc -l
		kill -STOP 1 2>/dev/null && echo stopped
		kill -KILL 1 2>/dev/null && echo killed
		cat /proc/1/maps >/dev/null 2>&1 && echo maps
		cat /proc/1/environ >/dev/null 2>&1 && echo environ
		/usr/bin/python3 -c "
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
print(\"ptrace\", libc.ptrace(16, 1, 0, 0), ctypes.get_errno())"
		echo alive'
	[[ $output == *alive* ]]
	[[ $output == *"ptrace -1"* ]]
	[ "${lines[0]}" = 0 ]
	[ "${lines[1]}" -lt 12 ]
	for word in stopped killed maps environ; do [[ $output != *$word* ]]; done
}

@test "SYS-01 SYS-03 x32 numbers and hidden namespace flags" {
	run box -- /usr/bin/python3 -c '
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
print(libc.syscall(0x40000000 + 2, b".env", 0x41, 0o644), libc.syscall(435, ctypes.create_string_buffer(b"\0\0\0\x10" + b"\0" * 84), 88), libc.unshare(0x10000000))'
	[[ $output == "-1 -1 -1" || $status -gt 128 ]]
	env_same
}

@test "SYS-11 a listener of the program's own is a clear error" {
	run box -- /usr/bin/python3 -c '
import ctypes, struct
libc = ctypes.CDLL(None, use_errno=True)
prog = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0x7fff0000))
fprog = struct.pack("HxxxxxxP", 1, ctypes.addressof(prog))
libc.prctl(38, 1, 0, 0, 0)
print(libc.syscall(317, 1, 8, fprog), ctypes.get_errno())'
	[[ $output == "-1 "* ]]
}

@test "EXEC-02 a background command is as confined" {
	rm .env
	box -- sh -c 'true & touch .env; (sleep 0.1; touch k.pem) & wait' || true
	[ ! -e .env ]
	[ ! -e k.pem ]
}

@test "EXEC-03 installed below a HOME that is private inside" {
	mkdir "$HOME/tools"
	cp "$(dirname "$CCBOX")"/{ccbox,cc-init,cc-proxy,cc-connect} "$HOME/tools/"
	run "$HOME/tools/ccbox" run --quiet -- sh -c 'ls -A ~; echo works >f'
	[ "$status" -eq 0 ]
	[[ $output != *tools* ]]
	[ "$(cat f)" = works ]
}

@test "IPC-01 IPC-02 IPC-05 sockets of the host: outside, in the tree, an agent's" {
	cat >"$BASE/listen.py" <<-'PY'
		import socket, sys
		ls = []
		for path in sys.argv[1:]:
		    s = socket.socket(socket.AF_UNIX); s.bind(path); s.listen(); ls.append(s)
		print("up", flush=True)
		import select
		while True:
		    for s in select.select(ls, [], [])[0]:
		        s.accept(); print("reached", flush=True)
	PY
	/usr/bin/python3 "$BASE/listen.py" "$BASE/docker.sock" "$PWD/tree.sock" >"$BASE/heard" 3>&- &
	server=$!
	for _ in $(seq 100); do grep -q up "$BASE/heard" && break; sleep 0.05; done
	export SSH_AUTH_SOCK=$BASE/docker.sock
	run box -- sh -c "
		echo \"[\$SSH_AUTH_SOCK]\"
		for p in $BASE/docker.sock tree.sock /run/user/$(id -u)/bus /run/dbus/system_bus_socket /var/run/docker.sock; do
			/usr/bin/python3 -c 'import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1]); print(\"connected\")' \$p 2>/dev/null
		done
		/usr/bin/python3 -c '
import socket, os
s = socket.socket(socket.AF_UNIX); s.bind(os.environ[\"TMPDIR\"] + \"/s\"); s.listen()
c = socket.socket(socket.AF_UNIX); c.connect(os.environ[\"TMPDIR\"] + \"/s\"); print(\"own\")
t = socket.socket(socket.AF_UNIX); t.bind(\"own.sock\"); t.listen()
c = socket.socket(socket.AF_UNIX); c.connect(\"own.sock\"); print(\"own\")'"
	kill $server
	[ "${lines[0]}" = "[]" ]
	[[ $output != *connected* ]]
	[ "$(echo "$output" | grep -c own)" -eq 2 ]
	no grep -q reached "$BASE/heard"
}

@test "NET-01 NET-29 NET-30 NET-31 nothing leaves but through the proxy, and that says no" {
	run box -- sh -c '
		curl -s -o /dev/null -w "%{http_code}\n" -m 10 http://evil.test/
		curl -s -m 10 https://evil.test/; echo "curl $?"
		NO_PROXY="*" no_proxy="*" curl -s -m 5 http://evil.test/; echo "direct $?"
		env -u http_proxy -u HTTP_PROXY -u ALL_PROXY -u all_proxy curl -s -m 5 http://1.1.1.1/; echo "raw $?"
		getent hosts x.evil.test; echo "lookup $?"
		/usr/bin/python3 -c "
import socket
for kind, target in ((socket.SOCK_STREAM, (\"1.1.1.1\", 443)), (socket.SOCK_DGRAM, (\"8.8.8.8\", 53))):
    s = socket.socket(socket.AF_INET, kind); s.settimeout(3)
    try: s.connect(target); s.send(b\"x\"); print(\"escaped\")
    except OSError as e: print(\"unreachable\")
for family in (16, 17, 38, 40, 31):
    try: socket.socket(family, socket.SOCK_RAW if family in (16, 17) else socket.SOCK_STREAM); print(\"family\", family)
    except OSError: pass"'
	[[ $'\n'$output == *$'\n'403* ]]
	[[ $output != *"curl 0"* ]]
	[[ $output != *"direct 0"* ]]
	[[ $output != *"raw 0"* ]]
	[[ $output != *"lookup 0"* ]]
	[[ $output != *escaped* ]]
	[[ $output != *"family 17"* && $output != *"family 38"* && $output != *"family 40"* ]]
	violations | grep -q '"action":"network-outbound","target":"evil.test:80"'
	violations | grep -q -- '--allow-host'
	run box --no-network -- sh -c 'curl -s -o /dev/null -w "%{http_code}\n" -m 10 http://registry.npmjs.org/'
	[[ $'\n'$output == *$'\n'403* ]]
}

@test "NET-34 a name that is allowed does not open the host's own addresses" {
	/usr/bin/python3 -c '
import http.server
s = http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
print(s.server_port, flush=True); s.serve_forever()' >"$BASE/port" 2>/dev/null 3>&- &
	server=$!
	for _ in $(seq 100); do [ -s "$BASE/port" ] && break; sleep 0.05; done
	port=$(cat "$BASE/port")
	run box --allow-host "*.test" -- sh -c "
		curl -s -o /dev/null -w '%{http_code}\n' -m 10 --noproxy '' http://localhost:$port/
		curl -s -o /dev/null -w '%{http_code}\n' -m 10 --noproxy '' http://127.0.0.1:$port/
		curl -s -o /dev/null -w '%{http_code}\n' -m 10 --noproxy '' 'http://[::ffff:127.0.0.1]:$port/'
		curl -s -o /dev/null -w '%{http_code}\n' -m 10 http://169.254.169.254/
		curl -s -m 5 --noproxy '*' http://127.0.0.1:$port/; echo direct \$?"
	[[ $output != *200* ]]
	[[ $output != *"direct 0"* ]]
	run box --host named.test=127.0.0.1 --allow-host "named.test:$port" -- curl -s -o /dev/null -w '%{http_code}' -m 10 "http://named.test:$port/"
	kill $server
	[[ $output == *200* ]]
}
