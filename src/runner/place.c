/* place.c - where the agent works: a copy of the checkout (src/work), which nobody else works in and whose original it
 * never sees, or a directory that was named. And what comes of the copy: commits on a branch that waits for a person.
 */
#define _GNU_SOURCE
#include "runner/inside.h"

#include "cli/config.h"
#include "cli/copy.h"
#include "os/fd.h"
#include "work/git.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { DIFF_MAX = 4 << 20, STAT_MAX = 8 << 10, FINDINGS_TOLD = 50 };

/* Rules of the host's, the person's and the original's own files that name something below the original. */
static enum cc_code turn_rules(struct cc_job *job, struct cc_err *err)
{
	struct cc_spec *turned = &job->turned;
	struct cc_strv *lists[] = {&turned->protected_paths, &turned->policy.deny_write, &turned->policy.deny_read,
				   &turned->policy.allow_paths};
	struct cc_spec all;
	struct cc_strv *from[] = {&all.protected_paths, &all.policy.deny_write, &all.policy.deny_read,
				  &all.policy.allow_paths};
	size_t before[CC_COUNT(lists)];
	enum cc_code code;

	cc_spec_init(&all);
	code = cc_config_files(job->env, job->tree.origin, &all.policy, err);
	for (size_t i = 0; i < CC_COUNT(from); i++)
		before[i] = from[i]->count;
	if (code == CC_OK)
		code = cc_copy_turn_rules(&all, &job->tree, err);
	/* the session's owner reads those files again: only what was turned is added */
	for (size_t i = 0; i < CC_COUNT(from); i++)
		for (size_t k = before[i]; code == CC_OK && k < from[i]->count; k++)
			code = cc_strv_push(lists[i], from[i]->items[k], err);
	cc_spec_done(&all);
	return code;
}

static enum cc_code make_copy(struct cc_job *job, struct cc_err *err)
{
	char dir[PATH_MAX];
	struct cc_worktree_ask ask = {
		.origin = job->repo, .dir = dir, .run = job->id, .base = job->wanted.base, .env = job->env};
	enum cc_code code = cc_copy_dir(job->env, dir, err);

	if (code == CC_OK)
		code = cc_copy_parents(dir, err);
	if (code == CC_OK)
		code = cc_worktree_make(&ask, &job->tree, err);
	job->copied = code == CC_OK;
	job->kind = cc_worktree_kind_name(job->tree.kind);
	if (code == CC_OK)
		code = cc_strv_copy(&job->reads, &job->tree.objects, err);
	if (code == CC_OK)
		code = cc_worktree_protect(job->tree.origin, job->env, &job->protect, err);
	if (code == CC_OK)
		code = turn_rules(job, err);
	if (code == CC_OK && !cc_str_put(job->place, sizeof(job->place), job->tree.path))
		code = cc_fail(err, CC_EINVAL, 0, "%.200s is too long", job->tree.path);
	return code;
}

/* What the host's, the person's and the project's own files say of actions; read before the agent works. */
static enum cc_code take_stored(struct cc_job *job, const char *cwd, struct cc_err *err)
{
	struct cc_policy policy;
	enum cc_code code;

	cc_policy_init(&policy);
	code = cc_config_files(job->env, cwd, &policy, err);
	if (code == CC_OK && policy.actions.count > CC_JOB_STORED)
		code = cc_fail(err, CC_ELIMIT, 0, "the policy files have more than %d actions", CC_JOB_STORED);
	for (size_t i = 0; code == CC_OK && i < policy.actions.count; i++) {
		code = cc_action_stored(policy.actions.items[i], &job->rules[job->rule_count], err);
		job->rule_count += code == CC_OK;
	}
	cc_policy_done(&policy);
	return code;
}

enum cc_code cc_job_place(struct cc_job *job, struct cc_err *err)
{
	enum cc_code code = take_stored(job, job->repo ? job->repo : job->wanted.directory, err);

	if (code != CC_OK)
		return code;
	if (job->repo)
		return make_copy(job, err);
	if (!realpath(job->wanted.directory, job->place))
		return cc_fail(err, CC_ENOTFOUND, errno, "the directory %.300s", job->wanted.directory);
	return CC_OK;
}

/* What changed, as git shows it, out of the repository that is ours: nothing of the agent's is executed or trusted. */
static enum cc_code write_diff(const struct cc_job *job, struct cc_err *err)
{
	const struct cc_worktree *tree = &job->tree;
	const char *words[] = {"diff", "--no-color", "--no-ext-diff", "--no-textconv", tree->base, tree->head,
			       "--",   NULL};
	char ours[PATH_MAX], path[PATH_MAX];
	struct cc_git git = {0};
	CC_AUTO_FD fd = -1;
	struct cc_buf out;
	enum cc_code code = cc_git_init(&git, job->env, err);

	if (!tree->base[0])
		words[4] = cc_git_empty_tree(tree->hash);
	snprintf(ours, sizeof(ours), "%s/ours", tree->home);
	snprintf(path, sizeof(path), "%s/runs/%s.diff", job->data_dir, job->id);
	cc_buf_init(&out, DIFF_MAX);
	if (code == CC_OK)
		code = cc_git_run(&git, ours, DIFF_MAX, &out, words, err);
	if (code == CC_OK) {
		fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
		code = fd < 0 ? cc_fail(err, CC_ESYS, errno, "cannot make %s", path)
			      : cc_fd_write_all(fd, out.data ? out.data : "", out.len, err);
	}
	cc_buf_done(&out);
	cc_git_done(&git);
	return code;
}

/* What killed runs left, now that nobody waits for this one. */
static void sweep(struct cc_job *job)
{
	struct cc_strv kept = {0};
	char dir[PATH_MAX];
	struct cc_err err;

	if (cc_copy_dir(job->env, dir, &err) != CC_OK || cc_worktree_sweep(dir, job->env, &kept, &err) != CC_OK)
		cc_job_note(job, CC_AGENT_DEBUG, err.what);
	cc_strv_done(&kept);
}

void cc_job_settle(struct cc_job *job)
{
	static char *no_words[] = {NULL};
	struct cc_worktree_outcome *out = &job->outcome;
	struct cc_err err;
	char text[600];
	enum cc_code code;

	if (!job->copied || job->gone)
		return;
	code = cc_copy_look(&job->tree, CC_FOR_EXPLAIN, no_words, job->env, out, &err);
	job->settled = code == CC_OK;
	if (code == CC_OK && out->changed && write_diff(job, &err) != CC_OK)
		cc_job_note(job, CC_AGENT_ERROR, err.what);
	if (code == CC_OK && !out->left.count)
		code = out->changed || out->damaged ? cc_worktree_shrink(&job->tree, &err)
						    : cc_worktree_remove(&job->tree, &err);
	if (code != CC_OK) {
		snprintf(text, sizeof(text), "the copy stays as it is in %.150s: %.300s", job->tree.home, err.what);
		cc_job_note(job, CC_AGENT_ERROR, text);
	}
	sweep(job);
}

static void write_findings(const struct cc_review *review, struct cc_jsonw *w)
{
	size_t refused = 0;

	cc_jsonw_key(w, "findings");
	cc_jsonw_array(w);
	for (size_t i = 0; i < review->count; i++) {
		const struct cc_review_finding *finding = &review->items[i];

		refused += finding->kind == CC_REVIEW_REFUSED;
		if (i >= FINDINGS_TOLD)
			continue;
		cc_jsonw_object(w);
		cc_jsonw_kstr(w, "verdict", finding->kind == CC_REVIEW_REFUSED ? "refused" : "flagged");
		cc_jsonw_key(w, "path");
		cc_jsonw_view(w, (struct cc_view){finding->path, strnlen(finding->path, 300)});
		cc_jsonw_kstr(w, "rule", finding->rule);
		cc_jsonw_kstr(w, "commit", finding->commit);
		cc_jsonw_end(w);
	}
	cc_jsonw_end(w);
	cc_jsonw_kint(w, "refusedFindings", (int64_t)refused);
}

void cc_job_write_outcome(const struct cc_job *job, struct cc_jsonw *w)
{
	const struct cc_worktree_outcome *out = &job->outcome;
	const char *stat = out->review.stat ? out->review.stat : "";

	if (!job->settled)
		return;
	cc_jsonw_kstr(w, "copy", job->kind);
	cc_jsonw_kbool(w, "changed", out->changed);
	cc_jsonw_kbool(w, "rescued", out->rescued);
	if (out->damaged)
		cc_jsonw_kbool(w, "damaged", true);
	if (!out->changed)
		return;
	cc_jsonw_kstr(w, "branch", job->tree.branch);
	cc_jsonw_kstr(w, "head", job->tree.head);
	cc_jsonw_kint(w, "commits", (int64_t)out->review.commits);
	cc_jsonw_kint(w, "filesChanged", (int64_t)out->review.entries);
	cc_jsonw_key(w, "stat");
	cc_jsonw_view(w, (struct cc_view){stat, strnlen(stat, STAT_MAX)});
	write_findings(&out->review, w);
}
