/* Bodies that clients of the daemon send: a launch, a command. What is taken can be written as a body that is taken
 * again and says the same; nothing is taken that the checks behind it would not see. */
#include "wire/request.h"
#include "wire/runrequest.h"

#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_again(const struct cc_launch_request *request, struct cc_buf *out)
{
	cc_buf_init(out, CC_REQUEST_MAX * 8);
	cc_launch_request_write(request, out);
}

static void try_launch(const struct cc_json *root)
{
	struct cc_launch_request request, again;
	struct cc_json_doc *doc = NULL;
	struct cc_buf text, second;
	struct cc_err err = {0};

	cc_launch_request_init(&request);
	if (cc_launch_request_read(root, &request, &err) != CC_OK) {
		assert(err.what[0]);
		cc_launch_request_done(&request);
		return;
	}
	write_again(&request, &text);
	cc_launch_request_init(&again);
	if (!text.failed) {
		assert(cc_json_parse("again", cc_buf_view(&text), 0, &doc, &err) == CC_OK);
		assert(cc_launch_request_read(cc_json_root(doc), &again, &err) == CC_OK);
		write_again(&again, &second);
		assert(cc_view_eq(cc_buf_view(&text), cc_buf_view(&second)));
		cc_buf_done(&second);
		cc_json_doc_free(doc);
	}
	(void)!cc_spec_check(&request.spec, &err);
	cc_launch_request_done(&again);
	cc_launch_request_done(&request);
	cc_buf_done(&text);
}

static void try_run(const struct cc_json *root)
{
	struct cc_run_request request;
	struct cc_err err = {0};

	cc_run_request_init(&request);
	if (cc_run_request_read(root, &request, &err) == CC_OK) {
		assert(request.agent && request.prompt && !request.repo != !request.directory);
		assert(!request.directory || request.directory[0] == '/');
		assert(request.mode != CC_MODE_UNSET && request.action_count <= CC_RUN_ACTIONS);
		for (size_t i = 0; i < request.action_count; i++)
			assert(request.actions[i].action && request.actions[i].verdict);
		for (size_t i = 0; i < request.env.count; i++)
			assert(!strchr(request.env.items[i], '='));
	} else {
		assert(err.what[0]);
	}
	cc_run_request_done(&request);
}

static void try_exec(const struct cc_json *root)
{
	struct cc_exec_request_doc request;
	struct cc_err err = {0};

	cc_exec_request_init(&request);
	if (cc_exec_request_read(root, &request, &err) == CC_OK) {
		assert(request.argv.count > 0 && request.argv.items[0][0]);
		assert(!request.workdir || request.workdir[0] == '/');
		assert(request.timeout >= 0 && request.timeout <= CC_EXEC_SECONDS_MAX);
		assert(request.stdin_bytes.len <= CC_EXEC_STDIN_MAX);
		for (size_t i = 0; i < request.env.count; i++)
			assert(strchr(request.env.items[i], '=') > request.env.items[i]);
	} else {
		assert(err.what[0]);
	}
	cc_exec_request_done(&request);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cc_json_doc *doc = NULL;
	struct cc_err err;

	if (cc_json_parse("body", (struct cc_view){(const char *)data, size}, 0, &doc, &err) != CC_OK)
		return 0;
	try_launch(cc_json_root(doc));
	try_exec(cc_json_root(doc));
	try_run(cc_json_root(doc));
	cc_json_doc_free(doc);
	return 0;
}
