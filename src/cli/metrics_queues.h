/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an engine says of queues, as numbers: how many tickets hold and wait,
 * and since when; and as the metrics holdfast_queue_...
 */
#ifndef HF_CLI_METRICS_QUEUES_H
#define HF_CLI_METRICS_QUEUES_H

#include <holdfast/tickets.h>

#include "metrics/openmetrics.h"

/* Tickets of one state. */
struct hf_queue_tickets {
    uint64_t count;
    uint64_t oldest_ms; /* since the oldest one's owner began to ask, of those
                           whose age is known */
    bool age_known;     /* that of one at least */
};

/* The numbers of a name, or of several together. */
struct hf_queue_numbers {
    const char *name; /* the value of the label */
    struct hf_queue_tickets hold;
    struct hf_queue_tickets wait;
};

/* Count ${count} tickets of ${numbers}, whose oldest is ${oldest} (NULL: none
 * has a known age).  ${utc_ms}, the time of day, gives the age of a ticket from
 * another machine. */
void hf_queue_tickets_add(struct hf_queue_tickets *tickets, uint64_t count,
                          const struct hf_ticket_view *oldest, uint64_t utc_ms);

/* Count those of ${other} among ${numbers}. */
void hf_queue_numbers_add(struct hf_queue_numbers *numbers,
                          const struct hf_queue_numbers *other);

/* Write the families, each with a sample for each of the ${count}
 * ${numbers}. */
void hf_metrics_write_queues(struct hf_openmetrics *out,
                             const struct hf_queue_numbers *numbers,
                             size_t count);

#endif
