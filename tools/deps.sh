#!/bin/sh
# Installs what is missing, and says so. Usage: tools/deps.sh run|check|long
# Each line: a command or a file that shows that the package is there, and the package.
set -eu
run='bwrap:bubblewrap cc:gcc meson:meson ninja:ninja-build pkg-config:pkg-config /usr/include/stdio.h:libc6-dev'
check='musl-gcc:musl-tools bats:bats /usr/include/cmocka.h:libcmocka-dev git:git curl:curl python3:python3
python3-venv:/:python3-venv clang-14:clang-14 clang-format-14:clang-format-14 clang-tidy-14:clang-tidy-14 mandoc:mandoc
shellcheck:shellcheck setpriv:util-linux ssh:openssh-client /usr/sbin/sshd:openssh-server node:nodejs npm:npm
make:make strace:strace'
long='/usr/lib/llvm-14/lib/clang/14.0.6/lib/linux/libclang_rt.fuzzer-x86_64.a:libclang-rt-14-dev chromium:chromium
debootstrap:debootstrap'
case ${1:-run} in
run) want=$run ;;
check) want="$run $check" ;;
long) want="$run $check $long" ;;
*) echo "usage: tools/deps.sh run|check|long" >&2; exit 2 ;;
esac
missing=
for pair in $want; do
	probe=${pair%%:*}
	package=${pair##*:}
	case $probe in
	/*) [ -e "$probe" ] && continue ;;
	python3-venv) python3 -c 'import ensurepip' 2>/dev/null && continue ;;
	*) command -v "$probe" >/dev/null 2>&1 && continue ;;
	esac
	missing="$missing $package"
done
[ -z "$missing" ] && exit 0
echo "ccbox: installing what is missing:$missing" >&2
if ! command -v apt-get >/dev/null 2>&1; then
	echo "ccbox: no apt-get here: install these (or what your system calls them) and try again:$missing" >&2
	exit 1
fi
sudo=
if [ "$(id -u)" != 0 ]; then
	if ! command -v sudo >/dev/null 2>&1; then
		echo "ccbox: not root and no sudo: ask for these packages:$missing" >&2
		exit 1
	fi
	sudo=sudo
fi
export DEBIAN_FRONTEND=noninteractive
# shellcheck disable=SC2086
$sudo apt-get install -y -qq --no-install-recommends $missing >/dev/null 2>&1 ||
	{ $sudo apt-get update -qq && $sudo apt-get install -y -qq --no-install-recommends $missing >/dev/null; }
