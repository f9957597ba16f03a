#define _GNU_SOURCE
#include "../t.h"

#include "store/store.h"

#include <stdlib.h>
#include <unistd.h>

static char path[] = "/tmp/ccbox-store-XXXXXX";
static char file[64];

static int make_place(void **state)
{
	(void)state;
	if (!mkdtemp(path))
		return -1;
	snprintf(file, sizeof(file), "%s/db", path);
	return 0;
}

static int remove_place(void **state)
{
	static const char *const suffixes[] = {"", "-wal", "-shm"};
	char name[80];

	(void)state;
	for (size_t i = 0; i < CC_COUNT(suffixes); i++) {
		snprintf(name, sizeof(name), "%s%s", file, suffixes[i]);
		unlink(name);
	}
	return rmdir(path);
}

static struct cc_store *reopen(struct cc_store *store)
{
	struct cc_err err;

	cc_store_close(store);
	T_OK(cc_store_open(file, &store, &err), err);
	return store;
}

static char *written(struct cc_store *store, const char *id)
{
	static char out[4096];
	struct cc_buf text;
	struct cc_jsonw w;
	struct cc_err err;

	cc_buf_init(&text, sizeof(out) - 1);
	cc_jsonw_init(&w, &text);
	if (cc_store_session_write(store, id, &w, &err) != CC_OK)
		snprintf(out, sizeof(out), "%s", err.what);
	else
		snprintf(out, sizeof(out), "%s", text.data);
	cc_buf_done(&text);
	return out;
}

static int64_t swept_pid;

static void on_swept(void *context, const char *id, int64_t pid)
{
	(void)context;
	assert_string_equal(id, "a::b");
	swept_pid = pid;
}

static void sessions_outlive_the_store(void **state)
{
	struct cc_store_session row = {
		.id = "a::b", .workspace = "w", .backend = "native", .request = "{}", .created_ms = 5};
	struct cc_store *store = NULL;
	int64_t first, second;
	struct cc_err err;

	(void)state;
	store = reopen(store);
	T_OK(cc_store_session_add(store, &row, &first, &err), err);
	T_OK(cc_store_session_set(store, first, "none", "destroyed", "stopped", 0, 6, &err), err);
	T_OK(cc_store_session_add(store, &row, &second, &err), err);
	assert_true(second > first);
	T_OK(cc_store_session_set(store, second, "native", "warm", NULL, 4242, 7, &err), err);
	store = reopen(store);
	assert_non_null(strstr(written(store, "a::b"), "\"state\":\"warm\""));
	assert_non_null(strstr(written(store, "b"), "no session"));
	T_OK(cc_store_sweep(store, "lost", 8, on_swept, NULL, &err), err);
	assert_int_equal(swept_pid, 4242);
	assert_non_null(strstr(written(store, "a::b"), "\"state\":\"destroyed\",\"reason\":\"lost\""));
	cc_store_close(store);
}

static void events_wait_for_the_flush_and_come_in_order(void **state)
{
	struct cc_store_session row = {.id = "e", .workspace = "w", .backend = "native"};
	struct cc_store *store = NULL;
	struct cc_buf out;
	int64_t n;
	struct cc_err err;

	(void)state;
	store = reopen(store);
	T_OK(cc_store_session_add(store, &row, &n, &err), err);
	T_OK(cc_store_event_add(store, n, 2, "exit", cc_view_of("two\n"), &err), err);
	T_OK(cc_store_event_add(store, n, 1, "ready", cc_view_of("one\n"), &err), err);
	T_OK(cc_store_run_begin(store, n, 1, "[]", 1, &err), err);
	T_OK(cc_store_run_end(store, n, 1, 3, 2, &err), err);
	assert_true(cc_store_waits(store));
	T_OK(cc_store_flush(store, &err), err);
	assert_false(cc_store_waits(store));
	store = reopen(store);
	cc_buf_init(&out, 100);
	T_OK(cc_store_events_write(store, "e", 0, &out, &err), err);
	assert_string_equal(out.data, "one\ntwo\n");
	cc_buf_reset(&out);
	T_OK(cc_store_events_write(store, "e", 1, &out, &err), err);
	assert_string_equal(out.data, "two\n");
	cc_buf_done(&out);
	cc_store_close(store);
}

static void the_oldest_go_as_new_ones_come(void **state)
{
	struct cc_store_session row = {.id = "old", .workspace = "w", .backend = "native"};
	struct cc_store *store = NULL;
	struct cc_buf out;
	int64_t n, living;
	struct cc_err err;

	(void)state;
	store = reopen(store);
	T_OK(cc_store_session_add(store, &row, &n, &err), err);
	T_OK(cc_store_event_add(store, n, 1, "ready", cc_view_of("one\n"), &err), err);
	T_OK(cc_store_session_set(store, n, "native", "destroyed", "stopped", 0, 6, &err), err);
	row.id = "living";
	T_OK(cc_store_session_add(store, &row, &living, &err), err);
	T_OK(cc_store_session_set(store, living, "native", "warm", NULL, 1, 6, &err), err);
	row.id = "new";
	for (int i = 0; i < CC_STORE_SESSIONS_KEPT; i++) {
		assert_true(i > CC_STORE_SESSIONS_KEPT - 3 || !strstr(written(store, "old"), "no session"));
		T_OK(cc_store_session_add(store, &row, &n, &err), err);
		T_OK(cc_store_session_set(store, n, "native", "destroyed", "stopped", 0, 6, &err), err);
	}
	assert_non_null(strstr(written(store, "old"), "no session"));
	assert_null(strstr(written(store, "living"), "no session"));
	cc_buf_init(&out, 100);
	T_OK(cc_store_events_write(store, "old", 0, &out, &err), err);
	assert_int_equal(out.len, 0);
	cc_buf_done(&out);
	cc_store_close(store);
}

static void checkouts_belong_to_workspaces(void **state)
{
	struct cc_store *store = NULL;
	struct cc_strv paths = {0};
	int64_t one, again, two;
	struct cc_err err;

	(void)state;
	store = reopen(store);
	T_OK(cc_store_repo_add(store, "w", "/a", 1, &one, &err), err);
	T_OK(cc_store_repo_add(store, "w", "/a", 2, &again, &err), err);
	T_OK(cc_store_repo_add(store, "v", "/b'; DROP TABLE repos; --", 1, &two, &err), err);
	assert_int_equal(one, again);
	store = reopen(store);
	T_OK(cc_store_repo_paths(store, "v", &paths, &err), err);
	assert_int_equal(paths.count, 1);
	assert_string_equal(paths.items[0], "/b'; DROP TABLE repos; --");
	cc_strv_done(&paths);
	T_OK(cc_store_workspace_remove(store, "w", &err), err);
	assert_int_equal(cc_store_workspace_remove(store, "w", &err), CC_ENOTFOUND);
	assert_int_equal(cc_store_repo_remove(store, one, &err), CC_ENOTFOUND);
	T_OK(cc_store_repo_remove(store, two, &err), err);
	cc_store_close(store);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sessions_outlive_the_store),
		cmocka_unit_test(events_wait_for_the_flush_and_come_in_order),
		cmocka_unit_test(the_oldest_go_as_new_ones_come),
		cmocka_unit_test(checkouts_belong_to_workspaces),
	};

	return cmocka_run_group_tests_name("store", tests, make_place, remove_place);
}
