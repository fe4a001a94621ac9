/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A semaphore: clients with two acquisitions each, that are one to their owner
 * (src/core/multi_lock.c): a mutex, the gate, whose holder alone may enter the
 * queue of leases, once it has seen room there; it is let go with the lease.
 */
#ifndef CLIENTS
#define CLIENTS 4
#endif
#ifndef ATTEMPTS
#define ATTEMPTS 2
#endif
#define PER 2
#define QUEUES 2
#ifndef LIMIT
#define LIMIT 2
#endif
#if defined(LEASES_NOT_COUNTED)
#define LIMIT_SEEN 99
#elif defined(ONE_LEASE_TOO_MANY)
#define LIMIT_SEEN (LIMIT + 1)
#else
#define LIMIT_SEEN LIMIT
#endif
#define GATE(c) ((c) * PER)
#define LEASE(c) ((c) * PER + 1)
#define IS_LEASE(a) ((a) % PER == 1)
#define QUEUE(a) ((a) % PER)
#define WRITES(a) (true)
#define HAS_READERS (false)
#define ALIKE(a) (a > 1 && !IS_LEASE(a))

#include "names.pml"

#define SHARED_BY_PERMITS(a) IS_LEASE(a)
#define PERMITS_AHEAD(a) (place[acq[a].ticket] - 1)
#define ROOM(a) (IS_LEASE(a) -> LIMIT : 1)
#define OWNER_LETS_GO(a) (false) /* the whole does */
#define IS_WANTED(a) (false)
#define CLIENT_IS_OUT(c) (whole[c] == DONE)
#define IS_OUT(a) (whole[CLIENT(a)] == DONE || session[CLIENT(a)] == CRASHED)

byte whole[CLIENTS];
byte at[CLIENTS]; /* so many parts were taken */
bool undoing[CLIENTS];

#include "queue_watch.pml"
#include "bundle.pml"
#include "world.pml"
#include "queue_watch_events.pml"

/* The owner's own events. */
proctype owner(byte c)
{
end:
    do
    :: atomic {
        if
        :: d_step {
            session[c] != CRASHED && whole[c] == IDLE;
            whole[c] = PAUSED
        }
        :: d_step {
            session[c] != CRASHED && whole[c] == HELD;
            whole[c] = RELEASING
        }
        :: d_step {
            session[c] != CRASHED && whole[c] == PAUSED && cancels > 0;
            cancels--;
            whole[c] = WITHDRAWING
        }
        fi;
        d_step {
            after(c)
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
        for (u : 0 .. CLIENTS - 1) {
            run owner(u);
            run queue_watch(u)
        }
        u = 0
    }
    everyone_is_out()
}
