#define _GNU_SOURCE
#include "os/loop.h"

#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

enum { BATCH_MAX = 128 };

struct cc_loop {
	int fd;
};

enum cc_code cc_loop_new(struct cc_loop **out_loop, struct cc_err *err)
{
	CC_AUTO(cc_loop) loop = calloc(1, sizeof(*loop));

	if (!loop)
		return cc_fail(err, CC_ELIMIT, 0, "out of memory");
	loop->fd = epoll_create1(EPOLL_CLOEXEC);
	if (loop->fd < 0)
		return cc_fail(err, CC_ESYS, errno, "epoll_create1");
	*out_loop = cc_loop_take(&loop);
	return CC_OK;
}

static enum cc_code control(struct cc_loop *loop, int op, int fd, unsigned events, void *data, struct cc_err *err)
{
	struct epoll_event event = {.data.ptr = data, .events = EPOLLET | EPOLLRDHUP};

	if (events & CC_LOOP_READ)
		event.events |= EPOLLIN;
	if (events & CC_LOOP_WRITE)
		event.events |= EPOLLOUT;
	if (epoll_ctl(loop->fd, op, fd, &event) < 0)
		return cc_fail(err, CC_ESYS, errno, "epoll_ctl");
	return CC_OK;
}

enum cc_code cc_loop_add(struct cc_loop *loop, int fd, unsigned events, void *data, struct cc_err *err)
{
	return control(loop, EPOLL_CTL_ADD, fd, events, data, err);
}

enum cc_code cc_loop_modify(struct cc_loop *loop, int fd, unsigned events, void *data, struct cc_err *err)
{
	return control(loop, EPOLL_CTL_MOD, fd, events, data, err);
}

static unsigned translate(uint32_t events)
{
	unsigned out = 0;

	out |= events & EPOLLIN ? CC_LOOP_READ : 0;
	out |= events & EPOLLOUT ? CC_LOOP_WRITE : 0;
	out |= events & EPOLLRDHUP ? CC_LOOP_HUP : 0;
	out |= events & (EPOLLERR | EPOLLHUP) ? CC_LOOP_ERROR : 0;
	return out;
}

enum cc_code cc_loop_wait(struct cc_loop *loop, int timeout_ms, struct cc_loop_event *events, size_t max,
			  size_t *out_count, struct cc_err *err)
{
	struct epoll_event batch[BATCH_MAX];
	int count = epoll_wait(loop->fd, batch, max < BATCH_MAX ? (int)max : BATCH_MAX, timeout_ms);

	if (count < 0 && errno != EINTR)
		return cc_fail(err, CC_ESYS, errno, "epoll_wait");
	*out_count = count > 0 ? (size_t)count : 0;
	for (size_t i = 0; i < *out_count; i++)
		events[i] = (struct cc_loop_event){batch[i].data.ptr, translate(batch[i].events)};
	return CC_OK;
}

void cc_loop_free(struct cc_loop *loop)
{
	if (!loop)
		return;
	if (loop->fd >= 0)
		close(loop->fd);
	free(loop);
}
