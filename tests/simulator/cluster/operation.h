/* SPDX-License-Identifier: Apache-2.0 */
/* What a user wants to know of a queue, or done to somebody in it. */
#ifndef HF_TESTS_SIMULATOR_CLUSTER_OPERATION_H
#define HF_TESTS_SIMULATOR_CLUSTER_OPERATION_H

#include "core/operation.h"
#include "simulator/cluster/cluster.h"

struct user_operation {
    struct hf_operation operation; /* first: effects name it */
    struct client *client;
    uint64_t asked_us;
    uint64_t asked_ms;       /* on the client's clock */
    struct barrier *barrier; /* that it is about, or NULL */
    bool recalled;
    bool answered;
    bool finished;
    struct user_operation *next;
};

void operation_list(struct client *client, struct lock *lock, uint64_t wait_ms);
/* Of the ticket that ${target} asked for last, by ${client}, anybody. */
void operation_evict(struct client *client, struct attempt *target,
                     uint64_t wait_ms);
void operation_revoke(struct client *client, struct attempt *target,
                      uint64_t wait_ms);

/* Raise a barrier or lower it, and wait at one: HF_FOREVER, so long, or, for 0,
 * not at all. */
void operation_set_barrier(struct client *client, struct barrier *barrier,
                           bool up, uint64_t wait_ms);
struct user_operation *operation_wait(struct client *client,
                                      struct barrier *barrier,
                                      uint64_t wait_ms);
/* The user gives it up, if there still is somebody to hear of that. */
void operation_cancel(struct user_operation *user_operation);

/* ANSWERED or DONE was taken; REVOKED was, of ${attempt}. */
void operation_effect(const struct hf_effect *effect);
void operation_check_revoked(const struct attempt *attempt);

/* Now and then: is something overdue? */
void operation_check(const struct client *client);

/* Has the core one of ${client}'s? */
bool operation_is_open(const struct client *client);

/* Its process is gone; and at the end of the cluster. */
void operation_crash(struct client *client);
void operation_free(struct client *client);

#endif
