/* kind.h - the kinds of forges: how each is asked for a token, how its answer is read, how the token is taken back, and
 * what it becomes for the run. Everything here is from data alone: no call is made, no clock is read. */
#ifndef CC_FORGE_KIND_H
#define CC_FORGE_KIND_H

#include "base/buf.h"
#include "base/err.h"
#include "base/view.h"
#include "forge/jwt.h"
#include "forge/name.h"
#include "wire/json.h"

#include <stdbool.h>
#include <stdint.h>

enum {
	CC_FORGE_HEADERS_MAX = 8,
	CC_FORGE_SECRET_MAX = 4096,
	CC_FORGE_BODY_MAX = 16 << 10,
	CC_FORGE_QUOTE_MAX = 160, /* of what a forge says, in an error */
};

/* What one token reaches at most: repositories that differ in it need one each. */
enum cc_forge_reach { CC_REACH_HOST, CC_REACH_OWNER, CC_REACH_REPO };

/* How the forge's own tools know a token. */
enum cc_forge_family { CC_FAMILY_NONE, CC_FAMILY_GITHUB, CC_FAMILY_GITLAB, CC_FAMILY_GITEA };

struct cc_forge_kind;

/* One that is configured. The strings that hold a secret are wiped with it. */
struct cc_forge {
	const struct cc_forge_kind *kind;
	enum cc_forge_family family;
	char *host, *api;
	char *user;             /* before the colon of Basic authorization */
	char *secret;           /* a personal token, a token that makes others, or a password */
	char *app;              /* who signs with key */
	struct cc_jwt_key *key; /* NULL: it is asked with the secret */
	char *ca;               /* PEM; NULL: the system's */
	size_t ca_len;
	int64_t skew; /* what its clock is ahead of ours, in seconds; under the broker's lock */
};

struct cc_forge_want {
	const struct cc_repo *repos;
	size_t count; /* at least one, all within one reach */
	bool write;
	const char *name; /* of the token: letters, digits, dashes; the only one of that name */
	int64_t now;      /* by the forge's clock */
};

struct cc_forge_call {
	const char *method;
	struct cc_buf url, body;
	struct cc_strv headers; /* "Name: value" */
};

struct cc_forge_token {
	char *secret;
	char *number;    /* what the forge calls it, where it is not called by itself; NULL: by itself */
	int64_t expires; /* seconds since 1970; 0: never said */
};

typedef void cc_forge_step(const struct cc_forge *forge, const struct cc_forge_want *want, int64_t found,
			   const char *authority, struct cc_forge_call *call);

struct cc_forge_kind {
	const char *name;
	const char *api; /* behind https://HOST, where none is configured */
	enum cc_forge_reach reach;
	bool nested; /* an owner may be a path */
	bool signs;  /* its authority is a signed word of the App */
	/* ask == NULL: there is only the configured token, which cannot be narrowed. authority is a header's line. */
	cc_forge_step *find; /* what ask needs to know first; NULL: nothing */
	cc_forge_step *ask;
	const char *secret_key, *number_key, *expires_key; /* members of the answer; NULL: there is none */
	/* The token can do what was asked for, and no more. */
	enum cc_code (*check)(const struct cc_json *answer, const struct cc_forge_want *want, struct cc_err *err);
	/* from: "OWNER/NAME" that it was made for. */
	void (*take_back)(const struct cc_forge *forge, const struct cc_forge_token *token, const char *from,
			  const char *authority, struct cc_forge_call *call);
	bool by_itself;           /* the token is its own authority for that, so the journal needs it */
	bool by_name;             /* it is called as it was asked for: it can be taken back unseen */
	int gone;                 /* besides 2xx: the status that says there is no such token (any more) */
	const char *note;         /* what a person should know of such tokens; NULL: nothing */
	const char *default_user; /* with git */
};

extern const struct cc_forge_kind cc_kind_github, cc_kind_gitlab, cc_kind_gitea, cc_kind_personal;

/* The line that says who asks: of kinds that do not sign. */
void cc_forge_authority(const struct cc_forge *forge, struct cc_buf *out);
/* Authorization: Basic ..., as git sends it. */
void cc_forge_basic(const struct cc_forge *forge, const char *secret, struct cc_buf *out);

void cc_forge_call_init(struct cc_forge_call *call);
void cc_forge_call_done(struct cc_forge_call *call); /* wiped */
void cc_forge_header(struct cc_forge_call *call, const char *line);
/* Wipes, then frees. */
void cc_forge_wipe(char *secret);
void cc_forge_wipe_buf(struct cc_buf *buf);
void cc_forge_token_done(struct cc_forge_token *token);

/* The answer to find: a number of that name. */
CC_MUST enum cc_code cc_forge_read_found(struct cc_view body, int64_t *out_found, struct cc_err *err);
/* The answer to ask. The token alone is taken first, so that it can be taken back when the rest is not right. */
CC_MUST enum cc_code cc_forge_read_token(const struct cc_forge *forge, const struct cc_json *answer,
					 struct cc_forge_token *out_token, struct cc_err *err);
CC_MUST enum cc_code cc_forge_check_token(const struct cc_forge *forge, const struct cc_json *answer,
					  const struct cc_forge_want *want, const struct cc_forge_token *token,
					  struct cc_err *err);
/* A time of a forge, 2031-01-31T12:00:00Z or a day alone (its first second, UTC); -1: it is neither. */
int64_t cc_forge_time(struct cc_view text);
void cc_forge_day(int64_t seconds, char out[16]);

/* What a forge said, for an error: one line, bounded, printable, and without anything that could be a token. */
void cc_forge_quote(struct cc_view body, char *out, size_t cap);
/* The error that a status is. */
CC_MUST enum cc_code cc_forge_refusal(const char *host, const char *what, long status, struct cc_view body,
				      struct cc_err *err);

/* Two repositories that one token can reach. */
bool cc_forge_together(const struct cc_forge *forge, const struct cc_repo *left, const struct cc_repo *right);
/* What a token becomes: variables, and git's settings (key, value, key, value, ...), for that repository and what
 * is together with it; apart: there are others on the host with another token. */
CC_MUST enum cc_code cc_forge_env(const struct cc_forge *forge, const char *secret, struct cc_strv *env,
				  struct cc_err *err);
CC_MUST enum cc_code cc_forge_git(const struct cc_forge *forge, const struct cc_repo *repo, bool apart,
				  const char *secret, struct cc_strv *git, struct cc_err *err);

#endif
