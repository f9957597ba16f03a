# Shared by the integration tests: a project of its own for every test, on a host directory of its own.
# CCBOX is the binary under test, BOX_SOURCE the checkout.
CCBOX=${CCBOX:-$BATS_TEST_DIRNAME/../../build/ccbox}

setup() {
	BASE=$(mktemp -d "${TMPDIR:-/tmp}/ccbox-it.XXXXXX")
	export HOME=$BASE/home XDG_STATE_HOME=$BASE/state XDG_CONFIG_HOME=$BASE/config
	mkdir -p "$HOME" "$BASE/proj" "$XDG_CONFIG_HOME"
	export GIT_CONFIG_NOSYSTEM=1
	git config --global user.name Tester
	git config --global user.email tester@example.test
	git config --global init.defaultBranch main
	cd "$BASE/proj" || return 1
	type setup_more >/dev/null 2>&1 && setup_more
	return 0
}

# no COMMAND... : it must fail. A line that begins with "!" never ends a test, whatever it says.
no() { ! "$@"; }

# serve COMMAND... : runs a server on the host until the end of the test; its port is the first line that it writes.
serve() {
	: >"$BASE/server.out" # not what the one before it wrote
	"$@" >"$BASE/server.out" 2>"$BASE/server.err" 3>&- &
	SERVER=$!
	PORT=
	for _ in $(seq 200); do
		PORT=$(head -n 1 "$BASE/server.out" 2>/dev/null) || true
		[ -z "$PORT" ] || return 0
		sleep 0.05
	done
	cat "$BASE/server.err" >&2
	return 1
}

teardown() {
	[ -z "${SERVER:-}" ] || kill "$SERVER" 2>/dev/null || true
	type teardown_more >/dev/null 2>&1 && teardown_more
	cd /
	chmod -R u+rwX "$BASE" 2>/dev/null
	# what was told to end a moment ago may make a last file meanwhile
	for _ in $(seq 100); do
		rm -rf "$BASE" 2>/dev/null && return 0
		sleep 0.1
	done
	rm -rf "$BASE"
}

# box ARGS... : ccbox run, its own lines kept out of the way
box() { "$CCBOX" run --quiet "$@"; }

# Violations of the newest session, one JSON object a line.
violations() { "$CCBOX" events --json | grep '"type":"violation"'; }

# refused NAME : a violation whose target ends in NAME is there
saw_refusal() { violations | grep -q "\"target\":\"[^\"]*$1\""; }

# Everything below a directory, names and contents, as one hash.
tree_hash() { (cd "$1" && find . -print0 | sort -z | xargs -0 -I{} sh -c 'stat -c "%n %f %s" "$1"; [ -f "$1" ] && sha256sum <"$1"' _ {}) | sha256sum; }
