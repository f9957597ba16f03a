/* conn.h - one client's connection through its life: handshake, decision, dial, then a tunnel or a relay of HTTP
 * messages, and a drain at the end of a refusal. The order never changes: canonical host, deny, allow, look up, judge
 * the address, dial. */
#ifndef CC_PROXY_CONN_H
#define CC_PROXY_CONN_H

#include "base/buf.h"
#include "proxy/dial.h"
#include "parse/http.h"
#include "proxy/report.h"
#include "parse/socks.h"
#include "proxy/tunnel.h"

enum {
	CC_CONNS_SPARE = 32, /* above the limit: told so */
	CC_CONN_DIALS_MAX = 64,
	CC_CONN_HEAD_MS = 10000,
	CC_CONN_DRAIN_MS = 1000,
	CC_CONN_DRAIN_BYTES = 256 * 1024,
	CC_CONN_HALF_MS = 120000,
	CC_CONN_IDLE_MS = 2 * 60 * 60 * 1000,
	CC_CONN_EARLY_MAX = 64 * 1024, /* payload held before the tunnel's host is known to be meant */
};

enum cc_phase { CC_PHASE_FRONT = 0, CC_PHASE_DIAL, CC_PHASE_TUNNEL, CC_PHASE_RELAY, CC_PHASE_DRAIN, CC_PHASE_DEAD };
enum cc_proto {
	CC_PROTO_UNKNOWN = 0,
	CC_PROTO_CONNECT,
	CC_PROTO_HTTP,
	CC_PROTO_SOCKS5,
	CC_PROTO_SOCKS4,
	CC_PROTO_TRANSPARENT, /* captured: the client knows of no proxy */
	CC_PROTO_HOST,        /* to a port of the host's loopback */
	CC_PROTO_PUBLISH,     /* from the host to a port inside */
};
/* Where a connection comes from (listen.h). */
enum cc_arrival { CC_FROM_PROXY = 0, CC_FROM_CATCH, CC_FROM_HOST, CC_FROM_PUBLISH, CC_FROM_DNS };

/* What all connections share. */
struct cc_shared {
	struct cc_loop *loop;
	struct cc_dialer *dialer;
	struct cc_pumps *pumps;
	struct cc_report *report;
	const struct cc_net_rules *net;
	struct cc_names *names; /* NULL without transparent capture */
	int control;            /* the owner's socket */
	unsigned conns_max;
	int64_t now;
	int64_t due;    /* the earliest deadline, or earlier */
	unsigned rules; /* how often net was replaced */
	struct cc_conn *conns;
	struct cc_conn *ready; /* to be stepped again before waiting */
	struct cc_conn *dead;  /* freed after the batch */
	size_t count;
	size_t dialing;
	size_t waiting; /* for one of the dials to end */
	size_t outside; /* published connections that wait for a socket of the inside */
};

/* Only during the handshake and until the first bytes of a tunnel were judged. */
struct cc_front {
	struct cc_buf in;
	size_t scanned;
	struct cc_socks *socks; /* once it is known to be that */
};

struct cc_relay;

struct cc_conn {
	struct cc_end client;
	struct cc_end upstream;
	struct cc_flow up;
	struct cc_flow down;
	struct cc_shared *shared;
	struct cc_conn *prev, *next;
	struct cc_conn *ready_next;
	struct cc_front *front;
	struct cc_relay *relay;
	struct cc_dial *dial;
	char *name; /* whom upstream is, canonical; NULL before anybody was asked for */
	int64_t deadline;
	int64_t active;
	int64_t started;
	struct cc_addr addr;
	unsigned rules; /* shared->rules when it was decided */
	uint16_t port;
	uint8_t phase;
	uint8_t proto;
	bool ready;
	bool over;    /* above the limit of connections */
	bool waiting; /* its dial has not begun: too many are under way */
	bool outside; /* waits for a socket of the inside, or for that one to connect */
	bool six;     /* the IPv4 loopback of the inside had nothing there: the other one is tried */
	bool named;   /* the upstream address was judged for the name */
	bool ech;     /* its ClientHello hides a name, or seems to */
};

/* What is answered when a request is refused. */
struct cc_refusal {
	struct cc_report_net net;
	unsigned status;
	enum cc_socks_reply reply;
	bool head_only;
};

/* Its host as it was parsed: kept as text, because thousands of idle tunnels keep it. */
struct cc_host cc_conn_host(const struct cc_conn *conn);
struct cc_view cc_conn_name(const struct cc_conn *conn);
bool cc_conn_set_host(struct cc_conn *conn, const struct cc_host *host); /* false: out of memory */
void cc_conn_free(struct cc_conn *conn);                                 /* after cc_conn_close */
/* Takes fd. */
void cc_conn_open(struct cc_shared *shared, int fd, enum cc_arrival from, uint16_t port);
/* A TCP socket of the inside, for the published connection that waits longest. Takes fd. */
void cc_conn_inside(struct cc_shared *shared, int fd);
void cc_conn_step(struct cc_conn *conn);
void cc_conn_tick(struct cc_conn *conn);
/* reset: both peers see RST instead of an orderly end. */
void cc_conn_close(struct cc_conn *conn, bool reset);
/* The rules changed: closes it when it would no longer be opened. */
void cc_conn_rejudge(struct cc_conn *conn);

/* For front.c and relay.c. net's proto is filled in. What a refusal names may lie in the connection: it is used before
 * the drain frees anything. */
void cc_conn_report(const struct cc_conn *conn, const struct cc_report_net *net);
void cc_conn_refuse(struct cc_conn *conn, const struct cc_refusal *refusal);
/* Decides, then dials; false: it was refused and the connection is in its drain. */
bool cc_conn_request(struct cc_conn *conn, const struct cc_host *host, uint16_t port, bool head_only);
/* Its own rules say whether it may be there. */
struct cc_net_decision cc_conn_judge(const struct cc_conn *conn);
/* The upstream socket is there: from now on it is a tunnel, or the relay goes on. */
bool cc_conn_join(struct cc_conn *conn, int fd);
void cc_conn_dial_step(struct cc_conn *conn); /* while its dial waits or runs */
void cc_conn_drop_upstream(struct cc_conn *conn);
void cc_conn_set_deadline(struct cc_conn *conn, int64_t ms);
void cc_conn_again(struct cc_conn *conn); /* step it once more before the loop waits */
void cc_conn_tunnel(struct cc_conn *conn);
void cc_conn_drain(struct cc_conn *conn);
void cc_conn_front(struct cc_conn *conn, struct cc_buf *in); /* back to the handshake; takes in */
void cc_conn_front_free(struct cc_conn *conn);
struct cc_front *cc_conn_front_new(void);

/* inner.c: what does not begin with a handshake, and the reserved name. */
/* An address that stands for a name becomes that name: a client may look it up itself and then ask a proxy for what it
 * got. */
void cc_conn_unmask(const struct cc_shared *shared, struct cc_host *host);
void cc_conn_begin(struct cc_conn *conn, enum cc_arrival from, uint16_t port);
void cc_conn_inside_step(struct cc_conn *conn);
void cc_conn_gateway(struct cc_conn *conn);
void cc_conn_drain_step(struct cc_conn *conn);
/* The steps of front.c */
void cc_conn_front_step(struct cc_conn *conn);
void cc_conn_front_late(struct cc_conn *conn);
void cc_conn_tunnel_step(struct cc_conn *conn);
void cc_conn_tunnel_late(struct cc_conn *conn);

#endif
