/* Git configuration and pointer files. A configuration that is taken holds none of the words that bring a command in,
 * wherever they could be a key. */
#include "base/mem.h"
#include "review/config.h"

#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const heads[] = {"[include", "[alias", "[filter", "[credential", "[diff", "[gpg", "[url"};
	struct cc_view text = {(const char *)data, size};
	struct cc_err err = {0};
	enum cc_code code = cc_gitconfig_judge(text, cc_view_of(""), &err);

	assert((code == CC_OK) == (err.what[0] == '\0'));
	for (size_t i = 0; code == CC_OK && i < CC_COUNT(heads); i++) {
		size_t len = strlen(heads[i]);

		if (size <= len || !cc_view_eq_nocase((struct cc_view){text.ptr, len}, cc_view_of(heads[i])))
			continue;
		/* A section alone is harmless; with a key behind it, it must have been refused. */
		for (size_t c = len; c + 1 < size; c++)
			assert(!(text.ptr[c] == '\n' && text.ptr[c + 1] >= 'a' && text.ptr[c + 1] <= 'z') ||
			       memchr(text.ptr + len, '[', c - len));
	}
	(void)!cc_gitpointer_judge(cc_view_of("/r/sub/.git"), text, cc_view_of("/r"), NULL);
	(void)!cc_gitpointer_judge(cc_view_of("/r/.git/worktrees/w/commondir"), text, cc_view_of("/r"), NULL);
	return 0;
}
