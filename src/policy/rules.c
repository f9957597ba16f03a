#include "policy/rules.h"

#include "policy/index.h"
#include "policy/path.h"

#include <stdlib.h>
#include <string.h>

/* name as explain takes and prints it; action in the contract's vocabulary (3.5) */
static const struct {
	const char *name, *action;
} verbs[CC_VERB_COUNT] = {
	[CC_VERB_READ] = {"read", "file-read*"},
	[CC_VERB_CREATE] = {"create", "file-write-create"},
	[CC_VERB_WRITE] = {"write", "file-write-data"},
	[CC_VERB_MKDIR] = {"mkdir", "file-write-create"},
	[CC_VERB_MKNOD] = {"mknod", "file-write-create"},
	[CC_VERB_BIND] = {"bind", "file-write-create"},
	[CC_VERB_SYMLINK] = {"symlink", "file-write-create"},
	[CC_VERB_LINK_FROM] = {"link-from", "file-write-create"},
	[CC_VERB_LINK_TO] = {"link-to", "file-write-create"},
	[CC_VERB_RENAME_FROM] = {"rename-from", "file-write-unlink"},
	[CC_VERB_RENAME_TO] = {"rename-to", "file-write-create"},
	[CC_VERB_UNLINK] = {"unlink", "file-write-unlink"},
	[CC_VERB_RMDIR] = {"rmdir", "file-write-unlink"},
	[CC_VERB_MODE] = {"mode", "file-write-mode"},
	[CC_VERB_CONNECT] = {"connect", "network-outbound"},
};

const char *cc_verb_name(enum cc_verb verb)
{
	return (size_t)verb < CC_COUNT(verbs) ? verbs[verb].name : "unknown";
}

const char *cc_verb_action(enum cc_verb verb)
{
	return (size_t)verb < CC_COUNT(verbs) ? verbs[verb].action : "file-write-data";
}

static int longest_first(const void *left, const void *right)
{
	const struct cc_mount *a = left;
	const struct cc_mount *b = right;
	size_t one = strlen(a->path);
	size_t two = strlen(b->path);

	return one == two ? strcmp(a->path, b->path) : one < two ? 1 : -1;
}

enum cc_code cc_rules_seal(struct cc_rules *rules, struct cc_err *err)
{
	enum cc_code code;

	if (rules->index)
		return cc_fail(err, CC_ESTATE, 0, "the rules are sealed already");
	if (!rules->net)
		return cc_fail(err, CC_EINVAL, 0, "the rules say nothing about the network");
	for (size_t i = 0; i < rules->mount_count; i++) {
		code = cc_path_check("a mount", rules->mounts[i].path, err);
		if (code != CC_OK)
			return code;
	}
	if (rules->mount_count)
		qsort(rules->mounts, rules->mount_count, sizeof(*rules->mounts), longest_first);
	for (size_t i = 1; i < rules->mount_count; i++)
		if (strcmp(rules->mounts[i - 1].path, rules->mounts[i].path) == 0)
			return cc_fail(err, CC_EINVAL, 0, "\"%.200s\" is mounted twice", rules->mounts[i].path);
	code = cc_net_seal(rules->net, err);
	return code == CC_OK ? cc_rules_index_build(rules, &rules->index, err) : code;
}

void cc_rules_free(struct cc_rules *rules)
{
	if (!rules)
		return;
	free(rules->session_id);
	for (size_t i = 0; i < rules->mount_count; i++)
		free(rules->mounts[i].path);
	free(rules->mounts);
	for (size_t i = 0; i < rules->rule_count; i++) {
		free(rules->rules[i].pattern);
		free(rules->rules[i].id);
		free(rules->rules[i].reason);
		free(rules->rules[i].grant);
	}
	free(rules->rules);
	cc_strv_done(&rules->sockets);
	cc_net_rules_free(rules->net);
	cc_rules_index_free(rules->index);
	free(rules);
}
