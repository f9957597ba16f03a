#!/usr/bin/env bats
# What outlives the daemon: sessions and why they ended, commands, the audit trail, checkouts. Killed, full and damaged.
load lib
load server

db() { python3 -c 'import sqlite3,sys; [print("|".join(map(str, r))) for r in sqlite3.connect("file:" + sys.argv[1] + "?mode=ro", uri=True).execute(sys.argv[2])]' "$BASE/data/ccbox-server/server.db" "$1"; }

@test "sessions, commands and events are kept; a session that is gone can still be asked about" {
	daemon
	launch one
	in_box one 'echo x >.env; exit 5' >/dev/null
	api DELETE /v1/sandboxes/one
	api GET /v1/sandboxes/one
	[ "$(api GET /v1/sandboxes/one | field state)" = destroyed ]
	[ "$(api GET /v1/sandboxes/one | field reason)" = stopped ]
	[ "$(status api POST /v1/sandboxes/one/exec -d '{"argv":["true"]}')" = 404 ]
	api GET '/v1/sandboxes?all=1' | grep -q '"recorded":\[{"sessionId":"one"'
	api GET '/v1/sandboxes/one/events?format=lines' >"$BASE/ev"
	cat "$BASE/ev"
	grep -q '"type":"violation"' "$BASE/ev"
	[ "$(tail -n 1 "$BASE/ev" | text_of killed)" = stopped ]
	[ "$(db 'SELECT argv, code FROM runs')" = '["sh","-c","echo x >.env; exit 5"]|5' ]
	down
	daemon
	[ "$(api GET /v1/sandboxes/one | field reason)" = stopped ]
	[ "$(stat -c %a "$BASE/data/ccbox-server/server.db")" = 600 ]
}

@test "the same name again is another session; a launch that failed is recorded with its reason" {
	daemon
	launch one
	api DELETE /v1/sandboxes/one
	[ "$(launch one | field state)" = warm ]
	[ "$(db "SELECT count(*) FROM sessions WHERE id = 'one'")" = 2 ]
	api POST /v1/sandboxes -d '{"sessionId":"bad","bindMounts":[{"hostPath":"/nowhere-at-all"}]}'
	[ "$(db "SELECT state FROM sessions WHERE id = 'bad'")" = destroyed ]
	db "SELECT reason FROM sessions WHERE id = 'bad'" | grep -q nowhere-at-all
}

@test "SIGKILL of the daemon: what was committed is there, the session is recorded as lost, nothing runs" {
	daemon
	launch one
	in_box one 'echo x >.env; exec sleep 300' '"detach":true'
	for _ in $(seq 100); do [ "$(db "SELECT count(*) FROM events WHERE type = 'violation'")" = 1 ] && break; sleep 0.05; done
	kill -9 "$SERVER"
	nothing_left
	daemon
	[ "$(api GET /v1/sandboxes/one | field state)" = destroyed ]
	[ "$(api GET /v1/sandboxes/one | field reason)" = "the server ended without it" ]
	api GET '/v1/sandboxes/one/events?format=lines' | grep -q '"type":"violation"'
	[ "$(launch one | field state)" = warm ]
}

@test "an owner that hangs when its daemon is killed is ended by the next one" {
	daemon
	owner=$(launch one | python3 -c 'import json,sys; print(json.load(sys.stdin)["details"]["pid"])')
	for _ in $(seq 100); do [ "$(db 'SELECT pid FROM sessions')" = "$owner" ] && break; sleep 0.05; done
	kill -STOP "$owner"
	kill -9 "$SERVER"
	sleep 0.2
	kill -0 "$owner"
	daemon
	nothing_left_but_daemon() { for _ in $(seq 100); do kill -0 "$owner" 2>/dev/null || return 0; sleep 0.05; done; return 1; }
	nothing_left_but_daemon
	nothing_left
}

@test "a damaged database: the start is refused, the file is named and not touched" {
	daemon
	launch one
	down
	file=$BASE/data/ccbox-server/server.db
	python3 -c 'import sqlite3,sys; c = sqlite3.connect(sys.argv[1]); c.execute("PRAGMA wal_checkpoint(TRUNCATE)"); c.close()' "$file"
	python3 -c 'import sys; f = open(sys.argv[1], "r+b"); f.seek(4096); f.write(b"\xff" * 8192)' "$file"
	before=$(md5sum <"$file")
	run "$CC_SERVER" --port 0
	echo "$output"
	[ "$status" -eq 125 ]
	[[ $output == *damaged* && $output == *server.db* ]]
	[ "$(md5sum <"$file")" = "$before" ]
	echo "no database" >"$file"
	run "$CC_SERVER" --port 0
	echo "$output"
	[ "$status" -eq 125 ]
	[ "$(cat "$file")" = "no database" ]
}

@test "a database of a newer version is left alone" {
	daemon
	down
	python3 -c 'import sqlite3,sys; c = sqlite3.connect(sys.argv[1]); c.execute("PRAGMA user_version = 99"); c.commit()' "$BASE/data/ccbox-server/server.db"
	run "$CC_SERVER" --port 0
	echo "$output"
	[ "$status" -eq 125 ]
	[[ $output == *"version 99"* ]]
}

@test "a full disk: a launch that cannot be recorded is refused, what runs goes on, what was committed is kept" {
	[ "$(id -u)" -eq 0 ] || skip "not root"
	mkdir -p "$BASE/data"
	# a file system of its own for the data, in a mount namespace of the test's
	cat >"$BASE/full.sh" <<-'SH'
		set -e
		trap 'kill "$SERVER" 2>/dev/null || true' EXIT
		mount -t tmpfs -o size=1m tmpfs "$BASE/data"
		. "$1/lib.bash"; . "$1/server.bash"
		cd "$BASE/proj"
		daemon
		launch one >/dev/null
		head -c 2000000 /dev/zero >"$BASE/data/fill" 2>/dev/null || true
		code=
		for i in $(seq 60); do
		    code=$(launch "n$i" | field code)
		    [ "$code" = system ] && break
		    api DELETE "/v1/sandboxes/n$i" >/dev/null
		done
		echo "refused: $code"
		[ "$(in_box one 'echo on' | text_of stdout)" = on ]
		[ "$(curl -sS "$URL/healthz" | field status)" = ok ]
		rm "$BASE/data/fill"
		[ "$(launch again | field state)" = warm ]
		[ "$(api GET /v1/sandboxes/one | field state)" = warm ]
		down
		daemon
		[ "$(api GET /v1/sandboxes/one | field state)" = destroyed ]
		down
		echo whole
	SH
	export BASE CCBOX CC_SERVER
	run unshare -m --propagation private bash "$BASE/full.sh" "$BATS_TEST_DIRNAME"
	echo "$output"
	[[ $output == *"refused: system"* ]]
	[[ $output == *whole ]]
}

@test "a registered checkout is never written by a session of its workspace; another workspace's may" {
	daemon
	git init -q . && git commit -q --allow-empty -m x
	[ "$(status api POST /v1/repos -d "{\"workspaceId\":\"w::1\",\"path\":\"$PWD\"}")" = 201 ]
	[ "$(status api POST /v1/repos -d "{\"workspaceId\":\"w::1\",\"path\":\"$PWD\"}")" = 201 ]
	api GET /v1/repos | tee "$BASE/repos"
	[ "$(grep -o '"path"' "$BASE/repos" | wc -l)" = 1 ]
	api GET /v1/workspaces | grep -q '"workspaceId":"w::1","createdAt":[0-9]*,"repos":1'
	launch in '"workspaceId":"w::1"'
	launch out '"workspaceId":"other"'
	[ "$(in_box in 'echo x >f' | text_of exit)" != 0 ]
	[ ! -e f ]
	[ "$(in_box out 'echo x >f' | text_of exit)" = 0 ]
	down
	daemon
	launch later '"workspaceId":"w::1"'
	[ "$(in_box later 'echo x >g' | text_of exit)" != 0 ]
	id=$(python3 -c 'import json,sys; print(json.load(open(sys.argv[1]))["repos"][0]["id"])' "$BASE/repos")
	[ "$(status api DELETE "/v1/repos/$id")" = 200 ]
	[ "$(status api DELETE "/v1/repos/$id")" = 404 ]
	launch after '"workspaceId":"w::1"'
	[ "$(in_box after 'echo x >h' | text_of exit)" = 0 ]
	[ "$(status api DELETE /v1/workspaces/w::1)" = 200 ]
}

@test "only the top of a checkout is one; wrong bodies change nothing" {
	daemon
	mkdir plain
	git init -q repo && mkdir repo/sub
	for body in "{\"path\":\"$PWD/plain\"}" "{\"path\":\"$PWD/repo/sub\"}" '{"path":"repo"}' '{}' '[]' '{"path":1}' "{\"path\":\"$PWD/repo\",\"x\":\"y\"}" "{\"path\":\"$PWD/repo\",\"workspaceId\":\"a b\"}"; do
		[ "$(status api POST /v1/repos -d "$body")" = 400 ]
	done
	[ "$(status api POST /v1/repos -d "{\"path\":\"$PWD/none\"}")" = 404 ]
	[ "$(api GET /v1/repos)" = '{"repos":[]}' ]
	ln -s repo link
	api POST /v1/repos -d "{\"path\":\"$PWD/link\"}"
	api GET /v1/repos | grep -q "\"path\":\"$(realpath repo)\""
}
