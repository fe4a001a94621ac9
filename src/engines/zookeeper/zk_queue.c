/* SPDX-License-Identifier: Apache-2.0 */
/* Queues are in a tree by name and count their users: requests, own tickets
 * and watches.  The reports made so far are a ring of digests, which is
 * searched linearly. */
#include "engines/zookeeper/zk_queue.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/container_of.h"
#include "base/memory.h"
#include "base/quote.h"
#include "base/sha256.h"
#include "engines/zookeeper/zk_private.h"

#define DIGITS_MOST 9 /* of a number of permits */

/* ----------------------------------------------------------------- paths -- */

/* The length of ${name} without the suffix ${end}; 0 if it does not end with
 * it. */
static size_t bytes_without_suffix(const char *name, const char *end)
{
    size_t bytes = strlen(name), less = strlen(end);

    if (bytes <= less || strcmp(name + bytes - less, end) != 0)
        return 0;
    return bytes - less;
}

/* With layout=kazoo the two queues of a semaphore are at NAME and
 * NAME-__lock__; otherwise the path is just the name. */
bool hf_zk_engine_queue_path(enum hf_zk_engine_dialect layout,
                             const char *chroot, const char *name,
                             char path[HF_ZK_QUEUE_PATH_BYTES])
{
    size_t leases = bytes_without_suffix(name, HF_QUEUE_LEASES);
    size_t locks = bytes_without_suffix(name, HF_QUEUE_LOCKS);
    bool permits = layout == HF_ZK_KAZOO && leases > 0;
    const char *end = "";
    size_t bytes = strlen(name);
    int written;

    if (permits) {
        bytes = leases;
    } else if (layout == HF_ZK_KAZOO && locks > 0) {
        bytes = locks;
        end = HF_ZK_ENTRY_MUTEX;
    }
    written = snprintf(path, HF_ZK_QUEUE_PATH_BYTES, "%s/%.*s%s", chroot,
                       (int)bytes, name, end);
    assert(written > 0 && written < HF_ZK_QUEUE_PATH_BYTES);
    (void)written;
    return permits;
}

bool hf_zk_engine_name_is_reserved(enum hf_zk_engine_dialect layout,
                                   const struct hf_request *request)
{
    if (layout != HF_ZK_KAZOO)
        return false;
    if (bytes_without_suffix(request->queue, HF_QUEUE_LEASES) > 0)
        return request->ticket_kind != HF_TICKET_LEASE;
    return bytes_without_suffix(request->queue, HF_QUEUE_LOCKS) > 0 &&
           (request->ticket_kind != HF_TICKET_MUTEX ||
            hf_ticket_id_role(&request->ticket) == HF_ROLE_LOCK);
}

/* ---------------------------------------------------------------- queues -- */

/* Order of the tree: by name. */
static int compare_name(const void *name, const struct hf_tree_node *node)
{
    return strcmp(
        name,
        container_of(node, const struct hf_zk_engine_queue, by_name)->name);
}

struct hf_zk_engine_queue *
hf_zk_engine_queue_find(const struct hf_zk_engine *zk, const char *name)
{
    return container_of_or_null(hf_tree_find(&zk->queues.names, name),
                                struct hf_zk_engine_queue, by_name);
}

/* Allocate a queue and add it to the tree; NULL for lack of memory. */
static struct hf_zk_engine_queue *add_queue(struct hf_zk_engine *zk,
                                            const char *name)
{
    char path[HF_ZK_QUEUE_PATH_BYTES];
    bool permits = hf_zk_engine_queue_path(zk->config.layout,
                                           zk->config.url.chroot, name, path);
    size_t path_bytes = strlen(path) + 1;
    size_t name_bytes = strlen(name) + 1;
    struct hf_zk_engine_queue *queue =
        hf_alloc(sizeof *queue + path_bytes + name_bytes);

    if (queue == NULL)
        return NULL;
    queue->permits = permits;
    queue->name = memcpy(queue->path + path_bytes, name, name_bytes);
    memcpy(queue->path, path, path_bytes);
    hf_tree_add(&zk->queues.names, &queue->by_name, queue->name);
    return queue;
}

struct hf_zk_engine_queue *hf_zk_engine_queue_use(struct hf_zk_engine *zk,
                                                  const char *name)
{
    struct hf_zk_engine_queue *queue = hf_zk_engine_queue_find(zk, name);

    if (queue == NULL)
        queue = add_queue(zk, name);
    if (queue != NULL)
        queue->users++;
    return queue;
}

/* Free a queue that is in no tree. */
static void free_queue(struct hf_zk_engine_queue *queue)
{
    hf_free(queue->children);
    hf_free(queue->names);
    hf_free(queue->head_payload);
    hf_free(queue);
}

void hf_zk_engine_queue_release(struct hf_zk_engine *zk,
                                struct hf_zk_engine_queue *queue)
{
    assert(queue->users > 0);
    if (--queue->users > 0)
        return;
    hf_tree_remove(&zk->queues.names, &queue->by_name, queue->name);
    free_queue(queue);
}

const char *hf_zk_engine_child_path(struct hf_zk_engine *zk,
                                    const struct hf_zk_engine_queue *queue,
                                    const char *name)
{
    int bytes = snprintf(zk->path, sizeof zk->path, "%s/%s", queue->path, name);

    /* Chroot and name have a maximum length, and longer children are no
     * tickets. */
    assert(bytes > 0 && (size_t)bytes < sizeof zk->path);
    return zk->path;
}

void hf_zk_engine_queues_init(struct hf_zk_engine_queues *queues)
{
    *queues = (struct hf_zk_engine_queues){.names = {.compare = compare_name}};
}

void hf_zk_engine_queues_free(struct hf_zk_engine_queues *queues)
{
    /* No queue is left, because no request is in flight and no ticket is ours.
     */
    assert(queues->names.root == NULL);
    hf_free(queues->snapshot);
}

/* -------------------------------------------------------------- children -- */

bool hf_zk_engine_queue_parse(const struct hf_zk_engine_queue *queue,
                              const char *name, size_t bytes,
                              struct hf_zk_engine_node *node)
{
    return (queue->permits && hf_zk_engine_permit_parse(name, bytes, node)) ||
           hf_zk_engine_participant_parse(name, bytes, node) ||
           hf_zk_engine_node_parse(name, bytes, node);
}

/* Data with anything but digits are no number.  DIGITS_MOST keeps the number
 * from overflowing. */
uint32_t hf_zk_engine_permits_parse(struct hf_jute_piece data)
{
    uint32_t permits = 0;

    if (data.count > DIGITS_MOST)
        return 0;
    for (size_t i = 0; i < data.count; i++) {
        char c = data.bytes[i];

        if (c < '0' || c > '9')
            return 0;
        permits = 10 * permits + (uint32_t)(c - '0');
    }
    return permits;
}

/* --------------------------------------------------------------- reports -- */

/* A digest of what is reported: a path, and whether it is about a ticket or an
 * unknown node. */
static uint64_t digest_of(const char *path, bool ticket)
{
    uint8_t digest[HF_SHA256_BYTES];
    uint64_t number;

    hf_sha256(path, strlen(path), digest);
    memcpy(&number, digest, sizeof number);
    return ticket ? ~number : number;
}

/* Remember ${digest}; false if it has been reported before.  Reports are
 * remembered by path and not by a flag of the queue, because a queue is freed
 * when nothing uses it. */
static bool is_new(struct hf_zk_engine_reports *reports, uint64_t digest)
{
    size_t known =
        reports->count < HF_ZK_REPORTS_MAX ? reports->count : HF_ZK_REPORTS_MAX;

    for (size_t i = 0; i < known; i++)
        if (reports->reported[i] == digest)
            return false;
    reports->reported[reports->count++ % HF_ZK_REPORTS_MAX] = digest;
    return true;
}

void hf_zk_engine_report_unknown_node(struct hf_zk_engine *zk,
                                      const struct hf_zk_engine_queue *queue,
                                      struct hf_jute_piece name)
{
    if (zk->host.list_only || /* which lists what a name may be used as */
        !is_new(&zk->reports, digest_of(queue->path, false)))
        return;
    zk->host.log(zk->host.host, HF_LOG_WARNING,
                 "%s has a child that is no ticket and is ignored: %s; "
                 "expected only names that holdfast, Curator, kazoo, "
                 "go-zookeeper or WriteLock give",
                 queue->path, hf_quote(name.bytes, name.count).text);
}

/* Leases, participants and barrier nodes have one form only, so nothing is
 * reported for them. */
void hf_zk_engine_report_unseen_layout(struct hf_zk_engine *zk,
                                       const struct hf_zk_engine_queue *queue,
                                       struct hf_jute_piece name,
                                       const struct hf_zk_engine_node *node)
{
    const char *written_by = hf_zk_engine_dialect_name(node->dialect);

    if (node->kind == HF_TICKET_LEASE || node->kind == HF_TICKET_PARTICIPANT ||
        node->kind == HF_TICKET_READY ||
        hf_zk_engine_dialect_sees(node->dialect, zk->config.layout) ||
        !is_new(&zk->reports, digest_of(queue->path, true)))
        return;
    zk->host.log(zk->host.host, HF_LOG_WARNING,
                 "%s has tickets in the layout of %s, such as %s; programs "
                 "that write these do not see ours unless they are set up to, "
                 "and may hold the lock beside us: expected one layout for "
                 "all; put layout=%s into the URL, here it is layout=%s",
                 queue->path, written_by, hf_quote(name.bytes, name.count).text,
                 written_by, hf_zk_engine_layout_name(zk->config.layout));
}
