/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a cohort does at the end of a step: pump() in src/core/cohort.c.
 *
 * The idea: the ticket passes from one waiter to the next without a request.
 * It is released when no waiter needs it, after HANDOFFS handoffs, or when
 * somebody asks for its release.
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

#ifdef COHORT_REVOKED_STAYS
#define SERVED_ENOUGH (grants > HANDOFFS)
#elif defined(COHORT_UNBOUNDED)
#define SERVED_ENOUGH revoked
#else
#define SERVED_ENOUGH (revoked || grants > HANDOFFS)
#endif

/* must_remove_ticket(), remove_ticket() and await_ticket() */
inline remove_ticket()
{
    if
    :: ticket_in_use > 0 && NO_HOLDER &&
       (NOBODY_WAITS || (TICKET_IS(HELD) && grants > 0 && SERVED_ENOUGH)) ->
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
        ticket_in_use = 0;
        pump(w)
#else
        skip
#endif
    :: else
    fi
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
        :: IS_NEXT(u) && TICKET_IS(HELD) && MAY_GRANT && MAY_ADMIT(0) ->
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
            :: grants > HANDOFFS || (revoked && grants > 0) ->
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
        remove_ticket();
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
        }
    :: else
    fi
}
