#define _GNU_SOURCE
#include "session/lend.h"

#include "base/mem.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "os/fd.h"

/* A path of the table on this host: below HOME, or where the person's own variable has moved its directory. */
static void host_path(const struct cc_agent *agent, const struct cc_facts *facts, const char *relative,
		      char out[PATH_MAX])
{
	for (size_t i = 0; i < CC_COUNT(agent->dirs) && agent->dirs[i].home; i++) {
		const struct cc_agent_dir *dir = &agent->dirs[i];
		const char *moved = dir->variable ? cc_facts_env(facts, dir->variable) : NULL;
		size_t len = strlen(dir->home);
		const char *base = strrchr(dir->home, '/');

		if (!moved || moved[0] != '/' || strncmp(relative, dir->home, len) != 0 || relative[len] != '/')
			continue;
		if (dir->parent)
			snprintf(out, PATH_MAX, "%s/%s%s", moved, base ? base + 1 : dir->home, relative + len);
		else
			snprintf(out, PATH_MAX, "%s%s", moved, relative + len);
		return;
	}
	snprintf(out, PATH_MAX, "%s/%s", facts->home, relative);
}

static enum cc_code add_file(struct cc_lend *lend, const char *source, const char *dest, struct cc_err *err)
{
	struct cc_plan_file *files;
	struct stat st;

	/* only plain files of a sane size, never through a link */
	if (lstat(source, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > CC_LEND_FILE_MAX)
		return CC_OK;
	if (lend->file_count == CC_LEND_FILES)
		return CC_OK;
	files = realloc(lend->files, (lend->file_count + 1) * sizeof(*files));
	if (!files)
		return cc_fail(err, CC_ELIMIT, 0, "out of memory");
	lend->files = files;
	files[lend->file_count] =
		(struct cc_plan_file){.mode = 0600, .source = cc_str_copy(source), .dest = cc_str_copy(dest)};
	if (!files[lend->file_count].source || !files[lend->file_count].dest)
		return cc_fail(err, CC_ELIMIT, 0, "out of memory");
	lend->file_count++;
	return CC_OK;
}

static enum cc_code add_tree(struct cc_lend *lend, const char *source, const char *dest, int depth, struct cc_err *err)
{
	DIR *dir = opendir(source);
	const struct dirent *entry;
	enum cc_code code = CC_OK;

	while (dir && code == CC_OK && lend->file_count < CC_LEND_FILES && (entry = readdir(dir))) {
		char from[PATH_MAX];
		char to[PATH_MAX];

		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		if (snprintf(from, sizeof(from), "%s/%s", source, entry->d_name) >= (int)sizeof(from) ||
		    snprintf(to, sizeof(to), "%s/%s", dest, entry->d_name) >= (int)sizeof(to))
			continue;
		if (entry->d_type == DT_DIR && depth < 3)
			code = add_tree(lend, from, to, depth + 1, err);
		else if (entry->d_type == DT_REG)
			code = add_file(lend, from, to, err);
	}
	if (dir)
		closedir(dir);
	return code;
}

static enum cc_code add_back(struct cc_lend *lend, const char *host, const char *inside, bool directory,
			     struct cc_err *err)
{
	struct cc_lend_back *grown = realloc(lend->back, (lend->back_count + 1) * sizeof(*grown));
	struct cc_buf before;

	if (!grown)
		return cc_fail(err, CC_ELIMIT, 0, "out of memory");
	lend->back = grown;
	grown += lend->back_count;
	*grown =
		(struct cc_lend_back){.inside = cc_str_copy(inside), .host = cc_str_copy(host), .directory = directory};
	lend->back_count++;
	cc_buf_init(&before, CC_LEND_CREDENTIAL_MAX);
	if (!directory && cc_fd_read_file(host, &before, NULL) == CC_OK && before.data)
		grown->before = cc_str_copy(before.data);
	cc_buf_done(&before);
	return grown->inside && grown->host ? CC_OK : cc_fail(err, CC_ELIMIT, 0, "out of memory");
}

static enum cc_code collect_file(struct cc_lend *lend, const struct cc_facts *facts, const struct cc_agent_file *file,
				 struct cc_err *err)
{
	char host[PATH_MAX];
	char inside[PATH_MAX];
	enum cc_code code = CC_OK;

	host_path(lend->agent, facts, file->home, host);
	snprintf(inside, sizeof(inside), "%s/%s", facts->home, file->copy);
	if ((file->use & CC_AGENT_SEED) && (file->use & CC_AGENT_TREE))
		code = add_tree(lend, host, inside, 0, err);
	else if (file->use & CC_AGENT_SEED)
		code = add_file(lend, host, inside, err);
	if (code == CC_OK && (file->use & (CC_AGENT_BACK | CC_AGENT_NEW)))
		code = add_back(lend, host, inside, file->use & CC_AGENT_NEW, err);
	return code;
}

/* Inside, the state lies in its default place; a variable that names it is set so that no other place is looked at. */
static enum cc_code collect_env(struct cc_lend *lend, const struct cc_facts *facts, struct cc_err *err)
{
	const struct cc_agent *agent = lend->agent;
	enum cc_code code = CC_OK;

	for (size_t i = 0; code == CC_OK && i < CC_COUNT(agent->dirs) && agent->dirs[i].home; i++)
		if (agent->dirs[i].variable && !agent->dirs[i].parent)
			code = cc_strv_pushf(&lend->env_set, err, "%s=%s/%s", agent->dirs[i].variable, facts->home,
					     agent->dirs[i].home);
	for (size_t i = 0; code == CC_OK && i < CC_COUNT(agent->set_env) && agent->set_env[i]; i++)
		code = cc_strv_push(&lend->env_set, agent->set_env[i], err);
	for (size_t i = 0; code == CC_OK && i < CC_COUNT(agent->keys) && agent->keys[i]; i++)
		if (cc_facts_env(facts, agent->keys[i]))
			code = cc_strv_push(&lend->env_pass, agent->keys[i], err);
	return code;
}

static enum cc_code find_agent(const char *name, const char *program, struct cc_lend *lend, struct cc_err *err)
{
	if (name && strcmp(name, "none") == 0)
		return CC_OK;
	if (!name) {
		lend->agent = program ? cc_agent_by_program(program) : NULL;
		return CC_OK;
	}
	lend->agent = cc_agent_by_name(name);
	if (!lend->agent) {
		struct cc_buf names;

		cc_buf_init(&names, 512);
		for (size_t i = 0; cc_agent_at(i); i++)
			cc_buf_addf(&names, " %s", cc_agent_at(i)->name);
		cc_fail(err, CC_EINVAL, 0, "--agent %s: known agents are%s, and none", name,
			names.data ? names.data : "");
		cc_buf_done(&names);
		return CC_EINVAL;
	}
	return CC_OK;
}

enum cc_code cc_lend_collect(const char *agent, const char *program, const struct cc_facts *facts,
			     struct cc_lend *out_lend, struct cc_err *err)
{
	struct cc_lend lend = {0};
	enum cc_code code = find_agent(agent, program, &lend, err);

	if (code == CC_OK && lend.agent) {
		for (size_t i = 0; code == CC_OK && i < CC_COUNT(lend.agent->files) && lend.agent->files[i].home; i++)
			code = collect_file(&lend, facts, &lend.agent->files[i], err);
		if (code == CC_OK)
			code = collect_env(&lend, facts, err);
		if (code == CC_OK)
			code = cc_strv_pushf(&lend.said, err,
					     "known agent %s: %zu of your files lent as private copies%s",
					     lend.agent->name, lend.file_count,
					     lend.back_count ? "; a renewed login comes back" : "");
	}
	if (code != CC_OK) {
		cc_lend_done(&lend);
		return code;
	}
	*out_lend = lend;
	return CC_OK;
}

void cc_lend_done(struct cc_lend *lend)
{
	for (size_t i = 0; i < lend->file_count; i++) {
		free(lend->files[i].dest);
		free(lend->files[i].source);
	}
	free(lend->files);
	for (size_t i = 0; i < lend->back_count; i++) {
		free(lend->back[i].inside);
		free(lend->back[i].host);
		free(lend->back[i].before);
	}
	free(lend->back);
	cc_strv_done(&lend->env_pass);
	cc_strv_done(&lend->env_set);
	cc_strv_done(&lend->said);
	*lend = (struct cc_lend){0};
}

enum cc_code cc_lend_argv(const struct cc_lend *lend, const struct cc_strv *argv, struct cc_strv *out_argv,
			  struct cc_err *err)
{
	const struct cc_agent *agent = lend->agent;
	bool given = !agent || !agent->args[0] || cc_strv_has(argv, agent->args[0]);
	enum cc_code code = cc_strv_push(out_argv, argv->items[0], err);

	for (size_t i = 0; code == CC_OK && !given && i < CC_COUNT(agent->args) && agent->args[i]; i++)
		code = cc_strv_push(out_argv, agent->args[i], err);
	for (size_t i = 1; code == CC_OK && i < argv->count; i++)
		code = cc_strv_push(out_argv, argv->items[i], err);
	return code;
}
