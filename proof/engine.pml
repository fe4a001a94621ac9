/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine: queues in order (src/core/engine.h).
 *
 * The position of a ticket stands for its sequence number and for its token.
 * Tickets that are gone are not counted, so histories that leave the same
 * queue are one state.
 */
byte position[TICKETS]; /* in its queue, from 1; 0: not there */
byte queue_length[QUEUES];
bool reads[TICKETS]; /* its kind */

/* An enqueue on a link that was cut.  It may still take effect
 * (HF_FAILURE_UNSURE), but not later than one timeout after the cut. */
bool late[TICKETS];
/* It belongs to a session that its client counts as lost.  It goes when that
 * session ends. */
bool orphan[TICKETS];
bool served[ACQUISITIONS]; /* a ticket of it was in a queue */

/* Contenders that are alike are numbered in the order in which they first
 * enter a queue.  Other histories are the same with other numbers. */
#define MAY_BE_SERVED(a)                                                       \
    (!ALIKE(a) || served[a - PER_CLIENT] || IS_FINISHED(a - PER_CLIENT))

#define SAME_QUEUE(t, s) (QUEUE(OWNER(t)) == QUEUE(OWNER(s)))

/* src/core/admission.c: does the ticket t block the ticket mine? */
#ifdef READ_PASSES_WRITE
#define BLOCKS(t, mine) (!reads[mine])
#else
#define BLOCKS(t, mine) (!(reads[t] && reads[mine]))
#endif

#ifdef ORDER_AS_TEXT /* by name: the ticket with the lower id is ahead */
#define IS_AHEAD(t, s) ((t) < (s))
#else
#define IS_AHEAD(t, s) (position[t] < position[s])
#endif
#ifdef WATCH_FIRST
#define WATCHED_FIRST (true)
#else
#define WATCHED_FIRST (false)
#endif
/* Many readers wait for one writer, so a reader watches no second ticket. */
#define WATCHES_SECOND(a) (acq[a].writes)

/* Watches of ${shown} fire.  In a mutex at most one waiter watches a ticket as
 * its nearest one.  More would be a herd. */
inline fire(shown)
{
    w = 0;
    for (v : 0 .. ACQUISITIONS - 1) {
        if
        :: acq[v].watch_nearest == WATCHING && acq[v].nearest == shown ->
            acq[v].watch_nearest = FIRED;
            w++
        :: else
        fi;
        if
        :: acq[v].watch_second == WATCHING && acq[v].second == shown ->
            acq[v].watch_second = FIRED
        :: else
        fi
    }
    if
    :: w > 1 && !HAS_READERS ->
        BREAKS(broken_herd)
    :: else
    fi;
    w = 0
}

/* It becomes the last one in its queue. */
inline append(t)
{
    queue_length[QUEUE(OWNER(t))]++;
    position[t] = queue_length[QUEUE(OWNER(t))];
    reads[t] = !WRITES(OWNER(t));
    NOTIFY_ADDED(QUEUE(OWNER(t)))
}

inline remove(t)
{
    if
    :: position[t] > 0 ->
        for (v : 0 .. TICKETS - 1) {
            if
            :: SAME_QUEUE(v, t) && position[v] > position[t] ->
                position[v]--
            :: else
            fi
        }
        queue_length[QUEUE(OWNER(t))]--;
        position[t] = 0;
        fire(SHOWN(t));
        NOTIFY_CHANGED(QUEUE(OWNER(t)));
        reads[t] = false
    :: else
    fi
}

/*
 * What hf_admission_decide() finds in the present queue for the ticket of
 * ${a}: how many tickets block it, the nearest of them, and the second one.
 * The rule is a function of the list, so the answer carries its result and
 * not the list.
 */
inline snapshot(a)
{
    acq[a].seen = position[acq[a].ticket] > 0;
    acq[a].seen_blocking = 0;
    acq[a].seen_nearest = 0;
    acq[a].seen_second = 0;
    acq[a].seen_gone_admits = true;
    if
    :: acq[a].seen && SHARED_BY_PERMITS(a) ->
        /* hf_admission_decide_lease() */
        acq[a].seen_blocking = (PERMITS_AHEAD(a) < LIMIT_IN_FORCE -> 0 : 1);
        acq[a].seen_gone_admits = false
    :: acq[a].seen && !SHARED_BY_PERMITS(a) ->
        for (v : 0 .. TICKETS - 1) {
            if
            :: SAME_QUEUE(v, acq[a].ticket) && position[v] > 0 &&
               IS_AHEAD(v, acq[a].ticket) ->
                if
                :: BLOCKS(v, acq[a].ticket) ->
                    acq[a].seen_blocking++
                :: else
                fi;
#ifndef GONE_ADMITS_WRITER
                if /* a downgraded reader takes the position of its writer */
                :: !reads[v] && !reads[acq[a].ticket] && HAS_READERS ->
                    acq[a].seen_gone_admits = false
                :: else
                fi
#endif
            :: else
            fi
        }
        for (v : 0 .. TICKETS - 1) {
            if
            :: SAME_QUEUE(v, acq[a].ticket) && position[v] > 0 &&
               IS_AHEAD(v, acq[a].ticket) && BLOCKS(v, acq[a].ticket) ->
                /* how many block between it and ours? */
                x = 0;
                for (w : 0 .. TICKETS - 1) {
                    if
                    :: SAME_QUEUE(w, v) && position[w] > 0 && IS_AHEAD(v, w) &&
                       IS_AHEAD(w, acq[a].ticket) &&
                       BLOCKS(w, acq[a].ticket) ->
                        x++
                    :: else
                    fi
                }
                if
                :: x == (WATCHED_FIRST -> acq[a].seen_blocking - 1 : 0) ->
                    acq[a].seen_nearest = SHOWN(v)
                :: x == 1 && !WATCHED_FIRST && WATCHES_SECOND(a) ->
                    acq[a].seen_second = SHOWN(v)
                :: else
                fi
            :: else
            fi
        }
        w = 0;
        x = 0
    :: else
    fi
}
