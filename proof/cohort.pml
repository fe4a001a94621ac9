/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cohort (src/core/cohort.c): the first client's MEMBERS want one mutex, and
 * one ticket of it stands for them all.  The second client is an ordinary
 * contender beside them.
 */
#define CLIENTS 2
#ifndef ATTEMPTS
#define ATTEMPTS 3
#endif
#ifndef MEMBERS
#define MEMBERS 3
#endif
#ifndef HANDOFFS
#define HANDOFFS 1 /* .handoffs of struct hf_mutex_opts */
#endif
#ifndef ASKED_FOR
#define ASKED_FOR 1 /* how often somebody asks the cohort to let go */
#endif
#define PER 2 /* HF_COHORT_TICKETS; the second client needs one */
#define OUTSIDER 2
#define QUEUE(a) 0
#define WRITES(a) (true)
#define HAS_READERS (false)

#include "names.pml"

#define SHARED_BY_PERMITS(a) (false)
#define PERMITS_AHEAD(a) 0
#define LIMIT_SEEN 1
#define ROOM(a) 1
#define MUST_LOOK(a) (false)
#define ROOM_SEEN(a) (true)
#define OWNER_LETS_GO(a) (a == OUTSIDER)
#define IS_WANTED(a) (a == OUTSIDER)
#define CHANGED_IN(queue) skip
#define IS_OUT(a)                                                              \
    (session[CLIENT(a)] == CRASHED ||                                          \
     (a == OUTSIDER -> acq[a].phase == DONE :                                  \
                       (a > OUTSIDER || (MEMBERS_OUT && IS_OVER(a)))))
#define CLIENT_IS_OUT(c)                                                       \
    (c == 0 -> IS_OUT(0) && IS_OUT(1) : IS_OUT(OUTSIDER))

byte member[MEMBERS]; /* IDLE, PAUSED, HELD, RELEASING, WITHDRAWING or DONE */
byte awaits[MEMBERS]; /* which ticket's end it hears of, from 1; 0: none */
byte ticket_in_use;   /* from 1; 0: none */
byte grants;          /* to members, on that ticket */
bool asked;           /* that ticket should go */
byte asks = ASKED_FOR;

#define NO_HOLDER                                                              \
    (member[0] != HELD && member[1] != HELD && member[MEMBERS - 1] != HELD)
#define NOBODY_WAITS                                                           \
    (member[0] != PAUSED && member[1] != PAUSED &&                             \
     member[MEMBERS - 1] != PAUSED)
#define MEMBERS_OUT                                                            \
    (member[0] == DONE && member[1] == DONE && member[MEMBERS - 1] == DONE)
#define IS_OVER(a) (acq[a].phase == IDLE || acq[a].phase == DONE)

inline pump_queue_watch(a) { skip }
inline fail_queue_watch(a) { skip }
inline forget_queue_watch(a) { skip }

#include "session_state.pml"
#include "members.pml"
#include "world.pml"

/* Members want it one after the other: others are these with other names. */
proctype thread(byte m)
{
end:
    do
    :: atomic {
        if
        :: d_step {
            RUNS(0) && member[m] == IDLE &&
                (m == 0 || member[(m > 0 -> m - 1 : 0)] != IDLE);
            member[m] = PAUSED
        }
        :: d_step {
            RUNS(0) && member[m] == HELD;
            member[m] = RELEASING
        }
        :: d_step {
            RUNS(0) && member[m] == PAUSED && cancels > 0;
            cancels--;
            member[m] = WITHDRAWING
        }
        fi;
        d_step {
            after(0)
        }
    }
    od
}

/* Somebody asks whoever has the ticket to let go; told to who waits, too. */
proctype asker()
{
end:
    do
    :: atomic {
        d_step {
            asks > 0 && RUNS(0) && ticket_in_use > 0 &&
                acq[ticket_in_use - 1].phase == HELD;
            asks--;
            asked = true
        }
        d_step {
            after(0)
        }
    }
    od
}

init
{
    d_step {
        prepare()
    }
    atomic {
        start();
        for (u : 0 .. MEMBERS - 1) {
            run thread(u)
        }
        u = 0;
        run asker()
    }
    everyone_is_out()
}
