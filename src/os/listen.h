/* listen.h - where a server is reached: TCP on this host and a Unix socket whose callers are known by their uid. */
#ifndef CC_OS_LISTEN_H
#define CC_OS_LISTEN_H

#include "base/err.h"

#include <stdbool.h>
#include <stdint.h>

/* any: every interface; else 127.0.0.1. port 0 = one that is free. Non-blocking. */
CC_MUST enum cc_code cc_listen_tcp(bool any, uint16_t port, int *out_fd, struct cc_err *err);
/* At path, 0600. A socket that nobody answers any more is replaced; one that somebody answers is a refusal. */
CC_MUST enum cc_code cc_listen_unix(const char *path, int *out_fd, struct cc_err *err);
/* Connects to the Unix socket at path: blocking. CC_ENOTFOUND when nobody listens there. */
CC_MUST enum cc_code cc_listen_connect(const char *path, int *out_fd, struct cc_err *err);
/* Accepts one connection, non-blocking. -1 with errno. */
int cc_listen_accept(int listener);
bool cc_listen_is_unix(int fd);
/* The process at the other end of a Unix socket has our uid. */
bool cc_listen_peer_is_us(int fd);
/* Sockets that the service manager opened for us (LISTEN_PID, LISTEN_FDS); 0 without one. The first is *out_first. */
int cc_listen_inherited(char *const *env, int *out_first);

#endif
