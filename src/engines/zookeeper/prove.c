/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PROVE: a transaction that changes nothing.  A multi of nothing but checks is
 * committed like any write, fires no watch, and fails when a ticket is gone.
 */
#include "core/plant.h"
#include "engines/zookeeper/op.h"

/* So many tickets are checked at a time, by turns. */
#define CHECKS_MAX 32

static void put_check(struct hf_zk *zk, const char *path)
{
    hf_zk_put_part(zk, HF_ZK_CHECK, false);
    hf_zk_put_versioned(zk, path);
}

/* A ticket that is being deleted, or may have another name by now, would fail
 * the check of all.  Without any the root is as good as a ticket. */
static void put_checks(struct hf_zk *zk)
{
    struct hf_zk_own *own = zk->queues.own;
    bool any = false;

    for (int i = 0; i < CHECKS_MAX && own != NULL; i++, own = own->next) {
        if (own->leaving || own->downgrading)
            continue;
        put_check(zk, hf_zk_child_path(zk, own->queue, own->name));
        any = true;
    }
    if (!any)
        put_check(zk, zk->config.chroot[0] != '\0' ? zk->config.chroot : "/");
    hf_zk_put_part(zk, -1, true);
}

/* Those that were checked are behind all others the next time. */
static void rotate(struct hf_zk *zk)
{
    struct hf_zk_own *own = zk->queues.own, *next;

    for (int i = 0; i < CHECKS_MAX && own != NULL; i++, own = next) {
        next = own->next;
        hf_zk_own_rotate(zk, own);
    }
}

/* Were all checks passed? */
static bool all_passed(struct hf_jute_reader *body)
{
    for (int i = 0; i <= CHECKS_MAX && !body->failed; i++) {
        int32_t type = hf_jute_get_int(body);
        bool done = hf_jute_get_bool(body);

        (void)hf_jute_get_int(body);
        if (done)
            return !body->failed;
        if (type == HF_ZK_ERROR_RESULT)
            return false; /* and if it was not this one, then another */
    }
    return false;
}

static void checked(struct hf_zk *zk, struct hf_zk_call *call,
                    const struct hf_zk_reply *reply)
{
    struct hf_event event = {.kind = HF_EVENT_PROVEN};
    struct hf_zk_op *op = call->owner;
    struct hf_jute_reader body = reply->body;
    enum hf_zk_error error = reply->error;
    bool passed = error == HF_ZK_OK && all_passed(&body);

    if (passed)
        event.as.answer.anchor_ms = hf_zk_call_proves_ms(zk, call);
    op->pending--;
    event.as.answer.request = hf_zk_op_end(zk, op);
    if (error != HF_ZK_OK)
        hf_zk_fail_as(zk, event.as.answer.request, error, "check tickets below",
                      zk->config.chroot);
    else if (!passed)
        hf_zk_fail(zk, event.as.answer.request, HF_FAILURE_RETRY, HF_EPROTOCOL,
                   "a ticket that was to be checked is gone");
    else
        hf_zk_tell(zk, &event);
}

/* The fault of those who take a link that is alive for a grant that is proven:
 * what the ping's answer tells comes when it comes. */
static void ping_instead(struct hf_zk *zk, struct hf_request *request)
{
    struct hf_event event = {.kind = HF_EVENT_PROVEN};

    if (zk->wire.pings < HF_ZK_PINGS_MAX)
        hf_zk_send_ping(zk);
    event.as.answer.request = request;
    event.as.answer.anchor_ms = zk->told_anchor_ms;
    hf_zk_tell(zk, &event);
}

void hf_zk_prove(struct hf_zk *zk, struct hf_request *request)
{
    struct hf_zk_op *op;
    size_t begin;

    if (HF_PLANTED(ZK_PING_PROVES)) {
        ping_instead(zk, request);
        return;
    }
    op = hf_zk_op_new(zk, request);
    if (op == NULL)
        return;
    begin = hf_zk_call_begin(zk, hf_zk_op_call(op, checked), HF_ZK_MULTI);
    put_checks(zk);
    hf_zk_call_end(zk, begin);
    rotate(zk);
}
