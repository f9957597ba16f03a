/* runner.h - one run of an agent, in a process of its own: what the agent writes is read here and nowhere else, so that
 * neither the daemon nor another run meets it. It is a client of the daemon like any other: it launches the sandbox,
 * starts the agent in it and ends it over the daemon's socket; and it goes when the daemon goes. */
#ifndef CC_RUNNER_RUNNER_H
#define CC_RUNNER_RUNNER_H

/* Runs until the run is over. link: the socket to the daemon. Returns the exit code. */
int cc_runner_main(int link, char *const *env);

#endif
