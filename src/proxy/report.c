#define _GNU_SOURCE
#include "proxy/report.h"

#include "proxy/outbox.h"
#include "wire/json.h"
#include "wire/msg.h"

#include <stdio.h>
#include <string.h>

/* Denials of ever new names: so many at once, and so many a second; what is over is counted. */
enum { BURST = 200, PER_SECOND = 50 };
enum { REPEATS_MAX = 128, MESSAGE_MAX = 8192 };

/* Refusals of one (host, port, reason) after the first. */
struct repeat {
	int64_t told;
	int64_t count;     /* since then */
	const char *proto; /* NULL: a new one */
	char host[CC_REPORT_TEXT_MAX + 1];
	uint16_t port;
	enum cc_net_reason reason;
	bool final;
};

struct cc_report {
	struct cc_outbox *outbox;
	int64_t generation;
	struct repeat repeats[REPEATS_MAX];
	size_t repeat_count;
	int64_t due;
	int64_t tokens; /* thousandths of a message */
	int64_t refilled;
};

enum cc_code cc_report_new(int owner, struct cc_report **out_report, struct cc_err *err)
{
	CC_AUTO(cc_report) report = calloc(1, sizeof(*report));
	enum cc_code code;

	if (!report)
		return cc_fail(err, CC_ELIMIT, 0, "out of memory");
	report->due = INT64_MAX;
	report->tokens = BURST * 1000;
	code = cc_outbox_new(owner, &report->outbox, err);
	if (code == CC_OK)
		*out_report = cc_report_take(&report);
	return code;
}

void cc_report_flush(struct cc_report *report)
{
	cc_outbox_flush(report->outbox);
}

/* What had no room before is told with it. */
static void post(struct cc_report *report, struct cc_jsonw *w, struct cc_buf *text, bool soon)
{
	int64_t lost = cc_outbox_lost(report->outbox);

	if (lost)
		cc_jsonw_kint(w, "dropped", lost);
	cc_jsonw_end(w);
	if (text->failed)
		cc_outbox_lose(report->outbox, 1);
	else
		cc_outbox_post(report->outbox, cc_buf_view(text), soon, lost);
	cc_buf_done(text);
}

static struct cc_view cut(struct cc_view text)
{
	if (text.len > CC_REPORT_TEXT_MAX)
		text.len = CC_REPORT_TEXT_MAX;
	return text;
}

static bool is_name(const struct cc_report_net *net)
{
	struct cc_host host;

	return cc_host_parse(net->host, CC_HOST_SOCKS, &host, NULL) == CC_OK && host.kind == CC_HOST_NAME;
}

void cc_report_grant(const struct cc_report_net *net, struct cc_buf *out)
{
	if (net->allowed || net->final)
		return;
	if (net->reason == CC_NET_NOT_ALLOWED)
		cc_host_grant(net->host, net->port, out);
	else if (net->reason == CC_NET_ADDRESS && !is_name(net))
		cc_buf_adds(out, "network.privateCidrs");
	else if (net->reason == CC_NET_ADDRESS)
		cc_buf_adds(out, "network.hosts");
}

static void post_net(struct cc_report *report, const struct cc_report_net *net, int64_t count)
{
	struct cc_jsonw w;
	struct cc_buf text;
	struct cc_buf grant;

	cc_buf_init(&grant, 512);
	/* The owner may know the address, so the flag can be exact; what the client reads names the keys only. */
	if (net->reason == CC_NET_ADDRESS && !net->allowed && !net->final && net->address && is_name(net))
		cc_buf_addf(&grant, "--host %.*s=%s", (int)net->host.len, net->host.ptr, net->address);
	else
		cc_report_grant(net, &grant);
	cc_jsonw_message(&w, &text, MESSAGE_MAX, "net");
	cc_jsonw_kstr(&w, "verdict", net->allowed ? "allow" : "deny");
	cc_jsonw_kstr(&w, "proto", net->proto);
	cc_jsonw_key(&w, "host");
	cc_jsonw_view(&w, cut(net->host));
	cc_jsonw_kint(&w, "port", net->port);
	cc_jsonw_kstr(&w, "reason", cc_net_reason_name(net->reason));
	cc_jsonw_kstr(&w, "entry", net->entry);
	cc_jsonw_kstr(&w, "grant", grant.len ? grant.data : NULL);
	cc_jsonw_kstr(&w, "class", net->klass);
	cc_jsonw_kstr(&w, "address", net->address);
	if (net->detail)
		cc_jsonw_kstr(&w, "detail", net->detail);
	cc_jsonw_kint(&w, "count", count);
	cc_jsonw_kint(&w, "generation", report->generation);
	post(report, &w, &text, !net->allowed);
	cc_buf_done(&grant);
}

static bool has_token(struct cc_report *report, int64_t now)
{
	int64_t passed = now - report->refilled;

	report->refilled = now;
	report->tokens = passed > 0 && passed < BURST * 1000 / PER_SECOND ? report->tokens + passed * PER_SECOND
			 : passed > 0                                     ? BURST * 1000
									  : report->tokens;
	if (report->tokens > BURST * 1000)
		report->tokens = BURST * 1000;
	if (report->tokens < 1000)
		return false;
	report->tokens -= 1000;
	return true;
}

static void tell_repeat(struct cc_report *report, struct repeat *repeat, int64_t now)
{
	const struct cc_report_net net = {
		.proto = repeat->proto,
		.host = cc_view_of(repeat->host),
		.port = repeat->port,
		.reason = repeat->reason,
		.final = repeat->final,
	};

	if (repeat->count && has_token(report, now))
		post_net(report, &net, repeat->count);
	else
		cc_outbox_lose(report->outbox, repeat->count);
	repeat->count = 0;
	repeat->told = now;
}

static struct repeat *find_repeat(struct cc_report *report, int64_t now, const struct cc_report_net *net)
{
	struct repeat *oldest = NULL;

	for (size_t i = 0; i < report->repeat_count; i++) {
		struct repeat *repeat = &report->repeats[i];

		if (repeat->reason == net->reason && repeat->port == net->port &&
		    cc_view_is(cut(net->host), repeat->host))
			return repeat;
		if (!oldest || repeat->told < oldest->told)
			oldest = repeat;
	}
	if (report->repeat_count < REPEATS_MAX)
		oldest = &report->repeats[report->repeat_count++];
	else
		tell_repeat(report, oldest, now);
	*oldest = (struct repeat){0};
	return oldest;
}

/* True: this one is only counted. */
static bool counted(struct cc_report *report, int64_t now, const struct cc_report_net *net)
{
	struct cc_view host = cut(net->host);
	struct repeat *repeat = find_repeat(report, now, net);

	if (repeat->proto && repeat->count == 0 && repeat->told + CC_REPORT_REPEAT_MS <= now) {
		repeat->told = now; /* quiet for long: a first one again */
		return false;
	}
	if (repeat->proto) {
		repeat->count++;
		if (repeat->told + CC_REPORT_REPEAT_MS < report->due)
			report->due = repeat->told + CC_REPORT_REPEAT_MS;
		return true;
	}
	repeat->proto = net->proto;
	memcpy(repeat->host, host.ptr ? host.ptr : "", host.len);
	repeat->port = net->port;
	repeat->reason = net->reason;
	repeat->final = net->final;
	repeat->told = now;
	return false;
}

void cc_report_net(struct cc_report *report, int64_t now, const struct cc_report_net *net)
{
	if (!net->allowed && counted(report, now, net))
		return;
	if (net->allowed || has_token(report, now))
		post_net(report, net, 1);
	else
		cc_outbox_lose(report->outbox, 1);
}

int64_t cc_report_tick(struct cc_report *report, int64_t now)
{
	int64_t held = cc_outbox_tick(report->outbox, now);

	if (now < report->due)
		return held < report->due ? held : report->due;
	report->due = INT64_MAX;
	for (size_t i = 0; i < report->repeat_count; i++) {
		struct repeat *repeat = &report->repeats[i];

		if (repeat->count && repeat->told + CC_REPORT_REPEAT_MS <= now)
			tell_repeat(report, repeat, now);
		else if (repeat->count && repeat->told + CC_REPORT_REPEAT_MS < report->due)
			report->due = repeat->told + CC_REPORT_REPEAT_MS;
	}
	return held < report->due ? held : report->due;
}

void cc_report_last(struct cc_report *report, int64_t now)
{
	struct cc_jsonw w;
	struct cc_buf text;

	for (size_t i = 0; i < report->repeat_count; i++)
		if (report->repeats[i].count)
			tell_repeat(report, &report->repeats[i], now);
	if (cc_outbox_lost(report->outbox) == 0)
		return;
	cc_jsonw_message(&w, &text, MESSAGE_MAX, "bye");
	post(report, &w, &text, true);
}

bool cc_report_idle(const struct cc_report *report)
{
	return !cc_outbox_waits(report->outbox);
}

void cc_report_closed(struct cc_report *report, const struct cc_report_closed *closed)
{
	struct cc_jsonw w;
	struct cc_buf text;

	cc_jsonw_message(&w, &text, MESSAGE_MAX, "closed");
	cc_jsonw_kstr(&w, "proto", closed->proto);
	cc_jsonw_kstr(&w, "host", closed->host);
	cc_jsonw_kint(&w, "port", closed->port);
	cc_jsonw_kint(&w, "up", (int64_t)closed->up);
	cc_jsonw_kint(&w, "down", (int64_t)closed->down);
	cc_jsonw_kint(&w, "ms", closed->ms);
	if (closed->ech)
		cc_jsonw_kbool(&w, "ech", true);
	cc_jsonw_kint(&w, "generation", report->generation);
	post(report, &w, &text, false);
}

void cc_report_sockets(struct cc_report *report, unsigned count)
{
	struct cc_jsonw w;
	struct cc_buf text;

	cc_jsonw_message(&w, &text, MESSAGE_MAX, "sockets");
	cc_jsonw_kint(&w, "count", count);
	post(report, &w, &text, true);
}

void cc_report_generation(struct cc_report *report, int64_t generation)
{
	report->generation = generation;
}

void cc_report_ready(struct cc_report *report, int64_t generation)
{
	struct cc_jsonw w;
	struct cc_buf text;

	cc_jsonw_message(&w, &text, MESSAGE_MAX, "ready");
	cc_jsonw_kint(&w, "generation", generation);
	post(report, &w, &text, true);
}

void cc_report_failed(struct cc_report *report, const char *step, const struct cc_err *why)
{
	struct cc_jsonw w;
	struct cc_buf text;

	cc_jsonw_message(&w, &text, MESSAGE_MAX, "failed");
	cc_jsonw_kstr(&w, "step", step);
	cc_jsonw_kint(&w, "errno", why->sys);
	cc_jsonw_kstr(&w, "text", why->what);
	post(report, &w, &text, true);
}

void cc_report_free(struct cc_report *report)
{
	if (!report)
		return;
	cc_outbox_free(report->outbox);
	free(report);
}

/* One sentence each: what happened, and what a person can do about it. %s is the grant. */
static const char *const advice[] = {
	[CC_NET_OFF] = "The network is off in this session, so nothing is looked up or connected.",
	[CC_NET_ALLOWED] = "The policy allows it, but the connection could not be made.",
	[CC_NET_NOT_ALLOWED] = "No entry of this session's allowlist matches.",
	[CC_NET_DENIED] = "An entry of the deny list matches, and a deny beats every allow.",
	[CC_NET_ADDRESS] =
		"Its address is of a kind that a name may not lead to. If it is meant to be reached, the operator's "
		"policy file can say so, with the keys network.hosts (this name, these addresses), "
		"network.privateNames or network.privateCidrs.",
	[CC_NET_MALFORMED] = "The request is not well formed.",
	[CC_NET_SNI] = "What is said inside the tunnel must name the tunnel's host, openly.",
	[CC_NET_LIMIT] = "This session has reached a limit on connections or lookups; try again when some are closed.",
};

static const char final_advice[] =
	"A port of this session itself, or of what started it, is there: nothing opens that way.";

static const struct {
	unsigned status;
	const char *text;
} statuses[] = {
	{400, "Bad Request"},
	{403, "Forbidden"},
	{405, "Method Not Allowed"},
	{408, "Request Timeout"},
	{431, "Request Header Fields Too Large"},
	{502, "Bad Gateway"},
	{503, "Service Unavailable"},
	{504, "Gateway Timeout"},
	{505, "HTTP Version Not Supported"},
};

static const char *status_text(unsigned status)
{
	for (size_t i = 0; i < CC_COUNT(statuses); i++)
		if (statuses[i].status == status)
			return statuses[i].text;
	return "Error";
}

/* The client's bytes as printable ASCII. */
static void add_plain(struct cc_buf *out, struct cc_view text)
{
	for (size_t i = 0; i < text.len && i < CC_REPORT_TEXT_MAX; i++) {
		unsigned char byte = (unsigned char)text.ptr[i];

		if (byte >= 0x20 && byte < 0x7f)
			cc_buf_add(out, &text.ptr[i], 1);
		else
			cc_buf_addf(out, "\\x%02x", byte);
	}
}

static void write_body(const struct cc_report_net *net, struct cc_buf *body)
{
	struct cc_buf grant;

	cc_buf_init(&grant, 512);
	cc_report_grant(net, &grant);
	cc_buf_adds(body, "ccbox: ");
	add_plain(body, net->host);
	if (net->port)
		cc_buf_addf(body, ":%u", net->port);
	cc_buf_addf(body, " - %s\n%s", net->detail ? net->detail : cc_net_reason_name(net->reason),
		    net->final ? final_advice : advice[net->reason]);
	if (net->reason == CC_NET_NOT_ALLOWED && grant.len)
		cc_buf_addf(body, " To allow it, start the session with\n\n    %s", grant.data);
	if (net->entry) {
		cc_buf_adds(body, "\nRule: ");
		add_plain(body, cc_view_of(net->entry));
	}
	cc_buf_adds(body, "\n");
	cc_buf_done(&grant);
}

void cc_report_refusal(const struct cc_report_net *net, unsigned status, bool head_only, struct cc_buf *out)
{
	struct cc_buf body;

	cc_buf_init(&body, MESSAGE_MAX);
	write_body(net, &body);
	cc_buf_addf(out,
		    "HTTP/1.1 %u %s\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %zu\r\n"
		    "Connection: close\r\n",
		    status, status_text(status), body.len);
	if (status == 403)
		cc_buf_adds(out, "X-Proxy-Error: blocked-by-allowlist\r\n");
	if (net->reason != CC_NET_ALLOWED)
		cc_buf_addf(out, "X-Sandbox-Reason: %s\r\n", cc_net_reason_name(net->reason));
	cc_buf_adds(out, "\r\n");
	if (!head_only)
		cc_buf_add(out, body.data, body.len);
	cc_buf_done(&body);
}
