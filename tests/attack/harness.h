/* harness.h - what the driver and the protocol test share: a tree with things to attack, and plain bubblewrap with
 * cc-init started over it as a session's owner does. One session for each process. */
#ifndef CC_TESTS_ATTACK_HARNESS_H
#define CC_TESTS_ATTACK_HARNESS_H

#include "base/buf.h"
#include "base/err.h"

#include <stdbool.h>
#include <sys/types.h>

enum { EXPECT_MAX = 64 };

struct harness {
	const char *init, *fail, *read_deny, *grant, *host;
	const char *refused; /* the launch must fail with a message that holds this */
	bool heard;
	const char *pin; /* a file of the tree that is bound read-only over itself */
	const char *off[8];
	size_t off_count;
	bool pty;
	bool slow;        /* slow.h's file system lies in the tree */
	unsigned threads; /* of the gate; 0: as a session has them */
	bool cold;        /* the kernel forgets the names of the tree before the session: needs root */
	char **program;
	char base[64], tree[80], outside[80], read_only[80];
	int listener; /* a socket of the host inside the tree */
	int datagram;
	int other; /* a second listener, never granted */
	int control;
	pid_t bwrap;
	unsigned tests, failed, escaped;
	bool closing; /* the session is over; what follows is the driver's own verdict */
	char *expect[EXPECT_MAX];
	size_t expect_count;
	struct cc_buf events; /* every violation and notice, a line each */
	int status;           /* exit code of the program; -1: none */
};
extern struct harness harness;

/* A TAP line; counted. */
void harness_result(bool good, const char *label);
_Noreturn void harness_bail(const char *what);
/* How long to wait for anything: longer on a slow machine, which says so in PATIENCE (times). */
int harness_patience(int ms);
/* Makes base, tree, outside and ro, with a socket of the host in the tree. */
void harness_plant(void);
/* Does a name of the launch's tests lie in the tree? */
bool harness_left_over(void);
void harness_clean(void);
/* The file system of the tree knows files without a name (O_TMPFILE), as the host sees it. */
bool harness_has_unnamed(void);
void harness_forget_names(void);
/* Starts bubblewrap; harness.program[0] is replaced by its path inside. */
void harness_start(void);
void harness_send(const char *text, const int *fds, size_t count);
void harness_send_setup(void);

#endif
