#define _GNU_SOURCE
#include "os/clock.h"

#include <sys/random.h>
#include <time.h>

static int64_t clock_read(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int64_t cc_clock_ms(void)
{
	return clock_read(CLOCK_MONOTONIC);
}

int64_t cc_clock_wall_ms(void)
{
	return clock_read(CLOCK_REALTIME);
}

void cc_random(void *bytes, size_t len)
{
	char *at = bytes;

	while (len) {
		ssize_t got = getrandom(at, len, 0);

		if (got > 0) {
			at += got;
			len -= (size_t)got;
		}
	}
}
