/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The watch of the queue of leases (src/core/ticket_watch.c).
 *
 * The idea: the answer shows whether there is room now.  If a lease goes
 * after that, one event CHANGED says so, and the waiter watches again.
 */
byte queue_watch_state[CLIENTS];   /* UNWATCHED, ASKED, ANSWERED or WATCHING */
bool queue_watch_room[CLIENTS];    /* in the answer, and then .has_room */
bool queue_watch_changed[CLIENTS]; /* CHANGED is under way, behind the answer */

/* hf_own_ticket_wants_queue_watch() */
#define WANTS_QUEUE_WATCH(a)                                                   \
    (IS_LEASE(a) &&                                                            \
     ((acq[a].phase == AWAITING_ROOM && !ROOM_SEEN(a)) ||                      \
      (acq[a].phase == QUEUED && acq[a].blocking > 0)))
#define NEEDS_ROOM(a) IS_LEASE(a)
#define ROOM_SEEN(a)                                                           \
    (queue_watch_room[CLIENT(a)] && queue_watch_state[CLIENT(a)] == WATCHING)

/* hf_admission_has_room().  For a lease that is in the queue its own position
 * decides. */
#define HAS_ROOM(a)                                                            \
    (acq[a].phase == QUEUED -> PERMITS_AHEAD(a) < LIMIT_IN_FORCE :             \
                               queue_length[1] < LIMIT_IN_FORCE)

#define NOTIFY_CHANGED(queue) notify_queue_watches(queue)
#define NOTIFY_ADDED(queue) skip
inline notify_queue_watches(queue)
{
    for (v : 0 .. CLIENTS - 1) {
        queue_watch_changed[v] = queue_watch_changed[v] ||
                          (queue == 1 && alive[v] &&
                           (queue_watch_state[v] == ANSWERED ||
                            queue_watch_state[v] == WATCHING))
    }
}

inline end_queue_watch(c)
{
    queue_watch_state[c] = UNWATCHED;
    queue_watch_room[c] = false;
    queue_watch_changed[c] = false
}

/* pump_queue_watch() */
inline pump_queue_watch(a)
{
    if
    :: WANTS_QUEUE_WATCH(a) && queue_watch_state[CLIENT(a)] == UNWATCHED &&
       session[CLIENT(a)] == CONNECTED ->
        queue_watch_state[CLIENT(a)] = ASKED
    :: IS_LEASE(a) && !WANTS_QUEUE_WATCH(a) ->
        end_queue_watch(CLIENT(a))
    :: else
    fi
}

inline forget_queue_watch(a)
{
    end_queue_watch(CLIENT(a))
}

/* The link is cut.  A request without an answer is repeated; a watch survives
 * the link. */
inline fail_queue_watch(a)
{
    if
    :: queue_watch_state[CLIENT(a)] == ASKED ||
       queue_watch_state[CLIENT(a)] == ANSWERED ->
        end_queue_watch(CLIENT(a))
    :: else
    fi
}

/* hf_own_ticket_queue_listed(): while AWAITING_ROOM the pump enqueues; while
 * QUEUED the lease is decided by this list. */
inline queue_listed(c)
{
    queue_watch_state[c] = WATCHING;
    if
    :: acq[LEASE(c)].phase == QUEUED && queue_watch_room[c] ->
        admit(LEASE(c))
    :: else
    fi
}
