/* report.h - what the session's owner and the refused client are told. The owner's socket may be full: nothing ever
 * waits for it. The first refusal of each (host, reason) is kept until it is sent; repeats are counted. */
#ifndef CC_PROXY_REPORT_H
#define CC_PROXY_REPORT_H

#include "base/buf.h"
#include "base/mem.h"
#include "policy/net.h"

#include <stdint.h>

enum { CC_REPORT_TEXT_MAX = 256, CC_REPORT_REPEAT_MS = 5000 };

struct cc_report_net {
	bool allowed;
	const char *proto;   /* a literal: "connect" "http" "socks5" "socks4" */
	struct cc_view host; /* canonical, or the client's own bytes when malformed */
	uint16_t port;
	enum cc_net_reason reason;
	const char *entry;   /* may be NULL */
	bool final;          /* no flag or key opens it */
	const char *detail;  /* one clause for a person, or NULL */
	const char *klass;   /* of the refused or dialled address, or NULL */
	const char *address; /* for the owner only: never told to the client */
};

struct cc_report;
/* owner: the control socket, non-blocking; it stays the caller's. */
CC_MUST enum cc_code cc_report_new(int owner, struct cc_report **out_report, struct cc_err *err);
void cc_report_net(struct cc_report *report, int64_t now, const struct cc_report_net *net);
struct cc_report_closed {
	const char *proto;
	const char *host;
	uint16_t port;
	uint64_t up;
	uint64_t down;
	int64_t ms;
	bool ech;
};
void cc_report_closed(struct cc_report *report, const struct cc_report_closed *closed);
/* The owner is asked for TCP sockets of the inside. */
void cc_report_sockets(struct cc_report *report, unsigned count);
/* Every later message names the policy that it was decided by. */
void cc_report_generation(struct cc_report *report, int64_t generation);
void cc_report_ready(struct cc_report *report, int64_t generation);
void cc_report_failed(struct cc_report *report, const char *step, const struct cc_err *why);
void cc_report_flush(struct cc_report *report); /* the owner's socket can take more */
/* Tells counts that are due; returns when it wants to be called next. */
int64_t cc_report_tick(struct cc_report *report, int64_t now);
/* Before the end: the counts that are still held. */
void cc_report_last(struct cc_report *report, int64_t now);
bool cc_report_idle(const struct cc_report *report); /* nothing waits for room in the owner's socket */
void cc_report_free(struct cc_report *report);
CC_OWNED(cc_report)

/* The flag or policy key that would allow it; empty when nothing does. */
void cc_report_grant(const struct cc_report_net *net, struct cc_buf *out);
/* A refusal in HTTP: head and a body that a person can act on. The connection closes behind it. */
void cc_report_refusal(const struct cc_report_net *net, unsigned status, bool head_only, struct cc_buf *out);

#endif
