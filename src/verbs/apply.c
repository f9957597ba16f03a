#define _GNU_SOURCE
#include "cli/config.h"
#include "cli/copy.h"
#include "verbs/verbs.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { REFUSED = 1 };

struct apply {
	const char *run;
	bool accept, discard;
};

static enum cc_code take_words(char *const *words, struct apply *ask, struct cc_err *err)
{
	for (; *words; words++) {
		if (strcmp(*words, "--accept") == 0)
			ask->accept = true;
		else if (strcmp(*words, "--discard") == 0)
			ask->discard = true;
		else if (!ask->run && **words != '-')
			ask->run = *words;
		else
			return cc_fail(err, CC_EINVAL, 0, "ccbox apply [OPTIONS] [RUN [--accept|--discard]]");
	}
	if ((ask->accept || ask->discard) && (!ask->run || ask->accept == ask->discard))
		return cc_fail(err, CC_EINVAL, 0, "--accept or --discard follows the one run that is meant");
	return CC_OK;
}

static enum cc_code list(const char *dir, char *const *env, struct cc_err *err)
{
	struct cc_strv kept = {0}, runs = {0};
	enum cc_code code = cc_worktree_sweep(dir, env, &kept, err);

	if (code == CC_OK)
		code = cc_worktree_list(dir, &runs, err);
	for (size_t i = 0; code == CC_OK && i < runs.count; i++) {
		struct cc_worktree tree = {0};
		struct cc_err why;

		if (cc_worktree_open(dir, runs.items[i], env, &tree, &why) != CC_OK)
			printf("%s  %s\n", runs.items[i], why.what);
		else if (!tree.settled)
			printf("%s  %s  not settled: its copy stays in %s\n", tree.run, tree.origin, tree.path);
		else
			printf("%s  %s  %.12s..%.12s%s\n", tree.run, tree.origin, tree.base, tree.head,
			       tree.left.count ? "  with files that no commit holds" : "");
		cc_worktree_done(&tree);
	}
	if (code == CC_OK && !runs.count)
		cc_say("no copy waits");
	cc_strv_done(&runs);
	cc_strv_done(&kept);
	return code;
}

static enum cc_code bring_back(struct cc_worktree *tree, const struct apply *ask, char *const *argv, char *const *env,
			       bool *out_refused, struct cc_err *err)
{
	struct cc_worktree_outcome outcome = {0};
	enum cc_code code = CC_OK;

	/* the project's file and what git executes there are found from where the original is */
	if (chdir(tree->origin) < 0)
		code = cc_fail(err, CC_ENOTFOUND, errno, "the original, %.300s", tree->origin);
	if (code == CC_OK)
		code = cc_copy_look(tree, CC_FOR_EXPLAIN, argv, env, &outcome, err);
	if (code == CC_OK && outcome.changed)
		cc_copy_print(&outcome.review, stdout);
	*out_refused = code == CC_OK && !ask->accept && cc_copy_refused(&outcome.review) > 0;
	if (*out_refused)
		cc_say("nothing was brought back; if it is what you want: ccbox apply %s --accept", tree->run);
	if (code == CC_OK && !*out_refused) {
		/* who asks for it has just been shown what is flagged */
		code = cc_worktree_bring_back(tree, &outcome, true, err);
		if (code == CC_OK)
			printf("%s has the branch %s; nothing else changed there\n", tree->origin, tree->branch);
		if (code == CC_OK && outcome.left.count)
			cc_say("%s stays: no commit could hold all of it", tree->path);
		else if (code == CC_OK)
			code = cc_worktree_remove(tree, err);
	}
	cc_worktree_outcome_done(&outcome);
	return code;
}

int cc_verb_apply(char *const *argv, char *const *env)
{
	struct apply ask = {0};
	struct cc_start start;
	struct cc_worktree tree = {0};
	char dir[PATH_MAX];
	bool refused = false;
	struct cc_err err = {0};
	enum cc_code code = cc_start_gather(&start, CC_FOR_EXPLAIN, argv, env, &err);

	if (code == CC_OK)
		code = take_words(cc_start_command(&start, argv), &ask, &err);
	if (code == CC_OK)
		code = cc_copy_dir(env, dir, &err);
	if (code == CC_OK && ask.run) {
		code = cc_worktree_open(dir, ask.run, env, &tree, &err);
		if (code == CC_OK)
			code = ask.discard ? cc_worktree_remove(&tree, &err)
					   : bring_back(&tree, &ask, argv, env, &refused, &err);
	} else if (code == CC_OK) {
		code = list(dir, env, &err);
	}
	cc_worktree_done(&tree);
	cc_start_done(&start);
	if (code != CC_OK)
		return cc_give_up(&err);
	return refused ? REFUSED : 0;
}
