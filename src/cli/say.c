#include "cli/cli.h"

#include "session/probe.h"
#include "wire/msg.h"

#include <stdio.h>

void cc_say(const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	fputs("ccbox: ", stderr);
	vfprintf(stderr, fmt, args);
	fputc('\n', stderr);
	va_end(args);
}

int cc_give_up(const struct cc_err *err)
{
	cc_say("%s", err->what);
	if (cc_probe_remedy(err->what)[0])
		cc_say("do this: %s", cc_probe_remedy(err->what));
	return CC_EXIT_NOT_ESTABLISHED;
}
