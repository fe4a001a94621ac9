/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The other side: queues in order, and sessions (src/core/engine.h).  The
 * place of a ticket is its sequence, and its token, less those that are gone:
 * histories that left the same queue are one state.
 */
byte place[TICKETS]; /* in its queue, from 1; 0: not there */
byte count[QUEUES];
bool reads[TICKETS]; /* its kind */

/* An enqueue whose link was cut: it may still take effect (HF_FAILURE_UNSURE),
 * though not later than one timeout after the cut. */
bool late[TICKETS];
/* Of a session that its client believes lost: it goes when the session does. */
bool orphan[TICKETS];
bool served[ACQUISITIONS]; /* some ticket of it was there */

/* Contenders that are alike are numbered by who enters a queue first: other
 * histories are these with other names. */
#define MAY_BE_SERVED(a) (!ALIKE(a) || served[a - PER] || IS_OUT(a - PER))

#define SAME_QUEUE(t, s) (QUEUE(OWNER(t)) == QUEUE(OWNER(s)))

/* src/core/admission.c: whose turn must wait for whom. */
#ifdef READ_PASSES_WRITE
#define BLOCKS(t, mine) (!reads[mine])
#else
#define BLOCKS(t, mine) (!(reads[t] && reads[mine]))
#endif

#ifdef ORDER_AS_TEXT /* by name: whoever has the lower ticket id */
#define IS_BEFORE(t, s) ((t) < (s))
#else
#define IS_BEFORE(t, s) (place[t] < place[s])
#endif
#ifdef WATCH_FIRST
#define WATCHED_FIRST (true)
#else
#define WATCHED_FIRST (false)
#endif
/* Any number of readers wait for one writer: these do not look past it. */
#define LOOKS_AHEAD(a) (acq[a].writes)

/* Watches of ${shown} hear that it is gone.  Of those who want a mutex one has
 * its eye on it as the nearest ahead: more were a herd. */
inline fire(shown)
{
    w = 0;
    for (v : 0 .. ACQUISITIONS - 1) {
        if
        :: acq[v].watch_before == WATCHING && acq[v].before == shown ->
            acq[v].watch_before = FIRED;
            w++
        :: else
        fi;
        if
        :: acq[v].watch_beyond == WATCHING && acq[v].beyond == shown ->
            acq[v].watch_beyond = FIRED
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

/* Last in its queue. */
inline append(t)
{
    count[QUEUE(OWNER(t))]++;
    place[t] = count[QUEUE(OWNER(t))];
    reads[t] = !WRITES(OWNER(t))
}

inline remove(t)
{
    if
    :: place[t] > 0 ->
        for (v : 0 .. TICKETS - 1) {
            if
            :: SAME_QUEUE(v, t) && place[v] > place[t] ->
                place[v]--
            :: else
            fi
        }
        count[QUEUE(OWNER(t))]--;
        place[t] = 0;
        fire(SHOWN(t));
        CHANGED_IN(QUEUE(OWNER(t)));
        reads[t] = false
    :: else
    fi
}

/*
 * What hf_admission_decide() makes of the queue as it stands for the ticket of
 * ${a}: how many block, the nearest and the next.  The rule is a function of
 * the list, so its result may travel in the list's place.
 */
inline snapshot(a)
{
    acq[a].seen = place[acq[a].ticket] > 0;
    acq[a].seen_blocking = 0;
    acq[a].seen_before = 0;
    acq[a].seen_beyond = 0;
    acq[a].seen_gone_admits = true;
    if
    :: acq[a].seen && SHARED_BY_PERMITS(a) ->
        /* hf_admission_decide_lease() */
        acq[a].seen_blocking = (PERMITS_AHEAD(a) < LIMIT_SEEN -> 0 : 1);
        acq[a].seen_gone_admits = false
    :: acq[a].seen && !SHARED_BY_PERMITS(a) ->
        for (v : 0 .. TICKETS - 1) {
            if
            :: SAME_QUEUE(v, acq[a].ticket) && place[v] > 0 &&
               IS_BEFORE(v, acq[a].ticket) ->
                if
                :: BLOCKS(v, acq[a].ticket) ->
                    acq[a].seen_blocking++
                :: else
                fi;
#ifndef GONE_ADMITS_WRITER
                if /* a downgraded reader takes its writer's place */
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
            :: SAME_QUEUE(v, acq[a].ticket) && place[v] > 0 &&
               IS_BEFORE(v, acq[a].ticket) && BLOCKS(v, acq[a].ticket) ->
                /* how many block between it and ours? */
                x = 0;
                for (w : 0 .. TICKETS - 1) {
                    if
                    :: SAME_QUEUE(w, v) && place[w] > 0 && IS_BEFORE(v, w) &&
                       IS_BEFORE(w, acq[a].ticket) &&
                       BLOCKS(w, acq[a].ticket) ->
                        x++
                    :: else
                    fi
                }
                if
                :: x == (WATCHED_FIRST -> acq[a].seen_blocking - 1 : 0) ->
                    acq[a].seen_before = SHOWN(v)
                :: x == 1 && !WATCHED_FIRST && LOOKS_AHEAD(a) ->
                    acq[a].seen_beyond = SHOWN(v)
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
