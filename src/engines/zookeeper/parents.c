/* SPDX-License-Identifier: Apache-2.0 */
#include "engines/zookeeper/parents.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/memory.h"
#include "engines/zookeeper/op.h"

/* A number of 32 bits. */
#define DATA_BYTES 11

/* Those who write in the other layouts make persistent parents, and rely on
 * their staying: kazoo looks for one only once. */
static bool makes_containers(const struct hf_zk *zk)
{
    return !zk->containers_unknown && zk->config.layout == HF_ZK_CURATOR;
}

/* What the node at the first ${bytes} of the queue's path says.  That of
 * kazoo's permits says how many there are, from its first moment on: kazoo
 * itself writes that a moment later, and a client that comes in between does
 * not see it. */
static const char *parent_data(const struct hf_zk_op *op, size_t bytes,
                               char text[DATA_BYTES])
{
    uint32_t permits = op->request->limit;

    if (!op->queue->permits || op->queue->path[bytes] != '\0' || permits == 0)
        return "";
    snprintf(text, DATA_BYTES, "%" PRIu32, permits);
    return text;
}

/* The end of the component that follows the first ${bytes} of ${path}. */
static size_t one_down(const char *path, size_t bytes)
{
    return bytes + 1 + strcspn(path + bytes + 1, "/");
}

/* Those below the chroot, which is not ours to create. */
static size_t count_parents(const struct hf_zk *zk, const struct hf_zk_op *op)
{
    size_t count = 0;

    for (size_t at = strlen(zk->config.chroot); at < op->parents_to; count++)
        at = one_down(op->queue->path, at);
    return count;
}

/* What counts is the answer for the lowest node that was not turned down for
 * want of the one above it. */
static void parent_answered(void *user, struct hf_zk_call *call,
                            const struct hf_zk_reply *reply)
{
    struct hf_zk *zk = user;
    struct hf_zk_op *op = call->owner;
    size_t level = (size_t)(call - op->parents) + 1;

    if (reply->error != HF_ZK_NO_NODE && level > op->parent_level) {
        op->parent_level = level;
        op->parent_error = reply->error;
    }
    /* A server before 3.5.3, which may hang up now. */
    if (reply->error == HF_ZK_UNIMPLEMENTED && op->containers)
        zk->containers_unknown = true;
    hf_zk_op_answered(zk, op);
}

static void send_parent(struct hf_zk *zk, struct hf_zk_op *op,
                        struct hf_zk_call *call, size_t bytes)
{
    char text[DATA_BYTES];

    call->answered = parent_answered;
    call->user = zk;
    call->owner = op;
    op->pending++;
    snprintf(zk->path, sizeof zk->path, "%.*s", (int)bytes, op->queue->path);
    hf_zk_send_create(&zk->session, call,
                      op->containers ? HF_ZK_CREATE_CONTAINER : HF_ZK_CREATE,
                      zk->path, parent_data(op, bytes, text),
                      op->containers ? HF_ZK_CONTAINER : HF_ZK_PERSISTENT);
}

bool hf_zk_send_parents(struct hf_zk *zk, struct hf_zk_op *op, size_t bytes)
{
    size_t at = strlen(zk->config.chroot);
    size_t count;

    op->parents_to = bytes;
    op->parent_level = 0;
    op->containers = makes_containers(zk);
    if (!op->parents_missing)
        return true;
    count = count_parents(zk, op);
    if (op->parents == NULL)
        op->parents = hf_alloc(count * sizeof *op->parents);
    if (op->parents == NULL) {
        hf_zk_fail_memory(zk, hf_zk_op_end(zk, op));
        return false;
    }
    for (size_t nth = 0; nth < count; nth++) {
        at = one_down(op->queue->path, at);
        send_parent(zk, op, &op->parents[nth], at);
    }
    return true;
}

static bool is_there(const struct hf_zk_op *op)
{
    return op->parent_level > 0 && (op->parent_error == HF_ZK_OK ||
                                    op->parent_error == HF_ZK_NODE_EXISTS);
}

bool hf_zk_want_parents(struct hf_zk *zk, struct hf_zk_op *op)
{
    bool again = !op->parents_missing || is_there(op) ||
                 (op->parent_error == HF_ZK_UNIMPLEMENTED && op->containers);

    if (op->error != HF_ZK_NO_NODE || op->rounds >= HF_ZK_ROUNDS_MAX ||
        !hf_zk_session_usable(&zk->session) || count_parents(zk, op) == 0)
        return false;
    op->parents_missing = true;
    return again;
}

static void no_chroot(struct hf_zk *zk, struct hf_zk_op *op)
{
    hf_zk_fail(zk, hf_zk_op_end(zk, op), HF_FAILURE_FATAL, HF_EDIR,
               "the node %s, which the URL has for a root, does not exist; "
               "create it, or correct the URL",
               zk->config.chroot);
}

static void fail_parent(struct hf_zk *zk, struct hf_zk_op *op)
{
    size_t bytes = strlen(zk->config.chroot);

    for (size_t level = 0; level < op->parent_level; level++)
        bytes = one_down(op->queue->path, bytes);
    snprintf(zk->path, sizeof zk->path, "%.*s", (int)bytes, op->queue->path);
    hf_zk_op_fail(zk, op, op->parent_error, "create", zk->path);
}

void hf_zk_fail_below(struct hf_zk *zk, struct hf_zk_op *op, const char *what,
                      const char *path)
{
    bool sent = op->parents_missing || count_parents(zk, op) == 0;

    if (op->error != HF_ZK_NO_NODE || !sent || is_there(op))
        hf_zk_op_fail(zk, op, op->error, what, path);
    else if (op->parent_level == 0)
        no_chroot(zk, op);
    else
        fail_parent(zk, op);
}
