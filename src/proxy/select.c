/* select.c - the pure half of dial.h: which of the addresses found may be dialled, and in which order. */
#include "proxy/dial.h"

#include <string.h>

/* The operator wrote this very address down, for this name or as a literal entry; a range is not that exact. */
static bool is_consented(const struct cc_net_rules *rules, const struct cc_host *host, uint16_t port,
			 const struct cc_addr *addr)
{
	struct cc_host literal;
	struct cc_net_decision decision;

	if (cc_net_static(rules, host))
		return true;
	cc_host_from_addr(addr->bytes, addr->len, &literal);
	decision = cc_net_decide(rules, &literal, port);
	return decision.allowed && decision.entry && !strchr(decision.entry, '/');
}

/* RFC 8305 section 4: the resolver's order, the families taking turns. */
static void interleave(const struct cc_addrs *in, struct cc_addrs *out)
{
	bool used[CC_ADDRS_MAX] = {false};
	uint8_t want = in->count ? in->list[0].len : 4;

	out->count = 0;
	while (out->count < in->count) {
		size_t pick = in->count;

		for (size_t i = 0; i < in->count && pick == in->count; i++)
			if (!used[i] && in->list[i].len == want)
				pick = i;
		want = want == 4 ? 16 : 4;
		if (pick == in->count)
			continue;
		used[pick] = true;
		out->list[out->count++] = in->list[pick];
	}
}

void cc_dial_select(const struct cc_net_rules *rules, const struct cc_host *host, uint16_t port,
		    const struct cc_addrs *found, cc_dial_own_fn *own, void *context, struct cc_addrs *out,
		    struct cc_dial_result *first_refused)
{
	struct cc_addrs kept = {0};
	bool any_refused = false;

	for (size_t i = 0; i < found->count; i++) {
		const struct cc_addr *addr = &found->list[i];
		struct cc_net_decision decision = cc_net_decide_addr(rules, host, port, addr->bytes, addr->len);

		bool consented = decision.allowed && own && is_consented(rules, host, port, addr);
		bool ours = decision.allowed && own && own(context, addr, port, consented);

		if (ours)
			decision = (struct cc_net_decision){false, CC_NET_ADDRESS, NULL};
		if (decision.allowed) {
			kept.list[kept.count++] = *addr;
		} else if (!any_refused) {
			any_refused = true;
			first_refused->addr = *addr;
			first_refused->own = ours && consented;
			first_refused->decision = decision;
		}
	}
	interleave(&kept, out);
}
