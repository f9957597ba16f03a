/* A canonical host is its own canonical form, and what matches as written matches in canonical spelling. */
#include "policy/hosts.h"

#include <assert.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cc_view raw = {(const char *)data, size};
	CC_AUTO(cc_hosts) hosts = NULL;
	struct cc_strv list = {0};
	struct cc_host host;
	struct cc_host again;
	struct cc_err err;

	for (int form = CC_HOST_URI; form <= CC_HOST_SOCKS; form++) {
		if (cc_host_parse(raw, (enum cc_host_form)form, &host, &err) != CC_OK)
			continue;
		assert(host.kind != CC_HOST_BAD && host.text[0] && strlen(host.text) <= 253);
		assert(cc_host_parse(cc_view_of(host.text), CC_HOST_SOCKS, &again, &err) == CC_OK);
		assert(again.kind == host.kind && strcmp(again.text, host.text) == 0);
		assert(memcmp(again.addr, host.addr, sizeof(host.addr)) == 0);
		if (host.kind != CC_HOST_NAME)
			assert(cc_addr_class_name(cc_addr_classify(host.addr, host.kind == CC_HOST_V4 ? 4 : 16)));
	}
	if (size < 300 && !memchr(data, 0, size) && cc_strv_push_view(&list, raw, &err) == CC_OK &&
	    cc_hosts_compile(&list, &hosts, &err) == CC_OK) {
		(void)cc_host_pattern_is_wide(list.items[0]);
		if (cc_host_parse(raw, CC_HOST_SOCKS, &host, &err) == CC_OK)
			assert(cc_hosts_match(hosts, &host, 443));
	}
	cc_strv_done(&list);
	return 0;
}
