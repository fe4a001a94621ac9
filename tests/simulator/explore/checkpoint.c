/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A checkpoint of a cluster: the model's checkpoint, a copy of the arena, and
 * copies of the struct cluster and of all attempts, which are restored in
 * place.
 */
#include "simulator/explore/checkpoint.h"

#include <stdlib.h>
#include <string.h>

#include "simulator/explore/arena.h"
#include "simulator/model/plain_checkpoint.h"

struct kept_attempt {
    struct attempt *at;
    struct attempt copy;
};

/* The array of tickets is long and mostly unused: its used part is behind the
 * attempts. */
struct checkpoint {
    struct hf_sim_checkpoint *sim;
    struct arena_copy *arena;
    size_t attempt_count;
    struct ticket_record *tickets;
    unsigned char before[offsetof(struct cluster, tickets)];
    unsigned char
        after[sizeof(struct cluster) - offsetof(struct cluster, ticket_count)];
    struct kept_attempt attempts[];
};

static size_t count_attempts(const struct cluster *cluster)
{
    size_t count = 0;

    for (unsigned i = 0; i < cluster->client_count; i++)
        for (struct attempt *a = cluster->clients[i].attempts; a != NULL;
             a = a->next)
            count++;
    return count;
}

struct checkpoint *checkpoint_new(const struct cluster *cluster)
{
    size_t attempts = count_attempts(cluster);
    size_t ticket_bytes = cluster->ticket_count * sizeof cluster->tickets[0];
    size_t bytes =
        sizeof(struct checkpoint) + attempts * sizeof(struct kept_attempt);
    struct checkpoint *checkpoint = malloc(bytes + ticket_bytes);

    if (checkpoint == NULL)
        abort();
    checkpoint->sim = hf_sim_checkpoint_new(cluster->sim);
    checkpoint->arena = arena_save();
    checkpoint->attempt_count = 0;
    memcpy(checkpoint->before, cluster, sizeof checkpoint->before);
    memcpy(checkpoint->after, &cluster->ticket_count, sizeof checkpoint->after);
    for (unsigned i = 0; i < cluster->client_count; i++) {
        for (struct attempt *a = cluster->clients[i].attempts; a != NULL;
             a = a->next) {
            struct kept_attempt *kept =
                &checkpoint->attempts[checkpoint->attempt_count++];

            kept->at = a;
            memcpy(&kept->copy, a, sizeof *a);
        }
    }
    checkpoint->tickets =
        (struct ticket_record *)(void *)&checkpoint->attempts[attempts];
    memcpy(checkpoint->tickets, cluster->tickets, ticket_bytes);
    return checkpoint;
}

/* Free the attempts that were made since. */
static void free_newer(struct cluster *cluster,
                       const struct checkpoint *checkpoint)
{
    for (unsigned i = 0; i < cluster->client_count; i++) {
        struct attempt *a = cluster->clients[i].attempts;
        struct attempt *older;

        for (; a != NULL; a = older) {
            size_t k = 0;

            while (k < checkpoint->attempt_count &&
                   checkpoint->attempts[k].at != a)
                k++;
            older = a->next;
            if (k < checkpoint->attempt_count)
                break; /* and all before it are older */
            free(a);
        }
    }
}

void checkpoint_restore(const struct checkpoint *checkpoint,
                        struct cluster *cluster)
{
    free_newer(cluster, checkpoint);
    hf_sim_checkpoint_restore(checkpoint->sim, cluster->sim);
    arena_restore(checkpoint->arena);
    memcpy(cluster, checkpoint->before, sizeof checkpoint->before);
    memcpy(&cluster->ticket_count, checkpoint->after, sizeof checkpoint->after);
    memcpy(cluster->tickets, checkpoint->tickets,
           cluster->ticket_count * sizeof cluster->tickets[0]);
    for (size_t i = 0; i < checkpoint->attempt_count; i++)
        memcpy(checkpoint->attempts[i].at, &checkpoint->attempts[i].copy,
               sizeof checkpoint->attempts[i].copy);
}

void checkpoint_free(struct checkpoint *checkpoint)
{
    hf_sim_checkpoint_free(checkpoint->sim);
    free(checkpoint->arena);
    free(checkpoint);
}
