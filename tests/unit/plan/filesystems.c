#include "../t.h"

#include "plan/filesystems.h"

#include <linux/magic.h>

static const struct {
	const char *label;
	uint64_t magic;
	enum cc_fs want;
} rows[] = {
	{"procfs", PROC_SUPER_MAGIC, CC_FS_KERNEL},
	{"sysfs", SYSFS_MAGIC, CC_FS_KERNEL},
	{"cgroup2", CGROUP2_SUPER_MAGIC, CC_FS_KERNEL},
	{"devpts", DEVPTS_SUPER_MAGIC, CC_FS_KERNEL},
	{"nsfs", NSFS_MAGIC, CC_FS_KERNEL},
	{"vfat", MSDOS_SUPER_MAGIC, CC_FS_ALIASING},
	{"exfat", EXFAT_SUPER_MAGIC, CC_FS_ALIASING},
	{"cifs", CIFS_SUPER_MAGIC, CC_FS_ALIASING},
	{"cifs where f_type is signed", 0xffffffff00000000u | CIFS_SUPER_MAGIC, CC_FS_ALIASING},
	{"smb2", SMB2_SUPER_MAGIC, CC_FS_ALIASING},
	{"smb", SMB_SUPER_MAGIC, CC_FS_ALIASING},
	{"ext4", EXT4_SUPER_MAGIC, CC_FS_FOLDING},
	{"tmpfs", TMPFS_MAGIC, CC_FS_FOLDING},
	{"f2fs", F2FS_SUPER_MAGIC, CC_FS_FOLDING},
	{"overlay", OVERLAYFS_SUPER_MAGIC, CC_FS_FOLDING},
	{"9p", V9FS_MAGIC, CC_FS_PLAIN},
	{"xfs", XFS_SUPER_MAGIC, CC_FS_PLAIN},
	{"btrfs", BTRFS_SUPER_MAGIC, CC_FS_PLAIN},
};

static void each_kind_is_known(void **state)
{
	(void)state;
	for (size_t i = 0; i < CC_COUNT(rows); i++) {
		enum cc_fs got = cc_fs_of(rows[i].magic, "30 1 0:27 / / rw - x y rw");

		T_ROW(got == rows[i].want, rows[i].label);
		T_ROW(!cc_fs_refusal(got) == (got != CC_FS_KERNEL && got != CC_FS_ALIASING), rows[i].label);
	}
}

static void a_windows_drive_is_known_by_its_options(void **state)
{
	(void)state;
	assert_int_equal(
		cc_fs_of(V9FS_MAGIC, "90 70 0:45 / /mnt/c rw,noatime - 9p C:\\134 rw,aname=drvfs;path=C:\\;uid=1000"),
		CC_FS_DRVFS);
	assert_int_equal(cc_fs_of(V9FS_MAGIC, "91 70 0:46 / /mnt/host rw - 9p host rw,access=any,trans=virtio"),
			 CC_FS_PLAIN);
	/* QEMU's server answers with the type of what it serves */
	assert_int_equal(cc_fs_of(EXT4_SUPER_MAGIC, "92 70 0:47 / /mnt/c rw - 9p C: rw,aname=drvfs"), CC_FS_DRVFS);
	assert_non_null(strstr(cc_fs_refusal(CC_FS_DRVFS), "Windows drive"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_kind_is_known),
		cmocka_unit_test(a_windows_drive_is_known_by_its_options),
	};

	return cmocka_run_group_tests_name("filesystems", tests, NULL, NULL);
}
