/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an engine says of queues, as numbers: how many tickets hold and wait,
 * and since when; and as the metrics holdfast_queue_...
 *
 * However many names an engine has, their numbers are few: the most contended
 * names have numbers of their own, names below a prefix of the user's share
 * those of the prefix, and all others share those of "/other".
 */
#ifndef HF_CLI_METRICS_QUEUES_H
#define HF_CLI_METRICS_QUEUES_H

#include <holdfast/names.h>
#include <holdfast/tickets.h>

#include "metrics/openmetrics.h"

/* Tickets of one state. */
struct hf_queue_tickets {
    uint64_t count;
    uint64_t oldest_ms; /* of the oldest ticket whose age is known: since its
                           owner began to ask */
    bool age_known;     /* the age of at least one is known */
};

/* The numbers of a name, or of several together. */
struct hf_queue_numbers {
    const char *name; /* the value of the label */
    struct hf_queue_tickets hold;
    struct hf_queue_tickets wait;
};

/* Count ${count} more ${tickets}, of which ${oldest} is the oldest; NULL: there
 * is none.  ${utc_ms}, the time of day, gives the age of a ticket from another
 * machine. */
void hf_queue_tickets_add(struct hf_queue_tickets *tickets, uint64_t count,
                          const struct hf_ticket_view *oldest, uint64_t utc_ms);

/* Write the families, each with a sample for each of the ${count}
 * ${numbers}. */
void hf_metrics_write_queues(struct hf_openmetrics *out,
                             const struct hf_queue_numbers *numbers,
                             size_t count);

/* ------------------------------------------------------ of all names -- */

/* Prefixes of the user's. */
#define HF_METRICS_FOLDS 16

/* Names that have a sample whether they have a ticket or not. */
#define HF_METRICS_NAMED 64

struct hf_metrics_folds {
    const char *prefixes[HF_METRICS_FOLDS]; /* without a leading '/' */
    size_t count;
    const char *names[HF_METRICS_NAMED]; /* the same, each once */
    size_t name_count;
};

struct hf_metrics_names;

/* An empty sum; NULL if there is no memory.  ${folds} must live on.  A name in
 * .names counts for itself; another one for the first of the prefixes that it
 * is below. */
struct hf_metrics_names *
hf_metrics_names_new(const struct hf_metrics_folds *folds);

/* Count ${view}, unless it is a double barrier, whose participants neither hold
 * nor wait for a lock.  ${utc_ms} is the time of day. */
void hf_metrics_names_add(struct hf_metrics_names *names,
                          const struct hf_name_view *view, uint64_t utc_ms);

/* Write all families; ${unreadable} is how many names could not be read. */
void hf_metrics_names_write(struct hf_openmetrics *out,
                            struct hf_metrics_names *names,
                            uint64_t unreadable);

void hf_metrics_names_free(struct hf_metrics_names *names);

#endif
