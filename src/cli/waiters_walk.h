/* SPDX-License-Identifier: Apache-2.0 */
/* A walk over names that lists the tickets of each that somebody waits for.  It
 * costs the walk itself and these lists, and keeps one page of names and one
 * list. */
#ifndef HF_CLI_WAITERS_WALK_H
#define HF_CLI_WAITERS_WALK_H

#include <stdbool.h>
#include <stdint.h>

#include <holdfast/status.h>

struct hf_tickets;

struct hf_waiters_walk {
    /* Set by the user. */
    struct hf_client *client;
    struct hf_names *names;
    uint64_t wait_ms;  /* that each page, and each list, may take */
    const char *aim;   /* what is looked for, as a terminal shows it */
    uint64_t until_ms; /* CLOCK_BOOTTIME: it stops there; 0: at the last name */
    /* The lock ${name} has ${tickets}, and somebody waits.  A failure ends the
     * walk. */
    hf_status (*visit)(void *arg, const char *name,
                       const struct hf_tickets *tickets,
                       struct hf_error *error);
    void *arg;

    /* What it has seen. */
    uint64_t name_count;
    uint64_t unreadable; /* names and queues that may not be read */
    bool ended;          /* it came to the end of the names */
};

/* Walk to the end.  A queue that may not be read ends no walk. */
hf_status hf_waiters_walk_run(struct hf_waiters_walk *walk,
                              struct hf_error *error);

#endif
