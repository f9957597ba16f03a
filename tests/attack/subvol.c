/* subvol.c - btrfs makes and removes names by ioctl, where no path hook and no Landlock right sees it: only the filter
 * stands before it. */
#define _GNU_SOURCE
#include "a.h"

#include <linux/btrfs.h>
#include <linux/magic.h>
#include <sys/ioctl.h>
#include <sys/vfs.h>

static int here = -1;

static long by_name(unsigned long request, const char *name, int source)
{
	struct btrfs_ioctl_vol_args args = {.fd = source};

	strncpy(args.name, name, sizeof(args.name) - 1);
	return ioctl(here, request, &args);
}

static long by_name_v2(unsigned long request, const char *name, int source)
{
	struct btrfs_ioctl_vol_args_v2 args = {.fd = source};

	strncpy(args.name, name, sizeof(args.name) - 1);
	return ioctl(here, request, &args);
}

int main(void)
{
	struct statfs fs;
	int sub;

	if (statfs(".", &fs) < 0 || fs.f_type != BTRFS_SUPER_MAGIC) {
		skip("75", "this is no btrfs");
		return 0;
	}
	here = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	denied("75", "a subvolume with a denied name", by_name(BTRFS_IOC_SUBVOL_CREATE, ".env.d", 0));
	denied("75", "the second form", by_name_v2(BTRFS_IOC_SUBVOL_CREATE_V2, "dir.pem", 0));
	denied("75", "one with a good name", by_name(BTRFS_IOC_SUBVOL_CREATE, "volume", 0));
	sub = open("volume", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	denied("75", "a snapshot", by_name(BTRFS_IOC_SNAP_CREATE, "snap.key", sub < 0 ? here : sub));
	denied("75", "the second form of it", by_name_v2(BTRFS_IOC_SNAP_CREATE_V2, "snap2.key", sub < 0 ? here : sub));
	denied("75", "a subvolume removed", by_name(BTRFS_IOC_SNAP_DESTROY, "volume", 0));
	denied("75", "the second form of that", by_name_v2(BTRFS_IOC_SNAP_DESTROY_V2, "dir.pem", 0));
	return 0;
}
