/* login.c - the console's one-time address: asked for over the Unix socket, used once, within a minute; then the
 * browser has a cookie that no script and no other site's page can use. */
#define _GNU_SOURCE

#include "console/console.h"
#include "os/clock.h"

#include <stdio.h>
#include <string.h>

enum { BROWSER_MS = 12 * 3600 * 1000 };

const char *cc_login_add(struct cc_login_secret *table, unsigned count, int64_t until)
{
	struct cc_login_secret *place = &table[0];
	unsigned char random[CC_LOGIN_BYTES];

	for (unsigned i = 1; i < count; i++)
		if (table[i].until < place->until)
			place = &table[i];
	cc_random(random, sizeof(random));
	for (size_t i = 0; i < sizeof(random); i++)
		snprintf(place->text + 2 * i, 3, "%02x", random[i]);
	place->until = until;
	return place->text;
}

bool cc_login_know(struct cc_login_secret *table, unsigned count, const char *text, int64_t now, bool take)
{
	bool known = false;

	/* all of them, so that the time says nothing of the place */
	for (unsigned i = 0; i < count; i++) {
		bool same = table[i].text[0] && cc_web_same_secret(text, strlen(text), table[i].text);

		if (same && table[i].until > now)
			known = true;
		if (same && take)
			table[i] = (struct cc_login_secret){.until = 0};
	}
	return known;
}

/* Cookies know no ports: each server has its own name for it. */
static void cookie_name(const struct cc_console *console, char out[32])
{
	snprintf(out, 32, "ccbox_%u", cc_web_port(console->web));
}

static bool find_cookie(const struct cc_console *console, const char *cookies, char *out, size_t cap)
{
	char name[32];
	size_t len;

	cookie_name(console, name);
	len = strlen(name);
	for (const char *at = cookies; at && *at; at += strspn(at, "; ")) {
		size_t size = strcspn(at, ";");

		if (size > len && size - len - 1 < cap && strncmp(at, name, len) == 0 && at[len] == '=') {
			memcpy(out, at + len + 1, size - len - 1);
			out[size - len - 1] = '\0';
			return true;
		}
		at += size;
	}
	return false;
}

bool cc_console_cookie(void *context, const char *cookies)
{
	struct cc_console *console = context;
	char text[2 * CC_LOGIN_BYTES + 1];

	return find_cookie(console, cookies, text, sizeof(text)) &&
	       cc_login_know(console->logins.browsers, CC_LOGIN_BROWSERS, text, cc_clock_ms(), false);
}

static void post_login(struct cc_call *call)
{
	struct cc_console *console = cc_call_context(call);
	struct cc_buf text;

	cc_buf_init(&text, 4096);
	cc_buf_addf(&text, "{\"url\":\"%s://127.0.0.1:%u/console/login?key=%s\",\"expiresSeconds\":%d}\n",
		    console->tls ? "https" : "http", cc_web_port(console->web),
		    cc_login_add(console->logins.keys, CC_LOGIN_KEYS, cc_clock_ms() + CC_LOGIN_KEY_MS),
		    CC_LOGIN_KEY_MS / 1000);
	cc_reply_json(call, 201, &text);
	cc_buf_done(&text);
}

static void get_login(struct cc_call *call)
{
	static const char sorry[] = "This address was used before, or is too old. Run `ccbox console` again.\n";
	struct cc_console *console = cc_call_context(call);
	const char *key = cc_call_query(call, "key");
	char name[32], cookie[256];

	if (!key || !cc_login_know(console->logins.keys, CC_LOGIN_KEYS, key, cc_clock_ms(), true)) {
		cc_reply(call, 403, "text/plain; charset=utf-8", sorry, sizeof(sorry) - 1);
		return;
	}
	cookie_name(console, name);
	snprintf(cookie, sizeof(cookie), "%s=%s; Path=/; HttpOnly; SameSite=Strict; Max-Age=%d%s", name,
		 cc_login_add(console->logins.browsers, CC_LOGIN_BROWSERS, cc_clock_ms() + BROWSER_MS),
		 BROWSER_MS / 1000, console->tls ? "; Secure" : "");
	cc_reply_header(call, "set-cookie:", cookie);
	cc_reply_header(call, "location:", "/");
	cc_reply(call, 303, "text/plain; charset=utf-8", "", 0);
}

static void post_logout(struct cc_call *call)
{
	struct cc_console *console = cc_call_context(call);
	char cookies[2048], text[2 * CC_LOGIN_BYTES + 1];

	if (cc_call_cookies(call, cookies, sizeof(cookies)) && find_cookie(console, cookies, text, sizeof(text)))
		(void)cc_login_know(console->logins.browsers, CC_LOGIN_BROWSERS, text, cc_clock_ms(), true);
	cc_reply(call, 204, "text/plain; charset=utf-8", "", 0);
}

const struct cc_route cc_routes_login[] = {
	{"POST", "/v1/console/login", CC_WEB_LOCAL, 0, post_login},
	{"GET", "/console/login", CC_WEB_OPEN, 0, get_login},
	{"POST", "/v1/console/logout", 0, 0, post_logout},
	{0},
};
