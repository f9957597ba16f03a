/* native.h - the parts of the native Linux applier that its files share. */
#ifndef CC_BACKEND_LINUX_NATIVE_H
#define CC_BACKEND_LINUX_NATIVE_H

#include "backend/backend.h"
#include "os/peer.h"
#include "os/proc.h"

struct cc_native_box {
	struct cc_box box;
	struct cc_child bwrap;
	struct cc_child proxy;
	int init;   /* socketpair to cc-init */
	int egress; /* socketpair to cc-proxy */
	int late;   /* where the plan's late file is written, during the launch */
	int diag;   /* standard error of bwrap and cc-init, read end */
	struct cc_buf diag_text;
	struct cc_peer_msg msg;
	struct cc_peer_msg packet; /* of cc-proxy: one message a line */
	size_t at;                 /* where the next of them begins; 0: none is left */
	struct cc_strv roots;      /* which directory each bind was before bubblewrap took it by name */
};

/* Launch steps in order; each can be made to fail in a twin build. */
#define CC_NATIVE_STEPS(X)                                                                                             \
	X(CC_STEP_BWRAP, "bwrap", "start bubblewrap")                                                                  \
	X(CC_STEP_PROXY, "proxy", "start the session's proxy")                                                         \
	X(CC_STEP_SETUP, "setup", "hand the rules to cc-init")                                                         \
	X(CC_STEP_LISTEN, "listen", "set up the inside of the sandbox")                                                \
	X(CC_STEP_POLICY, "policy", "hand rules and listeners to the proxy")                                           \
	X(CC_STEP_READY, "ready", "enter the floor and the filter")

enum cc_native_step {
#define CC_STEP_ENUM(step, name, text) step,
	CC_NATIVE_STEPS(CC_STEP_ENUM)
#undef CC_STEP_ENUM
};

/* Reads what bubblewrap and cc-init said so far, without waiting. */
void cc_native_read_diag(struct cc_native_box *box);
/* A message of only its name, and up to CC_PEER_FDS descriptors, to cc-init or cc-proxy. */
CC_MUST enum cc_code cc_native_say(int sock, const char *name, const int *fds, size_t fd_count, struct cc_err *err);
/* The document that carries the rules to cc-init and cc-proxy, as a memory file. how: with what a launch adds, or NULL.
 */
CC_MUST enum cc_code cc_native_write_rules(const struct cc_rules *rules, const struct cc_launch *how, int *out_fd,
					   struct cc_err *err);
/* Hands the proxy the sockets of cc-init's last message, with their kinds, and opens the published ports on the host.
 */
CC_MUST enum cc_code cc_native_listen(struct cc_native_box *box, const struct cc_net_rules *net, const int *bridge,
				      struct cc_err *err);
/* New network rules for the proxy, under a number that later events carry. */
CC_MUST enum cc_code cc_native_update(struct cc_box *box, const struct cc_rules *rules, int64_t generation,
				      struct cc_err *err);
/* Passes TCP sockets of the inside from cc-init to the proxy, and the wish for them back. True: msg was such a one. */
bool cc_native_pass_sockets(struct cc_native_box *box, int from, const struct cc_json *root);
enum cc_code cc_native_launch(const struct cc_launch *how, struct cc_box **out_box, struct cc_err *err);
void cc_native_end(struct cc_box *box);

#endif
