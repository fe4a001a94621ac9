/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An acquisition: from wanting a lock to its ticket being gone.  It may take
 * several tickets, one after the other, before one is granted.
 *
 *   IDLE         not handed to the core yet
 *   PAUSED       no ticket in the queue; waits for a session or a retry, or, of
 *                a bundle, for its parts
 *   LOOKING      a lease: waits for room in the queue before it enters it
 *   ENQUEUING    asked for a place, no answer yet
 *   UNSURE       the ticket may or may not be there; looking for it
 *   QUEUED       a ticket in the queue, watching the one before
 *   HELD         admitted, the grant is valid
 *   LOST         the grant ended before its release
 *   RELEASING    released by its owner, some ticket not yet known to be gone
 *   WITHDRAWING  given up without a grant, some ticket not yet known to be gone
 *   DONE         nothing of it can be, or appear, in the queue
 */
#ifndef HF_CORE_ACQUISITION_H
#define HF_CORE_ACQUISITION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/bundle.h"
#include "core/description.h"
#include "core/effect.h"
#include "core/engine.h"
#include "core/enqueue_order.h"
#include "core/lookout.h"
#include "core/retry.h"
#include "core/schedule.h"
#include "core/text.h"
#include "core/ticket.h"
#include "core/tree.h"
#include "core/watch.h"
#include "core/withdrawal.h"

struct hf_cohort;
struct hf_core;

/* How many ids of tickets whose enqueue got no answer are remembered, each
 * until it can no longer appear.  With all in use the next attempt waits for
 * the oldest: bounded, and each takes a lost answer to fill. */
#define HF_ABANDONED_MAX 4

/* An end without a grant waits this long for the answer that the ticket is
 * out of the queue.  After that the owner is told all the same, and told that
 * a ticket may remain: a deadline has to end although the link is down. */
#define HF_REMOVAL_WAIT_MS 1000

/* An immediate grant watches its own ticket only if it lasts so long: short
 * critical sections do not pay for it. */
#define HF_OWN_WATCH_AFTER_MS 5

/* Zeroed, then set, before WANT; hf_acquisition_free() at the end. */
struct hf_acquisition {
    /* Set before WANT; the text must live until FORGOTTEN. */
    const char *queue;
    const char *payload;
    enum hf_ticket_kind kind;
    uint32_t weight;              /* LEASE: so many permits ... */
    uint32_t limit;               /* ... of so many; MEMBER: so many are
                                     waited for */
    struct hf_bundle *bundle;     /* what it consists of; NULL: a ticket */
    struct hf_acquisition *whole; /* what it is a part of, or NULL */
    struct hf_cohort *cohort;     /* what it is a member of, or NULL: a mutex
                                     without a ticket of its own */
    bool gate;     /* a part that is let go once the next is had */
    bool only_try; /* end with HF_EBUSY instead of waiting; the
                      deadline is then not looked at */
    bool thorough; /* of a single ticket: ENDED, like RELEASED, comes when
                      nothing of it can be in the queue, or with HF_EDENIED if
                      it may not be taken out */
    uint64_t not_before_ms;   /* take no ticket earlier; 0 */
    uint64_t deadline_at_ms;  /* HF_FOREVER: none */
    uint64_t report_every_ms; /* emit WAITING at least this often while
                                 queued; 0: only when the place was looked up
                                 anyway */

    /* To be read with the effects. */
    hf_status status;      /* ENDED, RELEASED */
    struct hf_text *story; /* of hf_acquisition_text() */
    bool untold;           /* there was no memory for it */
    bool may_remain; /* ENDED: a ticket of it may be, or appear, in the queue
                        until the session ends; the text says so */
    uint64_t started_at_ms;
    uint32_t ahead;             /* WAITING */
    uint32_t displaced;         /* WAITING: how often a place was lost
                                   before the one that it has, or had */
    struct hf_text *holder;     /* WAITING: payload of the head; "" without
                                   the memory for it */
    struct hf_ticket_id ticket; /* GRANTED */
    uint64_t token;             /* GRANTED */
    uint64_t stamp;             /* GRANTED to a MEMBER: what let it in */
    hf_status downgrade_status; /* DOWNGRADED; .kind then says what it is */
    /* The owner's, from GRANTED until it is HELD no more: safe-until of the
     * session is about this grant.  False of parts, and of tickets of a cohort.
     * Read it with the word only, see safe_until.h. */
    _Atomic bool valid;
    /* Where the same is written, with the core's lock; NULL: nowhere.  What it
     * points to must live until it is NULL again. */
    _Atomic bool *valid_copy;

    /* The core's own; see acquisition.c. */
    unsigned state;
    bool placeless; /* its place is lost, and it has no other yet */
    struct hf_cohort *stands_for;  /* whose ticket it has, or NULL */
    struct hf_acquisition *awaits; /* a member that ends: hears of it when
                                      this ticket has ended; NULL: now */
    struct hf_acquisition *next;
    struct hf_acquisition *previous;
    union {
        struct hf_tree_node waiting;   /* a member that waits: its cohort's */
        struct hf_tree_node by_ticket; /* others: see ticket_table.h */
    };
    struct hf_acquisition *next_held; /* HELD: in the core's list of these;
                                         just lost: in that of core.c */
    struct hf_acquisition *previous_held;
    struct hf_schedule_entry entry;
    uint64_t connect_by_ms; /* as long as there never was a connection */
    uint64_t session;       /* number of the one that .ticket belongs to */
    uint64_t pumped_ms;     /* when it was last asked for what was due */
    /* ENQUEUE, LIST or DOWNGRADE, one at a time. */
    struct hf_request ask;
    struct hf_effect ask_effect;
    struct hf_enqueue_turn turn;
    uint64_t enqueue_at_ms; /* PAUSED: not before */
    struct hf_retry_state enqueue_retry;
    /* LOOKING, and QUEUED without room or as a MEMBER. */
    struct hf_lookout *lookout; /* NULL: it was never needed */
    bool room;                  /* LOOKING: it was seen */
    /* UNSURE, QUEUED: what is under way or on the way there may be out of
     * date, so list (again), not before .list_at_ms. */
    bool list_wanted;
    uint64_t list_at_ms;
    struct hf_retry_state list_retry;
    /* QUEUED: the place as of the last list, less what went since. */
    size_t blocking; /* 0: waits for a proof of the session only */
    bool before_known;
    bool beyond_known;
    struct hf_watched before;
    struct hf_watched beyond;
    bool gone_admits;
    bool stale; /* the link was down since: list before admitting */
    /* The rule lets it in, for good: those that come later stand behind it.
     * Nothing is missing but the proof. */
    bool admissible;
    bool waited;  /* this ticket was not admitted at once */
    bool revoked; /* its owner is to be asked to let go, once it is granted */
    uint64_t report_at_ms;
    /* QUEUED, HELD, by an owner that has heard a request to release. */
    struct hf_description *description;
    /* QUEUED, as a MEMBER. */
    bool stamp_wanted;
    struct hf_retry_state stamp_retry;
    /* QUEUED, HELD. */
    struct hf_watches watches;
    uint64_t watch_at_ms; /* no new watch before; HELD: nor one's own */
    struct hf_retry_state watch_retry;
    /* HELD, by a writer that is to be a reader and has not heard. */
    bool downgrading;
    bool downgrade_asked;     /* and it may have been done */
    uint64_t downgrade_at_ms; /* not asked for before */
    struct hf_retry_state downgrade_retry;
    /* RELEASING, WITHDRAWING. */
    bool told; /* RELEASED or ENDED was queued */
    uint64_t tell_at_ms;
    /* Tickets that must not stay: the last one, and those that got no
     * answer. */
    struct hf_withdrawals withdrawals;
    /* Two share one where the first was carried out, or taken back, before the
     * other can come. */
    struct hf_effect answer_effect;  /* GRANTED, then RELEASED; or ENDED */
    struct hf_effect loss_effect;    /* REVOKED, then LOST */
    struct hf_effect waiting_effect; /* WAITING, then DOWNGRADED */
    struct hf_effect forgotten_effect;
};

enum hf_acquisition_state {
    HF_ACQUISITION_IDLE,
    HF_ACQUISITION_PAUSED,
    HF_ACQUISITION_LOOKING,
    HF_ACQUISITION_ENQUEUING,
    HF_ACQUISITION_UNSURE,
    HF_ACQUISITION_QUEUED,
    HF_ACQUISITION_HELD,
    HF_ACQUISITION_LOST,
    HF_ACQUISITION_RELEASING,
    HF_ACQUISITION_WITHDRAWING,
    HF_ACQUISITION_DONE
};

/* Give back what memory ${a} has apart from itself: it was forgotten, or was
 * never wanted, or its core is no more. */
void hf_acquisition_free(struct hf_core *core, struct hf_acquisition *a);

/* ENDED, RELEASED, DOWNGRADED, if the status is not HF_OK: the story; LOST:
 * why; else "" or a failure that was tried again.  Valid until ${a} is freed or
 * the core is called again: copy it before the lock is given up. */
const char *hf_acquisition_text(const struct hf_acquisition *a);

/* Have that be ${text}. */
void hf_acquisition_set_text(struct hf_core *core, struct hf_acquisition *a,
                             const char *text);

/* Below: for core.c, within a step.  Each may finish ${a}, which then is no
 * longer in the core's list. */

/* The user's events. */
void hf_acquisition_want(struct hf_core *core, struct hf_acquisition *a);
void hf_acquisition_cancel(struct hf_core *core, struct hf_acquisition *a);
void hf_acquisition_release(struct hf_core *core, struct hf_acquisition *a);
void hf_acquisition_set_limit(struct hf_core *core, struct hf_acquisition *a,
                              uint32_t limit);
/* Of a writer who was not told LOST, and not under way. */
void hf_acquisition_downgrade(struct hf_core *core, struct hf_acquisition *a);

/* An answer to a request of ${a}'s. */
void hf_acquisition_answered(struct hf_core *core, struct hf_acquisition *a,
                             const struct hf_event *event);

/* Do what is due by now. */
void hf_acquisition_tick(struct hf_core *core, struct hf_acquisition *a);

/* Ask for whatever is wanted and can be asked now; finish if all is done. */
void hf_acquisition_pump(struct hf_core *core, struct hf_acquisition *a);

/* End the grant of ${a}, which is HELD, because of ${why}, which is copied.
 * Only tells; a pump must follow, after everyone else has been told.
 * ${ticket_lives}: the ticket may still be in the queue. */
void hf_acquisition_lose(struct hf_core *core, struct hf_acquisition *a,
                         bool ticket_lives, const char *why);

/* Does somebody rely on the grant of ${a}?  Nobody does on a part of what is
 * still waited for, nor on the ticket of a cohort that no member has now. */
bool hf_acquisition_is_relied_on(const struct hf_acquisition *a);

/* Say in ${why} why ${a}, which waits, has not been granted in ${waited_ms}, or
 * by what a try may take; that somebody else is ahead of it. */
void hf_acquisition_explain_overdue(struct hf_core *core,
                                    struct hf_acquisition *a,
                                    uint64_t waited_ms, bool only_try,
                                    struct hf_error *why);
void hf_acquisition_explain_busy(const struct hf_acquisition *a,
                                 struct hf_error *why);

/* End the wait of ${a}, if it is waiting, as ${why} tells. */
void hf_acquisition_give_up(struct hf_core *core, struct hf_acquisition *a,
                            const struct hf_error *why);

/* The session changed. */
void hf_acquisition_connected(struct hf_core *core, struct hf_acquisition *a);
void hf_acquisition_session_over(struct hf_core *core,
                                 struct hf_acquisition *a);

/* Safe-until has moved, and ${a} waits for that. */
void hf_acquisition_proven(struct hf_core *core, struct hf_acquisition *a);

/* The queue of ${a} was listed, by whomever. */
void hf_acquisition_look(struct hf_acquisition *a,
                         const struct hf_snapshot *snapshot);

/* Does its grant, or the one to come, depend on safe-until? */
bool hf_acquisition_needs_proof(const struct hf_acquisition *a);

/* Is a proof of the session all that it waits for, to be admitted or, as the
 * ticket of a cohort, to be handed to a member? */
bool hf_acquisition_waits_for_proof(const struct hf_acquisition *a);

/* Does it remember a ticket whose enqueue got no answer? */
bool hf_acquisition_has_abandoned(const struct hf_acquisition *a);

/* Has it a name in the queue that should not be there? */
bool hf_acquisition_lurks(const struct hf_acquisition *a);

/* When to repeat what is repeated until it works; of inquiries too. */
uint64_t hf_acquisition_again_at_ms(struct hf_core *core,
                                    struct hf_retry_state *state);

/* When its wait has to end, or its end to be told, whatever comes. */
uint64_t hf_acquisition_limit_at_ms(const struct hf_core *core,
                                    const struct hf_acquisition *a);

/* When a request is due, which can be asked only while CONNECTED. */
uint64_t hf_acquisition_request_at_ms(const struct hf_acquisition *a);
void hf_acquisition_check(const struct hf_core *core,
                          const struct hf_acquisition *a);

#endif
