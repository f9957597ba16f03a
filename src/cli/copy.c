#define _GNU_SOURCE
#include "cli/copy.h"

#include "base/mem.h"
#include "cli/cli.h"
#include "cli/config.h"
#include "policy/names.h"
#include "wire/event.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum cc_code cc_copy_dir(char *const *env, char out[PATH_MAX], struct cc_err *err)
{
	char state[PATH_MAX];

	if (!cc_state_home(env, state, sizeof(state)) || snprintf(out, PATH_MAX, "%s-copies", state) >= PATH_MAX)
		return cc_fail(err, CC_EINVAL, 0, "neither XDG_STATE_HOME nor HOME says where copies could lie");
	return CC_OK;
}

enum cc_code cc_copy_parents(const char *path, struct cc_err *err)
{
	char part[PATH_MAX];

	for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		snprintf(part, sizeof(part), "%.*s", (int)(slash - path), path);
		if (mkdir(part, 0700) < 0 && errno != EEXIST)
			return cc_fail(err, CC_ESYS, errno, "%.300s", part);
	}
	return CC_OK;
}

/* A bind that shows the original, or other copies, would make the copy a pretence. */
static enum cc_code check_binds(const struct cc_spec *spec, const char *origin, const char *copies, struct cc_err *err)
{
	const char *const apart[] = {origin, copies};

	for (size_t i = 0; i < spec->bind_count; i++)
		for (size_t k = 0; k < CC_COUNT(apart); k++) {
			struct cc_view bind = cc_view_of(spec->binds[i].host_path), other = cc_view_of(apart[k]);

			if (cc_path_within(bind, other) || cc_path_within(other, bind))
				return cc_fail(err, CC_EPOLICY, 0,
					       "--copy works apart from %.150s, and the bind %.150s shows of it",
					       apart[k], spec->binds[i].host_path);
		}
	return CC_OK;
}

enum cc_code cc_copy_turn_rules(struct cc_spec *spec, const struct cc_worktree *tree, struct cc_err *err)
{
	struct cc_strv *lists[] = {&spec->protected_paths, &spec->policy.deny_write, &spec->policy.deny_read,
				   &spec->policy.allow_paths};
	size_t len = strlen(tree->origin);
	enum cc_code code = CC_OK;

	for (size_t l = 0; l < CC_COUNT(lists); l++) {
		size_t count = lists[l]->count;

		for (size_t i = 0; code == CC_OK && i < count; i++)
			if (cc_path_within(cc_view_of(lists[l]->items[i]), cc_view_of(tree->origin)))
				code = cc_strv_pushf(lists[l], err, "%s%s", tree->path, lists[l]->items[i] + len);
	}
	return code;
}

static enum cc_code turn_binds(struct cc_start *start, const struct cc_worktree *tree, char *const *env,
			       struct cc_err *err)
{
	struct cc_spec *spec = &start->ask.spec;
	enum cc_code code = cc_spec_add_bind(spec, tree->path, !cc_mode_writes(spec->mode), err);

	for (size_t i = 0; code == CC_OK && i < tree->objects.count; i++)
		code = cc_spec_add_bind(spec, tree->objects.items[i], true, err);
	return code == CC_OK ? cc_worktree_protect(tree->origin, env, &spec->protected_paths, err) : code;
}

/* The directory of the copy that is the one people stand in. */
static enum cc_code turn_place(struct cc_start *start, const struct cc_worktree *tree, struct cc_err *err)
{
	char place[PATH_MAX], real[PATH_MAX];
	size_t len = strlen(tree->origin);
	struct stat st;

	if (!realpath(start->cwd, real) ||
	    snprintf(place, sizeof(place), "%s%s", tree->path,
		     cc_path_within(cc_view_of(real), cc_view_of(tree->origin)) ? real + len : "") >= PATH_MAX)
		return cc_fail(err, CC_EINVAL, 0, "%.200s is too long", start->cwd);
	if (start->ask.spec.guest_workdir &&
	    cc_path_within(cc_view_of(start->ask.spec.guest_workdir), cc_view_of(tree->origin)))
		return cc_fail(err, CC_EINVAL, 0,
			       "with --copy, --workdir is a directory that you bind; stand in %.200s "
			       "to start there in the copy",
			       start->ask.spec.guest_workdir);
	if (stat(place, &st) < 0 || !S_ISDIR(st.st_mode)) {
		cc_say("starting at the top of the copy: %s is not in what is committed", start->cwd);
		snprintf(place, sizeof(place), "%s", tree->path);
	}
	snprintf(start->cwd, sizeof(start->cwd), "%s", place);
	return CC_OK;
}

static void say_swept(const char *dir, char *const *env)
{
	struct cc_strv kept = {0};
	struct cc_err err;

	if (cc_worktree_sweep(dir, env, &kept, &err) != CC_OK)
		cc_say("copies of earlier sessions: %s", err.what);
	else if (kept.count)
		cc_say("%zu earlier cop%s for you to look at: ccbox apply", kept.count,
		       kept.count == 1 ? "y waits" : "ies wait");
	cc_strv_done(&kept);
}

enum cc_code cc_copy_begin(struct cc_start *start, char *const *env, struct cc_worktree *out_tree, struct cc_err *err)
{
	struct cc_ask_run *ask = &start->ask;
	char dir[PATH_MAX];
	struct cc_worktree_ask make = {.origin = start->cwd, .dir = dir, .env = env};
	enum cc_code code = cc_copy_dir(env, dir, err);

	if (code == CC_OK)
		code = cc_copy_parents(dir, err);
	if (code == CC_OK)
		code = cc_start_name(start, err);
	if (code != CC_OK)
		return code;
	say_swept(dir, env);
	make.run = ask->spec.session_id;
	code = cc_worktree_make(&make, out_tree, err);
	if (code != CC_OK)
		return code;
	code = check_binds(&ask->spec, out_tree->origin, dir, err);
	if (code == CC_OK)
		code = cc_copy_turn_rules(&ask->spec, out_tree, err);
	if (code == CC_OK)
		code = turn_place(start, out_tree, err);
	if (code == CC_OK)
		code = turn_binds(start, out_tree, env, err);
	start->copied = true;
	if (code == CC_OK && !ask->quiet)
		cc_say("copy of %s at %.12s (%s); what is not committed there is not in it", out_tree->origin,
		       out_tree->base[0] ? out_tree->base : "no commit", cc_worktree_kind_name(out_tree->kind));
	return code;
}

size_t cc_copy_refused(const struct cc_review *review)
{
	size_t refused = 0;

	for (size_t i = 0; i < review->count; i++)
		refused += review->items[i].kind == CC_REVIEW_REFUSED;
	return refused;
}

void cc_copy_print(const struct cc_review *review, FILE *to)
{
	fprintf(to, "%zu commit%s, %zu changed file%s\n%s", review->commits, review->commits == 1 ? "" : "s",
		review->entries, review->entries == 1 ? "" : "s", review->stat ? review->stat : "");
	for (size_t i = 0; i < review->count; i++) {
		const struct cc_review_finding *finding = &review->items[i];
		struct cc_buf path;

		cc_buf_init(&path, 4 * PATH_MAX);
		cc_event_safe(&path, cc_view_of(finding->path));
		fprintf(to, "%s %s; rule %s%s%s%s; commit %s\n",
			finding->kind == CC_REVIEW_REFUSED ? "refused" : "flagged", path.data ? path.data : "?",
			finding->rule, finding->why ? " (" : "", finding->why ? finding->why : "",
			finding->why ? ")" : "", finding->commit);
		cc_buf_done(&path);
	}
	if (!review->count)
		fprintf(to, "nothing that the rules refuse or flag\n");
	fflush(to); /* what is said next on the other stream stands below it */
}

enum cc_code cc_copy_rules(const char *origin, unsigned verb, char *const *argv, char *const *env,
			   struct cc_start *out_judge, struct cc_err *err)
{
	enum cc_code code = cc_start_gather(out_judge, verb, argv, env, err);

	out_judge->rules_only = true;
	out_judge->ask.copy = false;
	if (code == CC_OK && !cc_str_put(out_judge->cwd, sizeof(out_judge->cwd), origin))
		code = cc_fail(err, CC_EINVAL, 0, "%.200s is too long", origin);
	if (code == CC_OK)
		code = cc_spec_add_bind(&out_judge->ask.spec, origin, false, err);
	if (code == CC_OK)
		code = cc_start_prepare(out_judge, NULL, env, err);
	return code;
}

enum cc_code cc_copy_look(struct cc_worktree *tree, unsigned verb, char *const *argv, char *const *env,
			  struct cc_worktree_outcome *out, struct cc_err *err)
{
	struct cc_start judge;
	enum cc_code code = cc_copy_rules(tree->origin, verb, argv, env, &judge, err);

	if (code == CC_OK)
		code = cc_worktree_settle(tree, judge.prepared.rules, tree->origin, out, err);
	cc_start_done(&judge);
	return code;
}

static void say_outcome(const struct cc_worktree *tree, const struct cc_worktree_outcome *outcome)
{
	if (outcome->damaged && outcome->changed)
		cc_say("its history could not be had whole: what its files held is one commit on top of the original's");
	else if (outcome->damaged)
		cc_say("its history could not be had whole; its files are as the original's: ccbox apply %s --discard",
		       tree->run);
	for (size_t i = 0; i < outcome->left.count; i++) {
		struct cc_buf path;

		cc_buf_init(&path, 4 * PATH_MAX);
		cc_event_safe(&path, cc_view_of(outcome->left.items[i]));
		cc_say("no commit can hold %s/%s", tree->path, path.data ? path.data : "?");
		cc_buf_done(&path);
	}
	if (outcome->changed) {
		cc_copy_print(&outcome->review, stderr);
		cc_say("bring it back as the branch %s: ccbox apply %s", tree->branch, tree->run);
		cc_say("throw it away: ccbox apply %s --discard", tree->run);
	}
}

enum cc_code cc_copy_end(struct cc_worktree *tree, unsigned verb, char *const *argv, char *const *env,
			 struct cc_err *err)
{
	struct cc_worktree_outcome outcome = {0};
	struct cc_err why;
	enum cc_code code = cc_copy_look(tree, verb, argv, env, &outcome, &why);

	if (code != CC_OK)
		code = cc_fail(err, code, 0, "the copy stays as it is in %.120s: %.200s", tree->home, why.what);
	if (code == CC_OK)
		say_outcome(tree, &outcome);
	if (code == CC_OK && !outcome.left.count)
		code = outcome.changed || outcome.damaged ? cc_worktree_shrink(tree, err)
							  : cc_worktree_remove(tree, err);
	if (code == CC_OK && !outcome.changed && !outcome.damaged && !outcome.left.count)
		cc_say("the copy is as the original is");
	cc_worktree_outcome_done(&outcome);
	return code;
}
