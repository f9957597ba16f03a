# Shared by check.sh and check-long.sh: steps, builds, runs of the tests.
# shellcheck shell=sh
failed=0
step() { # name, command...
	name=$1
	shift
	printf '== %s\n' "$name"
	"$@" || { printf 'FAILED: %s\n' "$name"; failed=1; }
}
build() { # directory, options...
	dir=$1
	shift
	log=$(mktemp)
	again=
	# `make run` may have set it up before musl, cmocka and bats were there
	[ ! -f "$dir/build.ninja" ] || again=--reconfigure
	# shellcheck disable=SC2086
	meson setup $again "$dir" "$@" >"$log" 2>&1 || { cat "$log"; rm -f "$log"; return 1; }
	ninja -C "$dir" >"$log" 2>&1
	code=$?
	if [ $code != 0 ] || grep -q 'warning:' "$log"; then
		grep -E 'warning:|error:|FAILED' "$log" | head -40
		code=1
	fi
	rm -f "$log"
	return $code
}
run_tests() { # directory, name of the log, options...: what failed is in the log, for the tally
	dir=$1 log=$2
	shift 2
	rm -f "$dir/meson-logs/$log.json"
	meson test -C "$dir" --no-rebuild --logbase "$log" "$@" >"$dir/$log.out" 2>&1
	[ -s "$dir/meson-logs/$log.json" ] || { cat "$dir/$log.out"; return 1; }
}
clients() { # real agents that tests drive, and more of them; where they cannot be had, those tests skip and say why
	CCBOX_CLIENTS=${CCBOX_CLIENTS:-/var/tmp/ccbox-clients-$(id -u)}
	export CCBOX_CLIENTS
	for client in claude claude-acp "$@"; do
		tools/clients.sh "$client" >/dev/null || true
	done
}
last_line() { # file of the tally, file for its last line: which must not look green where a step failed
	tail -n 1 "$1" >"$2"
	[ $failed = 0 ] || sed -i 's/, 0 failed/, 1 failed/' "$2"
	cat "$2"
}
