/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a cohort does at the end of a step: pump() in src/core/cohort.c.
 *
 * The idea: the ticket passes from one waiter to the next without a request.
 * It is released when no waiter needs it and it is not kept, after HANDOFFS
 * handoffs, or when somebody asks for its release.
 */

#define TICKET_IS(state)                                                       \
    (ticket_in_use > 0 && acq[(ticket_in_use > 0 -> ticket_in_use - 1 : 0)]    \
                                  .phase == state)

/* ticket_lost(): the holder is notified before anything else happens. */
inline ticket_lost()
{
    for (u : 0 .. WAITERS - 1) {
        if
        :: waiter[u] == HELD && !TICKET_IS(HELD) ->
#ifndef COHORT_LOSS_NOT_NOTIFIED
            waiter[u] = RELEASING /* it was notified, and releases */
#else
            skip
#endif
        :: else
        fi
    }
}

/* check_ticket(): the ticket is lost.  The waiters go on waiting, for another
 * ticket. */
inline check_ticket()
{
    if
    :: TICKET_IS(LOST) ->
        w = ticket_in_use - 1;
        release(w);
        ticket_in_use = 0;
        forget_ticket();
        pump(w)
#ifdef COHORT_LOSS_ENDS
        ; for (u : 0 .. WAITERS - 1) {
            if
            :: waiter[u] == PAUSED ->
                waiter[u] = GIVING_UP;
                BREAKS(broken_wait)
            :: else
            fi
        }
#endif
    :: else
    fi
}

#ifdef KEPT_PASSED_ON_TO_ALL
#define OTHERS_MAY_WAIT (false)
#else
#define OTHERS_MAY_WAIT contended
#endif
/* While the queue is watched, others do not wait, and the bound is of no use.
 */
#define HANDED_ON_ENOUGH (grants > HANDOFFS && !watches_queue)
#ifdef COHORT_REVOKED_STAYS
#define SERVED_ENOUGH HANDED_ON_ENOUGH
#elif defined(COHORT_UNBOUNDED)
#define SERVED_ENOUGH revoked
#else
#define SERVED_ENOUGH (revoked || OTHERS_MAY_WAIT || HANDED_ON_ENOUGH)
#endif

/* must_remove_ticket(), remove_ticket() and await_ticket() */
inline remove_ticket()
{
    if
    :: ticket_in_use > 0 && NO_HOLDER &&
       (NOBODY_WAITS ->
            !CAN_BE_KEPT : (TICKET_IS(HELD) && grants > 0 && SERVED_ENOUGH)) ->
#ifndef COHORT_KEEPS_TICKET
        w = ticket_in_use - 1;
        if
        :: acq[w].phase == HELD ->
            release(w)
        :: else ->
            acq[w].cancelled = true;
            give_up(w)
        fi;
        for (u : 0 .. WAITERS - 1) {
            if
            :: (waiter[u] == RELEASING || waiter[u] == GIVING_UP) &&
               awaited_ticket[u] == 0 ->
                awaited_ticket[u] = ticket_in_use
            :: else
            fi
        }
#ifndef KEPT_TAKEN_BACK
        ticket_in_use = 0;
#endif
        forget_ticket();
        pump(w)
#else
        skip
#endif
    :: else
    fi
}

/* A waiter that comes while the ticket is being removed waits for another one.
 */
inline take_back()
{
#ifdef KEPT_TAKEN_BACK
    if
    :: TICKET_IS(RELEASING) && !NOBODY_WAITS ->
        acq[ticket_in_use - 1].phase = HELD;
        contended = false;
        grants = 0
    :: ticket_in_use > 0 && CAN_BE_FREED(ticket_in_use - 1) ->
        ticket_in_use = 0
    :: else
    fi
#else
    skip
#endif
}

#ifdef COHORT_SHARES
#define MAY_GRANT (true)
#else
#define MAY_GRANT NO_HOLDER
#endif
#ifdef COHORT_BARGES
#define IS_NEXT(i) (waiter[i] == PAUSED && (i == WAITERS - 1 ||                \
                    waiter[(i < WAITERS - 1 -> i + 1 : 0)] != PAUSED))
#else
#define IS_NEXT(i) (waiter[i] == PAUSED)
#endif

/* grant(): at once and without a request, while the session may admit. */
inline grant()
{
    for (u : 0 .. WAITERS - 1) {
        if
        :: IS_NEXT(u) && TICKET_IS(HELD) && MAY_GRANT && MAY_ADMIT_WAITER ->
            w = ticket_in_use - 1;
            if
            :: !NO_HOLDER ->
                BREAKS(broken_exclusion)
            :: else
            fi;
            for (v : 0 .. WAITERS - 1) {
                if
                :: v < u && waiter[v] == PAUSED ->
                    BREAKS(broken_order)
                :: else
                fi
            }
            if /* the outsider is not starved, and a revoke is obeyed */
            :: HANDED_ON_ENOUGH || ((revoked || contended) && grants > 0) ->
                BREAKS(broken_order)
            :: else
            fi;
            grants++;
            waiter[u] = HELD;
            check_grant(w)
        :: else
        fi
    }
}

/* finish_leaving(): a waiter that leaves is notified when the ticket that it
 * awaits has ended. */
inline finish_leaving()
{
    for (u : 0 .. WAITERS - 1) {
        if
        :: (waiter[u] == RELEASING || waiter[u] == GIVING_UP) &&
           (awaited_ticket[u] == 0 || CAN_BE_FREED(awaited_ticket[u] - 1)) ->
            waiter[u] = DONE;
            awaited_ticket[u] = 0
        :: else
        fi
    }
}

/* enqueue_ticket(): another ticket for the waiters. */
inline enqueue_ticket()
{
    if
    :: ticket_in_use == 0 && !NOBODY_WAITS &&
       (CAN_BE_FREED(0) || CAN_BE_FREED(1)) ->
        w = (CAN_BE_FREED(0) -> 0 : 1);
        ticket_in_use = w + 1;
        grants = 0;
        revoked = false;
        contended = false;
        was_behind = false;
        acq[w].phase = PAUSED;
        pump(w)
    :: else
    fi
}

inline end_of_step(c)
{
    if
    :: c == 0 ->
        ticket_lost();
        check_ticket();
        was_behind = was_behind || (KEEPS && TICKET_IS(QUEUED));
        remove_ticket();
        take_back();
        note_kept();
        grant();
        finish_leaving();
        enqueue_ticket();
        u = 0;
        w = 0;
        for (v : 0 .. WAITERS - 1) {
            if
            :: waiter[v] == HELD && !TICKET_IS(HELD) ->
                BREAKS(broken_loss) /* it still believes that it holds */
            :: else
            fi
        };
        if /* a revoke is obeyed */
        :: kept && revoked ->
            BREAKS(broken_order)
        :: else
        fi
    :: else
    fi
}
