#!/bin/sh
# `make check`: build, every test, the same unit tests under ASan and UBSan, the linters, and the books: what was skipped,
# what the contract says was run. Last line: "N passed, N failed, N skipped".
set -u
cd "$(dirname "$0")/.." || exit 1
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
run_tests() { # directory, options...
	dir=$1
	shift
	rm -f "$dir/meson-logs/testlog.json"
	meson test -C "$dir" --no-rebuild "$@" >"$dir/tests.out" 2>&1
	[ -s "$dir/meson-logs/testlog.json" ] || { cat "$dir/tests.out"; return 1; }
}
step "build without a warning" build build -Dwerror=false
[ $failed = 0 ] || { echo "0 passed, 1 failed"; exit 1; }
step "tests" run_tests build --no-suite long
step "build with ASan and UBSan" build build-asan -Db_sanitize=address,undefined -Db_lundef=false
step "unit, golden and fuzz replay under ASan and UBSan" run_tests build-asan --suite unit --suite golden --suite fuzz
step "format" tools/format-check.sh
step "lint" tools/lint.sh build
tools/tally.py build/ran.txt build/meson-logs/testlog.json build-asan/meson-logs/testlog.json >build/tally.txt || failed=1
sed '$d' build/tally.txt
step "contract" python3 tools/contract.py docs/contract.md build/ran.txt
tail -n 1 build/tally.txt >build/last.txt
if [ $failed != 0 ]; then
	# a failed step outside the tests counts too: the last line must not look green
	sed -i 's/, 0 failed/, 1 failed/' build/last.txt
fi
cat build/last.txt
exit $failed
