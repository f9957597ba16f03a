/* agentruns.c - runs of agents. */
#define _GNU_SOURCE
#include "store/inside.h"

enum cc_code cc_store_agent_run_add(struct cc_store *store, const struct cc_store_agent_run *run, struct cc_err *err)
{
	enum cc_code code = cc_store_run(
		store, err,
		"INSERT INTO agent_runs (id, workspace, agent, mode, place, prompt, state, created, changed)"
		" VALUES (?1, ?2, ?3, ?4, ?5, ?6, 'starting', ?7, ?7)",
		"tttttti", run->id, run->workspace, run->agent, run->mode, run->place, run->prompt, run->created_ms);

	return code == CC_OK ? cc_store_flush(store, err) : code;
}

enum cc_code cc_store_agent_run_set(struct cc_store *store, const char *id, const struct cc_store_agent_state *now,
				    struct cc_err *err)
{
	enum cc_code code = cc_store_run(
		store, err,
		"UPDATE agent_runs SET state = coalesce(?1, state), backend = coalesce(?2, backend),"
		" reason = coalesce(?3, reason), detail = coalesce(?4, detail),"
		" code = CASE WHEN ?5 >= 0 THEN ?5 ELSE code END, pid = CASE WHEN ?6 >= 0 THEN ?6 ELSE pid END,"
		" changed = ?7 WHERE id = ?8",
		"ttttiiit", now->state, now->backend, now->reason, now->detail, now->code, now->pid, now->now_ms, id);

	return code == CC_OK ? cc_store_flush(store, err) : code;
}

enum cc_code cc_store_agent_sweep(struct cc_store *store, const char *reason, int64_t now_ms,
				  void (*each)(void *context, const char *id, int64_t pid, bool dropped), void *context,
				  struct cc_err *err)
{
	static const char *const looks[] = {
		"SELECT id, pid FROM agent_runs WHERE state IN ('starting', 'running')",
		"SELECT id, 0 FROM agent_runs WHERE n <= (SELECT max(n) FROM agent_runs) - 1000",
	};
	enum cc_code code = CC_OK;

	_Static_assert(CC_STORE_AGENT_RUNS_KEPT == 1000, "the number above");
	for (size_t i = 0; code == CC_OK && i < CC_COUNT(looks); i++) {
		CC_AUTO_STATEMENT statement = NULL;

		code = cc_store_prepare(store, &statement, err, looks[i], "");
		while (code == CC_OK && cc_store_row(store, statement, &code, err))
			each(context, cc_store_text(statement, 0), sqlite3_column_int64(statement, 1), i == 1);
	}
	if (code == CC_OK)
		code = cc_store_run(store, err,
				    "UPDATE agent_runs SET state = 'lost', reason = ?1, pid = 0, changed = ?2"
				    " WHERE state IN ('starting', 'running')",
				    "ti", reason, now_ms);
	return code == CC_OK
		       ? cc_store_run(store, err,
				      "DELETE FROM agent_runs WHERE n <= (SELECT max(n) FROM agent_runs) - 1000", "")
		       : code;
}

static void write_open(struct cc_jsonw *w, sqlite3_stmt *statement)
{
	static const char *const keys[] = {"runId",  "workspaceId", "agent", "mode",  "place",
					   "prompt", "backend",     "state", "reason"};
	int at = (int)CC_COUNT(keys);

	cc_jsonw_object(w);
	for (int i = 0; i < at; i++)
		if (sqlite3_column_type(statement, i) != SQLITE_NULL)
			cc_jsonw_kstr(w, keys[i], cc_store_text(statement, i));
	if (sqlite3_column_type(statement, at) != SQLITE_NULL)
		cc_jsonw_kint(w, "exitCode", sqlite3_column_int64(statement, at));
	if (sqlite3_column_type(statement, at + 1) != SQLITE_NULL) {
		cc_jsonw_key(w, "detail");
		cc_jsonw_raw(w, cc_store_text(statement, at + 1));
	}
	cc_jsonw_kint(w, "createdAt", sqlite3_column_int64(statement, at + 2));
	cc_jsonw_kint(w, "changedAt", sqlite3_column_int64(statement, at + 3));
}

#define COLUMNS                                                                                                        \
	"SELECT id, workspace, agent, mode, place, prompt, backend, state, reason, code, detail, created, changed"     \
	" FROM agent_runs "

enum cc_code cc_store_agent_runs_write(struct cc_store *store, const char *id, int64_t most, struct cc_jsonw *w,
				       struct cc_err *err)
{
	CC_AUTO_STATEMENT statement = NULL;
	enum cc_code code =
		id ? cc_store_prepare(store, &statement, err, COLUMNS "WHERE id = ?1", "t", id)
		   : cc_store_prepare(store, &statement, err, COLUMNS "ORDER BY n DESC LIMIT ?1", "i", most);

	if (code != CC_OK)
		return code;
	if (id) {
		if (!cc_store_row(store, statement, &code, err))
			return code != CC_OK ? code : cc_fail(err, CC_ENOTFOUND, 0, "there is no run of that name");
		write_open(w, statement);
		return CC_OK;
	}
	cc_jsonw_array(w);
	while (cc_store_row(store, statement, &code, err)) {
		write_open(w, statement);
		cc_jsonw_end(w);
	}
	cc_jsonw_end(w);
	return code;
}
