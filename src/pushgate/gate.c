/* gate.c - the life of a gateway, from its start document to its end. */
#define _GNU_SOURCE
#include "pushgate/pushgate.h"

#include "os/confine.h"
#include "os/fd.h"
#include "os/peer.h"
#include "os/tree.h"
#include "pushgate/inside.h"
#include "wire/pushmsg.h"
#include "wire/ruleset.h"
#include "work/files.h"

#include <dirent.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NOTHING = 125, WAIT_S = 3600, WAIT_MAX_S = 7 * 86400, SECRET_MIN = 32 };
#define BYTES (2LL << 30)

static enum cc_code take_list(const struct cc_json *list, struct cc_strv *to, struct cc_err *err)
{
	enum cc_code code = list && list->kind == CC_JSON_ARRAY
				    ? CC_OK
				    : cc_fail(err, CC_EPROTO, 0, "the start document is not whole");

	for (const struct cc_json *m = code == CC_OK ? list->child : NULL; code == CC_OK && m; m = m->next)
		code = cc_strv_push(to, m->text.ptr ? m->text.ptr : "", err);
	return code;
}

static enum cc_code take_document(struct cc_pushgate *gate, const struct cc_json *root, struct cc_err *err)
{
	int64_t wait_s = cc_json_int(root, "waitSeconds", WAIT_S);
	enum cc_code code;

	gate->run_id = cc_str_copy(cc_json_str(root, "runId", NULL));
	gate->secret = cc_str_copy(cc_json_str(root, "secret", NULL));
	gate->dir = cc_str_copy(cc_json_str(root, "dir", NULL));
	gate->root = cc_str_copy(cc_json_str(root, "root", NULL));
	gate->objects = cc_str_copy(cc_json_str(root, "objects", NULL));
	gate->copy = cc_str_copy(cc_json_str(root, "copy", NULL));
	gate->base = cc_str_copy(cc_json_str(root, "base", NULL));
	gate->max_bytes = cc_json_int(root, "maxBytes", BYTES);
	gate->wait_ms = 1000 * (wait_s < WAIT_MAX_S ? wait_s : WAIT_MAX_S);
	if (!gate->run_id || !gate->secret || strlen(gate->secret) < SECRET_MIN || !gate->dir || gate->dir[0] != '/' ||
	    !gate->root || gate->root[0] != '/' || (gate->objects && gate->objects[0] != '/') ||
	    (gate->copy && gate->copy[0] != '/') || (gate->base && !cc_git_is_oid(gate->base)) ||
	    gate->max_bytes <= 0 || gate->wait_ms < 0)
		return cc_fail(err, CC_EPROTO, 0, "the start document is not whole");
	code = take_list(cc_json_get(root, "repositories"), &gate->repositories, err);
	if (code == CC_OK)
		code = cc_push_rules_read(cc_json_get(root, "push"), &gate->push, err);
	if (code == CC_OK)
		code = cc_ruleset_read(cc_json_get(root, "rules"), &gate->rules, err);
	if (code != CC_OK)
		return code;
	gate->known = calloc(gate->repositories.count + 1, sizeof(*gate->known));
	return gate->known ? CC_OK : cc_fail(err, CC_ELIMIT, 0, "out of memory");
}

static enum cc_code begin(struct cc_pushgate *gate, char *const *env, struct cc_err *err)
{
	CC_AUTO(cc_json_doc) doc = NULL;
	struct cc_buf text;
	pthread_condattr_t attr;
	enum cc_code code;

	cc_buf_init(&text, CC_PUSH_START_MAX);
	code = cc_peer_recv_file(gate->link, &text, err);
	if (code == CC_OK)
		code = cc_json_parse("start", cc_buf_view(&text), 0, &doc, err);
	if (code == CC_OK)
		code = take_document(gate, cc_json_root(doc), err);
	cc_buf_done(&text);
	if (code == CC_OK)
		code = cc_git_init(&gate->git, env, err);
	pthread_mutex_init(&gate->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&gate->news, &attr);
	pthread_condattr_destroy(&attr);
	return code;
}

#ifdef CC_TWIN
bool cc_push_off(const char *what)
{
	const char *off = getenv("CCBOX_TWIN_OFF");

	return off && strstr(off, what);
}
#endif

/* Whatever lies there is of pushes that are over with us. */
static void empty(const char *dir)
{
	DIR *list = opendir(dir);
	struct dirent *entry;
	struct cc_err err;

	while (list && (entry = readdir(list)))
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			(void)!cc_files_remove(dir, entry->d_name, &err);
	if (list)
		closedir(list);
}

int cc_pushgate_main(int link, char *const *env)
{
	static struct cc_pushgate gate;
	struct cc_err err = {0};
	enum cc_code code = cc_confine_secrets(&err);

	signal(SIGPIPE, SIG_IGN);
	/* as for the owner of a session: it goes when the daemon says so, or is gone */
	signal(SIGTERM, SIG_IGN);
	signal(SIGINT, SIG_IGN);
	mallopt(M_ARENA_MAX, 1);
	gate.link = link;
	if (code == CC_OK && !cc_push_off("confine"))
		code = cc_confine_network(&err);
	if (code == CC_OK)
		code = begin(&gate, env, &err);
	if (code == CC_OK && !cc_push_off("confine"))
		code = cc_confine_writes(gate.dir, &err);
	if (code != CC_OK)
		return NOTHING;
	cc_proc_adopt();
	cc_push_listen(&gate);
	/* the lock stays: nobody makes a process or a file any more */
	pthread_mutex_lock(&gate.lock);
	gate.ending = true;
	cc_tree_end();
	for (int i = 0; i < 3; i++)
		empty(gate.dir);
	_exit(0);
}
