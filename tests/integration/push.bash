# What the tests of the push gateway share: three repositories, a gateway, and its neighbours (push_daemon.py).
SECRET=0123456789abcdef0123456789abcdef0123456789abcdef
PUSH=$(dirname "$CCBOX")/cc-push
RULES=$(dirname "$CCBOX")/push-rules

setup_more() {
	unset http_proxy https_proxy HTTP_PROXY HTTPS_PROXY
	export GIT_TERMINAL_PROMPT=0
	# what the person has, what the forge has, what the agent works in
	git init -q "$BASE/origin"
	git -C "$BASE/origin" commit -q --allow-empty -m start
	echo one >"$BASE/origin/a.txt"
	git -C "$BASE/origin" add -A
	git -C "$BASE/origin" commit -q -m first
	mkdir -p "$BASE/up/up.test/o" "$BASE/dir"
	chmod 700 "$BASE/dir"
	git clone -q --bare "$BASE/origin" "$BASE/up/up.test/o/r"
	UP=$BASE/up/up.test/o/r
	git -C "$UP" config receive.advertisePushOptions true
	git clone -q "$BASE/origin" "$BASE/agent"
	git -C "$BASE/agent" remote set-url origin https://up.test/o/r.git
	cd "$BASE/agent" || return 1
	OBJECTS="\"$BASE/origin/.git\""
	EXTRA=
}

# gateway RULES [ANSWER [HOSTILE]] : rules of the push rule, as JSON
gateway() {
	"$RULES" "$BASE/agent" >"$BASE/rules.json"
	cat >"$BASE/start.json" <<-END
		{"runId":"r-1","secret":"$SECRET","dir":"$BASE/dir","objects":$OBJECTS,"root":"$BASE/agent",
		"rules":$(cat "$BASE/rules.json"),"repositories":["up.test/o/r"],"push":$1$EXTRA}
	END
	rm -f "$BASE/server.out"
	serve python3 "$BATS_TEST_DIRNAME/push_daemon.py" "$PUSH" "$BASE/start.json" "$BASE/up" "$BASE/log" "${2:-allow}" "${3:-}"
	GATEWAY=$(sed -n 2p "$BASE/server.out")
	# as a run's git is told
	export GIT_CONFIG_COUNT=2 GIT_CONFIG_KEY_0="url.http://127.0.0.1:$PORT/up.test/.pushInsteadOf" \
		GIT_CONFIG_VALUE_0=https://up.test/ GIT_CONFIG_KEY_1="http.http://127.0.0.1:$PORT/.extraHeader" \
		GIT_CONFIG_VALUE_1="X-CC-Run: $SECRET"
}

ALL='[{"verdict":"allow","what":["create","update","force","delete","tag"]}]'
change() { # NAME [TEXT] : a commit
	mkdir -p "$(dirname "$1")"
	echo "${2:-$1}" >"$1"
	git add -A
	git commit -q -m "change $1"
}
up() { git -C "$UP" rev-parse --verify -q "$1"; }
# What lies there but the objects of pushes that were taken.
on_disk() { ls -A "$BASE/dir" | grep -v '^kept-' || true; }
# Nothing lies on the disk any more; the gateway takes it away after its answer.
clean() {
	for _ in $(seq 600); do
		[ -n "$(on_disk)" ] || return 0
		sleep 0.05
	done
	ls -lR "$BASE/dir"
	return 1
}
forwards() { grep -c '^forward .*"receive"' "$BASE/log" || true; }
raw() { python3 "$BATS_TEST_DIRNAME/push_raw.py" "$PORT" "$SECRET" "$@"; }
# refused : what the last push said, and nothing of it anywhere
refused() {
	echo "$output"
	[ "$status" -ne 0 ]
	[ "$(git -C "$UP" for-each-ref)" = "$BEFORE" ]
	[ "$(forwards)" = 0 ]
	grep -q '^event .*"denied"' "$BASE/log"
	clean
}
# a tree that git add would not make, as a commit on main: entries as for git mktree
crafted() {
	local tree
	tree=$(printf '%b' "$1" | git mktree --missing)
	git update-ref refs/heads/main "$(git commit-tree -p HEAD -m crafted "$tree")"
}
deflated() { # a pack of the commit, whole
	git pack-objects --revs --stdout -q <<<"$1" >"$BASE/pack"
	export PACK=$BASE/pack NEW=$1
}
