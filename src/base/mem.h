/* mem.h - ownership that the compiler keeps: a local that owns something releases it on every way out. */
#ifndef CC_BASE_MEM_H
#define CC_BASE_MEM_H

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* For a type with `void TYPE_free(struct TYPE *)`: defines the cleanup function that CC_AUTO uses and a
 * typed take, which hands ownership on and leaves NULL behind. */
#define CC_OWNED(type)                                                                                                 \
	static inline void type##_drop(struct type **owned)                                                            \
	{                                                                                                              \
		type##_free(*owned);                                                                                   \
	}                                                                                                              \
	static inline struct type *type##_take(struct type **owned)                                                    \
	{                                                                                                              \
		struct type *given = *owned;                                                                           \
                                                                                                                       \
		*owned = NULL;                                                                                         \
		return given;                                                                                          \
	}

#define CC_AUTO(type) __attribute__((cleanup(type##_drop))) struct type *

/* char * and other plain heap blocks */
static inline void cc_free_drop(void *owned)
{
	free(*(void **)owned);
}

#define CC_AUTO_FREE __attribute__((cleanup(cc_free_drop)))

#define CC_COUNT(array) (sizeof(array) / sizeof((array)[0]))

#endif
