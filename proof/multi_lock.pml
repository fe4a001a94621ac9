/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A multi-lock (src/core/multi_lock.c) with two children: an entry mutex and
 * a lease.
 *
 * The idea: the parent takes one child after the other.  If a child that was
 * granted is lost, the parent releases all children and begins again.  It
 * looks at its children at the end of each step.
 */

#define CAN_BE_FREED(a) (acq[a].phase == IDLE || acq[a].phase == DONE)
#define WAS_GRANTED(a) (acq[a].phase == HELD || acq[a].phase == LOST)

inline release_child(a)
{
    if
    :: IS_WAITING(a) ->
        acq[a].cancelled = true;
        give_up(a);
        pump(a)
    :: WAS_GRANTED(a) ->
#ifndef MULTI_LOCK_KEEPS_CHILD
        release(a);
        pump(a)
#else
        skip
#endif
    :: else
    fi
}

/* No child that was granted is lost; else the parent begins again. */
#define NOTHING_LOST(c)                                                        \
    (acq[LEASE(c)].phase != LOST &&                                            \
     (current[c] == 0 -> acq[ENTRY_MUTEX(c)].phase != LOST :                   \
                         acq[ENTRY_MUTEX(c)].phase == HELD))

inline start_child(a)
{
    acq[a].phase = PAUSED;
    pump(a)
}

inline end_of_step(c)
{
    if /* take_locks(), advance(), roll_back() */
    :: parent[c] == PAUSED && !rolling_back[c] && current[c] == 1 &&
       NOTHING_LOST(c) && acq[LEASE(c)].phase == HELD ->
        current[c] = 2;
        parent[c] = HELD;
        release(ENTRY_MUTEX(c));
        pump(ENTRY_MUTEX(c))
    :: parent[c] == PAUSED && !rolling_back[c] && !NOTHING_LOST(c) ->
        rolling_back[c] = true
    :: parent[c] == HELD && acq[LEASE(c)].phase == LOST ->
        parent[c] = RELEASING /* its user was notified, and releases it */
    :: else
    fi;
    if /* release_children() */
    :: rolling_back[c] || parent[c] == RELEASING || parent[c] == GIVING_UP ->
        release_child(LEASE(c));
        release_child(ENTRY_MUTEX(c))
    :: else
    fi;
    if
    :: (parent[c] == RELEASING || parent[c] == GIVING_UP) &&
       CAN_BE_FREED(ENTRY_MUTEX(c)) && CAN_BE_FREED(LEASE(c)) ->
        parent[c] = DONE;
        rolling_back[c] = false;
        current[c] = 0
    :: parent[c] == PAUSED && rolling_back[c] && CAN_BE_FREED(ENTRY_MUTEX(c)) &&
       CAN_BE_FREED(LEASE(c)) -> /* restart() */
        rolling_back[c] = false;
        current[c] = 0;
        acq[ENTRY_MUTEX(c)].phase = IDLE;
        acq[LEASE(c)].phase = IDLE
    :: else
    fi;
    if /* take_locks() */
    :: parent[c] == PAUSED && !rolling_back[c] && current[c] == 0 &&
       acq[ENTRY_MUTEX(c)].phase == IDLE ->
        start_child(ENTRY_MUTEX(c))
    :: parent[c] == PAUSED && !rolling_back[c] && current[c] == 0 &&
       acq[ENTRY_MUTEX(c)].phase == HELD ->
        current[c] = 1;
        start_child(LEASE(c))
    :: else
    fi
}
