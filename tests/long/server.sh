#!/bin/sh
# The daemon's figures that are no ratios, as tests: nothing is left of a long row of sessions, fifty launches at once, two
# hundred idle ones, readers that lose nothing. Speaks TAP. usage: server.sh SOURCE BUILD ROUNDS
set -u
n=0
out=$(mktemp)
trap 'rm -f "$out"' EXIT
CC_SOAK=$3 python3 "$1/bench/server.py" "$2" launches idle soak >"$out" 2>&1
code=$?
while IFS= read -r line; do
	case $line in
	'| work'* | '|---'*) continue ;;
	'|'*'**missed**'*) n=$((n + 1)); echo "not ok $n - $(echo "$line" | cut -d'|' -f2 | sed 's/[0-9.]* s)/s)/; s/#//g')"; echo "# $line" ;;
	'|'*) n=$((n + 1)); echo "ok $n - $(echo "$line" | cut -d'|' -f2 | sed 's/([0-9.]* s)//; s/#//g')" ;;
	*) echo "# $line" ;;
	esac
done <"$out"
n=$((n + 1))
if [ $code = 0 ]; then echo "ok $n - ends well"; else echo "not ok $n - ends well"; fi
echo "1..$n"
exit $code
