/* SPDX-License-Identifier: Apache-2.0 */
/* Reads answers about keys, leases and events.  Each message of a repeated
 * field is counted and checked by the same function that later walks through
 * the list, so a walk sees only messages that were checked. */
#include "etcd/message_fields.h"

/* The type of an Event. */
enum { EVENT_DELETE = 1 };

/* ----------------------------------------------------------------- pairs -- */

static void kv_field(struct hf_etcd_reader *reader,
                     const struct hf_etcd_field *field, void *to)
{
    struct hf_etcd_key_value *kv = to;

    switch (field->number) {
    case 1:
        kv->key = hf_etcd_field_bytes(reader, field);
        break;
    case 2:
        kv->create_revision = hf_etcd_field_signed(reader, field);
        break;
    case 3:
        kv->mod_revision = hf_etcd_field_signed(reader, field);
        break;
    case 4:
        kv->version = hf_etcd_field_signed(reader, field);
        break;
    case 5:
        kv->value = hf_etcd_field_bytes(reader, field);
        break;
    case 6:
        kv->lease = hf_etcd_field_signed(reader, field);
        break;
    default:
        break;
    }
}

/* Check and count one key and value of ${list}, without keeping it. */
static void check_kv(struct hf_etcd_reader *reader,
                     const struct hf_etcd_field *field,
                     struct hf_etcd_list *list)
{
    struct hf_etcd_key_value kv = {0};

    hf_etcd_read_nested(reader, field, kv_field, &kv);
    hf_etcd_list_count(list, field);
}

bool hf_etcd_next_kv(struct hf_etcd_list *list, struct hf_etcd_key_value *kv)
{
    struct hf_etcd_bytes message;

    *kv = (struct hf_etcd_key_value){0};
    return hf_etcd_list_next(list, &message) &&
           hf_etcd_read_message(message, kv_field, kv);
}

/* -------------------------------------------------- ranges and deletions -- */

static void range_field(struct hf_etcd_reader *reader,
                        const struct hf_etcd_field *field, void *to)
{
    struct hf_etcd_range_answer *answer = to;

    switch (field->number) {
    case 1:
        hf_etcd_read_nested(reader, field, hf_etcd_header_field,
                            &answer->header);
        break;
    case 2:
        check_kv(reader, field, &answer->kvs);
        break;
    case 3:
        answer->more = hf_etcd_field_bool(reader, field);
        break;
    case 4:
        answer->count = hf_etcd_field_signed(reader, field);
        break;
    default:
        break;
    }
}

bool hf_etcd_read_range(struct hf_etcd_bytes message,
                        struct hf_etcd_range_answer *answer)
{
    bool good;

    *answer = (struct hf_etcd_range_answer){0};
    good = hf_etcd_read_message(message, range_field, answer);
    hf_etcd_list_begin(&answer->kvs, message);
    return good;
}

static void delete_field(struct hf_etcd_reader *reader,
                         const struct hf_etcd_field *field, void *to)
{
    struct hf_etcd_delete_answer *answer = to;

    switch (field->number) {
    case 1:
        hf_etcd_read_nested(reader, field, hf_etcd_header_field,
                            &answer->header);
        break;
    case 2:
        answer->deleted = hf_etcd_field_signed(reader, field);
        break;
    case 3:
        check_kv(reader, field, &answer->prev_kvs);
        break;
    default:
        break;
    }
}

bool hf_etcd_read_delete(struct hf_etcd_bytes message,
                         struct hf_etcd_delete_answer *answer)
{
    bool good;

    *answer = (struct hf_etcd_delete_answer){0};
    good = hf_etcd_read_message(message, delete_field, answer);
    hf_etcd_list_begin(&answer->prev_kvs, message);
    return good;
}

/* ---------------------------------------------------------- transactions -- */

/* ResponseOp is a oneof: if it has several fields, the last one counts.  A
 * field of a kind that we do not ask for is an error. */
static void response_field(struct hf_etcd_reader *reader,
                           const struct hf_etcd_field *field, void *to)
{
    struct hf_etcd_response *response = to;
    struct hf_etcd_bytes message = hf_etcd_field_bytes(reader, field);
    struct hf_etcd_header header = {0};
    bool good = false;

    switch (field->number) {
    case HF_ETCD_RANGE_RESPONSE:
        good = hf_etcd_read_range(message, &response->range);
        break;
    case HF_ETCD_PUT_RESPONSE:
        good = hf_etcd_read_header(message, &header);
        break;
    case HF_ETCD_DELETE_RESPONSE:
        good = hf_etcd_read_delete(message, &response->deleted);
        break;
    default:
        break;
    }
    response->kind = (enum hf_etcd_response_kind)field->number;
    if (!good)
        reader->failed = true;
}

/* Read one ResponseOp. */
static bool read_response(struct hf_etcd_bytes message,
                          struct hf_etcd_response *response)
{
    *response = (struct hf_etcd_response){0};
    return hf_etcd_read_message(message, response_field, response) &&
           response->kind != 0;
}

static void txn_field(struct hf_etcd_reader *reader,
                      const struct hf_etcd_field *field, void *to)
{
    struct hf_etcd_txn_answer *answer = to;
    struct hf_etcd_response response;

    switch (field->number) {
    case 1:
        hf_etcd_read_nested(reader, field, hf_etcd_header_field,
                            &answer->header);
        break;
    case 2:
        answer->succeeded = hf_etcd_field_bool(reader, field);
        break;
    case 3:
        if (!read_response(hf_etcd_field_bytes(reader, field), &response))
            reader->failed = true;
        hf_etcd_list_count(&answer->responses, field);
        break;
    default:
        break;
    }
}

bool hf_etcd_read_txn(struct hf_etcd_bytes message,
                      struct hf_etcd_txn_answer *answer)
{
    bool good;

    *answer = (struct hf_etcd_txn_answer){0};
    good = hf_etcd_read_message(message, txn_field, answer);
    hf_etcd_list_begin(&answer->responses, message);
    return good;
}

bool hf_etcd_next_response(struct hf_etcd_list *list,
                           struct hf_etcd_response *response)
{
    struct hf_etcd_bytes message;

    *response = (struct hf_etcd_response){0};
    return hf_etcd_list_next(list, &message) &&
           read_response(message, response);
}

/* ---------------------------------------------------------------- leases -- */

static void lease_field(struct hf_etcd_reader *reader,
                        const struct hf_etcd_field *field, void *to)
{
    struct hf_etcd_lease_answer *answer = to;

    switch (field->number) {
    case 1:
        hf_etcd_read_nested(reader, field, hf_etcd_header_field,
                            &answer->header);
        break;
    case 2:
        answer->lease = hf_etcd_field_signed(reader, field);
        break;
    case 3:
        answer->ttl_s = hf_etcd_field_signed(reader, field);
        break;
    default:
        break;
    }
}

bool hf_etcd_read_lease(struct hf_etcd_bytes message,
                        struct hf_etcd_lease_answer *answer)
{
    *answer = (struct hf_etcd_lease_answer){0};
    return hf_etcd_read_message(message, lease_field, answer);
}

static void time_to_live_field(struct hf_etcd_reader *reader,
                               const struct hf_etcd_field *field, void *to)
{
    struct hf_etcd_time_to_live_answer *answer = to;

    switch (field->number) {
    case 1:
        hf_etcd_read_nested(reader, field, hf_etcd_header_field,
                            &answer->header);
        break;
    case 2:
        answer->lease = hf_etcd_field_signed(reader, field);
        break;
    case 3:
        answer->ttl_s = hf_etcd_field_signed(reader, field);
        break;
    case 4:
        answer->granted_ttl_s = hf_etcd_field_signed(reader, field);
        break;
    case 5:
        (void)hf_etcd_field_bytes(reader, field);
        hf_etcd_list_count(&answer->keys, field);
        break;
    default:
        break;
    }
}

bool hf_etcd_read_time_to_live(struct hf_etcd_bytes message,
                               struct hf_etcd_time_to_live_answer *answer)
{
    bool good;

    *answer = (struct hf_etcd_time_to_live_answer){0};
    good = hf_etcd_read_message(message, time_to_live_field, answer);
    hf_etcd_list_begin(&answer->keys, message);
    return good;
}

/* --------------------------------------------------------------- watches -- */

static void event_field(struct hf_etcd_reader *reader,
                        const struct hf_etcd_field *field, void *to)
{
    struct hf_etcd_event *event = to;

    switch (field->number) {
    case 1:
        event->deleted = hf_etcd_field_unsigned(reader, field) == EVENT_DELETE;
        break;
    case 2:
        hf_etcd_read_nested(reader, field, kv_field, &event->kv);
        break;
    default:
        break;
    }
}

static void watch_field(struct hf_etcd_reader *reader,
                        const struct hf_etcd_field *field, void *to)
{
    struct hf_etcd_watch_answer *answer = to;
    struct hf_etcd_event event = {0};

    switch (field->number) {
    case 1:
        hf_etcd_read_nested(reader, field, hf_etcd_header_field,
                            &answer->header);
        break;
    case 2:
        answer->watch_id = hf_etcd_field_signed(reader, field);
        break;
    case 3:
        answer->created = hf_etcd_field_bool(reader, field);
        break;
    case 4:
        answer->canceled = hf_etcd_field_bool(reader, field);
        break;
    case 5:
        answer->compact_revision = hf_etcd_field_signed(reader, field);
        break;
    case 6:
        answer->cancel_reason = hf_etcd_field_bytes(reader, field);
        break;
    case 7:
        answer->fragment = hf_etcd_field_bool(reader, field);
        break;
    case 11:
        hf_etcd_read_nested(reader, field, event_field, &event);
        hf_etcd_list_count(&answer->events, field);
        break;
    default:
        break;
    }
}

bool hf_etcd_read_watch(struct hf_etcd_bytes message,
                        struct hf_etcd_watch_answer *answer)
{
    bool good;

    *answer = (struct hf_etcd_watch_answer){0};
    good = hf_etcd_read_message(message, watch_field, answer);
    hf_etcd_list_begin(&answer->events, message);
    return good;
}

bool hf_etcd_next_event(struct hf_etcd_list *list, struct hf_etcd_event *event)
{
    struct hf_etcd_bytes message;

    *event = (struct hf_etcd_event){0};
    return hf_etcd_list_next(list, &message) &&
           hf_etcd_read_message(message, event_field, event);
}
