/* visible.h - the tables of what a native Linux sandbox shows of the host besides the binds, and which variables of the
 * caller's environment it passes on. */
#ifndef CC_PLAN_VISIBLE_H
#define CC_PLAN_VISIBLE_H

#include <stdbool.h>
#include <stddef.h>

/* NULL-terminated */
extern const char *const cc_visible_system[];  /* absolute: /usr, /bin ... and the allow-listed files of /etc */
extern const char *const cc_visible_devices[]; /* absolute: all there is of the host's /dev */
extern const char *const cc_visible_home[];    /* relative to HOME: toolchains, never a directory with credentials */

/* The name stands in the table, where "X*" is every name that starts with X. */
bool cc_env_listed(const char *const *table, size_t count, const char *name, size_t len);
/* NAME is on the environment allow-list. */
bool cc_visible_env(const char *name, size_t len);

#endif
