#define _GNU_SOURCE
#include "work/review.h"

#include "base/mem.h"
#include "os/fd.h"
#include "os/proc.h"

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
	GIT_MS = 600000,
	LIST_MAX = 256 << 20,
	STAT_MAX = 1 << 20,
	FINDINGS_MAX = 10000,
	LINKS_MAX = 2000,
	TARGET_MAX = 8192
};

struct run {
	const struct cc_review_ask *ask;
	struct cc_review *review;
	char git[PATH_MAX];
	char dir[PATH_MAX]; /* ours, with the fetched objects */
	struct cc_strv env;
	size_t links;
};

/* git without anybody's configuration, hooks, replacements or helpers. */
static const char *const plain[] = {
	"GIT_CONFIG_NOSYSTEM=1",
	"GIT_CONFIG_GLOBAL=/dev/null",
	"GIT_NO_REPLACE_OBJECTS=1",
	"GIT_TERMINAL_PROMPT=0",
	"GIT_OPTIONAL_LOCKS=0",
	"GIT_ATTR_NOSYSTEM=1",
	"GIT_PAGER=cat",
	"LC_ALL=C",
};
static const char *const settings[] = {
	"core.hooksPath=/dev/null",
	"core.fsmonitor=false",
	"core.attributesFile=/dev/null",
	"protocol.allow=never",
	"protocol.file.allow=always",
	"fetch.fsckObjects=true",
	"transfer.fsckObjects=true",
	"fetch.unpackLimit=1",
	"gc.auto=0",
	"maintenance.auto=false",
	"core.alternateRefsCommand=true",
	"safe.directory=*",
};

static enum cc_code make_env(struct run *run, struct cc_err *err)
{
	enum cc_code code = CC_OK;

	for (size_t i = 0; code == CC_OK && i < CC_COUNT(plain); i++)
		code = cc_strv_push(&run->env, plain[i], err);
	if (code == CC_OK)
		code = cc_strv_pushf(&run->env, err, "PATH=%s", cc_env_path(run->ask->env));
	if (code == CC_OK)
		code = cc_strv_push(&run->env, "HOME=/nonexistent", err);
	return code;
}

/* Runs git in dir with these words (NULL at their end). */
static enum cc_code git(struct run *run, const char *dir, size_t max, struct cc_buf *out, const char *const *words,
			struct cc_err *err)
{
	struct cc_strv argv = {0};
	int status = 0;
	enum cc_code code = cc_strv_push(&argv, run->git, err);

	for (size_t i = 0; code == CC_OK && i < CC_COUNT(settings); i++) {
		code = cc_strv_push(&argv, "-c", err);
		if (code == CC_OK)
			code = cc_strv_push(&argv, settings[i], err);
	}
	for (; code == CC_OK && *words; words++)
		code = cc_strv_push(&argv, *words, err);
	cc_buf_init(out, max);
	if (code == CC_OK)
		code = cc_proc_capture(argv.items, run->env.items, dir, GIT_MS, out, &status, err);
	cc_strv_done(&argv);
	if (code == CC_OK && (!WIFEXITED(status) || WEXITSTATUS(status) != 0))
		code = cc_fail(err, CC_EPOLICY, 0,
			       "git could not do its part of the review; nothing of it is to be trusted");
	return code == CC_OK ? cc_buf_check(out, "git's answer", err) : code;
}

/* A name as the repository knows it, to an id. */
static enum cc_code resolve(struct run *run, const char *name, char out[CC_REVIEW_OID + 1], struct cc_err *err)
{
	char commit[512];
	const char *words[] = {"rev-parse", "--verify", "--quiet", "--end-of-options", commit, NULL};
	struct cc_buf text;
	size_t len;
	enum cc_code code;

	if ((size_t)snprintf(commit, sizeof(commit), "%s^{commit}", name) >= sizeof(commit))
		return cc_fail(err, CC_EINVAL, 0, "%.80s... is too long", name);
	code = git(run, run->ask->dir, 4096, &text, words, err);
	len = text.data ? strcspn(text.data, "\n") : 0;
	if (code == CC_EPOLICY || (code == CC_OK && (len < 40 || len > CC_REVIEW_OID)))
		code = cc_fail(err, CC_ENOTFOUND, 0, "%.200s names no commit in %.150s", name, run->ask->dir);
	if (code == CC_OK) {
		memcpy(out, text.data, len);
		out[len] = '\0';
	}
	cc_buf_done(&text);
	return code;
}

/* Every object comes as a pack and is hashed anew: one that was swapped is another one here, and is missed. */
static enum cc_code fetch(struct run *run, const char *base, const char *head, struct cc_err *err)
{
	char top[PATH_MAX];
	const char *const init[] = {"init", "-q", "--bare", "--template=", ".", NULL};
	const char *words[] = {
		"fetch",
		"-q",
		"--no-tags",
		"--no-write-fetch-head",
		"--no-recurse-submodules",
		"--upload-pack=git -c uploadpack.allowAnySHA1InWant=true -c safe.directory=* upload-pack",
		top,
		head,
		base,
		NULL};
	struct cc_buf text;
	enum cc_code code;

	if (!realpath(run->ask->dir, top))
		return cc_fail(err, CC_ENOTFOUND, errno, "%.200s", run->ask->dir);
	code = git(run, run->dir, 4096, &text, init, err);
	cc_buf_done(&text);
	if (code != CC_OK)
		return code;
	code = git(run, run->dir, 65536, &text, words, err);
	cc_buf_done(&text);
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
		if (cc_view_is(entry->path, review->items[i].path) && review->items[i].rule == verdict.rule)
			return CC_OK;
	if (review->count == FINDINGS_MAX)
		return cc_fail(err, CC_ELIMIT, 0, "more than %d findings: nothing of it is to be trusted",
			       FINDINGS_MAX);
	items = realloc(review->items, (review->count + 1) * sizeof(*items));
	if (!items)
		return cc_fail(err, CC_ELIMIT, 0, "out of memory");
	review->items = items;
	items[review->count] = (struct cc_review_finding){verdict.kind, verdict.rule, verdict.why,
							  strndup(entry->path.ptr, entry->path.len), ""};
	memcpy(items[review->count].commit, entry->commit.ptr, commit);
	return items[review->count++].path ? CC_OK : cc_fail(err, CC_ELIMIT, 0, "out of memory");
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
		code = git(run, run->dir, TARGET_MAX, &target, words, err);
	}
	if (code == CC_OK) {
		verdict = cc_review_judge(run->ask->rules, run->ask->root, entry, cc_buf_view(&target));
		if (verdict.kind != CC_REVIEW_FINE)
			code = add(run, entry, verdict, err);
	}
	cc_buf_done(&target);
	return code;
}

/* Each commit of the range, not only the sum: what comes and goes again stays in the history. */
static enum cc_code judge_all(struct run *run, const char *range, struct cc_err *err)
{
	const char *words[] = {"log",
			       "-z",
			       "--raw",
			       "-r",
			       "-m",
			       "--root",
			       "--no-renames",
			       "--no-abbrev",
			       "--no-ext-diff",
			       "--no-textconv",
			       "--no-mailmap",
			       "--reverse",
			       "--format=%x01%H",
			       "--end-of-options",
			       range,
			       NULL};
	struct cc_view commit = {NULL, 0}, last = {NULL, 0};
	struct cc_buf text;
	size_t at = 0;
	bool found = true;
	enum cc_code code = git(run, run->dir, LIST_MAX, &text, words, err);

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
	static const char empty[] =
		"4b825dc642cb6eb9a060e54bf8d69288fbee4904"; /* git's own name for a tree of nothing */
	const char *words[] = {
		"diff", "--stat=100", "--no-ext-diff", "--no-textconv", "--no-color", base ? base : empty, head, NULL};
	struct cc_buf text;
	enum cc_code code = git(run, run->dir, STAT_MAX, &text, words, err);

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

enum cc_code cc_review_run(const struct cc_review_ask *ask, struct cc_review *out, struct cc_err *err)
{
	char base[CC_REVIEW_OID + 1], head[CC_REVIEW_OID + 1], range[2 * CC_REVIEW_OID + 4];
	struct run run = {.ask = ask, .review = out};
	const char *tmp = cc_env_get(ask->env, "TMPDIR");
	int end = -1;
	pid_t cleaner = -1;
	enum cc_code code = cc_proc_which("git", CC_PATH_SYSTEM, run.git, sizeof(run.git), err);

	*out = (struct cc_review){0};
	if (code == CC_OK && (size_t)snprintf(run.dir, sizeof(run.dir), "%s/ccbox-review.XXXXXX",
					      tmp && *tmp == '/' ? tmp : "/tmp") >= sizeof(run.dir))
		code = cc_fail(err, CC_EINVAL, 0, "TMPDIR is too long");
	if (code == CC_OK && !mkdtemp(run.dir))
		code = cc_fail(err, CC_ESYS, errno, "a directory for the review");
	if (code != CC_OK)
		return code;
	code = keep_clean(&run, &end, &cleaner, err);
	if (code == CC_OK)
		code = make_env(&run, err);
	if (code == CC_OK)
		code = resolve(&run, ask->head, head, err);
	if (code == CC_OK && ask->base)
		code = resolve(&run, ask->base, base, err);
	if (code == CC_OK)
		code = fetch(&run, ask->base ? base : NULL, head, err);
	snprintf(range, sizeof(range), "%s%s%s", ask->base ? base : "", ask->base ? ".." : "", head);
	if (code == CC_OK)
		code = judge_all(&run, range, err);
	if (code == CC_OK)
		code = summarise(&run, ask->base ? base : NULL, head, err);
	nftw(run.dir, forget, 16, FTW_DEPTH | FTW_PHYS);
	cc_fd_close(&end);
	while (cleaner > 0 && waitpid(cleaner, NULL, 0) < 0 && errno == EINTR)
		;
	cc_strv_done(&run.env);
	if (code != CC_OK)
		cc_review_done(out);
	return code;
}

void cc_review_done(struct cc_review *review)
{
	for (size_t i = 0; i < review->count; i++)
		free(review->items[i].path);
	free(review->items);
	free(review->stat);
	*review = (struct cc_review){0};
}
