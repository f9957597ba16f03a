/* net.c - two questions, in this order: may this name be reached (before anything is resolved), and may this address,
 * which the resolver gave for it, be dialled. */
#include "policy/net.h"

#include <stdint.h>
#include <string.h>

enum { CIDRS_MAX = 4096, STATIC_MAX = 65536 };

struct cidr {
	uint8_t addr[16];
	unsigned bits;
	size_t len; /* 4 or 16 */
	const char *written;
};

struct static_slot {
	char name[256];
	const struct cc_static_host *host;
};

struct cc_net_index {
	struct cc_hosts *allow;
	struct cc_hosts *deny;
	struct cc_hosts *private_names;
	struct cidr *cidrs;
	size_t cidr_count;
	struct static_slot *statics; /* sorted by name */
	size_t static_count;
	struct cc_static_host localhost;
	uint16_t owner_ports[CC_NET_PORTS_MAX];
	size_t owner_port_count;
	bool has_parent;
	struct cc_net_parent parent;
};

static void index_free(struct cc_net_index *index)
{
	if (!index)
		return;
	cc_hosts_free(index->allow);
	cc_hosts_free(index->deny);
	cc_hosts_free(index->private_names);
	free(index->cidrs);
	free(index->statics);
	free(index->localhost.name);
	cc_strv_done(&index->localhost.addresses);
	free(index);
}

static void index_drop(struct cc_net_index **index)
{
	index_free(*index);
}

/* Bits behind the prefix must be zero: "192.168.1.5/24" is more likely a slip than a wish. */
static bool host_bits_clear(const struct cidr *cidr)
{
	for (size_t bit = cidr->bits; bit < cidr->len * 8; bit++)
		if (cidr->addr[bit / 8] & (0x80u >> (bit % 8)))
			return false;
	return true;
}

static enum cc_code parse_cidr(const char *text, struct cidr *out, struct cc_err *err)
{
	struct cc_view view = cc_view_of(text);
	const char *slash = strchr(text, '/');
	unsigned bits = 0;
	struct cc_host host;

	if (slash)
		view.len = (size_t)(slash - text);
	if (cc_host_parse(view, CC_HOST_SOCKS, &host, err) != CC_OK || host.kind == CC_HOST_NAME)
		return cc_fail(err, CC_EINVAL, 0, "private range \"%.100s\" does not start with an address", text);
	out->len = host.kind == CC_HOST_V4 ? 4 : 16;
	out->bits = (unsigned)out->len * 8;
	out->written = text;
	memcpy(out->addr, host.addr, sizeof(out->addr));
	if (!slash)
		return CC_OK;
	for (const char *at = slash + 1; *at; at++) {
		if (*at < '0' || *at > '9' || at - slash > 3)
			return cc_fail(err, CC_EINVAL, 0, "private range \"%.100s\": bad prefix length", text);
		bits = bits * 10 + (unsigned)(*at - '0');
	}
	if (slash[1] == '\0' || (slash[1] == '0' && slash[2]) || bits == 0 || bits > out->bits)
		return cc_fail(err, CC_EINVAL, 0, "private range \"%.100s\": bad prefix length", text);
	out->bits = bits;
	if (!host_bits_clear(out))
		return cc_fail(err, CC_EINVAL, 0, "private range \"%.100s\" has bits set behind its prefix", text);
	return CC_OK;
}

static enum cc_code seal_cidrs(struct cc_net_index *index, const struct cc_strv *list, struct cc_err *err)
{
	if (list->count > CIDRS_MAX)
		return cc_fail(err, CC_ELIMIT, 0, "%zu private ranges", list->count);
	index->cidrs = calloc(list->count + 1, sizeof(*index->cidrs));
	if (!index->cidrs)
		return cc_fail(err, CC_ELIMIT, 0, "out of memory");
	for (; index->cidr_count < list->count; index->cidr_count++) {
		enum cc_code code = parse_cidr(list->items[index->cidr_count], &index->cidrs[index->cidr_count], err);

		if (code != CC_OK)
			return code;
	}
	return CC_OK;
}

static int by_name(const void *left, const void *right)
{
	return strcmp(((const struct static_slot *)left)->name, ((const struct static_slot *)right)->name);
}

static enum cc_code seal_static(const struct cc_static_host *entry, struct static_slot *out, struct cc_err *err)
{
	struct cc_host host;
	struct cc_err why = {0};

	if (cc_host_parse(cc_view_of(entry->name), CC_HOST_URI, &host, &why) != CC_OK || host.kind != CC_HOST_NAME)
		return cc_fail(err, CC_EINVAL, 0, "network.hosts: \"%.200s\" is not a host name", entry->name);
	if (entry->addresses.count == 0)
		return cc_fail(err, CC_EINVAL, 0, "network.hosts: \"%.200s\" has no address", entry->name);
	memcpy(out->name, host.text, sizeof(out->name));
	out->host = entry;
	for (size_t i = 0; i < entry->addresses.count; i++) {
		const char *text = entry->addresses.items[i];

		if (cc_host_parse(cc_view_of(text), CC_HOST_SOCKS, &host, &why) != CC_OK || host.kind == CC_HOST_NAME)
			return cc_fail(err, CC_EINVAL, 0, "network.hosts: \"%.100s\" of \"%.100s\" is not an address",
				       text, entry->name);
	}
	return CC_OK;
}

static enum cc_code seal_statics(struct cc_net_index *index, const struct cc_net_rules *net, struct cc_err *err)
{
	if (net->host_count > STATIC_MAX)
		return cc_fail(err, CC_ELIMIT, 0, "%zu static hosts", net->host_count);
	index->statics = calloc(net->host_count + 1, sizeof(*index->statics));
	if (!index->statics)
		return cc_fail(err, CC_ELIMIT, 0, "out of memory");
	for (size_t i = 0; i < net->host_count; i++) {
		enum cc_code code = seal_static(&net->hosts[i], &index->statics[i], err);

		if (code != CC_OK)
			return code;
	}
	index->static_count = net->host_count;
	qsort(index->statics, index->static_count, sizeof(*index->statics), by_name);
	for (size_t i = 1; i < index->static_count; i++)
		if (by_name(&index->statics[i - 1], &index->statics[i]) == 0)
			return cc_fail(err, CC_EINVAL, 0, "network.hosts: \"%.200s\" is written twice",
				       index->statics[i].name);
	return CC_OK;
}

/* The name needs no resolver (RFC 6761). */
static enum cc_code seal_localhost(struct cc_net_index *index, struct cc_err *err)
{
	enum cc_code code = cc_strv_push(&index->localhost.addresses, "127.0.0.1", err);

	if (code == CC_OK)
		code = cc_strv_push(&index->localhost.addresses, "::1", err);
	index->localhost.name = cc_str_copy("localhost");
	if (code == CC_OK && !index->localhost.name)
		code = cc_fail(err, CC_ELIMIT, 0, "out of memory");
	return code;
}

static enum cc_code check_ports(const char *what, const struct cc_strv *list, uint16_t *out, struct cc_err *err)
{
	if (list->count > CC_NET_PORTS_MAX)
		return cc_fail(err, CC_ELIMIT, 0, "%s: at most %d ports", what, CC_NET_PORTS_MAX);
	for (size_t i = 0; i < list->count; i++) {
		uint16_t port = cc_host_port(cc_view_of(list->items[i]));

		if (port == 0)
			return cc_fail(err, CC_EINVAL, 0, "%s: \"%.60s\" is no port from 1 to 65535", what,
				       list->items[i]);
		if (out)
			out[i] = port;
	}
	return CC_OK;
}

/* Behind a published one anybody on this host would use the session's proxies; the other way round they would not be
 * there for the session. */
static enum cc_code refuse_own_ports(const char *flag, const struct cc_strv *list, struct cc_err *err)
{
	for (size_t i = 0; i < list->count; i++)
		if (cc_host_is_own_port(cc_host_port(cc_view_of(list->items[i]))))
			return cc_fail(err, CC_EPOLICY, 0,
				       "%s %s: the session's own proxies listen there inside (ports %d, %d, %d): "
				       "use another port",
				       flag, list->items[i], CC_PORT_HTTP, CC_PORT_SOCKS, CC_PORT_CATCH);
	return CC_OK;
}

static enum cc_code seal_ports(struct cc_net_index *index, const struct cc_net_rules *net, struct cc_err *err)
{
	enum cc_code code = check_ports("host port", &net->host_ports, NULL, err);

	if (code == CC_OK)
		code = check_ports("publish", &net->publish, NULL, err);
	if (code == CC_OK)
		code = refuse_own_ports("--publish", &net->publish, err);
	if (code == CC_OK)
		code = refuse_own_ports("--host-port", &net->host_ports, err);
	if (code == CC_OK)
		code = check_ports("owner port", &net->owner_ports, index->owner_ports, err);
	index->owner_port_count = net->owner_ports.count;
	for (size_t i = 0; code == CC_OK && i < net->host_ports.count; i++)
		if (cc_strv_has(&net->owner_ports, net->host_ports.items[i]))
			code = cc_fail(err, CC_EPOLICY, 0, "host port %s belongs to ccbox itself",
				       net->host_ports.items[i]);
	return code;
}

/* [USER:PASSWORD@]HOST:PORT, with or without http:// before and a slash behind */
static enum cc_code seal_parent(struct cc_net_index *index, const char *text, struct cc_err *err)
{
	struct cc_net_parent *parent = &index->parent;
	struct cc_view view = cc_view_of(text ? text : "");
	const char *at;
	size_t colon;

	if (!text)
		return CC_OK;
	if (view.len > 7 && memcmp(view.ptr, "http://", 7) == 0)
		view = (struct cc_view){view.ptr + 7, view.len - 7};
	if (view.len && view.ptr[view.len - 1] == '/')
		view.len--;
	at = memchr(view.ptr, '@', view.len);
	if (at) {
		parent->login = (struct cc_view){view.ptr, (size_t)(at - view.ptr)};
		view = (struct cc_view){at + 1, view.len - parent->login.len - 1};
	}
	for (colon = view.len; colon > 0 && view.ptr[colon - 1] != ':'; colon--)
		;
	parent->port = colon ? cc_host_port((struct cc_view){view.ptr + colon, view.len - colon}) : 0;
	if (parent->port == 0 || parent->login.len > 200 ||
	    cc_host_parse((struct cc_view){view.ptr, colon - 1}, CC_HOST_URI, &parent->host, NULL) != CC_OK)
		return cc_fail(err, CC_EINVAL, 0, "the parent proxy is written http://HOST:PORT");
	index->has_parent = true;
	return CC_OK;
}

enum cc_code cc_net_seal(struct cc_net_rules *net, struct cc_err *err)
{
	__attribute__((cleanup(index_drop))) struct cc_net_index *index = calloc(1, sizeof(*index));
	enum cc_code code;

	if (!index)
		return cc_fail(err, CC_ELIMIT, 0, "out of memory");
	code = cc_hosts_compile(&net->allow, &index->allow, err);
	if (code == CC_OK)
		code = cc_hosts_compile(&net->deny, &index->deny, err);
	if (code == CC_OK)
		code = cc_hosts_compile(&net->private_names, &index->private_names, err);
	if (code == CC_OK)
		code = seal_cidrs(index, &net->private_cidrs, err);
	if (code == CC_OK)
		code = seal_statics(index, net, err);
	if (code == CC_OK)
		code = seal_localhost(index, err);
	if (code == CC_OK)
		code = seal_ports(index, net, err);
	if (code == CC_OK)
		code = seal_parent(index, net->parent, err);
	if (code == CC_OK && net->conns_max > CC_NET_CONNS_MAX)
		code = cc_fail(err, CC_ELIMIT, 0, "at most %d connections", CC_NET_CONNS_MAX);
	if (code != CC_OK)
		return code;
	index_free(net->index);
	net->index = index;
	index = NULL;
	return CC_OK;
}

void cc_net_rules_free(struct cc_net_rules *net)
{
	if (!net)
		return;
	cc_strv_done(&net->allow);
	cc_strv_done(&net->deny);
	cc_strv_done(&net->private_names);
	cc_strv_done(&net->private_cidrs);
	cc_static_hosts_free(net->hosts, net->host_count);
	cc_strv_done(&net->host_ports);
	cc_strv_done(&net->publish);
	cc_strv_done(&net->owner_ports);
	free(net->parent);
	index_free(net->index);
	free(net);
}

const char *cc_net_reason_name(enum cc_net_reason reason)
{
	static const char *const names[] = {
		[CC_NET_OFF] = "network-off", [CC_NET_ALLOWED] = "allowed", [CC_NET_NOT_ALLOWED] = "not-allowed",
		[CC_NET_DENIED] = "denied",   [CC_NET_ADDRESS] = "address", [CC_NET_MALFORMED] = "malformed",
		[CC_NET_SNI] = "sni",         [CC_NET_LIMIT] = "limit",
	};

	return (size_t)reason < CC_COUNT(names) ? names[reason] : "denied";
}

static struct cc_net_decision refuse(enum cc_net_reason reason, const char *entry)
{
	return (struct cc_net_decision){false, reason, entry};
}

static struct cc_net_decision allow(const char *entry)
{
	return (struct cc_net_decision){true, CC_NET_ALLOWED, entry};
}

static size_t host_len(const struct cc_host *host)
{
	return host->kind == CC_HOST_V4 ? 4 : host->kind == CC_HOST_V6 ? 16 : 0;
}

/* The deny entry that names the host, or the v4 address inside a v6 one. Port 0: one for every port. */
static const char *match_deny(const struct cc_hosts *deny, const struct cc_host *host, uint16_t port)
{
	const char *entry = cc_hosts_match(deny, host, port);
	const uint8_t *inner = entry ? NULL : cc_addr_embedded(host->addr, host_len(host));
	struct cc_host embedded;

	if (!inner)
		return entry;
	cc_host_from_addr(inner, 4, &embedded);
	return cc_hosts_match(deny, &embedded, port);
}

/* A range is consent for private and local addresses; an address that hands out credentials, or that no host can have,
 * must be written out in full. */
static const char *match_cidr(const struct cc_net_index *index, const uint8_t *addr, size_t len)
{
	enum cc_addr_class klass = cc_addr_classify(addr, len);
	bool whole = klass == CC_ADDR_METADATA || klass == CC_ADDR_LINK_LOCAL || klass == CC_ADDR_REFUSED;

	for (size_t i = 0; i < index->cidr_count; i++) {
		const struct cidr *cidr = &index->cidrs[i];

		if (cidr->len == len && (!whole || cidr->bits == len * 8) && cc_addr_in(addr, cidr->addr, cidr->bits))
			return cidr->written;
	}
	return NULL;
}

struct cc_net_decision cc_net_decide(const struct cc_net_rules *net, const struct cc_host *host, uint16_t port)
{
	const struct cc_net_index *index = net ? net->index : NULL;
	const char *entry;

	if (!index || !net->enabled)
		return refuse(CC_NET_OFF, NULL);
	if (host->kind == CC_HOST_BAD || port == 0)
		return refuse(CC_NET_MALFORMED, NULL);
	if (cc_net_is_gateway(host)) /* never a pattern's business */
		return net->gateway ? allow(CC_NET_GATEWAY) : refuse(CC_NET_NOT_ALLOWED, NULL);
	entry = match_deny(index->deny, host, port);
	if (entry)
		return refuse(CC_NET_DENIED, entry);
	entry = cc_hosts_match(index->allow, host, port);
	if (!entry && host->kind != CC_HOST_NAME)
		entry = match_cidr(index, host->addr, host_len(host));
	return entry ? allow(entry) : refuse(CC_NET_NOT_ALLOWED, NULL);
}

struct cc_net_decision cc_net_decide_name(const struct cc_net_rules *net, const struct cc_host *host)
{
	const struct cc_net_index *index = net ? net->index : NULL;
	const char *entry;

	if (!index || !net->enabled)
		return refuse(CC_NET_OFF, NULL);
	if (host->kind == CC_HOST_BAD)
		return refuse(CC_NET_MALFORMED, NULL);
	if (cc_net_is_gateway(host))
		return net->gateway ? allow(CC_NET_GATEWAY) : refuse(CC_NET_NOT_ALLOWED, NULL);
	entry = match_deny(index->deny, host, 0);
	if (entry)
		return refuse(CC_NET_DENIED, entry);
	entry = cc_hosts_match_some(index->allow, host);
	if (!entry && host->kind != CC_HOST_NAME)
		entry = match_cidr(index, host->addr, host_len(host));
	return entry ? allow(entry) : refuse(CC_NET_NOT_ALLOWED, NULL);
}

struct cc_net_decision cc_net_decide_port(const struct cc_net_rules *net, const struct cc_strv *ports, uint16_t port)
{
	if (!net || !net->index || !net->enabled)
		return refuse(CC_NET_OFF, NULL);
	if (cc_net_is_owner_port(net, port))
		return refuse(CC_NET_DENIED, NULL);
	for (size_t i = 0; i < ports->count; i++)
		if (port && cc_host_port(cc_view_of(ports->items[i])) == port)
			return allow(ports->items[i]);
	return refuse(CC_NET_NOT_ALLOWED, NULL);
}

bool cc_net_is_gateway(const struct cc_host *host)
{
	return host->kind == CC_HOST_NAME && strcmp(host->text, CC_NET_GATEWAY) == 0;
}

bool cc_net_is_owner_port(const struct cc_net_rules *net, uint16_t port)
{
	const struct cc_net_index *index = net ? net->index : NULL;

	for (size_t i = 0; index && i < index->owner_port_count; i++)
		if (index->owner_ports[i] == port)
			return true;
	return false;
}

const struct cc_net_parent *cc_net_parent(const struct cc_net_rules *net)
{
	return net && net->index && net->index->has_parent ? &net->index->parent : NULL;
}

static bool is_localhost(const struct cc_host *host)
{
	return strcmp(host->text, "localhost") == 0 || cc_view_ends(cc_view_of(host->text), ".localhost");
}

const struct cc_static_host *cc_net_static(const struct cc_net_rules *net, const struct cc_host *host)
{
	const struct cc_net_index *index = net ? net->index : NULL;
	size_t low = 0;
	size_t high = index ? index->static_count : 0;

	if (!index || host->kind != CC_HOST_NAME)
		return NULL;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = strcmp(host->text, index->statics[middle].name);

		if (order == 0)
			return index->statics[middle].host;
		if (order < 0)
			high = middle;
		else
			low = middle + 1;
	}
	return is_localhost(host) ? &index->localhost : NULL;
}

static bool lists_address(const struct cc_static_host *entry, const struct cc_host *addr)
{
	struct cc_host written;

	for (size_t i = 0; i < entry->addresses.count; i++)
		if (cc_host_parse(cc_view_of(entry->addresses.items[i]), CC_HOST_SOCKS, &written, NULL) == CC_OK &&
		    strcmp(written.text, addr->text) == 0)
			return true;
	return false;
}

struct cc_net_decision cc_net_decide_addr(const struct cc_net_rules *net, const struct cc_host *host, uint16_t port,
					  const uint8_t *addr, size_t len)
{
	const struct cc_net_index *index = net ? net->index : NULL;
	const struct cc_static_host *given;
	enum cc_addr_class klass = cc_addr_classify(addr, len);
	struct cc_host literal;
	const char *entry;

	if (!index || !net->enabled)
		return refuse(CC_NET_OFF, NULL);
	cc_host_from_addr(addr, len, &literal);
	if (literal.kind == CC_HOST_BAD)
		return refuse(CC_NET_MALFORMED, NULL);
	entry = match_deny(index->deny, &literal, port);
	if (entry)
		return refuse(CC_NET_DENIED, entry);
	if (host->kind != CC_HOST_NAME) /* a literal: cc_net_decide was the whole decision, for that very address */
		return strcmp(host->text, literal.text) == 0 ? allow(NULL) : refuse(CC_NET_ADDRESS, NULL);
	given = cc_net_static(net, host);
	if (given)
		return lists_address(given, &literal) ? allow(given->name) : refuse(CC_NET_ADDRESS, given->name);
	if (klass == CC_ADDR_PUBLIC)
		return allow(NULL);
	entry = klass == CC_ADDR_REFUSED ? NULL : cc_hosts_match(index->allow, &literal, port);
	if (!entry)
		entry = match_cidr(index, literal.addr, host_len(&literal));
	if (!entry && klass == CC_ADDR_PRIVATE)
		entry = cc_hosts_match(index->private_names, host, port);
	return entry ? allow(entry) : refuse(CC_NET_ADDRESS, NULL);
}
