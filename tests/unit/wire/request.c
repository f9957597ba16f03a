#include "../t.h"

#include "wire/request.h"

static const struct {
	const char *label, *body;
	const char *says; /* NULL: it is taken */
} launches[] = {
	{"the smallest", "{\"bindMounts\":[{\"hostPath\":\"/a\"}]}", NULL},
	{"everything",
	 "{\"sessionId\":\"a::b\",\"workspaceId\":\"w\",\"agentId\":\"x\",\"bindMounts\":[{\"hostPath\":\"/a\","
	 "\"guestPath\":\"/a\",\"readOnly\":true}],\"networkEnabled\":false,\"egressAllowlist\":[\"a.example\"],"
	 "\"guestWorkdir\":\"/a\",\"mode\":\"plan\",\"protectedPaths\":[\"/p\"],\"runnerStateDirs\":[\"/s\"],"
	 "\"execGrantRoots\":[\"/e\"],\"backend\":\"none\",\"limits\":{\"pids\":8}}",
	 NULL},
	{"a null is nothing said", "{\"sessionId\":null,\"backend\":null}", NULL},
	{"not an object", "[]", "1:1"},
	{"an unknown key", "{\"sesionId\":\"x\"}", "unknown key \"sesionId\""},
	{"a wrong type, with its place", "{\n \"sessionId\": 1}", "2:15"},
	{"a bind without a path", "{\"bindMounts\":[{}]}", "hostPath is missing"},
	{"another place inside", "{\"bindMounts\":[{\"hostPath\":\"/a\",\"guestPath\":\"/b\"}]}", "same as hostPath"},
	{"a request takes no old backend name", "{\"backend\":\"docker\"}", "unknown backend"},
	{"an unknown mode", "{\"mode\":\"root\"}", "unknown mode"},
	{"too few processes", "{\"limits\":{\"pids\":7}}", "from 8"},
	{"a limit of another kind", "{\"limits\":{\"disk\":1}}", "unknown key"},
	{"a policy is read as policy files are", "{\"policy\":{\"filesystem\":{\"allowNames\":[\"~x\"]}}}", "policy"},
	{"a switch that is none", "{\"networkEnabled\":0}", "true or false"},
};

static void launches_are_taken_or_refused_with_the_place(void **state)
{
	(void)state;
	for (size_t i = 0; i < CC_COUNT(launches); i++) {
		CC_AUTO(cc_json_doc) doc = NULL;
		struct cc_launch_request request;
		struct cc_err err = {0};
		enum cc_code code;

		T_OK(cc_json_parse("body", cc_view_of(launches[i].body), 0, &doc, &err), err);
		cc_launch_request_init(&request);
		code = cc_launch_request_read(cc_json_root(doc), &request, &err);
		T_ROW((code == CC_OK) == !launches[i].says, launches[i].label);
		if (launches[i].says)
			T_ROW(strstr(err.what, launches[i].says), err.what);
		cc_launch_request_done(&request);
	}
}

static const struct {
	const char *label, *body;
	bool good;
} execs[] = {
	{"a word", "{\"argv\":[\"ls\"]}", true},
	{"all",
	 "{\"argv\":[\"a\",\"\"],\"env\":{\"A\":\"\"},\"workdir\":\"/x\",\"timeoutSeconds\":1,\"stdin\":\"\",\"stdinOpen\":true,"
	 "\"detach\":true}",
	 true},
	{"no word", "{\"argv\":[]}", false},
	{"no argv", "{}", false},
	{"an empty program", "{\"argv\":[\"\"]}", false},
	{"a relative directory", "{\"argv\":[\"a\"],\"workdir\":\"x\"}", false},
	{"no time", "{\"argv\":[\"a\"],\"timeoutSeconds\":0}", false},
	{"a variable with =", "{\"argv\":[\"a\"],\"env\":{\"A=B\":\"\"}}", false},
	{"a variable without a name", "{\"argv\":[\"a\"],\"env\":{\"\":\"\"}}", false},
	{"a shell", "{\"argv\":[\"a\"],\"shell\":true}", false},
};

static void commands_are_taken_or_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < CC_COUNT(execs); i++) {
		CC_AUTO(cc_json_doc) doc = NULL;
		struct cc_exec_request_doc request;
		struct cc_err err = {0};

		T_OK(cc_json_parse("body", cc_view_of(execs[i].body), 0, &doc, &err), err);
		cc_exec_request_init(&request);
		T_ROW((cc_exec_request_read(cc_json_root(doc), &request, &err) == CC_OK) == execs[i].good,
		      execs[i].label);
		cc_exec_request_done(&request);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(launches_are_taken_or_refused_with_the_place),
		cmocka_unit_test(commands_are_taken_or_refused),
	};

	return cmocka_run_group_tests_name("request", tests, NULL, NULL);
}
