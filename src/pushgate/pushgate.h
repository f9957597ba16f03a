/* pushgate.h - a run's push gateway, in a process of its own: what the agent's git says and what its upstream answers
 * are read here and nowhere else. It has no token and no way to the network: the daemon has the upstream asked, after
 * the verdict. */
#ifndef CC_PUSHGATE_PUSHGATE_H
#define CC_PUSHGATE_PUSHGATE_H

/* Runs until the daemon says so, or is gone. link: the socket to it. Returns the exit code. */
int cc_pushgate_main(int link, char *const *env);

#endif
