/* ownermsg.h - the messages between the daemon and the owners of its sessions (cc-session, one a session). Each is one
 * JSON object in one SOCK_SEQPACKET message (os/peer), named by "m".
 *
 * daemon -> owner
 *   launch  {}                    fds: memfile {ask: the client's body, sessionId, backend, protect:[], ownerPorts:[],
 *                                 denyRead:[], gateway}; first, once
 *   exec    {id, pty, rows, cols, [body]} fds: [memfile with the client's body where it is not in the message]
 *                                 [stdin, stdout, stderr: pipes, without pty]
 *   signal  {id, signal}          to the command's process group
 *   suspend {} / resume {}
 *   end     {}                    the sandbox is ended, then the owner exits
 * owner -> daemon
 *   up      {backend, workdir, limits, environment, dropped:[]}    the session is warm
 *   failed  {code, text}          nothing was started; the owner exits
 *   state   {state, text}         it has changed; text with "error"
 *   event   {e: an event}         numbered by the daemon, not by the owner
 *   gateway {} fd                 a connection from inside to the reserved name, where the launch said gateway
 *   started {id} [fd: the terminal's master]
 *   refused {id, errno, text}     the command did not start
 *   exit    {id, code} or {id, signal}
 *           these three: [state], where it has changed with them
 *   denied  {what, code, text}    a request that the state does not allow
 *
 * End of file: the peer is gone. An owner then ends its session; the daemon records it as lost. */
#ifndef CC_WIRE_OWNERMSG_H
#define CC_WIRE_OWNERMSG_H

#define CC_OWNER_GROUP "ccbox-session-" /* control group: and the pids of daemon and owner, with a dash between */

enum { CC_OWNER_LAUNCH_MAX = 4 << 20, CC_OWNER_BODY_MAX = 32 << 10 };

#endif
