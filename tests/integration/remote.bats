#!/usr/bin/env bats
# ccbox as the daemon's client, and libccbox.
load lib
load server

@test "launch, ps, exec, logs, stop" {
	daemon
	run "$CCBOX" launch --id agent::x
	echo "$output"
	[ "$output" = agent::x ]
	"$CCBOX" ps | grep -qE '^agent::x +warm +native'
	run "$CCBOX" exec agent::x -- sh -c 'echo out; echo x >.env; exit 9'
	echo "$output"
	[ "$status" -eq 9 ]
	[[ $output == *out* ]]
	"$CCBOX" logs agent::x 2>&1 | grep -q "refused file-write-create $PWD/.env"
	"$CCBOX" logs agent::x --json | grep -q '"type":"violation"'
	"$CCBOX" stop agent::x
	[ "$("$CCBOX" ps | wc -l)" -eq 1 ]
	"$CCBOX" ps --all | grep -qE '^agent::x +destroyed'
	nothing_left
}

@test "exec: standard input, standard error apart, codes, a directory, a variable" {
	daemon
	mkdir sub
	id=$("$CCBOX" launch)
	[ "$(echo given | "$CCBOX" exec "$id" -- cat)" = given ]
	head -c 3000000 /dev/urandom >"$BASE/blob"
	[ "$("$CCBOX" exec "$id" -- cat <"$BASE/blob" | md5sum)" = "$(md5sum <"$BASE/blob")" ]
	[ "$("$CCBOX" exec "$id" -- sh -c 'echo out; echo err >&2' 2>/dev/null </dev/null)" = out ]
	[ "$("$CCBOX" exec "$id" --workdir "$PWD/sub" --env A=b -- sh -c 'pwd; echo $A' </dev/null)" = "$PWD/sub
b" ]
	run "$CCBOX" exec "$id" -- no-such-program </dev/null
	[ "$status" -eq 127 ]
	run "$CCBOX" exec "$id" --timeout 1 -- sleep 60 </dev/null
	[ "$status" -eq 124 ]
	run "$CCBOX" exec nobody -- true </dev/null
	echo "$output"
	[ "$status" -eq 125 ]
	run "$CCBOX" exec "$id"
	[ "$status" -eq 125 ]
}

@test "a signal to ccbox exec reaches the command" {
	daemon
	id=$("$CCBOX" launch)
	"$CCBOX" exec "$id" -- sh -c 'trap "echo got; exit 3" TERM; echo up; while :; do sleep 0.05; done' </dev/null >"$BASE/out" &
	client=$!
	for _ in $(seq 100); do grep -q up "$BASE/out" && break; sleep 0.05; done
	kill -TERM $client
	code=0
	wait $client || code=$?
	[ $code -eq 3 ]
	grep -q got "$BASE/out"
}

@test "a signal that comes before the command has started reaches it when it has" {
	daemon
	launch one >/dev/null
	owner=$(pgrep -P "$SERVER" -f cc-session)
	kill -STOP "$owner"
	in_box one 'sleep 1000' >"$BASE/out" &
	client=$!
	for _ in $(seq 400); do grep -q '"type":"starting"' "$BASE/out" && break; sleep 0.05; done
	api POST /v1/sandboxes/one/exec/1/signal/TERM -o "$BASE/answer" -w '%{http_code}' >"$BASE/status"
	kill -CONT "$owner"
	wait $client
	[ "$(cat "$BASE/status")" = 200 ] || [ "$(cat "$BASE/status")" = 204 ]
	[ "$(text_of exit <"$BASE/out")" = 143 ]
}

@test "suspend and resume; attach shows what comes and ends with the session" {
	daemon
	"$CCBOX" launch --id one
	"$CCBOX" suspend one
	"$CCBOX" ps | grep -qE '^one +suspended'
	run "$CCBOX" exec one -- true
	[ "$status" -eq 125 ]
	"$CCBOX" resume one
	"$CCBOX" attach one >"$BASE/out" 2>"$BASE/err" &
	attached=$!
	sleep 0.2
	"$CCBOX" exec one -- sh -c 'echo seen; echo x >.env' </dev/null >/dev/null 2>&1 || true
	"$CCBOX" stop one
	wait $attached
	[ "$(cat "$BASE/out")" = seen ]
	grep -q "refused file-write-create" "$BASE/err"
}

@test "the flags of launch are those of run: mode, names, protected paths, backend, limits" {
	daemon
	id=$("$CCBOX" launch --mode review)
	run "$CCBOX" exec "$id" -- sh -c 'echo x >f' </dev/null
	[ "$status" -ne 0 ]
	id=$("$CCBOX" launch --allow-name '**/.env')
	"$CCBOX" exec "$id" -- sh -c 'echo x >.env' </dev/null
	[ -e .env ]
	run "$CCBOX" launch --backend none
	[[ $output == *"NO SANDBOX"* ]]
	run "$CCBOX" launch --no-such-flag
	[ "$status" -eq 125 ]
	run "$CCBOX" launch --memory lots
	[ "$status" -eq 125 ]
	cd "$HOME"
	run "$CCBOX" launch
	[ "$status" -eq 125 ]
	[[ $output == *"home directory"* ]]
}

@test "repo add, ls, rm" {
	daemon
	git init -q .
	"$CCBOX" repo add --workspace w
	"$CCBOX" repo ls | grep -q "w .*$PWD"
	id=$("$CCBOX" launch --workspace w)
	run "$CCBOX" exec "$id" -- sh -c 'echo x >f' </dev/null
	[ "$status" -ne 0 ]
	"$CCBOX" repo rm "$("$CCBOX" repo ls | awk '{print $1}')"
	[ -z "$("$CCBOX" repo ls)" ]
	run "$CCBOX" repo add "$BASE"
	[ "$status" -eq 125 ]
}

@test "without a server every verb says so and is 125; a server that dies ends an exec with 125" {
	export CC_SERVER_SOCKET=$BASE/none.sock
	for verb in launch ps "exec x -- true" "logs x" "attach x" "stop x" "suspend x" "resume x" "repo ls"; do
		# shellcheck disable=SC2086
		run "$CCBOX" $verb </dev/null
		echo "$verb: $output"
		[ "$status" -eq 125 ]
		[[ $output == *"no cc_server answers"* ]]
	done
	daemon
	"$CCBOX" launch --id one
	"$CCBOX" exec one -- sh -c 'echo up; sleep 300' </dev/null >"$BASE/out" 2>&1 &
	client=$!
	for _ in $(seq 100); do grep -q up "$BASE/out" && break; sleep 0.05; done
	kill -9 "$SERVER"
	code=0
	wait $client || code=$?
	[ $code -eq 125 ]
	nothing_left
}

@test "libccbox: a program of somebody else's, compiled against the installed header" {
	command -v cc >/dev/null || skip "no compiler"
	daemon
	[ -n "${CCBOX_LIB:-}" ] || CCBOX_LIB=$(dirname "$CCBOX")
	cc -std=c11 -Wall -Wextra -Werror -I"$BATS_TEST_DIRNAME/../../include" -o "$BASE/example" \
		"$BATS_TEST_DIRNAME/../client/example.c" -L"$CCBOX_LIB" -l:libccbox.so.1
	run env LD_LIBRARY_PATH="$CCBOX_LIB" "$BASE/example" "$PWD"
	echo "$output"
	[ "$status" -eq 0 ]
	[[ ${lines[0]} == *'"sessionId":"example::1"'*'"state":"warm"'* ]]
	[ "${lines[1]}" = hello ]
	[ "${lines[2]}" = given ]
	[ "${lines[3]}" = "exit 7" ]
	[[ ${lines[4]} == *'"type":"violation"'*.env* ]]
	[ "${lines[5]}" = not-found ]
	# nothing of the inside is seen of it
	[ -z "$(nm -D --defined-only "$CCBOX_LIB/libccbox.so.1" | grep -v ' A ' | grep -v ' ccbox_')" ]
}
