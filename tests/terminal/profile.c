/* The fixed profile of a native terminal, as a person meets it (contract 5): what is writable, what is not read, what
 * is open, and what is not there. Speaks TAP. usage: terminal-profile (beside the helpers) */
#define _GNU_SOURCE
#include "rig.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

static void put(const char *name, const char *content)
{
	char path[300];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", rig_home, name);
	for (char *slash = strchr(path + strlen(rig_home) + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		mkdir(path, 0700);
		*slash = '/';
	}
	file = fopen(path, "w");
	if (!file)
		exit(99);
	fputs(content, file);
	fclose(file);
}

static bool host_has(const char *dir, const char *name)
{
	char path[300];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return access(path, F_OK) == 0;
}

static bool token_is(const char *want)
{
	char path[300], text[40] = "";
	FILE *file;

	snprintf(path, sizeof(path), "%s/.local/share/ccbox/token", rig_home);
	file = fopen(path, "r");
	if (!file)
		return false;
	text[fread(text, 1, sizeof(text) - 1, file)] = '\0';
	fclose(file);
	return strcmp(text, want) == 0;
}

static int listen_tcp(unsigned short *port)
{
	struct sockaddr_in at = {.sin_family = AF_INET};
	socklen_t len = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (fd < 0 || bind(fd, (struct sockaddr *)&at, sizeof(at)) < 0 || listen(fd, 5) < 0 ||
	    getsockname(fd, (struct sockaddr *)&at, &len) < 0)
		exit(99);
	*port = ntohs(at.sin_port);
	return fd;
}

/* An abstract name (@...), or one in the work directory. */
static int listen_local(const char *name)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	size_t len = strlen(name);

	memcpy(at.sun_path, name, len);
	if (name[0] == '@')
		at.sun_path[0] = '\0';
	if (fd < 0 || bind(fd, (struct sockaddr *)&at, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + len)) < 0 ||
	    listen(fd, 5) < 0)
		exit(99);
	return fd;
}

/* An abstract name is the whole machine's: another run of this test has one too. */
static int listen_abstract(void)
{
	char name[40];

	snprintf(name, sizeof(name), "@ccbox-%s", rig_nap);
	return listen_local(name);
}

static const struct {
	const char *label, *line, *want, *event;
} rows[] = {
	{"ssh keys are not read", "cat ~/.ssh/id_rsa\r", ".ssh/id_rsa: Permission denied", ".ssh/id_rsa"},
	{"nor aws credentials", "cat ~/.aws/credentials\r", "credentials: Permission denied", NULL},
	{"nor gnupg's", "cat ~/.gnupg/secring\r", "secring: Permission denied", NULL},
	{"nor gh's", "cat ~/.config/gh/hosts.yml\r", "hosts.yml: Permission denied", NULL},
	{"nor the server's own token", "cat ~/.local/share/ccbox/token\r", "token: Permission denied", NULL},
	{"nor given another value",
	 "cd ~/.local/share; echo x >ccbox/token; echo x >n; mv n ccbox/token; ln -f ~/.netrc ccbox/token; rm -f ccbox/token; mv "
	 "ccbox c; mv ~/.local ~/l; echo x >ccbox/token.new; mkdir ccbox/run; cd - >/dev/null; ls ~/l 2>&1; echo sti\"\"ll\r",
	 "still", NULL},
	{"nor by another name",
	 "ln ~/.ssh/id_rsa ~/k; mv ~/.ssh ~/s; ln -s ~/.ssh/id_rsa ~/l; cat ~/k ~/s/id_rsa ~/l | grep -c PRIVATE | sed "
	 "'s/^/found-/'\r",
	 "found-0", NULL},
	{"the rest of HOME is", "cat ~/.netrc\r", "machine up.test", NULL},
	{"HOME is writable, hidden files too", "echo x >~/.bash_aliases; echo wro\"\"te-$?\r", "wrote-0", NULL},
	{"so is the directory, and no name is refused", "echo x >.env; echo x >server.key; echo na\"\"me-$?\r",
	 "name-0", NULL},
	{"of /etc only what programs need is there", "ls /etc/shadow\r", "shadow'", NULL},
	{"the host's processes are out of sight",
	 "ls -d /proc/[0-9]* | wc -l | sed 's/^/seen-/'; kill -0 $OWNER || echo no-o\"\"wner\r", "no-owner", NULL},
	{"a socket of the host that lies in the directory is out of reach",
	 "python3 -c 'import socket; s = socket.socket(1); print(s.connect_ex(\"host.sock\"), \"by-path\")'\r",
	 "111 by-path", "host.sock"},
	{"so is an abstract one, which an open network would show",
	 "python3 -c 'import socket; s = socket.socket(1); print(s.connect_ex(\"\\0ccbox-NAP\"), \"abst\" \"ract\")'\r",
	 "111 abstract", rig_nap},
};

static void profile(void)
{
	struct cc_strv daemon = {0};
	struct cc_err err;
	struct cc_terminal_ask ask = {.backend = CC_BACKEND_NATIVE, .shell = "/bin/bash", .daemon_paths = &daemon};
	struct cc_terminal_info info = {0};
	struct rig_term it;
	unsigned short port;
	char line[300], path[300];
	int tcp = listen_tcp(&port), abstract = listen_abstract(), local;
	bool open;

	snprintf(path, sizeof(path), "%s/host.sock", rig_work);
	local = listen_local(path);
	snprintf(path, sizeof(path), "%s/.local/share/ccbox", rig_home);
	open = cc_strv_push(&daemon, path, &err) == CC_OK && rig_open_as(&it, &ask, &err);
	rig_ok(open, "a native terminal starts");
	if (!open)
		return;
	cc_terminal_info(it.terminal, &info);
	rig_ok(info.backend == CC_BACKEND_NATIVE, "what it says of itself is what runs");
	snprintf(line, sizeof(line), "PS1='$ '; OWNER=%d; echo se\"\"t\r", (int)getpid());
	rig_type(&it, line);
	rig_see(&it, "set");
	for (size_t i = 0; i < CC_COUNT(rows); i++) {
		cc_buf_reset(&it.text);
		rig_type(&it, rows[i].line);
		rig_ok(rig_see(&it, rows[i].want) &&
			       (!rows[i].event || (it.events.data && strstr(it.events.data, rows[i].event))),
		       "%s", rows[i].label);
	}
	rig_ok(host_has(rig_home, ".bash_aliases") && host_has(rig_work, ".env") && host_has(rig_work, "server.key"),
	       "what was written is on the host");
	rig_ok(token_is("PRIVATE\n") && !host_has(rig_home, ".local/share/ccbox/token.new") &&
		       !host_has(rig_home, ".local/share/ccbox/run"),
	       "and the server's token is what it was");
	rig_ok(!host_has(rig_home, "s") && !host_has(rig_home, "k"), "and the secrets have no other name there");
	cc_buf_reset(&it.text);
	snprintf(line, sizeof(line), "exec 9<>/dev/tcp/127.0.0.1/%u && echo rea\"\"ched\r", port);
	rig_type(&it, line);
	rig_ok(rig_see(&it, "reached"), "the network is open, this host's loopback too");
	rig_close(&it);
	cc_strv_done(&daemon);
	close(tcp);
	close(abstract);
	close(local);
}

/* The twin leaves one protection off, and what it held is in reach: so the refusals above are its doing. */
static const struct {
	const char *off, *line, *want;
} twins[] = {
	{"gate,floor", "cat ~/.ssh/id_rsa\r", "PRIVATE KEY"},
	{"gate,floor", "echo mi\"\"ne >~/.local/share/ccbox/token; cat ~/.local/share/ccbox/token\r", "mine"},
	{"mounts",
	 "python3 -c 'import socket; s = socket.socket(1); print(s.connect_ex(\"\\0ccbox-NAP\"), \"abst\" \"ract\")'\r",
	 "0 abstract"},
	{"mounts",
	 "python3 -c 'import socket; s = socket.socket(1); print(s.connect_ex(\"host.sock\"), \"by-path\")'\r",
	 "0 by-path"},
};

static void escapes(void)
{
	int abstract = listen_abstract(), local;
	char path[300];
	struct cc_strv daemon = {0};
	struct cc_err err;

	snprintf(path, sizeof(path), "%s/.local/share/ccbox", rig_home);
	rig_ok(cc_strv_push(&daemon, path, &err) == CC_OK, "the server's directory is named to the twins too");
	snprintf(path, sizeof(path), "%s/host.sock", rig_work);
	unlink(path);
	local = listen_local(path);
	for (size_t i = 0; i < CC_COUNT(twins); i++) {
		struct cc_terminal_ask ask = {.backend = CC_BACKEND_NATIVE,
					      .shell = "/bin/bash",
					      .init = "cc-init-twin",
					      .daemon_paths = &daemon,
					      .off = twins[i].off};
		struct rig_term it;
		bool good = rig_open_as(&it, &ask, &err);

		rig_type(&it, twins[i].line);
		rig_ok(good && rig_see(&it, twins[i].want), "twin without %s: %s", twins[i].off, twins[i].want);
		rig_close(&it);
	}
	cc_strv_done(&daemon);
	close(abstract);
	close(local);
}

/* The same from the host, so that a refusal above means something. */
static void unguarded(void)
{
	struct rig_term it;
	struct cc_err err;
	int abstract = listen_abstract();
	bool good = rig_open(&it, CC_BACKEND_NONE, NULL, &err);

	rig_type(&it, "PS1='$ '\r");
	rig_type(&it, "cat ~/.ssh/id_rsa\r");
	good = good && rig_see(&it, "PRIVATE");
	rig_type(
		&it,
		"python3 -c 'import socket; s = socket.socket(1); print(s.connect_ex(\"\\0ccbox-NAP\"), \"abst\" \"ract\")'\r");
	rig_ok(good && rig_see(&it, "0 abstract"), "without the profile all of it is in reach");
	rig_close(&it);
	close(abstract);
}

int main(void)
{
	signal(SIGPIPE, SIG_IGN);
	rig_setup();
	put(".ssh/id_rsa", "PRIVATE KEY\n");
	put(".aws/credentials", "PRIVATE\n");
	put(".gnupg/secring", "PRIVATE\n");
	put(".config/gh/hosts.yml", "PRIVATE\n");
	put(".local/share/ccbox/token", "PRIVATE\n");
	put(".netrc", "machine up.test\n");
	profile();
	escapes();
	unguarded();
	rig_teardown();
	return rig_done();
}
