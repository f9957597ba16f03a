/* record.h - what of the sessions goes into the store, and when. */
#ifndef CC_SERVER_RECORD_H
#define CC_SERVER_RECORD_H

#include "live/live.h"
#include "store/store.h"

struct cc_server;

/* Opens the store, records as lost what a daemon before this one left, and ends what of it still runs. */
CC_MUST enum cc_code cc_record_open(struct cc_server *server, struct cc_err *err);
void cc_record_close(struct cc_server *server);
/* The hooks of the roster. */
void cc_record_event(void *context, const struct cc_live *live, const struct cc_event *event);
void cc_record_changed(void *context, const struct cc_live *live, enum cc_state from);
void cc_record_command(void *context, const struct cc_command *command, bool over);

#endif
