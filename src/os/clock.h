/* clock.h - time and randomness. */
#ifndef CC_OS_CLOCK_H
#define CC_OS_CLOCK_H

#include <stddef.h>
#include <stdint.h>

int64_t cc_clock_ms(void);      /* monotonic */
int64_t cc_clock_wall_ms(void); /* since 1970, UTC */
/* Fills with random bytes; never fails (waits for the pool at early boot). */
void cc_random(void *bytes, size_t len);

#endif
