/* Anything a forge may answer, and any name that may be asked for. The first byte picks the kind of forge, and whether
 * the token is to push with. A token that is taken is one word and ends; what is quoted is one short line with no long
 * word; a repository that is taken makes an address with nothing but names in it. */
#include "forge/kind.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { NOW = 1700000000, LONG_WORD = 24 };

static void check_answer(struct cc_view body, unsigned pick)
{
	static const struct cc_forge_kind *const kinds[] = {&cc_kind_github, &cc_kind_gitlab, &cc_kind_gitea};
	static char host[] = "h.test";
	struct cc_forge forge = {.kind = kinds[pick % 3], .host = host};
	struct cc_repo repo = {{host, 6}, {host, 1}, {host, 1}};
	struct cc_forge_want want = {.repos = &repo, .count = 1, .write = (pick & 4) != 0, .now = NOW};
	CC_AUTO(cc_json_doc) doc = NULL;
	struct cc_forge_token token = {0};
	int64_t found = 0;

	if (cc_forge_read_found(body, &found, NULL) == CC_OK)
		assert(found > 0);
	if (cc_json_parse("answer", body, 0, &doc, NULL) != CC_OK ||
	    cc_forge_read_token(&forge, cc_json_root(doc), &token, NULL) != CC_OK)
		return;
	assert(token.secret[0] && !strpbrk(token.secret, " \t\r\n\"'\\$`"));
	assert(!token.number || strspn(token.number, "0123456789") == strlen(token.number));
	if (cc_forge_check_token(&forge, cc_json_root(doc), &want, &token, NULL) == CC_OK)
		assert(forge.kind == &cc_kind_gitea || token.expires > NOW);
	cc_forge_token_done(&token);
}

static void check_quote(struct cc_view body)
{
	char out[CC_FORGE_QUOTE_MAX + 16];
	size_t run = 0;

	memset(out, 'x', sizeof(out));
	cc_forge_quote(body, out, sizeof(out));
	assert(memchr(out, '\0', sizeof(out)));
	for (size_t i = 0; out[i]; i++) {
		assert(out[i] >= ' ' && out[i] <= '~');
		run = (out[i] >= '0' && out[i] <= '9') || (out[i] >= 'A' && out[i] <= 'Z') ||
				      (out[i] >= 'a' && out[i] <= 'z')
			      ? run + 1
			      : 0;
		assert(run < LONG_WORD);
	}
}

static void check_names(const char *text)
{
	struct cc_repo repo;
	struct cc_buf url;

	(void)cc_forge_time(cc_view_of(text));
	if (cc_base_good(cc_view_of(text)))
		assert(!strpbrk(text, "@?#%\\ \t\r\n") && !strstr(text, "..") && strncmp(text, "https://", 8) == 0);
	if (cc_repo_read(text, &repo, NULL) != CC_OK)
		return;
	cc_buf_init(&url, 1024);
	cc_repo_url(&repo, &url);
	assert(!url.failed);
	assert(strncmp(url.data, "https://", 8) == 0 && !strstr(url.data + 8, "//") && !strstr(url.data, ".."));
	assert(!strpbrk(url.data, "@?#%\\ \t\r\n\"'$`") && !strstr(url.data, "/.") && !strstr(url.data, "/-"));
	assert(strncmp(url.data + 8, text, strlen(text)) == 0);
	cc_buf_done(&url);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cc_view body;
	char *text;

	if (size == 0)
		return 0;
	body = (struct cc_view){(const char *)data + 1, size - 1};
	check_answer(body, data[0]);
	check_quote(body);
	text = malloc(size);
	memcpy(text, body.ptr, body.len);
	text[body.len] = '\0';
	check_names(text);
	free(text);
	return 0;
}
