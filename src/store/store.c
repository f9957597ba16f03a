#define _GNU_SOURCE
#include "store/inside.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { BUSY_MS = 2000 };

/* One step a version; user_version says how many were taken. A step that was released is never changed. */
static const char *const migrations[] = {
	"CREATE TABLE sessions (n INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL, workspace TEXT NOT NULL, agent TEXT,"
	" backend TEXT NOT NULL, state TEXT NOT NULL, reason TEXT, pid INTEGER NOT NULL DEFAULT 0, request TEXT,"
	" created INTEGER NOT NULL, changed INTEGER NOT NULL);"
	"CREATE INDEX sessions_id ON sessions (id, n);"
	"CREATE TABLE runs (session INTEGER NOT NULL, command INTEGER NOT NULL, argv TEXT NOT NULL,"
	" started INTEGER NOT NULL, ended INTEGER, code INTEGER, PRIMARY KEY (session, command)) WITHOUT ROWID;"
	"CREATE TABLE events (session INTEGER NOT NULL, seq INTEGER NOT NULL, type TEXT NOT NULL, line TEXT NOT NULL,"
	" PRIMARY KEY (session, seq)) WITHOUT ROWID;"
	"CREATE TABLE workspaces (id TEXT PRIMARY KEY, name TEXT, created INTEGER NOT NULL) WITHOUT ROWID;"
	"CREATE TABLE repos (n INTEGER PRIMARY KEY AUTOINCREMENT, workspace TEXT NOT NULL, path TEXT NOT NULL,"
	" created INTEGER NOT NULL, UNIQUE (workspace, path));"
	"CREATE TABLE grants (n INTEGER PRIMARY KEY AUTOINCREMENT, workspace TEXT NOT NULL, kind TEXT NOT NULL,"
	" value TEXT NOT NULL, allowed INTEGER NOT NULL, created INTEGER NOT NULL, UNIQUE (workspace, kind, value));",
	"CREATE TABLE agent_runs (n INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, workspace TEXT NOT NULL,"
	" agent TEXT NOT NULL, mode TEXT NOT NULL, place TEXT NOT NULL, prompt TEXT NOT NULL, backend TEXT, state TEXT NOT NULL,"
	" reason TEXT, code INTEGER, detail TEXT, pid INTEGER NOT NULL DEFAULT 0, created INTEGER NOT NULL,"
	" changed INTEGER NOT NULL);",
};

static enum cc_code fail(struct cc_store *store, struct cc_err *err)
{
	int code = sqlite3_errcode(store->db);

	if (code == SQLITE_CORRUPT || code == SQLITE_NOTADB)
		return cc_fail(err, CC_EPROTO, 0,
			       "the database %s is damaged (%s): it was not touched; move it away, or repair it with "
			       "sqlite3's .recover",
			       store->path, sqlite3_errmsg(store->db));
	if (code == SQLITE_FULL || code == SQLITE_IOERR)
		return cc_fail(err, CC_ESYS, 0, "the database %s cannot be written: %s; what was committed is kept",
			       store->path, sqlite3_errmsg(store->db));
	return cc_fail(err, CC_ESYS, 0, "the database %s: %s", store->path, sqlite3_errmsg(store->db));
}

/* It stays in the cache. */
void cc_store_statement_drop(sqlite3_stmt **statement)
{
	if (!*statement)
		return;
	sqlite3_reset(*statement);
	sqlite3_clear_bindings(*statement);
}

/* The texts are literals of this room: the same address is the same text. */
static sqlite3_stmt *cached(struct cc_store *store, const char *sql)
{
	size_t at = 0;

	while (at < CC_STORE_CACHE && store->cache[at].sql && store->cache[at].sql != sql)
		at++;
	if (at == CC_STORE_CACHE)
		return NULL;
	if (!store->cache[at].sql &&
	    sqlite3_prepare_v2(store->db, sql, -1, &store->cache[at].statement, NULL) == SQLITE_OK)
		store->cache[at].sql = sql;
	return store->cache[at].sql ? store->cache[at].statement : NULL;
}

static int bind_all(sqlite3_stmt *statement, const char *values, va_list args)
{
	int result = SQLITE_OK;

	for (int i = 0; result == SQLITE_OK && values[i]; i++) {
		if (values[i] == 'i') {
			result = sqlite3_bind_int64(statement, i + 1, va_arg(args, int64_t));
		} else if (values[i] == 'v') {
			struct cc_view view = va_arg(args, struct cc_view);

			result = sqlite3_bind_text(statement, i + 1, view.ptr, (int)view.len, SQLITE_TRANSIENT);
		} else {
			result = sqlite3_bind_text(statement, i + 1, va_arg(args, const char *), -1, SQLITE_TRANSIENT);
		}
	}
	return result;
}

static enum cc_code prepare(struct cc_store *store, sqlite3_stmt **out_statement, struct cc_err *err, const char *sql,
			    const char *values, va_list args)
{
	CC_AUTO_STATEMENT statement = cached(store, sql);

	if (!statement || bind_all(statement, values, args) != SQLITE_OK)
		return fail(store, err);
	*out_statement = statement;
	statement = NULL;
	return CC_OK;
}

enum cc_code cc_store_prepare(struct cc_store *store, sqlite3_stmt **out_statement, struct cc_err *err, const char *sql,
			      const char *values, ...)
{
	va_list args;
	enum cc_code code;

	va_start(args, values);
	code = prepare(store, out_statement, err, sql, values, args);
	va_end(args);
	return code;
}

bool cc_store_row(struct cc_store *store, sqlite3_stmt *statement, enum cc_code *code, struct cc_err *err)
{
	int result = sqlite3_step(statement);

	if (result != SQLITE_ROW && result != SQLITE_DONE)
		*code = fail(store, err);
	return result == SQLITE_ROW;
}

enum cc_code cc_store_run(struct cc_store *store, struct cc_err *err, const char *sql, const char *values, ...)
{
	CC_AUTO_STATEMENT statement = NULL;
	va_list args;
	enum cc_code code;

	va_start(args, values);
	code = prepare(store, &statement, err, sql, values, args);
	va_end(args);
	while (code == CC_OK && cc_store_row(store, statement, &code, err))
		;
	return code;
}

const char *cc_store_text(sqlite3_stmt *statement, int column)
{
	const unsigned char *text = sqlite3_column_text(statement, column);

	return text ? (const char *)text : "";
}

static enum cc_code read_number(struct cc_store *store, const char *sql, int64_t *out, struct cc_err *err)
{
	CC_AUTO_STATEMENT statement = NULL;
	enum cc_code code = cc_store_prepare(store, &statement, err, sql, "");

	if (code == CC_OK && cc_store_row(store, statement, &code, err))
		*out = sqlite3_column_int64(statement, 0);
	return code;
}

static enum cc_code check_whole(struct cc_store *store, struct cc_err *err)
{
	CC_AUTO_STATEMENT statement = NULL;
	enum cc_code code = cc_store_prepare(store, &statement, err, "PRAGMA quick_check(1)", "");

	if (code == CC_OK && cc_store_row(store, statement, &code, err) &&
	    strcmp(cc_store_text(statement, 0), "ok") != 0)
		code = cc_fail(
			err, CC_EPROTO, 0,
			"the database %s is damaged (%.100s): it was not touched; move it away, or repair it with "
			"sqlite3's .recover",
			store->path, cc_store_text(statement, 0));
	return code;
}

/* All steps that are missing in one transaction: a kill in between leaves the old version. */
static enum cc_code migrate(struct cc_store *store, struct cc_err *err)
{
	int64_t version = 0, known = (int64_t)CC_COUNT(migrations);
	char text[64];
	enum cc_code code = read_number(store, "PRAGMA user_version", &version, err);

	if (code != CC_OK || version == known)
		return code;
	if (version > known)
		return cc_fail(err, CC_EUNSUPPORTED, 0, "the database %s is of version %lld; this cc_server knows %lld",
			       store->path, (long long)version, (long long)known);
	snprintf(text, sizeof(text), "PRAGMA user_version = %lld", (long long)known);
	if (sqlite3_exec(store->db, "BEGIN IMMEDIATE", NULL, NULL, NULL) != SQLITE_OK)
		return fail(store, err);
	while (version < known)
		if (sqlite3_exec(store->db, migrations[version++], NULL, NULL, NULL) != SQLITE_OK)
			return fail(store, err);
	if (sqlite3_exec(store->db, text, NULL, NULL, NULL) != SQLITE_OK ||
	    sqlite3_exec(store->db, "COMMIT", NULL, NULL, NULL) != SQLITE_OK)
		return fail(store, err);
	return CC_OK;
}

static enum cc_code open_file(struct cc_store *store, const char *path, struct cc_err *err)
{
	mode_t before = umask(0077);
	int result = sqlite3_open_v2(path, &store->db,
				     SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOFOLLOW, NULL);

	umask(before);
	if (!store->db)
		return cc_fail(err, CC_ELIMIT, 0, "out of memory");
	if (result != SQLITE_OK)
		return fail(store, err);
	sqlite3_busy_timeout(store->db, BUSY_MS);
	if (sqlite3_exec(store->db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA foreign_keys = ON;",
			 NULL, NULL, NULL) != SQLITE_OK)
		return fail(store, err);
	return CC_OK;
}

enum cc_code cc_store_open(const char *path, struct cc_store **out_store, struct cc_err *err)
{
	struct cc_store *store = calloc(1, sizeof(*store));
	enum cc_code code;

	if (!store)
		return cc_fail(err, CC_ELIMIT, 0, "out of memory");
	store->path = cc_str_copy(path);
	code = store->path ? open_file(store, path, err) : cc_fail(err, CC_ELIMIT, 0, "out of memory");
	if (code == CC_OK)
		code = check_whole(store, err);
	if (code == CC_OK)
		code = migrate(store, err);
	if (code != CC_OK) {
		cc_store_close(store);
		return code;
	}
	*out_store = store;
	return CC_OK;
}

enum cc_code cc_store_flush(struct cc_store *store, struct cc_err *err)
{
	if (!store->open)
		return CC_OK;
	store->open = false;
	if (sqlite3_exec(store->db, "COMMIT", NULL, NULL, NULL) == SQLITE_OK)
		return CC_OK;
	fail(store, err);
	/* what cannot be written now is not written later by surprise */
	sqlite3_exec(store->db, "ROLLBACK", NULL, NULL, NULL);
	return CC_ESYS;
}

bool cc_store_waits(const struct cc_store *store)
{
	return store->open;
}

void cc_store_close(struct cc_store *store)
{
	struct cc_err err;

	if (!store)
		return;
	(void)!cc_store_flush(store, &err);
	for (size_t i = 0; i < CC_STORE_CACHE; i++)
		sqlite3_finalize(store->cache[i].statement);
	sqlite3_close(store->db);
	free(store->path);
	free(store);
}
