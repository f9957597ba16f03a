/* ruleset.c - the rules as JSON. Every field is written and every field is asked for; an object with a field more or
 * less is refused, because a rule that one side does not know would be a rule that nobody holds. A string that is not
 * UTF-8 (a path may be any bytes) travels as {"hex":"..."}: altered, it would deny another path. */
#include "wire/ruleset.h"

#include <stdlib.h>
#include <string.h>

enum { RULESET_VERSION = 2 };

static const char *const kinds[] = {"name", "tree", "path"};
static const char *const effects[] = {"deny", "allow", "flag", "judge"};
static const char *const judges[] = {"none", "config", "pointer", "bare", "history", "todo"};
static const char *const mount_modes[] = {"ro", "rw", "state", "private"};

static bool plain_text(const char *text)
{
	for (const unsigned char *p = (const unsigned char *)text; *p; p++)
		if (*p >= 0x7f || *p < 0x20)
			return false;
	return true;
}

static void put_text(struct cc_jsonw *w, const char *text)
{
	static const char digits[] = "0123456789abcdef";
	size_t len = text ? strlen(text) : 0;
	char *hex;

	if (!text || plain_text(text)) {
		cc_jsonw_str(w, text);
		return;
	}
	hex = malloc(len * 2 + 1);
	if (!hex) {
		w->out->failed = true;
		return;
	}
	for (size_t i = 0; i < len; i++) {
		hex[2 * i] = digits[(unsigned char)text[i] >> 4];
		hex[2 * i + 1] = digits[(unsigned char)text[i] & 15];
	}
	hex[2 * len] = '\0';
	cc_jsonw_object(w);
	cc_jsonw_kstr(w, "hex", hex);
	cc_jsonw_end(w);
	free(hex);
}

static void put_ktext(struct cc_jsonw *w, const char *key, const char *text)
{
	cc_jsonw_key(w, key);
	put_text(w, text);
}

static void put_list(struct cc_jsonw *w, const char *key, const struct cc_strv *list)
{
	cc_jsonw_key(w, key);
	cc_jsonw_array(w);
	for (size_t i = 0; i < list->count; i++)
		put_text(w, list->items[i]);
	cc_jsonw_end(w);
}

static void put_rule(struct cc_jsonw *w, const struct cc_rule *rule)
{
	cc_jsonw_object(w);
	cc_jsonw_kstr(w, "kind", kinds[rule->kind]);
	cc_jsonw_kstr(w, "effect", effects[rule->effect]);
	cc_jsonw_kstr(w, "judge", judges[rule->judge]);
	cc_jsonw_kint(w, "verbs", rule->verbs);
	cc_jsonw_kbool(w, "whole", rule->whole_path);
	cc_jsonw_kbool(w, "leaf", rule->leaf);
	cc_jsonw_kint(w, "fixed", rule->fixed);
	put_ktext(w, "pattern", rule->pattern);
	put_ktext(w, "id", rule->id);
	put_ktext(w, "reason", rule->reason);
	put_ktext(w, "grant", rule->grant);
	cc_jsonw_end(w);
}

static void put_net(struct cc_jsonw *w, const struct cc_net_rules *net)
{
	cc_jsonw_object(w);
	cc_jsonw_kbool(w, "enabled", net->enabled);
	put_list(w, "allow", &net->allow);
	put_list(w, "deny", &net->deny);
	put_list(w, "private_names", &net->private_names);
	put_list(w, "private_cidrs", &net->private_cidrs);
	cc_jsonw_key(w, "hosts");
	cc_jsonw_array(w);
	for (size_t i = 0; i < net->host_count; i++) {
		cc_jsonw_object(w);
		put_ktext(w, "name", net->hosts[i].name);
		put_list(w, "addresses", &net->hosts[i].addresses);
		cc_jsonw_end(w);
	}
	cc_jsonw_end(w);
	put_list(w, "host_ports", &net->host_ports);
	put_list(w, "publish", &net->publish);
	put_list(w, "owner_ports", &net->owner_ports);
	put_ktext(w, "parent", net->parent);
	cc_jsonw_kint(w, "conns_max", net->conns_max);
	cc_jsonw_kint(w, "transparent", net->transparent);
	cc_jsonw_kbool(w, "gateway", net->gateway);
	cc_jsonw_kbool(w, "ech", net->ech);
	cc_jsonw_end(w);
}

void cc_ruleset_write(struct cc_jsonw *w, const struct cc_rules *rules)
{
	cc_jsonw_object(w);
	cc_jsonw_kint(w, "v", RULESET_VERSION);
	put_ktext(w, "session", rules->session_id);
	cc_jsonw_kbool(w, "reads", rules->reads_judged);
	cc_jsonw_kbool(w, "open", rules->network_open);
	cc_jsonw_key(w, "mounts");
	cc_jsonw_array(w);
	for (size_t i = 0; i < rules->mount_count; i++) {
		cc_jsonw_object(w);
		put_ktext(w, "path", rules->mounts[i].path);
		cc_jsonw_kstr(w, "mode", mount_modes[rules->mounts[i].mode]);
		cc_jsonw_end(w);
	}
	cc_jsonw_end(w);
	cc_jsonw_key(w, "rules");
	cc_jsonw_array(w);
	for (size_t i = 0; i < rules->rule_count; i++)
		put_rule(w, &rules->rules[i]);
	cc_jsonw_end(w);
	put_list(w, "sockets", &rules->sockets);
	cc_jsonw_key(w, "net");
	put_net(w, rules->net);
	cc_jsonw_end(w);
}

/* Reading: the first fault is kept in code and everything after it does nothing. */
struct taker {
	enum cc_code code;
	struct cc_err *err;
};

static void refuse(struct taker *t, const char *what)
{
	if (t->code == CC_OK)
		t->code = cc_fail(t->err, CC_EPROTO, 0, "rule set: %s", what);
}

static void no_memory(struct taker *t)
{
	if (t->code == CC_OK)
		t->code = cc_fail(t->err, CC_ELIMIT, 0, "rule set: out of memory");
}

static const struct cc_json *take(struct taker *t, const struct cc_json *object, const char *key)
{
	const struct cc_json *m = t->code == CC_OK ? cc_json_get(object, key) : NULL;

	if (!m)
		refuse(t, key);
	return m;
}

static void expect(struct taker *t, const struct cc_json *node, enum cc_json_kind kind, size_t fields)
{
	if (t->code == CC_OK && (!node || node->kind != kind || (fields && node->count != fields)))
		refuse(t, kind == CC_JSON_ARRAY ? "a list is expected" : "an object has fields too many or too few");
}

static bool take_bool(struct taker *t, const struct cc_json *object, const char *key)
{
	const struct cc_json *m = take(t, object, key);

	if (m && m->kind != CC_JSON_TRUE && m->kind != CC_JSON_FALSE)
		refuse(t, key);
	return m && m->kind == CC_JSON_TRUE;
}

static uint32_t take_uint(struct taker *t, const struct cc_json *object, const char *key, uint32_t max)
{
	const struct cc_json *m = take(t, object, key);

	if (!m || m->kind != CC_JSON_INT || m->integer < 0 || m->integer > max) {
		refuse(t, key);
		return 0;
	}
	return (uint32_t)m->integer;
}

static unsigned take_word(struct taker *t, const struct cc_json *object, const char *key, const char *const *words,
			  size_t count)
{
	const struct cc_json *m = take(t, object, key);

	for (size_t i = 0; m && m->kind == CC_JSON_STRING && i < count; i++)
		if (cc_view_is(m->text, words[i]))
			return (unsigned)i;
	refuse(t, key);
	return 0;
}

static int hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static char *from_hex(struct taker *t, const struct cc_json *node)
{
	const struct cc_json *hex = node->count == 1 ? cc_json_get(node, "hex") : NULL;
	char *text = NULL;

	if (!hex || hex->kind != CC_JSON_STRING || hex->text.len % 2) {
		refuse(t, "a string is expected");
		return NULL;
	}
	text = malloc(hex->text.len / 2 + 1);
	if (!text) {
		no_memory(t);
		return NULL;
	}
	for (size_t i = 0; i < hex->text.len; i += 2) {
		int high = hex_digit(hex->text.ptr[i]);
		int low = hex_digit(hex->text.ptr[i + 1]);

		if (high < 0 || low < 0 || (high == 0 && low == 0))
			refuse(t, "hex");
		text[i / 2] = (char)(high * 16 + low);
	}
	text[hex->text.len / 2] = '\0';
	return text;
}

static char *own_text(struct taker *t, const struct cc_json *node)
{
	char *text;

	if (!node || t->code != CC_OK)
		return NULL;
	if (node->kind == CC_JSON_OBJECT)
		return from_hex(t, node);
	if (node->kind != CC_JSON_STRING) {
		refuse(t, "a string is expected");
		return NULL;
	}
	text = cc_str_copy(node->text.ptr);
	if (!text)
		no_memory(t);
	return text;
}

static char *take_text(struct taker *t, const struct cc_json *object, const char *key)
{
	return own_text(t, take(t, object, key));
}

/* A text, or null. */
static char *take_optional(struct taker *t, const struct cc_json *object, const char *key)
{
	const struct cc_json *m = take(t, object, key);

	return m && m->kind != CC_JSON_NULL ? own_text(t, m) : NULL;
}

static void take_list(struct taker *t, const struct cc_json *object, const char *key, struct cc_strv *out)
{
	const struct cc_json *list = take(t, object, key);

	expect(t, list, CC_JSON_ARRAY, 0);
	for (const struct cc_json *m = list ? list->child : NULL; m && t->code == CC_OK; m = m->next) {
		CC_AUTO_FREE char *text = own_text(t, m);

		if (text)
			t->code = cc_strv_push(out, text, t->err);
	}
}

/* The array member key, and room for its elements in *out. */
static const struct cc_json *take_array(struct taker *t, const struct cc_json *object, const char *key, size_t size,
					void *out)
{
	const struct cc_json *list = take(t, object, key);
	void *room;

	expect(t, list, CC_JSON_ARRAY, 0);
	if (t->code != CC_OK || list->count == 0)
		return NULL;
	room = calloc(list->count, size);
	if (!room) {
		no_memory(t);
		return NULL;
	}
	memcpy(out, &room, sizeof(room));
	return list->child;
}

static void take_rule(struct taker *t, const struct cc_json *node, struct cc_rule *rule)
{
	expect(t, node, CC_JSON_OBJECT, 11);
	rule->kind = (enum cc_rule_kind)take_word(t, node, "kind", kinds, CC_COUNT(kinds));
	rule->effect = (enum cc_effect)take_word(t, node, "effect", effects, CC_COUNT(effects));
	rule->judge = (enum cc_judge)take_word(t, node, "judge", judges, CC_COUNT(judges));
	rule->verbs = take_uint(t, node, "verbs", CC_VERBS_ALL);
	rule->whole_path = take_bool(t, node, "whole");
	rule->leaf = take_bool(t, node, "leaf");
	rule->fixed = take_uint(t, node, "fixed", 64);
	rule->pattern = take_text(t, node, "pattern");
	rule->id = take_text(t, node, "id");
	rule->reason = take_text(t, node, "reason");
	rule->grant = take_optional(t, node, "grant");
}

static void take_net(struct taker *t, const struct cc_json *node, struct cc_net_rules *net)
{
	expect(t, node, CC_JSON_OBJECT, 14);
	net->enabled = take_bool(t, node, "enabled");
	take_list(t, node, "allow", &net->allow);
	take_list(t, node, "deny", &net->deny);
	take_list(t, node, "private_names", &net->private_names);
	take_list(t, node, "private_cidrs", &net->private_cidrs);
	take_list(t, node, "host_ports", &net->host_ports);
	take_list(t, node, "publish", &net->publish);
	take_list(t, node, "owner_ports", &net->owner_ports);
	net->conns_max = take_uint(t, node, "conns_max", CC_NET_CONNS_MAX);
	net->transparent = (enum cc_transparent)take_uint(t, node, "transparent", CC_TRANSPARENT_MUST);
	net->gateway = take_bool(t, node, "gateway");
	net->ech = take_bool(t, node, "ech");
	net->parent = take_optional(t, node, "parent");
	for (const struct cc_json *m = take_array(t, node, "hosts", sizeof(*net->hosts), &net->hosts);
	     m && t->code == CC_OK; m = m->next) {
		struct cc_static_host *host = &net->hosts[net->host_count++];

		expect(t, m, CC_JSON_OBJECT, 2);
		host->name = take_text(t, m, "name");
		take_list(t, m, "addresses", &host->addresses);
	}
}

static void take_all(struct taker *t, const struct cc_json *node, struct cc_rules *rules)
{
	expect(t, node, CC_JSON_OBJECT, 8);
	if (take_uint(t, node, "v", 1000) != RULESET_VERSION)
		refuse(t, "another version");
	rules->session_id = take_text(t, node, "session");
	rules->reads_judged = take_bool(t, node, "reads");
	rules->network_open = take_bool(t, node, "open");
	for (const struct cc_json *m = take_array(t, node, "mounts", sizeof(*rules->mounts), &rules->mounts);
	     m && t->code == CC_OK; m = m->next) {
		struct cc_mount *mount = &rules->mounts[rules->mount_count++];

		expect(t, m, CC_JSON_OBJECT, 2);
		mount->path = take_text(t, m, "path");
		mount->mode = (enum cc_mount_mode)take_word(t, m, "mode", mount_modes, CC_COUNT(mount_modes));
	}
	for (const struct cc_json *m = take_array(t, node, "rules", sizeof(*rules->rules), &rules->rules);
	     m && t->code == CC_OK; m = m->next)
		take_rule(t, m, &rules->rules[rules->rule_count++]);
	take_list(t, node, "sockets", &rules->sockets);
	rules->net = calloc(1, sizeof(*rules->net));
	if (rules->net)
		take_net(t, take(t, node, "net"), rules->net);
	else
		no_memory(t);
}

enum cc_code cc_ruleset_read(const struct cc_json *node, struct cc_rules **out_rules, struct cc_err *err)
{
	CC_AUTO(cc_rules) rules = calloc(1, sizeof(*rules));
	struct taker t = {.err = err};

	if (!rules)
		return cc_fail(err, CC_ELIMIT, 0, "out of memory");
	take_all(&t, node, rules);
	if (t.code == CC_OK)
		t.code = cc_rules_seal(rules, err);
	if (t.code == CC_OK)
		*out_rules = cc_rules_take(&rules);
	return t.code;
}
