#!/bin/sh
# Holds the house to house.txt: includes, platform conditions, file sizes, pairs a room. Speaks TAP.
set -u
cd "${1:-$(dirname "$0")/../..}" || exit 1
n=0
bad=0
say() { n=$((n + 1)); if [ -z "$2" ]; then echo "ok $n - $1"; else bad=1; echo "not ok $n - $1"; echo "$2" | sed 's/^/# /'; fi; }

allowed() { # room -> the rooms its files may include
	sed -n "s/^$1 *: *//p" house.txt | sed 's/PURE//'
}
arrows=
for room in src/*/; do
	room=$(basename "$room")
	grep -q "^$room *:" house.txt || arrows="$arrows
$room is in no line of house.txt"
	may=" $room $(allowed "$room") "
	case $may in *' * '*) continue ;; esac
	found=$(grep -rn '^#include "' "src/$room" --include='*.c' --include='*.h' | sed 's/:#include "/ /; s/".*//' |
		while read -r where target; do
			to=${target%%/*}
			case $may in *" $to "*) ;; *) echo "$where includes $target" ;; esac
		done)
	[ -z "$found" ] || arrows="$arrows
$found"
done
say "every include is an arrow of house.txt" "$(echo "$arrows" | sed '/^$/d')"
say "no platform condition outside os and backend" "$(grep -rnE '^[[:space:]]*#[[:space:]]*if.*(__linux__|__APPLE__|_WIN32)' src include 2>/dev/null | grep -vE '^src/(os|backend)/')"
say "no file over 500 lines" "$(find src -name '*.[ch]' -exec wc -l {} + | awk '$2 != "total" && $1 > 500 { print $2 ": " $1 " lines" }')"
say "no room has more than its pairs" "$(for room in src/*/; do
	pairs=$(find "$room" -name '*.c' | sed 's/\.c$//' | wc -l)
	[ "$pairs" -le 12 ] || echo "$room has $pairs sources"
done)"
say "no room called utils, common or helpers" "$(find src -type d | grep -E '/(utils?|common|helpers?)$')"
say "no file lives in src itself" "$(find src -maxdepth 1 -type f)"
say "no banned function" "$(grep -rnwE 'strcpy|strcat|sprintf|gets|strtok|atoi|system|popen|alloca' src --include='*.c' | grep -E '\b(strcpy|strcat|sprintf|gets|strtok|atoi|system|popen|alloca)\(' )"
# bats ends a test at a command that fails, but not at one that is negated, nor at the first half of a list: what is said there
# is said to nobody. `no COMMAND` and a line for each.
say "no assertion of a bats test is one that cannot fail" "$(grep -nE '^[[:space:]]+! |^[[:space:]]+\[\[? .*\]\]? && (\[|no |grep )' tests/integration/*.bats | grep -v ' || ')"
echo "1..$n"
exit $bad
