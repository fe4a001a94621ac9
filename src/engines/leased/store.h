/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The seam between a client whose tickets are leased (leased.h), which knows
 * sessions, watches and clocks, and a *store*, which knows how to speak to a
 * server that keeps queues and has a clock of its own.
 *
 *     core -- requests, events --> leased -- calls, answers --> store -- server
 *
 * A store carries out calls on one link at a time.  Rules of this side of the
 * server:
 *
 *  - connect() begins to make a link, for one session, and disconnect() ends
 *    it.  The store tells hf_leased_up() once the server can be called and
 *    will pass the session's notices on, or hf_leased_down() if that failed or
 *    has ended.  After down() or disconnect() there is no link: the calls that
 *    were under way are the leased client's again, which fails them; the store
 *    must not touch them any more, and tells nothing until the next connect().
 *  - call() is made between up() and down() or disconnect() only.  Each call is
 *    answered at most once, by hf_leased_answered(); one that is never answered
 *    runs into the deadline of the leased client, which then disconnects.  A
 *    call that is answered with a failure leaves the link up.
 *  - An answer is final: what it says was done is not taken back, as far as the
 *    engine's document promises.  A store that knows that a call was carried
 *    out, and not yet that this lasts, does not answer yet; and answers UNSURE
 *    if it never comes to know.  Of a RENEW that is so for all that was carried
 *    out before it, too; of a LIST and a PROBE it is not, since they only read.
 *  - Calls of one session about one queue take effect in the order in which
 *    they were made, and RENEW and GOODBYE in that order with all of them.
 *  - Nothing is told from inside connect(), disconnect(), call() and flush():
 *    a store that finds at once that it cannot, tells so in its next turn.
 *  - A notice that is lost is survived, but costs time.  If notices may have
 *    been lost (the link that brings them has ended), say down().
 *  - Everything happens with the client's lock held.
 *
 * And of the other side, of what runs at the server:
 *
 *  - A queue is a set of tickets, ordered by their sequence.  A sequence, and a
 *    token, is greater than every one that this queue has ever given out.
 *  - Queues are called as locks are, which never end with '/'.  With one behind
 *    it, it is the queue of that lock's marks: of each kind of mark one ticket
 *    at most, put in by RAISE, of no session, which never runs out.
 *  - MEMBERs, and their mark READY, are apart from the rest of a queue: where
 *    .ticket_kind is MEMBER an answer has these of it, else the others.  They
 *    wait for nobody, and nobody for them.  READY is of no session, and there
 *    for as long as a member is, if not longer.
 *  - A ticket lives until it is withdrawn or its session has not been renewed
 *    for ttl_ms, by the server's clock alone.  A call that touches a queue
 *    takes out all tickets that have run out first, and then acts.  Where it
 *    need not look at all of them (a part of a queue, PROBE, or a call about
 *    one ticket) it may do so only if one that it looks at has run out: every
 *    ticket that is shown lives.  Nothing brings a ticket back.
 *  - What a call does it does whole, at one instant, or not at all.
 *  - Nothing is written once the server's clock is past not_after_ms: the call
 *    answers RETRY with HF_STORE_LATE as its text.  So what lay in the buffers
 *    of a server that was frozen does no harm when it thaws.
 *  - Whoever takes a ticket out of a queue, be it that it ran out, tells so
 *    (hf_store_notice):
 *      GONE to the session of every ticket that waited for it: those tickets
 *        behind it of which it was the one before.  Of a READ that is the
 *        nearest WRITE (EXCLUSIVE is not stored) ahead of it; of a LEASE none;
 *        of any other the nearest ticket that is not apart.  Which it was is
 *        decided in the queue as it stood before everything that this call
 *        takes out.
 *      GONE to its owner's session, unless the owner has withdrawn it.
 *      CHANGED, with the queue, to each session that looks at the queue (LIST
 *        with .looks); that look is then over.  A MEMBER that has come and a
 *        STAMP are told so as well.
 *    A DOWNGRADE tells GONE with ticket_kind WRITE in the same way, to those
 *    who waited for the WRITE that it was and not to its owner; no CHANGED.
 *  - Another session may hear a notice that is not for it, or one twice.
 */
#ifndef HF_ENGINES_LEASED_STORE_H
#define HF_ENGINES_LEASED_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/engine.h"
#include "core/ticket.h"

/* A session's name: hexadecimal digits and the NUL.  Random: no two sessions
 * ever have one in common. */
#define HF_STORE_SESSION_BYTES 33

/* ---------------------------------------------------------------- calls -- */

enum hf_store_call_kind {
    /* Every ticket of the session that still lives now, lives on for ttl_ms
     * from now on; so does every look.  .stakes has all of it, tickets under
     * way included, or, in a store that wants pieces (hf_leased_config), a
     * piece of that: the first does not follow another, all but the last have
     * more behind them, and a queue may be in several.  The answer's tickets
     * are those of .stakes that are not there (.missing), and those whose owner
     * was asked to let go (.revoked > 0); no others.  Answered when all of it
     * is done; if a part of it failed, with that failure.  A ticket of the
     * session that is in no stake of any piece lost its removal, as by a
     * failover: the store takes it out, or does not renew it. A store of
     * several servers may give up what one of them has, and call it .missing:
     * it must then keep from the client that a ticket is there, until a RENEW
     * has reached that. */
    HF_STORE_RENEW,
    /* Put the ticket in, behind all others, for ttl_ms from now on, or for as
     * long as an answered RENEW has promised to all of the session; or find it
     * by its id, as it is.  The answer's tickets are the queue just after, or a
     * part of it (.partial). */
    HF_STORE_ENQUEUE,
    /* The answer's tickets are the queue, or a part of it.  With .looks: until
     * a ticket goes, or the session ends, CHANGED is told when there is
     * something to tell. */
    HF_STORE_LIST,
    /* The answer's tickets are those of .tickets that are there, with .id,
     * .kind and their leases at least, in any order. */
    HF_STORE_EXISTS,
    /* Take the ticket out, whoever owns it.  .found. */
    HF_STORE_REMOVE,
    /* Make a write ticket of this session a read ticket: everything else of it
     * stays.  .found, also if it is a read ticket already. */
    HF_STORE_DOWNGRADE,
    /* Count one more in the ticket's .revoked, and tell its owner REVOKED.
     * .found. */
    HF_STORE_REVOKE,
    /* Put .payload in the place of that of a ticket of this session.  Nobody is
     * told.  .found. */
    HF_STORE_DESCRIBE,
    /* Of a queue of marks: put .ticket in, a mark of .ticket_kind, if there is
     * none of that kind yet; and take the one out.  .found: there was one. */
    HF_STORE_SET_FLAG,
    HF_STORE_CLEAR_FLAG, /* of READY too, whose queue is that of the members,
                       and which is not taken out where one of them is */
    /* If .ticket is there, a MEMBER, and .limit of these are in all: READY is
     * .mark from now on, with a new sequence and token, and whatever it was is
     * gone.  .found: so it is. */
    HF_STORE_NEW_GENERATION,
    /* Take out all of .stakes, and whatever else can be found of the session
     * .session: perhaps one that was before this link's. */
    HF_STORE_CLOSE_SESSION,
};

/* What a session has, or may have, in one queue. */
struct hf_store_ticket_set {
    const char *queue;
    const struct hf_ticket_id *tickets;
    size_t count;
    bool watches_queue;
};

/* What a call is to one of several servers that agree on an order among them;
 * see engines/quorum.  A ticket is *proposed* there first and then *settled*.
 * Every number that a queue gives out is greater than all it ever gave out or
 * was told. */
enum hf_store_quorum_step {
    HF_STORE_NO_STEP,
    /* ENQUEUE: put it in as proposed, with such a number, or find it as it is.
     * The answer's tickets are that one. */
    HF_STORE_PROPOSE,
    /* ENQUEUE: the ticket's number is .number from now on, if the ticket is
     * there with no greater one, and no other is settled with just that; it is
     * settled then.  All that it was ahead of and is not any more are told
     * GONE. The answer's tickets are the queue. */
    HF_STORE_COMMIT,
    /* ENQUEUE: put it in as settled with .number, if it is not there. */
    HF_STORE_REPAIR,
};

struct hf_store_quorum_args {
    enum hf_store_quorum_step step;
    /* ENQUEUE, LIST: the queue is told this number.  REVOKE: what .revoked is
     * at the least from now on, instead of one more. */
    uint64_t number;
    /* RENEW: of each ticket of the stakes, in order: settle it with that; 0: it
     * is not known yet. */
    const uint64_t *numbers;
};

/* A call and what it points to is the leased client's, and stays as it is until
 * the call has been answered or the link has ended. */
struct hf_store_call {
    enum hf_store_call_kind kind;
    const char *session;
    const char *queue;                  /* NULL: RENEW, GOODBYE */
    struct hf_ticket_id ticket;         /* ENQUEUE WITHDRAW DOWNGRADE REVOKE
                                           DESCRIBE RAISE STAMP; LIST that is
                                           not .whole and does not look */
    enum hf_ticket_kind ticket_kind;    /* ENQUEUE RAISE LOWER; LIST: of the
                                           ticket, or MEMBER, or another */
    uint32_t weight;                    /* ENQUEUE */
    uint32_t limit;                     /* STAMP */
    struct hf_ticket_id flag;           /* STAMP: fresh */
    const char *payload;                /* ENQUEUE DESCRIBE */
    const struct hf_ticket_id *tickets; /* PROBE */
    size_t count;
    const struct hf_store_ticket_set *ticket_sets; /* RENEW, GOODBYE */
    size_t ticket_set_count;
    bool not_first_piece; /* RENEW: a piece that is not the first, ... */
    bool not_last_piece;  /* ... and not the last */
    bool watches_queue;   /* LIST */
    bool detailed;        /* LIST: for people, see core/engine.h */
    uint64_t ttl_ms;
    /* By the server's clock; all but LIST without .looks, and PROBE. */
    uint64_t not_after_ms;
    const struct hf_store_quorum_args *quorum; /* NULL: the server is alone */
    /* The store's own, from call() on: NULL and 0 before. */
    void *store_data;
    size_t store_count;
};

/* Does it change anything at the server? */
bool hf_store_call_writes(const struct hf_store_call *call);

/* May the answer show a part of the queue?  It may where a single ticket asks
 * who is in its way: a mutex, a read or write ticket, or one of an election.
 * One of several servers shows all, because only all of them together show
 * which tickets count. */
bool hf_store_call_may_be_partial(const struct hf_store_call *call);

/* Is it the number of a kind of tickets and marks that stores keep? */
bool hf_store_is_stored_kind(uint64_t kind);

/* Are those of that kind apart: MEMBER, READY? */
bool hf_store_is_double_barrier_kind(enum hf_ticket_kind kind);

/* -------------------------------------------------------------- answers -- */

/* An answer has at most this many tickets, and as many things that are none.  A
 * longer one is refused.  A store stops reading it at that length, so that a
 * server cannot make it take memory without a bound. */
#define HF_STORE_TICKETS_MAX 65536

/* The payload in ${bytes} bytes at ${text}, behind which a NUL stands: ${text},
 * or "" if somebody else has put there what is no payload. */
const char *hf_store_payload(const char *text, size_t bytes);

/* What is known of a ticket besides, at the time of the answer. */
struct hf_store_lease {
    uint64_t expires_in_ms; /* unless it is renewed */
    uint32_t revoked;       /* how often its owner was asked to let go */
    bool missing;           /* RENEW */
    bool proposed;          /* and not settled: its number may rise yet */
};

struct hf_store_answer {
    bool ok;
    /* If not.  RETRY: nothing was done, later it may be.  UNSURE: it may have
     * been done.  FATAL: nothing was done and never will be. */
    enum hf_failure failure;
    hf_status status;
    const char *text; /* the whole story, without secrets */
    /* The server's clock when it answered, milliseconds since 1970; 0 if the
     * failure does not tell. */
    uint64_t server_ms;
    bool found; /* WITHDRAW DOWNGRADE REVOKE DESCRIBE RAISE LOWER STAMP */
    /* Sorted by hf_ticket_compare() where they are a queue, and no ticket
     * twice: an answer that is otherwise ends the link (answer_check.h).  All
     * texts live as long as the call to hf_leased_answered().  .payload of each
     * ticket is needed in a whole LIST, and of the first otherwise; "" for the
     * rest. */
    const struct hf_ticket *tickets;
    const struct hf_store_lease *leases; /* one for each ticket */
    size_t count;
    /* Where hf_store_call_may_be_partial(): the tickets are the part of the
     * queue that hf_admission_trim() leaves, and so many more are ahead of the
     * ticket of the call, or fewer: some of them may have ended. */
    bool partial;
    size_t more_ahead;
    /* Of a whole LIST: names of what is there and no ticket. */
    const char *const *unknown;
    size_t unknown_count;
};

#define HF_STORE_LATE                                                          \
    "the server was reached too late for the request to be carried out"

/* -------------------------------------------------------------- notices -- */

enum hf_store_notice_kind {
    HF_STORE_GONE,    /* .ticket is gone, or is not of .ticket_kind any more */
    HF_STORE_CHANGED, /* a ticket of .queue has gone, or what is apart in it
                         has changed */
    HF_STORE_REVOKED, /* the owner of .ticket is asked to let go */
};

/* Pushed by the server to one session. */
struct hf_store_notice {
    enum hf_store_notice_kind kind;
    const char *queue;
    struct hf_ticket_id ticket;      /* GONE, REVOKED */
    enum hf_ticket_kind ticket_kind; /* GONE: HF_TICKET_WRITE if it has become a
                                        read ticket; 0: the ticket is gone */
    uint32_t revoked;                /* REVOKED: how often so far */
};

/* --------------------------------------------------------------- vtable -- */

struct hf_store;

struct hf_store_ops {
    /* Make a link for ${session}, which lives as long as the link. */
    void (*connect)(struct hf_store *store, const char *session);
    /* End it abruptly: what has not been sent yet is not sent. */
    void (*disconnect)(struct hf_store *store);
    void (*call)(struct hf_store *store, struct hf_store_call *call);
    /* Between connect() and the link: what has not come, for a text "no ...
     * within 2000 ms"; NULL: a connection.  May be NULL itself. */
    const char *(*awaited)(const struct hf_store *store);

    /* For leased_engine.h, which the machine of leased.h does not call: */

    /* Send what calls have been made, in as few writes as possible: the turn is
     * at its end. */
    void (*flush)(struct hf_store *store);
    /* In the child of a fork: close every descriptor, touch nothing else. */
    void (*after_fork)(struct hf_store *store);
    /* There is no link, and nothing is told any more.  Handles are closed on
     * the loop; memory may live until they are.  A last goodbye that is still
     * on its way out may go out. */
    void (*free)(struct hf_store *store);
};

#endif
