/* runmsg.h - the messages between the daemon and the runners of agents (cc-run, one a run), each one JSON object in one
 * SOCK_SEQPACKET message (os/peer), named by "m".
 *
 * daemon -> runner
 *   start   {}            fds: memfile {runId, socket, dataDir, repo, forges:[host], push:[rule], pushPath,
 *                         protect:[], ask: the client's body}; first, once
 *   steer   {text}        a person's further word
 *   stop    {}            end it
 *   answer  {id, allow}   to a question
 *   conn    {} fd         a connection from inside to the reserved name: for the push gateway
 *   forge   {id, what, ...}  what a forge has answered: as forgemsg.h, its "m" as what
 * runner -> daemon
 *   up      {backend, e}  it runs, in that sandbox
 *   event   {e, [ask: n], [settled: n]}  for the record; n: a question that waits from now on, or does not any more
 *   forge   {id, what: mint, repos:[host/owner/name]}  once, before up: a token that reads
 *           {id, what: advertise | receive, repo, ...} fds: as forgemsg.h, with a token that writes and stays there
 *   end     {code, reason, e}  the last word; e joins the record's end
 *
 * e is an object that the daemon puts its own number, time and run before. End of file: the peer is gone. A runner then
 * ends; the daemon ends the run's session and records the run as lost. */
#ifndef CC_WIRE_RUNMSG_H
#define CC_WIRE_RUNMSG_H

enum { CC_RUN_START_MAX = 1 << 20 };

#endif
