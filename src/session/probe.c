#define _GNU_SOURCE
#include "session/probe.h"

#include "backend/backend.h"
#include "backend/linux/facts.h"
#include "base/mem.h"
#include "os/fd.h"
#include "os/mount.h"
#include "os/proc.h"
#include "plan/filesystems.h"
#include "session/proof.h"
#include "wire/json.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/seccomp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <unistd.h>

/* What the enforcers say when a host refuses, and what a person can do about it. First match wins. */
static const struct {
	const char *says, *remedy;
} remedies[] = {
	{"RTM_NEWADDR", "unprivileged user namespaces are restricted by AppArmor: install the profile shipped in "
			"share/ccbox/apparmor, or sysctl kernel.apparmor_restrict_unprivileged_userns=0"},
	{"setting up uid map",
	 "user namespaces are restricted: install the AppArmor profile shipped in share/ccbox/apparmor, or sysctl "
	 "kernel.apparmor_restrict_unprivileged_userns=0; as root in a container: it must keep CAP_SETFCAP"},
	{"max_*_namespaces exceeded",
	 "user namespaces are used up or switched off: sysctl user.max_user_namespaces=15000"},
	{"No space left on device",
	 "user namespaces are used up or switched off: sysctl user.max_user_namespaces=15000"},
	/* EACCES is what a security module says; a switch or a container says EPERM */
	{"reating new namespace failed: Permission denied",
	 "AppArmor keeps user namespaces from this program: install the AppArmor profile shipped in share/ccbox/apparmor, or "
	 "sysctl kernel.apparmor_restrict_unprivileged_userns=0"},
	{"reating new namespace failed",
	 "user namespaces are switched off: sysctl kernel.unprivileged_userns_clone=1, or "
	 "in a container: start it with --security-opt seccomp=unconfined"},
	{"No permissions to creat",
	 "user namespaces are switched off: sysctl kernel.unprivileged_userns_clone=1, or in a "
	 "container: allow clone with new namespaces"},
	{"Can't mount proc", "this container does not allow a fresh /proc: start it with --security-opt "
			     "systempaths=unconfined (docker, podman)"},
	{"andlock",
	 "Landlock is not available: boot with lsm=landlock,... or use a kernel of 5.13 or later that has it"},
	{"WAIT_KILLABLE", "the kernel lacks seccomp WAIT_KILLABLE_RECV: it needs Linux 5.19 or later"},
	{"seccomp listener",
	 "a seccomp listener could not be made: another sandbox already listens (nested sandboxes cannot "
	 "work), or the container's seccomp profile forbids it"},
	{"pidfd_getfd is forbidden",
	 "the container's seccomp profile forbids pidfd_getfd (older ones of docker do): start it "
	 "with --security-opt seccomp=unconfined or a profile that allows it"},
	{"process inside cannot be read",
	 "sysctl kernel.yama.ptrace_scope=2 or less (3 forbids it to everybody until the next "
	 "boot); in a container: its seccomp profile, or the kernel, has to offer process_vm_readv"},
	{"is missing: install the package", "install the package named"},
	{"not installed beside", "run `make build`, or reinstall ccbox"},
};

const char *cc_probe_remedy(const char *what)
{
	for (size_t i = 0; i < CC_COUNT(remedies); i++)
		if (strstr(what, remedies[i].says))
			return remedies[i].remedy;
	return "";
}

static struct cc_probe_item *add(struct cc_probe *probe, const char *name, bool needed, bool good)
{
	struct cc_probe_item *item = &probe->items[probe->item_count++];

	*item = (struct cc_probe_item){.name = name, .needed = needed, .good = good};
	return item;
}

static bool is_wsl(void)
{
	struct utsname name;

	return uname(&name) == 0 && (strcasestr(name.release, "microsoft") || strcasestr(name.release, "wsl"));
}

static bool kernel_is(const struct utsname *name, int want_major, int want_minor)
{
	int major = 0, minor = 0;

	(void)!sscanf(name->release, "%d.%d", &major, &minor);
	return major > want_major || (major == want_major && minor >= want_minor);
}

enum cc_code cc_probe_kernel(struct cc_err *err)
{
	struct utsname name;

	uname(&name);
	if (kernel_is(&name, 5, 13))
		return CC_OK; /* what a later one may lack is tried, and says so itself */
	return cc_fail(err, CC_EUNSUPPORTED, 0,
		       "Linux %s is too old: the name rules need 5.19 or later (Landlock, seccomp WAIT_KILLABLE_RECV); "
		       "nothing was started",
		       name.release);
}

static void look_kernel(struct cc_probe *probe)
{
	struct utsname name;
	struct cc_probe_item *item;

	uname(&name);
	item = add(probe, "kernel", true, kernel_is(&name, 5, 19));
	snprintf(item->found, sizeof(item->found), "%.200s%s", name.release, is_wsl() ? " (WSL2)" : "");
	snprintf(item->remedy, sizeof(item->remedy), "the name rules need Linux 5.19 or later");
}

static void look_landlock(struct cc_probe *probe)
{
	long abi = syscall(444 /* landlock_create_ruleset */, NULL, 0, 1U);
	int sys = errno;
	struct cc_probe_item *item = add(probe, "landlock", true, abi >= 1);

	if (abi >= 1)
		snprintf(item->found, sizeof(item->found), "ABI %ld", abi);
	else
		snprintf(item->found, sizeof(item->found), "%s", strerror(sys));
	snprintf(item->remedy, sizeof(item->remedy), "%s",
		 sys == EOPNOTSUPP
			 ? "Landlock is built in but not switched on: add landlock to lsm= on the kernel command line"
			 : "this kernel has no Landlock: use one of 5.13 or later built with it");
}

static void look_notify(struct cc_probe *probe)
{
	struct seccomp_notif_sizes sizes;
	bool good = syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, &sizes) == 0;
	struct cc_probe_item *item = add(probe, "seccomp-notify", true, good);

	snprintf(item->found, sizeof(item->found), "%s", good ? "user notification" : strerror(errno));
	snprintf(item->remedy, sizeof(item->remedy),
		 "this kernel or container does not offer seccomp user notification");
}

static long read_number(const char *path)
{
	struct cc_buf text;
	struct cc_err err;
	long number = -1;

	cc_buf_init(&text, 64);
	if (cc_fd_read_file(path, &text, &err) == CC_OK && text.len)
		number = strtol(text.data, NULL, 10);
	cc_buf_done(&text);
	return number;
}

static void look_userns(struct cc_probe *probe)
{
	long clone = read_number("/proc/sys/kernel/unprivileged_userns_clone");
	long max = read_number("/proc/sys/user/max_user_namespaces");
	long apparmor = read_number("/proc/sys/kernel/apparmor_restrict_unprivileged_userns");
	bool root = geteuid() == 0;
	struct cc_probe_item *item = add(probe, "user-namespaces", true, max != 0 && (root || clone != 0));

	snprintf(item->found, sizeof(item->found), "max_user_namespaces %ld%s%s", max,
		 clone == 0 ? ", unprivileged_userns_clone 0" : "",
		 apparmor == 1 ? ", restricted by AppArmor to programs with a profile" : "");
	snprintf(item->remedy, sizeof(item->remedy),
		 "sysctl user.max_user_namespaces=15000 "
		 "kernel.unprivileged_userns_clone=1");
}

static void look_tools(struct cc_probe *probe, char *const *env)
{
	char path[PATH_MAX];
	struct cc_err err;
	bool bwrap = cc_facts_bwrap(env, path, sizeof(path), &err) == CC_OK;
	struct cc_probe_item *item = add(probe, "bubblewrap", true, bwrap);
	static const char *const helpers[] = {"cc-init", "cc-proxy", "cc-connect"};

	snprintf(item->found, sizeof(item->found), "%.400s", bwrap ? path : "not found");
	snprintf(item->remedy, sizeof(item->remedy), "sudo apt-get install bubblewrap");
	for (size_t i = 0; i < CC_COUNT(helpers); i++) {
		bool good = cc_facts_helper(helpers[i], path, sizeof(path), &err) == CC_OK;

		item = add(probe, helpers[i], i < 2, good);
		snprintf(item->found, sizeof(item->found), "%.400s", good ? path : "not found");
		snprintf(item->remedy, sizeof(item->remedy), "run `make build`, or reinstall ccbox");
	}
	probe->available = bwrap;
	probe->requires_install = !bwrap;
	if (!bwrap)
		snprintf(probe->install_hint, sizeof(probe->install_hint),
			 "missing package: bubblewrap (sudo apt-get install bubblewrap)");
	snprintf(probe->note, sizeof(probe->note), "bubblewrap: namespace isolation, no kernel boundary");
}

/* Where the person stands: a host that holds every rule still has places where names cannot be held. */
static void look_here(struct cc_probe *probe)
{
	char line[4096], place[PATH_MAX];
	CC_AUTO_FD fd = open(".", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct statfs fs;
	struct cc_probe_item *item;
	enum cc_fs is;

	if (fd < 0 || fstatfs(fd, &fs) < 0 || !getcwd(place, sizeof(place)) || !cc_mount_line(fd, line, sizeof(line)))
		return;
	is = cc_fs_of((uint64_t)fs.f_type, line);
	item = add(probe, "this-directory", false, !cc_fs_refusal(is));
	snprintf(item->found, sizeof(item->found), "%.200s", place);
	if (!item->good)
		snprintf(item->remedy, sizeof(item->remedy), "it is on %s", cc_fs_refusal(is));
}

/* The first needed capability that is absent explains a failure better than the failure does. */
static void fail_by_item(struct cc_probe *probe)
{
	for (size_t i = 0; i < probe->item_count; i++) {
		const struct cc_probe_item *item = &probe->items[i];

		if (item->good || !item->needed)
			continue;
		snprintf(probe->failing.step, sizeof(probe->failing.step), "%s", item->name);
		snprintf(probe->failing.what, sizeof(probe->failing.what), "%s", item->found);
		snprintf(probe->failing.remedy, sizeof(probe->failing.remedy), "%s", item->remedy);
		return;
	}
}

static void prove(struct cc_probe *probe, char *const *env)
{
	struct cc_proof proof = {0};
	struct cc_err err = {0};
	struct cc_probe_item *item;
	bool good = cc_proof_run(env, &proof, &err) == CC_OK;

	item = add(probe, "sandbox-starts", true, proof.started);
	snprintf(item->found, sizeof(item->found), "%.400s", proof.started ? "yes" : err.what);
	snprintf(item->remedy, sizeof(item->remedy), "%s", cc_probe_remedy(err.what));
	if (proof.started) {
		item = add(probe, "names-held", true, proof.names_held);
		snprintf(item->found, sizeof(item->found), "%s",
			 proof.names_held ? "a forbidden name cannot be made"
			 : proof.late ? "the proof did not come to its end in 2 seconds: this host is too slow, or busy"
				      : "a forbidden name was made, or an allowed one was not");
		item = add(probe, "hosts-held", true, proof.hosts_held);
		snprintf(item->found, sizeof(item->found), "%s",
			 proof.hosts_held ? "a forbidden host cannot be reached"
					  : "the refusal of a forbidden host was not seen");
		item = add(probe, "transparent", false, proof.captures);
		snprintf(item->found, sizeof(item->found), "%s",
			 proof.captures ? "programs that ignore proxy variables reach allowed hosts"
					: "programs that ignore proxy variables see no network");
		snprintf(item->remedy, sizeof(item->remedy), "%s",
			 proof.captures ? "" : "a kernel with nf_tables and its tproxy expression (nft_tproxy)");
	}
	probe->late = good && proof.late;
	probe->enforceable = good && proof.started && proof.names_held && proof.hosts_held;
	probe->failing.sys = probe->enforceable ? 0 : err.sys;
}

void cc_probe_run(char *const *env, bool do_prove, struct cc_probe *out_probe)
{
	*out_probe = (struct cc_probe){0};
	look_kernel(out_probe);
	look_tools(out_probe, env);
	look_userns(out_probe);
	look_landlock(out_probe);
	look_notify(out_probe);
	look_here(out_probe);
	if (do_prove && out_probe->available)
		prove(out_probe, env);
	if (!out_probe->enforceable)
		fail_by_item(out_probe);
}

static void write_items(struct cc_jsonw *w, const struct cc_probe *probe)
{
	cc_jsonw_key(w, "capabilities");
	cc_jsonw_array(w);
	for (size_t i = 0; i < probe->item_count; i++) {
		const struct cc_probe_item *item = &probe->items[i];

		cc_jsonw_object(w);
		cc_jsonw_kstr(w, "name", item->name);
		cc_jsonw_kbool(w, "ok", item->good);
		cc_jsonw_kbool(w, "needed", item->needed);
		cc_jsonw_kstr(w, "found", item->found);
		if (!item->good)
			cc_jsonw_kstr(w, "remedy", item->remedy);
		cc_jsonw_end(w);
	}
	cc_jsonw_end(w);
}

void cc_probe_json(const struct cc_probe *probe, struct cc_buf *out)
{
	struct cc_jsonw w;

	cc_jsonw_init(&w, out);
	cc_jsonw_object(&w);
	cc_jsonw_kint(&w, "v", 1);
	cc_jsonw_kstr(&w, "backend", "native");
	cc_jsonw_kbool(&w, "available", probe->available);
	cc_jsonw_kbool(&w, "requiresInstall", probe->requires_install);
	cc_jsonw_kbool(&w, "enforceable", probe->enforceable);
	cc_jsonw_kstr(&w, "note", probe->note);
	if (probe->install_hint[0])
		cc_jsonw_kstr(&w, "installHint", probe->install_hint);
	if (!probe->enforceable) {
		cc_jsonw_key(&w, "failing");
		cc_jsonw_object(&w);
		cc_jsonw_kstr(&w, "step", probe->failing.step);
		cc_jsonw_kint(&w, "errno", probe->failing.sys);
		cc_jsonw_kstr(&w, "what", probe->failing.what);
		cc_jsonw_kstr(&w, "remedy", probe->failing.remedy);
		cc_jsonw_end(&w);
	}
	write_items(&w, probe);
	cc_jsonw_end(&w);
}
