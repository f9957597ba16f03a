#!/bin/sh
# The system calls that the kernel's headers on this machine know, as rows: HEADER_CALL(ABI, name, number).
# usage: calls.sh COMPILER...
set -eu
rows() { # ABI, prefix of the number, options of the compiler...
	abi=$1 bit=$2
	shift 2
	: | "$@" -E -dM -x c - | sed -n \
		-e "s/^#define __NR3264_\\([a-z0-9_]*\\) \\([0-9]*\\)\$/\\1 \\2/p" \
		-e "s/^#define __NR_\\([a-z0-9_]*\\) ${bit}\\([0-9]*\\))*\$/\\1 \\2/p" |
		sed -e 's/^fstatat /newfstatat /' | grep -v -E '^(syscalls|arch_specific_syscall) ' | sort |
		sed "s/\\([^ ]*\\) \\(.*\\)/HEADER_CALL($abi, \\1, \\2)/"
}
printf '/* made by calls.sh */\n'
rows X86_64 '' "$@" -include asm/unistd_64.h
rows X32 '(__X32_SYSCALL_BIT + ' "$@" -include asm/unistd_x32.h
rows I386 '' "$@" -include asm/unistd_32.h
# arm64 has the generic table, with what its own asm/unistd.h asks for
rows AARCH64 '' "$@" -D__BITS_PER_LONG=64 -D__ARCH_WANT_RENAMEAT -D__ARCH_WANT_NEW_STAT -D__ARCH_WANT_SET_GET_RLIMIT \
	-D__ARCH_WANT_SYS_CLONE3 -D__ARCH_WANT_MEMFD_SECRET -include asm-generic/unistd.h
