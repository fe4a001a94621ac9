/* SPDX-License-Identifier: Apache-2.0 */
#include "engines/zookeeper/eviction.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "engines/zookeeper/zk_private.h"

#define PREFIX "holdfast evicted "
#define BY " by "

void hf_zk_eviction_format(const struct hf_ticket_id *id,
                           const char *evicted_by,
                           char data[HF_ZK_EVICTION_BYTES])
{
    char text[HF_TICKET_ID_TEXT_BYTES];

    hf_ticket_id_format(id, text);
    (void)snprintf(data, HF_ZK_EVICTION_BYTES, PREFIX "%s" BY "%s", text,
                   evicted_by);
}

bool hf_zk_eviction_may_replace(struct hf_jute_piece data)
{
    return data.count == 0 || (data.count >= strlen(PREFIX) &&
                               memcmp(data.bytes, PREFIX, strlen(PREFIX)) == 0);
}

/* A read of who evicted a ticket, from its call to the answer. */
struct eviction_read {
    struct hf_zk_call call;
    struct hf_ticket_id id;
    char path[]; /* of the parent */
};

/* Log what ${data} say, if they are about that ticket. */
static void log_eviction(struct hf_zk *zk, const struct eviction_read *read,
                         struct hf_jute_piece data)
{
    char before[HF_ZK_EVICTION_BYTES];
    char why[HF_EVICTED_WHY_BYTES];
    size_t bytes;

    hf_zk_eviction_format(&read->id, "", before);
    bytes = strlen(before);
    if (data.count > bytes && memcmp(data.bytes, before, bytes) == 0 &&
        hf_evicted_by_explain(data.bytes + bytes, data.count - bytes, why) !=
            NULL)
        zk->host.log(zk->host.host, HF_LOG_WARNING, "the lock at %s: %s",
                     read->path, why);
}

static void parent_read(void *user, struct hf_zk_call *call,
                        const struct hf_zk_reply *reply)
{
    struct eviction_read *read = call->owner;
    struct hf_jute_reader body = reply->body;

    if (reply->error == HF_ZK_OK)
        log_eviction(user, read, hf_jute_get_buffer(&body));
    hf_free(read);
}

void hf_zk_eviction_read(struct hf_zk *zk, const char *path)
{
    const struct hf_zk_own_ticket *own_ticket = hf_zk_own_ticket_at(zk, path);
    struct eviction_read *read;
    size_t bytes;

    if (own_ticket == NULL || own_ticket->removing ||
        !hf_zk_session_usable(&zk->session))
        return;
    bytes = strlen(own_ticket->queue->path) + 1;
    read = hf_alloc(sizeof(*read) + bytes);
    if (read == NULL)
        return;
    memcpy(read->path, own_ticket->queue->path, bytes);
    read->id = own_ticket->id;
    read->call.answered = parent_read;
    read->call.user = zk;
    read->call.owner = read;
    hf_zk_send_get_data(&zk->session, &read->call, read->path, false);
}
