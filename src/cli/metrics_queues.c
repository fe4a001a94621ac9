/* SPDX-License-Identifier: Apache-2.0 */
/* See metrics_queues.h.  The samples of a family are written one behind the
 * other, as OpenMetrics wants them. */
#include "cli/metrics_queues.h"

#include "command/format.h"

#define MICROSECONDS_PER_MS 1000

static void keep_oldest(struct hf_queue_tickets *tickets, uint64_t age_ms)
{
    tickets->age_known = true;
    if (age_ms > tickets->oldest_ms)
        tickets->oldest_ms = age_ms;
}

void hf_queue_tickets_add(struct hf_queue_tickets *tickets, uint64_t count,
                          const struct hf_ticket_view *oldest, uint64_t utc_ms)
{
    uint64_t age_ms =
        oldest != NULL ? hf_format_age_ms(oldest, utc_ms, NULL) : HF_FOREVER;

    tickets->count += count;
    if (age_ms != HF_FOREVER)
        keep_oldest(tickets, age_ms);
}

static void add_tickets(struct hf_queue_tickets *tickets,
                        const struct hf_queue_tickets *other)
{
    tickets->count += other->count;
    if (other->age_known)
        keep_oldest(tickets, other->oldest_ms);
}

void hf_queue_numbers_add(struct hf_queue_numbers *numbers,
                          const struct hf_queue_numbers *other)
{
    add_tickets(&numbers->hold, &other->hold);
    add_tickets(&numbers->wait, &other->wait);
}

/* Write how many tickets there are. */
static void write_counts(struct hf_openmetrics *out,
                         const struct hf_metric_family *family,
                         const struct hf_queue_numbers *numbers, size_t count,
                         bool hold)
{
    hf_openmetrics_family(out, family);
    for (size_t i = 0; i < count; i++)
        hf_openmetrics_number(
            out, family, (struct hf_metric_label){"name", numbers[i].name},
            hold ? numbers[i].hold.count : numbers[i].wait.count);
}

/* Write how old the oldest ticket is.  Nothing stands for tickets of which no
 * age is known. */
static void write_ages(struct hf_openmetrics *out,
                       const struct hf_metric_family *family,
                       const struct hf_queue_numbers *numbers, size_t count,
                       bool hold)
{
    hf_openmetrics_family(out, family);
    for (size_t i = 0; i < count; i++) {
        const struct hf_queue_tickets *tickets =
            hold ? &numbers[i].hold : &numbers[i].wait;

        if (tickets->count == 0 || tickets->age_known)
            hf_openmetrics_number(
                out, family, (struct hf_metric_label){"name", numbers[i].name},
                tickets->oldest_ms * MICROSECONDS_PER_MS);
    }
}

void hf_metrics_write_queues(struct hf_openmetrics *out,
                             const struct hf_queue_numbers *numbers,
                             size_t count)
{
    static const struct hf_metric_family holders = {
        "holdfast_queue_holders", HF_METRIC_GAUGE,
        "Tickets that hold the lock, or permits of the semaphore."};
    static const struct hf_metric_family waiters = {
        "holdfast_queue_waiters", HF_METRIC_GAUGE, "Tickets that wait."};
    static const struct hf_metric_family oldest_wait = {
        "holdfast_queue_oldest_wait_seconds", HF_METRIC_GAUGE_SECONDS,
        "Time since the oldest waiter began to ask; not there if that is not "
        "known."};
    static const struct hf_metric_family oldest_hold = {
        "holdfast_queue_oldest_hold_seconds", HF_METRIC_GAUGE_SECONDS,
        "Time since the oldest holder began to ask, so at most that long it "
        "has held; not there if that is not known."};

    write_counts(out, &holders, numbers, count, true);
    write_counts(out, &waiters, numbers, count, false);
    write_ages(out, &oldest_wait, numbers, count, false);
    write_ages(out, &oldest_hold, numbers, count, true);
}
