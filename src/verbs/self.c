#define _GNU_SOURCE
#include "verbs/self.h"

#include "base/mem.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

enum cc_code cc_self_run_words(char *const *argv, size_t used, struct cc_strv *out, struct cc_err *err)
{
	char self[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	static const char *const fixed[] = {"run", "--quiet", "--no-pty"};
	enum cc_code code;

	if (len <= 0)
		return cc_fail(err, CC_ESYS, 0, "where this program lies");
	self[len] = '\0';
	code = cc_strv_push(out, self, err);
	for (size_t i = 0; code == CC_OK && i < CC_COUNT(fixed); i++)
		code = cc_strv_push(out, fixed[i], err);
	for (size_t i = 0; code == CC_OK && i < used; i++)
		code = cc_strv_push(out, argv[i], err);
	return code;
}
