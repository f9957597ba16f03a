# Shared by the tests of the daemon: one server a test, on a data directory of its own.
CC_SERVER=${CC_SERVER:-$(dirname "$CCBOX")/cc_server}

# daemon [OPTIONS] : starts it and waits until it listens. URL, PORT, TOKEN, SOCK, SERVER.
daemon() {
	export XDG_DATA_HOME=$BASE/data
	unset XDG_RUNTIME_DIR CC_SERVER_DATA_DIR
	SOCK=$BASE/data/ccbox-server/run/server.sock
	# before it starts: what the one before it said is not to be taken for its word
	: >"$BASE/server.out"
	# wrap: what it is started by, where a test says so
	"${wrap[@]}" "$CC_SERVER" --port 0 "$@" >"$BASE/server.out" 2>"$BASE/server.err" 3>&- &
	SERVER=$!
	for _ in $(seq 400); do
		grep -q "listening on /" "$BASE/server.out" 2>/dev/null && break
		kill -0 "$SERVER" 2>/dev/null || { cat "$BASE/server.err" >&2; return 1; }
		sleep 0.05
	done
	URL=$(sed -n 's/^listening on \(http.*\)/\1/p' "$BASE/server.out")
	PORT=${URL##*:}
	TOKEN=$(cat "$BASE/data/ccbox-server/token")
	export CC_SERVER_SOCKET=$SOCK
}

# api METHOD PATH [CURL ARGS] : over the Unix socket, as ccbox does.
api() {
	local method=$1 path=$2
	shift 2
	curl -sS --globoff --unix-socket "$SOCK" -X "$method" "$@" "http://ccbox$path"
}

# web METHOD PATH [CURL ARGS] : over TCP with the token.
web() {
	local method=$1 path=$2
	shift 2
	curl -sS --globoff -X "$method" -H "Authorization: Bearer $TOKEN" "$@" "$URL$path"
}

# status as above, but only the number comes out
status() { "$@" -o /dev/null -w '%{http_code}'; }

# down : ends it as a service manager does, and waits.
down() {
	kill -TERM "$SERVER"
	wait "$SERVER"
}

# launch ID [JSON MEMBERS] : a session over the project.
launch() { api POST /v1/sandboxes -d "{\"sessionId\":\"$1\",\"bindMounts\":[{\"hostPath\":\"$PWD\"}]${2:+,$2}}"; }

# in_box ID SCRIPT [JSON MEMBERS] : runs sh -c SCRIPT there; its events
in_box() {
	python3 -c 'import json,sys; print(json.dumps({"argv": ["sh", "-c", sys.argv[1]]})[:-1] + (", " + sys.argv[2] if len(sys.argv) > 2 else "") + "}")' \
		"$2" ${3+"$3"} | api POST "/v1/sandboxes/$1/exec" --data-binary @-
}

# Lines of events on standard input: the text that type $1 carries, the exit code for "exit".
text_of() {
	python3 -c '
import base64, json, sys
for line in sys.stdin:
    e = json.loads(line)
    if e["type"] != sys.argv[1]:
        continue
    if e["type"] == "exit":
        print(e["exitCode"])
    elif e.get("encoding") == "base64":
        sys.stdout.buffer.write(base64.b64decode(e["content"]))
    else:
        sys.stdout.write(e.get("content", ""))' "$1"
}

field() { python3 -c 'import json,sys; d=json.load(sys.stdin); e = d.get("error"); print(e["code"] if isinstance(e, dict) else d.get(sys.argv[1]))' "$1"; }

# record : what happened in the run RUN, to its end
record() { api GET "/v1/runs/$RUN/events?format=lines"; }

# until_says WORD : it is in the record of the run RUN
until_says() {
	for _ in $(seq 400); do
		api GET "/v1/runs/$RUN/events?format=lines&follow=0" | grep -q -- "$1" && return 0
		sleep 0.05
	done
	api GET "/v1/runs/$RUN/events?format=lines&follow=0" >&2
	return 1
}

# A checkout with one commit, and a place in PATH for agents.
with_agents() {
	mkdir -p "$BASE/bin" "$XDG_CONFIG_HOME/ccbox"
	git init -q .
	echo hello >a.txt
	git add a.txt
	git commit -qm one
	PATH=$BASE/bin:$PATH
}

# Nothing that the daemon started is left: each stands in, or has mounted, something of this test.
nothing_left() {
	local pid ours
	for _ in $(seq 100); do
		ours=
		for pid in $(pgrep -u "$(id -u)" -f 'cc-run|cc-session|cc-init|cc-proxy|bwrap'); do
			grep -qzsF "$BASE" "/proc/$pid/environ" && ours="$ours $pid"
			grep -qsF "$BASE" "/proc/$pid/mountinfo" && ours="$ours $pid"
		done
		[ -n "$ours" ] || return 0
		sleep 0.05
	done
	echo "left: $ours" >&2
	return 1
}
