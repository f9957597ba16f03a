/* quarantine.c - where the pack of a push lies while it is looked at: a bare repository of our own, gone afterwards,
 * that borrows what gather.c and earlier pushes have left and nothing of a checkout: sessions may write in those, and
 * an object that was swapped there would hide a change. git reads the pack while it arrives. */
#define _GNU_SOURCE
#include "pushgate/inside.h"

#include "os/clock.h"
#include "os/fd.h"
#include "work/files.h"
#include "work/stock.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { FEED_MS = 120000, INDEX_MS = 900000, COMPLAINT = 4096, NAME = 200 };

enum cc_code cc_push_spool_open(struct cc_push *push, struct cc_err *err)
{
	struct cc_pushgate *gate = push->gate;
	enum cc_code code = cc_push_enter(gate, err);

	if (code != CC_OK)
		return code;
	snprintf(push->name, sizeof(push->name), "push-%u", ++gate->files);
	if ((size_t)snprintf(push->dir, sizeof(push->dir), "%s/%s", gate->dir, push->name) >= sizeof(push->dir) ||
	    (size_t)snprintf(push->file, sizeof(push->file), "%s/%s.body", gate->dir, push->name) >= sizeof(push->file))
		code = cc_fail(err, CC_EINVAL, 0, "%.100s is too long", gate->dir);
	if (code == CC_OK)
		push->spool = open(push->file, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	cc_push_leave(gate);
	if (code == CC_OK && push->spool < 0)
		return cc_fail(err, CC_ESYS, errno, "a file for the push");
	return code;
}

/* An object directory for what the run's pushes have brought, one a hash. */
#define KEPT "kept-"

/* What git init would make, without a process. */
enum cc_code cc_push_repository(const char *dir, size_t oid, struct cc_err *err)
{
	static const char *const dirs[] = {"", "/objects", "/objects/info", "/objects/pack", "/refs"};
	const char *config = oid == CC_PUSH_OID ? "[core]\n\trepositoryformatversion = 1\n\tbare = true\n"
						  "[extensions]\n\tobjectformat = sha256\n"
						: "[core]\n\trepositoryformatversion = 0\n\tbare = true\n";
	enum cc_code code = CC_OK;
	char path[PATH_MAX];

	for (size_t i = 0; i < CC_COUNT(dirs); i++) {

		if ((size_t)snprintf(path, sizeof(path), "%s%s", dir, dirs[i]) >= sizeof(path) || mkdir(path, 0700) < 0)
			return cc_fail(err, CC_ESYS, errno, "a directory for the push");
	}
	code = cc_files_write(dir, "config", cc_view_of(config), err);
	if (code == CC_OK)
		code = cc_files_write(dir, "HEAD", cc_view_of("ref: refs/heads/none\n"), err);
	return code;
}

enum cc_code cc_push_lenders(const struct cc_pushgate *gate, size_t oid, struct cc_strv *out, struct cc_err *err)
{
	static const char *const below[] = {"", "/pack"};
	char path[PATH_MAX];

	for (size_t i = 0; i < CC_COUNT(below); i++)
		if ((size_t)snprintf(path, sizeof(path), "%s/" KEPT "%zu%s", gate->dir, oid, below[i]) >=
			    sizeof(path) ||
		    (mkdir(path, 0700) < 0 && errno != EEXIST))
			return cc_fail(err, CC_ESYS, errno, "a directory for the run's pushes");
	if (cc_push_off("hashed") && gate->objects && cc_strv_pushf(out, err, "%s/objects", gate->objects) != CC_OK)
		return CC_ELIMIT;
	if (cc_push_off("hashed") && gate->copy && cc_strv_pushf(out, err, "%s/objects", gate->copy) != CC_OK)
		return CC_ELIMIT;
	return cc_strv_pushf(out, err, "%s/%s%zu", gate->dir, KEPT, oid);
}

static enum cc_code borrow(struct cc_push *push, struct cc_err *err)
{
	struct cc_strv lenders = {0};
	enum cc_code code = cc_push_lenders(push->gate, push->list.oid, &lenders, err);

	if (code == CC_OK)
		code = cc_stock_borrow(push->dir, &lenders, err);
	cc_strv_done(&lenders);
	return code;
}

static enum cc_code start_indexer(struct cc_push *push, struct cc_err *err)
{
	/* What lies here does not outlive us, so it need not survive the machine. Each object is checked for itself;
	 * that the commits and trees are all there is seen when they are listed. */
	const char *const words[] = {"-c",         "core.fsync=none", "index-pack", "--stdin",
				     "--fix-thin", "--fsck-objects",  NULL};
	int in[2] = {-1, -1}, out[2] = {-1, -1}, bad[2] = {-1, -1};
	enum cc_code code = CC_OK;

	/* A pair of sockets: a reader that goes with bytes unread is seen by the writer. */
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, in) < 0 || pipe2(out, O_CLOEXEC) < 0 ||
	    pipe2(bad, O_CLOEXEC) < 0)
		code = cc_fail(err, CC_ESYS, errno, "pipes for git");
	if (code == CC_OK)
		code = cc_git_begin(&push->gate->git, push->dir, (const int[]){in[0], out[1], bad[1]}, words,
				    &push->indexer, err);
	cc_fd_close(&in[0]);
	cc_fd_close(&out[1]);
	cc_fd_close(&bad[1]);
	push->feed = in[1];
	push->said = out[0];
	push->complaint = bad[0];
	return code;
}

/* A git that answers questions about objects. The usual push needs none. */
static enum cc_code start_reader(struct cc_push *push, struct cc_err *err)
{
	const char *const words[] = {"cat-file", "--batch-command", NULL};
	int in[2] = {-1, -1}, out[2] = {-1, -1};
	enum cc_code code = CC_OK;

	if (push->ask >= 0)
		return CC_OK;
	if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0)
		code = cc_fail(err, CC_ESYS, errno, "pipes for git");
	if (code == CC_OK)
		code = cc_push_enter(push->gate, err);
	if (code == CC_OK) {
		code = cc_git_begin(&push->gate->git, push->dir, (const int[]){in[0], out[1], -1}, words, &push->reader,
				    err);
		cc_push_leave(push->gate);
	}
	cc_fd_close(&in[0]);
	cc_fd_close(&out[1]);
	push->ask = in[1];
	push->told = out[0];
	return code;
}

enum cc_code cc_push_quarantine_open(struct cc_push *push, struct cc_err *err)
{
	enum cc_code code = cc_push_enter(push->gate, err);

	if (code != CC_OK)
		return code;
	code = cc_push_repository(push->dir, push->list.oid, err);
	if (code == CC_OK)
		code = borrow(push, err);
	if (code == CC_OK)
		code = start_indexer(push, err);
	cc_push_leave(push->gate);
	return code;
}

enum cc_code cc_push_git(struct cc_push *push, const char *const *words, int in, struct cc_child *out_child,
			 int *out_fd, struct cc_err *err)
{
	int ends[2];
	enum cc_code code;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return cc_fail(err, CC_ESYS, errno, "a pipe for git");
	code = cc_push_enter(push->gate, err);
	if (code == CC_OK) {
		code = cc_git_begin(&push->gate->git, push->dir, (const int[]){in, ends[1], -1}, words, out_child, err);
		cc_push_leave(push->gate);
	}
	close(ends[1]);
	if (code == CC_OK)
		*out_fd = ends[0];
	else
		close(ends[0]);
	return code;
}

enum cc_code cc_push_quarantine_feed(struct cc_push *push, struct cc_view bytes, struct cc_err *err)
{
	while (bytes.len) {
		struct pollfd wait = {.fd = push->feed, .events = POLLOUT};
		ssize_t done = send(push->feed, bytes.ptr, bytes.len, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (done < 0 && errno == EINTR)
			continue;
		if (done < 0 && errno == EAGAIN && poll(&wait, 1, FEED_MS) > 0)
			continue;
		if (done < 0)
			return cc_fail(err, CC_EPOLICY, 0, "git has had enough of the pack");
		bytes.ptr += done;
		bytes.len -= (size_t)done;
	}
	return CC_OK;
}

/* At most cap - 1 bytes of what a process that is gone has left. */
static size_t read_left(int fd, char *out, size_t cap)
{
	size_t len = 0;
	ssize_t got;

	while (len + 1 < cap && (got = read(fd, out + len, cap - 1 - len)) > 0)
		len += (size_t)got;
	out[len] = '\0';
	return len;
}

/* Why git did not take the pack, for a person. */
static enum cc_code complain(struct cc_push *push, struct cc_err *err)
{
	static const char *const missing[] = {"unresolved delta", "did not receive expected object", "missing object"};
	char text[COMPLAINT];
	const char *from;

	read_left(push->complaint, text, sizeof(text));
	for (size_t i = 0; i < CC_COUNT(missing); i++)
		if (strstr(text, missing[i]))
			return cc_fail(err, CC_EPOLICY, 0,
				       "fetch first: it builds on objects that are not in the run's repository");
	from = strstr(text, "fatal: ");
	from = from ? from + 7 : text;
	return cc_fail(err, CC_EPOLICY, 0, "the pack is not whole or not sound (%.*s)",
		       (int)(strcspn(from, "\n") < 150 ? strcspn(from, "\n") : 150), from);
}

enum cc_code cc_push_quarantine_close(struct cc_push *push, struct cc_err *err)
{
	int64_t until = cc_clock_ms() + INDEX_MS;
	char name[NAME];
	int status = -1, unread = 0;
	socklen_t len = sizeof(unread);
	size_t said;

	shutdown(push->feed, SHUT_WR);
	while (!cc_proc_wait(&push->indexer, 500, &status)) {
		if (cc_clock_ms() > until)
			return cc_fail(err, CC_ETIMEOUT, 0, "the pack takes git more than %d minutes",
				       INDEX_MS / 60000);
		if (!cc_push_tick(push))
			return cc_fail(err, CC_EPROTO, 0, "the client is gone");
	}
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return complain(push, err);
	(void)getsockopt(push->feed, SOL_SOCKET, SO_ERROR, &unread, &len);
	said = read_left(push->said, name, sizeof(name));
	/* "pack", a tab, its id; what follows the pack git writes behind that */
	if (unread || strncmp(name, "pack\t", 5) != 0 || said != push->list.oid + 6)
		return cc_fail(err, CC_EPOLICY, 0, "something follows behind the pack");
	return CC_OK;
}

static enum cc_code read_line(int fd, char *out, size_t cap, struct cc_err *err)
{
	size_t len = 0;

	for (;;) {
		ssize_t got = read(fd, out + len, 1);

		if (got < 0 && errno == EINTR)
			continue;
		if (got != 1 || len + 1 >= cap)
			return cc_fail(err, CC_EPROTO, 0, "git gave no answer");
		if (out[len] == '\n')
			break;
		len++;
	}
	out[len] = '\0';
	return CC_OK;
}

enum cc_code cc_push_commit(struct cc_push *push, const char *id, char out[CC_PUSH_OID + 1], struct cc_err *err)
{
	char line[NAME];
	int len = snprintf(line, sizeof(line), "info %s^{commit}\n", id);
	enum cc_code code = start_reader(push, err);

	if (code == CC_OK)
		code = cc_fd_write_all(push->ask, line, (size_t)len, err);
	if (code == CC_OK)
		code = read_line(push->told, line, sizeof(line), err);
	if (code != CC_OK)
		return code;
	len = (int)strcspn(line, " ");
	if (strncmp(line + len, " commit ", 8) != 0 || !cc_push_oid_ok((struct cc_view){line, (size_t)len}))
		return cc_fail(err, CC_ENOTFOUND, 0, "%.64s is no commit that is known here", id);
	memcpy(out, line, (size_t)len);
	out[len] = '\0';
	return CC_OK;
}

enum cc_code cc_push_blob(struct cc_push *push, struct cc_view id, struct cc_buf *out, struct cc_err *err)
{
	char line[NAME];
	char *at, byte;
	int len = snprintf(line, sizeof(line), "contents %.*s\n", (int)id.len, id.ptr);
	enum cc_code code = start_reader(push, err);
	unsigned long size;

	if (code == CC_OK)
		code = cc_fd_write_all(push->ask, line, (size_t)len, err);
	if (code == CC_OK)
		code = read_line(push->told, line, sizeof(line), err);
	at = code == CC_OK ? strstr(line, " blob ") : NULL;
	if (!at)
		return cc_fail(err, CC_EPROTO, 0, "an object is missing");
	size = strtoul(at + 6, NULL, 10);
	if (size > out->max)
		return cc_fail(err, CC_ELIMIT, 0, "a link of %lu bytes", size);
	/* and the newline that git adds */
	for (unsigned long i = 0; i <= size; i++) {
		if (read(push->told, &byte, 1) != 1)
			return cc_fail(err, CC_EPROTO, 0, "git gave no answer");
		if (i < size)
			cc_buf_add(out, &byte, 1);
	}
	return cc_buf_check(out, "a link", err);
}

/* The index last: git looks for it, and takes the others to be there. */
static void keep_files(struct cc_pushgate *gate, int from, int to)
{
	static const char *const ends[] = {".rev", ".pack", ".idx"};
	DIR *list = fdopendir(from);
	char names[CC_COUNT(ends)][NAME_MAX + 1] = {0};
	struct dirent *entry;
	struct stat st;
	int64_t size = 0;

	while (list && (entry = readdir(list)))
		for (size_t i = 0; i < CC_COUNT(ends); i++)
			if (cc_view_ends(cc_view_of(entry->d_name), ends[i]) &&
			    fstatat(from, entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0) {
				(void)cc_str_put(names[i], sizeof(names[i]), entry->d_name);
				size += st.st_size;
			}
	if (gate->kept + size <= gate->max_bytes) {
		gate->kept += size;
		for (size_t i = 0; i < CC_COUNT(ends); i++)
			if (names[i][0])
				(void)!renameat(from, names[i], to, names[i]);
	}
	if (list)
		closedir(list);
}

void cc_push_keep(struct cc_pushgate *gate, const char *dir, size_t oid)
{
	char path[PATH_MAX];
	struct cc_err err;
	int from = -1;
	CC_AUTO_FD to = -1;

	if (cc_push_enter(gate, &err) != CC_OK)
		return;
	if ((size_t)snprintf(path, sizeof(path), "%s/objects/pack", dir) < sizeof(path))
		from = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if ((size_t)snprintf(path, sizeof(path), "%s/" KEPT "%zu/pack", gate->dir, oid) < sizeof(path))
		to = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (from >= 0 && to >= 0)
		keep_files(gate, from, to);
	else
		cc_fd_close(&from);
	cc_push_leave(gate);
}

void cc_push_quarantine_keep(struct cc_push *push)
{
	if (cc_push_has_pack(&push->list))
		cc_push_keep(push->gate, push->dir, push->list.oid);
}

void cc_push_quarantine_done(struct cc_push *push)
{
	struct cc_err err;

	cc_proc_end(&push->indexer);
	cc_proc_end(&push->reader);
	cc_fd_close(&push->feed);
	cc_fd_close(&push->said);
	cc_fd_close(&push->complaint);
	cc_fd_close(&push->ask);
	cc_fd_close(&push->told);
	cc_fd_close(&push->spool);
	cc_fd_close(&push->revs);
	if (push->file[0])
		unlink(push->file);
	if (push->name[0])
		(void)!cc_files_remove(push->gate->dir, push->name, &err);
}
