/* t.h - what every unit test includes: cmocka, and nothing else. */
#ifndef CC_TESTS_T_H
#define CC_TESTS_T_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/err.h"
#include "base/mem.h"

/* A table row that is wrong says which one. */
#define T_ROW(condition, label)                                                                                        \
	do {                                                                                                           \
		if (!(condition))                                                                                      \
			fail_msg("row \"%s\": %s", (label), #condition);                                               \
	} while (0)

#define T_OK(call, err)                                                                                                \
	do {                                                                                                           \
		if ((call) != CC_OK)                                                                                   \
			fail_msg("%s: %s", #call, (err).what);                                                         \
	} while (0)

#endif
