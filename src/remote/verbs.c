/* verbs.c - the verbs that are one call. */
#define _GNU_SOURCE
#include "remote/remote.h"

#include "base/mem.h"
#include "base/view.h"
#include "cli/options.h"
#include "wire/json.h"
#include "wire/msg.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int cc_remote_give_up(const struct ccbox_error *error)
{
	if (strcmp(error->code, "unreachable") == 0)
		cc_say("no cc_server answers (%s); start one with: cc_server", error->message);
	else
		cc_say("%s", error->message);
	return CC_EXIT_NOT_ESTABLISHED;
}

int cc_remote_usage(const char *usage)
{
	cc_say("usage: %s", usage);
	return CC_EXIT_NOT_ESTABLISHED;
}

static int each_session(char *const *argv, const char *usage,
			int (*call)(struct ccbox *box, const char *session, struct ccbox_error *error))
{
	struct ccbox_error error = {0};
	struct ccbox *box;
	int result = 0;

	if (!argv[0] || argv[0][0] == '-')
		return cc_remote_usage(usage);
	if (ccbox_open(NULL, &box, &error) != 0)
		return cc_remote_give_up(&error);
	for (; *argv; argv++)
		if (call(box, *argv, &error) != 0)
			result = cc_remote_give_up(&error);
	ccbox_close(box);
	return result;
}

int cc_verb_stop(char *const *argv, char *const *env)
{
	(void)env;
	return each_session(argv, "ccbox stop SESSION...", ccbox_destroy);
}

int cc_verb_suspend(char *const *argv, char *const *env)
{
	(void)env;
	return each_session(argv, "ccbox suspend SESSION...", ccbox_suspend);
}

int cc_verb_resume(char *const *argv, char *const *env)
{
	(void)env;
	return each_session(argv, "ccbox resume SESSION...", ccbox_resume);
}

static void print_rows(const struct cc_json *list)
{
	for (const struct cc_json *m = list ? list->child : NULL; m; m = m->next)
		printf("%-36s %-10s %-8s %s\n", cc_json_str(m, "sessionId", "?"), cc_json_str(m, "state", "?"),
		       cc_json_str(m, "backend", "?"),
		       cc_json_str(m, "error", cc_json_str(m, "reason", cc_json_str(m, "workspaceId", ""))));
}

int cc_verb_ps(char *const *argv, char *const *env)
{
	CC_AUTO(cc_json_doc) doc = NULL;
	struct ccbox_error error = {0};
	struct ccbox *box;
	char *json = NULL;
	bool all = false, raw = false;
	struct cc_err err;
	int result;

	(void)env;
	for (; *argv; argv++) {
		if (strcmp(*argv, "--all") == 0)
			all = true;
		else if (strcmp(*argv, "--json") == 0)
			raw = true;
		else
			return cc_remote_usage("ccbox ps [--all] [--json]");
	}
	if (ccbox_open(NULL, &box, &error) != 0)
		return cc_remote_give_up(&error);
	result = ccbox_call(box, "GET", all ? "/v1/sandboxes?all=1" : "/v1/sandboxes", NULL, 0, &json, &error);
	ccbox_close(box);
	if (result != 0)
		return cc_remote_give_up(&error);
	if (raw) {
		printf("%s\n", json);
	} else if (cc_json_parse("answer", cc_view_of(json), 0, &doc, &err) == CC_OK) {
		printf("%-36s %-10s %-8s %s\n", "SESSION", "STATE", "BACKEND", all ? "WHY" : "WORKSPACE");
		print_rows(cc_json_get(cc_json_root(doc), all ? "recorded" : "sandboxes"));
	}
	free(json);
	return 0;
}

static int list_repos(struct ccbox *box, struct ccbox_error *error)
{
	CC_AUTO(cc_json_doc) doc = NULL;
	const struct cc_json *list;
	struct cc_err err;
	char *json;

	if (ccbox_call(box, "GET", "/v1/repos", NULL, 0, &json, error) != 0)
		return -1;
	if (cc_json_parse("answer", cc_view_of(json), 0, &doc, &err) == CC_OK) {
		list = cc_json_get(cc_json_root(doc), "repos");
		for (const struct cc_json *m = list ? list->child : NULL; m; m = m->next)
			printf("%-5lld %-20s %s\n", (long long)cc_json_int(m, "id", 0),
			       cc_json_str(m, "workspaceId", "?"), cc_json_str(m, "path", "?"));
	}
	free(json);
	return 0;
}

static int add_repo(struct ccbox *box, const char *dir, const char *workspace, struct ccbox_error *error)
{
	char path[PATH_MAX];
	struct cc_buf body;
	struct cc_jsonw w;
	int result;

	if (!realpath(dir, path)) {
		snprintf(error->message, sizeof(error->message), "there is no %.300s", dir);
		return -1;
	}
	cc_buf_init(&body, 16 << 10);
	cc_jsonw_init(&w, &body);
	cc_jsonw_object(&w);
	cc_jsonw_kstr(&w, "path", path);
	cc_jsonw_kstr(&w, "workspaceId", workspace);
	cc_jsonw_end(&w);
	result = ccbox_call(box, "POST", "/v1/repos", body.data, body.len, NULL, error);
	cc_buf_done(&body);
	return result;
}

int cc_verb_repo(char *const *argv, char *const *env)
{
	const char *what = argv[0], *word = NULL, *workspace = "default";
	struct ccbox_error error = {0};
	struct ccbox *box;
	char path[64];
	int result;

	(void)env;
	for (size_t i = 1; what && argv[i]; i++) {
		if (strcmp(argv[i], "--workspace") == 0 && argv[i + 1])
			workspace = argv[++i];
		else if (!word && argv[i][0] != '-')
			word = argv[i];
		else
			return cc_remote_usage(CC_REPO_USAGE);
	}
	if (!what ||
	    (strcmp(what, "rm") == 0 && (!word || strspn(word, "0123456789") != strlen(word) || strlen(word) > 18)))
		return cc_remote_usage(CC_REPO_USAGE);
	if (ccbox_open(NULL, &box, &error) != 0)
		return cc_remote_give_up(&error);
	snprintf(path, sizeof(path), "/v1/repos/%.20s", word ? word : "");
	if (strcmp(what, "add") == 0)
		result = add_repo(box, word ? word : ".", workspace, &error);
	else if (strcmp(what, "ls") == 0)
		result = list_repos(box, &error);
	else if (strcmp(what, "rm") == 0)
		result = ccbox_call(box, "DELETE", path, NULL, 0, NULL, &error);
	else
		result = -2;
	ccbox_close(box);
	if (result == -2)
		return cc_remote_usage(CC_REPO_USAGE);
	return result == 0 ? 0 : cc_remote_give_up(&error);
}
