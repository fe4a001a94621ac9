/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An acquisition and its current ticket: the handlers of the core and its
 * pump (src/core/acquisition*.c, own_ticket*.c).
 *
 * The idea is that of the code: a handler only notes what is wanted, and
 * pump() requests it as soon as it can be requested.  One step of the model
 * is one hf_core_step(): an event, its handler, the pump.
 */

/* ------------------------------------------------------------- the grant -- */

/* A writer that has requested a downgrade writes no more. */
#define SHARES(a) (!acq[a].writes || acq[a].downgrading)
#define CONFLICT(b, a) (!(SHARES(b) && SHARES(a)))

/* The core reports GRANTED.  Check the invariants of a grant by the order that
 * the engine keeps, and by the safe-until of the other holders. */
inline check_grant(a)
{
    x = 0;
    for (v : 0 .. ACQUISITIONS - 1) {
        if
        :: v != a && QUEUE(v) == QUEUE(a) && acq[v].phase == HELD &&
           CONFLICT(v, a) ->
            if
            :: safe_until[CLIENT(v)] ->
                x++
            :: !safe_until[CLIENT(v)] && session[CLIENT(v)] != CRASHED &&
               IS_RELIED_ON(v) ->
                BREAKS(broken_loss) /* its user believes that it holds */
            :: else
            fi
        :: else
        fi
    }
    if /* too many holders have safe-until left, or it is not queued */
    :: x >= PERMITS(a) || position[acq[a].ticket] == 0 ->
        BREAKS(broken_exclusion)
    :: else
    fi;
    if
    :: acq[a].token != acq[a].ticket + 1 ->
        BREAKS(broken_token)
    :: else
    fi;
    /* No conflicting ticket is ahead.  So tokens, which are positions here,
     * rise between conflicting grants. */
    x = 0;
    for (v : 0 .. TICKETS - 1) {
        if
        :: SAME_QUEUE(v, acq[a].ticket) && position[v] > 0 &&
           position[v] < position[acq[a].ticket] &&
           !(reads[v] && reads[acq[a].ticket]) ->
            x++
        :: else
        fi
    }
    if
    :: x >= PERMITS(a) ->
        BREAKS(broken_order)
    :: else
    fi;
    x = 0
}

inline forget_position(a)
{
    acq[a].blocking = 0;
    acq[a].nearest = 0;
    acq[a].second = 0;
    acq[a].gone_admits = false;
    acq[a].watch_nearest = UNWATCHED;
    acq[a].watch_second = UNWATCHED;
    acq[a].admissible = false;
    acq[a].stale = false;
    acq[a].list_wanted = false
}

/* hf_own_ticket_admit() */
inline admit(a)
{
    acq[a].blocking = 0;
    if
    :: MAY_ADMIT(CLIENT(a)) ->
        forget_position(a);
        acq[a].phase = HELD;
        check_grant(a)
    :: else -> /* proven() admits it, or lists again */
        acq[a].admissible = !NEEDS_ROOM(a)
    fi
}

/* hf_acquisition_lose() */
inline lose(a, ticket_lives)
{
    acq[a].phase = LOST;
    if
    :: ticket_lives ->
        BEGIN_REMOVAL(acq[a].ticket)
    :: else
    fi
}

/* ---------------------------------------------------------- the position -- */

/* A watch belongs to a ticket.  If the new list shows a ticket that is watched
 * already, its watch stays.  The end of any other watch has no meaning any
 * more (hf_ticket_watches_update()). */
inline set_position(a)
{
    v = (acq[a].seen_nearest == 0 -> UNWATCHED :
         (acq[a].seen_nearest == acq[a].nearest -> acq[a].watch_nearest :
          (acq[a].seen_nearest == acq[a].second -> acq[a].watch_second :
           UNWATCHED)));
    w = (acq[a].seen_second == 0 -> UNWATCHED :
         (acq[a].seen_second == acq[a].second -> acq[a].watch_second :
          (acq[a].seen_second == acq[a].nearest -> acq[a].watch_nearest :
           UNWATCHED)));
    acq[a].blocking = acq[a].seen_blocking;
    acq[a].nearest = acq[a].seen_nearest;
    acq[a].second = acq[a].seen_second;
    acq[a].gone_admits = acq[a].seen_gone_admits;
    acq[a].watch_nearest = v;
    acq[a].watch_second = w;
    acq[a].admissible = false;
    acq[a].stale = false; /* answers come only while CONNECTED */
    w = 0
}

/* hf_own_ticket_decide() */
inline decide(a)
{
    if
    :: acq[a].seen ->
        set_position(a);
        if
        :: acq[a].blocking == 0 ->
            admit(a)
        :: else
        fi
    :: else -> /* hf_own_ticket_remove_unlisted(), evicted() */
        BEGIN_REMOVAL(acq[a].ticket);
        forget_position(a);
        acq[a].phase = PAUSED
    fi
}

/* hf_own_ticket_joined() */
inline joined(a)
{
    acq[a].phase = QUEUED;
#ifdef TOKEN_KEPT
    acq[a].token = (acq[a].token == 0 -> acq[a].ticket + 1 : acq[a].token);
#else
    acq[a].token = acq[a].ticket + 1;
#endif
    decide(a)
}

/* hf_own_ticket_ahead_gone() */
inline ahead_gone(a)
{
    assert(acq[a].blocking > 0);
    acq[a].blocking--;
#ifdef GONE_SKIPS_ONE
    acq[a].blocking = (acq[a].blocking == 1 -> 0 : acq[a].blocking);
#endif
    if
#ifdef ADMIT_ON_ANY_GONE
    :: true ->
#else
    :: acq[a].blocking == 0 && !acq[a].stale && acq[a].gone_admits ->
#endif
        admit(a)
    :: else
    fi;
#ifndef NO_LIST_AFTER_GONE
    acq[a].list_wanted = acq[a].phase == QUEUED
#endif
}

#ifdef GONE_FORGOTTEN
#define FORGETS_GONE(a) (acq[a].ask != NOTHING)
#else
#define FORGETS_GONE(a) (false)
#endif

/* gone() in own_ticket_answers.c, for the first and the second of .ahead */
inline nearest_gone(a)
{
    if
    :: FORGETS_GONE(a) ->
        acq[a].watch_nearest = FORGOTTEN
    :: else ->
        acq[a].nearest = 0;
        acq[a].watch_nearest = UNWATCHED;
        ahead_gone(a)
    fi
}

inline second_gone(a)
{
    if
    :: FORGETS_GONE(a) ->
        acq[a].watch_second = FORGOTTEN
    :: else ->
        acq[a].second = 0;
        acq[a].watch_second = UNWATCHED;
        ahead_gone(a)
    fi
}

/* ----------------------------------------------------------- the answers -- */

inline forget_answer(a)
{
    acq[a].ask = NOTHING;
    acq[a].seen = false;
    acq[a].seen_blocking = 0;
    acq[a].seen_nearest = 0;
    acq[a].seen_second = 0;
    acq[a].seen_gone_admits = false
}

/* enqueued() */
inline enqueued(a)
{
    if
    :: acq[a].phase == ENQUEUING ->
        joined(a)
    :: else -> /* the wait was given up meanwhile */
#ifndef CANCEL_KEEPS_TICKET
        BEGIN_REMOVAL(acq[a].ticket)
#else
        skip
#endif
    fi;
    forget_answer(a)
}

/* enqueue_failed(): it may have taken effect, so the state is UNSURE */
inline enqueue_unsure(a)
{
    if
    :: acq[a].phase == ENQUEUING ->
#ifdef SEARCH_SKIPPED
        acq[a].phase = PAUSED
#else
        acq[a].phase = UNSURE;
        acq[a].list_wanted = true
#endif
    :: else ->
#ifndef UNANSWERED_FORGOTTEN
        /* hf_own_ticket_remove_unanswered(), at once */
        BEGIN_REMOVAL(acq[a].ticket)
#else
        skip
#endif
    fi
}

/* listed(), search_done(), confirm() */
inline listed(a)
{
    if
    :: acq[a].list_wanted -> /* out of date already */
        skip
    :: !acq[a].list_wanted && acq[a].phase == UNSURE && acq[a].seen ->
        joined(a)
    :: !acq[a].list_wanted && acq[a].phase == UNSURE && !acq[a].seen ->
#ifndef UNANSWERED_FORGOTTEN
        /* hf_own_ticket_remove_unanswered(), later */
        removal[acq[a].ticket] = WAITING;
#endif
        acq[a].phase = PAUSED
    :: !acq[a].list_wanted && acq[a].phase == QUEUED ->
        decide(a)
    :: !acq[a].list_wanted && acq[a].phase == HELD && !acq[a].seen ->
        lose(a, true)
    :: else
    fi;
    forget_answer(a)
}

/* list_failed() */
inline list_failed(a)
{
    acq[a].list_wanted = acq[a].list_wanted || acq[a].phase == UNSURE ||
                         acq[a].phase == QUEUED
}

/* downgraded() */
inline downgraded(a)
{
    acq[a].ask = NOTHING;
    if
    :: acq[a].phase == HELD ->
        acq[a].writes = false;
        acq[a].downgrading = false
    :: else
    fi
}

/* hf_own_ticket_proven() */
inline proven(a)
{
#ifdef PROOF_NOT_NOTIFIED
    skip
#else
    if
    :: acq[a].phase == QUEUED && acq[a].admissible && !acq[a].stale ->
        admit(a)
    :: else ->
        acq[a].list_wanted = acq[a].list_wanted ||
                             (acq[a].phase == QUEUED &&
                              acq[a].blocking == 0 && !acq[a].stale &&
                              acq[a].ask == NOTHING)
    fi
#endif
}

/* --------------------------------------------------------------- the end -- */

/* hf_acquisition_give_up() */
inline give_up(a)
{
    if
    :: acq[a].phase == UNSURE ->
#ifndef UNANSWERED_FORGOTTEN
        BEGIN_REMOVAL(acq[a].ticket)
#else
        skip
#endif
    :: acq[a].phase == QUEUED ->
#ifndef CANCEL_KEEPS_TICKET
        BEGIN_REMOVAL(acq[a].ticket)
#else
        skip
#endif
    :: else
    fi;
    forget_position(a);
    acq[a].phase = GIVING_UP
}

/* hf_acquisition_release() */
inline release(a)
{
    if
    :: acq[a].phase == HELD ->
        BEGIN_REMOVAL(acq[a].ticket)
    :: else
    fi;
    acq[a].downgrading = false;
    acq[a].phase = RELEASING
}

/* hf_acquisition_finish(): DONE when none of its tickets is in the queue or
 * can still appear there, except those that end with a session that is over.
 */
inline finish(a)
{
    if
    :: (acq[a].phase == RELEASING || acq[a].phase == GIVING_UP) &&
       acq[a].ask == NOTHING && !REMOVING_ANY(a) ->
        if
        :: acq[a].phase == GIVING_UP && !acq[a].cancelled ->
            BREAKS(broken_wait)
        :: else
        fi;
        for (u : a * ATTEMPTS .. a * ATTEMPTS + ATTEMPTS - 1) {
            if
            :: (position[u] > 0 || late[u]) && !orphan[u] ->
                BREAKS(broken_leak)
            :: else
            fi
        }
        acq[a].token = 0;
        acq[a].ticket = 0;
        acq[a].writes = false;
        acq[a].cancelled = false;
        if
        :: acq[a].repeats > 0 ->
            acq[a].repeats--;
            acq[a].phase = IDLE
        :: else ->
            acq[a].phase = DONE
        fi
    :: else
    fi
}

/* -------------------------------------------------------------- the pump -- */

/* hf_own_ticket_enqueue(): each attempt has an id of its own. */
inline enqueue(a)
{
    assert(acq[a].attempts < ATTEMPTS);
    acq[a].ticket = a * ATTEMPTS + acq[a].attempts;
    acq[a].attempts++;
    acq[a].writes = WRITES(a);
    acq[a].phase = ENQUEUING;
    acq[a].ask = ENQUEUE_SENT
}

#ifdef WATCH_OWN_ONLY
#define WATCHES_OWN_ONLY (true)
#else
#define WATCHES_OWN_ONLY (false)
#endif

/* hf_acquisition_pump(), hf_own_ticket_pump() */
inline pump(a)
{
    if
    :: session[CLIENT(a)] == CONNECTED ->
        if
        :: acq[a].phase == PAUSED && NEEDS_ROOM(a) ->
            acq[a].phase = AWAITING_ROOM
        :: else
        fi;
        if
        :: ((acq[a].phase == PAUSED) ||
            (acq[a].phase == AWAITING_ROOM && ROOM_SEEN(a))) &&
           acq[a].ask == NOTHING ->
            enqueue(a)
        :: (acq[a].phase == QUEUED || acq[a].phase == UNSURE) &&
           acq[a].list_wanted && acq[a].ask == NOTHING ->
            acq[a].list_wanted = false;
            acq[a].ask = LIST_SENT
        :: acq[a].phase == HELD && acq[a].downgrading &&
           acq[a].ask == NOTHING ->
            acq[a].ask = DOWNGRADE_SENT
        :: else
        fi;
        if
        :: acq[a].phase == QUEUED && acq[a].nearest != 0 &&
           acq[a].watch_nearest == UNWATCHED && !WATCHES_OWN_ONLY ->
            acq[a].watch_nearest = ASKED
        :: else
        fi;
        if
        :: acq[a].phase == QUEUED && acq[a].second != 0 &&
           acq[a].watch_second == UNWATCHED ->
            acq[a].watch_second = ASKED
        :: else
        fi
    :: else
    fi;
    if /* the user was notified, and releases it */
    :: acq[a].phase == LOST && USER_RELEASES(a) ->
        release(a)
    :: else
    fi;
    pump_queue_watch(a);
    pump_removals(a);
    finish(a)
}
