#!/usr/bin/env bats
# Tricks of somebody who had only the README and wanted out: each is named after what was tried, and was either an
# escape once or is one where the protection is missing. MARK must never come into being.
load lib

setup_more() {
	MARK=$BASE/marker
	git config --global protocol.file.allow always
	git init -q "$BASE/up"
	(cd "$BASE/up" && echo u >u && git add u && git commit -qm u)
}

hook() { printf 'printf "#!/bin/sh\\necho ran >>%s\\n" >%s; chmod +x %s;' "$MARK" "$1" "$1"; }
evil() { printf 'printf "[core]\\n\\tfsmonitor = \\"echo ran >>%s; false\\"\\n" >>%s;' "$MARK" "$1"; }

# What a person does next in a place that may run something.
person() {
	(
		cd "$1" || exit 0
		git status
		git diff
		echo "$RANDOM" >person.txt
		git add person.txt
		git commit -qm person
		git tag -f seen
		git branch -f seen
	) >/dev/null 2>&1 || true
}

unharmed() { [ ! -e "$MARK" ]; }

@test "a submodule's repository below a name with a slash is swapped for one with its own configuration" {
	git init -q .
	git submodule --quiet add "$BASE/up" libs/foo
	git commit -qm s
	box -- sh -c "cd .git; mkdir evil; cp -r modules/libs/foo/objects evil/; cp modules/libs/foo/HEAD modules/libs/foo/index evil/
		printf '[core]\n\tworktree = ../../../../libs/foo\n' >evil/config; $(evil evil/config)
		mv modules/libs/foo old; mv evil modules/libs/foo; cp -r old/refs modules/libs/foo/
		mkdir e2; mv -T e2 modules/libs/foo; mv modules/libs modules/l2; mv modules m2" || true
	[ -f .git/modules/libs/foo/HEAD ]
	person .
	person libs/foo
	unharmed
}

@test "a repository without a configuration, with hooks" {
	git init -q . && git commit -q --allow-empty -m a
	box -- sh -c "mkdir docs; cp -r .git/objects .git/refs docs/; mkdir docs/hooks
		for h in reference-transaction post-index-change pre-commit; do $(hook 'docs/hooks/$h') done
		cp .git/HEAD docs/; mv docs d2; cp .git/HEAD d2/h; mv d2/h d2/HEAD; ln .git/HEAD d2/HEAD; ln -s ../.git/HEAD d2/HEAD" || true
	person docs
	person d2
	unharmed
}

@test "a bare repository with its work trees around it (.bare, .git pointing at it)" {
	git clone -q --bare "$BASE/up" .bare
	echo 'gitdir: ./.bare' >.git
	git worktree add -q wt 2>/dev/null
	tricks="$(hook .bare/hooks/post-commit) $(hook .bare/hooks/post-index-change) $(evil .bare/config) $(evil .bare/config.worktree)
		git config core.fsmonitor 'echo ran >>$MARK; false'
		printf '../../x\n' >.bare/worktrees/wt/commondir; printf '../../x\n' >c; mv c .bare/worktrees/wt/commondir
		mkdir h; $(hook h/post-commit) mv .bare/hooks .bare/h2; mv h .bare/hooks; ln -s ../h .bare/hooks
		mv .bare b2; mkdir .bare"
	box -- sh -c "$tricks" || true
	person wt
	unharmed
	(cd wt && box -- sh -c "cd ..; $tricks") || true
	person wt
	unharmed
	[ -f .bare/HEAD ]
}

@test "git init --separate-git-dir inside the tree" {
	git init -q --separate-git-dir=gd . && git commit -q --allow-empty -m a
	box -- sh -c "$(hook gd/hooks/post-commit) $(evil gd/config) $(evil c) mv c gd/config; mv gd g2; mkdir -p gd/modules/x" || true
	[ -f gd/HEAD ]
	person .
	unharmed
	box -- sh -c 'echo a >a && git add a && git commit -qm inside'
	[ "$(git log -1 --format=%s)" = inside ]
}

@test "a bare repository that the tree has had before" {
	git init -q . && git commit -q --allow-empty -m a
	git clone -q --bare "$BASE/up" srv.git
	before=$(cat srv.git/config)
	box -- sh -c "$(hook srv.git/hooks/reference-transaction) $(evil srv.git/config) $(evil c) cp c srv.git/config; mv c srv.git/config
		exec 3<srv.git/config && echo '[core]' >>/proc/self/fd/3; python3 -c 'import os; os.truncate(\"srv.git/config\", 1)'" || true
	[ "$(cat srv.git/config)" = "$before" ]
	[ ! -e srv.git/hooks/reference-transaction ]
	person srv.git
	unharmed
	# taken apart it is no repository, and cannot be put together again
	box -- sh -c "mv srv.git/refs r; $(evil srv.git/config) $(hook srv.git/hooks/reference-transaction) mv r srv.git/refs" || true
	[ ! -e srv.git/refs ]
	person srv.git
	unharmed
}

@test "everyday names beside no repository stay free (config, hooks/, refs)" {
	box -- sh -c 'mkdir -p src/hooks src/refs objects && echo 1 >src/hooks/useIt.ts && echo 2 >>src/hooks/useIt.ts && echo a >config &&
		echo b >>config && exec 3<config && echo c >>/proc/self/fd/3 && mv src/hooks/useIt.ts src/hooks/useThat.ts && mkdir src/config &&
		echo >src/HEAD'
	[ "$(cat config)" = "$(printf 'a\nb\nc')" ]
}

@test "a .git file that goes through a directory which a link may replace" {
	git init -q . && git init -q "$BASE/other"
	box -- sh -c "mkdir -p s lnk/.git t; for p in '../lnk/.git' '$PWD/lnk/.git' '../.git/../lnk/.git' 'lnk/.git'; do
			printf 'gitdir: %s\n' \"\$p\" >s/.git.lock; mv s/.git.lock s/.git; done
		rm -rf lnk; ln -s $BASE/other lnk; ln -s $BASE/other s/lnk" || true
	[ ! -e s/.git ]
}

@test "the terminal is protected though standard input is none" {
	osc='\033]052;c;aGk=\007'
	run script -qec "echo | $CCBOX run --quiet -- sh -c 'printf \"A${osc}B\"; printf \"C${osc}D\" >&2'" /dev/null
	[[ $output != *'52;c'* ]]
	[[ $output == *AB* ]]
	[[ $output == *CD* ]]
}

@test "a sequence put together out of both output streams" {
	run script -qec "echo | $CCBOX run --quiet -- sh -c 'printf \"\033]\"; sleep 0.2; printf \"52;c;aGk=\007X\" >&2; sleep 0.2; printf \"\033]\033\"; sleep 0.2; printf \"]52;c;aGk=\007Y\" >&2'" /dev/null
	[[ $output != *$'\033]52'* ]]
	[[ $output == *X* ]]
}

@test "the zygote is not killed by a signal that a descriptor brings" {
	run box -- python3 -c '
import fcntl, os, socket, signal, struct, time
for pid in range(1, 40):
    if pid == os.getpid(): continue
    a, b = socket.socketpair()
    for call in (lambda: fcntl.fcntl(a, fcntl.F_SETOWN, pid), lambda: fcntl.fcntl(a, 15, struct.pack("ii", 1, pid)),
                 lambda: fcntl.ioctl(a, 0x8901, struct.pack("i", pid)), lambda: fcntl.ioctl(a, 0x8902, struct.pack("i", pid))):
        try: call()
        except OSError: pass
    fcntl.fcntl(a, 10, signal.SIGKILL)
    fcntl.fcntl(a, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
    b.send(b"x")
time.sleep(0.3)
print("alive")'
	[ "$status" -eq 0 ]
	[[ $output == *alive* ]]
}

@test "a directory of the system is not taken for a project" {
	cd /etc
	run "$CCBOX" run -- true
	[ "$status" -eq 125 ]
	[[ $output == *'belongs to the system'* ]]
}

@test "a login that names an address for configuration does not come back (OpenCode wellknown)" {
	mkdir -p "$HOME/.local/share/opencode" bin
	echo '{"anthropic":{"type":"oauth","refresh":"r","access":"a","expires":1}}' >"$HOME/.local/share/opencode/auth.json"
	for new in '{"https://evil.example":{"type":"wellknown","key":"NODE_OPTIONS","token":"t"}}' '{"x":{"type":"WellKnown","key":"K","token":"t"}}' \
		'{"x":{"type":"oauth","apiKeyHelper":"touch x"}}'; do
		printf '#!/bin/sh\nprintf "%%s" "$NEW" >"$HOME/.local/share/opencode/auth.json"\n' >bin/opencode
		chmod +x bin/opencode
		run "$CCBOX" run --quiet --env "NEW=$new" -- "$PWD/bin/opencode"
		[[ $output == *'not written back'* ]]
		grep -q '"refresh":"r"' "$HOME/.local/share/opencode/auth.json"
	done
	run "$CCBOX" run --quiet --env 'NEW={"anthropic":{"type":"oauth","refresh":"r2","access":"a","expires":2}}' -- "$PWD/bin/opencode"
	grep -q r2 "$HOME/.local/share/opencode/auth.json"
}

@test "a bind that is swapped for a link while the session starts (another session on the tree)" {
	mkdir sub victim aside
	cat >"$BASE/swap.py" <<-'P'
		import os, time
		while True:
		    try:
		        os.rename('sub', 'aside/sub'); os.symlink('victim', 'sub'); time.sleep(0.004)
		        os.unlink('sub'); os.rename('aside/sub', 'sub'); time.sleep(0.004)
		    except OSError: time.sleep(0.001)
	P
	python3 "$BASE/swap.py" &
	swapper=$!
	good=0
	for i in $(seq 40); do
		box --bind "$PWD/sub" -- sh -c "echo in >$PWD/sub/mark" >/dev/null 2>&1 && good=$((good + 1))
		[ ! -e victim/mark ] || break
	done
	kill "$swapper"
	wait "$swapper" 2>/dev/null || true
	[ ! -e victim/mark ]
}

@test "a read-only bind inside a writable one is not moved away with its parent and replaced" {
	mkdir -p a/b/c && echo host >a/b/c/f
	run "$CCBOX" run --bind . --bind a/b/c:ro -- sh -c 'mkdir -p x/b/c x/c; echo evil >x/b/c/f; echo evil >x/c/f
		mv a y; mv x a; mv a/b a/z; mv x/b a/b; mv -T x a
		python3 -c "import ctypes; print(ctypes.CDLL(None).renameat2(-100, b\"x\", -100, b\"a\", 2))"'
	[ "$(cat a/b/c/f)" = host ]
	[[ $output == *mount:above* ]]
}

@test "a hook that is a link to a script of the tree" {
	git init -q . && git commit -q --allow-empty -m a
	mkdir -p scripts/sub
	printf '#!/bin/sh\nexit 0\n' | tee scripts/check.sh >scripts/sub/other.sh
	chmod +x scripts/check.sh scripts/sub/other.sh
	ln -s ../../scripts/check.sh .git/hooks/pre-commit
	ln -s "$PWD/scripts/sub/other.sh" .git/hooks/post-commit
	box -- sh -c "$(hook scripts/check.sh) $(hook scripts/sub/other.sh) $(hook n) mv n scripts/check.sh; rm scripts/check.sh
		$(hook scripts/free.sh) mv scripts/sub s3; mv scripts s2" || true
	[ -e scripts/free.sh ]
	person .
	unharmed
	rm -r .git/hooks && ln -s ../scripts/hooks .git/hooks && mkdir scripts/hooks
	box -- sh -c "$(hook scripts/hooks/pre-commit) mv scripts s2" || true
	person .
	unharmed
}
