/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A ticket that its cohort keeps when no waiter needs it (.keep_ms of struct
 * hf_mutex_opts; src/core/cohort.c and the queue watch of own_ticket*.c).
 *
 * The idea: a waiter that comes while the ticket is kept is granted without a
 * request.  A watch of the queue shows who else comes.  Whatever it shows, and
 * also if it shows nothing because it failed, the ticket then goes: at once if
 * it is kept, else when its holder releases it.
 *
 * The model has no clock, so the time for which a ticket is kept may end at any
 * instant.  Or it is long: it ends only after the other client has finished.
 * Then nothing but the watch brings the ticket to the other client.
 */
#ifndef KEEPS
#define KEEPS false /* is .keep_ms given? */
#endif
bool keeps_long;    /* its time ends only after the outsider has finished */
bool kept;          /* .kept_until_ms is not 0 */
bool kept_too_long; /* in this step its time is over */
bool contended;     /* another ticket may be in the queue */
bool was_behind;    /* the ticket waited for others */
bool watches_queue; /* of the ticket in use, of struct hf_own_ticket_held */
byte kept_watch;    /* UNWATCHED, ASKED, ANSWERED, WATCHING or FORGOTTEN */
byte kept_answer;   /* what is under way while ANSWERED */
bool kept_changed;  /* CHANGED is under way, behind the answer */

#define SHOWS_OURS 1
#define SHOWS_OTHERS 2
#define REFUSED 3 /* FAILED: the engine cannot watch this queue */

#define IS_IN_USE(a) (ticket_in_use == (a) + 1)

/* -------------------------------------------------- the watch of its queue */

inline end_kept_watch()
{
    kept_watch = UNWATCHED;
    kept_answer = NOTHING;
    kept_changed = false
}

/* contended() in own_ticket_answers.c, ticket_contended() */
inline others_may_wait()
{
    watches_queue = false;
    contended = true;
    end_kept_watch()
}

/* The ticket is not in use any more. */
inline forget_ticket()
{
    watches_queue = false;
    end_kept_watch()
}

inline pump_queue_watch(a)
{
    if
    :: IS_IN_USE(a) && acq[a].phase == HELD && watches_queue &&
       kept_watch == UNWATCHED && session[CLIENT(a)] == CONNECTED ->
        kept_watch = ASKED
    :: else
    fi
}

inline forget_queue_watch(a)
{
    if
    :: CLIENT(a) == 0 ->
        forget_ticket()
    :: else
    fi
}

/* queue_watch_failed(): a watch that is set survives the link. */
inline fail_queue_watch(a)
{
    if
    :: IS_IN_USE(a) && (kept_watch == ASKED || kept_watch == ANSWERED) ->
        others_may_wait()
    :: else
    fi
}

/* The engine: a ticket has come or gone. */
#define NOTIFY_CHANGED(queue) notify_kept_watch()
#define NOTIFY_ADDED(queue) notify_kept_watch()
inline notify_kept_watch()
{
    kept_changed = kept_changed ||
                   (alive[0] &&
                    (kept_watch == ANSWERED || kept_watch == WATCHING))
}

/* queue_listed(), queue_watch_failed() */
inline kept_watch_answered()
{
    if
    :: kept_answer == SHOWS_OURS ->
        kept_answer = NOTHING;
        kept_watch = WATCHING
#ifdef KEPT_LIST_IGNORED
    :: kept_answer == SHOWS_OTHERS ->
        kept_answer = NOTHING;
        kept_watch = WATCHING
#endif
#ifdef KEPT_BLINDLY
    :: kept_answer == REFUSED ->
        kept_answer = NOTHING;
        kept_watch = FORGOTTEN
#endif
    :: else ->
        others_may_wait()
    fi
}

/* queue_changed() */
inline kept_queue_changed()
{
#ifdef KEPT_WHILE_OTHERS_WAIT
    kept_changed = false
#else
    others_may_wait()
#endif
}

/* ------------------------------------------------------- what cohort.c does */

#ifdef KEPT_FOR_EVER
#define TIME_MAY_END (false)
#else
#define TIME_MAY_END (kept && (!keeps_long || IS_FINISHED(OUTSIDER)))
#endif
#ifdef KEPT_REVOKED_STAYS
#define IS_REVOKED (false)
#else
#define IS_REVOKED revoked
#endif

/* can_be_kept() */
#define CAN_BE_KEPT                                                            \
    (KEEPS && TICKET_IS(HELD) && !was_behind && !IS_REVOKED && !contended &&   \
     !kept_too_long)

/* note_kept() */
inline note_kept()
{
    kept_too_long = false;
    if
    :: ticket_in_use > 0 && NO_HOLDER && NOBODY_WAITS && !kept ->
        kept = true;
        watches_queue = true;
        w = ticket_in_use - 1;
        pump(w)
    :: ticket_in_use == 0 || !NO_HOLDER || !NOBODY_WAITS ->
        kept = false
    :: else
    fi
}

/* A ticket that is kept is lost when safe-until passes, and a waiter is granted
 * only while the session may admit. */
#ifdef KEPT_PAST_SAFE_UNTIL
#define IS_LOST_WITH_SAFE_UNTIL(a) (!(kept && IS_IN_USE(a)))
#define MAY_ADMIT_WAITER (MAY_ADMIT(0) || grants > 0)
#else
#define MAY_ADMIT_WAITER MAY_ADMIT(0)
#endif
/* No user believes that a ticket without a holder is held. */
#define IS_RELIED_ON(a) (CLIENT(a) != 0 || !NO_HOLDER)
