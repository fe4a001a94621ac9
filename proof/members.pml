/* SPDX-License-Identifier: Apache-2.0 */
/* What a cohort does when a step has ended: pump() in src/core/cohort.c. */

#define TICKET_IS(state)                                                       \
    (ticket_in_use > 0 && acq[(ticket_in_use > 0 -> ticket_in_use - 1 : 0)]    \
                                  .phase == state)

/* ticket_lost(): passed on before anything else. */
inline lose_holder()
{
    for (u : 0 .. MEMBERS - 1) {
        if
        :: member[u] == HELD && !TICKET_IS(HELD) ->
#ifndef COHORT_LOSS_NOT_NOTIFIED
            member[u] = RELEASING /* it was told, and lets go */
#else
            skip
#endif
        :: else
        fi
    }
}

/* hear(): the ticket is lost; those who wait go on behind another. */
inline hear()
{
    if
    :: TICKET_IS(LOST) ->
        w = ticket_in_use - 1;
        release(w);
        ticket_in_use = 0;
        pump(w)
#ifdef COHORT_LOSS_ENDS
        ; for (u : 0 .. MEMBERS - 1) {
            if
            :: member[u] == PAUSED ->
                member[u] = WITHDRAWING;
                BREAKS(broken_wait)
            :: else
            fi
        }
#endif
    :: else
    fi
}

#ifdef COHORT_REVOKED_STAYS
#define MUST_GO (grants > HANDOFFS)
#elif defined(COHORT_UNBOUNDED)
#define MUST_GO asked
#else
#define MUST_GO (asked || grants > HANDOFFS)
#endif

/* is_spent() and give_back(). */
inline give_back()
{
    if
    :: ticket_in_use > 0 && NO_HOLDER &&
       (NOBODY_WAITS || (TICKET_IS(HELD) && grants > 0 && MUST_GO)) ->
#ifndef COHORT_KEEPS_TICKET
        w = ticket_in_use - 1;
        if
        :: acq[w].phase == HELD ->
            release(w)
        :: else ->
            acq[w].cancelled = true;
            give_up(w)
        fi;
        for (u : 0 .. MEMBERS - 1) {
            if
            :: (member[u] == RELEASING || member[u] == WITHDRAWING) &&
               awaits[u] == 0 ->
                awaits[u] = ticket_in_use
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
#define MAY_HAND_ON (true)
#else
#define MAY_HAND_ON NO_HOLDER
#endif
#ifdef COHORT_BARGES
#define IS_NEXT(m) (member[m] == PAUSED && (m == MEMBERS - 1 ||                \
                    member[(m < MEMBERS - 1 -> m + 1 : 0)] != PAUSED))
#else
#define IS_NEXT(m) (member[m] == PAUSED)
#endif

/* grant(): at once and without a request, while the session may admit. */
inline hand_on()
{
    for (u : 0 .. MEMBERS - 1) {
        if
        :: IS_NEXT(u) && TICKET_IS(HELD) && MAY_HAND_ON && MAY_ADMIT(0) ->
            w = ticket_in_use - 1;
            if
            :: !NO_HOLDER ->
                BREAKS(broken_exclusion)
            :: else
            fi;
            for (v : 0 .. MEMBERS - 1) {
                if
                :: v < u && member[v] == PAUSED ->
                    BREAKS(broken_order)
                :: else
                fi
            }
            if /* the outsider is not starved, nor who asked */
            :: grants > HANDOFFS || (asked && grants > 0) ->
                BREAKS(broken_order)
            :: else
            fi;
            grants++;
            member[u] = HELD;
            check_grant(w)
        :: else
        fi
    }
}

/* settle_leaving(): told when the ticket it awaits has ended. */
inline settle_leaving()
{
    for (u : 0 .. MEMBERS - 1) {
        if
        :: (member[u] == RELEASING || member[u] == WITHDRAWING) &&
           (awaits[u] == 0 || IS_OVER(awaits[u] - 1)) ->
            member[u] = DONE;
            awaits[u] = 0
        :: else
        fi
    }
}

/* want(): another ticket for those who wait. */
inline want()
{
    if
    :: ticket_in_use == 0 && !NOBODY_WAITS && (IS_OVER(0) || IS_OVER(1)) ->
        w = (IS_OVER(0) -> 0 : 1);
        ticket_in_use = w + 1;
        grants = 0;
        asked = false;
        acq[w].phase = PAUSED;
        pump(w)
    :: else
    fi
}

inline after(c)
{
    if
    :: c == 0 ->
        lose_holder();
        hear();
        give_back();
        hand_on();
        settle_leaving();
        want();
        u = 0;
        w = 0;
        for (v : 0 .. MEMBERS - 1) {
            if
            :: member[v] == HELD && !TICKET_IS(HELD) ->
                BREAKS(broken_loss) /* it believes on */
            :: else
            fi
        }
    :: else
    fi
}
