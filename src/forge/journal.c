#define _GNU_SOURCE
#include "forge/journal.h"

#include "forge/kind.h"
#include "os/clock.h"
#include "os/fd.h"
#include "wire/json.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { ENTRY_MAX = 16 << 10, WAIT_MS = 30000, LOOK_MS = 50 };

static const char unfinished[] = "new-";

/* A forge helper of a daemon before this one may still be taking its tokens back. */
static enum cc_code lock(int dir, const char *path, struct cc_err *err)
{
	const struct timespec pause = {0, LOOK_MS * 1000000L};
	int64_t until = cc_clock_ms() + WAIT_MS;

	while (flock(dir, LOCK_EX | LOCK_NB) < 0) {
		if (errno != EWOULDBLOCK && errno != EINTR)
			return cc_fail(err, CC_ESYS, errno, "cannot lock %.200s", path);
		if (cc_clock_ms() > until)
			return cc_fail(err, CC_ESTATE, 0, "%.200s is in use by another process", path);
		nanosleep(&pause, NULL);
	}
	return CC_OK;
}

enum cc_code cc_journal_open(const char *data_dir, char *out_path, size_t cap, int *out_dir, struct cc_err *err)
{
	CC_AUTO_FD base = open(data_dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	CC_AUTO_FD dir = -1;
	enum cc_code code;
	struct stat st;

	if (base < 0)
		return cc_fail(err, CC_ESYS, errno, "%.200s", data_dir);
	if (mkdirat(base, "forge", 0700) < 0 && errno != EEXIST)
		return cc_fail(err, CC_ESYS, errno, "%.200s/forge", data_dir);
	dir = openat(base, "forge", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (dir < 0 || fstat(dir, &st) < 0)
		return cc_fail(err, CC_ESYS, errno, "%.200s/forge", data_dir);
	if (st.st_uid != geteuid() || (st.st_mode & 077) != 0)
		return cc_fail(err, CC_EPOLICY, 0, "%.200s/forge is not ours alone", data_dir);
	if ((size_t)snprintf(out_path, cap, "%s/forge", data_dir) >= cap)
		return cc_fail(err, CC_ELIMIT, 0, "the path of the data directory is too long");
	if (fsync(base) < 0)
		return cc_fail(err, CC_ESYS, errno, "fsync of %.200s", data_dir);
	code = lock(dir, out_path, err);
	if (code == CC_OK)
		*out_dir = cc_fd_take(&dir);
	return code;
}

static void write_entry(const struct cc_entry *entry, struct cc_buf *out)
{
	struct cc_jsonw w;

	cc_jsonw_init(&w, out);
	cc_jsonw_object(&w);
	cc_jsonw_kstr(&w, "host", entry->host);
	cc_jsonw_kstr(&w, "run", entry->run);
	if (entry->from)
		cc_jsonw_kstr(&w, "from", entry->from);
	if (entry->secret)
		cc_jsonw_kstr(&w, "token", entry->secret);
	if (entry->number)
		cc_jsonw_kstr(&w, "number", entry->number);
	if (entry->expires)
		cc_jsonw_kint(&w, "expires", entry->expires);
	cc_jsonw_end(&w);
	cc_buf_adds(out, "\n");
}

enum cc_code cc_journal_add(int dir, const struct cc_entry *entry, char out_name[CC_ENTRY_NAME], struct cc_err *err)
{
	unsigned char random[12];
	char name[CC_ENTRY_NAME] = "", temporary[CC_ENTRY_NAME + 8];
	CC_AUTO_FD fd = -1;
	struct cc_buf text;
	enum cc_code code;

	cc_random(random, sizeof(random));
	for (size_t i = 0; i < sizeof(random); i++)
		snprintf(name + 2 * i, 3, "%02x", random[i]);
	snprintf(temporary, sizeof(temporary), "%s%s", unfinished, name);
	fd = openat(dir, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return cc_fail(err, CC_ESYS, errno, "cannot write the journal");
	cc_buf_init(&text, ENTRY_MAX);
	write_entry(entry, &text);
	code = cc_buf_check(&text, "an entry of the journal", err);
	if (code == CC_OK)
		code = cc_fd_write_all(fd, text.data, text.len, err);
	cc_forge_wipe_buf(&text);
	if (code == CC_OK && (fsync(fd) < 0 || renameat(dir, temporary, dir, name) < 0 || fsync(dir) < 0))
		code = cc_fail(err, CC_ESYS, errno, "cannot write the journal");
	if (code != CC_OK) {
		unlinkat(dir, temporary, 0);
		return code;
	}
	snprintf(out_name, CC_ENTRY_NAME, "%s", name);
	return CC_OK;
}

void cc_journal_remove(int dir, const char *name)
{
	/* One that stays is taken back once more at the next start: the forge says then that it is gone. */
	if (name[0] && unlinkat(dir, name, 0) == 0)
		(void)!fsync(dir);
}

static bool read_entry(int dir, const char *name, bool (*take)(void *, const char *, const struct cc_entry *),
		       void *context)
{
	CC_AUTO_FD fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	CC_AUTO(cc_json_doc) doc = NULL;
	const struct cc_json *root;
	struct cc_entry entry;
	struct cc_buf text;
	bool good;

	if (fd < 0)
		return false;
	cc_buf_init(&text, ENTRY_MAX);
	good = cc_fd_read_all(fd, &text, NULL) == CC_OK &&
	       cc_json_parse(name, cc_buf_view(&text), 0, &doc, NULL) == CC_OK;
	cc_forge_wipe_buf(&text);
	if (!good)
		return false;
	root = cc_json_root(doc);
	entry = (struct cc_entry){.host = cc_json_str(root, "host", NULL),
				  .run = cc_json_str(root, "run", ""),
				  .from = cc_json_str(root, "from", NULL),
				  .secret = cc_json_str(root, "token", NULL),
				  .number = cc_json_str(root, "number", NULL),
				  .expires = cc_json_int(root, "expires", 0)};
	return entry.host && (entry.secret || entry.number) && take(context, name, &entry);
}

enum cc_code cc_journal_read(int dir, bool (*take)(void *context, const char *name, const struct cc_entry *entry),
			     void *context, size_t *out_unread, struct cc_err *err)
{
	int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = copy >= 0 ? fdopendir(copy) : NULL;
	size_t count = 0;

	*out_unread = 0;
	if (!list) {
		cc_fd_close(&copy);
		return cc_fail(err, CC_ESYS, errno, "cannot read the journal");
	}
	for (struct dirent *entry = readdir(list); entry; entry = readdir(list)) {
		if (entry->d_name[0] == '.')
			continue;
		/* It was never used. */
		if (strncmp(entry->d_name, unfinished, sizeof(unfinished) - 1) == 0)
			unlinkat(dir, entry->d_name, 0);
		else if (strlen(entry->d_name) >= CC_ENTRY_NAME || ++count > CC_JOURNAL_MAX ||
			 !read_entry(dir, entry->d_name, take, context))
			(*out_unread)++;
	}
	closedir(list);
	return CC_OK;
}
