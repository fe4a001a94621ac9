/* SPDX-License-Identifier: Apache-2.0 */
/* The beginning of a ticket watch.  A watch of another session's ticket begins
 * with a poll for it.  A watch of our own ticket needs none, because renewals
 * cover it. */
#include "engines/leased/watch_request.h"

#include "base/memory.h"
#include "engines/leased/leased_private.h"

/* Is it our ticket, and was it at the server by the last answer? */
static bool is_present(const struct hf_leased_ticket *ticket)
{
    return ticket != NULL && ticket->state == HF_LEASED_TICKET_PRESENT;
}

void hf_leased_watch(struct hf_leased *leased, struct hf_request *request)
{
    struct hf_leased_ticket *ticket =
        hf_leased_ticket_find(leased, &request->ticket);
    struct hf_leased_watch *watch = hf_leased_watch_new(leased, request);

    if (watch == NULL) {
        hf_leased_fail_no_memory(leased, request);
        return;
    }
    if (!is_present(ticket)) {
        if (!hf_leased_poll_for(leased, watch)) {
            hf_leased_watch_forget(leased, watch);
            hf_leased_fail_no_memory(leased, request);
        }
        return;
    }
    if (ticket->loss_unreported) {
        char *why = ticket->why;

        ticket->why = NULL;
        hf_leased_ticket_remove(leased, ticket);
        hf_leased_watch_notify_gone(leased, watch,
                                    why != NULL ? why : HF_LEASED_MISSING);
        hf_free(why);
        return;
    }
    if (watch->kind == HF_TICKET_WRITE && ticket->kind == HF_TICKET_READ) {
        hf_leased_watch_notify_gone(leased, watch, NULL);
        return;
    }
    hf_leased_watch_notify_watching(leased, watch);
    ticket = hf_leased_ticket_find(leased, &request->ticket);
    if (ticket != NULL)
        hf_leased_watches_notify_revoked(leased, ticket);
}
