/* Calls of bubblewrap, read: what can be written in the end, what is refused, what becomes of the environment. */
#include "../t.h"

#include "base/buf.h"
#include "plan/foreign.h"

#include <stdlib.h>

static bool exists(const char *path)
{
	return strcmp(path, "/absent") != 0;
}

/* "mode:path ..." in the order of mounting, or what the refusal says. */
static void told(const char *line, struct cc_buf *out)
{
	static const char *const kinds[] = {"other", "ro", "rw", "tmp"};
	static char words[2048];
	char *argv[64], *env[] = {(char *)(size_t) "A=1", (char *)(size_t) "AB=2", NULL};
	size_t argc = 0;
	struct cc_foreign foreign = {0};
	struct cc_err err;

	snprintf(words, sizeof(words), "%s", line);
	for (char *word = strtok(words, " "); word; word = strtok(NULL, " "))
		argv[argc++] = word;
	argv[argc] = NULL;
	if (cc_foreign_read(argv, env, exists, &foreign, &err) != CC_OK) {
		cc_buf_addf(out, "! %s", err.what);
		return;
	}
	for (size_t i = 0; i < foreign.place_count; i++)
		cc_buf_addf(out, "%s:%s ", kinds[foreign.places[i].kind], foreign.places[i].path);
	for (size_t i = 0; i < foreign.env.count; i++)
		cc_buf_addf(out, "%s ", foreign.env.items[i]);
	cc_buf_addf(out, "%s%s%s", foreign.own_net ? "own " : "", foreign.die_with_parent ? "dies " : "",
		    foreign.command[0]);
	for (size_t i = 0; i < foreign.fd_count; i++)
		cc_buf_addf(out, " %d", foreign.fds[i]);
	cc_foreign_done(&foreign);
}

#define REST "other:/proc other:/dev tmp:/dev/shm A=1 AB=2 "

static const struct {
	const char *line, *want;
} rows[] = {
	{"--ro-bind / / --bind /p /p -- sh -c x", "ro:/ rw:/p " REST "sh"},
	{"--bind /p/ /p sh --bind / /", "rw:/p " REST "sh"},
	/* the later mount hides what was there or below */
	{"--bind /p /p --ro-bind / / sh", "ro:/ " REST "sh"},
	{"--bind /p /p --ro-bind /p /p sh", "ro:/p " REST "sh"},
	{"--ro-bind /p /p --bind /p /p sh", "rw:/p " REST "sh"},
	{"--bind /p/a /p/a --bind /pa /pa --tmpfs /p sh", "rw:/pa tmp:/p " REST "sh"},
	{"--bind /p /p --ro-bind /dev/null /p/x sh", "rw:/p other:/p/x " REST "sh"},
	{"--bind /p /p --ro-bind-try /absent /p sh", "rw:/p " REST "sh"},
	{"--bind-try /absent /absent sh", REST "sh"},
	{"--bind /p /p --bind-data 7 /p/x sh", "rw:/p other:/p/x " REST "sh 7"},
	{"--tmpfs / --proc /proc --dev /dev/ sh", "other:/ " REST "sh"},
	{"--proc /proc --dev /dev --dev-bind /dev/tty /dev/tty sh",
	 "other:/proc other:/dev tmp:/dev/shm other:/dev/tty A=1 AB=2 sh"},
	{"--unshare-all sh", REST "own sh"},
	{"--unshare-all --share-net sh", REST "sh"},
	{"--unshare-net --die-with-parent --new-session --as-pid-1 --cap-drop ALL --cap-add X sh", REST "own dies sh"},
	{"--info-fd 6 --sync-fd 5 --json-status-fd 4 --file 9 /x sh", REST "sh 6 5 4 9"},
	{"--setenv A 5 --unsetenv AB --setenv C d sh", "other:/proc other:/dev tmp:/dev/shm A=5 C=d sh"},
	{"--clearenv --setenv C d sh", "other:/proc other:/dev tmp:/dev/shm C=d sh"},
	{"--bind / / sh", "! bubblewrap's --bind / / is refused: names are held in the directories that are worked in, "
			  "not in the whole file system"},
	{"--dev-bind / / sh", "! bubblewrap's --dev-bind is refused: of /dev the sandbox shows the usual devices only"},
	{"--bind /a /b sh",
	 "! bubblewrap's --bind /a /b is refused: a writable directory has to be shown under its own path"},
	{"--seccomp 5 sh",
	 "! bubblewrap's --seccomp is refused: it would apply to the gate itself; the sandbox has a filter "
	 "of its own"},
	{"--proc /p sh", "! bubblewrap's --proc is refused: only at its usual place"},
	{"--overlay a b /c sh",
	 "! bubblewrap's --overlay is refused: the gate cannot tell where the files of an overlay lie"},
	{"--info-fd 2 sh", "! bubblewrap's options: \"2\" is no descriptor to pass on"},
	{"--info-fd 6x sh", "! bubblewrap's options: \"6x\" is no descriptor to pass on"},
	{"--bind /p", "! --bind takes 2 values"},
	{"--colour sh", "! bubblewrap's option --colour is not known to ccbox bwrap"},
	{"--", "! no command: ccbox bwrap [BUBBLEWRAP'S OPTIONS] -- COMMAND [ARG...]"},
	{"--ro-bind / /", "! no command: ccbox bwrap [BUBBLEWRAP'S OPTIONS] -- COMMAND [ARG...]"},
};

static void calls(void **state)
{
	(void)state;
	for (size_t i = 0; i < CC_COUNT(rows); i++) {
		struct cc_buf got;

		cc_buf_init(&got, 4096);
		told(rows[i].line, &got);
		if (strcmp(got.data, rows[i].want) != 0)
			print_message("# got %s\n# for %s\n", got.data, rows[i].line);
		T_ROW(strcmp(got.data, rows[i].want) == 0, rows[i].line);
		cc_buf_done(&got);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(calls)};

	return cmocka_run_group_tests_name("foreign", tests, NULL, NULL);
}
