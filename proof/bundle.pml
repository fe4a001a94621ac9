/* SPDX-License-Identifier: Apache-2.0 */
/* Bundles (src/core/multi_lock.c): looked at when the step has ended. */

#define IS_OVER(a) (acq[a].phase == IDLE || acq[a].phase == DONE)
#define IS_HAD(a) (acq[a].phase == HELD || acq[a].phase == LOST)

inline give_back_part(a)
{
    if
    :: IS_WAITING(a) ->
        acq[a].cancelled = true;
        give_up(a);
        pump(a)
    :: IS_HAD(a) ->
#ifndef MULTI_LOCK_KEEPS_CHILD
        release(a);
        pump(a)
#else
        skip
#endif
    :: else
    fi
}

/* Something that was had is lost: from the start. */
#define IS_SOUND(c)                                                            \
    (acq[LEASE(c)].phase != LOST &&                                            \
     (at[c] == 0 -> acq[GATE(c)].phase != LOST : acq[GATE(c)].phase == HELD))

inline want(a)
{
    acq[a].phase = PAUSED;
    pump(a)
}

inline after(c)
{
    if /* advance() */
    :: whole[c] == PAUSED && !undoing[c] && at[c] == 1 && IS_SOUND(c) &&
       acq[LEASE(c)].phase == HELD ->
        at[c] = 2;
        whole[c] = HELD;
        release(GATE(c));
        pump(GATE(c))
    :: whole[c] == PAUSED && !undoing[c] && !IS_SOUND(c) ->
        undoing[c] = true
    :: whole[c] == HELD && acq[LEASE(c)].phase == LOST ->
        whole[c] = RELEASING /* its owner was told, and lets go */
    :: else
    fi;
    if /* give_back() */
    :: undoing[c] || whole[c] == RELEASING || whole[c] == WITHDRAWING ->
        give_back_part(LEASE(c));
        give_back_part(GATE(c))
    :: else
    fi;
    if
    :: (whole[c] == RELEASING || whole[c] == WITHDRAWING) &&
       IS_OVER(GATE(c)) && IS_OVER(LEASE(c)) ->
        whole[c] = DONE;
        undoing[c] = false;
        at[c] = 0
    :: whole[c] == PAUSED && undoing[c] && IS_OVER(GATE(c)) &&
       IS_OVER(LEASE(c)) -> /* begin_again() */
        undoing[c] = false;
        at[c] = 0;
        acq[GATE(c)].phase = IDLE;
        acq[LEASE(c)].phase = IDLE
    :: else
    fi;
    if /* take() */
    :: whole[c] == PAUSED && !undoing[c] && at[c] == 0 &&
       acq[GATE(c)].phase == IDLE ->
        want(GATE(c))
    :: whole[c] == PAUSED && !undoing[c] && at[c] == 0 &&
       acq[GATE(c)].phase == HELD ->
        at[c] = 1;
        want(LEASE(c))
    :: else
    fi
}
