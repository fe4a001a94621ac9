/* SPDX-License-Identifier: Apache-2.0 */
/* What a user wants to know of a queue, or done to somebody in it. */
#ifndef HF_TESTS_SIM_QUESTION_H
#define HF_TESTS_SIM_QUESTION_H

#include "core/operation.h"
#include "world.h"

struct question {
    struct hf_operation operation; /* first: effects name it */
    struct client *client;
    uint64_t asked_us;
    uint64_t asked_ms; /* on the client's clock */
    struct gate *gate; /* that it is about, or NULL */
    bool recalled;
    bool answered;
    bool finished;
    struct question *next;
};

void question_list(struct client *client, struct place *place,
                   uint64_t wait_ms);
/* Of the ticket that ${target} asked for last, by ${client}, anybody. */
void question_evict(struct client *client, struct attempt *target,
                    uint64_t wait_ms);
void question_revoke(struct client *client, struct attempt *target,
                     uint64_t wait_ms);

/* Raise a barrier or lower it, and wait at one: HF_FOREVER, so long, or, for 0,
 * not at all. */
void question_mark(struct client *client, struct gate *gate, bool up,
                   uint64_t wait_ms);
struct question *question_wait(struct client *client, struct gate *gate,
                               uint64_t wait_ms);
/* The user gives it up, if there still is somebody to hear of that. */
void question_recall(struct question *question);

/* ANSWERED or DONE was taken; REVOKED was, of ${attempt}. */
void question_effect(const struct hf_effect *effect);
void question_check_revoked(const struct attempt *attempt);

/* Now and then: is something overdue? */
void question_check(const struct client *client);

/* Has the core one of ${client}'s? */
bool question_open(const struct client *client);

/* Its process is gone; and at the end of the world. */
void question_crash(struct client *client);
void question_free(struct client *client);

#endif
