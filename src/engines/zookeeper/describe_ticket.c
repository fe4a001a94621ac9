/* SPDX-License-Identifier: Apache-2.0 */
/* HF_REQUEST_DESCRIBE: write the data of our ticket's nodes, one after the
 * other.
 *
 * A node is written only in the version that its watch has read, because the
 * owner must have been notified of whatever is overwritten.  A revoke request
 * that comes in between changes the version.  It fires the watch, the core is
 * notified, and describes the ticket again.  The event of our own write makes
 * the watch read the data like any other; the data do not ask for anything. */
#include "engines/zookeeper/zk_request.h"

static void describe_next(struct hf_zk *zk, struct hf_zk_request *req);

/* Answer the request.  ${found}: all nodes of the ticket were written. */
static void answer(struct hf_zk *zk, struct hf_zk_request *req, bool found)
{
    struct hf_event event = {.kind = HF_EVENT_DESCRIBED};

    event.as.answer.found = found;
    event.as.answer.request = hf_zk_request_end(zk, req);
    hf_zk_notify(zk, &event);
}

/* Fail with RETRY because the version of a node is not known at the moment. */
static void fail_unread(struct hf_zk *zk, struct hf_zk_request *req)
{
    hf_zk_fail(zk, hf_zk_request_end(zk, req), HF_FAILURE_RETRY, HF_EBUSY,
               "the ticket is being read, as it may have changed");
}

/* One node has been written, or could not be. */
static void node_written(struct hf_zk *zk, struct hf_zk_request *req)
{
    if (req->error == HF_ZK_OK)
        describe_next(zk, req);
    else if (req->error == HF_ZK_NO_NODE)
        answer(zk, req, false);
    else if (req->error == HF_ZK_BAD_VERSION)
        fail_unread(zk, req);
    else
        hf_zk_request_fail(zk, req, req->error,
                           "describe the owner of a ticket of",
                           req->queue->path);
}

/* Write the next node; .attempts counts those already written. */
static void describe_next(struct hf_zk *zk, struct hf_zk_request *req)
{
    const struct hf_zk_own_ticket *own_ticket =
        hf_zk_own_ticket_find(zk, &req->request->ticket);
    const char *path;
    int32_t version;

    if (own_ticket == NULL || own_ticket->removing ||
        req->attempts == own_ticket->weight) {
        answer(zk, req, own_ticket != NULL && !own_ticket->removing);
        return;
    }
    path = hf_zk_own_ticket_path(zk, own_ticket, req->attempts++);
    if (own_ticket->downgrading || !hf_zk_session_usable(&zk->session) ||
        !hf_zk_watches_version(zk, path, &version)) {
        fail_unread(zk, req);
        return;
    }
    hf_zk_request_step(req, node_written);
    hf_zk_send_set_data(&zk->session,
                        hf_zk_request_call(req, hf_zk_request_error_answered),
                        path, req->request->payload, version);
}

void hf_zk_describe_ticket(struct hf_zk *zk, struct hf_request *request)
{
    struct hf_zk_request *req = hf_zk_request_new(zk, request);

    if (req != NULL)
        describe_next(zk, req);
}
