/* launch.c - `ccbox launch`: the flags of `ccbox run`, read by the same table and made absolute here, where the person
 * stands, become the body of a call. */
#define _GNU_SOURCE
#include "remote/remote.h"

#include "cli/config.h"
#include "session/prepare.h"
#include "wire/json.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Flags and the files they name; the host's, the person's and the project's files are read by the session's owner. */
static enum cc_code gather(char *const *argv, char *const *env, const char *cwd, struct cc_ask_run *ask,
			   struct cc_err *err)
{
	struct cc_prepared prepared = {0};
	struct cc_prepare_ask look = {.spec = &ask->spec, .cwd = cwd, .env = env, .agent = "none", .rules_only = true};
	size_t used = 0;
	enum cc_code code = cc_options_env(CC_FOR_LAUNCH, env, ask, err);

	if (code == CC_OK)
		code = cc_options_parse(CC_FOR_LAUNCH, argv, ask, &used, err);
	if (code == CC_OK && argv[used])
		code = cc_fail(err, CC_EINVAL, 0, "ccbox launch takes no command: ccbox exec SESSION -- COMMAND");
	for (size_t i = 0; code == CC_OK && i < ask->policies.count; i++)
		code = cc_config_read(ask->policies.items[i], CC_POLICY_OPERATOR, true, &ask->spec.policy, err);
	if (code == CC_OK)
		code = cc_config_settle(ask, cwd, env, err);
	/* without a bind, the one that `ccbox run` would take here */
	if (code == CC_OK)
		code = cc_prepare(&look, &prepared, err);
	cc_prepared_done(&prepared);
	return code;
}

static int launch(const struct cc_ask_run *ask)
{
	struct cc_launch_request request = {
		.spec = ask->spec, .backend = ask->backend, .agent = ask->agent, .limits = ask->limits};
	CC_AUTO(cc_json_doc) doc = NULL;
	struct ccbox_error error = {0};
	struct ccbox *box;
	struct cc_buf body;
	struct cc_err err;
	char *handle;
	int result;

	if (ccbox_open(NULL, &box, &error) != 0)
		return cc_remote_give_up(&error);
	cc_buf_init(&body, CC_REQUEST_MAX);
	cc_launch_request_write(&request, &body);
	result = body.failed ? -1 : ccbox_launch(box, body.data, &handle, &error);
	cc_buf_done(&body);
	ccbox_close(box);
	if (result != 0)
		return cc_remote_give_up(&error);
	if (cc_json_parse("answer", cc_view_of(handle), 0, &doc, &err) == CC_OK) {
		const struct cc_json *root = cc_json_root(doc);

		printf("%s\n", cc_json_str(root, "sessionId", "?"));
		if (strcmp(cc_json_str(root, "backend", ""), "none") == 0)
			cc_say("NO SANDBOX: backend none runs commands on this host with your files, your network and your "
			       "secrets");
	}
	free(handle);
	return 0;
}

int cc_verb_launch(char *const *argv, char *const *env)
{
	struct cc_ask_run ask;
	struct cc_err err = {0};
	char cwd[PATH_MAX];
	enum cc_code code;
	bool named;
	int result;

	cc_ask_run_init(&ask);
	if (!getcwd(cwd, sizeof(cwd)))
		code = cc_fail(&err, CC_ESYS, 0, "the current directory is gone");
	else
		code = gather(argv, env, cwd, &ask, &err);
	/* "local" is what the look around called it */
	named = ask.spec.session_id && strcmp(ask.spec.session_id, "local") != 0;
	if (!named) {
		free(ask.spec.session_id);
		ask.spec.session_id = NULL;
	}
	if (ask.spec.workspace_id && strcmp(ask.spec.workspace_id, "local") == 0) {
		free(ask.spec.workspace_id);
		ask.spec.workspace_id = NULL;
	}
	result = code == CC_OK ? launch(&ask) : cc_give_up(&err);
	cc_ask_run_done(&ask);
	return result;
}
