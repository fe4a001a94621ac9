/* SPDX-License-Identifier: Apache-2.0 */
/* When a queue is polled next: when the first lease that was seen may have
 * expired, or after the usual interval. */
#include "base/time_math.h"
#include "engines/leased/leased_private.h"

/* The longest time that a lost notice can go unnoticed. */
#define POLL_MAX_MS UINT64_C(5000)

static uint64_t poll_ms(const struct hf_leased *leased)
{
    return hf_min_ms(leased->config.ttl_ms / 2, POLL_MAX_MS);
}

void hf_leased_poll_plan(struct hf_leased *leased,
                         struct hf_leased_queue *queue,
                         const struct hf_store_answer *answer)
{
    uint64_t in_ms = poll_ms(leased);

    if (queue->watches == NULL && queue->queue_watches == NULL)
        return;
    for (size_t i = 0; i < answer->count; i++)
        in_ms = hf_min_ms(in_ms, hf_after_ms(answer->leases[i].expires_in_ms,
                                             HF_LEASED_EXPIRY_SLACK_MS));
    hf_leased_queue_poll_by(&leased->queue_table, queue,
                            hf_after_ms(leased->now_ms, in_ms));
}

void hf_leased_poll_later(struct hf_leased *leased,
                          struct hf_leased_queue *queue)
{
    hf_leased_queue_poll_by(&leased->queue_table, queue,
                            hf_after_ms(leased->now_ms, poll_ms(leased)));
}
