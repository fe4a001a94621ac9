/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An acquisition and its ticket in force: what the core does with one event
 * (src/core/acquisition*.c, own_ticket*.c).  As there, handlers note what is
 * wanted and pump() asks for it when it can be asked.  One step is one
 * hf_core_step().
 */

/* ------------------------------------------------------------- the grant -- */

/* Whoever has asked to be a reader writes no more. */
#define SHARES(a) (!acq[a].writes || acq[a].downgrading)
#define CONFLICT(b, a) (!(SHARES(b) && SHARES(a)))

/* Who is told GRANTED: the invariants of a grant, by the engine's own order and
 * by what others were promised. */
inline check_grant(a)
{
    x = 0;
    for (v : 0 .. ACQUISITIONS - 1) {
        if
        :: v != a && QUEUE(v) == QUEUE(a) && acq[v].phase == HELD &&
           CONFLICT(v, a) ->
            if
            :: promise[CLIENT(v)] ->
                x++
            :: !promise[CLIENT(v)] && session[CLIENT(v)] != CRASHED ->
                BREAKS(broken_loss) /* he believes that he holds it */
            :: else
            fi
        :: else
        fi
    }
    if /* nobody else has it, and its own ticket keeps others from it */
    :: x >= ROOM(a) || place[acq[a].ticket] == 0 ->
        BREAKS(broken_exclusion)
    :: else
    fi;
    if
    :: acq[a].token != acq[a].ticket + 1 ->
        BREAKS(broken_token)
    :: else
    fi;
    /* Nobody who conflicts is ahead, now or ever: so tokens, which are places,
     * rise between grants that conflict. */
    x = 0;
    for (v : 0 .. TICKETS - 1) {
        if
        :: SAME_QUEUE(v, acq[a].ticket) && place[v] > 0 &&
           place[v] < place[acq[a].ticket] &&
           !(reads[v] && reads[acq[a].ticket]) ->
            x++
        :: else
        fi
    }
    if
    :: x >= ROOM(a) ->
        BREAKS(broken_order)
    :: else
    fi;
    x = 0
}

inline forget_place(a)
{
    acq[a].blocking = 0;
    acq[a].before = 0;
    acq[a].beyond = 0;
    acq[a].gone_admits = false;
    acq[a].watch_before = UNWATCHED;
    acq[a].watch_beyond = UNWATCHED;
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
        forget_place(a);
        acq[a].phase = HELD;
        check_grant(a)
    :: else -> /* proven() admits it, or lists again */
        acq[a].admissible = !MUST_LOOK(a)
    fi
}

/* hf_acquisition_lose() */
inline lose(a, ticket_lives)
{
    acq[a].phase = LOST;
    if
    :: ticket_lives ->
        WITHDRAW(acq[a].ticket)
    :: else
    fi
}

/* ------------------------------------------------------------- the place -- */

/* Watches are of tickets: one that stays in sight keeps its watch, and the end
 * of one that does not means nothing any more (hf_ticket_watches_update()). */
inline take_place(a)
{
    v = (acq[a].seen_before == 0 -> UNWATCHED :
         (acq[a].seen_before == acq[a].before -> acq[a].watch_before :
          (acq[a].seen_before == acq[a].beyond -> acq[a].watch_beyond :
           UNWATCHED)));
    w = (acq[a].seen_beyond == 0 -> UNWATCHED :
         (acq[a].seen_beyond == acq[a].beyond -> acq[a].watch_beyond :
          (acq[a].seen_beyond == acq[a].before -> acq[a].watch_before :
           UNWATCHED)));
    acq[a].blocking = acq[a].seen_blocking;
    acq[a].before = acq[a].seen_before;
    acq[a].beyond = acq[a].seen_beyond;
    acq[a].gone_admits = acq[a].seen_gone_admits;
    acq[a].watch_before = v;
    acq[a].watch_beyond = w;
    acq[a].admissible = false;
    acq[a].stale = false; /* answers come only while UP */
    w = 0
}

/* hf_own_ticket_decide() */
inline decide(a)
{
    if
    :: acq[a].seen ->
        take_place(a);
        if
        :: acq[a].blocking == 0 ->
            admit(a)
        :: else
        fi
    :: else -> /* hf_own_ticket_remove_unlisted(), evicted() */
        WITHDRAW(acq[a].ticket);
        forget_place(a);
        acq[a].phase = PAUSED
    fi
}

/* hf_own_ticket_joined() */
inline placed(a)
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
inline one_less(a)
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

/* gone() in own_ticket_requests.c, of .before and of .beyond */
inline gone_before(a)
{
    if
    :: FORGETS_GONE(a) ->
        acq[a].watch_before = DEAF
    :: else ->
        acq[a].before = 0;
        acq[a].watch_before = UNWATCHED;
        one_less(a)
    fi
}

inline gone_beyond(a)
{
    if
    :: FORGETS_GONE(a) ->
        acq[a].watch_beyond = DEAF
    :: else ->
        acq[a].beyond = 0;
        acq[a].watch_beyond = UNWATCHED;
        one_less(a)
    fi
}

/* ----------------------------------------------------------- the answers -- */

inline forget_answer(a)
{
    acq[a].ask = NOTHING;
    acq[a].seen = false;
    acq[a].seen_blocking = 0;
    acq[a].seen_before = 0;
    acq[a].seen_beyond = 0;
    acq[a].seen_gone_admits = false
}

/* enqueued() */
inline enqueued(a)
{
    if
    :: acq[a].phase == ENQUEUING ->
        placed(a)
    :: else -> /* given up meanwhile */
#ifndef CANCEL_KEEPS_TICKET
        WITHDRAW(acq[a].ticket)
#else
        skip
#endif
    fi;
    forget_answer(a)
}

/* enqueue_failed(), UNSURE */
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
        WITHDRAW(acq[a].ticket) /* hf_own_ticket_remove_unanswered(), now */
#else
        skip
#endif
    fi
}

/* listed(), searched() */
inline listed(a)
{
    if
    :: acq[a].list_wanted -> /* out of date already */
        skip
    :: !acq[a].list_wanted && acq[a].phase == UNSURE && acq[a].seen ->
        placed(a)
    :: !acq[a].list_wanted && acq[a].phase == UNSURE && !acq[a].seen ->
#ifndef UNANSWERED_FORGOTTEN
        removal[acq[a].ticket] = WAITING; /* hf_own_ticket_remove_unanswered() */
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

/* ----------------------------------------------------------------- ends -- */

/* hf_acquisition_give_up() */
inline give_up(a)
{
    if
    :: acq[a].phase == UNSURE ->
#ifndef UNANSWERED_FORGOTTEN
        WITHDRAW(acq[a].ticket)
#else
        skip
#endif
    :: acq[a].phase == QUEUED ->
#ifndef CANCEL_KEEPS_TICKET
        WITHDRAW(acq[a].ticket)
#else
        skip
#endif
    :: else
    fi;
    forget_place(a);
    acq[a].phase = WITHDRAWING
}

/* hf_acquisition_release() */
inline release(a)
{
    if
    :: acq[a].phase == HELD ->
        WITHDRAW(acq[a].ticket)
    :: else
    fi;
    acq[a].downgrading = false;
    acq[a].phase = RELEASING
}

/* hf_acquisition_finish(): DONE when nothing of it can be, or appear, in the
 * queue; but for what goes with a session that is over. */
inline settle(a)
{
    if
    :: (acq[a].phase == RELEASING || acq[a].phase == WITHDRAWING) &&
       acq[a].ask == NOTHING && !REMOVING_ANY(a) ->
        if
        :: acq[a].phase == WITHDRAWING && !acq[a].cancelled ->
            BREAKS(broken_wait)
        :: else
        fi;
        for (u : a * ATTEMPTS .. a * ATTEMPTS + ATTEMPTS - 1) {
            if
            :: (place[u] > 0 || late[u]) && !orphan[u] ->
                BREAKS(broken_leak)
            :: else
            fi
        }
        acq[a].token = 0;
        acq[a].ticket = 0;
        acq[a].writes = false;
        acq[a].cancelled = false;
        if
        :: acq[a].rounds > 0 ->
            acq[a].rounds--;
            acq[a].phase = IDLE
        :: else ->
            acq[a].phase = DONE
        fi
    :: else
    fi
}

/* ----------------------------------------------------------------- pump -- */

/* hf_own_ticket_enqueue(): an id of its own for each try. */
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
    :: session[CLIENT(a)] == UP ->
        if
        :: acq[a].phase == PAUSED && MUST_LOOK(a) ->
            acq[a].phase = LOOKING
        :: else
        fi;
        if
        :: ((acq[a].phase == PAUSED) ||
            (acq[a].phase == LOOKING && ROOM_SEEN(a))) &&
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
        :: acq[a].phase == QUEUED && acq[a].before != 0 &&
           acq[a].watch_before == UNWATCHED && !WATCHES_OWN_ONLY ->
            acq[a].watch_before = ASKED
        :: else
        fi;
        if
        :: acq[a].phase == QUEUED && acq[a].beyond != 0 &&
           acq[a].watch_beyond == UNWATCHED ->
            acq[a].watch_beyond = ASKED
        :: else
        fi
    :: else
    fi;
    if /* its owner was told, and lets go */
    :: acq[a].phase == LOST && OWNER_LETS_GO(a) ->
        release(a)
    :: else
    fi;
    pump_queue_watch(a);
    pump_removals(a);
    settle(a)
}
