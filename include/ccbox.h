/* ccbox.h - libccbox: sandboxes of a running cc_server, from C. It speaks to the server's Unix socket, where the caller
 * is known by its uid; one call at a time per struct ccbox, which is not shared between threads.
 *
 * Functions return 0, or -1 with *error filled (error may be NULL). Strings that come back as char ** are the caller's:
 * free(). JSON is as the server's OpenAPI description has it (docs/openapi.json). */
#ifndef CCBOX_H
#define CCBOX_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CCBOX_API 2 /* grows when something is added */

struct ccbox;
struct ccbox_stream;

struct ccbox_error {
	char code[24]; /* "invalid" "refused" "not-found" "state" ...; "unreachable": no server answers */
	int status;    /* of HTTP, 0 without an answer */
	char message[400];
};

const char *ccbox_version(void);
/* socket: NULL for the server of this user (CC_SERVER_SOCKET, CC_SERVER_DATA_DIR, XDG_RUNTIME_DIR). */
int ccbox_open(const char *socket, struct ccbox **out_box, struct ccbox_error *error);
void ccbox_close(struct ccbox *box);

/* Any call of the API: what comes back is the body of the answer. body may be NULL. */
int ccbox_call(struct ccbox *box, const char *method, const char *path, const char *body, size_t body_len,
	       char **out_json, struct ccbox_error *error);

int ccbox_probe(struct ccbox *box, char **out_json, struct ccbox_error *error);
/* spec: a SandboxSpec as JSON. The handle comes back when the sandbox is warm. */
int ccbox_launch(struct ccbox *box, const char *spec, char **out_handle, struct ccbox_error *error);
int ccbox_list(struct ccbox *box, char **out_json, struct ccbox_error *error);
int ccbox_get(struct ccbox *box, const char *session, char **out_handle, struct ccbox_error *error);
int ccbox_suspend(struct ccbox *box, const char *session, struct ccbox_error *error);
int ccbox_resume(struct ccbox *box, const char *session, struct ccbox_error *error);
/* Returns when nothing of it runs any more. */
int ccbox_destroy(struct ccbox *box, const char *session, struct ccbox_error *error);

struct ccbox_command {
	size_t size;             /* sizeof(struct ccbox_command) */
	const char *const *argv; /* NULL-terminated */
	const char *const *env;  /* NAME=VALUE, NULL-terminated, or NULL */
	const char *workdir;     /* NULL: the session's */
	long timeout;            /* seconds, 0 = none */
	int stdin_open;          /* input comes by ccbox_stdin; else there is none */
};
/* The stream has the command's output and its exit. Closing it before the exit ends the command. */
int ccbox_exec(struct ccbox *box, const char *session, const struct ccbox_command *command,
	       struct ccbox_stream **out_stream, struct ccbox_error *error);
int ccbox_stdin(struct ccbox *box, const char *session, int command, const void *bytes, size_t len, int last,
		struct ccbox_error *error);
/* name: "TERM", "INT", "HUP", "KILL" ... */
int ccbox_signal(struct ccbox *box, const char *session, int command, const char *name, struct ccbox_error *error);
/* Everything that happens in the session, from after the event `since` (0: from what the server still has). follow:
 * until the session is destroyed. */
int ccbox_events(struct ccbox *box, const char *session, uint64_t since, int follow, struct ccbox_stream **out_stream,
		 struct ccbox_error *error);

/* The record of a run of an agent (/v1/runs), as ccbox_events has it for a session. */
int ccbox_run_events(struct ccbox *box, const char *run, uint64_t since, int follow, struct ccbox_stream **out_stream,
		     struct ccbox_error *error);

struct ccbox_event {
	const char *type; /* stdout stderr exit starting ready killed violation notice */
	uint64_t seq;     /* 0: about this reader, not about the session */
	uint64_t lost;    /* so many events before it are gone */
	int command;      /* 0: the session itself */
	int exit_code;    /* "exit" */
	const char *content;
	size_t content_len; /* bytes as they were, whatever they are */
	const char *json;   /* the whole event */
};
/* 1: *out_event is the next one, good until the next call; 0: none in timeout_ms (negative: waits); -1: the stream is
 * over (error->code empty) or broken. */
int ccbox_next(struct ccbox_stream *stream, int timeout_ms, struct ccbox_event *out_event, struct ccbox_error *error);
int ccbox_stream_fd(const struct ccbox_stream *stream);      /* readable: ccbox_next may have something */
int ccbox_stream_command(const struct ccbox_stream *stream); /* number of the command of ccbox_exec */
void ccbox_stream_close(struct ccbox_stream *stream);

#ifdef __cplusplus
}
#endif

#endif
