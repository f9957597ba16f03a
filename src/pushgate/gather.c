/* gather.c - what a push is looked at with: the commits that the upstream has named itself, as far as the checkout or
 * the run's copy has them. Both are written by sessions, so they are taken as a stranger's: by id, out of a repository
 * of ours that has no more of them than their objects, every object hashed anew. What was swapped has another id, and
 * is missing; what says who a commit's parents are, beside the commit, is not asked. */
#define _GNU_SOURCE
#include "pushgate/inside.h"

#include "os/clock.h"
#include "os/fd.h"
#include "work/files.h"
#include "work/stock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ANSWER_MAX = 16 << 20, WANTED_MAX = 200, GATHER_MS = 600000, SHALLOW_MAX = 8 << 20, TICK_MS = 500 };

struct gather {
	struct cc_pushgate *gate;
	size_t oid;
	char name[32], other_name[32];
	char own[PATH_MAX]; /* has what pushes are looked at with */
	char his[PATH_MAX]; /* ours as well, but for its objects */
};

static enum cc_code make(struct gather *gather, const char *dir, const struct cc_strv *lenders, struct cc_err *err)
{
	enum cc_code code = cc_push_repository(dir, gather->oid, err);

	return code == CC_OK ? cc_stock_borrow(dir, lenders, err) : code;
}

/* Where their histories end, which decides nothing: what lies beyond is not there, and whoever needs it fetches first.
 */
static enum cc_code copy_shallow(struct gather *gather, const char *const from[2], struct cc_err *err)
{
	struct cc_buf all, one;
	enum cc_code code = CC_OK;
	char path[PATH_MAX];

	cc_buf_init(&all, 2 * SHALLOW_MAX);
	for (size_t i = 0; code == CC_OK && i < 2; i++) {
		if (!from[i] || (size_t)snprintf(path, sizeof(path), "%s/shallow", from[i]) >= sizeof(path))
			continue;
		cc_buf_init(&one, SHALLOW_MAX);
		code = cc_fd_read_file(path, &one, err);
		if (code == CC_OK)
			cc_buf_add(&all, one.data ? one.data : "", one.len);
		if (code == CC_ENOTFOUND)
			code = CC_OK;
		cc_buf_done(&one);
	}
	if (code == CC_OK && all.len)
		code = cc_files_write(gather->his, "shallow", cc_buf_view(&all), err);
	cc_buf_done(&all);
	return code;
}

static enum cc_code make_both(struct gather *gather, struct cc_err *err)
{
	struct cc_pushgate *gate = gather->gate;
	const char *const from[] = {gate->objects, gate->copy};
	struct cc_strv own = {0}, his = {0};
	enum cc_code code = cc_push_enter(gate, err);

	if (code != CC_OK)
		return code;
	snprintf(gather->name, sizeof(gather->name), "gather-%u", ++gate->files);
	snprintf(gather->other_name, sizeof(gather->other_name), "copy-%u", gate->files);
	if ((size_t)snprintf(gather->own, PATH_MAX, "%s/%s", gate->dir, gather->name) >= PATH_MAX ||
	    (size_t)snprintf(gather->his, PATH_MAX, "%s/%s", gate->dir, gather->other_name) >= PATH_MAX)
		code = cc_fail(err, CC_EINVAL, 0, "%.100s is too long", gate->dir);
	if (code == CC_OK)
		code = cc_push_lenders(gate, gather->oid, &own, err);
	for (size_t i = 0; code == CC_OK && i < 2; i++)
		if (from[i])
			code = cc_strv_pushf(&his, err, "%s/objects", from[i]);
	if (code == CC_OK)
		code = make(gather, gather->own, &own, err);
	if (code == CC_OK)
		code = make(gather, gather->his, &his, err);
	if (code == CC_OK)
		code = copy_shallow(gather, from, err);
	cc_push_leave(gate);
	cc_strv_done(&own);
	cc_strv_done(&his);
	return code;
}

static enum cc_code read_all(int fd, struct cc_buf *out, int64_t until, struct cc_err *err)
{
	char piece[16384];
	ssize_t got = 1;

	while (got > 0) {
		struct pollfd wait = {.fd = fd, .events = POLLIN};

		if (cc_clock_ms() > until)
			return cc_fail(err, CC_ETIMEOUT, 0, "git takes too long");
		if (poll(&wait, 1, TICK_MS) <= 0)
			continue;
		got = read(fd, piece, sizeof(piece));
		if (got > 0)
			cc_buf_add(out, piece, (size_t)got);
		if (got < 0 && errno == EINTR)
			got = 1;
	}
	return cc_buf_check(out, "git's answer", err);
}

/* Runs git in dir, with these lines for its input. */
static enum cc_code run(struct gather *gather, const char *dir, const char *const *words, const struct cc_buf *in,
			struct cc_buf *out, struct cc_err *err)
{
	int64_t until = cc_clock_ms() + GATHER_MS;
	struct cc_child git = {.pid = -1, .pidfd = -1};
	CC_AUTO_FD lines = -1;
	int ends[2], status = -1;
	enum cc_code code = cc_fd_memfile("ccbox-ids", in->data ? in->data : "", in->len, &lines, err);

	if (code == CC_OK && pipe2(ends, O_CLOEXEC) < 0)
		code = cc_fail(err, CC_ESYS, errno, "a pipe for git");
	if (code != CC_OK)
		return code;
	code = cc_push_enter(gather->gate, err);
	if (code == CC_OK) {
		code = cc_git_begin(&gather->gate->git, dir, (const int[]){lines, ends[1], -1}, words, &git, err);
		cc_push_leave(gather->gate);
	}
	close(ends[1]);
	if (code == CC_OK)
		code = read_all(ends[0], out, until, err);
	close(ends[0]);
	if (code == CC_OK && (!cc_proc_wait(&git, (int)(until - cc_clock_ms()), &status) || !WIFEXITED(status) ||
			      WEXITSTATUS(status) != 0))
		code = cc_fail(err, CC_EPOLICY, 0, "git does not take it");
	cc_proc_end(&git);
	return code;
}

/* Of these ids, those that are there as commits, or (missing) those that are not there. */
static enum cc_code look(struct gather *gather, const char *dir, const struct cc_buf *ids, bool missing,
			 struct cc_buf *out, struct cc_err *err)
{
	static const char *const words[] = {"cat-file", "--batch-check=%(objectname) %(objecttype)", NULL};
	const char *wanted = missing ? "missing" : "commit";
	struct cc_buf answer;
	enum cc_code code;

	cc_buf_init(&answer, ANSWER_MAX);
	code = run(gather, dir, words, ids, &answer, err);
	for (size_t at = 0; code == CC_OK && at < answer.len;) {
		const char *line = answer.data + at, *end = memchr(line, '\n', answer.len - at);
		size_t len = end ? (size_t)(end - line) : answer.len - at;

		if (len > gather->oid + 1 && line[gather->oid] == ' ' &&
		    cc_view_is((struct cc_view){line + gather->oid + 1, len - gather->oid - 1}, wanted))
			cc_buf_addf(out, "%.*s\n", (int)gather->oid, line);
		at += len + 1;
	}
	cc_buf_done(&answer);
	return code == CC_OK ? cc_buf_check(out, "the list of commits", err) : code;
}

static enum cc_code fetch(struct gather *gather, const struct cc_buf *ids, struct cc_err *err)
{
	/* what git finds fault with in an old history is the upstream's affair; that ids are right is not a setting */
	static const char *const first[] = {"-c", "fetch.fsckObjects=false", "-c",        "transfer.fsckObjects=false",
					    "-c", "core.fsync=none",         CC_GIT_FETCH};
	const struct cc_buf nothing = {0};
	struct cc_strv words = {0};
	struct cc_buf said;
	enum cc_code code = CC_OK;

	for (size_t i = 0; code == CC_OK && i < CC_COUNT(first); i++)
		code = cc_strv_push(&words, first[i], err);
	if (code == CC_OK)
		code = cc_strv_push(&words, gather->his, err);
	for (size_t at = 0, count = 0; code == CC_OK && at < ids->len && count < WANTED_MAX; count++) {
		code = cc_strv_push_view(&words, (struct cc_view){ids->data + at, gather->oid}, err);
		at += gather->oid + 1;
	}
	cc_buf_init(&said, ANSWER_MAX);
	if (code == CC_OK)
		code = run(gather, gather->own, (const char *const *)words.items, &nothing, &said, err);
	cc_buf_done(&said);
	cc_strv_done(&words);
	return code;
}

/* What the upstream has said last, an id a line; first what the run began with, which the upstream may have gone
 * beyond. */
static size_t list_tips(struct cc_pushgate *gate, size_t repo_at, struct cc_buf *out)
{
	const struct cc_push_advert *known = &gate->known[repo_at];
	size_t oid;

	pthread_mutex_lock(&gate->lock);
	oid = known->count ? strlen(known->tips[0]) : 0;
	if (oid && gate->base && strlen(gate->base) == oid)
		cc_buf_addf(out, "%s\n", gate->base);
	for (size_t i = 0; i < known->count; i++)
		cc_buf_addf(out, "%s\n", known->tips[i]);
	pthread_mutex_unlock(&gate->lock);
	return oid;
}

void cc_push_gather(struct cc_pushgate *gate, size_t repo_at)
{
	struct gather gather = {.gate = gate};
	struct cc_buf tips, missing, there;
	struct cc_err err = {0};
	enum cc_code code = CC_OK;

	if (!gate->copy && !gate->objects)
		return;
	cc_buf_init(&tips, ANSWER_MAX);
	cc_buf_init(&missing, ANSWER_MAX);
	cc_buf_init(&there, ANSWER_MAX);
	gather.oid = list_tips(gate, repo_at, &tips);
	if (gather.oid && !tips.failed)
		code = make_both(&gather, &err);
	if (code == CC_OK && gather.name[0])
		code = look(&gather, gather.own, &tips, true, &missing, &err);
	if (code == CC_OK && missing.len)
		code = look(&gather, gather.his, &missing, false, &there, &err);
	if (code == CC_OK && there.len && fetch(&gather, &there, &err) == CC_OK)
		cc_push_keep(gate, gather.own, gather.oid);
	/* whatever went wrong, the push that needs them is told to fetch first */
	if (gather.name[0]) {
		(void)!cc_files_remove(gate->dir, gather.name, &err);
		(void)!cc_files_remove(gate->dir, gather.other_name, &err);
	}
	cc_buf_done(&tips);
	cc_buf_done(&missing);
	cc_buf_done(&there);
}
