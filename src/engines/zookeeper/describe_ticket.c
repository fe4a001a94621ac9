/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DESCRIBE: write the data of our ticket's nodes.
 *
 * Each is written only if it has the version that its watch has read: of what
 * is overwritten its owner has been told.  A request to release that comes in
 * between changes the version; it fires the watch, is told, and the core asks
 * once more.  The event of our own write has the data read as any other; they
 * do not ask for anything.
 */
#include "engines/zookeeper/zk_request.h"

static void describe_next(struct hf_zk *zk, struct hf_zk_request *req);

static void answer(struct hf_zk *zk, struct hf_zk_request *req, bool found)
{
    struct hf_event event = {.kind = HF_EVENT_DESCRIBED};

    event.as.answer.found = found;
    event.as.answer.request = hf_zk_request_end(zk, req);
    hf_zk_notify(zk, &event);
}

static void fail_unread(struct hf_zk *zk, struct hf_zk_request *req)
{
    hf_zk_fail(zk, hf_zk_request_end(zk, req), HF_FAILURE_RETRY, HF_EBUSY,
               "the ticket is being read, as it may have changed");
}

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

/* The node after the ${rounds} that are done. */
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

void hf_zk_describe(struct hf_zk *zk, struct hf_request *request)
{
    struct hf_zk_request *req = hf_zk_request_new(zk, request);

    if (req != NULL)
        describe_next(zk, req);
}
