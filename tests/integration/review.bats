#!/usr/bin/env bats
# ccbox review: what an agent put into git's objects is seen before the host checks it out (attacks 9, 10).
load lib
bats_require_minimum_version 1.5.0

setup_more() {
	export TMPDIR=$BASE # where a review works
	git init -q .
	echo a >a.txt
	git add a.txt
	git commit -qm base
	git branch base
}

review() { "$CCBOX" review "$@"; }

@test "a change that is fine is shown and is fine" {
	echo b >>a.txt; mkdir d; echo c >d/c; ln -s ../a.txt d/l
	git add -A; git commit -qm x
	run -0 review base..HEAD
	[[ "$output" == "1 commit, 3 changed files"*"a.txt"*"nothing that the rules refuse or flag"* ]]
	run -0 review base..
	run -0 review HEAD
	run -0 review --json base..HEAD
	python3 -c 'import json, sys; a = json.loads(sys.argv[1]); assert a["v"] == 1 and a["commits"] == 1 and a["findings"] == []' "$output"
}

@test "names that were put into objects without a file: refused, with rule and commit, also inside a sandbox's work" {
	run box -- sh -c 'b=$(echo x | git hash-object -w --stdin); l=$(printf /etc/passwd | git hash-object -w --stdin)
		for p in conf/.env .vscode/tasks.json .husky/pre-commit k.PEM; do git update-index --add --cacheinfo 100644,$b,$p; done
		git update-index --add --cacheinfo 120000,$l,etc; git commit -qm objects'
	[ "$status" -eq 0 ]
	run -1 review base..HEAD
	for p in conf/.env .vscode/tasks.json k.PEM etc; do [[ "$output" == *"refused $p; rule "*"commit $(git rev-parse --short=12 HEAD)"* ]]; done
	[[ "$output" == *"rule review:link"* ]]
	run -0 review --allow-name '**/.env' --json base..base
}

@test "what comes and goes again in the range is seen; a removal is none" {
	echo x >.env; git add -Af; git commit -qm in
	first=$(git rev-parse --short=12 HEAD)
	git rm -q .env; git commit -qm out
	run -1 review base..HEAD
	[[ "$output" == *"refused .env; rule name:**/.env"*"commit $first"* ]]
	run -0 review HEAD~1..HEAD
}

@test "a history that is cut off inside the range is no review: shallow, a commit-graph" {
	echo x >.env; git add -Af; git commit -qm in
	in=$(git rev-parse HEAD)
	git rm -q .env; git commit -qm out
	out=$(git rev-parse HEAD)
	# a graph of the same commit with another parent, as somebody may write it: git is told of it by its own means
	git replace --graft "$out" "$(git rev-parse base)"
	git -c core.commitGraph=true commit-graph write --reachable 2>/dev/null || true
	git replace -d "$out" >/dev/null
	run -1 review base..HEAD
	[[ "$output" == *"refused .env; rule name:**/.env"*"commit ${in:0:12}"* ]]
	rm -rf .git/objects/info/commit-graph*
	echo "$out" >.git/shallow
	[ -z "$(git log --format=%s base.. -- .env)" ] # so it looks from there
	run review base..HEAD
	[ "$status" -eq 125 ]
	[[ "$output" == *"cut off at ${out:0:12}"*"shallow"* ]]
	# where it is cut off below the base nothing is hidden
	git rev-parse base >.git/shallow
	run -1 review base..HEAD
	[[ "$output" == *"refused .env"* ]]
}

@test "a merge is looked at from both sides; a submodule is refused" {
	git checkout -q -b side base; echo x >x.key; git add -Af; git commit -qm side
	git checkout -q -b top base; echo y >y; git add y; git commit -qm top
	git merge -q --no-edit side
	run -1 review base..HEAD
	[[ "$output" == *"refused x.key"* ]]
	git checkout -q -b sub base
	git update-index --add --cacheinfo "160000,$(git rev-parse HEAD),part"; git commit -qm sub
	run -1 review base..HEAD
	[[ "$output" == *"refused part; rule review:submodule"* ]]
}

@test "nothing that the repository says of itself hides a change: replace, hooks, fsmonitor, textconv, attributes" {
	echo x >.env; git add -Af; git commit -qm bad
	bad=$(git rev-parse HEAD)
	git replace "$bad" "$(git rev-parse base)"
	printf '#!/bin/sh\ntouch %s\n' "$BASE/ran" >"$BASE/run"; chmod +x "$BASE/run"
	git config core.fsmonitor "$BASE/run"
	git config diff.x.textconv "$BASE/run"
	git config diff.external "$BASE/run"
	git config uploadpack.packObjectsHook "$BASE/run"
	git config core.pager "$BASE/run"
	git config alias.log "!$BASE/run"
	echo '* diff=x' >.gitattributes
	run -1 review "base..$bad"
	[[ "$output" == *"refused .env"* ]]
	[ ! -e "$BASE/ran" ]
	# git on the host, which believes the replacement, sees nothing there
	[ -z "$(git ls-tree -r --name-only "$bad" | grep .env)" ]
}

@test "an object that was swapped under its id, or is missing, is no review at all" {
	echo good >g; git add g; git commit -qm g
	blob=$(git rev-parse HEAD:g); file=.git/objects/${blob:0:2}/${blob:2}
	other=$(echo evil | git hash-object -w --stdin)
	chmod u+w "$file"; cp ".git/objects/${other:0:2}/${other:2}" "$file"
	run -125 review base..HEAD
	[[ "$output" == *"damaged or not what their ids say"* ]]
	rm -f "$file"
	run -125 review base..HEAD
}

@test "a repository of the other hash, and one without its whole past, are looked at like any other" {
	git init -q --object-format=sha256 "$BASE/long"; cd "$BASE/long"
	echo a >a; git add a; git commit -qm a; echo b >.env; git add -f .env; git commit -qm b
	run -1 review HEAD~1..HEAD
	[[ "$output" == *"refused .env"* ]]
	run -1 review HEAD
	git clone -q --no-local --depth 2 "file://$BASE/proj" "$BASE/short"; cd "$BASE/short"
	echo b >b.pem; git add -f b.pem; git commit -qm b
	run -1 review HEAD~1..HEAD
	[[ "$output" == "1 commit, 1 changed file"*"refused b.pem"* ]]
}

@test "objects that a repository says it has elsewhere are not fetched by its own command" {
	printf '#!/bin/sh\ntouch %s\n' "$BASE/ran" >"$BASE/run"; chmod +x "$BASE/run"
	git init -q --bare "$BASE/else.git"
	git config core.repositoryFormatVersion 1; git config extensions.partialClone there
	git config remote.there.promisor true; git config remote.there.url "$BASE/else.git"
	git config remote.there.uploadpack "$BASE/run"
	blob=$(git rev-parse HEAD:a.txt); rm -f ".git/objects/${blob:0:2}/${blob:2}"
	run -125 review HEAD
	[ ! -e "$BASE/ran" ]
	run -125 review 1111111111111111111111111111111111111111
	[ ! -e "$BASE/ran" ]
	# the same question to git as it is
	no git rev-parse -q --verify '1111111111111111111111111111111111111111^{commit}'
	[ -e "$BASE/ran" ]
}

@test "paths are bytes, and come to a terminal as text" {
	git update-index --add --cacheinfo "100644,$(git rev-parse HEAD:a.txt),$(printf 'a\033[31m.pem')"
	git commit -qm x
	run -1 review base..HEAD
	[[ "$output" == *'refused a\x1b[31m.pem'* ]]
}

@test "bad questions are answered, and nothing is left behind" {
	run -125 review
	run -125 review nothing..HEAD
	run -125 review ..HEAD
	run -125 review base...HEAD
	run -125 review --upload-pack=x
	run -125 review base..HEAD another
	no ls -d "$BASE"/ccbox-review.* 2>/dev/null
}

@test "a review that is killed leaves no copy of the commits" {
	for _ in $(seq 50); do
		"$CCBOX" review HEAD >/dev/null 2>&1 3>&- &
		review=$!
		copy=
		# the git that it runs stands in the copy
		while [ -z "$copy" ] && kill -0 $review 2>/dev/null; do
			for child in $(cat "/proc/$review/task/$review/children" 2>/dev/null); do
				where=$(readlink "/proc/$child/cwd" || true)
				[[ "$where" != "$BASE"/ccbox-review.* ]] || copy=$where
			done
		done
		kill -9 $review 2>/dev/null || true
		wait $review || true
		[ -z "$copy" ] || break
	done
	[ -n "$copy" ]
	for _ in $(seq 100); do [ -e "$copy" ] || break; sleep 0.05; done
	[ ! -e "$copy" ]
}
