#!/usr/bin/env bats
# git inside a bind: what works, what is refused, and that nothing the agent leaves runs on the host (contract 6.6, 6.7;
# attacks 4, 5, 9; cases GIT-*).
load lib

# A project as people have them: a template of secrets, editor settings, a package manager's, a certificate, a submodule.
setup_more() {
	git config --global protocol.file.allow always
	git config --global advice.detachedHead false
	git init -q "$BASE/part"
	(cd "$BASE/part" && echo s >s && git add s && git commit -qm part)
	git init -q .
	echo X= >.env.example
	mkdir .vscode docs
	echo '{}' >.vscode/settings.json
	echo 'fund=false' >.npmrc
	echo cert >test.p12
	echo a >a.txt
	echo d >docs/d.txt
	git submodule --quiet add "$BASE/part" part 2>/dev/null
	git add -A
	git commit -qm base
	MARK=$BASE/marker
	printf '#!/bin/sh\necho ran >>%s\n' "$MARK" >x
	chmod +x x
	git add x
	git commit -qm x
}

# What a person does next, in a place that the agent has prepared.
host_git() {
	(
		cd "$1" || exit 0
		git status
		git diff
		git log -1
		git add -A
		git commit -m host
		GIT_EDITOR=true git rebase --continue
		GIT_EDITOR=true git cherry-pick --continue
		git checkout -f HEAD
	) >>"$BASE/host.log" 2>&1 </dev/null || true
	if [ -e "$MARK" ]; then
		echo "the host ran it: git in $1" >&2
		tail -n 30 "$BASE/host.log" >&2
		return 1
	fi
}

# Runs a command as often as refusals print a flag, each time in a fresh copy of the project, with all flags so far.
with_printed_flags() {
	local flags=() round line found
	for round in 1 2 3 4 5 6 7 8; do
		rm -rf "$BASE/copy"
		cp -a "$BASE/proj" "$BASE/copy"
		if (cd "$BASE/copy" && eval "box --bind . ${flags[*]} -- sh -c \"\$1\"") >"$BASE/out" 2>&1; then
			echo "flags: ${flags[*]}"
			return 0
		fi
		found=
		while read -r line; do
			case " ${flags[*]} " in *" $line "*) ;; *)
				flags+=("$line")
				found=1
				;;
			esac
		done < <(sed -n 's/.*; allow with: //p' "$BASE/out")
		[ -n "$found" ] || break
	done
	cat "$BASE/out" >&2
	return 1
}

@test "add, commit, checkout, switch, branch, remote, tag work (GIT-06)" {
	run box -- sh -ec '
		echo b >b.txt
		git add b.txt
		git commit -qm two
		git checkout -q -b one
		git switch -q -c other
		git branch -q --track tracking main
		git remote add away https://example.com/x.git
		git remote set-url away git@example.com:x.git
		git tag light
		git tag -a -m heavy heavy
		git config --get remote.away.url
		git config --get branch.tracking.merge'
	[ "$status" -eq 0 ]
	[[ $output == *"git@example.com:x.git"* ]]
	[[ $output == *refs/heads/main* ]]
	[ "$(git log -1 --format=%s other)" = two ]
	[ "$(git config remote.away.url)" = git@example.com:x.git ]
	[ "$(git tag | tr '\n' ' ')" = "heavy light " ]
	git fsck
}

@test "stash, merge, rebase, cherry-pick, revert, gc work" {
	run box -- sh -ec '
		echo b >>a.txt
		git stash -q
		git stash pop -q
		git commit -qam three
		git checkout -q -b side HEAD~1
		echo n >n.txt
		git add n.txt
		git commit -qm n
		git merge -q --no-edit main
		git checkout -q -b line main~1
		echo l >l.txt
		git add l.txt
		git commit -qm l
		git rebase -q main
		git cherry-pick side^1 >/dev/null
		git revert --no-edit HEAD >/dev/null
		git gc -q
		git status --porcelain
		git diff --stat HEAD~1 >/dev/null'
	echo "$output"
	[ "$status" -eq 0 ]
	[ -z "$output" ]
	git fsck
	[ "$(git rev-parse line~3)" = "$(git rev-parse main)" ]
}

@test "a rebase with a conflict is continued, an interactive one takes sed -i, inside" {
	run box -- sh -ec '
		git checkout -q -b b
		echo b >a.txt
		git commit -qam b
		git checkout -q main
		echo c >a.txt
		git commit -qam c
		if git rebase -q b; then exit 9; fi
		echo bc >a.txt
		git add a.txt
		GIT_EDITOR=true git rebase --continue
		echo d >d.txt
		git add d.txt
		git commit -qm d
		GIT_SEQUENCE_EDITOR="sed -i 2s/^pick/fixup/" git rebase -q -i HEAD~2
		git status'
	[ "$status" -eq 0 ]
	[[ $output == *"nothing to commit"* ]]
	[ "$(git log -1 --format=%s)" = c ]
	[ -e d.txt ]
}

@test "init, clone of a local path and fetch work; what the clone brings is judged by name" {
	run box -- sh -ec '
		git init -q fresh
		cd fresh
		echo 1 >f
		git add f
		git commit -qm f
		cd ..
		git clone -q "$PWD/fresh" copy
		git clone -q --bare fresh "$TMPDIR/bare.git"
		cd copy
		git remote add bare "$TMPDIR/bare.git"
		git fetch -q bare
		git push -q bare HEAD:refs/heads/pushed
		git log -1 --format=%s'
	[ "$status" -eq 0 ]
	[ "$output" = f ]
	[ "$(git -C copy log -1 --format=%s)" = f ]
	# the project itself holds names that a session may not make
	run box -- git clone -q . again
	[ "$status" -ne 0 ]
	[[ $output == *"allow with: --allow-name '**/.env.example'"* ]]
	[ ! -e again/.env.example ]
	[ ! -e again/.vscode ]
	[ ! -e again/.npmrc ]
	[ ! -e again/test.p12 ]
}

@test "the flags that a refused clone prints let it through" {
	run with_printed_flags 'git -c protocol.file.allow=always clone -q . again'
	echo "$output"
	[ "$status" -eq 0 ]
	[[ $output == *"--allow-name '**/.env.example'"* ]]
	[ -e "$BASE/copy/again/.env.example" ]
	[ -e "$BASE/copy/again/.vscode/settings.json" ]
	[ -e "$BASE/copy/again/test.p12" ]
}

@test "worktree add is refused; the flags that it prints let it through, and a commit works there" {
	run box -- git worktree add wt
	[ "$status" -ne 0 ]
	[[ $output == *"rule git:worktree-add"* ]]
	[ ! -e .git/worktrees/wt ]
	git branch -D wt
	run with_printed_flags 'git worktree add -q -b wt wt --no-checkout && cd wt && git reset -q && git commit -q --allow-empty -m there'
	echo "$output"
	[ "$status" -eq 0 ]
	[[ $output == *"--allow-path"*"/.git/worktrees"* ]]
	[ "$(git -C "$BASE/copy" log -1 --format=%s refs/heads/wt)" = there ]
}

@test "submodule add is refused; the flags that it prints let it through" {
	run box -- sh -ec 'git init -q lib; cd lib; echo l >l; git add l; git commit -qm l; cd ..; git -c protocol.file.allow=always submodule add "$PWD/lib" sub'
	[ "$status" -ne 0 ]
	[[ $output == *"allow with: --allow-path"* ]]
	[ ! -e sub/.git ]
	[ ! -e .git/modules/sub ]
	rm -rf lib sub
	run with_printed_flags 'git init -q lib; cd lib; echo l >l; git add l; git commit -qm l; cd ..; git -c protocol.file.allow=always submodule add "$PWD/lib" sub'
	echo "$output"
	[ "$status" -eq 0 ]
	[ -e "$BASE/copy/sub/l" ]
}

@test "a submodule that is there takes commits" {
	run box -- sh -ec 'cd part; echo t >t; git add t; git commit -qm t; cd ..; git add part; git commit -qm bump; git status --porcelain'
	[ "$status" -eq 0 ]
	[ -z "$output" ]
	[ "$(git -C part log -1 --format=%s)" = t ]
}

@test "git config: nothing that runs, includes or moves hooks; name and remote pass (GIT-02)" {
	before=$(cat .git/config)
	for setting in 'core.fsmonitor ./x' 'alias.st !./x' 'include.path ../x' 'includeIf.gitdir:/.path x' 'core.hooksPath .' \
		'core.sshCommand ./x' 'core.pager ./x' 'core.editor ./x' 'filter.f.clean ./x' 'diff.d.textconv ./x' \
		'merge.m.driver ./x' 'credential.helper !./x' 'core.worktree /tmp' 'core.attributesFile x' 'gpg.program ./x' \
		'remote.o.url ext::./x' 'remote.o.uploadpack ./x' 'uploadpack.packObjectsHook ./x' 'init.templateDir .'; do
		# shellcheck disable=SC2086
		run box -- git config $setting
		[ "$status" -ne 0 ]
		[[ $output == *"rule git:config (git configuration"* ]]
	done
	[ "$(cat .git/config)" = "$before" ]
	[ ! -e .git/config.lock ]
	[ -z "$(ls -A .git | grep judged)" ]
	box -- git config user.name Other
	[ "$(git config user.name)" = Other ]
	host_git .
}

@test "a denied setting is one event that names the key" {
	box -- git config core.fsmonitor ./x || true
	[ "$(violations | wc -l)" -eq 1 ]
	violations | grep -q '"action":"file-write-create","target":"[^"]*/.git/config"'
	violations | grep -q '"rule":"git:config"'
	violations | grep -q 'core.fsmonitor'
}

@test "hooks, attributes, alternates and their kin are refused by every way (GIT-01)" {
	mkdir -p .git/info
	run box -- sh -c '
		cp x .git/hooks/pre-commit
		cp x t; mv t .git/hooks/pre-commit
		ln x .git/hooks/post-checkout
		ln -s ../../x .git/hooks/post-commit
		cp x t.sample; mv t.sample .git/hooks/a.sample; mv .git/hooks/a.sample .git/hooks/pre-push
		mkdir hk; cp x hk/pre-commit; mv hk .git/hooks2; mv .git/hooks .git/hooks3
		echo "* filter=f" >.git/info/attributes
		echo "* filter=f" >t; mv t .git/info/attributes
		echo /etc >.git/objects/info/alternates
		echo http://x >.git/objects/info/http-alternates
		echo a b >.git/info/grafts
		git replace HEAD HEAD~1
		mkdir .git/refs/replace
		echo "URL: ext::./x" >.git/remotes/o
		echo "[lfs]" >.lfsconfig
		echo "gitdir: /tmp" >.git/commondir
		echo "[core]" >.git/config.worktree'
	for name in hooks/pre-commit hooks/post-checkout hooks/post-commit hooks/pre-push hooks2 info/attributes \
		objects/info/alternates objects/info/http-alternates info/grafts refs/replace remotes/o commondir config.worktree; do
		[ ! -e .git/$name ] || [ -z "$(ls -A .git/$name)" ]
		[ ! -L .git/$name ]
	done
	[ -d .git/hooks ]
	[ ! -e .lfsconfig ]
	saw_refusal /.git/hooks/pre-commit
	saw_refusal /.git/info/attributes
	host_git .
}

@test "no symlink, FIFO or socket comes into a git directory (attacks 5)" {
	echo host >"$BASE/victim"
	box -- sh -c "
		rm -f .git/logs/HEAD; ln -s $BASE/victim .git/logs/HEAD
		ln -s $BASE/victim .git/x1; ln -s $BASE/victim l; mv l .git/index; mv l .git/x2; ln l .git/x3
		mkdir d; ln -s $BASE/victim d/HEAD; mv .git/logs .git/oldlogs; mv d .git/logs
		rm -rf .git/logs; mv d .git/logs; ln -s $BASE .git/logs
		mkfifo .git/fifo
		python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\".git/sock\")'
		git checkout -q -b 'a\$(id)'
	" >/dev/null 2>&1 || true
	[ -z "$(find .git -type l -o -type p -o -type s)" ]
	host_git .
	git checkout -q -b after
	[ "$(cat "$BASE/victim")" = host ]
}

# The four names of a bare repository, and a program for its configuration to run.
bare_kit='
	kit() {
		mkdir -p "$1/objects" "$1/refs/heads"
		echo "ref: refs/heads/main" >"$1/HEAD"
		printf "[core]\n\tbare = false\n\tworktree = %s\n\tfsmonitor = %s/x\n" "$2" "$3" >"$1/config"
	}'

@test "no bare repository in the root, in docs/ or below (attacks 4)" {
	top=$PWD
	box -- sh -c "$bare_kit
		top=$top
		rm -f .git/HEAD; mv .git/HEAD .git/H; rm -rf .git/objects; mv .git/refs r
		kit . . \$top; kit docs . \$top; mkdir -p deep/er; kit deep/er . \$top
		mkdir late; printf '[core]\n\tfsmonitor = %s/x\n' \$top >late/config; mkdir late/objects late/refs; echo 'ref: refs/heads/main' >late/HEAD
		mkdir ren; kit ren/a . \$top; mkdir fin; for n in HEAD objects refs config; do mv ren/a/\$n fin/; done
		mkdir part1; echo 'ref: refs/heads/main' >part1/HEAD; echo ../.git >part1/commondir
	" >/dev/null 2>&1 || true
	[ -f .git/HEAD ]
	[ -d .git/objects ]
	[ -d .git/refs ]
	for place in . docs deep/er late ren/a fin part1; do
		[ ! -e $place/config ] || [ ! -e $place/HEAD ] || [ ! -d $place/objects ] || [ ! -d $place/refs ]
		[ ! -e $place/commondir ] || [ ! -e $place/HEAD ]
		host_git "$top/$place"
	done
}

@test "a nested repository brings no configuration of its own; none is renamed to .git (GIT-09)" {
	top=$PWD
	run box -- sh -c 'git init -q n && echo x >n/.git/hooks/post-checkout'
	[ -f n/.git/HEAD ]
	[ ! -e n/.git/hooks/post-checkout ]
	box -- sh -c "$bare_kit
		top=$top
		printf '[core]\n\tfsmonitor = %s/x\n' \$top >c
		cp c n/.git/config; cp c n/.git/config.lock; mv n/.git/config.lock n/.git/config; mv c n/.git/config
		mkdir m; kit m/git . \$top; mv m/git m/.git
		mkdir o; kit o/.git . \$top
		mkdir p; cp -r n/.git p/repo; printf '[core]\n\tfsmonitor = %s/x\n' \$top >p/repo/config; mv p/repo p/.git
		mkdir q; ln -s ../p/repo q/.git; mv p q2
	" >/dev/null 2>&1 || true
	for place in n m o p q q2; do
		[ ! -L $place/.git ]
		no grep -q fsmonitor $place/.git/config 2>/dev/null
		host_git "$top/$place"
	done
	host_git .
}

@test "a gitlink with a prepared repository, or a gitfile, runs nothing at the top" {
	top=$PWD
	box -- sh -c "$bare_kit
		top=$top
		git init -q n; cd n; echo 1 >f; git add f; git commit -qm f; h=\$(git rev-parse HEAD); cd ..
		printf '[core]\n\tfsmonitor = %s/x\n' \$top >n/.git/config
		git update-index --add --cacheinfo 160000,\$h,n
		mkdir evil; kit evil ../sub \$top
		mkdir sub; echo 'gitdir: ../evil' >sub/.git; echo 'gitdir: ../evil' >sub/.git.lock; mv sub/.git.lock sub/.git
		echo 'gitdir: ../evil' >t; mv t part/.git; ln t sub2; rm part/.git
		git update-index --add --cacheinfo 160000,\$h,sub
		git commit -qm links
	" >/dev/null 2>&1 || true
	grep -q modules/part part/.git
	[ ! -e sub/.git ]
	host_git .
	host_git sub
	host_git n
}

@test "an interrupted rebase or cherry-pick runs nothing on the host" {
	top=$PWD
	box -- sh -c "
		git checkout -q -b b; echo b >a.txt; git commit -qam b; git checkout -q main; echo c >a.txt; git commit -qam c
		git rebase b
		d=.git/rebase-merge
		echo 'exec ./x' >>\$d/git-rebase-todo
		echo 'exec ./x' >t; cp t \$d/git-rebase-todo.lock; mv \$d/git-rebase-todo.lock \$d/git-rebase-todo; mv t \$d/git-rebase-todo
		echo ../../x >\$d/strategy; echo ../../x >t; mv t \$d/strategy
		mkdir git-merge-..
		mkdir .git/r2; cp \$d/* .git/r2; echo 'exec ./x' >.git/r2/git-rebase-todo; rm -rf \$d; mv .git/r2 \$d
		git checkout -q -f main; git rebase b
		echo c2 >a.txt; git add a.txt
	" >/dev/null 2>&1 || true
	[ -d .git/rebase-merge ]
	[ ! -e .git/rebase-merge/strategy ]
	no grep -q exec .git/rebase-merge/git-rebase-todo
	host_git .
	run box -- git rebase -x true HEAD~1
	[ "$status" -ne 0 ]
	[[ $output == *"rule git:operation (list of a rebase"* ]]
	box -- sh -c "mkdir -p .git/sequencer; git config -f .git/sequencer/opts options.strategy ../../x; echo 'pick HEAD' >.git/sequencer/todo; git rev-parse HEAD >.git/sequencer/head" || true
	no grep -q strategy .git/sequencer/opts 2>/dev/null
	host_git .
}

@test "what the host's git executes inside the tree is closed: hooksPath, include, filter, textconv" {
	mkdir -p .husky/_ tools
	git config core.hooksPath .husky/_
	git config include.path ../tools/extra.config
	git config filter.up.clean tools/clean.sh
	echo '*.up filter=up' >.gitattributes
	printf '#!/bin/sh\ncat\n' >tools/clean.sh
	chmod +x tools/clean.sh
	git add -A
	git commit -qm tools
	box -- sh -c '
		cp x .husky/_/pre-commit; cp x t; mv t .husky/_/pre-commit
		printf "[core]\n\tfsmonitor = ./x\n" >tools/extra.config
		cp x tools/clean.sh; cp x t; mv t tools/clean.sh; mv tools tools2
		echo 1 >a.up' >/dev/null 2>&1 || true
	[ ! -e .husky/_/pre-commit ]
	[ ! -e tools/extra.config ]
	host_git .
	# and the repository's own settings do not stop the work
	box -- sh -ec 'git branch -q --track tracking main; git remote add o https://example.com/x.git'
	[ "$(git config core.hooksPath)" = .husky/_ ]
	[ "$(git config remote.o.url)" = https://example.com/x.git ]
}

@test "an existing history survives rm -rf .git (FS-37)" {
	git branch side
	git pack-refs --all
	git branch loose
	before=$(cd .git && find objects refs packed-refs HEAD config -type f | sort | sha256sum)
	box -- rm -rf .git || true
	[ "$before" = "$(cd .git && find objects refs packed-refs HEAD config -type f | sort | sha256sum)" ]
	git fsck
	git log -1 side
	[ -f .git/HEAD ]
	[ -d .git/objects ]
	[ -f .git/config ]
	[ "$(box -- sh -c 'rm -rf .git/objects .git/refs; mv .git .g; echo end' 2>/dev/null)" = end ]
	[ -d .git/objects ]
	violations | grep -q '"rule":"git:history"'
	git reset -q --hard
	# git itself still cleans up
	box -- sh -ec 'git branch -q -D side loose; git reflog expire --expire=now --all; git gc -q --prune=now; git pack-refs --all'
	[ -z "$(find .git/objects -type f -path '*/??/*')" ]
}

@test "a repository that the session made may be removed, one that was there may not (FS-37)" {
	git init -q mine
	(cd mine && git commit -q --allow-empty -m mine)
	run box -- sh -ec '
		git clone -q mine theirs
		git init -q made
		cd made; echo 1 >f; git add f; git commit -qm f; cd ..
		mv made moved
		rm -rf theirs moved
		git clone -q mine theirs
		rm -rf theirs/.git/objects theirs/.git/HEAD
		rm -rf theirs'
	echo "$output"
	[ "$status" -eq 0 ]
	[ ! -e theirs ]
	[ ! -e moved ]
	run box -- sh -c 'git clone -q mine theirs; rm -rf mine; mv mine/.git x; mv theirs/.git mine/x; rm -rf mine; ls mine/.git'
	[ "$status" -eq 0 ]
	git -C mine fsck
	[ "$(git -C mine log -1 --format=%s)" = mine ]
	# the next session does not know it any more
	run box -- rm -rf theirs
	[ "$status" -ne 0 ]
	[ -e theirs/.git/HEAD ]
	# nothing is gained by taking one's own apart
	box -- sh -c "$bare_kit
		git init -q n; rm n/.git/HEAD; rm n/.git/config; printf '[core]\n\tfsmonitor = %s/x\n' $PWD >n/.git/config; kit n . $PWD; kit n/.git . $PWD" >/dev/null 2>&1 || true
	host_git n
	host_git .
}

@test "status is clean and format-patch works (GIT-08)" {
	run box -- sh -ec 'git status --porcelain; git format-patch -1 HEAD --stdout | head -c 5'
	[ "$output" = "From " ]
	[ -z "$(git status --porcelain)" ]
}

@test "the host's git config works while a session runs (GIT-07)" {
	mkfifo "$BASE/in"
	"$CCBOX" run --quiet -- sh -c 'echo up; read line; git config user.name' <"$BASE/in" >out 2>err &
	pid=$!
	exec 7>"$BASE/in"
	for _ in $(seq 100); do grep -q up out && break; sleep 0.05; done
	git config user.name Changed
	echo go >&7
	exec 7>&-
	wait $pid
	grep -q Changed out
}

@test "from a subdirectory, and in a linked work tree: commits work (GIT-06)" {
	cd docs
	box -- sh -ec 'echo 1 >>d.txt; git commit -qam deep'
	[ "$(git log -1 --format=%s)" = deep ]
	cd ..
	git worktree add -q "$BASE/linked" -b linked
	cd "$BASE/linked"
	run box -- sh -ec '
		echo w >w.txt
		git add w.txt
		git commit -qm inside
		git switch -q -c more
		echo w >>w.txt
		git stash -q
		git stash pop -q
		git commit -qam again
		git rebase -q main
		git tag here
		git gc -q
		git status --porcelain'
	echo "$output"
	[ "$status" -eq 0 ]
	[ "$(git log -1 --format=%s)" = again ]
	[ -z "$(git status --porcelain)" ]
	# what belongs to git's configuration is closed there too
	run box -- sh -c 'c=$(git rev-parse --git-common-dir); g=$(git rev-parse --git-dir); cp x $c/hooks/pre-commit; git config core.pager ./x; mkdir $c/worktrees/new; echo ../.. >$g/commondir; echo /tmp/x >$g/gitdir; echo "[core]" >$g/config.worktree; ln -s /tmp $g/logs2; rm -rf $c/objects'
	[ ! -e "$BASE/proj/.git/hooks/pre-commit" ]
	[ ! -e "$BASE/proj/.git/worktrees/new" ]
	[ -d "$BASE/proj/.git/objects" ]
	[ ! -e "$BASE/proj/.git/worktrees/linked/config.worktree" ]
	[ "$(cat "$BASE/proj/.git/worktrees/linked/gitdir")" = "$BASE/linked/.git" ]
	host_git "$BASE/linked"
	host_git "$BASE/proj"
}

@test "a work tree's pointer is not rewritten (GIT-04)" {
	git worktree add -q "$BASE/linked" -b linked
	cd "$BASE/linked"
	before=$(cat .git)
	run box -- sh -c 'echo "gitdir: ./evil" >.git; echo "gitdir: ./evil" >t; mv t .git; rm .git; mv .git g; ln -f t .git'
	[ "$(cat .git)" = "$before" ]
	saw_refusal /linked/.git
}

@test "nothing is granted from a forged pointer (GIT-05)" {
	mkdir -p "$BASE/secrets" "$BASE/wt/evil"
	echo secret >"$BASE/secrets/f"
	cd "$BASE/wt"
	for pointer in "$BASE/secrets" "$BASE/wt/evil" "$BASE/proj/.git/worktrees/none"; do
		echo "gitdir: $pointer" >.git
		echo "$BASE/secrets" >evil/commondir
		echo "$BASE/wt/.git" >evil/gitdir
		run box -- cat "$BASE/secrets/f"
		[[ $output != *secret$'\n'* && $output != secret ]]
	done
	# an administration that is real, but belongs to somebody else
	git -C "$BASE/proj" worktree add -q "$BASE/linked" -b linked
	echo "gitdir: $BASE/proj/.git/worktrees/linked" >.git
	run "$CCBOX" run -- true
	[ "$status" -eq 125 ]
	[[ $output == *"does not point back"* ]]
}

@test "the person's identity works; a host that signs does not stop commits" {
	git config --global commit.gpgSign true
	git config commit.gpgSign true
	git config tag.gpgSign true
	box -- sh -ec 'echo 1 >>a.txt; git commit -qam signed-off; git tag -a -m t t'
	[ "$(git log -1 --format='%an %ae')" = "Tester tester@example.test" ]
	run box -- sh -c 'cat ~/.gitconfig'
	[[ $output == *tester@example.test* ]]
	[[ $output != *gpg* ]]
}

@test "a configuration that is made directly stays empty and cannot be written (libgit2, cargo new)" {
	cat >lib.py <<-'PY'
		import os
		os.makedirs("n/.git/refs"); os.mkdir("n/.git/objects")
		def place(name, text):
		    with open("n/.git/" + name + ".lock", "x") as f: f.write(text)
		    os.rename("n/.git/" + name + ".lock", "n/.git/" + name)
		place("HEAD", "ref: refs/heads/main\n")
		fd = os.open("n/.git/config", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
		try:
		    os.write(fd, b"[core]\n\tfsmonitor = ./x\n"); print("escaped")
		except OSError as e: print(e.errno)
		try: os.open("n/.git/config", os.O_WRONLY); print("escaped")
		except PermissionError: print("denied")
		print(os.path.getsize("n/.git/config"))
		place("config", "[core]\n\tbare = false\n")
		try: place("config", "[core]\n\tbare = false\n\tpager = ./x\n"); print("escaped")
		except PermissionError: print("denied")
	PY
	run box -- /usr/bin/python3 lib.py
	[ "$status" -eq 0 ]
	[ "$(echo "$output" | grep -v ^ccbox | tr '\n' ' ')" = "9 denied 0 denied " ]
	[ "$(git -C n config core.bare)" = false ]
	host_git n
}

@test "a repository that is copied is told why its configuration stays empty" {
	run box -- sh -c 'mkdir c && cp -r .git c/'
	[ ! -s c/.git/config ]
	"$CCBOX" events --json | grep '"type":"notice"' | grep '"rule":"git:config"' | grep -q 'config.lock'
	box -- git init -q d
	[ -z "$("$CCBOX" events --json | grep '"rule":"git:config"')" ]
}

@test "the hooks directory keeps its mode: a hook that cannot be reached does not run" {
	git init -q . && printf '#!/bin/sh\nexit 1\n' >.git/hooks/pre-commit && chmod +x .git/hooks/pre-commit
	before=$(stat -c %a .git/hooks)
	run box -- chmod 600 .git/hooks
	[ "$status" -ne 0 ]
	[ "$before" = "$(stat -c %a .git/hooks)" ]
	saw_refusal .git/hooks
}

@test "two sessions do not complete a bare repository by halves" {
	# both make the last part of the same directory in the same moment, held together by memory of one file
	head -c 4096 /dev/zero >shm
	cat >half.py <<-'PY'
		import mmap, os, sys
		me, other, rounds = int(sys.argv[1]), 1 - int(sys.argv[1]), 400
		with open("shm", "r+b") as file: memory = mmap.mmap(file.fileno(), 4096)
		def meet(value):
		    memory[me * 64:me * 64 + 4] = value.to_bytes(4, "little")
		    while int.from_bytes(memory[other * 64:other * 64 + 4], "little") < value: pass
		for i in range(1, rounds + 1):
		    if me == 0: os.makedirs("d%d/objects" % i)
		    meet(2 * i)
		    try:
		        if me == 0: os.close(os.open("d%d/HEAD" % i, os.O_WRONLY | os.O_CREAT))
		        else: os.mkdir("d%d/refs" % i)
		    except PermissionError: pass
		    meet(2 * i + 1)
	PY
	"$CCBOX" run --quiet --no-pty --timeout 90 -- /usr/bin/python3 half.py 0 >/dev/null 2>&1 </dev/null &
	one=$!
	"$CCBOX" run --quiet --no-pty --timeout 90 -- /usr/bin/python3 half.py 1 >/dev/null 2>&1 </dev/null || true
	wait $one || true
	[ -e d400/HEAD ] || [ -e d400/refs ]
	for dir in d*; do
		[ ! -e "$dir/HEAD" ] || [ ! -e "$dir/objects" ] || [ ! -e "$dir/refs" ]
	done
}
