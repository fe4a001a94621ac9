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
#include "engines/zookeeper/op.h"

static void describe_next(struct hf_zk *zk, struct hf_zk_op *op);

static void answer(struct hf_zk *zk, struct hf_zk_op *op, bool found)
{
    struct hf_event event = {.kind = HF_EVENT_DESCRIBED};

    event.as.answer.found = found;
    event.as.answer.request = hf_zk_op_end(zk, op);
    hf_zk_notify(zk, &event);
}

static void fail_unread(struct hf_zk *zk, struct hf_zk_op *op)
{
    hf_zk_fail(zk, hf_zk_op_end(zk, op), HF_FAILURE_RETRY, HF_EBUSY,
               "the ticket is being read, as it may have changed");
}

static void described(struct hf_zk *zk, struct hf_zk_op *op)
{
    if (op->error == HF_ZK_OK)
        describe_next(zk, op);
    else if (op->error == HF_ZK_NO_NODE)
        answer(zk, op, false);
    else if (op->error == HF_ZK_BAD_VERSION)
        fail_unread(zk, op);
    else
        hf_zk_op_fail(zk, op, op->error, "describe the owner of a ticket of",
                      op->queue->path);
}

/* The node after the ${rounds} that are done. */
static void describe_next(struct hf_zk *zk, struct hf_zk_op *op)
{
    const struct hf_zk_own *own = hf_zk_own_find(zk, &op->request->ticket);
    const char *path;
    int32_t version;

    if (own == NULL || own->leaving || op->rounds == own->weight) {
        answer(zk, op, own != NULL && !own->leaving);
        return;
    }
    path = hf_zk_own_path(zk, own, op->rounds++);
    if (own->downgrading || !hf_zk_session_usable(&zk->session) ||
        !hf_zk_watches_version(zk, path, &version)) {
        fail_unread(zk, op);
        return;
    }
    hf_zk_op_step(op, described);
    hf_zk_send_set_data(&zk->session,
                        hf_zk_op_call(op, hf_zk_op_error_answered), path,
                        op->request->payload, version);
}

void hf_zk_describe(struct hf_zk *zk, struct hf_request *request)
{
    struct hf_zk_op *op = hf_zk_op_new(zk, request);

    if (op != NULL)
        describe_next(zk, op);
}
