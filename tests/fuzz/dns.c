/* A question that was understood is repeated in its answer byte by byte, and an answer is never larger than it may be.
 */
#include "parse/dns.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const uint8_t given[4] = {198, 18, 0, 1};
	struct cc_dns_query query;
	uint8_t out[CC_DNS_MAX];
	uint8_t addr[4];
	size_t len;

	if (!cc_dns_parse((struct cc_view){(const char *)data, size}, &query))
		return 0;
	assert(query.name_len < sizeof(query.name));
	len = cc_dns_answer(&query, CC_DNS_OK, given, NULL, out);
	assert(len >= 12 && len <= CC_DNS_MAX && memcmp(out, data, 2) == 0 && (out[2] & 0x80));
	assert(!query.plain || (query.question.len >= 5 && memcmp(out + 12, data + 12, query.question.len) == 0));
	assert(cc_dns_answer(&query, CC_DNS_NO_NAME, given, NULL, out) == len - 16);
	len = cc_dns_answer(&query, CC_DNS_OK, NULL, "some.name.test", out);
	assert(len <= CC_DNS_MAX);
	(void)cc_dns_reverse(&query, addr);
	return 0;
}
