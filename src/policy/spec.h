/* spec.h - what a session is asked to be: the SandboxSpec of the contract (3.1) and, beside it, the policy that
 * files and flags add. A value: plain owned data, validated once, never changed after cc_rules_compile. */
#ifndef CC_POLICY_SPEC_H
#define CC_POLICY_SPEC_H

#include "base/err.h"
#include "base/mem.h"
#include "base/view.h"

#include <stdbool.h>
#include <stddef.h>

/* Zero is "nobody said": a stored value goes through cc_backend_from_name, a request through cc_backend_parse. */
enum cc_backend_kind { CC_BACKEND_UNSET = 0, CC_BACKEND_MICROVM, CC_BACKEND_NATIVE, CC_BACKEND_NONE };

/* Stored values: null or unknown -> none, "docker" -> native, else by name (contract 2.2). */
enum cc_backend_kind cc_backend_from_name(const char *stored);
/* A client's request: an unknown name is CC_EINVAL and lists the names. */
CC_MUST enum cc_code cc_backend_parse(const char *name, enum cc_backend_kind *out_kind, struct cc_err *err);
const char *cc_backend_name(enum cc_backend_kind kind); /* "microvm" "native" "none"; "unset" */

enum cc_mode { CC_MODE_UNSET = 0, CC_MODE_CHAT, CC_MODE_REVIEW, CC_MODE_PLAN, CC_MODE_ORCHESTRATE };
CC_MUST enum cc_code cc_mode_parse(const char *name, enum cc_mode *out_mode, struct cc_err *err);
bool cc_mode_writes(enum cc_mode mode); /* chat only */

struct cc_bind {
	char *host_path;  /* absolute */
	char *guest_path; /* the same for native */
	bool read_only;
};

/* name -> addresses, all written by the operator (network.hosts) */
struct cc_static_host {
	char *name;
	struct cc_strv addresses;
};
void cc_static_hosts_free(struct cc_static_host *hosts, size_t count);

/* What policy files and flags say. Lists only grow while sources are merged (cc_policy_merge). */
struct cc_policy {
	/* filesystem */
	struct cc_strv allow_write; /* directories: become read-write binds */
	struct cc_strv deny_write;  /* literal paths or globs */
	struct cc_strv deny_read;
	struct cc_strv allow_read;    /* directories: become read-only binds */
	struct cc_strv allow_names;   /* globs that open 6.2, evaluated before its globs */
	struct cc_strv allow_paths;   /* exact paths that open 6.6 */
	struct cc_strv allow_sockets; /* host AF_UNIX sockets inside a bind (6.9) */
	struct cc_strv presets;       /* packages, tracked, tooling */
	/* network */
	struct cc_strv allowed_domains;
	struct cc_strv denied_domains;
	struct cc_strv private_names; /* patterns whose addresses may be private */
	struct cc_strv private_cidrs;
	struct cc_static_host *hosts;
	size_t host_count;
	int network;         /* -1 nobody said, 0 off, 1 on; off wins in a merge */
	int ech;             /* the same; off: a ClientHello with an encrypted name is refused */
	int max_connections; /* 0 nobody said; the smallest wins in a merge */
	char *parent_proxy;  /* NULL, or http://HOST:PORT; the last one said wins */
	/* agents and environment */
	struct cc_strv actions; /* CLASS=deny|prompt|allow: about runs of agents (src/guard says which there are) */
	struct cc_strv env;     /* NAME (pass the host's value) or NAME=VALUE */
};

void cc_policy_init(struct cc_policy *policy); /* empty; network: nobody said */
void cc_policy_done(struct cc_policy *policy);
/* Adds a static host that has no address yet; *out_host is good until the next one is added. */
CC_MUST enum cc_code cc_policy_add_host(struct cc_policy *policy, const char *name, struct cc_static_host **out_host,
					struct cc_err *err);
/* Adds what from says to into: lists are joined, the network is off if either says so. */
CC_MUST enum cc_code cc_policy_merge(struct cc_policy *into, const struct cc_policy *from, struct cc_err *err);

struct cc_spec {
	char *session_id; /* contract 3.1; may contain "::" */
	char *workspace_id;
	char *agent_id; /* may be NULL */
	struct cc_bind *binds;
	size_t bind_count;
	bool network_enabled;
	struct cc_strv egress_allowlist;
	char *guest_workdir; /* may be NULL */
	enum cc_mode mode;
	struct cc_strv protected_paths;
	struct cc_strv runner_state_dirs;
	struct cc_strv exec_grant_roots; /* held; Linux ignores them */
	struct cc_strv publish;          /* ports inside, to be reachable on the host's loopback */
	struct cc_strv host_ports;       /* ports of the host's loopback, to be reachable inside */
	struct cc_strv owner_ports;      /* where the session's owner listens: never reachable */
	int transparent;                 /* enum cc_transparent */
	bool gateway;                    /* the owner takes connections to its reserved name */
	bool foreign;                /* another tool's sandbox, to which the rules are added: its mounts, its network */
	struct cc_strv private_dirs; /* foreign: where it mounts a tmpfs */
	struct cc_policy policy;
};

/* The contract's defaults: network on, mode chat, lists empty. */
void cc_spec_init(struct cc_spec *spec);
void cc_spec_done(struct cc_spec *spec);
CC_MUST enum cc_code cc_spec_add_bind(struct cc_spec *spec, const char *host_path, bool read_only, struct cc_err *err);
/* Absolute paths, no NUL or newline, sane ids, no bind that is or contains / /proc /sys /dev /run, no two binds of one
 * path with different modes: the first fault is named. */
CC_MUST enum cc_code cc_spec_check(const struct cc_spec *spec, struct cc_err *err);

#endif
