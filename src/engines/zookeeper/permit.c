/* SPDX-License-Identifier: Apache-2.0 */
/* How many permits a semaphore has, and how permits are named. */
#include "engines/zookeeper/permit.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "engines/zookeeper/zk_private.h"

/* What kazoo appends to the name of a semaphore for its entry mutex. */
#define ENTRY_MUTEX "-__lock__"
#define DIGITS_MOST 9 /* of a number of permits */

/* The tag of a permit: the version and the variant of its UUID, six bits that
 * all UUIDs of version 4 have alike.  FIRST_TAG is their value there. */
#define TAGS 64
#define FIRST_TAG ((4 << 2) | 2)

static_assert(HF_WEIGHT_MAX <= TAGS, "each permit has a tag of its own");

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
bool hf_zk_queue_path(enum hf_zk_dialect layout, const char *chroot,
                      const char *name, char path[HF_ZK_QUEUE_PATH_BYTES])
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
        end = ENTRY_MUTEX;
    }
    written = snprintf(path, HF_ZK_QUEUE_PATH_BYTES, "%s/%.*s%s", chroot,
                       (int)bytes, name, end);
    assert(written > 0 && written < HF_ZK_QUEUE_PATH_BYTES);
    (void)written;
    return permits;
}

bool hf_zk_name_is_reserved(enum hf_zk_dialect layout,
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

/* ----------------------------------------------------------------- names -- */

static unsigned get_tag(const struct hf_ticket_id *id)
{
    return (unsigned)(id->bytes[6] >> 4) << 2 | (unsigned)(id->bytes[8] >> 6);
}

/* get_tag() and set_tag() read and write the six bits. */
static void set_tag(struct hf_ticket_id *id, unsigned tag)
{
    id->bytes[6] = (uint8_t)((id->bytes[6] & 0x0f) | (tag >> 2) << 4);
    id->bytes[8] = (uint8_t)((id->bytes[8] & 0x3f) | (tag & 3) << 6);
}

void hf_zk_permit_name(const struct hf_ticket_id *id, uint32_t nth,
                       char name[HF_ZK_NODE_BYTES])
{
    struct hf_ticket_id permit = *id;

    assert(nth < HF_WEIGHT_MAX);
    if (nth > 0)
        set_tag(&permit, (get_tag(id) + nth) % TAGS);
    hf_zk_node_format_hex(&permit, name);
}

/* The id of the ticket is that of its first permit, so the tag (the six bits
 * that count the permits) goes into .sequence.  A permit that kazoo made has
 * the tag of a first one. */
bool hf_zk_permit_parse(const char *name, size_t bytes, struct hf_zk_node *node)
{
    if (!hf_zk_node_parse_hex(name, bytes, &node->id))
        return false;
    node->dialect = HF_ZK_KAZOO;
    node->kind = HF_TICKET_LEASE;
    node->sequence = (int32_t)((get_tag(&node->id) + TAGS - FIRST_TAG) % TAGS);
    set_tag(&node->id, FIRST_TAG);
    return true;
}

bool hf_zk_node_is_permit(const struct hf_zk_node *node)
{
    return node->kind == HF_TICKET_LEASE && node->dialect == HF_ZK_KAZOO;
}

/* -------------------------------------------------- size and entry mutex -- */

/* Only digits count; at most DIGITS_MOST, so the number cannot overflow. */
uint32_t hf_zk_permits_parse(struct hf_jute_piece data)
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

const struct hf_zk_own_ticket *
hf_zk_permits_entry_mutex(const struct hf_zk *zk,
                          const struct hf_zk_queue *queue)
{
    const struct hf_zk_own_ticket *mutex = NULL;
    size_t bytes = strlen(queue->path);

    for (const struct hf_zk_own_ticket *own_ticket = zk->own_tickets.first;
         own_ticket != NULL; own_ticket = own_ticket->next) {
        if (own_ticket->removing ||
            strncmp(own_ticket->queue->path, queue->path, bytes) != 0 ||
            strcmp(own_ticket->queue->path + bytes, ENTRY_MUTEX) != 0)
            continue;
        if (mutex == NULL || own_ticket->sequence < mutex->sequence)
            mutex = own_ticket;
    }
    return mutex;
}
