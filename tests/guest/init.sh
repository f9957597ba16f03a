#!/bin/busybox sh
# shellcheck shell=dash
# /init of the guest: loads the modules in order, goes to the root disk, runs the tests, powers off. Console messages go to
# the first serial line; what the tests print to the second.
b=/bin/busybox
$b mkdir -p /proc /sys /dev /new
$b mount -t proc proc /proc
$b mount -t sysfs sysfs /sys
$b mount -t devtmpfs dev /dev
for module in $($b cat /modules/order); do $b insmod "/modules/$module" || echo "init: no $module"; done
for _ in 1 2 3 4 5 6 7 8 9 10; do [ -b /dev/vda ] && break; $b sleep 0.2; done
$b mount -t ext4 /dev/vda /new || echo "init: no root disk"
for dir in proc sys dev; do $b mount --move /$dir /new/$dir; done
$b mount -t tmpfs tmpfs /new/tmp -o mode=1777
$b mount -t tmpfs tmpfs /new/run -o mode=755
exec $b switch_root /new /bin/sh -c '
	mkdir -p /dev/pts /dev/shm
	mount -t devpts devpts /dev/pts -o ptmxmode=0666
	mount -t tmpfs tmpfs /dev/shm -o mode=1777
	chmod 1777 /tmp
	stty -F /dev/ttyS1 raw 2>/dev/null || busybox stty -F /dev/ttyS1 raw
	PATH=/usr/bin HOME=/root LC_ALL=C.UTF-8 sh /opt/ccbox/tests/inside.sh $(sed "s/.*tests=\\([^ ]*\\).*/\\1/" /proc/cmdline) \
		>/dev/ttyS1 2>&1 </dev/null
	busybox poweroff -f'
