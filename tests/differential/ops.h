/* ops.h - the differential test's program: a random sequence of file operations that depends on its seed alone, and a
 * line for each result. It runs once in plain bubblewrap and once under the gate; compare.py reads both.
 *
 * A result that the gate gives on purpose where the kernel would give another carries a tag, which is a row of
 * docs/decisions/errno.md; the program then undoes what either of the two may have done, so that both trees stay
 * equal. */
#ifndef CC_TESTS_DIFFERENTIAL_OPS_H
#define CC_TESTS_DIFFERENTIAL_OPS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

/* Ways to spell an object; each call is tried in each. */
enum form { FORM_ABSOLUTE, FORM_RELATIVE, FORM_DIRFD, FORM_PROCFS, FORM_SYMLINK, FORM_COUNT };

/* clang-format off */
#define CALLS(X) \
	X(open) X(openat) X(openat2) X(creat) X(tmpfile) X(mkdir) X(mkdirat) X(mknod) X(mknodat) X(rename) X(renameat) \
	X(renameat2) X(link) X(linkat) X(symlink) X(symlinkat) X(unlink) X(unlinkat) X(rmdir) X(truncate) X(chmod) \
	X(fchmod) X(fchmodat) X(fchmodat2) X(chown) X(lchown) X(fchown) X(fchownat) X(utime) X(utimes) X(futimesat) \
	X(utimensat) X(setxattr) X(lsetxattr) X(fsetxattr) X(removexattr) X(lremovexattr) X(fremovexattr) \
	X(setxattrat) X(removexattrat) X(bind) X(connect) X(handle) X(umask) X(write) X(chdir)
/* clang-format on */
enum call {
#define CALL_ID(name) CALL_##name,
	CALLS(CALL_ID)
#undef CALL_ID
		CALL_COUNT
};

/* Descriptors that are always there. */
enum { ROOT_PATH_FD = 40, ROOT_FD, SUB_FD, SLOTS = 6 };

struct spot {
	enum form form;
	int dirfd;
	const char *text; /* what the call is given: path, or a pointer into nowhere */
	char path[2 * PATH_MAX];
};

struct run {
	uint64_t random;
	unsigned long op;
	char base[128], root[160]; /* where this epoch works: a directory, and the one that holds it */
	char other[128];           /* a directory on another mount */
	bool in_bind;
	bool fifos; /* FIFOs may lie about: every open is O_NONBLOCK */
	int slots[SLOTS];
	unsigned cover[CALL_COUNT][FORM_COUNT];
};
extern struct run run;

unsigned pick(unsigned below);
#define ONE_OF(list) ((list)[pick(sizeof(list) / sizeof((list)[0]))])

/* A place to work on. makes: nothing that the rules know may come into being there. */
void choose(struct spot *out, bool has_dirfd, bool makes);
/* A descriptor of some object, reached by a spelling of that form. -1 where there is none. */
int choose_fd(struct spot *out);
/* One line: result is a return value with errno. The tag is a row of errno.md, or "". */
void told(enum call call, const struct spot *at, const char *tag, long result, const char *format, ...)
	__attribute__((format(printf, 5, 6)));

void do_names(void);
void do_open(void);
void do_meta(void);
void do_socket(void);

void tree_reset(void);
void tree_dump(void);

#endif
