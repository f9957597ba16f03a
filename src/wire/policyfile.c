/* policyfile.c - one table says what may stand in a policy file: reading, the schema and the writer all go by it. */
#include "wire/policyfile.h"

#include "base/mem.h"
#include "policy/defaults.h"
#include "policy/names.h"
#include "wire/json.h"

#include <stdlib.h>
#include <string.h>

enum { POLICY_FILE_MAX = 1 << 20 };

enum shape { LIST, SWITCH, HOSTS, NUMBER, TEXT };

typedef enum cc_code entry_check(const char *text, struct cc_err *err);
static entry_check check_deny, check_name, check_path, check_preset, check_domain, check_cidr, check_env;

struct key {
	const char *section, *name; /* section NULL: at the top */
	enum shape shape;
	bool tightens; /* may stand in a project file */
	size_t list;   /* offset of the list or switch in struct cc_policy */
	entry_check *check;
	const char *text; /* for the schema */
};

#define LIST_KEY(section, name, tightens, member, check, text)                                                         \
	{                                                                                                              \
		section, name, LIST, tightens, offsetof(struct cc_policy, member), check, text                         \
	}

static const struct key keys[] = {
	LIST_KEY("filesystem", "allowWrite", false, allow_write, check_path, "Directories bound writable."),
	LIST_KEY("filesystem", "denyWrite", true, deny_write, check_deny, "Paths or globs that are never written."),
	LIST_KEY("filesystem", "denyRead", true, deny_read, check_deny, "Paths or globs that are never read."),
	LIST_KEY("filesystem", "allowRead", false, allow_read, check_path, "Directories bound read-only."),
	LIST_KEY("filesystem", "allowNames", false, allow_names, check_name,
		 "Globs that open the name rules; asked before them."),
	LIST_KEY("filesystem", "allowPaths", false, allow_paths, check_path,
		 "Exact paths that open the mandatory rules."),
	LIST_KEY("filesystem", "allowSockets", false, allow_sockets, check_path,
		 "Unix sockets of the host that may be connected to."),
	LIST_KEY("filesystem", "presets", false, presets, check_preset, "packages, tracked, tooling."),
	{"network", "enabled", SWITCH, true, offsetof(struct cc_policy, network), NULL, "false: all is refused."},
	{"network", "ech", SWITCH, true, offsetof(struct cc_policy, ech), NULL, "false: no encrypted TLS names."},
	LIST_KEY("network", "allowedDomains", false, allowed_domains, check_domain, "Hosts that may be reached."),
	LIST_KEY("network", "deniedDomains", true, denied_domains, check_domain, "Hosts that are never reached."),
	LIST_KEY("network", "privateNames", false, private_names, check_domain,
		 "Hosts whose addresses may be private ones."),
	LIST_KEY("network", "privateCidrs", false, private_cidrs, check_cidr, "Private networks that may be reached."),
	{"network", "hosts", HOSTS, false, 0, NULL, "Names with the addresses that they are to have."},
	{"network", "maxConnections", NUMBER, true, 0, NULL, "Connections at once; the smallest number said holds."},
	{"network", "parentProxy", TEXT, false, 0, NULL, "An HTTP proxy, http://HOST:PORT, for everything."},
	LIST_KEY(NULL, "actions", true, actions, check_env, "CLASS=deny, =prompt or =allow, in runs of agents."),
	LIST_KEY(NULL, "env", false, env, check_env, "NAME (the host's value) or NAME=VALUE."),
};

static const char *const sections[] = {"filesystem", "network"};

static enum cc_code check_path(const char *text, struct cc_err *err)
{
	const char *path = text;

	if (text[0] == '~' && text[1] == '/')
		path = text + 1;
	else if (text[0] == '~')
		return cc_fail(err, CC_EINVAL, 0, "only \"~/\" is understood, not \"%.60s\"", text);
	if (cc_path_is_glob(text))
		return cc_fail(err, CC_EINVAL, 0, "no wildcard is possible here: \"%.200s\"", text);
	return cc_path_check("a path", path, err);
}

static enum cc_code check_glob(const char *text, struct cc_err *err)
{
	struct cc_pattern pattern;
	enum cc_code code = cc_pattern_parse(text, false, &pattern, err);

	if (code == CC_OK)
		cc_pattern_done(&pattern);
	return code;
}

static enum cc_code check_deny(const char *text, struct cc_err *err)
{
	if (text[0] == '~' || (text[0] == '/' && !cc_path_is_glob(text))) {
		if (text[0] == '~' && text[1] == '/' && cc_path_is_glob(text))
			return check_glob(text + 1, err);
		return check_path(text, err);
	}
	return check_glob(text, err);
}

static enum cc_code check_name(const char *text, struct cc_err *err)
{
	if (text[0] == '~')
		return cc_fail(err, CC_EINVAL, 0, "a glob is read from the bind's root: \"%.200s\" can never match",
			       text);
	return check_glob(text, err);
}

static enum cc_code check_preset(const char *text, struct cc_err *err)
{
	enum cc_preset preset;

	return cc_preset_parse(text, &preset, err);
}

/* The network's own compiler says what an entry may look like. */
static enum cc_code check_net(const char *text, bool cidr, struct cc_err *err)
{
	CC_AUTO(cc_net_rules) net = calloc(1, sizeof(*net));
	enum cc_code code;

	if (!net)
		return cc_fail(err, CC_ELIMIT, 0, "out of memory");
	code = cc_strv_push(cidr ? &net->private_cidrs : &net->allow, text, err);
	return code == CC_OK ? cc_net_seal(net, err) : code;
}

static enum cc_code check_domain(const char *text, struct cc_err *err)
{
	return check_net(text, false, err);
}

static enum cc_code check_cidr(const char *text, struct cc_err *err)
{
	return check_net(text, true, err);
}

static enum cc_code check_env(const char *text, struct cc_err *err)
{
	size_t len = strcspn(text, "=");

	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)text[i];
		unsigned char low = cc_ascii_lower(c);

		if (!(low >= 'a' && low <= 'z') && c != '_' && !(i > 0 && c >= '0' && c <= '9'))
			len = 0;
	}
	if (len == 0)
		return cc_fail(err, CC_EINVAL, 0, "\"%.60s\" is neither NAME nor NAME=VALUE", text);
	return CC_OK;
}

struct file {
	const char *name;
	enum cc_policy_source source;
	struct cc_policy *policy;
	struct cc_err *err;
};

static enum cc_code refuse(const struct file *f, unsigned line, unsigned column, const char *what)
{
	return cc_fail(f->err, CC_EINVAL, 0, "%s:%u:%u: %.300s", f->name, line, column, what);
}

/* The key is shown as far as it is plain text: it comes out of a file. */
static enum cc_code refuse_key(const struct file *f, const struct cc_json *member)
{
	size_t len = 0;

	while (len < member->key.len && len < 60 && member->key.ptr[len] > ' ' && member->key.ptr[len] < 0x7f)
		len++;
	return cc_fail(f->err, CC_EINVAL, 0, "%s:%u:%u: unknown key \"%.*s\"", f->name, member->key_line,
		       member->key_column, (int)len, member->key.ptr);
}

static enum cc_code refuse_value(const struct file *f, const struct cc_json *node, const char *what)
{
	return refuse(f, node->line, node->column, what);
}

static struct cc_strv *list_of(struct cc_policy *policy, const struct key *key)
{
	return (struct cc_strv *)(void *)((char *)policy + key->list);
}

static const struct cc_strv *list_in(const struct cc_policy *policy, const struct key *key)
{
	return (const struct cc_strv *)(const void *)((const char *)policy + key->list);
}

static enum cc_code read_entry(const struct file *f, const struct cc_json *node, entry_check *check,
			       struct cc_strv *list)
{
	struct cc_err why = {0};

	if (node->kind != CC_JSON_STRING)
		return refuse_value(f, node, "a string is expected here");
	if (check && check(node->text.ptr, &why) != CC_OK)
		return refuse_value(f, node, why.what);
	return cc_strv_add(list, node->text.ptr, f->err);
}

static enum cc_code read_list(const struct file *f, const struct cc_json *node, entry_check *check,
			      struct cc_strv *list)
{
	enum cc_code code = CC_OK;

	if (node->kind != CC_JSON_ARRAY)
		return refuse_value(f, node, "a list of strings is expected here");
	for (const struct cc_json *m = node->child; code == CC_OK && m; m = m->next)
		code = read_entry(f, m, check, list);
	return code;
}

static enum cc_code read_host(const struct file *f, const struct cc_json *node)
{
	CC_AUTO(cc_net_rules) net = calloc(1, sizeof(*net));
	struct cc_static_host *host;
	struct cc_err why = {0};
	enum cc_code code = cc_policy_add_host(f->policy, node->key.ptr, &host, f->err);

	if (code != CC_OK)
		return code;
	if (!net)
		return cc_fail(f->err, CC_ELIMIT, 0, "out of memory");
	code = node->kind == CC_JSON_STRING ? read_entry(f, node, NULL, &host->addresses)
					    : read_list(f, node, NULL, &host->addresses);
	if (code != CC_OK)
		return code;
	if (host->addresses.count == 0)
		return refuse_value(f, node, "at least one address is expected here");
	net->hosts = calloc(1, sizeof(*net->hosts));
	if (!net->hosts)
		return cc_fail(f->err, CC_ELIMIT, 0, "out of memory");
	net->host_count = 1;
	net->hosts->name = cc_str_copy(host->name);
	code = cc_strv_copy(&net->hosts->addresses, &host->addresses, f->err);
	if (code == CC_OK && cc_net_seal(net, &why) != CC_OK)
		code = refuse(f, node->key_line, node->key_column, why.what);
	return code;
}

/* network.maxConnections */
static enum cc_code read_number(const struct file *f, const struct cc_json *node)
{
	if (node->kind != CC_JSON_INT || node->integer < 1 || node->integer > CC_NET_CONNS_MAX)
		return refuse_value(f, node, "a number from 1 to 16384 is expected here");
	f->policy->max_connections = (int)node->integer;
	return CC_OK;
}

/* network.parentProxy: the network's own compiler says what it may look like */
static enum cc_code read_parent(const struct file *f, const struct cc_json *node)
{
	CC_AUTO(cc_net_rules) net = calloc(1, sizeof(*net));
	struct cc_err why = {0};

	if (node->kind != CC_JSON_STRING)
		return refuse_value(f, node, "http://HOST:PORT is expected here");
	f->policy->parent_proxy = cc_str_copy(node->text.ptr);
	if (net)
		net->parent = cc_str_copy(node->text.ptr);
	if (!net || !net->parent || !f->policy->parent_proxy)
		return cc_fail(f->err, CC_ELIMIT, 0, "out of memory");
	return cc_net_seal(net, &why) == CC_OK ? CC_OK : refuse_value(f, node, why.what);
}

static enum cc_code read_key(const struct file *f, const struct key *key, const struct cc_json *node)
{
	enum cc_code code = CC_OK;

	if (f->source == CC_POLICY_PROJECT && !key->tightens)
		return refuse(f, node->key_line, node->key_column, "a project file may only tighten: not allowed here");
	switch (key->shape) {
	case LIST:
		return read_list(f, node, key->check, list_of(f->policy, key));
	case SWITCH:
		if (node->kind != CC_JSON_TRUE && node->kind != CC_JSON_FALSE)
			return refuse_value(f, node, "true or false is expected here");
		if (f->source == CC_POLICY_PROJECT && node->kind == CC_JSON_TRUE)
			return refuse_value(f, node, "a project file may only tighten: not allowed here");
		*(int *)(void *)list_of(f->policy, key) = node->kind == CC_JSON_TRUE;
		return CC_OK;
	case NUMBER:
		return read_number(f, node);
	case TEXT:
		return read_parent(f, node);
	case HOSTS:
		if (node->kind != CC_JSON_OBJECT)
			return refuse_value(f, node, "names with addresses are expected here");
		for (const struct cc_json *m = node->child; code == CC_OK && m; m = m->next)
			code = read_host(f, m);
		return code;
	}
	return refuse_value(f, node, "not understood");
}

static bool in_section(const struct key *key, const char *section)
{
	return section && key->section ? strcmp(key->section, section) == 0 : section == key->section;
}

static enum cc_code read_members(const struct file *f, const struct cc_json *node, const char *section)
{
	enum cc_code code = CC_OK;

	if (node->kind != CC_JSON_OBJECT)
		return refuse_value(f, node, "an object is expected here");
	for (const struct cc_json *m = node->child; code == CC_OK && m; m = m->next) {
		bool known = false;

		for (size_t i = 0; !known && i < CC_COUNT(keys); i++) {
			if (in_section(&keys[i], section) && cc_view_is(m->key, keys[i].name)) {
				known = true;
				code = read_key(f, &keys[i], m);
			}
		}
		for (size_t i = 0; !known && !section && i < CC_COUNT(sections); i++) {
			if (cc_view_is(m->key, sections[i])) {
				known = true;
				code = read_members(f, m, sections[i]);
			}
		}
		if (!known && !section && cc_view_is(m->key, "$schema") && m->kind == CC_JSON_STRING)
			known = true; /* editors want it */
		if (!known)
			code = refuse_key(f, m);
	}
	return code;
}

enum cc_code cc_policyfile_parse(const char *name, struct cc_view text, enum cc_policy_source source,
				 struct cc_policy *policy, struct cc_err *err)
{
	CC_AUTO(cc_json_doc) doc = NULL;
	struct cc_policy read;
	struct file f = {name, source, &read, err};
	enum cc_code code;

	if (text.len > POLICY_FILE_MAX)
		return cc_fail(err, CC_ELIMIT, 0, "%s: more than %d bytes", name, (int)POLICY_FILE_MAX);
	code = cc_json_parse(name, text, CC_JSON_COMMENTS, &doc, err);
	if (code != CC_OK)
		return code;
	cc_policy_init(&read);
	code = read_members(&f, cc_json_root(doc), NULL);
	if (code == CC_OK)
		code = cc_policy_merge(policy, &read, err);
	cc_policy_done(&read);
	return code;
}

/* What a regular expression can say of an entry; the checks themselves say the rest. Never stricter than they are. */
static const char *pattern_of(entry_check *check)
{
	if (check == check_path)
		return "^(/|~/)[^*?]*$";
	if (check == check_deny || check == check_name)
		return "^(?!.*//).+$";
	if (check == check_preset)
		return "^(packages|tracked|tooling)$";
	if (check == check_domain)
		return "^(?!\\*$)[^\\s/]+$";
	if (check == check_cidr)
		return "^[0-9a-fA-F:.]+(/[0-9]{1,3})?$";
	return "^[A-Za-z_][A-Za-z0-9_]*(=|$)"; /* check_env */
}

static void schema_of(struct cc_jsonw *w, const struct key *key)
{
	cc_jsonw_key(w, key->name);
	cc_jsonw_object(w);
	cc_jsonw_kstr(w, "description", key->text);
	if (key->shape != LIST && key->shape != HOSTS) {
		cc_jsonw_kstr(w, "type",
			      key->shape == SWITCH   ? "boolean"
			      : key->shape == NUMBER ? "integer"
						     : "string");
	} else if (key->shape == LIST) {
		cc_jsonw_kstr(w, "type", "array");
		cc_jsonw_key(w, "items");
		cc_jsonw_object(w);
		cc_jsonw_kstr(w, "type", "string");
		cc_jsonw_kstr(w, "pattern", pattern_of(key->check));
		cc_jsonw_end(w);
	} else {
		cc_jsonw_kstr(w, "type", "object");
		cc_jsonw_key(w, "additionalProperties");
		cc_jsonw_object(w);
		cc_jsonw_key(w, "type");
		cc_jsonw_array(w);
		cc_jsonw_str(w, "string");
		cc_jsonw_str(w, "array");
		cc_jsonw_end(w);
		cc_jsonw_end(w);
	}
	cc_jsonw_end(w);
}

static void schema_section(struct cc_jsonw *w, const char *section)
{
	cc_jsonw_kstr(w, "type", "object");
	cc_jsonw_kbool(w, "additionalProperties", false);
	cc_jsonw_key(w, "properties");
	cc_jsonw_object(w);
	for (size_t i = 0; i < CC_COUNT(keys); i++)
		if (in_section(&keys[i], section))
			schema_of(w, &keys[i]);
	if (section) {
		cc_jsonw_end(w);
		return;
	}
	cc_jsonw_key(w, "$schema");
	cc_jsonw_object(w);
	cc_jsonw_kstr(w, "type", "string");
	cc_jsonw_end(w);
	for (size_t i = 0; i < CC_COUNT(sections); i++) {
		cc_jsonw_key(w, sections[i]);
		cc_jsonw_object(w);
		schema_section(w, sections[i]);
		cc_jsonw_end(w);
	}
	cc_jsonw_end(w);
}

void cc_policyfile_schema(struct cc_buf *out)
{
	struct cc_jsonw w;

	cc_jsonw_init(&w, out);
	cc_jsonw_object(&w);
	cc_jsonw_kstr(&w, "$schema", "https://json-schema.org/draft/2020-12/schema");
	cc_jsonw_kstr(&w, "title", "ccbox policy");
	schema_section(&w, NULL);
	cc_jsonw_end(&w);
	cc_buf_adds(out, "\n");
}

static bool is_set(const struct cc_policy *policy, const struct key *key)
{
	return key->shape == LIST     ? list_in(policy, key)->count > 0
	       : key->shape == SWITCH ? *(const int *)(const void *)list_in(policy, key) >= 0
	       : key->shape == NUMBER ? policy->max_connections > 0
	       : key->shape == TEXT   ? policy->parent_proxy != NULL
				      : policy->host_count > 0;
}

static void write_value(const struct cc_policy *policy, const struct key *key, struct cc_buf *out)
{
	struct cc_jsonw w;

	cc_jsonw_init(&w, out);
	if (key->shape == SWITCH)
		cc_jsonw_bool(&w, *(const int *)(const void *)list_in(policy, key) == 1);
	if (key->shape == NUMBER)
		cc_jsonw_int(&w, policy->max_connections);
	if (key->shape == TEXT)
		cc_jsonw_str(&w, policy->parent_proxy);
	if (key->shape == LIST) {
		cc_jsonw_array(&w);
		for (size_t i = 0; i < list_in(policy, key)->count; i++)
			cc_jsonw_str(&w, list_in(policy, key)->items[i]);
		cc_jsonw_end(&w);
	} else if (key->shape == HOSTS) {
		cc_jsonw_object(&w);
		for (size_t i = 0; i < policy->host_count; i++)
			cc_jsonw_kstrv(&w, policy->hosts[i].name, &policy->hosts[i].addresses);
		cc_jsonw_end(&w);
	}
}

/* One key a line, indented, in the table's order. */
static bool write_keys(const struct cc_policy *policy, const char *section, const char *indent, bool first,
		       struct cc_buf *out)
{
	for (size_t i = 0; i < CC_COUNT(keys); i++) {
		if (!in_section(&keys[i], section) || !is_set(policy, &keys[i]))
			continue;
		cc_buf_addf(out, "%s\n%s\"%s\": ", first ? "" : ",", indent, keys[i].name);
		write_value(policy, &keys[i], out);
		first = false;
	}
	return first;
}

void cc_policyfile_write(const struct cc_policy *policy, struct cc_buf *out)
{
	bool first = true;

	cc_buf_adds(out, "{");
	for (size_t s = 0; s < CC_COUNT(sections); s++) {
		bool any = false;

		for (size_t i = 0; i < CC_COUNT(keys); i++)
			any |= in_section(&keys[i], sections[s]) && is_set(policy, &keys[i]);
		if (!any)
			continue;
		cc_buf_addf(out, "%s\n\t\"%s\": {", first ? "" : ",", sections[s]);
		write_keys(policy, sections[s], "\t\t", true, out);
		cc_buf_adds(out, "\n\t}");
		first = false;
	}
	first = write_keys(policy, NULL, "\t", first, out);
	cc_buf_adds(out, first ? "}\n" : "\n}\n");
}
