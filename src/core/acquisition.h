/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An acquisition: from wanting a lock to its tickets being gone.  It may take
 * several tickets, one after the other, before one is granted.
 *
 *   IDLE         not handed to the core yet
 *   WAITING      on its way to a grant, with a ticket or without
 *   HELD         admitted, the grant is valid
 *   LOST         the grant ended before its release
 *   RELEASING    released by its owner, some ticket not yet known to be gone
 *   GIVING_UP    given up without a grant, some ticket not yet known to be gone
 *   DONE         nothing of it can be, or appear, in the queue
 */
#ifndef HF_CORE_ACQUISITION_H
#define HF_CORE_ACQUISITION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/effect.h"
#include "core/engine.h"
#include "core/enqueue_order.h"
#include "core/own_ticket.h"
#include "core/retry.h"
#include "core/schedule.h"
#include "core/shared_text.h"
#include "core/ticket.h"
#include "core/tree.h"

struct hf_multi_lock;
struct hf_cohort;
struct hf_core;

/* How many tickets of one acquisition may be on their way out of the queue
 * while it tries again.  The next try waits until one of them is GONE.  Lost
 * answers fill these places, and tickets that a list does not show. */
#define HF_EARLIER_TICKETS_MAX 4

/* An end without a grant waits this long for the answer that the ticket is
 * out of the queue.  After that the owner is told all the same, and told that
 * a ticket may remain: a deadline has to end although the connection is down.
 */
#define HF_REMOVAL_WAIT_MS 1000

struct hf_acquisition;

/* How an acquisition comes by its lock: by tickets of its own, by those of its
 * children (multi_lock.h), or by that of its cohort (cohort.h). */
struct hf_acquisition_ops {
    bool takes_tickets; /* of its own */
    /* It is wanted, and WAITING: enter it into the schedule and a list. */
    void (*begin)(struct hf_core *core, struct hf_acquisition *a);
    /* Something has changed. */
    void (*pump)(struct hf_core *core, struct hf_acquisition *a);
    /* There is a connection again; the session is over.  NULL: nothing is to be
     * done but to pump, or hf_acquisition_finish(), which comes after. */
    void (*connected)(struct hf_core *core, struct hf_acquisition *a);
    void (*session_over)(struct hf_core *core, struct hf_acquisition *a);
    /* It waits, or is held, no longer; its state is not changed yet. */
    void (*leave)(struct hf_core *core, struct hf_acquisition *a);
    /* Is there an answer to wait for before the owner is notified of the end?
     */
    bool (*must_wait)(const struct hf_acquisition *a);
    /* May a ticket of it be, or appear, in a queue? */
    bool (*may_remain)(const struct hf_acquisition *a);
    /* How its release has ended; sets the text unless that is HF_OK. */
    hf_status (*release_status)(struct hf_core *core, struct hf_acquisition *a);
    /* The owner has heard of the end: is nothing left of it?  It is DONE. */
    bool (*may_finish)(const struct hf_acquisition *a);
    void (*finish)(struct hf_core *core, struct hf_acquisition *a);
    /* It waits: set .ahead and .holder, false if they are as they were; and
     * ${at}: which acquisition has the ticket that it waits by. */
    bool (*position)(struct hf_core *core, struct hf_acquisition *a,
                     const struct hf_acquisition **waits_by);
};

/* The owner of an acquisition: the user; a multi-lock, of its children; a
 * cohort, of its tickets.  .lost may only take note and notify the owner's own
 * owner, because LOST comes first; what the others note is looked at when the
 * step ends. */
struct hf_acquisition_listener {
    void (*waiting)(struct hf_core *core, struct hf_acquisition *a);
    void (*granted)(struct hf_core *core, struct hf_acquisition *a);
    void (*revoked)(struct hf_core *core, struct hf_acquisition *a);
    void (*lost)(struct hf_core *core, struct hf_acquisition *a);
    void (*ended)(struct hf_core *core, struct hf_acquisition *a,
                  enum hf_effect_kind how); /* ENDED, RELEASED */
    void (*done)(struct hf_core *core, struct hf_acquisition *a);
    /* HELD: does somebody rely on the grant? */
    bool (*is_relied_on)(const struct hf_acquisition *a);
    /* Below: NULL if nothing is to be done. */
    /* HELD, nobody relies on it, and safe-until has moved. */
    void (*proven)(struct hf_core *core, struct hf_acquisition *a);
    /* It waits no longer; some answer came, or something else has changed. */
    void (*gave_up)(struct hf_core *core, struct hf_acquisition *a);
    void (*changed)(struct hf_core *core, struct hf_acquisition *a);
    /* Its place was lost; it has another. */
    void (*displaced)(struct hf_acquisition *a);
    void (*queued)(struct hf_acquisition *a);
};

/* The part of an acquisition that takes tickets of its own. */
struct hf_acquisition_tickets {
    /* The ticket in force; NULL: it has none.  Those before it, until they are
     * over, the oldest first. */
    struct hf_own_ticket *current;
    struct hf_own_ticket *earlier;
    uint64_t enqueue_at_ms; /* no ticket before */
    struct hf_retry_state enqueue_retry;
    uint64_t pumped_ms; /* when it was last asked for what was due */
    bool downgrading;   /* HELD, by a writer that is to be a reader */
    struct hf_shared_text
        *removal_denied; /* why a ticket of it may not be taken out of its
             queue; NULL: nothing is known of that */
    struct hf_enqueue_turn turn;
};

/* The part of a waiter of a cohort, see cohort.h. */
struct hf_acquisition_waiter {
    struct hf_cohort *cohort;    /* set before WANT, with .ops */
    struct hf_tree_node waiting; /* WAITING: among the cohort's */
    struct hf_acquisition
        *awaited_ticket; /* RELEASING, GIVING_UP: the owner is told
                    when this ticket has ended; NULL: now */
};

/* The part of an acquisition of the user. */
struct hf_acquisition_user {
    /* Set before WANT, of a single ticket: ENDED, like RELEASED, comes when
     * nothing of it can be in the queue, or with HF_EDENIED if it may not be
     * taken out. */
    bool waits_for_removal;
    /* Safe-until of the session is about this grant, from GRANTED until it is
     * HELD no more.  Read it with the word only, see safe_until.h. */
    _Atomic bool valid;
    /* Where the same is written, with the core's lock; NULL: nowhere.  What it
     * points to must live until it is NULL again. */
    _Atomic bool *valid_copy;
    hf_status downgrade_status; /* DOWNGRADED; .kind then says what it is */
    /* Two share one where the first was carried out, or taken back, before the
     * other can come. */
    struct hf_effect answer;  /* GRANTED, then RELEASED; or ENDED */
    struct hf_effect loss;    /* REVOKED, then LOST */
    struct hf_effect waiting; /* WAITING, then DOWNGRADED */
    struct hf_effect done;
};

/* Zeroed, then set, before WANT; hf_acquisition_free() at the end. */
struct hf_acquisition {
    /* Set before WANT; the text must live until FORGOTTEN. */
    const char *queue;
    const char *payload;
    enum hf_ticket_kind kind;
    uint32_t weight;  /* LEASE: so many permits ... */
    uint32_t limit;   /* ... of so many; PARTICIPANT: so many are
                         waited for */
    bool entry_mutex; /* of a semaphore: let go once the lease is had */
    bool only_try;    /* end with HF_EBUSY instead of waiting; the deadline is
                         then not looked at */
    uint64_t not_before_ms;   /* take no ticket earlier; 0 */
    uint64_t deadline_at_ms;  /* HF_FOREVER: none */
    uint64_t report_every_ms; /* emit WAITING at least this often while
                                 queued; 0: only when the place was looked up
                                 anyway */
    /* How it comes by its lock, and what that needs.  NULL: by tickets of its
     * own; for a multi-lock and for a waiter both are set. */
    const struct hf_acquisition_ops *ops;
    union {
        struct hf_acquisition_tickets tickets;
        struct hf_multi_lock *multi_lock;
        struct hf_acquisition_waiter waiter;
    };
    /* Whose it is, which the core sets, and what that one needs. */
    const struct hf_acquisition_listener *listener;
    union {
        struct hf_acquisition_user user;
        struct hf_acquisition *parent; /* a multi-lock, see multi_lock.h */
        struct hf_cohort *cohort;      /* it is the ticket of this one */
    };

    /* To be read with the effects. */
    hf_status status;               /* ENDED, RELEASED */
    struct hf_shared_text *message; /* of hf_acquisition_text() */
    bool message_missing;           /* there was no memory for it */
    bool may_remain; /* ENDED: a ticket of it may be, or appear, in the queue
                        until the session ends; the text says so */
    uint64_t started_at_ms;
    uint32_t ahead;                /* WAITING */
    uint32_t displaced;            /* WAITING: how often a place was lost
                                      before the one that it has, or had */
    struct hf_shared_text *holder; /* WAITING: payload of the head; "" without
                               the memory for it */
    struct hf_ticket_id ticket_id; /* GRANTED */
    uint64_t token;                /* GRANTED */
    uint64_t generation;           /* GRANTED to a PARTICIPANT: what let
                                 it in */

    /* The core's own; see acquisition.c. */
    unsigned state;
    bool no_deadline;   /* its limits do not count: a parent that takes tickets,
                         because the child that waits has them; a cohort's
                         ticket, because the waiters have them */
    bool position_lost; /* its place is lost, and it has no other yet */
    uint64_t connect_by_ms; /* as long as there never was a connection */
    uint64_t session;       /* HELD: number of the one that grants it */
    bool notified;          /* RELEASED or ENDED was queued, ... */
    uint64_t notify_at_ms;  /* ... GIVING_UP: at the latest then */
    struct hf_schedule_entry entry;
    struct hf_acquisition *next;
    struct hf_acquisition *previous;
    struct hf_acquisition *next_held; /* HELD: in the core's list of these;
                                         just lost: in that of core.c */
    struct hf_acquisition *previous_held;
};

/* Its ticket in force; NULL: none, or none of its own. */
static inline struct hf_own_ticket *
hf_acquisition_ticket(const struct hf_acquisition *a)
{
    return a->ops != NULL && a->ops->takes_tickets ? a->tickets.current : NULL;
}

/* Its tickets that are in force no more: the oldest, with .next. */
static inline struct hf_own_ticket *
hf_acquisition_earlier(const struct hf_acquisition *a)
{
    return a->ops != NULL && a->ops->takes_tickets ? a->tickets.earlier : NULL;
}

#define FOR_EACH_EARLIER(a, ticket)                                            \
    for (struct hf_own_ticket *ticket = hf_acquisition_earlier(a);             \
         ticket != NULL; ticket = (ticket)->next)

enum hf_acquisition_state {
    HF_ACQUISITION_IDLE,
    HF_ACQUISITION_WAITING,
    HF_ACQUISITION_HELD,
    HF_ACQUISITION_LOST,
    HF_ACQUISITION_RELEASING,
    HF_ACQUISITION_GIVING_UP,
    HF_ACQUISITION_DONE
};

/* Give back what memory ${a} has apart from itself: it was forgotten, or was
 * never wanted, or its core is no more. */
void hf_acquisition_free(struct hf_core *core, struct hf_acquisition *a);

/* ENDED, RELEASED, DOWNGRADED, if the status is not HF_OK: the message; LOST:
 * why; else "" or a failure that was tried again.  Valid until ${a} is freed or
 * the core is called again: copy it before the lock is given up. */
const char *hf_acquisition_text(const struct hf_acquisition *a);

/* Have that be ${text}. */
void hf_acquisition_set_text(struct hf_core *core, struct hf_acquisition *a,
                             const char *text);

/* Say in ${why} why ${a}, which waits, has not been granted in ${waited_ms}, or
 * by what a try may take; that somebody else is ahead of it. */
void hf_acquisition_explain_timeout(struct hf_core *core,
                                    struct hf_acquisition *a,
                                    uint64_t waited_ms, bool only_try,
                                    struct hf_error *why);
void hf_acquisition_explain_busy(const struct hf_acquisition *a,
                                 struct hf_error *why);

/* Is it on its way to a grant? */
static inline bool hf_acquisition_is_waiting(const struct hf_acquisition *a)
{
    return a->state == HF_ACQUISITION_WAITING;
}

/* Is its ticket in the queue, not admitted yet?  And seen behind others? */
static inline bool hf_acquisition_is_queued(const struct hf_acquisition *a)
{
    const struct hf_own_ticket *ticket = hf_acquisition_ticket(a);

    return ticket != NULL && ticket->state == HF_OWN_TICKET_QUEUED;
}

static inline bool hf_acquisition_is_behind(const struct hf_acquisition *a)
{
    return hf_acquisition_is_queued(a) &&
           a->tickets.current->in.queued.blocking > 0;
}

/* Does somebody rely on the grant of ${a}?  Nobody does on a child whose parent
 * still waits, nor on the ticket of a cohort between two holders. */
bool hf_acquisition_is_relied_on(const struct hf_acquisition *a);

/* Below: within a step.  Each may finish ${a}, which then is no longer in the
 * core's list. */

/* --------------------------------------------------------- from the user -- */

extern const struct hf_acquisition_listener hf_acquisition_user_listener;
extern const struct hf_acquisition_ops hf_acquisition_ticket_ops;

static inline bool hf_acquisition_is_of_user(const struct hf_acquisition *a)
{
    return a->listener == &hf_acquisition_user_listener;
}

/* Does its end wait until nothing of it can be in the queue? */
static inline bool
hf_acquisition_waits_for_removal(const struct hf_acquisition *a)
{
    return hf_acquisition_is_of_user(a) && a->user.waits_for_removal;
}

/* Its .ops and .owner are set. */
void hf_acquisition_start(struct hf_core *core, struct hf_acquisition *a);
void hf_acquisition_cancel(struct hf_core *core, struct hf_acquisition *a);
void hf_acquisition_release(struct hf_core *core, struct hf_acquisition *a);
void hf_acquisition_set_limit(struct hf_core *core, struct hf_acquisition *a,
                              uint32_t limit);
/* Of a writer who was not told LOST, and not under way. */
void hf_acquisition_downgrade(struct hf_core *core, struct hf_acquisition *a);

/* ------------------------------- from the clock, and from the session -- */

/* Ask for whatever is wanted and can be asked now; finish if all is done. */
void hf_acquisition_pump(struct hf_core *core, struct hf_acquisition *a);

void hf_acquisition_connected(struct hf_core *core, struct hf_acquisition *a);
void hf_acquisition_session_over(struct hf_core *core,
                                 struct hf_acquisition *a);

/* ------------------------------------------------------------ from others --
 */

/* End the grant of ${a}, which is HELD, because of ${why}, which is copied.
 * Moves it and notifies, and asks for nothing: a pump must follow, after
 * everyone else was notified.
 * ${ticket_lives}: the ticket may still be in the queue. */
void hf_acquisition_lose(struct hf_core *core, struct hf_acquisition *a,
                         bool ticket_lives, const char *why);

/* End the wait of ${a}, if it is waiting, as ${why} tells. */
void hf_acquisition_give_up(struct hf_core *core, struct hf_acquisition *a,
                            const struct hf_error *why);

/* End its wait, a try, for .holder is ahead of it. */
void hf_acquisition_end_busy(struct hf_core *core, struct hf_acquisition *a);

/* Set the status and the text to ${why}. */
void hf_acquisition_set_error(struct hf_core *core, struct hf_acquisition *a,
                              const struct hf_error *why);

/* Set .holder to ${payload}. */
void hf_acquisition_set_holder(struct hf_core *core, struct hf_acquisition *a,
                               const char *payload);

/* It is HELD; ${revoked}: somebody has asked for its release already. */
void hf_acquisition_grant(struct hf_core *core, struct hf_acquisition *a,
                          bool revoked);

/* Its place is lost; the next one will be at the tail. */
void hf_acquisition_lose_position(struct hf_acquisition *a);

/* It has a place.  The loss of the one before is counted now and not earlier,
 * because until now the owner was notified of the old place. */
void hf_acquisition_count_displaced(struct hf_acquisition *a);

/* In the core's list, and out of it. */
void hf_acquisition_link(struct hf_core *core, struct hf_acquisition *a);
void hf_acquisition_unlink(struct hf_core *core, struct hf_acquisition *a);

/* May it have another ticket, with those that are being removed? */
bool hf_acquisition_can_enqueue(const struct hf_acquisition *a);

/* It may want a ticket now, or none: see enqueue_order.h. */
void hf_acquisition_update_order(struct hf_core *core,
                                 struct hf_acquisition *a);
struct hf_acquisition *
hf_acquisition_of_turn(const struct hf_enqueue_turn *turn);
hf_enqueue_turn_is_asking hf_acquisition_is_asking;

/* Enter it into the schedule, by which its limits count. */
void hf_acquisition_schedule(struct hf_core *core, struct hf_acquisition *a);

void hf_acquisition_move(struct hf_core *core, struct hf_acquisition *a,
                         enum hf_acquisition_state state);

/* After each change of what keeps a RELEASING or GIVING_UP one: tell the
 * owner if it is time, finish if nothing is left. */
void hf_acquisition_finish(struct hf_core *core, struct hf_acquisition *a);

/* Has it ended, and has the engine nothing of it? */
bool hf_acquisition_can_be_freed(const struct hf_acquisition *a);

/* Will the answer to a removal, or to the enqueue before it, still come? */
bool hf_acquisition_awaits_removal(const struct hf_acquisition *a);

void hf_acquisition_check(const struct hf_core *core,
                          const struct hf_acquisition *a);

#endif
