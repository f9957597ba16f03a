#!/bin/sh
# Linters as checks: gcc's analyzer over the product, clang-tidy, mandoc, shellcheck. usage: lint.sh BUILD
set -u
build=$1
bad=0
mandoc -Tlint -W warning man/*.1 || bad=1
# shellcheck disable=SC2046
shellcheck -x $(find tools tests .ci -name '*.sh') .ci/run || bad=1
find src -name '*.c' -print0 |
	xargs -0 -n 8 -P 2 clang-tidy-14 -p "$build" --quiet --warnings-as-errors='*' 2>/dev/null | grep -E 'error:|warning:' | sort -u | head -40 | grep . && bad=1
find src -name '*.c' -print0 | xargs -0 -n 6 -P 2 gcc -std=c17 -O1 -Isrc -Iinclude -fanalyzer -fsyntax-only -DCC_VERSION='""' 2>&1 |
	grep -E 'warning:' | sort -u | head -20 | grep . && bad=1
exit $bad
