/* SPDX-License-Identifier: Apache-2.0 */
/* The environment that the command is started with. */
#ifndef HF_CLI_ENVIRONMENT_H
#define HF_CLI_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/held_locks.h"

struct hf_environment {
    char **entries; /* for execve(): NAME=VALUE, the last is NULL */
    char *text;     /* of the variables that are ours */
};

/* What the command is told. */
struct hf_environment_values {
    const char *url; /* as the tool used it */
    size_t count;    /* of the names, at most HF_LOCKS_MAX */
    const char *names[HF_LOCKS_MAX];
    uint64_t tokens[HF_LOCKS_MAX];
    /* What the run holds but for .ticket and .name, which go by the name. */
    struct hf_held_lock held;
    char tickets[HF_LOCKS_MAX][HF_HELD_LOCK_TICKET_BYTES];
};

/* Make our own environment into the command's: with HOLDFAST_NAME(S),
 * HOLDFAST_TOKEN(S), HOLDFAST_HELD and HOLDFAST_URL, and without the latter if
 * ${facts}->url holds a secret.  False if there is no memory.
 * Ownership: ${environment} borrows from environ and wants
 * hf_environment_free(). */
bool hf_environment_make(const struct hf_environment_values *facts,
                         struct hf_environment *environment);
void hf_environment_free(struct hf_environment *environment);

#endif
