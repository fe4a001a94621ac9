/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A semaphore: each client has a multi-lock of two acquisitions
 * (src/core/multi_lock.c).
 *
 * The first child is the entry mutex.  Only its holder may enter the queue of
 * leases, and only after it has seen room there.  The entry mutex is released
 * when the lease is granted.
 */
#ifndef CLIENTS
#define CLIENTS 4
#endif
#ifndef ATTEMPTS
#define ATTEMPTS 2
#endif
#define PER_CLIENT 2
#define QUEUES 2
#ifndef LIMIT
#define LIMIT 2
#endif
#if defined(LEASES_NOT_COUNTED)
#define LIMIT_IN_FORCE 99
#elif defined(ONE_LEASE_TOO_MANY)
#define LIMIT_IN_FORCE (LIMIT + 1)
#else
#define LIMIT_IN_FORCE LIMIT
#endif
#define ENTRY_MUTEX(c) ((c) * PER_CLIENT)
#define LEASE(c) ((c) * PER_CLIENT + 1)
#define IS_LEASE(a) ((a) % PER_CLIENT == 1)
#define QUEUE(a) ((a) % PER_CLIENT)
#define WRITES(a) (true)
#define HAS_READERS (false)
#define ALIKE(a) (a > 1 && !IS_LEASE(a))

#include "names.pml"

#define SHARED_BY_PERMITS(a) IS_LEASE(a)
#define PERMITS_AHEAD(a) (position[acq[a].ticket] - 1)
#define PERMITS(a) (IS_LEASE(a) -> LIMIT : 1)
#define USER_RELEASES(a) (false) /* the parent does */
#define IS_WANTED(a) (false)
#define CLIENT_IS_FINISHED(c) (parent[c] == DONE)
#define IS_FINISHED(a)                                                         \
    (parent[CLIENT(a)] == DONE || session[CLIENT(a)] == CRASHED)

byte parent[CLIENTS];
byte current[CLIENTS]; /* the number of children that were granted */
bool rolling_back[CLIENTS];

#include "queue_watch.pml"
#include "multi_lock.pml"
#include "common_checks.pml"
#include "queue_watch_events.pml"

/* The events that the user causes. */
proctype user(byte c)
{
end:
    do
    :: atomic {
        if
        :: d_step {
            session[c] != CRASHED && parent[c] == IDLE;
            parent[c] = PAUSED
        }
        :: d_step {
            session[c] != CRASHED && parent[c] == HELD;
            parent[c] = RELEASING
        }
        :: d_step {
            session[c] != CRASHED && parent[c] == PAUSED && cancels_left > 0;
            cancels_left--;
            parent[c] = GIVING_UP
        }
        fi;
        d_step {
            end_of_step(c)
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
        run_processes();
        for (u : 0 .. CLIENTS - 1) {
            run user(u);
            run queue_watch(u)
        }
        u = 0
    }
    wait_until_all_finished()
}
