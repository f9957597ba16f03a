/* verdict.h - what the rules of this room answer. Zero is no. */
#ifndef CC_GUARD_VERDICT_H
#define CC_GUARD_VERDICT_H

enum cc_guard { CC_GUARD_DENY = 0, CC_GUARD_ASK, CC_GUARD_ALLOW };

#endif
