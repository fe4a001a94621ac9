/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is seen of a name.  Nothing says whether it is a lock with one queue, a
 * semaphore or a double barrier, so it is looked at as each.
 */
#ifndef HF_CLI_SIGHTS_H
#define HF_CLI_SIGHTS_H

#include <holdfast/holdfast.h>

enum {
    HF_SIGHT_PLAIN,
    HF_SIGHT_SEMAPHORE,
    HF_SIGHT_MEMBERS, /* no lock, and nothing where there are none */
    HF_SIGHTS
};

struct hf_sights {
    const char *name; /* without a leading '/'; .locks[0]'s */
    struct hf_lock *locks[HF_SIGHT_MEMBERS];
    struct hf_double_barrier *barrier;
    struct hf_tickets *tickets[HF_SIGHTS];
};

/* Look at those tickets of the lock called ${name} that ${which} names, within
 * ${wait_ms}; HF_TICKETS_ALL is those of a double barrier too.  On failure fill
 * ${error}.  ${sights} wants hf_sights_free() either way. */
hf_status hf_sights_look(struct hf_client *client, const char *name,
                         enum hf_tickets_which which, uint64_t wait_ms,
                         struct hf_sights *sights, struct hf_error *error);
void hf_sights_free(struct hf_sights *sights);

/* The ticket at ${place}, from 0, of all that are seen; NULL beyond the last.
 */
const struct hf_ticket_view *hf_sights_at(const struct hf_sights *sights,
                                          size_t place);

/* The name of the ${n}th thing, from 0, that is neither a ticket nor a queue of
 * a semaphore, nor of a double barrier; NULL beyond the last. */
const char *hf_sights_unknown(const struct hf_sights *sights, size_t n);

#endif
