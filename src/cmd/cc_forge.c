/* cc-forge FD FILES - the daemon's broker of tokens: the only process that speaks to forges, and that holds what they
 * are asked with (wire/forgemsg.h). It ends when the daemon closes its end. */
#define _GNU_SOURCE
#include "forge/forge.h"
#include "os/confine.h"
#include "os/proc.h"

#include <malloc.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifdef CC_SANITIZED /* the sanitizers need files of their own */
static const bool sanitized = true;
#else
static const bool sanitized = false;
#endif

/* Names, certificates, and the libraries that look both up. */
static const char *const readable[] = {
	"/etc",
	"/lib",
	"/lib64",
	"/usr/lib",
	"/usr/lib64",
	"/usr/local/lib",
	"/nix/store",
	"/run/nscd",
	"/dev/null",
	"/dev/urandom",
	"/run/systemd/resolve",
	"/run/resolvconf",
	"/mnt/wsl",
	"/var/lib/sss",
	"/run/sssd",
	"/run/connman",
	"/run/NetworkManager",
	"/run/avahi-daemon",
	"/var/run/nscd",
	"/usr/share/ca-certificates",
	"/usr/local/share/ca-certificates",
	"/usr/share/pki",
};

/* Where /etc/resolv.conf really is, too: it is rewritten there by rename. */
static enum cc_code confine_files(const char *own, struct cc_err *err)
{
	const char *paths[sizeof(readable) / sizeof(readable[0]) + 1];
	size_t count = sizeof(readable) / sizeof(readable[0]);
	char real[PATH_MAX];

	memcpy(paths, readable, sizeof(readable));
	if (realpath("/etc/resolv.conf", real) && strrchr(real, '/') > real) {
		*strrchr(real, '/') = '\0';
		paths[count++] = real;
	}
	return cc_confine_files_and(paths, count, own, err);
}

static enum cc_code serve(int link, struct cc_err *err)
{
	struct cc_broker *broker = NULL;
	/* Before a secret is read: no core file, no debugger. The user stays, whose files these are. */
	enum cc_code code = cc_confine_self(err);

	if (code == CC_OK)
		code = cc_broker_open(link, &broker, err);
	if (code == CC_OK && !sanitized)
		code = confine_files(cc_broker_dir(broker), err);
	return code == CC_OK ? cc_broker_run(broker, err) : code;
}

int main(int argc, char **argv)
{
	struct cc_err err = {0};
	enum cc_code code;
	int link;

	if (argc != 3)
		return 125;
	link = (int)strtol(argv[1], NULL, 10);
	cc_proc_limit_files(argv[2]);
	signal(SIGPIPE, SIG_IGN);
	/* Memory is overwritten as it is freed: copies that the libraries made of a secret are none of ours to wipe. */
	mallopt(M_PERTURB, 0x55);
	code = serve(link, &err);
	if (code != CC_OK)
		fprintf(stderr, "cc-forge: %s\n", err.what);
	/* Threads may still wait for a forge: nothing is torn down under them. */
	fflush(stderr);
	_exit(code == CC_OK ? 0 : 125);
}
