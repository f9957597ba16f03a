# Shared by the tests of the daemon: one server a test, on a data directory of its own.
CC_SERVER=${CC_SERVER:-$(dirname "$CCBOX")/cc_server}

# daemon [OPTIONS] : starts it and waits until it listens. URL, PORT, TOKEN, SOCK, SERVER.
daemon() {
	export XDG_DATA_HOME=$BASE/data
	unset XDG_RUNTIME_DIR CC_SERVER_DATA_DIR
	SOCK=$BASE/data/ccbox-server/run/server.sock
	"$CC_SERVER" --port 0 "$@" >"$BASE/server.out" 2>"$BASE/server.err" 3>&- &
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
