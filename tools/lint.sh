#!/bin/sh
# Linters as checks: mandoc, shellcheck, clang-tidy, gcc's analyzer. usage: lint.sh BUILD
set -u
build=$1
bad=0
out=$(mktemp)
trap 'rm -f "$out"' EXIT
mandoc -Tlint -W warning man/*.1 || bad=1
find tools tests .ci -name '*.sh' -print0 | xargs -0 shellcheck -S warning .ci/run || bad=1
# Each release's own clang-tidy, 14 where there is one; newer ones know more, so what they say is shown and does not count.
tidy=clang-tidy-14 strict='--warnings-as-errors=*'
command -v "$tidy" >/dev/null 2>&1 || { tidy=clang-tidy strict=; echo "clang-tidy 14 is not in this release: $tidy informs only"; }
# clang does not know one of gcc's options
mkdir -p "$build/tidy"
sed 's/-ftrivial-auto-var-init=zero//g' "$build/compile_commands.json" >"$build/tidy/compile_commands.json"
# shellcheck disable=SC2086
find src -name '*.c' ! -path 'src/cmd/cc_*' -print0 |
	xargs -0 -n 6 -P 2 "$tidy" -p "$build/tidy" --quiet $strict >"$out" 2>/dev/null || [ -z "$strict" ] || bad=1
grep -E 'error:|warning:' "$out" | sort -u | head -40
# Three of the analyzer's warnings do not see through owned out parameters and enum-guarded locals in gcc 12; leaks and
# uninitialised reads are what the ASan and UBSan runs are for. The others stay: use after free, double free, bad free, ...
find src -name '*.c' -print0 |
	xargs -0 -n 1 -P 2 gcc -std=c17 -O1 -Isrc -Iinclude -fanalyzer -Wno-analyzer-malloc-leak \
		-Wno-analyzer-use-of-uninitialized-value -Wno-analyzer-null-dereference -c -o /dev/null -DCC_VERSION='""' >"$out" 2>&1 || bad=1
grep -E 'warning:|error:' "$out" | sort -u | head -20 | grep . && bad=1
exit $bad
