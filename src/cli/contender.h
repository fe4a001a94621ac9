/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process that wants a lock again and again, and notes what it does and is
 * told: one of those that holdfast torture sets against each other.
 */
#ifndef HF_CLI_CONTENDER_H
#define HF_CLI_CONTENDER_H

#include <stdatomic.h>

#include <holdfast/holdfast.h>

/* What the lock protects: it takes no write with a token less than it has
 * seen.  In memory that all contenders share. */
struct hf_resource {
    _Atomic uint64_t token;
    _Atomic unsigned holder; /* the .number of one that holds; 0: nobody */
};

struct hf_contender {
    const char *url; /* NULL: as hf_client_open() has it */
    const char *lock;
    enum hf_kind kind; /* MUTEX, SEMAPHORE; WRITE: now that, now READ */
    const char *name;  /* of the client, in the history */
    unsigned number;   /* among all contenders, from 1 */
    uint64_t seed;
    struct hf_resource *resource;
    int history; /* a pipe: where it notes */
};

/* Contend until SIGTERM, then let go and return: 0, or the exit status of a
 * failure that trying again does not mend, which it has said. */
int hf_contender_main(const struct hf_contender *contender);

#endif
