/* names.c - cases 1-13, 35-41, 52-67, 87-89, 93, 94: names made, opened, moved, removed by every call there is. */
#define _GNU_SOURCE
#include "a.h"

#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

static void by_open(void)
{
	int dir = open("sub", O_RDONLY | O_DIRECTORY), path_dir = open("sub", O_PATH | O_DIRECTORY), fd;

	denied("1", "create in a subdirectory", open("sub/.env.local", O_WRONLY | O_CREAT, 0644));
	denied("2", "absolute path", open(in_tree("x.pem"), O_WRONLY | O_CREAT, 0644));
	denied("3", "relative to a directory descriptor", openat(dir, "x.pem", O_WRONLY | O_CREAT, 0644));
	denied("4", "relative to an O_PATH descriptor", openat(path_dir, "x.pem", O_WRONLY | O_CREAT, 0644));
	denied("5", "creat", creat("c.key", 0644));
#ifdef SYS_open
	denied("6", "legacy open", syscall(SYS_open, "l.key", O_WRONLY | O_CREAT, 0644));
#endif
	denied("7", "openat2", openat2_(AT_FDCWD, "o.key", O_WRONLY | O_CREAT, 0644, 0));
	denied("8", "O_RDONLY|O_CREAT", open("r.key", O_RDONLY | O_CREAT, 0644));
	denied("9", "O_RDONLY|O_TRUNC", open(".env", O_RDONLY | O_TRUNC));
	denied("10", "O_WRONLY", open(".env", O_WRONLY));
	denied("10", "O_RDWR", open(".env", O_RDWR));
	denied("10", "O_APPEND", open(".env", O_WRONLY | O_APPEND));
	denied("11", "access mode 3", open(".env", 3));
	fd = works("12", "O_PATH|O_WRONLY gives a path descriptor", open(".env", O_PATH | O_WRONLY));
	say(write(fd, "x", 1) < 0 && errno == EBADF, "12", "which cannot be written", errno);
	works("13", "plain read", open(".env", O_RDONLY));
	works("FS-02", "a good name beside it", open("sub/good.txt", O_WRONLY | O_CREAT, 0644));
	denied("FS-16", "a detour over ..", open("sub/../.env.x", O_WRONLY | O_CREAT, 0644));
	close(dir);
	close(path_dir);
}

static void by_rename(void)
{
	make("t");
	denied("17", "rename onto a new denied name", rename("t", "t.key"));
	denied("18", "renameat2 NOREPLACE", syscall(SYS_renameat2, AT_FDCWD, "t", AT_FDCWD, "t.key", 1));
	denied("19", "exchange", syscall(SYS_renameat2, AT_FDCWD, "t", AT_FDCWD, ".env", 2));
	denied("19", "exchange, the other way", syscall(SYS_renameat2, AT_FDCWD, ".env", AT_FDCWD, "t", 2));
	denied("20", "rename away", rename(".env", "env"));
	denied("21", "rename onto an existing one", rename("t", ".env"));
	denied("22", "hard link to", link("t", "t.pem"));
	denied("23", "hard link from", link(".env", "alias"));
	denied("26", "symlink at", symlink("t", "s.key"));
	denied("67", "unlink", unlink(".env"));
	denied("37", "mkdir with a trailing slash", mkdir(".env.d/", 0755));
	denied("38", "mkfifo", mkfifo("f.key", 0600));
	denied("38", "mknod of a regular file", mknod("n.key", S_IFREG | 0600, 0));
	fails("39", "character device", mknod("null", S_IFCHR | 0600, 0x103), EPERM);
	denied("17-attacks", "a FIFO in a bind", mkfifo("a.txt", 0600));
	denied("41", "truncate", truncate(".env", 0));
	fails("14-attacks", "whiteout", syscall(SYS_renameat2, AT_FDCWD, "t", AT_FDCWD, "u", 4), EINVAL);
	works("FS-42", "rename of a good name", rename("t", "t2"));
}

static void spellings(void)
{
	char name[300];

	denied("52", ".ENV", open(".ENV", O_WRONLY | O_CREAT, 0644));
	denied("52", "X.PeM", open("X.PeM", O_WRONLY | O_CREAT, 0644));
	denied("53", "not UTF-8", open("\xff\xfe.key", O_WRONLY | O_CREAT, 0644));
	works("53", "not UTF-8, good", open("\xff\xfe.txt", O_WRONLY | O_CREAT, 0644));
	denied("54", "a newline in the name", open("a\nb.key", O_WRONLY | O_CREAT, 0644));
	memset(name, 'a', sizeof(name));
	strcpy(name + 251, ".pem");
	denied("55", "255 bytes", open(name, O_WRONLY | O_CREAT, 0644));
	strcpy(name + 255, ".pem");
	memcpy(name + 251, "aaaa", 4);
	fails("55", "259 bytes", open(name, O_WRONLY | O_CREAT, 0644), ENAMETOOLONG);
	denied("56", "the bare suffix", open(".key", O_WRONLY | O_CREAT, 0644));
	works("56", "xkey", open("xkey", O_WRONLY | O_CREAT, 0644));
	denied("61", ".gitmodules", open(".gitmodules", O_WRONLY | O_CREAT, 0644));
	denied("61", ".mcp.json", open(".mcp.json", O_WRONLY | O_CREAT, 0644));
	denied("62", "mkdir .vscode", mkdir(".vscode", 0755));
	denied("62", "symlink .vscode", symlink("sub", ".vscode"));
	make("prepared");
	denied("63", "a file renamed onto .husky", rename("prepared", ".husky"));
	mkdir("ready", 0755);
	make("ready/settings.json");
	denied("63", "a directory renamed onto a missing ancestor", rename("ready", ".claude"));
	denied("64", "a symlink at a missing ancestor", symlink("ready", ".claude"));
	denied("64", "a file at a missing ancestor", open(".claude", O_WRONLY | O_CREAT, 0644));
	works("65", "mkdir of it", mkdir(".claude", 0755));
	denied("65", "its denied child", open(".claude/settings.json", O_WRONLY | O_CREAT, 0644));
	works("65", "another child", open(".claude/notes.txt", O_WRONLY | O_CREAT, 0644));
	denied("66", "exchange with it", syscall(SYS_renameat2, AT_FDCWD, "ready", AT_FDCWD, ".claude", 2));
	denied("69", "the tree itself", rename(getenv("TREE"), in_tree("../moved")));
}

static void git_names(void)
{
	denied("57", "a hook", open(".git/hooks/pre-commit", O_WRONLY | O_CREAT, 0755));
	denied("57", "a directory in hooks", mkdir(".git/hooks/d", 0755));
	denied("58", "config written", open(".git/config", O_WRONLY));
	make("cfg");
	denied("58", "config renamed onto", rename("cfg", ".git/config"));
	denied("58", "config removed", unlink(".git/config"));
	denied("59", ".git away", rename(".git", "git"));
	denied("59", "hooks away", rename(".git/hooks", ".git/h"));
	works("60", "index.lock", open(".git/index.lock", O_WRONLY | O_CREAT | O_EXCL, 0644));
	works("60", "renamed to index", rename(".git/index.lock", ".git/index"));
	denied("FS-31", "at any depth",
	       (mkdir("a", 0755), mkdir("a/b", 0755), mkdir("a/b/.git", 0755), mkdir("a/b/.git/hooks", 0755),
		open("a/b/.git/hooks/pre-commit", O_WRONLY | O_CREAT, 0755)));
}

static void native_errors(void)
{
	char *page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
	     *longer = malloc(9000);
	int file = open("plain.txt", O_RDONLY), dead;

	munmap(page + 4096, 4096);
	fails("87", "EFAULT", mkdir((char *)8, 0755), EFAULT);
	strcpy(page + 4096 - 4, "atp");
	works("87", "a string that ends at an unmapped page", mkdir(page + 4096 - 4, 0755));
	memset(page + 4090, 'z', 6);
	fails("87", "one that runs into it", mkdir(page + 4090, 0755), EFAULT);
	memset(longer, 'a', 8000);
	longer[8000] = 0;
	fails("87", "8000 bytes", mkdir(longer, 0755), ENAMETOOLONG);
	fails("87", "the empty path", mkdir("", 0755), ENOENT);
	fails("87", "a bad descriptor", mkdirat(99, "x", 0755), EBADF);
	fails("87", "a file as directory", mkdirat(file, "x", 0755), ENOTDIR);
	fails("87", "EISDIR", open("sub", O_WRONLY), EISDIR);
	fails("87", "ENOENT", open("none/x", O_WRONLY | O_CREAT, 0644), ENOENT);
	fails("87", "EEXIST", mkdir("sub", 0755), EEXIST);
	fails("87", "ENOTEMPTY", rmdir("sub"), ENOTEMPTY);
	fails("87", "rmdir .", rmdir("."), EINVAL);
	fails("87", "rename .", rename(".", "x"), EBUSY);
	mkdir("into", 0755);
	fails("87", "rename into itself", rename("into", "into/x"), EINVAL);
	mkdir("dead", 0755);
	dead = open("dead", O_RDONLY | O_DIRECTORY);
	rmdir("dead");
	fails("87", "a deleted directory", openat(dead, "x", O_WRONLY | O_CREAT, 0644), ENOENT);
	fails("87", "mkdir of an existing denied directory", mkdir(".git/hooks", 0755), EEXIST);
	fails("87", "unlink of a missing denied name", unlink("none.pem"), ENOENT);
	fails("93", "a read-only bind",
	      open(strcat(strcpy(longer, getenv("READONLY")), "/new"), O_WRONLY | O_CREAT, 0644), EROFS);
	fails("FS-41", "hard link out of a read-only bind",
	      link(strcat(strcpy(longer, getenv("READONLY")), "/file"), "l"), EXDEV);
	denied("94", "/dev/shm is private, so free; the tree is not", open(in_tree("q.pem"), O_WRONLY | O_CREAT, 0644));
	works("94", "names are free in the private /tmp", open("/tmp/x.pem", O_WRONLY | O_CREAT, 0644));
	free(longer);
}

static void fidelity(void)
{
	struct stat st;
	int fd, flags;

	umask(077);
	fd = open("u077", O_WRONLY | O_CREAT, 0666);
	say(fstat(fd, &st) == 0 && (st.st_mode & 0777) == 0600, "88", "umask 077", errno);
	umask(0);
	fd = open("u0", O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
	say(fstat(fd, &st) == 0 && (st.st_mode & 0777) == 0666, "88", "umask 0", errno);
	flags = fcntl(fd, F_GETFL);
	say(flags & O_APPEND && !(flags & (O_NONBLOCK | O_NOFOLLOW)) && fcntl(fd, F_GETFD) & FD_CLOEXEC, "88",
	    "the flags are those asked for", 0);
	fd = open("u0", O_WRONLY | O_NONBLOCK | O_NOFOLLOW);
	flags = fcntl(fd, F_GETFL);
	say(flags & O_NONBLOCK && !(fcntl(fd, F_GETFD) & FD_CLOEXEC), "88", "O_NONBLOCK kept", 0);
	umask(022);
	fd = open("suid", O_WRONLY | O_CREAT, 06755);
	say(fstat(fd, &st) == 0 && (st.st_mode & 07777) == 0755, "14-attacks", "no setuid by open", errno);
	say(mkdir("sticky", 01777) == 0 && stat("sticky", &st) == 0 && (st.st_mode & 07777) == 01755, "14-attacks",
	    "sticky stays on a directory", errno);
	open("r444", O_WRONLY | O_CREAT, 0444);
	if (getuid() == 0)
		skip("89", "uid 0 owns DAC override on the host only; inside it has no capability");
	else
		fails("89", "a file made 0444 is not opened again for writing", open("r444", O_WRONLY), EACCES);
	if (has_unnamed())
		works("88", "O_TMPFILE", open(".", O_TMPFILE | O_RDWR, 0600));
	else
		fails("88", "O_TMPFILE", open(".", O_TMPFILE | O_RDWR, 0600), EOPNOTSUPP);
	works("88", "openat2 BENEATH", openat2_(AT_FDCWD, "sub/beneath", O_WRONLY | O_CREAT, 0644, 8));
	fails("88", "openat2 BENEATH upwards", openat2_(AT_FDCWD, "../x", O_WRONLY | O_CREAT, 0644, 8), EXDEV);
	denied("7", "openat2 BENEATH denied", openat2_(AT_FDCWD, "sub/b.pem", O_WRONLY | O_CREAT, 0644, 8));
	fd = works("88", "openat2 IN_ROOT", openat2_(open("sub", O_PATH), "/inroot", O_WRONLY | O_CREAT, 0644, 16));
	say(stat("sub/inroot", &st) == 0, "88", "IN_ROOT lands below the directory", errno);
}

int main(void)
{
	printf("expect \"rule\":\"name:\n");
	printf("expect \"action\":\"file-write-create\"\n");
	by_open();
	by_rename();
	spellings();
	git_names();
	native_errors();
	fidelity();
	return 0;
}
