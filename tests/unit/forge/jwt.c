#define _GNU_SOURCE
#include "../t.h"

#include "forge/jwt.h"

#include <openssl/evp.h>
#include <openssl/pem.h>

static EVP_PKEY *pair;
static char *pem;

static int make_key(void **state)
{
	BIO *bio = BIO_new(BIO_s_mem());
	char *text;
	long len;

	(void)state;
	pair = EVP_RSA_gen(2048);
	if (!pair || PEM_write_bio_PrivateKey(bio, pair, NULL, NULL, 0, NULL, NULL) != 1)
		return -1;
	len = BIO_get_mem_data(bio, &text);
	pem = strndup(text, (size_t)len);
	BIO_free(bio);
	return 0;
}

static int drop_key(void **state)
{
	(void)state;
	EVP_PKEY_free(pair);
	free(pem);
	return 0;
}

/* What the word says, read without our own code. */
static size_t decode(const char *from, size_t len, unsigned char *out)
{
	char text[1024];
	int got;

	memcpy(text, from, len);
	for (size_t i = 0; i < len; i++)
		text[i] = (char)(text[i] == '-' ? '+' : text[i] == '_' ? '/' : text[i]);
	while (len % 4)
		text[len++] = '=';
	got = EVP_DecodeBlock(out, (const unsigned char *)text, (int)len);
	assert_true(got > 0);
	return (size_t)got - (text[len - 1] == '=') - (text[len - 2] == '=');
}

static void a_word_is_signed_and_says_who_and_when(void **state)
{
	CC_AUTO(cc_jwt_key) key = NULL;
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	unsigned char bytes[1024];
	struct cc_err err = {0};
	struct cc_buf out;
	const char *first, *second;
	size_t len;

	(void)state;
	cc_buf_init(&out, 4096);
	T_OK(cc_jwt_key_read(cc_view_of(pem), &key, &err), err);
	T_OK(cc_jwt_make(key, "4711", 1700000000, &out, &err), err);
	first = strchr(out.data, '.');
	second = strrchr(out.data, '.');
	assert_non_null(first);
	assert_true(second > first);
	assert_null(strpbrk(out.data, "+/="));
	len = decode(out.data, (size_t)(first - out.data), bytes);
	bytes[len] = '\0';
	assert_string_equal((char *)bytes, "{\"alg\":\"RS256\",\"typ\":\"JWT\"}");
	len = decode(first + 1, (size_t)(second - first) - 1, bytes);
	bytes[len] = '\0';
	assert_string_equal((char *)bytes, "{\"iat\":1699999940,\"exp\":1700000480,\"iss\":\"4711\"}");
	len = decode(second + 1, strlen(second + 1), bytes);
	assert_int_equal(EVP_DigestVerifyInit(context, NULL, EVP_sha256(), NULL, pair), 1);
	assert_int_equal(
		EVP_DigestVerify(context, bytes, len, (const unsigned char *)out.data, (size_t)(second - out.data)), 1);
	EVP_MD_CTX_free(context);
	cc_buf_done(&out);
}

static void what_is_no_key_is_refused(void **state)
{
	static const char *const texts[] = {"", "x", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"};
	CC_AUTO(cc_jwt_key) key = NULL;

	(void)state;
	for (size_t i = 0; i < CC_COUNT(texts); i++)
		T_ROW(cc_jwt_key_read(cc_view_of(texts[i]), &key, NULL) == CC_EINVAL, texts[i]);
	assert_null(key);
}

static void base64_of_every_length(void **state)
{
	static const struct {
		const char *plain, *text, *url;
	} table[] = {
		{"", "", ""},
		{"f", "Zg==", "Zg"},
		{"fo", "Zm8=", "Zm8"},
		{"foo", "Zm9v", "Zm9v"},
		{"foob", "Zm9vYg==", "Zm9vYg"},
		{"\xfb\xff\xfe", "+//+", "-__-"},
	};

	(void)state;
	for (size_t i = 0; i < CC_COUNT(table); i++) {
		struct cc_buf out;

		for (int url = 0; url < 2; url++) {
			cc_buf_init(&out, 64);
			cc_base64(&out, table[i].plain, strlen(table[i].plain), url);
			T_ROW(strcmp(out.data ? out.data : "", url ? table[i].url : table[i].text) == 0, table[i].text);
			cc_buf_done(&out);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_word_is_signed_and_says_who_and_when),
		cmocka_unit_test(what_is_no_key_is_refused),
		cmocka_unit_test(base64_of_every_length),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, make_key, drop_key);
}
