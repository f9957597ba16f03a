#!/bin/sh
# Boots one kernel under emulation, runs inside.sh in it, and relays what it said as one TAP stream. No network, no KVM: what
# runs on it is only tests. A kernel or QEMU that cannot be had is a skip with its reason (tests/skips.txt).
# usage: guest.sh BUILD SOURCE SUITE TESTS      SUITE: a Debian release, whose kernel is taken; TESTS: an argument for inside.sh
set -eu
build=$(realpath "$1") source=$(realpath "$2") suite=$3 tests=$4
skip() { printf '1..0 # SKIP %s\n' "$1"; exit 0; }
bail() { printf 'Bail out! %s\n' "$1"; exit 1; }
PATH=$PATH:/usr/sbin:/sbin
for tool in qemu-system-x86_64 busybox cpio modprobe depmod xz mke2fs mkfs.btrfs mkfs.xfs mkfs.vfat mkfs.exfat mkfs.ntfs; do
	command -v "$tool" >/dev/null || skip "no $tool here"
done
reason=$(mktemp)
place=$(mktemp -d /var/tmp/ccbox-guest.XXXXXX)
trap 'rm -rf "$place" "$reason"' EXIT
kernel=$("$source/tools/debs.sh" "$suite" 'linux-image-amd64>linux-image-' 2>"$reason") || skip "$suite has no kernel for us: $(tail -n 1 "$reason")"
image=$(ls "$kernel"/boot/vmlinuz-*)
version=${image##*/vmlinuz-}

# one set of disks for all kernels, made again when what goes into it changed
disks=$build/guest
mkdir -p "$disks"
exec 9>"$disks/lock"
flock 9
stamp=$(cat "$build"/cc* "$build"/tests/attack/attack-* "$source"/tests/guest/* "$source"/tests/attack/git-*.sh 2>/dev/null | sha256sum)
if [ "$(cat "$disks/stamp" 2>/dev/null)" != "$stamp" ]; then
	rm -f "$disks/stamp"
	sh "$source/tests/guest/image.sh" "$build" "$source" "$disks" >"$disks/log" 2>&1 || bail "image.sh: $(tail -n 1 "$disks/log")"
	rm -rf "$disks/root"
	echo "$stamp" >"$disks/stamp"
fi
flock -u 9

# the first file system in memory: busybox and the modules, in the order in which they can be loaded
mkdir -p "$place/cpio/bin" "$place/cpio/modules" "$place/modules/lib"
cp "$(command -v busybox)" "$place/cpio/bin/busybox"
cp "$source/tests/guest/init.sh" "$place/cpio/init"
chmod 755 "$place/cpio/init"
ln -s "$kernel/lib/modules" "$place/modules/lib/modules"
[ -e "$kernel/lib/modules/$version/modules.dep.bin" ] || depmod -b "$place/modules" "$version"
for module in virtio_pci virtio_blk crc32c_generic ext4 btrfs xfs vfat nls_cp437 nls_ascii nls_utf8 exfat ntfs3 overlay loop 9pnet_virtio 9p; do
	modprobe -d "$place/modules" -S "$version" --show-depends "$module" 2>/dev/null || true
done | sed -n 's/^insmod \([^ ]*\).*/\1/p' | awk '!seen[$0]++' | while read -r path; do
	name=${path##*/}
	case $name in
	*.xz) xz -dc "$path" >"$place/cpio/modules/${name%.xz}" ;;
	*) cp "$path" "$place/cpio/modules/$name" ;;
	esac
	echo "${name%.xz}" >>"$place/cpio/modules/order"
done
(cd "$place/cpio" && find . | cpio -o -H newc --quiet -R 0:0) >"$place/initrd"
mkdir "$place/shared"
chmod 777 "$place/shared"

drives=
for name in root ext4 fold btrfs xfs vfat exfat ntfs; do
	drives="$drives -drive if=virtio,format=raw,snapshot=on,file=$disks/$name.img"
done
boot() {
	rm -f "$place/tap" "$place/console"
	# shellcheck disable=SC2086
	TMPDIR=$place timeout 1000 qemu-system-x86_64 -nodefaults -no-user-config -display none -no-reboot -M q35 -accel tcg,thread=multi -cpu max \
		-smp 2 -m 1024 -nic none -kernel "$image" -initrd "$place/initrd" $drives \
		-fsdev "local,id=host,path=$place/shared,security_model=mapped-xattr" -device virtio-9p-pci,fsdev=host,mount_tag=host \
		-chardev "file,id=console,path=$place/console" -serial chardev:console -chardev "file,id=tap,path=$place/tap" -serial chardev:tap \
		-append "console=ttyS0 quiet panic=-1 tsc_early_khz=2000000 no_timer_check syscall.x32=y tests=$tests" >"$place/qemu" 2>&1 9>&- || true
}
boot
# The emulator itself fails at times (a wrong page fault in a 16 byte compare and exchange of a two processor guest was seen), and
# the kernel in it dies of that. A kernel that we bring down does so again.
if grep -q 'Kernel panic' "$place/console" 2>/dev/null && ! grep -q '^the guest is done' "$place/tap"; then
	echo "# $version panicked after $(grep -c '^ok\|^not ok' "$place/tap" || true) lines: once more"
	grep -m 3 'RIP:\|Kernel panic' "$place/console" | sed 's/^/# /'
	boot
fi

echo "# $version, $(grep -c '^ok\|^not ok' "$place/tap" 2>/dev/null || true) lines"
tr -d '\r' <"$place/tap" 2>/dev/null | awk '
	/^== / { about = substr($0, 4) ": "; next }
	/^(ok|not ok) / {
		good = $1 == "ok"; sub(/^(not )?ok *[0-9]* *(- )?/, "")
		printf "%sok %d - %s%s\n", good ? "" : "not ", ++n, about, $0
		bad += !good; next
	}
	/^the guest is done$/ { done = 1; next }
	/^1\.\./ { next }
	{ print "# " $0 }
	END {
		printf "%sok %d - the guest ran to its end\n", done ? "" : "not ", ++n
		printf "1..%d\n", n
		exit bad || !done
	}' || { tail -n 30 "$place/console" "$place/qemu" | sed 's/^/# /'; exit 1; }
