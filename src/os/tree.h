/* tree.h - everything that descends from this process, wherever it has moved to: other sessions, other groups, orphans.
 * For a process that adopts its orphans (cc_proc_adopt), so that nobody can leave the tree by a second fork. */
#ifndef CC_OS_TREE_H
#define CC_OS_TREE_H

#include <stdbool.h>
#include <sys/types.h>

/* Sends to every descendant; how many there were. */
size_t cc_tree_signal(int signal);
/* Kills every descendant and reaps those that are ours, until there is none. False: some could not be ended (another
 * user's, or in a system call that does not end). */
bool cc_tree_end(void);
/* SIGKILL to every process of the session that leader began. What is left when the process that adopts was itself
 * killed: a process that had left that session is not found. */
void cc_tree_end_session(pid_t leader);

#endif
