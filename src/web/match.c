/* match.c - the parts of a call's judgement that are arithmetic on bytes. */
#include "web/web.h"

#include <string.h>

bool cc_web_same_secret(const char *given, size_t len, const char *secret)
{
	size_t want = strlen(secret);
	volatile unsigned char differs = (unsigned char)(len != want);

	for (size_t i = 0; i < want; i++)
		differs = (unsigned char)(differs | (secret[i] ^ (i < len ? given[i] : 0)));
	return want > 0 && differs == 0;
}

bool cc_web_match(const char *pattern, const char *path, char params[CC_WEB_PARAMS][CC_WEB_PARAM_MAX])
{
	size_t taken = 0;

	while (*pattern && *path) {
		size_t len = strcspn(path, "/");

		if (*pattern != '{') {
			if (*pattern++ != *path++)
				return false;
			continue;
		}
		pattern += strcspn(pattern, "}");
		pattern += *pattern == '}';
		if (len == 0 || len >= CC_WEB_PARAM_MAX || taken == CC_WEB_PARAMS)
			return false;
		memcpy(params[taken], path, len);
		params[taken++][len] = '\0';
		path += len;
	}
	return !*pattern && !*path;
}

bool cc_web_query(const char *query, const char *name, char *out, size_t cap)
{
	size_t len = strlen(name);

	while (*query) {
		size_t part = strcspn(query, "&");

		if (part > len && strncmp(query, name, len) == 0 && query[len] == '=' && part - len - 1 < cap) {
			memcpy(out, query + len + 1, part - len - 1);
			out[part - len - 1] = '\0';
			return true;
		}
		query += part + (query[part] == '&');
	}
	return false;
}
