/* main.c - rounds, spellings and lines of the differential test.
 * usage: differential SEED OPERATIONS */
#define _GNU_SOURCE
#include "ops.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { EPOCH = 250 };

struct run run;

static const char *const call_names[] = {
#define CALL_NAME(name) #name,
	CALLS(CALL_NAME)
#undef CALL_NAME
};
static const char *const form_names[] = {"absolute", "relative", "dirfd", "procfs", "symlink"};

/* xorshift*: the same sequence everywhere */
unsigned pick(unsigned below)
{
	run.random ^= run.random >> 12;
	run.random ^= run.random << 25;
	run.random ^= run.random >> 27;
	return (unsigned)((run.random * 2685821657736338717u) >> 33) % below;
}

static const char *object(bool makes)
{
	static char long_name[258];
	static const char *const plain[] = {"a",    "b",     "c",       "d0", "d1", "d0/a",
					    "d0/b", "d0/d1", "d0/d1/a", "l0", "l1", "l2"};
	static const char *const odd[] = {"nope/x",   "a/x",  "d0/.", "d0/..", ".",   "..",  "d0/", "a/", "d1/../a", "",
					  "\xff\xfe", "n\nl", "l0/",  "d0//a", "./b", "d1/", "l1/x"};

	const char *name;

	if (pick(5))
		return ONE_OF(plain);
	switch (pick(10)) {
	case 0:
		memset(long_name, 'n', 256);
		long_name[pick(2) ? 255 : 256] = '\0';
		return long_name;
	case 1:
		return makes ? "a" : ".env";
	default:
		name = ONE_OF(odd);
		/* in a bind, refused where its directory may not be read (folding.md) */
		return run.in_bind && (unsigned char)*name > 0x7f ? "n" : name;
	}
}

/* Never a device: in the run without the gate it would be the host's own that is changed. */
static const char *elsewhere(void)
{
	static char path[2 * PATH_MAX];

	switch (pick(8)) {
	case 0:
		return "/";
	case 1:
		return "/nope";
	case 2:
		return "/usr/nope";
	case 3:
		snprintf(path, sizeof(path), "%s/file", getenv("READONLY"));
		return path;
	case 4:
		snprintf(path, sizeof(path), "%s/nope", getenv("READONLY"));
		return path;
	case 5:
		return "/usr";
	case 6:
		snprintf(path, sizeof(path), "%s/%s", run.root, "a/../b");
		return path;
	default:
		snprintf(path, sizeof(path), "%s/%s", run.other, pick(2) ? "a" : "b");
		return path;
	}
}

void choose(struct spot *out, bool has_dirfd, bool makes)
{
	static const int dirs[] = {ROOT_PATH_FD, ROOT_FD, SUB_FD, ROOT_FD, ROOT_PATH_FD};
	static const char *const proc[] = {"/proc/self/fd/40/", "/dev/fd/41/",       "/proc/thread-self/fd/40/",
					   "/proc/self/cwd/",   "/proc/self/fd/42/", "LP/"};
	const char *name = object(makes);

	out->form = (enum form)pick(FORM_COUNT);
	if (out->form == FORM_DIRFD && !has_dirfd)
		out->form = FORM_RELATIVE;
	out->dirfd = AT_FDCWD;
	out->text = out->path;
	switch (out->form) {
	case FORM_ABSOLUTE:
		if (pick(6) == 0)
			snprintf(out->path, sizeof(out->path), "%s", elsewhere());
		else
			snprintf(out->path, sizeof(out->path), "%s/%s", run.root, name);
		break;
	case FORM_DIRFD:
		out->dirfd = pick(12) ? ONE_OF(dirs) : pick(2) ? run.slots[pick(SLOTS)] : 99;
		snprintf(out->path, sizeof(out->path), "%s", name);
		break;
	case FORM_PROCFS:
		if (pick(4))
			snprintf(out->path, sizeof(out->path), "%s%s", ONE_OF(proc), name);
		else
			snprintf(out->path, sizeof(out->path), "/proc/self/fd/%d", run.slots[pick(SLOTS)]);
		break;
	case FORM_SYMLINK:
		snprintf(out->path, sizeof(out->path), "%s%s", pick(3) ? "L/" : pick(2) ? "l0/" : "LD/", name);
		break;
	default:
		snprintf(out->path, sizeof(out->path), "%s", name);
	}
	if (pick(150) == 0)
		out->text = (const char *)16;
}

int choose_fd(struct spot *out)
{
	static const int flags[] = {
		O_RDONLY, O_RDWR, O_RDONLY | O_NOFOLLOW, O_PATH, O_PATH | O_NOFOLLOW, O_RDONLY | O_DIRECTORY};

	choose(out, true, false);
	if (pick(20) == 0)
		return pick(2) ? -1 : 99;
	return (int)syscall(SYS_openat, out->dirfd, out->text, ONE_OF(flags) | O_NONBLOCK | O_NOCTTY, 0);
}

/* The root's own name differs from run to run. */
static void put(const char *text)
{
	static const char *const variables[] = {"TREE", "READONLY"};

	while (*text) {
		size_t skip = 0;

		for (size_t i = 0; i < 2 && !skip; i++) {
			const char *value = getenv(variables[i]);

			if (value && strncmp(text, value, strlen(value)) == 0) {
				skip = strlen(value);
				printf("$%s", variables[i]);
			}
		}
		for (size_t same = strspn(text, (char[2]){*text, '\0'}); same > 40; same = 0) {
			printf("%c*%zu", *text, same);
			skip = same;
		}
		if (skip) {
			text += skip;
			continue;
		}
		if ((unsigned char)*text < 0x20 || (unsigned char)*text > 0x7e)
			printf("\\x%02x", (unsigned char)*text);
		else
			putchar(*text);
		text++;
	}
}

void told(enum call call, const struct spot *at, const char *tag, long result, const char *format, ...)
{
	int error = errno;
	char extra[2 * PATH_MAX];
	va_list args;

	run.cover[call][at->form]++;
	va_start(args, format);
	vsnprintf(extra, sizeof(extra), format, args);
	va_end(args);
	printf("=%lu %s [%s] %s %d ", run.op, call_names[call], tag, form_names[at->form], at->dirfd);
	put(at->text == at->path ? at->path : "(nowhere)");
	printf(" | ");
	put(extra);
	printf(" -> %s\n", result < 0 ? strerrorname_np(error) : "done");
}

static void do_state(void)
{
	struct spot here = {.form = FORM_RELATIVE, .dirfd = AT_FDCWD};
	static const int masks[] = {0, 022, 077, 027, 0777, 002};
	long result;

	here.text = here.path;
	here.path[0] = '\0';
	switch (pick(4)) {
	case 0:
		result = (long)umask((mode_t)ONE_OF(masks));
		told(CALL_umask, &here, "", result, "%lo", result);
		break;
	case 1:
		result = chdir(pick(3) ? run.root : "d0");
		told(CALL_chdir, &here, "", result, "%s", "");
		break;
	default: {
		int *slot = &run.slots[pick(SLOTS)];

		if (pick(3)) {
			result = write(*slot, "abcdefgh", 1 + pick(8));
			told(CALL_write, &here, "", result, "%ld", result);
		} else {
			close(*slot);
			*slot = -1;
		}
	}
	}
}

static void start_epoch(unsigned long number)
{
	const char *tree = getenv("TREE");

	run.in_bind = number % 2 == 0;
	run.fifos = number % 8 == 3;
	snprintf(run.base, sizeof(run.base), "%s/base", run.in_bind ? tree : "/tmp");
	snprintf(run.root, sizeof(run.root), "%s/w", run.base);
	snprintf(run.other, sizeof(run.other), "%s/other", run.in_bind ? "/tmp" : tree);
	printf("=epoch %lu %s\n", number, run.in_bind ? "bind" : "private");
	umask(022);
	tree_reset();
}

static void print_coverage(void)
{
	for (int i = 0; i < CALL_COUNT; i++) {
		printf("=coverage %s", call_names[i]);
		for (int k = 0; k < FORM_COUNT; k++)
			printf(" %u", run.cover[i][k]);
		putchar('\n');
	}
}

int main(int argc, char **argv)
{
	unsigned long total = argc > 2 ? strtoul(argv[2], NULL, 10) : 1000;
	uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;

	setvbuf(stdout, NULL, _IOFBF, 1 << 16);
	signal(SIGPIPE, SIG_IGN); /* a FIFO whose reader is gone */
	memset(run.slots, 0xff, sizeof(run.slots));
	for (run.op = 0; run.op < total; run.op++) {
		unsigned what;

		if (run.op % EPOCH == 0) {
			if (run.op)
				tree_dump();
			start_epoch(run.op / EPOCH);
		}
		/* what an operation draws depends on its number alone, not on what came of those before */
		run.random = (seed * 0x9e3779b97f4a7c15u) ^ (run.op + 1) * 0xbf58476d1ce4e5b9u;
		for (int i = 0; i < 4; i++)
			pick(2);
		what = pick(100);
		if (what < 38)
			do_names();
		else if (what < 62)
			do_open();
		else if (what < 90)
			do_meta();
		else if (what < 95)
			do_socket();
		else
			do_state();
	}
	tree_dump();
	print_coverage();
	printf("=end\n");
	return 0;
}
