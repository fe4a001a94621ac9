/* SPDX-License-Identifier: Apache-2.0 */
/* What is done about a queue from outside: looks at it, and asks that are put
 * to those in it. */
#include "act.h"

#include <stdio.h>

#define LOOKS                                                                  \
    (END(END_CLOSE) | END(END_RELEASE) | END(END_FREE) | END(END_TIMEOUT) |    \
     END(END_LOSS))

/* Somebody holds it and somebody waits. */
static void crowded(struct play *play)
{
    play->locks[0] = act_lock(play, "a", HF_KIND_MUTEX, 1, 1);
    CELL_CHECK(play->cell,
               hf_lock_open(play->cell->front.client, play->queues[0].name,
                            NULL, &play->rival) == HF_OK);
    (void)deed_done(play, &call_acquire, RIVAL, NULL);
    play->deeds[0].obliges = true;
    (void)deed_begin(play, &call_acquire, RIVAL, NULL);
    while (cell_turn(play->cell))
        continue;
}

/* A semaphore is two queues. */
static void crowded_semaphore(struct play *play)
{
    play->locks[0] = act_lock(play, "a", HF_KIND_SEMAPHORE, 1, 1);
    (void)deed_done(play, &call_acquire, 0, NULL);
}

static void known(struct play *play)
{
    struct deed *deed;

    crowded(play);
    deed = deed_done(play, &call_holders, 0, NULL);
    CELL_CHECK(play->cell, hf_tickets_count(deed->tickets) == 1);
    (void)snprintf(play->id, sizeof(play->id), "%s",
                   hf_tickets_at(deed->tickets, 0)->id);
}

static void holder_goes(struct play *play)
{
    (void)act_rival_goes(play);
}

#define BEGINS(name)                                                           \
    static void name(struct play *play)                                        \
    {                                                                          \
        act_begin(play, &call_##name, 0, NULL);                                \
    }
BEGINS(tickets)
BEGINS(holders)
BEGINS(waiters)
BEGINS(evict)
BEGINS(request)

#define LOOK(called, made, begun)                                              \
    {                                                                          \
        .name = called, .prepare = made, .begin = begun,                       \
        .release = holder_goes, .endings = LOOKS                               \
    }
#define ASK(called, made, begun)                                               \
    {                                                                          \
        .name = called, .prepare = made, .begin = begun,                       \
        .release = holder_goes, .endings = LOOKS, .other = {HF_EGONE},         \
    }

const struct act acts_sights[] = {
    LOOK("tickets", crowded, tickets),
    LOOK("tickets-semaphore", crowded_semaphore, tickets),
    LOOK("holders", crowded, holders),
    LOOK("waiters", crowded, waiters),
    ASK("evict", known, evict),
    ASK("request-release", crowded, request),
};
const int acts_sights_count = sizeof(acts_sights) / sizeof(acts_sights[0]);
