/* init.h - cc-init, PID 1 of a native sandbox: the gate, the exec server and the reaper behind one control socket.
 *
 * Theory of operation. It starts with the few capabilities that setting up takes (setup.h), hands the owner the
 * listening sockets, and on `go` drops all but CAP_SYS_PTRACE, which it keeps to read targets that are not dumpable.
 * Then it makes every gate thread, forks the zygote (zygote.h), and puts itself behind an allow-list. From there on
 * one loop: the owner's messages, the zygote's answers, dead children, events. Whatever goes wrong ends PID 1, and
 * the kernel then ends everything else. */
#ifndef CC_INIT_INIT_H
#define CC_INIT_INIT_H

/* Runs until the session ends; the exit code. control is the SOCK_SEQPACKET end towards the owner. */
int cc_init_main(int control);

#endif
