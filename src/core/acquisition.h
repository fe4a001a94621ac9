/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An acquisition: one request of the user for a lock, from its ACQUIRE until
 * all its tickets are gone.  It may use several tickets, one after the other,
 * before one is granted.
 *
 *   IDLE         not handed to the core yet
 *   WAITING      wants the grant, with a ticket or without
 *   HELD         granted
 *   LOST         the grant has ended before its release
 *   RELEASING    released; some ticket may not be gone yet
 *   GIVING_UP    the wait has ended without a grant; some ticket may not be
 *                gone yet
 *   DRAINING     RELEASED or ENDED was reported, not all tickets are gone yet
 *   DONE         none of its tickets can be in a queue or appear there
 *
 * There are three ways to the lock (hf_acquisition_ops): by tickets of its own,
 * by the children of a multi-lock, by the ticket of a cohort.  There are three
 * listeners (hf_acquisition_listener): the user, a multi-lock for its children,
 * a cohort for its tickets.
 *
 * acquisition.c has the states, the beginning and the end;
 * acquisition_ticket.c takes ticket after ticket; acquisition_deadline.c says
 * when a wait ends and why.
 *
 * An acquisition is used with the client's lock held, except .user.valid, which
 * any thread and signal handler may read.
 */
#ifndef HF_CORE_ACQUISITION_H
#define HF_CORE_ACQUISITION_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/retry.h"
#include "base/shared_text.h"
#include "base/tree.h"
#include "core/effect.h"
#include "core/engine.h"
#include "core/enqueue_order.h"
#include "core/own_ticket.h"
#include "core/schedule.h"
#include "core/ticket.h"

struct hf_multi_lock;
struct hf_cohort;
struct hf_core;
struct hf_deadlock_detection;

/* How many earlier tickets of one acquisition may be under removal while it
 * tries again.  With this many the next retry waits until one of them is GONE.
 * Among them are tickets whose enqueue got no answer, and tickets that a list
 * did not show. */
#define HF_EARLIER_TICKETS_MAX 4

/* A wait that ends without a grant is reported once the engine has answered
 * that the ticket is removed, but after this time at the latest: a deadline has
 * to end the wait although the connection is down.  The report then says that a
 * ticket may remain.  Not if .waits_for_removal: then the report waits. */
#define HF_REMOVAL_WAIT_MS 1000

struct hf_acquisition;

/* How an acquisition gets its lock: by tickets of its own
 * (acquisition_ticket.c), by those of its children (multi_lock.c), or by that
 * of its cohort (cohort.c). */
struct hf_acquisition_ops {
    bool takes_tickets; /* by tickets of its own: .tickets is in use */
    /* It has become WAITING: enter it into the schedule and a list. */
    void (*begin)(struct hf_core *core, struct hf_acquisition *a);
    /* Something has changed: do what can be done now. */
    void (*pump)(struct hf_core *core, struct hf_acquisition *a);
    /* .connected: there is a connection, new or resumed; a pump follows.
     * .session_over: the session is over; hf_acquisition_finish() follows.
     * Either may be NULL: nothing has to be done before that. */
    void (*connected)(struct hf_core *core, struct hf_acquisition *a);
    void (*session_over)(struct hf_core *core, struct hf_acquisition *a);
    /* Its wait ends, or its release begins; the state is still WAITING, HELD or
     * LOST. */
    void (*leave)(struct hf_core *core, struct hf_acquisition *a);
    /* It is WAITING: does its own deadline end the wait?  NULL: yes. */
    bool (*has_deadline)(const struct hf_acquisition *a);
    /* Must the report of its end wait for an answer of the engine? */
    bool (*must_wait)(const struct hf_acquisition *a);
    /* Can one of its tickets be in a queue, or appear there? */
    bool (*may_remain)(const struct hf_acquisition *a);
    /* The status of its release.  If it is not HF_OK, the text is set too. */
    hf_status (*release_status)(struct hf_core *core, struct hf_acquisition *a);
    /* Its end was reported: can it become DONE? */
    bool (*may_finish)(const struct hf_acquisition *a);
    /* It is DONE: take it out of the list that .begin has put it into. */
    void (*finish)(struct hf_core *core, struct hf_acquisition *a);
    /* It is WAITING.  True: this has set .ahead and .holder.  False: they are
     * what its own ticket, or that of a child, has last shown, if anything.
     * Always sets ${waits_by}: for a waiter to the ticket of its cohort, if
     * there is one; else to ${a}. */
    bool (*position)(struct hf_core *core, struct hf_acquisition *a,
                     const struct hf_acquisition **waits_by);
    /* It is WAITING: return the acquisition by whose ticket it waits behind
     * others; NULL: none.  The pointer is NULL if such acquisitions never look
     * for deadlocks; they then get no DESCRIBE. */
    const struct hf_acquisition *(*behind)(const struct hf_acquisition *a);
    /* Assert what must be true of it and of its tickets.  NULL: nothing more
     * than of any. */
    void (*check)(const struct hf_core *core, const struct hf_acquisition *a);
};

/* The reports of an acquisition, from within a step, to the user, the
 * multi-lock or the cohort that wants it.  .lost may only take note and report
 * the loss to the next listener, because LOST precedes every other effect. What
 * the other functions note is worked off when the step ends (schedule.h).
 */
struct hf_acquisition_listener {
    bool has_deadlines; /* deadlines of the listener end the wait; the times of
                           the acquisition itself do not */
    /* It waits: .ahead and .holder are set. */
    void (*waiting)(struct hf_core *core, struct hf_acquisition *a);
    /* It is HELD. */
    void (*granted)(struct hf_core *core, struct hf_acquisition *a);
    /* HELD, and somebody asks for its release. */
    void (*revoked)(struct hf_core *core, struct hf_acquisition *a);
    /* It has become LOST. */
    void (*lost)(struct hf_core *core, struct hf_acquisition *a);
    /* The wait, or the release, has ended; ${how}: ENDED or RELEASED. */
    void (*ended)(struct hf_core *core, struct hf_acquisition *a,
                  enum hf_effect_kind how);
    /* It is DONE. */
    void (*done)(struct hf_core *core, struct hf_acquisition *a);
    /* HELD: does somebody rely on the grant? */
    bool (*is_relied_on)(const struct hf_acquisition *a);
    /* The rest may be NULL. */
    /* HELD: does it wait for safe-until to move?  And: it has moved. */
    bool (*awaits_proof)(const struct hf_acquisition *a);
    void (*proven)(struct hf_core *core, struct hf_acquisition *a);
    /* HELD: when .changed is to be called (CLOCK_BOOTTIME); HF_FOREVER: not
     * because of the time. */
    uint64_t (*held_until_ms)(const struct hf_acquisition *a);
    /* HELD: another ticket is in the queue, see struct hf_ticket_listener. */
    void (*contended)(struct hf_core *core, struct hf_acquisition *a);
    /* It has become GIVING_UP. */
    void (*gave_up)(struct hf_core *core, struct hf_acquisition *a);
    /* An answer came, or something else has changed. */
    void (*changed)(struct hf_core *core, struct hf_acquisition *a);
    /* .displaced: it has lost its position in the queue.  .queued: it has a
     * position, its first one or another one. */
    void (*displaced)(struct hf_acquisition *a);
    void (*queued)(struct hf_acquisition *a);
    /* The entry mutex in front of ${lease}, which is of the kind LEASE; NULL:
     * it has none. */
    const struct hf_acquisition *(*entry_mutex)(
        const struct hf_acquisition *lease);
};

/* The tickets of an acquisition, if it takes tickets of its own. */
struct hf_acquisition_tickets {
    struct hf_own_ticket *current; /* the one in force; NULL: none */
    struct hf_own_ticket *earlier; /* those before it until they can be freed,
                                      the oldest first, linked by .next */
    uint64_t enqueue_at_ms; /* CLOCK_BOOTTIME; no further enqueue before */
    struct hf_retry_state enqueue_retry;
    uint64_t pumped_ms; /* CLOCK_BOOTTIME; of the last pump */
    bool downgrading;   /* HELD: a writer that is to become a reader */
    struct hf_shared_text *removal_denied; /* why the engine refuses to remove a
                                              ticket of it; NULL: it does not */
    struct hf_enqueue_turn turn;
};

/* The part of a waiter of a cohort, see cohort.h. */
struct hf_acquisition_waiter {
    struct hf_cohort *cohort;    /* set before ACQUIRE, with .ops */
    struct hf_tree_node waiting; /* WAITING: in the tree of the cohort */
    /* RELEASING, GIVING_UP: the end is reported when this ticket has ended; for
     * GIVING_UP after HF_REMOVAL_WAIT_MS, or when the client closes, at the
     * latest.  NULL: at the end of the step. */
    struct hf_acquisition *awaited_ticket;
};

/* The part of an acquisition whose listener is the user. */
struct hf_acquisition_user {
    /* Set before ACQUIRE, only if it takes tickets of its own: ENDED and
     * RELEASED come when none of its tickets can be in the queue, or with
     * HF_EDENIED if the engine refuses to remove one. */
    bool waits_for_removal;
    /* True exactly while it is HELD: safe-until of the session is about this
     * grant.  Written by the core; readers use hf_safe_until_read(). */
    _Atomic bool valid;
    /* Where the core writes the same, with the client's lock held; NULL:
     * nowhere.  Must point to valid memory until it is NULL again. */
    _Atomic bool *valid_copy;
    hf_status downgrade_status; /* DOWNGRADED: how it ended; .kind then says
                                   whether it is a reader */
    /* Two effects share one struct if the first is carried out, or taken back,
     * before the second can come. */
    struct hf_effect answer;  /* GRANTED, then RELEASED; or ENDED */
    struct hf_effect loss;    /* REVOKED, then LOST */
    struct hf_effect waiting; /* WAITING, then DOWNGRADED */
    struct hf_effect done;    /* ACQUISITION_DONE */
};

/* Zeroed by its user, who then sets the first fields, before ACQUIRE;
 * hf_acquisition_free() at the end. */
struct hf_acquisition {
    /* Set before ACQUIRE.  The texts must live until ACQUISITION_DONE.  When
     * the client carries out an ENQUEUE it may set .payload to another text. */
    const char *queue;
    const char *payload;
    enum hf_ticket_kind kind;
    uint32_t weight;  /* LEASE: the permits that it wants */
    uint32_t limit;   /* LEASE: the permits of the semaphore; PARTICIPANT: the
                         number of participants that are waited for */
    bool entry_mutex; /* the entry mutex of a semaphore: released once the lease
                         is granted */
    bool only_try;    /* end with HF_EBUSY instead of waiting for others; then
                         .deadline_at_ms is not used */
    uint64_t not_before_ms;   /* CLOCK_BOOTTIME; enqueue no earlier; 0: now */
    uint64_t deadline_at_ms;  /* CLOCK_BOOTTIME; HF_FOREVER: none */
    uint64_t report_every_ms; /* emit WAITING at least this often while queued;
                                 0: only when the queue was listed anyway */
    /* What looks for deadlocks while this one waits; NULL: nothing does.  The
     * user allocates it with hf_alloc(); hf_acquisition_free() frees it. */
    struct hf_deadlock_detection *detection;
    /* How it gets its lock, and the data of that.  NULL before ACQUIRE: by
     * tickets of its own.  A multi-lock and a waiter have .ops and their data
     * set before ACQUIRE. */
    const struct hf_acquisition_ops *ops;
    union {
        struct hf_acquisition_tickets tickets;
        struct hf_multi_lock *multi_lock;
        struct hf_acquisition_waiter waiter;
    };
    /* The listener of this acquisition and its data; set by the core. */
    const struct hf_acquisition_listener *listener;
    union {
        struct hf_acquisition_user user;
        struct hf_acquisition *parent; /* it is a child of a multi-lock */
        struct hf_cohort *cohort;      /* it is a ticket of this cohort */
    };

    /* To be read when the named effect is carried out. */
    hf_status status;               /* ENDED, RELEASED */
    struct hf_shared_text *message; /* by hf_acquisition_text(); NULL with a
                                       status other than HF_OK: there was no
                                       memory for it */
    bool may_remain; /* ENDED: a ticket of it may be in the queue, or appear
                        there, until the session ends; the text says so */
    uint64_t started_at_ms; /* CLOCK_BOOTTIME */
    uint32_t ahead;         /* WAITING: tickets ahead; PARTICIPANT: participants
                               that are there, itself included */
    uint32_t displaced;     /* WAITING: how often it has lost its position
                               before it got the present one */
    struct hf_shared_text *holder; /* WAITING: payload of the first ticket;
                                      NULL: "", or no memory for it */
    struct hf_ticket_id ticket_id; /* GRANTED */
    uint64_t token;                /* GRANTED: the fencing token */
    uint64_t generation;           /* GRANTED to a PARTICIPANT: the generation
                                      that admits it */

    /* For the core only. */
    unsigned state; /* enum hf_acquisition_state, by hf_acquisition_move() */
    bool position_lost; /* WAITING: it has lost its position and has no new one
                           yet; the loss is counted when it has one */
    uint64_t connect_by_ms; /* CLOCK_BOOTTIME; a second deadline, until there
                               was a first connection */
    uint64_t session;       /* HELD: the number of the session */
    uint64_t notify_at_ms;  /* GIVING_UP: ENDED is reported then at the latest,
                               unless it waits for removal */
    struct hf_schedule_entry entry;
    struct hf_acquisition *next; /* in the list of .begin */
    struct hf_acquisition *previous;
    struct hf_acquisition *next_held; /* HELD: in the core's list of these;
                                         just lost: in the list of lose() */
    struct hf_acquisition *previous_held;
};

/* Its current ticket; NULL: it has none now, or takes no tickets of its own. */
static inline struct hf_own_ticket *
hf_acquisition_ticket(const struct hf_acquisition *a)
{
    return a->ops != NULL && a->ops->takes_tickets ? a->tickets.current : NULL;
}

/* ${ticket} runs through the earlier tickets of ${a}, which takes tickets, the
 * oldest first. */
#define FOR_EACH_EARLIER(a, ticket)                                            \
    for (struct hf_own_ticket *ticket = (a)->tickets.earlier; ticket != NULL;  \
         ticket = (ticket)->next)

enum hf_acquisition_state {
    HF_ACQUISITION_IDLE,
    HF_ACQUISITION_WAITING,
    HF_ACQUISITION_HELD,
    HF_ACQUISITION_LOST,
    HF_ACQUISITION_RELEASING,
    HF_ACQUISITION_GIVING_UP,
    HF_ACQUISITION_DRAINING,
    HF_ACQUISITION_DONE
};

/* Free the memory that ${a} refers to, but not ${a}: it is DONE, or was never
 * handed to the core, or its core is no longer used. */
void hf_acquisition_free(struct hf_core *core, struct hf_acquisition *a);

/* With ENDED, RELEASED or DOWNGRADED and a status other than HF_OK: the
 * message. With LOST: why.  Else "" or a failure that was retried.  Valid until
 * ${a} is freed or the core is called again: copy it before the client's lock
 * is released. */
const char *hf_acquisition_text(const struct hf_acquisition *a);

/* Set that text to a copy of ${text}. */
void hf_acquisition_set_text(struct hf_core *core, struct hf_acquisition *a,
                             const char *text);

/* Set ${why} to the reason why ${a}, which waits, was not granted: within
 * ${waited_ms}, or with ${only_try} within the time that a try may take. */
void hf_acquisition_explain_timeout(struct hf_core *core,
                                    struct hf_acquisition *a,
                                    uint64_t waited_ms, bool only_try,
                                    struct hf_error *why);

/* Set ${why} to HF_EBUSY: another ticket is ahead of that of ${a}, or too few
 * participants are there. */
void hf_acquisition_explain_busy(const struct hf_acquisition *a,
                                 struct hf_error *why);

/* Is its ticket in the queue and not admitted yet? */
static inline bool hf_acquisition_is_queued(const struct hf_acquisition *a)
{
    const struct hf_own_ticket *ticket = hf_acquisition_ticket(a);

    return ticket != NULL && ticket->state == HF_OWN_TICKET_QUEUED;
}

/* And was it seen behind tickets that block it? */
static inline bool hf_acquisition_is_behind(const struct hf_acquisition *a)
{
    return hf_acquisition_is_queued(a) &&
           a->tickets.current->in.queued.blocking > 0;
}

/* Has its wait ended without a grant, or is its release over? */
static inline bool hf_acquisition_has_ended(const struct hf_acquisition *a)
{
    return a->state == HF_ACQUISITION_GIVING_UP ||
           a->state == HF_ACQUISITION_DRAINING ||
           a->state == HF_ACQUISITION_DONE;
}

/* Is ${a} HELD and does somebody rely on that?  Nobody relies on a child whose
 * parent still waits, nor on the ticket of a cohort between two holders. */
bool hf_acquisition_is_relied_on(const struct hf_acquisition *a);

/* The following functions are called within a step.  Each may make ${a} DONE,
 * which takes it out of the core's list. */

/* -------------------------------------------------------- from the user -- */

/* The listener of an acquisition of the user, whose reports are effects:
 * effect.c. */
extern const struct hf_acquisition_listener hf_acquisition_user_listener;
extern const struct hf_acquisition_ops hf_acquisition_ticket_ops;

/* Is its listener the user? */
static inline bool hf_acquisition_is_of_user(const struct hf_acquisition *a)
{
    return a->listener == &hf_acquisition_user_listener;
}

/* Is its end reported only when none of its tickets can be in the queue? */
static inline bool
hf_acquisition_waits_for_removal(const struct hf_acquisition *a)
{
    return hf_acquisition_is_of_user(a) && a->user.waits_for_removal;
}

/* ACQUIRE: IDLE becomes WAITING.  .ops and .listener are set. */
void hf_acquisition_start(struct hf_core *core, struct hf_acquisition *a);

/* CANCEL: end the wait with HF_ECANCELLED; nothing if it does not wait. */
void hf_acquisition_cancel(struct hf_core *core, struct hf_acquisition *a);

/* RELEASE: HELD or LOST becomes RELEASING. */
void hf_acquisition_release(struct hf_core *core, struct hf_acquisition *a);

/* SET_LIMIT: the semaphore has ${limit} permits.  A lease that is held stays;
 * one that waits lists the queue again. */
void hf_acquisition_set_limit(struct hf_core *core, struct hf_acquisition *a,
                              uint32_t limit);

/* DOWNGRADE: make the grant of a writer that of a reader.  No other downgrade
 * is under way, and the user was not notified of a loss. */
void hf_acquisition_downgrade(struct hf_core *core, struct hf_acquisition *a);

/* DESCRIBE: write the text of the ticket by which ${a} waits behind others
 * again, if there is one. */
void hf_acquisition_describe(struct hf_core *core, struct hf_acquisition *a);

/* --------------------------------- from the clock, and from the session -- */

/* Request everything that is wanted and can be requested now; finish if nothing
 * is left to do. */
void hf_acquisition_pump(struct hf_core *core, struct hf_acquisition *a);

/* There is a connection, new or resumed. */
void hf_acquisition_connected(struct hf_core *core, struct hf_acquisition *a);

/* The session is over; ${a} is not HELD any more. */
void hf_acquisition_session_over(struct hf_core *core,
                                 struct hf_acquisition *a);

/* ----------------------------------------- from other files of the core -- */

/* End the grant of ${a}, which is HELD, because of ${why}, which is copied.
 * ${ticket_lives}: the ticket may still be in the queue.  Changes the state and
 * reports the loss, but requests nothing: a pump must follow, after all losses
 * of the event were reported. */
void hf_acquisition_lose(struct hf_core *core, struct hf_acquisition *a,
                         bool ticket_lives, const char *why);

/* End the wait of ${a} with ${why}, if it waits. */
void hf_acquisition_give_up(struct hf_core *core, struct hf_acquisition *a,
                            const struct hf_error *why);

/* End its wait, which is a try, with HF_EBUSY as
 * hf_acquisition_explain_busy() explains it. */
void hf_acquisition_end_busy(struct hf_core *core, struct hf_acquisition *a);

/* Set .status and the text to those of ${why}. */
void hf_acquisition_set_error(struct hf_core *core, struct hf_acquisition *a,
                              const struct hf_error *why);

/* Set .holder to a copy of ${payload}. */
void hf_acquisition_set_holder(struct hf_core *core, struct hf_acquisition *a,
                               const char *payload);

/* Grant it: WAITING becomes HELD.  ${revoked}: somebody has asked for its
 * release already. */
void hf_acquisition_grant(struct hf_core *core, struct hf_acquisition *a,
                          bool revoked);

/* It has lost its position; the next one will be at the tail. */
void hf_acquisition_lose_position(struct hf_acquisition *a);

/* It has a position again.  The loss of the old one is counted now and not
 * earlier, because the listener knows the old position until now. */
void hf_acquisition_count_displaced(struct hf_acquisition *a);

/* Put it at the end of the core's list; take it out of that list. */
void hf_acquisition_link(struct hf_core *core, struct hf_acquisition *a);
void hf_acquisition_unlink(struct hf_core *core, struct hf_acquisition *a);

/* The acquisition that ${turn} is part of. */
struct hf_acquisition *
hf_acquisition_of_turn(const struct hf_enqueue_turn *turn);

/* Is the ENQUEUE of its ticket under way? */
hf_enqueue_turn_is_asking hf_acquisition_is_asking;

/* Its entry in the schedule: its deadline, its requests and its proofs. */
extern const struct hf_schedule_ops hf_acquisition_schedule_ops;

/* Change the state, as the table in acquisition.c allows; keep the flag of the
 * grant and the list of what is HELD in step. */
void hf_acquisition_move(struct hf_core *core, struct hf_acquisition *a,
                         enum hf_acquisition_state state);

/* To be called after each change that may end a RELEASING, GIVING_UP or
 * DRAINING one: report the end if it is time, and make it DONE if nothing is
 * left. */
void hf_acquisition_finish(struct hf_core *core, struct hf_acquisition *a);

/* Is it IDLE, or is it DONE and has the engine nothing of its tickets? */
bool hf_acquisition_can_be_freed(const struct hf_acquisition *a);

/* Is a removal of one of its tickets, or the enqueue before that, still to be
 * answered? */
bool hf_acquisition_awaits_removal(const struct hf_acquisition *a);

/* Assert the invariants of the acquisition. */
void hf_acquisition_check(const struct hf_core *core,
                          const struct hf_acquisition *a);

#endif
