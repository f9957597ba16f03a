#!/bin/sh
# Runs a bats file with protections switched off in the twin, as whoever runs the tests: each test that escapes.txt lists for
# it must fail now. TAP.
# usage: escapes.sh BUILD SOURCE OFF FILE
set -eu
build=$1 source=$2 off=$3 file=$4
log=$(mktemp)
trap 'rm -f "$log"' EXIT
who=user
[ "$(id -u)" != 0 ] || who=root
CCBOX_BINARY=ccbox-twin CCBOX_TWIN_OFF=$off "$source/tests/as-user.sh" $who "$build" "$source" "$file.bats" >"$log" 2>&1 || true
number=0 failed=0
while IFS= read -r name; do
	number=$((number + 1))
	if sed -n 's/^not ok [0-9]* //p' "$log" | grep -qxF -- "$name"; then
		echo "ok $number - without $off it escapes: $name"
	else
		echo "not ok $number - without $off it still passes: $name"
		failed=1
	fi
done <<EOF
$(sed -n "s/^$off | $file | //p" "$source/tests/integration/escapes.txt")
EOF
echo "1..$number"
exit $failed
