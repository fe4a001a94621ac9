/* SPDX-License-Identifier: Apache-2.0 */
/* Operations of users: list a queue, evict or revoke a ticket, set, clear and
 * wait at barriers; and the checks of them. */
#ifndef HF_TESTS_SIMULATOR_CLUSTER_OPERATION_H
#define HF_TESTS_SIMULATOR_CLUSTER_OPERATION_H

#include "core/operation.h"
#include "simulator/cluster/cluster.h"

struct user_operation {
    /* First, because effects have pointers to it. */
    struct hf_operation operation;
    struct client *client;
    uint64_t started_us;
    uint64_t started_ms;     /* on the client's clock */
    struct barrier *barrier; /* the barrier it is about, or NULL */
    bool recalled;
    bool answered;
    bool finished;
    struct user_operation *next;
};

void operation_list(struct client *client, struct lock *lock, uint64_t wait_ms);
/* About the last ticket of ${target}, which may be of another client. */
void operation_evict(struct client *client, struct attempt *target,
                     uint64_t wait_ms);
void operation_revoke(struct client *client, struct attempt *target,
                      uint64_t wait_ms);

/* Set or clear a barrier; wait at one for ${wait_ms}, HF_FOREVER for any time,
 * 0 for not at all. */
void operation_set_barrier(struct client *client, struct barrier *barrier,
                           bool up, uint64_t wait_ms);
struct user_operation *operation_wait(struct client *client,
                                      struct barrier *barrier,
                                      uint64_t wait_ms);
/* Cancel a wait at a barrier, if it has no answer yet. */
void operation_cancel(struct user_operation *user_operation);

/* The core has an effect ANSWERED or DONE; or REVOKED for ${attempt}. */
void operation_effect(const struct hf_effect *effect);
void operation_check_revoked(const struct attempt *attempt);

/* Called every 50 ms: is an answer overdue? */
void operation_check(const struct client *client);

/* Has an operation of ${client} not finished? */
bool operation_is_open(const struct client *client);

/* The process is gone; the end of the run. */
void operation_crash(struct client *client);
void operation_free(struct client *client);

#endif
