#define _GNU_SOURCE
#include "tools/walk.h"

#include "base/mem.h"
#include "os/clock.h"
#include "os/fd.h"
#include "tools/text.h"

#include <errno.h>
#include <fcntl.h>
#include <regex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	LINES = 200,
	FILES = 200,
	FILE_MAX = 2 << 20,
	LINE_LOOKED_AT = 4096,
	LINE_SHOWN = 400,
	PATTERN_MAX = 500,
	REPEAT_MAX = 100,
	REPEATS_MAX = 200,
	SECONDS = 20,
	FUZZY_MAX = 100,
	FUZZY_USUAL = 25,
};

/* What makes a regular expression take for ever: back references, and counts of counts. */
static enum cc_code check_pattern(const char *text, struct cc_err *err)
{
	bool set = false;
	long counts = 0, times = 1;

	if (!*text || strlen(text) > PATTERN_MAX)
		return cc_fail(err, CC_EINVAL, 0, "the pattern is empty or longer than %d bytes", PATTERN_MAX);
	for (const char *at = text; *at; at++) {
		if (*at == '\\' && at[1]) {
			at++;
			if (*at >= '1' && *at <= '9')
				return cc_fail(err, CC_EINVAL, 0, "back references are not offered");
		} else if (*at == '[') {
			set = true;
		} else if (*at == ']') {
			set = false;
		} else if (*at == '{' && !set) {
			char *end;
			long low = strtol(at + 1, &end, 10), high = *end == ',' ? strtol(end + 1, NULL, 10) : low;

			high = high > low ? high : low;
			/* one behind or around another repeats what that one has repeated already */
			times *= high > 1 && high <= REPEAT_MAX ? high : 1;
			if (low > REPEAT_MAX || high > REPEAT_MAX || ++counts > 3 || times > REPEATS_MAX)
				return cc_fail(err, CC_EINVAL, 0,
					       "counts in braces go to %d, three of them, and %d multiplied",
					       REPEAT_MAX, REPEATS_MAX);
		}
	}
	return CC_OK;
}

struct search {
	regex_t regex;
	struct cc_glob *glob;
	struct cc_buf *out;
	struct cc_buf text;
	unsigned lines;
	int64_t deadline;
	bool late;
	int pipe;
};

static void search_text(struct search *search, const char *rel)
{
	struct cc_view text = cc_buf_view(&search->text);
	size_t at = 0;

	for (unsigned number = 1; at < text.len && search->lines < LINES; number++) {
		/* a line can take a second: a file of them would take hours */
		search->late = cc_clock_ms() > search->deadline;
		if (search->late)
			return;
		struct cc_view line = cc_text_line(text, &at);
		regmatch_t span = {.rm_so = 0,
				   .rm_eo = (regoff_t)(line.len < LINE_LOOKED_AT ? line.len : LINE_LOOKED_AT)};

		if (regexec(&search->regex, line.ptr, 1, &span, REG_STARTEND) != 0)
			continue;
		cc_buf_addf(search->out, "%s:%u:", rel, number);
		cc_buf_add(search->out, line.ptr, line.len < LINE_SHOWN ? line.len : LINE_SHOWN);
		cc_buf_adds(search->out, "\n");
		search->lines++;
	}
}

static bool search_file(void *context, const struct cc_walk_file *file)
{
	struct search *search = context;
	CC_AUTO_FD fd = -1;

	if (cc_clock_ms() > search->deadline) {
		search->late = true;
		return false;
	}
	if ((search->glob && !cc_glob_is(search->glob, file->rel)) || file->st->st_size > FILE_MAX)
		return true;
	fd = openat(file->dir, file->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	cc_buf_reset(&search->text);
	if (fd < 0 || cc_fd_read_all(fd, &search->text, NULL) != CC_OK || !search->text.len ||
	    memchr(search->text.data, 0, search->text.len))
		return true; /* gone meanwhile, or no text */
	search_text(search, file->rel);
	/* what is found is said at once: the next file may be the one that is never done with */
	if (cc_fd_write_all(search->pipe, search->out->data, search->out->len, NULL) != CC_OK)
		return false;
	cc_buf_reset(search->out);
	return search->lines < LINES && !search->late;
}

static enum cc_code search_all(struct cc_tools *tools, const struct cc_json *args, struct search *search,
			       struct cc_err *err)
{
	bool cut = false;
	int failed = regcomp(&search->regex, cc_json_str(args, "pattern", ""), REG_EXTENDED | REG_NEWLINE | REG_NOSUB);
	enum cc_code code;

	if (failed) {
		char why[120];

		regerror(failed, &search->regex, why, sizeof(why));
		return cc_fail(err, CC_EINVAL, 0, "the pattern: %s", why);
	}
	cc_buf_init(&search->text, FILE_MAX + 1);
	code = cc_walk(tools, cc_json_str(args, "path", "."), search_file, search, &cut, err);
	if (code == CC_OK && search->lines == 0)
		cc_buf_adds(search->out, "nothing found\n");
	if (code == CC_OK && (cut || search->late || search->lines == LINES))
		cc_buf_addf(search->out, "[cut at %s]\n",
			    search->late ? "20 seconds"
			    : cut        ? "400,000 files"
					 : "200 lines");
	cc_buf_done(&search->text);
	regfree(&search->regex);
	return code;
}

/* In a process of its own: for a pattern that was made to, the library takes hours over one line, and the server has to
 * answer the next call. What bounds its memory is check_pattern. */
_Noreturn static void search_apart(struct cc_tools *tools, const struct cc_json *args, struct search *search)
{
	struct cc_err err = {0};
	enum cc_code code;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	signal(SIGALRM, SIG_DFL);
	alarm(SECONDS);
	code = search_all(tools, args, search, &err);
	if (code != CC_OK) {
		cc_buf_reset(search->out);
		cc_buf_adds(search->out, err.what);
	}
	(void)!cc_fd_write_all(search->pipe, search->out->data, search->out->len, NULL);
	_exit((int)code);
}

static enum cc_code search_waited(struct cc_tools *tools, const struct cc_json *args, struct search *search,
				  struct cc_err *err)
{
	struct cc_buf *out = search->out;
	int ends[2], status = 0;
	size_t before = out->len;
	enum cc_code code;
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return cc_fail(err, CC_ESYS, errno, "a pipe");
	pid = fork();
	if (pid == 0) {
		search->pipe = ends[1];
		search_apart(tools, args, search);
	}
	cc_fd_close(&ends[1]);
	code = pid < 0 ? cc_fail(err, CC_ESYS, errno, "a process") : cc_fd_read_all(ends[0], out, err);
	cc_fd_close(&ends[0]);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (code != CC_OK)
		return code;
	if (WIFSIGNALED(status))
		cc_buf_adds(out, "[cut at 20 seconds: the pattern takes too long]\n");
	else if (WEXITSTATUS(status) != CC_OK) {
		code = cc_fail(err, (enum cc_code)WEXITSTATUS(status), 0, "%.*s", (int)(out->len - before),
			       out->data + before);
		cc_buf_reset(out);
	}
	return code;
}

enum cc_code cc_tool_search(struct cc_tools *tools, const struct cc_json *args, struct cc_buf *out, struct cc_err *err)
{
	const char *glob = cc_json_str(args, "glob", "");
	struct search search = {.out = out, .deadline = cc_clock_ms() + SECONDS * 1000};
	enum cc_code code = check_pattern(cc_json_str(args, "pattern", ""), err);

	if (code == CC_OK && *glob && strcmp(glob, "*") != 0)
		code = cc_glob_parse(glob, &search.glob, err);
	if (code == CC_OK)
		code = search_waited(tools, args, &search, err);
	cc_glob_free(search.glob);
	return code;
}

/* The best so far, best first. */
struct best {
	struct found {
		int64_t score;
		char *rel;
	} items[FILES];
	size_t count, max;
	const struct cc_glob *glob;
	const char *query;
	bool failed;
};

static bool keep(struct best *best, int64_t score, const char *rel)
{
	size_t at = best->count;

	while (at > 0 && best->items[at - 1].score < score)
		at--;
	if (at == best->max)
		return true;
	if (best->count == best->max)
		free(best->items[--best->count].rel);
	memmove(&best->items[at + 1], &best->items[at], (best->count - at) * sizeof(best->items[0]));
	best->items[at] = (struct found){score, cc_str_copy(rel)};
	best->failed |= !best->items[at].rel;
	best->count++;
	return true;
}

static void show(struct best *best, bool cut, struct cc_buf *out)
{
	for (size_t i = 0; i < best->count; i++) {
		cc_buf_addf(out, "%s\n", best->items[i].rel ? best->items[i].rel : "?");
		free(best->items[i].rel);
	}
	if (best->count == 0)
		cc_buf_adds(out, "nothing found\n");
	if (cut)
		cc_buf_adds(out, "[cut at 400,000 files]\n");
}

static bool find_file(void *context, const struct cc_walk_file *file)
{
	struct best *best = context;

	return !cc_glob_is(best->glob, file->rel) ||
	       keep(best, (int64_t)file->st->st_mtim.tv_sec * 1000000 + file->st->st_mtim.tv_nsec / 1000, file->rel);
}

enum cc_code cc_tool_find(struct cc_tools *tools, const struct cc_json *args, struct cc_buf *out, struct cc_err *err)
{
	CC_AUTO(cc_glob) glob = NULL;
	struct best best = {.max = FILES};
	bool cut = false;
	enum cc_code code = cc_glob_parse(cc_json_str(args, "pattern", "*"), &glob, err);

	if (code != CC_OK)
		return code;
	best.glob = glob;
	code = cc_walk(tools, cc_json_str(args, "path", "."), find_file, &best, &cut, err);
	if (code == CC_OK)
		show(&best, cut, out);
	return code;
}

/* The letters of the query in their order; runs, and places behind a slash, count more; short paths come first. */
static int64_t likeness(const char *query, const char *rel)
{
	int64_t score = 0, run = 0;
	const char *at = rel;

	for (; *query; query++) {
		unsigned char want = cc_ascii_lower((unsigned char)*query);
		const char *from = at;

		while (*at && cc_ascii_lower((unsigned char)*at) != want)
			at++;
		if (!*at)
			return 0;
		run = at == from ? run + 1 : 0;
		score += 10 + run * 5 + (at == rel || strchr("/_-.", at[-1]) ? 8 : 0);
		at++;
	}
	return score * 1000 - (int64_t)strlen(rel);
}

static bool match_file(void *context, const struct cc_walk_file *file)
{
	struct best *best = context;
	int64_t score = likeness(best->query, file->rel);

	return score <= 0 || keep(best, score, file->rel);
}

enum cc_code cc_tool_search_files(struct cc_tools *tools, const struct cc_json *args, struct cc_buf *out,
				  struct cc_err *err)
{
	int64_t limit = cc_json_int(args, "limit", FUZZY_USUAL);
	struct best best = {.max = limit < 1 ? 1 : limit > FUZZY_MAX ? FUZZY_MAX : (size_t)limit};
	bool cut = false;
	enum cc_code code;

	best.query = cc_json_str(args, "query", "");
	if (!*best.query)
		return cc_fail(err, CC_EINVAL, 0, "query is missing");
	code = cc_walk(tools, ".", match_file, &best, &cut, err);
	if (code == CC_OK)
		show(&best, cut, out);
	return code;
}
