/* SPDX-License-Identifier: Apache-2.0 */
#include "zookeeper_retry/retry_removal.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"

enum removal_state {
    REMOVAL_SYNCING,
    REMOVAL_LISTING,
    REMOVAL_DELETING, /* deletes .node */
};

struct hf_zk_retry_removal {
    enum removal_state state;
    struct hf_zk_retry_attempts attempts;
    bool looked; /* the node was searched for just before the removal began */
    uint64_t until_ms;
    size_t node_bytes; /* the size of .node */
    char *parent;      /* "/" if it is the root */
    char *name;        /* without the digits */
    char *node;        /* its path, with the digits */
};

struct hf_zk_retry_removal *hf_zk_retry_removal_new(size_t path_bytes)
{
    size_t texts_bytes = path_bytes + 3;
    size_t node_bytes = path_bytes + HF_ZK_RETRY_DIGITS_BYTES + 1;
    struct hf_zk_retry_removal *removal =
        hf_alloc(sizeof *removal + texts_bytes + node_bytes);

    if (removal == NULL)
        return NULL;
    removal->parent = (char *)(removal + 1);
    removal->node = removal->parent + texts_bytes;
    removal->node_bytes = node_bytes;
    return removal;
}

void hf_zk_retry_removal_set(struct hf_zk_retry_removal *removal,
                             const struct hf_zk_retry_remains *remains)
{
    size_t bytes = remains->parent_bytes;

    memcpy(removal->parent, bytes > 0 ? remains->path : "/",
           bytes > 0 ? bytes : 1);
    removal->name = removal->parent + (bytes > 0 ? bytes : 1) + 1;
    strcpy(removal->name, remains->path + bytes + 1);
    removal->looked = remains->looked;
    removal->until_ms = remains->until_ms;
    hf_random_seed(&removal->attempts.random, remains->until_ms);
}

static bool is_digits(const char *text)
{
    size_t bytes = strlen(text);

    return bytes >= HF_ZK_RETRY_DIGITS_BYTES - 1 &&
           bytes <= HF_ZK_RETRY_DIGITS_BYTES &&
           strspn(text, "-0123456789") == bytes;
}

const char *hf_zk_retry_find_child(const struct hf_zookeeper_result *result,
                                   const char *name)
{
    size_t bytes = strlen(name);

    for (size_t i = 0; i < result->child_count; i++) {
        const char *child = result->children[i];

        if (strncmp(child, name, bytes) == 0 && is_digits(child + bytes))
            return child;
    }
    return NULL;
}

/* ----------------------------------------------------------------- steps -- */

static void look(struct hf_zk_retry_removal *removal,
                 struct hf_zk_retry_step *step)
{
    removal->state = REMOVAL_SYNCING;
    hf_zk_retry_do(step, HF_ZOOKEEPER_SYNC, removal->parent);
}

static void delete_node(struct hf_zk_retry_removal *removal,
                        struct hf_zk_retry_step *step)
{
    removal->state = REMOVAL_DELETING;
    hf_zk_retry_do(step, HF_ZOOKEEPER_DELETE, removal->node);
    step->op.version = HF_ZOOKEEPER_ANY_VERSION;
}

/* Pause until .until_ms, for the last search. */
static void wait_until(struct hf_zk_retry_removal *removal, uint64_t now_ms,
                       struct hf_zk_retry_step *step)
{
    removal->looked = false;
    removal->state = REMOVAL_SYNCING;
    step->kind = HF_ZK_RETRY_PAUSE;
    step->pause_ms =
        removal->until_ms > now_ms ? removal->until_ms - now_ms : 1;
}

/* ${result} lists the children of the parent, or says that there is no
 * parent. */
static void listed(struct hf_zk_retry_removal *removal, uint64_t now_ms,
                   const struct hf_zookeeper_result *result,
                   struct hf_zk_retry_step *step)
{
    const char *child = hf_zk_retry_find_child(result, removal->name);

    if (child != NULL) {
        (void)snprintf(removal->node, removal->node_bytes, "%s/%s",
                       removal->parent[1] != '\0' ? removal->parent : "",
                       child);
        delete_node(removal, step);
    } else if (now_ms < removal->until_ms) {
        wait_until(removal, now_ms, step);
    } else {
        hf_zk_retry_end(step, NULL);
    }
}

/* ${result} is a failure: try again, unless no retry helps against it. */
static void failed(struct hf_zk_retry_removal *removal,
                   struct hf_zookeeper_result *result,
                   struct hf_zk_retry_step *step)
{
    switch (result->status) {
    case HF_EDENIED:
    case HF_ELIMIT: /* the list is too long */
    case HF_ENOTEMPTY:
    case HF_ECLOSED:
        hf_zk_retry_end(step, result);
        break;
    default:
        hf_zookeeper_result_free(result);
        hf_zk_retry_pause(&removal->attempts, step);
    }
}

static void answered(struct hf_zk_retry_removal *removal, uint64_t now_ms,
                     struct hf_zookeeper_result *result,
                     struct hf_zk_retry_step *step)
{
    bool gone = result->status == HF_EGONE;

    if (result->status != HF_OK &&
        (!gone || removal->state == REMOVAL_SYNCING)) {
        failed(removal, result, step);
        return;
    }
    removal->attempts.count = 0;
    if (removal->state == REMOVAL_SYNCING) {
        removal->state = REMOVAL_LISTING;
        hf_zk_retry_do(step, HF_ZOOKEEPER_CHILDREN, removal->parent);
    } else if (removal->state == REMOVAL_LISTING) {
        listed(removal, now_ms, result, step);
    } else {
        hf_zk_retry_end(step, NULL);
    }
    hf_zookeeper_result_free(result);
}

static void next(void *machine, const struct hf_zk_retry_event *event,
                 struct hf_zk_retry_step *step)
{
    struct hf_zk_retry_removal *removal = machine;

    if (event->kind == HF_ZK_RETRY_ANSWERED)
        answered(removal, event->now_ms, event->result, step);
    else if (event->kind == HF_ZK_RETRY_STOPPED)
        hf_zk_retry_end(step, NULL);
    else if (removal->state == REMOVAL_DELETING)
        delete_node(removal, step);
    else if (removal->looked)
        wait_until(removal, event->now_ms, step);
    else
        look(removal, step);
}

const struct hf_zk_retry_ops hf_zk_retry_removal_ops = {next, hf_free};
