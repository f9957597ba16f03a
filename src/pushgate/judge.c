/* judge.c - what a push would bring: each commit that the upstream does not have, and all that it changes, not only the
 * sum: what comes and goes again stays in the history. What the upstream has is what it said itself. */
#define _GNU_SOURCE
#include "pushgate/inside.h"

#include "os/clock.h"
#include "os/fd.h"
#include "review/objects.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { RECORD_MAX = 1 << 20, SILENCE_MS = 600000, TARGET_MAX = 8192, LINKS_MAX = 20000 };
enum { SUBJECTS_MAX = 50 * 256, STAT_MAX = 1 << 20, TICK_MS = 500, SEEN_MAX = 64, LINK = 0120000, KIND = 0170000 };

/* One git whose list is read while it writes it. */
struct walk {
	struct cc_push *push;
	struct cc_child git;
	int fd;
	struct cc_buf text;
	bool over;
	char commit[CC_PUSH_OID + 1];
	const char *parent; /* to be looked for among the parents; NULL: none */
	bool found;
};

/* Reads on. False in *out_more: that was the end. */
static enum cc_code more(struct walk *walk, bool *out_more, struct cc_err *err)
{
	char piece[16384];
	int64_t until = cc_clock_ms() + SILENCE_MS;
	struct pollfd wait = {.fd = walk->fd, .events = POLLIN};
	ssize_t got;

	while (poll(&wait, 1, TICK_MS) <= 0)
		if (cc_clock_ms() > until || !cc_push_tick(walk->push))
			return cc_fail(err, CC_ETIMEOUT, 0, "git takes too long to list what is new");
	do {
		got = read(walk->fd, piece, sizeof(piece));
	} while (got < 0 && errno == EINTR);
	if (got > 0)
		cc_buf_add(&walk->text, piece, (size_t)got);
	*out_more = got > 0;
	return cc_buf_check(&walk->text, "an entry of git's list", err);
}

/* Size of the entry or commit that text begins with, as review/objects reads them: an entry has two fields. 0: it is
 * not whole. */
static size_t record(struct cc_view text)
{
	size_t at = 0;
	const char *end;

	while (at < text.len && (text.ptr[at] == '\n' || text.ptr[at] == '\0'))
		at++;
	end = at < text.len ? memchr(text.ptr + at, '\0', text.len - at) : NULL;
	if (end && text.ptr[at] == ':')
		end = memchr(end + 1, '\0', text.len - (size_t)(end + 1 - text.ptr));
	return end ? (size_t)(end + 1 - text.ptr) : 0;
}

/* "ID PARENT PARENT". Each commit comes once a parent. */
static void on_commit(struct walk *walk, struct cc_view line)
{
	const char *space = line.len ? memchr(line.ptr, ' ', line.len) : NULL;
	struct cc_view id = {line.ptr, space ? (size_t)(space - line.ptr) : line.len};

	if (id.len > CC_PUSH_OID || cc_view_is(id, walk->commit))
		return;
	memcpy(walk->commit, id.ptr, id.len);
	walk->commit[id.len] = '\0';
	walk->push->commits++;
	for (size_t i = 0; i < walk->push->list.count && i < SEEN_MAX; i++)
		if (strcmp(walk->push->list.items[i].new, walk->commit) == 0)
			(void)cc_str_put(walk->push->tips[i], sizeof(walk->push->tips[i]), walk->commit);
	walk->found |= walk->parent && memmem(line.ptr + id.len, line.len - id.len, walk->parent, strlen(walk->parent));
}

static enum cc_code judge_entry(struct walk *walk, const struct cc_review_entry *entry, struct cc_err *err)
{
	struct cc_push *push = walk->push;
	struct cc_review_verdict verdict;
	struct cc_buf target;
	enum cc_code code = CC_OK;
	int len = (int)(entry->path.len < 150 ? entry->path.len : 150);

	if (cc_push_off("judge"))
		return CC_OK;
	cc_buf_init(&target, TARGET_MAX);
	if ((entry->new_mode & KIND) == LINK) {
		if (++push->links > LINKS_MAX)
			code = cc_fail(err, CC_ELIMIT, 0, "it has more than %d symbolic links", LINKS_MAX);
		else
			code = cc_push_blob(push, entry->oid, &target, err);
	}
	if (code == CC_OK) {
		verdict = cc_review_judge(push->gate->rules, push->gate->root, entry, cc_buf_view(&target));
		if (verdict.kind == CC_REVIEW_REFUSED)
			cc_push_lower(push, CC_PUSH_DENY, verdict.rule, "commit %.12s has %.*s: %.120s (rule %.60s)",
				      walk->commit, len, entry->path.ptr, verdict.why ? verdict.why : "denied",
				      verdict.rule);
		if (verdict.kind != CC_REVIEW_FINE)
			cc_push_find(push, entry->path, verdict.rule, verdict.why);
		if (verdict.kind == CC_REVIEW_FLAGGED)
			cc_push_lower(push, CC_PUSH_ASK, verdict.rule, "commit %.12s has %.*s: %.120s (rule %.60s)",
				      walk->commit, len, entry->path.ptr, verdict.why ? verdict.why : "a person looks",
				      verdict.rule);
		cc_push_by_path(push, entry->path);
	}
	cc_buf_done(&target);
	return code;
}

static enum cc_code take_records(struct walk *walk, bool last, struct cc_err *err)
{
	size_t at = 0;
	enum cc_code code = CC_OK;

	while (code == CC_OK && at < walk->text.len) {
		struct cc_view rest = {walk->text.data + at, walk->text.len - at}, commit = {NULL, 0};
		size_t size = record(rest), used = 0;
		struct cc_review_entry entry;
		bool found = true;

		if (!size && !last)
			break;
		rest.len = size ? size : rest.len;
		while (code == CC_OK && found) {
			code = cc_review_next(rest, &used, &commit, &entry, &found, err);
			if (code == CC_OK && found)
				code = judge_entry(walk, &entry, err);
		}
		if (commit.ptr)
			on_commit(walk, commit);
		at += rest.len;
	}
	cc_buf_eat(&walk->text, at);
	return code;
}

/* Runs git with these words and judges each entry of its list. */
static enum cc_code walk_list(struct walk *walk, const char *const *words, int in, struct cc_err *err)
{
	bool goes_on = true;
	int status = -1;
	enum cc_code code;

	cc_buf_init(&walk->text, RECORD_MAX);
	if (in >= 0)
		(void)lseek(in, 0, SEEK_SET);
	code = cc_push_git(walk->push, words, in, &walk->git, &walk->fd, err);
	if (code != CC_OK)
		return code;
	/* once it is denied, nothing makes it better */
	while (code == CC_OK && goes_on && walk->push->verdict != CC_PUSH_DENY) {
		code = more(walk, &goes_on, err);
		if (code == CC_OK)
			code = take_records(walk, !goes_on, err);
	}
	cc_fd_close(&walk->fd);
	if (!goes_on && cc_proc_wait(&walk->git, SILENCE_MS, &status) && code == CC_OK &&
	    (!WIFEXITED(status) || WEXITSTATUS(status) != 0))
		code = cc_fail(err, CC_EPOLICY, 0, "fetch first: a part of its history is not in the run's repository");
	cc_proc_end(&walk->git);
	cc_buf_done(&walk->text);
	return code;
}

/* The tips of the push, and what the upstream has said it has, for git's --stdin. */
static enum cc_code write_revs(struct cc_push *push, struct cc_err *err)
{
	struct cc_pushgate *gate = push->gate;
	struct cc_buf text;
	char path[PATH_MAX];
	enum cc_code code;

	cc_buf_init(&text, (CC_PUSH_TIPS + CC_PUSH_COMMANDS) * (CC_PUSH_OID + 2));
	for (size_t i = 0; i < push->list.count; i++)
		if (push->list.items[i].new[0])
			cc_buf_addf(&text, "%s\n", push->list.items[i].new);
	code = cc_push_enter(gate, err);
	if (code != CC_OK)
		return code;
	for (size_t i = 0; cc_push_off("known") && i < push->list.count; i++)
		if (push->list.items[i].old[0]) /* what the client claims */
			cc_buf_addf(&text, "^%s\n", push->list.items[i].old);
	for (size_t i = 0; i < gate->known[push->repo_at].count; i++)
		cc_buf_addf(&text, "^%s\n", gate->known[push->repo_at].tips[i]);
	if ((size_t)snprintf(path, sizeof(path), "%s/revs", push->dir) < sizeof(path))
		push->revs = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	cc_push_leave(gate);
	code = cc_buf_check(&text, "the list of references", err);
	if (code == CC_OK && push->revs < 0)
		code = cc_fail(err, CC_ESYS, errno, "a file for the push");
	if (code == CC_OK)
		code = cc_fd_write_all(push->revs, text.data ? text.data : "", text.len, err);
	cc_buf_done(&text);
	return code;
}

/* Each new reference leads to a commit: one that the list of new ones has named, or one that is there. What is neither
 * (a missing object, a tag of a file) that list has passed over in silence. */
static enum cc_code find_tips(struct cc_push *push, struct cc_err *err)
{
	enum cc_code code = CC_OK;

	for (size_t i = 0; code == CC_OK && i < push->list.count; i++) {
		if (!push->list.items[i].new[0] || push->tips[i][0])
			continue;
		code = cc_push_commit(push, push->list.items[i].new, push->tips[i], err);
		if (code == CC_ENOTFOUND)
			return cc_fail(err, CC_EPOLICY, 0,
				       "%.100s would stand on %.12s, which is no commit that came with the push",
				       push->list.items[i].ref, push->list.items[i].new);
	}
	return code;
}

/* Is old a part of new? What is not known is not. */
static bool is_part(struct cc_push *push, const char *old, const char *new)
{
	const char *const words[] = {"merge-base", "--is-ancestor", old, new, NULL};
	struct cc_child git = {.pid = -1, .pidfd = -1};
	struct cc_err err;
	int fd = -1, status = -1;

	if (cc_push_git(push, words, -1, &git, &fd, &err) != CC_OK)
		return false;
	cc_fd_close(&fd);
	if (!cc_proc_wait(&git, SILENCE_MS, &status))
		status = -1;
	cc_proc_end(&git);
	return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* What replaces history. lone: the one command, whose answer the list of commits has given already. */
static enum cc_code find_forced(struct cc_push *push, const char *lone, bool *forced, struct cc_err *err)
{
	char old[CC_PUSH_OID + 1];
	enum cc_code code = CC_OK;

	for (size_t i = 0; code == CC_OK && i < push->list.count; i++) {
		const struct cc_push_command *command = &push->list.items[i];

		if (!command->old[0] || !command->new[0] || command->new == lone)
			continue;
		code = cc_push_commit(push, command->old, old, err);
		forced[i] = code == CC_ENOTFOUND || (code == CC_OK && !is_part(push, old, command->new));
		if (code == CC_ENOTFOUND) {
			code = CC_OK;
			cc_push_unknown(push, i);
		}
	}
	if (code == CC_OK)
		cc_push_by_refs(push, forced);
	return code;
}

/* Between what stands there and what is to stand there, for rules about paths: a branch may go on over commits that the
 * upstream has on another one. */
static enum cc_code judge_ends(struct cc_push *push, struct cc_err *err)
{
	enum cc_code code = CC_OK;

	for (size_t i = 0; code == CC_OK && push->verdict != CC_PUSH_DENY && i < push->list.count; i++) {
		const struct cc_push_command *command = &push->list.items[i];
		const char *const words[] = {"diff-tree",     "-r",          "-z",         "--raw",      "--no-renames",
					     "--no-ext-diff", "--no-abbrev", command->old, command->new, NULL};
		struct walk walk = {.push = push, .fd = -1};

		if (command->old[0] && command->new[0])
			code = walk_list(&walk, words, -1, err);
	}
	return code;
}

enum cc_code cc_push_judge(struct cc_push *push, struct cc_err *err)
{
	const char *const words[] = {CC_GIT_ENTRIES, "--format=%x01%H %P", "--ignore-missing", "--stdin", NULL};
	const struct cc_push_command *first = push->list.items;
	bool minds = cc_push_minds_paths(&push->gate->push, push->repo);
	bool *forced = calloc(push->list.count, sizeof(*forced));
	struct walk walk = {.push = push, .fd = -1};
	enum cc_code code = forced ? CC_OK : cc_fail(err, CC_ELIMIT, 0, "out of memory");

	/* the usual push: its list of commits says by itself that the branch goes on */
	if (push->list.count == 1 && first->old[0] && first->new[0] && !minds)
		walk.parent = first->old;
	if (code == CC_OK && !walk.parent)
		code = find_forced(push, NULL, forced, err);
	if (code == CC_OK)
		code = write_revs(push, err);
	if (code == CC_OK)
		code = walk_list(&walk, words, push->revs, err);
	if (code == CC_OK && push->verdict != CC_PUSH_DENY)
		code = find_tips(push, err);
	if (code == CC_OK && walk.parent && push->verdict != CC_PUSH_DENY)
		code = find_forced(push, walk.found ? first->new : NULL, forced, err);
	if (code == CC_OK && minds)
		code = judge_ends(push, err);
	free(forced);
	return code;
}

static enum cc_code gather(struct cc_push *push, const char *const *words, int in, struct cc_buf *out,
			   struct cc_err *err)
{
	struct walk walk = {.push = push, .fd = -1};
	bool goes_on = true;
	int status = -1;
	enum cc_code code;

	cc_buf_init(&walk.text, STAT_MAX);
	if (in >= 0)
		(void)lseek(in, 0, SEEK_SET);
	code = cc_push_git(push, words, in, &walk.git, &walk.fd, err);
	while (code == CC_OK && goes_on)
		code = more(&walk, &goes_on, err);
	cc_fd_close(&walk.fd);
	if (code == CC_OK && (!cc_proc_wait(&walk.git, SILENCE_MS, &status) || status != 0))
		code = cc_fail(err, CC_EPOLICY, 0, "git cannot sum it up");
	cc_proc_end(&walk.git);
	if (code == CC_OK)
		cc_buf_add(out, walk.text.data ? walk.text.data : "", walk.text.len);
	cc_buf_done(&walk.text);
	return code;
}

enum cc_code cc_push_describe(struct cc_push *push, struct cc_err *err)
{
	const char *const subjects[] = {"log", "-z", "-n50", "--format=%H %s", "--ignore-missing", "--stdin", NULL};
	const char *const each[] = {"log",
				    "-n50",
				    "-m",
				    "--stat=100",
				    "--format=%h %s",
				    "--no-ext-diff",
				    "--no-color",
				    "--no-textconv",
				    "--ignore-missing",
				    "--stdin",
				    NULL};
	struct cc_buf stat, lines;
	enum cc_code code = CC_OK;

	if (push->revs < 0)
		return CC_OK; /* only taken away: there is nothing to sum up */
	cc_buf_init(&push->subjects, SUBJECTS_MAX);
	cc_buf_init(&stat, STAT_MAX);
	cc_buf_init(&lines, STAT_MAX);
	if (push->commits)
		code = gather(push, subjects, push->revs, &lines, err);
	for (size_t at = 0; at < lines.len; at += strlen(lines.data + at) + 1)
		cc_buf_addf(&push->subjects, "%.250s%c", lines.data + at, '\0');
	cc_buf_done(&lines);
	for (size_t i = 0; code == CC_OK && i < push->list.count; i++) {
		const struct cc_push_command *command = &push->list.items[i];
		const char *const sum[] = {"diff",       "--stat=100", "--no-ext-diff", "--no-textconv",
					   "--no-color", command->old, command->new,    NULL};

		if (command->old[0] && command->new[0] && push->list.count == 1)
			code = gather(push, sum, -1, &stat, err);
	}
	if (code == CC_OK && stat.len == 0)
		code = gather(push, each, push->revs, &stat, err);
	if (code == CC_OK)
		push->stat = cc_str_copy(stat.data ? stat.data : "");
	cc_buf_done(&stat);
	return code == CC_OK ? cc_buf_check(&push->subjects, "the subjects", err) : code;
}
