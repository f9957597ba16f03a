/* The rows of spec/egress 3.3 that the parser alone decides; numbers are the vectors'. */
#include "../t.h"

#include "parse/http.h"

#define BYTES(text) text, sizeof(text) - 1

static const struct {
	const char *label;
	const char *bytes;
	size_t len;
	unsigned status; /* 0 = accepted, 1 = not complete */
} heads[] = {
	{"93 CONNECT in HTTP/1.0 without Host", BYTES("CONNECT u.test:443 HTTP/1.0\r\n\r\n"), 0},
	{"CONNECT in HTTP/1.1 without Host", BYTES("CONNECT u.test:443 HTTP/1.1\r\n\r\n"), 0},
	{"102 a foreign Host is no parse fault", BYTES("GET http://u.test/ HTTP/1.1\r\nHost: evil.test\r\n\r\n"), 0},
	{"103 two Host fields", BYTES("GET http://u.test/ HTTP/1.1\r\nHost: u.test\r\nhost: u.test\r\n\r\n"), 400},
	{"no Host in HTTP/1.1", BYTES("GET http://u.test/ HTTP/1.1\r\n\r\n"), 400},
	{"105 CL and TE",
	 BYTES("POST http://u.test/ HTTP/1.1\r\nHost: u\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n"),
	 400},
	{"106 two CL", BYTES("POST http://u/ HTTP/1.1\r\nHost: u\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n"),
	 400},
	{"two equal CL", BYTES("POST http://u/ HTTP/1.1\r\nHost: u\r\nContent-Length: 2\r\nContent-Length: 2\r\n\r\n"),
	 400},
	{"a CL list", BYTES("POST http://u/ HTTP/1.1\r\nHost: u\r\nContent-Length: 2, 2\r\n\r\n"), 400},
	{"a signed CL", BYTES("POST http://u/ HTTP/1.1\r\nHost: u\r\nContent-Length: +2\r\n\r\n"), 400},
	{"an empty CL", BYTES("POST http://u/ HTTP/1.1\r\nHost: u\r\nContent-Length:\r\n\r\n"), 400},
	{"a CL that overflows",
	 BYTES("POST http://u/ HTTP/1.1\r\nHost: u\r\nContent-Length: 99999999999999999999\r\n\r\n"), 400},
	{"107 xchunked", BYTES("POST http://u/ HTTP/1.1\r\nHost: u\r\nTransfer-Encoding: xchunked\r\n\r\n"), 400},
	{"gzip, chunked", BYTES("POST http://u/ HTTP/1.1\r\nHost: u\r\nTransfer-Encoding: gzip, chunked\r\n\r\n"), 400},
	{"two TE",
	 BYTES("POST http://u/ HTTP/1.1\r\nHost: u\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: "
	       "chunked\r\n\r\n"),
	 400},
	{"a tab behind the coding", BYTES("POST http://u/ HTTP/1.1\r\nHost: u\r\nTransfer-Encoding: chunked\t\r\n\r\n"),
	 400},
	{"a tab behind the length", BYTES("POST http://u/ HTTP/1.1\r\nHost: u\r\nContent-Length: 2 \t\r\n\r\n"), 400},
	{"spaces around the coding",
	 BYTES("POST http://u/ HTTP/1.1\r\nHost: u\r\nTransfer-Encoding: \t chunked  \r\n\r\n"), 0},
	{"TE in HTTP/1.0", BYTES("POST http://u/ HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"), 400},
	{"109 obs-fold", BYTES("GET http://u/ HTTP/1.1\r\nHost: u\r\nX: a\r\n b\r\n\r\n"), 400},
	{"110 bare LF", BYTES("GET http://u/ HTTP/1.1\nHost: u\n\n"), 400},
	{"a bare CR", BYTES("GET http://u/ HTTP/1.1\r\nHost: u\r\nX: a\rb\r\n\r\n"), 400},
	{"111 a space before the colon", BYTES("GET http://u/ HTTP/1.1\r\nHost : u\r\n\r\n"), 400},
	{"112 NUL in a value", BYTES("GET http://u/ HTTP/1.1\r\nHost: u\r\nX: a\0b\r\n\r\n"), 400},
	{"an escape byte in a value", BYTES("GET http://u/ HTTP/1.1\r\nHost: u\r\nX: a\x1b[0m\r\n\r\n"), 400},
	{"113 HTTP/2", BYTES("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), 505},
	{"HTTP/1.2", BYTES("GET http://u/ HTTP/1.2\r\nHost: u\r\n\r\n"), 505},
	{"HTTP/0.9", BYTES("GET /\r\n\r\n"), 400},
	{"two spaces", BYTES("GET  http://u/ HTTP/1.1\r\nHost: u\r\n\r\n"), 400},
	{"a space at the end of the line", BYTES("GET http://u/ HTTP/1.1 \r\nHost: u\r\n\r\n"), 505},
	{"an empty field name", BYTES("GET http://u/ HTTP/1.1\r\nHost: u\r\n: x\r\n\r\n"), 400},
	{"a line without a colon", BYTES("GET http://u/ HTTP/1.1\r\nHost: u\r\nnothing\r\n\r\n"), 400},
	{"a raw byte in the target", BYTES("GET http://u/\xc3\xbc HTTP/1.1\r\nHost: u\r\n\r\n"), 400},
	{"an empty line first", BYTES("\r\n\r\n"), 400},
	{"not complete", BYTES("GET http://u/ HTTP/1.1\r\nHost: u\r\n"), 1},
	{"nothing", BYTES(""), 1},
};

static unsigned judge(struct cc_view bytes, struct cc_http_head *head)
{
	struct cc_http_fault fault = {0};
	size_t scanned = 0;
	enum cc_http_step step = cc_http_scan(bytes, &scanned, &fault);

	if (step == CC_HTTP_MORE)
		return 1;
	if (step == CC_HTTP_BAD || !cc_http_request((struct cc_view){bytes.ptr, scanned}, head, &fault))
		return fault.status;
	return 0;
}

static void heads_are_read_strictly(void **state)
{
	static struct cc_http_head head;

	(void)state;
	for (size_t i = 0; i < CC_COUNT(heads); i++)
		T_ROW(judge((struct cc_view){heads[i].bytes, heads[i].len}, &head) == heads[i].status, heads[i].label);
}

static void the_scan_goes_on_where_it_stopped(void **state)
{
	static const char bytes[] = "GET http://u/ HTTP/1.1\r\nHost: u\r\n\r\nbody";
	struct cc_http_fault fault;
	size_t scanned = 0;

	(void)state;
	for (size_t len = 0; len < sizeof(bytes) - 5; len++)
		assert_int_equal(cc_http_scan((struct cc_view){bytes, len}, &scanned, &fault), CC_HTTP_MORE);
	assert_int_equal(cc_http_scan((struct cc_view){bytes, sizeof(bytes) - 1}, &scanned, &fault), CC_HTTP_DONE);
	assert_int_equal(scanned, sizeof(bytes) - 5);
}

static void heads_have_a_limit(void **state)
{
	static char big[17 * 1024]; /* 120 */
	static struct cc_http_head head;
	struct cc_buf many;

	(void)state;
	memset(big, 'a', sizeof(big));
	memcpy(big, "GET /", 5);
	assert_int_equal(judge((struct cc_view){big, sizeof(big)}, &head), 431);
	cc_buf_init(&many, 65536);
	cc_buf_adds(&many, "GET http://u/ HTTP/1.1\r\nHost: u\r\n");
	for (int i = 0; i < 100; i++)
		cc_buf_addf(&many, "X%d: y\r\n", i);
	cc_buf_adds(&many, "\r\n");
	assert_int_equal(judge(cc_buf_view(&many), &head), 431);
	cc_buf_done(&many);
}

static void authorities_are_taken_apart(void **state)
{
	static const struct {
		const char *text;
		uint16_t fallback;
		const char *host; /* NULL = refused */
		uint16_t port;
	} rows[] = {
		{"u.test:443", 0, "u.test", 443}, {"127.0.0.1", 0, NULL, 0}, /* 95 */
		{"u.test:0", 0, NULL, 0},                                    /* 96 */
		{"u.test:72547", 0, NULL, 0},                                /* 97 */
		{"u.test:07011", 0, NULL, 0},                                /* 98 */
		{"[::1]:443", 0, "[::1]", 443},                              /* 100 */
		{"user@u.test:443", 0, NULL, 0},                             /* 101 */
		{"u.test:", 0, NULL, 0},          {"u.test:", 80, "u.test", 80}, {"u.test", 80, "u.test", 80},
		{"u.test:+80", 80, NULL, 0},      {"[::1]", 80, "[::1]", 80},    {"[::1", 80, NULL, 0},
		{"[::1]x:80", 80, NULL, 0},       {":80", 80, NULL, 0},          {"", 80, NULL, 0},
	};

	(void)state;
	for (size_t i = 0; i < CC_COUNT(rows); i++) {
		struct cc_view host = {0};
		uint16_t port = 0;
		bool ok = cc_http_authority(cc_view_of(rows[i].text), rows[i].fallback, &host, &port);

		T_ROW(ok == (rows[i].host != NULL), rows[i].text);
		if (ok)
			T_ROW(cc_view_is(host, rows[i].host) && port == rows[i].port, rows[i].text);
	}
}

static void absolute_targets_are_taken_apart(void **state)
{
	static const char *const rows[][3] = {
		{"http://u.test/a?b", "u.test", "/a?b"},
		{"HTTP://u.test:8080", "u.test:8080", ""},
		{"http://u.test?q", "u.test", "?q"},
		{"http://allowed@u.test/", NULL, NULL}, /* 104 */
		{"/origin", NULL, NULL},                /* 114 */
		{"*", NULL, NULL},
		{"https://u.test/", NULL, NULL}, /* 115 */
		{"ftp://u.test/", NULL, NULL},
		{"http:///x", NULL, NULL},
		{"http://u.test/#f", NULL, NULL},
	};

	(void)state;
	for (size_t i = 0; i < CC_COUNT(rows); i++) {
		static struct cc_http_head head;
		struct cc_http_fault fault = {0};
		struct cc_view authority;
		struct cc_view path;
		bool ok;

		head.target = cc_view_of(rows[i][0]);
		ok = cc_http_absolute(&head, &authority, &path, &fault);
		T_ROW(ok == (rows[i][1] != NULL), rows[i][0]);
		T_ROW(ok || fault.status == 400, rows[i][0]);
		if (ok)
			T_ROW(cc_view_is(authority, rows[i][1]) && cc_view_is(path, rows[i][2]), rows[i][0]);
	}
}

static void hop_by_hop_fields_stay(void **state)
{
	static const char bytes[] =
		"POST http://u.test/ HTTP/1.1\r\nHost: evil.test\r\nConnection: X-Foo, content-length, host\r\n"
		"X-Foo: bar\r\nContent-Length: 4\r\nProxy-Authorization: x\r\nKeep-Alive: 3\r\nTE: trailers\r\n"
		"Upgrade: h2c\r\nAccept:  */* \r\nExpect: 100-continue\r\n\r\n"; /* 117, 118 */
	static struct cc_http_head head;
	struct cc_buf out;

	(void)state;
	cc_buf_init(&out, 4096);
	assert_int_equal(judge((struct cc_view){bytes, sizeof(bytes) - 1}, &head), 0);
	cc_http_copy_fields(&head, &out);
	assert_string_equal(out.data, "Accept: */*\r\nExpect: 100-continue\r\nContent-Length: 4\r\n");
	assert_int_equal(head.framing, CC_HTTP_LENGTH);
	assert_false(head.websocket);
	cc_buf_done(&out);
}

static const struct {
	const char *label;
	const char *in;
	const char *out; /* NULL = refused */
	bool raw;
	bool done;
} bodies[] = {
	{"plain", "3\r\nabc\r\n0\r\n\r\n", "3\r\nabc\r\n0\r\n\r\n", false, true},
	{"108 an extension is dropped", "3;a=b\r\nabc\r\n0;x\r\n\r\n", "3\r\nabc\r\n0\r\n\r\n", false, true},
	{"trailers are dropped", "1\r\na\r\n0\r\nX: y\r\nZ: w\r\n\r\n", "1\r\na\r\n0\r\n\r\n", false, true},
	{"hexadecimal in both cases", "0A\r\n0123456789\r\n0\r\n\r\n", "a\r\n0123456789\r\n0\r\n\r\n", false, true},
	{"raw gives only the data", "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n", "abcde", true, true},
	{"not complete", "3\r\nab", "3\r\nab", false, false},
	{"a bare LF", "3\nabc\r\n", NULL, false, false},
	{"no digits", ";x\r\n", NULL, false, false},
	{"a sign", "+3\r\nabc", NULL, false, false},
	{"0x", "0x3\r\nabc", NULL, false, false},
	{"too many digits", "00000000000000003\r\nabc", NULL, false, false},
	{"data longer than its size", "3\r\nabcd\r\n", NULL, false, false},
	{"a bare LF behind the data", "3\r\nabc\n0\r\n\r\n", NULL, false, false},
	{"a control byte in an extension", "3;\x01\r\nabc", NULL, false, false},
};

/* Every row in one piece and byte by byte: the same verdict, the same bytes. */
static void chunks_are_emitted_anew(void **state)
{
	(void)state;
	for (size_t i = 0; i < CC_COUNT(bodies) * 2; i++) {
		const char *in = bodies[i / 2].in;
		size_t piece = i % 2 ? 1 : strlen(in);
		struct cc_http_body body = {.framing = CC_HTTP_CHUNKED, .raw = bodies[i / 2].raw};
		enum cc_http_step step = CC_HTTP_MORE;
		struct cc_buf out;

		cc_buf_init(&out, 4096);
		for (size_t at = 0; step == CC_HTTP_MORE && at < strlen(in);) {
			size_t used;

			step = cc_http_body_copy(&body, (struct cc_view){in + at, piece}, &used, &out);
			T_ROW(used > 0, bodies[i / 2].label);
			at += used;
		}
		T_ROW((step == CC_HTTP_BAD) == (bodies[i / 2].out == NULL), bodies[i / 2].label);
		T_ROW((step == CC_HTTP_DONE) == bodies[i / 2].done, bodies[i / 2].label);
		if (bodies[i / 2].out)
			T_ROW(strcmp(out.data, bodies[i / 2].out) == 0, bodies[i / 2].label);
		cc_buf_done(&out);
	}
}

static void lengths_are_counted(void **state)
{
	struct cc_http_body body = {.framing = CC_HTTP_LENGTH, .left = 3};
	struct cc_buf out;
	size_t used;

	(void)state;
	cc_buf_init(&out, 100);
	assert_int_equal(cc_http_body_copy(&body, cc_view_of("ab"), &used, &out), CC_HTTP_MORE);
	assert_int_equal(cc_http_body_copy(&body, cc_view_of("cdef"), &used, &out), CC_HTTP_DONE);
	assert_int_equal(used, 1);
	assert_string_equal(out.data, "abc");
	cc_buf_done(&out);
}

static const struct {
	const char *label;
	const char *bytes;
	bool head_only;
	bool ok;
	enum cc_http_framing framing;
	bool close;
} responses[] = {
	{"length", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n", false, true, CC_HTTP_LENGTH, false},
	{"chunked", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", false, true, CC_HTTP_CHUNKED, false},
	{"both: chunked, then closed", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n",
	 false, true, CC_HTTP_CHUNKED, true},
	{"neither: to the end", "HTTP/1.1 200 OK\r\n\r\n", false, true, CC_HTTP_TO_END, true},
	{"HEAD has none", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n", true, true, CC_HTTP_NO_BODY, false},
	{"304 has none", "HTTP/1.1 304 Not Modified\r\nContent-Length: 2\r\n\r\n", false, true, CC_HTTP_NO_BODY, false},
	{"100 has none", "HTTP/1.1 100 Continue\r\n\r\n", false, true, CC_HTTP_NO_BODY, false},
	{"no reason", "HTTP/1.1 204\r\n\r\n", false, true, CC_HTTP_NO_BODY, false},
	{"HTTP/1.0 closes", "HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n", false, true, CC_HTTP_LENGTH, true},
	{"two lengths", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n", false, false, 0, false},
	{"no status", "HTTP/1.1 OK\r\n\r\n", false, false, 0, false},
	{"status 99", "HTTP/1.1 099 OK\r\n\r\n", false, false, 0, false},
	{"not HTTP", "ICY 200 OK\r\n\r\n", false, false, 0, false},
};

static void responses_are_framed(void **state)
{
	(void)state;
	for (size_t i = 0; i < CC_COUNT(responses); i++) {
		static struct cc_http_head head;
		struct cc_http_fault fault;
		bool ok = cc_http_response(cc_view_of(responses[i].bytes), responses[i].head_only, &head, &fault);

		T_ROW(ok == responses[i].ok, responses[i].label);
		if (ok)
			T_ROW(head.framing == responses[i].framing && head.close == responses[i].close,
			      responses[i].label);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(heads_are_read_strictly),
		cmocka_unit_test(the_scan_goes_on_where_it_stopped),
		cmocka_unit_test(heads_have_a_limit),
		cmocka_unit_test(authorities_are_taken_apart),
		cmocka_unit_test(absolute_targets_are_taken_apart),
		cmocka_unit_test(hop_by_hop_fields_stay),
		cmocka_unit_test(chunks_are_emitted_anew),
		cmocka_unit_test(lengths_are_counted),
		cmocka_unit_test(responses_are_framed),
	};

	return cmocka_run_group_tests_name("http", tests, NULL, NULL);
}
