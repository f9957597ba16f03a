#!/bin/sh
# Installs what is missing, and says so. Usage: tools/deps.sh run|check|long
# Each line: what shows that the package is there (a command, a file, or a name that probe() knows), and the package. Where
# releases differ, both sides list what would do, the best first: Debian 13 has no clang 14.
set -eu
run='bwrap:bubblewrap cc:gcc meson:meson ninja:ninja-build pkg-config:pkg-config /usr/include/stdio.h:libc6-dev
/usr/include/uv.h:libuv1-dev /usr/include/libwebsockets.h:libwebsockets-dev evlib-uv:libwebsockets-evlib-uv|libwebsockets-dev
/usr/include/sqlite3.h:libsqlite3-dev /usr/include/zlib.h:zlib1g-dev libcurl:libcurl4-openssl-dev /usr/include/openssl/evp.h:libssl-dev'
check='musl-gcc:musl-tools bats:bats /usr/include/cmocka.h:libcmocka-dev git:git curl:curl python3:python3
/etc/ssl/certs/ca-certificates.crt:ca-certificates python3-venv:python3-venv jsonschema:python3-jsonschema clang-format-14|clang-format:clang-format-14|clang-format
clang-tidy-14|clang-tidy:clang-tidy-14|clang-tidy mandoc:mandoc shellcheck:shellcheck setpriv:util-linux ssh:openssh-client
/usr/sbin/sshd:openssh-server node:nodejs npm:npm make:make strace:strace pgrep:procps patch:patch file:file xz:xz-utils
script:bsdutils zsh:zsh fish:fish wget:wget openssl:openssl socat:socat http-parser:libhttp-parser-dev
/lib/systemd/systemd:systemd ip:iproute2'
long='clang-14|clang:clang-14|clang fuzzer:libclang-rt-14-dev|libclang-rt-dev chromium:chromium
qemu-system-x86_64:qemu-system-x86 busybox:busybox-static cpio:cpio /usr/sbin/modprobe:kmod /usr/sbin/mke2fs:e2fsprogs
/usr/sbin/mkfs.btrfs:btrfs-progs /usr/sbin/mkfs.xfs:xfsprogs /usr/sbin/mkfs.vfat:dosfstools
/usr/sbin/mkfs.exfat:exfatprogs /usr/sbin/mkfs.ntfs:ntfs-3g
aarch64-linux-gnu-gcc:gcc-aarch64-linux-gnu /usr/aarch64-linux-gnu/include/stdio.h:libc6-dev-arm64-cross
qemu-aarch64-static|qemu-aarch64:qemu-user-static|qemu-user'
case ${1:-run} in
run) want=$run ;;
check) want="$run $check" ;;
long) want="$run $check $long" ;;
*) echo "usage: tools/deps.sh run|check|long" >&2; exit 2 ;;
esac

probe() { # is it there?
	case $1 in
	/*) [ -e "$1" ] ;;
	http-parser) # later releases do without it, and so do we then
		[ -e /usr/include/http_parser.h ] || ! apt-cache show libhttp-parser-dev >/dev/null 2>&1
		;;
	jsonschema) # of the python3 in PATH, or of the system's
		python3 -c 'import jsonschema' 2>/dev/null || /usr/bin/python3 -c 'import jsonschema' 2>/dev/null
		;;
	evlib-uv) # the loop of libwebsockets is a plugin of its own
		ls /usr/lib/*/libwebsockets-evlib_uv.so >/dev/null 2>&1
		;;
	libcurl) pkg-config --exists libcurl 2>/dev/null ;;
	python3-venv) python3 -c 'import ensurepip' 2>/dev/null ;;
	fuzzer)
		for cc in clang-14 clang; do
			command -v "$cc" >/dev/null 2>&1 || continue
			echo 'int LLVMFuzzerTestOneInput(const char *d, unsigned long n) { (void)d; return n == 7; }' |
				"$cc" -fsanitize=fuzzer,address -x c - -o /dev/null 2>/dev/null && return 0
		done
		return 1
		;;
	*'|'*)
		for one in $(echo "$1" | tr '|' ' '); do
			command -v "$one" >/dev/null 2>&1 && return 0
		done
		return 1
		;;
	*) command -v "$1" >/dev/null 2>&1 ;;
	esac
}

missing() {
	for pair in $want; do
		probe "${pair%%:*}" || printf ' %s' "${pair##*:}"
	done
}

choose() { # of each A|B the first that this release has; nothing where it has none
	for package; do
		for one in $(echo "$package" | tr '|' ' '); do
			apt-cache show "$one" >/dev/null 2>&1 && { printf ' %s' "$one"; break; }
		done
	done
}

missing=$(missing)
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
get() { # DEBIAN_FRONTEND has to be said to the program: sudo drops it
	# shellcheck disable=SC2046,SC2086
	$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $(choose $missing)
}
# Lists of packages may be missing or old: where it does not work with these, it has to work with new ones.
log=$(mktemp)
trap 'rm -f "$log"' EXIT
get >"$log" 2>&1 && missing=$(missing)
if [ -n "$missing" ]; then
	$sudo apt-get update -qq >"$log" 2>&1 && get >>"$log" 2>&1 || { cat "$log" >&2; exit 1; }
	missing=$(missing)
fi
if [ -n "$missing" ]; then
	echo "ccbox: still missing after the installation:$missing" >&2
	exit 1
fi
