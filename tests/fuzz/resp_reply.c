/* SPDX-License-Identifier: Apache-2.0 */
/* Writes what our script returns as replies of Redis. */
#include "resp_reply.h"

#include <inttypes.h>
#include <string.h>

void resp_put_bulk(struct bytes *to, const char *text)
{
    bytes_print(to, "$%zu\r\n", strlen(text));
    bytes_put(to, text, strlen(text));
    bytes_put(to, "\r\n", 2);
}

void resp_put_number(struct bytes *to, uint64_t number)
{
    char text[32];

    (void)snprintf(text, sizeof text, "%" PRIu64, number);
    resp_put_bulk(to, text);
}

static void put_id(struct bytes *to, const struct hf_ticket_id *id)
{
    char text[HF_TICKET_ID_TEXT_BYTES];

    hf_ticket_id_format(id, text);
    resp_put_bulk(to, text);
}

static void put_ticket(struct bytes *to, const struct hf_ticket *ticket,
                       const struct hf_store_lease *lease, bool numbered)
{
    char data[2048];

    bytes_print(to, "*%d\r\n", numbered ? 5 : 4);
    put_id(to, &ticket->id);
    resp_put_number(to, ticket->sequence);
    resp_put_number(to, lease->expires_in_ms);
    (void)snprintf(data, sizeof data,
                   "%d %" PRIu32 " %" PRIu32 " %" PRIu64 " 0a %s",
                   (int)ticket->kind, ticket->weight, lease->revoked,
                   ticket->created_utc_ms, ticket->payload);
    resp_put_bulk(to, data);
    if (numbered)
        resp_put_bulk(to, lease->proposed ? "1" : "0");
}

static void put_row(struct bytes *to, enum hf_store_call_kind kind,
                    const struct hf_ticket *ticket,
                    const struct hf_store_lease *lease, bool numbered)
{
    if (kind == HF_STORE_EXISTS) {
        bytes_print(to, "*%d\r\n", numbered ? 4 : 3);
        put_id(to, &ticket->id);
        resp_put_number(to, lease->expires_in_ms);
        resp_put_number(to, ticket->kind);
        if (numbered)
            resp_put_number(to, lease->revoked);
    } else if (kind == HF_STORE_RENEW) {
        bytes_print(to, "*2\r\n");
        put_id(to, &ticket->id);
        if (lease->missing)
            resp_put_bulk(to, "-1");
        else
            resp_put_number(to, lease->revoked);
    } else {
        put_ticket(to, ticket, lease, numbered);
    }
}

static bool has_rows(enum hf_store_call_kind kind)
{
    return kind == HF_STORE_ENQUEUE || kind == HF_STORE_LIST ||
           kind == HF_STORE_EXISTS || kind == HF_STORE_RENEW;
}

void resp_put_answer(struct bytes *to, enum hf_store_call_kind kind,
                     const struct lease_answer *answer, bool numbered,
                     int miscount)
{
    const struct hf_store_answer *a = &answer->answer;

    if (!a->ok && a->failure == HF_FAILURE_RETRY) {
        bytes_print(to, "*2\r\n");
        resp_put_number(to, a->server_ms);
        bytes_print(to, "+late\r\n");
        return;
    }
    if (!a->ok) {
        bytes_print(to, "-ERR no\r\n");
        return;
    }
    bytes_print(to, "*3\r\n");
    resp_put_number(to, a->server_ms);
    bytes_print(to, "+ok\r\n");
    if (!has_rows(kind)) {
        bytes_print(to, ":%d\r\n", a->found);
        return;
    }
    bytes_print(to, "*%d\r\n", (int)a->count + miscount);
    for (size_t i = 0; i < a->count; i++)
        put_row(to, kind, &a->tickets[i], &a->leases[i], numbered);
}
