/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interface between the leased client (leased.h), which knows sessions,
 * watches and clocks, and a *store*, which speaks to one kind of server that
 * keeps queues and has a clock of its own (Redis, PostgreSQL, or several Redis
 * servers that form a quorum).
 *
 *    core -- requests, events --> leased -- calls, answers --> store -- server
 *
 * Rules for the store, which carries out calls on one link at a time:
 *
 *  - connect() begins to make a link for one session, and disconnect() ends it.
 *    The store calls hf_leased_up() when the server can be called, and then
 *    passes on the session's notices.  It calls hf_leased_down() when the link
 *    could not be made or has ended.  After hf_leased_down() or disconnect()
 *    there is no link: the leased client fails the calls that were under way,
 *    and the store no longer touches them and reports nothing until the next
 *    connect().
 *  - call() is made only between hf_leased_up() and hf_leased_down() or
 *    disconnect().  Each call is answered at most once, by
 *    hf_leased_answered().  If a call gets no answer, the leased client
 *    disconnects when its deadline has passed.  An answer that is a failure
 *    leaves the link up.
 *  - An answer is final: the server does not undo what the answer says, as far
 *    as the engine's document promises.  If the store knows that a call was
 *    carried out, but not yet that the change is durable, it does not answer
 *    yet.  If it can never know, it answers UNSURE.  The answer to a RENEW also
 *    confirms all calls that were carried out before it.  LIST, EXISTS, NAMES,
 *    EXAMINE and READ_SUCCESS change no ticket, and their answers confirm
 *    nothing.
 *  - Calls of one session about one queue take effect in the order in which
 *    they were made.  RENEW and CLOSE_SESSION are about all queues, so they
 *    keep their order with all other calls.
 *  - A store reports nothing from inside connect(), disconnect(), call() and
 *    flush().  If one of these fails at once, the store reports that later,
 *    from the loop.
 *  - The leased client polls, so a lost notice does no harm but costs time.  If
 *    notices may have been lost because their connection has ended, the store
 *    calls hf_leased_down().
 *  - The client's lock is held during every call in both directions.
 *
 * Rules for the code that runs at the server:
 *
 *  - A queue is a set of tickets in the order of their sequences.  A new
 *    sequence, and a new token, is greater than all that this queue ever gave
 *    out.
 *  - A queue has the name of its lock, which never ends with '/'.  That name
 *    with '/' appended is the queue of the lock's barrier flags.  It has at
 *    most one ticket for each kind of flag, which SET_FLAG adds; such a ticket
 *    has no session and never expires.
 *  - The participants of a double barrier and their flag READY are in the
 *    lock's queue but separate: an answer has only these if .ticket_kind is
 *    PARTICIPANT, and none of them otherwise.  They wait for no ticket and no
 *    ticket waits for them.  READY has no session, and stays at least as long
 *    as a participant does.
 *  - A ticket lives until it is removed, or until its session was not renewed
 *    for ttl_ms by the server's clock.  No other clock counts.  A call first
 *    removes the expired tickets of its queue and then acts.  If a call looks
 *    only at a part of the queue (EXISTS, a partial list, a call about one
 *    ticket), it may skip this, provided that no ticket in that part has
 *    expired.  So every ticket that is shown is alive.  An expired ticket never
 *    comes back.
 *  - A call is atomic.
 *  - If the server's clock is past not_after_ms when a call reaches the server,
 *    the call writes nothing and answers RETRY with the text HF_STORE_LATE.  So
 *    a server that was frozen does no harm with the calls in its buffers.
 *  - A call that removes a ticket, even an expired one, publishes these notices
 *    (hf_store_notice):
 *     - GONE to the session of each ticket that waited for the removed one.  A
 *       READ waits for the nearest WRITE ahead (EXCLUSIVE is not stored), a
 *       LEASE for nothing, any other ticket for the nearest ticket ahead.  The
 *       queue before the call decides, with all tickets that the call removes.
 *       The notice may name the ticket of that session as .first, if no ticket
 *       is ahead of it any more and the removal is as final as an answer is.
 *     - GONE to the owner's session, unless the owner removed the ticket.
 *     - CHANGED to each session that watches the queue (a LIST with
 *       .watches_queue).  This ends the watch.
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
    /* Extend the leases of all tickets of the session that are alive, and its
     * queue watches, to ttl_ms from now.  .ticket_sets has all tickets of the
     * session, also those whose ENQUEUE is under way.  If the store wants
     * pieces (hf_leased_config.renewal_piece_max), it gets the sets in several
     * calls (see .not_first_piece and .not_last_piece), and one queue may be in
     * several pieces.
     *
     * The answer comes when all is done.  It has only the tickets that are not
     * at the server (.missing), and those whose owner was asked to release
     * (.revoked > 0).  If a part fails, the call fails.
     *
     * If the server has a ticket of the session that is in no set, the server
     * has lost the removal of that ticket, for instance in a failover.  The
     * store then removes the ticket or lets it expire.
     *
     * A store of several servers may give up the tickets at one of them and
     * answer them as .missing.  Then it must hide these tickets from the client
     * until a RENEW has reached that server. */
    HF_STORE_RENEW,
    /* Append the ticket.  It lives for ttl_ms from now; or longer, if an
     * answered RENEW promised that to the session.  If a ticket with this id is
     * there already, leave it as it is.  The answer has the queue just after
     * that, or a part of it (.partial). */
    HF_STORE_ENQUEUE,
    /* Read the queue, or a part of it (.partial).  With .watches_queue, the
     * session also receives one notice CHANGED when the queue next changes,
     * unless the session ends first. */
    HF_STORE_LIST,
    /* Look for .tickets.  The answer has those that are in the queue, in any
     * order, with at least .id, .kind and their leases. */
    HF_STORE_EXISTS,
    /* Remove the ticket, which may be of another session.  If .evicted_by is
     * given, the notice GONE to its owner has it.  .found: the ticket was
     * there. */
    HF_STORE_REMOVE,
    /* Make a write ticket of this session a read ticket, without any other
     * change.  .found: it is a read ticket now, or was one already. */
    HF_STORE_DOWNGRADE,
    /* Ask the owner to release: add one to the ticket's .revoked, and send the
     * notice REVOKED to the owner.  .found: the ticket is there. */
    HF_STORE_REVOKE,
    /* Replace the payload of a ticket of this session.  No notice is sent.
     * .found: the ticket is there. */
    HF_STORE_DESCRIBE,
    /* In a queue of flags: add .ticket as the flag of .ticket_kind, unless
     * there is such a flag.  .found: it was set before. */
    HF_STORE_SET_FLAG,
    /* In a queue of flags: remove the flag of .ticket_kind.  Also removes
     * READY, which is with the participants, but not while a participant is
     * there.  .found: the flag was set before. */
    HF_STORE_CLEAR_FLAG,
    /* If .ticket is a participant that is there, and at least .limit
     * participants are there: replace the flag READY by a new one with the id
     * .flag, a new sequence and a new token.  .found: this was done. */
    HF_STORE_NEW_GENERATION,
    /* Remove the tickets of .ticket_sets.  The last piece (not .not_last_piece)
     * also removes all that the server has of .session besides.  .session may
     * be an older session than that of the link.  Several pieces may be under
     * way. */
    HF_STORE_CLOSE_SESSION,
    /* Find the names of queues at or below .prefix (see HF_REQUEST_NAMES in
     * core/engine.h), for .names of the answer. */
    HF_STORE_NAMES,
    /* Examine the server, or all servers that the store uses (see
     * HF_REQUEST_EXAMINE), for .findings of the answer.  If a server does not
     * answer, or does not let us look, that is a finding.  The call fails only
     * if nothing can be found. */
    HF_STORE_EXAMINE,
    /* Read the success of the queue, for .success of the answer. */
    HF_STORE_READ_SUCCESS,
    /* Make .success_token and the time of the server's clock the success of the
     * queue, which never expires.  This is done only if .ticket is there and of
     * this session, and if the queue has no success with a greater token.
     * .found: it was done. */
    HF_STORE_WRITE_SUCCESS,
};

/* What a session has, or may have, in one queue: its tickets, and whether it
 * watches the queue. */
struct hf_store_ticket_set {
    const char *queue;
    const struct hf_ticket_id *tickets;
    size_t count;
    bool watches_queue;
};

/* The step of a call at one of several servers that must agree on an order
 * (engines/quorum).  The number of a ticket, which is its sequence, is first
 * *proposed* at the servers and then *committed*.  Every number that a queue
 * gives out is greater than all numbers that it gave out or received before. */
enum hf_store_quorum_step {
    HF_STORE_NO_STEP,
    /* ENQUEUE: if the ticket is not there, add it as proposed, with a number
     * that the server chooses; else leave it as it is.  The answer has only
     * this ticket. */
    HF_STORE_PROPOSE,
    /* ENQUEUE: commit the ticket with .number, if it is there, if its number is
     * not greater than .number, and if no other ticket is committed with
     * .number.  Tickets that this ticket was ahead of, and is behind now,
     * receive GONE.  The answer has the queue. */
    HF_STORE_COMMIT,
    /* ENQUEUE: if the ticket is not there, add it as committed with .number. */
    HF_STORE_REPAIR,
};

struct hf_store_quorum_args {
    enum hf_store_quorum_step step;
    /* ENQUEUE, LIST: a number that the queue receives, so that it gives out
     * greater ones only.  REVOKE: the least value of .revoked after the call,
     * which then does not add one. */
    uint64_t number;
    /* RENEW: for each ticket of the sets, in order, the number to commit it
     * with; 0: that number is not known yet. */
    const uint64_t *numbers;
};

/* A call.  It belongs to the leased client, with all that it points to, and
 * does not change until it is answered or the link has ended.  The comments
 * name the kinds of calls that use a field. */
struct hf_store_call {
    enum hf_store_call_kind kind;
    const char *session;
    const char *queue; /* NULL: RENEW, CLOSE_SESSION, NAMES, EXAMINE */
    /* ENQUEUE, REMOVE, DOWNGRADE, REVOKE, DESCRIBE, SET_FLAG, NEW_GENERATION,
     * WRITE_SUCCESS; and a LIST that has neither .detailed nor
     * .watches_queue */
    struct hf_ticket_id ticket;
    /* ENQUEUE, SET_FLAG, CLEAR_FLAG: the kind of the ticket.  LIST: the kind of
     * .ticket; PARTICIPANT: list the participants; 0: list the whole queue */
    enum hf_ticket_kind ticket_kind;
    uint32_t weight; /* ENQUEUE */
    uint32_t limit;  /* NEW_GENERATION: the least number of participants */
    struct hf_ticket_id flag; /* NEW_GENERATION: id of the new READY flag */
    const char *payload;      /* ENQUEUE, DESCRIBE */
    const char *evicted_by;   /* REMOVE: the same as in struct hf_request */
    const struct hf_ticket_id *tickets; /* EXISTS */
    size_t count;
    const struct hf_store_ticket_set *ticket_sets; /* RENEW, CLOSE_SESSION */
    size_t ticket_set_count;
    /* RENEW, CLOSE_SESSION: a piece was sent before this one; a piece
     * follows */
    bool not_first_piece;
    bool not_last_piece;
    bool watches_queue;         /* LIST */
    bool detailed;              /* LIST: for people, see core/engine.h */
    struct hf_text_range texts; /* LIST with .detailed */
    const char *prefix;         /* NAMES; "": find all names */
    const struct hf_names_request *names; /* NAMES */
    uint64_t success_token;               /* WRITE_SUCCESS */
    uint64_t ttl_ms;
    /* Latest instant, by the server's clock, at which the call may write.
     * Unused by calls that only read. */
    uint64_t not_after_ms;
    /* NULL: there is a single server */
    const struct hf_store_quorum_args *quorum;
    /* The store may use this while it has the call.  NULL before. */
    void *store_data;
};

/* Returns whether the call changes anything at the server. */
bool hf_store_call_writes(const struct hf_store_call *call);

/* Returns whether the answer may have only a part of the queue.  That is so if
 * a mutex, read, write or election ticket asks which tickets it waits for.  One
 * of several servers always shows the whole queue, because only the joined
 * lists of several servers show which tickets count. */
bool hf_store_call_may_be_partial(const struct hf_store_call *call);

/* Returns whether ${kind} is a kind of tickets or flags that stores keep. */
bool hf_store_is_stored_kind(uint64_t kind);

/* Returns whether ${kind} is of a double barrier: PARTICIPANT or READY. */
bool hf_store_is_double_barrier_kind(enum hf_ticket_kind kind);

/* --------------------------------------------------------------- answers -- */

/* The most tickets of an answer, and the most unknown names.  The answer to a
 * RENEW may have twice as many tickets.  A longer answer is refused.  A store
 * stops reading at this length, so that a server cannot make it allocate
 * without bounds. */
#define HF_STORE_TICKETS_MAX 65536

/* Returns ${text}, a payload of ${bytes} bytes with a NUL behind it.  Returns
 * "" if it is not valid UTF-8, has a NUL in it or is too long, because other
 * programs can write there. */
const char *hf_store_payload(const char *text, size_t bytes);

/* What an answer has about a ticket besides struct hf_ticket. */
struct hf_store_lease {
    /* time left until the ticket expires, unless it is renewed */
    uint64_t expires_in_ms;
    uint32_t revoked; /* how often its owner was asked to release it */
    bool missing;     /* RENEW: the ticket is not at the server */
    /* the ticket is not committed, and its number may still rise */
    bool proposed;
};

struct hf_store_answer {
    bool ok;
    /* If not .ok: RETRY: nothing was done, but may be done later.  UNSURE: the
     * call may have been carried out.  FATAL: nothing was done, and never will
     * be. */
    enum hf_failure failure;
    hf_status status;
    const char *text; /* if not .ok: the full message, without secrets */
    /* The server's clock when it answered, in milliseconds since 1970; 0: a
     * failure without the time. */
    uint64_t server_ms;
    bool found; /* see enum hf_store_call_kind */
    /* The tickets.  If they are a queue, they are sorted by hf_ticket_compare()
     * and each is there once; otherwise the link is ended
     * (hf_store_answer_check()).  All texts live until hf_leased_answered()
     * returns.  A detailed LIST has .payload of the tickets that .texts asks
     * for; any other answer has .payload of the first ticket.  The other
     * tickets may have "". */
    const struct hf_ticket *tickets;
    const struct hf_store_lease *leases; /* one for each ticket */
    size_t count;
    /* The tickets are only a part of the queue: the part that
     * hf_admission_trim() leaves.  Allowed only if
     * hf_store_call_may_be_partial().  About .more_ahead other tickets are
     * ahead of the call's ticket, but some of them may be gone by now. */
    bool partial;
    size_t more_ahead;
    /* Detailed LIST: names of things in the queue that are no tickets. */
    const char *const *unknown;
    size_t unknown_count;
    const struct hf_names_answer *names;    /* NAMES */
    const struct hf_finding_list *findings; /* EXAMINE */
    struct hf_success success;              /* READ_SUCCESS */
};

#define HF_STORE_LATE                                                          \
    "the server was reached too late for the request to be carried out"

/* The check of an answer.  A server may send anything, so every answer is
 * checked where it enters the client, and the other code relies on that. */

/* The largest number that a server may send: a token, or its clock in
 * milliseconds.  Redis keeps numbers as doubles, which are exact up to here. */
#define HF_STORE_NUMBER_MAX ((UINT64_C(1) << 53) - 1)

/* Check ${answer}, whose .ok is set, against ${call}:
 *
 *  - Its numbers are in range, and it has no more tickets than were asked for.
 *  - A queue is sorted, has each ticket once, and has only kinds that belong in
 *    it.
 *  - Unless the server is one of several, an ENQUEUE lists its ticket, and the
 *    ticket of the call has a token if it is listed.
 *  - A partial queue is allowed for this call and has the nearest tickets.
 *
 * Returns HF_EPROTOCOL if one of these does not hold; ${why} has what is wrong,
 * what was expected and what to do.  Returns HF_ENOMEM if memory ran out for
 * the check. */
hf_status hf_store_answer_check(const struct hf_store_call *call,
                                const struct hf_store_answer *answer,
                                struct hf_error *why);

/* --------------------------------------------------------------- notices -- */

enum hf_store_notice_kind {
    HF_STORE_GONE, /* .ticket is gone, or is no longer of .ticket_kind */
    /* a ticket of .queue was added, removed or downgraded, or READY was
     * replaced */
    HF_STORE_CHANGED,
    HF_STORE_REVOKED, /* the owner of .ticket is asked to release it */
};

/* A message that the server sends to one session. */
struct hf_store_notice {
    enum hf_store_notice_kind kind;
    const char *queue;
    struct hf_ticket_id ticket; /* GONE, REVOKED */
    /* GONE: WRITE if the ticket became a read ticket; 0: the ticket is gone */
    enum hf_ticket_kind ticket_kind;
    /* GONE: the ticket of the receiving session that is the first of the queue
     * now; all zero: not known */
    struct hf_ticket_id first;
    uint32_t revoked; /* REVOKED: how often the owner was asked so far */
    /* GONE: who evicted the ticket (core/evicted_by.h); "": not known */
    char why[HF_EVICTED_WHY_BYTES];
};

/* ---------------------------------------------------------------- vtable -- */

struct hf_store;

struct hf_store_ops {
    /* Begin to make a link for the session ${session}, a text that does not
     * change until the link has ended. */
    void (*connect)(struct hf_store *store, const char *session);
    /* End the link at once.  Calls that are not sent yet are not sent any
     * more. */
    void (*disconnect)(struct hf_store *store);
    /* Carry out ${call}.  The answer is reported by hf_leased_answered(). */
    void (*call)(struct hf_store *store, struct hf_store_call *call);
    /* Called when connect(), the first RENEW or the close has timed out.
     * Returns what has not arrived, for the text "no ... within 2000 ms"; NULL
     * stands for "connection".  The pointer may be NULL. */
    const char *(*awaited)(const struct hf_store *store);

    /* The members below are called by leased_engine.h, not by the leased
     * client. */

    /* Write the address of the link's server, host:port, into the ${bytes}
     * bytes of ${text}.  Leave ${text} as it is if there are several servers.
     * The pointer is NULL if there always are. */
    void (*server)(const struct hf_store *store, char *text, size_t bytes);
    /* Send all calls that were made, in as few writes as possible. */
    void (*flush)(struct hf_store *store);
    /* Returns when .tick wants to be called, by CLOCK_BOOTTIME in milliseconds;
     * HF_FOREVER: not at all.  Called after each .flush.  This pointer and
     * .tick are NULL if the store has no deadlines of its own. */
    uint64_t (*wake_at_ms)(const struct hf_store *store);
    /* Do what is due.  It is called from the loop, so it may report.  It may be
     * called before anything is due. */
    void (*tick)(struct hf_store *store);
    /* In the child of a fork: close every descriptor and touch nothing else. */
    void (*after_fork)(struct hf_store *store);
    /* Free the store, which reports nothing any more.  There is no link when
     * this is called.  Handles are closed on the loop, and memory may live
     * until they are closed.  A CLOSE_SESSION that is still in a send buffer
     * may be sent. */
    void (*free)(struct hf_store *store);
};

#endif
