/* The launch: plan -> processes. bubblewrap and the proxy start at once and side by side; then cc-init gets the rules,
 * makes the listeners inside its network namespace, the proxy takes them, and only then may cc-init go on. Whatever
 * fails, everything started so far is ended and the error names the step. */
#define _GNU_SOURCE
#include "backend/linux/native.h"

#include "os/fd.h"
#include "wire/msg.h"
#include "wire/ruleset.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

enum { STEP_TIMEOUT_MS = 20000, LAST_WORDS_MS = 500, PLAN_ARGS_MAX = 8 << 20 };

static const struct {
	const char *name, *text;
} steps[] = {
#define STEP_ROW(step, name, text) {name, text},
	CC_NATIVE_STEPS(STEP_ROW)
#undef STEP_ROW
};

struct files {
	int fds[CC_SPAWN_FDS];
	size_t count;
};

static void files_done(struct files *files)
{
	for (size_t i = 0; i < files->count; i++)
		cc_fd_close(&files->fds[i]);
}

static enum cc_code file_open(struct cc_native_box *box, const struct cc_plan_file *file, int *out_fd,
			      struct cc_err *err)
{
	int ends[2];

	if (file->late) {
		if (pipe2(ends, O_CLOEXEC) < 0)
			return cc_fail(err, CC_ESYS, errno, "pipe");
		*out_fd = ends[0];
		box->late = ends[1];
		return CC_OK;
	}
	if (!file->source)
		return cc_fd_memfile("ccbox-file", file->content, strlen(file->content), out_fd, err);
	*out_fd = open(file->source, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	return *out_fd >= 0 ? CC_OK : cc_fail(err, CC_ESYS, errno, "cannot read %s", file->source);
}

/* bubblewrap's arguments as the NUL-separated file that --args reads; "@file:N" becomes a descriptor. */
static enum cc_code write_args(const struct cc_linux_plan *plan, const struct files *files, int *out_fd,
			       struct cc_err *err)
{
	struct cc_buf text;
	enum cc_code code;

	cc_buf_init(&text, PLAN_ARGS_MAX);
	for (size_t i = 0; i < plan->bwrap.count; i++) {
		const char *item = plan->bwrap.items[i];
		unsigned long index;

		if (strncmp(item, "@file:", 6) == 0 && (index = strtoul(item + 6, NULL, 10)) < files->count)
			cc_buf_addf(&text, "%d", files->fds[index]);
		else
			cc_buf_adds(&text, item);
		cc_buf_add(&text, "", 1);
	}
	code = cc_buf_check(&text, "the list of mounts", err);
	if (code == CC_OK)
		code = cc_fd_memfile("ccbox-args", text.data, text.len, out_fd, err);
	cc_buf_done(&text);
	return code;
}

static enum cc_code start_bwrap(const struct cc_launch *how, struct cc_native_box *box, int init_end, int diag_end,
				struct cc_err *err)
{
	struct files files = {.count = 0};
	CC_AUTO_FD args = -1;
	char args_text[16];
	char init_text[16];
	char *argv[] = {(char *)(size_t)how->bwrap_path, "--args",  args_text, "--",
			how->plan->command.items[0],     init_text, NULL};
	/* Not die_with_parent: a bwrap that is killed between making its child and telling it to go on leaves that
	 * child waiting for ever. Left alone it comes to cc-init, which finds our end of the socket closed and ends it
	 * all. */
	struct cc_spawn spawn = {.argv = argv, .stdio = {-1, diag_end, diag_end}, .new_session = true};
	enum cc_code code = CC_OK;

	if (how->plan->file_count + how->plan->fd_count > CC_SPAWN_FDS - 2)
		return cc_fail(err, CC_ELIMIT, 0, "%zu private files: at most %zu", how->plan->file_count,
			       CC_SPAWN_FDS - 2 - how->plan->fd_count);
	for (size_t i = 0; i < how->plan->fd_count; i++)
		spawn.keep[spawn.keep_count++] = how->plan->fds[i];
	for (size_t i = 0; code == CC_OK && i < how->plan->file_count; i++) {
		code = file_open(box, &how->plan->files[i], &files.fds[files.count], err);
		if (code == CC_OK)
			spawn.keep[spawn.keep_count++] = files.fds[files.count++];
	}
	if (code == CC_OK)
		code = write_args(how->plan, &files, &args, err);
	if (code == CC_OK) {
		snprintf(args_text, sizeof(args_text), "%d", args);
		snprintf(init_text, sizeof(init_text), "%d", init_end);
		spawn.keep[spawn.keep_count++] = args;
		spawn.keep[spawn.keep_count++] = init_end;
		code = cc_proc_spawn(&spawn, &box->bwrap, err);
	}
	files_done(&files);
	/* whoever reads there waits for its end */
	for (size_t i = 0; i < how->plan->fd_count; i++)
		close(how->plan->fds[i]);
	return code;
}

static enum cc_code start_proxy(const struct cc_launch *how, struct cc_native_box *box, int their_end, int diag_end,
				struct cc_err *err)
{
	char fd_text[16];
	char *argv[] = {(char *)(size_t)how->proxy_path, fd_text, NULL};
	struct cc_spawn spawn = {.argv = argv,
				 .stdio = {-1, diag_end, diag_end},
				 .new_session = true,
				 .die_with_parent = true,
				 .keep = {their_end},
				 .keep_count = 1};

	snprintf(fd_text, sizeof(fd_text), "%d", their_end);
	return cc_proc_spawn(&spawn, &box->proxy, err);
}

/* What cc-init listens on, and what a test leaves out or makes fail. */
static void add_launch(struct cc_jsonw *w, const struct cc_launch *how)
{
	cc_jsonw_key(w, "listen");
	cc_jsonw_array(w);
	if (!how->bridge) {
		cc_jsonw_int(w, CC_PORT_HTTP);
		cc_jsonw_int(w, CC_PORT_SOCKS);
	}
	cc_jsonw_end(w);
	if (how->bridge)
		cc_jsonw_kstr(w, "bridge", how->bridge_socat);
	if (how->pids)
		cc_jsonw_kint(w, "pids", how->pids);
	if (how->off) {
		cc_jsonw_key(w, "off");
		cc_jsonw_array(w);
		for (const char *at = how->off, *end; *at; at = end + strspn(end, ",")) {
			end = at + strcspn(at, ",");
			cc_jsonw_view(w, (struct cc_view){at, (size_t)(end - at)});
		}
		cc_jsonw_end(w);
	}
	if (how->fail_at)
		cc_jsonw_kstr(w, "fail_at", how->fail_at);
}

enum cc_code cc_native_write_rules(const struct cc_rules *rules, const struct cc_launch *how, int *out_fd,
				   struct cc_err *err)
{
	struct cc_buf text;
	struct cc_jsonw w;
	enum cc_code code;

	cc_buf_init(&text, CC_JSON_TEXT_MAX);
	cc_jsonw_init(&w, &text);
	cc_jsonw_object(&w);
	cc_jsonw_kint(&w, "v", CC_SETUP_VERSION);
	if (how)
		add_launch(&w, how);
	cc_jsonw_key(&w, "rules");
	cc_ruleset_write(&w, rules);
	cc_jsonw_end(&w);
	code = cc_buf_check(&text, "the rule set", err);
	if (code == CC_OK)
		code = cc_fd_memfile("ccbox-rules", text.data, text.len, out_fd, err);
	cc_buf_done(&text);
	return code;
}

/* Its child may still hold the socket, or go on without it. */
static enum cc_code bwrap_gone(struct cc_err *err)
{
	return cc_fail(err, CC_EPROTO, 0, "bubblewrap was ended while it started");
}

static enum cc_code check_bwrap(const struct cc_native_box *box, struct cc_err *err)
{
	struct pollfd gone = {.fd = box->bwrap.pidfd, .events = POLLIN};

	return poll(&gone, 1, 0) > 0 ? bwrap_gone(err) : CC_OK;
}

/* The next message of sock; what was said comes before the news that bubblewrap is gone. */
static enum cc_code hear(struct cc_native_box *box, int sock, struct cc_err *err)
{
	struct pollfd set[] = {{.fd = sock, .events = POLLIN}, {.fd = box->bwrap.pidfd, .events = POLLIN}};
	int ready;

	do {
		ready = poll(set, CC_COUNT(set), STEP_TIMEOUT_MS);
	} while (ready < 0 && errno == EINTR);
	if (ready < 0)
		return cc_fail(err, CC_ESYS, errno, "poll");
	if (ready == 0)
		return cc_fail(err, CC_ETIMEOUT, 0, "no answer in %d ms", STEP_TIMEOUT_MS);
	return set[0].revents ? cc_peer_recv(sock, &box->msg, err) : bwrap_gone(err);
}

/* The helper's message "failed" as an error. Its text has the errno's in it. */
static enum cc_code failed_word(const struct cc_json *root, const char *who, struct cc_err *err)
{
	bool unheld = cc_json_int(root, "code", 0) == CC_EUNENFORCED;

	return cc_fail(err, unheld ? CC_EUNENFORCED : CC_EUNSUPPORTED, 0, "%s, step %s: %s", who,
		       cc_json_str(root, "step", "?"), cc_json_str(root, "text", "?"));
}

/* Waits for the named message. "failed" and an early end come back as the helper's own words. */
static enum cc_code expect(struct cc_native_box *box, int sock, const char *who, const char *want, struct cc_err *err)
{
	CC_AUTO(cc_json_doc) doc = NULL;
	const struct cc_json *root;
	const char *name;
	enum cc_code code = hear(box, sock, err);

	if (code != CC_OK)
		return code;
	if (box->msg.len == 0) {
		cc_native_read_diag(box);
		return cc_fail(err, CC_EPROTO, 0, "%s ended before it was ready%s%s", who,
			       box->diag_text.len ? ": " : "", box->diag_text.len ? box->diag_text.data : "");
	}
	code = cc_json_parse(who, (struct cc_view){box->msg.text, box->msg.len}, 0, &doc, err);
	if (code != CC_OK)
		return code;
	root = cc_json_root(doc);
	name = cc_json_str(root, "m", "");
	if (strcmp(name, want) == 0)
		return check_bwrap(box, err);
	if (strcmp(name, "failed") == 0)
		return failed_word(root, who, err);
	return cc_fail(err, CC_EPROTO, 0, "%s said \"%s\" instead of \"%s\"", who, name, want);
}

/* bubblewrap takes binds by name, following links. What is in a tree that another session writes may be swapped for a
 * link meanwhile: so which directory it is is looked at before, through no link, and compared afterwards. */
static enum cc_code look_at_roots(const struct cc_rules *rules, struct cc_strv *roots, struct cc_err *err)
{
	struct {
		uint64_t flags, mode, resolve;
	} how = {O_PATH | O_CLOEXEC, 0, 4 /* RESOLVE_NO_SYMLINKS */};
	enum cc_code code = CC_OK;

	for (size_t i = 0; code == CC_OK && i < rules->mount_count; i++) {
		CC_AUTO_FD fd = -1;
		struct stat st;

		if (rules->mounts[i].mode == CC_MOUNT_PRIVATE)
			continue;
		fd = (int)syscall(SYS_openat2, AT_FDCWD, rules->mounts[i].path, &how, sizeof(how));
		if (fd < 0 || fstat(fd, &st) < 0)
			return cc_fail(err, CC_EPOLICY, errno, "the bind %s", rules->mounts[i].path);
		code = cc_strv_pushf(roots, err, "%x:%x:%llx", major(st.st_dev), minor(st.st_dev),
				     (unsigned long long)st.st_ino);
	}
	return code;
}

static enum cc_code same_roots(const struct cc_native_box *box, const struct cc_rules *rules, struct cc_err *err)
{
	CC_AUTO(cc_json_doc) doc = NULL;
	const struct cc_json *list, *item;
	size_t mount = 0;
	enum cc_code code = cc_json_parse("cc-init", (struct cc_view){box->msg.text, box->msg.len}, 0, &doc, err);

	if (code != CC_OK)
		return code;
	list = cc_json_get(cc_json_root(doc), "roots");
	item = list ? list->child : NULL;
	for (size_t i = 0; i < box->roots.count; i++, item = item->next, mount++) {
		while (mount < rules->mount_count && rules->mounts[mount].mode == CC_MOUNT_PRIVATE)
			mount++;
		if (!item || !cc_view_is(item->text, box->roots.items[i]))
			return cc_fail(err, CC_EPOLICY, 0, "the bind %s was swapped for another while it was mounted",
				       mount < rules->mount_count ? rules->mounts[mount].path : "?");
	}
	return item ? cc_fail(err, CC_EPROTO, 0, "cc-init has more binds than were asked for") : CC_OK;
}

/* Enters a step; a twin build may ask it to fail, to show that a failed step leaves nothing started. */
static enum cc_code enter(const struct cc_launch *how, enum cc_native_step next, enum cc_native_step *step,
			  struct cc_err *err)
{
	*step = next;
	if (how->fail_at && strcmp(how->fail_at, steps[next].name) == 0)
		return cc_fail(err, CC_ESYS, 0, "made to fail by the test");
	return CC_OK;
}

/* A terminal's network is the host's own (contract 5): nothing to guard, so no proxy. */
static bool has_proxy(const struct cc_launch *how)
{
	return !(*how->rules)->network_open;
}

/* The proxy gets rules and listeners, and cc-init goes on while it starts. */
static enum cc_code start_egress(const struct cc_launch *how, struct cc_native_box *box, int setup,
				 enum cc_native_step *step, struct cc_err *err)
{
	enum cc_code code = enter(how, CC_STEP_POLICY, step, err);

	if (code == CC_OK)
		code = cc_native_say(box->egress, "policy", &setup, 1, err);
	if (code == CC_OK)
		code = cc_native_listen(box, (*how->rules)->net, how->bridge, err);
	cc_peer_msg_close(&box->msg);
	if (code == CC_OK)
		code = cc_native_say(box->init, "go", NULL, 0, err);
	return code == CC_OK ? expect(box, box->egress, "cc-proxy", "ready", err) : code;
}

static enum cc_code shake_hands(const struct cc_launch *how, struct cc_native_box *box, enum cc_native_step *step,
				struct cc_err *err)
{
	CC_AUTO_FD setup = -1;
	enum cc_code code;

	code = enter(how, CC_STEP_SETUP, step, err);
	if (code == CC_OK)
		code = cc_native_write_rules(*how->rules, how, &setup, err);
	if (code == CC_OK)
		code = cc_native_say(box->init, "setup", &setup, 1, err);
	if (code != CC_OK)
		return code;
	code = enter(how, CC_STEP_LISTEN, step, err);
	if (code == CC_OK)
		code = expect(box, box->init, "cc-init", "listeners", err);
	if (code == CC_OK)
		code = same_roots(box, *how->rules, err);
	if (code != CC_OK)
		return code;
	code = has_proxy(how) ? start_egress(how, box, setup, step, err) : cc_native_say(box->init, "go", NULL, 0, err);
	cc_peer_msg_close(&box->msg);
	if (code != CC_OK)
		return code;
	code = enter(how, CC_STEP_READY, step, err);
	if (code != CC_OK)
		return code;
	return expect(box, box->init, "cc-init", "ready", err);
}

/* bubblewrap waits at the end of this pipe; it fits into a pipe's buffer or is written while it is read. */
static enum cc_code finish(const struct cc_launch *how, struct cc_native_box *box, struct cc_err *err)
{
	enum cc_code code = how->finish ? how->finish(how->context, err) : CC_OK;

	for (size_t i = 0; code == CC_OK && i < how->plan->file_count; i++) {
		const struct cc_plan_file *file = &how->plan->files[i];

		if (file->late && file->content)
			code = cc_fd_write_all(box->late, file->content, strlen(file->content), err);
	}
	cc_fd_close(&box->late);
	return code;
}

static enum cc_code start_all(const struct cc_launch *how, struct cc_native_box *box, enum cc_native_step *step,
			      struct cc_err *err)
{
	CC_AUTO_FD init_end = -1;
	CC_AUTO_FD proxy_end = -1;
	CC_AUTO_FD diag_end = -1;
	int ends[2];
	enum cc_code code;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return cc_fail(err, CC_ESYS, errno, "pipe");
	box->diag = ends[0];
	diag_end = ends[1];
	cc_fd_set_nonblock(box->diag, true);
	code = enter(how, CC_STEP_BWRAP, step, err);
	if (code == CC_OK)
		code = cc_peer_pair(&box->init, &init_end, err);
	if (code == CC_OK)
		code = look_at_roots(*how->rules, &box->roots, err);
	if (code == CC_OK)
		code = start_bwrap(how, box, init_end, diag_end, err);
	if (code != CC_OK)
		return code;
	if (has_proxy(how)) {
		code = enter(how, CC_STEP_PROXY, step, err);
		if (code == CC_OK)
			code = cc_peer_pair(&box->egress, &proxy_end, err);
		if (code == CC_OK)
			code = start_proxy(how, box, proxy_end, diag_end, err);
	}
	if (code == CC_OK)
		code = finish(how, box, err);
	return code;
}

/* Whether cc-init gave a reason that nobody has read: it is heard only where the launch waits for it. */
static bool init_gave_reason(struct cc_native_box *box, struct cc_err *why)
{
	bool given = false;

	cc_peer_msg_close(&box->msg);
	while (!given && box->init >= 0 && cc_peer_recv_wait(box->init, 0, &box->msg, NULL) == CC_OK && box->msg.len) {
		CC_AUTO(cc_json_doc) doc = NULL;
		const struct cc_json *root;

		cc_peer_msg_close(&box->msg);
		if (cc_json_parse("cc-init", (struct cc_view){box->msg.text, box->msg.len}, 0, &doc, NULL) != CC_OK)
			return false;
		root = cc_json_root(doc);
		given = strcmp(cc_json_str(root, "m", ""), "failed") == 0;
		if (given)
			failed_word(root, "cc-init", why);
	}
	return given;
}

/* A broken pipe is only how we hear of it: what bubblewrap or a helper said on its way out is why. True: bubblewrap has
 * ended, and which of our steps came upon that is chance. */
static bool explain(struct cc_native_box *box, struct cc_err *why)
{
	struct pollfd gone = {.fd = box->bwrap.pidfd, .events = POLLIN};
	bool theirs;

	if (why->code != CC_EPROTO && why->code != CC_ESYS)
		return false;
	if (box->bwrap.pid > 0)
		poll(&gone, 1, LAST_WORDS_MS);
	if (init_gave_reason(box, why))
		return false;
	cc_native_read_diag(box);
	theirs = box->diag_text.len && strncmp(box->diag_text.data, "bwrap: ", 7) == 0;
	if (box->diag_text.len && (theirs || !strstr(why->what, box->diag_text.data)))
		cc_fail(why, why->code, 0, "%s", box->diag_text.data);
	return theirs;
}

enum cc_code cc_native_launch(const struct cc_launch *how, struct cc_box **out_box, struct cc_err *err)
{
	struct cc_native_box *box = calloc(1, sizeof(*box));
	enum cc_native_step step = CC_STEP_BWRAP;
	struct cc_err why = {0};
	enum cc_code code;

	if (!box)
		return cc_fail(err, CC_ELIMIT, 0, "out of memory");
	box->box.backend = &cc_backend_native_linux;
	box->bwrap = box->proxy = (struct cc_child){-1, -1};
	box->init = box->egress = box->diag = box->late = -1;
	cc_buf_init(&box->diag_text, 64 << 10);
	code = start_all(how, box, &step, &why);
	if (code == CC_OK)
		code = shake_hands(how, box, &step, &why);
	if (code == CC_OK &&
	    !(cc_fd_set_nonblock(box->init, true) && (box->egress < 0 || cc_fd_set_nonblock(box->egress, true))))
		code = cc_fail(&why, CC_ESYS, errno, "fcntl");
	if (code == CC_OK) {
		*out_box = &box->box;
		return CC_OK;
	}
	if (explain(box, &why))
		step = CC_STEP_BWRAP;
	cc_native_end(&box->box);
	return cc_fail(err, code, 0, "could not %s: %s", steps[step].text, why.what);
}
