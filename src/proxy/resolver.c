#include "proxy/resolver.h"

#include "proxy/dial.h"

#include <string.h>

enum { ENTRIES_MAX = 256 };

enum entry_state { ENTRY_QUEUED = 0, ENTRY_ASKED, ENTRY_KNOWN };

/* A name and what the resolver said. */
struct entry {
	struct cc_resolved said; /* first: it is handed out */
	struct entry *next;
	char name[256];
	uint64_t id;
	enum entry_state state;
	int64_t expires;
};

struct cc_resolver {
	struct cc_watch watch; /* answers of the lookup threads */
	struct cc_lookups *lookups;
	cc_resolver_told_fn *told;
	void *context;
	struct entry *entries;
	size_t entry_count;
	unsigned asked;
	uint64_t next_id;
	int64_t now;
};

/* Asks for queued names as long as the quota allows. */
static void ask_more(struct cc_resolver *resolver)
{
	for (struct entry *entry = resolver->entries; entry && resolver->asked < CC_RESOLVER_MAX; entry = entry->next) {
		if (entry->state != ENTRY_QUEUED)
			continue;
		if (cc_lookups_ask(resolver->lookups, entry->id, entry->name, NULL) != CC_OK)
			return;
		entry->state = ENTRY_ASKED;
		resolver->asked++;
	}
}

static void answered(struct cc_resolver *resolver, const struct cc_lookup_answer *answer)
{
	struct entry *entry = resolver->entries;

	resolver->asked--;
	while (entry && entry->id != answer->id)
		entry = entry->next;
	if (!entry)
		return;
	entry->state = ENTRY_KNOWN;
	entry->said = (struct cc_resolved){true, answer->outcome, answer->addrs};
	entry->expires =
		resolver->now + (answer->outcome == CC_LOOKUP_OK ? CC_RESOLVER_KEEP_MS : CC_RESOLVER_KEEP_FAILED_MS);
	resolver->told(resolver->context, &entry->said);
}

static void lookups_ready(struct cc_watch *watch, unsigned events)
{
	struct cc_resolver *resolver = (struct cc_resolver *)watch;
	struct cc_lookup_answer answer;

	(void)events;
	while (cc_lookups_take_answer(resolver->lookups, &answer))
		answered(resolver, &answer);
	ask_more(resolver);
}

static void drop(struct cc_resolver *resolver, struct entry **at)
{
	struct entry *entry = *at;

	*at = entry->next;
	free(entry);
	resolver->entry_count--;
}

/* Drops what is known and over, or, when full, whatever expires first. Names under way stay. */
static void forget(struct cc_resolver *resolver)
{
	struct entry **oldest = NULL;

	for (struct entry **at = &resolver->entries; *at;) {
		struct entry *entry = *at;

		if (entry->state == ENTRY_KNOWN && entry->expires <= resolver->now) {
			drop(resolver, at);
			continue;
		}
		if (entry->state == ENTRY_KNOWN && (!oldest || entry->expires < (*oldest)->expires))
			oldest = at;
		at = &entry->next;
	}
	if (resolver->entry_count >= ENTRIES_MAX && oldest)
		drop(resolver, oldest);
}

static struct entry *find(struct cc_resolver *resolver, const char *name)
{
	struct entry *entry;

	for (entry = resolver->entries; entry; entry = entry->next)
		if (strcmp(entry->name, name) == 0 && (entry->state != ENTRY_KNOWN || entry->expires > resolver->now))
			return entry;
	forget(resolver);
	if (resolver->entry_count >= ENTRIES_MAX)
		return NULL;
	entry = calloc(1, sizeof(*entry));
	if (!entry)
		return NULL;
	memcpy(entry->name, name, strlen(name) + 1);
	entry->id = ++resolver->next_id;
	entry->next = resolver->entries;
	resolver->entries = entry;
	resolver->entry_count++;
	return entry;
}

void cc_resolver_now(struct cc_resolver *resolver, int64_t now)
{
	resolver->now = now;
}

const struct cc_resolved *cc_resolver_ask(struct cc_resolver *resolver, const char *name, int64_t now)
{
	struct entry *entry;

	resolver->now = now;
	entry = find(resolver, name);
	if (!entry)
		return NULL;
	if (entry->state == ENTRY_QUEUED)
		ask_more(resolver);
	return &entry->said;
}

enum cc_code cc_resolver_new(struct cc_loop *loop, unsigned threads, cc_lookup_fn *fn, void *fn_context,
			     cc_resolver_told_fn *told, void *context, struct cc_resolver **out_resolver,
			     struct cc_err *err)
{
	CC_AUTO(cc_resolver) resolver = calloc(1, sizeof(*resolver));
	enum cc_code code;

	if (!resolver)
		return cc_fail(err, CC_ELIMIT, 0, "out of memory");
	*resolver = (struct cc_resolver){.watch = {lookups_ready}, .told = told, .context = context};
	code = cc_lookups_new(threads, fn, fn_context, &resolver->lookups, err);
	if (code == CC_OK)
		code = cc_loop_add(loop, cc_lookups_fd(resolver->lookups), CC_LOOP_READ, &resolver->watch, err);
	if (code == CC_OK)
		*out_resolver = cc_resolver_take(&resolver);
	return code;
}

void cc_resolver_free(struct cc_resolver *resolver)
{
	if (!resolver)
		return;
	while (resolver->entries)
		drop(resolver, &resolver->entries);
	cc_lookups_free(resolver->lookups);
	free(resolver);
}

/* The pure half of dial.h: which of the addresses found may be dialled, and in which order. */

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
