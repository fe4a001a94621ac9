/* SPDX-License-Identifier: Apache-2.0 */
/* Reads answers about the cluster and its users: tokens, the state of a member,
 * the members, alarms. */
#include "etcd/message_fields.h"

/* ---------------------------------------------------------------- tokens -- */

static void authenticate_field(struct hf_etcd_reader *reader,
                               const struct hf_etcd_field *field, void *to)
{
    struct hf_etcd_bytes *token = to;

    if (field->number == 2)
        *token = hf_etcd_field_bytes(reader, field);
}

bool hf_etcd_read_authenticate(struct hf_etcd_bytes message,
                               struct hf_etcd_bytes *token)
{
    *token = (struct hf_etcd_bytes){0};
    return hf_etcd_read_message(message, authenticate_field, token);
}

/* ---------------------------------------------------------------- status -- */

static void status_field(struct hf_etcd_reader *reader,
                         const struct hf_etcd_field *field, void *to)
{
    struct hf_etcd_status_answer *answer = to;

    switch (field->number) {
    case 1:
        hf_etcd_read_nested(reader, field, hf_etcd_header_field,
                            &answer->header);
        break;
    case 2:
        answer->version = hf_etcd_field_bytes(reader, field);
        break;
    case 3:
        answer->db_size = hf_etcd_field_signed(reader, field);
        break;
    case 4:
        answer->leader = hf_etcd_field_unsigned(reader, field);
        break;
    case 5:
        answer->raft_index = hf_etcd_field_unsigned(reader, field);
        break;
    case 6:
        answer->raft_term = hf_etcd_field_unsigned(reader, field);
        break;
    case 7:
        answer->raft_applied_index = hf_etcd_field_unsigned(reader, field);
        break;
    case 8:
        (void)hf_etcd_field_bytes(reader, field);
        hf_etcd_list_count(&answer->errors, field);
        break;
    case 9:
        answer->db_size_in_use = hf_etcd_field_signed(reader, field);
        break;
    case 10:
        answer->is_learner = hf_etcd_field_bool(reader, field);
        break;
    default:
        break;
    }
}

bool hf_etcd_read_status(struct hf_etcd_bytes message,
                         struct hf_etcd_status_answer *answer)
{
    bool good;

    *answer = (struct hf_etcd_status_answer){0};
    good = hf_etcd_read_message(message, status_field, answer);
    hf_etcd_list_begin(&answer->errors, message);
    return good;
}

/* --------------------------------------------------------------- members -- */

static void member_field(struct hf_etcd_reader *reader,
                         const struct hf_etcd_field *field, void *to)
{
    struct hf_etcd_member *member = to;

    switch (field->number) {
    case 1:
        member->id = hf_etcd_field_unsigned(reader, field);
        break;
    case 2:
        member->name = hf_etcd_field_bytes(reader, field);
        break;
    case 3:
        (void)hf_etcd_field_bytes(reader, field);
        hf_etcd_list_count(&member->peer_urls, field);
        break;
    case 4:
        (void)hf_etcd_field_bytes(reader, field);
        hf_etcd_list_count(&member->client_urls, field);
        break;
    case 5:
        member->is_learner = hf_etcd_field_bool(reader, field);
        break;
    default:
        break;
    }
}

static bool read_member(struct hf_etcd_bytes message,
                        struct hf_etcd_member *member)
{
    bool good;

    *member = (struct hf_etcd_member){0};
    good = hf_etcd_read_message(message, member_field, member);
    hf_etcd_list_begin(&member->peer_urls, message);
    hf_etcd_list_begin(&member->client_urls, message);
    return good;
}

static void member_list_field(struct hf_etcd_reader *reader,
                              const struct hf_etcd_field *field, void *to)
{
    struct hf_etcd_member_list_answer *answer = to;
    struct hf_etcd_member member;

    switch (field->number) {
    case 1:
        hf_etcd_read_nested(reader, field, hf_etcd_header_field,
                            &answer->header);
        break;
    case 2:
        if (!read_member(hf_etcd_field_bytes(reader, field), &member))
            reader->failed = true;
        hf_etcd_list_count(&answer->members, field);
        break;
    default:
        break;
    }
}

bool hf_etcd_read_member_list(struct hf_etcd_bytes message,
                              struct hf_etcd_member_list_answer *answer)
{
    bool good;

    *answer = (struct hf_etcd_member_list_answer){0};
    good = hf_etcd_read_message(message, member_list_field, answer);
    hf_etcd_list_begin(&answer->members, message);
    return good;
}

bool hf_etcd_next_member(struct hf_etcd_list *list,
                         struct hf_etcd_member *member)
{
    struct hf_etcd_bytes message;

    *member = (struct hf_etcd_member){0};
    return hf_etcd_list_next(list, &message) && read_member(message, member);
}

/* ---------------------------------------------------------------- alarms -- */

static void alarm_field(struct hf_etcd_reader *reader,
                        const struct hf_etcd_field *field, void *to)
{
    struct hf_etcd_alarm *alarm = to;

    switch (field->number) {
    case 1:
        alarm->member_id = hf_etcd_field_unsigned(reader, field);
        break;
    case 2:
        alarm->type = hf_etcd_field_signed(reader, field);
        break;
    default:
        break;
    }
}

static void alarms_field(struct hf_etcd_reader *reader,
                         const struct hf_etcd_field *field, void *to)
{
    struct hf_etcd_alarm_answer *answer = to;
    struct hf_etcd_alarm alarm = {0};

    switch (field->number) {
    case 1:
        hf_etcd_read_nested(reader, field, hf_etcd_header_field,
                            &answer->header);
        break;
    case 2:
        hf_etcd_read_nested(reader, field, alarm_field, &alarm);
        hf_etcd_list_count(&answer->alarms, field);
        break;
    default:
        break;
    }
}

bool hf_etcd_read_alarms(struct hf_etcd_bytes message,
                         struct hf_etcd_alarm_answer *answer)
{
    bool good;

    *answer = (struct hf_etcd_alarm_answer){0};
    good = hf_etcd_read_message(message, alarms_field, answer);
    hf_etcd_list_begin(&answer->alarms, message);
    return good;
}

bool hf_etcd_next_alarm(struct hf_etcd_list *list, struct hf_etcd_alarm *alarm)
{
    struct hf_etcd_bytes message;

    *alarm = (struct hf_etcd_alarm){0};
    return hf_etcd_list_next(list, &message) &&
           hf_etcd_read_message(message, alarm_field, alarm);
}
