/* SPDX-License-Identifier: Apache-2.0 */
/* Our tickets: what was agreed on of each, and where it is missing. */
#ifndef HF_ENGINES_QUORUM_OWN_H
#define HF_ENGINES_QUORUM_OWN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engines/leased/store.h"

#define HF_QUORUM_OWN_BUCKETS 64

struct hf_quorum_own {
    struct hf_ticket_id id;
    char *queue;
    enum hf_ticket_kind kind;
    uint32_t weight;
    char *payload;
    uint64_t number; /* agreed on; 0: not yet */
    /* Nothing will be agreed on any more: its enqueue came to nothing, or to
     * nobody knows what.  It is in no list of ours. */
    bool dead;
    bool leaving;     /* it is being withdrawn */
    uint32_t missing; /* servers that do not have it */
    uint64_t renewal; /* number of the last RENEW that named it, or 0 */
    /* The ticket before it was only proposed when we last saw the queue, and
     * may settle behind it: its watcher is told GONE then, to look again.  A
     * server tells that too, but may be cut off. */
    struct hf_ticket_id before;
    uint64_t look_at_ms; /* HF_FOREVER: there is no such ticket */
    uint64_t look_every_ms;
    struct hf_quorum_own *next;
};

struct hf_quorum_owns {
    struct hf_quorum_own *buckets[HF_QUORUM_OWN_BUCKETS];
};

struct hf_quorum_own *hf_quorum_own_find(const struct hf_quorum_owns *owns,
                                         const struct hf_ticket_id *id);

/* That of ${call}, an ENQUEUE, made if it is not there.  NULL for lack of
 * memory. */
struct hf_quorum_own *hf_quorum_own_get(struct hf_quorum_owns *owns,
                                        const struct hf_store_call *call);

/* It says ${payload} from now on; what it said, for lack of memory. */
void hf_quorum_own_describe(struct hf_quorum_own *own, const char *payload);

void hf_quorum_own_drop(struct hf_quorum_owns *owns, struct hf_quorum_own *own);
void hf_quorum_owns_clear(struct hf_quorum_owns *owns);

/* The first, and the one behind ${own}; NULL: none. */
struct hf_quorum_own *hf_quorum_own_first(const struct hf_quorum_owns *owns);
struct hf_quorum_own *hf_quorum_own_after(const struct hf_quorum_owns *owns,
                                          const struct hf_quorum_own *own);

/* The greatest number of ours in ${queue}; 0: none. */
uint64_t hf_quorum_own_number(const struct hf_quorum_owns *owns,
                              const char *queue);

#endif
