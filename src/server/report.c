#include "server/report.h"

#include <stdarg.h>
#include <stdio.h>

static enum cc_log_level least = CC_LOG_WARNING;

void cc_report_start(const struct cc_server_config *config, const struct cc_probe *probe, struct cc_buf *out)
{
	if (!config->sandbox)
		cc_buf_adds(out, "agent sandbox DISABLED by --sandbox off");
	else if (!probe->available)
		cc_buf_addf(out, "no OS-native agent sandbox on this host: %s",
			    probe->install_hint[0] ? probe->install_hint : probe->note);
	else if (!probe->enforceable)
		cc_buf_addf(out, "agent sandbox ON: %s (refusing: %s)", probe->note,
			    probe->failing.step[0] ? probe->failing.step : "proof");
	else
		cc_buf_addf(out, "agent sandbox ON: %s", probe->note);
}

void cc_report_level(enum cc_log_level level)
{
	least = level;
}

void cc_log(enum cc_log_level level, const char *fmt, ...)
{
	va_list args;

	if (level > least)
		return;
	va_start(args, fmt);
	fputs("cc_server: ", stderr);
	vfprintf(stderr, fmt, args);
	fputc('\n', stderr);
	va_end(args);
}
