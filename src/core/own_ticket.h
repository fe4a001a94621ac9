/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A ticket of ours: one ticket id, from before its enqueue until it can neither
 * be nor appear in the queue.
 *
 *   UNQUEUED    not asked for a place yet; a lease waits for room first
 *   ENQUEUING  asked for a place, no answer yet
 *   UNSURE     it may or may not be in the queue; looking for it
 *   QUEUED     in the queue
 *   HELD       admitted
 *   REMOVING   must not stay in the queue, and may be, or appear, there
 *   GONE       nothing of it can be, or appear, in the queue
 *
 * An acquisition has one ticket in force at a time.  Another try is another
 * ticket, while those before are removed.  Each is allocated, with all that may
 * be needed to remove it, before its ENQUEUE is asked for; it cannot fail after
 * that.  An earlier one is freed when it is GONE and the engine has nothing of
 * it, the one in force with its acquisition.
 *
 * It knows nothing of its acquisition: what that wants is in its
 * hf_ticket_spec, and what becomes of the ticket is notified by the functions
 * of its hf_ticket_listener.
 *
 * own_ticket.c has its states and its end, own_ticket_decide.c what a queue
 * means for it, own_ticket_requests.c its requests and their answers.
 */
#ifndef HF_CORE_OWN_TICKET_H
#define HF_CORE_OWN_TICKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/effect.h"
#include "core/engine.h"
#include "core/queue_watch.h"
#include "core/removal.h"
#include "core/retry.h"
#include "core/ticket.h"
#include "core/ticket_description.h"
#include "core/ticket_watch.h"
#include "core/tree.h"

struct hf_acquisition;
struct hf_core;
struct hf_schedule_entry;

/* A ticket that is admitted at once watches itself only if it is held so long:
 * short critical sections do not pay for it. */
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

/* What the owner wants a ticket for, and how. */
struct hf_ticket_spec {
    const char *queue; /* lives as long as the ticket */
    /* Where the owner has the text, which may be moved meanwhile. */
    const char *const *payload;
    enum hf_ticket_kind kind; /* WRITE: READ once it was downgraded */
    enum hf_ticket_role role; /* in a queue that has roles */
    uint32_t weight;          /* LEASE: N permits ... */
    uint32_t limit; /* ... of N; PARTICIPANT: the participants waited for */
    /* Notify .waiting at least this often while QUEUED; 0: only when the place
     * was looked up anyway. */
    uint64_t report_every_ms;
};

/* What becomes of a ticket when its acquisition tries again. */
enum hf_own_ticket_end {
    HF_OWN_TICKET_NOT_CREATED, /* it is GONE */
    HF_OWN_TICKET_MAY_APPEAR,  /* hf_own_ticket_remove_unanswered(), its ${now}
                                  is false */
    HF_OWN_TICKET_UNLISTED,    /* hf_own_ticket_remove_unlisted() */
};

/* What each state decides by, to be read in that state only.
 * hf_own_ticket_queued() and its like see to that. */
struct hf_own_ticket_unqueued {
    bool has_room; /* it was seen */
};

struct hf_own_ticket_queued {
    /* The place as of the last list, less what went since. */
    size_t blocking; /* 0: nobody is in the way; it waits for a proof, or for
                        a list */
    bool nearest_known;
    bool second_known;
    struct hf_watched_ticket nearest;
    struct hf_watched_ticket second;
    bool gone_admits;
    bool stale; /* the connection was down since: list before admitting */
    /* The rule lets it in, for good: those that come later stand behind it.
     * Nothing is missing but the proof. */
    bool admissible;
    bool waited;  /* it was not admitted at once */
    bool revoked; /* its owner is to be asked to let go, once it is HELD */
    bool generation_wanted; /* of a PARTICIPANT */
    uint64_t report_at_ms;
};

struct hf_own_ticket_held {
    bool stale;               /* the connection was down since: it may have been
                                 taken out, see hf_own_ticket_confirm() */
    bool downgrading;         /* a writer that is to be a reader */
    bool downgrade_asked;     /* and it may have been done */
    uint64_t downgrade_at_ms; /* not asked for before */
    struct hf_retry_state downgrade_retry;
};

/* What a ticket notifies its acquisition of, from within a step. */
struct hf_ticket_listener {
    /* It is in the queue. */
    void (*queued)(struct hf_core *core, struct hf_own_ticket *ticket);
    /* The queue was seen: ${ahead} tickets are ahead.  ${holder} is the payload
     * of the first; "": there is none; NULL: not known. */
    void (*position_changed)(struct hf_core *core, struct hf_own_ticket *ticket,
                             size_t ahead, const char *holder);
    /* Others are in its way: false if that ends the wait. */
    bool (*may_wait)(struct hf_core *core, struct hf_own_ticket *ticket);
    void (*waiting)(struct hf_core *core, struct hf_own_ticket *ticket);
    /* It is HELD; ${revoked}: somebody has asked for its release already. */
    void (*granted)(struct hf_core *core, struct hf_own_ticket *ticket,
                    bool revoked);
    /* HELD, and somebody asks for its release. */
    void (*revoked)(struct hf_core *core, struct hf_own_ticket *ticket);
    /* HELD, and no longer ours, as ${why} tells; it may still be in the queue
     * if ${lives}. */
    void (*lost)(struct hf_core *core, struct hf_own_ticket *ticket, bool lives,
                 const char *why);
    /* It was QUEUED and is gone, or being removed; nobody here began that. */
    void (*evicted)(struct hf_core *core, struct hf_own_ticket *ticket);
    /* The enqueue may have failed, as ${why} tells: it is looked for. */
    void (*unsure)(struct hf_core *core, struct hf_own_ticket *ticket,
                   const struct hf_error *why);
    /* The search failed, and is repeated. */
    void (*search_failed)(struct hf_core *core, struct hf_own_ticket *ticket);
    /* The enqueue failed as ${why}, or the last unsure(), tells, and another
     * ticket may do better.  ${end}: what becomes of this one. */
    void (*failed)(struct hf_core *core, struct hf_own_ticket *ticket,
                   const struct hf_error *why, enum hf_own_ticket_end end);
    /* The wait ends as ${why} tells. */
    void (*refused)(struct hf_core *core, struct hf_own_ticket *ticket,
                    const struct hf_error *why);
    /* The request to become a reader has ended: with NULL it is one. */
    void (*downgraded)(struct hf_core *core, struct hf_own_ticket *ticket,
                       const struct hf_error *why);
    /* REMOVING, because the wait was given up, and the enqueue got no answer:
     * hf_own_ticket_remove_unanswered() is to be called. */
    void (*unanswered)(struct hf_core *core, struct hf_own_ticket *ticket);
    /* The removal was refused (HF_EDENIED); it is tried on. */
    void (*not_removed)(struct hf_core *core, struct hf_own_ticket *ticket,
                        const struct hf_error *why);
    /* Something has changed: pump all tickets, and whatever they are for. */
    void (*changed)(struct hf_core *core, struct hf_acquisition *a);
};

struct hf_own_ticket {
    struct hf_acquisition *acquisition;        /* handed to .owner */
    const struct hf_ticket_listener *listener; /* the acquisition's */
    struct hf_schedule_entry *entry;           /* the acquisition's */
    struct hf_own_ticket *next; /* of the acquisition's earlier ones */
    struct hf_ticket_spec spec;
    unsigned state;
    union {
        struct hf_own_ticket_unqueued unqueued;
        struct hf_own_ticket_queued queued;
        struct hf_own_ticket_held held;
    } in;
    /* From ENQUEUING on. */
    uint64_t number; /* of this client's: 1, 2, ... */
    struct hf_ticket_id id;
    uint64_t session;          /* number of the one that it belongs to */
    uint64_t token;            /* once it was in the queue */
    uint64_t generation;       /* PARTICIPANT: what lets it in */
    struct hf_tree_node by_id; /* see ticket_table.h */
    /* ENQUEUE, LIST, DOWNGRADE or STAMP, one at a time. */
    struct hf_request request;
    struct hf_effect request_effect;
    /* UNSURE, QUEUED, HELD and stale: what is under way or on the way there may
     * be out of date, so list (again), not before .list_at_ms. */
    bool list_wanted;
    uint64_t list_at_ms;
    struct hf_retry_state list_retry;
    struct hf_retry_state generation_retry;
    /* QUEUED, HELD. */
    struct hf_ticket_watches watches;
    uint64_t watch_at_ms; /* no new watch before; HELD: nor one's own */
    uint64_t pumped_ms;   /* when it was last asked for what was due */
    struct hf_retry_state watch_retry;
    struct hf_queue_watch *queue_watch; /* NULL: its rule has none */
    struct hf_ticket_description
        *description;          /* NULL: it never was asked for */
    struct hf_removal removal; /* REMOVING: once the ENQUEUE has its
                                  answer */
};

/* ----------------------------------------------- its life: own_ticket.c -- */

/* A ticket, UNQUEUED, with no id yet; NULL without the memory for it.  The
 * caller then sets .acquisition and .entry. */
struct hf_own_ticket *
hf_own_ticket_new(const struct hf_ticket_spec *spec,
                  const struct hf_ticket_listener *listener);

/* It is over and in no table, or the core is no more. */
void hf_own_ticket_free(struct hf_own_ticket *ticket);

void hf_own_ticket_move(struct hf_core *core, struct hf_own_ticket *ticket,
                        enum hf_own_ticket_state state);

/* Only of a ticket in that state. */
struct hf_own_ticket_unqueued *
hf_own_ticket_unqueued(struct hf_own_ticket *ticket);
struct hf_own_ticket_queued *hf_own_ticket_queued(struct hf_own_ticket *ticket);
struct hf_own_ticket_held *hf_own_ticket_held(struct hf_own_ticket *ticket);

/* See that it does not stay in the queue, or comes to nothing: GONE if it
 * cannot be there, else REMOVING. */
void hf_own_ticket_remove(struct hf_core *core, struct hf_own_ticket *ticket);

/* Its enqueue got no answer, so it may appear within one session timeout from
 * now: REMOVING until a REMOVE finds it, or one is answered after that time.
 * ${now}: ask for its removal at once, too; else
 * only when a list shows it, and once when the time is over. */
void hf_own_ticket_remove_unanswered(struct hf_core *core,
                                     struct hf_own_ticket *ticket, bool now);

/* Its enqueue was answered, and a list does not show it.  Somebody removed it,
 * or the list is wrong: ask for its removal, until that is answered. */
void hf_own_ticket_remove_unlisted(struct hf_core *core,
                                   struct hf_own_ticket *ticket);

/* Another ticket takes its place: have ${end} become of this one. */
void hf_own_ticket_end(struct hf_core *core, struct hf_own_ticket *ticket,
                       enum hf_own_ticket_end end);

/* Its session is over.  GONE, with no request under way. */
void hf_own_ticket_session_over(struct hf_core *core,
                                struct hf_own_ticket *ticket);

/* Take back a request that the engine has not heard of. */
void hf_own_ticket_cancel_request(struct hf_core *core,
                                  struct hf_own_ticket *ticket);

/* Does it want to hear of changes of the queue? */
bool hf_own_ticket_wants_queue_watch(const struct hf_own_ticket *ticket);

/* Has the engine an ENQUEUE of it that it has not answered? */
static inline bool
hf_own_ticket_enqueue_unanswered(const struct hf_own_ticket *ticket)
{
    return ticket->request.busy && ticket->request.kind == HF_REQUEST_ENQUEUE;
}

/* Is its removal, or the ENQUEUE before that, asked or about to be?  False
 * while it only waits for the ticket to appear. */
bool hf_own_ticket_awaits_removal(const struct hf_own_ticket *ticket);

/* Is it GONE, with no answer to come? */
bool hf_own_ticket_is_finished(const struct hf_own_ticket *ticket);

/* And has the engine nothing of it, so that it can be freed? */
bool hf_own_ticket_can_be_freed(const struct hf_own_ticket *ticket);

void hf_own_ticket_check(const struct hf_core *core,
                         const struct hf_own_ticket *ticket);

/* ----------------------------------- its place: own_ticket_decide.c -- */

/* It was put into the queue, or found there: ${snapshot}. */
void hf_own_ticket_joined(struct hf_core *core, struct hf_own_ticket *ticket,
                          const struct hf_snapshot *snapshot);

/* QUEUED, and this is the queue: go by the rule. */
void hf_own_ticket_decide(struct hf_core *core, struct hf_own_ticket *ticket,
                          const struct hf_snapshot *snapshot);

/* QUEUED, and nothing is in the way: HELD once the session is proven. */
void hf_own_ticket_admit(struct hf_core *core, struct hf_own_ticket *ticket);

/* QUEUED, and the ticket ahead called ${gone}, which was watched, is gone.  If
 * it was the last in the way, and the engine allows that, admit without a list;
 * else list again. */
void hf_own_ticket_ahead_gone(struct hf_core *core,
                              struct hf_own_ticket *ticket,
                              const struct hf_ticket_id *gone);

/* UNQUEUED, or QUEUED by a rule that watches the queue, and this is the queue.
 */
void hf_own_ticket_queue_listed(struct hf_core *core,
                                struct hf_own_ticket *ticket,
                                const struct hf_snapshot *snapshot);

/* Safe-until has moved, and a proof was all that it waited for. */
void hf_own_ticket_proven(struct hf_core *core, struct hf_own_ticket *ticket);

/* ----------------------------- its requests: own_ticket_requests.c -- */

/* UNQUEUED: ask for a place in the queue, under a fresh id. */
void hf_own_ticket_enqueue(struct hf_core *core, struct hf_own_ticket *ticket);

/* Ask for whatever is wanted and can be asked now. */
void hf_own_ticket_pump(struct hf_core *core, struct hf_own_ticket *ticket);

/* An answer to a request of it. */
void hf_own_ticket_answered(struct hf_core *core, struct hf_own_ticket *ticket,
                            const struct hf_event *event);

/* The engine has returned from a FORGET of ${request}, which is its. */
void hf_own_ticket_unwatched(struct hf_own_ticket *ticket,
                             struct hf_request *request);

/* There is a connection again. */
void hf_own_ticket_connected(struct hf_core *core,
                             struct hf_own_ticket *ticket);

/* Tell of its place, if that is due: see that it is listed. */
void hf_own_ticket_tick(struct hf_core *core, struct hf_own_ticket *ticket);

/* HELD, and another waiter of a cohort is about to rely on it.  True: nothing
 * is known against that.  False: the connection was down since somebody last
 * did, so it is listed first, and .changed or .lost follows. */
bool hf_own_ticket_confirm(struct hf_core *core, struct hf_own_ticket *ticket);

/* HELD, by a writer: ask to become a reader, until that is answered. */
void hf_own_ticket_downgrade(struct hf_own_ticket *ticket);

/* A lease: there are ${limit} permits from now on. */
void hf_own_ticket_set_limit(struct hf_core *core, struct hf_own_ticket *ticket,
                             uint32_t limit);

/* When a request is due, which can be asked only while CONNECTED. */
uint64_t hf_own_ticket_request_at_ms(const struct hf_own_ticket *ticket);

#endif
