/* SPDX-License-Identifier: Apache-2.0 */
/* What must be there before a node can be: made only when it is found missing,
 * and again if somebody removes it meanwhile, within a bound. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "engines/zookeeper/op.h"

/* Up and down again once for each round, so long as nobody removes them under
 * our hands. */
#define PARENTS_MAX (2 * HF_ZK_ROUNDS_MAX * HF_NAME_BYTES / 2)

/* A number of 32 bits. */
#define DATA_BYTES 11

static void parent_made(struct hf_zk *zk, struct hf_zk_op *op);

static void noted(struct hf_zk *zk, struct hf_zk_call *call,
                  const struct hf_zk_reply *reply)
{
    struct hf_zk_op *op = call->owner;

    op->error = reply->error;
    hf_zk_op_answered(zk, op);
}

/* Those who write in the other layouts make persistent parents, and rely on
 * their staying: kazoo looks for one only once. */
static bool makes_containers(const struct hf_zk *zk)
{
    return !zk->containers_unknown && zk->config.layout == HF_ZK_CURATOR;
}

/* What the node at the first .level bytes of the queue's path says.  That of
 * kazoo's permits says how many there are, from its first moment on: kazoo
 * itself writes that a moment later, and who comes in between does not see
 * it. */
static const char *parent_data(const struct hf_zk_op *op, char text[DATA_BYTES])
{
    uint32_t permits = op->request->limit;

    if (!op->queue->permits || op->queue->path[op->level] != '\0' ||
        permits == 0)
        return "";
    snprintf(text, DATA_BYTES, "%" PRIu32, permits);
    return text;
}

static void make_parent(struct hf_zk *zk, struct hf_zk_op *op)
{
    char text[DATA_BYTES];
    const char *data = parent_data(op, text);
    struct hf_zk_call *call;

    if (op->parents++ >= PARENTS_MAX) {
        hf_zk_op_fail(zk, op, HF_ZK_NO_NODE, "keep the node", op->queue->path);
        return;
    }
    hf_zk_op_step(op, parent_made);
    call = hf_zk_op_call(op, noted);
    snprintf(zk->path, sizeof zk->path, "%.*s", (int)op->level,
             op->queue->path);
    if (!makes_containers(zk))
        hf_zk_send_create(zk, call, HF_ZK_CREATE, zk->path, data,
                          HF_ZK_PERSISTENT);
    else
        hf_zk_send_create(zk, call, HF_ZK_CREATE_CONTAINER, zk->path, data,
                          HF_ZK_CONTAINER);
}

/* One component less; false if that is the chroot, which is not ours to
 * make. */
static bool one_up(const struct hf_zk *zk, struct hf_zk_op *op)
{
    do
        op->level--;
    while (op->queue->path[op->level] != '/');
    return op->level > strlen(zk->config.chroot);
}

static void one_down(struct hf_zk_op *op)
{
    do
        op->level++;
    while (op->queue->path[op->level] != '/' &&
           op->queue->path[op->level] != '\0');
}

static void no_chroot(struct hf_zk *zk, struct hf_zk_op *op)
{
    hf_zk_fail(zk, hf_zk_op_end(zk, op), HF_FAILURE_FATAL, HF_EDIR,
               "the node %s, which the URL has for a root, does not exist; "
               "create it, or correct the URL",
               zk->config.chroot);
}

static void parent_made(struct hf_zk *zk, struct hf_zk_op *op)
{
    bool usable = hf_zk_session_usable(&zk->session);

    if (usable && op->error == HF_ZK_UNIMPLEMENTED && makes_containers(zk)) {
        zk->containers_unknown = true; /* a server before 3.5.3 */
        make_parent(zk, op);
    } else if (usable && op->error == HF_ZK_NO_NODE) {
        if (one_up(zk, op))
            make_parent(zk, op);
        else
            no_chroot(zk, op);
    } else if (usable &&
               (op->error == HF_ZK_OK || op->error == HF_ZK_NODE_EXISTS)) {
        if (op->level == op->made_to) {
            op->parents_made(zk, op);
            return;
        }
        one_down(op);
        make_parent(zk, op);
    } else if (!usable || op->error == HF_ZK_CUT) {
        hf_zk_fail(zk, op->request, HF_FAILURE_RETRY, HF_EUNREACHABLE,
                   "the connection ended before the parents of %s were there",
                   op->queue->path);
        hf_zk_op_free(zk, op);
    } else {
        hf_zk_op_fail(zk, op, op->error, "create", zk->path);
    }
}

void hf_zk_make_parents(struct hf_zk *zk, struct hf_zk_op *op, size_t bytes,
                        void (*then)(struct hf_zk *zk, struct hf_zk_op *op))
{
    op->level = op->made_to = bytes;
    op->parents_made = then;
    if (bytes > strlen(zk->config.chroot))
        make_parent(zk, op);
    else
        no_chroot(zk, op);
}
