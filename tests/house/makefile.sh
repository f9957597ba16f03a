#!/bin/sh
# `make run CMD=...` hands the command on as it was written: the Makefile is run with a ccbox that prints its arguments.
# Speaks TAP. usage: makefile.sh SOURCE
set -u
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
mkdir "$dir/tools" "$dir/build"
cp "$1/Makefile" "$dir/"
printf '#!/bin/sh\n' >"$dir/tools/deps.sh"
cp "$dir/tools/deps.sh" "$dir/tools/build.sh"
printf '#!/bin/sh\nfor a; do printf "<%%s>" "$a"; done\n' >"$dir/build/ccbox"
chmod +x "$dir"/tools/*.sh "$dir/build/ccbox"
n=0
bad=0
row() { # label, CMD, want
	n=$((n + 1))
	got=$(make -s -C "$dir" run CMD="$2" 2>&1)
	if [ "$got" = "$3" ]; then
		echo "ok $n - $1"
	else
		bad=1
		echo "not ok $n - $1"
		echo "# $got"
	fi
}
row "no command is a shell" "" "<shell>"
row "plain words are the command itself, so that an agent is recognised" 'claude -p "fix the test"' '<run><--><claude><-p><fix the test>'
row "quotes inside quotes" "echo \"it's fine\"" "<run><--><echo><it's fine>"
# shellcheck disable=SC2016
row "shell syntax goes to a shell, dollars untouched" 'echo $HOME; ls | wc' '<run><--><sh><-c><echo $HOME; ls | wc>'
echo "1..$n"
exit $bad
