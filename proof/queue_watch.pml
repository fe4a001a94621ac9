/* SPDX-License-Identifier: Apache-2.0 */
/* The watch of a queue (src/core/queue_watch.c): what the leases look like, and
 * the event that one has gone since. */
byte look[CLIENTS];        /* UNWATCHED, ASKED, ANSWERED or WATCHING */
bool look_room[CLIENTS];   /* the answer on its way, and then .room */
bool look_changed[CLIENTS]; /* CHANGED is on its way, behind that */

/* hf_own_ticket_wants_queue_watch() */
#define WANTS_QUEUE_WATCH(a)                                                   \
    (IS_LEASE(a) &&                                                            \
     ((acq[a].phase == LOOKING && !ROOM_SEEN(a)) ||                            \
      (acq[a].phase == QUEUED && acq[a].blocking > 0)))
#define MUST_LOOK(a) IS_LEASE(a)
#define ROOM_SEEN(a) (look_room[CLIENT(a)] && look[CLIENT(a)] == WATCHING)

/* hf_admission_has_room(), or for a lease that is there its own place. */
#define HAS_ROOM(a)                                                            \
    (acq[a].phase == QUEUED -> PERMITS_AHEAD(a) < LIMIT_SEEN :                 \
                               count[1] < LIMIT_SEEN)

#define CHANGED_IN(queue) tell_queue_watches(queue)
inline tell_queue_watches(queue)
{
    for (v : 0 .. CLIENTS - 1) {
        look_changed[v] = look_changed[v] ||
                          (queue == 1 && alive[v] &&
                           (look[v] == ANSWERED || look[v] == WATCHING))
    }
}

inline end_queue_watch(c)
{
    look[c] = UNWATCHED;
    look_room[c] = false;
    look_changed[c] = false
}

/* pump_queue_watch() */
inline pump_queue_watch(a)
{
    if
    :: WANTS_QUEUE_WATCH(a) && look[CLIENT(a)] == UNWATCHED &&
       session[CLIENT(a)] == UP ->
        look[CLIENT(a)] = ASKED
    :: IS_LEASE(a) && !WANTS_QUEUE_WATCH(a) ->
        end_queue_watch(CLIENT(a))
    :: else
    fi
}

inline forget_queue_watch(a)
{
    end_queue_watch(CLIENT(a))
}

/* What was not answered is asked again; the rest survives the link. */
inline fail_queue_watch(a)
{
    if
    :: look[CLIENT(a)] == ASKED || look[CLIENT(a)] == ANSWERED ->
        end_queue_watch(CLIENT(a))
    :: else
    fi
}

/* hf_own_ticket_queue_listed(): LOOKING, the pump enters; QUEUED, this is the list to
 * decide by. */
inline looked(c)
{
    look[c] = WATCHING;
    if
    :: acq[LEASE(c)].phase == QUEUED && look_room[c] ->
        admit(LEASE(c))
    :: else
    fi
}
