/* special.c - opens of what is no plain file: FIFOs, which wait for their peer elsewhere, terminals, procfs, devices.
 */
#define _GNU_SOURCE
#include "gate/open.h"

#include "os/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Gives the target its descriptor, without the O_NONBLOCK that kept this thread from waiting. */
int cc_open_hand_over(struct cc_call *call, const struct want *want, int fd)
{
	if (!(want->flags & O_NONBLOCK))
		fcntl(fd, F_SETFL, (int)(want->flags & (CLEARABLE & ~O_NONBLOCK)));
	return cc_send_fd(call->gate, call->notif->id, fd, want->flags & O_CLOEXEC);
}

/* A FIFO whose other end is not there yet: tried again by the waiter. */
struct fifo {
	uint64_t id;
	int fd;  /* O_PATH, pinned */
	int end; /* a reading end, held until there is something to read: then a writer has come */
	int flags;
};

static int fifo_step(struct cc_gate *gate, void *state)
{
	struct fifo *fifo = state;
	struct pollfd ready = {.events = POLLIN};
	char path[CC_K_FDLINK];
	int fd;

	cc_k_fdlink(fifo->fd, path);
	if (fifo->end < 0)
		fifo->end = open(path, fifo->flags | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
	if (fifo->end < 0)
		return errno == ENXIO ? CC_JOB_AGAIN : -errno;
	ready.fd = fifo->end;
	if ((fifo->flags & ACCESS) == O_RDONLY && poll(&ready, 1, 0) == 0)
		return CC_JOB_AGAIN;
	fd = cc_fd_take(&fifo->end);
	fcntl(fd, F_SETFL, fifo->flags & (CLEARABLE & ~O_NONBLOCK));
	return cc_send_fd(gate, fifo->id, fd, fifo->flags & O_CLOEXEC);
}

static void fifo_drop(void *state)
{
	struct fifo *fifo = state;

	cc_fd_close(&fifo->end);
	cc_fd_close(&fifo->fd);
	free(fifo);
}

/* Takes fd, the O_PATH descriptor of a FIFO. */
int cc_open_wait_for_peer(struct cc_call *call, const struct want *want, int fd)
{
	struct fifo *fifo = calloc(1, sizeof(*fifo));

	if (!fifo) {
		close(fd);
		return -ENOMEM;
	}
	fifo->id = call->notif->id;
	fifo->flags = (int)(want->flags & KNOWN & ~(uint64_t)(O_CREAT | O_EXCL | O_TRUNC | O_NOFOLLOW));
	fifo->fd = fd;
	fifo->end = -1;
	return cc_wait_for(call, fifo_step, fifo_drop, fifo);
}

int cc_open_wait_at(struct cc_call *call, const struct want *want, const struct cc_loc *loc)
{
	CC_AUTO_FD fd = cc_k_openat2(loc->parent, loc->name, O_PATH | O_NOFOLLOW, 0, CC_RESOLVE_NO_XDEV);
	struct cc_statx st;

	if (fd < 0 || cc_k_statx(fd, "", &st) < 0 || !S_ISFIFO(st.mode))
		return -ENXIO;
	return cc_open_wait_for_peer(call, want, cc_fd_take(&fd));
}

/* Where reads are judged, what lies in procfs is opened by PID 1, which may see more than the caller: only what is
 * the caller's own, and of others what everybody may read. Never a memory or environment of PID 1 or the zygote. */
static int permit_proc(struct cc_call *call, const struct cc_obj *obj)
{
	static const char *const common[] = {"", "stat", "status", "statm", "comm", "cmdline", "task", "cgroup"};
	char *rest;
	long pid = strncmp(obj->path, "/proc/", 6) == 0 ? strtol(obj->path + 6, &rest, 10) : 0;

	if (pid <= 0)
		return 0; /* of nobody */
	if (pid > call->gate->last_reserved && cc_k_leader((pid_t)pid) == cc_k_leader(call->tid))
		return 0;
	rest += *rest == '/';
	for (size_t i = 0; i < CC_COUNT(common); i++)
		if (strcmp(rest, common[i]) == 0)
			return 0;
	return -EACCES;
}

/* /dev/tty is the terminal of whoever opens it: PID 1 has none, so the caller's is looked up. */
static int own_terminal(const struct cc_call *call, char path[CC_K_FDLINK])
{
	char text[512], *at;
	long number = 0;

	cc_k_proc_text(text, sizeof(text), "/proc/%d/stat", (int)call->tid);
	at = strrchr(text, ')'); /* ") S ppid pgrp session tty_nr" */
	for (int i = 0; at && i < 5; i++)
		at = strchr(at + 1, ' ');
	if (at)
		number = strtol(at + 1, NULL, 10);
	if (number >> 8 < 136 || number >> 8 > 143)
		return -ENXIO;
	snprintf(path, CC_K_FDLINK, "/dev/pts/%ld", ((number >> 8) - 136) * 256 + (number & 0xff));
	return 0;
}

static bool is_write_access(const struct want *want)
{
	return (want->flags & ACCESS) == O_WRONLY || (want->flags & ACCESS) == O_RDWR;
}

/* What a special object is answered with: the kernel opens it in the target, and the floor judges it. Where reads
 * are judged that would be a race for a denied file, because the floor knows no reading: so it is opened here. */
int cc_open_special(struct cc_call *call, const struct want *want, struct cc_obj *obj)
{
	char path[CC_K_FDLINK];
	int fd, result = 0;

	if (!call->gate->rules->reads_judged && !want->raced)
		/* The floor judges a raced path, but for truncation without write access. */
		return want->flags & O_TRUNC && !is_write_access(want) ? -EACCES : CC_CALL_CONTINUE;
	cc_k_fdlink(obj->fd, path);
	if (cc_on_proc(call->gate, &obj->st))
		result = permit_proc(call, obj);
	else if (S_ISCHR(obj->st.mode) && obj->st.rdev_major == 5 && obj->st.rdev_minor == 0)
		result = own_terminal(call, path);
	if (result < 0)
		return result;
	if (!cc_alive(call))
		return -ENOENT;
	fd = open(path, (int)(want->flags & KNOWN & ~(uint64_t)(O_CREAT | O_EXCL | O_NOFOLLOW)) | O_NOCTTY |
				O_NONBLOCK | O_CLOEXEC);
	return fd < 0 ? -errno : cc_open_hand_over(call, want, fd);
}

bool cc_is_special(const struct cc_gate *gate, const struct cc_obj *obj)
{
	if (obj->path[0] != '/' || strncmp(obj->path, "/memfd:", 7) == 0)
		return true; /* pipes, sockets, memory files */
	return cc_on_proc(gate, &obj->st) || S_ISCHR(obj->st.mode) || S_ISBLK(obj->st.mode) ||
	       (!obj->mount && (S_ISFIFO(obj->st.mode) || S_ISSOCK(obj->st.mode)));
}
