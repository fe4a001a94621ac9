/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A ticket of ours: one ticket id, from before its enqueue until nothing of it
 * can be in the queue or appear there.
 *
 *   UNQUEUED   not enqueued yet; a lease waits here for room
 *   ENQUEUING  the ENQUEUE is under way
 *   UNSURE     the ENQUEUE may have failed: a LIST searches for the ticket
 *   QUEUED     in the queue
 *   HELD       admitted
 *   REMOVING   must not stay in the queue, and may be there or appear there
 *   GONE       nothing of it can be in the queue or appear there
 *
 * An acquisition has one current ticket at a time.  A retry uses another
 * ticket, while the earlier ones are removed.  A ticket is allocated, together
 * with everything that its removal needs, before its ENQUEUE is requested, so
 * no removal can fail after that.  A LIST without memory is tried again.  An
 * earlier ticket is freed when it is GONE and the engine has no request of it;
 * the current one is freed with its acquisition.
 *
 * A ticket knows nothing of its acquisition.  Its hf_ticket_spec says what it
 * is to do, and it reports what happens to it through its hf_ticket_listener.
 *
 * own_ticket.c has the states and the end; own_ticket_position.c decides by a
 * list of the queue; own_ticket_requests.c makes the requests, and
 * own_ticket_answers.c takes in their answers.
 *
 * All functions are called within a step of the core (core.h), with the
 * client's lock held.
 */
#ifndef HF_CORE_OWN_TICKET_H
#define HF_CORE_OWN_TICKET_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/tree.h"
#include "core/effect.h"
#include "core/engine.h"
#include "core/removal.h"
#include "core/text_update.h"
#include "core/ticket.h"
#include "core/ticket_watch.h"

struct hf_acquisition;
struct hf_admission_rule;
struct hf_core;
struct hf_schedule_entry;

/* A ticket that was admitted at once watches itself only after it was held this
 * long, so that a short critical section does not pay for a watch. */
#define HF_OWN_WATCH_AFTER_MS 5

enum hf_own_ticket_state {
    HF_OWN_TICKET_UNQUEUED,
    HF_OWN_TICKET_ENQUEUING,
    HF_OWN_TICKET_UNSURE,
    HF_OWN_TICKET_QUEUED,
    HF_OWN_TICKET_HELD,
    HF_OWN_TICKET_REMOVING,
    HF_OWN_TICKET_GONE
};

/* The properties that the acquisition gives a ticket.  Set once, except .kind
 * and .limit.
 */
struct hf_ticket_spec {
    const char *queue; /* lives as long as the ticket */
    /* Where the acquisition has the text, which may be replaced meanwhile. */
    const char *const *payload;
    enum hf_ticket_kind kind; /* a WRITE becomes READ by a downgrade */
    enum hf_ticket_role role; /* in a queue that has roles */
    uint32_t weight;          /* LEASE: its permits */
    uint32_t limit; /* LEASE: the permits of the semaphore; PARTICIPANT: the
                       number of participants that are waited for */
    struct hf_ticket_id entry_mutex; /* as in struct hf_request */
    /* Call .waiting at least this often while QUEUED; 0: only when the queue
     * was listed anyway. */
    uint64_t report_every_ms;
};

/* The end of a ticket whose acquisition tries again with another one. */
enum hf_own_ticket_end {
    HF_OWN_TICKET_NOT_CREATED, /* it is GONE */
    HF_OWN_TICKET_MAY_APPEAR,  /* hf_own_ticket_remove_unanswered() with ${now}
                                  false */
    HF_OWN_TICKET_UNLISTED,    /* hf_own_ticket_remove_unlisted() */
};

/* State-specific data.  Each struct is valid in its state only; the functions
 * hf_own_ticket_unqueued(), _queued(), _held() and _removal() assert that. */
struct hf_own_ticket_unqueued {
    bool has_room; /* a list has shown room for it, or its rule asks for none */
    bool listed;   /* a list has shown nothing but leases */
};

/* How a ticket that is QUEUED can be admitted.
 *
 *   NEW         no list was looked at yet
 *   STALE       the connection was down since the last list: the next list
 *               decides
 *   BEHIND      tickets ahead block it; once they are gone, a list decides
 *   NEXT        tickets ahead block it; the end of the last one admits it
 *   CLEAR       nothing blocks it; once the session is proven, a list decides
 *   ADMISSIBLE  nothing blocks it, and nothing will, because later tickets are
 *               behind it; a proof of the session admits it if it is watched
 *
 * A list brings it from any position to any other but NEW. */
enum hf_queue_position {
    HF_POSITION_NEW,
    HF_POSITION_STALE,
    HF_POSITION_BEHIND,
    HF_POSITION_NEXT,
    HF_POSITION_CLEAR,
    HF_POSITION_ADMISSIBLE
};

/* The tickets ahead that a ticket watches. */
#define HF_AHEAD_MAX 2

struct hf_own_ticket_queued {
    enum hf_queue_position position; /* by own_ticket_position.c only */
    /* As of the last list, less the tickets that have gone since. */
    size_t blocking; /* tickets ahead that block it; 0: it waits for a proof or
                        for a list */
    size_t ahead_count;
    struct hf_watched_ticket ahead[HF_AHEAD_MAX]; /* those of them to watch, the
                                                     nearest first */
    /* Independent of the position, and of each other. */
    bool revoked; /* somebody asked for its release: report it with the grant */
    bool generation_wanted; /* PARTICIPANT: request NEW_GENERATION */
    uint64_t report_at_ms;  /* CLOCK_BOOTTIME; when to call .waiting again */
};

/* How far the downgrade of a writer that is to become a reader has come. */
enum hf_downgrade_state {
    HF_DOWNGRADE_NONE, /* none is wanted, or it has ended */
    HF_DOWNGRADE_DUE,  /* nothing was requested yet */
    /* A DOWNGRADE was requested.  It is not answered yet; or the answer was
     * that it did not happen, and it is requested again. */
    HF_DOWNGRADE_REQUESTED,
    /* The answer to a DOWNGRADE was lost: the ticket may be a reader's. */
    HF_DOWNGRADE_UNSURE,
    /* As UNSURE, and then another DOWNGRADE was refused, so there is no further
     * one: until the ticket is removed it is not known which kind it is. */
    HF_DOWNGRADE_UNKNOWN,
};

struct hf_own_ticket_held {
    bool stale; /* the connection was down since: somebody may have removed it,
                   see hf_own_ticket_confirm() */
    bool watches_queue; /* .contended is to be called, and was not yet */
    enum hf_downgrade_state downgrade;
    uint64_t downgrade_at_ms; /* CLOCK_BOOTTIME; not requested before */
    uint32_t downgrade_tries; /* of the DOWNGRADE, that have failed */
};

/* The reports of a ticket to its acquisition, from within a step.  Only
 * acquisition_ticket.c implements them. */
struct hf_ticket_listener {
    /* It is in the queue. */
    void (*queued)(struct hf_core *core, struct hf_own_ticket *ticket);
    /* The queue was listed: ${ahead} tickets are ahead.  ${holder} is the
     * payload of the first ticket; "": nobody is ahead; NULL: not known. */
    void (*position_changed)(struct hf_core *core, struct hf_own_ticket *ticket,
                             size_t ahead, const char *holder);
    /* Other tickets block it.  Return false if the wait has ended because of
     * that. */
    bool (*may_wait)(struct hf_core *core, struct hf_own_ticket *ticket);
    /* It waits: report the position. */
    void (*waiting)(struct hf_core *core, struct hf_own_ticket *ticket);
    /* It is HELD; ${revoked}: somebody has asked for its release already. */
    void (*granted)(struct hf_core *core, struct hf_own_ticket *ticket,
                    bool revoked);
    /* HELD, and somebody asks for its release. */
    void (*revoked)(struct hf_core *core, struct hf_own_ticket *ticket);
    /* HELD, and no longer ours because of ${why}; ${lives}: it may still be in
     * the queue.  The listener ends it: GONE or REMOVING. */
    void (*lost)(struct hf_core *core, struct hf_own_ticket *ticket, bool lives,
                 const char *why);
    /* It was QUEUED, and somebody else has removed it.  It is still QUEUED, or
     * it is REMOVING to be sure that nothing of it stays. */
    void (*evicted)(struct hf_core *core, struct hf_own_ticket *ticket);
    /* The enqueue may have failed with ${why}; a search follows. */
    void (*unsure)(struct hf_core *core, struct hf_own_ticket *ticket,
                   const struct hf_error *why);
    /* The search failed, and is repeated. */
    void (*search_failed)(struct hf_core *core, struct hf_own_ticket *ticket);
    /* The enqueue failed with ${why} (NULL: with that of the last .unsure), and
     * a retry may succeed.  ${end}: how this ticket ends. */
    void (*failed)(struct hf_core *core, struct hf_own_ticket *ticket,
                   const struct hf_error *why, enum hf_own_ticket_end end);
    /* The engine or the rule refuses the ticket: end the wait with ${why}. */
    void (*refused)(struct hf_core *core, struct hf_own_ticket *ticket,
                    const struct hf_error *why);
    /* The downgrade has ended; NULL: the ticket is a reader's now.  With
     * HF_EUNSURE it may be, and counts as one. */
    void (*downgraded)(struct hf_core *core, struct hf_own_ticket *ticket,
                       const struct hf_error *why);
    /* The wait was given up and the ENQUEUE got no answer.  The listener calls
     * hf_own_ticket_remove_unanswered(). */
    void (*unanswered)(struct hf_core *core, struct hf_own_ticket *ticket);
    /* HELD, and hf_own_ticket_watch_queue() was called: another ticket is in
     * the queue, or was; or that is not known any more. */
    void (*contended)(struct hf_core *core, struct hf_own_ticket *ticket);
    /* The removal was refused (HF_EDENIED); it is repeated. */
    void (*not_removed)(struct hf_core *core, struct hf_own_ticket *ticket,
                        const struct hf_error *why);
    /* Something has changed: pump the acquisition, which may free the ticket.
     */
    void (*changed)(struct hf_core *core, struct hf_acquisition *a);
};

/* The tickets of one client, by their ids.  It shows which tickets of a list
 * are the client's own without a walk over tickets of other queues.  A ticket
 * is in it from its ENQUEUE until it is freed, or until its acquisition is
 * DONE. */
struct hf_ticket_table {
    struct hf_tree ids;
};

struct hf_own_ticket {
    /* The acquisition: only handed on to the listener. */
    struct hf_acquisition *acquisition;
    const struct hf_ticket_listener *listener;
    struct hf_schedule_entry *entry; /* of the acquisition; touched when
                                        something here becomes due */
    struct hf_own_ticket *next;      /* in the acquisition's list of earlier
                                        tickets */
    struct hf_ticket_spec spec;
    const struct hf_admission_rule *rule; /* that of .spec.kind */
    unsigned state; /* enum hf_own_ticket_state, by hf_own_ticket_move() */
    union {
        struct hf_own_ticket_unqueued unqueued;
        struct hf_own_ticket_queued queued;
        struct hf_own_ticket_held held;
        struct hf_removal removal; /* REMOVING, GONE */
    } in;
    /* From ENQUEUING on. */
    uint64_t number; /* counts the tickets of this client from 1 */
    struct hf_ticket_id id;
    uint64_t session;          /* the number of its session */
    uint64_t token;            /* the fencing token, once it was in the queue */
    uint64_t generation;       /* PARTICIPANT: the one that admits it */
    struct hf_tree_node by_id; /* in the table */
    /* ENQUEUE, then REMOVE: these are never under way together. */
    struct hf_request request;
    /* LIST, DOWNGRADE or NEW_GENERATION, one at a time.  Allocated when one is
     * first requested, because most tickets need none; NULL: not yet. */
    struct hf_request *question;
    /* UNSURE, QUEUED, HELD and stale: request a LIST, not before .list_at_ms
     * (CLOCK_BOOTTIME).  Set while a LIST is under way it says that its answer
     * will be out of date. */
    uint64_t list_at_ms;
    bool list_wanted;
    uint32_t list_tries;       /* of LIST, that have failed */
    uint32_t generation_tries; /* of NEW_GENERATION */
    uint32_t watch_tries;      /* of the watches of tickets */
    /* QUEUED, HELD. */
    struct hf_ticket_watches watches;
    uint64_t watch_at_ms; /* CLOCK_BOOTTIME; no new watch before */
    uint64_t pumped_ms;   /* CLOCK_BOOTTIME; of the last pump */
    struct hf_ticket_queue_watch *queue_watch; /* NULL: it never needed one */
    struct hf_text_update *text_update;        /* NULL: never needed */
};

/* -------------------------------- the tickets of a client: own_ticket.c -- */

/* Make ${tickets} empty. */
void hf_ticket_table_init(struct hf_ticket_table *tickets);

/* Add ${ticket}, which has its id. */
void hf_ticket_table_add(struct hf_ticket_table *tickets,
                         struct hf_own_ticket *ticket);

/* Remove ${ticket}; nothing if it is not in. */
void hf_ticket_table_remove(struct hf_ticket_table *tickets,
                            struct hf_own_ticket *ticket);

/* The ticket with the id ${id}, or NULL. */
struct hf_own_ticket *
hf_ticket_table_find(const struct hf_ticket_table *tickets,
                     const struct hf_ticket_id *id);

/* ----------------------------------------- states and end: own_ticket.c -- */

/* Allocate a ticket in UNQUEUED, without an id.  ${spec} is copied.  The caller
 * then sets .acquisition and .entry.  Returns NULL if there is no memory. */
struct hf_own_ticket *
hf_own_ticket_new(const struct hf_ticket_spec *spec,
                  const struct hf_ticket_listener *listener);

/* Free a ticket that is in no table and of which the engine has nothing, or
 * whose core is no longer used. */
void hf_own_ticket_free(struct hf_own_ticket *ticket);

/* Change the state, as the table in own_ticket.c allows. */
void hf_own_ticket_move(struct hf_core *core, struct hf_own_ticket *ticket,
                        enum hf_own_ticket_state state);

/* The data of the state; the ticket must be in that state. */
struct hf_own_ticket_unqueued *
hf_own_ticket_unqueued(struct hf_own_ticket *ticket);
struct hf_own_ticket_queued *hf_own_ticket_queued(struct hf_own_ticket *ticket);
struct hf_own_ticket_held *hf_own_ticket_held(struct hf_own_ticket *ticket);
static inline struct hf_removal *
hf_own_ticket_removal(struct hf_own_ticket *ticket)
{
    assert(ticket->state >= HF_OWN_TICKET_REMOVING);
    return &ticket->in.removal;
}

/* Have the ticket removed from the queue: GONE if it cannot be there, else
 * REMOVING. */
void hf_own_ticket_remove(struct hf_core *core, struct hf_own_ticket *ticket);

/* The ENQUEUE got no answer, so the ticket may appear within one session
 * timeout from now.  REMOVING until a REMOVE finds it, or until a REMOVE is
 * answered after that time.  ${now}: also request a REMOVE at once; else only
 * when a list shows the ticket, and once when the time is over. */
void hf_own_ticket_remove_unanswered(struct hf_core *core,
                                     struct hf_own_ticket *ticket, bool now);

/* The ENQUEUE was answered, but a list does not show the ticket: somebody has
 * removed it, or the list is wrong.  REMOVING until a REMOVE is answered. */
void hf_own_ticket_remove_unlisted(struct hf_core *core,
                                   struct hf_own_ticket *ticket);

/* The acquisition tries again with another ticket: end this one as ${end} says.
 */
void hf_own_ticket_end(struct hf_core *core, struct hf_own_ticket *ticket,
                       enum hf_own_ticket_end end);

/* The session is over, and the engine has answered every request: GONE. */
void hf_own_ticket_session_over(struct hf_core *core,
                                struct hf_own_ticket *ticket);

/* Take back .question if the engine has not been handed it yet. */
void hf_own_ticket_cancel_question(struct hf_core *core,
                                   struct hf_own_ticket *ticket);

/* Does the ticket, which has a queue watch, need to know of changes of its
 * queue now? */
bool hf_own_ticket_wants_queue_watch(const struct hf_own_ticket *ticket);

/* Is its ENQUEUE under way? */
static inline bool
hf_own_ticket_enqueue_unanswered(const struct hf_own_ticket *ticket)
{
    return ticket->request.busy && ticket->request.kind == HF_REQUEST_ENQUEUE;
}

/* Is its LIST, DOWNGRADE or NEW_GENERATION under way? */
static inline bool
hf_own_ticket_has_question(const struct hf_own_ticket *ticket)
{
    return ticket->question != NULL && ticket->question->busy;
}

/* Is its REMOVE, or the ENQUEUE before that, under way or due?  False while the
 * removal only waits for the ticket to appear. */
bool hf_own_ticket_awaits_removal(const struct hf_own_ticket *ticket);

/* Is it GONE, with no answer outstanding? */
bool hf_own_ticket_is_finished(const struct hf_own_ticket *ticket);

/* Is it finished, and does the engine have no watch of it? */
bool hf_own_ticket_can_be_freed(const struct hf_own_ticket *ticket);

/* Assert the invariants of the ticket. */
void hf_own_ticket_check(const struct hf_core *core,
                         const struct hf_own_ticket *ticket);

/* -------------------------------------- position: own_ticket_position.c -- */

/* The ticket is in the queue ${snapshot}: QUEUED, then decide. */
void hf_own_ticket_joined(struct hf_core *core, struct hf_own_ticket *ticket,
                          const struct hf_snapshot *snapshot);

/* QUEUED, and ${snapshot} is the queue: apply the admission rule and grant,
 * wait, or end the wait. */
void hf_own_ticket_decide(struct hf_core *core, struct hf_own_ticket *ticket,
                          const struct hf_snapshot *snapshot);

/* QUEUED, and nothing blocks it: HELD as soon as the session is proven. */
void hf_own_ticket_admit(struct hf_core *core, struct hf_own_ticket *ticket);

/* QUEUED, and the watched ticket ahead with the id ${gone} is gone.  If it was
 * the last one that blocked, and the ticket is NEXT, admit it without a list.
 * The same if ${is_first}: the engine says that no ticket is ahead any more.
 * List again unless it is HELD then. */
void hf_own_ticket_ahead_gone(struct hf_core *core,
                              struct hf_own_ticket *ticket,
                              const struct hf_ticket_id *gone, bool is_first);

/* UNQUEUED, or QUEUED with a rule that watches the queue, and ${snapshot} is
 * the queue: look for room, or decide. */
void hf_own_ticket_queue_listed(struct hf_core *core,
                                struct hf_own_ticket *ticket,
                                const struct hf_snapshot *snapshot);

/* QUEUED with nothing that blocks it, and safe-until has moved. */
void hf_own_ticket_proven(struct hf_core *core, struct hf_own_ticket *ticket);

/* QUEUED, and the connection was down: what is known of the queue is out of
 * date. */
void hf_own_ticket_stale(struct hf_own_ticket *ticket);

/* -------------------------------------- requests: own_ticket_requests.c -- */

/* UNQUEUED: request the ENQUEUE under a new id.  The session is CONNECTED. */
void hf_own_ticket_enqueue(struct hf_core *core, struct hf_own_ticket *ticket);

/* Request everything that is wanted and can be requested now.  ${usable}: the
 * session is. */
void hf_own_ticket_pump(struct hf_core *core, struct hf_own_ticket *ticket,
                        bool usable);

/* There is a connection again: lists and watches may be out of date. */
void hf_own_ticket_connected(struct hf_core *core,
                             struct hf_own_ticket *ticket);

/* Time has passed: if the next report of the position is due, list the queue
 * for it. */
void hf_own_ticket_tick(struct hf_core *core, struct hf_own_ticket *ticket);

/* HELD, and the next waiter of a cohort is about to rely on it.  True: nothing
 * speaks against that.  False: the connection was down since somebody last
 * relied on it, so it is listed first, and .changed or .lost follows. */
bool hf_own_ticket_confirm(struct hf_core *core, struct hf_own_ticket *ticket);

/* HELD: watch the queue, and call .contended once another ticket is seen in it.
 * False if there is no memory. */
bool hf_own_ticket_watch_queue(struct hf_own_ticket *ticket);

/* HELD, with a write ticket: request the DOWNGRADE until it is answered. */
void hf_own_ticket_downgrade(struct hf_own_ticket *ticket);

/* Is a downgrade of the ticket under way, or due? */
bool hf_own_ticket_is_downgrading(const struct hf_own_ticket *ticket);

/* A lease: the semaphore has ${limit} permits from now on. */
void hf_own_ticket_set_limit(struct hf_core *core, struct hf_own_ticket *ticket,
                             uint32_t limit);

/* When the next request is due (CLOCK_BOOTTIME in ms, HF_FOREVER: none).  It
 * can be made only while CONNECTED. */
uint64_t hf_own_ticket_request_at_ms(const struct hf_own_ticket *ticket);

/* ---------------------------------------- answers: own_ticket_answers.c -- */

/* Take in ${event}, the answer to a request of the ticket.  May free the
 * ticket, by .changed of the listener. */
void hf_own_ticket_answered(struct hf_core *core, struct hf_own_ticket *ticket,
                            const struct hf_event *event);

/* The engine has returned from the UNWATCH of ${request}, a watch of the
 * ticket. */
void hf_own_ticket_unwatched(struct hf_own_ticket *ticket,
                             struct hf_request *request);

#endif
