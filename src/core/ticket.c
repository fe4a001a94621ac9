/* SPDX-License-Identifier: Apache-2.0 */
#include "core/ticket.h"

#include <assert.h>
#include <string.h>

#include "base/utf8.h"
#include "base/uuid.h"

static_assert(HF_TICKET_ID_BYTES == HF_UUID_BYTES &&
                  HF_TICKET_ID_TEXT_BYTES == HF_UUID_TEXT_BYTES,
              "the id of a ticket is a UUID");

bool hf_ticket_id_equal(const struct hf_ticket_id *a,
                        const struct hf_ticket_id *b)
{
    return memcmp(a->bytes, b->bytes, HF_TICKET_ID_BYTES) == 0;
}

struct hf_ticket_id hf_ticket_id_random(struct hf_random *random)
{
    struct hf_ticket_id id = {{0}};

    hf_uuid_random(id.bytes, random);
    return id;
}

void hf_ticket_id_format(const struct hf_ticket_id *id,
                         char text[HF_TICKET_ID_TEXT_BYTES])
{
    hf_uuid_format(id->bytes, text);
}

bool hf_ticket_id_parse(struct hf_ticket_id *id, const char *text, size_t bytes)
{
    return hf_uuid_parse(id->bytes, text, bytes);
}

/* ---------------------------------------------------------------- roles -- */

#define ROLE_BYTES 4

static const char role_prefixes[][ROLE_BYTES + 1] = {
    [HF_ROLE_UNKNOWN] = "",
    [HF_ROLE_ENTRY] = "entr",
    [HF_ROLE_LOCK] = "lock",
};

bool hf_queue_has_roles(const char *queue)
{
    size_t bytes = strlen(queue), end = strlen(HF_QUEUE_LOCKS);

    return bytes > end && strcmp(queue + bytes - end, HF_QUEUE_LOCKS) == 0;
}

void hf_ticket_id_set_role(struct hf_ticket_id *id, enum hf_ticket_role role)
{
    memcpy(id->bytes, role_prefixes[role], ROLE_BYTES);
    id->bytes[6] = (uint8_t)((id->bytes[6] & 0x0f) | 0x80); /* version 8 */
}

enum hf_ticket_role hf_ticket_id_role(const struct hf_ticket_id *id)
{
    if (id->bytes[6] >> 4 != 8 || id->bytes[8] >> 6 != 2)
        return HF_ROLE_UNKNOWN;
    if (memcmp(id->bytes, role_prefixes[HF_ROLE_ENTRY], ROLE_BYTES) == 0)
        return HF_ROLE_ENTRY;
    if (memcmp(id->bytes, role_prefixes[HF_ROLE_LOCK], ROLE_BYTES) == 0)
        return HF_ROLE_LOCK;
    return HF_ROLE_UNKNOWN;
}

/* ----------------------------------------------- payloads and snapshots -- */

void hf_payload_copy(char to[HF_PAYLOAD_BYTES], const char *payload)
{
    size_t bytes = strlen(payload);

    if (bytes >= HF_PAYLOAD_BYTES)
        bytes = hf_utf8_cut(payload, HF_PAYLOAD_BYTES - 1);
    memcpy(to, payload, bytes);
    to[bytes] = '\0';
}

int hf_ticket_compare(const void *a, const void *b)
{
    const struct hf_ticket *x = a;
    const struct hf_ticket *y = b;

    if (x->sequence != y->sequence)
        return x->sequence < y->sequence ? -1 : 1;
    if (x->token != y->token)
        return x->token < y->token ? -1 : 1;
    return 0;
}

bool hf_text_range_wants(const struct hf_text_range *range, uint64_t sequence,
                         size_t taken)
{
    return range->count == 0 ||
           (sequence >= range->from && taken < range->count);
}

size_t hf_snapshot_find(const struct hf_snapshot *snapshot,
                        const struct hf_ticket_id *id)
{
    for (size_t i = 0; i < snapshot->count; i++) {
        if (hf_ticket_id_equal(&snapshot->tickets[i].id, id))
            return i;
    }
    return snapshot->count;
}
