#!/bin/sh
# The guest's disks: a root file system of this machine's own programs (no download, no network in it), and an empty disk for
# each file system that the tests use as a bind. Needs no privilege.
# usage: image.sh BUILD SOURCE DIR      made once for all kernels; DIR gets root.img and one for each file system
set -eu
build=$1 source=$2 out=$3
root=$out/root
rm -rf "$root"
mkdir -p "$root/usr/bin" "$root/usr/lib" "$root/usr/lib64" "$root/usr/sbin" "$root/usr/share" "$root/etc" "$root/proc" "$root/sys" \
	"$root/dev" "$root/tmp" "$root/run" "$root/var/tmp" "$root/root" "$root/home/ann" "$root/mnt" "$root/opt/ccbox/tests"
for name in bin sbin lib lib64; do ln -s usr/$name "$root/$name"; done
ln -s bin "$root/usr/libexec-none" && rm "$root/usr/libexec-none"
ln -s ../run "$root/var/run"
chmod 1777 "$root/tmp" "$root/var/tmp"

libraries() { # of a program, to the same place in the guest
	for lib in $(ldd "$1" 2>/dev/null | grep -o '/[^ ]*'); do
		to=$root/usr/${lib#/usr/}
		case $lib in /lib*) to=$root/usr$lib ;; esac
		[ -e "$to" ] || { mkdir -p "${to%/*}"; cp -L "$lib" "$to"; }
	done
}
program() { # NAME...: the one that this machine would run; a missing one is a missing package
	for name; do
		path=$(PATH=/usr/sbin:/usr/bin:/sbin:/bin which "$name") || { echo "image.sh: no $name on this machine" >&2; exit 1; }
		cp -L "$path" "$root/usr/bin/$name"
		libraries "$path"
	done
}
program bwrap git dash bash setpriv mount umount chattr lsattr grep sed find tar
program cat echo ls mkdir rmdir rm cp mv ln chmod chown touch sleep seq stat env id dd truncate mktemp head tail sort uniq wc tr cut uname true \
	false readlink realpath dirname basename tee sync date timeout printf test expr nproc sha256sum od install cmp diff xargs \
	unshare setsid kill mknod mkfifo stty tty nice fold comm nl
ln -s dash "$root/usr/bin/sh"
cp -a "$(PATH=/usr/sbin:/usr/bin command -v busybox)" "$root/usr/bin/busybox"
mkdir -p "$root/usr/lib/git-core"
cp -a "$(git --exec-path)/." "$root/usr/lib/git-core/"
# getpwnam of an ordinary user, and names without a network
printf 'root:x:0:0::/root:/bin/sh\nann:x:1000:1000::/home/ann:/bin/sh\nnobody:x:65534:65534::/nonexistent:/bin/false\n' >"$root/etc/passwd"
printf 'root:x:0:\nann:x:1000:\nnogroup:x:65534:\n' >"$root/etc/group"
printf 'passwd: files\ngroup: files\nhosts: files\n' >"$root/etc/nsswitch.conf"
printf '127.0.0.1 localhost\n' >"$root/etc/hosts"
: >"$root/etc/resolv.conf"

# all of ours: one that a program looks for when it starts would be missed only in here
for path in "$build"/ccbox "$build"/ccbox-twin "$build"/cc_server "$build"/cc-*; do
	[ -f "$path" ] && [ -x "$path" ] || continue
	cp "$path" "$root/opt/ccbox/"
	libraries "$path"
done
# the loop of libwebsockets is a library that it loads by itself
for lib in "$(ldd "$build/cc_server" | sed -n 's|.*=> \(.*\)/libwebsockets\.so.*|\1|p')"/libwebsockets-evlib_uv*.so; do
	case $lib in /usr/*) to=$root$lib ;; *) to=$root/usr$lib ;; esac
	mkdir -p "${to%/*}" && cp -L "$lib" "$to"
	libraries "$lib"
done
for name in "$build"/tests/attack/attack-* "$build/tests/attack/init-session" "$build/tests/integration/deny-syscall"; do
	[ -x "$name" ] && [ -f "$name" ] || continue
	cp "$name" "$root/opt/ccbox/tests/"
	libraries "$name"
done
cp "$source"/tests/attack/git-*.sh "$source"/tests/guest/inside.sh "$source"/tests/guest/limits.sh "$root/opt/ccbox/tests/"
# Programs of the other two ABIs that an x86-64 kernel may run: a compiler is enough, there is no library in them.
for abi in 32 x32; do
	"${CC:-cc}" -m$abi -O1 -nostdlib -static -ffreestanding -fno-pic -fno-pie -no-pie -fno-stack-protector -fcf-protection=none \
		-o "$root/usr/lib/other-abi-$abi" "$source/tests/guest/other_abi.c"
done
# AppArmor's parser knows rules about user namespaces from Debian 13 on: it comes with that release's C library.
if aa=$("$source/tools/debs.sh" trixie apparmor libc6); then
	mkdir -p "$root/opt/apparmor/etc" "$root/usr/local/bin" "$root/usr/local/libexec/ccbox" "$root/opt/restricted"
	cp -L "$aa/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2" "$aa/usr/lib/x86_64-linux-gnu/libc.so.6" \
		"$aa/usr/sbin/apparmor_parser" "$root/opt/apparmor/"
	cp -r "$aa/etc/apparmor.d/abi" "$aa/etc/apparmor.d/tunables" "$root/opt/apparmor/etc/"
	cp "$source/share/apparmor/ccbox" "$root/opt/apparmor/"
	# installed, because the profile is for the installed program
	cp "$build/ccbox" "$root/usr/local/bin/"
	cp "$build/cc-init" "$build/cc-proxy" "$build/cc-connect" "$root/usr/local/libexec/ccbox/"
	cp "$root/usr/bin/dash" "$root/opt/restricted/sh"
fi
chmod -R a+rX "$root"

disk() { # NAME SIZE PROGRAM [ARG]...: an empty disk, formatted
	name=$1 size=$2
	shift 2
	rm -f "$out/$name.img"
	truncate -s "$size" "$out/$name.img"
	PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@" "$out/$name.img" >"$out/$name.log" 2>&1 || { cat "$out/$name.log" >&2; exit 1; }
}
disk root 600M mke2fs -q -F -t ext4 -O ^metadata_csum -E root_owner=0:0 -d "$root"
disk ext4 64M mke2fs -q -F -t ext4
disk fold 64M mke2fs -q -F -t ext4 -O casefold -E encoding=utf8
disk btrfs 160M mkfs.btrfs -q -f
disk xfs 320M mkfs.xfs -q -f
disk vfat 32M mkfs.vfat
disk exfat 32M mkfs.exfat
disk ntfs 32M mkfs.ntfs -F -q
