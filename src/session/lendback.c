/* The way back of what was lent: every byte comes from inside, so it is read through a descriptor, bounded, checked for
 * shape, and put in place under a name of ours before it takes the old one's. */
#define _GNU_SOURCE
#include "session/lend.h"

#include "os/clock.h"
#include "os/fd.h"
#include "wire/json.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SHAPE_DEPTH = 4, SHAPE_KEY = 128, SHAPE_STRING = 16384 };

static bool plain_key(struct cc_view key)
{
	if (key.len == 0 || key.len > SHAPE_KEY)
		return false;
	for (size_t i = 0; i < key.len; i++)
		if ((unsigned char)key.ptr[i] <= ' ' || (unsigned char)key.ptr[i] >= 0x7f)
			return false;
	return true;
}

static bool plain_value(const struct cc_json *value, int depth)
{
	if (value->kind == CC_JSON_STRING)
		return value->text.len <= SHAPE_STRING;
	if (value->kind != CC_JSON_OBJECT && value->kind != CC_JSON_ARRAY)
		return true;
	if (depth == SHAPE_DEPTH)
		return false;
	for (const struct cc_json *at = value->child; at; at = at->next)
		if ((value->kind == CC_JSON_OBJECT && !plain_key(at->key)) || !plain_value(at, depth + 1))
			return false;
	return true;
}

static bool holds_word(struct cc_view key, const char *word)
{
	size_t len = strlen(word);

	for (size_t at = 0; at + len <= key.len; at++)
		if (cc_view_eq_nocase((struct cc_view){key.ptr + at, len}, cc_view_of(word)))
			return true;
	return false;
}

/* Words that would make an agent's credential file run something on the host. */
static bool names_a_command(const struct cc_json *value)
{
	static const char *const words[] = {"command", "helper", "hook", "exec", "script", "shell"};

	for (const struct cc_json *at = value->child; at; at = at->next) {
		for (size_t i = 0; value->kind == CC_JSON_OBJECT && i < CC_COUNT(words); i++)
			if (holds_word(at->key, words[i]))
				return true;
		/* OpenCode asks such an entry's address for configuration, and runs what that names. */
		if (cc_view_is(at->key, "type") && at->kind == CC_JSON_STRING &&
		    cc_view_eq_nocase(at->text, cc_view_of("wellknown")))
			return true;
		if (holds_word(at->key, "://"))
			return true;
		if (names_a_command(at))
			return true;
	}
	return false;
}

enum cc_code cc_lend_check_credential(const char *name, struct cc_view text, struct cc_err *err)
{
	CC_AUTO(cc_json_doc) doc = NULL;
	enum cc_code code;

	if (text.len > CC_LEND_CREDENTIAL_MAX)
		return cc_fail(err, CC_EPOLICY, 0, "%s: too large for a credential file", name);
	code = cc_json_parse(name, text, 0, &doc, err);
	if (code != CC_OK)
		return code;
	if (cc_json_root(doc)->kind != CC_JSON_OBJECT || !plain_value(cc_json_root(doc), 0))
		return cc_fail(err, CC_EPOLICY, 0, "%s: not the shape of a credential file", name);
	if (names_a_command(cc_json_root(doc)))
		return cc_fail(err, CC_EPOLICY, 0, "%s: names a command", name);
	return CC_OK;
}

/* Opens the directory that holds path, following no link in the last component of it. */
static int open_parent(const char *path, const char **out_name)
{
	char dir[PATH_MAX];
	const char *slash = strrchr(path, '/');

	if (!slash || slash == path || (size_t)(slash - path) >= sizeof(dir))
		return -1;
	memcpy(dir, path, (size_t)(slash - path));
	dir[slash - path] = '\0';
	*out_name = slash + 1;
	return open(dir, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

/* A new file beside it takes its name: readers see the old or the new content, never half of one. */
static enum cc_code put_in_place(const char *path, struct cc_view text, bool replace, struct cc_err *err)
{
	const char *name;
	char temporary[64];
	unsigned char random[8];
	CC_AUTO_FD dir = open_parent(path, &name);
	CC_AUTO_FD fd = -1;
	enum cc_code code;

	if (dir < 0)
		return cc_fail(err, CC_ESYS, errno, "the directory of %s", path);
	cc_random(random, sizeof(random));
	snprintf(temporary, sizeof(temporary), ".ccbox-%02x%02x%02x%02x%02x%02x", random[0], random[1], random[2],
		 random[3], random[4], random[5]);
	fd = openat(dir, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return cc_fail(err, CC_ESYS, errno, "%s", path);
	code = cc_fd_write_all(fd, text.ptr, text.len, err);
	if (code == CC_OK && fsync(fd) < 0)
		code = cc_fail(err, CC_ESYS, errno, "%s", path);
	if (code == CC_OK && (replace ? renameat(dir, temporary, dir, name) : linkat(dir, temporary, dir, name, 0)) < 0)
		code = cc_fail(err, CC_ESYS, errno, "%s", path);
	if (code != CC_OK || !replace)
		unlinkat(dir, temporary, 0);
	return code;
}

static bool host_unchanged(const struct cc_lend_back *back)
{
	struct cc_buf now;
	struct stat st;
	bool same;

	if (lstat(back->host, &st) < 0)
		return back->before == NULL;
	cc_buf_init(&now, CC_LEND_CREDENTIAL_MAX);
	same = S_ISREG(st.st_mode) && back->before && cc_fd_read_file(back->host, &now, NULL) == CC_OK && now.data &&
	       strcmp(now.data, back->before) == 0;
	cc_buf_done(&now);
	return same;
}

/* A first login finds no directory yet: one is made, as the agent itself would. */
static void make_parent(const char *path)
{
	char dir[PATH_MAX];

	if (strlen(path) >= sizeof(dir))
		return;
	memcpy(dir, path, strlen(path) + 1);
	for (char *at = strchr(dir + 1, '/'); at; at = strchr(at + 1, '/')) {
		*at = '\0';
		mkdir(dir, 0700);
		*at = '/';
	}
}

enum cc_code cc_lend_return(const struct cc_lend_back *back, int fd, struct cc_err *err)
{
	struct cc_buf text;
	enum cc_code code;

	cc_buf_init(&text, CC_LEND_CREDENTIAL_MAX);
	code = cc_fd_read_all(fd, &text, err);
	if (code == CC_OK && text.len && !(back->before && strcmp(back->before, text.data) == 0)) {
		code = cc_lend_check_credential(back->host, cc_buf_view(&text), err);
		if (code == CC_OK && !host_unchanged(back))
			code = cc_fail(err, CC_ESTATE, 0, "%s changed on the host meanwhile and is kept", back->host);
		if (code == CC_OK) {
			make_parent(back->host);
			code = put_in_place(back->host, cc_buf_view(&text), true, err);
		}
	}
	cc_buf_done(&text);
	return code;
}

/* Names come from inside: components only, nothing hidden, no way up. */
static bool plain_name(const char *name)
{
	if (!*name || *name == '/' || strlen(name) > 1024)
		return false;
	for (const char *at = name; *at; at++) {
		bool start = at == name || at[-1] == '/';

		if ((unsigned char)*at < ' ' || *at == 0x7f || (start && (*at == '.' || *at == '/')))
			return false;
	}
	return true;
}

enum cc_code cc_lend_return_new(const struct cc_lend_back *back, const char *name, int fd, struct cc_err *err)
{
	char path[PATH_MAX];
	struct cc_buf text;
	struct stat st;
	enum cc_code code;

	if (!plain_name(name) || !(cc_view_ends(cc_view_of(name), ".jsonl") || cc_view_ends(cc_view_of(name), ".json")))
		return CC_OK; /* transcripts only */
	if (snprintf(path, sizeof(path), "%s/%s", back->host, name) >= (int)sizeof(path) || lstat(path, &st) == 0)
		return CC_OK;
	cc_buf_init(&text, CC_LEND_FILE_MAX);
	code = cc_fd_read_all(fd, &text, err);
	if (code == CC_OK && text.len) {
		make_parent(path);
		code = put_in_place(path, cc_buf_view(&text), false, err);
	}
	cc_buf_done(&text);
	return code;
}
