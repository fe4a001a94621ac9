/* SPDX-License-Identifier: Apache-2.0 */
/* What every world consists of, and how it is judged. */
#define OUT(a) (a >= ACQUISITIONS || IS_OUT(a))
#define ALL_OUT                                                                \
    (OUT(0) && OUT(1) && OUT(2) && OUT(3) && OUT(4) && OUT(5) && OUT(6) &&     \
     OUT(7))
#ifndef ROUNDS
#define ROUNDS 1
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
    spare = MISHAPS;
    cancels = CANCELS;
    downgrades = DOWNGRADES;
    for (u : 0 .. CLIENTS - 1) {
        session[u] = UP;
        alive[u] = true;
        lease[u] = true;
        promise[u] = true
    }
    for (u : 0 .. ACQUISITIONS - 1) {
        acq[u].rounds = ROUNDS - 1
    }
}

inline start()
{
    for (u : 0 .. ACQUISITIONS - 1) {
        run contender(u);
        run service(u)
    }
    for (u : 0 .. TICKETS - 1) {
        run fate(u)
    }
    for (u : 0 .. CLIENTS - 1) {
        run client(u)
    }
    u = 0
}

/* Where nothing more can happen, everybody has been served or has given up,
 * and nothing is left in any queue.  What keeps this from being reached keeps
 * init waiting, which pan reports as an invalid end state. */
byte out;
inline everyone_is_out()
{
    d_step {
        ALL_OUT && count[0] == 0 && count[QUEUES - 1] == 0;
        out = 1
    }
}
