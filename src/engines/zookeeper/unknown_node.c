/* SPDX-License-Identifier: Apache-2.0 */
/* The reports made so far are a ring of digests, which is searched linearly. */
#include "engines/zookeeper/unknown_node.h"

#include <string.h>

#include "base/quote.h"
#include "base/sha256.h"
#include "engines/zookeeper/zk_private.h"

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

/* Remember ${digest}; false if it has been reported before.  This is by path
 * and not a flag of the queue, because a queue is freed when no request uses
 * it. */
static bool is_new(struct hf_zk_reports *reports, uint64_t digest)
{
    size_t known =
        reports->count < HF_ZK_REPORTS_MAX ? reports->count : HF_ZK_REPORTS_MAX;

    for (size_t i = 0; i < known; i++)
        if (reports->reported[i] == digest)
            return false;
    reports->reported[reports->count++ % HF_ZK_REPORTS_MAX] = digest;
    return true;
}

void hf_zk_report_unknown_node(struct hf_zk *zk,
                               const struct hf_zk_queue *queue,
                               struct hf_jute_piece name)
{
    if (!is_new(&zk->reports, digest_of(queue->path, false)))
        return;
    zk->host.log(zk->host.host, HF_LOG_WARNING,
                 "%s has a child that is no ticket and is ignored: %s; "
                 "expected only names that holdfast, Curator, kazoo, "
                 "go-zookeeper or WriteLock give",
                 queue->path, hf_quote(name.bytes, name.count).text);
}

/* Leases, participants and barrier nodes have one form only, so nothing is
 * reported for them. */
void hf_zk_report_unseen_layout(struct hf_zk *zk,
                                const struct hf_zk_queue *queue,
                                struct hf_jute_piece name,
                                const struct hf_zk_node *node)
{
    const char *written_by = hf_zk_dialect_name(node->dialect);

    if (node->kind == HF_TICKET_LEASE || node->kind == HF_TICKET_PARTICIPANT ||
        node->kind == HF_TICKET_READY ||
        hf_zk_dialect_sees(node->dialect, zk->config.layout) ||
        !is_new(&zk->reports, digest_of(queue->path, true)))
        return;
    zk->host.log(zk->host.host, HF_LOG_WARNING,
                 "%s has tickets in the layout of %s, such as %s; programs "
                 "that write these do not see ours unless they are set up to, "
                 "and may hold the lock beside us: expected one layout for "
                 "all; put layout=%s into the URL, here it is layout=%s",
                 queue->path, written_by, hf_quote(name.bytes, name.count).text,
                 written_by, hf_zk_layout_name(zk->config.layout));
}
