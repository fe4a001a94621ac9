/* SPDX-License-Identifier: Apache-2.0 */
/* The environment that the command is started with. */
#ifndef HF_CLI_ENVIRONMENT_H
#define HF_CLI_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/held_locks.h"

struct hf_environment {
    char **entries; /* for execve(): "NAME=VALUE"; the last is NULL */
    char *text; /* our own variables, one after the other, each with its NUL */
    int url_fd; /* a descriptor that the command has to inherit, because the URL
                   is in it (client/client_url.h); -1: none */
};

/* What the variables say. */
struct hf_environment_values {
    const char *url;                 /* the URL that the run uses */
    size_t count;                    /* how many locks */
    const char *names[HF_LOCKS_MAX]; /* in the order of the command line */
    uint64_t tokens[HF_LOCKS_MAX];   /* the fencing token of each */
    /* What is the same for all locks of the run; .ticket and .name are not
     * used. */
    struct hf_held_lock held;
    char tickets[HF_LOCKS_MAX]
                [HF_HELD_LOCK_TICKET_BYTES]; /* the id of each, cut */
};

/* Make the command's environment from ours: HOLDFAST_NAME(S),
 * HOLDFAST_TOKEN(S), HOLDFAST_HELD and HOLDFAST_URL are set.  If
 * ${values}->url has a secret, HOLDFAST_URL is a reference to a descriptor that
 * has the URL.  False with errno if there is no memory or no descriptor.
 *   Ownership  ${environment} points into environ, and must be freed with
 *              hf_environment_free(), also after a failure. */
bool hf_environment_make(const struct hf_environment_values *values,
                         struct hf_environment *environment);
/* Free what hf_environment_make() made, and close the descriptor. */
void hf_environment_free(struct hf_environment *environment);

#endif
