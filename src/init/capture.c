#define _GNU_SOURCE
#include "init/capture.h"

#include "os/fd.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netfilter.h>
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MESSAGE_MAX = 4096, MANGLE = -150, DEST_AT = 16 /* of an IPv4 head */, LOOPBACK_NET = 127, TCP = 6 };

/* Netlink messages one behind the other; attributes nest by offset. */
struct batch {
	char bytes[MESSAGE_MAX];
	size_t len;
	size_t message; /* where the present one starts */
	uint32_t seq;
};

static void *add(struct batch *batch, const void *bytes, size_t len)
{
	void *at = batch->bytes + batch->len;

	/* Everything here is of a size that we chose; the buffer is many times larger. */
	memset(at, 0, NLMSG_ALIGN(len));
	if (bytes)
		memcpy(at, bytes, len);
	batch->len += NLMSG_ALIGN(len);
	return at;
}

static void begin(struct batch *batch, uint16_t type, uint16_t flags, const void *head, size_t len)
{
	struct nlmsghdr message = {.nlmsg_type = type, .nlmsg_flags = NLM_F_REQUEST | flags, .nlmsg_seq = ++batch->seq};

	batch->message = batch->len;
	add(batch, &message, sizeof(message));
	add(batch, head, len);
}

static void end(struct batch *batch)
{
	uint32_t len = (uint32_t)(batch->len - batch->message);

	memcpy(batch->bytes + batch->message, &len, sizeof(len));
}

static size_t nest(struct batch *batch, uint16_t type)
{
	struct nlattr head = {.nla_type = type | NLA_F_NESTED};
	size_t at = batch->len;

	add(batch, &head, sizeof(head));
	return at;
}

static void unnest(struct batch *batch, size_t at)
{
	uint16_t len = (uint16_t)(batch->len - at);

	memcpy(batch->bytes + at, &len, sizeof(len));
}

static void attr(struct batch *batch, uint16_t type, const void *value, size_t len)
{
	struct nlattr head = {.nla_len = (uint16_t)(sizeof(head) + len), .nla_type = type};

	add(batch, &head, sizeof(head));
	add(batch, value, len);
}

static void attr_text(struct batch *batch, uint16_t type, const char *text)
{
	attr(batch, type, text, strlen(text) + 1);
}

static void attr_be32(struct batch *batch, uint16_t type, uint32_t value)
{
	value = htonl(value);
	attr(batch, type, &value, sizeof(value));
}

/* Sends, and hears every answer that was asked for; the first refusal is the result. */
static enum cc_code exchange(int protocol, const struct batch *batch, unsigned answers, const char *what,
			     struct cc_err *err)
{
	CC_AUTO_FD fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol);
	_Alignas(struct nlmsghdr) char reply[MESSAGE_MAX * 4];

	if (fd < 0)
		return cc_fail(err, CC_ESYS, errno, "%s: netlink", what);
	if (send(fd, batch->bytes, batch->len, 0) != (ssize_t)batch->len)
		return cc_fail(err, CC_ESYS, errno, "%s", what);
	while (answers) {
		ssize_t got = recv(fd, reply, sizeof(reply), 0);
		struct nlmsghdr *at = (struct nlmsghdr *)(void *)reply;

		if (got <= 0)
			return cc_fail(err, CC_ESYS, errno, "%s", what);
		for (unsigned left = (unsigned)got; NLMSG_OK(at, left); at = NLMSG_NEXT(at, left)) {
			const struct nlmsgerr *said = NLMSG_DATA(at);

			if (at->nlmsg_type != NLMSG_ERROR)
				continue;
			if (said->error)
				return cc_fail(err, CC_ESYS, -said->error, "%s", what);
			answers -= answers > 0;
		}
	}
	return CC_OK;
}

/* Packets for addr/bits are for this host: `ip route add local ADDR/BITS dev lo`. */
static enum cc_code add_route(const uint8_t addr[4], uint8_t bits, struct cc_err *err)
{
	struct rtmsg route = {.rtm_family = AF_INET,
			      .rtm_dst_len = bits,
			      .rtm_table = RT_TABLE_LOCAL,
			      .rtm_protocol = RTPROT_STATIC,
			      .rtm_scope = RT_SCOPE_HOST,
			      .rtm_type = RTN_LOCAL};
	struct batch batch = {.len = 0};
	uint32_t index = if_nametoindex("lo");

	begin(&batch, RTM_NEWROUTE, NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE, &route, sizeof(route));
	attr(&batch, RTA_DST, addr, 4);
	attr(&batch, RTA_OIF, &index, sizeof(index));
	end(&batch);
	return exchange(NETLINK_ROUTE, &batch, 1, "a local route", err);
}

/* An address that an entry allows as a literal is dialled without a name: it has to come here too. */
static enum cc_code route_literal(const char *entry, struct cc_err *err)
{
	struct cc_view view = cc_view_of(entry);
	const char *colon = strchr(entry, ':');
	uint8_t addr[4];

	if (colon)
		view.len = (size_t)(colon - entry);
	if (!cc_addr_read_v4(view, addr) || addr[0] == LOOPBACK_NET || addr[0] == 0)
		return CC_OK;
	return add_route(addr, 32, err);
}

enum cc_code cc_capture_routes(const struct cc_net_rules *net, struct cc_err *err)
{
	static const uint8_t range[4] = {CC_CAPTURE_NET_0, CC_CAPTURE_NET_1, 0, 0};
	enum cc_code code = add_route(range, CC_CAPTURE_BITS, err);

	for (size_t i = 0; code == CC_OK && i < net->allow.count; i++)
		code = route_literal(net->allow.items[i], err);
	return code;
}

/* ---- the rule, as the kernel's own small program: expressions that load, compare and act */

static size_t begin_expr(struct batch *batch, const char *name, size_t *out_data)
{
	size_t at = nest(batch, NFTA_LIST_ELEM);

	attr_text(batch, NFTA_EXPR_NAME, name);
	*out_data = nest(batch, NFTA_EXPR_DATA);
	return at;
}

static void end_expr(struct batch *batch, size_t at, size_t data)
{
	unnest(batch, data);
	unnest(batch, at);
}

static void attr_data(struct batch *batch, uint16_t type, const void *value, size_t len)
{
	size_t at = nest(batch, type);

	attr(batch, NFTA_DATA_VALUE, value, len);
	unnest(batch, at);
}

static void compare(struct batch *batch, uint32_t op, uint8_t value)
{
	size_t data;
	size_t at = begin_expr(batch, "cmp", &data);

	attr_be32(batch, NFTA_CMP_SREG, NFT_REG_1);
	attr_be32(batch, NFTA_CMP_OP, op);
	attr_data(batch, NFTA_CMP_DATA, &value, sizeof(value));
	end_expr(batch, at, data);
}

static void immediate(struct batch *batch, uint32_t reg, const void *value, size_t len)
{
	size_t data;
	size_t at = begin_expr(batch, "immediate", &data);

	attr_be32(batch, NFTA_IMMEDIATE_DREG, reg);
	attr_data(batch, NFTA_IMMEDIATE_DATA, value, len);
	end_expr(batch, at, data);
}

/* TCP, and not to 127/8: to the listener on 127.0.0.1:port */
static void add_expressions(struct batch *batch, uint16_t port)
{
	const uint8_t listener[4] = {127, 0, 0, 1};
	const uint16_t port_be = htons(port);
	size_t data;
	size_t at = begin_expr(batch, "meta", &data);

	attr_be32(batch, NFTA_META_DREG, NFT_REG_1);
	attr_be32(batch, NFTA_META_KEY, NFT_META_L4PROTO);
	end_expr(batch, at, data);
	compare(batch, NFT_CMP_EQ, TCP);
	at = begin_expr(batch, "payload", &data);
	attr_be32(batch, NFTA_PAYLOAD_DREG, NFT_REG_1);
	attr_be32(batch, NFTA_PAYLOAD_BASE, NFT_PAYLOAD_NETWORK_HEADER);
	attr_be32(batch, NFTA_PAYLOAD_OFFSET, DEST_AT);
	attr_be32(batch, NFTA_PAYLOAD_LEN, 1);
	end_expr(batch, at, data);
	compare(batch, NFT_CMP_NEQ, LOOPBACK_NET);
	immediate(batch, NFT_REG_1, listener, sizeof(listener));
	immediate(batch, NFT_REG_2, &port_be, sizeof(port_be));
	at = begin_expr(batch, "tproxy", &data);
	attr_be32(batch, NFTA_TPROXY_FAMILY, NFPROTO_IPV4);
	attr_be32(batch, NFTA_TPROXY_REG_ADDR, NFT_REG_1);
	attr_be32(batch, NFTA_TPROXY_REG_PORT, NFT_REG_2);
	end_expr(batch, at, data);
}

static void begin_nft(struct batch *batch, uint16_t type, uint16_t flags)
{
	struct nfgenmsg head = {.nfgen_family = NFPROTO_IPV4, .version = NFNETLINK_V0};

	begin(batch, (uint16_t)(NFNL_SUBSYS_NFTABLES << 8 | type), (uint16_t)(NLM_F_CREATE | NLM_F_ACK | flags), &head,
	      sizeof(head));
}

static void border(struct batch *batch, uint16_t type)
{
	struct nfgenmsg head = {
		.nfgen_family = AF_UNSPEC, .version = NFNETLINK_V0, .res_id = htons(NFNL_SUBSYS_NFTABLES)};

	begin(batch, type, 0, &head, sizeof(head));
	end(batch);
}

enum cc_code cc_capture_rule(uint16_t port, struct cc_err *err)
{
	static const char table[] = "ccbox";
	static const char chain[] = "capture";
	struct batch batch = {.len = 0};
	size_t at;

	border(&batch, NFNL_MSG_BATCH_BEGIN);
	begin_nft(&batch, NFT_MSG_NEWTABLE, 0);
	attr_text(&batch, NFTA_TABLE_NAME, table);
	end(&batch);
	begin_nft(&batch, NFT_MSG_NEWCHAIN, 0);
	attr_text(&batch, NFTA_CHAIN_TABLE, table);
	attr_text(&batch, NFTA_CHAIN_NAME, chain);
	at = nest(&batch, NFTA_CHAIN_HOOK);
	attr_be32(&batch, NFTA_HOOK_HOOKNUM, NF_INET_PRE_ROUTING);
	attr_be32(&batch, NFTA_HOOK_PRIORITY, (uint32_t)MANGLE);
	unnest(&batch, at);
	attr_text(&batch, NFTA_CHAIN_TYPE, "filter");
	end(&batch);
	begin_nft(&batch, NFT_MSG_NEWRULE, NLM_F_APPEND);
	attr_text(&batch, NFTA_RULE_TABLE, table);
	attr_text(&batch, NFTA_RULE_CHAIN, chain);
	at = nest(&batch, NFTA_RULE_EXPRESSIONS);
	add_expressions(&batch, port);
	unnest(&batch, at);
	end(&batch);
	border(&batch, NFNL_MSG_BATCH_END);
	return exchange(NETLINK_NETFILTER, &batch, 3, "the capture rule (nf_tables, tproxy)", err);
}
