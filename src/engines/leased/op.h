/* SPDX-License-Identifier: Apache-2.0 */
/* A call of the store under way, and on whose behalf. */
#ifndef HF_ENGINES_LEASED_OP_H
#define HF_ENGINES_LEASED_OP_H

#include "engines/leased/queue.h"
#include "engines/leased/store.h"

struct hf_leased;
struct hf_leased_op;

/* ${answer} is NULL if the link has ended before it came.  The operation is
 * off the list and is freed when this returns. */
typedef void hf_leased_answered_fn(struct hf_leased *leased,
                                   struct hf_leased_op *op,
                                   const struct hf_store_answer *answer);

struct hf_leased_op {
    struct hf_store_call call;     /* the first member */
    struct hf_request *request;    /* NULL: the session's own, or taken back */
    struct hf_leased_queue *queue; /* NULL: of all */
    hf_leased_answered_fn *answered;
    uint64_t number; /* in the order in which they were made */
    uint64_t sent_at_ms;
    uint64_t deadline_at_ms;
    void *memory; /* what the call points to */
    struct hf_leased_op *previous;
    struct hf_leased_op *next;
};

/* Oldest first. */
struct hf_leased_ops {
    struct hf_leased_op *first;
    struct hf_leased_op *last;
    uint64_t number; /* of the last that was made */
};

/* For a call about ${queue} (a name, NULL: none) on behalf of ${request} (NULL:
 * nobody).  NULL for lack of memory. */
struct hf_leased_op *hf_leased_op_new(struct hf_leased *leased,
                                      enum hf_store_call_kind kind,
                                      const char *queue,
                                      struct hf_request *request);

/* Hand its call to the store. */
void hf_leased_op_begin(struct hf_leased *leased, struct hf_leased_op *op,
                        hf_leased_answered_fn *answered);

/* It has been answered: tell, and free it. */
void hf_leased_op_end(struct hf_leased *leased, struct hf_leased_op *op,
                      const struct hf_store_answer *answer);

/* Free one that was not begun. */
void hf_leased_op_free(struct hf_leased *leased, struct hf_leased_op *op);

/* The link has ended: end all. */
void hf_leased_ops_cut(struct hf_leased *leased);

/* The deadline of the oldest, HF_FOREVER if there is none. */
uint64_t hf_leased_ops_deadline_ms(const struct hf_leased *leased);

#endif
