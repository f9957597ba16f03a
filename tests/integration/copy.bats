#!/usr/bin/env bats
# ccbox run --copy and ccbox apply: a session works in a copy, and what comes back is judged first (contract 4.3; attacks 9, 10).
load lib
bats_require_minimum_version 1.5.0

setup_more() {
	git init -q .
	echo a >a.txt
	mkdir d
	echo b >d/b.txt
	echo '*.ign' >.gitignore
	git add .
	git commit -qm base
	COPIES=$XDG_STATE_HOME/ccbox-copies
}

copy() { "$CCBOX" run --quiet --copy "$@"; }
# the one copy that waits
waiting() { ls "$COPIES"; }
nothing_left() { [ -z "$(ls "$COPIES")" ] && ! ls -d "$COPIES"/.trash.* 2>/dev/null; }

@test "what is committed and what is not come back as a branch; the original is as it was" {
	echo mine >>a.txt; echo secret >x.ign; echo mine >untracked
	before=$(tree_hash .)
	cd d
	run -3 "$CCBOX" run --copy -- sh -ec 'test "$(cat ../a.txt)" = a; test ! -e ../x.ign; test ! -e ../untracked
		echo one >n; git add n; git commit -qm one; git gc -q; echo two >>n; rm b.txt; ln -s n l; echo t >t.ign; exit 3'
	cd ..
	[ "$(tree_hash .)" = "$before" ]
	[[ "$output" == *"copy of $PWD at "*"(borrowed)"*"2 commits, 4 changed files"*"nothing that the rules refuse"*"ccbox apply $(waiting)"* ]] ||
		[[ "$output" == *"copy of $PWD at "*"(reflink)"*"2 commits, 4 changed files"*"nothing that the rules refuse"*"ccbox apply $(waiting)"* ]]
	run -0 "$CCBOX" apply
	[[ "$output" == "$(waiting)  $PWD  "* ]]
	id=$(waiting)
	run -0 "$CCBOX" apply "$id"
	[[ "$output" == *"$PWD has the branch cc/run/$id"* ]]
	[ "$(git show "cc/run/$id:d/n")" = "$(printf 'one\ntwo')" ]
	no git cat-file -e "cc/run/$id:d/b.txt"
	no git cat-file -e "cc/run/$id:d/t.ign"
	[ "$(git log -1 --format=%an "cc/run/$id~1")" = Tester ]
	[ "$(git status --porcelain)" = "$(printf ' M a.txt\n?? untracked')" ]
	nothing_left
	run -125 "$CCBOX" apply "$id"
}

@test "what changed nothing leaves nothing; what is thrown away is gone; a refused start leaves nothing" {
	run -0 "$CCBOX" run --copy -- true
	[[ "$output" == *"the copy is as the original is"* ]]
	nothing_left
	copy -- sh -c 'echo x >x'
	run -0 "$CCBOX" apply "$(waiting)" --discard
	nothing_left
	[ -z "$(git branch --list 'cc/*')" ]
	run -125 copy --workdir "$BASE/nowhere" -- true
	nothing_left
	run -0 "$CCBOX" run --copy --dry-run -- true
	nothing_left
}

@test "names that were put into objects, or hidden by a replacement: refused until they are accepted (attacks 9, 10)" {
	copy -- sh -c 'b=$(echo x | git hash-object -w --stdin)
		git update-index --add --cacheinfo 100644,$b,conf/.env --cacheinfo 100644,$b,.vscode/tasks.json; git commit -qm objects
		git rm -q --cached conf/.env; git commit -qm hidden; echo w >w; git replace HEAD~1 HEAD~2 2>/dev/null; true'
	id=$(waiting)
	run -1 "$CCBOX" apply "$id"
	[[ "$output" == *"refused .vscode/tasks.json"*"refused conf/.env; rule name:**/.env"*"nothing was brought back"* ]]
	[ -z "$(git branch --list 'cc/*')" ]
	run -1 "$CCBOX" apply --allow-name '**/.env' "$id"
	[[ "$output" != *"conf/.env"* ]]
	run -0 "$CCBOX" apply "$id" --accept
	git cat-file -e "cc/run/$id~1:.vscode/tasks.json"
	[ ! -e .vscode ]
}

@test "without the sandbox the same is written and taken by a plain fetch; the review still finds it" {
	copy --backend none -- sh -c "echo x >.env; git add -f .env; git commit -qm x; git -C '$PWD' fetch -q \"\$PWD\" HEAD:naive; rm .env"
	git cat-file -e naive:.env
	run -1 "$CCBOX" apply "$(waiting)"
	[[ "$output" == *"refused .env"* ]]
}

@test "nothing that was left in the copy's .git runs; in the sandbox it cannot be left" {
	printf '#!/bin/sh\ntouch %s/ran\n' "$BASE" >"$BASE/run"; chmod +x "$BASE/run"
	leave="mkdir -p .git/hooks; cp '$BASE/run' .git/hooks/reference-transaction; cp '$BASE/run' .git/hooks/post-index-change
		for k in core.fsmonitor filter.x.clean core.pager diff.external uploadpack.packObjectsHook core.alternateRefsCommand; do git config \$k '$BASE/run'; done
		printf '* filter=x\n' >.gitattributes; echo w >w; rm -f '$BASE/ran'"
	copy --backend none -- sh -c "$leave"
	run -0 "$CCBOX" apply "$(waiting)"
	[ ! -e "$BASE/ran" ]
	# the twin: git as it is, in such a copy
	copy --backend none -- sh -c "$leave; git status >/dev/null 2>&1"
	[ -e "$BASE/ran" ]
	rm "$BASE/ran"
	run -0 "$CCBOX" apply "$(ls "$COPIES")" --discard
	copy -- sh -c 'git config core.fsmonitor x; mkdir -p .git/hooks; echo x >.git/hooks/post-commit; echo / >.git/objects/info/alternates; echo w >w' || true
	run -0 "$CCBOX" apply "$(waiting)"
	[[ "$output" == *" w | 1 +"* ]]
}

@test "the objects of another repository do not come along" {
	git init -q "$BASE/private"; echo top-secret >"$BASE/private/s"; git -C "$BASE/private" add s; git -C "$BASE/private" commit -qm s
	other=$(git -C "$BASE/private" rev-parse HEAD)
	copy --backend none -- sh -c "echo '$BASE/private/.git/objects' >>.git/objects/info/alternates; git update-ref HEAD $other; git show HEAD:s; echo w >w"
	run -0 "$CCBOX" apply "$(waiting)"
	no git cat-file -e "$other"
	git branch --list 'cc/*' | grep -q cc/run
}

@test "commits work in a copy of every kind of repository" {
	git branch side
	git worktree add -q "$BASE/linked" side
	git clone -q --bare . "$BASE/bare.git"
	git clone -q --depth 1 "file://$PWD" "$BASE/shallow"
	git clone -q --shared . "$BASE/shared"
	git clone -q . "$BASE/detached"; git -C "$BASE/detached" checkout -q --detach
	git init -q "$BASE/unborn"
	git init -q --object-format=sha256 "$BASE/sha256"; (cd "$BASE/sha256"; echo a >a; git add a; git commit -qm a)
	for kind in linked bare.git shallow shared detached unborn sha256; do
		cd "$BASE/$kind"
		copy -- sh -ec 'echo w >w; git add w; git commit -qm w; git fsck --no-dangling >/dev/null 2>&1; echo x >x'
		run -0 "$CCBOX" apply "$(waiting)"
		[ "$(git show "$(git branch --list --format='%(refname)' 'cc/*'):x")" = x ]
		git branch -D "$(git branch --list --format='%(refname:short)' 'cc/*')" >/dev/null
	done
}

@test "two at once share nothing but the object store, which neither can write" {
	store=$(git rev-parse --absolute-git-dir)/objects
	before=$(cd "$store" && find . | sort | sha256sum)
	copy -- sh -c "for i in 1 2 3 4 5; do echo one\$i >n; git add n; git commit -qm \$i; done; echo x >'$store/x'; ls '$COPIES'" >"$BASE/one" 2>&1 3>&- &
	first=$!
	copy -- sh -c "for i in 1 2 3 4 5; do echo two\$i >n; git add n; git commit -qm \$i; done; echo x >'$store/x'; ls '$COPIES'" >"$BASE/two" 2>&1 3>&- &
	wait $first; wait $!
	[ "$(ls "$COPIES" | wc -l)" = 2 ]
	[ "$(cd "$store" && find . | sort | sha256sum)" = "$before" ]
	for out in one two; do [ "$(grep -c '^run-' "$BASE/$out")" = 1 ]; done
	for id in $(ls "$COPIES"); do "$CCBOX" apply "$id"; done
	[ "$(for b in $(git branch --list --format='%(refname)' 'cc/*'); do git show "$b:n"; done | sort | tr '\n' ' ')" = "one5 two5 " ]
}

@test "what a killed owner left is rescued by the next, and waits" {
	"$CCBOX" run --quiet --copy -- sh -c 'echo w >w; git add w; git commit -qm w; echo x >x; touch ready; sleep 60' 3>&- &
	owner=$!
	for _ in $(seq 200); do ls "$COPIES"/*/tree/ready >/dev/null 2>&1 && break; sleep 0.05; done
	kill -9 $owner; wait $owner || true
	id=$(waiting)
	for _ in $(seq 200); do run "$CCBOX" apply; [[ "$output" != *"somebody works"* ]] && break; sleep 0.05; done
	[[ "$output" == "$id  $PWD  "* ]]
	[ ! -e "$COPIES/$id/tree" ]
	run -0 "$CCBOX" apply "$id"
	[ "$(git show "cc/run/$id:x")" = x ]
	nothing_left
}

@test "while somebody works with it, nobody else brings it back or throws it away" {
	copy -- sh -c 'touch ready; while [ -e ready ]; do sleep 0.05; done; echo w >w' 3>&- &
	owner=$!
	for _ in $(seq 200); do ls "$COPIES"/*/tree/ready >/dev/null 2>&1 && break; sleep 0.05; done
	run -125 "$CCBOX" apply "$(waiting)" --discard
	[[ "$output" == *"somebody works"* ]]
	rm "$COPIES"/*/tree/ready
	wait $owner
	run -0 "$CCBOX" apply "$(waiting)"
}

@test "another session, even over the whole home, sees nothing of copies" {
	copy -- sh -c 'echo w >w'
	id=$(waiting)
	cp -a "$COPIES" "$BASE/keep"
	run box --bind "$BASE" --workdir "$BASE" -- sh -c "cat '$COPIES/$id/about'; echo x >>'$COPIES/$id/about'; rm -rf '$COPIES/$id'; mv '$COPIES' '$COPIES.x'; ls '$BASE/keep'"
	[[ "$output" != *"ccbox worktree"* ]]
	diff -r "$COPIES" "$BASE/keep"
}

@test "what the rules name in the original is meant in the copy" {
	mkdir .vscode; echo '{}' >.vscode/tasks.json; git add -f .vscode; git commit -qm v
	run copy -- sh -c 'echo x >.vscode/tasks.json'
	[ "$status" -ne 0 ]
	copy --allow-path .vscode --protect a.txt -- sh -c 'echo x >.vscode/tasks.json; echo x >a.txt; true'
	run -1 "$CCBOX" apply "$(waiting)"
	[[ "$output" == *"refused .vscode/tasks.json"* ]]
	run -0 "$CCBOX" apply --allow-path .vscode "$(waiting)"
	[ "$(git show "$(git branch --list --format='%(refname)' 'cc/*'):a.txt")" = a ]
}

@test "questions that make no sense are answered" {
	run -125 copy --bind "$PWD" -- true
	[[ "$output" == *"--copy works apart from"* ]]
	run -125 "$CCBOX" mcp --copy
	run -125 "$CCBOX" acp --copy -- true
	run -125 "$CCBOX" apply nothing
	run -125 "$CCBOX" apply ../x
	run -125 "$CCBOX" apply --accept
	run -125 "$CCBOX" apply x --accept --discard
	mkdir "$BASE/plain"; cd "$BASE/plain"
	run -125 copy -- true
	[[ "$output" == *"is no repository that can be copied"* ]]
	nothing_left
}

@test "a copy is worked in where it usually lies, with no variable that says where" {
	unset XDG_STATE_HOME
	run "$CCBOX" run --quiet --copy -- sh -c 'echo x >new.txt; git add new.txt; git commit -qm new && echo fine'
	echo "$output"
	[[ $output == *fine* ]]
	[[ $output == *"ccbox apply run-"* ]]
	[ -d "$HOME/.local/state/ccbox-copies" ]
}

@test "a copy with very many changed files is summed up, not listed" {
	run copy -- sh -c 'for i in $(seq 500); do echo x >"many.$i"; done'
	echo "$output" | head -n 40
	[[ $output == *"500 changed files"* ]]
	[[ $output == *"500 files changed, 500 insertions"* ]]
	[ "$(grep -c 'many\.[0-9]* *|' <<<"$output")" -eq 20 ]
}

@test "a history that cannot be had is not called as the original's" {
	run copy -- sh -c 'echo >.git/HEAD'
	echo "$output"
	[[ $output == *"its history could not be had whole; its files are as the original's"* ]]
	[[ $output != *"the copy is as the original is"* ]]
	[[ $output != *"one commit on top"* ]]
	run -0 "$CCBOX" apply "$(waiting)" --discard
	run copy -- sh -c 'echo >.git/HEAD; echo x >new.txt'
	echo "$output"
	[[ $output == *"one commit on top of the original's"* ]]
	[[ $output == *"new.txt"* ]]
}
