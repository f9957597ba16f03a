#include "../t.h"

#include "os/peer.h"

#include <unistd.h>

/* Whoever goes with something unread makes the other end's next call fail; what it had said is still heard. */
static void last_words_of_one_that_did_not_listen(void **state)
{
	static struct cc_peer_msg msg;
	struct cc_err err;
	int ours, theirs;

	(void)state;
	assert_int_equal(cc_peer_pair(&ours, &theirs, &err), CC_OK);
	assert_int_equal(cc_peer_send(ours, "go", 2, NULL, 0, &err), CC_OK);
	assert_int_equal(cc_peer_send(theirs, "failed", 6, NULL, 0, &err), CC_OK);
	close(theirs);
	assert_int_equal(cc_peer_recv(ours, &msg, &err), CC_OK);
	assert_int_equal(msg.len, 6);
	assert_int_equal(cc_peer_recv(ours, &msg, &err), CC_OK);
	assert_int_equal(msg.len, 0);
	close(ours);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(last_words_of_one_that_did_not_listen)};

	return cmocka_run_group_tests_name("peer", tests, NULL, NULL);
}
