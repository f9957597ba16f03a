#define _GNU_SOURCE
#include "work/remotes.h"

#include "base/mem.h"
#include "work/git.h"

#include <stdio.h>
#include <string.h>

enum { SETTINGS_MAX = 1 << 20 };

static bool is_word(struct cc_view text)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";

	if (text.len == 0 || text.ptr[0] == '.' || text.ptr[0] == '-')
		return false;
	for (size_t i = 0; i < text.len; i++)
		if (!text.ptr[i] || !strchr(plain, text.ptr[i]))
			return false;
	return true;
}

/* A name; with a port only where the scheme is the one that pushes take, since it is the same server then. */
static bool is_host(struct cc_view host, bool with_port)
{
	const char *colon = memchr(host.ptr, ':', host.len);
	struct cc_view name = {host.ptr, colon ? (size_t)(colon - host.ptr) : host.len};

	for (size_t i = name.len + 1; colon && i < host.len; i++)
		if (host.ptr[i] < '0' || host.ptr[i] > '9')
			return false;
	return is_word(name) && (!colon || (with_port && host.len > name.len + 1 && host.len <= name.len + 6));
}

static struct cc_view take_until(struct cc_view *text, char end)
{
	const char *found = memchr(text->ptr, end, text->len);
	struct cc_view word = {text->ptr, found ? (size_t)(found - text->ptr) : text->len};

	text->ptr += word.len + (found != NULL);
	text->len -= word.len + (found != NULL);
	return word;
}

/* user@ in front of a host, where it is one: a path may hold an @ as well. */
static void drop_user(struct cc_view *rest, const char *ends)
{
	for (size_t i = 0; i < rest->len && !strchr(ends, rest->ptr[i]); i++)
		if (rest->ptr[i] == '@') {
			rest->ptr += i + 1;
			rest->len -= i + 1;
			return;
		}
}

bool cc_remote_repo(struct cc_view url, char out[CC_REMOTE_REPO])
{
	static const char *const schemes[] = {"https://", "ssh://"};
	struct cc_view rest = url, host, path;
	char made[CC_REMOTE_REPO];
	size_t parts = 0;
	char end = ':'; /* host:owner/name */

	for (size_t i = 0; i < CC_COUNT(schemes); i++)
		if (cc_view_starts(url, schemes[i])) {
			rest.ptr += strlen(schemes[i]);
			rest.len -= strlen(schemes[i]);
			end = '/';
		}
	drop_user(&rest, end == '/' ? "/" : "/:");
	host = take_until(&rest, end);
	while (rest.len && rest.ptr[rest.len - 1] == '/')
		rest.len--;
	if (rest.len > 4 && memcmp(rest.ptr + rest.len - 4, ".git", 4) == 0)
		rest.len -= 4;
	if (!is_host(host, cc_view_starts(url, schemes[0])) || rest.len == 0)
		return false;
	path = rest;
	while (rest.len) {
		if (!is_word(take_until(&rest, '/')))
			return false;
		parts++;
	}
	if (parts < 2 || snprintf(made, sizeof(made), "%.*s/%.*s", (int)host.len, host.ptr, (int)path.len, path.ptr) >=
				 (int)sizeof(made))
		return false;
	memcpy(out, made, sizeof(made));
	return true;
}

static bool is_known(const char *repo, const struct cc_strv *hosts)
{
	size_t len = strcspn(repo, "/");

	for (size_t i = 0; i < hosts->count; i++)
		if (strlen(hosts->items[i]) == len && memcmp(hosts->items[i], repo, len) == 0)
			return true;
	return false;
}

/* One setting, remote.NAME.url or .pushurl; every other one is none of ours. */
static void take_setting(struct cc_view key, struct cc_view value, const struct cc_strv *hosts, struct cc_remotes *out)
{
	static const char *const ends[] = {".pushurl", ".url"};
	struct cc_remote *to = &out->at[out->count];
	struct cc_view name = key;

	if (!cc_view_starts(key, "remote.") || out->count == CC_REMOTES)
		return;
	for (size_t i = 0; i < CC_COUNT(ends); i++) {
		size_t len = strlen(ends[i]);

		if (name.len <= 7 + len || memcmp(name.ptr + name.len - len, ends[i], len) != 0)
			continue;
		name = (struct cc_view){name.ptr + 7, name.len - 7 - len};
		if (!is_word(name) || name.len >= CC_REMOTE_NAME || !cc_remote_repo(value, to->repo) ||
		    !is_known(to->repo, hosts))
			return;
		snprintf(to->name, sizeof(to->name), "%.*s", (int)name.len, name.ptr);
		for (size_t k = 0; k < out->count; k++)
			if (strcmp(out->at[k].repo, to->repo) == 0)
				return;
		out->count++;
		return;
	}
}

enum cc_code cc_remotes_find(const char *dir, char *const *env, const struct cc_strv *hosts, struct cc_remotes *out,
			     struct cc_err *err)
{
	static const char *const words[] = {"config", "-z", "--list", NULL};
	struct cc_git git = {0};
	struct cc_buf text;
	enum cc_code code = cc_git_init(&git, env, err);

	out->count = 0;
	cc_buf_init(&text, SETTINGS_MAX);
	if (code == CC_OK) {
		cc_buf_done(&text);
		code = cc_git_run(&git, dir, SETTINGS_MAX, &text, words, err);
	}
	if (code == CC_OK) {
		struct cc_view rest = cc_buf_view(&text);

		while (rest.len) {
			struct cc_view row = take_until(&rest, '\0'), key = take_until(&row, '\n');

			take_setting(key, row, hosts, out);
		}
	}
	cc_buf_done(&text);
	cc_git_done(&git);
	return code;
}
