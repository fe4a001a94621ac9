/* SPDX-License-Identifier: Apache-2.0 */
/* Worlds in which an acquisition is its owner's own. */
#define SHARED_BY_PERMITS(a) (false)
#define PERMITS_AHEAD(a) 0
#define LIMIT_SEEN 1
#define ROOM(a) 1
#define MUST_LOOK(a) (false)
#define ROOM_SEEN(a) (true)
#define OWNER_LETS_GO(a) (true)
#define IS_WANTED(a) (true)
#define CHANGED_IN(queue) skip
#define IS_OUT(a) (acq[a].phase == DONE || session[CLIENT(a)] == CRASHED)
#define CLIENT_IS_OUT(c) (acq[c].phase == DONE)

inline after(c) { skip }
inline pump_queue_watch(a) { skip }
inline fail_queue_watch(a) { skip }
inline forget_queue_watch(a) { skip }

#include "world.pml"

init
{
    d_step {
        prepare()
    }
    atomic {
        start()
    }
    everyone_is_out()
}
