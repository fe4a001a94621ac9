/* SPDX-License-Identifier: Apache-2.0 */
/* What all configurations with acquisitions have in common: the parts that
 * they include, their processes, and the check of where a history may end. */
#define FINISHED_OR_NONE(a) (a >= ACQUISITIONS || IS_FINISHED(a))
#define ALL_FINISHED                                                           \
    (FINISHED_OR_NONE(0) && FINISHED_OR_NONE(1) &&                             \
     FINISHED_OR_NONE(2) && FINISHED_OR_NONE(3) &&                             \
     FINISHED_OR_NONE(4) && FINISHED_OR_NONE(5) &&                             \
     FINISHED_OR_NONE(6) && FINISHED_OR_NONE(7))
/* See cohort_kept.pml: does a user rely on it, and is it lost when safe-until
 * passes? */
#ifndef IS_RELIED_ON
#define IS_RELIED_ON(a) (true)
#endif
#ifndef IS_LOST_WITH_SAFE_UNTIL
#define IS_LOST_WITH_SAFE_UNTIL(a) (true)
#endif
#ifndef REPEATS
#define REPEATS 1
#endif

#include "engine.pml"
#include "removal.pml"
#include "session_state.pml"
#include "acquisition.pml"
#include "contender.pml"
#include "service.pml"
#include "session.pml"

inline prepare()
{
    faults_left = FAULTS;
    cancels_left = CANCELS;
    downgrades_left = DOWNGRADES;
    for (u : 0 .. CLIENTS - 1) {
        session[u] = CONNECTED;
        alive[u] = true;
        lease[u] = true;
        safe_until[u] = true
    }
    for (u : 0 .. ACQUISITIONS - 1) {
        acq[u].repeats = REPEATS - 1
    }
}

inline run_processes()
{
    for (u : 0 .. ACQUISITIONS - 1) {
        run contender(u);
        run service(u)
    }
    for (u : 0 .. TICKETS - 1) {
        run ticket_events(u)
    }
    for (u : 0 .. CLIENTS - 1) {
        run client(u)
    }
    u = 0
}

/* Where nothing more can happen, every acquisition is finished and every queue
 * is empty.  If that is never reached, init waits for ever, and pan reports an
 * invalid end state. */
byte all_finished;
inline wait_until_all_finished()
{
    d_step {
        ALL_FINISHED && queue_length[0] == 0 && queue_length[QUEUES - 1] == 0;
        all_finished = 1
    }
}
