/* report.h - the only place of the daemon that writes to its standard streams. */
#ifndef CC_SERVER_REPORT_H
#define CC_SERVER_REPORT_H

#include "server/config.h"
#include "session/probe.h"

/* The one line that says whether agents are wrapped (contract 1.3, 1.8). No newline. */
void cc_report_start(const struct cc_server_config *config, const struct cc_probe *probe, struct cc_buf *out);
void cc_report_level(enum cc_log_level level);
/* To standard error, when the level is at least that important. */
void cc_log(enum cc_log_level level, const char *fmt, ...) CC_PRINTF(2, 3);

#endif
