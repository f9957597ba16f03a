/* fold.c - a directory that folds case (ext4 and others with the casefold feature) finds a file by names that nobody
 * wrote: the Kelvin sign is a k, characters without a shape are nothing. A rule knows the ASCII name only, so every
 * such spelling of a name that it means must be refused, for what is new and for what is there, last or on the way. */
#define _GNU_SOURCE
#include "a.h"

#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>

#define KELVIN  "\xe2\x84\xaa" /* folds to k */
#define LONG_S  "\xc5\xbf"     /* folds to s */
#define NOTHING "\xe2\x80\x8c" /* zero-width non-joiner: folds to nothing */

static const char *by_fd(int fd)
{
	static char path[4][64];
	static unsigned at;

	at = (at + 1) % 4;
	snprintf(path[at], sizeof(path[at]), "/proc/self/fd/%d", fd);
	return path[at];
}

static void new_names(void)
{
	make("good.txt");
	make("good2.txt");
	denied("56", "create id.Key with a Kelvin sign", open("id." KELVIN "ey", O_WRONLY | O_CREAT, 0644));
	denied("56", "create a.pem with nothing in it", open("a.pe" NOTHING "m", O_WRONLY | O_CREAT, 0644));
	denied("56", "create .env below", open("sub/.e" NOTHING "nv.local", O_WRONLY | O_CREAT, 0644));
	denied("56", "rename onto it", rename("good.txt", "b." KELVIN "ey"));
	denied("56", "link onto it", link("good2.txt", "c." KELVIN "ey"));
	denied("56", "symlink at it", symlink("good2.txt", "d." KELVIN "ey"));
	denied("56", "mkdir of it", mkdir(".v" LONG_S "code", 0755));
	denied("56", "mknod of it", mknod("e." KELVIN "ey", S_IFREG | 0644, 0));
	say(access("id.key", F_OK) < 0 && access(".vscode", F_OK) < 0, "56", "none is there by its own name", 0);
}

static void old_names(void)
{
	int fd;

	denied("56", "write .env by another spelling", open(".e" NOTHING "nv", O_WRONLY));
	denied("56", "and in the other case", open(".E" NOTHING "NV", O_WRONLY));
	denied("56", "truncate it", truncate("sub/.e" NOTHING "nv", 0));
	denied("56", "chmod it", chmod("old.pe" NOTHING "m", 0600));
	denied("56", "set its times", utimensat(AT_FDCWD, "old.pe" NOTHING "m", NULL, 0));
	denied("56", "link from it", link(".e" NOTHING "nv", "alias"));
	denied("56", "rename it away", rename("old.pe" NOTHING "m", "moved"));
	denied("56", "remove it", unlink("sub/.e" NOTHING "nv"));
	fd = open("sub/.e" NOTHING "nv", O_RDONLY | O_CLOEXEC);
	denied("56", "open it again for writing by its descriptor", open(by_fd(fd), O_WRONLY));
	denied("56", "fchmod it", fchmod(fd, 0600));
	close(fd);
	fd = open("old.pe" NOTHING "m", O_PATH | O_CLOEXEC);
	denied("56", "open it again from a path descriptor", open(by_fd(fd), O_WRONLY));
	close(fd);
}

static void on_the_way(void)
{
	int dir = open(".g" NOTHING "it", O_PATH | O_DIRECTORY | O_CLOEXEC);

	denied("57", "a hook, .git spelled otherwise",
	       open(".g" NOTHING "it/hooks/post-commit", O_WRONLY | O_CREAT, 0755));
	denied("57", "a hook, hooks spelled otherwise",
	       open(".git/hoo" KELVIN "s/post-checkout", O_WRONLY | O_CREAT, 0755));
	denied("57", "from a descriptor of it", openat(dir, "hooks/pre-commit", O_WRONLY | O_CREAT, 0755));
	denied("57", "git's configuration", open(".g" NOTHING "it/config", O_WRONLY));
	denied("57", "a directory of hooks moved", rename(".git/hoo" KELVIN "s", "away"));
	if (chdir(".git/hoo" KELVIN "s") == 0) {
		denied("57", "from inside", open("pre-push", O_WRONLY | O_CREAT, 0755));
		chdir(getenv("TREE"));
	}
	say(access(".git/hooks/post-commit", F_OK) < 0 && access(".git/hooks/pre-push", F_OK) < 0 &&
		    access(".git/hooks/pre-commit", F_OK) < 0 && access(".git/hooks/post-checkout", F_OK) < 0,
	    "57", "no hook is there", 0);
}

static void unreadable(void)
{
	mkdir("closed", 0755);
	chmod("closed", 0300);
	denied("56", "in a directory that cannot be looked at",
	       open("closed/f." KELVIN "ey", O_WRONLY | O_CREAT, 0644));
	chmod("closed", 0755);
}

int main(int argc, char **argv)
{
	long flags = 0;
	int dir = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	(void)argv;
	if (dir < 0 || ioctl(dir, _IOR('f', 1, long), &flags) < 0 || !(flags & 0x40000000)) {
		skip("56", "this directory does not fold case");
		return 0;
	}
	if (argc > 1) { /* a session that judges reads */
		denied("8-attacks", "read what is not to be read, spelled otherwise", open(KELVIN "ept.txt", O_RDONLY));
		denied("8-attacks", "and through a descriptor",
		       open(by_fd(open(KELVIN "ept.txt", O_PATH | O_CLOEXEC)), O_RDONLY));
		return 0;
	}
	new_names();
	old_names();
	on_the_way();
	unreadable();
	works("53", "so are names that are no UTF-8", open("caf\xff.txt", O_WRONLY | O_CREAT, 0644));
	make("kk\xff.txt");
	say(access(KELVIN "k\xff.txt", F_OK) < 0, "53", "which the kernel does not fold", 0);
	say(access("KK\xff.txt", F_OK) < 0, "53", "not even their ASCII letters", 0);
	denied("53", "with a denied ending", open("caf\xff.pem", O_WRONLY | O_CREAT, 0644));
	works("56", "ASCII names are free", open("Fine.TXT", O_WRONLY | O_CREAT, 0644));
	denied("56", "and the denied ones are in any case", open("X.KeY", O_WRONLY | O_CREAT, 0644));
	return 0;
}
