/* SPDX-License-Identifier: Apache-2.0 */
/* A library to be preloaded: a poll() that would wait for 10 s or more waits
 * until something happens.  A thread that looks after its descriptors now and
 * then (src/monitor/ready.c) sleeps on, so what wakes it is an event. */
#include <poll.h>
#include <time.h>

#define LOOKS_MS 10000

int poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
    struct timespec limit = {timeout_ms / 1000, timeout_ms % 1000 * 1000000L};

    return ppoll(fds, count,
                 timeout_ms < 0 || timeout_ms >= LOOKS_MS ? NULL : &limit,
                 NULL);
}
