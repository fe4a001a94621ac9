/* SPDX-License-Identifier: Apache-2.0 */
/* Configurations in which each acquisition is the user's own: it is not a
 * child of a multi-lock, and no cohort shares it.  The hooks of the other
 * configurations do nothing here. */
#define SHARED_BY_PERMITS(a) (false)
#define PERMITS_AHEAD(a) 0
#define LIMIT_IN_FORCE 1
#define PERMITS(a) 1
#define NEEDS_ROOM(a) (false)
#define ROOM_SEEN(a) (true)
#define USER_RELEASES(a) (true)
#define IS_WANTED(a) (true)
#define NOTIFY_CHANGED(queue) skip
#define NOTIFY_ADDED(queue) skip
#define IS_FINISHED(a) (acq[a].phase == DONE || session[CLIENT(a)] == CRASHED)
#define CLIENT_IS_FINISHED(c) (acq[c].phase == DONE)

inline end_of_step(c) { skip }
inline pump_queue_watch(a) { skip }
inline fail_queue_watch(a) { skip }
inline forget_queue_watch(a) { skip }

#include "common_checks.pml"

init
{
    d_step {
        prepare()
    }
    atomic {
        run_processes()
    }
    wait_until_all_finished()
}
