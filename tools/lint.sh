#!/bin/sh
# Linters as checks: mandoc, shellcheck, clang-tidy, gcc's analyzer. usage: lint.sh BUILD
set -u
build=$1
bad=0
out=$(mktemp)
trap 'rm -f "$out"' EXIT
mandoc -Tlint -W warning man/*.[18] || bad=1
find tools tests .ci -name '*.sh' -print0 | xargs -0 shellcheck -S warning .ci/run || bad=1
# Two tools say other things in every version: the ones of Debian 12 decide, clang-tidy 14 and gcc 12. Another version informs.
remarks() { # decides?, tool: what it wrote to $out
	grep -E 'error:|warning:' "$out" | sort -u >"$build/tidy/$2.txt"
	[ -s "$build/tidy/$2.txt" ] || return 0
	if [ "$1" = yes ]; then
		head -40 "$build/tidy/$2.txt"
		return 1
	fi
	echo "$2 is another version than the one that decides: $(wc -l <"$build/tidy/$2.txt") remarks in $build/tidy/$2.txt"
}
mkdir -p "$build/tidy"
tidy=clang-tidy-14 decides=yes
command -v $tidy >/dev/null 2>&1 || { tidy=clang-tidy decides=no; }
# clang does not know one of gcc's options
sed 's/-ftrivial-auto-var-init=zero//g' "$build/compile_commands.json" >"$build/tidy/compile_commands.json"
find src -name '*.c' ! -path 'src/cmd/cc_*' -print0 |
	xargs -0 -n 6 -P 2 $tidy -p "$build/tidy" --quiet --warnings-as-errors='*' >"$out" 2>/dev/null || [ $decides = no ] || bad=1
remarks $decides clang-tidy || bad=1
# Three of the analyzer's warnings do not see through owned out parameters and enum-guarded locals in gcc 12; leaks and
# uninitialised reads are what the ASan and UBSan runs are for. The others stay: use after free, double free, bad free, ...
decides=no
[ "$(gcc -dumpversion | cut -d. -f1)" != 12 ] || decides=yes
find src -name '*.c' -print0 |
	xargs -0 -n 1 -P 2 gcc -std=c17 -O1 -Isrc -Iinclude -fanalyzer -Wno-analyzer-malloc-leak \
		-Wno-analyzer-use-of-uninitialized-value -Wno-analyzer-null-dereference -c -o /dev/null -DCC_VERSION='""' >"$out" 2>&1 || bad=1
remarks $decides gcc || bad=1
exit $bad
