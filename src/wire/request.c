#include "wire/request.h"

#include "wire/policyfile.h"

#include <stdlib.h>
#include <string.h>

enum { REQUEST_BINDS_MAX = 256, REQUEST_WORDS_MAX = 16384 };

/* One member of an object: its name and what takes it. */
struct field {
	const char *name;
	enum cc_code (*take)(void *into, const struct cc_json *node, struct cc_err *err);
};

static enum cc_code refuse(const struct cc_json *node, struct cc_err *err, const char *what)
{
	return cc_fail(err, CC_EINVAL, 0, "body:%u:%u: %s", node->line, node->column, what);
}

static enum cc_code refuse_key(const struct cc_json *node, struct cc_err *err)
{
	size_t len = 0;

	while (len < node->key.len && len < 60 && node->key.ptr[len] > ' ' && node->key.ptr[len] < 0x7f)
		len++;
	return cc_fail(err, CC_EINVAL, 0, "body:%u:%u: unknown key \"%.*s\"", node->key_line, node->key_column,
		       (int)len, node->key.ptr);
}

static enum cc_code read_object(const struct cc_json *root, const struct field *fields, size_t count, void *into,
				struct cc_err *err)
{
	enum cc_code code = CC_OK;

	if (!root || root->kind != CC_JSON_OBJECT)
		return root ? refuse(root, err, "an object is expected here")
			    : cc_fail(err, CC_EINVAL, 0, "body: an object is expected");
	for (const struct cc_json *m = root->child; code == CC_OK && m; m = m->next) {
		const struct field *field = NULL;

		for (size_t i = 0; !field && i < count; i++)
			if (cc_view_is(m->key, fields[i].name))
				field = &fields[i];
		code = field ? field->take(into, m, err) : refuse_key(m, err);
	}
	return code;
}

static enum cc_code take_text(const struct cc_json *node, char **slot, struct cc_err *err)
{
	char *copy;

	if (node->kind == CC_JSON_NULL)
		return CC_OK;
	if (node->kind != CC_JSON_STRING)
		return refuse(node, err, "a string is expected here");
	copy = cc_str_copy(node->text.ptr);
	if (!copy)
		return cc_fail(err, CC_ELIMIT, 0, "out of memory");
	free(*slot);
	*slot = copy;
	return CC_OK;
}

static enum cc_code take_bool(const struct cc_json *node, bool *slot, struct cc_err *err)
{
	if (node->kind != CC_JSON_TRUE && node->kind != CC_JSON_FALSE)
		return refuse(node, err, "true or false is expected here");
	*slot = node->kind == CC_JSON_TRUE;
	return CC_OK;
}

static enum cc_code take_number(const struct cc_json *node, int64_t least, int64_t most, int64_t *slot,
				struct cc_err *err)
{
	if (node->kind != CC_JSON_INT || node->integer < least || node->integer > most)
		return cc_fail(err, CC_EINVAL, 0, "body:%u:%u: a whole number from %lld to %lld is expected here",
			       node->line, node->column, (long long)least, (long long)most);
	*slot = node->integer;
	return CC_OK;
}

static enum cc_code take_list(const struct cc_json *node, struct cc_strv *list, struct cc_err *err)
{
	enum cc_code code = CC_OK;

	if (node->kind != CC_JSON_ARRAY)
		return refuse(node, err, "a list of strings is expected here");
	if (node->count > REQUEST_WORDS_MAX)
		return refuse(node, err, "the list is too long");
	for (const struct cc_json *m = node->child; code == CC_OK && m; m = m->next)
		code = m->kind == CC_JSON_STRING ? cc_strv_push(list, m->text.ptr, err)
						 : refuse(m, err, "a string is expected here");
	return code;
}

#define TEXT_FIELD(function, type, member)                                                                             \
	static enum cc_code function(void *into, const struct cc_json *node, struct cc_err *err)                       \
	{                                                                                                              \
		return take_text(node, &((type *)into)->member, err);                                                  \
	}
#define BOOL_FIELD(function, type, member)                                                                             \
	static enum cc_code function(void *into, const struct cc_json *node, struct cc_err *err)                       \
	{                                                                                                              \
		return take_bool(node, &((type *)into)->member, err);                                                  \
	}
#define LIST_FIELD(function, type, member)                                                                             \
	static enum cc_code function(void *into, const struct cc_json *node, struct cc_err *err)                       \
	{                                                                                                              \
		return take_list(node, &((type *)into)->member, err);                                                  \
	}
#define NUMBER_FIELD(function, type, member, least, most)                                                              \
	static enum cc_code function(void *into, const struct cc_json *node, struct cc_err *err)                       \
	{                                                                                                              \
		return take_number(node, least, most, &((type *)into)->member, err);                                   \
	}

TEXT_FIELD(take_bind_host, struct cc_bind, host_path)
TEXT_FIELD(take_bind_guest, struct cc_bind, guest_path)
BOOL_FIELD(take_bind_read_only, struct cc_bind, read_only)

static const struct field bind_fields[] = {
	{"hostPath", take_bind_host},
	{"guestPath", take_bind_guest},
	{"readOnly", take_bind_read_only},
};

static enum cc_code take_bind(struct cc_spec *spec, const struct cc_json *node, struct cc_err *err)
{
	struct cc_bind bind = {0};
	enum cc_code code = read_object(node, bind_fields, CC_COUNT(bind_fields), &bind, err);

	if (code == CC_OK && !bind.host_path)
		code = refuse(node, err, "hostPath is missing");
	/* the native backend shows a directory where it lies */
	if (code == CC_OK && bind.guest_path && strcmp(bind.guest_path, bind.host_path) != 0)
		code = refuse(node, err, "guestPath has to be the same as hostPath");
	if (code == CC_OK)
		code = cc_spec_add_bind(spec, bind.host_path, bind.read_only, err);
	free(bind.host_path);
	free(bind.guest_path);
	return code;
}

static enum cc_code take_binds(void *into, const struct cc_json *node, struct cc_err *err)
{
	struct cc_launch_request *request = into;
	enum cc_code code = CC_OK;

	if (node->kind != CC_JSON_ARRAY)
		return refuse(node, err, "a list of binds is expected here");
	if (node->count > REQUEST_BINDS_MAX)
		return refuse(node, err, "too many binds");
	for (const struct cc_json *m = node->child; code == CC_OK && m; m = m->next)
		code = take_bind(&request->spec, m, err);
	return code;
}

static enum cc_code take_mode(void *into, const struct cc_json *node, struct cc_err *err)
{
	struct cc_launch_request *request = into;

	if (node->kind != CC_JSON_STRING)
		return refuse(node, err, "a string is expected here");
	return cc_mode_parse(node->text.ptr, &request->spec.mode, err);
}

static enum cc_code take_backend(void *into, const struct cc_json *node, struct cc_err *err)
{
	struct cc_launch_request *request = into;

	if (node->kind == CC_JSON_NULL)
		return CC_OK;
	if (node->kind != CC_JSON_STRING)
		return refuse(node, err, "a string is expected here");
	return cc_backend_parse(node->text.ptr, &request->backend, err);
}

NUMBER_FIELD(take_memory, struct cc_limits, memory, 1 << 20, INT64_C(1) << 50)
NUMBER_FIELD(take_pids, struct cc_limits, pids, 8, 1 << 22)
NUMBER_FIELD(take_cpu, struct cc_limits, cpu, 1, 100000)
NUMBER_FIELD(take_wall, struct cc_limits, wall, 1, CC_EXEC_SECONDS_MAX)

static const struct field limit_fields[] = {
	{"memoryBytes", take_memory},
	{"pids", take_pids},
	{"cpuPercent", take_cpu},
	{"wallSeconds", take_wall},
};

static enum cc_code take_limits(void *into, const struct cc_json *node, struct cc_err *err)
{
	return read_object(node, limit_fields, CC_COUNT(limit_fields), &((struct cc_launch_request *)into)->limits,
			   err);
}

/* What a policy file may say, by the reader of policy files: it starts from a text, so the object becomes one again.
 * The parser has bounded how deep it goes. */
static enum cc_code take_policy(void *into, const struct cc_json *node, struct cc_err *err)
{
	struct cc_launch_request *request = into;
	struct cc_buf text;
	struct cc_jsonw w;
	enum cc_code code;

	cc_buf_init(&text, CC_REQUEST_MAX);
	cc_jsonw_init(&w, &text);
	cc_jsonw_copy(&w, node);
	code = cc_buf_check(&text, "the policy", err);
	if (code == CC_OK)
		code = cc_policyfile_parse("policy", cc_buf_view(&text), CC_POLICY_OPERATOR, &request->spec.policy,
					   err);
	cc_buf_done(&text);
	return code;
}

/* Of a session without a sandbox; one that has a sandbox always has its environment built. */
static enum cc_code take_environment(void *into, const struct cc_json *node, struct cc_err *err)
{
	struct cc_launch_request *request = into;

	if (node->kind != CC_JSON_STRING ||
	    (!cc_view_is(node->text, "inherited") && !cc_view_is(node->text, "sanitised")))
		return refuse(node, err, "inherited or sanitised is expected here");
	request->sanitised = cc_view_is(node->text, "sanitised");
	return CC_OK;
}

TEXT_FIELD(take_session, struct cc_launch_request, spec.session_id)
TEXT_FIELD(take_workspace, struct cc_launch_request, spec.workspace_id)
TEXT_FIELD(take_agent_id, struct cc_launch_request, spec.agent_id)
TEXT_FIELD(take_guest_workdir, struct cc_launch_request, spec.guest_workdir)
TEXT_FIELD(take_agent, struct cc_launch_request, agent)
BOOL_FIELD(take_network, struct cc_launch_request, spec.network_enabled)
LIST_FIELD(take_egress, struct cc_launch_request, spec.egress_allowlist)
LIST_FIELD(take_protected, struct cc_launch_request, spec.protected_paths)
LIST_FIELD(take_state_dirs, struct cc_launch_request, spec.runner_state_dirs)
LIST_FIELD(take_exec_grants, struct cc_launch_request, spec.exec_grant_roots)

static const struct field launch_fields[] = {
	{"sessionId", take_session},
	{"workspaceId", take_workspace},
	{"agentId", take_agent_id},
	{"bindMounts", take_binds},
	{"networkEnabled", take_network},
	{"egressAllowlist", take_egress},
	{"guestWorkdir", take_guest_workdir},
	{"mode", take_mode},
	{"protectedPaths", take_protected},
	{"runnerStateDirs", take_state_dirs},
	{"execGrantRoots", take_exec_grants},
	{"backend", take_backend},
	{"agent", take_agent},
	{"limits", take_limits},
	{"policy", take_policy},
	{"environment", take_environment},
};

void cc_launch_request_init(struct cc_launch_request *request)
{
	*request = (struct cc_launch_request){0};
	cc_spec_init(&request->spec);
}

void cc_launch_request_done(struct cc_launch_request *request)
{
	cc_spec_done(&request->spec);
	free(request->agent);
}

enum cc_code cc_launch_request_read(const struct cc_json *root, struct cc_launch_request *request, struct cc_err *err)
{
	return read_object(root, launch_fields, CC_COUNT(launch_fields), request, err);
}

static void write_text(struct cc_jsonw *w, const char *key, const char *text)
{
	if (text)
		cc_jsonw_kstr(w, key, text);
}

static void write_limits(struct cc_jsonw *w, const struct cc_limits *limits)
{
	const struct {
		const char *key;
		int64_t value;
	} rows[] = {{"memoryBytes", limits->memory},
		    {"pids", limits->pids},
		    {"cpuPercent", limits->cpu},
		    {"wallSeconds", limits->wall}};

	cc_jsonw_key(w, "limits");
	cc_jsonw_object(w);
	for (size_t i = 0; i < CC_COUNT(rows); i++)
		if (rows[i].value)
			cc_jsonw_kint(w, rows[i].key, rows[i].value);
	cc_jsonw_end(w);
}

void cc_launch_request_write(const struct cc_launch_request *request, struct cc_buf *out)
{
	static const char *const modes[] = {NULL, "chat", "review", "plan", "orchestrate"};
	const struct cc_spec *spec = &request->spec;
	struct cc_jsonw w;

	cc_jsonw_init(&w, out);
	cc_jsonw_object(&w);
	write_text(&w, "sessionId", spec->session_id);
	write_text(&w, "workspaceId", spec->workspace_id);
	write_text(&w, "agentId", spec->agent_id);
	write_text(&w, "mode", (size_t)spec->mode < CC_COUNT(modes) ? modes[spec->mode] : NULL);
	write_text(&w, "guestWorkdir", spec->guest_workdir);
	write_text(&w, "agent", request->agent);
	write_text(&w, "backend", request->backend == CC_BACKEND_UNSET ? NULL : cc_backend_name(request->backend));
	cc_jsonw_kbool(&w, "networkEnabled", spec->network_enabled);
	write_text(&w, "environment", request->sanitised ? "sanitised" : NULL);
	cc_jsonw_key(&w, "bindMounts");
	cc_jsonw_array(&w);
	for (size_t i = 0; i < spec->bind_count; i++) {
		cc_jsonw_object(&w);
		cc_jsonw_kstr(&w, "hostPath", spec->binds[i].host_path);
		cc_jsonw_kbool(&w, "readOnly", spec->binds[i].read_only);
		cc_jsonw_end(&w);
	}
	cc_jsonw_end(&w);
	cc_jsonw_kstrv(&w, "egressAllowlist", &spec->egress_allowlist);
	cc_jsonw_kstrv(&w, "protectedPaths", &spec->protected_paths);
	cc_jsonw_kstrv(&w, "runnerStateDirs", &spec->runner_state_dirs);
	cc_jsonw_kstrv(&w, "execGrantRoots", &spec->exec_grant_roots);
	write_limits(&w, &request->limits);
	cc_buf_adds(out, ",\"policy\":");
	cc_policyfile_write(&spec->policy, out);
	cc_jsonw_end(&w);
}

TEXT_FIELD(take_exec_workdir, struct cc_exec_request_doc, workdir)
LIST_FIELD(take_argv, struct cc_exec_request_doc, argv)
BOOL_FIELD(take_stdin_open, struct cc_exec_request_doc, stdin_open)
BOOL_FIELD(take_detach, struct cc_exec_request_doc, detach)
NUMBER_FIELD(take_timeout, struct cc_exec_request_doc, timeout, 1, CC_EXEC_SECONDS_MAX)

static enum cc_code take_env(void *into, const struct cc_json *node, struct cc_err *err)
{
	struct cc_exec_request_doc *request = into;
	enum cc_code code = CC_OK;

	if (node->kind != CC_JSON_OBJECT)
		return refuse(node, err, "an object of names and values is expected here");
	for (const struct cc_json *m = node->child; code == CC_OK && m; m = m->next) {
		if (m->kind != CC_JSON_STRING || m->key.len == 0 || memchr(m->key.ptr, '=', m->key.len))
			code = refuse(m, err, "a name without \"=\" and a string are expected here");
		else
			code = cc_strv_pushf(&request->env, err, "%.*s=%s", (int)m->key.len, m->key.ptr, m->text.ptr);
	}
	return code;
}

static enum cc_code take_stdin(void *into, const struct cc_json *node, struct cc_err *err)
{
	struct cc_exec_request_doc *request = into;

	if (node->kind != CC_JSON_STRING)
		return refuse(node, err, "a string is expected here");
	cc_buf_add(&request->stdin_bytes, node->text.ptr, node->text.len);
	return cc_buf_check(&request->stdin_bytes, "stdin", err);
}

static const struct field exec_fields[] = {
	{"argv", take_argv},
	{"env", take_env},
	{"workdir", take_exec_workdir},
	{"timeoutSeconds", take_timeout},
	{"stdin", take_stdin},
	{"stdinOpen", take_stdin_open},
	{"detach", take_detach},
};

void cc_exec_request_init(struct cc_exec_request_doc *request)
{
	*request = (struct cc_exec_request_doc){0};
	cc_buf_init(&request->stdin_bytes, CC_EXEC_STDIN_MAX);
}

void cc_exec_request_done(struct cc_exec_request_doc *request)
{
	cc_strv_done(&request->argv);
	cc_strv_done(&request->env);
	free(request->workdir);
	cc_buf_done(&request->stdin_bytes);
}

enum cc_code cc_exec_request_read(const struct cc_json *root, struct cc_exec_request_doc *request, struct cc_err *err)
{
	enum cc_code code = read_object(root, exec_fields, CC_COUNT(exec_fields), request, err);

	if (code == CC_OK && (request->argv.count == 0 || !request->argv.items[0][0]))
		return cc_fail(err, CC_EINVAL, 0, "body: argv needs at least the program's name");
	if (code == CC_OK && request->workdir && request->workdir[0] != '/')
		return cc_fail(err, CC_EINVAL, 0, "body: workdir has to be absolute");
	return code;
}
