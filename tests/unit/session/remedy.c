#include "../t.h"

#include "session/probe.h"

/* What the enforcers say on hosts that refuse, and a word of the remedy that a person must then read. */
static const struct {
	const char *says, *remedy;
} rows[] = {
	{"bwrap: loopback: Failed RTM_NEWADDR: Operation not permitted", "apparmor"},
	{"bwrap: setting up uid map: Permission denied", "apparmor"},
	{"bwrap: setting up uid map: Operation not permitted", "CAP_SETFCAP"},
	{"bwrap: Creating new namespace failed: Operation not permitted", "unprivileged_userns_clone"},
	{"bwrap: Creating new namespace failed: Permission denied", "apparmor"},
	{"bwrap: No permissions to creating new namespace, likely because the kernel does not allow", "clone"},
	{"bwrap: Creating new namespace failed: nesting depth or No space left on device", "max_user_namespaces"},
	{"bwrap: Creating new namespace failed: nesting depth or /proc/sys/user/max_*_namespaces exceeded (ENOSPC)",
	 "max_user_namespaces"},
	{"bwrap: Can't mount proc on /newroot/proc: Operation not permitted", "systempaths"},
	{"cc-init, step zygote: Landlock: Function not implemented", "lsm="},
	{"cc-init, step reach: pidfd_getfd is forbidden here: no socket could be bound", "seccomp=unconfined"},
	{"cc-init, step reach: the memory of a process inside cannot be read (process_vm_readv)", "ptrace_scope"},
	{"bwrap is missing: install the package bubblewrap", "package"},
	{"nothing that is known", ""},
};

static void every_refusal_has_its_remedy(void **state)
{
	(void)state;
	for (size_t i = 0; i < CC_COUNT(rows); i++)
		T_ROW(strstr(cc_probe_remedy(rows[i].says), rows[i].remedy) != NULL &&
			      (rows[i].remedy[0] || !cc_probe_remedy(rows[i].says)[0]),
		      rows[i].says);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(every_refusal_has_its_remedy)};

	return cmocka_run_group_tests_name("remedy", tests, NULL, NULL);
}
