/* sock.c - bind, connect and signals by descriptor: calls on the target's own descriptors, which the gate duplicates,
 * so that neither the descriptor nor the address can be another one when the kernel acts (attacks 3). */
#define _GNU_SOURCE
#include "gate/resolve.h"
#include "gate/sock.h"

#include "kernel/memory.h"
#include "os/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

enum { PATH_AT = offsetof(struct sockaddr_un, sun_path), FIRST_WAIT_MS = 0 };

struct address {
	union {
		struct sockaddr any;
		struct sockaddr_un local;
		struct sockaddr_storage room;
	} u;
	socklen_t len;
};

static int copy_address(const struct cc_call *call, uint64_t from, uint64_t len, struct address *out)
{
	memset(out, 0, sizeof(*out));
	if ((int32_t)len < 0 || (uint32_t)len > sizeof(out->u.room))
		return -EINVAL;
	out->len = (socklen_t)len;
	return len ? cc_target_read(call, &out->u, from, out->len) : 0;
}

static bool has_path(const struct address *address)
{
	return address->len > PATH_AT && address->u.any.sa_family == AF_UNIX && address->u.local.sun_path[0];
}

static int path_of(const struct address *address, char path[PATH_MAX])
{
	size_t len = address->len - PATH_AT;

	if (address->len > sizeof(address->u.local))
		return -EINVAL;
	memcpy(path, address->u.local.sun_path, len);
	path[len] = '\0';
	return 0;
}

/* Our own duplicate of the target's socket. */
static int duplicate(const struct cc_call *call, int fd, int *out_fd)
{
	int result = fd < 0 ? -EBADF : cc_task_fd(&call->worker->tasks, call->tid, fd);

	if (result < 0)
		return result;
	*out_fd = result;
	return 0;
}

void cc_sock_grant(struct cc_gate *gate)
{
	for (size_t i = 0; i < gate->rules->sockets.count; i++)
		cc_pins_add(&gate->sockets, open(gate->rules->sockets.items[i], O_PATH | O_CLOEXEC), S_IFSOCK);
}

/* Bound in this session, granted, or granted by a name that nobody inside can move. */
static bool known(struct cc_gate *gate, const struct cc_obj *obj)
{
	return cc_pins_have(&gate->sockets, &obj->st) || (!obj->mount && cc_strv_has(&gate->rules->sockets, obj->path));
}

/* Does the spelling the program gave lead to the pinned directory for this thread too? The name space is held
 * exclusively, so it stays that way; then getsockname can show what was asked for. */
static bool same_for_us(int base, const char *path, const struct cc_loc *loc)
{
	char parent[PATH_MAX];
	const char *slash = strrchr(path, '/');
	struct cc_statx st;

	if (base >= 0 && fchdir(base) < 0)
		return false;
	if (!slash)
		return true;
	memcpy(parent, path, (size_t)(slash - path) + 1);
	parent[slash - path + 1] = '\0';
	{
		CC_AUTO_FD fd = open(parent, O_PATH | O_DIRECTORY | O_CLOEXEC);

		return fd >= 0 && cc_k_statx(fd, "", &st) == 0 && st.ino == loc->at.ino && st.mnt_id == loc->at.mnt_id;
	}
}

/* Where the program's spelling means another place here (through /proc/self): the canonical path, so that getsockname
 * shows one that leads there, or, where that is too long, the name alone. */
static int spell_anew(struct address *address, const struct cc_loc *loc)
{
	size_t room = sizeof(address->u.local.sun_path);
	const char *path = loc->path;

	if (loc->len >= room || !same_for_us(-1, path, loc)) {
		path = loc->name;
		if (fchdir(loc->parent) < 0)
			return -errno;
		if (strlen(path) >= room)
			return -ENAMETOOLONG;
	}
	memset(address->u.local.sun_path, 0, room);
	memcpy(address->u.local.sun_path, path, strlen(path));
	address->len = (socklen_t)(PATH_AT + strlen(path) + 1);
	return 0;
}

static int bind_named(struct cc_call *call, int sock, const char *path, struct address *address,
		      const struct cc_loc *loc)
{
	CC_AUTO_FD base = -1;
	int result = cc_base(call, AT_FDCWD, path, &base);

	if (result < 0)
		return result;
	if (!same_for_us(base, path, loc))
		result = spell_anew(address, loc);
	if (result < 0)
		return result;
	cc_wear_umask(call);
	if (!cc_alive(call))
		return -ENOENT;
	result = cc_k_done(bind(sock, &address->u.any, address->len));
	if (chdir("/") < 0)
		return -errno;
	if (result == 0 && loc->mount && loc->mount->mode != CC_MOUNT_PRIVATE)
		cc_pins_add(&call->gate->sockets, cc_k_openat2(loc->parent, loc->name, O_PATH | O_NOFOLLOW, 0, 0),
			    S_IFSOCK);
	return result;
}

int cc_do_bind(struct cc_call *call, const uint64_t *arg)
{
	struct address address;
	char path[PATH_MAX];
	CC_AUTO_LOC loc = {.parent = -1};
	CC_AUTO_FD sock = -1;
	int result = copy_address(call, arg[1], arg[2], &address);

	if (result < 0)
		return result;
	if (!has_path(&address))
		return CC_CALL_CONTINUE; /* a raced path meets the floor: MAKE_SOCK */
	if (!call->exclusive)
		return CC_CALL_EXCLUSIVE;
	result = path_of(&address, path);
	call->spelled = path;
	if (result == 0)
		result = cc_locate(call, AT_FDCWD, path, &loc);
	if (result == 0 && loc.slash)
		result = cc_natural(call->gate, CC_VERB_BIND, &loc);
	if (result == 0)
		result = cc_permit_name(call, CC_VERB_BIND, &loc, CC_OBJECT_SOCKET, (struct cc_view){0});
	if (result == 0)
		result = duplicate(call, (int)arg[0], &sock);
	if (result == 0)
		result = bind_named(call, sock, path, &address, &loc);
	call->spelled = "";
	return result;
}

/* connect, never blocking a gate thread: a blocking socket is switched for the moment of the call and the waiter
 * finishes what takes longer. */
struct connecting {
	int sock;
	int via; /* O_PATH of the listener's inode: the address names it by descriptor */
	struct address address;
	bool started; /* in progress: only its end is awaited */
};

static void connecting_drop(void *state)
{
	struct connecting *it = state;

	cc_fd_close(&it->sock);
	cc_fd_close(&it->via);
	free(it);
}

static int ended(int sock, int wait_ms)
{
	struct pollfd wait = {.fd = sock, .events = POLLOUT};
	int error = 0;
	socklen_t len = sizeof(error);

	if (poll(&wait, 1, wait_ms) != 1)
		return CC_JOB_AGAIN;
	if (getsockopt(sock, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
		return -errno;
	return -error;
}

static int connect_once(struct connecting *it, int wait_ms)
{
	int flags = fcntl(it->sock, F_GETFL), result;

	if (it->started)
		return ended(it->sock, wait_ms);
	if (flags < 0)
		return -errno;
	if (!(flags & O_NONBLOCK))
		fcntl(it->sock, F_SETFL, flags | O_NONBLOCK);
	result = cc_k_done(connect(it->sock, &it->address.u.any, it->address.len));
	if (flags & O_NONBLOCK)
		return result; /* what the program asked for */
	fcntl(it->sock, F_SETFL, flags);
	if (result == -EAGAIN)
		return CC_JOB_AGAIN; /* AF_UNIX: the listener's queue is full */
	if (result != -EINPROGRESS && result != -EALREADY)
		return result;
	it->started = true;
	return ended(it->sock, wait_ms);
}

static int connect_step(struct cc_gate *gate, void *state)
{
	(void)gate;
	return connect_once(state, 0);
}

/* Which listeners may be reached by path: those bound in this session, those on its private file systems, and what
 * the rules grant. */
static int permit_connect(struct cc_call *call, const char *path, struct connecting *it)
{
	CC_AUTO_OBJ obj = {.fd = -1};
	struct cc_ask ask = {.verb = CC_VERB_CONNECT, .object = CC_OBJECT_SOCKET};
	struct cc_decision decision;
	char link[CC_K_FDLINK];
	int result = cc_find(call, AT_FDCWD, path, CC_FOLLOW, &obj);

	if (result < 0)
		return result;
	cc_k_fdlink(obj.fd, link);
	if (access(link, W_OK) < 0 && errno == EACCES)
		return -EACCES;
	if (!S_ISSOCK(obj.st.mode))
		return -ECONNREFUSED;
	ask.path = (struct cc_view){obj.path, obj.len};
	decision = cc_decide(call->gate->rules, &ask);
	if (!(obj.mount && obj.mount->mode == CC_MOUNT_PRIVATE) && !known(call->gate, &obj) &&
	    !(call->gate->off & CC_OFF_MOUNTS)) {
		cc_refuse(call, CC_VERB_CONNECT, ask.path, "socket:host", "connect");
		return -ECONNREFUSED;
	}
	if (decision.verdict != CC_ALLOW && decision.rule) {
		cc_refuse(call, CC_VERB_CONNECT, ask.path, cc_decision_id(&decision), "connect");
		return -ECONNREFUSED;
	}
	it->via = cc_fd_take(&obj.fd);
	cc_k_fdlink(it->via, it->address.u.local.sun_path);
	it->address.len = (socklen_t)(PATH_AT + strlen(it->address.u.local.sun_path) + 1);
	return 0;
}

/* Abstract names belong to a network, and a terminal's is the host's: behind each of them is a program of the host. */
static bool is_hosts_abstract(const struct cc_call *call, const struct address *address)
{
	return call->gate->rules->network_open && !(call->gate->off & CC_OFF_MOUNTS) &&
	       address->len > sizeof(address->u.any.sa_family) && address->u.any.sa_family == AF_UNIX &&
	       !has_path(address);
}

static int refuse_abstract(struct cc_call *call, const struct address *address)
{
	size_t len = address->len > PATH_AT + 1 ? address->len - PATH_AT - 1 : 0;
	char name[sizeof(address->u.local.sun_path) + 1] = "@";

	if (len > sizeof(name) - 2)
		len = sizeof(name) - 2;
	memcpy(name + 1, address->u.local.sun_path + 1, len);
	cc_refuse(call, CC_VERB_CONNECT, (struct cc_view){name, len + 1}, "socket:host", "connect");
	return -ECONNREFUSED;
}

int cc_do_connect(struct cc_call *call, const uint64_t *arg)
{
	struct connecting *it = calloc(1, sizeof(*it));
	char path[PATH_MAX];
	int result;

	if (!it)
		return -ENOMEM;
	it->sock = it->via = -1;
	result = duplicate(call, (int)arg[0], &it->sock);
	if (result == 0)
		result = copy_address(call, arg[1], arg[2], &it->address);
	if (result == 0 && has_path(&it->address)) {
		result = path_of(&it->address, path);
		call->spelled = path;
		if (result == 0)
			result = permit_connect(call, path, it);
		call->spelled = "";
	}
	if (result == 0 && is_hosts_abstract(call, &it->address))
		result = refuse_abstract(call, &it->address);
	if (result == 0)
		result = cc_alive(call) ? connect_once(it, FIRST_WAIT_MS) : -ENOENT;
	if (result == CC_JOB_AGAIN)
		return cc_wait_for(call, connect_step, connecting_drop, it);
	connecting_drop(it);
	return result;
}

/* Whom a descriptor of a process means: a pidfd says so in fdinfo, a directory of /proc by its path. */
static int pid_behind(int fd)
{
	char path[PATH_MAX], text[1024], *at;
	int len = cc_k_fdpath(fd, path, sizeof(path));

	if (len < 0)
		return len;
	if (strncmp(path, "/proc/", 6) == 0)
		return (int)strtol(path + 6, NULL, 10);
	cc_k_proc_text(text, sizeof(text), "/proc/self/fdinfo/%d", fd);
	at = strstr(text, "\nPid:");
	return at ? (int)strtol(at + 5, NULL, 10) : -EBADF;
}

/* The zygote is inside the Landlock domain, so the scope does not keep signals from it (attacks 13). */
int cc_do_pidfd_send_signal(struct cc_call *call, const uint64_t *arg)
{
	CC_AUTO_FD fd = -1;
	int pid, result = duplicate(call, (int)arg[0], &fd);

	if (result < 0)
		return result;
	pid = pid_behind(fd);
	if (pid == -EBADF)
		return -EBADF;
	if (pid >= 0 && pid <= call->gate->last_reserved)
		return -EPERM;
	if (!cc_alive(call))
		return -ENOENT;
	return cc_k_done(syscall(SYS_pidfd_send_signal, fd, (int)arg[1], NULL, (unsigned)arg[3]));
}

/* A pair of datagram sockets could send to any socket of the host that has a path, and nothing would be asked (attacks
 * 3). A pair of the kind that keeps packets apart and takes no address is the same to the programs that use one
 * between their own processes; to getsockopt it says what it is. Only such pairs come here (plan/bpf). */
int cc_do_socketpair(struct cc_call *call, const uint64_t *arg)
{
	int flags = (int)arg[1] & (SOCK_NONBLOCK | SOCK_CLOEXEC), kind = (int)arg[1] & ~flags;
	int ends[2], numbers[2] = {-1, -1}, result;

	if (kind != SOCK_DGRAM)
		return -EINVAL;
	/* before there is anything that could be left behind */
	result = cc_memory_write(call->tid, arg[3], numbers, sizeof(numbers));
	if (result < 0)
		return result;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | (flags & SOCK_NONBLOCK), (int)arg[2], ends) < 0)
		return -errno;
	for (int i = 0; i < 2 && result >= 0; i++)
		result = numbers[i] = cc_give_fd(call->gate, call->notif->id, ends[i], flags & SOCK_CLOEXEC);
	close(ends[0]);
	close(ends[1]);
	if (result < 0)
		return result == -ENOENT ? CC_CALL_SENT : result;
	return cc_memory_write(call->tid, arg[3], numbers, sizeof(numbers));
}
