#define _GNU_SOURCE
#include "forge/config.h"

#include "os/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

enum { FILE_MAX = 64 << 10, CA_MAX = 1 << 20, CALL_MS_MIN = 50, CALL_MS_MAX = 60000, USER_MAX = 100 };

/* The members that a forge of a kind has: those of need, and perhaps those of may. */
enum {
	HOST = 1,
	API = 2,
	APP = 4,
	KEY = 8,
	TOKEN = 16,
	PASSWORD = 32,
	USER = 64,
	FAMILY = 128,
	CA = 256,
	KIND = 512,
};

static const struct {
	const char *name;
	unsigned bit;
} members[] = {
	{"kind", KIND},
	{"host", HOST},
	{"api", API},
	{"appId", APP},
	{"keyFile", KEY},
	{"tokenFile", TOKEN},
	{"passwordFile", PASSWORD},
	{"user", USER},
	{"forge", FAMILY},
	{"caFile", CA},
};

static const struct {
	const char *name;
	unsigned need, may;
	const struct cc_forge_kind *kind;
	enum cc_forge_family family;
} kinds[] = {
	{"github", APP | KEY, API | CA, &cc_kind_github, CC_FAMILY_GITHUB},
	{"gitlab", TOKEN, API | CA, &cc_kind_gitlab, CC_FAMILY_GITLAB},
	{"gitea", USER | PASSWORD, API | CA, &cc_kind_gitea, CC_FAMILY_GITEA},
	{"gitea", TOKEN, USER | CA, &cc_kind_personal, CC_FAMILY_GITEA},
	{"token", TOKEN, USER | FAMILY | CA, &cc_kind_personal, CC_FAMILY_NONE},
};

static const struct {
	const char *name;
	enum cc_forge_family family;
} families[] = {{"github", CC_FAMILY_GITHUB}, {"gitlab", CC_FAMILY_GITLAB}, {"gitea", CC_FAMILY_GITEA}};

/* A file that others can read holds no secret. */
static enum cc_code read_file(const char *path, bool secret, size_t max, char **out_text, size_t *out_len,
			      struct cc_err *err)
{
	CC_AUTO_FD fd = path[0] == '/' ? open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK) : -1;
	struct cc_buf text;
	struct stat st;
	enum cc_code code;

	if (path[0] != '/')
		return cc_fail(err, CC_EINVAL, 0, "%.200s: not an absolute path", path);
	if (fd < 0)
		return cc_fail(err, errno == ENOENT ? CC_ENOTFOUND : CC_ESYS, errno, "%.200s", path);
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return cc_fail(err, CC_EINVAL, 0, "%.200s: not a file", path);
	if (secret && (st.st_mode & (S_IRWXO | S_IWGRP)) != 0)
		return cc_fail(err, CC_EPOLICY, 0, "%.200s: others may read or change it (mode %03o)", path,
			       (unsigned)st.st_mode & 0777);
	cc_buf_init(&text, max);
	code = cc_fd_read_all(fd, &text, err);
	if (code == CC_OK && text.len && memchr(text.data, '\0', text.len))
		code = cc_fail(err, CC_EINVAL, 0, "%.200s: not text", path);
	if (code != CC_OK || text.len == 0) {
		cc_forge_wipe_buf(&text);
		return code != CC_OK ? code : cc_fail(err, CC_EINVAL, 0, "%.200s: empty", path);
	}
	*out_text = text.data;
	*out_len = text.len;
	return CC_OK;
}

/* One word; the newline that editors put behind it is not part of it. */
static enum cc_code read_secret(const char *path, char **out_secret, struct cc_err *err)
{
	char *text = NULL;
	size_t len = 0;
	enum cc_code code = read_file(path, true, CC_FORGE_SECRET_MAX / 2, &text, &len, err);

	if (code != CC_OK)
		return code;
	while (len && (text[len - 1] == '\n' || text[len - 1] == '\r' || text[len - 1] == ' '))
		text[--len] = '\0';
	for (size_t i = 0; i < len; i++)
		if (text[i] <= ' ' || text[i] > '~')
			code = CC_EINVAL;
	if (code != CC_OK || len == 0) {
		cc_forge_wipe(text);
		return cc_fail(err, CC_EINVAL, 0, "%.200s: not one word", path);
	}
	*out_secret = text;
	return CC_OK;
}

static enum cc_code read_key(const char *path, struct cc_forge *forge, struct cc_err *err)
{
	char *text = NULL;
	size_t len = 0;
	enum cc_code code = read_file(path, true, FILE_MAX, &text, &len, err);
	struct cc_err why = {0};

	if (code != CC_OK)
		return code;
	code = cc_jwt_key_read((struct cc_view){text, len}, &forge->key, &why);
	cc_forge_wipe(text);
	return code == CC_OK ? code : cc_fail(err, code, 0, "%.200s: %.100s", path, why.what);
}

static enum cc_code which_members(const struct cc_json *item, unsigned *out_has, struct cc_err *err)
{
	*out_has = 0;
	for (const struct cc_json *m = item->child; m; m = m->next) {
		unsigned bit = 0;

		for (size_t i = 0; i < CC_COUNT(members); i++)
			if (cc_view_is(m->key, members[i].name))
				bit = members[i].bit;
		if (!bit)
			return cc_fail(err, CC_EINVAL, 0, "forges: unknown key \"%.40s\"", m->key.ptr);
		if (m->kind != CC_JSON_STRING && !(bit == APP && m->kind == CC_JSON_INT))
			return cc_fail(err, CC_EINVAL, 0, "forges: %.40s is not a string", m->key.ptr);
		*out_has |= bit;
	}
	return CC_OK;
}

static enum cc_code pick_kind(const struct cc_json *item, unsigned has, struct cc_forge *forge, struct cc_err *err)
{
	const char *name = cc_json_str(item, "kind", "");
	bool known = false;

	for (size_t i = 0; i < CC_COUNT(kinds); i++) {
		unsigned need = kinds[i].need | KIND | HOST;

		if (strcmp(kinds[i].name, name) != 0)
			continue;
		known = true;
		if ((has & need) == need && (has & ~(need | kinds[i].may)) == 0) {
			forge->kind = kinds[i].kind;
			forge->family = kinds[i].family;
			return CC_OK;
		}
	}
	return cc_fail(err, CC_EINVAL, 0,
		       known ? "forges: one of kind \"%.40s\" has not the keys of its kind"
			     : "forges: unknown kind \"%.40s\"",
		       name);
}

static enum cc_code take_names(const struct cc_json *item, struct cc_forge *forge, struct cc_err *err)
{
	const char *host = cc_json_str(item, "host", ""), *api = cc_json_str(item, "api", NULL);
	const char *user = cc_json_str(item, "user", forge->kind->default_user);
	const char *family = cc_json_str(item, "forge", NULL);
	const struct cc_json *app = cc_json_get(item, "appId");
	struct cc_buf base;
	enum cc_code code;

	if (!cc_host_good(cc_view_of(host)))
		return cc_fail(err, CC_EINVAL, 0, "forges: \"%.100s\" is no host", host);
	if (!cc_word_good(user, USER_MAX))
		return cc_fail(err, CC_EINVAL, 0, "forges: the user of %.100s is no name", host);
	for (size_t i = 0; family && i < CC_COUNT(families); i++)
		if (strcmp(families[i].name, family) == 0)
			forge->family = families[i].family;
	if (family && forge->family == CC_FAMILY_NONE)
		return cc_fail(err, CC_EINVAL, 0, "forges: unknown forge \"%.40s\"", family);
	cc_buf_init(&base, 512);
	if (api)
		cc_buf_adds(&base, api);
	else if (forge->kind == &cc_kind_github && strcmp(host, "github.com") == 0)
		cc_buf_adds(&base, "https://api.github.com");
	else
		cc_buf_addf(&base, "https://%s%s", host, forge->kind->api ? forge->kind->api : "");
	code = cc_buf_check(&base, "api", err);
	if (code == CC_OK && !cc_base_good(cc_buf_view(&base)))
		code = cc_fail(err, CC_EINVAL, 0, "forges: the api of %.100s is no https address", host);
	forge->api = base.data;
	forge->host = cc_str_copy(host);
	forge->user = cc_str_copy(user);
	forge->app = app ? strndup(app->text.ptr, app->text.len) : NULL;
	if (code == CC_OK && app && !cc_word_good(forge->app, USER_MAX))
		code = cc_fail(err, CC_EINVAL, 0, "forges: the appId of %.100s is no word", host);
	return code;
}

static enum cc_code take_forge(const struct cc_json *item, struct cc_forge_config *config, struct cc_err *err)
{
	struct cc_forge *forge = &config->forges[config->count];
	const char *key = cc_json_str(item, "keyFile", NULL), *ca = cc_json_str(item, "caFile", NULL);
	const char *secret = cc_json_str(item, "tokenFile", cc_json_str(item, "passwordFile", NULL));
	unsigned has = 0;
	enum cc_code code = CC_OK;

	if (config->count == CC_FORGES_MAX - 1)
		return cc_fail(err, CC_ELIMIT, 0, "more than %d forges", CC_FORGES_MAX - 1);
	if (item->kind != CC_JSON_OBJECT)
		return cc_fail(err, CC_EINVAL, 0, "forges: not an object");
	code = which_members(item, &has, err);
	if (code == CC_OK)
		code = pick_kind(item, has, forge, err);
	if (code == CC_OK && cc_forge_of(config, cc_view_of(cc_json_str(item, "host", ""))))
		code = cc_fail(err, CC_EINVAL, 0, "forges: %.100s twice", cc_json_str(item, "host", ""));
	config->count++; /* what it has by now is given back with the rest */
	if (code == CC_OK)
		code = take_names(item, forge, err);
	if (code == CC_OK && key)
		code = read_key(key, forge, err);
	if (code == CC_OK && secret)
		code = read_secret(secret, &forge->secret, err);
	if (code == CC_OK && ca)
		code = read_file(ca, false, CA_MAX, &forge->ca, &forge->ca_len, err);
	return code;
}

enum cc_code cc_forge_config_read(struct cc_view text, struct cc_forge_config **out_config, struct cc_err *err)
{
	CC_AUTO(cc_json_doc) doc = NULL;
	CC_AUTO(cc_forge_config) config = calloc(1, sizeof(*config));
	const struct cc_json *root, *forges;
	enum cc_code code = config ? CC_OK : cc_fail(err, CC_ELIMIT, 0, "out of memory");

	if (code == CC_OK)
		code = cc_json_parse("start", text, 0, &doc, err);
	if (code != CC_OK)
		return code;
	root = cc_json_root(doc);
	forges = cc_json_get(root, "forges");
	config->data_dir = cc_str_copy(cc_json_str(root, "dataDir", NULL));
	config->call_ms = (int)cc_json_int(root, "timeoutMs", CC_FORGE_CALL_MS);
	if (!config->data_dir || config->data_dir[0] != '/' || !forges || forges->kind != CC_JSON_ARRAY)
		return cc_fail(err, CC_EPROTO, 0, "the start document is not whole");
	if (config->call_ms < CALL_MS_MIN || config->call_ms > CALL_MS_MAX)
		return cc_fail(err, CC_EINVAL, 0, "timeoutMs is from %d to %d", CALL_MS_MIN, CALL_MS_MAX);
	for (const struct cc_json *item = forges->child; code == CC_OK && item; item = item->next)
		code = take_forge(item, config, err);
	if (code == CC_OK)
		*out_config = cc_forge_config_take(&config);
	return code;
}

void cc_forge_config_free(struct cc_forge_config *config)
{
	if (!config)
		return;
	for (size_t i = 0; i < config->count; i++) {
		struct cc_forge *forge = &config->forges[i];

		free(forge->host);
		free(forge->api);
		free(forge->user);
		free(forge->app);
		free(forge->ca);
		cc_forge_wipe(forge->secret);
		cc_jwt_key_free(forge->key);
	}
	free(config->data_dir);
	free(config);
}

struct cc_forge *cc_forge_of(struct cc_forge_config *config, struct cc_view host)
{
	for (size_t i = 0; i < config->count; i++)
		if (config->forges[i].host && cc_view_eq_nocase(cc_view_of(config->forges[i].host), host))
			return &config->forges[i];
	return NULL;
}
