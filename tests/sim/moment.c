/* SPDX-License-Identifier: Apache-2.0 */
#include "moment.h"

#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "engines/sim/moment.h"

struct kept_attempt {
    struct attempt *at;
    struct attempt copy;
};

/* The world's array of tickets is long and mostly empty: what is used of it
 * comes behind the attempts. */
struct moment {
    struct hf_sim_moment *sim;
    struct arena_copy *arena;
    size_t attempt_count;
    struct ticket_record *tickets;
    unsigned char before[offsetof(struct world, tickets)];
    unsigned char
        after[sizeof(struct world) - offsetof(struct world, ticket_count)];
    struct kept_attempt attempts[];
};

static size_t count_attempts(const struct world *world)
{
    size_t count = 0;

    for (unsigned i = 0; i < world->client_count; i++)
        for (struct attempt *a = world->clients[i].attempts; a != NULL;
             a = a->next)
            count++;
    return count;
}

struct moment *moment_new(const struct world *world)
{
    size_t attempts = count_attempts(world);
    size_t ticket_bytes = world->ticket_count * sizeof world->tickets[0];
    size_t bytes =
        sizeof(struct moment) + attempts * sizeof(struct kept_attempt);
    struct moment *moment = malloc(bytes + ticket_bytes);

    if (moment == NULL)
        abort();
    moment->sim = hf_sim_moment_new(world->sim);
    moment->arena = arena_save();
    moment->attempt_count = 0;
    memcpy(moment->before, world, sizeof moment->before);
    memcpy(moment->after, &world->ticket_count, sizeof moment->after);
    for (unsigned i = 0; i < world->client_count; i++) {
        for (struct attempt *a = world->clients[i].attempts; a != NULL;
             a = a->next) {
            struct kept_attempt *kept =
                &moment->attempts[moment->attempt_count++];

            kept->at = a;
            memcpy(&kept->copy, a, sizeof *a);
        }
    }
    moment->tickets =
        (struct ticket_record *)(void *)&moment->attempts[attempts];
    memcpy(moment->tickets, world->tickets, ticket_bytes);
    return moment;
}

/* Those that began since never were. */
static void free_newer(struct world *world, const struct moment *moment)
{
    for (unsigned i = 0; i < world->client_count; i++) {
        struct attempt *a = world->clients[i].attempts;
        struct attempt *older;

        for (; a != NULL; a = older) {
            size_t k = 0;

            while (k < moment->attempt_count && moment->attempts[k].at != a)
                k++;
            older = a->next;
            if (k < moment->attempt_count)
                break; /* and so were all before it */
            free(a);
        }
    }
}

void moment_return(const struct moment *moment, struct world *world)
{
    free_newer(world, moment);
    hf_sim_moment_return(moment->sim, world->sim);
    arena_restore(moment->arena);
    memcpy(world, moment->before, sizeof moment->before);
    memcpy(&world->ticket_count, moment->after, sizeof moment->after);
    memcpy(world->tickets, moment->tickets,
           world->ticket_count * sizeof world->tickets[0]);
    for (size_t i = 0; i < moment->attempt_count; i++)
        memcpy(moment->attempts[i].at, &moment->attempts[i].copy,
               sizeof moment->attempts[i].copy);
}

void moment_free(struct moment *moment)
{
    hf_sim_moment_free(moment->sim);
    free(moment->arena);
    free(moment);
}
