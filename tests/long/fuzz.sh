#!/bin/sh
# One libFuzzer target for some seconds, from the kept corpus; what crashes it is kept beside the build. Speaks TAP.
# usage: fuzz.sh FUZZER CORPUS SECONDS CRASHES
set -u
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
mkdir -p "$4" "$place/new"
echo 1..1
if "$1" -max_total_time="$3" -timeout=10 -rss_limit_mb=4096 -artifact_prefix="$4/$(basename "$1")-" "$place/new" "$2" >"$place/log" 2>&1; then
	tail -n 1 "$place/log" | sed 's/^/# /'
	echo "ok 1 - $(basename "$1") finds nothing"
else
	tail -n 60 "$place/log" | sed 's/^/# /'
	echo "not ok 1 - $(basename "$1") finds nothing"
fi
