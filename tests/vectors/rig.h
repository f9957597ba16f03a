/* rig.h - what the egress vectors are run with: a real cc-proxy behind listeners of ours, stub servers on loopback,
 * and a client that sends bytes. TAP comes out: one line per numbered vector. */
#ifndef CC_TESTS_VECTORS_RIG_H
#define CC_TESTS_VECTORS_RIG_H

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { RIG_WAIT_MS = 20000, RIG_TEXT = 65536 };

/* Space-separated lists; hosts is "name=address[,address] ...". */
struct rig_policy {
	const char *allow;
	const char *deny;
	const char *hosts;
	const char *private_names;
	const char *owner_ports;
	const char *parent;
	unsigned conns_max;
	bool gateway;
	bool off;
	bool no_ech;
};

struct rig {
	pid_t pid;
	int control;
	uint16_t http;
	uint16_t socks;
	uint16_t dns;
	char *rest;     /* of the owner's last packet */
	unsigned files; /* before rig_start: its limit of open files, 0 = ours */
};
void rig_start(struct rig *rig, const char *binary, const struct rig_policy *policy);
void rig_policy(struct rig *rig, const struct rig_policy *policy, int generation);
/* Waits for an event that contains every word of the space-separated list; false when none comes. */
bool rig_event(struct rig *rig, const char *words);
/* The same, and the descriptor that came with it (-1: none). */
bool rig_event_fd(struct rig *rig, const char *words, int *out_fd);
/* The same, and its text. */
bool rig_event_text(struct rig *rig, const char *words, char *text, size_t max);
int rig_stop(struct rig *rig); /* the exit code */
long rig_status(const struct rig *rig,
		const char *what); /* a number of the proxy's status file ("RssAnon"), -1: none */

/* A server thread on address (NULL: 127.0.0.1) and a port of the kernel's choice. */
struct stub {
	int fd;
	uint16_t port;
	void (*serve)(struct stub *stub, int fd);
	pthread_t thread;
	atomic_uint accepted;
	atomic_uint received; /* bytes, all connections */
};
void stub_start(struct stub *stub, const char *address, void (*serve)(struct stub *stub, int fd));
bool stub_start_v6(struct stub *stub, void (*serve)(struct stub *stub, int fd)); /* on ::1; false: there is none */
void stub_echo(struct stub *stub, int fd);
void stub_mirror(struct stub *stub, int fd); /* HTTP: the answer's body is what was received */
void stub_count(struct stub *stub, int fd);  /* reads and counts until the end */
void stub_banner(struct stub *stub, int fd); /* speaks first, then echoes */
void stub_reset(struct stub *stub, int fd);  /* reads a byte, resets */
void stub_late(struct stub *stub, int fd);   /* reads to the end, then answers how much it was */

int rig_connect(uint16_t port);
/* Reads until the peer ends, resets, or text holds until (may be NULL), or RIG_WAIT_MS. Returns the length;
 * *out_end: 'E' end, 'R' reset, 'T' time, '.' until was found. */
size_t rig_read(int fd, char *text, size_t max, const char *until, char *out_end);
bool rig_send(int fd, const void *bytes, size_t len);

/* A ClientHello for name (NULL: none), perhaps with an ECH extension, in records of at most size bytes; out has room
 * for 800. */
size_t rig_hello(const char *name, size_t size, bool ech, unsigned char *out);

void tap(bool ok, const char *number, const char *label);
void tap_skip(const char *number, const char *label, const char *why);
int tap_end(void);

#endif
