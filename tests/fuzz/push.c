/* A list of commands and an advertisement give the same in one piece and byte by byte; what is accepted has names and
 * ids that are well formed, and none twice. */
#define _GNU_SOURCE
#include "push/advert.h"
#include "push/commands.h"
#include "push/report.h"

#include <assert.h>
#include <stdint.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static enum cc_push_step feed(struct cc_push_list *list, struct cc_view in, size_t piece, size_t *out_all)
{
	enum cc_push_step step = CC_PUSH_MORE;
	size_t end = 0;

	*out_all = 0;
	while (step == CC_PUSH_MORE && end < in.len) {
		struct cc_err err = {0};
		size_t used;

		end = in.len - end < piece ? in.len : end + piece;
		step = cc_push_feed(list, (struct cc_view){in.ptr + *out_all, end - *out_all}, &used, &err);
		assert(*out_all + used <= end);
		assert(step != CC_PUSH_BAD || err.what[0]);
		*out_all += used;
	}
	return step;
}

static void look(const struct cc_push_list *list)
{
	struct cc_buf out;

	assert(list->count <= CC_PUSH_COMMANDS);
	for (size_t i = 0; i < list->count; i++) {
		const struct cc_push_command *command = &list->items[i];

		assert(cc_push_ref_ok(cc_view_of(command->ref)));
		assert(command->old[0] || command->new[0]);
		assert(!command->old[0] ||
		       (cc_push_oid_ok(cc_view_of(command->old)) && strlen(command->old) == list->oid));
		assert(!command->new[0] ||
		       (cc_push_oid_ok(cc_view_of(command->new)) && strlen(command->new) == list->oid));
		for (size_t j = 0; j < i; j++)
			assert(strcmp(command->ref, list->items[j].ref) != 0);
	}
	cc_buf_init(&out, 16 << 20);
	cc_push_report(&out, list, NULL, "refused", NULL);
	assert(!out.failed);
	cc_buf_done(&out);
}

static void advertise(struct cc_view in)
{
	struct cc_push_advert one = {0}, two = {0};
	struct cc_err err;
	enum cc_push_step first, second = CC_PUSH_MORE;
	size_t used, all = 0;

	first = cc_push_advert_feed(&one, in, &used, &err);
	for (size_t end = 1; second == CC_PUSH_MORE && end <= in.len; end++) {
		second = cc_push_advert_feed(&two, (struct cc_view){in.ptr + all, end - all}, &used, &err);
		all += used;
	}
	assert(first == second && (first == CC_PUSH_BAD || one.count == two.count));
	cc_push_advert_done(&one);
	cc_push_advert_done(&two);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cc_view in = {(const char *)data, size};
	struct cc_push_list one = {0}, two = {0};
	size_t used_one, used_two;
	enum cc_push_step first = feed(&one, in, size ? size : 1, &used_one);
	enum cc_push_step second = feed(&two, in, 1, &used_two);

	assert(first == second);
	if (first != CC_PUSH_BAD)
		assert(used_one == used_two && one.count == two.count && one.place == two.place);
	if (first == CC_PUSH_DONE)
		look(&one);
	cc_push_list_done(&one);
	cc_push_list_done(&two);
	advertise(in);
	return 0;
}
