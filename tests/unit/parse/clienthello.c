/* The rows of spec/egress 3.5 that the first bytes alone decide. */
#include "../t.h"

#include "parse/clienthello.h"

#include "base/buf.h"

static void put16(struct cc_buf *out, size_t value)
{
	cc_buf_add(out, (const unsigned char[]){(unsigned char)(value >> 8), (unsigned char)value}, 2);
}

static void put_name(struct cc_buf *out, const char *name)
{
	cc_buf_add(out, "\0", 1);
	put16(out, strlen(name));
	cc_buf_adds(out, name);
}

/* A ClientHello (the handshake message) for up to two names. */
static void hello_message(struct cc_buf *out, const char *first, const char *second, bool ech)
{
	struct cc_buf list;
	struct cc_buf ext;
	size_t body;

	cc_buf_init(&list, 1000);
	cc_buf_init(&ext, 2000);
	if (first)
		put_name(&list, first);
	if (second)
		put_name(&list, second);
	put16(&ext, 0x0a0a); /* GREASE */
	put16(&ext, 0);
	if (first) {
		put16(&ext, 0);
		put16(&ext, list.len + 2);
		put16(&ext, list.len);
		cc_buf_add(&ext, list.data, list.len);
	}
	if (ech) {
		put16(&ext, 0xfe0d);
		put16(&ext, 3);
		cc_buf_add(&ext, "abc", 3);
	}
	body = 2 + 32 + 1 + 32 + 2 + 4 + 2 + 2 + ext.len;
	cc_buf_add(out, (const unsigned char[]){1, 0, (unsigned char)(body >> 8), (unsigned char)body, 3, 3}, 6);
	for (int i = 0; i < 32; i++)
		cc_buf_add(out, "r", 1);
	cc_buf_add(out, "\x20", 1);
	for (int i = 0; i < 32; i++)
		cc_buf_add(out, "s", 1);
	put16(out, 4);
	cc_buf_add(out, "\x13\x01\x13\x02\x01\x00", 6);
	put16(out, ext.len);
	cc_buf_add(out, ext.data, ext.len);
	cc_buf_done(&list);
	cc_buf_done(&ext);
}

/* The message in records of at most `size` bytes. */
static void records(struct cc_buf *out, const char *first, const char *second, size_t size)
{
	struct cc_buf message;

	cc_buf_init(&message, 4000);
	hello_message(&message, first, second, false);
	for (size_t at = 0; at < message.len; at += size) {
		size_t len = message.len - at < size ? message.len - at : size;

		cc_buf_add(out, "\x16\x03\x01", 3);
		put16(out, len);
		cc_buf_add(out, message.data + at, len);
	}
	cc_buf_done(&message);
}

static const struct {
	const char *label;
	const char *first;
	const char *second;
	const char *host;
	size_t record;
	enum cc_sniff_verdict want;
} hellos[] = {
	{"143", "a.test", NULL, "a.test", 4000, CC_SNIFF_PASS},
	{"144", "b.test", NULL, "a.test", 4000, CC_SNIFF_REFUSE},
	{"145 upper case", "A.TEST", NULL, "a.test", 4000, CC_SNIFF_PASS},
	{"145 trailing dot", "a.test.", NULL, "a.test", 4000, CC_SNIFF_PASS},
	{"147 many records, foreign name", "b.test", NULL, "a.test", 60, CC_SNIFF_REFUSE},
	{"147 many records, own name", "a.test", NULL, "a.test", 60, CC_SNIFF_PASS},
	{"147 the name is cut by a record", "a.test", NULL, "a.test", 7, CC_SNIFF_PASS},
	{"148 no name for a name", NULL, NULL, "a.test", 4000, CC_SNIFF_REFUSE},
	{"148 no name for a literal", NULL, NULL, "127.0.0.1", 4000, CC_SNIFF_PASS},
	{"a name for a literal", "b.test", NULL, "127.0.0.1", 4000, CC_SNIFF_REFUSE},
	{"two names", "a.test", "a.test", "a.test", 4000, CC_SNIFF_REFUSE},
	{"a malformed name", "a..test", NULL, "a.test", 4000, CC_SNIFF_REFUSE},
	{"a suffix is not enough", "x.a.test", NULL, "a.test", 4000, CC_SNIFF_REFUSE},
};

static struct cc_host host_of(const char *text)
{
	struct cc_host host;
	struct cc_err err;

	T_OK(cc_host_parse(cc_view_of(text), CC_HOST_SOCKS, &host, &err), err);
	return host;
}

static void server_names_must_be_the_host(void **state)
{
	(void)state;
	for (size_t i = 0; i < CC_COUNT(hellos); i++) {
		struct cc_host host = host_of(hellos[i].host);
		struct cc_sniff sniff;
		struct cc_buf bytes;

		cc_buf_init(&bytes, 8000);
		records(&bytes, hellos[i].first, hellos[i].second, hellos[i].record);
		/* 146: every shorter prefix waits, whatever comes after */
		for (size_t len = 0; len < bytes.len; len++)
			T_ROW(cc_sniff((struct cc_view){bytes.data, len}, false, &host, &sniff) == CC_SNIFF_MORE,
			      hellos[i].label);
		T_ROW(cc_sniff(cc_buf_view(&bytes), false, &host, &sniff) == hellos[i].want, hellos[i].label);
		T_ROW(strcmp(sniff.kind, "tls") == 0, hellos[i].label);
		cc_buf_add(&bytes, "more", 4);
		T_ROW(cc_sniff(cc_buf_view(&bytes), false, &host, &sniff) == hellos[i].want, hellos[i].label);
		bytes.len = bytes.len > 20 ? 20 : bytes.len;
		T_ROW(cc_sniff(cc_buf_view(&bytes), true, &host, &sniff) == CC_SNIFF_REFUSE, hellos[i].label);
		cc_buf_done(&bytes);
	}
}

static void ech_is_noticed(void **state)
{
	struct cc_buf message;
	struct cc_buf bytes;
	struct cc_hello hello;
	const char *fault;

	(void)state;
	cc_buf_init(&message, 4000);
	cc_buf_init(&bytes, 4000);
	hello_message(&message, "a.test", NULL, true);
	cc_buf_add(&bytes, "\x16\x03\x01", 3);
	put16(&bytes, message.len);
	cc_buf_add(&bytes, message.data, message.len);
	assert_int_equal(cc_hello_parse(cc_buf_view(&bytes), &hello, &fault), CC_HELLO_DONE);
	assert_true(hello.ech);
	{
		struct cc_host host = host_of("a.test");
		struct cc_sniff sniff;

		assert_int_equal(cc_sniff(cc_buf_view(&bytes), false, &host, &sniff), CC_SNIFF_PASS);
		assert_true(sniff.ech);
	}
	/* A length that points outside is never followed. */
	for (size_t i = 5; i < bytes.len; i++) {
		unsigned char saved = (unsigned char)bytes.data[i];

		bytes.data[i] = (char)0xff;
		(void)cc_hello_parse(cc_buf_view(&bytes), &hello, &fault);
		bytes.data[i] = (char)saved;
	}
	cc_buf_done(&message);
	cc_buf_done(&bytes);
}

static const struct {
	const char *label;
	const char *bytes;
	const char *host;
	bool ended;
	enum cc_sniff_verdict want;
	const char *kind;
} clear[] = {
	{"149 SSH", "SSH-2.0-OpenSSH_9 x\r\n", "a.test", false, CC_SNIFF_PASS, "opaque"},
	{"a few lower-case bytes", "hello", "a.test", false, CC_SNIFF_PASS, "opaque"},
	{"binary", "\x01\x02", "a.test", false, CC_SNIFF_PASS, "opaque"},
	{"a word of another protocol", "PING\r\n", "a.test", false, CC_SNIFF_PASS, "opaque"},
	{"a line of another protocol", "EHLO me.test\r\n", "a.test", false, CC_SNIFF_PASS, "opaque"},
	{"perhaps a method", "GE", "a.test", false, CC_SNIFF_MORE, "opaque"},
	{"a method, no line yet", "GET / HT", "a.test", false, CC_SNIFF_MORE, "http"},
	{"151 a foreign Host", "GET / HTTP/1.1\r\nHost: evil.test\r\n\r\n", "a.test", false, CC_SNIFF_REFUSE, "http"},
	{"the same Host", "GET / HTTP/1.1\r\nHost: A.test:80\r\n\r\nbody", "a.test", false, CC_SNIFF_PASS, "http"},
	{"an invented method", "FETCH / HTTP/1.1\r\nHost: evil.test\r\n\r\n", "a.test", false, CC_SNIFF_REFUSE, "http"},
	{"a foreign absolute target", "GET http://evil.test/ HTTP/1.1\r\nHost: a.test\r\n\r\n", "a.test", false,
	 CC_SNIFF_REFUSE, "http"},
	{"CONNECT through the tunnel", "CONNECT evil.test:443 HTTP/1.1\r\nHost: a.test\r\n\r\n", "a.test", false,
	 CC_SNIFF_REFUSE, "http"},
	{"no Host", "GET / HTTP/1.1\r\n\r\n", "a.test", false, CC_SNIFF_REFUSE, "http"},
	{"HTTP/2 in clear", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "a.test", false, CC_SNIFF_REFUSE, "http"},
	{"bare LF", "GET / HTTP/1.1\nHost: a.test\n\n", "a.test", false, CC_SNIFF_REFUSE, "http"},
	{"a head that never ends", "GET / HTTP/1.1\r\nHost: a.test\r\n", "a.test", true, CC_SNIFF_REFUSE, "http"},
	{"an empty line first", "\r\nGET / HTTP/1.1\r\nHost: evil.test\r\n\r\n", "a.test", false, CC_SNIFF_REFUSE,
	 "http"},
	{"a bare empty line first", "\nGET / HTTP/1.1\r\nHost: evil.test\r\n\r\n", "a.test", false, CC_SNIFF_REFUSE,
	 "http"},
	{"an empty line, the own Host", "\r\nGET / HTTP/1.1\r\nHost: a.test\r\n\r\n", "a.test", false, CC_SNIFF_REFUSE,
	 "http"},
	{"a space first", " GET / HTTP/1.1\r\nHost: evil.test\r\n\r\n", "a.test", false, CC_SNIFF_REFUSE, "http"},
	{"tabs between", "GET\t/\tHTTP/1.1\r\nHost: evil.test\r\n\r\n", "a.test", false, CC_SNIFF_REFUSE, "http"},
	{"a form feed between", "GET\f/ HTTP/1.1\r\nHost: evil.test\r\n\r\n", "a.test", false, CC_SNIFF_REFUSE, "http"},
	{"a Latin-1 space between", "GET\xa0/ HTTP/1.1\r\nHost: evil.test\r\n\r\n", "a.test", false, CC_SNIFF_REFUSE,
	 "http"},
	{"small letters", "get / http/1.1\r\nHost: evil.test\r\n\r\n", "a.test", false, CC_SNIFF_REFUSE, "http"},
	{"small letters so far", "po", "a.test", false, CC_SNIFF_MORE, "opaque"},
	{"small letters of no method", "head of a line", "a.test", false, CC_SNIFF_MORE, "opaque"},
	{"an empty line alone, so far", "\r\n", "a.test", false, CC_SNIFF_MORE, "opaque"},
	{"an empty line alone", "\r\n", "a.test", true, CC_SNIFF_PASS, "opaque"},
	{"a TLS warning first", "\x15\x03\x01\x01\x02\x01\x64\x16\x03\x01", "a.test", false, CC_SNIFF_REFUSE, "tls"},
	{"a TLS record of another kind", "\x17\x03\x03", "a.test", false, CC_SNIFF_REFUSE, "tls"},
	{"its first byte", "\x15", "a.test", false, CC_SNIFF_MORE, "opaque"},
	{"no TLS after all", "\x15\x04", "a.test", false, CC_SNIFF_PASS, "opaque"},
	{"an old hello", "\x80\x2e\x01\x03\x01\x15", "a.test", false, CC_SNIFF_REFUSE, "tls"},
	{"an old hello to a literal", "\x80\x2e\x01\x03\x01\x15", "127.0.0.1", false, CC_SNIFF_PASS, "tls"},
	{"no old hello", "\x80\x2e\x02\x03", "a.test", false, CC_SNIFF_PASS, "opaque"},
	{"nothing, and over", "", "a.test", true, CC_SNIFF_PASS, "opaque"},
};

static void clear_text_must_name_the_host(void **state)
{
	(void)state;
	for (size_t i = 0; i < CC_COUNT(clear); i++) {
		struct cc_host host = host_of(clear[i].host);
		struct cc_sniff sniff;

		T_ROW(cc_sniff(cc_view_of(clear[i].bytes), clear[i].ended, &host, &sniff) == clear[i].want,
		      clear[i].label);
		T_ROW(clear[i].want == CC_SNIFF_MORE || strcmp(sniff.kind, clear[i].kind) == 0, clear[i].label);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(server_names_must_be_the_host),
		cmocka_unit_test(ech_is_noticed),
		cmocka_unit_test(clear_text_must_name_the_host),
	};

	return cmocka_run_group_tests_name("clienthello", tests, NULL, NULL);
}
