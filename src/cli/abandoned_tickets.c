/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tickets of a supervisor that was killed.  Under a lease they would stay in
 * their queues until the lease ends, and nobody would hold the lock meanwhile.
 */
#include "cli/launcher.h"

#include <holdfast/tickets.h>

#include "cli/list_client.h"
#include "command/clock.h"

/* How long removing all of them may take, without closing the client. */
#define HF_REMOVAL_MS 3000

/* Remove the ticket for the name number ${i}; give up at ${until_ms}. */
static hf_status remove_ticket(struct hf_client *client,
                               const struct hf_run *run, int i,
                               uint64_t until_ms)
{
    const struct hf_run_options *options = run->options;
    struct hf_lock_opts opts = HF_LOCK_OPTS_INIT;
    char id[HF_TICKET_ID_TEXT_BYTES];
    uint64_t now_ms = hf_clock_now_ms();
    struct hf_lock *lock;
    hf_status status;

    opts.kind = options->kind;
    opts.permits = options->permits;
    opts.limit = options->limit;
    if (now_ms >= until_ms)
        return HF_ETIMEDOUT;
    status = hf_lock_open(client, options->names[i], &opts, &lock);
    if (status != HF_OK)
        return status;
    hf_ticket_id_format(&run->page->tickets[i], id);
    status = hf_lock_evict(lock, id, NULL, until_ms - now_ms);
    hf_lock_free(lock);
    return status == HF_EGONE ? HF_OK : status;
}

void hf_abandoned_tickets_remove(const struct hf_run *run)
{
    uint64_t until_ms = hf_clock_now_ms() + HF_REMOVAL_MS;
    struct hf_client *client;

    if (hf_list_client_open(run->options->url, HF_REMOVAL_MS, HF_LOG_ERROR,
                            &client) != HF_OK)
        return;
    for (int i = 0; i < run->options->name_count; i++)
        if (remove_ticket(client, run, i, until_ms) != HF_OK)
            break;
    (void)hf_client_close(client);
}
