#include "../t.h"

#include "push/advert.h"
#include "push/commands.h"
#include "push/pktline.h"
#include "push/report.h"

#define A    "1111111111111111111111111111111111111111"
#define B    "2222222222222222222222222222222222222222"
#define ZERO "0000000000000000000000000000000000000000"
#define CAPS "\001 report-status side-band-64k object-format=sha1" /* \001 stands for the zero byte */
#define WIDE A "333333333333333333333333"

/* Lines of packets: "!" is a flush, anything else a packet with these bytes. */
static void packets(struct cc_buf *out, const char *const *lines)
{
	cc_buf_init(out, 1 << 20);
	for (; *lines; lines++) {
		char text[1024];
		size_t len = strlen(*lines);

		memcpy(text, *lines, len);
		for (size_t i = 0; i < len; i++)
			text[i] = text[i] == '\001' ? '\0' : text[i];
		if (strcmp(*lines, "!") == 0)
			cc_pkt_flush(out);
		else
			cc_pkt_add(out, (struct cc_view){text, len});
	}
}

static void lists(void **state)
{
	static const struct {
		const char *label;
		const char *lines[14];
		enum cc_push_step want;
		size_t count;
	} rows[] = {
		{"git's question", {"!"}, CC_PUSH_DONE, 0},
		{"one", {ZERO " " A " refs/heads/x" CAPS, "!"}, CC_PUSH_DONE, 1},
		{"with line ends",
		 {ZERO " " A " refs/heads/x" CAPS "\n", A " " B " refs/heads/y\n", "!"},
		 CC_PUSH_DONE,
		 2},
		{"no capabilities", {A " " ZERO " refs/heads/x", "!"}, CC_PUSH_DONE, 1},
		{"shallow", {"shallow " A, "shallow " B "\n", ZERO " " A " refs/heads/x" CAPS, "!"}, CC_PUSH_DONE, 1},
		{"options", {ZERO " " A " refs/heads/x" CAPS " push-options", "!", "a=b", "!"}, CC_PUSH_DONE, 1},
		{"options to come", {ZERO " " A " refs/heads/x" CAPS " push-options", "!"}, CC_PUSH_MORE, 1},
		{"not over", {ZERO " " A " refs/heads/x" CAPS}, CC_PUSH_MORE, 1},
		{"sha256", {WIDE " " WIDE " refs/heads/x\001object-format=sha256", "!"}, CC_PUSH_DONE, 1},
		{"a certificate",
		 {"push-cert" CAPS "\n", "certificate version 0.1\n", "nonce x\n", "\n", ZERO " " A " refs/heads/x\n",
		  A " " B " refs/heads/y\n", "-----BEGIN PGP SIGNATURE-----\n", "junk\n",
		  "-----END PGP SIGNATURE-----\n", "push-cert-end\n", "!"},
		 CC_PUSH_DONE,
		 2},
		{"two hashes", {A " " WIDE " refs/heads/x", "!"}, CC_PUSH_BAD, 0},
		{"another hash than said", {A " " A " refs/heads/x\001object-format=sha256", "!"}, CC_PUSH_BAD, 0},
		{"an unknown hash", {A " " A " refs/heads/x\001object-format=md5", "!"}, CC_PUSH_BAD, 0},
		{"twice", {ZERO " " A " refs/heads/x", ZERO " " B " refs/heads/x", "!"}, CC_PUSH_BAD, 0},
		{"neither was nor is", {ZERO " " ZERO " refs/heads/x", "!"}, CC_PUSH_BAD, 0},
		{"capital digits",
		 {ZERO " AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA refs/heads/x", "!"},
		 CC_PUSH_BAD,
		 0},
		{"no name", {ZERO " " A, "!"}, CC_PUSH_BAD, 0},
		{"capabilities later",
		 {ZERO " " A " refs/heads/x", ZERO " " B " refs/heads/y" CAPS, "!"},
		 CC_PUSH_BAD,
		 0},
		{"two zero bytes", {ZERO " " A " refs/heads/x\001a\001b", "!"}, CC_PUSH_BAD, 0},
		{"an empty line", {"", "!"}, CC_PUSH_BAD, 0},
		{"shallow after a command", {ZERO " " A " refs/heads/x", "shallow " A, "!"}, CC_PUSH_BAD, 0},
		{"a certificate and more",
		 {"push-cert" CAPS "\n", "certificate version 0.1\n", "\n", ZERO " " A " refs/heads/x\n",
		  "-----BEGIN X-----\n", "push-cert-end\n", ZERO " " A " refs/heads/y\n", "!"},
		 CC_PUSH_BAD,
		 0},
		{"a certificate after a command", {ZERO " " A " refs/heads/x", "push-cert", "!"}, CC_PUSH_BAD, 0},
		{"a certificate without an end",
		 {"push-cert" CAPS "\n", "certificate version 0.1\n", "\n", ZERO " " A " refs/heads/x\n", "!"},
		 CC_PUSH_BAD,
		 0},
		{"a certificate without a command",
		 {"push-cert" CAPS "\n", "\n", "-----BEGIN X-----\n", "push-cert-end\n", "!"},
		 CC_PUSH_BAD,
		 0},
		{"two signatures, commands between",
		 {"push-cert" CAPS "\n", "\n", ZERO " " A " refs/heads/x\n", "-----BEGIN X-----\n",
		  ZERO " " A " refs/heads/y\n", "-----BEGIN X-----\n", "push-cert-end\n", "!"},
		 CC_PUSH_BAD,
		 0},
		{"two lines in one packet",
		 {"push-cert" CAPS "\n", "\n", ZERO " " A " refs/heads/x\n" ZERO " " B " refs/heads/y\n", "!"},
		 CC_PUSH_BAD,
		 0},
	};

	(void)state;
	for (size_t i = 0; i < CC_COUNT(rows); i++) {
		struct cc_push_list list = {0};
		struct cc_err err = {0};
		struct cc_buf bytes;
		size_t used;

		packets(&bytes, rows[i].lines);
		T_ROW(cc_push_feed(&list, cc_buf_view(&bytes), &used, &err) == rows[i].want, rows[i].label);
		T_ROW(rows[i].want == CC_PUSH_BAD || (list.count == rows[i].count && used == bytes.len), rows[i].label);
		T_ROW(rows[i].want != CC_PUSH_BAD || err.what[0], rows[i].label);
		cc_push_list_done(&list);
		cc_buf_done(&bytes);
	}
}

static void names(void **state)
{
	static const struct {
		const char *name;
		bool ok;
	} rows[] = {
		{"refs/heads/x", true},
		{"refs/heads/x/y", true},
		{"refs/heads/x.y", true},
		{"refs/heads/@", true},
		{"refs/heads/-x", true},
		{"refs/heads/\xc3\xa9", true},
		{"refs/heads/a{b}", true},
		{"refs/x", false},
		{"refs/", false},
		{"heads/x/y", false},
		{"HEAD", false},
		{"", false},
		{"refs/heads/", false},
		{"refs//x", false},
		{"refs/heads/.x", false},
		{"refs/heads/x.", false},
		{"refs/heads/x..y", false},
		{"refs/heads/x.lock", false},
		{"refs/x.lock/y", false},
		{"refs/heads/x y", false},
		{"refs/heads/x~", false},
		{"refs/heads/x^", false},
		{"refs/heads/x:y", false},
		{"refs/heads/x?", false},
		{"refs/heads/x*", false},
		{"refs/heads/x[", false},
		{"refs/heads/x\\y", false},
		{"refs/heads/x@{y", false},
		{"refs/heads/x\x7f", false},
		{"refs/heads/x\ny", false},
		{"refs/heads/../x", false},
	};

	(void)state;
	for (size_t i = 0; i < CC_COUNT(rows); i++)
		T_ROW(cc_push_ref_ok(cc_view_of(rows[i].name)) == rows[i].ok, rows[i].name);
}

static void lengths(void **state)
{
	static const struct {
		const char *bytes;
		enum cc_pkt want;
	} rows[] = {
		{"", CC_PKT_MORE},      {"00", CC_PKT_MORE},         {"0000", CC_PKT_FLUSH}, {"0001", CC_PKT_DELIM},
		{"0002", CC_PKT_END},   {"0003", CC_PKT_BAD},        {"0004", CC_PKT_DATA},  {"0006ab", CC_PKT_DATA},
		{"0006a", CC_PKT_MORE}, {"fff1", CC_PKT_BAD},        {"fff0", CC_PKT_MORE},  {"00x4", CC_PKT_BAD},
		{"x", CC_PKT_BAD},      {"000Aabcdef", CC_PKT_DATA}, {" 004", CC_PKT_BAD},   {"-001", CC_PKT_BAD},
	};

	(void)state;
	for (size_t i = 0; i < CC_COUNT(rows); i++) {
		struct cc_view data;
		size_t used;

		T_ROW(cc_pkt_take(cc_view_of(rows[i].bytes), &data, &used) == rows[i].want, rows[i].bytes);
	}
}

static void reports(void **state)
{
	static const char *const lines[] = {ZERO " " A " refs/heads/x" CAPS, A " " B " refs/heads/y", "!", NULL};
	static const char *const why[] = {NULL, "no\nway"};
	struct cc_push_list list = {0};
	struct cc_err err = {0};
	struct cc_buf bytes, out;
	size_t used;

	(void)state;
	packets(&bytes, lines);
	assert_int_equal(cc_push_feed(&list, cc_buf_view(&bytes), &used, &err), CC_PUSH_DONE);
	cc_buf_init(&out, 65536);
	cc_push_report(&out, &list, why, "it is refused", NULL);
	assert_non_null(strstr(out.data, "\002ccbox: it is refused\n"));
	assert_memory_equal(out.data + out.len - 4, "0000", 4);
	assert_non_null(strstr(out.data, "\001000eunpack ok\n"));
	assert_non_null(strstr(out.data, "ng refs/heads/x another reference of this push was refused\n"));
	assert_non_null(strstr(out.data, "ng refs/heads/y no?way\n"));
	cc_buf_reset(&out);
	list.side_band = false;
	cc_push_report(&out, &list, NULL, "it is refused", "broken");
	assert_true(strncmp(out.data, "0012unpack broken\n", 18) == 0);
	assert_non_null(strstr(out.data, "ng refs/heads/y broken\n"));
	assert_null(strstr(out.data, "ccbox"));
	cc_buf_reset(&out);
	list.report = false;
	cc_push_report(&out, &list, NULL, "it is refused", NULL);
	assert_int_equal(out.len, 0);
	cc_push_list_done(&list);
	cc_buf_done(&bytes);
	cc_buf_done(&out);
}

static void advertisements(void **state)
{
	static const struct {
		const char *label;
		const char *lines[10];
		enum cc_push_step want;
		size_t count;
	} rows[] = {
		{"some",
		 {"# service=git-receive-pack\n", "!", A " refs/heads/a\001caps\n", B " refs/heads/b\n", "!"},
		 CC_PUSH_DONE,
		 2},
		{"version 1",
		 {"# service=git-receive-pack\n", "!", "version 1\n", A " refs/heads/a\001caps\n", "!"},
		 CC_PUSH_DONE,
		 1},
		{"none", {"# service=git-receive-pack\n", "!", ZERO " capabilities^{}\001caps", "!"}, CC_PUSH_DONE, 0},
		{"what it has for others",
		 {"# service=git-receive-pack\n", "!", A " .have\001caps", "shallow " A, "!"},
		 CC_PUSH_DONE,
		 0},
		{"where strangers put theirs",
		 {"# service=git-receive-pack\n", "!", A " refs/heads/a\001caps\n", B " refs/pull/1/head\n", "!"},
		 CC_PUSH_DONE,
		 1},
		{"another service", {"# service=git-upload-pack\n", "!"}, CC_PUSH_BAD, 0},
		{"no service", {A " refs/heads/a\001caps\n", "!"}, CC_PUSH_BAD, 0},
		{"rubbish", {"# service=git-receive-pack\n", "!", "hello", "!"}, CC_PUSH_BAD, 0},
		{"not over", {"# service=git-receive-pack\n", "!", A " refs/heads/a\001caps\n"}, CC_PUSH_MORE, 1},
	};

	(void)state;
	for (size_t i = 0; i < CC_COUNT(rows); i++) {
		struct cc_push_advert advert = {0};
		struct cc_err err = {0};
		struct cc_buf bytes;
		size_t used;

		packets(&bytes, rows[i].lines);
		T_ROW(cc_push_advert_feed(&advert, cc_buf_view(&bytes), &used, &err) == rows[i].want, rows[i].label);
		T_ROW(rows[i].want == CC_PUSH_BAD || advert.count == rows[i].count, rows[i].label);
		cc_push_advert_done(&advert);
		cc_buf_done(&bytes);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists),   cmocka_unit_test(names),          cmocka_unit_test(lengths),
		cmocka_unit_test(reports), cmocka_unit_test(advertisements),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
