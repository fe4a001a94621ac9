/* SPDX-License-Identifier: Apache-2.0 */
/* HF_REQUEST_PROVE: a transaction that changes nothing.  A multi of checks is
 * committed like any write, fires no watch, and fails if one of the tickets is
 * gone.  Its commit proves that the session lives (zookeeper/proof.h). */
#include "engines/zookeeper/zk_request.h"

/* Nodes checked by one request.  With more tickets they take turns.  A single
 * ticket may have more nodes. */
#define CHECKS_MAX 32

/* Move the first ${count} tickets, which were checked, behind all others for
 * the next time. */
static void move_checked_last(struct hf_zk *zk, unsigned count)
{
    struct hf_zk_own_ticket *own_ticket = zk->own_tickets.first, *next;

    for (unsigned i = 0; i < count; i++, own_ticket = next) {
        next = own_ticket->next;
        hf_zk_own_ticket_move_last(zk, own_ticket);
    }
}

/* Write the checks.  A ticket that is being deleted, or may have another name
 * by now, would fail all of them and is left out.  Without any ticket the root
 * is checked. */
static void put_checks(struct hf_zk *zk)
{
    struct hf_zk_own_ticket *own_ticket = zk->own_tickets.first;
    unsigned count = 0;
    uint32_t nodes = 0;
    bool any = false;

    for (; own_ticket != NULL &&
           (count == 0 || nodes + own_ticket->weight <= CHECKS_MAX);
         own_ticket = own_ticket->next) {
        bool checks = !own_ticket->removing && !own_ticket->downgrading;

        for (uint32_t i = 0; i < own_ticket->weight && checks; i++) {
            hf_zk_multi_check(&zk->session,
                              hf_zk_own_ticket_path(zk, own_ticket, i));
            any = true;
        }
        nodes += own_ticket->weight;
        count++;
    }
    if (!any)
        hf_zk_multi_check(&zk->session, zk->config.url.chroot[0] != '\0'
                                            ? zk->config.url.chroot
                                            : "/");
    move_checked_last(zk, count);
}

/* The answer to the multi. */
static void checked(void *user, struct hf_zk_call *call,
                    const struct hf_zk_reply *reply)
{
    struct hf_zk *zk = user;
    struct hf_event event = {.kind = HF_EVENT_PROVEN};
    struct hf_zk_request *req = call->owner;
    enum hf_zk_error error = reply->error;
    bool passed = error == HF_ZK_OK &&
                  hf_zk_multi_result(&reply->body, NULL, 0) == HF_ZK_OK;

    if (passed)
        event.as.answer.anchor_ms = hf_zk_call_proves_ms(&zk->session, call);
    req->pending--;
    event.as.answer.request = hf_zk_request_end(zk, req);
    if (error != HF_ZK_OK)
        hf_zk_fail_with_error(zk, event.as.answer.request, error,
                              "check tickets below", zk->config.url.chroot);
    else if (!passed)
        hf_zk_fail(zk, event.as.answer.request, HF_FAILURE_RETRY, HF_EPROTOCOL,
                   "a ticket that was to be checked is gone");
    else
        hf_zk_notify(zk, &event);
}

/* The proof itself is computed from the times at which calls were sent and
 * answered, see zookeeper/proof.h. */
void hf_zk_prove(struct hf_zk *zk, struct hf_request *request)
{
    struct hf_zk_request *req = hf_zk_request_new(zk, request);
    size_t begin;

    if (req == NULL)
        return;
    begin = hf_zk_call_begin(&zk->session, hf_zk_request_call(req, checked),
                             HF_ZK_MULTI);
    put_checks(zk);
    hf_zk_multi_end(&zk->session, begin);
}
