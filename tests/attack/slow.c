#define _GNU_SOURCE
#include "slow.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { PAGE = 4096, ROOM = 1 << 20, ROOT = FUSE_ROOT_ID, FILE_NODE = 2, LATE_NODE = 3 };

static int device = -1;
static struct {
	uint64_t unique;
	uint32_t size;
} held[SLOW_PAGES * 2];
static size_t held_count;
static bool open_for_all, late;

static uint64_t now_ms(void)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	return (uint64_t)at.tv_sec * 1000 + (uint64_t)at.tv_nsec / 1000000;
}

static void answer(uint64_t unique, int error, const void *data, size_t len)
{
	struct fuse_out_header head = {.len = (uint32_t)(sizeof(head) + len), .error = -error, .unique = unique};
	struct iovec parts[2] = {{&head, sizeof(head)}, {(void *)(size_t)data, len}};

	if (writev(device, parts, 2) < 0 && errno != ENOENT)
		perror("# slow");
}

static struct fuse_attr attr_of(uint64_t node)
{
	struct fuse_attr attr = {.ino = node, .nlink = 1, .blksize = PAGE};

	attr.mode = node == ROOT ? S_IFDIR | 0755 : S_IFREG | 0644;
	attr.size = node == FILE_NODE ? SLOW_PAGES * PAGE : 0;
	return attr;
}

static void let_go(void)
{
	static char page[ROOM];

	open_for_all = true;
	memset(page, 'x', sizeof(page));
	for (size_t i = 0; i < held_count; i++)
		answer(held[i].unique, 0, page, held[i].size);
	held_count = 0;
}

static void look_up(const struct fuse_in_header *in, const char *name)
{
	struct fuse_entry_out entry = {.generation = 1};

	if (strcmp(name, "release") == 0)
		let_go();
	if (strcmp(name, "page") == 0)
		entry.nodeid = FILE_NODE;
	else if (strcmp(name, "late") == 0 && late)
		entry.nodeid = LATE_NODE;
	entry.attr = attr_of(entry.nodeid);
	if (entry.nodeid)
		answer(in->unique, 0, &entry, sizeof(entry));
	else
		answer(in->unique, ENOENT, NULL, 0);
}

static void read_pages(const struct fuse_in_header *in, const struct fuse_read_in *what)
{
	if (held_count < sizeof(held) / sizeof(held[0])) {
		held[held_count].unique = in->unique;
		held[held_count++].size = what->size;
	}
	if (open_for_all)
		let_go();
}

static void one(char *request)
{
	struct fuse_in_header *in = (void *)request;
	void *body = request + sizeof(*in);
	struct fuse_attr_out attr = {0};
	struct fuse_open_out opened = {.fh = 1, .open_flags = FOPEN_KEEP_CACHE};
	struct fuse_init_out init = {.major = FUSE_KERNEL_VERSION, .minor = 31, .max_write = PAGE};

	switch (in->opcode) {
	case FUSE_INIT:
		answer(in->unique, 0, &init, sizeof(init));
		return;
	case FUSE_LOOKUP:
		look_up(in, body);
		return;
	case FUSE_GETATTR:
		attr.attr = attr_of(in->nodeid);
		answer(in->unique, 0, &attr, sizeof(attr));
		return;
	case FUSE_OPEN:
	case FUSE_OPENDIR:
		answer(in->unique, 0, &opened, sizeof(opened));
		return;
	case FUSE_READ:
		read_pages(in, body);
		return;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		return;
	default:
		answer(in->unique, ENOSYS, NULL, 0);
	}
}

static void *serve(void *context)
{
	static char request[ROOM];
	uint64_t first = 0;

	(void)context;
	for (;;) {
		struct pollfd ready = {.fd = device, .events = POLLIN};

		if (poll(&ready, 1, 100) == 1 && read(device, request, sizeof(request)) > 0)
			one(request);
		else if (ready.revents & POLLERR)
			return NULL;
		if (held_count && !first)
			first = now_ms();
		if (first && !open_for_all && now_ms() - first > SLOW_MS) {
			late = true;
			let_go();
		}
	}
}

bool slow_mount(const char *path)
{
	char options[96];
	pthread_t thread;

	device = open("/dev/fuse", O_RDWR | O_CLOEXEC | O_NONBLOCK);
	if (device < 0 || unshare(CLONE_NEWNS) < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return false;
	snprintf(options, sizeof(options), "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other", device);
	if ((mkdir(path, 0755) < 0 && errno != EEXIST) ||
	    mount("slow", path, "fuse", MS_NOSUID | MS_NODEV, options) < 0)
		return false;
	return pthread_create(&thread, NULL, serve, NULL) == 0;
}
