/* calls_want.h - what calls.def's classes demand of the filter, and for a call whose arguments decide, what they
 * decide: written from the kernel's own headers and spec/attacks E, not from the planner's tables. */
#ifndef CC_TESTS_CALLS_WANT_H
#define CC_TESTS_CALLS_WANT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum answer { FAULTY, ALLOWED, GATED, DENIED, SWALLOWED, KILLED };

enum call_class {
	CALL_TRAPPED,
	CALL_TRAPPED_FD,
	CALL_REFUSED,
	CALL_REFUSED_FD,
	CALL_ARGUED_NAME,
	CALL_ARGUED,
	CALL_READS,
	CALL_FD,
	CALL_SELF,
	CALL_INSIDE,
	CALL_GONE,
	CALL_CLASSES,
};

extern const enum answer call_answer[CALL_CLASSES]; /* not of the two ARGUED */

enum { CALL_RESERVED_FIRST = 1, CALL_RESERVED_LAST = 6 };

typedef enum answer call_want(const uint64_t *args);
call_want *call_want_of(const char *name);

/* Values that arguments take: few, for every combination of three; many, for each alone and for pairs. */
extern const uint64_t call_small[];
extern const size_t call_small_count;
extern const uint64_t call_values[];
extern const size_t call_value_count;

/* Flags of an open: every subset of the bits that mean something. */
enum { CALL_OPEN_BITS = 16, CALL_O_PATH = 010000000 };
uint64_t call_open_flags(uint32_t set);
bool call_open_writes(uint64_t flags);

#endif
