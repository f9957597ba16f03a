#include "forge/name.h"

#include <string.h>

enum { HOST_MAX = 255, PART_MAX = 100, PORT_DIGITS = 5 };

static bool letter_or_digit(char byte)
{
	return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9');
}

static bool digits(struct cc_view text)
{
	for (size_t i = 0; i < text.len; i++)
		if (text.ptr[i] < '0' || text.ptr[i] > '9')
			return false;
	return text.len > 0 && text.len <= PORT_DIGITS;
}

bool cc_host_good(struct cc_view host)
{
	const char *colon = host.len ? memchr(host.ptr, ':', host.len) : NULL;
	size_t len = colon ? (size_t)(colon - host.ptr) : host.len;

	if (len == 0 || len > HOST_MAX || !letter_or_digit(host.ptr[0]) || !letter_or_digit(host.ptr[len - 1]))
		return false;
	for (size_t i = 0; i < len; i++) {
		if (host.ptr[i] == '.' && host.ptr[i + 1] == '.') /* the last one is a letter or a digit */
			return false;
		if (!letter_or_digit(host.ptr[i]) && host.ptr[i] != '.' && host.ptr[i] != '-')
			return false;
	}
	return !colon || digits((struct cc_view){colon + 1, host.len - len - 1});
}

static bool part_good(struct cc_view part)
{
	if (part.len == 0 || part.len > PART_MAX || part.ptr[0] == '.' || part.ptr[0] == '-')
		return false;
	for (size_t i = 0; i < part.len; i++) {
		char byte = part.ptr[i];

		if (!letter_or_digit(byte) && byte != '.' && byte != '_' && byte != '-')
			return false;
		/* nor a dot at the end: .git comes behind it */
		if (byte == '.' && (i + 1 == part.len || part.ptr[i + 1] == '.'))
			return false;
	}
	return true;
}

enum cc_code cc_repo_read(const char *text, struct cc_repo *out_repo, struct cc_err *err)
{
	struct cc_view rest = cc_view_of(text), part;
	struct cc_repo repo = {0};
	size_t parts = 0;

	if (rest.len > CC_REPO_MAX)
		return cc_fail(err, CC_ELIMIT, 0, "a repository's name of %zu bytes", rest.len);
	while (rest.len) {
		const char *slash = memchr(rest.ptr, '/', rest.len);

		part = (struct cc_view){rest.ptr, slash ? (size_t)(slash - rest.ptr) : rest.len};
		if (parts == 0 ? !cc_host_good(part) : !part_good(part))
			break;
		if (parts == 0)
			repo.host = part;
		repo.name = part;
		parts++;
		rest.ptr += part.len + (slash ? 1 : 0);
		rest.len -= part.len + (slash ? 1 : 0);
		if (slash && rest.len == 0)
			return cc_fail(err, CC_EINVAL, 0, "not a repository: it ends in a slash");
	}
	if (rest.len || parts < 3 || parts > CC_REPO_PARTS_MAX || cc_view_ends(repo.name, ".git"))
		return cc_fail(err, CC_EINVAL, 0, "not a repository (HOST/OWNER/NAME)");
	repo.owner.ptr = repo.host.ptr + repo.host.len + 1;
	repo.owner.len = (size_t)(repo.name.ptr - repo.owner.ptr) - 1;
	*out_repo = repo;
	return CC_OK;
}

void cc_repo_url(const struct cc_repo *repo, struct cc_buf *out)
{
	cc_buf_adds(out, "https://");
	cc_buf_add(out, repo->host.ptr, repo->host.len);
	cc_buf_adds(out, "/");
	cc_buf_add(out, repo->owner.ptr, repo->owner.len);
	cc_buf_adds(out, "/");
	cc_buf_add(out, repo->name.ptr, repo->name.len);
	cc_buf_adds(out, ".git");
}

bool cc_base_good(struct cc_view url)
{
	static const char scheme[] = "https://";
	struct cc_view rest;
	const char *slash;

	if (!cc_view_starts(url, scheme))
		return false;
	rest = (struct cc_view){url.ptr + strlen(scheme), url.len - strlen(scheme)};
	slash = rest.len ? memchr(rest.ptr, '/', rest.len) : NULL;
	if (!cc_host_good((struct cc_view){rest.ptr, slash ? (size_t)(slash - rest.ptr) : rest.len}))
		return false;
	while (slash) {
		const char *from = slash + 1;
		size_t left = (size_t)(url.ptr + url.len - from);

		slash = left ? memchr(from, '/', left) : NULL;
		if (!part_good((struct cc_view){from, slash ? (size_t)(slash - from) : left}))
			return false;
	}
	return true;
}

bool cc_word_good(const char *word, size_t max)
{
	size_t len = word ? strlen(word) : 0;

	for (size_t i = 0; i < len; i++)
		if (!letter_or_digit(word[i]) && word[i] != '-')
			return false;
	return len > 0 && len <= max;
}
