#include "forge/jwt.h"

#include "wire/json.h"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

enum { ISSUED_BEFORE = 60, LIFE = 540, BITS_MIN = 2048, PEM_MAX = 64 << 10, SIGNATURE_MAX = 2048 };

struct cc_jwt_key {
	EVP_PKEY *pkey;
};

/* Nobody is asked for a pass phrase. */
static int no_phrase(char *out, int cap, int writing, void *context)
{
	(void)out;
	(void)cap;
	(void)writing;
	(void)context;
	return -1;
}

enum cc_code cc_jwt_key_read(struct cc_view pem, struct cc_jwt_key **out_key, struct cc_err *err)
{
	CC_AUTO(cc_jwt_key) key = calloc(1, sizeof(*key));
	BIO *bio = pem.len <= PEM_MAX ? BIO_new_mem_buf(pem.ptr, (int)pem.len) : NULL;

	if (!key || !bio) {
		BIO_free(bio);
		return cc_fail(err, CC_ELIMIT, 0, "the key is too large");
	}
	key->pkey = PEM_read_bio_PrivateKey(bio, NULL, no_phrase, NULL);
	BIO_free(bio);
	if (!key->pkey)
		return cc_fail(err, CC_EINVAL, 0, "not a private key in PEM without a pass phrase");
	if (EVP_PKEY_get_base_id(key->pkey) != EVP_PKEY_RSA || EVP_PKEY_get_bits(key->pkey) < BITS_MIN)
		return cc_fail(err, CC_EINVAL, 0, "not an RSA key of at least %d bits", BITS_MIN);
	*out_key = cc_jwt_key_take(&key);
	return CC_OK;
}

void cc_jwt_key_free(struct cc_jwt_key *key)
{
	if (!key)
		return;
	EVP_PKEY_free(key->pkey);
	free(key);
}

void cc_base64(struct cc_buf *out, const void *bytes, size_t len, bool url)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	static const char safe[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
	const char *alphabet = url ? safe : plain;
	const unsigned char *at = bytes;

	for (; len; at += len < 3 ? len : 3, len -= len < 3 ? len : 3) {
		unsigned group = (unsigned)at[0] << 16 | (len > 1 ? (unsigned)at[1] << 8 : 0) | (len > 2 ? at[2] : 0);
		char four[4] = {alphabet[group >> 18], alphabet[group >> 12 & 63],
				len > 1 ? alphabet[group >> 6 & 63] : '=', len > 2 ? alphabet[group & 63] : '='};

		cc_buf_add(out, four, url && len < 3 ? len + 1 : 4);
	}
}

static void write_claims(const char *issuer, int64_t now, struct cc_buf *out)
{
	struct cc_buf claims;
	struct cc_jsonw w;

	cc_buf_init(&claims, 4096);
	cc_jsonw_init(&w, &claims);
	cc_jsonw_object(&w);
	cc_jsonw_kint(&w, "iat", now - ISSUED_BEFORE);
	cc_jsonw_kint(&w, "exp", now - ISSUED_BEFORE + LIFE);
	cc_jsonw_kstr(&w, "iss", issuer);
	cc_jsonw_end(&w);
	out->failed |= claims.failed;
	cc_base64(out, claims.data, claims.len, true);
	cc_buf_done(&claims);
}

enum cc_code cc_jwt_make(const struct cc_jwt_key *key, const char *issuer, int64_t now, struct cc_buf *out,
			 struct cc_err *err)
{
	static const char head[] = "{\"alg\":\"RS256\",\"typ\":\"JWT\"}";
	unsigned char signature[SIGNATURE_MAX];
	size_t len = sizeof(signature);
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	bool good;

	cc_buf_reset(out);
	cc_base64(out, head, sizeof(head) - 1, true);
	cc_buf_adds(out, ".");
	write_claims(issuer, now, out);
	good = context && !out->failed && EVP_DigestSignInit(context, NULL, EVP_sha256(), NULL, key->pkey) == 1 &&
	       EVP_DigestSign(context, signature, &len, (const unsigned char *)out->data, out->len) == 1;
	EVP_MD_CTX_free(context);
	if (!good)
		return cc_fail(err, CC_ESYS, 0, "the key does not sign");
	cc_buf_adds(out, ".");
	cc_base64(out, signature, len, true);
	return cc_buf_check(out, "the signed word", err);
}
