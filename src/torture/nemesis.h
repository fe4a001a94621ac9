/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Contenders that are set against each other, killed and frozen at random, and
 * what they and their tormentor note, in one file.
 */
#ifndef HF_TORTURE_NEMESIS_H
#define HF_TORTURE_NEMESIS_H

#include <stdio.h>

#include "torture/worker.h"

#define HF_WORKERS_MAX 64

struct hf_torture_opts {
    const char *url;  /* NULL: as hf_client_open() has it */
    const char *lock; /* as of a contender, as the next */
    unsigned kinds;
    unsigned count; /* of contenders, 1 to HF_WORKERS_MAX */
    uint64_t for_ms;
    uint64_t fault_every_ms; /* on average; 0: never */
    uint64_t seed;
};

/* Have it all happen, noted in ${history}: 0, or the exit status if it could
 * not, which it has said.  SIGINT and SIGTERM end it earlier, in good order. */
int hf_torture_run(const struct hf_torture_opts *opts, FILE *history);

#endif
