/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process that bids for locks of one kind or of all, again and again, and
 * notes what it does and is told: one of those that holdfast torture sets
 * against each other.
 */
#ifndef HF_CLI_CONTENDER_H
#define HF_CLI_CONTENDER_H

#include "cli/bid.h"

/* A set of enum hf_bid_kind. */
#define HF_BID_SET(kind) (1U << (kind))
#define HF_BID_SET_ALL ((1U << HF_BIDS) - 1)

/* Who bids for all goes one way to the mutex: of so many one after another one
 * takes it by the tool, which costs more, and one as a reentrant mutex. */
#define HF_CONTENDER_MUTEX_WAYS 4

struct hf_contender {
    const char *url;  /* NULL: as hf_client_open() has it */
    const char *lock; /* of the one kind, or what those of all are below */
    unsigned kinds;   /* the set of what it bids for */
    const char *name; /* of the client, in the history */
    unsigned number;  /* among all contenders, from 1 */
    uint64_t seed;
    struct hf_resource *resources; /* HF_RESOURCES of them */
    int history;                   /* a pipe: where it notes */
};

/* How many resources there are, whatever is bid for. */
#define HF_RESOURCES ((size_t)HF_BIDS * HF_BID_LOCKS)

/* Contend until SIGTERM, then let go and return: 0, or the exit status of a
 * failure that trying again does not mend, which it has said. */
int hf_contender_main(const struct hf_contender *contender);

#endif
