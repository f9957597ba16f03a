#!/bin/sh
# What runs in the guest, as root: TAP lines, with "== NAME" before those of one program.
# usage: inside.sh SECTION[,SECTION]...      each section is a function below
cd /opt/ccbox/tests || exit 1
ccbox=/opt/ccbox/ccbox
init=/opt/ccbox/cc-init
twin=/opt/ccbox/cc-init-twin
# emulated, beside whatever else the machine does
export PATIENCE=4
as_user="setpriv --reuid=1000 --regid=1000 --clear-groups env HOME=/home/ann"
chown 1000:1000 /home/ann
# what the kernel has to say of a new process of another ABI is no test's
echo 0 >/proc/sys/kernel/print-fatal-signals 2>/dev/null

run() { # NAME COMMAND...: a program that speaks TAP
	echo "== $1"
	shift
	timeout 300 "$@"
	code=$?
	if [ $code = 0 ]; then echo "ok - ends well"; else echo "not ok - ends well (exit $code)"; fi
}
both() { # NAME COMMAND...: as root and as an ordinary user
	name=$1
	shift
	run "$name" "$@"
	# shellcheck disable=SC2086
	run "$name, user" $as_user "$@"
}
attack() { # how to run it, NAME, options of the driver and a program
	how=$1 name=$2
	shift 2
	$how "$name" ./attack-driver --init $init "$@"
}
without() { # NAME, what is off, the rest: without the protection the attack escapes on this kernel too
	name=$1 off=$2
	shift 2
	# shellcheck disable=SC2046
	run "twin $off $name" ./attack-driver --init $twin $(echo ",$off" | sed 's/,/ --off /g') "$@"
}
place() { # FILE SYSTEM, options of mount: what lies at /var/tmp from here on
	echo "== $1"
	shift
	busybox umount -l /var/tmp 2>/dev/null
	if mount "$@" /var/tmp && { chmod 1777 /var/tmp || [ "$3" = -o ]; }; then
		echo "ok - mounted"
	else
		echo "not ok - mounted"
		return 1
	fi
}
# a function, or a program with a limit
timed() { if type "$1" 2>/dev/null | grep -q function; then "$@"; else timeout 100 "$@"; fi; }
says() { # LABEL, status, a text that is said, COMMAND...: with nothing started
	label=$1 status=$2 text=$3
	shift 3
	# the doctor's proof has two seconds, which are short here
	for _ in 1 2 3 4 5; do
		rm -f started
		timed "$@" >/tmp/said 2>&1
		got=$?
		grep -q 'did not come to its end in 2 seconds' /tmp/said || break
	done
	if [ $got = "$status" ] && { [ -z "$text" ] || grep -qF -- "$text" /tmp/said; } && [ ! -e started ]; then
		echo "ok - $label"
	else
		echo "not ok - $label"
		echo "exit $got, wanted $status and \"$text\""
		cat /tmp/said
	fi
}

# shellcheck source=tests/guest/limits.sh
. ./limits.sh
attacks() {
	for family in names links meta sock sys; do attack both $family ./attack-$family; done
	attack both tricks ./attack-tricks 200
	attack both trunc ./attack-trunc 600
	attack both race ./attack-race 300
	attack both reads --read-deny kept.txt ./attack-reads
	attack both grant --grant host.sock ./attack-grant
	attack both git --host /opt/ccbox/tests/git-host.sh ./git-inside.sh
	for mode in all init-dies mount-goes; do both "session $mode" ./init-session $init $mode; done
}
twins() {
	for family in names links meta; do without $family gate,floor ./attack-$family; done
	for family in sys sock; do without $family filter,floor ./attack-$family; done
}
held() { # FILE SYSTEM: the attacks that work with names, on what was placed
	for family in names links meta; do attack run "$1 $family" ./attack-$family; done
	attack run "$1 trunc" ./attack-trunc 300
	attack both "$1 names" ./attack-names
}
filesystems() {
	place ext4 -t ext4 /dev/vdb && held ext4
	place xfs -t xfs /dev/vde && held xfs
	place tmpfs -t tmpfs -o size=64m tmpfs && held tmpfs
	mkdir -p /tmp/over && mount -t tmpfs tmpfs /tmp/over && mkdir -p /tmp/over/low /tmp/over/up /tmp/over/work
	place overlay -t overlay -o lowerdir=/tmp/over/low,upperdir=/tmp/over/up,workdir=/tmp/over/work overlay && held overlay
	place btrfs -t btrfs /dev/vdd && held btrfs && attack both "btrfs subvolumes" ./attack-subvol &&
		without subvolumes filter ./attack-subvol
	place 9p -t 9p -o trans=virtio,version=9p2000.L,access=any host && attack run "9p names" ./attack-names
}
folding() {
	place casefold -t ext4 /dev/vdc || return
	rmdir /var/tmp/lost+found
	chattr +F /var/tmp || echo "not ok - chattr +F"
	attack both "casefold fold" ./attack-fold
	# with the names of the tree forgotten, the kernel keeps the spelling that the attack uses first
	attack run "casefold fold, cold" --cold ./attack-fold
	attack both "casefold fold, reads" --read-deny kept.txt ./attack-fold reads
	attack run "casefold fold, reads, cold" --cold --read-deny kept.txt ./attack-fold reads
	without "casefold reads" gate --read-deny kept.txt ./attack-fold reads
	without "casefold fold" gate,floor ./attack-fold
	attack run "casefold links" ./attack-links
	echo "== casefold explain"
	cd /var/tmp || return
	says "another spelling is refused" 1 "name:folded" $ccbox explain create "$(printf 'id.\342\204\252ey')"
	says "an ASCII name is not" 0 "allowed" $ccbox explain create fine.txt
	cd /opt/ccbox/tests || exit 1
}
refused_file_systems() {
	for fs in vfat:vdf exfat:vdg ntfs3:vdh; do
		name=${fs%:*}
		grep -qw "$name" /proc/filesystems || { echo "# this kernel has no $name"; continue; }
		place "$name" -t "$name" -o umask=0 "/dev/${fs#*:}" || continue
		mkdir -p /var/tmp/work && cd /var/tmp/work || return
		says "refused, with what to do" 125 "rules about names cannot be held there; work on a copy, or bind it read-only" \
			$ccbox run --quiet -- touch started
		says "explain says the same" 1 "mount:refused" $ccbox explain create fine.txt
		says "read-only: the command runs" 0 "seen" $ccbox run --quiet --bind "$PWD:ro" -- echo seen
		cd /opt/ccbox/tests || exit 1
		busybox umount -l /var/tmp
	done
}
other_abis() {
	attack both "i386" ./attack-abi /usr/lib/other-abi-32 killed
	attack both "x32" ./attack-abi /usr/lib/other-abi-x32
	without i386 filter,floor ./attack-abi /usr/lib/other-abi-32
	without x32 filter,floor ./attack-abi /usr/lib/other-abi-x32
}
yama() {
	for scope in 1 2; do
		echo $scope >/proc/sys/kernel/yama/ptrace_scope
		attack both "yama $scope names" ./attack-names
		attack both "yama $scope sock" ./attack-sock
		attack both "yama $scope sys" ./attack-sys
		echo "== yama $scope"
		says "doctor proves it" 0 "holds every rule" $ccbox doctor
	done
}
# The product as a person uses it, whole, as an ordinary user.
daily() {
	echo "== daily"
	here=$(mktemp -d /home/ann/daily.XXXXXX) && chown 1000:1000 "$here" && cd "$here" || return
	says "git works" 0 "made inside" $as_user $ccbox run --quiet -- sh -c 'git init -q . && echo x >f && git add f &&
		git -c user.name=a -c user.email=a@b commit -qm "made inside" && git log --format=%s'
	says "git outside sees it" 0 "made inside" $as_user git -C "$here" log --format=%s
	says "a forbidden name is refused and told" 2 "refused file-write-create" $as_user $ccbox run -- sh -c 'echo x >.env'
	says "and was not made" 1 "" $as_user test -e "$here/.env"
	says "so is a hook" 2 "refused file-write-create" $as_user $ccbox run -- sh -c 'mkdir -p .git/hooks; echo x >.git/hooks/post-commit'
	says "a forbidden host too" 0 "network-outbound" $as_user $ccbox run -- sh -c \
		'/run/ccbox/cc-connect forbidden.example 443 </dev/null; sleep 1; exit 0'
	says "a program that was just written runs" 0 "hello" $as_user $ccbox run --quiet -- sh -c 'cp /bin/echo e && ./e hello'
	says "the exit code is the command's" 7 "" $as_user $ccbox run --quiet -- sh -c 'exit 7'
	cd /opt/ccbox/tests || exit 1
}
# no return from 3: the last section of a guest
yama_closed() {
	echo 3 >/proc/sys/kernel/yama/ptrace_scope
	echo "== yama 3"
	says "doctor names the switch" 1 "sysctl kernel.yama.ptrace_scope=2" $ccbox doctor
	says "run refuses" 125 "the memory of a process inside cannot be read" $ccbox run --quiet -- touch started
}
# A Windows drive of WSL2 is a 9p mount that says so in its options; QEMU's server does not mind the word (simulated).
drvfs() {
	place drvfs -t 9p -o trans=virtio,version=9p2000.L,access=any,aname=drvfs host || return
	mkdir -p /var/tmp/work && cd /var/tmp/work || return
	says "doctor says what it is" 0 "it is on a Windows drive (drvfs of WSL2)" $ccbox doctor
	says "run refuses, with what to do" 125 "work below the Linux home directory, or bind it read-only" \
		$ccbox run --quiet -- touch started
	says "read-only: the command runs" 0 "seen" $ccbox run --quiet --bind "$PWD:ro" -- echo seen
	cd /opt/ccbox/tests || exit 1
	busybox umount -l /var/tmp
}
# What containers and switches forbid, as an ordinary user who cannot know why.
refusals() {
	echo "== refusals"
	here=$(mktemp -d /home/ann/refused.XXXXXX) && chown 1000:1000 "$here" && cd "$here" || return
	for call in "438 1 pidfd_getfd" "444 38 Landlock" "317 22 WAIT_KILLABLE"; do
		# shellcheck disable=SC2086
		set -- $call
		says "no $3 (simulated): run refuses" 125 "$3" $as_user /opt/ccbox/tests/deny-syscall "$1" "$2" \
			"$([ "$1" = 317 ] && echo 32 || echo 0)" $ccbox run -- touch started
	done
	echo 0 >/proc/sys/user/max_user_namespaces
	says "no user namespaces: run refuses" 125 "user namespaces are used up or switched off" $as_user $ccbox run -- touch started
	says "no user namespaces: doctor says what to do" 1 "sysctl user.max_user_namespaces" $as_user $ccbox doctor
	echo 3000 >/proc/sys/user/max_user_namespaces
	if [ -e /proc/sys/kernel/unprivileged_userns_clone ]; then
		echo 0 >/proc/sys/kernel/unprivileged_userns_clone
		says "Debian's own switch: run refuses" 125 "unprivileged_userns_clone=1" $as_user $ccbox run -- touch started
		says "Debian's own switch: doctor says what to do" 1 "kernel.unprivileged_userns_clone=1" $as_user $ccbox doctor
		echo 1 >/proc/sys/kernel/unprivileged_userns_clone
	fi
	says "and all is well again" 0 "holds every rule" $as_user $ccbox doctor
	cd /opt/ccbox/tests || exit 1
}
# A host whose AppArmor keeps user namespaces from programs. Ubuntu does that to what has no profile; this kernel does it to
# what has one without the permission, so the person's shell gets such a profile (simulated). The profile that we ship is real.
apparmor() {
	echo "== apparmor"
	[ -x /opt/apparmor/apparmor_parser ] || { echo "# no parser in the image"; return; }
	mount -t securityfs securityfs /sys/kernel/security
	load() { /opt/apparmor/ld-linux-x86-64.so.2 --library-path /opt/apparmor /opt/apparmor/apparmor_parser -K -r -b /opt/apparmor/etc "$@"; }
	everything="file, capability, network, mount, remount, umount, pivot_root, ptrace, signal, unix, mqueue, io_uring,"
	printf 'abi <abi/4.0>,\nprofile restricted /opt/restricted/sh {\n%s\n}\n' "$everything" >/tmp/restricted
	says "the stand-in for the restriction is loaded" 0 "" load /tmp/restricted
	restricted="$as_user /opt/restricted/sh -c"
	says "without our profile the doctor says what is wrong" 1 "install the AppArmor profile shipped in" $restricted '/usr/local/bin/ccbox doctor'
	mkdir -p /home/ann/confined && chown 1000:1000 /home/ann/confined && cd /home/ann/confined || return
	says "and run refuses and says it" 125 "install the AppArmor profile shipped in" $restricted 'exec /usr/local/bin/ccbox run -- touch started'
	says "our profile is loaded" 0 "" load /opt/apparmor/ccbox
	# a program with a profile of its own enters it from a shell without one; from this one it has to be said
	printf 'abi <abi/4.0>,\nprofile restricted /opt/restricted/sh {\n%s\n/usr/local/bin/ccbox px -> ccbox,\n}\n' "$everything" >/tmp/restricted
	says "the shell may start it in its profile" 0 "" load /tmp/restricted
	says "with it every rule is held" 0 "holds every rule" $restricted '/usr/local/bin/ccbox doctor'
	says "and a forbidden name is refused" 2 "refused file-write-create" $restricted "/usr/local/bin/ccbox run -- sh -c 'echo x >.env'"
	says "nobody else has user namespaces from it" 1 "" $restricted 'unshare -U true'
	cd /opt/ccbox/tests || exit 1
}
# A kernel older than the rules need.
old_kernel() {
	echo "== old kernel"
	cd /tmp || return
	says "doctor says which version it needs" 1 "Linux 5.19 or later" $ccbox doctor
	says "run refuses, as root" 125 "too old: the name rules need 5.19 or later" $ccbox run -- touch started
	says "run refuses, as an ordinary user" 125 "too old: the name rules need 5.19 or later" $as_user $ccbox run --bind /home/ann -- touch started
	cd /opt/ccbox/tests || exit 1
}

for section in $(echo "$1" | tr , ' '); do $section; done
busybox umount -l /var/tmp 2>/dev/null
echo "the guest is done"
