#define _GNU_SOURCE
#include "work/review.h"

#include "base/mem.h"
#include "os/fd.h"
#include "work/git.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	LIST_MAX = 256 << 20,
	STAT_MAX = 1 << 20,
	FINDINGS_MAX = 10000,
	LINKS_MAX = 2000,
	TARGET_MAX = 8192,
	SHALLOW_MAX = 8 << 20
};

struct run {
	const struct cc_review_ask *ask;
	struct cc_review *review;
	struct cc_git git;
	char dir[PATH_MAX]; /* ours, with the fetched objects */
	size_t links;
};

/* Is that protection left out, in the twin that tests escape from? */
static bool off(const char *what)
{
#ifdef CC_TWIN
	const char *all = getenv("CCBOX_TWIN_OFF");

	return all && strstr(all, what);
#else
	(void)what;
	return false;
#endif
}

/* Every object comes as a pack and is hashed anew: one that was swapped is another one here, and is missed. */
static enum cc_code fetch(struct run *run, const char *base, const char *head, struct cc_err *err)
{
	char top[PATH_MAX];
	const char *words[] = {CC_GIT_FETCH, top, head, base, NULL};
	enum cc_code code;

	if (!realpath(run->ask->dir, top))
		return cc_fail(err, CC_ENOTFOUND, errno, "%.200s", run->ask->dir);
	code = cc_git_start(&run->git, run->dir, head, err);
	if (code != CC_OK)
		return code;
	code = cc_git_do(&run->git, run->dir, words, err);
	return code == CC_EPOLICY
		       ? cc_fail(err, CC_EPOLICY, 0,
				 "the commits cannot be had whole from %.200s: objects are missing, damaged or "
				 "not what their ids say",
				 run->ask->dir)
		       : code;
}

static enum cc_code add(struct run *run, const struct cc_review_entry *entry, struct cc_review_verdict verdict,
			struct cc_err *err)
{
	struct cc_review *review = run->review;
	struct cc_review_finding *items;
	size_t commit = entry->commit.len < 12 ? entry->commit.len : 12;

	for (size_t i = 0; i < review->count; i++)
		if (cc_view_is(entry->path, review->items[i].path) && strcmp(review->items[i].rule, verdict.rule) == 0)
			return CC_OK;
	if (review->count == FINDINGS_MAX)
		return cc_fail(err, CC_ELIMIT, 0, "more than %d findings: nothing of it is to be trusted",
			       FINDINGS_MAX);
	items = realloc(review->items, (review->count + 1) * sizeof(*items));
	if (!items)
		return cc_fail(err, CC_ELIMIT, 0, "out of memory");
	review->items = items;
	items[review->count] =
		(struct cc_review_finding){verdict.kind, cc_str_copy(verdict.rule), cc_str_copy(verdict.why),
					   strndup(entry->path.ptr, entry->path.len), ""};
	memcpy(items[review->count].commit, entry->commit.ptr, commit);
	review->count++;
	return items[review->count - 1].path && items[review->count - 1].rule
		       ? CC_OK
		       : cc_fail(err, CC_ELIMIT, 0, "out of memory");
}

static enum cc_code judge(struct run *run, const struct cc_review_entry *entry, struct cc_err *err)
{
	struct cc_buf target;
	struct cc_review_verdict verdict;
	enum cc_code code = CC_OK;

	cc_buf_init(&target, TARGET_MAX);
	if ((entry->new_mode & 0170000) == 0120000) {
		char id[CC_REVIEW_OID + 1];
		const char *const words[] = {"cat-file", "blob", id, NULL};

		if (++run->links > LINKS_MAX)
			return cc_fail(err, CC_ELIMIT, 0, "more than %d links: nothing of it is to be trusted",
				       LINKS_MAX);
		snprintf(id, sizeof(id), "%.*s", (int)entry->oid.len, entry->oid.ptr);
		code = cc_git_run(&run->git, run->dir, TARGET_MAX, &target, words, err);
	}
	if (code == CC_OK) {
		verdict = cc_review_judge(run->ask->rules, run->ask->root, entry, cc_buf_view(&target));
		if (verdict.kind != CC_REVIEW_FINE && !off("judge"))
			code = add(run, entry, verdict, err);
	}
	cc_buf_done(&target);
	return code;
}

/* Each commit of the range, not only the sum: what comes and goes again stays in the history. */
static enum cc_code judge_all(struct run *run, const char *range, struct cc_err *err)
{
	const char *words[] = {CC_GIT_ENTRIES, "--reverse", "--format=%x01%H", "--end-of-options", range, NULL};
	struct cc_view commit = {NULL, 0}, last = {NULL, 0};
	struct cc_buf text;
	size_t at = 0;
	bool found = true;
	enum cc_code code = cc_git_run(&run->git, run->dir, LIST_MAX, &text, words, err);

	while (code == CC_OK && found) {
		struct cc_review_entry entry;

		code = cc_review_next(cc_buf_view(&text), &at, &commit, &entry, &found, err);
		if (code != CC_OK || !found)
			break;
		run->review->commits += !last.ptr || !cc_view_eq(commit, last);
		last = commit;
		run->review->entries++;
		code = judge(run, &entry, err);
	}
	cc_buf_done(&text);
	return code;
}

static enum cc_code summarise(struct run *run, const char *base, const char *head, struct cc_err *err)
{
	const char *words[] = {"diff",
			       "--stat=100",
			       "--stat-count=20", /* and how many there are: thousands are read by nobody */
			       "--no-ext-diff",
			       "--no-textconv",
			       "--no-color",
			       base ? base : cc_git_empty_tree(head),
			       head,
			       NULL};
	struct cc_buf text;
	enum cc_code code = cc_git_run(&run->git, run->dir, STAT_MAX, &text, words, err);

	if (code == CC_OK)
		run->review->stat = cc_str_copy(text.len ? text.data : "");
	cc_buf_done(&text);
	return code;
}

static int forget(const char *path, const struct stat *st, int kind, struct FTW *walk)
{
	(void)st;
	(void)kind;
	(void)walk;
	return remove(path);
}

/* Takes the copy away when this process is gone, however it went: what an agent committed is not left lying about. */
static enum cc_code keep_clean(struct run *run, int *out_end, pid_t *out_pid, struct cc_err *err)
{
	int ends[2];
	char byte;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return cc_fail(err, CC_ESYS, errno, "a pipe");
	*out_pid = fork();
	if (*out_pid == 0) {
		setsid(); /* what the keyboard sends to all of us is not for this one */
		close(ends[1]);
		/* not with the caller's descriptors: one that reads our output to its end waits for us alone */
		for (int fd = 0; fd < 3; fd++)
			close(fd);
		while (read(ends[0], &byte, 1) < 0 && errno == EINTR)
			;
		/* a git that was at work may make a last file meanwhile */
		for (int i = 0; i < 50 && access(run->dir, F_OK) == 0; i++) {
			nftw(run->dir, forget, 16, FTW_DEPTH | FTW_PHYS);
			usleep(20000);
		}
		_exit(0);
	}
	close(ends[0]);
	*out_end = ends[1];
	return *out_pid < 0 ? cc_fail(err, CC_ESYS, errno, "a process") : CC_OK;
}

/* A shallow repository says of some commits that they have no parents. Below the base that is nobody's business; in the
 * range it would hide what they stand on, and the agent may have written it. */
static enum cc_code check_whole(struct run *run, const char *range, struct cc_err *err)
{
	const char *words[] = {"rev-list", "--end-of-options", range, NULL};
	struct cc_buf cut, commits;
	char path[PATH_MAX];
	enum cc_code code;

	if ((size_t)snprintf(path, sizeof(path), "%s/shallow", run->dir) >= sizeof(path))
		return cc_fail(err, CC_EINVAL, 0, "%.200s is too long", run->dir);
	cc_buf_init(&cut, SHALLOW_MAX);
	code = cc_fd_read_file(path, &cut, err);
	if (code == CC_OK && cut.len) {
		code = cc_git_run(&run->git, run->dir, LIST_MAX, &commits, words, err);
		for (size_t at = 0; code == CC_OK && at < cut.len;) {
			size_t len = strcspn(cut.data + at, "\n");

			if (len && commits.len && memmem(commits.data, commits.len, cut.data + at, len))
				code = cc_fail(
					err, CC_EPOLICY, 0,
					"the history is cut off at %.12s (a shallow repository): what that commit "
					"stands on cannot be looked at; git fetch --unshallow first",
					cut.data + at);
			at += len + 1;
		}
		cc_buf_done(&commits);
	}
	cc_buf_done(&cut);
	return code == CC_ENOTFOUND ? CC_OK : code;
}

static enum cc_code look(struct run *run, const char *base, const char *head, struct cc_err *err)
{
	char range[2 * CC_REVIEW_OID + 4];
	enum cc_code code;

	snprintf(range, sizeof(range), "%s%s%s", base ? base : "", base ? ".." : "", head);
	code = off("whole") ? CC_OK : check_whole(run, range, err);
	if (code == CC_OK)
		code = judge_all(run, range, err);
	return code == CC_OK ? summarise(run, base, head, err) : code;
}

/* In a directory of its own, which is gone afterwards whatever happens. */
static enum cc_code look_apart(struct run *run, const char *base, const char *head, struct cc_err *err)
{
	const char *tmp = cc_env_get(run->ask->env, "TMPDIR");
	int end = -1;
	pid_t cleaner = -1;
	enum cc_code code;

	if ((size_t)snprintf(run->dir, sizeof(run->dir), "%s/ccbox-review.XXXXXX", tmp && *tmp == '/' ? tmp : "/tmp") >=
	    sizeof(run->dir))
		return cc_fail(err, CC_EINVAL, 0, "TMPDIR is too long");
	if (!mkdtemp(run->dir))
		return cc_fail(err, CC_ESYS, errno, "a directory for the review");
	code = keep_clean(run, &end, &cleaner, err);
	if (code == CC_OK)
		code = fetch(run, base, head, err);
	if (code == CC_OK)
		code = look(run, base, head, err);
	nftw(run->dir, forget, 16, FTW_DEPTH | FTW_PHYS);
	cc_fd_close(&end);
	while (cleaner > 0 && waitpid(cleaner, NULL, 0) < 0 && errno == EINTR)
		;
	return code;
}

enum cc_code cc_review_run(const struct cc_review_ask *ask, struct cc_review *out, struct cc_err *err)
{
	char base[CC_REVIEW_OID + 1], head[CC_REVIEW_OID + 1];
	struct run run = {.ask = ask, .review = out};
	enum cc_code code = cc_git_init(&run.git, ask->env, err);

	*out = (struct cc_review){0};
	if (code == CC_OK)
		code = cc_git_commit(&run.git, ask->dir, ask->head, head, err);
	if (code == CC_OK && ask->base)
		code = cc_git_commit(&run.git, ask->dir, ask->base, base, err);
	if (code == CC_OK && ask->ours && !cc_str_put(run.dir, sizeof(run.dir), ask->dir))
		code = cc_fail(err, CC_EINVAL, 0, "%.200s... is too long", ask->dir);
	if (code == CC_OK)
		code = ask->ours ? look(&run, ask->base ? base : NULL, head, err)
				 : look_apart(&run, ask->base ? base : NULL, head, err);
	cc_git_done(&run.git);
	if (code != CC_OK)
		cc_review_done(out);
	return code;
}

void cc_review_done(struct cc_review *review)
{
	for (size_t i = 0; i < review->count; i++)
		free(review->items[i].path), free(review->items[i].rule), free(review->items[i].why);
	free(review->items);
	free(review->stat);
	*review = (struct cc_review){0};
}
