/* SPDX-License-Identifier: Apache-2.0 */
/* What the watch of a queue hears, and what the engine does for it. */

proctype queue_watch(byte c)
{
end:
    do
    :: atomic {
        if
        :: d_step {
            session[c] == UP && look[c] == ANSWERED;
            looked(c)
        }
        :: d_step {
            session[c] == UP && look[c] == WATCHING && look_changed[c];
#ifdef QUEUE_WATCHED_ONCE
            look_changed[c] = false
#else
            end_queue_watch(c)
#endif
        }
        fi;
        d_step {
            pump(LEASE(c));
            after(c)
        }
    }
    :: d_step { /* the engine: LISTED, and CHANGED once a lease goes */
        session[c] == UP && alive[c] && look[c] == ASKED;
        look_room[c] = HAS_ROOM(LEASE(c));
        look[c] = ANSWERED
    }
    od
}
