/* pushmsg.h - the messages between the daemon and a run's push gateway (cc-push), each one JSON object in one
 * SOCK_SEQPACKET message (os/peer), named by "m".
 *
 * daemon -> gateway
 *   start    {}             fds: memfile {runId, secret, dir, objects, [copy], [base], root, rules, repositories:[],
 * push:[], [maxBytes], [waitSeconds]}; first, once dir           an empty directory of its own (0700), for what has to
 * lie on a disk while it is looked at objects, copy  git directories, of the checkout and of the run's copy, or null:
 * out of their objects comes what the upstream has named, and base (what the run began with), hashed anew; nothing else
 * of them is read but where a shallow one ends. What neither has cannot be looked at, and is refused root, rules where
 * the trees would be checked out, a bind of rules (wire/ruleset) repositories  "host/owner/name" as the upstream spells
 * them, no others are pushed to push          the rules of push/rule.h; an empty list asks or denies maxBytes      of
 * one push, decoded; 2 GiB where it is not said waitSeconds   how long a person is waited for; 3600 where it is not
 * said. Silence is no conn     {}             fd: a stream socket, one connection from inside answer   {id, allow,
 * [by]}  to a question done     {id, status, contentType}  the head of the upstream's answer to that forward. Said as
 * soon as it is known, before the body, which follows through the stream to its end of file failed   {id, [code], text}
 * there is no answer to it stop     {}             end it gateway -> daemon forward  {id, repo, service:"advertise",
 * [protocol]}  fds: the end of a stream that the answer's body is written to forward  {id, repo, service:"receive",
 * [protocol]}    fds: the request's body (a file, read-only, from 0); the same end of a stream. Only now may a token
 * that writes be made, for that repository alone protocol      what the client said in Git-Protocol; the two are GET
 * REPO/info/refs?service=git-receive-pack and POST REPO/git-receive-pack. No redirect is followed. Whatever ends it
 * closes the stream; where the stream's other end is closed, nobody waits for it any more ask      {id, e}        a
 * question to a person: e {type:"push", verdict:"asked", ...} settled  {id}           nobody waits for that answer any
 * more event    {e}            for the record: e {type:"push", verdict, repository, refs, rule, reason, findings};
 * verdict: allowed, denied, or failed: it was allowed, and the upstream did not take it
 *
 * options: push options, where there are any. refs: [{ref, what, old, new}], of a question all of them; commits: [{id,
 * subject}], the newest ones, of commitCount; stat: git's own summary; findings: [{path, rule, reason}]. Ids of both
 * directions are numbers of the gateway's. End of file: the peer is gone. A gateway ends then, and takes what lies in
 * dir with it. */
#ifndef CC_WIRE_PUSHMSG_H
#define CC_WIRE_PUSHMSG_H

enum { CC_PUSH_START_MAX = 16 << 20 };

#endif
