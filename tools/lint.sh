#!/bin/sh
# Linters as checks: mandoc, shellcheck, clang-tidy, gcc's analyzer. usage: lint.sh BUILD
set -u
build=$1
bad=0
mandoc -Tlint -W warning man/*.1 || bad=1
find tools tests .ci -name '*.sh' -print0 | xargs -0 shellcheck -S warning .ci/run || bad=1
# clang does not know one of gcc's options
mkdir -p "$build/tidy"
sed 's/-ftrivial-auto-var-init=zero//' "$build/compile_commands.json" >"$build/tidy/compile_commands.json"
find src -name '*.c' -print0 |
	xargs -0 -n 8 -P 2 clang-tidy-14 -p "$build/tidy" --quiet --warnings-as-errors='*' 2>/dev/null |
	grep -E 'error:|warning:' | sort -u | head -40 | grep . && bad=1
find src -name '*.c' -print0 |
	xargs -0 -n 6 -P 2 gcc -std=c17 -O1 -Isrc -Iinclude -fanalyzer -c -o /dev/null -DCC_VERSION='""' 2>&1 |
	grep -E 'warning:' | sort -u | head -20 | grep . && bad=1
exit $bad
