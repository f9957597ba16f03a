#!/usr/bin/env bats
# The way into the console: an address that works once, and a cookie that only our own page can use.
load lib
load server

# Its shells write their histories until they are gone.
teardown_more() { [ -z "${SERVER:-}" ] || wait "$SERVER" 2>/dev/null || true; }

login() { api POST /v1/console/login | field url; }
page() { curl -sS -o "$BASE/body" -D "$BASE/head" -w '%{http_code}' "$@"; }

@test "the one-time address is given over the Unix socket only, and works once" {
	daemon
	[ "$(status web POST /v1/console/login)" = 403 ]
	[ "$(status curl -sS -X POST "$URL/v1/console/login")" != 201 ]
	url=$(login)
	[[ $url == "$URL/console/login?key="* ]]
	[ "$(page -c "$BASE/jar" "$url")" = 303 ]
	grep -qi '^location: /.$' "$BASE/head"
	grep -i '^set-cookie:' "$BASE/head" | grep -q 'HttpOnly; SameSite=Strict'
	[ "$(page "$url")" = 403 ]
	[ "$(page "$URL/console/login")" = 403 ]
	[ "$(page "$URL/console/login?key=")" = 403 ]
	[ "$(page "$URL/console/login?key=0000")" = 403 ]
	[ "$(page -b "$BASE/jar" "$URL/v1/terminals")" = 200 ]
	[ "$(page "$URL/v1/terminals")" = 401 ]
	# of many that were never used the last are good
	for _ in 1 2 3 4 5 6 7 8; do last=$(login); done
	first=$(login)
	[ "$(page "$last")" = 303 ]
	[ "$(page "$first")" = 303 ]
}

@test "a cookie alone changes nothing: the call has to come from our own page" {
	daemon
	page -c "$BASE/jar" "$(login)" >/dev/null
	cookie=(-b "$BASE/jar" -X POST -d '{}')
	[ "$(page "${cookie[@]}" "$URL/v1/terminals")" = 403 ]
	[ "$(page "${cookie[@]}" -H 'Origin: http://evil.test' "$URL/v1/terminals")" = 403 ]
	[ "$(page "${cookie[@]}" -H 'Origin: null' "$URL/v1/terminals")" = 403 ]
	[ "$(page "${cookie[@]}" -H "Origin: $URL" -H 'Host: evil.test' "$URL/v1/terminals")" = 403 ]
	[ "$(page "${cookie[@]}" -H "Origin: $URL" "$URL/v1/terminals")" = 201 ]
	id=$(field id <"$BASE/body")
	# a WebSocket by cookie: the same
	ws=(-m 2 -b "$BASE/jar" -H 'Upgrade: websocket' -H 'Connection: Upgrade' -H 'Sec-WebSocket-Version: 13'
		-H 'Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==' -H 'Sec-WebSocket-Protocol: ccbox.v1')
	[[ $(page "${ws[@]}" "$URL/v1/terminals/$id/io" 2>/dev/null || true) != 101 ]]
	[[ $(page "${ws[@]}" -H 'Origin: http://evil.test' "$URL/v1/terminals/$id/io" 2>/dev/null || true) != 101 ]]
	[[ $(page "${ws[@]}" -H "Origin: $URL" "$URL/v1/terminals/$id/io" 2>/dev/null || true) = 101 ]]
	[ "$(page -b "$BASE/jar" -X POST -H "Origin: $URL" "$URL/v1/console/logout")" = 204 ]
	[ "$(page -b "$BASE/jar" "$URL/v1/terminals")" = 401 ]
}

@test "the page and all it loads come from here, with a policy that allows nothing else, and hold no secret" {
	daemon
	[ "$(page --compressed "$URL/")" = 200 ]
	policy=$(grep -i '^content-security-policy:' "$BASE/head")
	[[ $policy == *"default-src 'none'"* && $policy == *"script-src 'self';"* && $policy == *"style-src 'self';"* ]]
	[[ $policy != *unsafe* ]]
	no grep -qE '(src|href)="https?:' "$BASE/body"
	no grep -qE '<script>|<style|style=|onclick=' "$BASE/body"
	for path in $(grep -oE '(src|href)="/console/[^"]*"' "$BASE/body" | cut -d'"' -f2 | sort -u) /console/api.js /console/term.js /console/views.js; do
		[ "$(page --compressed "$URL$path")" = 200 ]
		[ -s "$BASE/body" ]
		no grep -q "$TOKEN" "$BASE/body"
	done
}

@test "ccbox console prints the address; a browser that is there is given it by a file, not by a word others can see" {
	daemon
	url=$("$CCBOX" console)
	[[ $url == "$URL/console/login?key="* ]]
	[ "$(page "$url")" = 303 ]
	mkdir "$BASE/bin"
	printf '#!/bin/sh\necho "$@" >%s; cat "$1" >%s\n' "$BASE/opened" "$BASE/given" >"$BASE/bin/xdg-open"
	chmod 755 "$BASE/bin/xdg-open"
	# on a terminal, as a person has it
	DISPLAY=:9 PATH=$BASE/bin:$PATH script -qec "$CCBOX console" /dev/null >"$BASE/said" </dev/null
	for _ in $(seq 100); do [ ! -s "$BASE/given" ] || break; sleep 0.05; done
	url=$(tr -d '\r' <"$BASE/said" | grep -o 'http.*')
	grep -qF "0;url=$url" "$BASE/given"
	no grep -q key= "$BASE/opened"
	[ "$(stat -c %a "$(cat "$BASE/opened")")" = 600 ]
	rm "$BASE/opened"
	DISPLAY=:9 PATH=$BASE/bin:$PATH script -qec "$CCBOX console --no-open" /dev/null </dev/null
	[ ! -e "$BASE/opened" ]
	down
	run "$CCBOX" console
	[ "$status" -eq 125 ]
	[[ $output == *"is cc_server running?"* ]]
}

@test "ccbox console --data-dir: the server that was started with it, whatever else runs" {
	daemon
	"$CC_SERVER" --port 0 --data-dir "$BASE/other" >"$BASE/other.out" 2>/dev/null 3>&- &
	other=$!
	for _ in $(seq 400); do grep -q 'listening on /' "$BASE/other.out" && break; sleep 0.05; done
	there=$(sed -n 's/^listening on \(http.*\)/\1/p' "$BASE/other.out")
	[ "$there" != "$URL" ]
	[[ $("$CCBOX" console --data-dir "$BASE/other") == "$there/console/login?key="* ]]
	[[ $("$CCBOX" console --no-open "--data-dir=$BASE/other") == "$there/console/login?key="* ]]
	[[ $("$CCBOX" console) == "$URL/console/login?key="* ]]
	kill $other
	wait $other
	for words in "--data-dir $BASE/other" "--data-dir" "--data-dir other" "--data-dirs"; do
		run "$CCBOX" console $words
		echo "$output"
		[ "$status" -eq 125 ]
	done
}
