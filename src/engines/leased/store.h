/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interface between the leased client (leased.h), which knows sessions,
 * watches and clocks, and a *store*, which speaks to one kind of server that
 * keeps queues and has a clock of its own (Redis, PostgreSQL, or several Redis
 * servers that form a quorum).
 *
 *     core -- requests, events --> leased -- calls, answers --> store -- server
 *
 * A store carries out calls on one link at a time.  The rules of the store:
 *
 *  - connect() begins to make a link, for one session.  disconnect() ends it.
 *    The store calls hf_leased_up() when the server can be called and passes on
 *    the session's notices.  It calls hf_leased_down() when the link could not
 *    be made or has ended.  After hf_leased_down() or disconnect() there is no
 *    link: the leased client fails the calls that were under way, and the store
 *    touches them no more and reports nothing until the next connect().
 *  - call() is made only between hf_leased_up() and hf_leased_down() or
 *    disconnect().  Each call is answered at most once, by
 *    hf_leased_answered().  A call without an answer reaches the deadline of
 *    the leased client, which then disconnects.  An answer that is a failure
 *    leaves the link up.
 *  - An answer is final: the server does not undo what it says was done, as far
 *    as the engine's document promises.  A store that knows that a call was
 *    carried out, but not yet that the change is durable, does not answer yet.
 *    If it can never know, it answers UNSURE.  The answer to a RENEW covers all
 *    calls that were carried out before it.  A LIST, an EXISTS, a NAMES, an
 *    EXAMINE and a READ_SUCCESS change no ticket, so their answers confirm
 *    nothing.
 *  - Calls of one session about one queue take effect in the order in which
 *    they were made.  RENEW and CLOSE_SESSION keep that order with all of them.
 *  - A store reports nothing from inside connect(), disconnect(), call() and
 *    flush().  If one of these fails at once, the store reports it from the
 *    loop later.
 *  - A lost notice is survived, because the leased client polls, but it costs
 *    time.  If notices may be lost because their connection has ended, the
 *    store calls hf_leased_down().
 *  - The client's lock is held during every call in both directions.
 *
 * The rules of the code that runs at the server:
 *
 *  - A queue is a set of tickets in the order of their sequences.  A new
 *    sequence, and a new token, is greater than all that this queue ever gave
 *    out.
 *  - A queue has the name of its lock.  The name of a lock never ends with '/'.
 *    The name of a lock with '/' appended is the queue of its barrier flags: at
 *    most one ticket for each kind of flag, put there by SET_FLAG.  It has no
 *    session and never expires.
 *  - Participants of a double barrier and their flag READY are in the lock's
 *    queue but separate: an answer has only these if .ticket_kind is
 *    PARTICIPANT, and never otherwise.  They wait for no ticket and no ticket
 *    waits for them.  READY has no session.  It stays at least as long as a
 *    participant does.
 *  - A ticket lives until it is removed, or until its session was not renewed
 *    for ttl_ms by the server's clock.  No other clock counts.  A call first
 *    removes the expired tickets of its queue and then acts.  A call that looks
 *    at a part of the queue only (EXISTS, a partial list, a call about one
 *    ticket) may skip that, if no ticket that it looks at has expired.  So
 *    every ticket that is shown is alive.  An expired ticket never comes back.
 *  - A call is atomic.
 *  - A call that reaches the server after not_after_ms of the server's clock
 *    writes nothing and answers RETRY with the text HF_STORE_LATE.  So a server
 *    that was frozen does no harm with the calls in its buffers.
 *  - A call that removes a ticket, also an expired one, publishes these notices
 *    (hf_store_notice):
 *      - GONE to the session of each ticket that waited for the removed one.  A
 *        READ waits for the nearest WRITE ahead (EXCLUSIVE is not stored), a
 *        LEASE for nothing, any other ticket for the nearest ticket ahead.
 *        This is decided by the queue as it was before the call removed
 *        anything.  The notice may name that ticket as .first, if no ticket is
 *        ahead of it any more and the removal is final, as an answer is.
 *      - GONE to the owner's session, unless the owner removed it.
 *      - CHANGED to each session that watches the queue (a LIST with
 *        .watches_queue).  This ends the watch.
 *  - An ENQUEUE that adds a ticket, a DOWNGRADE and a NEW_GENERATION publish
 *    CHANGED, too.  A DOWNGRADE also publishes GONE with .ticket_kind WRITE to
 *    the sessions that waited for the WRITE.
 *  - A session may receive a notice twice, or one that is meant for another
 *    session.
 */
#ifndef HF_ENGINES_LEASED_STORE_H
#define HF_ENGINES_LEASED_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/engine.h"
#include "core/evicted_by.h"
#include "core/ticket.h"

/* Size of a session's name: 32 hexadecimal digits and the NUL.  The name is
 * random, so no two sessions share one. */
#define HF_STORE_SESSION_BYTES 33

/* ----------------------------------------------------------------- calls -- */

enum hf_store_call_kind {
    /* Extend the lease of every living ticket of the session, and its queue
     * watches, to ttl_ms from now.  .ticket_sets has all tickets of the
     * session, including those whose ENQUEUE is under way.  A store that wants
     * pieces (hf_leased_config) gets the sets in several calls, see
     * .not_first_piece and .not_last_piece; one queue may be in several
     * pieces.  The answer has the tickets that are not at the server
     * (.missing) and those whose owner was asked to release (.revoked > 0),
     * and no others.  It comes when all is done; if a part fails, the call
     * fails.  If the server has a ticket that is in no set, the server has
     * lost the removal of that ticket, for instance in a failover: the store
     * removes it, or lets it expire.  A store of several servers may give up
     * the tickets at one of them and call these .missing.  It must then hide
     * these tickets from the client until a RENEW has reached that server. */
    HF_STORE_RENEW,
    /* Append the ticket.  It lives for ttl_ms from now, or as long as an
     * answered RENEW promised to the whole session.  If a ticket with this id
     * is there already, leave it as it is.  The answer has the queue just after
     * that, or a part of it (.partial). */
    HF_STORE_ENQUEUE,
    /* Read the queue, or a part of it (.partial).  With .watches_queue the
     * session receives one CHANGED when the queue changes, unless the session
     * ends before. */
    HF_STORE_LIST,
    /* The answer has those of .tickets that are in the queue, in any order,
     * with at least .id, .kind and their leases. */
    HF_STORE_EXISTS,
    /* Remove the ticket, which may be of another session.  The GONE to its
     * owner then says .evicted_by, if that is given.  .found: the ticket was
     * there. */
    HF_STORE_REMOVE,
    /* Make a write ticket of this session a read ticket.  Nothing else of it
     * changes.  .found: it is a read ticket now, or was one already. */
    HF_STORE_DOWNGRADE,
    /* Add one to the ticket's .revoked, and send REVOKED to its owner. .found:
     * the ticket is there. */
    HF_STORE_REVOKE,
    /* Replace the payload of a ticket of this session.  No notice is sent.
     * .found: the ticket is there. */
    HF_STORE_DESCRIBE,
    /* About a queue of flags.  SET_FLAG puts .ticket in as the flag of
     * .ticket_kind, if there is no such flag.  CLEAR_FLAG removes the flag.
     * .found: it was set before. */
    HF_STORE_SET_FLAG,
    /* Also clears READY, in the queue of the participants, but not while a
     * participant is there. */
    HF_STORE_CLEAR_FLAG,
    /* If .ticket is a participant that is there, and at least .limit
     * participants are: replace the flag READY by .flag, with a new sequence
     * and token.  .found: this was done. */
    HF_STORE_NEW_GENERATION,
    /* Remove the tickets of .ticket_sets; the last piece (.not_last_piece) also
     * removes whatever else the server has of .session.  That may be an older
     * session than the link's.  Several pieces may be under way. */
    HF_STORE_CLOSE_SESSION,
    /* Name queues at or below .prefix, see HF_REQUEST_NAMES in core/engine.h.
     * .names of the answer has them. */
    HF_STORE_NAMES,
    /* Examine the server, or all servers that the store uses, see
     * HF_REQUEST_EXAMINE.  A server that does not answer, or does not let us
     * look, is a finding; the call fails only if nothing can be said.
     * .findings of the answer has them. */
    HF_STORE_EXAMINE,
    /* Read the success of the queue: .success of the answer. */
    HF_STORE_READ_SUCCESS,
    /* If .ticket is a ticket of this session that is there, and the queue has
     * no success with a greater token: make .success_token and the server's
     * clock the success of the queue, which never expires.  .found: this was
     * done. */
    HF_STORE_WRITE_SUCCESS,
};

/* What a session has, or may have, in one queue. */
struct hf_store_ticket_set {
    const char *queue;
    const struct hf_ticket_id *tickets;
    size_t count;
    bool watches_queue;
};

/* The step that a call takes at one of several servers which agree on an order
 * (engines/quorum).  A ticket's number is *proposed* at the servers and then
 * *committed*.  Every number that a queue gives out is greater than all numbers
 * that it gave out or received before. */
enum hf_store_quorum_step {
    HF_STORE_NO_STEP,
    /* ENQUEUE: if the ticket is not there, put it in as proposed, with a
     * number that the server chooses; else leave it as it is.  The answer has
     * this ticket alone. */
    HF_STORE_PROPOSE,
    /* ENQUEUE: if the ticket is there, its number is not greater than .number
     * and no other ticket is committed with .number: commit it with .number.
     * Tickets that are ahead of it now, and were behind it, receive GONE. The
     * answer has the queue. */
    HF_STORE_COMMIT,
    /* ENQUEUE: if the ticket is not there, put it in as committed with
     * .number. */
    HF_STORE_REPAIR,
};

struct hf_store_quorum_args {
    enum hf_store_quorum_step step;
    /* ENQUEUE, LIST: the queue receives this number.  REVOKE: raise .revoked to
     * this, instead of by one. */
    uint64_t number;
    /* RENEW: one number for each ticket of the sets, in order: commit the
     * ticket with it.  0: the number is not known yet. */
    const uint64_t *numbers;
};

/* A call.  It belongs to the leased client with all that it points to, and does
 * not change until it is answered or the link has ended.  After the name of a
 * field stand the kinds of calls that use it. */
struct hf_store_call {
    enum hf_store_call_kind kind;
    const char *session;
    const char *queue; /* NULL: RENEW, CLOSE_SESSION, NAMES, EXAMINE */
    /* ENQUEUE REMOVE DOWNGRADE REVOKE DESCRIBE SET_FLAG NEW_GENERATION
     * WRITE_SUCCESS; LIST that is neither .detailed nor .watches_queue */
    struct hf_ticket_id ticket;
    /* ENQUEUE SET_FLAG CLEAR_FLAG; LIST: the kind of .ticket, PARTICIPANT to
     * list the participants, or 0 to list the whole queue */
    enum hf_ticket_kind ticket_kind;
    uint32_t weight; /* ENQUEUE */
    uint32_t limit;  /* NEW_GENERATION: the least number of participants */
    struct hf_ticket_id flag; /* NEW_GENERATION: id of the new READY flag */
    const char *payload;      /* ENQUEUE DESCRIBE */
    const char *evicted_by;   /* REMOVE: as in struct hf_request */
    const struct hf_ticket_id *tickets; /* EXISTS */
    size_t count;
    const struct hf_store_ticket_set *ticket_sets; /* RENEW, CLOSE_SESSION */
    size_t ticket_set_count;
    /* RENEW, CLOSE_SESSION: there was a piece before this one; there will be
     * one behind it */
    bool not_first_piece;
    bool not_last_piece;
    bool watches_queue;         /* LIST */
    bool detailed;              /* LIST: for people, see core/engine.h */
    struct hf_text_range texts; /* LIST that is .detailed */
    const char *prefix;         /* NAMES: "": all */
    const struct hf_names_request *names; /* NAMES */
    uint64_t success_token;               /* WRITE_SUCCESS */
    uint64_t ttl_ms;
    /* Latest instant, by the server's clock, at which the call may write.
     * Unused by calls that only read. */
    uint64_t not_after_ms;
    const struct hf_store_quorum_args *quorum; /* NULL: a single server */
    /* For the store's use while it has the call; NULL before. */
    void *store_data;
};

/* Does the call change anything at the server? */
bool hf_store_call_writes(const struct hf_store_call *call);

/* May the answer have a part of the queue?  Yes, if a mutex, read, write or
 * election ticket asks what is in its way.  One of several servers always shows
 * all, because only the merged lists show which tickets count. */
bool hf_store_call_may_be_partial(const struct hf_store_call *call);

/* Is ${kind} a kind of tickets or flags that stores keep? */
bool hf_store_is_stored_kind(uint64_t kind);

/* Is ${kind} of a double barrier: PARTICIPANT or READY? */
bool hf_store_is_double_barrier_kind(enum hf_ticket_kind kind);

/* --------------------------------------------------------------- answers -- */

/* An answer has at most this many tickets, to a RENEW twice as many, and at
 * most this many unknown things.  A longer answer is refused.  A store stops
 * to read at this length, so that a server cannot make it allocate without a
 * bound. */
#define HF_STORE_TICKETS_MAX 65536

/* The payload at ${text}, ${bytes} long and followed by a NUL.  "" if it is not
 * valid UTF-8, has a NUL in it or is too long, because other programs can write
 * there. */
const char *hf_store_payload(const char *text, size_t bytes);

/* What an answer says of a ticket beyond hf_ticket, at the time of the
 * answer. */
struct hf_store_lease {
    uint64_t expires_in_ms; /* time left, unless it is renewed */
    uint32_t revoked;       /* how often its owner was asked to release it */
    bool missing;           /* RENEW: it is not at the server */
    bool proposed;          /* not committed: its number may still rise */
};

struct hf_store_answer {
    bool ok;
    /* If not .ok.  RETRY: nothing was done, but may be later.  UNSURE: it may
     * have been done.  FATAL: nothing was done, nor ever will be. */
    enum hf_failure failure;
    hf_status status;
    const char *text; /* the full message, without secrets */
    /* The server's clock when it answered, in milliseconds since 1970; 0 if a
     * failure does not say. */
    uint64_t server_ms;
    bool found; /* see the kinds of calls */
    /* A queue is sorted by hf_ticket_compare() and has no ticket twice; an
     * answer that breaks this ends the link (hf_store_answer_check()).  All
     * texts live until hf_leased_answered() returns.  .payload is filled in
     * for each ticket of .texts of a detailed LIST, and else for the first
     * ticket; the rest may have "". */
    const struct hf_ticket *tickets;
    const struct hf_store_lease *leases; /* one for each ticket */
    size_t count;
    /* Only if hf_store_call_may_be_partial().  The tickets are the part of the
     * queue that hf_admission_trim() leaves.  About .more_ahead others, not
     * shown, are ahead of the ticket of the call; some of these may have
     * ended. */
    bool partial;
    size_t more_ahead;
    /* Detailed LIST: names of things that are there and are no tickets. */
    const char *const *unknown;
    size_t unknown_count;
    const struct hf_names_answer *names;    /* NAMES */
    const struct hf_finding_list *findings; /* EXAMINE */
    struct hf_success success;              /* READ_SUCCESS */
};

#define HF_STORE_LATE                                                          \
    "the server was reached too late for the request to be carried out"

/* A server may send anything, so every answer is checked where it enters the
 * client.  The code behind this check relies on it. */

/* The largest number from a server: a token, or its clock in milliseconds.
 * Redis keeps numbers as doubles, which are exact up to here. */
#define HF_STORE_NUMBER_MAX ((UINT64_C(1) << 53) - 1)

/* Check ${answer}, which is .ok, against ${call}.  Its numbers are in range,
 * and it has no more tickets than were asked for.  A queue is sorted, has each
 * ticket once, and has only kinds that belong there.  Unless the server is one
 * of several, the ticket of the call has a token if it is listed, and an
 * ENQUEUE lists it.  A partial queue was allowed and has the nearest tickets.
 * Returns HF_EPROTOCOL if one of these is not so; ${why} says what is wrong,
 * what was expected and what to do.  Returns HF_ENOMEM if it could not be
 * checked. */
hf_status hf_store_answer_check(const struct hf_store_call *call,
                                const struct hf_store_answer *answer,
                                struct hf_error *why);

/* --------------------------------------------------------------- notices -- */

enum hf_store_notice_kind {
    HF_STORE_GONE, /* .ticket is gone, or is not of .ticket_kind any more */
    /* a ticket of .queue has come, gone or been downgraded, or READY changed */
    HF_STORE_CHANGED,
    HF_STORE_REVOKED, /* the owner of .ticket is asked to release it */
};

/* A message that the server sends to one session. */
struct hf_store_notice {
    enum hf_store_notice_kind kind;
    const char *queue;
    struct hf_ticket_id ticket; /* GONE, REVOKED */
    /* GONE: WRITE if the ticket became a read ticket; 0: it is gone */
    enum hf_ticket_kind ticket_kind;
    /* GONE: the ticket of the session that is the first of the queue since; all
     * zero: not known */
    struct hf_ticket_id first;
    uint32_t revoked; /* REVOKED: how often so far */
    /* GONE: who evicted it (core/evicted_by.h); "": not known */
    char why[HF_EVICTED_WHY_BYTES];
};

/* ---------------------------------------------------------------- vtable -- */

struct hf_store;

struct hf_store_ops {
    /* Begin to make a link for the session named ${session}; this text does
     * not change as long as there is the link. */
    void (*connect)(struct hf_store *store, const char *session);
    /* End the link abruptly: what was not sent yet is not sent. */
    void (*disconnect)(struct hf_store *store);
    /* Carry out ${call}; hf_leased_answered() reports the answer. */
    void (*call)(struct hf_store *store, struct hf_store_call *call);
    /* When connect(), the first RENEW or the close has timed out: what has not
     * arrived yet, for the text "no ... within 2000 ms".  Returns NULL for
     * "connection".  The pointer may be NULL. */
    const char *(*awaited)(const struct hf_store *store);

    /* The rest is for leased_engine.h.  The leased client does not call it: */

    /* Write the address of the link's server to the ${bytes} of ${text}, as
     * host:port; leave ${text} empty if there are several servers.  The
     * pointer is NULL if there always are. */
    void (*server)(const struct hf_store *store, char *text, size_t bytes);
    /* Send all calls that were made, in as few writes as possible. */
    void (*flush)(struct hf_store *store);
    /* When .tick wants to be called, by CLOCK_BOOTTIME in ms; HF_FOREVER: not
     * at all.  Asked after each .flush.  This pointer and .tick are NULL if
     * the store has no deadlines of its own. */
    uint64_t (*wake_at_ms)(const struct hf_store *store);
    /* Do what is due.  Called from the loop, so it may report; it may be called
     * before anything is due. */
    void (*tick)(struct hf_store *store);
    /* In the child of a fork: close every descriptor and touch nothing else. */
    void (*after_fork)(struct hf_store *store);
    /* Called when there is no link; the store reports nothing any more.
     * Handles are closed on the loop, and memory may live until they are.  A
     * CLOSE_SESSION that is still in a send buffer may go out. */
    void (*free)(struct hf_store *store);
};

#endif
