#!/bin/sh
# Rooms marked PURE in house.txt make no system call, read no clock and keep no global: what their libraries import is
# within a short list, and they hold no writable data. Speaks TAP. usage: pure.sh SOURCE BUILD
set -u
cd "$1" || exit 1
build=$2
n=0
bad=0
# memory, strings and text: nothing that reaches the operating system
ok='^(malloc|calloc|realloc|reallocarray|free|mem[a-z]+|str[a-z]+|v?snprintf|__v?snprintf_chk|__[a-z]+_chk|__stack_chk_fail|qsort|bsearch|__ctype_[a-z_]+|__isoc99_sscanf|sscanf|strtol[l]?|strtoul[l]?|_GLOBAL_OFFSET_TABLE_|__errno_location|cc_[a-z0-9_]+)$'
for room in $(sed -n 's/^\([a-z]*\) *:.*PURE.*/\1/p' house.txt); do
	lib=$build/libcc_$room.a
	[ -f "$lib" ] || continue
	n=$((n + 1))
	found=$(nm -u "$lib" 2>/dev/null | awk '$1 == "U" { print $2 }' | sort -u | grep -vE "$ok")
	data=$(nm -f sysv "$lib" 2>/dev/null | awk -F'|' '{ gsub(/ /, "", $1); gsub(/ /, "", $7) }
		$7 ~ /^\.(data|bss)/ && $7 !~ /rel\.ro/ || $7 == "*COM*" { print $1 " is writable data" }')
	if [ -z "$found$data" ]; then
		echo "ok $n - $room is pure"
	else
		bad=1
		echo "not ok $n - $room is pure"
		printf '%s\n%s\n' "$found" "$data" | sed '/^$/d; s/^/# /'
	fi
done
echo "1..$n"
exit $bad
