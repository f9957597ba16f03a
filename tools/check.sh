#!/bin/sh
# `make check`: build, every test, the same unit tests under ASan and UBSan, the linters, and the books: what was skipped,
# what the contract says was run. Last line: "N passed, N failed, N skipped".
set -u
cd "$(dirname "$0")/.." || exit 1
. tools/steps.sh
step "build without a warning" build build -Dwerror=false
[ $failed = 0 ] || { echo "0 passed, 1 failed"; exit 1; }
clients
step "tests" run_tests build testlog --no-suite long
step "build with ASan and UBSan" build build-asan -Db_sanitize=address,undefined -Db_lundef=false
step "unit, golden, vectors and fuzz replay under ASan and UBSan" run_tests build-asan testlog --suite unit --suite golden --suite vectors \
	--suite fuzz
step "format" tools/format-check.sh
step "lint" tools/lint.sh build
tools/tally.py build/ran.txt build/meson-logs/testlog.json build-asan/meson-logs/testlog.json >build/tally.txt || failed=1
sed '$d' build/tally.txt
step "contract" python3 tools/contract.py docs/contract.md build/ran.txt
step "cases" python3 tools/cases.py docs/cases.md build/ran.txt
last_line build/tally.txt build/last.txt
exit $failed
