/* SPDX-License-Identifier: Apache-2.0 */
/* The engine takes up the requests of one acquisition, in any order among
 * them: no less than any engine does. */

#ifdef WATCH_NOT_LOOKED /* armed, and not looked whether it is still there */
#define IS_THERE(t, shown) (true)
#else
#define IS_THERE(t, shown) (place[t] > 0 && reads[t] == SHOWN_READS(shown))
#endif

/* WATCH: armed, or GONE at once. */
#define ARMED(shown) (IS_THERE(TICKET_OF(shown), shown) -> WATCHING : FIRED)

proctype service(byte a)
{
end:
    do
#ifdef OLD_SNAPSHOT /* the queue is read before the ticket has its place */
    :: d_step {
        REACHES(a) && acq[a].ask == ENQUEUE_SENT && !acq[a].seen &&
            MAY_BE_SERVED(a);
        place[acq[a].ticket] = count[QUEUE(a)] + 1;
        snapshot(a);
        place[acq[a].ticket] = 0
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
        REACHES(a) && acq[a].watch_before == ASKED;
        acq[a].watch_before = ARMED(acq[a].before)
    }
    :: d_step {
        REACHES(a) && acq[a].watch_beyond == ASKED;
        acq[a].watch_beyond = ARMED(acq[a].beyond)
    }
    :: d_step { /* at one instant, in its place; once */
        REACHES(a) && acq[a].ask == DOWNGRADE_SENT;
        acq[a].ask = DOWNGRADE_ANSWERED;
        if
        :: place[acq[a].ticket] > 0 && !reads[acq[a].ticket] ->
#ifdef DOWNGRADE_GAP /* deleted, and then created anew */
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
