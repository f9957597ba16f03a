#!/bin/sh
# Unpacks Debian packages without installing them: another release's kernel for a guest, another architecture's library for
# a cross build. Only apt is asked, in a state of its own beside the machine's, at the mirror that this machine's apt uses.
# usage: tools/debs.sh SUITE[:ARCH] PACKAGE...
# A PACKAGE may be "A>B": the package that A depends on and whose name begins with B (a meta package's kernel).
# Prints the directory that they are unpacked in; exits 1, saying why, where they cannot be had.
set -eu
export LC_ALL=C
suite=${1%%:*}
arch=
case $1 in *:*) arch=${1#*:} ;; esac
shift
place=${CCBOX_DEBS:-/var/tmp/ccbox-debs-$(id -u)}/$suite${arch:+-$arch}
command -v apt-get >/dev/null || { echo "debs.sh: no apt-get on this machine" >&2; exit 1; }
mkdir -p "$place/lists/partial" "$place/cache/archives/partial" "$place/root" "$place/done"
# two tests at once want the same files
exec 9>"$place/lock"
flock 9
key() { printf '%s' "$1" | tr -c 'A-Za-z0-9.+-' _; }
todo=
for want; do [ -e "$place/done/$(key "$want")" ] || todo="$todo $want"; done
[ -n "$todo" ] || { echo "$place/root"; exit 0; }

# what this machine's apt would ask for its own packages of Debian itself, without the release's name
mirror=$(apt-get indextargets --format '$(REPO_URI)' 'Identifier: Packages' 'Origin: Debian' | head -n 1)
[ -n "$mirror" ] || { echo "debs.sh: this machine's apt has no Debian mirror" >&2; exit 1; }
: >"$place/status"
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite main" >"$place/sources.list"
own() { # an apt program, with the state of its own
	program=$1
	shift
	"$program" -q -o Dir::Etc::SourceList="$place/sources.list" -o Dir::Etc::SourceParts=/dev/null \
		-o Dir::State::Lists="$place/lists" -o Dir::Cache="$place/cache" -o Dir::State::status="$place/status" \
		-o APT::Sandbox::User=root -o Acquire::Languages=none ${arch:+-o APT::Architecture="$arch" -o APT::Architectures="$arch"} "$@"
}
own apt-get update >"$place/log" 2>&1 || { tail -n 3 "$place/log" >&2; exit 1; }
cd "$place/cache"
for want in $todo; do
	name=${want%%>*}
	if [ "$name" != "$want" ]; then
		prefix=${want#*>}
		name=$(own apt-cache depends "$name" 2>/dev/null | sed -n "s/.*Depends: \($prefix.*\)/\1/p" | head -n 1)
	fi
	[ -n "$name" ] || { echo "debs.sh: $suite has no $want" >&2; exit 1; }
	own apt-get download "$name" >"$place/log" 2>&1 || { tail -n 3 "$place/log" >&2; exit 1; }
	dpkg-deb -x "$(ls -t "$name"_*.deb | head -n 1)" "$place/root"
	rm -f "$name"_*.deb
	touch "$place/done/$(key "$want")"
done
echo "$place/root"
