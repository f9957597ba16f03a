/* session.c - sessions, their commands and events. */
#define _GNU_SOURCE
#include "store/inside.h"

#include <stdlib.h>
#include <string.h>

/* Commands and events come in numbers: they share a transaction until the next flush. */
static enum cc_code begin(struct cc_store *store, struct cc_err *err)
{
	enum cc_code code;

	if (store->open)
		return CC_OK;
	code = cc_store_run(store, err, "BEGIN", "");
	store->open = code == CC_OK;
	return code;
}

/* What is too old goes as the new one comes, so that a server that runs for months keeps no more than one that is
 * started every day. One that still lives is left for the next start. */
static enum cc_code forget_old(struct cc_store *store, int64_t newest, struct cc_err *err)
{
	static const char *const statements[] = {
		"DELETE FROM sessions WHERE n = ?1 AND state = 'destroyed'",
		"DELETE FROM runs WHERE session = ?1 AND NOT EXISTS (SELECT 1 FROM sessions WHERE n = ?1)",
		"DELETE FROM events WHERE session = ?1 AND NOT EXISTS (SELECT 1 FROM sessions WHERE n = ?1)",
	};
	enum cc_code code = begin(store, err);

	for (size_t i = 0; code == CC_OK && i < CC_COUNT(statements); i++)
		code = cc_store_run(store, err, statements[i], "i", newest - CC_STORE_SESSIONS_KEPT);
	return code;
}

enum cc_code cc_store_session_add(struct cc_store *store, const struct cc_store_session *session, int64_t *out_n,
				  struct cc_err *err)
{
	enum cc_code code =
		cc_store_run(store, err,
			     "INSERT INTO sessions (id, workspace, agent, backend, state, request, created, changed)"
			     " VALUES (?1, ?2, ?3, ?4, 'created', ?5, ?6, ?6)",
			     "ttttti", session->id, session->workspace, session->agent, session->backend,
			     session->request, session->created_ms);

	if (code == CC_OK)
		*out_n = sqlite3_last_insert_rowid(store->db);
	if (code == CC_OK && *out_n > CC_STORE_SESSIONS_KEPT)
		code = forget_old(store, *out_n, err);
	return code == CC_OK ? cc_store_flush(store, err) : code;
}

enum cc_code cc_store_session_set(struct cc_store *store, int64_t n, const char *backend, const char *state,
				  const char *reason, int64_t pid, int64_t now_ms, struct cc_err *err)
{
	enum cc_code code = cc_store_run(store, err,
					 "UPDATE sessions SET backend = ?1, state = ?2, reason = coalesce(?3, reason),"
					 " pid = ?4, changed = ?5 WHERE n = ?6",
					 "tttiii", backend, state, reason, pid, now_ms, n);

	return code == CC_OK ? cc_store_flush(store, err) : code;
}

/* The oldest sessions go, and what hangs on them: the file stays within bounds. */
static enum cc_code prune(struct cc_store *store, struct cc_err *err)
{
	static const char *const statements[] = {
		"DELETE FROM sessions WHERE state = 'destroyed' AND n <= (SELECT max(n) FROM sessions) - ?1",
		"DELETE FROM runs WHERE ?1 AND session NOT IN (SELECT n FROM sessions)",
		"DELETE FROM events WHERE ?1 AND session NOT IN (SELECT n FROM sessions)",
	};
	enum cc_code code = CC_OK;

	for (size_t i = 0; code == CC_OK && i < CC_COUNT(statements); i++)
		code = cc_store_run(store, err, statements[i], "i", (int64_t)CC_STORE_SESSIONS_KEPT);
	return code;
}

enum cc_code cc_store_sweep(struct cc_store *store, const char *reason, int64_t now_ms,
			    void (*each)(void *context, const char *id, int64_t pid), void *context, struct cc_err *err)
{
	CC_AUTO_STATEMENT statement = NULL;
	enum cc_code code =
		cc_store_prepare(store, &statement, err, "SELECT id, pid FROM sessions WHERE state <> 'destroyed'", "");

	while (code == CC_OK && cc_store_row(store, statement, &code, err))
		each(context, cc_store_text(statement, 0), sqlite3_column_int64(statement, 1));
	if (code == CC_OK)
		code = cc_store_run(store, err,
				    "UPDATE sessions SET state = 'destroyed', reason = ?1, pid = 0, changed = ?2"
				    " WHERE state <> 'destroyed'",
				    "ti", reason, now_ms);
	return code == CC_OK ? prune(store, err) : code;
}

#define SESSION_COLUMNS "id, workspace, agent, backend, state, reason, created, changed"

static void write_session(struct cc_jsonw *w, sqlite3_stmt *statement)
{
	static const char *const keys[] = {"sessionId", "workspaceId", "agentId", "backend", "state", "reason"};

	cc_jsonw_object(w);
	for (int i = 0; i < (int)CC_COUNT(keys); i++)
		if (sqlite3_column_type(statement, i) != SQLITE_NULL)
			cc_jsonw_kstr(w, keys[i], cc_store_text(statement, i));
	cc_jsonw_kint(w, "createdAt", sqlite3_column_int64(statement, 6));
	cc_jsonw_kint(w, "changedAt", sqlite3_column_int64(statement, 7));
	cc_jsonw_end(w);
}

enum cc_code cc_store_sessions_write(struct cc_store *store, int64_t most, struct cc_jsonw *w, struct cc_err *err)
{
	CC_AUTO_STATEMENT statement = NULL;
	enum cc_code code = cc_store_prepare(
		store, &statement, err, "SELECT " SESSION_COLUMNS " FROM sessions ORDER BY n DESC LIMIT ?1", "i", most);

	cc_jsonw_array(w);
	while (code == CC_OK && cc_store_row(store, statement, &code, err))
		write_session(w, statement);
	cc_jsonw_end(w);
	return code;
}

enum cc_code cc_store_session_write(struct cc_store *store, const char *id, struct cc_jsonw *w, struct cc_err *err)
{
	CC_AUTO_STATEMENT statement = NULL;
	enum cc_code code = cc_store_prepare(
		store, &statement, err,
		"SELECT " SESSION_COLUMNS " FROM sessions WHERE id = ?1 ORDER BY n DESC LIMIT 1", "t", id);

	if (code != CC_OK)
		return code;
	if (!cc_store_row(store, statement, &code, err))
		return code != CC_OK ? code : cc_fail(err, CC_ENOTFOUND, 0, "there is no session of that name");
	write_session(w, statement);
	return CC_OK;
}

enum cc_code cc_store_run_begin(struct cc_store *store, int64_t session, int command, const char *argv, int64_t now_ms,
				struct cc_err *err)
{
	enum cc_code code = begin(store, err);

	return code == CC_OK
		       ? cc_store_run(
				 store, err,
				 "INSERT OR REPLACE INTO runs (session, command, argv, started) VALUES (?1, ?2, ?3, ?4)",
				 "iiti", session, (int64_t)command, argv, now_ms)
		       : code;
}

enum cc_code cc_store_run_end(struct cc_store *store, int64_t session, int command, int exit_code, int64_t now_ms,
			      struct cc_err *err)
{
	enum cc_code code = begin(store, err);

	return code == CC_OK ? cc_store_run(store, err,
					    "UPDATE runs SET ended = ?1, code = ?2 WHERE session = ?3 AND command = ?4",
					    "iiii", now_ms, (int64_t)exit_code, session, (int64_t)command)
			     : code;
}

enum cc_code cc_store_event_add(struct cc_store *store, int64_t session, uint64_t seq, const char *type,
				struct cc_view line, struct cc_err *err)
{
	enum cc_code code = begin(store, err);

	return code == CC_OK
		       ? cc_store_run(
				 store, err,
				 "INSERT OR REPLACE INTO events (session, seq, type, line) VALUES (?1, ?2, ?3, ?4)",
				 "iitv", session, (int64_t)seq, type, line)
		       : code;
}

enum cc_code cc_store_events_write(struct cc_store *store, const char *id, uint64_t since, struct cc_buf *out,
				   struct cc_err *err)
{
	CC_AUTO_STATEMENT statement = NULL;
	enum cc_code code = cc_store_prepare(
		store, &statement, err,
		"SELECT line FROM events WHERE session = (SELECT max(n) FROM sessions WHERE id = ?1) AND seq > ?2"
		" ORDER BY seq",
		"ti", id, (int64_t)since);

	while (code == CC_OK && cc_store_row(store, statement, &code, err)) {
		size_t len = (size_t)sqlite3_column_bytes(statement, 0);

		if (out->len + len > out->max)
			break;
		cc_buf_add(out, cc_store_text(statement, 0), len);
	}
	return code;
}
