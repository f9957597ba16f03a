/* clock.h - the one clock that deadlines are held to. */
#ifndef CC_OS_CLOCK_H
#define CC_OS_CLOCK_H

#include <stdint.h>

int64_t cc_clock_ms(void); /* monotonic, milliseconds */

#endif
