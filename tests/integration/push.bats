#!/usr/bin/env bats
# A run's push gateway: the git client itself and hostile ones, through cc-push, to git http-backend. push_daemon.py stands in for
# the daemon, for the session's proxy and for the forge.
load lib
load push
bats_require_minimum_version 1.5.0

@test "a plain push, a branch, a tag, a second push over one connection each: they arrive" {
	gateway "$ALL"
	change b.txt
	git push -q origin main
	[ "$(up main)" = "$(git rev-parse HEAD)" ]
	change c.txt
	git tag -a -m one v1
	git push -q origin main HEAD:refs/heads/topic/x v1
	[ "$(up topic/x)" = "$(git rev-parse HEAD)" ]
	[ "$(up v1)" = "$(git rev-parse v1)" ]
	git push -q origin main
	[ "$(grep -c '^event .*"allowed"' "$BASE/log")" = 2 ]
	clean
}

@test "what comes after the branch is pushed goes on: force, force-with-lease, delete, atomic, push options" {
	gateway "$ALL"
	change b.txt
	git push -q origin main
	git commit -q --amend -m other
	git push -q --force-with-lease origin main
	[ "$(up main)" = "$(git rev-parse HEAD)" ]
	git commit -q --amend -m another
	run git push origin main
	[ "$status" -ne 0 ] # git itself
	git push -q --force -o ci.skip origin main
	grep '^ask ' "$BASE/log" | grep -q '"options": \["ci.skip"\]'
	[ "$(up main)" = "$(git rev-parse HEAD)" ]
	git push -q --atomic origin HEAD:refs/heads/a HEAD:refs/heads/b
	git push -q origin :a
	no up a
	up b
	clean
}

@test "an upstream's own refusal is passed on" {
	gateway "$ALL"
	printf '#!/bin/sh\necho not on my watch\nexit 1\n' >"$UP/hooks/pre-receive"
	chmod 755 "$UP/hooks/pre-receive"
	change b.txt
	run git push origin main
	echo "$output"
	[ "$status" -ne 0 ]
	[[ $output == *"remote: not on my watch"* ]]
	[[ $output == *"pre-receive hook declined"* ]]
	clean
}

@test "from a shallow clone, and to one" {
	gateway "$ALL"
	git clone -q --depth 1 "file://$BASE/origin" "$BASE/shallow"
	cd "$BASE/shallow"
	git remote set-url origin https://up.test/o/r
	change s.txt
	git push -q origin HEAD:refs/heads/s
	[ "$(up s)" = "$(git rev-parse HEAD)" ]
	clean
}

@test "a whole history into an empty repository, protocols 0 to 2" {
	OBJECTS=null
	rm -rf "$UP"
	git init -q --bare "$UP"
	gateway "$ALL"
	for version in 0 1 2; do
		change "v$version"
		git -c protocol.version=$version push -q origin "HEAD:refs/heads/p$version" || return 1
		[ "$(up "p$version")" = "$(git rev-parse HEAD)" ]
		rm -rf "$UP"
		git init -q --bare "$UP"
	done
	clean
}

@test "20,000 objects" {
	OBJECTS=null
	rm -rf "$UP"
	git init -q --bare "$UP"
	gateway "$ALL"
	python3 - <<-'END' | git fast-import --quiet --force
		print('commit refs/heads/main\ncommitter T <t@example.test> 1700000000 +0000\ndata 1\nx')
		for i in range(19000):
		    print('M 100644 inline d%d/f%d\ndata %d\n%d' % (i % 300, i, len(str(i)), i))
	END
	[ "$(git rev-list --objects main | wc -l)" -gt 19000 ]
	git push -q origin main
	[ "$(up main)" = "$(git rev-parse main)" ]
	clean
}

@test "no rule: a branch is asked about, with all that a person needs; force, deletion and tags are denied" {
	gateway '[]'
	change b.txt
	run git push origin main
	echo "$output"
	[ "$status" -eq 0 ]
	[[ $output == *"remote: ccbox: a person is asked"* ]]
	[ "$(up main)" = "$(git rev-parse HEAD)" ]
	grep '^ask ' "$BASE/log"
	grep '^ask ' "$BASE/log" | grep -q 'b.txt | 1 +'
	grep '^ask ' "$BASE/log" | grep -q '"subject": "change b.txt"'
	grep '^ask ' "$BASE/log" | grep -q '"ref": "refs/heads/main", "what": "a branch goes on"'
	grep '^ask ' "$BASE/log" | grep -q '"commitCount": 1'
	grep '^event ' "$BASE/log" | grep -q '"reason": "allowed by person"'
	BEFORE=$(git -C "$UP" for-each-ref)
	: >"$BASE/log"
	git commit -q --amend -m other
	run git push -f origin main
	[[ $output == *"main -> main (history is replaced, which is not allowed here (rule push:default))"* ]]
	refused
	run git push origin :main
	[[ $output == *"a reference is taken away"* ]]
	refused
	run git push origin HEAD:refs/tags/v1
	[[ $output == *"a tag is set"* ]]
	refused
	run git push origin HEAD:refs/notes/x
	refused
}

@test "a person says no" {
	gateway '[]' deny
	BEFORE=$(git -C "$UP" for-each-ref)
	change b.txt
	run git push origin main HEAD:refs/heads/other
	[[ $output == *"main -> main (a person was asked, and said no)"* ]]
	refused
}

@test "nobody answers: no; and the question is taken back" {
	EXTRA=',"waitSeconds":1'
	gateway '[]' none
	BEFORE=$(git -C "$UP" for-each-ref)
	change b.txt
	run git push origin main
	[[ $output == *"nobody answered"* ]]
	grep -q '^settled ' "$BASE/log"
	refused
}

@test "a client that goes while a person is asked: the question is taken back, nothing stays" {
	gateway '[]' none
	BEFORE=$(git -C "$UP" for-each-ref)
	change b.txt
	setsid git push origin main >"$BASE/push.out" 2>&1 3>&- &
	client=$!
	for _ in $(seq 200); do grep -q '^ask ' "$BASE/log" && break; sleep 0.05; done
	kill -KILL -- "-$client"
	for _ in $(seq 400); do grep -q '^settled ' "$BASE/log" && break; sleep 0.05; done
	grep -q '^settled ' "$BASE/log"
	[ "$(git -C "$UP" for-each-ref)" = "$BEFORE" ]
	clean
}

@test "the gateway is told to stop, or loses its daemon, or is killed: no git stays, and nothing on the disk where it could be" {
	for how in stop lost; do
		gateway '[]' none
		change "$how.txt"
		setsid git push origin main >"$BASE/push.out" 2>&1 3>&- &
		client=$!
		for _ in $(seq 200); do grep -q '^ask ' "$BASE/log" && break; sleep 0.05; done
		[ -n "$(on_disk)" ]
		if [ "$how" = stop ]; then kill "$SERVER"; else kill -KILL "$SERVER"; fi
		for _ in $(seq 400); do kill -0 "$GATEWAY" 2>/dev/null || break; sleep 0.05; done
		no kill -0 "$GATEWAY"
		[ -z "$(ls -A "$BASE/dir")" ]
		wait "$client" || true
		: >"$BASE/log"
	done
	gateway '[]' none
	change killed.txt
	setsid git push origin main >"$BASE/push.out" 2>&1 3>&- &
	client=$!
	for _ in $(seq 200); do grep -q '^ask ' "$BASE/log" && break; sleep 0.05; done
	kill -KILL "$GATEWAY"
	wait "$client" || true
	# its gits worked there
	for _ in $(seq 400); do ls -l /proc/[0-9]*/cwd 2>/dev/null | grep -qF "$BASE/dir/" || break; sleep 0.05; done
	no sh -c 'ls -l /proc/[0-9]*/cwd 2>/dev/null | grep -F "$1/dir/"' _ "$BASE"
	[ "$(up main)" = "$(git -C "$BASE/origin" rev-parse main)" ]
}

@test "rules: the strictest wins; a branch pattern, a repository, a size" {
	gateway '[{"verdict":"allow","name":"mine"},{"verdict":"deny","ref":"main","name":"guarded"},{"verdict":"allow","ref":"big","what":["create"],"maxBytes":20000,"name":"small"}]'
	BEFORE=$(git -C "$UP" for-each-ref)
	change b.txt
	run git push origin main
	[[ $output == *"rule guarded"* ]]
	refused
	run git push origin main HEAD:refs/heads/fine
	[[ $output == *"HEAD -> fine (another reference of this push was refused)"* ]]
	refused
	head -c 30000 /dev/urandom >big.bin
	git add -A
	git commit -q -m big
	run git push origin HEAD:refs/heads/big
	[[ $output == *"rule small"* ]]
	refused
	git push -q origin HEAD:refs/heads/fine
	[ "$(up fine)" = "$(git rev-parse HEAD)" ]
}

@test "a repository that nothing is pushed to says so at once" {
	gateway '[{"verdict":"deny","repository":"up.test/o/*","name":"frozen"}]'
	change b.txt
	run git push origin main
	echo "$output"
	[ "$status" -ne 0 ]
	[[ $output == *"nothing is pushed to this repository (rule frozen)"* ]]
	no grep -q '^forward' "$BASE/log"
}

@test "paths that must not change: in a commit, in one that takes it back again, in a merge, by a link in their place" {
	gateway '[{"verdict":"allow"},{"verdict":"deny","paths":[".github/workflows/**"],"name":"ci"}]'
	BEFORE=$(git -C "$UP" for-each-ref)
	change ok.txt
	git branch good
	change .github/workflows/x.yml
	run git push origin main
	[[ $output == *"it changes .github/workflows/x.yml, which rule ci keeps as it is"* ]]
	refused
	git rm -q .github/workflows/x.yml
	git commit -q -m back
	run git push origin main
	refused
	git checkout -q -b side good
	change side.txt
	git merge -q --no-edit main
	run git push origin side
	refused
	git checkout -q -b link good
	mkdir -p elsewhere .github
	ln -s ../elsewhere .github/workflows
	git add -A
	git commit -q -m link
	run git push origin link
	refused
	git push -q origin good
	[ "$(up good)" = "$(git rev-parse good)" ]
}

@test "names that no sandbox would make: a hook, .env, a nested git directory, links that lead out, a submodule" {
	gateway "$ALL"
	BEFORE=$(git -C "$UP" for-each-ref)
	blob=$(echo evil | git hash-object -w --stdin)
	out=$(printf ../../../etc | git hash-object -w --stdin)
	base=$(git rev-parse main)
	for entry in "100644 blob $blob\t.env" "120000 blob $out\tlink" "160000 commit $(git rev-parse HEAD)\tsub" \
		"100644 blob $blob\t.envrc" "100644 blob $blob\tgit~1"; do
		git update-ref refs/heads/main "$base"
		crafted "$entry\n"
		run git push origin main
		[[ $output == *"commit $(git rev-parse main | cut -c1-12) has "* || $output == *"not sound"* ]]
		refused
	done
	hooks=$(printf "100644 blob $blob\tpost-checkout\n" | git mktree)
	git_dir=$(printf "040000 tree $hooks\thooks\n" | git mktree)
	# git mktree makes such a tree, git's own check refuses it: by its name inside another directory too
	for name in .git .GIT; do
		git update-ref refs/heads/main "$base"
		crafted "040000 tree $git_dir\t$name\n"
		run git push origin main
		refused
	done
	# the name is gone again in the next commit, and in the history all the same
	git update-ref refs/heads/main "$base"
	crafted "100644 blob $blob\t.env\n"
	git update-ref refs/heads/main "$(git commit-tree -p main -m back "$base^{tree}")"
	run git push origin main
	refused
}

@test "what is flagged is asked about, whatever the rule allows" {
	gateway "$ALL"
	change .github/workflows/x.yml
	git push -q origin main
	grep '^ask ' "$BASE/log" | grep -q '"path": ".github/workflows/x.yml"'
	[ "$(up main)" = "$(git rev-parse HEAD)" ]
}

@test "a commit that only the agent calls known is looked at: not what it says, but what the upstream said, counts" {
	gateway "$ALL"
	BEFORE=$(git -C "$UP" for-each-ref)
	blob=$(echo evil | git hash-object -w --stdin)
	crafted "100644 blob $blob\t.env\n"
	evil=$(git rev-parse main)
	fine=$(git commit-tree -p "$evil" -m fine "HEAD~1^{tree}")
	# one command claims that the upstream has the commit; the other one would bring it
	deflated "$fine"
	run env OLD="$evil" python3 "$BATS_TEST_DIRNAME/push_raw.py" "$PORT" "$SECRET" good
	[[ $output == *"ng refs/heads/raw"* ]]
	status=1
	refused
}

@test "a commit that a stranger has put into the upstream, not onto a branch, does not become one unseen" {
	gateway "$ALL"
	blob=$(echo evil | git hash-object -w --stdin)
	crafted "100644 blob $blob\t.env\n"
	git push -q "$UP" main:refs/pull/1/head
	git -C "$BASE/origin" fetch -q "$UP" refs/pull/1/head
	BEFORE=$(git -C "$UP" for-each-ref)
	run git push origin main:refs/heads/topic
	[[ $output == *"is no commit that came with the push"* ]]
	refused
}

@test "objects that are not there: fetch first" {
	gateway "$ALL"
	# somebody else has pushed; the agent has it, the run's repository has not
	git clone -q "$UP" "$BASE/else"
	git -C "$BASE/else" commit -q --allow-empty -m else
	git -C "$BASE/else" push -q origin main
	BEFORE=$(git -C "$UP" for-each-ref)
	git pull -q "$UP" main
	change b.txt
	run git push origin main
	[[ $output == *"fetch first"* ]]
	refused
}

@test "what the run itself has fetched from its upstream is known, hashed anew; what was swapped there is not" {
	EXTRA=",\"copy\":\"$BASE/agent/.git\""
	gateway "$ALL"
	git clone -q "$UP" "$BASE/else"
	echo else >"$BASE/else/else.txt"
	git -C "$BASE/else" add -A
	git -C "$BASE/else" commit -q -m else
	git -C "$BASE/else" push -q origin main
	git pull -q "$UP" main
	change b.txt
	git push -q origin main
	[ "$(up main)" = "$(git rev-parse HEAD)" ]
	clean
	# once more, and the tree of what was fetched is made to look as if it had the forbidden name already
	git -C "$BASE/else" pull -q
	git -C "$BASE/else" rm -q else.txt
	git -C "$BASE/else" commit -q -m two
	git -C "$BASE/else" push -q origin main
	BEFORE=$(git -C "$UP" for-each-ref)
	git pull -q "$UP" main
	was=$(git rev-parse 'HEAD^{tree}')
	git update-index --add --cacheinfo "100644,$(echo x | git hash-object -w --stdin),.env"
	with=$(git write-tree)
	git update-ref HEAD "$(git commit-tree "$with" -p HEAD -m sly)"
	chmod u+w ".git/objects/${was:0:2}/${was:2}"
	cp ".git/objects/${with:0:2}/${with:2}" ".git/objects/${was:0:2}/${was:2}"
	[ -z "$(git diff-tree -r HEAD^ HEAD)" ] # so it looks from there
	run git push origin main
	echo "$output"
	[ "$status" -ne 0 ]
	[ "$(git -C "$UP" for-each-ref)" = "$BEFORE" ]
	[ "$(forwards)" = 1 ]
	clean
}

# planted : the checkout says of the forbidden commit's child that it stands on main, by a file that a session may write there
planted() {
	gateway "$ALL"
	BEFORE=$(git -C "$UP" for-each-ref)
	was=$(git rev-parse HEAD)
	blob=$(echo evil | git hash-object -w --stdin)
	crafted "100644 blob $blob\t.env\n"
	child=$(git commit-tree -p main -m child "$was^{tree}")
	git update-ref refs/heads/main "$child"
	run git push origin main
	[[ $output == *" has .env: "* ]]
	refused
}

@test "what a session has written beside the commits of the checkout deceives nobody: shallow, a swapped tree" {
	shallow() { git rev-parse main >"$BASE/origin/.git/shallow"; }
	swapped() { # the tree that the forbidden one is compared with has the name already
		tree=$(git rev-parse "$was^{tree}") with=$(git rev-parse 'main~1^{tree}')
		git -C "$BASE/origin" fetch -q "$BASE/agent" main
		chmod -f u+w "$BASE/origin/.git/objects/${tree:0:2}/${tree:2}"
		cp "$BASE/agent/.git/objects/${with:0:2}/${with:2}" "$BASE/origin/.git/objects/${tree:0:2}/${tree:2}"
	}
	planted
	for plant in shallow swapped; do
		$plant
		: >"$BASE/log"
		run git push origin main
		[[ $output == *" has .env: "* || $output == *"fetch first"* ]]
		refused
	done
}

@test "packs that leave something out: the parent, the tree, a link, the tag's commit; refused, whatever else is right" {
	gateway "$ALL"
	BEFORE=$(git -C "$UP" for-each-ref)
	blob=$(echo fine | git hash-object -w --stdin)
	link=$(printf fine | git hash-object -w --stdin)
	tree=$(printf "100644 blob $blob\tfine\n120000 blob $link\tlink\n" | git mktree)
	evil=$(git commit-tree -p HEAD -m evil "HEAD^{tree}")
	top=$(git commit-tree -p "$evil" -m top "$tree")
	alone=$(git commit-tree -p HEAD -m alone "$tree")
	tag=$(printf "object $top\ntype commit\ntag v\ntagger T <t@example.test> 1 +0000\n\nx\n" | git mktag)
	of_file=$(printf "object $blob\ntype blob\ntag f\ntagger T <t@example.test> 1 +0000\n\nx\n" | git mktag)
	export PACK=$BASE/pack
	while read -r name objects; do
		NEW=${objects%% *}
		tr ' ' '\n' <<<"$objects" | git pack-objects --stdout -q >"$PACK"
		run env NEW="$NEW" REF="$name" python3 "$BATS_TEST_DIRNAME/push_raw.py" "$PORT" "$SECRET" good
		echo "$name: $output"
		[[ $output == *"ng $name "* ]]
		status=1
		refused
	done <<-END
		refs/heads/parent $top $tree $blob $link
		refs/heads/tree $alone
		refs/heads/link $alone $tree $blob
		refs/tags/commit $tag
		refs/tags/parent $tag $top $tree $blob $link
		refs/tags/file $of_file $blob
		refs/heads/file $blob
		refs/heads/tree-itself $tree $blob $link
	END
}

@test "five pushes at once of one run: the fifth is told so" {
	gateway '[]' none
	change b.txt
	for i in 1 2 3 4; do
		setsid git push origin "HEAD:refs/heads/n$i" >"$BASE/push.$i" 2>&1 3>&- &
		clients="${clients:-} $!"
	done
	for _ in $(seq 400); do [ "$(grep -c '^ask ' "$BASE/log")" = 4 ] && break; sleep 0.05; done
	[ "$(grep -c '^ask ' "$BASE/log")" = 4 ]
	run git push origin HEAD:refs/heads/n5
	echo "$output"
	[ "$status" -ne 0 ]
	[[ $output == *503* ]] # git shows no more than that
	for client in $clients; do kill -KILL -- "-$client"; done
	clean
}

@test "secrets and places: another secret, none, another repository, other requests" {
	gateway "$ALL"
	change b.txt
	while read -r name code word; do
		run raw "$name"
		echo "$name: $output"
		[[ $output == "HTTP/1.1 $code"* ]]
		[[ $output == *"$word"* ]]
	done <<-END
		secret 401 secret
		no-secret 401 secret
		other-repo 403 repositories
		dots 403 repositories
		fetch 403 fetches
		upload-pack 403 fetches
		dumb 403 old
		object 404 nothing
		lfs 403 lfs
		delete-method 404 nothing
		type 415 type
		two-lengths 400 length
		rubbish 400 .
	END
	run git -c "http.http://127.0.0.1:$PORT/.extraHeader=" -c "http.http://127.0.0.1:$PORT/.extraHeader=X-CC-Run: ${SECRET/0/1}" push origin main
	[ "$status" -ne 0 ]
	[ "$(forwards)" = 0 ]
	run git push https://up.test/o/other.git main
	echo "$output"
	[[ $output == *"this run pushes to the repositories that it was given"* ]]
	[ "$(forwards)" = 0 ]
}

@test "a well formed push of a client that is not git: plain, gzip, chunks, with a question before; requests in a row" {
	gateway "$ALL"
	change b.txt
	deflated "$(git rev-parse HEAD)"
	for case in good good-gzip good-chunked good-continue; do
		run env REF="refs/heads/$case" python3 "$BATS_TEST_DIRNAME/push_raw.py" "$PORT" "$SECRET" $case
		echo "$case: $output"
		[[ $output == *"ok refs/heads/$case"* ]]
		[ "$(up "$case")" = "$NEW" ]
	done
	run raw probe
	[[ $output == "HTTP/1.1 200"* ]]
	run raw two-requests
	[[ $output == "HTTP/1.1 200"*"HTTP/1.1 200"*"service=git-receive-pack"* ]]
	[ "$(forwards)" = 4 ]
	clean
}

@test "hostile bodies: nothing of them is forwarded, nothing stays" {
	gateway "$ALL"
	change b.txt
	deflated "$(git rev-parse HEAD)"
	BEFORE=$(git -C "$UP" for-each-ref)
	for case in smuggled truncated short-body lying-length length-3 length-ffff length-letters delimiter two-flushes commands-after-flush \
		commands-after-pack zeros-after-pack much-after-pack no-pack not-gzip gzip-cut gzip-behind gzip-bomb gzip-bomb-commands \
		deflate too-many twice bad-name one-level cert-and-plain; do
		run raw $case
		echo "$case: ${output:0:600}"
		[[ $output != *"ok refs/"* ]]
		[[ $output == *"HTTP/1.1 4"* || $output == *"ng refs/heads/raw"* || $case = truncated || $case = short-body ]]
		[ "$(git -C "$UP" for-each-ref)" = "$BEFORE" ]
		[ "$(forwards)" = 0 ]
	done
	clean
	grep '^event ' "$BASE/log" | grep -q '"reason": "the body is declared to be gzip, and is not"'
	# and it is as good as before
	run raw good
	[[ $output == *"ok refs/heads/raw"* ]]
	clean
}

@test "more than its largest push: refused, and read to its end" {
	EXTRA=',"maxBytes":100000'
	gateway "$ALL"
	BEFORE=$(git -C "$UP" for-each-ref)
	head -c 3000000 /dev/urandom >big.bin
	git add -A
	git commit -q -m big
	run git push origin main
	[[ $output == *"a push of more than 100000 bytes is not taken"* ]]
	refused
}

@test "an upstream that fails, refuses, leads elsewhere, talks rubbish or stops: the client hears of it" {
	change b.txt
	while read -r kind words; do
		gateway "$ALL" allow "$kind"
		run git push origin main
		echo "$kind: $output"
		[ "$status" -ne 0 ]
		[[ $output == *"$words"* ]]
		[ "$(up main)" = "$(git -C "$BASE/origin" rev-parse main)" ]
		clean
		kill "$SERVER"
		wait "$SERVER" || true
	done <<-END
		fails the host cannot be reached
		refuses does not let this server push there
		redirect nothing is followed there
		junk fatal
		cut error
	END
}

@test "the gateway has no network, writes nowhere else, and nobody looks into it" {
	gateway "$ALL"
	grep -q '^NoNewPrivs:.1$' "/proc/$GATEWAY/status"
	grep -q '^Seccomp:.2$' "/proc/$GATEWAY/status"
	grep -q '^Max core file size *0 *0' "/proc/$GATEWAY/limits"
	change b.txt
	git push -q origin main
	[ "$(up main)" = "$(git rev-parse HEAD)" ]
	clean
}

@test "a start that is not whole, and rules that are not understood, start nothing" {
	for push in '[{"verdict":"maybe"}]' '[{"verdict":"allow","branch":"x"}]' '{}' '[{"ref":"x"}]'; do
		run gateway "$push"
		for _ in $(seq 200); do kill -0 "$(sed -n 2p "$BASE/server.out")" 2>/dev/null || break; sleep 0.05; done
		no kill -0 "$(sed -n 2p "$BASE/server.out")"
	done
}
