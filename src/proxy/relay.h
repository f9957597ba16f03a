/* relay.h - HTTP requests in absolute form, one after the other on one client connection (spec/egress 2.4). Requests
 * and answers are parsed, framed and written anew; upstream is kept only for the same host and port. */
#ifndef CC_PROXY_RELAY_H
#define CC_PROXY_RELAY_H

#include "proxy/conn.h"

struct cc_relay *cc_relay_new(struct cc_buf *in); /* takes in; NULL: out of memory */
void cc_relay_free(struct cc_relay *relay);
void cc_relay_step(struct cc_conn *conn);
void cc_relay_connected(struct cc_conn *conn);
/* The deadline passed. */
void cc_relay_late(struct cc_conn *conn);
bool cc_relay_head_only(const struct cc_relay *relay);

#endif
