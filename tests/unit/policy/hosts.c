/* The numbered vectors of spec/egress 3.1 and 3.2. */
#include "../t.h"

#include "policy/hosts.h"

#define BYTES(text) text, sizeof(text) - 1

enum verdict { MALFORMED, MISS, MATCH };

static const struct {
	const char *label;
	const char *pattern;
	const char *host;
	size_t len;
	enum verdict want;
} vectors[] = {
	{"1", "api.github.com", BYTES("api.github.com"), MATCH},
	{"2", "api.github.com", BYTES("API.GitHub.COM"), MATCH},
	{"3", "api.github.com", BYTES("api.github.com."), MATCH},
	{"4", "api.github.com", BYTES("api.github.com.."), MALFORMED},
	{"5", "API.GITHUB.com", BYTES("api.github.com"), MATCH},
	{"6", "api.github.com", BYTES("evil.com"), MISS},
	{"7", "*.example.com", BYTES("example.com"), MISS},
	{"8", "*.example.com", BYTES("a.example.com"), MATCH},
	{"9", "*.example.com", BYTES("a.b.example.com"), MATCH},
	{"10", "*.example.com", BYTES("A.B.EXAMPLE.COM."), MATCH},
	{"11", "*.example.com", BYTES("evilexample.com"), MISS},
	{"12", "*.example.com", BYTES("example.com.evil.com"), MISS},
	{"13", "*.example.com", BYTES(".example.com"), MALFORMED},
	{"14", "*.example.com", BYTES("a..example.com"), MALFORMED},
	{"15", "*.example.com", BYTES("a.example.com\0.evil.com"), MALFORMED},
	{"16", "*.example.com", BYTES("evil.com\0.example.com"), MALFORMED},
	{"17", "*.example.com", BYTES("a.example.com\r\nX: y"), MALFORMED},
	{"18", "*.example.com", BYTES("a%2eexample.com"), MALFORMED},
	{"19", "*.example.com", BYTES("a b.example.com"), MALFORMED},
	{"20", "*.example.com", BYTES("user@a.example.com"), MALFORMED},
	{"21", "*.example.com",
	 BYTES("b\xc3\xbc"
	       "cher.example.com"),
	 MALFORMED},
	{"22", "*.example.com", BYTES("xn--bcher-kva.example.com"), MATCH},
	{"23", "*.example.com", BYTES("a_b.example.com"), MATCH},
	{"24", "*.example.com", BYTES("a/b.example.com"), MALFORMED},
	{"25", "*.example.com", BYTES("a\\b.example.com"), MALFORMED},
	{"26", "*.example.com", BYTES("a.example.com:443"), MALFORMED},
	{"27", "*.example.com", BYTES("-x.example.com"), MATCH},
	{"28", "*.example.com", BYTES("1.2.3.4.example.com"), MATCH},
	{"29", "*.example.com", BYTES("[::ffff:1.2.3.4%x.example.com]"), MALFORMED},
	{"30", "*.example.com", BYTES("[fe80::1%25eth0]"), MALFORMED},
	{"31", "*.example.com", BYTES(""), MALFORMED},
	{"32", "*.example.com", BYTES("."), MALFORMED},
	{"33", "bedrock.*.amazonaws.com", BYTES("bedrock.us-east-1.amazonaws.com"), MATCH},
	{"34", "bedrock.*.amazonaws.com", BYTES("bedrock.US-EAST-1.amazonaws.com."), MATCH},
	{"35", "bedrock.*.amazonaws.com", BYTES("bedrock.evil.attacker.amazonaws.com"), MISS},
	{"36", "bedrock.*.amazonaws.com", BYTES("bedrock.amazonaws.com"), MISS},
	{"37", "bedrock.*.amazonaws.com", BYTES("bedrock..amazonaws.com"), MALFORMED},
	{"38", "bedrock.*.amazonaws.com", BYTES("xbedrock.a.amazonaws.com"), MISS},
	{"39", "bedrock.*.amazonaws.com", BYTES("bedrock.a.amazonaws.com.evil.com"), MISS},
	{"40", "127.0.0.1", BYTES("127.0.0.1"), MATCH},
	{"41", "127.0.0.1", BYTES("127.0.0.1."), MATCH},
	{"42", "127.0.0.1", BYTES("127.1"), MALFORMED},
	{"43", "127.0.0.1", BYTES("2130706433"), MALFORMED},
	{"44", "127.0.0.1", BYTES("0x7f000001"), MALFORMED},
	{"45", "127.0.0.1", BYTES("0177.0.0.1"), MALFORMED},
	{"46", "127.0.0.1", BYTES("127.0.0.01"), MALFORMED},
	{"47", "127.0.0.1", BYTES("[::ffff:127.0.0.1]"), MATCH},
	{"48", "127.0.0.1", BYTES("[::FFFF:7f00:1]"), MATCH},
	{"49", "[::1]", BYTES("[::1]"), MATCH},
	{"50", "::1", BYTES("[0:0:0:0:0:0:0:1]"), MATCH},
	{"51", "::1", BYTES("[::1%lo]"), MALFORMED},
	{"52", "127.0.0.1", BYTES("1.2.3.256"), MALFORMED},
	{"55 the owner lets one label stand behind the star", "*.com", BYTES("a.b.com"), MATCH},
	{"56 likewise in the middle", "a.*.com", BYTES("a.b.com"), MATCH},
	{"64", "*.test", BYTES("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.test"), MATCH},
	{"65", "*.test", BYTES("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.test"), MALFORMED},
	{"70 surrounding blanks are cut", "  api.github.com  ", BYTES("api.github.com"), MATCH},
	{"NET-09", "allowed.test", BYTES("notallowed.test"), MISS},
	{"NET-12", "allowed.test", BYTES("[allowed.test]"), MALFORMED},
	{"NET-13 a full-width dot", "*.test", BYTES("denied\xe3\x80\x82test"), MALFORMED},
	{"a hexadecimal last label", "*.test", BYTES("a.0x1"), MALFORMED},
	{"a bare 0x", "*.test", BYTES("a.0x"), MALFORMED},
	{"the star holds at any depth only in front", "a.*.test", BYTES("b.a.c.test"), MISS},
	{"the star in a deeper place", "a.b.*.c.test", BYTES("a.b.x.c.test"), MATCH},
	{"a bracket that is empty", "*.test", BYTES("[]"), MALFORMED},
	{"a bracket alone", "*.test", BYTES("["), MALFORMED},
};

static struct cc_hosts *compile_one(const char *pattern, struct cc_err *err)
{
	struct cc_strv list = {0};
	struct cc_hosts *hosts = NULL;

	assert_int_equal(cc_strv_push(&list, pattern, err), CC_OK);
	if (cc_hosts_compile(&list, &hosts, err) != CC_OK)
		hosts = NULL;
	cc_strv_done(&list);
	return hosts;
}

static void hosts_meet_patterns(void **state)
{
	(void)state;
	for (size_t i = 0; i < CC_COUNT(vectors); i++) {
		struct cc_err err = {0};
		CC_AUTO(cc_hosts) hosts = compile_one(vectors[i].pattern, &err);
		struct cc_host host = {0};
		enum verdict got = MALFORMED;

		T_ROW(hosts != NULL, vectors[i].label);
		if (cc_host_parse((struct cc_view){vectors[i].host, vectors[i].len}, CC_HOST_URI, &host, &err) == CC_OK)
			got = cc_hosts_match(hosts, &host, 443) ? MATCH : MISS;
		T_ROW(got == vectors[i].want, vectors[i].label);
	}
}

static void bad_patterns_are_refused_by_name(void **state)
{
	static const char *const bad[][2] = {
		{"53", "*.8.8.8"},
		{"54", "*"},
		{"57", "a.*.*.com"},
		{"58", "foo*.com"},
		{"59", "a.b.*"},
		{"60", "**.b.com"},
		{"61", ""},
		{"61 blanks only", "  "},
		{"62", "https://a.b.com"},
		{"63", "a.b.com/"},
		{"a space inside", "a b.com"},
		{"a raw umlaut", "b\xc3\xbc.test"},
		{"a star before the final dot", "a.*."},
		{"a star and a dot", "*."},
		{"port 0", "a.test:0"},
		{"port 65536", "a.test:65536"},
		{"port with a leading zero", "a.test:0443"},
		{"no port behind the colon", "a.test:"},
		{"an address in another base", "127.1"},
		{"something behind the bracket", "[::1]x"},
	};

	(void)state;
	for (size_t i = 0; i < CC_COUNT(bad); i++) {
		struct cc_err err = {0};
		CC_AUTO(cc_hosts) hosts = compile_one(bad[i][1], &err);

		T_ROW(hosts == NULL, bad[i][0]);
		T_ROW(err.code == CC_EINVAL, bad[i][0]);
		T_ROW(strstr(err.what, bad[i][1]) != NULL, bad[i][0]);
	}
}

static void long_names_have_a_limit(void **state)
{
	char name[256];
	struct cc_host host;

	(void)state;
	memset(name, 'a', sizeof(name));
	for (size_t i = 49; i < sizeof(name); i += 50)
		name[i] = '.';
	assert_int_equal(cc_host_parse((struct cc_view){name, 253}, CC_HOST_URI, &host, NULL), CC_OK);     /* 66 */
	assert_int_equal(cc_host_parse((struct cc_view){name, 254}, CC_HOST_URI, &host, NULL), CC_EINVAL); /* 67 */
	name[253] = '.';
	assert_int_equal(cc_host_parse((struct cc_view){name, 254}, CC_HOST_URI, &host, NULL), CC_OK);
	assert_int_equal(strlen(host.text), 253);
	assert_int_equal(cc_host_parse((struct cc_view){name, 256}, CC_HOST_URI, &host, NULL), CC_EINVAL);
}

static void ports_narrow_an_entry(void **state)
{
	struct cc_err err = {0};
	CC_AUTO(cc_hosts) named = compile_one("*.a.test:443", &err);
	CC_AUTO(cc_hosts) literal = compile_one("[::1]:8080", &err);
	struct cc_host host;

	(void)state;
	assert_int_equal(cc_host_parse(cc_view_of("x.a.test"), CC_HOST_URI, &host, &err), CC_OK);
	assert_string_equal(cc_hosts_match(named, &host, 443), "*.a.test:443");
	assert_null(cc_hosts_match(named, &host, 80));
	assert_null(cc_hosts_match(named, &host, 0));
	assert_int_equal(cc_host_parse(cc_view_of("::1"), CC_HOST_SOCKS, &host, &err), CC_OK);
	assert_non_null(cc_hosts_match(literal, &host, 8080));
	assert_null(cc_hosts_match(literal, &host, 80));
}

static void wide_stars_are_told(void **state)
{
	(void)state;
	assert_true(cc_host_pattern_is_wide("*.com"));     /* 55 */
	assert_true(cc_host_pattern_is_wide("a.*.com"));   /* 56 */
	assert_true(cc_host_pattern_is_wide(" *.COM:80")); /* and with a port */
	assert_false(cc_host_pattern_is_wide("*.a.com"));
	assert_false(cc_host_pattern_is_wide("com"));
	assert_false(cc_host_pattern_is_wide("*"));
}

static void v6_text_is_canonical(void **state)
{
	static const char *const rows[][2] = {
		{"::", "::"},
		{"::1", "::1"},
		{"1::", "1::"},
		{"2001:DB8:0:0:0:0:0:1", "2001:db8::1"},
		{"2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"},
		{"1:0:0:2:0:0:0:3", "1:0:0:2::3"},
		{"1:0:0:2:3:0:0:4", "1::2:3:0:0:4"},
		{"1:2:3:4:5:6:7::", "1:2:3:4:5:6:7:0"},
		{"::ffff:1.2.3.4", "1.2.3.4"},
		{"64:ff9b::1.2.3.4", "64:ff9b::102:304"},
		{"1:2:3:4:5:6:7", NULL},
		{"1:2:3:4:5:6:7:8:9", NULL},
		{"1::2::3", NULL},
		{":1:2:3:4:5:6:7:8", NULL},
		{"1:2:3:4:5:6:7:", NULL},
		{"1:::2", NULL},
		{":", NULL},
		{":::", NULL},
		{"12345::", NULL},
		{"::1.2.3.4.5", NULL},
		{"::1.2.3.4:5", NULL},
		{"::01.2.3.4", NULL},
		{"1:2:3:4:5:6:7:1.2.3.4", NULL},
		{"::g", NULL},
	};

	(void)state;
	for (size_t i = 0; i < CC_COUNT(rows); i++) {
		struct cc_host host;
		enum cc_code code = cc_host_parse(cc_view_of(rows[i][0]), CC_HOST_SOCKS, &host, NULL);

		T_ROW((code == CC_OK) == (rows[i][1] != NULL), rows[i][0]);
		if (rows[i][1])
			T_ROW(strcmp(host.text, rows[i][1]) == 0, rows[i][0]);
	}
}

static const struct {
	const char *label;
	const char *addr;
	enum cc_addr_class want;
} classes[] = {
	{"71", "169.254.169.254", CC_ADDR_LINK_LOCAL},
	{"72", "127.9.9.9", CC_ADDR_LOOPBACK},
	{"73", "0.0.0.0", CC_ADDR_UNSPECIFIED},
	{"74 ten", "10.1.2.3", CC_ADDR_PRIVATE},
	{"74 172", "172.16.0.1", CC_ADDR_PRIVATE},
	{"74 192", "192.168.1.1", CC_ADDR_PRIVATE},
	{"75", "172.32.0.1", CC_ADDR_PUBLIC},
	{"76 shared", "100.64.0.1", CC_ADDR_PRIVATE},
	{"76 beyond", "100.128.0.1", CC_ADDR_PUBLIC},
	{"77", "100.100.100.200", CC_ADDR_METADATA},
	{"77", "168.63.129.16", CC_ADDR_METADATA},
	{"77", "192.0.0.192", CC_ADDR_METADATA},
	{"78", "224.0.0.1", CC_ADDR_REFUSED},
	{"78", "255.255.255.255", CC_ADDR_REFUSED},
	{"78", "240.0.0.1", CC_ADDR_REFUSED},
	{"79", "192.0.2.1", CC_ADDR_REFUSED},
	{"79", "198.18.0.1", CC_ADDR_REFUSED},
	{"79", "198.51.100.7", CC_ADDR_REFUSED},
	{"79", "203.0.113.9", CC_ADDR_REFUSED},
	{"79", "192.88.99.1", CC_ADDR_REFUSED},
	{"80", "93.184.216.34", CC_ADDR_PUBLIC},
	{"82", "64:ff9b::a9fe:a9fe", CC_ADDR_LINK_LOCAL},
	{"82", "64:ff9b::808:808", CC_ADDR_PUBLIC},
	{"82", "64:ff9b:1::1", CC_ADDR_REFUSED},
	{"83", "2002:7f00:1::1", CC_ADDR_LOOPBACK},
	{"83", "2002:808:808::1", CC_ADDR_PUBLIC},
	{"84 v4-compatible", "::7f00:1", CC_ADDR_REFUSED},
	{"84 Teredo", "2001:0:1::1", CC_ADDR_REFUSED},
	{"84", "fe80::1", CC_ADDR_LINK_LOCAL},
	{"84", "fec0::1", CC_ADDR_PRIVATE},
	{"84", "fc00::1", CC_ADDR_PRIVATE},
	{"84", "fd00:ec2::254", CC_ADDR_METADATA},
	{"84", "fd20:ce::254", CC_ADDR_METADATA},
	{"84", "fd00:c1::a9fe:a9fe", CC_ADDR_METADATA},
	{"84", "fd00:42::42", CC_ADDR_METADATA},
	{"84", "fd00:a9fe:a9fe::1", CC_ADDR_METADATA},
	{"84", "fd00:100::100:200", CC_ADDR_METADATA},
	{"84", "ff02::1", CC_ADDR_REFUSED},
	{"84", "2001:db8::1", CC_ADDR_REFUSED},
	{"84", "5f00::1", CC_ADDR_REFUSED},
	{"84 translated", "::ffff:0:7f00:1", CC_ADDR_REFUSED},
	{"85", "2606:4700::1111", CC_ADDR_PUBLIC},
	{"the last of 2000::/3", "3ffe::1", CC_ADDR_PUBLIC},
};

static void addresses_have_classes(void **state)
{
	static const uint8_t mapped_metadata[16] = {[10] = 0xff, [11] = 0xff, 169, 254, 169, 254};
	static const uint8_t mapped_public[16] = {[10] = 0xff, [11] = 0xff, 8, 8, 8, 8};

	(void)state;
	for (size_t i = 0; i < CC_COUNT(classes); i++) {
		struct cc_host host;
		enum cc_code code = cc_host_parse(cc_view_of(classes[i].addr), CC_HOST_SOCKS, &host, NULL);

		T_ROW(code == CC_OK, classes[i].addr);
		T_ROW(cc_addr_classify(host.addr, host.kind == CC_HOST_V4 ? 4 : 16) == classes[i].want,
		      classes[i].addr);
	}
	assert_int_equal(cc_addr_classify(mapped_metadata, 16), CC_ADDR_LINK_LOCAL); /* 81 */
	assert_int_equal(cc_addr_classify(mapped_public, 16), CC_ADDR_PUBLIC);
	assert_int_equal(cc_addr_classify(mapped_public, 5), CC_ADDR_REFUSED);
	assert_string_equal(cc_addr_class_name(CC_ADDR_LINK_LOCAL), "link-local");
}

static void ten_thousand_entries_still_match(void **state)
{
	struct cc_strv list = {0};
	CC_AUTO(cc_hosts) hosts = NULL;
	struct cc_err err = {0};
	struct cc_host host;

	(void)state;
	for (int i = 0; i < 10000; i++)
		T_OK(cc_strv_pushf(&list, &err, "%shost%d.test", i % 3 == 0 ? "*." : "", i), err);
	T_OK(cc_hosts_compile(&list, &hosts, &err), err);
	cc_strv_done(&list);
	T_OK(cc_host_parse(cc_view_of("a.b.host9999.test"), CC_HOST_URI, &host, &err), err);
	assert_string_equal(cc_hosts_match(hosts, &host, 80), "*.host9999.test");
	T_OK(cc_host_parse(cc_view_of("host9998.test"), CC_HOST_URI, &host, &err), err);
	assert_string_equal(cc_hosts_match(hosts, &host, 80), "host9998.test");
	T_OK(cc_host_parse(cc_view_of("a.host9998.test"), CC_HOST_URI, &host, &err), err);
	assert_null(cc_hosts_match(hosts, &host, 80));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hosts_meet_patterns),     cmocka_unit_test(bad_patterns_are_refused_by_name),
		cmocka_unit_test(long_names_have_a_limit), cmocka_unit_test(ports_narrow_an_entry),
		cmocka_unit_test(wide_stars_are_told),     cmocka_unit_test(v6_text_is_canonical),
		cmocka_unit_test(addresses_have_classes),  cmocka_unit_test(ten_thousand_entries_still_match),
	};

	return cmocka_run_group_tests_name("hosts", tests, NULL, NULL);
}
