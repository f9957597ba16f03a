#!/bin/sh
# `make check-long`: what takes its time. Long races; a soak; every fuzz target for a minute; the integration tests twice at
# once, for what only happens under load. Last line: "N passed, N failed, N skipped".
set -u
cd "$(dirname "$0")/.." || exit 1
. tools/steps.sh
fuzz_compiler=clang-14
command -v $fuzz_compiler >/dev/null 2>&1 || fuzz_compiler=clang
under_load() { # both at the same time, each as many at once as it likes
	run_tests build load-one --suite integration &
	run_tests build load-two --suite integration || { wait $!; return 1; }
	wait $!
}
step "build without a warning" build build -Dwerror=false
export CC=$fuzz_compiler
step "build with libFuzzer" build build-fuzz -Db_sanitize=address,undefined -Db_lundef=false -Dc_args=-fsanitize=fuzzer-no-link
unset CC
[ $failed = 0 ] || { echo "0 passed, 1 failed, 0 skipped"; exit 1; }
clients codex gemini opencode
step "long races and soak" run_tests build long --suite long
step "fuzz" run_tests build-fuzz fuzz --suite libfuzzer
step "integration under load, twice at once" under_load
tools/tally.py build/ran-long.txt build/meson-logs/long.json build-fuzz/meson-logs/fuzz.json build/meson-logs/load-one.json \
	build/meson-logs/load-two.json >build/tally-long.txt || failed=1
sed '$d' build/tally-long.txt
last_line build/tally-long.txt build/last-long.txt
exit $failed
