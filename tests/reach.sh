#!/bin/sh
# Runs a program as an ordinary user. The program and every file among its arguments are copied to a directory that the user
# can reach, since a checkout may lie below one that only root may enter.
# usage: reach.sh PROGRAM [ARG]...
set -eu
place=$(mktemp -d /tmp/ccbox-reach.XXXXXX)
trap 'rm -rf "$place"' EXIT
for arg; do
	shift
	if [ -f "$arg" ]; then # meson names its own programs from the build directory, where this starts
		cp "$arg" "$place/"
		arg=$place/${arg##*/}
	fi
	set -- "$@" "$arg"
done
chmod -R a+rX "$place"
cd "$place"
setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
