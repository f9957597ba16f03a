/* The rules of a session that has one directory, as its gateways get them. usage: push-rules DIRECTORY */
#include "policy/rules.h"
#include "wire/ruleset.h"

#include <stdio.h>

int main(int argc, char **argv)
{
	struct cc_rule_facts facts = {.home = "/nonexistent"};
	struct cc_rules *rules = NULL;
	struct cc_spec spec;
	struct cc_buf text;
	struct cc_jsonw w;
	struct cc_err err = {0};

	cc_spec_init(&spec);
	cc_buf_init(&text, 16 << 20);
	cc_jsonw_init(&w, &text);
	spec.session_id = cc_str_copy("push-test");
	if (argc != 2 || cc_spec_add_bind(&spec, argv[1], false, &err) != CC_OK ||
	    cc_rules_compile(&spec, &facts, &rules, &err) != CC_OK) {
		fprintf(stderr, "push-rules: %s\n", err.what);
		return 1;
	}
	cc_ruleset_write(&w, rules);
	printf("%s\n", text.failed ? "" : text.data);
	cc_rules_free(rules);
	cc_spec_done(&spec);
	cc_buf_done(&text);
	return 0;
}
