#include "review/objects.h"

#include "base/mem.h"
#include "policy/names.h"

#include <string.h>

enum { LINK = 0120000, SUBMODULE = 0160000, KIND = 0170000 };

static struct cc_view field(struct cc_view text, size_t *at)
{
	const char *from = text.ptr + *at;
	const char *end = memchr(from, '\0', text.len - *at);
	size_t len = end ? (size_t)(end - from) : text.len - *at;

	*at += len + (end ? 1 : 0);
	return (struct cc_view){from, len};
}

static bool octal(struct cc_view *line, unsigned *out)
{
	size_t len = 0;

	*out = 0;
	while (len < line->len && line->ptr[len] >= '0' && line->ptr[len] <= '7' && len < 7)
		*out = *out * 8 + (unsigned)(line->ptr[len++] - '0');
	if (len == 0 || len == line->len || line->ptr[len] != ' ')
		return false;
	line->ptr += len + 1;
	line->len -= len + 1;
	return true;
}

static bool oid(struct cc_view *line, struct cc_view *out)
{
	size_t len = 0;

	while (len < line->len && cc_hex_value(line->ptr[len]) >= 0)
		len++;
	if (len < 40 || len > CC_REVIEW_OID || len == line->len || line->ptr[len] != ' ')
		return false;
	*out = (struct cc_view){line->ptr, len};
	line->ptr += len + 1;
	line->len -= len + 1;
	return true;
}

enum cc_code cc_review_next(struct cc_view text, size_t *at, struct cc_view *commit, struct cc_review_entry *out,
			    bool *out_found, struct cc_err *err)
{
	*out_found = false;
	while (*at < text.len) {
		struct cc_view line = field(text, at), ignored;

		while (line.len && line.ptr[0] == '\n') {
			line.ptr++;
			line.len--;
		}
		if (line.len == 0)
			continue;
		if (line.ptr[0] == '\001') {
			*commit = (struct cc_view){line.ptr + 1, line.len - 1};
			continue;
		}
		if (line.ptr[0] != ':')
			return cc_fail(err, CC_EINVAL, 0, "git's list of changes is not what it should be");
		line.ptr++;
		line.len--;
		*out = (struct cc_review_entry){.commit = *commit};
		if (!octal(&line, &out->old_mode) || !octal(&line, &out->new_mode) || !oid(&line, &ignored) ||
		    !oid(&line, &out->oid) || line.len == 0 || *at >= text.len)
			return cc_fail(err, CC_EINVAL, 0, "git's list of changes is not what it should be");
		out->path = field(text, at);
		*out_found = true;
		return CC_OK;
	}
	return CC_OK;
}

/* What file systems and other systems take for ".git": git~1, dots and spaces behind it. */
static bool means_git(struct cc_view part)
{
	while (part.len && (part.ptr[part.len - 1] == '.' || part.ptr[part.len - 1] == ' '))
		part.len--;
	return cc_view_eq_nocase(part, cc_view_of(".git")) || cc_view_eq_nocase(part, cc_view_of("git~1"));
}

bool cc_review_link_leaves(struct cc_view path, struct cc_view target)
{
	size_t depth = 0, at = 0;

	if (target.len == 0 || target.ptr[0] == '/' || memchr(target.ptr, '\\', target.len))
		return true;
	for (size_t i = 0; i < path.len; i++)
		depth += path.ptr[i] == '/';
	while (at < target.len) {
		struct cc_view part = cc_path_part(target, at);

		at += part.len + 1;
		if (cc_view_is(part, "..")) {
			if (depth == 0)
				return true;
			depth--;
		} else if (part.len && !cc_view_is(part, ".")) {
			if (means_git(part))
				return true;
			depth++;
		}
	}
	return false;
}

/* Names that cannot be checked out safely, or not at all, whatever the rules say. */
static const char *fault_of(struct cc_view path)
{
	size_t at = 0;

	if (path.len == 0 || path.ptr[0] == '/' || path.len > CC_PATH_MAX - 2)
		return "no path of a tree";
	while (at <= path.len) {
		struct cc_view part = cc_path_part(path, at);

		at += part.len + 1;
		if (part.len == 0 || cc_view_is(part, ".") || cc_view_is(part, ".."))
			return "no path of a tree";
		if (means_git(part))
			return "a git directory inside the tree";
	}
	return NULL;
}

static struct cc_review_verdict refused(const char *rule, const char *why)
{
	return (struct cc_review_verdict){CC_REVIEW_REFUSED, rule, why};
}

struct cc_review_verdict cc_review_judge(const struct cc_rules *rules, const char *root,
					 const struct cc_review_entry *entry, struct cc_view target)
{
	char path[CC_PATH_MAX + CC_PATH_MAX];
	size_t len = strlen(root);
	struct cc_ask ask = {.verb = CC_VERB_CREATE, .object = CC_OBJECT_FILE};
	struct cc_decision decision;

	if (entry->new_mode == 0)
		return (struct cc_review_verdict){0}; /* what goes brings no name */
	if (fault_of(entry->path))
		return refused("review:path", fault_of(entry->path));
	if ((entry->new_mode & KIND) == SUBMODULE)
		return refused("review:submodule", "it names a commit of another repository");
	if ((entry->new_mode & KIND) == LINK && cc_review_link_leaves(entry->path, target))
		return refused("review:link", "the link leads out of the tree, or into a git directory");
	if (len + entry->path.len + 2 > sizeof(path))
		return refused("review:path", "no path of a tree");
	memcpy(path, root, len);
	path[len] = '/';
	memcpy(path + len + 1, entry->path.ptr, entry->path.len);
	ask.path = (struct cc_view){path, len + 1 + entry->path.len};
	if ((entry->new_mode & KIND) == LINK) {
		ask.verb = CC_VERB_SYMLINK;
		ask.object = CC_OBJECT_SYMLINK;
	} else if (entry->old_mode != 0) {
		ask.verb = CC_VERB_WRITE;
	}
	decision = cc_decide(rules, &ask);
	if (decision.verdict == CC_DENY)
		return refused(cc_decision_id(&decision), decision.rule ? decision.rule->reason : "outside the tree");
	if (decision.verdict == CC_JUDGE)
		return refused(cc_decision_id(&decision), "it is judged by what lies around it");
	if (decision.flagged)
		return (struct cc_review_verdict){CC_REVIEW_FLAGGED, cc_decision_id(&decision),
						  decision.rule ? decision.rule->reason : NULL};
	return (struct cc_review_verdict){0};
}
