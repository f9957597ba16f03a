/* msg.h - the messages between a session's owner and its two helpers. Each is one JSON object in one SOCK_SEQPACKET
 * message (os/peer), named by "m"; larger data travels as a memory file descriptor beside it.
 *
 * owner -> cc-init
 *   setup   {}                                  fds: setup document (memfile, JSON, see below)
 *   go      {}                                  after cc-proxy has the listeners: drop power, start the zygote
 *   exec    {id, cwd, pty, rows, cols}          fds: argument block (memfile, see below) [, stdin, stdout, stderr]
 *                                               with pty no stdio is sent: init makes the PTY and answers its master
 *   signal  {id, signal}                        to the exec's process group
 *   freeze {} / thaw {}                         SIGSTOP / SIGCONT of everything but init and the zygote
 *   fetch   {id, path}                          a regular file below a private or state mount, O_NOFOLLOW
 *   sockets {count}                             TCP sockets of this network namespace, for published ports
 *   list    {id, path}                          names of regular files below a private directory (bounded)
 *   end     {}                                  end of session: init exits, the kernel ends the rest
 * cc-init -> owner
 *   listeners {kinds, roots: ["MAJOR:MINOR:INODE"]}   roots: which directory each bind of the host has become, in rule
 *                                               order; fds: one socket per word of kinds, made inside: "proxy" (per
 * port of setup.listen), "host" (per host port), "catch" and "dns" (transparent) sockets {} fds: as many TCP sockets of
 * the inside as were asked for ready   {facts:{landlock, threads, ...}} failed  {step, errno, text, code: of enum
 * cc_code} then init exits 125: nothing was started started {id, pid}                           [fds: PTY master]
 * refused {id, errno, text} exec could not start: 126/127 are made from errno by the owner exit    {id, code} or {id,
 * signal}          after the process was reaped stopped {id}                                it stopped (a program that
 * suspends itself); signal SIGCONT wakes it violation {action, verb, target, spelled, rule, grant, pid, process, count,
 * raw} notice  {text, flagged...}                  level-flag events and diagnostics: {kind:"flag", target, rule, ...}
 * file    {id, size} or {id, errno}           fds: the file, read-only names   {id, errno}                         fds:
 * memfile, NUL-separated relative names frozen {} / thawed {}
 *
 * setup document: {v:1, rules:<ruleset>, listen:[3128,1080], threads:2, off:[...], fail_at:STEP}
 *   "off" (twin builds only): "gate" "filter" "floor" "mounts" "capture", to show that an attack test detects.
 *   "bridge" (with an empty listen): the path of socat, which cc-init starts for either proxy port.
 *   "pids": most processes and threads of this user namespace (RLIMIT_NPROC of the zygote); where it does not hold,
 *   the launch fails.
 *   "fail_at" (twin builds only): the step of cc-init that is made to fail.
 * argument block: "ARGC ENVC\n" then ARGC + ENVC NUL-terminated strings; argv[0] is looked up in the PATH of env.
 *
 * owner -> cc-proxy
 *   policy  {generation}                        fds: memfile, {v:1, rules:<ruleset>}; again at any time: tunnels that
 *                                               the new rules no longer allow are reset
 *   listen  {kinds}                             fds: the sockets of cc-init's "listeners", and the host's own listeners
 *                                               for published ports ("publish"); once
 *   sockets {}                                  fds: what cc-init answered
 *   end     {}                                  the inside is gone: close all, tell the rest, go
 * cc-proxy -> owner (one packet may hold several, a line each: what is not urgent is sent together)
 *   ready   {generation}                        after policy and listen were taken, and after each later policy
 *   failed  {step, errno, text}                 a later policy that cannot be read: the last good one stays in force;
 *                                               anything else: the proxy exits 125
 *   net     {verdict:"allow"|"deny", proto, host, port, reason, entry, grant, class, address, [detail], count}
 *           proto: connect http socks5 socks4 transparent dns host publish gateway; one "allow" per upstream
 * connection; the first denial of each (host, port, reason) at once, repeats counted and told every 5 s; "allow"
 * without class: it was allowed, but detail says why it could not be made closed  {proto, host, port, up, down, ms,
 * [ech]} sockets {count}                             the owner is to ask cc-init for them bye     {} before it goes,
 * when [dropped] is not told yet gateway {port}                              fds: one end of a connection to the
 * reserved name, for the owner [dropped] in any of them: so many messages found the owner's socket and the queue full
 *
 * End of file on the socket means that the peer is gone: helpers exit at once, owners end the session. */
#ifndef CC_WIRE_MSG_H
#define CC_WIRE_MSG_H

#include "base/buf.h"
#include "wire/json.h"

enum { CC_SETUP_VERSION = 1, CC_PORT_DNS = 53 };

/* Exit code of a helper that refused to go on. */
enum { CC_EXIT_NOT_ESTABLISHED = 125 };

#endif
