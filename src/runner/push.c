/* push.c - this run's push gateway, cc-push: started with what it may judge by, given the connections from inside, and
 * asked nothing of that could not be asked of a stranger: it reads what the agent wrote. It has no token and no
 * network; what it wants of a forge goes over the daemon to cc-forge, which has both. */
#define _GNU_SOURCE
#include "runner/inside.h"

#include "cli/copy.h"
#include "os/clock.h"
#include "os/fd.h"
#include "os/peer.h"
#include "wire/pushmsg.h"
#include "wire/ruleset.h"
#include "work/files.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static enum cc_code make_dir(struct cc_job *job, struct cc_err *err)
{
	char above[PATH_MAX];

	snprintf(above, sizeof(above), "%s/push", job->data_dir);
	if (mkdir(above, 0700) < 0 && errno != EEXIST)
		return cc_fail(err, CC_ESYS, errno, "cannot make %s", above);
	if (snprintf(job->push.dir, sizeof(job->push.dir), "%s/%s", above, job->id) >= (int)sizeof(job->push.dir))
		return cc_fail(err, CC_EINVAL, 0, "%.200s is too long", above);
	if (mkdir(job->push.dir, 0700) < 0) {
		job->push.dir[0] = '\0';
		return cc_fail(err, CC_ESYS, errno, "cannot make %s/%s", above, job->id);
	}
	return CC_OK;
}

static void make_secret(struct cc_pushgate *push)
{
	unsigned char random[CC_JOB_SECRET];

	cc_random(random, sizeof(random));
	for (size_t i = 0; i < sizeof(random); i++)
		snprintf(push->secret + 2 * i, 3, "%02x", random[i]);
	explicit_bzero(random, sizeof(random));
}

/* The git directory of the original, whose objects the forge has too, mostly. */
static bool lender(const struct cc_job *job, char out[PATH_MAX])
{
	static const char end[] = "/objects";
	const char *objects = job->copied && job->tree.lenders.count ? job->tree.lenders.items[0] : "";
	size_t len = strlen(objects);

	if (len < sizeof(end) || len >= PATH_MAX || strcmp(objects + len - (sizeof(end) - 1), end) != 0)
		return false;
	memcpy(out, objects, len - (sizeof(end) - 1));
	out[len - (sizeof(end) - 1)] = '\0';
	return true;
}

/* The rules are those that hold in the checkout for who works there: what may not come to be there may not be pushed
 * from its copy either. */
static enum cc_code write_start(const struct cc_job *job, struct cc_buf *text, struct cc_err *err)
{
	static char *no_words[] = {NULL};
	const char *root = job->copied ? job->tree.origin : job->place;
	char git_dir[PATH_MAX], copy[PATH_MAX + 8];
	struct cc_start judge;
	struct cc_jsonw w;
	enum cc_code code = cc_copy_rules(root, CC_FOR_EXPLAIN, no_words, job->env, &judge, err);

	if (code == CC_OK) {
		cc_jsonw_init(&w, text);
		cc_jsonw_object(&w);
		cc_jsonw_kstr(&w, "runId", job->id);
		cc_jsonw_kstr(&w, "secret", job->push.secret);
		cc_jsonw_kstr(&w, "dir", job->push.dir);
		cc_jsonw_kstr(&w, "objects", lender(job, git_dir) ? git_dir : NULL);
		snprintf(copy, sizeof(copy), "%s/.git", job->place);
		cc_jsonw_kstr(&w, "copy", copy);
		if (job->copied && job->tree.base[0])
			cc_jsonw_kstr(&w, "base", job->tree.base);
		cc_jsonw_kstr(&w, "root", root);
		cc_jsonw_key(&w, "rules");
		cc_ruleset_write(&w, judge.prepared.rules);
		cc_jsonw_key(&w, "repositories");
		cc_jsonw_array(&w);
		for (size_t i = 0; i < job->remotes.count; i++)
			cc_jsonw_str(&w, job->remotes.at[i].repo);
		cc_jsonw_end(&w);
		cc_jsonw_key(&w, "push");
		cc_jsonw_raw(&w, job->push_rules);
		cc_jsonw_end(&w);
		code = cc_buf_check(text, "the start of the push gateway", err);
	}
	cc_start_done(&judge);
	return code;
}

static enum cc_code start(struct cc_job *job, struct cc_err *err)
{
	CC_AUTO_FD theirs = -1;
	CC_AUTO_FD document = -1;
	char fd_text[16], files_text[24];
	char *argv[] = {job->push_path, fd_text, files_text, NULL};
	struct cc_spawn how = {.argv = argv,
			       .envp = job->env,
			       .stdio = {-1, STDERR_FILENO, STDERR_FILENO},
			       .cwd = "/",
			       .keep_count = 1,
			       .die_with_parent = true};
	struct rlimit files = {0};
	struct cc_buf text;
	enum cc_code code;

	getrlimit(RLIMIT_NOFILE, &files);
	snprintf(files_text, sizeof(files_text), "%llu", (unsigned long long)files.rlim_cur);
	cc_buf_init(&text, CC_PUSH_START_MAX);
	code = write_start(job, &text, err);
	if (code == CC_OK)
		code = cc_fd_memfile("ccbox-push", text.data, text.len, &document, err);
	if (text.data)
		explicit_bzero(text.data, text.len);
	cc_buf_done(&text);
	if (code == CC_OK)
		code = cc_peer_pair(&job->push.link, &theirs, err);
	how.keep[0] = theirs;
	snprintf(fd_text, sizeof(fd_text), "%d", theirs);
	if (code == CC_OK)
		code = cc_proc_spawn(&how, &job->push.child, err);
	if (code == CC_OK)
		code = cc_peer_send(job->push.link, "{\"m\":\"start\"}", 13, &document, 1, err);
	return code;
}

void cc_push_begin(struct cc_job *job)
{
	bool native = job->backend && strcmp(job->backend, "native") == 0;
	struct cc_err err = {0};
	char text[600];

	if (job->remotes.count == 0)
		return;
	if (!native || !cc_job_may_network(job)) {
		cc_job_note(
			job, CC_AGENT_DEBUG,
			native ? "no push gateway: this run has no network"
			       : "no push gateway: it is reached from inside a sandbox only, and this run has none");
		return;
	}
	make_secret(&job->push);
	if (make_dir(job, &err) == CC_OK && start(job, &err) == CC_OK) {
		snprintf(text, sizeof(text), "what git pushes to %.300s goes through this run's gateway",
			 job->remotes.at[0].repo);
		cc_job_note(job, CC_AGENT_DEBUG, text);
		return;
	}
	snprintf(text, sizeof(text), "no push gateway, so nothing can be pushed: %.500s", err.what);
	cc_job_note(job, CC_AGENT_ERROR, text);
	cc_push_end(job);
}

void cc_push_end(struct cc_job *job)
{
	struct cc_pushgate *push = &job->push;
	char *name = strrchr(push->dir, '/');
	struct cc_err err;

	if (push->dir[0] == '\0')
		return;
	cc_fd_close(&push->link);
	cc_proc_end_group(&push->child, 0);
	explicit_bzero(push->secret, sizeof(push->secret));
	*name = '\0';
	if (cc_files_remove(push->dir, name + 1, &err) != CC_OK && err.code != CC_ENOTFOUND)
		cc_job_note(job, CC_AGENT_ERROR, err.what);
	push->dir[0] = '\0';
}

/* ---- its words */

static void pass_on(struct cc_job *job, const struct cc_json *m, const struct cc_peer_msg *msg)
{
	static const char *const members[] = {"repo", "encoding", "protocol"};
	struct cc_buf text;
	struct cc_jsonw w;
	struct cc_err err;

	cc_jsonw_message(&w, &text, CC_PEER_MAX, "forge");
	cc_jsonw_kint(&w, "id", cc_json_int(m, "id", 0));
	cc_jsonw_kstr(&w, "what", cc_json_str(m, "service", ""));
	for (size_t i = 0; i < CC_COUNT(members); i++)
		if (cc_json_str(m, members[i], NULL))
			cc_jsonw_kstr(&w, members[i], cc_json_str(m, members[i], NULL));
	cc_jsonw_end(&w);
	if (text.failed || cc_peer_send(job->link, text.data, text.len, msg->fds, msg->fd_count, &err) != CC_OK)
		job->gone = true;
	cc_buf_done(&text);
}

static void on_ask(struct cc_job *job, const struct cc_json *m, const struct cc_peer_msg *msg)
{
	(void)msg;
	cc_job_ask_push(job, cc_json_int(m, "id", 0), cc_json_get(m, "e"));
}

static void on_settled(struct cc_job *job, const struct cc_json *m, const struct cc_peer_msg *msg)
{
	(void)msg;
	cc_job_withdraw_push(job, cc_json_int(m, "id", 0));
}

static void on_event(struct cc_job *job, const struct cc_json *m, const struct cc_peer_msg *msg)
{
	const struct cc_json *e = cc_json_get(m, "e");
	bool allowed = strcmp(cc_json_str(e, "verdict", ""), "allowed") == 0;
	struct cc_agent_event event = {.type = CC_AGENT_DECISION,
				       .tool = "git push",
				       .detail = e,
				       .verdict = allowed ? CC_GUARD_ALLOW : CC_GUARD_DENY,
				       .rule = cc_json_str(e, "rule", NULL),
				       .text = cc_view_of(cc_json_str(e, "reason", "")),
				       .by = "push rule"};

	(void)msg;
	cc_job_event(job, &event);
}

static const struct {
	const char *name;
	void (*handle)(struct cc_job *job, const struct cc_json *m, const struct cc_peer_msg *msg);
} messages[] = {{"forward", pass_on}, {"ask", on_ask}, {"settled", on_settled}, {"event", on_event}};

void cc_push_hear(struct cc_job *job)
{
	static struct cc_peer_msg msg;
	CC_AUTO(cc_json_doc) doc = NULL;
	struct cc_err err;

	if (cc_peer_recv(job->push.link, &msg, &err) != CC_OK || msg.len == 0 ||
	    cc_json_parse("cc-push", (struct cc_view){msg.text, msg.len}, 0, &doc, &err) != CC_OK) {
		cc_peer_msg_close(&msg);
		cc_job_note(job, CC_AGENT_ERROR, "the push gateway has ended: nothing can be pushed any more");
		cc_push_end(job);
		return;
	}
	for (size_t i = 0; i < CC_COUNT(messages); i++)
		if (strcmp(messages[i].name, cc_json_str(cc_json_root(doc), "m", "")) == 0)
			messages[i].handle(job, cc_json_root(doc), &msg);
	cc_peer_msg_close(&msg);
}

static void tell(struct cc_job *job, struct cc_buf *text, const int *fd)
{
	struct cc_err err;

	/* that it has ended is heard with its next word, which is its last */
	if (!text->failed && job->push.link >= 0)
		(void)!cc_peer_send(job->push.link, text->data, text->len, fd, fd != NULL, &err);
	cc_buf_done(text);
}

void cc_push_connect(struct cc_job *job, int fd)
{
	struct cc_buf text;

	cc_buf_init(&text, 100);
	cc_buf_adds(&text, "{\"m\":\"conn\"}");
	tell(job, &text, &fd);
	cc_fd_close(&fd);
}

void cc_push_forge(struct cc_job *job, const struct cc_json *m)
{
	static const char *const but[] = {"m", "what", NULL};
	struct cc_buf text;
	struct cc_jsonw w;

	cc_jsonw_message(&w, &text, CC_PEER_MAX, strcmp(cc_json_str(m, "what", ""), "done") == 0 ? "done" : "failed");
	cc_jsonw_members(&w, m, but);
	cc_jsonw_end(&w);
	tell(job, &text, NULL);
}

void cc_push_answer(struct cc_job *job, int64_t number, bool allow, const char *by)
{
	struct cc_buf text;
	struct cc_jsonw w;

	cc_jsonw_message(&w, &text, CC_PEER_MAX, "answer");
	cc_jsonw_kint(&w, "id", number);
	cc_jsonw_kbool(&w, "allow", allow);
	cc_jsonw_kstr(&w, "by", by);
	cc_jsonw_end(&w);
	tell(job, &text, NULL);
}
