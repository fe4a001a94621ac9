/* SPDX-License-Identifier: Apache-2.0 */
/* The engine processes the requests of one acquisition, in any order.  Every
 * real engine keeps at least this much order, so the model has all its
 * histories. */

#ifdef WATCH_NOT_LOOKED /* set, without a look whether it is still there */
#define IS_THERE(t, shown) (true)
#else
#define IS_THERE(t, shown) (position[t] > 0 && reads[t] == SHOWN_READS(shown))
#endif

/* WATCH: set, or GONE at once. */
#define ARMED(shown) (IS_THERE(TICKET_OF(shown), shown) -> WATCHING : FIRED)

proctype service(byte a)
{
end:
    do
#ifdef OLD_SNAPSHOT /* the queue is read before the ticket has its position */
    :: d_step {
        REACHES(a) && acq[a].ask == ENQUEUE_SENT && !acq[a].seen &&
            MAY_BE_SERVED(a);
        position[acq[a].ticket] = queue_length[QUEUE(a)] + 1;
        snapshot(a);
        position[acq[a].ticket] = 0
    }
    :: d_step {
        REACHES(a) && acq[a].ask == ENQUEUE_SENT && acq[a].seen;
        u = acq[a].ticket;
        append(u);
        served[a] = true;
        acq[a].ask = ENQUEUE_ANSWERED
    }
#else
    :: d_step {
        REACHES(a) && acq[a].ask == ENQUEUE_SENT && MAY_BE_SERVED(a);
        u = acq[a].ticket;
        append(u);
        served[a] = true;
        snapshot(a);
        acq[a].ask = ENQUEUE_ANSWERED
    }
#endif
    :: d_step {
        REACHES(a) && acq[a].ask == LIST_SENT;
        snapshot(a);
        acq[a].ask = LIST_ANSWERED
    }
    :: d_step {
        REACHES(a) && acq[a].watch_nearest == ASKED;
        acq[a].watch_nearest = ARMED(acq[a].nearest)
    }
    :: d_step {
        REACHES(a) && acq[a].watch_second == ASKED;
        acq[a].watch_second = ARMED(acq[a].second)
    }
    :: d_step { /* atomically, in the same position, and once */
        REACHES(a) && acq[a].ask == DOWNGRADE_SENT;
        acq[a].ask = DOWNGRADE_ANSWERED;
        if
        :: position[acq[a].ticket] > 0 && !reads[acq[a].ticket] ->
#ifdef DOWNGRADE_GAP /* deleted, and then created again */
            u = acq[a].ticket;
            remove(u);
            append(u);
            reads[u] = true
#else
            u = SHOWN(acq[a].ticket);
            reads[acq[a].ticket] = true;
            fire(u)
#endif
        :: else
        fi
    }
    od
}
