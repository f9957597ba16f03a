#include "plan/filesystems.h"

#include "base/mem.h"

#include <stddef.h>
#include <string.h>

static const struct {
	uint32_t magic;
	enum cc_fs is;
} table[] = {
	{0x9fa0, CC_FS_KERNEL},     /* procfs (attacks 2) */
	{0x62656572, CC_FS_KERNEL}, /* sysfs */
	{0x6e736673, CC_FS_KERNEL}, /* nsfs */
	{0x27e0eb, CC_FS_KERNEL},   /* cgroup */
	{0x63677270, CC_FS_KERNEL}, /* cgroup2 */
	{0x1cd1, CC_FS_KERNEL},     /* devpts */
	{0x64626720, CC_FS_KERNEL}, /* debugfs */
	{0x74726163, CC_FS_KERNEL}, /* tracefs */
	{0x73636673, CC_FS_KERNEL}, /* securityfs */
	{0xcafe4a11, CC_FS_KERNEL}, /* bpf */
	/* trailing dots and spaces, 8.3 names, streams, other compositions of a letter (attacks 21) */
	{0x4d44, CC_FS_ALIASING},     /* vfat */
	{0x2011bab0, CC_FS_ALIASING}, /* exfat */
	{0x5346544e, CC_FS_ALIASING}, /* ntfs */
	{0x7366746e, CC_FS_ALIASING}, /* ntfs3 */
	{0xff534d42, CC_FS_ALIASING}, /* cifs */
	{0xfe534d42, CC_FS_ALIASING}, /* smb2 */
	{0x517b, CC_FS_ALIASING},     /* smb */
	{0x4244, CC_FS_ALIASING},     /* hfs */
	{0x482b, CC_FS_ALIASING},     /* hfs+ */
	{0xef53, CC_FS_FOLDING},      /* ext4 */
	{0xf2f52010, CC_FS_FOLDING},  /* f2fs */
	{0x01021994, CC_FS_FOLDING},  /* tmpfs */
	{0xca451a4e, CC_FS_FOLDING},  /* bcachefs */
	{0x794c7630, CC_FS_FOLDING},  /* overlay, over any of them */
};

enum cc_fs cc_fs_of(uint64_t magic, const char *line)
{
	if (strstr(line, " - 9p ") && strstr(line, "aname=drvfs"))
		return CC_FS_DRVFS;
	/* f_type is signed on some architectures: the low half is what counts */
	for (size_t i = 0; i < CC_COUNT(table); i++)
		if ((uint32_t)magic == table[i].magic)
			return table[i].is;
	return CC_FS_PLAIN;
}

const char *cc_fs_refusal(enum cc_fs fs)
{
	switch (fs) {
	case CC_FS_KERNEL:
		return "a file system of the kernel's own";
	case CC_FS_ALIASING:
		return "a file system that gives files other names too (FAT, NTFS, SMB, HFS): rules about names cannot be "
		       "held there; work on a copy, or bind it read-only";
	case CC_FS_DRVFS:
		return "a Windows drive (drvfs of WSL2), which gives files other names too: rules about names cannot be "
		       "held there; work below the Linux home directory, or bind it read-only";
	default:
		return NULL;
	}
}
