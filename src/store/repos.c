/* repos.c - workspaces and the checkouts that belong to them: what sessions of a workspace never write. */
#define _GNU_SOURCE
#include "store/inside.h"

#include <stdlib.h>
#include <string.h>

enum { REPOS_MAX = 1000 };

enum cc_code cc_store_workspace_add(struct cc_store *store, const char *id, const char *name, int64_t now_ms,
				    struct cc_err *err)
{
	enum cc_code code = cc_store_run(store, err,
					 "INSERT INTO workspaces (id, name, created) VALUES (?1, ?2, ?3)"
					 " ON CONFLICT (id) DO UPDATE SET name = coalesce(?2, name)",
					 "tti", id, name, now_ms);

	return code == CC_OK ? cc_store_flush(store, err) : code;
}

enum cc_code cc_store_workspace_remove(struct cc_store *store, const char *id, struct cc_err *err)
{
	enum cc_code code = cc_store_run(store, err, "DELETE FROM repos WHERE workspace = ?1", "t", id);

	if (code == CC_OK)
		code = cc_store_run(store, err, "DELETE FROM workspaces WHERE id = ?1", "t", id);
	if (code == CC_OK && sqlite3_changes(store->db) == 0)
		code = cc_fail(err, CC_ENOTFOUND, 0, "there is no workspace of that name");
	return code == CC_OK ? cc_store_flush(store, err) : code;
}

enum cc_code cc_store_workspaces_write(struct cc_store *store, struct cc_jsonw *w, struct cc_err *err)
{
	CC_AUTO_STATEMENT statement = NULL;
	enum cc_code code =
		cc_store_prepare(store, &statement, err,
				 "SELECT id, name, created, (SELECT count(*) FROM repos WHERE workspace = id)"
				 " FROM workspaces ORDER BY id",
				 "");

	cc_jsonw_array(w);
	while (code == CC_OK && cc_store_row(store, statement, &code, err)) {
		cc_jsonw_object(w);
		cc_jsonw_kstr(w, "workspaceId", cc_store_text(statement, 0));
		if (sqlite3_column_type(statement, 1) != SQLITE_NULL)
			cc_jsonw_kstr(w, "name", cc_store_text(statement, 1));
		cc_jsonw_kint(w, "createdAt", sqlite3_column_int64(statement, 2));
		cc_jsonw_kint(w, "repos", sqlite3_column_int64(statement, 3));
		cc_jsonw_end(w);
	}
	cc_jsonw_end(w);
	return code;
}

enum cc_code cc_store_repo_add(struct cc_store *store, const char *workspace, const char *path, int64_t now_ms,
			       int64_t *out_n, struct cc_err *err)
{
	CC_AUTO_STATEMENT statement = NULL;
	enum cc_code code = cc_store_workspace_add(store, workspace, NULL, now_ms, err);

	if (code == CC_OK)
		code = cc_store_run(store, err,
				    "INSERT OR IGNORE INTO repos (workspace, path, created)"
				    " SELECT ?1, ?2, ?3 WHERE (SELECT count(*) FROM repos) < ?4",
				    "ttii", workspace, path, now_ms, (int64_t)REPOS_MAX);
	if (code == CC_OK)
		code = cc_store_flush(store, err);
	if (code == CC_OK)
		code = cc_store_prepare(store, &statement, err,
					"SELECT n FROM repos WHERE workspace = ?1 AND path = ?2", "tt", workspace,
					path);
	if (code == CC_OK && !cc_store_row(store, statement, &code, err) && code == CC_OK)
		code = cc_fail(err, CC_ELIMIT, 0, "at most %d checkouts", REPOS_MAX);
	if (code == CC_OK)
		*out_n = sqlite3_column_int64(statement, 0);
	return code;
}

enum cc_code cc_store_repo_remove(struct cc_store *store, int64_t n, struct cc_err *err)
{
	enum cc_code code = cc_store_run(store, err, "DELETE FROM repos WHERE n = ?1", "i", n);

	if (code == CC_OK && sqlite3_changes(store->db) == 0)
		code = cc_fail(err, CC_ENOTFOUND, 0, "there is no such checkout");
	return code == CC_OK ? cc_store_flush(store, err) : code;
}

enum cc_code cc_store_repos_write(struct cc_store *store, const char *workspace, struct cc_jsonw *w, struct cc_err *err)
{
	CC_AUTO_STATEMENT statement = NULL;
	enum cc_code code = cc_store_prepare(store, &statement, err,
					     "SELECT n, workspace, path, created FROM repos"
					     " WHERE ?1 IS NULL OR workspace = ?1 ORDER BY workspace, path",
					     "t", workspace);

	cc_jsonw_array(w);
	while (code == CC_OK && cc_store_row(store, statement, &code, err)) {
		cc_jsonw_object(w);
		cc_jsonw_kint(w, "id", sqlite3_column_int64(statement, 0));
		cc_jsonw_kstr(w, "workspaceId", cc_store_text(statement, 1));
		cc_jsonw_kstr(w, "path", cc_store_text(statement, 2));
		cc_jsonw_kint(w, "createdAt", sqlite3_column_int64(statement, 3));
		cc_jsonw_end(w);
	}
	cc_jsonw_end(w);
	return code;
}

enum cc_code cc_store_repo_paths(struct cc_store *store, const char *workspace, struct cc_strv *out_paths,
				 struct cc_err *err)
{
	CC_AUTO_STATEMENT statement = NULL;
	enum cc_code code = cc_store_prepare(store, &statement, err,
					     "SELECT path FROM repos WHERE workspace = ?1 ORDER BY n", "t", workspace);

	while (code == CC_OK && cc_store_row(store, statement, &code, err))
		code = cc_strv_push(out_paths, cc_store_text(statement, 0), err);
	return code;
}

enum cc_code cc_store_repo_path(struct cc_store *store, int64_t n, char **out_path, struct cc_err *err)
{
	CC_AUTO_STATEMENT statement = NULL;
	enum cc_code code = cc_store_prepare(store, &statement, err, "SELECT path FROM repos WHERE n = ?1", "i", n);

	if (code != CC_OK)
		return code;
	if (!cc_store_row(store, statement, &code, err))
		return code != CC_OK ? code : cc_fail(err, CC_ENOTFOUND, 0, "there is no such checkout");
	*out_path = cc_str_copy(cc_store_text(statement, 0));
	return *out_path ? CC_OK : cc_fail(err, CC_ELIMIT, 0, "out of memory");
}
