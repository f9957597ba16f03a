#define _GNU_SOURCE
#include "../t.h"

#include "live/inside.h"

static void add(struct cc_ring *ring, uint64_t seq, size_t len)
{
	char *line = calloc(1, len + 1);

	assert_non_null(line);
	memset(line, 'a' + (int)(seq % 26), len);
	cc_ring_add(ring, seq, line, len);
	free(line);
}

static void what_was_added_is_there_in_order(void **state)
{
	struct cc_ring ring = {0};
	uint64_t at;

	(void)state;
	assert_null(cc_ring_get(&ring, 1, &at));
	for (uint64_t seq = 1; seq <= 1000; seq++)
		add(&ring, seq, 10);
	for (uint64_t seq = 1; seq <= 1000; seq++) {
		const struct cc_ring_entry *entry = cc_ring_get(&ring, seq, &at);

		assert_non_null(entry);
		assert_int_equal(at, seq);
		assert_int_equal(entry->line[0], 'a' + (int)(seq % 26));
	}
	assert_null(cc_ring_get(&ring, 1001, &at));
	cc_ring_done(&ring);
}

static void the_oldest_go_by_count(void **state)
{
	struct cc_ring ring = {0};
	uint64_t at;

	(void)state;
	for (uint64_t seq = 1; seq <= CC_LIVE_RING_ENTRIES + 100; seq++)
		add(&ring, seq, 1);
	assert_int_equal(ring.count, CC_LIVE_RING_ENTRIES);
	assert_non_null(cc_ring_get(&ring, 1, &at));
	assert_int_equal(at, 101);
	assert_non_null(cc_ring_get(&ring, CC_LIVE_RING_ENTRIES + 100, &at));
	cc_ring_done(&ring);
}

static void the_oldest_go_by_bytes(void **state)
{
	struct cc_ring ring = {0};
	uint64_t at;

	(void)state;
	for (uint64_t seq = 1; seq <= 20; seq++)
		add(&ring, seq, 1 << 20);
	assert_true(ring.bytes <= CC_LIVE_RING_BYTES);
	assert_non_null(cc_ring_get(&ring, 1, &at));
	assert_int_equal(at, 13);
	assert_non_null(cc_ring_get(&ring, 20, &at));
	cc_ring_done(&ring);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_added_is_there_in_order),
		cmocka_unit_test(the_oldest_go_by_count),
		cmocka_unit_test(the_oldest_go_by_bytes),
	};

	return cmocka_run_group_tests_name("ring", tests, NULL, NULL);
}
