#include "cli/cli.h"

#include "session/probe.h"
#include "wire/msg.h"

#include <stdio.h>
#include <string.h>

static void print_items(const struct cc_probe *probe)
{
	for (size_t i = 0; i < probe->item_count; i++) {
		const struct cc_probe_item *item = &probe->items[i];

		printf("  %-7s %-16s %s\n",
		       item->good     ? "ok"
		       : item->needed ? "MISSING"
				      : "absent",
		       item->name, item->found);
		if (!item->good && item->remedy[0])
			printf("          %-14s %s\n", "do this:", item->remedy);
	}
}

int cc_verb_doctor(char *const *argv, char *const *env)
{
	struct cc_probe probe;
	struct cc_buf text;
	bool json = argv[0] && strcmp(argv[0], "--json") == 0;

	if (argv[0] && (!json || argv[1])) {
		cc_say("unexpected word \"%s\": ccbox doctor [--json]", json ? argv[1] : argv[0]);
		return CC_EXIT_NOT_ESTABLISHED;
	}
	cc_probe_run(env, true, &probe);
	if (json) {
		cc_buf_init(&text, 1 << 20);
		cc_probe_json(&probe, &text);
		printf("%s\n", text.data ? text.data : "{}");
		cc_buf_done(&text);
		return probe.enforceable ? 0 : 1;
	}
	if (probe.enforceable)
		printf("This host holds every rule of the native sandbox (proved by starting one).\n");
	else if (!probe.available)
		printf("No native sandbox on this host: %s\n", probe.install_hint);
	else
		printf("The native sandbox REFUSES to run here, at: %s\n  %s\n", probe.failing.step,
		       probe.failing.what);
	if (!probe.enforceable && probe.failing.remedy[0])
		printf("  do this: %s\n", probe.failing.remedy);
	print_items(&probe);
	return probe.enforceable ? 0 : 1;
}
