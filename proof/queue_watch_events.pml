/* SPDX-License-Identifier: Apache-2.0 */
/* The events of a queue watch, and what the engine does for it. */

proctype queue_watch(byte c)
{
end:
    do
    :: atomic {
        if
        :: d_step {
            session[c] == CONNECTED && queue_watch_state[c] == ANSWERED;
            queue_listed(c)
        }
        :: d_step {
            session[c] == CONNECTED && queue_watch_state[c] == WATCHING &&
                queue_watch_changed[c];
#ifdef QUEUE_WATCHED_ONCE
            queue_watch_changed[c] = false
#else
            end_queue_watch(c)
#endif
        }
        fi;
        d_step {
            pump(LEASE(c));
            end_of_step(c)
        }
    }
    :: d_step { /* the engine: LISTED now, and CHANGED when a lease goes */
        session[c] == CONNECTED && alive[c] && queue_watch_state[c] == ASKED;
        queue_watch_room[c] = HAS_ROOM(LEASE(c));
        queue_watch_state[c] = ANSWERED
    }
    od
}
