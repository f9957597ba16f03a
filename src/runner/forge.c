/* forge.c - what a forge grants for the time of this run (contract 4.4): asked for over the daemon before the agent is
 * there, for the repositories that the checkout has as remotes, and given to it as variables. A forge that does not
 * answer takes nothing from the sandbox: the run goes on without, and its record says so. */
#define _GNU_SOURCE
#include "runner/inside.h"

#include "os/clock.h"
#include "os/peer.h"
#include "policy/net.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

enum { GRANT_MS = 120000 };

static enum cc_code ask(struct cc_job *job, struct cc_err *err)
{
	struct cc_buf text;
	struct cc_jsonw w;
	enum cc_code code;

	cc_jsonw_message(&w, &text, CC_PEER_MAX, "forge");
	cc_jsonw_kint(&w, "id", 0);
	cc_jsonw_kstr(&w, "what", "mint");
	cc_jsonw_key(&w, "repos");
	cc_jsonw_array(&w);
	for (size_t i = 0; i < job->remotes.count; i++)
		cc_jsonw_str(&w, job->remotes.at[i].repo);
	cc_jsonw_end(&w);
	cc_jsonw_end(&w);
	code = cc_buf_check(&text, "the question to a forge", err);
	if (code == CC_OK)
		code = cc_peer_send(job->link, text.data, text.len, NULL, 0, err);
	cc_buf_done(&text);
	return code;
}

/* A token is for one host: the repositories of the first remote's. The others are said. */
static void keep_one_host(struct cc_job *job)
{
	struct cc_remotes *remotes = &job->remotes;
	size_t len = remotes->count ? strcspn(remotes->at[0].repo, "/") + 1 : 0, kept = 0;
	char text[CC_REMOTE_REPO + 100];

	for (size_t i = 0; i < remotes->count; i++) {
		if (strncmp(remotes->at[i].repo, remotes->at[0].repo, len) == 0) {
			remotes->at[kept++] = remotes->at[i];
			continue;
		}
		snprintf(text, sizeof(text), "no token and no way to push for %s: a run has one forge",
			 remotes->at[i].repo);
		cc_job_note(job, CC_AGENT_DEBUG, text);
	}
	remotes->count = kept;
}

enum cc_code cc_job_grant(struct cc_job *job, struct cc_err *err)
{
	int64_t deadline = cc_clock_ms() + GRANT_MS;
	const char *dir = job->repo ? job->repo : job->place;
	struct cc_err why;

	if (job->hosts.count == 0)
		return CC_OK;
	if (cc_remotes_find(dir, job->env, &job->hosts, &job->remotes, &why) != CC_OK) {
		cc_job_note(job, CC_AGENT_DEBUG, "no token of a forge: git has no remotes to tell of here");
		return CC_OK;
	}
	keep_one_host(job);
	if (job->remotes.count == 0)
		return CC_OK;
	if (ask(job, err) != CC_OK)
		return err->code;
	while (!job->granted && !job->gone && !job->reason && cc_clock_ms() < deadline) {
		struct pollfd set = {.fd = job->link, .events = POLLIN};

		if (poll(&set, 1, 1000) > 0)
			cc_job_hear_daemon(job);
	}
	if (job->gone || job->reason)
		return cc_fail(err, CC_ESTATE, 0, "the run was ended while it waited for its forge");
	if (!job->granted)
		cc_job_note(job, CC_AGENT_ERROR, "no token of the forge: it did not answer in time");
	job->granted = true;
	return CC_OK;
}

static enum cc_code take_pairs(const struct cc_json *list, struct cc_strv *to, struct cc_err *err)
{
	enum cc_code code = CC_OK;

	for (const struct cc_json *pair = list ? list->child : NULL; code == CC_OK && pair; pair = pair->next) {
		const struct cc_json *key = pair->child, *value = key ? key->next : NULL;

		if (!value || !key->text.ptr || !value->text.ptr)
			continue;
		code = cc_strv_push(to, key->text.ptr, err);
		if (code == CC_OK)
			code = cc_strv_push(to, value->text.ptr, err);
	}
	return code;
}

void cc_job_granted(struct cc_job *job, const struct cc_json *m)
{
	const struct cc_json *env = cc_json_get(m, "env"), *notes = cc_json_get(m, "notes");
	struct cc_err err = {0};
	enum cc_code code = CC_OK;
	char text[600];

	job->granted = true;
	if (strcmp(cc_json_str(m, "what", ""), "minted") != 0) {
		snprintf(text, sizeof(text), "no token of the forge: %.500s", cc_json_str(m, "text", "it was refused"));
		cc_job_note(job, CC_AGENT_ERROR, text);
		job->remotes.count = 0;
		return;
	}
	for (const struct cc_json *item = env ? env->child : NULL; code == CC_OK && item; item = item->next)
		code = cc_strv_push(&job->environment_of, item->text.ptr ? item->text.ptr : "", &err);
	if (code == CC_OK)
		code = take_pairs(cc_json_get(m, "git"), &job->settings, &err);
	if (code != CC_OK)
		cc_job_note(job, CC_AGENT_ERROR, err.what);
	if (cc_json_bool(m, "advisory", false))
		cc_job_note(job, CC_AGENT_ERROR,
			    "the push rule is ADVISORY in this run: its token is a personal one, which cannot be "
			    "narrowed and can push by itself");
	for (const struct cc_json *note = notes ? notes->child : NULL; note; note = note->next)
		cc_job_note(job, CC_AGENT_DEBUG, note->text.ptr ? note->text.ptr : "");
}

static enum cc_code add(struct cc_strv *settings, struct cc_err *err, const char *key, const char *value)
{
	enum cc_code code = cc_strv_push(settings, key, err);

	return code == CC_OK ? cc_strv_push(settings, value, err) : code;
}

/* Only what is pushed goes to the gateway; what is fetched goes where it always does. */
static enum cc_code add_push(const struct cc_job *job, struct cc_strv *settings, struct cc_err *err)
{
	static const struct {
		const char *before, *after;
	} spellings[] = {{"https://", "/"}, {"git@", ":"}, {"ssh://git@", "/"}, {"ssh://", "/"}};
	const char *repo = job->remotes.at[0].repo;
	int host = (int)strcspn(repo, "/");
	char key[400], value[CC_REMOTE_REPO + 100];
	enum cc_code code = CC_OK;

	snprintf(key, sizeof(key), "url.http://" CC_NET_GATEWAY "/%.*s/.pushInsteadOf", host, repo);
	for (size_t i = 0; code == CC_OK && i < CC_COUNT(spellings); i++) {
		snprintf(value, sizeof(value), "%s%.*s%s", spellings[i].before, host, repo, spellings[i].after);
		code = add(settings, err, key, value);
	}
	snprintf(value, sizeof(value), "X-CC-Run: %s", job->push.secret);
	if (code == CC_OK)
		code = add(settings, err, "http.http://" CC_NET_GATEWAY "/.extraHeader", value);
	return code;
}

/* A copy has no remotes of its own (src/work): those it may use are named here. */
static enum cc_code add_remotes(const struct cc_job *job, struct cc_strv *settings, struct cc_err *err)
{
	char key[CC_REMOTE_NAME + 32], value[CC_REMOTE_REPO + 64];
	enum cc_code code = CC_OK;

	for (size_t i = 0; code == CC_OK && job->copied && i < job->remotes.count; i++) {
		const struct cc_remote *remote = &job->remotes.at[i];

		snprintf(key, sizeof(key), "remote.%s.url", remote->name);
		snprintf(value, sizeof(value), "https://%s.git", remote->repo);
		code = add(settings, err, key, value);
		snprintf(key, sizeof(key), "remote.%s.fetch", remote->name);
		snprintf(value, sizeof(value), "+refs/heads/*:refs/remotes/%s/*", remote->name);
		if (code == CC_OK)
			code = add(settings, err, key, value);
	}
	return code;
}

enum cc_code cc_job_write_environment(const struct cc_job *job, struct cc_strv *env, struct cc_err *err)
{
	struct cc_strv settings = {0};
	enum cc_code code = CC_OK;

	if (job->remotes.count == 0)
		return CC_OK;
	/* These take the place of the session's own (src/plan/env.c): nothing is signed in the person's name. */
	code = add(&settings, err, "commit.gpgSign", "false");
	if (code == CC_OK)
		code = add(&settings, err, "tag.gpgSign", "false");
	if (code == CC_OK)
		code = cc_strv_copy(&settings, &job->settings, err);
	if (code == CC_OK)
		code = add_remotes(job, &settings, err);
	if (code == CC_OK && job->push.link >= 0)
		code = add_push(job, &settings, err);
	if (code == CC_OK)
		code = cc_strv_copy(env, &job->environment_of, err);
	for (size_t i = 0; code == CC_OK && i + 1 < settings.count; i += 2) {
		code = cc_strv_pushf(env, err, "GIT_CONFIG_KEY_%zu=%s", i / 2, settings.items[i]);
		if (code == CC_OK)
			code = cc_strv_pushf(env, err, "GIT_CONFIG_VALUE_%zu=%s", i / 2, settings.items[i + 1]);
	}
	if (code == CC_OK)
		code = cc_strv_pushf(env, err, "GIT_CONFIG_COUNT=%zu", settings.count / 2);
	cc_strv_done(&settings);
	return code;
}
