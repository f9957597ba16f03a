#define _GNU_SOURCE
#include "forges/inside.h"

#include "os/fd.h"
#include "push/rule.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { END_MS = 10000 };

static enum cc_code read_file(const char *path, struct cc_buf *out, struct cc_err *err)
{
	CC_AUTO_FD fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	struct stat st;

	if (fd < 0 && errno == ENOENT)
		return CC_ENOTFOUND;
	if (fd < 0 || fstat(fd, &st) < 0)
		return cc_fail(err, CC_ESYS, errno, "cannot read %s", path);
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 077))
		return cc_fail(
			err, CC_EINVAL, 0,
			"%s says who may push: it has to be a file of yours that nobody else can read (chmod 600)",
			path);
	return cc_fd_read_all(fd, out, err);
}

static enum cc_code wrong(const struct cc_json *at, const char *what, struct cc_err *err)
{
	return cc_fail(err, CC_EINVAL, 0, "forges.json:%u:%u: %s", at ? at->line : 1, at ? at->column : 1, what);
}

static enum cc_code take_hosts(struct cc_forges *forges, const struct cc_json *list, struct cc_err *err)
{
	enum cc_code code = CC_OK;

	if (!list || list->kind != CC_JSON_ARRAY || list->count == 0 || list->count > 32)
		return wrong(list, "\"forges\" is a list of at least one forge", err);
	for (const struct cc_json *m = list->child; code == CC_OK && m; m = m->next) {
		const char *host = cc_json_str(m, "host", "");

		if (!host[0] || !cc_json_str(m, "kind", "")[0])
			return wrong(m, "a forge has a \"kind\" and a \"host\"", err);
		if (cc_strv_has(&forges->hosts, host))
			return wrong(m, "this host stands here twice", err);
		code = cc_strv_push(&forges->hosts, host, err);
	}
	return code;
}

/* By the reader that cc-push has, so that a rule is not found wrong only when somebody pushes. */
static enum cc_code check_rules(const struct cc_json *list, struct cc_err *err)
{
	struct cc_push_rules rules;
	struct cc_err why;
	enum cc_code code = cc_push_rules_read(list, &rules, &why);

	if (code == CC_OK)
		cc_push_rules_done(&rules);
	return code == CC_OK ? CC_OK : wrong(list, why.what, err);
}

static enum cc_code take(struct cc_forges *forges, const struct cc_json *root, struct cc_err *err)
{
	const struct cc_json *push = cc_json_get(root, "push");
	struct cc_buf text, rules;
	struct cc_jsonw w;
	enum cc_code code = CC_OK;

	for (const struct cc_json *m = root->kind == CC_JSON_OBJECT ? root->child : NULL; m; m = m->next)
		if (!cc_view_is(m->key, "forges") && !cc_view_is(m->key, "push"))
			return wrong(m, "only \"forges\" and \"push\" stand here", err);
	if (push && push->kind != CC_JSON_ARRAY)
		return wrong(push, "\"push\" is a list of rules", err);
	code = take_hosts(forges, cc_json_get(root, "forges"), err);
	if (code == CC_OK && push)
		code = check_rules(push, err);
	if (code != CC_OK)
		return code;
	cc_buf_init(&text, 2 * CC_FORGES_FILE_MAX);
	cc_buf_init(&rules, 2 * CC_FORGES_FILE_MAX);
	cc_jsonw_init(&w, &text);
	cc_jsonw_object(&w);
	cc_jsonw_kstr(&w, "dataDir", forges->config.data_dir);
	cc_jsonw_key(&w, "forges");
	cc_jsonw_copy(&w, cc_json_get(root, "forges"));
	cc_jsonw_end(&w);
	cc_jsonw_init(&w, &rules);
	if (push)
		cc_jsonw_copy(&w, push);
	else
		cc_jsonw_raw(&w, "[]");
	code = text.failed || rules.failed ? wrong(root, "too long", err) : CC_OK;
	if (code == CC_OK) {
		forges->document = cc_str_copy(text.data);
		forges->rules = cc_str_copy(rules.data);
		if (!forges->document || !forges->rules)
			code = cc_fail(err, CC_ELIMIT, 0, "out of memory");
	}
	cc_buf_done(&text);
	cc_buf_done(&rules);
	return code;
}

static void forget(struct cc_forges *forges)
{
	cc_strv_done(&forges->hosts);
	free(forges->rules);
	free(forges->document);
	free(forges);
}

static enum cc_code read_config(struct cc_forges *forges, struct cc_err *err)
{
	CC_AUTO(cc_json_doc) doc = NULL;
	struct cc_buf text;
	char path[PATH_MAX];
	enum cc_code code;

	snprintf(path, sizeof(path), "%s/forges.json", forges->config.data_dir);
	cc_buf_init(&text, CC_FORGES_FILE_MAX);
	code = read_file(path, &text, err);
	if (code == CC_OK)
		code = cc_json_parse("forges.json", cc_buf_view(&text), CC_JSON_COMMENTS, &doc, err);
	if (code == CC_OK)
		code = take(forges, cc_json_root(doc), err);
	cc_buf_done(&text);
	return code == CC_ENOTFOUND ? CC_OK : code;
}

enum cc_code cc_forges_open(const struct cc_forges_config *config, struct cc_forges **out_forges, struct cc_err *err)
{
	struct cc_forges *forges = calloc(1, sizeof(*forges));
	enum cc_code code;

	if (!forges)
		return cc_fail(err, CC_ELIMIT, 0, "out of memory");
	forges->config = *config;
	forges->link = -1;
	forges->child = (struct cc_child){-1, -1};
	code = read_config(forges, err);
	/* at once: what a daemon before this one left is taken back now, not at the next run */
	if (code == CC_OK && forges->document)
		code = cc_forges_start(forges, err);
	if (code != CC_OK) {
		forget(forges);
		return code;
	}
	uv_timer_init(config->loop, &forges->late);
	forges->late.data = forges;
	uv_unref((uv_handle_t *)&forges->late);
	*out_forges = forges;
	return CC_OK;
}

const struct cc_strv *cc_forges_hosts(const struct cc_forges *forges)
{
	return &forges->hosts;
}

const char *cc_forges_rules(const struct cc_forges *forges)
{
	return forges->rules ? forges->rules : "[]";
}

static void over(struct cc_forges *forges)
{
	void (*done)(void *context) = forges->done;

	forges->done = NULL;
	uv_timer_stop(&forges->late);
	cc_forges_lost(forges);
	done(forges->done_context);
}

static void on_late(uv_timer_t *timer)
{
	over(timer->data);
}

void cc_forges_check_end(struct cc_forges *forges)
{
	if (forges->done && forges->waiting == 0)
		over(forges);
}

void cc_forges_end(struct cc_forges *forges, void (*done)(void *context), void *context)
{
	forges->done = done;
	forges->done_context = context;
	if (forges->waiting == 0)
		over(forges);
	else
		uv_timer_start(&forges->late, on_late, END_MS, 0);
}

void cc_forges_reaped(struct cc_forges *forges, pid_t pid)
{
	if (forges->child.pid != pid)
		return;
	forges->child.pid = -1;
	cc_fd_close(&forges->child.pidfd);
}
