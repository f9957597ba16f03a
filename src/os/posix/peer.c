#define _GNU_SOURCE
#include "os/peer.h"

#include "os/fd.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

enum cc_code cc_peer_pair(int *out_ours, int *out_theirs, struct cc_err *err)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
		return cc_fail(err, CC_ESYS, errno, "socketpair");
	*out_ours = ends[0];
	*out_theirs = ends[1];
	return CC_OK;
}

enum cc_code cc_peer_send(int sock, const char *text, size_t len, const int *fds, size_t fd_count, struct cc_err *err)
{
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(sizeof(int) * CC_PEER_FDS)];
	} control;
	struct iovec part = {(void *)(size_t)text, len};
	struct msghdr head = {.msg_iov = &part, .msg_iovlen = 1};
	ssize_t done;

	if (len == 0 || len > CC_PEER_MAX || fd_count > CC_PEER_FDS)
		return cc_fail(err, CC_ELIMIT, 0, "message of %zu bytes with %zu descriptors", len, fd_count);
	if (fd_count) {
		struct cmsghdr *cmsg;

		memset(&control, 0, sizeof(control));
		head.msg_control = control.room;
		head.msg_controllen = CMSG_SPACE(sizeof(int) * fd_count);
		cmsg = CMSG_FIRSTHDR(&head);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(sizeof(int) * fd_count);
		memcpy(CMSG_DATA(cmsg), fds, sizeof(int) * fd_count);
	}
	do {
		done = sendmsg(sock, &head, MSG_NOSIGNAL);
	} while (done < 0 && errno == EINTR);
	if (done < 0)
		return cc_fail(err, errno == EAGAIN ? CC_ETIMEOUT : CC_EPROTO, errno, "cannot send to the peer");
	return CC_OK;
}

static void collect_fds(struct msghdr *head, struct cc_peer_msg *out)
{
	for (struct cmsghdr *cmsg = CMSG_FIRSTHDR(head); cmsg; cmsg = CMSG_NXTHDR(head, cmsg)) {
		size_t count;

		if (cmsg->cmsg_level != SOL_SOCKET || cmsg->cmsg_type != SCM_RIGHTS)
			continue;
		count = (cmsg->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < count; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(cmsg) + i * sizeof(int), sizeof(int));
			if (out->fd_count < CC_PEER_FDS)
				out->fds[out->fd_count++] = fd;
			else
				close(fd);
		}
	}
}

enum cc_code cc_peer_recv(int sock, struct cc_peer_msg *out, struct cc_err *err)
{
	union {
		struct cmsghdr align;
		char room[CMSG_SPACE(sizeof(int) * CC_PEER_FDS)];
	} control;
	struct iovec part = {out->text, CC_PEER_MAX};
	struct msghdr head = {
		.msg_iov = &part, .msg_iovlen = 1, .msg_control = control.room, .msg_controllen = sizeof(control.room)};
	int resets = 0;
	ssize_t got;

	out->len = 0;
	out->fd_count = 0;
	/* A peer that went with something unread is told once, and before what it had said: that comes first here. */
	do {
		got = recvmsg(sock, &head, MSG_CMSG_CLOEXEC);
	} while (got < 0 && (errno == EINTR || (errno == ECONNRESET && resets++ == 0)));
	if (got < 0)
		return cc_fail(err, errno == EAGAIN ? CC_ETIMEOUT : CC_EPROTO, errno, "cannot receive from the peer");
	collect_fds(&head, out);
	if (head.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) {
		cc_peer_msg_close(out);
		return cc_fail(err, CC_EPROTO, 0, "the peer sent a message that is too large");
	}
	out->len = (size_t)got;
	out->text[got] = '\0';
	return CC_OK;
}

enum cc_code cc_peer_recv_file(int sock, struct cc_buf *out, struct cc_err *err)
{
	static struct cc_peer_msg msg; /* too large for a stack; a process starts once */
	enum cc_code code = cc_peer_recv(sock, &msg, err);

	if (code != CC_OK)
		return code;
	code = msg.fd_count == 1 ? cc_fd_read_all(msg.fds[0], out, err)
				 : cc_fail(err, CC_EPROTO, 0, "a start without its document");
	cc_peer_msg_close(&msg);
	return code;
}

enum cc_code cc_peer_recv_wait(int sock, int timeout_ms, struct cc_peer_msg *out, struct cc_err *err)
{
	struct pollfd wait = {.fd = sock, .events = POLLIN};
	int ready;

	do {
		ready = poll(&wait, 1, timeout_ms);
	} while (ready < 0 && errno == EINTR);
	if (ready < 0)
		return cc_fail(err, CC_ESYS, errno, "poll");
	if (ready == 0)
		return cc_fail(err, CC_ETIMEOUT, 0, "the peer did not answer in %d ms", timeout_ms);
	return cc_peer_recv(sock, out, err);
}

void cc_peer_msg_close(struct cc_peer_msg *msg)
{
	for (size_t i = 0; i < msg->fd_count; i++)
		cc_fd_close(&msg->fds[i]);
	msg->fd_count = 0;
}
