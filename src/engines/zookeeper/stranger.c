/* SPDX-License-Identifier: Apache-2.0 */
#include "engines/zookeeper/stranger.h"

#include <string.h>

#include "core/quote.h"
#include "core/sha256.h"
#include "engines/zookeeper/private.h"

static uint64_t digest_of(const char *path, bool ticket)
{
    uint8_t digest[HF_SHA256_BYTES];
    uint64_t number;

    hf_sha256(path, strlen(path), digest);
    memcpy(&number, digest, sizeof number);
    return ticket ? ~number : number;
}

/* Once per path, not once per queue: one is forgotten when nobody here wants
 * anything of it. */
static bool is_new(struct hf_zk_strangers *strangers, uint64_t digest)
{
    size_t known = strangers->count < HF_ZK_REPORTS_MAX ? strangers->count
                                                        : HF_ZK_REPORTS_MAX;

    for (size_t i = 0; i < known; i++)
        if (strangers->reported[i] == digest)
            return false;
    strangers->reported[strangers->count++ % HF_ZK_REPORTS_MAX] = digest;
    return true;
}

void hf_zk_stranger_meet(struct hf_zk *zk, const struct hf_zk_queue *queue,
                         struct hf_jute_piece name,
                         const struct hf_zk_node *node)
{
    bool ticket = node != NULL;

    if (!is_new(&zk->strangers, digest_of(queue->path, ticket)))
        return;
    if (!ticket)
        zk->host.log(zk->host.host, HF_LOG_WARNING,
                     "%s has a child that is no ticket and is ignored: %s; "
                     "expected only names that holdfast, Curator, kazoo, "
                     "go-zookeeper or WriteLock give",
                     queue->path, hf_quote(name.bytes, name.count).text);
    else
        zk->host.log(zk->host.host, HF_LOG_WARNING,
                     "%s has tickets of programs that may not see ours and "
                     "enter beside them, such as %s; expected that all at one "
                     "path use one layout, here layout=%s",
                     queue->path, hf_quote(name.bytes, name.count).text,
                     hf_zk_layout_name(zk->config.layout));
}
