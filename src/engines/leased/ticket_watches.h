/* SPDX-License-Identifier: Apache-2.0 */
/* Watches: who wants to hear that a ticket has gone, or that its owner is asked
 * to let go.  Of one's own ticket nothing is asked for: what is renewed is
 * known. */
#ifndef HF_ENGINES_LEASED_TICKET_WATCHES_H
#define HF_ENGINES_LEASED_TICKET_WATCHES_H

#include <stdbool.h>
#include <stdint.h>

#include "core/engine.h"
#include "engines/leased/queue_table.h"
#include "engines/leased/store.h"

struct hf_leased;
struct hf_leased_call;

struct hf_leased_watch {
    struct hf_tree_node by_ticket; /* first */
    struct hf_request *request;
    struct hf_leased_queue *queue;
    struct hf_ticket_id id;
    uint64_t number; /* in the order in which they were asked for */
    enum hf_ticket_kind kind;
    bool watching;        /* was answered so */
    uint64_t call_number; /* number of the PROBE that will answer it, or 0 */
    uint32_t revoked;     /* that many were told */
    struct hf_leased_watch *next;
    struct hf_leased_watch **previous_next;
};

/* Keep the watches of a queue by ticket and number. */
void hf_leased_watch_tree_init(struct hf_tree *watched);

/* HF_REQUEST_WATCH */
void hf_leased_watch(struct hf_leased *leased, struct hf_request *request);

void hf_leased_watch_forget(struct hf_leased *leased,
                            struct hf_leased_watch *watch);

/* The ticket ${id} is gone from ${queue}, or (${kind} not 0) is not of ${kind}
 * any more: tell those who watch it. */
void hf_leased_watches_gone(struct hf_leased *leased, const char *queue,
                            const struct hf_ticket_id *id,
                            enum hf_ticket_kind kind);

/* Does its owner watch ${own}?  Others who wait behind it are not enough: they
 * would hear that it is gone, and its owner would not. */
bool hf_leased_owner_watches(const struct hf_leased_ticket *ticket);

/* The ticket ${id} is there, as a ticket of ${kind}: answer those who asked,
 * and tell those to whom that kind means that it has gone. */
void hf_leased_watches_found(struct hf_leased *leased,
                             struct hf_leased_queue *queue,
                             const struct hf_ticket_id *id,
                             enum hf_ticket_kind kind);

/* The owner, which is us, was asked to let go of ${id} ${revoked} times in
 * all. */
void hf_leased_watches_revoked(struct hf_leased *leased,
                               const struct hf_ticket_id *id, uint32_t revoked);

/* The PROBE ${op} has failed: so have those that it should have answered. */
void hf_leased_watches_fail(struct hf_leased *leased,
                            const struct hf_leased_call *call,
                            const struct hf_store_answer *answer);

/* The session is over: all end in silence. */
void hf_leased_watches_clear(struct hf_leased *leased);

#endif
