/* inside.h - the gateway, one connection, one push. Private to the room.
 *
 * A thread a connection, which waits for its client, its git and the daemon; the first thread reads the daemon's
 * messages and hands them out. What threads share is behind one lock. */
#ifndef CC_PUSHGATE_INSIDE_H
#define CC_PUSHGATE_INSIDE_H

#include "os/proc.h"
#include "parse/http.h"
#include "policy/rules.h"
#include "push/advert.h"
#include "push/commands.h"
#include "push/rule.h"
#include "wire/json.h"
#include "work/git.h"

#include <limits.h>
#include <pthread.h>
#include <zlib.h>

enum {
	CC_PUSH_CONNS = 16,
	CC_PUSH_AT_ONCE = 4,
	CC_PUSH_PIECE = 65536,
	CC_PUSH_FINDINGS = 50,
	CC_PUSH_TICK_MS = 5000, /* how long a client hears nothing while it waits */
};
#define CC_PUSH_RESULT "application/x-git-receive-pack-result"

/* What somebody waits for from the daemon. Lies on the waiter's stack. */
struct cc_push_wait {
	struct cc_push_wait *next;
	int64_t id;
	bool over, allow, failed;
	unsigned status;
	char type[100], text[300];
};

struct cc_pushgate {
	int link;
	char *run_id, *secret, *dir, *root, *objects, *copy, *base;
	struct cc_strv repositories;
	struct cc_rules *rules;
	struct cc_push_rules push;
	int64_t max_bytes, wait_ms;
	struct cc_git git;
	pthread_mutex_t lock;
	pthread_cond_t news;
	/* behind the lock */
	struct cc_push_wait *waits;
	int64_t next_id;
	unsigned conns, pushes, files;
	int64_t kept;                 /* bytes that earlier pushes have left for later ones */
	bool ending;                  /* no process and no file comes into being any more */
	struct cc_push_advert *known; /* what each repository's upstream has said last */
};

/* conn.c: one connection from inside. Whatever waits, waits for a bounded time. */
struct cc_push_conn {
	struct cc_pushgate *gate;
	int fd;
	struct cc_buf in;
	struct cc_http_head head; /* of the present request; its views point into text */
	char *text;
	bool broken, close, begun;
};
/* Up to cap bytes: from what was read already, else from the socket. 0: the client is gone, or too slow. */
size_t cc_push_conn_read(struct cc_push_conn *conn, char *out, size_t cap, int timeout_ms);
void cc_push_conn_write(struct cc_push_conn *conn, struct cc_view bytes);
bool cc_push_conn_gone(struct cc_push_conn *conn);
/* A whole answer with a sentence. */
void cc_push_conn_say(struct cc_push_conn *conn, unsigned status, const char *type, const char *text);
/* An answer in pieces; one that is not ended is seen by the client to be cut off. */
void cc_push_conn_begin(struct cc_push_conn *conn, const char *type);
void cc_push_conn_piece(struct cc_push_conn *conn, struct cc_view bytes);
void cc_push_conn_end(struct cc_push_conn *conn);
void cc_push_conn_serve(struct cc_pushgate *gate, int fd);

/* body.c: a request's body without its framing and its compression. */
struct cc_push_body {
	struct cc_push_conn *conn;
	struct cc_http_body framing;
	bool framed, gzip, ended; /* framed: the last byte has been seen; ended: and is decoded */
	z_stream z;
	struct cc_buf raw;
	int64_t began;
};
CC_MUST enum cc_code cc_push_body_begin(struct cc_push_body *body, struct cc_push_conn *conn, struct cc_err *err);
/* At most cap bytes; 0 of them: it is over. */
CC_MUST enum cc_code cc_push_body_read(struct cc_push_body *body, char *out, size_t cap, size_t *out_len,
				       struct cc_err *err);
/* Reads what is left of it, as the client listens only then, but not for ever. */
void cc_push_body_drain(struct cc_push_body *body);
void cc_push_body_done(struct cc_push_body *body);

/* serve.c: what is asked for. */
void cc_push_serve(struct cc_push_conn *conn);
struct cc_view cc_push_field(const struct cc_http_head *head, const char *name, size_t *out_count);
/* What of Git-Protocol is handed on; NULL: nothing. */
const char *cc_push_protocol(const struct cc_http_head *head);

/* One push. */
struct cc_push {
	struct cc_pushgate *gate;
	struct cc_push_conn *conn;
	const char *repo, *protocol;
	size_t repo_at;
	struct cc_push_body body;
	struct cc_push_list list;
	struct cc_buf head; /* the bytes before the pack, and the first of it */
	int64_t bytes;
	bool spoiled; /* the body was not read to its end, and will not be */
	/* on disk */
	char name[32], dir[PATH_MAX], file[PATH_MAX];
	int spool;
	/* git at work */
	struct cc_child indexer, reader;
	int feed, said, complaint; /* of the indexer: its input, output, errors */
	int ask, told;             /* of the reader */
	int revs;                  /* what is new, as git takes it from a file */
	/* the verdict */
	unsigned *what;
	char **why;
	char (*tips)[CC_PUSH_OID + 1]; /* the commit of each command; empty: none, or not known yet */
	enum cc_push_verdict verdict;
	const char *rule;
	char sentence[400], unpack[300];
	size_t commits, findings, links;
	struct {
		char *path, *rule, *why;
	} found[CC_PUSH_FINDINGS];
	char *stat;
	struct cc_buf subjects;
	int64_t ticked;
};

/* Is that protection left out? In the twin that tests escape from, by CCBOX_TWIN_OFF. */
#ifdef CC_TWIN
bool cc_push_off(const char *what);
#else
#define cc_push_off(what) false
#endif

/* receive.c */
void cc_push_receive(struct cc_push_conn *conn, size_t repo_at);
/* Something happens still: said to the client now and then. False: it is gone. */
bool cc_push_tick(struct cc_push *push);

/* quarantine.c: where a pack lies while it is looked at. */
CC_MUST enum cc_code cc_push_spool_open(struct cc_push *push, struct cc_err *err);
CC_MUST enum cc_code cc_push_quarantine_open(struct cc_push *push, struct cc_err *err);
/* CC_EPOLICY: git has had enough. */
CC_MUST enum cc_code cc_push_quarantine_feed(struct cc_push *push, struct cc_view bytes, struct cc_err *err);
/* The pack has come to its end: is it whole, and nothing but a pack? */
CC_MUST enum cc_code cc_push_quarantine_close(struct cc_push *push, struct cc_err *err);
/* What name is, as an id. CC_ENOTFOUND: not here. */
CC_MUST enum cc_code cc_push_commit(struct cc_push *push, const char *id, char out[CC_PUSH_OID + 1],
				    struct cc_err *err);
CC_MUST enum cc_code cc_push_blob(struct cc_push *push, struct cc_view id, struct cc_buf *out, struct cc_err *err);
/* Begins a git of the quarantine whose output is read here. in: its input, or -1. */
CC_MUST enum cc_code cc_push_git(struct cc_push *push, const char *const *words, int in, struct cc_child *out_child,
				 int *out_fd, struct cc_err *err);
/* An empty bare repository in dir, which is made; and whose objects one borrows. Between enter and leave. */
CC_MUST enum cc_code cc_push_repository(const char *dir, size_t oid, struct cc_err *err);
CC_MUST enum cc_code cc_push_lenders(const struct cc_pushgate *gate, size_t oid, struct cc_strv *out,
				     struct cc_err *err);
/* The one pack of the repository dir goes to what later pushes build on. */
void cc_push_keep(struct cc_pushgate *gate, const char *dir, size_t oid);
/* gather.c: after the upstream has said what it has. */
void cc_push_gather(struct cc_pushgate *gate, size_t repo_at);
/* What the upstream may have now lies there for the run's later pushes, which build on it. It decides nothing: what the
 * upstream has is what it says. */
void cc_push_quarantine_keep(struct cc_push *push);
void cc_push_quarantine_done(struct cc_push *push);

/* judge.c: the commits that are new to the upstream, each and all they change. */
CC_MUST enum cc_code cc_push_judge(struct cc_push *push, struct cc_err *err);
/* For a person: subjects and a summary. */
CC_MUST enum cc_code cc_push_describe(struct cc_push *push, struct cc_err *err);

/* verdict.c: what is known so far makes the verdict worse, never better. */
void cc_push_lower(struct cc_push *push, enum cc_push_verdict verdict, const char *rule, const char *fmt, ...)
	CC_PRINTF(4, 5);
/* By the references alone; forced[i]: known to replace history. NULL: that is not known yet. */
void cc_push_by_refs(struct cc_push *push, const bool *forced);
/* What stands there now is not known here, so that nobody can say that it stays. */
void cc_push_unknown(struct cc_push *push, size_t at);
void cc_push_by_size(struct cc_push *push);
void cc_push_by_path(struct cc_push *push, struct cc_view path);
void cc_push_find(struct cc_push *push, struct cc_view path, const char *rule, const char *why);

/* link.c: the daemon. */
void cc_push_listen(struct cc_pushgate *gate); /* until it says stop, or is gone */
/* Takes a number and waits for what becomes of it. */
void cc_push_wait_begin(struct cc_pushgate *gate, struct cc_push_wait *wait);
/* push (NULL: nobody) is told that something happens meanwhile. False: time is over, or the client is gone. */
bool cc_push_wait_for(struct cc_pushgate *gate, struct cc_push_wait *wait, int64_t timeout_ms, struct cc_push *push);
void cc_push_wait_end(struct cc_pushgate *gate, struct cc_push_wait *wait);
CC_MUST enum cc_code cc_push_send(struct cc_pushgate *gate, struct cc_buf *text, const int *fds, size_t count,
				  struct cc_err *err);
/* No process and no file is made without it, and none once the gateway ends. */
CC_MUST enum cc_code cc_push_enter(struct cc_pushgate *gate, struct cc_err *err);
void cc_push_leave(struct cc_pushgate *gate);

/* say.c: what the daemon is told. */
void cc_push_event(struct cc_push *push, const char *verdict);
/* False: no. sentence says who said so. */
bool cc_push_ask(struct cc_push *push);

/* answer.c: what the upstream says. */
void cc_push_advertise(struct cc_push_conn *conn, size_t repo_at);
/* The same without a client: what it has is to be known. */
CC_MUST enum cc_code cc_push_learn(struct cc_pushgate *gate, size_t repo_at, struct cc_push *push, struct cc_err *err);
void cc_push_forward(struct cc_push *push);

#endif
