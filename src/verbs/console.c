/* console.c - `ccbox console`: asks the daemon for an address that signs a browser in once, prints it, and opens it
 * where there is a screen. */
#define _GNU_SOURCE
#include "verbs/verbs.h"

#include "cli/options.h"
#include "client/http.h"
#include "client/place.h"
#include "os/fd.h"
#include "os/proc.h"
#include "wire/json.h"
#include "wire/msg.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define DATA_DIR "--data-dir"

static enum cc_code ask_url(const char *sock, struct cc_buf *out_url, struct cc_err *err)
{
	CC_AUTO(cc_json_doc) doc = NULL;
	struct cc_http http;
	enum cc_code code = cc_http_call(sock, "POST", "/v1/console/login", NULL, 0, &http, err);

	if (code != CC_OK)
		return code;
	code = cc_http_rest(&http, err);
	if (code == CC_OK && http.status != 201)
		code = cc_fail(err, CC_EPROTO, 0, "the server answered %d", http.status);
	if (code == CC_OK)
		code = cc_json_parse("answer", cc_buf_view(&http.in), 0, &doc, err);
	if (code == CC_OK)
		cc_buf_adds(out_url, cc_json_str(cc_json_root(doc), "url", ""));
	cc_http_done(&http);
	return code == CC_OK && !out_url->len ? cc_fail(err, CC_EPROTO, 0, "the server named no address") : code;
}

/* The browser is given a file that only we can read: a command line is everybody's to see, and the address is as good
 * as being signed in. */
static enum cc_code write_page(const char *sock, const char *url, char out_path[PATH_MAX], struct cc_err *err)
{
	char page[2048];
	const char *slash = strrchr(sock, '/');
	CC_AUTO_FD fd = -1;
	int len = snprintf(page, sizeof(page),
			   "<!doctype html><meta charset=utf-8><meta name=referrer content=no-referrer>"
			   "<meta http-equiv=refresh content=\"0;url=%s\"><title>ccbox console</title>",
			   url);

	if (len < 0 || (size_t)len >= sizeof(page) ||
	    snprintf(out_path, PATH_MAX, "%.*s/console.html", (int)(slash ? slash - sock : 0), sock) >= PATH_MAX)
		return cc_fail(err, CC_ELIMIT, 0, "the address is too long");
	unlink(out_path);
	fd = open(out_path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return cc_fail(err, CC_ESYS, errno, "%s", out_path);
	return cc_fd_write_all(fd, page, (size_t)len, err);
}

/* A comfort: what goes wrong here is no failure, the address stands there to be opened by hand. */
static void open_browser(const char *sock, const char *url, char *const *env)
{
	char program[PATH_MAX], path[PATH_MAX];
	char *argv[] = {program, path, NULL};
	struct cc_spawn how = {.argv = argv, .envp = env, .stdio = {-1, -1, -1}, .new_session = true};
	struct cc_child child;
	struct cc_err err;

	if (!cc_env_get(env, "DISPLAY") && !cc_env_get(env, "WAYLAND_DISPLAY"))
		return;
	if (cc_proc_which("xdg-open", cc_env_path(env), program, sizeof(program), &err) != CC_OK)
		return;
	if (write_page(sock, url, path, &err) != CC_OK || cc_proc_spawn(&how, &child, &err) != CC_OK)
		cc_say("the browser was not opened: %s", err.what);
}

/* The data directory of --data-dir DIR or --data-dir=DIR, else NULL; *argv is on its last word then. */
static const char *take_data_dir(char *const **argv)
{
	const char *word = **argv;

	if (strncmp(word, DATA_DIR "=", sizeof(DATA_DIR)) == 0)
		return word + sizeof(DATA_DIR);
	return strcmp(word, DATA_DIR) == 0 && (*argv)[1] ? *++*argv : NULL;
}

int cc_verb_console(char *const *argv, char *const *env)
{
	const char *data_dir = NULL, *said;
	char sock[PATH_MAX];
	struct cc_buf url;
	struct cc_err err = {0};
	bool open_it = isatty(STDOUT_FILENO);
	enum cc_code code;

	for (; *argv; argv++) {
		if (strcmp(*argv, "--no-open") == 0) {
			open_it = false;
			continue;
		}
		said = take_data_dir(&argv);
		if (said) {
			data_dir = said;
			continue;
		}
		cc_say("unknown option \"%s\"; usage: ccbox console [--no-open] [--data-dir DIR]", *argv);
		return CC_EXIT_NOT_ESTABLISHED;
	}
	cc_buf_init(&url, 1024);
	code = cc_place_socket(data_dir, env, sock, &err);
	if (code == CC_OK)
		code = ask_url(sock, &url, &err);
	if (code == CC_OK) {
		printf("%s\n", url.data);
		fflush(stdout);
		if (open_it)
			open_browser(sock, url.data, env);
	} else {
		cc_say("%s (is cc_server running?)", err.what);
	}
	cc_buf_done(&url);
	return code == CC_OK ? 0 : CC_EXIT_NOT_ESTABLISHED;
}
