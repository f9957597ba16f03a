#include "guard/command.h"

#include "base/mem.h"
#include "guard/prefix.h"

#include <string.h>

enum { CHAT = 0, READING, KINDS };

#define BIT(name) CC_ACTION_BIT(name)
#define DENY                                                                                                           \
	{                                                                                                              \
		CC_GUARD_DENY, CC_GUARD_DENY                                                                           \
	}
#define ASK                                                                                                            \
	{                                                                                                              \
		CC_GUARD_ASK, CC_GUARD_DENY                                                                            \
	}
#define READ_DENY                                                                                                      \
	{                                                                                                              \
		CC_GUARD_ALLOW, CC_GUARD_DENY                                                                          \
	}
#define ONLY_SAID                                                                                                      \
	{                                                                                                              \
		CC_GUARD_ALLOW, CC_GUARD_ALLOW                                                                         \
	}

typedef bool condition(const struct cc_shell_command *command, size_t from);
static condition takes_root, is_privileged;

/* name and its subcommands (in spaces, `*` at the end of name stands for any ending); with: a word that must be there
 * too, and with a = at its end one that begins so. */
static const struct row {
	const char *name, *sub, *with;
	condition *when;
	uint32_t actions;
	enum cc_guard verdict[KINDS];
} rows[] = {
	{"sudo", "", NULL, NULL, 0, DENY},
	{"doas", "", NULL, NULL, 0, DENY},
	{"su", "", NULL, NULL, 0, DENY},
	{"pkexec", "", NULL, NULL, 0, DENY},
	{"runuser", "", NULL, NULL, 0, DENY},
	{"shutdown", "", NULL, NULL, 0, DENY},
	{"reboot", "", NULL, NULL, 0, DENY},
	{"halt", "", NULL, NULL, 0, DENY},
	{"poweroff", "", NULL, NULL, 0, DENY},
	{"init", "", NULL, NULL, 0, DENY},
	{"telinit", "", NULL, NULL, 0, DENY},
	{"systemctl", "poweroff", NULL, NULL, 0, DENY},
	{"systemctl", "reboot", NULL, NULL, 0, DENY},
	{"systemctl", "halt", NULL, NULL, 0, DENY},
	{"systemctl", "kexec", NULL, NULL, 0, DENY},
	{"mkfs*", "", NULL, NULL, 0, DENY},
	{"fdisk", "", NULL, NULL, 0, DENY},
	{"sfdisk", "", NULL, NULL, 0, DENY},
	{"parted", "", NULL, NULL, 0, DENY},
	{"dd", "", "if=", NULL, 0, DENY},
	{"chroot", "", NULL, NULL, 0, DENY},
	{"unshare", "", NULL, NULL, 0, DENY},
	{"nsenter", "", NULL, NULL, 0, DENY},
	{"rm", "", NULL, takes_root, BIT(FILE_DELETE), DENY},
	{"docker", "run", NULL, is_privileged, 0, DENY},
	{"podman", "run", NULL, is_privileged, 0, DENY},

	{"git", "reset", "--hard", NULL, BIT(WORKSPACE_MUTATION), ASK},
	{"git", "clean", NULL, NULL, BIT(FILE_DELETE), ASK},
	{"npm", "publish", NULL, NULL, 0, ASK},
	{"pnpm", "publish", NULL, NULL, 0, ASK},
	{"yarn", "publish", NULL, NULL, 0, ASK},
	{"yarn", "npm publish", NULL, NULL, 0, ASK},
	{"cargo", "publish", NULL, NULL, 0, ASK},
	{"twine", "upload", NULL, NULL, 0, ASK},
	{"gem", "push", NULL, NULL, 0, ASK},
	{"gh", "release create", NULL, NULL, 0, ASK},
	{"gh", "release delete", NULL, NULL, 0, ASK},
	{"gh", "repo create", NULL, NULL, 0, ASK},
	{"gh", "repo fork", NULL, NULL, 0, ASK},
	{"gh", "repo delete", NULL, NULL, 0, ASK},
	{"gh", "secret set", NULL, NULL, 0, ASK},
	{"gh", "secret delete", NULL, NULL, 0, ASK},
	{"gh", "workflow run", NULL, NULL, 0, ASK},
	{"docker", "run", NULL, NULL, BIT(ENCLOSURE_CONTROL), ASK},
	{"podman", "run", NULL, NULL, BIT(ENCLOSURE_CONTROL), ASK},
	{"npm", "install", NULL, NULL, BIT(PACKAGE_INSTALL), ASK},
	{"npm", "i", NULL, NULL, BIT(PACKAGE_INSTALL), ASK},
	{"npm", "add", NULL, NULL, BIT(PACKAGE_INSTALL), ASK},
	{"pip", "install", NULL, NULL, BIT(PACKAGE_INSTALL), ASK},
	{"pip3", "install", NULL, NULL, BIT(PACKAGE_INSTALL), ASK},
	{"uv", "pip install", NULL, NULL, BIT(PACKAGE_INSTALL), ASK},
	{"python*", "pip install", "-m", NULL, BIT(PACKAGE_INSTALL), ASK},
	{"cargo", "add", NULL, NULL, BIT(PACKAGE_INSTALL), ASK},
	{"bun", "add", NULL, NULL, BIT(PACKAGE_INSTALL), ASK},

	{"git", "add", NULL, NULL, 0, READ_DENY},
	{"git", "commit", NULL, NULL, BIT(GIT_COMMIT), READ_DENY},
	{"git", "push", NULL, NULL, 0, READ_DENY}, /* judged where it passes: the push gateway */
	{"git", "reset", NULL, NULL, BIT(WORKSPACE_MUTATION), READ_DENY},
	{"git", "merge", NULL, NULL, BIT(GIT_COMMIT), READ_DENY},
	{"git", "rebase", NULL, NULL, BIT(GIT_COMMIT), READ_DENY},
	{"git", "cherry-pick", NULL, NULL, BIT(GIT_COMMIT), READ_DENY},
	{"git", "revert", NULL, NULL, BIT(GIT_COMMIT), READ_DENY},
	{"git", "am", NULL, NULL, BIT(GIT_COMMIT), READ_DENY},
	{"git", "apply", NULL, NULL, BIT(WORKSPACE_MUTATION), READ_DENY},
	{"git", "rm", NULL, NULL, BIT(FILE_DELETE), READ_DENY},
	{"git", "mv", NULL, NULL, BIT(WORKSPACE_MUTATION), READ_DENY},
	{"git", "stash", NULL, NULL, BIT(WORKSPACE_MUTATION), READ_DENY},
	{"git", "restore", NULL, NULL, BIT(WORKSPACE_MUTATION), READ_DENY},
	{"git", "switch", NULL, NULL, BIT(WORKSPACE_MUTATION), READ_DENY},
	{"git", "checkout", NULL, NULL, BIT(WORKSPACE_MUTATION), READ_DENY},
	{"gh", "pr create", NULL, NULL, BIT(PR_CREATE), READ_DENY},
	{"gh", "pr merge", NULL, NULL, BIT(PR_PUBLISH), READ_DENY},
	{"gh", "pr close", NULL, NULL, BIT(PR_PUBLISH), READ_DENY},
	{"gh", "pr review", NULL, NULL, BIT(PR_PUBLISH), READ_DENY},
	{"gh", "pr comment", NULL, NULL, BIT(PR_PUBLISH), READ_DENY},
	{"gh", "issue create", NULL, NULL, BIT(VENDOR_SYNC_WRITE), READ_DENY},
	{"gh", "issue edit", NULL, NULL, BIT(VENDOR_SYNC_WRITE), READ_DENY},
	{"gh", "issue comment", NULL, NULL, BIT(VENDOR_SYNC_WRITE), READ_DENY},
	{"gh", "issue close", NULL, NULL, BIT(VENDOR_SYNC_WRITE), READ_DENY},
	{"npm", "ci", NULL, NULL, BIT(PACKAGE_INSTALL), READ_DENY},
	{"pnpm", "install", NULL, NULL, BIT(PACKAGE_INSTALL), READ_DENY},
	{"pnpm", "add", NULL, NULL, BIT(PACKAGE_INSTALL), READ_DENY},
	{"yarn", "install", NULL, NULL, BIT(PACKAGE_INSTALL), READ_DENY},
	{"yarn", "add", NULL, NULL, BIT(PACKAGE_INSTALL), READ_DENY},
	{"bun", "install", NULL, NULL, BIT(PACKAGE_INSTALL), READ_DENY},
	{"uv", "add", NULL, NULL, BIT(PACKAGE_INSTALL), READ_DENY},
	{"poetry", "add", NULL, NULL, BIT(PACKAGE_INSTALL), READ_DENY},
	{"cargo", "install", NULL, NULL, BIT(PACKAGE_INSTALL), READ_DENY},
	{"go", "install", NULL, NULL, BIT(PACKAGE_INSTALL), READ_DENY},
	{"go", "get", NULL, NULL, BIT(PACKAGE_INSTALL), READ_DENY},
	{"gem", "install", NULL, NULL, BIT(PACKAGE_INSTALL), READ_DENY},
	{"brew", "install", NULL, NULL, BIT(PACKAGE_INSTALL), READ_DENY},
	{"apt", "install", NULL, NULL, BIT(PACKAGE_INSTALL), READ_DENY},
	{"apt-get", "install", NULL, NULL, BIT(PACKAGE_INSTALL), READ_DENY},
	{"dnf", "install", NULL, NULL, BIT(PACKAGE_INSTALL), READ_DENY},
	{"apk", "add", NULL, NULL, BIT(PACKAGE_INSTALL), READ_DENY},
	{"docker", "", NULL, NULL, BIT(ENCLOSURE_CONTROL), READ_DENY},
	{"podman", "", NULL, NULL, BIT(ENCLOSURE_CONTROL), READ_DENY},
	{"kubectl", "", NULL, NULL, 0, READ_DENY},
	{"terraform", "", NULL, NULL, 0, READ_DENY},
	{"rm", "", NULL, NULL, BIT(FILE_DELETE), READ_DENY},
	{"rmdir", "", NULL, NULL, BIT(FILE_DELETE), READ_DENY},
	{"unlink", "", NULL, NULL, BIT(FILE_DELETE), READ_DENY},
	{"shred", "", NULL, NULL, BIT(FILE_DELETE), READ_DENY},
	{"find", "", "-delete", NULL, BIT(FILE_DELETE), READ_DENY},
	{"mv", "", NULL, NULL, BIT(WORKSPACE_MUTATION), READ_DENY},
	{"cp", "", NULL, NULL, BIT(WORKSPACE_MUTATION), READ_DENY},
	{"ln", "", NULL, NULL, BIT(WORKSPACE_MUTATION), READ_DENY},
	{"mkdir", "", NULL, NULL, BIT(WORKSPACE_MUTATION), READ_DENY},
	{"touch", "", NULL, NULL, BIT(WORKSPACE_MUTATION), READ_DENY},
	{"truncate", "", NULL, NULL, BIT(WORKSPACE_MUTATION), READ_DENY},
	{"install", "", NULL, NULL, BIT(WORKSPACE_MUTATION), READ_DENY},
	{"tee", "", NULL, NULL, BIT(WORKSPACE_MUTATION), READ_DENY},
	{"patch", "", NULL, NULL, BIT(WORKSPACE_MUTATION), READ_DENY},
	{"chmod", "", NULL, NULL, BIT(WORKSPACE_MUTATION), READ_DENY},
	{"chown", "", NULL, NULL, BIT(WORKSPACE_MUTATION), READ_DENY},
	{"dd", "", "of=", NULL, BIT(WORKSPACE_MUTATION), READ_DENY},
	{"sed", "", "-i=", NULL, BIT(WORKSPACE_MUTATION), READ_DENY},
	{"sed", "", "--in-place=", NULL, BIT(WORKSPACE_MUTATION), READ_DENY},
	{"curl", "", NULL, NULL, BIT(NETWORK_EGRESS), ONLY_SAID},
	{"wget", "", NULL, NULL, BIT(NETWORK_EGRESS), ONLY_SAID},
};

/* The root however it is written: //, /./, /.. and all that lies in it. */
static bool is_root(const char *path)
{
	if (*path != '/')
		return false;
	while (*path == '/' || *path == '.')
		path++;
	return !*path || strcmp(path, "*") == 0;
}

static bool is_recursive(const char *flag)
{
	if (flag[0] != '-')
		return false;
	return flag[1] == '-' ? strcmp(flag, "--recursive") == 0 : strpbrk(flag, "rR") != NULL;
}

static bool takes_root(const struct cc_shell_command *command, size_t from)
{
	bool recursive = false, root = false;

	for (size_t i = from; i < command->count; i++) {
		recursive |= is_recursive(command->words[i].text);
		root |= is_root(command->words[i].text) || strcmp(command->words[i].text, "--no-preserve-root") == 0;
	}
	return recursive && root;
}

static bool is_privileged(const struct cc_shell_command *command, size_t from)
{
	for (size_t i = from; i < command->count; i++) {
		const char *text = command->words[i].text;
		const char *next = i + 1 < command->count ? command->words[i + 1].text : "";
		const char *volume = strcmp(text, "-v") == 0 || strcmp(text, "--volume") == 0 ? next
				     : strncmp(text, "-v/", 3) == 0                           ? text + 2
				     : strncmp(text, "--volume=", 9) == 0                     ? text + 9
											      : "";

		if (strncmp(text, "--privileged", 12) == 0 || strncmp(volume, "/:", 2) == 0 ||
		    strstr(text, "source=/,") || strstr(text, "src=/,"))
			return true;
	}
	return false;
}

static bool name_is(const char *pattern, const char *name)
{
	size_t len = strlen(pattern);

	if (len && pattern[len - 1] == '*')
		return strncmp(pattern, name, len - 1) == 0;
	return strcmp(pattern, name) == 0;
}

/* The subcommands in their order; flags may stand between, each with a word of its own or without. */
static bool subs_are(const struct cc_shell_command *command, size_t at, const char *sub)
{
	size_t len = strcspn(sub, " ");

	if (!len)
		return true;
	for (; at < command->count; at++) {
		const struct cc_shell_word *word = &command->words[at];

		if (cc_view_is((struct cc_view){sub, len}, word->text))
			return subs_are(command, at + 1, sub[len] ? sub + len + 1 : sub + len);
		if (word->text[0] == '-' && !strchr(word->text, '=') && at + 1 < command->count &&
		    subs_are(command, at + 2, sub))
			return true; /* the flag's value was read over */
		if (word->text[0] != '-' && word->text[0] != '+')
			return false;
	}
	return false;
}

static bool has_word(const struct cc_shell_command *command, size_t from, const char *with)
{
	size_t len = strlen(with);
	bool begins = with[len - 1] == '=';

	for (size_t i = from; i < command->count; i++) {
		const char *text = command->words[i].text;

		if (begins && with[0] == '-' ? strncmp(text, with, len - 1) == 0
		    : begins                 ? strncmp(text, with, len) == 0
					     : strcmp(text, with) == 0)
			return true;
	}
	return false;
}

static void stricter(struct cc_command_verdict *out, enum cc_guard verdict, const char *rule, const char *why)
{
	if (verdict >= out->verdict && out->rule)
		return;
	if (verdict == CC_GUARD_ALLOW && out->rule)
		return;
	out->verdict = verdict;
	out->rule = rule;
	out->why = why;
}

static int kind_of(enum cc_mode mode)
{
	return cc_mode_writes(mode) ? CHAT : READING;
}

/* One program and its words: the first row of its that fits, and the milder ones for what else it does. */
static void judge_words(const struct cc_shell_command *command, size_t at, int kind, struct cc_command_verdict *out)
{
	const char *name = cc_prefix_name(command, at);

	for (size_t i = 0; name && i < CC_COUNT(rows); i++) {
		const struct row *row = &rows[i];

		if (!name_is(row->name, name) || !subs_are(command, at + 1, row->sub) ||
		    (row->with && !has_word(command, at + 1, row->with)) || (row->when && !row->when(command, at + 1)))
			continue;
		out->actions |= row->actions;
		if (row->verdict[kind] != CC_GUARD_ALLOW)
			stricter(out, row->verdict[kind], row->name, row->sub);
	}
}

/* find ... -exec COMMAND ; */
static size_t next_exec(const struct cc_shell_command *command, size_t at)
{
	static const char *const flags[] = {"-exec", "-execdir", "-ok", "-okdir"};

	for (; at < command->count; at++)
		for (size_t k = 0; k < CC_COUNT(flags); k++)
			if (strcmp(command->words[at].text, flags[k]) == 0)
				return at + 1;
	return command->count;
}

/* git -c alias.x='!...' */
static enum cc_code judge_aliases(const struct cc_shell_command *command, struct cc_shell_script *script,
				  struct cc_err *err)
{
	enum cc_code code = CC_OK;

	for (size_t i = 1; code == CC_OK && i < command->count; i++) {
		const char *bang =
			strncmp(command->words[i].text, "alias.", 6) == 0 ? strstr(command->words[i].text, "=!") : NULL;

		if (bang)
			code = cc_shell_read(cc_view_of(bang + 2), 1, script, err);
	}
	return code;
}

static enum cc_code judge_command(struct cc_shell_command command, struct cc_shell_script *script, int kind,
				  struct cc_command_verdict *out, struct cc_err *err)
{
	size_t at = 0;
	bool in_find = false;

	while (at < command.count) {
		const char *name = cc_prefix_name(&command, at);
		bool found = false;
		size_t next;
		enum cc_code code;

		if (!name) {
			cc_shell_unclear(script, "the name of a command that an expansion fills");
			return CC_OK;
		}
		judge_words(&command, at, kind, out);
		if (strcmp(name, "git") == 0)
			return judge_aliases(&command, script, err);
		if (strcmp(name, ".") == 0 || strcmp(name, "source") == 0) {
			if (at + 1 < command.count && command.words[at + 1].open)
				cc_shell_unclear(script, "it reads commands that are not here");
			return CC_OK;
		}
		if (strcmp(name, "find") == 0) {
			in_find = true;
			at = next_exec(&command, at + 1);
			continue;
		}
		code = cc_prefix_step(&command, at, script, &found, &next, err);
		if (code != CC_OK)
			return code;
		at = found ? next : in_find ? next_exec(&command, at + 1) : command.count;
	}
	return CC_OK;
}

static enum cc_code judge_all(struct cc_shell_script *script, enum cc_mode mode, struct cc_command_verdict *out,
			      struct cc_err *err)
{
	int kind = kind_of(mode);
	enum cc_code code = CC_OK;

	*out = (struct cc_command_verdict){.verdict = CC_GUARD_ALLOW, .why = ""};
	/* it grows: texts inside the words are read into it */
	for (size_t i = 0; code == CC_OK && i < script->count; i++)
		code = judge_command(script->items[i], script, kind, out, err);
	if (script->count)
		out->actions |= BIT(PROCESS_SPAWN);
	if (script->writes && kind == READING)
		stricter(out, CC_GUARD_DENY, "a redirection into a file", "");
	if (script->unclear)
		stricter(out, kind == CHAT ? CC_GUARD_ASK : CC_GUARD_DENY, "unclear", script->why);
	return code;
}

enum cc_code cc_command_judge(struct cc_view line, enum cc_mode mode, struct cc_command_verdict *out,
			      struct cc_err *err)
{
	struct cc_shell_script script = {0};
	struct cc_command_verdict verdict = {0};
	enum cc_code code = cc_shell_read(line, 0, &script, err);

	if (code == CC_OK)
		code = judge_all(&script, mode, &verdict, err);
	if (code == CC_OK)
		*out = verdict;
	cc_shell_script_done(&script);
	return code;
}

enum cc_code cc_command_judge_argv(const char *const *argv, size_t count, enum cc_mode mode,
				   struct cc_command_verdict *out, struct cc_err *err)
{
	struct cc_shell_script script = {.items = calloc(1, sizeof(*script.items)), .count = 1};
	struct cc_command_verdict verdict = {0};
	enum cc_code code = CC_OK;

	if (script.items)
		script.items[0].words = calloc(count + 1, sizeof(*script.items[0].words));
	if (!script.items || !script.items[0].words) {
		free(script.items);
		return cc_fail(err, CC_ELIMIT, 0, "out of memory");
	}
	for (size_t i = 0; code == CC_OK && i < count; i++) {
		script.items[0].words[i].text = cc_str_copy(argv[i]);
		if (!script.items[0].words[i].text)
			code = cc_fail(err, CC_ELIMIT, 0, "out of memory");
		else
			script.items[0].count++;
	}
	if (code == CC_OK)
		code = judge_all(&script, mode, &verdict, err);
	if (code == CC_OK)
		*out = verdict;
	cc_shell_script_done(&script);
	return code;
}
