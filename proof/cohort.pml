/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A cohort (src/core/cohort.c, after Dice, Marathe and Shavit): WAITERS of
 * the first client want one mutex, and one ticket serves them all.  The
 * second client is an ordinary contender for the same mutex.
 *
 * cohort_waiters.pml has what the cohort does at the end of a step, and
 * cohort_kept.pml how it keeps the ticket when no waiter needs it.
 */
#define CLIENTS 2
#ifndef ATTEMPTS
#define ATTEMPTS 3
#endif
#ifndef WAITERS
#define WAITERS 3
#endif
#ifndef HANDOFFS
#define HANDOFFS 1 /* .handoffs of struct hf_mutex_opts */
#endif
#ifndef REVOKES
#define REVOKES 1 /* how often somebody asks the cohort to release its ticket */
#endif
#define PER_CLIENT 2 /* HF_COHORT_TICKETS; the second client needs one */
#define OUTSIDER 2
#define QUEUE(a) 0
#define WRITES(a) (true)
#define HAS_READERS (false)

#include "names.pml"

#define SHARED_BY_PERMITS(a) (false)
#define PERMITS_AHEAD(a) 0
#define LIMIT_IN_FORCE 1
#define PERMITS(a) 1
#define NEEDS_ROOM(a) (false)
#define ROOM_SEEN(a) (true)
#define USER_RELEASES(a) (a == OUTSIDER)
#define IS_WANTED(a) (a == OUTSIDER)
#define IS_FINISHED(a)                                                         \
    (session[CLIENT(a)] == CRASHED ||                                          \
     (a == OUTSIDER -> acq[a].phase == DONE :                                  \
                       (a > OUTSIDER || (WAITERS_FINISHED && CAN_BE_FREED(a)))))
#define CLIENT_IS_FINISHED(c)                                                  \
    (c == 0 -> IS_FINISHED(0) && IS_FINISHED(1) : IS_FINISHED(OUTSIDER))

/* Each is IDLE, PAUSED, HELD, RELEASING, GIVING_UP or DONE. */
byte waiter[WAITERS];
byte awaited_ticket[WAITERS]; /* it ends with this one, from 1; 0: none */
byte ticket_in_use;           /* from 1; 0: none */
byte grants;                  /* to waiters, on that ticket */
bool revoked;                 /* somebody asked for the release of it */
byte revokes_left = REVOKES;

#define NO_HOLDER                                                              \
    (waiter[0] != HELD && waiter[1] != HELD && waiter[WAITERS - 1] != HELD)
#define NOBODY_WAITS                                                           \
    (waiter[0] != PAUSED && waiter[1] != PAUSED &&                             \
     waiter[WAITERS - 1] != PAUSED)
#define WAITERS_FINISHED                                                       \
    (waiter[0] == DONE && waiter[1] == DONE && waiter[WAITERS - 1] == DONE)
#define CAN_BE_FREED(a) (acq[a].phase == IDLE || acq[a].phase == DONE)

#include "session_state.pml"
#include "cohort_kept.pml"
#include "cohort_waiters.pml"
#include "common_checks.pml"

/* The waiters begin one after the other.  Other orders are the same histories
 * with other numbers. */
proctype thread(byte i)
{
end:
    do
    :: atomic {
        if
        :: d_step {
            RUNS(0) && waiter[i] == IDLE &&
                (i == 0 || waiter[(i > 0 -> i - 1 : 0)] != IDLE);
            waiter[i] = PAUSED
        }
        :: d_step {
            RUNS(0) && waiter[i] == HELD;
            waiter[i] = RELEASING
        }
        :: d_step {
            RUNS(0) && waiter[i] == PAUSED && cancels_left > 0;
            cancels_left--;
            waiter[i] = GIVING_UP
        }
        fi;
        d_step {
            end_of_step(0)
        }
    }
    od
}

/* Somebody asks for the release of the ticket.  The cohort is notified also
 * while no waiter holds it. */
proctype revoker()
{
end:
    do
    :: atomic {
        d_step {
            revokes_left > 0 && RUNS(0) && ticket_in_use > 0 &&
                acq[ticket_in_use - 1].phase == HELD;
            revokes_left--;
            revoked = true
        }
        d_step {
            end_of_step(0)
        }
    }
    od
}

/* The events of a ticket that is kept. */
proctype kept_ticket()
{
end:
    do
    :: atomic {
        if
        :: d_step {
            session[0] == CONNECTED && kept_watch == ANSWERED;
            kept_watch_answered()
        }
        :: d_step {
            session[0] == CONNECTED && kept_watch == WATCHING && kept_changed;
            kept_queue_changed()
        }
        :: d_step {
            RUNS(0) && TIME_MAY_END;
            kept_too_long = true
        }
        fi;
        d_step {
            end_of_step(0)
        }
    }
    :: d_step { /* the engine: LISTED now, and CHANGED later */
        session[0] == CONNECTED && alive[0] && kept_watch == ASKED;
        kept_answer = (queue_length[0] == 1 &&
                       position[acq[ticket_in_use - 1].ticket] == 1 ->
                           SHOWS_OURS : SHOWS_OTHERS);
        kept_watch = ANSWERED
    }
    :: d_step { /* or it refuses */
        session[0] == CONNECTED && alive[0] && kept_watch == ASKED;
        kept_answer = REFUSED;
        kept_watch = ANSWERED
    }
    od
}

init
{
    d_step {
        prepare()
    }
    atomic {
        run_processes();
        for (u : 0 .. WAITERS - 1) {
            run thread(u)
        }
        u = 0;
        run revoker();
        if
        :: KEEPS ->
            run kept_ticket()
        :: KEEPS ->
            keeps_long = true;
            run kept_ticket()
        :: else
        fi
    }
    wait_until_all_finished()
}
