/* cc-proxy CONTROLFD - one session's HTTP and SOCKS proxy. The owner passes policy and listeners over CONTROLFD and
 * ends the process by closing its end (wire/msg.h). */
#define _GNU_SOURCE
#include "os/confine.h"
#include "policy/net.h"
#include "proxy/proxy.h"
#include "wire/msg.h"

#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

enum { FILES_WANTED = 2 * CC_NET_CONNS_MAX + 256 };

#ifdef CC_SANITIZED /* the sanitizers need files and calls of their own */
static const bool sanitized = true;
#else
static const bool sanitized = false;
#endif

static void raise_files(void)
{
	struct rlimit files;

	if (getrlimit(RLIMIT_NOFILE, &files) < 0)
		return;
	files.rlim_cur = files.rlim_max < FILES_WANTED ? files.rlim_max : FILES_WANTED;
	(void)setrlimit(RLIMIT_NOFILE, &files);
}

static enum cc_code serve(int control, struct cc_err *err)
{
	CC_AUTO(cc_proxy) proxy = NULL;
	enum cc_code code = cc_confine_power(err);

	if (code == CC_OK && !sanitized)
		code = cc_confine_lookup_files(NULL, err);
	if (code == CC_OK)
		code = cc_proxy_new(control, NULL, NULL, &proxy, err);
	if (code == CC_OK && !sanitized)
		code = cc_confine_lookup_calls(NULL, 0, err);
	return code == CC_OK ? cc_proxy_run(proxy, err) : code;
}

int main(int argc, char **argv)
{
	struct cc_err err = {0};
	char *end = NULL;
	long control = argc == 2 ? strtol(argv[1], &end, 10) : -1;

	if (argc != 2 || *end || control < 0 || control > INT_MAX || fcntl((int)control, F_GETFD) < 0) {
		fputs("usage: cc-proxy CONTROLFD (started by ccbox, not by hand)\n", stderr);
		return CC_EXIT_NOT_ESTABLISHED;
	}
	signal(SIGPIPE, SIG_IGN);
	mallopt(M_ARENA_MAX, 1);
	cc_confine_fds((int)control);
	raise_files();
	if (serve((int)control, &err) != CC_OK) {
		fprintf(stderr, "cc-proxy: %s\n", err.what);
		return CC_EXIT_NOT_ESTABLISHED;
	}
	return 0;
}
