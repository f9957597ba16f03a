/* forgemsg.h - the messages between the daemon and cc-forge, the one process that speaks to forges, each one JSON
 * object in one SOCK_SEQPACKET message (os/peer), named by "m".
 *
 * daemon -> forge
 *   start     {}  fds: memfile {dataDir, forges: [FORGE, ...], [timeoutMs]}; first, once
 *   mint      {id, run, repos: ["HOST/OWNER/NAME", ...]}: reading, all on one host
 *   advertise {id, run, repo, [protocol]}  fds: a stream, which gets the body of
 *             GET https://HOST/OWNER/NAME.git/info/refs?service=git-receive-pack
 *   receive   {id, run, repo, [encoding], [protocol]}  fds: the body (a regular file, sent from its beginning), a
 * stream, which gets the answer's: POST .../NAME.git/git-receive-pack revoke    {id, run}  everything of that run; what
 * it still does is broken off End of file: everything is taken back, then it exits, in bounded time; what is left is
 * taken back at the next start.
 *
 * forge -> daemon
 *   ready   {hosts: [], left: n}  first; n: tokens of an earlier time that could not be taken back yet
 *   minted  {id, env: ["NAME=VALUE"], git: [[key, value], ...], advisory, notes: [], [expiresAt]}  seconds since 1970
 *   done    {id, status, contentType}  of advertise and receive, once: with status 200 before the first byte of the
 * body, which ends with the stream; any other status has none revoked {id, failed}  failed: tokens that the forge did
 * not take back; they are tried again failed  {id, code, text}  instead of any of these (of start: without id, and it
 * exits)
 *
 * FORGE  {kind: "github", host, [api], appId, keyFile, [caFile]}             a GitHub App
 *        {kind: "gitlab", host, [api], tokenFile, [caFile]}                  tokenFile may make project access tokens
 *        {kind: "gitea", host, [api], user, passwordFile, [caFile]}          Gitea, Forgejo: read-only tokens of that
 * user {kind: "gitea", host, tokenFile, [user], [caFile]}                  a personal token, as below {kind: "token",
 * host, tokenFile, [user], [forge], [caFile]}         a personal token: the push rule is advisory; forge: "github",
 * "gitlab", "gitea": the variables it becomes host may have a port. api is the whole base (https://api.github.com,
 * https://HOST/api/v4); without it, the usual one. */
#ifndef CC_WIRE_FORGEMSG_H
#define CC_WIRE_FORGEMSG_H

enum { CC_FORGE_START_MAX = 256 << 10, CC_FORGE_REPOS_MAX = 16 };

#endif
