#include "base/err.h"

#include <stdio.h>
#include <string.h>

enum cc_code cc_fail(struct cc_err *err, enum cc_code code, int sys, const char *fmt, ...)
{
	va_list args;
	int used;

	if (!err)
		return code;
	err->code = code;
	err->sys = sys;
	va_start(args, fmt);
	used = vsnprintf(err->what, sizeof(err->what), fmt, args);
	va_end(args);
	if (sys && used >= 0 && (size_t)used < sizeof(err->what))
		snprintf(err->what + used, sizeof(err->what) - (size_t)used, ": %s", strerror(sys));
	return code;
}
