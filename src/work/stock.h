/* stock.h - object directories: what in them is an object, and how it gets from one into another. */
#ifndef CC_WORK_STOCK_H
#define CC_WORK_STOCK_H

#include "base/err.h"
#include "base/view.h"

#include <stdbool.h>
#include <stddef.h>

enum { CC_STOCK_FILES = 1 << 20 };

enum cc_stock_how {
	CC_STOCK_CLONE, /* the other keeps it; blocks are shared, or it is an error */
	CC_STOCK_MOVE,  /* the other loses it */
};

/* Takes every loose object and every pack of the object directory from into the object directory to. Only regular files
 * with the names of such come along, and only through real directories: no list of other stores, no index over packs,
 * no graph, no link. At most max files, or CC_ELIMIT. CC_EUNSUPPORTED: they cannot be cloned. */
CC_MUST enum cc_code cc_stock_take(int from, int to, enum cc_stock_how how, size_t max, struct cc_err *err);
/* Can files there share their blocks with new ones in dir? */
bool cc_stock_clones(const char *file, const char *dir);
/* objects/info/alternates of the repository git_dir: these directories, in this order. Absent where there are none. */
CC_MUST enum cc_code cc_stock_borrow(const char *git_dir, const struct cc_strv *lenders, struct cc_err *err);

#endif
