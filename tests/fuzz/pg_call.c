/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a Bind message and makes a call of the lease store of it. */
#include "pg_call.h"

#include <string.h>

#include "fuzz.h"

uint32_t pg_take_number(const uint8_t **at, size_t width)
{
    uint32_t number = 0;

    while (width-- > 0)
        number = number << 8 | *(*at)++;
    return number;
}

/* A Bind: portal, statement, formats, values, formats. */
void pg_bound_read(struct pg_bound *bound, const struct bytes *message)
{
    const uint8_t *at = message->bytes;
    size_t used = 0;

    at += strlen((const char *)at) + 1;
    (void)snprintf(bound->statement, sizeof bound->statement, "%s",
                   (const char *)at);
    at += strlen((const char *)at) + 1;
    at += 2 * (size_t)pg_take_number(&at, 2);
    bound->count = pg_take_number(&at, 2);
    MUST(bound->count <= PG_PARAMETERS_MAX);
    for (size_t i = 0; i < bound->count; i++) {
        size_t bytes = pg_take_number(&at, 4);

        bound->values[i] = NULL;
        if (bytes == UINT32_MAX) /* NULL */
            continue;
        MUST(used + bytes + 1 <= sizeof bound->memory);
        bound->values[i] = bound->memory + used;
        memcpy(bound->values[i], at, bytes);
        bound->values[i][bytes] = '\0';
        used += bytes + 1;
        at += bytes;
    }
}

static const struct statement {
    const char *name;
    enum hf_store_call_kind kind;
    /* The meaning of its parameters: s session, t ttl, n not after, q queue,
     * i id, k kind, w weight, p payload, f detailed, m participants, r
     * reads, P ids, l limit, M flag, a behind this name, x prefix, e who
     * evicts, which may be NULL, - not looked at */
    const char *parameters;
} statements[] = {
    {"hf_renew", HF_STORE_RENEW, "stn"},
    {"hf_renew_and_remove", HF_STORE_RENEW, "stnP"},
    {"hf_enqueue", HF_STORE_ENQUEUE, "stnqikwp"},
    {"hf_list", HF_STORE_LIST, "qfm"},
    {"hf_list_ahead", HF_STORE_LIST, "qir"},
    {"hf_list_and_watch", HF_STORE_LIST, "stnqm"},
    {"hf_find_tickets", HF_STORE_EXISTS, "qP"},
    {"hf_remove", HF_STORE_REMOVE, "snqie"},
    {"hf_downgrade", HF_STORE_DOWNGRADE, "snqi"},
    {"hf_request_release", HF_STORE_REVOKE, "nqi"},
    {"hf_describe", HF_STORE_DESCRIBE, "snqip"},
    {"hf_set_flag", HF_STORE_SET_FLAG, "nqki"},
    {"hf_clear_flag", HF_STORE_CLEAR_FLAG, "nqk"},
    {"hf_new_generation", HF_STORE_NEW_GENERATION, "nqilM"},
    {"hf_names", HF_STORE_NAMES, "ax--"},
    {"hf_close_in_part", HF_STORE_CLOSE_SESSION, "snP"},
    {"hf_close_session", HF_STORE_CLOSE_SESSION, "sn"},
};

static struct hf_ticket_id ids[512];

static size_t take_ids(const char *text)
{
    size_t count = 0;

    while (*text++ != '}' && *text != '}') {
        MUST(count < sizeof ids / sizeof ids[0]);
        MUST(hf_ticket_id_parse(&ids[count++], text,
                                HF_TICKET_ID_TEXT_BYTES - 1));
        text += HF_TICKET_ID_TEXT_BYTES - 1;
    }
    return count;
}

static struct hf_names_request names;

static void take_parameter(struct hf_store_call *call, char what,
                           const char *value)
{
    if (what == 's')
        call->session = value;
    else if (what == 't')
        call->ttl_ms = strtoull(value, NULL, 10);
    else if (what == 'n')
        call->not_after_ms = strtoull(value, NULL, 10);
    else if (what == 'q')
        call->queue = value;
    else if (what == 'i')
        MUST(hf_ticket_id_parse(&call->ticket, value, strlen(value)));
    else if (what == 'M')
        MUST(hf_ticket_id_parse(&call->flag, value, strlen(value)));
    else if (what == 'k')
        call->ticket_kind = (enum hf_ticket_kind)atoi(value);
    else if (what == 'w')
        call->weight = (uint32_t)atoi(value);
    else if (what == 'l')
        call->limit = (uint32_t)atoi(value);
    else if (what == 'p')
        call->payload = value;
    else if (what == 'f')
        call->detailed = value[0] == 't';
    else if (what == 'm')
        call->ticket_kind = value[0] == 't' ? HF_TICKET_PARTICIPANT : 0;
    else if (what == 'r')
        call->ticket_kind = value[0] == 't' ? HF_TICKET_READ : HF_TICKET_MUTEX;
    else if (what == 'a')
        names = (struct hf_names_request){
            value, value[0] != '\0' ? strlen(value) + 1 : 0, false};
    else if (what == 'x')
        call->prefix = value;
    else if (what == 'e')
        call->evicted_by = value;
    else if (what == 'P')
        call->count = take_ids(value);
}

struct hf_store_call pg_bound_call(const struct pg_bound *bound)
{
    struct hf_store_call call = {.session = "", .tickets = ids};
    const struct statement *statement = statements;

    while (strcmp(statement->name, bound->statement) != 0)
        MUST(++statement <
             statements + sizeof statements / sizeof statements[0]);
    call.kind = statement->kind;
    call.names = call.kind == HF_STORE_NAMES ? &names : NULL;
    call.watches_queue = strcmp(statement->name, "hf_list_and_watch") == 0;
    for (size_t i = 0; i < bound->count; i++)
        take_parameter(&call, statement->parameters[i], bound->values[i]);
    return call;
}
