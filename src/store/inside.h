/* inside.h - one statement with its values, for the files of this room. */
#ifndef CC_STORE_INSIDE_H
#define CC_STORE_INSIDE_H

#include "store/store.h"

#include <sqlite3.h>

enum { CC_STORE_CACHE = 48 };

struct cc_store {
	sqlite3 *db;
	char *path;
	bool open; /* a transaction */
	struct {   /* prepared once, by the address of their text */
		const char *sql;
		sqlite3_stmt *statement;
	} cache[CC_STORE_CACHE];
};

/* values: one letter each, "t" const char * (NULL is null), "v" struct cc_view, "i" int64_t. */
CC_MUST enum cc_code cc_store_prepare(struct cc_store *store, sqlite3_stmt **out_statement, struct cc_err *err,
				      const char *sql, const char *values, ...);
/* Runs it to its end. */
CC_MUST enum cc_code cc_store_run(struct cc_store *store, struct cc_err *err, const char *sql, const char *values, ...);
/* true: a row is there. *code is left alone otherwise unless something went wrong. */
bool cc_store_row(struct cc_store *store, sqlite3_stmt *statement, enum cc_code *code, struct cc_err *err);
void cc_store_statement_drop(sqlite3_stmt **statement);
#define CC_AUTO_STATEMENT __attribute__((cleanup(cc_store_statement_drop))) sqlite3_stmt *
const char *cc_store_text(sqlite3_stmt *statement, int column); /* never NULL */

#endif
